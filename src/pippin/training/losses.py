"""Losses as hub operators, and where the walk backwards begins."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..errors import CheckError
from ..graph.builder import RESHAPES, Builder
from ..graph.ir import Value

TINY = 1e-12
"""What is added to a probability before its logarithm, so that a probability of 0 costs 27.6 and not infinity."""


@dataclass(frozen=True)
class Loss:
    """``value`` is the mean over the batch (a scalar), ``correct`` how many classes are right (None if there are none).

    ``seed`` is a value of the network, ``gradient`` the derivative of the loss with respect to it.
    """

    value: Value
    correct: Value | None
    seed: Value
    gradient: Value


def mean_squared_error(g: Builder, y: Value, target: Value) -> Loss:
    """loss = mean (y - target)² over all elements of the batch.

    y, target (…) of the same shape. Source: MeanSquaredErrorLossLayer, which gives no formula.
    """
    if 0 in y.shape:
        raise CheckError(f"the input of a mean squared error must hold numbers, got {list(y.shape)}")
    difference = g.Sub(y, target)
    value = g.ReduceMean(g.Mul(difference, difference), None, keepdims=0)
    count = math.prod(int(dim) for dim in y.shape)
    return Loss(value, None, y, g.Mul(difference, 2 / count))


def cross_entropy(g: Builder, y: Value, target: Value) -> Loss:
    """loss = mean -log(y[target] + 10⁻¹²) over the batch, y being probabilities that a softmax made.

    target (N) int64, y of N · C elements with the classes behind the batch. The gradient is that of -log y[target]
    with respect to what the softmax is given, (y - onehot) / N: exact also where y[target] has become 0.
    Source: CategoricalCrossEntropyLossLayer.
    """
    logits, axis = _logits(y)
    count, classes = int(target.shape[0]), int(logits.shape[axis])
    rest = [dim for place, dim in enumerate(logits.shape) if place != axis and dim != 1]
    ahead = [dim for dim in logits.shape[:axis] if dim != 1]
    if 0 in logits.shape or rest != ahead or math.prod(int(dim) for dim in rest) != count:
        raise CheckError(
            f"the input of a cross entropy must be one vector of probabilities, got {list(logits.shape)}"
            f" with the classes in axis {axis}"
        )
    z = g.LogSoftmax(g.reshape(logits, [count, classes]), axis=1)
    column = g.Unsqueeze(target, [1])
    picked = g.Exp(g.GatherElements(z, column, axis=1))
    value = g.ReduceMean(g.Neg(g.Log(g.Add(picked, TINY))), None, keepdims=0)
    hits = g.Equal(g.ArgMax(z, axis=1, keepdims=0), target)
    correct = g.ReduceSum(g.cast(hits, np.float32), None, keepdims=0)
    onehot = g.cast(g.Equal(np.arange(classes, dtype=np.int64)[None], column), np.float32)
    gradient = g.Mul(g.Sub(g.Exp(z), onehot), 1 / count)
    return Loss(value, correct, logits, g.reshape(gradient, g.sizes(logits)))


def _logits(y: Value) -> tuple[Value, int]:
    """What the softmax is given that made ``y``, and its axis."""
    node = y.node
    while node is not None and node.op in (*RESHAPES, "Identity"):
        source = node.inputs[0]
        assert source is not None
        node = source.node
    if node is None or node.op != "Softmax":
        raise CheckError("the input of a cross entropy must be the output of a softmax layer")
    logits = node.inputs[0]
    assert logits is not None
    return logits, int(node.attributes.get("axis", -1)) % logits.rank
