"""Rows that are whole networks, for what one layer by itself cannot show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cases import fill
from pippin.coreml import schema


@dataclass(frozen=True)
class Network:
    """A network and what is to hold for it.

    note     what it shows
    build    adds the layers to a NeuralNetwork message
    inputs   by blob name
    expect   the model's outputs by blob name; empty for a network that must be refused
    refuses  a part of the error message, and ``kind`` the layer kind that it names
    """

    note: str
    build: Callable[[Net], None]
    inputs: Mapping[str, ArrayLike]
    expect: Mapping[str, ArrayLike] = field(default_factory=dict)
    refuses: str | None = None
    kind: str = ""

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value, np.float32) for name, value in self.inputs.items()}

    def model(self) -> Any:
        """The Model message: version 4, EXACT_ARRAY_MAPPING, outputs declared without a shape."""
        model = schema.message("Model")()
        model.specificationVersion = 4
        model.neuralNetwork.arrayInputShapeMapping = 1
        for name, array in self.arrays().items():
            kind = model.description.input.add(name=name).type.multiArrayType
            kind.shape.extend(array.shape)
            kind.dataType = 65568
        for name in self.expect or ("y",):
            model.description.output.add(name=name).type.multiArrayType.dataType = 65568
        self.build(Net(model.neuralNetwork))
        return model


class Net:
    """Writes layers into a network message; every method names the output first."""

    def __init__(self, message: Any) -> None:
        self.message = message

    def layer(self, kind: str, inputs: list[str], outputs: list[str], **params: Any) -> Any:
        layer = self.message.layers.add(name=f"{kind} {' '.join(outputs)}".strip())
        layer.input.extend(inputs)
        layer.output.extend(outputs)
        message = getattr(layer, kind)
        message.SetInParent()
        fill(message, params)
        return message

    def op(self, out: str, kind: str, *inputs: str, **params: Any) -> None:
        self.layer(kind, list(inputs), [out], **params)

    def constant(self, out: str, *values: float) -> None:
        self.op(out, "loadConstantND", shape=[len(values)], data=list(values))

    def copy(self, out: str, source: str) -> None:
        self.op(out, "copy", source)

    def add(self, out: str, a: str, b: str) -> None:
        self.op(out, "addBroadcastable", a, b)

    def multiply(self, out: str, a: str, b: str) -> None:
        self.op(out, "multiplyBroadcastable", a, b)

    def start(self, **values: float) -> None:
        """Variables that a loop is going to overwrite: constants of one value, copied so that copies may follow."""
        for name, value in values.items():
            self.constant(f"{name} start", value)
            self.copy(name, f"{name} start")

    def increase(self, name: str, by: str) -> None:
        """name = name + by"""
        self.add(f"{name} next", name, by)
        self.copy(name, f"{name} next")

    def loop(self, count: str | None = None, most: int = 0, condition: str = "") -> tuple[Net, Net]:
        """A loop; returns its conditionNetwork and its bodyNetwork."""
        message = self.layer("loop", [count] if count else [], [])
        message.maxLoopIterations = most
        message.conditionVar = condition
        message.bodyNetwork.SetInParent()
        return Net(message.conditionNetwork if condition else None), Net(message.bodyNetwork)

    def branch(self, condition: str) -> tuple[Net, Net]:
        """A branch; returns its ifBranch and its elseBranch."""
        message = self.layer("branch", [condition], [])
        return Net(message.ifBranch), Net(message.elseBranch)

    def leave(self, kind: str) -> None:
        """loopBreak or loopContinue."""
        self.layer(kind, [], [])


NETWORKS: list[Network] = []


def shows(
    note: str,
    inputs: Mapping[str, ArrayLike],
    expect: Mapping[str, ArrayLike] | None = None,
    *,
    refuses: str | None = None,
    kind: str = "",
) -> Callable[[Callable[[Net], None]], Callable[[Net], None]]:
    """Makes a row of a function that builds a network."""

    def register(build: Callable[[Net], None]) -> Callable[[Net], None]:
        NETWORKS.append(Network(note, build, inputs, expect or {}, refuses, kind))
        return build

    return register
