"""Rows of the 2-D convolution and its transpose."""
# ruff: noqa: E501 - one row a line

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from cases import Case, half, linear, lookup, normal

row = partial(Case, "convolution")


def edges(top: int = 0, bottom: int = 0, left: int = 0, right: int = 0) -> dict[str, Any]:
    """A BorderAmounts message."""
    return {
        "borderAmounts": [
            {"startEdgeSize": top, "endEdgeSize": bottom},
            {"startEdgeSize": left, "endEdgeSize": right},
        ]
    }


def valid(*amounts: int) -> dict[str, Any]:
    """The ``valid`` padding oneof, with the amounts top, bottom, left, right if any."""
    return {"valid": {"paddingAmounts": edges(*amounts)} if amounts else {}}


def same(mode: str = "BOTTOM_RIGHT_HEAVY") -> dict[str, Any]:
    """The ``same`` padding oneof."""
    return {"same": {"asymmetryMode": mode}}


def conv(out: int, channels: int, kernel: tuple[int, int] = (3, 3), /, **more: Any) -> dict[str, Any]:
    """Parameters of a convolution with seeded weights [out,channels,*kernel]; valid padding unless said otherwise."""
    params: dict[str, Any] = {
        "outputChannels": out,
        "kernelChannels": channels,
        "kernelSize": kernel,
        "weights": normal(out, channels, *kernel),
    }
    if "same" not in more and "valid" not in more:
        params |= valid()
    return params | more


def deconv(
    channels: int, out: int, kernel: tuple[int, int] = (3, 3), groups: int = 0, /, **more: Any
) -> dict[str, Any]:
    """Parameters of a deconvolution with seeded weights [channels,out/groups,*kernel]."""
    weights = normal(channels, out // (groups or 1), *kernel)
    given = {"isDeconvolution": True, "nGroups": groups, "weights": weights}
    return conv(out, channels, kernel, **given | more)


def one(kernel: Sequence[Any], **more: Any) -> dict[str, Any]:
    """A convolution from one channel to one with weights written out, [[kh,kw]]."""
    weights = np.asarray(kernel, np.float32)
    return conv(1, 1, weights.shape, **{"weights": weights} | more)


def spread(kernel: int, stride: int, **more: Any) -> dict[str, Any]:
    """A deconvolution along the width whose kernel is 1, 2, 3 …"""
    return one([np.arange(1, kernel + 1)], isDeconvolution=True, stride=(1, stride), **more)


RAMP = np.arange(9).reshape(1, 1, 3, 3)
MODES = ("BOTTOM_RIGHT_HEAVY", "TOP_LEFT_HEAVY")
BIAS = {"hasBias": True, "bias": normal(3)}


PLAIN = [
    row("3x3, known answer", one([[1, 2], [3, 4]]), (RAMP,), expect=([[[[27, 37], [57, 67]]]],)),
    row("kernelSize and stride left out: 3x3, step 1", conv(2, 3) | {"kernelSize": ()}, ((1, 3, 5, 6),)),
    row("bias", conv(3, 2, **BIAS), ((2, 2, 5, 5),)),
    row("hasBias off: bias is ignored", conv(3, 2, bias=normal(3)), ((2, 2, 4, 4),)),
    row("1x1 kernel", conv(4, 3, (1, 1)), ((2, 3, 3, 5),)),
    row("kernel as large as the input", conv(4, 3, (4, 5)), ((2, 3, 4, 5),)),
    row("uneven kernel, stride and dilation", conv(2, 3, (3, 2), stride=(2, 3), dilationFactor=(1, 2)), ((1, 3, 8, 9),)),
    row("dilation 2", conv(2, 3, dilationFactor=(2, 2)), ((1, 3, 7, 8),)),
    row("paddingAmounts uneven on all sides", conv(2, 3, **valid(1, 2, 3, 0)), ((1, 3, 4, 5),)),
    row("padding of one side greater than the kernel", conv(2, 1, (2, 2), **valid(3, 0, 0, 4)), ((1, 1, 3, 3),)),
    row("3x2 kernel, padding 1, stride 2, odd edge", conv(2, 2, (3, 2), stride=(2, 2), **valid(1, 1, 1, 1)), ((1, 2, 5, 5),)),
    row("nGroups 2 with bias", conv(4, 3, nGroups=2, hasBias=True, bias=normal(4)), ((2, 6, 5, 5),)),
    row("depthwise", conv(4, 1, nGroups=4), ((1, 4, 6, 5),)),
    row("depthwise with two outputs a channel", conv(6, 1, nGroups=3), ((1, 3, 5, 5),)),
    row("outputShape is ignored", conv(2, 3, outputShape=(9, 9)), ((1, 3, 5, 5),)),
    row("rank 5, leading axes are batch", conv(2, 3), ((2, 3, 3, 4, 5),)),
    row("rank 6", conv(2, 3), ((2, 1, 2, 3, 4, 4),)),
    row("legacy", conv(2, 3, **BIAS | {"bias": normal(2)}), ((1, 1, 3, 5, 6),), rank5=True),
    row("legacy, batch", conv(2, 3), ((1, 3, 3, 5, 6),), rank5=True),
    row("legacy, sequence and batch", conv(2, 3), ((2, 3, 3, 4, 5),), rank5=True),
]  # fmt: skip

SAME = [
    row(f"same, {mode}, size {size}, stride {stride}, dilation {dilation}",
         conv(2, 1, (3, 3), stride=(stride, stride), dilationFactor=(dilation, dilation), **same(mode)), ((1, 1, size, size + 1),))
    for mode in MODES
    for size, stride, dilation in ((6, 2, 1), (7, 3, 1), (5, 1, 2))
] + [
    row("same, total padding 1 lies after, known answer", one([[1, 1, 1]], stride=(1, 2), **same()),
         (np.arange(1, 7).reshape(1, 1, 1, 6),), expect=([[[[6, 12, 11]]]],)),
    row("same, total padding 1 lies before, known answer", one([[1, 1, 1]], stride=(1, 2), **same(MODES[1])),
         (np.arange(1, 7).reshape(1, 1, 1, 6),), expect=([[[[3, 9, 15]]]],)),
    row("same, even kernel", conv(2, 2, (2, 4), **same()), ((1, 2, 5, 5),)),
    row("same, even kernel, top left heavy", conv(2, 2, (2, 4), **same(MODES[1])), ((1, 2, 5, 5),)),
    row("same, kernel smaller than the stride", conv(2, 2, (1, 1), stride=(3, 2), **same()), ((1, 2, 7, 5),)),
    row("same, legacy", conv(2, 3, stride=(2, 2), **same()), ((1, 2, 3, 7, 6),), rank5=True),
]  # fmt: skip

TWO_INPUTS = [
    row("two inputs", {"outputChannels": 4, "kernelChannels": 3, "kernelSize": (2, 3), **valid()}, ((2, 3, 5, 5), (4, 3, 2, 3))),
    row("two inputs, nGroups 2, same, stride 2", {"outputChannels": 4, "kernelChannels": 1, "kernelSize": (3, 3), "nGroups": 2, "stride": (2, 2), **same()}, ((1, 2, 5, 6), (4, 1, 3, 3))),
    row("two inputs, paddingAmounts", {"outputChannels": 2, "kernelChannels": 3, "kernelSize": (3, 3), **valid(1, 0, 2, 1)}, ((1, 3, 5, 5), (2, 3, 3, 3))),
    row("two inputs, bias", {"outputChannels": 2, "kernelChannels": 3, "kernelSize": (3, 3), "hasBias": True, "bias": normal(2), **valid()}, ((1, 3, 5, 5), (2, 3, 3, 3))),
]  # fmt: skip

LEVELS = np.arange(2 * 3 * 3 * 3) % 15
QUANTISED = [
    row("float16 weights and bias", conv(3, 2, weights=half(normal(3, 2, 3, 3)), hasBias=True, bias=half(normal(3))), ((1, 2, 5, 5),)),
    row("8 bit linear, one scale", conv(2, 3, weights=linear(LEVELS * 16, 8, 0.01, -1.0)), ((1, 3, 5, 5),)),
    row("4 bit linear, a scale for each channel", conv(2, 3, weights=linear(LEVELS, 4, [0.1, 0.05], [-0.7, -0.3])), ((1, 3, 5, 5),)),
    row("5 bit linear, no bias", conv(2, 3, weights=linear(LEVELS, 5, 0.125)), ((1, 3, 5, 5),)),
    row("2 bit table", conv(2, 3, weights=lookup(LEVELS % 4, 2, [-1.0, -0.25, 0.5, 1.5])), ((1, 3, 5, 5),)),
    row("8 bit table, quantised bias", conv(2, 3, weights=lookup(LEVELS, 8, normal(256)), hasBias=True, bias=linear([3, 250], 8, 0.01, -1.0)), ((1, 3, 5, 5),)),
    row("deconvolution, 8 bit linear, a scale for each output channel", deconv(3, 2, weights=linear(LEVELS * 16, 8, [0.01, 0.02], [-1.0, 0.5])), ((1, 3, 4, 4),)),
    row("deconvolution, nGroups 2, a scale for each output channel", deconv(4, 6, (3, 3), 2, weights=linear(np.arange(4 * 3 * 9) % 15 * 16, 8, [0.01, 0.02, 0.03, 0.04, 0.05, 0.06], [-1.0, 0.5, 0.2, 0.1, -0.3, 0.0])), ((1, 4, 4, 3),)),
    row("deconvolution, float16 weights", deconv(3, 2, weights=half(normal(3, 2, 3, 3))), ((1, 3, 4, 4),)),
]  # fmt: skip

DECONVOLUTION = [
    row("deconvolution, known answer", one([[1, 2], [3, 4]], isDeconvolution=True, stride=(2, 2)), ([[[[1, 2], [3, 4]]]],),
         expect=([[[[1, 2, 2, 4], [3, 4, 6, 8], [3, 6, 4, 8], [9, 12, 12, 16]]]],)),
    row("deconvolution, overlap, known answer", one([[1, 2, 3]], isDeconvolution=True), ([[[[1, 10]]]],), expect=([[[[1, 12, 23, 30]]]],)),
    row("deconvolution, same, known answer", spread(4, 2, **same()), ([[[[1, 10]]]],), expect=([[[[2, 13, 24, 30]]]],)),
    row("deconvolution, same, odd cut, one more at the end, known answer", spread(5, 2, **same()), ([[[[1, 10]]]],), expect=([[[[2, 13, 24, 35]]]],)),
    row("deconvolution, same, odd cut, one more at the start, known answer", spread(5, 2, **same(MODES[1])), ([[[[1, 10]]]],), expect=([[[[13, 24, 35, 40]]]],)),
    row("deconvolution, same, kernel smaller than the stride: zeros at the end, known answer", spread(2, 3, **same()), ([[[[1, 10]]]],), expect=([[[[1, 2, 0, 10, 20, 0]]]],)),
    row("deconvolution, paddingAmounts and outputShape, known answer", spread(4, 2, outputShape=(1, 5), **valid(0, 0, 1, 1)), ([[[[1, 10]]]],), expect=([[[[2, 13, 24, 30, 40]]]],)),
    row("deconvolution, 2 channels to 3, bias", deconv(2, 3, stride=(2, 2), **BIAS), ((2, 2, 4, 5),)),
    row("deconvolution, paddingAmounts are cut off", deconv(2, 3, (4, 4), stride=(2, 2), **valid(1, 1, 1, 1)), ((1, 2, 4, 5),)),
    row("deconvolution, uneven paddingAmounts", deconv(2, 3, (4, 3), stride=(2, 3), **valid(2, 0, 1, 3)), ((1, 2, 4, 5),)),
    row("deconvolution, dilation is ignored", deconv(2, 3, dilationFactor=(2, 2)), ((1, 2, 4, 4),)),
    row("deconvolution, nGroups 2", deconv(4, 6, (3, 3), 2, stride=(2, 2)), ((2, 4, 3, 4),)),
    row("deconvolution, depthwise, stride 2", deconv(3, 3, (4, 4), 3, stride=(2, 2), **same()), ((1, 3, 4, 4),)),
    row("deconvolution, kernel smaller than the stride", deconv(2, 3, (2, 2), stride=(3, 3)), ((1, 2, 3, 3),)),
    row("deconvolution, rank 5", deconv(2, 3), ((2, 2, 2, 3, 3),)),
    row("deconvolution, legacy", deconv(2, 3, stride=(2, 2), **same()), ((1, 2, 2, 3, 4),), rank5=True),
] + [
    row(f"deconvolution, same, {mode}, kernel {kernel}, stride {stride}",
         deconv(2, 3, (kernel, kernel), stride=(stride, stride), hasBias=True, bias=normal(3), **same(mode)), ((1, 2, 4, 3),))
    for mode in MODES
    for kernel, stride in ((4, 2), (3, 2), (5, 2), (3, 1), (2, 3), (1, 2))
] + [
    row(f"deconvolution, {note}", deconv(2, 3, (kernel, kernel), stride=(stride, stride), outputShape=shape, hasBias=True, bias=normal(3), **pads), ((1, 2, 4, 5),))
    for note, kernel, stride, shape, pads in (
        ("outputShape as it is anyway", 3, 2, (9, 11), valid()),
        ("outputShape 1 greater: the last row is the bias", 3, 2, (10, 12), valid()),
        ("outputShape smaller", 3, 2, (8, 7), valid()),
        ("outputShape with k4 s2 p1", 4, 2, (8, 10), valid(1, 1, 1, 1)),
        ("outputShape with k3 s2 p1, output padding 1", 3, 2, (8, 10), valid(1, 1, 1, 1)),
        ("outputShape with k5 s3 p2", 5, 3, (10, 13), valid(2, 2, 2, 2)),
        ("outputShape with k5 s3 p2, output padding 1", 5, 3, (11, 14), valid(2, 2, 2, 2)),
        ("outputShape with same", 4, 2, (8, 10), same()),
        ("outputShape with same, top left heavy, k5", 5, 2, (9, 10), same(MODES[1])),
        ("outputShape with same, bottom right heavy, k5", 5, 2, (9, 10), same()),
    )
]  # fmt: skip

REFUSED = [
    row("three kernel sizes", conv(2, 3) | {"kernelSize": (3, 3, 3)}, ((1, 3, 5, 5),), refuses="kernelSize"),
    row("kernel size 0", conv(2, 3) | {"kernelSize": (3, 0)}, ((1, 3, 5, 5),), refuses="kernelSize"),
    row("one stride", conv(2, 3, stride=(2,)), ((1, 3, 5, 5),), refuses="stride"),
    row("stride 0", conv(2, 3, stride=(0, 1)), ((1, 3, 5, 5),), refuses="stride"),
    row("three dilations", conv(2, 3, dilationFactor=(1, 1, 1)), ((1, 3, 5, 5),), refuses="dilationFactor"),
    row("nGroups does not divide the outputs", conv(3, 1, nGroups=2), ((1, 2, 5, 5),), refuses="nGroups"),
    row("kernelChannels does not fit the input", conv(2, 3), ((1, 4, 5, 5),), refuses="kernelChannels"),
    row("deconvolution, kernelChannels does not fit the input", deconv(3, 2), ((1, 4, 5, 5),), refuses="kernelChannels"),
    row("no weights", {"outputChannels": 2, "kernelChannels": 3, **valid()}, ((1, 3, 5, 5),), refuses="weights"),
    row("too few weights", conv(2, 3, weights=normal(53)), ((1, 3, 5, 5),), refuses="weights"),
    row("two encodings at once", conv(2, 3, weights={"floatValue": normal(54), "float16Value": bytes(108)}), ((1, 3, 5, 5),), refuses="weights"),
    row("a table that is too short", conv(2, 3, weights=lookup(LEVELS % 4, 2, [0.0, 1.0, 2.0])), ((1, 3, 5, 5),), refuses="table"),
    row("three scales for two channels", conv(2, 3, weights=linear(LEVELS, 4, [0.1, 0.2, 0.3])), ((1, 3, 5, 5),), refuses="scale"),
    row("no bias though hasBias", conv(2, 3, hasBias=True), ((1, 3, 5, 5),), refuses="bias"),
    row("bias too long", conv(2, 3, hasBias=True, bias=normal(3)), ((1, 3, 5, 5),), refuses="bias"),
    row("no kind of padding", {k: v for k, v in conv(2, 3).items() if k != "valid"}, ((1, 3, 5, 5),), refuses="ConvolutionPaddingType"),
    row("borders for one axis only", conv(2, 3, valid={"paddingAmounts": {"borderAmounts": [{"startEdgeSize": 1}]}}), ((1, 3, 5, 5),), refuses="borderAmounts"),
    row("unknown asymmetryMode", conv(2, 3, same={"asymmetryMode": 7}), ((1, 3, 5, 5),), refuses="asymmetryMode"),
    row("deconvolution with two inputs", {"outputChannels": 3, "kernelChannels": 2, "isDeconvolution": True, **valid()}, ((1, 2, 4, 4), (2, 3, 3, 3)), refuses="isDeconvolution"),
    row("deconvolution, one outputShape", deconv(2, 3, outputShape=(9,)), ((1, 2, 4, 4),), refuses="outputShape"),
    row("rank 3", conv(2, 3), ((3, 5, 5),), refuses="rank"),
]  # fmt: skip

CASES = PLAIN + SAME + TWO_INPUTS + QUANTISED + DECONVOLUTION + REFUSED
