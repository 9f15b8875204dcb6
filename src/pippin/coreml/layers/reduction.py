"""The reduce layer of the first format versions."""

from __future__ import annotations

from typing import Any

from ...graph.ir import Value
from ..lowering import Context, lowering, require

_OPERATORS = {
    0: "ReduceSum",
    1: "ReduceMean",
    2: "ReduceProd",
    4: "ReduceSumSquare",
    5: "ReduceL1",
    6: "ReduceL2",
    7: "ReduceMax",
    8: "ReduceMin",
}
_AXES = {0: [-3, -2, -1], 1: [-2, -1], 2: [-3], 3: [-2], 4: [-1]}


@lowering("reduce", layout="same", rank=1)
def reduce(g: Context, p: Any, x: Value) -> Value:
    """One value for each line, plane or volume of the input.

    SUM Σx; AVG mean; PROD Πx; LOGSUM Σ ln(x + epsilon); SUMSQUARE Σx²; L1 Σ|x|; L2 √Σx²; MAX; MIN; ARGMAX the number of
    the first largest.
    x (…) → y same rank with 1 in the reduced axes: CHW, HW, C, H or W, counted from the end; ARGMAX over C, H or W.
    Defaults: epsilon 0 stands for 1e-6. Source: ReduceLayerParams.
    """
    require(p.axis in _AXES, f"axis must be CHW (0), HW (1), C (2), H (3) or W (4), got {p.axis}")
    require(0 <= p.mode <= 9, f"mode must be an operation between SUM (0) and ARGMAX (9), got {p.mode}")
    axes = _AXES[p.axis]
    require(x.rank >= -axes[0], f"axis needs an input of rank {-axes[0]} or more, got {x.rank}")
    if p.mode == 9:
        require(len(axes) == 1, "ARGMAX takes one axis: C, H or W")
        require(x.shape[axes[0]] != 0, "ARGMAX of an axis without elements")
        return g.ArgMax(x, axis=x.rank + axes[0])
    if p.mode == 3:
        return g.ReduceSum(g.Log(g.Add(x, p.epsilon or 1e-6)), axes)
    return g.emit(_OPERATORS[p.mode], x, axes)
