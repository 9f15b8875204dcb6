"""Layers that order values: topK, argMax, argMin, argSort. Of equal values the lower index comes first."""

from __future__ import annotations

from typing import Any

from ...graph.ir import Value
from ..lowering import Context, axis_of, lowering, require


@lowering("topK", integers=True)
def top_k(g: Context, p: Any, x: Value, k: Value | None = None) -> tuple[Value, Value]:
    """The K largest values along one axis, from the largest on, and their indices; the smallest with ``useBottomK``.

    x (…,D,…), K from the second input if there is one → values and indices (…,K,…). Defaults: axis 0, K 0.
    Source: TopKLayerParams.
    """
    axis = axis_of(p.axis, x.rank)
    size = x.shape[axis]
    if k is None:
        count = g.constant([_limited(int(p.K), size)], "int64")
    else:
        count = g.reshape(g.integer(k), [1])
        if count.data is not None:
            _limited(int(count.data[0]), size)
    values, indices = g.TopK(x, count, axis=p.axis, largest=None if not p.useBottomK else 0, outputs=2)
    # with K computed, inference says nothing of the other axes
    values.shape = indices.shape = (*x.shape[:axis], values.shape[axis], *x.shape[axis + 1 :])
    return values, indices


def _limited(k: int, size: int | str) -> int:
    limit = size if isinstance(size, int) else (1 << 31) - 1
    require(0 <= k <= limit, f"K must be at most the size of the axis ({size}), got {k}")
    return k


def extreme(kind: str, op: str, what: str) -> None:
    """Registers the index of the largest or smallest value."""

    def lower(g: Context, p: Any, x: Value) -> Value:
        axis = axis_of(p.axis, x.rank)
        require(x.shape[axis] != 0, f"the axis must not be empty, got an input of shape {list(x.shape)}")
        return g.emit(op, x, axis=p.axis or None, keepdims=0 if p.removeDim and x.rank > 1 else None)

    lower.__name__ = lower.__qualname__ = kind
    lower.__doc__ = (
        f"The index of the {what} value along one axis; of equal values the first.\n\n"
        "x (…,D,…) → y (…,1,…), without the axis if ``removeDim`` is set and x has others.\n"
        f"Defaults: axis 0, removeDim false. Source: {kind[0].upper()}{kind[1:]}LayerParams."
    )
    lowering(kind)(lower)


extreme("argMax", "ArgMax", "largest")
extreme("argMin", "ArgMin", "smallest")


@lowering("argSort", integers=True)
def arg_sort(g: Context, p: Any, x: Value) -> Value:
    """The indices that sort x along one axis, rising, or falling if ``descending`` is set.

    Equal values keep their order.

    x (…) → y same shape. Default: axis 0, which must not be negative. Source: ArgSortLayerParams.
    """
    require(0 <= p.axis < x.rank, f"axis must lie in [0, {x.rank}) for an input of rank {x.rank}, got {p.axis}")
    _, indices = g.TopK(x, g.vector([g.size(x, p.axis)]), axis=p.axis, largest=None if p.descending else 0, outputs=2)
    indices.shape = x.shape
    return indices
