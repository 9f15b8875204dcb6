"""``load`` and ``predict``: what goes in, what comes out, and what is said when it does not fit."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import pippin
from make import add, classifier, network, picture_network
from pippin.coreml import schema
from pippin.errors import CheckError, DeviceError, InputError, TimeoutError

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
COPY = ("activation", {"linear": {"alpha": 1, "beta": 0}}, ["image"], ["y"])
SUM = {"inputChannels": 3, "outputChannels": 1, "weights": np.ones(3)}
PIXELS = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)


def load(model: Any, **options: Any) -> Any:
    return pippin.load(model.SerializeToString(), **options)


# -- pictures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("color", "order"), [(20, [0, 1, 2]), (30, [2, 1, 0])], ids=["RGB", "BGR"])
def test_colour_order(color: int, order: list[int]) -> None:
    answer = load(picture_network([COPY], color=color)).predict({"image": PIXELS})["y"]
    np.testing.assert_array_equal(answer, PIXELS.transpose(2, 0, 1)[order].astype(np.float32))


def test_grayscale_takes_colour_pictures_too() -> None:
    net = load(picture_network([COPY], color=10))
    gray = np.arange(12, dtype=np.uint8).reshape(3, 4)
    np.testing.assert_array_equal(net.predict({"image": gray})["y"], gray[None])
    colour = Image.fromarray(np.repeat(gray[:, :, None], 3, 2))
    np.testing.assert_array_equal(net.predict({"image": colour})["y"], gray[None])


def test_float16_grayscale_keeps_fractions() -> None:
    net = load(picture_network([COPY], color=40, version=7))
    values = np.linspace(0, 1, 12, dtype=np.float16).reshape(3, 4)
    np.testing.assert_array_equal(net.predict({"image": values})["y"], values[None].astype(np.float32))
    picture = Image.fromarray(values.astype(np.float32))
    np.testing.assert_array_equal(net.predict({"image": picture})["y"], values[None].astype(np.float32))


def test_a_picture_by_path_object_and_array_is_the_same(tmp_path: Path) -> None:
    net = load(picture_network([COPY]))
    picture = Image.fromarray(PIXELS)
    picture.save(tmp_path / "p.png")
    wanted = net.predict({"image": PIXELS})["y"]
    for value in (picture, tmp_path / "p.png", str(tmp_path / "p.png"), PIXELS.astype(np.float32)):
        np.testing.assert_array_equal(net.predict({"image": value})["y"], wanted)


@pytest.mark.parametrize(("color", "bias"), [(20, [1, 2, 3]), (30, [3, 2, 1]), (10, [4])], ids=["RGB", "BGR", "gray"])
def test_scaler(color: int, bias: list[float]) -> None:
    model = picture_network([COPY], color=color)
    scaler = model.neuralNetwork.preprocessing.add(featureName="image").scaler
    scaler.channelScale = 0.5
    scaler.redBias, scaler.greenBias, scaler.blueBias, scaler.grayBias = 1, 2, 3, 4
    plain = load(picture_network([COPY], color=color)).predict({"image": Image.fromarray(PIXELS)})["y"]
    answer = load(model).predict({"image": Image.fromarray(PIXELS)})["y"]
    np.testing.assert_allclose(answer, plain * 0.5 + np.array(bias).reshape(-1, 1, 1))


def test_mean_image_comes_in_channel_order() -> None:
    model = picture_network([COPY], color=30)
    mean = np.arange(36, dtype=np.float32)
    model.neuralNetwork.preprocessing.add(featureName="image").meanImage.meanImage.extend(mean.tolist())
    plain = load(picture_network([COPY], color=30)).predict({"image": PIXELS})["y"]
    np.testing.assert_array_equal(load(model).predict({"image": PIXELS})["y"], plain - mean.reshape(3, 3, 4))


def test_mean_image_of_another_size_is_refused() -> None:
    model = picture_network([COPY])
    model.neuralNetwork.preprocessing.add(featureName="image").meanImage.meanImage.extend([0.0] * 35)
    with pytest.raises(CheckError, match=r"meanImage must hold 36 values \[3, 3, 4\], got 35"):
        load(model)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (PIXELS[:2], "4x3, got 4x2"),
        (np.zeros((3, 7, 5), np.uint8), "channels come last"),
        (np.zeros((3, 4, 4), np.uint8), "alpha"),
        (Image.new("RGB", (8, 8)), r"--resize"),
        ("nowhere.png", "cannot be read"),
        (b"bytes", "a picture is wanted"),
        ([[1, 2], [3, 4]], "a picture is wanted"),
        (7, "a picture is wanted"),
    ],
)
def test_pictures_that_do_not_fit(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load(picture_network([COPY])).predict({"image": value})
    assert "input 'image'" in str(caught.value)


def test_picture_out() -> None:
    for color in (20, 30, 10):
        model = picture_network([("activation", {"linear": {"alpha": 2, "beta": 0.6}}, ["image"], ["y"])], color=color)
        image = model.description.output[0].type.imageType
        image.width, image.height, image.colorSpace = 4, 3, color
        picture = PIXELS[..., 0] * 7 if color == 10 else PIXELS * 7
        answer = load(model).predict({"image": picture})["y"]
        assert answer.size == (4, 3)
        np.testing.assert_array_equal(np.asarray(answer), np.clip(np.rint(picture * 2.0 + 0.6), 0, 255))


def test_a_picture_of_other_channels_is_refused() -> None:
    model = picture_network([COPY], color=10)
    image = model.description.output[0].type.imageType
    image.width, image.height, image.colorSpace = 4, 3, 20
    with pytest.raises(CheckError, match=r"output 'y': a RGB picture needs a blob of 3 channels.*\[1, 1, 3, 4\]"):
        load(model).predict({"image": PIXELS[..., 0]})


# -- multi-arrays ----------------------------------------------------------------------------------------------------


def identity(shape: list[int], **options: Any) -> Any:
    return network([("activation", {"linear": {"alpha": 1}}, ["x"], ["y"])], {"x": shape}, ["y"], **options)


@pytest.mark.parametrize(("code", "dtype"), [(65568, "float32"), (65600, "float64"), (131104, "int32")])
def test_dtypes_in_and_out(code: int, dtype: str) -> None:
    net = load(identity([2, 3], dtype=code))
    value = np.arange(6, dtype=dtype).reshape(2, 3)
    answer = net.predict({"x": value})["y"]
    assert answer.dtype == dtype
    np.testing.assert_array_equal(answer, value)
    np.testing.assert_array_equal(net.predict({"x": value.tolist()})["y"], value)
    np.testing.assert_array_equal(net.predict({"x": np.asfortranarray(value)})["y"], value)


@pytest.mark.parametrize(
    ("declared", "given", "yields"),
    [
        ([3], (3,), (3, 1, 1)),
        ([3], (2, 3), (1, 2, 3, 1, 1)),
        ([3], (5, 2, 3), (5, 2, 3, 1, 1)),
        ([3], (5, 2, 3, 1, 1), (5, 2, 3, 1, 1)),
        ([3, 4, 2], (3, 4, 2), (3, 4, 2)),
        ([3, 4, 2], (6, 3, 4, 2), (1, 6, 3, 4, 2)),
        ([3, 4, 2], (5, 6, 3, 4, 2), (5, 6, 3, 4, 2)),
    ],
)
def test_legacy_mapping(declared: list[int], given: tuple[int, ...], yields: tuple[int, ...]) -> None:
    net = load(identity(declared, exact=False, version=1))
    value = np.random.default_rng(0).standard_normal(given).astype(np.float32)
    answer = net.predict({"x": value})["y"]
    assert answer.shape == yields
    np.testing.assert_array_equal(answer.reshape(given), value)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3), (2, 1, 3)])
def test_leading_axes_come_back_as_they_went_in(lead: tuple[int, ...]) -> None:
    """Convolutions run with every leading axis folded into one."""
    conv = {"outputChannels": 2, "kernelChannels": 3, "kernelSize": [1, 1], "weights": np.ones((2, 3)), "valid": {}}
    shape = (*lead, 3, 4, 5) if lead else (1, 3, 4, 5)
    net = load(network([("convolution", conv, ["x"], ["y"])], {"x": shape}, ["y"]))
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    answer = net.predict({"x": x})["y"]
    assert answer.shape == (*shape[:-3], 2, 4, 5)
    np.testing.assert_allclose(answer, np.repeat(x.sum(-3, keepdims=True), 2, -3), rtol=1e-5, atol=1e-5)


def test_the_declared_output_shape_counts_where_it_fits() -> None:
    model = identity([2, 3])
    model.description.output[0].type.multiArrayType.shape.extend([6])
    assert load(model).predict({"x": np.zeros((2, 3))})["y"].shape == (6,)
    del model.description.output[0].type.multiArrayType.shape[:]
    model.description.output[0].type.multiArrayType.shape.extend([5])
    assert load(model).predict({"x": np.zeros((2, 3))})["y"].shape == (2, 3)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((3, 2)), "another order"),
        (np.zeros(6), "reshape"),
        (np.zeros(7), r"must have the shape \[2, 3\], got \[7\]"),
        ("text", "array of numbers, got str"),
        ([[1, 2], [3]], "array of numbers, got list"),
        (np.array(["a"]), "array of numbers"),
        (None, "missing"),
    ],
)
def test_arrays_that_do_not_fit(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(identity([2, 3])).predict({"x": value})


def test_names_that_do_not_fit() -> None:
    net = load(identity([2, 3]))
    with pytest.raises(InputError, match="did you mean 'x'"):
        net.predict({"X": np.zeros((2, 3))})
    with pytest.raises(InputError, match=r"no input 'other'; it wants 'x': float32 array \[2, 3\]"):
        net.predict({"x": np.zeros((2, 3)), "other": 1})


def test_optional_input_and_default() -> None:
    layer = ("addBroadcastable", {}, ["x", "z"], ["y"])
    model = network([layer], {"x": [3], "z": [3]}, ["y"])
    model.description.input[1].type.isOptional = True
    np.testing.assert_array_equal(load(model).predict({"x": [1, 2, 3]})["y"], [1, 2, 3])
    model.description.input[1].type.multiArrayType.floatDefaultValue = 0.5
    np.testing.assert_array_equal(load(model).predict({"x": [1, 2, 3]})["y"], [1.5, 2.5, 3.5])
    np.testing.assert_array_equal(load(model).predict({"x": [1, 2, 3], "z": [1, 1, 1]})["y"], [2, 3, 4])


def test_flexible_shapes() -> None:
    model = identity([2, 3])
    sizes = model.description.input[0].type.multiArrayType.shapeRange.sizeRanges
    sizes.add(lowerBound=1, upperBound=4)
    sizes.add(lowerBound=3, upperBound=-1)
    net = load(model)
    for shape in ((2, 3), (1, 3), (4, 9), (3, 5), (2, 1000), (4, 3)):
        assert net.predict({"x": np.ones(shape)})["y"].shape == shape
    with pytest.raises(InputError, match=r"\[1-4, 3 or more\], got \[5, 3\]"):
        net.predict({"x": np.ones((5, 3))})
    listed = identity([2, 3])
    shapes = listed.description.input[0].type.multiArrayType.enumeratedShapes.shapes
    shapes.add(shape=[2, 3])
    shapes.add(shape=[4, 5])
    net = load(listed)
    assert net.predict({"x": np.ones((4, 5))})["y"].shape == (4, 5)
    with pytest.raises(InputError, match=r"one of \[2, 3\], \[4, 5\]"):
        net.predict({"x": np.ones((4, 4))})


# -- classifiers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [True, False], ids=["named", "empty probability name"])
@pytest.mark.parametrize("labels", [["a", "b", "c"], [10, -3, 7]], ids=["string", "int64"])
def test_classifier(labels: list[Any], named: bool) -> None:
    net = load(classifier(labels, named=named))
    answer = net.predict({"x": [0.2, 0.7, 0.1]})
    assert answer["label"] == labels[1]
    assert answer["scores"] == pytest.approx(dict(zip(labels, (0.2, 0.7, 0.1), strict=True)))
    assert net.labels == labels
    assert net.predicted_feature == "label"


def test_classifier_whose_counts_differ() -> None:
    model = classifier(["a", "b", "c"])
    model.neuralNetworkClassifier.stringClassLabels.vector.append("d")
    with pytest.raises(CheckError, match="3 probabilities for 4 class labels"):
        load(model).predict({"x": [0.2, 0.7, 0.1]})


@pytest.mark.parametrize("kind", ["doubleType", "multiArrayType"])
def test_regressor(kind: str) -> None:
    plain = network([("innerProduct", SUM, ["x"], ["y"])], {"x": [3]}, [], exact=False, version=1)
    model = schema.Model(specificationVersion=1, description=plain.description)
    model.neuralNetworkRegressor.layers.extend(plain.neuralNetwork.layers)
    output = getattr(model.description.output.add(name="y").type, kind)
    output.SetInParent()
    if kind == "multiArrayType":
        output.dataType = 65600
        output.shape.extend([1])
    model.description.predictedFeatureName = "y"
    answer = load(model).predict({"x": [1, 2, 4]})["y"]
    assert isinstance(answer, float) if kind == "doubleType" else answer.dtype == np.float64
    assert answer == 7


# -- life ------------------------------------------------------------------------------------------------------------


def test_list_of_inputs() -> None:
    net = load(identity([2]))
    answers = net.predict([{"x": [i, i]} for i in range(5)])
    assert [answer["y"][0] for answer in answers] == [0, 1, 2, 3, 4]
    assert net.predict([]) == []


def test_pickle_threads_and_closing() -> None:
    net = pippin.load(EXAMPLES / "digits.mlmodel")
    again = pickle.loads(pickle.dumps(net))
    pictures = [EXAMPLES / f"digit-{digit}.png" for digit in range(10)]
    found: list[int] = [-1] * 10

    def work(digit: int) -> None:
        for _ in range(20):
            found[digit] = again.predict({"image": pictures[digit]})["digit"]

    threads = [threading.Thread(target=work, args=(digit,)) for digit in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [net.predict({"image": picture})["digit"] for picture in pictures]
    with net:
        pass
    with pytest.raises(InputError, match="closed"):
        net.predict({"image": pictures[0]})


@pytest.mark.parametrize("action", ["truncate", "overwrite"])
def test_a_model_survives_its_file(tmp_path: Path, action: str) -> None:
    path = tmp_path / "digits.mlmodel"
    data = (EXAMPLES / "digits.mlmodel").read_bytes()
    path.write_bytes(data)
    net = pippin.load(path)
    wanted = net.predict({"image": EXAMPLES / "digit-3.png"})
    with path.open("r+b") as file:
        file.truncate(10) if action == "truncate" else file.write(b"\xff" * len(data))
    assert net.predict({"image": EXAMPLES / "digit-3.png"}) == wanted


def test_both_examples_read_every_picture() -> None:
    for name in ("digits", "digits-4bit"):
        net = pippin.load(EXAMPLES / f"{name}.mlmodel")
        for digit in range(10):
            answer = net.predict({"image": EXAMPLES / f"digit-{digit}.png"})
            assert answer["digit"] == digit
            assert sum(answer["probabilities"].values()) == pytest.approx(1, abs=1e-5)


def test_timeout_stops_a_run() -> None:
    loop = {"maxLoopIterations": 2_000_000_000, "bodyNetwork": {"layers": []}}
    model = network(
        [("copy", {}, ["x"], ["y"]), ("loop", loop, [], [])],
        {"x": [1]},
        ["y"],
    )
    body = model.neuralNetwork.layers[1].loop.bodyNetwork
    add(body, [("activation", {"linear": {"alpha": 1, "beta": 1}}, ["y"], ["z"]), ("copy", {}, ["z"], ["y"])])
    net = load(model)
    with pytest.raises(TimeoutError, match=r"within 0\.2 s"):
        net.predict({"x": [0]}, timeout=0.2)


def test_devices() -> None:
    net = pippin.load(EXAMPLES / "digits.mlmodel", device="CPU")
    assert net.predict({"image": EXAMPLES / "digit-3.png"})["digit"] == 3
    with pytest.raises(DeviceError, match="'tpu' is not known; there is cpu"):
        pippin.load(EXAMPLES / "digits.mlmodel", device="tpu")
    with pytest.raises(DeviceError, match="'rocm' is not here"):
        pippin.load(EXAMPLES / "digits.mlmodel", device="rocm")


def test_importing_the_package_is_cheap() -> None:
    code = (
        "import sys, pippin; print([m for m in ('numpy','onnx','onnxruntime','google.protobuf') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
