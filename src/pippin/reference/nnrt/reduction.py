"""Twins of the operators that fold or rank elements along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nnrt.enums import NodeType, ReduceMode
from .registry import Array, Context, twin
from .rules import as_axes, as_axis, count, integer, integers, name_of, need_number, require


def _mean(x: Array, **where: Any) -> Array:
    if x.dtype.kind == "f":
        return np.asarray(x.mean(**where))
    total = x.sum(dtype=np.int64, **where)
    return np.trunc(total / (x.size // max(1, np.size(total)))).astype(x.dtype)


FOLDS: dict[Any, Any] = {
    ReduceMode.MEAN: _mean,
    ReduceMode.MAX: lambda x, **where: x.max(**where),
    ReduceMode.MIN: lambda x, **where: x.min(**where),
    ReduceMode.PROD: lambda x, **where: x.prod(dtype=x.dtype, **where),
    ReduceMode.SUM: lambda x, **where: x.sum(dtype=x.dtype, **where),
    ReduceMode.SUM_SQUARE: lambda x, **where: (x * x).sum(dtype=x.dtype, **where),
    ReduceMode.ASUM: lambda x, **where: np.abs(x).sum(dtype=x.dtype, **where),
    ReduceMode.ALL: lambda x, **where: x.all(**where),
    ReduceMode.L2: lambda x, **where: np.sqrt((x * x).sum(**where)),
}


@twin(NodeType.REDUCE_FUSION)
def reduce(context: Context, p: Any, x: Array, *axis: Array) -> Array:
    """y = x folded by ``mode`` along the axes of the second input, all of them if there are none."""
    count(axis, 1, 2)
    require(p.mode in FOLDS, f"mode must be a known fold, got {name_of(p.mode)}")
    if p.mode != ReduceMode.ALL:
        need_number(x)
    listed = integers(axis[0], "axis") if axis else []
    axes = as_axes(listed or range(x.ndim), x.ndim)
    if p.reduceToEnd:
        require(len(listed) == 1, f"axis must hold 1 integer with reduceToEnd, got {listed}")
        axes = tuple(range(axes[0], x.ndim))
    y = np.asarray(FOLDS[p.mode](x, axis=axes, keepdims=p.keepDims and not p.reduceToEnd))
    scaled = p.reduceToEnd and abs(p.coeff) > 1e-5 and x.dtype.kind == "f"
    return y * p.coeff if scaled else y


@twin(NodeType.ALL)
def all_true(context: Context, p: Any, x: Array, axis: Array) -> Array:
    """y = whether every element along the axes is other than 0."""
    axes = as_axes(integers(axis, "axis") or range(x.ndim), x.ndim)
    return np.asarray((x != 0).all(axis=axes, keepdims=bool(p.keepDims)))


def greatest(x: Array, k: int, axis: int, name: str) -> tuple[Array, Array]:
    """The k greatest elements along an axis and their places, the greatest first, ties by the lower place."""
    need_number(x)
    require(1 <= k <= x.shape[axis], f"{name} must lie in [1, {x.shape[axis]}], got {k}")
    order = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    places = np.take(x.shape[axis] - 1 - order, range(k), axis=axis)
    return np.take_along_axis(x, places, axis), places.astype(np.int32)


@twin(NodeType.ARGMAX_FUSION)
def arg_max(context: Context, p: Any, x: Array) -> Array | tuple[Array, ...]:
    """y = the places of the ``topK`` greatest elements along ``axis``, or with ``outMaxValue`` the elements."""
    axis = as_axis(p.axis, x.ndim)
    values, places = greatest(x, p.topK, axis, "topK")
    if p.topK == 1 and not p.keepDims:
        values, places = values.squeeze(axis), places.squeeze(axis)
    if len(context.outputs) == 2:
        return places, values
    return values if p.outMaxValue else places


@twin(NodeType.TOPK_FUSION)
def top_k(context: Context, p: Any, x: Array, k: Array) -> tuple[Array, ...]:
    """The k greatest elements along ``axis`` and their places."""
    return greatest(x, integer(k, "k"), as_axis(p.axis, x.ndim), "k")
