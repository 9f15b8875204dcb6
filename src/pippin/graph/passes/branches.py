"""An If whose condition is a constant becomes the branch that is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import Graph, Node
from . import Done, Refused, Rule

if TYPE_CHECKING:
    from .view import View


def _apply(view: View, node: Node) -> Done | Refused | None:
    condition = node.inputs[0]
    if condition is None or condition.data is None:
        return None
    taken = "then_branch" if bool(condition.data.reshape(-1)[0]) else "else_branch"
    body = node.attributes.get(taken)
    if not isinstance(body, Graph):
        return None
    view.inline(node, body)
    return Done(f"the condition is a constant: {taken}")


RULE = Rule("branches", ("If",), _apply)
