"""StridedSlice and Crop: parts of a tensor that other inputs or masks name."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import CheckError
from ...graph.builder import Size
from ...graph.composites.sizes import plus
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType
from .base import NodeBuilder, axis_of, node
from .shape import FAR, _integers


@dataclass(frozen=True)
class _Masks:
    """Which entries have which bit; ``kept`` are those that stand for a dim of x."""

    count: int
    p: attributes.StridedSlice

    def bit(self, mask: int, entry: int) -> bool:
        return bool(mask >> entry & 1)

    @property
    def inserted(self) -> list[int]:
        return [entry for entry in range(self.count) if self.bit(self.p.newAxisMask, entry)]

    @property
    def kept(self) -> list[int]:
        return [entry for entry in range(self.count) if not self.bit(self.p.newAxisMask, entry)]

    def shrunk(self, entry: int) -> bool:
        return self.bit(self.p.shrinkAxisMask, entry)


@node(NodeType.STRIDED_SLICE, quantized="move")
def strided_slice(
    g: NodeBuilder, p: attributes.StridedSlice, x: Value, begin: Value, end: Value, strides: Value
) -> Value:
    """y = x from begin to end by strides along the leading dims.

    x (…), begin, end, strides (k) int32, negative places from the end → y (…).  Bit i of a mask is about entry i:
    newAxisMask inserts a 1 and the entry stands for no dim of x; beginMask starts at 0, endMask runs to the last
    element on the way (the first for negative strides), ellipsisMask takes the whole dim by its stride, shrinkAxisMask
    the one element at begin, and drops the dim.
    Differs: the text keeps a dim that is shrunk, as 1.  An end beyond its dim is refused, not cut.
    """
    lengths = [value.shape[0] if value.rank == 1 else None for value in (begin, end, strides)]
    count = lengths[0]
    if not isinstance(count, int) or any(length != count for length in lengths):
        shapes = [list(value.shape) for value in (begin, end, strides)]
        raise CheckError(f"begin, end and strides must be vectors of one known length, got {shapes}")
    masks = _Masks(count, p)
    kept = masks.kept
    if len(kept) > x.rank:
        raise CheckError(f"begin must have at most {x.rank} entries for the dims of {list(x.shape)}, got {len(kept)}")
    if begin.data is None or end.data is None or strides.data is None:
        y = _computed(g, masks, x, begin, end, strides)
    else:
        y = _known(g, masks, x, *(_integers(value, what) for value, what in _named(begin, end, strides)))
    gone = [axis for axis, entry in enumerate(kept) if masks.shrunk(entry)]
    if gone:
        y = g.Squeeze(y, gone)
    if masks.inserted:
        made = [entry for entry in range(count) if entry in masks.inserted or not masks.shrunk(entry)]
        y = g.Unsqueeze(y, [made.index(entry) for entry in masks.inserted])
    return y


def _named(begin: Value, end: Value, strides: Value) -> list[tuple[Value, str]]:
    return [(begin, "begin"), (end, "end"), (strides, "strides")]


def _known(g: NodeBuilder, masks: _Masks, x: Value, begin: list[int], end: list[int], strides: list[int]) -> Value:
    """The slice by constants; what leaves its dim is refused where the dim is known."""
    parts = []
    for axis, entry in enumerate(masks.kept):
        dim = x.shape[axis]
        size = dim if isinstance(dim, int) else None
        start, stop, step = begin[entry], end[entry], strides[entry]
        if step == 0:
            raise CheckError("a stride must not be 0")
        if masks.bit(masks.p.beginMask, entry):
            start = 0
        if masks.bit(masks.p.endMask, entry):
            stop = FAR if step > 0 else -FAR
        if masks.bit(masks.p.ellipsisMask, entry):
            start, stop = 0, FAR
        if masks.shrunk(entry):
            stop, step = start + 1 if start != -1 else FAR, 1
        _check_range(size, start, stop, step, axis, x)
        parts.append((start, stop, step))
    if not parts:
        return x
    starts, stops, steps = zip(*parts, strict=True)
    result: Value = g.Slice(x, list(starts), list(stops), list(range(len(parts))), list(steps))
    return result


def _check_range(size: int | None, start: int, stop: int, step: int, axis: int, x: Value) -> None:
    """CheckError where a slice begins or ends beyond a known dim."""
    if size is None:
        return
    first = start + size if start < 0 else start
    last = stop + size if -FAR < stop < 0 else stop
    if not 0 <= first < max(size, 1):
        raise CheckError(f"begin {start} does not lie in dim {axis} of {list(x.shape)}")
    if abs(stop) != FAR and not (0 if step > 0 else -1) <= last <= size:
        raise CheckError(f"end {stop} does not lie in dim {axis} of {list(x.shape)}")


def _computed(g: NodeBuilder, masks: _Masks, x: Value, begin: Value, end: Value, strides: Value) -> Value:
    """The slice by numbers that are known at run time only; there the engine cuts what leaves its dim."""
    kept = masks.kept
    if not kept:
        return x
    start, stop, step = (
        value if kept == list(range(masks.count)) else g.Gather(value, kept, axis=0)
        for value in (g.cast(begin, "int64"), g.cast(end, "int64"), g.cast(strides, "int64"))
    )

    def where(mask: int, yes: Value, no: Value) -> Value:
        flags = [masks.bit(mask, entry) for entry in kept]
        if not any(flags):
            return no
        result: Value = g.Where(g.constant(flags, "bool"), yes, no)
        return result

    zero, one, far, near = (g.constant(number, "int64") for number in (0, 1, FAR, -FAR))
    start = where(masks.p.beginMask, zero, start)
    if masks.p.endMask:
        stop = where(masks.p.endMask, g.Where(g.Less(step, zero), near, far), stop)
    whole = masks.p.ellipsisMask
    start, stop = where(whole, zero, start), where(whole, far, stop)
    if masks.p.shrinkAxisMask:
        behind = g.Where(g.Equal(start, g.constant(-1, "int64")), far, g.Add(start, one))
        stop, step = where(masks.p.shrinkAxisMask, behind, stop), where(masks.p.shrinkAxisMask, one, step)
    result: Value = g.Slice(x, start, stop, list(range(len(kept))), step)
    return result


@node(NodeType.CROP, quantized="move")
def crop(g: NodeBuilder, p: attributes.Crop, x: Value, reference: Value) -> Value:
    """y = x cut, from ``axis`` on, to the dims of the second input, beginning at ``offset``.

    x (…), reference of the same rank, of which only the dims count; one offset serves all axes → y (…).
    Differs: the text could mean a vector of sizes; kernels and their tests look at the dims.
    """
    if reference.rank != x.rank or not x.rank:
        raise CheckError(
            f"both inputs must have the same number of dims, got {list(x.shape)} and {list(reference.shape)}"
        )
    axis = axis_of(p.axis, x.rank)
    axes = list(range(axis, x.rank))
    offsets = [int(offset) for offset in p.offset]
    if len(offsets) not in (1, len(axes)) or min(offsets) < 0 or max(offsets) >= 1 << 31:
        raise CheckError(f"offset must hold 1 or {len(axes)} integers of at least 0, got {offsets}")
    offsets = offsets * len(axes) if len(offsets) == 1 else offsets
    ends: list[Size] = []
    for place, start in zip(axes, offsets, strict=True):
        wanted, have = g.size(reference, place), x.shape[place]
        if isinstance(wanted, int) and isinstance(have, int) and start + wanted > have:
            raise CheckError(f"{wanted} elements from offset {start} on do not lie in dim {place} of {list(x.shape)}")
        ends.append(plus(g, wanted, start))
    result: Value = g.Slice(x, offsets, g.vector(ends), axes)
    return result
