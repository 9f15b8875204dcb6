"""Networks with branches and loops: lowered, run with known and unknown sizes, against answers worked out by hand."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import onnx
import pytest

from cases.coreml.control_flow import NETWORKS, Net, Network
from pippin.coreml import schema
from pippin.coreml.lower import lower
from pippin.coreml.weights import Weights
from pippin.errors import PippinError, TimeoutError, UnsupportedError
from pippin.graph.ir import Graph
from pippin.graph.write import write
from pippin.reference.coreml.interpreter import Interpreter
from pippin.runtime.session import Session
from shared import SHARED, needs_shared

Shapes = dict[str, tuple[int | str, ...]]


def graph(network: Any, shapes: Shapes, wanted: list[str], *, only: bool = False) -> Graph:
    """The network as a graph; ``only``: nothing but the outputs is wanted of branches and loops."""
    g, lowerer = lower(network, Weights(), shapes, rank5=False, outputs=wanted if only else None)
    for name in wanted:
        value = g.float(lowerer.blob(name).nd(g))
        lowerer.claim(g, name, value)
        g.output(value, name)
    onnx.checker.check_model(write(g.graph, inline=None).model, full_check=True)
    return g.graph


def run(graph_: Graph, arrays: dict[str, np.ndarray], **options: Any) -> dict[str, np.ndarray]:
    session = Session(write(graph_), threads=1, **options)
    answers = session.run({name: arrays[name] for name in session.inputs})
    return dict(zip([value.name for value in graph_.outputs], answers, strict=True))


def shapes_of(arrays: dict[str, np.ndarray], *, known: bool) -> Shapes:
    if known:
        return {name: array.shape for name, array in arrays.items()}
    return {
        name: tuple(f"{name}_{axis}" if size > 1 else size for axis, size in enumerate(array.shape))
        for name, array in arrays.items()
    }


def same(answers: dict[str, np.ndarray], wanted: dict[str, Any], label: str) -> None:
    for name, value in wanted.items():
        actual = answers[name]
        assert actual.dtype == np.float32
        assert actual.shape == np.shape(value), f"{label}: {name}"
        np.testing.assert_allclose(actual, value, rtol=1e-5, atol=1e-5, err_msg=f"{label}: {name}")


RUNS = [network for network in NETWORKS if network.refuses is None]
REFUSALS = [network for network in NETWORKS if network.refuses is not None]


@pytest.mark.parametrize("row", RUNS, ids=lambda row: row.note)
def test_network(row: Network) -> None:
    network, arrays, wanted = row.model().neuralNetwork, row.arrays(), dict(row.expect)
    reference = Interpreter(network).run(arrays)
    same({name: reference[name].astype(np.float32) for name in wanted}, wanted, "the reference")
    for label, known, only in (("static", True, False), ("static, pruned", True, True), ("symbolic", False, False)):
        made = graph(network, shapes_of(arrays, known=known), list(wanted), only=only)
        same(run(made, arrays), wanted, label)
        if known and not only:
            same(run(made, arrays, optimize=False), wanted, "optimiser off")


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.note)
def test_refusal(row: Network) -> None:
    network, arrays = row.model().neuralNetwork, row.arrays()
    with pytest.raises(PippinError) as caught:
        graph(network, shapes_of(arrays, known=True), ["y"])
    assert row.refuses is not None
    assert row.refuses.lower() in str(caught.value).lower()
    assert f"({row.kind})" in str(caught.value)


def network(build: Any) -> Any:
    message = schema.message("NeuralNetwork")()
    build(Net(message))
    return message


def nodes(graph_: Graph) -> dict[str, int]:
    count: dict[str, int] = {}
    for node in graph_.walk():
        count[node.op] = count.get(node.op, 0) + 1
    return count


def _count(net: Net) -> None:
    net.constant("one", 1)
    net.start(s=0, t=0)
    _, body = net.loop("n")
    body.increase("s", "one")
    body.add("u", "t", "s")
    body.copy("t", "u")


def test_ten_thousand_rounds_of_three_layers() -> None:
    made = graph(network(_count), {"n": (1,)}, ["t"], only=True)
    session = Session(write(made), threads=1)
    feeds = {"n": np.array([10_000], np.float32)}
    session.run(feeds)
    best = min(_seconds(session, feeds) for _ in range(5))
    assert best < 0.2, f"{best:.3f} s"
    assert session.run({"n": np.array([3], np.float32)})[0].tolist() == [6]


def _seconds(session: Session, feeds: dict[str, np.ndarray]) -> float:
    start = time.perf_counter()
    session.run(feeds)
    return time.perf_counter() - start


def test_a_round_holds_the_layers_and_little_else() -> None:
    made = graph(network(_count), {"n": (1,)}, ["t"], only=True)
    loop = next(node for node in made.nodes if node.op == "Loop")
    body = loop.attributes["body"]
    assert sorted(node.op for node in body.nodes) == [
        "Add",
        "Add",
        "Identity",
    ]  # of the condition, which is always true
    assert len(loop.outputs) == 2, "what nobody reads is not carried"


def test_an_endless_loop_stops_at_the_time_limit() -> None:
    def build(net: Net) -> None:
        net.copy("y", "x")
        condition, body = net.loop(condition="true")
        condition.constant("true", 1)
        body.add("double", "y", "y")
        body.copy("y", "double")

    session = Session(write(graph(network(build), {"x": (1,)}, ["y"])), threads=1)
    with pytest.raises(TimeoutError):
        session.run({"x": np.zeros(1, np.float32)}, timeout=0.2)


def test_a_constant_condition_leaves_no_if() -> None:
    def build(net: Net) -> None:
        net.op("shape", "getShape", "x")
        net.op("c", "greaterThan", "shape", alpha=2)
        yes, no = net.branch("c")
        yes.add("y", "x", "x")
        no.copy("y", "x")

    assert nodes(graph(network(build), {"x": (3,)}, ["y"])) == {"Add": 1}
    assert nodes(graph(network(build), {"x": ("n",)}, ["y"]))["If"] == 1


def test_a_blob_that_one_branch_makes_is_unknown_behind_it() -> None:
    def build(net: Net) -> None:
        yes, _ = net.branch("c")
        yes.add("t", "c", "c")
        net.copy("y", "t")

    with pytest.raises(PippinError, match="'t' is made by no earlier layer"):
        graph(network(build), {"c": (1,)}, ["y"])


def test_a_rank_that_grows_is_refused() -> None:
    def build(net: Net) -> None:
        net.copy("y", "x")
        _, body = net.loop(most=3)
        body.op("deeper", "expandDims", "y", axes=[0])
        body.copy("y", "deeper")

    with pytest.raises(UnsupportedError, match="'y' changes its rank from 1 to 2"):
        graph(network(build), {"x": (3,)}, ["y"])


def test_branches_of_different_rank_are_refused() -> None:
    def build(net: Net) -> None:
        yes, no = net.branch("c")
        yes.op("y", "expandDims", "c", axes=[0])
        no.copy("y", "c")

    with pytest.raises(UnsupportedError, match="'y' has rank 2 on one way and 1 on the other"):
        graph(network(build), {"c": (1,)}, ["y"])


@pytest.mark.parametrize("depth", [15, 60])
def test_loops_in_loops_in_loops_do_not_take_forever(depth: int) -> None:
    def build(net: Net) -> None:
        net.copy("y", "x")
        for _ in range(depth):
            _, net = net.loop(most=1)
        net.op("longer", "concatND", "y", "x")
        net.copy("y", "longer")

    start = time.perf_counter()
    if depth > 40:
        with pytest.raises(UnsupportedError, match="nested more than"):
            graph(network(build), {"x": (2,)}, ["y"])
    else:
        answer = run(graph(network(build), {"x": (2,)}, ["y"]), {"x": np.array([1, 2], np.float32)})
        assert answer["y"].tolist() == [1, 2, 1, 2]
    assert time.perf_counter() - start < 30


@needs_shared
def test_a_real_file_with_branch_and_loop() -> None:
    from pippin import load
    from pippin.coreml.read import read

    path = SHARED / "models" / "controlflow-loop-branch.mlmodel"
    model, reference = load(path), Interpreter(read(path))
    for factor in (0.01, 1.0, -1.0, 3.0):
        x = np.random.default_rng(7).random((1, 3, 64, 64)).astype(np.float32) * factor
        (answer,) = model.predict({"x.1": x}).values()
        np.testing.assert_allclose(answer, reference.run({"x.1": x})["x:2"], rtol=1e-4, atol=1e-4)
