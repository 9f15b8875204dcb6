"""Twins of the layers that order values: top K, positions of extremes, sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import CheckError, RunError
from ._nd import Integers, whole
from .arrays import as_axis
from .registry import Array, Context, twin


@twin("topK")
def top_k(context: Context, params: Any, x: Array, k: Array | None = None) -> tuple[Array, Array]:
    """The K largest values along ``axis``, largest first, and their indices; with ``useBottomK`` the smallest first.

    x (…, D, …), optional scalar K → values and indices (…, K, …). Of equal values the lower index comes first.
    Source: TopKLayerParams.
    """
    axis = as_axis(params.axis, x.ndim)
    count = int(params.K) if k is None else whole(k, "K")
    if not 0 <= count <= x.shape[axis]:
        wrong = CheckError if k is None else RunError
        raise wrong(f"K must lie between 0 and {x.shape[axis]}, the size of axis {axis}, got {count}")
    order = np.take(_order(x, axis, descending=not params.useBottomK), np.arange(count), axis=axis)
    return np.take_along_axis(x, order, axis=axis), order.astype(np.float64)


@twin("argMax", "argMin")
def arg_extreme(context: Context, params: Any, x: Array) -> Array:
    """The index of the largest (argMax) or smallest (argMin) value along ``axis``; of equal ones the lowest.

    x (…, D, …) → (…, 1, …), or (…, …) with ``removeDim``, which keeps the axis of a vector.
    Source: ArgMaxLayerParams, ArgMinLayerParams.
    """
    axis = as_axis(params.axis, x.ndim)
    if not x.shape[axis]:
        raise CheckError(f"axis {axis} of the input is empty, so no value of it is the largest or smallest")
    search = np.argmax if context.layer.WhichOneof("layer") == "argMax" else np.argmin
    keep = not params.removeDim or x.ndim == 1
    return np.asarray(search(x, axis=axis, keepdims=keep), np.float64)


@twin("argSort")
def arg_sort(context: Context, params: Any, x: Array) -> Array:
    """The indices that would sort ``x`` along ``axis``; equal values keep their order, also with ``descending``.

    x (…) → indices, same shape. ``axis`` counts from the front only. Source: ArgSortLayerParams.
    """
    if not 0 <= params.axis < x.ndim:
        raise CheckError(f"axis must lie between 0 and {x.ndim - 1}, got {params.axis}")
    return _order(x, int(params.axis), descending=params.descending).astype(np.float64)


def _order(x: Array, axis: int, *, descending: bool) -> Integers:
    return np.asarray(np.argsort(-x if descending else x, axis=axis, kind="stable"), np.int64)
