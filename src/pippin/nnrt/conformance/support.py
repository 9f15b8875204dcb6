"""GetSupportedOperation: it never refuses, and what it says holds."""

from __future__ import annotations

import copy
from typing import Any

from ..types import Model, Tensor
from .changes import ACCEPTED, HOSTILE, REFUSED, Row
from .models import add_model
from .outcome import Failed
from .target import Target


def _of(model: Model, wanted: list[bool]) -> Any:
    def check(target: Target) -> None:
        flags = target.supported(model)
        if flags != wanted:
            raise Failed(f"GetSupportedOperation must answer {wanted}, got {flags}")

    return check


def _unknown(number: int) -> Any:
    model = add_model()
    model.nodes[0].nodeType = number
    return _of(model, [False])


def _no_nodes() -> Any:
    model = add_model()
    model.nodes = []
    return _of(model, [])


def _mutated(row: Row) -> Any:
    def check(target: Target) -> None:
        model = add_model()
        row.change(model)
        target.supported(model)

    return check


def _of_two(places: list[int]) -> Any:
    """An Add and a node of a type that there is not, in both orders: each has a flag of its own."""

    def check(target: Target) -> None:
        (alone,) = target.supported(add_model())
        model = add_model()
        strange = copy.deepcopy(model.nodes[0])
        strange.nodeType, strange.outputIndex = 100000, [3]
        model.allTensors.append(Tensor("more", model.allTensors[2].dataType, list(model.allTensors[2].dims)))
        model.nodes = [(model.nodes[0], strange)[place] for place in places]
        model.subGraph[0].nodeIndices = [0, 1]
        wanted, flags = [(alone, False)[place] for place in places], target.supported(model)
        if flags != wanted:
            raise Failed(f"GetSupportedOperation must answer {wanted} for an Add and a strange node, got {flags}")

    return check


def _holds(target: Target) -> None:
    """What is said to be supported can be prepared."""
    model = add_model()
    target.need_model(model)
    target.prepare(model, what="PrepareModel of a model whose nodes are all supported")


def cases() -> list[Any]:
    """The cases of this group."""
    found: list[Any] = [
        ("no nodes, no flags", _no_nodes()),
        ("node type -1 is not supported", _unknown(-1)),
        ("node type 100000 is not supported", _unknown(100000)),
        ("node type NONE is not supported", _unknown(0), "text"),
        ("a strange node behind a good one", _of_two([0, 1]), "text"),
        ("a strange node before a good one", _of_two([1, 0]), "text"),
        ("a supported model can be prepared", _holds),
    ]
    found += [(f"no refusal: {row.name}", _mutated(row)) for row in (*REFUSED, *HOSTILE, *ACCEPTED)]
    return found
