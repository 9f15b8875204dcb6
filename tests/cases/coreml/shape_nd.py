"""Rows of the layers that change the shape or the order of the axes: reshapes, squeezes, transposes, joins, splits."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from cases import Case


def ramp(*shape: int) -> np.ndarray:
    """0, 1, 2, … in the given shape."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


_GET_SHAPE = [
    *(
        Case("getShape", f"rank {len(shape)}", {}, (shape,), expect=(shape,))
        for shape in ((7,), (3, 5), (2, 3, 5), (2, 1, 3, 5), (2, 3, 1, 2, 3))
    ),
    Case("getShape", "no elements", {}, ((2, 0),), expect=([2, 0],)),
    Case("getShape", "two inputs", {}, ((2,), (2,)), refuses="input"),
]

_TRANSPOSE = [
    Case("transpose", "known answer", {"axes": [1, 0]}, ([[1, 2, 3], [4, 5, 6]],), expect=([[1, 4], [2, 5], [3, 6]],)),
    Case("transpose", "the text: [6,7,8,9] to [9,7,8,6]", {"axes": [3, 1, 2, 0]}, ((6, 7, 8, 9),)),
    Case("transpose", "rank 1", {"axes": [0]}, ((5,),)),
    *(Case("transpose", f"rank 3, {axes}", {"axes": list(axes)}, ((2, 3, 5),)) for axes in permutations(range(3))),
    Case("transpose", "rank 5", {"axes": [4, 2, 0, 3, 1]}, ((2, 3, 1, 4, 5),)),
    Case("transpose", "rank 6", {"axes": [5, 3, 1, 0, 2, 4]}, ((2, 1, 3, 1, 2, 2),)),
    Case("transpose", "no elements", {"axes": [1, 0]}, ((0, 3),)),
    Case("transpose", "an image as (C,H,W)", {"axes": [1, 2, 0]}, ((1, 3, 2, 4),)),
    Case(
        "transpose",
        "an image as (C,H,W), known answer",
        {"axes": [1, 2, 0]},
        ([[[[1, 2]], [[3, 4]]]],),
        expect=([[[1, 3], [2, 4]]],),
    ),
    Case("transpose", "three axes, but two images", {"axes": [1, 2, 0]}, ((2, 3, 2, 4),), refuses="axes"),
    Case("transpose", "an axis twice", {"axes": [0, 0]}, ((2, 3),), refuses="axes"),
    Case("transpose", "too few axes", {"axes": [0, 1]}, ((2, 3, 4),), refuses="axes"),
    Case("transpose", "no axes", {}, ((2, 3),), refuses="axes"),
    Case("transpose", "an axis outside", {"axes": [0, 2]}, ((2, 3),), refuses="axes"),
]

# shape, axes, shape of the output
_EXPAND = (
    ("the text: (0, 1)", (10, 5), [0, 1], (1, 1, 10, 5)),
    ("the text: (0, 2)", (10, 5), [0, 2], (1, 10, 1, 5)),
    ("the text: (-2, -1)", (10, 5), [-2, -1], (10, 5, 1, 1)),
    ("axes in another order", (10, 5), [2, 0], (1, 10, 1, 5)),
    ("signs mixed", (10,), [1, 0, -2], (1, 1, 1, 10)),
    ("rank 1", (3,), [1], (3, 1)),
    ("first axis from the end", (3,), [-2], (1, 3)),
    ("rank 0", (), [0], (1,)),
    ("rank 4 to 5", (2, 1, 3, 2), [2], (2, 1, 1, 3, 2)),
    ("no elements", (0, 3), [0], (1, 0, 3)),
)

_SQUEEZE = (
    ("the text: (0, 1)", (1, 1, 10, 5), [0, 1], (10, 5)),
    ("the text: (0, 3)", (1, 10, 5, 1), [0, 3], (10, 5)),
    ("the text: (-2, -1)", (10, 5, 1, 1), [-2, -1], (10, 5)),
    ("the text: rank 1 stays", (1,), [0], (1,)),
    ("axes in another order", (10, 5, 1, 1), [3, -2], (10, 5)),
    ("one axis of several", (1, 3, 1, 2), [2], (1, 3, 2)),
    ("middle axis", (3, 1, 7), [1], (3, 7)),
    ("rank 5", (1, 2, 1, 3, 1), [0, -1], (2, 1, 3)),
    ("all axes: one dim is left", (1, 1), [0, 1], (1,)),
    ("no elements", (1, 0, 3), [0], (0, 3)),
)

_SQUEEZE_ALL = ((1, 1, 10, 5), (1, 10, 1, 5), (10, 5, 1, 1), (1,), (3, 1, 7), (3,), (5, 6), (1, 1, 1), (1, 2, 1, 3, 1))

_SIZES_DECIDE = "which axes go, and so the rank, depends on the sizes"


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dim for dim in shape if dim != 1) or (1,)


_UNIT_DIMS = [
    *(
        Case("expandDims", note, {"axes": axes}, (ramp(*shape),), expect=(ramp(*out),))
        for note, shape, axes, out in _EXPAND
    ),
    Case("expandDims", "no axes", {}, ((2, 3),), refuses="axes"),
    Case("expandDims", "an axis twice", {"axes": [0, 0]}, ((2, 3),), refuses="axes"),
    Case("expandDims", "an axis twice, by different signs", {"axes": [1, -3]}, ((2, 3),), refuses="axes"),
    Case("expandDims", "an axis outside", {"axes": [3]}, ((2, 3),), refuses="axes"),
    *(
        Case("squeeze", note, {"axes": axes}, (ramp(*shape),), expect=(ramp(*out),))
        for note, shape, axes, out in _SQUEEZE
    ),
    *(
        Case(
            "squeeze",
            f"squeezeAll, {list(shape)}",
            {"squeezeAll": True},
            (ramp(*shape),),
            expect=(ramp(*_without_ones(shape)),),
            symbolic=max(shape) == 1,
            why=_SIZES_DECIDE,
        )
        for shape in _SQUEEZE_ALL
    ),
    Case(
        "squeeze",
        "squeezeAll, axes ignored",
        {"squeezeAll": True, "axes": [1]},
        ((1, 3),),
        symbolic=False,
        why=_SIZES_DECIDE,
    ),
    Case("squeeze", "an axis that is not 1", {"axes": [1]}, ((1, 3),), refuses="axes"),
    Case("squeeze", "no axes", {}, ((1, 3),), refuses="axes"),
    Case("squeeze", "an axis twice", {"axes": [0, -2]}, ((1, 3),), refuses="axes"),
    Case("squeeze", "an axis outside", {"axes": [2]}, ((1, 3),), refuses="axes"),
]

# shape, axis, shape of the output
_FLATTEN = (
    ((3,), -1, (1, 3)),
    ((3,), 1, (3, 1)),
    ((3,), 0, (1, 3)),
    ((4, 3), -1, (4, 3)),
    ((5, 2), 0, (1, 10)),
    ((5, 5, 3), -2, (5, 15)),
    ((2, 3, 2), -1, (6, 2)),
    ((2, 3, 2), 3, (12, 1)),
    ((2, 3, 1, 5), 2, (6, 5)),
    ((2, 3, 1, 5), -4, (1, 30)),
    ((2, 1, 3, 2, 2), -3, (2, 12)),
    ((2, 0, 3), 1, (2, 0)),
)

# shape, targetShape, shape of the output
_RESHAPE = (
    ("rank 1 to 2", (6,), [2, 3], (2, 3)),
    ("rank 2 to 1", (2, 3), [6], (6,)),
    ("same rank, other dims", (4, 3), [2, 6], (2, 6)),
    ("rank 3 to 5", (2, 3, 4), [1, 4, 3, 1, 2], (1, 4, 3, 1, 2)),
    ("rank 5 to 2", (1, 2, 3, 1, 5), [5, 6], (5, 6)),
    ("-1 in front", (2, 3, 4), [-1, 4], (6, 4)),
    ("-1 at the end", (2, 3, 4), [2, -1], (2, 12)),
    ("-1 alone", (2, 3, 4), [-1], (24,)),
    ("-1 that comes to 1", (2, 3), [2, -1, 3], (2, 1, 3)),
    ("rank 0", (), [1, 1], (1, 1)),
)

_RESHAPES = [
    *(
        Case("flattenTo2D", f"{list(shape)}, axis {axis}", {"axis": axis}, (ramp(*shape),), expect=(ramp(*out),))
        for shape, axis, out in _FLATTEN
    ),
    Case("flattenTo2D", "axis above the rank", {"axis": 3}, ((2, 3),), refuses="axis"),
    Case("flattenTo2D", "axis too negative", {"axis": -3}, ((2, 3),), refuses="axis"),
    *(
        case
        for note, shape, target, out in _RESHAPE
        for case in (
            Case("reshapeStatic", note, {"targetShape": target}, (ramp(*shape),), expect=(ramp(*out),)),
            Case("reshapeDynamic", note, {}, (ramp(*shape), target), expect=(ramp(*out),), known=(1,)),
            Case("reshapeLike", note, {}, (ramp(*shape), out), expect=(ramp(*out),)),
        )
    ),
    Case("reshapeLike", "no elements", {}, ((0, 3), (2, 0))),
    Case("reshapeStatic", "no targetShape", {}, ((2, 3),), refuses="targetShape"),
    Case("reshapeStatic", "another number of elements", {"targetShape": [4, 2]}, ((2, 3),), refuses="targetShape"),
    Case("reshapeStatic", "two times -1", {"targetShape": [-1, -1]}, ((2, 3),), refuses="targetShape"),
    Case("reshapeStatic", "-1 that is not whole", {"targetShape": [4, -1]}, ((2, 3),), refuses="targetShape"),
    Case("reshapeStatic", "another negative dim", {"targetShape": [-2, -3]}, ((2, 3),), refuses="targetShape"),
    Case("reshapeDynamic", "one input", {}, ((2, 3),), refuses="input"),
    Case("reshapeDynamic", "a shape of rank 2", {}, ((2, 3), [[6]]), refuses="rank 1"),
    Case("reshapeLike", "one input", {}, ((2, 3),), refuses="input"),
    *(
        Case("rankPreservingReshape", note, {"targetShape": target}, (ramp(*shape),), expect=(ramp(*out),))
        for note, shape, target, out in (
            ("the text: (5, -1)", (20, 10), [5, -1], (5, 40)),
            ("the text: (0, 2, 25)", (20, 10, 5), [0, 2, 25], (20, 2, 25)),
            ("the text: (25, 0, -1)", (10, 3, 5), [25, 0, -1], (25, 3, 2)),
            ("rank 1", (5,), [-1], (5,)),
            ("all kept", (2, 3, 4), [0, 0, 0], (2, 3, 4)),
            ("last one kept", (2, 3, 4), [3, 2, 0], (3, 2, 4)),
            ("rank 5", (2, 3, 1, 4, 5), [0, -1, 3, 0, 1], (2, 5, 3, 4, 1)),
        )
    ),
    Case("rankPreservingReshape", "another rank", {"targetShape": [6]}, ((2, 3),), refuses="targetShape"),
    Case("rankPreservingReshape", "no targetShape", {}, ((2, 3),), refuses="targetShape"),
    Case("rankPreservingReshape", "two times -1", {"targetShape": [-1, -1]}, ((2, 3),), refuses="targetShape"),
    Case(
        "rankPreservingReshape", "another number of elements", {"targetShape": [0, 4]}, ((2, 3),), refuses="targetShape"
    ),
]

_IN1, _IN2 = [[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]

_JOINS = [
    Case("stack", "known answer", {"axis": 1}, ([1, 2], [3, 4], [5, 6]), expect=([[1, 3, 5], [2, 4, 6]],)),
    Case("stack", "axis 0 by default", {}, ([1, 2], [3, 4]), expect=([[1, 2], [3, 4]],)),
    Case("stack", "the text: five inputs, axis 3", {"axis": 3}, ((2, 4, 2),) * 5),
    Case("stack", "the text: five inputs, axis -2", {"axis": -2}, ((2, 4, 2),) * 5),
    *(Case("stack", f"rank 2, axis {axis}", {"axis": axis}, ((2, 3), (2, 3))) for axis in (-3, -2, -1, 0, 1, 2)),
    Case("stack", "rank 4", {"axis": 2}, ((2, 1, 3, 2),) * 3),
    Case("stack", "rank 0", {}, (np.float32(1), np.float32(2)), expect=([1, 2],)),
    Case("stack", "no elements", {"axis": 1}, ((0, 3), (0, 3))),
    Case("stack", "one input", {}, ((2, 3),), refuses="input"),
    Case("stack", "shapes that differ", {}, ((2, 3), (2, 4)), refuses="shape"),
    Case("stack", "axis above the rank", {"axis": 3}, ((2, 3), (2, 3)), refuses="axis"),
    Case("stack", "axis too negative", {"axis": -4}, ((2, 3), (2, 3)), refuses="axis"),
    Case("concatND", "the text", {}, (_IN1, _IN2), expect=([*_IN1, *_IN2],)),
    Case(
        "concatND",
        "the text: interleave",
        {"interleave": True},
        (_IN1, _IN2),
        expect=([[1, 2], [7, 8], [3, 4], [9, 10], [5, 6], [11, 12]],),
    ),
    Case(
        "concatND",
        "interleave on the last axis",
        {"interleave": True, "axis": -1},
        ([[1, 2], [3, 4]], [[5, 6], [7, 8]]),
        expect=([[1, 5, 2, 6], [3, 7, 4, 8]],),
    ),
    Case("concatND", "interleave, three inputs, middle axis", {"interleave": True, "axis": 1}, ((2, 3, 2),) * 3),
    Case("concatND", "interleave, rank 5", {"interleave": True, "axis": -3}, ((2, 1, 2, 3, 2),) * 2),
    Case("concatND", "rank 1, sizes differ", {}, ((2,), (5,), (1,))),
    Case("concatND", "last axis", {"axis": -1}, ((2, 3), (2, 1))),
    Case("concatND", "rank 3, middle axis", {"axis": 1}, ((2, 3, 4), (2, 1, 4), (2, 5, 4))),
    Case("concatND", "rank 4, axis -3", {"axis": -3}, ((2, 3, 1, 2), (2, 2, 1, 2))),
    Case("concatND", "rank 5", {"axis": 4}, ((1, 2, 1, 3, 2), (1, 2, 1, 3, 1))),
    Case("concatND", "one part has no elements", {"axis": 0}, ((0, 3), (2, 3))),
    Case("concatND", "one input", {}, ((2, 3),), refuses="input"),
    Case("concatND", "axis outside", {"axis": 2}, ((2, 3), (2, 3)), refuses="axis"),
    Case("concatND", "other dims differ", {"axis": 0}, ((2, 3), (2, 4)), refuses="axis"),
    Case("concatND", "interleave of shapes that differ", {"interleave": True}, ((2, 3), (3, 3)), refuses="shape"),
]

_SPLITS = [
    Case("splitND", "known answer", {"numSplits": 2}, ([1, 2, 3, 4],), 2, expect=([1, 2], [3, 4])),
    Case(
        "splitND",
        "the text: sizes, axis -3",
        {"axis": -3, "splitSizes": [3, 2]},
        (ramp(5, 3, 4),),
        2,
        expect=(ramp(3, 3, 4), ramp(2, 3, 4) + 36),
    ),
    Case(
        "splitND",
        "sizes, numSplits ignored",
        {"splitSizes": [1, 3], "numSplits": 7},
        ([1, 2, 3, 4],),
        2,
        expect=([1], [2, 3, 4]),
    ),
    Case("splitND", "equal, last axis", {"axis": -1, "numSplits": 3}, ((2, 6),), 3),
    Case("splitND", "equal, rank 4", {"axis": 2, "numSplits": 2}, ((2, 1, 4, 3),), 2),
    Case("splitND", "equal, rank 5", {"axis": -5, "numSplits": 2}, ((2, 1, 2, 3, 2),), 2),
    Case("splitND", "sizes, four parts", {"axis": 1, "splitSizes": [1, 2, 3, 1]}, ((2, 7),), 4),
    Case("splitND", "sizes, a part of no elements", {"splitSizes": [0, 3]}, ((3, 2),), 2),
    Case(
        "splitND",
        "what is left over goes to the first parts",
        {"numSplits": 3},
        ([0, 1, 2, 3, 4, 5, 6, 7],),
        3,
        expect=([0, 1, 2], [3, 4, 5], [6, 7]),
    ),
    Case("splitND", "neither sizes nor a number", {}, ((4,),), 2, refuses="numSplits"),
    Case("splitND", "number of outputs", {"numSplits": 2}, ((6,),), 3, refuses="numSplits"),
    Case("splitND", "sizes and number of outputs", {"splitSizes": [1, 2]}, ((3,),), 3, refuses="splitSizes"),
    Case("splitND", "sizes that do not add up", {"splitSizes": [1, 1]}, ((3,),), 2, refuses="splitSizes"),
    Case("splitND", "axis outside", {"axis": 1, "numSplits": 2}, ((4,),), 2, refuses="axis"),
]

CASES: list[Case] = [*_GET_SHAPE, *_TRANSPOSE, *_UNIT_DIMS, *_RESHAPES, *_JOINS, *_SPLITS]
