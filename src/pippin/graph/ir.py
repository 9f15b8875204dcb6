"""The hub's graph: values, nodes and graphs as plain objects, written out as ONNX at the very end.

Objects instead of protobuf messages, so that a value can be renamed after the fact, passes rewrite in place and the
gradient walks backwards without look-ups by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Dim = int | str
"""A static size, or the name of a size that is known at run time only. Equal names are equal sizes."""


@dataclass(slots=True, eq=False)
class Value:
    """A tensor in the graph.

    ``dtype`` is a NumPy dtype, ``shape`` a tuple of ``Dim``; the rank is always known. ``data`` holds the array of a
    constant; ``node`` the node that produces it (None for inputs and constants).
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[Dim, ...]
    data: NDArray[Any] | None = None
    node: Node | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def static(self) -> bool:
        """Whether every dim is known."""
        return not any(isinstance(dim, str) for dim in self.shape)

    def __repr__(self) -> str:
        kind = "constant" if self.data is not None else "value"
        return f"<{kind} {self.name!r} {self.dtype}{list(self.shape)}>"


@dataclass(slots=True, eq=False)
class Node:
    """One operator. ``attributes`` hold Python values, arrays or ``Graph``; ``where`` names the layer it is from."""

    op: str
    inputs: list[Value | None]
    outputs: list[Value]
    attributes: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    where: str = ""
    domain: str = ""

    def __repr__(self) -> str:
        return f"<{self.op} {[v and v.name for v in self.inputs]} -> {[v.name for v in self.outputs]}>"

    def subgraphs(self) -> Iterator[Graph]:
        for value in self.attributes.values():
            if isinstance(value, Graph):
                yield value

    def reads(self) -> Iterator[Value]:
        """The values that the node uses, in its bodies too."""
        yield from (value for value in self.inputs if value is not None)
        for graph in self.subgraphs():
            for node in graph.nodes:
                yield from node.reads()
            yield from graph.outputs


@dataclass(slots=True, eq=False)
class Graph:
    """Nodes in an order in which they can run. Constants are not listed: they hang on the nodes that use them."""

    name: str = "graph"
    opset: int = 0
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """Every node, those of subgraphs after the node that holds them."""
        for node in self.nodes:
            yield node
            for graph in node.subgraphs():
                yield from graph.walk()

    def constants(self) -> list[Value]:
        """Every constant in use, subgraphs included, each once."""
        seen: dict[int, Value] = {}
        for node in self.walk():
            for value in node.inputs:
                if value is not None and value.data is not None:
                    seen[id(value)] = value
            for graph in node.subgraphs():
                for value in graph.outputs:
                    if value.data is not None:
                        seen[id(value)] = value
        for value in self.outputs:
            if value.data is not None:
                seen[id(value)] = value
        return list(seen.values())
