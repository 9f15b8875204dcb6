"""Tensors out of nothing but a shape: constants, fills, ranges, broadcasts, padding, repetition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import CheckError, RunError
from .arrays import MAX_ELEMENTS, Array, as_shape, integers, scalar
from .registry import Context, twin


@twin("loadConstantND")
def load_constant_nd(context: Context, params: Any) -> Array:
    """y = data of the given shape, rank 1 to 5. Source: LoadConstantNDLayerParams."""
    if not 1 <= len(params.shape) <= 5:
        raise CheckError(f"shape must have 1 to 5 dims, got {list(params.shape)}")
    return context.weights.array(params.data, as_shape(params.shape, "shape"), name="data").astype(np.float64)


@twin("fillLike")
def fill_like(context: Context, params: Any, x: Array) -> Array:
    """y = value everywhere, of x's shape. Source: FillLikeLayerParams."""
    return np.full(x.shape, params.value, np.float64)


@twin("fillStatic")
def fill_static(context: Context, params: Any) -> Array:
    """y = value everywhere, of the shape in ``targetShape``. Source: FillStaticLayerParams."""
    return np.full(as_shape(_target(params)), params.value, np.float64)


@twin("fillDynamic")
def fill_dynamic(context: Context, params: Any, shape: Array) -> Array:
    """y = value everywhere, of the shape in the input. Source: FillDynamicLayerParams."""
    return np.full(as_shape(integers(shape, "shape"), "the shape"), params.value, np.float64)


@twin("rangeStatic")
def range_static(context: Context, params: Any) -> Array:
    """y = startValue, startValue + stepSizeValue, … below endValue. Source: RangeStaticLayerParams."""
    return _range(params.endValue, params.startValue, params.stepSizeValue)


@twin("rangeDynamic")
def range_dynamic(
    context: Context, params: Any, end: Array, start: Array | None = None, step: Array | None = None
) -> Array:
    """As ``rangeStatic``; endValue is the first input, startValue and stepSizeValue may be inputs as well.

    Source: RangeDynamicLayerParams.
    """
    return _range(
        scalar(end, "endValue"),
        params.startValue if start is None else scalar(start, "startValue"),
        params.stepSizeValue if step is None else scalar(step, "stepSizeValue"),
    )


def _range(end: float, start: float, step: float) -> Array:
    if step == 0:
        raise CheckError("stepSizeValue must not be 0")
    if not all(math.isfinite(value) for value in (end, start, step)):
        raise RunError(f"startValue, endValue and stepSizeValue must be finite, got {start:g}, {end:g}, {step:g}")
    steps = (end - start) / step
    if steps > MAX_ELEMENTS:
        raise RunError(f"the range would have {steps:.3g} elements; {MAX_ELEMENTS:,} is the most")
    return start + step * np.arange(max(0, math.ceil(steps)), dtype=np.float64)


@twin("broadcastToLike")
def broadcast_to_like(context: Context, params: Any, x: Array, like: Array) -> Array:
    """y = x broadcast to the shape of the second input. Source: BroadcastToLikeLayerParams."""
    return _broadcast_to(x, like.shape)


@twin("broadcastToStatic")
def broadcast_to_static(context: Context, params: Any, x: Array) -> Array:
    """y = x broadcast to ``targetShape``. Source: BroadcastToStaticLayerParams."""
    return _broadcast_to(x, as_shape(_target(params)))


@twin("broadcastToDynamic")
def broadcast_to_dynamic(context: Context, params: Any, x: Array, shape: Array) -> Array:
    """y = x broadcast to the shape that the second input holds. Source: BroadcastToDynamicLayerParams."""
    return _broadcast_to(x, as_shape(integers(shape, "shape"), "the shape"))


def _broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    try:
        return np.broadcast_to(x, shape).copy()
    except ValueError:
        raise CheckError(f"an input of shape {list(x.shape)} does not broadcast to targetShape {list(shape)}") from None


def _target(params: Any) -> list[int]:
    if not params.targetShape:
        raise CheckError("targetShape must hold at least one dim, got none")
    return list(params.targetShape)


@twin("tile")
def tile(context: Context, params: Any, x: Array, reps: Array | None = None) -> Array:
    """y = x repeated reps[i] times along axis i; missing leading counts are 1. Source: TileLayerParams."""
    counts = list(params.reps) if reps is None else integers(reps, "reps")
    if not 1 <= len(counts) <= x.ndim:
        raise CheckError(f"reps must hold 1 to {x.ndim} counts for rank {x.ndim}, got {counts}")
    if any(count < 0 for count in counts):
        raise CheckError(f"reps must not be negative, got {counts}")
    counts = [1] * (x.ndim - len(counts)) + counts
    shape = as_shape(dim * count for dim, count in zip(x.shape, counts, strict=True))
    return np.tile(x, counts) if 0 not in shape else np.zeros(shape)


@twin("constantPad")
def constant_pad(context: Context, params: Any, x: Array, amounts: Array | None = None) -> Array:
    """x within a border of ``value``; the amounts are [before, after] for each axis, a field or the second input.

    With ``padToGivenOutputSizeMode`` a positive amount is the wanted size of the axis, filled up on that side; an axis
    that is that long already stays. Source: ConstantPaddingLayerParams.
    """
    pads = list(params.padAmounts) if amounts is None else integers(amounts, "padAmounts")
    if len(pads) != 2 * x.ndim or not pads:
        raise CheckError(f"padAmounts must hold {2 * x.ndim} numbers for rank {x.ndim}, got {len(pads)}")
    if any(pad < 0 for pad in pads):
        raise CheckError(f"padAmounts must not be negative, got {pads}")
    pairs = list(zip(pads[::2], pads[1::2], strict=True))
    if params.padToGivenOutputSizeMode:
        if any(before and after for before, after in pairs):
            raise CheckError(f"padAmounts must be 0 before or after on each axis when sizes are given, got {pads}")
        pairs = [
            (max(before - dim, 0), max(after - dim, 0)) for (before, after), dim in zip(pairs, x.shape, strict=True)
        ]
    as_shape(before + dim + after for (before, after), dim in zip(pairs, x.shape, strict=True))
    return np.pad(x, pairs, constant_values=params.value)
