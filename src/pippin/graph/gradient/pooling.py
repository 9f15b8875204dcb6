"""Derivatives of pooling. Of equal maxima in a window the first one counts."""

from __future__ import annotations

import math

import numpy as np

from ...errors import UnsupportedError
from ..builder import Builder
from ..composites.conv import conv_transpose
from ..ir import Node, Value
from .common import dims, operand, pads, spatial, zeros
from .engine import Thunks, decomposition, rule


@rule("MaxPool")
def max_pool(g: Builder, node: Node, dy: Value, _: Value | None = None) -> Thunks:
    """x (N,C,D…), dy (N,C,D'…): each dy goes where the maximum of its window was."""
    x, y = operand(node), node.outputs[0]

    def back() -> Value:
        indices = _indices(g, node)
        count = x.rank - 2
        kernel, stride = spatial(node, "kernel_shape", count), spatial(node, "strides", count)
        apart = all(k <= s for k, s in zip(kernel, stride, strict=True))
        # the engine unpools to no less than what the windows cover
        covered = [(d - 1) * s + k for d, s, k in zip(dims(y)[2:], stride, kernel, strict=True)]
        apart = apart and all(c <= size for c, size in zip(covered, dims(x)[2:], strict=True))
        if apart and max(spatial(node, "dilations", count)) == 1 and count <= 3:
            # appended, not emitted: ONNX infers no shape for it
            shape = g.constant(np.array(dims(x), np.int64))
            attributes = {"kernel_shape": kernel, "strides": stride}
            result: Value = g.append("MaxUnpool", [dy, indices, shape], attributes, [(x.dtype, x.shape)])
            return result
        size = math.prod(dims(x))
        flat = g.ScatterElements(
            g.expand(g.constant(0, x.dtype), [size]),
            g.reshape(indices, [math.prod(dims(y))]),
            g.reshape(dy, [math.prod(dims(y))]),
            axis=0,
            reduction="add",
        )
        return g.reshape(flat, dims(x))

    return (back,)


def _indices(g: Builder, node: Node) -> Value:
    """The second output of a MaxPool, added where it is not there: places of the maxima in the whole input."""
    if len(node.outputs) == 1:
        y = node.outputs[0]
        node.outputs.append(Value(g.unique(f"{node.name}:indices"), np.dtype(np.int64), y.shape, None, node))
    return node.outputs[1]


@decomposition("GlobalMaxPool")
def global_max_pool(g: Builder, node: Node) -> Value:
    x = operand(node)
    sizes = dims(x)[2:]
    result: Value = g.MaxPool(x, kernel_shape=sizes, strides=sizes)
    return result


def _spread(g: Builder, node: Node, dy: Value) -> Value:
    """Each dy added to every element of its window: x's shape from dy (N,C,D'…)."""
    x = operand(node)
    sizes = dims(x)[2:]
    count = len(sizes)
    kernel, stride = spatial(node, "kernel_shape", count), spatial(node, "strides", count)
    dilation = spatial(node, "dilations", count)
    if node.attributes.get("ceil_mode"):
        raise UnsupportedError("pooling with ceil_mode has no gradient here")
    dilated = [1 + (k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    begin, _ = pads(node, sizes, dilated, stride)
    moves = zip(dims(dy)[2:], stride, dilated, begin, sizes, strict=True)
    end = [(d - 1) * s + k - b - size for d, s, k, b, size in moves]
    # all channels at once, as pictures of one channel
    n, channels = dims(x)[:2]
    flat = g.reshape(dy, [n * channels, 1, *dims(dy)[2:]])
    ones = g.constant(np.ones((1, 1, *kernel), x.dtype))
    back = conv_transpose(g, flat, ones, None, stride=stride, begin=begin, end=end, dilation=dilation)
    return g.reshape(back, dims(x))


@rule("AveragePool")
def average_pool(g: Builder, node: Node, dy: Value) -> Thunks:
    x = operand(node)

    def back() -> Value:
        count = x.rank - 2
        kernel, stride = spatial(node, "kernel_shape", count), spatial(node, "strides", count)
        begin, end = pads(node, dims(x)[2:], kernel, stride)
        if node.attributes.get("count_include_pad") or not any(begin + end):
            return _spread(g, node, g.Mul(dy, 1 / math.prod(kernel)))
        # a window divides by the number of its elements that are no padding
        ones = g.expand(g.constant(1, x.dtype), [1, 1, *dims(x)[2:]])
        share = g.AveragePool(ones, kernel_shape=kernel, strides=stride, pads=[*begin, *end], count_include_pad=1)
        return _spread(g, node, g.Div(dy, g.Mul(share, float(math.prod(kernel)))))

    return (back,)


@rule("GlobalAveragePool")
def global_average_pool(g: Builder, node: Node, dy: Value) -> Thunks:
    x = operand(node)
    return (lambda: g.expand(g.Mul(dy, 1 / math.prod(dims(x)[2:])), dims(x)),)


@rule("LpPool")
def lp_pool(g: Builder, node: Node, dy: Value) -> Thunks:
    """y = √Σx²: dx = x · Σ dy / y over the windows that hold x; a window of zeros gives none."""
    x, y = operand(node), node.outputs[0]
    if node.attributes.get("p", 2) != 2:
        raise UnsupportedError("only the L2 norm has a gradient here")

    def back() -> Value:
        ratio = g.Where(g.Greater(y, 0.0), g.Div(dy, g.Max(y, 1e-38)), zeros(g, y))
        result: Value = g.Mul(x, _spread(g, node, ratio))
        return result

    return (back,)


@decomposition("GlobalLpPool")
def global_lp_pool(g: Builder, node: Node) -> Value:
    x = operand(node)
    if node.attributes.get("p", 2) != 2:
        raise UnsupportedError("only the L2 norm has a gradient here")
    result: Value = g.ReduceL2(x, list(range(2, x.rank)))
    return result
