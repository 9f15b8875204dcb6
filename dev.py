"""Sets up an environment from nothing and works in it. Needs Python 3.11 or newer and git, nothing else.

python3 dev.py pippin ARGUMENTS    the command line, e.g.: pippin run examples/digits.mlmodel examples/digit-7.png
python3 dev.py test [ARGUMENTS]    all tests, two at a time; arguments go to pytest
python3 dev.py lint                ruff, format check and mypy
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
ENDING = ".exe" if os.name == "nt" else ""


def call(*words: str | Path, **options: object) -> int:
    """Runs a program of the environment in the project's folder."""
    command = [str(word) for word in words]
    return subprocess.call(command, cwd=ROOT, **options)  # type: ignore[call-overload]


def ready(dev: bool) -> None:
    """Makes the environment unless it is there already, with the tools for tests if ``dev``."""
    project = (ROOT / "pyproject.toml").read_bytes()
    wanted = hashlib.sha256(project).hexdigest()
    stamps = [VENV / f".pippin-{kind}" for kind in (("dev",) if dev else ("run", "dev"))]
    if any(stamp.is_file() and stamp.read_text() == wanted for stamp in stamps):
        return
    print("setting up .venv (once) ...", file=sys.stderr, flush=True)
    if not (BIN / f"python{ENDING}").exists():
        shutil.rmtree(VENV, ignore_errors=True)
        venv.create(VENV, with_pip=True)
    extra = tomllib.loads(project.decode())["dependency-groups"]["dev"] if dev else []
    pip = [BIN / f"python{ENDING}", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if call(*pip, "--editable", ".", *extra, stdout=sys.stderr):
        sys.exit("error: the environment could not be set up; is a package index reachable?")
    stamps[0].write_text(wanted)


def main() -> int:
    words = sys.argv[1:]
    if not words or words[0] not in ("pippin", "test", "lint"):
        print(__doc__, file=sys.stderr)
        return 2
    ready(dev=words[0] != "pippin")
    if words[0] == "pippin":
        return call(BIN / f"pippin{ENDING}", *words[1:])
    if words[0] == "test":
        return call(BIN / f"python{ENDING}", "-m", "pytest", *(words[1:] or ["-q", "-n", "2"]))
    steps = (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"])
    return max(call(BIN / f"{step[0]}{ENDING}", *step[1:]) for step in steps)


if __name__ == "__main__":
    sys.exit(main())
