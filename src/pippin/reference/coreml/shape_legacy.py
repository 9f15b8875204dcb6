"""Twins of the layers of the first format version that move data: reshape, flatten, permute, concat, split, slice …"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import as_shape
from .registry import Array, Context, twin
from .rules import blob, enum, fold, need_rank, require, unfold


@twin("loadConstant")
def load_constant(context: Context, params: Any) -> Array:
    """y = data, shape [1,1,C,H,W]."""
    shape = [int(size) for size in params.shape]
    require(len(shape) == 3, f"shape must hold 3 integers [C, H, W], got {shape}")
    return blob(context, params, "data", *shape)[None, None]


@twin("reshape")
def reshape(context: Context, params: Any, x: Array) -> Array:
    """The same values in another shape.

    x [S,B,C,H,W] → [S,B,*targetShape] for a target of length 3, [S_out,B,C_out,H_out,W_out] for one of length 4.
    CHANNEL_FIRST reads and writes C, H, W row by row, CHANNEL_LAST in the order H, W, C. Each batch element is
    reshaped for itself. One target size may be -1: it is what remains (real files have it).
    """
    need_rank(x, 5, 5)
    target = [int(size) for size in params.targetShape]
    require(len(target) in (3, 4), f"targetShape must hold 3 or 4 integers, got {target}")
    last = enum(params, "mode") == "CHANNEL_LAST"
    if len(target) == 3:
        target = [x.shape[0], *target]
    values = np.moveaxis(x, 1, 0)
    target = complete(target, values[0].size)
    if not last:
        return np.moveaxis(values.reshape(len(values), *target), 0, 1)
    sequence, channels, high, wide = target
    y = np.moveaxis(values, 2, 4).reshape(len(values), sequence, high, wide, channels)
    return np.moveaxis(np.moveaxis(y, 4, 2), 0, 1)


def complete(target: list[int], count: int) -> list[int]:
    """``target`` with its -1 replaced; refuses what does not hold ``count`` values."""
    known = math.prod(size for size in target if size != -1)
    if target.count(-1) == 1 and known > 0 and count % known == 0:
        target = [count // known if size == -1 else size for size in target]
    require(
        min(target) >= 0 and math.prod(target) == count,
        f"targetShape {target} must hold {count} values as the input does",
    )
    return target


@twin("flatten")
def flatten(context: Context, params: Any, x: Array) -> Array:
    """x [...,C,H,W] → [...,C·H·W,1,1], read in the order C, H, W or, CHANNEL_LAST, in the order H, W, C."""
    need_rank(x, 3)
    values = np.moveaxis(x, -3, -1) if enum(params, "mode") == "CHANNEL_LAST" else x
    return values.reshape(*x.shape[:-3], -1, 1, 1)


@twin("permute")
def permute(context: Context, params: Any, x: Array) -> Array:
    """x [S,B,C,H,W] with the axes S, C, H, W (numbered 0 to 3) in the order ``axis``; B stays. Empty: as it is."""
    need_rank(x, 5, 5)
    axis = list(params.axis) or [0, 1, 2, 3]
    require(sorted(axis) == [0, 1, 2, 3], f"axis must be a permutation of [0, 1, 2, 3], got {axis}")
    # number 0 is axis 0 of the blob, 1 to 3 are axes 2 to 4
    order = [a + 1 if a else 0 for a in axis]
    return x.transpose(order[0], 1, *order[1:])


@twin("concat")
def concat(context: Context, params: Any, first: Array, second: Array, *others: Array) -> Array:
    """The inputs one after the other along axis -3, or -5 with ``sequenceConcat``."""
    inputs = (first, second, *others)
    axis = -5 if params.sequenceConcat else -3
    for x in inputs:
        need_rank(x, -axis)
        same = x.ndim == inputs[0].ndim and all(
            own == other
            for i, (own, other) in enumerate(zip(x.shape, inputs[0].shape, strict=True))
            if i != x.ndim + axis
        )
        require(same, f"input shapes may differ along axis {axis} only, got {[list(y.shape) for y in inputs]}")
    return np.concatenate(inputs, axis)


@twin("split")
def split(context: Context, params: Any, x: Array) -> tuple[Array, ...]:
    """x [...,C,H,W] → ``nOutputs`` blobs [...,C/nOutputs,H,W]."""
    need_rank(x, 3)
    count = int(params.nOutputs)
    require(count == context.outputs, f"nOutputs must be {context.outputs}, the number of outputs, got {count}")
    require(x.shape[-3] % count == 0, f"nOutputs must divide the {x.shape[-3]} channels, got {count}")
    return tuple(np.split(x, count, -3))


@twin("sequenceRepeat")
def sequence_repeat(context: Context, params: Any, x: Array) -> Array:
    """x [...,S,B,C,H,W] → [...,n·S,B,C,H,W]: the whole sequence n times. ``nRepetitions`` defaults to 1."""
    need_rank(x, 5)
    count = int(params.nRepetitions) or 1
    as_shape((count, *x.shape))
    return np.concatenate([x] * count, -5)


@twin("reorganizeData")
def reorganize_data(context: Context, params: Any, x: Array) -> Array:
    """Moves b × b blocks between the plane and the channels; b = ``blockSize``.

    DEPTH_TO_SPACE: x [...,C·b²,H,W] → [...,C,H·b,W·b], channel (i·b + j)·C + c goes to cell (i, j) of the block of c;
    PIXEL_SHUFFLE: the same from channel (c·b + i)·b + j; SPACE_TO_DEPTH: the inverse of DEPTH_TO_SPACE.
    """
    need_rank(x, 3)
    mode, b = enum(params, "mode"), int(params.blockSize)
    require(b > 1, f"blockSize must be greater than 1, got {b}")
    batch, channels, high, wide = fold(x).shape
    if mode == "SPACE_TO_DEPTH":
        require(high % b == 0 and wide % b == 0, f"blockSize must divide height {high} and width {wide}, got {b}")
        cells = fold(x).reshape(batch, channels, high // b, b, wide // b, b)
        y = cells.transpose(0, 3, 5, 1, 2, 4).reshape(batch, channels * b * b, high // b, wide // b)
        return unfold(y, x)
    require(channels % (b * b) == 0, f"blockSize squared must divide the {channels} channels, got {b}")
    out = channels // (b * b)
    if mode == "DEPTH_TO_SPACE":
        cells = fold(x).reshape(batch, b, b, out, high, wide).transpose(0, 3, 4, 1, 5, 2)
    else:
        cells = fold(x).reshape(batch, out, b, b, high, wide).transpose(0, 1, 4, 2, 5, 3)
    return unfold(cells.reshape(batch, out, high * b, wide * b), x)


@twin("slice")
def slice_(context: Context, params: Any, x: Array) -> Array:
    """x[startIndex:endIndex:stride] along the channel (-3), height (-2) or width (-1) axis.

    Negative indices count from the end; what lies beyond the end is cut. Behind a negative start an end of 0 is the end
    of the axis, as in the rules about shapes that come with the format.
    """
    axis = {"CHANNEL_AXIS": -3, "HEIGHT_AXIS": -2, "WIDTH_AXIS": -1}[enum(params, "axis")]
    need_rank(x, -axis)
    require(params.stride > 0, f"stride must be positive, got {params.stride}")
    end = None if params.startIndex < 0 and params.endIndex == 0 else params.endIndex
    kept = range(x.shape[axis])[params.startIndex : end : params.stride]
    require(
        len(kept) > 0,
        f"endIndex {params.endIndex} must lie behind startIndex {params.startIndex} of {x.shape[axis]} values",
    )
    return np.take(x, kept, axis)
