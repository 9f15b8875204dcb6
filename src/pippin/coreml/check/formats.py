"""Reports for other programs: annotations of GitHub Actions and SARIF."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from .codes import CODES

_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class Finding(Protocol):
    """What is told of a finding, of whichever door its model came through."""

    @property
    def code(self) -> str:
        """Its code."""

    @property
    def severity(self) -> str:
        """ "error", "warning" or "note"."""

    @property
    def where(self) -> str:
        """The place in the model."""

    @property
    def hint(self) -> str:
        """A remedy, or empty."""


class Report(Protocol):
    """Findings of one model."""

    @property
    def findings(self) -> Sequence[Finding]:
        """All of them."""


def to_github(path: str, report: Report) -> Iterator[str]:
    """Workflow commands, one a finding: ``::error file=model.mlmodel,title=weights-count::layer 3 …``."""
    for finding in report.findings:
        properties = f"file={_property(path)},title={_property(finding.code)}"
        yield f"::{_GITHUB[finding.severity]} {properties}::{_data(_sentence(finding))}"


def _sentence(finding: Finding) -> str:
    return f"{finding}\nhint: {finding.hint}" if finding.hint else str(finding)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def to_sarif(reports: Iterable[tuple[str, Report]], meanings: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A SARIF 2.1.0 log with one run; the place in a model is a logical location.

    ``meanings`` explains the codes that are none of the Core ML check's.
    """
    results = [_result(path, finding) for path, report in reports for finding in report.findings]
    used = sorted({result["ruleId"] for result in results})
    driver = {"name": "pippin check", "rules": [_rule(code, meanings or {}) for code in used]}
    for result in results:
        result["ruleIndex"] = used.index(result["ruleId"])
    return {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _rule(code: str, meanings: Mapping[str, str]) -> dict[str, Any]:
    entry = CODES.get(code)
    if entry is None:
        return {"id": code, "shortDescription": {"text": meanings.get(code, code)}}
    rule: dict[str, Any] = {
        "id": code,
        "shortDescription": {"text": entry.meaning},
        "fullDescription": {"text": f"{entry.meaning} Example: {entry.example}"},
        "defaultConfiguration": {"level": entry.severity},
    }
    if entry.remedy:
        rule["help"] = {"text": entry.remedy}
    return rule


def _result(path: str, finding: Finding) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}}}
    if finding.where:
        place = {"fullyQualifiedName": finding.where, "kind": "element"}
        location["logicalLocations"] = [place]
    return {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": _sentence(finding)},
        "locations": [location],
    }


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(path.replace("\\", "/"))
