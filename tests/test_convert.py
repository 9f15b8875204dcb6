"""Core ML to ONNX: what is written stands alone, says what it is, and is proved to be the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from click.testing import CliRunner
from onnx import numpy_helper

import pippin
from cases import fill, half, linear, lookup, normal
from make import classifier, network, picture_network
from pippin.analysis.verify import verify
from pippin.cli import cli
from pippin.coreml.export import export
from shared import SHARED, needs_shared

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.mlmodel"))
TORCH = sorted((ROOT / "tests/fixtures/torch_models").glob("*.mlmodel"))
REAL = sorted((SHARED / "models").glob("*.mlmodel")) if SHARED.is_dir() else []
CUSTOM = {"gridsample-custom", "kraken-bilstm", "lstsq-range", "ssrnet-custom", "style-vangogh-custom", "swish-custom"}
HUGE = {"carn-v1.mlmodel"}
"""A million pixels through 44 convolutions: the reference takes minutes."""
IN_FLOAT32 = {"superres-gan-range.mlmodel"}
"""Activations of 35,000 before a tanh: only as near as float32 allows."""


def shape_of(info: Any) -> list[int | str]:
    return [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]


def written(path: Path) -> Any:
    proto = onnx.load(path)
    onnx.checker.check_model(str(path), full_check=True)
    return proto


def every_node(graph: Any) -> Any:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from every_node(attribute.g) if attribute.HasField("g") else ()


def run(path: Path, feeds: dict[str, Any]) -> dict[str, Any]:
    """By the engine alone, as somebody without Pippin would."""
    session = onnxruntime.InferenceSession(str(path))
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "out.onnx"


def model_of(message: Any) -> Any:
    return pippin.load(message.SerializeToString())


# -- everything there is -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*EXAMPLES, *TORCH], ids=lambda path: path.stem)
def test_examples_and_fixtures(path: Path, target: Path) -> None:
    result = pippin.to_onnx(path, target, verify="full")
    written(target)
    assert result.ok
    assert result.proof.trials
    for trial in result.proof.trials:
        assert all(entry.excess <= 1 for entry in trial.outputs)


def smaller(model: Any, height: int, width: int) -> Any:
    """The network for pictures of another size, which it writes into its reshapes."""
    description = model.document.model.description
    description.input[0].type.multiArrayType.shape[1:] = [height, width]
    del description.output[0].type.multiArrayType.shape[:]
    targets = iter(([64, 2, 2, height * width], [64 * height, width, 2, 2], [-1, 64, 2 * height, 2 * width]))
    for layer in model.document.network.layers:
        if layer.WhichOneof("layer") == "reshape":
            layer.reshape.targetShape[:] = next(targets)
    return pippin.Model(model.document)


@needs_shared
@pytest.mark.parametrize("path", REAL, ids=[path.stem for path in REAL])
def test_real_models(path: Path, target: Path) -> None:
    if path.stem in CUSTOM:
        with pytest.raises(pippin.UnsupportedError, match="no function is registered for the custom layer"):
            pippin.to_onnx(path, target)
        assert not target.exists()
        return
    model = pippin.load(path)
    if path.name in HUGE:
        pippin.to_onnx(model, target, verify="none")
        written(target)
        model = smaller(model, 48, 40)
    result = pippin.to_onnx(model, target)
    written(target)
    assert result.ok
    worst = max((entry.excess for entry in result.proof.worst().values()), default=0)
    assert worst <= 1 or path.name in IN_FLOAT32


# -- names, shapes, metadata -----------------------------------------------------------------------------------------


def test_says_what_it_is(target: Path) -> None:
    export(pippin.load(EXAMPLES[0]), target)
    proto = written(target)
    (image,) = proto.graph.input
    assert (image.name, shape_of(image)) == ("image", [1, 1, 16, 16])
    assert image.type.denotation == "IMAGE"
    assert "GRAYSCALE" in image.doc_string
    (scores,) = proto.graph.output
    assert (scores.name, shape_of(scores)) == ("probabilities", [10])
    said = {entry.key: entry.value for entry in proto.metadata_props}
    assert json.loads(said["labels"]) == list(range(10))
    assert said["Image.BitmapPixelFormat"] == "Gray8"
    assert json.loads(said["pippin"])["label"] == "digit"
    assert proto.producer_name == "pippin"
    assert proto.producer_version == pippin.__version__
    names = {name for node in proto.graph.node for name in node.output}
    assert {"conv1", "conv1_relu", "logits"} <= names


@pytest.mark.parametrize("color", [10, 20, 30, 40])
@pytest.mark.parametrize("where", ["inside", "outside"])
def test_every_color_with_preprocessing(color: int, where: Any, target: Path) -> None:
    message = picture_network([("activation", {"linear": {"alpha": 1}}, ["image"], ["y"])], color=color)
    scaler = message.neuralNetwork.preprocessing.add(featureName="image").scaler
    scaler.channelScale, scaler.redBias, scaler.greenBias, scaler.blueBias, scaler.grayBias = 0.5, 1, 2, 3, 4
    model = model_of(message)
    pippin.to_onnx(model, target, preprocessing=where)
    proto = written(target)
    gray = color in (10, 40)
    assert shape_of(proto.graph.input[0]) == [1, 1 if gray else 3, 3, 4]
    x = np.arange(12 if gray else 36, dtype=np.float32).reshape(1, -1, 3, 4)
    bias = {10: [4], 40: [4], 20: [1, 2, 3], 30: [3, 2, 1]}[color]
    wanted = x * 0.5 + np.float32(bias).reshape(-1, 1, 1) if where == "inside" else x
    np.testing.assert_array_equal(run(target, {"image": x})["y"].reshape(x.shape), wanted)
    assert {node.op_type for node in proto.graph.node} & {"Mul"} == ({"Mul"} if where == "inside" else set())


@pytest.mark.parametrize("labels", [["ant", "bee", "ﬂea"], [7, -3, 10**12]])
def test_labels(labels: list[Any], target: Path) -> None:
    model = model_of(classifier(labels))
    pippin.to_onnx(model, target)
    assert [value.name for value in written(target).graph.output] == ["scores"]
    pippin.to_onnx(model, target, labels="outputs")
    proto = written(target)
    said = {entry.key: entry.value for entry in proto.metadata_props}
    assert json.loads(said["labels"]) == labels
    for scores, best in (([0.1, 0.7, 0.2], 1), ([0.5, 0.5, 0.2], 0)):
        answer = run(target, {"x": np.float32(scores)})
        np.testing.assert_array_equal(answer["scores"], np.float32(scores))
        assert answer["label"].tolist() == labels[best]
    assert pippin.load(target).predict({"x": [0.1, 0.7, 0.2]})["label"] == labels[1]


def test_labels_need_a_classifier(target: Path) -> None:
    model = model_of(network([("activation", {"ReLU": {}}, ["x"], ["y"])], {"x": [3]}, ["y"]))
    with pytest.raises(pippin.InputError, match="classifier"):
        pippin.to_onnx(model, target, labels="outputs")
    assert not target.exists()


def legacy_flexible() -> Any:
    layers = [
        ("convolution", {"outputChannels": 2, "kernelChannels": 3, "kernelSize": [3, 3], "nGroups": 1,
                         "same": {}, "weights": normal(2, 3, 3, 3)}, ["image"], ["c"]),
        ("pooling", {"type": "MAX", "kernelSize": [2, 2], "stride": [2, 2], "valid": {}}, ["c"], ["y"]),
    ]  # fmt: skip
    message = picture_network(layers, size=(8, 6), version=3)
    sizes = message.description.input[0].type.imageType.imageSizeRange
    sizes.widthRange.lowerBound, sizes.widthRange.upperBound = 4, 64
    sizes.heightRange.lowerBound, sizes.heightRange.upperBound = 6, 6
    return message


def test_flexible_sizes_are_open(target: Path) -> None:
    model = model_of(legacy_flexible())
    result = pippin.to_onnx(model, target, verify="full")
    proto = written(target)
    assert shape_of(proto.graph.input[0]) == [1, 3, 6, "image_width"]
    assert shape_of(proto.graph.output[0])[:2] == [2, 3]
    tried = {trial.what for trial in result.proof.trials}
    assert any("[4, 6]" in what for what in tried), tried
    pippin.to_onnx(model, target, dims="static")
    assert shape_of(written(target).graph.input[0]) == [1, 3, 6, 8]
    pippin.to_onnx(model, target, dims="symbolic")
    assert shape_of(written(target).graph.input[0]) == ["batch", 3, 6, "image_width"]
    x = normal(5, 3, 6, 10)
    whole = run(target, {"image": x})["y"]
    for index in range(5):
        np.testing.assert_allclose(
            whole[index : index + 1], run(target, {"image": x[index : index + 1]})["y"], atol=1e-6
        )


def test_shapes_as_given(target: Path) -> None:
    model = model_of(legacy_flexible())
    pippin.to_onnx(model, target, dims={"image": ["n", 3, 6, "w"]})
    assert shape_of(written(target).graph.input[0]) == ["n", 3, 6, "w"]
    for dims, text in (
        ({"picture": [1, 3, 6, 8]}, "dims names 'picture'"),
        ({"image": [3, 6, 8]}, "must have 4 sizes"),
        ({"image": [1, 3, 0, 8]}, "positive"),
        ({"image": [1, 3, 12, 8]}, "sizes that the model declares"),
        ("open", "must be one of"),
    ):
        with pytest.raises(pippin.InputError, match=text):
            pippin.to_onnx(model, target, dims=dims)


def test_sizes_that_the_network_pins_are_fixed_and_told(target: Path) -> None:
    message = legacy_flexible()
    layer = message.neuralNetwork.layers.add(name="fc", input=["y"], output=["z"])
    layer.innerProduct.inputChannels, layer.innerProduct.outputChannels = 24, 2
    layer.innerProduct.weights.floatValue.extend([0.5] * 48)
    flat = message.neuralNetwork.layers.add(name="flat", input=["y"], output=["f"])
    flat.flatten.SetInParent()
    layer.input[0] = "f"
    message.neuralNetwork.layers.sort(key=lambda entry: entry.name == "fc")
    message.description.output[0].name = "z"
    result = pippin.to_onnx(model_of(message), target)
    if shape_of(written(target).graph.input[0])[3] == 8:
        assert "layer 'fc'" in result.export.notes[0]
    else:  # the engine can only find out when it runs
        assert result.export.notes == []


def test_default_inputs_may_be_left_out(target: Path) -> None:
    message = network([("addBroadcastable", {}, ["a", "b"], ["y"])], {"a": [2], "b": [2]}, ["y"])
    kind = message.description.input[1].type
    kind.isOptional = True
    kind.multiArrayType.floatDefaultValue = 3.5
    pippin.to_onnx(model_of(message), target)
    assert run(target, {"a": np.float32([1, 2])})["y"].tolist() == [4.5, 5.5]
    assert run(target, {"a": np.float32([1, 2]), "b": np.float32([1, 1])})["y"].tolist() == [2, 3]
    assert pippin.load(target).predict({"a": [1, 2]})["y"].tolist() == [4.5, 5.5]


def test_recurrent_state_is_kept(target: Path) -> None:
    gates = {f"{gate}{kind}": normal(*size, seed=number)
             for number, gate in enumerate(("inputGate", "forgetGate", "blockInput", "outputGate"))
             for kind, size in (("WeightMatrix", (4, 3)), ("RecursionMatrix", (4, 4)))}  # fmt: skip
    layer = {
        "inputVectorSize": 3, "outputVectorSize": 4, "params": {"sequenceOutput": False},
        "activations": [{"sigmoid": {}}, {"tanh": {}}, {"tanh": {}}], "weightParams": gates,
    }  # fmt: skip
    message = network(
        [("uniDirectionalLSTM", layer, ["x", "h_in", "c_in"], ["y", "h_out", "c_out"])],
        {"x": [3], "h_in": [4], "c_in": [4]},
        ["y", "h_out", "c_out"],
        exact=False,
    )
    for entry in message.description.input[1:]:
        entry.type.isOptional = True
    for entry in message.description.output:
        entry.type.multiArrayType.shape.append(4)
    model = model_of(message)
    pippin.to_onnx(model, target, verify="full")
    state = model.new_state()
    h = c = np.zeros(4, np.float32)
    for step in range(4):
        x = normal(3, seed=step)
        wanted = model.predict({"x": x}, state=state)
        answer = run(target, {"x": x, "h_in": h, "c_in": c})
        h, c = answer["h_out"], answer["c_out"]
        np.testing.assert_allclose(answer["y"], wanted["y"], atol=1e-6)
    assert "LSTM" in {node.op_type for node in every_node(written(target).graph)}


def test_sequences_with_open_dims(target: Path) -> None:
    layer = {
        "inputVectorSize": 3, "outputVectorSize": 2, "sequenceOutput": True, "activation": {"tanh": {}},
        "weightMatrix": normal(2, 3), "recursionMatrix": normal(2, 2),
    }  # fmt: skip
    model = model_of(network([("simpleRecurrent", layer, ["x"], ["y"])], {"x": [3]}, ["y"], exact=False))
    result = pippin.to_onnx(model, target, dims="symbolic", verify="full")
    assert shape_of(written(target).graph.input[0]) == ["sequence", "batch", 3]
    assert result.proof.trials[0].outputs[0].shape[:2] == (3, 2)
    x = normal(7, 1, 3)
    wanted = model.predict({"x": x})["y"]
    np.testing.assert_allclose(run(target, {"x": x})["y"].reshape(wanted.shape), wanted, atol=1e-6)


def test_integers_stay_integers(target: Path) -> None:
    message = network([("argMax", {"axis": -1}, ["x"], ["y"])], {"x": [2, 5]}, ["y"])
    message.description.output[0].type.multiArrayType.dataType = 131104
    pippin.to_onnx(model_of(message), target)
    proto = written(target)
    assert proto.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.INT32
    assert [node.op_type for node in proto.graph.node] == ["ArgMax", "Cast"]


# -- idiom and weights -------------------------------------------------------------------------------------------------


def test_slopes_run_along_the_channels(target: Path) -> None:
    params = {"PReLU": {"alpha": normal(3)}}
    pippin.to_onnx(
        model_of(network([("activation", params, ["x"], ["y"])], {"x": [3, 4, 5]}, ["y"], exact=False)), target
    )
    proto = written(target)
    (node,) = [node for node in proto.graph.node if node.op_type == "PRelu"]
    (slope,) = [tensor for tensor in proto.graph.initializer if tensor.name == node.input[1]]
    assert list(slope.dims) == [3, 1, 1]


LEVELS = np.arange(12) % 4
WEIGHTS = {
    "float16": half(np.linspace(-1, 1, 12)),
    "linear": linear(LEVELS, 2, [0.5], [-1.0]),
    "linear per channel": linear(LEVELS, 2, [0.5, 0.25, 1.0], [-1.0, 0.0, 0.5]),
    "lookup": lookup(LEVELS, 2, [-1.5, -0.25, 0.5, 2.0]),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_of_every_encoding(kind: str, target: Path) -> None:
    message = network([("innerProduct", {"inputChannels": 4, "outputChannels": 3}, ["x"], ["y"])],
                      {"x": [4]}, ["y"], exact=False)  # fmt: skip
    fill(message.neuralNetwork.layers[0].innerProduct.weights, WEIGHTS[kind])
    result = pippin.to_onnx(model_of(message), target, verify="full")
    proto = written(target)
    assert result.ok
    assert {tensor.data_type for tensor in proto.graph.initializer} <= {onnx.TensorProto.FLOAT, onnx.TensorProto.INT64}


def test_weights_beside_the_file(target: Path) -> None:
    result = pippin.to_onnx(EXAMPLES[0], target, weights="beside")
    data = target.with_name("out.onnx.data")
    assert result.export.weights == data
    proto = onnx.load(target, load_external_data=False)
    outside = [t for t in proto.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]
    assert outside
    for tensor in outside:
        fields = {entry.key: entry.value for entry in tensor.external_data}
        assert fields["location"] == "out.onnx.data"
        assert int(fields["offset"]) % 64 == 0
    whole = target.with_name("whole.onnx")
    pippin.to_onnx(EXAMPLES[0], whole)
    inside = {t.name: numpy_helper.to_array(t) for t in onnx.load(whole).graph.initializer}
    for tensor in onnx.load(target).graph.initializer:
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), inside[tensor.name])
    x = normal(1, 1, 16, 16)
    np.testing.assert_array_equal(run(target, {"image": x})["probabilities"], run(whole, {"image": x})["probabilities"])


def test_what_does_not_fit_into_one_file(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pippin.graph.save.MAX_FILE", 1000)
    assert pippin.to_onnx(EXAMPLES[0], target).export.weights is not None
    target.unlink()
    with pytest.raises(pippin.WriteError, match="one ONNX file holds"):
        pippin.to_onnx(EXAMPLES[0], target, weights="inside")
    assert not target.exists()


@pytest.mark.parametrize("opset", [13, 17, 20, 24])
def test_opset(opset: int, target: Path) -> None:
    result = pippin.to_onnx(EXAMPLES[0], target, opset=opset, verify="full")
    assert written(target).opset_import[0].version == opset == result.export.opset


def test_opset_refusals(target: Path) -> None:
    message = network([("upperTriangular", {"k": 0}, ["x"], ["y"])], {"x": [2, 2]}, ["y"])
    with pytest.raises(pippin.UnsupportedError, match=r"layer 'upperTriangular0'.*operator set 13 has no Trilu"):
        pippin.to_onnx(model_of(message), target, opset=13)
    with pytest.raises(pippin.UnsupportedError, match="between 13 and 24"):
        pippin.to_onnx(EXAMPLES[0], target, opset=9)
    assert not target.exists()


def test_custom_layers(target: Path) -> None:
    message = network([("custom", {"className": "Twice"}, ["x"], ["y"])], {"x": [3]}, ["y"])
    data = message.SerializeToString()
    with pytest.raises(pippin.UnsupportedError, match="Python function"):
        pippin.to_onnx(data, target, custom_layers={"Twice": lambda inputs, params: [inputs[0] * 2]})
    assert not target.exists()
    emits = {"Twice": lambda g, params, x: g.Add(x, x)}
    pippin.to_onnx(data, target, custom_layers=emits, verify="none")
    assert [node.op_type for node in written(target).graph.node] == ["Add"]


# -- the proof ----------------------------------------------------------------------------------------------------


def tampered(target: Path, change: Any) -> None:
    proto = onnx.load(target)
    (tensor,) = [t for t in proto.graph.initializer if t.name.startswith("conv1") and len(t.dims) == 4]
    values = numpy_helper.to_array(tensor).copy()
    change(values)
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    onnx.save(proto, target)


def test_the_proof_fails_on_a_changed_weight(target: Path) -> None:
    model = pippin.load(EXAMPLES[0])
    export(model, target)
    assert verify(model, target).ok
    tampered(target, lambda values: values.__setitem__((0, 0, 1, 1), values[0, 0, 1, 1] + 0.05))
    proof = verify(model, target, level="full")
    assert not proof.ok
    failed = {entry.name for _, entry in proof.failed()}
    assert {"probabilities", "conv1"} <= failed
    assert not proof.to_dict()["ok"]


def test_a_wrong_file_is_told(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pippin.coreml import export as module

    def spoil(*words: Any, **options: Any) -> Any:
        result = export(*words, **options)
        tampered(target, lambda values: values.__imul__(1.1))
        return result

    monkeypatch.setattr(module, "export", spoil)
    with pytest.raises(pippin.VerifyError, match="answers differently: 'probabilities'"):
        pippin.to_onnx(EXAMPLES[0], target)
    assert target.exists()
    done = CliRunner().invoke(cli, ["convert", str(EXAMPLES[0]), str(target)])
    assert done.exit_code == 1
    assert "over the tolerance" in done.output
    assert "different:" in done.output


def test_random_numbers_cannot_be_proved(target: Path) -> None:
    message = network([("randomUniformStatic", {"outputShape": [3], "minVal": 0, "maxVal": 1}, [], ["r"]),
                       ("addBroadcastable", {}, ["x", "r"], ["y"])], {"x": [3]}, ["y"])  # fmt: skip
    proof = pippin.to_onnx(model_of(message), target).proof
    assert "random" in proof.skipped


def test_rounding_to_float32_is_no_difference(target: Path) -> None:
    """Numbers of 1e8 minus each other: float32 cannot tell, and the proof knows."""
    layers = [
        ("unary", {"type": "INVERSE", "epsilon": 0}, ["x"], ["big"]),
        ("subtractBroadcastable", {}, ["big", "z"], ["small"]),
        ("activation", {"linear": {"alpha": 1e4}}, ["small"], ["y"]),
    ]
    model = model_of(network(layers, {"x": [4], "z": [4]}, ["y"]))
    export(model, target)
    data = {"x": np.float32([3e-4, 7e-5, 1.1e-4, 1.3e-4]), "z": 1 / np.float32([3.01e-4, 7.1e-5, 1.11e-4, 1.31e-4])}
    proof = verify(model, target, inputs=[data])
    (entry,) = proof.trials[0].outputs
    assert not entry.problem
    assert entry.excess > 1
    assert entry.rounding > 0
    assert proof.ok


def test_user_inputs_are_tried(target: Path) -> None:
    done = CliRunner().invoke(
        cli, ["convert", str(EXAMPLES[0]), str(target), str(ROOT / "examples/digit-7.png"), "--json"]
    )
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    assert [trial["input"] for trial in content["proof"]["trials"]] == ["the input given", "seed 0"]
    assert content["schema"] == 1
