"""The walk backwards through a graph, and the decorators by which operators register their rules.

Three kinds of rules:

``@rule("Mul")``            ``f(g, node, *dys)`` answers one function per input, or None where nothing flows. ``dys``
                            are the gradients of the outputs, None for those that nothing depends on. A function is
                            called only where its input leads to what is asked for: nothing is emitted in vain.
``@decomposition("Gelu")``  ``f(g, node)`` emits the operator anew from operators that have rules; they do the work.
``@control("Scan")``        ``f(walk, node, dys)`` sees to everything itself, values that bodies capture among it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...errors import UnsupportedError
from ..builder import Builder
from ..ir import Graph, Node, Value
from ..registry import Registry

RULES: Registry[str] = Registry("pippin.graph.gradient")
"""The rule of every operator."""

STEPS = ("Floor", "Ceil", "Round", "Sign", "Cast")
"""Operators whose derivative is 0 wherever there is one (casts: those of whole numbers and truths). Inside a layer that
is right, as in x - ⌊x / y⌋·y; at its end nothing would ever flow through it, which is an error that names the layer."""

NO_DERIVATIVE: dict[str, str] = {
    **dict.fromkeys(STEPS, "its derivative is 0 wherever there is one"),
    **dict.fromkeys(
        ("ArgMax", "ArgMin", "NonMaxSuppression", "NonZero", "OneHot"),
        "its results are numbers of elements, which jump",
    ),
    **dict.fromkeys(("MatMulInteger", "ConvInteger", "QuantizeLinear"), "what it is given is rounded"),
    "Loop": "how often a loop runs is not known beforehand",
}
"""Operators through which no gradient can flow, each with the reason."""
_ROUNDING = ("MatMulInteger", "ConvInteger")
_OPAQUE = ("Shape", "Size")
"""What these answer does not depend on their input's values."""

Thunks = Sequence[Callable[[], Value] | None]


def rule(*ops: str) -> Callable[[Callable[..., Thunks]], Any]:
    """Registers the derivative of operators, one function per input."""
    return RULES.register(*ops, kind="rule")


def decomposition(*ops: str) -> Callable[[Callable[..., Any]], Any]:
    """Registers how operators are made of others that have rules."""
    return RULES.register(*ops, kind="decomposition")


def control(*ops: str) -> Callable[[Callable[..., None]], Any]:
    """Registers a rule that sees to captured values too."""
    return RULES.register(*ops, kind="control")


def vjp(
    g: Builder,
    outputs: Sequence[Value],
    dys: Sequence[Value | None],
    wrt: Sequence[Value],
    nodes: Sequence[Node] | None = None,
) -> list[Value | None]:
    """Gradients of Σ outputs · dys with respect to ``wrt``, emitted into ``g``; None where nothing depends on a value.

    ``nodes`` are those to walk through, in order (default: all that ``g`` holds so far). Raises ``UnsupportedError``
    with the place in the model where a value of ``wrt`` reaches an output through an operator without a derivative.
    """
    walk = Walk(g, wrt, list(g.graph.nodes if nodes is None else nodes))
    for value, dy in zip(outputs, dys, strict=True):
        if dy is not None:
            walk.add(value, dy)
    walk.run()
    return [walk.total(value) for value in wrt]


class Walk:
    """The state of one walk: which values depend on what is asked for, and the gradients found so far."""

    def __init__(self, g: Builder, wrt: Sequence[Value], nodes: list[Node]) -> None:
        self.g = g
        self.nodes = nodes
        self._parts: dict[int, list[Value]] = {}
        self._active = {id(value) for value in wrt}
        self._readers: dict[int, set[str]] = {}
        for node in nodes:
            for value in reads(node):
                self._readers.setdefault(id(value), set()).add(node.where)
            if node.op not in _OPAQUE and any(self.active(value) for value in reads(node)):
                self._active.update(id(value) for value in node.outputs)

    def active(self, value: Value | None) -> bool:
        """Whether ``value`` depends on what is asked for."""
        return value is not None and id(value) in self._active

    def add(self, value: Value, part: Value) -> None:
        """Adds ``part`` to the gradient of ``value``."""
        assert value.dtype == part.dtype, f"{value} {part}"
        assert not (value.static and part.static) or value.shape == part.shape, f"{value} {part}"
        self._parts.setdefault(id(value), []).append(part)

    def total(self, value: Value) -> Value | None:
        """The gradient of ``value`` so far: the sum of its parts."""
        parts = self._parts.get(id(value))
        if not parts:
            return None
        if len(parts) > 1:
            parts[:] = [self.g.Add(*parts) if len(parts) == 2 else self.g.Sum(*parts)]
        return parts[0]

    def run(self) -> None:
        """Walks backwards through all nodes."""
        for node in reversed(self.nodes):
            if not any(self._parts.get(id(value)) for value in node.outputs):
                continue
            if not any(self.active(value) for value in reads(node)):
                continue
            with self.g.scope(f"{node.name}/gradient", node.where):
                self.step(node, [self.total(value) for value in node.outputs])

    def step(self, node: Node, dys: list[Value | None]) -> None:
        """Hands the gradients of a node's outputs on to its inputs."""
        if node.op in STEPS and (node.op != "Cast" or node.inputs[0].dtype.kind != "f"):  # type: ignore[union-attr]
            self.steps(node)
            return
        entry = None if node.domain else RULES.get(node.op)
        if entry is None:
            reason = NO_DERIVATIVE.get(node.op, "no rule is known for it")
            raise UnsupportedError(f"no gradient flows through {node.op}: {reason}", hint=_HINT)
        kind = entry.options["kind"]
        if kind == "control":
            entry.function(self, node, dys)
            return
        if kind == "decomposition":
            self.decomposed(node, dys, entry.function)
            return
        passed = False
        for value, thunk in zip(node.inputs, entry.function(self.g, node, *dys), strict=False):
            if thunk is not None and value is not None and self.active(value) and value.dtype.kind == "f":
                self.add(value, thunk())
                passed = True
        if not passed:
            self.jump(node, "what decides about its result jumps")

    def steps(self, node: Node) -> None:
        """An operator that jumps, or a cast of what does."""
        source = node.inputs[0].node if node.op == "Cast" and node.inputs[0] is not None else None
        if source is None:
            self.jump(node, NO_DERIVATIVE[node.op])
        elif source.where != node.where or source.op in _ROUNDING:
            # another layer answered in whole numbers or truths, or the layer computes in whole numbers
            self.refuse(source, NO_DERIVATIVE.get(source.op, "its results are not continuous"))
        else:
            self.jump(node, NO_DERIVATIVE.get(source.op, NO_DERIVATIVE[node.op]), source)

    def jump(self, node: Node, reason: str, source: Node | None = None) -> None:
        """Refuses a node through which nothing flows, unless it is a part of a layer with other ways through."""
        readers = self._readers.get(id(node.outputs[0]))
        if not node.where or not readers or readers != {node.where}:
            self.refuse(source or node, reason)

    def refuse(self, node: Node, reason: str) -> None:
        error = UnsupportedError(f"no gradient flows through {node.op}: {reason}", hint=_HINT)
        raise error.at(node.where) if node.where else error

    def decomposed(self, node: Node, dys: Sequence[Value | None], function: Callable[..., Any]) -> None:
        """Emits a node anew from other operators and walks through those."""
        g = self.g
        wanted = list({id(v): v for v in reads(node) if self.active(v) and v.dtype.kind == "f"}.values())
        # behind identities, so that the builder does not look through reshapes before them
        barred = {id(v): g.append("Identity", [v], {}, [(v.dtype, v.shape)]) for v in wanted}
        twin = Node(node.op, [v and barred.get(id(v), v) for v in node.inputs], node.outputs, node.attributes)
        first = len(g.graph.nodes)
        made = function(g, twin)
        outputs = made if isinstance(made, tuple) else (made,)
        pairs = [(value, dy) for value, dy in zip(outputs, dys, strict=False) if dy is not None]
        inputs, new = [barred[id(v)] for v in wanted], g.graph.nodes[first:]
        inner = vjp(g, [value for value, _ in pairs], [dy for _, dy in pairs], inputs, new)
        for value, part in zip(wanted, inner, strict=True):
            if part is not None:
                self.add(value, part)


_HINT = "choose layers to train that come after it"


def reads(node: Node) -> Iterator[Value]:
    """What a node reads, its bodies included."""
    yield from (value for value in node.inputs if value is not None)
    for graph in node.subgraphs():
        for inner in graph.nodes:
            yield from reads(inner)
        yield from graph.outputs


def prune(graph: Graph) -> None:
    """Drops the nodes of ``graph`` whose results nobody reads."""
    needed = {id(value) for value in graph.outputs}
    kept = []
    for node in reversed(graph.nodes):
        if any(id(value) in needed for value in node.outputs):
            kept.append(node)
            needed.update(id(value) for value in reads(node))
    graph.nodes[:] = reversed(kept)
