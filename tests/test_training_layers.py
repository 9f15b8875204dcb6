"""Layers that gradients flow through in training, and how samples lie in a batch."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import pippin
from make import ADAM, add, dense, network, updatable
from pippin.coreml.read import read
from pippin.errors import CheckError, InputError, UnsupportedError
from pippin.training import check_gradients, train
from pippin.training.step import Problem
from pippin.training.trainer import Trainer
from test_training_loop import RANDOM, T, X, linear, weights

# -- layers -----------------------------------------------------------------------------------------------------------


def test_more_layers_than_devices_know_have_derivatives(caplog: pytest.LogCaptureFixture) -> None:
    layers = [
        ("innerProduct", dense(np.eye(2)), ["x"], ["a"]),
        ("activation", {"leakyReLU": {"alpha": 0.1}}, ["a"], ["b"]),
        ("innerProduct", dense([[1.0, 2.0]]), ["b"], ["y"]),
    ]
    model = updatable(network(layers, {"x": [2]}, ["y"], exact=False))
    with caplog.at_level(logging.WARNING):
        result = train(model.SerializeToString(), {"x": X, "t": T}, epochs=2, learning_rate=0.01)
    assert result.history[1]["loss"] < result.history[0]["loss"]
    assert "a device would refuse" in caplog.text


@pytest.mark.parametrize("kind", ["round", "floor", "ceil", "sign"])
def test_a_layer_without_a_derivative_is_named(kind: str) -> None:
    layers = [
        ("innerProduct", dense(np.eye(2)), ["x"], ["a"]),
        (kind, {}, ["a"], ["b"]),
        ("innerProduct", dense([[1.0, 2.0]]), ["b"], ["y"]),
    ]
    model = updatable(network(layers, {"x": [2]}, ["y"]))
    with pytest.raises(UnsupportedError, match=rf"layer '{kind}1' \({kind}\): no gradient flows through") as caught:
        train(model.SerializeToString(), {"x": X, "t": T})
    assert "choose layers" in caught.value.hint


def test_a_layer_that_the_loss_does_not_depend_on_is_named() -> None:
    layers = [
        ("innerProduct", dense(np.eye(2)), ["x"], ["a"]),
        ("innerProduct", dense([[1.0, 2.0]]), ["x"], ["y"]),
    ]
    model = updatable(network(layers, {"x": [2]}, ["y", "a"], exact=False))
    with pytest.raises(UnsupportedError, match=r"'innerProduct0' \(innerProduct\): the loss does not depend"):
        train(model.SerializeToString(), {"x": X, "t": T})


def lstm(hidden: int = 3, *, sequence: bool = False, **params: Any) -> Any:
    random = np.random.default_rng(2)

    def values(*shape: int) -> dict[str, Any]:
        return {"floatValue": (random.standard_normal(shape) * 0.5).ravel().tolist()}

    gates = ("input", "forget", "output")
    w: dict[str, Any] = {}
    for gate, block in (*((g, f"{g}Gate") for g in gates), ("block", "blockInput")):
        w[f"{block}WeightMatrix"] = values(hidden, 2)
        w[f"{block}RecursionMatrix"] = values(hidden, hidden)
        w[f"{block}BiasVector"] = values(hidden)
        if gate != "block":
            w[f"{block}PeepholeVector"] = values(hidden)
    functions = [{"sigmoid": {}}, {"tanh": {}}, {"tanh": {}}]
    flags = {
        "hasBiasVectors": True,
        "hasPeepholeVectors": True,
        "forgetBias": True,
        "sequenceOutput": sequence,
        **params,
    }
    layer = {
        "inputVectorSize": 2, "outputVectorSize": hidden, "activations": functions, "params": flags, "weightParams": w,
    }  # fmt: skip
    layers = [
        ("uniDirectionalLSTM", layer, ["x"], ["h", "last", "cell"]),
        ("innerProduct", dense(random.standard_normal((1, hidden)), [0]), ["h"], ["y"]),
    ]
    return updatable(network(layers, {"x": [2]}, ["y"], exact=False), optimizer=ADAM)


@pytest.mark.parametrize(
    "how", [{}, {"sequence": True}, {"coupledInputAndForgetGate": True}, {"cellClipThreshold": 0.1}]
)
def test_lstm_trains(how: dict[str, Any]) -> None:
    """Devices may train uniDirectionalLSTM too. Sequences of 4 steps, in batches."""
    steps = 4 if how.get("sequence") else 1
    x = np.random.default_rng(1).standard_normal((12, 4, 1, 2, 1, 1)).astype(np.float32)
    t = np.tanh(np.cumsum(x[:, :, 0].sum((2, 3, 4)), 1))[:, -steps:]
    data = {"x": x, "t": t}
    source = lstm(**how).SerializeToString()
    found = check_gradients(source, data)
    assert found.ok, found
    assert max(row.error for row in found.rows) < 1e-4
    assert len(found.rows) == 15 + 2
    result = train(source, data, epochs=30, learning_rate=0.03)
    assert result.history[-1]["loss"] < 0.8 * result.history[0]["loss"]
    before, after = pippin.load(source), result.model
    assert before.predict({"x": x[0]})["y"].shape == after.predict({"x": x[0]})["y"].shape


# -- layouts of batches -----------------------------------------------------------------------------------------------


def exact(layers: Any, shape: Any, **how: Any) -> bytes:
    return updatable(network(layers, {"x": shape}, ["y"]), **how).SerializeToString()


CONV = {
    "outputChannels": 3, "kernelChannels": 2, "kernelSize": [3, 3], "same": {}, "hasBias": True,
    "weights": {"floatValue": np.random.default_rng(3).standard_normal(54).tolist()}, "bias": {"floatValue": [0.1] * 3},
}  # fmt: skip


def together(shape: list[int]) -> list[Any]:
    """A network that joins all elements with a fixed shape: batches must be run sample by sample."""
    w = np.random.default_rng(4).standard_normal((1, 3 * 4 * 5)) / 10
    return [
        ("convolution", CONV, ["x"], ["a"]),
        ("reshapeStatic", {"targetShape": [1, 60]}, ["a"], ["b"]),
        ("innerProduct", dense(w, [0]), ["b"], ["y"]),
    ]


def apart() -> list[Any]:
    w = np.random.default_rng(4).standard_normal((1, 3 * 4 * 5)) / 10
    return [
        ("convolution", CONV, ["x"], ["a"]),
        ("flattenTo2D", {"axis": 1}, ["a"], ["b"]),
        ("innerProduct", dense(w, [0]), ["b"], ["y"]),
    ]


def layout(source: bytes, data: dict[str, Any]) -> str:
    trainer = Trainer(read(source), {}, None, {"threads": None, "custom_layers": None})
    trainer.prepared({name: column[:2] for name, column in data.items()}, 2, training=True)
    assert trainer.problem is not None
    return trainer.problem.layout


def test_samples_that_cannot_be_joined_run_one_by_one_to_the_same_end() -> None:
    data = {"x": np.random.default_rng(1).standard_normal((10, 1, 2, 4, 5)).astype(np.float32), "t": np.arange(10.0)}
    one_by_one, joined = exact(together([1, 2, 4, 5]), [1, 2, 4, 5]), exact(apart(), [1, 2, 4, 5])
    assert layout(one_by_one, data) == "each"
    assert layout(joined, data) == "join"
    options: dict[str, Any] = {"learning_rate": 1e-3, "validation": data}
    slow, fast = train(one_by_one, data, **options), train(joined, data, **options)
    for a, b in zip(slow.history, fast.history, strict=True):
        assert a["loss"] == pytest.approx(b["loss"], rel=1e-5)
        assert a["validation_loss"] == pytest.approx(b["validation_loss"], rel=1e-5)
    for a, b in zip(weights(slow).values(), weights(fast).values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert check_gradients(one_by_one, data).ok


def test_vectors_get_a_new_axis() -> None:
    layers = [("innerProduct", dense([[0.5, -1.0]], [0.25]), ["x"], ["y"])]
    source, data = exact(layers, [2]), {"x": X, "t": T}
    assert layout(source, data) == "stack"
    legacy = train(linear().SerializeToString(), data)
    assert [r["loss"] for r in train(source, data).history] == pytest.approx([r["loss"] for r in legacy.history])


def test_statistics_over_the_batch_are_never_joined() -> None:
    """A batchnorm that computes its statistics sees one sample at a time, as it does in a prediction."""
    norm = {"channels": 3, "computeMeanVar": True, **{k: {"floatValue": [1.0] * 3} for k in ("gamma", "beta")}}
    layers = [
        ("convolution", CONV, ["x"], ["a"]),
        ("batchnorm", norm, ["a"], ["b"]),
        ("flatten", {}, ["b"], ["c"]),
        ("innerProduct", dense(np.random.default_rng(4).standard_normal((1, 60)) / 10, [0]), ["c"], ["y"]),
    ]
    model = updatable(network(layers, {"x": [2, 4, 5]}, ["y"], exact=False))
    data = {"x": np.random.default_rng(1).standard_normal((4, 2, 4, 5)).astype(np.float32), "t": np.arange(4.0)}
    assert layout(model.SerializeToString(), data) == "each"
    assert check_gradients(model.SerializeToString(), data).ok


def test_the_update_runs_in_one_session() -> None:
    trainer = Trainer(read(linear().SerializeToString()), {}, None, {"threads": None, "custom_layers": None})
    step, _ = trainer.prepared({"x": X, "t": T}, 2, training=True)
    assert {"loss", "norms", "innerProduct0/weights next", "innerProduct0/bias next"} == set(step.session.outputs)
    assert isinstance(trainer.problem, Problem)


def test_a_step_does_not_write_what_it_reads() -> None:
    trainer = Trainer(read(linear().SerializeToString()), {}, None, {"threads": None, "custom_layers": None})
    trainer.one_batch({"x": X, "t": T}, 2)
    assert trainer.state is not None
    now, then = trainer.state.halves[trainer.state.current], trainer.state.halves[1 - trainer.state.current]
    for name in now:
        assert now[name].data_ptr() != then[name].data_ptr()
        assert (now[name].numpy() != then[name].numpy()).any()


def test_samples_of_several_shapes_need_batches_of_one() -> None:
    x = [RANDOM.standard_normal((steps, 1, 2, 1, 1)).astype(np.float32) for steps in (3, 5, 3)]
    data = {"x": x, "t": [0.1, 0.2, 0.3]}
    with pytest.raises(InputError, match="the same shape") as caught:
        train(lstm().SerializeToString(), data)
    assert "batch size of 1" in caught.value.hint
    assert train(lstm().SerializeToString(), data, batch_size=1).history[-1]["samples"] == 3


def test_graphs_of_several_shapes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a graph takes a hundred times as long as running it."""
    made: list[Any] = []

    class Counted(Problem):
        def __init__(self, model: Any, settings: Any, shapes: Any, threads: Any) -> None:
            made.append(shapes)
            super().__init__(model, settings, shapes, threads)

    monkeypatch.setattr("pippin.training.trainer.Problem", Counted)
    random = np.random.default_rng(1)
    x = [random.standard_normal((steps, 1, 2, 1, 1)).astype(np.float32) for steps in (3, 5, 3, 5, 4, 3)]
    data = {"x": x, "t": np.arange(6.0) / 6}
    kept = train(lstm().SerializeToString(), data, batch_size=1, validation=data)
    assert len(made) == 3
    for limit in ("KEPT", "KEPT_BYTES"):
        made.clear()
        with monkeypatch.context() as patch:
            patch.setattr(f"pippin.training.trainer.{limit}", 1)
            anew = train(lstm().SerializeToString(), data, batch_size=1, validation=data)
        assert len(made) > 20
        assert kept.to_bytes() == anew.to_bytes()
        assert [r["validation_loss"] for r in kept.history] == [r["validation_loss"] for r in anew.history]


def test_custom_layers() -> None:
    layers = [
        ("innerProduct", dense(np.eye(2)), ["x"], ["a"]),
        ("custom", {"className": "Mine"}, ["a"], ["b"]),
        ("innerProduct", dense([[1.0, 2.0]]), ["b"], ["y"]),
    ]
    source = updatable(network(layers, {"x": [2]}, ["y"], exact=False)).SerializeToString()

    def arrays(inputs: list[Any], params: Any) -> list[Any]:
        return [inputs[0] * 2]

    def lowered(g: Any, params: Any, x: Any) -> Any:
        return g.Mul(x, 2.0)

    with pytest.raises(UnsupportedError, match="cannot be part of a network that is trained"):
        train(source, {"x": X, "t": T}, custom_layers={"Mine": arrays})
    result = train(source, {"x": X, "t": T}, custom_layers={"Mine": lowered}, learning_rate=0.01)
    assert result.history[-1]["loss"] < result.history[0]["loss"]


# -- batches are the same function, whatever the weights are -----------------------------------------------------------


def apart_from_the_mean(w: float, bias: float = 0.0, *more: Any) -> bytes:
    """x minus the mean over axis 0: of a sample alone that is nothing, of samples that are joined it is not."""
    layers = [
        ("reduceMean", {"axes": [0], "keepDims": True}, ["x"], ["m"]),
        ("subtractBroadcastable", {}, ["x", "m"], ["d"]),
        ("innerProduct", dense([[w, w]], [bias]), ["d"], ["z" if more else "y"]),
        *more,
    ]
    return exact(layers, [1, 2])


@pytest.mark.parametrize(
    "source",
    [
        apart_from_the_mean(0.0),
        apart_from_the_mean(1.0),
        apart_from_the_mean(1.0, -5.0, ("activation", {"ReLU": {}}, ["z"], ["y"])),
    ],
    ids=["zeros", "ones", "behind a ReLU that answers 0"],
)
def test_weights_that_hide_how_samples_meet_do_not_join_them(source: bytes) -> None:
    """A network that is not trained yet often ends in zeros: joined samples answer the same, but learn otherwise."""
    x = np.random.default_rng(1).standard_normal((6, 1, 2)).astype(np.float32)
    data = {"x": x, "t": np.arange(6.0)}
    assert layout(source, data) == "each"
    before, after = weights(source), weights(train(source, data))
    # the weights multiply nothing
    assert before["innerProduct2/weights"] == after["innerProduct2/weights"]


def test_samples_that_are_tried_differ() -> None:
    """A batch from behind: with three equal samples it would look as if nothing happened."""
    layers = [
        ("reverse", {"reverseDim": [True, False]}, ["x"], ["r"]),
        ("innerProduct", dense([[1.0]], [0]), ["r"], ["y"]),
    ]
    data = {"x": np.arange(4.0).reshape(4, 1, 1), "t": np.arange(4.0)}
    source = exact(layers, [1, 1])
    assert layout(source, data) == "each"
    assert train(source, data).history[0]["loss"] == 0.0


def test_indices_are_tried_too() -> None:
    """A table of two rows takes no other numbers than 0 and 1."""
    table = {"vocabSize": 2, "embeddingSize": 3, "weights": {"floatValue": [1, 2, 3, 4, 5, 6]}}
    layers = [("embeddingND", table, ["x"], ["e"]), ("innerProduct", dense([[0.0] * 3], [0]), ["e"], ["y"])]
    data = {"x": np.array([0, 1, 1]).reshape(3, 1, 1), "t": np.arange(3.0)}
    assert layout(exact(layers, [1, 1]), data) == "join"


def test_a_sample_that_is_a_batch_itself_is_refused() -> None:
    source = updatable(network([("innerProduct", dense([[1.0, 2.0]]), ["x"], ["y"])], {"x": [2]}, ["y"], exact=False))
    with pytest.raises(InputError, match=r"a sample must have a batch axis of size 1, got \[2, 2, 1, 1\]"):
        train(source.SerializeToString(), {"x": np.zeros((4, 1, 2, 2)), "t": np.zeros((4, 2))})


NAMES = (
    "loss", "correct", "norms", "learning rate", "correction", "target of the loss", "judged", "sum of loss", "xs",
    "innerProduct1/weights", "innerProduct1/weights:0", "innerProduct1/weights next", "x (input)",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", ["input", "blob", "layer"])
def test_any_name_will_do(name: str, what: str) -> None:
    """Inputs, blobs and layers called as the parts of a step are, in batches and sample by sample."""
    x, blob = (name if what == which else which for which in ("input", "blob"))
    for first in (("activation", {"tanh": {}}), ("cumSum", {"axis": 0})):
        layers = [(*first, [x], [blob]), ("innerProduct", dense([[1.0, 2.0]], [0.5]), [blob], ["y"])]
        model = updatable(network(layers, {x: [1, 2]}, ["y"]), shape=[1, 1], optimizer=ADAM)
        if what == "layer":
            model.neuralNetwork.layers[1].name = name
            model.neuralNetwork.updateParams.lossLayers[0].name = "judge"
        data = {x: np.float32(X)[:, None], "t": T}
        values = np.tanh(X) if first[0] == "activation" else X
        found = train(model.SerializeToString(), data).history[0]["loss"]
        assert found == pytest.approx(float(np.mean((values @ [1, 2] + 0.5 - T.ravel()) ** 2)), rel=1e-5)
        assert check_gradients(model.SerializeToString(), data).ok


@pytest.mark.parametrize("names", [("first", "second"), ("same", "same"), ("innerProduct0", "second")])
def test_layers_in_branches_train_by_names_of_their_own(names: tuple[str, str]) -> None:
    layers = [
        ("innerProduct", dense(np.eye(2), [0, 0]), ["x"], ["a"]),
        ("reduceSum", {"reduceAll": True}, ["a"], ["s"]),
        ("lessThan", {"alpha": 0.0}, ["s"], ["c"]),
        ("branch", {}, ["c"], []),
        ("innerProduct", dense([[1.0, 1.0]], [0]), ["b"], ["y"]),
    ]
    model = network(layers, {"x": [1, 2]}, ["y"])
    branch = model.neuralNetwork.layers[3].branch
    for net, name, w in zip((branch.ifBranch, branch.elseBranch), names, (np.eye(2), [[0, 2], [2, 0]]), strict=True):
        add(net, [("innerProduct", dense(w, [0, 0]), ["a"], ["b"])])
        net.layers[0].name = name
        net.layers[0].isUpdatable = True
        net.layers[0].innerProduct.weights.isUpdatable = net.layers[0].innerProduct.bias.isUpdatable = True
    source = updatable(model, shape=[1, 1], layers=[0, 4]).SerializeToString()
    data = {"x": np.float32([[[1, 2]], [[-3, -1]]]), "t": T}
    if names == ("first", "second"):
        assert check_gradients(source, data).ok
        assert train(source, data, learning_rate=1e-3).history[-1]["loss"] < 40
        return
    with pytest.raises(CheckError, match="layers that train must have names of their own"):
        train(source, data)


def test_nothing_cannot_be_judged() -> None:
    source = exact([("innerProduct", dense([[1.0, 2.0]]), ["x"], ["y"])], [0, 2])
    with pytest.raises(CheckError, match=r"must hold numbers, got \[0, 1\]"):
        train(source, {"x": np.zeros((2, 0, 2)), "t": np.zeros((2, 1))})
