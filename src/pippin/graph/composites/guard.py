"""Conditions that must hold when a graph runs."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import CheckError
from ..builder import Builder
from ..ir import Value


def require_true(g: Builder, flag: Value) -> Value:
    """flag () bool → flag (1); the run fails where it is false.

    ONNX has no operator that stops a run: an element is looked up at a place that there is, or at one that there is
    not.
    """
    place = g.Where(flag, g.constant(0, "int64"), g.constant(1, "int64"))
    result: Value = g.Gather(g.Unsqueeze(flag, [0]), g.Unsqueeze(place, [0]), axis=0)
    return result


def require_some(g: Builder, x: Value, axes: Sequence[int], what: str) -> Value:
    """``x``, none of whose ``axes`` may be empty: refused where the sizes are known, else the run fails.

    For operators that end the process on an empty input. Raises ``CheckError``.
    """
    import numpy as np

    if any(x.shape[axis] == 0 for axis in axes):
        raise CheckError(f"{what} must hold at least one element, got {list(x.shape)}")
    unknown = [axis for axis in axes if not isinstance(x.shape[axis], int)]
    if not unknown:
        return x
    sizes = g.vector(g.sizes(x))
    smallest = g.ReduceMin(g.vector([g.size(x, axis) for axis in unknown]), keepdims=1)
    places = np.arange(x.rank)
    # the sizes again, looked up where they are, or where nothing is
    result: Value = g.Reshape(x, g.Gather(sizes, g.Where(g.Greater(smallest, 0), places, places + x.rank)))
    result.shape = x.shape
    return result
