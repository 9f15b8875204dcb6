"""Twins of average and maximum pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nnrt.enums import NodeType, PadMode, RoundMode
from .activation import fused
from .convolution import pads_of
from .registry import Array, Context, twin
from .rules import as_shape, four_pads, from_nhwc, name_of, need_number, need_rank, pair, require, to_nhwc

Windows = list[slice]
MAX_WINDOWS = 1 << 20
"""The most windows along one axis; more rows than any image has."""


def windows(p: Any, x: Array) -> tuple[Windows, Windows]:
    """The rows and the columns of each window, inside the image; cells of the padding are left out."""
    if p.global_:
        return [slice(0, x.shape[1])], [slice(0, x.shape[2])]
    kernel, strides = pair(p.kernelSize, "kernelSize"), pair(p.strides, "strides")
    listed = four_pads(p.padMode, p.pad, "pad")
    require(p.roundMode in RoundMode._value2member_map_, f"roundMode must be FLOOR or CEIL, got {name_of(p.roundMode)}")
    found = []
    for axis in range(2):
        size = x.shape[1 + axis]
        before, after = pads_of(p.padMode, listed, size, kernel[axis], strides[axis], axis)
        rest = size + before + after - kernel[axis]
        require(before < kernel[axis], f"pad {[before, after]} makes a window that holds nothing but padding")
        up = p.roundMode == RoundMode.CEIL and p.padMode != PadMode.SAME
        length = max(1, (-(-rest // strides[axis]) if up else rest // strides[axis]) + 1)
        require(length <= MAX_WINDOWS, f"dims of the result are too large, got {length} windows")
        starts = [place * strides[axis] - before for place in range(length)]
        spans = [slice(max(0, start), min(size, start + kernel[axis])) for start in starts]
        inside = all(span.start < span.stop for span in spans)
        require(inside, f"pad {[before, after]} makes a window that holds nothing but padding")
        found.append(spans)
    return found[0], found[1]


def pool(context: Context, p: Any, x: Array, fold: Any) -> Array:
    """``fold`` over the cells of each window of x (N,H,W,C), along the rows and then along the columns; activation."""
    need_number(x)
    need_rank(x, 4)
    x = to_nhwc(x, context.nchw)
    rows, columns = windows(p, x)
    as_shape((x.shape[0], len(rows), len(columns), x.shape[3]), "dims of the result")
    lines = np.stack([fold(x[:, row], axis=1) for row in rows], axis=1)
    y = np.stack([fold(lines[:, :, column], axis=2) for column in columns], axis=2)
    return from_nhwc(fused(y, p.activationType), context.nchw)


@twin(NodeType.AVGPOOL_FUSION)
def average_pool(context: Context, p: Any, x: Array) -> Array:
    """y = act(the mean of each window's cells inside the image)."""
    return pool(context, p, x, np.mean)


@twin(NodeType.MAX_POOL_FUSION)
def max_pool(context: Context, p: Any, x: Array) -> Array:
    """y = act(the maximum of each window's cells inside the image)."""
    return pool(context, p, x, np.max)
