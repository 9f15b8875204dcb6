"""Rows of the layers that make tensors of a shape: constants, fills, ranges, broadcasts, repetition, padding."""

from __future__ import annotations

import numpy as np

from cases import Case, half, linear, lookup, normal


def ramp(*shape: int) -> np.ndarray:
    """0, 1, 2, … in the given shape."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


_CONSTANT = [
    Case("loadConstantND", "rank 1, one value", {"shape": [1], "data": [3.5]}, (), expect=([3.5],)),
    Case(
        "loadConstantND",
        "rank 2, last axis fastest",
        {"shape": [2, 3], "data": ramp(2, 3)},
        (),
        expect=([[0, 1, 2], [3, 4, 5]],),
    ),
    Case("loadConstantND", "rank 3", {"shape": [2, 3, 5], "data": normal(2, 3, 5)}, ()),
    Case("loadConstantND", "rank 4", {"shape": [2, 1, 3, 5], "data": normal(2, 1, 3, 5)}, ()),
    Case("loadConstantND", "rank 5", {"shape": [2, 1, 3, 2, 2], "data": normal(2, 1, 3, 2, 2)}, ()),
    Case(
        "loadConstantND",
        "float16",
        {"shape": [3], "data": half([0.5, -2, 0.1])},
        (),
        expect=([0.5, -2, np.float16(0.1)],),
    ),
    Case(
        "loadConstantND",
        "linear, 4 bits",
        {"shape": [2, 2], "data": linear([0, 1, 7, 15], 4, 0.5, -1)},
        (),
        expect=([[-1, -0.5], [2.5, 6.5]],),
    ),
    Case(
        "loadConstantND",
        "lookup table, 2 bits",
        {"shape": [5], "data": lookup([3, 0, 1, 2, 3], 2, [10, 20, 30, 40])},
        (),
        expect=([40, 10, 20, 30, 40],),
    ),
    Case(
        "loadConstantND",
        "more values than the shape has room for",
        {"shape": [2], "data": [1, 2, 3]},
        (),
        refuses="data",
    ),
    Case("loadConstantND", "no values", {"shape": [2]}, (), refuses="data"),
    Case("loadConstantND", "no shape", {"data": [1]}, (), refuses="shape"),
    Case("loadConstantND", "rank 6", {"shape": [1, 1, 1, 1, 1, 2], "data": [1, 2]}, (), refuses="shape"),
]

_FILL = [
    Case("fillLike", "value 0 by default", {}, ((2, 3),), expect=(np.zeros((2, 3)),)),
    *(
        Case("fillLike", f"rank {len(shape)}", {"value": -1.5}, (shape,), expect=(np.full(shape, -1.5),))
        for shape in ((4,), (2, 3), (2, 3, 1), (2, 1, 3, 2), (1, 2, 1, 3, 2))
    ),
    Case("fillLike", "values of the input do not matter", {"value": 2}, ([np.inf, np.nan, 1],), expect=([2, 2, 2],)),
    Case("fillLike", "no elements", {"value": 2}, ((0, 3),)),
    Case("fillLike", "two inputs", {"value": 2}, ((3,), (3,)), refuses="input"),
    Case("fillStatic", "value 0 by default", {"targetShape": [3]}, (), expect=([0, 0, 0],)),
    Case(
        "fillStatic", "the shape of the text", {"value": 7, "targetShape": [10, 4]}, (), expect=(np.full((10, 4), 7),)
    ),
    Case("fillStatic", "rank 5", {"value": 0.1, "targetShape": [1, 2, 1, 3, 2]}, ()),
    Case("fillStatic", "no elements", {"value": 1, "targetShape": [2, 0]}, ()),
    Case("fillStatic", "no targetShape", {"value": 7}, (), refuses="targetShape"),
    Case("fillDynamic", "value 0 by default", {}, ([2],), expect=([0, 0],), known=(0,)),
    Case("fillDynamic", "the shape of the text", {"value": 7}, ([10, 4],), expect=(np.full((10, 4), 7),), known=(0,)),
    Case("fillDynamic", "rank 3", {"value": -1}, ([2, 1, 3],), expect=(-np.ones((2, 1, 3)),), known=(0,)),
    Case("fillDynamic", "rank 5", {"value": -1}, ([1, 2, 1, 3, 2],), known=(0,)),
    Case("fillDynamic", "no elements", {"value": 1}, ([2, 0],), known=(0,)),
    Case("fillDynamic", "two inputs", {}, ([2], [2]), refuses="input"),
    Case("fillDynamic", "a shape of rank 2", {}, ([[2, 3]],), refuses="rank 1"),
]

# start, end, step, what it yields
_RANGES: tuple[tuple[str, float, float, float, list[float]], ...] = (
    ("up by 1", 0, 5, 1, [0, 1, 2, 3, 4]),
    ("up by 2, end not met", 5, 8, 2, [5, 7]),
    ("one step reaches too far", 5, 8, 98, [5]),
    ("broken step", 5, 8, 1.25, [5, 6.25, 7.5]),
    ("down", 10, 5, -1.5, [10, 8.5, 7, 5.5]),
    ("through 0, negative", 3, -4, -2, [3, 1, -1, -3]),
    ("broken start", -10.5, 23, 12.25, [-10.5, 1.75, 14]),
    ("wrong direction: nothing", 5, 0, 1, []),
    ("start is end: nothing", 2, 2, 1, []),
)


def _range_rows(note: str, start: float, end: float, step: float, known: list[float]) -> list[Case]:
    fields = {"startValue": start, "stepSizeValue": step}
    return [
        Case("rangeStatic", note, {"endValue": end, **fields}, (), expect=(known,)),
        Case("rangeDynamic", f"{note}; end given", fields, ([end],), expect=(known,)),
        Case(
            "rangeDynamic",
            f"{note}; end and start given",
            {"startValue": 77, "stepSizeValue": step},
            ([end], [start]),
            expect=(known,),
        ),
        Case(
            "rangeDynamic",
            f"{note}; all given",
            {"startValue": 77, "stepSizeValue": 99},
            ([end], [start], [step]),
            expect=(known,),
        ),
    ]


_RANGE = [
    *(row for entry in _RANGES for row in _range_rows(*entry)),
    Case("rangeStatic", "start 0 by default", {"endValue": 3, "stepSizeValue": 1}, (), expect=([0, 1, 2],)),
    Case("rangeStatic", "a thousand", {"endValue": 1000, "stepSizeValue": 1}, (), expect=(np.arange(1000),)),
    Case("rangeStatic", "step 0, the default", {"endValue": 3}, (), refuses="stepSizeValue"),
    Case("rangeDynamic", "scalars of rank 0", {}, (np.float32(4), np.float32(1), np.float32(1)), expect=([1, 2, 3],)),
    Case("rangeDynamic", "step 0, the default", {}, ([3],), refuses="stepSizeValue"),
    Case("rangeDynamic", "four inputs", {"stepSizeValue": 1}, ([3], [0], [1], [1]), refuses="input"),
    Case("rangeDynamic", "an end that is no scalar", {"stepSizeValue": 1}, ([3, 4],), refuses="scalar"),
]

# shape, target
_BROADCASTS: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = (
    ("same shape", (2, 3), (2, 3)),
    ("rank 1, one value", (1,), (4,)),
    ("first axis", (1, 3), (2, 3)),
    ("last axis", (2, 1), (2, 3)),
    ("new axes in front", (3,), (2, 4, 3)),
    ("several axes, rank 4", (2, 1, 3, 1), (2, 4, 3, 5)),
    ("rank 2 to 5", (3, 1), (2, 1, 2, 3, 2)),
    ("rank 0", (), (2, 3)),
    ("to no elements", (1, 3), (0, 3)),
)


def _broadcast_rows(note: str, shape: tuple[int, ...], target: tuple[int, ...]) -> list[Case]:
    return [
        Case("broadcastToLike", note, {}, (shape, target)),
        Case("broadcastToStatic", note, {"targetShape": target}, (shape,)),
        Case("broadcastToDynamic", note, {}, (shape, np.array(target)), known=(1,)),
    ]


_BROADCAST = [
    *(row for entry in _BROADCASTS for row in _broadcast_rows(*entry)),
    Case(
        "broadcastToStatic",
        "known answer",
        {"targetShape": [2, 2, 3]},
        ([[1], [2]],),
        expect=([[[1, 1, 1], [2, 2, 2]]] * 2,),
    ),
    Case("broadcastToLike", "known answer", {}, ([1, 2], (3, 2)), expect=([[1, 2]] * 3,)),
    Case("broadcastToDynamic", "known answer", {}, ([[1], [2]], [2, 3]), expect=([[1, 1, 1], [2, 2, 2]],), known=(1,)),
    Case("broadcastToStatic", "no targetShape", {}, ((3,),), refuses="targetShape"),
    Case("broadcastToStatic", "a shape that does not fit", {"targetShape": [2, 4]}, ((2, 3),), refuses="broadcast"),
    Case("broadcastToStatic", "fewer axes than the input", {"targetShape": [3]}, ((1, 3),), refuses="broadcast"),
    Case("broadcastToLike", "a shape that does not fit", {}, ((2, 3), (2, 4)), refuses="broadcast"),
    Case("broadcastToLike", "one input", {}, ((2, 3),), refuses="input"),
    Case("broadcastToDynamic", "one input", {}, ((2, 3),), refuses="input"),
    Case("broadcastToDynamic", "a shape of rank 2", {}, ((3,), [[2, 3]]), refuses="rank 1"),
]

_TILE = [
    Case("tile", "known answer", {"reps": [2]}, ([1, 2, 3],), expect=([1, 2, 3, 1, 2, 3],)),
    Case("tile", "known answer, both axes", {"reps": [2, 2]}, ([[1, 2]],), expect=([[1, 2, 1, 2], [1, 2, 1, 2]],)),
    Case(
        "tile",
        "known answer, the last axis",
        {"reps": [2]},
        ([[1, 2], [3, 4]],),
        expect=([[1, 2, 1, 2], [3, 4, 3, 4]],),
    ),
    Case(
        "tile",
        "known answer, one rep as an input",
        {},
        ([[1, 2], [3, 4]], [2]),
        expect=([[1, 2, 1, 2], [3, 4, 3, 4]],),
        known=(1,),
    ),
    Case("tile", "the text: reps (1, 2, 6)", {"reps": [1, 2, 6]}, ((2, 4, 2),)),
    Case("tile", "the text: reps (6), ones in front", {"reps": [6]}, ((2, 4, 2),)),
    Case("tile", "the text: reps as an input", {}, ((2, 4, 2), [1, 2, 6]), known=(1,)),
    Case("tile", "two reps for rank 3", {"reps": [3, 2]}, ((2, 1, 3),)),
    Case("tile", "rank 4", {"reps": [2, 1, 3, 1]}, ((1, 3, 2, 2),)),
    Case("tile", "rank 5", {"reps": [1, 2, 1, 2, 3]}, ((1, 2, 3, 1, 2),)),
    Case("tile", "all ones", {"reps": [1, 1]}, ((2, 3),)),
    Case("tile", "reps 0", {"reps": [1, 0]}, ((2, 3),)),
    Case("tile", "reps as an input, fewer than the rank", {}, ((2, 4, 2), [2, 3]), known=(1,)),
    Case("tile", "reps as an input, the field ignored", {"reps": [5, 5]}, ((1, 2), [2, 1]), known=(1,)),
    Case("tile", "no reps", {}, ((2, 3),), refuses="reps"),
    Case("tile", "more reps than the rank", {"reps": [1, 2, 3]}, ((2, 3),), refuses="reps"),
    Case("tile", "three inputs", {}, ((2, 3), [1, 2], [1, 2]), refuses="input"),
]

_SIZES = {"padToGivenOutputSizeMode": True}

_PAD = [
    Case(
        "constantPad",
        "known answer",
        {"value": 9, "padAmounts": [1, 0, 0, 2]},
        ([[1, 2], [3, 4]],),
        expect=([[9, 9, 9, 9], [1, 2, 9, 9], [3, 4, 9, 9]],),
    ),
    Case("constantPad", "value 0 by default", {"padAmounts": [2, 1]}, ([5, 6],), expect=([0, 0, 5, 6, 0],)),
    Case("constantPad", "the text, rank 2", {"value": -1, "padAmounts": [0, 1, 4, 0]}, ((20, 10),)),
    Case("constantPad", "the text, rank 3", {"value": -1, "padAmounts": [0, 0, 3, 4, 0, 9]}, ((20, 10, 5),)),
    Case("constantPad", "the text, sizes, rank 2", {"value": 34, "padAmounts": [0, 21, 14, 0], **_SIZES}, ((20, 10),)),
    Case(
        "constantPad",
        "the text, sizes, rank 3",
        {"value": 34, "padAmounts": [0, 0, 17, 0, 0, 14], **_SIZES},
        ((20, 10, 5),),
    ),
    Case(
        "constantPad",
        "sizes, known answer",
        {"value": 9, "padAmounts": [3, 0, 0, 3], **_SIZES},
        ([[1, 2], [3, 4]],),
        expect=([[9, 9, 9], [1, 2, 9], [3, 4, 9]],),
    ),
    Case(
        "constantPad",
        "sizes below the input's change nothing",
        {"value": 9, "padAmounts": [1, 0, 0, 2], **_SIZES},
        ((2, 3),),
    ),
    Case("constantPad", "sizes, all 0", {"value": 9, "padAmounts": [0, 0, 0, 0], **_SIZES}, ((2, 3),)),
    Case("constantPad", "rank 4", {"value": 0.5, "padAmounts": [0, 0, 1, 1, 0, 2, 3, 0]}, ((2, 1, 3, 5),)),
    Case("constantPad", "rank 5", {"value": 0.5, "padAmounts": [1, 0, 0, 0, 2, 1, 0, 0, 0, 1]}, ((1, 2, 1, 3, 2),)),
    Case(
        "constantPad",
        "an axis of no elements",
        {"value": 2, "padAmounts": [1, 1, 0, 0]},
        ((0, 3),),
        expect=([[2, 2, 2]] * 2,),
    ),
    Case("constantPad", "amounts as an input", {"value": 3}, ((2, 3), [1, 0, 0, 2])),
    Case(
        "constantPad",
        "amounts as an input, the field ignored",
        {"value": 3, "padAmounts": [9, 9]},
        ([1, 2], [0, 1]),
        expect=([1, 2, 3],),
    ),
    Case("constantPad", "sizes as an input", {"value": 3, **_SIZES}, ((2, 3), [4, 0, 0, 5])),
    Case("constantPad", "no amounts", {}, ((2, 3),), refuses="padAmounts"),
    Case("constantPad", "amounts for another rank", {"padAmounts": [1, 1]}, ((2, 3),), refuses="padAmounts"),
    Case("constantPad", "a size on both sides", {"padAmounts": [3, 3], **_SIZES}, ((2,),), refuses="padAmounts"),
    Case("constantPad", "three inputs", {}, ((2,), [1, 1], [1, 1]), refuses="input"),
]

CASES: list[Case] = [*_CONSTANT, *_FILL, *_RANGE, *_BROADCAST, *_TILE, *_PAD]
