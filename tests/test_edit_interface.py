"""Pictures made arrays and arrays pictures, preprocessing, dtypes, sizes, labels: what an app sees of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import pippin
from checkkit import GRAYSCALE, RGB, array, image, layer, net
from make import classifier, network, picture_network
from pippin.coreml.edit import Editor
from pippin.errors import CheckError, InputError, UnsupportedError

BGR = 30
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def editor(model: Any) -> Editor:
    return pippin.edit(model.SerializeToString())


def picture(width: int = 4, height: int = 3) -> Image.Image:
    return Image.fromarray(np.random.default_rng(3).integers(0, 256, (height, width, 3)).astype(np.uint8))


IDENTITY = [("activation", {"linear": {"alpha": 1}}, ["image"], ["y"])]
PER_CHANNEL = [("scale", {"shapeScale": [3, 1, 1], "scale": np.float32([1, 10, 100])}, ["image"], ["y"])]


# -- preprocessing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("color", [RGB, BGR])
def test_mean_and_std_of_each_channel(color: int) -> None:
    """(x/255 - mean)/std, as vision libraries have it; numbers are red, green, blue whatever the model's order is."""
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    edit = editor(picture_network(IDENTITY, color=color))
    edit.set_preprocessing("image", mean=mean.tolist(), std=std.tolist())
    given = picture()
    wanted = ((np.asarray(given) / 255 - mean) / std).transpose(2, 0, 1)
    wanted = wanted[::-1] if color == BGR else wanted
    np.testing.assert_allclose(edit.load().predict({"image": given})["y"], wanted, rtol=1e-5, atol=1e-5)
    assert edit.check().ok
    assert [entry.WhichOneof("layer") for entry in edit.document.network.layers] == ["scale", "activation"]


@pytest.mark.parametrize("color", [RGB, BGR])
def test_one_factor_needs_no_layer(color: int) -> None:
    edit = editor(picture_network(IDENTITY, color=color)).set_preprocessing("image", scale=2, bias=(1, 2, 3))
    scaler = edit.document.network.preprocessing[0].scaler
    assert (scaler.channelScale, scaler.redBias, scaler.greenBias, scaler.blueBias) == (2, 1, 2, 3)
    assert len(edit.document.network.layers) == 1
    edit.set_preprocessing("image", mean=0.5, std=0.5)
    (entry,) = edit.document.network.preprocessing
    assert entry.scaler.channelScale == pytest.approx(2 / 255)
    assert entry.scaler.redBias == entry.scaler.blueBias == -1


def test_preprocessing_is_replaced_and_removed() -> None:
    edit = editor(picture_network(IDENTITY)).set_preprocessing("image", scale=(1, 2, 3))
    edit.set_preprocessing("image", scale=(4, 5, 6))
    assert [len(edit.document.network.layers), len(edit.document.network.preprocessing)] == [2, 0]
    assert "replaced" in edit.steps[-1].notes[-1]
    given = picture()
    wanted = (np.asarray(given, np.float32) * [4, 5, 6]).transpose(2, 0, 1)
    np.testing.assert_allclose(edit.load().predict({"image": given})["y"], wanted)
    edit.remove_preprocessing("image")
    assert edit.document.model == editor(picture_network(IDENTITY)).document.model


def test_the_preprocessing_of_a_gray_picture() -> None:
    edit = editor(picture_network(IDENTITY, color=GRAYSCALE)).set_preprocessing("image", mean=0.1307, std=0.3081)
    value = edit.load().predict({"image": np.full((3, 4), 51, np.uint8)})["y"]
    np.testing.assert_allclose(value, (0.2 - 0.1307) / 0.3081, rtol=1e-5)
    with pytest.raises(InputError, match="must hold 1 number"):
        edit.set_preprocessing("image", scale=(1, 2, 3))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "either scale and bias, or mean and std"),
        ({"scale": 1, "mean": 1}, "either scale and bias, or mean and std"),
        ({"scale": (1, 2)}, "must hold 1 number or 3"),
        ({"std": 0}, "must not be zero"),
    ],
)
def test_preprocessing_that_makes_no_sense(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        editor(picture_network(IDENTITY)).set_preprocessing("image", **options)


def test_only_pictures_have_preprocessing() -> None:
    edit = editor(network([("activation", {"ReLU": {}}, ["x"], ["y"])], {"x": [3]}, ["y"]))
    with pytest.raises(InputError) as caught:
        edit.set_preprocessing("x", scale=2)
    assert "--input-image" in caught.value.hint


def test_lost_preprocessing_is_given_back() -> None:
    """What a tool leaves that renames an input and not its preprocessing."""
    model = picture_network(PER_CHANNEL)
    model.neuralNetwork.preprocessing.add(featureName="data").scaler.channelScale = 0.5
    edit = editor(model)
    assert edit.load().predict({"image": np.full((3, 4, 3), 2, np.uint8)})["y"].flat[0] == 2
    edit.fix_preprocessing()
    assert edit.load().predict({"image": np.full((3, 4, 3), 2, np.uint8)})["y"].flat[0] == 1
    assert edit.fix_preprocessing().steps[-1].effect == "none"


def test_the_order_of_colours() -> None:
    edit = editor(picture_network(IDENTITY)).set_color("image", "BGR")
    given = picture()
    wanted = np.asarray(given).transpose(2, 0, 1)[::-1]
    np.testing.assert_array_equal(edit.load().predict({"image": given})["y"], wanted)
    with pytest.raises(InputError, match="RGB or BGR"):
        edit.set_color("image", "GRB")


# -- pictures and arrays -----------------------------------------------------------------------------------------------


def pixels(given: Image.Image, color: int = RGB) -> Any:
    """A picture as the array [C,H,W] that the network sees."""
    values = np.asarray(given.convert("L") if color == GRAYSCALE else given, np.float32)
    values = values[None] if values.ndim == 2 else values.transpose(2, 0, 1)
    return values[::-1] if color == BGR else values


@pytest.mark.parametrize("color", [RGB, BGR, GRAYSCALE])
@pytest.mark.parametrize("kept", [True, False])
def test_a_picture_becomes_an_array(color: int, kept: bool) -> None:
    model = picture_network(IDENTITY, color=color)
    scaler = model.neuralNetwork.preprocessing.add().scaler
    scaler.channelScale, scaler.redBias, scaler.greenBias, scaler.blueBias, scaler.grayBias = 0.5, 1, 2, 3, 4
    given = picture()
    before = pippin.load(model.SerializeToString()).predict({"image": given})["y"]
    edit = editor(model).input_to_array("image", keep_preprocessing=kept)
    assert len(edit.document.network.preprocessing) == 0
    assert edit.check().ok
    after = edit.load().predict({"image": pixels(given, color)})["y"]
    np.testing.assert_array_equal(after, before if kept else pixels(given, color))
    assert edit.prove().ok
    assert edit.prove([{"image": given}], seeds=()).trials[0].differences["y"].absolute == 0 or not kept


def test_a_mean_image_becomes_a_layer() -> None:
    model = picture_network(IDENTITY)
    mean = np.arange(36, dtype=np.float32).reshape(3, 3, 4)
    model.neuralNetwork.preprocessing.add(featureName="image").meanImage.meanImage.extend(mean.ravel().tolist())
    edit = editor(model).input_to_array("image")
    given = picture()
    np.testing.assert_array_equal(edit.load().predict({"image": pixels(given)})["y"], pixels(given) - mean)
    assert [entry.WhichOneof("layer") for entry in edit.document.network.layers] == ["bias", "activation"]


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("mapping", [0, 1])
def test_mappings_of_arrays_and_pictures(later: bool, mapping: int) -> None:
    """Old networks, networks of later layers with pictures of five axes, and exact ones."""
    kind: tuple[str, Any] = ("sinh", {}) if later else ("activation", {"tanh": {}})
    layers = [("activation", {"linear": {"alpha": 0.01}}, ["image"], ["h"]), (*kind, ["h"], ["y"])]
    model = picture_network(layers, version=4)
    model.neuralNetwork.imageInputShapeMapping = mapping
    given = picture()
    before = pippin.load(model.SerializeToString()).predict({"image": given})["y"]
    edit = editor(model).input_to_array("image")
    shape = edit.load().inputs["image"].shape
    assert shape == ((1, 3, 3, 4) if mapping else (1, 1, 3, 3, 4) if later else (3, 3, 4))
    after = edit.load().predict({"image": pixels(given).reshape(shape)})["y"]
    np.testing.assert_allclose(np.squeeze(after), np.squeeze(before), rtol=1e-6)
    assert edit.check().ok
    assert edit.prove().ok
    # and back
    edit.input_to_image("image")
    again = edit.load().predict({"image": given})["y"]
    np.testing.assert_allclose(np.squeeze(again), np.squeeze(before), rtol=1e-6)
    assert edit.check().ok
    assert edit.prove().ok


SHAPES = [
    ((3, 3, 4), "", False),
    ((1, 3, 4), "", False),
    ((3, 4, 3), "hwc", False),
    ((1, 3, 3, 4), "", True),
    ((3, 3, 4), "chw", True),
    ((3, 4, 3), "hwc", True),
    ((1, 3, 4, 3), "hwc", True),
    ((1, 1, 3, 3, 4), "", True),
    ((3, 4), "", True),
    ((1, 3, 4), "", True),
    ((3, 4, 1), "hwc", True),
]


@pytest.mark.parametrize(("shape", "layout", "exact"), SHAPES)
def test_an_array_becomes_a_picture(shape: tuple[int, ...], layout: str, exact: bool) -> None:
    """The run on the picture is the run on the array of its pixels."""
    layers = [("activation", {"linear": {"alpha": 2, "beta": 1}}, ["x"], ["y"])]
    edit = editor(network(layers, {"x": shape}, ["y"], exact=exact, version=4))
    before = edit.load()
    edit.input_to_image("x", layout=layout)
    assert edit.check().ok
    assert edit.prove().ok
    entry = edit.load().inputs["x"]
    assert entry.size == (4, 3)
    given = picture()
    gray = entry.color == "GRAYSCALE"
    values = np.asarray(given.convert("L") if gray else given, np.float32)
    form = values if layout == "hwc" or gray else values.transpose(2, 0, 1)
    wanted = before.predict({"x": form.reshape(shape)})["y"]
    np.testing.assert_array_equal(edit.load().predict({"x": given})["y"].reshape(wanted.shape), wanted)


@pytest.mark.parametrize(
    ("shape", "options", "says"),
    [
        ((5, 3, 4), {}, "is no picture"),
        ((3, 3, 4), {"color": "GRAYSCALE"}, "is no picture"),
        ((3, 3, 4), {"color": "PINK"}, "the colours must be one of"),
        ((2, 3, 3, 4), {}, "is no picture"),
        ((7,), {}, "is no picture"),
    ],
)
def test_arrays_that_are_no_pictures(shape: tuple[int, ...], options: dict[str, str], says: str) -> None:
    edit = editor(network([("activation", {"ReLU": {}}, ["x"], ["y"])], {"x": shape}, ["y"]))
    with pytest.raises(InputError, match=says):
        edit.input_to_image("x", **options)


def test_flexible_sizes_go_along() -> None:
    edit = editor(picture_network(IDENTITY, version=3)).set_flexible("image", ranges=[(2, 8), (3, None)])
    edit.input_to_array("image")
    assert edit.load().inputs["image"].flexible.ranges == ((3, 3), (3, None), (2, 8))
    edit.input_to_image("image")
    assert edit.load().inputs["image"].flexible.ranges == ((2, 8), (3, None))
    edit.set_fixed("image").set_flexible("image", shapes=[(4, 3), (8, 6)]).input_to_array("image")
    assert edit.load().inputs["image"].flexible.shapes == ((3, 3, 4), (3, 6, 8))
    assert edit.load().predict({"image": np.zeros((3, 6, 8))})["y"].shape == (3, 6, 8)


def test_an_output_becomes_a_picture() -> None:
    layers = [("activation", {"linear": {"alpha": 1 / 255}}, ["image"], ["y"])]
    edit = editor(picture_network(layers)).output_to_image("y", scale=255)
    given = picture()
    answer = edit.load().predict({"image": given})["y"]
    assert np.array_equal(np.asarray(answer), np.asarray(given))
    assert edit.check().ok
    assert edit.prove().ok
    edit.output_to_array("y")
    np.testing.assert_allclose(edit.load().predict({"image": given})["y"], pixels(given), rtol=1e-5)


def test_an_output_that_others_read_becomes_a_picture() -> None:
    layers = [
        ("activation", {"linear": {"alpha": 1 / 255}}, ["image"], ["y"]),
        ("activation", {"linear": {"alpha": 2}}, ["y"], ["z"]),
    ]
    model = picture_network(layers)
    model.description.output.add(name="z").type.multiArrayType.dataType = 65568
    edit = editor(model).output_to_image("y", "BGR", scale=(255, 0, 0), bias=(0, 1, 2))
    given = picture()
    answer = edit.load().predict({"image": given})
    np.testing.assert_allclose(answer["z"], pixels(given) * 2 / 255, rtol=1e-5)
    # the blob's first channel is blue here, and numbers are red, green, blue
    shown = np.asarray(answer["y"])
    assert np.array_equal(shown[..., 0], np.asarray(given)[..., 2])
    assert (shown[..., 1] == 1).all()
    assert (shown[..., 2] == 2).all()
    assert edit.prove().ok


def test_a_blob_becomes_an_output_and_a_picture() -> None:
    layers = [("activation", {"tanh": {}}, ["image"], ["h"]), ("activation", {"ReLU": {}}, ["h"], ["y"])]
    edit = editor(picture_network(layers)).add_output("h").output_to_image("h", scale=255)
    assert edit.prove().ok
    assert edit.load().predict({"image": picture()})["h"].size == (4, 3)


def test_outputs_that_are_no_pictures() -> None:
    edit = editor(network([("activation", {"ReLU": {}}, ["x"], ["y"])], {"x": [5, 3, 4]}, ["y"]))
    with pytest.raises(InputError, match="is no picture"):
        edit.output_to_image("y")


# -- dtypes, defaults, labels ------------------------------------------------------------------------------------------


def test_dtypes() -> None:
    layers = [("activation", {"linear": {"alpha": 1}}, ["x"], ["y"])]
    edit = editor(network(layers, {"x": [2]}, ["y"])).set_dtype("y", "float64").set_dtype("x", "float16")
    answer = edit.load().predict({"x": [1.25, 2]})["y"]
    assert (answer.dtype, answer.tolist()) == (np.float64, [1.25, 2])
    assert edit.document.model.specificationVersion == 7
    assert edit.check().ok
    edit.set_dtype("y", "int32")
    assert edit.load().predict({"x": [1.25, 2]})["y"].tolist() == [1, 2]
    assert edit.steps[-1].effect == "close"
    with pytest.raises(InputError, match="one of"):
        edit.set_dtype("y", "uint8")


def test_optional_inputs() -> None:
    layers = [("addBroadcastable", {}, ["a", "b"], ["y"])]
    edit = editor(network(layers, {"a": [2], "b": [2]}, ["y"], version=4)).set_optional("b", default=3)
    assert edit.load().predict({"a": [1, 2]})["y"].tolist() == [4, 5]
    assert edit.document.model.specificationVersion == 5
    assert edit.check().ok
    assert edit.prove().ok
    edit.set_optional("b", default=4)
    assert edit.prove().ok, "what was left out stood for the default before"
    edit.set_dtype("b", "float64")
    assert edit.load().inputs["b"].default == 4
    with pytest.raises(InputError, match="at least one input must be required"):
        edit.set_optional("a")
    edit.set_optional("b", False)
    with pytest.raises(InputError, match="the value is missing"):
        edit.load().predict({"a": [1, 2]})


def test_labels() -> None:
    edit = editor(classifier(["cat", "dog"])).set_labels(["Katze", "Hund"])
    assert edit.load().predict({"x": [1, 3]}) == {"label": "Hund", "scores": {"Katze": 1, "Hund": 3}}
    assert edit.prove().ok
    edit.set_labels([7, 9])
    assert edit.load().predict({"x": [1, 3]}) == {"label": 9, "scores": {7: 1, 9: 3}}
    assert (edit.load().outputs["scores"].key, edit.load().outputs["label"].kind) == ("int64", "int64")
    assert edit.check().ok
    assert edit.prove().ok
    for labels, says in ((["a"], "2 classes, got 1"), (["a", "a"], "once"), (["a", 1], "all texts or all whole")):
        with pytest.raises(InputError, match=says):
            edit.set_labels(labels)
    plain = editor(network([("activation", {"ReLU": {}}, ["x"], ["y"])], {"x": [2]}, ["y"]))
    with pytest.raises(UnsupportedError, match="only classifiers"):
        plain.set_labels(["a", "b"])


def test_metadata() -> None:
    edit = pippin.edit(EXAMPLES / "digits.mlmodel")
    edit.set_metadata({"my key": "ä"}, author="Ada", version=None)
    found = edit.load().metadata
    assert (found["author"], found["my key"], "version" in found) == ("Ada", "ä", False)
    edit.set_metadata({"my key": None})
    assert "my key" not in edit.load().metadata
    assert not edit.prove().trials


# -- sizes -------------------------------------------------------------------------------------------------------------


def test_sizes_that_a_layer_pins_are_refused() -> None:
    layers = [
        ("activation", {"ReLU": {}}, ["x"], ["h"]),
        ("reshapeStatic", {"targetShape": [1, 48]}, ["h"], ["y"]),
    ]
    edit = editor(network(layers, {"x": [3, 4, 4]}, ["y"], version=4))
    with pytest.raises(CheckError, match="reshapeStatic1"):
        edit.set_flexible("x", ranges=[(3, 3), (2, 8), (2, 8)])


def test_outputs_follow_flexible_inputs() -> None:
    model = net(
        layer("upsample", "x", "y", scalingFactor=[2, 2]),
        layer("reduce", "x", "z", axis="HW"),
        inputs=(image("x", 4, 4),),
        outputs=(image("y", 8, 8), array("z", (3, 1, 1))),
        exact=False,
        version=1,
    )()
    edit = editor(model).set_flexible("x", ranges=[(2, 8), (4, None)])
    outputs = edit.load().outputs
    assert outputs["y"].flexible.ranges == ((4, None), (8, None))
    assert outputs["z"].flexible is None
    assert edit.document.model.specificationVersion == 3
    assert edit.load().predict({"x": picture(7, 5)})["y"].size == (14, 10)
    assert edit.check().ok
    assert edit.prove().ok
    edit.set_fixed("x").set_fixed("y")
    assert edit.load().outputs["y"].size == (8, 8)
    edit.set_flexible("x", shapes=[(4, 4), (6, 4)])
    assert edit.load().outputs["y"].flexible.shapes == ((8, 8), (12, 8))


def test_flexible_arrays() -> None:
    model = network([("activation", {"ReLU": {}}, ["x"], ["y"])], {"x": [2, 5]}, ["y"], version=4)
    model.description.output[0].type.multiArrayType.shape.extend([2, 5])
    edit = editor(model).set_flexible("x", ranges=[(2, 2), (1, 9)])
    assert edit.load().outputs["y"].flexible.ranges == ((2, 2), (1, 9))
    assert edit.load().predict({"x": np.ones((2, 7))})["y"].shape == (2, 7)
    edit.set_size("x", (2, 9))
    assert edit.load().outputs["y"].shape == (2, 9)
    for ranges, says in (
        ([(2, 2), (1, 8)], "must lie within the ranges"),
        ([(2, 2)], "has 2 sizes"),
        ([(2, 2), (0, 8)], "1 <= lowest"),
    ):
        with pytest.raises(InputError, match=says):
            edit.set_flexible("x", ranges=ranges)
    with pytest.raises(InputError, match="the default"):
        edit.set_flexible("x", shapes=[(2, 5)])
    with pytest.raises(InputError, match="is not among the sizes"):
        edit.set_size("x", (2, 10))


def test_another_default_size() -> None:
    model = picture_network([("upsample", {"scalingFactor": [2, 2]}, ["image"], ["y"])])
    model.description.output[0].type.multiArrayType.shape.extend([3, 6, 8])
    edit = editor(model).set_size("image", (10, 5))
    assert edit.load().predict({"image": picture(10, 5)})["y"].shape == (3, 10, 20)
    assert edit.load().outputs["y"].shape == (3, 10, 20)
    assert edit.check().ok


def test_a_mean_image_pins_the_size() -> None:
    model = picture_network(IDENTITY)
    model.neuralNetwork.preprocessing.add(featureName="image").meanImage.meanImage.extend([1.0] * 36)
    edit = editor(model)
    with pytest.raises(CheckError, match="the mean image pins the size"):
        edit.set_size("image", (8, 6))
    with pytest.raises(CheckError, match="the mean image pins the size"):
        edit.set_flexible("image", ranges=[(2, 8), (2, 8)])
    assert edit.remove_preprocessing("image").set_size("image", (8, 6)).check().ok
