"""Looks after the gradients of each layer: those that vanish, explode, or are no numbers are told by its name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameter

VANISHED = 1e-5
"""A layer's gradient, relative to its weights, below this share of the largest one."""
EXPLODED = 1e3
"""A gradient of more than this many times its weights."""


@dataclass(frozen=True)
class GradientNorms:
    """Of one parameter over an epoch: the root mean square of the gradient's norm, and the norm of the weights."""

    name: str
    where: str
    gradient: float
    weights: float

    @property
    def relative(self) -> float:
        return self.gradient / (self.weights + 1e-12)


class Watch:
    """Collects gradient norms over an epoch."""

    def __init__(self, parameters: Iterable[Parameter]) -> None:
        self.parameters = list(parameters)
        self.squares = np.zeros(len(self.parameters))
        self.count = 0

    def add(self, norms: NDArray[Any]) -> None:
        """Norms of one step, in the order of the parameters."""
        self.squares += norms.astype(np.float64) ** 2
        self.count += 1

    def bad(self, norms: NDArray[Any]) -> str:
        """The layer nearest to the loss whose gradient is no number; empty if there is none."""
        for parameter, norm in zip(reversed(self.parameters), norms[::-1], strict=True):
            if not np.isfinite(norm):
                return parameter.where
        return ""

    def finish(self, arrays: dict[str, NDArray[Any]]) -> list[GradientNorms]:
        """What an epoch gave, nothing where no step was watched; begins anew."""
        if not self.count:
            return []
        norms = np.sqrt(self.squares / self.count)
        self.squares[:] = 0
        self.count = 0
        return [
            GradientNorms(p.name, p.where, float(norm), float(np.linalg.norm(arrays[p.name].astype(np.float64))))
            for p, norm in zip(self.parameters, norms, strict=True)
        ]


def warnings(norms: list[GradientNorms]) -> list[str]:
    """One sentence for each layer whose gradients vanish or explode; biases are judged with their layer."""
    found = []
    weights = [entry for entry in norms if not entry.name.lower().endswith(("/bias", "biasvector"))] or norms
    largest = max((entry.relative for entry in weights), default=0.0)
    for entry in weights:
        if entry.gradient == 0:
            found.append(f"{entry.where}: the gradient vanishes: it is 0, so the layer does not learn")
        elif entry.relative < VANISHED * largest:
            found.append(
                f"{entry.where}: the gradient vanishes: {entry.gradient:.1e} for weights of {entry.weights:.1e},"
                f" {largest / entry.relative:.0e} times less than elsewhere"
            )
        elif entry.gradient > EXPLODED * (entry.weights + 1):
            found.append(
                f"{entry.where}: the gradient explodes: {entry.gradient:.1e} for weights of {entry.weights:.1e};"
                " a smaller learning rate or scaled inputs help"
            )
    return found
