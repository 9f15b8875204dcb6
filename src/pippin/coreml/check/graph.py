"""The rules of a network: blobs known and written once, ranks consistent, every layer sound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..wire import View
from . import control_flow
from .layers import Layer, check_layer
from .report import Findings, Place, show


class Scope:
    """The blobs that a network knows, over those of the network around it.

    A nested network starts with all that is known outside; what it adds stays its own unless the layer around it
    hands it on. ``own`` maps a blob to the names of the layers here that write it; the inputs of the model have none.
    """

    __slots__ = ("_ranks", "outer", "own")

    def __init__(self, outer: Scope | None = None) -> None:
        self.outer = outer
        self.own: dict[str, set[str]] = {}
        self._ranks: dict[str, int] = {}

    def knows(self, name: str) -> bool:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.own:
                return True
            scope = scope.outer
        return False

    def producers(self, name: str) -> set[str]:
        """The names of the layers that write the blob ``name``, here or further out."""
        names: set[str] = set()
        scope: Scope | None = self
        while scope is not None:
            names |= scope.own.get(name, set())
            scope = scope.outer
        return names

    def write(self, blob: str, layers: set[str]) -> None:
        self.own.setdefault(blob, set()).update(layers)

    def rank(self, name: str) -> int | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope._ranks:
                return scope._ranks[name]
            scope = scope.outer
        return None

    def set_rank(self, name: str, rank: int) -> None:
        self._ranks[name] = rank


class Graph:
    """Checks the layers of one network; nested ones get a ``Graph`` each, see ``nested``."""

    def __init__(
        self,
        scope: Scope,
        place: Place,
        findings: Findings,
        views: Sequence[View],
        *,
        nd: bool,
        loops: int = 0,
    ) -> None:
        self.scope = scope
        self.place = place
        self.findings = findings
        self.views = views
        self.nd = nd
        self.loops = loops

    def nested(self, place: Place, *, loops: int) -> Graph:
        """The checker of a network inside a layer of this one."""
        return Graph(Scope(self.scope), place, self.findings, self.views, nd=self.nd, loops=loops)

    def check(self, network: Any) -> None:
        """All layers, in their order."""
        for index, message in enumerate(network.layers):
            kind = message.WhichOneof("layer")
            place = self.place.of_layer(index, message.name, kind)
            if self.nd:
                self._tensors(message, place)
            if kind is None:
                self.findings.add("layer-type-missing", place, "layer")
            else:
                layer = Layer(message, kind, place, self.scope, self.findings, self.views, self.nd)
                check_layer(layer)
                control_flow.check(self, layer)
            self._blobs(message, kind, place)

    def _blobs(self, message: Any, kind: str | None, place: Place) -> None:
        for position, name in enumerate(message.input):
            if not self.scope.knows(name):
                required = "name an input of the model or a blob of an earlier layer"
                self.findings.add("blob-unknown", place, f"input[{position}]", required, show(name))
        for position, name in enumerate(message.output):
            if kind != "copy" and self.scope.knows(name):
                writers = self.scope.producers(name)
                source = f"layer {show(min(writers))} writes" if writers else "the model has as an input"
                found = f"{show(name)}, which {source}"
                required = "name a blob that does not exist yet"
                self.findings.add("blob-rewritten", place, f"output[{position}]", required, found)
            self.scope.write(name, {message.name})

    def _tensors(self, message: Any, place: Place) -> None:
        """The ranks that the layer lists for its inputs and outputs."""
        for side, field in (("input", "inputTensor"), ("output", "outputTensor")):
            tensors = getattr(message, field)
            if not len(tensors):
                continue
            names = getattr(message, side)
            if len(tensors) != len(names):
                required = f"list one tensor for each of the {len(names)} {side}s"
                self.findings.add("tensor-count", place, field, required, str(len(tensors)))
            for position, (name, tensor) in enumerate(zip(names, tensors, strict=False)):
                self._tensor(name, tensor, f"{field}[{position}]", place)

    def _tensor(self, name: str, tensor: Any, field: str, place: Place) -> None:
        dims = len(tensor.dimValue)
        if dims and (tensor.rank != dims or tensor.rank < 1):
            required = f"have the rank of its dimValue ({dims})"
            self.findings.add("tensor-rank", place, f"{field}.rank", required, str(tensor.rank))
        known = self.scope.rank(name)
        if known is None:
            self.scope.set_rank(name, int(tensor.rank))
        elif known != tensor.rank:
            required = f"have rank {known} as {show(name)} has elsewhere"
            self.findings.add("rank-conflict", place, f"{field}.rank", required, str(tensor.rank))
