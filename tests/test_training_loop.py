"""The training loop: settings, callbacks, results, layouts of batches, warnings and refusals."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin
from make import ADAM, SGD, dense, network, updatable
from pippin.coreml import wire
from pippin.coreml.read import read
from pippin.errors import CheckError, InputError, RunError
from pippin.training import check_gradients, train
from shared import SHARED, needs_shared

EXAMPLES = Path(__file__).parents[1] / "examples"
DIGITS = EXAMPLES / "digits-untrained.mlmodel"
RANDOM = np.random.default_rng(0)


def linear(optimizer: Any = SGD, weights: Any = ((0.5, -1.0),), bias: Any = (0.25,), **how: Any) -> Any:
    layer = ("innerProduct", dense(weights, bias), ["x"], ["y"])
    return updatable(network([layer], {"x": [2]}, ["y"], exact=False), optimizer=optimizer, **how)


def weights(result: Any) -> dict[str, list[float]]:
    """All trained weights of a result, by layer and field."""
    document = result.document if hasattr(result, "document") else read(result)
    found = {}
    for layer in document.network.layers:
        params = getattr(layer, layer.WhichOneof("layer"))
        for field in ("weights", "bias"):
            if hasattr(params, field) and getattr(params, field).isUpdatable:
                found[f"{layer.name}/{field}"] = pippin.Model(document).weights.flat(getattr(params, field)).tolist()
    return found


X = np.float32([[1, 2], [3, -1]])
T = np.float32([[1], [-2]])


# -- numbers by hand --------------------------------------------------------------------------------------------------


def test_mean_squared_error_and_sgd_by_hand() -> None:
    """Two samples, w = (.5, -1), b = .25: y = (-1.25, 2.75), y - t = (-2.25, 4.75)."""
    result = train(linear({**SGD, "momentum": 0.5}).SerializeToString(), {"x": X, "t": T}, epochs=2)
    assert result.history[0]["loss"] == pytest.approx((2.25**2 + 4.75**2) / 2)
    w, b = np.array([0.5, -1.0]), 0.25
    velocity = np.zeros(3)
    for _ in range(2):
        error = X @ w + b - T.ravel()
        gradient = np.array([*(2 / 2 * error @ X), 2 / 2 * error.sum()])
        velocity = 0.5 * velocity + gradient
        w, b = w - 0.1 * velocity[:2], b - 0.1 * velocity[2]
    found = weights(result)
    np.testing.assert_allclose(found["innerProduct0/weights"], w, rtol=1e-5)
    np.testing.assert_allclose(found["innerProduct0/bias"], [b], rtol=1e-5)


def test_mean_squared_error_is_a_mean_over_all_numbers() -> None:
    layer = ("innerProduct", dense(np.zeros((3, 2)), np.zeros(3)), ["x"], ["y"])
    model = updatable(network([layer], {"x": [2]}, ["y"], exact=False), shape=[3])
    target = np.float32([[1, 2, 3], [4, 5, 6]])
    result = train(model.SerializeToString(), {"x": X, "t": target}, epochs=1)
    assert result.history[0]["loss"] == pytest.approx(float((target**2).mean()))


def test_adam_by_hand() -> None:
    """Three steps by the formulas; the first one moves each weight by the learning rate, whatever its gradient."""
    result = train(linear(ADAM).SerializeToString(), {"x": X, "t": T}, epochs=3)
    w = np.array([0.5, -1.0, 0.25])
    m, v = np.zeros(3), np.zeros(3)
    for step in range(1, 4):
        error = X @ w[:2] + w[2] - T.ravel()
        d = np.array([*(error @ X), error.sum()])
        m, v = 0.9 * m + 0.1 * d, 0.999 * v + 0.001 * d * d
        w = w - 0.01 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        if step == 1:
            np.testing.assert_allclose(np.abs(w - [0.5, -1.0, 0.25]), 0.01, rtol=1e-6)
    found = weights(result)
    np.testing.assert_allclose(found["innerProduct0/weights"] + found["innerProduct0/bias"], w, rtol=1e-5)


def entropy(**how: Any) -> Any:
    layers = [("innerProduct", dense(np.eye(3) * 40), ["x"], ["z"]), ("softmax", {}, ["z"], ["y"])]
    return updatable(network(layers, {"x": [3]}, ["y"], exact=False), loss="entropy", **how).SerializeToString()


def test_cross_entropy_is_finite_and_learns_where_the_probability_is_0() -> None:
    """A sample that is utterly wrong costs -log 10⁻¹² and pulls with its full weight."""
    result = train(entropy(), {"x": np.float32([[10, 0, 0]]), "t": [1]}, epochs=1)
    assert result.history[0]["loss"] == pytest.approx(-np.log(1e-12), rel=1e-6)
    assert result.history[0]["accuracy"] == 0.0
    w = np.array(weights(result)["innerProduct0/weights"]).reshape(3, 3)
    np.testing.assert_allclose(w - np.eye(3) * 40, 0.1 * np.outer([-1, 1, 0], [10, 0, 0]), atol=1e-5)


# -- settings ---------------------------------------------------------------------------------------------------------


def test_what_the_user_chooses_goes_first() -> None:
    result = train(linear().SerializeToString(), {"x": X, "t": T}, epochs=1, learning_rate=0.5, batch_size=1, seed=3)
    settings = result.settings.as_json()
    assert (settings["epochs"], settings["learning_rate"], settings["batch_size"], settings["seed"]) == (1, 0.5, 1, 3)


def test_allowed_values_bind_the_user_unless_beyond() -> None:
    model = linear()
    update = model.neuralNetwork.updateParams
    update.epochs.set.values.extend([3, 5])
    sgd = update.optimizer.sgdOptimizer
    sgd.learningRate.range.minValue, sgd.learningRate.range.maxValue = 0.01, 0.2
    sgd.miniBatchSize.range.minValue, sgd.miniBatchSize.range.maxValue = 2, 8
    source, data = model.SerializeToString(), {"x": X, "t": T}
    assert len(train(source, data, epochs=5, learning_rate=0.2, batch_size=2).history) == 5
    for choice, message in (
        ({"epochs": 4}, r"one of \[3, 5\], as the file says, got 4"),
        ({"learning_rate": 0.3}, "between 0.01 and 0.2"),
        ({"batch_size": 9}, "between 2 and 8"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            train(source, data, **choice)
        assert "beyond" in caught.value.hint
        train(source, data, **{"epochs": 3, **choice}, beyond=True)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"epochs": 0}, "1 or more"),
        ({"epochs": 1.5}, "whole number"),
        ({"batch_size": -1}, "1 or more"),
        ({"learning_rate": 0.0}, "above 0"),
        ({"learning_rate": float("nan")}, "above 0"),
        ({"learning_rate": "fast"}, "must be a number"),
        ({"momentum": -0.1}, "0 or more"),
        ({"beta1": 0.5}, "has no beta1"),
        ({"resume": True}, "needs a checkpoint"),
    ],
)
def test_impossible_choices(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train(linear().SerializeToString(), {"x": X, "t": T}, **choice)


@pytest.mark.parametrize(
    ("break_", "message"),
    [
        (lambda m: setattr(m, "isUpdatable", False), "isUpdatable must be set"),
        (lambda m: m.neuralNetwork.updateParams.ClearField("lossLayers"), "1 loss layer"),
        (lambda m: m.neuralNetwork.updateParams.optimizer.Clear(), "sgdOptimizer or adamOptimizer"),
        (lambda m: m.neuralNetwork.updateParams.ClearField("epochs"), "epochs"),
        (lambda m: setattr(m.neuralNetwork.layers[0], "isUpdatable", False), "isUpdatable"),
    ],
)
def test_files_that_cannot_be_trained(break_: Any, message: str) -> None:
    model = linear()
    break_(model)
    with pytest.raises(CheckError, match=message):
        train(model.SerializeToString(), {"x": X, "t": T})


def test_shuffling_depends_on_the_seed_alone() -> None:
    data = {"x": RANDOM.standard_normal((20, 2)).astype(np.float32), "t": RANDOM.standard_normal(20)}
    source = linear(shuffle=True, seed=5).SerializeToString()
    first, again = train(source, data), train(source, data)
    assert first.to_bytes() == again.to_bytes()
    assert weights(train(source, data, seed=6)) != weights(first)
    plain = weights(train(source, data, shuffle=False))
    assert plain == weights(train(linear().SerializeToString(), data)) != weights(first)


# -- results ----------------------------------------------------------------------------------------------------------


def test_only_the_trained_weights_differ(tmp_path: Path) -> None:
    layers = [
        ("innerProduct", dense(RANDOM.standard_normal((4, 2)), [0.1] * 4), ["x"], ["a"]),
        ("activation", {"tanh": {}}, ["a"], ["b"]),
        ("innerProduct", dense(RANDOM.standard_normal((1, 4)), [0.7]), ["b"], ["y"]),
    ]
    model = updatable(network(layers, {"x": [2]}, ["y"], exact=False), layers=[2])
    source = tmp_path / "a.mlmodel"
    source.write_bytes(model.SerializeToString())
    result = train(source, {"x": X, "t": T})
    result.save(tmp_path / "b.mlmodel")
    before, after = source.read_bytes(), (tmp_path / "b.mlmodel").read_bytes()
    assert len(before) == len(after)
    assert after == result.to_bytes()
    changed = np.flatnonzero(np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8))
    document = read(before)
    params = document.network.layers[2].innerProduct
    views = [document.views[i].data for p in (params.weights, params.bias) for i in p.pippinView]
    places: set[int] = set()
    for view in views:
        start = before.index(bytes(view))
        places |= set(range(start, start + len(view)))
    assert changed.size
    assert set(changed.tolist()) <= places
    assert document.model == read(after).model, "nothing but weights changes"
    assert pippin.check(tmp_path / "b.mlmodel").ok
    assert result.model.predict({"x": X[0]})["y"] == pippin.load(after).predict({"x": X[0]})["y"]


def test_weights_in_several_runs_of_bytes_keep_their_places() -> None:
    """A list of floats may be cut into several packed runs and single floats; the written file has the same runs."""
    model = linear()
    params = model.neuralNetwork.layers[0].innerProduct
    params.weights.floatValue[:] = []
    params.weights.MergeFromString(b"\x0a\x04\x00\x00\x00\x3f" + b"\x0d\x00\x00\x80\xbf")  # one packed, one single
    source = b"".join(_unpacked(model))
    views = len(read(source).views)
    result = train(source, {"x": X, "t": T}, epochs=1)
    again = read(result.to_bytes())
    assert len(again.views) == views
    assert weights(result) == weights(train(linear().SerializeToString(), {"x": X, "t": T}, epochs=1))


def _unpacked(model: Any) -> Any:
    return wire.splice(model, [])


def test_float16_weights_stay_float16(caplog: pytest.LogCaptureFixture) -> None:
    model = linear()
    params = model.neuralNetwork.layers[0].innerProduct
    for field, values in ((params.weights, [0.5, -1.0]), (params.bias, [0.25])):
        field.floatValue[:] = []
        field.float16Value = np.float16(values).tobytes()
    result = train(model.SerializeToString(), {"x": X, "t": T}, epochs=1)
    exact = weights(train(linear().SerializeToString(), {"x": X, "t": T}, epochs=1))
    for name, values in weights(result).items():
        assert values == np.float16(exact[name]).astype(np.float32).tolist()
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        train(model.SerializeToString(), {"x": X * 3e4, "t": T}, epochs=1)
    assert "do not fit into float16" in caplog.text


def test_history_validation_and_callbacks() -> None:
    batches, epochs = [], []
    result = train(
        DIGITS,
        f"{EXAMPLES}/digits.npz:train",
        epochs=2,
        validation=f"{EXAMPLES}/digits.npz:held-out",
        on_batch=lambda progress: batches.append((progress.epoch, progress.batch, progress.batches)),
        on_epoch=lambda progress: epochs.append(progress.record),
    )
    assert batches[0] == (1, 1, 45)
    assert batches[-1] == (2, 45, 45)
    assert epochs == result.history
    assert set(result.history[0]) == {
        "epoch", "loss", "accuracy", "validation_loss", "validation_accuracy", "samples", "seconds",
    }  # fmt: skip
    assert result.history[1]["loss"] < result.history[0]["loss"]
    # told accuracy is what the finished network reaches
    with np.load(EXAMPLES / "digits.npz") as held:
        images, digits = held["held-out/image"], held["held-out/digit"]
    answers = result.model.predict([{"image": image} for image in images])
    right = float(np.mean([answer["digit"] == digit for answer, digit in zip(answers, digits, strict=True)]))
    assert right == pytest.approx(result.history[-1]["validation_accuracy"])


@pytest.mark.parametrize("when", ["on_batch", "on_epoch"])
def test_stopping_early(when: str) -> None:
    result = train(linear().SerializeToString(), {"x": X, "t": T}, epochs=5, **{when: lambda p: p.stop()})
    assert result.stopped
    assert len(result.history) == 1


def test_what_a_callback_raises_comes_out() -> None:
    def fail(_: Any) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        train(linear().SerializeToString(), {"x": X, "t": T}, on_batch=fail)


# -- gradients that go astray -----------------------------------------------------------------------------------------


def test_an_exploding_loss_ends_with_the_layer() -> None:
    with pytest.raises(RunError, match=r"'innerProduct0' \(innerProduct\): the loss became") as caught:
        train(linear().SerializeToString(), {"x": X * 1e3, "t": T}, epochs=30)
    assert "learning rate" in caught.value.hint


def test_a_layer_that_does_not_learn_is_named() -> None:
    layers = [
        ("innerProduct", dense([[1.0, 1.0]], [-50]), ["x"], ["a"]),
        ("activation", {"ReLU": {}}, ["a"], ["b"]),
        ("innerProduct", dense([[1.0]], [0]), ["b"], ["y"]),
    ]
    model = updatable(network(layers, {"x": [2]}, ["y"], exact=False))
    result = train(model.SerializeToString(), {"x": X, "t": T})
    assert [w for w in result.warnings if w.startswith("layer 'innerProduct0' (innerProduct): the gradient vanishes")]
    assert len(result.warnings) == len(set(result.warnings))


def test_gradients_that_vanish_and_explode_are_told() -> None:
    deep = [("innerProduct", dense(np.eye(2)), ["x"], ["a0"])]
    for index in range(12):
        deep += [("activation", {"sigmoid": {}}, [f"a{index}"], [f"s{index}"])]
        deep += [("innerProduct", dense(np.eye(2) * 0.3), [f"s{index}"], [f"a{index + 1}"])]
    deep += [("innerProduct", dense([[1.0, 1.0]]), ["a12"], ["y"])]
    model = updatable(network(deep, {"x": [2]}, ["y"], exact=False))
    result = train(model.SerializeToString(), {"x": X, "t": T}, epochs=1)
    assert "layer 'innerProduct0' (innerProduct): the gradient vanishes" in result.warnings[0]
    large = train(linear().SerializeToString(), {"x": X * 1e4, "t": T}, epochs=1, learning_rate=1e-12)
    assert "the gradient explodes" in large.warnings[0]


# -- real files -------------------------------------------------------------------------------------------------------


@needs_shared
def test_a_line_is_learned() -> None:
    x = np.random.default_rng(0).uniform(-1, 3, 3000).astype(np.float32)
    result = train(SHARED / "models/lin-updatable.mlmodel", {"dense_input": x, "output_true": 2 * x + 1.5})
    answers = [float(result.model.predict({"dense_input": [v]})["output"][0]) for v in (0.0, 1.0, 2.0)]
    assert answers == pytest.approx([1.5, 3.5, 5.5], abs=1e-3)


@needs_shared
def test_a_house_price_model_trains() -> None:
    path = SHARED / "models/house-trainable.mlmodel"
    random = np.random.default_rng(0)
    numbers = random.standard_normal((256, 11)).astype(np.float32)
    kinds = random.integers(0, 2, 256), random.integers(0, 4, 256)
    price = numbers @ random.standard_normal(11) + 5 * kinds[0] - 2 * kinds[1] + 20
    data = {"numericalInput": numbers, "categoricalInput1": kinds[0], "categoricalInput2": kinds[1]}
    data["output_true"] = price.astype(np.float32)
    result = train(path, data, epochs=20, beyond=True)
    assert result.history[-1]["loss"] < 0.1 * result.history[0]["loss"]
    assert check_gradients(path, data).ok
    assert read(path).model == result.document.model


# -- numbers that are none ---------------------------------------------------------------------------------------------


def test_weights_that_are_no_numbers_end_a_training_too() -> None:
    """The loss of the only batch is finite, but its update is not."""
    with pytest.raises(RunError, match=r"'innerProduct0' \(innerProduct\): weights became infinite or nan") as caught:
        train(linear().SerializeToString(), {"x": X * 1e18, "t": T}, epochs=1, learning_rate=1e30, beyond=True)
    assert "learning rate" in caught.value.hint


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e39])
def test_data_that_is_no_number_is_told_as_such(value: float) -> None:
    """It is not the gradients that exploded."""
    source = linear().SerializeToString()
    x = np.array([[1, 2], [value, 1]])
    with pytest.raises(InputError, match="input 'x': sample 1 of epoch 1, batch 1 holds values that are no finite"):
        train(source, {"x": x, "t": T})
    with pytest.raises(InputError, match=r"target 't': the target must be finite numbers .* sample 1"):
        train(source, {"x": X, "t": [1.0, value]})
    with pytest.raises(InputError, match="input 'x': sample 1 of a batch of the validation"):
        train(source, {"x": X, "t": T}, validation={"x": x, "t": T})


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"epochs": np.nan}, "whole number of 1 or more, got nan"),
        ({"batch_size": np.inf}, "whole number of 1 or more, got inf"),
        ({"epochs": np.array([1, 2])}, "whole number"),
        ({"learning_rate": np.array([1, 2])}, "must be a number"),
        ({"seed": 1 << 63}, "whole number from -9223372036854775808 to"),
        ({"shuffle": "no"}, "shuffle must be True or False, got 'no'"),
        ({"resize": "smaller"}, "resize rule must be one of crop"),
    ],
)
def test_more_impossible_choices(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train(linear().SerializeToString(), {"x": X, "t": T}, **choice)


@pytest.mark.parametrize("factor", [1.01, 0.0, -1.0])
def test_a_wrong_gradient_is_found(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    """One rule is broken on purpose: the check names the weights that it spoils, and those alone."""
    from pippin.graph.gradient import convolution

    right = convolution.kernel_gradient
    data = f"{EXAMPLES}/digits.npz:train"
    assert check_gradients(DIGITS, data).ok
    monkeypatch.setattr(convolution, "kernel_gradient", lambda g, *rest: g.Mul(right(g, *rest), factor))
    found = check_gradients(DIGITS, data)
    assert not found.ok
    assert not found.as_json()["ok"]
    assert {row.name for row in found.rows if not row.ok} == {"conv1/weights", "conv2/weights"}


def test_a_wrong_loss_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from pippin.training import losses

    monkeypatch.setattr(losses, "TINY", 1e-2)
    assert not check_gradients(DIGITS, f"{EXAMPLES}/digits.npz:train").ok
