"""float16 and bfloat16 as functions on arrays and as operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

Precision = Literal["float16", "bfloat16"]

LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}
"""The largest number of each type."""
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The distance of 1 from the next number."""
ONNX = {"float16": 10, "bfloat16": 16}
"""The numbers of the types in ONNX."""


def rounded(values: NDArray[Any], kind: Precision) -> NDArray[Any]:
    """``values`` rounded to the nearest number of ``kind``, half to even, as float32; what is too large is infinite."""
    import numpy as np

    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        narrow = np.asarray(values, np.float32)
        if kind == "float16":
            return narrow.astype(np.float16).astype(np.float32)
        bits = np.ascontiguousarray(narrow).view(np.uint32)
        up = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
        result = ((bits + up) & np.uint32(0xFFFF0000)).view(np.float32).reshape(narrow.shape)
        return np.where(np.isnan(narrow), np.float32(np.nan), result)


def emit(g: Any, value: Any, kind: Precision) -> Any:
    """``value`` through a pair of casts, which no optimiser takes away."""
    return g.Cast(g.Cast(value, to=ONNX[kind]), to=1)


def is_exact(values: NDArray[Any], kind: Precision) -> bool:
    """Whether every number is one of ``kind`` already."""
    import numpy as np

    return bool(np.array_equal(rounded(values, kind), np.asarray(values, np.float32), equal_nan=True))
