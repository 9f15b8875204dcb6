"""A client's connections to the service: as many as it has calls at a time, made anew after a restart."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import stat
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import DeviceError, ReadError
from ..enums import ReturnCode as C
from ..errors import NnrtError
from ..parcel import ParcelReader, ParcelWriter
from ..types import SharedBuffer
from . import marshal
from .protocol import (
    ANSWER,
    MAGIC,
    NO_DESCRIPTOR,
    VERSION,
    Frame,
    ProtocolError,
    Service,
    close_all,
    receive,
    require_linux,
    send,
    set_timeout,
)

CONNECT_SECONDS = 5.0
"""How long a service that was there may be away, say for a restart, before calls fail."""
_PATIENCE = 600.0
"""For an answer to a call without a limit; the service has limits of its own."""
_GRACE = 5.0
"""Beyond a call's limit, so that the service can say so itself."""


class Lost(NnrtError):
    """The connection broke, or the service forgot this client: the call may be made again."""

    def __init__(self, reason: str, asked: bool = True) -> None:
        """``asked``: whether the service may have begun with the call."""
        super().__init__(C.SERVICE_ERROR, reason, hint="is `pippin nnrt serve` running?")
        self.asked = asked


@dataclass
class Lane:
    """One connection, used by one thread at a time; ``epoch`` counts the sessions of this client."""

    sock: socket.socket
    epoch: int


@dataclass
class _Region:
    number: int
    key: tuple[int, int, int]
    alive: Any


class Connection:
    """A client of the service at ``path``; safe for threads, and in a child after a fork it connects anew."""

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = CONNECT_SECONDS) -> None:
        require_linux()
        self.path = Path(path)
        self.patience = timeout
        self.epoch = 0
        self.devices = 0
        self._token = b""
        self._process = os.getpid()
        self._numbers = itertools.count(1)
        self._idle: list[Lane] = []
        self._lock = threading.RLock()
        self._room = threading.BoundedSemaphore(1)
        self._regions: OrderedDict[int, _Region] = OrderedDict()
        self._stale: list[tuple[int, int, int]] = []
        self._attaching = threading.Lock()
        self._closed = False
        weakref.finalize(self, _close, self._idle)
        lane = self._dial()
        self._room = threading.BoundedSemaphore(max(1, self._requests - 1))  # one is left for Cancel
        self._idle.append(lane)

    def close(self) -> None:
        """Ends all connections; the service lets go of everything that this client had there."""
        self._closed = True
        with self._lock:
            _close(self._idle)

    # -- calls -------------------------------------------------------------------------------------------------------

    def call(
        self,
        object: int,
        method: int,
        body: bytes = b"",
        descriptors: Sequence[int] = (),
        *,
        timeout: float | None = None,
    ) -> bytes:
        """The body of the answer; made again once where the connection broke.  NnrtError with the code otherwise.

        Only for calls that mean the same in another session: those of the service and of devices, without attached
        memory in them.
        """
        return self.again(lambda lane: self.exchange(lane, object, method, body, descriptors, timeout=timeout))

    def again(self, use: Callable[[Lane], Any]) -> Any:
        """``use`` with a connection, and with another one as long as they break and ``patience`` lasts."""
        deadline = time.monotonic() + self.patience
        while True:
            lane = self._take()
            try:
                if self._stale:
                    self._flush(lane)
                result = use(lane)
            except Lost:
                self._drop(lane)
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
                continue
            except NnrtError:
                self._give(lane)
                raise
            except BaseException:
                self._drop(lane)  # interrupted: an answer may be under way
                raise
            self._give(lane)
            return result

    def exchange(
        self, lane: Lane, object: int, method: int, body: bytes, descriptors: Sequence[int] = (), *,
        timeout: float | None = None, number: int | None = None,
    ) -> bytes:  # fmt: skip
        """Asks and waits on one connection.  Lost if it breaks, NnrtError for a code that is not SUCCESS."""
        if number is None:
            number = next(self._numbers)
        asked = False
        word = 0 if timeout is None else max(1, min(int(timeout * 1000), 0xFFFFFFFF))
        try:
            send(lane.sock, method, number, object, word, body, descriptors)
            asked = True
            if timeout is None:
                answer = receive(lane.sock)
            else:
                set_timeout(lane.sock, socket.SO_RCVTIMEO, timeout + _GRACE)
                answer = receive(lane.sock)
                set_timeout(lane.sock, socket.SO_RCVTIMEO, _PATIENCE)
        except BlockingIOError:
            with contextlib.suppress(OSError):
                lane.sock.shutdown(socket.SHUT_RDWR)
            raise NnrtError(C.TIME_OUT, "the service did not answer in time") from None
        except (OSError, ProtocolError) as error:
            raise Lost(f"the service at {self.path} is gone: {error}", asked) from None
        if answer is None:
            raise Lost(f"the service at {self.path} closed the connection")
        if answer.descriptors:
            close_all(answer.descriptors)
        if answer.call != number or answer.method != method | ANSWER:
            raise Lost(f"the service at {self.path} answered something that was not asked")
        if answer.word:
            raise marshal.read_error(answer.word, answer.body)
        return answer.body

    def cancel(self, number: int) -> bool:
        """Stops a call that another thread waits for; whether the service has it under way."""
        writer = ParcelWriter()
        writer.long(number)
        with contextlib.suppress(DeviceError, OSError):
            lane = self._hello(new=False)
            try:
                answer = self.exchange(lane, 0, Service.CANCEL, writer.getvalue(), timeout=_GRACE)
                return ParcelReader(answer).boolean()
            finally:
                lane.sock.close()
        return False

    def number(self) -> int:
        """A new number for a call."""
        return next(self._numbers)

    # -- connections -------------------------------------------------------------------------------------------------

    def _take(self) -> Lane:
        if self._closed:
            raise NnrtError(C.OPERATION_FORBIDDEN, "the connection was closed")
        if self._process != os.getpid():
            self._forked()
        self._room.acquire()
        deadline = time.monotonic() + self.patience
        try:
            while True:
                with self._lock:
                    if self._idle:
                        return self._idle.pop()
                try:
                    return self._dial()
                except NnrtError as error:  # where there may be no further connection, one of ours comes free
                    if error.code is not C.DEVICE_BUSY or time.monotonic() > deadline:
                        raise
                time.sleep(0.01)
        except BaseException:
            self._room.release()
            raise

    def _give(self, lane: Lane) -> None:
        with self._lock:
            keep = lane.epoch == self.epoch and not self._closed and self._process == os.getpid()
            if keep:
                self._idle.append(lane)
        if not keep:
            lane.sock.close()
        self._room.release()

    def _drop(self, lane: Lane) -> None:
        lane.sock.close()
        with self._lock:
            _close(self._idle)  # its neighbours broke with it, as a rule
        self._room.release()

    def _forked(self) -> None:
        """The parent's connections stay the parent's."""
        self._lock, self._attaching = threading.RLock(), threading.Lock()
        _close(self._idle)
        self._token, self._process = b"", os.getpid()
        self._room = threading.BoundedSemaphore(max(1, self._requests - 1))

    def _dial(self) -> Lane:
        deadline = time.monotonic() + (self.patience if self._token else 0.0)
        pause = 0.01
        while True:
            try:
                return self._hello(new=True)
            except (OSError, Lost) as error:
                if time.monotonic() > deadline:
                    if isinstance(error, Lost):
                        raise
                    raise NnrtError(
                        C.SERVICE_ERROR,
                        f"no service at {self.path}: {error.strerror or error}",
                        hint="start one with `pippin nnrt serve`",
                    ) from None
            time.sleep(pause)
            pause = min(2 * pause, 0.25)

    def _hello(self, *, new: bool) -> Lane:
        with self._lock:
            token = self._token
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            set_timeout(sock, socket.SO_RCVTIMEO, _GRACE)
            set_timeout(sock, socket.SO_SNDTIMEO, _GRACE)
            sock.connect(str(self.path))
            writer = ParcelWriter()
            writer.raw(MAGIC)
            writer.uint32(VERSION)
            writer.blob(token)
            with contextlib.suppress(BrokenPipeError):  # refused: the reason may stand there to be read
                send(sock, Service.HELLO, 0, 0, 0, writer.getvalue())
            try:
                answer = receive(sock)
            except (BlockingIOError, ProtocolError):
                answer = None
            if answer is None:
                raise Lost(f"the service at {self.path} does not answer")
            if answer.word:
                raise marshal.read_error(answer.word, answer.body)
            return self._welcome(sock, answer, token, new)
        except BaseException:
            sock.close()
            raise

    def _welcome(self, sock: socket.socket, answer: Frame, token: bytes, new: bool) -> Lane:
        reader = ParcelReader(answer.body)
        try:
            version, mine = reader.uint32(), reader.blob()
            devices, requests, _, _, descriptors = (reader.uint32() for _ in range(5))
        except ReadError as error:
            raise DeviceError(f"what answers is no NNRt service: {error}", where=str(self.path)) from None
        if version != VERSION:
            raise NnrtError(C.NOT_SUPPORT, f"the service speaks version {version} of the protocol, not {VERSION}")
        set_timeout(sock, socket.SO_RCVTIMEO, _PATIENCE)
        with self._lock:
            if mine != self._token:
                if not new or self._token != token:  # another thread came first: join its session
                    raise Lost("the service began a new session")
                self.epoch += 1
                self._token = mine
                self._regions.clear()
                self._stale.clear()
            self.devices, self._requests, self._kept = devices, requests, descriptors * 3 // 4
            return Lane(sock, self.epoch)

    # -- memory ------------------------------------------------------------------------------------------------------

    def placer(self, lane: Lane) -> Callable[[SharedBuffer], tuple[int, int]]:
        """Tells where buffers are for the service: their memory is attached at the first sight of it and stays so."""

        def place(buffer: SharedBuffer) -> tuple[int, int]:
            fd = buffer.fd
            if fd == -1:
                return marshal.NONE, 0
            try:
                status = os.fstat(fd)
            except (OSError, OverflowError, TypeError):
                return marshal.FRAME, NO_DESCRIPTOR
            key = (status.st_dev, status.st_ino, status.st_size)
            known = self._regions.get(fd)
            if known is not None and known.key == key and lane.epoch == self.epoch:
                with contextlib.suppress(KeyError):
                    self._regions.move_to_end(fd)
                return marshal.ATTACHED, known.number
            if not stat.S_ISREG(status.st_mode):  # no memory: it is not even sent
                return marshal.FRAME, NO_DESCRIPTOR
            with self._attaching:
                known = self._regions.get(fd)
                if known is None or known.key != key or lane.epoch != self.epoch:
                    return marshal.ATTACHED, self._attach(lane, buffer, key)
                return marshal.ATTACHED, known.number

        return place

    def _attach(self, lane: Lane, buffer: SharedBuffer, key: tuple[int, int, int]) -> int:
        numbers = ParcelReader(self.exchange(lane, 0, Service.ATTACH, b"", [buffer.fd])).array("I")
        self.know(lane, buffer.fd, int(numbers[0]), key, buffer.owner)
        self._flush(lane)
        return int(numbers[0])

    def know(self, lane: Lane, fd: int, number: int, key: tuple[int, int, int], owner: Any) -> None:
        """Enters memory into the books; it leaves them with its owner, or when there is too much."""
        alive = None
        if owner is not None:
            with contextlib.suppress(TypeError):
                alive = weakref.finalize(owner, self._ownerless, fd, number, lane.epoch)
                alive.atexit = False
        with self._lock:
            if lane.epoch != self.epoch:
                raise Lost("the service began a new session")
            self._discard(fd)
            self._regions[fd] = _Region(number, key, alive)
            while len(self._regions) > self._kept:
                self._discard(next(iter(self._regions)))

    def _discard(self, fd: int) -> None:
        known = self._regions.pop(fd, None)
        if known is not None:
            self._stale.append((Service.DETACH, known.number, self.epoch))
            if known.alive is not None:
                known.alive.detach()

    def _ownerless(self, fd: int, number: int, epoch: int) -> None:
        with self._lock:
            known = self._regions.get(fd)
            if epoch == self.epoch and known is not None and known.number == number:
                self._discard(fd)

    def forget(self, fd: int) -> int | None:
        """Takes memory out of the books; the number that it had."""
        with self._lock:
            known = self._regions.pop(fd, None)
            if known is None:
                return None
            if known.alive is not None:
                known.alive.detach()
            return known.number

    def forget_model(self, number: int, epoch: int) -> None:
        """A prepared model is of no more use: the service is told with the next call."""
        with self._lock:
            self._stale.append((Service.RELEASE_MODEL, number, epoch))

    def _flush(self, lane: Lane) -> None:
        """Tells the service what is of no more use."""
        with self._lock:
            stale, self._stale = self._stale, []
        for method, number, epoch in stale:
            if epoch != lane.epoch:
                continue
            writer = ParcelWriter()
            if method == Service.DETACH:
                writer.array("I", [number])
            else:
                writer.uint32(number)
            try:
                self.exchange(lane, 0, method, writer.getvalue())
            except Lost:
                raise
            except NnrtError:
                continue


def _close(lanes: list[Lane]) -> None:
    while lanes:
        lanes.pop().sock.close()


def file_key(fd: int) -> tuple[int, int, int]:
    """What tells the file behind a descriptor apart."""
    status = os.fstat(fd)
    return status.st_dev, status.st_ino, status.st_size
