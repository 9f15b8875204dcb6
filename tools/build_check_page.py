"""Writes ``docs/reference/check-codes.md``: every code of ``pippin check``. Run it after a change of the codes.

python tools/build_check_page.py
"""

from __future__ import annotations

from pathlib import Path

from pippin.coreml.check.codes import CODES, GROUPS, SEVERITIES, Code

PAGE = Path(__file__).resolve().parents[1] / "docs/reference/check-codes.md"

_HEAD = """\
# Codes of `pippin check`

<!-- made by tools/build_check_page.py; do not edit -->

`pippin check` and `pippin.check` name every problem of a Core ML model by a code that stays the same from release to
release. A model is good when it has no error.

* **error**: Apple's own check refuses the model.
* **warning**: Apple's check lets it pass, but it fails, answers wrongly or is refused later.
* **note**: worth knowing.

What is marked *cannot run* is refused by `pippin.load`, unless no output depends on it. Pippin lives with the rest as
far as it can and keeps it on `model.report`; `strict=True` refuses every error.
"""


def page() -> str:
    """The text of the page."""
    parts = [_HEAD]
    for group, title in GROUPS.items():
        codes = sorted(
            (code for code in CODES.values() if code.group == group), key=lambda code: SEVERITIES.index(code.severity)
        )
        parts.append(f"## {title}\n")
        parts += map(_entry, codes)
    return "\n".join(parts)


def _entry(code: Code) -> str:
    marks = code.severity + (", cannot run" if code.fatal else "")
    lines = [f"### `{code.name}`", "", f"*{marks}* — {code.meaning}", "", f"Example: {code.example}", ""]
    if code.remedy:
        lines += [f"Remedy: {code.remedy}", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
