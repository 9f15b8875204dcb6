"""Twins of the operators that quantise, dequantise and requantise."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nnrt.enums import NodeType
from .index import type_of
from .quant import to_real, to_stored
from .registry import Array, Context, twin
from .rules import require


@twin(NodeType.QUANT_DTYPE_CAST, NodeType.QUANT_DTYPE_CAST_V2, stored=True)
def quant_dtype_cast(context: Context, p: Any, x: Array) -> Array:
    """y = x between floats and small integers, by the quantParams of the output or, without any, of the input.

    Between int8 and uint8 without two sets of parameters the numbers are only shifted by 128.
    """
    source, target = context.inputs[0], type_of(p.dstT, "dstT")
    type_of(p.srcT, "srcT")
    require(target == context.outputs[0].dtype, f"dstT must be the output's type, got {target}")
    require("b" not in (source.dtype.kind, target.kind), f"dstT cannot be {target} for x of {source.dtype}")
    if source.dtype.kind == target.kind == "f":
        return x
    axis = int(getattr(p, "axis", 0))
    own, other = source.quant, context.outputs[0].quant
    if target.kind == "f":
        require(bool(own or other), "quantParams are missing")
        return to_real(x, own or other, axis)
    if source.dtype.kind == "f":
        require(bool(own or other), "quantParams are missing")
        return to_stored(x, other or own, target, axis)
    if own and other:
        return to_stored(to_real(x, own, axis), other, target, axis)
    shift = 0 if source.dtype == target else 128 if target.kind == "u" else -128
    return np.asarray(x.astype(np.int16) + shift).astype(target)
