"""A bare client of the NNRt service for tests: sends bytes, says what comes back."""

from __future__ import annotations

import array
import os
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path

from pippin.nnrt.parcel import ParcelWriter
from pippin.nnrt.service.protocol import HEADER, MAGIC, VERSION, Service


def hello(token: bytes = b"", version: int = VERSION, magic: bytes = MAGIC) -> bytes:
    """The body of a Hello."""
    writer = ParcelWriter()
    writer.raw(magic)
    writer.uint32(version)
    writer.blob(token)
    return writer.getvalue()


def frame(method: int, body: bytes = b"", object: int = 0, call: int = 1, word: int = 0, count: int = 0) -> bytes:
    """A frame; ``count`` is how many descriptors its header tells of."""
    return HEADER.pack(len(body), method, count, call, object, word) + body


class Wire:
    """A connection; ``greet`` says Hello first."""

    def __init__(self, path: str | Path, *, greet: bool = True) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(20)
        while True:
            try:
                self.sock.connect(str(path))
                break
            except BlockingIOError:  # as many as may wait do wait
                time.sleep(0.01)
        if greet:
            code, _ = self.ask(Service.HELLO, hello())
            assert code == 0

    def send(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        """Bytes with descriptors beside them."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        sent = self.sock.sendmsg([data], rights)
        if sent < len(data):
            self.sock.sendall(data[sent:])

    def read(self, size: int) -> bytes:
        """So many bytes, fewer if the other side closed."""
        data = b""
        while len(data) < size:
            try:
                piece = self.sock.recv(size - len(data))
            except ConnectionError:
                break
            if not piece:
                break
            data += piece
        return data

    def answer(self) -> bytes:
        """A whole frame; empty if the other side closed."""
        head = self.read(HEADER.size)
        return head + self.read(HEADER.unpack(head)[0]) if len(head) == HEADER.size else b""

    def ask(
        self, method: int, body: bytes = b"", object: int = 0, descriptors: Sequence[int] = (), call: int = 1
    ) -> tuple[int, bytes]:
        """Return code and body of the answer; -1 if the connection was closed instead."""
        try:
            self.send(frame(method, body, object, call, count=len(descriptors)), descriptors)
        except ConnectionError:
            return -1, b""
        answer = self.answer()
        if not answer:
            return -1, b""
        return HEADER.unpack_from(answer)[5], answer[HEADER.size :]

    def closed(self, seconds: float = 10.0) -> bool:
        """Whether the other side closes the connection within so many seconds."""
        self.sock.settimeout(seconds)
        try:
            return self.read(1) == b""
        except TimeoutError:
            return False
        finally:
            self.close()

    def close(self) -> None:
        """Ends it."""
        self.sock.close()


def memfd(size: int, *, content: bytes = b"", flags: int = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING) -> int:
    """Memory of so many bytes."""
    fd = os.memfd_create("test", flags)
    os.ftruncate(fd, size)
    os.pwrite(fd, content, 0)
    return fd


def eventually(check: object, seconds: float = 10.0) -> bool:
    """Whether something becomes true."""
    assert callable(check)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(0.01)
    return False


def floats(*values: float) -> bytes:
    """float32 numbers."""
    return struct.pack(f"<{len(values)}f", *values)
