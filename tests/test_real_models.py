"""Real files from other people: they load, they predict, and their known answers hold."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import pippin
from shared import SHARED, needs_shared

pytestmark = needs_shared
MODELS = SHARED / "models"
INPUTS = MODELS / "inputs"
FILES = sorted(path.name for path in MODELS.glob("*.mlmodel")) if SHARED.is_dir() else []
CUSTOM = {
    name
    for name in FILES
    if name.split(".")[0].endswith("-custom") or name in ("lstsq-range.mlmodel", "kraken-bilstm.mlmodel")
}


@cache
def model(name: str) -> Any:
    return pippin.load(MODELS / f"{name}.mlmodel")


def sample(feature: Any, seed: int) -> Any:
    generator = np.random.default_rng(seed)
    if feature.kind == "image":
        width, height = feature.size
        shape = (height, width) if feature.color.startswith("GRAY") else (height, width, 3)
        return generator.integers(0, 256, shape).astype(np.uint8)
    if "categorical" in feature.name:
        return np.zeros(feature.shape, np.float32)
    if feature.name == "input1" and feature.shape == (1,):
        return np.zeros((4, 1, 1), np.float32)  # word indices, as a sequence
    return generator.standard_normal([size or 8 for size in feature.shape]).astype(np.float32)


@pytest.mark.parametrize("name", [name for name in FILES if name not in CUSTOM])
def test_loads_and_predicts(name: str) -> None:
    net = pippin.load(MODELS / name)
    inputs = {key: sample(feature, zlib.crc32(key.encode())) for key, feature in net.inputs.items()}
    answer = net.predict(inputs)
    assert set(answer) == set(net.outputs)
    for key, value in answer.items():
        feature = net.outputs[key]
        if feature.kind == "multiarray":
            assert str(value.dtype) == feature.dtype
            assert np.isfinite(value).all()
        if feature.kind == "dictionary":
            assert len(value) == len(net.labels)
            if name != "split-points.mlmodel":  # its scores are no probabilities
                assert sum(value.values()) == pytest.approx(1, abs=1e-4)
        if feature.kind == "image":
            assert value.size == feature.size


@pytest.mark.parametrize("name", ["other/iris-svm", "other/iris-glm-pipeline", "other/mlprogram-clip"])
def test_other_types_are_refused_by_name(name: str) -> None:
    with pytest.raises(pippin.UnsupportedError, match="the model is of type"):
        pippin.load(MODELS / f"{name}.mlmodel")


def mnist() -> tuple[Any, Any]:
    with gzip.open(INPUTS / "mnist/t10k-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(INPUTS / "mnist/t10k-labels-idx1-ubyte.gz") as file:
        return images, np.frombuffer(file.read(), np.uint8, offset=8)


@pytest.mark.parametrize(("name", "accuracy"), [("mnist-astro", 0.9872), ("mnist-cnn-r4ghu", 0.9920)])
def test_mnist_classifiers(name: str, accuracy: float) -> None:
    images, labels = mnist()
    answers = model(name).predict([{"image": image} for image in images])
    key = model(name).predicted_feature
    right = sum(int(answer[key]) == label for answer, label in zip(answers, labels, strict=True))
    assert right / len(labels) == accuracy


def test_mnist_torch() -> None:
    images, labels = mnist()
    scaled = (images.astype(np.float32) / 255 - np.float32(0.5))[:, None, None]
    first = model("torch-mnist-v4").predict({"image_input": scaled[0]})["82"]
    wanted = [-4.12377, 0.30325, 1.59553, 5.28862, -4.89668, 0.87765, -15.72767, 16.0701, -0.69888, 2.97243]
    np.testing.assert_allclose(first.reshape(-1), wanted, atol=2e-5)
    answers = model("torch-mnist-v4").predict([{"image_input": image} for image in scaled])
    right = sum(int(answer["82"].argmax()) == label for answer, label in zip(answers, labels, strict=True))
    assert right / len(labels) == 0.9835


def test_photographed_digits() -> None:
    for digit in range(10):
        picture = Image.open(INPUTS / f"digits/digit_{digit}.png").convert("RGBA")
        white = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("L")
        image = Image.eval(white, lambda pixel: 255 - pixel).resize((28, 28))
        assert int(model("mnist-astro").predict({"image": image})["classLabel"]) == digit


FOOD = {
    "food-f32": "food.mlmodel",
    "food-f16": "food_kmeans_16.mlmodel",
    "food-linear4": "food_linear_4.mlmodel",
    "food-kmeans3": "food_kmeans_3.mlmodel",
    "food-linearlut8": "food_linear_lut_8.mlmodel",
}


@cache
def food_accuracy(name: str) -> tuple[float, int]:
    pictures, labels = [], []
    for folder in sorted((INPUTS / "food").iterdir()):
        if folder.is_dir():
            for path in sorted(folder.iterdir()):
                picture = Image.open(path).convert("RGB")
                scale = 227 / min(picture.size)
                size = [max(227, round(side * scale)) for side in picture.size]
                picture = picture.resize((size[0], size[1]), Image.Resampling.BILINEAR)
                left, top = (size[0] - 227) // 2, (size[1] - 227) // 2
                pictures.append({"data": picture.crop((left, top, left + 227, top + 227))})
                labels.append(folder.name.replace("_", " "))
    answers = model(name).predict(pictures)
    right = sum(answer["classLabel"] == label for answer, label in zip(answers, labels, strict=True))
    return right / len(labels), right


def test_food_counts_right_answers() -> None:
    _, right = food_accuracy("food-f32")
    assert abs(right - 99) <= 2


@pytest.mark.parametrize("name", FOOD)
def test_food_in_every_encoding_keeps_the_published_accuracy(name: str) -> None:
    with (INPUTS / "food/result.csv").open() as file:
        rows = {row[0]: [float(value) for value in row[2:9]] for row in list(csv.reader(file))[1:]}
    published = np.mean(rows[FOOD[name]]) / np.mean(rows["food.mlmodel"])
    mean, _ = food_accuracy(name)
    full, _ = food_accuracy("food-f32")
    assert mean / full == pytest.approx(published, abs=0.08)


@pytest.mark.parametrize(
    ("picture", "scores", "boxes", "count"),
    [
        ("1face", [0.9998, 0.9922, 0.5787], [(0.3175, 0.2730, 0.4843, 0.4398)], 2),
        ("3faces", [0.9996, 0.9989, 0.9985, 0.9982],
         [(0.0866, 0.3448, 0.2242, 0.4825), (0.7773, 0.3279, 0.9252, 0.4758)], 7),
        ("4faces", [0.6466, 0.5036], [], 0),
    ],
)  # fmt: skip
def test_faces(picture: str, scores: list[float], boxes: list[Any], count: int) -> None:
    net = model("blazeface-v4")
    (name,) = net.inputs
    answer = net.predict({name: INPUTS / f"blazeface/{picture}.png"})
    found = answer["1011"].reshape(-1)
    order = np.argsort(-found, kind="stable")
    assert int((found >= 0.75).sum()) == count
    for score in scores:
        assert np.abs(found - score).min() < 1e-4
    for box in boxes:
        distance = np.abs(answer["1477"].reshape(-1, 16)[order[:10], :4] - np.array(box)).max(1)
        assert distance.min() < 2e-4


@pytest.mark.parametrize(
    ("numbers", "first", "second", "wanted"),
    [
        ("-0.3748284,-0.48674324,-0.17428285,-0.110154845,0.373334,0.6566175,-0.07197559,-0.61239314,-0.0009278871,"
         "0.42733,-0.4750964", 0, 3, 22.490442),
        ("3.8583992,-0.48674324,1.0251741,1.1702225,-1.239103,1.1134001,-1.085033,1.5439851,0.832245,0.44065395,"
         "2.5368752", 0, 8, 6.080847),
    ],
)  # fmt: skip
def test_house(numbers: str, first: int, second: int, wanted: float) -> None:
    row = np.array([float(number) for number in numbers.split(",")])
    answer = model("house-trained").predict(
        {"numericalInput": row, "categoricalInput1": [first], "categoricalInput2": [second]}
    )
    assert answer["output"].item() == pytest.approx(wanted, rel=1e-5)


def test_housing() -> None:
    rows = np.loadtxt(INPUTS / "housing/normed_test_data.csv", delimiter=",")
    labels = np.loadtxt(INPUTS / "housing/test_labels.csv")
    answers = model("housing-keras-v4").predict([{"dense_input": row[None]} for row in rows])
    values = np.array([answer["Identity"].item() for answer in answers])
    np.testing.assert_allclose(values[:3], [20.5089, 15.6334, 18.5298], atol=1e-4)
    assert np.abs(values - labels).mean() == pytest.approx(1.9117, abs=1e-4)
    assert ((values - labels) ** 2).mean() == pytest.approx(6.0931, abs=1e-4)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([6, 2, 0, 0], 0.621632),
        ([3, 1, 0, 0], 0.724026),
        ([7, 4, 0, 0], 0.691567),
        ([8, 1, 0, 0], 0.795892),
        ([9, 0, 0, 0], 0.699398),
    ],
)
def test_word_vectors_as_a_sequence(words: list[int], wanted: float) -> None:
    answer = model("glove-embed-v2").predict({"input1": np.array(words, np.float64).reshape(4, 1, 1)})
    assert answer["output1"].reshape(-1)[0] == pytest.approx(wanted, abs=1e-6)


def test_hanzi() -> None:
    labels = json.loads((INPUTS / "hanzi/labels.json").read_text())
    net = model("hanzi-classifier-image")
    right = 0
    for path, index in labels:
        right += net.predict({"conv2d_input": MODELS / path})["classLabel"] == net.labels[index]
    assert (right, len(labels)) == (49, 60)


def test_hanzi_fed_as_it_was_trained() -> None:
    """The file scales by 1 where the network was trained on pixels / 255."""
    document = model("hanzi-classifier-image").document
    from pippin.coreml.wire import splice

    (entry,) = document.network.preprocessing
    entry.scaler.channelScale = 1 / 255
    net = pippin.load(b"".join(splice(document.model, document.views)))
    entry.scaler.channelScale = 1
    labels = json.loads((INPUTS / "hanzi/labels.json").read_text())
    right = sum(net.predict({"conv2d_input": MODELS / path})["classLabel"] == net.labels[i] for path, i in labels)
    assert right == 59


def test_small_functions() -> None:
    for (a, b), wanted in {(0, 0): 0.0021, (0, 1): 0.9949, (1, 0): 0.9938, (1, 1): 0.0074}.items():
        assert model("xor-keras").predict({"input1": [a, b]})["output1"].item() == pytest.approx(wanted, abs=6e-5)
    for x, wanted in enumerate((1.43493, 3.47544, 5.51596)):
        answer = model("lin-batchedmatmul").predict({"dense_input": [[x]]})
        assert answer["Identity"].item() == pytest.approx(wanted, abs=1e-5)
    for x, wanted in enumerate((1.45624, 3.38933, 5.32241)):
        assert model("lin-updatable").predict({"dense_input": [x]})["output"].item() == pytest.approx(wanted, abs=1e-5)


def test_a_picture_in_a_picture_out() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (256, 256, 3)).astype(np.uint8)
    answer = model("image2image-linear").predict({"image": picture})["generatedImage"]
    activation = model("image2image-linear").document.network.layers[0].activation.linear
    wanted = np.clip(np.rint(picture * np.float32(activation.alpha) + np.float32(activation.beta)), 0, 255)
    np.testing.assert_array_equal(np.asarray(answer), wanted.astype(np.uint8))


def test_strict_refuses_what_the_default_loads() -> None:
    path = Path(MODELS / "kraken-bilstm.mlmodel")
    pippin.load(path)
    with pytest.raises(pippin.CheckError):
        pippin.load(path, strict=True)
