"""Chains of thresholds, factors and shifts that come to one interval become a Clip.

Networks from Caffe and early Keras converters write min(x, 6) as x · -1 → max(·, -6) → · -1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ir import Node, Value
from . import Done, Refused, Rule
from .scalars import scalar

if TYPE_CHECKING:
    from .view import View

LIMITS = ("Max", "Min", "Clip", "Relu")
FACTORS = ("Mul", "Div", "Neg")
SHIFTS = ("Add", "Sub")


@dataclass(frozen=True, slots=True)
class Interval:
    """scale · min(max(x, low), high) + shift."""

    low: float = -math.inf
    high: float = math.inf
    scale: float = 1.0
    shift: float = 0.0

    def limited(self, low: float, high: float) -> Interval:
        """min(max(·, low), high) of it."""
        low, high = sorted(((low - self.shift) / self.scale, (high - self.shift) / self.scale))
        # the outer limits win where the two intervals do not meet
        return Interval(clamp(self.low, low, high), clamp(self.high, low, high), self.scale, self.shift)

    def moved(self, scale: float, shift: float) -> Interval:
        return Interval(self.low, self.high, self.scale * scale, self.shift * scale + shift)


def clamp(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


def _apply(view: View, node: Node) -> Done | Refused | None:
    y = node.outputs[0]
    if y.dtype.kind != "f":
        return None
    follower = view.only_user(y)
    if follower is not None and _step(follower) is not None and follower.inputs[_step(follower)[0]] is y:  # type: ignore[index]
        return None  # the chain goes on: its last node decides
    chain: list[Node] = []
    at: Node | None = node
    while at is not None and _step(at) is not None and (at is node or view.private(at.outputs[0], chain[-1])):
        chain.append(at)
        at = view.producer(_operand(at))
    if len(chain) < 2 or not any(part.op in LIMITS for part in chain):
        return None
    interval = Interval()
    for part in reversed(chain):
        interval = _after(part, interval)
        if interval.scale == 0 or not math.isfinite(interval.scale + interval.shift):
            return Refused("a factor in the chain is 0 or not finite")
    return _write(view, node, chain, interval)


def _write(view: View, node: Node, chain: list[Node], interval: Interval) -> Done | Refused:
    x, y = _operand(chain[-1]), node.outputs[0]
    assert x is not None
    factor, shift = interval.scale != 1, interval.shift != 0
    if 1 + factor + shift >= len(chain):
        return Refused("the chain would not be shorter as a Clip")
    import numpy as np

    def number(value: float) -> Value | None:
        return None if math.isinf(value) else view.constant(np.asarray(value, y.dtype), f"{node.name}/bound")

    operands: list[Value | None] = [x]
    low, high = number(interval.low), number(interval.high)
    if interval.low == 0 and high is None:
        op, inputs = "Relu", operands
    else:
        op, inputs = "Clip", [*operands, low] if high is None else [*operands, low, high]
    if not factor and not shift:
        view.become(node, op, inputs, {})
        return Done(f"{len(chain)} nodes keep to [{interval.low:g}, {interval.high:g}]")
    value = view.emit(node, op, inputs, [(y.dtype, y.shape)])
    if factor and shift:
        value = view.emit(node, "Mul", [value, number(interval.scale)], [(y.dtype, y.shape)])
    view.become(node, "Add" if shift else "Mul", [value, number(interval.shift if shift else interval.scale)], {})
    return Done(f"{len(chain)} nodes keep to [{interval.low:g}, {interval.high:g}]")


def _step(node: Node) -> tuple[int, float] | None:
    """Which operand of a node is the chain's, and the constant of the other; None if it is no step of a chain."""
    if node.domain or len(node.outputs) != 1 or not node.inputs or node.inputs[0] is None:
        return None
    y = node.outputs[0]
    if node.op in ("Relu", "Neg"):
        return 0, 0.0
    if node.op == "Clip":
        bounds = [value for value in node.inputs[1:] if value is not None]
        return (0, 0.0) if all(scalar(bound) is not None for bound in bounds) else None
    if node.op not in (*LIMITS, *FACTORS, *SHIFTS) or len(node.inputs) != 2:
        return None
    for index in (0, 1) if node.op != "Div" else (0,):
        x, number = node.inputs[index], scalar(node.inputs[1 - index])
        if x is not None and x.data is None and number is not None and x.shape == y.shape and math.isfinite(number):
            return index, number
    return None


def _operand(node: Node) -> Value | None:
    step = _step(node)
    assert step is not None
    return node.inputs[step[0]]


def _after(node: Node, interval: Interval) -> Interval:
    step = _step(node)
    assert step is not None
    index, number = step
    match node.op:
        case "Relu":
            return interval.limited(0.0, math.inf)
        case "Max":
            return interval.limited(number, math.inf)
        case "Min":
            return interval.limited(-math.inf, number)
        case "Clip":
            low, high = (*(scalar(value) for value in node.inputs[1:]), None, None)[:2]
            return _clipped(interval, -math.inf if low is None else low, math.inf if high is None else high)
        case "Neg":
            return interval.moved(-1, 0)
        case "Mul":
            return interval.moved(number, 0)
        case "Div":
            return interval.moved(1 / number if number else 0, 0)
        case "Add":
            return interval.moved(1, number)
    return interval.moved(1, -number) if index == 0 else interval.moved(-1, number)


def _clipped(interval: Interval, low: float, high: float) -> Interval:
    # ONNX: where the bounds cross, the upper one wins
    return interval.limited(min(low, high), high)


RULE = Rule("clips", (*LIMITS, *FACTORS, *SHIFTS), _apply)
