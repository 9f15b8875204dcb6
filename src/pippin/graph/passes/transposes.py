"""A transposition of a transposition is one, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import Node
from . import Done, Refused, Rule

if TYPE_CHECKING:
    from .view import View


def _apply(view: View, node: Node) -> Done | Refused | None:
    middle = node.inputs[0]
    inner = view.producer(middle, "Transpose")
    if inner is None or inner.inputs[0] is None or middle is None:
        return None
    x = inner.inputs[0]
    first, second = (part.attributes.get("perm", list(range(x.rank))[::-1]) for part in (inner, node))
    both = [first[axis] for axis in second]
    if both == list(range(x.rank)):
        if view.replace(node.outputs[0], x):
            return Done("the two undo each other")
        return Refused(
            "the two undo each other, but the result is an output of the graph and what they had is no node's"
        )
    if view.only_user(middle) is not node:
        return Refused("what lies between is used by others too")
    view.become(node, "Transpose", [x], {"perm": both})
    return Done("the two are one")


RULE = Rule("transposes", ("Transpose",), _apply)
