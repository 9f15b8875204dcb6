"""Twins of the ten reductions over any axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import CheckError, UnsupportedError
from .arrays import as_axis
from .registry import Array, Context, twin

Axes = tuple[int, ...]


def _log_sum_exp(x: Array, axis: Axes, keepdims: bool) -> Array:
    """log Σ exp x, with the largest value taken out of the exponent, so that nothing overflows."""
    if not all(x.shape[a] for a in axis):
        return np.asarray(np.log(np.sum(x, axis=axis, keepdims=keepdims)))
    largest = x.max(axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    total = np.asarray(np.log(np.exp(x - largest).sum(axis=axis, keepdims=True)) + largest)
    return total if keepdims else total.squeeze(axis)


_FORMULAS: dict[str, Callable[[Array, Axes, bool], Any]] = {
    "reduceL1": lambda x, axis, keep: np.abs(x).sum(axis=axis, keepdims=keep),
    "reduceL2": lambda x, axis, keep: np.sqrt(np.square(x).sum(axis=axis, keepdims=keep)),
    "reduceMax": lambda x, axis, keep: x.max(axis=axis, keepdims=keep),
    "reduceMin": lambda x, axis, keep: x.min(axis=axis, keepdims=keep),
    "reduceSum": lambda x, axis, keep: x.sum(axis=axis, keepdims=keep),
    "reduceProd": lambda x, axis, keep: x.prod(axis=axis, keepdims=keep),
    "reduceMean": lambda x, axis, keep: x.mean(axis=axis, keepdims=keep),
    "reduceLogSum": lambda x, axis, keep: np.log(x.sum(axis=axis, keepdims=keep)),
    "reduceSumSquare": lambda x, axis, keep: np.square(x).sum(axis=axis, keepdims=keep),
    "reduceLogSumExp": _log_sum_exp,
}


@twin(*_FORMULAS)
def reduce_nd(context: Context, params: Any, x: Array) -> Array:
    """One number for all values along ``axes``, or along all axes with ``reduceAll``.

    L1 Σ|x|, L2 √Σx², max, min, sum, prod, mean, log sum log Σx, sum of squares Σx², log sum exp log Σeˣ.
    x (…) → the reduced axes have size 1 with ``keepDims`` and are gone without; if none is left the shape is (1),
    as the format has no tensors of rank 0. No axis and no ``reduceAll`` is refused: the text leaves its meaning open.
    Source: ReduceL1LayerParams and its nine sisters.
    """
    kind = context.layer.WhichOneof("layer")
    axes = tuple(range(x.ndim)) if params.reduceAll else tuple(as_axis(a, x.ndim, "axes") for a in params.axes)
    if not axes:
        raise UnsupportedError("axes must name at least one axis unless reduceAll is set, got none")
    if len(set(axes)) < len(axes):
        raise CheckError(f"axes must name each axis once, got {list(params.axes)}")
    empty = not all(x.shape[a] for a in axes)
    if empty and kind in ("reduceMax", "reduceMin", "reduceMean"):
        raise CheckError(f"axes {list(axes)} hold no value to reduce in an input of shape {list(x.shape)}")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.atleast_1d(np.asarray(_FORMULAS[kind](x, axes, bool(params.keepDims))))
