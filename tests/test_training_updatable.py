"""``make_updatable``: what converters write becomes layers that devices train, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin
from make import add, classifier, dense, network
from pippin.coreml.check import check_document
from pippin.coreml.read import read
from pippin.errors import InputError, PippinError, UnsupportedError
from pippin.training import check_gradients, make_updatable, train, updatable
from shared import SHARED, needs_shared

RANDOM = np.random.default_rng(3)


def values(*shape: int) -> dict[str, Any]:
    return {"floatValue": RANDOM.standard_normal(shape).ravel().tolist()}


def constant(name: str, *shape: int) -> Any:
    data = {"floatValue": (1 + 0.3 * RANDOM.standard_normal(shape)).ravel().tolist()}
    return "loadConstantND", {"shape": list(shape), "data": data}, [], [name]


def matmul(source: str, target: str, first: int, second: int, bias: bool = False) -> Any:
    params = {"weightMatrixFirstDimension": first, "weightMatrixSecondDimension": second}
    params["weights"] = values(second, first)
    if bias:
        params |= {"hasBias": True, "bias": values(second)}
    return "batchedMatmul", params, [source], [target]


def conv(source: str, target: str, channels: int, out: int, **more: Any) -> Any:
    params = {"outputChannels": out, "kernelChannels": channels, "kernelSize": [3, 3], "same": {}}
    return "convolution", {**params, "weights": values(out, channels, 3, 3), **more}, [source], [target]


def act(name: str, source: str, target: str) -> Any:
    return "activation", {name: {}}, [source], [target]


def sorter(layers: Any, shape: Any, labels: Any = ("a", "b", "c")) -> Any:
    """A classifier in the exact mapping whose probabilities are ``p``."""
    model = classifier(labels)
    net = model.neuralNetworkClassifier
    del net.layers[:]
    net.arrayInputShapeMapping = 1
    model.description.input[0].type.multiArrayType.shape[:] = shape
    model.description.output[1].name = model.description.predictedProbabilitiesName = "p"
    model.specificationVersion = 4
    add(net, layers)
    return model


def kinds(result: Any) -> list[str]:
    return [layer.WhichOneof("layer") for layer in result.document.network.layers]


def same(model: Any, result: Any) -> None:
    """Both networks answer the same on another input than those that were tried."""
    before, after = pippin.load(model.SerializeToString()), pippin.load(result.to_bytes())
    data = {
        name: np.random.default_rng(9).standard_normal(entry.shape).astype(np.float32)
        for name, entry in before.inputs.items()
    }
    for name, answer in before.predict(data).items():
        other = after.predict(data)[name]
        if isinstance(answer, np.ndarray):
            assert answer.shape == other.shape
            np.testing.assert_allclose(answer, other, rtol=1e-4, atol=1e-5)
        elif isinstance(answer, dict):
            assert answer.keys() == other.keys()
            np.testing.assert_allclose(list(answer.values()), list(other.values()), rtol=1e-4, atol=1e-6)
        else:
            assert answer == other


def made(model: Any, **how: Any) -> Any:
    """The updatable network, which must pass every rule, answer the same, and learn with right gradients."""
    result = make_updatable(model.SerializeToString(), **how)
    report = check_document(read(result.to_bytes()))
    assert report.ok, report.findings
    same(model, result)
    net = pippin.load(result.to_bytes())
    x = {
        name: np.random.default_rng(1).standard_normal((4, *entry.shape)).astype(np.float32)
        for name, entry in net.inputs.items()
    }
    loss = result.document.network.updateParams.lossLayers[0]
    judge = getattr(loss, loss.WhichOneof("LossLayerType"))
    if loss.WhichOneof("LossLayerType").startswith("categorical"):
        target: Any = [(net.labels or [0, 1, 2])[index] for index in (0, 1, 2, 0)]
    else:
        target = np.random.default_rng(2).standard_normal((4, *net.training_inputs[judge.target].shape))
    data = {**x, judge.target: target}
    assert check_gradients(read(result.to_bytes()), data).ok
    trained = train(read(result.to_bytes()), data, epochs=4, batch_size=4, learning_rate=1e-3)
    assert trained.history[-1]["loss"] < trained.history[0]["loss"]
    return result


def test_products_and_biases_of_converters() -> None:
    """batchedMatmul, a bias added behind it, softmaxND over the last axis: three dense layers and a softmax."""
    layers = [
        matmul("x", "a", 5, 6),
        constant("k", 6),
        ("addBroadcastable", {}, ["a", "k"], ["b"]),
        act("ReLU", "b", "c"),
        matmul("c", "d", 6, 4, bias=True),
        ("tanh", {}, ["d"], ["e"]),
        matmul("e", "f", 4, 3),
        ("softmaxND", {"axis": -1}, ["f"], ["p"]),
    ]
    result = made(sorter(layers, [1, 5]))
    assert result.layers == ["batchedMatmul0", "batchedMatmul4", "batchedMatmul6"]
    wanted = ["reshapeStatic", "innerProduct", "activation", "innerProduct", "activation", "innerProduct", "softmax"]
    assert kinds(result) == [*wanted, "reshapeStatic"]
    dense_ = result.document.network.layers[1].innerProduct
    assert dense_.hasBias
    assert dense_.bias.isUpdatable
    assert "batchedMatmul0: batchedMatmul became innerProduct" in result.changed
    assert "addBroadcastable2: addBroadcastable was folded or dropped" in result.changed


def test_a_folded_normalisation_behind_a_convolution() -> None:
    """Factors and summands a channel, as multiply, add, scale, bias and linear activation, go into the weights."""
    layers = [
        conv("x", "a", 2, 4),
        constant("k", 4, 1, 1),
        ("multiplyBroadcastable", {}, ["a", "k"], ["b"]),
        constant("m", 1, 4, 1, 1),
        ("addBroadcastable", {}, ["m", "b"], ["c"]),
        act("ReLU", "c", "d"),
        conv("d", "e", 4, 3, hasBias=True, bias=values(3)),
        ("scale", {"shapeScale": [3], "scale": values(3), "hasBias": True, "shapeBias": [1], "bias": values(1)},
         ["e"], ["f"]),
        ("activation", {"linear": {"alpha": 0.7, "beta": -0.2}}, ["f"], ["g"]),
        ("reduceMean", {"axes": [-1, -2], "keepDims": False}, ["g"], ["h"]),
        matmul("h", "y", 3, 2, bias=True),
    ]  # fmt: skip
    result = made(network(layers, {"x": [1, 2, 5, 6]}, ["y"], version=4))
    assert kinds(result) == ["convolution", "activation", "convolution", "pooling", "innerProduct", "reshapeStatic"]
    assert result.layers == ["convolution0", "convolution6", "batchedMatmul10"]
    assert result.document.network.updateParams.lossLayers[0].meanSquaredErrorLossLayer.input == "y_4d"


def test_more_ways_to_subtract_and_divide() -> None:
    layers = [
        matmul("x", "a", 4, 3),
        constant("k", 3),
        ("subtractBroadcastable", {}, ["a", "k"], ["b"]),
        constant("m", 1, 3),
        ("divideBroadcastable", {}, ["b", "m"], ["c"]),
        ("multiply", {"alpha": 1.5}, ["c"], ["d"]),
        ("add", {"alpha": 0.5}, ["d"], ["e"]),
        constant("n", 1),
        ("subtractBroadcastable", {}, ["n", "e"], ["y"]),
    ]
    result = made(network(layers, {"x": [1, 4]}, ["y"], version=4))
    assert kinds(result) == ["innerProduct"]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("flat", ["reshapeStatic", "flattenTo2D"])
def test_flattening(turned: bool, flat: str) -> None:
    """A reshape to a vector is a flatten; behind a transpose to H, W, C one in the order CHANNEL_LAST."""
    layers = [conv("x", "a", 2, 3)]
    if turned:
        layers.append(("transpose", {"axes": [0, 2, 3, 1]}, ["a"], ["t"]))
    params = {"targetShape": [1, -1]} if flat == "reshapeStatic" else {"axis": 1}
    layers += [
        (flat, params, ["t" if turned else "a"], ["b"]),
        ("innerProduct", dense(RANDOM.standard_normal((4, 60)), [0] * 4), ["b"], ["c"]),
        act("sigmoid", "c", "d"),
        ("innerProduct", dense(RANDOM.standard_normal((3, 4)), [0] * 3), ["d"], ["e"]),
        ("softmaxND", {"axis": 1}, ["e"], ["p"]),
    ]
    result = made(sorter(layers, [1, 2, 4, 5]))
    assert result.document.network.layers[1].flatten.mode == int(turned)
    assert kinds(result)[:2] == ["convolution", "flatten"]


def test_dropped_and_kept_shapes() -> None:
    """[N,C,1,1] to [N,C] and back does nothing; a blob that others read keeps its name and shape."""
    layers = [
        conv("x", "a", 2, 3),
        ("pooling", {"type": 1, "globalPooling": True, "valid": {}}, ["a"], ["b"]),
        ("squeeze", {"axes": [2, 3]}, ["b"], ["c"]),
        ("innerProduct", dense(RANDOM.standard_normal((4, 3))), ["c"], ["d"]),
        ("expandDims", {"axes": [2, 3]}, ["d"], ["e"]),
        ("convolution",
         {"outputChannels": 2, "kernelChannels": 4, "kernelSize": [1, 1], "valid": {}, "weights": values(8)},
         ["e"], ["y"]),
        ("activation", {"tanh": {}}, ["d"], ["unused"]),
    ]  # fmt: skip
    result = made(network(layers, {"x": [1, 2, 4, 5]}, ["y"], version=4))
    assert "squeeze" not in kinds(result)
    assert "expandDims" not in kinds(result)
    shapes = pippin.load(result.to_bytes()).blob_shapes()
    assert shapes["d"] == [1, 4]


def test_some_layers_and_choices() -> None:
    layers = [
        conv("x", "a", 2, 3),
        ("gelu", {}, ["a"], ["b"]),
        ("flattenTo2D", {"axis": 1}, ["b"], ["c"]),
        matmul("c", "d", 60, 4),
        act("tanh", "d", "e"),
        matmul("e", "f", 4, 3),
        ("softmaxND", {"axis": -1}, ["f"], ["p"]),
    ]
    model = sorter(layers, [1, 2, 4, 5])
    assert made(model).layers == ["batchedMatmul3", "batchedMatmul5"]
    options = {"optimizer": "adam", "learning_rate": 0.5, "batch_size": 7, "epochs": 9, "seed": 4, "shuffle": False}
    result = make_updatable(model.SerializeToString(), layers=["batchedMatmul5"], **options)
    assert result.layers == ["batchedMatmul5"]
    update = result.document.network.updateParams
    adam = update.optimizer.adamOptimizer
    found = (adam.learningRate, adam.miniBatchSize, update.epochs, update.seed)
    assert [entry.defaultValue for entry in found] == [0.5, 7, 9, 4]
    assert not update.shuffle.defaultValue
    # a convolution behind a layer that devices do not know
    with pytest.raises(UnsupportedError, match=r"'convolution0' cannot be trained: layer 'gelu1' \(gelu\)") as caught:
        make_updatable(model.SerializeToString(), layers=["convolution0"])
    assert "gradient" in str(caught.value)


def test_what_cannot_be_rewritten_ends_the_way_where_nobody_asked_for_more() -> None:
    """A device reaches the layers behind it: those train."""
    layers = [
        conv("x", "a", 2, 3),
        ("transpose", {"axes": [0, 3, 2, 1]}, ["a"], ["b"]),
        ("flattenTo2D", {"axis": 1}, ["b"], ["c"]),
        matmul("c", "d", 60, 4),
        act("tanh", "d", "e"),
        matmul("e", "y", 4, 3),
    ]
    model = network(layers, {"x": [1, 2, 4, 5]}, ["y"], version=4)
    result = made(model)
    assert result.layers == ["batchedMatmul3", "batchedMatmul5"]
    assert kinds(result)[:3] == ["convolution", "transpose", "flattenTo2D"]
    with pytest.raises(UnsupportedError, match=r"'transpose1' \(transpose\): devices have no gradient"):
        make_updatable(model.SerializeToString(), layers=["convolution0", "batchedMatmul5"])


def test_the_numbers_of_adam() -> None:
    source = network(SQUARE, {"x": [1, 2]}, ["y"], version=4).SerializeToString()
    made_ = make_updatable(source, optimizer="adam", beta1=0.5, beta2=0.75, eps=1e-3)
    adam = made_.document.network.updateParams.optimizer.adamOptimizer
    assert [getattr(adam, name).defaultValue for name in ("beta1", "beta2", "eps")] == [0.5, 0.75, 1e-3]
    data = {"x": np.ones((2, 1, 2)), "y_true": np.zeros((2, 2))}
    assert train(made_.document, data).settings.as_json()["beta2"] == 0.75


def test_another_choice_of_layers() -> None:
    """Marks of before would let more layers train than was asked for."""
    layers = [matmul("x", "a", 2, 2), act("tanh", "a", "b"), matmul("b", "y", 2, 2)]
    first = made(network(layers, {"x": [1, 2]}, ["y"], version=4))
    second = make_updatable(first.to_bytes(), layers=["batchedMatmul2"])
    assert second.layers == ["batchedMatmul2"]
    data = {"x": np.ones((2, 1, 2)), "y_true": np.zeros((2, 2))}
    before, after = (entry.network.layers for entry in (second.document, train(second.document, data).document))
    assert [layer.isUpdatable for layer in after] == [False, False, True]
    assert not before[0].innerProduct.weights.isUpdatable
    rows = check_gradients(second.document, data).rows
    assert {row.name for row in rows} == {"batchedMatmul2/weights"}
    # the one that lies further from the loss alone: gradients only pass through the other
    third = make_updatable(first.to_bytes(), layers=["batchedMatmul0"])
    assert [layer.isUpdatable for layer in third.document.network.layers] == [True, False, False]


def test_a_message_names_the_file_once(tmp_path: Path) -> None:
    model = network([("custom", {"className": "Mine"}, ["x"], ["y"])], {"x": [1, 2]}, ["y"])
    (tmp_path / "m.mlmodel").write_bytes(model.SerializeToString())
    with pytest.raises(UnsupportedError) as caught:
        make_updatable(tmp_path / "m.mlmodel")
    assert str(caught.value).count("m.mlmodel") == 1


def test_quantised_and_half_weights_become_float32() -> None:
    model = network(
        [("innerProduct", dense([[1.0, 2.0], [3.0, 4.0]], [0, 0]), ["x"], ["y"])], {"x": [2]}, ["y"], exact=False
    )
    params = model.neuralNetwork.layers[0].innerProduct
    params.weights.Clear()
    params.weights.rawValue = bytes([0, 1, 2, 3])
    params.weights.quantization.numberOfBits = 8
    params.weights.quantization.linearQuantization.scale.extend([0.5, 2])
    params.weights.quantization.linearQuantization.bias.append(0.25)
    params.bias.Clear()
    params.bias.float16Value = np.float16([0.5, -1]).tobytes()
    result = made(model)
    stored = result.document.network.layers[0].innerProduct
    assert pippin.Model(result.document).weights.flat(stored.weights).tolist() == [0.25, 0.75, 4.25, 6.25]
    assert not stored.weights.HasField("quantization")


def test_legacy_networks_need_marks_alone() -> None:
    layers = [
        conv("x", "a", 2, 3),
        act("ReLU", "a", "b"),
        ("reshape", {"targetShape": [60, 1, 1], "mode": 1}, ["b"], ["c"]),
        ("innerProduct", dense(RANDOM.standard_normal((3, 60))), ["c"], ["d"]),
        ("softmax", {}, ["d"], ["y"]),
    ]
    result = made(network(layers, {"x": [2, 4, 5]}, ["y"], exact=False))
    assert kinds(result) == ["convolution", "activation", "flatten", "innerProduct", "softmax"]
    assert result.document.network.updateParams.lossLayers[0].categoricalCrossEntropyLossLayer.target == "y_true"


def test_layers_get_names() -> None:
    model = network(
        [matmul("x", "a", 2, 2), act("tanh", "a", "b"), matmul("b", "y", 2, 1)], {"x": [1, 2]}, ["y"], version=4
    )
    for layer in model.neuralNetwork.layers:
        layer.name = "same"
    names = [layer.name for layer in made(model).document.network.layers]
    assert len(set(names)) == len(names)


SQUARE = [matmul("x", "y", 2, 2)]


@pytest.mark.parametrize(
    ("layers", "how", "message"),
    [
        ([("gelu", {}, ["x"], ["y"])], {}, r"no layer can be trained: layer 'gelu0' \(gelu\): devices have no"),
        (SQUARE, {"layers": ["none"]}, "no layer 'none'"),
        (SQUARE, {"layers": ["batchedMatmul0"], "loss": "cross-entropy"}, "must judge the output of a softmax"),
        ([*SQUARE[:1], ("gelu", {}, ["y"], ["z"])], {"layers": ["gelu1"]}, "layers that train are convolution"),
        (SQUARE, {"loss": "hinge"}, "the loss must be cross-entropy or mean-squared-error"),
        (SQUARE, {"optimizer": "lion"}, "must be sgd or adam"),
        (SQUARE, {"learning_rate": 0.0}, "above 0"),
        (SQUARE, {"epochs": 0}, "1 or more"),
        (
            [matmul("x", "a", 2, 2), ("addBroadcastable", {}, ["a", "x"], ["y"])],
            {},
            r"layer 'addBroadcastable1' \(addBroadcastable\): devices have no gradient",
        ),
        (
            [matmul("x", "a", 2, 2), act("ReLU", "a", "b"), constant("k", 2),
             ("addBroadcastable", {}, ["b", "k"], ["y"])],
            {},
            "right before it only",
        ),
        (
            # what is added may not change for the other one that reads "a"
            [matmul("x", "a", 2, 2), constant("k", 2), ("addBroadcastable", {}, ["a", "k"], ["b"]),
             act("tanh", "b", "c"), ("multiplyBroadcastable", {}, ["a", "c"], ["d"]), matmul("c", "y", 2, 2)],
            {"layers": ["batchedMatmul0"]},
            r"'addBroadcastable2' \(addBroadcastable\): a constant can be folded .* right before it only",
        ),
        (
            [matmul("x", "a", 2, 4), ("reshapeStatic", {"targetShape": [2, 2]}, ["a"], ["b"]), matmul("b", "y", 2, 1)],
            {"layers": ["batchedMatmul0"]},
            "is no flatten|a vector",
        ),
        (SQUARE, {"momentum": 0.9, "optimizer": "adam"}, "the optimizer adam has no momentum"),
        (SQUARE, {"beta1": 0.5}, "the optimizer sgd has no beta1"),
        (SQUARE, {"epochs": 1.5}, "epochs must be a whole number of 1 or more, got 1.5"),
        (SQUARE, {"seed": 1 << 63}, "seed must be a whole number of 64 bits"),
        (SQUARE, {"learning_rate": float("nan")}, "must be numbers of 0 or more"),
        (SQUARE, {"momentum": 1.0}, "below 1"),
    ],
)  # fmt: skip
def test_refusals(layers: Any, how: dict[str, Any], message: str) -> None:
    output = layers[-1][3][0]
    source = network(layers, {"x": [1, 2]}, [output], version=4).SerializeToString()
    with pytest.raises(PippinError, match=message):
        make_updatable(source, **how)


def test_several_outputs_and_other_files_are_refused() -> None:
    model = network([matmul("x", "a", 2, 2), act("tanh", "a", "y")], {"x": [1, 2]}, ["a", "y"], version=4)
    with pytest.raises(UnsupportedError, match="judges one output, the network has 2"):
        make_updatable(model.SerializeToString())
    with pytest.raises(PippinError):
        make_updatable(b"nothing of the kind")
    assert issubclass(InputError, ValueError)


def test_a_rewrite_that_is_not_the_same_function_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks the fold on purpose: running both must find it."""
    from pippin.training.rewrite import Rewriter

    right = Rewriter.vectors

    def wrong(self: Any, layer: Any, above: Any) -> Any:
        found = right(self, layer, above)
        return None if found is None else (found[0], found[1] + 0.1)

    monkeypatch.setattr(Rewriter, "vectors", wrong)
    layers = [matmul("x", "a", 2, 2), constant("k", 2), ("addBroadcastable", {}, ["a", "k"], ["y"])]
    with pytest.raises(PippinError, match="answers otherwise"):
        make_updatable(network(layers, {"x": [1, 2]}, ["y"], version=4).SerializeToString())
    assert updatable.TRIES >= 3


@needs_shared
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("hanzi-classifier-image", 5),
        ("torch-mnist-v4", 5),
        ("housing-keras-v4", 3),
        ("lin-batchedmatmul", 1),
        ("exercise-stgcn", 1),
        ("mnist-cnn-r4ghu", 5),
        ("food-linear4", 1),
        ("activity-badminton6", 3),
        ("house-trained", 3),
        ("tiny-drawing-embedding", 4),
    ],
)
def test_real_networks(name: str, count: int, tmp_path: Path) -> None:
    path = SHARED / "models" / f"{name}.mlmodel"
    result = make_updatable(path)
    assert len(result.layers) == count
    assert result.difference <= 1e-5
    result.save(tmp_path / "u.mlmodel")
    assert pippin.check(tmp_path / "u.mlmodel").ok


def test_a_rewrite_that_answers_in_another_shape_is_noticed() -> None:
    layers = [matmul("x", "a", 2, 2), act("tanh", "a", "y")]
    before = pippin.Model(read(network(layers, {"x": [1, 2]}, ["y"], version=4).SerializeToString())).prepare()
    layers = [*layers[:1], act("tanh", "a", "b"), ("squeeze", {"axes": [0]}, ["b"], ["y"])]
    after = pippin.Model(read(network(layers, {"x": [1, 2]}, ["y"], version=4).SerializeToString())).prepare()
    assert updatable._difference(before, before) == 0
    assert updatable._difference(before, after) == float("inf")
