"""Layers that change the shape or the order of the axes and leave the values alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...errors import CheckError, UnsupportedError
from ...graph.builder import RESHAPES, Size
from ...graph.ir import Value
from ..integers import LIMIT, RANK, alike, elements, shape_vector, traced
from ..lowering import Context, axis_of, lowering, require


@lowering("reshapeStatic", integers=True)
def reshape_static(g: Context, p: Any, x: Value) -> Value:
    """The same values in the shape ``targetShape``; at most one size is -1 and follows from the others.

    x (…) → y (targetShape). Source: ReshapeStaticLayerParams.
    """
    return reshape(g, x, [int(size) for size in p.targetShape], "targetShape")


@lowering("rankPreservingReshape", integers=True)
def rank_preserving_reshape(g: Context, p: Any, x: Value) -> Value:
    """The same values in another shape of the same rank.

    A 0 in ``targetShape`` keeps the size of that axis; at most one -1 follows from the others.
    x (…) → y (targetShape). Source: RankPreservingReshapeLayerParams.
    """
    target = [int(size) for size in p.targetShape]
    require(
        len(target) == x.rank, f"targetShape must hold {x.rank} sizes for an input of rank {x.rank}, got {len(target)}"
    )
    sizes: list[Size] = [g.size(x, axis) if size == 0 else size for axis, size in enumerate(target)]
    return reshape(g, x, sizes, "targetShape")


@lowering("reshapeDynamic", integers=True)
def reshape_dynamic(g: Context, p: Any, x: Value, shape: Value) -> Value:
    """The same values in the shape that the second input holds; at most one size is -1 and follows from the others.

    x (…), shape (R) → y of rank R. R must be known. Source: ReshapeDynamicLayerParams.
    """
    shape = shape_vector(g, shape, "the shape, the second input,")
    if traced(shape):
        return reshape(g, x, elements(g, shape), "the shape, the second input,")
    return g.Reshape(x, shape)


@lowering("reshapeLike", integers=True)
def reshape_like(g: Context, p: Any, x: Value, like: Value) -> Value:
    """The values of the first input in the shape of the second.

    x (…), like (…) → y (the shape of like). Source: ReshapeLikeLayerParams.
    """
    if sum(isinstance(dim, str) for dim in like.shape) < 2:
        return reshape(g, x, g.sizes(like), "the shape of the second input")
    result: Value = g.Reshape(x, g.Shape(like), allowzero=1)
    result.shape = like.shape
    return result


def reshape(g: Context, x: Value, sizes: Sequence[Size], field: str) -> Value:
    """Reshape with the rules of the format: at most one -1, and the number of values stays."""
    known = [size for size in sizes if isinstance(size, int)]
    require(bool(sizes), f"{field} must not be empty")
    require(len(sizes) <= RANK, f"{field} must hold at most {RANK} sizes, got {len(sizes)}")
    require(min(known, default=0) >= -1, f"{field} must hold sizes, or -1 once, got {known}")
    require(known.count(-1) <= 1, f"{field} must hold -1 at most once, got {known}")
    if x.static and len(known) == len(sizes):
        total, wanted = math.prod(int(dim) for dim in x.shape), math.prod(size for size in known if size >= 0)
        fits = (wanted > 0 and total % wanted == 0) if -1 in known else total == wanted
        require(fits, f"{field} must hold the {total:,} values of the input {list(x.shape)}, got {known}")
    if -1 in sizes and 0 in sizes:
        raise CheckError(f"{field} must not hold both 0 and -1, got {known}")
    return g.reshape(x, sizes)


@lowering("flattenTo2D", integers=True)
def flatten_to_2d(g: Context, p: Any, x: Value) -> Value:
    """A matrix: the axes before ``axis`` become the rows, the others the columns.

    x (D₀,…) → y (Π D[:axis], Π D[axis:]); -rank ≤ axis ≤ rank. Source: FlattenTo2DLayerParams.
    """
    require(
        -x.rank <= p.axis <= x.rank,
        f"axis must lie in [{-x.rank}, {x.rank}] for an input of rank {x.rank}, got {p.axis}",
    )
    return g.Flatten(x, axis=p.axis)


@lowering("expandDims", integers=True)
def expand_dims(g: Context, p: Any, x: Value) -> Value:
    """Adds axes of size 1; ``axes`` are positions in the result.

    x of rank R → y of rank R + len(axes). Source: ExpandDimsLayerParams.
    """
    axes = [int(axis) for axis in p.axes]
    require(len(axes) <= RANK, f"axes must hold at most {RANK} axes, got {len(axes)}")
    positions = unique(axes, x.rank + len(axes), "an output")
    if x.static and reshaped(x):
        sizes = [int(dim) for dim in x.shape]
        for axis in sorted(positions):
            sizes.insert(axis, 1)
        return g.reshape(x, sizes)
    return g.Unsqueeze(x, axes)


@lowering("squeeze", integers=True)
def squeeze(g: Context, p: Any, x: Value) -> Value:
    """Removes axes of size 1: ``axes``, or with ``squeezeAll`` each one.

    x of rank R → y of rank R - len(axes), at least 1. Source: SqueezeLayerParams.
    """
    if p.squeezeAll:
        if not x.static:
            raise UnsupportedError(f"squeezeAll needs sizes that are known, got {list(x.shape)}")
        axes = [axis for axis, dim in enumerate(x.shape) if dim == 1]
    else:
        axes = unique(p.axes, x.rank, "an input")
        found = [x.shape[axis] for axis in axes]
        require(all(isinstance(dim, str) or dim == 1 for dim in found), f"axes must name axes of size 1, got {found}")
    if len(axes) == x.rank:  # no blob has rank 0
        axes = axes[:-1]
    if axes and x.static and reshaped(x):
        return g.reshape(x, [int(dim) for axis, dim in enumerate(x.shape) if axis not in axes])
    return g.Squeeze(x, axes) if axes else x


def reshaped(x: Value) -> bool:
    """Whether ``x`` is another value in another shape: then one Reshape does for both."""
    return x.node is not None and x.node.op in RESHAPES


def unique(values: Sequence[int], rank: int, of: str) -> list[int]:
    """``axes`` counted from 0; raises ``CheckError`` if one lies outside or stands twice, or there are none."""
    require(len(values) > 0, "axes must not be empty")
    for axis in values:
        require(-rank <= axis < rank, f"axes must lie in [{-rank}, {rank}) for {of} of rank {rank}, got {list(values)}")
    axes = [axis % rank for axis in values]
    require(len(set(axes)) == len(axes), f"axes must be unique, got {list(values)}")
    return axes


@lowering("transpose", integers=True)
def transpose(g: Context, p: Any, x: Value) -> Value:
    """Reorders the axes: axis i of the result is axis ``axes[i]`` of the input.

    x (D₀,…) → y (D[axes[0]],…). Differs: three axes for an input (1,C,H,W) are those of (C,H,W), and y has rank 3:
    coremltools writes that where it turns an input (H,W,C) into an image. Source: TransposeLayerParams.
    """
    axes = [int(axis) for axis in p.axes]
    if x.rank == 4 and len(axes) == 3 and x.shape[0] == 1 and sorted(axes) == [0, 1, 2]:
        x = g.reshape(x, g.sizes(x)[1:])
    require(
        sorted(axes) == list(range(x.rank)),
        f"axes must be a permutation of 0 to {x.rank - 1} for an input of rank {x.rank}, got {axes}",
    )
    return x if axes == sorted(axes) else g.Transpose(x, perm=axes)


@lowering("getShape", integers=True)
def get_shape(g: Context, p: Any, x: Value) -> Value:
    """The shape of the input as a vector of whole numbers.

    x of rank R → y (R). Source: GetShapeLayerParams.
    """
    return g.vector(g.sizes(x)) if x.static else g.Shape(x)


@lowering("concatND", integers=True)
def concat_nd(g: Context, p: Any, *inputs: Value) -> Value:
    """Joins tensors along ``axis``; with ``interleave`` their slices take turns.

    n x (…,Dᵢ,…) → y (…,ΣDᵢ,…); interleave: equal shapes, y[n·k + i] = xᵢ[k] along the axis.
    Source: ConcatNDLayerParams.
    """
    require(len(inputs) >= 2, f"the layer must have at least 2 inputs, got {len(inputs)}")
    # a scalar has one element and any rank on a device: it joins tensors of another rank
    single = [x.static and math.prod(int(dim) for dim in x.shape) == 1 for x in inputs]
    others = [x.rank for x, alone in zip(inputs, single, strict=True) if not alone]
    rank = max(others) if others else min(x.rank for x in inputs)
    inputs = tuple(
        g.reshape(x, [1] * rank) if alone and x.rank != rank else x for x, alone in zip(inputs, single, strict=True)
    )
    axis = axis_of(p.axis, rank)
    same_shape(inputs, but=None if p.interleave else axis)
    if not p.interleave:
        return g.Concat(*alike(g, *inputs), axis=axis)
    joined = g.Concat(*(g.Unsqueeze(x, [axis + 1]) for x in alike(g, *inputs)), axis=axis + 1)
    sizes = g.sizes(inputs[0])
    sizes[axis] = g.product([sizes[axis], len(inputs)])
    return g.reshape(joined, sizes)


@lowering("stack", integers=True)
def stack(g: Context, p: Any, *inputs: Value) -> Value:
    """Joins tensors of one shape along a new axis.

    n x (…) → y (…,n,…), n at ``axis``, counted in the result. Source: StackLayerParams.
    """
    require(len(inputs) >= 2, f"the layer must have at least 2 inputs, got {len(inputs)}")
    same_shape(inputs)
    axis = axis_of(p.axis, inputs[0].rank + 1)
    return g.Concat(*(g.Unsqueeze(x, [axis]) for x in alike(g, *inputs)), axis=axis)


def same_shape(inputs: Sequence[Value], but: int | None = None) -> None:
    """Raises ``CheckError`` unless the shapes are equal, except at the axis ``but``."""
    shapes = [list(x.shape) for x in inputs]
    ranks = {len(shape) for shape in shapes}
    require(len(ranks) == 1, f"the inputs must have the same rank, got shapes {shapes}")
    for axis in range(ranks.pop()):
        sizes = {shape[axis] for shape in shapes if isinstance(shape[axis], int)}
        rest = "" if but is None else " but for the axis"
        require(len(sizes) <= 1 or axis == but, f"the inputs must have the same shape{rest}, got {shapes}")


@lowering("splitND", integers=True)
def split_nd(g: Context, p: Any, x: Value) -> Any:
    """Cuts a tensor along ``axis`` into parts of ``splitSizes``, or into ``numSplits`` equal parts.

    x (…,D,…) → (…,Dᵢ,…) for each output, ΣDᵢ = D. What a division leaves over makes the first parts longer by one.
    Source: SplitNDLayerParams (silent on a remainder; as numpy.array_split).
    """
    axis = axis_of(p.axis, x.rank)
    sizes = [int(size) for size in p.splitSizes]
    count, size = len(sizes) or int(p.numSplits), g.size(x, axis)
    field = "splitSizes" if sizes else "numSplits"
    require(count == g.output_count, f"{field} must be for the {g.output_count} outputs of the layer, got {count}")
    require(count > 1, f"{field} must make at least 2 outputs, got {count}")
    if sizes:
        fits = isinstance(size, Value) or sum(sizes) == size
        require(fits, f"splitSizes must add up to {size}, the size of axis {axis}, got {sizes}")
        return g.Split(x, sizes, axis=axis, outputs=count)
    if isinstance(size, int) and size % count == 0:
        return g.Split(x, axis=axis, num_outputs=count, outputs=count)
    # the i-th of n parts has (D + n - 1 - i) / n elements
    longest = list(range(count - 1, -1, -1))
    return g.Split(x, g.Div(g.Add(g.vector([size]), longest), count), axis=axis, outputs=count)


@lowering("tile", integers=True)
def tile(g: Context, p: Any, x: Value, reps: Value | None = None) -> Value:
    """Repeats a tensor along each axis.

    x (Dᵢ) → y (Dᵢ·repsᵢ); ``reps``, or the second input, gets ones in front up to the rank. Source: TileLayerParams.
    """
    if reps is None:
        counts: list[Size] = [int(count) for count in p.reps]
    else:
        counts = elements(g, shape_vector(g, reps, "reps, the second input,"))
    require(1 <= len(counts) <= x.rank, f"reps must hold 1 to {x.rank} numbers, got {len(counts)}")
    known = [count for count in counts if isinstance(count, int)]
    require(all(0 <= count < 1 << 31 for count in known), f"reps must not hold negative numbers, got {known}")
    sizes = [dim for dim in x.shape if isinstance(dim, int)]
    require(math.prod(known) * math.prod(sizes) < LIMIT, f"reps asks for a tensor that is absurdly large: {known}")
    counts = [*[1] * (x.rank - len(counts)), *counts]
    return x if all(count == 1 for count in counts) else g.Tile(x, g.vector(counts))


@lowering("copy", layout="same")
def copy(g: Context, p: Any, x: Value) -> Value:
    """y = x; the only layer that may give a blob anew that is there already.

    x (…) → y same shape, float. Source: CopyLayerParams.
    """
    (source,), (target,) = g.layer.input, g.layer.output
    require(source != target, f"input and output must have distinct names, got {source!r}")
    return x
