"""The page about JSON names the keys that the commands print."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pippin.cli import COMMANDS, cli

ROOT = Path(__file__).resolve().parents[1]
DIGITS, TRAIN = str(ROOT / "examples/digits.mlmodel"), f"{ROOT / 'examples/digits.npz'}:train"
SEVEN = str(ROOT / "examples/digit-7.png")
PAGE = (ROOT / "docs/reference/json.md").read_text(encoding="utf-8")
WORDS = {
    "run": [DIGITS, SEVEN, SEVEN],
    "inspect": [DIGITS],
    "check": [DIGITS],
    "convert": [DIGITS, "digits.onnx"],
    "compare": [DIGITS, str(ROOT / "examples/digits-4bit.mlmodel"), SEVEN],
    "profile": [DIGITS, "--runs", "1"],
    "edit": [DIGITS, "--quantize", "4", "--dry-run", "--no-proof"],
    "train": [str(ROOT / "examples/digits-untrained.mlmodel"), "--data", TRAIN, "--validation", TRAIN, "--epochs", "1",
              "-o", "t.mlmodel"],
    "devices": [],
}  # fmt: skip


def told(command: str) -> tuple[set[str], str]:
    """The keys that the page tells of a command, and all of its section."""
    section = PAGE.partition(f"## `pippin {command}`\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.M)
    return {key for row in rows for key in re.findall(r"`(\w+)`", row)}, section


@pytest.mark.parametrize("command", WORDS)
def test_keys(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, [command, *WORDS[command], "--json"])
    assert done.exit_code == (command == "compare"), done.output
    content = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    keys, section = told(command)
    assert set(content) - {"schema"} == keys
    schema = content["schema"]
    assert (f'"{schema}"' if isinstance(schema, str) else f"`schema` {schema}") in section
    for value in content.values():
        entry = value[0] if isinstance(value, list) and value else value
        if isinstance(entry, dict) and command not in ("run", "inspect", "edit", "convert", "devices"):
            assert {key for key in entry if f"`{key}`" not in PAGE} <= {"excess", "rounding"}


def test_every_command_with_the_option_has_a_section() -> None:
    assert {name for name in COMMANDS if f"## `pippin {name}`" in PAGE} == set(COMMANDS) - {"dump", "nnrt"}
