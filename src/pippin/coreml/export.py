"""Core ML to ONNX files: the network as a graph that stands alone, with the names and shapes that the model declares.

Inputs: pictures are float32 [1,C,H,W], values 0..255, channels in the model's own order; multi-arrays are float32 of
the declared shape. Outputs: float32 (int32 where the model declares so) in the shape that ``predict`` answers with.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import CheckError, InputError, PippinError, UnsupportedError
from ..graph import opsets
from ..graph.ir import Dim, Graph, Value
from ..graph.save import Note, save
from . import batch, preprocess, sizes
from .features import ArrayInput, Feature, ImageInput
from .lower import lower

if TYPE_CHECKING:
    from .model import Model

SCHEMA = 1
"""Version of the JSON under the metadata key "pippin"."""
PIXELS = {"RGB": "Rgb8", "BGR": "Bgr8", "GRAYSCALE": "Gray8", "GRAYSCALE_FLOAT16": "Gray16"}
"""ONNX's names for the order of channels."""
SEQUENCES = {"simpleRecurrent", "gru", "uniDirectionalLSTM", "biDirectionalLSTM", "embedding", "sequenceRepeat"}
"""Layers of the first versions that networks over sequences have."""

Dims = Literal["declared", "static", "symbolic"]
Shapes = Mapping[str, Sequence[Dim]]


@dataclass
class Export:
    """A written ONNX model: where it lies, its weights if they have a file of their own, and what was decided."""

    path: Path
    weights: Path | None
    opset: int
    notes: list[str] = field(default_factory=list)


@dataclass
class Built:
    """The graph of a model as it is exported, and what is said about it."""

    graph: Graph
    about: dict[str, Note]
    notes: list[str]


def export(
    model: Model,
    target: str | os.PathLike[str],
    *,
    opset: int | None = None,
    dims: Dims | Shapes = "declared",
    preprocessing: Literal["inside", "outside"] = "inside",
    labels: Literal["metadata", "outputs"] = "metadata",
    weights: Literal["auto", "inside", "beside"] = "auto",
) -> Export:
    """Writes ``model`` as an ONNX file; the options are those of ``pippin.to_onnx``."""
    _choice("preprocessing", preprocessing, ("inside", "outside"))
    _choice("labels", labels, ("metadata", "outputs"))
    _choice("weights", weights, ("auto", "inside", "beside"))
    built = build(model, dims, inside=preprocessing == "inside", label=labels == "outputs")
    _called(built.graph, [output_name(model, value.name) for value in built.graph.outputs])
    if opset is not None:
        opsets.convert(built.graph, opset)
    beside = save(
        built.graph,
        target,
        beside={"auto": None, "inside": False, "beside": True}[weights],
        metadata=_metadata(model, built.about, preprocessing == "inside"),
        notes=built.about,
        defaults=_defaults(model, built.graph),
        text=model.metadata.get("description", ""),
    )
    return Export(Path(target), beside, built.graph.opset, built.notes)


def _choice(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


# -- the graph ---------------------------------------------------------------------------------------------------------


def build(model: Model, dims: Dims | Shapes = "declared", *, inside: bool = True, label: bool = False) -> Built:
    """The graph to export. Declared sizes that the network cannot have open are fixed, and a note says so."""
    if not isinstance(dims, str):
        return _build(model, _given(model, dims), inside, label, [])
    _choice("dims", dims, ("declared", "static", "symbolic"))
    wanted = {name: shape(model, entry, dims) for name, entry in model.inputs.items()}
    other: Dims
    try:
        return _build(model, wanted, inside, label, [])
    except PippinError as error:
        other = "static" if any(isinstance(dim, str) for row in wanted.values() for dim in row) else "symbolic"
        if dims != "declared":
            raise
        fixed = {name: shape(model, entry, other) for name, entry in model.inputs.items()}
        if fixed == wanted or any(0 in row for row in fixed.values()):
            raise
        reason = f"{error.where}: {error.message}" if error.where else error.message
        what = (
            "flexible sizes are fixed to the default ones" if other == "static" else "sequence and batch are left open"
        )
        try:
            return _build(model, fixed, inside, label, [f"{what}: {reason}"])
        except PippinError:
            raise error from None


def shape(model: Model, entry: Feature, dims: Dims) -> tuple[Dim, ...]:
    """The shape of an input of the exported graph. A ``str`` stands for a size that is open."""
    name, flexible = entry.name, entry.flexible if dims != "static" else None
    encode = model.encoder(name)
    if isinstance(encode, ImageInput):
        assert entry.size is not None
        count = "batch" if dims == "symbolic" and not batch.reason(model) else 1
        channels = 1 if (entry.color or "").startswith("GRAY") else 3
        width, height = _open(entry.size, flexible, (f"{name}_width", f"{name}_height"))
        return count, channels, height, width
    declared = entry.shape or ()
    inner = _open(declared, flexible, [f"{name}_{axis}" for axis in range(len(declared))])
    if dims != "static":
        inner = tuple(f"{name}_{axis}" if dim == 0 else dim for axis, dim in enumerate(inner))
    if dims != "symbolic" or not encode.rank5 or len(declared) not in (1, 3):
        return inner
    kinds = {layer.WhichOneof("layer") for layer in model.document.network.layers}
    if kinds & SEQUENCES:
        return ("sequence", "batch", *inner)
    return inner if batch.reason(model) else ("batch", *inner)


def _open(sizes: Sequence[int], flexible: Any, names: Sequence[str]) -> tuple[Dim, ...]:
    if flexible is None:
        return tuple(sizes)
    if flexible.shapes:
        columns = list(zip(*flexible.shapes, strict=False))
        varies = [len(set(column)) > 1 for column in columns] + [False] * len(sizes)
    else:
        varies = [low != high for low, high in flexible.ranges] + [False] * len(sizes)
    return tuple(name if vary else size for size, name, vary in zip(sizes, names, varies, strict=False))


def _given(model: Model, dims: Shapes) -> dict[str, tuple[Dim, ...]]:
    unknown = [name for name in dims if name not in model.inputs]
    if unknown:
        raise InputError(f"dims names {unknown[0]!r}, the model's inputs are {', '.join(map(repr, model.inputs))}")
    wanted = {name: shape(model, entry, "declared") for name, entry in model.inputs.items()}
    for name, given in dims.items():
        entry, encode = model.inputs[name], model.encoder(name)
        # legacy arrays may have sequence and batch in front, as predict takes them
        lead = len(given) - len(wanted[name])
        if lead != 0 and not (isinstance(encode, ArrayInput) and encode.rank5 and 0 <= lead <= 2):
            raise InputError(f"dims of {name!r} must have {len(wanted[name])} sizes ({entry}), got {list(given)}")
        if any(not dim or (isinstance(dim, int) and dim < 1) for dim in given):
            raise InputError(f"dims of {name!r} must be positive numbers or names, got {list(given)}")
        if entry.kind == "image" and given[1] != wanted[name][1]:
            raise InputError(f"dims of {name!r} must have {wanted[name][1]} channels ({entry}), got {list(given)}")
        inner = tuple(given[2:][::-1] if entry.kind == "image" else given[lead:])
        usual = (entry.size if entry.kind == "image" else entry.shape) or ()
        asked = tuple(have if isinstance(dim, str) else dim for dim, have in zip(inner, usual, strict=True))
        if not (asked == tuple(usual) or 0 in usual or (entry.flexible and entry.flexible.allows(asked))):
            raise InputError(f"dims of {name!r} must be sizes that the model declares ({entry}), got {list(given)}")
        wanted[name] = tuple(given)
    return wanted


def _build(model: Model, shapes: Mapping[str, tuple[Dim, ...]], inside: bool, label: bool, notes: list[str]) -> Built:
    from ..graph import passes
    from ..runtime.pieces import FUNCTION

    entries = preprocess.steps(model.document.network, model.inputs)

    def prepare(g: Any, name: str, value: Value) -> Value:
        encode = model.encoder(name)
        if isinstance(encode, ImageInput):
            steps = entries.get(name) if inside else None
            return preprocess.apply(g, steps, model.inputs[name], model.weights, value) if steps else value
        return _folded(g, encode, value)

    g, lowerer = lower(
        model.document.network,
        model.weights,
        shapes,
        rank5=model.legacy,
        custom=model.custom_layers,
        prepare=prepare,
        outputs=model.blob_outputs(),
    )
    for node in g.graph.walk():
        if FUNCTION in node.attributes:
            raise UnsupportedError(
                "a Python function stands for this layer, for which ONNX has no operator",
                where=node.where,
                hint="register one that emits operators: function(g, params, x, …)",
            )
    about = {name: _note(model.inputs[name], inside) for name in shapes}
    for name in model.blob_outputs():
        if name not in lowerer.blobs:
            raise CheckError(f"output {name!r} is made by no layer")
        _output(g, model, name, lowerer.blobs[name], lowerer)
        entry = model.outputs.get(name)
        if entry is not None:
            about[name] = _note(entry, True)
    names = model.blob_outputs()
    if label:
        names = [*names, _label(g, model, names)]
    passes.optimize(g.graph, "export")
    _called(g.graph, names)
    order = {name: at for at, name in enumerate(model.outputs)}
    g.graph.outputs.sort(key=lambda value: order.get(output_name(model, value.name), len(order)))
    _named(g.graph)
    g.graph.name = _identifier(model.document.name)
    return Built(g.graph, about, notes)


def output_name(model: Model, blob: str) -> str:
    """What the output is called that gives ``blob``: as the model declares it, where the blob is called otherwise."""
    if blob in model.outputs or blob != model.probabilities:
        return blob
    made = {name for layer in model.document.network.layers for name in layer.output} | set(model.inputs)
    declared = [name for name, entry in model.outputs.items() if entry.kind == "dictionary" and name not in made]
    return declared[0] if declared else blob


def _called(graph: Graph, names: Sequence[str]) -> None:
    """Gives each output the name that it must have; what had it, something made up on the way, takes the other one."""
    bodies = [graph, *(body for node in graph.walk() for body in node.subgraphs())]
    values = {id(value): value for body in bodies for value in (*body.inputs, *body.outputs)}
    values |= {id(value): value for node in graph.walk() for value in node.outputs}
    values |= {id(value): value for value in graph.constants()}
    held = {value.name: value for value in values.values()}
    inputs = {value.name for value in graph.inputs}
    for value, name in zip(graph.outputs, names, strict=True):
        if name == value.name:
            continue
        if name in inputs:
            raise UnsupportedError(f"output {name!r} has the name of an input, which ONNX does not allow")
        other = held.get(name)
        if other is not None:
            other.name = value.name
            held[other.name] = other
        value.name = name
        held[name] = value


def _named(graph: Graph) -> None:
    """Gives sizes of outputs that were made up on the way a name that says whose they are."""
    known = {dim for value in graph.inputs for dim in value.shape if isinstance(dim, str)}
    names: dict[Dim, str] = {}
    for value in graph.outputs:
        for axis, dim in enumerate(value.shape):
            if isinstance(dim, str) and dim not in known:
                names.setdefault(dim, f"{value.name}_{axis}")
        value.shape = tuple(names.get(dim, dim) for dim in value.shape)


def _folded(g: Any, encode: ArrayInput, value: Value) -> Value:
    """The blob of a multi-array: legacy ones become [N,C,H,W], or [S,B,C,H,W] for sequences."""
    declared = len(encode.feature.shape or ())
    if not encode.rank5 or value.rank == 5:
        return value
    sizes = g.sizes(value)
    lead, inner = sizes[: value.rank - declared], sizes[value.rank - declared :]
    if declared == 1:
        inner = [*inner, 1, 1]
    inner = [1] * (3 - len(inner)) + inner
    return g.reshape(value, [*(lead or [1]), *inner])


def _output(g: Any, model: Model, name: str, blob: Any, lowerer: Any) -> None:
    """Adds the blob ``name`` as an output in the shape that ``predict`` answers with, as far as sizes are known."""
    import numpy as np

    entry = model.outputs.get(name)
    # folded only where the axes in front are ones that `predict` does not answer with either
    folded = model.legacy and blob.steps == 1 and all(value.rank < 5 for value in g.graph.inputs)
    value = blob.flat(g)[0] if folded else blob.nd(g)
    if entry is not None and entry.dtype == "int32":
        value = value if value.dtype.kind == "i" else g.Round(value)
        value = g.cast(value, np.int32)
    else:
        value = g.float(value)
    if entry is None or entry.kind != "image":
        labels = model.labels
        if labels and name == model.probabilities:
            declared: tuple[int, ...] = (len(labels),)
        else:
            declared = tuple(entry.shape or ()) if entry is not None else ()
        value = g.reshape(value, _answer(g, value, declared, folded, model.legacy))
    lowerer.claim(g, name, value)
    g.output(value, name)


def _answer(g: Any, value: Value, declared: tuple[int, ...], folded: bool, legacy: bool) -> list[Any]:
    sizes, dims = g.sizes(value), value.shape
    if declared and all(isinstance(dim, int) for dim in dims) and math.prod(declared) == math.prod(dims):
        return list(declared)
    open_ = [dim for dim in dims if isinstance(dim, str)]
    # a batch, whatever the user calls it
    if declared and len(open_) == 1 and (dims[0] if folded else "batch") in open_:
        rest = math.prod(dim for dim in dims if isinstance(dim, int))
        if rest == math.prod(declared):
            return [sizes[dims.index(open_[0])], *declared]
    lead = 1 if folded else 2
    if legacy and value.rank == lead + 3 and all(dim == 1 for dim in dims[:lead]):
        return sizes[lead:]
    return sizes


def _label(g: Any, model: Model, names: Sequence[str]) -> str:
    """Adds the class label as an output, the first of the most probable classes; answers with its name."""
    import numpy as np

    if not model.labels or not model.predicted_feature:
        raise InputError("labels as outputs need a classifier, and the model is none")
    scores = g.graph.outputs[names.index(model.probabilities)]
    labels = model.labels
    # behind a sequence the classes are followed by axes of one
    axis = max((axis - scores.rank for axis, dim in enumerate(scores.shape) if dim == len(labels)), default=-1)
    table = np.array(labels, np.int64 if isinstance(labels[0], int) else object)
    with g.scope("label", f"output {model.predicted_feature!r}"):
        best = g.ArgMax(scores, axis=axis, keepdims=0)
        g.output(g.Gather(g.constant(table, name="labels"), best), model.predicted_feature)
    return model.predicted_feature


# -- what is said about it ---------------------------------------------------------------------------------------------


def _note(entry: Feature, inside: bool) -> Note:
    text = str(entry)
    if entry.kind == "image":
        order = "gray" if (entry.color or "").startswith("GRAY") else "".join(entry.color or "RGB")
        text = f"{entry}; [1,C,H,W] in the order {order}, values 0..255"
        if not inside:
            text = f"{entry}; [1,C,H,W] in the order {order}, preprocessed"
    return Note(
        f"{text}. {entry.description}".rstrip(". ") if entry.description else text,
        "IMAGE" if entry.kind == "image" and inside else "",
    )


def _metadata(model: Model, about: Mapping[str, Note], inside: bool) -> dict[str, str]:
    pictures = [entry for entry in model.inputs.values() if entry.kind == "image" and inside]
    result = dict(model.metadata)
    if pictures:
        result["Image.BitmapPixelFormat"] = PIXELS[pictures[0].color or "RGB"]
        result["Image.NominalPixelRange"] = "NominalRange_0_255"
    labels = model.labels
    if labels:
        result["labels"] = json.dumps(labels, ensure_ascii=False)
    features: dict[str, dict[str, Any]] = {
        entry.name: {"kind": entry.kind, "color": entry.color}
        for entry in (*model.inputs.values(), *model.outputs.values())
        if entry.kind == "image" and about.get(entry.name, Note()).denotation
    }
    for name, entry in model.inputs.items():
        if entry.flexible and (name in features or entry.kind == "multiarray"):
            features[name] = {**features.get(name, {}), "sizes": sizes.note(entry)}
    own: dict[str, Any] = {"schema": SCHEMA, "source": model.document.name, "features": features}
    own["outputs"] = list(model.outputs)
    if labels:
        own |= {"label": model.predicted_feature, "probabilities": output_name(model, model.probabilities)}
        own["dictionaries"] = [name for name, entry in model.outputs.items() if entry.kind == "dictionary"]
    result["pippin"] = json.dumps(own, ensure_ascii=False)
    return result


def _defaults(model: Model, graph: Graph) -> dict[str, Any]:
    """The values of inputs that may be left out, where their sizes are known."""
    import numpy as np

    found = {}
    for value in graph.inputs:
        entry = model.inputs[value.name]
        if (entry.optional or entry.default is not None) and value.static:
            sizes = [int(dim) for dim in value.shape]
            found[value.name] = np.full(sizes, entry.default or 0.0, np.float32)
    return found


def _identifier(name: str) -> str:
    return Path(name).stem or "network"
