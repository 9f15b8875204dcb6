"""``check``: every problem of a model, named and explained.

The rules are those of Apple's own check (what it accepts is good here) and, as warnings, those that it leaves out. They
never stop at the first problem and never look at the weights' values, apart from a scan for NaN and infinities.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import ReadError
from ..read import NETWORKS, Document, Source, read
from ..wire import View
from . import versions
from .codes import CODES, Code
from .report import Finding, Findings, Place, Report

__all__ = ["CODES", "Code", "Finding", "Report", "check", "check_document"]


def check(source: Source | Document, *, values: bool = True, fit: bool = True) -> Report:
    """Judges a model completely.

    ``source`` is a path, bytes, a binary file object or a ``Document`` that was read before. ``values=False`` leaves
    the scan of the weights for NaN and infinities out, ``fit=False`` the tries of declared input sizes. What is no
    model at all is a finding as well (``unreadable``); only a path where there is nothing raises ``ReadError``.
    """
    if isinstance(source, Document):
        return check_document(source, values=values, fit=fit)
    if isinstance(source, (str, os.PathLike)) and not Path(source).exists():
        raise ReadError("there is no such file", where=str(source))
    try:
        document = read(source)
    except ReadError as error:
        return _unreadable(error, source)
    return check_document(document, values=values, fit=fit)


def check_document(document: Document, *, values: bool = True, fit: bool = True) -> Report:
    """The same for a model that was read before."""
    findings = Findings()
    _Checker(findings, document.views, values, fit).model(document.model, Place())
    version = int(document.model.specificationVersion)
    return Report(document.name, document.type, version, findings.items, findings.left_out)


def _unreadable(error: ReadError, source: Any) -> Report:
    name = Path(source).name if isinstance(source, (str, os.PathLike)) else getattr(source, "name", "") or "model"
    findings = Findings()
    findings.add("unreadable", Place(), message=error.message, hint=error.hint)
    return Report(str(name), None, None, findings.items)


class _Checker:
    """Checks a model and the models inside it."""

    def __init__(self, findings: Findings, views: Sequence[View], values: bool, fit: bool) -> None:
        self.findings = findings
        self.views = views
        self.values = values
        self.fit = fit

    def model(self, model: Any, place: Place) -> None:
        from . import description, pipelines

        kind = model.WhichOneof("Type")
        self._version(model, kind, place)
        description.check_description(model, place, self.findings)
        if kind is None:
            self.findings.add("model-type-missing", place, "Type", "be set", "none")
        elif kind in NETWORKS:
            self._network(model, kind, place)
        elif kind in pipelines.PIPELINES:
            pipelines.check_pipeline(model, place, self.findings, self.model)
        elif kind == "kNearestNeighborsClassifier":
            pipelines.check_neighbors(model, place, self.findings)
        else:
            message = f"the description is judged, the {kind} itself is not"
            self.findings.add("model-type-not-judged", place, "Type", message=message)

    def _version(self, model: Any, kind: str | None, place: Place) -> None:
        version = model.specificationVersion
        field = "specificationVersion"
        if version == 0:
            self.findings.add("version-missing", place, field, f"lie between 1 and {versions.NEWEST}", "none")
        elif version < 0:
            # Apple's check compares with an upper bound only
            self.findings.add("version-negative", place, field, f"lie between 1 and {versions.NEWEST}", str(version))
        elif version > versions.NEWEST:
            self.findings.add("version-unknown", place, field, f"be at most {versions.NEWEST}", str(version))
        if not model.isUpdatable:
            return
        if version < versions.UPDATABLE:
            required = f"be at least {versions.UPDATABLE} for isUpdatable"
            self.findings.add("version-feature", place, field, required, str(version))
        if kind is not None and kind not in _UPDATABLE:
            required = f"not be set for the model type {kind}"
            self.findings.add("model-type-updatable", place, "isUpdatable", required)

    def _network(self, model: Any, kind: str, place: Place) -> None:
        from . import beyond, interface, shapes, updatable

        network = getattr(model, kind)
        first = len(self.findings.items)
        interface.check_network(model, place, self.findings, self.views)
        known = None
        contradiction = False
        if not interface.is_nd(network):
            known = shapes.check_shapes(model, network, place, self.findings)
            contradiction = known is None
        if model.isUpdatable:
            updatable.check_updatable(model, place, self.findings, self.views, demote=contradiction)
        beyond.check_beyond(model, place, self.findings, self.views, values=self.values)
        probabilities = shapes.probabilities(model, known)
        if self.fit and not contradiction and not any(map(_stops, self.findings.items[first:])):
            from . import fit

            fitted = fit.check_fit(model, place, self.findings, self.views)
            if fitted is not None:
                fit.check_outputs(model, fitted, place, self.findings)
                probabilities = shapes.probabilities_of(model, fitted.shapes)
        if kind == "neuralNetworkClassifier":
            beyond.check_labels(model, probabilities, place, self.findings)


_UPDATABLE = (*NETWORKS, "kNearestNeighborsClassifier", "pipeline", "pipelineClassifier", "pipelineRegressor")


def _stops(finding: Finding) -> bool:
    """Whether lowering the network would only repeat what is told already."""
    return finding.fatal or (finding.severity == "error" and finding.index is not None)
