"""Writes ``docs/reference/layers.md``: every layer kind, from the docstrings of the lowerings. Run it after a change.

python tools/build_layer_page.py
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pippin.coreml import schema
from pippin.coreml.check.versions import IOS12
from pippin.coreml.check.versions import layer_version as version_of
from pippin.coreml.lowering import LAYERS

PAGE = Path(__file__).resolve().parents[1] / "docs/reference/layers.md"

_HEAD = """\
# Layers of Core ML neural networks

<!-- made by tools/build_layer_page.py from the docstrings in src/pippin/coreml/layers; do not edit -->

What each of the {count} layer kinds of the format computes here: formula, shapes, defaults, and where Pippin knowingly
differs from the text of the format, and why.

Shapes are written with letters: N or B batch, S sequence, C channels, D, H, W depth, height and width, … any axes;
(…) is an input in front of an arrow → and an output behind it. In networks with the legacy rank-5 mapping every blob
is (S,B,C,H,W). Fields are spelt as in the format. All numbers are float32; sizes and indices stay whole numbers
between the layers that use them.

"""
_PART = re.compile(r"(?<![\w])(Defaults?|Other defaults|Differs|Source)(?: of [\w ]+)?: ")


def page() -> str:
    """The text of the page."""
    kinds = schema.layer_kinds()
    families: dict[str, list[str]] = {}
    for kind in kinds:
        families.setdefault(_entry(kind).__module__, []).append(kind)
    titles = {module: _title(module) for module in families}
    text = [_HEAD.format(count=len(kinds))]
    text += [f"- {titles[module]}: {_links(families[module])}\n" for module in sorted(families, key=titles.__getitem__)]
    for module in sorted(families, key=titles.__getitem__):
        text.append(f"\n## {titles[module]}\n")
        text += [_section(kind, kinds[kind]) for kind in sorted(families[module], key=str.lower)]
    return "".join(text)


def _entry(kind: str) -> Any:
    entry = LAYERS.get(kind)
    assert entry is not None, kind
    return entry.function


def _title(module: str) -> str:
    """The first line of a family's docstring, without its sources."""
    line = (inspect.getdoc(sys.modules[module]) or "").splitlines()[0]
    return line.split(" Source")[0].rstrip(".")


def _links(kinds: list[str]) -> str:
    return ", ".join(f"[{kind}](#{kind.lower()})" for kind in sorted(kinds, key=str.lower))


def parts(docstring: str) -> tuple[str, str, dict[str, str]]:
    """A lowering's docstring as summary, formula and shapes, and the parts that begin with a word and a colon."""
    summary, _, body = docstring.partition("\n")
    cuts = list(_PART.finditer(body))
    named = {}
    for cut, following in zip(cuts, [*cuts[1:], None], strict=True):
        end = following.start() if following else len(body)
        named[cut.group(1).rstrip("s").capitalize()] = " ".join(body[cut.end() : end].split())
    return summary, body[: cuts[0].start() if cuts else len(body)].strip(), named


def _section(kind: str, message: str) -> str:
    summary, body, named = parts(inspect.getdoc(_entry(kind)) or "")
    lines = ["", f"### {kind}", "", _code(summary)]
    if body:
        lines += ["", "```text", body.replace("``", ""), "```"]
    bullets = [f"{word}: {_code(named[key])}" for key, word in _NAMES.items() if key in named]
    if "(" in named.get("Source", ""):
        bullets.append(f"Source: {named['Source']}")
    fields = ", ".join(f"`{name}`" for name in _fields(message))
    bullets.append(f"Fields of `{message}`: {fields or 'none'}. Since version {_since(kind)} of the format.")
    return "\n".join([*lines, "", *(f"- {bullet}" for bullet in bullets), ""])


_NAMES = {"Default": "Defaults", "Other default": "Other defaults", "Differ": "**Differs**"}


def _code(text: str) -> str:
    """Prose with what Markdown would take for its own kept as it is."""
    pieces = text.replace("``", "`").split("`")
    pieces[::2] = [re.sub(r"[*<]", r"\\\g<0>", piece) for piece in pieces[::2]]
    return "`".join(pieces)


def _fields(message: str) -> Iterator[str]:
    for field in schema.message(message).DESCRIPTOR.fields:
        yield field.name


def _since(kind: str) -> int:
    layer = schema.message("NeuralNetworkLayer")()
    getattr(layer, kind).SetInParent()
    if kind in IOS12:
        layer.input.append("x")
    return max((version for version, _ in version_of(layer, [])), default=1)


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
