"""What the twins share: refusals, axes, numbers that arrive as tensors, layouts, a bound on what is allocated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...errors import CheckError, RunError
from ...nnrt.enums import PadMode
from .registry import Array

MAX_ELEMENTS = 1 << 27
"""The largest tensor a twin makes (1 GiB): a model may ask for any number of elements in a few bytes."""


def require(holds: bool, message: str) -> None:
    """Raises ``CheckError`` with ``message`` unless ``holds``."""
    if not holds:
        raise CheckError(message)


def as_axis(axis: int, rank: int, name: str = "axis") -> int:
    """``axis`` counted from the front; a negative one counts from the end. ``CheckError`` outside the rank."""
    require(-rank <= axis < rank, f"{name} must lie in [{-rank}, {rank}) for rank {rank}, got {axis}")
    return axis % rank


def as_axes(axes: Iterable[int], rank: int, name: str = "axis") -> tuple[int, ...]:
    """Distinct axes counted from the front. ``CheckError`` for one that is outside or named twice."""
    found = tuple(as_axis(axis, rank, name) for axis in axes)
    require(len(set(found)) == len(found), f"{name} must name each dim once, got {list(axes)}")
    return found


def as_shape(dims: Iterable[int], name: str = "shape") -> tuple[int, ...]:
    """Dims that may be allocated. Raises for negative ones and for more than ``MAX_ELEMENTS`` elements."""
    shape = tuple(int(dim) for dim in dims)
    require(min(shape, default=0) >= 0, f"{name} must not be negative, got {list(shape)}")
    if math.prod(dim or 1 for dim in shape) > MAX_ELEMENTS:
        raise RunError(f"{name} {list(shape)} is too large: {MAX_ELEMENTS:,} elements are the most")
    return shape


def integers(values: Array, name: str) -> list[int]:
    """The integers of a tensor of rank 1, or of a scalar. ``CheckError`` for another rank or type."""
    require(
        values.dtype.kind in "iu" and values.ndim <= 1,
        f"{name} must be integers of rank 1, got {values.dtype} {list(values.shape)}",
    )
    return [int(value) for value in values.reshape(-1)]


def integer(values: Array, name: str) -> int:
    """The one integer of a tensor with one element."""
    require(
        values.dtype.kind in "iu" and values.size == 1,
        f"{name} must be one integer, got {values.dtype} {list(values.shape)}",
    )
    return int(values.reshape(()))


def pair(values: Sequence[int], name: str, least: int = 1) -> tuple[int, int]:
    """[height, width]; both at least ``least``."""
    require(
        len(values) == 2 and min(values, default=0) >= least,
        f"{name} must hold 2 integers of at least {least}, got {list(values)}",
    )
    return int(values[0]), int(values[1])


def four_pads(mode: Any, values: Sequence[int], name: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """((top, bottom), (left, right)); an empty list means zeros, and so do all modes but PAD."""
    if mode != PadMode.PAD:
        return (0, 0), (0, 0)
    require(
        len(values) in (0, 4) and min(values, default=0) >= 0,
        f"{name} must hold 4 integers that are not negative, got {list(values)}",
    )
    top, bottom, left, right = (int(value) for value in values) if values else (0, 0, 0, 0)
    return (top, bottom), (left, right)


def count(inputs: Sequence[Array], *allowed: int) -> None:
    """Refuses a number of inputs beyond the first that the operator does not have."""
    require(
        len(inputs) + 1 in allowed,
        f"inputs must number {' or '.join(map(str, allowed))}, got {len(inputs) + 1}",
    )


def need_rank(x: Array, *ranks: int, name: str = "x") -> None:
    """Refuses a tensor of another rank."""
    require(x.ndim in ranks, f"{name} must have rank {' or '.join(map(str, ranks))}, got dims {list(x.shape)}")


def need_number(*arrays: Array) -> None:
    """Refuses tensors of bools."""
    for array in arrays:
        require(array.dtype.kind != "b", "the data type must be a number, got bool")


def broadcast(*arrays: Array) -> tuple[int, ...]:
    """The dims that arrays have in common under NumPy's rules. ``CheckError`` if there are none."""
    try:
        return as_shape(np.broadcast_shapes(*(array.shape for array in arrays)))
    except ValueError:
        dims = " and ".join(str(list(array.shape)) for array in arrays)
        raise CheckError(f"the dims do not fit: they must broadcast, got {dims}") from None


def to_nhwc(x: Array, nchw: bool) -> Array:
    """An image with its channels last."""
    return np.moveaxis(x, 1, -1) if nchw else x


def from_nhwc(y: Array, nchw: bool) -> Array:
    """The inverse of ``to_nhwc``."""
    return np.moveaxis(y, -1, 1) if nchw else y


def channel_axis(x: Array, nchw: bool) -> int:
    """Which dim holds the channels: the last one, or the second of an image that is labelled N,C,H,W."""
    return 1 if nchw and x.ndim == 4 else x.ndim - 1


def along(values: Array, axis: int, rank: int) -> Array:
    """A vector shaped to lie along one dim of a tensor of that rank."""
    return values.reshape([-1 if place == axis else 1 for place in range(rank)])


def name_of(member: object) -> str:
    """How messages spell an enum's member, or a number that is none."""
    return getattr(member, "idl_name", None) or str(member)
