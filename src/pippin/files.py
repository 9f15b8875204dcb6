"""Writing files so that an interrupted run loses nothing: a temporary file beside the target, then a rename."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import WriteError


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of ``path`` when the block ends without an error.

    Raises ``WriteError`` where the folder is missing, not writable or full; ``path`` is then as it was.
    """
    target = Path(path)
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


def write(path: str | os.PathLike[str], pieces: Iterable[bytes | memoryview]) -> None:
    """Writes ``pieces`` one after the other to ``path``, all or nothing."""
    with atomic(path) as file:
        for piece in pieces:
            file.write(piece)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
