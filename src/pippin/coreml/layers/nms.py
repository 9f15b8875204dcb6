"""Non-maximum suppression. Source: NonMaximumSuppressionLayerParams."""

from __future__ import annotations

import math
from typing import Any

from ...graph.builder import Size
from ...graph.ir import Value
from ..lowering import Context, lowering, require

LIMIT = 1 << 24
"""Boxes that a layer may put out."""


@lowering("NonMaximumSuppression")
def non_maximum_suppression(
    g: Context,
    p: Any,
    boxes: Value,
    scores: Value,
    iou: Value | None = None,
    threshold: Value | None = None,
    most: Value | None = None,
) -> tuple[Value, Value, Value, Value]:
    """The best boxes, of those that overlap the best one alone.

    A box counts with its best class score, if that is not below scoreThreshold. From the best on, a box stays unless
    its intersection with one that stays, divided by their union, is over iouThreshold; with perClassSuppression only
    boxes of the same best class compete. If no box reaches the threshold, the best one stays alone.
    boxes (B,N,4) as centre x, y, width, height; scores (B,N,C); thresholds and maxBoxes from inputs 3 to 5 if present →
    boxes (B,maxBoxes,4), scores (B,maxBoxes,C), indices (B,maxBoxes), number (B); filled up with 0, 0 and -1.
    iouThreshold is taken into [0, 1]. Source: NonMaximumSuppressionLayerParams.
    """
    _check(p, boxes, scores)
    batch, total = g.size(scores, 0), g.size(scores, 1)
    limit = _limit(g, p, most)
    best, rivals = _rivals(g, p, scores)
    rivals, floor = _threshold(g, p, rivals, threshold)
    overlap = _overlap(g, p, iou)
    count = g.constant([limit], "int64") if isinstance(limit, int) else limit
    chosen = g.NonMaxSuppression(boxes, rivals, count, overlap, floor, center_point_box=1)
    # (batch, class, box) of each box that stays, as a mask over all
    places = g.Gather(chosen, [0, 2], axis=1)
    none = g.expand(g.constant([[0.0]]), [batch, total])
    stays = g.ScatterND(none, places, g.Expand(g.constant([1.0]), g.Shape(places, start=0, end=1)))
    number = g.integer(g.ReduceSum(stays, [1], keepdims=0))
    number = g.Max(g.Min(number, count), g.constant([1], "int64"))
    # where none stays, all are candidates again, and the best one is first
    alone = g.Equal(g.ReduceMax(stays, [1]), 0.0)
    ranked = g.Where(g.Or(g.cast(stays, bool), alone), best, -math.inf)
    ranked = _filled(g, ranked, total, limit)
    _, order = g.TopK(ranked, count, axis=1, outputs=2)
    places = g.Range(g.constant(0, "int64"), g.reshape(count, []), g.constant(1, "int64"))
    valid = g.Less(places, g.Unsqueeze(number, [1]))
    indices = g.Where(valid, order, g.constant(-1, "int64"))
    # -1 picks the last box, which is blanked
    rows, mask = g.Unsqueeze(indices, [2]), g.Unsqueeze(valid, [2])
    kept = g.Where(mask, g.GatherND(boxes, rows, batch_dims=1), 0.0)
    marks = g.Where(mask, g.GatherND(scores, rows, batch_dims=1), 0.0)
    # inference loses the batch where it is unknown
    images, places_out = boxes.shape[0], indices.shape[1]
    kept.shape, marks.shape = (images, places_out, 4), (images, places_out, scores.shape[2])
    indices.shape, number.shape = (images, places_out), (images,)
    return kept, marks, indices, number


def _check(p: Any, boxes: Value, scores: Value) -> None:
    require(
        boxes.rank == 3 and (isinstance(boxes.shape[2], str) or boxes.shape[2] == 4),
        f"the boxes must have the shape (B, N, 4), got {list(boxes.shape)}",
    )
    require(scores.rank == 3, f"the scores must have the shape (B, N, C), got {list(scores.shape)}")
    for have, want in zip(scores.shape[:2], boxes.shape[:2], strict=True):
        require(
            isinstance(have, str) or isinstance(want, str) or have == want,
            f"the scores must be those of the boxes {list(boxes.shape)}, got the shape {list(scores.shape)}",
        )
    require(0 not in (*boxes.shape[1:], *scores.shape[1:]), "there must be at least one box and one class")


def _limit(g: Context, p: Any, most: Value | None) -> Size:
    """maxBoxes: a number, or a vector of one."""
    if most is not None:
        most = g.reshape(g.integer(most), [1])
        if most.data is None:
            return most
    limit = int(p.maxBoxes) if most is None or most.data is None else int(most.data[0])
    require(0 < limit <= LIMIT, f"maxBoxes must lie between 1 and {LIMIT}, got {limit}")
    return limit


def _rivals(g: Context, p: Any, scores: Value) -> tuple[Value, Value]:
    """The best score of each box (B,N), and the scores by group of boxes that compete (B,G,N)."""
    by_class = g.Transpose(scores, perm=[0, 2, 1])
    if scores.shape[2] == 1:
        return g.Squeeze(scores, [2]), by_class
    if not p.perClassSuppression:
        top = g.ReduceMax(scores, [2], keepdims=0)
        return top, g.Unsqueeze(top, [1])
    top = g.ReduceMax(by_class, [1])
    classes = g.Range(g.constant(0, "int64"), _scalar(g, g.size(scores, 2)), g.constant(1, "int64"))
    own = g.Equal(g.ArgMax(by_class, axis=1), g.Unsqueeze(classes, [0, 2]))
    return g.Squeeze(top, [1]), g.Where(own, top, -math.inf)


def _scalar(g: Context, size: Size) -> Value:
    return g.constant(size, "int64") if isinstance(size, int) else g.Squeeze(size, [0])


def _threshold(g: Context, p: Any, rivals: Value, threshold: Value | None) -> tuple[Value, Value]:
    """The scores that count, and what they must be over: ONNX drops a score that equals its threshold."""
    import numpy as np

    if threshold is None:
        return rivals, g.constant([np.nextafter(np.float32(p.scoreThreshold), np.float32(-np.inf))], "float32")
    kept = g.Where(g.GreaterOrEqual(rivals, g.reshape(threshold, [1])), rivals, -math.inf)
    return kept, g.constant([np.finfo(np.float32).min], "float32")


def _overlap(g: Context, p: Any, iou: Value | None) -> Value:
    """iouThreshold within [0, 1], which the engine insists on; an overlap is never beyond."""
    if iou is None:
        require(not math.isnan(p.iouThreshold), "iouThreshold must be a number, got nan")
        return g.constant([min(max(p.iouThreshold, 0.0), 1.0)], "float32")
    result: Value = g.Clip(g.reshape(iou, [1]), 0.0, 1.0)
    return result


def _filled(g: Context, ranked: Value, total: Size, limit: Size) -> Value:
    """(B,N) with at least ``limit`` columns, so that as many can be taken."""
    if isinstance(total, int) and isinstance(limit, int):
        if total >= limit:
            return ranked
        pads = g.constant([0, 0, 0, limit - total], "int64")
    else:
        missing = g.Sub(g.vector([limit]), g.vector([total]))
        pads = g.Concat([0, 0, 0], g.Max(missing, g.constant([0], "int64")), axis=0)
    result: Value = g.Pad(ranked, pads, -math.inf)
    return result
