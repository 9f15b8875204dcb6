"""Operators that fold elements along axes, and the normalisations that do so inside."""

from __future__ import annotations

from ...errors import CheckError
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType, ReduceMode
from .base import NodeBuilder, as_float, axes_of, axis_of, emit, node, numbers, per_channel, refuse_bare_int8

_OPERATORS = {
    ReduceMode.MEAN: "ReduceMean",
    ReduceMode.MAX: "ReduceMax",
    ReduceMode.MIN: "ReduceMin",
    ReduceMode.PROD: "ReduceProd",
    ReduceMode.SUM: "ReduceSum",
    ReduceMode.SUM_SQUARE: "ReduceSumSquare",
    ReduceMode.ASUM: "ReduceL1",
    ReduceMode.L2: "ReduceL2",
}
SMALL = 1e-5
"""A coefficient of at most this size counts as none."""


@node(NodeType.REDUCE_FUSION)
def reduce(g: NodeBuilder, p: attributes.ReduceFusion, x: Value, axis: Value | None = None) -> Value:
    """y = x folded by ``mode`` along the axes of the second input.

    x (…), axis (k) int32, a constant, negative ones from the end; none or an empty list folds all → y (…), the axes 1
    with ``keepDims``, else gone.  ``reduceToEnd``: from the one axis on to the last, which go, times ``coeff`` unless
    that is 0.  The mean of integers is cut toward zero; ALL gives bool.
    """
    refuse_bare_int8(g)
    axes = axes_of(numbers(axis, "axis"), x.rank) if axis is not None else []
    keep = p.keepDims
    if p.reduceToEnd:
        if len(axes) != 1:
            raise CheckError(f"reduceToEnd needs one axis, got {axes}")
        axes, keep = list(range(axes[0], x.rank)), False
    y = fold(g, x, p.mode, axes or list(range(x.rank)), keep)
    if p.reduceToEnd and abs(p.coeff) > SMALL and y.dtype.kind == "f":
        y = g.Mul(y, p.coeff)
    return y


def fold(g: NodeBuilder, x: Value, mode: ReduceMode | int, axes: list[int], keep: bool) -> Value:
    """x folded along axes; the mean of integers is truncated toward zero."""
    if mode == ReduceMode.ALL:
        return every(g, x, axes, keep)
    op = _OPERATORS.get(ReduceMode(mode)) if mode in ReduceMode._value2member_map_ else None
    if op is None:
        raise CheckError(f"mode must be 0 to 8, got {int(mode)}")
    if not axes:  # a scalar folded along nothing
        axes, x = [0], g.reshape(x, [1])
        return g.reshape(fold(g, x, mode, axes, True), [])
    if mode == ReduceMode.MEAN and x.dtype.kind in "iu":
        count = g.product([g.size(x, axis) for axis in axes])
        total = g.ReduceSum(g.cast(x, "int64"), axes, keepdims=int(keep))
        whole = g.reshape(count, []) if isinstance(count, Value) else g.constant(count, "int64")
        return g.cast(g.Div(total, whole), x.dtype)
    return emit(g, op, x, axes, keepdims=int(keep))


def every(g: NodeBuilder, x: Value, axes: list[int], keep: bool) -> Value:
    """Whether all elements along axes are non-zero, bool."""
    flags = g.cast(g.cast(x, "bool"), "int32")
    return g.cast(g.ReduceMin(flags, axes, keepdims=int(keep)) if axes else flags, "bool")


@node(NodeType.ALL)
def all_(g: NodeBuilder, p: attributes.All, x: Value, axis: Value | None = None) -> Value:
    """y = whether every element along the axes is non-zero.

    x (…), axis (k) int32, a constant; none or an empty list means all → y bool, the axes 1 with ``keepDims``, else
    gone.
    """
    axes = axes_of(numbers(axis, "axis"), x.rank) if axis is not None else []
    return every(g, x, axes or list(range(x.rank)), p.keepDims != 0)


@node(NodeType.SOFTMAX)
def softmax(g: NodeBuilder, p: attributes.Softmax, x: Value) -> Value:
    """yᵢ = exp(xᵢ) / Σⱼ exp(xⱼ) along the one axis that ``axis`` lists.

    x (…) → y like x.
    """
    refuse_bare_int8(g)
    if len(p.axis) != 1:
        raise CheckError(f"axis must hold 1 integer, got {list(p.axis)}")
    return emit(g, "Softmax", x, axis=axis_of(p.axis[0], x.rank))


@node(NodeType.LOG_SOFTMAX)
def log_softmax(g: NodeBuilder, p: attributes.LogSoftmax, x: Value) -> Value:
    """yᵢ = xᵢ - ln Σⱼ exp(xⱼ) along ``axis``.

    x (…) → y like x.
    """
    refuse_bare_int8(g)
    return emit(g, "LogSoftmax", x, axis=axis_of(p.axis, x.rank))


@node(NodeType.FUSED_BATCH_NORM)
def batch_norm(
    g: NodeBuilder,
    p: attributes.FusedBatchNorm,
    x: Value,
    scale: Value,
    offset: Value,
    mean: Value,
    variance: Value,
) -> Value:
    """y = scale (x - mean) / √(variance + epsilon) + offset, per channel.

    x (…, C), or (N,C,H,W) where its format says so; scale, offset, mean, variance (C) in this order → y like x.
    """
    refuse_bare_int8(g)
    work = as_float(g, x)
    scale, offset, mean, variance = (
        g.cast(per_channel(g, x, vector, what), work.dtype)
        for vector, what in ((scale, "scale"), (offset, "offset"), (mean, "mean"), (variance, "variance"))
    )
    factor = g.Div(scale, g.Sqrt(g.Add(variance, p.epsilon)))
    return g.cast(g.Add(g.Mul(g.Sub(work, mean), factor), offset), x.dtype)
