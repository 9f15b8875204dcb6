"""Rows of the operators that resize images and regroup their pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.nnrt.types import CoordinateTransformMode, Format, NearestMode, NodeType, ResizeMethod

from . import HALF, NodeCase, drawn, f32, q, whole
from .shape import typed

T = NodeType
NCHW = {"format": Format.NCHW}
C, M = CoordinateTransformMode, NearestMode
SIZES = {
    "larger": (7, 9),
    "smaller": (2, 3),
    "twice": (8, 10),
    "half": (2, 2),
    "one pixel": (1, 1),
    "the same": (4, 5),
    "taller and narrower": (6, 2),
}


def resize(
    note: str, method: ResizeMethod, high: int, wide: int, mode: C = C.ASYMMETRIC, x: Any = (2, 4, 5, 3), **options: Any
) -> NodeCase:
    """A row of Resize."""
    attributes = {"method": method, "newHeight": high, "newWidth": wide, "coordinateTransformMode": mode}
    for name in ("nearestMode", "cubicCoeff", "preserveAspectRatio", "excludeOutside", "extrapolationValue"):
        if name in options:
            attributes[name] = options.pop(name)
    return NodeCase(T.RESIZE, note, attributes, (x,), **options)


LINEAR, NEAREST, CUBIC = ResizeMethod.LINEAR, ResizeMethod.NEAREST, ResizeMethod.CUBIC
ROW4, ROW2 = f32([[[[1], [2], [3], [4]]]]), f32([[[[0], [4]]]])
CASES = [
    resize(f"{method.name}, {mode.name}, {size}", method, *SIZES[size], mode)
    for method in (LINEAR, CUBIC)
    for mode in C
    for size in SIZES
]
CASES += [
    resize(f"NEAREST, {mode.name}, {rounding.name}, {size}", NEAREST, *SIZES[size], mode, nearestMode=rounding)
    for mode in C
    for rounding in M
    for size in ("larger", "smaller", "twice", "half", "one pixel")
]
CASES += [
    resize("LINEAR, ASYMMETRIC, known values", LINEAR, 1, 4, C.ASYMMETRIC, ROW2, expect=([[[[0], [2], [4], [4]]]],)),
    resize("LINEAR, ALIGN_CORNERS, known values", LINEAR, 1, 3, C.ALIGN_CORNERS, ROW2, expect=([[[[0], [2], [4]]]],)),
    resize("LINEAR, HALF_PIXEL, known values", LINEAR, 1, 4, C.HALF_PIXEL, ROW2, expect=([[[[0], [1], [3], [4]]]],)),
    resize("LINEAR, HALF_PIXEL, one pixel is the first", LINEAR, 1, 1, C.HALF_PIXEL, ROW2, expect=([[[[0]]]],)),
    resize(
        "NEAREST, FLOOR, known values",
        NEAREST,
        1,
        6,
        C.ASYMMETRIC,
        ROW4,
        nearestMode=M.FLOOR,
        expect=([[[[1], [1], [2], [3], [3], [4]]]],),
    ),
    resize(
        "NEAREST, CEIL, known values",
        NEAREST,
        1,
        8,
        C.ASYMMETRIC,
        ROW4,
        nearestMode=M.CEIL,
        expect=([[[[1], [2], [2], [3], [3], [4], [4], [4]]]],),
    ),
    resize(
        "NEAREST, ROUND_HALF_DOWN, known values",
        NEAREST,
        1,
        8,
        C.ASYMMETRIC,
        ROW4,
        nearestMode=M.ROUND_HALF_DOWN,
        expect=([[[[1], [1], [2], [2], [3], [3], [4], [4]]]],),
    ),
    resize(
        "NEAREST, ROUND_HALF_UP, known values",
        NEAREST,
        1,
        8,
        C.ASYMMETRIC,
        ROW4,
        nearestMode=M.ROUND_HALF_UP,
        expect=([[[[1], [2], [2], [3], [3], [4], [4], [4]]]],),
    ),
    resize(
        "NEAREST, NORMAL rounds halves away from 0",
        NEAREST,
        1,
        8,
        C.ASYMMETRIC,
        ROW4,
        nearestMode=M.NORMAL,
        expect=([[[[1], [2], [2], [3], [3], [4], [4], [4]]]],),
    ),
    resize(
        "NEAREST, ALIGN_CORNERS, halves",
        NEAREST,
        1,
        7,
        C.ALIGN_CORNERS,
        ROW4,
        nearestMode=M.ROUND_HALF_DOWN,
        expect=([[[[1], [1], [2], [2], [3], [3], [4]]]],),
    ),
    resize("CUBIC, coefficient -0.5", CUBIC, 7, 9, C.HALF_PIXEL, cubicCoeff=-0.5),
    resize("CUBIC, coefficient -1, ASYMMETRIC", CUBIC, 7, 9, C.ASYMMETRIC, cubicCoeff=-1.0),
    resize(
        "CUBIC, known values",
        CUBIC,
        1,
        8,
        C.ASYMMETRIC,
        ROW4,
        cubicCoeff=-0.5,
        expect=([[[[1], [1.4375], [2], [2.5], [3], [3.5625], [4], [4.0625]]]],),
    ),
    *(
        resize(f"{method.name}, N,C,H,W", method, 7, 3, C.HALF_PIXEL, (2, 3, 4, 5), nearestMode=M.FLOOR, **NCHW)
        for method in (LINEAR, NEAREST, CUBIC)
    ),
    *(
        resize(
            f"{method.name}, float16",
            method,
            7,
            3,
            C.HALF_PIXEL,
            drawn(1, 4, 5, 3, dtype=np.float16),
            nearestMode=M.CEIL,
            **HALF,
        )
        for method in (LINEAR, NEAREST, CUBIC)
    ),
    *(
        resize(
            f"{method.name}, int8",
            method,
            7,
            3,
            C.HALF_PIXEL,
            whole(1, 4, 5, 3, dtype=np.int8, low=-90, high=90),
            quant=(q(0.5, 3),),
            made=q(0.5, 3),
            nearestMode=M.FLOOR,
        )
        for method in (LINEAR, NEAREST, CUBIC)
    ),
    resize("LINEAR, one pixel made large", LINEAR, 3, 4, C.ALIGN_CORNERS, (1, 1, 1, 2)),
    resize(
        "LINEAR, excludeOutside and extrapolationValue change nothing",
        LINEAR,
        7,
        9,
        C.HALF_PIXEL,
        excludeOutside=1,
        extrapolationValue=9.0,
    ),
    *(resize(f"CUBIC, excludeOutside, {mode.name}", CUBIC, 7, 9, mode, excludeOutside=1) for mode in C),
    resize("CUBIC, excludeOutside, smaller", CUBIC, 2, 3, C.HALF_PIXEL, excludeOutside=1),
    resize("method UNKNOWN", ResizeMethod.UNKNOWN, 7, 9, refuses="method"),
    resize("no such method", 5, 7, 9, refuses="method"),  # type: ignore[arg-type]
    resize("no such coordinateTransformMode", LINEAR, 7, 9, 9, refuses="coordinateTransformMode"),  # type: ignore[arg-type]
    *(
        resize(
            f"{method.name} of float64, {layout.name}",
            method,
            7,
            3,
            x=drawn(1, 4, 5, 3, dtype=np.float64),
            format=layout,
        )
        for method in (LINEAR, NEAREST, CUBIC)
        for layout in (Format.NHWC, Format.NCHW)
    ),
    resize("no such nearestMode", NEAREST, 7, 9, nearestMode=9, refuses="nearestMode"),
    resize("preserveAspectRatio", LINEAR, 7, 9, preserveAspectRatio=True, refuses="preserveAspectRatio"),
    resize("newHeight 0", LINEAR, 0, 9, refuses="newHeight"),
    resize("newWidth below 0", LINEAR, 7, -9, refuses="newWidth"),
    resize("rank 3", LINEAR, 7, 9, x=(4, 5, 3), refuses="rank|dims"),
]

D2S, S2D = T.DEPTH_TO_SPACE, T.SPACE_TO_DEPTH
CASES += [
    NodeCase(
        D2S,
        "DCR, known values",
        {"blockSize": 2},
        (f32([[[[1, 2, 3, 4, 5, 6, 7, 8]]]]),),
        expect=([[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]],),
    ),
    NodeCase(
        D2S,
        "CRD, known values",
        {"blockSize": 2, "mode": "CRD"},
        (f32([[[[1, 2, 3, 4, 5, 6, 7, 8]]]]),),
        expect=([[[[1, 5], [2, 6]], [[3, 7], [4, 8]]]],),
    ),
    *(
        NodeCase(D2S, f"{mode}, block {block}", {"blockSize": block, "mode": mode}, ((2, 2, 3, 2 * block * block),))
        for mode in ("DCR", "CRD")
        for block in (1, 2, 3)
    ),
    *(
        NodeCase(D2S, f"{mode}, N,C,H,W", {"blockSize": 2, "mode": mode}, ((2, 8, 2, 3),), **NCHW)
        for mode in ("DCR", "CRD")
    ),
    NodeCase(D2S, "format says N,C,H,W, the tensor N,H,W,C", {"blockSize": 2, "format": Format.NCHW}, ((2, 2, 3, 8),)),
    NodeCase(D2S, "channels that do not divide", {"blockSize": 2}, ((2, 2, 3, 6),), refuses="blockSize|block|channels"),
    NodeCase(D2S, "blockSize 0", {"blockSize": 0}, ((2, 2, 3, 4),), refuses="blockSize"),
    NodeCase(D2S, "rank 3", {"blockSize": 2}, ((2, 3, 4),), refuses="rank|dims"),
    NodeCase(
        D2S,
        "int8, requantised",
        {"blockSize": 2},
        (whole(1, 2, 2, 4, dtype=np.int8),),
        quant=(q(0.5, 1),),
        made=q(0.25, 3),
    ),
    *typed(D2S, {"blockSize": 2}, shape=(1, 2, 2, 4)),
    NodeCase(
        S2D,
        "known values",
        {"blockSize": 2},
        (f32([[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]]),),
        expect=([[[[1, 2, 3, 4, 5, 6, 7, 8]]]],),
    ),
    *(NodeCase(S2D, f"block {block}", {"blockSize": block}, ((2, 2 * block, 3 * block, 2),)) for block in (1, 2, 3)),
    NodeCase(S2D, "N,C,H,W", {"blockSize": 2}, ((2, 3, 4, 6),), **NCHW),
    NodeCase(S2D, "format says N,C,H,W, the tensor N,H,W,C", {"blockSize": 2, "format": Format.NCHW}, ((2, 4, 6, 3),)),
    NodeCase(S2D, "rows that do not divide", {"blockSize": 2}, ((2, 3, 4, 1),), refuses="blockSize|divi"),
    NodeCase(S2D, "blockSize below 0", {"blockSize": -2}, ((2, 2, 4, 1),), refuses="blockSize"),
    NodeCase(S2D, "rank 3", {"blockSize": 2}, ((2, 4, 4),), refuses="rank|dims"),
    NodeCase(
        S2D,
        "int8, requantised",
        {"blockSize": 2},
        (whole(1, 2, 2, 4, dtype=np.int8),),
        quant=(q(0.5, 1),),
        made=q(0.25, 3),
    ),
    *typed(S2D, {"blockSize": 2}, shape=(1, 2, 4, 1)),
]


def to_space(note: str, block: list[int], crops: list[list[int]], x: Any, **options: Any) -> NodeCase:
    """A row of BatchToSpaceND."""
    return NodeCase(T.BATCH_TO_SPACE_ND, note, {"blockShape": block, "crops": crops}, (x,), **options)


def to_batch(note: str, block: list[int], pads: list[list[int]], x: Any, **options: Any) -> NodeCase:
    """A row of SpaceToBatchND."""
    return NodeCase(T.SPACE_TO_BATCH_ND, note, {"blockShape": block, "paddings": pads}, (x,), **options)


NONE = [[0, 0], [0, 0]]
BATCH, IMAGE = f32([[[[1]]], [[[2]]], [[[3]]], [[[4]]]]), f32([[[[1], [2]], [[3], [4]]]])
CASES += [
    to_space("known values", [2, 2], NONE, BATCH, expect=(IMAGE,)),
    to_space("blocks of other sizes", [2, 3], NONE, (12, 2, 3, 2)),
    to_space("crops of four sizes", [2, 3], [[1, 0], [2, 1]], (6, 3, 2, 2)),
    to_space("block 1", [1, 1], [[1, 0], [0, 1]], (2, 3, 4, 2)),
    to_space("one side only", [1, 2], NONE, (4, 2, 3, 2)),
    to_space("N,C,H,W", [2, 3], [[1, 0], [0, 1]], (6, 2, 3, 2), **NCHW),
    to_space("int8, requantised", [2, 2], NONE, whole(4, 1, 2, 1, dtype=np.int8), quant=(q(0.5, 1),), made=q(0.25, 3)),
    to_space("a batch that does not divide", [2, 2], NONE, (6, 2, 2, 1), refuses="block|batch|divide"),
    to_space("crops that leave nothing", [2, 2], [[1, 1], [0, 0]], (4, 1, 2, 1), refuses="crops"),
    to_space("a crop below 0", [2, 2], [[-1, 0], [0, 0]], (4, 2, 2, 1), refuses="crops"),
    to_space("one row of crops", [2, 2], [[0, 0]], (4, 2, 2, 1), refuses="crops"),
    to_space("blockShape of one", [2], NONE, (4, 2, 2, 1), refuses="blockShape"),
    to_space("blockShape 0", [0, 2], NONE, (4, 2, 2, 1), refuses="blockShape"),
    to_space("rank 3", [2, 2], NONE, (4, 2, 2), refuses="rank|dims"),
    *typed(T.BATCH_TO_SPACE_ND, {"blockShape": [2, 1], "crops": NONE}, shape=(2, 2, 2, 1)),
    to_batch("known values", [2, 2], NONE, IMAGE, expect=(BATCH,)),
    to_batch("blocks of other sizes", [2, 3], NONE, (2, 4, 6, 2)),
    to_batch("pads of four sizes", [2, 3], [[1, 0], [2, 1]], (2, 3, 3, 2)),
    to_batch(
        "pads, known values", [1, 2], [[0, 0], [1, 0]], f32([[[[1], [2], [3]]]]), expect=([[[[0], [2]]], [[[1], [3]]]],)
    ),
    to_batch("block 1", [1, 1], [[1, 0], [0, 1]], (2, 3, 4, 2)),
    to_batch("N,C,H,W", [2, 3], [[1, 0], [0, 1]], (2, 2, 3, 5), **NCHW),
    to_batch(
        "int8 pads with real zeros",
        [2, 2],
        [[1, 1], [0, 0]],
        whole(1, 2, 2, 1, dtype=np.int8),
        quant=(q(0.5, 7),),
        made=q(0.5, 7),
        steps=0,
    ),
    to_batch("an image that does not divide", [2, 2], NONE, (2, 3, 4, 1), refuses="block|divi"),
    to_batch("a pad below 0", [2, 2], [[-1, 1], [0, 0]], (2, 2, 4, 1), refuses="paddings"),
    to_batch("one row of pads", [2, 2], [[0, 0]], (2, 2, 4, 1), refuses="paddings"),
    to_batch("blockShape of three", [2, 2, 1], NONE, (2, 2, 4, 1), refuses="blockShape"),
    to_batch("blockShape below 0", [2, -2], NONE, (2, 2, 4, 1), refuses="blockShape"),
    to_batch("rank 3", [2, 2], NONE, (2, 2, 4), refuses="rank|dims"),
    *typed(T.SPACE_TO_BATCH_ND, {"blockShape": [2, 1], "paddings": NONE}, shape=(1, 2, 2, 1)),
]
