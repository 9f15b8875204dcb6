"""Writes ``docs/reference/nodes.md``: every NNRt node type, from the docstrings of the lowerings and the structs.

python tools/build_node_page.py
"""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from pippin.nnrt.attributes import REGISTRY, layout
from pippin.nnrt.enums import (
    ActivationType,
    CoordinateTransformMode,
    EltwiseMode,
    IdlEnum,
    NearestMode,
    NodeType,
    PaddingMode,
    PadMode,
    ReduceMode,
    ResizeMethod,
    RoundMode,
)
from pippin.nnrt.nodes.base import NODES
from pippin.nnrt.refused import REFUSED, WITH_PARAMETERS

ENUMERATIONS: tuple[type[IdlEnum], ...] = (
    ActivationType,
    CoordinateTransformMode,
    EltwiseMode,
    NearestMode,
    PadMode,
    PaddingMode,
    ReduceMode,
    ResizeMethod,
    RoundMode,
)
PAGE = Path(__file__).resolve().parents[1] / "docs/reference/nodes.md"

_HEAD = """\
# NNRt node types

<!-- made by tools/build_node_page.py from the docstrings in src/pippin/nnrt/nodes and attributes; do not edit -->

What each of the {count} node types of the device interface v2.1 computes here: formula, inputs and outputs with their
dims, fields with their types and defaults, and where Pippin knowingly differs from the text of the interface.

Shapes are written with letters: N batch, H, W height and width, C channels, … any dims; () is a scalar. Inputs stand in
front of an arrow → and outputs behind it. A 4-D image is N,H,W,C, or N,C,H,W where its tensor's format says so; weights
keep the layout that stands here. Any dim may be -1 unless a text says that it must be known. Inputs that must be
constants say so.

Element types: bool, int8 to int64, uint8 to uint64, float16, float32 and float64, wherever the formula has a meaning
for them. Where ONNX Runtime has no kernel for a type the next wider one is computed in, and the result brought back.
int8 and uint8 are quantised numbers to arithmetic, and must carry quantParams there; where elements only move they are
plain numbers. Tensors with quantParams are read as (q - zeroPoint) · scale and written as round(r / scale + zeroPoint),
halves away from zero, kept within their bits; see [the decisions](../decisions/nnrt.md) for what is exact.

`act` is one of the activation functions that take no parameters: {plain}.
"""

_REFUSED_HEAD = """
## What is refused

Every node type runs. These values of fields do not:

| node type | field | value | why |
|---|---|---|---|
"""


def page() -> str:
    """The text of the page."""
    families: dict[str, list[NodeType]] = {}
    for kind in REGISTRY:
        families.setdefault(_function(kind).__module__, []).append(kind)
    titles = {module: _title(module) for module in families}
    plain = ", ".join(kind.name for kind in ActivationType if kind not in (*WITH_PARAMETERS, ActivationType.UNKNOWN))
    text = [_HEAD.format(count=len(REGISTRY), plain=plain), "\n"]
    modules = sorted(families, key=titles.__getitem__)
    for module in modules:
        links = ", ".join(f"[{name(kind)}](#{name(kind).lower()})" for kind in sorted(families[module], key=name))
        text.append(f"- {titles[module]}: {links}\n")
    for module in modules:
        text.append(f"\n## {titles[module]}\n")
        text += [_section(kind) for kind in sorted(families[module], key=name)]
    text.append("\n## Enumerations\n")
    text += [_enumeration(cls) for cls in ENUMERATIONS]
    text += [_REFUSED_HEAD, *_refused()]
    return "".join(text)


def _enumeration(cls: type[IdlEnum]) -> str:
    members = ", ".join(f"{member.name} {int(member)}" for member in cls)
    return f"\n### {cls.__name__}\n\n{members}\n\n```text\n{inspect.getdoc(cls)}\n```\n"


def name(kind: NodeType) -> str:
    """The name of the struct, by which people know the node type."""
    return REGISTRY[kind].__name__


def _function(kind: NodeType) -> Any:
    entry = NODES.get(kind)
    assert entry is not None, kind
    return entry.function


def _title(module: str) -> str:
    line = (inspect.getdoc(sys.modules[module]) or "").splitlines()[0]
    return re.split(r"[.;:]", line)[0]


def describe(kind: NodeType) -> tuple[str, str, str]:
    """Formula, shapes and text, and what differs.

    A lowering of one node type says all; of one that several share the formula stands at the struct.
    """
    own = inspect.getdoc(_function(kind)) or ""
    struct = inspect.getdoc(REGISTRY[kind]) or ""
    users = [other for other in REGISTRY if _function(other) is _function(kind)]
    shared = len(users) > 1 or own.startswith("y = act(a op b)")
    first, _, body = own.partition("\n")
    summary = struct.partition("\n")[0] if shared and len(users) != 2 else first
    body, _, differs = body.partition("Differs: ")
    return summary.strip(), " ".join(body.split()), " ".join(differs.split())


def _section(kind: NodeType) -> str:
    summary, body, differs = describe(kind)
    lines = [f"\n### {name(kind)}\n", f"`NODE_TYPE_{kind.name}` {int(kind)}\n", f"{_plain(summary)}\n"]
    if body:
        lines.append(f"{_plain(body)}\n")
    listed = _fields(kind)
    if listed:
        lines.append("\n".join(["| field | type | default |", "|---|---|---|", *listed]) + "\n")
    if differs:
        lines.append(f"**Differs:** {_plain(differs)}\n")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Docstring markup as Markdown."""
    return re.sub(r"``([^`]*)``", r"`\1`", re.sub(r":\w+:`~?([\w.]+)`", lambda m: m[1].rpartition(".")[2], text))


def _fields(kind: NodeType) -> list[str]:
    struct = REGISTRY[kind]
    defaults = {field.name: field.default for field in fields(struct)}  # type: ignore[arg-type]
    rows = []
    for field in layout(struct).fields:
        value = defaults[field.name]
        shown = "" if value is MISSING else value.name if hasattr(value, "name") else _value(value)
        rows.append(f"| `{field.idl_name}` | {field.kind} | {shown} |")
    return rows


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return {True: "true", False: "false"}.get(value, f"{value}") if isinstance(value, bool) else f"{value}"


def _refused() -> list[str]:
    """The table of refusals, equal ones of several node types in one line."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for entry in REFUSED:
        value = getattr(entry.value, "name", None) or _value(entry.value)
        rows.setdefault((entry.field, value, entry.reason), []).append(name(entry.node_type))
    return [
        f"| {', '.join(sorted(names))} | `{field}` | {value} | {reason} |\n"
        for (field, value, reason), names in rows.items()
    ]


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
