"""The service: a Unix socket, a blocking thread for each connection, a watcher for the clients that went away.

A client has one connection or several (each carries one request at a time); the first ``Hello`` makes its session,
later ones join it by its token.  Whatever a client does ends its connection at worst.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import select
import socket
import stat
import struct
import threading
import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ...errors import DeviceError
from ..config import cores
from ..device import devices
from ..enums import ReturnCode as C
from ..errors import NnrtError
from ..gate import Gate
from .lane import Lane, refuse
from .limits import Limits
from .metrics import Metrics
from .protocol import require_linux
from .session import Session, Shared
from .store import Store

log = logging.getLogger("pippin")
_PEER = struct.Struct("3i")


class Server:
    """Offers this machine's devices at ``path`` until :meth:`stop`.

    ``allow`` are the users (numbers) that may connect, besides the one that runs the service; ``mode`` is the socket's
    mode; ``files`` lets clients hand in plain files for memory; ``cache`` is the folder of compiled models;
    ``memory`` the most bytes of all values of all runs (None: no limit but the machine's).  DeviceError where the
    path is taken or cannot be used, or where this is no Linux.

    >>> with Server("/run/user/1000/pippin.sock"):
    ...     signal.pause()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        limits: Limits | None = None,
        allow: Collection[int] = (),
        mode: int = 0o600,
        files: bool = False,
        cache: str | os.PathLike[str] | None = None,
        cache_bytes: int = 4 << 30,
        memory: int | None = None,
    ) -> None:
        require_linux()
        self.path = Path(path)
        self.limits = limits or Limits()
        self.allow = {os.geteuid(), *allow}
        self.mode = mode
        self.store = Store(cache, cache_bytes)
        options = {}
        if memory is not None:
            _limit_memory(memory)
            options["session.use_env_allocators"] = "1"
        providers = tuple(device.provider for device in devices())
        gates = tuple(Gate(cores()) for _ in providers)
        self.shared = Shared(providers, gates, self.limits, self.store, files, options)
        self.sessions: dict[bytes, Session] = {}
        self.lanes: set[Lane] = set()
        self.closing = False
        self.started = time.time()
        self.lock = threading.Lock()
        self.metrics = self._metrics()
        self._processes: Counter[int] = Counter()
        self._threads: list[threading.Thread] = []
        self._listener: socket.socket | None = None
        self._held: int | None = None
        self._poll: Any = None
        self._complained = -1.0

    # -- life --------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Binds the socket and answers from now on."""
        from . import methods  # noqa: F401  the methods register themselves

        self._hold()
        try:
            self._listener = self._bind()
        except BaseException:
            self._let_go()
            raise
        self._poll = select.epoll()
        for target in (self._accept, self._watch):
            thread = threading.Thread(target=target, name=f"pippin{target.__name__}", daemon=True)
            thread.start()
            self._threads.append(thread)
        log.info("devices are offered at %s", self.path)

    def stop(self, grace: float = 10.0) -> None:
        """Takes no more requests, lets what runs come to its end for ``grace`` seconds, then stops it."""
        if self.closing:
            return
        self.closing = True
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            with contextlib.suppress(OSError):
                self.path.unlink()
        for lane in self._all():
            lane.finish()
        self._wait(grace)
        for lane in self._all():
            lane.call.stop(C.SERVICE_ERROR, "the service shuts down")
        self._wait(5.0)
        for lane in self._all():
            lane.abort()
        for thread in self._threads:
            thread.join(5.0)
        if self._poll is not None:
            self._poll.close()
        self._let_go()

    def _all(self) -> list[Lane]:
        with self.lock:
            return list(self.lanes)

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self.lanes and time.monotonic() < deadline:
            time.sleep(0.01)

    def _hold(self) -> None:
        """Takes the lock beside the socket, so that two services do not fight for one path."""
        if not self.path.name:
            raise DeviceError(f"a socket needs a name, got {str(self.path)!r}")
        lock = self.path.with_name(self.path.name + ".lock")
        try:
            self._held = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._let_go()
            taken = error.errno in (errno.EAGAIN, errno.EACCES) and lock.exists()
            reason = "another service is here already" if taken else f"cannot be used: {error.strerror}"
            raise DeviceError(reason, where=str(self.path)) from None

    def _let_go(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _bind(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if stat.S_ISSOCK(self.path.lstat().st_mode):
                self.path.unlink()  # left by a service that was killed: the lock says that none is alive
        except OSError:
            pass
        mask = os.umask(0o177)  # no moment in which others could connect
        try:
            listener.bind(str(self.path))
            self.path.chmod(self.mode)
            listener.listen(128)
        except OSError as error:
            listener.close()
            raise DeviceError(f"cannot be bound: {error.strerror or error}", where=str(self.path)) from None
        finally:
            os.umask(mask)
        return listener

    # -- threads -----------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        assert self._listener is not None
        while not self.closing:
            try:
                sock, _ = self._listener.accept()
            except OSError as error:
                if self.closing or error.errno in (errno.EBADF, errno.EINVAL):
                    return
                log.warning("no connection can be taken: %s", error)
                time.sleep(0.05)  # no descriptors are left: others will be given back
                continue
            try:
                self._welcome(sock)
            except OSError:
                sock.close()

    def _welcome(self, sock: socket.socket) -> None:
        process, user, _ = _PEER.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
        if user not in self.allow:
            self.metrics.count("refused_total", (("reason", "user"),))
            self.complain("user %d (process %d) is not on the list", user, process)
            refuse(sock, NnrtError(C.PERMISSION_DENIED, f"user {user} may not use this service"))
            return
        with self.lock:
            full = len(self.lanes) >= self.limits.connections
            if full or self._processes[process] >= self.limits.connections_per_process:
                lane = None
            else:
                lane = Lane(self, sock, process, user)
                self.lanes.add(lane)
                self._processes[process] += 1
        if lane is None:
            self.metrics.count("refused_total", (("reason", "connections"),))
            refuse(sock, NnrtError(C.DEVICE_BUSY, "there are too many connections"))
            return
        self._poll.register(sock.fileno(), select.EPOLLRDHUP | select.EPOLLONESHOT)
        try:
            threading.Thread(target=lane.serve, name=f"pippin-client-{process}", daemon=True).start()
        except RuntimeError:  # no more threads
            lane.end()
            refuse(sock, NnrtError(C.DEVICE_BUSY, "there are too many connections"))

    def _watch(self) -> None:
        """Stops what nobody waits for any more, and what takes too long."""
        while not (self.closing and not self.lanes):
            try:
                gone = {fd for fd, _ in self._poll.poll(0.25)}
            except (OSError, ValueError):
                return
            now = time.monotonic()
            for lane in self._all():
                lane.watch(now, hung_up=lane.number in gone)

    # -- sessions ----------------------------------------------------------------------------------------------------

    def join(self, lane: Lane, token: bytes) -> Session:
        """The session of a token, or a new one.  NnrtError DEVICE_BUSY where there are too many."""
        with self.lock:
            session = self.sessions.get(token)
            if session is not None and session.user == lane.user:
                if sum(other.session is session for other in self.lanes) >= self.limits.requests:
                    raise NnrtError(C.DEVICE_BUSY, f"a client may have {self.limits.requests} connections")
                lane.session = session
                return session
            if sum(other.user == lane.user for other in self.sessions.values()) >= self.limits.clients_per_user:
                raise NnrtError(C.DEVICE_BUSY, f"a user may have {self.limits.clients_per_user} clients")
            session = lane.session = Session(self.shared, lane.user)
            self.sessions[session.token] = session
        self.metrics.count("clients_total")
        return session

    def leave(self, lane: Lane) -> None:
        """A connection is gone; with the last one of a client its session goes."""
        ended = None
        with self.lock:
            if lane not in self.lanes:
                return
            self.lanes.discard(lane)
            self._processes[lane.process] -= 1
            if not self._processes[lane.process]:
                del self._processes[lane.process]
            session = lane.session
            if session is not None and all(other.session is not session for other in self.lanes):
                ended = self.sessions.pop(session.token, None)
        with contextlib.suppress(OSError, ValueError):
            self._poll.unregister(lane.number)
        if ended is not None:
            ended.close()

    def complain(self, text: str, *values: object) -> None:
        """Logs what a client did wrong, at most once a second: a flood of it must not fill the disk."""
        now = time.monotonic()
        if now - self._complained > 1.0:
            self._complained = now
            log.warning(text, *values)

    # -- what it tells of itself -------------------------------------------------------------------------------------

    def _metrics(self) -> Metrics:
        metrics = Metrics()
        metrics.counter("requests_total", "Requests by method and return code.")
        metrics.histogram("request_seconds", "Seconds from the end of a request to its answer, by method.")
        metrics.histogram("run_seconds", "Seconds of Run, waiting included, by priority.")
        metrics.counter("clients_total", "Clients that ever came.")
        metrics.counter("refused_total", "Connections that were refused, by reason.")
        metrics.counter("broken_total", "Connections that were closed for what came over them, by reason.")
        gauges: dict[str, tuple[str, Any]] = {
            "clients": ("Clients now.", lambda: len(self.sessions)),
            "connections": ("Connections now.", lambda: len(self.lanes)),
            "models": ("Prepared models now.", lambda: sum(len(s.models) for s in self._sessions())),
            "model_bytes": ("Bytes of their constants.", lambda: sum(s.model_bytes.used for s in self._sessions())),
            "descriptors": ("Descriptors of clients.", lambda: sum(s.descriptors.used for s in self._sessions())),
            "shared_bytes": ("Mapped memory of clients.", lambda: sum(s.shared_bytes.used for s in self._sessions())),
            "waiting_runs": ("Runs that wait.", lambda: sum(gate.waiting for gate in self.shared.gates)),
            "cache_hits": ("Models found compiled on disk.", lambda: self.store.hits),
            "cache_misses": ("Models compiled.", lambda: self.store.misses),
            "uptime_seconds": ("Since the start.", lambda: time.time() - self.started),
        }
        for name, (text, value) in gauges.items():
            metrics.gauge(name, text, value)
        return metrics

    def _sessions(self) -> list[Session]:
        with self.lock:
            return list(self.sessions.values())

    def status(self) -> str:
        """The state as JSON."""
        from ... import __version__

        with self.lock:
            processes: dict[bytes, set[int]] = {}
            for lane in self.lanes:
                if lane.session is not None:
                    processes.setdefault(lane.session.token, set()).add(lane.process)
            clients = [
                {
                    "processes": sorted(processes.get(session.token, ())),
                    "user": session.user,
                    "models": len(session.models),
                    "modelBytes": session.model_bytes.used,
                    "descriptors": session.descriptors.used,
                    "sharedBytes": session.shared_bytes.used,
                }
                for session in self.sessions.values()
            ]
            connections = len(self.lanes)
        return json.dumps(
            {
                "schema": "pippin.nnrt.status/1",
                "version": __version__,
                "process": os.getpid(),
                "uptime": round(time.time() - self.started, 1),
                "devices": list(self.shared.providers),
                "connections": connections,
                "requests": int(self.metrics.value("requests_total")),
                "waiting": sum(gate.waiting for gate in self.shared.gates),
                "cache": {"folder": str(self.store.folder or ""), "hits": self.store.hits, "misses": self.store.misses},
                "clients": clients,
            }
        )


_memory: int | None = None


def _limit_memory(size: int) -> None:
    """Gives all sessions one pool of at most ``size`` bytes; once in a process."""
    global _memory
    if _memory is not None:
        return
    import onnxruntime as ort

    info = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    ort.create_and_register_allocator(info, ort.OrtArenaCfg({"max_mem": size, "arena_extend_strategy": 1}))
    _memory = size
