"""Twins of the two-dimensional convolution and its transpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nnrt.enums import NodeType, PadMode
from .activation import fused
from .registry import Array, Context, twin
from .rules import as_shape, count, four_pads, from_nhwc, name_of, need_number, need_rank, pair, require, to_nhwc

Pads = tuple[int, int]


def same_pads(size: int, spread: int, stride: int) -> Pads:
    """The padding that makes the output ⌈size / stride⌉ long, the odd cell at the end."""
    total = max(0, (-(-size // stride) - 1) * stride + spread - size)
    return total // 2, total - total // 2


def need_kernel(p: Any, weight: Array) -> None:
    """Refuses a ``kernelSize`` that says something else than the weight."""
    sizes = list(weight.shape[1:3])
    require(list(p.kernelSize) in ([], sizes), f"kernelSize must be the weight's {sizes}, got {list(p.kernelSize)}")


def pads_of(mode: Any, listed: tuple[Pads, Pads], size: int, spread: int, stride: int, axis: int) -> Pads:
    """(start, end) along one axis, by the padding mode."""
    require(mode in PadMode._value2member_map_, f"padMode must be PAD, SAME or VALID, got {name_of(mode)}")
    if mode == PadMode.SAME:
        return same_pads(size, spread, stride)
    return listed[axis] if mode == PadMode.PAD else (0, 0)


@twin(NodeType.CONV2D_FUSION)
def conv2d(context: Context, p: Any, x: Array, weight: Array, *bias: Array) -> Array:
    """y[n,i,j,o] = act(b[o] + Σ x[n, i·sh + u·dh - top, j·sw + v·dw - left, c] w[o,u,v,c]) over u, v and the group's c.

    x (N,H,W,I), w (O,kH,kW,I/group) → y (N,H',W',O).
    """
    count((weight, *bias), 2, 3)
    need_number(x, weight)
    need_rank(x, 4)
    need_rank(weight, 4, name="weight")
    need_kernel(p, weight)
    x = to_nhwc(x, context.nchw)
    out = weight.shape[0]
    groups = p.group or out
    fits = groups > 0 and out % groups == 0 and weight.shape[3] * groups == x.shape[3]
    require(
        fits,
        f"group {groups} and weight dims {list(weight.shape)} do not fit the {x.shape[3]} channels of x",
    )
    strides, dilations = pair(p.stride, "stride"), pair(p.dilation, "dilation")
    listed = four_pads(p.padMode, p.padList, "padList")
    spreads = [(weight.shape[1 + i] - 1) * dilations[i] + 1 for i in range(2)]
    pads = [pads_of(p.padMode, listed, x.shape[1 + i], spreads[i], strides[i], i) for i in range(2)]
    sizes = [(x.shape[1 + i] + sum(pads[i]) - spreads[i]) // strides[i] + 1 for i in range(2)]
    require(min(sizes) > 0, f"kernelSize {spreads} does not fit into the padded input {list(x.shape[1:3])}")
    as_shape((x.shape[0], *(x.shape[1 + i] + sum(pads[i]) for i in range(2)), x.shape[3]), "padList")
    x = np.pad(x, ((0, 0), *pads, (0, 0)))
    y = np.zeros(as_shape((x.shape[0], *sizes, out)))
    for inside, outside in _groups(groups, x.shape[3], out):
        for u in range(weight.shape[1]):
            for v in range(weight.shape[2]):
                seen = x[:, u * dilations[0] :: strides[0], v * dilations[1] :: strides[1], inside]
                y[..., outside] += np.einsum("nhwc,oc->nhwo", seen[:, : sizes[0], : sizes[1]], weight[outside, u, v, :])
    return from_nhwc(fused(_biased(y, bias), p.activationType), context.nchw)


@twin(NodeType.CONV2D_TRANSPOSE_FUSION)
def conv2d_transpose(context: Context, p: Any, x: Array, weight: Array, *bias: Array) -> Array:
    """Each pixel of x adds its kernel to y at (i·sh + u·dh - top, j·sw + v·dw - left); then bias and activation.

    x (N,H,W,I), w (I,kH,kW,O/group), or where only that fits (O,kH,kW,I/group) → y (N,H',W',O).
    """
    count((weight, *bias), 2, 3)
    need_number(x, weight)
    need_rank(x, 4)
    need_rank(weight, 4, name="weight")
    need_kernel(p, weight)
    x = to_nhwc(x, context.nchw)
    channels = x.shape[3]
    groups = p.group or channels
    require(groups > 0 and channels % groups == 0, f"group must divide the {channels} channels of x, got {groups}")
    weight = _kernel_layout(weight, channels, groups)
    out = weight.shape[3] * groups
    strides, dilations = pair(p.stride, "stride"), pair(p.dilation, "dilation")
    extra = pair(p.outputPaddings, "outputPaddings", 0) if p.outputPaddings else (0, 0)
    listed = four_pads(p.padMode, p.padList, "padList")
    full = [(x.shape[1 + i] - 1) * strides[i] + (weight.shape[1 + i] - 1) * dilations[i] + 1 for i in range(2)]
    cuts = [_cut(p.padMode, listed, i, x.shape[1 + i], full[i], strides[i], extra[i]) for i in range(2)]
    room = [max(full[i], sum(cuts[i])) for i in range(2)]
    y = np.zeros(as_shape((x.shape[0], *room, out), "dims of the result"))
    for inside, outside in _groups(groups, channels, out):
        for u in range(weight.shape[1]):
            for v in range(weight.shape[2]):
                top, left = u * dilations[0], v * dilations[1]
                rows = slice(top, top + (x.shape[1] - 1) * strides[0] + 1, strides[0])
                columns = slice(left, left + (x.shape[2] - 1) * strides[1] + 1, strides[1])
                y[:, rows, columns, outside] += np.einsum("nhwc,co->nhwo", x[..., inside], weight[inside, u, v, :])
    (top, high), (left, wide) = cuts
    y = y[:, top : top + high, left : left + wide]
    return from_nhwc(fused(_biased(y, bias), p.activationType), context.nchw)


def _kernel_layout(weight: Array, channels: int, groups: int) -> Array:
    """Weights as (I,kH,kW,O/group); those of (O,kH,kW,I/group) are turned around, group by group."""
    if weight.shape[0] == channels:
        return weight
    fits = weight.shape[3] * groups == channels and weight.shape[0] % groups == 0
    require(fits, f"weight dims {list(weight.shape)} with group {groups} do not fit the {channels} channels of x")
    return np.concatenate([part.swapaxes(0, 3) for part in np.split(weight, groups)])


def _cut(
    mode: Any, listed: tuple[Pads, Pads], axis: int, size: int, full: int, stride: int, extra: int
) -> tuple[int, int]:
    """(start, length) of what is kept of a whole result of ``full`` cells along one axis."""
    require(mode in PadMode._value2member_map_, f"padMode must be PAD, SAME or VALID, got {name_of(mode)}")
    if mode == PadMode.SAME:
        return max(0, full - size * stride) // 2, size * stride + extra
    start, end = listed[axis] if mode == PadMode.PAD else (0, 0)
    length = full - start - end
    require(length > 0, f"padList must leave 1 row and 1 column or more, got {length}")
    return start, length + extra


def _biased(y: Array, bias: tuple[Array, ...]) -> Array:
    for values in bias:
        fits = values.shape == y.shape[-1:]
        require(fits, f"bias must have dims [{y.shape[-1]}], got {list(values.shape)}")
        y = y + values
    return y


def _groups(groups: int, channels: int, out: int) -> list[tuple[slice, slice]]:
    """The input and output channels of each group."""
    inside, outside = channels // groups, out // groups
    return [(slice(g * inside, (g + 1) * inside), slice(g * outside, (g + 1) * outside)) for g in range(groups)]
