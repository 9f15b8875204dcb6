"""Gradients through whole layers: rows of each kind against differences of its float64 twin, or an error."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from cases import Case
from pippin.coreml.lower import lower
from pippin.coreml.weights import Weights
from pippin.errors import UnsupportedError
from pippin.graph.gradient import prune, vjp
from pippin.graph.write import write
from pippin.runtime.session import Session
from test_layers import RUNS, expected

PER_KIND = 8
"""Rows of a kind that are run, the same ones each time."""
NO_DERIVATIVE = {
    "argMax", "argMin", "argSort", "ceil", "embedding", "embeddingND", "equal", "floor", "floorDivBroadcastable",
    "greaterEqual", "greaterThan", "lessEqual", "lessThan", "logicalAnd", "logicalNot", "logicalOr", "logicalXor",
    "notEqual", "oneHot", "round", "sign",
}  # fmt: skip
"""Kinds whose results jump: through them nothing ever flows."""
INDEPENDENT = {
    "categoricalDistribution", "fillLike", "getShape", "randomBernoulliLike", "randomNormalLike", "randomUniformLike",
}  # fmt: skip
"""Kinds whose results do not depend on the values of their input, or only by chance."""
POLES = (
    "by 0", "base 0", "broken exponent", "of zero", "whole multiples", "negative base", "zero vector", "known answer",
    "domain", "equal values",
)  # fmt: skip
"""Rows at places where a function has no derivative: at poles, kinks and jumps."""
ONLY_FIRST = {"cropResize"}
"""Kinds whose other inputs are numbers of places: differences meet kinks there."""


def chosen(kind: str) -> list[Case]:
    rows = [case for case in RUNS if case.kind == kind and case.inputs]
    rows = [case for case in rows if not any(pole in case.id for pole in POLES)]
    rows = [case for case in rows if all(np.prod(array.shape) for array in case.arrays())]
    return sorted(rows, key=lambda case: zlib.crc32(case.id.encode()))[:PER_KIND]


KINDS = sorted({case.kind for case in RUNS if chosen(case.kind)})


def graph(case: Case) -> tuple[Any, list[Any], list[Any]]:
    """The lowered row with its inputs and outputs of true rank."""
    arrays = case.arrays()
    fold = case.rank5 and all(array.ndim != 5 or array.shape[0] == 1 for array in arrays)
    shapes = [(a.shape[0] * a.shape[1], *a.shape[2:]) if fold and a.ndim == 5 else a.shape for a in arrays]

    def trained(*_: Any) -> Any:
        raise AssertionError("no layer is marked")

    inputs = dict(zip(case.layer().input, shapes, strict=True))
    g, lowerer = lower(case.model().neuralNetwork, Weights(), inputs, rank5=case.rank5, trained=trained)
    values = list(g.graph.inputs)
    return g, values, [g.float(lowerer.blobs[name].nd(g)) for name in case.layer().output]


def compare(case: Case, count: int | None = None) -> bool:
    """Along one random direction: analytic and numeric derivative of Σ y ⊙ random numbers. False if nothing flows.

    ``count``: of the first outputs alone.
    """
    random = np.random.default_rng(0)
    g, values, outputs = graph(case)
    outputs = outputs[:count]
    if any(not y.static for y in outputs):
        return False
    weights = [random.standard_normal(y.shape).astype(np.float32) for y in outputs]
    found = vjp(g, outputs, [g.constant(w) for w in weights], values)
    live = [i for i, d in enumerate(found) if d is not None and not (i and case.kind in ONLY_FIRST)]
    if not live:
        return False
    for index in live:
        g.output(found[index], f"gradient {index}")
    prune(g.graph)
    session, arrays = Session(write(g.graph), threads=1), case.arrays()
    given = {value.name: array.reshape(value.shape) for value, array in zip(values, arrays, strict=True)}
    gradients = [answer.reshape(-1).astype(np.float64) for answer in session.run({n: given[n] for n in session.inputs})]
    ways = [random.standard_normal(array.shape) for array in arrays]
    analytic = sum(float(d @ ways[index].reshape(-1)) for index, d in zip(live, gradients, strict=True))

    def loss(step: float) -> float:
        moved = [a + step * w if i in live else a for i, (a, w) in enumerate(zip(arrays, ways, strict=True))]
        return sum(float(np.ravel(y) @ w.reshape(-1)) for y, w in zip(expected(case, moved), weights, strict=False))

    scale = 1e-3 + sum(float(np.abs(d).max() * np.sqrt(d.size)) for d in gradients)
    for step in (1e-4, 1e-6):
        up, down = (loss(step) - loss(0)) / step, (loss(0) - loss(-step)) / step
        # between the slopes of both sides if there is a kink
        low, high = min(up, down) - 1e-3 * scale, max(up, down) + 1e-3 * scale
        if low <= analytic <= high:
            return True
    raise AssertionError(f"{case.id}: {analytic}, by differences {down} to {up}")


def attempt(case: Case) -> tuple[bool, list[UnsupportedError]]:
    """Whether a gradient flows, and the refusals on the way: indices among the outputs have none, the first may."""
    refusals = []
    for count in (None, 1):
        try:
            return compare(case, count), refusals
        except UnsupportedError as error:
            refusals.append(error)
    return False, refusals


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_a_kind(kind: str) -> None:
    found = [attempt(case) for case in chosen(kind)]
    flows = any(flow for flow, _ in found)
    for error in [error for _, errors in found for error in errors]:
        assert f"({kind})" in error.where, f"the error must name the layer: {error}"
        assert "no gradient" in error.message
    known = [case for case in chosen(kind) if all(y.static for y in graph(case)[2])]
    if kind in NO_DERIVATIVE:
        assert not flows
    elif kind not in INDEPENDENT and known:
        assert flows, "no row of this kind has a gradient"


@pytest.mark.parametrize("kind", sorted(NO_DERIVATIVE))
def test_kinds_without_a_derivative_say_so(kind: str) -> None:
    for case in chosen(kind):
        g, values, outputs = graph(case)
        dys = [g.expand(g.constant(1.0), g.sizes(y)) for y in outputs]
        with pytest.raises(UnsupportedError, match="no gradient flows through"):
            vjp(g, outputs, dys, values)
