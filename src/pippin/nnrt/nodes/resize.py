"""Resize: images at a new height and width."""

from __future__ import annotations

from typing import Any

from ...errors import CheckError
from ...graph.builder import Size
from ...graph.composites.resize import resize as resized
from ...graph.composites.resize import transposed
from ...graph.composites.sizes import at_least, minus, times
from ...graph.ir import Value
from .. import attributes
from ..enums import CoordinateTransformMode as C
from ..enums import NearestMode, NodeType, ResizeMethod
from .base import NodeBuilder, as_float, node, permute, planes, rank_of, refuse_bare_int8, working_type
from .fill import fits
from .shape import _integers

_MODES = {C.ASYMMETRIC: "asymmetric", C.ALIGN_CORNERS: "align_corners", C.HALF_PIXEL: "pytorch_half_pixel"}
"""ONNX's names; the last one has the coordinate 0 for one pixel, as the interface wants it."""

LARGEST = 1 << 24
"""Most pixels along one side."""


@node(NodeType.RESIZE)
def resize(g: NodeBuilder, p: attributes.Resize, x: Value, size: Value | None = None) -> Value:
    """y = x at a new height and width, between pixels as ``method`` says.

    x (N,H,W,C), or (N,C,H,W) where its format says so, size (2) int32: height and width, where it is there in place of
    newHeight and newWidth → y (N,newHeight,newWidth,C).  ``coordinateTransformMode`` lays the new pixels over the old
    ones: ASYMMETRIC i·old/new, ALIGN_CORNERS i·(old-1)/(new-1), HALF_PIXEL (i+½)·old/new - ½; one pixel lies at 0 in
    the last two.  LINEAR and CUBIC repeat the pixels at the edge; ``cubicCoeff`` is a of the cubic weights.  NEAREST
    rounds as ``nearestMode`` says, ties of NORMAL upwards.  ``excludeOutside`` takes the pixels beyond the edge out of
    CUBIC and spreads their weights over the others.  Nothing lies outside the old image, so extrapolationValue is not
    looked at.
    Differs: kernels do not look at nearestMode and excludeOutside; here they count, as in the text.
    """
    rank_of(x, 4)
    refuse_bare_int8(g)
    if p.method not in (ResizeMethod.LINEAR, ResizeMethod.NEAREST, ResizeMethod.CUBIC):
        raise CheckError(f"method must be LINEAR, NEAREST or CUBIC, got {int(p.method)}")
    if p.coordinateTransformMode not in _MODES:
        raise CheckError(f"coordinateTransformMode must be 0 to 2, got {int(p.coordinateTransformMode)}")
    if p.preserveAspectRatio:
        raise CheckError("preserveAspectRatio must be false: newHeight and newWidth say the size")
    sizes = _sizes(g, p, size)
    fits([x.shape[0] if isinstance(x.shape[0], int) else 1, *sizes], 4)
    if p.method == ResizeMethod.NEAREST:
        for axis, count in zip(planes(g), sizes, strict=True):
            x = _picked(g, p, x, axis, count)
        return x
    if p.method == ResizeMethod.CUBIC:
        y = as_float(g, x)
        for axis, count in zip(planes(g), sizes, strict=True):
            y = _weighed(g, p, y, axis, count)
        return g.cast(y, x.dtype)
    return _linear(g, x, sizes, coordinate_transformation_mode=_MODES[C(p.coordinateTransformMode)])


def _linear(g: NodeBuilder, x: Value, sizes: list[Size], **how: Any) -> Value:
    """Of images with their channels last too, unless the engine would bring a transposition past that."""
    y = g.cast(x, working_type("Resize", x.dtype))
    if planes(g) == (2, 3):
        y = resized(g, y, sizes, mode="linear", **how)
    elif transposed(y):
        y = permute(g, resized(g, permute(g, y, (0, 3, 1, 2)), sizes, mode="linear", **how), (0, 2, 3, 1))
    else:
        y = g.Resize(y, None, None, g.vector([g.size(y, 0), *sizes, g.size(y, 3)]), mode="linear", **how)
    return g.cast(y, x.dtype)


def _sizes(g: NodeBuilder, p: attributes.Resize, size: Value | None) -> list[Size]:
    """The new height and width."""
    if size is not None and size.shape != (2,):
        raise CheckError(f"the size must hold height and width, got dims {list(size.shape)}")
    if size is not None and size.data is None:
        if size.dtype.kind not in "iu":
            raise CheckError(f"the size must be integers, got {size.dtype}")
        whole = g.cast(size, "int64")
        return [g.Slice(whole, [0], [1], [0]), g.Slice(whole, [1], [2], [0])]
    listed = [int(p.newHeight), int(p.newWidth)] if size is None else _integers(size, "size")
    if min(listed) < 1 or max(listed) > LARGEST:
        raise CheckError(f"newHeight and newWidth must be 1 to {LARGEST}, got {listed}")
    return list(listed)


def _fraction(g: NodeBuilder, p: attributes.Resize, size: Size, count: Size) -> tuple[Any, Any]:
    """The coordinates of the new pixels as fractions (count,) / (), in whole numbers: no tie is lost to rounding.

    As arrays of NumPy where the sizes are known, else as values.
    """
    import numpy as np

    start: Size = 0
    if p.coordinateTransformMode == C.ASYMMETRIC:
        step, parts = size, count
    elif p.coordinateTransformMode == C.ALIGN_CORNERS:
        step, parts = minus(g, size, 1), at_least(g, minus(g, count, 1), 1)
    else:
        step, start, parts = times(g, size, 2), minus(g, size, count), times(g, count, 2)
    if isinstance(size, int) and isinstance(count, int):
        whole: Any = (step, start if count > 1 else 0, parts)
        return np.arange(count, dtype=np.int64) * whole[0] + whole[1], whole[2]
    zero, one = g.constant(0, "int64"), g.constant(1, "int64")
    first = scalar_size(g, start)
    if p.coordinateTransformMode == C.HALF_PIXEL:
        first = g.Where(g.Equal(scalar_size(g, count), one), zero, first)
    pixels = g.Range(zero, scalar_size(g, count), one)
    return g.Add(g.Mul(pixels, scalar_size(g, step)), first), scalar_size(g, parts)


def scalar_size(g: NodeBuilder, size: Size) -> Value:
    """A size as a scalar."""
    return g.reshape(size, []) if isinstance(size, Value) else g.constant(size, "int64")


def _picked(g: NodeBuilder, p: attributes.Resize, x: Value, axis: int, count: Size) -> Value:
    """The nearest pixels along one axis, looked up."""
    import numpy as np

    size = g.size(x, axis)
    factors = _ROUND.get(p.nearestMode)
    if factors is None:
        raise CheckError(f"nearestMode must be 0 to 4, got {int(p.nearestMode)}")
    top, bottom = _fraction(g, p, size, count)
    # ⌊n/d⌋, ⌊(2n + d) / 2d⌋ and the like, for n ≥ 0
    double, more, less = factors
    if isinstance(top, Value):
        zero = g.constant(0, "int64")
        above = g.Add(g.Mul(g.Max(top, zero), double), g.Sub(g.Mul(bottom, more), less))
        index = g.Min(g.Div(above, g.Mul(bottom, double)), scalar_size(g, minus(g, size, 1)))
    else:
        above = double * np.maximum(top, 0) + more * bottom - less
        index = np.minimum(above // (double * bottom), int(size) - 1)  # type: ignore[arg-type]
    result: Value = g.Gather(x, index, axis=axis)
    return result


_ROUND: dict[int, tuple[int, int, int]] = {
    NearestMode.NORMAL: (2, 1, 0),
    NearestMode.ROUND_HALF_DOWN: (2, 1, 1),
    NearestMode.ROUND_HALF_UP: (2, 1, 0),
    NearestMode.FLOOR: (1, 0, 0),
    NearestMode.CEIL: (1, 1, 1),
}
"""n/d rounded is ⌊(a·n + b·d - c) / (a·d)⌋."""


def _weighed(g: NodeBuilder, p: attributes.Resize, x: Value, axis: int, count: Size) -> Value:
    """Four neighbours along one axis by the weights of cubic interpolation; beyond the edge stands its pixel.

    Not by Resize: the engine turns images back to N,H,W,C around it and then refuses to make them smaller.
    """
    import numpy as np

    size, a = g.size(x, axis), p.cubicCoeff
    inner, outer = (a + 2, -(a + 3), 0.0, 1.0), (a, -5 * a, 8 * a, -4 * a)
    top, bottom = _fraction(g, p, size, count)
    known = not isinstance(top, Value)
    coordinate = top / bottom if known else g.Div(g.cast(top, "float64"), g.cast(bottom, "float64"))
    floor = np.floor(coordinate) if known else g.Floor(coordinate)
    column = [-1] + [1] * (x.rank - 1 - axis)
    taps = []
    for step, polynomial in ((-1, outer), (0, inner), (1, inner), (2, outer)):
        if known:
            place = floor + step
            weight = _horner(g, np.abs(coordinate - place), polynomial)
            inside = np.clip(place, 0, int(size) - 1)  # type: ignore[arg-type]
            share = weight * (place == inside) if p.excludeOutside else weight
            taps.append((inside.astype(np.int64), share))
        else:
            place = g.Add(floor, g.constant(step, "float64"))
            weight = _horner(g, g.Abs(g.Sub(coordinate, place)), polynomial)
            last = g.cast(scalar_size(g, minus(g, size, 1)), "float64")
            inside = g.Min(g.Max(place, g.constant(0.0, "float64")), last)
            share = g.Where(g.Equal(place, inside), weight, g.constant(0.0, "float64")) if p.excludeOutside else weight
            taps.append((g.cast(inside, "int64"), share))
    total = None
    if p.excludeOutside:
        whole = _sum(g, [share for _, share in taps])
        taps = [(place, g.Div(share, whole) if not known else share / whole) for place, share in taps]
    for place, share in taps:
        weight = g.constant(share.astype(x.dtype)) if known else g.cast(share, x.dtype)
        part = g.Mul(g.Gather(x, place, axis=axis), g.reshape(weight, column))
        total = part if total is None else g.Add(total, part)
    assert isinstance(total, Value)
    return total


def _sum(g: NodeBuilder, parts: list[Any]) -> Any:
    first, *rest = parts
    for part in rest:
        first = g.Add(first, part) if isinstance(first, Value) else first + part
    return first


def _horner(g: NodeBuilder, d: Any, coefficients: tuple[float, ...]) -> Any:
    """A polynomial of d, the highest power first."""
    first, *rest = coefficients
    result: Any = g.constant(first, "float64") if isinstance(d, Value) else first
    for number in rest:
        if isinstance(d, Value):
            result = g.Add(g.Mul(result, d), g.constant(number, "float64"))
        else:
            result = result * d + number
    return result
