"""The ten reductions over any axes. Sources: the messages of the same names."""

from __future__ import annotations

from typing import Any

from ...errors import UnsupportedError
from ...graph.ir import Value
from ..lowering import Context, axis_of, lowering, require

FORMULAS = {
    "L1": "Σ |x|",
    "L2": "√Σ x²",
    "Max": "max x",
    "Min": "min x",
    "Sum": "Σ x",
    "Prod": "Π x",
    "Mean": "Σ x / n",
    "LogSum": "log Σ x",
    "SumSquare": "Σ x²",
    "LogSumExp": "log Σ exp x",
}
INTEGERS = ("Max", "Min", "Sum", "Prod")
"""Those that stay whole numbers on whole numbers: of a shape, the number of its elements."""
OF_SOMETHING = ("Max", "Min", "Mean")
"""Those that have no value for no elements."""


def reduction(name: str) -> None:
    """Registers one reduction; the ONNX operators bear the same names."""

    def lower(g: Context, p: Any, x: Value) -> Value:
        axes = reduced_axes(p, x)
        if name in OF_SOMETHING:
            empty = [axis for axis in axes if x.shape[axis] == 0]
            require(not empty, f"the axes to reduce must not be empty, got an input of shape {list(x.shape)}")
        everything = len(axes) == x.rank
        keep = None if p.keepDims or everything else 0
        y: Value = g.emit(f"Reduce{name}", x, None if everything else axes, keepdims=keep)
        # there are no blobs of rank 0
        return y if p.keepDims or not everything else g.reshape(y, [1])

    lower.__name__ = lower.__qualname__ = f"reduce{name}"
    lower.__doc__ = (
        f"y = {FORMULAS[name]} over ``axes``, or over all with ``reduceAll``.\n\n"
        "x (…) → y without these axes, of shape (1) where none is left; each has size 1 with ``keepDims``.\n"
        f"Defaults: keepDims false, reduceAll false. Source: Reduce{name}LayerParams."
    )
    lowering(f"reduce{name}", integers=name in INTEGERS)(lower)


def reduced_axes(p: Any, x: Value) -> list[int]:
    """The axes to reduce, counted from 0, in order."""
    if p.reduceAll:
        return list(range(x.rank))
    axes = [axis_of(axis, x.rank, "axes") for axis in p.axes]
    if not axes:
        raise UnsupportedError("axes must name at least one axis unless reduceAll is set: none may mean none or all")
    require(len(set(axes)) == len(axes), f"axes must name each axis once, got {list(p.axes)}")
    return sorted(axes)


for _name in FORMULAS:
    reduction(_name)
