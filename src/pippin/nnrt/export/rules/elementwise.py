"""Arithmetic, comparisons, and functions of one tensor."""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any

from ....errors import UnsupportedError
from ... import attributes as a
from ...enums import ActivationType as T
from ..converter import Converter, bounds, data_type, narrow
from ..registry import rule

if TYPE_CHECKING:
    from ....graph.ir import Node, Value
    from ...authoring import Ref

_ARITHMETIC = {"Add": a.AddFusion, "Sub": a.SubFusion, "Mul": a.MulFusion, "Div": a.DivFusion}
_PAIRS: dict[str, Any] = {
    "Pow": a.PowFusion(),
    "And": a.LogicalAnd(),
    "Or": a.LogicalOr(),
    "Xor": a.NotEqual(),
    "Equal": a.Equal(),
    "Greater": a.Greater(),
    "GreaterOrEqual": a.GreaterEqual(),
    "Less": a.Less(),
    "LessOrEqual": a.LessEqual(),
}
_CHAINS: dict[str, Any] = {"Max": a.Maximum(), "Min": a.Minimum(), "Sum": a.AddFusion()}


@rule(*_ARITHMETIC)
def arithmetic(c: Converter, n: Node) -> None:
    """AddFusion, SubFusion, MulFusion, DivFusion, with Relu or Clip(0,6) at the end."""
    refs, last = c.together(_operands(n))
    kind, value = c.activation(n)
    c.put(value, c.node(_ARITHMETIC[n.op](kind), *refs, like=value), last=last)


@rule(*_PAIRS)
def pair(c: Converter, n: Node) -> None:
    """PowFusion, the comparisons, LogicalAnd, LogicalOr; Xor as NotEqual."""
    refs, last = c.together(_operands(n))
    c.put(n.outputs[0], c.node(_PAIRS[n.op], *refs, like=n.outputs[0]), last=last)


@rule("Mod")
def mod(c: Converter, n: Node) -> None:
    """Mod, which has the sign of the dividend; the other one by Floor."""
    refs, last = c.together(_operands(n))
    value = n.outputs[0]
    if n.attributes.get("fmod"):
        c.put(value, c.node(a.Mod(), *refs, like=value), last=last)
        return
    if value.dtype.kind != "f":
        raise UnsupportedError("the remainder of integers with the divisor's sign cannot be said")
    quotient = c.b.MulFusion(c.b.Floor(c.b.DivFusion(*refs)), refs[1])
    c.put(value, c.node(a.SubFusion(), refs[0], quotient, like=value), last=last)


@rule(*_CHAINS, "Mean")
def chain(c: Converter, n: Node) -> None:
    """Maximum, Minimum, AddFusion one after another; Mean divides at the end."""
    refs, last = c.together(_operands(n))
    struct = _CHAINS.get(n.op, a.AddFusion())
    total = reduce(lambda left, right: c.b.node(struct, left, right), refs)
    if n.op == "Mean":
        total = c.b.DivFusion(total, c.number(len(refs), n.outputs[0].dtype))
    c.put(n.outputs[0], total, last=last)


def _operands(n: Node) -> list[Value]:
    return [value for value in n.inputs if value is not None]


# -- functions of one tensor -------------------------------------------------------------------------------------------

_UNARY: dict[str, Any] = {
    "Abs": a.Abs(),
    "Ceil": a.Ceil(),
    "Floor": a.Floor(),
    "Round": a.Round(),
    "Cos": a.Cos(),
    "Sin": a.Sin(),
    "Erf": a.Erf(),
    "Log": a.Log(),
    "Neg": a.Neg(),
    "Reciprocal": a.Reciprocal(),
    "Sqrt": a.Sqrt(),
    "Exp": a.ExpFusion(),
    "Not": a.LogicalNot(),
    "Relu": a.Activation(T.RELU),
    "Sigmoid": a.Activation(T.SIGMOID),
    "Tanh": a.Activation(T.TANH),
    "Softplus": a.Activation(T.SOFTPLUS),
    "Softsign": a.Activation(T.SOFTSIGN),
    "HardSwish": a.Activation(T.HSWISH),
    "Sign": a.Activation(T.SIGN),
}


def _map(c: Converter, n: Node, struct: Any) -> None:
    """A node of one tensor, in the layout that this has."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    last = c.has_last(x)
    c.put(value, c.node(struct, c.last(x) if last else c.plain(x), like=value), last=last)


@rule(*_UNARY)
def unary(c: Converter, n: Node) -> None:
    """The node type or the activation of that name."""
    _map(c, n, _UNARY[n.op])


@rule("LeakyRelu", "Elu")
def sloped(c: Converter, n: Node) -> None:
    """The activation with its alpha."""
    usual, kind = (0.01, T.LEAKY_RELU) if n.op == "LeakyRelu" else (1.0, T.ELU)
    _map(c, n, a.Activation(kind, alpha=float(n.attributes.get("alpha", usual))))


@rule("Selu")
def selu(c: Converter, n: Node) -> None:
    """The activation, which has the usual constants."""
    alpha, gamma = n.attributes.get("alpha", 1.67326319), n.attributes.get("gamma", 1.05070102)
    if abs(alpha - 1.67326324) > 1e-6 or abs(gamma - 1.05070098) > 1e-6:
        raise UnsupportedError(f"SELU has its own constants, not {alpha:g} and {gamma:g}")
    _map(c, n, a.Activation(T.SELU))


@rule("Gelu")
def gelu(c: Converter, n: Node) -> None:
    """The activation, exact or by tanh."""
    kind = n.attributes.get("approximate", "none")
    _map(c, n, a.Activation(T.GELU, approximate=kind in ("tanh", b"tanh")))


@rule("Clip")
def clip(c: Converter, n: Node) -> None:
    """RELU6, RELU, HARD_TANH; with one bound Maximum or Minimum."""
    low, high = bounds(n)
    if math.isnan(low) or math.isnan(high):
        raise UnsupportedError("the bounds must be constant")
    if (low, high) == (0.0, 6.0):
        return _map(c, n, a.Activation(T.RELU6))
    if low == 0.0 and math.isinf(high):
        return _map(c, n, a.Activation(T.RELU))
    if math.isfinite(low) and math.isfinite(high) and low < high and n.outputs[0].dtype.kind == "f":
        return _map(c, n, a.Activation(T.HARD_TANH, minVal=low, maxVal=high))
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    last = c.has_last(x)
    y = c.last(x) if last else c.plain(x)
    if not math.isinf(low):
        y = c.b.Maximum(y, c.number(low, value.dtype))
    if not math.isinf(high):
        y = c.b.Minimum(y, c.number(high, value.dtype))
    return c.put(value, y, last=last)


@rule("HardSigmoid")
def hard_sigmoid(c: Converter, n: Node) -> None:
    """HSIGMOID for a slope of 1/6 and 1/2; others by MulFusion, AddFusion and HARD_TANH."""
    alpha, beta = float(n.attributes.get("alpha", 0.2)), float(n.attributes.get("beta", 0.5))
    if math.isclose(alpha, 1 / 6, rel_tol=1e-6) and beta == 0.5:
        return _map(c, n, a.Activation(T.HSIGMOID))
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    last = c.has_last(x)
    line = c.b.AddFusion(c.b.MulFusion(c.last(x) if last else c.plain(x), c.number(alpha)), c.number(beta))
    return c.put(value, c.node(a.Activation(T.HARD_TANH, minVal=0.0, maxVal=1.0), line, like=value), last=last)


@rule("ThresholdedRelu")
def thresholded(c: Converter, n: Node) -> None:
    """x times whether x is above the threshold."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    last = c.has_last(x)
    operand = c.last(x) if last else c.plain(x)
    above = c.b.Greater(operand, c.number(float(n.attributes.get("alpha", 1.0)), value.dtype))
    c.put(value, c.b.MulFusion(operand, _cast(c, above, value)), last=last)


@rule("PRelu")
def prelu(c: Converter, n: Node) -> None:
    """PReLUFusion for one slope or one a channel; others by Maximum, Minimum and MulFusion."""
    x, slope = n.inputs[0], n.inputs[1]
    value = n.outputs[0]
    assert x is not None
    assert slope is not None
    if slope.data is not None and x.rank == 4 and slope.data.size in (1, x.shape[1]):
        shape = (1,) * (4 - slope.rank) + slope.data.shape
        if slope.data.size == 1 or shape[1] == x.shape[1]:
            flat = c.constant(slope.data.reshape(-1), slope.name)
            c.put(value, c.node(a.PReLUFusion(slope.data.size == 1), c.last(x), flat, like=value), last=True)
            return
    (operand, factor), last = c.together([x, slope])
    zero = c.number(0.0, value.dtype)
    below = c.b.MulFusion(factor, c.b.Minimum(operand, zero))
    c.put(value, c.b.AddFusion(c.b.Maximum(operand, zero), below), last=last)


@rule("Cast")
def cast(c: Converter, n: Node) -> None:
    """Cast, to a type of 32 bits where it has more; nothing where it is that already."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    last = c.has_last(x)
    operand = c.last(x) if last else c.plain(x)
    if narrow(x.dtype) != narrow(value.dtype):
        operand = _cast(c, operand, value)
    c.put(value, operand, last=last)


def _cast(c: Converter, x: Ref, value: Value) -> Ref:
    result: Ref = c.node(a.Cast(), x, c.whole(int(data_type(value.dtype))), like=value)
    return result


@rule("Where")
def where(c: Converter, n: Node) -> None:
    """Where."""
    refs, last = c.together(_operands(n))
    c.put(n.outputs[0], c.node(a.Where(), *refs, like=n.outputs[0]), last=last)


@rule("Identity", "Dropout")
def identity(c: Converter, n: Node) -> None:
    """Nothing; a Dropout that draws is refused."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    draws = c.read(n, 2, "training_mode") if n.op == "Dropout" else None
    if draws is not None and draws.any():
        raise UnsupportedError("numbers that are drawn by chance cannot be had")
    last = c.has_last(x)
    c.put(value, c.last(x) if last else c.plain(x), last=last)


@rule("IsNaN")
def is_nan(c: Converter, n: Node) -> None:
    """Whether x is not itself."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    last = c.has_last(x)
    operand = c.last(x) if last else c.plain(x)
    c.put(value, c.node(a.NotEqual(), operand, operand, like=value), last=last)
