"""``pippin.load``: a model from a file of either kind, told apart by its ending or its bytes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ReadError, UnsupportedError

if TYPE_CHECKING:
    from typing import TypeAlias

    from .coreml.model import Model
    from .coreml.read import Source
    from .onnx_model import OnnxModel

    AnyModel: TypeAlias = Model | OnnxModel

_GRAPH, _OPSETS, _DESCRIPTION, _FIRST_TYPE = 7, 8, 2, 200
"""Field numbers at the top of an ONNX file (graph, operator sets) and of a Core ML file (the types of model)."""


def load(
    source: Source,
    *,
    device: str = "cpu",
    threads: int | None = None,
    precision: str | None = None,
    custom_layers: Mapping[str, Any] | None = None,
    strict: bool = False,
    max_memory: int | None = None,
    mmap: bool = False,
) -> AnyModel:
    """Loads a Core ML neural network, or an ONNX model, from a path, bytes or a file object, ready to predict.

    ``threads``: threads of the network's own pool (default: all cores). ``custom_layers``: functions by class name, for
    this model only. ``strict``: refuse every error that ``pippin.check`` finds, not just what cannot run.
    ``mmap``: map the file instead of reading it, for files that nobody rewrites. ONNX files take ``threads`` alone.

    Raises ``ReadError`` for what is no model, ``UnsupportedError`` for what Pippin does not run, ``CheckError`` for a
    model that contradicts the format.
    """
    others: dict[str, Any] = {
        "device": device,
        "precision": precision,
        "custom_layers": custom_layers,
        "strict": strict,
    }
    others |= {"max_memory": max_memory, "mmap": mmap}
    held = (str, os.PathLike, bytes, bytearray, memoryview)
    if isinstance(source, held) and is_onnx(source):
        from . import onnx_model

        _only_threads(others)
        return onnx_model.load(source, threads=threads)
    if not isinstance(source, held) and hasattr(source, "read"):
        name = str(getattr(source, "name", "") or "model")
        content = source.read()
        if isinstance(content, bytes) and looks_like_onnx(memoryview(content)):
            from . import onnx_model

            _only_threads(others)
            return onnx_model.load(content, threads=threads, name=Path(name).name)
        source = _Named(content, name)  # type: ignore[assignment]
    from .coreml import model

    return model.load(
        source,
        device=device,
        threads=threads,
        precision=precision,
        custom_layers=custom_layers,
        strict=strict,
        max_memory=max_memory,
        mmap=mmap,
    )


def loaded(source: Source | AnyModel) -> AnyModel:
    """A model as it is, anything else loaded."""
    from .coreml.model import Model
    from .onnx_model import OnnxModel

    return source if isinstance(source, Model | OnnxModel) else load(source)


def _only_threads(options: Mapping[str, Any]) -> None:
    asked = [name for name, value in options.items() if value not in (None, False, "cpu", "float32") and value != {}]
    if asked:
        raise UnsupportedError(f"{asked[0]} is for Core ML models; an ONNX model takes threads alone")


class _Named:
    """The content of a file object that was read, under its name."""

    def __init__(self, content: Any, name: str) -> None:
        self.content, self.name = content, name

    def read(self) -> Any:
        return self.content


def is_onnx(source: Any) -> bool:
    """Whether ``source`` is a path that ends in .onnx, or bytes of an ONNX file."""
    if isinstance(source, (str, os.PathLike)):
        return Path(source).suffix.lower() == ".onnx"
    if isinstance(source, (bytes, bytearray, memoryview)):
        return looks_like_onnx(memoryview(source).cast("B"))
    return False


def looks_like_onnx(data: memoryview) -> bool:
    """By the fields at the top: ONNX has a graph and operator sets, Core ML a type of model."""
    seen = set()
    at = 0
    try:
        while at < len(data):
            key, at = _varint(data, at)
            number, wire = key >> 3, key & 7
            seen.add(number)
            if number >= _FIRST_TYPE or len(seen) > 100:
                return False
            if wire == 0:
                _, at = _varint(data, at)
            elif wire == 2:
                size, at = _varint(data, at)
                at += size
            elif wire in (1, 5):
                at += 8 if wire == 1 else 4
            else:
                return False
    except (ReadError, IndexError):
        return False
    return at == len(data) and {_GRAPH, _OPSETS} <= seen


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ReadError("a number is too long")
