"""Resizing of the two spatial axes of [N,C,H,W]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..builder import RESHAPES, Builder, Size
from ..ir import Value

THROUGH = (
    *("Cast", "Add", "Sub", "Mul", "Div", "Max", "Min", "Neg", "Abs"),
    *("Relu", "LeakyRelu", "Sigmoid", "Tanh", "Clip"),
)
"""Operators that the engine brings a transposition past."""
ROTATED = (0, 2, 3, 1)
"""The order of axes that linear interpolation cannot do without."""


def resize(g: Builder, x: Value, sizes: Sequence[Size], **how: Any) -> Value:
    """x (N,C,H,W) → y (N,C,*sizes) by ONNX's Resize with the attributes ``how``; by sizes, never by rounded scales.

    All four sizes are named: the engine cannot bring a transposition past a Resize that has ``axes``, but tries to.
    Past a linear one it brings even one that leaves height and width where it knows no kernel for them. There the
    channels become a stack of images: of three axes it can do any two.
    """
    lead = [g.size(x, 0), g.size(x, 1)]
    if how.get("mode") != "linear" or not _turned(x):
        result: Value = g.Resize(x, None, None, g.vector([*lead, *sizes]), **how)
        return result
    count = g.product(lead)
    stack = g.reshape(x, [count, g.size(x, 2), g.size(x, 3)])
    return g.reshape(g.Resize(stack, None, None, g.vector([count, *sizes]), **how), [*lead, *sizes])


def transposed(x: Value) -> bool:
    """Whether there is a transposition in front of x that the engine may bring past what reads x."""
    return _found(x, lambda order: True)


def _turned(x: Value) -> bool:
    """Whether those in front of x make up ``ROTATED``, or may do so with the changes of shape between."""
    return _found(x, lambda order: order in ((), ROTATED))


def _found(x: Value, wanted: Callable[[tuple[int, ...]], bool]) -> bool:
    """Whether ``wanted`` says yes to a transposition in front of x: to its order, () behind a change of shape."""
    stack: list[tuple[Value, tuple[int, ...]]] = [(x, (0, 1, 2, 3))]
    seen: set[tuple[int, tuple[int, ...]]] = set()
    while stack:
        value, order = stack.pop()
        node = value.node
        if node is None or (id(value), order) in seen:
            continue
        seen.add((id(value), order))
        if node.op in RESHAPES:
            order = ()
        elif node.op == "Transpose":
            order = tuple(node.attributes["perm"][axis] for axis in order)
            if wanted(order):
                return True
        elif node.op not in THROUGH:
            continue
        for operand in node.inputs:
            if operand is not None and operand.data is None:
                stack.append((operand, order if operand.rank == 4 else ()))
    return False


def scale(g: Builder, x: Value, factors: Sequence[int], **how: Any) -> Value:
    """x (N,C,H,W) → y (N,C,H·factors[0],W·factors[1])."""
    import numpy as np

    if all(factor == 1 for factor in factors):
        return x
    result: Value = g.Resize(x, None, np.array([1, 1, *factors], np.float32), **how)
    return result


def scaled_size(g: Builder, size: Size, factor: float) -> Size:
    """⌊size · factor⌋ in single precision: 10 · 0.7 is 7."""
    import numpy as np

    if isinstance(size, int):
        return int(np.floor(np.float32(size) * np.float32(factor)))
    return g.cast(g.Floor(g.Mul(g.cast(size, np.float32), factor)), np.int64)


def nearest(g: Builder, x: Value, factors: Sequence[float]) -> Value:
    """x (N,C,H,W) → y (N,C,⌊H·factors[0]⌋,⌊W·factors[1]⌋), y[i] = x[⌊i / factor⌋] along both axes.

    By whole factors with Resize; by fractions each axis is gathered, since the engine and ONNX's rule about shapes
    round H · factor in different ways.
    """
    import numpy as np

    if all(factor == int(factor) for factor in factors):
        how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return scale(g, x, [int(factor) for factor in factors], **how)
    for axis, factor in zip((2, 3), factors, strict=True):
        if factor == 1:
            continue
        size = g.size(x, axis)
        count = scaled_size(g, size, factor)
        if isinstance(size, int) and isinstance(count, int):
            steps = np.floor(np.arange(count, dtype=np.float32) / np.float32(factor))
            index: Any = np.minimum(steps, size - 1).astype(np.int64)
        else:
            steps = g.Range(0.0, g.cast(g.Squeeze(count, [0]), np.float32), 1.0)
            index = g.Min(g.cast(g.Floor(g.Div(steps, factor)), np.int64), g.Sub(size, [1]))
        x = g.Gather(x, index, axis=axis)
    return x


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

    Points outside [0, X-1] are moved to its ends. «cells» counts X - 1 as 1 where it is less.
    """
    if grid == "cells":
        # no mode of ONNX alone: tf_crop_and_resize would do, but the engine copies an axis whose size stays
        have = [g.size(x, 2), g.size(x, 3)]
        rows, columns = (hat(g, _cells(g, size, count), size) for size, count in zip(have, sizes, strict=True))
        return sample(g, x, rows, columns)
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


def _cells(g: Builder, size: Size, count: Size) -> Any:
    """Points (count,) of the grid «cells»."""
    import numpy as np

    assert isinstance(count, int), "the sizes of this grid are known"
    steps = ((np.arange(count) + 0.5) / count).astype(np.float32)
    if isinstance(size, int):
        return np.minimum(steps * np.float32(max(1, size - 1)), np.float32(size - 1))
    last = g.Sub(g.cast(size, np.float32), 1.0)
    return g.Min(g.Mul(g.Max(last, 1.0), steps), last)


def hat(g: Builder, points: Any, size: Size) -> Value:
    """Points (…,N) in [0, size - 1] → (…,N,size): row i holds the shares of the elements on both sides of point i."""
    import numpy as np

    if isinstance(size, int):
        elements: Any = np.arange(size, dtype=np.float32)
        if not isinstance(points, Value):
            return g.constant(np.maximum(1 - np.abs(points[..., None] - elements), 0))
    else:
        elements = g.Range(0.0, g.cast(g.Squeeze(size, [0]), np.float32), 1.0)
    distance = g.Abs(g.Sub(g.Unsqueeze(points, [points.rank]), elements))
    result: Value = g.Relu(g.Sub(1.0, distance))
    return result


def sample(g: Builder, x: Value, rows: Value, columns: Value) -> Value:
    """rows (…,N,H) · x (…,H,W) · columnsᵀ (…,M,W) → (…,N,M); leading axes broadcast."""
    perm = [*range(columns.rank - 2), columns.rank - 1, columns.rank - 2]
    result: Value = g.MatMul(g.MatMul(rows, x), g.Transpose(columns, perm=perm))
    return result
