"""What goes over the socket: frames of a header, a body, and descriptors beside it.

=======  ====  ==============  ============================================================================
offset   size  field           content, little-endian
=======  ====  ==============  ============================================================================
0        4     length          bytes of the body, at most what the service's limits say
4        2     method          what is asked; in an answer the same with the highest bit set
6        2     descriptors     how many descriptors came with the frame's first byte
8        8     call            a number of the client's choice, the same in the answer
16       4     object          0 the service, 1 to 255 a device, from 256 on a prepared model
20       4     word            asked: milliseconds to answer in, 0 for no limit; answered: the return code
24       …     body            values by the rules of :mod:`pippin.nnrt.parcel`
=======  ====  ==============  ============================================================================

The page ``docs/reference/nnrt-protocol.md`` has every method with examples.
"""

from __future__ import annotations

import array
import os
import socket
import struct
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum

from ...errors import DeviceError

MAGIC = b"PIPNNRTS"
VERSION = 1
HEADER = struct.Struct("<IHHQII")
ANSWER = 0x8000
MAX_FRAME = 16 << 20
"""Most bytes of a body that any side takes."""
MAX_DESCRIPTORS = 64
"""Most descriptors of a frame."""
FIRST_MODEL = 256
NO_DESCRIPTOR = 0xFFFFFFFF
"""Stands for a descriptor that the caller named, but that is no open memory."""

SUPPORTED = sys.platform == "linux"
_ROOM = socket.CMSG_SPACE(MAX_DESCRIPTORS * 4) if SUPPORTED else 0
_WHOLE = socket.MSG_WAITALL if SUPPORTED else 0
_FLAGS = _WHOLE | getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class Service(IntEnum):
    """Methods of object 0."""

    HELLO = 1
    ATTACH = 2
    DETACH = 3
    CANCEL = 4
    RELEASE_MODEL = 5
    STATUS = 6


class DeviceMethod(IntEnum):
    """Methods of a device, numbered in the order of the interface."""

    GET_VERSION = 0
    GET_DEVICE_NAME = 1
    GET_VENDOR_NAME = 2
    GET_DEVICE_TYPE = 3
    GET_DEVICE_STATUS = 4
    GET_SUPPORTED_OPERATION = 5
    IS_FLOAT16_PRECISION_SUPPORTED = 6
    IS_PERFORMANCE_MODE_SUPPORTED = 7
    IS_PRIORITY_SUPPORTED = 8
    IS_DYNAMIC_INPUT_SUPPORTED = 9
    PREPARE_MODEL = 10
    IS_MODEL_CACHE_SUPPORTED = 11
    PREPARE_MODEL_FROM_MODEL_CACHE = 12
    PREPARE_OFFLINE_MODEL = 13
    ALLOCATE_BUFFER = 14
    RELEASE_BUFFER = 15


class ModelMethod(IntEnum):
    """Methods of a prepared model, numbered in the order of the interface."""

    GET_VERSION = 0
    EXPORT_MODEL_CACHE = 1
    GET_INPUT_DIM_RANGES = 2
    RUN = 3


class ProtocolError(DeviceError):
    """The other side broke the protocol: the connection is of no more use."""


class Stalled(ProtocolError):
    """The other side began a frame and did not go on, or does not read."""


@dataclass
class Frame:
    """A frame as it came; the descriptors are open and belong to whoever takes the frame."""

    method: int
    call: int
    object: int
    word: int
    body: bytes = b""
    descriptors: list[int] = field(default_factory=list)


def require_linux() -> None:
    """DeviceError where there are no memfds that can be sealed and passed on."""
    if not SUPPORTED:
        raise DeviceError(
            f"the NNRt service needs Linux (sealed shared memory, descriptors over sockets), this is {sys.platform}",
            hint="pippin.nnrt.devices() offers the same devices inside the process",
        )


def set_timeout(sock: socket.socket, option: int, seconds: float) -> None:
    """A limit of the kernel's for blocking calls; unlike ``settimeout`` it costs no call of its own."""
    whole = int(seconds)
    sock.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", whole, int((seconds - whole) * 1e6)))


def close_all(descriptors: Iterable[int]) -> None:
    """Closes descriptors."""
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)


def send(
    sock: socket.socket,
    method: int,
    call: int,
    object: int,
    word: int,
    body: bytes = b"",
    descriptors: Sequence[int] = (),
    *,
    stall: float = 10.0,
) -> None:
    """Sends a frame.  Stalled if the other side does not read it within ``stall`` seconds; OSError if it is gone."""
    data = HEADER.pack(len(body), method, len(descriptors), call, object, word) + body
    if descriptors:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        sent = sock.sendmsg([data], rights)
    else:
        sent = sock.send(data)
    if sent == len(data):
        return
    view, deadline = memoryview(data), time.monotonic() + stall
    while sent < len(data):
        if time.monotonic() > deadline:
            raise Stalled(f"{len(data) - sent} bytes of a frame were not read within {stall:g} s")
        try:
            sent += sock.send(view[sent:])
        except BlockingIOError:
            continue


def receive(sock: socket.socket, limit: int = MAX_FRAME, *, stall: float = 10.0) -> Frame | None:
    """The next frame; None if the other side closed the connection between frames.

    BlockingIOError if nothing came within the socket's own limit, Stalled if a frame was begun and did not come to its
    end within ``stall`` seconds, ProtocolError for a frame that cannot be, OSError if the connection broke.
    """
    head, messages, flags, _ = sock.recvmsg(HEADER.size, _ROOM, _FLAGS)
    if not messages and len(head) == HEADER.size:
        length, method, count, call, object, word = HEADER.unpack(head)
        if not count and not flags & socket.MSG_CTRUNC:
            if not length:
                return Frame(method, call, object, word)
            if length <= limit:
                return Frame(method, call, object, word, _rest(sock, b"", length, stall))
    descriptors = _descriptors(messages)
    try:
        if not head:
            return None
        if flags & socket.MSG_CTRUNC:
            raise ProtocolError(f"a frame carries at most {MAX_DESCRIPTORS} descriptors, or there are none left here")
        if len(head) < HEADER.size:
            head = _rest(sock, head, HEADER.size, stall)
        length, method, count, call, object, word = HEADER.unpack(head)
        if length > limit:
            raise ProtocolError(f"a body has at most {limit} bytes, got {length}")
        if count != len(descriptors):
            raise ProtocolError(f"the header tells of {count} descriptors, {len(descriptors)} came")
        body = _rest(sock, b"", length, stall)
        return Frame(method, call, object, word, body, descriptors)
    except BaseException:
        close_all(descriptors)
        raise


def _rest(sock: socket.socket, data: bytes, length: int, stall: float) -> bytes:
    """``data`` and what follows it, ``length`` bytes in all."""
    if length == len(data):
        return data
    if not data:
        with suppress(BlockingIOError):
            data = sock.recv(length, _WHOLE)
            if len(data) == length:
                return data
            if not data:
                raise ProtocolError(f"the connection ended within a frame, {length} bytes were to come")
    pieces, have, deadline = [data], len(data), time.monotonic() + stall
    while have < length:
        if time.monotonic() > deadline:
            raise Stalled(f"{length - have} bytes of a frame did not come within {stall:g} s")
        try:
            piece = sock.recv(min(length - have, 1 << 20))
        except BlockingIOError:
            continue
        if not piece:
            raise ProtocolError(f"the connection ended within a frame, {length - have} bytes were to come")
        pieces.append(piece)
        have += len(piece)
    return b"".join(pieces)


def _descriptors(messages: Iterable[tuple[int, int, bytes]]) -> list[int]:
    found: list[int] = []
    for level, kind, data in messages:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers = array.array("i")
            numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
            found += numbers
    return found
