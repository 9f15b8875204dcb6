"""Reading files whole, and writing them so that an interrupted run loses nothing: a temporary file, then a rename."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import ReadError, WriteError

LARGE = 4 << 20
"""Bytes from which on a file is read into huge pages: below, the import of NumPy costs more than the pages do."""


def read(path: str | os.PathLike[str]) -> memoryview:
    """The content of ``path``, read-only.

    A large file goes into memory that NumPy asks of the system in huge pages: 25,000 page faults are half of what
    reading 100 MB costs. Raises ``OSError``, and ``ReadError`` for a file that is larger than the machine's memory.
    """
    with Path(path).open("rb", buffering=0) as file:
        state = os.fstat(file.fileno())
        size = state.st_size if stat.S_ISREG(state.st_mode) else 0
        if size > _memory():
            raise ReadError(
                f"the file has {size:,} bytes, more than the memory of this machine",
                hint="is it the file that it should be?",
            )
        if size < LARGE:
            return memoryview(file.readall())
        import numpy as np

        data = np.empty(size, np.uint8).data
        done = 0
        while done < size and (count := file.readinto(data[done:])):
            done += count
        return data[:done].toreadonly()


def _memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of ``path`` when the block ends without an error.

    Links stay: what they point to is written. A device or pipe cannot be put in the place of another file, and must
    not give way to one (``/dev/null``): it is written to as it stands. Raises ``WriteError`` where the folder is
    missing, not writable or full; ``path`` is then as it was.
    """
    if _special(path):
        try:
            with Path(path).open("wb") as file:
                yield file
        except OSError as error:
            raise WriteError(f"cannot be written: {error.strerror or error}", where=str(path)) from None
        return
    target = Path(os.path.realpath(path))
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise WriteError(f"cannot be written: {error.strerror or error}", where=str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        Path(name).replace(target)
    except OSError as error:
        raise WriteError(f"cannot be written: {error.strerror or error}", where=str(path)) from None
    finally:
        with suppress(OSError):
            Path(name).unlink()


def _special(path: str | os.PathLike[str]) -> bool:
    """Whether something is there that is neither a file nor a folder."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def write(path: str | os.PathLike[str], pieces: Iterable[bytes | memoryview]) -> None:
    """Writes ``pieces`` one after the other to ``path``, all or nothing."""
    with atomic(path) as file:
        for piece in pieces:
            file.write(piece)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
