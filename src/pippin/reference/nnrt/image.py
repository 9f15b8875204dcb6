"""Twins of the operators that resize images and regroup their pixels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...nnrt.enums import CoordinateTransformMode, NearestMode, NodeType, ResizeMethod
from .registry import Array, Context, twin
from .rules import as_shape, from_nhwc, name_of, need_number, need_rank, pair, require, to_nhwc


def coordinates(mode: Any, new: int, old: int) -> Array:
    """Where each of ``new`` pixels lies in a row of ``old`` ones."""
    require(
        mode in CoordinateTransformMode._value2member_map_,
        f"coordinateTransformMode must be a known mode, got {name_of(mode)}",
    )
    i = np.arange(new, dtype=np.float64)
    if mode == CoordinateTransformMode.ASYMMETRIC:
        return i * old / new
    if mode == CoordinateTransformMode.ALIGN_CORNERS:
        return i * (old - 1) / (new - 1) if new > 1 else i
    return (i + 0.5) * old / new - 0.5 if new > 1 else i


ROUNDINGS: dict[Any, Any] = {
    NearestMode.NORMAL: lambda at: np.where(at < 0, np.ceil(at - 0.5), np.floor(at + 0.5)),
    NearestMode.ROUND_HALF_DOWN: lambda at: np.ceil(at - 0.5),
    NearestMode.ROUND_HALF_UP: lambda at: np.floor(at + 0.5),
    NearestMode.FLOOR: np.floor,
    NearestMode.CEIL: np.ceil,
}


def cubic(distance: Array, a: float) -> Array:
    """The weight of a pixel that far away."""
    d = np.abs(distance)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d <= 2, far, 0.0))


def mixing(p: Any, new: int, old: int) -> Array:
    """A matrix (new, old): how much of each old pixel goes into each new one.

    Pixels beyond the edge are the edge's, or with ``excludeOutside`` 1 they have no weight and the others more.
    """
    at = coordinates(p.coordinateTransformMode, new, old)
    below = np.floor(at)
    if p.method == ResizeMethod.NEAREST:
        require(p.nearestMode in ROUNDINGS, f"nearestMode must be a known mode, got {name_of(p.nearestMode)}")
        taps = [(ROUNDINGS[p.nearestMode](at), np.ones(new))]
    elif p.method == ResizeMethod.LINEAR:
        taps = [(below, 1 - (at - below)), (below + 1, at - below)]
    else:
        taps = [(below + step, cubic(at - below - step, p.cubicCoeff)) for step in (-1, 0, 1, 2)]
    matrix = np.zeros(as_shape((new, old), "newHeight and newWidth"))
    if p.excludeOutside == 1 and p.method != ResizeMethod.NEAREST:
        taps = [(places, np.where((places >= 0) & (places < old), weights, 0.0)) for places, weights in taps]
        total = sum(weights for _, weights in taps)
        taps = [(places, weights / total) for places, weights in taps]
    for places, weights in taps:
        np.add.at(matrix, (np.arange(new), np.clip(places, 0, old - 1).astype(int)), weights)
    return matrix


@twin(NodeType.RESIZE)
def resize(context: Context, p: Any, x: Array) -> Array:
    """y = x at ``newHeight`` and ``newWidth``, row by row and column by column."""
    need_number(x)
    need_rank(x, 4)
    methods = (ResizeMethod.LINEAR, ResizeMethod.NEAREST, ResizeMethod.CUBIC)
    require(p.method in methods, f"method must be LINEAR, NEAREST or CUBIC, got {name_of(p.method)}")
    require(not p.preserveAspectRatio, "preserveAspectRatio must be false")
    high, wide = pair([p.newHeight, p.newWidth], "newHeight and newWidth")
    x = to_nhwc(x, context.nchw)
    as_shape((x.shape[0], high, wide, x.shape[3]), "newHeight and newWidth")
    rows, columns = mixing(p, high, x.shape[1]), mixing(p, wide, x.shape[2])
    return from_nhwc(np.einsum("yh,xw,nhwc->nyxc", rows, columns, x, optimize=True), context.nchw)


@twin(NodeType.DEPTH_TO_SPACE, moves=True)
def depth_to_space(context: Context, p: Any, x: Array) -> Array:
    """y = blocks of channels laid out as pixels.

    Pixel (i,j) of a block comes from channel (i·b + j)·C/b² + c, or in mode "CRD" from c·b² + i·b + j.
    """
    need_rank(x, 4)
    x, b = to_nhwc(x, context.nchw), p.blockSize
    n, h, w, c = x.shape
    require(b >= 1 and c % (b * b) == 0, f"blockSize squared must divide the {c} channels, got {b}")
    if p.mode == "CRD":
        blocks = x.reshape(n, h, w, c // (b * b), b, b).transpose(0, 1, 4, 2, 5, 3)
    else:
        blocks = x.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5)
    return from_nhwc(blocks.reshape(n, h * b, w * b, c // (b * b)), context.nchw)


@twin(NodeType.SPACE_TO_DEPTH, moves=True)
def space_to_depth(context: Context, p: Any, x: Array) -> Array:
    """y = blocks of pixels laid out as channels: pixel (i,j) at (i·b + j)·C + c."""
    need_rank(x, 4)
    x, b = to_nhwc(x, context.nchw), p.blockSize
    n, h, w, c = x.shape
    require(b >= 1 and h % b == 0 and w % b == 0, f"blockSize must divide height and width {[h, w]}, got {b}")
    blocks = x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5)
    return from_nhwc(blocks.reshape(n, h // b, w // b, b * b * c), context.nchw)


def _borders(rows: Any, name: str) -> list[tuple[int, int]]:
    fits = len(rows) == 2 and all(len(row) == 2 and min(row) >= 0 for row in rows)
    require(fits, f"{name} must hold 2 rows of 2 integers that are not negative, got {[list(row) for row in rows]}")
    return [(row[0], row[1]) for row in rows]


@twin(NodeType.BATCH_TO_SPACE_ND, moves=True)
def batch_to_space(context: Context, p: Any, x: Array) -> Array:
    """y = blocks of the batch laid out as pixels, then cropped; the batch is (block row, block column, image)."""
    need_rank(x, 4)
    bh, bw = pair(p.blockShape, "blockShape")
    (top, bottom), (left, right) = _borders(p.crops, "crops")
    x = to_nhwc(x, context.nchw)
    n, h, w, c = x.shape
    require(n % (bh * bw) == 0, f"blockShape {[bh, bw]} must divide the batch, got {n}")
    high, wide = h * bh, w * bw
    require(top + bottom < high and left + right < wide, f"crops must leave something of {[high, wide]}")
    y = x.reshape(bh, bw, n // (bh * bw), h, w, c).transpose(2, 3, 0, 4, 1, 5).reshape(-1, high, wide, c)
    return from_nhwc(y[:, top : high - bottom, left : wide - right], context.nchw)


@twin(NodeType.SPACE_TO_BATCH_ND, moves=True)
def space_to_batch(context: Context, p: Any, x: Array) -> Array:
    """y = x padded with 0, its blocks of pixels laid out in the batch; the inverse of ``batch_to_space``."""
    need_rank(x, 4)
    bh, bw = pair(p.blockShape, "blockShape")
    pads = _borders(p.paddings, "paddings")
    x = to_nhwc(x, context.nchw)
    as_shape((dim + sum(extra) for dim, extra in zip(x.shape[1:3], pads, strict=True)), "paddings")
    x = np.pad(x, ((0, 0), *pads, (0, 0)))
    n, h, w, c = x.shape
    require(h % bh == 0 and w % bw == 0, f"blockShape must divide the padded height and width {[h, w]}, got {[bh, bw]}")
    y = x.reshape(n, h // bh, bh, w // bw, bw, c).transpose(2, 4, 0, 1, 3, 5)
    return from_nhwc(y.reshape(math.prod((n, bh, bw)), h // bh, w // bw, c), context.nchw)
