"""``pippin run`` with several pictures: tables, files, folders, pictures that cannot be used."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from make import network, picture_network
from pippin.cli import cli

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DIGITS = str(EXAMPLES / "digits.mlmodel")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def process(*words: str, **options: Any) -> Any:
    command = [sys.executable, "-m", "pippin", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A folder with two digits, something that is no picture, and a picture of another size."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for digit in (1, 2):
        (folder / f"{digit}.png").write_bytes((EXAMPLES / f"digit-{digit}.png").read_bytes())
    (folder / "0-bad.png").write_bytes(b"nothing")
    Image.new("L", (3, 5)).save(folder / "9-small.png")
    (folder / "notes.txt").write_text("no picture")
    return folder


def test_what_is_wrong_is_told_with_the_name_of_the_file(pictures: Path) -> None:
    done = process("run", DIGITS, str(pictures / "1.png"), str(pictures / "9-small.png"))
    assert done.returncode == 1
    assert f"{pictures / '9-small.png'}: the picture must have the size (width x height) 16x16, got 3x5" in done.stderr
    done = process("run", DIGITS, str(pictures / "1.png"), str(pictures / "0-bad.png"), "--resize", "fit")
    assert (
        f"{pictures / '0-bad.png'}: the picture cannot be read: the file is none, or of an unknown kind" in done.stderr
    )


def test_keep_going(pictures: Path) -> None:
    done = process("run", DIGITS, str(pictures), "--csv", "--keep-going")
    assert done.returncode == 1
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [(Path(row["file"]).name, row["digit"]) for row in rows] == [("1.png", "1"), ("2.png", "2")]
    assert done.stderr.count("error: ") == 2
    assert done.stderr.endswith("2 of 4 pictures left out\n")
    done = process("run", DIGITS, str(pictures), "--csv", "--keep-going", "--resize", "crop")
    assert done.stdout.count("\n") == 4
    assert done.returncode == 1
    assert run("run", DIGITS, str(pictures / "1.png"), str(pictures / "2.png"), "--keep-going").exit_code == 0


@pytest.mark.parametrize("many", [False, True])
def test_a_table_in_a_file(tmp_path: Path, many: bool) -> None:
    words = [str(EXAMPLES / f"digit-{digit}.png") for digit in ((3, 4) if many else (3,))]
    target = tmp_path / "ä b.csv"
    done = process("run", DIGITS, *words, "-o", str(target))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"wrote {target}\n")
    assert target.read_text() == run("run", DIGITS, *words, "--csv").stdout
    assert [row["digit"] for row in csv.DictReader(target.read_text().splitlines())] == ["3", "4"][: len(words)]


def test_lines_of_json_in_a_file(tmp_path: Path) -> None:
    words = [str(EXAMPLES / f"digit-{digit}.png") for digit in (3, 4)]
    target = tmp_path / "out.json"
    assert run("run", DIGITS, *words, "-o", str(target)).exit_code == 0
    assert [json.loads(line)["outputs"]["digit"] for line in target.read_text().splitlines()] == [3, 4]


def test_a_table_of_numbers(tmp_path: Path) -> None:
    path = tmp_path / "sums.mlmodel"
    layers = [("addBroadcastable", {}, ["a", "b"], ["y"])]
    path.write_bytes(network(layers, {"a": [2], "b": [2]}, ["y"]).SerializeToString())
    assert run("run", str(path), "a=1,2", "b=3,4", "--csv").output == "y[0],y[1]\n4,6\n"
    assert run("run", str(path), "a=1,2", "b=3,4", "-o", str(tmp_path / "y.csv")).exit_code == 0
    assert (tmp_path / "y.csv").read_text() == "y[0],y[1]\n4,6\n"


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    model = picture_network([("activation", {"linear": {"alpha": 2}}, ["image"], ["y"])])
    image = model.description.output[0].type.imageType
    image.width, image.height, image.colorSpace = 4, 3, 20
    (tmp_path / "m.mlmodel").write_bytes(model.SerializeToString())
    source = tmp_path / "in"
    source.mkdir()
    for level in (10, 20):
        Image.new("RGB", (4, 3), (level, 0, 0)).save(source / f"{level}.bmp")
    target = tmp_path / "new" / "out"
    done = process("run", str(tmp_path / "m.mlmodel"), str(source), "-o", f"{target}/")
    assert done.stderr == f"wrote 2 files to {target}\n"
    for level in (10, 20):
        assert np.asarray(Image.open(target / f"{level}.png"))[0, 0].tolist() == [2 * level, 0, 0]
    done = process("run", str(tmp_path / "m.mlmodel"), str(source / "10.bmp"), f"{source}/../in/10.bmp", "-o", "x")
    assert done.returncode == 2
    assert "would both become 10 in x" in done.stderr


def test_a_folder_of_answers(tmp_path: Path) -> None:
    words = [str(EXAMPLES / f"digit-{digit}.png") for digit in (3, 4)]
    assert run("run", DIGITS, *words, "-o", str(tmp_path)).exit_code == 0
    assert json.loads((tmp_path / "digit-4.json").read_text())["outputs"]["digit"] == 4


@pytest.mark.parametrize("words", [("x.npz",), ("x.csv", "--json"), ("x.json", "--csv"), ("x", "--csv")])
def test_outputs_that_are_refused(words: tuple[str, ...]) -> None:
    pictures = [str(EXAMPLES / "digit-3.png"), str(EXAMPLES / "digit-4.png")]
    done = process("run", DIGITS, *pictures, "-o", *words)
    assert done.returncode == 2
    assert "answers to several pictures go to a .csv, a .json" in done.stderr


def test_a_table_where_the_terminal_has_no_such_letters(tmp_path: Path) -> None:
    picture = tmp_path / "ж.png"
    picture.write_bytes((EXAMPLES / "digit-3.png").read_bytes())
    environment = os.environ | {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    environment.pop("PYTHONIOENCODING", None)
    words = [sys.executable, "-m", "pippin", "run", DIGITS, str(picture), str(EXAMPLES / "digit-4.png"), "--csv"]
    done = subprocess.run(words, capture_output=True, env=environment, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 3


def test_no_bar_among_lines_on_a_terminal() -> None:
    pty = pytest.importorskip("pty")
    words = [sys.executable, "-m", "pippin", "run", DIGITS, str(EXAMPLES), "--csv"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdout=theirs, stderr=theirs, close_fds=True) as running:
        os.close(theirs)
        printed = b""
        try:
            while chunk := os.read(ours, 1 << 16):
                printed += chunk
        except OSError:  # Linux: the other end is closed
            pass
        finally:
            os.close(ours)
    assert running.returncode == 0
    assert printed.decode().replace("\r", "").startswith("file,digit,probabilities best")
    assert b"\x1b" not in printed


def test_precision(tmp_path: Path) -> None:
    seven = str(EXAMPLES / "digit-7.png")
    plain, narrow = (
        json.loads(run("run", DIGITS, seven, "--json", *more).stdout)["outputs"]["probabilities"]["7"]
        for more in ((), ("--precision", "float16"))
    )
    assert plain != narrow
    assert abs(plain - narrow) < 1e-3
    assert np.float16(narrow) == narrow
    done = process("run", DIGITS, seven, "--precision", "float16", "--engine", "reference")
    assert done.returncode == 2
    assert "--precision is for --engine onnxruntime" in done.stderr


def test_a_picture_for_an_array_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "m.mlmodel"
    layers = [("addBroadcastable", {}, ["a", "b b"], ["y"])]
    path.write_bytes(network(layers, {"a": [2], "b b": [2]}, ["y"]).SerializeToString())
    done = process("run", str(path), "a=1,2", "b b=x.PNG")
    assert done.returncode == 2
    assert "x.PNG is a picture, and input 'b b' is none" in done.stderr
    assert "a=0.5,0.5 'b b=0.5,0.5'" in done.stderr
