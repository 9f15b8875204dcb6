"""Layers that sample the spatial axes anew: upsample, bilinear resize, crop and resize of boxes."""

from __future__ import annotations

from typing import Any

from ...graph.builder import Size
from ...graph.composites.resize import hat, linear, nearest, sample, scale, scaled_size
from ...graph.ir import Value
from ..lowering import Context, lowering, require

_GRIDS = {0: "origin", 1: "corners", 2: "pixels"}
_SAMPLING = {0: "corners", 1: "middle", 2: "origin", 3: "cells"}
_MODES = "STRICT_ALIGN_ENDPOINTS_MODE (0) to ROI_ALIGN_MODE (3)"


@lowering("upsample", layout="chw", rank=3)
def upsample(g: Context, p: Any, x: Value) -> Value:
    """Larger H and W, by the nearest value or by linear interpolation.

    x (…,C,H,W) → y (…,C,H',W') with H' = H · scalingFactor, or ⌊H · fractionalScalingFactor⌋
    NN: y[i] = x[⌊i / factor⌋]. BILINEAR samples x at i·H/H' (DEFAULT), i·(H-1)/(H'-1) (ALIGN_CORNERS_TRUE) or
    (i + ½)·H/H' - ½ (ALIGN_CORNERS_FALSE), moved into [0, H-1].
    Defaults: factors [1,1]; 0 stands for 1. Source: UpsampleLayerParams.
    """
    whole = [int(factor) for factor in p.scalingFactor]
    fractions = [float(factor) for factor in p.fractionalScalingFactor]
    require(not (whole and fractions), "scalingFactor and fractionalScalingFactor exclude each other, got both")
    require(len(whole) in (0, 2), f"scalingFactor must hold 2 factors [H, W], got {whole}")
    require(
        len(fractions) in (0, 2) and all(0 <= factor < 1 << 31 for factor in fractions),
        f"fractionalScalingFactor must hold 2 positive factors [H, W], got {fractions}",
    )
    require(all(factor < 1 << 31 for factor in whole), f"scalingFactor is absurdly large: {whole}")
    require(p.mode in (0, 1), f"mode must be NN (0) or BILINEAR (1), got {p.mode}")
    require(
        p.linearUpsampleMode in _GRIDS,
        f"linearUpsampleMode must be DEFAULT (0) to ALIGN_CORNERS_FALSE (2), got {p.linearUpsampleMode}",
    )
    factors = [factor or 1 for factor in (fractions or whole or [1, 1])]
    sizes = [scaled_size(g, g.size(x, axis), factor) for axis, factor in zip((2, 3), factors, strict=True)]
    require(0 not in sizes, f"fractionalScalingFactor {fractions} leaves nothing of the input {list(x.shape)}")
    if p.mode == 0:
        return nearest(g, x, factors)
    grid = _GRIDS[p.linearUpsampleMode]
    if not fractions:
        coordinates = {"origin": "asymmetric", "corners": "align_corners", "pixels": "half_pixel"}[grid]
        return scale(
            g, x, [int(factor) for factor in factors], mode="linear", coordinate_transformation_mode=coordinates
        )
    return linear(g, x, sizes, grid)


@lowering("resizeBilinear", layout="chw", rank=3)
def resize_bilinear(g: Context, p: Any, x: Value) -> Value:
    """Linear interpolation to a given size.

    x (…,C,H,W) → y (…,C,H',W') with [H', W'] = targetSize; point i of an axis of X elements and N points is
    STRICT_ALIGN_ENDPOINTS_MODE i·(X-1)/(N-1); ALIGN_ENDPOINTS_MODE the same, (X-1)/2 if N is 1; UPSAMPLE_MODE i·X/N;
    ROI_ALIGN_MODE (i + ½)·max(1, X-1)/N; moved into [0, X-1].
    Defaults: targetSize [1,1]; 0 stands for 1. Source: ResizeBilinearLayerParams.
    """
    sizes: list[Size] = list(target_size(p))
    return linear(g, x, sizes, _SAMPLING[sampling(p.mode)])


def target_size(p: Any) -> tuple[int, int]:
    """The ``targetSize`` of a layer; 1 where it is left out or 0."""
    sizes = [int(size) or 1 for size in p.targetSize] or [1, 1]
    require(len(sizes) == 2 and sizes[0] * sizes[1] < 1 << 31, f"targetSize must hold 2 sizes [H, W], got {sizes}")
    return sizes[0], sizes[1]


def sampling(mode: Any) -> int:
    """The number of a SamplingMode."""
    method = int(mode.samplingMethod)
    require(method in _SAMPLING, f"samplingMethod must be {_MODES}, got {method}")
    return method


@lowering("cropResize", rank=5)
def crop_resize(g: Context, p: Any, x: Value, boxes: Value) -> Value:
    """Boxes of the input, each resized to one size by linear interpolation.

    x (1,B,C,H,W), boxes (N,1,4,1,1) → y (N,B,C,H',W'), each box from each image; boxes (N,1,5,1,1), whose first number
    is that of an image → y (N,1,C,H',W'). [H', W'] = targetSize. A box is [h0,w0,h1,w1], [w0,h0,w1,h1], or by its
    centre [h,w,height,width], [w,h,width,height] (``boxIndicesMode``), in pixels or, with ``normalizedCoordinates``, in
    parts of H-1 and W-1, times spatialScale. Points of an axis with N points between a and b, X = b - a + 1:
    STRICT_ALIGN_ENDPOINTS_MODE a + i·(b-a)/(N-1); ALIGN_ENDPOINTS_MODE the same, (a+b)/2 if N is 1;
    UPSAMPLE_MODE min(b, a + i·X/N); ROI_ALIGN_MODE min(b, a + (i + ½)·max(1, X-1)/N); all moved into the image.
    Defaults: targetSize [1,1]; spatialScale 0 stands for 1. Source: CropResizeLayerParams.
    """
    import numpy as np

    require(x.rank == boxes.rank == 5, f"both inputs must have rank 5, got {x.rank} and {boxes.rank}")
    require(
        x.shape[0] in (1,) or isinstance(x.shape[0], str), f"the first axis of the input must be 1, got {x.shape[0]}"
    )
    fields = boxes.shape[2]
    require(fields in (4, 5), f"the boxes must have the shape [N,1,4,1,1] or [N,1,5,1,1], got {list(boxes.shape)}")
    height, width = target_size(p)
    table = g.reshape(boxes, [g.size(boxes, 0), int(fields)])
    images = g.reshape(x, [g.size(x, axis) for axis in (1, 2, 3, 4)])
    first = int(fields) - 4
    spans = _spans(g, p, [g.Slice(table, [first + k], [first + k + 1], [1]) for k in range(4)], images)
    method = sampling(p.mode)
    rows, columns = (
        _weights(g, span, g.size(images, axis), count, method)
        for span, axis, count in zip(spans, (2, 3), (height, width), strict=True)
    )
    if fields == 5:
        index = g.cast(g.Squeeze(g.Slice(table, [0], [1], [1]), [1]), np.int64)
        picked = g.Gather(images, index, axis=0)
        # (N,1,H',H) · (N,C,H,W) · (N,1,W,W')
        y = sample(g, picked, g.Unsqueeze(rows, [1]), g.Unsqueeze(columns, [1]))
        return g.Unsqueeze(y, [1])
    return sample(g, g.Unsqueeze(images, [0]), g.Unsqueeze(rows, [1, 2]), g.Unsqueeze(columns, [1, 2]))


def _spans(g: Context, p: Any, numbers: list[Any], images: Value) -> list[tuple[Value, Value]]:
    """Start and end of each box in pixels, (N,1) each, for H and for W."""
    import numpy as np

    mode = int(p.boxIndicesMode.boxMode)
    require(0 <= mode <= 3, f"boxMode must be CORNERS_HEIGHT_FIRST (0) to CENTER_SIZE_WIDTH_FIRST (3), got {mode}")
    if mode in (1, 3):
        numbers = [numbers[1], numbers[0], numbers[3], numbers[2]]
    spans = []
    for axis in range(2):
        start, end = numbers[axis], numbers[axis + 2]
        if mode >= 2:
            half = g.Mul(end, 0.5)
            start, end = g.Sub(start, half), g.Add(start, half)
        size = g.size(images, axis + 2)
        factor = p.spatialScale or 1.0
        last: Any = size - 1.0 if isinstance(size, int) else g.Sub(g.cast(size, np.float32), 1.0)
        if p.normalizedCoordinates:
            start, end = (g.Mul(value, last) for value in (start, end))
        if factor != 1:
            start, end = (g.Mul(value, factor) for value in (start, end))
        spans.append((start, end))
    return spans


def _weights(g: Context, span: tuple[Value, Value], size: Size, count: int, method: int) -> Value:
    """The interpolation matrix of each box (N, count, size)."""
    import numpy as np

    points = _points(g, span, count, method)
    last: Any = size - 1.0 if isinstance(size, int) else g.Sub(g.cast(size, np.float32), 1.0)
    return hat(g, g.Min(g.Max(points, 0.0), last), size)


def _points(g: Context, span: tuple[Value, Value], count: int, method: int) -> Value:
    """Where an axis is sampled, (N, count), not yet moved into the image."""
    import numpy as np

    start, end = span
    steps = np.arange(count, dtype=np.float32)
    length = g.Sub(end, start)
    if method == 3:
        cell = g.Div(g.Max(length, 1.0), float(count))
        return g.Min(g.Add(start, g.Mul(cell, steps + np.float32(0.5))), end)
    if method == 2:
        cell = g.Div(g.Add(length, 1.0), float(count))
        return g.Min(g.Add(start, g.Mul(cell, steps)), end)
    if count == 1:
        return start if method == 0 else g.Mul(g.Add(start, end), 0.5)
    return g.Add(start, g.Mul(length, steps / np.float32(count - 1)))
