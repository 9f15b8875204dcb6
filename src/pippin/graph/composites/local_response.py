"""Local response normalisation by plain operators, where ONNX's LRN does not do."""

from __future__ import annotations

from ..builder import Builder
from ..ir import Value


def local_response(g: Builder, x: Value, *, size: int, alpha: float, beta: float, bias: float) -> Value:
    """x (N,C,…) → x / (bias + alpha/size · Σ x²)^beta over ``size`` channels around each, one more behind if even.

    The mean over channels is that of an image of C x the rest, zeros beyond its edge counted.
    """
    sizes = g.sizes(x)
    flat = g.reshape(g.Mul(x, x), [sizes[0], 1, sizes[1], g.product(sizes[2:])])
    mean = g.AveragePool(
        flat, kernel_shape=[size, 1], strides=[1, 1], pads=[(size - 1) // 2, 0, size // 2, 0], count_include_pad=1
    )
    base = g.Add(g.Mul(g.reshape(mean, sizes), alpha), bias)
    result: Value = g.Div(x, g.Pow(base, beta))
    return result
