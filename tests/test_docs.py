"""Every command of the README and the guides runs, and prints what stands there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/guides").glob("*.md")), ROOT / "docs/reference/python.md"]
BLOCK = re.compile(r"```(sh|python|text)\n(.*?)```", re.S)
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
SET_UP = ("pip install", "python3 dev.py test", "python3 dev.py lint")
"""Commands that make an environment or call the tests themselves."""


def blocks() -> list[tuple[str, str, str, str]]:
    """(page, language, content, expected output or "") of every block that can be run, in order."""
    found = []
    for page in PAGES:
        parts = BLOCK.findall(page.read_text(encoding="utf-8"))
        for index, (language, content) in enumerate(parts):
            if language == "text":
                continue
            following = parts[index + 1] if index + 1 < len(parts) else ("", "")
            found.append((page.name, language, content, following[1] if following[0] == "text" else ""))
    return found


def same(actual: str, wanted: str) -> bool:
    """Equal texts, numbers up to rounding; a line «...» stands for any lines."""
    if "...\n" in wanted:
        head, _, tail = wanted.partition("...\n")
        lines = actual.splitlines(keepends=True)
        front, back = head.count("\n"), tail.count("\n")
        return same("".join(lines[:front]), head) and (not back or same("".join(lines[-back:]), tail))
    if NUMBER.sub("#", actual.rstrip()) != NUMBER.sub("#", wanted.rstrip()):
        return False
    pairs = zip(NUMBER.findall(actual), NUMBER.findall(wanted), strict=True)
    return all(abs(float(a) - float(b)) <= 2e-5 + 1e-3 * abs(float(b)) for a, b in pairs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples, in which commands may write."""
    target = tmp_path_factory.mktemp("docs")
    for name in ("examples", "docs", "src", "pyproject.toml", "README.md", "LICENSE"):
        (target / name).symlink_to(ROOT / name)
    return target


@pytest.mark.parametrize(
    ("page", "language", "content", "wanted"),
    [pytest.param(*block, id=f"{block[0]}: {block[2].strip().splitlines()[0][:50]}") for block in blocks()],
)
def test_block(folder: Path, page: str, language: str, content: str, wanted: str) -> None:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    if language == "python":
        commands = [[sys.executable, "-c", content]]
    else:
        content = content.replace("\\\n", " ")
        lines = [line for line in content.splitlines() if line.strip() and not line.startswith("#")]
        lines = [line.replace("python3 dev.py pippin", "pippin") for line in lines if not line.startswith(SET_UP)]
        commands = [shlex.split(line, comments=True) for line in lines]
    printed = ""
    for command in commands:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        printed += done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 0 or wanted, f"{command}: {done.stderr}"
    if wanted and commands:
        assert same(printed, wanted), f"{page} says:\n{wanted}\nbut it prints:\n{printed}"


def anchors(page: Path) -> set[str]:
    """The names by which the headings of a page are linked."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        if link.startswith(("https://", "http://")):
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link
