"""Layers that choose or blank values by condition or position; one-hot vectors and running sums."""

from __future__ import annotations

from typing import Any

from ...graph.ir import Value
from ..integers import LIMIT, alike, truth, volume
from ..lowering import Context, axis_of, lowering, require


@lowering("whereNonZero", integers=True)
def where_non_zero(g: Context, p: Any, x: Value) -> Value:
    """The indices of the elements that are not 0, in the order in which they lie.

    x of rank R → y (N,R), N the number of such elements. Source: WhereNonZeroLayerParams.
    """
    return g.Transpose(g.NonZero(x), perm=[1, 0])


@lowering("whereBroadcastable", integers=True)
def where_broadcastable(g: Context, p: Any, condition: Value, x: Value, y: Value) -> Value:
    """x where the condition is not 0, else y.

    condition, x, y broadcast as in NumPy → the common shape. Source: WhereBroadcastableLayerParams.
    """
    return g.Where(truth(g, condition), *alike(g, x, y))


@lowering("matrixBandPart")
def matrix_band_part(g: Context, p: Any, x: Value) -> Value:
    """Each matrix in the last two axes with 0 outside a band around the diagonal.

    y[…,m,n] = x[…,m,n] where m - n ≤ numLower and n - m ≤ numUpper, else 0; a negative number is no limit
    x (…,M,N) → y same shape. Defaults: 0 and 0, the diagonal alone. Source: MatrixBandPartLayerParams.
    """
    _matrix(x)
    if p.numUpper >= 0:
        x = _trilu(g, x, p.numUpper, upper=False)
    return _trilu(g, x, -p.numLower, upper=True) if p.numLower >= 0 else x


@lowering("lowerTriangular")
def lower_triangular(g: Context, p: Any, x: Value) -> Value:
    """Each matrix in the last two axes with 0 above the diagonal k.

    y[…,m,n] = x[…,m,n] where n - m ≤ k, else 0
    x (…,M,N) → y same shape. Default: k 0. Source: LowerTriangularLayerParams.
    """
    _matrix(x)
    return _trilu(g, x, p.k, upper=False)


@lowering("upperTriangular")
def upper_triangular(g: Context, p: Any, x: Value) -> Value:
    """Each matrix in the last two axes with 0 below the diagonal k.

    y[…,m,n] = x[…,m,n] where n - m ≥ k, else 0
    x (…,M,N) → y same shape. Default: k 0. Source: UpperTriangularLayerParams.
    """
    _matrix(x)
    return _trilu(g, x, p.k, upper=True)


def _matrix(x: Value) -> None:
    require(x.rank >= 2, f"the input must have a rank of at least 2, got {x.rank}")


def _trilu(g: Context, x: Value, k: int, *, upper: bool) -> Value:
    # no matrix reaches further; numbers near the end of int64 overflow in the engine
    k = max(-LIMIT, min(int(k), LIMIT))
    result: Value = g.Trilu(x, g.constant(k, "int64") if k else None, upper=None if upper else 0)
    return result


@lowering("oneHot", integers=True)
def one_hot(g: Context, p: Any, x: Value, size: Value | None = None) -> Value:
    """A new axis that holds onValue at the index in x and offValue elsewhere; all offValue where no index fits.

    y[a…,i,b…] = onValue where x[a…,b…] = i, else offValue; i from 0 to oneHotVectorSize - 1
    x (A…,B…), the size from the second input if there is one → y (A…,size,B…).
    Defaults: axis 0, onValue 0, offValue 0. Source: OneHotLayerParams.
    """
    # not ONNX's OneHot, in which -1 is the last class
    rank = x.rank + 1
    axis = axis_of(p.axis, rank)
    if size is None:
        depth = int(p.oneHotVectorSize)
        require(0 < depth < LIMIT, f"oneHotVectorSize must be positive and below {LIMIT}, got {depth}")
        volume([size for size in (*x.shape, depth) if isinstance(size, int)], "oneHotVectorSize")
        limit = g.constant(depth, "int64")
    else:
        limit = g.reshape(g.integer(size), [])
    classes = g.Range(g.constant(0, "int64"), limit, g.constant(1, "int64"))
    classes = g.Unsqueeze(classes, [other for other in range(rank) if other != axis]) if rank > 1 else classes
    hit = g.Equal(g.Unsqueeze(g.integer(x), [axis]), classes)
    return g.float(hit) if (p.onValue, p.offValue) == (1, 0) else g.Where(hit, p.onValue, p.offValue)


@lowering("cumSum", integers=True)
def cum_sum(g: Context, p: Any, x: Value, axis: Value | None = None) -> Value:
    """Running sums along one axis, from its end with ``reverse``, without the element itself with ``excludeFinalSum``.

    y[…,i,…] = Σ x[…,j,…], j ≤ i (reverse: j ≥ i; excludeFinalSum: j ≠ i)
    x (…), the axis from the second input if there is one → y same shape. Default: axis 0. Source: CumSumLayerParams.
    """
    if axis is None:
        axis = g.constant(axis_of(p.axis, x.rank), "int64")
    else:
        axis = g.reshape(g.integer(axis), [])
        if axis.data is not None:
            axis_of(int(axis.data), x.rank, "the axis of the second input")
    return g.CumSum(x, axis, exclusive=1 if p.excludeFinalSum else None, reverse=1 if p.reverse else None)
