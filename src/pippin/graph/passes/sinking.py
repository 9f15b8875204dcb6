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
    moved = view.emit(node, node.op, inputs, [(y.dtype, x.shape)], **node.attributes)
    # the value keeps the name that it has in the file; the other shape of it is about to go
    moved.name, y.name = y.name, moved.name
    view.become(node, before.op, [moved, *before.inputs[1:]], dict(before.attributes))
    return Done("the function does not see shapes")


RULE = Rule("sinking", (*UNARY, *BINARY), _apply)
