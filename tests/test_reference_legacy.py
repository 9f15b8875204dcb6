"""The float64 twins of the layer kinds of the first format versions: known answers, refusals, laws, torch's answers."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from cases import Case
from cases.coreml import recurrent, torch_answers
from cases.coreml.convolution import valid
from pippin.coreml.schema import message
from pippin.coreml.weights import Weights
from pippin.errors import CheckError, PippinError, RunError, UnsupportedError
from pippin.reference.coreml.interpreter import evaluate
from pippin.reference.coreml.registry import Context, load_twins

FAMILIES = (
    "convolution",
    "pooling",
    "activation",
    "dense",
    "normalization",
    "spatial",
    "elementwise_legacy",
    "reduce_legacy",
    "shape_legacy",
    "recurrent",
    "custom",
    "torch_answers",
)
ROWS: list[Case] = [case for name in FAMILIES for case in importlib.import_module(f"cases.coreml.{name}").CASES]
RUNS = [case for case in ROWS if case.refuses is None]
REFUSALS = [case for case in ROWS if case.refuses is not None]
# the numbers that the format gave the layers of its first versions
KINDS = [
    field.name
    for field in message("NeuralNetworkLayer").DESCRIPTOR.oneofs_by_name["layer"].fields
    if 100 <= field.number <= 500
]


def run(case: Case, *replaced: Any) -> list[Any]:
    """What the twin answers to the inputs of a row, or to other ones."""
    inputs = [np.asarray(array, np.float64) for array in replaced or case.arrays()]
    with np.errstate(all="ignore"):
        return list(evaluate(case.layer(), inputs, Weights()))


def case_of(kind: str, note: str) -> Case:
    """The row of that name."""
    (found,) = [case for case in ROWS if case.kind == kind and case.note == note]
    return found


def test_there_are_39_kinds() -> None:
    assert len(KINDS) == 39


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_twin_rows_and_a_refusal(kind: str) -> None:
    assert kind in load_twins(), "no twin"
    assert kind == "custom" or any(case.kind == kind for case in RUNS), "no row"
    assert any(case.kind == kind for case in REFUSALS), "no refusal"
    assert kind == "custom" or any(case.rank5 for case in RUNS if case.kind == kind), "no row of the legacy mapping"


def test_rows_are_of_these_kinds() -> None:
    assert {case.kind for case in ROWS} == set(KINDS)


def test_each_value_of_each_enumeration_has_a_row() -> None:
    missing = []
    for kind in KINDS:
        field = message("NeuralNetworkLayer").DESCRIPTOR.fields_by_name[kind]
        for own in field.message_type.fields:
            if own.enum_type:
                seen = {getattr(getattr(case.layer(), kind), own.name) for case in RUNS if case.kind == kind}
                missing += [f"{kind}.{own.name} {v.name}" for v in own.enum_type.values if v.number not in seen]
    assert not missing


def test_each_field_is_set_in_a_row() -> None:
    missing = []
    for kind in KINDS:
        if kind == "custom":
            continue
        layers = [getattr(case.layer(), kind) for case in RUNS if case.kind == kind]
        set_ = {field.name for layer in layers for field, _ in layer.ListFields()}
        missing += [f"{kind}.{f.name}" for f in layers[0].DESCRIPTOR.fields if f.name not in set_]
    assert not missing


@pytest.mark.parametrize("case", RUNS, ids=lambda case: case.id)
def test_row(case: Case) -> None:
    answers = run(case)
    assert len(answers) == case.outputs
    assert all(np.isfinite(answer).all() for answer in answers)
    # torch's answers are stored as float32, the others are exact up to the float32 inputs
    tolerance = 1e-6
    for answer, known in zip(answers, case.expect or (), strict=bool(case.expect)):
        wanted = np.asarray(known, np.float64)
        assert wanted.size == answer.size
        if wanted.ndim == answer.ndim:
            assert wanted.shape == answer.shape
        np.testing.assert_allclose(answer, wanted.reshape(answer.shape), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.id)
def test_refusal(case: Case) -> None:
    with pytest.raises((CheckError, UnsupportedError)) as caught:
        run(case)
    assert case.refuses is not None
    assert case.refuses in str(caught.value)


@pytest.mark.parametrize("case", torch_answers.CASES, ids=lambda case: case.id)
def test_torch_answers_differ_from_other_parameters(case: Case) -> None:
    """A row that answers the same whatever the numbers are would show nothing."""
    other = [array + np.float32(0.125) * np.arange(array.size).reshape(array.shape) for array in case.arrays()]
    assert case.expect is not None
    assert not np.allclose(run(case, *other)[0], case.expect[0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", ["simpleRecurrent", "gru", "uniDirectionalLSTM"])
def test_two_halves_with_the_state_handed_over_are_the_whole(kind: str) -> None:
    case = case_of(kind, "all steps")
    x, *states = case.arrays()
    whole = run(case)
    first = run(case, x[:2], *states)
    second = run(case, x[2:], *first[1:])
    np.testing.assert_allclose(np.concatenate([first[0], second[0]]), whole[0], rtol=1e-12)
    for got, wanted in zip(second[1:], whole[1:], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", ["simpleRecurrent", "gru", "uniDirectionalLSTM"])
def test_reversed_is_the_mirror_image(kind: str) -> None:
    x, *states = case_of(kind, "all steps").arrays()
    forward = run(case_of(kind, "all steps"), x[::-1], *states)
    backward = run(case_of(kind, "all steps, reversed"), x, *states)
    np.testing.assert_allclose(backward[0], forward[0][::-1], rtol=1e-12)
    np.testing.assert_allclose(backward[1], forward[1], rtol=1e-12)


def test_two_ways_are_two_one_way_layers() -> None:
    case = case_of("biDirectionalLSTM", "all steps")
    x, *states = case.arrays()
    both = run(case)
    one = recurrent.lstm(recurrent.ALL, weightParams=recurrent.cell())
    back = recurrent.lstm(recurrent.ALL, weightParams=recurrent.cell(100), reverseInput=True)
    forward = run(Case("uniDirectionalLSTM", "forward", one, (x, *states[:2]), 3))
    backward = run(Case("uniDirectionalLSTM", "backward", back, (x, *states[2:]), 3))
    np.testing.assert_allclose(both[0], np.concatenate([forward[0], backward[0]], 2), rtol=1e-12)
    for got, wanted in zip(both[1:], [*forward[1:], *backward[1:]], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_reset_comes_before_the_product() -> None:
    """The other order gives [-0.06888871, 0.40743236] for the same weights."""
    (y,) = run(case_of("gru", "two units, known answer"))
    assert abs(y[0, 0, 1, 0, 0] - 0.40743236) > 0.05


def test_deconvolution_is_the_transpose_of_convolution() -> None:
    """⟨conv(x), y⟩ = ⟨x, deconv(y)⟩ for the same weights."""
    rng = np.random.default_rng(5)
    weights = rng.standard_normal((4, 3, 3, 2)).astype(np.float32)
    shared = {"kernelSize": (3, 2), "stride": (2, 3), "weights": weights, "valid": {}}
    x = rng.standard_normal((1, 3, 7, 8))
    there = run(Case("convolution", "", shared | {"outputChannels": 4, "kernelChannels": 3}, ((1,),)), x)[0]
    y = rng.standard_normal(there.shape)
    turned = {"outputChannels": 3, "kernelChannels": 4, "isDeconvolution": True}
    back = run(Case("convolution", "", shared | turned, ((1,),)), y)[0]
    assert back.shape == x.shape
    np.testing.assert_allclose((there * y).sum(), (x * back).sum(), rtol=1e-10)


def test_space_to_depth_undoes_depth_to_space() -> None:
    x = np.random.default_rng(6).standard_normal((2, 12, 3, 2))
    params = {"blockSize": 2}
    wide = run(Case("reorganizeData", "", params | {"mode": "DEPTH_TO_SPACE"}, ((1,),)), x)[0]
    np.testing.assert_array_equal(run(Case("reorganizeData", "", params, ((1,),)), wide)[0], x)


@pytest.mark.parametrize(("values", "size"), [([4.0], 4), ([-1.0], 4)])
def test_embedding_refuses_indices_that_are_not_there(values: list[float], size: int) -> None:
    params = {"inputDim": size, "outputChannels": 1, "weights": np.arange(size)}
    with pytest.raises(RunError, match=r"index must lie in \[0, 3\]"):
        run(Case("embedding", "", params, (np.reshape(values, (1, 1, 1, 1)),)))


def test_custom_calls_the_function_of_its_class() -> None:
    case = Case("custom", "", {"className": "Times", "parameters": {"factor": {"intValue": 2}}}, ((2, 3),))

    def times(context: Context, params: Any, x: Any) -> Any:
        return params.parameters["factor"].intValue * x

    inputs = [array.astype(np.float64) for array in case.arrays()]
    (y,) = evaluate(case.layer(), inputs, Weights(), {"Times": times})
    np.testing.assert_array_equal(y, 2 * inputs[0])


def test_global_pooling_of_a_large_plane() -> None:
    x = np.ones((1, 200, 64, 64))
    (y,) = run(Case("pooling", "", {"type": "AVERAGE", "globalPooling": True, "valid": {}}, ((1,),)), x)
    np.testing.assert_allclose(y, np.ones((1, 200, 1, 1)), rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "params", "shape"),
    [
        ("upsample", {"scalingFactor": (1 << 40, 1 << 40)}, (1, 2, 2)),
        ("resizeBilinear", {"targetSize": (1 << 40, 1)}, (1, 2, 2)),
        ("pooling", {"kernelSize": (1 << 27, 1), **valid(1 << 27, 1 << 27, 0, 0)}, (1, 1, 2, 2)),
        ("sequenceRepeat", {"nRepetitions": 1 << 60}, (1, 1, 1, 1, 1)),
        ("padding", {"constant": {}, "paddingAmounts": {"borderAmounts": [{"endEdgeSize": 1 << 50}, {}]}}, (1, 2, 2)),
    ],
)
def test_a_few_bytes_do_not_ask_for_all_memory(kind: str, params: dict[str, Any], shape: tuple[int, ...]) -> None:
    with pytest.raises(PippinError):
        run(Case(kind, "", params, (shape,)))
