"""``pippin train`` as a command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin
from test_training_loop import DIGITS, EXAMPLES, linear

TRAIN, HELD = f"{EXAMPLES}/digits.npz:train", f"{EXAMPLES}/digits.npz:held-out"


def pippin_(*words: Any, code: int = 0) -> tuple[str, str]:
    """stdout and stderr of a command that must end with ``code``."""
    done = subprocess.run(
        [sys.executable, "-m", "pippin", *map(str, words)], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.mark.slow
def test_the_example_learns_digits(tmp_path: Path) -> None:
    """From random weights to more than 97 % of digits that it never saw, within seconds."""
    pippin_("train", DIGITS, "--data", TRAIN, "--output", tmp_path / "trained.mlmodel")
    model = pippin.load(tmp_path / "trained.mlmodel")
    with np.load(EXAMPLES / "digits.npz") as data:
        images, digits = data["held-out/image"], data["held-out/digit"]
    answers = model.predict([{"image": image} for image in images])
    right = np.mean([answer["digit"] == digit for answer, digit in zip(answers, digits, strict=True)])
    assert right > 0.97
    before = pippin.load(DIGITS).predict([{"image": image} for image in images])
    assert np.mean([answer["digit"] == digit for answer, digit in zip(before, digits, strict=True)]) < 0.5


def test_text_and_json(tmp_path: Path) -> None:
    words = ("train", DIGITS, "--data", TRAIN, "--validation", HELD, "--epochs", 2, "--output", tmp_path / "o.mlmodel")
    text, talk = pippin_(*words)
    lines = text.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("epoch 1/2  loss ")
    assert "validation accuracy" in lines[1]
    assert talk == f"wrote {tmp_path / 'o.mlmodel'}\n", "no bar where nobody looks"
    found = [json.loads(line) for line in pippin_(*words, "--json")[0].splitlines()]
    assert [entry["epoch"] for entry in found] == [1, 2]
    assert {entry["schema"] for entry in found} == {"pippin.train/1"}
    assert f"loss {found[0]['loss']:.6f}" in lines[0]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((DIGITS,), 2, "--data is missing"),
        ((DIGITS, "--data", TRAIN), 2, "--output is missing"),
        ((DIGITS, "--data", TRAIN, "--output", "/nowhere/o.mlmodel"), 2, "no folder /nowhere"),
        ((DIGITS, "--data", TRAIN, "--layers", "a", "--output", "o"), 2, "go with --make-updatable"),
        ((DIGITS, "--data", TRAIN, "--epochs", 1000, "--output", "o"), 1, "between 1 and 100, as the file says"),
        ((DIGITS, "--data", "none.npz", "--output", "o"), 1, "no such file"),
        ((EXAMPLES / "digits.mlmodel", "--data", TRAIN, "--output", "o"), 1, "--make-updatable"),
        ((DIGITS, "--data", TRAIN, "--momentum", 0.5, "--output", "o"), 1, "has no momentum"),
    ],
)
def test_wrong_use(words: Any, code: int, message: str) -> None:
    assert message in pippin_("train", *words, code=code)[1]


def test_gradients_are_checked(tmp_path: Path) -> None:
    text, _ = pippin_("train", DIGITS, "--data", TRAIN, "--check-gradients")
    assert "conv1/weights" in text
    assert "DIFFERS" not in text
    found = json.loads(pippin_("train", DIGITS, "--data", TRAIN, "--check-gradients", "--json")[0])
    assert found["ok"]
    assert len(found["parameters"]) == 6


def test_made_updatable_and_trained(tmp_path: Path) -> None:
    target = tmp_path / "u.mlmodel"
    text, _ = pippin_(
        "train", EXAMPLES / "digits.mlmodel", "--make-updatable", "--layers", "dense", "--optimizer", "adam",
        "--learning-rate", 0.002, "--output", target,
    )  # fmt: skip
    assert text.startswith("trains dense; ")
    assert pippin.check(target).ok
    text, _ = pippin_("train", target, "--data", TRAIN, "--epochs", 1, "--output", tmp_path / "t.mlmodel")
    assert "accuracy 9" in text
    words = ("train", EXAMPLES / "digits-4bit.mlmodel", "--make-updatable", "--data", TRAIN, "--epochs", 1)
    assert "accuracy 9" in pippin_(*words, "--output", tmp_path / "b.mlmodel")[0]
    found = json.loads(
        pippin_("train", EXAMPLES / "digits.mlmodel", "--make-updatable", "--output", target, "--json")[0]
    )
    assert found["layers"] == ["conv1", "conv2", "dense"]


def test_warnings_go_to_stderr(tmp_path: Path) -> None:
    (tmp_path / "m.mlmodel").write_bytes(linear(weights=((0.0, 0.0),), bias=(0.0,)).SerializeToString())
    (tmp_path / "d.csv").write_text("x[0],x[1],t\n0,0,1\n0,0,2\n")
    words = ("--data", tmp_path / "d.csv", "--output", tmp_path / "o.mlmodel")
    text, talk = pippin_("train", tmp_path / "m.mlmodel", *words)
    lines = [line for line in talk.splitlines() if "the gradient vanishes" in line]
    assert len(lines) == 1
    assert lines[0].startswith("warning: layer 'innerProduct0' (innerProduct): the gradient vanishes")
    assert len(text.splitlines()) == 3


def test_json_has_no_numbers_that_are_none(tmp_path: Path) -> None:
    """The loss of the validation may overflow where that of the training does not."""
    (tmp_path / "m.mlmodel").write_bytes(linear().SerializeToString())
    (tmp_path / "d.csv").write_text("x[0],x[1],t\n0,0,1\n")
    (tmp_path / "v.csv").write_text("x[0],x[1],t\n1e30,0,1\n")
    words = ("--data", tmp_path / "d.csv", "--validation", tmp_path / "v.csv", "--output", tmp_path / "o", "--json")
    for line in pippin_("train", tmp_path / "m.mlmodel", *words)[0].splitlines():
        found = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
        assert found["validation_loss"] is None


@pytest.mark.parametrize("option", ["--output", "--checkpoint"])
def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path: Path, option: str) -> None:
    other = () if option == "--output" else ("--output", tmp_path / "o")
    for place, message in ((tmp_path, "is a folder"), ("/nowhere/o", "no folder /nowhere")):
        text, talk = pippin_("train", DIGITS, "--data", TRAIN, *other, option, place, code=2)
        assert f"{option}: " in talk
        assert message in talk
        assert not text, "nothing was trained"


def test_output_and_checkpoint_are_two_files(tmp_path: Path) -> None:
    place = tmp_path / "one"
    words = ("--data", TRAIN, "--output", place, "--checkpoint", place)
    assert "must be two files" in pippin_("train", DIGITS, *words, code=2)[1]


def test_wrong_gradients_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from pippin.cli.train import command
    from pippin.graph.gradient import convolution

    right = convolution.kernel_gradient
    monkeypatch.setattr(convolution, "kernel_gradient", lambda g, *rest: g.Mul(right(g, *rest), 1.01))
    words = [str(DIGITS), "--data", TRAIN, "--check-gradients"]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 1
    lines = {line.split()[0]: line.split()[-1] for line in done.stdout.splitlines() if "/" in line}
    assert {name for name, verdict in lines.items() if verdict == "DIFFERS"} == {"conv1/weights", "conv2/weights"}
    done = CliRunner().invoke(command, [*words, "--json"])
    assert (done.exit_code, json.loads(done.stdout)["ok"]) == (1, False)
