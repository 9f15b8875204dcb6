"""Writes Core ML models: the parsed rest with the weights back in their places, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import files
from ..errors import WriteError
from . import wire


def to_bytes(model: Any, views: Sequence[wire.View] = ()) -> bytes:
    """A ``Model`` message as the bytes of a ``.mlmodel`` file; ``views`` are those of the document it was read into."""
    return b"".join(wire.splice(model, list(views)))


def checked(path: str | os.PathLike[str]) -> Path:
    """``path``, if a Core ML file may be written there; ``WriteError`` if its ending says something else."""
    target = Path(path)
    if target.suffix.lower() == ".mlpackage" or target.is_dir():
        raise WriteError("a package cannot be written, only a file", where=str(path), hint="end it in .mlmodel")
    if target.suffix.lower() in (".onnx", ".nnrt"):
        hint = f"end it in .mlmodel; pippin convert makes {target.suffix} of that"
        raise WriteError("what is written is a Core ML file", where=str(path), hint=hint)
    return target


def save(model: Any, path: str | os.PathLike[str], views: Sequence[wire.View] = ()) -> None:
    """Writes a ``Model`` message to ``path``. Raises ``WriteError``; the file is then as it was."""
    files.write(checked(path), wire.splice(model, list(views)))
