"""Clients that lie, stall, flood, die or cut their memory: they lose their connection, others notice nothing."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if sys.platform != "linux":
    pytest.skip("the NNRt service needs Linux", allow_module_level=True)

from nnrt_models import add_model, constant, io_tensor, one_node, out_tensor
from nnrt_wire import Wire, eventually, floats, frame, hello, memfd
from pippin import nnrt
from pippin.nnrt.attributes import AddFusion
from pippin.nnrt.enums import DataType, Format
from pippin.nnrt.enums import ReturnCode as C
from pippin.nnrt.parcel import ParcelReader
from pippin.nnrt.service import marshal
from pippin.nnrt.service.client import RemoteDevice, connect
from pippin.nnrt.service.limits import Limits
from pippin.nnrt.service.protocol import HEADER, DeviceMethod, ModelMethod, Service
from pippin.nnrt.service.server import Server
from pippin.nnrt.types import IOTensor, Model, ModelConfig, Node, SharedBuffer, SubGraph, Tensor
from test_nnrt_service import code_of, long_run

ONE = np.ones((3, 2, 2), np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s"


# -- who may connect ---------------------------------------------------------------------------------------------------

VISITOR = """if True:
    import socket, struct, sys
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(sys.argv[1])
    except PermissionError:
        print("no entry"); sys.exit()
    try:
        sock.sendall(bytes.fromhex(sys.argv[2]))
    except BrokenPipeError:
        pass
    print(struct.unpack_from("<IHHQII", sock.recv(4096))[5])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize(
    ("mode", "allow", "wanted"),
    [(0o600, [], "no entry"), (0o666, [], str(int(C.PERMISSION_DENIED))), (0o666, [65534], "0")],
)
def test_other_users(mode: int, allow: list[int], wanted: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with Server(f"{folder}/s", mode=mode, allow=allow):
            greeting = frame(Service.HELLO, hello()).hex()
            command = ["python3", "-c", VISITOR, f"{folder}/s", greeting]
            done = subprocess.run(command, user=65534, capture_output=True, text=True, check=False, cwd="/")
    assert done.stdout.strip() == wanted, done.stderr


def test_a_token_joins_and_a_wrong_one_does_not(path: Path) -> None:
    with Server(path, limits=Limits(requests=2)) as server:
        first = Wire(path)
        (session,) = server.sessions.values()
        second = Wire(path, greet=False)
        assert second.ask(Service.HELLO, hello(session.token))[0] == 0
        third = Wire(path, greet=False)
        assert third.ask(Service.HELLO, hello(session.token))[0] == C.DEVICE_BUSY
        other = Wire(path, greet=False)
        code, body = other.ask(Service.HELLO, hello(bytes(16)))
        assert code == 0
        assert body[8:24] not in (session.token, bytes(16))
        assert len(server.sessions) == 2
        for wire in (first, second, third, other):
            wire.close()
        assert eventually(lambda: not server.sessions)


def test_what_one_client_has_another_cannot_reach(path: Path) -> None:
    memory = memfd(24, content=floats(1, 2, 10, 20))
    with Server(path) as server, connect(path) as device:
        device.prepare(add_model())
        kept = device.prepare(add_model())
        (session,) = server.sessions.values()
        wire = Wire(path)
        wire.ask(Service.ATTACH, b"", 0, [memory])
        for number in [*session.models, *range(256, 300)]:
            assert wire.ask(ModelMethod.GET_INPUT_DIM_RANGES, b"", number)[0] == C.INVALID_PARAMETER
            assert wire.ask(Service.RELEASE_MODEL, struct.pack("<I", number))[0] == C.INVALID_PARAMETER
        assert (kept.predict([ONE, ONE])["out"] == 2).all()
        wire.close()
    os.close(memory)


# -- limits ------------------------------------------------------------------------------------------------------------


def test_connections_and_clients(path: Path) -> None:
    with Server(path, limits=Limits(connections_per_process=3, clients_per_user=2)):
        first, second = Wire(path), Wire(path)
        third = Wire(path, greet=False)
        assert third.ask(Service.HELLO, hello())[0] == C.DEVICE_BUSY
        assert third.closed()
        third = Wire(path, greet=False)
        fourth = Wire(path, greet=False)
        answer = fourth.answer()
        assert HEADER.unpack_from(answer)[5] == C.DEVICE_BUSY
        assert fourth.closed()
        for wire in (first, second, third):
            wire.close()


def limited(path: Path, **limits: Any) -> Server:
    return Server(path, limits=Limits(**limits))


def test_models(path: Path) -> None:
    with limited(path, models=2) as server, connect(path) as device:
        kept = [device.prepare(add_model()) for _ in range(2)]
        assert code_of(lambda: device.prepare(add_model())) == C.OUT_OF_MEMORY
        exported = kept[0].export_cache()
        assert code_of(lambda: device.prepare_from_cache(exported)) == C.OUT_OF_MEMORY
        del kept
        model = add_model()
        model.nodes[0].nodeType = 4711
        for _ in range(5):  # what failed does not count
            assert code_of(lambda: device.prepare(model)) == C.INVALID_NODE
        device.prepare(add_model())
        (session,) = server.sessions.values()
        assert eventually(lambda: session.models_budget.used <= 1)


def test_bytes_of_constants_which_may_all_be_the_same_memory(path: Path) -> None:
    count = 50
    weights = constant(np.ones(1000, np.float32))
    tensors = [Tensor("x", dims=[1000])]
    nodes = []
    for index in range(count):
        tensors += [Tensor("", dims=[1000], data=weights.data), Tensor(f"y{index}", dims=[1000])]
        nodes.append(Node("", AddFusion.node_type, AddFusion().to_bytes(), [2 * index, 2 * index + 1], [2 * index + 2]))
    model = Model("m", [0], [2 * count], nodes, tensors, [SubGraph("g", [0], [2 * count], list(range(count)))])
    with limited(path, model_bytes=100_000) as server, connect(path) as device:
        assert code_of(lambda: device.prepare(model)) == C.OUT_OF_MEMORY
        assert code_of(lambda: device.supported_operations(model)) == C.OUT_OF_MEMORY
        device.prepare(add_model())
        (session,) = server.sessions.values()
        assert session.model_bytes.used == 0


def test_descriptors_and_shared_bytes(path: Path) -> None:
    with limited(path, descriptors=4, shared_bytes=10_000) as server:
        wire, memory, large = Wire(path), memfd(4000), memfd(20_000)
        assert wire.ask(Service.ATTACH, b"", 0, [large])[0] == C.OUT_OF_MEMORY
        assert wire.ask(Service.ATTACH, b"", 0, [memory] * 3)[0] == 0
        assert wire.ask(Service.ATTACH, b"", 0, [memory] * 2)[0] == C.OUT_OF_MEMORY
        (session,) = server.sessions.values()
        assert session.descriptors.used == 3
        wire.close()
        assert eventually(lambda: session.descriptors.used == 0)
        os.close(memory)
        os.close(large)
        with connect(path) as device:
            prepared = device.prepare(add_model((1000,)))
            given = [io_tensor(np.ones(1000, np.float32)) for _ in range(2)]
            assert code_of(partial(prepared.run, given, [out_tensor((1000,))])) == C.OUT_OF_MEMORY


def test_memory_that_grows_after_it_was_attached(path: Path) -> None:
    with limited(path, shared_bytes=100_000), connect(path) as device:
        prepared = device.prepare(add_model((2,)))
        fd = memfd(24, content=floats(1, 2, 10, 20))
        tensors = [IOTensor("", DataType.FLOAT32, [2], Format.NHWC, SharedBuffer(fd, 24, 8 * i, 8)) for i in range(3)]
        prepared.run(tensors[:2], tensors[2:])
        assert os.pread(fd, 8, 16) == floats(11, 22)
        os.ftruncate(fd, 1 << 20)
        assert code_of(partial(prepared.run, tensors[:2], tensors[2:])) == C.OUT_OF_MEMORY
        os.close(fd)


def test_what_a_run_may_need_and_answer(path: Path) -> None:
    g = nnrt.GraphBuilder("outer")
    model = g.finish(g.AddFusion(g.input("x", [-1, 1]), g.input("y", [1, -1])))

    def given(size: int) -> list[Any]:
        return [np.ones((size, 1), np.float32), np.ones((1, size), np.float32)]

    with limited(path, answer_bytes=1 << 20), connect(path) as device:
        prepared = device.prepare(model)
        prepared.predict(given(500))
        assert code_of(lambda: prepared.predict(given(600))) == C.OUT_OF_MEMORY
        prepared.predict(given(500))
        again = device.prepare_from_cache(prepared.export_cache())
        assert code_of(lambda: again.predict(given(100_000))) == C.OUT_OF_MEMORY
    with limited(path, run_bytes=1 << 20), connect(path) as device:
        prepared = device.prepare(model)
        assert code_of(lambda: prepared.predict(given(600))) == C.OUT_OF_MEMORY
        fixed = nnrt.GraphBuilder("outer")
        fixed_model = fixed.finish(fixed.AddFusion(fixed.input("x", [20_000, 1]), fixed.input("y", [1, 20_000])))
        assert code_of(lambda: device.prepare(fixed_model)) == C.OUT_OF_MEMORY
        device.prepare(add_model())


def test_the_queue(path: Path) -> None:
    from pippin.nnrt.config import cores

    with limited(path, queue=1) as server, connect(path) as device:
        prepared = device.prepare(add_model())
        tensors = [io_tensor(ONE), io_tensor(ONE)], [out_tensor((3, 2, 2))]
        (gate,) = server.shared.gates
        for _ in range(cores()):
            gate.enter(0)
        waiting = threading.Thread(target=prepared.run, args=tensors)
        waiting.start()
        assert eventually(lambda: gate.waiting == 1)
        assert device.status.name == "BUSY"
        assert code_of(partial(prepared.run, *tensors)) == C.DEVICE_BUSY
        for _ in range(cores()):
            gate.leave()
        waiting.join()


# -- descriptors that lie ----------------------------------------------------------------------------------------------


def kinds(folder: Path) -> Iterator[tuple[str, int]]:
    (folder / "file").write_bytes(bytes(48))
    (folder / "x.sock").exists()
    left, right = socket.socketpair()
    reader, writer = os.pipe()
    yield "pipe", reader
    yield "pipe", writer
    yield "socket", os.dup(left.fileno())
    left.close()
    right.close()
    yield "folder", os.open(folder, os.O_RDONLY)
    yield "device", os.open("/dev/zero", os.O_RDWR)
    yield "file", os.open(folder / "file", os.O_RDWR)


def test_descriptors_of_the_wrong_kind(path: Path, tmp_path: Path) -> None:
    for files in (False, True):
        with Server(path, files=files) as server:
            wire = Wire(path)
            for name, fd in kinds(tmp_path):
                wanted = 0 if files and name == "file" else C.INVALID_BUFFER
                assert wire.ask(Service.ATTACH, b"", 0, [fd])[0] == wanted, name
                os.close(fd)
            (session,) = server.sessions.values()
            assert session.descriptors.used == int(files)
            wire.close()


def _run_body(number: int, size: int, offsets: tuple[int, int, int] = (0, 8, 16)) -> bytes:
    tensors = [IOTensor("", DataType.FLOAT32, [2], Format.NHWC, SharedBuffer(0, size, at, 8)) for at in offsets]
    return marshal.marshal_tensors(tensors[:2], tensors[2:], lambda _: (marshal.ATTACHED, number))


def _prepared(wire: Wire) -> int:
    from pippin.nnrt.parcel import ParcelWriter

    writer = ParcelWriter()
    writer.raw(marshal.marshal_model(add_model((2,)), lambda w, b: marshal.write_buffer(w, b, lambda _: (0, 0))))
    marshal.write_config(writer, ModelConfig())
    code, body = wire.ask(DeviceMethod.PREPARE_MODEL, writer.getvalue(), 1)
    assert code == 0
    return ParcelReader(body).uint32()


def test_memory_that_is_shorter_than_told(path: Path) -> None:
    with Server(path):
        wire = Wire(path)
        model, memory = _prepared(wire), memfd(24)
        (_, number) = struct.unpack("<II", wire.ask(Service.ATTACH, b"", 0, [memory])[1])
        for size, offsets in (
            (25, (0, 8, 16)),
            (1 << 30, (0, 8, 1 << 29)),
            (24, (0, 8, 20)),
            (24, (0, 0xFFFFFFF8, 16)),
        ):
            assert wire.ask(ModelMethod.RUN, _run_body(number, size, offsets), model)[0] == C.INVALID_PARAMETER
        assert wire.ask(ModelMethod.RUN, _run_body(number + 1, 24), model)[0] == C.INVALID_PARAMETER
        assert wire.ask(ModelMethod.RUN, _run_body(number, 24), model)[0] == 0
        with pytest.raises(PermissionError):  # sealed: what is mapped cannot be cut
            os.ftruncate(memory, 8)
        assert wire.ask(Service.DETACH, struct.pack("<II", 1, number))[0] == 0
        assert wire.ask(ModelMethod.RUN, _run_body(number, 24), model)[0] == C.INVALID_PARAMETER
        wire.close()
        os.close(memory)


def test_a_run_with_descriptors_of_its_own(path: Path) -> None:
    with Server(path) as server:
        wire, memory = Wire(path), memfd(24)
        model = _prepared(wire)
        assert wire.ask(ModelMethod.RUN, _run_body(0, 24), model, [memory])[0] == C.INVALID_PARAMETER
        (session,) = server.sessions.values()
        assert eventually(lambda: session.descriptors.used == 0)
        wire.close()
        os.close(memory)


@pytest.mark.parametrize("sealable", [False, True])
def test_memory_that_is_cut_while_it_is_used(path: Path, sealable: bool) -> None:
    """Memory that cannot be sealed is copied: cutting it is a code, not a signal."""
    flags = os.MFD_CLOEXEC | (os.MFD_ALLOW_SEALING if sealable else 0)
    with Server(path):
        wire = Wire(path)
        model = _prepared(wire)
        for _ in range(20):
            memory = memfd(24, content=floats(1, 2, 10, 20), flags=flags)
            (_, number) = struct.unpack("<II", wire.ask(Service.ATTACH, b"", 0, [memory])[1])
            body = _run_body(number, 24)
            assert wire.ask(ModelMethod.RUN, body, model)[0] == 0
            assert os.pread(memory, 8, 16) == floats(11, 22)
            wire.send(frame(ModelMethod.RUN, body, model))
            try:
                os.ftruncate(memory, 4)
            except PermissionError:
                assert sealable
            assert HEADER.unpack_from(wire.answer())[5] in (0, C.INVALID_PARAMETER)
            assert wire.ask(ModelMethod.RUN, body, model)[0] == (0 if sealable else C.INVALID_PARAMETER)
            assert wire.ask(Service.DETACH, struct.pack("<II", 1, number))[0] == 0
            os.close(memory)
        wire.close()


def test_caches_that_change_after_they_were_checked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes that are checked are those that are used."""
    with Server(path) as server, connect(path) as device:
        exported = device.prepare(add_model()).export_cache()[0]
        sound = server.store.opened

        def scribbling(content: memoryview) -> memoryview:
            found = sound(content)
            exported.owner.array[:] = 0xFF
            return found

        monkeypatch.setattr(server.store, "opened", scribbling)
        prepared = device.prepare_from_cache([exported])
        assert (exported.owner.array == 0xFF).all()
        assert (prepared.predict([ONE, ONE])["out"] == 2).all()
        assert code_of(lambda: device.prepare_from_cache([exported])) == C.INVALID_MODEL_CACHE


def test_constants_that_change_after_they_were_checked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody plants a model under the digest of another."""
    weights = constant(np.full(2, 1, np.float32))
    model = one_node(AddFusion(), [Tensor("x", dims=[2]), weights], [Tensor("y", dims=[2])])
    from pippin.nnrt.service import methods

    sound = methods.check_model

    def scribbling(*arguments: Any) -> Any:
        found = sound(*arguments)
        weights.data.owner.array[:] = 0
        return found

    monkeypatch.setattr(methods, "check_model", scribbling)
    with Server(path), connect(path) as device:
        assert device.prepare(model).predict([np.zeros(2)])["y"].tolist() == [1, 1]


# -- clients that stall or flood ---------------------------------------------------------------------------------------


def test_who_stalls_is_closed_and_nobody_waits_for_it(path: Path) -> None:
    with limited(path, stall_seconds=0.3) as server, connect(path) as device:
        prepared = device.prepare(add_model())
        header, body = Wire(path), Wire(path)
        header.send(frame(Service.STATUS, bytes(4))[:10])
        body.send(frame(Service.STATUS, bytes(4))[:26])
        reader = Wire(path)
        reader.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        threading.Thread(target=_flood, args=(reader.sock,), daemon=True).start()
        start = time.monotonic()
        for _ in range(100):
            prepared.predict([ONE, ONE])
        assert time.monotonic() - start < 30
        assert eventually(lambda: server.metrics.value("broken_total", (("reason", "stalled"),)) >= 3)
        header.close()
        body.close()
        reader.close()
        assert eventually(lambda: len(server.lanes) == 1)


def _flood(sock: socket.socket) -> None:
    """Asks and never reads."""
    request = frame(Service.STATUS, struct.pack("<I", 1))
    try:
        while True:
            sock.sendall(request)
    except OSError:
        pass


def test_who_says_nothing_is_closed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pippin.nnrt.service import lane

    monkeypatch.setattr(lane, "HELLO_SECONDS", 0.2)
    with Server(path):
        assert Wire(path, greet=False).closed()


def test_a_flood_of_connections(path: Path) -> None:
    with limited(path, connections_per_process=20) as server:
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        with connect(path) as device:
            prepared = device.prepare(add_model())
            wires = [Wire(path, greet=False) for _ in range(200)]
            assert (prepared.predict([ONE, ONE])["out"] == 2).all()
            assert len(server.lanes) <= 20
            for wire in wires:
                wire.close()
            assert eventually(lambda: len(server.lanes) == 1)
            assert (prepared.predict([ONE, ONE])["out"] == 2).all()
            del prepared
        assert eventually(lambda: not server.lanes)
        assert eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)  # noqa: PTH208


def test_a_client_that_goes_while_its_run_goes_on(path: Path) -> None:
    with Server(path) as server:
        device = connect(path)
        prepared, inputs, outputs, _ = long_run(device)
        body = marshal.marshal_tensors(inputs, outputs, device.connection.placer(device.connection._idle[0]))
        lane = device.connection._take()
        lane.sock.sendall(frame(ModelMethod.RUN, body, prepared._object))
        assert eventually(lambda: any(lane._current is not None for lane in server._all()))
        start = time.monotonic()
        lane.sock.close()
        device.close()
        assert eventually(lambda: not server.lanes and not server.sessions)
        assert time.monotonic() - start < 8
        assert server.metrics.value("requests_total", (("method", "Run"), ("code", "CANCELLED"))) == 1


def test_a_remote_device_is_one(path: Path) -> None:
    """What harms nobody: the tests above would pass with a service that does nothing at all."""
    with Server(path), connect(path) as device:
        assert isinstance(device, RemoteDevice)
        x = one_node(AddFusion(), [Tensor("x", dims=[2]), constant(floats_array(1, 2))], [Tensor("y", dims=[2])])
        assert device.prepare(x).predict([[1, 1]])["y"].tolist() == [2, 3]


def floats_array(*numbers: float) -> Any:
    return np.array(numbers, np.float32)


def test_where_no_further_connection_is_to_be_had_calls_wait_for_one(path: Path) -> None:
    with limited(path, connections_per_process=2), connect(path) as device:
        prepared = device.prepare(add_model())
        failed: list[Exception] = []

        def work() -> None:
            try:
                for _ in range(5):
                    assert (prepared.predict([ONE, ONE])["out"] == 2).all()
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
