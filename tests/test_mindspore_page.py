"""The comparison with MindSpore is whole: each node type is in it, the page shows each case, nothing is unexplained."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pippin.nnrt.attributes import REGISTRY

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from compare_mindspore import PAGE, device, verdict  # noqa: E402
from mindspore_moves import CASES, NONE, Case  # noqa: E402

sys.path.pop(0)


def test_every_node_type_is_compared_or_named() -> None:
    compared = {case.node for case in CASES}
    assert compared | set(NONE) == {struct.__name__ for struct in REGISTRY.values()}
    assert not compared & set(NONE)


def test_page_shows_every_case() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for case in CASES:
        (line,) = [line for line in lines if line.startswith(f"| {case.node} | {case.note} |")]
        assert "unexplained" not in line
        assert (case.differs in line) if case.differs else ("agrees" in line or "no kernel" in line)


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: f"{case.node}: {case.note}")
def test_the_device_runs_it(case: Case) -> None:
    answers = device(case)
    good, gap, text = verdict(case, answers)
    assert (good, gap) == (not case.differs, "0.0e+00"), text


def test_a_difference_shows() -> None:
    case = next(case for case in CASES if case.node == "AddFusion")
    assert verdict(case, [answer + 1 for answer in device(case)]) == (False, "1.0e+00", "differs, unexplained")
