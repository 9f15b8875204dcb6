"""The command line as a user meets it: output, errors, exit codes."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from make import network, picture_network
from pippin.cli import cli, main

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DIGITS = str(EXAMPLES / "digits.mlmodel")
SEVEN = str(EXAMPLES / "digit-7.png")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def process(*words: str) -> Any:
    return subprocess.run([sys.executable, "-m", "pippin", *words], capture_output=True, text=True, check=False)


@pytest.fixture
def sums(tmp_path: Path) -> str:
    layers = [("addBroadcastable", {}, ["a", "b"], ["y"])]
    path = tmp_path / "sums.mlmodel"
    path.write_bytes(network(layers, {"a": [2], "b": [2]}, ["y"]).SerializeToString())
    return str(path)


def test_run_a_picture() -> None:
    for words in ((SEVEN,), (f"image={SEVEN}",)):
        done = run("run", DIGITS, *words, "--top", "2")
        assert done.exit_code == 0
        assert done.output.splitlines()[0] == "digit: 7"
        assert len(done.output.splitlines()) == 4


def test_run_json_is_data_on_stdout() -> None:
    done = process("run", DIGITS, SEVEN, "--json")
    content = json.loads(done.stdout)
    assert done.stderr == ""
    assert content["schema"] == 1
    assert content["outputs"]["digit"] == 7
    assert content["outputs"]["probabilities"]["7"] > 0.9


def test_run_several_pictures_and_folders() -> None:
    done = run("run", DIGITS, str(EXAMPLES), SEVEN, "--csv")
    rows = list(csv.DictReader(io.StringIO(done.output)))
    assert [int(row["digit"]) for row in rows] == [*range(10), 7]
    assert rows[-1]["file"] == SEVEN
    lines = run("run", DIGITS, SEVEN, SEVEN, "--json").output.splitlines()
    assert [json.loads(line)["file"] for line in lines] == [SEVEN, SEVEN]


def test_run_with_the_reference() -> None:
    engine = json.loads(run("run", DIGITS, SEVEN, "--json").output)["outputs"]
    reference = json.loads(run("run", DIGITS, SEVEN, "--json", "--engine", "reference").output)["outputs"]
    assert reference["probabilities"] == pytest.approx(engine["probabilities"], abs=1e-6)


@pytest.mark.parametrize("words", [("a=1,2", "b=3,4"), ("a=[1,2]", "b=[3,4]")])
def test_run_numbers(sums: str, words: tuple[str, ...]) -> None:
    assert json.loads(run("run", sums, *words, "--json").output)["outputs"]["y"] == [4, 6]


def test_run_files(sums: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.float32([1, 2]))
    (tmp_path / "b.json").write_text("[3, 4]")
    np.savez(tmp_path / "both.npz", a=[1, 2], b=[3, 4])
    (tmp_path / "both.json").write_text('{"a": [1, 2], "b": [3, 4]}')
    for words in (
        (f"a={tmp_path / 'a.npy'}", f"b={tmp_path / 'b.json'}"),
        (str(tmp_path / "both.npz"),),
        (str(tmp_path / "both.json"),),
        (f"a={tmp_path / 'both.npz'}", f"b={tmp_path / 'both.npz'}"),
    ):
        assert json.loads(run("run", sums, *words, "--json").output)["outputs"]["y"] == [4, 6]


@pytest.mark.parametrize("ending", ["json", "npz", "npy"])
def test_run_output(sums: str, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    assert run("run", sums, "a=1,2", "b=3,4", "--output", str(target)).exit_code == 0
    if ending == "json":
        value = json.loads(target.read_text())["outputs"]["y"]
    else:
        value = np.load(target)
        value = (value["y"] if ending == "npz" else value).tolist()
    assert value == [4, 6]


def test_run_picture_out(tmp_path: Path) -> None:
    model = picture_network([("activation", {"linear": {"alpha": 2}}, ["image"], ["y"])])
    image = model.description.output[0].type.imageType
    image.width, image.height, image.colorSpace = 4, 3, 20
    (tmp_path / "m.mlmodel").write_bytes(model.SerializeToString())
    Image.new("RGB", (4, 3), (1, 2, 3)).save(tmp_path / "in.png")
    words = ("run", str(tmp_path / "m.mlmodel"), str(tmp_path / "in.png"), "-o")
    assert run(*words, str(tmp_path / "out.png")).exit_code == 0
    assert Image.open(tmp_path / "out.png").getpixel((0, 0)) == (2, 4, 6)
    done = process(*words, str(tmp_path / "out.npy"))
    assert done.returncode == 1
    assert "cannot be written as .npy" in done.stderr
    done = process(*words, str(tmp_path / "none/out.png"))
    assert (done.returncode, "No such file" in done.stderr) == (1, True)


@pytest.mark.parametrize(("rule", "corner"), [("crop", 255), ("fit", 0), ("stretch", 255)])
def test_run_resizes_by_a_named_rule(tmp_path: Path, rule: str, corner: int) -> None:
    copy = ("activation", {"linear": {"alpha": 1}}, ["image"], ["y"])
    (tmp_path / "m.mlmodel").write_bytes(picture_network([copy], size=(4, 4)).SerializeToString())
    Image.new("RGB", (8, 4), "white").save(tmp_path / "wide.png")
    words = ("run", str(tmp_path / "m.mlmodel"), str(tmp_path / "wide.png"))
    values = json.loads(run(*words, "--json", "--resize", rule).output)["outputs"]["y"]
    assert values[0][0][0] == corner
    assert values[0][2][2] == 255
    done = process(*words)
    assert done.returncode == 1
    assert "--resize" in done.stderr


def test_wrong_use_says_what_the_model_wants_with_an_example(sums: str) -> None:
    for words, text in (
        (("a=1,2",), "no value for input 'b'"),
        ((), "no value for input 'a'"),
        (("c=1",), "no input 'c'"),
        (("1,2",), "does not say which input"),
        (("a=x", "b=1,2"), "is no number"),
        (("a=missing.npy", "b=1,2"), "missing.npy cannot be read"),
    ):
        done = process("run", sums, *words)
        assert done.returncode == 2, done.stderr
        assert text in done.stderr
        assert done.stdout == ""
        if "cannot be read" not in text:
            assert "a: float32 array [2]" in done.stderr
            assert f"pippin run {sums} a=0.5,0.5 b=0.5,0.5" in done.stderr


def test_what_is_no_model_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "x.mlmodel").write_bytes(b"\x08")
    for command in ("run", "inspect"):
        done = process(command, str(tmp_path / "x.mlmodel"))
        assert done.returncode == 1
        assert done.stderr.startswith("error: x.mlmodel: ")
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "total"),
    [
        (("a=1,2", "b=-1,-2"), [0, 0]),
        (("b=3,-.5", "-1,2"), [2, 1.5]),
        (("--top", "1", "b=1,1", "-.5,nan"), [0.5, None]),
        (("a=inf,-Infinity", "b=0,0"), [None, None]),
    ],
)
def test_numbers_as_people_write_them(sums: str, words: tuple[str, ...], total: list[float | None]) -> None:
    done = run("run", sums, *words, "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)["outputs"]["y"]
    values = answer["values"] if isinstance(answer, dict) else answer
    assert [float("nan") if value is None else float(value) for value in values] == pytest.approx(
        [float("nan") if value is None else value for value in total], nan_ok=True
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (('a=["1","2"]', "b=1,2"), "is no number"),
        (("a=null,2", "b=1,2"), "is no number"),
        (("a=" + "[" * 5000, "b=1,2"), "is no number"),
        (("a=1,2", "a=3,4", "b=1,2"), "'a' has two values"),
        (("a=1,2", "b=1,2", "--json", "--csv"), "exclude each other"),
        (("a=1,2", "b=1,2", "--top", "0"), "--top"),
        (("a=1,2", "b=1,2", "--timeout", "-1"), "--timeout"),
        (("a=1,2", "b=1,2", "--threads", "100000"), "--threads"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_values_that_are_refused(sums: str, words: tuple[str, ...], text: str) -> None:
    done = process("run", sums, *words)
    assert done.returncode == 2, done.stderr
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_without_pictures(tmp_path: Path) -> None:
    done = process("run", DIGITS, str(tmp_path))
    assert done.returncode == 2
    assert "holds no pictures" in done.stderr


def test_an_output_that_takes_nothing_more() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    words = [sys.executable, "-m", "pippin", "run", DIGITS, SEVEN]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_unknown_command() -> None:
    done = process("rum", "x")
    assert done.returncode == 2
    assert "Did you mean 'run'?" in done.stderr


def test_damaged_array_files(sums: str, tmp_path: Path) -> None:
    for name, content in (("a.npy", b"\x93NUMPY\x01"), ("a.npz", b"PK\x03\x04xx"), ("a.json", b"{"), ("b.npy", b"")):
        (tmp_path / name).write_bytes(content)
        done = process("run", sums, f"a={tmp_path / name}", "b=1,2")
        assert done.returncode == 2
        assert "cannot be read" in done.stderr
        assert "Traceback" not in done.stderr


def test_inspect() -> None:
    text = run("inspect", DIGITS).output
    for part in ("neuralNetworkClassifier", "image 16x16 GRAYSCALE", "pixel 0..255 x 0.00392157", "[1, 1, 8, 16, 16]"):
        assert part in text
    content = json.loads(run("inspect", DIGITS, "--json").output)
    assert content["labels"] == list(range(10))
    assert content["layers"][0]["shapes"] == [[1, 1, 8, 16, 16]]
    assert content["weights"] == [{"encoding": "float32", "arrays": 6, "values": 3818, "bytes": 15272}]
    packed = json.loads(run("inspect", str(EXAMPLES / "digits-4bit.mlmodel"), "--json").output)["weights"]
    assert {entry["encoding"] for entry in packed} == {"lookup table 4 bit", "float32"}


def test_inspect_a_layer() -> None:
    text = run("inspect", DIGITS, "--layer", "conv1").output
    for part in ("layer 'conv1' (convolution)", "kernelSize: [3, 3]", "72 values, float32, min"):
        assert part in text
    assert json.loads(run("inspect", DIGITS, "--layer", "0", "--json").output)["name"] == "conv1"
    done = process("inspect", DIGITS, "--layer", "conv9")
    assert done.returncode == 1
    assert "near: conv" in done.stderr


def test_convert(tmp_path: Path) -> None:
    target = tmp_path / "digits.onnx"
    assert run("convert", DIGITS, str(target)).exit_code == 0
    model = onnx.load(target)
    onnx.checker.check_model(model, full_check=True)
    assert [value.name for value in model.graph.input] == ["image"]
    names = {name for node in model.graph.node for name in node.output}
    assert {"conv1", "conv1_relu", "logits", "probabilities"} <= names
    assert process("convert", DIGITS, str(tmp_path / "x.txt")).returncode == 2


def test_help_of_every_command() -> None:
    from pippin.cli import COMMANDS

    page = run("--help").output
    for name in COMMANDS:
        assert name in page
        done = run(name, "--help")
        assert done.exit_code == 0, done.output
        assert "Usage:" in done.output


def test_main_is_the_entry_point() -> None:
    assert callable(main)
