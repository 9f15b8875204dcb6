"""Products with int8 weights whose float operand is quantised while the network runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..builder import Builder
from ..ir import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVELS = 127
"""Largest level: symmetric, so that -128 is never used for the operand."""


def quantize_symmetric(g: Builder, x: Value) -> tuple[Value, Value]:
    """x as int8 levels, and the scale of the whole tensor: q = sign(x)·⌊|x|/s + ½⌋, s = max|x| / 127.

    Where all of x is 0, so is q. Not QuantizeLinear, which rounds half to even and answers ±128 for a scale of 0; not
    DynamicQuantizeLinear, which yields uint8.
    """
    size = g.Abs(x)
    scale = g.Div(g.ReduceMax(size, keepdims=0), float(LEVELS))
    divisor = g.Where(g.Greater(scale, 0.0), scale, 1.0)
    # a scale so small that it is rounded coarsely may lead beyond the last level: Cast would wrap
    level = g.Min(g.Floor(g.Add(g.Div(size, divisor), 0.5)), float(LEVELS))
    return g.cast(g.Mul(g.Sign(x), level), "int8"), scale


def int8_matmul(g: Builder, x: Value, weights: NDArray[Any], scale: float, name: str = "weights") -> Value:
    """x (…,K) float32, weights (K,N) int8 with one scale → y (…,N) float32: y = (q(x) · W) · s · scale.

    Both operands are int8: with uint8 against int8 the engine saturates on processors without VNNI.
    """
    import numpy as np

    q, step = quantize_symmetric(g, x)
    w = g.constant(np.ascontiguousarray(weights), name=f"{g.prefix}/{name}" if g.prefix else name)
    product = g.cast(g.MatMulInteger(q, w), np.float32)
    result: Value = g.Mul(product, g.Mul(step, float(scale)))
    return result
