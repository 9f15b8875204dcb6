"""Small helpers of the twins that index: indices and sizes that arrive as tensors of floats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import CheckError, RunError
from .arrays import Array, scalar

Integers = NDArray[np.int64]


def whole_numbers(values: Array, what: str = "indices") -> Integers:
    """Whole numbers that were carried as floats; fractions are cut off. Raises ``RunError`` for NaN and infinity."""
    if not np.isfinite(values).all():
        raise RunError(f"{what} must be finite")
    return np.trunc(values).astype(np.int64)


def wrapped(values: Array, size: int, what: str = "indices") -> Integers:
    """Indices into an axis of ``size`` entries; negative ones count from the end. Raises ``RunError`` outside."""
    found = whole_numbers(values, what)
    if found.size and not (-size <= found.min() and found.max() < size):
        raise RunError(f"{what} must lie between {-size} and {size - 1}, got {found.min()} to {found.max()}")
    return np.where(found < 0, found + size, found)


def whole(values: Array, what: str) -> int:
    """The one whole number of an input that stands for a parameter."""
    return int(whole_numbers(np.asarray(scalar(values, what)), what))


def at_least_rank(x: Array, rank: int) -> None:
    """Raises ``CheckError`` if ``x`` has fewer axes."""
    if x.ndim < rank:
        raise CheckError(f"the input must have a rank of at least {rank}, got shape {list(x.shape)}")
