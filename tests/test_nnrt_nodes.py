"""Runs every row of ``cases/nnrt`` on the device: each node type against its float64 twin, dims known and unknown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cases.nnrt import NodeCase, all_rows
from pippin.errors import PippinError
from pippin.nnrt.authoring import GraphBuilder
from pippin.nnrt.device import Device
from pippin.nnrt.nodes.base import NODES
from pippin.nnrt.types import DataType, NodeType
from pippin.reference.nnrt.interpreter import evaluate, info_of

NOT_LOWERED: set[NodeType] = set()
"""Operators that no device here runs so far; exactly those without a lowering."""

DISAGREE: dict[str, str] = {}
"""Rows that the device answers otherwise than the twin for now, each with what is wrong."""

ROWS = all_rows()
RUNS = [row for row in ROWS if row.refuses is None]
REFUSALS = [row for row in ROWS if row.refuses is not None]
DEVICE = Device()


def parameters(rows: Sequence[NodeCase]) -> list[Any]:
    """The rows as pytest parameters, those that disagree marked."""
    return [
        pytest.param(row, id=row.id, marks=[pytest.mark.xfail(strict=True, reason=DISAGREE[row.id])])
        if row.id in DISAGREE
        else pytest.param(row, id=row.id)
        for row in rows
    ]


def skip_unlowered(row: NodeCase) -> None:
    if row.node_type in NOT_LOWERED:
        pytest.skip(f"{row.node_type.name} is not lowered")


def expected(row: NodeCase) -> list[np.ndarray[Any, Any]]:
    made = [info_of(tensor) for tensor in row.made_tensors()]
    return evaluate(row.struct(), row.arrays(), [info_of(tensor) for tensor in row.tensors()], made)


def check(row: NodeCase, answers: Sequence[np.ndarray[Any, Any]], wanted: Sequence[np.ndarray[Any, Any]]) -> None:
    """Type, dims and values of the outputs."""
    for answer, value, tensor in zip(answers, wanted, row.made_tensors(), strict=True):
        assert answer.dtype.name == DataType(tensor.dataType).name.lower()
        assert answer.shape == value.shape
        if row.unspecified:
            continue
        if tensor.quantParams and answer.dtype.kind in "iu":
            assert np.abs(answer.astype(int) - value.astype(int)).max(initial=0) <= row.steps
        elif answer.dtype.kind in "iub":
            np.testing.assert_array_equal(answer, value)
        else:
            np.testing.assert_allclose(answer.astype(np.float64), value, rtol=row.tolerance, atol=row.tolerance)


def author(row: NodeCase) -> list[tuple[str, list[int]]]:
    """Type and dims that the builder infers for the outputs."""
    g = GraphBuilder()
    refs: list[Any] = []
    for place, (array, tensor) in enumerate(zip(row.arrays(), row.tensors(), strict=True)):
        options: dict[str, Any] = {"format": tensor.format, "quant": tensor.quantParams}
        if row.is_constant(place):
            refs.append(g.constant(array, array.dtype, **options))
        else:
            refs.append(g.input(f"x{place}", array.shape, array.dtype, **options))
    made = row.made_tensors()
    result = g.node(row.struct(), *refs, outputs=len(made), quant=made[0].quantParams, dtype=_declared(row))
    return [(ref.data_type.name.lower(), ref.dims) for ref in (result if isinstance(result, tuple) else (result,))]


def _declared(row: NodeCase) -> Any:
    """A type is only said for quantised outputs and for those that a cast decides."""
    return row.made_tensors()[0].dataType if row.made or (row.types and row.node_type in TYPED) else None


TYPED = {NodeType.CAST, NodeType.QUANT_DTYPE_CAST, NodeType.QUANT_DTYPE_CAST_V2}


@pytest.mark.parametrize("row", parameters(RUNS))
def test_row(row: NodeCase) -> None:
    skip_unlowered(row)
    wanted = expected(row)
    shapes = [value.shape for value in wanted]
    model = row.model(shapes)
    if not model.inputIndex:
        pytest.skip("a model of constants has no input")
    answers = list(DEVICE.prepare(model).predict(row.feeds()).values())
    check(row, answers, wanted)
    if not row.dynamic:
        assert row.why, "a row that does not run with unknown dims says why"
        return
    answers = list(DEVICE.prepare(row.model(shapes, unknown=True)).predict(row.feeds()).values())
    check(row, answers, wanted)


@pytest.mark.parametrize("row", parameters(RUNS))
def test_inferred(row: NodeCase) -> None:
    skip_unlowered(row)
    for (name, dims), value, tensor in zip(author(row), expected(row), row.made_tensors(), strict=True):
        assert name == DataType(tensor.dataType).name.lower()
        assert all(want in (-1, have) for have, want in zip(value.shape, dims, strict=True))


@pytest.mark.parametrize("row", parameters(REFUSALS))
def test_refusal(row: NodeCase) -> None:
    skip_unlowered(row)
    with pytest.raises(PippinError) as caught:
        DEVICE.prepare(row.model()).predict(row.feeds())
    assert re.search(row.refuses or "", str(caught.value), re.IGNORECASE), str(caught.value)
    assert row.node_type.name in str(caught.value), "the message must name the node"


def test_not_lowered_are_those_without_a_lowering() -> None:
    assert {kind for kind in NodeType if kind is not NodeType.NONE and NODES.get(kind) is None} == NOT_LOWERED
