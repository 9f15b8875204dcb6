"""The page of all NNRt node types follows the docstrings, and each says what it must."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pippin.nnrt.attributes import REGISTRY, layout
from pippin.nnrt.enums import NodeType
from pippin.nnrt.refused import REFUSED

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from build_node_page import PAGE, describe, name, page  # noqa: E402

sys.path.pop(0)


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tools/build_node_page.py"


@pytest.mark.parametrize("kind", REGISTRY, ids=lambda kind: kind.name)
def test_every_node_type(kind: NodeType) -> None:
    summary, body, differs = describe(kind)
    assert summary.endswith("."), "the first line is a sentence"
    assert "→" in body, "inputs and outputs stand as x (…) → y (…)"
    assert body.endswith(".")
    assert not differs or differs.endswith(".")
    section = page().split(f"\n### {name(kind)}\n")[1].split("\n### ")[0]
    assert f"NODE_TYPE_{kind.name}" in section
    for field in layout(REGISTRY[kind]).fields:
        assert f"| `{field.idl_name}` |" in section


def test_refusals_are_shown() -> None:
    table = page().split("## What is refused")[1]
    for entry in REFUSED:
        assert entry.reason in table
        assert name(entry.node_type) in table
