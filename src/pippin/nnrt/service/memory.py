"""Memory that clients hand over: what is taken, how much of it, and when it is let go."""

from __future__ import annotations

import fcntl
import os
import resource
import stat
import weakref
from contextlib import suppress

from ..buffers import Mapped, Mappings
from ..enums import ReturnCode
from ..errors import NnrtError
from ..types import SharedBuffer
from .limits import Budget

_PAGE = resource.getpagesize()


class Attached:
    """A client's descriptor; closed when the last user is gone: the client's table, a run, a buffer of a request.

    ``problem`` says why it is not taken for memory, empty where it is.
    """

    def __init__(self, fd: int, memory: SessionMappings, *, files: bool) -> None:
        memory.descriptors.take()
        self.fd = fd
        self.allocated = False
        self.problem = problem(fd, files=files)
        status = os.fstat(fd)
        self.key = (status.st_dev, status.st_ino)
        self.length = status.st_size
        weakref.finalize(self, _close, fd, memory)


def _close(fd: int, memory: SessionMappings) -> None:
    memory.forget(fd)
    with suppress(OSError):
        os.close(fd)
    memory.descriptors.give()


def problem(fd: int, *, files: bool) -> str:
    """Why a descriptor is not taken; empty for a memfd, and for a plain file if ``files``."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        return "the descriptor is no memory"
    if os.fstatvfs(fd).f_bsize > _PAGE and is_memfd(fd):
        return "memory of huge pages is not taken: a hole in it would kill the service"
    if not files and not is_memfd(fd):
        return "the descriptor is a file; this service takes memory only (memfd_create)"
    return ""


def is_memfd(fd: int) -> bool:
    """Whether a descriptor is memory that was made by memfd_create."""
    try:
        fcntl.fcntl(fd, fcntl.F_GET_SEALS)
        return os.readlink(f"/proc/self/fd/{fd}").startswith("/memfd:")  # noqa: PTH115
    except OSError:
        return False


class SessionMappings(Mappings):
    """Maps a client's memory within the client's budgets."""

    def __init__(self, descriptors: Budget, shared: Budget, limit: int = 256) -> None:
        super().__init__(limit)
        self.descriptors = descriptors
        self.shared = shared

    def look(self, buffer: SharedBuffer, code: ReturnCode) -> Mapped:
        owner = buffer.owner
        if isinstance(owner, Attached) and owner.problem:
            raise NnrtError(code, owner.problem)
        if buffer.fd < 0:
            raise NnrtError(code, "the buffer names no descriptor that is open memory")
        return super().look(buffer, code)

    def _file(self, fd: int, code: ReturnCode) -> Mapped:
        known = self._maps.get(fd)
        mapped = super()._file(fd, code)
        if mapped.data is not None and mapped is not known:
            try:
                self.shared.take(mapped.length)
            except NnrtError:
                self.forget(fd)
                raise
            # not before the last binding and the last run that use it are gone
            weakref.finalize(mapped, self.shared.give, mapped.length)
        return mapped
