"""Layers that take parts of a tensor along its axes, or reverse them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import UnsupportedError
from ...graph.ir import Value
from ..integers import LIMIT, elements, traced
from ..lowering import Context, axis_of, lowering, require

LAST, FIRST = (1 << 63) - 1, -(1 << 63)
"""Bounds that every axis lies within."""
BEYOND = 1 << 62
"""Behind every axis, but not what the engine takes for an open bound."""


@lowering("sliceStatic", integers=True)
def slice_static(g: Context, p: Any, x: Value) -> Value:
    """A part of a tensor: x[begin:end:stride] along each axis, with Python's rules for negative numbers.

    A set bit in ``beginMasks`` or ``endMasks`` leaves that bound open; one in ``squeezeMasks`` takes the element at
    beginIds instead and removes the axis.
    x (D₀,…) → y of the rank less the squeezed axes, at least 1. Source: SliceStaticLayerParams.
    """
    masks = [list(p.beginMasks), list(p.endMasks), list(p.squeezeMasks) or [False] * x.rank]
    for name, values in zip(
        ("beginIds", "endIds", "strides", "beginMasks", "endMasks", "squeezeMasks"),
        (p.beginIds, p.endIds, p.strides, *masks),
        strict=True,
    ):
        require(len(values) == x.rank, f"{name} must hold {x.rank} values, the rank of the input, got {len(values)}")
    return cut(g, x, [int(b) for b in p.beginIds], [int(e) for e in p.endIds], [int(s) for s in p.strides], *masks)


def cut(
    g: Context,
    x: Value,
    begin: Sequence[int],
    end: Sequence[int],
    stride: Sequence[int],
    begin_mask: Sequence[bool],
    end_mask: Sequence[bool],
    squeeze_mask: Sequence[bool],
) -> Value:
    """The slice of known bounds; only axes that are cut are named."""
    axes: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    steps: list[int] = []
    for axis in range(x.rank):
        step, size = stride[axis], x.shape[axis]
        start = (0 if step > 0 else LAST) if begin_mask[axis] else begin[axis]
        stop = (LAST if step > 0 else FIRST) if end_mask[axis] else end[axis]
        if squeeze_mask[axis]:
            start, step = begin[axis], 1
            within = isinstance(size, str) or -size <= start < size
            require(within, f"beginIds must lie within the axis {axis} of size {size} that is squeezed, got {start}")
            stop = start + 1 or LAST
        require(step != 0, f"strides must not hold 0, got {list(stride)}")
        if step != 1 or start != 0 or (stop != LAST and (isinstance(size, str) or stop < size)):
            axes, starts, ends, steps = [*axes, axis], [*starts, start], [*ends, stop], [*steps, step]
    squeezed = [axis for axis in range(x.rank) if squeeze_mask[axis]]
    if axes and x.rank == 1 and x.dtype.kind == "i" and traced(x):
        sizes = elements(g, x)  # a part of a shape: what is known of it stays known
        return g.vector(sizes[slice(starts[0], None if ends[0] in (LAST, FIRST) else ends[0], steps[0])])
    if len(axes) == 1 and squeezed == axes and x.rank > 1:
        import numpy as np

        return g.Gather(x, np.int64(starts[0]), axis=axes[0])
    if axes:
        x, starts, ends, steps = _backward(g, x, starts, ends, axes, steps)
        x = g.Slice(x, starts, ends, axes, steps if any(step != 1 for step in steps) else None)
    return removed(g, x, squeezed)


def _backward(
    g: Context, x: Value, starts: list[int], ends: list[int], axes: list[int], steps: list[int]
) -> tuple[Value, list[int], list[int], list[int]]:
    """Bounds for ONNX's Slice, which steps backward from the first element where Python finds nothing: before it.

    Where the size is unknown, what lies behind the start is cut off first.
    """
    starts, ends, steps = list(starts), list(ends), list(steps)
    for index, axis in enumerate(axes):
        start, size = starts[index], x.shape[axis]
        if steps[index] > 0 or start >= -1:
            continue
        if isinstance(size, str):
            x = g.Slice(x, [0], [start + 1], [axis])
            ends[index] -= start + 1 if FIRST < ends[index] < 0 else 0
            starts[index] = LAST
        elif start < -size:
            starts[index], ends[index], steps[index] = 0, 0, 1
    return x, starts, ends, steps


def removed(g: Context, x: Value, axes: list[int]) -> Value:
    """``x`` without ``axes``, which have size 1; one axis stays."""
    axes = axes[1:] if len(axes) == x.rank else axes
    return g.Squeeze(x, axes) if axes else x


@dataclass
class Bounds:
    """The operands of a dynamic slice: a list of numbers where they are known, else an int64 vector."""

    begin: Any
    end: Any
    stride: Any
    begin_mask: Any
    end_mask: Any
    squeeze_mask: Any

    @property
    def known(self) -> bool:
        return not any(isinstance(value, Value) for value in vars(self).values())


@lowering("sliceDynamic", integers=True)
def slice_dynamic(g: Context, p: Any, x: Value, begin: Value, *more: Value) -> Value:
    """As sliceStatic, with bounds as inputs: beginIds, then endIds, strides, beginMasks, endMasks, squeezeMasks.

    An input that is there stands for the parameter of the same name. Parameters may be longer than the rank.
    x (D₀,…), inputs 2 to 7 (rank of x) → y of the rank less the squeezed axes, at least 1.
    Differs: squeezeMasks as an input must be a constant, for the rank depends on it. Source: SliceDynamicLayerParams.
    """
    require(len(more) <= 5, f"the layer must have 2 to 7 inputs, got {2 + len(more)}")
    names = ("endIds", "strides", "beginMasks", "endMasks", "squeezeMasks")
    given = [_operand(g, begin, x.rank, "beginIds")]
    for index, name in enumerate(names):
        if index < len(more):
            given.append(_operand(g, more[index], x.rank, name))
            continue
        values = [int(value) for value in getattr(p, name)]
        if not values and name.endswith("Masks"):
            values = [0] * x.rank
        require(len(values) >= x.rank, f"{name} must hold {x.rank} values, the rank of the input, got {len(values)}")
        given.append(values[: x.rank])
    bounds = Bounds(*given)
    if isinstance(bounds.squeeze_mask, Value):
        raise UnsupportedError("squeezeMasks as an input must be a constant: the rank of the result depends on it")
    if bounds.known:
        return cut(g, x, *vars(bounds).values())
    return _slice(g, x, bounds)


def _operand(g: Context, x: Value, rank: int, name: str) -> Any:
    require(
        x.rank == 1 and (isinstance(x.shape[0], str) or x.shape[0] == rank),
        f"{name} as an input must be a vector of {rank} values, the rank of the first input, got {list(x.shape)}",
    )
    x = g.integer(x)
    return x if x.data is None else [int(value) for value in x.data]


def _slice(g: Context, x: Value, bounds: Bounds) -> Value:
    """A slice whose bounds are computed: squeezed axes by Gather, the others in one Slice."""
    squeezed = [axis for axis in range(x.rank) if bounds.squeeze_mask[axis]]
    axes = [axis for axis in range(x.rank) if axis not in squeezed]
    if axes:
        begin, end, stride = (_pick(g, value, axes) for value in (bounds.begin, bounds.end, bounds.stride))
        begin_mask, end_mask = _pick(g, bounds.begin_mask, axes), _pick(g, bounds.end_mask, axes)
        # an open bound is the first or the last element: which of them, the sign of the stride decides
        starts = _choose(g, begin_mask, _ends(g, stride, 0, LAST), begin)
        stops = _choose(g, end_mask, _ends(g, stride, LAST, FIRST), end)
        if not isinstance(stride, list) or any(step < 0 for step in stride):
            # from before the first element nothing is behind; ONNX would take the first one
            before = g.Less(_vector(g, starts), g.Neg(g.vector([g.size(x, axis) for axis in axes])))
            backward = g.Less(_vector(g, stride), 0)
            stops = g.Where(g.And(before, backward), BEYOND, _vector(g, stops))
        if isinstance(stride, list):
            require(0 not in stride, f"strides must not hold 0, got {stride}")
            stride = None if set(stride) == {1} else stride
        x = g.Slice(x, starts, stops, axes, stride)
    for axis in reversed(squeezed):
        index = _vector(g, _pick(g, bounds.begin, [axis]))
        x = g.Gather(x, index if x.rank == 1 else g.reshape(index, []), axis=axis)
    return x


def _pick(g: Context, values: Any, axes: list[int]) -> Any:
    """The entries of ``axes``."""
    if isinstance(values, list):
        return [values[axis] for axis in axes]
    if isinstance(values.shape[0], int) and axes == list(range(values.shape[0])):
        return values
    return g.Slice(values, axes, [axes[0] + 1], [0]) if len(axes) == 1 else g.Gather(values, axes)


def _ends(g: Context, stride: Any, forward: int, backward: int) -> Any:
    """The open bound of each axis."""
    if isinstance(stride, list):
        return [forward if step > 0 else backward for step in stride]
    return g.Where(g.Greater(stride, 0), forward, backward)


def _choose(g: Context, mask: Any, chosen: Any, other: Any) -> Any:
    """``chosen`` where the mask is set."""
    if isinstance(mask, list):
        if not any(mask):
            return other
        if all(mask):
            return chosen
        if isinstance(chosen, list) and isinstance(other, list):
            return [a if bit else b for bit, a, b in zip(mask, chosen, other, strict=True)]
        condition = g.constant([bool(bit) for bit in mask], "bool")
    else:
        condition = g.Cast(mask, to=9)
    return g.Where(condition, g.vector(chosen) if isinstance(chosen, list) else chosen, _vector(g, other))


def _vector(g: Context, values: Any) -> Value:
    return g.vector(values) if isinstance(values, list) else values


@lowering("sliceBySize", integers=True)
def slice_by_size(g: Context, p: Any, x: Value, begin: Value) -> Value:
    """``size`` elements along ``axis`` from ``begin`` on, the second input.

    y = x[begin : begin + size]; a negative begin counts from the end. x (…,D,…), begin (1) → y (…,size,…).
    Source: SliceBySizeLayerParams.
    """
    import numpy as np

    axis = axis_of(p.axis, x.rank)
    size, whole = int(p.size), x.shape[axis]
    fits = size > 0 and (size <= whole if isinstance(whole, int) else size < 1 << 31)
    require(fits, f"size must lie between 1 and {whole}, the size of axis {axis}, got {size}")
    require(
        all(isinstance(dim, str) or dim == 1 for dim in begin.shape),
        f"begin must be a scalar, got {list(begin.shape)}",
    )
    begin = g.integer(begin)
    if begin.data is None:
        # not Slice, which gives fewer elements where the end lies outside
        return g.Gather(x, g.Add(g.reshape(begin, [1]), np.arange(size)), axis=axis)
    start = int(begin.data.item())
    start = start + whole if start < 0 and isinstance(whole, int) else start
    require(
        isinstance(whole, str) or 0 <= start <= whole - size,
        f"begin must lie in [0, {whole} - {size}] for size {size} of axis {axis}, got {start}",
    )
    if isinstance(whole, str) and start < 0:
        return g.Gather(x, np.arange(start, start + size), axis=axis)
    return g.Slice(x, [start], [start + size], [axis])


@lowering("slidingWindows", integers=True)
def sliding_windows(g: Context, p: Any, x: Value) -> Value:
    """All windows of ``windowSize`` elements along ``axis``, ``step`` apart.

    y[…,m,w,…] = x[…, m·step + w, …]; x (…,L,…) → y (…,M,W,…), M = ⌊(L - W) / step⌋ + 1.
    Source: SlidingWindowsLayerParams.
    """
    import numpy as np

    axis = axis_of(p.axis, x.rank)
    size, step, length = int(p.windowSize), int(p.step), g.size(x, axis)
    require(0 < step < 1 << 31, f"step must be positive, got {step}")
    fits = size <= length if isinstance(length, int) else size < 1 << 24
    require(
        size > 0 and fits, f"windowSize must lie between 1 and {x.shape[axis]}, the size of axis {axis}, got {size}"
    )
    if isinstance(length, int):
        starts = np.arange(0, length - size + 1, step)
        require(starts.size * size < LIMIT, f"windowSize asks for {starts.size:,} windows of {size:,} elements")
        return g.Gather(x, starts[:, None] + np.arange(size), axis=axis)
    last = g.reshape(g.Sub(length, size - 1), [])
    starts = g.Unsqueeze(g.Range(np.int64(0), last, np.int64(step)), [1])
    return g.Gather(x, g.Add(starts, np.arange(size)), axis=axis)


@lowering("reverse", integers=True)
def reverse(g: Context, p: Any, x: Value) -> Value:
    """Reverses the order along each axis whose ``reverseDim`` is set.

    x (…) → y same shape. Source: ReverseLayerParams.
    """
    flags = list(p.reverseDim)
    require(len(flags) == x.rank, f"reverseDim must hold {x.rank} values, the rank of the input, got {len(flags)}")
    axes = [axis for axis, flag in enumerate(flags) if flag]
    if not axes:
        return x
    result: Value = g.Slice(x, [-1] * len(axes), [FIRST] * len(axes), axes, [-1] * len(axes))
    result.shape = x.shape
    return result


@lowering("reverseSeq", integers=True)
def reverse_seq(g: Context, p: Any, x: Value, lengths: Value) -> Value:
    """Reverses the first elements along ``sequenceAxis``, as many for each entry of ``batchAxis`` as ``lengths`` says.

    x (…,B,…,S,…), lengths (B) → y same shape. Source: ReverseSeqLayerParams.
    """
    batch, sequence = axis_of(p.batchAxis, x.rank, "batchAxis"), axis_of(p.sequenceAxis, x.rank, "sequenceAxis")
    require(batch < sequence, f"batchAxis must be less than sequenceAxis, got {p.batchAxis} and {p.sequenceAxis}")
    require(lengths.rank == 1, f"seq_lengths, the second input, must have rank 1, got {lengths.rank}")
    count, size = lengths.shape[0], x.shape[batch]
    fits = isinstance(count, str) or isinstance(size, str) or count == size
    require(fits, f"seq_lengths, the second input, must hold {size} values, the size of batchAxis, got {count}")
    # the engine takes these two axes in front only
    order = [batch, sequence, *(axis for axis in range(x.rank) if axis not in (batch, sequence))]
    moved = x if order == sorted(order) else g.Transpose(x, perm=order)
    y = g.ReverseSequence(moved, g.integer(lengths), batch_axis=0, time_axis=1)
    return y if moved is x else g.Transpose(y, perm=[order.index(axis) for axis in range(x.rank)])
