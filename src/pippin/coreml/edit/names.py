"""Names: every place of a model that holds one, and renaming that keeps all of them in step.

Inputs, outputs, training inputs and blobs share one set of names: an output *is* the blob of its name. Layers have
another one, with the loss layers. A renaming is a substitution of the whole set, one to one, so what it means cannot
change, nested networks included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InputError, UnsupportedError
from ..read import NETWORKS, Document
from .step import Step, feature_of, identifier, layers_of, renamed, unknown

PIPELINES = {"pipeline": "", "pipelineClassifier": "pipeline", "pipelineRegressor": "pipeline"}
"""Model types that hold other models, and the field below the type that holds them."""
_NAMELESS = (
    "glmRegressor supportVectorRegressor treeEnsembleRegressor glmClassifier supportVectorClassifier"
    " treeEnsembleClassifier kNearestNeighborsClassifier oneHotEncoder imputer dictVectorizer scaler"
    " categoricalMapping normalizer arrayFeatureExtractor identity"
)
NAMELESS = frozenset(_NAMELESS.split())
"""Model types that name no features apart from their descriptions."""


@dataclass
class Place:
    """One field that holds a name: in ``message``, the field ``name``, at ``index`` if it is a list."""

    message: Any
    name: str
    role: str
    index: int | None = None

    @property
    def value(self) -> str:
        found = getattr(self.message, self.name)
        return str(found if self.index is None else found[self.index])

    @value.setter
    def value(self, new: str) -> None:
        if self.index is None:
            setattr(self.message, self.name, new)
        else:
            getattr(self.message, self.name)[self.index] = new


def places(model: Any) -> Iterator[Place]:
    """Every place of a model that holds the name of a feature, blob or layer.

    Roles: "input", "output", "training input", "state", "predicted", "preprocessing", "read", "write", "condition",
    "probabilities", "loss input", "loss target"; "layer" for names of layers.
    """
    description = model.description
    for field, role in (("input", "input"), ("output", "output"), ("trainingInput", "training input")):
        yield from (Place(entry, "name", role) for entry in getattr(description, field))
    yield from (Place(entry, "name", "state") for entry in description.state)
    yield Place(description, "predictedFeatureName", "predicted")
    yield Place(description, "predictedProbabilitiesName", "predicted")
    if model.WhichOneof("Type") not in NETWORKS:
        return
    network = getattr(model, model.WhichOneof("Type"))
    yield from (Place(entry, "featureName", "preprocessing") for entry in network.preprocessing)
    for _, _, layer in layers_of(network):
        yield Place(layer, "name", "layer")
        yield from (Place(layer, "input", "read", index) for index in range(len(layer.input)))
        yield from (Place(layer, "output", "write", index) for index in range(len(layer.output)))
        if layer.WhichOneof("layer") == "loop":
            yield Place(layer.loop, "conditionVar", "condition")
    if model.WhichOneof("Type") == "neuralNetworkClassifier":
        yield Place(network, "labelProbabilityLayerName", "probabilities")
    for loss in network.updateParams.lossLayers:
        yield Place(loss, "name", "layer")
        which = loss.WhichOneof("LossLayerType")
        if which:
            yield Place(getattr(loss, which), "input", "loss input")
            yield Place(getattr(loss, which), "target", "loss target")


def stages(model: Any) -> list[Any]:
    """The models of a pipeline, nested pipelines included as one; empty for other types."""
    kind = model.WhichOneof("Type")
    if kind not in PIPELINES:
        return []
    holder = getattr(model, kind)
    return list((getattr(holder, PIPELINES[kind]) if PIPELINES[kind] else holder).models)


def taken(model: Any) -> set[str]:
    """All names of features and blobs."""
    return {place.value for place in places(model) if place.role != "layer"}


def layer_names(model: Any) -> set[str]:
    """All names of layers."""
    return {place.value for place in places(model) if place.role == "layer"}


def writers(network: Any, name: str) -> list[Any]:
    """The layers that write the blob ``name``, nested ones included."""
    return [layer for _, _, layer in layers_of(network) if name in layer.output]


def substitute(model: Any, mapping: Mapping[str, str], *, layers: bool = False) -> int:
    """Replaces names of features and blobs (or of ``layers``) everywhere; returns in how many places."""
    count = 0
    for place in places(model):
        if (place.role == "layer") == layers and place.value in mapping:
            place.value = mapping[place.value]
            count += 1
    for stage in stages(model):
        count += substitute(stage, mapping, layers=layers)
    return count


def redirect(model: Any, old: str, new: str, roles: Iterable[str]) -> None:
    """Makes the places of certain ``roles`` that hold ``old`` hold ``new``."""
    for place in places(model):
        if place.role in roles and place.value == old:
            place.value = new


KINDS = {
    "input": ("input",),
    "output": ("output",),
    "training input": ("training input",),
    "blob": ("read", "write", "input", "output"),
    "": (),
}


def rename(document: Document, mapping: Mapping[str, str], kind: str = "") -> Step:
    """Renames features or blobs, several at once (so that two may swap their names).

    ``kind``: "input", "output", "training input" or "blob" tells what the old names must be; "" takes any. Raises
    ``InputError`` for names that are not there or taken, ``UnsupportedError`` where the inside of a pipeline's model
    is not known.
    """
    mapping = {old: new for old, new in mapping.items() if old != new}
    model = document.model
    for old in mapping:
        known = _known(model, KINDS[kind])
        if old not in known:
            raise unknown(f"the model has no {kind or 'name'} {old!r}", old, sorted(known - {""}))
    _valid(mapping)
    for part in [model, *_all_stages(model)]:
        _fits(part, mapping)
    count = substitute(model, mapping)
    told = ", ".join(f"{old!r} to {new!r}" for old, new in mapping.items())
    turn = renamed(mapping)
    step = Step(
        f"rename {kind or 'name'}{'s' if len(mapping) > 1 else ''} {told}" if mapping else "rename nothing",
        feed=lambda data, _: turn(data),
        expect=turn,
        details={"renamed": dict(mapping), "places": count},
    )
    features = {entry.name for side in ("input", "output") for entry in getattr(model.description, side)}
    if kind == "blob" and features & set(mapping.values()):
        step.notes.append("the blob is an input or output: that is renamed as well")
    return step


def _valid(mapping: Mapping[str, str]) -> None:
    for old, new in mapping.items():
        if not new:
            raise InputError(f"the new name of {old!r} must not be empty")
    twice = [new for new in mapping.values() if list(mapping.values()).count(new) > 1]
    if twice:
        raise InputError(f"{twice[0]!r} is the new name of more than one")


def _fits(model: Any, mapping: Mapping[str, str]) -> None:
    names = taken(model)
    if not names & set(mapping):
        return
    for old, new in mapping.items():
        if new in names and new not in mapping:
            raise InputError(f"{old!r} cannot become {new!r}: there is such a name already")
    kind = model.WhichOneof("Type")
    if kind not in NETWORKS and kind not in PIPELINES and kind not in NAMELESS:
        raise UnsupportedError(f"a model of type {kind} may name {', '.join(map(repr, mapping))} where it is not seen")


def _known(model: Any, roles: tuple[str, ...]) -> set[str]:
    found = {place.value for place in places(model) if (place.role in roles if roles else place.role != "layer")}
    if not roles or "read" in roles:
        for stage in stages(model):
            found |= _known(stage, roles)
    return found - {""}


def _all_stages(model: Any) -> Iterator[Any]:
    for stage in stages(model):
        yield stage
        yield from _all_stages(stage)


def rename_layers(document: Document, mapping: Mapping[str, str]) -> Step:
    """Renames layers (and loss layers), those of nested networks too. Raises ``InputError`` like ``rename``."""
    mapping = {old: new for old, new in mapping.items() if old != new}
    names: set[str] = layer_names(document.model).union(*(layer_names(s) for s in _all_stages(document.model)))
    for old, new in mapping.items():
        if old not in names:
            raise unknown(f"the model has no layer {old!r}", old, sorted(names))
        if new in names and new not in mapping:
            raise InputError(f"layer {old!r} cannot become {new!r}: there is such a layer already")
    _valid(mapping)
    count = substitute(document.model, mapping, layers=True)
    told = ", ".join(f"{old!r} to {new!r}" for old, new in mapping.items())
    return Step(f"rename layer{'s' if len(mapping) > 1 else ''} {told}", details={"places": count})


def clean_names(document: Document, *, blobs: bool = False) -> Step:
    """Renames inputs, outputs and training inputs (and all ``blobs``) so that they are identifiers.

    Code that is generated from a model makes variables of these names, which "a-b", "a/b" or "1" cannot be.
    """
    roles = ("input", "output", "training input") + (("read", "write") if blobs else ())
    everything = taken(document.model).union(*(taken(stage) for stage in _all_stages(document.model)))
    mapping: dict[str, str] = {}
    for name in sorted(_known(document.model, roles)):
        clean = base = identifier(name)
        number = 2
        while clean != name and (clean in everything or clean in mapping.values()):
            clean, number = f"{base}_{number}", number + 1
        if clean != name:
            mapping[name] = clean
    step = rename(document, mapping)
    step.text = f"make identifiers of {len(mapping)} name{'s' * (len(mapping) != 1)}"
    step.notes = [f"{old!r} is now {new!r}" for old, new in list(mapping.items())[:20]]
    return step


def describe(document: Document, name: str, text: str) -> Step:
    """Sets the description of an input or output; of a training input of the same name too."""
    sides = [
        side for side in ("input", "output", "trainingInput")
        if any(entry.name == name for entry in getattr(document.model.description, side))
    ]  # fmt: skip
    if not sides:
        feature_of(document, name, "input")
    for side in sides:
        feature_of(document, name, side).shortDescription = text
    return Step(f"describe {name!r}", "none")
