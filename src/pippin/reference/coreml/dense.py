"""Twins of the fully connected and the embedding layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import RunError
from .int8 import dynamic_product
from .registry import Array, Context, twin
from .rules import blob, need_rank, require


@twin("innerProduct")
def inner_product(context: Context, params: Any, x: Array) -> Array:
    """y = W x + b

    Ranks 1 to 3: x [...,C_in] → [...,C_out]; 4 and 5: the last three axes are one vector, x [...,C,H,W] with
    C·H·W = C_in → [...,C_out,1,1]. Weights [C_out,C_in].

    ``int8DynamicQuantize``: see ``int8.dynamic_product``; the scale of x is that of the whole input.
    """
    need_rank(x, 1, 5)
    wide, out = int(params.inputChannels), int(params.outputChannels)
    rows = x.reshape(*x.shape[:-3], -1) if x.ndim > 3 else x
    require(rows.shape[-1] == wide, f"inputChannels must be {rows.shape[-1]} for this input, got {wide}")
    if params.int8DynamicQuantize:
        y = dynamic_product(context, params.weights, (out, wide), rows)
    else:
        y = rows @ blob(context, params, "weights", out, wide).T
    if params.hasBias:
        y = y + blob(context, params, "bias", out)
    return y[..., None, None] if x.ndim > 3 else y


@twin("embedding")
def embedding(context: Context, params: Any, x: Array) -> Array:
    """y = W[:, x] + b

    x [...,1,1,1] of rank 4 or 5, whole numbers in [0, inputDim) → [...,C_out,1,1]; weights [C_out,inputDim].
    """
    need_rank(x, 4, 5)
    require(x.shape[-3:] == (1, 1, 1), f"input must end in three axes of 1, got {list(x.shape)}")
    size, out = int(params.inputDim), int(params.outputChannels)
    table = blob(context, params, "weights", out, size)
    index = x[..., 0, 0, 0].astype(np.int64)
    if index.size and (index.min() < 0 or index.max() >= size):
        raise RunError(f"an index must lie in [0, {size - 1}], got {index.min()} to {index.max()}")
    y = table.T[index]
    if params.hasBias:
        y = y + blob(context, params, "bias", out)
    return y[..., None, None]
