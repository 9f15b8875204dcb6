"""Rows of the operator that makes boxes of a detector's raw answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.nnrt.types import NodeType

from . import NodeCase, const, drawn, f32

T = NodeType
KNOWN = {
    "scale": [1.0, 1.0, 1.0, 1.0],
    "nmsIoUThreshold": 0.5,
    "nmsScoreThreshold": 0.3,
    "maxDetections": 3,
    "detectionsPerClass": 2,
    "maxClassesPerDetection": 1,
    "numClasses": 2,
}
NEAR = const([[0.5, 0.5, 1, 1], [0.5, 0.5, 1, 1], [2.5, 2.5, 1, 1]])
ZEROS = np.zeros((1, 3, 4), np.float32)


def detect(
    note: str, boxes: Any, scores: Any, anchors: Any, known: dict[str, Any] | None = None, **options: Any
) -> NodeCase:
    """A row; changed attributes by their names."""
    attributes = {**KNOWN, **(known or {})}
    options = {"known": ((1, 2),), **options}  # whether there is a background class
    return NodeCase(
        T.DETECTION_POST_PROCESS, note, attributes, (boxes, scores, anchors), 4, ("float32",) * 4, **options
    )


def _many(classes: int, *, background: bool = False, count: int = 24) -> tuple[Any, Any, Any]:
    """Boxes that overlap now and then; all scores differ."""
    generator = np.random.default_rng([classes, count])
    width = classes + background
    scores = generator.permutation(count * width).reshape(1, count, width).astype(np.float32) / np.float32(
        count * width
    )
    centres = generator.random((count, 2)).astype(np.float32) * 2
    sizes = generator.random((count, 2)).astype(np.float32) + np.float32(0.5)
    return drawn(1, count, 4) * f32(0.5), scores, const(np.concatenate([centres, sizes], axis=1))


BEST = f32([[[0.9, 0.2], [0.8, 0.6], [0.1, 0.7]]])
FAST, REGULAR = {"useRegularNms": False}, {"useRegularNms": True}
MANY = {
    "numClasses": 5,
    "maxDetections": 6,
    "detectionsPerClass": 4,
    "nmsScoreThreshold": 0.2,
    "scale": [5.0, 5.0, 10.0, 10.0],
}

CASES = [
    detect(
        "a suppression by the best class, known values",
        ZEROS,
        BEST,
        NEAR,
        FAST,
        expect=([[[0, 0, 1, 1], [2, 2, 3, 3], [0, 0, 0, 0]]], [[0, 1, 0]], [[0.9, 0.7, 0]], [2]),
    ),
    detect(
        "a suppression for each class, known values",
        ZEROS,
        BEST,
        NEAR,
        REGULAR,
        expect=([[[0, 0, 1, 1], [2, 2, 3, 3], [0, 0, 1, 1]]], [[0, 1, 1]], [[0.9, 0.7, 0.6]], [3]),
    ),
    detect(
        "decoding, known values",
        f32([[[5, -10, np.log(2) * 5, 0]]]),
        f32([[[0.5, 0.75]]]),
        const([[2, 3, 4, 2]]),
        {**FAST, "scale": [5.0, 5.0, 10.0, 10.0], "maxDetections": 1},
        expect=([[[0, 0, 8, 2]]], [[1]], [[0.75]], [1]),
        tolerance=1e-5,
    ),
    detect(
        "the background comes first and is left out",
        ZEROS,
        f32([[[0.95, 0.9, 0.2], [0.99, 0.8, 0.6], [0.0, 0.1, 0.7]]]),
        NEAR,
        REGULAR,
        expect=([[[0, 0, 1, 1], [2, 2, 3, 3], [0, 0, 1, 1]]], [[0, 1, 1]], [[0.9, 0.7, 0.6]], [3]),
    ),
    detect(
        "two classes for each box",
        ZEROS,
        BEST,
        NEAR,
        {**FAST, "maxClassesPerDetection": 2},
        expect=(
            [[[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3], [0, 0, 0, 0], [0, 0, 0, 0]]],
            [[0, 1, 1, 0, 0, 0]],
            [[0.9, 0.2, 0.7, 0.1, 0, 0]],
            [4],
        ),
    ),
    detect(
        "more classes asked for than there are",
        ZEROS,
        BEST,
        NEAR,
        {**FAST, "maxClassesPerDetection": 3, "maxDetections": 1},
        expect=([[[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]]], [[0, 1, 0]], [[0.9, 0.2, 0]], [2]),
    ),
    detect(
        "a score at the threshold stays",
        ZEROS,
        f32([[[0.25, 0], [0, 0], [0, 0.125]]]),
        NEAR,
        {**FAST, "nmsScoreThreshold": 0.25},
        expect=([[[0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]], [[0, 0, 0]], [[0.25, 0, 0]], [1]),
    ),
    detect(
        "an overlap at the threshold stays",
        np.zeros((1, 2, 4), np.float32),
        f32([[[0.9, 0], [0.8, 0]]]),
        const([[0.5, 0.5, 1, 1], [0.5, 1, 1, 2]]),
        FAST,
        expect=([[[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 0, 0]]], [[0, 0, 0]], [[0.9, 0.8, 0]], [2]),
    ),
    detect("nothing above the threshold", ZEROS, BEST, NEAR, {**FAST, "nmsScoreThreshold": 0.99}),
    detect("nothing above the threshold, for each class", ZEROS, BEST, NEAR, {**REGULAR, "nmsScoreThreshold": 0.99}),
    detect("ties: the lower anchor first", ZEROS, np.full((1, 3, 2), 0.5, np.float32), NEAR, FAST),
    *(
        detect(f"many, {name}{extra}", *_many(5, background=bool(extra)), {**MANY, **mode, **more})
        for name, mode in (("by the best class", FAST), ("for each class", REGULAR))
        for extra, more in (("", {}), (", background", {}))
    ),
    detect("many, two classes for each box", *_many(5), {**MANY, **FAST, "maxClassesPerDetection": 2}),
    detect("many, for each class, room for two classes", *_many(5), {**MANY, **REGULAR, "maxClassesPerDetection": 2}),
    detect("one detection", *_many(5), {**MANY, **FAST, "maxDetections": 1}),
    detect("one detection, for each class", *_many(5), {**MANY, **REGULAR, "maxDetections": 1}),
    detect("more room than boxes", *_many(5), {**MANY, **FAST, "maxDetections": 40}),
    detect(
        "more room than boxes, for each class",
        *_many(5),
        {**MANY, **REGULAR, "maxDetections": 200, "detectionsPerClass": 30},
    ),
    detect("one class", *_many(1), {**MANY, **FAST, "numClasses": 1}),
    detect("one class, for each class", *_many(1), {**MANY, **REGULAR, "numClasses": 1}),
    detect("no suppression", *_many(5), {**MANY, **REGULAR, "nmsIoUThreshold": 1.0}),
    detect("all that touch go", *_many(5), {**MANY, **FAST, "nmsIoUThreshold": 0.0}),
    detect("what is not looked at", *_many(5), {**MANY, **FAST, "inputSize": 300, "outQuantized": True}),
    detect("anchors handed in", *_many(5)[:2], _many(5)[2].array, {**MANY, **REGULAR}),
    detect("boxes of other dims", np.zeros((1, 3, 5), np.float32), BEST, NEAR, FAST, refuses="boxes|dims"),
    detect("two images", np.zeros((2, 3, 4), np.float32), BEST, NEAR, FAST, refuses="boxes|dims|1"),
    detect("anchors of another number", ZEROS, BEST, const(np.zeros((4, 4))), FAST, refuses="anchors|dims"),
    detect("scores of another number", ZEROS, f32([[[0.9, 0.2]]]), NEAR, FAST, refuses="scores|dims"),
    detect("numClasses that does not fit", ZEROS, BEST, NEAR, {**FAST, "numClasses": 4}, refuses="numClasses|scores"),
    detect("three scales", ZEROS, BEST, NEAR, {**FAST, "scale": [1.0, 1.0, 1.0]}, refuses="scale"),
    detect("a scale of 0", ZEROS, BEST, NEAR, {**FAST, "scale": [1.0, 0.0, 1.0, 1.0]}, refuses="scale"),
    detect("no detections", ZEROS, BEST, NEAR, {**FAST, "maxDetections": 0}, refuses="maxDetections"),
    detect("no classes", ZEROS, BEST, NEAR, {**FAST, "maxClassesPerDetection": 0}, refuses="maxClassesPerDetection"),
    NodeCase(T.DETECTION_POST_PROCESS, "two inputs", KNOWN, (ZEROS, BEST), 4, ("float32",) * 4, refuses="inputs"),
]
