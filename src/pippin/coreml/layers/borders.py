"""Layers that add or take away at the borders: padding, crop, slice."""

from __future__ import annotations

from typing import Any

from ...errors import CheckError
from ...graph.composites.pad import pad
from ...graph.composites.sizes import plus
from ...graph.ir import Value
from ..lowering import Context, lowering, require
from .convolution import borders

END = (1 << 63) - 1
"""What ONNX takes for the end of an axis of any size."""


@lowering("padding", layout="same", rank=2)
def padding(g: Context, p: Any, x: Value) -> Value:
    """Padding of H and W: by a constant, by reflection without the edge, or by repeating the edge.

    x (…,H,W) → y (…, top + H + bottom, left + W + right). Reflection needs amounts below the size.
    Source: PaddingLayerParams.
    """
    kind = p.WhichOneof("PaddingType")
    if kind is None:
        raise CheckError("PaddingType must be set: constant, reflection or replication")
    top, bottom, left, right = borders(p.paddingAmounts, "paddingAmounts")
    height, width = x.shape[-2:]
    for axis, size, amounts in (("H", height, (top, bottom)), ("W", width, (left, right))):
        if kind == "reflection" and isinstance(size, int):
            require(
                max(amounts) < max(size, 1),
                f"reflection needs paddingAmounts below the size, {axis} has {size}, got {list(amounts)}",
            )
    mode = {"constant": "constant", "reflection": "reflect", "replication": "edge"}[kind]
    return pad(g, x, [top, left], [bottom, right], mode=mode, value=p.constant.value)


@lowering("crop", layout="same", rank=3)
def crop(g: Context, p: Any, x: Value, like: Value | None = None) -> Value:
    """Crop of H and W: by amounts, or from an offset to the size of a second input.

    y = x[…, top : H - bottom, left : W - right], or x[…, o0 : o0 + H', o1 : o1 + W'] with H', W' of the second input
    x (…,H,W) → y (…,H',W'). Source: CropLayerParams.
    """
    height, width = x.shape[-2:]
    if like is None:
        top, bottom, left, right = borders(p.cropAmounts, "cropAmounts")
        for axis, size, amount in (("H", height, top + bottom), ("W", width, left + right)):
            require(
                isinstance(size, str) or amount < size,
                f"cropAmounts must leave something of {axis}: {size} elements, {amount} to crop",
            )
        if not (top or bottom or left or right):
            return x
        return g.Slice(x, [top, left], [-bottom or END, -right or END], [-2, -1])
    require(like.rank == x.rank, f"the inputs must have the same rank, got {x.rank} and {like.rank}")
    offset = [int(value) for value in p.offset]
    require(
        len(offset) == 2 and max(offset) < 1 << 31, f"offset must hold 2 amounts [H, W] for two inputs, got {offset}"
    )
    sizes = [g.size(like, axis) for axis in (-2, -1)]
    for axis, have, start, wanted in zip("HW", (height, width), offset, sizes, strict=True):
        require(
            isinstance(have, str) or not isinstance(wanted, int) or start + wanted <= have,
            f"{axis} has {have} elements, the second input asks for {wanted} from offset {start}",
        )
    ends = g.vector([plus(g, size, start) for size, start in zip(sizes, offset, strict=True)])
    return g.Slice(x, offset, ends, [-2, -1])


@lowering("slice", layout="same", rank=1)
def slice_(g: Context, p: Any, x: Value) -> Value:
    """Part of the channel, height or width axis.

    y = x[startIndex : endIndex : stride] along the axis, negative indices counted from its end
    x (…) → y same rank; CHANNEL_AXIS is axis -3, HEIGHT_AXIS -2, WIDTH_AXIS -1.
    With a negative startIndex an endIndex of 0 is the end of the axis. Source: SliceLayerParams.
    """
    require(p.axis in (0, 1, 2), f"axis must be CHANNEL_AXIS (0), HEIGHT_AXIS (1) or WIDTH_AXIS (2), got {p.axis}")
    axis, name = p.axis - 3, ("CHANNEL_AXIS", "HEIGHT_AXIS", "WIDTH_AXIS")[p.axis]
    require(x.rank >= -axis, f"{name} needs an input of rank {-axis} or more, got {x.rank}")
    start, end, stride = int(p.startIndex), int(p.endIndex), int(p.stride)
    require(0 < stride < 1 << 31, f"stride must be a positive 32-bit number, got {stride}")
    if start < 0 and end == 0:
        end = END
    size = x.shape[axis]
    if isinstance(size, int):
        require(
            len(range(*slice(start, end, stride).indices(size))) > 0,
            f"startIndex {p.startIndex} to endIndex {p.endIndex} holds nothing of an axis of {size}",
        )
    return g.Slice(x, [start], [end], [axis], [stride])
