"""Twins of the functions of one tensor, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nnrt.enums import NodeType
from .activation import erf
from .registry import Array, Context, twin
from .rules import need_number, require


def _of_floats(node_type: NodeType, function: Any) -> None:
    def compute(context: Context, p: Any, x: Array) -> Array:
        need_number(x)
        return np.asarray(function(x))

    compute.__name__ = node_type.name.lower()
    twin(node_type)(compute)


for _type, _function in {
    NodeType.CEIL: np.ceil,
    NodeType.FLOOR: np.floor,
    NodeType.ROUND: np.rint,  # halves to the even neighbour
    NodeType.COS: np.cos,
    NodeType.SIN: np.sin,
    NodeType.ERF: erf,
    NodeType.LOG: np.log,
    NodeType.RECIPROCAL: lambda x: 1 / x,
    NodeType.SQRT: np.sqrt,
    NodeType.RSQRT: lambda x: 1 / np.sqrt(x),
}.items():
    _of_floats(_type, _function)


def _of_numbers(node_type: NodeType, function: Any) -> None:
    def compute(context: Context, p: Any, x: Array) -> Array:
        need_number(x)
        return np.asarray(function(x))

    compute.__name__ = node_type.name.lower()
    twin(node_type)(compute)


for _type, _function in {
    NodeType.ABS: np.abs,
    NodeType.NEG: np.negative,
    NodeType.SQUARE: lambda x: x * x,
}.items():
    _of_numbers(_type, _function)


@twin(NodeType.EXPFUSION)
def exp(context: Context, p: Any, x: Array) -> Array:
    """y = base ^ (shift + scale · x); a base of -1 stands for e."""
    need_number(x)
    require(p.base == -1 or p.base > 0, f"base must be positive, or -1 for e, got {p.base}")
    power = p.shift + p.scale * x
    return np.asarray(np.exp(power) if p.base == -1 else np.float64(p.base) ** power)


@twin(NodeType.CLIP)
def clip(context: Context, p: Any, x: Array) -> Array:
    """y = min(max(x, min), max)."""
    need_number(x)
    require(p.min <= p.max, f"min must not exceed max, got {p.min} and {p.max}")
    if x.dtype.kind == "f":
        return np.clip(x, p.min, p.max)
    return np.clip(x, np.ceil(p.min), np.floor(p.max)).astype(x.dtype)
