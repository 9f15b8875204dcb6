"""Derivatives of normalisation and softmax."""

from __future__ import annotations

from ...errors import UnsupportedError
from ..builder import Builder
from ..composites.local_response import local_response
from ..ir import Node, Value
from .common import operand, optional
from .engine import Thunks, decomposition, rule


@rule("Softmax")
def softmax(g: Builder, node: Node, dy: Value) -> Thunks:
    """dx = y ⊙ (dy - Σ dy ⊙ y)"""
    y, axis = node.outputs[0], int(node.attributes.get("axis", -1))

    def back() -> Value:
        result: Value = g.Mul(y, g.Sub(dy, g.ReduceSum(g.Mul(dy, y), [axis % y.rank])))
        return result

    return (back,)


@rule("LogSoftmax")
def log_softmax(g: Builder, node: Node, dy: Value) -> Thunks:
    """dx = dy - softmax(x) · Σ dy"""
    y, axis = node.outputs[0], int(node.attributes.get("axis", -1))
    return (lambda: g.Sub(dy, g.Mul(g.Exp(y), g.ReduceSum(dy, [axis % y.rank]))),)


@rule("BatchNormalization")
def batch_normalization(g: Builder, node: Node, dy: Value) -> Thunks:
    """y = scale · (x - mean) / √(var + ε) + bias with given statistics: dx = dy · scale / √(var + ε).

    x (N,C,…), scale, bias, mean and var (C)
    """
    x, scale, _, mean, var = (operand(node, index) for index in range(5))
    if node.attributes.get("training_mode"):
        raise UnsupportedError("batch normalisation in training mode has no gradient here")
    epsilon = node.attributes.get("epsilon", 1e-5)
    column = [g.size(x, 1)] + [1] * (x.rank - 2)
    rest = [axis for axis in range(x.rank) if axis != 1]

    def inverse() -> Value:
        result: Value = g.Reciprocal(g.Sqrt(g.Add(var, epsilon)))
        return result

    def source() -> Value:
        result: Value = g.Mul(dy, g.reshape(g.Mul(scale, inverse()), column))
        return result

    def factor() -> Value:
        centred = g.Sub(x, g.reshape(mean, column))
        result: Value = g.Mul(g.ReduceSum(g.Mul(dy, centred), rest, keepdims=0), inverse())
        return result

    return source, factor, lambda: g.ReduceSum(dy, rest, keepdims=0)


def _standardized(g: Builder, x: Value, axes: list[int], epsilon: float) -> Value:
    centred = g.Sub(x, g.ReduceMean(x, axes))
    variance = g.ReduceMean(g.Mul(centred, centred), axes)
    result: Value = g.Div(centred, g.Sqrt(g.Add(variance, epsilon)))
    return result


@decomposition("InstanceNormalization")
def instance_normalization(g: Builder, node: Node) -> Value:
    x, scale, bias = (operand(node, index) for index in range(3))
    column = [g.size(x, 1)] + [1] * (x.rank - 2)
    y = _standardized(g, x, list(range(2, x.rank)), node.attributes.get("epsilon", 1e-5))
    result: Value = g.Add(g.Mul(y, g.reshape(scale, column)), g.reshape(bias, column))
    return result


@decomposition("LayerNormalization")
def layer_normalization(g: Builder, node: Node) -> Value:
    x, scale, bias = operand(node), operand(node, 1), optional(node, 2)
    first = int(node.attributes.get("axis", -1)) % x.rank
    y = g.Mul(_standardized(g, x, list(range(first, x.rank)), node.attributes.get("epsilon", 1e-5)), scale)
    return y if bias is None else g.Add(y, bias)


@decomposition("LpNormalization")
def lp_normalization(g: Builder, node: Node) -> Value:
    """x / ‖x‖ along an axis; the gradient of a zero vector is 0, as is its value."""
    x, axis = operand(node), int(node.attributes.get("axis", -1)) % operand(node).rank
    if node.attributes.get("p", 2) != 2:
        raise UnsupportedError("only the L2 norm has a gradient here")
    norm = g.ReduceL2(x, [axis])
    inverse = g.Where(g.Greater(norm, 0.0), g.Reciprocal(g.Max(norm, 1e-38)), 0.0)
    result: Value = g.Mul(x, inverse)
    return result


@decomposition("LRN")
def lrn(g: Builder, node: Node) -> Value:
    """x / (bias + alpha/size · Σ x²)^beta over ``size`` channels around each; x (N,C,…)."""
    x, size = operand(node), int(node.attributes["size"])
    alpha, beta, bias = (
        node.attributes.get(key, value) for key, value in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )
    return local_response(g, x, size=size, alpha=alpha, beta=beta, bias=bias)
