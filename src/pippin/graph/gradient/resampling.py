"""Derivatives of operators that change the resolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..builder import Builder
from ..ir import Node, Value
from .common import dims, operand
from .engine import Thunks, decomposition, rule


@rule("Resize")
def resize(g: Builder, node: Node, dy: Value) -> Thunks:
    """y = A₁·x·A₂ᵀ…, one matrix an axis: dx = A₁ᵀ·dy·A₂…; the matrix is what Resize makes of unit vectors."""
    x = operand(node)

    def back() -> Value:
        mode = node.attributes.get("coordinate_transformation_mode", "half_pixel")
        if mode in ("tf_crop_and_resize", b"tf_crop_and_resize"):
            raise UnsupportedError("resizing of a region has no gradient here")
        value = dy
        for axis, (have, made) in enumerate(zip(dims(x), dims(dy, "the result"), strict=True)):
            if have != made or node.inputs[2] is not None:
                value = _resized_back(g, node, value, axis, have, made)
        return value

    return (back,)


def _resized_back(g: Builder, node: Node, dy: Value, axis: int, have: int, made: int) -> Value:
    """One axis: dy (…,made,…) → (…,have,…)."""
    if have == made == 1:
        return dy
    # unit vectors as pictures of one channel, the axis standing last: (have,1,1,have) → (have,1,1,made)
    unit = np.eye(have, dtype=np.float32).reshape(have, 1, 1, have)
    attributes: dict[str, Any] = {k: v for k, v in node.attributes.items() if k != "axes"}
    scales = node.inputs[2]
    if scales is not None:
        if scales.data is None:
            raise UnsupportedError("the scales must be constant for a gradient")
        numbers = [float(number) for number in scales.data.reshape(-1)]
        axes = node.attributes.get("axes") or list(range(len(numbers)))
        factor = dict(zip(axes, numbers, strict=True)).get(axis, 1.0)
        if factor == 1 and have == made:
            return dy
        matrix = g.Resize(unit, None, np.array([1, 1, 1, factor], np.float32), **attributes)
    else:
        matrix = g.Resize(unit, None, None, [have, 1, 1, made], **attributes)
    matrix = g.reshape(matrix, [have, made])
    order = [*(a for a in range(dy.rank) if a != axis), axis]
    moved = g.Transpose(dy, perm=order) if order != sorted(order) else dy
    moved = g.MatMul(moved, g.Transpose(matrix, perm=[1, 0]))
    if order == sorted(order):
        return moved
    result: Value = g.Transpose(moved, perm=[order.index(a) for a in range(dy.rank)])
    return result


@decomposition("SpaceToDepth")
def space_to_depth(g: Builder, node: Node) -> Value:
    x, b = operand(node), int(node.attributes["blocksize"])
    n, c, h, w = dims(x)
    split = g.Transpose(g.reshape(x, [n, c, h // b, b, w // b, b]), perm=[0, 3, 5, 1, 2, 4])
    return g.reshape(split, [n, c * b * b, h // b, w // b])


@decomposition("DepthToSpace")
def depth_to_space(g: Builder, node: Node) -> Value:
    x, b = operand(node), int(node.attributes["blocksize"])
    n, c, h, w = dims(x)
    each = c // (b * b)
    if node.attributes.get("mode", "DCR") in ("CRD", b"CRD"):
        split = g.Transpose(g.reshape(x, [n, each, b, b, h, w]), perm=[0, 1, 4, 2, 5, 3])
    else:
        split = g.Transpose(g.reshape(x, [n, b, b, each, h, w]), perm=[0, 3, 4, 1, 5, 2])
    return g.reshape(split, [n, each, h * b, w * b])
