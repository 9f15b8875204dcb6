"""Rows of the layers that take parts of a tensor: slices, windows, reversals; and of softmaxND."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from cases import Case


def ramp(*shape: int) -> np.ndarray:
    """0, 1, 2, … in the given shape."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


_SHAPES: tuple[tuple[int, ...], ...] = ((7,), (3, 5), (2, 3, 5), (2, 1, 3, 5), (2, 3, 1, 2, 3))

_SOFTMAX = [
    Case("softmaxND", "known answer", {"axis": 0}, ([0, np.log(2), np.log(5)],), expect=([1 / 8, 2 / 8, 5 / 8],)),
    Case("softmaxND", "axis 0 by default", {}, ([[0, 0], [0, np.log(3)]],), expect=([[0.5, 0.25], [0.5, 0.75]],)),
    Case("softmaxND", "large numbers", {"axis": -1}, ([[1000, 1000], [-1000, 0]],), expect=([[0.5, 0.5], [0, 1]],)),
    *(
        Case("softmaxND", f"rank {len(shape)}, axis {axis}", {"axis": axis}, (shape,))
        for shape in _SHAPES
        for axis in sorted({0, -1, len(shape) // 2})
    ),
    Case("softmaxND", "an axis of 1", {"axis": 1}, ((3, 1),), expect=([[1], [1], [1]],)),
    Case("softmaxND", "axis above the rank", {"axis": 2}, ((2, 3),), refuses="axis"),
    Case("softmaxND", "axis too negative", {"axis": -3}, ((2, 3),), refuses="axis"),
]

_REVERSE = [
    Case(
        "reverse",
        "known answer",
        {"reverseDim": [False, True]},
        ([[1, 2, 3], [4, 5, 6]],),
        expect=([[3, 2, 1], [6, 5, 4]],),
    ),
    Case("reverse", "no axis", {"reverseDim": [False, False]}, ((2, 3),)),
    *(
        Case("reverse", f"rank 3, {flags}", {"reverseDim": list(flags)}, ((2, 3, 5),))
        for flags in product((False, True), repeat=3)
    ),
    Case("reverse", "rank 1", {"reverseDim": [True]}, ((7,),)),
    Case("reverse", "rank 5", {"reverseDim": [True, False, True, False, True]}, ((2, 3, 2, 1, 3),)),
    Case("reverse", "no elements", {"reverseDim": [True, True]}, ((0, 3),)),
    Case("reverse", "too few flags", {"reverseDim": [True]}, ((2, 3),), refuses="reverseDim"),
    Case("reverse", "no flags", {}, ((2, 3),), refuses="reverseDim"),
]


def _axes(batch: int, sequence: int) -> dict[str, Any]:
    return {"batchAxis": batch, "sequenceAxis": sequence}


_REVERSE_SEQ = [
    Case("reverseSeq", "the text, rank 2", _axes(0, 1), (ramp(2, 4), [3, 0]), expect=([[2, 1, 0, 3], [4, 5, 6, 7]],)),
    Case(
        "reverseSeq",
        "the text, rank 3",
        _axes(0, 1),
        (ramp(2, 3, 2), [2, 3]),
        expect=([[[2, 3], [0, 1], [4, 5]], [[10, 11], [8, 9], [6, 7]]],),
    ),
    Case("reverseSeq", "negative axes", _axes(-3, -1), ((2, 3, 5), [5, 2])),
    Case("reverseSeq", "axes 1 and 2", _axes(1, 2), ((2, 3, 5), [4, 1, 5])),
    Case("reverseSeq", "axes 1 and 3, rank 4", _axes(1, 3), ((2, 3, 1, 5), [0, 5, 3])),
    Case("reverseSeq", "axes 0 and 4, rank 5", _axes(0, 4), ((2, 1, 3, 2, 4), [4, 3])),
    Case("reverseSeq", "lengths 0 and 1 change nothing", _axes(0, 1), ((2, 3), [0, 1])),
    Case("reverseSeq", "batchAxis behind sequenceAxis", _axes(1, 0), ((2, 2), [1, 1]), refuses="batchAxis"),
    Case("reverseSeq", "batchAxis is sequenceAxis, the default", {}, ((2, 2), [1, 1]), refuses="batchAxis"),
    Case("reverseSeq", "sequenceAxis outside", _axes(0, 2), ((2, 2), [1, 1]), refuses="sequenceAxis"),
    Case("reverseSeq", "one input", _axes(0, 1), ((2, 2),), refuses="input"),
    Case("reverseSeq", "lengths for another batch", _axes(0, 1), ((2, 3), [1, 1, 1]), refuses="seq_lengths"),
]


def _slice(
    begin: Sequence[int],
    end: Sequence[int],
    stride: Sequence[int] | None = None,
    begin_mask: Sequence[int] | None = None,
    end_mask: Sequence[int] | None = None,
    squeeze: Sequence[int] | None = None,
) -> dict[str, Any]:
    off = [False] * len(begin)
    fields: dict[str, Any] = {
        "beginIds": list(begin),
        "beginMasks": [bool(flag) for flag in begin_mask or off],
        "endIds": list(end),
        "endMasks": [bool(flag) for flag in end_mask or off],
        "strides": list(stride or [1] * len(begin)),
    }
    if squeeze:
        fields["squeezeMasks"] = [bool(flag) for flag in squeeze]
    return fields


_TEXT = ([1, 2, 3], [3, -3, 2], [2, 2, 2], [1, 0, 1], [0, 1, 1])
_CUBE = ramp(5, 5, 5)
_TEN = ramp(10)

# note, shape, the slice, what NumPy's notation for it yields
_SLICES: tuple[tuple[str, np.ndarray, dict[str, Any], np.ndarray], ...] = (
    ("the text", _CUBE, _slice(*_TEXT), _CUBE[:3:2, 2::2, ::2]),
    ("the text, squeezed", _CUBE, _slice(*_TEXT, [0, 1, 0]), _CUBE[:3:2, 2, ::2]),
    ("begin and end", _TEN, _slice([2], [5]), _TEN[2:5]),
    ("negative begin and end", _TEN, _slice([-4], [-1]), _TEN[-4:-1]),
    ("begin masked", _TEN, _slice([3], [5], None, [1]), _TEN[:5]),
    ("end masked", _TEN, _slice([3], [5], None, None, [1]), _TEN[3:]),
    ("both masked", _TEN, _slice([3], [5], None, [1], [1]), _TEN),
    ("stride 3, end not met", _TEN, _slice([1], [9], [3]), _TEN[1:9:3]),
    ("stride beyond the end", _TEN, _slice([1], [9], [30]), _TEN[1:9:30]),
    ("negative stride", _TEN, _slice([8], [2], [-1]), _TEN[8:2:-1]),
    ("negative stride of 3", _TEN, _slice([8], [1], [-3]), _TEN[8:1:-3]),
    ("negative stride, negative begin and end", _TEN, _slice([-2], [-9], [-2]), _TEN[-2:-9:-2]),
    ("negative stride, begin before the first", _TEN, _slice([-11], [-12], [-1]), _TEN[-11:-12:-1]),
    ("negative stride, begin before the first, end masked", _TEN, _slice([-12], [2], [-2], None, [1]), _TEN[-12::-2]),
    ("negative stride, begin at the first, end masked", _TEN, _slice([-10], [2], [-2], None, [1]), _TEN[-10::-2]),
    ("negative stride, begin masked", _TEN, _slice([4], [2], [-2], [1]), _TEN[:2:-2]),
    ("negative stride, end masked", _TEN, _slice([4], [2], [-2], None, [1]), _TEN[4::-2]),
    ("negative stride, both masked", _TEN, _slice([4], [2], [-3], [1], [1]), _TEN[::-3]),
    ("end -1 is the last but one", _TEN, _slice([0], [-1]), _TEN[:-1]),
    ("end beyond the size", _TEN, _slice([7], [12]), _TEN[7:]),
    ("begin before the first", _TEN, _slice([-12], [3]), _TEN[:3]),
    ("nothing left", _TEN, _slice([5], [5]), _TEN[5:5]),
    ("end before begin: nothing left", _TEN, _slice([5], [2]), _TEN[5:2]),
    ("rank 2", ramp(3, 5), _slice([1, 0], [3, 4], [1, 2]), ramp(3, 5)[1:3, 0:4:2]),
    ("last axis only", ramp(2, 12), _slice([0, 10], [0, 0], None, [1, 0], [1, 1]), ramp(2, 12)[:, 10:]),
    (
        "rank 4, end inside, stride 2",
        ramp(1, 2, 8, 16),
        _slice([0] * 4, [1, 2, 8, 12], [1, 1, 2, 2]),
        ramp(1, 2, 8, 16)[:, :, ::2, :12:2],
    ),
    (
        "rank 5",
        ramp(2, 3, 2, 4, 3),
        _slice([0, 1, -1, 3, 0], [2, 3, 2, 0, -1], [1, 1, 1, -2, 1]),
        ramp(2, 3, 2, 4, 3)[0:2, 1:3, -1:2, 3:0:-2, 0:-1],
    ),
    ("squeeze at a negative begin", ramp(3, 4), _slice([-1, 0], [0, 4], None, None, None, [1, 0]), ramp(3, 4)[-1]),
    (
        "squeeze ignores its other masks and its stride",
        ramp(3, 4),
        _slice([1, 2], [0, 0], [1, -5], [1, 1], [1, 1], [0, 1]),
        ramp(3, 4)[:, 2],
    ),
    (
        "squeeze of two axes",
        ramp(2, 3, 4),
        _slice([1, 0, 3], [0, 3, 0], None, None, None, [1, 0, 1]),
        ramp(2, 3, 4)[1, :, 3],
    ),
    (
        "squeeze of all axes leaves one dim",
        ramp(2, 3),
        _slice([1, 2], [0, 0], None, None, None, [1, 1]),
        np.array([5.0]),
    ),
)

_INPUTS = ("beginIds", "endIds", "strides", "beginMasks", "endMasks", "squeezeMasks")


def _static(note: str, x: np.ndarray, fields: dict[str, Any], known: np.ndarray) -> Case:
    return Case("sliceStatic", note, fields, (x,), expect=(known,))


def _dynamic(note: str, x: np.ndarray, fields: dict[str, Any], known: np.ndarray, given: int) -> Case:
    """The first ``given`` of the six lists as inputs, the others as fields; fields of given ones hold nonsense."""
    values = {"squeezeMasks": [False] * x.ndim, **fields}
    inputs = [np.array(values[name], np.float32) for name in _INPUTS[:given]]
    nonsense = {name: [9] * x.ndim for name in _INPUTS[1:given] if not name.endswith("Masks")}
    rest = {name: values[name] for name in _INPUTS[given:] if name in fields}
    # with the squeeze masks as numbers, the rank of the result would depend on them: only the reference does that
    refuses = "squeezeMasks" if given == len(_INPUTS) else None
    note = f"{note}; {given + 1} inputs"
    return Case("sliceDynamic", note, {**nonsense, **rest}, (x, *inputs), expect=(known,), refuses=refuses)


def _dynamic_rows() -> list[Case]:
    rows = [_dynamic(*entry, 1) for entry in _SLICES]
    rows += [_dynamic(*entry, 3) for entry in _SLICES if "squeezeMasks" not in entry[2]]
    rows += [_dynamic(*_SLICES[0], given) for given in (2, 4, 5, 6)]
    rows += [_dynamic(*_SLICES[1], given) for given in (2, 3, 4, 5, 6)]
    rows += [_dynamic(*entry, 5) for entry in _SLICES if entry[0].startswith("negative stride")]
    return rows


_FIVE = {"endIds": [3, 4, 1, 1, 1], "strides": [1] * 5, "beginMasks": [False] * 5, "endMasks": [False] * 5}

_SLICING = [
    *(_static(*entry) for entry in _SLICES),
    Case("sliceStatic", "stride 0", _slice([0], [3], [0]), ((5,),), refuses="strides"),
    *(
        Case("sliceStatic", f"{name} too short", {**_slice([0, 0], [1, 1]), name: [0]}, ((2, 3),), refuses=name)
        for name in ("beginIds", "endIds", "strides", "beginMasks", "endMasks", "squeezeMasks")
    ),
    Case("sliceStatic", "nothing given", {}, ((2, 3),), refuses="beginIds"),
    Case(
        "sliceStatic", "squeeze outside the axis", _slice([5], [0], None, None, None, [1]), ((5,),), refuses="beginIds"
    ),
    *_dynamic_rows(),
    Case(
        "sliceDynamic", "fields of five values for rank 2", _FIVE, (ramp(3, 5), [1, 0]), expect=(ramp(3, 5)[1:3, 0:4],)
    ),
    Case(
        "sliceDynamic",
        "no endIds",
        {"strides": [1], "beginMasks": [False], "endMasks": [False]},
        ((5,), [1]),
        refuses="endIds",
    ),
    Case(
        "sliceDynamic",
        "no strides",
        {"endIds": [3], "beginMasks": [False], "endMasks": [False]},
        ((5,), [1]),
        refuses="strides",
    ),
    Case("sliceDynamic", "one input", {}, ((5,),), refuses="input"),
    Case("sliceDynamic", "beginIds for another rank", _FIVE, ((3, 5), [1]), refuses="beginIds"),
]

_BY_SIZE = [
    Case("sliceBySize", "the text", {"size": 2, "axis": 1}, (ramp(2, 3, 4), [1]), expect=(ramp(2, 3, 4)[:, 1:3],)),
    Case("sliceBySize", "axis 0 by default", {"size": 2}, ([1, 2, 3, 4], [2]), expect=([3, 4],)),
    Case("sliceBySize", "begin of rank 0", {"size": 1}, ([1, 2, 3], np.float32(0)), expect=([1],)),
    Case("sliceBySize", "the whole axis", {"size": 3, "axis": 1}, ((2, 3), [0])),
    Case("sliceBySize", "negative axis", {"size": 2, "axis": -1}, (ramp(2, 3), [1]), expect=([[1, 2], [4, 5]],)),
    Case("sliceBySize", "rank 4", {"size": 3, "axis": 2}, ((2, 1, 5, 3), [2])),
    Case("sliceBySize", "rank 5", {"size": 1, "axis": 4}, ((1, 2, 1, 3, 4), [3])),
    Case("sliceBySize", "size 0, the default", {"axis": 1}, ((2, 3), [0]), refuses="size"),
    Case("sliceBySize", "larger than the axis", {"size": 4, "axis": 1}, ((2, 3), [0]), refuses="size"),
    Case("sliceBySize", "axis outside", {"size": 1, "axis": 2}, ((2, 3), [0]), refuses="axis"),
    Case("sliceBySize", "one input", {"size": 1}, ((2, 3),), refuses="input"),
]


def _windows(axis: int, size: int, step: int) -> dict[str, int]:
    return {"axis": axis, "windowSize": size, "step": step}


_WINDOWS = [
    Case(
        "slidingWindows",
        "known answer",
        _windows(0, 3, 1),
        ([0, 1, 2, 3, 4],),
        expect=([[0, 1, 2], [1, 2, 3], [2, 3, 4]],),
    ),
    Case(
        "slidingWindows",
        "step 2, the last value unused",
        _windows(0, 2, 2),
        ([0, 1, 2, 3, 4],),
        expect=([[0, 1], [2, 3]],),
    ),
    Case(
        "slidingWindows",
        "step above the size leaves gaps",
        _windows(0, 2, 3),
        ([0, 1, 2, 3, 4],),
        expect=([[0, 1], [3, 4]],),
    ),
    Case("slidingWindows", "the whole axis", _windows(0, 5, 1), ([0, 1, 2, 3, 4],), expect=([[0, 1, 2, 3, 4]],)),
    Case("slidingWindows", "windows of 1", _windows(-1, 1, 1), ((2, 3),)),
    Case(
        "slidingWindows",
        "the text: (B, L, C) to (B, M, W, C)",
        _windows(1, 2, 1),
        (ramp(1, 3, 2),),
        expect=([[[[0, 1], [2, 3]], [[2, 3], [4, 5]]]],),
    ),
    Case("slidingWindows", "rank 2, negative axis", _windows(-1, 3, 2), ((3, 7),)),
    Case("slidingWindows", "rank 3, axis -3", _windows(-3, 2, 1), ((4, 3, 2),)),
    Case("slidingWindows", "rank 4", _windows(2, 3, 2), ((2, 1, 6, 3),)),
    Case("slidingWindows", "the text: rank 5, axis 2", _windows(2, 2, 1), ((2, 1, 4, 3, 2),)),
    Case("slidingWindows", "windowSize above the axis", _windows(0, 6, 1), ((5,),), refuses="windowSize"),
    Case("slidingWindows", "windowSize 0, the default", {"step": 1}, ((5,),), refuses="windowSize"),
    Case("slidingWindows", "step 0, the default", {"windowSize": 2}, ((5,),), refuses="step"),
    Case("slidingWindows", "axis outside", _windows(1, 2, 1), ((5,),), refuses="axis"),
]

CASES: list[Case] = [*_SOFTMAX, *_REVERSE, *_REVERSE_SEQ, *_SLICING, *_BY_SIZE, *_WINDOWS]
