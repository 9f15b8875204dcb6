"""DetectionPostProcess: from the raw answers of a detector to boxes.

Legend: A anchors, K classes, M maxDetections, N = M · maxClassesPerDetection rows in the result.
"""

from __future__ import annotations

import math

from ...errors import CheckError
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType
from .base import NodeBuilder, node, rank_of

ROWS = 1 << 20
"""Most rows in the result."""
BLANK = -3.0e38
"""A score below all others, for places without a detection."""


@node(NodeType.DETECTION_POST_PROCESS)
def detection_post_process(
    g: NodeBuilder, p: attributes.DetectionPostProcess, boxes: Value, scores: Value, anchors: Value
) -> tuple[Value, Value, Value, Value]:
    """Boxes, classes, scores and their count from the raw answers of a detector.

    boxes (1,A,4) as y,x,h,w relative to anchors (A,4) of the same kind, scores (1,A,K), or (1,A,K+1) with the
    background first; K = numClasses → boxes (1,N,4) ymin,xmin,ymax,xmax, classes (1,N), scores (1,N), count (1), all
    float32; N = maxDetections · maxClassesPerDetection, rows without a detection 0. centre = box / scale · anchor size
    + anchor centre, size = exp(box / scale) · anchor size; ``scale`` lists h, w, x, y. Scores below
    ``nmsScoreThreshold`` do not count.  Of boxes that overlap by more than ``nmsIoUThreshold`` the better one stays,
    the lower index where they are equal: without ``useRegularNms`` by the anchors' best classes, with the best
    maxClassesPerDetection classes of each box that stays; with it class by class, at most ``detectionsPerClass`` of
    each, of all of them the best maxDetections.  inputSize, format and outQuantized are not looked at.
    """
    _check(p, boxes, scores, anchors)
    boxes, scores, anchors = (g.cast(value, "float32") for value in (boxes, scores, anchors))
    corners = _decoded(g, p, boxes, anchors)
    classes = int(p.numClasses)
    if scores.shape[2] != classes:
        # the last ones: where their number is not known, so is not whether there is a background
        scores = g.Slice(scores, [-classes], [1 << 31], [2])
    chosen = _by_class if p.useRegularNms else _by_anchor
    found = chosen(g, p, corners, g.Squeeze(scores, [0]))
    rows = int(p.maxDetections * p.maxClassesPerDetection)
    made = [_filled(g, value, rows) for value in found[:3]]
    return made[0], made[1], made[2], found[3]


def _check(p: attributes.DetectionPostProcess, boxes: Value, scores: Value, anchors: Value) -> None:
    for value, rank, what in ((boxes, 3, "boxes"), (scores, 3, "scores"), (anchors, 2, "anchors")):
        rank_of(value, rank, what)
    count = p.numClasses
    for name, number in (
        ("maxDetections", p.maxDetections),
        ("maxClassesPerDetection", p.maxClassesPerDetection),
        ("numClasses", count),
        ("detectionsPerClass", p.detectionsPerClass if p.useRegularNms else 1),
    ):
        if not 1 <= number < 1 << 31:
            raise CheckError(f"{name} must be at least 1, got {number}")
    if p.maxDetections * p.maxClassesPerDetection > ROWS:
        raise CheckError(f"maxDetections · maxClassesPerDetection must be at most {ROWS}")
    if len(p.scale) < 4 or not all(math.isfinite(scale) and scale for scale in p.scale[:4]):
        raise CheckError(f"scale must hold 4 numbers that are not 0, got {list(p.scale)}")
    if not p.nmsIoUThreshold >= 0 or math.isnan(p.nmsScoreThreshold):
        raise CheckError(f"nmsIoUThreshold must be at least 0, got {p.nmsIoUThreshold} and {p.nmsScoreThreshold}")
    places = boxes.shape[1]
    for value, wanted, what in (
        (boxes, (1, places, 4), "boxes"),
        (scores, (1, places, None), "scores"),
        (anchors, (places, 4), "anchors"),
    ):
        if any(
            isinstance(have, int) and isinstance(want, int) and have != want
            for have, want in zip(value.shape, wanted, strict=True)
        ):
            raise CheckError(f"the {what} must have dims {list(wanted)}, got {list(value.shape)}")
    if scores.shape[2] not in (count, count + 1) and isinstance(scores.shape[2], int):
        raise CheckError(f"the last dim of the scores must be numClasses {count}, or one more, got {scores.shape[2]}")


def _decoded(g: NodeBuilder, p: attributes.DetectionPostProcess, boxes: Value, anchors: Value) -> Value:
    """Corners (A,4): ymin, xmin, ymax, xmax."""
    import numpy as np

    high, wide, across, down = p.scale[:4]
    box = g.Div(g.Squeeze(boxes, [0]), np.array([down, across, high, wide], np.float32))
    centre, size = g.Split(box, [2, 2], axis=1, outputs=2)
    middle, extent = g.Split(anchors, [2, 2], axis=1, outputs=2)
    centre = g.Add(g.Mul(centre, extent), middle)
    half = g.Mul(g.Mul(g.Exp(size), extent), 0.5)
    result: Value = g.Concat(g.Sub(centre, half), g.Add(centre, half), axis=1)
    return result


def _suppressed(g: NodeBuilder, p: attributes.DetectionPostProcess, corners: Value, scores: Value, limit: int) -> Value:
    """corners (A,4), scores (K,A) → (n,3) int64: 0, class and anchor of what stays, class by class, the best first."""
    import numpy as np

    # the engine leaves out a score that equals the threshold
    least = np.nextafter(np.float32(p.nmsScoreThreshold), np.float32(-np.inf))
    result: Value = g.NonMaxSuppression(
        g.Unsqueeze(corners, [0]),
        g.Unsqueeze(scores, [0]),
        np.array([limit], np.int64),
        np.array([min(p.nmsIoUThreshold, 1.0)], np.float32),
        np.array([least], np.float32),
    )
    return result


Found = tuple[Value, Value, Value, Value]
"""Boxes (R,4), classes (R), scores (R) with 0 behind the last detection, and their count (1)."""


def _by_anchor(g: NodeBuilder, p: attributes.DetectionPostProcess, corners: Value, scores: Value) -> Found:
    """Anchors by their best class; of each that stays its best classes."""
    limit, each = int(p.maxDetections), int(min(p.maxClassesPerDetection, p.numClasses))
    kept = _suppressed(g, p, corners, g.Transpose(g.ReduceMax(scores, [1]), perm=[1, 0]), limit)
    count = g.Shape(kept, start=0, end=1)
    anchor = _lengthened(g, g.Squeeze(g.Slice(kept, [2], [3], [1]), [1]), g.Sub([limit], count), limit)
    values, classes = g.TopK(g.Gather(scores, anchor, axis=0), [each], outputs=2, axis=1)
    boxes = g.expand(g.Unsqueeze(g.Gather(corners, anchor, axis=0), [1]), [limit, each, 4])
    total = g.Mul(count, [each])
    there = g.Less(g.constant(list(range(limit * each)), "int64"), total)
    rows = limit * each
    return (
        g.Where(g.Unsqueeze(there, [1]), g.reshape(boxes, [rows, 4]), 0.0),
        g.Where(there, g.cast(g.reshape(classes, [rows]), "float32"), 0.0),
        g.Where(there, g.reshape(values, [rows]), 0.0),
        g.cast(total, "float32"),
    )


def _by_class(g: NodeBuilder, p: attributes.DetectionPostProcess, corners: Value, scores: Value) -> Found:
    """Each class for itself; of all that stay the best."""
    limit = int(p.maxDetections)
    kept = _suppressed(g, p, corners, g.Transpose(scores, perm=[1, 0]), int(p.detectionsPerClass))
    count = g.Min(g.Shape(kept, start=0, end=1), [limit])
    pair = g.Gather(kept, [2, 1], axis=1)
    # so many places without a detection behind them that there are enough to choose from
    values = g.Pad(g.GatherND(scores, pair), [0, limit], BLANK)
    pair = g.Pad(pair, [0, 0, limit, 0])
    # of one place it is not known otherwise that it is one
    best, order = (g.reshape(value, [limit]) for value in g.TopK(values, [limit], outputs=2, axis=0))
    anchor, kind = g.Split(g.Gather(pair, order, axis=0), [1, 1], axis=1, outputs=2)
    there = g.Less(g.constant(list(range(limit)), "int64"), count)
    boxes = g.Gather(corners, g.Squeeze(anchor, [1]), axis=0)
    return (
        g.Where(g.Unsqueeze(there, [1]), boxes, 0.0),
        g.Where(there, g.cast(g.Squeeze(kind, [1]), "float32"), 0.0),
        g.Where(there, best, 0.0),
        g.cast(count, "float32"),
    )


def _lengthened(g: NodeBuilder, places: Value, more: Value, length: int) -> Value:
    """Indices with zeros behind them, ``length`` in all."""
    padded = g.Pad(places, g.Concat(g.constant([0], "int64"), more, axis=0))
    return g.reshape(padded, [length])


def _filled(g: NodeBuilder, found: Value, rows: int) -> Value:
    """Rows of zeros behind those there are, and the batch in front."""
    have = found.shape[0]
    assert isinstance(have, int)
    if have < rows:
        pads = [0, rows - have] if found.rank == 1 else [0, 0, rows - have, 0]
        found = g.Pad(found, pads)
    return g.Unsqueeze(found, [0])
