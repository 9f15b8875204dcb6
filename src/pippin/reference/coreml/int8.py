"""Products with 8-bit weights and an input that is quantised while the network runs (``int8DynamicQuantize``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import CheckError
from .registry import Array, Context

_LARGEST = 127


def quantize(x: Array) -> tuple[Array, float]:
    """The integers that stand for ``x``, and their scale: one for the whole tensor, with zero at zero.

    scale = max|x| / 127, level = x / scale rounded to the nearest, halves away from zero. All zeros have scale 0.
    The format leaves the scheme open; this one is a decision of this project.
    """
    largest = float(np.abs(x).max(initial=0.0))
    if largest == 0:
        return np.zeros_like(x), 0.0
    scale = largest / _LARGEST
    # x · 127 / max rather than x / scale: exact where x is a whole number of steps
    ratio = x * _LARGEST / largest
    return np.sign(ratio) * np.floor(np.abs(ratio) + 0.5), scale


def dynamic_product(context: Context, weights: Any, shape: Sequence[int], x: Array) -> Array:
    """x · Wᵀ in integers, then back to real numbers: (Q(x) · Wqᵀ) · scale(x) · scale(W).

    ``weights`` is a WeightParams message whose ``int8RawValue`` holds W (N, K) = ``shape``; x (…, K) → (…, N).
    The bias, if the layer has one, is the caller's to add. Raises ``CheckError`` for other encodings, another
    ``numberOfBits``, more than one ``scale`` or a ``bias`` of the quantisation.
    """
    encoding = context.weights.encoding(weights)
    if encoding.kind != "int8":
        raise CheckError(f"int8DynamicQuantize needs weights in int8RawValue alone, got {encoding}")
    bits = int(weights.quantization.numberOfBits)
    if bits != 8:
        raise CheckError(f"int8DynamicQuantize needs weights with numberOfBits 8, got {bits}")
    levels, weight_scale = context.weights.int8(weights, tuple(shape))
    quantized, scale = quantize(x)
    return np.asarray(quantized @ levels.astype(np.float64).T * (scale * weight_scale), np.float64)
