"""Layers that change the shape or the order of the axes and leave the values as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import CheckError
from .arrays import Array, as_axes, as_axis, as_shape, integers
from .registry import Context, twin


@twin("getShape")
def get_shape(context: Context, params: Any, x: Array) -> Array:
    """y = the dims of x, a vector. Source: GetShapeLayerParams."""
    return np.asarray(x.shape, np.float64)


@twin("transpose")
def transpose(context: Context, params: Any, x: Array) -> Array:
    """Axis i of y is axis axes[i] of x. Source: TransposeLayerParams.

    Three axes for (1,C,H,W), an image in coremltools' make_image_input, mean (C,H,W): decided where the text is silent.
    """
    if x.ndim == 4 and x.shape[0] == 1 and sorted(params.axes) == [0, 1, 2]:
        x = x[0]
    if sorted(params.axes) != list(range(x.ndim)):
        raise CheckError(f"axes must be a permutation of 0 to {x.ndim - 1}, got {list(params.axes)}")
    return np.transpose(x, list(params.axes))


@twin("expandDims")
def expand_dims(context: Context, params: Any, x: Array) -> Array:
    """Dims of 1 at the places in ``axes``, which count in the output. Source: ExpandDimsLayerParams."""
    new = as_axes(params.axes, x.ndim + len(params.axes))
    dims = iter(x.shape)
    return x.reshape([1 if axis in new else next(dims) for axis in range(x.ndim + len(new))])


@twin("squeeze")
def squeeze(context: Context, params: Any, x: Array) -> Array:
    """Without the dims of 1 named in ``axes``, or without any of them (``squeezeAll``).

    One dim is always left: (1,) stays (1,), and so (1, 1) becomes (1,). Source: SqueezeLayerParams.
    """
    if params.squeezeAll:
        gone = [axis for axis, dim in enumerate(x.shape) if dim == 1]
    else:
        gone = as_axes(params.axes, x.ndim)
        if any(x.shape[axis] != 1 for axis in gone):
            raise CheckError(f"axes must name dims of 1, got {list(params.axes)} for shape {list(x.shape)}")
    return x.reshape([dim for axis, dim in enumerate(x.shape) if axis not in gone] or [1])


@twin("flattenTo2D")
def flatten_to_2d(context: Context, params: Any, x: Array) -> Array:
    """(dims before ``axis``, dims from ``axis`` on), each multiplied up; the rank itself is a valid axis.

    Source: FlattenTo2DLayerParams.
    """
    axis = x.ndim if params.axis == x.ndim else as_axis(params.axis, x.ndim)
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@twin("reshapeLike")
def reshape_like(context: Context, params: Any, x: Array, like: Array) -> Array:
    """The values of x in the shape of the second input. Source: ReshapeLikeLayerParams."""
    return _reshape(x, like.shape)


@twin("reshapeStatic")
def reshape_static(context: Context, params: Any, x: Array) -> Array:
    """The values of x in ``targetShape``, where one dim may be -1: what is left. Source: ReshapeStaticLayerParams."""
    if not params.targetShape:
        raise CheckError("targetShape must hold at least one dim, got none")
    return _reshape(x, params.targetShape)


@twin("reshapeDynamic")
def reshape_dynamic(context: Context, params: Any, x: Array, shape: Array) -> Array:
    """The values of x in the shape that the second input holds; one dim may be -1.

    Source: ReshapeDynamicLayerParams.
    """
    return _reshape(x, integers(shape, "shape"))


@twin("rankPreservingReshape")
def rank_preserving_reshape(context: Context, params: Any, x: Array) -> Array:
    """The values of x in ``targetShape`` of the same rank: 0 keeps the dim of x, one -1 is what is left.

    Source: RankPreservingReshapeLayerParams.
    """
    if len(params.targetShape) != x.ndim:
        raise CheckError(f"targetShape must hold {x.ndim} dims, the rank of the input, got {list(params.targetShape)}")
    return _reshape(x, [dim or kept for dim, kept in zip(params.targetShape, x.shape, strict=True)])


def _reshape(x: Array, target: Sequence[int]) -> Array:
    shape = list(target)
    if shape.count(-1) > 1 or any(dim < -1 for dim in shape):
        raise CheckError(f"targetShape may hold one -1 and no other negative dim, got {shape}")
    if -1 in shape:
        known = math.prod(dim for dim in shape if dim != -1)
        if not known or x.size % known:
            raise CheckError(f"targetShape {shape} leaves no whole dim for -1: the input has {x.size:,} elements")
        shape[shape.index(-1)] = x.size // known
    if math.prod(shape) != x.size:
        raise CheckError(f"targetShape {shape} holds {math.prod(shape):,} elements, the input {x.size:,}")
    return x.reshape(as_shape(shape))


@twin("stack")
def stack(context: Context, params: Any, *inputs: Array) -> Array:
    """The inputs side by side along a new axis, which counts in the output. Source: StackLayerParams."""
    _several(inputs)
    shape = _same_shapes(inputs)
    as_shape([len(inputs), *shape])
    return np.stack(inputs, as_axis(params.axis, len(shape) + 1))


@twin("concatND")
def concat_nd(context: Context, params: Any, *inputs: Array) -> Array:
    """The inputs one after the other along ``axis``, or taking turns (``interleave``).

    interleave: y[k::n] = x_k along the axis, for n inputs of one shape. A scalar has any rank: real files join [1] to
    [1,1]. Source: ConcatNDLayerParams.
    """
    _several(inputs)
    ranks = [x.ndim for x in inputs if x.size != 1] or [min(x.ndim for x in inputs)]
    inputs = tuple(x.reshape((1,) * ranks[0]) if x.size == 1 else x for x in inputs)
    first = inputs[0].shape
    axis = as_axis(params.axis, len(first))
    if params.interleave:
        shape = list(_same_shapes(inputs))
        shape[axis] *= len(inputs)
        return np.stack(inputs, axis + 1).reshape(as_shape(shape))
    for other in inputs[1:]:
        if other.ndim != len(first) or any(
            a != b for i, (a, b) in enumerate(zip(first, other.shape, strict=True)) if i != axis
        ):
            raise CheckError(
                f"inputs must agree on all dims but axis {axis}, got {list(first)} and {list(other.shape)}"
            )
    as_shape([sum(array.size for array in inputs)])
    return np.concatenate(inputs, axis)


def _several(inputs: tuple[Array, ...]) -> None:
    if len(inputs) < 2:
        raise CheckError(f"must have at least 2 inputs, got {len(inputs)}")


def _same_shapes(inputs: tuple[Array, ...]) -> tuple[int, ...]:
    for other in inputs[1:]:
        if other.shape != inputs[0].shape:
            raise CheckError(f"inputs must have one shape, got {list(inputs[0].shape)} and {list(other.shape)}")
    return inputs[0].shape


@twin("splitND")
def split_nd(context: Context, params: Any, x: Array) -> tuple[Array, ...]:
    """Parts of x along ``axis``: of the sizes in ``splitSizes``, or ``numSplits`` of them.

    numSplits: equal parts; what does not divide makes the first ones longer by one. Source: SplitNDLayerParams.
    """
    axis = as_axis(params.axis, x.ndim)
    sizes = list(params.splitSizes)
    name = "splitSizes" if sizes else "numSplits"
    count = len(sizes) or params.numSplits
    if count < 2:
        raise CheckError(f"{name} must make at least 2 parts, got {count}")
    if count != context.outputs:
        raise CheckError(f"{name} makes {count} parts, the layer has {context.outputs} outputs")
    if not sizes:
        return tuple(np.array_split(x, count, axis))
    if sum(sizes) != x.shape[axis]:
        raise CheckError(f"splitSizes must add up to {x.shape[axis]}, the size of axis {axis}, got {sizes}")
    return tuple(np.split(x, np.cumsum(sizes)[:-1].tolist(), axis))
