"""Weights and blobs of a model as files: .npz or .safetensors."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import files
from ..errors import InputError, PippinError
from ..onnx_model import OnnxModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..loading import AnyModel

ENDINGS = (".npz", ".safetensors")
MAX_NAME = 2**16 - 1 - len(".npy")
"""Bytes that the name of a member of an archive may have."""
Arrays = Iterator[tuple[str, "NDArray[Any]"]]
_TYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
"""NumPy's names and those of safetensors."""


def weights(model: AnyModel, *, raw: bool = False) -> Arrays:
    """Every array of weights under "layer/field", one at a time: expanded to float32, or as the file stores them.

    Expanded: the shape in which the layer reads them. ``raw``: values as they lie, packed integers one byte each, with
    name.scale, name.bias, name.table and name.bits beside them. ONNX models: every initializer by its name, as it is;
    float8 and bfloat16 as float32, integers of less than a byte as bytes.
    """
    if isinstance(model, OnnxModel):
        yield from _initializers(model)
        return
    from ..coreml import tensors

    for name, slot in tensors.named(model):
        if raw:
            yield from tensors.stored(model, name, slot).items()
        else:
            yield name, tensors.expanded(model, slot)
    yield from tensors.means(model).items()


def _initializers(model: OnnxModel) -> Arrays:
    from onnx import numpy_helper

    folder = str(model.path.parent) if model.path is not None else ""
    for tensor in model.proto.graph.initializer:
        array = numpy_helper.to_array(tensor, base_dir=folder)
        if array.dtype.kind == "V":
            # types that files of arrays do not have, in the next that holds all of their values
            wider = {"int": "int8", "uint": "uint8"}.get(array.dtype.name.rstrip("0123456789"), "float32")
            array = array.astype(wider)
        if array.dtype.name in _TYPES:
            yield tensor.name, array


def blobs(model: AnyModel, data: Mapping[str, Any], names: Iterable[str] = ()) -> Arrays:
    """The blobs called ``names`` (all of them if there are none) for inputs as ``predict`` takes them."""
    for name, array in model.blobs(data, list(names) or None).items():
        if array.dtype.name in _TYPES:
            yield name, array


def write(arrays: Arrays, path: str | os.PathLike[str], note: Mapping[str, str] | None = None) -> list[tuple[str, Any]]:
    """Writes arrays to ``path``, all or nothing: an .npz archive, or a .safetensors file with ``note`` as metadata.

    Returns name and shape of each. Raises ``WriteError``, and ``InputError`` for another ending.
    """
    ending = Path(path).suffix
    if ending not in ENDINGS:
        raise InputError(f"the ending must be one of {', '.join(ENDINGS)}, got {ending or 'none'}", where=str(path))
    return (_npz if ending == ".npz" else _safetensors)(arrays, path, dict(note or {}))


def _npz(arrays: Arrays, path: str | os.PathLike[str], note: dict[str, str]) -> list[tuple[str, Any]]:
    import numpy as np

    told: list[tuple[str, Any]] = []
    with files.atomic(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        names: set[str] = set()
        for name, array in arrays:
            _name(name, names)
            # a name with slashes is a path in the archive; np.load gives it back as it was
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
            told.append((name, array.shape))
    return told


def _name(name: str, others: set[str]) -> None:
    """Adds ``name`` to those of an archive. Raises ``PippinError`` where one of them could not be told from another."""
    twins = {f"{name}.npy", name.removesuffix(".npy")} - {name}
    if "\0" in name or len(name.encode()) > MAX_NAME or twins & others:
        raise PippinError(
            f"an .npz file has no room for an array called {name[:80]!r}", hint="write a .safetensors file"
        )
    others.add(name)


def _safetensors(arrays: Arrays, path: str | os.PathLike[str], note: dict[str, str]) -> list[tuple[str, Any]]:
    """Eight bytes with the length of a JSON header, the header, then the arrays one after the other, little-endian."""
    import numpy as np

    held = [(name, np.ascontiguousarray(array).reshape(array.shape)) for name, array in arrays]
    header: dict[str, Any] = {"__metadata__": note} if note else {}
    at = 0
    for name, array in held:
        if name == "__metadata__":
            raise PippinError("a safetensors file has no room for an array called '__metadata__'")
        header[name] = {
            "dtype": _TYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    little = (array.astype(array.dtype.newbyteorder("<"), copy=False) for _, array in held)
    pieces = (array.reshape(-1).view(np.uint8).data for array in little)
    files.write(path, _chain(len(text).to_bytes(8, "little"), text, pieces))
    return [(name, array.shape) for name, array in held]


def _chain(size: bytes, header: bytes, pieces: Iterable[memoryview]) -> Iterator[bytes | memoryview]:
    yield size
    yield header
    yield from pieces
