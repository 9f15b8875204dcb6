"""An ONNX model described, in the form of ``describe``: inputs, outputs, nodes with shapes, weights by type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from . import text
from .describe import SCHEMA, feature_fields

if TYPE_CHECKING:
    from ..onnx_model import OnnxModel


def describe(model: OnnxModel) -> dict[str, Any]:
    """Everything ``pippin inspect`` knows, as plain data."""
    proto = model.proto
    own = {"labels", "pippin"}
    return {
        "schema": SCHEMA,
        "file": model.name,
        "bytes": model.path.stat().st_size if model.path is not None else len(model.proto_bytes()),
        "type": "onnx",
        "opset": {entry.domain or "ai.onnx": entry.version for entry in proto.opset_import},
        "irVersion": proto.ir_version,
        "producer": " ".join(filter(None, (proto.producer_name, proto.producer_version))),
        "metadata": {key: value for key, value in model.metadata.items() if key not in own},
        "inputs": [feature_fields(entry) for entry in model.inputs.values()],
        "outputs": [feature_fields(entry) for entry in model.outputs.values()],
        "labels": model.labels,
        "layers": layers(model),
        "weights": weights(model),
    }


def layers(model: OnnxModel) -> list[dict[str, Any]]:
    """Each node of the graph with its operator, names, the shapes of its outputs as far as they can be told."""
    from ..onnx_model import place

    shapes = _shapes(model.proto)
    held = {tensor.name: math.prod(tensor.dims) for tensor in model.proto.graph.initializer}
    return [
        {
            "index": index,
            "name": node.name,
            "kind": node.op_type,
            "place": place(node, index),
            "inputs": [name for name in node.input if name not in held],
            "outputs": list(node.output),
            "shapes": [shapes.get(name) for name in node.output],
            "weights": [{"field": name, "count": held[name]} for name in node.input if name in held],
        }
        for index, node in enumerate(model.proto.graph.node)
    ]


def _shapes(proto: Any) -> dict[str, list[int | str]]:
    import onnx

    try:
        graph = onnx.shape_inference.infer_shapes(proto, data_prop=True).graph
    except Exception:  # what it cannot infer it may also refuse
        graph = proto.graph
    return {
        info.name: [dim.dim_param or dim.dim_value if dim.WhichOneof("value") else "?" for dim in shape.dim]
        for info in (*graph.value_info, *graph.output)
        if info.type.HasField("tensor_type") and (shape := info.type.tensor_type.shape) is not None
    }


def layer(model: OnnxModel, which: str) -> dict[str, Any]:
    """One node by name or number with its attributes. Raises ``InputError`` with near names if there is none."""
    from onnx import AttributeProto, helper

    entries = layers(model)
    found = [entry for entry in entries if entry["name"] == which]
    if not found and which.isdigit() and int(which) < len(entries):
        found = [entries[int(which)]]
    if not found:
        import difflib

        near = difflib.get_close_matches(which, [entry["name"] for entry in entries], 3)
        hint = f"near: {', '.join(near)}" if near else f"the graph has {len(entries)} nodes, numbered from 0"
        raise InputError(f"the graph has no node {which!r}", hint=hint)
    entry = found[0]
    parameters: dict[str, Any] = {}
    for attribute in model.proto.graph.node[entry["index"]].attribute:
        if attribute.type == AttributeProto.GRAPH:
            parameters[attribute.name] = text.plural(len(attribute.g.node), "node")
            continue
        value = helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif isinstance(value, (list, tuple)) or hasattr(value, "extend"):
            value = list(value)
        elif not isinstance(value, (int, float, str)):
            value = f"tensor {list(getattr(value, 'dims', []))}"
        parameters[attribute.name] = value
    return entry | {"parameters": parameters, "schema": SCHEMA}


def weights(model: OnnxModel) -> list[dict[str, Any]]:
    """Number of values and bytes of all constants, by type."""
    from onnx import helper

    totals: dict[str, list[int]] = {}
    for tensor in model.proto.graph.initializer:
        kind = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        total = totals.setdefault("string" if kind.hasobject else kind.name, [0, 0, 0])
        count = math.prod(tensor.dims)
        total[0] += 1
        total[1] += count
        total[2] += count * kind.itemsize
    return [
        {"encoding": encoding, "arrays": arrays, "values": values, "bytes": size}
        for encoding, (arrays, values, size) in sorted(totals.items(), key=lambda item: -item[1][2])
    ]


def as_text(description: dict[str, Any]) -> str:
    """The description for people."""
    d = description
    opset = ", ".join(f"{'' if domain == 'ai.onnx' else domain + ' '}{n}" for domain, n in d["opset"].items())
    lines = [f"{d['file']}: ONNX, opset {opset}, {text.size(d['bytes'])}"]
    if d["producer"]:
        lines[0] += f", written by {d['producer']}"
    lines += [f"  {key}: {text.short(value)}" for key, value in d["metadata"].items()]
    for title in ("inputs", "outputs"):
        lines.append(f"\n{title}")
        lines.append(text.table([(entry["name"], entry["text"]) for entry in d[title]], indent="  "))
    if d["labels"]:
        shown = ", ".join(map(str, d["labels"][:6]))
        lines.append(f"\nlabels ({len(d['labels'])})\n  {shown}{', …' if len(d['labels']) > 6 else ''}")
    lines.append(f"\nnodes ({len(d['layers'])})")
    rows: list[tuple[Any, ...]] = []
    for node in d["layers"]:
        shape = "; ".join(str(s) if s is not None else "?" for s in node["shapes"])
        held = f"{sum(w['count'] for w in node['weights']):,}" if node["weights"] else ""
        rows.append((node["index"], node["name"] or node["outputs"][0], node["kind"], shape, held))
    lines.append(text.table(rows, ("#", "name", "operator", "output shape", "weights"), indent="  ", right="04"))
    if d["weights"]:
        lines.append("\nweights")
        rows = [(w["encoding"], w["arrays"], f"{w['values']:,}", text.size(w["bytes"])) for w in d["weights"]]
        lines.append(text.table(rows, ("type", "arrays", "values", "size"), indent="  ", right="123"))
    return "\n".join(lines)


def layer_text(entry: dict[str, Any]) -> str:
    """One node for people."""
    shape = "; ".join(str(s) if s is not None else "?" for s in entry["shapes"])
    lines = [
        entry["place"],
        f"  inputs: {', '.join(entry['inputs']) or 'none'}",
        f"  outputs: {', '.join(entry['outputs'])} {shape}",
    ]
    lines += [f"  {name}: {value}" for name, value in entry["parameters"].items()]
    lines += [f"  {weight['field']}: {weight['count']:,} values" for weight in entry["weights"]]
    return "\n".join(lines)
