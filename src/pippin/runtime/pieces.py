"""A graph in which some nodes are Python functions, run in turns with engine sessions for what lies between them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import PippinError, RunError, TimeoutError
from ..graph.ir import Graph, Node, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .session import Session

FUNCTION = "pippin_function"
"""The attribute of a node that holds the Python function it stands for: a list of arrays to a list of arrays."""


@dataclass(frozen=True)
class Piece:
    """One turn: a session (None where nothing is to be run), then functions; ``done`` are values no longer needed."""

    session: Session | None
    calls: list[Node]
    done: list[str]


class Pieces:
    """Runs a graph like a ``Session``, by the same methods.

    Nodes are sorted by the number of functions that they wait for; those with the same number form one session, and the
    functions that then have all their inputs are called after it.
    """

    def __init__(self, graph: Graph, compile: Callable[[Graph], Session]) -> None:
        self.inputs = [value.name for value in graph.inputs]
        self.outputs = [value.name for value in graph.outputs]
        self.pieces = _pieces(graph, compile)

    def run(self, feeds: dict[str, NDArray[Any]], *, timeout: float | None = None, options: Any = None) -> list[Any]:
        """Runs once; ``timeout`` in seconds, in which a function is not interrupted but nothing is begun after it."""
        end = None if timeout is None else time.monotonic() + timeout
        values = dict(feeds)
        for piece in self.pieces:
            if piece.session is not None:
                given = {name: values[name] for name in piece.session.inputs}
                answers = piece.session.run(given, timeout=_left(end, timeout), options=options)
                values.update(zip(piece.session.outputs, answers, strict=True))
            for node in piece.calls:
                _left(end, timeout)
                values.update(_call(node, values))
            for name in piece.done:
                del values[name]
        _left(end, timeout)
        return [values[name] for name in self.outputs]


def _left(end: float | None, timeout: float | None) -> float | None:
    if end is None:
        return None
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError(f"the network did not answer within {timeout:g} s")
    return left


def _call(node: Node, values: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    arrays = []
    for value in node.inputs:
        assert value is not None
        # others may read the same array: what a function is given cannot be written to
        array = (value.data if value.data is not None else values[value.name]).view()
        array.flags.writeable = False
        arrays.append(array)
    try:
        results = node.attributes[FUNCTION](arrays)
    except PippinError as error:
        raise (error if error.where else error.at(node.where)) from error.__cause__
    for value, array in zip(node.outputs, results, strict=True):
        fits = len(array.shape) == value.rank and all(
            isinstance(dim, str) or dim == size for dim, size in zip(value.shape, array.shape, strict=True)
        )
        if not fits:
            shape = list(value.shape)
            raise RunError(
                f"the function must answer with the shape {shape}, got {list(array.shape)}", where=node.where
            )
    return {value.name: array for value, array in zip(node.outputs, results, strict=True)}


def has_functions(graph: Graph) -> bool:
    """Whether any node is a Python function."""
    return any(FUNCTION in node.attributes for node in graph.nodes)


def _pieces(graph: Graph, compile: Callable[[Graph], Session]) -> list[Piece]:
    level = {id(value): 0 for value in graph.inputs}
    nodes: list[list[Node]] = [[]]
    calls: list[list[Node]] = [[]]
    home: dict[int, int] = {}
    for node in graph.nodes:
        at = max((level[id(value)] for value in node.reads() if id(value) in level), default=0)
        while len(nodes) <= at:
            nodes.append([])
            calls.append([])
        function = FUNCTION in node.attributes
        (calls if function else nodes)[at].append(node)
        for value in node.outputs:
            level[id(value)] = at + function
            if not function:
                home[id(value)] = at
    # what each turn reads that no node of its session makes
    reads: list[dict[int, Value]] = []
    for at, (inside, functions) in enumerate(zip(nodes, calls, strict=True)):
        foreign = {id(v): v for node in inside for v in node.reads() if id(v) in level and home.get(id(v)) != at}
        foreign |= {id(v): v for node in functions for v in node.reads() if id(v) in level}
        reads.append(foreign)
    kept = {id(value) for value in graph.outputs}.union(*reads)
    last = {value.name: at for at, values in enumerate(reads) for value in values.values()}
    outputs = {value.name for value in graph.outputs}
    pieces = []
    for at, (inside, functions) in enumerate(zip(nodes, calls, strict=True)):
        answers = [value for node in inside for value in node.outputs if id(value) in kept]
        session = None
        if answers:
            needed = {id(v): v for node in inside for v in node.reads() if id(v) in level and home.get(id(v)) != at}
            session = compile(Graph(f"{graph.name}_{at}", graph.opset, list(needed.values()), answers, inside))
        done = [name for name, turn in last.items() if turn == at and name not in outputs]
        pieces.append(Piece(session, functions, done))
    return pieces
