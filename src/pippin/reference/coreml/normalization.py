"""Twins of the normalising layers over channels and planes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import Array, Context, twin
from .rules import blob, need_rank, per_channel, require


@twin("batchnorm")
def batchnorm(context: Context, params: Any, x: Array) -> Array:
    """yᵢ = γᵢ (xᵢ - μᵢ) / √(σᵢ² + ε) + βᵢ for each channel i

    x [...,C,H,W] → same. ``computeMeanVar``: μ and the biased σ² come from the plane of each instance
    (``instanceNormalization``) or from all instances and planes; else from the parameters. ε defaults to 1e-5.
    """
    need_rank(x, 3)
    channels = int(params.channels)
    require(x.shape[-3] == channels, f"channels must be {x.shape[-3]} for this input, got {channels}")
    gamma, beta = (per_channel(blob(context, params, name, channels)) for name in ("gamma", "beta"))
    if params.computeMeanVar:
        axes = (-2, -1) if params.instanceNormalization else (*range(x.ndim - 3), -2, -1)
        mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    else:
        mean, variance = (per_channel(blob(context, params, name, channels)) for name in ("mean", "variance"))
    return np.asarray(gamma * (x - mean) / np.sqrt(variance + (params.epsilon or 1e-5)) + beta)


@twin("mvn")
def mvn(context: Context, params: Any, x: Array) -> Array:
    """y = x - μ, divided by √(σ² + ε) if ``normalizeVariance``

    x [...,C,H,W] → same. μ and the biased σ² over H, W; ``acrossChannels``: over C, H, W. ε defaults to 1e-6.
    """
    need_rank(x, 3)
    axes = (-3, -2, -1) if params.acrossChannels else (-2, -1)
    y = x - x.mean(axes, keepdims=True)
    if params.normalizeVariance:
        y = y / np.sqrt(x.var(axes, keepdims=True) + (params.epsilon or 1e-6))
    return np.asarray(y)


@twin("l2normalize")
def l2normalize(context: Context, params: Any, x: Array) -> Array:
    """y = x / √(Σx² + ε), the sum over C, H, W

    x [...,C,H,W] → same. ε defaults to 1e-6.
    """
    need_rank(x, 3)
    return np.asarray(x / np.sqrt(np.square(x).sum((-3, -2, -1), keepdims=True) + (params.epsilon or 1e-6)))


@twin("softmax")
def softmax(context: Context, params: Any, x: Array) -> Array:
    """y = exp(x) / Σ exp(x) along axis -3, or along the last where x has a rank of 1 or 2; shape kept."""
    need_rank(x, 1)
    axis = -3 if x.ndim >= 3 else -1
    e = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(e / e.sum(axis, keepdims=True))


@twin("lrn")
def lrn(context: Context, params: Any, x: Array) -> Array:
    """yᵢ = xᵢ / (k + α/n Σⱼ xⱼ²)^β, j over the n = ``localSize`` channels around i

    x [...,C,H,W] → same. The window begins at i - ⌊(n - 1) / 2⌋ and is cut at the borders. k defaults to 1.
    """
    need_rank(x, 3)
    size, k = int(params.localSize), params.k or 1.0
    require(size > 0, f"localSize must be positive, got {size}")
    require(k > 0, f"k must be positive, got {k}")
    channels = x.shape[-3]
    y = np.empty_like(x)
    for i in range(channels):
        start = i - (size - 1) // 2
        near = x[..., max(start, 0) : min(start + size, channels), :, :]
        total = np.square(near).sum(-3)
        y[..., i, :, :] = x[..., i, :, :] / (k + params.alpha / size * total) ** params.beta
    return y
