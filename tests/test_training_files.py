"""Training data in files: folders of pictures, CSV, NPZ and Parquet."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from make import dense, network, updatable
from pippin.coreml.model import Model
from pippin.coreml.read import read
from pippin.errors import InputError, UnsupportedError
from pippin.training import data as sources
from pippin.training import files, train
from test_training_data import BY_ARRAYS, T, X, losses, regressor, sorter


def updatable_wide() -> bytes:
    """Like ``regressor``, in batches that are no sip."""
    layer = ("innerProduct", dense([[0.1, -0.2]], [0.0]), ["x"], ["y"])
    options = {"learningRate": 0.1, "miniBatchSize": 50_000}
    return updatable(network([layer], {"x": [2]}, ["y"], exact=False), optimizer=options).SerializeToString()


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
