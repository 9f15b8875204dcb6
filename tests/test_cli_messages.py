"""What the command line says to somebody who takes the wrong command, file, option or ending."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import onnx as onnx_module
import pytest
from click.testing import CliRunner
from PIL import Image

import pippin
from pippin.cli import COMMANDS, MEANT, cli

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
DIGITS = str(EXAMPLES / "digits.mlmodel")
UNTRAINED = str(EXAMPLES / "digits-untrained.mlmodel")
TRAIN = f"{EXAMPLES / 'digits.npz'}:train"
SEVEN = str(EXAMPLES / "digit-7.png")


def process(*words: str, **options: Any) -> Any:
    command = [sys.executable, "-m", "pippin", *words]
    return subprocess.run(command, capture_output=True, check=False, **options)


@pytest.mark.parametrize(("word", "command"), [("predict", "run"), ("Quantise", "edit"), ("benchmark", "profile")])
def test_other_words_for_commands(word: str, command: str) -> None:
    done = CliRunner().invoke(cli, [word, "x"])
    assert done.exit_code == 2
    assert f"No such command {word!r}. Did you mean {command!r}?" in done.output


def test_other_words_are_no_commands_and_mean_one() -> None:
    words = [word for several in MEANT.values() for word in several]
    assert len(words) == len(set(words))
    assert set(MEANT) <= set(COMMANDS)
    assert not set(words) & set(COMMANDS)


def test_the_group_says_what_its_commands_do() -> None:
    page = CliRunner().invoke(cli, ["nnrt", "--help"]).output.partition("Commands:")[2]
    assert "..." not in page
    for name in ("codes", "conformance", "nodes", "serve", "status", "supported"):
        assert f"\n  {name}  " in page


@pytest.mark.parametrize("words", [("profile", DIGITS, SEVEN, SEVEN), ("convert", DIGITS, "x.onnx", SEVEN, SEVEN)])
def test_one_value_too_many(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, list(words))
    assert done.exit_code == 2
    assert "is one value too many" in done.output


@pytest.fixture(scope="module")
def onnx(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("onnx") / "digits.onnx"
    pippin.to_onnx(DIGITS, path, verify="none")
    return str(path)


@pytest.mark.parametrize(
    "words",
    [
        ("edit", "{}", "--prune", "all", "-o", "x.mlmodel"),
        ("train", "{}", "--data", TRAIN, "-o", "x.mlmodel"),
        ("train", "{}", "--make-updatable", "-o", "x.mlmodel"),
    ],
)
def test_onnx_where_core_ml_is_wanted(onnx: str, words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, [word.format(onnx) for word in words])
    assert isinstance(done.exception, pippin.ReadError)
    assert "the file is an ONNX model, not a Core ML one" in str(done.exception)


def test_other_kinds_where_nnrt_is_wanted(onnx: str) -> None:
    for path in (onnx, DIGITS):
        done = CliRunner().invoke(cli, ["nnrt", "supported", path])
        assert isinstance(done.exception, pippin.ReadError)
        assert done.exception.hint == "pippin convert MODEL out.nnrt makes one of a Core ML or ONNX model"


@pytest.mark.parametrize("ending", [".onnx", ".NNRT", ".mlpackage"])
def test_endings_that_say_something_else(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"x{ending}"
    for words in (
        ("edit", DIGITS, "--prune", "all"),
        ("train", UNTRAINED, "--data", TRAIN),
        ("train", DIGITS, "--make-updatable"),
    ):
        done = CliRunner().invoke(cli, [*words, "-o", str(target)])
        assert isinstance(done.exception, pippin.WriteError)
        assert "end it in .mlmodel" in done.exception.hint
    assert not target.exists()


def test_an_optimizer_that_would_be_left_out(tmp_path: Path) -> None:
    target = str(tmp_path / "x.mlmodel")
    done = CliRunner().invoke(cli, ["train", UNTRAINED, "--data", TRAIN, "--optimizer", "adam", "-o", target])
    assert done.exit_code == 2
    assert "--layers, --loss and --optimizer go with --make-updatable" in done.output


@pytest.mark.skipif(os.name != "posix", reason="pipes with names are of POSIX")
def test_models_and_pictures_from_pipes() -> None:
    if not Path("/dev/stdin").exists():
        pytest.skip("there is no /dev/stdin")
    done = process("run", "/dev/stdin", SEVEN, "--top", "1", input=Path(DIGITS).read_bytes())
    assert done.stdout.startswith(b"digit: 7"), done.stderr
    done = process("run", DIGITS, "image=/dev/stdin", "--top", "1", input=Path(SEVEN).read_bytes())
    assert done.stdout.startswith(b"digit: 7"), done.stderr


def test_an_old_python_is_told_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    version = namedtuple("version", "major minor micro")(3, 10, 1)
    tool = runpy.run_path(str(ROOT / "dev.py"))
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(sys, "argv", ["dev.py", "test"])
    assert tool["main"]() == 1
    assert capsys.readouterr().err.startswith("error: Python 3.11 or newer is needed")


def test_what_is_not_known_of_a_network_is_said(tmp_path: Path) -> None:
    assert "not known" not in CliRunner().invoke(cli, ["inspect", DIGITS]).output
    content = Path(DIGITS).read_bytes()
    at = content.rindex(b"features")
    (tmp_path / "broken.mlmodel").write_bytes(content[:at] + b"featurez" + content[at + 8 :])
    done = CliRunner().invoke(cli, ["inspect", str(tmp_path / "broken.mlmodel")])
    assert done.exit_code == 0
    assert "the shapes are not known: layer 'dense' (innerProduct): input 'featurez' is made by no" in done.output


def test_no_color() -> None:
    pty = pytest.importorskip("pty")
    for value, colors in (("", True), ("1", False)):
        ours, theirs = pty.openpty()
        words = [sys.executable, "-m", "pippin", "check", DIGITS]
        with subprocess.Popen(words, stdout=theirs, env=os.environ | {"NO_COLOR": value}) as running:
            os.close(theirs)
            running.wait()
        printed = os.read(ours, 1 << 16)
        os.close(ours)
        assert b"good" in printed
        assert (b"\x1b[" in printed) is colors


def test_paths_are_those_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = runpy.run_path(str(ROOT / "dev.py"))
    calls: list[dict[str, Any]] = []
    main = tool["main"]
    monkeypatch.setitem(main.__globals__, "ready", lambda dev: True)
    monkeypatch.setattr(subprocess, "call", lambda command, **options: calls.append(options) or 0)
    for words in (["pippin", "run"], ["test"]):
        monkeypatch.setattr(sys, "argv", ["dev.py", *words])
        assert main() == 0
    assert [options["cwd"] for options in calls] == [None, ROOT]


@pytest.mark.parametrize(
    "words",
    [
        ("compare", DIGITS, DIGITS, "{}", "--outputs-only"),
        ("convert", DIGITS, "x.onnx", "{}"),
        ("convert", DIGITS, "x.nnrt", "{}"),
        ("dump", DIGITS, "{}", "-o", "x.npz", "--blob", "conv1"),
        ("profile", DIGITS, "{}", "--runs", "1", "--no-fresh"),
        ("edit", DIGITS, "--quantize", "8", "--dry-run", "--data", "image={}"),
    ],
    ids=lambda words: " ".join(words[:1]),
)
def test_resize_wherever_pictures_are_taken(
    tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Image.open(SEVEN).resize((40, 48)).save("large.png")
    given = [word.format("large.png") for word in words]
    done = CliRunner().invoke(cli, given)
    assert isinstance(done.exception, pippin.InputError)
    assert "large.png: the picture must have the size" in str(done.exception)
    done = CliRunner().invoke(cli, [*given, "--resize", "stretch"])
    assert done.exit_code == 0, done.output


def test_resize_resizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Image.open(SEVEN).resize((40, 48)).save("large.png")
    words = ["dump", DIGITS, "large.png", "-o", "x.npz", "--blob", "image", "--resize"]
    assert CliRunner().invoke(cli, [*words, "stretch"]).exit_code == 0
    stretched = np.load("x.npz")["image"]
    assert CliRunner().invoke(cli, [*words, "crop"]).exit_code == 0
    cropped = np.load("x.npz")["image"]
    wanted = np.asarray(Image.open("large.png").resize((16, 16), Image.Resampling.BILINEAR), np.float32) / 255
    np.testing.assert_allclose(stretched.reshape(16, 16), wanted, atol=1e-6)
    assert np.abs(stretched - cropped).max() > 0.1


def test_no_size_to_resize_to(tmp_path: Path) -> None:
    path = tmp_path / "any.onnx"
    pippin.edit(DIGITS).cut("conv2").set_flexible("image", ranges=[(8, None), (8, None)]).save(tmp_path / "m.mlmodel")
    pippin.to_onnx(tmp_path / "m.mlmodel", path, verify="none")
    proto = onnx_module.load(str(path))
    del proto.metadata_props[:]
    onnx_module.save(proto, str(path))
    done = CliRunner().invoke(cli, ["run", str(path), SEVEN, "--resize", "fit"])
    assert isinstance(done.exception, pippin.InputError)
    assert "the model takes pictures of any size" in str(done.exception)
    assert CliRunner().invoke(cli, ["run", str(path), SEVEN]).exit_code == 0


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("pippin pro", "plain,profile"),
        ("pippin run --res", "plain,--resize"),
        ("pippin run exa", "file,exa"),
        ("pippin run examples/digits.mlmodel exa", "file,exa"),
        ("pippin compare examples/digits.mlmodel exa", "file,exa"),
        ("pippin nnrt con", "plain,conformance"),
    ],
)
def test_completion(words: str, wanted: str) -> None:
    environment = os.environ | {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    code = "import sys; sys.argv[0] = 'pippin'; from pippin.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment | {"_PIPPIN_COMPLETE": "bash_complete"}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == [wanted], done.stderr


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii", "utf-8"])
def test_letters_that_the_terminal_lacks(tmp_path: Path, encoding: str) -> None:
    labels = [f"{letter}…" for letter in "一二三四五六七八九十"]
    pippin.edit(DIGITS).set_labels(labels).save(tmp_path / "m.mlmodel")
    environment = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    model = str(tmp_path / "m.mlmodel")
    for words in (("run", model, SEVEN), ("run", model, SEVEN, "--csv"), ("inspect", model), ("edit", "--help")):
        done = process(*words, env=environment)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
    done = process("run", model, SEVEN, "--csv", env=environment)
    wanted = r"\u516b" if encoding in ("latin-1", "cp1252") else "八"
    assert wanted in done.stdout.decode("utf-8" if encoding == "ascii" else encoding)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems want names that are text")
def test_names_of_files_that_are_no_text(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.png")
    Path(name).write_bytes(Path(SEVEN).read_bytes())
    for words in (("--csv",), ("--json",), ("--top", "1"), ("-o", str(tmp_path / "x.csv"))):
        done = process("run", DIGITS, name, SEVEN, *words)
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    done = process("run", DIGITS, os.fsdecode(os.fsencode(tmp_path) + b"/\xfe.png"))
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)
