"""Derivatives of convolutions in any number of spatial dims."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..builder import Builder
from ..composites.conv import conv_transpose
from ..ir import Node, Value
from .common import dims, operand, optional, pads, spatial, unbroadcast
from .engine import Thunks, rule

_WIDE = 4096
"""Weights up to which one product a picture is faster than one product over the whole batch."""


@dataclass(frozen=True)
class _Window:
    """How a kernel slides: sizes of the kernel, steps, dilation, padding at both ends, groups."""

    kernel: list[int]
    stride: list[int]
    dilation: list[int]
    begin: list[int]
    end: list[int]
    group: int

    @classmethod
    def of(cls, node: Node, sizes: Sequence[int], kernel: Sequence[int]) -> _Window:
        count = len(kernel)
        stride, dilation = spatial(node, "strides", count), spatial(node, "dilations", count)
        dilated = [1 + (k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
        begin, end = pads(node, sizes, dilated, stride)
        return cls(list(kernel), stride, dilation, begin, end, int(node.attributes.get("group", 1)))

    @property
    def dilated(self) -> list[int]:
        return [1 + (k - 1) * d for k, d in zip(self.kernel, self.dilation, strict=True)]


def _bias(g: Builder, node: Node, dy: Value) -> Value:
    bias = optional(node, 2)
    assert bias is not None
    return unbroadcast(g, g.ReduceSum(dy, [axis for axis in range(dy.rank) if axis != 1], keepdims=0), bias)


@rule("Conv")
def conv(g: Builder, node: Node, dy: Value) -> Thunks:
    """x (N,C,D…), W (O,C/group,k…), dy (N,O,D'…)."""
    x, w = operand(node), operand(node, 1)
    sizes = dims(x)[2:]
    window = _Window.of(node, sizes, dims(w, "the weights")[2:])

    def source() -> Value:
        # what no window reaches at the end gets zeros: a crop below 0
        moves = zip(dims(dy)[2:], window.stride, window.dilated, window.begin, sizes, strict=True)
        end = [(d - 1) * s + k - b - size for d, s, k, b, size in moves]
        return conv_transpose(
            g,
            dy,
            w,
            None,
            stride=window.stride,
            begin=window.begin,
            end=end,
            dilation=window.dilation,
            group=window.group,
        )

    return source, lambda: kernel_gradient(g, x, dy, window), lambda: _bias(g, node, dy)


@rule("ConvTranspose")
def conv_transposed(g: Builder, node: Node, dy: Value) -> Thunks:
    """x (N,C,D…), W (C,O/group,k…), dy (N,O,D'…): the input gradient is a convolution, the weights' that of one."""
    x, w = operand(node), operand(node, 1)
    inner, outer = dims(x)[2:], dims(dy)[2:]
    window = _Window.of(node, outer, dims(w, "the weights")[2:])
    # exactly the windows of x, whatever output_padding and cropping say: a crop below 0 at the end if need be
    moves = zip(inner, window.stride, window.dilated, window.begin, outer, strict=True)
    end = [(d - 1) * s + k - b - size for d, s, k, b, size in moves]
    window = _Window(window.kernel, window.stride, window.dilation, window.begin, end, window.group)

    def padded() -> Value:
        if min(window.end) >= 0:
            return dy
        cut = [0, 0, *(min(e, 0) for e in window.end)]
        result: Value = g.Pad(dy, [0] * len(cut) + cut)
        return result

    def source() -> Value:
        result: Value = g.Conv(
            padded(),
            w,
            kernel_shape=window.kernel,
            strides=window.stride,
            dilations=window.dilation,
            pads=[*window.begin, *(max(e, 0) for e in window.end)],
            group=window.group,
        )
        return result

    return source, lambda: kernel_gradient(g, dy, x, window), lambda: _bias(g, node, dy)


def kernel_gradient(g: Builder, x: Value, dy: Value, window: _Window) -> Value:
    """dW[o,c,i…] = Σ dy[n,o,d…] · x̃[n, c, d·stride + i·dilation, …], x̃ being x with its padding.

    x (N,C,D…), dy (N,O,D'…) → dW (O,C/group,k…).
    """
    positions, places = math.prod(window.kernel), math.prod(dims(dy)[2:])
    if window.group == 1 and positions > 9 and positions > 4 * places:
        return _as_convolution(g, x, dy, window)
    channels, out = dims(x)[1], dims(dy)[1]
    if window.group == 1 and positions * channels * out <= _WIDE:
        return _by_picture(g, x, dy, window)
    return _by_batch(g, x, dy, window)


def _shifted(g: Builder, x: Value, sizes: Sequence[int], window: _Window, axis: int) -> Value:
    """x (…,D…) → its padded copies under each place of the kernel, one after another along ``axis``: (…,D'…)."""
    count = len(window.kernel)
    first = x.rank - count
    amounts = [0] * first + window.begin + [0] * first + window.end
    if any(amounts):
        x = g.Pad(x, amounts)
    parts = []
    for place in itertools.product(*(range(k) for k in window.kernel)):
        starts = [i * d for i, d in zip(place, window.dilation, strict=True)]
        ends = [start + (size - 1) * s + 1 for start, size, s in zip(starts, sizes, window.stride, strict=True)]
        if all(start == 0 for start in starts) and list(x.shape[first:]) == ends and max(window.stride) == 1:
            parts.append(x)
            continue
        steps = window.stride if max(window.stride) > 1 else None
        parts.append(g.Slice(x, starts, ends, list(range(first, x.rank)), steps))
    return parts[0] if len(parts) == 1 else g.Concat(*parts, axis=axis)


def _by_picture(g: Builder, x: Value, dy: Value, window: _Window) -> Value:
    """One product a picture, (k·C, D') · (D', O), then the sum over the pictures."""
    n, channels = dims(x)[:2]
    out, sizes = dims(dy)[1], dims(dy)[2:]
    positions, places = math.prod(window.kernel), math.prod(sizes)
    columns = g.reshape(_shifted(g, x, sizes, window, 1), [n, positions * channels, places])
    rows = g.Transpose(g.reshape(dy, [n, out, places]), perm=[0, 2, 1])
    product = g.ReduceSum(g.MatMul(columns, rows), [0], keepdims=0)
    return _ordered(g, product, 1, channels, out, window)


def _by_batch(g: Builder, x: Value, dy: Value, window: _Window) -> Value:
    """One product over the whole batch, (k·C, N·D') · (N·D', O); one for each group."""
    (n, channels), (out, *sizes) = dims(x)[:2], dims(dy)[1:]
    group = window.group
    each, results = channels // group, out // group
    order = [1, 0, *range(2, x.rank)]
    x = g.Transpose(x, perm=order)
    if group > 1:
        x = g.reshape(x, [group, each, *x.shape[1:]])
    columns = _shifted(g, x, sizes, window, x.rank - len(sizes) - 2)
    positions, places = math.prod(window.kernel), n * math.prod(sizes)
    rows = g.Transpose(dy, perm=order)
    if group == 1:
        columns, rows = g.reshape(columns, [positions * each, places]), g.reshape(rows, [out, places])
        return _ordered(g, g.Gemm(columns, rows, transB=1), 1, each, out, window)
    columns = g.reshape(columns, [group, positions * each, places])
    rows = g.Transpose(g.reshape(rows, [group, results, places]), perm=[0, 2, 1])
    return _ordered(g, g.MatMul(columns, rows), group, each, results, window)


def _ordered(g: Builder, product: Value, group: int, channels: int, out: int, window: _Window) -> Value:
    """A product (group·k·C, O) → (group·O, C, k…)."""
    split = g.reshape(product, [group, math.prod(window.kernel), channels, out])
    return g.reshape(g.Transpose(split, perm=[0, 3, 2, 1]), [group * out, channels, *window.kernel])


def _as_convolution(g: Builder, x: Value, dy: Value, window: _Window) -> Value:
    """For kernels that are large beside their result: a convolution of x with dy as the kernel."""
    order = [1, 0, *range(2, x.rank)]
    y = g.Conv(
        g.Transpose(x, perm=order),
        g.Transpose(dy, perm=order),
        kernel_shape=dims(dy)[2:],
        strides=window.dilation,
        dilations=window.stride,
        pads=[*window.begin, *window.end],
    )
    if list(y.shape[2:]) != window.kernel:
        axes = list(range(2, x.rank))
        y = g.Slice(y, [0] * len(axes), window.kernel, axes)
    result: Value = g.Transpose(y, perm=order)
    return result
