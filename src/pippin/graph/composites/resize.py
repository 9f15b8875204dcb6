"""Resizing of the two spatial axes of [N,C,H,W]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..builder import Builder, Size
from ..ir import Value


def resize(g: Builder, x: Value, sizes: Sequence[Size], **how: Any) -> Value:
    """x (N,C,H,W) → y (N,C,*sizes) by ONNX's Resize with the attributes ``how``; by sizes, never by rounded scales."""
    if x.static and all(isinstance(size, int) for size in sizes):
        return g.Resize(x, None, None, g.vector([g.size(x, 0), g.size(x, 1), *sizes]), **how)
    return g.Resize(x, None, None, g.vector(sizes), axes=[2, 3], **how)


def scale(g: Builder, x: Value, factors: Sequence[float], **how: Any) -> Value:
    """x (N,C,H,W) → y (N,C,⌊H·factors[0]⌋,⌊W·factors[1]⌋); the grid has the spacing 1 / factor."""
    import numpy as np

    if all(factor == 1 for factor in factors):
        return x
    result: Value = g.Resize(x, None, np.array([1, 1, *factors], np.float32), **how)
    return result


def linear(g: Builder, x: Value, sizes: Sequence[Size], grid: str) -> Value:
    """Linear interpolation in both axes of x (N,C,H,W) on a ``grid`` of N points over the X elements of an axis.

    ========  ==============================================  ================
    grid      point i                                         if N is 1
    ========  ==============================================  ================
    origin    i·X/N                                           0
    corners   i·(X-1)/(N-1)                                   0
    middle    i·(X-1)/(N-1)                                   (X-1)/2
    pixels    (i+½)·X/N - ½                                   (X-1)/2
    cells     (i+½)·(X-1)/N                                   (X-1)/2
    ========  ==============================================  ================

    Points outside [0, X-1] are moved to its ends.
    """
    if grid == "cells":
        # tf_crop_and_resize spreads N points over a part of [0, X-1]: from half a cell to half a cell before the end
        height, width = (0.5 / size for size in sizes if isinstance(size, int))
        roi = g.constant([0.0, 0.0, height, width, 1.0, 1.0, 1 - height, 1 - width])
        target = g.vector([g.size(x, 0), g.size(x, 1), *sizes])
        return g.Resize(x, roi, None, target, mode="linear", coordinate_transformation_mode="tf_crop_and_resize")
    if grid == "middle":
        if sizes[0] != 1 and sizes[1] != 1:
            grid = "corners"
        elif sizes[0] == 1 and sizes[1] == 1:
            grid = "pixels"
        else:
            # each axis has a grid of its own; both leave an axis alone whose size they keep
            first, second = ("pixels", "corners") if sizes[0] == 1 else ("corners", "pixels")
            return linear(g, linear(g, x, [sizes[0], g.size(x, 3)], first), sizes, second)
    mode = {"origin": "asymmetric", "corners": "align_corners", "pixels": "half_pixel"}[grid]
    return resize(g, x, sizes, mode="linear", coordinate_transformation_mode=mode)
