"""A change of shape before an elementwise operator and another one behind it meet, so that they can be one.

Legacy networks unfold the result of an inner product to [N,O,1,1], apply a function and fold it again for the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..builder import RESHAPES
from ..ir import Node
from . import Done, Refused, Rule
from .scalars import scalar

if TYPE_CHECKING:
    from .view import View

UNARY = (
    *("Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "Softplus", "Softsign", "HardSigmoid", "Gelu", "Erf", "Exp"),
    *("Log", "Sqrt", "Abs", "Neg", "Reciprocal", "Clip"),
)
ALONG = ("Softmax", "LogSoftmax")
"""Functions along one axis: they may be moved where that is the last one but for ones, before and after."""
BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow")


def _apply(view: View, node: Node) -> Done | Refused | None:
    if len(node.inputs) > 2 and node.op != "Clip":
        return None
    index = 1 if node.op in BINARY and scalar(node.inputs[0]) is not None else 0
    middle, y = node.inputs[index], node.outputs[0]
    before = view.producer(middle, *RESHAPES)
    after = view.only_user(y)
    if middle is None or before is None or before.inputs[0] is None or after is None or after.op not in RESHAPES:
        return None
    if after.inputs[0] is not y or y.shape != middle.shape:
        return None
    if node.op in BINARY:
        other = node.inputs[1 - index]
        if other is None or other.rank > 0:
            return None
    if not view.private(middle, node):
        return Refused("what lies between is used by others too")
    x = before.inputs[0]
    inputs = list(node.inputs)
    inputs[index] = x
    attributes = dict(node.attributes)
    if node.op in ALONG:
        axis = attributes.get("axis", -1) % middle.rank
        if any(dim != 1 for dim in middle.shape[axis + 1 :]) or not x.rank or x.shape[-1] != middle.shape[axis]:
            return Refused("the function sees the axis that changes")
        attributes["axis"] = -1
    moved = view.emit(node, node.op, inputs, [(y.dtype, x.shape)], **attributes)
    # the value keeps the name that it has in the file; the other shape of it is about to go
    moved.name, y.name = y.name, moved.name
    if x.node is not None and x.name == x.node.name and not view.is_output(x):
        # so does the one before it, which its other shape took along
        x.name, middle.name = middle.name, x.name
    view.become(node, before.op, [moved, *before.inputs[1:]], dict(before.attributes))
    return Done("the function does not see shapes")


RULE = Rule("sinking", (*UNARY, *ALONG, *BINARY), _apply)
