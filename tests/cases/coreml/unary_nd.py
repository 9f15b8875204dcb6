"""Rows of the elementwise functions of one tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cases import Case

_ROOT = np.sqrt(0.5)
_E = np.e

# kind, the range its rows draw from, known answers (x, y)
_KINDS: tuple[tuple[str, tuple[float, float], tuple[list[float], list[float]]], ...] = (
    ("ceil", (-3, 3), ([-1.5, -0.25, 0, 0.25, 2], [-1, 0, 0, 1, 2])),
    ("floor", (-3, 3), ([-1.5, -0.25, 0, 0.25, 2], [-2, -1, 0, 0, 2])),
    ("sign", (-3, 3), ([-2.5, -1e-30, 0, 1e-30, 7], [-1, -1, 0, 1, 1])),
    ("round", (-3, 3), ([-1.6, -0.4, 0, 0.4, 1.6], [-2, 0, 0, 0, 2])),
    ("exp2", (-3, 3), ([-2, -1, 0, 0.5, 10], [0.25, 0.5, 1, np.sqrt(2), 1024])),
    ("sin", (-4, 4), ([0, np.pi / 6, np.pi / 2, -np.pi / 4], [0, 0.5, 1, -_ROOT])),
    ("cos", (-4, 4), ([0, np.pi / 3, np.pi, -np.pi / 4], [1, 0.5, -1, _ROOT])),
    ("tan", (-1.2, 1.2), ([0, np.pi / 4, -np.pi / 3, np.pi], [0, 1, -np.sqrt(3), 0])),
    ("asin", (-0.9, 0.9), ([0, 0.5, 1, -1], [0, np.pi / 6, np.pi / 2, -np.pi / 2])),
    ("acos", (-0.9, 0.9), ([0, 0.5, 1, -1], [np.pi / 2, np.pi / 3, 0, np.pi])),
    ("atan", (-3, 3), ([0, 1, -1, 1e9], [0, np.pi / 4, -np.pi / 4, np.pi / 2])),
    ("sinh", (-3, 3), ([0, np.log(2), -np.log(2)], [0, 0.75, -0.75])),
    ("cosh", (-3, 3), ([0, np.log(2), -np.log(2)], [1, 1.25, 1.25])),
    ("tanh", (-3, 3), ([0, np.log(3) / 2, -20, 20], [0, 0.5, -1, 1])),
    ("asinh", (-3, 3), ([0, 0.75, -0.75], [0, np.log(2), -np.log(2)])),
    ("acosh", (1.1, 4), ([1, 1.25, (_E + 1 / _E) / 2], [0, np.log(2), 1])),
    ("atanh", (-0.9, 0.9), ([0, 0.5, -0.5], [0, np.log(3) / 2, -np.log(3) / 2])),
    ("erf", (-3, 3), ([0, 0.5, 1, -1, 9], [0, 0.5204998778, 0.8427007929, -0.8427007929, 1])),
    ("gelu", (-4, 4), ([0, 1, -1, 9], [0, 0.8413447461, -0.1586552539, 9])),
    ("clip", (-3, 3), ([-1, -0.5, 0, 0.25, 1], [-0.5, -0.5, 0, 0.25, 0.75])),
    ("clampedReLU", (-3, 3), ([-8, -1, 0, 1, 3], [-2, -0.25, 0, 1, 1.5])),
    ("logicalNot", (-3, 3), ([0, -0.0, 1, -1, 1e-8], [1, 1, 0, 0, 0])),
    ("copy", (-3, 3), ([1, -2, 3.5], [1, -2, 3.5])),
)

_PARAMS: dict[str, dict[str, Any]] = {
    "clip": {"minVal": -0.5, "maxVal": 0.75},
    "clampedReLU": {"alpha": 0.25, "beta": 1.5},
}

_SHAPES: tuple[tuple[int, ...], ...] = ((7,), (3, 5), (2, 3, 5), (2, 1, 3, 5), (2, 3, 1, 2, 3), (1, 2, 1, 3, 1, 2))


def _spread(shape: tuple[int, ...], low: float, high: float) -> NDArray[np.float32]:
    """Numbers over the whole range, in an order of no meaning."""
    size = int(np.prod(shape))
    values = np.linspace(low, high, size) if size > 1 else np.full(size, low + (high - low) * 0.7)
    return np.random.default_rng(size).permutation(values).reshape(shape).astype(np.float32)


def _rows(kind: str, interval: tuple[float, float], known: tuple[list[float], list[float]]) -> list[Case]:
    params = _PARAMS.get(kind, {})
    rows = [Case(kind, f"rank {len(shape)}", params, (_spread(shape, *interval),)) for shape in _SHAPES]
    return [
        Case(kind, "known answers", params, (known[0],), expect=(known[1],)),
        *rows,
        Case(kind, "rank 0", params, (_spread((), *interval),)),
        Case(kind, "no elements", params, ((2, 0, 3),)),
        Case(kind, "two inputs", params, ((2, 3), (2, 3)), refuses="input"),
    ]


_MODES = (
    ("EXACT", [0.8413447461, -0.1586552539, 2.9959502900]),
    ("TANH_APPROXIMATION", [0.8411919906, -0.1588080094, 2.9963625991]),
    ("SIGMOID_APPROXIMATION", [0.8457957659, -0.1542042341, 2.9819289103]),
)

CASES: list[Case] = [
    *(row for kind, interval, known in _KINDS for row in _rows(kind, interval, known)),
    Case(
        "round",
        "halves go to the even neighbour",
        {},
        ([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5],),
        expect=([-2, -2, 0, 0, 2, 2],),
    ),
    Case("asin", "outside the domain", {}, ([-1.5, 1.5],), expect=([np.nan, np.nan],)),
    Case("acosh", "outside the domain", {}, ([0.5, -3],), expect=([np.nan, np.nan],)),
    Case("atanh", "the ends of the domain", {}, ([1, -1],), expect=([np.inf, -np.inf],)),
    Case("exp2", "far from 0", {}, ([100, -100],), expect=([2.0**100, 0],)),
    *(Case("gelu", mode, {"mode": mode}, ([1, -1, 3],), expect=(known,)) for mode, known in _MODES),
    *(Case("gelu", f"{mode}, wide", {"mode": mode}, (_spread((4, 25), -8, 8),)) for mode, _ in _MODES),
    Case("gelu", "mode that does not exist", {"mode": 3}, ((2, 3),), refuses="mode"),
    Case("clip", "bounds of 0, the defaults", {}, ((2, 3),), expect=(np.zeros((2, 3)),)),
    Case("clip", "minVal equals maxVal", {"minVal": 0.5, "maxVal": 0.5}, ((3,),), expect=([0.5, 0.5, 0.5],)),
    Case("clip", "both bounds negative", {"minVal": -2, "maxVal": -1}, ([-3, -1.5, 4],), expect=([-2, -1.5, -1],)),
    Case("clip", "minVal above maxVal", {"minVal": 1, "maxVal": -1}, ((3,),), refuses="minVal"),
    Case("clampedReLU", "alpha 0", {"beta": 6}, ([-3, 3, 9],), expect=([0, 3, 6],)),
    Case("clampedReLU", "negative alpha", {"alpha": -1, "beta": 2}, ([-3, -1, 1],), expect=([2, 1, 1],)),
    Case("clampedReLU", "negative beta", {"alpha": 1, "beta": -1}, ([-3, 0, 3],), expect=([-3, -1, -1],)),
]
