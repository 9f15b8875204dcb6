"""Where the twins of the Core ML layer kinds are found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...coreml.weights import Weights

Array = NDArray[np.float64]
Twin = Callable[..., Array | tuple[Array, ...]]

TWINS: dict[str, Twin] = {}


@dataclass
class Context:
    """What a twin may ask for beyond its parameters and inputs.

    ``layer`` is the NeuralNetworkLayer message, ``weights`` reads WeightParams, ``custom`` maps class names to twins.
    """

    layer: Any
    weights: Weights
    custom: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def array(self, params: Any, *shape: int, axis: int | tuple[int, ...] = 0) -> Array:
        """The values of a WeightParams message as float64 of the given shape."""
        return self.weights.array(params, shape, axis=axis).astype(np.float64)

    @property
    def outputs(self) -> int:
        """How many outputs the layer declares."""
        return len(self.layer.output)


def twin(*kinds: str) -> Callable[[Twin], Twin]:
    """Registers a function ``(context, params, *inputs) -> array or tuple of arrays`` for layer kinds.

    Inputs are float64 arrays of their true rank: [S,B,C,H,W] in networks with the legacy rank-5 mapping.
    """

    def register(function: Twin) -> Twin:
        for kind in kinds:
            if kind in TWINS:
                raise ValueError(f"{kind} has a twin already: {TWINS[kind].__module__}")
            TWINS[kind] = function
        return function

    return register


def load_twins() -> dict[str, Twin]:
    """All twins; imports every family file of this package."""
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return TWINS
