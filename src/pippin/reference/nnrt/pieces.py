"""Twins of the operators that join, cut, repeat and pad."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import RunError
from ...nnrt.enums import NodeType, PaddingMode
from .registry import Array, Context, twin
from .rules import as_axes, as_axis, as_shape, count, integers, name_of, require


@twin(NodeType.CONCAT, moves=True)
def concat(context: Context, p: Any, *parts: Array) -> Array:
    """y = the inputs one after another along ``axis``."""
    axis = as_axis(p.axis, parts[0].ndim)
    for part in parts[1:]:
        fits = part.ndim == parts[0].ndim and all(
            place == axis or part.shape[place] == dim for place, dim in enumerate(parts[0].shape)
        )
        require(fits, f"the dims must be equal but for axis, got {[list(part.shape) for part in parts]}")
    return np.concatenate(parts, axis=axis)


@twin(NodeType.STACK, moves=True)
def stack(context: Context, p: Any, *parts: Array) -> Array:
    """y = the inputs along a new dim at ``axis``."""
    axis = as_axis(p.axis, parts[0].ndim + 1)
    equal = len({part.shape for part in parts}) == 1
    require(equal, f"the dims must be equal, got {[list(part.shape) for part in parts]}")
    return np.stack(parts, axis=axis)


@twin(NodeType.SPLIT, moves=True)
def split(context: Context, p: Any, x: Array) -> tuple[Array, ...]:
    """x cut along ``axis`` into parts of ``sizeSplits``: none means equal ones, a last -1 the rest."""
    axis, parts = as_axis(p.axis, x.ndim), len(context.outputs)
    require(p.outputNum in (0, parts), f"outputNum must be the number of outputs, {parts}, got {p.outputNum}")
    size, sizes = x.shape[axis], list(p.sizeSplits)
    if not sizes:
        require(size % parts == 0, f"outputNum must divide the {size} elements along axis, got {parts}")
        sizes = [size // parts] * parts
    require(len(sizes) == parts, f"sizeSplits must hold {parts} integers, got {sizes}")
    if sizes[-1] == -1:
        sizes[-1] = size - sum(sizes[:-1])
    fits = min(sizes) >= 0 and sum(sizes) == size
    require(fits, f"sizeSplits must add up to {size}, got {list(p.sizeSplits)}")
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis=axis))


@twin(NodeType.UNSTACK, moves=True)
def unstack(context: Context, p: Any, x: Array) -> tuple[Array, ...]:
    """x cut into its slices along ``axis``, each without that dim."""
    axis = as_axis(p.axis, x.ndim)
    fits = x.shape[axis] == len(context.outputs)
    require(fits, f"outputs must number {x.shape[axis]}, the size along axis, got {len(context.outputs)}")
    return tuple(np.moveaxis(x, axis, 0))


@twin(NodeType.SLICE_FUSION, moves=True)
def slice_(context: Context, p: Any, x: Array, begin: Array, size: Array) -> Array:
    """y = size elements from begin on, along each of ``axes`` (empty: the first ones in order)."""
    begins, sizes = integers(begin, "begin"), integers(size, "size")
    axes = as_axes(p.axes or range(len(begins)), x.ndim, "axes")
    equal = len(begins) == len(sizes) == len(axes)
    require(equal, f"begin, size and axes must be of one length, got {len(begins)}, {len(sizes)} and {len(axes)}")
    cut = [slice(None)] * x.ndim
    for axis, first, length in zip(axes, begins, sizes, strict=True):
        dim = x.shape[axis]
        require(0 <= first <= dim, f"begin must lie in [0, {dim}] along dim {axis}, got {first}")
        length = dim - first if length == -1 else length
        require(0 <= length <= dim - first, f"size must lie in [0, {dim - first}] along dim {axis}, got {length}")
        cut[axis] = slice(first, first + length)
    return x[tuple(cut)]


def _bit(mask: int, place: int) -> bool:
    return bool(mask >> place & 1)


@twin(NodeType.STRIDED_SLICE, moves=True)
def strided_slice(context: Context, p: Any, x: Array, begin: Array, end: Array, strides: Array) -> Array:
    """y = x from begin to end by strides along its leading dims; the masks are about the entries of the same place.

    beginMask starts at 0, endMask goes on to the last element in the direction of the stride, ellipsisMask goes
    through the whole dim by the stride, newAxisMask inserts a 1 in place of a dim, shrinkAxisMask takes the one element
    at begin without the dim.
    """
    begins, ends, steps = integers(begin, "begin"), integers(end, "end"), integers(strides, "strides")
    equal = len(begins) == len(ends) == len(steps)
    require(equal, f"begin, end and strides must be of one length, got {len(begins)}, {len(ends)} and {len(steps)}")
    index: list[Any] = []
    axis = 0
    for place, (first, last, step) in enumerate(zip(begins, ends, steps, strict=True)):
        if _bit(p.newAxisMask, place):
            index.append(None)
            continue
        require(axis < x.ndim, f"begin has more entries than x has dims, {x.ndim}")
        index.append(_places(p, place, x.shape[axis], first, last, step))
        axis += 1
    # arrays of places along several dims would be paired up: one dim at a time
    y, axis = x, 0
    for entry in index:
        if entry is None:
            y, axis = np.expand_dims(y, axis), axis + 1
        elif isinstance(entry, int):
            y = np.take(y, entry, axis=axis)
        else:
            y, axis = np.take(y, entry, axis=axis), axis + 1
    return y


def _places(p: Any, place: int, dim: int, first: int, last: int, step: int) -> int | range:
    """The elements taken along one dim, or the single one whose dim goes."""
    require(step != 0, f"strides must not be 0, got 0 at entry {place}")
    if _bit(p.ellipsisMask, place):
        return range(dim)[::step]
    start = 0 if _bit(p.beginMask, place) else first + dim if first < 0 else first
    require(0 <= start < dim, f"begin must lie in [{-dim}, {dim}) at entry {place}, got {first}")
    if _bit(p.shrinkAxisMask, place):
        return start
    stop = last + dim if last < 0 else last
    if _bit(p.endMask, place):
        stop = dim if step > 0 else -1
    else:
        require(0 <= stop <= dim, f"end must lie in [{-dim}, {dim}] at entry {place}, got {last}")
    return range(start, stop, step)


@twin(NodeType.CROP, moves=True)
def crop(context: Context, p: Any, x: Array, reference: Array) -> Array:
    """y = x cut, from ``axis`` on, to the dims of the second input, beginning at ``offset``."""
    require(reference.ndim == x.ndim, f"the inputs must have one rank, got {x.ndim} and {reference.ndim}")
    axis = as_axis(p.axis, x.ndim)
    offsets = list(p.offset) * (x.ndim - axis) if len(p.offset) == 1 else list(p.offset)
    require(len(offsets) == x.ndim - axis, f"offset must hold 1 or {x.ndim - axis} integers, got {list(p.offset)}")
    cut = [slice(None)] * x.ndim
    for place, first in enumerate(offsets, axis):
        end = first + reference.shape[place]
        inside = first >= 0 and end <= x.shape[place]
        require(inside, f"offset {first} and {reference.shape[place]} elements leave dim {place} of {list(x.shape)}")
        cut[place] = slice(first, end)
    return x[tuple(cut)]


@twin(NodeType.TILE_FUSION, moves=True)
def tile(context: Context, p: Any, x: Array, multiples: Array) -> Array:
    """y = x repeated; multiples[i] times along axis ``dims[i]`` (empty: the first ones in order)."""
    times = integers(multiples, "multiples")
    axes = as_axes(p.dims or range(len(times)), x.ndim, "dims")
    require(len(axes) == len(times), f"dims must hold one axis for each of multiples {times}, got {list(p.dims)}")
    require(min(times, default=1) >= 1, f"multiples must be positive, got {times}")
    repeats = [1] * x.ndim
    for axis, number in zip(axes, times, strict=True):
        repeats[axis] = number
    as_shape((dim * number for dim, number in zip(x.shape, repeats, strict=True)), "multiples of the dims")
    return np.tile(x, repeats)


def _mirrored(place: int, dim: int, edge: int) -> int:
    """Where a cell outside [0, dim) takes its value; ``edge`` 1: the border cell is repeated, 0: it is not."""
    period = max(1, 2 * dim - 2 + 2 * edge)
    place %= period
    return place if place < dim else period - place - edge


@twin(NodeType.PAD_FUSION, moves=True)
def pad(context: Context, p: Any, x: Array, *paddings: Array) -> Array:
    """y = x with a border: one constant, or x mirrored without (REFLECT) or with (SYMMETRIC) its outer cells."""
    count(paddings, 1, 2)
    require(
        p.paddingMode in (PaddingMode.CONSTANT, PaddingMode.REFLECT, PaddingMode.SYMMETRIC),
        f"paddingMode must be CONSTANT, REFLECT or SYMMETRIC, got {name_of(p.paddingMode)}",
    )
    listed = integers(paddings[0].reshape(-1), "paddings") if paddings else [n for row in p.paddings for n in row]
    fits = len(listed) == 2 * x.ndim and min(listed, default=0) >= 0
    require(fits, f"paddings must hold {2 * x.ndim} integers that are not negative, got {listed}")
    pads = list(zip(listed[::2], listed[1::2], strict=True))
    as_shape((dim + sum(pair) for dim, pair in zip(x.shape, pads, strict=True)), "paddings with the dims")
    if p.paddingMode == PaddingMode.CONSTANT:
        return np.pad(x, pads, constant_values=np.asarray(p.constantValue).astype(x.dtype))
    edge = int(p.paddingMode == PaddingMode.SYMMETRIC)
    for axis, (before, after) in enumerate(pads):
        dim = x.shape[axis]
        x = np.take(x, [_mirrored(place, dim, edge) for place in range(-before, dim + after)], axis=axis)
    return x


@twin(NodeType.ASSERT, moves=True)
def assertion(context: Context, p: Any, condition: Array, *data: Array) -> Array:
    """Nothing where the condition holds; otherwise the run fails. What the output holds is not defined."""
    require(math.prod(condition.shape) == 1, f"condition must have one element, got dims {list(condition.shape)}")
    if not condition.reshape(()):
        shown = [part.reshape(-1)[: max(0, p.summarize)].tolist() for part in data]
        raise RunError(f"the condition of the assertion is false; data {shown}")
    return condition
