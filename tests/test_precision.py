"""Narrow types: what overflows, what vanishes, how far answers drift, layer by layer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import pippin
from cases import normal
from make import add, network
from pippin.analysis import precision, samples
from pippin.analysis.difference import difference
from pippin.cli import cli
from pippin.coreml.export import export
from pippin.graph.rounding import EPSILON, LARGEST, is_exact, rounded

ROOT = Path(__file__).resolve().parents[1]
DIGITS = ROOT / "examples/digits.mlmodel"


def load(layers: list[Any], shape: list[int], exact: bool = True) -> Any:
    return pippin.load(network(layers, {"x": shape}, ["y"], exact=exact).SerializeToString())


def test_rounding() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")  # comes with onnx
    generator = np.random.default_rng(0)
    values = (generator.standard_normal(4000) * 10.0 ** generator.integers(-44, 38, 4000)).astype(np.float32)
    values = np.concatenate([values, np.float32([0, -0.0, np.inf, -np.inf, 3.4e38, 65504, 65519, 65520, 1e-45])])
    with np.errstate(over="ignore"):
        half = values.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(rounded(values, "float16"), half)
    np.testing.assert_array_equal(rounded(values, "bfloat16"), values.astype(ml_dtypes.bfloat16).astype(np.float32))
    assert np.isnan(rounded(np.float32([np.nan]), "bfloat16")).all()
    for kind in ("float16", "bfloat16"):
        assert rounded(np.float32([LARGEST[kind]]), kind)[0] == np.float32(LARGEST[kind])
        assert rounded(np.float32([1 + EPSILON[kind]]), kind)[0] == np.float32(1 + EPSILON[kind])
        assert rounded(np.float32([1 + EPSILON[kind] / 4]), kind)[0] == 1
        assert is_exact(rounded(values, kind), kind)
        assert not is_exact(values, kind)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("form", ["coreml", "onnx"])
def test_layers_read_rounded_values(kind: Any, form: str, tmp_path: Path) -> None:
    """By hand: a matrix product of rounded weights and inputs, rounded, then its square, rounded."""
    weights = normal(8, 16)
    layers = [
        ("innerProduct", {"inputChannels": 16, "outputChannels": 8, "weights": weights}, ["x"], ["a"]),
        ("unary", {"type": "POWER", "alpha": 2}, ["a"], ["y"]),
    ]
    model = load(layers, [16], exact=False)
    if form == "onnx":
        export(model, tmp_path / "m.onnx")
        model = pippin.load(tmp_path / "m.onnx")
    x = normal(16)
    found = precision.narrow(model, {"x": x}, kind)
    first = rounded(rounded(weights, kind) @ rounded(x, kind), kind)
    second = rounded(first * first, kind)
    np.testing.assert_allclose(found.values["y"].reshape(-1), second, rtol=EPSILON[kind])
    assert not np.allclose(found.values["y"].reshape(-1), np.square(weights @ x), rtol=EPSILON[kind] / 8)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_blobs_are_those_of_the_precision(kind: Any) -> None:
    weights = normal(8, 16)
    layers = [
        ("innerProduct", {"inputChannels": 16, "outputChannels": 8, "weights": weights}, ["x"], ["a"]),
        ("unary", {"type": "POWER", "alpha": 2}, ["a"], ["y"]),
    ]
    made = network(layers, {"x": [16]}, ["y"], exact=False).SerializeToString()
    model, x = pippin.load(made, precision=kind), normal(16)
    blobs = model.blobs({"x": x})
    np.testing.assert_array_equal(blobs["y"].reshape(-1), model.predict({"x": x})["y"].reshape(-1))
    for name in ("x", "a", "y"):
        assert is_exact(blobs[name], kind), name
    assert not is_exact(pippin.load(made).blobs({"x": x})["a"], kind)
    first = rounded(rounded(weights, kind) @ rounded(x, kind), kind)
    np.testing.assert_allclose(blobs["a"].reshape(-1), first, rtol=EPSILON[kind])


def test_overflow_and_underflow_are_told_by_layer() -> None:
    layers = [
        ("activation", {"linear": {"alpha": 1000}}, ["x"], ["big"]),
        ("activation", {"linear": {"alpha": 1e-9}}, ["x"], ["small"]),
        ("activation", {"linear": {"alpha": 1e-3}}, ["big"], ["y"]),
    ]
    model = load(layers, [4])
    found = precision.narrow(model, {"x": np.float32([100, 1, 60, 70])}, "float16")
    effects = {effect.name: effect for effect in found.effects}
    assert (effects["big"].overflow, effects["big"].underflow) == (2, 0)
    assert (effects["small"].overflow, effects["small"].underflow) == (0, 1)
    assert effects["big"].place == "layer 'activation0' (activation)"
    assert [effect.name for effect in found.overflows()] == ["big"]
    assert np.isinf(found.values["y"][[0, 3]]).all()
    assert "inf" in found.outputs["y"].problem
    wide = precision.narrow(model, {"x": np.float32([100, 1, 60, 70])}, "bfloat16")
    assert wide.overflows() == []


@pytest.mark.parametrize(
    ("kind", "params", "value", "reaches"),
    [
        ("reduceLogSumExp", {"axes": [1], "keepDims": True}, 7.65, True),
        ("reduceLogSumExp", {"axes": [1], "keepDims": True}, 7.5, False),
        ("reduceLogSumExp", {"reduceAll": True}, 7.5, True),
        ("reduceL2", {"axes": [-1]}, 46.0, True),
        ("reduceL2", {"axes": [-1]}, 44.0, False),
    ],
)
def test_sums_inside_of_layers(kind: str, params: Any, value: float, reaches: bool) -> None:
    """32 numbers: exp(7.65) x 32 = 67,200 is more than float16 holds, log of it is 11.1."""
    model = load([(kind, params, ["x"], ["y"])], [2, 32])
    found = precision.narrow(model, {"x": np.full((2, 32), value, np.float32)}, "float16")
    (effect,) = [effect for effect in found.effects if effect.name == "y"]
    assert effect.overflow == 0
    assert bool(effect.inside) == reaches
    assert bool(found.overflows()) == reaches


@pytest.mark.parametrize("form", ["coreml", "onnx"])
def test_weights_alone(form: str, tmp_path: Path) -> None:
    weights, x = normal(8, 16), normal(16)
    layers = [("innerProduct", {"inputChannels": 16, "outputChannels": 8, "weights": weights}, ["x"], ["y"])]
    model = load(layers, [16], exact=False)
    if form == "onnx":
        export(model, tmp_path / "m.onnx")
        model = pippin.load(tmp_path / "m.onnx")
    found = precision.narrow(model, {"x": x}, "float16", weights_only=True)
    wanted = rounded(weights, "float16") @ x
    np.testing.assert_allclose(found.values["y"].reshape(-1), wanted, rtol=1e-5, atol=1e-6)
    assert not np.allclose(wanted, weights @ x, rtol=1e-5, atol=1e-6)
    assert not is_exact(found.values["y"], "float16")


def test_weights_that_vanish() -> None:
    weights = np.ones((4, 4), np.float32)
    weights[0, :3] = 1e-8
    weights[1, 0] = 1e6
    layers = [("innerProduct", {"inputChannels": 4, "outputChannels": 4, "weights": weights}, ["x"], ["y"])]
    found = precision.narrow(load(layers, [4], exact=False), {"x": np.zeros(4)}, "float16")
    assert found.weights == [precision.Lost("innerProduct0/weights", 16, 3, 1)]
    assert precision.narrow(load(layers, [4], exact=False), {"x": np.zeros(4)}, "bfloat16").weights == []


def test_nested_networks_are_rounded_too() -> None:
    message = network([("branch", {}, ["flag"], [])], {"flag": [1], "x": [3]}, ["y"])
    for side, alpha in (("ifBranch", 1 / 3), ("elseBranch", 2 / 3)):
        net = getattr(message.neuralNetwork.layers[0].branch, side)
        layer = net.layers.add(name="third", input=["x"], output=["t"])
        layer.activation.linear.alpha = alpha
        layer = net.layers.add(name="back", input=["t"], output=["y"])
        layer.activation.linear.alpha = 3
    model = pippin.load(message.SerializeToString())
    found = precision.narrow(model, {"flag": [1], "x": np.float32([1, 10, 100])}, "bfloat16")
    wanted = rounded(3 * rounded(np.float32([1, 10, 100]) / 3, "bfloat16"), "bfloat16")
    np.testing.assert_array_equal(found.values["y"], wanted)


def test_report() -> None:
    model = pippin.load(DIGITS)
    found = precision.narrow(model, samples.sample(model), "float16")
    content = found.to_dict()
    json.dumps(content, allow_nan=False)
    assert {entry["name"] for entry in content["layers"]} >= {"conv1", "conv2", "probabilities"}
    worst = found.worst(2)
    assert worst[0].share >= worst[1].share
    done = CliRunner().invoke(cli, ["compare", str(DIGITS), "--precision", "float16", "--tolerance", "0.01"])
    assert done.exit_code == 0, done.output
    assert "with every blob and weight in float16" in done.output
    assert "underflow at" in done.output
    done = CliRunner().invoke(cli, ["compare", str(DIGITS), "--precision", "bfloat16"])
    assert done.exit_code == 1
    assert "likely cause: bfloat16" in done.output


def carried(rounds: int, factor: float = 10.0, behind: float = 2.0) -> Any:
    """x times ``factor`` in each round of a loop, and a layer behind it."""
    layers = [
        ("copy", {}, ["x"], ["s"]),
        ("loop", {"maxLoopIterations": rounds}, [], []),
        ("activation", {"linear": {"alpha": behind}}, ["s"], ["y"]),
    ]
    message = network(layers, {"x": [2]}, ["s", "y"])
    body = [("activation", {"linear": {"alpha": factor}}, ["s"], ["t"]), ("copy", {}, ["t"], ["s"])]
    add(message.neuralNetwork.layers[1].loop.bodyNetwork, body)
    return pippin.load(message.SerializeToString())


def test_what_a_loop_carries_is_its_last_value() -> None:
    model, data = carried(3), {"x": [1.25, 2.0]}
    found = precision.narrow(model, data, "float16")
    assert {name: value.tolist() for name, value in found.values.items()} == {
        "x": [1.25, 2.0], "s": [1250, 2000], "t": [1250, 2000], "y": [2500, 4000],
    }  # fmt: skip
    assert all(entry.ok for entry in found.outputs.values())
    assert not found.overflows()


def test_overflow_inside_of_a_loop_is_told() -> None:
    found = precision.narrow(carried(6), {"x": [1.0, 0.01]}, "float16")
    assert [(effect.name, effect.overflow, effect.place) for effect in found.overflows()] == [
        ("s", 1, "layer 'loop1' (loop)"),
        ("t", 1, "layer 'loop1' (loop)"),
    ]
    # what comes in infinite is not the loop's doing
    found = precision.narrow(carried(1), {"x": [1e6, 1.0]}, "float16")
    assert [effect.name for effect in found.overflows()] == ["x"]


def test_layers_around_a_loop_are_judged_by_themselves() -> None:
    from pippin.analysis.compare import compare

    found = compare(carried(3), carried(3, behind=3), {"x": [1, 2]})
    assert found.departure is not None
    assert (found.departure.place, found.departure.others) == ("layer 'activation2' (activation)", 0)
    assert {step.pair.a: step.alone and step.alone.ok for step in found.steps} == {
        "x": True, "s": None, "t": None, "y": False,
    }  # fmt: skip
    found = compare(carried(3), carried(3, factor=9), {"x": [1, 2]})
    assert found.departure is not None
    assert found.departure.place == "layer 'loop1' (loop)"


def test_how_much_rounding_explains() -> None:
    def off(values: Any) -> Any:
        return difference("y", np.asarray(values, np.float64), np.ones(100))

    effect = off(np.full(100, 1.001))
    assert precision.explains(off(np.full(100, 1.003)), effect, 1e-4)
    assert not precision.explains(off(np.full(100, 1.01)), effect, 1e-4)
    # one number may be as far off as another was, all of them may not
    one = np.ones(100)
    one[7] = 1.01
    assert precision.explains(off(one), off(one), 1e-4)
    assert not precision.explains(off(np.full(100, 1.01)), off(one), 1e-4)
    assert precision.explains(off(np.ones(100)), effect, 1e-4) is None
    assert precision.explains(off(np.ones(99)), effect, 1e-4) is None
    assert precision.explains(off(np.full(100, 1.003)), off(np.full(100, np.inf)), 1e-4) is False
