"""Attributes of the operators that change dims and move elements without computing on them."""

from __future__ import annotations

from ..enums import NodeType, PaddingMode
from .base import Attributes, Float, Long, LongRows, Longs, PaddingField, struct


@struct(NodeType.RESHAPE)
class Reshape(Attributes):
    """y = the elements of x under new dims.

    x (…), shape (r) int; one -1 takes what is left, a 0 keeps the dim of x at its place.
    """


@struct(NodeType.TRANSPOSE)
class Transpose(Attributes):
    """y = x with its dims in the order ``perm``.  x (…), perm (r) int32; an empty one reverses them."""


@struct(NodeType.SQUEEZE)
class Squeeze(Attributes):
    """y = x without the dims ``axis``, each of them 1; an empty list drops every 1."""

    axis: Longs = ()


@struct(NodeType.UNSQUEEZE)
class Unsqueeze(Attributes):
    """y = x with a dim of 1 at each place of ``axis``, counted in the dims of y."""

    axis: Longs = ()


@struct(NodeType.EXPAND_DIMS)
class ExpandDims(Attributes):
    """y = x with a dim of 1 at ``axis``.  x (…), axis () int32 in [-r-1, r]."""


@struct(NodeType.FLATTEN)
class Flatten(Attributes):
    """y (d₀…d_axis-1, d_axis…dₙ) = x with the dims before ``axis`` and those from it on joined."""

    axis: Long = 1


@struct(NodeType.CONCAT)
class Concat(Attributes):
    """y = the inputs one after another along ``axis``; their other dims are equal."""

    axis: Long = 0


@struct(NodeType.SPLIT)
class Split(Attributes):
    """x cut along ``axis`` into ``outputNum`` tensors of ``sizeSplits``: none means equal parts, a last -1 the rest."""

    outputNum: Long = 0
    sizeSplits: Longs = ()
    axis: Long = 0


@struct(NodeType.STACK)
class Stack(Attributes):
    """y = the inputs, all of equal dims, along a new dim at ``axis``."""

    axis: Long = 0


@struct(NodeType.UNSTACK)
class Unstack(Attributes):
    """x cut into its d_axis slices along ``axis``, each without that dim."""

    axis: Long = 0


@struct(NodeType.SLICE_FUSION)
class SliceFusion(Attributes):
    """y = size elements from begin on, along each of ``axes`` (empty: the first ones in order).

    x (…), begin (k), size (k) int32; a size of -1 goes to the end.
    """

    axes: Longs = ()


@struct(NodeType.STRIDED_SLICE)
class StridedSlice(Attributes):
    """y = x from begin to end by strides along the leading dims.

    x (…), begin, end, strides (k) int32, negative places from the end.  Bit i of a mask is about entry i: beginMask and
    endMask take the whole side, ellipsisMask the whole dim, newAxisMask inserts a 1 instead, shrinkAxisMask takes the
    one element at begin and drops the dim.  An end beyond the dim is refused.
    """

    beginMask: Long = 0
    endMask: Long = 0
    ellipsisMask: Long = 0
    newAxisMask: Long = 0
    shrinkAxisMask: Long = 0


@struct(NodeType.CROP)
class Crop(Attributes):
    """y = x cut, from ``axis`` on, to the dims of the second input, beginning at ``offset``.

    x (…), reference of the same rank, of which only the dims count; one offset serves all axes.
    """

    axis: Long = 0
    offset: Longs = ()


@struct(NodeType.TILE_FUSION)
class TileFusion(Attributes):
    """y = x repeated; multiples[i] times along axis ``dims[i]`` (empty: the first ones in order).  multiples (k) int32.

    Differs: the text calls dims the repeat counts; kernels and their tests take them as axes.
    """

    dims: Longs = ()


@struct(NodeType.BROADCAST_TO)
class BroadcastTo(Attributes):
    """y = x broadcast to ``shape`` as NumPy does; -1 keeps a dim."""

    shape: Longs = ()


@struct(NodeType.PAD_FUSION)
class PadFusion(Attributes):
    """y = x with a border, filled as ``paddingMode`` says.

    x (d₀ … dₙ), paddings (n,2) int32: cells before and after each dim; with one input the attribute's ``paddings``.
    """

    paddings: LongRows = ()
    paddingMode: PaddingField = PaddingMode.CONSTANT
    constantValue: Float = 0.0


@struct(NodeType.SHAPE)
class Shape(Attributes):
    """y (r) int32 = the dims of x."""


@struct(NodeType.RANK)
class Rank(Attributes):
    """y () int32 = the number of dims of x."""
