"""The page of all layers follows the docstrings of the lowerings, and each docstring says what it must."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

from pippin.coreml.lowering import LAYERS
from pippin.coreml.schema import layer_kinds

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from build_layer_page import PAGE, page, parts  # noqa: E402

sys.path.pop(0)


def docstring(kind: str) -> str:
    entry = LAYERS.get(kind)
    assert entry is not None
    return inspect.getdoc(entry.function) or ""


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tools/build_layer_page.py"


@pytest.mark.parametrize(("kind", "message"), layer_kinds().items())
def test_docstring(kind: str, message: str) -> None:
    summary, body, named = parts(docstring(kind))
    assert summary.endswith("."), "the first line is a sentence"
    assert "→" in body, "the shapes stand as x (…) → y (…)"
    assert named["Source"].startswith(message), "the source is the message of the format"
    for text in named.values():
        assert text.endswith("."), text
    assert f"\n### {kind}\n" in page()


def test_parts_of_a_docstring() -> None:
    summary, body, named = parts(
        "Halves.\n\ny = x/2\nx (…) → y same shape. Defaults: none\nhere. Differs: from the\ntext. Source: HalfParams."
    )
    assert (summary, body) == ("Halves.", "y = x/2\nx (…) → y same shape.")
    assert named == {"Default": "none here.", "Differ": "from the text.", "Source": "HalfParams."}
