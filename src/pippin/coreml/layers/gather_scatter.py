"""Layers that pick from a tensor, or write into it, by index.

Indices are whole numbers, also in float blobs; negative ones count from the end. One beyond its axis fails at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import UnsupportedError
from ...graph.composites.scatter import MODES, scatter_axis, scatter_elements, scatter_nd
from ...graph.ir import Dim, Value
from ..integers import alike
from ..lowering import Context, axis_of, lowering, require


@lowering("gather", integers=True)
def gather(g: Context, p: Any, x: Value, indices: Value) -> Value:
    """Slices of x along one axis, as numpy.take.

    y[a…,i…,b…] = x[a…, indices[i…], b…]
    x (A…,D,B…), indices (I…) → y (A…,I…,B…). Default: axis 0. Source: GatherLayerParams.
    """
    axis_of(p.axis, x.rank)
    return g.Gather(x, g.integer(indices), axis=p.axis or None)


@lowering("gatherND", integers=True)
def gather_nd(g: Context, p: Any, x: Value, indices: Value) -> Value:
    """Slices of x at points of its first K axes.

    y[i…,b…] = x[indices[i…,0], …, indices[i…,K-1], b…]
    x (D1…DK,B…), indices (I…,K) → y (I…,B…), (1) where no axis is left. Source: GatherNDLayerParams.
    """
    indices = g.integer(indices)
    if _depth(x, indices) == x.rank and indices.rank == 1:
        indices = g.Unsqueeze(indices, [0])  # one value: there are no blobs of rank 0
    return g.GatherND(x, indices)


@lowering("gatherAlongAxis", integers=True)
def gather_along_axis(g: Context, p: Any, x: Value, indices: Value) -> Value:
    """Elements of x along one axis, as numpy.take_along_axis.

    y[a…,i,b…] = x[a…, indices[a…,i,b…], b…]
    x (A…,D,B…), indices (A…,I,B…) → y same shape as indices. Default: axis 0. Source: GatherAlongAxisLayerParams.
    """
    axis = axis_of(p.axis, x.rank)
    _along(x, indices, axis, "the first input")
    return g.GatherElements(x, g.integer(indices), axis=p.axis or None)


@lowering("scatter", integers=True)
def scatter(g: Context, p: Any, x: Value, indices: Value, updates: Value) -> Value:
    """x with slices along one axis updated, one after the other, by seven modes.

    y = x; y[a…, indices[i…], b…] ∘= updates[a…,i…,b…], ∘ = update, add, subtract, multiply, divide, maximum, minimum
    x (A…,D,B…), indices (I…), updates (A…,I…,B…) → y same shape as x. Defaults: axis 0, SCATTER_UPDATE: the last stays.
    Differs: SCATTER_DIV divides once, by the product of the divisors. Source: ScatterLayerParams.
    """
    axis, mode = axis_of(p.axis, x.rank), _mode(p.mode)
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    _fits(updates.shape, shape, "updates")
    x, updates = _alike(g, x, updates, mode)
    return scatter_axis(g, x, g.integer(indices), updates, axis, mode)


@lowering("scatterND", integers=True)
def scatter_nd_layer(g: Context, p: Any, x: Value, indices: Value, updates: Value) -> Value:
    """x with slices at points of its first K axes updated, one after the other, by seven modes.

    y = x; y[indices[i…,0], …, indices[i…,K-1], b…] ∘= updates[i…,b…], modes as in scatter
    x (D1…DK,B…), indices (I…,K), updates (I…,B…) → y same shape as x. Default: SCATTER_UPDATE.
    Source: ScatterNDLayerParams.
    """
    mode = _mode(p.mode)
    depth = _depth(x, indices)
    shape = (*indices.shape[:-1], *x.shape[depth:])
    # one value at one point: there are no blobs of rank 0
    _fits(updates.shape, shape or (1,), "updates")
    x, updates = _alike(g, x, updates, mode)
    return scatter_nd(g, x, g.integer(indices), updates, mode)


@lowering("scatterAlongAxis", integers=True)
def scatter_along_axis(g: Context, p: Any, x: Value, indices: Value, updates: Value) -> Value:
    """x with elements along one axis updated, one after the other, by seven modes.

    y = x; y[a…, indices[a…,i,b…], b…] ∘= updates[a…,i,b…], modes as in scatter
    x (A…,D,B…), indices and updates (A…,I,B…) → y same shape as x. Defaults: axis 0, SCATTER_UPDATE.
    Source: ScatterAlongAxisLayerParams.
    """
    axis, mode = axis_of(p.axis, x.rank), _mode(p.mode)
    _along(x, indices, axis, "the first input")
    _fits(updates.shape, indices.shape, "updates")
    x, updates = _alike(g, x, updates, mode)
    return scatter_elements(g, x, g.integer(indices), updates, axis, mode)


def _mode(mode: int) -> str:
    require(0 <= mode < len(MODES), f"mode must be a ScatterMode, 0 to {len(MODES) - 1}, got {mode}")
    return MODES[mode]


def _alike(g: Context, x: Value, updates: Value, mode: str) -> tuple[Value, Value]:
    """Both in one dtype; a division is one of real numbers."""
    if mode == "div":
        return g.float(x), g.float(updates)
    one, other = alike(g, x, updates)
    return one, other


def _depth(x: Value, indices: Value) -> int:
    """K, the last size of multi-indices."""
    require(indices.rank > 0, "the indices must have a rank of at least 1, got 0")
    depth = indices.shape[-1]
    if not isinstance(depth, int):
        raise UnsupportedError(f"the last size of the indices must be known, got {list(indices.shape)}")
    require(depth <= x.rank, f"the last size of the indices must be at most the rank of x ({x.rank}), got {depth}")
    return depth


def _along(x: Value, indices: Value, axis: int, what: str) -> None:
    require(indices.rank == x.rank, f"the indices must have the rank of {what} ({x.rank}), got {indices.rank}")
    wanted = (*x.shape[:axis], indices.shape[axis], *x.shape[axis + 1 :])
    _fits(indices.shape, wanted, "indices")


def _fits(have: Sequence[Dim], want: Sequence[Dim], name: str) -> None:
    """Raises ``CheckError`` where known sizes contradict each other."""
    fits = len(have) == len(want) and all(
        isinstance(a, str) or isinstance(b, str) or a == b for a, b in zip(have, want, strict=True)
    )
    require(fits, f"the {name} must have the shape {list(want)}, got {list(have)}")
