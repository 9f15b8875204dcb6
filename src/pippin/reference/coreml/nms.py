"""Twin of the layer that drops boxes which overlap better ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import CheckError
from ._nd import whole
from .arrays import as_shape, scalar
from .registry import Array, Context, twin


@twin("NonMaximumSuppression")
def non_maximum_suppression(
    context: Context,
    params: Any,
    boxes: Array,
    scores: Array,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    max_boxes: Array | None = None,
) -> tuple[Array, Array, Array, Array]:
    """From the best box down, keeps boxes that overlap no kept one by more than ``iouThreshold``.

    A box's score is the largest of its class scores; boxes below ``scoreThreshold`` do not take part, one at it does.
    With ``perClassSuppression`` only boxes of the same class (that of the largest score) suppress each other. Of equal
    scores the lower index comes first. If no box takes part, the best one is given all the same.
    boxes (B, N, 4) as centre x, centre y, width, height; scores (B, N, C) → boxes (B, M, 4), scores (B, M, C),
    indices (B, M), how many (B), M ``maxBoxes``; the rest is filled up with 0, 0 and -1.
    Source: NonMaximumSuppressionLayerParams.
    """
    if boxes.ndim != 3 or boxes.shape[2] != 4:
        raise CheckError(f"the boxes must have shape (B, N, 4), got {list(boxes.shape)}")
    if scores.ndim != 3 or scores.shape[:2] != boxes.shape[:2] or not scores.shape[2]:
        wanted = f"({boxes.shape[0]}, {boxes.shape[1]}, C)"
        raise CheckError(f"the scores must have shape {wanted}, got {list(scores.shape)}")
    overlap = params.iouThreshold if iou_threshold is None else scalar(iou_threshold, "iouThreshold")
    least = params.scoreThreshold if score_threshold is None else scalar(score_threshold, "scoreThreshold")
    most = int(params.maxBoxes) if max_boxes is None else whole(max_boxes, "maxBoxes")
    if most <= 0:
        raise CheckError(f"maxBoxes must be positive, got {most}")

    batch = boxes.shape[0]
    as_shape((batch, most, 4 + scores.shape[2]), "maxBoxes")
    out_boxes, out_scores = np.zeros((batch, most, 4)), np.zeros((batch, most, scores.shape[2]))
    out_indices, counts = np.full((batch, most), -1.0), np.zeros(batch)
    for b in range(batch):
        kept = _kept(boxes[b], scores[b], overlap, least, bool(params.perClassSuppression))[:most]
        count = len(kept)
        out_boxes[b, :count], out_scores[b, :count] = boxes[b, kept], scores[b, kept]
        out_indices[b, :count], counts[b] = kept, count
    return out_boxes, out_scores, out_indices, counts


def _kept(boxes: Array, scores: Array, overlap: float, least: float, per_class: bool) -> list[int]:
    """The indices of the boxes that stay, best first; boxes (N, 4), scores (N, C)."""
    best, classes = scores.max(axis=1), scores.argmax(axis=1)
    order = np.argsort(-best, kind="stable")
    kept: list[int] = []
    for index in order.tolist():
        if best[index] < least:
            break
        rivals = [k for k in kept if not per_class or classes[k] == classes[index]]
        if all(_iou(boxes[index], boxes[k]) <= overlap for k in rivals):
            kept.append(index)
    return kept or order[:1].tolist()


def _iou(a: Array, b: Array) -> float:
    """Shared area over joint area of two boxes (centre x, centre y, width, height); 0 where neither has an area."""
    low = np.maximum(a[:2] - a[2:] / 2, b[:2] - b[2:] / 2)
    high = np.minimum(a[:2] + a[2:] / 2, b[:2] + b[2:] / 2)
    shared = float(np.prod(np.maximum(high - low, 0)))
    joint = float(a[2] * a[3] + b[2] * b[3]) - shared
    return shared / joint if joint > 0 else 0.0
