"""Layers that do nothing, and layers whose results nobody uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...errors import PippinError
from ..lower import place
from ..read import Document
from ..weights import Weights
from . import cut
from .insert import remove_layers
from .names import places
from .step import Step, layers_of, network_of

Shapes = dict[str, list[int | str]]


@dataclass
class _Case:
    """What a rule may look at: the parameters, the layer, the shapes of blobs (empty if they may vary), the weights."""

    p: Any
    layer: Any
    shapes: Shapes
    weights: Weights

    def same_shape(self) -> bool:
        """Whether input and output are known to have the same fixed shape."""
        before, after = (self.shapes.get(names[0]) for names in (self.layer.input, self.layer.output))
        return before is not None and before == after and all(isinstance(size, int) for size in before)

    def all_are(self, params: Any, value: float) -> bool:
        """Whether all values of ``params`` are ``value``."""
        import numpy as np

        encoding = self.weights.encoding(params)
        if encoding.kind not in ("float32", "float16"):
            return False
        return bool(np.all(self.weights.flat(params) == value))


def _linear(case: _Case) -> bool:
    p = case.p.linear
    return case.p.WhichOneof("NonlinearityType") == "linear" and p.alpha == 1 and p.beta == 0


def _edges(amounts: Any) -> bool:
    return all(edge.startEdgeSize == 0 == edge.endEdgeSize for edge in amounts.borderAmounts)


def _slice_static(case: _Case) -> bool:
    p = case.p
    rank = len(p.beginIds)
    whole = (
        len(p.strides) == len(p.endIds) == rank
        and all(stride == 1 for stride in p.strides)
        and all((p.beginMasks[i] if i < len(p.beginMasks) else False) or p.beginIds[i] == 0 for i in range(rank))
        and all(p.endMasks[i] if i < len(p.endMasks) else False for i in range(rank))
    )
    return whole and not any(p.squeezeMasks)


def _scale(case: _Case) -> bool:
    p = case.p
    return case.all_are(p.scale, 1) and (not p.hasBias or case.all_are(p.bias, 0))


def _rearranges(case: _Case) -> bool:
    return case.same_shape() and getattr(case.p, "mode", 0) == 0


IDLE: dict[str, Callable[[_Case], bool]] = {
    "activation": _linear,
    "scale": _scale,
    "bias": lambda case: case.all_are(case.p.bias, 0),
    "permute": lambda case: list(case.p.axis) == [0, 1, 2, 3],
    "transpose": lambda case: list(case.p.axes) == list(range(len(case.p.axes))),
    "padding": lambda case: _edges(case.p.paddingAmounts),
    "constantPad": lambda case: len(case.layer.input) == 1 and not any(case.p.padAmounts),
    "crop": lambda case: len(case.layer.input) == 1 and _edges(case.p.cropAmounts),
    "upsample": lambda case: len(case.p.scalingFactor) == 2 and list(case.p.scalingFactor) == [1, 1],
    "sequenceRepeat": lambda case: case.p.nRepetitions == 1,
    "tile": lambda case: len(case.layer.input) == 1 and len(case.p.reps) > 0 and all(n == 1 for n in case.p.reps),
    "add": lambda case: case.p.alpha == 0,
    "multiply": lambda case: case.p.alpha == 1,
    "average": lambda case: True,
    "max": lambda case: True,
    "min": lambda case: True,
    "sliceStatic": _slice_static,
    "reshape": _rearranges,
    "flatten": _rearranges,
    "reshapeStatic": _rearranges,
    "rankPreservingReshape": _rearranges,
    "flattenTo2D": _rearranges,
    "squeeze": _rearranges,
    "broadcastToStatic": _rearranges,
    "copy": lambda case: True,
}
"""Kinds that may do nothing, and when. They have one input and one output then."""


@dataclass
class _Uses:
    """Who reads and writes the blobs of a model, nested networks included."""

    reads: Counter[str] = field(default_factory=Counter)
    writes: Counter[str] = field(default_factory=Counter)
    fixed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, document: Document, extra: set[str]) -> _Uses:
        uses = cls(fixed=set(extra))
        for entry in places(document.model):
            if entry.role == "read":
                uses.reads[entry.value] += 1
            elif entry.role == "write":
                uses.writes[entry.value] += 1
            elif entry.role != "layer" and entry.value:
                uses.fixed.add(entry.value)
        return uses


def prune(document: Document, *, idle: bool = True, unused: bool = True) -> Step:
    """Removes layers that do nothing (``idle``) and those whose results nobody uses (``unused``).

    A layer does nothing where it gives what it gets for every input that the model takes: a linear activation
    1 · x + 0, a padding of zero, a reshape to the same fixed shape. What is needed for training stays.
    """
    network = network_of(document)
    removed: list[str] = []
    probabilities = cut.pinned(document)
    extra = {probabilities} if probabilities else set()
    if idle:
        shapes = _shapes(document)
        while _remove_idle(document, network, shapes, extra, removed):
            pass
    count = len(removed)
    if unused:
        _remove_unused(document, network, extra, removed)
    cut.pin(document, probabilities)
    idle_, unused_ = count, len(removed) - count
    step = Step(
        f"remove {idle_} layer{'s' * (idle_ != 1)} that do nothing and {unused_} that nobody uses",
        "equal" if removed else "none",
        details={"removed": removed},
    )
    if removed:
        step.notes.append(", ".join(removed[:8]) + (f" and {len(removed) - 8} more" if len(removed) > 8 else ""))
    return step


def _shapes(document: Document) -> Shapes:
    """The shapes of blobs where they are the same for every input that the model takes."""
    from ..model import Model

    try:
        model = Model(document)
        varies = any(entry.flexible or 0 in (entry.shape or ()) for entry in model.inputs.values())
        # arrays of old networks may come with any sequence and batch
        varies = varies or (model.legacy and any(entry.kind == "multiarray" for entry in model.inputs.values()))
        return {} if varies else model.blob_shapes()
    except PippinError:
        return {}


def _remove_idle(document: Document, network: Any, shapes: Shapes, extra: set[str], removed: list[str]) -> bool:
    """Removes one idle layer, the first that can go; whether there was one."""
    uses = _Uses.of(document, extra)
    inputs = {entry.name for entry in document.model.description.input}
    weights = Weights(document.views)
    for holder, index, layer in layers_of(network):
        kind = layer.WhichOneof("layer")
        if kind not in IDLE or len(layer.input) != 1 or len(layer.output) != 1 or layer.isUpdatable:
            continue
        source, target = layer.input[0], layer.output[0]
        if source == target or not IDLE[kind](_Case(getattr(layer, kind), layer, shapes, weights)):
            continue
        if uses.writes[target] != 1 or uses.writes[source] != (0 if source in inputs else 1):
            continue  # written again somewhere: which value is meant depends on the moment
        if holder is not network and not _local(holder, target, uses):
            continue
        if target not in uses.fixed:
            _replace(document, target, source, ("read",))
        elif holder is network and source not in uses.fixed and source not in inputs:
            _replace(document, source, target, ("read", "write"))
        else:
            continue
        removed.append(place(layer, index))
        remove_layers(holder, [index])
        return True
    return False


def _local(holder: Any, name: str, uses: _Uses) -> bool:
    """Whether all that read the blob stand in the network that writes it, or deeper."""
    inside = sum(list(layer.input).count(name) for _, _, layer in layers_of(holder))
    return inside == uses.reads[name]


def _replace(document: Document, old: str, new: str, roles: tuple[str, ...]) -> None:
    for entry in places(document.model):
        if entry.role in roles and entry.value == old:
            entry.value = new


def _remove_unused(document: Document, network: Any, extra: set[str], removed: list[str]) -> None:
    """Removes layers of the outermost network that no output depends on."""
    wanted = {
        entry.value for entry in places(document.model) if entry.role in ("output", "loss input", "probabilities")
    }
    kept = set(cut.needed(network.layers, (wanted | extra) - {""}))
    kept |= {index for index, layer in enumerate(network.layers) if layer.isUpdatable}
    doomed = [index for index in range(len(network.layers)) if index not in kept]
    if len(doomed) == len(network.layers):
        return
    removed += [place(network.layers[index], index) for index in doomed]
    remove_layers(network, doomed)
