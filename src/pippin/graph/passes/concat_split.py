"""A convolution of two joined inputs is the sum of two convolutions.

conv([a, b], W) = conv(a, Wₐ) + conv(b, W_b). It pays where the joined value would have to be in the plain layout:
where one part comes so, as from a transposed convolution, and where the channels of one are no multiple of the blocks
that the engine's convolutions work on. Both parts, the whole and the result would be brought from one to the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import Node, Value
from . import Done, Refused, Rule

if TYPE_CHECKING:
    from .view import View

LEAST, BLOCK = 8, 16
"""Channels that the engine's layout keeps together on one processor or another."""
PLAIN = ("ConvTranspose", "Transpose")
"""Operators whose results come in the plain layout."""
THROUGH = ("Relu", "LeakyRelu", "Sigmoid", "Tanh", "Clip", "Add", "Mul", "BatchNormalization")


def _apply(view: View, node: Node) -> Done | Refused | None:
    joined, w = node.inputs[:2]
    concat = view.producer(joined, "Concat")
    if concat is None or joined is None or w is None or w.rank != 4 or concat.attributes["axis"] not in (1, -3):
        return None
    parts = [value for value in concat.inputs if value is not None]
    if len(parts) != 2:
        return Refused(f"{len(parts)} inputs are joined; more convolutions cost more than they save")
    counts = [part.shape[1] for part in parts]
    if not all(isinstance(count, int) and count % LEAST == 0 for count in counts):
        return Refused(f"the numbers of channels are no multiples of {LEAST}")
    plain = [_plain(view, part) for part in parts]
    if plain[0] == plain[1] and (plain[0] or not any(int(count) % BLOCK for count in counts)):
        return Refused("both parts come in the same layout, and the whole can stay in it")
    if w.data is None:
        return Refused("the weights are known at run time only")
    if node.attributes.get("group", 1) != 1:
        return Refused("the convolution has groups")
    if not view.private(joined, node):
        return Refused("the joined value is used by others too")
    _write(view, node, parts, w)
    return Done("the whole would have to be in the plain layout, the parts need not")


def _write(view: View, node: Node, parts: list[Value], w: Value) -> None:
    import numpy as np

    y = node.outputs[0]
    assert w.data is not None
    first = int(parts[0].shape[1])
    weights = [np.ascontiguousarray(half) for half in (w.data[:, :first], w.data[:, first:])]
    results = []
    for index, (part, array) in enumerate(zip(parts, weights, strict=True)):
        operands = [part, view.constant(array, f"{w.name}/{index}"), *(node.inputs[2:] if index == 0 else ())]
        results.append(view.emit(node, "Conv", operands, [(y.dtype, y.shape)], **node.attributes))
    view.become(node, "Add", results, {})


def _plain(view: View, value: Value) -> bool:
    """Whether ``value`` comes from an operator that knows the plain layout only."""
    node = view.producer(value)
    while node is not None and node.op in THROUGH:
        node = view.producer(node.inputs[0])
    return node is not None and node.op in PLAIN


RULE = Rule("concat_split", ("Conv",), _apply, "run")
