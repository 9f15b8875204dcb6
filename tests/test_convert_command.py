"""``pippin convert`` as a user meets it: exit codes, and no file where there should be none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner

from pippin.cli import cli
from test_convert import EXAMPLES, shape_of


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["x.txt"], 2, "ending must be .onnx"),
        (["x.onnx", "--dims", "open"], 2, "--dims must be"),
        (["x.onnx", "--dims", "static", "--dims", "image=1,1,16,16"], 2, "either one word"),
        (["x.onnx", "--dims", "image=1,-1,16,16"], 2, "positive numbers or names"),
        (["x.onnx", "--dims", "image=,1,16,16"], 2, "positive numbers or names"),
        (["x.onnx", "--dims", "image=n,c,16,16"], 1, "must have 1 channels"),
        (["x.onnx", "--dims", "image=n,3,16,16"], 1, "must have 1 channels"),
        (["x.onnx", "--tolerance", "nan"], 1, "must be a number from 0"),
        (["x.onnx", "--opset", "9"], 1, "between 13 and 24"),
        (["x.onnx", "--verify", "some"], 2, "Invalid value"),
        (["none/x.onnx"], 1, "cannot be written"),
    ],
)
def test_every_failing_path_leaves_no_file(words: list[str], code: int, text: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pippin", "convert", str(EXAMPLES[0]), *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_dims_on_the_command_line(tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    done = CliRunner().invoke(
        cli, ["convert", str(EXAMPLES[0]), str(target), "--dims", "image=n,1,16,16", "--verify", "full"]
    )
    assert done.exit_code == 0, done.output
    assert shape_of(onnx.load(target).graph.input[0]) == ["n", 1, 16, 16]
    assert "the same" in done.output
