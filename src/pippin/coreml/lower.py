"""Lowers a Core ML network to the hub: layer by layer, each by the function registered for its kind.

Nothing here knows what a layer computes.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ..errors import CheckError, PippinError, UnsupportedError
from ..graph.ir import Graph, Value
from . import control_flow
from .draws import Draw
from .lowering import LAYERS, Blob, Context
from .weights import Weights

Finish = Callable[[Context, str, Blob], Blob]
"""Is given every blob that a layer makes, by name, and answers with the one that other layers read."""
NO_LOWERING: dict[str, str] = {}
"""Layer kinds that are not lowered, each with the reason."""


def place(layer: Any, index: int) -> str:
    """How messages name a layer: ``layer 'conv1' (convolution)``; without a name its position."""
    kind = layer.WhichOneof("layer") or "no kind"
    return f"layer {layer.name!r} ({kind})" if layer.name else f"layer {index} ({kind})"


@dataclass
class Lowered:
    """A lowered network: the graph, and the blobs by name with the values that hold them at the end."""

    graph: Graph
    blobs: dict[str, Blob] = field(default_factory=dict)


class Lowerer:
    """Lowers networks into one context, with the blobs that are visible so far."""

    def __init__(self, g: Context, blobs: dict[str, Blob], outputs: Iterable[str] | None = None) -> None:
        self.g = g
        self.blobs = blobs
        self.outputs = outputs
        self.finish: Finish | None = None
        self.named: dict[str, Value] = {}
        # for layers that hold networks, see control_flow
        self.root: Any = None
        self.shared: control_flow.Flow | None = None
        self.depth = 0
        self.in_body = False
        self.left: Value | None = None
        self.broke: Value | None = None
        self.guessed = False

    def network(self, network: Any, g: Context | None = None) -> None:
        """Lowers every layer of ``network`` into ``g``; new blobs are added to ``self.blobs``."""
        if self.root is None:
            self.root = network
        self.sequence(network.layers, g or self.g)

    def sequence(self, layers: Sequence[Any], g: Context) -> None:
        """Lowers ``layers`` one after the other; those behind one that may leave a loop, under a condition."""
        for index, layer in enumerate(layers):
            with self.entered(g), g.scope(layer.name or f"layer{index}", place(layer, index)):
                self.layer(g, layer)
                if self.left is not None:
                    control_flow.rest(self, g, layers[index + 1 :])
                    return

    def nested(self, g: Context, layers: int) -> Lowerer:
        """A run for a network of that many layers inside this one, into its graph ``g``, with blobs of its own."""
        inner = Lowerer(g, {name: blob.copy() for name, blob in self.blobs.items()}, self.outputs)
        inner.root, inner.shared, inner.in_body, inner.depth = self.root, self.flow(), self.in_body, self.depth + 1
        inner.finish = self.finish
        control_flow.spend(self.flow(), layers, inner.depth)
        return inner

    def flow(self) -> control_flow.Flow:
        """What all nested networks share."""
        if self.shared is None:
            self.shared = control_flow.Flow.of(self.root, self.outputs)
        return self.shared

    @contextmanager
    def entered(self, g: Context) -> Iterator[None]:
        before, self.g = self.g, g
        g.network = self
        try:
            yield
        finally:
            self.g = before

    def layer(self, g: Context, layer: Any) -> None:
        """Lowers one layer and binds its outputs."""
        kind = layer.WhichOneof("layer")
        if kind is None:
            raise CheckError("the layer has no kind, or one that is newer than version 5 of the format")
        entry = LAYERS.get(kind)
        if entry is None:
            raise UnsupportedError(NO_LOWERING.get(kind, "this kind of layer is not supported"))
        before, g.layer = g.layer, layer
        first = len(g.graph.nodes)
        try:
            inputs = [self.blob(name) for name in layer.input]
            outputs = self.call(g, entry.function, entry.options, getattr(layer, kind), inputs)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            if isinstance(error, PippinError):
                raise
            raise CheckError(f"the parameters contradict each other: {error}") from error
        finally:
            g.layer = before
        if len(outputs) != len(layer.output):
            raise CheckError(f"the layer must have {len(outputs)} outputs, got {len(layer.output)}")
        if self.finish is not None:
            outputs = [self.finish(g, name, blob) for name, blob in zip(layer.output, outputs, strict=True)]
        made = {id(node) for node in g.graph.nodes[first:]}
        for name, blob in zip(layer.output, outputs, strict=True):
            # what a layer passes through keeps its name
            self.bind(g, name, blob, made=all(id(value.node) in made for value in blob.values()))

    def bind(self, g: Context, name: str, blob: Blob, *, made: bool = True) -> None:
        """Makes ``blob`` the one of that name; a value that was ``made`` for it, and is not nested, is named so."""
        self.claim(g, name)
        if made:
            blob.rename(g, f"{g.graph.name}/{name}" if self.depth else name)
            for value in blob.values():
                if value.name == name:
                    self.named[name] = value
        self.blobs[name] = blob

    def claim(self, g: Context, name: str, value: Value | None = None) -> None:
        """Frees ``name`` for ``value``, an output of the model or the blob that is so called from here on."""
        holder = self.named.pop(name, None)
        if holder is not None and holder.name == name and holder is not value:
            g.rename(holder, f"{name}/earlier")
            g.release(name)

    def blob(self, name: str) -> Blob:
        blob = self.blobs.get(name)
        if blob is None:
            raise CheckError(f"input {name!r} is made by no earlier layer and is no input of the network")
        return blob

    def call(
        self, g: Context, function: Any, options: Mapping[str, Any], params: Any, inputs: Sequence[Blob]
    ) -> list[Blob]:
        """Calls a lowering with its inputs in the layout it asks for; its results as blobs."""
        fewest, most = _arity(function)
        if not fewest <= len(inputs) <= most:
            wanted = (
                f"{fewest}" if fewest == most else f"{fewest} to {most:g}" if most < math.inf else f"{fewest} or more"
            )
            raise CheckError(f"the layer must have {wanted} input{'s' * (wanted != '1')}, got {len(inputs)}")
        for blob in inputs:
            if blob.rank < options["rank"]:
                raise CheckError(f"the input must have a rank of at least {options['rank']}, got {blob.rank}")
        layout = options["layout"]
        if callable(layout):
            layout = layout(params, inputs)
        lead: list[Any] | None = None
        if layout == "same":
            layout = "nd"
            if any(blob.folded for blob in inputs) and all(blob.foldable for blob in inputs):
                leads = [blob.flat(g)[1] for blob in inputs]
                widest = next((axes for axes in leads if not _ones(axes)), leads[0])
                if all(len(axes) == len(widest) and (_ones(axes) or _same(widest, axes)) for axes in leads):
                    layout, lead = "flat", widest
        values: list[Value] = []
        for index, blob in enumerate(inputs):
            if layout == "flat" or (layout == "chw" and index == 0):
                value, folded = blob.flat(g)
                lead = folded if lead is None else lead
            else:
                value = blob.nd(g)
            values.append(value if options["integers"] else g.float(value))
        result = function(g, params, *values)
        outputs = () if result is None else result if isinstance(result, tuple) else (result,)
        return [
            value if isinstance(value, Blob) else Blob(nd=value) if lead is None else Blob.unfold(value, lead)
            for value in outputs
        ]


@cache
def _arity(function: Any) -> tuple[int, float]:
    """The fewest and the most inputs that a lowering takes, by its signature behind the context and the parameters."""
    operands = list(inspect.signature(function).parameters.values())[2:]
    plain = [operand for operand in operands if operand.kind is operand.POSITIONAL_OR_KEYWORD]
    fewest = sum(operand.default is operand.empty for operand in plain)
    return fewest, math.inf if any(operand.kind is operand.VAR_POSITIONAL for operand in operands) else len(plain)


def _ones(sizes: Sequence[Any]) -> bool:
    return all(isinstance(size, int) and size == 1 for size in sizes)


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(x is y or (isinstance(x, int) and x == y) for x, y in zip(a, b, strict=True))


def lower(
    network: Any,
    weights: Weights,
    inputs: Mapping[str, Sequence[int | str]],
    *,
    rank5: bool,
    custom: Mapping[str, Any] | None = None,
    prepare: Any = None,
    feeds: list[Draw] | None = None,
    outputs: Iterable[str] | None = None,
    finish: Finish | None = None,
    trained: Callable[[Context, Any, Sequence[int], str], Value] | None = None,
) -> tuple[Context, Lowerer]:
    """Lowers ``network``.

    ``inputs`` maps input names to shapes of blobs: of true rank, or [N,C,H,W] in legacy networks with one sequence
    step.
    ``prepare(g, name, value)`` may emit preprocessing; it returns the value that the network gets.
    ``feeds`` is filled with the extra inputs that want fresh random numbers on each run; without it there are none.
    ``outputs`` are the blobs that are wanted, so that others need not leave branches and loops; None: any.
    ``finish`` may put something behind each blob, those of the inputs too.
    ``trained`` gives the values of weights in layers that are marked as updatable; without it all are constants.
    """
    g = Context("network")
    g.adopt(weights, custom or {}, rank5)
    g.feeds, g.trained = feeds, trained
    blobs: dict[str, Blob] = {}
    for name, shape in inputs.items():
        # ONNX's shape inference ends the process on a negative size
        if any(isinstance(size, int) and size < 0 for size in shape):
            raise CheckError(f"the shape must not hold negative sizes, got {list(shape)}", where=f"input {name!r}")
        value = g.input(name, "float32", shape)
        if prepare:
            value = prepare(g, name, value)
        if rank5 and value.rank == 4:
            blobs[name] = Blob(flat=value, lead=[1, g.size(value, 0)])
        else:
            blobs[name] = Blob(nd=value)
        if finish is not None:
            blobs[name] = finish(g, name, blobs[name])
    lowerer = Lowerer(g, blobs, outputs)
    lowerer.finish = finish
    lowerer.network(network)
    return g, lowerer
