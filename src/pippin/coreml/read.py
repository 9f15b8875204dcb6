"""Reads a Core ML model from a path, bytes or a file object into a ``Document``.

The bytes of the weights stay where they are (see ``wire``); only the rest is parsed. A file is read whole by default,
so that a loaded model survives whatever happens to its file; ``mmap=True`` maps it, for files nobody rewrites.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

from .. import files
from ..errors import ReadError, UnsupportedError
from ..runtime.backing import Backing
from . import schema, wire

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]

NETWORKS = ("neuralNetwork", "neuralNetworkClassifier", "neuralNetworkRegressor")
"""The model types that hold a neural network."""


@dataclass
class Document:
    """A model file in memory.

    ``model`` is the ``Model`` message without its weights, ``views`` are the weights that were cut out, ``name`` is
    what to call the file in messages, ``path`` where it lies (None for bytes), ``size`` its length in bytes,
    ``backing`` the file as it was read, if there is one.
    """

    model: Any
    views: list[wire.View] = field(default_factory=list)
    name: str = "model"
    path: Path | None = None
    size: int = 0
    backing: Backing | None = None

    @property
    def type(self) -> str | None:
        """The name of the model type as in the format (``"neuralNetworkClassifier"``); None if none is set."""
        kind: str | None = self.model.WhichOneof("Type")
        return kind

    @property
    def network(self) -> Any:
        """The message that holds layers and preprocessing.

        Raises ``UnsupportedError`` for model types without a neural network, ``ReadError`` if there is no type at all.
        """
        kind = self.type
        if kind in NETWORKS:
            return getattr(self.model, kind)
        if kind is None:
            raise ReadError(
                "the file describes a model but holds none (no model type is set)",
                where=self.name,
                hint="it was probably cut off or written by an unfinished conversion",
            )
        raise UnsupportedError(
            f"the model is of type {kind}; Pippin runs {', '.join(NETWORKS)}",
            where=self.name,
            hint=_other_type(self.model, kind, self.name),
        )


def _other_type(model: Any, kind: str, name: str) -> str:
    """What can be done about a model that is no neural network."""
    if kind == "mlProgram":
        return "an ML Program is another format; convert the original again with convert_to='neuralnetwork'"
    if not kind.startswith("pipeline"):
        return ""
    holder = getattr(model, kind)
    inside = (holder if kind == "pipeline" else holder.pipeline).models
    kinds = [str(part.WhichOneof("Type")) for part in inside]
    networks = [index for index, part in enumerate(kinds) if part in NETWORKS]
    if not networks:
        return f"none of its models is a neural network: {', '.join(dict.fromkeys(kinds)) or 'it is empty'}"
    numbers = " or ".join(map(str, networks))
    return f"take a network out of it: pippin edit {name} --take {numbers} -o network.mlmodel"


def read(source: Source, *, mmap: bool = False) -> Document:
    """Reads ``source``: a path of a ``.mlmodel`` file or ``.mlpackage`` folder, bytes, or a binary file object.

    Raises ``ReadError`` for what is no model, before anything that is only declared is allocated.
    """
    name, path, backing = "model", None, None
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        name = path.name or str(path)
        try:
            path = _locate(path)
            mode = path.stat().st_mode
            if stat.S_IFMT(mode) in (stat.S_IFCHR, stat.S_IFBLK):
                raise ReadError("a device is no file of a model")
            noted = Backing.note(path) if stat.S_ISREG(mode) else None  # a pipe cannot be read again
            data = _map(path) if mmap else files.read(path)
            backing = Backing(*noted, data, mmap) if noted is not None else None
        except ReadError as error:
            raise error.at(name) from None
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}", where=str(source)) from None
        except ValueError as error:  # a zero in the path
            raise ReadError(f"cannot be read: {error}", where=repr(str(source))) from None
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data = memoryview(source).cast("B") if not isinstance(source, bytearray) else memoryview(bytes(source))
    elif hasattr(source, "read"):
        name = Path(str(getattr(source, "name", "") or "model")).name
        content = source.read()
        if not isinstance(content, bytes):
            raise ReadError("the file object yields text; open it with mode 'rb'", where=name)
        data = memoryview(content)
    else:
        raise ReadError(f"a model comes from a path, bytes or a file object, not from {type(source).__name__}")
    try:
        model, views = parse(data)
    except ReadError as error:
        raise error.at(name) from None
    return Document(model, views, name, path, len(data), backing)


def parse(data: memoryview) -> tuple[Any, list[wire.View]]:
    """Parses serialised bytes: the ``Model`` message and the weights cut out of it."""
    from google.protobuf.message import DecodeError

    from ..loading import looks_like_onnx

    _refuse_lookalikes(data)
    if looks_like_onnx(data):
        raise ReadError(
            "the file is an ONNX model, not a Core ML one",
            hint="pippin run, inspect, compare, dump, profile and convert (to .nnrt) take it as it is",
        )
    rest, views = wire.cut(data)
    try:
        model = schema.message("Model").FromString(rest)
    except DecodeError as error:
        raise ReadError(f"the file is no Core ML model: {_reason(error)}", hint=_DAMAGED) from None
    if not model.specificationVersion and not model.HasField("description") and model.WhichOneof("Type") is None:
        raise ReadError("the file is no Core ML model: it has no version, no description and no model", hint=_DAMAGED)
    return model, views


_DAMAGED = "the file is truncated, damaged or of another format"


def _reason(error: Exception) -> str:
    text = str(error)
    if "UTF-8" in text or "utf-8" in text:
        return "a text is not valid UTF-8"
    if "depth" in text.lower():
        return "messages are nested too deep"
    return "its messages do not parse"


_PICTURE = "a picture", "the model comes first: pippin run MODEL PICTURE"
_ORIGINAL = "convert the original to Core ML, with coremltools"
OTHERS = (
    (0, b"\x89PNG", *_PICTURE),
    (0, b"\xff\xd8\xff", *_PICTURE),
    (0, b"\x93NUMPY", "an array", "the model comes first: pippin run MODEL NAME=ARRAY"),
    (0, b"\x89HDF\r\n", "an HDF5 file, as Keras writes them", _ORIGINAL),
    (4, b"TFL3", "a TensorFlow Lite model", _ORIGINAL),
)
"""Where and how other files begin, what they are, and what to do."""


def _refuse_lookalikes(data: memoryview) -> None:
    """Says what a file is that often goes by the name .mlmodel without being one."""
    head = bytes(data[:200])
    if not head:
        raise ReadError("the file is empty")
    if head.startswith(b"version https://git-lfs"):
        raise ReadError("the file is a Git LFS pointer, not the model itself", hint="run: git lfs pull")
    if head.startswith(b"PIPNNRT\n"):
        raise ReadError(
            "the file is an NNRt model, not a Core ML one",
            hint="pippin run, inspect and check take it as it is; in Python pippin.nnrt.load_model reads it",
        )
    for at, magic, what, hint in OTHERS:
        if head[at:].startswith(magic):
            raise ReadError(f"the file is {what}, not a Core ML model", hint=hint)
    if head.startswith(b"PK\x03\x04"):
        raise ReadError("the file is a zip archive", hint="unpack it and load the .mlmodel or .mlpackage inside")
    line = head.strip()
    path = len(data) < 4096 and line.isascii() and line.decode().isprintable() and b"/" in line
    if path and not line.startswith((b"<", b"{", b"[")):
        raise ReadError(
            f"the file holds text ({line.decode()[:60]!r}), not a model",
            hint="it looks like a symbolic link that was stored as a file",
        )
    if head.isascii() and all(byte >= 32 or byte in b"\t\n\r\f" for byte in head):
        page = head.lstrip()[:1] == b"<"
        raise ReadError(
            f"the file holds text ({' '.join(head.decode().split())[:60]!r}), not a model",
            hint="a web page was saved in place of the file" if page else "",
        )


def _map(path: Path) -> memoryview:
    import mmap

    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _locate(path: Path) -> Path:
    """The file that holds the model: ``path`` itself, or what the manifest of an ``.mlpackage`` names."""
    if not path.is_dir():
        return path
    if path.suffix == ".mlmodelc":
        raise ReadError("a compiled model (.mlmodelc) cannot be read", hint="use the .mlmodel it was compiled from")
    manifest = path / "Manifest.json"
    if not manifest.is_file():
        raise ReadError("the folder has no Manifest.json, so it is no .mlpackage")
    try:
        content = json.loads(manifest.read_bytes())
        entry = content["itemInfoEntries"][content["rootModelIdentifier"]]["path"]
        if not isinstance(entry, str):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ReadError("Manifest.json names no root model") from None
    inside = PurePosixPath(entry)
    target = path / "Data" / inside
    if inside.is_absolute() or ".." in inside.parts or not target.resolve().is_relative_to(path.resolve()):
        raise ReadError(f"Manifest.json points outside the package: {entry!r}")
    if not target.is_file():
        raise ReadError(f"Manifest.json names {entry!r}, which is not in the package")
    return target
