"""Quantised tensors as the real numbers they stand for, and back.

real = (q - zeroPoint) · scale        q = clamp(round(real / scale + zeroPoint), q_min, q_max), halves away from zero

q_min, q_max = -2^(b-1), 2^(b-1) - 1 for signed types of b = numBits, 0 and 2^b - 1 for unsigned ones.
A scale of 0 belongs to a tensor that is 0 throughout.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...nnrt.types import QuantParam
from .registry import Array, Info
from .rules import require


def parameters(params: Sequence[QuantParam], shape: tuple[int, ...], axis: int = 0) -> tuple[Array, Array]:
    """zeroPoint and scale, shaped so that they broadcast against a tensor of ``shape``."""
    sizes = [1] * len(shape)
    if len(params) > 1:
        fits = -len(shape) <= axis < len(shape) and shape[axis] == len(params)
        require(fits, f"{len(params)} quantParams must be 1 or the size of dim {axis} of {list(shape)}")
        sizes[axis] = len(params)
    zero = np.array([param.zeroPoint for param in params], np.float64)
    scale = np.array([param.scale for param in params], np.float64)
    return zero.reshape(sizes), scale.reshape(sizes)


def to_real(values: Array, params: Sequence[QuantParam], axis: int = 0) -> Array:
    """Stored integers to real numbers."""
    zero, scale = parameters(params, values.shape, axis)
    return np.asarray((values.astype(np.float64) - zero) * scale)


def to_stored(values: Array, params: Sequence[QuantParam], dtype: np.dtype[np.generic], axis: int = 0) -> Array:
    """Real numbers to stored integers."""
    zero, scale = parameters(params, values.shape, axis)
    bits = params[0].numBits
    low, high = (0, 2**bits - 1) if dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    steps = np.where(scale == 0, 0.0, values / np.where(scale == 0, 1.0, scale)) + zero
    rounded = np.where(steps < 0, np.ceil(steps - 0.5), np.floor(steps + 0.5))
    return np.asarray(np.clip(np.where(np.isnan(steps), zero, rounded), low, high).astype(dtype))


def is_quantised(info: Info) -> bool:
    """Whether a tensor holds integers that stand for real numbers."""
    return bool(info.quant) and info.dtype.kind in "iu"
