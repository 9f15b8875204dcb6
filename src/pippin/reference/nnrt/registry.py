"""Where the twins of the NNRt node types are found, and what they are told beyond their attributes and inputs."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...nnrt.enums import Format, NodeType
from ...nnrt.types import QuantParam

Array = NDArray[Any]
"""What twins take and give: float64 for tensors of floats, the tensor's own type for integers and bools."""
Twin = Callable[..., Array | tuple[Array, ...]]

TWINS: dict[NodeType, Twin] = {}
MOVERS: set[NodeType] = set()
"""Node types for which int8 and uint8 tensors without quantParams are plain numbers, as where elements only move."""
STORED: set[NodeType] = set()
"""Node types whose twins take and give the stored integers of quantised tensors, not the numbers they stand for."""


@dataclass(frozen=True)
class Info:
    """What a model says about a tensor; ``dtype`` is the type it is stored in."""

    dtype: np.dtype[Any]
    format: Format = Format.NHWC
    quant: tuple[QuantParam, ...] = ()


@dataclass(frozen=True)
class Context:
    """The tensors of a node, in the order of its lists."""

    inputs: tuple[Info, ...]
    outputs: tuple[Info, ...]

    @property
    def nchw(self) -> bool:
        """Whether the first input is labelled N,C,H,W."""
        return self.inputs[0].format == Format.NCHW


def twin(*types: NodeType, moves: bool = False, stored: bool = False) -> Callable[[Twin], Twin]:
    """Registers a function ``(context, attributes, *inputs) -> array or tuple of arrays`` for node types.

    Quantised inputs arrive as the real numbers they stand for and outputs are quantised afterwards, unless ``stored``.
    ``moves`` marks those that take small integers as plain numbers.
    """

    def register(function: Twin) -> Twin:
        for node_type in types:
            if node_type in TWINS:
                raise ValueError(f"{node_type!r} has a twin already: {TWINS[node_type].__module__}")
            TWINS[node_type] = function
            if moves:
                MOVERS.add(node_type)
            if stored:
                STORED.add(node_type)
        return function

    return register


def load_twins() -> dict[NodeType, Twin]:
    """All twins; imports every family file of this package."""
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return TWINS
