"""Twins of the 2-D convolution and its transpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import as_shape
from .registry import Array, Context, twin
from .rules import blob, border, choice, enum, fold, need_rank, pair, per_channel, require, unfold

Pads = tuple[tuple[int, int], tuple[int, int]]


def same_split(total: int, mode: str) -> tuple[int, int]:
    """(start, end) of a total padding: the odd pixel lies at the end or, TOP_LEFT_HEAVY, at the start."""
    small, large = total // 2, total - total // 2
    return (large, small) if mode == "TOP_LEFT_HEAVY" else (small, large)


def same_pads(size: int, kernel: int, stride: int, mode: str) -> tuple[int, int]:
    """The padding that makes the output ceil(size / stride) long. Source: SamePadding."""
    out = -(-size // stride)
    return same_split(max(0, (out - 1) * stride + kernel - size), mode)


def padding(params: Any, oneof: str, size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int]) -> Pads:
    """((top, bottom), (left, right)) of a layer whose oneof is ``valid`` or ``same``."""
    if choice(params, oneof) == "valid":
        return border(params.valid.paddingAmounts)
    mode = enum(params.same, "asymmetryMode")
    high, wide = (same_pads(size[i], kernel[i], stride[i], mode) for i in range(2))
    return high, wide


@twin("convolution")
def convolution(context: Context, params: Any, x: Array, kernels: Array | None = None) -> Array:
    """Convolution or deconvolution of the last two axes.

    y[o,i,j] = b[o] + Σ x[c, i·sh + u·dh - top, j·sw + v·dw - left] w[o,c,u,v] over c, u, v within the group

    x [...,C,H,W] → y [...,C_out,H_out,W_out]; weights [C_out,C/g,kh,kw], or [C,C_out/g,kh,kw] when ``isDeconvolution``.
    A second input holds the weights. Defaults: kernelSize [3,3], stride and dilationFactor [1,1], nGroups 1.
    """
    need_rank(x, 4)
    groups, out, channels = params.nGroups or 1, int(params.outputChannels), int(params.kernelChannels)
    kernel, stride = pair(params.kernelSize, 3, "kernelSize"), pair(params.stride, 1, "stride")
    choice(params, "ConvolutionPaddingType")
    require(out > 0 and out % groups == 0, f"nGroups must divide outputChannels {out}, got {groups}")
    wanted = channels if params.isDeconvolution else channels * groups
    require(
        channels > 0 and x.shape[-3] == wanted and wanted % groups == 0,
        f"kernelChannels {channels} with nGroups {groups} needs {wanted} input channels, got {x.shape[-3]}",
    )
    if params.isDeconvolution:
        require(kernels is None, "isDeconvolution allows 1 input, got 2")
        # kernels come group by group, each with its share of the output channels: so do the scales
        split = (groups, channels // groups, out // groups, *kernel)
        weights = blob(context, params, "weights", *split, axis=(0, 2)).reshape(channels, out // groups, *kernel)
        y = deconvolve(params, fold(x), weights, stride, groups)
    else:
        dilation = pair(params.dilationFactor, 1, "dilationFactor")
        if kernels is None:
            kernels = blob(context, params, "weights", out, channels, *kernel)
        need_rank(kernels, 4, 4)
        fits = kernels.shape[:2] == (out, channels)
        require(fits, f"weights must have shape [{out},{channels},kh,kw], got {list(kernels.shape)}")
        y = convolve(params, fold(x), kernels, stride, dilation, groups)
    if params.hasBias:
        y = y + per_channel(blob(context, params, "bias", out))
    return unfold(y, x)


def convolve(
    params: Any, x: Array, weights: Array, stride: tuple[int, int], dilation: tuple[int, int], groups: int
) -> Array:
    """x [N,C,H,W] and weights [O,C/g,kh,kw] → [N,O,H_out,W_out]."""
    (sh, sw), (dh, dw) = stride, dilation
    high, wide = weights.shape[2:]
    spread = (high - 1) * dh + 1, (wide - 1) * dw + 1
    pads = padding(params, "ConvolutionPaddingType", (x.shape[2], x.shape[3]), spread, stride)
    as_shape((*x.shape[:2], *(x.shape[2 + i] + sum(pads[i]) for i in range(2))), "paddingAmounts")
    x = np.pad(x, ((0, 0), (0, 0), *pads))
    rows, cols = ((x.shape[2 + i] - spread[i]) // stride[i] + 1 for i in range(2))
    require(rows > 0 and cols > 0, f"kernelSize {list(spread)} must fit into the padded input {list(x.shape[2:])}")
    y = np.zeros((len(x), len(weights), rows, cols))
    for inside, outside in _groups(groups, x.shape[1], len(weights)):
        for u in range(high):
            for v in range(wide):
                seen = x[:, inside, u * dh :: sh, v * dw :: sw][:, :, :rows, :cols]
                y[:, outside] += np.einsum("nchw,oc->nohw", seen, weights[outside, :, u, v])
    return y


def deconvolve(params: Any, x: Array, weights: Array, stride: tuple[int, int], groups: int) -> Array:
    """x [N,C,H,W] and weights [C,O/g,kh,kw] → [N,O,H_out,W_out].

    Each input pixel adds its kernel at (i·sh, j·sw); the padding is cut off the result. ``outputShape`` fixes the
    size, the cut still begins at the start padding, and what lies beyond the end is zero.
    """
    (sh, sw), (high, wide) = stride, weights.shape[2:]
    batch, channels, rows, cols = x.shape
    out = weights.shape[1] * groups
    full = np.zeros(as_shape((batch, out, (rows - 1) * sh + high, (cols - 1) * sw + wide)))
    for inside, outside in _groups(groups, channels, out):
        for u in range(high):
            for v in range(wide):
                target = full[:, outside, u : u + (rows - 1) * sh + 1 : sh, v : v + (cols - 1) * sw + 1 : sw]
                target += np.einsum("nchw,co->nohw", x[:, inside], weights[inside, :, u, v])
    for axis in range(2):
        start, size = _deconvolution_cut(params, axis, x.shape[2 + axis], weights.shape[2 + axis], stride[axis])
        missing = max(0, start + size - full.shape[2 + axis])
        as_shape((*full.shape[: 2 + axis], start + size, *full.shape[3 + axis :]), "outputShape")
        full = np.pad(full, [(0, missing if i == 2 + axis else 0) for i in range(4)])
        full = np.take(full, range(start, start + size), axis=2 + axis)
    return full


def _groups(groups: int, channels: int, out: int) -> list[tuple[slice, slice]]:
    """The input and output channels of each group."""
    inside, outside = channels // groups, out // groups
    return [(slice(g * inside, (g + 1) * inside), slice(g * outside, (g + 1) * outside)) for g in range(groups)]


def _deconvolution_cut(params: Any, axis: int, size: int, kernel: int, stride: int) -> tuple[int, int]:
    """(start, length) of what is kept of a whole deconvolution along H (axis 0) or W (axis 1)."""
    if params.WhichOneof("ConvolutionPaddingType") == "valid":
        start, end = border(params.valid.paddingAmounts)[axis]
        kept = (size - 1) * stride + kernel - start - end
    else:
        start, _ = same_split(max(0, kernel - stride), enum(params.same, "asymmetryMode"))
        kept = size * stride
    if len(params.outputShape):
        kept = pair(params.outputShape, 1, "outputShape")[axis]
    require(kept > 0, f"paddingAmounts must leave 1 row and 1 column or more, got {kept}")
    return start, kept
