"""A change of shape after a change of shape is one, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..builder import RESHAPES
from ..ir import Node, Value
from . import Done, Refused, Rule
from .scalars import same_shape

if TYPE_CHECKING:
    from .view import View


def _apply(view: View, node: Node) -> Done | Refused | None:
    middle = node.inputs[0]
    inner = view.producer(middle, *RESHAPES)
    if inner is None or inner.inputs[0] is None or middle is None:
        return None
    x, y = inner.inputs[0], node.outputs[0]
    if same_shape(x, y):
        if view.replace(y, x):
            return Done("the two undo each other")
        return Refused(
            "the two undo each other, but the result is an output of the graph and what they had is no node's"
        )
    target = target_shape(view, node, y)
    if target is None:
        return Refused("the shape is known at run time only")
    view.become(node, "Reshape", [x, target], {})
    return Done("the order of the elements stays, so the last shape decides")


def target_shape(view: View, node: Node, y: Value) -> Value | None:
    """The shape of y as a constant for Reshape, one unknown size as -1; None where that cannot be said."""
    import numpy as np

    sizes = [-1 if isinstance(dim, str) else dim for dim in y.shape]
    if sizes.count(-1) > 1 or 0 in sizes:
        return None
    return view.constant(np.array(sizes, np.int64), f"{node.name}/shape")


RULE = Rule("reshapes", RESHAPES, _apply)
