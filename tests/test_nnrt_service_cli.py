"""The NNRt service from the command line: serve, status, metrics, models that run there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

if sys.platform != "linux":
    pytest.skip("the NNRt service needs Linux", allow_module_level=True)

from nnrt_models import add_model
from nnrt_wire import eventually
from pippin import nnrt
from pippin.nnrt.enums import Priority
from pippin.nnrt.enums import ReturnCode as C
from pippin.nnrt.service.client import RemoteDevice, connect, status
from pippin.nnrt.service.server import Server
from pippin.nnrt.types import ModelConfig
from test_nnrt_service import code_of, process, run

ONE = np.ones((3, 2, 2), np.float32)
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("service") / "s") as running:
        yield running


@pytest.fixture
def device(server: Server) -> Iterator[RemoteDevice]:
    with connect(server.path) as found:
        yield found


def test_models_run_on_a_service_from_the_command_line(server: Server) -> None:
    words = ["run", str(EXAMPLES / "digits.nnrt"), str(EXAMPLES / "digit-7.png"), "--json"]
    here, there = run(*words), run(*words, "--device", f"unix:{server.path}")
    assert there.exit_code == 0, there.output
    assert json.loads(there.output) == json.loads(here.output)
    assert run(*words, "--device", f"unix:{server.path}:cpu").exit_code == 0
    assert run(*words, "--device", f"unix:{server.path}:npu").exit_code == 1


def test_conformance_on_a_socket(server: Server) -> None:
    done = run("nnrt", "conformance", "--socket", str(server.path), "--group", "device")
    assert done.exit_code == 0
    assert "device    10     0" in done.output
    assert run("nnrt", "conformance", "--socket", "x", "--target", "a:b").exit_code == 2


def test_status(server: Server, device: RemoteDevice) -> None:
    prepared = device.prepare(add_model())
    prepared.predict([ONE, ONE])
    done = run("nnrt", "status", "--socket", str(server.path))
    assert done.exit_code == 0, done.output
    assert str(os.getpid()) in done.output
    state = json.loads(run("nnrt", "status", "--socket", str(server.path), "--json").output)
    assert state["schema"] == "pippin.nnrt.status/1"
    assert state["clients"][0]["models"] == 1
    assert state["clients"][0]["processes"] == [os.getpid()]
    text = run("nnrt", "status", "--socket", str(server.path), "--prometheus").output
    assert 'pippin_nnrt_requests_total{method="Run",code="SUCCESS"}' in text
    assert run("nnrt", "status", "--socket", str(server.path) + "x").exit_code == 1


def test_prometheus_text(server: Server, device: RemoteDevice) -> None:
    import re
    import urllib.request

    from pippin.nnrt.service.metrics import serve_metrics

    prepared = device.prepare(add_model(), ModelConfig(priority=Priority.HIGH))
    prepared.predict([ONE, ONE])
    line = re.compile(r'pippin_nnrt_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+')
    text = status(server.path, prometheus=True)
    assert all(row.startswith(("# HELP ", "# TYPE ")) or line.fullmatch(row) for row in text.splitlines()), text
    assert eventually(lambda: 'run_seconds_count{priority="HIGH"}' in status(server.path, prometheus=True))
    port, stop = serve_metrics(server.metrics, 0)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        assert b"pippin_nnrt_clients 1\n" in answer.read()
    stop()


def test_serve(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with process(path, "--limit", "models=1", "--memory", "512", "--metrics", "0") as running:
        assert path.stat().st_mode & 0o777 == 0o600
        with connect(path) as device:
            first = device.prepare(add_model())
            assert code_of(lambda: device.prepare(add_model())) == C.OUT_OF_MEMORY
            assert (first.predict([ONE, ONE])["out"] == 2).all()
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == 0
    assert not path.exists()


def test_a_run_beyond_the_memory_of_the_service(tmp_path: Path) -> None:
    """A pool for all values: what data decide cannot be told before, and is refused by the pool."""
    g = nnrt.GraphBuilder("outer")
    x, y = g.input("x", [-1, 1]), g.input("y", [1, -1])
    model = g.finish(g.ReduceFusion(g.AddFusion(x, y), np.array([0, 1], np.int32), keepDims=True))
    with (
        process(tmp_path / "s", "--memory", "64", "--limit", f"run_bytes={1 << 40}"),
        connect(tmp_path / "s") as device,
    ):
        prepared = device.prepare(model)
        for size, fits in ((1000, True), (10_000, False), (1000, True)):
            given = [np.ones((size, 1), np.float32), np.ones((1, size), np.float32)]
            if fits:
                prepared.predict(given)
            else:
                assert code_of(lambda given=given: prepared.predict(given)) in (C.FAILED, C.OUT_OF_MEMORY)


def test_wrong_use_of_serve() -> None:
    for words in (["--mode", "9"], ["--allow", "nobody-like-this"], ["--limit", "x=1"], ["--limit", "models=0"],
                  ["--limit", "run_seconds=nan"], ["--limit", "stall_seconds=inf"], ["--allow", "²"]):  # fmt: skip
        assert run("nnrt", "serve", *words).exit_code == 2, words
    assert "run_seconds" in run("nnrt", "serve", "--list-limits").output


def test_a_service_that_systemd_started(tmp_path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(20)
        environment = os.environ | {"NOTIFY_SOCKET": str(tmp_path / "notify"), "XDG_RUNTIME_DIR": str(tmp_path)}
        command = [sys.executable, "-m", "pippin", "nnrt", "serve"]
        running = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)
        try:
            assert sock.recv(100) == b"READY=1"
            assert (tmp_path / "pippin.sock").exists()
            running.send_signal(signal.SIGTERM)
            assert sock.recv(100) == b"STOPPING=1"
            assert running.wait(20) == 0
        finally:
            running.kill()
            running.wait()


def test_the_example_unit_names_options_that_there_are() -> None:
    unit = (Path(__file__).resolve().parents[1] / "packaging/pippin-nnrt.service").read_text(encoding="utf-8")
    (line,) = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    from pippin.cli.nnrt import serve

    known = {option for parameter in serve.params for option in parameter.opts}
    used = [word.split("=")[0] for word in line.split() if word.startswith("--")]
    assert used
    assert set(used) <= known
