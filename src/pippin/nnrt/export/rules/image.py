"""Convolution, pooling, resizing, and what moves pixels: images go with channels last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....errors import UnsupportedError
from ... import attributes as a
from ...enums import CoordinateTransformMode, NearestMode, PadMode, ReduceMode, ResizeMethod, RoundMode
from ..converter import LAST, Converter, known
from ..registry import rule

if TYPE_CHECKING:
    from ....graph.ir import Node, Value
    from ...authoring import Ref


def plane(c: Converter, x: Value) -> tuple[Ref, bool]:
    """An image with channels last; a sequence (N,C,L) as one of height 1, with True."""
    if x.rank == 4:
        return c.last(x), False
    if x.rank != 3:
        raise UnsupportedError(f"NNRt has this for 2 spatial dims only, got {list(x.shape)}")
    turned = c.turned(c.plain(x), (0, 2, 1))
    n, length, channels = turned.dims
    if [n, length, channels].count(-1) > 1:
        raise UnsupportedError(f"the sizes of a sequence must be known, got {list(x.shape)}")
    return c.reshaped(turned, [n, 1, length, channels]), True


def settle(c: Converter, value: Value, ref: Ref, line: bool) -> None:
    """Hands over a result of ``plane``'s kind."""
    if not line:
        c.put(value, ref, last=True)
        return
    n, _, length, channels = ref.dims
    c.put(value, c.turned(c.reshaped(ref, [n, length, channels]), (0, 2, 1)))


def pair(numbers: Sequence[int] | None, line: bool, usual: int = 1) -> list[int]:
    """An attribute for two spatial dims."""
    found = list(numbers) if numbers else [usual] * (1 if line else 2)
    return [usual, *found] if line else found


def padding(n: Node, x: Value, kernel: list[int], stride: list[int], dilation: list[int], line: bool) -> dict[str, Any]:
    """padMode and the pads of a window: top, bottom, left, right."""
    kind = n.attributes.get("auto_pad", "NOTSET")
    kind = kind.decode() if isinstance(kind, bytes) else kind
    if kind == "VALID":
        return {"padMode": PadMode.VALID, "pads": [0, 0, 0, 0]}
    if kind == "SAME_UPPER":
        return {"padMode": PadMode.SAME, "pads": [0, 0, 0, 0]}
    if kind == "SAME_LOWER":
        sizes = pair(known(x.shape[2:]), line)
        pads = []
        for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True):
            total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
            pads += [total - total // 2, total // 2]
        return {"padMode": PadMode.PAD, "pads": pads}
    listed = list(n.attributes.get("pads") or [0] * (2 if line else 4))
    top, left, bottom, right = (0, listed[0], 0, listed[1]) if line else listed
    if min(listed) < 0:
        raise UnsupportedError(f"pads below 0 cannot be said, got {listed}")
    return {"padMode": PadMode.PAD, "pads": [top, bottom, left, right]}


def _weight(c: Converter, w: Value, order: tuple[int, ...], line: bool) -> Ref:
    if w.data is not None:
        data = w.data[:, :, None] if line else w.data
        return c.constant(data.transpose(order), w.name)
    if line:
        raise UnsupportedError("the weights of a sequence must be constant")
    return c.turned(c.plain(w), order)


@rule("Conv")
def conv(c: Converter, n: Node) -> None:
    """Conv2DFusion, with Relu or Clip(0,6) at its end."""
    x, w = n.inputs[0], n.inputs[1]
    assert x is not None
    assert w is not None
    image, line = plane(c, x)
    kernel = pair(known(w.shape[2:]), line)
    stride, dilation = pair(n.attributes.get("strides"), line), pair(n.attributes.get("dilations"), line)
    pads = padding(n, x, kernel, stride, dilation, line)
    group, out = int(n.attributes.get("group", 1)), known(w.shape[:1])[0]
    bias = c.given(n, 2)
    operands = [image, _weight(c, w, (0, 2, 3, 1), line)]
    operands.append(c.plain(bias) if bias is not None else c.b.constant([0.0] * out, "float32"))
    kind, value = c.activation(n)
    y = c.node(
        a.Conv2DFusion(
            kernel,
            stride,
            dilation,
            pads["padMode"],
            pads["pads"],
            group,
            known(w.shape[1:2])[0] * group,
            out,
            kind,
        ),
        *operands,
        like=value,
    )
    settle(c, value, y, line)


@rule("ConvTranspose")
def conv_transpose(c: Converter, n: Node) -> None:
    """Conv2dTransposeFusion, weights (I,kH,kW,O/group)."""
    x, w = n.inputs[0], n.inputs[1]
    assert x is not None
    assert w is not None
    image, line = plane(c, x)
    if n.attributes.get("output_shape") or n.attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise UnsupportedError("a transposed convolution must say its pads, not the size of its result")
    kernel = pair(known(w.shape[2:]), line)
    stride, dilation = pair(n.attributes.get("strides"), line), pair(n.attributes.get("dilations"), line)
    pads = padding(n, x, kernel, stride, dilation, line)
    more = pair(n.attributes.get("output_padding"), line, 0)
    group = int(n.attributes.get("group", 1))
    first, each = known(w.shape[:2])
    bias = c.given(n, 2)
    operands = [image, _weight(c, w, (0, 2, 3, 1), line)]
    operands.append(c.plain(bias) if bias is not None else c.b.constant([0.0] * (each * group), "float32"))
    kind, value = c.activation(n)
    y = c.node(
        a.Conv2dTransposeFusion(
            kernel, stride, dilation, pads["padMode"], pads["pads"], group, first, each * group, kind, more
        ),
        *operands,
        like=value,
    )
    settle(c, value, y, line)


@rule("MaxPool", "AveragePool")
def pool(c: Converter, n: Node) -> None:
    """MaxPoolFusion, AvgPoolFusion; a mean that counts the padding gets the padding as a node of its own."""
    x = n.inputs[0]
    assert x is not None
    if len(n.outputs) > 1:
        raise UnsupportedError("where the maxima are cannot be asked for")
    image, line = plane(c, x)
    kernel, stride = pair(n.attributes["kernel_shape"], line), pair(n.attributes.get("strides"), line)
    if any(d != 1 for d in n.attributes.get("dilations") or ()):
        raise UnsupportedError("a pooling window cannot be dilated")
    pads = padding(n, x, kernel, stride, [1, 1], line)
    ceil = RoundMode.CEIL if n.attributes.get("ceil_mode") else RoundMode.FLOOR
    if n.op == "AveragePool" and n.attributes.get("count_include_pad") and any(pads["pads"]):
        if ceil == RoundMode.CEIL or pads["padMode"] != PadMode.PAD:
            raise UnsupportedError("a mean that counts padding must round down and say its pads")
        top, bottom, left, right = pads["pads"]
        image = c.b.PadFusion(image, [[0, 0], [top, bottom], [left, right], [0, 0]])
        pads = {"padMode": PadMode.PAD, "pads": [0, 0, 0, 0]}
    kind, value = c.activation(n)
    struct = a.MaxPoolFusion if n.op == "MaxPool" else a.AvgPoolFusion
    fields = {"kernelSize": kernel, "strides": stride, "pad": pads["pads"], "padMode": pads["padMode"]}
    y = c.node(struct(**fields, roundMode=ceil, activationType=kind), image, like=value)
    settle(c, value, y, line)


@rule("LpPool", "GlobalLpPool")
def norm_pool(c: Converter, n: Node) -> None:
    """√(k · AvgPoolFusion(x²)) for windows of k pixels; of the whole image, √ReduceFusion(x²)."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    if n.attributes.get("p", 2) != 2:
        raise UnsupportedError(f"a norm of order {n.attributes['p']} cannot be said")
    image, line = plane(c, x)
    squares = c.b.Square(image)
    if n.op == "GlobalLpPool":
        sums = c.b.ReduceFusion(squares, c.b.constant([1, 2], "int32"), mode=ReduceMode.SUM, keepDims=True)
        return settle(c, value, c.node(a.Sqrt(), sums, like=value), line)
    kernel, stride = pair(n.attributes["kernel_shape"], line), pair(n.attributes.get("strides"), line)
    if any(d != 1 for d in n.attributes.get("dilations") or ()):
        raise UnsupportedError("a pooling window cannot be dilated")
    pads = padding(n, x, kernel, stride, [1, 1], line)
    if n.attributes.get("ceil_mode") or pads["padMode"] == PadMode.SAME:
        raise UnsupportedError("a norm must round down and say its pads")
    top, bottom, left, right = pads["pads"]
    if any(pads["pads"]):  # zeros add nothing, but a mean would leave them out
        squares = c.b.PadFusion(squares, [[0, 0], [top, bottom], [left, right], [0, 0]])
    means = c.b.AvgPoolFusion(squares, kernelSize=kernel, strides=stride, pad=[0, 0, 0, 0], padMode=PadMode.PAD)
    sums = c.b.MulFusion(means, c.b.constant([float(kernel[0] * kernel[1])], "float32"))
    return settle(c, value, c.node(a.Sqrt(), sums, like=value), line)


@rule("GlobalAveragePool", "GlobalMaxPool")
def global_pool(c: Converter, n: Node) -> None:
    """A pooling whose window is the image; ReduceFusion where its size is not known."""
    x = n.inputs[0]
    assert x is not None
    image, line = plane(c, x)
    sizes = image.dims[1:3]
    kind, value = c.activation(n)
    if -1 in sizes:
        struct = a.MaxPoolFusion if n.op == "GlobalMaxPool" else a.AvgPoolFusion
        y = c.node(struct(kernelSize=[1, 1], global_=True, activationType=kind), image, like=value)
    else:
        struct = a.MaxPoolFusion if n.op == "GlobalMaxPool" else a.AvgPoolFusion
        y = c.node(
            struct(kernelSize=sizes, pad=[0, 0, 0, 0], padMode=PadMode.VALID, activationType=kind), image, like=value
        )
    settle(c, value, y, line)


_COORDINATES = {
    "asymmetric": CoordinateTransformMode.ASYMMETRIC,
    "align_corners": CoordinateTransformMode.ALIGN_CORNERS,
    "half_pixel": CoordinateTransformMode.HALF_PIXEL,
    "pytorch_half_pixel": CoordinateTransformMode.HALF_PIXEL,
}
_NEAREST = {
    "round_prefer_floor": NearestMode.ROUND_HALF_DOWN,
    "round_prefer_ceil": NearestMode.ROUND_HALF_UP,
    "floor": NearestMode.FLOOR,
    "ceil": NearestMode.CEIL,
}
_METHODS = {"nearest": ResizeMethod.NEAREST, "linear": ResizeMethod.LINEAR, "cubic": ResizeMethod.CUBIC}


@rule("Resize")
def resize(c: Converter, n: Node) -> None:
    """Resize, where height and width alone change, to sizes that are known."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    if x.rank != 4 or x.shape[:2] != value.shape[:2]:
        raise UnsupportedError(f"only height and width of an image can change, {list(x.shape)} to {list(value.shape)}")
    old, new, operands = _sizes(c, n, x, value)
    mode = _text(n, "mode", "nearest")
    coordinates = _text(n, "coordinate_transformation_mode", "half_pixel")
    if coordinates not in _COORDINATES or (coordinates == "half_pixel" and 1 in new and old != new):
        raise UnsupportedError(f"coordinates as in {coordinates!r} cannot be said for {new}")
    if n.attributes.get("antialias") or (n.attributes.get("exclude_outside") and mode != "cubic"):
        raise UnsupportedError("antialias and exclude_outside cannot be said")
    y = c.node(
        a.Resize(
            _METHODS[mode],
            max(new[0], 0),
            max(new[1], 0),
            coordinateTransformMode=_COORDINATES[coordinates],
            cubicCoeff=float(n.attributes.get("cubic_coeff_a", -0.75)),
            excludeOutside=int(n.attributes.get("exclude_outside", 0)),
            nearestMode=_NEAREST[_text(n, "nearest_mode", "round_prefer_floor")],
        ),
        *operands,
        like=value,
    )
    c.put(value, y, last=True)


def _sizes(c: Converter, n: Node, x: Value, value: Value) -> tuple[list[int], list[int], list[Ref]]:
    """Height and width before and after, and the operands: the new size among them where it is not known (-1)."""
    scales = c.read(n, 2, "scales")
    factors = [float(scale) for scale in scales.reshape(-1)[-2:]] if scales is not None and scales.size else []
    image = c.last(x)
    if all(isinstance(dim, int) for dim in (*x.shape[2:], *value.shape[2:])):
        old, new = known(x.shape[2:]), known(value.shape[2:])
        for size, made, factor in zip(old, new, factors, strict=False):
            if not math.isclose(size * factor, made, rel_tol=1e-6):
                raise UnsupportedError(f"a scale of {factor:g} does not make a whole number of {size} pixels")
        return old, new, [image]
    if not factors or any(factor != int(factor) for factor in factors):
        raise UnsupportedError("sizes that are not known can be multiplied by whole numbers only")
    plane = c.b.SliceFusion(c.b.Shape(image), [1], [2], axes=[0])
    return [-1, -1], [-1, -1], [image, c.b.MulFusion(plane, c.ints([int(factor) for factor in factors]))]


def _text(n: Node, name: str, usual: str) -> str:
    value = n.attributes.get(name, usual)
    return value.decode() if isinstance(value, bytes) else str(value)


@rule("DepthToSpace", "SpaceToDepth")
def blocks(c: Converter, n: Node) -> None:
    """DepthToSpace, SpaceToDepth."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    size = int(n.attributes["blocksize"])
    struct = a.SpaceToDepth(size) if n.op == "SpaceToDepth" else a.DepthToSpace(size, mode=_text(n, "mode", "DCR"))
    c.put(value, c.node(struct, c.last(x), like=value), last=True)


@rule("Pad")
def pad(c: Converter, n: Node) -> None:
    """PadFusion; the edge as SYMMETRIC, as often as it takes: each doubles the cells that are equal at least."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    amounts = c.read(n, 1, "pads")
    if amounts is None:
        raise UnsupportedError("the pads must be constant")
    axes = c.read(n, 3, "axes")
    named = range(x.rank) if axes is None else [int(axis) % x.rank for axis in axes]
    rows = [[0, 0] for _ in range(x.rank)]
    half = len(amounts) // 2
    for place, axis in enumerate(named):
        rows[axis] = [int(amounts[place]), int(amounts[half + place])]
    mode = _text(n, "mode", "constant")
    if min(map(min, rows)) < 0:
        raise UnsupportedError("pads below 0 cannot be said")
    if mode == "wrap":
        raise UnsupportedError(f"a border of mode {mode!r} cannot be said")
    fill = c.read(n, 2, "value")
    number = float(fill.reshape(-1)[0]) if fill is not None else 0.0
    last = c.has_last(x)
    if last:
        rows = [rows[axis] for axis in LAST]
    struct = a.PadFusion([], {"constant": 0, "reflect": 1, "edge": 2}[mode], number)
    operand = c.last(x) if last else c.plain(x)
    equal = [[1, 1] for _ in rows]
    while mode == "edge" and any(rows[i][k] > equal[i][k] for i in range(len(rows)) for k in (0, 1)):
        step = [[min(rows[i][k], equal[i][k]) for k in (0, 1)] for i in range(len(rows))]
        operand = c.b.PadFusion(operand, step, paddingMode=2)
        rows = [[rows[i][k] - step[i][k] for k in (0, 1)] for i in range(len(rows))]
        equal = [[equal[i][k] + step[i][k] for k in (0, 1)] for i in range(len(rows))]
    y = c.node(struct, operand, c.b.constant(rows, "int32"), like=value)
    c.put(value, y, last=last)
