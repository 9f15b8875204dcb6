"""Which blob of one run is which of another: by name, by value, by position and shape."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .difference import difference, squeezed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .traces import Trace

NEAR = 1e-3
"""Blobs whose values are this near, as a share of the largest, are taken for the same one."""
FEW = 8
"""Elements from which on equal values are no coincidence."""


@dataclass(frozen=True)
class Pair:
    """A blob of the first run and its counterpart; ``how`` is "name", "value", "position" or "layout".

    ``order`` are the axes of the second one in the order of the first, where the layouts differ.
    """

    a: str
    b: str
    how: str
    order: tuple[int, ...] = ()

    def other(self, values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """The second blob in the layout of the first."""
        value = values[self.b]
        return value.transpose(self.order) if self.order else value


def match(a: Trace, b: Trace) -> list[Pair]:
    """Counterparts in the order of ``a``. What has none is left out."""
    pairs = _by_name(a, b)
    left_a = [name for name in a.values if name not in {pair.a for pair in pairs}]
    left_b = [name for name in b.values if name not in {pair.b for pair in pairs}]
    if left_a and left_b:
        found = _by_value(a, b, left_a, left_b)
        pairs += found
        pairs += _by_position(a, b, left_a, left_b, found)
        pairs += _outputs(a, b, pairs)
    order = {name: index for index, name in enumerate(a.values)}
    return sorted(pairs, key=lambda pair: order[pair.a])


def plain(name: str) -> str:
    """A name without what frameworks add to it: "conv1/Relu:0" → "conv1_relu"."""
    return re.sub(r"\W+", "_", re.sub(r":\d+$", "", name)).strip("_").lower()


def _by_name(a: Trace, b: Trace) -> list[Pair]:
    pairs: list[Pair] = []
    for form in (str, plain):
        taken_a, taken_b = {pair.a for pair in pairs}, {pair.b for pair in pairs}
        mine, theirs = (_unique(form, names, taken) for names, taken in ((a.values, taken_a), (b.values, taken_b)))
        for key, name in mine.items():
            other = theirs.get(key)
            if other is None:
                continue
            order = layout(a.values[name], b.values[other])
            if order is not None:
                pairs.append(Pair(name, other, "layout" if order else "name", order))
    return pairs


def _unique(form: Any, names: Iterable[str], taken: set[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name in names:
        if name not in taken:
            found.setdefault(form(name), []).append(name)
    return {key: owners[0] for key, owners in found.items() if len(owners) == 1}


def layout(a: NDArray[Any], b: NDArray[Any]) -> tuple[int, ...] | None:
    """The axes of ``b`` in the order of ``a``: () where it is the same; None where no order makes them fit.

    A height and a width, or a channel, may have the same size: then the values decide.
    """
    x, y = squeezed(a.shape), squeezed(b.shape)
    if x == y or a.size != b.size:
        return () if x == y or _regrouped(a, b) else None
    if sorted(x) != sorted(y) or len(x) > 5:
        return () if _regrouped(a, b) else None
    best: tuple[float, tuple[int, ...]] | None = None
    for order in permutations(b.shape):
        turned = b.transpose(order)
        if squeezed(turned.shape) == x:
            gap = difference("", a, turned, scaled=True).absolute
            if best is None or gap < best[0]:
                best = gap, order
    return best[1] if best else None


def _regrouped(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two shapes hold the same number of elements, with axes joined or split."""
    return a.size == b.size and a.size > 0


def permutations(shape: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    """Every order of the axes of ``shape`` that are not 1, the others in front."""
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    rest = [axis for axis, size in enumerate(shape) if size != 1]
    for order in itertools.permutations(rest):
        yield (*ones, *order)


def _by_value(a: Trace, b: Trace, left_a: list[str], left_b: list[str]) -> list[Pair]:
    """Blobs of one shape that hold the same values, in the same order in both runs."""
    marks = {name: _mark(b.values[name]) for name in left_b}
    by_shape: dict[tuple[int, ...], list[str]] = {}
    for name in left_b:
        by_shape.setdefault(squeezed(b.values[name].shape), []).append(name)
    taken: set[str] = set()
    pairs = []
    for name in left_a:
        value = a.values[name]
        if value.size < FEW:
            continue
        mark = _mark(value)
        for other in by_shape.get(squeezed(value.shape), ()):
            if other in taken or not _alike(mark, marks[other]):
                continue
            entry = difference("", value, b.values[other], scaled=True)
            if not entry.problem and entry.share <= NEAR:
                taken.add(other)
                pairs.append(Pair(name, other, "value"))
                break
    return pairs


def _mark(value: NDArray[Any]) -> tuple[float, float, float]:
    import numpy as np

    if not value.size:
        return 0.0, 0.0, 0.0
    with np.errstate(all="ignore"):
        finite = np.nan_to_num(value.astype(np.float64, copy=False), nan=0.0, posinf=0.0, neginf=0.0)
    return float(finite.mean()), float(finite.std()), float(np.abs(finite).max())


def _alike(a: tuple[float, float, float], b: tuple[float, float, float]) -> bool:
    room = 10 * NEAR * max(a[2], b[2])
    return all(abs(x - y) <= room for x, y in zip(a, b, strict=True))


def _by_position(a: Trace, b: Trace, left_a: list[str], left_b: list[str], found: list[Pair]) -> list[Pair]:
    """Between blobs that are known to be the same, those of one shape by their order, if there are as many."""
    known_a, known_b = {pair.a for pair in found}, {pair.b for pair in found}
    anchors = [(-1, -1)]
    for pair in found:
        at = left_a.index(pair.a), left_b.index(pair.b)
        if at[1] > anchors[-1][1]:
            anchors.append(at)
    anchors.append((len(left_a), len(left_b)))
    pairs = []
    for (a0, b0), (a1, b1) in itertools.pairwise(anchors):
        shapes_a = _shapes(a, [name for name in left_a[a0 + 1 : a1] if name not in known_a])
        shapes_b = _shapes(b, [name for name in left_b[b0 + 1 : b1] if name not in known_b])
        for shape, names in shapes_a.items():
            others = shapes_b.get(shape, [])
            if len(names) == len(others):
                pairs += [Pair(x, y, "position") for x, y in zip(names, others, strict=True)]
    return pairs


def _shapes(trace: Trace, names: list[str]) -> dict[tuple[int, ...], list[str]]:
    found: dict[tuple[int, ...], list[str]] = {}
    for name in names:
        found.setdefault(squeezed(trace.values[name].shape), []).append(name)
    return found


def _outputs(a: Trace, b: Trace, pairs: list[Pair]) -> list[Pair]:
    """Outputs that are left, by position where there are as many, else those of one size."""
    mine = [name for name in a.outputs if name in a.values and name not in {pair.a for pair in pairs}]
    theirs = [name for name in b.outputs if name in b.values and name not in {pair.b for pair in pairs}]
    found = []
    if len(a.outputs) == len(b.outputs) == len(mine) == len(theirs):
        together = list(zip(mine, theirs, strict=True))
    else:
        together = [
            (name, others[0])
            for name in mine
            if len(others := [other for other in theirs if a.values[name].size == b.values[other].size]) == 1
        ]
    for name, other in together:
        order = layout(a.values[name], b.values[other])
        if order is not None:
            found.append(Pair(name, other, "layout" if order else "position", order))
    return found
