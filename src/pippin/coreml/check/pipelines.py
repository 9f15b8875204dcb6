"""The rules of pipelines and of nearest-neighbour classifiers, which updatable models are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import versions
from .features import type_difference
from .interface import check_classifier
from .report import Findings, Place, count, show
from .updatable import parameter_problems

PIPELINES = ("pipeline", "pipelineClassifier", "pipelineRegressor")


def check_pipeline(model: Any, place: Place, findings: Findings, check_model: Callable[[Any, Place], None]) -> None:
    """A pipeline and all its models; ``check_model`` checks one of them."""
    kind = model.WhichOneof("Type")
    pipeline = model.pipeline if kind == "pipeline" else getattr(model, kind).pipeline
    if not len(pipeline.models):
        findings.add("pipeline-empty", place, "pipeline.models", "hold at least 1 model", "none")
    names = list(pipeline.names)
    if names and (len(names) != len(pipeline.models) or len(set(names)) != len(names)):
        required = f"be empty or hold a name of its own for each of the {len(pipeline.models)} models"
        findings.add("pipeline-names", place, "pipeline.names", required, show(names))
    known = {feature.name: feature.type for feature in model.description.input}
    last = len(pipeline.models) - 1
    for index, part in enumerate(pipeline.models):
        called = f" {show(names[index])}" if index < len(names) else ""
        where = place.inside(f"model {index}{called} ({part.WhichOneof('Type') or 'no type'})")
        _flow(part.description.input, "input", known, where, findings)
        check_model(part, where)
        known |= {feature.name: feature.type for feature in part.description.output}
        wanted = model.isUpdatable and index == last
        if part.isUpdatable != wanted:
            required = "be set on the last model" if wanted else "not be set"
            if not wanted and model.isUpdatable:
                required += " on any model but the last"
            elif not wanted:
                required += " as the pipeline is not updatable"
            findings.add("pipeline-updatable", where, "isUpdatable", required, str(part.isUpdatable).lower())
    _flow(model.description.output, "output", known, place, findings)


def _flow(features: Any, side: str, known: dict[str, Any], place: Place, findings: Findings) -> None:
    """What a model takes, or a pipeline yields, is there and of the same type."""
    for feature in features:
        where = versions.feature_place(place, side, feature)
        if feature.name not in known:
            required = "be an input of the pipeline or an output of an earlier model"
            findings.add("pipeline-feature", where, "name", required, show(feature.name))
            continue
        difference = type_difference(known[feature.name], feature.type)
        if difference:
            findings.add("pipeline-type", where, "type", "equal that of the feature it stands for", difference)


def check_neighbors(model: Any, place: Place, findings: Findings) -> None:
    """A nearest-neighbour classifier."""
    classifier = model.kNearestNeighborsClassifier
    field = "kNearestNeighborsClassifier"
    if not classifier.HasField("numberOfNeighbors"):
        findings.add("neighbors-number", place, f"{field}.numberOfNeighbors", "be set", "none")
    for name, required, found in parameter_problems(classifier.numberOfNeighbors):
        if classifier.HasField("numberOfNeighbors"):
            findings.add("neighbors-number", place, f"{field}.numberOfNeighbors.{name}", required, found)
    if classifier.WhichOneof("WeightingScheme") is None:
        required = "be uniformWeighting or inverseDistanceWeighting"
        findings.add("neighbors-weighting", place, f"{field}.WeightingScheme", required, "none")
    label = _check_labels(classifier, field, place, findings)
    check_classifier(classifier, model.description, place, findings, label=label)
    _check_index(classifier, f"{field}.nearestNeighborsIndex", place, findings)


def _check_labels(classifier: Any, field: str, place: Place, findings: Findings) -> str:
    """The default label goes with the labels; returns the type of the labels."""
    default, labels = classifier.WhichOneof("DefaultClassLabel"), classifier.WhichOneof("ClassLabels")
    types = {"defaultStringLabel": "stringType", "defaultInt64Label": "int64Type", None: ""}
    held = {"stringClassLabels": "stringType", "int64ClassLabels": "int64Type", None: ""}[labels]
    some = labels is not None and len(getattr(classifier, labels).vector) > 0
    if default is None and not some:
        findings.add("neighbors-label", place, f"{field}.DefaultClassLabel", "be set when there are no labels", "none")
    elif default is not None and held and types[default] != held:
        required = f"be of the type of {labels}"
        findings.add("neighbors-label", place, f"{field}.DefaultClassLabel", required, default)
    return types[default] or held or "stringType"


def _check_index(classifier: Any, field: str, place: Place, findings: Findings) -> None:
    index = classifier.nearestNeighborsIndex
    labels = classifier.WhichOneof("ClassLabels")
    held = len(getattr(classifier, labels).vector) if labels else 0
    if len(index.floatSamples) != held:
        found = f"{len(index.floatSamples):,}"
        findings.add("neighbors-samples", place, f"{field}.floatSamples", f"hold {count(held, 'sample')}", found)
    wrong = [len(sample.vector) for sample in index.floatSamples if len(sample.vector) != index.numberOfDimensions]
    if wrong:
        required = f"hold samples of {index.numberOfDimensions} values"
        findings.add("neighbors-samples", place, f"{field}.floatSamples", required, f"one of {wrong[0]}")
    chosen = index.WhichOneof("IndexType")
    if chosen is None:
        findings.add("neighbors-index", place, f"{field}.IndexType", "be linearIndex or singleKdTreeIndex", "none")
    elif chosen == "singleKdTreeIndex" and index.singleKdTreeIndex.leafSize <= 0:
        found = str(index.singleKdTreeIndex.leafSize)
        findings.add("neighbors-index", place, f"{field}.singleKdTreeIndex.leafSize", "be above 0", found)
    if index.WhichOneof("DistanceFunction") is None:
        findings.add("neighbors-distance", place, f"{field}.DistanceFunction", "be squaredEuclideanDistance", "none")
