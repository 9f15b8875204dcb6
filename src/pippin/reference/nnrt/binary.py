"""Twins of the functions of two tensors, element by element, of comparisons and of choices.

Dims broadcast as NumPy's. Where the types differ the second operand is converted to the first one's. Arithmetic on
bools counts them as 0 and 1, and its result is true unless it is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...nnrt.enums import EltwiseMode, NodeType
from .activation import fused
from .registry import Array, Context, twin
from .rules import along, as_axis, broadcast, channel_axis, count, name_of, need_number, require

Function = Callable[[Array, Array], Any]


def alike(a: Array, b: Array) -> tuple[Array, Array]:
    """Both operands in the type of the first; dims that do not broadcast are refused."""
    broadcast(a, b)
    if b.dtype == a.dtype:
        return a, b
    return a, np.asarray(np.trunc(b) if b.dtype.kind == "f" and a.dtype.kind in "iu" else b).astype(a.dtype)


def divide(a: Array, b: Array) -> Array:
    """a / b; integers are cut off toward zero, and divided by 0 they give 0."""
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    a, b = np.broadcast_arrays(a, b)
    quotient = np.where(b == 0, 0, np.abs(a.astype(object)) // np.where(b == 0, 1, np.abs(b.astype(object))))
    return np.asarray(np.where((a < 0) != (b < 0), -quotient, quotient)).astype(a.dtype)


def remainder(a: Array, b: Array) -> Array:
    """a - b · trunc(a / b): it has the sign of a. Of integers divided by 0 it is a."""
    if a.dtype.kind == "f":
        return np.asarray(np.fmod(a, b))
    return np.asarray(np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b))).astype(a.dtype))


def squared_difference(a: Array, b: Array) -> Array:
    """(a - b)²"""
    return np.asarray((a - b) * (a - b))


def _arithmetic(node_type: NodeType, function: Function) -> None:
    def compute(context: Context, p: Any, a: Array, b: Array) -> Array:
        a, b = alike(a, b)
        y = np.asarray(function(a.astype(int), b.astype(int)) != 0 if a.dtype.kind == "b" else function(a, b))
        return fused(y, p.activationType) if hasattr(p, "activationType") else y

    compute.__name__ = node_type.name.lower()
    twin(node_type)(compute)


_ARITHMETIC: dict[NodeType, Function] = {
    NodeType.ADD_FUSION: np.add,
    NodeType.SUB_FUSION: np.subtract,
    NodeType.MUL_FUSION: np.multiply,
    NodeType.DIV_FUSION: divide,
    NodeType.MOD: remainder,
    NodeType.MAXIMUM: np.maximum,
    NodeType.MINIMUM: np.minimum,
    NodeType.SQUARED_DIFFERENCE: squared_difference,
}
for _type, _function in _ARITHMETIC.items():
    _arithmetic(_type, _function)


def _comparison(node_type: NodeType, function: Function) -> None:
    def compute(context: Context, p: Any, a: Array, b: Array) -> Array:
        return np.asarray(function(*alike(a, b)))

    compute.__name__ = node_type.name.lower()
    twin(node_type)(compute)


_COMPARISONS: dict[NodeType, Function] = {
    NodeType.EQUAL: np.equal,
    NodeType.NOT_EQUAL: np.not_equal,
    NodeType.GREATER: np.greater,
    NodeType.GREATER_EQUAL: np.greater_equal,
    NodeType.LESS: np.less,
    NodeType.LESS_EQUAL: np.less_equal,
}
for _type, _function in _COMPARISONS.items():
    _comparison(_type, _function)


def _logical(node_type: NodeType, function: Function) -> None:
    def compute(context: Context, p: Any, a: Array, b: Array) -> Array:
        broadcast(a, b)
        return np.asarray(function(a != 0, b != 0))

    compute.__name__ = node_type.name.lower()
    twin(node_type)(compute)


_logical(NodeType.LOGICAL_AND, np.logical_and)
_logical(NodeType.LOGICAL_OR, np.logical_or)


@twin(NodeType.LOGICAL_NOT)
def logical_not(context: Context, p: Any, x: Array) -> Array:
    """y = (x = 0)"""
    return np.asarray(x == 0)


@twin(NodeType.REAL_DIV)
def real_div(context: Context, p: Any, a: Array, b: Array) -> Array:
    """y = a / b of floats."""
    need_number(a)
    return divide(*alike(a, b))


@twin(NodeType.ELTWISE)
def eltwise(context: Context, p: Any, a: Array, b: Array) -> Array:
    """y = a · b, a + b or max(a, b)."""
    functions: dict[Any, Function] = {
        EltwiseMode.PROD: np.multiply,
        EltwiseMode.SUM: np.add,
        EltwiseMode.MAXIMUM: np.maximum,
    }
    need_number(a, b)
    require(p.mode in functions, f"mode must be PROD, SUM or MAXIMUM, got {name_of(p.mode)}")
    return np.asarray(functions[p.mode](*alike(a, b)))


@twin(NodeType.POW_FUSION)
def power(context: Context, p: Any, a: Array, b: Array) -> Array:
    """y = (scale · a + shift) ^ b."""
    need_number(a)
    a, b = alike(a, b)
    return np.asarray(np.power(p.scale * a + p.shift, b))


@twin(NodeType.BIAS_ADD, moves=True)
def bias_add(context: Context, p: Any, x: Array, bias: Array) -> Array:
    """y = x + bias along the channels."""
    need_number(x, bias)
    require(x.ndim > 0, "x must have a channel dim")
    axis = channel_axis(x, context.nchw)
    fits = bias.ndim == 1 and bias.size == x.shape[axis]
    require(fits, f"bias must have dims [{x.shape[axis]}], got {list(bias.shape)}")
    return np.asarray(np.add(*alike(x, along(bias, axis, x.ndim))))


@twin(NodeType.SCALE_FUSION)
def scale(context: Context, p: Any, x: Array, factor: Array, *bias: Array) -> Array:
    """y = act(x · scale + bias), scale and bias lying along the dims of x from ``axis`` on."""
    count((factor, *bias), 2, 3)
    need_number(x, factor)
    axis = as_axis(p.axis, x.ndim)
    part = x.shape[axis : axis + factor.ndim]
    require(factor.shape == part, f"scale must have the dims {list(part)} of x from axis on, got {list(factor.shape)}")
    sizes = [1] * axis + list(part) + [1] * (x.ndim - axis - factor.ndim)
    y = np.multiply(*alike(x, factor.reshape(sizes)))
    for offset in bias:
        require(offset.size == factor.size, f"bias must hold {factor.size} numbers, got dims {list(offset.shape)}")
        y = np.add(*alike(y, offset.reshape(sizes)))
    return fused(np.asarray(y), p.activationType)


def choose(condition: Array, a: Array, b: Array) -> Array:
    """a where the condition holds, else b; a condition of rank 1 as long as the first dim chooses rows."""
    rows = condition.ndim == 1 and a.ndim > 1 and condition.size == a.shape[0] and condition.size > 1
    if rows:
        condition = along(condition, 0, a.ndim)
    a, b = alike(a, b)
    broadcast(condition, a, b)
    return np.where(condition != 0, a, b)


@twin(NodeType.WHERE)
def where(context: Context, p: Any, condition: Array, *choices: Array) -> Array:
    """Three inputs: a or b, by the condition. One: the places where it holds, in row-major order."""
    count(choices, 1, 3)
    if not choices:
        return np.argwhere(condition).astype(np.int32)
    return choose(condition, *choices)


@twin(NodeType.SELECT)
def select(context: Context, p: Any, condition: Array, a: Array, b: Array) -> Array:
    """a or b of equal dims, by a condition of one element, of one per row, or of these dims."""
    require(a.shape == b.shape, f"the dims must be equal, got {list(a.shape)} and {list(b.shape)}")
    if condition.size == 1:
        return a if condition.reshape(()) else alike(a, b)[1]
    fits = condition.shape in (a.shape, a.shape[:1])
    require(fits, f"condition must have one element or the dims {list(a.shape)}, got {list(condition.shape)}")
    return choose(condition, a, b)
