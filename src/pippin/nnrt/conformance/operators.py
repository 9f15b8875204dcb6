"""A model of one node for every node type, its outputs held against the float64 reference."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..enums import DataType, NodeType
from ..enums import ReturnCode as C
from ..types import Model, Tensor, data_type_of
from . import fields
from .models import check_dims, constant, one_node
from .outcome import Failed
from .rows import FLAGS, K, Row, params_of, rows
from .target import Target, values

STEPS = 1
"""Steps that a quantised output may be away from the reference: another order of rounding."""


@cache
def _expected(index: int) -> list[Any]:
    from ...reference.nnrt.interpreter import evaluate, info_of

    row = _rows()[index]
    given = [info_of(tensor) for tensor in _inputs(None, row)]
    made = [info_of(tensor) for tensor in _outputs(row, [[] for _ in row.types])]
    return evaluate(row.attributes, row.arrays(), given, made)


@cache
def _rows() -> list[Row]:
    return [*rows(), *fields.rows()]


def _inputs(target: Target | None, row: Row) -> list[Tensor]:
    """The input tensors; constants have memory only where there is a target to give it."""
    tensors = []
    for place, (item, array) in enumerate(zip(row.inputs, row.arrays(), strict=True)):
        params = params_of(row.quant[place] if place < len(row.quant) else None)
        if isinstance(item, K) and target is not None:
            tensors.append(constant(target, array, f"x{place}", params))
        else:
            kind = data_type_of(array.dtype)
            tensors.append(Tensor(f"x{place}", kind, list(array.shape), row.format, quantParams=params))
    return tensors


def _outputs(row: Row, shapes: Any) -> list[Tensor]:
    params = params_of(row.made)
    return [
        Tensor(f"y{place}", DataType[kind.upper()], list(dims), row.format, quantParams=params)
        for place, (kind, dims) in enumerate(zip(row.types, shapes, strict=True))
    ]


def _check(index: int) -> Any:
    def check(target: Target) -> None:
        row, wanted = _rows()[index], _expected(index)
        shapes = [array.shape for array in wanted]
        model = one_node(row.attributes, _inputs(target, row), _outputs(row, shapes))
        target.need_model(model)
        prepared = target.prepare(model)
        feeds = [
            target.tensor(array, row.format)
            for item, array in zip(row.inputs, row.arrays(), strict=True)
            if not isinstance(item, K)
        ]
        outputs = [target.room(dims, tensor.dataType) for dims, tensor in zip(shapes, _made(model), strict=True)]
        code, dims = target.run(prepared, feeds, outputs)
        target.expect("Run", code, C.SUCCESS)
        if row.vague:
            return
        check_dims(dims, shapes)
        for place, (output, value) in enumerate(zip(outputs, wanted, strict=True)):
            _compare(values(output, value.shape), value, place, row, target.tolerance)

    return check


def _made(model: Model) -> list[Any]:
    return [model.allTensors[index] for index in model.outputIndex]


def _compare(answer: Any, wanted: Any, place: int, row: Row, tolerance: float) -> None:
    if answer.dtype.kind in "iub":
        limit = np.full(wanted.shape, STEPS if row.made is not None else 0)
        difference = np.abs(answer.astype(np.int64) - wanted.astype(np.int64))
    else:
        limit = tolerance * (1 + np.abs(wanted))
        difference = np.abs(answer.astype(np.float64) - wanted)
    bad = ~(difference <= limit) & ~((answer == wanted) | ((answer != answer) & (wanted != wanted)))
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise Failed(
            f"output {place} at {list(index)} must be {wanted[index]:.7g}, got {answer[index]:.7g};"
            f" {int(bad.sum())} of {bad.size} differ"
        )


def _assert_fails(target: Target) -> None:
    """A condition that does not hold makes the run fail."""
    from ..attributes import Assert

    given = [Tensor("condition", DataType.BOOL, []), Tensor("data", DataType.FLOAT32, [2])]
    model = one_node(Assert(), given, [Tensor("y", DataType.FLOAT32, [2])])
    target.need_model(model)
    feeds = [target.tensor(np.array(FLAGS[0, 1])), target.tensor(np.ones(2, np.float32))]
    code, _ = target.run(target.prepare(model), feeds, [target.room((2,))])
    target.expect("Run with a false condition", code, C.FAILED)


def missing() -> list[NodeType]:
    """Node types without a row."""
    there = {NodeType(row.attributes.node_type) for row in _rows()}
    return [kind for kind in NodeType if kind not in there and kind is not NodeType.NONE]


def cases() -> list[Any]:
    """The cases of this group, in the order of the node types' numbers."""
    order = sorted(range(len(_rows())), key=lambda index: int(_rows()[index].attributes.node_type))
    found: list[Any] = [(_rows()[index].name, _check(index), "text") for index in order]
    return [*found, ("ASSERT: a condition that does not hold", _assert_fails, "sample")]
