"""Comparing: the layer that was changed is found, whatever stands on the other side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import numpy_helper

import pippin
from cases import normal
from make import network, picture_network
from pippin.analysis import samples
from pippin.analysis.compare import Comparison, compare
from pippin.analysis.difference import difference
from pippin.cli import cli
from pippin.coreml import inner
from pippin.coreml.edit.slots import slots
from pippin.coreml.export import export
from shared import SHARED, needs_shared

ROOT = Path(__file__).resolve().parents[1]
DIGITS = ROOT / "examples/digits.mlmodel"
SMALL = ROOT / "examples/digits-4bit.mlmodel"
SEVEN = str(ROOT / "examples/digit-7.png")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def conv(source: str, target: str, inputs: int, outputs: int, seed: int, **more: Any) -> Any:
    params = {"outputChannels": outputs, "kernelChannels": inputs, "kernelSize": [3, 3], "nGroups": 1, "hasBias": True,
              "weights": normal(outputs, inputs, 3, 3, seed=seed) / np.float32(3 * inputs**0.5),
              "bias": normal(outputs, seed=seed + 50) * np.float32(0.1), **more}  # fmt: skip
    return ("convolution", params, [source], [target])


def unet() -> Any:
    """A picture through convolutions, pooling, upsampling and a skip; activations in place, as Caffe writes them."""
    half = {"stride": [2, 2], "same": {"asymmetryMode": "BOTTOM_RIGHT_HEAVY"}}
    same: dict[str, Any] = {"same": {}}
    upsample = {"scalingFactor": [2, 2], "mode": "BILINEAR"}
    layers = [
        conv("image", "a", 3, 8, 1, **same),
        ("activation", {"ReLU": {}}, ["a"], ["a"]),
        conv("a", "b", 8, 8, 2, **half),
        ("activation", {"leakyReLU": {"alpha": 0.1}}, ["b"], ["b"]),
        conv("b", "c", 8, 12, 3, **half),
        ("batchnorm", {"channels": 12, "gamma": 1 + normal(12) / 8, "beta": normal(12, seed=2) / 4,
                       "mean": normal(12, seed=3) / 8, "variance": np.abs(normal(12, seed=4)) + 0.5}, ["c"], ["d"]),
        ("activation", {"ReLU": {}}, ["d"], ["e"]),
        ("upsample", upsample, ["e"], ["f"]),
        ("concat", {}, ["f", "b"], ["g"]),
        conv("g", "h", 20, 8, 5, valid={"paddingAmounts": {"borderAmounts": [
            {"startEdgeSize": 2, "endEdgeSize": 0}, {"startEdgeSize": 1, "endEdgeSize": 1}]}}),
        ("activation", {"sigmoid": {}}, ["h"], ["i"]),
        ("pooling", {"type": "AVERAGE", "kernelSize": [3, 3], "stride": [2, 2], "avgPoolExcludePadding": True,
                     "same": {"asymmetryMode": "TOP_LEFT_HEAVY"}}, ["i"], ["j"]),
        ("flatten", {"mode": "CHANNEL_FIRST"}, ["j"], ["k"]),
        ("innerProduct", {"inputChannels": 8 * 8 * 8, "outputChannels": 10, "hasBias": True,
                          "weights": normal(10, 512) / 8, "bias": normal(10)}, ["k"], ["l"]),
        ("softmax", {}, ["l"], ["y"]),
    ]  # fmt: skip
    message = picture_network(layers, size=(32, 32))
    scaler = message.neuralNetwork.preprocessing.add(featureName="image").scaler
    scaler.channelScale, scaler.redBias, scaler.greenBias, scaler.blueBias = 1 / 64, -2, -1.5, -1
    return message


def load(message: Any) -> Any:
    return pippin.load(message.SerializeToString())


# -- changes -----------------------------------------------------------------------------------------------------------


def add_noise(model: Any, generator: Any, share: float) -> str:
    """Noise on one array of weights, ``share`` of their root mean square; answers with the layer's name."""
    choices = [slot for slot in slots(model.document.network, model.weights) if slot.role == "weights"]
    slot = choices[generator.integers(len(choices))]
    axis = slot.axis if slot.axis is not None else 0
    values = model.weights.array(slot.params, slot.shape, axis=axis)
    size = float(np.sqrt(np.mean(np.square(values.astype(np.float64)))))
    noisy = values + (generator.standard_normal(values.shape) * share * size).astype(np.float32)
    del slot.params.pippinView[:]
    slot.params.ClearField("quantization")
    for field in ("float16Value", "rawValue", "int8RawValue"):
        slot.params.ClearField(field)
    slot.params.floatValue[:] = noisy.reshape(-1).tolist()
    return str(slot.layer.name)


def wrong_mode(model: Any, generator: Any) -> str | None:
    found = [entry for entry in model.document.network.layers if entry.WhichOneof("layer") == "upsample"]
    if not found:
        return None
    layer = found[-1 - generator.integers(len(found) // 2 + 1)]  # deep ones see planes of zeros
    layer.upsample.mode = 1 - layer.upsample.mode
    return str(layer.name)


def swapped_padding(model: Any, generator: Any) -> str | None:
    """More on the other side: of SAME where the sum is odd, or of explicit amounts."""
    shapes = model.blob_shapes()
    found = []
    for layer in model.document.network.layers:
        kind = layer.WhichOneof("layer")
        if kind not in ("convolution", "pooling"):
            continue
        params = getattr(layer, kind)
        if params.HasField("same"):
            size, kernel = shapes[layer.input[0]][-2:], list(params.kernelSize) or [3, 3]
            stride = list(params.stride) or [1, 1]
            total = [max((-(-n // s) - 1) * s + k - n, 0) for n, s, k in zip(size, stride, kernel, strict=True)]
            if any(amount % 2 for amount in total):
                found.append((layer, params.same))
        elif params.HasField("valid") and len(params.valid.paddingAmounts.borderAmounts) == 2:
            edges = params.valid.paddingAmounts.borderAmounts
            if any(edge.startEdgeSize != edge.endEdgeSize for edge in edges):
                found.append((layer, edges))
    if not found:
        return None
    layer, where = found[generator.integers(len(found))]
    if hasattr(where, "asymmetryMode"):
        where.asymmetryMode = 1 - where.asymmetryMode
    else:
        for edge in where:
            edge.startEdgeSize, edge.endEdgeSize = edge.endEdgeSize, edge.startEdgeSize
    return str(layer.name)


def wrong_colors(model: Any) -> str | None:
    for entry in model.document.model.description.input:
        kind = entry.type.imageType
        if entry.type.WhichOneof("Type") == "imageType" and kind.colorSpace in (20, 30):
            kind.colorSpace = 50 - kind.colorSpace
            return str(entry.name)
    return None


def perturb(model: Any, trial: int) -> tuple[str, str]:
    """One change for a trial number: what it is, and the layer (or input) that was changed."""
    generator = np.random.default_rng([20, trial])
    for what in (*("noise", "mode", "padding", "colors")[trial % 4 :], "noise"):
        if what == "noise":
            return what, add_noise(model, generator, (0.01, 0.02, 0.05, 0.1)[trial // 4 % 4])
        change = {"mode": wrong_mode, "padding": swapped_padding}.get(what)
        name = change(model, generator) if change else wrong_colors(model)
        if name is not None:
            return what, name
    raise AssertionError


def other_side(model: Any, data: Any, trial: int, folder: Path) -> tuple[Any, Any]:
    """The sound model in one of three forms: itself, its ONNX, or all its blobs as a recording."""
    form = ("model", "onnx", "recording")[trial % 3]
    if form == "onnx":
        export(model, folder / "sound.onnx")
        return pippin.load(folder / "sound.onnx"), data
    if form == "recording":
        blobs = inner.distinct(model).blobs(data)
        return {name: value for name, value in blobs.items() if name not in model.inputs}, data
    return model, data


def check_trial(source: Any, trial: int, folder: Path) -> None:
    sound, changed = source(), source()
    what, name = perturb(changed, trial)
    changed = pippin.Model(changed.document).prepare()
    data = samples.sample(sound, trial)
    b, data = other_side(sound, data, trial, folder)
    found = compare(changed, b, data)
    assert found.departure is not None, (what, name)
    label = f"trial {trial}: {what} at {name!r}, found {found.departure}"
    assert len(found.departure.suspects) == 1, label
    if what == "colors":
        # the picture itself is only there to compare where the other side is a Core ML model
        first = next(layer for layer in sound.document.network.layers if name in layer.input)
        assert found.departure.place in (f"input {name!r}", place_of(first)), label
        assert found.departure.cause.kind == "preprocessing", label
        return
    layer = next(entry for entry in changed.document.network.layers if entry.name == name)
    assert found.departure.place == place_of(layer), label
    assert found.departure.others == 0, label
    if trial % 3 == 0:
        assert found.departure.cause.kind == ("weights" if what == "noise" else "parameters"), label


def place_of(layer: Any) -> str:
    return f"layer {layer.name!r} ({layer.WhichOneof('layer')})"


@pytest.mark.parametrize("trial", range(20))
def test_twenty_trials(trial: int, tmp_path: Path) -> None:
    data = unet().SerializeToString()
    check_trial(lambda: pippin.load(data), trial, tmp_path)


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("trial", range(20))
def test_twenty_trials_on_real_networks(trial: int, tmp_path: Path) -> None:
    names = ("food-f32", "pose-hourglass", "mnist-astro", "unet-448", "blazeface-v4", "exercise-stgcn", "food-linear4")
    path = SHARED / "models" / f"{names[trial % len(names)]}.mlmodel"
    check_trial(lambda: pippin.load(path), trial, tmp_path)


# -- causes ------------------------------------------------------------------------------------------------------------


def depart(found: Comparison) -> tuple[str, str, str]:
    assert found.departure is not None
    return found.departure.place, found.departure.cause.kind, found.departure.cause.text


def test_equal_models_are_the_same() -> None:
    model = pippin.load(DIGITS)
    for other in (model, "reference", pippin.load(DIGITS)):
        found = compare(model, other)
        assert found.ok
        assert found.departure is None
        assert len(found.steps) == 10
        assert found.unmatched == []


def test_two_upsamplings_one_in_the_wrong_mode() -> None:
    def model(mode: str) -> Any:
        layers = [
            ("upsample", {"scalingFactor": [2, 2], "mode": "BILINEAR"}, ["x"], ["a"]),
            ("activation", {"ReLU": {}}, ["a"], ["b"]),
            ("upsample", {"scalingFactor": [2, 2], "mode": mode}, ["b"], ["y"]),
        ]
        return load(network(layers, {"x": [3, 8, 8]}, ["y"], exact=False))

    place, kind, text = depart(compare(model("NN"), model("BILINEAR")))
    assert (place, kind) == ("layer 'upsample2' (upsample)", "parameters")
    assert text == "mode is NN in the first model and BILINEAR in the second"


def test_quantised_weights() -> None:
    place, kind, text = depart(compare(pippin.load(SMALL), pippin.load(DIGITS)))
    assert (place, kind) == ("layer 'conv1' (convolution)", "quantisation")
    assert "lookup table 4 bit and float32" in text


def test_quantised_weights_against_an_onnx(tmp_path: Path) -> None:
    export(pippin.load(DIGITS), tmp_path / "d.onnx")
    place, kind, text = depart(compare(pippin.load(SMALL), pippin.load(tmp_path / "d.onnx")))
    assert (place, kind) == ("layer 'conv1' (convolution)", "quantisation")
    assert "lookup table 4 bit" in text


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_rounding_is_told_from_a_wrong_layer(kind: Any) -> None:
    model = load(unet())
    data = samples.sample(model)
    rounded = compare(model, None, data, precision=kind)
    assert depart(rounded)[1] == kind
    # recorded answers of a device that computes so, all blobs or the answer alone
    values = dict(rounded.narrow.values)
    values.pop("image")
    found = compare(model, values, data, precision=kind)
    assert depart(found)[1] == kind
    found = compare(model, {"y": values["y"]}, data, precision=kind)
    assert not found.ok
    assert found.explained == {"y": True}
    wrong = values["y"].copy()
    wrong.reshape(-1)[0] += 0.2
    assert compare(model, {"y": wrong}, data, precision=kind).explained == {"y": False}


def test_layout(tmp_path: Path) -> None:
    model = load(unet())
    data = samples.sample(model)
    blobs = inner.distinct(model).blobs(data)
    recording = {"h": blobs["h"][0].transpose(0, 2, 3, 1), "y": blobs["y"].reshape(-1)}
    found = compare(model, recording, data)
    assert found.ok
    assert [step.pair.how for step in found.steps] == ["layout", "name"]
    assert all(step.difference.ok for step in found.steps)


def test_a_transposed_blob_of_one_shape() -> None:
    model = load(network([("transpose", {"axes": [1, 0]}, ["x"], ["y"])], {"x": [6, 6]}, ["y"]))
    data = {"x": normal(6, 6)}
    _, kind, text = depart(compare(model, {"y": data["x"]}, data))
    assert kind == "layout"
    assert "[1, 0]" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda scaler: setattr(scaler, "channelScale", 1 / 128), "channelScale"),
        (lambda scaler: setattr(scaler, "redBias", 0), "redBias"),
    ],
)
def test_preprocessing(change: Any, words: str) -> None:
    other = unet()
    change(other.neuralNetwork.preprocessing[0].scaler)
    place, kind, text = depart(compare(load(other), load(unet())))
    assert (place, kind) == ("input 'image'", "preprocessing")
    assert words in text


def test_preprocessing_by_its_values() -> None:
    """An ONNX that takes the picture as an array, scaled otherwise."""
    layers = [("activation", {"linear": {"alpha": 1}}, ["image"], ["seen"]), *small_tail()]
    message = picture_network(layers, size=(8, 8))
    message.neuralNetwork.preprocessing.add(featureName="image").scaler.channelScale = 1
    model = load(message)
    data = samples.sample(model)
    blobs = model.blobs(data)
    recording = {"seen": blobs["seen"] / 255 - 0.5, "y": blobs["y"]}
    place, kind, text = depart(compare(model, recording, data))
    assert (place, kind) == ("layer 'activation0' (activation)", "scale")
    assert text.startswith("the second is 0.00392157 x the first - 0.5")


def small_tail() -> list[Any]:
    return [conv("seen", "z", 3, 4, 1, same={}), ("activation", {"tanh": {}}, ["z"], ["y"])]


def test_not_a_number() -> None:
    model = load(network([("unary", {"type": "LOG", "epsilon": 0}, ["x"], ["a"]),
                          ("activation", {"ReLU": {}}, ["a"], ["y"])], {"x": [4]}, ["y"], exact=False))  # fmt: skip
    data = {"x": np.float32([1, 2, -1, 3])}
    place, kind, text = depart(compare(model, {"a": np.zeros(4), "y": np.zeros(4)}, data))
    assert (place, kind) == ("layer 'unary0' (unary)", "not a number")
    assert "first" in text


def test_the_original_of_another_framework(tmp_path: Path) -> None:
    """Other names, fused layers: blobs are found by value, and layers without a counterpart are suspects together."""
    from onnx import TensorProto, helper

    weights = {
        name: normal(*shape, seed=seed) for name, shape, seed in (("w1", (4, 3, 3, 3), 1), ("w2", (4, 4, 3, 3), 2))
    }
    params = {"kernelSize": [3, 3], "nGroups": 1, "same": {}, "outputChannels": 4}
    layers = [
        ("convolution", {**params, "kernelChannels": 3, "weights": weights["w1"]}, ["x"], ["c1"]),
        ("activation", {"ReLU": {}}, ["c1"], ["r1"]),
        ("convolution", {**params, "kernelChannels": 4, "weights": weights["w2"]}, ["r1"], ["c2"]),
        ("activation", {"tanh": {}}, ["c2"], ["y"]),
    ]
    model = load(network(layers, {"x": [3, 8, 8]}, ["y"], exact=False))

    def original(second: Any) -> Any:
        pads = {"pads": [1, 1, 1, 1]}
        nodes = [
            helper.make_node("Conv", ["input.1", "w1"], ["/conv1/out"], **pads),
            helper.make_node("Relu", ["/conv1/out"], ["/relu/out"]),
            helper.make_node("Conv", ["/relu/out", "w2"], ["/conv2/out"], **pads),
            helper.make_node("Tanh", ["/conv2/out"], ["out"]),
        ]
        held = [numpy_helper.from_array(weights["w1"], "w1"), numpy_helper.from_array(second, "w2")]
        graph = helper.make_graph(
            nodes, "g",
            [helper.make_tensor_value_info("input.1", TensorProto.FLOAT, [1, 3, 8, 8])],
            [helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, 4, 8, 8])], held,
        )  # fmt: skip
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(proto, tmp_path / "original.onnx")
        return pippin.load(tmp_path / "original.onnx")

    same = compare(model, original(weights["w2"]))
    assert same.ok
    assert [step.pair.how for step in same.steps] == ["value"] * 5
    found = compare(model, original(weights["w2"] * np.float32(1.1)))
    place, kind, _ = depart(found)
    assert (place, kind) == ("layer 'convolution2' (convolution)", "scale")
    back = compare(original(weights["w2"] * np.float32(1.1)), model)
    assert depart(back)[0] == "node 2 (Conv)"
    fused = compare(model, {"r1": model.blobs({"x": (x := normal(3, 8, 8))})["r1"], "y": np.zeros((4, 8, 8))}, {"x": x})
    assert fused.departure is not None
    assert fused.departure.suspects == ["layer 'convolution2' (convolution)", "layer 'activation3' (activation)"]


def test_what_cannot_be_compared() -> None:
    model = load(network([("activation", {"ReLU": {}}, ["x"], ["y"])], {"x": [3]}, ["y"]))
    for other, data, text in (
        ({"z": np.zeros(5)}, {"x": [1, 2, 3]}, "output 'y' has no counterpart"),
        ({"y": np.zeros(3)}, None, "recorded answers belong to an input"),
        ({"y": np.array(["a"])}, {"x": [1, 2, 3]}, "no arrays of numbers"),
        (None, None, "needs a second model"),
    ):
        with pytest.raises(pippin.InputError, match=text):
            compare(model, other, data)
    assert compare(model, {"x": np.float32([-1, 2, 3]), "y": np.float32([0, 2, 3])}).ok


def test_random_layers_do_not_break_it() -> None:
    layers = [("randomUniformStatic", {"outputShape": [3], "minVal": 0, "maxVal": 1}, [], ["r"]),
              ("addBroadcastable", {}, ["x", "r"], ["y"])]  # fmt: skip
    found = compare(model := load(network(layers, {"x": [3]}, ["y"])), model)
    assert not found.ok


# -- differences -------------------------------------------------------------------------------------------------------


def test_difference() -> None:
    a, b = np.array([1.0, 2.0, 0.0]), np.array([1.0, 2.1, 0.0])
    entry = difference("n", a, b)
    assert entry.absolute == pytest.approx(0.1)
    assert entry.relative == pytest.approx(0.1 / 2.1)
    assert entry.at == (1,)
    assert entry.excess == pytest.approx(0.1 / (1e-4 + 1e-4 * 2.1))
    assert not entry.ok
    assert difference("n", a, a).ok
    inf, nan = np.array([np.inf, np.nan]), np.array([np.inf, 1.0])
    assert difference("n", inf, inf).ok
    assert "at [1]: nan and 1" in difference("n", inf, nan).problem
    assert "shapes differ" in difference("n", a, np.zeros(4)).problem
    assert difference("n", np.zeros((1, 3, 1)), np.zeros(3)).ok
    assert difference("n", 1000 * a, 1000 * a + 0.05, scaled=True).ok
    assert difference("n", np.zeros((0, 3)), np.zeros((0, 3))).ok
    json.dumps(difference("n", inf, nan).to_dict(), allow_nan=False)


# -- the command line ------------------------------------------------------------------------------------------------


def test_command(tmp_path: Path) -> None:
    export(pippin.load(DIGITS), tmp_path / "d.onnx")
    for words in (["reference"], [str(tmp_path / "d.onnx")], ["reference", SEVEN], ["reference", f"image={SEVEN}"]):
        done = run("compare", str(DIGITS), *words)
        assert done.exit_code == 0, done.output
        assert done.output.rstrip().splitlines()[-1].startswith("the same")
    done = run("compare", str(DIGITS), str(SMALL), SEVEN)
    assert done.exit_code == 1
    for text in ("first to depart: layer 'conv1' (convolution)", "likely cause: quantisation", "over the tolerance"):
        assert text in done.output
    content = json.loads(run("compare", str(DIGITS), str(SMALL), "--json").stdout)
    assert content["schema"] == 1
    assert content["departure"]["layer"] == "layer 'conv1' (convolution)"
    assert content["ok"] is False
    assert len(content["blobs"]) == 10
    done = run("compare", str(DIGITS), str(SMALL), "--tolerance", "10")
    assert done.exit_code == 0


def test_recorded_answers(tmp_path: Path) -> None:
    """What another machine answered, as it wrote it down."""
    (tmp_path / "mac.json").write_text(run("run", str(DIGITS), SEVEN, "--json").stdout)
    assert run("compare", str(DIGITS), str(tmp_path / "mac.json"), SEVEN).exit_code == 0
    content = json.loads((tmp_path / "mac.json").read_text())
    content["outputs"]["probabilities"]["3"] += 0.01
    (tmp_path / "mac.json").write_text(json.dumps(content))
    assert run("compare", str(DIGITS), str(tmp_path / "mac.json"), SEVEN).exit_code == 1
    answer = pippin.load(DIGITS).blobs({"image": SEVEN})
    np.savez(tmp_path / "mac.npz", probabilities=answer["probabilities"].reshape(-1), conv1=answer["conv1"][0])
    done = run("compare", str(DIGITS), str(tmp_path / "mac.npz"), SEVEN, "--all")
    assert done.exit_code == 0, done.output
    assert "layer 'conv1' (convolution)" in done.output


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ([], 2, "compare with what?"),
        ([SEVEN], 2, "compare with what?"),
        (["missing.onnx"], 1, "missing.onnx"),
        (["missing.npz", SEVEN], 2, "cannot be read"),
    ],
)
def test_wrong_use(words: list[str], code: int, text: str) -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "pippin", "compare", str(DIGITS), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert text in done.stderr
    assert "Traceback" not in done.stderr
