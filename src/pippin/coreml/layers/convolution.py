"""Convolution and deconvolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import CheckError
from ...graph.composites.conv import Padding, conv, deconv
from ...graph.ir import Dim, Value
from ..lowering import Context, lowering, require


@lowering("convolution", layout="chw", rank=4)
def convolution(g: Context, p: Any, x: Value, weights: Value | None = None) -> Value:
    """Convolution (cross-correlation) or deconvolution over H and W, in groups.

    y[n,o,h,w] = bias[o] + Σ x[n, c, h·stride + i·dilation - top, w·stride + j·dilation - left] · W[o,c,i,j]
    x (N,C,H,W), W (O, C/groups, kH, kW) or as second input → y (N,O,H',W'); deconvolution: W (C, O/groups, kH, kW).
    Defaults: kernelSize [3,3], stride [1,1], dilationFactor [1,1] (ignored by deconvolution), nGroups 1.
    Source: ConvolutionLayerParams.
    """
    kernel = pair(p.kernelSize, "kernelSize", (3, 3))
    stride = pair(p.stride, "stride", (1, 1))
    groups = int(p.nGroups) or 1
    out, channels = int(p.outputChannels), int(p.kernelChannels)
    require(out > 0, f"outputChannels must be positive, got {out}")
    require(channels > 0, f"kernelChannels must be positive, got {channels}")
    require(out % groups == 0, f"outputChannels ({out}) must be a multiple of nGroups ({groups})")
    expected = channels if p.isDeconvolution else channels * groups
    require(
        isinstance(x.shape[1], str) or x.shape[1] == expected,
        f"the input must have {expected} channels (kernelChannels {channels}, nGroups {groups}), got {x.shape[1]}",
    )
    bias = g.weight(p.bias, out, name="bias") if p.hasBias else None
    if p.isDeconvolution:
        require(weights is None, "isDeconvolution takes weights from the file, not from a second input")
        require(channels % groups == 0, f"kernelChannels ({channels}) must be a multiple of nGroups ({groups})")
        return _deconvolution(g, p, x, bias, kernel, stride, groups)
    shape = (out, channels, *kernel)
    if weights is None:
        weights = g.weight(p.weights, *shape)
    require(
        all(isinstance(have, str) or have == want for have, want in zip(weights.shape, shape, strict=True)),
        f"the weights must have the shape {list(shape)}, got {list(weights.shape)}",
    )
    dilation = pair(p.dilationFactor, "dilationFactor", (1, 1))
    pads = padding(p, "ConvolutionPaddingType")
    dilated = [1 + (k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    fits(x.shape[2:], dilated, pads, ("kernelSize", "kernelSize"))
    return conv(g, x, weights, bias, stride=stride, dilation=dilation, padding=pads, group=groups, kernel_shape=kernel)


def _deconvolution(
    g: Context, p: Any, x: Value, bias: Value | None, kernel: Sequence[int], stride: Sequence[int], groups: int
) -> Value:
    out, channels = int(p.outputChannels), int(p.kernelChannels)
    if g.trains:
        w = g.weight(p.weights, channels, out // groups, *kernel)
    else:
        # output channels lie on two axes: the group and the channel within it
        split = (groups, channels // groups, out // groups, *kernel)
        array = g.weights.array(p.weights, split, axis=(0, 2)).reshape(channels, out // groups, *kernel)
        w = g.constant(array, name=f"{g.prefix}/weights")
    sizes = [int(size) for size in p.outputShape]
    require(
        not sizes or (len(sizes) == 2 and min(sizes) > 0), f"outputShape must hold 2 positive integers, got {sizes}"
    )
    return deconv(g, x, w, bias, stride=stride, padding=padding(p, "ConvolutionPaddingType"), sizes=sizes, group=groups)


def pair(values: Any, field: str, default: tuple[int, int]) -> tuple[int, int]:
    """Two positive integers [H, W], or the default where the field is empty."""
    numbers = tuple(int(v) for v in values) or default
    if len(numbers) != 2 or min(numbers) < 1:
        raise CheckError(f"{field} must hold 2 positive integers, got {list(numbers)}")
    return numbers[0], numbers[1]


def padding(p: Any, oneof: str) -> Padding:
    """ValidPadding or SamePadding of a convolution or pooling."""
    kind = p.WhichOneof(oneof)
    require(kind is not None, f"{oneof} must be set: valid or same")
    if kind == "same":
        mode = p.same.asymmetryMode
        require(mode in (0, 1), f"asymmetryMode must be BOTTOM_RIGHT_HEAVY (0) or TOP_LEFT_HEAVY (1), got {mode}")
        return Padding(same="lower" if p.same.asymmetryMode == 1 else "upper")
    top, bottom, left, right = borders(p.valid.paddingAmounts, "paddingAmounts")
    return Padding((top, left), (bottom, right))


def fits(sizes: Sequence[Dim], kernel: Sequence[int], padding: Padding, fields: Sequence[str]) -> None:
    """Raises ``CheckError`` where a kernel (dilated, a size each axis) is larger than the padded input."""
    for axis, (size, k, field) in enumerate(zip(sizes, kernel, fields, strict=True)):
        if isinstance(size, int) and not padding.same:
            padded = size + padding.begin[axis] + padding.end[axis]
            require(k <= padded, f"{field} must fit into the input: {k} elements with dilation, {padded} with padding")


def leaves(sizes: Sequence[Dim], kernel: Sequence[int], stride: Sequence[int], padding: Padding, field: str) -> None:
    """Raises ``CheckError`` where the padding of a deconvolution crops everything off."""
    for axis, (size, k, s) in enumerate(zip(sizes, kernel, stride, strict=True)):
        if isinstance(size, int) and not padding.same:
            whole, crop = (size - 1) * s + k, padding.begin[axis] + padding.end[axis]
            require(
                crop < whole, f"{field} must leave something of the deconvolution: {whole} elements, {crop} to crop"
            )


def borders(amounts: Any, field: str) -> tuple[int, int, int, int]:
    """BorderAmounts as top, bottom, left, right; zeros where they are not set."""
    edges = [(int(edge.startEdgeSize), int(edge.endEdgeSize)) for edge in amounts.borderAmounts]
    if not edges:
        return 0, 0, 0, 0
    require(len(edges) == 2, f"{field} must hold 2 borderAmounts [H, W], got {len(edges)}")
    require(max(max(edge) for edge in edges) < 1 << 31, f"{field}: an amount is absurdly large: {edges}")
    return *edges[0], *edges[1]
