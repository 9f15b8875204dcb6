"""Checks before a model is compiled: bad input, code; and hostile graphs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nnrt_models import add_model, constant, one_node
from pippin.nnrt.attributes import AddFusion, Reshape, Squeeze
from pippin.nnrt.errors import NnrtError
from pippin.nnrt.model import check_model
from pippin.nnrt.types import (
    DataType,
    Format,
    Model,
    Node,
    QuantParam,
    ReturnCode,
    SharedBuffer,
    Tensor,
)

Change = Callable[[Model], Any]


def fields(target: str, **values: Any) -> Change:
    """Sets fields of the model (''), of each tensor, of the first tensor, of the node or of the subgraph."""

    def change(model: Model) -> None:
        objects: dict[str, list[Any]] = {
            "": [model],
            "tensors": model.allTensors,
            "tensor 0": model.allTensors[:1],
            "node": model.nodes,
            "subgraph": model.subGraph,
        }
        for item in objects[target]:
            for name, value in values.items():
                setattr(item, name, value)

    return change


def two_nodes(first: tuple[list[int], list[int]], second: tuple[list[int], list[int]]) -> Change:
    def change(model: Model) -> None:
        model.allTensors += [Tensor("a", dims=[3, 2, 2]), Tensor("b", dims=[3, 2, 2])]
        model.nodes = [Node("", AddFusion.node_type, AddFusion().to_bytes(), *lists) for lists in (first, second)]
        model.subGraph[0].nodeIndices = [0, 1]

    return change


TABLE: dict[str, tuple[Change, ReturnCode]] = {
    "no tensors": (fields("", allTensors=[]), ReturnCode.INVALID_TENSOR),
    "no subgraph": (fields("", subGraph=[]), ReturnCode.INVALID_MODEL),
    "no nodes": (fields("", nodes=[]), ReturnCode.INVALID_NODE),
    "no inputs": (fields("", inputIndex=[]), ReturnCode.INVALID_INPUT),
    "no outputs": (fields("", outputIndex=[]), ReturnCode.INVALID_OUTPUT),
    "input beyond the tensors": (fields("", inputIndex=[0, 3]), ReturnCode.INVALID_INPUT),
    "input below": (fields("", inputIndex=[-1, 1]), ReturnCode.INVALID_INPUT),
    "output beyond the tensors": (fields("", outputIndex=[3]), ReturnCode.INVALID_OUTPUT),
    "data type -1": (fields("tensors", dataType=-1), ReturnCode.INVALID_DATATYPE),
    "data type 1000": (fields("tensor 0", dataType=1000), ReturnCode.INVALID_DATATYPE),
    "data type unknown": (fields("tensor 0", dataType=DataType.UNKNOWN), ReturnCode.INVALID_MODEL),
    "format 5": (fields("tensors", format=5), ReturnCode.INVALID_FORMAT),
    "format -2": (fields("tensor 0", format=-2), ReturnCode.INVALID_FORMAT),
    "format none": (fields("tensors", format=Format.NONE), ReturnCode.INVALID_MODEL),
    "data of descriptor 0": (fields("tensors", data=SharedBuffer(0, 0, 0, 0)), ReturnCode.MEMORY_ERROR),
    "closed descriptor": (fields("tensor 0", data=SharedBuffer(98765, 48, 0, 48)), ReturnCode.MEMORY_ERROR),
    "no attributes": (fields("node", nodeAttr=b""), ReturnCode.INVALID_NODE),
    "short attributes": (fields("node", nodeAttr=b"\1\0"), ReturnCode.INVALID_NODE),
    "node type none": (fields("node", nodeType=0), ReturnCode.INVALID_NODE),
    "node type unknown": (fields("node", nodeType=100000), ReturnCode.INVALID_NODE),
    "node type -1": (fields("node", nodeType=-1), ReturnCode.INVALID_NODE),
    "quant type -1": (fields("node", quantType=-1), ReturnCode.INVALID_MODEL),
    "quant type 1000": (fields("node", quantType=1000), ReturnCode.INVALID_MODEL),
    "node without inputs": (fields("node", inputIndex=[]), ReturnCode.INVALID_MODEL),
    "node without outputs": (fields("node", outputIndex=[]), ReturnCode.INVALID_MODEL),
    "node reads beyond": (fields("node", inputIndex=[0, 7]), ReturnCode.INVALID_MODEL),
    "node writes beyond": (fields("node", outputIndex=[1 << 31]), ReturnCode.INVALID_MODEL),
    "subgraph without inputs": (fields("subgraph", inputIndices=[]), ReturnCode.INVALID_MODEL),
    "subgraph without outputs": (fields("subgraph", outputIndices=[]), ReturnCode.INVALID_MODEL),
    "subgraph without nodes": (fields("subgraph", nodeIndices=[]), ReturnCode.INVALID_MODEL),
    "subgraph inputs 0 1 3": (fields("subgraph", inputIndices=[0, 1, 3]), ReturnCode.INVALID_MODEL),
    "subgraph nodes beyond": (fields("subgraph", nodeIndices=[1]), ReturnCode.INVALID_MODEL),
    "subgraph nodes twice": (fields("subgraph", nodeIndices=[0, 0]), ReturnCode.INVALID_MODEL),
    "two subgraphs": (lambda model: model.subGraph.append(model.subGraph[0]), ReturnCode.INVALID_MODEL),
    "input twice": (fields("", inputIndex=[0, 0, 1]), ReturnCode.INVALID_MODEL),
    "node writes an input": (fields("node", outputIndex=[0]), ReturnCode.INVALID_MODEL),
    "two producers": (two_nodes(([0, 1], [2]), ([0, 1], [2])), ReturnCode.INVALID_MODEL),
    "a cycle": (two_nodes(([0, 4], [3]), ([3, 1], [4])), ReturnCode.INVALID_MODEL),
    "a node that reads itself": (fields("node", inputIndex=[0, 2]), ReturnCode.INVALID_MODEL),
    "read before anything": (two_nodes(([0, 4], [3]), ([0, 1], [2])), ReturnCode.INVALID_MODEL),
    "nobody writes the output": (two_nodes(([0, 1], [3]), ([0, 1], [4])), ReturnCode.INVALID_MODEL),
    "dims absurd": (fields("tensors", dims=[1 << 30, 1 << 30, 1 << 30]), ReturnCode.INVALID_MODEL),
    "dims many": (fields("tensors", dims=[1] * 300), ReturnCode.INVALID_MODEL),
    "dim -2": (fields("tensors", dims=[-2, 2]), ReturnCode.INVALID_MODEL),
    "dim 0": (fields("tensors", dims=[0, 2]), ReturnCode.INVALID_SHAPE),
    "bits 0": (fields("tensors", quantParams=[QuantParam(0, 0, 1.0)]), ReturnCode.INVALID_MODEL),
    "scale nan": (fields("tensors", quantParams=[QuantParam(8, 0, float("nan"))]), ReturnCode.INVALID_MODEL),
}


@pytest.mark.parametrize("name", TABLE)
def test_bad_input_has_its_code(name: str) -> None:
    change, code = TABLE[name]
    model = add_model()
    change(model)
    with pytest.raises(NnrtError) as caught:
        check_model(model)
    assert caught.value.code is code, caught.value


@pytest.mark.parametrize(
    "change", [fields("tensors", dims=[]), fields("tensors", quantParams=[]), fields("tensors", format=Format.NCHW),
               fields("tensors", dims=[-1, -1, -1])]
)  # fmt: skip
def test_good_input(change: Change) -> None:
    model = add_model()
    change(model)
    assert check_model(model).order == [0]


ORDER = ["no tensors", "no subgraph", "no nodes", "no inputs", "no outputs", "input beyond the tensors",
         "output beyond the tensors", "data type 1000", "no attributes", "quant type 1000"]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), [(a, b) for i, a in enumerate(ORDER) for b in ORDER[i + 1 :]])
def test_a_model_that_is_wrong_twice_gets_the_first_code(first: str, second: str) -> None:
    model = add_model()
    if second == "input beyond the tensors" and first == "no inputs":
        return  # the same field
    if second == "output beyond the tensors" and first == "no outputs":
        return
    TABLE[second][0](model)
    TABLE[first][0](model)
    with pytest.raises(NnrtError) as caught:
        check_model(model)
    assert caught.value.code is TABLE[first][1]


def test_nodes_run_behind_what_they_read() -> None:
    model = add_model()
    two_nodes(([3, 1], [2]), ([0, 1], [3]))(model)
    assert check_model(model).order == [1, 0]


def test_a_long_chain() -> None:
    model = add_model()
    count = 5000
    model.allTensors += [Tensor(dims=[3, 2, 2]) for _ in range(count)]
    blob = AddFusion().to_bytes()
    model.nodes = [Node("", AddFusion.node_type, blob, [3 + i, 1], [4 + i]) for i in reversed(range(count - 1))]
    model.nodes.append(Node("", AddFusion.node_type, blob, [0, 1], [3]))
    model.nodes.append(Node("", AddFusion.node_type, blob, [2 + count, 1], [2]))
    model.subGraph[0].nodeIndices = list(range(count + 1))
    order = check_model(model).order
    assert order[0] == count - 1
    assert order[-1] == count


def test_constants_are_copied() -> None:
    data = np.arange(4, dtype=np.int32)
    shape = constant(np.array([2, 2], np.int32))
    model = one_node(Reshape(), [Tensor("x", dims=[4]), shape], [Tensor("y", dims=[2, 2])])
    checked = check_model(model)
    shape.data.owner.array[:] = 0
    assert checked.constants[1].tolist() == [2, 2]
    assert data.tolist() == [0, 1, 2, 3]


def test_bool_constants_are_0_or_1() -> None:
    flags = constant(np.array([True, False, True]))
    flags.data.owner.array[:] = [7, 0, 255]
    model = one_node(AddFusion(), [Tensor("x", dims=[3]), flags], [Tensor("y", dims=[3])])
    assert check_model(model).constants[1].view(np.uint8).tolist() == [1, 0, 1]


@pytest.mark.parametrize("size", [4, 12])
def test_constant_of_the_wrong_size(size: int) -> None:
    shape = constant(np.array([2, 2], np.int32))
    shape.data.dataSize = min(size, 8)
    shape.dims = [size // 4]
    if size == 4:
        shape.dims = [2]
    model = one_node(Reshape(), [Tensor("x", dims=[4]), shape], [Tensor("y", dims=[2, 2])])
    with pytest.raises(NnrtError, match="bytes") as caught:
        check_model(model)
    assert caught.value.code is ReturnCode.INVALID_MODEL


def test_constant_with_an_offset() -> None:
    shape = constant(np.array([9, 2, 2], np.int32))
    shape.data.offset, shape.data.dataSize, shape.dims = 4, 8, [2]
    model = one_node(Reshape(), [Tensor("x", dims=[4]), shape], [Tensor("y", dims=[2, 2])])
    assert check_model(model).constants[1].tolist() == [2, 2]
    shape.data.offset = 8
    with pytest.raises(NnrtError) as caught:
        check_model(model)
    assert caught.value.code is ReturnCode.MEMORY_ERROR


def test_constant_in_a_pipe() -> None:
    reader, writer = os.pipe()
    shape = Tensor("s", DataType.INT32, [2], data=SharedBuffer(reader, 8, 0, 8))
    model = one_node(Squeeze(), [Tensor("x", dims=[4]), shape], [Tensor("y", dims=[2, 2])])
    with pytest.raises(NnrtError) as caught:
        check_model(model)
    assert caught.value.code is ReturnCode.MEMORY_ERROR
    os.close(reader)
    os.close(writer)


def test_errors_name_the_place() -> None:
    model = add_model()
    model.nodes[0].nodeAttr = b"\1"
    with pytest.raises(NnrtError, match=r"node 'Add:0' \(ADD_FUSION\): AddFusion: 8 bytes are required, got 1"):
        check_model(model)
