"""Twins of the cell by cell layers of the first format version: unary, add … min, scale, bias, dot."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ...errors import CheckError
from .registry import Array, Context, twin
from .rules import blob, enum, need_rank, require

# by enum name: function of x, alpha, epsilon
UNARY: dict[str, Callable[[Array, float, float], Array]] = {
    "SQRT": lambda x, alpha, epsilon: np.sqrt(x),
    "RSQRT": lambda x, alpha, epsilon: 1.0 / np.sqrt(x + epsilon),
    "INVERSE": lambda x, alpha, epsilon: 1.0 / (x + epsilon),
    "POWER": lambda x, alpha, epsilon: np.power(x, alpha),
    "EXP": lambda x, alpha, epsilon: np.exp(x),
    "LOG": lambda x, alpha, epsilon: np.log(x),
    "ABS": lambda x, alpha, epsilon: np.abs(x),
    "THRESHOLD": lambda x, alpha, epsilon: np.maximum(alpha, x),
}


@twin("unary")
def unary(context: Context, params: Any, x: Array) -> Array:
    """y = f(scale · x + shift), f one of eight functions; shape kept.

    Defaults: scale 1, epsilon 1e-6 (both also where the field is 0), shift 0.
    """
    x = x * (params.scale or 1.0) + params.shift
    return np.asarray(UNARY[enum(params, "type")](x, params.alpha, params.epsilon or 1e-6))


def fold_inputs(function: Callable[[Array, Array], Array], *inputs: Array) -> Array:
    """f(f(x0, x1), x2) …, with broadcasting."""
    try:
        return np.asarray(reduce(function, inputs))
    except ValueError:
        shapes = ", ".join(str(list(x.shape)) for x in inputs)
        raise CheckError(f"input shapes must broadcast, got {shapes}") from None


@twin("add")
def add(context: Context, params: Any, x: Array, *others: Array) -> Array:
    """y = x₁ + x₂ + …, or x + ``alpha`` for a single input; shapes broadcast."""
    return fold_inputs(np.add, x, *others) if others else x + params.alpha


@twin("multiply")
def multiply(context: Context, params: Any, x: Array, *others: Array) -> Array:
    """y = x₁ x₂ …, or ``alpha`` x for a single input; shapes broadcast."""
    return fold_inputs(np.multiply, x, *others) if others else x * params.alpha


@twin("average")
def average(context: Context, params: Any, x: Array, *others: Array) -> Array:
    """y = (x₁ + … + xₙ) / n; shapes broadcast."""
    return fold_inputs(np.add, x, *others) / (1 + len(others))


@twin("max")
def maximum(context: Context, params: Any, x: Array, *others: Array) -> Array:
    """y = max(x₁, x₂, …); shapes broadcast."""
    return fold_inputs(np.maximum, x, *others)


@twin("min")
def minimum(context: Context, params: Any, x: Array, *others: Array) -> Array:
    """y = min(x₁, x₂, …); shapes broadcast."""
    return fold_inputs(np.minimum, x, *others)


@twin("scale")
def scale(context: Context, params: Any, x: Array) -> Array:
    """y = scale · x, + bias if ``hasBias``; x [...,C,H,W], shape kept.

    The shapes of scale and bias are [1], [C], [1,H,W] or [C,H,W].
    """
    y = x * constant(context, params, "scale", "shapeScale", x)
    return y + constant(context, params, "bias", "shapeBias", x) if params.hasBias else y


@twin("bias")
def bias(context: Context, params: Any, x: Array) -> Array:
    """y = x + bias; x [...,C,H,W], shape kept; the shape of bias is [1], [C], [1,H,W] or [C,H,W]."""
    return x + constant(context, params, "bias", "shape", x)


def constant(context: Context, params: Any, name: str, shape_name: str, x: Array) -> Array:
    """The weight ``name`` in the shape that field ``shape_name`` states, ready to broadcast against x [...,C,H,W]."""
    need_rank(x, 3)
    shape = [int(size) for size in getattr(params, shape_name)]
    require(len(shape) in (1, 3), f"{shape_name} must hold 1 or 3 integers, got {shape}")
    whole = (shape[0], 1, 1) if len(shape) == 1 else tuple(shape)
    fits = all(size in (1, own) for size, own in zip(whole, x.shape[-3:], strict=True))
    require(fits, f"{shape_name} {shape} must be [1], [C], [1,H,W] or [C,H,W] of the input {list(x.shape)}")
    return blob(context, params, name, *whole)


@twin("dot")
def dot(context: Context, params: Any, first: Array, second: Array) -> Array:
    """y = Σ x₁ x₂ over axis -3; ``cosineSimilarity``: divided by ‖x₁‖ ‖x₂‖

    x₁, x₂ [...,C,1,1] → [...,1,1,1]. The cosine of a zero vector is 0.
    """
    for x in (first, second):
        need_rank(x, 3)
        require(x.shape[-2:] == (1, 1), f"input must end in two axes of 1, got {list(x.shape)}")
    y = (first * second).sum(-3, keepdims=True)
    if not params.cosineSimilarity:
        return np.asarray(y)
    lengths = [np.sqrt(np.square(x).sum(-3, keepdims=True)) for x in (first, second)]
    size = lengths[0] * lengths[1]
    return np.asarray(np.where(size > 0, y / np.where(size > 0, size, 1.0), 0.0))
