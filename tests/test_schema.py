"""The schema: names and numbers against the format's text, and the compiled form against its sources."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pippin.coreml import schema
from shared import SHARED, needs_shared

ROOT = Path(__file__).resolve().parents[1]


def parsed(text: str) -> dict[str, dict[str, object]]:
    """Messages and enums of a .proto text by their full name: field or value name → (number, type, repeated)."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"//.*", "", text)
    found: dict[str, dict[str, object]] = {}
    stack: list[tuple[str, str]] = []
    for token in re.finditer(r"(message|enum|oneof)\s+(\w+)\s*\{|\}|([^;{}]+);", text):
        if token[1]:
            stack.append((token[1], token[2]))
            if token[1] != "oneof":
                found[".".join(name for kind, name in stack if kind != "oneof")] = {}
        elif token[0] == "}":
            stack.pop()
        elif stack:
            owner = ".".join(name for kind, name in stack if kind != "oneof")
            statement = " ".join(token[3].split())
            field = re.fullmatch(r"(repeated )?(?:([\w.]+|map<.*>) )?(\w+) = (\d+)(?: \[.*\])?", statement)
            if field:
                found[owner][field[3]] = (int(field[4]), (field[2] or "").split(".")[-1], bool(field[1]))
    return found


@needs_shared
def test_names_numbers_and_types_are_those_of_the_format() -> None:
    theirs = parsed((SHARED / "spec/NeuralNetwork.proto.txt").read_text())
    ours = parsed((ROOT / "src/pippin/coreml/schema/neural_network.proto").read_text())
    for message in ("WeightParams", "NeuralNetworkMeanImage"):
        assert ours[message].pop(schema.VIEW) == (536870911, "uint32", True)
    assert len(theirs) > 200
    assert ours == theirs


def test_there_are_158_layer_kinds() -> None:
    kinds = schema.layer_kinds()
    assert len(kinds) == 158
    assert list(kinds)[:2] == ["convolution", "pooling"]
    assert kinds["NonMaximumSuppression"] == "NonMaximumSuppressionLayerParams"


def test_the_compiled_schema_is_that_of_the_sources(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools")
    code = (
        "import sys; sys.path.insert(0, 'tools'); from pathlib import Path; import build_schema;"
        f"build_schema.build(Path({str(tmp_path / 'fresh.binpb')!r}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    committed = ROOT / "src/pippin/coreml/schema/coreml.binpb"
    assert (tmp_path / "fresh.binpb").read_bytes() == committed.read_bytes(), "run: python tools/build_schema.py"


def test_unknown_message() -> None:
    with pytest.raises(AttributeError, match="no message 'Nonsense'"):
        _ = schema.Nonsense
