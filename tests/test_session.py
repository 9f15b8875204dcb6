"""Sessions: weights that are handed over, weights that the engine reads from the file, and what becomes of the file."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin
from cases import normal
from make import network
from pippin.coreml.model import Model
from pippin.coreml.read import read
from pippin.errors import RunError
from pippin.graph.builder import Builder
from pippin.graph.write import write
from pippin.runtime import backing
from pippin.runtime.session import SPINNING, Session

linux = pytest.mark.skipif(not backing.MAPS.exists(), reason="needs /proc to see what is mapped")


def convolution(out: int, channels: int, kernel: int, seed: int = 7) -> dict[str, Any]:
    weights = normal(out, channels, kernel, kernel, seed=seed)
    return {
        "outputChannels": out,
        "kernelChannels": channels,
        "kernelSize": [kernel, kernel],
        "valid": {},
        "weights": weights,
    }


def model(out: int = 64, seed: int = 7) -> bytes:
    """Two convolutions of 295 KB and more, and an inner product."""
    layers = [
        ("convolution", convolution(64, 128, 3, seed), ["x"], ["a"]),
        ("convolution", convolution(out, 64, 5, seed), ["a"], ["b"]),
        (
            "innerProduct",
            {"inputChannels": 4096, "outputChannels": 10, "weights": normal(10, 4096, seed=seed)},
            ["b"],
            ["y"],
        ),
    ]
    message = network(layers, {"x": [1, 128, 14, 14]}, ["y"])
    data: bytes = message.SerializeToString()
    return data


def lay(path: Path, data: bytes, age: float = 100.0) -> Path:
    """A file that was last written ``age`` seconds ago."""
    path.write_bytes(data)
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))
    return path


X = {"x": normal(1, 128, 14, 14)}


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The names of the weights that were placed in files."""
    calls: list[set[str]] = []
    place = backing.Backing.place

    def noted(self: backing.Backing, written: Any) -> set[str]:
        calls.append(place(self, written))
        return calls[-1]

    monkeypatch.setattr(backing.Backing, "place", noted)
    return calls


@pytest.mark.parametrize("optimize", [True, False])
def test_handed_over_weights_need_not_live_longer_than_the_making(optimize: bool) -> None:
    g = Builder()
    x, rows = g.input("x", "float32", (1, 3, 8, 8)), g.input("rows", "int64", (2,))
    lstm = g.LSTM(g.reshape(x, [3, 1, 64]), normal(1, 128, 64), normal(1, 128, 32), outputs=1, hidden_size=32)
    results = [
        g.Add(g.Conv(x, normal(16, 3, 3, 3)), normal(1, 16, 6, 6)),
        g.Add(g.MatMul(g.reshape(x, [1, 192]), normal(192, 1024)), normal(1024)),
        g.Gather(normal(500, 64), rows),
        g.Gemm(g.reshape(x, [1, 192]), normal(192, 600), normal(600)),
        lstm,
    ]
    for value in results:
        g.output(value)
    written = write(g.graph)
    assert len(written.weights) >= 7
    written.weights = {name: array.copy() for name, array in written.weights.items()}
    session = Session(written, optimize=optimize)
    feeds = {"x": normal(1, 3, 8, 8, seed=1), "rows": np.array([1, 400])}
    before = session.run(feeds)
    for array in written.weights.values():
        array[...] = np.nan
    for a, b in zip(before, session.run(feeds), strict=True):
        np.testing.assert_array_equal(a, b)


@linux
@pytest.mark.parametrize("name", ["model.mlmodel", "mödel 2 (copy).mlmodel"])
def test_large_convolutions_are_read_from_the_file_and_nothing_stays_mapped(
    tmp_path: Path, placed: list[set[str]], name: str
) -> None:
    path = lay(tmp_path / name, model())
    wanted = pippin.load(model()).predict(X)["y"]
    assert not placed
    loaded = pippin.load(path)
    assert placed == [{"convolution0/weights", "convolution1/weights"}]
    np.testing.assert_array_equal(loaded.predict(X)["y"], wanted)
    assert not loaded.document.backing.mappings()  # type: ignore[union-attr]


@linux
@pytest.mark.parametrize(
    "ruin",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(model(seed=8)),
        lambda path: path.write_bytes(bytes(path.stat().st_size)),
        lambda path: path.unlink(),
        lambda path: lay(path.with_suffix(".new"), model(seed=8)).replace(path),
    ],
    ids=["truncated", "another model", "zeros", "deleted", "replaced"],
)
def test_a_model_answers_whatever_becomes_of_its_file(
    tmp_path: Path, placed: list[set[str]], ruin: Callable[[Path], Any]
) -> None:
    path = lay(tmp_path / "model.mlmodel", model())
    wanted = pippin.load(model()).predict(X)["y"]
    loaded, unprepared = pippin.load(path), Model(read(path))
    assert len(placed) == 1
    ruin(path)
    for entry in (loaded, unprepared, pippin.load(model())):
        np.testing.assert_array_equal(entry.predict(X)["y"], wanted)
    # and a plan that is made only now
    assert loaded._compile([("n", 128, 14, 14)]).session.run(X)[0].shape == wanted.shape
    assert len(placed) == 1, "the file is not what was read"


def test_a_file_that_was_just_written_is_not_trusted(tmp_path: Path, placed: list[set[str]]) -> None:
    pippin.load(lay(tmp_path / "model.mlmodel", model(), age=0.5))
    assert not placed


@linux
def test_a_file_that_changes_meanwhile(tmp_path: Path, placed: list[set[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    path = lay(tmp_path / "model.mlmodel", model())
    mappings = backing.Backing.mappings

    def changed(self: backing.Backing) -> set[str]:
        if path.stat().st_size:
            path.write_bytes(model(seed=8))  # of the same size
        return mappings(self)

    monkeypatch.setattr(backing.Backing, "mappings", changed)
    answer = pippin.load(path).predict(X)["y"]
    assert len(placed) == 1
    np.testing.assert_array_equal(answer, pippin.load(model()).predict(X)["y"])


@linux
def test_weights_that_would_stay_mapped_are_handed_over(
    tmp_path: Path, placed: list[set[str]], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as if the engine worked on a matrix in blocks: it keeps it mapped
    monkeypatch.setattr("pippin.graph.write._repacked", lambda graph: frozenset({"embeddingND0/weights"}))
    g = Builder()
    g.output(g.Gather(g.constant(normal(900, 64), name="embeddingND0/weights"), g.input("rows", "int64", (2,))))
    path = lay(tmp_path / "weights", b"12345678" + normal(900, 64).tobytes())
    noted = backing.Backing.note(path)
    data = memoryview(path.read_bytes())
    file = backing.Backing(*noted, data, False)
    written = write(g.graph)
    written.weights = {name: np.frombuffer(data[8:], np.float32).reshape(900, 64) for name in written.weights}
    with caplog.at_level(logging.DEBUG, "pippin"):
        session = Session(written, backing=file)
    assert placed == [{"embeddingND0/weights"}]
    assert "handed over after all" in caplog.text
    assert not file.mappings()
    path.write_bytes(b"")
    np.testing.assert_array_equal(session.run({"rows": np.array([3, 899])})[0], normal(900, 64)[[3, 899]])


def test_mapped_files(tmp_path: Path, placed: list[set[str]]) -> None:
    path = lay(tmp_path / "model.mlmodel", model())
    link = tmp_path / "link.mlmodel"
    link.symlink_to(path)
    wanted = pippin.load(model()).predict(X)["y"]
    for source in (path, link):
        loaded = pippin.load(source, mmap=True)
        np.testing.assert_array_equal(loaded.predict(X)["y"], wanted)
    assert all(len(names) == 3 for names in placed)
    assert len(placed) == 2
    # a file that takes its place does not matter: the map is of the old one
    lay(tmp_path / "new", model(seed=8)).replace(path)
    assert loaded._compile([("n", 128, 14, 14)]).session.run(X)[0].shape == wanted.shape
    np.testing.assert_array_equal(loaded.predict(X)["y"], wanted)
    assert len(placed) == 2


def test_weights_that_were_rewritten_are_not_in_the_file(tmp_path: Path, placed: list[set[str]]) -> None:
    statistics = {name: normal(64, seed=seed) ** 2 for seed, name in enumerate(("gamma", "beta", "mean", "variance"))}
    layers = [
        ("convolution", convolution(64, 128, 3), ["x"], ["a"]),
        ("batchnorm", {"channels": 64, **statistics}, ["a"], ["b"]),
        ("convolution", convolution(64, 64, 3), ["b"], ["y"]),
    ]
    data = network(layers, {"x": [1, 128, 14, 14]}, ["y"]).SerializeToString()
    loaded = pippin.load(lay(tmp_path / "model.mlmodel", data), mmap=True)
    assert placed == [{"convolution2/weights"}]
    np.testing.assert_array_equal(loaded.predict(X)["y"], pippin.load(data).predict(X)["y"])


def test_an_engine_that_cannot_read_the_file_is_handed_the_weights(
    tmp_path: Path, placed: list[set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backing.Backing, "folder", property(lambda self: str(tmp_path / "nowhere")))
    loaded = pippin.load(lay(tmp_path / "model.mlmodel", model()), mmap=True)
    assert len(placed) == 1
    np.testing.assert_array_equal(loaded.predict(X)["y"], pippin.load(model()).predict(X)["y"])


def test_what_cannot_be_prepared_is_our_error() -> None:
    g = Builder()
    x = g.input("x", "float32", (2,))
    with g.scope("layer1", "layer 'layer1' (unary)"):
        y = g.Relu(x)
    g.output(y, "y")
    y.node.op = "Rectify"
    with pytest.raises(RunError, match="cannot be prepared"):
        Session(write(g.graph))


def busy(options: dict[str, str]) -> list[float]:
    """Seconds of CPU time in a tenth of a second after a run, when nobody asks for anything; sorted, of five runs."""
    g = Builder()
    x = g.input("x", "float32", (512, 512))
    g.output(g.MatMul(x, normal(512, 512)))
    session = Session(write(g.graph), threads=2, options=options)
    feeds = {"x": normal(512, 512)}
    times = []
    for _ in range(5):
        session.run(feeds)
        start = time.process_time()
        time.sleep(0.1)
        times.append(time.process_time() - start)
    return sorted(times)


def test_an_idle_session_does_not_keep_a_core_busy() -> None:
    assert busy({})[0] < 0.004 < busy(SPINNING)[-1]
