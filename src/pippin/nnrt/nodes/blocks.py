"""Operators that move pixels between an image's plane and its channels or its batch.

Legend: N batch, H W height and width, C channels, b bh bw blocks.  Images are N,H,W,C, or N,C,H,W where their format
says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import CheckError
from ...graph.builder import Size
from ...graph.composites.sizes import floor_div, minus, plus, times
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType
from .base import NodeBuilder, channels_first, emit, node, pair, permute, planes, rank_of
from .fill import blank


def _block(size: int) -> int:
    if not 1 <= size < 1 << 31:
        raise CheckError(f"blockSize must be at least 1, got {size}")
    return int(size)


def _divisible(size: Size, by: int, what: str) -> Size:
    if isinstance(size, int) and size % by:
        raise CheckError(f"the {what} must divide into blocks of {by}, got {size}")
    return size


@node(NodeType.DEPTH_TO_SPACE, quantized="move")
def depth_to_space(g: NodeBuilder, p: attributes.DepthToSpace, x: Value) -> Value:
    """y = blocks of channels laid out as pixels; b = blockSize.

    x (N,H,W,C) → y (N,H·b,W·b,C/b²).  Pixel (i,j) of a block is channel (i·b + j)·C/b² + c (mode "DCR", and any text
    but "CRD") or c·b² + i·b + j ("CRD").
    Differs: the tensor's format decides about the layout, not the field ``format``.
    """
    rank_of(x, 4)
    b = _block(p.blockSize)
    deep = p.mode == "CRD"
    n, first, second, third = g.sizes(x)
    if channels_first(g):
        c, h, w = first, second, third
        inner = floor_div(g, _divisible(c, b * b, "channels"), b * b)
        split = [n, inner, b, b, h, w] if deep else [n, b, b, inner, h, w]
        order = (0, 1, 4, 2, 5, 3) if deep else (0, 3, 4, 1, 5, 2)
        made = [n, inner, times(g, h, b), times(g, w, b)]
    else:
        h, w, c = first, second, third
        inner = floor_div(g, _divisible(c, b * b, "channels"), b * b)
        split = [n, h, w, inner, b, b] if deep else [n, h, w, b, b, inner]
        order = (0, 1, 4, 2, 5, 3) if deep else (0, 1, 3, 2, 4, 5)
        made = [n, times(g, h, b), times(g, w, b), inner]
    return g.reshape(permute(g, g.reshape(x, split), order), made)


@node(NodeType.SPACE_TO_DEPTH, quantized="move")
def space_to_depth(g: NodeBuilder, p: attributes.SpaceToDepth, x: Value) -> Value:
    """y = blocks of pixels laid out as channels, pixel (i,j) of a block at channel (i·b + j)·C + c; b = blockSize.

    x (N,H,W,C) → y (N,H/b,W/b,C·b²).
    Differs: the tensor's format decides about the layout, not the field ``format``.
    """
    rank_of(x, 4)
    b = _block(p.blockSize)
    sizes = g.sizes(x)
    n = sizes[0]
    h, w = (floor_div(g, _divisible(sizes[axis], b, "height and width"), b) for axis in planes(g))
    if channels_first(g):
        c = sizes[1]
        turned = permute(g, g.reshape(x, [n, c, h, b, w, b]), (0, 3, 5, 1, 2, 4))
        return g.reshape(turned, [n, times(g, c, b * b), h, w])
    c = sizes[3]
    turned = permute(g, g.reshape(x, [n, h, b, w, b, c]), (0, 1, 3, 2, 4, 5))
    return g.reshape(turned, [n, h, w, times(g, c, b * b)])


def _margins(rows: Sequence[Sequence[int]], what: str) -> tuple[int, int, int, int]:
    """Top, bottom, left, right."""
    listed = [[int(cells) for cells in row] for row in rows] or [[0, 0], [0, 0]]
    if [len(row) for row in listed] != [2, 2] or min(map(min, listed)) < 0 or max(map(max, listed)) >= 1 << 31:
        raise CheckError(f"{what} must hold 2 rows of 2 integers of at least 0, got {listed}")
    return listed[0][0], listed[0][1], listed[1][0], listed[1][1]


@node(NodeType.BATCH_TO_SPACE_ND, quantized="move")
def batch_to_space_nd(g: NodeBuilder, p: attributes.BatchToSpaceND, x: Value) -> Value:
    """y = blocks of the batch laid out as pixels, then cropped.

    x (N,H,W,C), blockShape (bh,bw), crops ((top,bottom),(left,right)) → y (N/(bh·bw), H·bh - crops, W·bw - crops, C);
    the batch index is (block row, block column, image).
    """
    rank_of(x, 4)
    bh, bw = pair(p.blockShape, "blockShape")
    top, bottom, left, right = _margins(p.crops, "crops")
    sizes = g.sizes(x)
    n = floor_div(g, _divisible(sizes[0], bh * bw, "batch"), bh * bw)
    rows, columns = planes(g)
    h, w = sizes[rows], sizes[columns]
    tall, wide = times(g, h, bh), times(g, w, bw)
    if channels_first(g):
        turned = permute(g, g.reshape(x, [bh, bw, n, sizes[1], h, w]), (2, 3, 4, 0, 5, 1))
        y = g.reshape(turned, [n, sizes[1], tall, wide])
    else:
        turned = permute(g, g.reshape(x, [bh, bw, n, h, w, sizes[3]]), (2, 3, 0, 4, 1, 5))
        y = g.reshape(turned, [n, tall, wide, sizes[3]])
    for size, crop in ((tall, top + bottom), (wide, left + right)):
        if isinstance(size, int) and crop >= size:
            raise CheckError(f"crops of {crop} leave nothing of {size} pixels")
    if not any((top, bottom, left, right)):
        return y
    ends = g.vector([minus(g, tall, bottom), minus(g, wide, right)])
    result: Value = g.Slice(y, [top, left], ends, [rows, columns])
    return result


@node(NodeType.SPACE_TO_BATCH_ND, quantized="move")
def space_to_batch_nd(g: NodeBuilder, p: attributes.SpaceToBatchND, x: Value) -> Value:
    """y = x padded with 0, its blocks of pixels laid out in the batch.

    x (N,H,W,C), blockShape (bh,bw), paddings ((top,bottom),(left,right)) → y (N·bh·bw, (H+pads)/bh, (W+pads)/bw, C).
    Quantised tensors are padded with their zero point.
    Differs: the text wants blocks greater than 1 and an N,C,H,W formula; kernels block the plane of N,H,W,C, by 1 too.
    """
    rank_of(x, 4)
    bh, bw = pair(p.blockShape, "blockShape")
    top, bottom, left, right = _margins(p.paddings, "paddings")
    rows, columns = planes(g)
    h = _divisible(plus(g, g.size(x, rows), top + bottom), bh, "padded height")
    w = _divisible(plus(g, g.size(x, columns), left + right), bw, "padded width")
    if any((top, bottom, left, right)):
        pads = [0] * 8
        pads[rows], pads[columns], pads[4 + rows], pads[4 + columns] = top, left, bottom, right
        x = padded(g, x, pads)
    h, w = floor_div(g, h, bh), floor_div(g, w, bw)
    n = times(g, g.size(x, 0), bh * bw)
    if channels_first(g):
        c = g.size(x, 1)
        turned = permute(g, g.reshape(x, [g.size(x, 0), c, h, bh, w, bw]), (3, 5, 0, 1, 2, 4))
        return g.reshape(turned, [n, c, h, w])
    c = g.size(x, 3)
    turned = permute(g, g.reshape(x, [g.size(x, 0), h, bh, w, bw, c]), (2, 4, 0, 1, 3, 5))
    return g.reshape(turned, [n, h, w, c])


def padded(g: NodeBuilder, x: Value, pads: Sequence[int]) -> Value:
    """x with a border of what stands for 0; ``pads`` as ONNX lists them."""
    result: Value = emit(g, "Pad", x, list(pads), blank(g, x))
    return result
