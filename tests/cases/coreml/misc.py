"""Rows of one-hot vectors and running sums."""

from __future__ import annotations

import numpy as np

from cases import Case


def classes(*shape: int, below: int) -> np.ndarray:
    return np.random.default_rng([4, *shape]).integers(0, below, shape).astype(np.float32)


def hot(size: int = 4, on: float = 1, off: float = 0, **more: object) -> dict[str, object]:
    return {"oneHotVectorSize": size, "onValue": on, "offValue": off, **more}


ONE_HOT = [
    Case(
        "oneHot",
        "the text's numbers",
        hot(on=5, off=-1, axis=-1),
        ([2.0, 0.0],),
        expect=([[-1, -1, 5, -1], [5, -1, -1, -1]],),
    ),
    Case(
        "oneHot",
        "a negative index is off, the text's numbers",
        hot(on=5, off=-1, axis=-1),
        ([2.0, -1.0],),
        expect=([[-1, -1, 5, -1], [-1, -1, -1, -1]],),
    ),
    Case(
        "oneHot",
        "indices at and beyond the size are off",
        hot(axis=-1),
        ([3.0, 4.0, 99.0, -4.0],),
        expect=([[0, 0, 0, 1], [0] * 4, [0] * 4, [0] * 4],),
    ),
    Case(
        "oneHot",
        "fractions are cut off",
        hot(axis=-1),
        ([1.5, -0.5, -1.5],),
        expect=([[0, 1, 0, 0], [1, 0, 0, 0], [0] * 4],),
    ),
    Case("oneHot", "axis unset is 0", hot(), ([2.0, 0.0],), expect=([[0, 1], [0, 0], [1, 0], [0, 0]],)),
    Case("oneHot", "values unset are 0", {"oneHotVectorSize": 3}, ([1.0],), expect=(np.zeros((3, 1)),)),
    Case("oneHot", "equal values", hot(on=2, off=2), ([1.0, 3.0],), expect=(np.full((4, 2), 2.0),)),
    Case("oneHot", "(10) to (10,32), the text's shapes", hot(32, axis=-1), (classes(10, below=32),)),
    Case("oneHot", "(10,23) to (10,32,23), the text's shapes", hot(32, axis=1), (classes(10, 23, below=32),)),
    Case("oneHot", "(10) to (32,10), the text's shapes", hot(32, axis=0), (classes(10, below=32),)),
    Case("oneHot", "axis -2", hot(5, 30, -4, axis=-2), (classes(3, 2, below=5),)),
    Case("oneHot", "axis -3 is the first", hot(5, axis=-3), (classes(3, 2, below=5),)),
    Case("oneHot", "rank 3, axis 3", hot(6, 0.5, 0.25, axis=3), (classes(2, 3, 2, below=6),)),
    Case("oneHot", "rank 4, axis 2", hot(3, axis=2), (classes(2, 1, 3, 2, below=3),)),
    Case("oneHot", "size of 1", hot(1, axis=-1), ([0.0, 1.0],), expect=([[1], [0]],)),
    Case(
        "oneHot",
        "size from the second input, that of the layer ignored",
        hot(9, axis=-1),
        ([1.0, 0.0], [3.0]),
        expect=([[0, 1, 0], [1, 0, 0]],),
    ),
    Case("oneHot", "size from the second input, axis 0, rank 2", {"onValue": 1}, (classes(2, 3, below=4), [4.0])),
    Case("oneHot", "no indices", hot(axis=-1), (np.zeros((0,)),)),
    Case("oneHot", "axis beyond the rank", hot(axis=2), ([1.0],), refuses="axis"),
    Case("oneHot", "negative axis beyond the rank", hot(axis=-3), ([1.0],), refuses="axis"),
    Case("oneHot", "no size", {"axis": 0, "onValue": 1}, ([1.0],), refuses="oneHotVectorSize"),
]

V = [4.0, 6.0, 7.0]
M = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]

CUM_SUM = [
    Case("cumSum", "the text's numbers", {}, (V,), expect=([4, 10, 17],)),
    Case("cumSum", "excludeFinalSum, the text's numbers", {"excludeFinalSum": True}, (V,), expect=([0, 4, 10],)),
    Case("cumSum", "reverse, the text's numbers", {"reverse": True}, (V,), expect=([17, 13, 7],)),
    Case("cumSum", "both, the text's numbers", {"excludeFinalSum": True, "reverse": True}, (V,), expect=([13, 7, 0],)),
    Case("cumSum", "axis unset is 0", {}, (M,), expect=([[1, 2, 3], [5, 7, 9]],)),
    Case("cumSum", "last axis", {"axis": 1}, (M,), expect=([[1, 3, 6], [4, 9, 15]],)),
    Case(
        "cumSum",
        "negative axis, both flags",
        {"axis": -1, "excludeFinalSum": True, "reverse": True},
        (M,),
        expect=([[5, 3, 0], [11, 6, 0]],),
    ),
    Case("cumSum", "axis -2, reverse", {"axis": -2, "reverse": True}, (M,), expect=([[5, 7, 9], [4, 5, 6]],)),
    Case("cumSum", "rank 3, axis 1, excludeFinalSum", {"axis": 1, "excludeFinalSum": True}, ((2, 5, 3),)),
    Case("cumSum", "rank 4, axis -3", {"axis": -3}, ((2, 4, 3, 2),)),
    Case("cumSum", "rank 5, axis 3, reverse", {"axis": 3, "reverse": True}, ((2, 1, 2, 5, 2),)),
    Case(
        "cumSum",
        "axis of size 1, excludeFinalSum",
        {"axis": 1, "excludeFinalSum": True},
        ((3, 1),),
        expect=(np.zeros((3, 1)),),
    ),
    Case(
        "cumSum",
        "axis from the second input, that of the layer ignored",
        {"axis": 7},
        (M, [1.0]),
        expect=([[1, 3, 6], [4, 9, 15]],),
    ),
    Case(
        "cumSum",
        "negative axis from the second input, reverse",
        {"reverse": True},
        (M, [-1.0]),
        expect=([[6, 5, 3], [15, 11, 6]],),
    ),
    Case("cumSum", "no values", {"axis": 1, "excludeFinalSum": True}, (np.zeros((2, 0)),)),
    Case("cumSum", "axis beyond the rank", {"axis": 1}, (V,), refuses="axis"),
    Case("cumSum", "negative axis beyond the rank", {"axis": -3}, (M,), refuses="axis"),
]

CASES = ONE_HOT + CUM_SUM
