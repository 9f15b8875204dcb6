"""Layers put behind an input or before an output, with weights of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedError
from .. import schema
from ..read import Document
from ..wire import View
from .names import layer_names, redirect, taken, writers
from .step import fresh, network_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FIELDS = {"float32": ("floatValue", 1), "float16": ("float16Value", 2), "raw": ("rawValue", 30)}
"""How values are stored: the field of WeightParams and its number."""


def store(document: Document, params: Any, encodes: str, data: bytes | memoryview) -> None:
    """Replaces the values of a WeightParams (or the mean image); the bytes go to the views, not into the message.

    The quantisation is left to the caller; marks and unknown fields of ``params`` stay.
    """
    if params.DESCRIPTOR.name == "WeightParams":
        for field in ("floatValue", "float16Value", "rawValue", "int8RawValue"):
            params.ClearField(field)
    else:
        params.ClearField("meanImage")
    params.ClearField(schema.VIEW)
    if len(data):
        document.views.append(View(FIELDS[encodes][1], encodes, memoryview(data).cast("B")))
        getattr(params, schema.VIEW).append(len(document.views) - 1)


def store_floats(document: Document, params: Any, values: ArrayLike) -> None:
    """``store`` for float32 values."""
    import numpy as np

    store(document, params, "float32", np.ascontiguousarray(values, "<f4").tobytes())


def new_layer(document: Document, kind: str, name: str, source: str, target: str) -> Any:
    """A layer message of ``kind`` that reads ``source`` and writes ``target``; not in the network yet."""
    layer = schema.message("NeuralNetworkLayer")(name=fresh(layer_names(document.model), name))
    layer.input.append(source)
    layer.output.append(target)
    getattr(layer, kind).SetInParent()
    return layer


def fill_scale(document: Document, layer: Any, scale: Sequence[float], bias: Sequence[float]) -> None:
    """Makes a scale layer compute y = scale · x + bias, with one number or one a channel; no bias where it is zero."""
    p = layer.scale
    p.shapeScale.extend([len(scale), 1, 1] if len(scale) > 1 else [1])
    store_floats(document, p.scale, scale)
    if any(bias):
        p.hasBias = True
        p.shapeBias.extend([len(bias), 1, 1] if len(bias) > 1 else [1])
        store_floats(document, p.bias, bias)


def behind_input(document: Document, name: str, steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """Puts layers behind the input ``name``: those that read it read what the last of them writes.

    Each of ``steps`` has "kind", "name" and "fill", a function of the layer. Returns the names of the layers.
    """
    network = network_of(document)
    if writers(network, name):
        raise UnsupportedError(f"input {name!r} is written over by a copy layer, so nothing can be put behind it")
    source = name
    made: list[Any] = []
    names = taken(document.model)
    for entry in steps:
        target = fresh(names, f"{name}_{entry['name']}")
        names.add(target)
        layer = new_layer(document, entry["kind"], f"{name}_{entry['name']}", source, target)
        entry["fill"](layer)
        made.append(layer)
        source = target
    redirect(document.model, name, source, ("read", "condition"))
    for index, layer in enumerate(made):
        network.layers.insert(index, layer)
    return [layer.name for layer in made]


def before_output(document: Document, name: str, steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """Puts layers before the output ``name``: the blob that was called so is renamed, the last layer writes ``name``.

    Whatever else read the blob reads the renamed one. ``steps`` as in ``behind_input``.
    """
    network = network_of(document)
    if not writers(network, name):
        raise UnsupportedError(f"output {name!r} is the output of no layer, so nothing can be put before it")
    names = taken(document.model)
    source = fresh(names, f"{name}_raw")
    names.add(source)
    roles = ("read", "write", "condition", "probabilities", "loss input")
    redirect(document.model, name, source, roles)
    made = []
    for number, entry in enumerate(steps):
        last = number == len(steps) - 1
        target = name if last else fresh(names, f"{name}_{entry['name']}")
        names.add(target)
        layer = new_layer(document, entry["kind"], f"{name}_{entry['name']}", source, target)
        entry["fill"](layer)
        network.layers.append(layer)
        made.append(layer.name)
        source = target
    return made


def remove_layers(network: Any, doomed: Sequence[int]) -> None:
    """Deletes the layers at these positions of one network."""
    for index in sorted(doomed, reverse=True):
        del network.layers[index]
