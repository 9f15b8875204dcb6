"""The twins of indexing, ordering, products, random numbers, reductions, masks, NMS and 3-D layers, by their rows."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases import Case, fill
from cases.coreml.random import DRAWN, Drawn
from cases.coreml.sorting import MANY_TIES
from pippin.coreml import draws
from pippin.coreml.read import read
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
    drawn = {name for row in DRAWN if row.case.kind == kind for name in row.case.params}
    assert set(fields) <= set_somewhere | drawn


@pytest.mark.parametrize("descending", [False, True])
def test_many_equal_values_keep_their_order(descending: bool) -> None:
    values = MANY_TIES[0]
    (case,) = (c for c in RUNS if c.id == f"argSort: many equal values{', descending' * descending}")
    wanted = sorted(range(values.size), key=lambda i: (-values[i] if descending else values[i], i))
    assert run(case)[0][0].tolist() == wanted


# ---- torch's answers


def fixtures() -> dict[str, tuple[Case, dict[int, np.ndarray]]]:
    """Examples of torch, as rows: the answers are those that are known."""
    found = {}
    for path in sorted((Path(__file__).parent / "fixtures").glob("torch_nd_*.npz")):
        name = path.stem.removeprefix("torch_nd_")
        with np.load(path) as arrays:
            for number in range(len({key.split("/")[0] for key in arrays})):
                own = {key.split("/")[1]: arrays[key] for key in arrays if key.split("/")[0] == str(number)}
                params = json.loads(str(own.pop("params")))
                inputs = [own.pop(f"x{i}") for i in range(9) if f"x{i}" in own]
                answers = {i: own.pop(f"y{i}") for i in range(4) if f"y{i}" in own}
                case = Case(name.split("_")[0], str(number), params | own, tuple(inputs), max(answers) + 1)
                found[f"{name} {number}"] = (case, answers)
    return found


FIXTURES = fixtures()


def test_torch_answered_for_each_kind() -> None:
    names = {name.split()[0] for name in FIXTURES}
    assert names == {
        "convolution3d",
        "convolution3d_transposed",
        "pooling3d",
        "layerNormalization",
        "scatterAlongAxis",
        "NonMaximumSuppression",
    }


@pytest.mark.parametrize("name", FIXTURES)
def test_twin_equals_torch(name: str) -> None:
    case, answers = FIXTURES[name]
    ours = run(case)
    for index, wanted in answers.items():
        assert ours[index].shape == wanted.shape
        np.testing.assert_allclose(ours[index], wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("number", [0, 1])
def test_transposed_weights_lie_as_in_files_of_coremltools(number: int) -> None:
    with np.load(Path(__file__).parent / "fixtures" / "coremltools_transposed3d.npz") as arrays:
        file, x, wanted = (arrays[f"{number}/{name}"] for name in ("file", "x", "y"))
    document = read(file.tobytes())
    (layer,) = document.network.layers
    assert layer.convolution3d.isDeconvolution
    answer = Interpreter(document).run({"x": x})[layer.output[0]]
    assert answer.shape == wanted.shape
    np.testing.assert_allclose(answer, wanted, rtol=1e-11, atol=1e-11)


# ---- random numbers

UNIFORM_OF_1 = [0.3093149, 0.35695624, 0.03690453]
NORMAL_OF_1 = [-0.12769549, 1.8121552, -1.5299085]
BERNOULLI_OF_1 = [0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
CATEGORICAL_OF_1 = [3, 3, 3, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("row", DRAWN, ids=lambda row: row.case.id)
def test_draws_are_spread_as_the_parameters_say(row: Drawn) -> None:
    first, second = run(row.case)[0], run(row.case)[0]
    wanted = (1, 20000) if row.case.kind == "categoricalDistribution" else (3, 40, 50)
    assert first.shape == wanted
    assert row.low <= first.min() <= first.max() <= row.high
    # five standard errors: right at random once in two million rows
    error = 5 * max(row.deviation, 1e-9) / first.size**0.5
    assert abs(first.mean() - row.mean) < error
    assert abs(first.std() - row.deviation) < 2 * error
    assert np.array_equal(first, second) == row.repeats


@pytest.mark.parametrize("row", [row for row in DRAWN if row.repeats], ids=lambda row: row.case.id)
def test_another_seed_gives_other_numbers(row: Drawn) -> None:
    layer = row.case.layer()
    params = getattr(layer, row.case.kind)
    fill(params, {"seed": params.seed + 2})
    other = load_twins()[row.case.kind](
        Context(layer, Weights()), params, *(array.astype(np.float64) for array in row.case.arrays())
    )
    assert not np.array_equal(run(row.case)[0], other)


def test_draws_are_those_of_philox() -> None:
    """The words of the generator are fixed by its authors' definition, so the numbers are fixed for good."""
    np.testing.assert_allclose(draws.uniform(1, (3,)), UNIFORM_OF_1, rtol=1e-6)
    np.testing.assert_allclose(draws.normal(1, (3,)), NORMAL_OF_1, rtol=1e-6)
    assert draws.bernoulli(1, (12,), 0.5).tolist() == BERNOULLI_OF_1
    assert draws.categorical(1, [[0.1, 0.2, 0.3, 0.4]], 8, is_logits=False).tolist() == [CATEGORICAL_OF_1]


def test_draws_of_one_seed_do_not_depend_on_each_other() -> None:
    numbers = [draws.uniform(3, (4000,)), draws.normal(3, (4000,)), draws.categorical_levels(3, (4000,))]
    assert np.abs(np.corrcoef(numbers) - np.eye(3)).max() < 0.1
    numbers = [draws.uniform(seed, (4000,)) for seed in (1, 2, 3, 2**40)]
    assert np.abs(np.corrcoef(numbers) - np.eye(4)).max() < 0.1


def test_uniform_stays_below_its_upper_bound() -> None:
    # seven float32 numbers lie in this range: rounding would meet the upper one in one of sixteen draws
    high = np.float32(1) + 8 * np.finfo(np.float32).eps
    values = draws.uniform(5, (1000,), 1.0, float(high))
    assert values.min() >= 1
    assert values.max() < high


def test_the_first_uniform_numbers_of_a_longer_draw_are_the_same() -> None:
    assert np.array_equal(draws.uniform(9, (4,)), draws.uniform(9, (3, 5)).reshape(-1)[:4])


def test_an_empty_draw() -> None:
    assert draws.normal(1, (0, 3)).shape == (0, 3)
    assert draws.categorical(1, np.zeros((0, 3)), 4, is_logits=True).shape == (0, 4)
