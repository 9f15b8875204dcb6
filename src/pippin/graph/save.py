"""Saves a hub graph as an ONNX file that stands alone, big weights in a second file beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import files
from ..errors import WriteError
from .ir import Graph
from .write import INLINE, write

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_FILE = 2_000_000_000
"""Bytes that fit into one ONNX file: a protobuf message ends at 2 GiB."""
PAGE = 4096
SMALL = 64
"""Arrays of a page and more begin at a page, so that they can be mapped; smaller ones at 64 bytes."""


@dataclass
class Note:
    """What is said about an input or output beside its type: a text, and ONNX's denotation ("IMAGE") or nothing."""

    text: str = ""
    denotation: str = ""


def save(
    graph: Graph,
    target: str | os.PathLike[str],
    *,
    beside: bool | None = None,
    metadata: Mapping[str, str] | None = None,
    notes: Mapping[str, Note] | None = None,
    defaults: Mapping[str, NDArray[Any]] | None = None,
    text: str = "",
) -> Path | None:
    """Writes ``graph`` to ``target``, all or nothing; returns the path of the weights' own file, None if there is none.

    ``beside``: weights in ``target`` + ".data"; by default where they do not fit into one file. ``notes`` describe
    inputs and outputs by name, ``defaults`` are the values of inputs that may be left out, ``text`` describes the
    model. Raises ``WriteError``.
    """
    from onnx import helper, numpy_helper

    from .. import __version__

    size = sum(value.data.nbytes for value in graph.constants() if value.data is not None)
    if beside is None:
        beside = size > MAX_FILE
    elif not beside and size > MAX_FILE:
        raise WriteError(
            f"the weights take {size:,} bytes, one ONNX file holds {MAX_FILE:,}",
            where=str(target),
            hint="keep them in a file beside it",
        )
    written = write(graph, inline=INLINE if beside else None, metadata=dict(metadata or {}))
    proto = written.model
    proto.ir_version = max(8, helper.find_min_ir_version_for(list(proto.opset_import)))
    proto.producer_version = __version__
    proto.doc_string = text
    for info in (*proto.graph.input, *proto.graph.output):
        note = (notes or {}).get(info.name)
        if note is not None:
            info.doc_string = note.text
            info.type.denotation = note.denotation
    for name, value in (defaults or {}).items():
        proto.graph.initializer.append(numpy_helper.from_array(value, name))
    if not written.weights:
        files.write(target, [proto.SerializeToString()])
        return None
    path = Path(f"{os.fspath(target)}.data")
    _place(proto, written.weights, path.name)
    # both lie on the disk before one of them takes its place: an old file beside new weights would answer wrongly
    with files.atomic(path) as file:
        for piece in _pieces(written.weights):
            file.write(piece)
        file.flush()
        files.write(target, [proto.SerializeToString()])
    return path


def _offsets(weights: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, int, int]]:
    """Name, padding in front and offset of each array."""
    at = 0
    for name, array in weights.items():
        step = PAGE if array.nbytes >= PAGE else SMALL
        begin = -(-at // step) * step
        yield name, begin - at, begin
        at = begin + array.nbytes


def _place(proto: Any, weights: Mapping[str, NDArray[Any]], location: str) -> None:
    places = {name: begin for name, _, begin in _offsets(weights)}
    for tensor in proto.graph.initializer:
        if tensor.name in places:
            del tensor.external_data[:]
            fields = {"location": location, "offset": places[tensor.name], "length": weights[tensor.name].nbytes}
            for key, value in fields.items():
                tensor.external_data.add(key=key, value=str(value))


def _pieces(weights: Mapping[str, NDArray[Any]]) -> Iterator[bytes | memoryview]:
    import numpy as np

    for name, padding, _ in _offsets(weights):
        yield bytes(padding)
        yield np.ascontiguousarray(weights[name]).reshape(-1).view(np.uint8).data
