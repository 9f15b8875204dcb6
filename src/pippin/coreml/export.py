"""Core ML to ONNX files."""

from __future__ import annotations

import os
from typing import Any

from .. import files
from ..errors import WriteError
from .read import Source

MAX_PROTO = 2_000_000_000
"""Bytes that fit into one ONNX file; larger networks keep their weights in a file beside it."""


def to_onnx(source: Source, target: str | os.PathLike[str], **options: Any) -> None:
    """Writes the network of ``source`` as an ONNX model to ``target``, preprocessing included.

    ``options`` are those of ``load``. Raises ``WriteError`` if the file cannot be written.
    """
    from ..graph.write import write
    from .model import load

    model = load(source, **options)
    written = write(model.graph(), inline=None)
    if written.model.ByteSize() > MAX_PROTO:
        raise WriteError("the network is larger than one ONNX file may be", where=str(target))
    files.write(target, [written.model.SerializeToString()])
