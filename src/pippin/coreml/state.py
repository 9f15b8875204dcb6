"""Recurrent state that a network takes as inputs and gives back as outputs.

Old networks have no state of their own: the caller hands the hidden state in and out. Which output belongs to which
input is read from the network: both lead to the same state of the same recurrent layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

RECURRENT = {"simpleRecurrent", "gru", "uniDirectionalLSTM", "biDirectionalLSTM"}
Place = tuple[str, int]
"""A recurrent layer by name, and which of its states: the number of its input and output."""


@dataclass
class State:
    """The state between calls of ``predict(data, state=state)``: arrays by input name; empty at first.

    ``pairs`` maps the name of each state input to the output that holds its next value.
    """

    pairs: dict[str, str]
    values: dict[str, Any] = field(default_factory=dict)

    def reset(self) -> None:
        """Back to the beginning: the network's own initial values."""
        self.values.clear()

    def update(self, answer: Mapping[str, Any]) -> None:
        """Takes the next state from an answer."""
        for source, target in self.pairs.items():
            self.values[source] = answer[target]


def pairs(network: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, str]:
    """State input → state output, for inputs and outputs of the model that hold the same recurrent states."""
    makers = {name: (layer, index) for layer in network.layers for index, name in enumerate(layer.output)}
    taken: dict[str, set[Place]] = {}
    for layer in network.layers:
        if layer.WhichOneof("layer") in RECURRENT:
            for index, name in enumerate(layer.input):
                if index:
                    source = _origin(name, makers, inputs)
                    if source:
                        taken.setdefault(source, set()).add((layer.name, index))
    given: dict[str, set[Place]] = {}
    for name in outputs:
        found = _states(name, makers, set())
        if found:
            given[name] = found
    result: dict[str, str] = {}
    for source, places in taken.items():
        for target, found in given.items():
            if found == places and target not in result.values():
                result[source] = target
                break
    return result


def _origin(name: str, makers: Mapping[str, Any], inputs: Mapping[str, Any]) -> str | None:
    """The model input that ``name`` is a part or another shape of."""
    for _ in range(64):
        if name in inputs:
            return name
        layer, _index = makers.get(name, (None, 0))
        if layer is None or len(layer.input) != 1:
            return None
        name = layer.input[0]
    return None


def _states(name: str, makers: Mapping[str, Any], seen: set[str]) -> set[Place]:
    """The recurrent states that ``name`` is put together from; empty if it holds anything else."""
    layer, index = makers.get(name, (None, 0))
    if layer is None or name in seen or len(seen) > 64:
        return set()
    if layer.WhichOneof("layer") in RECURRENT:
        return {(layer.name, index)} if index else set()
    found: set[Place] = set()
    for source in layer.input:
        below = _states(source, makers, seen | {name})
        if not below:
            return set()
        found |= below
    return found
