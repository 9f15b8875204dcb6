"""An NNRt model described: inputs, outputs, nodes with attributes, constants, and what a device here makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import text

if TYPE_CHECKING:
    from ..nnrt.cache import Compiled
    from ..nnrt.types import Model, Tensor

SCHEMA = "pippin.nnrt.inspect/1"
"""Name and version of the JSON that ``pippin inspect --json`` prints for an NNRt model."""


def describe(model: Model, name: str, size: int) -> dict[str, Any]:
    """Everything ``pippin inspect`` knows of a model, as plain data."""
    from ..nnrt.device import Device

    support = Device().supported_operations(model)
    constants = [index for index, tensor in enumerate(model.allTensors) if tensor.is_constant]
    return {
        "schema": SCHEMA,
        "file": name,
        "bytes": size,
        "type": "model",
        "name": model.name,
        "inputs": [tensor(model, index) for index in model.inputIndex],
        "outputs": [tensor(model, index) for index in model.outputIndex],
        "nodes": [node(model, index, support[index]) for index in range(len(model.nodes))],
        "tensors": len(model.allTensors),
        "constants": [tensor(model, index) for index in constants],
        "subgraphs": len(model.subGraph),
    }


def tensor(model: Model, index: int) -> dict[str, Any]:
    """One tensor; an index that names none is said so."""
    if not 0 <= index < len(model.allTensors):
        return {"index": index, "name": "", "text": f"no tensor {index}"}
    item = model.allTensors[index]
    entry: dict[str, Any] = {
        "index": index,
        "name": item.name,
        "dataType": _name(item.dataType),
        "dims": list(item.dims),
        "format": _name(item.format),
    }
    if item.is_constant:
        entry["bytes"] = item.data.dataSize
    if item.quantParams:
        entry["quantParams"] = [
            {"numBits": param.numBits, "zeroPoint": param.zeroPoint, "scale": param.scale} for param in item.quantParams
        ]
    entry["text"] = tensor_text(item)
    return entry


def tensor_text(item: Tensor) -> str:
    """``float32[1, 28, 28, 1] NHWC``, with the quantisation if there is one."""
    parts = [f"{_name(item.dataType).lower()}{list(item.dims)}"]
    if len(item.dims) == 4:
        parts.append(_name(item.format))
    if len(item.quantParams) == 1:
        param = item.quantParams[0]
        parts.append(f"scale {param.scale:g} zero {param.zeroPoint}")
    elif item.quantParams:
        parts.append(f"{len(item.quantParams)} quantParams")
    return " ".join(parts)


def _name(value: Any) -> str:
    return getattr(value, "name", None) or str(value)


def node(model: Model, index: int, support: Any) -> dict[str, Any]:
    """One node: its type, attributes, tensors, and whether a device here takes it."""
    item = model.nodes[index]
    attributes, problem = _attributes(item)
    entry: dict[str, Any] = {
        "index": index,
        "name": item.name,
        "type": _name(item.nodeType),
        "number": int(item.nodeType),
        "attributes": attributes,
        "inputs": [tensor(model, place) for place in item.inputIndex],
        "outputs": [tensor(model, place) for place in item.outputIndex],
        "quantType": _name(item.quantType),
        "supported": bool(support),
    }
    if not support:
        entry["reason"] = support.reason
    if problem:
        entry["problem"] = problem
    return entry


def _attributes(item: Any) -> tuple[dict[str, Any], str]:
    from ..errors import PippinError
    from ..nnrt.attributes import layout
    from ..nnrt.parcel import decode

    try:
        held = decode(item.nodeType, item.nodeAttr)
    except KeyError:
        return {}, "there is no such node type"
    except PippinError as error:
        return {}, error.message
    values = {field.idl_name: getattr(held, field.name) for field in layout(type(held)).fields}
    return {key: _plain(value) for key, value in values.items()}, ""


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return getattr(value, "name", value)


def find_node(description: dict[str, Any], which: str) -> dict[str, Any]:
    """One node by name or number.  InputError with near names if there is none."""
    from ..errors import InputError

    nodes = description["nodes"]
    found = [entry for entry in nodes if entry["name"] == which]
    if not found and which.isdigit() and int(which) < len(nodes):
        found = [nodes[int(which)]]
    if not found:
        import difflib

        near = difflib.get_close_matches(which, [entry["name"] for entry in nodes], 3)
        hint = f"near: {', '.join(near)}" if near else f"the model has {len(nodes)} nodes, numbered from 0"
        raise InputError(f"the model has no node {which!r}", hint=hint)
    return {"schema": SCHEMA, **found[0]}


def node_text(entry: dict[str, Any]) -> str:
    """One node for people."""
    lines = [f"node {entry['index']} {entry['name']!r} ({entry['type']}, number {entry['number']})"]
    for title in ("inputs", "outputs"):
        lines += [
            f"  {title[:-1]} {place}: {item['name'] or item['index']}  {item['text']}"
            + (f", constant of {item['bytes']:,} bytes" if "bytes" in item else "")
            for place, item in enumerate(entry[title])
        ]
    lines += [f"  {key}: {value}" for key, value in entry["attributes"].items()]
    if "problem" in entry:
        lines.append(f"  attributes: {entry['problem']}")
    lines.append("  supported here" if entry["supported"] else f"  not supported here: {entry['reason']}")
    return "\n".join(lines)


def as_text(d: dict[str, Any]) -> str:
    """The description for people."""
    lines = [f"{d['file']}: NNRt model {d['name']!r}, {text.size(d['bytes'])}"]
    for title in ("inputs", "outputs"):
        lines.append(f"\n{title}")
        lines.append(text.table([(item["name"] or item["index"], item["text"]) for item in d[title]], indent="  "))
    gaps = [entry for entry in d["nodes"] if not entry["supported"]]
    told = "all run here" if not gaps else f"{len(gaps)} of them do not run here"
    lines.append(f"\nnodes ({len(d['nodes'])}; {told})")
    rows = [
        (entry["index"], entry["name"], entry["type"], _outputs(entry["outputs"]), text.short(_told(entry), 70))
        for entry in d["nodes"]
    ]
    lines.append(text.table(rows, ("#", "name", "type", "output", "attributes"), indent="  ", right="0"))
    if d["constants"]:
        size = sum(item["bytes"] for item in d["constants"])
        lines.append(f"\nconstants\n  {text.plural(len(d['constants']), 'tensor')}, {text.size(size)}")
    for entry in gaps:
        lines.append(f"\nnode {entry['index']} {entry['name']!r} does not run here: {entry['reason']}")
    return "\n".join(lines)


def _outputs(items: Sequence[dict[str, Any]]) -> str:
    return "; ".join(item["text"] for item in items)


def _told(entry: dict[str, Any]) -> str:
    """The attributes that say something: not those that are empty, off or without activation."""
    if "problem" in entry:
        return str(entry["problem"])
    quiet: tuple[Any, ...] = (0, False, "NO_ACTIVATION", [], "")
    return " ".join(f"{key}={value}" for key, value in entry["attributes"].items() if value not in quiet)


def describe_prepared(compiled: Compiled, name: str, size: int) -> dict[str, Any]:
    """An exported cache, as plain data."""
    return {
        "schema": SCHEMA,
        "file": name,
        "bytes": size,
        "type": "prepared model",
        "versions": {"pippin": compiled.versions[0], "onnxruntime": compiled.versions[1]},
        "provider": compiled.provider,
        "float16": compiled.half,
        "inputs": [_port(port) for port in compiled.inputs],
        "outputs": [_port(port) for port in compiled.outputs],
        "weights": len(compiled.written.weights),
    }


def _port(port: Any) -> dict[str, Any]:
    kind, layout = _name(port.data_type), _name(port.format)
    told = f"{kind.lower()}{list(port.dims)}" + (f" {layout}" if len(port.dims) == 4 else "")
    return {"name": port.name, "dataType": kind, "dims": list(port.dims), "format": layout, "text": told}


def prepared_text(d: dict[str, Any]) -> str:
    """An exported cache for people."""
    versions = ", ".join(f"{name} {version}" for name, version in d["versions"].items())
    half = ", float16" if d["float16"] else ""
    lines = [f"{d['file']}: prepared NNRt model for {d['provider']}{half}, {text.size(d['bytes'])}, made by {versions}"]
    for title in ("inputs", "outputs"):
        lines.append(f"\n{title}")
        lines.append(text.table([(item["name"], item["text"]) for item in d[title]], indent="  "))
    return "\n".join(lines)
