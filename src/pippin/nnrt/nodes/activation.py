"""Activation functions: the node on its own, and the end of other nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import CheckError
from ...graph.ir import Value
from .. import attributes
from ..enums import ActivationType as T
from ..enums import NodeType
from .base import NodeBuilder, arithmetic, emit, node, per_channel, refuse_bare_int8

SELU_ALPHA, SELU_SCALE = 1.67326324, 1.05070098


def activate(g: NodeBuilder, x: Value, kind: T | int) -> Value:
    """The function at the end of another node: those that take no parameters, GELU in its exact form."""
    if kind in (T.ELU, T.LEAKY_RELU, T.THRESHOLDRELU, T.HARD_TANH):
        raise CheckError(f"activation {T(kind).name} has parameters, which only an Activation node carries")
    return function(g, x, attributes.Activation(kind))


def function(g: NodeBuilder, x: Value, p: attributes.Activation) -> Value:
    """The function ``p.activationType`` of x; CheckError for UNKNOWN and for numbers that name none."""
    formula = _FORMULAS.get(p.activationType)
    if formula is None:
        raise CheckError(f"activationType must be 0 to 19, got {int(p.activationType)}")
    return formula(g, x, p)


@node(NodeType.ACTIVATION)
def activation(g: NodeBuilder, p: attributes.Activation, x: Value) -> Value:
    """y = the function ``activationType`` of x; the formulas stand at ActivationType.

    x (…) float → y like x.  ``alpha`` is the slope of ELU and LEAKY_RELU, ``minVal`` and ``maxVal`` bound HARD_TANH,
    maxVal THRESHOLDRELU; ``approximate`` computes GELU by tanh.
    """
    refuse_bare_int8(g)
    return function(g, x, p)


@node(NodeType.LEAKY_RELU)
def leaky_relu(g: NodeBuilder, p: attributes.LeakyRelu, x: Value) -> Value:
    """y = x for x ≥ 0, negativeSlope · x below.

    x (…) float → y like x.
    """
    refuse_bare_int8(g)
    return emit(g, "LeakyRelu", x, alpha=p.negativeSlope)


@node(NodeType.PRELU_FUSION)
def prelu(g: NodeBuilder, p: attributes.PReLUFusion, x: Value, slope: Value) -> Value:
    """y = x for x ≥ 0, w · x below.

    x (…, C), or (N,C,H,W) where its format says so, w (C), or one number for all → y like x.
    """
    refuse_bare_int8(g)
    if x.rank:
        slope = per_channel(g, x, slope, "slope", one=True)
    below = arithmetic(g, "Mul", emit(g, "Min", x, zero(g, x)), slope)
    return arithmetic(g, "Add", emit(g, "Max", x, zero(g, x)), below)


@node(NodeType.CLIP)
def clip(g: NodeBuilder, p: attributes.Clip, x: Value) -> Value:
    """y = min(max(x, min), max).

    x (…) float or integer → y like x.  The upper bound comes first on the wire.
    """
    refuse_bare_int8(g)
    if p.min > p.max:
        raise CheckError(f"min must not exceed max, got {p.min} and {p.max}")
    return clamp(g, x, p.min, p.max)


def zero(g: NodeBuilder, x: Value) -> Value:
    """0 in the type of x."""
    return g.constant(0, x.dtype)


def clamp(g: NodeBuilder, x: Value, low: float, high: float) -> Value:
    """min(max(x, low), high) in any type; the bounds of an integer type are rounded inwards."""
    import math

    import numpy as np

    if x.dtype.kind in "iu":
        bounds = np.iinfo(x.dtype)
        low = max(math.ceil(low), bounds.min) if math.isfinite(low) else bounds.min
        high = min(math.floor(high), bounds.max) if math.isfinite(high) else bounds.max
    lower = emit(g, "Max", x, g.constant(low, x.dtype))
    return emit(g, "Min", lower, g.constant(high, x.dtype))


def _threshold(g: NodeBuilder, x: Value, p: attributes.Activation) -> Value:
    if not p.maxVal > 0:
        raise CheckError(f"maxVal must be positive for THRESHOLDRELU, got {p.maxVal}")
    return clamp(g, x, 0.0, p.maxVal)


def _hard_tanh(g: NodeBuilder, x: Value, p: attributes.Activation) -> Value:
    if not p.minVal < p.maxVal:
        raise CheckError(f"minVal must be below maxVal for HARD_TANH, got {p.minVal} and {p.maxVal}")
    return clamp(g, x, p.minVal, p.maxVal)


def _relu(g: NodeBuilder, x: Value, p: attributes.Activation) -> Value:
    if x.dtype.kind == "f":
        return g.Relu(x)
    return emit(g, "Max", x, zero(g, x))


def _hard_sigmoid(g: NodeBuilder, x: Value, p: attributes.Activation) -> Value:
    return emit(g, "Div", clamp(g, emit(g, "Add", x, g.constant(3, x.dtype)), 0, 6), g.constant(6, x.dtype))


def _hswish(g: NodeBuilder, x: Value, p: attributes.Activation) -> Value:
    product: Value = emit(g, "Mul", x, clamp(g, emit(g, "Add", x, g.constant(3, x.dtype)), 0, 6))
    return emit(g, "Div", product, g.constant(6, x.dtype))


def _op(name: str, **fixed: Any) -> Callable[[NodeBuilder, Value, attributes.Activation], Value]:
    return lambda g, x, p: emit(g, name, x, **fixed)


_FORMULAS: dict[int, Callable[[NodeBuilder, Value, attributes.Activation], Value]] = {
    T.NO_ACTIVATION: lambda g, x, p: x,
    T.RELU: _relu,
    T.SIGMOID: _op("Sigmoid"),
    T.RELU6: lambda g, x, p: clamp(g, x, 0, 6),
    T.ELU: lambda g, x, p: emit(g, "Elu", x, alpha=p.alpha),
    T.LEAKY_RELU: lambda g, x, p: emit(g, "LeakyRelu", x, alpha=p.alpha),
    T.ABS: _op("Abs"),
    T.RELU1: lambda g, x, p: clamp(g, x, 0, 1),
    T.SOFTSIGN: _op("Softsign"),
    T.SOFTPLUS: _op("Softplus"),
    T.TANH: _op("Tanh"),
    T.SELU: _op("Selu", alpha=SELU_ALPHA, gamma=SELU_SCALE),
    T.HSWISH: _hswish,
    T.HSIGMOID: _hard_sigmoid,
    T.THRESHOLDRELU: _threshold,
    T.LINEAR: lambda g, x, p: x,
    T.HARD_TANH: _hard_tanh,
    T.SIGN: _op("Sign"),
    T.SWISH: lambda g, x, p: emit(g, "Mul", x, emit(g, "Sigmoid", x)),
    T.GELU: lambda g, x, p: emit(g, "Gelu", x, approximate="tanh" if p.approximate else "none"),
}
