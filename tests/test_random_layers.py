"""The random layers: statistics, seeds, fresh numbers, and that every way of drawing gives the same ones."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import onnx
import pytest

from cases import Case
from cases.coreml.random import DRAWN, Drawn
from pippin.coreml import draws
from pippin.coreml.draws import Draw
from pippin.coreml.layers import random as layers
from pippin.coreml.lower import lower
from pippin.coreml.lowering import LAYERS, Context
from pippin.coreml.weights import Weights
from pippin.graph.builder import Builder
from pippin.graph.composites import philox
from pippin.graph.composites.philox import uniform_levels
from pippin.graph.write import write
from pippin.reference.coreml.registry import Context as TwinContext
from pippin.reference.coreml.registry import load_twins
from pippin.runtime.session import Session


class Network:
    """A network of one random layer, ready to run; ``fed`` False leaves the drawing to ONNX's own operators."""

    def __init__(self, case: Case, *, symbolic: bool = False, fed: bool = True) -> None:
        self.arrays = {f"x{index}": array for index, array in enumerate(case.arrays())}
        shapes: dict[str, Any] = {name: array.shape for name, array in self.arrays.items()}
        if symbolic:
            for index, name in enumerate(shapes):
                if index not in case.known:
                    shapes[name] = [f"{name}_{axis}" for axis in range(len(shapes[name]))]
        self.draws: list[Draw] = []
        feeds = self.draws if fed else None
        g, lowerer = lower(case.model().neuralNetwork, Weights(), shapes, rank5=False, feeds=feeds)
        g.output(g.float(lowerer.blobs["y0"].nd(g)), "y0")
        self.graph = g.graph
        onnx.checker.check_model(write(g.graph, inline=None).model, full_check=True)
        self.session = Session(write(g.graph), threads=1)

    def run(self) -> np.ndarray:
        feeds = {name: array for name, array in self.arrays.items() if name in self.session.inputs}
        feeds |= {draw.name: draw.make() for draw in self.draws}
        result = self.session.run(feeds)[0]
        assert result.dtype == np.float32
        return np.asarray(result)


def is_like(row: Drawn, values: np.ndarray) -> None:
    """Mean and deviation within six standard errors or so, and no value outside of the range."""
    error = max(row.deviation, 1e-3) / np.sqrt(values.size)
    assert abs(values.mean() - row.mean) < 6 * error
    assert abs(values.std() - row.deviation) < 10 * error
    assert row.low <= values.min()
    assert values.max() <= row.high


def ids(row: Drawn) -> str:
    return row.case.id


SEEDED = [row for row in DRAWN if row.repeats]
FRESH = [row for row in DRAWN if not row.repeats]


@pytest.mark.parametrize("row", SEEDED, ids=ids)
def test_a_seed_gives_the_references_numbers_on_each_run_with_known_and_unknown_shapes(row: Drawn) -> None:
    case = row.case
    network = Network(case)
    assert not network.draws, "a seed needs nothing from outside"
    first = network.run()
    is_like(row, first)
    np.testing.assert_array_equal(network.run(), first)
    symbolic = Network(case, symbolic=True).run()
    twin = load_twins()[case.kind]
    layer = case.layer()
    wanted = twin(TwinContext(layer, Weights()), getattr(layer, case.kind), *map(np.float64, case.arrays()))
    if case.kind == "categoricalDistribution":
        # a running sum in float32 may lie on the other side of a level
        assert (first != wanted).mean() < 1e-3
        assert (symbolic != wanted).mean() < 1e-3
    else:
        np.testing.assert_allclose(first, wanted, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(symbolic, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("symbolic", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("row", FRESH, ids=ids)
def test_without_a_seed_each_run_of_each_session_draws_anew(row: Drawn, symbolic: bool) -> None:
    one, other = Network(row.case, symbolic=symbolic), Network(row.case, symbolic=symbolic)
    assert len(one.draws) == 1
    results = [one.run(), one.run(), other.run()]
    for values in results:
        is_like(row, values)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert (results[a] != results[b]).any()
        assert abs(np.corrcoef(results[a].ravel(), results[b].ravel())[0, 1]) < 0.1


@pytest.mark.parametrize("symbolic", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("row", FRESH, ids=ids)
def test_an_exported_network_draws_by_itself(row: Drawn, symbolic: bool) -> None:
    network = Network(row.case, symbolic=symbolic, fed=False)
    assert not network.draws
    assert len(network.graph.inputs) == len(network.arrays)
    assert any(node.op.startswith("Random") for node in network.graph.nodes)
    first = network.run()
    is_like(row, first)
    assert (first != network.run()).any()


@pytest.mark.parametrize("row", FRESH, ids=ids)
def test_draws_survive_pickling(row: Drawn) -> None:
    (draw,) = Network(row.case).draws
    again = pickle.loads(pickle.dumps(draw))
    assert again.name == draw.name
    assert again.make().shape == draw.make().shape


def test_seeds_and_distributions_have_numbers_of_their_own() -> None:
    def numbers(kind: str, seed: int) -> np.ndarray:
        fields = {"randomNormalStatic": {"stdDev": 1}, "randomUniformStatic": {"maxVal": 1}}[kind]
        return Network(Case(kind, "", {"seed": seed, "outputShape": [500], **fields}, ())).run()

    found = [numbers(kind, s) for kind in ("randomNormalStatic", "randomUniformStatic") for s in (1, 2, -2, 2**40)]
    table = np.abs(np.corrcoef(found)) - np.eye(len(found))
    assert table.max() < 0.25


def looped(seed: int, times: int = 4) -> tuple[Session, list[Draw]]:
    """A loop that stacks what randomNormalStatic draws in each of its rounds."""
    noted: list[Draw] = []
    g = Context("network")
    g.adopt(Weights(), {}, False)
    g.feeds = noted
    body = g.subgraph("body")
    body.input("iteration", np.int64, ())
    condition = body.input("condition", np.bool_, ())
    layer = Case("randomNormalStatic", "", {"seed": seed, "stdDev": 1, "outputShape": [50]}, ()).layer()
    entry = LAYERS.get("randomNormalStatic")
    assert entry is not None
    drawn = entry.function(body, layer.randomNormalStatic)
    body.output(condition)
    body.output(drawn)
    inputs = [g.constant(times, "int64"), g.constant(True)]
    value = g.append("Loop", inputs, {"body": body.graph}, [(np.dtype(np.float32), (times, 50))])
    g.output(value, "y")
    return Session(write(g.graph), threads=1), noted


def test_each_round_of_a_loop_draws_anew_without_a_seed_and_the_same_with_one() -> None:
    session, noted = looped(0)
    rows = np.concatenate([session.run({draw.name: draw.make() for draw in noted})[0] for _ in range(2)])
    assert rows.shape == (8, 50)
    assert (np.abs(np.corrcoef(rows)) - np.eye(8)).max() < 0.7
    assert len(np.unique(rows)) == rows.size
    session, noted = looped(3)
    assert not noted
    rows = session.run({})[0]
    np.testing.assert_array_equal(rows, np.tile(draws.normal(3, (50,)), (4, 1)))


KINDS = [
    ("Normal", {"mean": 1.5, "stdDev": 2}),
    ("Uniform", {"minVal": -1, "maxVal": 1}),
    ("Bernoulli", {"prob": 0.25}),
]


@pytest.mark.parametrize(("kind", "parameters"), KINDS)
def test_large_shapes_are_drawn_on_each_run_with_the_same_numbers(
    monkeypatch: pytest.MonkeyPatch, kind: str, parameters: dict[str, float]
) -> None:
    case = Case(f"random{kind}Static", "", {"seed": 4, **parameters, "outputShape": [3, 50]}, ())
    wanted = Network(case).run()
    monkeypatch.setattr(layers, "CONSTANT", 100)
    fed, exported = Network(case), Network(case, fed=False)
    assert len(fed.draws) == 1
    assert any(node.op == "Scan" for node in exported.graph.nodes)
    assert not exported.draws
    for network in (fed, fed, exported):
        np.testing.assert_allclose(network.run(), wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("count", [0, 1, 37, 64, 65, 150])
@pytest.mark.parametrize(("kind", "parameters"), KINDS)
def test_blocks_do_not_show(
    monkeypatch: pytest.MonkeyPatch, kind: str, parameters: dict[str, float], count: int, static: bool
) -> None:
    draw = partial(getattr(draws, kind.lower()), 9, (count, 1), *parameters.values())
    wanted = draw()
    if static:
        case = Case(f"random{kind}Static", "", {"seed": 9, **parameters, "outputShape": [count, 1]}, ())
    else:
        case = Case(f"random{kind}Dynamic", "", {"seed": 9, **parameters}, (np.array([count, 1]),))
    monkeypatch.setattr(layers, "CONSTANT", 0)
    monkeypatch.setattr(philox, "BLOCK", 64)
    monkeypatch.setattr(draws, "BLOCK", 32)
    network = Network(case, fed=False)
    loops = sum(node.op == "Loop" for node in network.graph.nodes)
    assert loops == (not static or count > 64)
    np.testing.assert_allclose(network.run(), wanted, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(draw(), wanted)


@pytest.mark.parametrize("key", [(1, 0), (2**64 - 7, 3), (2**40 + 1, 1), (2**63, 2**63), (0, 0)])
@pytest.mark.parametrize("count", [1, 3, 4, 5, 1000])
def test_the_generator_gives_numpys_words(key: tuple[int, int], count: int) -> None:
    g = Builder()
    words = np.array(key, np.uint64)
    size = g.input("count", np.int64, [1])
    g.output(uniform_levels(g, g.constant(words.view(np.int64)), size), "unknown")
    g.output(uniform_levels(g, g.constant(words.view(np.int64)), count), "known")
    wanted = (np.random.Philox(key=words).random_raw(count) >> np.uint64(11)) * 2.0**-53
    for levels in Session(write(g.graph), threads=1).run({"count": np.array([count])}):
        np.testing.assert_array_equal(levels, wanted)


def test_a_nonce_is_the_third_word_of_the_counter() -> None:
    g = Builder()
    levels = uniform_levels(g, g.constant([5, 6], "int64"), 8, g.input("nonce", np.int64, [1]))
    g.output(levels, "y")
    generator = np.random.Philox(key=np.array([5, 6], np.uint64), counter=np.array([0, 0, 77, 0], np.uint64))
    wanted = (generator.random_raw(8) >> np.uint64(11)) * 2.0**-53
    result = Session(write(g.graph), threads=1).run({"nonce": np.array([77])})[0]
    np.testing.assert_array_equal(result, wanted)
