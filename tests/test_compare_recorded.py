"""Recorded answers that do not fit: other shapes, labels, types; and classifiers that call their classes otherwise."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin
from cases import normal
from make import add, classifier, network
from pippin.analysis import matching, verify
from pippin.analysis.compare import compare
from pippin.analysis.difference import difference
from pippin.coreml.export import export

ROOT = Path(__file__).resolve().parents[1]
SEVEN = ROOT / "examples/digit-7.png"
DIGITS = ROOT / "examples/digits.mlmodel"


@pytest.fixture(scope="module")
def digits() -> Any:
    return pippin.load(DIGITS)


def against(model: Any, **recorded: Any) -> Any:
    return compare(model, recorded, {"image": str(SEVEN)})


def test_an_output_of_another_size_is_no_agreement(digits: Any) -> None:
    found = against(digits, probabilities=np.zeros(9), conv1=digits.blobs({"image": SEVEN})["conv1"])
    assert not found.ok
    assert found.departure is None
    assert found.outputs[0].problem == "shapes differ: [1, 1, 10, 1, 1] and [9]"
    layers = [("activation", {"linear": {"alpha": 2}}, ["x"], [name]) for name in ("y", "z")]
    model = pippin.load(network(layers, {"x": [4]}, ["y", "z"]).SerializeToString())
    x = normal(4)
    assert compare(model, {"y": 2 * x, "z": 2 * x}, {"x": x}).ok
    assert not compare(model, {"y": 2 * x, "z": 2 * x[:3]}, {"x": x}).ok


def test_a_blob_of_another_size_is_told(digits: Any) -> None:
    answer = digits.blobs({"image": SEVEN})
    found = against(digits, probabilities=answer["probabilities"], conv1=np.zeros(7))
    assert found.ok
    assert found.notes == ["blob 'conv1' is not compared: shapes differ: [1, 1, 8, 16, 16] and [7]"]


@pytest.mark.parametrize("form", [lambda label: label, str, np.array, lambda label: np.array([label])])
def test_recorded_labels(digits: Any, form: Any) -> None:
    scores = digits.predict({"image": SEVEN})["probabilities"]
    assert against(digits, probabilities=scores, digit=form(7)).ok
    assert against(digits, digit=form(7)).ok
    found = against(digits, probabilities=scores, digit=form(3))
    assert not found.ok
    assert found.departure is None
    assert [entry.problem for entry in found.outputs] == ["'7' and '3'", ""]


def test_labels_that_are_as_likely() -> None:
    model = pippin.load(classifier(["a", "b", "c"]).SerializeToString())
    data = {"x": np.float32([0.4, 0.4 + 1e-6, 0.2])}
    assert [compare(model, {"label": label}, data).ok for label in "abc"] == [True, True, False]


def test_recorded_probabilities_of_other_classes(digits: Any) -> None:
    scores = digits.predict({"image": SEVEN})["probabilities"]
    with pytest.raises(pippin.InputError, match="'probabilities' has a label that the model does not have: 'ten'"):
        against(digits, probabilities={**scores, "ten": 0.0})


def test_rows_of_different_lengths(digits: Any) -> None:
    with pytest.raises(pippin.InputError, match="'probabilities' is no array"):
        against(digits, probabilities=json.loads("[[1, 2], [3]]"))


@pytest.mark.parametrize("as_onnx", [False, True])
def test_two_models_with_other_labels(as_onnx: bool, tmp_path: Path) -> None:
    first, second = (classifier(labels) for labels in (["a", "b", "c"], ["a", "x", "c"]))
    models = [pippin.load(message.SerializeToString()) for message in (first, second)]
    if as_onnx:
        for index, model in enumerate(models):
            export(model, tmp_path / f"{index}.onnx")
            models[index] = pippin.load(tmp_path / f"{index}.onnx")
    same = compare(*models, {"x": [3, 1, 2]})
    assert same.ok
    assert same.notes == ["the models have different class labels"]
    other = compare(*models, {"x": [1, 3, 2]})
    assert not other.ok
    assert other.outputs[0].problem == "'b' and 'x'"


@pytest.mark.parametrize("tolerance", [math.nan, math.inf, -1e-4])
def test_a_tolerance_that_is_none(digits: Any, tolerance: float) -> None:
    with pytest.raises(pippin.InputError, match="the tolerance must be a number from 0"):
        compare(digits, "reference", tolerance=tolerance)
    with pytest.raises(pippin.InputError, match="the tolerance must be a number from 0"):
        verify.verify(digits, "missing.onnx", tolerance=tolerance)


def test_what_a_loop_writes_comes_after_what_it_reads() -> None:
    def model(step: float) -> Any:
        one = {"shape": [1], "data": np.float32([step])}
        start = {"shape": [1], "data": np.float32([1])}
        layers = [
            ("loadConstantND", start, [], ["start"]),
            ("copy", {}, ["start"], ["s"]),
            ("loadConstantND", one, [], ["one"]),
            ("loop", {"maxLoopIterations": 3}, [], []),
        ]
        message = network(layers, {"x": [1]}, ["s"])
        body = message.neuralNetwork.layers[3].loop.bodyNetwork
        add(body, [("addBroadcastable", {}, ["s", "one"], ["next"]), ("copy", {}, ["next"], ["s"])])
        return pippin.load(message.SerializeToString())

    found = compare(model(1), model(2))
    assert found.departure is not None
    assert found.departure.place == "layer 'loadConstantND2' (loadConstantND)"
    assert [step.pair.a for step in found.steps] == ["x", "start", "one", "s", "next"]


@pytest.mark.filterwarnings("error")
def test_a_blob_of_zeros_to_go_by() -> None:
    entry = difference("n", np.full(3, 1e6), np.zeros(3), scaled=True)
    assert not entry.ok
    assert entry.excess == math.inf


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0), (0, 2, 1)])
def test_values_decide_between_axes_of_one_size(order: tuple[int, ...]) -> None:
    value = normal(3, 4, 4)
    other = value.transpose(order)
    found = matching.layout(value, other)
    assert found is not None
    if other.shape != value.shape:
        np.testing.assert_array_equal(other.transpose(found), value)


def test_a_picture_for_a_model_that_takes_an_array(digits: Any, tmp_path: Path) -> None:
    for name, options in (("inside", {}), ("outside", {"preprocessing": "outside"})):
        export(digits, tmp_path / f"{name}.onnx", **options)
    inside, outside = (pippin.load(tmp_path / f"{name}.onnx") for name in ("inside", "outside"))
    found = compare(digits, outside, {"image": str(SEVEN)})
    assert found.ok
    assert found.notes == ["outside.onnx takes 'image' as an array: it got the picture after preprocessing"]
    found = compare(inside, outside, {"image": str(SEVEN)})
    assert found.notes == ["outside.onnx takes 'image' as an array: it got the levels 0 to 255 as they are"]


@pytest.mark.parametrize("labels", [["a", "b", "c"], [5, 6, 7]])
def test_labels_that_are_outputs_of_a_graph(labels: Any, tmp_path: Path) -> None:
    model = pippin.load(classifier(labels).SerializeToString())
    export(model, tmp_path / "out.onnx", labels="outputs")
    loaded = pippin.load(tmp_path / "out.onnx")
    for first, second in ((loaded, "reference"), (loaded, loaded), (model, loaded), (loaded, model)):
        found = compare(first, second, {"x": [1, 3, 2]})
        assert found.ok
        assert not [note for note in found.notes if "counterpart" in note]
        assert len({entry.name for entry in found.outputs}) == len(found.outputs)
