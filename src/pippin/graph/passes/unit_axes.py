"""A transposition that moves axes of size 1 alone changes the shape and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import Node
from . import Done, Refused, Rule
from .reshapes import target_shape
from .scalars import same_shape

if TYPE_CHECKING:
    from .view import View


def _apply(view: View, node: Node) -> Done | Refused | None:
    x, y = node.inputs[0], node.outputs[0]
    assert x is not None
    order = node.attributes.get("perm", list(range(x.rank))[::-1])
    moved = [axis for axis in order if x.shape[axis] != 1]
    if 1 not in x.shape or moved != sorted(moved):
        return None
    if same_shape(x, y):
        if view.replace(y, x):
            return Done("only axes of size 1 change places, and the shape stays")
        return Refused("only axes of size 1 change places, but the result is an output that what they had cannot be")
    target = target_shape(view, node, y)
    if target is None:
        return Refused("the shape is known at run time only")
    view.become(node, "Reshape", [x, target], {})
    return Done("only axes of size 1 change places")


RULE = Rule("unit_axes", ("Transpose",), _apply)
