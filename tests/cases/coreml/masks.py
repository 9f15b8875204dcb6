"""Rows of the layers that choose or blank values by condition or position."""

from __future__ import annotations

import numpy as np

from cases import Case

RAMP = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
SQUARE = np.arange(1, 10, dtype=np.float32).reshape(3, 3)


def flags(*shape: int) -> np.ndarray:
    return np.random.default_rng([3, *shape]).integers(0, 2, shape).astype(np.float32)


NON_ZERO = [
    Case("whereNonZero", "vector, the text's numbers", {}, ([0.0, 1.0, 0.0, 2.0],), expect=([[1], [3]],)),
    Case(
        "whereNonZero",
        "matrix, the text's numbers",
        {},
        ([[1.0, 2.0, 1.0], [0.0, 2.0, 2.0], [2.0, 1.0, 0.0]],),
        expect=([[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 0], [2, 1]],),
    ),
    Case("whereNonZero", "one hit", {}, ([[0.0, 0.0], [0.0, 5.0]],), expect=([[1, 1]],)),
    Case("whereNonZero", "no hit", {}, (np.zeros((2, 3)),), expect=(np.zeros((0, 2)),)),
    Case("whereNonZero", "no hit in a vector", {}, (np.zeros(4),), expect=(np.zeros((0, 1)),)),
    Case("whereNonZero", "negative and tiny values count", {}, ([-1.0, 1e-6, 0.0, -0.0],), expect=([[0], [1]],)),
    Case("whereNonZero", "all hits", {}, (np.ones((2, 2)),), expect=([[0, 0], [0, 1], [1, 0], [1, 1]],)),
    Case("whereNonZero", "rank 3", {}, (flags(3, 2, 4),)),
    Case("whereNonZero", "rank 4", {}, (flags(2, 1, 3, 3),)),
    Case("whereNonZero", "rank 5", {}, (flags(2, 2, 1, 3, 2),)),
    Case("whereNonZero", "no values", {}, (np.zeros((0, 2)),), expect=(np.zeros((0, 2)),)),
    Case("whereNonZero", "two inputs", {}, ((2, 3), (2, 3)), refuses="input"),
]

WHERE = [
    Case(
        "whereBroadcastable",
        "equal shapes",
        {},
        ([[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]], [[-1.0, -2.0], [-3.0, -4.0]]),
        expect=([[1, -2], [-3, 4]],),
    ),
    Case(
        "whereBroadcastable",
        "every value but 0 holds",
        {},
        ([0.0, 2.0, -1.0], [1.0, 1.0, 1.0], [9.0, 9.0, 9.0]),
        expect=([9, 1, 1],),
    ),
    Case("whereBroadcastable", "condition of one value", {}, ([1.0], (2, 3), (2, 3))),
    Case("whereBroadcastable", "condition of one value that does not hold", {}, ([0.0], (2, 3), (2, 3))),
    Case("whereBroadcastable", "one value each for x and y", {}, (flags(3, 4), [5.0], [-5.0])),
    Case("whereBroadcastable", "condition of a higher rank", {}, (flags(2, 3, 4), (4,), (3, 1))),
    Case("whereBroadcastable", "x of a higher rank", {}, (flags(4), (2, 1, 4), (3, 1))),
    Case("whereBroadcastable", "y of a higher rank", {}, (flags(3, 1), (4,), (2, 1, 4))),
    Case("whereBroadcastable", "three ranks, axes of 1 on all sides", {}, (flags(2, 1, 3, 1), (4, 1, 2), (1,))),
    Case("whereBroadcastable", "rank 5", {}, (flags(1, 2, 1, 3, 1), (2, 1, 2, 1, 2), (3, 2))),
    Case("whereBroadcastable", "no values", {}, (np.zeros((0, 2)), (1, 2), (2,))),
    Case("whereBroadcastable", "shapes that do not broadcast", {}, (flags(2), (3,), (1,)), refuses="broadcast"),
]

BAND = [
    Case("matrixBandPart", "unset keeps the diagonal", {}, (SQUARE,), expect=([[1, 0, 0], [0, 5, 0], [0, 0, 9]],)),
    Case(
        "matrixBandPart",
        "one below, none above",
        {"numLower": 1},
        (SQUARE,),
        expect=([[1, 0, 0], [4, 5, 0], [0, 8, 9]],),
    ),
    Case(
        "matrixBandPart",
        "none below, one above",
        {"numUpper": 1},
        (SQUARE,),
        expect=([[1, 2, 0], [0, 5, 6], [0, 0, 9]],),
    ),
    Case("matrixBandPart", "all below", {"numLower": -1}, (SQUARE,), expect=([[1, 0, 0], [4, 5, 0], [7, 8, 9]],)),
    Case("matrixBandPart", "all above", {"numUpper": -1}, (SQUARE,), expect=([[1, 2, 3], [0, 5, 6], [0, 0, 9]],)),
    Case("matrixBandPart", "all", {"numLower": -1, "numUpper": -7}, (SQUARE,), expect=(SQUARE,)),
    Case("matrixBandPart", "more than there are", {"numLower": 5, "numUpper": 9}, (SQUARE,), expect=(SQUARE,)),
    Case(
        "matrixBandPart",
        "wide",
        {"numLower": 1, "numUpper": 2},
        (RAMP,),
        expect=([[1, 2, 3, 0], [5, 6, 7, 8], [0, 10, 11, 12]],),
    ),
    Case("matrixBandPart", "tall", {"numLower": 1}, ((5, 2),)),
    Case("matrixBandPart", "rank 3", {"numLower": 2, "numUpper": 1}, ((2, 5, 4),)),
    Case("matrixBandPart", "rank 5", {"numUpper": 1}, ((2, 1, 2, 3, 5),)),
    Case("matrixBandPart", "no rows", {"numUpper": 1}, (np.zeros((0, 3)),)),
    Case("matrixBandPart", "vector", {"numLower": 1}, ((4,),), refuses="rank"),
]

LOWER = [
    Case("lowerTriangular", "k unset is 0", {}, (SQUARE,), expect=([[1, 0, 0], [4, 5, 0], [7, 8, 9]],)),
    Case("lowerTriangular", "k 1", {"k": 1}, (SQUARE,), expect=([[1, 2, 0], [4, 5, 6], [7, 8, 9]],)),
    Case("lowerTriangular", "k -1", {"k": -1}, (SQUARE,), expect=([[0, 0, 0], [4, 0, 0], [7, 8, 0]],)),
    Case("lowerTriangular", "wide, k 2", {"k": 2}, (RAMP,), expect=([[1, 2, 3, 0], [5, 6, 7, 8], [9, 10, 11, 12]],)),
    Case("lowerTriangular", "tall, k -2", {"k": -2}, ((5, 3),)),
    Case("lowerTriangular", "k beyond the matrix", {"k": 9}, (SQUARE,), expect=(SQUARE,)),
    Case("lowerTriangular", "k far below the matrix", {"k": -9}, (SQUARE,), expect=(np.zeros((3, 3)),)),
    Case("lowerTriangular", "rank 3", {"k": -1}, ((2, 4, 3),)),
    Case("lowerTriangular", "rank 5", {}, ((1, 2, 2, 3, 4),)),
    Case("lowerTriangular", "no columns", {}, (np.zeros((3, 0)),)),
    Case("lowerTriangular", "vector", {}, ((4,),), refuses="rank"),
]

UPPER = [
    Case("upperTriangular", "k unset is 0", {}, (SQUARE,), expect=([[1, 2, 3], [0, 5, 6], [0, 0, 9]],)),
    Case("upperTriangular", "k 1", {"k": 1}, (SQUARE,), expect=([[0, 2, 3], [0, 0, 6], [0, 0, 0]],)),
    Case("upperTriangular", "k -1", {"k": -1}, (SQUARE,), expect=([[1, 2, 3], [4, 5, 6], [0, 8, 9]],)),
    Case("upperTriangular", "wide, k 2", {"k": 2}, (RAMP,), expect=([[0, 0, 3, 4], [0, 0, 0, 8], [0, 0, 0, 0]],)),
    Case("upperTriangular", "tall, k -2", {"k": -2}, ((5, 3),)),
    Case("upperTriangular", "k far above the matrix", {"k": 9}, (SQUARE,), expect=(np.zeros((3, 3)),)),
    Case("upperTriangular", "k below the matrix", {"k": -9}, (SQUARE,), expect=(SQUARE,)),
    Case("upperTriangular", "rank 4", {"k": 1}, ((2, 1, 4, 3),)),
    Case("upperTriangular", "rank 5", {}, ((1, 2, 2, 3, 4),)),
    Case("upperTriangular", "no rows", {}, (np.zeros((0, 3)),)),
    Case("upperTriangular", "vector", {}, ((4,),), refuses="rank"),
]

CASES = NON_ZERO + WHERE + BAND + LOWER + UPPER
