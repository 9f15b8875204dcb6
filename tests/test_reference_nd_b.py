"""The twins of indexing, ordering, products, random numbers, reductions, masks, NMS and 3-D layers, by their rows."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from cases import Case
from pippin.coreml.weights import Weights
from pippin.errors import PippinError
from pippin.reference.coreml.interpreter import Interpreter
from pippin.reference.coreml.registry import Context, load_twins

FAMILIES = {
    "gather_scatter": ("gather", "scatter", "gatherND", "scatterND", "gatherAlongAxis", "scatterAlongAxis"),
    "sorting": ("topK", "argMin", "argMax", "argSort"),
    "matmul": ("batchedMatmul", "embeddingND"),
    "int8": ("batchedMatmul", "innerProduct"),
    "random": (
        *(
            f"random{name}{form}"
            for name in ("Normal", "Uniform", "Bernoulli")
            for form in ("Like", "Static", "Dynamic")
        ),
        "categoricalDistribution",
    ),
    "reduce_nd": (
        *(f"reduce{name}" for name in ("L1", "L2", "Max", "Min", "Sum", "Prod", "Mean", "LogSum", "SumSquare")),
        "reduceLogSumExp",
    ),
    "masks": ("whereNonZero", "whereBroadcastable", "matrixBandPart", "lowerTriangular", "upperTriangular"),
    "layer_norm": ("layerNormalization",),
    "nms": ("NonMaximumSuppression",),
    "volume": ("pooling3d", "globalPooling3d"),
    "convolution_3d": ("convolution3d",),
    "misc": ("oneHot", "cumSum"),
}


def module(family: str) -> Any:
    return importlib.import_module(f"cases.coreml.{family}")


ROWS: list[Case] = [case for family in FAMILIES for case in module(family).CASES]
RUNS = [case for case in ROWS if case.refuses is None]
REFUSALS = [case for case in ROWS if case.refuses is not None]
KINDS = sorted({kind for kinds in FAMILIES.values() for kind in kinds})


def run(case: Case) -> tuple[np.ndarray, ...]:
    layer = case.layer()
    inputs = [array.astype(np.float64) for array in case.arrays()]
    result = load_twins()[case.kind](Context(layer, Weights()), getattr(layer, case.kind), *inputs)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_kind_has_a_twin_rows_and_a_refusal(family: str) -> None:
    rows = module(family).CASES
    assert {case.kind for case in rows} == set(FAMILIES[family])
    for kind in FAMILIES[family]:
        assert kind in load_twins()
        assert sum(case.kind == kind and case.refuses is None for case in rows) >= 3, f"{kind}: too few rows"
        assert any(case.kind == kind and case.refuses for case in rows), f"{kind}: no refusal"


def test_ids_are_unique() -> None:
    ids = [case.id for case in ROWS]
    assert len(ids) == len(set(ids)), sorted(i for i in ids if ids.count(i) > 1)


@pytest.mark.parametrize("case", RUNS, ids=lambda case: case.id)
def test_row(case: Case) -> None:
    answers = run(case)
    assert len(answers) == case.outputs
    for answer in answers:
        assert answer.dtype == np.float64
        assert answer.ndim >= 1, "the format has no tensors of rank 0"
        assert np.isfinite(answer).all(), "a row that cannot tell a wrong value"
    for answer, known in zip(answers, case.expect or (), strict=bool(case.expect)):
        wanted = np.asarray(known, np.float64)
        assert answer.shape == wanted.shape
        np.testing.assert_allclose(answer, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.id)
def test_refusal(case: Case) -> None:
    blobs = {f"x{index}": array for index, array in enumerate(case.arrays())}
    with pytest.raises(PippinError) as caught:
        Interpreter(case.model().neuralNetwork).run(blobs)
    assert case.refuses is not None
    assert case.refuses in str(caught.value)
    assert f"({case.kind})" in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_tell_all_fields_apart(kind: str) -> None:
    """Each field of the parameters differs from its default in a row that runs: none is there unseen."""
    fields = [field.name for field in getattr(RUNS[0].layer(), kind).DESCRIPTOR.fields]
    set_somewhere = {name for case in RUNS if case.kind == kind for name in case.params}
    drawn = {
        name for row in getattr(module("random"), "DRAWN", []) if row.case.kind == kind for name in row.case.params
    }
    assert set(fields) <= set_somewhere | drawn
