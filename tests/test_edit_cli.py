"""``pippin edit`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import pippin
from make import classifier, network, picture_network
from pippin.cli import cli
from pippin.cli.edits import EDITS
from test_edit_names import pipeline

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DIGITS = str(EXAMPLES / "digits.mlmodel")
SEVEN = str(EXAMPLES / "digit-7.png")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, ["edit", *map(str, words)])


def test_several_edits_in_one_call(tmp_path: Path) -> None:
    target = tmp_path / "out.mlmodel"
    done = run(DIGITS, "--rename-input", "image=a", "--quantize", "4", "--rename-input", "a=b", "-o", target)
    assert done.exit_code == 0
    assert done.stdout == ""
    assert "wrote" in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("proof: ")]
    assert len(lines) == 3
    assert lines[0].endswith("probabilities equal")
    assert "apart" in lines[1]
    assert pippin.load(target).predict({"b": SEVEN})["digit"] == 7


def test_dry_run(tmp_path: Path) -> None:
    done = run(DIGITS, "--rename-input", "image=b", "--dry-run")
    assert done.exit_code == 0
    assert done.stdout.startswith("inputs\n  ~ name: 'image'")
    assert "would rename input 'image' to 'b'" in done.stderr
    target = tmp_path / "out.mlmodel"
    assert run(DIGITS, "--prune", "all", "--dry-run", "-o", target).exit_code == 0
    assert not target.exists()


def test_json(tmp_path: Path) -> None:
    target = tmp_path / "out.mlmodel"
    done = run(DIGITS, "--quantize", "8 kmeans layers=conv*", "-o", target, "--json")
    assert done.exit_code == 0
    content = json.loads(done.stdout)
    assert (content["schema"], content["file"], content["bytes"]) == (1, str(target), target.stat().st_size)
    assert content["check"]["ok"]
    assert content["proof"]["ok"]
    assert {entry["after"] for entry in content["steps"][0]["weights"]} == {"lookup table 8 bit"}
    assert content["changes"][0]["change"] == "changed"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 2, "no edit is given"),
        (("--prune", "all"), 2, "where to write is not given"),
        (("--prune", "everything", "--dry-run"), 2, "--prune wants all|idle|unused"),
        (("--rename-input", "image", "--dry-run"), 2, "there is no '='"),
        (("--quantize", "per=tensor", "--dry-run"), 2, "the number of bits is not given"),
        (("--quantize", "4 fast", "--dry-run"), 2, "'fast' is not understood"),
        (("--set-preprocessing", "image size=3", "--dry-run"), 2, "'size=3' is none of"),
        (("--set-preprocessing", "image scale=x", "--dry-run"), 2, "'x' is no number"),
        (("--set-flexible", "image=8..x8..", "--dry-run"), 1, "layer 'dense'"),
        (("--set-flexible", "image=a..b", "--dry-run"), 2, "is no range"),
        (("--set-size", "image=axb", "--dry-run"), 2, "is no size"),
        (("--quantize", "0", "--dry-run"), 1, "1 to 8 bits"),
        (("--set-labels", "nothing.txt", "--dry-run"), 2, "there is no such file"),
        (("--input-array", "image preprocessing=maybe", "--dry-run"), 2, "keep or drop"),
        (("--rename-input", "imag=x", "--dry-run"), 1, "no input 'imag'"),
        (("--quantize", "9", "--dry-run"), 1, "1 to 8 bits"),
    ],
)  # fmt: skip
def test_wrong_use(words: tuple[str, ...], code: int, says: str) -> None:
    done = run(DIGITS, *words)
    problem = str(done.exception) if done.exception and not isinstance(done.exception, SystemExit) else ""
    assert says in done.stderr + problem
    if not problem:
        assert done.exit_code == code


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.mlmodel").write_text("nothing at all")
    done = run(tmp_path / "x.mlmodel", "--prune", "all", "--dry-run")
    assert isinstance(done.exception, pippin.ReadError)


def test_what_fails_is_not_written(tmp_path: Path) -> None:
    """A model that was bad before stays unwritten, unless one insists."""
    model = network([("activation", {"ReLU": {}}, ["x"], ["y"])], {"x": [2]}, ["y"])
    model.specificationVersion = 0
    source, target = tmp_path / "in.mlmodel", tmp_path / "out.mlmodel"
    source.write_bytes(model.SerializeToString())
    done = run(source, "--rename", "x=z", "-o", target)
    assert (done.exit_code, target.exists()) == (1, False)
    assert "version-missing" in done.stderr
    assert "nothing was written" in done.stderr
    done = run(source, "--rename", "x=z", "-o", target, "--force", "--no-proof")
    assert (done.exit_code, target.exists()) == (0, True)


def test_own_inputs_for_the_proof() -> None:
    done = run(DIGITS, "--quantize", "2", "--data", f"image={SEVEN}", "--dry-run", "--json")
    (trial,) = json.loads(done.stdout)["proof"]["trials"]
    assert trial["runs"] == 3


PICTURES = [("activation", {"linear": {"alpha": 1}}, ["image"], ["y"])]
# option → words; on a network of pictures, of arrays, or the example
USES: dict[str, tuple[str, str]] = {
    "rename_input": ("digits", "image=x"),
    "rename_output": ("digits", "digit=x"),
    "rename_blob": ("digits", "conv1=x"),
    "rename_layer": ("digits", "conv1=x"),
    "rename": ("digits", "conv1=x"),
    "clean_names": ("digits", ""),
    "input_image": ("arrays", "x color=BGR layout=chw"),
    "input_array": ("pictures", "image preprocessing=drop dtype=float64"),
    "output_image": ("pictures", "y scale=255 bias=1,2,3"),
    "output_array": ("image output", "y dtype=float64"),
    "set_dtype": ("arrays", "y=float64"),
    "set_optional": ("two", "b=2.5"),
    "set_required": ("two", "b"),
    "describe": ("digits", "image=a=b"),
    "set_preprocessing": ("pictures", "image scale=1/255 bias=-1,0,1"),
    "remove_preprocessing": ("digits", "image"),
    "fix_preprocessing": ("digits", ""),
    "set_color": ("pictures", "image=BGR"),
    "set_metadata": ("digits", "author="),
    "set_labels": ("digits", "a,b,c,d,e,f,g,h,i,j"),
    "set_flexible": ("pictures", "image=2..8x3.."),
    "set_fixed": ("pictures", "image"),
    "set_size": ("pictures", "image=8x6"),
    "add_output": ("digits", "conv1"),
    "remove_output": ("digits", "probabilities"),
    "cut": ("digits", "conv1,conv2"),
    "start": ("digits", "conv2"),
    "prune": ("digits", "unused"),
    "quantize": ("digits", "4 symmetric per=tensor skip=conv1 everything"),
    "expand_weights": ("digits", ""),
    "take": ("pipeline", "second"),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    two = network([("addBroadcastable", {}, ["a", "b"], ["y"])], {"a": [2], "b": [2]}, ["y"])
    arrays = network([("activation", {"ReLU": {}}, ["x"], ["y"])], {"x": [3, 4, 5]}, ["y"])
    pictures = picture_network(PICTURES)
    image = picture_network(PICTURES)
    output = image.description.output[0].type.imageType
    output.width, output.height, output.colorSpace = 4, 3, 20
    made = {"two": two, "arrays": arrays, "pictures": pictures, "image output": image, "pipeline": pipeline()}
    for name, model in made.items():
        (folder / f"{name}.mlmodel").write_bytes(model.SerializeToString())
    return {name: str(folder / f"{name}.mlmodel") for name in made} | {"digits": DIGITS}


def test_every_edit_has_a_use() -> None:
    assert USES.keys() == EDITS.keys()


@pytest.mark.parametrize("name", USES)
def test_every_option(models: dict[str, str], tmp_path: Path, name: str) -> None:
    model, value = USES[name]
    words = [f"--{name.replace('_', '-')}"] + ([value] if EDITS[name].metavar else [])
    target = tmp_path / "out.mlmodel"
    done = run(models[model], *words, "-o", target)
    assert (done.exception, done.exit_code) == (None, 0), done.output
    assert pippin.check(target).ok


def test_labels_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("\n".join(str(10 * n) for n in range(10)) + "\n", encoding="utf-8")
    target = tmp_path / "out.mlmodel"
    assert run(DIGITS, "--set-labels", tmp_path / "labels.txt", "-o", target).exit_code == 0
    assert pippin.load(target).predict({"image": SEVEN})["digit"] == 70
    assert run(target, "--set-flexible", "image=16x16|16x16", "--dry-run").exit_code == 0


@pytest.mark.parametrize(
    ("before", "given", "wanted"),
    [
        ("ab", "\ufeffcat\ndog\n", ["cat", "dog"]),
        ("ab", "7\n-9\n", [7, -9]),
        ("ab", "007\n9\n", ["007", "9"]),
        ("ab", "\u0663\n9\n", ["\u0663", "9"]),
        ("01", "7\n9\n", ["7", "9"]),
        ([0, 1], "7\n9\n", [7, 9]),
        ([0, 1], "cat\n9\n", ["cat", "9"]),
    ],
)
def test_labels_in_a_file(tmp_path: Path, before: Any, given: str, wanted: Any) -> None:
    model, labels = tmp_path / "in.mlmodel", tmp_path / "labels.txt"
    model.write_bytes(classifier(list(before)).SerializeToString())
    labels.write_bytes(given.encode())
    done = run(model, "--set-labels", labels, "-o", model)
    assert done.exit_code == 0, done.output
    assert pippin.load(model).labels == wanted


def test_names_with_spaces(tmp_path: Path) -> None:
    model = picture_network([("activation", {"linear": {"alpha": 1}}, ["my  image"], ["the y"])], output="the y")
    model.description.input[0].name = "my  image"
    path = tmp_path / "net.mlmodel"
    path.write_bytes(model.SerializeToString())
    for words in (
        ("--set-preprocessing", "my  image  scale=1/255 bias=-1"),
        ("--output-image", "the y"),
        ("--input-array", "my  image preprocessing=drop"),
    ):
        done = run(path, *words, "-o", path)
        assert done.exit_code == 0, done.output
    assert pippin.load(path).inputs["my  image"].kind == "multiarray"


@pytest.mark.parametrize("given", ["scale=nan", "scale=1e39", "bias=inf", "mean=0 std=1e-40", "mean=nan", "std=nan"])
def test_preprocessing_that_float32_does_not_hold(given: str) -> None:
    done = run(DIGITS, "--set-preprocessing", f"image {given}", "--dry-run")
    assert done.exit_code == 1
    assert isinstance(done.exception, pippin.InputError)
    assert "numbers that float32 can hold" in str(done.exception)


def test_a_default_that_float32_does_not_hold() -> None:
    model = network([("addBroadcastable", {}, ["x", "z"], ["y"])], {"x": [3], "z": [3]}, ["y"]).SerializeToString()
    for value in (float("nan"), float("-inf"), 1e39):
        with pytest.raises(pippin.InputError, match="default values must be numbers that float32 can hold"):
            pippin.edit(model).set_optional("z", default=value)
