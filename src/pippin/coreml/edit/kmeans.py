"""Tables for weights: k-means in one dimension, without a loop over the values."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROUNDS = 200
BINS = 4096
GROUPS = 1024
"""Groups of neighbouring values between which the best borders are searched."""


def table(values: NDArray[Any], count: int) -> NDArray[np.float64]:
    """``count`` numbers, rising, that stand for ``values`` with a small sum of squared errors.

    Where there are no more different values than that, they are the table, so that nothing is lost; it is filled up
    with the last one. Else Lloyd's rounds on the sorted values (a round is a search for the borders and a difference
    of sums) from several starts, the best of which is kept: quantiles, equal steps, quantiles of the cube root of the
    density, which is where the best table lies when ``count`` is large, and the best of all tables for groups of
    neighbouring values, which is the best of all where there are no more than ``GROUPS`` different ones. The same
    values give the same table.
    """
    import numpy as np

    points, times = np.unique(np.asarray(values, np.float64).reshape(-1), return_counts=True)
    if len(points) <= count:
        return np.concatenate([points, np.full(count - len(points), points[-1])])
    sums = np.concatenate([[0.0], np.cumsum(points * times)])
    counts = np.concatenate([[0], np.cumsum(times)])
    best, least = None, np.inf
    for start in _starts(points, times, count):
        centres = _rounds(points, sums, counts, start)
        error = -_gain(points, sums, counts, centres)
        if error < least:
            best, least = centres, error
    assert best is not None
    return best


def nearest(values: NDArray[Any], centres: NDArray[Any]) -> NDArray[np.uint8]:
    """For each value the number of the nearest of the rising ``centres``, the lower one at equal distance."""
    import numpy as np

    borders = (centres[1:].astype(np.float64) + centres[:-1].astype(np.float64)) / 2
    return np.searchsorted(borders, values, side="left").astype(np.uint8)


def _starts(points: NDArray[Any], times: NDArray[Any], count: int) -> list[NDArray[np.float64]]:
    import numpy as np

    middles = (np.arange(count) + 0.5) / count
    shares = np.cumsum(times) / times.sum()
    low, high = points[0], points[-1]
    density, edges = np.histogram(points, BINS, weights=times)
    root = np.cumsum(np.cbrt(density))
    return [
        points[np.minimum(np.searchsorted(shares, middles), len(points) - 1)],
        low + (high - low) * middles,
        np.interp(middles, np.concatenate([[0.0], root / root[-1]]), edges),
        _searched(points, times, count),
    ]


def _searched(points: NDArray[Any], times: NDArray[Any], count: int) -> NDArray[np.float64]:
    """The means of the best division of the values, in groups of neighbours, into ``count`` runs.

    error[k][j] = min over i of error[k-1][i] + (squared error of groups i to j around their mean).
    """
    import numpy as np

    if len(points) > GROUPS:
        # half of the groups hold equally many values, half are equally wide, so that tails have theirs
        shares = np.searchsorted(np.cumsum(times), np.linspace(0, times.sum(), GROUPS // 2, endpoint=False))
        widths = np.searchsorted(points, np.linspace(points[0], points[-1], GROUPS // 2, endpoint=False))
        borders = np.unique(np.concatenate([[0], shares, widths, [len(points)]]).clip(0, len(points)))
    else:
        borders = np.arange(len(points) + 1)
    sums = np.concatenate([[0.0], np.cumsum(points * times)])[borders]
    counts = np.concatenate([[0.0], np.cumsum(times)])[borders]
    # Σ x² is the same for every division, so the least error is the largest Σ (Σ x)² / n
    total, size = sums[None] - sums[:, None], counts[None] - counts[:, None]
    gain = np.where(size > 0, total * total / np.maximum(size, 1), -np.inf)
    best, came = gain[0], []
    for _ in range(count - 1):
        candidates = best[:, None] + gain
        came.append(candidates.argmax(axis=0))
        best = np.take_along_axis(candidates, came[-1][None], axis=0)[0]
    cuts = [len(borders) - 1]
    for step in reversed(came):
        cuts.append(int(step[cuts[-1]]))
    edges = [0, *reversed(cuts)]
    return np.array([total[a, b] / max(size[a, b], 1) for a, b in itertools.pairwise(edges)])


def _borders(points: NDArray[Any], centres: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    inner = np.searchsorted(points, (centres[1:] + centres[:-1]) / 2, side="right")
    return np.concatenate([[0], inner, [len(points)]])


def _rounds(
    points: NDArray[Any], sums: NDArray[Any], counts: NDArray[Any], centres: NDArray[np.float64]
) -> NDArray[np.float64]:
    import numpy as np

    before: NDArray[Any] | None = None
    for _ in range(ROUNDS):
        borders = _borders(points, centres)
        if before is not None and np.array_equal(borders, before):
            break
        before = borders
        size = np.diff(counts[borders])
        total = np.diff(sums[borders])
        centres = np.where(size > 0, total / np.maximum(size, 1), centres)
        centres = np.sort(_filled(points, sums, counts, borders, centres, size == 0))
    return centres


def _filled(
    points: NDArray[Any], sums: NDArray[Any], counts: NDArray[Any], borders: NDArray[Any], centres: NDArray[Any],
    empty: NDArray[np.bool_],
) -> NDArray[np.float64]:  # fmt: skip
    """Numbers that stand for no value are moved into the widest cells, where they help most."""
    import numpy as np

    if not empty.any():
        return centres
    ends = np.maximum(borders[1:] - 1, borders[:-1])
    size = np.diff(counts[borders])
    width = np.where(empty | (ends == borders[:-1]), 0.0, points[np.minimum(ends, len(points) - 1)]
                     - points[np.minimum(borders[:-1], len(points) - 1)])  # fmt: skip
    widest = np.argsort(-(width * width * size), kind="stable")[: int(empty.sum())]
    moved = centres.copy()
    moved[np.flatnonzero(empty)[: len(widest)]] = points[np.minimum(ends[widest], len(points) - 1)]
    return moved


def _gain(points: NDArray[Any], sums: NDArray[Any], counts: NDArray[Any], centres: NDArray[np.float64]) -> float:
    """Σ size · mean², which is largest where the squared error is least."""
    import numpy as np

    borders = _borders(points, centres)
    size = np.diff(counts[borders])
    total = np.diff(sums[borders])
    return float(np.sum(np.where(size > 0, total * total / np.maximum(size, 1), 0.0)))
