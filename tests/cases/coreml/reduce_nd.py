"""Rows of the ten reductions over any axes."""

from __future__ import annotations

import numpy as np

from cases import Case

KINDS = (
    *(f"reduce{name}" for name in ("L1", "L2", "Max", "Min", "Sum", "Prod", "Mean", "LogSum", "SumSquare")),
    "reduceLogSumExp",
)

BASE = [[1.0, -2.0, 4.0], [3.0, 5.0, -6.0]]

# the reductions of BASE along axis 1
KNOWN = {
    "reduceL1": [7, 14],
    "reduceL2": [4.58257569, 8.36660027],
    "reduceMax": [4, 5],
    "reduceMin": [-2, -6],
    "reduceSum": [3, 2],
    "reduceProd": [-8, -90],
    "reduceMean": [1, 2 / 3],
    "reduceLogSum": [1.09861229, 0.69314718],
    "reduceSumSquare": [21, 70],
    "reduceLogSumExp": [4.05094576, 5.12694272],
}

# what each gives for no values at all, where that is a number
OF_NONE = {"reduceL1": 0.0, "reduceL2": 0.0, "reduceSum": 0.0, "reduceSumSquare": 0.0, "reduceProd": 1.0}


def values(kind: str, *shape: int) -> np.ndarray:
    """Seeded numbers of both signs; positive where a logarithm is taken of their sum."""
    numbers = np.random.default_rng([1, *shape]).uniform(0.5, 2.0, shape)
    signs = np.random.default_rng([2, *shape]).choice([-1.0, 1.0], shape)
    return (numbers if kind == "reduceLogSum" else numbers * signs).astype(np.float32)


def rows(kind: str) -> list[Case]:
    known = KNOWN[kind]
    found = [
        Case(kind, "last axis, the axis goes", {"axes": [1]}, (BASE,), expect=(known,)),
        Case(
            kind,
            "last axis, the axis stays",
            {"axes": [1], "keepDims": True},
            (BASE,),
            expect=(np.reshape(known, (2, 1)),),
        ),
        Case(kind, "negative axis", {"axes": [-1]}, (BASE,), expect=(known,)),
        Case(kind, "vector to one number", {"axes": [0]}, (BASE[0],), expect=(known[:1],)),
        Case(
            kind,
            "vector to one number, the axis stays",
            {"axes": [-1], "keepDims": True},
            (BASE[0],),
            expect=(known[:1],),
        ),
        Case(kind, "reduceAll has shape (1)", {"reduceAll": True}, (values(kind, 3, 4),)),
        Case(kind, "reduceAll, the axes stay", {"reduceAll": True, "keepDims": True}, (values(kind, 2, 3, 4),)),
        Case(kind, "reduceAll does not look at the axes", {"axes": [7], "reduceAll": True}, (values(kind, 2, 3),)),
        Case(kind, "all axes by number has shape (1)", {"axes": [0, -1]}, (values(kind, 3, 2),)),
        Case(kind, "rank 3, the outer axes", {"axes": [0, 2]}, (values(kind, 3, 4, 2),)),
        Case(kind, "rank 3, axes out of order", {"axes": [2, 0], "keepDims": True}, (values(kind, 2, 4, 3),)),
        Case(kind, "rank 4, axes -3 and -1", {"axes": [-3, -1]}, (values(kind, 2, 3, 2, 3),)),
        Case(
            kind, "rank 4, axes 2 and 3, the axes stay", {"axes": [2, 3], "keepDims": True}, (values(kind, 2, 3, 3, 2),)
        ),
        Case(kind, "rank 5, axis 2", {"axes": [2]}, (values(kind, 2, 1, 4, 1, 3),)),
        Case(kind, "rank 5, four axes", {"axes": [0, 1, 3, 4]}, (values(kind, 2, 1, 3, 2, 2),)),
        Case(kind, "axis of size 1", {"axes": [1]}, (values(kind, 3, 1),)),
        Case(kind, "batch of none", {"axes": [1]}, (np.zeros((0, 3)),), expect=(np.zeros(0),)),
        Case(kind, "axis beyond the rank", {"axes": [0, 2]}, (BASE,), refuses="axes"),
        Case(kind, "negative axis beyond the rank", {"axes": [-3]}, (BASE,), refuses="axes"),
        Case(kind, "one axis twice", {"axes": [1, -1]}, (BASE,), refuses="axes"),
        Case(kind, "no axis and no reduceAll", {}, (BASE,), refuses="axes"),
    ]
    if kind in OF_NONE:
        found.append(Case(kind, "no values", {"axes": [1]}, (np.zeros((2, 0)),), expect=([OF_NONE[kind]] * 2,)))
    return found


MORE = [
    # e^1000 is no float64
    Case(
        "reduceLogSumExp", "large values do not overflow", {"axes": [0]}, ([1000.0, 1000.0],), expect=([1000.69314718],)
    ),
    Case(
        "reduceLogSumExp",
        "small values do not vanish",
        {"axes": [0]},
        ([-2000.0, -2000.0],),
        expect=([-1999.30685282],),
    ),
    Case("reduceLogSumExp", "32 values of 7.6", {"axes": [1]}, (np.full((1, 32), 7.6),), expect=([11.06573590],)),
    Case("reduceMax", "all negative", {"axes": [1]}, ([[-3.0, -1.0, -2.0]],), expect=([-1],)),
    Case("reduceProd", "a zero", {"axes": [0]}, ([3.0, 0.0, -5.0],), expect=([0],)),
    Case("reduceL1", "zeros", {"axes": [0]}, (np.zeros(4),), expect=([0],)),
    Case("reduceL2", "zeros", {"axes": [0]}, (np.zeros(4),), expect=([0],)),
]

CASES = [case for kind in KINDS for case in rows(kind)] + MORE
