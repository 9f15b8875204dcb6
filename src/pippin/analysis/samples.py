"""Inputs made up from a seed: what a model can be tried with when nobody gives any."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..coreml.features import Feature
    from ..coreml.model import Model
    from ..onnx_model import OnnxModel

OPEN = 8
"""The size that stands for one that is left open."""
FOLLOWED = {
    "copy", "reshape", "reshapeStatic", "reshapeLike", "reshapeDynamic", "rankPreservingReshape", "transpose",
    "permute", "expandDims", "squeeze", "flatten", "flattenTo2D", "clip", "sliceStatic", "slice", "splitND", "split",
}  # fmt: skip
"""Layers through which an index stays an index."""


def sample(
    model: Model | OnnxModel, seed: int = 0, shapes: Mapping[str, Sequence[int]] | None = None
) -> dict[str, Any]:
    """A value for every input that must be given, the same for the same seed.

    Pictures are noise over all levels, arrays standard normal numbers; where the network looks something up by an
    input, whole numbers that it has. ``shapes``: sizes other than the declared ones, (width, height) for pictures.
    """
    result: dict[str, Any] = {}
    limits = _indices(model)
    for name, entry in model.inputs.items():
        if entry.optional or entry.default is not None:
            continue
        shape = tuple((shapes or {}).get(name) or _shape(entry))
        result[name] = value(entry, seed, shape, limits.get(name))
    return result


def value(entry: Feature, seed: int, shape: Sequence[int], limit: int | None = None) -> Any:
    """One value of ``shape``; whole numbers below ``limit`` if it is given."""
    import numpy as np

    generator = np.random.default_rng([seed, zlib.crc32(entry.name.encode())])
    if entry.kind == "image":
        width, height = shape
        gray = (entry.color or "").startswith("GRAY")
        return generator.integers(0, 256, (height, width) if gray else (height, width, 3)).astype(np.uint8)
    if limit is not None:
        return generator.integers(0, max(limit, 1), shape).astype(np.float32)
    dtype = entry.dtype or "float32"
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype == "string":
        return np.full(shape, "a", object)
    if dtype.startswith(("int", "uint")):
        return generator.integers(0, 2, shape).astype(dtype)
    return generator.standard_normal(shape).astype(np.float32)


def _shape(entry: Feature) -> tuple[int, ...]:
    if entry.kind == "image":
        assert entry.size is not None
        if not entry.flexible or entry.flexible.allows(entry.size):
            return entry.size if min(entry.size) > 1 or not entry.flexible else (64, 64)
        return entry.size
    return tuple(size or OPEN for size in entry.shape or ())


def _indices(model: Any) -> dict[str, int]:
    """How many entries the tables have that are looked up by each input; inputs that are no index are left out."""
    if not hasattr(model, "document"):
        return {}
    limits: dict[str, int] = {}
    origin = {name: name for name in model.inputs}
    for layer in model.document.network.layers:
        kind = layer.WhichOneof("layer")
        sources = [origin.get(name) for name in layer.input]
        if kind in ("embedding", "embeddingND") and sources and sources[0]:
            count = int(layer.embedding.inputDim if kind == "embedding" else layer.embeddingND.vocabSize)
            limits[sources[0]] = min(count, limits.get(sources[0], count))
        if kind in ("gather", "gatherND", "gatherAlongAxis", "oneHot"):
            at = 0 if kind == "oneHot" else 1
            if len(sources) > at and sources[at]:
                limits.setdefault(str(sources[at]), 1)
        if kind in FOLLOWED and sources and sources[0]:
            for name in layer.output:
                origin[name] = sources[0]
    return limits


def variants(model: Model, limit: int = 3) -> list[dict[str, tuple[int, ...]]]:
    """Allowed shapes to try beside the declared ones: smallest and larger ones of ranges, the first of a list."""
    found: list[dict[str, tuple[int, ...]]] = []
    for turn in range(limit):
        shapes = {}
        for name, entry in model.inputs.items():
            flexible = entry.flexible
            if flexible is None:
                continue
            usual = entry.size or entry.shape or ()
            if flexible.shapes:
                shapes[name] = flexible.shapes[turn % len(flexible.shapes)]
            else:
                shapes[name] = tuple(
                    _within(low, high, size, turn) for (low, high), size in zip(flexible.ranges, usual, strict=False)
                )
        if shapes and shapes not in found:
            found.append(shapes)
    return found


def _within(low: int, high: int | None, usual: int, turn: int) -> int:
    """The smallest size, one between it and the usual one, and one above the usual one."""
    wanted = (max(low, 1), (max(low, 1) + usual + 1) // 2, usual + max(1, usual // 8))[turn % 3]
    return min(wanted, high) if high is not None else wanted
