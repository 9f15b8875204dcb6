"""Twins of the layers that choose or blank values by condition or position."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._nd import Integers, at_least_rank
from .arrays import broadcast
from .registry import Array, Context, twin


@twin("whereNonZero")
def where_non_zero(context: Context, params: Any, x: Array) -> Array:
    """The indices of all values that are not zero, in the order in which they lie.

    x of rank R → (N, R), N how many there are. Source: WhereNonZeroLayerParams.
    """
    return np.argwhere(x).astype(np.float64)


@twin("whereBroadcastable")
def where_broadcastable(context: Context, params: Any, condition: Array, x: Array, y: Array) -> Array:
    """x where the condition is not zero, else y; the three shapes broadcast. Source: WhereBroadcastableLayerParams."""
    broadcast(condition, x, y)
    return np.where(condition != 0, x, y)


@twin("matrixBandPart")
def matrix_band_part(context: Context, params: Any, x: Array) -> Array:
    """Keeps row m, column n of each matrix where m - n ≤ ``numLower`` and n - m ≤ ``numUpper``; 0 elsewhere.

    A negative number stands for no bound. x (…, M, N) → same shape. Source: MatrixBandPartLayerParams.
    """
    below = _below(x)
    keep = np.ones(below.shape, bool)
    if params.numLower >= 0:
        keep &= below <= params.numLower
    if params.numUpper >= 0:
        keep &= -below <= params.numUpper
    return np.where(keep, x, 0.0)


@twin("lowerTriangular")
def lower_triangular(context: Context, params: Any, x: Array) -> Array:
    """Zeros above diagonal ``k`` of each matrix: row m, column n is kept where n - m ≤ k.

    x (…, M, N) → same shape. Source: LowerTriangularLayerParams.
    """
    return np.where(-_below(x) <= params.k, x, 0.0)


@twin("upperTriangular")
def upper_triangular(context: Context, params: Any, x: Array) -> Array:
    """Zeros below diagonal ``k`` of each matrix: row m, column n is kept where n - m ≥ k.

    x (…, M, N) → same shape. Source: UpperTriangularLayerParams.
    """
    return np.where(-_below(x) >= params.k, x, 0.0)


def _below(x: Array) -> Integers:
    """m - n for each place (m, n) of the matrices in ``x``."""
    at_least_rank(x, 2)
    rows, columns = x.shape[-2:]
    return np.arange(rows)[:, None] - np.arange(columns)[None, :]
