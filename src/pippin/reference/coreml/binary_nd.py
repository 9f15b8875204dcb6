"""Elementwise functions of two tensors under NumPy's rules of broadcasting: comparisons, logic, arithmetic.

Comparisons and logic yield 1 and 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import Array, broadcast
from .registry import Context, twin

_Function = Callable[[Any, Any], Any]

_COMPARISONS: tuple[tuple[str, _Function], ...] = (
    ("equal", np.equal),
    ("notEqual", np.not_equal),
    ("lessThan", np.less),
    ("lessEqual", np.less_equal),
    ("greaterThan", np.greater),
    ("greaterEqual", np.greater_equal),
)

_LOGIC: tuple[tuple[str, _Function], ...] = (
    ("logicalOr", np.logical_or),
    ("logicalXor", np.logical_xor),
    ("logicalAnd", np.logical_and),
)

_ARITHMETIC: tuple[tuple[str, _Function], ...] = (
    ("addBroadcastable", np.add),
    ("subtractBroadcastable", np.subtract),
    ("multiplyBroadcastable", np.multiply),
    ("divideBroadcastable", np.divide),
    ("floorDivBroadcastable", np.floor_divide),
    ("modBroadcastable", np.mod),  # the sign of the divisor
    ("powBroadcastable", np.power),
    ("minBroadcastable", np.minimum),
    ("maxBroadcastable", np.maximum),
)


def _register_comparison(kind: str, function: _Function) -> None:
    @twin(kind)
    def compare(context: Context, params: Any, x: Array, other: Array | None = None) -> Array:
        """With one input, the field ``alpha`` is what it is compared with."""
        right = np.asarray(params.alpha, np.float64) if other is None else other
        broadcast(x, right)
        return np.asarray(function(x, right), np.float64)


def _register(kind: str, function: _Function) -> None:
    @twin(kind)
    def apply(context: Context, params: Any, x: Array, other: Array) -> Array:
        broadcast(x, other)
        return np.asarray(function(x, other), np.float64)


for _kind, _function in _COMPARISONS:
    _register_comparison(_kind, _function)
for _kind, _function in _LOGIC + _ARITHMETIC:
    _register(_kind, _function)
