"""Twin of layer normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import CheckError
from .registry import Array, Context, twin
from .rules import blob


@twin("layerNormalization")
def layer_normalization(context: Context, params: Any, x: Array) -> Array:
    """y = gamma · (x - mean) / √(variance + eps) + beta over the last axes.

    x (B…, N…), N… = ``normalizedShape``, gamma and beta (N…) → same shape. Mean and (biased) variance are taken over
    the last axes. ``eps`` 0 is taken as 0. Source: LayerNormalizationLayerParams.
    """
    shape = tuple(int(size) for size in params.normalizedShape)
    if not shape or x.shape[x.ndim - min(len(shape), x.ndim) :] != shape:
        raise CheckError(f"normalizedShape must equal the last axes of the input {list(x.shape)}, got {list(shape)}")
    scale, shift = (_weights(context, params, name, shape) for name in ("gamma", "beta"))
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    centred = x - x.mean(axis=axes, keepdims=True)
    variance = np.square(centred).mean(axis=axes, keepdims=True)
    return np.asarray(scale * centred / np.sqrt(variance + params.eps) + shift)


def _weights(context: Context, params: Any, name: str, shape: tuple[int, ...]) -> Array:
    if not params.HasField(name):
        raise CheckError(f"{name} must be set, got none")
    return blob(context, params, name, *shape)
