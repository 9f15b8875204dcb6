"""Which nodes of a model a device takes, and why not the others: a model need not be sound to be asked about."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import PippinError
from .buffers import Mappings
from .enums import NodeType, ReturnCode
from .errors import NnrtError
from .lower import Lowerer
from .model import check_node, constant_array, execution_order
from .types import Model


@dataclass(frozen=True)
class Support:
    """Whether a node is supported; ``reason`` says why not."""

    supported: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.supported


def supported_operations(model: Model, mappings: Mappings) -> list[Support]:
    """An answer for each node of ``model.nodes``, found by lowering it with what its tensors declare.

    A node behind one that is not supported is judged by the dims of its tensors.  Nothing is ever raised for what the
    model holds.
    """
    answers: dict[int, Support] = {}
    lowerer = Lowerer(model.allTensors)
    try:
        order = execution_order(model)
    except (NnrtError, IndexError, AttributeError, TypeError):
        order = list(range(len(model.nodes)))
    order += sorted(set(range(len(model.nodes))) - set(order))
    for index in order:
        answers[index] = judge(lowerer, model, index, mappings)
    return [answers[index] for index in range(len(model.nodes))]


def judge(lowerer: Lowerer, model: Model, index: int, mappings: Mappings) -> Support:
    """The answer for one node, with what ``lowerer`` knows of the nodes before it."""
    try:
        return _answer(lowerer, model, index, mappings)
    except Exception as error:
        return Support(False, error.message if isinstance(error, PippinError) else f"unsound: {error}")


def _answer(lowerer: Lowerer, model: Model, index: int, mappings: Mappings) -> Support:
    node = model.nodes[index]
    if node.nodeType not in NodeType._value2member_map_ or node.nodeType == NodeType.NONE:
        return Support(False, f"{node.nodeType} is no node type with an operator")
    attributes = check_node(model, index)
    for place in node.inputIndex:
        if place not in lowerer.values:
            _provide(lowerer, model, place, mappings)
    lowerer.node(node.nodeType, attributes, node.inputIndex, node.outputIndex)
    return Support(True)


def _provide(lowerer: Lowerer, model: Model, index: int, mappings: Mappings) -> None:
    """A value for a tensor that no node has made so far: its constant, or an input of its dims."""
    if not 0 <= index < len(model.allTensors):
        raise NnrtError(ReturnCode.INVALID_MODEL, f"there is no tensor {index}")
    tensor = model.allTensors[index]
    if tensor.is_constant:
        raw = mappings.read(tensor.data, ReturnCode.MEMORY_ERROR).array
        lowerer.constant(index, constant_array(model, index, raw))
    else:
        lowerer.input(index)
