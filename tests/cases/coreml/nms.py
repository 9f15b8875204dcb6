"""Rows of non-maximum suppression. Boxes are centre x, centre y, width, height."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import Case

KIND = "NonMaximumSuppression"

# A and B share 1/3 of their joint area, C lies far away, D is half of A (shares 1/2), E is A again
A, B, C, D, E = [1, 1, 2, 2], [2, 1, 2, 2], [9, 9, 2, 2], [0.5, 1, 1, 2], [1, 1, 2, 2]


def single(*scores: float) -> list[list[float]]:
    """One class."""
    return [[score] for score in scores]


def params(iou: float = 0.5, score: float = 0.2, boxes: int = 4, **more: Any) -> dict[str, Any]:
    return {"iouThreshold": iou, "scoreThreshold": score, "maxBoxes": boxes, **more}


def answer(boxes: list[Any], scores: list[Any], kept: list[int], most: int) -> tuple[Any, Any, Any, Any]:
    """What the layer gives for one image if ``kept`` are the boxes that stay."""
    b, s = np.asarray(boxes, float), np.asarray(scores, float)
    rest = most - len(kept)
    return (
        np.concatenate([b[kept], np.zeros((rest, 4))])[None],
        np.concatenate([s[kept], np.zeros((rest, s.shape[1]))])[None],
        [[*kept, *[-1] * rest]],
        [len(kept)],
    )


def row(note: str, values: dict[str, Any], boxes: list[Any], scores: list[Any], kept: list[int], *more: Any) -> Case:
    most = int(more[2][0]) if len(more) > 2 else values["maxBoxes"]
    return Case(KIND, note, values, ([boxes], [scores], *more), 4, expect=answer(boxes, scores, kept, most))


TWO = [[0.9, 0.1], [0.1, 0.8], [0.3, 0.7], [0.6, 0.2]]  # classes 0, 1, 1, 0


def many(batch: int, count: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Boxes that overlap a good deal, with scores far enough from each other."""
    generator = np.random.default_rng([5, batch, count, classes])
    boxes = np.concatenate(
        [generator.uniform(0, 4, (batch, count, 2)), generator.uniform(0.5, 3, (batch, count, 2))], -1
    )
    scores = generator.permutation(batch * count * classes).reshape(batch, count, classes) / (batch * count * classes)
    return boxes, scores


CASES = [
    row("a third shared is not over 0.5", params(), [A, B, C], single(0.9, 0.8, 0.7), [0, 1, 2]),
    row("a third shared is over 0.25", params(0.25), [A, B, C], single(0.9, 0.8, 0.7), [0, 2]),
    row("the better box stays, whatever its place", params(0.25), [A, B, C], single(0.7, 0.8, 0.9), [2, 1]),
    row("overlap equal to the threshold stays", params(0.5), [A, D], single(0.9, 0.8), [0, 1]),
    row("the same box goes", params(0.75), [A, E, C], single(0.5, 0.9, 0.4), [1, 2]),
    row("the same box stays at threshold 1", params(1.0), [A, E], single(0.5, 0.9), [1, 0]),
    row("iouThreshold unset is 0: any overlap is over it", {"maxBoxes": 3}, [A, B, C], single(0.9, 0.8, 0.7), [0, 2]),
    row("a suppressed box suppresses nothing", params(0.25), [A, B, [3, 1, 2, 2]], single(0.9, 0.8, 0.7), [0, 2]),
    row("boxes that touch share nothing", params(0.0), [A, [3, 1, 2, 2]], single(0.9, 0.8), [0, 1]),
    row("below scoreThreshold", params(score=0.75), [A, B, C], single(0.9, 0.8, 0.7), [0, 1]),
    row("at scoreThreshold", params(score=0.75), [A, B, C], single(0.9, 0.75, 0.7), [0, 1]),
    row(
        "negative scores at scoreThreshold unset, 0",
        {"iouThreshold": 0.5, "maxBoxes": 2},
        [A, C],
        single(0.5, -0.5),
        [0],
    ),
    row("no box at scoreThreshold: the best one", params(score=0.95), [A, B, C], single(0.7, 0.9, 0.8), [1]),
    row("no box at scoreThreshold, equal scores: the first", params(score=0.95), [A, B, C], single(0.7, 0.9, 0.9), [1]),
    row("equal scores: the lower index first", params(0.25), [B, A, C], single(0.8, 0.8, 0.8), [0, 2]),
    row("maxBoxes cuts off", params(boxes=2), [A, B, C], single(0.7, 0.8, 0.9), [2, 1]),
    row("maxBoxes of 1", params(boxes=1), [A, B, C], single(0.7, 0.8, 0.9), [2]),
    row("more room than boxes", params(boxes=6), [A, C], single(0.7, 0.8), [1, 0]),
    row("one box", params(boxes=2), [A], single(0.7), [0]),
    row("a box without area suppresses nothing", params(0.1), [A, [1, 1, 0, 0], C], single(0.7, 0.9, 0.8), [1, 2, 0]),
    row("the best class counts", params(0.25, 0.5), [A, B, C, D], TWO, [0, 2]),
    row("per class", params(0.25, 0.5, perClassSuppression=True), [A, B, C, D], TWO, [0, 1, 2]),
    row("per class, boxes of one class go", params(0.25, 0.2, perClassSuppression=True), [A, B, E, D], TWO, [0, 1]),
    row(
        "per class, equal class scores: the lower class",
        params(0.25, 0.2, perClassSuppression=True),
        [A, E, C],
        [[0.9, 0.1], [0.5, 0.5], [0.2, 0.3]],
        [0, 2],
    ),
    row("per class with one class", params(0.25, perClassSuppression=True), [A, B, C], single(0.9, 0.8, 0.7), [0, 2]),
    row("per class, no box at scoreThreshold", params(0.5, 0.95, perClassSuppression=True), [A, B, C, D], TWO, [0]),
    row(
        "per class, maxBoxes counts over the classes",
        params(0.25, 0.2, 2, perClassSuppression=True),
        [A, B, C, D],
        TWO,
        [0, 1],
    ),
    row("three inputs: iouThreshold", params(0.9), [A, B, C], single(0.9, 0.8, 0.7), [0, 2], [0.25]),
    row("four inputs: scoreThreshold", params(0.9, 0.1), [A, B, C], single(0.9, 0.8, 0.7), [0, 1], [0.5], [0.75]),
    row("five inputs: maxBoxes", params(0.9, 0.1, 9), [A, B, C], single(0.9, 0.8, 0.7), [0, 1], [0.5], [0.5], [2]),
    row(
        "five inputs, nothing in the layer, per class",
        {"perClassSuppression": True},
        [A, B, C, D],
        TWO,
        [0, 1, 2],
        [0.25],
        [0.5],
        [5],
    ),
    row("five inputs, no box at scoreThreshold", {}, [A, B], single(0.4, 0.6), [1], [0.5], [0.95], [3]),
    Case(
        KIND,
        "batch of two, each by itself",
        params(0.25, 0.5, 2),
        ([[A, B, C], [A, B, C]], [single(0.9, 0.8, 0.7), single(0.1, 0.2, 0.3)]),
        4,
        expect=([[A, C], [C, [0] * 4]], [[[0.9], [0.7]], [[0.3], [0]]], [[0, 2], [2, -1]], [2, 1]),
    ),
    Case(KIND, "many boxes, one class", params(0.3, 0.2, 20), many(1, 40, 1), 4),
    Case(KIND, "many boxes, 7 classes", params(0.3, 0.5, 50), many(1, 40, 7), 4),
    Case(KIND, "many boxes, 7 classes, per class", params(0.3, 0.5, 50, perClassSuppression=True), many(1, 40, 7), 4),
    Case(KIND, "many boxes, batch of 3, per class", params(0.4, 0.3, 12, perClassSuppression=True), many(3, 25, 3), 4),
    Case(KIND, "boxes of five numbers", params(), ((1, 3, 5), (1, 3, 2)), 4, refuses="(B, N, 4)"),
    Case(KIND, "scores of another number of boxes", params(), ((1, 3, 4), (1, 2, 2)), 4, refuses="scores"),
    Case(KIND, "no maxBoxes", {"iouThreshold": 0.5}, ([[A]], [single(0.5)]), 4, refuses="maxBoxes"),
]
