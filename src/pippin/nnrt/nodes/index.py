"""Operators that look elements up by index, place them by index, or tell where they are."""

from __future__ import annotations

from ...errors import CheckError
from ...graph.composites.scatter import scatter_nd
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType
from .base import NodeBuilder, axis_of, emit, node, numbers
from .fill import blank, choose, filled, scalar
from .quant import dequantize


def _places(g: NodeBuilder, indices: Value, size: int | str | None = None) -> Value:
    """Indices as int64; CheckError where they are no integers, or constants beyond a known size."""
    if indices.dtype.kind not in "iu":
        raise CheckError(f"the indices must be integers, got {indices.dtype}")
    data = indices.data
    if data is not None and data.size and isinstance(size, int) and not -size <= data.min() <= data.max() < size:
        raise CheckError(f"the indices must lie within a dim of {size}, got {data.min()} to {data.max()}")
    return g.cast(indices, "int64")


@node(NodeType.GATHER, quantized="move")
def gather(g: NodeBuilder, p: attributes.Gather, x: Value, indices: Value, axis: Value) -> Value:
    """y = the slices of x along axis that indices name.

    x (…), indices (I…) int32 or int64, axis () int32, a constant → y (x before axis, I…, x after axis).  Indices below
    0 count from the end; one beyond the dim is refused, or fails the run (FAILED).
    """
    listed = numbers(axis, "axis")
    if len(listed) != 1:
        raise CheckError(f"the axis must be one integer, got {listed}")
    if not x.rank:
        raise CheckError("a scalar has no axis to gather along")
    place = axis_of(listed[0], x.rank)
    result: Value = g.Gather(x, _places(g, indices, x.shape[place]), axis=place)
    return result


def _tuples(g: NodeBuilder, indices: Value, rank: int, implied: int | None) -> tuple[Value, int]:
    """Index tuples as int64, and how many leading dims one names: as the dims say, or as what else is there implies."""
    if not indices.rank:
        raise CheckError("the indices must have 1 dim at least")
    depth = indices.shape[-1] if isinstance(indices.shape[-1], int) else implied
    if depth is None:
        raise CheckError(f"the last dim of the indices must be known, got {list(indices.shape)}")
    if not 1 <= depth <= rank:
        raise CheckError(f"the last dim of the indices must be 1 to {rank}, got {depth}")
    return g.reshape(_places(g, indices), [*g.sizes(indices)[:-1], depth]), depth


@node(NodeType.GATHER_ND, quantized="move")
def gather_nd(g: NodeBuilder, p: attributes.GatherNd, x: Value, indices: Value) -> Value:
    """y = the parts of x at the index tuples.

    x (…), indices (I…,k) int32 or int64, k at most the rank → y (I…, x from dim k on).  Indices below 0 count from the
    end; one beyond its dim fails the run (FAILED).
    """
    declared = len(g.node.outputs[0].dims)
    implied = x.rank + indices.rank - 1 - declared if declared else None
    result: Value = g.GatherND(x, _tuples(g, indices, x.rank, implied)[0])
    return result


@node(NodeType.SCATTER_ND, quantized="move")
def scatter(g: NodeBuilder, p: attributes.ScatterNd, indices: Value, updates: Value, shape: Value) -> Value:
    """y = zeros of the dims ``shape`` with updates written at the index tuples; of equal tuples the last one stays.

    indices (I…,k) int32 or int64, updates (I…, y from dim k on), shape (r) int32 → y (shape) of updates' type.
    Differs: older kernels take shape, indices, updates.
    """
    base = filled(g, blank(g, updates, 1), shape)
    places, depth = _tuples(g, indices, base.rank, base.rank + indices.rank - 1 - updates.rank)
    wanted = (*indices.shape[:-1], *base.shape[depth:])
    known = all(isinstance(dim, int) for dim in (*wanted, *updates.shape))
    if len(wanted) != updates.rank or (known and wanted != updates.shape):
        raise CheckError(f"the updates must have dims {list(wanted)}, got {list(updates.shape)}")
    return scatter_nd(g, base, places, updates, "update")


@node(NodeType.SPARSE_TO_DENSE, quantized="move")
def sparse_to_dense(
    g: NodeBuilder,
    p: attributes.SparseToDense,
    indices: Value,
    values: Value,
    shape: Value,
    default: Value | None = None,
) -> Value:
    """y = a tensor of the dims ``shape``, 0 (or the fourth input) but for the values at the index tuples.

    indices (n,r), or (n) and () for r = 1, int32; values (n), or () for all; shape (r) int32; default () or left out
    → y (shape) of the type of values.
    Differs: kernels take indices, shape, values, the text indices, values, shape.
    """
    if indices.rank > 2:
        raise CheckError(f"the indices must have at most 2 dims, got {list(indices.shape)}")
    count = 1 if not indices.rank else g.size(indices, 0)
    if indices.rank < 2:
        indices = g.reshape(indices, [count, 1])
    if values.rank == 1 and isinstance(count, int) and values.shape[0] not in (1, count) and values.static:
        raise CheckError(f"there must be {count} values, or one for all, got dims {list(values.shape)}")
    if values.rank > 1:
        raise CheckError(f"the values must have at most 1 dim, got {list(values.shape)}")
    rest = blank(g, values, 1) if default is None else scalar(g, g.cast(default, values.dtype), "default value")
    base = filled(g, rest, shape)
    places, depth = _tuples(g, indices, base.rank, base.rank)
    if depth != base.rank:
        raise CheckError(f"the indices must name all {base.rank} dims, got {list(indices.shape)}")
    values = g.expand(g.reshape(values, [-1]), [count])
    return scatter_nd(g, base, places, values, "update")


# -- the largest elements --------------------------------------------------------------------------------------------


@node(NodeType.TOPK_FUSION)
def top_k(g: NodeBuilder, p: attributes.TopKFusion, x: Value, k: Value) -> tuple[Value, ...]:
    """The k largest elements along ``axis``, largest first, and where they are; of equal ones the lower index first.

    x (…), k () int32 → values (…,k,…) of x's type, indices (…,k,…) int32.
    Differs: ``sorted`` false gives the same order; the text has an ascending one, kernels the order of the indices.
    """
    if not x.rank:
        raise CheckError("a scalar has no axis to look along")
    axis = axis_of(p.axis, x.rank)
    if k.data is not None:
        listed = numbers(k, "k")
        if len(listed) != 1:
            raise CheckError(f"k must be one integer, got {listed}")
        values, indices = _largest(g, x, listed[0], axis, "k")
    else:
        values, indices = _largest(g, x, g.reshape(scalar(g, g.cast(k, "int64"), "k"), [1]), axis, "k")
    return (values, indices)[: len(g.node.outputs)]


def _largest(g: NodeBuilder, x: Value, k: int | Value, axis: int, what: str) -> tuple[Value, Value]:
    """Values and int32 indices of the k largest elements along an axis."""
    size = x.shape[axis]
    if isinstance(k, int):
        if k < 1 or (isinstance(size, int) and k > size):
            raise CheckError(f"{what} must be 1 to {size}, the dim of the axis, got {k}")
        if k >= 1 << 31:
            raise CheckError(f"{what} must fit into int32, got {k}")
    values, indices = emit(g, "TopK", x, [k] if isinstance(k, int) else k, back=False, outputs=2, axis=axis)
    return g.cast(values, x.dtype), g.cast(indices, "int32")


@node(NodeType.ARGMAX_FUSION)
def arg_max(g: NodeBuilder, p: attributes.ArgMaxFusion, x: Value) -> tuple[Value, ...]:
    """y = where the ``topK`` largest elements along ``axis`` are, int32, or the elements themselves (``outMaxValue``).

    x (…) → y (…,topK,…), without the axis for topK 1 and no ``keepDims``.  Of equal elements the lower index comes
    first. A second output, where there is one, holds the elements.
    """
    if not x.rank:
        raise CheckError("a scalar has no axis to look along")
    axis = axis_of(p.axis, x.rank)
    if p.topK == 1 and not p.outMaxValue and len(g.node.outputs) == 1 and x.dtype.name in ("int32", "float32"):
        if x.shape[axis] == 0:
            raise CheckError(f"an empty dim of {list(x.shape)} has no largest element")
        return (g.cast(g.ArgMax(x, axis=axis, keepdims=int(p.keepDims)), "int32"),)
    values, indices = _largest(g, x, int(p.topK), axis, "topK")
    if p.topK == 1 and not p.keepDims:
        values, indices = g.Squeeze(values, [axis]), g.Squeeze(indices, [axis])
    return (values if p.outMaxValue else indices, values)[: len(g.node.outputs)]


# -- one of two ------------------------------------------------------------------------------------------------------


def _condition(g: NodeBuilder, condition: Value, a: Value) -> Value:
    """A condition that broadcasts against a: one number a row of a stands in front of the row's dims."""
    flags = g.cast(condition, "bool")
    if flags.rank == 1 and a.rank > 1 and flags.shape[0] != 1:
        if isinstance(flags.shape[0], int) and isinstance(a.shape[0], int) and flags.shape[0] != a.shape[0]:
            raise CheckError(f"{flags.shape[0]} conditions do not fit the rows of {list(a.shape)}")
        return g.reshape(flags, [-1] + [1] * (a.rank - 1))
    return flags


@node(NodeType.SELECT, quantized="move")
def select(g: NodeBuilder, p: attributes.Select, condition: Value, a: Value, b: Value) -> Value:
    """y = a where the condition holds, b elsewhere.

    condition () or (1) for all of a, (d₀) for the rows of a, or with the dims of a; a, b of equal dims → y.
    """
    if a.static and b.static and a.shape != b.shape:
        raise CheckError(f"both tensors must have equal dims, got {list(a.shape)} and {list(b.shape)}")
    size = g.product(g.sizes(condition))
    if size == 1:
        condition = g.reshape(condition, [])
    elif condition.rank != 1 and (
        condition.rank != a.rank or (condition.static and a.static and condition.shape != a.shape)
    ):
        raise CheckError(f"the condition must be one element or have dims {list(a.shape)}, got {list(condition.shape)}")
    return choose(g, _condition(g, condition, a), a, b)


@node(NodeType.WHERE, quantized="move")
def where(
    g: NodeBuilder, p: attributes.Where, condition: Value, a: Value | None = None, b: Value | None = None
) -> Value:
    """y = a where the condition holds, b elsewhere; with one input where the condition holds.

    condition (…) bool, a, b (…), broadcast as NumPy's → y; a condition (d₀) before tensors of more dims chooses their
    rows.  One input (…): y (n, rank) int32, the places of its n elements that are not 0.
    """
    if a is None and not condition.rank:
        raise CheckError("a scalar has no places to tell")
    params = g.node.inputs[0].quantParams
    if params and condition.dtype.kind in "iu":  # moved as they are, but it is the real numbers that count
        condition = dequantize(g, condition, params)
    if a is None:
        return g.cast(g.Transpose(g.NonZero(g.cast(condition, "bool")), perm=[1, 0]), "int32")
    if b is None:
        raise CheckError("the node must have 1 or 3 inputs, got 2")
    large = a if a.rank >= b.rank else b
    if condition.rank == 1 and large.rank > 1:
        length, first, last = condition.shape[0], large.shape[0], large.shape[-1]
        if isinstance(length, int) and isinstance(first, int) and length == last != first:
            return choose(g, g.cast(condition, "bool"), a, b)
    return choose(g, _condition(g, condition, large), a, b)
