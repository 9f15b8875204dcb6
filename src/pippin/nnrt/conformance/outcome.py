"""What a conformance run finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

SCHEMA = "pippin.nnrt.conformance/1"
"""Name and version of the JSON form."""


class Failed(Exception):
    """The device does otherwise than the interface asks; the text says what was required and what there was."""


class NotSupported(Exception):
    """The device says itself that it does not do this; the text is its reason."""


class Status(StrEnum):
    """How a case came out."""

    PASS = "pass"
    FAIL = "fail"
    UNSUPPORTED = "not supported"


@dataclass(frozen=True)
class Result:
    """One case: ``basis`` says whose demand it is ("suite", "sample", "text" or "Pippin"), see ``suite.Case``."""

    group: str
    name: str
    status: Status
    reason: str = ""
    basis: str = ""
    seconds: float = 0.0


@dataclass
class Outcome:
    """All results, in the order in which the cases ran."""

    target: str
    results: list[Result] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True if no case failed."""
        return not self.of(Status.FAIL)

    def of(self, status: Status) -> list[Result]:
        """The results of one kind."""
        return [result for result in self.results if result.status is status]

    def counts(self) -> dict[str, dict[Status, int]]:
        """Group → how many cases came out how."""
        table: dict[str, dict[Status, int]] = {}
        for result in self.results:
            row = table.setdefault(result.group, dict.fromkeys(Status, 0))
            row[result.status] += 1
        return table

    def lines(self, *, everything: bool = False) -> Iterator[str]:
        """The table by group, then what failed and what is not supported; with ``everything`` each case."""
        from ...report import text

        yield self.target
        yield ""
        rows: list[tuple[Any, ...]] = [(group, *row.values()) for group, row in self.counts().items()]
        rows.append(("total", *(len(self.of(status)) for status in Status)))
        yield text.table(rows, ("group", *Status), right="123")
        for status in (Status.PASS,) * everything + (Status.FAIL, Status.UNSUPPORTED):
            found = self.of(status)
            if not found:
                continue
            yield ""
            yield status.value
            cells = [(f"{result.group}:", result.name, text.short(result.reason, 200)) for result in found]
            yield text.table(cells, indent="  ")

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data: schema, target, ok, groups, results."""
        return {
            "schema": SCHEMA,
            "target": self.target,
            "ok": self.ok,
            "groups": {group: {str(key): n for key, n in row.items()} for group, row in self.counts().items()},
            "results": [
                {
                    "group": result.group,
                    "name": result.name,
                    "status": str(result.status),
                    "reason": result.reason,
                    "basis": result.basis,
                    "seconds": round(result.seconds, 6),
                }
                for result in self.results
            ],
        }
