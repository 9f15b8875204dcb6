"""Rows of the operators that join, cut, repeat and pad."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.nnrt.types import Format, NodeType, PaddingMode

from . import NodeCase, const, f32, flags, i32, ints, q, whole
from .shape import DTYPES, of_type, typed

T = NodeType
X = (2, 3, 4)
RAMP = np.arange(12, dtype=np.float32).reshape(3, 4)


CASES = [
    NodeCase(
        T.CONCAT,
        "known values",
        {"axis": 1},
        (f32([[1], [2]]), f32([[3, 4], [5, 6]])),
        expect=([[1, 3, 4], [2, 5, 6]],),
    ),
    *(NodeCase(T.CONCAT, f"axis {axis}", {"axis": axis}, (X, X)) for axis in range(-3, 3)),
    NodeCase(T.CONCAT, "parts of other sizes", {"axis": 1}, ((2, 1, 4), (2, 3, 4), (2, 2, 4))),
    NodeCase(T.CONCAT, "a constant between", {"axis": 0}, ((2, 3), const([[1, 2, 3]]), (1, 3))),
    NodeCase(T.CONCAT, "one part", {"axis": 0}, (X,)),
    NodeCase(T.CONCAT, "vectors", {"axis": 0}, ((3,), (2,))),
    NodeCase(T.CONCAT, "rank 8", {"axis": 3}, ((1, 2, 1, 3, 1, 2, 2, 1), (1, 2, 1, 1, 1, 2, 2, 1))),
    NodeCase(T.CONCAT, "N,C,H,W, channels", {"axis": 1}, ((1, 2, 3, 4), (1, 3, 3, 4)), format=Format.NCHW),
    NodeCase(
        T.CONCAT,
        "int8, equal parameters",
        {"axis": 1},
        (whole(2, 3, dtype=np.int8), whole(2, 3, dtype=np.int8, seed=8)),
        quant=(q(0.5, 1), q(0.5, 1)),
        made=q(0.5, 1),
        steps=0,
    ),
    NodeCase(
        T.CONCAT,
        "int8, requantised",
        {"axis": 1},
        (whole(2, 3, dtype=np.int8), whole(2, 3, dtype=np.int8, seed=8)),
        quant=(q(0.5, 1), q(0.25, -3)),
        made=q(0.4, 2),
    ),
    NodeCase(T.CONCAT, "axis beyond the rank", {"axis": 3}, (X, X), refuses="axis"),
    NodeCase(T.CONCAT, "other dims", {"axis": 0}, ((2, 3), (2, 4)), refuses="dims|fit|axis"),
    NodeCase(T.CONCAT, "other ranks", {"axis": 0}, ((2, 3), (3,)), refuses="dims|fit|rank"),
    *(NodeCase(T.CONCAT, name, {"axis": 0}, (of_type(name, 2, 3), of_type(name, 1, 3))) for name in DTYPES),
    NodeCase(T.STACK, "known values", {"axis": 1}, (f32([1, 2]), f32([3, 4])), expect=([[1, 3], [2, 4]],)),
    *(NodeCase(T.STACK, f"axis {axis}", {"axis": axis}, ((2, 3), (2, 3), (2, 3))) for axis in range(-3, 3)),
    NodeCase(T.STACK, "scalars", {"axis": 0}, (f32(1), f32(2))),
    NodeCase(T.STACK, "one part", {"axis": 0}, ((2, 3),)),
    NodeCase(T.STACK, "rank 7", {"axis": 3}, ((1, 2, 1, 3, 1, 2, 2), (1, 2, 1, 3, 1, 2, 2))),
    NodeCase(
        T.STACK,
        "int8, requantised",
        {"axis": 0},
        (whole(3, dtype=np.int8), whole(3, dtype=np.int8, seed=8)),
        quant=(q(0.5, 1), q(0.25, -3)),
        made=q(0.4, 2),
    ),
    NodeCase(T.STACK, "axis beyond the rank", {"axis": 3}, ((2, 3), (2, 3)), refuses="axis"),
    NodeCase(T.STACK, "other dims", {"axis": 0}, ((2, 3), (2, 4)), refuses="dims|fit"),
    *(NodeCase(T.STACK, name, {"axis": 0}, (of_type(name, 2, 3), of_type(name, 2, 3))) for name in DTYPES),
]


def split(
    note: str, axis: int, number: int, sizes: list[int], outputs: int, x: Any = (2, 6, 4), **options: Any
) -> NodeCase:
    """A row of Split."""
    attributes = {"axis": axis, "outputNum": number, "sizeSplits": sizes}
    return NodeCase(T.SPLIT, note, attributes, (x,), outputs, **options)


CASES += [
    split("known values", 1, 2, [1, 3], 2, RAMP, expect=([[0], [4], [8]], [[1, 2, 3], [5, 6, 7], [9, 10, 11]])),
    split("equal parts", 1, 3, [], 3),
    split("equal parts, counted by the outputs", 1, 0, [], 2),
    split("sizes", 1, 3, [1, 2, 3], 3),
    split("the last takes the rest", 1, 3, [1, 2, -1], 3),
    split("axis -1", -1, 2, [1, 3], 2),
    split("axis 0", 0, 2, [], 2),
    split("one part", 1, 1, [], 1),
    split("into ones", 1, 6, [], 6),
    split("rank 1", 0, 2, [2, 1], 2, (3,)),
    split("rank 8", 3, 3, [], 3, (1, 2, 1, 3, 1, 2, 2, 1)),
    split("N,C,H,W", 1, 2, [1, 2], 2, (2, 3, 4, 5), format=Format.NCHW),
    split("int8, requantised", 0, 2, [], 2, whole(4, dtype=np.int8), quant=(q(0.5, 1),), made=q(0.25, 3)),
    split("parts that do not divide", 1, 4, [], 4, refuses="outputNum|divide|parts"),
    split("another number of outputs", 1, 3, [], 2, refuses="output"),
    split("another number of sizes", 1, 2, [1, 2, 3], 2, refuses="sizeSplits"),
    split("sizes that do not add up", 1, 2, [1, 2], 2, refuses="sizeSplits"),
    split("sizes beyond the dim", 1, 2, [7, -1], 2, refuses="sizeSplits"),
    split("-1 before the last", 1, 2, [-1, 3], 2, refuses="sizeSplits"),
    split("axis beyond the rank", 3, 2, [], 2, refuses="axis"),
    *typed(T.SPLIT, {"axis": 2, "outputNum": 3, "sizeSplits": []}, outputs=3),
    NodeCase(T.UNSTACK, "known values", {"axis": 0}, (f32([[1, 2], [3, 4]]),), 2, expect=([1, 2], [3, 4])),
    *(
        NodeCase(T.UNSTACK, f"axis {axis}", {"axis": axis}, (X,), X[axis], dynamic=False, why="the outputs are counted")
        for axis in range(-3, 3)
    ),
    NodeCase(T.UNSTACK, "unknown dims", {"axis": 1}, (X,), 3),
    NodeCase(T.UNSTACK, "a vector", {"axis": 0}, ((3,),), 3),
    NodeCase(T.UNSTACK, "rank 8", {"axis": 3}, ((1, 2, 1, 3, 1, 2, 2, 1),), 3),
    NodeCase(
        T.UNSTACK,
        "int8, requantised",
        {"axis": 0},
        (whole(2, 3, dtype=np.int8),),
        2,
        quant=(q(0.5, 1),),
        made=q(0.25, 3),
    ),
    NodeCase(T.UNSTACK, "another number of outputs", {"axis": 0}, (X,), 3, refuses="output"),
    NodeCase(T.UNSTACK, "axis beyond the rank", {"axis": 3}, (X,), 4, refuses="axis"),
    *typed(T.UNSTACK, {"axis": 2}, outputs=3),
]


def cut(note: str, axes: list[int], begin: Any, size: Any, x: Any = (3, 4, 5), **options: Any) -> NodeCase:
    """A row of SliceFusion."""
    return NodeCase(T.SLICE_FUSION, note, {"axes": axes}, (x, begin, size), **options)


CASES += [
    cut("known values", [0, 1], ints([1, 1]), ints([2, 2]), RAMP, expect=([[5, 6], [9, 10]],)),
    cut("every axis", [0, 1, 2], ints([1, 0, 2]), ints([1, 3, 2])),
    cut("no axes: the first ones", [], ints([1, 2]), ints([2, 1])),
    cut("one axis", [1], ints([1]), ints([2])),
    cut("axes out of order", [2, 0], ints([1, 0]), ints([3, 2])),
    cut("axis -1", [-1], ints([2]), ints([2])),
    cut("-1 goes to the end", [0, 2], ints([1, 2]), ints([-1, -1])),
    cut("all of it", [], ints([0, 0, 0]), ints([3, 4, 5])),
    cut("rank 8", [3, 5], ints([1, 0]), ints([2, 1]), (1, 2, 1, 3, 1, 2, 2, 1)),
    cut("begin and size in int64", [1], ints([1], np.int64), ints([2], np.int64)),
    cut("int8, requantised", [0], ints([1]), ints([2]), whole(4, dtype=np.int8), quant=(q(0.5, 1),), made=q(0.25, 3)),
    cut("begin beyond the dim", [0], ints([3]), ints([1]), refuses="begin|size|do not lie"),
    cut("begin below 0", [0], ints([-1]), ints([1]), refuses="begin|size|do not lie"),
    cut("size beyond the dim", [1], ints([2]), ints([3]), refuses="size|do not lie"),
    cut("size below -1", [1], ints([2]), ints([-2]), refuses="size|do not lie"),
    cut("axis beyond the rank", [3], ints([0]), ints([1]), refuses="axes|axis"),
    cut("an axis twice", [1, 1], ints([0, 0]), ints([1, 1]), refuses="axes|axis"),
    cut("lists of other lengths", [0, 1], ints([0]), ints([1, 1]), refuses="begin|size|axes"),
    NodeCase(T.SLICE_FUSION, "two inputs", {"axes": []}, ((3,), ints([0])), refuses="inputs"),
    *typed(T.SLICE_FUSION, {"axes": [2]}, ints([1]), ints([2])),
]


def strided(note: str, begin: Any, end: Any, strides: Any, x: Any = (4, 5, 6), **options: Any) -> NodeCase:
    """A row of StridedSlice; masks by the names of their fields."""
    names = ("beginMask", "endMask", "ellipsisMask", "newAxisMask", "shrinkAxisMask")
    masks = {name: options.pop(name) for name in names if name in options}
    return NodeCase(T.STRIDED_SLICE, note, masks, (x, begin, end, strides), **options)


CASES += [
    strided("known values", ints([1, 0]), ints([3, 4]), ints([1, 2]), RAMP, expect=([[4, 6], [8, 10]],)),
    strided("every dim", ints([1, 0, 2]), ints([3, 5, 6]), ints([1, 2, 3])),
    strided("the first dims only", ints([1]), ints([3]), ints([1])),
    strided("places from the end", ints([-3, -2]), ints([-1, 5]), ints([1, 1])),
    strided("backwards", ints([3, 4]), ints([0, 1]), ints([-1, -2])),
    strided("backwards, known values", ints([-1]), ints([0]), ints([-2]), f32([1, 2, 3, 4, 5]), expect=([5, 3],)),
    strided("beginMask", ints([2, 1]), ints([3, 4]), ints([1, 1]), beginMask=1),
    strided("endMask", ints([1, 1]), ints([2, 2]), ints([1, 2]), endMask=2),
    strided("beginMask and endMask", ints([1, 1]), ints([2, 2]), ints([1, 2]), beginMask=3, endMask=3),
    strided(
        "endMask, backwards to the first element",
        ints([-1]),
        ints([2]),
        ints([-1]),
        f32([1, 2, 3]),
        endMask=1,
        expect=([3, 2, 1],),
    ),
    strided(
        "endMask, backwards by two",
        ints([4]),
        ints([2]),
        ints([-2]),
        f32([1, 2, 3, 4, 5]),
        endMask=1,
        expect=([5, 3, 1],),
    ),
    strided("ellipsisMask takes the whole dim", ints([1, 1, 2]), ints([2, 2, 4]), ints([1, 1, 1]), ellipsisMask=2),
    strided("ellipsisMask goes by the stride", ints([1, 1]), ints([2, 2]), ints([1, 2]), ellipsisMask=2),
    strided("newAxisMask in front", ints([0, 1]), ints([0, 3]), ints([1, 1]), newAxisMask=1),
    strided("newAxisMask behind", ints([1, 0]), ints([3, 0]), ints([1, 1]), newAxisMask=2),
    strided("two new dims", ints([0, 1, 0]), ints([0, 3, 0]), ints([1, 1, 1]), newAxisMask=5),
    strided("shrinkAxisMask", ints([2, 1]), ints([3, 4]), ints([1, 1]), shrinkAxisMask=1),
    strided(
        "shrinkAxisMask, known values",
        ints([1, 0]),
        ints([2, 4]),
        ints([1, 1]),
        RAMP,
        shrinkAxisMask=1,
        expect=([4, 5, 6, 7],),
    ),
    strided("shrinkAxisMask from the end", ints([-1]), ints([4]), ints([1]), shrinkAxisMask=1),
    strided("shrinkAxisMask leaves end and stride aside", ints([1, 1]), ints([0, 0]), ints([5, 7]), shrinkAxisMask=3),
    strided("shrinkAxisMask on all dims", ints([1, 2, 3]), ints([2, 3, 4]), ints([1, 1, 1]), shrinkAxisMask=7),
    strided("shrink and new", ints([1, 0, 2]), ints([2, 0, 5]), ints([1, 1, 2]), shrinkAxisMask=1, newAxisMask=2),
    strided("new wins over shrink", ints([1, 1]), ints([2, 3]), ints([1, 1]), shrinkAxisMask=1, newAxisMask=1),
    strided("all of it", ints([0, 0, 0]), ints([4, 5, 6]), ints([1, 1, 1])),
    strided("rank 8", ints([0, 0, 0, 1]), ints([1, 2, 1, 3]), ints([1, 1, 1, 1]), (1, 2, 1, 3, 1, 2, 2, 1)),
    strided("lists in int64", ints([1], np.int64), ints([3], np.int64), ints([1], np.int64)),
    strided(
        "int8, requantised",
        ints([1]),
        ints([3]),
        ints([1]),
        whole(4, dtype=np.int8),
        quant=(q(0.5, 1),),
        made=q(0.25, 3),
    ),
    strided("end beyond the dim", ints([0]), ints([5]), ints([1]), refuses="end"),
    strided("begin beyond the dim", ints([4]), ints([5]), ints([1]), refuses="begin|end"),
    strided("stride 0", ints([0]), ints([2]), ints([0]), refuses="stride"),
    strided(
        "more entries than dims",
        ints([0, 0]),
        ints([1, 1]),
        ints([1, 1]),
        (3,),
        refuses="begin|entries|rank|do not fit",
    ),
    strided("lists of other lengths", ints([0, 0]), ints([1]), ints([1]), refuses="begin|end|strides"),
    NodeCase(T.STRIDED_SLICE, "three inputs", {}, ((3,), ints([0]), ints([1])), refuses="inputs"),
    *typed(T.STRIDED_SLICE, {}, ints([0, 0, 1]), ints([2, 1, 3]), ints([1, 1, 1])),
]


def crop(note: str, axis: int, offset: list[int], reference: Any, x: Any = (3, 4, 5), **options: Any) -> NodeCase:
    """A row of Crop."""
    return NodeCase(T.CROP, note, {"axis": axis, "offset": offset}, (x, reference), **options)


CASES += [
    crop("known values", 0, [1, 2], const(np.zeros((2, 2))), RAMP, expect=([[6, 7], [10, 11]],)),
    crop("from axis 1 on", 1, [1, 2], (9, 2, 3)),
    crop("one offset for all", 0, [1], (2, 3, 4)),
    crop("from the last axis on", 2, [2], (1, 1, 3)),
    crop("axis -2", -2, [1, 2], (9, 2, 3)),
    crop("nothing to cut", 0, [0], (3, 4, 5)),
    crop("values do not count", 1, [0, 0], const(np.full((3, 2, 2), 99.0))),
    crop("rank 4", 2, [1, 0], (1, 1, 2, 2), (2, 3, 4, 5), format=Format.NCHW),
    crop("int8, requantised", 0, [1], (2,), whole(4, dtype=np.int8), quant=(q(0.5, 1),), made=q(0.25, 3)),
    crop("offset beyond the dim", 0, [2], (2, 2, 2), refuses="offset|do not lie"),
    crop("offset below 0", 0, [-1], (2, 2, 2), refuses="offset|do not lie"),
    crop("two offsets for three axes", 0, [1, 1], (2, 2, 2), refuses="offset|do not lie"),
    crop("axis beyond the rank", 3, [0], (3, 4, 5), refuses="axis"),
    crop("a reference of another rank", 0, [0], (2, 2), refuses="rank|dims"),
    NodeCase(T.CROP, "one input", {"axis": 0, "offset": [0]}, ((3,),), refuses="inputs"),
    *typed(T.CROP, {"axis": 2, "offset": [1]}, (2, 1, 2)),
]


def tile(note: str, dims: list[int], multiples: Any, x: Any = (2, 3), **options: Any) -> NodeCase:
    """A row of TileFusion."""
    return NodeCase(T.TILE_FUSION, note, {"dims": dims}, (x, multiples), **options)


CASES += [
    tile("known values", [0, 1], ints([2, 2]), f32([[1, 2]]), expect=([[1, 2, 1, 2], [1, 2, 1, 2]],)),
    tile("one axis", [1], ints([3])),
    tile("axes out of order", [1, 0], ints([3, 2])),
    tile("no dims: the first ones", [], ints([2])),
    tile("no dims, every axis", [], ints([2, 3])),
    tile("ones", [0, 1], ints([1, 1])),
    tile("rank 1", [0], ints([4]), (3,)),
    tile("rank 8", [3, 5], ints([2, 2]), (1, 2, 1, 3, 1, 2, 2, 1)),
    tile("int8, requantised", [0], ints([2]), whole(4, dtype=np.int8), quant=(q(0.5, 1),), made=q(0.25, 3)),
    tile("axis beyond the rank", [2], ints([2]), refuses="dims|axis"),
    tile("an axis twice", [0, 0], ints([2, 2]), refuses="dims|axis"),
    tile("other numbers of axes and multiples", [0], ints([2, 2]), refuses="dims|multiples"),
    tile("a multiple below 0", [0], ints([-1]), refuses="multiples"),
    NodeCase(T.TILE_FUSION, "one input", {}, ((3,),), refuses="inputs"),
    *typed(T.TILE_FUSION, {"dims": [2]}, ints([2])),
]

NINE = f32([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
TWO = ints([[2, 2], [2, 2]])
PADDED = {
    PaddingMode.CONSTANT: np.pad(NINE, 2),
    PaddingMode.REFLECT: [
        [9, 8, 7, 8, 9, 8, 7],
        [6, 5, 4, 5, 6, 5, 4],
        [3, 2, 1, 2, 3, 2, 1],
        [6, 5, 4, 5, 6, 5, 4],
        [9, 8, 7, 8, 9, 8, 7],
        [6, 5, 4, 5, 6, 5, 4],
        [3, 2, 1, 2, 3, 2, 1],
    ],
    PaddingMode.SYMMETRIC: [
        [5, 4, 4, 5, 6, 6, 5],
        [2, 1, 1, 2, 3, 3, 2],
        [2, 1, 1, 2, 3, 3, 2],
        [5, 4, 4, 5, 6, 6, 5],
        [8, 7, 7, 8, 9, 9, 8],
        [8, 7, 7, 8, 9, 9, 8],
        [5, 4, 4, 5, 6, 6, 5],
    ],
}
"""The examples that the interface's text gives."""

for _mode, _known in PADDED.items():

    def _pad(note: str, x: Any, pads: Any, mode: PaddingMode = _mode, **options: Any) -> NodeCase:
        constant = options.pop("constantValue", 0.0)
        attributes = {"paddingMode": mode, "constantValue": constant}
        return NodeCase(T.PAD_FUSION, f"{mode.name}, {note}", attributes, (x, pads), **options)

    CASES += [
        _pad("the text's example", NINE, TWO, expect=(_known,)),
        _pad("rank 4, four sizes", (2, 3, 4, 2), ints([[0, 0], [1, 2], [2, 1], [0, 0]])),
        _pad("every dim", (2, 3, 4), ints([[1, 0], [0, 2], [3, 1]])),
        _pad("rank 1", (4,), ints([[3, 2]])),
        _pad("nothing", (2, 3), ints([[0, 0], [0, 0]])),
        _pad("rank 6", (1, 2, 1, 3, 2, 2), ints([[0, 0], [1, 1], [0, 0], [2, 0], [0, 0], [0, 1]])),
        _pad("N,C,H,W", (1, 2, 3, 4), ints([[0, 0], [0, 0], [1, 1], [2, 2]]), format=Format.NCHW),
        _pad("paddings in one list", (2, 3), ints([1, 0, 0, 2])),
        _pad("int32", whole(2, 3), ints([[1, 0], [0, 2]])),
        _pad("float16", of_type("float16", 2, 3), ints([[1, 0], [0, 2]])),
        _pad("int8", whole(2, 3, dtype=np.int8), ints([[1, 0], [0, 2]]), quant=(q(0.5, 7),), made=q(0.5, 7), steps=0),
        _pad("a pad below 0", (2, 3), ints([[-1, 0], [0, 0]]), refuses="paddings"),
        _pad("too few paddings", (2, 3), ints([[1, 1]]), refuses="paddings"),
    ]
    if _mode is not PaddingMode.CONSTANT:
        CASES += [
            _pad("mirrored more than once", (3,), ints([[4, 7]])),
        ]
CASES += [
    _pad("a value", (2, 3), ints([[1, 0], [0, 2]]), mode=PaddingMode.CONSTANT, constantValue=-1.5),
    _pad("a value, int32", whole(2, 3), ints([[1, 0], [0, 2]]), mode=PaddingMode.CONSTANT, constantValue=7),
    _pad(
        "a value, int8",
        whole(2, 3, dtype=np.int8),
        ints([[1, 0], [0, 2]]),
        mode=PaddingMode.CONSTANT,
        constantValue=1.25,
        quant=(q(0.25, 7),),
        made=q(0.25, 7),
    ),
    _pad(
        "paddings handed in, a value",
        (3, 4),
        i32([[1, 0], [0, 2]]),
        mode=PaddingMode.CONSTANT,
        constantValue=2,
        known=(1,),
    ),
    NodeCase(T.PAD_FUSION, "the attribute's paddings", {"paddings": [[1, 0], [0, 2]], "constantValue": 3}, ((2, 3),)),
    NodeCase(
        T.PAD_FUSION, "the attribute's paddings are one short", {"paddings": [[1, 0]]}, ((2, 3),), refuses="paddings"
    ),
    NodeCase(
        T.PAD_FUSION,
        "mode RESERVED",
        {"paddingMode": PaddingMode.RESERVED},
        ((2, 3), ints([[0, 0], [0, 0]])),
        refuses="paddingMode",
    ),
    NodeCase(T.PAD_FUSION, "no such mode", {"paddingMode": 8}, ((2, 3), ints([[0, 0], [0, 0]])), refuses="paddingMode"),
    *typed(T.PAD_FUSION, {"constantValue": 1}, ints([[0, 1], [1, 0], [0, 0]])),
]

CASES += [
    NodeCase(T.ASSERT, "holds", {"summarize": 3}, (np.array([True]), (2, 3)), types=("bool",), unspecified=True),
    NodeCase(T.ASSERT, "a scalar condition", {}, (np.array(True), (2, 3)), types=("bool",), unspecified=True),
    NodeCase(
        T.ASSERT,
        "two data tensors",
        {"summarize": 1},
        (np.array([True]), (2,), whole(3)),
        types=("bool",),
        unspecified=True,
    ),
    NodeCase(
        T.ASSERT,
        "does not hold",
        {"summarize": 3},
        (np.array([False]), (2, 3)),
        types=("bool",),
        refuses="assert|condition",
    ),
    NodeCase(T.ASSERT, "a condition of two elements", {}, (flags(2), (2, 3)), types=("bool",), refuses="condition|one"),
]
