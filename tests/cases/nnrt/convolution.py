"""Rows of the two-dimensional convolution and its transpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.nnrt.types import Format, NodeType, PadMode

from . import NodeCase, const, drawn, f32, fused, ints, q, weights, whole

T = NodeType
NCHW = {"format": Format.NCHW}
RAMP = np.arange(1, 10, dtype=np.float32).reshape(1, 3, 3, 1)
ONES = const(np.ones((1, 2, 2, 1)))


def conv(note: str, attributes: dict[str, Any], *inputs: Any, **options: Any) -> NodeCase:
    """A row of the convolution; kernelSize comes from the weight unless it is given."""
    weight = inputs[1].array.shape if hasattr(inputs[1], "array") else np.shape(inputs[1])
    return NodeCase(T.CONV2D_FUSION, note, {"kernelSize": weight[1:3], **attributes}, inputs, **options)


X, X2 = (2, 5, 6, 4), (2, 4, 5, 6)
CASES = [
    conv("known values", {}, RAMP, ONES, expect=([[[[12], [16]], [[24], [28]]]],)),
    conv("a bias, known values", {}, RAMP, ONES, const([0.5]), expect=([[[[12.5], [16.5]], [[24.5], [28.5]]]],)),
    conv("no bias", {}, X, weights(3, 2, 3, 4)),
    conv("a bias", {}, X, weights(3, 2, 3, 4), weights(3)),
    conv("weight and bias of other types", {}, X, const(drawn(3, 2, 3, 4), np.float16), const(drawn(3), np.float64)),
    conv("pads of four sizes", {"padList": [0, 1, 2, 3]}, X, weights(3, 2, 3, 4), weights(3)),
    conv(
        "pads, known values",
        {"padList": [1, 0, 0, 1]},
        RAMP,
        ONES,
        expect=([[[[3], [5], [3]], [[12], [16], [9]], [[24], [28], [15]]]],),
    ),
    conv("strides", {"stride": [2, 3], "padList": [1, 1, 1, 1]}, X, weights(3, 2, 3, 4), weights(3)),
    conv("dilations", {"dilation": [2, 3]}, X, weights(3, 2, 2, 4), weights(3)),
    conv(
        "strides and dilations", {"stride": [2, 1], "dilation": [1, 2], "padList": [1, 0, 2, 1]}, X, weights(3, 3, 2, 4)
    ),
    conv("SAME", {"padMode": PadMode.SAME}, X, weights(3, 3, 3, 4), weights(3)),
    conv("SAME, even kernel", {"padMode": PadMode.SAME}, X, weights(3, 2, 4, 4), weights(3)),
    conv(
        "SAME, even kernel, known values",
        {"padMode": PadMode.SAME},
        RAMP,
        ONES,
        expect=([[[[12], [16], [9]], [[24], [28], [15]], [[15], [17], [9]]]],),
    ),
    conv("SAME, strides", {"padMode": PadMode.SAME, "stride": [2, 3]}, X, weights(3, 3, 3, 4), weights(3)),
    conv("SAME, strides beyond the kernel", {"padMode": PadMode.SAME, "stride": [3, 4]}, X, weights(3, 2, 2, 4)),
    conv("SAME, dilations", {"padMode": PadMode.SAME, "dilation": [2, 2]}, X, weights(3, 2, 3, 4), weights(3)),
    conv(
        "SAME, strides and dilations",
        {"padMode": PadMode.SAME, "stride": [2, 2], "dilation": [2, 1]},
        X,
        weights(3, 3, 2, 4),
    ),
    conv("SAME leaves the pads aside", {"padMode": PadMode.SAME, "padList": [3, 3, 3, 3]}, X, weights(3, 3, 3, 4)),
    conv("VALID", {"padMode": PadMode.VALID}, X, weights(3, 3, 3, 4), weights(3)),
    conv("VALID, strides", {"padMode": PadMode.VALID, "stride": [2, 2]}, X, weights(3, 2, 3, 4), weights(3)),
    conv("VALID, dilations", {"padMode": PadMode.VALID, "dilation": [2, 2]}, X, weights(3, 2, 3, 4), weights(3)),
    conv("VALID leaves the pads aside", {"padMode": PadMode.VALID, "padList": [1, 1, 1, 1]}, X, weights(3, 2, 3, 4)),
    conv("two groups", {"group": 2}, X, weights(6, 2, 3, 2), weights(6)),
    conv("depthwise", {"group": 4, "inChannel": 1, "outChannel": 4}, X, weights(4, 3, 3, 1), weights(4)),
    conv("depthwise, two of each", {"group": 4, "stride": [2, 2]}, X, weights(8, 3, 3, 1), weights(8)),
    conv("depthwise, SAME", {"group": 4, "padMode": PadMode.SAME}, X, weights(4, 3, 3, 1), weights(4)),
    conv("group 0", {"group": 0}, X, weights(4, 3, 3, 1), weights(4)),
    conv("one by one", {}, X, weights(7, 1, 1, 4), weights(7)),
    conv("the whole image", {}, X, weights(2, 5, 6, 4), weights(2)),
    conv("channels that say so again", {"inChannel": 4, "outChannel": 3}, X, weights(3, 2, 3, 4)),
    conv("weights handed in", {"padMode": PadMode.SAME}, X, drawn(3, 2, 3, 4), drawn(3), known=(1,)),
    conv("N,C,H,W", {}, X2, weights(3, 2, 3, 4), weights(3), **NCHW),
    conv("N,C,H,W, known values", {}, RAMP.reshape(1, 1, 3, 3), ONES, expect=([[[[12, 16], [24, 28]]]],), **NCHW),
    conv("N,C,H,W, pads and strides", {"padList": [0, 1, 2, 3], "stride": [1, 2]}, X2, weights(3, 2, 3, 4), **NCHW),
    conv("N,C,H,W, SAME", {"padMode": PadMode.SAME, "stride": [2, 2]}, X2, weights(3, 2, 3, 4), weights(3), **NCHW),
    conv("N,C,H,W, depthwise", {"group": 4, "padMode": PadMode.SAME}, X2, weights(4, 3, 3, 1), weights(4), **NCHW),
    conv("N,C,H,W, two groups", {"group": 2, "dilation": [2, 2]}, X2, weights(6, 2, 2, 2), weights(6), **NCHW),
    conv(
        "float16",
        {},
        drawn(*X, dtype=np.float16),
        const(drawn(3, 2, 3, 4), "f2"),
        const(drawn(3), "f2"),
        tolerance=2e-2,
        why="half precision has 11 bits, 24 products are added",
    ),
    conv("float64", {}, drawn(*X, dtype=np.float64), const(drawn(3, 2, 3, 4), "f8"), const(drawn(3), "f8")),
    conv("one image, one channel", {}, (1, 2, 2, 1), weights(1, 2, 2, 1), weights(1)),
    conv("kernelSize that is not the weight's", {"kernelSize": [3, 3]}, X, weights(3, 2, 3, 4), refuses="kernelSize"),
    conv("rank 3", {}, (5, 6, 4), weights(3, 2, 3, 4), refuses="rank|dims"),
    conv("weight of rank 3", {"kernelSize": [2, 3]}, X, weights(2, 3, 4), refuses="weight|kernelSize"),
    conv("channels that do not fit", {}, X, weights(3, 2, 3, 5), refuses="channels|group"),
    conv("groups that do not divide", {"group": 3}, X, weights(3, 2, 3, 1), refuses="channels|group"),
    conv("output channels that groups do not divide", {"group": 2}, X, weights(3, 2, 3, 2), refuses="group"),
    conv("stride 0", {"stride": [0, 1]}, X, weights(3, 2, 3, 4), refuses="stride"),
    conv("one stride", {"stride": [1]}, X, weights(3, 2, 3, 4), refuses="stride"),
    conv("dilation -1", {"dilation": [1, -1]}, X, weights(3, 2, 3, 4), refuses="dilation"),
    conv("two pads", {"padList": [1, 1]}, X, weights(3, 2, 3, 4), refuses="padList"),
    conv("a pad below 0", {"padList": [-1, 0, 0, 0]}, X, weights(3, 2, 3, 4), refuses="padList"),
    conv("no such padMode", {"padMode": 7}, X, weights(3, 2, 3, 4), refuses="padMode"),
    conv("a kernel that does not fit", {}, X, weights(3, 6, 3, 4), refuses="kernel"),
    conv("a bias of another size", {}, X, weights(3, 2, 3, 4), weights(4), refuses="bias"),
    NodeCase(T.CONV2D_FUSION, "one input", {"kernelSize": [1, 1]}, (X,), refuses="inputs"),
    *fused(T.CONV2D_FUSION, {"kernelSize": [2, 3]}, ((1, 3, 4, 2), weights(3, 2, 3, 2), weights(3))),
]

I8X = whole(1, 5, 6, 4, low=-60, high=60, dtype=np.int8)
I8W = ints(whole(3, 2, 3, 4, low=-100, high=100, seed=9), np.int8)
QX, QW, QY = q(0.05, 3), q(0.01), q(0.2, -5)
PER = (q(0.01), q(0.02), q(0.005))
CASES += [
    conv("int8", {}, I8X, I8W, quant=(QX, QW), made=QY),
    conv("int8, bias", {}, I8X, I8W, ints([100, -2000, 500]), quant=(QX, QW), made=QY),
    conv("int8, a scale for each output channel", {}, I8X, I8W, ints([100, -2000, 500]), quant=(QX, PER), made=QY),
    conv("int8, pads are real zeros", {"padList": [1, 1, 1, 1]}, I8X, I8W, quant=(QX, QW), made=QY),
    conv("int8, RELU", {"activationType": 1}, I8X, I8W, ints([100, -2000, 500]), quant=(QX, QW), made=QY),
    conv("int8, RELU6", {"activationType": 3}, I8X, I8W, quant=(QX, QW), made=q(0.03, -128)),
    conv(
        "int8, depthwise",
        {"group": 4},
        I8X,
        ints(whole(4, 2, 3, 1, low=-100, high=100), np.int8),
        ints([1, 2, 3, 4]),
        quant=(QX, QW),
        made=QY,
    ),
    conv("int8, N,C,H,W", {}, np.moveaxis(I8X, 3, 1).copy(), I8W, quant=(QX, QW), made=QY, **NCHW),
    conv("int8, saturated", {}, I8X, I8W, quant=(QX, QW), made=q(0.005, 0)),
    conv(
        "int8, widest products",
        {},
        np.full((1, 2, 3, 64), -128, np.int8),
        ints(np.full((1, 2, 3, 64), -128), np.int8),
        quant=(q(1.0), q(1.0)),
        made=q(2.0**16),
        expect=([[[[96]]]],),
    ),
    conv(
        "uint8",
        {},
        I8X.astype(np.int16).__add__(128).astype(np.uint8),
        ints(whole(3, 2, 3, 4, low=0, high=200), np.uint8),
        quant=(q(0.05, 131), q(0.01, 100)),
        made=q(0.2, 100),
    ),
]


def transposed(note: str, attributes: dict[str, Any], *inputs: Any, **options: Any) -> NodeCase:
    """A row of the transposed convolution."""
    weight = inputs[1].array.shape if hasattr(inputs[1], "array") else np.shape(inputs[1])
    channels = 1 if options.get("format") == Format.NCHW else 3
    options = {"known": ((0, channels),), **options}  # the layout of the weight is told by them
    return NodeCase(T.CONV2D_TRANSPOSE_FUSION, note, {"kernelSize": weight[1:3], **attributes}, inputs, **options)


SMALL = f32([[[[1], [2]], [[3], [4]]]])
D, D2 = (2, 3, 4, 4), (2, 4, 3, 4)
CASES += [
    transposed(
        "weight and bias of other types", {}, D, const(drawn(4, 2, 3, 3), np.float16), const(drawn(3), np.float64)
    ),
    transposed("known values", {}, SMALL, ONES, expect=([[[[1], [3], [2]], [[4], [10], [6]], [[3], [7], [4]]]],)),
    transposed(
        "strides, known values",
        {"stride": [2, 2]},
        SMALL,
        const([[[[1], [10]], [[100], [1000]]]]),
        expect=(
            [
                [
                    [[1], [10], [2], [20]],
                    [[100], [1000], [200], [2000]],
                    [[3], [30], [4], [40]],
                    [[300], [3000], [400], [4000]],
                ]
            ],
        ),
    ),
    transposed("no bias", {}, D, weights(4, 2, 3, 3)),
    transposed("channels unknown", {}, D, weights(4, 2, 3, 3), known=()),
    transposed("a bias", {}, D, weights(4, 2, 3, 3), weights(3)),
    transposed("strides", {"stride": [2, 3]}, D, weights(4, 2, 3, 3), weights(3)),
    transposed("strides beyond the kernel", {"stride": [3, 4]}, D, weights(4, 2, 3, 3), weights(3)),
    transposed("pads", {"padList": [0, 1, 1, 2]}, D, weights(4, 3, 4, 3), weights(3)),
    transposed("pads and strides", {"padList": [1, 1, 1, 1], "stride": [2, 2]}, D, weights(4, 4, 4, 3), weights(3)),
    transposed("output paddings", {"outputPaddings": [1, 2], "stride": [2, 3]}, D, weights(4, 3, 3, 3), weights(3)),
    transposed(
        "pads and output paddings",
        {"padList": [1, 1, 1, 1], "outputPaddings": [1, 1], "stride": [2, 2]},
        D,
        weights(4, 3, 3, 3),
        weights(3),
    ),
    transposed("dilations", {"dilation": [2, 3]}, D, weights(4, 2, 3, 3), weights(3)),
    transposed(
        "dilations, strides and pads",
        {"dilation": [2, 2], "stride": [2, 1], "padList": [1, 2, 0, 1]},
        D,
        weights(4, 3, 3, 3),
        weights(3),
    ),
    transposed("SAME", {"padMode": PadMode.SAME, "stride": [2, 2]}, D, weights(4, 3, 3, 3), weights(3)),
    transposed("SAME, stride 1", {"padMode": PadMode.SAME}, D, weights(4, 3, 4, 3), weights(3)),
    transposed("SAME, even kernel", {"padMode": PadMode.SAME, "stride": [2, 2]}, D, weights(4, 4, 2, 3), weights(3)),
    transposed("SAME, strides beyond the kernel", {"padMode": PadMode.SAME, "stride": [3, 3]}, D, weights(4, 2, 2, 3)),
    transposed(
        "SAME, output paddings",
        {"padMode": PadMode.SAME, "stride": [2, 2], "outputPaddings": [1, 0]},
        D,
        weights(4, 3, 3, 3),
        weights(3),
    ),
    transposed("VALID", {"padMode": PadMode.VALID, "stride": [2, 2]}, D, weights(4, 3, 3, 3), weights(3)),
    transposed(
        "VALID leaves the pads aside", {"padMode": PadMode.VALID, "padList": [1, 1, 1, 1]}, D, weights(4, 3, 3, 3)
    ),
    transposed(
        "VALID, output paddings",
        {"padMode": PadMode.VALID, "stride": [2, 2], "outputPaddings": [1, 1]},
        D,
        weights(4, 3, 3, 3),
    ),
    transposed("two groups", {"group": 2}, D, weights(4, 2, 3, 3), weights(6)),
    transposed("depthwise", {"group": 4, "stride": [2, 2]}, D, weights(4, 3, 3, 1), weights(4)),
    transposed("weights of the text's layout", {}, D, weights(3, 2, 3, 4), weights(3)),
    transposed(
        "the text's layout, known values",
        {},
        f32([[[[1, 2]]]]),
        const([[[[1, 10]]], [[[3, 30]]], [[[5, 50]]]]),
        expect=([[[[21, 63, 105]]]],),
    ),
    transposed(
        "the kernel's layout, known values",
        {},
        f32([[[[1, 2]]]]),
        const([[[[1, 3, 5]]], [[[10, 30, 50]]]]),
        expect=([[[[21, 63, 105]]]],),
    ),
    transposed(
        "both layouts fit: the kernel's",
        {},
        f32([[[[1, 2]]]]),
        const([[[[1, 3]]], [[[10, 30]]]]),
        expect=([[[[21, 63]]]],),
    ),
    transposed("the text's layout, two groups", {"group": 2}, D, weights(6, 2, 3, 2), weights(6)),
    transposed("N,C,H,W", {"stride": [2, 2]}, D2, weights(4, 3, 2, 3), weights(3), **NCHW),
    transposed(
        "N,C,H,W, SAME", {"padMode": PadMode.SAME, "stride": [2, 2]}, D2, weights(4, 3, 3, 3), weights(3), **NCHW
    ),
    transposed("N,C,H,W, two groups", {"group": 2, "padList": [1, 0, 0, 1]}, D2, weights(4, 3, 3, 3), **NCHW),
    transposed(
        "float16",
        {"stride": [2, 2]},
        drawn(*D, dtype=np.float16),
        const(drawn(4, 2, 3, 3), "f2"),
        const(drawn(3), "f2"),
        tolerance=1e-2,
        why="half precision has 11 bits",
    ),
    transposed("float64", {"stride": [2, 2]}, drawn(*D, dtype=np.float64), const(drawn(4, 2, 3, 3), "f8")),
    transposed(
        "int8",
        {"stride": [2, 2]},
        whole(1, 3, 4, 4, low=-60, high=60, dtype=np.int8),
        ints(whole(4, 2, 3, 3, low=-100, high=100), np.int8),
        ints([100, -2000, 500]),
        quant=(QX, QW),
        made=QY,
    ),
    transposed("weight that does not fit", {}, D, weights(5, 2, 3, 3), refuses="channels|weight"),
    transposed("groups that do not divide", {"group": 3}, D, weights(4, 2, 3, 3), refuses="group"),
    transposed("stride 0", {"stride": [0, 1]}, D, weights(4, 2, 3, 3), refuses="stride"),
    transposed("dilation 0", {"dilation": [1, 0]}, D, weights(4, 2, 3, 3), refuses="dilation"),
    transposed("three pads", {"padList": [0, 0, 0]}, D, weights(4, 2, 3, 3), refuses="padList"),
    transposed(
        "pads that leave nothing", {"padList": [9, 9, 0, 0]}, D, weights(4, 2, 3, 3), refuses="padList|pads|dimension"
    ),
    transposed("output padding below 0", {"outputPaddings": [-1, 0]}, D, weights(4, 2, 3, 3), refuses="outputPaddings"),
    transposed("one output padding", {"outputPaddings": [1]}, D, weights(4, 2, 3, 3), refuses="outputPaddings"),
    transposed("no such padMode", {"padMode": -3}, D, weights(4, 2, 3, 3), refuses="padMode"),
    transposed(
        "kernelSize that is not the weight's", {"kernelSize": [3, 3]}, D, weights(4, 2, 3, 3), refuses="kernelSize"
    ),
    transposed("a bias of another size", {}, D, weights(4, 2, 3, 3), weights(4), refuses="bias"),
    transposed("rank 3", {}, (3, 4, 4), weights(4, 2, 3, 3), refuses="rank|dims"),
    *fused(
        T.CONV2D_TRANSPOSE_FUSION,
        {"kernelSize": [2, 3]},
        ((1, 3, 4, 2), weights(2, 2, 3, 3), weights(3)),
        known=((0, 3),),
    ),
]
