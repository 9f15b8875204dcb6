"""Operators that change dims and move elements; quantised integers are moved as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import CheckError
from ...graph.builder import Size
from ...graph.composites.sizes import minus
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType, PaddingMode
from .base import NodeBuilder, axes_of, axis_of, emit, node, numbers, permute

WIDEST = 1 << 20
"""Most cells of a mirrored border along one dim."""
FAR = (1 << 63) - 1
"""Slice's end of an axis, whatever its size."""


@node(NodeType.RESHAPE, quantized="move")
def reshape(g: NodeBuilder, p: attributes.Reshape, x: Value, shape: Value) -> Value:
    """y = the elements of x under new dims.

    x (…), shape (r) int → y (shape); one -1 takes what is left, a 0 keeps the dim of x at its place.
    """
    if shape.data is None:
        return g.Reshape(x, g.cast(g.reshape(shape, [-1]), "int64"))
    sizes: list[Size] = list(_integers(shape, "shape"))
    if sizes.count(-1) > 1 or any(isinstance(size, int) and size < -1 for size in sizes):
        raise CheckError(f"shape must hold sizes and at most one -1, got {sizes}")
    for place, size in enumerate(sizes):
        if size == 0:
            if place >= x.rank:
                raise CheckError(f"shape keeps dim {place} of {list(x.shape)}, which has none")
            sizes[place] = g.size(x, place)
    _check_count(g, x, sizes)
    return g.reshape(x, sizes)


def _integers(value: Value, what: str) -> list[int]:
    """The elements of a constant; whole floats pass, as kernels let them."""
    data = value.data
    if data is not None and data.dtype.kind == "f" and (data == data.round()).all() and (abs(data) < 1 << 31).all():
        return [int(item) for item in data.reshape(-1)]
    return numbers(value, what)


def _check_count(g: NodeBuilder, x: Value, sizes: Sequence[Size]) -> None:
    have, want = g.product(g.sizes(x)), 1
    for size in sizes:
        if not isinstance(size, int):
            return
        want *= size
    fits = have == want if want >= 0 else isinstance(have, int) and want != 0 and have % -want == 0
    if isinstance(have, int) and not fits:
        raise CheckError(f"dims {list(sizes)} do not hold the {have} elements of {list(x.shape)}")


@node(NodeType.TRANSPOSE, quantized="move")
def transpose(g: NodeBuilder, p: attributes.Transpose, x: Value, perm: Value) -> Value:
    """y = x with its dims in the order ``perm``.

    x (…), perm (r) int32, a constant; an empty one reverses them → y (x by perm).
    """
    order = _integers(perm, "perm") or list(reversed(range(x.rank)))
    if sorted(order) != list(range(x.rank)):
        raise CheckError(f"perm must order the {x.rank} dims of {list(x.shape)}, got {order}")
    return permute(g, x, order)


@node(NodeType.SQUEEZE, quantized="move")
def squeeze(g: NodeBuilder, p: attributes.Squeeze, x: Value) -> Value:
    """y = x without the dims ``axis``, each of them 1; an empty list drops every 1.

    x (…) → y (the other dims).
    """
    axes = axes_of(p.axis, x.rank) or [axis for axis, size in enumerate(x.shape) if size == 1]
    for axis in axes:
        if isinstance(x.shape[axis], int) and x.shape[axis] != 1:
            raise CheckError(f"dim {axis} of {list(x.shape)} must be 1 to be dropped")
    return g.Squeeze(x, axes) if axes else x


@node(NodeType.UNSQUEEZE, quantized="move")
def unsqueeze(g: NodeBuilder, p: attributes.Unsqueeze, x: Value) -> Value:
    """y = x with a dim of 1 at each place of ``axis``, counted in the dims of y.

    x (…) → y (…,1,…).
    """
    axes = axes_of(p.axis, x.rank + len(p.axis))
    return g.Unsqueeze(x, axes) if axes else x


@node(NodeType.EXPAND_DIMS, quantized="move")
def expand_dims(g: NodeBuilder, p: attributes.ExpandDims, x: Value, axis: Value) -> Value:
    """y = x with a dim of 1 at ``axis``.

    x (…), axis () int32 in [-r-1, r], a constant → y (…,1,…).
    """
    places = _integers(axis, "axis")
    if len(places) != 1:
        raise CheckError(f"axis must be one integer, got {places}")
    return g.Unsqueeze(x, [axis_of(places[0], x.rank + 1)])


@node(NodeType.FLATTEN, quantized="move")
def flatten(g: NodeBuilder, p: attributes.Flatten, x: Value) -> Value:
    """y = x with the dims before ``axis`` joined, and those from it on.

    x (d₀ … dₙ) → y (d₀ ⋯ d_axis-1, d_axis ⋯ dₙ).
    """
    if not -x.rank <= p.axis <= x.rank:
        raise CheckError(f"axis must be in [{-x.rank}, {x.rank}], got {p.axis}")
    axis = p.axis if p.axis >= 0 else p.axis + x.rank
    sizes = g.sizes(x)
    return g.reshape(x, [g.product(sizes[:axis]), g.product(sizes[axis:])])


@node(NodeType.CONCAT, quantized="move")
def concat(g: NodeBuilder, p: attributes.Concat, *parts: Value) -> Value:
    """y = the inputs one after another along ``axis``.

    x₁ … xₙ, their other dims equal → y, its dim at axis the sum of theirs.
    """
    axis = axis_of(p.axis, parts[0].rank)
    if len(parts) == 1:
        return parts[0]
    return g.Concat(*(g.cast(part, parts[0].dtype) for part in parts), axis=axis)


@node(NodeType.STACK, quantized="move")
def stack(g: NodeBuilder, p: attributes.Stack, *parts: Value) -> Value:
    """y = the inputs, all of equal dims, along a new dim at ``axis``.

    x₁ … xₙ (…) → y (…,n,…).
    """
    axis = axis_of(p.axis, parts[0].rank + 1)
    for part in parts:
        if part.rank != parts[0].rank or (part.static and parts[0].static and part.shape != parts[0].shape):
            raise CheckError(f"the inputs must have equal dims, got {list(parts[0].shape)} and {list(part.shape)}")
    return g.Concat(*(g.Unsqueeze(g.cast(part, parts[0].dtype), [axis]) for part in parts), axis=axis)


@node(NodeType.SPLIT, quantized="move")
def split(g: NodeBuilder, p: attributes.Split, x: Value) -> tuple[Value, ...]:
    """x cut along ``axis`` into ``outputNum`` tensors of ``sizeSplits``.

    x (…) → y₁ … yₙ; no sizes mean equal parts, a last -1 the rest; outputNum 0 stands for the number of outputs.
    """
    axis, count = axis_of(p.axis, x.rank), len(g.node.outputs)
    if p.outputNum not in (0, count):
        raise CheckError(f"outputNum must be the number of outputs, {count}, got {p.outputNum}")
    size, parts = x.shape[axis], list(p.sizeSplits)
    if parts:
        if len(parts) != count or min(parts[:-1], default=0) < 0 or parts[-1] < -1:
            raise CheckError(f"sizeSplits must hold {count} sizes, only the last may be -1, got {parts}")
        if parts[-1] == -1 and not isinstance(size, int):
            rest = minus(g, g.size(x, axis), sum(parts[:-1]))
            return (x,) if count == 1 else g.emit("Split", x, g.vector([*parts[:-1], rest]), outputs=count, axis=axis)
        if parts[-1] == -1 and isinstance(size, int):
            parts[-1] = size - sum(parts[:-1])
        if parts[-1] < 0 or (isinstance(size, int) and sum(parts) != size):
            raise CheckError(f"sizeSplits must add up to dim {axis} of {list(x.shape)}, got {list(p.sizeSplits)}")
    elif isinstance(size, int):
        if size % count:
            raise CheckError(f"dim {axis} of {list(x.shape)} must be divisible into {count} parts")
        parts = [size // count] * count
    if count == 1:
        return (x,)
    return g.emit("Split", x, parts or None, outputs=count, axis=axis, num_outputs=None if parts else count)


@node(NodeType.UNSTACK, quantized="move")
def unstack(g: NodeBuilder, p: attributes.Unstack, x: Value) -> tuple[Value, ...]:
    """x cut into its slices along ``axis``, each without that dim.

    x (…,n,…) → y₁ … yₙ (…).
    """
    axis, count = axis_of(p.axis, x.rank), len(g.node.outputs)
    if isinstance(x.shape[axis], int) and x.shape[axis] != count:
        raise CheckError(f"there must be an output for each of the {x.shape[axis]} slices, got {count}")
    if count == 1:
        return (g.Squeeze(x, [axis]),)
    parts = g.emit("Split", x, [1] * count, outputs=count, axis=axis)
    return tuple(g.Squeeze(part, [axis]) for part in parts)


@node(NodeType.SLICE_FUSION, quantized="move")
def slice_(g: NodeBuilder, p: attributes.SliceFusion, x: Value, begin: Value, size: Value) -> Value:
    """y = size elements from begin on, along each of ``axes`` (empty: the first ones in order).

    x (…), begin (k), size (k) int32 → y (…); a size of -1 goes to the end.
    """
    count = len(p.axes) or next((n for v in (begin, size) for n in v.shape if isinstance(n, int)), x.rank)
    if any(value.rank != 1 or (value.static and value.shape != (count,)) for value in (begin, size)):
        raise CheckError(f"begin and size must be equally long, got {list(begin.shape)} and {list(size.shape)}")
    named = [axis_of(axis, x.rank) for axis in p.axes or range(count)]
    if len(named) != count or len(set(named)) != count:
        raise CheckError(f"axes must name an axis for each of the {count} slices, got {list(p.axes)}")
    if begin.data is None or size.data is None:
        start, length = g.cast(begin, "int64"), g.cast(size, "int64")
        end = g.Where(g.Less(length, 0), g.constant(FAR, "int64"), g.Add(start, length))
        return g.Slice(x, start, end, named)
    starts, lengths = _integers(begin, "begin"), _integers(size, "size")
    ends = []
    for axis, first, wanted in zip(named, starts, lengths, strict=True):
        dim = x.shape[axis]
        if first < 0 or wanted < -1 or (isinstance(dim, int) and (first > dim or first + max(wanted, 0) > dim)):
            raise CheckError(f"size {wanted} from begin {first} on does not lie in dim {axis} of {list(x.shape)}")
        ends.append(FAR if wanted < 0 else first + wanted)
    return g.Slice(x, starts, ends, named)


@node(NodeType.TILE_FUSION, quantized="move")
def tile(g: NodeBuilder, p: attributes.TileFusion, x: Value, multiples: Value) -> Value:
    """y = x repeated multiples[i] times along axis ``dims[i]`` (empty: the first ones in order).

    x (…), multiples (k) int32, a constant → y (…).
    Differs: the text calls dims the repeat counts; kernels and their tests take them as axes.
    """
    times = _integers(multiples, "multiples")
    named = [axis_of(axis, x.rank) for axis in p.dims or range(len(times))]
    if len(named) != len(times) or len(set(named)) != len(named) or min(times, default=1) < 0:
        raise CheckError(f"dims must name an axis for each of the multiples {times}, got {list(p.dims)}")
    repeats = [1] * x.rank
    for axis, count in zip(named, times, strict=True):
        repeats[axis] = count
    return g.Tile(x, repeats)


@node(NodeType.BROADCAST_TO, quantized="move")
def broadcast_to(g: NodeBuilder, p: attributes.BroadcastTo, x: Value) -> Value:
    """y = x broadcast to ``shape`` as NumPy does; -1 keeps a dim.

    x (…) → y (shape).
    """
    sizes: list[Size] = list(p.shape)
    if len(sizes) < x.rank or min(p.shape, default=0) < -1:
        raise CheckError(f"shape must have at least the {x.rank} dims of {list(x.shape)}, got {sizes}")
    for place, size in enumerate(sizes):
        axis = place - len(sizes) + x.rank
        if size == -1:
            if axis < 0:
                raise CheckError(f"shape {sizes} keeps a dim that {list(x.shape)} does not have")
            sizes[place] = g.size(x, axis)
        elif axis >= 0 and isinstance(x.shape[axis], int) and x.shape[axis] not in (1, size):
            raise CheckError(f"{list(x.shape)} cannot be broadcast to {list(p.shape)}")
    return g.expand(x, sizes)


@node(NodeType.SHAPE, quantized="raw")
def shape_of(g: NodeBuilder, p: attributes.Shape, x: Value) -> Value:
    """y = the dims of x.

    x (…) → y (r) int32.
    """
    return g.cast(g.Shape(x), "int32")


@node(NodeType.RANK, quantized="raw")
def rank(g: NodeBuilder, p: attributes.Rank, x: Value) -> Value:
    """y = the number of dims of x.

    x (…) → y () int32.
    """
    return g.constant(x.rank, "int32")


# -- padding ---------------------------------------------------------------------------------------------------------


@node(NodeType.PAD_FUSION)
def pad(g: NodeBuilder, p: attributes.PadFusion, x: Value, paddings: Value | None = None) -> Value:
    """y = x with a border filled as ``paddingMode`` says.

    x (d₀ … dₙ), paddings (n,2) int32: cells before and after each dim; with one input the attribute's ``paddings``
    → y (d₀ + cells … dₙ + cells).
    [1 2 3] with two cells on both sides: CONSTANT c c 1 2 3 c c, REFLECT 3 2 1 2 3 2 1, SYMMETRIC 2 1 1 2 3 3 2; wider
    borders run to and fro.  Quantised tensors are padded with the quantised ``constantValue``.
    """
    if p.paddingMode not in (PaddingMode.CONSTANT, PaddingMode.REFLECT, PaddingMode.SYMMETRIC):
        raise CheckError(f"paddingMode must be CONSTANT, REFLECT or SYMMETRIC, got {int(p.paddingMode)}")
    value = g.constant(p.constantValue, x.dtype) if x.dtype.kind == "f" else g.constant(int(p.constantValue), x.dtype)
    twice = p.paddingMode == PaddingMode.SYMMETRIC
    if paddings is not None and paddings.data is None:
        if paddings.dtype.kind not in "iu":
            raise CheckError(f"paddings must be integers, got {paddings.dtype}")
        rows = g.reshape(g.cast(paddings, "int64"), [x.rank, 2])
        if p.paddingMode == PaddingMode.CONSTANT:
            return emit(g, "Pad", x, g.reshape(g.Transpose(rows, perm=[1, 0]), [-1]), value)
        cells = g.reshape(rows, [-1])
        for axis in range(x.rank):
            before, after = (g.Gather(cells, g.constant(place, "int64"), axis=0) for place in (2 * axis, 2 * axis + 1))
            x = g.Gather(x, _run(g, _count(g, g.size(x, axis)), before, after, twice=twice), axis=axis)
        return x
    flat = [cells for row in p.paddings for cells in row] if paddings is None else _integers(paddings, "paddings")
    if len(flat) != 2 * x.rank or min(flat, default=0) < 0:
        raise CheckError(f"paddings must hold {2 * x.rank} integers of at least 0, got {flat}")
    if p.paddingMode == PaddingMode.CONSTANT:
        return emit(g, "Pad", x, [*flat[::2], *flat[1::2]], value)
    for axis, (before, after) in enumerate(zip(flat[::2], flat[1::2], strict=True)):
        if before or after:
            x = g.Gather(x, mirror(g, g.size(x, axis), before, after, twice=twice), axis=axis)
    return x


def mirror(g: NodeBuilder, size: Size, before: int, after: int, *, twice: bool) -> Any:
    """The places that a mirrored border shows, over and over where it is wide; ``twice`` shows the edge again.

    A mirror makes the places run to and fro: of each period the first half as it is, the rest backwards.
    """
    import numpy as np

    if before + after > WIDEST:
        raise CheckError(f"a mirrored border has at most {WIDEST} cells, got {before + after}")
    if isinstance(size, int):
        if size == 0:
            raise CheckError("an empty dim has nothing to mirror")
        period = 2 * size if twice else max(2 * (size - 1), 1)
        run = np.arange(-before, size + after) % period
        return np.where(run < size, run, period - run - twice).astype(np.int64)
    ends = (g.constant(cells, "int64") for cells in (before, after))
    return _run(g, _count(g, size), *ends, twice=twice)


def _count(g: NodeBuilder, size: Size) -> Value:
    """A size as a scalar."""
    return g.constant(size, "int64") if isinstance(size, int) else g.reshape(size, [])


def _run(g: NodeBuilder, count: Value, before: Value, after: Value, *, twice: bool) -> Value:
    """``mirror`` where a number is known at run time only; all are scalars."""
    one, none = g.constant(1, "int64"), g.constant(0, "int64")
    period = g.Mul(count, 2) if twice else g.Max(g.Mul(g.Sub(count, one), 2), one)
    run = g.Mod(g.Range(g.Sub(none, before), g.Add(count, after), one), period)
    result: Value = g.Where(g.Less(run, count), run, g.Sub(period, g.Add(run, int(twice))))
    return result
