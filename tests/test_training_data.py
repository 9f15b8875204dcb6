"""Training data from Python: arrays, iterables, targets and labels. Files are tested beside it."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from make import classifier, dense, network, picture_network, updatable
from pippin.coreml.model import Model
from pippin.coreml.read import read
from pippin.errors import InputError
from pippin.training import check_gradients, train
from pippin.training import data as sources
from pippin.training.encode import Encoder
from pippin.training.settings import settings

X = np.arange(14, dtype=np.float32).reshape(7, 2) / 14
T = (X @ np.float32([[1.0], [2.0]])).astype(np.float32)


def regressor() -> bytes:
    layer = ("innerProduct", dense([[0.1, -0.2]], [0.0]), ["x"], ["y"])
    return updatable(network([layer], {"x": [2]}, ["y"], exact=False)).SerializeToString()


def sorter(labels: Any = ("cat", "dog"), size: tuple[int, int] = (4, 3)) -> bytes:
    """A classifier of gray pictures whose target is its label."""
    model = classifier(labels)
    net = model.neuralNetworkClassifier
    count = size[0] * size[1]
    random = np.random.default_rng(0)
    inner = [
        ("flatten", {}, ["image"], ["f"]),
        ("innerProduct", dense(random.standard_normal((len(labels), count)) / 100, [0] * len(labels)), ["f"], ["z"]),
        ("softmax", {}, ["z"], ["scores"]),
    ]
    plain = picture_network(inner, color=10, size=size)
    del net.layers[:], model.description.input[:]
    net.layers.extend(plain.neuralNetwork.layers)
    net.preprocessing.add(featureName="image").scaler.channelScale = 1 / 255
    model.description.input.add().CopyFrom(plain.description.input[0])
    return updatable(model, loss="entropy", blob="scores", target="label").SerializeToString()


def losses(source: bytes, data: Any, **how: Any) -> list[float]:
    return [record["loss"] for record in train(source, data, **how).history]


BY_ARRAYS = losses(regressor(), {"x": X, "t": T})


def rows() -> Iterator[dict[str, Any]]:
    for x, t in zip(X, T, strict=True):
        yield {"x": x, "t": t}


class Sequenced:
    """A data set as other libraries have them: a length and rows by number."""

    def __len__(self) -> int:
        return len(X)

    def __getitem__(self, row: int) -> dict[str, Any]:
        return {"x": X[row], "t": T[row]}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return rows()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({"x": X.tolist(), "t": T.ravel().tolist()}, id="lists"),
        pytest.param(list(rows()), id="a list of dicts"),
        pytest.param(rows, id="a function that begins anew"),
        pytest.param(Sequenced(), id="an iterable"),
    ],
)
def test_all_forms_give_the_same(data: Any) -> None:
    assert losses(regressor(), data) == BY_ARRAYS
    assert BY_ARRAYS[-1] < BY_ARRAYS[0]


def test_the_last_batch_is_smaller_and_counts() -> None:
    result = train(regressor(), {"x": X, "t": T}, epochs=1, learning_rate=1e-9)
    assert result.history[0]["samples"] == 7
    wanted = np.mean((X @ np.float32([0.1, -0.2]) - T.ravel()) ** 2)
    assert result.history[0]["loss"] == pytest.approx(wanted, rel=1e-5)


def test_an_iterator_serves_once() -> None:
    assert losses(regressor(), rows(), epochs=1) == BY_ARRAYS[:1]
    with pytest.raises(InputError, match="iterator") as caught:
        train(regressor(), rows(), epochs=2)
    assert "a list, or a function" in caught.value.hint


def test_an_iterator_is_refused_before_anything_is_trained() -> None:
    with pytest.raises(InputError, match="iterator"):
        train(regressor(), {"x": X, "t": T}, validation=rows())
    taken = rows()
    with pytest.raises(InputError, match="iterator"):
        train(regressor(), taken)
    assert len(list(taken)) == 7, "no row has been taken"
    # a callback may know when it is enough
    assert len(train(regressor(), rows(), on_epoch=lambda progress: progress.stop()).history) == 1


def test_streams_are_mixed_within_a_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BUFFER", 3)

    def order(seed: int | None) -> list[int]:
        mixed = None if seed is None else np.random.default_rng(seed)
        stream = sources.Calls(lambda: ({"n": n} for n in range(20)))
        return [n for columns, _ in sources.batches(stream, 4, mixed) for n in columns["n"]]

    assert order(None) == list(range(20))
    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == list(range(20))


def test_skipped_batches_leave_the_rest_as_it_is() -> None:
    for source in (sources.Arrays({"n": np.arange(11)}), sources.Calls(lambda: ({"n": n} for n in range(11)))):
        whole = [list(c["n"]) for c, _ in sources.batches(source, 4, np.random.default_rng(0))]
        rest = [list(c["n"]) for c, _ in sources.batches(source, 4, np.random.default_rng(0), 2)]
        assert rest == whole[2:]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"x": X}, "'t'"),
        ({"x": X, "t": T[:3]}, "as many rows"),
        ({"x": X[:, :1], "t": T}, "must have the shape [2]"),
        ({"x": X, "t": np.ones((7, 2))}, "1 numbers a sample"),
        ({"x": X, "t": ["a"] * 7}, "must be numbers"),
        ({"x": [], "t": []}, "no sample"),
        ([], "no sample"),
        (lambda: iter(()), "no sample"),
        ([{"x": X[0], "t": 1.0}, {"x": X[1]}], "lacks the feature 't'"),
        ([{"t": 1.0}, {"x": X[1], "t": 1.0}], "sample 0 of a batch lacks the feature 'x'"),
        ([{0: 1.0, None: 2.0}], "the data must have the feature 'x', it has 0, None"),
        ([1, 2], "must be a dict"),
        (7, "must be a path, a dict of arrays"),
        ("nowhere.csv", "no such file"),
        ({"z": X, "t": T}, "'x'"),
        ({"x": "text", "t": T}, "feature 'x'"),
        ({"x": X, "t": np.float32(1)}, "feature 't': must be an array or list"),
        (lambda: None, "the function must return an iterable of dicts, got NoneType"),
    ],
)
def test_data_that_does_not_fit(data: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        train(regressor(), data)
    assert message in str(caught.value)


# -- targets --------------------------------------------------------------------------------------------------------


def encoded(source: bytes, name: str, column: Any) -> list[int]:
    model = Model(read(source))
    chosen = settings(model.document.network)
    return Encoder(model, chosen).classes(name, column, len(model.labels or []) or 3).tolist()


@pytest.mark.parametrize(
    ("labels", "column", "wanted"),
    [
        (("cat", "dog"), ["dog", "cat"], [1, 0]),
        (("cat", "dog"), np.array(["dog", "cat"]), [1, 0]),
        ((10, 20, 30), [30, 10], [2, 0]),
        ((10, 20, 30), np.array([[20], [30]]), [1, 2]),
        ((10, 20, 30), ["20", "10"], [1, 0]),
        ((10, 20, 30), np.array([20.0]), [1]),
        ((10, 20, 30), [[30], [10]], [2, 0]),
        (("1", "2", "3"), [1.0, 3, "2"], [0, 2, 1]),
        ((10, 20, 30), ["20.0", "30"], [1, 2]),
    ],
)
def test_labels(labels: Any, column: Any, wanted: list[int]) -> None:
    assert encoded(sorter(labels), "label", column) == wanted


@pytest.mark.parametrize(
    ("labels", "column", "message"),
    [
        (("cat", "dog"), ["dgo"], "none of the classes 'cat', 'dog'"),
        ((10, 20), [11], "11 is none"),
        ((10, 20), np.eye(2), "one class a sample"),
        ((10, 20), [10.7], "10.7 is none"),
        ((10, 20), [float("nan")], "nan is none"),
        ((10, 20), [float("inf")], "inf is none"),
        (("cat", "dog"), [["cat", "dog"]], "is none of the classes"),
    ],
)
def test_wrong_labels(labels: Any, column: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        encoded(sorter(labels), "label", column)
    if message.startswith("none of the classes"):
        assert "'dog'" in caught.value.hint


def test_numbers_of_classes() -> None:
    layers = [("innerProduct", dense(np.eye(3)), ["x"], ["z"]), ("softmax", {}, ["z"], ["y"])]
    plain = updatable(network(layers, {"x": [3]}, ["y"], exact=False), loss="entropy").SerializeToString()
    assert encoded(plain, "t", [2, "1", 0.0, "2.0"]) == [2, 1, 0, 2]
    for bad in (3, -1, 0.5, "x", None, "1.5", "inf", 10**400):
        with pytest.raises(InputError, match="a number from 0 to 2"):
            encoded(plain, "t", [bad])


def test_gradients_are_checked_on_resized_pictures() -> None:
    random = np.random.default_rng(0)
    data = {"image": random.integers(0, 256, (3, 9, 7)).astype(np.uint8), "label": ["dog", "cat", "dog"]}
    assert check_gradients(sorter(), data, resize="crop").ok
    with pytest.raises(InputError, match=r"arrays that are to be resized must be uint8, got float64\[9, 7\]"):
        train(sorter(), {**data, "image": data["image"] * 1.0}, resize="crop")
    fits = {**data, "image": data["image"][:, :3, :4] * 1.0}
    assert losses(sorter(), fits, resize="crop") == losses(sorter(), fits)


def test_targets_in_another_order_of_axes_are_refused() -> None:
    """As many numbers are not enough: those of a picture as [H,W,C] are not those of [C,H,W]."""
    layers = [("innerProduct", dense(np.zeros((3, 2)), np.zeros(3)), ["x"], ["a"])]
    layers += [("upsample", {"scalingFactor": [2, 4]}, ["a"], ["y"])]
    source = updatable(network(layers, {"x": [2]}, ["y"], exact=False), shape=[3, 2, 4]).SerializeToString()
    target = np.arange(7 * 24.0).reshape(7, 3, 2, 4)
    loss = float(np.mean(target**2))
    for same in (target, target.reshape(7, 24), target.reshape(7, 1, 3, 2, 4), target.reshape(7, 3, 2, 1, 4)):
        assert losses(source, {"x": X, "t": same}, epochs=1, learning_rate=1e-9) == [pytest.approx(loss, rel=1e-5)]
    for other in (target.transpose(0, 2, 3, 1), target.reshape(7, 6, 4)):
        with pytest.raises(InputError, match="target 't': the target must hold 24 numbers a sample, like 'y'"):
            train(source, {"x": X, "t": other})


def test_text_by_the_name_of_the_target_is_not_guessed() -> None:
    """In a table all is text: "1" may be the label 1, which is class 0, or class 1, which an array's 1 is."""
    model = classifier((1, 2, 3))
    net = model.neuralNetworkClassifier
    del net.layers[:]
    plain = network([("innerProduct", dense(np.eye(3)), ["x"], ["z"]), ("softmax", {}, ["z"], ["scores"])], {}, [])
    net.layers.extend(plain.neuralNetwork.layers)
    source = updatable(model, loss="entropy", blob="scores", target="t").SerializeToString()
    assert encoded(source, "t", [1, 2, 0]) == [1, 2, 0]
    assert encoded(source, "label", ["1", "2", 3]) == [0, 1, 2]
    with pytest.raises(InputError, match="'1' is the number of one class and the label of another one") as caught:
        encoded(source, "t", ["1"])
    assert "name the column 'label' if it holds labels" in caught.value.hint
    assert encoded(source, "t", ["3", "0"]) == [2, 0], "these can be only one thing"


def test_labels_that_the_network_has_no_output_for() -> None:
    model = Model(read(sorter((10, 20, 30))))
    with pytest.raises(InputError, match="30 is the label of class 2, the network knows 2 classes"):
        Encoder(model, settings(model.document.network)).classes("label", [10, 30], 2)


class Frame:
    """What pandas hands out: rows are taken by their labels, which a filtered or mixed table has in another order."""

    def __init__(self, values: Any) -> None:
        self.values, self.shape, self.iloc = values, values.shape, None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, labels: Any) -> Any:
        return self.values[::-1][labels]

    def to_numpy(self) -> Any:
        return self.values


def test_rows_go_by_place_whatever_the_container() -> None:
    assert losses(regressor(), {"x": X, "t": Frame(T)}) == BY_ARRAYS
    assert losses(regressor(), {"x": X, "t": memoryview(T.ravel())}) == BY_ARRAYS
    assert losses(regressor(), {"x": X, "t": array("f", T.ravel())}) == BY_ARRAYS


class Bound:
    """An array of another library that does not give up its numbers."""

    shape = X.shape

    def __len__(self) -> int:
        return len(X)

    def __getitem__(self, rows: Any) -> Bound:
        return self

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("it requires grad\nand more")


def test_arrays_that_are_none() -> None:
    message = "feature 'x': Bound cannot be taken as an array: it requires grad$"
    with pytest.raises(InputError, match=message):
        train(regressor(), {"x": Bound(), "t": T})


def test_what_is_no_feature_may_be_anything(tmp_path: Path) -> None:
    more = {"classes": np.array(["a", "b"]), "version": np.array(3), "notes": np.array([{}], object)}
    assert losses(regressor(), {"x": X, "t": T, "z": 3, **more}) == BY_ARRAYS
    np.savez(tmp_path / "a.npz", x=X, t=T, **more)
    assert losses(regressor(), tmp_path / "a.npz") == BY_ARRAYS
    with pytest.raises(InputError, match="the data must have the feature 'x', it has 't', 'X'"):
        train(regressor(), {"X": X, "t": T, **more})
    some = [{**row, **({"note": "first"} if number % 3 else {})} for number, row in enumerate(rows())]
    assert losses(regressor(), some) == losses(regressor(), lambda: iter(some)) == BY_ARRAYS
