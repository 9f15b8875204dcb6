"""Batched matrix product of two tensors, or of one with weights."""

from __future__ import annotations

from typing import Any

from ...graph.composites.int8 import int8_matmul
from ...graph.ir import Value
from ..lowering import Context, lowering, require


@lowering("batchedMatmul")
def batched_matmul(g: Context, p: Any, a: Value, b: Value | None = None) -> Value:
    """Product of the matrices in the last two axes; leading axes broadcast as in NumPy.

    y = A B, of two inputs, each transposed first if the file says so; y = a W + bias, of one
    a (…,M,K), b (…,K,N) → y (…,M,N): a vector a is a row (1,K), a vector b a column (K,1), and y keeps both axes.
    a (…,X1), W (X1,X2) stored column by column, bias (X2) → y (…,X2).
    int8DynamicQuantize: a is rounded to int8 as one tensor, symmetric, half away from zero; W is int8.
    Differs: a bias is taken together with int8DynamicQuantize too, which the text rules out and real files have.
    Source: BatchedMatMulLayerParams.
    """
    if b is None:
        return _weighted(g, p, a)
    require(not p.hasBias, "hasBias must be false with 2 inputs: a bias goes with weights")
    require(not p.int8DynamicQuantize, "int8DynamicQuantize must be false with 2 inputs: it goes with weights")
    left = g.Unsqueeze(a, [0]) if a.rank == 1 else a
    right = g.Unsqueeze(b, [1]) if b.rank == 1 else b
    left = _transposed(g, left) if p.transposeA else left
    right = _transposed(g, right) if p.transposeB else right
    rows, columns = left.shape[-1], right.shape[-2]
    require(
        isinstance(rows, str) or isinstance(columns, str) or rows == columns,
        f"the inner sizes differ: {rows} and {columns} (input shapes {list(a.shape)}, {list(b.shape)},"
        f" transposeA {p.transposeA}, transposeB {p.transposeB})",
    )
    for one, other in zip(reversed(left.shape[:-2]), reversed(right.shape[:-2]), strict=False):
        known = isinstance(one, int) and isinstance(other, int)
        require(
            not known or one == other or 1 in (one, other),
            f"the leading axes do not broadcast: input shapes {list(a.shape)} and {list(b.shape)}",
        )
    return g.MatMul(left, right)


def _transposed(g: Context, x: Value) -> Value:
    axes = list(range(x.rank))
    return g.Transpose(x, perm=[*axes[:-2], axes[-1], axes[-2]])


def _weighted(g: Context, p: Any, a: Value) -> Value:
    first, second = int(p.weightMatrixFirstDimension), int(p.weightMatrixSecondDimension)
    require(first > 0, f"weightMatrixFirstDimension must be positive, got {first}")
    require(second > 0, f"weightMatrixSecondDimension must be positive, got {second}")
    size = a.shape[-1]
    require(
        isinstance(size, str) or size == first,
        f"the last axis of the input must be weightMatrixFirstDimension ({first}), got {size}",
    )
    if p.int8DynamicQuantize:
        stored, scale = g.weights.int8(p.weights, (second, first))
        y = int8_matmul(g, a, stored.T, scale)
    else:
        # column by column is row by row of the transpose; a scale a channel runs along its rows, the columns of W
        w = g.constant(g.array(p.weights, second, first).T, name=f"{g.prefix}/weights")
        y = g.MatMul(a, w)
    return g.Add(y, g.weight(p.bias, second, name="bias")) if p.hasBias else y
