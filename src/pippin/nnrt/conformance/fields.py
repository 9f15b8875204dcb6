"""Rows in which each field of the attribute structs makes a difference: a device that overlooks one fails here.

Heights, widths, kernels, strides and paddings are all different, so that none passes for another; where dims are equal
they are so in order that a wrong axis is a wrong answer and not a refusal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import attributes as a
from ..enums import (
    ActivationType,
    CoordinateTransformMode,
    DataType,
    NearestMode,
    PadMode,
    ReduceMode,
    ResizeMethod,
    RoundMode,
)
from ..types import QuantParam
from .rows import FLAGS, K, Row, i32, scalar, x


def rows() -> list[Row]:
    """All rows."""
    return [*fused(), *convolutions(), *pools(), *products(), *norms(), *folds(), *axes(), *slices(), *images(),
            *detections(), *integers(), *quantised()]  # fmt: skip


def fused() -> Iterator[Row]:
    """Functions at the end of operators, where values lie below 0 and above 6."""
    wide, other = x(1, 3, 4, 2, low=-9, high=9), x(1, 3, 4, 2, low=2.5, high=-1.5)
    square, line = K(x(3, 2, low=-2, high=2)), K(x(3, low=0))
    kernel = K(x(3, 1, 1, 2, low=-2, high=2))
    for kind in (ActivationType.RELU, ActivationType.RELU6):
        then = f"then {kind.name}"
        yield Row(a.SubFusion(kind), (wide, other), then)
        yield Row(a.MulFusion(kind), (wide, x(1, 3, 4, 2, low=1)), then)
        yield Row(a.DivFusion(kind), (wide, np.where(other < 0, -0.25, 0.25).astype(np.float32)), then)
        yield Row(a.ScaleFusion(axis=-1, activationType=kind), (wide, K(x(2)), K(x(2, low=0))), then)
        conv = a.Conv2DFusion(kernelSize=(1, 1), padMode=PadMode.VALID, outChannel=3, activationType=kind)
        yield Row(conv, (wide, kernel, line), then)
        back = a.Conv2dTransposeFusion(kernelSize=(1, 1), padMode=PadMode.VALID, outChannel=3, activationType=kind)
        yield Row(back, (wide, K(kernel.array.transpose(3, 1, 2, 0)), line), then)
        for pool in (a.AvgPoolFusion, a.MaxPoolFusion):
            yield Row(
                pool(kernelSize=(1, 2), strides=(1, 1), padMode=PadMode.VALID, activationType=kind), (wide,), then
            )
        full = a.FullConnection(hasBias=True, useAxis=True, axis=1, activationType=kind)
        yield Row(full, (wide.reshape(12, 2), square, line), then)
        yield Row(a.MatMulFusion(activationType=kind), (wide.reshape(12, 2), K(square.array.T.copy())), then)
    node = a.L2NormalizeFusion(axis=(-1,), epsilon=1e-6, activationType=ActivationType.RELU)
    yield Row(node, (x(2, 3, 4),), "then RELU")


def convolutions() -> Iterator[Row]:
    """Kernels, strides, dilations and paddings that differ by direction."""
    image = x(1, 6, 7, 4)
    node = a.Conv2DFusion(kernelSize=(2, 3), stride=(2, 1), padMode=PadMode.PAD, padList=(1, 0, 2, 1), outChannel=3)
    yield Row(node, (image, K(x(3, 2, 3, 4)), K(x(3))), "stride 2 by 1, four pads")
    node = a.Conv2DFusion(kernelSize=(3, 2), dilation=(1, 3), padMode=PadMode.SAME, group=2, outChannel=6)
    yield Row(node, (image, K(x(6, 3, 2, 2)), K(x(6))), "two groups, dilation 1 by 3, SAME")
    node = a.Conv2DFusion(kernelSize=(4, 2), stride=(3, 2), padMode=PadMode.SAME, outChannel=2)
    yield Row(node, (image, K(x(2, 4, 2, 4)), K(x(2))), "SAME with an odd cell")
    image = x(1, 3, 4, 2)
    back = a.Conv2dTransposeFusion(kernelSize=(3, 2), stride=(2, 3), padMode=PadMode.PAD, padList=(1, 0, 0, 2),
                                   outChannel=3, outputPaddings=(1, 0))  # fmt: skip
    yield Row(back, (image, K(x(2, 3, 2, 3)), K(x(3))), "stride 2 by 3, four pads")
    back = a.Conv2dTransposeFusion(kernelSize=(2, 3), dilation=(3, 2), padMode=PadMode.PAD, padList=(0, 1, 2, 0),
                                   outChannel=3)  # fmt: skip
    yield Row(back, (image, K(x(2, 2, 3, 3)), K(x(3))), "dilation 3 by 2")
    back = a.Conv2dTransposeFusion(kernelSize=(3, 4), stride=(2, 2), padMode=PadMode.SAME, outChannel=3)
    yield Row(back, (image, K(x(2, 3, 4, 3)), K(x(3))), "SAME")
    back = a.Conv2dTransposeFusion(kernelSize=(2, 3), padMode=PadMode.VALID, group=2, outChannel=2)
    yield Row(back, (image, K(x(2, 2, 3, 1)), K(x(2))), "depthwise")


def pools() -> Iterator[Row]:
    """Windows that differ by direction, both ways to round, the whole image."""
    image = x(1, 6, 5, 2, low=-3, high=-1)
    for pool in (a.AvgPoolFusion, a.MaxPoolFusion):
        for mode in (RoundMode.FLOOR, RoundMode.CEIL):
            node = pool(kernelSize=(2, 3), strides=(2, 1), pad=(1, 0, 1, 1), padMode=PadMode.PAD, roundMode=mode)
            yield Row(node, (image,), f"four pads, {mode.name}")
        yield Row(pool(kernelSize=(3, 2), strides=(1, 2), padMode=PadMode.SAME), (image,), "SAME, 3 by 2")
        yield Row(pool(kernelSize=(1, 1), strides=(1, 1), global_=True), (image,), "the whole image")


def products() -> Iterator[Row]:
    """One operand turned at a time, a cut further behind, recurrence with more than one direction."""
    square = x(3, 3)
    yield Row(a.MatMulFusion(transposeA=True), (square, square + 1), "the first transposed")
    yield Row(a.MatMulFusion(transposeB=True), (square, square + 1), "the second transposed")
    yield Row(a.FullConnection(useAxis=True, axis=2), (x(2, 1, 6), K(x(4, 6))), "cut at axis 2")
    time, batch, size, hidden = 3, 2, 4, 3
    for label, fields, count in (
        ("zoneout of the cell", {"zoneoutCell": 0.25}, 1),
        ("zoneout of the output", {"zoneoutHidden": 0.5}, 1),
        ("two directions", {"bidirectional": True, "numDirections": 2}, 2),
    ):
        weights = (x(count, 4 * hidden, size), x(count, 4 * hidden, hidden), x(count, 8 * hidden, high=1))
        state = (count, batch, hidden)
        node = a.LSTM(inputSize=size, hiddenSize=hidden, **fields)
        given = (x(time, batch, size), *map(K, weights), x(*state), x(*state, low=-1))
        yield Row(node, given, label, types=("float32",) * 3)


def norms() -> Iterator[Row]:
    """Axes in the middle, and numbers against which epsilon and the other constants weigh."""
    t = x(3, 3, 3)
    layer = a.LayerNormFusion(beginNormAxis=1, beginParamsAxis=1, epsilon=0.5)
    yield Row(layer, (t, K(x(3, 3, low=0.5)), K(x(3, 3))), "two axes, a large epsilon")
    yield Row(a.L2NormalizeFusion(axis=(1,), epsilon=1e-6), (t,), "axis 1")
    yield Row(a.L2NormalizeFusion(axis=(0, 1, 2), epsilon=1e-6), (t,), "all axes")
    yield Row(a.L2NormalizeFusion(axis=(-1,), epsilon=0.25), (t / 8,), "a sum below epsilon")
    yield Row(a.FusedBatchNorm(epsilon=0.5), (t, *(K(x(3, low=low)) for low in (0.5, -1, 0, 0.25))), "a large epsilon")
    yield Row(a.LRN(depthRadius=2, bias=2, alpha=1.5, beta=0.5), (x(1, 2, 3, 7),), "radius 2, bias 2")
    yield Row(a.Softmax(axis=(1,)), (t,), "axis 1")
    yield Row(a.Softmax(axis=(0,)), (t,), "axis 0")
    yield Row(a.LogSoftmax(axis=1), (t,), "axis 1")


def folds() -> Iterator[Row]:
    """Reductions to the end, by a factor, by negative axes; ranks."""
    t = x(3, 3, 3)
    node = a.ReduceFusion(mode=ReduceMode.MEAN, reduceToEnd=True, coeff=0.5)
    yield Row(node, (t, K(i32(1))), "from axis 1 to the end, halved")
    yield Row(a.ReduceFusion(mode=ReduceMode.MAX), (t, K(i32(-1))), "the last axis, dropped")
    yield Row(a.ReduceFusion(mode=ReduceMode.SUM, keepDims=True), (t, K(i32(0, 2))), "two axes, kept")
    yield Row(a.ReduceFusion(mode=ReduceMode.MEAN, coeff=0.5), (t, K(i32(1))), "a factor without reduceToEnd")
    yield Row(a.All(keepDims=1), (FLAGS, K(i32(1))), "kept", types=("bool",))
    yield Row(a.ArgMaxFusion(axis=0), (t,), "axis 0", types=("int32",))
    yield Row(a.ArgMaxFusion(axis=1, keepDims=True), (t,), "kept", types=("int32",))
    yield Row(a.ArgMaxFusion(axis=1, topK=2, keepDims=True), (t,), "the first two", types=("int32",))
    yield Row(a.ArgMaxFusion(axis=1, outMaxValue=True), (t,), "the values")
    yield Row(a.TopKFusion(axis=0), (t, scalar(2)), "axis 0", types=("float32", "int32"))


def axes() -> Iterator[Row]:
    """Axes that all could be, of which one is right."""
    t, other = x(2, 2, 2), x(2, 2, 2, low=0)
    for axis in (-1, 0):
        yield Row(a.Concat(axis=axis), (t, other), f"axis {axis}")
        yield Row(a.Stack(axis=axis), (t, other), f"axis {axis}")
    yield Row(a.Split(outputNum=2, axis=1), (t,), "equal parts", types=("float32",) * 2)
    yield Row(a.Split(outputNum=2, sizeSplits=(1, 1), axis=-1), (t,), "the last axis", types=("float32",) * 2)
    yield Row(a.Unstack(axis=2), (t,), "axis 2", types=("float32",) * 2)
    yield Row(a.Unstack(axis=0), (t,), "axis 0", types=("float32",) * 2)
    yield Row(a.Flatten(axis=2), (x(2, 3, 4),), "axis 2")
    yield Row(a.Flatten(axis=0), (x(2, 3, 4),), "axis 0")
    yield Row(a.Squeeze(axis=(0,)), (x(1, 3, 1),), "one of two")
    yield Row(a.Unsqueeze(axis=(-1,)), (x(2, 3),), "behind")
    yield Row(a.ExpandDims(), (x(2, 3), scalar(-1)), "behind")
    yield Row(a.ScaleFusion(axis=1), (x(3, 3, 3), K(x(3)), K(x(3, low=0))), "axis 1")
    yield Row(a.Gather(), (x(3, 3), K(i32(2, 0)), scalar(1)), "axis 1")
    on, off = scalar(2.5, np.float32), scalar(-1.5, np.float32)
    yield Row(a.OneHot(axis=0), (i32(2, 0, 1), scalar(3), on, off), "in front")
    yield Row(a.Transpose(), (x(2, 3, 4), K(i32(1, 2, 0))), "round")


def slices() -> Iterator[Row]:
    """Each mask of StridedSlice; parts by some axes."""
    t = x(4, 4, 4)
    begin, end, strides = K(i32(1, 1, -3)), K(i32(3, 3, 4)), K(i32(1, 1, 2))
    for name in ("beginMask", "endMask", "ellipsisMask", "newAxisMask", "shrinkAxisMask"):
        yield Row(a.StridedSlice(**{name: 2}), (t, begin, end, strides), name)
    yield Row(a.StridedSlice(), (t, begin, end, strides), "no mask")
    yield Row(a.SliceFusion(axes=(2, 1)), (t, K(i32(1, 0)), K(i32(2, 3))), "axes 2 and 1")
    yield Row(a.TileFusion(dims=(1, 0)), (x(2, 3), K(i32(3, 2))), "axes 1 and 0")
    yield Row(a.Crop(axis=0, offset=(2, 0, 1)), (t, K(x(2, 3, 3))), "from axis 0")
    yield Row(a.Crop(axis=2, offset=(1,)), (t, K(x(4, 4, 2))), "from axis 2")


def images() -> Iterator[Row]:
    """Ways to lay pixels over one another, and blocks that are no squares."""
    picture = x(1, 4, 5, 2)
    mode = CoordinateTransformMode
    for at in (mode.ASYMMETRIC, mode.ALIGN_CORNERS, mode.HALF_PIXEL):
        yield Row(
            a.Resize(ResizeMethod.LINEAR, 3, 7, coordinateTransformMode=at), (picture,), f"LINEAR, {at.name}, 3 by 7"
        )
    node = a.Resize(ResizeMethod.NEAREST, 7, 3, coordinateTransformMode=mode.ASYMMETRIC, nearestMode=NearestMode.FLOOR)
    yield Row(node, (picture,), "NEAREST, ASYMMETRIC, FLOOR")
    node = a.Resize(ResizeMethod.NEAREST, 7, 3, coordinateTransformMode=mode.ALIGN_CORNERS,
                    nearestMode=NearestMode.ROUND_HALF_UP)  # fmt: skip
    yield Row(node, (picture,), "NEAREST, ALIGN_CORNERS, ROUND_HALF_UP")
    for coefficient in (-0.5, -0.75):
        node = a.Resize(ResizeMethod.CUBIC, 8, 10, coordinateTransformMode=mode.HALF_PIXEL, cubicCoeff=coefficient)
        yield Row(node, (picture,), f"CUBIC, coefficient {coefficient}")
    for order in ("DCR", "CRD"):
        yield Row(a.DepthToSpace(blockSize=2, mode=order), (x(1, 2, 3, 8),), order)
    yield Row(a.SpaceToDepth(blockSize=3), (x(1, 3, 6, 2),), "blocks of 3")
    yield Row(a.BatchToSpaceND(blockShape=(2, 3), crops=((1, 0), (0, 2))), (x(6, 2, 2, 2),), "blocks of 2 by 3")
    yield Row(a.SpaceToBatchND(blockShape=(2, 3), paddings=((0, 1), (2, 0))), (x(1, 5, 4, 2),), "blocks of 2 by 3")


def detections() -> Iterator[Row]:
    """Suppression over all classes and class by class, several classes a box, scores with and without a background."""
    anchors = np.array([[0.3, 0.3, 0.2, 0.4], [0.31, 0.3, 0.2, 0.4], [0.7, 0.7, 0.3, 0.3], [0.42, 0.3, 0.2, 0.4]])
    scores = np.array([[[0.9, 0.35, 0.4], [0.8, 0.6, 0.45], [0.3, 0.7, 0.5], [0.25, 0.55, 0.21]]], np.float32)
    boxes = x(1, 4, 4, low=-0.3, high=0.3)
    given = (boxes, scores, K(anchors.astype(np.float32)))
    common: dict[str, Any] = {
        "scale": (5, 8, 10, 12),
        "nmsIoUThreshold": 0.5,
        "nmsScoreThreshold": 0.3,
        "maxDetections": 4,
    }
    kinds: tuple[tuple[str, dict[str, Any]], ...] = (
        ("over all classes", {"maxClassesPerDetection": 1, "numClasses": 3}),
        ("two classes a box", {"maxClassesPerDetection": 2, "numClasses": 3}),
        (
            "class by class",
            {"maxClassesPerDetection": 1, "numClasses": 3, "useRegularNms": True, "detectionsPerClass": 4},
        ),
        (
            "one of each class",
            {"maxClassesPerDetection": 1, "numClasses": 2, "useRegularNms": True, "detectionsPerClass": 1},
        ),
    )
    for label, fields in kinds:
        yield Row(a.DetectionPostProcess(**common, **fields), given, label, types=("float32",) * 4)


def integers() -> Iterator[Row]:
    """int32 where it is not what floats are, and elements that only move."""
    first, second = i32(7, -7, 7, -7, 9), i32(2, 2, -2, -2, 3)
    for node in (a.AddFusion(), a.SubFusion(), a.MulFusion(), a.DivFusion(), a.Mod(), a.Maximum(), a.Minimum()):
        yield Row(node, (first, second), "int32", types=("int32",))
    yield Row(a.Concat(axis=0), (first, second), "int32", types=("int32",))
    yield Row(a.Gather(), (first, K(i32(4, 0)), scalar(0)), "int32", types=("int32",))
    yield Row(a.Cast(), (first, scalar(int(DataType.FLOAT32))), "int32 to float32")
    yield Row(a.ConstantOfShape(dataType=int(DataType.INT32), value=(-2,)), (i32(2, 3),), "int32", types=("int32",))
    flags = np.array([0, -0.5, 2, 0], np.float32)
    yield Row(a.Cast(), (flags, scalar(int(DataType.BOOL))), "float32 to bool", types=("bool",))


def quantised() -> Iterator[Row]:
    """int8 with a scale for each channel, and products of integers."""
    steps = tuple(QuantParam(8, 0, scale) for scale in (0.01, 0.02, 0.05))
    fine, coarse = QuantParam(8, 3, 0.05), QuantParam(8, -2, 0.25)
    square = x(3, 3, low=-1.2, high=1.2)
    for axis in (0, 1):
        node = a.QuantDTypeCastV2(int(DataType.FLOAT32), int(DataType.INT8), axis)
        yield Row(node, (square,), f"three scales along axis {axis}", ("int8",), (None,), steps)
    image = x(1, 4, 5, 2, low=-100, high=100, dtype=np.int8)
    weights, bias = x(3, 2, 3, 2, low=-100, high=100, dtype=np.int8), K(i32(-300, 20, 500))
    for label, scales in (("int8", fine), ("int8, three scales", steps)):
        conv = a.Conv2DFusion(kernelSize=(2, 3), stride=(2, 1), padMode=PadMode.VALID, outChannel=3)
        yield Row(conv, (image, K(weights), bias), label, ("int8",), (fine, scales, None), coarse)
        full = a.FullConnection(hasBias=True, useAxis=True, axis=1)
        yield Row(
            full, (image.reshape(20, 2), K(weights[:, 0, 0]), bias), label, ("int8",), (fine, scales, None), coarse
        )
    pool = a.AvgPoolFusion(kernelSize=(2, 2), strides=(2, 1), padMode=PadMode.VALID)
    yield Row(pool, (image,), "int8", ("int8",), (fine,), fine)
    yield Row(a.Reshape(), (image, K(i32(5, -1))), "int8", ("int8",), (fine,), fine)
    yield Row(a.Activation(ActivationType.RELU), (image,), "RELU, int8", ("int8",), (fine,), QuantParam(8, -128, 0.02))
