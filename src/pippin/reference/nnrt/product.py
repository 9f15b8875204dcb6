"""Twins of the matrix products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...nnrt.enums import NodeType
from .activation import fused
from .registry import Array, Context, twin
from .rules import as_shape, count, need_number, need_rank, require


@twin(NodeType.FULL_CONNECTION)
def full_connection(context: Context, p: Any, x: Array, weight: Array, *bias: Array) -> Array:
    """y = act(x wᵀ + bias), x cut at ``axis`` or, without ``useAxis``, into rows of K."""
    count((weight, *bias), 3 if p.hasBias else 2)
    need_number(x, weight)
    need_rank(weight, 2, name="weight")
    out, depth = weight.shape
    if p.useAxis:
        require(1 <= p.axis <= x.ndim, f"axis must lie in [1, {x.ndim}], got {p.axis}")
        leading = x.shape[: p.axis]
        fits = math.prod(x.shape[p.axis :]) == depth
        require(fits, f"weight dims {list(weight.shape)} do not fit x {list(x.shape)} from axis {p.axis} on")
    else:
        require(p.axis == 0, f"axis must be 0 without useAxis, got {p.axis}")
        require(depth > 0 and x.size % depth == 0, f"weight dims {list(weight.shape)} do not fit x {list(x.shape)}")
        leading = (x.size // depth,)
    y = x.reshape(*leading, depth) @ weight.T
    for values in bias:
        require(values.shape == (out,), f"bias must have dims [{out}], got {list(values.shape)}")
        y = y + values
    return fused(y, p.activationType)


@twin(NodeType.MATMUL_FUSION)
def matmul(context: Context, p: Any, a: Array, b: Array, *bias: Array) -> Array:
    """y = act(op(a) op(b) + bias): leading dims broadcast, a vector is a row before and a column behind."""
    count((b, *bias), 2, 3)
    need_number(a, b)
    require(min(a.ndim, b.ndim) > 0, "the operands must have a rank of 1 or more")
    left = a.swapaxes(-1, -2) if p.transposeA and a.ndim > 1 else a
    right = b.swapaxes(-1, -2) if p.transposeB and b.ndim > 1 else b
    depth = right.shape[0] if right.ndim == 1 else right.shape[-2]
    require(left.shape[-1] == depth, f"the dims {list(a.shape)} and {list(b.shape)} do not fit a matrix product")
    try:
        as_shape(np.broadcast_shapes(left.shape[:-2], right.shape[:-2]))
    except ValueError:
        require(False, f"the leading dims must broadcast, got {list(a.shape)} and {list(b.shape)}")
    y = np.asarray(left @ right)
    for values in bias:
        fits = y.ndim > 0 and values.size == y.shape[-1]
        require(fits, f"bias must hold {y.shape[-1:]} numbers, got dims {list(values.shape)}")
        y = y + values.reshape(-1)
    return fused(y, p.activationType)
