"""Attributes of the operators that pick by index, make tensors or change their type."""

from __future__ import annotations

from ..enums import DataType, NodeType
from .base import Attributes, Floats, Long, struct


@struct(NodeType.GATHER)
class Gather(Attributes):
    """y = the slices of x along axis that indices name.

    x (…), indices (…) int32 or int64 in [0, d), axis () int32 → y (x before axis, indices, x after axis).
    """


@struct(NodeType.GATHER_ND)
class GatherNd(Attributes):
    """y = the parts of x at the index tuples.  x (…), indices (…, k) int32, k at most the rank → y (…, x from k on)."""


@struct(NodeType.SCATTER_ND)
class ScatterNd(Attributes):
    """y = zeros of the dims ``shape`` with updates written at the index tuples; of duplicates the last one stays.

    indices (…, k) int32, updates (…, y from k on), shape (r) int32.
    """


@struct(NodeType.SPARSE_TO_DENSE)
class SparseToDense(Attributes):
    """y = a tensor of the dims ``shape``, 0 (or the fourth input) but for values at the index tuples.

    indices (n,r) or (n) int32, values (n) or (), shape (r) int32, default () or left out.
    """


@struct(NodeType.ONE_HOT)
class OneHot(Attributes):
    """y = onValue at the index along a new dim of ``depth`` places, offValue elsewhere.

    indices (…) int32, depth () int32, onValue, offValue () → y with depth at ``axis``, -1 the last; an index outside
    [0, depth) gives offValue throughout.
    """

    axis: Long = -1


@struct(NodeType.FILL)
class Fill(Attributes):
    """y = a tensor of the dims ``shape`` full of one value.  value (), shape (r) int32: in this order."""


@struct(NodeType.CONSTANT_OF_SHAPE)
class ConstantOfShape(Attributes):
    """y = a tensor of the dims of the input, full of the one ``value``, of element type ``dataType``.

    shape (r) int.  dataType is a DataType number, or the C API's 1 to 12.
    """

    dataType: Long = int(DataType.FLOAT32)
    value: Floats = (0.0,)


@struct(NodeType.RANGE)
class Range(Attributes):
    """y (⌈(limit - start) / delta⌉) = start, start + delta, …

    With three inputs start, limit and delta () come from them; with one its content is not looked at and the attributes
    count, y int32.  ``dataType`` is reserved.
    """

    dataType: Long = 0
    start: Long = 0
    limit: Long = 0
    delta: Long = 1


@struct(NodeType.CAST)
class Cast(Attributes):
    """y = x in another element type, floats cut toward zero for integers, anything but 0 true for bool.

    x (…), type () int32: a constant DataType number, or the C API's 1 to 12.
    """


@struct(NodeType.ASSERT)
class Assert(Attributes):
    """The run fails where the condition is false.  condition () bool, then data, ``summarize`` elements of it shown."""

    summarize: Long = 0


@struct(NodeType.QUANT_DTYPE_CAST)
class QuantDTypeCast(Attributes):
    """y = x between float32, int8 and uint8 by the quantParams of the tensors.

    ``srcT`` and ``dstT`` are DataType numbers, or the C API's 1 to 12; dstT is the output tensor's.
    """

    srcT: Long = 0
    dstT: Long = 0


@struct(NodeType.QUANT_DTYPE_CAST_V2)
class QuantDTypeCastV2(Attributes):
    """y = x between float32, int8 and uint8, quantParams per tensor or per channel along ``axis``."""

    srcT: Long = 0
    dstT: Long = 0
    axis: Long = 0
