"""Rows of the elementwise functions of two tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cases import Case

_COMPARISONS: tuple[tuple[str, list[int]], ...] = (
    # for x = 1, 2, 3 against 2
    ("equal", [0, 1, 0]),
    ("notEqual", [1, 0, 1]),
    ("lessThan", [1, 0, 0]),
    ("lessEqual", [1, 1, 0]),
    ("greaterThan", [0, 0, 1]),
    ("greaterEqual", [0, 1, 1]),
)

_LOGIC: tuple[tuple[str, list[int]], ...] = (
    # for the inputs 0 0 x x and 0 y 0 y
    ("logicalOr", [0, 1, 1, 1]),
    ("logicalXor", [0, 1, 1, 0]),
    ("logicalAnd", [0, 0, 0, 1]),
)

# for x = 7, -7, 7, -7, 0.75 and y = 2, 2, -2, -2, 0.5
_X, _Y = [7, -7, 7, -7, 0.75], [2, 2, -2, -2, 0.5]
_ARITHMETIC: tuple[tuple[str, list[float]], ...] = (
    ("addBroadcastable", [9, -5, 5, -9, 1.25]),
    ("subtractBroadcastable", [5, -9, 9, -5, 0.25]),
    ("multiplyBroadcastable", [14, -14, -14, 14, 0.375]),
    ("divideBroadcastable", [3.5, -3.5, -3.5, 3.5, 1.5]),
    ("floorDivBroadcastable", [3, -4, -4, 3, 1]),
    ("modBroadcastable", [1, 1, -1, -1, 0.25]),
    ("powBroadcastable", [49, 49, 1 / 49, 1 / 49, np.sqrt(0.75)]),
    ("minBroadcastable", [2, -7, -2, -7, 0.5]),
    ("maxBroadcastable", [7, 2, 7, -2, 0.75]),
)

_SHAPES: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = (
    ("rank 1", (7,), (7,)),
    ("rank 2", (3, 5), (3, 5)),
    ("rank 5", (2, 1, 3, 2, 2), (2, 1, 3, 2, 2)),
    ("one value on the right", (2, 3, 4), (1,)),
    ("one value on the left", (1,), (2, 3, 4)),
    ("rank 0 on the right", (2, 3), ()),
    ("rank 0 on the left", (), (3,)),
    ("rank 0 on both sides", (), ()),
    ("last axis", (2, 3, 4), (4,)),
    ("middle axis", (2, 3, 4), (3, 1)),
    ("both sides grow", (3, 1), (1, 4)),
    ("ranks 3 and 2, both grow", (2, 1, 3), (5, 1)),
    ("ranks 2 and 5", (3, 1), (2, 1, 2, 3, 2)),
    ("ranks 6 and 1", (1, 2, 1, 2, 1, 3), (3,)),
    ("no elements", (0, 3), (1, 3)),
)


def _whole(shape: tuple[int, ...], seed: int) -> NDArray[np.float32]:
    """Small whole numbers, so that equal pairs occur."""
    return np.random.default_rng([seed, *shape]).integers(-1, 2, shape).astype(np.float32)


def _apart(shape: tuple[int, ...], seed: int) -> NDArray[np.float32]:
    """Odd multiples of a quarter (left) and of a half (right): no quotient is whole."""
    numbers = np.random.default_rng([seed, *shape]).integers(-5, 5, shape)
    return (numbers / 2 + 0.25 if seed == 0 else numbers + 0.5).astype(np.float32)


def _inputs(kind: str, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[Any, ...]:
    if kind.startswith(("floorDiv", "mod")):
        return _apart(left, 0), _apart(right, 1)
    if kind.startswith("divide"):
        return left, _apart(right, 1)
    if kind.startswith("pow"):
        return np.abs(_apart(left, 0)), _apart(right, 1)
    if kind.startswith(("min", "max", "add", "subtract", "multiply")):
        return left, right
    return _whole(left, 0), _whole(right, 1)


def _common(kind: str) -> list[Case]:
    return [
        *(Case(kind, note, {}, _inputs(kind, left, right)) for note, left, right in _SHAPES),
        Case(kind, "shapes that do not broadcast", {}, ((2, 3), (4,)), refuses="broadcast"),
        Case(kind, "three inputs", {}, ((3,), (3,), (3,)), refuses="input"),
    ]


def _comparison(kind: str, known: list[int]) -> list[Case]:
    tenth = np.float32(0.1)
    near = [np.nextafter(tenth, np.float32(0)), tenth, np.nextafter(tenth, np.float32(1))]
    return [
        Case(kind, "known answers", {}, ([1, 2, 3], [2]), expect=(known,)),
        Case(kind, "one input, against alpha", {"alpha": 2}, ([1, 2, 3],), expect=(known,)),
        Case(kind, "one input, alpha 0 by default", {}, ([-1, 0, 1],), expect=(known,)),
        Case(kind, "one input, negative alpha, rank 3", {"alpha": -1}, (_whole((2, 3, 2), 2),)),
        Case(kind, "one input, rank 0", {"alpha": 2}, (np.float32(2),), expect=(known[1],)),
        Case(kind, "alpha is a float32", {"alpha": 0.1}, (np.array(near),), expect=(known,)),
        Case(kind, "two inputs, alpha ignored", {"alpha": 100}, ([1, 2, 3], [2, 2, 2]), expect=(known,)),
        *_common(kind),
    ]


CASES: list[Case] = [
    *(row for kind, known in _COMPARISONS for row in _comparison(kind, known)),
    *(
        row
        for kind, known in _LOGIC
        for row in (
            Case(kind, "known answers", {}, ([0, 0, -2, 0.5], [0, 3, 0, -1]), expect=(known,)),
            Case(kind, "only 0 is false", {}, ([0, -0.0, 1e-8, 1e-8], [0, 1e-8, 0, -1e-8]), expect=(known,)),
            *_common(kind),
            Case(kind, "one input", {}, ((3,),), refuses="input"),
        )
    ),
    *(
        row
        for kind, known in _ARITHMETIC
        for row in (
            Case(kind, "known answers", {}, (_X, _Y), expect=(known,)),
            *_common(kind),
            Case(kind, "one input", {}, ((3,),), refuses="input"),
        )
    ),
    Case("divideBroadcastable", "by 0", {}, ([1, -1, 0], [0, 0, 0]), expect=([np.inf, -np.inf, np.nan],)),
    Case(
        "powBroadcastable",
        "negative base, whole exponents",
        {},
        ([-2, -2, -2, -2], [0, 2, 3, -1]),
        expect=([1, 4, -8, -0.5],),
    ),
    Case("powBroadcastable", "negative base, broken exponent", {}, ([-2], [0.5]), expect=([np.nan],)),
    Case("powBroadcastable", "base 0", {}, ([0, 0, 0], [0, 2, -1]), expect=([1, 0, np.inf],)),
    Case(
        "modBroadcastable",
        "a divisor that is no whole number",
        {},
        ([5.5, -5.5, 1], [2, 2, 0.75]),
        expect=([1.5, 0.5, 0.25],),
    ),
    Case("modBroadcastable", "whole multiples", {}, ([6, -6, 6, 0], [3, 3, -3, 3]), expect=([0, 0, 0, 0],)),
    Case("floorDivBroadcastable", "whole multiples", {}, ([6, -6, 6, 0], [3, 3, -3, 3]), expect=([2, -2, -2, 0],)),
    Case("floorDivBroadcastable", "large numbers", {}, ([1e9, -1e9], [7, 7]), expect=([142857142, -142857143],)),
]
