"""Warnings and notes beyond Apple's own rules: what loads and then fails, or answers wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..read import NETWORKS
from ..wire import View
from . import versions
from .report import Findings, Place, count, show

_HALF_MAX = 65504.0
_MEMBERS = {
    # nested messages from which weights are reached, apart from those that are weights themselves
    "activation": ("PReLU", "parametricSoftplus"),
    "uniDirectionalLSTM": ("weightParams",),
    "biDirectionalLSTM": ("weightParams",),
}


def layers_of(network: Any, place: Place) -> Iterator[tuple[Any, str, Place]]:
    """Every layer of a network and of the networks inside it, with kind and place."""
    for index, layer in enumerate(network.layers):
        kind = layer.WhichOneof("layer")
        if kind is None:
            continue
        where = place.of_layer(index, layer.name, kind)
        yield layer, kind, where
        for field in _nested(kind):
            yield from layers_of(getattr(getattr(layer, kind), field), where.inside(field))


def _nested(kind: str) -> tuple[str, ...]:
    if kind == "branch":
        return "ifBranch", "elseBranch"
    return ("conditionNetwork", "bodyNetwork") if kind == "loop" else ()


def check_beyond(model: Any, place: Place, findings: Findings, views: Sequence[View], *, values: bool) -> None:
    """All rules of this module for a neural network; ``values`` also looks at the weights' values."""
    kind = model.WhichOneof("Type")
    network = getattr(model, kind)
    _check_features(model.description, place, findings)
    _check_preprocessing(network, model.description, place, findings)
    check_versions(model, place, findings, views)
    names: dict[str, int] = {}
    for layer, layer_kind, where in layers_of(network, place):
        names[layer.name] = names.get(layer.name, 0) + 1
        p = getattr(layer, layer_kind)
        check = _LAYERS.get(layer_kind)
        if check is not None:
            check(layer, p, where, findings)
        if values:
            for field, params in weights_of(layer_kind, p):
                _check_values(params, field, where, findings, views)
    twice = [name for name, times in names.items() if times > 1]
    if twice and not model.isUpdatable:
        found = f"{show(twice[0])} {names[twice[0]]} times" if twice[0] else f"{names['']} layers without a name"
        findings.add("layer-name-twice", place, "layers.name", "tell the layers apart", found)
    _check_unused(network, model.description, place, findings)
    _check_marks(model, network, place, findings)


# the model ------------------------------------------------------------------------------------------------------------


def check_versions(model: Any, place: Place, findings: Findings, views: Sequence[View]) -> None:
    """What the model uses although its declared version does not have it yet."""
    declared = model.specificationVersion
    if declared >= versions.NEWEST:
        return
    for needed, what, where in versions.model_version(model, place):
        if needed > declared:
            _too_new(needed, what, declared, where, findings)
    kind = model.WhichOneof("Type")
    for layer, _, where in layers_of(getattr(model, kind), place):
        newer = [entry for entry in versions.layer_version(layer, views) if entry[0] > declared]
        if newer:
            needed, what = max(newer)
            _too_new(needed, what, declared, where, findings)


def _too_new(needed: int, what: str, declared: int, where: Place, findings: Findings) -> None:
    required = f"be at least {needed} for {what}"
    findings.add("version-too-low", where, "specificationVersion", required, str(declared))


def _check_features(description: Any, place: Place, findings: Findings) -> None:
    for side in ("input", "output"):
        seen: set[str] = set()
        for feature in getattr(description, side):
            if feature.name in seen:
                where = versions.feature_place(place, side, feature)
                findings.add("feature-twice", where, "name", "be declared once")
            seen.add(feature.name)


def _check_preprocessing(network: Any, description: Any, place: Place, findings: Findings) -> None:
    """Preprocessing is for the first image input where it names none."""
    inputs = {feature.name: feature for feature in description.input}
    for index, entry in enumerate(network.preprocessing):
        field = f"preprocessing[{index}].featureName"
        if entry.featureName and entry.featureName not in inputs:
            findings.add("preprocessing-name", place, field, "name an input of the model", show(entry.featureName))
        elif entry.featureName and inputs[entry.featureName].type.WhichOneof("Type") != "imageType":
            findings.add("preprocessing-name", place, field, "name an image", show(entry.featureName))


def _check_unused(network: Any, description: Any, place: Place, findings: Findings) -> None:
    """Blobs that nothing reads. Names in nested networks count as reading."""
    used = {feature.name for feature in description.output}
    used.add(getattr(network, "labelProbabilityLayerName", ""))
    for layer, kind, _ in layers_of(network, Place()):
        used.update(layer.input)
        if kind == "loop":
            used.add(layer.loop.conditionVar)
        elif kind == "copy":
            used.update(layer.output)
    for loss in network.updateParams.lossLayers:
        chosen = loss.WhichOneof("LossLayerType")
        if chosen is not None:
            used.add(getattr(loss, chosen).input)
    for feature in description.input:
        if feature.name not in used:
            where = versions.feature_place(place, "input", feature)
            findings.add("input-unused", where, "name", "be read by a layer")
    for layer, _, where in layers_of(network, place):
        unused = [name for name in layer.output if name not in used]
        if len(layer.output) and len(unused) == len(layer.output):
            findings.add("blob-unused", where, "output", "be read by a layer or be an output", show(unused))


def _check_marks(model: Any, network: Any, place: Place, findings: Findings) -> None:
    """Marks for training in a model that is not updatable."""
    if model.isUpdatable:
        return
    marked = [layer.name for layer in network.layers if layer.isUpdatable]
    if marked:
        message = f"{count(len(marked), 'layer')} marked isUpdatable in a model that is not updatable"
        findings.add("update-ignored", place, "isUpdatable", message=f"{message}: {show(marked)}")
    elif network.HasField("updateParams"):
        message = "updateParams are set in a model that is not updatable"
        findings.add("update-ignored", place, "updateParams", message=message)


# layers ---------------------------------------------------------------------------------------------------------------


def _nms(layer: Any, p: Any, where: Place, findings: Findings) -> None:
    for position, field in enumerate(("iouThreshold", "scoreThreshold"), 2):
        value = getattr(p, field)
        if len(layer.input) <= position and not 0 <= value <= 1:
            findings.add("nms-threshold", where, field, "lie between 0 and 1", f"{value:g}")
    if len(layer.input) <= 4 and not p.maxBoxes:
        findings.add("nms-threshold", where, "maxBoxes", "be at least 1", "0")


def _custom(layer: Any, p: Any, where: Place, findings: Findings) -> None:
    message = f"the network needs code of its own for the class {show(p.className)}"
    findings.add("custom-layer", where, "className", message=message)


def _positive(p: Any, fields: Sequence[str], lengths: tuple[int, ...], where: Place, findings: Findings) -> None:
    for field in fields:
        values = getattr(p, field)
        if len(values) not in lengths or not all(values):
            wanted = " or ".join(map(str, lengths))
            findings.add("window-size", where, field, f"hold {wanted} positive integers", show(values))


def _convolution(layer: Any, p: Any, where: Place, findings: Findings) -> None:
    _positive(p, ("kernelSize", "stride", "dilationFactor"), (0, 2), where, findings)
    groups = p.nGroups or 1
    if p.outputChannels % groups or (p.isDeconvolution and p.kernelChannels % groups):
        found = f"{p.outputChannels} output channels in {groups} groups"
        findings.add("group-size", where, "nGroups", "divide the channels", found)


def _pooling(layer: Any, p: Any, where: Place, findings: Findings) -> None:
    if not p.globalPooling:
        _positive(p, ("kernelSize", "stride"), (0, 2), where, findings)


_LAYERS = {"NonMaximumSuppression": _nms, "custom": _custom, "convolution": _convolution, "pooling": _pooling}


# values ---------------------------------------------------------------------------------------------------------------


def weights_of(kind: str, p: Any) -> Iterator[tuple[str, Any]]:
    """The weights of a layer with the names of their fields."""
    for descriptor, value in p.ListFields():
        name = descriptor.name
        if descriptor.message_type is None:
            continue
        if descriptor.message_type.name == "WeightParams":
            if hasattr(value, "DESCRIPTOR"):
                yield name, value
            else:
                yield from ((f"{name}[{index}]", entry) for index, entry in enumerate(value))
        elif name in _MEMBERS.get(kind, ()):
            entries = [value] if hasattr(value, "DESCRIPTOR") else list(value)
            for index, entry in enumerate(entries):
                inner = name if hasattr(value, "DESCRIPTOR") else f"{name}[{index}]"
                for member, params in entry.ListFields():
                    if member.message_type is not None and member.message_type.name == "WeightParams":
                        yield f"{inner}.{member.name}", params


def _check_values(params: Any, field: str, where: Place, findings: Findings, views: Sequence[View]) -> None:
    """NaN, infinities and numbers that half precision cannot hold."""
    import numpy as np

    lowest, highest, bad = 0.0, 0.0, False
    for dtype, data in _buffers(params, views):
        values = np.frombuffer(data, dtype, count=len(data) // np.dtype(dtype).itemsize)
        if not len(values):
            continue
        with np.errstate(invalid="ignore"):
            low, high = float(values.min()), float(values.max())
        # a NaN makes both NaN, an infinity is one of both
        bad = bad or not np.isfinite(low) or not np.isfinite(high)
        lowest, highest = min(lowest, low), max(highest, high)
    if bad:
        findings.add("weights-not-finite", where, field, "hold finite numbers", "NaN or infinity")
    elif max(-lowest, highest) > _HALF_MAX:
        found = f"{max(-lowest, highest):.6g}"
        findings.add("weights-overflow", where, field, "stay below 65504 to fit half precision", found)


def _buffers(params: Any, views: Sequence[View]) -> Iterator[tuple[str, Any]]:
    for index in params.pippinView:
        view = views[index]
        if view.encodes in ("float32", "float16"):
            yield "<f4" if view.encodes == "float32" else "<f2", view.data
    if len(params.floatValue):
        import numpy as np

        yield "<f4", np.asarray(params.floatValue, "<f4").tobytes()
    if params.float16Value:
        yield "<f2", params.float16Value


def check_labels(model: Any, channels: int | None, place: Place, findings: Findings) -> None:
    """As many labels as there are probabilities, where their number is known."""
    classifier = model.neuralNetworkClassifier
    chosen = classifier.WhichOneof("ClassLabels")
    held = len(getattr(classifier, chosen).vector) if chosen else 0
    if channels is not None and held and held != channels:
        required = f"hold a label for each of the {channels:,} probabilities"
        findings.add("labels-count", place, chosen or "", required, f"{held:,}")


def is_network(model: Any) -> bool:
    return model.WhichOneof("Type") in NETWORKS
