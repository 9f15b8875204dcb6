"""Rows of the layers that pick from a tensor, or write into it, by index."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cases import Case

MODES = ("SCATTER_UPDATE", "SCATTER_ADD", "SCATTER_SUB", "SCATTER_MUL", "SCATTER_DIV", "SCATTER_MAX", "SCATTER_MIN")

RAMP = np.arange(6, dtype=np.float32).reshape(2, 3)
TALL = np.arange(12, dtype=np.float32).reshape(4, 3)


def picks(*shape: int, below: int, negative: bool = False, seed: int = 3) -> np.ndarray:
    """Seeded indices, with repeats."""
    generator = np.random.default_rng([seed, below, *shape])
    return generator.integers(-below if negative else 0, below, shape).astype(np.float32)


def points(*shape: int, into: tuple[int, ...], negative: bool = False) -> np.ndarray:
    """Seeded multi-indices of the first axes of a tensor: (…, K) for K sizes in ``into``."""
    return np.stack([picks(*shape, below=n, negative=negative, seed=5 + i) for i, n in enumerate(into)], axis=-1)


GATHER = [
    Case(
        "gather",
        "axis unset is 0, indices of rank 1",
        {},
        (RAMP, [1, 0, 1]),
        expect=([[3, 4, 5], [0, 1, 2], [3, 4, 5]],),
    ),
    Case("gather", "indices of rank 2 on axis 0, the text's shapes", {"axis": 0}, ((2, 3), picks(6, 8, below=2))),
    Case("gather", "indices of rank 2 on axis 1, the text's shapes", {"axis": 1}, ((2, 3, 5), picks(6, 8, below=3))),
    Case("gather", "negative indices", {"axis": 1}, (RAMP, [-1, -3, 2]), expect=([[2, 0, 2], [5, 3, 5]],)),
    Case("gather", "negative axis", {"axis": -1}, (RAMP, [2, 0]), expect=([[2, 0], [5, 3]],)),
    Case("gather", "negative axis -2, rank 4", {"axis": -2}, ((2, 3, 4, 5), picks(7, below=4, negative=True))),
    Case("gather", "vector", {"axis": 0}, ([4.0, 5.0, 6.0], [2, 2, 0, -1]), expect=([6, 6, 4, 6],)),
    Case("gather", "vector, indices of rank 3", {"axis": 0}, ((5,), picks(2, 1, 3, below=5))),
    Case("gather", "one index", {"axis": 1}, ((3, 4, 2), [3])),
    Case("gather", "rank 5, axis 4", {"axis": 4}, ((1, 2, 1, 3, 6), picks(4, below=6))),
    Case("gather", "rank 5, axis 0", {"axis": 0}, ((3, 2, 1, 2, 2), picks(5, below=3, negative=True))),
    Case("gather", "no indices", {"axis": 0}, ((3, 2), np.zeros((0,)))),
    Case("gather", "data with an axis of size 0 beside", {"axis": 1}, (np.zeros((0, 4)), [1, 3])),
    Case("gather", "axis beyond the rank", {"axis": 2}, (RAMP, [0]), refuses="axis"),
    Case("gather", "negative axis beyond the rank", {"axis": -3}, (RAMP, [0]), refuses="axis"),
]

GATHER_ND = [
    Case("gatherND", "whole rows", {}, (RAMP, [[1], [0], [1]]), expect=([[3, 4, 5], [0, 1, 2], [3, 4, 5]],)),
    Case("gatherND", "single values", {}, (RAMP, [[1, 2], [0, 0], [1, 0]]), expect=([5, 0, 3],)),
    Case("gatherND", "(4,2,3,4) by (6,2), the text's shapes", {}, ((4, 2, 3, 4), points(6, into=(4, 2)))),
    Case("gatherND", "(3,3,3,4,7) by (3,5), the text's shapes", {}, ((3, 3, 3, 4, 7), points(3, into=(3, 3, 3, 4, 7)))),
    Case("gatherND", "(5,3,2,5) by (2,7,3,2), the text's shapes", {}, ((5, 3, 2, 5), points(2, 7, 3, into=(5, 3)))),
    Case("gatherND", "negative indices", {}, (RAMP, [[-1, -1], [0, -2]]), expect=([5, 1],)),
    Case("gatherND", "negative indices, rank 4", {}, ((2, 3, 4, 5), points(6, into=(2, 3, 4), negative=True))),
    Case("gatherND", "vector", {}, ([7.0, 8.0, 9.0], [[2], [0]]), expect=([9, 7],)),
    Case("gatherND", "one point of indices of rank 1", {}, ((3, 4, 5), [2, 1])),
    Case("gatherND", "one value, whose shape is (1)", {}, (RAMP, [1, 1]), expect=([4],)),
    Case("gatherND", "no points", {}, ((3, 2), np.zeros((0, 1)))),
    Case("gatherND", "more index columns than axes", {}, (RAMP, [[0, 0, 0]]), refuses="indices"),
]

ALONG = [
    Case("gatherAlongAxis", "axis unset is 0", {}, (RAMP, [[1, 0, 1]]), expect=([[3, 1, 5]],)),
    Case("gatherAlongAxis", "last axis", {"axis": 1}, (RAMP, [[2, 0], [0, 1]]), expect=([[2, 0], [3, 4]],)),
    Case("gatherAlongAxis", "(4,4,7) by (4,5,7), the text's shapes", {"axis": 1}, ((4, 4, 7), picks(4, 5, 7, below=4))),
    Case("gatherAlongAxis", "negative axis and indices", {"axis": -1}, (RAMP, [[-1], [-2]]), expect=([[2], [4]],)),
    Case(
        "gatherAlongAxis",
        "negative axis -3, rank 4",
        {"axis": -3},
        ((2, 3, 4, 2), picks(2, 6, 4, 2, below=3, negative=True)),
    ),
    Case("gatherAlongAxis", "vector", {}, ([4.0, 5.0, 6.0], [2, 2, -3, 1]), expect=([6, 6, 4, 5],)),
    Case("gatherAlongAxis", "rank 5, axis 2", {"axis": 2}, ((2, 1, 3, 2, 2), picks(2, 1, 1, 2, 2, below=3))),
    Case("gatherAlongAxis", "no indices along the axis", {"axis": 1}, ((2, 3), np.zeros((2, 0)))),
    Case("gatherAlongAxis", "axis beyond the rank", {"axis": 2}, (RAMP, [[0, 0, 0]]), refuses="axis"),
    Case(
        "gatherAlongAxis", "indices of another shape beside the axis", {"axis": 0}, (RAMP, [[0, 0]]), refuses="indices"
    ),
]


def steps(*shape: int) -> np.ndarray:
    """Updates that are nowhere near 0 and of no order, so that no mode is confused with another."""
    return np.random.default_rng([11, *shape]).uniform(1.5, 4.0, shape).astype(np.float32)


def known(mode: str) -> list[float]:
    """[12, 12, 12] with 2, 3, 8 scattered to 0, 2, 0, one after the other."""
    return {
        "SCATTER_UPDATE": [8, 12, 3],
        "SCATTER_ADD": [22, 12, 15],
        "SCATTER_SUB": [2, 12, 9],
        "SCATTER_MUL": [192, 12, 36],
        "SCATTER_DIV": [0.75, 12, 4],
        "SCATTER_MAX": [12, 12, 12],
        "SCATTER_MIN": [2, 12, 3],
    }[mode]


TWELVE = [12.0, 12.0, 12.0]

SCATTER = [
    *(
        Case(
            "scatter",
            f"{mode}, repeated indices",
            {"mode": mode},
            (TWELVE, [0, 2, 0], [2, 3, 8]),
            expect=(known(mode),),
        )
        for mode in MODES
    ),
    *(
        Case(
            "scatter",
            f"{mode}, rank 3, axis 1, many repeats",
            {"axis": 1, "mode": mode},
            ((2, 4, 3), picks(9, below=4), steps(2, 9, 3)),
        )
        for mode in MODES
    ),
    *(
        Case(
            "scatter", f"{mode}, indices of rank 2", {"mode": mode}, (steps(4, 3), picks(3, 2, below=4), steps(3, 2, 3))
        )
        for mode in MODES
    ),
    Case(
        "scatter",
        "SCATTER_MAX, updates above and below",
        {"mode": "SCATTER_MAX"},
        ([1.0, 5.0, -3.0], [0, 1, 2, 2], [2, 4, -5, -1]),
        expect=([2, 5, -1],),
    ),
    Case(
        "scatter",
        "the last of equal indices stays",
        {},
        (TALL, [1, 1, 1], [[9, 9, 9], [8, 8, 8], [7, 7, 7]]),
        expect=([[0, 1, 2], [7, 7, 7], [6, 7, 8], [9, 10, 11]],),
    ),
    Case(
        "scatter",
        "negative indices mean the same places",
        {"mode": "SCATTER_ADD"},
        (TWELVE, [-1, 2, -3], [1, 2, 3]),
        expect=([15, 12, 15],),
    ),
    Case(
        "scatter",
        "(4,3), (5,2,3), (4,5,2,3), axis 1, the text's shapes",
        {"axis": 1, "mode": "SCATTER_ADD"},
        ((4, 3), picks(5, 2, 3, below=3), (4, 5, 2, 3)),
    ),
    Case(
        "scatter",
        "(4,4,3), (6), (4,6,3), axis -2, the text's shapes",
        {"axis": -2, "mode": "SCATTER_SUB"},
        ((4, 4, 3), picks(6, below=4), (4, 6, 3)),
    ),
    Case(
        "scatter",
        "(5), (5,7,5,6), axis -1, the text's shapes",
        {"axis": -1, "mode": "SCATTER_ADD"},
        ((5,), picks(5, 7, 5, 6, below=5), (5, 7, 5, 6)),
        tolerance=2e-5,
        why="two hundred float32 sums to a place",
    ),
    Case("scatter", "rank 5, axis 3", {"axis": 3}, ((1, 2, 2, 5, 2), [4, -5, 2], (1, 2, 2, 3, 2))),
    Case("scatter", "no updates", {}, (TALL, np.zeros((0,)), np.zeros((0, 3))), expect=(TALL,)),
    Case("scatter", "axis beyond the rank", {"axis": 2}, (TALL, [0], [[0, 0, 0]]), refuses="axis"),
    Case("scatter", "unknown mode", {"mode": 7}, (TWELVE, [0], [1]), refuses="mode"),
    Case("scatter", "updates of another shape", {}, (TALL, [0, 1], [[1, 2, 3]]), refuses="updates"),
]

SCATTER_ND = [
    *(
        Case(
            "scatterND",
            f"{mode}, repeated points",
            {"mode": mode},
            (TWELVE, [[0], [2], [0]], [2, 3, 8]),
            expect=(known(mode),),
        )
        for mode in MODES
    ),
    *(
        Case(
            "scatterND",
            f"{mode}, single values, many repeats",
            {"mode": mode},
            (steps(3, 2), points(9, into=(3, 2)), steps(9)),
        )
        for mode in MODES
    ),
    *(
        Case(
            "scatterND", f"{mode}, slices", {"mode": mode}, (steps(3, 2, 4), points(2, 3, into=(3,)), steps(2, 3, 2, 4))
        )
        for mode in MODES
    ),
    Case("scatterND", "(3,2), (4,2), (4), the text's shapes", {}, ((3, 2), points(4, into=(3, 2)), (4,))),
    Case(
        "scatterND",
        "(7,6), (4,7,2,5,1), the text's shapes",
        {"mode": "SCATTER_ADD"},
        ((7, 6), points(4, 7, 2, 5, into=(7,)), (4, 7, 2, 5, 6)),
        tolerance=2e-5,
        why="forty float32 sums to a place",
    ),
    Case(
        "scatterND",
        "negative points",
        {"mode": "SCATTER_SUB"},
        (RAMP, [[-1, -1], [0, -3]], [1, 2]),
        expect=([[-2, 1, 2], [3, 4, 4]],),
    ),
    Case(
        "scatterND",
        "negative and positive point of one place",
        {"mode": "SCATTER_ADD"},
        (RAMP, [[-1, -1], [1, 2]], [1, 2]),
        expect=([[0, 1, 2], [3, 4, 8]],),
    ),
    Case("scatterND", "one point of indices of rank 1", {}, (RAMP, [1], [7, 8, 9]), expect=([[0, 1, 2], [7, 8, 9]],)),
    Case("scatterND", "rank 5", {"mode": "SCATTER_MUL"}, ((2, 3, 2, 2, 2), points(4, into=(2, 3, 2)), steps(4, 2, 2))),
    Case("scatterND", "no points", {}, (RAMP, np.zeros((0, 2)), np.zeros((0,))), expect=(RAMP,)),
    Case("scatterND", "unknown mode", {"mode": -1}, (TWELVE, [[0]], [1]), refuses="mode"),
    Case("scatterND", "updates of another shape", {}, (RAMP, [[0], [1]], [[1, 2, 3]]), refuses="updates"),
    Case("scatterND", "more index columns than axes", {}, (TWELVE, [[0, 0]], [1]), refuses="indices"),
]

SCATTER_ALONG = [
    *(
        Case(
            "scatterAlongAxis",
            f"{mode}, repeated indices",
            {"mode": mode},
            (TWELVE, [0, 2, 0], [2, 3, 8]),
            expect=(known(mode),),
        )
        for mode in MODES
    ),
    *(
        Case(
            "scatterAlongAxis",
            f"{mode}, rank 3, axis 1, many repeats",
            {"axis": 1, "mode": mode},
            (steps(2, 3, 4), picks(2, 7, 4, below=3), steps(2, 7, 4)),
        )
        for mode in MODES
    ),
    Case(
        "scatterAlongAxis",
        "(2,5,6) by (2,2,6), axis -2, the text's shapes",
        {"axis": -2},
        ((2, 5, 6), picks(2, 2, 6, below=5), (2, 2, 6)),
    ),
    Case(
        "scatterAlongAxis",
        "negative indices",
        {"axis": 1},
        (RAMP, [[-1], [-3]], [[7], [8]]),
        expect=([[0, 1, 7], [8, 4, 5]],),
    ),
    Case(
        "scatterAlongAxis",
        "negative and positive index of one place",
        {"axis": -1, "mode": "SCATTER_ADD"},
        (RAMP, [[-1, 2], [0, -3]], [[1, 2], [3, 4]]),
        expect=([[0, 1, 5], [10, 4, 5]],),
    ),
    Case(
        "scatterAlongAxis",
        "axis 0",
        {},
        (TALL, [[3, 0, 1], [3, 1, 1]], [[1, 2, 3], [4, 5, 6]]),
        expect=([[0, 2, 2], [3, 5, 6], [6, 7, 8], [4, 10, 11]],),
    ),
    Case(
        "scatterAlongAxis",
        "rank 5, axis 4",
        {"axis": 4, "mode": "SCATTER_MIN"},
        ((1, 2, 2, 1, 5), picks(1, 2, 2, 1, 3, below=5), (1, 2, 2, 1, 3)),
    ),
    Case("scatterAlongAxis", "no updates", {"axis": 1}, (RAMP, np.zeros((2, 0)), np.zeros((2, 0))), expect=(RAMP,)),
    Case("scatterAlongAxis", "axis beyond the rank", {"axis": -3}, (RAMP, [[0]], [[0]]), refuses="axis"),
    Case("scatterAlongAxis", "unknown mode", {"mode": 8}, (TWELVE, [0], [1]), refuses="mode"),
    Case(
        "scatterAlongAxis",
        "indices of another shape beside the axis",
        {},
        (RAMP, [[0, 0]], [[0, 0]]),
        refuses="indices",
    ),
    Case("scatterAlongAxis", "updates of another shape", {}, (RAMP, [[0, 0, 0]], [[0, 0]]), refuses="updates"),
]

# the last size of multi-indices decides over the rank of the result
POINTS = [replace(case, known=(1,)) for case in GATHER_ND + SCATTER_ND]

CASES = GATHER + ALONG + SCATTER + SCATTER_ALONG + POINTS
