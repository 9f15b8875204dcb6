"""Comparisons with answers that were recorded elsewhere, where nothing is known of what lies on the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from PIL import Image

import pippin
from make import picture_network
from pippin.analysis.compare import compare
from pippin.analysis.traces import upstream
from pippin.cli import cli
from pippin.coreml import schema
from pippin.coreml.model import Model

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DIGITS = EXAMPLES / "digits.mlmodel"
SEVEN = EXAMPLES / "digit-7.png"


def recorded(model: Any, picture: Any) -> dict[str, Any]:
    """What an app would write down."""
    answer = model.predict({"image": picture})
    return {"digit": answer["digit"], "probabilities": {str(key): n for key, n in answer["probabilities"].items()}}


Turn = Callable[[NDArray[Any]], NDArray[Any]]


@pytest.mark.parametrize(
    ("turn", "text"),
    [
        (lambda x: x[:, ::-1], "mirrored"),
        (lambda x: x[::-1], "upside down"),
        (lambda x: x[::-1, ::-1], "turned by 180 degrees"),
        (lambda x: np.rot90(x, -1), "turned by 90 degrees"),
        (np.rot90, "turned by 270 degrees"),
    ],
)
def test_a_picture_that_lies_otherwise(turn: Turn, text: str) -> None:
    model = pippin.load(DIGITS)
    answers = recorded(model, np.ascontiguousarray(turn(np.asarray(Image.open(SEVEN)))))
    found = compare(model, answers, {"image": str(SEVEN)})
    assert not found.ok
    assert found.departure is not None
    assert found.departure.suspects == ["input 'image'"]
    assert found.departure.cause.kind == "preprocessing"
    assert found.departure.cause.text == f"the second run sees the picture {text}"


@pytest.mark.parametrize("narrow", [False, True])
def test_preprocessing_that_is_left_out(tmp_path: Path, narrow: bool) -> None:
    """Small differences too, and on a device that computes in float16."""
    pippin.edit(DIGITS).remove_preprocessing("image").save(tmp_path / "other.mlmodel")
    other = pippin.load(tmp_path / "other.mlmodel", precision="float16" if narrow else None)
    found = compare(pippin.load(DIGITS), recorded(other, str(SEVEN)), {"image": str(SEVEN)})
    assert found.departure is not None
    assert found.departure.cause.text == "the second run takes the levels 0..255 without preprocessing"
    assert found.departure.place == "input 'image'"


def test_colours_in_the_other_order() -> None:
    layers: list[Any] = [
        ("pooling", {"globalPooling": True, "type": 1}, ["image"], ["p"]),
        ("activation", {"linear": {"alpha": 2}}, ["p"], ["y"]),
    ]
    model = pippin.load(picture_network(layers).SerializeToString())
    picture = np.random.default_rng(0).integers(0, 99, (3, 4, 3), dtype=np.uint8)
    answers = model.predict({"image": picture[..., ::-1]})
    found = compare(model, answers, {"image": picture})
    assert found.departure is not None
    assert found.departure.cause.text.startswith("RGB stands for BGR")


def test_layers_that_cannot_be_told_apart() -> None:
    """Nothing is blamed that was not seen; what would tell more is said, and does."""
    model = pippin.load(DIGITS)
    spec = schema.message("Model")()
    spec.ParseFromString(DIGITS.read_bytes())
    weights = spec.neuralNetworkClassifier.layers[3].convolution.weights
    weights.floatValue[:] = list(reversed(weights.floatValue))
    other = pippin.load(spec.SerializeToString())
    found = compare(model, recorded(other, str(SEVEN)), {"image": str(SEVEN)})
    assert found.departure is not None
    assert len(found.departure.suspects) == 9
    assert found.departure.suspects[0] == "layer 'conv1' (convolution)"
    assert found.departure.cause.kind == "unknown"
    assert "--add-output conv2 " in found.departure.cause.text
    answers = recorded(other, str(SEVEN)) | {"conv2": other.blobs({"image": str(SEVEN)})["conv2"]}
    found = compare(model, answers, {"image": str(SEVEN)})
    assert found.departure is not None
    assert found.departure.suspects[-1] == "layer 'conv2' (convolution)"
    assert len(found.departure.suspects) == 4


def test_what_lies_between() -> None:
    model = pippin.load(DIGITS)
    assert isinstance(model, Model)
    between = upstream(model, "probabilities", {"conv2"})
    assert list(between.layers) == ["conv2_relu", "conv2_pool", "features", "logits", "probabilities"]
    assert (between.inputs, between.middle()) == ([], "conv2_pool")
    assert upstream(model, "conv1", set()).inputs == ["image"]
    assert upstream(model, "conv1", set()).middle() is None
    layers: list[Any] = [
        ("activation", {"linear": {"alpha": 2}}, ["image"], ["a"]),
        ("activation", {"linear": {"alpha": 3}}, ["a"], ["b"]),
        ("activation", {"linear": {"alpha": 3}}, ["a"], ["c"]),
        ("activation", {"linear": {"alpha": 3}}, ["a"], ["d"]),
        ("add", {}, ["b", "c", "d"], ["e"]),
        ("activation", {"linear": {"alpha": 3}}, ["e"], ["y"]),
    ]
    fork = pippin.load(picture_network(layers).SerializeToString())
    assert upstream(fork, "y", set()).middle() in ("a", "e")
    assert upstream(fork, "d", {"a"}).places == ["layer 'activation3' (activation)"]


def test_many_suspects_on_the_command_line(tmp_path: Path) -> None:
    answers = {"digit": 7, "probabilities": {str(digit): 0.1 for digit in range(10)}}
    (tmp_path / "phone.json").write_text(json.dumps(answers))
    done = CliRunner().invoke(cli, ["compare", str(DIGITS), str(tmp_path / "phone.json"), str(SEVEN)])
    assert done.exit_code == 1
    assert "one of 9 layers, layer 'conv1' (convolution) to layer 'softmax' (softmax)" in done.output
    assert "9 layers lie between, with nothing to compare; blob 'conv2' would halve them" in done.output


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", "holds several answers: keep the one"),
        ("a.jsonl", "holds several answers"),
        ("a.npy", "an array without a name"),
        ("a.nnrt", "NNRt model"),
        ("a.txt", "compare with what?"),
    ],
)
def test_other_sides_that_are_none(tmp_path: Path, name: str, text: str) -> None:
    words = [str(SEVEN), str(EXAMPLES / "digit-8.png")]
    lines = CliRunner().invoke(cli, ["run", str(DIGITS), *words, "--json"]).output
    (tmp_path / name).write_text(lines)
    done = CliRunner().invoke(cli, ["compare", str(DIGITS), str(tmp_path / name), str(SEVEN)])
    assert done.exit_code == 2
    assert text in done.output


# -- as apps write answers down ----------------------------------------------------------------------------------------


def test_the_best_few_classes() -> None:
    """Those that are not recorded are not compared, and do not hide what was done to the picture."""
    model = pippin.load(DIGITS)
    data = {"image": str(SEVEN)}
    found = compare(model, {"probabilities": {"7": 0.99989, "4": 0.000109}}, data)
    assert found.ok
    assert found.notes == ["8 of 10 classes are not recorded, and not compared"]
    assert not compare(model, {"probabilities": {"7": 0.9}}, data).ok
    turned = recorded(model, np.ascontiguousarray(np.rot90(np.asarray(Image.open(SEVEN)))))["probabilities"]
    best = dict(sorted(turned.items(), key=lambda item: -item[1])[:3])
    found = compare(model, {"probabilities": best}, data)
    assert found.departure is not None
    assert found.departure.cause.text == "the second run sees the picture turned by 270 degrees"


def test_observations_of_vision(tmp_path: Path) -> None:
    seen = [{"identifier": "7", "confidence": 0.99989, "uuid": "x"}, {"identifier": "4", "confidence": 0.000109}]
    (tmp_path / "vision.json").write_text(json.dumps(seen))
    done = CliRunner().invoke(cli, ["compare", str(DIGITS), str(tmp_path / "vision.json"), str(SEVEN)])
    assert done.exit_code == 0, done.output
    assert "8 of 10 classes are not recorded" in done.output


@pytest.mark.parametrize("label", [7, 7.0, "7", np.int64(7), np.array([7])])
def test_labels_of_any_type(label: Any) -> None:
    assert compare(pippin.load(DIGITS), {"digit": label}, {"image": str(SEVEN)}).ok
    assert not compare(pippin.load(DIGITS), {"digit": 8.0}, {"image": str(SEVEN)}).ok


@pytest.mark.parametrize("answer", [{"7": None}, [None] * 10])
def test_null_is_no_number(answer: Any) -> None:
    found = compare(pippin.load(DIGITS), {"probabilities": answer}, {"image": str(SEVEN)})
    assert not found.ok
    assert "nan" in found.outputs[0].problem


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ({}, "holds no arrays of numbers: it is empty"),
        ({"x": "7"}, r"holds no arrays of numbers: 'x' is a text \('7'\)"),
        ({"probabilities": {"7": "0.9"}}, r"has no number for '7': a text \('0.9'\)"),
    ],
)
def test_recordings_that_hold_no_numbers(answers: dict[str, Any], text: str) -> None:
    with pytest.raises(pippin.InputError, match=text):
        compare(pippin.load(DIGITS), answers, {"image": str(SEVEN)})
