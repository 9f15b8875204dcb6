"""Twin of the activation layer; the recurrent layers take their functions from here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .registry import Array, Context, twin
from .rules import choice, need_rank, per_channel

Function = Callable[[Any, Array], Array]

# by field of ActivationParams: function of the parameters and x
FUNCTIONS: dict[str, Function] = {
    "linear": lambda p, x: p.alpha * x + p.beta,
    "ReLU": lambda p, x: np.maximum(x, 0.0),
    "leakyReLU": lambda p, x: np.where(x >= 0, x, p.alpha * x),
    "thresholdedReLU": lambda p, x: np.where(x >= p.alpha, x, 0.0),
    "tanh": lambda p, x: np.tanh(x),
    "scaledTanh": lambda p, x: p.alpha * np.tanh(p.beta * x),
    "sigmoid": lambda p, x: sigmoid(x),
    "sigmoidHard": lambda p, x: np.clip(p.alpha * x + p.beta, 0.0, 1.0),
    "ELU": lambda p, x: np.where(x >= 0, x, p.alpha * np.expm1(np.minimum(x, 0.0))),
    "softsign": lambda p, x: x / (1.0 + np.abs(x)),
    "softplus": lambda p, x: np.logaddexp(0.0, x),
}


def sigmoid(x: Array) -> Array:
    """1 / (1 + e⁻ˣ), without overflow."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, small) / (1.0 + small))


@twin("activation")
def activation(context: Context, params: Any, x: Array) -> Array:
    """One of 13 functions, cell by cell; shape kept.

    PReLU: x where x ≥ 0, else αᵢx; parametricSoftplus: αᵢ log(1 + exp(βᵢx)); i runs along axis -3
    """
    kind = choice(params, "NonlinearityType")
    chosen = getattr(params, kind)
    if kind == "PReLU":
        return np.asarray(np.where(x >= 0, x, slope(context, chosen, "alpha", x) * x))
    if kind == "parametricSoftplus":
        alpha, beta = (slope(context, chosen, name, x) for name in ("alpha", "beta"))
        return np.asarray(alpha * np.logaddexp(0.0, beta * x))
    return np.asarray(FUNCTIONS[kind](chosen, x))


def slope(context: Context, params: Any, name: str, x: Array) -> Array:
    """A weight of length C or 1, shaped to broadcast along the channels of x [...,C,H,W]."""
    need_rank(x, 3)
    weights, channels = getattr(params, name), x.shape[-3]
    length = channels if context.weights.count(weights) >= channels else 1
    return per_channel(context.weights.array(weights, (length,), name=name).astype(np.float64))
