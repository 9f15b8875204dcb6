"""Harm that is done to the NNRt service while others use it: they get the right answers, and nothing is left behind."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

if sys.platform != "linux":
    pytest.skip("the NNRt service needs Linux", allow_module_level=True)

from nnrt_models import add_model, out_tensor, values
from nnrt_wire import Wire, eventually, floats, memfd
from pippin.nnrt.buffers import Region
from pippin.nnrt.enums import DataType, Format
from pippin.nnrt.enums import ReturnCode as C
from pippin.nnrt.service.client import connect
from pippin.nnrt.service.protocol import HEADER, ModelMethod, Service
from pippin.nnrt.types import IOTensor
from test_nnrt_service import process
from test_nnrt_service_hostile import _prepared, _run_body

ROUNDS = int(os.environ.get("NNRT_CHAOS_ROUNDS", "3"))
"""How often each kind of harm is done under load."""
ONE = np.ones((3, 2, 2), np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s"


class Honest:
    """Clients in threads that check every answer: each question is a number of its own."""

    def __init__(self, path: Path, count: int) -> None:
        self.done = 0
        self.failed: list[str] = []
        self._stop = threading.Event()
        self._path = path
        self._threads = [threading.Thread(target=self._work, args=(index,)) for index in range(count)]
        for thread in self._threads:
            thread.start()

    def _work(self, seed: int) -> None:
        rng = random.Random(seed)
        try:
            with connect(self._path, timeout=60) as device:
                prepared = device.prepare(add_model((64,)))
                x, y = Region(256), Region(256)
                inputs = [IOTensor("", DataType.FLOAT32, [64], Format.NHWC, region.buffer()) for region in (x, y)]
                output = out_tensor((64,))
                while not self._stop.is_set():
                    question = float(rng.randrange(1 << 20))
                    x.array.view(np.float32)[:] = question
                    y.array.view(np.float32)[:] = seed
                    values(output)[:] = -1
                    prepared.run(inputs, [output])
                    if not (values(output) == question + seed).all():
                        self.failed.append(f"{question} + {seed} is not {values(output)[0]}")
                    self.done += 1
        except Exception as error:
            self.failed.append(f"{type(error).__name__}: {error}")

    def advance(self, count: int = 50, seconds: float = 60) -> bool:
        """Whether so many more answers come."""
        goal = self.done + count
        return eventually(lambda: self.done >= goal or self.failed, seconds) and not self.failed

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()


BAD = """if True:
    import sys, time
    sys.path.insert(0, sys.argv[2])
    import numpy as np
    from nnrt_models import add_model, io_tensor, out_tensor
    from pippin import nnrt
    device = nnrt.connect(sys.argv[1])
    prepared = device.prepare(add_model((64,)))
    x = np.ones(64, np.float32)
    inputs, outputs = [io_tensor(x), io_tensor(x)], [out_tensor((64,))]
    prepared.run(inputs, outputs)
    print("on", flush=True)
    while True:
        prepared.run(inputs, outputs)
"""


def _kill_a_client(path: Path, rng: random.Random) -> None:
    words = [sys.executable, "-c", BAD, str(path), str(Path(__file__).parent)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == b"on\n"
        time.sleep(rng.random() * 0.05)
        client.kill()


def _cut_memory(path: Path, rng: random.Random) -> None:
    wire = Wire(path)
    model = _prepared(wire)
    memory = memfd(24, content=floats(1, 2, 10, 20), flags=os.MFD_CLOEXEC)
    (_, number) = struct.unpack("<II", wire.ask(Service.ATTACH, b"", 0, [memory])[1])
    cutter = threading.Timer(rng.random() * 0.01, os.ftruncate, (memory, rng.randrange(24)))
    cutter.start()
    for _ in range(rng.randrange(1, 100)):
        assert wire.ask(ModelMethod.RUN, _run_body(number, 24), model)[0] in (0, C.INVALID_PARAMETER)
    cutter.join()
    wire.close()
    os.close(memory)


def _random_frames(path: Path, rng: random.Random) -> None:
    wire = Wire(path, greet=rng.random() < 0.7)
    memory = memfd(8)
    try:
        for _ in range(rng.randrange(1, 10)):
            data = rng.randbytes(rng.randrange(1, 300))
            if rng.random() < 0.5:
                data = HEADER.pack(len(data), rng.randrange(20), 1, 1, rng.choice((0, 1, 256)), 0) + data
            wire.send(data, [memory])
    except OSError:
        pass
    wire.close()
    os.close(memory)


HARM = {"client killed": _kill_a_client, "memory cut": _cut_memory, "random frames": _random_frames}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Honest, int]]:
    """A service in a process of its own, under load of clients that check their answers."""
    place = tmp_path_factory.mktemp("loaded") / "s"
    with process(place) as running:
        honest = Honest(place, 4)
        try:
            assert honest.advance()
            yield place, honest, running.pid
        finally:
            honest.stop()
        assert not honest.failed


@pytest.mark.slow
@pytest.mark.parametrize("harm", HARM)
def test_harm_under_load(loaded: tuple[Path, Honest, int], harm: str) -> None:
    path, honest, pid = loaded
    rng = random.Random(harm)
    folder = f"/proc/{pid}/fd"
    before = 0
    for round_ in range(ROUNDS):
        HARM[harm](path, rng)
        if round_ == 0:
            time.sleep(0.3)
            before = len(os.listdir(folder))  # noqa: PTH208
    assert honest.advance(), honest.failed
    assert eventually(lambda: len(os.listdir(folder)) <= before)  # noqa: PTH208


@pytest.mark.slow
@pytest.mark.parametrize("sort", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_a_service_that_goes_and_comes_under_load(path: Path, sort: signal.Signals) -> None:
    rng = random.Random(sort)
    honest = None
    try:
        for _ in range(ROUNDS):
            with process(path) as running:
                honest = honest or Honest(path, 3)
                assert honest.advance(30), honest.failed
                time.sleep(rng.random() * 0.05)
                running.send_signal(sort)
                running.wait(30)
        with process(path):
            assert honest.advance(30), honest.failed
            honest.stop()
            assert not honest.failed
    finally:
        if honest is not None:
            honest.stop()
