"""One connection of a client: a blocking thread that reads a request, answers it, and reads the next."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from typing import TYPE_CHECKING

from ...errors import PippinError, ReadError
from ..enums import Priority
from ..enums import ReturnCode as C
from ..errors import NnrtError, as_nnrt
from ..gate import Call
from ..parcel import ParcelReader, ParcelWriter
from .marshal import marshal_error
from .protocol import (
    ANSWER,
    FIRST_MODEL,
    MAGIC,
    MAX_DESCRIPTORS,
    VERSION,
    DeviceMethod,
    Frame,
    ModelMethod,
    ProtocolError,
    Service,
    Stalled,
    close_all,
    receive,
    send,
    set_timeout,
)

if TYPE_CHECKING:
    from .server import Server
    from .session import Session

log = logging.getLogger("pippin")
HELLO_SECONDS = 5.0
"""For the first frame; afterwards a connection may be idle as long as it likes."""
_HELLO_BYTES = 64


def refuse(sock: socket.socket, error: NnrtError) -> None:
    """Says why, if the other side listens, and closes."""
    with contextlib.suppress(OSError, ProtocolError):
        sock.setblocking(False)
        send(sock, Service.HELLO | ANSWER, 0, 0, error.code, marshal_error(error), stall=0.0)
    sock.close()


class Lane:
    """A connection; ``session`` is None until its client has said who it is."""

    def __init__(self, server: Server, sock: socket.socket, process: int, user: int) -> None:
        self.server = server
        self.process = process
        self.user = user
        self.session: Session | None = None
        self.call = Call()
        self.number = sock.fileno()
        self._sock = sock
        self._stall = server.limits.stall_seconds
        self._lock = threading.Lock()
        self._current: int | None = None
        self._deadline = 0.0
        self._gone = False

    # -- called by others --------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """No further request: an idle connection ends, a busy one when it has answered."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RD)

    def abort(self) -> None:
        """Ends the connection, answered or not."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def watch(self, now: float, *, hung_up: bool) -> None:
        """Stops what runs if nobody waits for it, or it takes too long."""
        self._gone = self._gone or (hung_up and not self.server.closing)
        if self._current is None:
            return
        if self._gone:
            self._stop(C.CANCELLED, "the client is gone")
        elif now > self._deadline:
            self._stop(C.TIME_OUT, "the run did not end in time")

    def _stop(self, code: C, message: str, call: int | None = None) -> bool:
        with self._lock:
            if self._current is None or (call is not None and self._current != call):
                return False
            self.call.stop(code, message)
            return True

    # -- the thread --------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Answers until the client goes."""
        try:
            set_timeout(self._sock, socket.SO_RCVTIMEO, HELLO_SECONDS)
            set_timeout(self._sock, socket.SO_SNDTIMEO, self._stall)
            if self._hello():
                set_timeout(self._sock, socket.SO_RCVTIMEO, self._stall)  # between frames it begins anew
                while not self.server.closing and self._next():
                    pass
        except Stalled as error:
            self._broken("stalled", error)
        except ProtocolError as error:
            self._broken("protocol", error)
        except OSError as error:
            log.debug("process %d: %s", self.process, error)
        except Exception:
            log.exception("an error of the service; the connection of process %d ends", self.process)
        finally:
            self.end()
            self._sock.close()

    def end(self) -> None:
        """Leaves the server's lists."""
        self.server.leave(self)

    def _broken(self, reason: str, error: Exception) -> None:
        self.server.metrics.count("broken_total", (("reason", reason),))
        self.server.complain("process %d: %s", self.process, error)

    def _hello(self) -> bool:
        try:
            frame = receive(self._sock, _HELLO_BYTES, stall=HELLO_SECONDS)
        except BlockingIOError:
            raise Stalled(f"no Hello within {HELLO_SECONDS:g} s") from None
        if frame is None:
            return False
        close_all(frame.descriptors)
        try:
            body = self._welcome(frame)
        except NnrtError as error:
            self.server.metrics.count("refused_total", (("reason", error.code.name.lower()),))
            self._send(frame, error.code, marshal_error(error))
            return False
        self._send(frame, C.SUCCESS, body)
        return True

    def _welcome(self, frame: Frame) -> bytes:
        reader = ParcelReader(frame.body)
        try:
            if frame.method != Service.HELLO or frame.object or bytes(reader.raw(8)) != MAGIC:
                raise ProtocolError("the first frame must be a Hello")
            version, token = reader.uint32(), reader.blob()
        except ReadError as error:
            raise ProtocolError(f"no Hello: {error}") from None
        if version != VERSION:
            raise NnrtError(C.NOT_SUPPORT, f"version {VERSION} of the protocol is spoken here, not {version}")
        session = self.server.join(self, token)
        limits = self.server.limits
        writer = ParcelWriter()
        writer.uint32(VERSION)
        writer.blob(session.token)
        for number in (len(session.devices), limits.requests, limits.frame_bytes, MAX_DESCRIPTORS, limits.descriptors):
            writer.uint32(number)
        return writer.getvalue()

    def _next(self) -> bool:
        try:
            frame = receive(self._sock, self.server.limits.frame_bytes, stall=self._stall)
        except BlockingIOError:
            return True  # idle
        if frame is None:
            return False
        start = time.monotonic()
        limit = self.server.limits.run_seconds
        timer = None
        if frame.word:
            limit = min(limit, frame.word / 1000)
        with self._lock:
            self.call.reset()
            self._current = frame.call
            self._deadline = start + limit
        if limit < 2.0:  # the watcher looks four times a second
            timer = threading.Timer(limit, self._stop, (C.TIME_OUT, f"no end within {limit:g} s", frame.call))
            timer.daemon = True
            timer.start()
        try:
            code, body = self._answer(frame)
        finally:
            with self._lock:
                self._current = None
            if timer is not None:
                timer.cancel()
        seconds = time.monotonic() - start
        try:
            self._send(frame, code, body)
        finally:
            self._count(frame, code, seconds)
        return True

    def _send(self, frame: Frame, code: C, body: bytes) -> None:
        try:
            send(self._sock, frame.method & 0x7FFF | ANSWER, frame.call, frame.object, code, body, stall=self._stall)
        except BlockingIOError:
            raise Stalled(f"an answer was not read within {self._stall:g} s") from None

    def _answer(self, frame: Frame) -> tuple[C, bytes]:
        assert self.session is not None
        try:
            if not frame.object and frame.method in (Service.CANCEL, Service.STATUS):
                close_all(frame.descriptors)
                return C.SUCCESS, self._own(frame)
            return C.SUCCESS, self.session.handle(frame, self.call)
        except NnrtError as error:
            return error.code, marshal_error(error)
        except PippinError as error:
            return C.FAILED, marshal_error(as_nnrt(error, C.FAILED))
        except MemoryError:
            return C.OUT_OF_MEMORY, marshal_error(NnrtError(C.OUT_OF_MEMORY, "the service has not enough memory"))
        except Exception:
            log.exception("a request of process %d that cannot be understood, or an error of Pippin", self.process)
            return C.SERVICE_ERROR, marshal_error(NnrtError(C.SERVICE_ERROR, "the service failed; its log tells why"))

    def _own(self, frame: Frame) -> bytes:
        """What concerns the whole service: Cancel and Status."""
        reader, writer = ParcelReader(frame.body), ParcelWriter()
        try:
            if frame.method == Service.STATUS:
                prometheus = reader.uint32() == 1
                writer.text(self.server.metrics.text() if prometheus else self.server.status())
            else:
                call = reader.long()
                lanes = [lane for lane in self.server._all() if lane.session is self.session and lane is not self]
                stopped = [lane._stop(C.CANCELLED, "the client cancelled the run", call) for lane in lanes]
                writer.boolean(any(stopped))
        except ReadError as error:
            raise as_nnrt(error, C.INVALID_PARAMETER).at("request") from None
        return writer.getvalue()

    def _count(self, frame: Frame, code: C, seconds: float) -> None:
        metrics, name = self.server.metrics, _name(frame)
        metrics.count("requests_total", (("method", name), ("code", code.name)))
        metrics.observe("request_seconds", seconds, (("method", name),))
        if name == "Run" and self.session is not None:
            entry = self.session.models.get(frame.object)
            if entry is not None:
                priority = Priority(entry.prepared.config.priority).name
                metrics.observe("run_seconds", seconds, (("priority", priority),))


def _name(frame: Frame) -> str:
    if frame.object >= FIRST_MODEL:
        names = _NAMES[2]
    else:
        names = _NAMES[1] if frame.object else _NAMES[0]
    return names.get(frame.method, "unknown")


_NAMES = [
    {int(method): "".join(word.capitalize() for word in method.name.split("_")) for method in methods}
    for methods in (Service, DeviceMethod, ModelMethod)
]
