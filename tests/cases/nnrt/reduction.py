"""Rows of the operators that fold or rank elements along axes."""

from __future__ import annotations

import numpy as np

from pippin.nnrt.types import Format, NodeType, ReduceMode

from . import NodeCase, drawn, f32, flags, i32, ints, q, whole

T = NodeType
GIVEN = f32([[1, -2, 3], [-4, 5, 6]])
KNOWN = {
    ReduceMode.MEAN: [2 / 3, 7 / 3],
    ReduceMode.MAX: [3, 6],
    ReduceMode.MIN: [-2, -4],
    ReduceMode.PROD: [-6, -120],
    ReduceMode.SUM: [2, 7],
    ReduceMode.SUM_SQUARE: [14, 77],
    ReduceMode.ASUM: [6, 15],
    ReduceMode.L2: [3.74165739, 8.77496439],
}
SUMS = {"tolerance": 2e-2, "why": "half precision has 11 bits, elements are added"}


def reduce(mode: ReduceMode, note: str, x: object, axis: object, *, keep: bool = False, **options: object) -> NodeCase:
    """A row of ReduceFusion."""
    attributes = {"mode": mode, "keepDims": keep}
    for name in ("reduceToEnd", "coeff"):
        if name in options:
            attributes[name] = options.pop(name)  # type: ignore[assignment]
    inputs = (x,) if axis is None else (x, axis)
    return NodeCase(T.REDUCE_FUSION, f"{mode.name}, {note}", attributes, inputs, **options)  # type: ignore[arg-type]


CASES: list[NodeCase] = []
for _mode, _known in KNOWN.items():
    CASES += [
        reduce(_mode, "known values", GIVEN, ints([1]), expect=(_known,)),
        reduce(_mode, "known values, kept", GIVEN, ints([1]), keep=True, expect=([[known] for known in _known],)),
        reduce(_mode, "axis 0 of rank 4", (2, 3, 4, 5), ints([0])),
        reduce(_mode, "axis -2", (2, 3, 4, 5), ints([-2]), keep=True),
        reduce(_mode, "axes 1 and 2", (2, 3, 4, 5), ints([1, 2])),
        reduce(_mode, "axes -1 and 1, kept", (2, 3, 4, 5), ints([-1, 1]), keep=True),
        reduce(_mode, "all axes by name", (2, 3, 4), ints([0, 1, 2])),
        reduce(_mode, "an empty list: all", (2, 3, 4), ints([])),
        reduce(_mode, "an empty list, kept", (2, 3, 4), ints([]), keep=True),
        reduce(_mode, "no second input: all", (2, 3, 4), None),
        reduce(_mode, "an axis in int64", (2, 3, 4), ints([1], np.int64)),
        reduce(_mode, "rank 8", (1, 2, 1, 3, 1, 2, 2, 1), ints([3, 6])),
        reduce(_mode, "rank 1", (5,), ints([0])),
        reduce(_mode, "N,C,H,W", (2, 3, 4, 5), ints([2, 3]), keep=True, format=Format.NCHW),
        reduce(_mode, "to the end", (2, 3, 4), ints([1]), reduceToEnd=True),
        reduce(_mode, "to the end, keepDims is not looked at", (2, 3, 4), ints([1]), keep=True, reduceToEnd=True),
        reduce(_mode, "to the end, a factor", (2, 3, 4), ints([-2]), reduceToEnd=True, coeff=-2.5),
        reduce(_mode, "to the end, a factor of nearly 0", (2, 3, 4), ints([1]), reduceToEnd=True, coeff=1e-6),
        reduce(_mode, "a factor without reduceToEnd", (2, 3, 4), ints([1]), coeff=3.0),
        reduce(_mode, "float16", drawn(3, 4, dtype=np.float16), ints([1]), **SUMS),
        reduce(_mode, "float64", drawn(3, 4, dtype=np.float64), ints([1])),
        reduce(_mode, "int8", whole(3, 4, low=-3, high=3, dtype=np.int8), ints([1]), quant=(q(0.5),), made=q(0.5, 3)),
        reduce(_mode, "axis beyond the rank", (2, 3), ints([2]), refuses="axis"),
        reduce(_mode, "an axis twice", (2, 3), ints([1, -1]), refuses="axis"),
    ]
    if _mode is not ReduceMode.L2:
        CASES += [
            reduce(_mode, "int32", whole(3, 4), ints([1])),
            reduce(_mode, "int64", whole(3, 4, dtype=np.int64), ints([0])),
        ]
CASES += [
    reduce(
        ReduceMode.SUM, "to the end, known values", GIVEN, ints([0]), keep=True, reduceToEnd=True, coeff=2, expect=(18,)
    ),
    reduce(
        ReduceMode.SUM,
        "a factor of nearly 0, known values",
        GIVEN,
        ints([1]),
        reduceToEnd=True,
        coeff=5e-6,
        expect=([2, 7],),
    ),
    reduce(ReduceMode.MEAN, "int32, all axes", whole(3, 4), None),
    reduce(ReduceMode.MEAN, "int64, to the end", whole(3, 4, dtype=np.int64), ints([0]), reduceToEnd=True),
    reduce(ReduceMode.MEAN, "int32 is cut off", i32([[-1, -2], [1, 2]]), ints([1]), expect=([-1, 1],)),
    reduce(ReduceMode.ALL, "known values", np.array([[True, False], [True, True]]), ints([1]), expect=([False, True],)),
    reduce(ReduceMode.ALL, "kept", flags(2, 3, 4), ints([0, 2]), keep=True),
    reduce(ReduceMode.ALL, "an empty list: all", np.ones((2, 3), bool), ints([])),
    reduce(ReduceMode.ALL, "to the end", flags(2, 1, 2), ints([1]), reduceToEnd=True),
    reduce(ReduceMode.SUM, "two axes to the end", (2, 3, 4), ints([0, 1]), reduceToEnd=True, refuses="axis"),
    NodeCase(T.REDUCE_FUSION, "no such mode", {"mode": 12}, ((2, 3), ints([0])), refuses="mode"),
    NodeCase(T.REDUCE_FUSION, "three inputs", {}, ((2, 3), ints([0]), ints([0])), refuses="inputs"),
]

BOOL = {"types": ("bool",)}
CASES += [
    NodeCase(
        T.ALL, "known values", {}, (np.array([[True, False], [True, True]]), ints([1])), expect=([False, True],), **BOOL
    ),
    NodeCase(T.ALL, "kept", {"keepDims": 1}, (flags(2, 3, 4), ints([0, 2])), **BOOL),
    NodeCase(T.ALL, "any number keeps", {"keepDims": 5}, (flags(2, 2), ints([1])), **BOOL),
    NodeCase(T.ALL, "a scalar axis", {}, (flags(2, 2), ints(-1)), **BOOL),
    NodeCase(T.ALL, "an empty list: all", {}, (np.ones((2, 3), bool), ints([])), **BOOL),
    NodeCase(T.ALL, "floats", {}, (f32([[1, 0.5], [-0.0, 2]]), ints([1])), expect=([True, False],), **BOOL),
    NodeCase(T.ALL, "int32", {"keepDims": 1}, (i32([[1, -1], [0, 2]]), ints([0])), expect=([[False, True]],), **BOOL),
    NodeCase(T.ALL, "rank 8", {}, (flags(1, 2, 1, 3, 1, 2, 2, 1), ints([3, 6])), **BOOL),
    NodeCase(T.ALL, "axis beyond the rank", {}, (flags(2, 3), ints([2])), refuses="axis", **BOOL),
    NodeCase(T.ALL, "three inputs", {}, (flags(2, 3), ints([0]), ints([0])), refuses="inputs", **BOOL),
]

TIES = f32([[3, 7, 7, 1, 7], [2, 2, 0, 2, 1]])
INT = {"types": ("int32",)}


def arg_max(
    note: str, axis: int, k: int = 1, keep: bool = False, value: bool = False, x: object = (3, 4, 5), **options: object
) -> NodeCase:
    """A row of ArgMaxFusion."""
    attributes = {"axis": axis, "topK": k, "keepDims": keep, "outMaxValue": value}
    types = {} if value else INT
    return NodeCase(T.ARGMAX_FUSION, note, attributes, (x,), **{**types, **options})  # type: ignore[arg-type]


CASES += [
    arg_max("known values, ties", -1, x=TIES, expect=([1, 0],)),
    arg_max("known values, kept", 1, keep=True, x=TIES, expect=([[1], [0]],)),
    arg_max("three best, ties", -1, 3, x=TIES, expect=([[1, 2, 4], [0, 1, 3]],)),
    arg_max("the value", -1, value=True, x=TIES, expect=([7, 2],)),
    arg_max("three best values", -1, 3, value=True, x=TIES, expect=([[7, 7, 7], [2, 2, 2]],)),
    *(arg_max(f"axis {axis}", axis) for axis in range(-3, 3)),
    *(arg_max(f"axis {axis}, kept, two best", axis, 2, True) for axis in range(3)),
    arg_max("the value, kept", 1, keep=True, value=True),
    arg_max("all of them in order", 2, 5),
    arg_max("rank 1", 0, x=(5,)),
    arg_max("rank 8", 3, x=(1, 2, 1, 3, 1, 2, 2, 1)),
    arg_max("one element", 0, x=(1,)),
    arg_max("int32", 1, 2, x=whole(3, 5)),
    arg_max("int32, the value", 1, 2, value=True, x=whole(3, 5), types=("int32",)),
    arg_max("float16", 1, x=drawn(3, 4, dtype=np.float16)),
    arg_max("N,C,H,W", 1, x=(2, 3, 4, 5), format=Format.NCHW),
    arg_max(
        "places and values",
        1,
        2,
        x=TIES,
        outputs=2,
        types=("int32", "float32"),
        expect=([[1, 2], [0, 1]], [[7, 7], [2, 2]]),
    ),
    arg_max("int8", 1, x=whole(3, 4, dtype=np.int8), quant=(q(0.5),)),
    arg_max("axis beyond the rank", 3, refuses="axis"),
    arg_max("topK 0", 1, 0, refuses=r"topK|\bk\b"),
    arg_max("topK beyond the dim", 1, 5, refuses=r"topK|\bk\b"),
]


def top_k(note: str, axis: int, k: object, x: object = (3, 4, 5), **options: object) -> NodeCase:
    """A row of TopKFusion."""
    attributes = {"axis": axis, "sorted": options.pop("ordered", True)}
    return NodeCase(T.TOPK_FUSION, note, attributes, (x, k), 2, **{"types": ("float32", "int32"), **options})  # type: ignore[arg-type]


CASES += [
    top_k("known values, ties", -1, ints(3), TIES, expect=([[7, 7, 7], [2, 2, 2]], [[1, 2, 4], [0, 1, 3]])),
    top_k("k of dims [1]", 1, ints([2]), TIES, expect=([[7, 7], [2, 2]], [[1, 2], [0, 1]])),
    top_k(
        "not sorted: the same order",
        1,
        ints(4),
        TIES,
        ordered=False,
        expect=([[7, 7, 7, 3], [2, 2, 2, 1]], [[1, 2, 4, 0], [0, 1, 3, 4]]),
    ),
    *(top_k(f"axis {axis}", axis, ints(2)) for axis in range(-3, 3)),
    top_k("all of them", 2, ints(5)),
    top_k("the best", 0, ints(1)),
    top_k("rank 8", 3, ints(2), (1, 2, 1, 3, 1, 2, 2, 1)),
    top_k("int32", 1, ints(2), whole(3, 5), types=("int32", "int32")),
    top_k("int64", 1, ints(2), whole(3, 5, dtype=np.int64), types=("int64", "int32")),
    top_k("float16", 1, ints(2), drawn(3, 4, dtype=np.float16), types=("float16", "int32")),
    top_k("k in int64", 1, ints(2, np.int64), (3, 4)),
    top_k("k handed in", 1, i32(2), (3, 4), known=(1,)),
    top_k("axis beyond the rank", 3, ints(2), refuses="axis"),
    top_k("k beyond the dim", 1, ints(5), refuses=r"\bk\b"),
    top_k("k 0", 1, ints(0), refuses=r"\bk\b"),
    NodeCase(T.TOPK_FUSION, "one input", {"axis": 0}, ((3, 4),), 2, types=("float32", "int32"), refuses="inputs"),
]
