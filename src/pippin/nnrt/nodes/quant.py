"""Changes of element type, with and without quantisation."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import CheckError
from ...graph.builder import Builder
from ...graph.ir import Value
from .. import attributes
from ..enums import DataType, NodeType
from ..types import QuantParam, Tensor, numpy_type, portable_type
from .base import NodeBuilder, axis_of, node, numbers
from .fill import choose

FLOATS = (DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64)
OFFSET = 128
"""Between int8 and uint8 without parameters."""


def dequantize(g: Builder, q: Value, params: Sequence[QuantParam], axis: int = 0) -> Value:
    """r = (q - zeroPoint) · scale, float32."""
    _, scale = _columns(g, q, params, axis)
    result: Value = g.Mul(levels(g, q, params, axis), scale)
    return result


def levels(g: Builder, q: Value, params: Sequence[QuantParam], axis: int = 0) -> Value:
    """q - zeroPoint: whole numbers, in float32."""
    zero, _ = _columns(g, q, params, axis)
    r = g.cast(q, "float32")
    return g.Sub(r, zero) if zero.data is not None and zero.data.any() else r


def quantize(g: Builder, r: Value, params: Sequence[QuantParam], dtype: str, axis: int = 0) -> Value:
    """q = clamp(round(r / scale + zeroPoint)), halves away from zero; a scale of 0 gives zeroPoint."""
    import numpy as np

    zero, scale = _columns(g, r, params, axis)
    assert scale.data is not None
    kind = np.iinfo(dtype)
    bits = params[0].numBits
    low, high = (0, (1 << bits) - 1) if kind.min == 0 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    low, high = max(low, kind.min), min(high, kind.max)
    divisor = g.constant(np.where(scale.data == 0, np.float32(np.inf), scale.data))
    steps = g.Add(g.Div(g.cast(r, "float32"), divisor), zero)
    rounded = g.Mul(g.Sign(steps), g.Floor(g.Add(g.Abs(steps), 0.5)))
    return g.cast(g.Clip(rounded, g.constant(low, "float32"), g.constant(high, "float32")), dtype)


def _columns(g: Builder, x: Value, params: Sequence[QuantParam], axis: int) -> tuple[Value, Value]:
    """zeroPoint and scale as constants that broadcast against x."""
    import numpy as np

    zero = np.array([param.zeroPoint for param in params], np.float32)
    scale = np.array([param.scale for param in params], np.float32)
    if len(params) == 1:
        return g.constant(zero[0]), g.constant(scale[0])
    axis = axis_of(axis, x.rank)
    if isinstance(x.shape[axis], int) and x.shape[axis] != len(params):
        raise CheckError(f"{len(params)} quantParams do not fit dim {axis} of {list(x.shape)}")
    column = [1] * x.rank
    column[axis] = len(params)
    return g.constant(zero.reshape(column)), g.constant(scale.reshape(column))


@node(NodeType.QUANT_DTYPE_CAST, NodeType.QUANT_DTYPE_CAST_V2, quantized="raw")
def quant_dtype_cast(g: NodeBuilder, p: attributes.QuantDTypeCast | attributes.QuantDTypeCastV2, x: Value) -> Value:
    """y = x between float32, int8 and uint8 by the quantParams of the output, or else of the input.

    x (…) → y of the type dstT, which must be the output's: q = clamp(round(r / scale + zeroPoint)), halves away from
    zero; r = (q - zeroPoint) · scale.  Between int8 and uint8 without parameters 128 is added or taken away.  Several
    parameters lie along ``axis`` (V2), else along the first dim.
    """
    source, target = g.node.inputs[0], g.node.outputs[0]
    axis = p.axis if isinstance(p, attributes.QuantDTypeCastV2) else 0
    wanted = _type(p.dstT, "dstT")
    if target.dataType not in (wanted, DataType.UNKNOWN):
        raise CheckError(f"dstT must be the output's {DataType(target.dataType).name}, got {wanted.name}")
    if p.srcT:
        _type(p.srcT, "srcT")
    name = numpy_type(wanted).name
    if source.dataType in FLOATS and wanted in FLOATS:
        return g.cast(x, name)
    if source.dataType in FLOATS:
        return quantize(g, x, _params(target, source), name, axis)
    if wanted in FLOATS:
        return g.cast(dequantize(g, x, source.quantParams or _params(target, source), axis), name)
    if source.quantParams and target.quantParams:
        return quantize(g, dequantize(g, x, source.quantParams, axis), target.quantParams, name, axis)
    if source.dataType == wanted:
        return x
    shift = OFFSET if wanted == DataType.UINT8 else -OFFSET
    return g.cast(g.Add(g.cast(x, "int32"), shift), name)


def _params(first: Tensor, second: Tensor) -> Sequence[QuantParam]:
    params = first.quantParams or second.quantParams
    if not params:
        raise CheckError("the input or the output must have quantParams")
    return params


def _type(number: int, what: str) -> DataType:
    try:
        return portable_type(number)
    except ValueError as error:
        raise CheckError(f"{what}: {error}") from None


@node(NodeType.CAST)
def cast(g: NodeBuilder, p: attributes.Cast, x: Value, kind: Value) -> Value:
    """y = x in the type that the second input names.

    x (…), type () int32, a constant: a DataType number, or the C API's 1 to 12 → y (…).  Floats are cut toward zero;
    NaN becomes 0, what lies beyond an integer type its nearest number; anything but 0 is true.
    """
    import numpy as np

    listed = numbers(kind, "type")
    if len(listed) != 1:
        raise CheckError(f"the type must be one number, got {listed}")
    target = numpy_type(_type(listed[0], "type"))
    if x.dtype.kind == "f" and target.kind in "iu":
        bounds = np.iinfo(target)
        x = x if x.dtype.name == "float64" else g.cast(x, "float64")
        high = float(bounds.max) if bounds.bits < 64 else np.nextafter(float(bounds.max), 0)
        cut = g.Where(g.IsNaN(x), g.constant(0.0, "float64"), g.Max(g.Min(x, high), float(bounds.min)))
        if bounds.bits < 64:
            return g.cast(cut, target)
        # the greatest float below the end of the type is not the type's greatest number
        return choose(g, g.Greater(x, high), g.constant(bounds.max, target), g.cast(cut, target))
    return g.cast(x, target)
