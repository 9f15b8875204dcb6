"""Files are read whole, small and large alike, and one that cannot fit is refused before memory is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import pippin
from make import network
from pippin import files
from pippin.errors import ReadError

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("size", [0, 1, files.LARGE - 1, files.LARGE, files.LARGE + 4097])
def test_every_byte_arrives(tmp_path: Path, size: int) -> None:
    content = np.random.default_rng(size).bytes(size)
    (tmp_path / "file").write_bytes(content)
    data = files.read(tmp_path / "file")
    assert data == content
    assert data.readonly


def test_a_file_that_shrinks_while_it_is_read_gives_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * (files.LARGE // 128))
    state = path.stat()
    os.truncate(path, files.LARGE + 3)
    monkeypatch.setattr(os, "fstat", lambda _: state)
    assert files.read(path) == bytes(range(256)) * (files.LARGE // 256) + bytes(range(3))


def test_a_file_larger_than_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.mlmodel"
    with path.open("wb") as file:
        file.truncate(files._memory() + 1)
    with pytest.raises(ReadError, match="more than the memory of this machine"):
        pippin.load(path)


def test_a_large_model_answers_after_its_file_is_gone(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((1100, 1000)).astype(np.float32)
    layer = {"inputChannels": 1000, "outputChannels": 1100, "weights": {"floatValue": weights.ravel().tolist()}}
    made = network([("innerProduct", layer, ["x"], ["y"])], {"x": [1000]}, ["y"])
    path = tmp_path / "large.mlmodel"
    path.write_bytes(made.SerializeToString())
    assert path.stat().st_size > files.LARGE
    model = pippin.load(path)
    path.write_bytes(b"")
    x = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    np.testing.assert_allclose(model.predict({"x": x})["y"], weights @ x, rtol=1e-4, atol=1e-4)


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    file, link = tmp_path / "there/file", tmp_path / "link"
    file.write_bytes(b"old")
    link.symlink_to("there/file")
    files.write(link, [b"new"])
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.rglob("*.part")] == []


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """As a device such as /dev/null is, which no process could do without."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.write(pipe, [b"con", b"tent"])
        assert os.read(reader, 100) == b"content"
        assert pipe.is_fifo()
    finally:
        os.close(reader)
