"""Plain text for terminals and pipes: aligned tables, numbers and sizes a person can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def table(rows: Sequence[Sequence[Any]], header: Sequence[str] = (), *, indent: str = "", right: str = "") -> str:
    """Rows as aligned columns. ``right`` holds the numbers of the columns that are aligned to the right: "02"."""
    cells = [[str(cell) for cell in row] for row in ([header] if header else []) + list(rows)]
    if not cells:
        return ""
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    ends = {int(column) for column in right}
    lines = []
    for row in cells:
        parts = [
            cell.rjust(width) if column in ends else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(parts)).rstrip())
    return "\n".join(lines)


def size(count: float) -> str:
    """A number of bytes: "3.6 MB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return ""


def plural(count: int, noun: str) -> str:
    """ "1 layer", "2 layers"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def short(value: str, most: int = 160) -> str:
    """A text on one line, cut after ``most`` characters."""
    line = " ".join(str(value).split())
    return line if len(line) <= most else line[: most - 1] + "…"
