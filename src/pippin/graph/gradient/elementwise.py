"""Derivatives of operators that work element by element.

dx = dy · f'(x), summed over the axes along which an operand was broadcast. At kinks: 0 for x = 0 in Relu, the left side
in LeakyRelu, PRelu and Elu, 1 at the bounds of Clip, equal shares among equal operands of Max and Min.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..builder import Builder
from ..ir import Node, Value
from .common import mask, operand, optional, unbroadcast
from .engine import Thunks, decomposition, rule

_SLOPES: dict[str, Callable[[Any, Value, Value], Value]] = {
    "Abs": lambda g, x, y: g.Sign(x),
    "Sqrt": lambda g, x, y: g.Div(0.5, y),
    "Exp": lambda g, x, y: y,
    "Log": lambda g, x, y: g.Reciprocal(x),
    "Reciprocal": lambda g, x, y: g.Neg(g.Mul(y, y)),
    "Neg": lambda g, x, y: g.constant(-1, x.dtype),
    "Sin": lambda g, x, y: g.Cos(x),
    "Cos": lambda g, x, y: g.Neg(g.Sin(x)),
    "Tan": lambda g, x, y: g.Add(g.Mul(y, y), 1.0),
    "Asin": lambda g, x, y: g.Reciprocal(g.Sqrt(g.Sub(1.0, g.Mul(x, x)))),
    "Acos": lambda g, x, y: g.Neg(g.Reciprocal(g.Sqrt(g.Sub(1.0, g.Mul(x, x))))),
    "Atan": lambda g, x, y: g.Reciprocal(g.Add(g.Mul(x, x), 1.0)),
    "Sinh": lambda g, x, y: g.Cosh(x),
    "Cosh": lambda g, x, y: g.Sinh(x),
    "Tanh": lambda g, x, y: g.Sub(1.0, g.Mul(y, y)),
    "Asinh": lambda g, x, y: g.Reciprocal(g.Sqrt(g.Add(g.Mul(x, x), 1.0))),
    "Acosh": lambda g, x, y: g.Reciprocal(g.Sqrt(g.Sub(g.Mul(x, x), 1.0))),
    "Atanh": lambda g, x, y: g.Reciprocal(g.Sub(1.0, g.Mul(x, x))),
    "Erf": lambda g, x, y: g.Mul(g.Exp(g.Neg(g.Mul(x, x))), 2 / math.sqrt(math.pi)),
    "Sigmoid": lambda g, x, y: g.Mul(y, g.Sub(1.0, y)),
    "Softplus": lambda g, x, y: g.Sigmoid(x),
    "Softsign": lambda g, x, y: g.Reciprocal(_squared(g, g.Add(g.Abs(x), 1.0))),
    "Relu": lambda g, x, y: mask(g, g.Greater(y, 0.0), x),
}
"""f'(x) of the operators with one operand and no attributes, from x and y = f(x)."""


def _squared(g: Builder, x: Value) -> Value:
    result: Value = g.Mul(x, x)
    return result


def _unary(op: str, slope: Callable[[Any, Value, Value], Value]) -> None:
    @rule(op)
    def derivative(g: Builder, node: Node, dy: Value) -> Thunks:
        return (lambda: g.Mul(dy, slope(g, operand(node), node.outputs[0])),)


for _op, _slope in _SLOPES.items():
    _unary(_op, _slope)


@rule("LeakyRelu")
def leaky_relu(g: Builder, node: Node, dy: Value) -> Thunks:
    alpha = node.attributes.get("alpha", 0.01)
    return (lambda: g.Where(g.Greater(operand(node), 0.0), dy, g.Mul(dy, alpha)),)


@rule("Elu")
def elu(g: Builder, node: Node, dy: Value) -> Thunks:
    # below 0 the derivative α·eˣ is y + α
    alpha = node.attributes.get("alpha", 1.0)
    return (lambda: g.Where(g.Greater(operand(node), 0.0), dy, g.Mul(dy, g.Add(node.outputs[0], alpha))),)


@rule("HardSigmoid")
def hard_sigmoid(g: Builder, node: Node, dy: Value) -> Thunks:
    y, alpha = node.outputs[0], node.attributes.get("alpha", 0.2)
    return (lambda: g.Where(g.And(g.Greater(y, 0.0), g.Less(y, 1.0)), g.Mul(dy, alpha), 0.0),)


@rule("PRelu")
def prelu(g: Builder, node: Node, dy: Value) -> Thunks:
    x, slope = operand(node), operand(node, 1)
    return (
        lambda: g.Where(g.Greater(x, 0.0), dy, g.Mul(dy, slope)),
        lambda: unbroadcast(g, g.Mul(dy, g.Min(x, 0.0)), slope),
    )


@decomposition("Gelu")
def gelu(g: Builder, node: Node) -> Value:
    x = operand(node)
    approximate = node.attributes.get("approximate", "none")
    if approximate in ("tanh", b"tanh"):
        inner = g.Mul(g.Add(x, g.Mul(g.Mul(g.Mul(x, x), x), 0.044715)), math.sqrt(2 / math.pi))
        share = g.Tanh(inner)
    else:
        share = g.Erf(g.Mul(x, math.sqrt(0.5)))
    result: Value = g.Mul(g.Mul(x, 0.5), g.Add(share, 1.0))
    return result


@rule("Clip")
def clip(g: Builder, node: Node, dy: Value) -> Thunks:
    def within() -> Value:
        x, low, high = operand(node), optional(node, 1), optional(node, 2)
        if low is None and high is None:
            return dy
        tests = [g.GreaterOrEqual(x, low)] if low is not None else []
        tests += [g.LessOrEqual(x, high)] if high is not None else []
        result: Value = g.Where(tests[0] if len(tests) == 1 else g.And(*tests), dy, 0.0)
        return result

    return (within,)


@rule("Identity")
def identity(g: Builder, node: Node, dy: Value) -> Thunks:
    return (lambda: dy,)


@rule("Cast")
def cast(g: Builder, node: Node, dy: Value) -> Thunks:
    x = operand(node)
    return (lambda: g.cast(dy, x.dtype),)


@rule("Add")
def add(g: Builder, node: Node, dy: Value) -> Thunks:
    a, b = operand(node), operand(node, 1)
    return (lambda: unbroadcast(g, dy, a)), (lambda: unbroadcast(g, dy, b))


@rule("Sub")
def sub(g: Builder, node: Node, dy: Value) -> Thunks:
    a, b = operand(node), operand(node, 1)
    return (lambda: unbroadcast(g, dy, a)), (lambda: g.Neg(unbroadcast(g, dy, b)))


@rule("Mul")
def mul(g: Builder, node: Node, dy: Value) -> Thunks:
    a, b = operand(node), operand(node, 1)
    return (lambda: unbroadcast(g, g.Mul(dy, b), a)), (lambda: unbroadcast(g, g.Mul(dy, a), b))


@rule("Div")
def div(g: Builder, node: Node, dy: Value) -> Thunks:
    a, b = operand(node), operand(node, 1)
    return (
        lambda: unbroadcast(g, g.Div(dy, b), a),
        lambda: unbroadcast(g, g.Neg(g.Div(g.Mul(dy, node.outputs[0]), b)), b),
    )


@rule("Pow")
def power(g: Builder, node: Node, dy: Value) -> Thunks:
    x, e = operand(node), operand(node, 1)

    def base() -> Value:
        # e · x^(e - 1), which is 0 where e is 0 even if x is 0 as well
        slope = g.Mul(e, g.Pow(x, g.Sub(e, 1.0)))
        if e.data is None or not (e.data != 0).all():
            slope = g.Where(g.Equal(e, 0.0), 0.0, slope)
        return unbroadcast(g, g.Mul(dy, slope), x)

    def exponent() -> Value:
        logarithm = g.Where(g.Greater(x, 0.0), g.Log(g.Max(x, 1e-38)), 0.0)
        return unbroadcast(g, g.Mul(dy, g.Mul(node.outputs[0], logarithm)), e)

    return base, exponent


@rule("Mod")
def modulo(g: Builder, node: Node, dy: Value) -> Thunks:
    a, b = operand(node), operand(node, 1)

    def divisor() -> Value:
        quotient = g.Div(g.Sub(a, node.outputs[0]), b)
        return unbroadcast(g, g.Neg(g.Mul(dy, g.Round(quotient))), b)

    return (lambda: unbroadcast(g, dy, a)), divisor


@rule("Max", "Min")
def extreme(g: Builder, node: Node, dy: Value) -> Thunks:
    values = [operand(node, index) for index in range(len(node.inputs))]
    shares: list[Value] = []

    def share(index: int) -> Value:
        if not shares:
            winners = [mask(g, g.Equal(value, node.outputs[0]), dy) for value in values]
            count = winners[0] if len(winners) == 1 else g.Sum(*winners)
            shares.extend(g.Div(winner, count) for winner in winners)
        return unbroadcast(g, g.Mul(dy, shares[index]), values[index])

    return [lambda index=index: share(index) for index in range(len(values))]  # type: ignore[misc]


@rule("Sum")
def total(g: Builder, node: Node, dy: Value) -> Thunks:
    values = [operand(node, index) for index in range(len(node.inputs))]
    return [lambda value=value: unbroadcast(g, dy, value) for value in values]  # type: ignore[misc]


@rule("Mean")
def mean(g: Builder, node: Node, dy: Value) -> Thunks:
    values = [operand(node, index) for index in range(len(node.inputs))]
    return [lambda value=value: unbroadcast(g, g.Mul(dy, 1 / len(values)), value) for value in values]  # type: ignore[misc]


@rule("Where")
def where(g: Builder, node: Node, dy: Value) -> Thunks:
    condition, a, b = (operand(node, index) for index in range(3))
    return (
        None,
        lambda: unbroadcast(g, g.Where(condition, dy, 0.0), a),
        lambda: unbroadcast(g, g.Where(condition, 0.0, dy), b),
    )
