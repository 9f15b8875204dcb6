"""A model described: inputs, outputs, preprocessing, layers with shapes, weights by encoding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import text

if TYPE_CHECKING:
    from ..coreml.model import Model

SCHEMA = 1
"""Version of the JSON that ``pippin inspect --json`` prints."""


def describe(model: Model) -> dict[str, Any]:
    """Everything ``pippin inspect`` knows, as plain data."""
    document = model.document
    network = document.network
    shapes, problem = _shapes(model)
    return {
        "schema": SCHEMA,
        "file": document.name,
        "bytes": document.size,
        "type": document.type,
        "specificationVersion": document.model.specificationVersion,
        "updatable": bool(document.model.isUpdatable),
        "metadata": model.metadata,
        "inputs": [feature_fields(entry) for entry in model.inputs.values()],
        "outputs": [feature_fields(entry) for entry in model.outputs.values()],
        "trainingInputs": [feature_fields(entry) for entry in model.training_inputs.values()],
        "preprocessing": [_preprocessing(model, entry) for entry in network.preprocessing],
        "mapping": "legacy rank 5 [sequence, batch, channel, height, width]" if model.legacy else "exact",
        "labels": model.labels,
        "layers": layers(model, shapes),
        "shapesUnknown": problem or None,
        "weights": weights(model),
    }


def feature_fields(entry: Any) -> dict[str, Any]:
    """An input or output as plain data; what it does not have is left out."""
    fields = {
        "name": entry.name,
        "kind": entry.kind,
        "shape": list(entry.shape) if entry.shape is not None else None,
        "dtype": entry.dtype,
        "size": list(entry.size) if entry.size else None,
        "color": entry.color,
        "optional": entry.optional,
        "default": entry.default,
        "flexible": str(entry.flexible) if entry.flexible else None,
        "description": entry.description,
        "text": str(entry),
    }
    return {key: value for key, value in fields.items() if value not in (None, "", False)}


def _preprocessing(model: Model, entry: Any) -> dict[str, Any]:
    from ..coreml.preprocess import biases

    which = entry.WhichOneof("preprocessor")
    result: dict[str, Any] = {"input": entry.featureName, "kind": which}
    if which == "scaler":
        result["scale"] = entry.scaler.channelScale
        feature = model.inputs.get(entry.featureName)
        if feature is not None and feature.kind == "image":
            result["bias"] = biases(entry.scaler, feature)
            result["order"] = feature.color
    return result


def _shapes(model: Model) -> tuple[dict[str, Any], str]:
    """The shapes of blobs for the default input, or why they cannot be told."""
    from ..errors import PippinError

    try:
        return dict(model.blob_shapes()), ""
    except PippinError as error:
        return {}, str(error)


def layers(model: Model, shapes: dict[str, Any]) -> list[dict[str, Any]]:
    """Each layer of the network with its kind, names, the shapes of its outputs, and weights."""
    from ..coreml.lower import place

    result = []
    for index, layer in enumerate(model.document.network.layers):
        kind = layer.WhichOneof("layer")
        result.append(
            {
                "index": index,
                "name": layer.name,
                "kind": kind,
                "place": place(layer, index),
                "inputs": list(layer.input),
                "outputs": list(layer.output),
                "shapes": [shapes.get(name) for name in layer.output],
                "weights": [
                    {
                        "field": name,
                        "encoding": str(model.weights.encoding(params)),
                        "count": model.weights.count(params),
                    }
                    for name, params in weight_fields(getattr(layer, kind) if kind else None)
                ],
                "updatable": bool(layer.isUpdatable),
            }
        )
    return result


def layer(model: Model, which: str) -> dict[str, Any]:
    """One layer by name or number: what ``layers`` says of it, its parameters, and statistics of its weights.

    Raises ``InputError`` with near names if there is none.
    """
    from ..errors import InputError, PippinError

    entries = layers(model, _shapes(model)[0])
    found = [entry for entry in entries if entry["name"] == which]
    if not found and which.isdigit() and int(which) < len(entries):
        found = [entries[int(which)]]
    if not found:
        import difflib

        near = difflib.get_close_matches(which, [entry["name"] for entry in entries], 3)
        hint = f"near: {', '.join(near)}" if near else f"the network has {len(entries)} layers, numbered from 0"
        raise InputError(f"the network has no layer {which!r}", hint=hint)
    entry = found[0]
    message = model.document.network.layers[entry["index"]]
    params = getattr(message, entry["kind"]) if entry["kind"] else None
    entry["parameters"] = parameters(params)
    for weight, (_, held) in zip(entry["weights"], weight_fields(params), strict=True):
        try:
            values = model.weights.flat(held)
        except PippinError:
            continue
        if values.size:
            weight |= {"min": float(values.min()), "max": float(values.max()), "mean": float(values.mean())}
            weight["std"] = float(values.std())
    entry["schema"] = SCHEMA
    return entry


def parameters(message: Any) -> dict[str, Any]:
    """The fields that are set, weights left out; enums by name, nested networks by the number of their layers."""
    result: dict[str, Any] = {}
    if message is None:
        return result
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.name == "WeightParams":
            continue
        many = hasattr(value, "append")
        if field.message_type is not None and field.message_type.name == "NeuralNetwork":
            result[field.name] = f"{len(value.layers)} layers"
        elif field.message_type is not None and field.message_type.GetOptions().map_entry:
            result[field.name] = {str(key): str(item).strip() for key, item in value.items()}
        elif field.message_type is not None:
            result[field.name] = [parameters(item) for item in value] if many else parameters(value)
        elif field.enum_type is not None:
            names = field.enum_type.values_by_number
            result[field.name] = names[value].name if value in names else value
        else:
            result[field.name] = list(value) if many else value
    return result


def layer_text(entry: dict[str, Any]) -> str:
    """One layer for people."""
    shape = "; ".join(str(s) if s is not None else "?" for s in entry["shapes"])
    lines = [
        entry["place"],
        f"  inputs: {', '.join(entry['inputs']) or 'none'}",
        f"  outputs: {', '.join(entry['outputs'])} {shape}",
    ]
    lines += [f"  {name}: {value}" for name, value in entry["parameters"].items()]
    for weight in entry["weights"]:
        text_ = f"  {weight['field']}: {weight['count']:,} values, {weight['encoding']}"
        if "min" in weight:
            text_ += ", ".join(["", *(f"{key} {weight[key]:.6g}" for key in ("min", "max", "mean", "std"))])
        lines.append(text_)
    return "\n".join(lines)


def weight_fields(message: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Every WeightParams field that is set below ``message``, by its path; nested networks are left out."""
    found: list[tuple[str, Any]] = []
    if message is None:
        return found
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.name == "NeuralNetwork":
            continue
        items = value if hasattr(value, "add") else [value]
        for number, item in enumerate(items):
            if not hasattr(item, "DESCRIPTOR"):
                continue
            label = f"{prefix}{field.name}" + (f"[{number}]" if hasattr(value, "add") else "")
            if item.DESCRIPTOR.name == "WeightParams":
                found.append((label, item))
            else:
                found += weight_fields(item, f"{label}.")
    return found


def weights(model: Model) -> list[dict[str, Any]]:
    """Number of values and bytes of all weights, by encoding."""
    totals: dict[str, list[int]] = {}
    for network in networks(model.document.network):
        for layer in network.layers:
            kind = layer.WhichOneof("layer")
            for _, params in weight_fields(getattr(layer, kind) if kind else None):
                total = totals.setdefault(str(model.weights.encoding(params)), [0, 0, 0])
                total[0] += 1
                total[1] += model.weights.count(params)
                total[2] += sum(model.weights.stored(params).values())
    return [
        {"encoding": encoding, "arrays": arrays, "values": values, "bytes": size}
        for encoding, (arrays, values, size) in sorted(totals.items(), key=lambda item: -item[1][2])
    ]


def networks(network: Any) -> list[Any]:
    """``network`` and every network nested in its branches and loops."""
    found, queue = [], [network]
    while queue:
        current = queue.pop()
        found.append(current)
        for layer in current.layers:
            kind = layer.WhichOneof("layer")
            if kind == "branch":
                queue += [layer.branch.ifBranch, layer.branch.elseBranch]
            elif kind == "loop":
                queue += [layer.loop.conditionNetwork, layer.loop.bodyNetwork]
    return found


def as_text(description: dict[str, Any]) -> str:
    """The description for people."""
    d = description
    lines = [f"{d['file']}: {d['type']}, specification version {d['specificationVersion']}, {text.size(d['bytes'])}"]
    if d["updatable"]:
        lines[0] += ", updatable"
    lines += [f"  {key}: {text.short(value)}" for key, value in d["metadata"].items()]
    for title in ("inputs", "outputs", "trainingInputs"):
        if d[title]:
            lines.append(f"\n{title}")
            lines.append(text.table([(entry["name"], entry["text"]) for entry in d[title]], indent="  "))
    if d["preprocessing"]:
        lines.append("\npreprocessing")
        lines += [f"  {_preprocessing_text(entry)}" for entry in d["preprocessing"]]
    if d["labels"]:
        shown = ", ".join(map(str, d["labels"][:6]))
        lines.append(f"\nlabels ({len(d['labels'])})\n  {shown}{', …' if len(d['labels']) > 6 else ''}")
    lines.append(f"\nlayers ({len(d['layers'])}; blobs: {d['mapping']})")
    rows: list[tuple[Any, ...]] = []
    for layer in d["layers"]:
        shape = "; ".join(str(s) if s is not None else "?" for s in layer["shapes"])
        held = ", ".join(f"{w['field']} {w['count']:,}" for w in layer["weights"][:3])
        if len(layer["weights"]) > 3:
            held = f"{sum(w['count'] for w in layer['weights']):,} in {len(layer['weights'])} arrays"
        rows.append((layer["index"], layer["name"], layer["kind"], shape, held))
    lines.append(text.table(rows, ("#", "name", "kind", "output shape", "weights"), indent="  ", right="0"))
    if d["shapesUnknown"]:
        lines.append(f"  the shapes are not known: {d['shapesUnknown'].replace(chr(10), chr(10) + '  ')}")
    if d["weights"]:
        lines.append("\nweights")
        rows = [(w["encoding"], w["arrays"], f"{w['values']:,}", text.size(w["bytes"])) for w in d["weights"]]
        lines.append(text.table(rows, ("encoding", "arrays", "values", "size"), indent="  ", right="123"))
    return "\n".join(lines)


def _preprocessing_text(entry: dict[str, Any]) -> str:
    name = entry["input"] or "the image"
    if entry["kind"] == "scaler":
        bias = ", ".join(f"{b:g}" for b in entry.get("bias", []))
        order = f" ({entry['order']})" if "order" in entry else ""
        return f"{name}: pixel 0..255 x {entry['scale']:g} + [{bias}]{order}"
    if entry["kind"] == "meanImage":
        return f"{name}: pixel 0..255 - mean image"
    return f"{name}: nothing"
