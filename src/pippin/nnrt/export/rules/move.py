"""What moves elements: shapes, order of dims, cuts and joins, look-ups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import UnsupportedError
from ... import attributes as a
from ...enums import DataType, Format
from ..converter import FIRST, LAST, Converter, known, narrow
from ..registry import rule

if TYPE_CHECKING:
    from ....graph.ir import Node, Value
    from ...authoring import Ref


def _first(n: Node) -> tuple[Value, Value]:
    x = n.inputs[0]
    assert x is not None
    return x, n.outputs[0]


# -- dims --------------------------------------------------------------------------------------------------------------


@rule("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand")
def reshape(c: Converter, n: Node) -> None:
    """Reshape to the dims that the hub knows; BroadcastTo for Expand; computed shapes as they are."""
    x, value = _first(n)
    open_ = [dim for dim in value.shape if not isinstance(dim, int)]
    if n.op == "Expand":
        if open_:
            raise UnsupportedError("a tensor can be broadcast to known dims only")
        return c.put(value, c.node(a.BroadcastTo(known(value.shape)), c.plain(x), like=value))
    operand = _unmoved(c, x)
    if len(open_) <= 1:
        dims = [dim if isinstance(dim, int) else -1 for dim in value.shape]
        return c.put(value, c.reshaped(operand, dims, name=value.name))
    if n.op == "Unsqueeze":
        axes = [int(axis) for axis in _required(c, n, 1, "axes")]
        return c.put(value, c.node(a.Unsqueeze(sorted(axis % value.rank for axis in axes)), c.plain(x), like=value))
    if n.op == "Squeeze":
        axes = [int(axis) % x.rank for axis in _required(c, n, 1, "axes")]
        return c.put(value, c.node(a.Squeeze(sorted(axes)), c.plain(x), like=value))
    if n.op == "Flatten":
        return c.put(value, c.node(a.Flatten(int(n.attributes.get("axis", 1))), c.plain(x), like=value))
    shape = n.inputs[1]
    assert shape is not None
    return c.put(value, c.node(a.Reshape(), c.plain(x), c.plain(shape), like=value))


def _required(c: Converter, n: Node, place: int, what: str) -> Any:
    data = c.read(n, place, what)
    if data is None:
        raise UnsupportedError(f"the {what} must be there")
    return data


def _unmoved(c: Converter, x: Value) -> Ref:
    """A tensor whose elements lie in the order of x: an image with one pixel or one channel does, either way."""
    if c.has_last(x):
        channels, height, width = x.shape[1:]
        if channels == 1 or (height == 1 and width == 1):
            return c.last(x)
    return c.plain(x)


@rule("Transpose")
def transpose(c: Converter, n: Node) -> None:
    """Transpose, together with the order that an image has already; nothing where the two meet."""
    x, value = _first(n)
    order = [int(axis) for axis in n.attributes.get("perm") or reversed(range(x.rank))]
    if tuple(order) == LAST and x.rank == 4:
        return c.put(value, c.last(x))
    if tuple(order) == FIRST and x.rank == 4 and not c.has_last(x):
        ref = c.plain(x)
        # what looked like an image with channels first had them last all along
        ref.tensor.format = Format.NHWC
        return c.put(value, ref, last=True)
    if c.has_last(x):
        places = [LAST.index(axis) for axis in order]
        return c.put(value, c.turned(c.last(x), places))
    return c.put(value, c.turned(c.plain(x), order))


@rule("Shape")
def shape_of(c: Converter, n: Node) -> None:
    """Shape, and SliceFusion where a part is wanted."""
    x, value = _first(n)
    y = c.b.Shape(c.plain(x))
    start, end = int(n.attributes.get("start", 0)), int(n.attributes.get("end", x.rank))
    start, end = (max(place + x.rank, 0) if place < 0 else min(place, x.rank) for place in (start, end))
    if (start, end) != (0, x.rank):
        y = c.b.SliceFusion(y, [start], [max(end - start, 0)], axes=[0])
    c.put(value, y)


# -- joins and cuts ----------------------------------------------------------------------------------------------------


@rule("Concat")
def concat(c: Converter, n: Node) -> None:
    """Concat."""
    values = [value for value in n.inputs if value is not None]
    last = any(c.has_last(value) for value in values)
    refs = [c.last(value) if last else c.plain(value) for value in values]
    axis = c.axis(int(n.attributes["axis"]), values[0].rank, last)
    c.put(n.outputs[0], c.node(a.Concat(axis), *refs, like=n.outputs[0]), last=last)


@rule("Split")
def split(c: Converter, n: Node) -> None:
    """Split."""
    x, _ = _first(n)
    last = c.has_last(x)
    where = int(n.attributes.get("axis", 0))
    sizes = known(value.shape[where] for value in n.outputs)
    struct = a.Split(len(sizes), sizes, c.axis(where, x.rank, last))
    made = c.node(struct, c.last(x) if last else c.plain(x), outputs=len(sizes), like=n.outputs[0])
    for value, ref in zip(n.outputs, made if len(sizes) > 1 else [made], strict=True):
        c.put(value, ref, last=last)


@rule("Slice")
def cut(c: Converter, n: Node) -> None:
    """SliceFusion, StridedSlice where elements are left out or turned round."""
    x, value = _first(n)
    starts, ends = _required(c, n, 1, "starts"), _required(c, n, 2, "ends")
    axes, steps = c.read(n, 3, "axes"), c.read(n, 4, "steps")
    named = [int(axis) % x.rank for axis in axes] if axes is not None else list(range(len(starts)))
    strides = [int(step) for step in steps] if steps is not None else [1] * len(named)
    sizes = known(x.shape[axis] for axis in named)
    last = c.has_last(x)
    operand = c.last(x) if last else c.plain(x)
    begin, count = [], []
    for start, end, step, size in zip(starts, ends, strides, sizes, strict=True):
        chosen = range(size)[slice(int(start), int(end), step)]
        if not chosen:
            raise UnsupportedError(f"nothing would be left of {list(x.shape)}")
        begin.append(chosen[0])
        count.append(len(chosen))
    places = [LAST.index(axis) if last else axis for axis in named]
    if all(step == 1 for step in strides):
        y = c.node(a.SliceFusion(places), operand, c.ints(begin), c.ints(count), like=value)
        return c.put(value, y, last=last)
    rows = {place: (b, k, s) for place, b, k, s in zip(places, begin, count, strides, strict=True)}
    full = [rows.get(place, (0, dim, 1)) for place, dim in enumerate(known(operand.dims))]
    ends_ = [b + (k - 1) * s + (1 if s > 0 else -1) for b, k, s in full]
    # an end before the first element has no number of its own: the mask says it
    mask = sum(1 << place for place, end in enumerate(ends_) if end < 0)
    vectors = [
        c.ints(column) for column in ([b for b, _, _ in full], [max(e, 0) for e in ends_], [s for *_, s in full])
    ]
    y = c.node(a.StridedSlice(endMask=mask), operand, *vectors, like=value)
    return c.put(value, y, last=last)


@rule("Tile")
def tile(c: Converter, n: Node) -> None:
    """TileFusion over all axes."""
    x, value = _first(n)
    times = [int(count) for count in _required(c, n, 1, "repeats")]
    c.put(value, c.node(a.TileFusion(list(range(x.rank))), c.plain(x), c.ints(times), like=value))


# -- look-ups ----------------------------------------------------------------------------------------------------------


@rule("Gather")
def gather(c: Converter, n: Node) -> None:
    """Gather; constant indices below 0 are counted from the front."""
    x, value = _first(n)
    indices = n.inputs[1]
    assert indices is not None
    axis = int(n.attributes.get("axis", 0)) % x.rank
    if indices.data is not None and (indices.data < 0).any():
        size = known(x.shape[axis : axis + 1])[0]
        places = c.constant(indices.data % size, indices.name)
    else:
        places = c.plain(indices)
    c.put(value, c.node(a.Gather(), c.plain(x), places, c.whole(axis), like=value))


@rule("GatherND")
def gather_nd(c: Converter, n: Node) -> None:
    """GatherNd."""
    x, value = _first(n)
    indices = n.inputs[1]
    assert indices is not None
    if n.attributes.get("batch_dims"):
        raise UnsupportedError("tuples that leave out the leading dims cannot be said")
    known(indices.shape[-1:])
    c.put(value, c.node(a.GatherNd(), c.plain(x), c.plain(indices), like=value))


@rule("ScatterND")
def scatter_nd(c: Converter, n: Node) -> None:
    """ScatterNd, where updates are written into zeros."""
    x, value = _first(n)
    indices, updates = n.inputs[1], n.inputs[2]
    assert indices is not None
    assert updates is not None
    if x.data is None or x.data.any() or n.attributes.get("reduction", "none") not in ("none", b"none"):
        raise UnsupportedError("updates can only be written into zeros")
    c.put(value, c.node(a.ScatterNd(), c.plain(indices), c.plain(updates), c.ints(x.data.shape), like=value))


@rule("OneHot")
def one_hot(c: Converter, n: Node) -> None:
    """OneHot; indices that count from the end are brought to the front before."""
    x, value = _first(n)
    depth, pair = int(_required(c, n, 1, "depth").reshape(-1)[0]), _required(c, n, 2, "values")
    axis = int(n.attributes.get("axis", -1))
    off, on = (c.number(number, value.dtype) for number in pair.reshape(-1))
    c.put(value, c.node(a.OneHot(axis), _from_the_front(c, x, depth), c.whole(depth), on, off, like=value))


def _from_the_front(c: Converter, x: Value, size: int) -> Ref:
    """Indices below 0 with the size added."""
    import numpy as np

    if x.data is not None:
        data = x.data.astype(np.int64)
        return c.constant(np.where(data < 0, data + size, data), x.name)
    indices = c.plain(x)
    if x.dtype.kind == "u" or (x.node is not None and x.node.op in ("ArgMax", "ArgMin")):
        return indices
    if indices.data_type != DataType.INT32:
        indices = c.node(a.Cast(), indices, c.whole(int(DataType.INT32)))
    below, above = c.node(a.Less(), indices, c.whole(0)), c.node(a.AddFusion(), indices, c.whole(size))
    result: Ref = c.node(a.Where(), below, above, indices)
    return result


@rule("ConstantOfShape")
def constant_of_shape(c: Converter, n: Node) -> None:
    """A constant where the dims are known, else ConstantOfShape."""
    import numpy as np

    shape, value = _first(n)
    fill = n.attributes.get("value")
    number = np.zeros(1, np.float32) if fill is None else np.asarray(fill).reshape(-1)
    if value.static:
        return c.put(value, c.constant(np.full(known(value.shape), number[0], number.dtype), value.name))
    from ..converter import data_type

    kind = int(data_type(number.dtype))
    return c.put(value, c.node(a.ConstantOfShape(kind, [float(number[0])]), c.plain(shape), like=value))


@rule("Range")
def count(c: Converter, n: Node) -> None:
    """Range of three inputs."""
    values = [value for value in n.inputs if value is not None]
    c.put(n.outputs[0], c.node(a.Range(), *(c.plain(value) for value in values), like=n.outputs[0]))


@rule("NonZero")
def non_zero(c: Converter, n: Node) -> None:
    """Where of one input, turned."""
    x, value = _first(n)
    operand = c.plain(x)
    if narrow(x.dtype) != "bool":
        operand = c.b.NotEqual(operand, c.number(0, x.dtype))
    c.put(value, c.b.Transpose(c.b.Where(operand), [1, 0]))
