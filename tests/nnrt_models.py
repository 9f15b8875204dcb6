"""Small NNRt models for tests: the Add graph of the interface's conformance suites, and one node on its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.nnrt.attributes import AddFusion, Attributes
from pippin.nnrt.buffers import Region
from pippin.nnrt.types import (
    DataType,
    Format,
    IOTensor,
    Model,
    Node,
    QuantParam,
    SharedBuffer,
    SubGraph,
    Tensor,
    data_type_of,
)


def add_model(dims: tuple[int, ...] = (3, 2, 2), data_type: DataType = DataType.FLOAT32) -> Model:
    """out = x + y, all of the same dims."""
    tensors = [Tensor(name, data_type, list(dims), Format.NHWC) for name in ("x", "y", "out")]
    node = Node("Add:0", AddFusion.node_type, AddFusion().to_bytes(), [0, 1], [2])
    return Model("add", [0, 1], [2], [node], tensors, [SubGraph("graph", [0, 1], [2], [0])])


def constant_buffer(array: np.ndarray[Any, Any]) -> SharedBuffer:
    """An array in a region of its own."""
    region = Region(max(array.nbytes, 1))
    region.array[: array.nbytes] = np.ascontiguousarray(array).view(np.uint8).reshape(-1) if array.size else 0
    return region.buffer(0, array.nbytes)


def constant(array: np.ndarray[Any, Any], name: str = "", **options: Any) -> Tensor:
    """A constant tensor."""
    array = np.asarray(array)
    flat = np.ascontiguousarray(array).reshape(-1)
    return Tensor(name, data_type_of(array.dtype), list(array.shape), data=constant_buffer(flat), **options)


def one_node(attributes: Attributes, inputs: list[Tensor], outputs: list[Tensor]) -> Model:
    """A model of one node; inputs that are no constants are the model's."""
    count = len(inputs)
    given = [index for index, tensor in enumerate(inputs) if not tensor.is_constant]
    made = list(range(count, count + len(outputs)))
    node = Node("node:0", attributes.node_type, attributes.to_bytes(), list(range(count)), made)
    return Model("one", given, made, [node], [*inputs, *outputs], [SubGraph("graph", given, made, [0])])


def io_tensor(array: np.ndarray[Any, Any], format: Format = Format.NHWC) -> IOTensor:
    """An array as Run takes it."""
    array = np.asarray(array)
    buffer = constant_buffer(np.ascontiguousarray(array).reshape(-1))
    return IOTensor("", data_type_of(array.dtype), list(array.shape), format, buffer)


def out_tensor(dims: tuple[int, ...], data_type: DataType = DataType.FLOAT32, size: int | None = None) -> IOTensor:
    """Room for an output."""
    from pippin.nnrt.types import byte_size

    region = Region(max(byte_size(data_type, dims) if size is None else size, 1))
    return IOTensor("", data_type, list(dims), Format.NHWC, region.buffer())


def values(tensor: IOTensor, dims: list[int] | None = None) -> np.ndarray[Any, Any]:
    """What stands in an output's memory."""
    from pippin.nnrt.types import byte_size, numpy_type

    dims = tensor.dimensions if dims is None else dims
    size = byte_size(tensor.dataType, dims)
    raw = tensor.data.owner.array[tensor.data.offset : tensor.data.offset + size]
    return raw.view(numpy_type(tensor.dataType)).reshape(dims)


INT8 = [QuantParam(8, 0, 0.2)]
