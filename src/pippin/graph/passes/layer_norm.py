"""Mean and variance normalisation with factors along the last axis is ONNX's LayerNormalization.

(x - mean) / √(variance + ε) · γ + β, statistics over the last axis, γ and β along it. Without γ the operators stay
apart: so they are exact for inputs whose mean is much larger than their spread, where the engine's LayerNormalization
is off by 1e-4 (mean 1000, deviation 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..builder import RESHAPES
from ..ir import Node, Value
from . import Done, Refused, Rule
from .scalars import along, scalar

if TYPE_CHECKING:
    from .view import View


def _apply(view: View, node: Node) -> Done | Refused | None:
    found = _standardized(view, node)
    if found is None:
        return None
    x, epsilon = found
    normal = node.outputs[0]
    times = view.only_user(normal)
    if times is None or times.op != "Mul":
        return Refused("no factors follow; apart, the operators are exact at large means")
    gamma = along(times.inputs[1] if times.inputs[0] is normal else times.inputs[0], x, -1)
    size = x.shape[-1]
    if gamma is None or not isinstance(size, int):
        return Refused("the factors are no constants along the last axis")
    import numpy as np

    last, beta = times, None
    plus = view.only_user(times.outputs[0])
    if plus is not None and plus.op == "Add":
        summand = along(plus.inputs[1] if plus.inputs[0] is times.outputs[0] else plus.inputs[0], x, -1)
        if summand is not None:
            last, beta = plus, summand
    stem = last.name.rpartition("/")[0] or last.name
    weights = [
        view.constant(np.broadcast_to(array, (size,)).astype(x.dtype), f"{stem}/{name}")
        for name, array in (("scale", gamma), ("bias", beta))
        if array is not None
    ]
    _write(view, last, x, weights, epsilon)
    return Done("mean, variance, factors and summands are along the last axis")


def _write(view: View, last: Node, x: Value, weights: list[Value], epsilon: float) -> None:
    attributes = {"axis": -1, "epsilon": epsilon}
    before = view.producer(x, *RESHAPES)
    source = before.inputs[0] if before is not None else None
    if before is None or source is None or source.rank < 1 or source.shape[-1] != x.shape[-1]:
        view.become(last, "LayerNormalization", [x, *weights], attributes)
        return
    # rows stay rows: the change of shape can come afterwards, where it often meets the one that undoes it
    y = view.emit(last, "LayerNormalization", [source, *weights], [(x.dtype, source.shape)], **attributes)
    view.become(last, before.op, [y, *before.inputs[1:]], dict(before.attributes))


def _standardized(view: View, node: Node) -> tuple[Value, float] | None:
    """x and ε where ``node`` is the division of (x - mean) / √(mean of squares + ε) over the last axis."""
    centred = view.producer(node.inputs[0], "Sub")
    root = view.producer(node.inputs[1], "Sqrt")
    total = view.producer(root.inputs[0], "Add") if root is not None else None
    if centred is None or total is None or centred.inputs[0] is None:
        return None
    x, c = centred.inputs[0], centred.outputs[0]
    mean = view.producer(centred.inputs[1], "ReduceMean")
    if mean is None or mean.inputs[0] is not x or not _last(mean, x):
        return None
    for index in (0, 1):
        epsilon, variance = scalar(total.inputs[index]), view.producer(total.inputs[1 - index], "ReduceMean")
        if epsilon is None or variance is None or not _last(variance, x):
            continue
        square = view.producer(variance.inputs[0], "Mul", "Pow")
        if square is None or square.inputs[0] is not c:
            return None
        if (square.op == "Mul" and square.inputs[1] is c) or (square.op == "Pow" and scalar(square.inputs[1]) == 2):
            return x, epsilon
    return None


def _last(node: Node, x: Value) -> bool:
    """Whether a ReduceMean runs over the last axis: others that it names must have size 1."""
    axes = node.inputs[1].data if len(node.inputs) > 1 and node.inputs[1] is not None else None
    if axes is None or not node.attributes.get("keepdims", 1):
        return False
    named = {int(axis) % x.rank for axis in axes}
    return x.rank - 1 in named and all(x.shape[axis] == 1 for axis in named if axis != x.rank - 1)


RULE = Rule("layer_norm", ("Div",), _apply)
