"""Findings and the report that gathers them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .codes import CODES, SEVERITIES

SCHEMA = "pippin.check/1"
"""Name and version of the JSON form; it changes when a reader of the old form would break."""

KEPT = 1000
"""Findings of one code that a report keeps; a broken file must not fill the memory with them."""

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a model something stands.

    ``text`` is for reading, outermost first: ``layer 3 'loop' (loop) > bodyNetwork > layer 0 'add' (add)``.
    ``layer``, ``index`` and ``kind`` describe the innermost layer; ``index`` is its position in its own network.
    """

    text: str = ""
    layer: str | None = None
    index: int | None = None
    kind: str | None = None

    def inside(self, text: str) -> Place:
        """A place one step further in, without a layer of its own."""
        return Place(self._join(text), self.layer, self.index, self.kind)

    def of_layer(self, index: int, name: str, kind: str | None) -> Place:
        """The place of layer ``index`` of the network that stands here."""
        called = f" {show(name)}" if name else ""
        return Place(self._join(f"layer {index}{called} ({kind or 'no type'})"), name, index, kind)

    def _join(self, text: str) -> str:
        return f"{self.text} > {text}" if self.text else text


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of a model.

    ``code`` is stable and listed in the reference; ``severity`` is "error", "warning" or "note"; ``field`` is the
    field in the format's own spelling; ``required`` and ``found`` say what has to be there and what is; ``hint`` is a
    remedy or empty. ``fatal`` tells that the network, or the part of it where the finding stands, cannot
    run; an error that is not fatal is one that Apple's systems refuse and Pippin lives with.
    """

    code: str
    severity: str
    where: str
    message: str
    field: str = ""
    required: str = ""
    found: str = ""
    hint: str = ""
    fatal: bool = False
    layer: str | None = None
    index: int | None = None
    kind: str | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data; empty texts stay, an absent layer is null."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass
class Report:
    """What ``check`` says about one model.

    ``name`` is what the file is called, ``type`` the model type in the format's spelling, ``version`` the declared
    specificationVersion (None where the file cannot be read). ``left_out`` counts, by code, the findings beyond the
    first ``KEPT``.
    """

    name: str = "model"
    type: str | None = None
    version: int | None = None
    findings: list[Finding] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True if no finding is an error."""
        return not any(finding.severity == "error" for finding in self.findings)

    @property
    def errors(self) -> list[Finding]:
        """The findings that make the model bad."""
        return self.of("error")

    @property
    def fatal(self) -> list[Finding]:
        """The findings for which the network, or a part of it, cannot run."""
        return [finding for finding in self.findings if finding.fatal]

    def of(self, severity: str) -> list[Finding]:
        """The findings of one severity."""
        return [finding for finding in self.findings if finding.severity == severity]

    def grouped(self) -> Iterator[tuple[str, list[Finding]]]:
        """Findings of the same code and severity together, errors first, otherwise in the order they were found."""
        groups: dict[tuple[str, str], list[Finding]] = {}
        for finding in self.findings:
            groups.setdefault((finding.severity, finding.code), []).append(finding)
        for severity, code in sorted(groups, key=lambda group: SEVERITIES.index(group[0])):
            yield code, groups[severity, code]

    def summary(self) -> str:
        """One line: ``good: 2 warnings, 1 note``."""
        counts = [(len(self.of(severity)), severity) for severity in SEVERITIES]
        told = ", ".join(f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count)
        return f"{'good' if self.ok else 'bad'}: {told or 'nothing found'}"

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data: schema, name, ok, type, specificationVersion, findings, leftOut."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "ok": self.ok,
            "type": self.type,
            "specificationVersion": self.version,
            "findings": [finding.to_dict() for finding in self.findings],
            "leftOut": dict(self.left_out),
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """The report as JSON (see ``to_dict``)."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, *, limit: int | None = None) -> Iterator[str]:
        """The readable report, line by line; of each kind at most ``limit`` findings are told."""
        yield f"{self.name}: {self.summary()}"
        for code, findings in self.grouped():
            shown = findings if limit is None else findings[:limit]
            yield f"  {findings[0].severity} {code}: {CODES[code].meaning}"
            for finding in shown:
                yield f"    {finding}"
            more = len(findings) - len(shown) + self.left_out.get(code, 0)
            if more:
                yield f"    … and {more:,} more"
            for hint in dict.fromkeys(finding.hint for finding in shown if finding.hint):
                yield f"    hint: {hint}"


class Findings:
    """Gathers findings while a model is checked; nothing here ever raises for what a model holds."""

    def __init__(self) -> None:
        self.items: list[Finding] = []
        self.left_out: dict[str, int] = {}
        self._counts: dict[str, int] = {}

    def add(
        self,
        code: str,
        place: Place,
        field: str = "",
        required: str = "",
        found: str = "",
        *,
        message: str = "",
        hint: str | None = None,
        severity: str = "",
    ) -> None:
        """Notes a finding.

        Without ``message`` the sentence is made of the parts: ``<field> must <required>, got <found>``. ``hint``
        defaults to the remedy of the code, ``severity`` to its severity.
        """
        entry = CODES[code]
        self._counts[code] = self._counts.get(code, 0) + 1
        if self._counts[code] > KEPT:
            self.left_out[code] = self.left_out.get(code, 0) + 1
            return
        if not message:
            message = f"{field} must {required}" if required else f"{field}: {entry.meaning}"
            if found:
                message += f", got {found}"
        self.items.append(
            Finding(
                code,
                severity or entry.severity,
                place.text,
                message,
                field,
                required,
                found,
                entry.remedy if hint is None else hint,
                entry.fatal,
                place.layer,
                place.index,
                place.kind,
            )
        )


def show(value: object) -> str:
    """A value of a model for a message: quoted, and never longer than a line, whatever the file holds."""
    if isinstance(value, str):
        return repr(value if len(value) <= 80 else value[:77] + "...")
    if isinstance(value, (bool, int, float)):
        return f"{value:.7g}" if isinstance(value, float) else str(value)
    if isinstance(value, Iterable):
        items: list[str] = []
        for item in value:
            if len(items) == _SHOWN:
                items.append("…")
                break
            items.append(show(item))
        return f"[{', '.join(items)}]"
    return str(value)


def count(number: int, noun: str) -> str:
    """``3 values``, ``1 value``, ``no values``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}" if number else f"no {noun}s"
