"""Graphs in other operator sets than the one they were built in: sound, and with equal answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from cases import Case
from pippin.coreml.lower import lower
from pippin.coreml.weights import Weights
from pippin.errors import UnsupportedError
from pippin.graph import opsets
from pippin.graph.builder import Builder
from pippin.graph.write import write
from test_layers import RUNS

MODERN = {
    "gridSample", "resample", "cropResize", "scatterND", "scatterAlongAxis", "scatter", "batchToSpace",
    "lowerTriangular", "upperTriangular", "matrixBandPart", "embeddingND",
}  # fmt: skip
"""Kinds whose operators came later than 13."""


def first_rows() -> list[Case]:
    seen: dict[str, Case] = {}
    for case in RUNS:
        if not case.kind.startswith(("random", "categorical")):
            seen.setdefault(case.kind, case)
    more = [case for case in RUNS if case.kind in ("gelu", "layerNormalization", "reduceMax")]
    return [*seen.values(), *more, *(case for case in RUNS if case.kind == "pooling" and "L2" in case.note)]


def graph_of(case: Case) -> Any:
    model = case.model()
    inputs = dict(zip(case.layer().input, [a.shape for a in case.arrays()], strict=True))
    g, lowerer = lower(model.neuralNetwork, Weights(), inputs, rank5=case.rank5)
    for name in case.layer().output:
        g.output(g.float(lowerer.blobs[name].nd(g)), name)
    return g.graph


def answers(graph: Any, case: Case) -> list[Any]:
    proto = write(graph, inline=None).model
    onnx.checker.check_model(proto, full_check=True)
    assert proto.opset_import[0].version == graph.opset
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    given = {f"x{index}": array for index, array in enumerate(case.arrays())}
    return session.run(None, {value.name: given[value.name] for value in session.get_inputs()})


def refusal(graph: Any, opset: int) -> str | None:
    try:
        opsets.convert(graph, opset)
    except UnsupportedError as error:
        return str(error)
    return None


@pytest.mark.parametrize("opset", [13, 17, 22, 24])
def test_rows_of_every_kind(opset: int) -> None:
    met, refused = 0, []
    for case in first_rows():
        wanted = answers(graph_of(case), case)
        graph = graph_of(case)
        problem = refusal(graph, opset)
        if problem is not None:
            assert f"layer 'layer' ({case.kind})" in problem
            assert f"operator set {opset}" in problem
            refused.append(case.kind)
            continue
        for got, value in zip(answers(graph, case), wanted, strict=True):
            np.testing.assert_allclose(got, value, rtol=1e-5, atol=1e-5, err_msg=case.id)
        met += 1
    # what is missing is listed: a kind that newly fails is noticed
    assert set(refused) <= (MODERN if opset < 18 else set()), refused
    assert met > 130


def test_outside_the_range() -> None:
    g = Builder()
    g.output(g.Relu(g.input("x", np.float32, [2])))
    for opset in (12, 25):
        with pytest.raises(UnsupportedError, match="between 13 and 24"):
            opsets.convert(g.graph, opset)


def test_an_attribute_that_was_not_there_before() -> None:
    g = Builder()
    x = g.input("x", np.float32, [1, 1, 5, 5])
    with g.scope("pool", "layer 'pool'"):
        g.output(g.AveragePool(x, kernel_shape=[2, 2], dilations=[2, 2]))
    with pytest.raises(UnsupportedError, match=r"layer 'pool': operator set 17 has no dilations of AveragePool"):
        opsets.convert(g.graph, 17)


@pytest.mark.parametrize("opset", [13, 24])
def test_inputs_that_must_be_named_though_they_are_absent(opset: int) -> None:
    g = Builder()
    x = g.input("x", np.float32, [2])
    body = g.subgraph("body")
    body.input("round", np.int64, [])
    going = body.input("going", np.bool_, [])
    body.output(body.append("Identity", [going], {}, [(going.dtype, ())]))
    body.output(body.Mul(x, x))
    g.output(g.append("Loop", [g.constant(np.int64(3)), None], {"body": body.graph}, [(x.dtype, (3, 2))]), "y")
    opsets.convert(g.graph, opset)
    proto = write(g.graph, inline=None).model
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    np.testing.assert_array_equal(session.run(None, {"x": np.float32([2, 3])})[0], [[4, 9]] * 3)


def test_bodies_are_converted_too() -> None:
    g = Builder()
    x = g.input("x", np.float32, [3, 4])
    sides = []
    for axis in (0, 1):
        body = g.subgraph(f"side{axis}")
        body.output(body.ReduceMax(x, [axis], keepdims=1))
        sides.append(body.graph)
    flag = g.Greater(g.ReduceMax(x, keepdims=0), np.float32(0))
    bodies = {"then_branch": sides[0], "else_branch": sides[1]}
    g.output(g.append("If", [flag], bodies, [(np.dtype("float32"), (None, None))]), "y")
    opsets.convert(g.graph, 13)
    proto = write(g.graph, inline=None).model
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    value = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(session.run(None, {"x": value})[0], value.max(0, keepdims=True))
    np.testing.assert_array_equal(session.run(None, {"x": -value - 1})[0], (-value - 1).max(1, keepdims=True))
