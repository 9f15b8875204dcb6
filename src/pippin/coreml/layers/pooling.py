"""Pooling over two and three spatial axes."""

from __future__ import annotations

from typing import Any

from ...errors import CheckError
from ...graph.composites.conv import Padding
from ...graph.composites.pool import global_pool, pool
from ...graph.ir import Value
from ..lowering import Context, lowering, require
from .convolution import fits, padding, pair

KINDS = {0: "max", 1: "mean", 2: "norm"}


@lowering("pooling", layout="chw", rank=4)
def pooling(g: Context, p: Any, x: Value) -> Value:
    """Maximum, mean or L2 norm of windows over H and W, or of all of H and W.

    MAX: the largest x of the window; AVERAGE: Σx / count; L2: √Σx². Padding takes part in no maximum, adds nothing to a
    sum, and counts as kernel elements in a mean unless ``avgPoolExcludePadding`` is set.
    x (N,C,H,W) → y (N,C,H',W'), global (N,C,1,1). Valid: H' = ⌊(H + top + bottom - kH) / stride⌋ + 1;
    same: ⌈H / stride⌉; includeLastPixel: ⌈(H + 2·padding - kH) / stride⌉ + 1, one less where padding is given and
    the last window would begin at or behind H + padding.
    Defaults: kernelSize [3,3], stride [1,1], no padding; ``globalPooling`` ignores them.
    A window of padding alone has the maximum -inf and the mean 0. Source: PoolingLayerParams.
    """
    kind = kind_of(p.type, KINDS, "MAX (0), AVERAGE (1) or L2 (2)")
    if p.globalPooling:
        return global_pool(g, x, kind)
    name = p.WhichOneof("PoolingPaddingType")
    require(name is not None, "PoolingPaddingType must be set: valid, same or includeLastPixel")
    complete = name == "includeLastPixel"
    kernel = pair(p.kernelSize, "kernelSize", (3, 3))
    pads = _symmetric(p.includeLastPixel) if complete else padding(p, "PoolingPaddingType")
    if not complete:
        fits(x.shape[2:], kernel, pads, ("kernelSize", "kernelSize"))
    return pool(
        g,
        x,
        kind,
        kernel=kernel,
        stride=pair(p.stride, "stride", (1, 1)),
        padding=pads,
        complete=complete,
        count_padding=not p.avgPoolExcludePadding,
    )


def _symmetric(p: Any) -> Padding:
    amounts = tuple(int(amount) for amount in p.paddingAmounts) or (0, 0)
    require(
        len(amounts) == 2 and max(amounts) < 1 << 31,
        f"includeLastPixel: paddingAmounts must hold 2 amounts [H, W], got {list(amounts)}",
    )
    return Padding(amounts, amounts)


@lowering("pooling3d", rank=5)
def pooling3d(g: Context, p: Any, x: Value) -> Value:
    """Maximum or mean of windows over D, H and W.

    x (N,C,D,H,W) → y (N,C,D',H',W'): D' = ⌊(D + padding - kernel) / stride⌋ + 1, with SAME padding ⌈D / stride⌉.
    Padding is zeros, in a maximum too; ``countExcludePadding`` leaves it out of a mean's count.
    Source: Pooling3DLayerParams.
    """
    require(x.rank == 5, f"the input must have rank 5 [N,C,D,H,W], got {x.rank}")
    pads, kernel = padding3d(p), triple(p, "kernel")
    fits(x.shape[2:], kernel, pads, ("kernelDepth", "kernelHeight", "kernelWidth"))
    return pool(
        g,
        x,
        kind_of(p.type, {0: "max", 1: "mean"}, "MAX (0) or AVERAGE (1)"),
        kernel=kernel,
        stride=triple(p, "stride"),
        padding=pads,
        count_padding=not p.countExcludePadding,
        fill=0.0 if p.type == 0 else None,
    )


@lowering("globalPooling3d", rank=5)
def global_pooling3d(g: Context, p: Any, x: Value) -> Value:
    """Maximum or mean of all of D, H and W.

    x (N,C,D,H,W) → y (N,C,1,1,1). Source: GlobalPooling3DLayerParams.
    """
    require(x.rank == 5, f"the input must have rank 5 [N,C,D,H,W], got {x.rank}")
    return global_pool(g, x, kind_of(p.type, {0: "max", 1: "mean"}, "MAX (0) or AVERAGE (1)"))


def kind_of(number: int, kinds: dict[int, str], names: str) -> str:
    """The pooling that an enum number stands for."""
    if number not in kinds:
        raise CheckError(f"type must be {names}, got {number}")
    return kinds[number]


def triple(p: Any, field: str) -> tuple[int, int, int]:
    """The positive numbers ``<field>Depth``, ``<field>Height``, ``<field>Width``."""
    names = [f"{field}{axis}" for axis in ("Depth", "Height", "Width")]
    depth, height, width = (int(getattr(p, name)) for name in names)
    for name, value in zip(names, (depth, height, width), strict=True):
        require(value > 0, f"{name} must be positive, got {value}")
    return depth, height, width


def padding3d(p: Any) -> Padding:
    """The paddingType of a layer with three spatial axes: CUSTOM amounts, VALID (none) or SAME, odd ones at the end."""
    if p.paddingType == 2:
        return Padding(same="upper")
    if p.paddingType == 1:
        return Padding((0, 0, 0), (0, 0, 0))
    require(p.paddingType == 0, f"paddingType must be CUSTOM (0), VALID (1) or SAME (2), got {p.paddingType}")
    for side in ("Front", "Back", "Top", "Bottom", "Left", "Right"):
        amount = int(getattr(p, f"customPadding{side}"))
        require(amount >= 0, f"customPadding{side} must not be negative, got {amount}")
    return Padding(
        (p.customPaddingFront, p.customPaddingTop, p.customPaddingLeft),
        (p.customPaddingBack, p.customPaddingBottom, p.customPaddingRight),
    )
