"""Writes Core ML models: the parsed rest with the weights back in their places, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .. import files
from . import wire


def to_bytes(model: Any, views: Sequence[wire.View] = ()) -> bytes:
    """A ``Model`` message as the bytes of a ``.mlmodel`` file; ``views`` are those of the document it was read into."""
    return b"".join(wire.splice(model, list(views)))


def save(model: Any, path: str | os.PathLike[str], views: Sequence[wire.View] = ()) -> None:
    """Writes a ``Model`` message to ``path``. Raises ``WriteError``; the file is then as it was."""
    files.write(path, wire.splice(model, list(views)))
