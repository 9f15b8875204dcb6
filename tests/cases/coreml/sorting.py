"""Rows of the layers that order values."""

from __future__ import annotations

import numpy as np

from cases import Case

FIVE = [3.1, 5.4, 32.9, 3.2, 77.0]
TIES = [2.0, 7.0, 2.0, 7.0, 1.0, 7.0]
MANY_TIES = np.arange(2000.0).reshape(2, 1000) % 3  # longer than what sorts keep in order by chance


def distinct(*shape: int) -> np.ndarray:
    """Seeded values of which no two are close."""
    return np.random.default_rng([2, *shape]).permutation(np.prod(shape)).reshape(shape).astype(np.float32) / 4 - 3


TOP = [
    Case("topK", "axis unset is 0", {"K": 2}, (FIVE,), 2, expect=([77, 32.9], [4, 2])),
    Case("topK", "bottom K", {"K": 3, "useBottomK": True}, (FIVE,), 2, expect=([3.1, 3.2, 5.4], [0, 3, 1])),
    Case("topK", "K unset is 0", {}, (FIVE,), 2),
    Case("topK", "all of them", {"K": 5}, (FIVE,), 2, expect=([77, 32.9, 5.4, 3.2, 3.1], [4, 2, 1, 3, 0])),
    Case("topK", "equal values: the lower index first", {"K": 4}, (TIES,), 2, expect=([7, 7, 7, 2], [1, 3, 5, 0])),
    Case(
        "topK", "equal values, bottom K", {"K": 4, "useBottomK": True}, (TIES,), 2, expect=([1, 2, 2, 7], [4, 0, 2, 1])
    ),
    Case("topK", "many equal values", {"axis": 1, "K": 400}, (MANY_TIES,), 2),
    Case("topK", "many equal values, bottom K", {"axis": 1, "K": 400, "useBottomK": True}, (MANY_TIES,), 2),
    Case("topK", "matrix, axis 0", {"axis": 0, "K": 2}, (distinct(5, 4),), 2),
    Case("topK", "matrix, axis -1", {"axis": -1, "K": 1}, (distinct(5, 4),), 2),
    Case("topK", "rank 3, axis -2, bottom K", {"axis": -2, "K": 3, "useBottomK": True}, (distinct(2, 5, 3),), 2),
    Case("topK", "rank 4, axis 1, as the text", {"axis": 1, "K": 3}, (distinct(2, 7, 3, 2),), 2),
    Case("topK", "rank 5, axis 3", {"axis": 3, "K": 2}, (distinct(2, 1, 2, 5, 2),), 2),
    Case(
        "topK", "K from the second input, K of the layer ignored", {"K": 1}, (FIVE, [2]), 2, expect=([77, 32.9], [4, 2])
    ),
    Case(
        "topK",
        "K from the second input, more than the axis in the layer",
        {"axis": 1, "K": 9},
        (distinct(3, 6), [4]),
        2,
    ),
    Case(
        "topK",
        "K from the second input, bottom K, axis -1",
        {"axis": -1, "useBottomK": True},
        (distinct(2, 3, 5), [5]),
        2,
    ),
    Case("topK", "batch of no rows", {"axis": 1, "K": 2}, (np.zeros((0, 3)),), 2),
    Case("topK", "axis beyond the rank", {"axis": 1, "K": 1}, (FIVE,), 2, refuses="axis"),
    Case("topK", "K above the size of the axis", {"axis": 0, "K": 6}, (FIVE,), 2, refuses="K"),
    Case("topK", "K of the second input above the size of the axis", {"axis": 0}, (FIVE, [6]), 2, refuses="K"),
]


def extremes(kind: str, vector: int, ties: int, rows: list[list[int]]) -> list[Case]:
    return [
        Case(kind, "vector keeps its axis", {}, (FIVE,), expect=([vector],)),
        Case(kind, "vector keeps its axis with removeDim", {"removeDim": True}, (FIVE,), expect=([vector],)),
        Case(kind, "equal values: the lower index", {}, (TIES,), expect=([ties],)),
        Case(kind, "matrix, last axis", {"axis": -1}, ([[3, 5, 32], [3, 77, 6]],), expect=(rows,)),
        Case(
            kind,
            "matrix, removeDim",
            {"axis": 1, "removeDim": True},
            ([[3, 5, 32], [3, 77, 6]],),
            expect=(np.ravel(rows),),
        ),
        Case(kind, "matrix, axis unset is 0", {}, (distinct(4, 3),)),
        Case(kind, "rank 4, axis -2, as the text", {"axis": -2}, (distinct(3, 2, 5, 4),)),
        Case(kind, "rank 4, axis -2, removeDim, as the text", {"axis": -2, "removeDim": True}, (distinct(3, 2, 5, 4),)),
        Case(kind, "rank 3, axis 1, removeDim", {"axis": 1, "removeDim": True}, (distinct(2, 5, 3),)),
        Case(kind, "rank 5, axis 0", {"axis": 0}, (distinct(3, 1, 2, 2, 3),)),
        Case(kind, "rank 5, axis 4, removeDim", {"axis": 4, "removeDim": True}, (distinct(2, 1, 2, 2, 3),)),
        Case(kind, "axis of size 1", {"axis": 1, "removeDim": True}, (distinct(3, 1, 2),)),
        Case(kind, "batch of no rows", {"axis": 1}, (np.zeros((0, 3)),)),
        Case(kind, "axis beyond the rank", {"axis": 3}, (distinct(2, 2, 2),), refuses="axis"),
        Case(kind, "negative axis beyond the rank", {"axis": -2}, (FIVE,), refuses="axis"),
    ]


SORT = [
    Case("argSort", "vector, the text's numbers", {}, (FIVE,), expect=([0, 3, 1, 2, 4],)),
    Case("argSort", "vector, descending, the text's numbers", {"descending": True}, (FIVE,), expect=([4, 2, 1, 3, 0],)),
    Case(
        "argSort",
        "matrix, the text's numbers",
        {"axis": 1},
        ([[3, 5, 32], [3, 77, 6]],),
        expect=([[0, 1, 2], [0, 2, 1]],),
    ),
    Case(
        "argSort",
        "matrix, descending, the text's numbers",
        {"axis": 1, "descending": True},
        ([[3, 5, 32], [3, 77, 6]],),
        expect=([[2, 1, 0], [1, 2, 0]],),
    ),
    Case("argSort", "equal values keep their order", {}, (TIES,), expect=([4, 0, 2, 1, 3, 5],)),
    Case(
        "argSort",
        "equal values keep their order, descending",
        {"descending": True},
        (TIES,),
        expect=([1, 3, 5, 0, 2, 4],),
    ),
    Case("argSort", "many equal values", {"axis": 1}, (MANY_TIES,)),
    Case("argSort", "many equal values, descending", {"axis": 1, "descending": True}, (MANY_TIES,)),
    Case("argSort", "matrix, axis 0", {"axis": 0}, (distinct(6, 3),)),
    Case("argSort", "rank 3, axis 1, descending", {"axis": 1, "descending": True}, (distinct(2, 7, 3),)),
    Case("argSort", "rank 4, axis 3", {"axis": 3}, (distinct(2, 2, 2, 5),)),
    Case("argSort", "rank 5, axis 2", {"axis": 2}, (distinct(2, 1, 5, 2, 2),)),
    Case("argSort", "one value", {}, ([3.0],), expect=([0],)),
    Case("argSort", "batch of no rows", {"axis": 1}, (np.zeros((0, 3)),)),
    Case("argSort", "negative axis", {"axis": -1}, (FIVE,), refuses="axis"),
    Case("argSort", "axis beyond the rank", {"axis": 1}, (FIVE,), refuses="axis"),
]

CASES = TOP + extremes("argMax", 4, 1, [[2], [1]]) + extremes("argMin", 0, 4, [[0], [0]]) + SORT
