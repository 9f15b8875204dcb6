"""Checks a model before it is compiled, in the order and with the codes of the interface.

Tensors, subgraphs, nodes, inputs and outputs are there (INVALID_TENSOR, INVALID_MODEL, INVALID_NODE, INVALID_INPUT,
INVALID_OUTPUT); indices of inputs and outputs lie within the tensors; each tensor's type, format (INVALID_DATATYPE,
INVALID_FORMAT) and memory (MEMORY_ERROR); each node's type and attributes (INVALID_NODE); then everything that makes
it a graph which can be computed (INVALID_MODEL): lists, indices, one producer per tensor, no cycle, sizes of constants.
A dim of an input that is neither positive nor -1 is INVALID_SHAPE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import PippinError
from .attributes.base import Attributes
from .buffers import Mappings
from .enums import DataType, Format, NodeType, QuantType, ReturnCode
from .errors import NnrtError
from .parcel import decode
from .types import Model, Node, byte_size, numpy_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_RANK = 32
MAX_BYTES = (1 << 32) - 1


@dataclass
class Checked:
    """A sound model: attributes of each node, arrays of the constants (copies), and nodes in an order that runs."""

    model: Model
    attributes: list[Attributes]
    constants: dict[int, NDArray[Any]]
    order: list[int]


def check_model(model: Model, mappings: Mappings | None = None) -> Checked:
    """Checks a model; NnrtError with the code of the first thing that is wrong, in the order above."""
    mappings = mappings or Mappings()
    check_lists(model)
    constants = _check_tensors(model, mappings)
    attributes = [check_node(model, index) for index in range(len(model.nodes))]
    _check_enums(model)
    check_subgraph(model)
    order = execution_order(model)
    for index in range(len(model.allTensors)):
        check_dims(model, index)
    for index in model.inputIndex:
        check_input_dims(model, index)
    shaped = {index: constant_array(model, index, data) for index, data in constants.items()}
    return Checked(model, attributes, shaped, order)


def node_name(model: Model, index: int) -> str:
    """How errors call a node: its name or number, and its type."""
    node = model.nodes[index]
    known = node.nodeType in NodeType._value2member_map_
    kind = NodeType(node.nodeType).name if known else str(node.nodeType)
    return f"node {node.name!r} ({kind})" if node.name else f"node {index} ({kind})"


def tensor_name(model: Model, index: int) -> str:
    """How errors call a tensor: its number, and its name if it has one."""
    name = model.allTensors[index].name
    return f"tensor {index} {name!r}" if name else f"tensor {index}"


def _refuse(code: ReturnCode, message: str, where: str = "") -> NoReturn:
    raise NnrtError(code, message, where=where)


def check_lists(model: Model) -> None:
    """That there is something of everything, and that inputs and outputs are tensors of the model."""
    for values, code, what in (
        (model.allTensors, ReturnCode.INVALID_TENSOR, "tensor"),
        (model.subGraph, ReturnCode.INVALID_MODEL, "subgraph"),
        (model.nodes, ReturnCode.INVALID_NODE, "node"),
        (model.inputIndex, ReturnCode.INVALID_INPUT, "input"),
        (model.outputIndex, ReturnCode.INVALID_OUTPUT, "output"),
    ):
        if not values:
            _refuse(code, f"a model needs at least one {what}")
    count = len(model.allTensors)
    for values, code, what in (
        (model.inputIndex, ReturnCode.INVALID_INPUT, "inputIndex"),
        (model.outputIndex, ReturnCode.INVALID_OUTPUT, "outputIndex"),
    ):
        bad = _outside(values, count)
        if bad is not None:
            _refuse(code, f"{what} must lie within the {count} tensors, got {bad}")


def _outside(indices: Iterable[int], count: int) -> int | None:
    return next((index for index in indices if not 0 <= index < count), None)


def _check_tensors(model: Model, mappings: Mappings) -> dict[int, NDArray[Any]]:
    """Type, format and memory of each tensor; the bytes of the constants, copied."""
    constants = {}
    for index in range(len(model.allTensors)):
        data = check_tensor(model, index, mappings)
        if data is not None:
            constants[index] = data
    return constants


def check_tensor(model: Model, index: int, mappings: Mappings) -> NDArray[Any] | None:
    """Type, format and memory of one tensor; the bytes of a constant, copied."""
    tensor, name = model.allTensors[index], tensor_name(model, index)
    if tensor.dataType not in DataType._value2member_map_:
        _refuse(ReturnCode.INVALID_DATATYPE, f"{tensor.dataType} is no data type", name)
    if tensor.format not in Format._value2member_map_:
        _refuse(ReturnCode.INVALID_FORMAT, f"the format must be -1, 0 or 1, got {tensor.format}", name)
    if not tensor.is_constant:
        return None
    try:
        return mappings.read(tensor.data, ReturnCode.MEMORY_ERROR).array.copy()
    except NnrtError as error:
        raise error.at(name) from None
    except MemoryError:
        _refuse(ReturnCode.INVALID_BUFFER, f"no room for {tensor.data.dataSize} bytes", name)


def check_node(model: Model, index: int) -> Attributes:
    """Type and attributes of one node."""
    node = model.nodes[index]
    name = node_name(model, index)
    try:
        return decode(node.nodeType, node.nodeAttr)
    except KeyError:
        _refuse(ReturnCode.INVALID_NODE, f"{node.nodeType} is no node type with an operator", name)
    except PippinError as error:
        raise NnrtError(ReturnCode.INVALID_NODE, error.message, where=error.where).at(name) from None


def _check_enums(model: Model) -> None:
    """What the sample driver only finds while it builds: types without a size, formats without a layout."""
    for index in range(len(model.nodes)):
        check_quant_type(model, index)
    for index in range(len(model.allTensors)):
        check_meaning(model, index)


def check_quant_type(model: Model, index: int) -> None:
    """The quantType of one node."""
    kind = model.nodes[index].quantType
    if kind not in QuantType._value2member_map_:
        _refuse(ReturnCode.INVALID_MODEL, f"quantType must be 0 or 1, got {kind}", node_name(model, index))


def check_meaning(model: Model, index: int) -> None:
    """That one tensor has a type, a layout and quantParams with which something can be computed."""
    tensor, name = model.allTensors[index], tensor_name(model, index)
    if tensor.dataType == DataType.UNKNOWN:
        _refuse(ReturnCode.INVALID_MODEL, "the data type is UNKNOWN", name)
    if tensor.format == Format.NONE:
        _refuse(ReturnCode.INVALID_MODEL, "the format must be NCHW or NHWC, got NONE", name)
    for param in tensor.quantParams:
        if not 1 <= param.numBits <= 16 or not 0 <= param.scale < float("inf"):
            _refuse(ReturnCode.INVALID_MODEL, f"{param} needs 1 to 16 bits and a finite scale of 0 or more", name)


def check_subgraph(model: Model) -> None:
    """The one subgraph: the model's inputs and outputs, and nodes that are there."""
    if len(model.subGraph) != 1:
        _refuse(ReturnCode.INVALID_MODEL, f"one subgraph is required, got {len(model.subGraph)}")
    graph = model.subGraph[0]
    for values, wanted, what in (
        (graph.inputIndices, model.inputIndex, "inputIndices"),
        (graph.outputIndices, model.outputIndex, "outputIndices"),
    ):
        if set(values) != set(wanted):
            _refuse(ReturnCode.INVALID_MODEL, f"{what} must name the model's {wanted}, got {values}", "subgraph")
    nodes = graph.nodeIndices
    if not nodes or _outside(nodes, len(model.nodes)) is not None or len(set(nodes)) != len(nodes):
        _refuse(
            ReturnCode.INVALID_MODEL,
            f"nodeIndices must name some of the {len(model.nodes)} nodes, each once, got {nodes[:20]}",
            "subgraph",
        )


def execution_order(model: Model) -> list[int]:
    """The subgraph's nodes, each behind those that it reads from, otherwise in the order given."""
    indices = model.subGraph[0].nodeIndices
    producers = _producers(model, indices)
    waiting = {index: {producers[i] for i in model.nodes[index].inputIndex if i in producers} for index in indices}
    followers: dict[int, list[int]] = {index: [] for index in indices}
    for index, before in waiting.items():
        for other in before:
            followers[other].append(index)
    return _sorted(model, indices, waiting, followers)


def _sorted(
    model: Model, indices: Sequence[int], waiting: dict[int, set[int]], followers: dict[int, list[int]]
) -> list[int]:
    import heapq

    place = {index: position for position, index in enumerate(indices)}
    ready = [place[index] for index in indices if not waiting[index]]
    heapq.heapify(ready)
    order = []
    while ready:
        index = indices[heapq.heappop(ready)]
        order.append(index)
        for follower in followers[index]:
            waiting[follower].discard(index)
            if not waiting[follower]:
                heapq.heappush(ready, place[follower])
    if len(order) < len(indices):
        stuck = next(index for index in indices if waiting[index])
        _refuse(ReturnCode.INVALID_MODEL, "lies on a cycle or behind one", node_name(model, stuck))
    return order


def _producers(model: Model, indices: Sequence[int]) -> dict[int, int]:
    """Tensor → node that writes it; every tensor that is read or comes out must come from somewhere, and from one."""
    count = len(model.allTensors)
    given = set(model.inputIndex) | {index for index, tensor in enumerate(model.allTensors) if tensor.is_constant}
    if len(set(model.inputIndex)) != len(model.inputIndex):
        _refuse(ReturnCode.INVALID_MODEL, f"inputIndex must name each input once, got {model.inputIndex}")
    for index in model.inputIndex:
        if model.allTensors[index].is_constant:
            _refuse(ReturnCode.INVALID_MODEL, "an input has no memory of its own", tensor_name(model, index))
    producers: dict[int, int] = {}
    for index in indices:
        node, name = model.nodes[index], node_name(model, index)
        _check_node_lists(node, count, name)
        for output in node.outputIndex:
            if output in given or output in producers:
                _refuse(ReturnCode.INVALID_MODEL, f"{tensor_name(model, output)} has a value already", name)
            producers[output] = index
    for index in indices:
        for read in model.nodes[index].inputIndex:
            if read not in given and read not in producers:
                _refuse(ReturnCode.INVALID_MODEL, f"nothing writes {tensor_name(model, read)}", node_name(model, index))
    for output in model.outputIndex:
        if output not in given and output not in producers:
            _refuse(ReturnCode.INVALID_MODEL, "nothing writes this output", tensor_name(model, output))
    return producers


def _check_node_lists(node: Node, count: int, name: str) -> None:
    for values, what in ((node.inputIndex, "inputIndex"), (node.outputIndex, "outputIndex")):
        if not values:
            _refuse(ReturnCode.INVALID_MODEL, f"{what} must name at least one tensor", name)
        bad = _outside(values, count)
        if bad is not None:
            _refuse(ReturnCode.INVALID_MODEL, f"{what} must lie within the {count} tensors, got {bad}", name)


def check_input_dims(model: Model, index: int) -> None:
    """The dims of one input."""
    if 0 in model.allTensors[index].dims:
        where = tensor_name(model, index)
        _refuse(ReturnCode.INVALID_SHAPE, "a dim of an input must be positive or -1, got 0", where)


def check_dims(model: Model, index: int) -> None:
    """The dims of one tensor."""
    tensor, name = model.allTensors[index], tensor_name(model, index)
    if len(tensor.dims) > MAX_RANK:
        _refuse(ReturnCode.INVALID_MODEL, f"at most {MAX_RANK} dims are possible, got {len(tensor.dims)}", name)
    if any(dim < -1 or dim >= 1 << 31 for dim in tensor.dims):
        _refuse(ReturnCode.INVALID_MODEL, f"dims must be positive, or -1 for unknown, got {tensor.dims}", name)
    if byte_size(tensor.dataType, tensor.dims) > MAX_BYTES:
        _refuse(ReturnCode.INVALID_MODEL, f"dims {tensor.dims} need more than {MAX_BYTES} bytes", name)


def constant_array(model: Model, index: int, data: NDArray[Any]) -> NDArray[Any]:
    """A constant's bytes as an array of its type and dims."""
    import numpy as np

    tensor, name = model.allTensors[index], tensor_name(model, index)
    size = byte_size(tensor.dataType, tensor.dims)
    if size != len(data):
        _refuse(
            ReturnCode.INVALID_MODEL,
            f"a constant of dims {tensor.dims} and type {DataType(tensor.dataType).name} has {size} bytes,"
            f" got {len(data)}",
            name,
        )
    if tensor.dataType == DataType.BOOL:
        return (data != 0).reshape(tensor.dims)
    return np.frombuffer(data, numpy_type(tensor.dataType)).reshape(tensor.dims)
