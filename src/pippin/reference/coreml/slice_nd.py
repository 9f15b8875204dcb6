"""Parts of a tensor, in another order or normalised along an axis: slices, windows, reversals, softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import CheckError
from .arrays import Array, as_axis, as_shape, integers, scalar
from .registry import Context, twin


@twin("softmaxND")
def softmax_nd(context: Context, params: Any, x: Array) -> Array:
    """y_i = exp(x_i) / sum_j exp(x_j) along ``axis``. Source: SoftmaxNDLayerParams."""
    axis = as_axis(params.axis, x.ndim)
    weights = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return np.asarray(weights / weights.sum(axis, keepdims=True), np.float64)


@twin("reverse")
def reverse(context: Context, params: Any, x: Array) -> Array:
    """x backwards along each axis whose ``reverseDim`` is set. Source: ReverseLayerParams."""
    if len(params.reverseDim) != x.ndim:
        raise CheckError(f"reverseDim must hold {x.ndim} flags, the rank of the input, got {len(params.reverseDim)}")
    return np.flip(x, tuple(axis for axis, flag in enumerate(params.reverseDim) if flag))


@twin("reverseSeq")
def reverse_seq(context: Context, params: Any, x: Array, lengths: Array) -> Array:
    """Of batch element b, the first lengths[b] places along ``sequenceAxis`` backwards, the rest as it was.

    Source: ReverseSeqLayerParams.
    """
    batch = as_axis(params.batchAxis, x.ndim, "batchAxis")
    sequence = as_axis(params.sequenceAxis, x.ndim, "sequenceAxis")
    if batch >= sequence:
        raise CheckError(f"batchAxis must stand before sequenceAxis, got {batch} and {sequence}")
    counts = integers(lengths, "seq_lengths")
    if len(counts) != x.shape[batch]:
        raise CheckError(f"seq_lengths must hold {x.shape[batch]} numbers, the size of batchAxis, got {len(counts)}")
    if any(not 0 <= count <= x.shape[sequence] for count in counts):
        raise CheckError(f"seq_lengths must lie between 0 and {x.shape[sequence]}, got {counts}")
    moved = np.moveaxis(x, (batch, sequence), (0, 1))
    result = np.array(moved)
    for index, count in enumerate(counts):
        result[index, :count] = moved[index, :count][::-1]
    return np.moveaxis(result, (0, 1), (batch, sequence))


@twin("sliceStatic")
def slice_static(context: Context, params: Any, x: Array) -> Array:
    """y = x[begin:end:stride] on each axis, as NumPy has it.

    A masked begin or end is the whole way (with a negative stride: from the last element, to the first one). An axis
    with a squeeze mask is cut at its begin and goes, whatever its masks and stride say; of a tensor that loses all of
    its axes one dim of 1 is left. Source: SliceStaticLayerParams.
    """
    fields = ("beginIds", "endIds", "strides", "beginMasks", "endMasks")
    begins, ends, strides, begin_masks, end_masks = (list(getattr(params, name)) for name in fields)
    squeezes = list(params.squeezeMasks) or [False] * x.ndim
    for name, values in zip(
        (*fields, "squeezeMasks"), (begins, ends, strides, begin_masks, end_masks, squeezes), strict=True
    ):
        if len(values) != x.ndim:
            raise CheckError(f"{name} must hold {x.ndim} values, the rank of the input, got {len(values)}")
    return _slice(x, begins, ends, strides, begin_masks, end_masks, squeezes)


@twin("sliceDynamic")
def slice_dynamic(context: Context, params: Any, x: Array, begins: Array, *more: Array) -> Array:
    """As ``sliceStatic``; beginIds are the second input, and endIds, strides, beginMasks, endMasks, squeezeMasks may be
    the next ones, in which case the field is ignored.

    Masks that are nowhere are off. Differs: a field may be longer than the rank (widespread converters write five
    values always); the first ones count. Source: SliceDynamicLayerParams.
    """
    names = ("endIds", "strides", "beginMasks", "endMasks", "squeezeMasks")
    if len(more) > len(names):
        raise CheckError(f"must have 2 to 7 inputs, got {2 + len(more)}")
    values = [_exact(integers(begins, "beginIds"), x.ndim, "beginIds")]
    for index, name in enumerate(names):
        if index < len(more):
            values.append(_exact(integers(more[index], name), x.ndim, name))
            continue
        field = [int(value) for value in getattr(params, name)]
        if not field and name.endswith("Masks"):
            field = [0] * x.ndim
        values.append(_exact(field[: x.ndim], x.ndim, name))
    return _slice(x, *values)


def _exact(values: list[int], rank: int, name: str) -> list[int]:
    if len(values) != rank:
        raise CheckError(f"{name} must hold {rank} values, the rank of the input, got {len(values)}")
    return values


def _slice(
    x: Array,
    begins: Sequence[int],
    ends: Sequence[int],
    strides: Sequence[int],
    begin_masks: Sequence[int],
    end_masks: Sequence[int],
    squeezes: Sequence[int],
) -> Array:
    index: list[int | slice] = []
    for axis, (begin, end, stride, no_begin, no_end, squeeze) in enumerate(
        zip(begins, ends, strides, begin_masks, end_masks, squeezes, strict=True)
    ):
        if squeeze:
            if not -x.shape[axis] <= begin < x.shape[axis]:
                raise CheckError(f"beginIds[{axis}] = {begin} lies outside the axis, whose size is {x.shape[axis]}")
            index.append(begin)
            continue
        if stride == 0:
            raise CheckError(f"strides must not be 0, got {list(strides)}")
        index.append(slice(None if no_begin else begin, None if no_end else end, stride))
    result = np.array(x[tuple(index)])
    return result.reshape(1) if x.ndim and not result.ndim else result


@twin("sliceBySize")
def slice_by_size(context: Context, params: Any, x: Array, begin: Array) -> Array:
    """y = x[begin : begin + size] along ``axis``; begin is a scalar input. Source: SliceBySizeLayerParams."""
    axis = as_axis(params.axis, x.ndim)
    start = int(scalar(begin, "begin")) if np.isfinite(begin).all() else -1
    if params.size < 1:
        raise CheckError(f"size must be positive, got {params.size}")
    if not 0 <= start <= x.shape[axis] - params.size:
        raise CheckError(
            f"size {params.size} from begin {start} must lie inside axis {axis}, whose size is {x.shape[axis]}"
        )
    return np.asarray(np.take(x, np.arange(start, start + params.size), axis), np.float64)


@twin("slidingWindows")
def sliding_windows(context: Context, params: Any, x: Array) -> Array:
    """All windows along ``axis``: the axis L becomes (M, W), y[…, m, w, …] = x[…, m step + w, …].

    M = (L - W) / step + 1, W = windowSize. Source: SlidingWindowsLayerParams.
    """
    axis = as_axis(params.axis, x.ndim)
    if params.step < 1:
        raise CheckError(f"step must be positive, got {params.step}")
    if not 1 <= params.windowSize <= x.shape[axis]:
        raise CheckError(
            f"windowSize must lie between 1 and {x.shape[axis]}, the size of the axis, got {params.windowSize}"
        )
    count = (x.shape[axis] - params.windowSize) // params.step + 1
    as_shape((*x.shape[:axis], count, params.windowSize, *x.shape[axis + 1 :]))
    starts = np.array([window * params.step for window in range(count)])
    return np.asarray(np.take(x, starts[:, None] + np.arange(params.windowSize), axis), np.float64)
