"""LSTMs over sequences so long that the clip of the cell may bind: in pieces, against the twin and against clipping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cases import Case
from pippin.coreml.lower import lower
from pippin.coreml.weights import Weights
from pippin.graph.ir import Graph
from pippin.graph.write import write
from pippin.reference.coreml.registry import Context, load_twins
from pippin.runtime.session import Session

H, C, T, B = 3, 2, 230, 2
FUNCTIONS = [{"sigmoid": {}}, {"tanh": {}}, {"linear": {"alpha": 0.02}}]
"""The last one is no tanh: that would hide what a cell above the threshold is."""


def weights(drive: float, seed: int) -> dict[str, Any]:
    """Weights of one direction; ``drive`` pushes the cells up, so that they reach any threshold in time."""
    generator = np.random.default_rng(seed)
    gates = ("inputGate", "forgetGate", "blockInput", "outputGate")
    values: dict[str, Any] = {}
    for gate in gates:
        values[f"{gate}WeightMatrix"] = generator.standard_normal((H, C)) * 0.5
        values[f"{gate}RecursionMatrix"] = generator.standard_normal((H, H)) * 0.5
        values[f"{gate}BiasVector"] = np.full(H, 0.0 if gate == "outputGate" else drive)
    return values


def case(direction: str, drive: float, threshold: float, states: bool) -> Case:
    shared = {"sequenceOutput": True, "hasBiasVectors": True, "cellClipThreshold": threshold}
    common = {"inputVectorSize": C, "outputVectorSize": H, "params": shared}
    x = np.random.default_rng(1).standard_normal((T, B, C, 1, 1)).astype(np.float32)
    state = np.random.default_rng(2).standard_normal((1, B, H, 1, 1)).astype(np.float32)
    if direction == "bidirectional":
        both = [weights(drive, 3), weights(-drive, 4)]
        functions = {"activationsForwardLSTM": FUNCTIONS, "activationsBackwardLSTM": FUNCTIONS}
        inputs = (x, state, state, -state, -state) if states else (x,)
        return Case("biDirectionalLSTM", "long", {**common, **functions, "weightParams": both}, inputs, 5)
    params = {
        **common,
        "activations": FUNCTIONS,
        "weightParams": weights(drive, 3),
        "reverseInput": direction == "reverse",
    }
    return Case("uniDirectionalLSTM", "long", params, (x, state, state) if states else (x,), 3)


def lowered(row: Case, steps: int | str) -> Graph:
    shapes = {f"x{i}": (steps if i == 0 else 1, *array.shape[1:]) for i, array in enumerate(row.arrays())}
    g, lowerer = lower(row.model().neuralNetwork, Weights(), shapes, rank5=False)
    for name in row.layer().output:
        g.output(lowerer.blobs[name].nd(g), name)
    return g.graph


def run(graph: Graph, row: Case) -> list[np.ndarray]:
    session = Session(write(graph), threads=1)
    return session.run({f"x{i}": array for i, array in enumerate(row.arrays()) if f"x{i}" in session.inputs})


def twin(row: Case) -> list[np.ndarray]:
    layer = row.layer()
    function = load_twins()[row.kind]
    return list(function(Context(layer, Weights()), getattr(layer, row.kind), *(a.astype(float) for a in row.arrays())))


@pytest.mark.parametrize("states", [False, True], ids=["zeros", "states"])
@pytest.mark.parametrize("steps", [T, "T"], ids=["static", "symbolic"])
@pytest.mark.parametrize(("drive", "threshold"), [(0.0, 0.0), (6.0, 0.0), (6.0, 9.0), (1.0, 0.5), (6.0, 500.0)])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_long(direction: str, drive: float, threshold: float, steps: int | str, states: bool) -> None:
    row = case(direction, drive, threshold, states)
    wanted = twin(row)
    for answer, value in zip(run(lowered(row, steps), row), wanted, strict=True):
        np.testing.assert_allclose(answer, value, rtol=2e-5, atol=2e-5)


def test_the_clip_binds_in_these_tests() -> None:
    clipped, free = twin(case("forward", 6.0, 0.0, False)), twin(case("forward", 6.0, 1e9, False))
    assert np.abs(clipped[2]).max() == 50
    assert np.abs(free[2]).max() > 100


@pytest.mark.parametrize(
    ("steps", "threshold", "operators"),
    [(T, 500.0, {"LSTM"}), (T, 50.0, {"LSTM", "Scan", "Loop", "If"}), ("T", 500.0, {"LSTM", "Scan", "Loop", "If"})],
)
def test_the_plain_operator_where_it_is_certain(steps: int | str, threshold: float, operators: set[str]) -> None:
    found = {node.op for node in lowered(case("forward", 0.0, threshold, False), steps).walk()}
    assert found & {"LSTM", "Scan", "Loop", "If"} == operators
