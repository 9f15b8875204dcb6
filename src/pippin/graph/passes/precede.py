"""Factors and summands a channel before a linear operator go into its weights, such as the scaling of a picture.

W·(s·x + t) + b = (W·s)·x + (W·t + b), s and t a channel of x. With padding only where t is 0: what is padded is not
shifted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir import Node, Value
from . import Done, Refused, Rule
from .scalars import affine, finite

if TYPE_CHECKING:
    from .view import View


def _apply(view: View, node: Node) -> Done | Refused | None:
    middle, w = node.inputs[0], node.inputs[1]
    before = view.producer(middle, "BatchNormalization", "Mul", "Div", "Add", "Sub")
    if before is None or middle is None or w is None:
        return None
    found = affine(before, 1)
    if found is None:
        return None
    x, scale, shift = found
    if any(value is not None and value.data is None for value in node.inputs[1:]):
        return Refused("the weights are known at run time only")
    if not view.private(middle, node):
        return Refused("what lies between is an output or used by others too")
    padded = any(node.attributes.get("pads") or ()) or node.attributes.get("auto_pad", "NOTSET") not in (
        "NOTSET",
        "VALID",
    )
    if shift.any() and padded:
        return Refused("the padding would be shifted too")
    import numpy as np

    with np.errstate(all="ignore"):
        weights = _weights(view, node, w, scale, shift)
    if not all(finite(value.data) for value in weights if value is not None and value.data is not None):
        return Refused("the product of weights and factors is not finite")
    view.become(node, "Conv", [x, *weights], node.attributes)
    return Done(f"{'a factor' if (scale != 1).any() else 'a summand'} a channel of the input of Conv")


def _weights(view: View, node: Node, w: Value, scale: Any, shift: Any) -> list[Value]:
    import numpy as np

    assert w.data is not None
    group = node.attributes.get("group", 1)
    out, each = w.data.shape[:2]
    space = [1] * (w.rank - 2)
    # [O, C/group, k…]: output o reads the channels of its group
    rows = np.arange(out) // (out // group)

    def per_row(values: Any) -> Any:
        return np.broadcast_to(values, (group * each,)).reshape(group, each)[rows]

    result = [view.constant(w.data * per_row(scale).astype(w.dtype).reshape(out, each, *space), w.name)]
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if shift.any():
        sums = w.data.reshape(out, each, -1).sum(2, dtype=np.float64)
        more = (sums * per_row(shift)).sum(1)
        old = 0.0 if bias is None or bias.data is None else bias.data
        name = bias.name if bias is not None else f"{w.name.rpartition('/')[0] or node.name}/bias"
        result.append(view.constant((old + more).astype(w.dtype), name))
    elif bias is not None:
        result.append(bias)
    return result


RULE = Rule("precede", ("Conv",), _apply, "run")
