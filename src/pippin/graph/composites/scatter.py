"""Scatters with an accumulation mode, right with repeated indices.

All go through ScatterElements with expanded indices: the engine's ScatterND races where an index repeats. Of equal
indices the last one stays in mode "update". Negative indices count from the end; one beyond its axis fails at run time.
"""

from __future__ import annotations

from ..builder import Builder, Size
from ..ir import Value

MODES = ("update", "add", "sub", "mul", "div", "max", "min")
_REDUCTION = {"add": "add", "sub": "add", "mul": "mul", "div": "mul", "max": "max", "min": "min"}


def scatter_elements(g: Builder, data: Value, indices: Value, updates: Value, axis: int, mode: str) -> Value:
    """data[…, indices[…,j,…], …] ∘= updates[…,j,…] along ``axis``; indices int64 and updates of one shape.

    ONNX has no reductions for "sub", here the addition of -u, and "div": the divisors are multiplied into ones first.
    """
    if mode == "div":
        ones = g.expand(g.constant(1, data.dtype), g.sizes(data))
        divisors = g.ScatterElements(ones, indices, updates, axis=axis, reduction="mul")
        quotient: Value = g.Div(data, divisors)
        return quotient
    if mode == "sub":
        updates = g.Neg(updates)
    result: Value = g.ScatterElements(data, indices, updates, axis=axis, reduction=_REDUCTION.get(mode))
    return result


def scatter_axis(g: Builder, data: Value, indices: Value, updates: Value, axis: int, mode: str) -> Value:
    """data[:, …, indices[i,…,j], …] ∘= updates[:, …, i,…,j, …]: whole slices at ``axis`` ≥ 0.

    data (A…,D,B…), indices (I…) int64, updates (A…,I…,B…) → same shape as data
    """
    if indices.rank != 1:
        sizes, count = g.sizes(data), g.product(g.sizes(indices))
        updates = g.reshape(updates, [*sizes[:axis], count, *sizes[axis + 1 :]])
        indices = g.reshape(indices, [count])
    if data.rank > 1:
        indices = g.Unsqueeze(indices, [other for other in range(data.rank) if other != axis])
    return scatter_elements(g, data, _expanded(g, indices, updates), updates, axis, mode)


def scatter_nd(g: Builder, data: Value, indices: Value, updates: Value, mode: str) -> Value:
    """data[indices[i,…,j,:], …] ∘= updates[i,…,j,…]: slices at points of the first K axes.

    data (D1…DK,B…), indices (I…,K) int64 with K known, updates (I…,B…) → same shape as data
    """
    depth = indices.shape[-1]
    assert isinstance(depth, int)
    sizes = g.sizes(data)
    points = g.product(g.sizes(indices)[:-1])
    inner = sizes[depth:]
    if depth == 0:  # one slice for each point: all of data
        row = g.constant([0], "int64")
        data_rows, linear = g.Unsqueeze(data, [0]), g.expand(row, [points])
    elif depth == 1:
        data_rows, linear = data, g.reshape(indices, [points])
    else:
        total = g.product(sizes[:depth])
        # the engine looks points up in a table of row numbers: it checks their bounds and minds their signs
        table = g.reshape(_range(g, total), sizes[:depth])
        linear = g.reshape(g.GatherND(table, indices), [points])
        data_rows = g.reshape(data, [total, *inner])
    updates = g.reshape(updates, [points, *inner])
    if inner:
        linear = _expanded(g, g.Unsqueeze(linear, list(range(1, 1 + len(inner)))), updates)
    return g.reshape(scatter_elements(g, data_rows, linear, updates, 0, mode), sizes)


def _expanded(g: Builder, indices: Value, like: Value) -> Value:
    """Indices with axes of size 1, broadcast to the shape of ``like``."""
    if like.static:
        return g.expand(indices, g.sizes(like))
    result: Value = g.Expand(indices, g.Shape(like))
    result.shape = like.shape
    return result


def _range(g: Builder, count: Size) -> Value:
    limit = g.constant(count, "int64") if isinstance(count, int) else g.Squeeze(count, [0])
    result: Value = g.Range(g.constant(0, "int64"), limit, g.constant(1, "int64"))
    return result
