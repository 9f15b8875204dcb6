"""Rows of comparisons, of logic and of choices."""

from __future__ import annotations

import math

import numpy as np

from pippin.nnrt.types import Format, NodeType

from . import NodeCase, const, drawn, f32, flags, i32, ints, q, whole

T = NodeType
A, B = f32([1, 2, 3, -0.0, math.nan, math.inf]), f32([1, 3, 2, 0, math.nan, math.inf])
COMPARISONS = {
    T.EQUAL: [True, False, False, True, False, True],
    T.NOT_EQUAL: [False, True, True, False, True, False],
    T.GREATER: [False, False, True, False, False, False],
    T.GREATER_EQUAL: [True, False, True, True, False, True],
    T.LESS: [False, True, False, False, False, False],
    T.LESS_EQUAL: [True, True, False, True, False, True],
}
BOOL = {"types": ("bool",)}

CASES: list[NodeCase] = []
for _kind, _known in COMPARISONS.items():
    CASES += [
        NodeCase(_kind, "known values", inputs=(A, B), expect=(_known,), **BOOL),
        NodeCase(_kind, "broadcast", inputs=(whole(2, 3, 4).astype(np.float32), whole(4).astype(np.float32)), **BOOL),
        NodeCase(_kind, "both sides broadcast", inputs=(f32([[1], [2]]), f32([[1, 2, 3]])), **BOOL),
        NodeCase(_kind, "two scalars", inputs=(f32(1), f32(1)), **BOOL),
        NodeCase(_kind, "a constant", inputs=(drawn(2, 3), const(0)), **BOOL),
        NodeCase(_kind, "rank 8", inputs=(drawn(1, 2, 1, 3, 1, 2, 2, 1), f32(0)), **BOOL),
        NodeCase(_kind, "N,C,H,W", inputs=(drawn(1, 2, 3, 4), drawn(1, 2, 3, 4, seed=8)), format=Format.NCHW, **BOOL),
        *(
            NodeCase(
                _kind,
                name,
                inputs=(whole(4, 5, low=0, high=3, dtype=name), whole(5, low=0, high=3, dtype=name)),
                **BOOL,
            )
            for name in ("int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float64")
        ),
        NodeCase(_kind, "integers and floats", inputs=(i32([1, 2, 3]), f32([1.5, 2, 2])), **BOOL),
        NodeCase(
            _kind,
            "int8",
            inputs=(i32([2, 3, 4, 5]).astype(np.int8), i32([1, 1, 2, 3]).astype(np.int8)),
            quant=(q(0.5), q(1.0)),
            **BOOL,
        ),
        NodeCase(_kind, "dims that do not broadcast", inputs=((2, 3), (2, 4)), refuses="broadcast|not fit", **BOOL),
        NodeCase(_kind, "one input", inputs=((2, 3),), refuses="inputs", **BOOL),
    ]
CASES += [
    NodeCase(T.EQUAL, "bools", inputs=(flags(2, 3), flags(2, 3, seed=8)), **BOOL),
    NodeCase(T.NOT_EQUAL, "bools", inputs=(flags(2, 3), flags(2, 3, seed=8)), **BOOL),
]

TRUTH = (np.array([False, False, True, True]), np.array([False, True, False, True]))
for _kind, _known in ((T.LOGICAL_AND, [False, False, False, True]), (T.LOGICAL_OR, [False, True, True, True])):
    CASES += [
        NodeCase(_kind, "known values", inputs=TRUTH, expect=(_known,), **BOOL),
        NodeCase(_kind, "broadcast", inputs=(flags(2, 3, 4), flags(3, 1)), **BOOL),
        NodeCase(_kind, "two scalars", inputs=(np.array(True), np.array(False)), **BOOL),
        NodeCase(_kind, "rank 8", inputs=(flags(1, 2, 1, 3, 1, 2, 2, 1), flags(1)), **BOOL),
        NodeCase(_kind, "a constant", inputs=(flags(2, 3), const([True, False, True], bool)), **BOOL),
        NodeCase(_kind, "int32 is no bitwise operation", inputs=(i32([0, 0, 1, 1, 4]), i32([0, 2, 0, 2, 8])), **BOOL),
        NodeCase(_kind, "floats", inputs=(f32([0, -0.0, 0.5, 1]), f32([0, 2, 0, 0.25])), **BOOL),
        NodeCase(
            _kind,
            "dims that do not broadcast",
            inputs=(flags(2, 3), flags(2, 4)),
            refuses="broadcast|not fit",
            **BOOL,
        ),
        NodeCase(_kind, "one input", inputs=(flags(2, 3),), refuses="inputs", **BOOL),
    ]
CASES += [
    NodeCase(T.LOGICAL_NOT, "known values", inputs=(np.array([True, False]),), expect=([False, True],), **BOOL),
    NodeCase(T.LOGICAL_NOT, "rank 3", inputs=(flags(2, 3, 4),), **BOOL),
    NodeCase(T.LOGICAL_NOT, "a scalar", inputs=(np.array(True),), **BOOL),
    NodeCase(T.LOGICAL_NOT, "int32", inputs=(i32([0, 1, -2]),), expect=([True, False, False],), **BOOL),
    NodeCase(T.LOGICAL_NOT, "floats", inputs=(f32([0, -0.0, 0.5]),), expect=([True, True, False],), **BOOL),
    NodeCase(T.LOGICAL_NOT, "two inputs", inputs=(flags(2), flags(2)), refuses="inputs", **BOOL),
]

ROWS, COLUMNS = f32([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), -f32([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
for _kind in (T.WHERE, T.SELECT):
    CASES += [
        NodeCase(
            _kind,
            "known values",
            inputs=(np.array([[True, False, True], [False, True, False]]), ROWS[:2], COLUMNS[:2]),
            types=("float32",),
            expect=([[1, -2, 3], [-4, 5, -6]],),
        ),
        NodeCase(_kind, "rank 4", inputs=(flags(2, 3, 2, 2), (2, 3, 2, 2), (2, 3, 2, 2)), types=("float32",)),
        NodeCase(
            _kind,
            "one flag for all, true",
            inputs=(np.array([True]), ROWS, COLUMNS),
            types=("float32",),
            expect=(ROWS,),
        ),
        NodeCase(
            _kind,
            "one flag for all, false",
            inputs=(np.array([False]), ROWS, COLUMNS),
            types=("float32",),
            expect=(COLUMNS,),
        ),
        NodeCase(_kind, "a scalar flag", inputs=(np.array(True), ROWS, COLUMNS), types=("float32",)),
        NodeCase(
            _kind,
            "a flag for each row of a square",
            inputs=(np.array([True, False, False]), ROWS, COLUMNS),
            types=("float32",),
            expect=([[1, 2, 3], [-4, -5, -6], [-7, -8, -9]],),
        ),
        NodeCase(_kind, "a flag for each row", inputs=(flags(2), (2, 3, 4), (2, 3, 4)), types=("float32",)),
        *(
            NodeCase(
                _kind,
                name,
                inputs=(flags(3, 4), whole(3, 4, low=0, dtype=name), whole(3, 4, low=0, dtype=name, seed=8)),
                types=(name,),
            )
            for name in ("int32", "int64", "float16", "float64")
        ),
        NodeCase(_kind, "two inputs", inputs=(flags(3), (3,)), types=("float32",), refuses="inputs"),
    ]
CASES += [
    NodeCase(T.WHERE, "broadcast choices", inputs=(flags(2, 3), f32(1), f32([[2], [3]])), types=("float32",)),
    NodeCase(T.WHERE, "broadcast condition", inputs=(flags(3, 1), (2, 3, 4), (4,)), types=("float32",)),
    NodeCase(
        T.WHERE,
        "the places that hold",
        inputs=(np.array([[True, False, True], [False, True, False]]),),
        types=("int32",),
        expect=([[0, 0], [0, 2], [1, 1]],),
    ),
    NodeCase(
        T.WHERE,
        "the places of a vector",
        inputs=(np.array([False, True, True]),),
        types=("int32",),
        expect=([[1], [2]],),
    ),
    NodeCase(
        T.WHERE,
        "the places of quantised numbers: those that stand for 0 are none",
        inputs=(np.array([[3, 0], [4, 3]], np.int8),),
        quant=(q(0.5, 3),),
        types=("int32",),
        expect=([[0, 1], [1, 0]],),
    ),
    NodeCase(T.WHERE, "the places in rank 4", inputs=(flags(2, 3, 2, 2),), types=("int32",)),
    NodeCase(
        T.WHERE,
        "a vector as long as the last dim, not as the first",
        inputs=(flags(3), (2, 3), (2, 3)),
        types=("float32",),
        known=(0, 1, 2),
        why="where no dim is known a vector chooses rows",
    ),
    NodeCase(
        T.WHERE,
        "dims that do not broadcast",
        inputs=(flags(3), (2, 4), (2, 4)),
        types=("float32",),
        refuses="broadcast|not fit",
    ),
    NodeCase(T.SELECT, "choices of other dims", inputs=(flags(3), (2, 3), (3,)), types=("float32",), refuses="dims"),
    NodeCase(
        T.SELECT,
        "a condition of other dims",
        inputs=(flags(4), (2, 3), (2, 3)),
        types=("float32",),
        refuses="condition",
    ),
    NodeCase(
        T.SELECT,
        "int8",
        inputs=(flags(5), whole(5, dtype=np.int8), whole(5, dtype=np.int8, seed=8)),
        types=("int8",),
        quant=(None, q(0.5, 1), q(0.25, 2)),
        made=q(0.5, 1),
    ),
    NodeCase(T.EQUAL, "int64 constant", inputs=(whole(4, dtype=np.int64), ints(3, np.int64)), **BOOL),
]
