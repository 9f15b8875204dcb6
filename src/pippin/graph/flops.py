"""How much work an operator is: floating-point operations by its shapes.

A multiplication and an addition count two, biases of products nothing, every other function of a number one; moving
numbers about counts nothing. Windows, sums and normalisations count what they touch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .ir import Graph, Node, Value

MOVES = frozenset({
    "Cast", "Compress", "Concat", "Constant", "ConstantOfShape", "DepthToSpace", "Expand", "Flatten", "Gather",
    "GatherElements", "GatherND", "Identity", "NonZero", "OneHot", "Pad", "Range", "Reshape", "ReverseSequence",
    "Shape", "Size", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where",
    "ScatterElements", "ScatterND", "RandomNormal", "RandomUniform",
})  # fmt: skip
"""Operators that put numbers elsewhere and compute none."""


def flops(node: Node) -> int:
    """Operations of one run of ``node``; sizes that are not known count as 1. Bodies count by ``total``."""
    if node.op in MOVES or node.domain:
        return 0
    count = _TABLE.get(node.op)
    if count is not None:
        return int(count(node))
    return max((elements(value) for value in node.outputs), default=0)


def total(graph: Graph) -> int:
    """Operations of a whole graph: of branches the larger one, of loops one round times the rounds that are known."""
    return sum(deep(node) for node in graph.nodes)


def deep(node: Node) -> int:
    """Operations of a node with what its bodies do."""
    bodies = [total(body) for body in node.subgraphs()]
    if not bodies:
        return flops(node)
    return max(bodies) if node.op == "If" else sum(bodies) * rounds(node)


def rounds(node: Node) -> int:
    """How often the body of a Loop or Scan runs, as far as that is known; else 1."""
    if node.op == "Loop" and node.inputs and node.inputs[0] is not None and node.inputs[0].data is not None:
        count = int(node.inputs[0].data.reshape(-1)[0])
        return count if 0 <= count < 1 << 31 else 1
    if node.op == "Scan":
        last = node.inputs[-1]
        size = last.shape[0] if last is not None and last.shape else 1
        return size if isinstance(size, int) else 1
    return 1


def elements(value: Value | None) -> int:
    """Numbers in a value; sizes that are not known count as 1."""
    return math.prod(dim for dim in value.shape if isinstance(dim, int)) if value is not None else 0


def _convolution(node: Node) -> int:
    weights = node.inputs[1]
    assert weights is not None
    return 2 * elements(node.outputs[0]) * elements(weights) // _size(weights, 0)


def _transposed(node: Node) -> int:
    weights = node.inputs[1]
    assert weights is not None
    return 2 * elements(node.inputs[0]) * elements(weights) // _size(weights, 0)


def _product(node: Node) -> int:
    a = node.inputs[0]
    assert a is not None
    if node.op == "Gemm":
        inner = _size(a, 0 if node.attributes.get("transA") else -1)
    else:
        inner = _size(a, -1)
    return 2 * elements(node.outputs[0]) * inner


def _recurrent(node: Node) -> int:
    """Per step and direction: gates · H · (I + H) multiply-adds, and about a dozen operations a unit."""
    x, weights, recursion = node.inputs[:3]
    assert x is not None
    assert weights is not None
    assert recursion is not None
    steps = _size(x, 0) * _size(x, 1)
    products = 2 * (elements(weights) + elements(recursion))
    units = {"LSTM": 12, "GRU": 10, "RNN": 2}[node.op] * _size(recursion, -1) * _size(weights, 0)
    return steps * (products + units)


def _pool(node: Node) -> int:
    return elements(node.outputs[0]) * math.prod(node.attributes.get("kernel_shape", [1]))


def _input(factor: int) -> Callable[[Node], int]:
    return lambda node: factor * elements(node.inputs[0])


def _output(factor: int) -> Callable[[Node], int]:
    return lambda node: factor * elements(node.outputs[0])


def _resize(node: Node) -> int:
    """Linear: two numbers an axis and their weights; nearest moves only."""
    if node.attributes.get("mode", "nearest") == "nearest":
        return 0
    taps = 4 if node.attributes.get("mode") == "cubic" else 2
    x, y = node.inputs[0], node.outputs[0]
    assert x is not None
    scaled = sum(1 for a, b in zip(x.shape, y.shape, strict=True) if a != b)
    return 2 * taps**scaled * elements(y) if scaled else 0


def _size(value: Value, axis: int) -> int:
    dim: Any = value.shape[axis] if value.shape else 1
    return dim if isinstance(dim, int) and dim else 1


_TABLE: dict[str, Callable[[Node], int]] = {
    "Conv": _convolution,
    "ConvInteger": _convolution,
    "ConvTranspose": _transposed,
    "Gemm": _product,
    "MatMul": _product,
    "MatMulInteger": _product,
    "LSTM": _recurrent,
    "GRU": _recurrent,
    "RNN": _recurrent,
    "AveragePool": _pool,
    "MaxPool": _pool,
    "LpPool": lambda node: 2 * _pool(node),
    "GlobalAveragePool": _input(1),
    "GlobalMaxPool": _input(1),
    "GlobalLpPool": _input(2),
    **{f"Reduce{name}": _input(1) for name in ("Sum", "Mean", "Max", "Min", "Prod")},
    **{f"Reduce{name}": _input(2) for name in ("L1", "L2", "SumSquare", "LogSum", "LogSumExp")},
    "ArgMax": _input(1),
    "ArgMin": _input(1),
    "CumSum": _input(1),
    "TopK": _input(1),
    "BatchNormalization": _output(2),
    "InstanceNormalization": _output(7),
    "LayerNormalization": _output(7),
    "LRN": lambda node: elements(node.outputs[0]) * (2 * int(node.attributes.get("size", 1)) + 3),
    "Softmax": _output(5),
    "LogSoftmax": _output(5),
    "Resize": _resize,
    "GridSample": _output(8),
    "Sum": lambda node: (len(node.inputs) - 1) * elements(node.outputs[0]),
    "Max": lambda node: (len(node.inputs) - 1) * elements(node.outputs[0]),
    "Min": lambda node: (len(node.inputs) - 1) * elements(node.outputs[0]),
    "Clip": lambda node: sum(value is not None for value in node.inputs[1:]) * elements(node.outputs[0]),
    "If": lambda node: 0,
    "Loop": lambda node: 0,
    "Scan": lambda node: 0,
}
