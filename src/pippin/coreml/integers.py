"""Sizes and indices inside a network: they stay int64 as long as the layers between them allow it.

A shape that a network computes (getShape, arithmetic, concatND, reshapeDynamic) goes through float blobs on a device.
Kept as integers, constants fold, static sizes stay static, and nothing is lost above 2²⁴.
"""

from __future__ import annotations

import math
from typing import Any

from ..errors import UnsupportedError
from ..graph.builder import Size
from ..graph.ir import Value
from .lowering import MAX_RANK, Context, require

LIMIT = 1 << 30
"""Elements that a layer may ask for by a number in the file."""
RANK = 32
"""Axes that a layer may ask for; more than any blob has, and fewer than the engine can stand."""


def whole(x: Value) -> bool:
    """Whether ``x`` is a constant of whole numbers that int64 and float32 both hold."""
    import numpy as np

    data = x.data
    return (
        data is not None
        and data.size <= 4096
        and bool((np.abs(data) < 1 << 24).all() and (data == np.floor(data)).all())
    )


def alike(g: Context, *values: Value) -> tuple[Value, ...]:
    """``values`` in one dtype: int64 where each is, or is a constant of whole numbers beside one that is."""
    import numpy as np

    integers = [x.dtype == np.int64 for x in values]
    if any(integers) and all(known or whole(x) for known, x in zip(integers, values, strict=True)):
        return tuple(g.cast(x, np.int64) for x in values)
    return tuple(g.float(x) for x in values)


def number(g: Context, value: float, like: Value) -> tuple[Value, Value]:
    """``like`` and a parameter as a scalar beside it, both in one dtype."""
    import numpy as np

    x, scalar = alike(g, like, g.constant(np.float32(value)))
    return x, scalar


def truth(g: Context, x: Value) -> Value:
    """``x`` as bool: false where it is 0. A comparison that was made float for a blob is taken as it was."""
    import numpy as np

    known = compared(x)
    if known is not None:
        return known
    return g.cast(x, np.bool_)


def compared(x: Value) -> Value | None:
    """The bool that ``x`` was made of; None if it was not."""
    if x.dtype.kind == "b":
        return x
    source = x.node.inputs[0] if x.node is not None and x.node.op == "Cast" else None
    return source if source is not None and source.dtype.kind == "b" else None


def elements(g: Context, x: Value) -> list[Size]:
    """The sizes in a vector of sizes, followed back through Shape and Concat: ints where they are known."""
    import numpy as np

    if x.data is not None:
        return [int(size) for size in np.ravel(x.data)]
    node = x.node
    if node is not None and node.op == "Shape" and node.inputs[0] is not None:
        source = node.inputs[0]
        start, end = node.attributes.get("start", 0), node.attributes.get("end", source.rank)
        axes = range(source.rank)[start:end]
        if len(axes) > 1 or isinstance(source.shape[axes[0]], int):
            return [g.size(source, axis) for axis in axes]
    if node is not None and node.op == "Concat" and all(part is not None and part.rank == 1 for part in node.inputs):
        return [size for part in node.inputs if part is not None for size in elements(g, part)]
    count = x.shape[0] if x.rank == 1 else None
    if not isinstance(count, int):
        raise UnsupportedError("a shape that is computed must be a vector whose length is known")
    require(count <= MAX_RANK, f"a shape must hold at most {MAX_RANK} sizes, got {count:,}")
    return [x] if count == 1 else [g.Slice(x, [axis], [axis + 1], [0]) for axis in range(count)]


def traced(x: Value) -> bool:
    """Whether ``elements`` says more about ``x`` than its length."""
    return x.data is not None or (x.node is not None and x.node.op in ("Shape", "Concat"))


def shape_vector(g: Context, x: Value, name: str) -> Value:
    """A blob that holds a shape as an int64 vector whose length is known."""
    require(x.rank == 1, f"{name} must have rank 1, got {x.rank}")
    x = g.integer(x)
    require(
        isinstance(x.shape[0], str) or x.shape[0] <= RANK, f"{name} must hold at most {RANK} sizes, got {x.shape[0]}"
    )
    if not isinstance(x.shape[0], int):
        raise UnsupportedError(f"{name} must be a vector whose length is known")
    return x


def volume(sizes: list[Any], field: str) -> int:
    """The product of ``sizes``; raises ``CheckError`` for a negative size or an absurd product."""
    require(len(sizes) <= RANK, f"{field} must hold at most {RANK} sizes, got {len(sizes)}")
    require(all(size >= 0 for size in sizes), f"{field} must not hold negative sizes, got {sizes}")
    total = math.prod(sizes)
    require(total < LIMIT, f"{field} asks for {total:,} elements, the limit is {LIMIT:,}")
    return total
