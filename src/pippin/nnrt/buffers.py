"""Shared memory: regions behind descriptors, and NumPy arrays on them without a copy.

On Linux a region is a memfd that cannot shrink or grow once it is made: another process that holds the descriptor
cannot take pages away and so cannot kill this one.  Where there are no memfds a region is an anonymous shared map of
this process and its descriptor a number that only this process understands.

A descriptor from elsewhere is mapped if it is a memfd that cannot shrink, or lets itself be sealed so.  Anything else
that has bytes (a plain file, a memfd without sealing) is read and written by position instead: slower, and safe from a
file that is cut while in use.  Pipes, sockets, directories and devices are refused.
"""

from __future__ import annotations

import itertools
import mmap
import os
import stat
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .enums import ReturnCode
from .errors import NnrtError
from .types import SharedBuffer

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_LENGTH = (1 << 31) - 1
"""Most bytes of a region: lengths and offsets are 32-bit signed on the other side."""

HAS_MEMFD = hasattr(os, "memfd_create")

_LOCAL_BASE = 1 << 30
_local_numbers = itertools.count(_LOCAL_BASE)
_local: weakref.WeakValueDictionary[int, Region] = weakref.WeakValueDictionary()


class Region:
    """Memory with a descriptor, zero at first; closed when the last user is gone, or by :meth:`close`.

    ``NnrtError``: INVALID_PARAMETER for a length of 0, OUT_OF_MEMORY for one that cannot be had.
    """

    def __init__(self, length: int, *, name: str = "pippin") -> None:
        if length <= 0:
            raise NnrtError(ReturnCode.INVALID_PARAMETER, f"a buffer needs at least one byte, got {length}")
        if length > MAX_LENGTH:
            raise NnrtError(ReturnCode.OUT_OF_MEMORY, f"a buffer holds at most {MAX_LENGTH} bytes, got {length}")
        self.length = length
        if HAS_MEMFD:
            self.fd, self._map = _memfd(length, name)
            self._closer = weakref.finalize(self, os.close, self.fd)
        else:
            self._map = _anonymous(length)
            self.fd = next(_local_numbers)
            _local[self.fd] = self
            self._closer = weakref.finalize(self, _forget, self.fd)

    @property
    def array(self) -> NDArray[Any]:
        """The bytes, writable; the array outlives the descriptor."""
        import numpy as np

        return np.frombuffer(self._map, np.uint8)

    @cached_property
    def mapped(self) -> Mapped:
        """The region as :class:`Mappings` knows it; asked for where descriptors are only numbers."""
        return Mapped(self.key, self.length, self.array, True)

    def buffer(self, offset: int = 0, size: int | None = None) -> SharedBuffer:
        """A buffer on ``size`` bytes from ``offset``, which keeps the region."""
        return SharedBuffer(self.fd, self.length, offset, self.length - offset if size is None else size, self)

    def close(self) -> None:
        """Gives the descriptor back; arrays on the memory stay good."""
        self._closer()

    @property
    def key(self) -> tuple[int, int]:
        """What tells the memory apart, as ``Mapped.key`` does; only while the descriptor is open."""
        if not HAS_MEMFD:
            return -1, self.fd
        status = os.fstat(self.fd)
        return status.st_dev, status.st_ino

    @property
    def closed(self) -> bool:
        """Whether the descriptor is gone."""
        return not self._closer.alive


def _forget(fd: int) -> None:
    _local.pop(fd, None)


def _memfd(length: int, name: str) -> tuple[int, mmap.mmap]:
    import fcntl

    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.posix_fallocate(fd, 0, length)  # pages now: a later write cannot run out of memory and kill the process
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        return fd, mmap.mmap(fd, length)
    except (OSError, ValueError, MemoryError) as error:
        os.close(fd)
        raise NnrtError(ReturnCode.OUT_OF_MEMORY, f"no {length} bytes of shared memory: {error}") from None


def _anonymous(length: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, length)
    except (OSError, ValueError, MemoryError) as error:
        raise NnrtError(ReturnCode.OUT_OF_MEMORY, f"no {length} bytes of memory: {error}") from None


@dataclass(frozen=True)
class Mapped:
    """What stands behind a descriptor: ``key`` tells files apart, ``data`` is the map, None where it must be copied."""

    key: tuple[int, int]
    length: int
    data: NDArray[Any] | None
    writable: bool


@dataclass(frozen=True)
class Window:
    """The bytes of one buffer: ``array`` is a view on memory if ``direct``, else a copy that ``commit`` writes back."""

    array: NDArray[Any]
    direct: bool
    key: tuple[int, int]
    commit: Callable[[], None] | None = None


class Mappings:
    """Maps descriptors and remembers the maps, the ``limit`` latest of them; safe for threads.

    A descriptor number is looked at on each use, so that one that was closed and means another file now is mapped anew.
    All methods raise ``NnrtError`` with the code that is handed in.
    """

    def __init__(self, limit: int = 64) -> None:
        self._limit = limit
        self._maps: OrderedDict[int, Mapped] = OrderedDict()
        self._lock = threading.RLock()  # finalizers may run while it is held

    def __len__(self) -> int:
        return len(self._maps)

    def look(self, buffer: SharedBuffer, code: ReturnCode) -> Mapped:
        """The file behind a buffer, once descriptor, sizes and range are found to be sound."""
        fd, size, offset, used = buffer.fd, buffer.bufferSize, buffer.offset, buffer.dataSize
        if not (offset >= 0 and used >= 0 and offset + used <= size <= MAX_LENGTH):
            raise NnrtError(
                code,
                f"offset and dataSize must lie within bufferSize, itself at most {MAX_LENGTH},"
                f" got offset {offset}, dataSize {used}, bufferSize {size}",
            )
        mapped = self._file(fd, code)
        if size == 0 or size > mapped.length:
            raise NnrtError(
                code, f"bufferSize must be 1 to the {mapped.length} bytes behind descriptor {fd}, got {size}"
            )
        return mapped

    def read(self, buffer: SharedBuffer, code: ReturnCode) -> Window:
        """The buffer's bytes to read."""
        mapped = self.look(buffer, code)
        if mapped.data is not None:
            return Window(mapped.data[buffer.offset : buffer.offset + buffer.dataSize], True, mapped.key)
        return Window(_pread(buffer, code), False, mapped.key)

    def write(self, buffer: SharedBuffer, code: ReturnCode) -> Window:
        """The buffer's bytes to write; ``commit`` must be called where the window is not direct."""
        mapped = self.look(buffer, code)
        if not mapped.writable:
            raise NnrtError(code, f"descriptor {buffer.fd} cannot be written")
        if mapped.data is not None:
            return Window(mapped.data[buffer.offset : buffer.offset + buffer.dataSize], True, mapped.key)
        import numpy as np

        array = np.zeros(buffer.dataSize, np.uint8)
        return Window(array, False, mapped.key, lambda: _pwrite(buffer, array, code))

    def forget(self, fd: int) -> None:
        """Drops the map of a descriptor."""
        with self._lock:
            self._maps.pop(fd, None)

    def forget_file(self, key: tuple[int, int]) -> None:
        """Drops the maps of a file, as ``Mapped.key`` tells it."""
        with self._lock:
            for fd in [fd for fd, mapped in self._maps.items() if mapped.key == key]:
                del self._maps[fd]

    def clear(self) -> None:
        """Drops all maps."""
        with self._lock:
            self._maps.clear()

    def _file(self, fd: int, code: ReturnCode) -> Mapped:
        if not HAS_MEMFD or fd >= _LOCAL_BASE:
            return _local_region(fd, code)
        try:
            status = os.fstat(fd)
        except (OSError, OverflowError, TypeError) as error:
            raise NnrtError(code, f"descriptor {fd} is not open ({error})") from None
        key = (status.st_dev, status.st_ino)
        known = self._maps.get(fd)
        if known is not None and known.key == key and known.length == status.st_size:
            return known
        mapped = _open(fd, status, key, code)
        if mapped.data is not None:
            with self._lock:
                self._maps[fd] = mapped
                self._maps.move_to_end(fd)
                while len(self._maps) > self._limit:
                    self._maps.popitem(last=False)
        return mapped


def _local_region(fd: int, code: ReturnCode) -> Mapped:
    region = _local.get(fd)
    if region is None:
        raise NnrtError(code, f"descriptor {fd} names no buffer of this process")
    return region.mapped


def _open(fd: int, status: os.stat_result, key: tuple[int, int], code: ReturnCode) -> Mapped:
    import fcntl

    import numpy as np

    if not stat.S_ISREG(status.st_mode):
        raise NnrtError(code, f"descriptor {fd} is no memory: a {_kind(status.st_mode)}")
    access = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE
    if access == os.O_WRONLY:
        raise NnrtError(code, f"descriptor {fd} cannot be read")
    writable = access == os.O_RDWR
    if status.st_size == 0 or not _sealed(fd):
        return Mapped(key, status.st_size, None, writable)
    length = os.fstat(fd).st_size  # after sealing: it can only grow from here
    try:
        memory = mmap.mmap(fd, length, access=mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ)
    except (OSError, ValueError, OverflowError):
        return Mapped(key, length, None, writable)
    return Mapped(key, length, np.frombuffer(memory, np.uint8), writable)


def _sealed(fd: int) -> bool:
    """Whether the file can no longer shrink; a memfd that allows it is sealed on the spot."""
    import fcntl

    try:
        if fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
            return True
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    except (OSError, AttributeError):
        return False
    return True


def _kind(mode: int) -> str:
    names = {
        stat.S_IFIFO: "pipe",
        stat.S_IFSOCK: "socket",
        stat.S_IFDIR: "directory",
        stat.S_IFCHR: "character device",
        stat.S_IFBLK: "block device",
    }
    return names.get(stat.S_IFMT(mode), "special file")


def _pread(buffer: SharedBuffer, code: ReturnCode) -> NDArray[Any]:
    import numpy as np

    array = np.empty(buffer.dataSize, np.uint8)
    view, done = array.data, 0
    while done < buffer.dataSize:
        try:
            got = os.preadv(buffer.fd, [view[done:]], buffer.offset + done)
        except OSError as error:
            raise NnrtError(code, f"descriptor {buffer.fd} cannot be read: {error}") from None
        if got == 0:
            raise NnrtError(code, f"the file behind descriptor {buffer.fd} has shrunk")
        done += got
    return array


def _pwrite(buffer: SharedBuffer, array: NDArray[Any], code: ReturnCode) -> None:
    view, done = array.data, 0
    while done < len(view):
        try:
            done += os.pwritev(buffer.fd, [view[done:]], buffer.offset + done)
        except OSError as error:
            raise NnrtError(code, f"descriptor {buffer.fd} cannot be written: {error}") from None
