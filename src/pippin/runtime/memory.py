"""How much memory a graph takes while it runs, estimated from its shapes before it is compiled."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..graph.ir import Graph, Value


@dataclass(frozen=True)
class Estimate:
    """Bytes of the constants, and the most bytes of intermediate values that are alive at one time."""

    weights: int
    values: int

    @property
    def total(self) -> int:
        return self.weights + self.values


def estimate(graph: Graph, unknown: int = 1) -> Estimate:
    """Estimates ``graph``; a size that is known at run time only counts as ``unknown``. Bodies of loops count once."""
    weights = sum(value.data.nbytes for value in graph.constants() if value.data is not None)
    last: dict[int, int] = {}
    for position, node in enumerate(graph.nodes):
        for value in node.reads():
            last[id(value)] = position
    for value in graph.outputs:
        last[id(value)] = len(graph.nodes)
    alive = peak = sum(_bytes(value, unknown) for value in graph.inputs)
    ending: dict[int, int] = {}
    for position, node in enumerate(graph.nodes):
        made = sum(_bytes(value, unknown) for value in node.outputs)
        inside = sum(estimate(body, unknown).values for body in node.subgraphs())
        peak = max(peak, alive + made + inside)
        for value in node.outputs:
            until = last.get(id(value), position)
            ending[until] = ending.get(until, 0) + _bytes(value, unknown)
        alive += made - ending.pop(position, 0)
    return Estimate(weights, peak)


def _bytes(value: Value, unknown: int) -> int:
    return math.prod(dim if isinstance(dim, int) else unknown for dim in value.shape) * value.dtype.itemsize
