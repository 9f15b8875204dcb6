"""Whether the shapes fit: the network is lowered for every kind of input size that it declares, without running it.

Tried are the default size, every enumerated one, the lower end of the ranges and twice the default. Where the default
fits and another size does not, the layer that refuses is the one that pins the size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import CheckError, PippinError, UnsupportedError
from ..features import Feature, feature
from ..lower import lower
from ..lower import place as place_of
from ..weights import Weights
from ..wire import View
from . import versions
from .beyond import layers_of
from .report import Findings, Place, count, show

_MOST = 64
"""Sizes that are tried at most."""
_BUDGET = 20_000
"""Layers that are lowered at most, all tries together: a bound on time, far above what real networks need."""
_SAMPLED = 4096
"""Weights of more values are not read: their shape alone matters here."""

Sizes = dict[str, tuple[int, ...]]


class Shells(Weights):
    """Weights of which only small ones are read; of others only the shape is right."""

    def array(
        self, params: Any, shape: Sequence[int], *, axis: int | tuple[int, ...] = 0, name: str = "weights"
    ) -> Any:
        import numpy as np

        if math.prod(shape) <= _SAMPLED or self.count(params) < math.prod(shape):
            return super().array(params, shape, axis=axis, name=name)
        return np.broadcast_to(np.float32(0.5), tuple(shape))


@dataclass
class Fitted:
    """The true shapes of all blobs for the default size."""

    shapes: Mapping[str, Sequence[int | str]]


def check_fit(model: Any, place: Place, findings: Findings, views: Sequence[View]) -> Fitted | None:
    """Adds what does not fit; returns the shapes for the default size, None where they are not known."""
    network = getattr(model, model.WhichOneof("Type"))
    try:
        inputs = {entry.name: feature(entry) for entry in model.description.input}
    except CheckError:
        return None
    if any(entry.kind not in ("image", "multiarray") for entry in inputs.values()):
        return None
    attempt = _Attempt(network, inputs, Shells(views), place, findings)
    if attempt.legacy and any(entry.kind == "multiarray" for entry in inputs.values()):
        # how many steps a sequence has is declared nowhere, so a misfit with one says nothing
        attempt.quiet = True
    fitted = None
    cost = max(1, sum(1 for _ in layers_of(network, Place())))
    for index, (label, sizes) in enumerate(_sizes(inputs)):
        if index == _MOST or (index + 1) * cost > _BUDGET:
            message = f"{count(index, 'size')} of those declared were tried, not {label} and what follows"
            findings.add("sizes-not-tried", place, "description.input", message=message)
            break
        shapes = attempt.run(label, sizes)
        if index == 0:
            if shapes is None and attempt.failed:
                return None
            fitted = Fitted(shapes) if shapes is not None else None
    return fitted


def _sizes(inputs: Mapping[str, Feature]) -> Iterator[tuple[str, Sizes]]:
    """What is tried: a text and the size of each input; the default comes first."""
    default: Sizes = {name: _default(entry) for name, entry in inputs.items()}
    yield "the default size", default
    for name, entry in inputs.items():
        for shape in entry.flexible.shapes if entry.flexible else ():
            if shape != default[name]:
                yield f"the size {show(shape)} of input {show(name)}", default | {name: shape}
    ranged = {name: entry.flexible.ranges for name, entry in inputs.items() if entry.flexible and entry.flexible.ranges}
    if not ranged:
        return
    lowest = {name: tuple(max(low, 1) for low, _ in ranges) for name, ranges in ranged.items()}
    yield f"the lower end of the ranges, {_told(lowest)}", default | lowest
    twice = {
        name: tuple(
            2 * size if high is None else max(low, min(2 * size, high))
            for size, (low, high) in zip(default[name], ranges, strict=False)
        )
        for name, ranges in ranged.items()
    }
    yield f"twice the default size, {_told(twice)}", default | twice


def _told(sizes: Sizes) -> str:
    return ", ".join(f"{show(name)} {show(shape)}" for name, shape in sizes.items())


def _default(entry: Feature) -> tuple[int, ...]:
    return (entry.size if entry.kind == "image" else entry.shape) or ()


@dataclass
class _Attempt:
    """Lowers one network again and again; each problem is told once."""

    network: Any
    inputs: Mapping[str, Feature]
    weights: Weights
    place: Place
    findings: Findings
    failed: bool = False
    quiet: bool = False

    def run(self, label: str, sizes: Sizes) -> Mapping[str, Sequence[int | str]] | None:
        """The shapes of all blobs for inputs of ``sizes``; None where they do not fit or are not known."""
        blobs = {name: self.blob(entry, sizes[name]) for name, entry in self.inputs.items()}
        if any(shape is None or min(shape, default=1) < 1 for shape in blobs.values()):
            return None
        shapes: dict[str, Sequence[int]] = {name: shape for name, shape in blobs.items() if shape is not None}
        try:
            _, lowerer = lower(self.network, self.weights, shapes, rank5=self.legacy)
        except UnsupportedError as error:
            self.add("not-supported", error, error.message)
            return None
        except (CheckError, MemoryError) as error:
            self.add("shape-misfit", error, f"for {label}: {getattr(error, 'message', 'more memory than there is')}")
            return None
        return {name: blob.shape() for name, blob in lowerer.blobs.items()}

    @property
    def legacy(self) -> bool:
        kinds = {entry.kind for entry in self.inputs.values()}
        if "multiarray" in kinds:
            return bool(self.network.arrayInputShapeMapping == 0)
        return bool(self.network.imageInputShapeMapping == 0)

    def blob(self, entry: Feature, size: tuple[int, ...]) -> tuple[int, ...] | None:
        """The shape of the blob that an input of ``size`` becomes."""
        if entry.kind == "image":
            return (1, 1 if (entry.color or "").startswith("GRAYSCALE") else 3, size[1], size[0])
        if not self.legacy:
            return size
        return {1: (1, *size, 1, 1), 3: (1, *size)}.get(len(size))

    def add(self, code: str, error: BaseException, message: str) -> None:
        self.failed = self.failed or code == "shape-misfit"
        where = self.layer(error.where if isinstance(error, PippinError) else "")
        told = code == "not-supported" and where.kind == "custom"  # there is a note on these already
        told = told or (self.quiet and code == "shape-misfit")
        if not told and not any(old.code == code and old.where == where.text for old in self.findings.items):
            hint = error.hint if isinstance(error, PippinError) and error.hint else None
            self.findings.add(code, where, message=message, hint=hint)

    def layer(self, where: str) -> Place:
        """The place in the model that an error of the lowering names."""
        for index, layer in enumerate(self.network.layers):
            called = place_of(layer, index)
            if where == called or where.startswith(f"{called}: "):
                inside = self.place.of_layer(index, layer.name, layer.WhichOneof("layer"))
                rest = where.removeprefix(called).removeprefix(": ")
                return inside.inside(rest) if rest else inside
        return self.place.inside(where) if where else self.place


def check_outputs(model: Any, fitted: Fitted, place: Place, findings: Findings) -> None:
    """Declared shapes of outputs hold as many numbers as the network yields."""
    for entry in model.description.output:
        shape = fitted.shapes.get(entry.name)
        if shape is None or not all(isinstance(size, int) for size in shape):
            continue
        sizes = [int(size) for size in shape]
        where = versions.feature_place(place, "output", entry)
        try:
            declared = feature(entry)
        except CheckError:
            continue
        if declared.kind == "multiarray" and declared.shape and not declared.flexible:
            if math.prod(declared.shape) != math.prod(sizes) and 0 not in declared.shape:
                found = f"{show(declared.shape)}, {count(math.prod(declared.shape), 'number')}"
                findings.add("output-shape", where, "type.multiArrayType.shape", f"hold {show(sizes)}", found)
        elif declared.kind == "image" and declared.size and not declared.flexible:
            wanted = [1 if (declared.color or "").startswith("GRAYSCALE") else 3, declared.size[1], declared.size[0]]
            if sizes[-3:] != wanted:
                findings.add("output-shape", where, "type.imageType", f"describe {show(sizes)}", show(wanted))
