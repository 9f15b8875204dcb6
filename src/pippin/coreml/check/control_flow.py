"""The rules of branches and loops, and what their networks hand on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .layers import Layer
from .report import show

if TYPE_CHECKING:
    from .graph import Graph


def check(graph: Graph, layer: Layer) -> None:
    """Checks the networks inside ``layer``, if it is of a kind that has any."""
    if layer.kind == "branch":
        _branch(graph, layer)
    elif layer.kind == "loop":
        _loop(graph, layer)
    elif layer.kind in ("loopBreak", "loopContinue") and not graph.loops:
        layer.add("loop-outside", "layer", f"stand inside the bodyNetwork of a loop for {layer.kind}")


def _scalar(layer: Layer) -> None:
    if len(layer.message.inputTensor) and any(dim > 1 for dim in layer.message.inputTensor[0].dimValue):
        dims = layer.message.inputTensor[0].dimValue
        layer.add("condition-size", "inputTensor[0].dimValue", "describe one value", show(dims))


def _branch(graph: Graph, layer: Layer) -> None:
    """Names that both branches know are known outside afterwards."""
    _scalar(layer)
    if not layer.p.ifBranch.layers:
        layer.add("branch-empty", "ifBranch.layers", "hold at least 1 layer", "none")
    first = graph.nested(layer.place.inside("ifBranch"), loops=graph.loops)
    first.check(layer.p.ifBranch)
    if not layer.p.elseBranch.layers:
        return
    second = graph.nested(layer.place.inside("elseBranch"), loops=graph.loops)
    second.check(layer.p.elseBranch)
    for name, writers in first.scope.own.items():
        if second.scope.knows(name):
            graph.scope.write(name, writers | second.scope.own.get(name, set()))
    for name, writers in second.scope.own.items():
        if name not in first.scope.own and first.scope.knows(name):
            graph.scope.write(name, writers)


def _loop(graph: Graph, layer: Layer) -> None:
    """With a condition network its blobs are known outside; without one those of the body are."""
    p = layer.p
    _scalar(layer)
    if not p.bodyNetwork.layers:
        layer.add("loop-body-empty", "bodyNetwork.layers", "hold at least 1 layer", "none")
    conditional = bool(p.conditionNetwork.layers)
    if conditional != bool(p.conditionVar):
        found = "only conditionNetwork" if conditional else "only conditionVar"
        layer.add("loop-condition", "conditionVar and conditionNetwork", "both be set or neither", found)
    if not conditional and not p.maxLoopIterations and not layer.inputs:
        layer.add("loop-endless", "maxLoopIterations", "be set when neither conditionNetwork nor an input is", "0")
    if conditional:
        _condition(graph, layer)
    body = graph.nested(layer.place.inside("bodyNetwork"), loops=graph.loops + 1)
    body.check(p.bodyNetwork)
    for name, writers in body.scope.own.items():
        if not conditional or graph.scope.knows(name):
            graph.scope.write(name, writers)


def _condition(graph: Graph, layer: Layer) -> None:
    name = layer.p.conditionVar
    before = graph.scope.producers(name)
    network = graph.nested(layer.place.inside("conditionNetwork"), loops=graph.loops)
    network.check(layer.p.conditionNetwork)
    written = network.scope.own.get(name)
    if name and (written is None or (graph.scope.knows(name) and written <= before)):
        required = "name a blob that a layer of conditionNetwork writes"
        layer.add("loop-condition", "conditionVar", required, show(name))
    for blob, writers in network.scope.own.items():
        graph.scope.write(blob, writers)
