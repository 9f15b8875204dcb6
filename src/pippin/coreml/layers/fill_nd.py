"""Layers that make tensors: constants, fills, ranges, broadcasts and padding with a constant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...graph.builder import Size
from ...graph.ir import Value
from ..integers import alike, elements, shape_vector, traced, volume, whole
from ..lowering import Context, lowering, require

LONGEST = 1 << 26
"""Numbers in a range that is a constant."""
SMALL = 4096
"""Elements up to which a fill or range is a constant in the graph."""


@lowering("loadConstantND")
def load_constant_nd(g: Context, p: Any) -> Value:
    """The constant ``data`` in the shape ``shape``.

    → y (shape). Source: LoadConstantNDLayerParams.
    """
    shape = [int(size) for size in p.shape]
    require(1 <= len(shape) <= 5, f"shape must hold 1 to 5 sizes, got {len(shape)}")
    volume(shape, "shape")
    return g.weight(p.data, *shape, name="data")


@lowering("fillStatic")
def fill_static(g: Context, p: Any) -> Value:
    """``value`` in the shape ``targetShape``.

    → y (targetShape). Default: value 0. Source: FillStaticLayerParams.
    """
    return fill(g, p.value, [int(size) for size in p.targetShape], "targetShape")


@lowering("fillDynamic", integers=True)
def fill_dynamic(g: Context, p: Any, shape: Value) -> Value:
    """``value`` in the shape that the input holds.

    shape (R) → y of rank R. R must be known. Default: value 0. Source: FillDynamicLayerParams.
    """
    import numpy as np

    shape = shape_vector(g, shape, "the shape, the input,")
    if traced(shape):
        return fill(g, p.value, elements(g, shape), "the shape, the input,")
    return g.ConstantOfShape(shape, value=np.array([p.value], np.float32))


@lowering("fillLike", integers=True)
def fill_like(g: Context, p: Any, x: Value) -> Value:
    """``value`` in the shape of the input, whose values do not matter.

    x (…) → y same shape. Default: value 0. Source: FillLikeLayerParams.
    """
    import numpy as np

    if x.static:
        return fill(g, p.value, [int(dim) for dim in x.shape], "the shape of the input")
    result: Value = g.ConstantOfShape(g.Shape(x), value=np.array([p.value], np.float32))
    result.shape = x.shape
    return result


def fill(g: Context, value: float, sizes: Sequence[Size], field: str) -> Value:
    """``value`` in a shape: a constant where it is small and known."""
    import numpy as np

    known = [size for size in sizes if isinstance(size, int)]
    require(bool(sizes) or field == "the shape of the input", f"{field} must not be empty")
    total = volume(known, field)
    if len(known) == len(sizes) and total <= SMALL:
        return g.constant(np.full(known, value, np.float32))
    return g.ConstantOfShape(g.vector(sizes), value=np.array([value], np.float32))


@lowering("broadcastToStatic", integers=True)
def broadcast_to_static(g: Context, p: Any, x: Value) -> Value:
    """Repeats the input along axes of size 1, and new ones in front, up to the shape ``targetShape``.

    x (…) → y (targetShape). Source: BroadcastToStaticLayerParams.
    """
    return broadcast(g, x, [int(size) for size in p.targetShape], "targetShape")


@lowering("broadcastToLike", integers=True)
def broadcast_to_like(g: Context, p: Any, x: Value, like: Value) -> Value:
    """As broadcastToStatic, to the shape of the second input, whose values do not matter.

    x (…), like (…) → y (the shape of like). Source: BroadcastToLikeLayerParams.
    """
    fits(x, like.shape, "the shape of the second input")
    if like.static:
        return g.expand(x, [int(dim) for dim in like.shape])
    if like.shape == x.shape:
        return x
    result: Value = g.Expand(x, g.Shape(like))
    result.shape = like.shape
    return result


@lowering("broadcastToDynamic", integers=True)
def broadcast_to_dynamic(g: Context, p: Any, x: Value, shape: Value) -> Value:
    """As broadcastToStatic, to the shape that the second input holds.

    x (…), shape (R) → y of rank R. R must be known. Source: BroadcastToDynamicLayerParams.
    """
    shape = shape_vector(g, shape, "the shape, the second input,")
    if traced(shape):
        return broadcast(g, x, elements(g, shape), "the shape, the second input,")
    fits(x, [""] * int(shape.shape[0]), "the shape, the second input,")
    return g.Expand(x, shape)


def broadcast(g: Context, x: Value, sizes: Sequence[Size], field: str) -> Value:
    """Expand in one direction only: the result has exactly ``sizes``."""
    require(bool(sizes), f"{field} must not be empty")
    volume([size for size in sizes if isinstance(size, int)], field)
    fits(x, [size if isinstance(size, int) else "" for size in sizes], field)
    return g.expand(x, sizes)


def fits(x: Value, target: Sequence[Any], field: str) -> None:
    """Raises ``CheckError`` unless ``x`` broadcasts to ``target``; a ``str`` there is not known."""
    pairs = zip(reversed(x.shape), reversed(target), strict=False)
    require(
        x.rank <= len(target)
        and all(isinstance(dim, str) or isinstance(size, str) or dim in (1, size) for dim, size in pairs),
        f"{field} must be one that the input {list(x.shape)} broadcasts to, got {[size or '?' for size in target]}",
    )


@lowering("rangeStatic")
def range_static(g: Context, p: Any) -> Value:
    """Evenly spaced numbers: startValue, startValue + stepSizeValue, … before endValue.

    → y (N), N = max(⌈(end - start) / step⌉, 0). Defaults: all 0. Source: RangeStaticLayerParams.
    """
    start, end, step = (g.constant([value], "float32") for value in (p.startValue, p.endValue, p.stepSizeValue))
    return numbers(g, start, end, step)


@lowering("rangeDynamic", integers=True)
def range_dynamic(g: Context, p: Any, *inputs: Value) -> Value:
    """As rangeStatic; the inputs are endValue, then startValue and stepSizeValue in place of the parameters.

    1 to 3 inputs of one number → y (N). Source: RangeDynamicLayerParams.
    """
    import numpy as np

    require(1 <= len(inputs) <= 3, f"the layer must have 1 to 3 inputs, got {len(inputs)}")
    for x, name in zip(inputs, ("endValue", "startValue", "stepSizeValue"), strict=False):
        shape = list(x.shape)
        require(all(isinstance(dim, str) or dim == 1 for dim in shape), f"{name} must be a scalar, got shape {shape}")
    end = inputs[0]
    start = inputs[1] if len(inputs) > 1 else g.constant(np.float32(p.startValue))
    step = inputs[2] if len(inputs) > 2 else g.constant(np.float32(p.stepSizeValue))
    return numbers(g, start, end, step)


def numbers(g: Context, start: Value, end: Value, step: Value) -> Value:
    """The range of three numbers, in integers where they are."""
    import numpy as np

    if step.data is not None:
        require(bool(np.isfinite(step.data).all() and step.data.all()), "stepSizeValue must not be 0")
    if start.data is not None and end.data is not None and step.data is not None:
        first, last, by = (float(value.data.item()) for value in (start, end, step) if value.data is not None)
        require(math.isfinite(first) and math.isfinite(last), f"the range must be finite, got {first} to {last}")
        count = max(math.ceil((last - first) / by), 0)
        require(count <= LONGEST, f"the range has {count:,} numbers, the limit is {LONGEST:,}")
        dtype = alike(g, start, end, step)[0].dtype
        return g.constant((first + np.arange(count) * by).astype(dtype))
    start, end, step = (g.reshape(value, []) for value in alike(g, start, end, step))
    if start.dtype == np.int64 or (whole(start) and whole(step)):
        result: Value = g.Range(start, end, step)
        return result
    # the engine adds the step again and again, which drifts: count in integers, scale in float64
    start, end, step = (g.cast(value, np.float64) for value in (start, end, step))
    count_ = g.cast(g.Ceil(g.Div(g.Sub(end, start), step)), np.int64)
    index = g.cast(g.Range(np.int64(0), count_, np.int64(1)), np.float64)
    return g.float(g.Add(g.Mul(index, step), start))


@lowering("constantPad", integers=True)
def constant_pad(g: Context, p: Any, x: Value, amounts: Value | None = None) -> Value:
    """Pads each axis with ``value`` before and after, by ``padAmounts`` or the second input.

    The amounts are before₀, after₀, before₁, …; padToGivenOutputSizeMode: an amount is the size that the axis is to
    have at least, on the side where it stands.
    x (Dᵢ), amounts (2·rank) → y (Dᵢ + before + after), or (max(Dᵢ, amount)). Default: value 0.
    Source: ConstantPaddingLayerParams.
    """
    import numpy as np

    if amounts is not None:
        count = amounts.shape[0] if amounts.rank == 1 else list(amounts.shape)
        require(
            isinstance(count, str) or count == 2 * x.rank,
            f"padAmounts, the second input, must hold {2 * x.rank} values for an input of rank {x.rank}, got {count}",
        )
        amounts = g.integer(amounts)
        if amounts.data is None:
            return _pad(g, p, x, amounts)
    given = p.padAmounts if amounts is None or amounts.data is None else amounts.data
    pads = [int(value) for value in given]
    require(
        len(pads) == 2 * x.rank,
        f"padAmounts must hold {2 * x.rank} values for an input of rank {x.rank}, got {len(pads)}",
    )
    require(all(0 <= pad < 1 << 31 for pad in pads), f"padAmounts must hold sizes, got {pads}")
    if p.padToGivenOutputSizeMode:
        pairs = list(zip(pads[::2], pads[1::2], strict=True))
        require(
            all(0 in pair for pair in pairs),
            f"padAmounts must name a size on one side of an axis only, with padToGivenOutputSizeMode, got {pairs}",
        )
        if not x.static:
            return _pad(g, p, x, g.vector(pads))
        pads = [max(pad - int(x.shape[index // 2]), 0) for index, pad in enumerate(pads)]
    if x.static:
        volume([int(dim) + pads[2 * i] + pads[2 * i + 1] for i, dim in enumerate(x.shape)], "padAmounts")
    if not any(pads):
        return x
    x, value = alike(g, x, g.constant(np.float32(p.value)))
    return g.Pad(x, pads[::2] + pads[1::2], value)


def _pad(g: Context, p: Any, x: Value, amounts: Value) -> Value:
    """Padding by amounts, or to sizes, that are known at run time only."""
    import numpy as np

    if p.padToGivenOutputSizeMode:
        sizes = [size for size in g.sizes(x) for _ in range(2)]
        amounts = g.Max(g.Sub(amounts, g.vector(sizes)), 0)
    if amounts.data is None and x.rank > 1:  # the engine wants all befores, then all afters
        amounts = g.Reshape(g.Transpose(g.Reshape(amounts, [x.rank, 2]), perm=[1, 0]), [2 * x.rank])
    elif amounts.data is not None:
        amounts = g.constant(np.concatenate([amounts.data[::2], amounts.data[1::2]]))
    x, value = alike(g, x, g.constant(np.float32(p.value)))
    return g.Pad(x, amounts, value)
