"""Padding before a convolution or a pooling becomes the operator's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import Node, Value
from . import Done, Refused, Rule
from .scalars import scalar

if TYPE_CHECKING:
    from .view import View


def _apply(view: View, node: Node) -> Done | Refused | None:
    middle = node.inputs[0]
    pad = view.producer(middle, "Pad")
    if pad is None or middle is None or pad.inputs[0] is None:
        return None
    amounts = _spatial(pad, middle.rank)
    if isinstance(amounts, Refused):
        return amounts
    before = node.attributes.get("pads") or [0] * len(amounts)
    auto = node.attributes.get("auto_pad", "NOTSET")
    if auto not in ("NOTSET", "VALID"):
        return Refused(f"auto_pad {auto} depends on the padded size")
    if not view.private(middle, node):
        return Refused("the padded value is used by others too")
    refused = _fits(view, node, pad, amounts, before)
    if refused is not None:
        return refused
    attributes = {name: value for name, value in node.attributes.items() if name != "auto_pad"}
    attributes["pads"] = [a + b for a, b in zip(amounts, before, strict=True)]
    if node.op == "AveragePool":
        attributes["count_include_pad"] = 1
    view.become(node, node.op, [pad.inputs[0], *node.inputs[1:]], attributes)
    return Done("zeros around the input are what the operator pads with")


def _spatial(pad: Node, rank: int) -> list[int] | Refused:
    """The amounts at the start and the end of the spatial axes."""
    amounts = pad.inputs[1].data if len(pad.inputs) > 1 and pad.inputs[1] is not None else None
    if pad.attributes.get("mode", "constant") != "constant":
        return Refused("the padding repeats elements")
    if amounts is None or len(pad.inputs) > 3:
        return Refused("how much is padded is known at run time only")
    if (amounts < 0).any():
        return Refused("the padding cuts elements off")
    if amounts[:2].any() or amounts[rank : rank + 2].any():
        return Refused("the padding is along channels or the batch")
    return [int(amount) for amount in (*amounts[2:rank], *amounts[rank + 2 :])]


def _fits(view: View, node: Node, pad: Node, amounts: list[int], before: list[int]) -> Refused | None:
    value = pad.inputs[2] if len(pad.inputs) > 2 else None
    fill = 0.0 if value is None else scalar(value)
    if fill is None:
        return Refused("the value that is padded with is known at run time only")
    if node.op == "Conv":
        return None if fill == 0 else Refused("the padding is not of zeros")
    if node.attributes.get("ceil_mode") or any(d != 1 for d in node.attributes.get("dilations", ())):
        return Refused("windows with ceil_mode or dilations see other padding")
    kernel = node.attributes["kernel_shape"]
    if any(a + b >= k for a, b, k in zip(amounts, before, [*kernel, *kernel], strict=True)):
        return Refused("the engine takes no padding as large as the kernel")
    if node.op == "AveragePool":
        if fill != 0:
            return Refused("the padding is not of zeros")
        return (
            Refused("the padding of the pooling itself is not counted")
            if any(before) and not node.attributes.get("count_include_pad")
            else None
        )
    if fill == float("-inf") or (fill <= 0 and _nonnegative(view, pad.inputs[0])):
        return None
    return Refused("a maximum might see the padding")


def _nonnegative(view: View, x: Value | None) -> bool:
    node = view.producer(x, "Relu", "Sigmoid", "Clip", "HardSigmoid", "Softplus", "Abs")
    if node is None:
        return False
    low = scalar(node.inputs[1]) if node.op == "Clip" and len(node.inputs) > 1 else 0.0
    return node.op != "Clip" or (len(node.inputs) > 1 and low is not None and low >= 0)


RULE = Rule("pads", ("Conv", "MaxPool", "AveragePool"), _apply)
