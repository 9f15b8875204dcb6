"""Derivatives of reductions. Equal extremes share their gradient equally."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..builder import Builder
from ..ir import Node, Value
from .common import dims, known, mask, operand, optional
from .engine import Thunks, rule


def _axes(node: Node) -> list[int]:
    """The reduced axes, counted from 0."""
    x, given = operand(node), optional(node, 1)
    axes = known(given, "axes") if given is not None else list(node.attributes.get("axes", []))
    if not axes:
        return [] if node.attributes.get("noop_with_empty_axes") else list(range(x.rank))
    return [axis % x.rank for axis in axes]


def _kept(g: Builder, node: Node, value: Value) -> Value:
    """``value``, an output or its gradient, with the reduced axes as 1."""
    if node.attributes.get("keepdims", 1):
        return value
    axes = _axes(node)
    x = operand(node)
    return g.reshape(value, [1 if axis in axes else g.size(x, axis) for axis in range(x.rank)])


_PARTS: dict[str, Callable[[Any, Value, Value, Value], Value]] = {
    "ReduceSumSquare": lambda g, x, y, dy: g.Mul(g.Mul(dy, 2.0), x),
    "ReduceL1": lambda g, x, y, dy: g.Mul(dy, g.Sign(x)),
    "ReduceL2": lambda g, x, y, dy: g.Where(g.Greater(y, 0.0), g.Div(g.Mul(dy, x), g.Max(y, 1e-38)), 0.0),
    "ReduceLogSum": lambda g, x, y, dy: g.expand(g.Mul(dy, g.Exp(g.Neg(y))), g.sizes(x)),
    "ReduceLogSumExp": lambda g, x, y, dy: g.Mul(dy, g.Exp(g.Sub(x, y))),
    "ReduceSum": lambda g, x, y, dy: g.expand(dy, g.sizes(x)),
}
"""dx from x, and from y and dy with the reduced axes as 1."""


def _reduction(op: str, part: Callable[[Any, Value, Value, Value], Value]) -> None:
    @rule(op)
    def derivative(g: Builder, node: Node, dy: Value) -> Thunks:
        return (lambda: part(g, operand(node), _kept(g, node, node.outputs[0]), _kept(g, node, dy)),)


for _op, _part in _PARTS.items():
    _reduction(_op, _part)


@rule("ReduceMean")
def mean(g: Builder, node: Node, dy: Value) -> Thunks:
    x = operand(node)

    def back() -> Value:
        count = math.prod(dims(x)[axis] for axis in _axes(node))
        return g.expand(g.Mul(_kept(g, node, dy), 1 / count), g.sizes(x))

    return (back,)


@rule("ReduceMax", "ReduceMin")
def extreme(g: Builder, node: Node, dy: Value) -> Thunks:
    x = operand(node)

    def back() -> Value:
        winners = mask(g, g.Equal(x, _kept(g, node, node.outputs[0])), x)
        share = g.Div(_kept(g, node, dy), g.ReduceSum(winners, _axes(node)))
        result: Value = g.Mul(winners, share)
        return result

    return (back,)


@rule("ReduceProd")
def product(g: Builder, node: Node, dy: Value) -> Thunks:
    """dx = dy · the product of all others, also where elements are 0."""
    x = operand(node)

    def back() -> Value:
        axes = _axes(node)
        empty = g.Equal(x, 0.0)
        safe = g.Where(empty, 1.0, x)
        others = g.ReduceProd(safe, axes)
        count = g.ReduceSum(mask(g, empty, x), axes)
        # one zero: it alone has a gradient; none: each has the product without itself
        alone = g.Where(g.Equal(count, 1.0), others, 0.0)
        rest = g.Where(g.Equal(count, 0.0), g.Div(others, safe), 0.0)
        result: Value = g.Mul(_kept(g, node, dy), g.Where(empty, alone, rest))
        return result

    return (back,)
