"""Twins of one-hot vectors and running sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import CheckError
from ._nd import whole
from .arrays import as_axis, as_shape
from .registry import Array, Context, twin


@twin("oneHot")
def one_hot(context: Context, params: Any, x: Array, size: Array | None = None) -> Array:
    """``onValue`` at the index that each input value names, ``offValue`` elsewhere.

    x (…), optional scalar size → rank one more, with an axis of ``oneHotVectorSize`` at ``axis`` (counted in the
    output). An index outside 0 … size - 1, a negative one too, gives ``offValue`` throughout; fractions are cut off.
    Source: OneHotLayerParams.
    """
    count = int(params.oneHotVectorSize) if size is None else whole(size, "oneHotVectorSize")
    if count <= 0:
        raise CheckError(f"oneHotVectorSize must be positive, got {count}")
    axis = as_axis(params.axis, x.ndim + 1)
    as_shape((*x.shape, count), "oneHotVectorSize")
    along = [1] * (x.ndim + 1)
    along[axis] = count
    hit = np.expand_dims(np.trunc(x), axis) == np.arange(count).reshape(along)
    return np.where(hit, np.float64(params.onValue), np.float64(params.offValue))


@twin("cumSum")
def cum_sum(context: Context, params: Any, x: Array, axis: Array | None = None) -> Array:
    """Running sums along ``axis``, from the end with ``reverse``; ``excludeFinalSum`` leaves out the value itself.

    y[i] = Σ x[j], j ≤ i; j < i with ``excludeFinalSum``; j ≥ i and j > i with ``reverse``.
    x (…), optional scalar axis → same shape. Source: CumSumLayerParams.
    """
    along = as_axis(params.axis if axis is None else whole(axis, "axis"), x.ndim)
    values = np.flip(x, along) if params.reverse else x
    sums = np.cumsum(values, axis=along)
    if params.excludeFinalSum:
        # shifted by one rather than minus x, so that nothing is lost beside a large value
        head = np.zeros_like(np.take(sums, range(min(1, x.shape[along])), axis=along))
        rest = np.take(sums, range(max(x.shape[along] - 1, 0)), axis=along)
        sums = np.concatenate([head, rest], axis=along)
    return np.flip(sums, along) if params.reverse else sums
