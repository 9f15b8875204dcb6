"""The activation layer and its thirteen functions. Source: ActivationParams."""

from __future__ import annotations

from typing import Any

from ...errors import CheckError, UnsupportedError
from ...graph.ir import Value
from ..lowering import Context, lowering, require


@lowering("activation", layout="same")
def activation(g: Context, p: Any, x: Value) -> Value:
    """One nonlinear function, element by element.

    linear αx + β; ReLU max(0, x); leakyReLU x or αx below 0; thresholdedReLU x from α on, else 0; PReLU with α for
    each channel; tanh; scaledTanh α tanh(βx); sigmoid; sigmoidHard min(max(αx + β, 0), 1); ELU x or α(eˣ - 1) below 0;
    softsign x/(1 + |x|); softplus log(1 + eˣ); parametricSoftplus α log(1 + e^(βx)) with α, β a channel.
    x (…) → y same shape; the functions with values a channel take axis -3 as channels. Source: ActivationParams.
    """
    name = p.WhichOneof("NonlinearityType")
    if name is None:
        raise CheckError("NonlinearityType must be set: the activation names no function")
    return activate(g, name, getattr(p, name), x)


def activate(g: Context, name: str, p: Any, x: Value) -> Value:
    """The function ``name`` with its parameters; recurrent layers share it."""
    match name:
        case "linear":
            return linear(g, x, p.alpha, p.beta)
        case "ReLU":
            return g.Relu(x)
        case "leakyReLU":
            return g.LeakyRelu(x, alpha=p.alpha)
        case "thresholdedReLU":
            # not ThresholdedRelu: there x = α gives 0
            return g.Where(g.GreaterOrEqual(x, p.alpha), x, 0.0)
        case "PReLU":
            return g.PRelu(x, per_channel(g, p.alpha, x, "alpha"))
        case "tanh":
            return g.Tanh(x)
        case "scaledTanh":
            return g.Mul(g.Tanh(g.Mul(x, p.beta)), p.alpha)
        case "sigmoid":
            return g.Sigmoid(x)
        case "sigmoidHard":
            return g.HardSigmoid(x, alpha=p.alpha, beta=p.beta)
        case "ELU":
            return g.Elu(x, alpha=p.alpha)
        case "softsign":
            return g.Softsign(x)
        case "softplus":
            return g.Softplus(x)
        case "parametricSoftplus":
            alpha, beta = per_channel(g, p.alpha, x, "alpha"), per_channel(g, p.beta, x, "beta")
            return g.Mul(g.Softplus(g.Mul(x, beta)), alpha)
    raise CheckError(f"NonlinearityType {name} is not known")


def linear(g: Context, x: Value, alpha: float, beta: float) -> Value:
    """αx + β, without the operations that change nothing."""
    if alpha != 1:
        x = g.Mul(x, alpha)
    return x if beta == 0 and alpha != 1 else g.Add(x, beta)


def per_channel(g: Context, params: Any, x: Value, field: str) -> Value:
    """Values of length C or 1 as (C,1,1) or a scalar to broadcast over ``x`` (…,C,H,W)."""
    count = g.weights.count(params)
    size = x.shape[-3] if x.rank >= 3 else 1
    # bits are packed into whole bytes, so that one byte may hold 1 value or several
    if isinstance(size, str) and g.weights.encoding(params).bits < 8:
        raise UnsupportedError(f"{field} in packed bits needs a number of channels that is known")
    fitting = [number for number in (size, 1) if isinstance(number, int) and g.weights.holds(params, number)]
    count = fitting[0] if fitting else count
    if count == 1:
        return g.constant(g.array(params, 1, name=field))
    require(x.rank >= 3, f"{field} a channel needs an input of rank 3 or more, got {x.rank}")
    channels = x.shape[-3]
    require(
        isinstance(channels, str) or count == channels,
        f"{field} must hold 1 value or one a channel ({channels}), got {count}",
    )
    return g.constant(g.array(params, count, name=field).reshape(-1, 1, 1), name=f"{g.prefix}/{field}")
