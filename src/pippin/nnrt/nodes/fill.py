"""Operators that make tensors: filled, counted, one-hot; and Assert, which makes none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...errors import CheckError
from ...graph.builder import Size
from ...graph.composites.guard import require_true
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType
from ..model import MAX_BYTES
from ..types import numpy_type, portable_type
from .base import NodeBuilder, axis_of, node, numbers, refuse_bare_int8, working_type

FOLDED = 4096
"""Most elements of a counted constant that is worked out beforehand."""
DEEPEST = 1 << 24
"""Most places of OneHot."""


def blank(g: NodeBuilder, x: Value, place: int = 0) -> Value:
    """What stands for 0 in x, the input ``place``: its zero point where quantised integers are moved."""
    params = g.node.inputs[place].quantParams if x.dtype.kind in "iu" else []
    return g.constant(params[0].zeroPoint if params else 0, x.dtype)


def dims_of(g: NodeBuilder, shape: Value, what: str = "shape") -> list[Size] | None:
    """Dims that a 1-D tensor holds; None where they are known at run time only."""
    if shape.rank != 1:
        raise CheckError(f"the {what} must have 1 dim, got {list(shape.shape)}")
    if shape.data is None:
        if shape.dtype.kind not in "iu":
            raise CheckError(f"the {what} must be integers, got {shape.dtype}")
        return None
    data = shape.data
    whole = data.dtype.kind == "f" and (data == data.round()).all() and (abs(data) < 1 << 31).all()
    sizes = [int(size) for size in data] if whole else numbers(shape, what)
    if min(sizes, default=0) < 0:
        raise CheckError(f"the {what} must hold sizes of at least 0, got {sizes[:32]}")
    return list(sizes)


def filled(g: NodeBuilder, value: Value, shape: Value) -> Value:
    """A tensor of the dims that ``shape`` holds, full of a scalar."""
    sizes = dims_of(g, shape)
    if sizes is not None:
        fits(sizes, value.dtype.itemsize)
        return g.expand(value, sizes)
    result: Value = g.Expand(value, g.cast(shape, "int64"))
    return result


def fits(sizes: Sequence[Size], width: int) -> None:
    """CheckError for more bytes than a tensor may have."""
    if math.prod(size for size in sizes if isinstance(size, int)) * width > MAX_BYTES:
        raise CheckError(f"a tensor of dims {list(sizes)} needs more than {MAX_BYTES} bytes")


def scalar(g: NodeBuilder, value: Value, what: str) -> Value:
    """A tensor of one element as a scalar."""
    size = g.product(g.sizes(value))
    if isinstance(size, int) and size != 1:
        raise CheckError(f"the {what} must be one element, got dims {list(value.shape)}")
    return g.reshape(value, [])


@node(NodeType.FILL, quantized="move")
def fill(g: NodeBuilder, p: attributes.Fill, value: Value, shape: Value) -> Value:
    """y = a tensor of the dims ``shape`` full of one value.

    value (), shape (r) int32 → y (shape) of value's type.  The inputs come in this order.
    """
    return filled(g, scalar(g, value, "value"), shape)


@node(NodeType.CONSTANT_OF_SHAPE, quantized="raw")
def constant_of_shape(g: NodeBuilder, p: attributes.ConstantOfShape, shape: Value) -> Value:
    """y = a tensor of the dims that the input holds, full of the one ``value``, of element type ``dataType``.

    shape (r) int → y (shape).  dataType is a DataType number, or the C API's 1 to 12; an empty shape makes a scalar.
    """
    if len(p.value) != 1:
        raise CheckError(f"value must hold 1 number, got {list(p.value)}")
    try:
        wanted = numpy_type(portable_type(p.dataType))
    except (ValueError, KeyError) as error:
        raise CheckError(f"dataType: {error}") from None
    return filled(g, g.constant(_as(p.value[0], wanted), wanted), shape)


def _as(value: float, dtype: Any) -> Any:
    """A float in another element type: cut toward zero; CheckError where that has no such number."""
    import numpy as np

    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return dtype.type(value)
    if dtype.kind == "b":
        return value != 0
    bounds = np.iinfo(dtype)
    if not math.isfinite(value) or not bounds.min <= math.trunc(value) <= bounds.max:
        raise CheckError(f"value must be a number that {dtype} has, got {value}")
    return math.trunc(value)


@node(NodeType.RANGE)
def range_(
    g: NodeBuilder, p: attributes.Range, x: Value, limit: Value | None = None, delta: Value | None = None
) -> Value:
    """y = start, start + delta, … up to limit, which is left out.

    start, limit, delta () → y (⌈(limit - start) / delta⌉).  With three inputs start, limit and delta () are those and y
    has the type of start; with one its content is not looked at, the attributes count and y is int32.  ``dataType`` is
    reserved.
    """
    if limit is not None and delta is not None:
        refuse_bare_int8(g)
        start = scalar(g, x, "start")
        step = scalar(g, g.cast(delta, start.dtype), "delta")
        if step.data is not None and step.data == 0:
            raise CheckError("delta must not be 0")
        work = working_type("Range", start.dtype)
        ends = [g.cast(value, work) for value in (start, scalar(g, g.cast(limit, start.dtype), "limit"), step)]
        return g.cast(g.Range(*ends), start.dtype)
    if limit is not None:
        raise CheckError("the node must have 1 or 3 inputs, got 2")
    if p.delta == 0:
        raise CheckError("delta must not be 0")
    counted = range(p.start, p.limit, p.delta)
    if counted and not all(-(1 << 31) <= end < 1 << 31 for end in (counted[0], counted[-1])):
        raise CheckError(f"the numbers from {p.start} to {p.limit} must fit into int32")
    fits([len(counted)], 4)
    return counting(g, counted, "int32")


def counting(g: NodeBuilder, counted: range, dtype: str) -> Value:
    """The numbers of a range; long ones are counted by the engine."""
    import numpy as np

    if len(counted) <= FOLDED:
        return g.constant(np.array(counted, dtype))
    end = counted.start + len(counted) * counted.step
    # the end of int32 itself lies beyond int32
    work = dtype if -(1 << 31) <= end < 1 << 31 else "int64"
    result: Value = g.Range(*(g.constant(number, work) for number in (counted.start, end, counted.step)))
    return g.cast(result, dtype)


@node(NodeType.ONE_HOT)
def one_hot(g: NodeBuilder, p: attributes.OneHot, indices: Value, depth: Value, on: Value, off: Value) -> Value:
    """y = onValue at the index along a new dim of ``depth`` places, offValue elsewhere.

    indices (…) int32, depth () int32, onValue, offValue () → y with depth at ``axis`` (-1: the last dim), of the type
    of onValue.  An index outside [0, depth) gives offValue throughout: negative ones do not count from the end.
    """
    axis = axis_of(p.axis, indices.rank + 1)
    if indices.dtype.kind not in "iu":
        raise CheckError(f"the indices must be integers, got {indices.dtype}")
    if depth.data is not None:
        listed = numbers(depth, "depth")
        if len(listed) != 1 or not 1 <= listed[0] <= DEEPEST:
            raise CheckError(f"the depth must be one integer of 1 to {DEEPEST}, got {listed}")
        fits([*indices.shape, listed[0]], on.dtype.itemsize)  # type: ignore[list-item]
        places = counting(g, range(listed[0]), "int64")
    else:
        places = g.Range(g.constant(0, "int64"), scalar(g, g.cast(depth, "int64"), "depth"), g.constant(1, "int64"))
    column = g.reshape(places, [-1] + [1] * (indices.rank - axis))
    hit = g.Equal(g.Unsqueeze(g.cast(indices, "int64"), [axis]), column)
    on, off = scalar(g, on, "onValue"), scalar(g, off, "offValue")
    return choose(g, hit, on, off)


def choose(g: NodeBuilder, condition: Value, a: Value, b: Value) -> Value:
    """a where the condition holds, b elsewhere, in any type."""
    work = "int32" if a.dtype.kind == "b" else working_type("Where", a.dtype)
    result: Value = g.Where(condition, g.cast(a, work), g.cast(g.cast(b, a.dtype), work))
    return g.cast(result, a.dtype)


@node(NodeType.ASSERT, quantized="raw")
def assert_(g: NodeBuilder, p: attributes.Assert, condition: Value, *data: Value) -> Value:
    """The run fails (FAILED) where the condition is false.

    condition () bool, data … → y the condition; what it holds is not defined elsewhere.  ``summarize`` is for messages.
    """
    flag = scalar(g, g.cast(condition, "bool"), "condition")
    return g.reshape(require_true(g, flag), [1] * condition.rank)
