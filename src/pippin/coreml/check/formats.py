"""Reports for other programs: annotations of GitHub Actions and SARIF."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .codes import CODES
from .report import Finding, Report

_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


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


def to_sarif(reports: Iterable[tuple[str, Report]]) -> dict[str, Any]:
    """A SARIF 2.1.0 log with one run; the place in a model is a logical location."""
    results = [_result(path, finding) for path, report in reports for finding in report.findings]
    used = sorted({result["ruleId"] for result in results})
    driver = {"name": "pippin check", "rules": [_rule(code) for code in used]}
    for result in results:
        result["ruleIndex"] = used.index(result["ruleId"])
    return {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _rule(code: str) -> dict[str, Any]:
    entry = CODES[code]
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
