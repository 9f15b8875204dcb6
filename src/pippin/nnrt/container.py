"""The frame around everything that Pippin stores of a model: one file, versioned and checksummed.

====== ======= ====================================================================================
offset size    content, little-endian
====== ======= ====================================================================================
0      8       ``PIPNNRT`` and a line feed
8      4       version of the frame, 1
12     4       kind: 1 a model (:mod:`pippin.nnrt.file`), 2 a prepared one (:mod:`pippin.nnrt.cache`)
16     8       length of the head
24     8       offset of the data, a multiple of 64
32     8       length of the data
40     32      BLAKE2b-256 of bytes 0 to 39 and of everything from byte 72 on
72     …       the head: values by the rules of :mod:`pippin.nnrt.parcel`
…      …       zeros up to the data, the data
====== ======= ====================================================================================

The checksum tells damage, not malice.  Bytes behind the data are ignored, since a shared buffer may be larger than
what it holds.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from ..errors import ReadError

MAGIC = b"PIPNNRT\n"
VERSION = 1
ALIGNMENT = 64
_PREFIX = struct.Struct("<8sIIQQQ")
_DIGEST = 32
_HEAD = _PREFIX.size + _DIGEST

Bytes = bytes | bytearray | memoryview


class Kind(IntEnum):
    """What a container holds."""

    MODEL = 1
    PREPARED = 2


@dataclass(frozen=True)
class Container:
    """An opened container; ``head`` and ``data`` are views."""

    kind: Kind
    head: memoryview
    data: memoryview


def pack(kind: Kind, head: bytes, data: Sequence[Any]) -> list[Any]:
    """A container as a list of byte strings to be written one after another; ``data`` in pieces, not copied."""
    start = -(-(_HEAD + len(head)) // ALIGNMENT) * ALIGNMENT
    length = sum(memoryview(piece).nbytes for piece in data)
    prefix = _PREFIX.pack(MAGIC, VERSION, kind, len(head), start, length)
    body = [head, bytes(start - _HEAD - len(head)), *data]
    return [prefix, _digest(prefix, body), *body]


def unpack(content: Bytes, *, where: str = "") -> Container:
    """Opens a container.  ReadError if it is none, of another version, cut or damaged."""
    view = memoryview(content).cast("B")
    try:
        return _unpack(view)
    except ReadError as error:
        raise (error.at(where) if where else error) from None


def _unpack(view: memoryview) -> Container:
    if len(view) < _HEAD or bytes(view[:8]) != MAGIC:
        raise ReadError(
            f"no NNRt model: the first bytes must be {MAGIC!r}, got {bytes(view[:8])!r}",
            hint="pippin convert MODEL out.nnrt makes one of a Core ML or ONNX model",
        )
    _, version, kind, head, start, length = _PREFIX.unpack_from(view)
    if version != VERSION:
        raise ReadError(f"version {VERSION} is read here, this is version {version}")
    if kind not in list(Kind):
        raise ReadError(f"kind must be 1 or 2, got {kind}")
    if not _HEAD + head <= start <= start + length <= len(view):
        raise ReadError(f"cut: {start + length} bytes are required, got {len(view)}")
    body = view[_HEAD : start + length]
    if _digest(view[: _PREFIX.size], [body]) != bytes(view[_PREFIX.size : _HEAD]):
        raise ReadError("damaged: the checksum does not fit the content")
    return Container(Kind(kind), view[_HEAD : _HEAD + head], view[start : start + length])


def _digest(prefix: Bytes, body: Sequence[Any]) -> bytes:
    digest = hashlib.blake2b(prefix, digest_size=_DIGEST)
    for piece in body:
        digest.update(piece)
    return digest.digest()
