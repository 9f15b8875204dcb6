"""Operators that change nothing go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ir import Node, Value
from . import Done, Refused, Rule
from .scalars import same_shape, scalar

if TYPE_CHECKING:
    from .view import View


def _apply(view: View, node: Node) -> Done | Refused | None:
    x = node.inputs[0] if node.inputs else None
    if x is None or len(node.outputs) != 1:
        return None
    kept, reason = _kept(node)
    if kept is None:
        return None
    if view.replace(node.outputs[0], kept):
        return Done(reason)
    if node.op == "Identity":
        return None  # it is what an output of the graph needs
    return Refused("its result is an output of the graph, and so is what it would leave, or that is no node's result")


def _kept(node: Node) -> tuple[Value | None, str]:
    """The operand that ``node`` gives back as it is, and why."""
    x, y = node.inputs[0], node.outputs[0]
    assert x is not None
    if node.op == "Identity":
        return x, "it is an Identity"
    if node.op in ("Add", "Sub", "Mul", "Div", "Pow"):
        return _neutral(node)
    if node.op in ("Sum", "Max", "Min", "Mean", "Concat"):
        return (x, "it has one operand") if len(node.inputs) == 1 else (None, "")
    if node.op in ("Reshape", "Expand", "Squeeze", "Unsqueeze", "Flatten"):
        return (x, "the shape stays") if same_shape(x, y) else (None, "")
    if node.op == "Cast":
        return (x, "the dtype stays") if x.dtype == y.dtype else (None, "")
    if node.op == "Transpose":
        perm = node.attributes.get("perm", list(range(x.rank))[::-1])
        return (x, "the order of the axes stays") if perm == list(range(x.rank)) else (None, "")
    if node.op == "Slice":
        # a slice that leaves every size turns at most the order round
        steps = node.inputs[4].data if len(node.inputs) > 4 and node.inputs[4] is not None else np.ones(1)
        whole = x.static and x.shape == y.shape and steps is not None and bool((steps > 0).all())
        return (x, "the slice is the whole") if whole else (None, "")
    if node.op == "Pad":
        amounts = node.inputs[1]
        zero = amounts is not None and amounts.data is not None and not amounts.data.any()
        return (x, "nothing is padded") if zero else (None, "")
    bounds = [value for value in node.inputs[1:] if value is not None]
    return (x, "it has no bounds") if node.op == "Clip" and not bounds else (None, "")


def _neutral(node: Node) -> tuple[Value | None, str]:
    """An operand whose partner is the operator's neutral constant."""
    y = node.outputs[0]
    neutral = 0.0 if node.op in ("Add", "Sub") else 1.0
    for index in (1, 0) if node.op in ("Add", "Mul") else (1,):
        x, other = node.inputs[1 - index], node.inputs[index]
        if x is not None and scalar(other) == neutral and same_shape(x, y) and x.dtype == y.dtype:
            return x, f"{node.op} of {neutral:g} changes nothing"
    return None, ""


RULE = Rule(
    "identities",
    (
        *("Identity", "Add", "Sub", "Mul", "Div", "Pow", "Sum", "Max", "Min", "Mean", "Concat", "Reshape", "Expand"),
        *("Squeeze", "Unsqueeze", "Flatten", "Cast", "Transpose", "Slice", "Pad", "Clip"),
    ),
    _apply,
)
