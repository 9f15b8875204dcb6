"""A hub graph as an NNRt model: ONNX operators become node types, images N,H,W,C, activations the end of other nodes.

::

    exported = export(graph)
    for gap in exported.missing:
        print(gap)                      # what has no node type, with its layer
    save_model(exported.model, "out.nnrt")

Constants and indices of 64 bits become 32 bits, as kernels want them.  What each operator becomes stands with its rule
in :mod:`pippin.nnrt.export.rules`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ...errors import InputError, PippinError, UnsupportedError
from ...graph.registry import Function
from .converter import Converter
from .registry import RULES

if TYPE_CHECKING:
    from ...graph.ir import Graph, Node
    from ..types import Model

Layout = Literal["nchw", "nhwc"]


@dataclass(frozen=True)
class Missing:
    """An operator that cannot be an NNRt node: the layer it is from, its ONNX name, and why."""

    where: str
    op: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.op}: {self.reason}"


@dataclass
class Part:
    """Operators that belong together: those a device can take, or those that must run elsewhere.

    ``layers`` are the layers they are from, in order; ``inputs`` and ``outputs`` the values that come in and go out.
    """

    device: bool
    layers: list[str] = field(default_factory=list)
    operators: int = 0
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


@dataclass
class Exported:
    """What became of a graph: the model (None where something is missing), what is missing, and the parts."""

    model: Model | None
    missing: list[Missing] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    inputs: dict[str, bool] = field(default_factory=dict)
    outputs: dict[str, bool] = field(default_factory=dict)
    """By name, whether images were turned to N,H,W,C on the way in and out."""

    def require(self) -> Model:
        """The model; UnsupportedError that names every layer without a node type."""
        if self.model is None:
            listed = "; ".join(str(gap) for gap in self.missing)
            raise UnsupportedError(f"{len(self.missing)} operators have no NNRt node type: {listed}")
        return self.model


def export(graph: Graph, *, layout: Layout = "nchw", name: str = "") -> Exported:
    """Converts ``graph`` (operator set 20); it is not changed.

    ``layout`` is that of inputs and outputs with four dims: as the graph has them, or N,H,W,C.  Nothing is raised for
    operators without a node type: they are listed.
    """
    if layout not in ("nchw", "nhwc"):
        raise InputError(f"layout must be nchw or nhwc, got {layout!r}")
    converter = Converter(graph, turn=layout == "nhwc", name=name or graph.name)
    missing: dict[int, Missing] = {}
    for node in graph.nodes:
        if id(node) in converter.fused:
            continue
        try:
            _rule(node)(converter, node)
        except PippinError as error:
            missing[id(node)] = Missing(node.where or node.name, node.op, error.message)
            converter.replace(node)
    gaps = [*_inputs(graph), *missing.values()]
    exported = Exported(None, gaps, parts(graph, missing))
    if not gaps:
        exported.model = converter.finish()
        exported.inputs, exported.outputs = converter.turned_inputs, converter.turned_outputs
    return exported


def _inputs(graph: Graph) -> list[Missing]:
    """What no model can have: no input at all, or one without elements."""
    if not graph.inputs:
        return [Missing("model", "inputs", "a model has at least one")]
    return [
        Missing(f"input {value.name!r}", "input", f"a dim must be positive, got {list(value.shape)}")
        for value in graph.inputs
        if 0 in value.shape
    ]


def _rule(node: Node) -> Function:
    entry = None if node.domain else RULES.get(node.op)
    if entry is None:
        raise UnsupportedError("there is no node type that does this")
    return entry.function


def parts(graph: Graph, missing: Iterable[int]) -> list[Part]:
    """The graph cut into as few parts as its order allows; no part needs a later one.

    A node belongs to the first part of its kind that lies behind all that it reads from.
    """
    bad = set(missing)
    given = {id(value) for value in graph.inputs}
    level: dict[int, int] = {}
    found: dict[int, Part] = {}
    made: dict[int, int] = {}
    for node in graph.nodes:
        good = id(node) not in bad
        # even numbers are parts for a device, odd ones the others
        at = 0 if good else 1
        for value in node.reads():
            before = level.get(id(value))
            if before is not None:
                at = max(at, before if before % 2 == at % 2 else before + 1)
        part = found.setdefault(at, Part(good))
        part.operators += 1
        where = node.where or node.name
        if where not in part.layers:
            part.layers.append(where)
        for value in node.reads():
            comes_in = id(value) in given or made.get(id(value), at) != at
            if comes_in and value.name not in part.inputs:
                part.inputs.append(value.name)
        for value in node.outputs:
            level[id(value)] = made[id(value)] = at
    _set_outputs(graph, found, made)
    return [found[at] for at in sorted(found)]


def _set_outputs(graph: Graph, found: dict[int, Part], made: dict[int, int]) -> None:
    crossing = {id(value) for value in graph.outputs}
    for node in graph.nodes:
        at = made[id(node.outputs[0])]
        crossing |= {id(value) for value in node.reads() if made.get(id(value), at) != at}
    for node in graph.nodes:
        for value in node.outputs:
            if id(value) in crossing:
                found[made[id(value)]].outputs.append(value.name)
