"""Twins of the layers that pick from a tensor, or write into it, by index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import CheckError
from ._nd import Integers, wrapped
from .arrays import as_axis, as_shape
from .registry import Array, Context, twin

# old value, new value → what is kept; in the order of ScatterMode
_MODES: tuple[Callable[[Any, Any], Any], ...] = (
    lambda old, new: new,
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.maximum,
    np.minimum,
)


@twin("gather")
def gather(context: Context, params: Any, data: Array, indices: Array) -> Array:
    """output[…, i…j, …] = data[…, indices[i…j], …] at ``axis``.

    data (A…, D, B…), indices (I…) → (A…, I…, B…). Negative indices count from the end. Source: GatherLayerParams.
    """
    axis = as_axis(params.axis, data.ndim)
    as_shape((*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]))
    return np.take(data, wrapped(indices, data.shape[axis]), axis=axis)


@twin("gatherND")
def gather_nd(context: Context, params: Any, data: Array, indices: Array) -> Array:
    """output[i…j] = data[indices[i…j, 0], …, indices[i…j, K-1]].

    data (D0…), indices (I…, K) → (I…) + the axes of data behind the first K; a single number has shape (1).
    Source: GatherNDLayerParams.
    """
    points = _points(data, indices)
    as_shape((*indices.shape[:-1], *data.shape[len(points) :]))
    return np.atleast_1d(data[points])


@twin("gatherAlongAxis")
def gather_along_axis(context: Context, params: Any, data: Array, indices: Array) -> Array:
    """output[…, i, …] = data[…, indices[…, i, …], …] at ``axis``, all other indices equal.

    data and indices have equal shapes but for ``axis`` → shape of indices. Source: GatherAlongAxisLayerParams.
    """
    axis = as_axis(params.axis, data.ndim)
    _same_but(data, indices, axis, "indices")
    return np.take_along_axis(data, wrapped(indices, data.shape[axis]), axis=axis)


@twin("scatter")
def scatter(context: Context, params: Any, container: Array, indices: Array, updates: Array) -> Array:
    """output = container, then output[…, indices[i…j], …] ∘= updates[…, i…j, …] at ``axis``, one after the other.

    ∘ by ``mode``: replace, +, -, ×, ÷, max, min. With equal indices each update acts on what the one before it left,
    so the last one stays in SCATTER_UPDATE. container (A…, D, B…), indices (I…), updates (A…, I…, B…) → as container.
    Source: ScatterLayerParams.
    """
    combine = _combine(params.mode)
    axis = as_axis(params.axis, container.ndim)
    before, after = container.shape[:axis], container.shape[axis + 1 :]
    wanted = (*before, *indices.shape, *after)
    if updates.shape != wanted:
        raise CheckError(f"the input updates must have shape {list(wanted)}, got {list(updates.shape)}")
    result = container.copy()
    target = np.moveaxis(result, axis, 0)
    source = np.moveaxis(updates.reshape(*before, indices.size, *after), axis, 0)
    for value, index in zip(source, wrapped(indices, container.shape[axis]).reshape(-1), strict=True):
        target[index] = combine(target[index], value)
    return result


@twin("scatterND")
def scatter_nd(context: Context, params: Any, container: Array, indices: Array, updates: Array) -> Array:
    """output = container, then output[indices[i…j, :]] ∘= updates[i…j], one after the other.

    ∘ by ``mode`` as in scatter. container (D0…), indices (I…, K), updates (I…) + the axes of container behind the
    first K → as container. Source: ScatterNDLayerParams.
    """
    combine = _combine(params.mode)
    points = _points(container, indices)
    wanted = (*indices.shape[:-1], *container.shape[len(points) :])
    if updates.shape != wanted:
        raise CheckError(f"the input updates must have shape {list(wanted)}, got {list(updates.shape)}")
    result = container.copy()
    for place in np.ndindex(*indices.shape[:-1]):
        at = tuple(int(point[place]) for point in points)
        result[at] = combine(result[at], updates[place])
    return result


@twin("scatterAlongAxis")
def scatter_along_axis(context: Context, params: Any, container: Array, indices: Array, updates: Array) -> Array:
    """output = container, then output[…, indices[…, i, …], …] ∘= updates[…, i, …] at ``axis``, one after the other.

    ∘ by ``mode`` as in scatter. indices and updates have the shape of container but for ``axis`` → as container.
    Source: ScatterAlongAxisLayerParams.
    """
    combine = _combine(params.mode)
    axis = as_axis(params.axis, container.ndim)
    _same_but(container, indices, axis, "indices")
    if updates.shape != indices.shape:
        raise CheckError(f"the input updates must have shape {list(indices.shape)}, got {list(updates.shape)}")
    places = wrapped(indices, container.shape[axis])
    result = container.copy()
    for place in np.ndindex(*indices.shape):
        at = (*place[:axis], int(places[place]), *place[axis + 1 :])
        result[at] = combine(result[at], updates[place])
    return result


def _combine(mode: int) -> Callable[[Any, Any], Any]:
    if not 0 <= mode < len(_MODES):
        raise CheckError(f"mode must be one of the values of ScatterMode, 0 to {len(_MODES) - 1}, got {mode}")
    return _MODES[mode]


def _points(data: Array, indices: Array) -> tuple[Integers, ...]:
    """One array of indices for each of the first K axes of ``data``."""
    depth = indices.shape[-1] if indices.ndim else 0
    if not 1 <= depth <= data.ndim:
        raise CheckError(
            f"the last axis of indices must have 1 to {data.ndim} entries, got shape {list(indices.shape)}"
        )
    return tuple(wrapped(indices[..., k], data.shape[k]) for k in range(depth))


def _same_but(data: Array, other: Array, axis: int, name: str) -> None:
    mine, theirs = list(data.shape), list(other.shape)
    if len(mine) == len(theirs):
        mine[axis] = theirs[axis]
    if mine != theirs:
        raise CheckError(f"the input {name} must have shape {mine} (axis {axis} is free), got {theirs}")
