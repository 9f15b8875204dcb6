"""Small networks whose answers are known from the platform's own tests, or worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import attributes as a
from ..enums import DataType, PadMode
from ..enums import ReturnCode as C
from ..types import Model, Node, QuantParam, QuantType, SubGraph, Tensor
from .models import add_model, check_dims, constant, one_node
from .outcome import Failed
from .target import Target, values


def _run(target: Target, model: Model, feeds: Sequence[Any], wanted: Sequence[Any], tolerance: float) -> None:
    target.need_model(model)
    prepared = target.prepare(model)
    arrays = [np.asarray(array) for array in wanted]
    outputs = [target.room(array.shape, DataType[array.dtype.name.upper()]) for array in arrays]
    code, dims = target.run(prepared, [target.tensor(np.asarray(feed)) for feed in feeds], outputs)
    target.expect("Run", code, C.SUCCESS)
    check_dims(dims, [array.shape for array in arrays])
    for output, array in zip(outputs, arrays, strict=True):
        answer = values(output, array.shape)
        if not np.allclose(answer.astype(np.float64), array.astype(np.float64), rtol=0, atol=tolerance):
            raise Failed(f"must be {array.reshape(-1)[:8].tolist()}, got {answer.reshape(-1)[:8].tolist()}")


def _two_adds(data_type: DataType, params: Sequence[QuantParam]) -> Model:
    """out = (x + y) + y; the last of ``params`` is the output's."""
    quant = [[param] for param in params] if params else [[]] * 4
    tensors = [
        Tensor(name, data_type, [3, 2, 2], quantParams=list(quant[place]))
        for place, name in enumerate(("x", "y", "sum", "out"))
    ]
    kind = QuantType.ALL if params else QuantType.NONE
    blob, number = a.AddFusion().to_bytes(), a.AddFusion.node_type
    nodes = [Node("Add:0", number, blob, [0, 1], [2], kind), Node("Add:1", number, blob, [2, 1], [3], kind)]
    return Model("adds", [0, 1], [3], nodes, tensors, [SubGraph("graph", [0, 1], [3], [0, 1])])


def _adds(target: Target) -> None:
    feeds = [np.full((3, 2, 2), value, np.float32) for value in (1.23, 2.34)]
    _run(target, _two_adds(DataType.FLOAT32, ()), feeds, [np.full((3, 2, 2), 5.91, np.float32)], 1e-4)


def _adds_backwards(target: Target) -> None:
    """The nodes listed the other way round; the indices say what comes first."""
    model = _two_adds(DataType.FLOAT32, ())
    model.nodes.reverse()
    feeds = [np.full((3, 2, 2), value, np.float32) for value in (1.23, 2.34)]
    _run(target, model, feeds, [np.full((3, 2, 2), 5.91, np.float32)], 1e-4)


def _adds_int8(target: Target) -> None:
    """(0.8 + 1.6) + 1.6 = 4.0, stored as 10 steps of 0.4."""
    params = [QuantParam(8, 0, scale) for scale in (0.2, 0.2, 0.2, 0.4)]
    feeds = [np.full((3, 2, 2), value, np.int8) for value in (4, 8)]
    _run(target, _two_adds(DataType.INT8, params), feeds, [np.full((3, 2, 2), 10, np.int8)], 0)


def _add(target: Target) -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
    _run(target, add_model((1, 2, 2, 1)), [x, x], [2 * x], 1e-8)


def _pooling(target: Target) -> None:
    node = a.AvgPoolFusion(kernelSize=(2, 2), strides=(1, 1), padMode=PadMode.VALID)
    model = one_node(node, [Tensor("x", dims=[1, 3, 3, 1])], [Tensor("y", dims=[1, 2, 2, 1])])
    wanted = np.array([2, 3, 5, 6], np.float32).reshape(1, 2, 2, 1)
    _run(target, model, [np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)], [wanted], target.tolerance)


def _top(target: Target) -> None:
    k = constant(target, np.array(2, np.int32), "k")
    made = [Tensor("values", dims=[1, 2]), Tensor("places", DataType.INT32, [1, 2])]
    model = one_node(a.TopKFusion(axis=-1), [Tensor("x", dims=[1, 6]), k], made)
    wanted = [np.array([[5, 4]], np.float32), np.array([[5, 4]], np.int32)]
    _run(target, model, [np.arange(6, dtype=np.float32).reshape(1, 6)], wanted, target.tolerance)


def _same_input_twice(target: Target) -> None:
    model = add_model()
    model.nodes[0].inputIndex = [0, 0]
    x = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    _run(target, model, [x, 0 * x], [2 * x], 1e-8)


def _two_outputs(target: Target) -> None:
    """A value between the nodes that is an output as well."""
    model = _two_adds(DataType.FLOAT32, ())
    model.outputIndex = model.subGraph[0].outputIndices = [3, 2]
    feeds = [np.full((3, 2, 2), value, np.float32) for value in (1, 2)]
    wanted = [np.full((3, 2, 2), value, np.float32) for value in (5, 3)]
    _run(target, model, feeds, wanted, 1e-6)


def cases() -> list[Any]:
    """The cases of this group."""
    return [
        ("Add of 0, 1, 2, 3 to itself", _add),
        ("two Adds: 1.23 + 2.34 + 2.34", _adds),
        ("two Adds in int8", _adds_int8),
        ("AvgPool of 0 to 8", _pooling),
        ("TopK of 0 to 5", _top, "text"),
        ("nodes that are listed backwards", _adds_backwards, "text"),
        ("an input read twice, another not at all", _same_input_twice, "text"),
        ("two outputs in the model's order", _two_outputs, "text"),
    ]
