"""Optimizers as hub operators: how a weight, its gradient and what is remembered of earlier ones give the next weight.

The format names them without formulas; these are the usual ones, in float32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from ..graph.builder import Builder
from ..graph.ir import Value


class Optimizer(Protocol):
    """``slots`` arrays of the weight's shape are remembered for each weight, zeros at first."""

    name: ClassVar[str]

    @property
    def learning_rate(self) -> float: ...

    @property
    def slots(self) -> int: ...

    def scalars(self, step: int) -> dict[str, float]:
        """Numbers that change from step to step, by the name of the input; ``step`` counts from 1."""

    def emit(
        self, g: Builder, w: Value, d: Value, slots: Sequence[Value], scalars: dict[str, Value]
    ) -> tuple[Value, list[Value]]:
        """The next weight and slots from weight w, gradient d and the slots so far."""


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent: v ← momentum · v + d, w ← w - learning_rate · v. Source: SGDOptimizer."""

    learning_rate: float
    momentum: float = 0.0
    name: ClassVar[str] = "SGD"

    @property
    def slots(self) -> int:
        return 1 if self.momentum else 0

    def scalars(self, step: int) -> dict[str, float]:
        return {"learning rate": self.learning_rate}

    def emit(
        self, g: Builder, w: Value, d: Value, slots: Sequence[Value], scalars: dict[str, Value]
    ) -> tuple[Value, list[Value]]:
        kept = []
        if slots:
            d = g.Add(g.Mul(slots[0], self.momentum), d)
            kept.append(d)
        return g.Sub(w, g.Mul(d, scalars["learning rate"])), kept


@dataclass(frozen=True)
class Adam:
    """m ← β₁m + (1-β₁)d, v ← β₂v + (1-β₂)d², w ← w - learning_rate · m̂ / (√v̂ + eps). Source: AdamOptimizer.

    m̂ = m / (1-β₁ᵗ) and v̂ = v / (1-β₂ᵗ) in step t.
    """

    learning_rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    name: ClassVar[str] = "Adam"

    @property
    def slots(self) -> int:
        return 2

    def scalars(self, step: int) -> dict[str, float]:
        return {
            "learning rate": self.learning_rate / (1 - self.beta1**step),
            "correction": 1 / math.sqrt(1 - self.beta2**step),
        }

    def emit(
        self, g: Builder, w: Value, d: Value, slots: Sequence[Value], scalars: dict[str, Value]
    ) -> tuple[Value, list[Value]]:
        m = g.Add(g.Mul(slots[0], self.beta1), g.Mul(d, 1 - self.beta1))
        v = g.Add(g.Mul(slots[1], self.beta2), g.Mul(g.Mul(d, d), 1 - self.beta2))
        divisor = g.Add(g.Mul(g.Sqrt(v), scalars["correction"]), self.eps)
        return g.Sub(w, g.Div(g.Mul(m, scalars["learning rate"]), divisor)), [m, v]
