"""Other outputs, and networks cut out of networks."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ...errors import InputError, PippinError, UnsupportedError
from .. import schema
from ..check import versions
from ..features import feature
from ..lower import place
from ..read import Document
from . import preprocessing
from .features import DTYPES, blob_shape
from .insert import remove_layers
from .names import taken, writers
from .step import Data, Step, feature_of, fresh, layers_of, nested, network_of, unknown


def visible(network: Any) -> list[str]:
    """The blobs that stand at the end of the network, in the order they are written: what can be an output."""
    found: dict[str, None] = {}
    for layer in network.layers:
        found |= dict.fromkeys(layer.output)
        kind = layer.WhichOneof("layer")
        if kind == "loop":
            for inner in nested(layer):
                found |= dict.fromkeys(visible(inner))
        elif kind == "branch":
            both = [dict.fromkeys(visible(inner)) for inner in nested(layer)]
            found |= {name: None for name in both[0] if name in both[1]}
    return list(found)


def pinned(document: Document) -> str | None:
    """The blob of a classifier's probabilities, which some files leave to be guessed; None for other networks."""
    if document.type != "neuralNetworkClassifier":
        return None
    from ..model import Model

    try:
        return Model(document).probabilities
    except PippinError:
        return None


def pin(document: Document, probabilities: str | None) -> None:
    """States which blob holds the probabilities, if it would be another one now."""
    if probabilities and pinned(document) != probabilities:
        network_of(document).labelProbabilityLayerName = probabilities


def _check_blob(network: Any, name: str) -> None:
    blobs = visible(network)
    if name not in blobs:
        inside = bool(writers(network, name))
        problem = "stands inside of a branch or loop only" if inside else "is written by no layer"
        raise unknown(f"blob {name!r} {problem}", name, blobs)


def _shapes(document: Document, names: Iterable[str]) -> dict[str, list[int]]:
    """The shapes of blobs as a multi-array declares them; empty where they are not known or not fixed."""
    from ..model import Model

    names = list(names)
    try:
        model = Model(document)
        found = model.blob_shapes() if names else {}
    except PippinError:
        return {name: [] for name in names}
    result: dict[str, list[int]] = {}
    for name in names:
        shape = list(found.get(name, ()))
        if model.legacy and len(shape) == 5 and shape[:2] == [1, 1]:
            shape = _short(shape[2:])
        result[name] = [int(n) for n in shape] if all(isinstance(n, int) and n > 0 for n in shape) else []
    return result


def _short(shape: list[Any]) -> list[Any]:
    """[C,H,W] of an old network as it is declared: a vector is [C]."""
    return shape[:1] if shape[1:] == [1, 1] else shape


def _declare(document: Document, name: str, dtype: str, shape: Sequence[int]) -> None:
    """Adds a multi-array output for the blob ``name``; its shape is left open where the model's inputs are flexible."""
    array = document.model.description.output.add(name=name).type.multiArrayType
    array.dataType = DTYPES[dtype]
    if not any(feature(entry).flexible for entry in document.model.description.input):
        array.shape.extend(shape)


def add_output(document: Document, name: str, dtype: str = "float32") -> Step:
    """Makes a blob an output. Raises ``InputError`` with near names if there is none or it is one."""
    network = network_of(document)
    if any(entry.name == name for entry in document.model.description.output):
        raise InputError(f"{name!r} is an output already")
    _check_blob(network, name)
    if dtype not in DTYPES:
        raise InputError(f"the dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")
    _declare(document, name, dtype, _shapes(document, [name])[name])
    return Step(f"add output {name!r}: {feature(feature_of(document, name, 'output'))}", details={"output": name})


def remove_output(document: Document, name: str) -> Step:
    """Takes an output away; the layers stay (``prune`` removes those that nobody reads).

    Raises ``InputError`` for the last output and for the label of a classifier.
    """
    description = document.model.description
    feature_of(document, name, "output")
    if len(description.output) == 1:
        raise InputError(f"{name!r} is the only output")
    if name == description.predictedFeatureName:
        raise InputError(f"{name!r} is what the {document.type} predicts; cut the network to be rid of it")
    probabilities = pinned(document)
    for index, entry in enumerate(description.output):
        if entry.name == name:
            del description.output[index]
            break
    if description.predictedProbabilitiesName == name:
        description.predictedProbabilitiesName = ""
    pin(document, probabilities)
    return Step(f"remove output {name!r}", expect=lambda answer: {k: v for k, v in answer.items() if k != name})


def needed(layers: Sequence[Any], wanted: Iterable[str], given: Collection[str] = ()) -> list[int]:
    """The positions of the layers that ``wanted`` depends on; blobs that are ``given`` depend on nothing."""
    open_ = set(wanted) - set(given)
    kept = []
    for index in range(len(layers) - 1, -1, -1):
        layer = layers[index]
        inner = [part for network in nested(layer) for _, _, part in layers_of(network)]
        written = {name for part in (layer, *inner) for name in part.output}
        if layer.WhichOneof("layer") in ("loopBreak", "loopContinue") or written & open_:
            kept.append(index)
            read = {name for part in (layer, *inner) for name in part.input}
            read |= {part.loop.conditionVar for part in (layer, *inner) if part.WhichOneof("layer") == "loop"}
            # what a nested network writes again may be read from outside first, so it stays wanted
            open_ |= read - set(given)
    return kept[::-1]


def cut(document: Document, outputs: Sequence[str] = (), inputs: Sequence[str] = ()) -> Step:
    """Cuts a network out: its outputs are the blobs ``outputs`` (default: as they are), and the blobs ``inputs`` are
    handed in instead of computed. What is not needed is removed: layers, inputs, preprocessing.

    With other outputs the result is a plain network: labels and what belongs to training are left behind. Raises
    ``InputError`` for blobs that are not there.
    """
    network, description = network_of(document), document.model.description
    known = {entry.name for entry in description.input}
    for name in (*outputs, *inputs):
        if not (name in known and name in outputs):
            _check_blob(network, name)
    ends = set(outputs) or {entry.name for entry in description.output}
    for name in inputs:
        if name in known or name in ends:
            raise InputError(f"{name!r} cannot be cut off: it is an {'input' if name in known else 'output'}")
    shapes = _shapes(document, outputs)
    new = [_new_input(document, name) for name in inputs]
    probabilities = pinned(document)
    if outputs:
        network = _plain(document)
        probabilities = None
        declared = [entry.name for entry in description.output]
        for name in declared:
            if name not in outputs:
                _drop(description.output, name)
        for name in outputs:
            if name not in declared:
                _declare(document, name, "float32", shapes[name])
    else:
        _untrained(document)
    wanted = [*(entry.name for entry in description.output), probabilities or ""]
    kept = needed(network.layers, wanted, inputs)
    for name in inputs:
        _once(network, name, kept)
    removed = len(network.layers) - len(kept)
    remove_layers(network, sorted(set(range(len(network.layers))) - set(kept)))
    for name in inputs:
        _unwrite(document, network, name)
    lost = _drop_inputs(document, network)
    if not description.input and not new:
        raise InputError("what would be left depends on no input")
    _map_inputs(document, network, new)
    if not network.layers:
        raise InputError("nothing would be left of the network")
    parts = [f"at {', '.join(map(repr, outputs))}"] * bool(outputs) + [f"from {', '.join(map(repr, inputs))}"] * bool(
        inputs
    )
    return _proven(
        document, Step(f"cut the network {' '.join(parts)}: {removed} layers removed"), outputs, inputs, lost
    )


def _reshaped(value: Any, shape: Sequence[int]) -> Any:
    return value.reshape(shape) if value.size == math.prod(shape) else value


def _proven(document: Document, step: Step, outputs: Sequence[str], inputs: Sequence[str], lost: set[str]) -> Step:
    """What follows for inputs and answers: blobs of the network before are handed in, and wanted."""
    step.probes = (*outputs, *inputs)
    shapes = {entry.name: feature(entry).shape or () for entry in document.model.description.input}
    step.details = {"outputs": list(outputs), "inputs": list(inputs), "lostInputs": sorted(lost)}

    def feed(data: Data, answer: Data) -> Data:
        kept = {key: value for key, value in data.items() if key not in lost}
        return kept | {name: _reshaped(answer[name], shapes[name]) for name in inputs}

    def expect(answer: Data) -> Data:
        if outputs:
            return {name: answer[name] for name in outputs}
        return {key: value for key, value in answer.items() if key not in inputs}

    step.feed, step.expect = feed, expect
    return step


def _plain(document: Document) -> Any:
    """Makes the model a plain network without labels and training; returns the network."""
    _untrained(document)
    model = document.model
    kind = document.type
    if kind != "neuralNetwork":
        old = network_of(document)
        for field in ("stringClassLabels", "int64ClassLabels", "labelProbabilityLayerName"):
            if field in old.DESCRIPTOR.fields_by_name:
                old.ClearField(field)
        # the three forms of a network share the numbers of all other fields
        model.neuralNetwork.CopyFrom(schema.message("NeuralNetwork").FromString(old.SerializeToString()))
        for name in (model.description.predictedFeatureName, model.description.predictedProbabilitiesName):
            found = [e for e in model.description.output if e.name == name]
            if found and feature(found[0]).kind not in ("image", "multiarray"):
                _drop(model.description.output, name)
        model.description.predictedFeatureName = model.description.predictedProbabilitiesName = ""
        for entry in [e.name for e in model.description.output if feature(e).kind not in ("image", "multiarray")]:
            _drop(model.description.output, entry)
    return model.neuralNetwork


def _untrained(document: Document) -> None:
    """Takes away what belongs to training: a part of a network has another loss, or none."""
    model = document.model
    if not model.isUpdatable:
        return
    model.isUpdatable = False
    network = network_of(document)
    network.ClearField("updateParams")
    del model.description.trainingInput[:]
    for _, _, layer in layers_of(network):
        layer.ClearField("isUpdatable")
        for _, params in weight_messages(layer):
            params.ClearField("isUpdatable")


def weight_messages(message: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Every WeightParams below a layer with its path; those of nested networks are left out."""
    found: list[tuple[str, Any]] = []
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.name == "NeuralNetwork":
            continue
        if field.message_type.GetOptions().map_entry:
            continue
        many = hasattr(value, "add")
        for index, item in enumerate(value if many else [value]):
            label = f"{prefix}{field.name}" + (f"[{index}]" if many else "")
            if item.DESCRIPTOR.name == "WeightParams":
                found.append((label, item))
            else:
                found += weight_messages(item, f"{label}.")
    return found


def _drop(entries: Any, name: str) -> None:
    for index in range(len(entries) - 1, -1, -1):
        if entries[index].name == name:
            del entries[index]


def _new_input(document: Document, name: str) -> tuple[str, list[int]]:
    """The name and the shape of a blob that is to be handed in."""
    shape = blob_shape(document, name)
    if not all(isinstance(size, int) and size > 0 for size in shape):
        raise InputError(f"the shape of blob {name!r} depends on the input: {list(shape)}")
    return name, [int(size) for size in shape]


def _once(network: Any, name: str, kept: Collection[int]) -> None:
    """Refuses a blob that is written anew after a layer that is still needed has read it: what is handed in would be
    the last value, and that layer reads another one. Loops do so in each round."""
    last = max(
        index for index, layer in enumerate(network.layers)
        if name in layer.output or any(writers(inner, name) for inner in nested(layer))
    )  # fmt: skip
    for index in (index for index in kept if index <= last):
        layer = network.layers[index]
        inner = [part for network in nested(layer) for _, _, part in layers_of(network)]
        again = layer.WhichOneof("layer") == "loop" and any(name in part.output for part in inner)
        if again or any(name in part.input for part in (layer, *inner)):
            raise InputError(
                f"{name!r} cannot be cut off: {place(layer, index)} is still needed, and takes an earlier value of it"
            )


def _unwrite(document: Document, network: Any, name: str) -> None:
    """Gives the blob another name where a layer that is still needed writes it beside others."""
    if writers(network, name):
        other = fresh(taken(document.model), f"{name}_unused")
        for layer in writers(network, name):
            for index, output in enumerate(layer.output):
                if output == name:
                    layer.output[index] = other


def _drop_inputs(document: Document, network: Any) -> set[str]:
    """Removes the model's inputs that no layer reads any more, with their preprocessing."""
    read = {name for _, _, layer in layers_of(network) for name in layer.input}
    description = document.model.description
    lost = {entry.name for entry in description.input if entry.name not in read}
    for name in lost:
        preprocessing.drop_entries(document, name)
        _drop(description.input, name)
    return lost


def _map_inputs(document: Document, network: Any, new: Sequence[tuple[str, list[int]]]) -> None:
    """Declares the new inputs, and how arrays are mapped to blobs if there were none."""
    if not new:
        return
    description = document.model.description
    kinds = [entry.type.WhichOneof("Type") for entry in description.input]
    old = all(map(versions.is_ios12, network.layers))
    if "multiArrayType" in kinds:
        exact = network.arrayInputShapeMapping == 1
    else:
        five = all(len(shape) == 5 for _, shape in new)
        exact = not (old and five and network.imageInputShapeMapping == 0)
        if exact and "imageType" in kinds and network.imageInputShapeMapping == 0:
            raise UnsupportedError("the pictures of this network have five axes, which arrays do not go with here")
        network.arrayInputShapeMapping = int(exact)
    for name, shape in new:
        array = description.input.add(name=name).type.multiArrayType
        array.dataType = DTYPES["float32"]
        array.shape.extend(shape if exact else _short(shape[-3:]))
    if any(not entry.type.isOptional for entry in description.input):
        return
    raise InputError("at least one input must be required")
