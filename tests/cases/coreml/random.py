"""Rows of the random layers.

``CASES`` have one possible answer, or are refused. ``DRAWN`` have many: their tests look at shape, range, mean,
deviation and at whether a second run gives the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cases import Case

SHAPES = {"vector": (5,), "rank 3": (2, 1, 3), "rank 5": (1, 2, 2, 1, 3)}


@dataclass(frozen=True)
class Drawn:
    """A row whose numbers are random: what they are like as a whole.

    repeats  a second run gives the same numbers; those of the reference where the shape is known without running
    """

    case: Case
    mean: float
    deviation: float
    low: float
    high: float
    repeats: bool = True


def form(kind: str, shape: tuple[int, ...]) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """The parameters and the inputs that make a kind give ``shape``."""
    if kind.endswith("Static"):
        return {"outputShape": list(shape)}, ()
    return ({}, (shape,)) if kind.endswith("Like") else ({}, (np.float32(shape),))


def known(kind: str) -> tuple[int, ...]:
    """The length of a vector of sizes is the output's rank, which does not change while a network runs."""
    return (0,) if kind.endswith("Dynamic") else ()


def certain(kind: str, note: str, params: dict[str, Any], value: float) -> list[Case]:
    """Rows of all shapes whose numbers can only be ``value``."""
    found = []
    for name, shape in SHAPES.items():
        more, inputs = form(kind, shape)
        found.append(
            Case(kind, f"{note}, {name}", params | more, inputs, expect=(np.full(shape, value),), known=known(kind))
        )
    return found


def drawn(kind: str, note: str, params: dict[str, Any], *statistics: float, repeats: bool = True) -> Drawn:
    more, inputs = form(kind, (3, 40, 50))
    return Drawn(Case(kind, note, params | more, inputs, known=known(kind)), *statistics, repeats=repeats)


def refusals(kind: str, params: dict[str, Any], field: str, note: str) -> Case:
    more, inputs = form(kind, (2, 3))
    return Case(kind, note, params | more, inputs, refuses=field)


FORMS = ("Like", "Static", "Dynamic")
CASES: list[Case] = []
DRAWN: list[Drawn] = []

for _form in FORMS:
    _kind = f"randomNormal{_form}"
    CASES += certain(_kind, "stdDev unset is 0", {"seed": 5, "mean": 2.5}, 2.5)
    CASES += certain(_kind, "mean unset is 0", {}, 0)
    CASES.append(refusals(_kind, {"stdDev": -1}, "stdDev", "negative stdDev"))
    DRAWN += [
        drawn(_kind, "seed 1", {"seed": 1, "stdDev": 1}, 0, 1, -8, 8),
        drawn(_kind, "mean and stdDev", {"seed": 77, "mean": -3, "stdDev": 0.5}, -3, 0.5, -7, 1),
        drawn(_kind, "a seed of 40 bits", {"seed": 2**40 + 1, "stdDev": 2}, 0, 2, -16, 16),
        drawn(_kind, "negative seed", {"seed": -7, "stdDev": 1}, 0, 1, -8, 8),
        drawn(_kind, "seed unset", {"stdDev": 1}, 0, 1, -8, 8, repeats=False),
        drawn(_kind, "seed -1", {"seed": -1, "stdDev": 1}, 0, 1, -8, 8, repeats=False),
    ]
    _kind = f"randomUniform{_form}"
    CASES += certain(_kind, "minVal and maxVal unset are 0", {}, 0)
    CASES += certain(_kind, "a range of one value", {"seed": 3, "minVal": -1.5, "maxVal": -1.5}, -1.5)
    CASES.append(refusals(_kind, {"minVal": 1, "maxVal": 0}, "minVal", "minVal above maxVal"))
    DRAWN += [
        drawn(_kind, "0 to 1", {"seed": 1, "maxVal": 1}, 0.5, 12**-0.5, 0, 1),
        drawn(_kind, "-2 to 6", {"seed": 9, "minVal": -2, "maxVal": 6}, 2, 8 * 12**-0.5, -2, 6),
        drawn(_kind, "seed unset", {"maxVal": 1}, 0.5, 12**-0.5, 0, 1, repeats=False),
        drawn(_kind, "seed -1", {"seed": -1, "maxVal": 1}, 0.5, 12**-0.5, 0, 1, repeats=False),
    ]
    _kind = f"randomBernoulli{_form}"
    CASES += certain(_kind, "prob unset is 0", {"seed": 4}, 0)
    CASES += certain(_kind, "prob 1", {"prob": 1}, 1)
    CASES.append(refusals(_kind, {"prob": 1.5}, "prob", "prob above 1"))
    CASES.append(refusals(_kind, {"prob": -0.25}, "prob", "prob below 0"))
    DRAWN += [
        drawn(_kind, "prob 0.5", {"seed": 1, "prob": 0.5}, 0.5, 0.5, 0, 1),
        drawn(_kind, "prob 0.1", {"seed": 8, "prob": 0.1}, 0.1, 0.3, 0, 1),
        drawn(_kind, "seed unset", {"prob": 0.25}, 0.25, 0.1875**0.5, 0, 1, repeats=False),
        drawn(_kind, "seed -1", {"seed": -1, "prob": 0.25}, 0.25, 0.1875**0.5, 0, 1, repeats=False),
    ]

for _kind in ("randomNormalStatic", "randomUniformStatic", "randomBernoulliStatic"):
    CASES.append(Case(_kind, "a size of 0", {"outputShape": [2, 0]}, (), expect=(np.zeros((2, 0)),)))
    CASES.append(Case(_kind, "no outputShape", {}, (), refuses="outputShape"))
for _kind in ("randomNormalDynamic", "randomUniformDynamic", "randomBernoulliDynamic"):
    CASES.append(Case(_kind, "a matrix for a shape", {}, (np.ones((2, 2)),), refuses="rank"))

LOUD = np.zeros((2, 1, 4), np.float32)
LOUD[0, 0, 2] = LOUD[1, 0, 1] = 1000  # logits that leave one class to draw
SURE = [[2], [1]]
ONE_OF_FOUR = np.repeat(np.float32(SURE)[:, :, None], 6, axis=2)

CASES += [
    Case(
        "categoricalDistribution",
        "logits of one class",
        {"numSamples": 6, "isLogits": True},
        (LOUD,),
        expect=(ONE_OF_FOUR,),
    ),
    Case(
        "categoricalDistribution",
        "probabilities of one class",
        {"seed": 3, "numSamples": 6},
        (LOUD / 1000,),
        expect=(ONE_OF_FOUR,),
    ),
    Case(
        "categoricalDistribution",
        "a vector",
        {"seed": 3, "numSamples": 5, "isLogits": True},
        (LOUD[0, 0],),
        expect=([2.0] * 5,),
    ),
    Case(
        "categoricalDistribution",
        "rank 5",
        {"numSamples": 2, "isLogits": True},
        (LOUD.reshape(2, 1, 1, 1, 4),),
        expect=(ONE_OF_FOUR[..., :2].reshape(2, 1, 1, 1, 2),),
    ),
    Case(
        "categoricalDistribution",
        "one class",
        {"numSamples": 3, "isLogits": True},
        ((2, 1),),
        expect=(np.zeros((2, 3)),),
    ),
    Case(
        "categoricalDistribution",
        "low temperature leaves one class",
        {"numSamples": 6, "isLogits": True, "temperature": 0.001},
        (LOUD / 100,),
        expect=(ONE_OF_FOUR,),
    ),
    Case("categoricalDistribution", "no samples", {"isLogits": True}, (LOUD,), refuses="numSamples"),
    Case(
        "categoricalDistribution",
        "negative temperature",
        {"numSamples": 2, "temperature": -1},
        (LOUD,),
        refuses="temperature",
    ),
]


def classes(note: str, params: dict[str, Any], scores: Any, probabilities: Any, repeats: bool = True) -> Drawn:
    """Many samples of one distribution."""
    p, values = np.asarray(probabilities), np.arange(len(probabilities))
    mean = float(p @ values)
    deviation = float(np.sqrt(p @ (values - mean) ** 2))
    case = Case("categoricalDistribution", note, {"numSamples": 20000, **params}, (np.float32([scores]),))
    return Drawn(case, mean, deviation, 0, len(p) - 1, repeats)


P = [0.1, 0.2, 0.3, 0.4]
SQUARED = np.square(P) / np.square(P).sum()

DRAWN += [
    classes("probabilities", {"seed": 1}, P, P),
    classes("probabilities that do not add up to 1", {"seed": 2}, np.multiply(P, 5), P),
    classes("a class without probability", {"seed": 3}, [0.5, 0.0, 0.5], [0.5, 0, 0.5]),
    classes("large eps", {"seed": 4, "eps": 1}, [0.0, 0.0, 1.0], [0.25, 0.25, 0.5]),
    classes("logits", {"seed": 5, "isLogits": True}, np.log(P), P),
    classes("logits with temperature", {"seed": 6, "isLogits": True, "temperature": 0.5}, np.log(P), SQUARED),
    classes("probabilities with temperature", {"seed": 7, "temperature": 0.5}, P, SQUARED),
    classes("seed unset", {}, P, P, False),
    classes("seed -1", {"seed": -1}, P, P, False),
]
