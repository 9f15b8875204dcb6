"""Conditions that must hold when a graph runs."""

from __future__ import annotations

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
