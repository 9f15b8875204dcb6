"""Operators on small constants are computed; a large constant that is only transposed becomes a view."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import fold
from ..ir import Node
from . import Done, Refused, Rule

if TYPE_CHECKING:
    from .view import View


def _apply(view: View, node: Node) -> Done | Refused | None:
    if not node.inputs and node.op != "ConstantOfShape":
        return None
    arrays = [None if value is None else value.data for value in node.inputs]
    if any(array is None and value is not None for array, value in zip(arrays, node.inputs, strict=True)):
        return None
    results = _computed(node, arrays)
    if results is None:
        return None
    if any(view.is_output(value) for value in node.outputs):
        return Refused("its result is an output of the graph, which a constant cannot be")
    for value, array in zip(list(node.outputs), results, strict=True):
        view.replace(value, view.constant(array, value.name))
    return Done("all its operands are constants")


def _computed(node: Node, arrays: list[Any]) -> list[Any] | None:
    import numpy as np

    if node.op == "Transpose":
        return [arrays[0].transpose(node.attributes.get("perm"))]
    if len(node.outputs) == 1 and node.op not in _TABLE:
        result = fold.fold(node.op, node.inputs, node.attributes)
        return None if result is None else [result]
    if any(array is not None and array.size > fold.LIMIT for array in arrays):
        return None
    if node.op == "Split":
        return _split(node, arrays)
    function = _TABLE.get(node.op)
    if function is None or len(node.outputs) != 1:
        return None
    if math.prod(np.broadcast_shapes(*(array.shape for array in arrays))) > fold.LIMIT:
        return None
    y = node.outputs[0]
    with np.errstate(all="ignore"):
        result = np.asarray(function(*arrays))
    return [result.astype(y.dtype, copy=False)] if result.shape == y.shape else None


def _split(node: Node, arrays: list[Any]) -> list[Any]:
    import numpy as np

    axis = node.attributes.get("axis", 0)
    ends = np.cumsum([int(value.shape[axis]) for value in node.outputs])
    return np.split(arrays[0], ends[:-1], axis=axis)


def _table() -> dict[str, Callable[..., Any]]:
    import numpy as np

    return {
        "Abs": np.abs,
        "Sqrt": np.sqrt,
        "Not": np.logical_not,
        "And": np.logical_and,
        "Or": np.logical_or,
        "Less": np.less,
        "LessOrEqual": np.less_equal,
        "Greater": np.greater,
        "GreaterOrEqual": np.greater_equal,
        "Equal": np.equal,
        "Where": np.where,
    }


_TABLE = _table()

RULE = Rule(
    "constants",
    (
        *("Add", "Sub", "Mul", "Div", "Neg", "Floor", "Ceil", "Gather", "Squeeze", "Unsqueeze", "Concat", "Slice"),
        *("Reshape", "Shape", "Cast", "Identity", "Transpose", "Split", *_TABLE),
    ),
    _apply,
)
