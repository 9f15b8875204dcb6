"""Sizes: other default sizes, ranges and lists of sizes. The network is tried with them; outputs follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import CheckError, InputError, PippinError, UnsupportedError
from ..check import versions
from ..features import Feature, feature
from ..read import Document
from .preprocessing import entries_of
from .step import Step, feature_of, need_version, network_of

Range = tuple[int, int | None]
Sizes = dict[str, tuple[int, ...]]
_FAR = 1 << 14
"""Sizes above this are not tried; what follows from them is declared as unlimited."""


def set_flexible(
    document: Document,
    name: str,
    *,
    ranges: Sequence[Range] = (),
    shapes: Sequence[Sequence[int]] = (),
) -> Step:
    """Lets an input have other sizes: a range (lowest, highest or None) for each dim, or a list of shapes.

    For pictures a shape is (width, height). Declared shapes of outputs that follow the input are made flexible too.
    Raises ``InputError`` where the default is not among them, ``CheckError`` where the network cannot take one, with
    the layer that pins the size.
    """
    entry = feature(feature_of(document, name, "input"))
    if bool(ranges) == bool(shapes):
        raise InputError("sizes are either ranges or a list of shapes")
    usual = _usual(entry)
    if ranges:
        _valid_ranges(entry, usual, ranges)
    elif tuple(usual) not in {tuple(shape) for shape in shapes} or any(len(s) != len(usual) for s in shapes):
        raise InputError(f"the shapes must have {len(usual)} sizes each, the default {list(usual)} among them")
    if any(size < 1 for shape in shapes for size in shape):
        raise InputError("sizes must be positive")
    _unpinned(document, entry)
    _set(document, name, ranges, shapes)
    need_version(document, versions.FLEXIBLE_SHAPES)
    _follow(document)
    after = feature(feature_of(document, name, "input"))
    return Step(f"make the sizes of {name!r} flexible: {after.flexible}")


def set_fixed(document: Document, name: str) -> Step:
    """Takes the flexible sizes of an input or output away: only the default size is left.

    Outputs that have become fixed with that stay as they are declared.
    """
    description = document.model.description
    side = "input" if any(entry.name == name for entry in description.input) else "output"
    entry = feature_of(document, name, side)
    kind = entry.type.WhichOneof("Type")
    usual = feature(entry)
    if usual.flexible is None:
        return Step(f"fix the size of {name!r}: it is fixed", "none")
    for message in [entry, *(e for e in description.trainingInput if e.name == name and side == "input")]:
        _clear(message)
        if kind == "imageType":
            message.type.imageType.width, message.type.imageType.height = usual.size or (0, 0)
        elif not len(message.type.multiArrayType.shape):
            message.type.multiArrayType.shape.extend(usual.shape or ())
    return Step(f"fix the size of {name!r}: {feature(entry)}")


def set_size(document: Document, name: str, size: Sequence[int]) -> Step:
    """Declares another default size of an input: a shape, or (width, height) of a picture.

    Declared shapes of outputs follow. Raises ``InputError`` for a size that is not among the flexible ones,
    ``CheckError`` where the network cannot take it, with the layer that pins the size.
    """
    entry = feature(feature_of(document, name, "input"))
    usual = _usual(entry)
    if (entry.kind == "image" and len(size) != 2) or min(size, default=0) < 1:
        raise InputError(
            f"{name!r} wants {'(width, height)' if entry.kind == 'image' else 'a shape'}, got {list(size)}"
        )
    if entry.flexible and not entry.flexible.allows(size):
        raise InputError(f"{list(size)} is not among the sizes of {name!r}: {entry.flexible}")
    _unpinned(document, entry)
    before = _outputs(document, {})
    for message in _messages(document, name):
        if entry.kind == "image":
            message.type.imageType.width, message.type.imageType.height = size
        else:
            del message.type.multiArrayType.shape[:]
            message.type.multiArrayType.shape.extend(size)
    after = _outputs(document, {}, strict=True)
    for output in document.model.description.output:
        old, new = before.get(output.name), after.get(output.name)
        if old and new and old != new:
            _resize(output, new)
    return Step(f"make {tuple(size)} the size of {name!r}, it was {tuple(usual)}", "differs")


# -- the declaration ---------------------------------------------------------------------------------------------------


def _usual(entry: Feature) -> tuple[int, ...]:
    if entry.kind not in ("image", "multiarray"):
        raise InputError(f"{entry.name!r} must be an image or an array to have a size, it is a {entry.kind}")
    return (entry.size if entry.kind == "image" else entry.shape) or ()


def _messages(document: Document, name: str) -> list[Any]:
    description = document.model.description
    return [entry for side in (description.input, description.trainingInput) for entry in side if entry.name == name]


def _valid_ranges(entry: Feature, usual: Sequence[int], ranges: Sequence[Range]) -> None:
    if len(ranges) != len(usual):
        raise InputError(f"{entry.name!r} has {len(usual)} sizes {list(usual)}, got {len(ranges)} ranges")
    for size, (low, high) in zip(usual, ranges, strict=True):
        if low < 1 or (high is not None and high < low):
            raise InputError(f"a range must be (lowest, highest) with 1 <= lowest <= highest, got {(low, high)}")
        if size < low or (high is not None and size > high):
            raise InputError(
                f"the default {list(usual)} of {entry.name!r} must lie within the ranges, {size} is not in"
                f" {low} to {high}",
                hint="set another default first: set_size(...), --set-size",
            )


def _unpinned(document: Document, entry: Feature) -> None:
    """Raises where a mean image pins the size of a picture."""
    if entry.kind != "image":
        return
    if any(m.WhichOneof("preprocessor") == "meanImage" for m in entries_of(document, entry.name)):
        raise CheckError(
            f"the mean image pins the size of {entry.name!r}",
            hint="set another preprocessing first: set_preprocessing(...), --set-preprocessing",
        )


def _clear(message: Any) -> None:
    kind = message.type.WhichOneof("Type")
    fields = {
        "imageType": ("enumeratedSizes", "imageSizeRange"),
        "multiArrayType": ("enumeratedShapes", "shapeRange"),
    }[kind]
    for field in fields:
        getattr(message.type, kind).ClearField(field)


def _set(document: Document, name: str, ranges: Sequence[Range], shapes: Sequence[Sequence[int]]) -> None:
    for message in _messages(document, name):
        _fill(message, ranges, shapes)


def _fill(message: Any, ranges: Sequence[Range], shapes: Sequence[Sequence[int]]) -> None:
    """Declares ranges or shapes on an input or output."""
    usual = _usual(feature(message))
    _clear(message)
    if message.type.WhichOneof("Type") == "imageType":
        image = message.type.imageType
        image.width, image.height = usual
        for shape in shapes:
            image.enumeratedSizes.sizes.add(width=shape[0], height=shape[1])
        for target, (low, high) in zip(("widthRange", "heightRange"), ranges, strict=False):
            bounds = getattr(image.imageSizeRange, target)
            bounds.lowerBound, bounds.upperBound = low, -1 if high is None else high
        return
    array = message.type.multiArrayType
    if not len(array.shape):
        array.shape.extend(usual)
    for shape in shapes:
        array.enumeratedShapes.shapes.add(shape=shape)
    for low, high in ranges:
        array.shapeRange.sizeRanges.add(lowerBound=low, upperBound=-1 if high is None else high)


# -- what follows ------------------------------------------------------------------------------------------------------


def _outputs(document: Document, sizes: Mapping[str, Sequence[int]], *, strict: bool = False) -> dict[str, list[int]]:
    """The shapes of the output blobs for inputs of ``sizes`` (default: as declared); empty where they are not known.

    ``strict``: a size that does not fit raises ``CheckError``.
    """
    from ..check.fit import Shells
    from ..lower import lower

    network = network_of(document)
    inputs = {entry.name: feature(entry) for entry in document.model.description.input}
    arrays = any(entry.kind == "multiarray" for entry in inputs.values())
    legacy = (network.arrayInputShapeMapping if arrays else network.imageInputShapeMapping) == 0
    blobs: dict[str, tuple[int, ...]] = {}
    for name, entry in inputs.items():
        size = tuple(sizes.get(name) or _usual(entry))
        if entry.kind == "image":
            blobs[name] = (1, 1 if (entry.color or "").startswith("GRAY") else 3, size[1], size[0])
        elif legacy:
            blobs[name] = {1: (1, *size, 1, 1), 3: (1, *size)}.get(len(size), size)
        else:
            blobs[name] = size
    if any(size < 1 for shape in blobs.values() for size in shape):
        return {}
    try:
        _, lowerer = lower(network, Shells(document.views), blobs, rank5=legacy)
    except UnsupportedError:
        return {}
    except PippinError as error:
        if strict:
            told = ", ".join(f"{name!r} {list(size)}" for name, size in sizes.items()) or "the declared size"
            raise CheckError(f"the network does not take {told}: {error}") from None
        return {}
    found = {}
    for entry in document.model.description.output:
        if entry.name in lowerer.blobs:
            shape = lowerer.blobs[entry.name].shape()
            if all(isinstance(size, int) for size in shape):
                found[entry.name] = [int(size) for size in shape]
    return found


def _tries(document: Document) -> tuple[list[Sizes], bool]:
    """Sizes to try beside the default: all enumerated ones, or the ends of ranges; and whether a range has no end."""
    inputs = {entry.name: feature(entry) for entry in document.model.description.input}
    tries: list[Sizes] = []
    endless = False
    low, high = {}, {}
    for name, entry in inputs.items():
        if not entry.flexible:
            continue
        usual = _usual(entry)
        tries += [{name: tuple(shape)} for shape in entry.flexible.shapes[:32] if tuple(shape) != tuple(usual)]
        if entry.flexible.ranges:
            tops = [top if top is not None and top <= _FAR else None for _, top in entry.flexible.ranges]
            endless = endless or None in tops
            low[name] = tuple(max(bottom, 1) for bottom, _ in entry.flexible.ranges)
            high[name] = tuple(2 * size if top is None else top for size, top in zip(usual, tops, strict=False))
    return tries + ([low, high] if low else []), endless


def _follow(document: Document) -> None:
    """Makes the declared shapes of outputs flexible where they follow an input, and tries the sizes on the way."""
    usual = _outputs(document, {}, strict=True)
    tries, endless = _tries(document)
    found = [_outputs(document, sizes, strict=True) for sizes in tries]
    flexible = [feature(entry).flexible for entry in document.model.description.input]
    ranged = any(entry is not None and entry.ranges for entry in flexible)
    for output in document.model.description.output:
        if output.type.WhichOneof("Type") not in ("imageType", "multiArrayType"):
            continue
        entry, shape = feature(output), usual.get(output.name)
        shapes = [other[output.name] for other in found if output.name in other]
        if shape is None or all(other == shape for other in shapes) or not _usual(entry):
            continue
        seen = [_declared(entry, other) for other in (shape, *shapes)]
        if any(size is None for size in seen):
            output.type.multiArrayType.ClearField("shape")  # what is declared cannot follow, so nothing is
            continue
        sizes = [size for size in seen if size is not None]
        _flex(output, sizes, ranged, endless)


def _declared(entry: Feature, shape: Sequence[int]) -> tuple[int, ...] | None:
    """A blob's shape as the output declares it; None where it declares another rank."""
    if entry.kind == "image":
        return shape[-1], shape[-2]
    rank = len(entry.shape or ())
    lead, inner = shape[: len(shape) - rank], shape[len(shape) - rank :]
    return tuple(inner) if len(inner) == rank and all(size == 1 for size in lead) else None


def _flex(output: Any, sizes: Sequence[tuple[int, ...]], ranged: bool, endless: bool) -> None:
    if not ranged:
        _fill(output, (), list(dict.fromkeys(sizes)))
        return
    ranges: list[Range] = []
    for column in zip(*sizes, strict=True):
        low, high = min(column), max(column)
        ranges.append((low, None if endless and low != high else high))
    _fill(output, ranges, ())


def _resize(output: Any, shape: Sequence[int]) -> None:
    """Declares the new size of an output."""
    entry = feature(output)
    if entry.kind == "image":
        output.type.imageType.height, output.type.imageType.width = shape[-2:]
    elif entry.kind == "multiarray" and entry.shape:
        declared = _declared(entry, shape)
        del output.type.multiArrayType.shape[:]
        output.type.multiArrayType.shape.extend(declared or ())
