"""Rows of the activation layer: 13 functions."""
# ruff: noqa: E501 - one row a line

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cases import Case, half, linear, lookup, normal

row = partial(Case, "activation")

# each function with its parameters and what it makes of POINTS
POINTS = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
E2, E05 = np.exp(-2.0), np.exp(-0.5)
FUNCTIONS: list[tuple[str, str, dict[str, Any], Any]] = [
    ("linear", "", {"alpha": 2.0, "beta": -1.0}, 2 * POINTS - 1),
    ("linear", "nothing set: zero", {}, np.zeros(5)),
    ("ReLU", "", {}, [0, 0, 0, 0.5, 2]),
    ("leakyReLU", "", {"alpha": 0.25}, [-0.5, -0.125, 0, 0.5, 2]),
    ("leakyReLU", "alpha 0", {}, [0, 0, 0, 0.5, 2]),
    ("leakyReLU", "negative alpha", {"alpha": -1.0}, np.abs(POINTS)),
    ("thresholdedReLU", "x = alpha is kept", {"alpha": 0.5}, [0, 0, 0, 0.5, 2]),
    ("thresholdedReLU", "alpha 0", {}, [0, 0, 0, 0.5, 2]),
    ("thresholdedReLU", "negative alpha", {"alpha": -1.0}, [0, -0.5, 0, 0.5, 2]),
    ("tanh", "", {}, np.tanh(POINTS)),
    ("scaledTanh", "", {"alpha": 1.5, "beta": 0.5}, 1.5 * np.tanh(POINTS / 2)),
    ("scaledTanh", "alpha and beta 0", {}, np.zeros(5)),
    ("sigmoid", "", {}, [E2 / (1 + E2), E05 / (1 + E05), 0.5, 1 / (1 + E05), 1 / (1 + E2)]),
    ("sigmoidHard", "", {"alpha": 0.25, "beta": 0.5}, [0, 0.375, 0.5, 0.625, 1]),
    ("sigmoidHard", "negative alpha", {"alpha": -1.0, "beta": 1.0}, [1, 1, 1, 0.5, 0]),
    ("sigmoidHard", "alpha and beta 0", {}, np.zeros(5)),
    ("ELU", "", {"alpha": 2.0}, [2 * (E2 - 1), 2 * (E05 - 1), 0, 0.5, 2]),
    ("ELU", "alpha 0", {}, [0, 0, 0, 0.5, 2]),
    ("ELU", "negative alpha", {"alpha": -1.0}, [1 - E2, 1 - E05, 0, 0.5, 2]),
    ("softsign", "", {}, [-2 / 3, -1 / 3, 0, 1 / 3, 2 / 3]),
    ("softplus", "", {}, np.log1p(np.exp(POINTS))),
]

LARGE = np.array([-200.0, -50.0, 50.0, 200.0])
PACKED = "how many values lie in packed bits, the number of channels says"


def prelu(alpha: Any) -> dict[str, Any]:
    """Parameters of a PReLU."""
    return {"PReLU": {"alpha": alpha}}


def plus(alpha: Any, beta: Any) -> dict[str, Any]:
    """Parameters of a parametric softplus."""
    return {"parametricSoftplus": {"alpha": alpha, "beta": beta}}


SHAPES = {"rank 3": (4, 2, 3), "rank 4": (2, 4, 3, 1), "rank 5": (2, 1, 4, 2, 2), "rank 6": (1, 2, 1, 4, 2, 2)}

CASES = [
    row(f"{name}{', ' if note else ''}{note}", {name: params}, (POINTS,), expect=(answer,))
    for name, note, params, answer in FUNCTIONS
] + [
    row(f"{name}, legacy, sequence and batch", {name: params}, ((2, 3, 2, 2, 2),), rank5=True)
    for name, note, params, _ in FUNCTIONS
    if not note
] + [
    row(f"{name}, large values", {name: params}, (LARGE,))
    for name, note, params, _ in FUNCTIONS
    if not note
] + [
    row(f"PReLU, {note}", prelu([-0.5, 0.0, 0.25, 1.5]), (shape,)) for note, shape in SHAPES.items()
] + [
    row(f"parametricSoftplus, {note}", plus([-0.5, 0.0, 0.25, 1.5], [1.0, 2.0, -1.0, 0.0]), (shape,))
    for note, shape in SHAPES.items()
] + [
    row("PReLU along the channels, known answer", prelu([0.5, 2.0]), (-np.arange(1, 5).reshape(2, 1, 2),), expect=([[[-0.5, -1]], [[-6, -8]]],)),
    row("PReLU, one alpha for all", prelu([0.25]), ((2, 3, 2, 2),)),
    row("PReLU, one channel", prelu([0.25]), ((2, 1, 2, 3),)),
    row("PReLU, as many channels as columns", prelu([0.1, 0.2, 0.3]), ((3, 3, 3),)),
    row("PReLU, float16 alpha", prelu(half([0.1, 0.2, 0.3])), ((3, 2, 2),)),
    row("PReLU, 8 bit linear alpha", prelu(linear([0, 100, 255], 8, 0.01, -1.0)), ((3, 2, 2),)),
    row("PReLU, 2 bit table", prelu(lookup([3, 0, 1, 2], 2, [0.1, -0.2, 0.3, 2.0])), ((4, 2, 2),), symbolic=False, why=PACKED),
    row("PReLU, 2 bit table, a byte that is not full", prelu(lookup([3, 0, 1, 2, 1], 2, [0.1, -0.2, 0.3, 2.0])), ((5, 2, 2),), symbolic=False, why=PACKED),
    row("PReLU, 2 bit table, one alpha for all", prelu(lookup([3], 2, [0.1, -0.2, 0.3, 2.0])), ((5, 2, 2),), symbolic=False, why=PACKED),
    row("PReLU, legacy, batch", prelu(normal(3)), ((1, 2, 3, 2, 2),), rank5=True),
    row("PReLU, legacy, sequence and batch", prelu(normal(3)), ((2, 2, 3, 2, 2),), rank5=True),
    row("parametricSoftplus, one alpha and beta for all", plus([2.0], [0.5]), ((2, 3, 2, 2),)),
    row("parametricSoftplus, one alpha, a beta for each channel", plus([2.0], [0.5, 1.0, -1.0]), ((2, 3, 2, 2),)),
    row("parametricSoftplus, large values", plus([2.0], [0.5]), (LARGE.reshape(1, 1, 4),)),
    row("parametricSoftplus, float16", plus(half([0.5, 2.0]), half([1.0, -0.5])), ((2, 2, 2),)),
    row("parametricSoftplus, legacy", plus(normal(3), normal(3, seed=8)), ((2, 2, 3, 2, 2),), rank5=True),
    row("tanh, one number", {"tanh": {}}, ((1,),)),
    row("sigmoid, rank 6", {"sigmoid": {}}, ((1, 2, 1, 2, 1, 2),)),
    row("no function", {}, refuses="NonlinearityType"),
    row("PReLU, three alphas for four channels", prelu([0.1, 0.2, 0.3]), ((4, 2, 2),), refuses="alpha"),
    row("PReLU, no alpha", prelu({}), ((4, 2, 2),), refuses="alpha"),
    row("PReLU, rank 2", prelu([0.1, 0.2]), ((2, 2),), refuses="rank"),
    row("parametricSoftplus, two betas for three channels", plus([0.1], [0.2, 0.3]), ((3, 2, 2),), refuses="beta"),
    row("parametricSoftplus, no alpha", plus({}, [1.0]), ((3, 2, 2),), refuses="alpha"),
    row("parametricSoftplus, rank 2", plus([0.1, 0.2], [0.2]), ((2, 2),), refuses="rank"),
]  # fmt: skip
