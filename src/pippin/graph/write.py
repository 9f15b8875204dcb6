"""Writes a hub graph as an ONNX model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .ir import Graph, Node, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

IR_VERSION = 10
INLINE = 1024
"""Constants of more bytes than this are handed over beside the model, unserialised."""


@dataclass
class Written:
    """An ONNX ModelProto; ``weights`` are the constants that it names but does not hold, in no copy."""

    model: Any
    weights: dict[str, NDArray[Any]] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)
    """Node name → place in the source model, for errors of the engine."""
    repacked: frozenset[str] = frozenset()
    """Weights that the engine brings into a layout of its own and keeps in no other."""


def write(graph: Graph, *, inline: int | None = INLINE, metadata: dict[str, str] | None = None) -> Written:
    """Writes ``graph``. Constants above ``inline`` bytes are left out (None: all are written into the model)."""
    from onnx import helper

    writer = _Writer(inline)
    proto = writer.graph(graph, writer.initializers(graph))
    opsets = {"": graph.opset} | {node.domain: 1 for node in graph.walk() if node.domain}
    model = helper.make_model(
        proto,
        producer_name="pippin",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in opsets.items()],
    )
    if metadata:
        helper.set_model_props(model, metadata)
    where = {node.name: node.where for node in graph.walk() if node.where}
    return Written(model, writer.weights, where, _repacked(graph))


def _repacked(graph: Graph) -> frozenset[str]:
    """Weights of nothing but convolutions of pictures of known size: the engine works on them in blocks of channels."""
    found: set[str] = set()
    others: set[str] = set()
    for node in graph.walk():
        for index, value in enumerate(node.inputs):
            if value is not None and value.data is not None and value.data.nbytes > INLINE:
                blocks = node.op == "Conv" and index == 1 and value.rank == 4 and value.shape[0] != 1
                plain = not blocks or node.attributes.get("group", 1) != 1 or not _static(node)
                (others if plain else found).add(value.name)
    return frozenset(found - others)


def _static(node: Node) -> bool:
    return node.inputs[0] is not None and node.inputs[0].static


class _Writer:
    def __init__(self, inline: int | None) -> None:
        self.inline = inline
        self.weights: dict[str, NDArray[Any]] = {}

    def initializers(self, graph: Graph) -> list[Any]:
        """All constants, those of subgraphs too: they stand in the outermost graph, where every body sees them."""
        import numpy as np
        from onnx import TensorProto, helper, numpy_helper

        protos = []
        for value in graph.constants():
            data = value.data
            assert data is not None
            if self.inline is None or data.nbytes <= self.inline:
                protos.append(numpy_helper.from_array(np.ascontiguousarray(data).reshape(data.shape), value.name))
                continue
            self.weights[value.name] = data
            proto = TensorProto(
                name=value.name,
                dims=data.shape,
                data_type=helper.np_dtype_to_tensor_dtype(data.dtype),
                data_location=TensorProto.EXTERNAL,
            )
            proto.external_data.add(key="location", value="weights")
            protos.append(proto)
        return protos

    def graph(self, graph: Graph, initializers: list[Any]) -> Any:
        from onnx import helper

        return helper.make_graph(
            [self.node(node) for node in graph.nodes],
            graph.name,
            [_info(value) for value in graph.inputs],
            [_info(value) for value in graph.outputs],
            initializers,
        )

    def node(self, node: Node) -> Any:
        import numpy as np
        from onnx import helper, numpy_helper

        attributes: dict[str, Any] = {}
        for name, value in node.attributes.items():
            if callable(value):  # a Python function, which only our own runner can call
                continue
            if isinstance(value, Graph):
                value = self.graph(value, [])
            elif isinstance(value, np.ndarray):
                value = numpy_helper.from_array(value)
            attributes[name] = value
        return helper.make_node(
            node.op,
            ["" if value is None else value.name for value in node.inputs],
            [value.name for value in node.outputs],
            name=node.name,
            domain=node.domain or None,
            **attributes,
        )


def _info(value: Value) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
