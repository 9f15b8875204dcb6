"""Convolution and deconvolution over three spatial axes."""

from __future__ import annotations

from typing import Any

from ...graph.composites.conv import conv, deconv
from ...graph.ir import Value
from ..lowering import Context, lowering, require
from .convolution import fits, leaves
from .pooling import padding3d, triple


@lowering("convolution3d", rank=5)
def convolution3d(g: Context, p: Any, x: Value) -> Value:
    """Convolution (cross-correlation) or deconvolution over D, H and W, in groups.

    y[n,o,…] = bias[o] + Σ x[n, c, d·stride + i·dilation - front, …] · W[o,c,i,j,k]
    x (N,C,D,H,W), W (O, C/nGroups, kD, kH, kW) → y (N,O,D',H',W'); deconvolution: W (C, O/nGroups, kD, kH, kW), padding
    is cropped off, ``outputShape`` decides about the size. SAME: ⌈D / stride⌉, deconvolution D · stride.
    Differs: the text gives a deconvolution's weights as (O/nGroups, C, …); what writes such files puts C first, and so
    does this. Source: Convolution3DLayerParams.
    """
    require(x.rank == 5, f"the input must have rank 5 [N,C,D,H,W], got {x.rank}")
    out, channels, groups = int(p.outputChannels), int(p.inputChannels), int(p.nGroups)
    for field, value in (("outputChannels", out), ("inputChannels", channels), ("nGroups", groups)):
        require(value > 0, f"{field} must be positive, got {value}")
    require(
        out % groups == 0 and channels % groups == 0,
        f"nGroups ({groups}) must divide inputChannels ({channels}) and outputChannels ({out})",
    )
    require(
        isinstance(x.shape[1], str) or x.shape[1] == channels,
        f"the input must have {channels} channels (inputChannels), got {x.shape[1]}",
    )
    kernel, stride, dilation = triple(p, "kernel"), triple(p, "stride"), triple(p, "dilation")
    padding = padding3d(p)
    bias = g.weight(p.bias, out, name="bias") if p.hasBias else None
    sizes = [int(size) for size in p.outputShape]
    dilated = [1 + (k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    if not p.isDeconvolution:
        fits(x.shape[2:], dilated, padding, ("kernelDepth", "kernelHeight", "kernelWidth"))
        require(not sizes, "outputShape is for deconvolutions only")
        w = g.weight(p.weights, out, channels // groups, *kernel)
        return conv(g, x, w, bias, stride=stride, dilation=dilation, padding=padding, group=groups)
    require(
        not sizes or (len(sizes) == 3 and min(sizes) > 0),
        f"outputShape must hold 3 positive integers [D, H, W], got {sizes}",
    )
    if not sizes:
        leaves(x.shape[2:], dilated, stride, padding, "customPadding")
    w = g.weight(p.weights, channels, out // groups, *kernel, axis=1)
    return deconv(g, x, w, bias, stride=stride, dilation=dilation, padding=padding, sizes=sizes, group=groups)
