"""Compiled models on disk, shared by all clients of a service, and the seal that tells its own caches from others'.

A cache holds a graph that will be run, so content from a client is taken only if this service made it: behind the
container stand 8 bytes ``PIPNSEAL`` and the HMAC-SHA256 of everything before, by a key that never leaves the service
(the file ``key`` in the folder, or the process where there is no folder).  A file of the folder is named by the digest
of what it was made from: the model with its constants, the configuration that matters, versions and provider.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ... import files
from ...errors import PippinError, ReadError, WriteError
from ..cache import Compiled, current_versions, pack_compiled, unpack_compiled
from ..container import Kind, unpack
from ..file import write_model
from ..model import Checked
from ..types import ModelConfig, SharedBuffer

SEAL = b"PIPNSEAL"
SEAL_LENGTH = len(SEAL) + 32
_SUFFIX = ".prepared"
_log = logging.getLogger("pippin")


class Store:
    """``folder`` None keeps nothing on disk; ``limit`` is the most bytes of the folder, the oldest files go first."""

    def __init__(self, folder: str | os.PathLike[str] | None = None, limit: int = 4 << 30) -> None:
        self.folder = None if folder is None else Path(folder)
        self.limit = limit
        self.hits = self.misses = 0
        self._lock = threading.Lock()
        self._key = secrets.token_bytes(32)
        if self.folder is not None:
            try:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                _check_owner(self.folder)
                self._key = _key(self.folder / "key")
            except OSError as error:
                raise WriteError(f"cannot hold the cache: {error.strerror or error}", where=str(folder)) from None

    # -- the seal ----------------------------------------------------------------------------------------------------

    def sealed(self, compiled: Compiled) -> list[Any]:
        """A compiled model in pieces, with the seal behind."""
        pieces = pack_compiled(compiled)
        digest = hmac.new(self._key, digestmod=hashlib.sha256)
        for piece in pieces:
            digest.update(piece)
        return [*pieces, SEAL + digest.digest()]

    def opened(self, content: memoryview) -> memoryview:
        """What stands before the seal.  ReadError unless this service made it.  ``content`` must not change."""
        end = len(content) - SEAL_LENGTH
        if end < 0 or bytes(content[end : end + len(SEAL)]) != SEAL:
            raise ReadError("a cache must be one that this service exported: the seal is missing")
        digest = hmac.new(self._key, content[:end], hashlib.sha256).digest()
        if not hmac.compare_digest(digest, bytes(content[end + len(SEAL) :])):
            raise ReadError("a cache must be one that this service exported: the seal does not fit")
        return content[:end]

    # -- the folder --------------------------------------------------------------------------------------------------

    def compiled(
        self, checked: Checked, config: ModelConfig, provider: str, compile: Callable[[], Compiled]
    ) -> tuple[bytes, Compiled]:
        """The digest of a model and its compiled form: from the folder, or else from ``compile`` and into it."""
        key = digest(checked, config, provider)
        if self.folder is None:
            return key, compile()
        path = self.folder / (key.hex() + _SUFFIX)
        found = self._load(path, provider)
        if found is not None:
            self.hits += 1
            return key, found
        self.misses += 1
        made = compile()
        self._save(path, made)
        return key, made

    def _load(self, path: Path, provider: str) -> Compiled | None:
        try:
            content = memoryview(path.read_bytes())
            os.utime(path)
        except OSError:
            return None
        try:
            container = unpack(self.opened(content))
            if container.kind is not Kind.PREPARED:
                return None
            return unpack_compiled(container, provider)
        except PippinError as error:
            _log.warning("%s is damaged and is made anew: %s", path, error)
            return None

    def _save(self, path: Path, compiled: Compiled) -> None:
        try:
            files.write(path, self.sealed(compiled))
            with self._lock:
                self._shrink(path)
        except (WriteError, OSError) as error:  # a full disk does not keep anybody from running
            _log.warning("%s is not kept: %s", path, error)

    def _shrink(self, keep: Path) -> None:
        assert self.folder is not None
        entries = []
        for path in self.folder.glob(f"*{_SUFFIX}"):
            with suppress(OSError):
                status = path.stat()
                entries.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.limit:
                break
            if path != keep or size > self.limit:
                with suppress(OSError):
                    path.unlink()
                total -= size


def digest(checked: Checked, config: ModelConfig, provider: str) -> bytes:
    """What tells compiled models apart, 32 bytes: of the copies that were checked, not of memory that may change."""
    import numpy as np

    model = checked.model
    sizes = [
        SharedBuffer(0, 0, 0, tensor.data.dataSize) if tensor.is_constant else SharedBuffer()
        for tensor in model.allTensors
    ]
    found = hashlib.blake2b(digest_size=32)
    for text in (*current_versions(), provider, str(bool(config.enableFloat16))):
        found.update(text.encode() + b"\0")
    description = write_model(model, sizes)
    found.update(len(description).to_bytes(8, "little") + description)
    for index, array in sorted(checked.constants.items()):
        found.update(f"{index} {array.nbytes} ".encode())
        found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.digest()


def _check_owner(folder: Path) -> None:
    """WriteError for a folder in which somebody else may put files: graphs that lie there are run."""
    status = folder.stat()
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & stat.S_IWOTH:
        raise WriteError(
            f"cannot hold the cache: others may write there (owner {status.st_uid}, mode {status.st_mode & 0o777:o})",
            where=str(folder),
            hint="choose a folder of the user that runs the service",
        )


def _key(path: Path) -> bytes:
    with suppress(FileNotFoundError):
        key = path.read_bytes()
        if len(key) == 32 and path.stat().st_uid == os.geteuid():
            return key
    made = path.with_name(f".key.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(32))
    made.replace(path)
    return path.read_bytes()
