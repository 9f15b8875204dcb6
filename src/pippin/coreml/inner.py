"""Every blob of a network, as the engine computes it: what lies between inputs and outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from . import narrow, preprocess
from .draws import Draw
from .features import ImageInput
from .lower import Finish, Lowerer, lower
from .lowering import Blob, Context
from .read import Document
from .weights import Weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .model import Model


def lowered(
    model: Model,
    shapes: Sequence[Sequence[int | str]],
    *,
    draws: list[Draw] | None = None,
    outputs: Iterable[str] | None = None,
    finish: Finish | None = None,
    weights: Weights | None = None,
) -> tuple[Context, Lowerer]:
    """The network of ``model`` lowered for input blobs of ``shapes``, preprocessing included; nothing is an output yet.

    ``draws``, ``outputs`` and ``finish`` are those of ``lower``; ``weights`` stand for those of the model.
    """
    entries = preprocess.steps(model.document.network, model.inputs)

    def prepare(g: Context, name: str, value: Any) -> Any:
        encode = model.encoder(name)
        steps = entries.get(name) if isinstance(encode, ImageInput) else None
        return preprocess.apply(g, steps, model.inputs[name], model.weights, value) if steps else value

    return lower(
        model.document.network,
        weights or model.weights,
        dict(zip(model.inputs, shapes, strict=True)),
        rank5=model.legacy,
        custom=model.custom_layers,
        prepare=prepare,
        feeds=draws,
        outputs=outputs,
        finish=finish,
    )


def blobs(
    model: Model, data: Mapping[str, Any], names: Iterable[str] | None = None, *, timeout: float | None = None
) -> dict[str, NDArray[Any]]:
    """The blobs called ``names`` (default: all, in the order of the layers) for inputs as ``predict`` takes them.

    Arrays of true rank, [S,B,C,H,W] in legacy networks; an input is what the first layer sees, after preprocessing.
    A name that several layers write stands for what the last one wrote; see ``distinct``. A model that was loaded with
    a ``precision`` shows its blobs rounded, as the layers read them.
    Raises ``InputError`` with near names for a name that is none.
    """
    feeds = model.feeds(data)
    draws: list[Draw] = []
    kind = model.precision
    g, lowerer = lowered(
        model,
        [array.shape for array in feeds.values()],
        draws=draws,
        finish=narrow.finish(kind) if kind else None,
        weights=narrow.NarrowWeights(model.document.views, kind) if kind else None,
    )
    wanted = list(lowerer.blobs) if names is None else list(names)
    for name in wanted:
        if name not in lowerer.blobs:
            raise unknown(name, lowerer.blobs)
    values = [value_of(g, lowerer.blobs[name]) for name in wanted]
    for value in values:
        g.output(value)
    for draw in draws:
        feeds[draw.name] = draw.make()
    results = model.session(g.graph).run({key: feeds[key] for key in feeds}, timeout=timeout)
    return {name: true_shape(lowerer.blobs[name], array) for name, array in zip(wanted, results, strict=True)}


def unknown(name: str, known: Iterable[str]) -> InputError:
    """The error for a blob that is not there."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 3)
    return InputError(f"the network has no blob {name!r}", hint=f"near: {', '.join(near)}" if near else "")


def value_of(g: Context, blob: Blob) -> Any:
    """The float value of a blob in the form that is there."""
    return g.float(blob.flat(g)[0] if blob.folded else blob.nd(g))


def true_shape(blob: Blob, array: NDArray[Any]) -> NDArray[Any]:
    """An array of a blob with the axes that were folded into N apart, where their sizes are known."""
    if not blob.folded:
        return array
    lead = [size for size in blob.lead if isinstance(size, int)]
    if array.ndim == 4 and len(lead) == len(blob.lead) and math.prod(lead) == array.shape[0]:
        return array.reshape(*lead, *array.shape[1:])
    return array[None]


def distinct(model: Model) -> Model:
    """``model`` with a name of its own for every blob: what a later layer overwrites is called "name (layer)".

    Names that networks in branches and loops use stay as they are.
    """
    from .model import Model

    before = model.document
    message = type(before.model)()
    message.CopyFrom(before.model)
    document = Document(message, before.views, before.name, before.path, before.size)
    _rename(document.network, set(model.inputs), set(model.outputs))
    return Model(document, custom_layers=model.custom_layers, threads=model.threads)


def _rename(network: Any, inputs: set[str], outputs: set[str]) -> None:
    from .control_flow import networks, reads

    shared: set[str] = set()
    writers: dict[str, int] = {}
    for layer in network.layers:
        for nested in networks(layer):
            shared.update(reads(nested.layers))
            shared.update(_writes(nested.layers))
        for name in layer.output:
            writers[name] = writers.get(name, 0) + 1
    overwritten = {name for name, count in writers.items() if count + (name in inputs) > 1} - shared
    overwritten -= inputs & outputs
    current: dict[str, str] = {}
    taken = inputs | writers.keys()
    for layer in network.layers:
        for index, name in enumerate(layer.input):
            layer.input[index] = current.get(name, name)
        for index, name in enumerate(layer.output):
            if name not in overwritten:
                continue
            writers[name] -= 1
            if writers[name] == 0 and name not in inputs:
                current.pop(name, None)
                continue
            fresh = f"{name} ({layer.name})"
            while fresh in taken:
                fresh += "'"
            taken.add(fresh)
            current[name] = layer.output[index] = fresh


def written(layer: Any) -> Iterable[str]:
    """The blobs that the networks in a layer write."""
    from .control_flow import networks

    for nested in networks(layer):
        yield from _writes(nested.layers)


def read(layer: Any) -> Iterable[str]:
    """The blobs that the networks in a layer read, those that they write themselves among them."""
    from .control_flow import networks

    for nested in networks(layer):
        for part in nested.layers:
            yield from part.input
            yield from read(part)


def _writes(layers: Iterable[Any]) -> Iterable[str]:
    from .control_flow import networks

    for layer in layers:
        yield from layer.output
        for nested in networks(layer):
            yield from _writes(nested.layers)
