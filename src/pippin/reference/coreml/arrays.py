"""What the twins share: axes, shapes that come as numbers, and a bound on how much a layer may allocate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import CheckError, RunError

Array = NDArray[np.float64]

MAX_ELEMENTS = 1 << 27
"""The largest tensor a twin makes (1 GiB): a file may ask for any number of elements in a few bytes."""


def as_axis(axis: int, rank: int, name: str = "axis") -> int:
    """``axis`` counted from the front; negative values count from the end. Raises ``CheckError`` outside the rank."""
    if not -rank <= axis < rank:
        raise CheckError(f"{name} must lie between {-rank} and {rank - 1} for rank {rank}, got {axis}")
    return axis + rank if axis < 0 else axis


def as_axes(axes: Sequence[int], rank: int, name: str = "axes") -> list[int]:
    """Distinct axes counted from the front. Raises ``CheckError`` if there are none, or one twice or outside."""
    if not axes:
        raise CheckError(f"{name} must hold at least one axis, got none")
    result = [as_axis(axis, rank, name) for axis in axes]
    if len(set(result)) != len(result):
        raise CheckError(f"{name} must be distinct for rank {rank}, got {list(axes)}")
    return result


def integers(values: Array, what: str) -> list[int]:
    """The whole numbers of a rank-1 tensor that carries sizes or indices; fractions are cut off.

    Raises ``CheckError`` for another rank and ``RunError`` for values that are no numbers.
    """
    if values.ndim != 1:
        raise CheckError(f"the input with the {what} must be of rank 1, got shape {list(values.shape)}")
    if not np.isfinite(values).all():
        raise RunError(f"the {what} must be finite, got {values.tolist()}")
    return [int(value) for value in values]


def scalar(values: Array, what: str) -> float:
    """The one number of a tensor with a single element, whatever its rank."""
    if values.size != 1:
        raise CheckError(f"the input with the {what} must be a scalar, got shape {list(values.shape)}")
    return float(values.reshape(()))


def as_shape(dims: Iterable[int], name: str = "targetShape") -> tuple[int, ...]:
    """A shape that may be allocated. Raises for negative dims and for more than ``MAX_ELEMENTS`` elements."""
    shape = tuple(int(dim) for dim in dims)
    if any(dim < 0 for dim in shape):
        raise CheckError(f"{name} must not be negative, got {list(shape)}")
    if math.prod(dim or 1 for dim in shape) > MAX_ELEMENTS:  # NumPy bounds the dims beside a 0 as well
        raise RunError(f"an output {list(shape)} is too large: {MAX_ELEMENTS:,} elements are the most")
    return shape


def broadcast(*arrays: Array) -> tuple[int, ...]:
    """The shape that the arrays have in common under NumPy's rules. Raises ``CheckError`` if there is none."""
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = " and ".join(str(list(array.shape)) for array in arrays)
        raise CheckError(f"the inputs must broadcast, got {shapes}") from None
    return as_shape(shape)
