"""An ONNX model as a hub graph: for what starts from the hub and got a file instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import PippinError, ReadError, UnsupportedError
from .builder import OPSET
from .ir import Dim, Graph, Node, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read(proto: Any, folder: str = "") -> Graph:
    """``proto`` (ModelProto) as a graph of the builder's operator set; weights beside the file lie in ``folder``.

    Dtypes and shapes are inferred.  ReadError for a graph that contradicts itself, UnsupportedError for operators that
    cannot be brought to that operator set, and where a rank cannot be known.
    """
    from onnx import external_data_helper, shape_inference

    try:
        model = _at_opset(proto)
        if folder:
            external_data_helper.load_external_data_for_model(model, folder)
        model = shape_inference.infer_shapes(model, data_prop=True)
        graph = _Reader(model.graph, {}).graph()
    except PippinError:
        raise
    except Exception as error:  # onnx raises errors of several kinds, without a base of their own
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ReadError(f"the ONNX graph contradicts itself: {reason[0]}") from None
    graph.opset = OPSET
    return graph


def _at_opset(proto: Any) -> Any:
    """A copy of a model in the builder's operator set."""
    import onnx
    from onnx import version_converter

    have = next((entry.version for entry in proto.opset_import if entry.domain in ("", "ai.onnx")), OPSET)
    if have == OPSET:
        model = onnx.ModelProto()
        model.CopyFrom(proto)
        return model
    try:
        return version_converter.convert_version(proto, OPSET)
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise UnsupportedError(f"operator set {have} cannot be brought to {OPSET}: {reason[0]}") from None


class _Reader:
    """One graph, or a body that may use ``outer`` values; where a type in a body is not known, none is missed."""

    def __init__(self, proto: Any, outer: Mapping[str, Value], *, body: bool = False) -> None:
        self.proto = proto
        self.body = body
        self.outer = outer
        self.values: dict[str, Value] = {}
        self.infos = {info.name: info for info in (*proto.value_info, *proto.output, *proto.input)}
        self.unknown = 0

    def graph(self) -> Graph:
        from onnx import numpy_helper

        result = Graph(self.proto.name or "graph", OPSET)
        if self.proto.sparse_initializer:
            raise UnsupportedError("sparse weights are not read")
        for tensor in self.proto.initializer:
            self._constant(tensor.name, numpy_helper.to_array(tensor))
        for info in self.proto.input:
            if info.name not in self.values:
                self.values[info.name] = self._value(info.name)
                result.inputs.append(self.values[info.name])
        for index, node in enumerate(self.proto.node):
            self._node(result, node, index)
        result.outputs = [self._named(info.name) for info in self.proto.output]
        return result

    def _node(self, result: Graph, proto: Any, index: int) -> None:
        import numpy as np
        from onnx import AttributeProto, helper, numpy_helper

        attributes: dict[str, Any] = {}
        for entry in proto.attribute:
            value = helper.get_attribute_value(entry)
            if entry.type == AttributeProto.TENSOR:
                value = numpy_helper.to_array(value)
            elif entry.type == AttributeProto.GRAPH:
                value = _Reader(value, {**self.outer, **self.values}, body=True).graph()
            elif isinstance(value, bytes):
                value = value.decode("utf-8", "replace")
            attributes[entry.name] = value
        if proto.op_type == "Constant" and not proto.domain:
            (name, data) = next(iter(attributes.items()))
            dtype = {"value_float": np.float32, "value_floats": np.float32}.get(name)
            self._constant(proto.output[0], np.asarray(data, dtype))
            return
        where = f"node {proto.name!r} ({proto.op_type})" if proto.name else f"node {index} ({proto.op_type})"
        inputs = [self._named(name) if name else None for name in proto.input]
        has_body = any(isinstance(value, Graph) for value in attributes.values())
        node = Node(proto.op_type, inputs, [], attributes, proto.name or f"node{index}", where, proto.domain)
        for name in proto.output:
            value = self._value(name, where, vague=has_body) if name else self._unused(node)
            value.node = node
            node.outputs.append(value)
            if name:
                self.values[name] = value
        while node.outputs and not proto.output[len(node.outputs) - 1]:
            node.outputs.pop()
        result.nodes.append(node)

    def _constant(self, name: str, data: NDArray[Any]) -> None:
        self.values[name] = Value(name, data.dtype, data.shape, data)

    def _named(self, name: str) -> Value:
        for values in (self.values, self.outer):
            if name in values:
                return values[name]
        raise ReadError(f"nothing makes {name!r}")

    def _unused(self, node: Node) -> Value:
        import numpy as np

        return Value(f"{node.name}:unused", np.dtype(np.float32), ())

    def _value(self, name: str, where: str = "", *, vague: bool = False) -> Value:
        """A value of the type that inference found; in and behind bodies a scalar stands where it found none."""
        import numpy as np
        from onnx import helper

        info = self.infos.get(name)
        if (self.body or vague) and (info is None or not info.type.tensor_type.HasField("shape")):
            return Value(name, np.dtype(np.float32), ())
        if info is None or not info.type.tensor_type.HasField("shape"):
            raise UnsupportedError(f"the rank of {name!r} cannot be known before the model runs", where=where)
        tensor = info.type.tensor_type
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        return Value(name, dtype, tuple(self._dim(dim) for dim in tensor.shape.dim))

    def _dim(self, dim: Any) -> Dim:
        if dim.HasField("dim_value"):
            return int(dim.dim_value)
        if dim.dim_param:
            return str(dim.dim_param)
        self.unknown += 1
        return f"{self.proto.name}_dim_{self.unknown}"
