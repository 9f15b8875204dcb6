"""What each layer kind of the first versions demands of the five axes of its blobs (see ``shapes``)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .shapes import ANY, ONE, B, C, Conflict, H, Range, S, Shapes, W, hull, over, plus, times

ShapeRule = Callable[[Shapes, Any, Any], None]
RULES: dict[str, ShapeRule] = {}
_BIDIRECTIONAL_LONGEST = 10000


def rule(*kinds: str) -> Callable[[ShapeRule], ShapeRule]:
    def register(function: ShapeRule) -> ShapeRule:
        for kind in kinds:
            assert kind not in RULES, f"{kind} has two shape rules"
            RULES[kind] = function
        return function

    return register


def _pair(values: Any, default: int) -> tuple[int, int]:
    return (int(values[0]), int(values[1])) if len(values) == 2 else (default, default)


def _borders(amounts: Any) -> tuple[int, int]:
    """The sum of both borders for height and width."""
    edges = amounts.borderAmounts
    if len(edges) != 2:
        return 0, 0
    return tuple(int(edge.startEdgeSize + edge.endEdgeSize) for edge in edges)  # type: ignore[return-value]


@rule("activation", "batchnorm", "mvn", "l2normalize", "softmax", "lrn", "unary", "scale", "bias", "max", "min")
def same(shapes: Shapes, layer: Any, p: Any) -> None:
    shapes.equal(layer.input[0], layer.output[0])


@rule("convolution")
def convolution(shapes: Shapes, layer: Any, p: Any) -> None:
    source, target = layer.input[0], layer.output[0]
    shapes.equal(source, target, (S, B))
    shapes.fix(source, {C: p.kernelChannels * (1 if p.isDeconvolution else p.nGroups or 1)})
    shapes.fix(target, {C: p.outputChannels})
    kernel, stride, dilation = _pair(p.kernelSize, 3), _pair(p.stride, 1), _pair(p.dilationFactor, 1)
    valid = p.WhichOneof("ConvolutionPaddingType") == "valid"
    padding = _borders(p.valid.paddingAmounts) if valid else (0, 0)
    for i, axis in enumerate((H, W)):
        reach = (kernel[i] - 1) * dilation[i] + 1
        if p.isDeconvolution and len(p.outputShape) == 2:
            shapes.fix(target, {axis: p.outputShape[i]})
        elif p.isDeconvolution and valid:
            grown = times(plus(shapes.get(source, axis), -1), stride[i])
            shapes.meet(target, axis, plus(grown, reach - padding[i]))
        elif p.isDeconvolution:
            shapes.meet(target, axis, times(shapes.get(source, axis), stride[i]))
        else:
            _slide(shapes, source, target, axis, reach, stride[i], padding[i], valid)


def _slide(
    shapes: Shapes, source: str, target: str, axis: int, reach: int, stride: int, padding: int, valid: bool
) -> None:
    """A window of ``reach`` moves over the axis in steps of ``stride``."""
    if valid:
        shapes.meet(source, axis, (max(0, reach - padding), math.inf))
        shapes.meet(target, axis, plus(over(plus(shapes.get(source, axis), padding - reach), stride), 1))
    else:
        shapes.meet(target, axis, over(shapes.get(source, axis), stride, up=True))


@rule("pooling")
def pooling(shapes: Shapes, layer: Any, p: Any) -> None:
    source, target = layer.input[0], layer.output[0]
    shapes.equal(source, target, (S, B, C))
    if p.globalPooling:
        shapes.fix(target, {H: 1, W: 1})
        return
    kernel, stride = _pair(p.kernelSize, 3), _pair(p.stride, 1)
    chosen = p.WhichOneof("PoolingPaddingType")
    borders = _borders(p.valid.paddingAmounts) if chosen == "valid" else (0, 0)
    last = _pair(p.includeLastPixel.paddingAmounts, 0)
    for i, axis in enumerate((H, W)):
        if chosen == "includeLastPixel":
            low, high = shapes.get(source, axis)
            low_out = _last_pixel(low, kernel[i], stride[i], last[i])
            high_out = high if high == math.inf else _last_pixel(int(high), kernel[i], stride[i], last[i])
            shapes.meet(target, axis, (low_out, high_out))
        else:
            _slide(shapes, source, target, axis, kernel[i], stride[i], borders[i], chosen == "valid")


def _last_pixel(size: int, kernel: int, stride: int, padding: int) -> int:
    """Windows so that the last pixel is covered; one that would start in the far padding is left out."""
    windows = over((max(0, size + 2 * padding - kernel),) * 2, stride, up=True)[0] + 1
    if padding and (windows - 1) * stride >= size + padding:
        windows -= 1
    return windows


@rule("innerProduct")
def inner_product(shapes: Shapes, layer: Any, p: Any) -> None:
    shapes.equal(layer.input[0], layer.output[0], (S, B))
    shapes.fix(layer.input[0], {C: p.inputChannels, H: 1, W: 1})
    shapes.fix(layer.output[0], {C: p.outputChannels, H: 1, W: 1})


@rule("embedding")
def embedding(shapes: Shapes, layer: Any, p: Any) -> None:
    shapes.equal(layer.input[0], layer.output[0], (S, B))
    shapes.fix(layer.input[0], {C: 1, H: 1, W: 1})
    shapes.fix(layer.output[0], {C: p.outputChannels, H: 1, W: 1})


@rule("add", "multiply", "average")
def broadcast(shapes: Shapes, layer: Any, p: Any) -> None:
    """Inputs of size 1 are stretched, so only what is fixed for all says what the output is."""
    target = layer.output[0]
    for source in layer.input:
        shapes.equal(source, target, (S, B))
    for axis in (C, H, W):
        ranges = [shapes.get(source, axis) for source in layer.input]
        if all(low == high for low, high in ranges):
            largest = max(low for low, _ in ranges)
            shapes.meet(target, axis, (largest, largest))
            continue
        shapes.meet(target, axis, hull(ranges))
        for source, (low, high) in zip(layer.input, ranges, strict=True):
            if low != high:
                shapes.meet(source, axis, shapes.get(target, axis))


@rule("crop")
def crop(shapes: Shapes, layer: Any, p: Any) -> None:
    source, target = layer.input[0], layer.output[0]
    shapes.equal(source, target, (S, B, C))
    if len(layer.input) > 1:
        shapes.equal(layer.input[1], target, (H, W))
        return
    for axis, amount in zip((H, W), _borders(p.cropAmounts), strict=True):
        shapes.meet(source, axis, (amount + 1, math.inf))
        shapes.meet(target, axis, plus(shapes.get(source, axis), -amount))


@rule("padding")
def padding(shapes: Shapes, layer: Any, p: Any) -> None:
    source, target = layer.input[0], layer.output[0]
    shapes.equal(source, target, (S, B, C))
    for axis, amount in zip((H, W), _borders(p.paddingAmounts), strict=True):
        shapes.meet(target, axis, plus(shapes.get(source, axis), amount))
        shapes.meet(source, axis, plus(shapes.get(target, axis), -amount))


@rule("upsample")
def upsample(shapes: Shapes, layer: Any, p: Any) -> None:
    source, target = layer.input[0], layer.output[0]
    shapes.equal(source, target, (S, B, C))
    for axis, factor in zip((H, W), _pair(p.scalingFactor, 1), strict=True):
        factor = factor or 1
        shapes.meet(target, axis, times(shapes.get(source, axis), factor))
        shapes.meet(source, axis, over(shapes.get(target, axis), factor))


@rule("dot")
def dot(shapes: Shapes, layer: Any, p: Any) -> None:
    if len(layer.input) > 1:
        shapes.equal(layer.input[0], layer.input[1])
    for name in layer.input[:2]:
        shapes.fix(name, {H: 1, W: 1})


@rule("reduce")
def reduce(shapes: Shapes, layer: Any, p: Any) -> None:
    reduced = {0: (C, H, W), 1: (H, W), 2: (C,), 3: (H,), 4: (W,)}.get(p.axis, ())
    shapes.equal(layer.input[0], layer.output[0], [axis for axis in range(5) if axis not in reduced])
    shapes.fix(layer.output[0], dict.fromkeys(reduced, 1))


@rule("loadConstant")
def load_constant(shapes: Shapes, layer: Any, p: Any) -> None:
    shapes.fix(layer.output[0], {S: 1, B: 1})
    if len(p.shape) == 3:
        shapes.fix(layer.output[0], dict(zip((C, H, W), p.shape, strict=True)))


@rule("reshape")
def reshape(shapes: Shapes, layer: Any, p: Any) -> None:
    axes = {3: (C, H, W), 4: (S, C, H, W)}.get(len(p.targetShape), ())
    for axis, size in zip(axes, p.targetShape, strict=False):
        if size >= 0:
            shapes.fix(layer.output[0], {axis: size})


@rule("flatten")
def flatten(shapes: Shapes, layer: Any, p: Any) -> None:
    source, target = layer.input[0], layer.output[0]
    shapes.equal(source, target, (S, B))
    ranges = [shapes.get(source, axis) for axis in (C, H, W)]
    bounded = all(high != math.inf for _, high in ranges)
    high = math.prod(int(high) for _, high in ranges) if bounded else math.inf
    shapes.meet(target, C, (math.prod(low for low, _ in ranges), high))
    shapes.fix(target, {H: 1, W: 1})


@rule("permute")
def permute(shapes: Shapes, layer: Any, p: Any) -> None:
    source, target = layer.input[0], layer.output[0]
    axes = (S, C, H, W)
    shapes.equal(source, target, (B,))
    for axis, origin in zip(axes, p.axis, strict=False):
        if origin > 3:
            raise Conflict("axis", "hold numbers from 0 to 3", str(origin))
        shapes.meet(target, axis, shapes.get(source, axes[origin]))
        shapes.meet(source, axes[origin], shapes.get(target, axis))


@rule("concat")
def concat(shapes: Shapes, layer: Any, p: Any) -> None:
    along = S if p.sequenceConcat else C
    target = layer.output[0]
    for source in layer.input:
        shapes.equal(source, target, [axis for axis in range(5) if axis != along])
    ranges = [shapes.get(source, along) for source in layer.input]
    shapes.meet(target, along, (sum(low for low, _ in ranges), sum(high for _, high in ranges)))


@rule("split")
def split(shapes: Shapes, layer: Any, p: Any) -> None:
    source = layer.input[0]
    for target in layer.output:
        shapes.equal(source, target, (S, B, H, W))
        shapes.meet(target, C, over(shapes.get(source, C), p.nOutputs))


@rule("sequenceRepeat")
def sequence_repeat(shapes: Shapes, layer: Any, p: Any) -> None:
    shapes.equal(layer.input[0], layer.output[0], (B, C, H, W))
    shapes.meet(layer.output[0], S, times(shapes.get(layer.input[0], S), p.nRepetitions))


@rule("reorganizeData")
def reorganize_data(shapes: Shapes, layer: Any, p: Any) -> None:
    deep, wide = (layer.output[0], layer.input[0]) if p.mode == 0 else (layer.input[0], layer.output[0])
    block = int(p.blockSize)
    shapes.equal(deep, wide, (S, B))
    shapes.meet(deep, C, times(shapes.get(wide, C), block * block))
    shapes.meet(wide, C, over(shapes.get(deep, C), block * block))
    for axis in (H, W):
        shapes.meet(deep, axis, over(shapes.get(wide, axis), block))
        low, high = times(shapes.get(deep, axis), block)
        shapes.meet(wide, axis, (low, high + block - 1))


@rule("slice")
def slice_(shapes: Shapes, layer: Any, p: Any) -> None:
    source, target = layer.input[0], layer.output[0]
    if p.axis not in (0, 1, 2):
        raise Conflict("axis", "be CHANNEL_AXIS, HEIGHT_AXIS or WIDTH_AXIS", str(p.axis))
    axis = (C, H, W)[p.axis]
    shapes.equal(source, target, [other for other in range(5) if other != axis])
    start, end, stride = p.startIndex, p.endIndex, int(p.stride)
    if start >= 0 and end > 0:
        shapes.meet(source, axis, (end, math.inf))
        size: Range = over((max(0, end - 1 - start),) * 2, stride)
    elif start < 0 and end <= 0:
        shapes.meet(source, axis, (-start, math.inf))
        size = over((max(0, -start - 1 + end),) * 2, stride)
    else:
        size = over(plus(shapes.get(source, axis), -(start + 1 + abs(end))), stride)
    shapes.meet(target, axis, plus(size, 1))


def _recurrent(shapes: Shapes, layer: Any, p: Any, *, every: bool, width: int, states: int) -> None:
    """Sequence in, sequence or last step out; ``states`` go in after the first input and out after the first output."""
    hidden = {C: p.outputVectorSize, H: 1, W: 1}
    source, target = layer.input[0], layer.output[0]
    shapes.fix(source, {C: p.inputVectorSize, H: 1, W: 1})
    shapes.fix(target, hidden | {C: p.outputVectorSize * width})
    shapes.equal(source, target, (B, S) if every else (B,))
    if not every:
        shapes.fix(target, {S: 1})
    if len(layer.input) > states:
        for name in layer.input[1 : states + 1]:
            shapes.fix(name, hidden | {S: 1})
    for name in layer.output[1 : states + 1]:
        shapes.fix(name, hidden | {S: 1})


@rule("simpleRecurrent", "gru")
def recurrent(shapes: Shapes, layer: Any, p: Any) -> None:
    _recurrent(shapes, layer, p, every=p.sequenceOutput, width=1, states=1)


@rule("uniDirectionalLSTM")
def lstm(shapes: Shapes, layer: Any, p: Any) -> None:
    _recurrent(shapes, layer, p, every=p.params.sequenceOutput, width=1, states=2)


@rule("biDirectionalLSTM")
def both_ways(shapes: Shapes, layer: Any, p: Any) -> None:
    shapes.meet(layer.input[0], S, (0, _BIDIRECTIONAL_LONGEST))
    _recurrent(shapes, layer, p, every=p.params.sequenceOutput, width=2, states=4)


@rule("resizeBilinear")
def resize_bilinear(shapes: Shapes, layer: Any, p: Any) -> None:
    shapes.equal(layer.input[0], layer.output[0], (S, B, C))
    height, width = _pair(p.targetSize, 1)
    shapes.fix(layer.output[0], {H: height or 1, W: width or 1})


@rule("cropResize")
def crop_resize(shapes: Shapes, layer: Any, p: Any) -> None:
    height, width = _pair(p.targetSize, 1)
    shapes.equal(layer.input[0], layer.output[0], (B, C))
    shapes.fix(layer.output[0], {H: height or 1, W: width or 1})
    if len(layer.input) > 1:
        boxes = layer.input[1]
        for axis, range_ in ((B, ONE), (C, (4, 5)), (H, ONE), (W, ONE)):
            shapes.meet(boxes, axis, range_)
        shapes.equal(boxes, layer.output[0], (S,))


__all__ = ["ANY", "RULES"]
