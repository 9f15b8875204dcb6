"""Twins of the normalisations and of the softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nnrt.enums import NodeType
from .activation import fused
from .registry import Array, Context, twin
from .rules import along, as_axes, as_axis, channel_axis, count, need_number, need_rank, require


def _per_channel(values: Array, x: Array, axis: int, name: str) -> Array:
    size = x.shape[axis]
    require(values.shape == (size,), f"{name} must have dims [{size}], got {list(values.shape)}")
    return along(values, axis, x.ndim)


def _standard(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    """(x - mean) / √(variance + epsilon), both over ``axes``."""
    centred = x - x.mean(axis=axes, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=axes, keepdims=True) + epsilon))


@twin(NodeType.FUSED_BATCH_NORM)
def batch_norm(context: Context, p: Any, x: Array, *parameters: Array) -> Array:
    """y = scale (x - mean) / √(variance + epsilon) + offset, per channel."""
    count(parameters, 5)
    need_number(x)
    require(x.ndim > 0, "x must have a channel dim")
    axis = channel_axis(x, context.nchw)
    names = ("scale", "offset", "mean", "variance")
    scale, offset, mean, variance = (
        _per_channel(values, x, axis, name) for values, name in zip(parameters, names, strict=True)
    )
    return np.asarray(scale * (x - mean) / np.sqrt(variance + p.epsilon) + offset)


@twin(NodeType.INSTANCE_NORM)
def instance_norm(context: Context, p: Any, x: Array, scale: Array, bias: Array) -> Array:
    """y = scale (x - mean) / √(variance + epsilon) + bias over one channel of one image.

    A rank other than 4 is N,C and then any dims.
    """
    need_number(x)
    require(x.ndim >= 3, f"x must have rank 3 or more, got dims {list(x.shape)}")
    axis = 3 if x.ndim == 4 and not context.nchw else 1
    others = tuple(place for place in range(1, x.ndim) if place != axis)
    factor, offset = _per_channel(scale, x, axis, "scale"), _per_channel(bias, x, axis, "bias")
    return np.asarray(factor * _standard(x, others, p.epsilon) + offset)


@twin(NodeType.LAYER_NORM_FUSION)
def layer_norm(context: Context, p: Any, x: Array, *parameters: Array) -> Array:
    """y = gamma (x - mean) / √(variance + epsilon) + beta over the dims from ``beginNormAxis`` on."""
    count(parameters, 1, 3)
    need_number(x)
    first = as_axis(p.beginNormAxis, x.ndim, "beginNormAxis")
    y = _standard(x, tuple(range(first, x.ndim)), p.epsilon)
    if parameters:
        part = x.shape[as_axis(p.beginParamsAxis, x.ndim, "beginParamsAxis") :]
        for values, name in zip(parameters, ("gamma", "beta"), strict=True):
            require(values.shape == part, f"{name} must have dims {list(part)}, got {list(values.shape)}")
        y = y * parameters[0] + parameters[1]
    return y


@twin(NodeType.L2_NORMALIZE_FUSION)
def l2_normalize(context: Context, p: Any, x: Array) -> Array:
    """y = act(x / √max(Σ x², epsilon)), the sum along ``axis``; an empty list means all."""
    need_number(x)
    axes = as_axes(p.axis or range(x.ndim), x.ndim)
    total = (x**2).sum(axis=axes, keepdims=True)
    return fused(x / np.sqrt(np.maximum(total, p.epsilon)), p.activationType)


@twin(NodeType.LRN)
def lrn(context: Context, p: Any, x: Array) -> Array:
    """y = x (bias + alpha Σ x²)^-beta, the sum over the channels at most ``depthRadius`` away."""
    need_number(x)
    need_rank(x, 4)
    require(p.depthRadius >= 0, f"depthRadius must not be negative, got {p.depthRadius}")
    known = ("ACROSS_CHANNELS", "ACROSS_CHNNEL")  # the text misspells the only region
    require(p.normRegion in known, f"normRegion must be 'ACROSS_CHANNELS', got {p.normRegion!r}")
    axis = channel_axis(x, context.nchw)
    squares = np.moveaxis(x**2, axis, -1)
    size = squares.shape[-1]
    near = [squares[..., max(0, c - p.depthRadius) : c + p.depthRadius + 1].sum(axis=-1) for c in range(size)]
    total = np.moveaxis(np.stack(near, axis=-1), -1, axis)
    return np.asarray(x * np.power(p.bias + p.alpha * total, -p.beta))


def log_soft_max(x: Array, axis: int) -> Array:
    """x - ln Σ exp(x), without overflow."""
    need_number(x)
    shifted = x - x.max(axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True)))


@twin(NodeType.SOFTMAX)
def softmax(context: Context, p: Any, x: Array) -> Array:
    """y = exp(x) / Σ exp(x) along the one axis listed."""
    require(len(p.axis) == 1, f"axis must hold 1 integer, got {list(p.axis)}")
    return np.exp(log_soft_max(x, as_axis(p.axis[0], x.ndim)))


@twin(NodeType.LOG_SOFTMAX)
def log_softmax(context: Context, p: Any, x: Array) -> Array:
    """y = x - ln Σ exp(x) along ``axis``."""
    return log_soft_max(x, as_axis(p.axis, x.ndim))
