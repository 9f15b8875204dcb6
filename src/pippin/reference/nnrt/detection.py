"""Twin of the operator that makes boxes of a detector's raw answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nnrt.enums import NodeType
from .registry import Array, Context, twin
from .rules import as_shape, need_number, require


def decode(boxes: Array, anchors: Array, scale: Any) -> Array:
    """Corners (A,4) ymin,xmin,ymax,xmax of boxes y,x,h,w relative to anchors; ``scale`` lists h, w, x, y."""
    h_scale, w_scale, x_scale, y_scale = scale[:4]
    y = boxes[:, 0] / y_scale * anchors[:, 2] + anchors[:, 0]
    x = boxes[:, 1] / x_scale * anchors[:, 3] + anchors[:, 1]
    half_h = np.exp(boxes[:, 2] / h_scale) * anchors[:, 2] / 2
    half_w = np.exp(boxes[:, 3] / w_scale) * anchors[:, 3] / 2
    return np.stack([y - half_h, x - half_w, y + half_h, x + half_w], axis=1)


def overlap(a: Array, b: Array) -> float:
    """Intersection over union of two boxes; 0 where one of them is empty."""
    area_a, area_b = (a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1])
    if area_a <= 0 or area_b <= 0:
        return 0.0
    high = min(a[2], b[2]) - max(a[0], b[0])
    wide = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(0.0, high) * max(0.0, wide)
    return float(shared / (area_a + area_b - shared))


def suppress(corners: Array, scores: Array, most: int, p: Any) -> list[int]:
    """The boxes that stay, best first: scores below the threshold and boxes too close to a better one go."""
    kept: list[int] = []
    for place in np.argsort(-scores, kind="stable"):
        if len(kept) == most or scores[place] < p.nmsScoreThreshold:
            break
        if all(overlap(corners[place], corners[other]) <= p.nmsIoUThreshold for other in kept):
            kept.append(int(place))
    return kept


Rows = list[tuple[int, int, float]]
"""(anchor, class, score) of each detection."""


def by_best_class(corners: Array, scores: Array, p: Any) -> Rows:
    """One suppression by each anchor's best score; every anchor that stays names its best classes."""
    classes = min(p.maxClassesPerDetection, scores.shape[1])
    rows: Rows = []
    for anchor in suppress(corners, scores.max(axis=1), p.maxDetections, p):
        best = np.argsort(-scores[anchor], kind="stable")[:classes]
        rows += [(anchor, int(kind), float(scores[anchor, kind])) for kind in best]
    return rows


def by_class(corners: Array, scores: Array, p: Any) -> Rows:
    """A suppression for each class; of all that stay the best ones."""
    rows: Rows = []
    for kind in range(scores.shape[1]):
        kept = suppress(corners, scores[:, kind], p.detectionsPerClass, p)
        rows += [(anchor, kind, float(scores[anchor, kind])) for anchor in kept]
    return sorted(rows, key=lambda row: -row[2])[: p.maxDetections]


@twin(NodeType.DETECTION_POST_PROCESS)
def detection_post_process(context: Context, p: Any, boxes: Array, scores: Array, anchors: Array) -> tuple[Array, ...]:
    """Boxes (1,N,4), classes (1,N), scores (1,N), their count (1); N = maxDetections · maxClassesPerDetection."""
    need_number(boxes, scores, anchors)
    fits = boxes.ndim == 3 and boxes.shape[::2] == (1, 4)
    require(fits, f"boxes must have dims [1, A, 4], got {list(boxes.shape)}")
    count = boxes.shape[1]
    require(anchors.shape == (count, 4), f"anchors must have dims {[count, 4]}, got {list(anchors.shape)}")
    fits = scores.ndim == 3 and scores.shape[:2] == (1, count) and scores.shape[2] - p.numClasses in (0, 1)
    require(fits, f"scores must have dims {[1, count, p.numClasses]} or one class more, got {list(scores.shape)}")
    require(p.numClasses >= 1, f"numClasses must be positive, got {p.numClasses}")
    require(len(p.scale) >= 4 and all(p.scale[:4]), f"scale must hold 4 numbers other than 0, got {list(p.scale)}")
    least = min(p.maxDetections, p.maxClassesPerDetection)
    require(least >= 1, f"maxDetections and maxClassesPerDetection must be positive, got {least}")
    corners = decode(boxes[0], anchors, p.scale)
    useful = scores[0, :, scores.shape[2] - p.numClasses :]
    rows = (by_class if p.useRegularNms else by_best_class)(corners, useful, p)
    size = p.maxDetections * p.maxClassesPerDetection
    found = np.zeros(as_shape((1, size, 4), "maxDetections times maxClassesPerDetection"))
    kinds, values = np.zeros((1, size)), np.zeros((1, size))
    for place, (anchor, kind, value) in enumerate(rows):
        found[0, place], kinds[0, place], values[0, place] = corners[anchor], kind, value
    return found, kinds, values, np.array([float(len(rows))])
