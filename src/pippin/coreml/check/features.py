"""When two feature types are the same: for training inputs and for what flows between the models of a pipeline."""

from __future__ import annotations

from typing import Any


def same_type(first: Any, second: Any) -> bool:
    """Whether two feature types agree; whether they are optional does not matter."""
    return not type_difference(first, second)


def type_difference(first: Any, second: Any) -> str:
    """What two feature types differ in, empty if nothing: ``FLOAT32 array and image``."""
    chosen, other = first.WhichOneof("Type"), second.WhichOneof("Type")
    if chosen != other:
        return f"{chosen or 'no type'} and {other or 'no type'}"
    if chosen == "multiArrayType":
        return _array_difference(first.multiArrayType, second.multiArrayType)
    if chosen == "imageType":
        for field in ("width", "height", "colorSpace"):
            pair = getattr(first.imageType, field), getattr(second.imageType, field)
            if pair[0] != pair[1]:
                return f"{field} {pair[0]} and {pair[1]}"
    elif chosen == "dictionaryType":
        return _choice_difference(first.dictionaryType, second.dictionaryType, "KeyType")
    elif chosen == "sequenceType":
        return _choice_difference(first.sequenceType, second.sequenceType, "Type")
    return ""


def _choice_difference(first: Any, second: Any, group: str) -> str:
    pair = first.WhichOneof(group), second.WhichOneof(group)
    return "" if pair[0] == pair[1] else f"{pair[0]} and {pair[1]}"


def _rank(array: Any) -> int:
    flexible = array.WhichOneof("ShapeFlexibility")
    if flexible == "shapeRange":
        return len(array.shapeRange.sizeRanges)
    if flexible == "enumeratedShapes":
        shapes = array.enumeratedShapes.shapes
        return len(shapes[0].shape) if len(shapes) else 0
    return len(array.shape)


def _array_difference(first: Any, second: Any) -> str:
    if first.dataType != second.dataType:
        return f"dataType {first.dataType} and {second.dataType}"
    if _rank(first) != _rank(second):
        return f"rank {_rank(first)} and {_rank(second)}"
    fixed = not first.WhichOneof("ShapeFlexibility") and not second.WhichOneof("ShapeFlexibility")
    if fixed and list(first.shape) != list(second.shape):
        return f"shape {list(first.shape)} and {list(second.shape)}"
    return ""
