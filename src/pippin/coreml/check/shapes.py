"""Shape inference of networks on five axes: a range of sizes for each axis of each blob, narrowed layer by layer.

A contradiction is a warning: such a network loads on Apple's systems and fails when it runs. Axes are sequence, batch,
channel, height and width; a range is ``(low, high)``, ``high`` infinite where nothing bounds it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .report import Findings, Place, show

S, B, C, H, W = range(5)
AXES = ("sequence", "batch", "channel", "height", "width")
_GRAYSCALE = (10, 40)
_PASSES = 6

Range = tuple[int, float]
ANY: Range = (0, math.inf)
ONE: Range = (1, 1)


class Conflict(Exception):
    """Two demands on one axis of a blob contradict each other."""

    def __init__(self, text: str, required: str = "", found: str = "") -> None:
        super().__init__(text)
        self.text, self.required, self.found = text, required, found


@dataclass
class Shapes:
    """The ranges of every blob."""

    blobs: dict[str, list[Range]] = field(default_factory=dict)
    changed: bool = False

    def of(self, blob: str) -> list[Range]:
        return self.blobs.setdefault(blob, [ANY] * 5)

    def get(self, blob: str, axis: int) -> Range:
        return self.of(blob)[axis]

    def meet(self, blob: str, axis: int, wanted: Range) -> None:
        """Narrows an axis of ``blob`` to ``wanted``; raises ``Conflict`` where nothing is left."""
        ranges = self.of(blob)
        low, high = ranges[axis]
        narrowed = max(low, wanted[0]), min(high, wanted[1])
        if narrowed[0] > narrowed[1]:
            raise Conflict(f"the {AXES[axis]} of {show(blob)}", f"be {told(wanted)}", told((low, high)))
        if narrowed != (low, high):
            ranges[axis] = narrowed
            self.changed = True

    def fix(self, blob: str, sizes: dict[int, int]) -> None:
        for axis, size in sizes.items():
            self.meet(blob, axis, (size, size))

    def equal(self, first: str, second: str, axes: Iterable[int] = range(5)) -> None:
        """The axes of two blobs are the same."""
        for axis in axes:
            self.meet(second, axis, self.get(first, axis))
            self.meet(first, axis, self.get(second, axis))


def told(range_: Range) -> str:
    """``3``, ``at least 2``, ``2 to 5``."""
    low, high = range_
    if low == high:
        return str(low)
    return f"at least {low}" if high == math.inf else f"{low} to {int(high)}"


def plus(range_: Range, amount: int) -> Range:
    low, high = range_
    return max(0, low + amount), max(0, high + amount)


def times(range_: Range, factor: int) -> Range:
    low, high = range_
    return low * factor, high * factor if factor else (0 if high != math.inf else math.inf)


def over(range_: Range, divisor: int, *, up: bool = False) -> Range:
    """Divided, rounded down or ``up``."""
    if divisor <= 0:
        raise Conflict("a stride, block or number of parts", "be above 0", str(divisor))
    low, high = range_
    if up:
        return -(-low // divisor), high if high == math.inf else -(-int(high) // divisor)
    return low // divisor, high if high == math.inf else int(high) // divisor


def hull(ranges: Sequence[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def check_shapes(model: Any, network: Any, place: Place, findings: Findings) -> Shapes | None:
    """Infers all shapes; contradictions become warnings. Returns None if there was one."""
    from .shape_rules import RULES

    shapes = Shapes()
    sound = True

    def report(conflict: Conflict, where: Place) -> None:
        nonlocal sound
        sound = False
        findings.add("shape-conflict", where, conflict.text, conflict.required, conflict.found)

    for feature in model.description.input:
        try:
            _constrain(shapes, feature, known=True)
        except Conflict as conflict:
            report(conflict, place.inside(f"input {show(feature.name)}"))
    dead: set[int] = set()
    for _ in range(_PASSES):
        shapes.changed = False
        for index, layer in enumerate(network.layers):
            kind = layer.WhichOneof("layer")
            if index in dead or kind not in RULES or (not layer.input and kind != "loadConstant") or not layer.output:
                continue
            try:
                RULES[kind](shapes, layer, getattr(layer, kind))
            except Conflict as conflict:
                dead.add(index)
                report(conflict, place.of_layer(index, layer.name, kind))
        if not shapes.changed:
            break
    predicted = (model.description.predictedFeatureName, model.description.predictedProbabilitiesName)
    for feature in model.description.output:
        if feature.name in predicted or feature.name not in shapes.blobs:
            continue
        try:
            _constrain(shapes, feature, known=False)
        except Conflict as conflict:
            report(conflict, place.inside(f"output {show(feature.name)}"))
    return shapes if sound else None


def _constrain(shapes: Shapes, feature: Any, *, known: bool) -> None:
    """What a feature description says about its blob; ``known`` for inputs, whose flexibility counts."""
    chosen = feature.type.WhichOneof("Type")
    if chosen == "imageType":
        _constrain_image(shapes, feature.name, feature.type.imageType)
    elif chosen == "multiArrayType":
        _constrain_array(shapes, feature.name, feature.type.multiArrayType, known)


def _bounds(range_: Any) -> Range:
    return int(range_.lowerBound), math.inf if range_.upperBound < 0 else int(range_.upperBound)


def _constrain_image(shapes: Shapes, name: str, image: Any) -> None:
    shapes.fix(name, {C: 1 if image.colorSpace in _GRAYSCALE else 3})
    flexible = image.WhichOneof("SizeFlexibility")
    for axis, size in ((H, "height"), (W, "width")):
        if flexible == "enumeratedSizes" and len(image.enumeratedSizes.sizes):
            sizes = [int(getattr(entry, size)) for entry in image.enumeratedSizes.sizes]
            shapes.meet(name, axis, (min(sizes), max(sizes)))
        elif flexible == "imageSizeRange":
            shapes.meet(name, axis, _bounds(getattr(image.imageSizeRange, f"{size}Range")))
        else:
            shapes.fix(name, {axis: getattr(image, size)})


def _constrain_array(shapes: Shapes, name: str, array: Any, known: bool) -> None:
    flexible = array.WhichOneof("ShapeFlexibility")
    ranges: list[Range] = []
    if flexible == "enumeratedShapes" and len(array.enumeratedShapes.shapes):
        entries = [list(entry.shape) for entry in array.enumeratedShapes.shapes]
        rank = len(entries[0])
        if any(len(entry) != rank for entry in entries):
            raise Conflict("enumeratedShapes", "have shapes of one rank", show(sorted({len(e) for e in entries})))
        ranges = [(min(dims), max(dims)) for dims in zip(*entries, strict=True)]
    elif flexible == "shapeRange":
        ranges = [_bounds(range_) for range_ in array.shapeRange.sizeRanges]
    if ranges:
        if len(ranges) == 1:
            shapes.meet(name, C, ranges[0])
        elif len(ranges) == 3:
            for axis, range_ in zip((C, H, W), ranges, strict=True):
                shapes.meet(name, axis, range_)
        elif known:
            raise Conflict("the flexible shape", "have 1 or 3 dims", str(len(ranges)))
    elif known and len(array.shape):
        sizes = [*array.shape[:3], 1, 1][:3] if len(array.shape) == 3 else [array.shape[0], 1, 1]
        shapes.fix(name, dict(zip((C, H, W), sizes, strict=True)))
    elif len(array.shape) in (1, 3):
        shapes.fix(name, dict(zip((C, H, W), array.shape, strict=False)))


def probabilities(model: Any, shapes: Shapes | None) -> int | None:
    """How many class probabilities a network yields, None where that is not fixed or not known."""
    if shapes is None or model.WhichOneof("Type") != "neuralNetworkClassifier":
        return None
    name = _probability_blob(model, shapes.blobs)
    ranges = [shapes.get(name, axis) for axis in (C, H, W)] if name else [ANY]
    if any(low != high for low, high in ranges):
        return None
    return math.prod(low for low, _ in ranges)


def probabilities_of(model: Any, shapes: Mapping[str, Sequence[int | str]]) -> int | None:
    """The same from the true shapes of all blobs."""
    if model.WhichOneof("Type") != "neuralNetworkClassifier":
        return None
    shape = shapes.get(_probability_blob(model, shapes) or "", [""])
    sizes = [size for size in shape if isinstance(size, int)]
    return math.prod(sizes) if len(sizes) == len(shape) else None


def _probability_blob(model: Any, known: Mapping[str, Any]) -> str | None:
    """The blob of class probabilities: the one that is named, else the output of the last layer."""
    network = model.neuralNetworkClassifier
    names = [network.labelProbabilityLayerName, model.description.predictedProbabilitiesName]
    if len(network.layers):
        names += network.layers[-1].output[:1]
    return next((name for name in names if name in known), None)
