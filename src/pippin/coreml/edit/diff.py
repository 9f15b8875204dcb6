"""What differs between two states of a model, as lines for people and as data."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...errors import CheckError
from ...report import text
from .. import schema
from ..features import feature
from ..read import NETWORKS, Document
from ..weights import Weights
from .cut import weight_messages
from .metadata import STATED
from .names import stages
from .step import layers_of, nested


@dataclass(frozen=True)
class Change:
    """One difference: ``section`` of the model, ``where`` in it, and the texts ``before`` and ``after``.

    "" stands for what is not there: ``before`` is "" for what was added, ``after`` for what was removed.
    """

    section: str
    where: str
    before: str
    after: str

    @property
    def sign(self) -> str:
        """ "+" added, "-" removed, "~" changed."""
        return "+" if not self.before else "-" if not self.after else "~"

    def to_dict(self) -> dict[str, str]:
        """Plain data."""
        return {"change": {"+": "added", "-": "removed", "~": "changed"}[self.sign], **asdict(self)}


def diff(before: Document, after: Document) -> list[Change]:
    """All differences, in the order of the sections: model, metadata, inputs, outputs, …, layers, weights."""
    changes = list(_pairs("model", _model(before), _model(after)))
    changes += _pairs("metadata", _metadata(before.model), _metadata(after.model))
    for section, field in (("inputs", "input"), ("outputs", "output"), ("training inputs", "trainingInput")):
        changes += _listed(section, _features(before.model, field), _features(after.model, field))
    changes += _listed("preprocessing", _preprocessing(before), _preprocessing(after))
    changes += _pairs("labels", _labels(before), _labels(after))
    changes += _pairs("training", _training(before), _training(after))
    changes += _layers(before, after)
    return changes


def as_text(changes: Sequence[Change]) -> str:
    """Changes for people, a section after the other."""
    if not changes:
        return "nothing changes"
    lines: list[str] = []
    section = ""
    for change in changes:
        if change.section != section:
            section = change.section
            lines.append(section)
        if change.sign == "~":
            lines.append(f"  ~ {change.where}: {change.before} -> {change.after}")
        else:
            lines.append(f"  {change.sign} {change.where}: {change.before or change.after}".rstrip(": "))
    return "\n".join(lines)


def _pairs(section: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    """Differences of two mappings with the same meaning of keys."""
    for key in {**before, **after}:
        old, new = before.get(key, ""), after.get(key, "")
        if old != new:
            yield Change(section, key, old, new)


def _listed(section: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    """Differences of two lists: what was renamed stands as such where the text stays and the place too."""
    gone = [key for key in before if key not in after]
    new = [key for key in after if key not in before]
    renamed: dict[str, str] = {}
    for old in gone:
        same = [key for key in new if after[key] == before[old] and key not in renamed.values()]
        if same:
            renamed[old] = same[0]
    for key in before:
        if key in renamed:
            yield Change(section, "name", f"{key!r} ({before[key]})", repr(renamed[key]))
        else:
            if before[key] != after.get(key, ""):
                yield Change(section, key, before[key], after.get(key, ""))
    yield from (Change(section, key, "", after[key]) for key in new if key not in renamed.values())


# -- what is compared --------------------------------------------------------------------------------------------------


def _model(document: Document) -> dict[str, str]:
    model = document.model
    found = {
        "type": document.type or "none",
        "specificationVersion": str(model.specificationVersion),
        "isUpdatable": str(bool(model.isUpdatable)).lower(),
        "predictedFeatureName": model.description.predictedFeatureName,
        "predictedProbabilitiesName": model.description.predictedProbabilitiesName,
    }
    if document.type in NETWORKS:
        network = document.network
        for field in ("arrayInputShapeMapping", "imageInputShapeMapping"):
            names = network.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number
            value = getattr(network, field)
            found[field] = names[value].name if value in names else str(value)
        found["labelProbabilityLayerName"] = getattr(network, "labelProbabilityLayerName", "")
    for index, stage in enumerate(stages(model)):
        found[f"stage {index}"] = (
            f"{stage.WhichOneof('Type')} ({', '.join(e.name for e in stage.description.input)})"
            f" -> ({', '.join(e.name for e in stage.description.output)})"
        )
    return found


def _metadata(model: Any) -> dict[str, str]:
    metadata = model.description.metadata
    stated = {name: text.short(getattr(metadata, field), 80) for name, field in STATED.items()}
    return stated | {key: text.short(value, 80) for key, value in sorted(metadata.userDefined.items())}


def _features(model: Any, field: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in getattr(model.description, field):
        try:
            told = feature(entry)
        except CheckError:
            found[entry.name] = "no type"
            continue
        more = f", default {told.default:g}" if told.default is not None else ""
        more += f" ({text.short(told.description, 60)})" if told.description else ""
        found[entry.name] = f"{told}{more}"
    return found


def _preprocessing(document: Document) -> dict[str, str]:
    found: dict[str, str] = {}
    if document.type not in NETWORKS:
        return found
    weights = Weights(document.views)
    for index, entry in enumerate(document.network.preprocessing):
        which = entry.WhichOneof("preprocessor")
        told = "nothing"
        if which == "scaler":
            s = entry.scaler
            biases = {"red": s.redBias, "green": s.greenBias, "blue": s.blueBias, "gray": s.grayBias}
            shown = ", ".join(f"{name} {value:g}" for name, value in biases.items() if value)
            told = f"pixel x {s.channelScale:g}{f' + ({shown})' if shown else ''}"
        elif which == "meanImage":
            told = f"pixel - mean image of {weights.count(entry.meanImage):,} values"
        key = entry.featureName or "the image"
        found[key if key not in found else f"{key} [{index}]"] = told
    return found


def _labels(document: Document) -> dict[str, str]:
    if document.type != "neuralNetworkClassifier":
        return {}
    network = document.network
    which = network.WhichOneof("ClassLabels")
    if not which:
        return {}
    labels = [str(label) for label in getattr(network, which).vector]
    return {which: f"{len(labels):,}: {text.short(', '.join(labels), 60)}"}


def _training(document: Document) -> dict[str, str]:
    if document.type not in NETWORKS:
        return {}
    found: dict[str, str] = {}
    update = document.network.updateParams
    for index, loss in enumerate(update.lossLayers):
        which = loss.WhichOneof("LossLayerType")
        if which:
            params = getattr(loss, which)
            found[f"loss {index}"] = f"{loss.name!r} ({which}): {params.input!r} against {params.target!r}"
    if document.network.HasField("updateParams"):
        found["optimizer"] = update.optimizer.WhichOneof("OptimizerType") or "none"
    return found


# -- layers ------------------------------------------------------------------------------------------------------------


def _networks(model: Any) -> Iterator[tuple[str, Any]]:
    if model.WhichOneof("Type") in NETWORKS:
        yield "", getattr(model, model.WhichOneof("Type"))
    for index, stage in enumerate(stages(model)):
        for where, network in _networks(stage):
            yield f"stage {index} {where}".strip(), network


def _layers(before: Document, after: Document) -> list[Change]:
    changes: list[Change] = []
    old, new = dict(_networks(before.model)), dict(_networks(after.model))
    for where in {**old, **new}:
        section = f"layers of {where}" if where else "layers"
        first = [layer for _, _, layer in layers_of(old[where])] if where in old else []
        second = [layer for _, _, layer in layers_of(new[where])] if where in new else []
        if len(first) != len(second):
            changes.append(Change(section, "number", str(len(first)), str(len(second))))
        pairs = _matched(first, second)
        changes += _changed(section, first, second, pairs)
        changes += _weights(section.replace("layers", "weights"), before, after, first, second, pairs)
    return changes


def _matched(first: Sequence[Any], second: Sequence[Any]) -> list[tuple[int | None, int | None]]:
    """Which layers correspond: by what they are and how they are called, in their order."""
    keys = [[(layer.WhichOneof("layer"), layer.name) for layer in layers] for layers in (first, second)]
    pairs: list[tuple[int | None, int | None]] = []
    for tag, a, b, c, d in _opcodes(keys[0], keys[1]):
        if tag in ("equal", "replace") and b - a == d - c:
            pairs += zip(range(a, b), range(c, d), strict=True)
            continue
        # names tell nothing here, what the layers compute may
        inside = [[_parameters(layer) for layer in part] for part in (first[a:b], second[c:d])]
        for inner, e, f, g, h in _opcodes(inside[0], inside[1]):
            if inner == "equal":
                pairs += zip(range(a + e, a + f), range(c + g, c + h), strict=True)
            else:
                pairs += [(index, None) for index in range(a + e, a + f)]
                pairs += [(None, index) for index in range(c + g, c + h)]
    return pairs


def _opcodes(first: Sequence[Any], second: Sequence[Any]) -> Sequence[tuple[str, int, int, int, int]]:
    return difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes()


def _told(layer: Any) -> str:
    return f"{', '.join(layer.output) or 'nothing'} = {layer.WhichOneof('layer')}({', '.join(layer.input)})"


def _changed(
    section: str, first: Sequence[Any], second: Sequence[Any], pairs: Sequence[tuple[int | None, int | None]]
) -> Iterator[Change]:
    for a, b in pairs:
        if a is None or b is None:
            layer = first[a] if a is not None else second[b]  # type: ignore[index]
            told = _told(layer)
            yield Change(section, layer.name or f"layer {a if a is not None else b}",
                         told if b is None else "", told if a is None else "")  # fmt: skip
            continue
        old, new = first[a], second[b]
        name = old.name or f"layer {a}"
        if old.name != new.name:
            yield Change(section, "name", repr(old.name), repr(new.name))
        if _told(old) != _told(new):
            yield Change(section, name, _told(old), _told(new))
        elif _parameters(old) != _parameters(new):
            yield Change(section, name, "its parameters", "others")


def _parameters(layer: Any) -> bytes:
    """The layer without names and weights, as bytes to compare."""
    copy = type(layer)()
    copy.CopyFrom(layer)
    for field in ("name", "input", "output", "inputTensor", "outputTensor"):
        copy.ClearField(field)
    for _, _, inner in layers_of_one(copy):
        for field in ("name", "input", "output"):
            inner.ClearField(field)
        for _, params in weight_messages(inner):
            params.ClearField(schema.VIEW)
            for field in ("floatValue", "float16Value", "rawValue", "int8RawValue", "quantization"):
                params.ClearField(field)
        if inner.WhichOneof("layer") == "loop":
            inner.loop.ClearField("conditionVar")
    return bytes(copy.SerializeToString(deterministic=True))


def layers_of_one(layer: Any) -> Iterator[tuple[Any, int, Any]]:
    """The layer itself and those nested in it."""
    yield None, 0, layer
    for network in nested(layer):
        yield from layers_of(network)


def _weights(
    section: str, before: Document, after: Document, first: Sequence[Any], second: Sequence[Any],
    pairs: Sequence[tuple[int | None, int | None]],
) -> Iterator[Change]:  # fmt: skip
    for a, b in pairs:
        if a is None or b is None:
            continue
        old, new = dict(weight_messages(first[a])), dict(weight_messages(second[b]))
        for path in {**old, **new}:
            texts = [
                _stored(Weights(document.views), held[path]) if path in held else ""
                for document, held in ((before, old), (after, new))
            ]
            if texts[0] != texts[1]:
                name = second[b].name or f"layer {b}"
                yield Change(section, f"{name} {path.split('.', 1)[-1]}", texts[0], texts[1])


def _stored(weights: Weights, params: Any) -> str:
    stored = sum(weights.stored(params).values())
    return f"{weights.encoding(params)}, {text.size(stored)}"


__all__ = ["Change", "as_text", "diff"]
