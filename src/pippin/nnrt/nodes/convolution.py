"""Convolution, its transpose, and pooling.  Images are N,H,W,C and are turned to N,C,H,W and back around the operator.

Legend: N batch, H W height and width, I O channels in and out, kH kW kernel, s stride, d dilation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import CheckError
from ...graph.composites.conv import Padding, conv, conv_transpose
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType, PadMode, RoundMode
from .activation import activate
from .base import NodeBuilder, as_float, nchw, nhwc, node, pair, permute, rank_of

Pool = attributes.AvgPoolFusion | attributes.MaxPoolFusion


def padding_of(mode: PadMode | int, pads: Sequence[int], what: str) -> Padding:
    """The padding of an image from a mode and [top, bottom, left, right]; only PAD looks at the list."""
    if mode == PadMode.SAME:
        return Padding(same="upper")
    if mode == PadMode.VALID or not pads:
        if mode not in (PadMode.VALID, PadMode.PAD):
            raise CheckError(f"padMode must be 0 to 2, got {int(mode)}")
        return Padding((0, 0), (0, 0))
    if mode != PadMode.PAD:
        raise CheckError(f"padMode must be 0 to 2, got {int(mode)}")
    if len(pads) != 4 or min(pads) < 0:
        raise CheckError(f"{what} must hold 4 integers of at least 0, got {list(pads)}")
    top, bottom, left, right = (int(pad) for pad in pads)
    return Padding((top, left), (bottom, right))


def _kernel(p: Any, w: Value) -> tuple[int, int]:
    """Height and width of the kernel; the attribute may say so again, not otherwise."""
    rank_of(w, 4, "weight")
    size = w.shape[1:3]
    if not all(isinstance(dim, int) and dim > 0 for dim in w.shape):
        raise CheckError(f"the dims of the weight must be known and positive, got {list(w.shape)}")
    if p.kernelSize and tuple(p.kernelSize) != size:
        raise CheckError(f"kernelSize must be the weight's {list(size)}, got {list(p.kernelSize)}")
    return size  # type: ignore[return-value]


@node(NodeType.CONV2D_FUSION, bias=2)
def conv2d(g: NodeBuilder, p: attributes.Conv2DFusion, x: Value, w: Value, bias: Value | None = None) -> Value:
    """y = act(x ∗ w + bias).  x (N,H,W,I), w (O,kH,kW,I/group), bias (O) → y (N,H',W',O)."""
    rank_of(x, 4)
    kernel = _kernel(p, w)
    out, depth = int(w.shape[0]), int(w.shape[3])
    group = int(p.group) or out
    if group < 1 or out % group or (isinstance(x.shape[3], int) and x.shape[3] != depth * group):
        raise CheckError(f"weight {list(w.shape)} in {group} groups does not fit {x.shape[3]} channels")
    _check_bias(bias, out)
    stride, dilation = pair(p.stride, "stride"), pair(p.dilation, "dilation")
    padding = padding_of(p.padMode, p.padList, "padList")
    _check_reach(x, [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)], padding)
    y = conv(
        g,
        nchw(g, _single(g, x)),
        nchw(g, _single(g, w)),
        None if bias is None else _single(g, bias),
        stride=stride,
        dilation=dilation,
        padding=padding,
        group=group,
    )
    return activate(g, g.cast(nhwc(g, y), x.dtype), p.activationType)


@node(NodeType.CONV2D_TRANSPOSE_FUSION, bias=2)
def conv2d_transpose(
    g: NodeBuilder, p: attributes.Conv2dTransposeFusion, x: Value, w: Value, bias: Value | None = None
) -> Value:
    """y = act(the transposed convolution of x by w + bias).  x (N,H,W,I), w (I,kH,kW,O/group) → y (N,H',W',O)."""
    rank_of(x, 4)
    kernel = _kernel(p, w)
    weight, out = _transposed_weight(g, p, x, w, bias)
    _check_bias(bias, out)
    stride, dilation = pair(p.stride, "stride"), pair(p.dilation, "dilation")
    more = pair(p.outputPaddings, "outputPaddings", least=0) if p.outputPaddings else (0, 0)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    if p.padMode == PadMode.SAME:
        total = [r - s for r, s in zip(reach, stride, strict=True)]
        begin = [max(t, 0) // 2 for t in total]
        end = [t - b for t, b in zip(total, begin, strict=True)]
    else:
        padding = padding_of(p.padMode, p.padList, "padList")
        begin, end = list(padding.begin), list(padding.end)
    y = conv_transpose(
        g,
        nchw(g, _single(g, x)),
        weight,
        None if bias is None else _single(g, bias),
        stride=stride,
        begin=begin,
        end=[e - m for e, m in zip(end, more, strict=True)],
        dilation=dilation,
        group=max(int(p.group), 1),
    )
    return activate(g, g.cast(nhwc(g, y), x.dtype), p.activationType)


def _transposed_weight(
    g: NodeBuilder, p: attributes.Conv2dTransposeFusion, x: Value, w: Value, bias: Value | None
) -> tuple[Value, int]:
    """The weight as ONNX wants it, (I,O/group,kH,kW), and O.

    Two layouts are met: (I,kH,kW,O/group), and where only it fits the channels, (O,kH,kW,I/group).
    """
    group = max(int(p.group), 1)
    channels = x.shape[3] if isinstance(x.shape[3], int) else int(p.inChannel)
    first, last = int(w.shape[0]), int(w.shape[3])
    wanted = bias.shape[0] if bias is not None and bias.rank == 1 else int(p.outChannel) or None

    def fits(inner: int, outer: int) -> bool:
        return inner == channels and inner % group == 0 and (wanted is None or outer == wanted)

    w = _single(g, w)
    if fits(first, last * group):
        return nchw(g, w), last * group
    if fits(last * group, first) and first % group == 0:
        kernel = w.shape[1:3]
        split = g.reshape(w, [group, first // group, *kernel, last])
        turned = permute(g, split, (0, 4, 1, 2, 3))
        return g.reshape(turned, [last * group, first // group, *kernel]), first
    if first == channels and channels % group == 0:
        return nchw(g, w), last * group
    raise CheckError(f"weight {list(w.shape)} in {group} groups does not fit {channels} channels in, {wanted} out")


def _check_reach(x: Value, reach: Sequence[int], padding: Padding) -> None:
    """CheckError if the kernel is larger than the padded image."""
    for size, wide, before, after in zip(x.shape[1:3], reach, padding.begin, padding.end, strict=not padding.same):
        if isinstance(size, int) and size + before + after < wide:
            raise CheckError(f"a kernel that reaches over {list(reach)} does not fit the padded image {list(x.shape)}")


def _check_bias(bias: Value | None, out: int) -> None:
    if bias is not None and bias.shape != (out,):
        raise CheckError(f"the bias must have dims [{out}], got {list(bias.shape)}")


def _single(g: NodeBuilder, x: Value) -> Value:
    """x in a type that the convolution kernels take."""
    return x if x.dtype.name in ("float16", "float32") else g.cast(x, "float32")


# -- pooling ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """A pooling window on an image of known or unknown size; ``end`` holds what CEIL adds, where that is known."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    begin: tuple[int, int] = (0, 0)
    end: tuple[int, int] = (0, 0)
    same: bool = False
    ceil: bool = False

    @property
    def attributes(self) -> dict[str, Any]:
        """For MaxPool and AveragePool."""
        result: dict[str, Any] = {"kernel_shape": self.kernel, "strides": self.stride}
        if self.same:
            return result | {"auto_pad": "SAME_UPPER"}
        return result | {"pads": [*self.begin, *self.end], "ceil_mode": int(self.ceil) or None}

    @property
    def wide(self) -> bool:
        """Whether the padding is as large as the kernel: the engine refuses that."""
        return any(pad >= k for pads in (self.begin, self.end) for pad, k in zip(pads, self.kernel, strict=True))


def _window(p: Pool, x: Value) -> Window:
    rank_of(x, 4)
    kernel, stride = pair(p.kernelSize, "kernelSize"), pair(p.strides, "strides")
    padding = padding_of(p.padMode, p.pad, "pad")
    sizes = x.shape[1:3]
    if p.roundMode not in (RoundMode.FLOOR, RoundMode.CEIL):
        raise CheckError(f"roundMode must be 0 or 1, got {int(p.roundMode)}")
    ceil = p.roundMode == RoundMode.CEIL and not padding.same
    if not all(isinstance(size, int) for size in sizes):
        return Window(kernel, stride, padding.begin or (0, 0), padding.end or (0, 0), bool(padding.same), ceil)  # type: ignore[arg-type]
    begin, end = padding.amounts(sizes, kernel, stride)  # type: ignore[arg-type]
    return _closed(kernel, stride, begin, end, sizes, ceil)  # type: ignore[arg-type]


def _closed(
    kernel: tuple[int, int],
    stride: tuple[int, int],
    begin: tuple[int, int],
    end: tuple[int, int],
    sizes: tuple[int, int],
    ceil: bool,
) -> Window:
    """The window on an image of known size: what CEIL adds becomes padding at the end."""
    reach = []
    for size, k, s, before, after in zip(sizes, kernel, stride, begin, end, strict=True):
        free = size + before + after - k
        if free < 0:
            raise CheckError(f"the window {list(kernel)} is larger than the padded image {list(sizes)}")
        count = (-(-free // s) if ceil else free // s) + 1
        if (count - 1) * s >= size + before or before >= k:
            raise CheckError(f"a window of {list(kernel)} with strides {list(stride)} lies wholly in the padding")
        reach.append(max(after, (count - 1) * s + k - size - before) if ceil else after)
    return Window(kernel, stride, begin, (reach[0], reach[1]))


@node(NodeType.MAX_POOL_FUSION)
def max_pool(g: NodeBuilder, p: attributes.MaxPoolFusion, x: Value) -> Value:
    """y = act(the maximum of each window).  x (N,H,W,C) → y (N,H',W',C)."""
    if p.global_:
        rank_of(x, 4)
        return activate(g, g.ReduceMax(as_float(g, x), [1, 2]), p.activationType)
    window = _window(p, x)
    image = nchw(g, as_float(g, x))
    if window.wide:
        least = float("-inf")
        image = g.Pad(image, [0, 0, *window.begin, 0, 0, *window.end], g.constant(least, image.dtype))
        window = Window(window.kernel, window.stride)
    y = g.MaxPool(image, **window.attributes)
    return activate(g, g.cast(nhwc(g, y), x.dtype), p.activationType)


@node(NodeType.AVGPOOL_FUSION)
def average_pool(g: NodeBuilder, p: attributes.AvgPoolFusion, x: Value) -> Value:
    """y = act(the mean of each window, padding not counted).  x (N,H,W,C) → y (N,H',W',C)."""
    if p.global_:
        rank_of(x, 4)
        return activate(g, g.cast(g.ReduceMean(as_float(g, x), [1, 2]), x.dtype), p.activationType)
    window = _window(p, x)
    image = nchw(g, _single(g, x))
    if window.wide:
        pads = [0, 0, *window.begin, 0, 0, *window.end]
        ones = g.expand(g.constant(1, image.dtype), [1, 1, *g.sizes(image)[2:]])
        bare = Window(window.kernel, window.stride).attributes
        y = g.Div(g.AveragePool(g.Pad(image, pads), **bare), g.AveragePool(g.Pad(ones, pads), **bare))
    else:
        y = g.AveragePool(image, count_include_pad=0, **window.attributes)
    return activate(g, g.cast(nhwc(g, y), x.dtype), p.activationType)
