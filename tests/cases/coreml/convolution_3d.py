"""Rows of convolution over depth, height and width, and of its transpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import Case, half, linear, normal

from .volume import padding, three


def conv(
    channels: tuple[int, int],
    kernel: Any = 3,
    stride: Any = 1,
    mode: str = "VALID",
    pads: Any = None,
    groups: int = 1,
    dilation: Any = 1,
    transposed: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """Parameters with seeded weights of the right size; a bias if ``hasBias`` is among ``more``."""
    inputs, outputs = channels
    found: dict[str, Any] = {"inputChannels": inputs, "outputChannels": outputs, "nGroups": groups}
    found |= three("kernel", kernel) | three("stride", stride) | three("dilation", dilation) | {"paddingType": mode}
    size = (kernel,) * 3 if isinstance(kernel, int) else kernel
    if transposed:
        found |= {"isDeconvolution": True, "weights": normal(inputs, outputs // max(groups, 1), *size)}
    else:
        found["weights"] = normal(outputs, inputs // max(groups, 1), *size)
    if more.get("hasBias"):
        found["bias"] = normal(outputs)
    return found | (padding(pads) if pads else {}) | more


def line(*values: float) -> np.ndarray:
    return np.reshape(np.float32(values), (1, 1, 1, 1, -1))


def along(weights: list[float], mode: str = "VALID", stride: int = 1, **more: Any) -> dict[str, Any]:
    """One channel, a kernel along the width."""
    return conv((1, 1), (1, 1, len(weights)), (1, 1, stride), mode, **{"weights": np.float32(weights), **more})


LEVELS = np.random.default_rng(5).integers(0, 256, (4, 2, 2, 3, 2))

CONVOLUTION = [
    Case(
        "convolution3d",
        "VALID, the kernel is not turned",
        along([1, 10, 100]),
        (line(1, 2, 3, 4),),
        expect=(line(321, 432),),
    ),
    Case(
        "convolution3d",
        "SAME, the odd zero at the end",
        along([1, 10], "SAME"),
        (line(1, 2, 3),),
        expect=(line(21, 32, 3),),
    ),
    Case(
        "convolution3d",
        "paddingType unset is CUSTOM",
        {**along([1, 10], pads=(0, 0, 0, 0, 1, 2)), "paddingType": 0},
        (line(1, 2),),
        expect=(line(10, 21, 2, 0),),
    ),
    Case(
        "convolution3d",
        "VALID does not look at customPadding",
        along([1, 10], pads=(1, 1, 1, 1, 1, 1)),
        (line(1, 2),),
        expect=(line(21),),
    ),
    Case(
        "convolution3d",
        "SAME, the text's shapes",
        conv((3, 2), 3, 2, "SAME"),
        ((1, 3, 3, 8, 8),),
        tolerance=2e-5,
        why="sums of 81 products",
    ),
    Case(
        "convolution3d", "SAME, kernel below the stride", conv((2, 3), (1, 2, 1), (2, 3, 3), "SAME"), ((1, 2, 5, 7, 4),)
    ),
    Case("convolution3d", "VALID, bias, batch of 2", conv((2, 3), (1, 2, 3), hasBias=True), ((2, 2, 3, 4, 5),)),
    Case("convolution3d", "bias that hasBias leaves out", conv((2, 3), 1, bias=normal(3)), ((1, 2, 2, 2, 2),)),
    Case("convolution3d", "three strides", conv((2, 2), 2, (1, 2, 3)), ((1, 2, 4, 5, 8),)),
    Case("convolution3d", "three dilations", conv((2, 2), (3, 2, 2), dilation=(1, 2, 3)), ((1, 2, 4, 5, 6),)),
    Case("convolution3d", "SAME with dilation", conv((1, 2), 2, mode="SAME", dilation=(2, 1, 3)), ((1, 1, 4, 5, 6),)),
    Case(
        "convolution3d",
        "six paddings",
        conv((2, 2), (3, 2, 3), (2, 1, 1), "CUSTOM", (0, 1, 2, 3, 1, 0)),
        ((1, 2, 4, 3, 5),),
    ),
    Case("convolution3d", "2 groups", conv((4, 6), 2, groups=2, hasBias=True), ((2, 4, 3, 3, 3),)),
    Case(
        "convolution3d", "a group for each channel", conv((3, 6), (2, 3, 2), mode="SAME", groups=3), ((1, 3, 3, 4, 3),)
    ),
    Case("convolution3d", "kernel of 1", conv((3, 4), 1), ((2, 3, 2, 3, 4),)),
    Case(
        "convolution3d",
        "weights in float16",
        conv((2, 3), 2, weights=half(normal(3, 2, 2, 2, 2)), bias=half(normal(3)), hasBias=True),
        ((1, 2, 3, 3, 3),),
    ),
    Case(
        "convolution3d",
        "weights in 8 bits",
        conv((2, 4), (2, 3, 2), weights=linear(LEVELS, 8, 0.02, -2.5)),
        ((1, 2, 3, 4, 3),),
    ),
    Case(
        "convolution3d",
        "weights in 8 bits, a scale for each output channel",
        conv((2, 4), (2, 3, 2), weights=linear(LEVELS, 8, [0.01, 0.02, 0.03, 0.04], [-1, 0, 1, -5])),
        ((1, 2, 3, 4, 3),),
        tolerance=2e-5,
        why="large weights that cancel",
    ),
    Case("convolution3d", "batch of none", conv((2, 3), 2), (np.zeros((0, 2, 3, 3, 3)),)),
    Case("convolution3d", "no kernel width", conv((2, 3), (1, 1, 0)), ((1, 2, 3, 3, 3),), refuses="kernelWidth"),
    Case(
        "convolution3d", "no stride", {**conv((2, 3), 2), "strideDepth": 0}, ((1, 2, 3, 3, 3),), refuses="strideDepth"
    ),
    Case(
        "convolution3d",
        "no dilation",
        {**conv((2, 3), 2), "dilationHeight": 0},
        ((1, 2, 3, 3, 3),),
        refuses="dilationHeight",
    ),
    Case("convolution3d", "no groups", conv((2, 3), 2, groups=0), ((1, 2, 3, 3, 3),), refuses="nGroups"),
    Case(
        "convolution3d",
        "groups that do not divide the channels",
        conv((4, 3), 2, groups=2),
        ((1, 4, 3, 3, 3),),
        refuses="nGroups",
    ),
    Case(
        "convolution3d", "other channels than the input", conv((3, 3), 2), ((1, 2, 3, 3, 3),), refuses="inputChannels"
    ),
    Case(
        "convolution3d",
        "no output channels",
        {**conv((2, 1), 2), "outputChannels": 0},
        ((1, 2, 3, 3, 3),),
        refuses="outputChannels",
    ),
    Case(
        "convolution3d",
        "negative padding",
        conv((2, 3), 2, 1, "CUSTOM", (0, 0, 0, 0, -1, 0)),
        ((1, 2, 3, 3, 3),),
        refuses="customPaddingLeft",
    ),
    Case(
        "convolution3d",
        "unknown paddingType",
        {**conv((2, 3), 2), "paddingType": 4},
        ((1, 2, 3, 3, 3),),
        refuses="paddingType",
    ),
    Case("convolution3d", "too few weights", conv((2, 3), 2, weights=normal(7)), ((1, 2, 3, 3, 3),), refuses="weights"),
    Case(
        "convolution3d",
        "bias of another size",
        conv((2, 3), 2, hasBias=True, bias=normal(2)),
        ((1, 2, 3, 3, 3),),
        refuses="bias",
    ),
    Case(
        "convolution3d",
        "kernel larger than the input",
        conv((2, 3), 2, dilation=(1, 1, 4)),
        ((1, 2, 3, 3, 3),),
        refuses="kernelWidth",
    ),
    Case(
        "convolution3d",
        "outputShape without isDeconvolution",
        conv((2, 3), 2, outputShape=[2, 2, 2]),
        ((1, 2, 3, 3, 3),),
        refuses="outputShape",
    ),
    Case("convolution3d", "rank 4", conv((2, 3), 2), ((1, 2, 3, 3),), refuses="rank"),
]


def back(weights: list[float], mode: str = "VALID", stride: int = 2, **more: Any) -> dict[str, Any]:
    return along(weights, mode, stride, isDeconvolution=True, **more)


def up(
    channels: tuple[int, int], kernel: Any, stride: Any, mode: str = "CUSTOM", pads: Any = None, **more: Any
) -> dict[str, Any]:
    return conv(channels, kernel, stride, mode, pads, transposed=True, **more)


TRANSPOSED = [
    Case("convolution3d", "transposed, VALID", back([1, 10, 100]), (line(1, 2),), expect=(line(1, 10, 102, 20, 200),)),
    Case(
        "convolution3d",
        "transposed, CUSTOM cuts off both ends",
        {**back([1, 10, 100], pads=(0, 0, 0, 0, 1, 2)), "paddingType": "CUSTOM"},
        (line(1, 2),),
        expect=(line(10, 102),),
    ),
    Case(
        "convolution3d",
        "transposed, SAME cuts the odd one at the end",
        back([1, 10, 100], "SAME"),
        (line(1, 2),),
        expect=(line(1, 10, 102, 20),),
    ),
    Case(
        "convolution3d",
        "transposed, SAME cuts both ends",
        back([1, 10, 100, 1000], "SAME"),
        (line(1, 2),),
        expect=(line(10, 102, 1020, 200),),
    ),
    Case(
        "convolution3d",
        "transposed, SAME, kernel below the stride",
        back([1, 10], "SAME", 3),
        (line(1, 2),),
        expect=(line(1, 10, 0, 2, 20, 0),),
    ),
    Case(
        "convolution3d",
        "transposed, SAME, kernel below the stride, bias",
        back([1], "SAME", 2, hasBias=True, bias=np.float32([5])),
        (line(1, 2),),
        expect=(line(6, 5, 7, 5),),
    ),
    Case(
        "convolution3d",
        "transposed, VALID does not look at customPadding",
        back([1, 10], pads=(1, 1, 1, 1, 1, 1)),
        (line(1, 2),),
        expect=(line(1, 10, 2, 20),),
    ),
    Case(
        "convolution3d",
        "transposed, outputShape cuts the end",
        back([1, 10, 100], outputShape=[1, 1, 4]),
        (line(1, 2),),
        expect=(line(1, 10, 102, 20),),
    ),
    Case(
        "convolution3d",
        "transposed, outputShape beyond the end",
        back([1, 10, 100], outputShape=[1, 1, 7]),
        (line(1, 2),),
        expect=(line(1, 10, 102, 20, 200, 0, 0),),
    ),
    Case(
        "convolution3d",
        "transposed, outputShape starts at the start padding",
        {**back([1, 10, 100], pads=(0, 0, 0, 0, 1, 1), outputShape=[1, 1, 4]), "paddingType": "CUSTOM"},
        (line(1, 2),),
        expect=(line(10, 102, 20, 200),),
    ),
    Case(
        "convolution3d",
        "transposed, outputShape at the start of SAME",
        back([1, 10, 100, 1000], "SAME", outputShape=[1, 1, 5]),
        (line(1, 2),),
        expect=(line(10, 102, 1020, 200, 2000),),
    ),
    Case(
        "convolution3d",
        "transposed, dilation",
        back([1, 10, 100], stride=1, dilationWidth=2),
        (line(1, 2),),
        expect=(line(1, 2, 10, 20, 100, 200),),
    ),
    Case(
        "convolution3d",
        "transposed, kernel 4, stride 2, padding 1",
        up((2, 3), 4, 2, pads=(1,) * 6, hasBias=True),
        ((2, 2, 2, 3, 3),),
        tolerance=2e-5,
        why="sums of 16 products of size 10",
    ),
    Case(
        "convolution3d",
        "transposed, kernel 3, stride 2, padding 1, one more at the end",
        up((3, 2), 3, 2, pads=(1,) * 6, outputShape=[4, 6, 8]),
        ((1, 3, 2, 3, 4),),
    ),
    Case(
        "convolution3d",
        "transposed, kernel 5, stride 3, padding 2, one more, 2 groups",
        up((4, 6), 5, 3, pads=(2,) * 6, outputShape=[6, 6, 9], groups=2, hasBias=True),
        ((1, 4, 2, 2, 3),),
    ),
    Case(
        "convolution3d",
        "transposed, more input channels than output channels",
        up((5, 2), (1, 2, 3), (3, 2, 1), "VALID"),
        ((2, 5, 2, 3, 2),),
    ),
    Case(
        "convolution3d", "transposed, a group for each channel", up((3, 3), 2, 2, "SAME", groups=3), ((1, 3, 2, 3, 2),)
    ),
    Case(
        "convolution3d",
        "transposed, six paddings, three dilations",
        up((2, 2), 3, (2, 1, 3), pads=(0, 1, 2, 1, 1, 0), dilation=(1, 2, 1)),
        ((1, 2, 3, 3, 2),),
    ),
    Case(
        "convolution3d",
        "transposed, weights in float16",
        up((2, 2), 2, 1, weights=half(normal(2, 2, 2, 2, 2))),
        ((1, 2, 2, 2, 2),),
    ),
    Case(
        "convolution3d",
        "transposed, outputShape of two sizes",
        up((2, 2), 2, 1, outputShape=[2, 2]),
        ((1, 2, 2, 2, 2),),
        refuses="outputShape",
    ),
    Case(
        "convolution3d",
        "transposed, outputShape with 0",
        up((2, 2), 2, 1, outputShape=[2, 0, 2]),
        ((1, 2, 2, 2, 2),),
        refuses="outputShape",
    ),
    Case(
        "convolution3d",
        "transposed, nothing left",
        up((2, 2), 2, 1, pads=(2, 2, 0, 0, 0, 0)),
        ((1, 2, 2, 2, 2),),
        refuses="customPadding",
    ),
    Case(
        "convolution3d",
        "transposed, too few weights",
        up((2, 2), 2, 1, weights=normal(9)),
        ((1, 2, 2, 2, 2),),
        refuses="weights",
    ),
]

CASES = CONVOLUTION + TRANSPOSED
