"""Sets up an environment from nothing and works in it. Needs Python 3.11 or newer and git, nothing else.

python3 dev.py pippin ARGUMENTS    the command line, e.g.: pippin run examples/digits.mlmodel examples/digit-7.png
python3 dev.py test [ARGUMENTS]    all tests, two at a time; arguments go to pytest
python3 dev.py lint                ruff, format check and mypy
python3 dev.py coremltools [ARGUMENTS]
    coremltools' own tests against Pippin, in an environment of their own; with --optional none is no failure
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
SUITE = ROOT / ".venvs/coremltools"
SUITE_PACKAGES = ["coremltools==9.0", "pytest>=8.2", "scikit-learn>=1.5", "torch>=2.5"]


def program(name: str, folder: Path = VENV) -> Path:
    """A program of an environment."""
    return folder / ("Scripts" if os.name == "nt" else "bin") / (f"{name}.exe" if os.name == "nt" else name)


def call(*words: str | Path, **options: object) -> int:
    """Runs a program of an environment, in the project's folder unless ``cwd`` says another."""
    command = [str(word) for word in words]
    return subprocess.call(command, **{"cwd": ROOT, **options})  # type: ignore[call-overload]


def content() -> dict[str, dict[str, list[str]]]:
    """What pyproject.toml holds."""
    import tomllib  # not there before Python 3.11, and main says so

    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def make(folder: Path, packages: list[str]) -> bool:
    """Makes an environment with the project and ``packages`` in ``folder``; says whether it could be made."""
    print(f"setting up {folder.relative_to(ROOT)} (once) ...", file=sys.stderr, flush=True)
    if not program("python", folder).exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
    pip = [program("python", folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if call(*pip, "--editable", ".", *packages, stdout=sys.stderr):
        print("error: the environment could not be set up; is a package index reachable?", file=sys.stderr)
        return False
    return True


def ready(dev: bool) -> bool:
    """Makes the environment unless it is there already, with the tools for tests if ``dev``."""
    project = (ROOT / "pyproject.toml").read_bytes()
    wanted = hashlib.sha256(project).hexdigest()
    stamps = [VENV / f".pippin-{kind}" for kind in (("dev",) if dev else ("run", "dev"))]
    if any(stamp.is_file() and stamp.read_text() == wanted for stamp in stamps):
        return True
    made = make(VENV, content()["dependency-groups"]["dev"] if dev else [])
    if made:
        stamps[0].write_text(wanted)
    return made


def coremltools(words: list[str]) -> int:
    """coremltools' own tests, and the project's tests of the drop-in, in an environment with coremltools."""
    dependencies = content()["project"]["dependencies"]
    wanted, stamp = repr((dependencies, SUITE_PACKAGES)), SUITE / ".pippin"
    if not stamp.is_file() or stamp.read_text() != wanted:
        if not make(SUITE, SUITE_PACKAGES):
            print("SKIPPED: coremltools' own tests need an environment with coremltools", file=sys.stderr)
            return 0 if "--optional" in words else 1
        stamp.write_text(wanted)
    python = program("python", SUITE)
    arguments = [word for word in words if word != "--optional"]
    own = ("tests/test_coremltools.py", "tests/test_edit_weights.py::test_coremltools_itself_reads_our_files")
    drop_in = call(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *own)
    return max(drop_in, call(python, "tools/coremltools_suite.py", *arguments))


def main() -> int:
    words = sys.argv[1:]
    if sys.version_info < (3, 11):  # noqa: UP036
        print(f"error: Python 3.11 or newer is needed, {sys.executable} is {sys.version.split()[0]}", file=sys.stderr)
        return 1
    if not words or words[0] not in ("pippin", "test", "lint", "coremltools"):
        print(__doc__, file=sys.stderr)
        return 2
    if words[0] == "coremltools":
        return coremltools(words[1:])
    if not ready(dev=words[0] != "pippin"):
        return 1
    if words[0] == "pippin":
        return call(program("pippin"), *words[1:], cwd=None)  # paths are those of the caller
    if words[0] == "test":
        return call(program("python"), "-m", "pytest", *(words[1:] or ["-q", "-n", "2"]))
    steps = (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"])
    return max(call(program(step[0]), *step[1:]) for step in steps)


if __name__ == "__main__":
    sys.exit(main())
