"""Pooling.  Images are N,H,W,C and are turned to N,C,H,W and back around the operator, or are N,C,H,W by their format.

Legend: N batch, H W height and width, C channels, kH kW kernel, s stride.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import CheckError
from ...graph.composites.conv import Padding
from ...graph.composites.guard import require_some
from ...graph.composites.pool import pool
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType, RoundMode
from .activation import activate
from .base import NodeBuilder, as_float, framed, image, node, pair, planes, rank_of
from .convolution import padding_of, single

Pool = attributes.AvgPoolFusion | attributes.MaxPoolFusion


def _pooled(g: NodeBuilder, p: Pool, x: Value, kind: str) -> Value:
    """``pool`` over an image by the attributes of the node."""
    kernel, stride = pair(p.kernelSize, "kernelSize"), pair(p.strides, "strides")
    padding = padding_of(p.padMode, p.pad, "pad")
    if p.roundMode not in (RoundMode.FLOOR, RoundMode.CEIL):
        raise CheckError(f"roundMode must be 0 or 1, got {int(p.roundMode)}")
    ceil = p.roundMode == RoundMode.CEIL and not padding.same
    sizes = [size for axis in planes(g) if isinstance(size := x.shape[axis], int)]
    if len(sizes) == 2:
        padding, ceil = _closed(kernel, stride, padding, sizes, ceil), False
    y = pool(g, image(g, x), kind, kernel=kernel, stride=stride, padding=padding, complete=ceil, count_padding=False)
    # the engine fails for windows that do not fit, but for those that miss one cell it makes nothing of nothing
    narrow = [] if padding.same else [
        2 + place
        for place, (k, before, after) in enumerate(zip(kernel, padding.begin, padding.end, strict=True))
        if not isinstance(y.shape[2 + place], int) and before + after + 1 < k
    ]  # fmt: skip
    return require_some(g, y, narrow, "the pooled image") if narrow else y


def _closed(
    kernel: tuple[int, int], stride: tuple[int, int], padding: Padding, sizes: Sequence[int], ceil: bool
) -> Padding:
    """The padding of an image of known size: with what CEIL adds at the end, and so much that there is one window."""
    begin, end = padding.amounts(sizes, kernel, stride)
    reach = []
    for size, k, s, before, after in zip(sizes, kernel, stride, begin, end, strict=True):
        free = max(size + before + after - k, 0)
        count = (-(-free // s) if ceil else free // s) + 1
        if (count - 1) * s >= size + before or before >= k:
            raise CheckError(f"a window of {list(kernel)} with strides {list(stride)} lies wholly in the padding")
        reach.append(max(after, (count - 1) * s + k - size - before))
    return Padding(begin, tuple(reach))


@node(NodeType.MAX_POOL_FUSION)
def max_pool(g: NodeBuilder, p: attributes.MaxPoolFusion, x: Value) -> Value:
    """y = act(the maximum of each window); cells of the padding never win.

    x (N,H,W,C) → y (N,H',W',C), or x (N,C,H,W) → y (N,C,H',W') where its format says so.
    PAD H' = ⌊(H + pads - kH) / s⌋ + 1 and at least 1, ``roundMode`` CEIL rounding up; SAME ⌈H/s⌉; VALID without pads.
    ``global``: one window, the whole image.  ``format`` is not looked at.
    """
    rank_of(x, 4)
    if p.global_:
        y = g.ReduceMax(as_float(g, x), list(planes(g)))
    else:
        y = framed(g, _pooled(g, p, as_float(g, x), "max"))
    return activate(g, g.cast(y, x.dtype), p.activationType)


@node(NodeType.AVGPOOL_FUSION)
def average_pool(g: NodeBuilder, p: attributes.AvgPoolFusion, x: Value) -> Value:
    """y = act(the mean of each window); cells of the padding do not count.

    x (N,H,W,C) → y (N,H',W',C), or x (N,C,H,W) → y (N,C,H',W') where its format says so.  Sizes as MaxPoolFusion's.
    """
    rank_of(x, 4)
    if p.global_:
        y = g.ReduceMean(as_float(g, x), list(planes(g)))
    else:
        y = framed(g, _pooled(g, p, single(g, x), "mean"))
    return activate(g, g.cast(y, x.dtype), p.activationType)
