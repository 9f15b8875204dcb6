"""Layers that normalise: by given or computed statistics, by norms, by neighbours, and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import UnsupportedError
from ...graph.composites.local_response import local_response
from ...graph.ir import Value
from ..lowering import Context, lowering, require

LARGEST_LRN = 1e-3
"""alpha / (localSize · k) up to which the engine's LRN is used: it moves its sum along by adding and taking away, so
that a large channel leaves the rounding of its square to those behind it."""


@lowering("batchnorm", layout="same", rank=3)
def batchnorm(g: Context, p: Any, x: Value) -> Value:
    """Batch or instance normalisation along the channel axis.

    y = gamma[c] · (x - mean[c]) / √(variance[c] + epsilon) + beta[c]
    x (…,C,H,W) → y same shape. With ``computeMeanVar`` mean and (biased) variance are those of the input: of each
    instance over H and W with ``instanceNormalization``, else of the whole batch, over all axes but C.
    Defaults: epsilon 0 stands for 1e-5. Statistics of inputs whose mean is much larger than their spread lose digits:
    4e-4 at mean 1000 and deviation 1. Source: BatchnormLayerParams.
    """
    channels = int(p.channels)
    have = x.shape[-3]
    require(channels > 0, f"channels must be positive, got {channels}")
    require(isinstance(have, str) or have == channels, f"the input must have {channels} channels, got {have}")
    gamma, beta = (g.array(getattr(p, name), channels, name=name) for name in ("gamma", "beta"))
    epsilon = p.epsilon or 1e-5
    if not p.computeMeanVar:
        return _given(g, p, x, gamma, beta, epsilon)
    if p.instanceNormalization:
        if x.rank == 4:
            return g.InstanceNormalization(x, *_named(g, gamma=gamma, beta=beta), epsilon=epsilon)
        axes = [-2, -1]
    else:
        axes = [axis for axis in range(-x.rank, 0) if axis != -3]
    y = standardize(g, x, axes, epsilon)
    scale, shift = (array.reshape(-1, 1, 1) for array in (gamma, beta))
    return g.Add(g.Mul(y, *_named(g, gamma=scale)), *_named(g, beta=shift))


def _given(g: Context, p: Any, x: Value, gamma: Any, beta: Any, epsilon: float) -> Value:
    import numpy as np

    mean, variance = (g.array(getattr(p, name), len(gamma), name=name) for name in ("mean", "variance"))
    if x.rank == 4:
        statistics = _named(g, gamma=gamma, beta=beta, mean=mean, variance=variance)
        return g.BatchNormalization(x, *statistics, epsilon=epsilon)
    # ONNX wants channels in axis 1: a factor and a summand a channel say the same without reshapes
    with np.errstate(all="ignore"):
        factor = gamma.astype(np.float64) / np.sqrt(variance.astype(np.float64) + epsilon)
        summand = beta - mean * factor
    factor, summand = (array.astype(np.float32).reshape(-1, 1, 1) for array in (factor, summand))
    return g.Add(g.Mul(x, *_named(g, scale=factor)), *_named(g, shift=summand))


def _named(g: Context, **arrays: Any) -> list[Value]:
    return [g.constant(array, name=f"{g.prefix}/{name}") for name, array in arrays.items()]


def standardize(g: Context, x: Value, axes: Sequence[int], epsilon: float | None) -> Value:
    """(x - mean) / √(variance + epsilon) with the statistics over ``axes``; without epsilon x - mean."""
    centred = g.Sub(x, g.ReduceMean(x, axes))
    if epsilon is None:
        return centred
    variance = g.ReduceMean(g.Mul(centred, centred), axes)
    return g.Div(centred, g.Sqrt(g.Add(variance, epsilon)))


@lowering("mvn", layout="same", rank=3)
def mvn(g: Context, p: Any, x: Value) -> Value:
    """Mean and variance normalisation of each instance.

    y = (x - mean) / √(variance + epsilon), or x - mean without ``normalizeVariance``
    x (…,C,H,W) → y same shape; statistics over H and W, with ``acrossChannels`` over C, H and W.
    Defaults: epsilon 0 stands for 1e-6. Source: MeanVarianceNormalizeLayerParams.
    """
    axes = [-3, -2, -1] if p.acrossChannels else [-2, -1]
    return standardize(g, x, axes, (p.epsilon or 1e-6) if p.normalizeVariance else None)


@lowering("l2normalize", layout="same", rank=3)
def l2normalize(g: Context, p: Any, x: Value) -> Value:
    """Division by the L2 norm over C, H and W.

    y = x / √(Σx² + epsilon)
    x (…,C,H,W) → y same shape. Defaults: epsilon 0 stands for 1e-6. Source: L2NormalizeLayerParams.
    """
    squares = g.ReduceSumSquare(x, [-3, -2, -1])
    return g.Div(x, g.Sqrt(g.Add(squares, p.epsilon or 1e-6)))


@lowering("softmax", layout="same", rank=1)
def softmax(g: Context, p: Any, x: Value) -> Value:
    """Softmax along the channel axis.

    y_c = exp(x_c) / Σ exp(x_j), j over the channels
    x (…,C,H,W) → y same shape. Differs: x of rank 1 or 2, which converters write after a reshape whose rank Apple's
    checker cannot know, is taken as (C) or (B,C). Source: SoftmaxLayerParams.
    """
    return g.Softmax(x, axis=x.rank - 3 if x.rank >= 3 else -1)


@lowering("lrn", layout="chw", rank=3)
def lrn(g: Context, p: Any, x: Value) -> Value:
    """Local response normalisation across channels.

    y_c = x_c / (k + alpha/localSize · Σ x_j²)^beta, j over localSize channels around c, those that there are
    x (…,C,H,W) → y same shape. Defaults: k 0 stands for 1. An even window begins at c - (localSize - 2)/2.
    Source: LRNLayerParams.
    """
    size, channels = int(p.localSize), x.shape[1]
    k = p.k or 1.0
    alpha = float(p.alpha)
    require(size > 0, f"localSize must be positive, got {size}")
    require(k > 0, f"k must be positive, got {k:g}")
    if isinstance(channels, int) and channels > 0 and size > 2 * channels:
        # a window over all channels from each of them: a smaller one holds the same
        size, alpha = 2 * channels - 1, alpha * (2 * channels - 1) / size
    elif size > 1 << 16:
        raise UnsupportedError(f"localSize {size} is larger than 65,536 and the number of channels is not known")
    if size % 2 and 0 < alpha <= LARGEST_LRN * size * k and p.beta > 0:
        return g.LRN(x, alpha=alpha, beta=p.beta, bias=k, size=size)
    # ONNX leaves even windows open, and the engine wants alpha and beta above 0
    return local_response(g, x, size=size, alpha=alpha, beta=p.beta, bias=k)
