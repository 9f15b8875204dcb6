"""The models of the suite: the Add graph of the platform's own suites, and one node on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..attributes import AddFusion, Attributes
from ..enums import DataType, Format, QuantType
from ..types import IOTensor, Model, Node, QuantParam, SubGraph, Tensor, data_type_of
from .outcome import Failed
from .target import Target, values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

DIMS = (3, 2, 2)


def add_model(dims: Sequence[int] = DIMS, data_type: DataType = DataType.FLOAT32) -> Model:
    """out = x + y."""
    tensors = [Tensor(name, data_type, list(dims), Format.NHWC) for name in ("x", "y", "out")]
    node = Node("Add:0", AddFusion.node_type, AddFusion().to_bytes(), [0, 1], [2])
    return Model("add", [0, 1], [2], [node], tensors, [SubGraph("graph", [0, 1], [2], [0])])


def constant(target: Target, array: Array, name: str = "", quant: Sequence[QuantParam] = ()) -> Tensor:
    """A constant tensor."""
    return Tensor(
        name,
        data_type_of(array.dtype),
        list(array.shape),
        Format.NHWC,
        target.filled(array),
        list(quant),
    )


def one_node(attributes: Attributes, inputs: list[Tensor], outputs: list[Tensor]) -> Model:
    """A model of one node; inputs that are no constants are the model's."""
    count = len(inputs)
    given = [index for index, tensor in enumerate(inputs) if not tensor.is_constant]
    made = list(range(count, count + len(outputs)))
    quantised = QuantType.ALL if outputs[0].quantParams else QuantType.NONE
    node = Node("node:0", attributes.node_type, attributes.to_bytes(), list(range(count)), made, quantised)
    return Model("one", given, made, [node], [*inputs, *outputs], [SubGraph("graph", given, made, [0])])


def add_tensors(target: Target, dims: Sequence[int] = DIMS) -> tuple[list[IOTensor], list[IOTensor]]:
    """Inputs of ones and twos, and room for the output, all of the Add graph."""
    import numpy as np

    x = np.ones(list(dims), np.float32)
    return [target.tensor(x), target.tensor(2 * x)], [target.room(dims)]


def check_add(target: Target, prepared: Any, dims: Sequence[int] = DIMS) -> None:
    """Runs the Add graph: 1 + 2 = 3 everywhere, and the output's dims are told."""
    inputs, outputs = add_tensors(target, dims)
    code, told = target.run(prepared, inputs, outputs)
    target.expect("Run", code, 0)  # type: ignore[arg-type]
    check_dims(told, [dims])
    array = values(outputs[0], dims)
    if not (abs(array - 3) <= 1e-8).all():
        raise Failed(f"1 + 2 must be 3 everywhere, got {array.reshape(-1)[:12].tolist()}")


def check_dims(told: Any, wanted: Sequence[Sequence[int]]) -> None:
    """Failed unless Run told these dims of its outputs."""
    try:
        got = [[int(dim) for dim in dims] for dims in told]
    except (TypeError, ValueError):
        got = told
    if got != [list(dims) for dims in wanted]:
        raise Failed(f"Run must tell the output dims {[list(dims) for dims in wanted]}, got {told!r}")
