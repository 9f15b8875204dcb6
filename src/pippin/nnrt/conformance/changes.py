"""Models that are wrong in one place: what is changed of the Add graph, and the code that it gets.

Where a device may say one thing or the other a row lists both; ``ANY`` stands for any code but SUCCESS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..attributes import AddFusion
from ..enums import DataType, Format
from ..enums import ReturnCode as C
from ..types import Model, Node, QuantParam, SharedBuffer, Tensor

Change = Callable[[Model], Any]
ANY: tuple[C, ...] = ()


@dataclass(frozen=True)
class Row:
    """A change and the codes that are right for it."""

    name: str
    change: Change
    codes: tuple[C, ...]
    basis: str = "suite"


def fields(part: str, **new: Any) -> Change:
    """Sets fields of the model (""), of every tensor, of the first tensor, of the node or of the subgraph."""

    def change(model: Model) -> None:
        objects: dict[str, list[Any]] = {
            "": [model],
            "tensors": model.allTensors,
            "tensor 0": model.allTensors[:1],
            "node": model.nodes,
            "subgraph": model.subGraph,
        }
        for item in objects[part]:
            for name, value in new.items():
                setattr(item, name, value)

    return change


def two_nodes(first: tuple[list[int], list[int]], second: tuple[list[int], list[int]]) -> Change:
    """Two Add nodes with these input and output lists; tensors 3 and 4 are new."""

    def change(model: Model) -> None:
        model.allTensors += [Tensor("a", dims=[3, 2, 2]), Tensor("b", dims=[3, 2, 2])]
        model.nodes = [Node("", AddFusion.node_type, AddFusion().to_bytes(), *lists) for lists in (first, second)]
        model.subGraph[0].nodeIndices = [0, 1]

    return change


NOTHING = SharedBuffer(0, 0, 0, 0)
MODEL, NODE, TYPE = (C.INVALID_MODEL,), (C.INVALID_NODE,), (C.INVALID_DATATYPE,)

REFUSED: list[Row] = [
    Row("allTensors empty", fields("", allTensors=[]), (C.INVALID_TENSOR,)),
    Row("subGraph empty", fields("", subGraph=[]), MODEL),
    Row("nodes empty", fields("", nodes=[]), NODE),
    Row("inputIndex empty", fields("", inputIndex=[]), (C.INVALID_INPUT,)),
    Row("outputIndex empty", fields("", outputIndex=[]), (C.INVALID_OUTPUT,)),
    Row("inputIndex beyond the tensors", fields("", inputIndex=[0, 4]), (C.INVALID_INPUT,), "sample"),
    Row("inputIndex one beyond the last tensor", fields("", inputIndex=[0, 3]), (C.INVALID_INPUT,), "text"),
    Row("outputIndex beyond the tensors", fields("", outputIndex=[4]), (C.INVALID_OUTPUT,), "sample"),
    Row("dataType -1", fields("tensors", dataType=-1), TYPE),
    Row("dataType 1000 of one tensor", fields("tensor 0", dataType=1000), TYPE),
    Row("dataType UNKNOWN", fields("tensor 0", dataType=DataType.UNKNOWN), MODEL),
    Row("dataType INT8 without quantParams", fields("tensor 0", dataType=DataType.INT8), MODEL),
    Row("dataType UINT8 without quantParams", fields("tensor 0", dataType=DataType.UINT8), MODEL),
    Row("format 5", fields("tensors", format=5), (C.INVALID_FORMAT,)),
    Row("format -2", fields("tensors", format=-2), (C.INVALID_FORMAT,), "sample"),
    Row("format NONE", fields("tensors", format=Format.NONE), MODEL),
    Row("data of descriptor 0, of no size", fields("tensors", data=NOTHING), (C.MEMORY_ERROR,)),
    Row("a constant whose descriptor is closed", fields("tensor 0", data=SharedBuffer(1 << 20, 48, 0, 48)),
        (C.MEMORY_ERROR,), "sample"),
    Row("nodeAttr empty", fields("node", nodeAttr=b""), NODE),
    Row("nodeAttr cut", fields("node", nodeAttr=b"\1\0"), NODE, "sample"),
    Row("quantType -1", fields("node", quantType=-1), MODEL),
    Row("quantType 1000", fields("node", quantType=1000), MODEL),
    Row("node.inputIndex empty", fields("node", inputIndex=[]), MODEL),
    Row("node.outputIndex empty", fields("node", outputIndex=[]), MODEL),
    Row("subGraph.inputIndices empty", fields("subgraph", inputIndices=[]), MODEL),
    Row("subGraph.outputIndices empty", fields("subgraph", outputIndices=[]), MODEL),
    Row("subGraph.nodeIndices empty", fields("subgraph", nodeIndices=[]), MODEL),
    Row("subGraph.inputIndices 0 1 3", fields("subgraph", inputIndices=[0, 1, 3]), MODEL),
    Row("dims that do not broadcast", fields("tensor 0", dims=[5, 2, 2]), MODEL, "sample"),
]  # fmt: skip
"""Models that must be refused with a certain code."""

HOSTILE: list[Row] = [
    Row("node type -1", fields("node", nodeType=-1), ANY),
    Row("node type 100000", fields("node", nodeType=100000), ANY),
    Row("a node reads beyond the tensors", fields("node", inputIndex=[0, 7]), ANY),
    Row("a node reads tensor 4294967295", fields("node", inputIndex=[0, (1 << 32) - 1]), ANY),
    Row("a node writes beyond the tensors", fields("node", outputIndex=[1 << 31]), ANY),
    Row("a node writes an input", fields("node", outputIndex=[0]), ANY),
    Row("a node reads what it writes", fields("node", inputIndex=[0, 2]), ANY),
    Row("a cycle", two_nodes(([0, 4], [3]), ([3, 1], [4])), ANY),
    Row("a cycle before the output", two_nodes(([0, 2], [3]), ([3, 1], [2])), ANY),
    Row("two nodes write one tensor", two_nodes(([0, 1], [2]), ([0, 1], [2])), ANY),
    Row("nobody writes what is read", two_nodes(([0, 4], [3]), ([0, 1], [2])), ANY),
    Row("nobody writes the output", two_nodes(([0, 1], [3]), ([0, 1], [4])), ANY),
    Row("nodeIndices beyond the nodes", fields("subgraph", nodeIndices=[1]), ANY),
    Row("nodeIndices name a node twice", fields("subgraph", nodeIndices=[0, 0]), ANY),
    Row("dims of 2^90 elements", fields("tensors", dims=[1 << 30] * 3), ANY),
    Row("dim -2", fields("tensors", dims=[-2, 2]), ANY),
    Row("dim 0 of an input", fields("tensors", dims=[0, 2]), ANY),
    Row("300 dims", fields("tensors", dims=[1] * 300), ANY),
    Row("quantParams of 0 bits", fields("tensors", quantParams=[QuantParam(0, 0, 1.0)]), ANY),
    Row("quantParams with a scale that is no number", fields("tensors", quantParams=[QuantParam(8, 0, float("nan"))]),
        ANY),
]  # fmt: skip
"""Models that must be refused, with whatever code; a device that computes with them reads memory that is not theirs."""

ACCEPTED: list[Row] = [
    Row("dims empty", fields("tensors", dims=[]), (C.SUCCESS,)),
    Row("quantParams empty", fields("tensors", quantParams=[]), (C.SUCCESS,)),
    Row("format NCHW", fields("tensors", format=Format.NCHW), (C.SUCCESS,)),
    Row("quantType NONE", fields("node", quantType=0), (C.SUCCESS,)),
    *(
        Row(f"dataType {name} of one tensor", fields("tensor 0", dataType=DataType[name]), (C.SUCCESS,))
        for name in ("BOOL", "INT16", "INT32", "INT64", "UINT16", "UINT32", "UINT64", "FLOAT16", "FLOAT64")
    ),
]
"""Models that are odd and must be prepared all the same."""
