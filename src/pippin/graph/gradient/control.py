"""Derivatives of operators with bodies: Scan runs backwards through a body of its own, If takes the same branch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..builder import Builder
from ..ir import Graph, Node, Value
from .common import zeros
from .engine import Walk, control, reads, vjp


def copied(g: Builder, nodes: Iterable[Node], given: dict[int, Value]) -> dict[int, Value]:
    """Emits ``nodes`` into ``g`` once more; ``given`` says what stands for which value, and is filled on the way."""
    for node in nodes:
        attributes = {
            name: _copied_graph(g, value, given) if isinstance(value, Graph) else value
            for name, value in node.attributes.items()
        }
        inputs = [None if value is None else given.get(id(value), value) for value in node.inputs]
        with g.scope(g.prefix, node.where or g.where):
            made = g.append(node.op, inputs, attributes, [(v.dtype, v.shape) for v in node.outputs], node.domain)
        for old, new in zip(node.outputs, made if isinstance(made, tuple) else (made,), strict=True):
            given[id(old)] = new
    return given


def _copied_graph(g: Builder, graph: Graph, given: dict[int, Value]) -> Graph:
    inner = g.subgraph(graph.name)
    values = dict(given)
    for value in graph.inputs:
        values[id(value)] = inner.input(value.name, value.dtype, value.shape)
    copied(inner, graph.nodes, values)
    for value in graph.outputs:
        inner.output(values.get(id(value), value))
    return inner.graph


def captured(graph: Graph) -> list[Value]:
    """The values that a body takes from outside, constants left out, each once."""
    own = {id(value) for value in graph.inputs}
    own |= {id(value) for node in graph.walk() for value in node.outputs}
    own |= {id(value) for node in graph.walk() for inner in node.subgraphs() for value in inner.inputs}
    found = {}
    for node in graph.nodes:
        for value in reads(node):
            if id(value) not in own and value.data is None:
                found[id(value)] = value
    for value in graph.outputs:
        if id(value) not in own and value.data is None:
            found[id(value)] = value
    return list(found.values())


def _floats(walk: Walk, values: Iterable[Value]) -> list[Value]:
    return [value for value in values if walk.active(value) and value.dtype.kind == "f"]


@control("If")
def if_(walk: Walk, node: Node, dys: Sequence[Value | None]) -> None:
    """The same condition; each branch runs again and hands back the gradients of what it captures."""
    g = walk.g
    branches: dict[str, Graph] = {name: node.attributes[name] for name in ("then_branch", "else_branch")}
    wanted = list({id(v): v for graph in branches.values() for v in _floats(walk, captured(graph))}.values())
    if not wanted:
        return
    made = {}
    for name, graph in branches.items():
        inner = g.subgraph(f"{name}_gradient")
        values = copied(inner, graph.nodes, {})
        outputs = [values.get(id(value), value) for value in graph.outputs]
        parts = vjp(inner, outputs, dys, wanted)
        for value, part in zip(wanted, parts, strict=True):
            inner.output(zeros(inner, value) if part is None else part)
        made[name] = inner.graph
    results = g.append("If", [node.inputs[0]], made, [(value.dtype, value.shape) for value in wanted])
    for value, part in zip(wanted, results if isinstance(results, tuple) else (results,), strict=True):
        walk.add(value, part)


@control("Scan")
def scan(walk: Walk, node: Node, dys: Sequence[Value | None]) -> None:
    """A Scan over the same steps from the last to the first.

    The states that enter each step are kept by the forward Scan; the backward body runs a step again, walks back
    through it and carries the gradients of the states, and sums of those of captured values, on.
    """
    _Scan(walk, node, dys).emit()


class _Scan:
    def __init__(self, walk: Walk, node: Node, dys: Sequence[Value | None]) -> None:
        self.walk, self.g, self.node = walk, walk.g, node
        body: Graph = node.attributes["body"]
        self.body = body
        scans = int(node.attributes["num_scan_inputs"])
        self.count = len(node.inputs) - scans
        for name in ("scan_input_axes", "scan_output_axes"):
            if any(node.attributes.get(name) or ()):
                raise UnsupportedError("a Scan along another axis than the first has no gradient here")
        self.turned_in = list(node.attributes.get("scan_input_directions") or [0] * scans)
        outs = len(node.outputs) - self.count
        self.turned_out = list(node.attributes.get("scan_output_directions") or [0] * outs)
        self.states = [value for value in node.inputs[: self.count] if value is not None]
        self.inputs = [value for value in node.inputs[self.count :] if value is not None]
        self.final, self.stacked = list(dys[: self.count]), list(dys[self.count :])
        self.captured = _floats(walk, captured(body))

    def kept(self) -> list[Value]:
        """Adds the states that enter each step to the outputs of the forward Scan: (T,…) each."""
        node, steps = self.node, self.inputs[0].shape[0]
        inner = Builder("kept", opset=self.g.opset, parent=self.g)
        inner.graph = self.body
        kept = []
        for index, value in enumerate(self.body.inputs[: self.count]):
            inner.output(inner.append("Identity", [value], {}, [(value.dtype, value.shape)]))
            name = self.g.unique(f"{node.name}:state{index}")
            kept.append(Value(name, value.dtype, (steps, *value.shape), None, node))
        node.outputs.extend(kept)
        node.attributes["scan_output_directions"] = self.turned_out + [0] * self.count
        return kept

    def emit(self) -> None:
        g, count = self.g, self.count
        outputs = list(self.body.outputs)
        nodes = list(self.body.nodes)
        kept = self.kept()
        inner = g.subgraph("step_back")
        # carried: gradients of the states, then sums for what is captured
        dstates = [inner.input(f"d_{v.name}", v.dtype, v.shape) for v in self.body.inputs[:count]]
        sums = [inner.input(f"d_{v.name}", v.dtype, v.shape) for v in self.captured]
        values: dict[int, Value] = {}
        for value in self.body.inputs:
            values[id(value)] = inner.input(value.name, value.dtype, value.shape)
        stacked = [(index, dy) for index, dy in enumerate(self.stacked) if dy is not None]
        dys = [inner.input("dy", dy.dtype, dy.shape[1:]) for _, dy in stacked]
        copied(inner, nodes, values)
        seeds = [(outputs[index], dstate) for index, dstate in enumerate(dstates)]
        seeds += [(outputs[count + index], dy) for (index, _), dy in zip(stacked, dys, strict=True)]
        scanned = [
            index for index, value in enumerate(self.inputs) if self.walk.active(value) and value.dtype.kind == "f"
        ]
        own = [values[id(value)] for value in self.body.inputs]
        wanted = own[:count] + [own[count + index] for index in scanned] + self.captured
        parts = vjp(inner, [values.get(id(v), v) for v, _ in seeds], [dy for _, dy in seeds], wanted)
        full = [zeros(inner, value) if part is None else part for value, part in zip(wanted, parts, strict=True)]
        for value in full[:count]:
            inner.output(value)
        for total, part in zip(sums, parts[count + len(scanned) :], strict=True):
            inner.output(total if part is None else inner.Add(total, part))
        for value in full[count : count + len(scanned)]:
            inner.output(value)
        self.run(inner.graph, kept, stacked, scanned)

    def run(self, body: Graph, kept: list[Value], stacked: list[tuple[int, Value]], scanned: list[int]) -> None:
        """Appends the backward Scan and hands its results on."""
        g, count = self.g, self.count
        starts = [
            zeros(g, output) if dy is None else dy
            for output, dy in zip(self.node.outputs[:count], self.final, strict=True)
        ]
        starts += [zeros(g, value) for value in self.captured]
        scans = kept + self.inputs + [dy for _, dy in stacked]
        # what ran forwards is read from its end
        turned = [1] * count + [1 - turn for turn in self.turned_in] + [1 - self.turned_out[i] for i, _ in stacked]
        attributes: dict[str, Any] = {
            "body": body,
            "num_scan_inputs": len(scans),
            "scan_input_directions": turned,
        }
        if scanned:
            attributes["scan_output_directions"] = [1 - self.turned_in[index] for index in scanned]
        types: list[tuple[np.dtype[Any], Sequence[Any]]] = [(value.dtype, value.shape) for value in starts]
        types += [(self.inputs[index].dtype, self.inputs[index].shape) for index in scanned]
        results = g.append("Scan", starts + scans, attributes, types)
        results = results if isinstance(results, tuple) else (results,)
        targets = self.states + self.captured + [self.inputs[index] for index in scanned]
        for value, part in zip(targets, results, strict=True):
            if self.walk.active(value):
                self.walk.add(value, part)
