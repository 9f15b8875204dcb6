"""Flexible sizes of inputs beside an exported graph, whose open dims say that a size is free but not how free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .features import Feature, Flexibility

MOST = 1000
"""Shapes of an enumeration that are believed."""


def note(entry: Feature) -> dict[str, Any]:
    """What to keep of a feature's sizes, as plain data; nothing where it has but one."""
    if entry.flexible is None:
        return {}
    usual = entry.size if entry.kind == "image" else entry.shape
    found: dict[str, Any] = {"usual": list(usual or ())}
    if entry.flexible.shapes:
        return found | {"shapes": [list(shape) for shape in entry.flexible.shapes]}
    return found | {"ranges": [list(bounds) for bounds in entry.flexible.ranges]}


def restored(entry: Feature, said: Mapping[str, Any]) -> Feature:
    """``entry``, a feature of a graph with open sizes, with those that ``note`` kept, where they agree with the graph.

    The shape of an array keeps its zeros: the graph takes what it takes. ``said`` comes from a file: what is no list of
    sizes is passed over.
    """
    flexible = entry.flexible
    usual = _row(said.get("usual"))
    if flexible is None or usual is None or len(usual) != len(flexible.ranges):
        return entry
    free = [low == 1 and high is None for low, high in flexible.ranges]
    fixed = [low for low, _ in flexible.ranges]
    kept = _kept(said, usual)
    if kept is None or not all(_agrees(kept, axis, fixed[axis]) for axis in range(len(free)) if not free[axis]):
        return entry
    if not all(is_free or size == own for is_free, size, own in zip(free, usual, fixed, strict=True)):
        return entry
    if entry.kind == "image":
        return replace(entry, flexible=kept, size=(usual[0], usual[1]))
    return replace(entry, flexible=kept)


def _kept(said: Mapping[str, Any], usual: tuple[int, ...]) -> Flexibility | None:
    shapes, ranges = said.get("shapes"), said.get("ranges")
    if isinstance(shapes, list) and 0 < len(shapes) <= MOST:
        rows = [_row(shape) for shape in shapes]
        if all(row is not None and len(row) == len(usual) for row in rows):
            return Flexibility(shapes=tuple(row for row in rows if row is not None))
    if isinstance(ranges, list) and len(ranges) == len(usual):
        bounds = [_bounds(entry) for entry in ranges]
        if all(entry is not None for entry in bounds):
            return Flexibility(ranges=tuple(entry for entry in bounds if entry is not None))
    return None


def _agrees(kept: Flexibility, axis: int, size: int) -> bool:
    """Whether an axis that the graph pins may have no other size."""
    if kept.shapes:
        return {shape[axis] for shape in kept.shapes} == {size}
    return kept.ranges[axis] == (size, size)


def _row(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, list) or not all(type(size) is int and 0 < size < 1 << 31 for size in value):
        return None
    return tuple(value)


def _bounds(value: Any) -> tuple[int, int | None] | None:
    if not isinstance(value, list) or len(value) != 2 or type(value[0]) is not int:
        return None
    low, high = value
    if high is not None and (type(high) is not int or high < low):
        return None
    return (low, high) if 0 <= low < 1 << 31 else None
