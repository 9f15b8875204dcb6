"""The rules that tie a network to the model's interface: inputs, outputs, labels, mappings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..wire import View
from . import versions
from .graph import Graph, Scope
from .report import Findings, Place, show

_FEATURES = ("imageType", "multiArrayType", "stateType")
_RANK5_ARRAY = _RANK5_IMAGE = 0


def is_nd(network: Any) -> bool:
    """Whether the network works on arrays of any rank rather than on the five axes of the first versions."""
    if network.arrayInputShapeMapping != _RANK5_ARRAY or network.imageInputShapeMapping != _RANK5_IMAGE:
        return True
    return not all(map(versions.is_ios12, network.layers))


def check_network(model: Any, place: Place, findings: Findings, views: Sequence[View]) -> Scope:
    """A neural network of any of the three types; returns the blobs that are known at its end."""
    kind = model.WhichOneof("Type")
    network, description = getattr(model, kind), model.description
    nd = is_nd(network)
    _check_mappings(network, description, place, findings)
    if not len(network.layers):
        findings.add("layers-missing", place, f"{kind}.layers", "hold at least 1 layer", "none")
    _check_types(description, kind, place, findings)
    for feature in description.input:
        if feature.type.WhichOneof("Type") == "multiArrayType":
            where = versions.feature_place(place, "input", feature)
            _check_shape(feature.type.multiArrayType, nd, where, findings)
    scope = Scope()
    for feature in description.input:
        scope.write(feature.name, set())
    if nd:
        _set_ranks(network, description, scope)
    Graph(scope, place, findings, views, nd=nd).check(network)
    _check_outputs(network, description, scope, place, findings)
    if kind == "neuralNetworkClassifier":
        check_classifier(network, description, place, findings)
        name = network.labelProbabilityLayerName
        if name and not scope.own.get(name):
            required = "name a blob that a layer writes"
            findings.add("label-probability-layer", place, f"{kind}.labelProbabilityLayerName", required, show(name))
    elif kind == "neuralNetworkRegressor":
        _check_predicted(description, ("doubleType", "multiArrayType"), place, findings)
    return scope


def _check_mappings(network: Any, description: Any, place: Place, findings: Findings) -> None:
    """Arrays mapped to five axes go neither with later layers nor with images mapped otherwise."""
    arrays = any(f.type.WhichOneof("Type") == "multiArrayType" for f in description.input)
    if network.arrayInputShapeMapping != _RANK5_ARRAY or not arrays:
        return
    later = [layer for layer in network.layers if not versions.is_ios12(layer)]
    if later:
        kind = later[0].WhichOneof("layer") or "no type"
        found = f"RANK5_ARRAY_MAPPING with layer {show(later[0].name)} ({kind})"
        required = "be EXACT_ARRAY_MAPPING when a layer is newer than version 3"
        findings.add("mapping-conflict", place, "arrayInputShapeMapping", required, found)
    if network.imageInputShapeMapping != _RANK5_IMAGE:
        required = "be RANK5_IMAGE_MAPPING as long as arrays use RANK5_ARRAY_MAPPING"
        findings.add("mapping-conflict", place, "imageInputShapeMapping", required, str(network.imageInputShapeMapping))


def _check_types(description: Any, kind: str, place: Place, findings: Findings) -> None:
    sides = ("input", "output") if kind == "neuralNetwork" else ("input",)
    for side in sides:
        for feature in getattr(description, side):
            chosen = feature.type.WhichOneof("Type")
            if chosen is not None and chosen not in _FEATURES:
                where = versions.feature_place(place, side, feature)
                findings.add(f"{side}-type", where, "type", "be an image, a multi-array or a state", chosen)


def _check_shape(array: Any, nd: bool, place: Place, findings: Findings) -> None:
    flexible = array.WhichOneof("ShapeFlexibility")
    field = "type.multiArrayType.shape"
    if nd:
        if not len(array.shape):
            findings.add("nd-shape", place, field, "be given, also when it is flexible", "none")
        elif flexible == "shapeRange" and len(array.shapeRange.sizeRanges) != len(array.shape):
            required = f"hold a range for each of the {len(array.shape)} dims of shape"
            found = str(len(array.shapeRange.sizeRanges))
            findings.add("nd-shape", place, "type.multiArrayType.shapeRange.sizeRanges", required, found)
        return
    if len(array.shape):
        lengths = [len(array.shape)]
    elif flexible == "enumeratedShapes":
        lengths = [len(entry.shape) for entry in array.enumeratedShapes.shapes]
    elif flexible == "shapeRange":
        lengths = [len(array.shapeRange.sizeRanges)]
    else:
        lengths = [0]
    wrong = [length for length in lengths if length not in (1, 3)]
    if wrong:
        required = "have 1 or 3 dims (channels, or channels, height, width)"
        findings.add("rank5-shape", place, field, required, show(array.shape) if len(array.shape) else str(wrong[0]))


def _set_ranks(network: Any, description: Any, scope: Scope) -> None:
    rank5 = network.arrayInputShapeMapping == _RANK5_ARRAY
    for feature in description.output:
        if feature.type.WhichOneof("Type") == "multiArrayType" and len(feature.type.multiArrayType.shape):
            scope.set_rank(feature.name, len(feature.type.multiArrayType.shape))
    for feature in description.input:
        chosen = feature.type.WhichOneof("Type")
        if chosen == "multiArrayType":
            scope.set_rank(feature.name, 5 if rank5 else len(feature.type.multiArrayType.shape))
        elif chosen == "imageType":
            scope.set_rank(feature.name, 5 if network.imageInputShapeMapping == _RANK5_IMAGE else 4)


def _check_outputs(network: Any, description: Any, scope: Scope, place: Place, findings: Findings) -> None:
    """Every output is a blob that a layer writes, labels and probabilities of a classifier excepted."""
    kind = f"n{network.DESCRIPTOR.name[1:]}"
    last = list(network.layers[-1].output) if len(network.layers) else []
    predicted = {description.predictedFeatureName}
    if kind == "neuralNetworkClassifier":
        predicted.add(description.predictedProbabilitiesName)
    seen: set[str] = set()
    for feature in description.output:
        name = feature.name
        where = versions.feature_place(place, "output", feature)
        if kind == "neuralNetwork" and name in seen:
            findings.add("output-twice", where, "name", "be declared once")
        seen.add(name)
        if kind == "neuralNetworkClassifier" and name in predicted:
            continue
        if not scope.own.get(name):
            code = "output-not-produced-accepted" if kind == "neuralNetworkRegressor" else "output-not-produced"
            found = "an input of the model" if name in scope.own else "none writes it"
            hint = f"the last layer writes {show(last)}" if last else None
            findings.add(code, where, "name", "be a blob that a layer writes", found, hint=hint)


def check_classifier(classifier: Any, description: Any, place: Place, findings: Findings, *, label: str = "") -> None:
    """Labels, predictedFeatureName and predictedProbabilitiesName.

    ``label`` is the type of the labels for a model that may have none ("int64Type" or "stringType").
    """
    chosen = classifier.WhichOneof("ClassLabels")
    if chosen is not None and len(getattr(classifier, chosen).vector):
        label = "int64Type" if chosen == "int64ClassLabels" else "stringType"
    elif not label:
        findings.add("labels-missing", place, "ClassLabels", "hold at least 1 label", "none")
    wanted = [label] if label else ["int64Type", "stringType"]
    _check_predicted(description, wanted, place, findings)
    name = description.predictedProbabilitiesName
    if not name:
        return
    types = [feature.type.WhichOneof("Type") for feature in description.output if feature.name == name]
    field = "description.predictedProbabilitiesName"
    if not types:
        findings.add("predicted-probabilities", place, field, "name an output", show(name))
    elif types[0] not in ("multiArrayType", "dictionaryType"):
        required = "name an output of type dictionary or multi-array"
        findings.add("predicted-probabilities", place, field, required, f"{show(name)} of {types[0]}")


def _check_predicted(description: Any, wanted: Sequence[str], place: Place, findings: Findings) -> None:
    name, field = description.predictedFeatureName, "description.predictedFeatureName"
    types = [feature.type.WhichOneof("Type") for feature in description.output if feature.name == name]
    if not name:
        findings.add("predicted-feature", place, field, "name an output", "none")
    elif not types:
        findings.add("predicted-feature", place, field, "name an output", show(name))
    elif types[0] not in wanted:
        required = f"name an output of type {' or '.join(wanted)}"
        findings.add("predicted-feature", place, field, required, f"{show(name)} of {types[0]}")
