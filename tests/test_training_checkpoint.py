"""Checkpoints: written whole, refused where they do not belong, and resumed to the very same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from make import ADAM, dense, network, updatable
from pippin.errors import InputError, ReadError, WriteError
from pippin.training import train
from pippin.training.checkpoint import Checkpoint
from test_training_loop import DIGITS, EXAMPLES, weights

RANDOM = np.random.default_rng(0)
DATA = {"x": RANDOM.standard_normal((30, 2)).astype(np.float32), "t": RANDOM.standard_normal(30)}


def source(**how: Any) -> bytes:
    layers = [
        ("innerProduct", dense(np.random.default_rng(1).standard_normal((8, 2)), [0.1] * 8), ["x"], ["a"]),
        ("activation", {"tanh": {}}, ["a"], ["b"]),
        ("innerProduct", dense(np.random.default_rng(2).standard_normal((1, 8)), [0]), ["b"], ["y"]),
    ]
    options = {"optimizer": ADAM, "shuffle": True, "epochs": 6, **how}
    return updatable(network(layers, {"x": [2]}, ["y"], exact=False), **options).SerializeToString()


class Stop(Exception):
    pass


def interrupted(path: Path, batches: int, data: Any = DATA) -> None:
    """Trains, checkpointing after each batch, until ``batches`` of them are done."""
    left = batches

    def count(_: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Stop

    with pytest.raises(Stop):
        train(source(), data, checkpoint=path, checkpoint_every=-1, on_batch=count)


@pytest.mark.parametrize("batches", [1, 7, 8, 9, 20, 47])
def test_resumed_to_the_same_bits(tmp_path: Path, batches: int) -> None:
    """8 batches an epoch: within an epoch, at its end, right behind it."""
    whole = train(source(), DATA)
    interrupted(tmp_path / "c", batches)
    result = train(source(), DATA, checkpoint=tmp_path / "c", resume=True)
    assert result.to_bytes() == whole.to_bytes()
    for a, b in zip(result.history, whole.history, strict=True):
        assert {k: v for k, v in a.items() if k != "seconds"} == {k: v for k, v in b.items() if k != "seconds"}


def test_streams_resume_too(tmp_path: Path) -> None:
    def rows() -> Any:
        return ({"x": x, "t": t} for x, t in zip(DATA["x"], DATA["t"], strict=True))

    interrupted(tmp_path / "c", 11, rows)
    assert train(source(), rows, checkpoint=tmp_path / "c", resume=True).to_bytes() == train(source(), rows).to_bytes()


def test_a_finished_training_resumes_to_itself_and_further(tmp_path: Path) -> None:
    first = train(source(), DATA, checkpoint=tmp_path / "c")
    again = train(source(), DATA, checkpoint=tmp_path / "c", resume=True)
    assert again.to_bytes() == first.to_bytes()
    further = train(source(), DATA, checkpoint=tmp_path / "c", resume=True, epochs=8)
    assert further.to_bytes() == train(source(), DATA, epochs=8).to_bytes()
    assert len(further.history) == 8


def test_without_resume_or_checkpoint_it_begins_anew(tmp_path: Path) -> None:
    interrupted(tmp_path / "c", 9)
    assert train(source(), DATA, checkpoint=tmp_path / "c").to_bytes() == train(source(), DATA).to_bytes()
    assert train(source(), DATA, checkpoint=tmp_path / "new", resume=True).history[0]["epoch"] == 1


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"learning_rate": 0.5}, "learning_rate 0.01, now it is 0.5"),
        ({"batch_size": 5}, "batch_size 4, now it is 5"),
        ({"seed": 9}, "seed 0, now it is 9"),
    ],
)
def test_other_settings_are_refused(tmp_path: Path, how: dict[str, Any], message: str) -> None:
    interrupted(tmp_path / "c", 5)
    with pytest.raises(InputError, match=message):
        train(source(), DATA, checkpoint=tmp_path / "c", resume=True, **how)


def test_another_model_is_refused(tmp_path: Path) -> None:
    interrupted(tmp_path / "c", 5)
    with pytest.raises(InputError, match="of another model"):
        train(source(epochs=7), DATA, checkpoint=tmp_path / "c", resume=True)


@pytest.mark.parametrize("content", [b"", b"nothing", b"PK\x03\x04", "cut", "flipped", "other"])
def test_what_is_no_checkpoint_is_refused(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "c"
    interrupted(path, 5)
    whole = path.read_bytes()
    if content == "cut":
        content = whole[: len(whole) // 2]
    elif content == "flipped":
        place = whole.index(b'"version"')
        content = whole[:place] + b"\xff" + whole[place + 1 :]
    elif content == "other":
        np.savez(path.with_suffix(".npz"), a=np.zeros(3))
        content = path.with_suffix(".npz").read_bytes()
    path.write_bytes(content)
    with pytest.raises(ReadError, match="is no checkpoint"):
        train(source(), DATA, checkpoint=path, resume=True)


def test_weights_of_other_shapes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c"
    interrupted(path, 5)
    found = Checkpoint.load(path)
    found.arrays["innerProduct0/bias"] = np.zeros(3, np.float32)
    found.save(path)
    with pytest.raises(InputError, match="other weights"):
        train(source(), DATA, checkpoint=path, resume=True)


def test_a_checkpoint_is_kept_after_each_epoch(tmp_path: Path) -> None:
    epochs = []

    def look(progress: Any) -> None:
        if progress.epoch > 1 and progress.batch == 1:
            epochs.append(Checkpoint.load(tmp_path / "c").epoch)

    train(source(), DATA, checkpoint=tmp_path / "c", on_batch=look)
    assert epochs == [1, 2, 3, 4, 5]


COMMAND = [
    sys.executable, "-m", "pippin", "train", str(DIGITS), "--data", f"{EXAMPLES}/digits.npz:train", "--epochs", "2",
    "--threads", "1", "--checkpoint-every", "0",
]  # fmt: skip


def test_killed_and_resumed(tmp_path: Path) -> None:
    """A process that is killed at any moment leaves a checkpoint that leads to the weights of an undisturbed run."""
    subprocess.run([*COMMAND, "--output", str(tmp_path / "whole")], check=True, capture_output=True)
    checkpoint = tmp_path / "c"
    words = [*COMMAND, "--checkpoint", str(checkpoint), "--resume", "--output", str(tmp_path / "out")]
    random = np.random.default_rng(int.from_bytes(os.urandom(4)))
    for _ in range(3):
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        # some steps more than the run before, then at a random moment
        while time.monotonic() < deadline and process.poll() is None:
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
                break
            time.sleep(0.005)
        time.sleep(float(random.uniform(0, 0.15)))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        Checkpoint.load(checkpoint)
    subprocess.run(words, check=True, capture_output=True)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()
    assert weights((tmp_path / "out").read_bytes())


# -- interruptions at the end of an epoch ------------------------------------------------------------------------------


class Breaks(list[Any]):
    """Validation data in which a training is interrupted: behind the last batch, before the epoch is done."""

    def __getitem__(self, index: Any) -> Any:
        raise Stop


@pytest.mark.parametrize("where", ["validation", "on_epoch"])
def test_interrupted_behind_the_last_batch(tmp_path: Path, where: str) -> None:
    def fail(_: Any) -> None:
        raise Stop

    how: Any = {"validation": Breaks([0])} if where == "validation" else {"on_epoch": fail}
    with pytest.raises(Stop):
        train(source(), DATA, checkpoint=tmp_path / "c", checkpoint_every=-1, **how)
    found = Checkpoint.load(tmp_path / "c")
    assert (found.epoch, found.batch) == (0, 8)
    whole, result = train(source(), DATA), train(source(), DATA, checkpoint=tmp_path / "c", resume=True)
    assert result.to_bytes() == whole.to_bytes()
    assert result.history[0]["loss"] == whole.history[0]["loss"]
    assert not result.warnings


@pytest.mark.parametrize("batch", [3, 8])
def test_stopped_within_an_epoch_and_resumed(tmp_path: Path, batch: int) -> None:
    """What was left of the epoch is not lost."""

    def stop(progress: Any) -> None:
        if (progress.epoch, progress.batch) == (2, batch):
            progress.stop()

    first = train(source(), DATA, checkpoint=tmp_path / "c", on_batch=stop)
    assert [record["samples"] for record in first.history] == [30, min(4 * batch, 30)]
    whole, result = train(source(), DATA), train(source(), DATA, checkpoint=tmp_path / "c", resume=True)
    assert result.to_bytes() == whole.to_bytes()
    assert [r["loss"] for r in result.history] == [r["loss"] for r in whole.history]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((name, value) for name in ("epoch", "batch", "step") for value in (-1, "1", None, 1.5, 10**30, [], True)),
        *(("sums", value) for value in ({}, None, [], {"loss": "a"}, {"loss": 1, "correct": "b", "count": 2})),
        *(("history", value) for value in (None, 3, "ab", [1], [], [{}, {}])),
        ("settings", None),
        ("settings", []),
        ("model", None),
    ],
)
def test_entries_that_no_training_writes_are_refused(tmp_path: Path, field: str, value: Any) -> None:
    interrupted(tmp_path / "c", 11)
    found = Checkpoint.load(tmp_path / "c")
    setattr(found, field, value)
    found.save(tmp_path / "c")
    with pytest.raises(ReadError, match="is no checkpoint"):
        train(source(), DATA, checkpoint=tmp_path / "c", resume=True)


def test_any_damaged_byte_is_refused_or_does_no_harm(tmp_path: Path) -> None:
    interrupted(tmp_path / "c", 5)
    content, random = (tmp_path / "c").read_bytes(), np.random.default_rng(0)
    # the archive's directory at the end decides how the rest is read
    places = [*range(len(content) - 400, len(content)), *random.integers(0, len(content), 200).tolist()]
    for place in places:
        (tmp_path / "d").write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        with suppress(ReadError):
            Checkpoint.load(tmp_path / "d")


def test_compressed_checkpoints_are_refused(tmp_path: Path) -> None:
    """A small file may not ask for much memory."""
    with (tmp_path / "c").open("wb") as file:
        np.savez_compressed(file, a=np.zeros(1 << 20))
    with pytest.raises(ReadError, match="its arrays are compressed"):
        Checkpoint.load(tmp_path / "c")


def test_a_place_behind_the_data_is_refused(tmp_path: Path) -> None:
    interrupted(tmp_path / "c", 5)
    less = {name: column[:8] for name, column in DATA.items()}
    with pytest.raises(InputError, match="stands behind batch 5 of an epoch, the data has 2"):
        train(source(), less, checkpoint=tmp_path / "c", resume=True)


def test_another_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "model.mlmodel"
    path.write_bytes(source())
    with pytest.raises(InputError, match="is no checkpoint, so it is not overwritten"):
        train(source(), DATA, checkpoint=path)
    assert path.read_bytes() == source()
    path.write_bytes(b"")  # as tempfile makes them
    train(source(), DATA, checkpoint=path)
    train(source(), DATA, checkpoint=path)
    for place, message in ((tmp_path, "is a folder"), (tmp_path / "no/c", "there is no folder")):
        with pytest.raises(WriteError, match=message):
            train(source(), DATA, checkpoint=place, on_batch=lambda _: pytest.fail("it is too late"))
