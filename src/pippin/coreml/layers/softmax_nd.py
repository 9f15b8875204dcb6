"""Softmax and layer normalisation on tensors of any rank."""

from __future__ import annotations

import math
from typing import Any

from ...graph.ir import Value
from ..lowering import Context, axis_of, lowering, require


@lowering("softmaxND")
def softmax_nd(g: Context, p: Any, x: Value) -> Value:
    """Softmax along one axis.

    yᵢ = exp(xᵢ) / Σⱼ exp(xⱼ), j along ``axis``
    x (…) → y same shape; axis may be negative. Source: SoftmaxNDLayerParams.
    """
    axis_of(p.axis, x.rank)
    return g.Softmax(x, axis=p.axis)


@lowering("layerNormalization")
def layer_normalization(g: Context, p: Any, x: Value) -> Value:
    """Normalisation over the last axes, those of ``normalizedShape``.

    y = γ (x - mean) / √(variance + eps) + β, mean and variance (biased) over the last axes
    x (…, *normalizedShape), γ and β normalizedShape → y same shape. Default: eps 0 as it is.
    Differs: in float32 the error grows with |mean| / deviation: about 1e-4 at a mean of 1000 and a deviation of 1.
    Source: LayerNormalizationLayerParams.
    """
    shape = [int(size) for size in p.normalizedShape]
    require(
        0 < len(shape) <= x.rank, f"normalizedShape must hold 1 to {x.rank} sizes, the last of the input, got {shape}"
    )
    require(min(shape) > 0, f"normalizedShape must hold positive sizes, got {shape}")
    tail = x.shape[x.rank - len(shape) :]
    require(
        all(isinstance(have, str) or have == want for have, want in zip(tail, shape, strict=True)),
        f"normalizedShape must be the last sizes of the input {list(x.shape)}, got {shape}",
    )
    require(math.isfinite(p.eps) and p.eps >= 0, f"eps must not be negative, got {p.eps}")
    gamma, beta = g.weight(p.gamma, *shape, name="gamma"), g.weight(p.beta, *shape, name="beta")
    return g.LayerNormalization(x, gamma, beta, axis=-len(shape), epsilon=p.eps)
