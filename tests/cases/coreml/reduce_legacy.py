"""Rows of the reduce layer of the first format version."""
# ruff: noqa: E501 - one row a line

from __future__ import annotations

from functools import partial

import numpy as np

from cases import Case, normal

row = partial(Case, "reduce")

MODES = ("SUM", "AVG", "PROD", "LOGSUM", "SUMSQUARE", "L1", "L2", "MAX", "MIN", "ARGMAX")
AXES = ("CHW", "HW", "C", "H", "W")
# the logarithm of negative numbers is none; the product stays of one size
SPREAD = np.abs(normal(2, 3, 2, 4)) + 0.25
FIVE = np.array([1.0, -2.0, 3.0, -4.0, 0.5])
KNOWN = {
    "SUM": -1.5,
    "AVG": -0.3,
    "PROD": 12.0,
    "SUMSQUARE": 30.25,
    "L1": 10.5,
    "L2": 5.5,
    "MAX": 3.0,
    "MIN": -4.0,
    "ARGMAX": 2.0,
}
SHAPES = {"rank 3": (2, 3, 2), "rank 5": (2, 1, 2, 3, 2), "rank 6": (1, 2, 1, 2, 3, 2)}

CASES = [
    row(f"{mode} along {axis}", {"mode": mode, "axis": axis}, (SPREAD,)) for mode in MODES for axis in AXES if mode != "ARGMAX" or len(axis) == 1
] + [
    row(f"{mode} along {axis}, negative values", {"mode": mode, "axis": axis}, ((2, 3, 2, 4),))
    for mode in ("SUM", "AVG", "PROD", "SUMSQUARE", "L1", "L2", "MAX", "MIN")
    for axis in ("CHW", "C")
] + [
    row(f"{mode}, known answer", {"mode": mode, "axis": "W"}, (FIVE,), expect=([answer],)) for mode, answer in KNOWN.items()
] + [
    row(f"SUM along {axis}, {note}", {"axis": axis}, (shape,)) for axis in AXES for note, shape in SHAPES.items()
] + [
    row(f"{mode}, legacy, sequence and batch", {"mode": mode, "axis": axis}, ((2, 3, 2, 3, 2) if mode != "LOGSUM" else np.stack([SPREAD, SPREAD + 1]),), rank5=True)
    for mode, axis in zip(MODES, ("CHW", "HW", "C", "H", "W", "CHW", "HW", "C", "H", "W"), strict=True)
] + [
    row("nothing set: the sum along CHW, legacy", {}, ((1, 2, 2, 3, 2),), rank5=True),
    row("LOGSUM, epsilon 0 is 1e-6", {"mode": "LOGSUM", "axis": "W"}, ([0.0, 1.0],), expect=([np.log(1e-6)],)),
    row("LOGSUM, epsilon", {"mode": "LOGSUM", "axis": "W", "epsilon": 0.5}, ([0.5, 1.5, 0.0],), expect=([np.log(2) - np.log(2)],)),
    row("ARGMAX, the first of equals", {"mode": "ARGMAX", "axis": "W"}, ([[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]],), expect=([[1], [0]],)),
    row("ARGMAX along C, rank 3", {"mode": "ARGMAX", "axis": "C"}, ((4, 2, 2),)),
    row("PROD with a zero", {"mode": "PROD", "axis": "W"}, ([2.0, 0.0, 3.0],), expect=([0.0],)),
    row("L2 of zeros", {"mode": "L2", "axis": "HW"}, (np.zeros((2, 2)),), expect=([0.0],)),
    row("HW, rank 2", {"axis": "HW"}, ((3, 4),)),
    row("W, rank 1", {"mode": "AVG", "axis": "W"}, ((4,),)),
    row("H, rank 2", {"mode": "MAX", "axis": "H"}, ((3, 4),)),
    row("axes of one", {"mode": "AVG", "axis": "HW"}, ((3, 1, 1),)),
    row("ARGMAX along CHW", {"mode": "ARGMAX"}, ((2, 3, 4),), refuses="axis"),
    row("ARGMAX along HW", {"mode": "ARGMAX", "axis": "HW"}, ((2, 3, 4),), refuses="axis"),
    row("unknown mode", {"mode": 10}, ((2, 3, 4),), refuses="mode"),
    row("unknown axis", {"axis": 5}, ((2, 3, 4),), refuses="axis"),
    row("CHW, rank 2", {}, ((3, 4),), refuses="rank"),
    row("H, rank 1", {"axis": "H"}, ((4,),), refuses="rank"),
]  # fmt: skip
