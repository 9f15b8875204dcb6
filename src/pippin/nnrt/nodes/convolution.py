"""Convolution and its transpose.  Images are N,H,W,C and are turned to N,C,H,W and back around the operator, or are
N,C,H,W where their format says so; weights have the layout that stands here all the same.

Legend: N batch, H W height and width, I O channels in and out, kH kW kernel, s stride, d dilation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import CheckError
from ...graph.composites.conv import Padding, conv, conv_transpose
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType, PadMode
from .activation import activate
from .base import NodeBuilder, channel_axis, framed, image, nchw, node, pair, permute, planes, rank_of, scaled


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
    if any(isinstance(dim, int) and dim < 1 for dim in w.shape):
        raise CheckError(f"the dims of the weight must be positive, got {list(w.shape)}")
    if p.kernelSize:
        said = pair(p.kernelSize, "kernelSize")
        if any(isinstance(dim, int) and dim != want for dim, want in zip(size, said, strict=True)):
            raise CheckError(f"kernelSize must be the weight's {list(size)}, got {list(p.kernelSize)}")
        return said
    if not all(isinstance(dim, int) for dim in size):
        raise CheckError(f"kernelSize must be there where the weight's is not known, {list(w.shape)}")
    return size  # type: ignore[return-value]


@node(NodeType.CONV2D_FUSION, bias=2, quantized="product")
def conv2d(g: NodeBuilder, p: attributes.Conv2DFusion, x: Value, w: Value, bias: Value | None = None) -> Value:
    """y = act(x ∗ w + bias), a convolution in groups.

    x (N,H,W,I), w (O,kH,kW,I/group), bias (O) or left out → y (N,H',W',O); x (N,I,H,W) → y (N,O,H',W').
    PAD H' = ⌊(H + pads - ((kH-1)·d + 1)) / s⌋ + 1, padList top, bottom, left, right; SAME H' = ⌈H/s⌉, the odd cell at
    the end; VALID as PAD without pads.  The kernel's size and the channels are the weight's; group 0 stands for O.
    """
    rank_of(x, 4)
    kernel = _kernel(p, w)
    out, depth = w.shape[0], w.shape[3]
    if not p.group and not isinstance(out, int):
        raise CheckError(f"group must be there where the weight's channels are not known, {list(w.shape)}")
    group = int(p.group) or int(out)
    channels = x.shape[channel_axis(g, x)]
    wrong = isinstance(channels, int) and isinstance(depth, int) and channels != depth * group
    if group < 1 or (isinstance(out, int) and out % group) or wrong:
        raise CheckError(f"weight {list(w.shape)} in {group} groups does not fit {channels} channels")
    _check_bias(bias, out)
    stride, dilation = pair(p.stride, "stride"), pair(p.dilation, "dilation")
    padding = padding_of(p.padMode, p.padList, "padList")
    _check_reach(g, x, [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)], padding)
    work = single(g, x)
    y = conv(
        g,
        image(g, work),
        nchw(g, g.cast(w, work.dtype)),
        None if bias is None else g.cast(bias, work.dtype),
        stride=stride,
        dilation=dilation,
        padding=padding,
        group=group,
        kernel_shape=kernel,
    )
    return activate(g, g.cast(framed(g, scaled(g, y, 1)), x.dtype), p.activationType)


@node(NodeType.CONV2D_TRANSPOSE_FUSION, bias=2, quantized="product")
def conv2d_transpose(
    g: NodeBuilder, p: attributes.Conv2dTransposeFusion, x: Value, w: Value, bias: Value | None = None
) -> Value:
    """y = act(the transposed convolution of x by w + bias).

    x (N,H,W,I), w (I,kH,kW,O/group), bias (O) or left out → y (N,H',W',O); x (N,I,H,W) → y (N,O,H',W').
    PAD H' = (H-1)·s + (kH-1)·d + 1 - pads + outputPadding; SAME H' = H·s + outputPadding; VALID as PAD without pads.
    Differs: the text's weight is (O,kH,kW,I/group); that one is read where only it fits the channels.
    """
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
    for axis, s, r, before, after in zip(planes(g), stride, reach, begin, end, strict=True):
        size = x.shape[axis]
        if isinstance(size, int) and (size - 1) * s + r - before - after < 1:
            raise CheckError(f"padList must leave 1 row and 1 column or more of {list(x.shape)}, got {list(p.padList)}")
    work = single(g, x)
    y = conv_transpose(
        g,
        image(g, work),
        g.cast(weight, work.dtype),
        None if bias is None else g.cast(bias, work.dtype),
        stride=stride,
        begin=begin,
        end=[e - m for e, m in zip(end, more, strict=True)],
        dilation=dilation,
        group=max(int(p.group), 1),
    )
    return activate(g, g.cast(framed(g, scaled(g, y, 1)), x.dtype), p.activationType)


def _transposed_weight(
    g: NodeBuilder, p: attributes.Conv2dTransposeFusion, x: Value, w: Value, bias: Value | None
) -> tuple[Value, int]:
    """The weight as ONNX wants it, (I,O/group,kH,kW), and O.

    Two layouts are met: (I,kH,kW,O/group), and where only it fits the channels, (O,kH,kW,I/group).
    """
    if not w.static:
        raise CheckError(f"the dims of the weight must be known, got {list(w.shape)}")
    group = max(int(p.group), 1)
    given = x.shape[channel_axis(g, x)]
    channels = given if isinstance(given, int) else int(p.inChannel) or None
    first, last = int(w.shape[0]), int(w.shape[3])
    wanted = bias.shape[0] if bias is not None and bias.rank == 1 else int(p.outChannel) or None

    def fits(inner: int, outer: int) -> bool:
        return channels in (None, inner) and inner % group == 0 and (wanted is None or outer == wanted)

    if fits(first, last * group):
        return nchw(g, w), last * group
    if fits(last * group, first) and first % group == 0:
        kernel = w.shape[1:3]
        split = g.reshape(w, [group, first // group, *kernel, last])
        turned = permute(g, split, (0, 4, 1, 2, 3))
        return g.reshape(turned, [last * group, first // group, *kernel]), first
    if channels in (None, first) and first % group == 0:
        return nchw(g, w), last * group
    raise CheckError(f"weight {list(w.shape)} in {group} groups does not fit {channels} channels in, {wanted} out")


def _check_reach(g: NodeBuilder, x: Value, reach: Sequence[int], padding: Padding) -> None:
    """CheckError if the kernel is larger than the padded image."""
    sizes = [x.shape[axis] for axis in planes(g)]
    for size, wide, before, after in zip(sizes, reach, padding.begin, padding.end, strict=not padding.same):
        if isinstance(size, int) and size + before + after < wide:
            raise CheckError(f"a kernel that reaches over {list(reach)} does not fit the padded image {list(x.shape)}")


def _check_bias(bias: Value | None, out: int | str) -> None:
    fits = bias is None or (bias.rank == 1 and (bias.shape == (out,) or not bias.static or not isinstance(out, int)))
    if bias is not None and not fits:
        raise CheckError(f"the bias must have dims [{out}], got {list(bias.shape)}")


def single(g: NodeBuilder, x: Value) -> Value:
    """x in a type that the convolution kernels take."""
    return x if x.dtype.name in ("float16", "float32") else g.cast(x, "float32")
