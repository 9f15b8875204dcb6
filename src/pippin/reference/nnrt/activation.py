"""Activation functions, alone and fused, and the twins of the node types that are one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...nnrt.enums import ActivationType, NodeType
from .registry import Array, Context, twin
from .rules import along, channel_axis, name_of, need_number, require

SELU_ALPHA, SELU_SCALE = 1.67326324, 1.05070098


def erf(x: Array) -> Array:
    """The error function, element by element."""
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x))


FREE = {ActivationType.ELU, ActivationType.LEAKY_RELU, ActivationType.HARD_TANH, ActivationType.THRESHOLDRELU}
"""Functions with parameters, which only an Activation node carries."""


def fused(x: Array, kind: Any) -> Array:
    """The activation function at the end of another operator."""
    require(kind not in FREE, f"activationType {name_of(kind)} needs parameters, which only an Activation node has")
    return activate(x, kind)


def relu(x: Array) -> Array:
    """max(x, 0)"""
    return np.maximum(x, 0)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x))"""
    return np.asarray(1 / (1 + np.exp(-x)))


def hard_sigmoid(x: Array) -> Array:
    """max(0, min(1, (x + 3) / 6))"""
    return np.clip((x + 3) / 6, 0, 1)


def softplus(x: Array) -> Array:
    """log(1 + exp(x)), without overflow"""
    return np.logaddexp(x, 0)


def gelu(x: Array, approximate: bool) -> Array:
    """x · P(X < x) with X standard normal; approximate: the tanh form."""
    if approximate:
        return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
    return np.asarray(0.5 * x * (1 + erf(x / math.sqrt(2))))


def bounded(x: Array, low: float, high: float) -> Array:
    """HARD_TANH: x within [low, high]."""
    require(low < high, f"minVal must be below maxVal, got {low} and {high}")
    return np.clip(x, low, high)


def below(x: Array, top: float) -> Array:
    """THRESHOLDRELU: min(max(x, 0), top)."""
    require(top > 0, f"maxVal must be positive, got {top}")
    return np.clip(x, 0, top)


ON_INTEGERS: dict[Any, Callable[[Array], Any]] = {
    ActivationType.NO_ACTIVATION: lambda x: x,
    ActivationType.LINEAR: lambda x: x,
    ActivationType.RELU: relu,
    ActivationType.RELU6: lambda x: np.clip(x, 0, 6),
    ActivationType.RELU1: lambda x: np.clip(x, 0, 1),
    ActivationType.ABS: np.abs,
    ActivationType.SIGN: np.sign,
}
"""Functions that yield an integer for each integer."""


def activate(
    x: Array, kind: Any, *, alpha: float = 0.0, low: float = 0.0, high: float = 0.0, approximate: bool = False
) -> Array:
    """The activation function ``kind`` of ``x``; what is no integer of integers comes as floats."""
    if kind in ON_INTEGERS:
        return np.asarray(ON_INTEGERS[kind](x))
    functions: dict[Any, Callable[[Array], Any]] = {
        ActivationType.SIGMOID: sigmoid,
        ActivationType.ELU: lambda x: np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0))),
        ActivationType.LEAKY_RELU: lambda x: np.where(x >= 0, x, alpha * x),
        ActivationType.SOFTSIGN: lambda x: x / (1 + np.abs(x)),
        ActivationType.SOFTPLUS: softplus,
        ActivationType.TANH: np.tanh,
        ActivationType.SELU: lambda x: SELU_SCALE * np.where(x >= 0, x, SELU_ALPHA * np.expm1(np.minimum(x, 0))),
        ActivationType.HSWISH: lambda x: x * np.clip(x + 3, 0, 6) / 6,
        ActivationType.HSIGMOID: hard_sigmoid,
        ActivationType.THRESHOLDRELU: lambda x: below(x, high),
        ActivationType.HARD_TANH: lambda x: bounded(x, low, high),
        ActivationType.SWISH: lambda x: x * sigmoid(x),
        ActivationType.GELU: lambda x: gelu(x, approximate),
    }
    require(kind in functions, f"activationType must be a known function, got {name_of(kind)}")
    need_number(x)
    return np.asarray(functions[kind](x))


@twin(NodeType.ACTIVATION)
def activation(context: Context, p: Any, x: Array) -> Array:
    """y = the function ``activationType`` of x."""
    need_number(x)
    return activate(x, p.activationType, alpha=p.alpha, low=p.minVal, high=p.maxVal, approximate=p.approximate)


@twin(NodeType.LEAKY_RELU)
def leaky_relu(context: Context, p: Any, x: Array) -> Array:
    """y = x for x >= 0, else negativeSlope · x."""
    need_number(x)
    return np.where(x >= 0, x, p.negativeSlope * x)


@twin(NodeType.PRELU_FUSION)
def prelu(context: Context, p: Any, x: Array, weight: Array) -> Array:
    """y = x for x >= 0, else w · x, with one w or one per channel."""
    need_number(x, weight)
    if weight.size == 1:
        return np.where(x >= 0, x, weight.reshape(()) * x)
    require(x.ndim > 0, "x must have a channel dim")
    axis = channel_axis(x, context.nchw)
    fits = weight.ndim == 1 and weight.size == x.shape[axis]
    require(fits, f"weight must hold 1 or {x.shape[axis]} numbers, got dims {list(weight.shape)}")
    return np.where(x >= 0, x, along(weight, axis, x.ndim) * x)
