"""The bytes on the socket: those of the page, frames in pieces, and frames that nobody should send."""

from __future__ import annotations

import os
import random
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("the NNRt service needs Linux", allow_module_level=True)

from nnrt_wire import Wire, eventually, floats, frame, hello, memfd
from pippin.nnrt.enums import ReturnCode as C
from pippin.nnrt.service import protocol, session
from pippin.nnrt.service.client import connect
from pippin.nnrt.service.limits import Limits
from pippin.nnrt.service.protocol import HEADER, DeviceMethod, ModelMethod, ProtocolError, Service, Stalled
from pippin.nnrt.service.server import Server

PAGE = Path(__file__).resolve().parents[1] / "docs/reference/nnrt-protocol.md"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("service") / "s"
    with Server(place, limits=Limits(stall_seconds=0.5, connections_per_process=400)):
        yield place


def examples() -> list[tuple[str, bytes, list[int | None]]]:
    """Name, request and answer of each example of the page, in the order of their call numbers."""
    found = []
    for block in re.findall(r"```hex\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S):
        parts = re.split(r"^[<>] (.*)$", block, flags=re.M)
        (_, name, asked, _, answered) = parts
        octets = [
            [None if word == ".." else int(word, 16) for line in text.strip().splitlines() for word in line.split()[1:]]
            for text in (asked, answered)
        ]
        found.append((name, bytes(byte or 0 for byte in octets[0]), octets[1]))
    return sorted(found, key=lambda row: HEADER.unpack_from(row[1])[3])


def test_the_examples_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.secrets, "token_bytes", lambda count: bytes(range(count)))
    memory = memfd(24, content=floats(1, 2, 10, 20))
    rows = examples()
    assert len(rows) == 8
    with Server(tmp_path / "s") as server:
        wire = Wire(server.path, greet=False)
        for name, asked, answered in rows:
            wire.send(asked, [memory] if "descriptor" in name else [])
            got = wire.answer()
            assert len(got) == len(answered), name
            assert all(want in (None, have) for want, have in zip(answered, got, strict=True)), (name, got.hex(" "))
        wire.close()
    assert os.pread(memory, 8, 16) == floats(11, 22)
    os.close(memory)


def test_the_page_tells_of_all_methods() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for methods in (Service, DeviceMethod, ModelMethod):
        for method in methods:
            name = "".join(word.capitalize() for word in method.name.split("_"))
            assert f"| {int(method)} {name} |" in text, name
    for number, limit in ((protocol.MAX_FRAME >> 20, "MiB by default"), (protocol.MAX_DESCRIPTORS, "")):
        assert f"{number} {limit}".strip() in text
    assert f"version {protocol.VERSION}." in text


# -- frames ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    yield left, right
    left.close()
    right.close()


Pair = tuple[socket.socket, socket.socket]


def test_frames_arrive_as_they_were_sent(pair: Pair) -> None:
    left, right = pair
    fds = [memfd(1), memfd(2)]
    for body, descriptors in ((b"", []), (b"abc", []), (b"", fds), (bytes(100_000), fds)):
        sender = threading.Thread(target=protocol.send, args=(left, 3, 7, 256, 9, body, descriptors))
        sender.start()
        got = protocol.receive(right)
        sender.join()
        assert got is not None
        assert (got.method, got.call, got.object, got.word, got.body) == (3, 7, 256, 9, body)
        assert [os.fstat(fd).st_size for fd in got.descriptors] == [os.fstat(fd).st_size for fd in descriptors]
        assert not any(os.get_inheritable(fd) for fd in got.descriptors)
        protocol.close_all(got.descriptors)
    left.close()
    assert protocol.receive(right) is None


def test_a_frame_in_pieces(pair: Pair) -> None:
    left, right = pair
    data = frame(5, b"hello")

    def drip() -> None:
        for byte in data:
            left.send(bytes([byte]))
            time.sleep(0.001)

    threading.Thread(target=drip).start()
    got = protocol.receive(right)
    assert got is not None
    assert got.body == b"hello"


@pytest.mark.parametrize("size", [1, 10, 23, 24, 30])
def test_a_frame_that_ends_too_early(pair: Pair, size: int) -> None:
    left, right = pair
    left.send(frame(5, b"hello, world")[:size])
    left.close()
    with pytest.raises(ProtocolError, match="within a frame"):
        protocol.receive(right)


def test_a_frame_that_stops(pair: Pair) -> None:
    left, right = pair
    protocol.set_timeout(right, socket.SO_RCVTIMEO, 0.05)
    left.send(frame(5, b"hello, world")[:30])
    with pytest.raises(Stalled):
        protocol.receive(right, stall=0.1)
    with pytest.raises(BlockingIOError):
        protocol.receive(right)


def test_descriptors_are_counted_and_none_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    fds = [memfd(1) for _ in range(70)]
    for told, sent, limit in ((0, 1, 100), (2, 1, 100), (70, 70, 100), (1, 1, 2)):
        left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        Wire.send(type("W", (), {"sock": left})(), frame(2, b"body", count=told), fds[:sent])  # type: ignore[arg-type]
        with pytest.raises(ProtocolError):
            protocol.receive(right, limit)
        left.close()
        right.close()
    protocol.close_all(fds)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


# -- what the service does with frames that nobody should send ---------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (frame(Service.HELLO, hello(version=2)), C.NOT_SUPPORT),
        (frame(Service.HELLO, hello(magic=b"PIPNNRTX")), None),
        (frame(Service.STATUS, bytes(4)), None),
        (frame(Service.HELLO, b""), None),
        (frame(Service.HELLO, hello() + bytes(100)), None),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", None),
        (HEADER.pack(1 << 31, 1, 0, 0, 0, 0), None),
    ],
)
def test_a_first_frame_that_is_no_hello(path: Path, first: bytes, code: C | None) -> None:
    wire = Wire(path, greet=False)
    wire.send(first)
    answer = wire.answer()
    assert (HEADER.unpack_from(answer)[5] if answer else None) == code
    assert wire.closed()
    wire.close()


def test_a_body_beyond_the_limit(path: Path) -> None:
    wire = Wire(path)
    wire.send(HEADER.pack(protocol.MAX_FRAME + 1, Service.ATTACH, 0, 1, 0, 0))
    assert wire.closed()


def test_methods_and_objects_that_there_are_not(path: Path) -> None:
    wire = Wire(path)
    for object, method in ((0, 99), (1, 99), (256, 99), (0, 0x8001), (0, Service.HELLO)):
        assert wire.ask(method, b"", object)[0] == C.NOT_SUPPORT
    assert wire.ask(DeviceMethod.GET_DEVICE_NAME, b"", 200)[0] == C.INVALID_PARAMETER
    assert wire.ask(ModelMethod.RUN, b"", 256)[0] == C.INVALID_PARAMETER
    assert wire.ask(Service.DETACH, struct.pack("<II", 1, 77))[0] == C.INVALID_BUFFER
    assert wire.ask(Service.RELEASE_MODEL, struct.pack("<I", 77))[0] == C.INVALID_PARAMETER
    assert wire.ask(Service.CANCEL, b"")[0] == C.INVALID_PARAMETER
    assert wire.ask(DeviceMethod.GET_VERSION, b"", 1) == (0, struct.pack("<II", 2, 1))
    wire.close()


def _mutated(rng: random.Random, seed: bytes) -> bytes:
    data = bytearray(seed)
    for _ in range(rng.randrange(1, 6)):
        kind, place = rng.randrange(4), rng.randrange(len(data) + 1)
        if kind == 0 and place < len(data):
            data[place] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif kind == 1:
            del data[place : place + rng.randrange(1, 9)]
        elif kind == 2:
            data[place:place] = rng.randbytes(rng.randrange(1, 9))
        elif place + 4 <= len(data):
            data[place : place + 4] = rng.choice((b"\xff" * 4, bytes(4), b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80"))
    return bytes(data)


def fuzz(path: Path, seconds: float, seed: int) -> int:
    """Frames with good headers and bodies that are broken, and bytes at random; how many frames were answered."""
    rng = random.Random(seed)
    bodies = {name: (HEADER.unpack_from(asked), asked[HEADER.size :]) for name, asked, _ in examples()}
    methods = [(0, m) for m in Service] + [(1, m) for m in DeviceMethod] + [(257, m) for m in ModelMethod]
    memory = memfd(24, content=floats(1, 2, 10, 20))
    deadline, answered = time.monotonic() + seconds, 0
    while time.monotonic() < deadline:
        wire = Wire(path)
        wire.ask(Service.ATTACH, b"", 0, [memory])
        (_, _, _, _, object, _), body = bodies["PrepareModel"]
        wire.ask(DeviceMethod.PREPARE_MODEL, body, object)
        for _ in range(rng.randrange(1, 60)):
            (_, method, _, _, object, _), body = rng.choice(list(bodies.values()))
            choice = rng.random()
            if choice < 0.75:
                body = _mutated(rng, body)
            elif choice < 0.95:
                (object, method), body = rng.choice(methods), rng.randbytes(rng.randrange(64))
            else:
                wire.send(rng.randbytes(rng.randrange(1, 200)))
                break
            code, _ = wire.ask(method, body, object, [memory] * (rng.random() < 0.2))
            if code == -1:
                break
            assert code in C._value2member_map_
            assert code != C.SERVICE_ERROR, (method, object, body.hex())
            answered += 1
        wire.close()
    os.close(memory)
    return answered


def test_fuzz(path: Path) -> None:
    """A short form; NNRT_FUZZ_SECONDS and NNRT_FUZZ_SEED make it longer and another."""
    seconds = float(os.environ.get("NNRT_FUZZ_SECONDS", "4"))
    answered = fuzz(path, seconds, int(os.environ.get("NNRT_FUZZ_SEED", "1")))
    assert answered > 20
    with connect(path) as device:
        assert device.name
    state = Wire(path)
    assert eventually(lambda: b'"connections": 1,' in state.ask(Service.STATUS, bytes(4))[1])
    state.close()
