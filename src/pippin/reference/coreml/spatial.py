"""Twins of the layers that crop, pad and resample planes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import as_shape
from .registry import Array, Context, twin
from .rules import border, choice, enum, need_rank, pair, require


@twin("crop")
def crop(context: Context, params: Any, x: Array, reference: Array | None = None) -> Array:
    """Cuts the borders of the plane.

    One input [...,C,H,W]: ``cropAmounts`` are cut off; two: the plane of the second in size, from ``offset`` on.
    """
    need_rank(x, 3)
    if reference is None:
        amounts = border(params.cropAmounts)
        start = [before for before, _ in amounts]
        sizes = [x.shape[i - 2] - sum(amounts[i]) for i in range(2)]
        require(min(sizes) > 0, f"cropAmounts must leave a part of the plane {list(x.shape[-2:])}, got {sizes}")
    else:
        require(reference.ndim == x.ndim, f"input ranks must be equal, got {x.ndim} and {reference.ndim}")
        start = [int(value) for value in params.offset]
        require(len(start) == 2, f"offset must hold 2 integers [H, W], got {start}")
        sizes = list(reference.shape[-2:])
        fits = all(start[i] + sizes[i] <= x.shape[i - 2] for i in range(2))
        require(fits, f"offset {start} and size {sizes} must lie within the plane {list(x.shape[-2:])}")
    return x[..., start[0] : start[0] + sizes[0], start[1] : start[1] + sizes[1]]


@twin("padding")
def padding(context: Context, params: Any, x: Array) -> Array:
    """Widens the plane: by a constant, the values mirrored at the border cell, or the border cell repeated.

    x [...,H,W] → [...,top + H + bottom,left + W + right]
    """
    need_rank(x, 2)
    kind = choice(params, "PaddingType")
    amounts = border(params.paddingAmounts)
    as_shape((*x.shape[:-2], *(x.shape[i - 2] + sum(amounts[i]) for i in range(2))), "paddingAmounts")
    pads = [(0, 0)] * (x.ndim - 2) + list(amounts)
    if kind == "constant":
        return np.pad(x, pads, constant_values=params.constant.value)
    if kind == "replication":
        return np.pad(x, pads, mode="edge")
    fits = all(max(amounts[i]) < x.shape[i - 2] for i in range(2))
    require(fits, f"reflection needs paddingAmounts below the size {list(x.shape[-2:])}, got {amounts}")
    return np.pad(x, pads, mode="reflect")


def sample(x: Array, rows: Array, cols: Array) -> Array:
    """Bilinear interpolation of x [...,H,W] at the grid rows × cols of fractional positions within the plane."""
    for axis, points in ((-2, rows), (-1, cols)):
        low = np.clip(np.floor(points).astype(np.int64), 0, x.shape[axis] - 1)
        high = np.minimum(low + 1, x.shape[axis] - 1)
        part = np.clip(points - low, 0.0, 1.0).reshape(-1, *[1] * (-1 - axis))
        x = np.take(x, low, axis) * (1.0 - part) + np.take(x, high, axis) * part
    return x


@twin("upsample")
def upsample(context: Context, params: Any, x: Array) -> Array:
    """Enlarges the plane by ``scalingFactor`` or ``fractionalScalingFactor`` (both default to 1).

    x [...,C,H,W] → [...,C,⌊f·H⌋,⌊f·W⌋]; NN: cell i is taken from ⌊i/f⌋; BILINEAR: see ``upsample_grid``.
    Both in single precision, in which a factor is given: 0.7 of 10 are 7, though 0.7 is stored as 0.69999999.
    """
    need_rank(x, 3)
    mode, linear = enum(params, "mode"), enum(params, "linearUpsampleMode")
    factors: tuple[float, float] = pair(params.scalingFactor, 1, "scalingFactor")
    fractions = list(params.fractionalScalingFactor)
    if fractions:
        require(not len(params.scalingFactor), "fractionalScalingFactor and scalingFactor exclude each other, got both")
        fine = len(fractions) == 2 and min(fractions) > 0 and bool(np.isfinite(fractions).all())
        require(fine, f"fractionalScalingFactor must hold 2 positive numbers, got {fractions}")
        factors = fractions[0], fractions[1]
    sizes = [int(np.floor(np.float32(x.shape[i - 2]) * np.float32(factors[i]))) for i in range(2)]
    require(min(sizes) > 0, f"fractionalScalingFactor {fractions} must leave 1 row and 1 column or more, got {sizes}")
    as_shape((*x.shape[:-2], *sizes))
    if mode == "BILINEAR":
        rows, cols = (upsample_grid(linear, x.shape[i - 2], sizes[i]) for i in range(2))
        return sample(x, rows, cols)
    for i in range(2):
        source = np.floor(np.arange(sizes[i], dtype=np.float32) / np.float32(factors[i])).astype(np.int64)
        x = np.take(x, np.minimum(source, x.shape[i - 2] - 1), i - 2)
    return x


def upsample_grid(mode: str, size: int, count: int) -> Array:
    """``count`` positions in [0, size - 1]. Source: UpsampleLayerParams.LinearUpsampleMode."""
    i = np.arange(count)
    if mode == "ALIGN_CORNERS_FALSE":
        spacing = size / count
        points = i * spacing + 0.5 * spacing - 0.5
    else:
        end = size - 1 if mode == "ALIGN_CORNERS_TRUE" else size - size / count
        points = i * (end / max(count - 1, 1))
    return np.clip(points, 0.0, size - 1.0)


def sampling_grid(mode: str, start: float, end: float, count: int) -> Array:
    """``count`` positions in [start, end]. Source: SamplingMode, with X - 1 = end - start."""
    length = end - start
    if mode == "ROI_ALIGN_MODE":
        spacing = max(1.0, length) / count
        points = np.linspace(0.5 * spacing, 0.5 * spacing + (count - 1) * spacing, count)
    elif mode == "UPSAMPLE_MODE":
        points = np.linspace(0.0, length + 1 - (length + 1) / count, count)
    elif mode == "ALIGN_ENDPOINTS_MODE" and count == 1:
        points = np.array([length / 2])
    else:
        points = np.linspace(0.0, length, count)
    return start + np.minimum(points, length)


@twin("resizeBilinear")
def resize_bilinear(context: Context, params: Any, x: Array) -> Array:
    """Bilinear resampling to ``targetSize`` (default [1,1]); x [...,C,H,W] → [...,C,H_out,W_out]."""
    need_rank(x, 3)
    sizes, mode = pair(params.targetSize, 1, "targetSize"), enum(params.mode, "samplingMethod")
    as_shape((*x.shape[:-2], *sizes))
    rows, cols = (sampling_grid(mode, 0.0, x.shape[i - 2] - 1.0, sizes[i]) for i in range(2))
    return sample(x, rows, cols)


@twin("cropResize")
def crop_resize(context: Context, params: Any, x: Array, boxes: Array) -> Array:
    """Cuts boxes out of planes and resamples each to ``targetSize`` (default [1,1]).

    x [1,B,C,H,W] and boxes [N,1,4,1,1] → [N,B,C,H_out,W_out]; boxes [N,1,5,1,1] begin with the batch index → [N,1,…].
    Coordinates are multiplied by ``spatialScale`` (default 1) and, if ``normalizedCoordinates``, by H - 1 and W - 1.
    Source: CropResizeLayerParams, BoxCoordinatesMode.
    """
    for value in (x, boxes):
        need_rank(value, 5, 5)
    require(len(x) == 1, f"input 0 must have 1 as its first size, got {list(x.shape)}")
    width = boxes.shape[2]
    require(
        width in (4, 5) and boxes.size == len(boxes) * width,
        f"input 1 must have shape [N,1,4,1,1] or [N,1,5,1,1], got {list(boxes.shape)}",
    )
    sizes, mode = pair(params.targetSize, 1, "targetSize"), enum(params.mode, "samplingMethod")
    as_shape((len(boxes), *x.shape[1:3], *sizes))
    results = []
    for row in boxes.reshape(len(boxes), width):
        planes = x[0] if width == 4 else x[0, int(row[0])][None]
        edges = corners(row[-4:], enum(params.boxIndicesMode, "boxMode")) * (params.spatialScale or 1.0)
        if params.normalizedCoordinates:
            edges = edges * (np.array(x.shape[-2:]) - 1.0)
        grids = [
            np.clip(sampling_grid(mode, edges[0, i], edges[1, i], sizes[i]), 0.0, x.shape[i - 2] - 1.0)
            for i in range(2)
        ]
        results.append(sample(planes, *grids))
    return np.stack(results)


def corners(box: Array, mode: str) -> Array:
    """[[h_start, w_start], [h_end, w_end]] of four numbers in one of the four conventions."""
    first, second = box[:2], box[2:]
    if mode.endswith("WIDTH_FIRST"):
        first, second = first[::-1], second[::-1]
    if mode.startswith("CENTER_SIZE"):
        first, second = first - second / 2, first + second / 2
    return np.stack([first, second])
