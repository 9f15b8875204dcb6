"""Runs coremltools' own tests of neural networks against Pippin in the place of Apple's predictor.

python tools/coremltools_suite.py [--update] [--quick] [PYTEST ARGUMENTS]

The tests are in coremltools' wheel; off a Mac they skip themselves. Here they run twice: with Pippin, and, those that
passed, with a predictor that always fails. The second number says how many tests depend on an answer at all. What
passes is compared with ``coremltools_expected.txt`` beside this file (``--update`` writes it anew); ``--quick`` leaves
out the tests that coremltools calls slow (100 million random numbers, thousands of convolutions in torch).
``python3 dev.py coremltools`` makes the environment and calls this.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
EXPECTED = HERE.with_name("coremltools_expected.txt")
MODULES = (
    "test_numpy_nn_layers",
    "test_simple_nn_inference",
    "test_quantization",
    "test_nn_builder",
    "test_custom_neural_nets",
    "test_neural_networks",
    "test_model",
)
NO_NETWORKS = {
    "a generalised linear regression predicts": (
        "test_model.py::MLModelTest::test_predict_api",
        "test_model.py::MLModelTest::test_rename_input",
        "test_model.py::MLModelTest::test_rename_input_bad",
        "test_model.py::MLModelTest::test_rename_output",
        "test_model.py::MLModelTest::test_rename_output_bad",
    ),
    "an ML Program predicts": (
        "test_model.py::MLModelTest::test_rename_feature_mlprogram",
        "test_model.py::MLModelTest::test_rename_feature_classifier_mlprogram",
    ),
}
"""Tests that are left out, with the reason."""


class Raising:
    """A predictor that never answers."""

    def __init__(self, *arguments: Any) -> None:
        pass

    def predict(self, data: Any, state: Any = None) -> Any:
        raise RuntimeError("no answer")

    batchPredict = predict

    @staticmethod
    def maximum_supported_specification_version() -> int:
        return 10


class Plugin:
    """Makes coremltools believe that it is on a Mac with the given predictor; notes what became of each test."""

    def __init__(self, predictor: type) -> None:
        self.predictor = predictor
        self.outcomes: dict[str, str] = {}
        self.slow: list[str] = []

    def pytest_configure(self) -> None:
        import numpy

        from pippin.integrations.coremltools import install

        install()
        for name in ("utils", "model", "neural_network.quantization_utils"):
            module = importlib.import_module(f"coremltools.models.{name}")
            module.__dict__["_is_macos"] = lambda: True
            module.__dict__["_macos_version"] = lambda: (15, 0)
        importlib.import_module("coremltools.models.model").__dict__["_MLModelProxy"] = self.predictor
        # NumPy's vectorised sort leaves equal values in any order; the tests were written where it kept it
        plain = numpy.argsort
        numpy.__dict__["argsort"] = lambda a, axis=-1, kind="stable", **more: plain(a, axis=axis, kind=kind, **more)

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        left_out = {test for tests in NO_NETWORKS.values() for test in tests}
        chosen = [item for item in items if name_of(item.nodeid) not in left_out]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen
        self.slow = [name_of(item.nodeid) for item in chosen if item.get_closest_marker("slow")]

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
            self.outcomes[name_of(report.nodeid)] = outcome


def name_of(nodeid: str) -> str:
    """``test_model.py::MLModelTest::test_predict_api`` wherever the package lies."""
    return nodeid.replace("\\", "/").rpartition("neural_network/")[2] or nodeid


def folder() -> Path:
    """Where the tests lie."""
    found = importlib.util.find_spec("coremltools")
    if found is None or found.origin is None:
        sys.exit("error: coremltools is not installed; python3 dev.py coremltools makes an environment with it")
    return Path(found.origin).parent / "test/neural_network"


def run(which: str, report: Path, arguments: Sequence[str]) -> int:
    """Runs the tests in this process; writes their outcomes to ``report``."""
    import pytest

    from pippin.integrations.coremltools import ModelProxy

    plugin = Plugin(ModelProxy if which == "pippin" else Raising)
    # the options of Pippin's own tests are not for these
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder()), "--tb=short"]
    code = pytest.main([*options, "-W", "ignore", *arguments], plugins=[plugin])
    report.write_text(json.dumps({"outcomes": plugin.outcomes, "slow": plugin.slow}))
    return 0 if code in (0, 1) else int(code)


def outcomes(which: str, arguments: Sequence[str], tests: Sequence[str]) -> tuple[dict[str, str], set[str]]:
    """The same in a process of its own: the outcomes by test, and which tests are slow."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "outcomes.json"
        command = [sys.executable, str(HERE), "--run", which, str(report), *arguments, *tests]
        # the second predictor fails on purpose, at length
        quiet = subprocess.DEVNULL if which == "raising" else None
        # torch's threads wait for each other by spinning: where the processor is shared that takes tens of times longer
        environment = {"OMP_NUM_THREADS": "1", **os.environ}
        if subprocess.call(command, stdout=quiet, stderr=quiet, env=environment):
            sys.exit("error: the tests could not be run")
        content = json.loads(report.read_text())
        return content["outcomes"], set(content["slow"])


def main(arguments: list[str]) -> int:
    """Both runs, the two numbers, and the comparison with what is expected, or its update for the tests that ran."""
    if arguments[:1] == ["--run"]:
        return run(arguments[1], Path(arguments[2]), arguments[3:])
    quick, update = "--quick" in arguments, "--update" in arguments
    arguments = [argument for argument in arguments if argument not in ("--quick", "--update")]
    arguments += ["-m", "not slow"] if quick else []
    ours, slow = outcomes("pippin", arguments, [str(folder() / f"{module}.py") for module in MODULES])
    passed = sorted(test for test, outcome in ours.items() if outcome == "passed")
    failed = sorted(test for test, outcome in ours.items() if outcome == "failed")
    raising, _ = outcomes("raising", arguments, [str(folder() / test) for test in passed])
    needing = {test for test in passed if raising.get(test) == "failed"}
    counts = {outcome: sum(value == outcome for value in ours.values()) for outcome in ("skipped", "xfailed")}
    print(f"passed with Pippin: {len(passed)} of {len(passed) + len(failed)} that ran", end="")
    print(f" ({counts['skipped']} skip themselves, {counts['xfailed']} are marked as failures in coremltools)")
    print(f"of these fail with a predictor that always raises: {len(needing)}")
    lines = [
        f"{'predicts' if test in needing else 'builds'}{' slow' if test in slow else ''} {test}" for test in passed
    ]
    expected = EXPECTED.read_text(encoding="utf-8").splitlines() if EXPECTED.exists() else []
    if update:
        others = [line for line in expected if line.rpartition(" ")[2] not in ours]
        EXPECTED.write_text("\n".join(sorted(others + lines)) + "\n", encoding="utf-8")
        return int(bool(failed))
    if quick and len(arguments) == 2:
        expected = [line for line in expected if " slow " not in line]
    elif arguments:  # a part of the tests
        expected = [line for line in expected if line.rpartition(" ")[2] in ours]
    for word, some in (("missing", set(expected) - set(lines)), ("new", set(lines) - set(expected))):
        for line in sorted(some):
            print(f"{word}: {line}")
    for test in failed:
        print(f"failed: {test}")
    return int(bool(failed) or set(lines) != set(expected))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
