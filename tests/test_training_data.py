"""Where training data comes from: arrays, iterables, folders of pictures, CSV, NPZ and Parquet."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from make import classifier, dense, network, picture_network, updatable
from pippin.coreml.model import Model
from pippin.coreml.read import read
from pippin.errors import InputError, UnsupportedError
from pippin.training import check_gradients, files, train
from pippin.training import data as sources
from pippin.training.encode import Encoder
from pippin.training.settings import settings

X = np.arange(14, dtype=np.float32).reshape(7, 2) / 14
T = (X @ np.float32([[1.0], [2.0]])).astype(np.float32)


def regressor() -> bytes:
    layer = ("innerProduct", dense([[0.1, -0.2]], [0.0]), ["x"], ["y"])
    return updatable(network([layer], {"x": [2]}, ["y"], exact=False)).SerializeToString()


def updatable_wide() -> bytes:
    """Like ``regressor``, in batches that are no sip."""
    layer = ("innerProduct", dense([[0.1, -0.2]], [0.0]), ["x"], ["y"])
    options = {"learningRate": 0.1, "miniBatchSize": 50_000}
    return updatable(network([layer], {"x": [2]}, ["y"], exact=False), optimizer=options).SerializeToString()


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
    assert encoded(plain, "t", [2, "1", 0.0]) == [2, 1, 0]
    for bad in (3, -1, 0.5, "x", None):
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


# -- files ----------------------------------------------------------------------------------------------------------


def picture(path: Path, level: int, size: tuple[int, int] = (4, 3)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full(size[::-1], level, np.uint8)).save(path)


def test_a_folder_a_class(tmp_path: Path) -> None:
    for index in range(5):
        picture(tmp_path / "cat" / f"{index}.png", 10 + index)
        picture(tmp_path / "dog" / "more" / f"{index}.PNG", 200 + index)
    (tmp_path / "readme.txt").write_text("no picture")
    # what systems and tools leave behind
    for junk in ("cat/._0.png", ".cache/a.png", "dog/.thumbs/b.png"):
        (tmp_path / junk).parent.mkdir(exist_ok=True)
        (tmp_path / junk).write_bytes(b"no picture")
    (tmp_path / "cat/folder.png").mkdir()
    source = files.open_path(tmp_path, Model(read(sorter())), ["label"])
    columns, count = next(sources.batches(source, 100, None))
    assert count == 10
    assert columns["label"] == ["cat"] * 5 + ["dog"] * 5
    result = train(sorter(), tmp_path, epochs=40, learning_rate=0.5, validation=tmp_path, shuffle=True)
    assert result.history[-1]["validation_accuracy"] == 1.0
    assert result.model.predict({"image": np.full((3, 4), 202, np.uint8)})["label"] == "dog"


def test_a_folder_that_is_no_class_is_told_before_anything_is_trained(tmp_path: Path) -> None:
    for name in ("bird", "cat", "dog"):
        picture(tmp_path / name / "a.png", 1)
    with pytest.raises(InputError, match=r"the folder 'bird' is none of the classes 'cat', 'dog'"):
        files.open_path(tmp_path, Model(read(sorter())), ["label"])


def test_pictures_of_another_size_are_refused_unless_resized(tmp_path: Path) -> None:
    picture(tmp_path / "cat" / "a.png", 10, (8, 6))
    picture(tmp_path / "dog" / "b.png", 200)
    with pytest.raises(InputError, match="4x3, got 8x6"):
        train(sorter(), tmp_path)
    assert train(sorter(), tmp_path, resize="crop").history[0]["samples"] == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "one folder of pictures for each class"),
        (lambda path: picture(path / "bird" / "a.png", 1), "'bird' is none of the classes"),
        (lambda path: [(path / "cat").mkdir(), (path / "cat/a.png").write_bytes(b"no")], "cannot be read"),
    ],
)
def test_folders_that_do_not_fit(tmp_path: Path, make: Any, message: str) -> None:
    make(tmp_path)
    with pytest.raises(InputError, match=message):
        train(sorter(), tmp_path)
    if message.startswith("one folder"):
        with pytest.raises(InputError, match="one input, a picture"):
            train(regressor(), tmp_path)


@pytest.mark.parametrize(
    "header", [["x[0]", "x[1]", "t"], ["x_0", "x_1", "t"], ["x.1", "x.2", "t"], ["t", "other", "x[1]", "x[0]"]]
)
def test_csv(tmp_path: Path, header: list[str]) -> None:
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for (a, b), (t,) in zip(X.tolist(), T.tolist(), strict=True):
            cells = {"t": t, "other": 'a "quoted"\nline', "x[0]": a, "x_0": a, "x.1": a}
            writer.writerow([cells.get(name, b) for name in header])
        file.write("\n")
    assert losses(regressor(), path) == BY_ARRAYS


def test_csv_of_lists_labels_and_pictures(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("\ufeffx\tt\n" + "".join(f"{a} {b}\t{t}\n" for (a, b), (t,) in zip(X, T, strict=True)), "utf-8")
    assert losses(regressor(), path) == BY_ARRAYS
    picture(tmp_path / "pictures/a.png", 10)
    (tmp_path / "p.csv").write_text("image,label\npictures/a.png,dog\npictures/a.png,cat\n")
    assert train(sorter(), tmp_path / "p.csv").history[0]["samples"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "header and at least one row"),
        ("x,t\n", "header and at least one row"),
        ("a,b\n1,2\n", "must name the features 'x', 't'"),
        ("x[0],x[1],t\n1,2\n", "must have 3 cells"),
        ("x[0],x[1],t\n1,two,3\n", "is no number"),
        ("x[0],x[1],t\n1,2,z\n", "must be numbers"),
        ("x[0],x[1]\n1,2\n", "'t'"),
        ("x[0],t\n1,2\n", "must have the shape [2]"),
        (b"\xff\xfe,\n1,2\n", "is no table"),
        ("x[0],x[0],x[1],t\n9,1,2,3\n", "must name each column of 'x' once"),
        ("x[0],x[1],t\n1_0,2,3\n", "is no number"),
        ('x[0],x[1],t,note\n1,2,3,"a\n4,5,6,b\n7,8,9,c\n', "is no table: unexpected end of data"),
    ],
)
def test_csv_that_does_not_fit(tmp_path: Path, text: Any, message: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        train(regressor(), path)
    assert message in str(caught.value)


def test_a_byte_order_mark_before_a_quote(tmp_path: Path) -> None:
    rows_ = "".join(f'"{a}","{b}","{t}"\n' for (a, b), (t,) in zip(X, T, strict=True))
    (tmp_path / "rows.csv").write_text('\ufeff"x[0]","x[1]","t"\n' + rows_, "utf-8")
    assert losses(regressor(), tmp_path / "rows.csv") == BY_ARRAYS


@pytest.mark.parametrize("change", ["gone", "shorter", "other rows"])
def test_a_table_that_changes_while_it_is_read(tmp_path: Path, change: str) -> None:
    path = tmp_path / "rows.csv"
    text = "x[0],x[1],t\n" + "".join(f"{a},{b},{t}\n" for (a, b), (t,) in zip(X, T, strict=True))
    path.write_text(text)

    def spoil(_: Any) -> None:
        if change == "gone":
            path.unlink(missing_ok=True)
        else:
            path.write_text(text[:40] if change == "shorter" else text.replace(",", ";"))

    with pytest.raises(InputError, match="was changed or removed while it was read"):
        train(regressor(), path, on_batch=spoil)


CHANGED = """
import os, sys
import numpy as np
from pippin.training import train

def change(_):
    if sys.argv[3] == "shorter":
        os.truncate(sys.argv[2], 0)
    elif sys.argv[3] == "other":
        with open(sys.argv[2], "r+b") as file:
            file.write(bytes(100))
    elif os.path.exists(sys.argv[2]):
        os.remove(sys.argv[2])

train(sys.argv[1], sys.argv[2], on_batch=change, epochs=2)
"""


@pytest.mark.parametrize("change", ["shorter", "other", "gone"])
def test_an_archive_that_changes_while_it_is_read(tmp_path: Path, change: str) -> None:
    """In a process of its own: reading a mapped file behind its end is what no program survives."""
    x = np.zeros((100_000, 2), np.float32)
    np.savez(tmp_path / "a.npz", x=x, t=x[:, 0])
    (tmp_path / "m.mlmodel").write_bytes(updatable_wide())
    words = [sys.executable, "-c", CHANGED, str(tmp_path / "m.mlmodel"), str(tmp_path / "a.npz"), change]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if change == "gone":  # its content is there until nobody reads it any more
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode == 1, done.stderr
    assert "InputError: m.mlmodel: " in done.stderr
    assert "a.npz: the archive was changed while it was read" in done.stderr


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("spool", [False, True])
def test_npz(tmp_path: Path, save: Any, spool: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if spool:
        monkeypatch.setattr(files, "SPOOL", 8)
    save(tmp_path / "a.npz", x=np.asfortranarray(X), t=T)
    assert losses(regressor(), tmp_path / "a.npz") == BY_ARRAYS
    save(tmp_path / "b.npz", **{"train/x": X, "train/t": T, "held-out/x": X[:2], "held-out/t": T[:2]})
    result = train(regressor(), f"{tmp_path}/b.npz:train", validation=f"{tmp_path}/b.npz:held-out")
    assert [record["loss"] for record in result.history] == BY_ARRAYS
    assert result.history[0]["validation_loss"] > 0


def test_stored_arrays_are_mapped(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=X, t=T)
    source = files.npz(tmp_path / "a.npz")
    assert all(isinstance(column, np.memmap) for column in source.columns.values())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p.write_bytes(b"PK\x03\x04 nothing"), "is no archive of arrays"),
        (lambda p: p.write_bytes(b""), "is no archive of arrays"),
        (lambda p: np.savez(p, x=np.array([{}], object)), "Python objects"),
        (lambda p: np.savez(p, t=T), "'x'"),
        (lambda p: p.write_bytes(_damaged()), "is no archive of arrays|must hold"),
    ],
)
def test_npz_that_does_not_fit(tmp_path: Path, make: Any, message: str) -> None:
    make(tmp_path / "a.npz")
    with pytest.raises(InputError, match=message):
        train(regressor(), tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", x=X, t=T)
    with pytest.raises(InputError, match="part 'train', got x, t"):
        train(regressor(), f"{tmp_path / 'b.npz'}:train")


def _damaged() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=X, t=T)
    data = bytearray(buffer.getvalue())
    data[60:80] = bytes(20)
    return bytes(data)


def test_unknown_endings(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(UnsupportedError, match=r"got \.txt"):
        train(regressor(), tmp_path / "a.txt")


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"x": X.tolist(), "t": T.ravel()}), tmp_path / "a.parquet", row_group_size=3)
    assert losses(regressor(), tmp_path / "a.parquet") == BY_ARRAYS
    mixed = losses(regressor(), tmp_path / "a.parquet", shuffle=True)
    assert mixed != BY_ARRAYS
    assert mixed == losses(regressor(), tmp_path / "a.parquet", shuffle=True)
    (tmp_path / "b.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match="no Parquet file"):
        train(regressor(), tmp_path / "b.parquet")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [["a", "b"]] * 7}, "input 'x': the value must be an array of numbers, got list"),
        (
            {"x": [[1.0, 2.0], None] * 3 + [[1.0, 2.0]]},
            "input 'x': the value must be an array of numbers, got NoneType",
        ),
        ({"t": [1.0, None] * 3 + [1.0]}, "target 't': the target must be numbers"),
    ],
)
def test_parquet_that_does_not_fit(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    from pyarrow import parquet

    table = {"x": X.tolist(), "t": T.ravel(), "notes": [["a"]] * 7}
    parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    assert losses(regressor(), tmp_path / "a.parquet") == BY_ARRAYS
    parquet.write_table(pyarrow.table({**table, **columns}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=message):
        train(regressor(), tmp_path / "b.parquet")


def test_damaged_parquet(tmp_path: Path) -> None:
    """Errors of PyArrow that come when rows are read, not when the file is opened."""
    pyarrow = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"x": X.tolist(), "t": T.ravel()}), tmp_path / "a.parquet")
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[4:40] = bytes(36)
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read on: "):
        train(regressor(), tmp_path / "a.parquet")


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(UnsupportedError, match="needs PyArrow") as caught:
        train(regressor(), tmp_path / "a.parquet")
    assert "pip install pyarrow" in caught.value.hint
