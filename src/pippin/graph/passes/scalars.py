"""What several rules ask about constants and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..ir import Node, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def scalar(value: Value | None) -> float | None:
    """The one element of a constant; None for anything else."""
    if value is None or value.data is None or value.data.size != 1:
        return None
    return float(value.data.reshape(-1)[0])


def same_shape(a: Value, b: Value) -> bool:
    """Whether both certainly have the same shape: equal sizes, or sizes of the same name."""
    return a.shape == b.shape


def along(constant: Value | None, x: Value, axis: int) -> NDArray[np.float64] | None:
    """The values of a constant that broadcasts over ``x`` along ``axis`` alone, as (1) or (size of the axis).

    None where it is no constant, varies along another axis or makes the result larger than ``x``.
    """
    import numpy as np

    if constant is None or constant.data is None or constant.rank > x.rank:
        return None
    axis %= x.rank
    shape = (1,) * (x.rank - constant.rank) + constant.data.shape
    if any(size != 1 for position, size in enumerate(shape) if position != axis):
        return None
    if shape[axis] not in (1, x.shape[axis]):
        return None
    return constant.data.reshape(-1).astype(np.float64)


def affine(node: Node, axis: int) -> tuple[Value, Any, Any] | None:
    """``node`` as x · scale + shift with constants along ``axis`` of x: x, scale, shift (float64, (1) or (C)).

    Add, Sub, Mul, Div with one constant operand, and BatchNormalization of channels in axis 1. None for anything else.
    """
    import numpy as np

    y = node.outputs[0]
    if y.dtype.kind != "f":
        return None
    one, zero = np.ones(1), np.zeros(1)
    if node.op == "BatchNormalization":
        x = node.inputs[0]
        if x is None or axis % max(x.rank, 1) != 1 or len(node.outputs) != 1:
            return None
        return _statistics(node, x)
    for index in (1, 0):
        x, other = node.inputs[1 - index], node.inputs[index]
        if x is None or x.data is not None or (index == 0 and node.op == "Div"):
            continue
        values = along(other, x, axis)
        if values is None:
            continue
        match node.op:
            case "Mul":
                return x, values, zero
            case "Div":
                with np.errstate(all="ignore"):
                    return x, 1 / values, zero
            case "Add":
                return x, one, values
            case "Sub":
                return (x, one, -values) if index == 1 else (x, -one, values)
    return None


def _statistics(node: Node, x: Value) -> tuple[Value, Any, Any] | None:
    import numpy as np

    arrays = [value.data for value in node.inputs[1:] if value is not None]
    if len(arrays) != 4 or any(array is None for array in arrays):
        return None
    gamma, beta, mean, variance = (np.asarray(array, np.float64) for array in arrays)
    with np.errstate(all="ignore"):
        scale = gamma / np.sqrt(variance + np.float64(node.attributes.get("epsilon", 1e-5)))
        return x, scale, beta - mean * scale


def finite(*arrays: Sequence[float] | NDArray[Any]) -> bool:
    """Whether float32 holds every value."""
    import numpy as np

    limit = float(np.finfo(np.float32).max)
    return all(bool((np.abs(array) <= limit).all()) for array in arrays)
