"""What each layer is: operations, parameters, bytes that it reads and writes; nested networks too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..graph import flops
from ..graph.ir import Graph, Node, Value
from ..onnx_model import OnnxModel

if TYPE_CHECKING:
    from ..loading import AnyModel

OUTSIDE = "preprocessing and interface"
"""What to call operators that belong to no layer: preprocessing, the shape of outputs."""


@dataclass
class Layer:
    """One layer, or one node of an ONNX graph, of the main network or a nested one.

    ``place`` is how messages name it, with the layers around it; ``depth`` how many those are. ``flops`` are
    operations, ``parameters`` numbers in its weights, ``bytes`` what it reads and writes at least: inputs, outputs and
    weights. Of loops, the work is that of all rounds that are known beforehand.
    """

    place: str
    kind: str
    depth: int = 0
    flops: int = 0
    parameters: int = 0
    bytes: int = 0
    nodes: list[str] = field(default_factory=list)
    before: set[str] = field(default_factory=set)
    """Places of the layers whose values it reads."""


def layers(model: AnyModel, graph: Graph) -> dict[str, Layer]:
    """The layers that ``graph``, the network without rewrites, is made of, by place in order."""
    found: dict[str, Layer] = {}
    makers: dict[int, str] = {}
    for node, place, depth, times in walk(graph):
        layer = found.get(place)
        if layer is None:
            layer = found[place] = Layer(place, place.rpartition("(")[2].rstrip(")"), depth)
        layer.flops += flops.flops(node) * times
        layer.nodes.append(node.name)
        for value in node.inputs:
            if value is not None and (maker := makers.get(id(value))) is not None and maker != place:
                layer.before.add(maker)
        for value in node.outputs:
            makers[id(value)] = place
    for place, size in _traffic(graph).items():
        found[place].bytes += size
    if not isinstance(model, OnnxModel):
        _parameters(model, found)
    else:
        for node, place, _, _ in walk(graph):
            found[place].parameters += sum(
                flops.elements(value)
                for value in node.inputs
                if value is not None and value.data is not None and value.dtype.kind == "f"
            )
    return found


def walk(graph: Graph, around: str = "", depth: int = 0, times: int = 1) -> Iterator[tuple[Node, str, int, int]]:
    """Every node with its place, its depth, and how often it runs as far as that is known."""
    for node in graph.nodes:
        own = node.where or (around and f"{around}: {node.op}") or OUTSIDE
        inner = bool(around) and own != around and not own.startswith(f"{around}: ")
        place = f"{around}: {own}" if inner else own
        yield node, place, depth, times
        more = times * flops.rounds(node)
        for body in node.subgraphs():
            yield from walk(body, place, depth + 1, more)


def _traffic(graph: Graph) -> dict[str, int]:
    """Bytes that cross the border of each layer: read, written, and constants."""
    makers: dict[int, str] = {}
    entries = list(walk(graph))
    for node, place, _, _ in entries:
        for value in node.outputs:
            makers[id(value)] = place
    total: dict[str, int] = {}
    seen: set[tuple[str, int]] = set()
    written: set[int] = set()

    def add(place: str, value: Value) -> None:
        if (place, id(value)) not in seen:
            seen.add((place, id(value)))
            total[place] = total.get(place, 0) + flops.elements(value) * value.dtype.itemsize

    for node, place, _, _ in entries:
        total.setdefault(place, 0)
        for value in [value for value in node.inputs if value is not None]:
            if makers.get(id(value)) == place:
                continue
            add(place, value)
            maker = makers.get(id(value))
            if maker is not None and id(value) not in written:
                written.add(id(value))
                total[maker] = total.get(maker, 0) + flops.elements(value) * value.dtype.itemsize
    for value in graph.outputs:
        maker = makers.get(id(value))
        if maker is not None and id(value) not in written:
            written.add(id(value))
            total[maker] += flops.elements(value) * value.dtype.itemsize
    return total


def _parameters(model: Any, found: dict[str, Layer]) -> None:
    """Numbers in the weights of the file, by layer; those of nested layers by the innermost place."""
    import math

    from ..coreml import tensors

    inner: dict[str, list[Layer]] = {}
    for layer in found.values():
        inner.setdefault(layer.place.rpartition(": layer ")[2], []).append(layer)
    for _, slot in tensors.named(model):
        owner = found.get(slot.place)
        if owner is None:
            same = inner.get(slot.place.removeprefix("layer "), [])
            owner = same[0] if same else None
        if owner is None:
            owner = found[slot.place] = Layer(slot.place, slot.kind)
        owner.parameters += math.prod(slot.shape)
