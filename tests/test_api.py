"""What ``import pippin`` offers is what its page says, and what type checkers see."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pippin
from pippin.analysis.compare import compare

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
NAMES = [name for name in pippin.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_every_name_and_argument(name: str) -> None:
    value = getattr(pippin, name)
    if inspect.isfunction(value):
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}(")]
        written = row.split("`")[1].partition("(")[2].rstrip(")").replace("*, ", "").split(", ")
        assert sorted(filter(None, written)) == sorted(inspect.signature(value).parameters)
    else:
        assert f"`{name}`" in PAGE


def test_type_checkers_see_the_same_names_and_no_others() -> None:
    """A ``__getattr__`` that they see would make ``pippin.anything`` right."""
    tree = ast.parse(Path(pippin.__file__).read_text(encoding="utf-8"))
    assert "__getattr__" not in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen = {alias.name: entry.module for entry in ast.walk(blocks[0]) if isinstance(entry, ast.ImportFrom)
            for alias in entry.names}  # fmt: skip
    assert seen == pippin._LAZY
    assert set(dir(pippin)) == {*pippin.__all__, "errors"}
    with pytest.raises(AttributeError, match="has no attribute 'anything'"):
        _ = pippin.anything  # type: ignore[attr-defined]


def test_nothing_is_reported_or_left_in_the_home_folder(tmp_path: Path) -> None:
    """ONNX Runtime would put an identifier of the machine there, and what it is going to send."""
    environment = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    environment |= {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    code = "import pippin, os; pippin.load(os.sys.argv[1]).predict({'image': os.sys.argv[2]})"
    words = [sys.executable, "-c", code, str(ROOT / "examples/digits.mlmodel"), str(ROOT / "examples/digit-7.png")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.rglob("*")) == []
    code = "import pippin, os; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    for mine, wanted in ((None, "1"), ("0", "0")):
        more = {} if mine is None else {"ORT_DISABLE_TELEMETRY": mine}
        words = [sys.executable, "-c", code]
        done = subprocess.run(words, env=environment | more, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == wanted


def test_compare_and_profile_take_paths() -> None:
    digits, other = str(ROOT / "examples/digits.mlmodel"), ROOT / "examples/digits-4bit.mlmodel"
    assert pippin.compare is compare
    assert pippin.compare(digits, "reference").ok
    found = pippin.compare(digits, other, precision="float16")
    assert not found.ok
    assert found.narrow is not None
    assert pippin.profile(other, runs=1, fresh=False).rows


def test_results_print_as_the_command_line_does(tmp_path: Path) -> None:
    digits = str(ROOT / "examples/digits.mlmodel")
    assert str(pippin.compare(digits, "reference")).startswith("digits.mlmodel against the reference\n")
    assert str(pippin.profile(digits, runs=1, fresh=False)).startswith("digits.mlmodel: ")
    text = str(pippin.to_onnx(digits, tmp_path / "x.onnx").proof)
    assert "the same: ONNX Runtime against the reference, 1 input" in text
