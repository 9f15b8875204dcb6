"""Lowers a checked model to the hub: node by node, each by the function registered for its type.

Nothing here knows what a node computes.  What is common to all stands here: the number of inputs, quantised tensors
(read as real numbers, written as integers), the element type that an output declares, and half precision.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import CheckError, PippinError
from ..graph.ir import Value
from ..graph.registry import Lowering
from .attributes.base import Attributes
from .enums import DataType, NodeType, ReturnCode
from .errors import NnrtError
from .model import MAX_BYTES, Checked, node_name
from .nodes.base import NODES, Context, NodeBuilder
from .nodes.quant import dequantize, levels, quantize
from .types import QuantParam, Tensor, numpy_type

if TYPE_CHECKING:
    from ..graph.ir import Graph

INTEGERS = (DataType.INT8, DataType.INT16, DataType.INT32, DataType.UINT8, DataType.UINT16)


@dataclass
class Lowered:
    """A lowered model; ``inputs`` and ``outputs`` are the graph's names in the model's order."""

    graph: Graph
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


class Lowerer:
    """Lowers the nodes of one model into one graph; ``values`` holds what each tensor is so far."""

    def __init__(self, tensors: Sequence[Tensor], *, half: bool = False, name: str = "model") -> None:
        self.g = NodeBuilder(name)
        self.tensors = tensors
        self.half = half
        self.values: dict[int, Value] = {}

    def input(self, index: int) -> Value:
        """Makes a tensor an input of the graph, its unknown dims new symbols."""
        tensor = self.tensors[index]
        dims = [dim if dim >= 0 else self.g.symbol() for dim in tensor.dims]
        value = self.g.input(tensor.name or f"input{index}", numpy_type(tensor.dataType), dims)
        self.values[index] = self._rounded(value)
        return value

    def constant(self, index: int, data: Any) -> None:
        """Makes a tensor a constant."""
        import numpy as np

        if self.half and data.dtype == "float32":
            with np.errstate(over="ignore"):
                data = data.astype("float16").astype("float32")
        self.values[index] = self.g.constant(data, data.dtype, name=self.tensors[index].name or f"constant{index}")

    def node(
        self, node_type: NodeType | int, attributes: Attributes, inputs: Sequence[int], outputs: Sequence[int]
    ) -> None:
        """Lowers one node.  CheckError if it cannot be, NnrtError (INVALID_NODE) if its type is not lowered."""
        import numpy as np

        entry = NODES.get(NodeType(node_type))
        if entry is None:
            raise NnrtError(ReturnCode.INVALID_NODE, f"{NodeType(node_type).name} is not supported")
        context = Context(
            NodeType(node_type), tuple(self.tensors[i] for i in inputs), tuple(self.tensors[i] for i in outputs)
        )
        self.g.node = context
        first = len(self.g.graph.nodes)
        with np.errstate(all="ignore"):  # constants folded on the way may overflow as the engine's would
            results = self._call(entry, context, attributes, [self.values[i] for i in inputs])
            if len(results) != len(outputs):
                raise CheckError(f"the node must have {len(results)} outputs, got {len(outputs)}")
            for index, value in zip(outputs, results, strict=True):
                self.values[index] = self._rounded(self._declared(value, self.tensors[index]))
        for made in self.g.graph.nodes[first:]:
            _check_size(made.outputs)

    def _call(self, entry: Lowering, context: Context, attributes: Attributes, values: list[Value]) -> list[Value]:
        fewest, most = _arity(entry.function)
        if not fewest <= len(values) <= most:
            wanted = (
                f"{fewest}" if fewest == most else f"{fewest} or more" if most == math.inf else f"{fewest} to {most}"
            )
            raise CheckError(f"the node must have {wanted} inputs, got {len(values)}")
        operands = self._operands(entry.options, context, attributes, values)
        try:
            result = entry.function(self.g, attributes, *operands)
        except (ValueError, TypeError, IndexError, OverflowError, MemoryError) as error:
            if isinstance(error, PippinError):
                raise
            raise CheckError(f"the node contradicts itself: {error}") from error
        return list(result) if isinstance(result, tuple) else [result]

    def _operands(
        self, options: dict[str, Any], context: Context, attributes: Attributes, values: list[Value]
    ) -> list[Value]:
        """The inputs as the lowering wants them: real numbers for quantised ones unless it moves integers."""
        mode = options.get("quantized", "float")
        if mode == "raw" or (mode == "move" and _same_params(context)):
            return values
        if mode == "product" and _whole(context, attributes):
            x, w = context.inputs[:2]
            scales = tuple(x.quantParams[0].scale * param.scale for param in w.quantParams)
            self.g.node = replace(context, scales=scales)
            multiplied = [
                levels(self.g, value, tensor.quantParams) for value, tensor in zip(values, (x, w), strict=False)
            ]
            return multiplied + [self.g.cast(value, "float32") for value in values[2:]]
        result = []
        for place, (tensor, value) in enumerate(zip(context.inputs, values, strict=True)):
            params: Sequence[QuantParam] = tensor.quantParams if tensor.dataType in INTEGERS else ()
            if place == options.get("bias") and tensor.dataType == DataType.INT32:
                params = _bias_params(context) or params
            result.append(dequantize(self.g, value, params) if params else value)
        return result

    def _declared(self, value: Value, tensor: Tensor) -> Value:
        """A result in the element type of its tensor (UNKNOWN: as it is), quantised where that has parameters."""
        if tensor.dataType == DataType.UNKNOWN:
            return value
        wanted = numpy_type(tensor.dataType)
        if tensor.quantParams and tensor.dataType in INTEGERS and value.dtype.kind == "f":
            return quantize(self.g, value, tensor.quantParams, wanted.name)
        return self.g.cast(value, wanted)

    def _rounded(self, value: Value) -> Value:
        if not self.half or value.dtype.name != "float32":
            return value
        return self.g.cast(self.g.cast(value, "float16"), "float32")


def lower(checked: Checked, *, half: bool = False) -> Lowered:
    """Lowers a checked model.  NnrtError: INVALID_MODEL with the node at fault, INVALID_NODE for one not supported."""
    model = checked.model
    lowerer = Lowerer(model.allTensors, half=half, name=model.name or "model")
    result = Lowered(lowerer.g.graph, [lowerer.input(index).name for index in model.inputIndex])
    for index, data in checked.constants.items():
        lowerer.constant(index, data)
    for index in checked.order:
        node, where = model.nodes[index], node_name(model, index)
        try:
            with lowerer.g.scope(node.name or f"node{index}", where):
                lowerer.node(node.nodeType, checked.attributes[index], node.inputIndex, node.outputIndex)
        except NnrtError as error:
            raise (error if error.where else error.at(where)) from None
        except PippinError as error:
            raise NnrtError(
                ReturnCode.INVALID_MODEL, error.message, where=error.where or where, hint=error.hint
            ) from error
    for index in model.outputIndex:
        tensor = model.allTensors[index]
        result.outputs.append(lowerer.g.output(lowerer.values[index], tensor.name or f"output{index}").name)
    return result


def _same_params(context: Context) -> bool:
    """Whether all quantised tensors of a node share type and parameters, one set for the whole tensor."""
    tensors = [t for t in (*context.inputs, *context.outputs) if t.quantParams and t.dataType in INTEGERS]
    return all(
        len(t.quantParams) == 1 and t.quantParams == tensors[0].quantParams and t.dataType == tensors[0].dataType
        for t in tensors
    )


def _whole(context: Context, attributes: Attributes) -> bool:
    """Whether a product can be one of whole numbers: one scale for x, one for w or one for each channel of the result.

    Those of w lie along its first dim, so that must be the one with these channels.  The bias must be int32.
    """
    x, w = context.inputs[:2] if len(context.inputs) > 1 else (Tensor(), Tensor())
    if not all(tensor.quantParams and tensor.dataType in INTEGERS for tensor in (x, w)) or len(x.quantParams) != 1:
        return False
    if len(context.inputs) > 2 and context.inputs[2].dataType != DataType.INT32:
        return False
    per_row = context.node_type in (NodeType.CONV2D_FUSION, NodeType.FULL_CONNECTION) or (
        context.node_type == NodeType.MATMUL_FUSION and getattr(attributes, "transposeB", False) and len(w.dims) == 2
    )
    return len(w.quantParams) == 1 or per_row


def _bias_params(context: Context) -> list[QuantParam]:
    """The parameters of an int32 bias: zero point 0, the product of the scales of the first two inputs."""
    x, w = context.inputs[0].quantParams, context.inputs[1].quantParams
    if len(x) != 1 or context.inputs[0].dataType not in INTEGERS:
        return []
    return [QuantParam(32, 0, x[0].scale * param.scale) for param in w] or [QuantParam(32, 0, x[0].scale)]


def _check_size(values: Sequence[Value]) -> None:
    for value in values:
        known = [dim for dim in value.shape if isinstance(dim, int)]
        if math.prod(known) * value.dtype.itemsize > MAX_BYTES:
            raise CheckError(f"a tensor of dims {list(value.shape)} needs more than {MAX_BYTES} bytes")


@cache
def _arity(function: Any) -> tuple[int, float]:
    """The fewest and the most inputs of a lowering, by its signature behind the builder and the attributes."""
    operands = list(inspect.signature(function).parameters.values())[2:]
    if any(operand.kind is operand.VAR_POSITIONAL for operand in operands):
        return max(1, len(operands) - 1), math.inf
    return sum(operand.default is operand.empty for operand in operands), len(operands)
