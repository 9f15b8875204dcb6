"""An exported network's outputs have the names, the order and the types that the model declares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

import pippin
from cases import normal
from make import classifier, network
from pippin.analysis import verify


def exported(model: Any, target: Path, **options: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Answers for one input: of the model, of the file in ONNX Runtime, of the file loaded again."""
    data = model.SerializeToString()
    loaded = pippin.load(data)
    given = {name: normal(*(entry.shape or ())) for name, entry in loaded.inputs.items()}
    wanted = loaded.predict(given)
    assert pippin.to_onnx(data, target, verify="full", **options).ok
    session = ort.InferenceSession(str(target))
    found = dict(zip([info.name for info in session.get_outputs()], session.run(None, given), strict=True))
    return wanted, found, pippin.load(target).predict(given)


def double(source: str, target: str, factor: float = 2.0) -> tuple[str, dict[str, Any], list[str], list[str]]:
    return "activation", {"linear": {"alpha": factor}}, [source], [target]


@pytest.mark.parametrize("name", ["constant", "activation0/Mul", "dim", "c", "y/given", "a:0", "\u00e4\u2028"])
def test_names_that_something_made_up_has(name: str, tmp_path: Path) -> None:
    layers = [
        double("x", "m"),
        ("loadConstantND", {"shape": [3], "data": normal(3)}, [], ["c0"]),
        ("addBroadcastable", {}, ["m", "c0"], [name]),
    ]
    wanted, found, back = exported(network(layers, {"x": [3]}, [name]), tmp_path / "out.onnx")
    assert list(found) == list(back) == [name]
    np.testing.assert_allclose(found[name], wanted[name], rtol=1e-5)


@pytest.mark.parametrize("layers", [[double("x", "x")], [double("x", "y")]])
def test_an_output_with_the_name_of_an_input(layers: Any, tmp_path: Path) -> None:
    data = network(layers, {"x": [3]}, ["x"]).SerializeToString()
    with pytest.raises(pippin.UnsupportedError, match="output 'x' has the name of an input"):
        pippin.to_onnx(data, tmp_path / "out.onnx")
    assert not (tmp_path / "out.onnx").exists()


def test_the_order_is_the_declared_one(tmp_path: Path) -> None:
    model = classifier(["a", "b", "c"])
    net, outputs = model.neuralNetworkClassifier, model.description.output
    layer = net.layers.add(name="more")
    layer.input.append("x")
    layer.output.append("extra")
    layer.activation.linear.alpha = 2
    outputs.add(name="extra").type.multiArrayType.dataType = 65568
    net.labelProbabilityLayerName = "scores"
    wanted, found, back = exported(model, tmp_path / "out.onnx", labels="outputs")
    assert list(found) == list(back) == ["label", "scores", "extra"]
    assert found["label"] == wanted["label"]


@pytest.mark.parametrize("labels", [["a", "b", "c"], [7, -5, 2**40]])
def test_probabilities_whose_blob_is_called_otherwise(labels: Any, tmp_path: Path) -> None:
    model = classifier(labels)
    model.description.output[1].name = "probs"
    model.description.predictedProbabilitiesName = "probs"
    model.neuralNetworkClassifier.labelProbabilityLayerName = "scores"
    wanted, found, back = exported(model, tmp_path / "out.onnx")
    assert list(found) == ["probs"]
    np.testing.assert_allclose(found["probs"], list(wanted["probs"].values()), rtol=1e-5)
    assert back["label"] == wanted["label"]
    assert list(back["probs"]) == labels


def test_probabilities_that_are_an_array(tmp_path: Path) -> None:
    model = classifier(["a", "b", "c"])
    del model.description.output[1]
    model.description.predictedProbabilitiesName = ""
    array = model.description.output.add(name="scores").type.multiArrayType
    array.dataType = 65568
    array.shape.append(3)
    wanted, found, back = exported(model, tmp_path / "out.onnx")
    assert list(wanted) == list(back) == ["label", "scores"]
    for answer in (found, back):
        np.testing.assert_allclose(answer["scores"], wanted["scores"], rtol=1e-5)


def test_labels_behind_a_sequence(tmp_path: Path) -> None:
    model = classifier(["a", "b", "c"])
    layer = model.neuralNetworkClassifier.layers[0]
    layer.sequenceRepeat.nRepetitions = 2
    data = model.SerializeToString()
    pippin.to_onnx(data, tmp_path / "out.onnx", dims="symbolic", labels="outputs", verify="none")
    session = ort.InferenceSession(str(tmp_path / "out.onnx"))
    x = np.float32([[[1, 5, 2]], [[9, 3, 2]]])
    label = session.run(["label"], {"x": x})[0]
    assert label.reshape(-1).tolist() == ["b", "a"] * 2


@pytest.mark.parametrize("value", [[0.4, 1.6, -0.6], [0.5, 1.5, 2.5], [3, 4, 5]])
def test_outputs_that_are_declared_as_integers(value: list[float], tmp_path: Path) -> None:
    model = network([double("x", "y", 1.0)], {"x": [3]}, ["y"])
    model.description.output[0].type.multiArrayType.dataType = 131104
    data = model.SerializeToString()
    made = pippin.to_onnx(data, tmp_path / "out.onnx", inputs=[{"x": value}])
    assert made.ok
    found = ort.InferenceSession(str(tmp_path / "out.onnx")).run(None, {"x": np.float32(value)})[0]
    assert found.dtype == np.int32
    assert found.tolist() == pippin.load(data).predict({"x": value})["y"].tolist()


def test_the_proof_sees_integers_that_are_off_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pippin.graph.builder import Builder

    model = network([double("x", "y", 1.0)], {"x": [3]}, ["y"])
    model.description.output[0].type.multiArrayType.dataType = 131104
    monkeypatch.setattr(Builder, "Round", lambda g, x: g.Ceil(x), raising=False)
    with pytest.raises(pippin.VerifyError, match="'y' with the input given: 1 apart at"):
        pippin.to_onnx(model.SerializeToString(), tmp_path / "out.onnx", inputs=[{"x": [0.4, 1.2, 2.0]}])


def test_how_much_rounding_the_proof_forgives() -> None:
    from pippin.analysis.difference import difference

    wanted = np.ones(10)
    rounded = difference("y", np.full(10, 1.0002), wanted)
    for factor, forgiven in ((7.5, True), (8.5, False)):
        entry = verify._forgiven(difference("y", np.full(10, 1 + factor * 0.0002), wanted), rounded)
        assert entry.ok == forgiven
        assert (entry.rounding > 0) == forgiven
    problem = difference("y", np.full(10, np.nan), wanted)
    assert not verify._forgiven(problem, rounded).ok
    assert not verify._forgiven(difference("y", np.full(10, 1.001), wanted), problem).ok


def test_the_proof_takes_any_of_the_likeliest_labels() -> None:
    model = pippin.load(classifier(["a", "b", "c"]).SerializeToString())
    wanted = {"scores": np.array([0.4, 0.4 - 1e-6, 0.2])}
    for label, ok in (("a", True), ("b", True), ("c", False), ("d", False)):
        assert verify._label(model, {"label": np.array([label], object)}, wanted, 1e-4).ok == ok
    nothing = {"scores": np.array([np.nan, 0.5, 0.5])}
    assert not verify._label(model, {"label": np.array(["b"], object)}, nothing, 1e-4).ok


def test_what_fails_leaves_a_file_and_its_weights_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pippin import files
    from pippin.errors import WriteError

    def model(seed: int) -> bytes:
        params = {"inputChannels": 40, "outputChannels": 40, "weights": normal(40, 40, seed=seed)}
        message = network([("innerProduct", params, ["x"], ["y"])], {"x": [40]}, ["y"], exact=False, version=1)
        return bytes(message.SerializeToString())

    target, x = tmp_path / "out.onnx", normal(40)
    pippin.to_onnx(model(1), target, weights="beside")
    before = pippin.load(target).predict({"x": x})["y"]

    usual = files.write

    def full(path: Path, pieces: Any) -> None:
        if str(path).endswith(".onnx"):
            raise WriteError("cannot be written: No space left on device", where=str(path))
        usual(path, pieces)

    with monkeypatch.context() as patch:
        patch.setattr(files, "write", full)
        with pytest.raises(WriteError):
            pippin.to_onnx(model(2), target, weights="beside")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.onnx", "out.onnx.data"]
    np.testing.assert_array_equal(pippin.load(target).predict({"x": x})["y"], before)
