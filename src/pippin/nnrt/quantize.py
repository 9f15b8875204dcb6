"""Real numbers as small integers and back, by the QuantParam of the interface.

    q = clamp(round(r / scale + zeroPoint), q_min, q_max)        r = (q - zeroPoint) · scale
    scale = (r_max - r_min) / (q_max - q_min)                    zeroPoint = round(q_min - r_min / scale)

Signed: q_min = -2^(b-1), q_max = 2^(b-1) - 1 for b = numBits, 1 to 16; unsigned: 0 and 2^b - 1.  Halves are rounded
away from zero.  A tensor that is 0 throughout has scale and zeroPoint 0, and so q = 0.  NaN becomes zeroPoint.  One
QuantParam holds for the whole tensor, n of them for the n slices along an axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .types import QuantParam

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Params = QuantParam | Sequence[QuantParam]


def limits(num_bits: int, *, signed: bool = True) -> tuple[int, int]:
    """The least and the greatest integer of a width; InputError unless it is 1 to 16 bits."""
    if not 1 <= num_bits <= 16:
        raise InputError(f"numBits must be 1 to 16, got {num_bits}")
    half = 1 << (num_bits - 1)
    return (-half, half - 1) if signed else (0, 2 * half - 1)


def storage(num_bits: int, *, signed: bool = True) -> np.dtype[Any]:
    """The smallest NumPy integer type that holds the width: 8 or 16 bits."""
    import numpy as np

    limits(num_bits)
    return np.dtype(("int" if signed else "uint") + ("8" if num_bits <= 8 else "16"))


def choose(r_min: float, r_max: float, num_bits: int = 8, *, signed: bool = True) -> QuantParam:
    """The parameters for values in [r_min, r_max], by the formulas above, without moving the range to hold 0.

    InputError where the range is empty, a single number other than 0, not finite, or so narrow and far from 0 that
    zeroPoint leaves 32 bits.
    """
    q_min, q_max = limits(num_bits, signed=signed)
    if r_min == 0 and r_max == 0:
        return QuantParam(num_bits, 0, 0.0)
    if not (math.isfinite(r_min) and math.isfinite(r_max) and r_min < r_max):
        raise InputError(f"the range must be finite and r_min below r_max, got [{r_min}, {r_max}]")
    scale = (r_max - r_min) / (q_max - q_min)
    zero = q_min - r_min / scale if scale else math.inf
    if not abs(zero) < 1 << 31:
        raise InputError(
            f"the range [{r_min}, {r_max}] is too narrow for its distance from 0: zeroPoint leaves 32 bits"
        )
    return QuantParam(num_bits, _round(zero), scale)


def choose_per_axis(values: NDArray[Any], axis: int, num_bits: int = 8, *, signed: bool = True) -> list[QuantParam]:
    """Parameters for each slice along an axis, from its least and greatest value, the range moved to hold 0."""
    import numpy as np

    rows = np.moveaxis(np.asarray(values), axis, 0).reshape(values.shape[axis], -1)
    bottoms, tops = np.minimum(rows.min(axis=1), 0), np.maximum(rows.max(axis=1), 0)
    return [choose(float(low), float(high), num_bits, signed=signed) for low, high in zip(bottoms, tops, strict=True)]


def quantize(
    values: NDArray[Any], params: Params, *, axis: int = 0, signed: bool = True, dtype: Any = None
) -> NDArray[Any]:
    """Real numbers to integers of ``dtype``, by default the smallest type that holds numBits.

    InputError if the number of parameters is neither 1 nor the size of ``axis``, or if their widths differ.
    """
    import numpy as np

    values = np.asarray(values, np.float64)
    listed = _listed(params)
    q_min, q_max = limits(listed[0].numBits, signed=signed)
    zero, scale = _arrays(listed, values.shape, axis)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = np.where(scale == 0, 0.0, values / scale) + zero
    steps = np.where(np.isnan(steps), zero, steps)
    rounded = np.copysign(np.floor(np.abs(steps) + 0.5), steps)
    return np.clip(rounded, q_min, q_max).astype(dtype or storage(listed[0].numBits, signed=signed))


def dequantize(integers: NDArray[Any], params: Params, *, axis: int = 0, dtype: Any = None) -> NDArray[Any]:
    """Integers to real numbers, float32 unless ``dtype`` says otherwise; computed in double precision."""
    import numpy as np

    integers = np.asarray(integers)
    zero, scale = _arrays(_listed(params), integers.shape, axis)
    return ((integers.astype(np.float64) - zero) * scale).astype(dtype or np.float32)


def _round(value: float) -> int:
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def _listed(params: Params) -> list[QuantParam]:
    listed = [params] if isinstance(params, QuantParam) else list(params)
    if not listed:
        raise InputError("at least one QuantParam is required")
    if len({param.numBits for param in listed}) > 1:
        raise InputError("the QuantParams of one tensor must share numBits")
    for param in listed:
        if not math.isfinite(param.scale) or param.scale < 0:
            raise InputError(f"scale must be finite and not negative, got {param.scale}")
    return listed


def _arrays(params: list[QuantParam], shape: tuple[int, ...], axis: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """zeroPoint and scale, shaped to broadcast against a tensor."""
    import numpy as np

    zero = np.array([param.zeroPoint for param in params], np.float64)
    scale = np.array([param.scale for param in params], np.float64)
    if len(params) == 1:
        return zero[0], scale[0]
    if not -len(shape) <= axis < len(shape) or shape[axis] != len(params):
        raise InputError(f"{len(params)} QuantParams need as many slices along axis {axis}, got dims {list(shape)}")
    column = [1] * len(shape)
    column[axis] = len(params)
    return zero.reshape(column), scale.reshape(column)
