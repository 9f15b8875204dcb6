"""Rows of crop, padding, upsample, resizeBilinear and cropResize."""
# ruff: noqa: E501 - one row a line

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cases import Case
from cases.coreml.convolution import edges

crop = partial(Case, "crop")
pad = partial(Case, "padding")
up = partial(Case, "upsample")
resize = partial(Case, "resizeBilinear")
# whether a box has four numbers or five has to be known
boxes = partial(Case, "cropResize", known=(1,))

PLANE = np.arange(48).reshape(1, 6, 8)
AMOUNTS = {"cropAmounts": edges(1, 2, 3, 1)}
RANKS = {"rank 4": (2, 3), "rank 5": (2, 1, 3), "rank 6": (1, 2, 1, 2)}
LEGACY = {"legacy": (1, 1, 2), "legacy, batch": (1, 3, 2), "legacy, sequence and batch": (2, 2, 2)}

CROP = [
    crop("borders, known answer", AMOUNTS, (PLANE,), expect=(PLANE[:, 1:4, 3:7],)),
    crop("no borders", {"cropAmounts": edges()}, ((2, 3, 4),)),
    crop("down to one cell", {"cropAmounts": edges(2, 3, 0, 7)}, ((1, 6, 8),)),
    crop("offset, known answer", {"offset": (1, 3)}, (PLANE, (1, 3, 4)), expect=(PLANE[:, 1:4, 3:7],)),
    crop("offset 0, size of the second input", {"offset": (0, 0)}, ((2, 6, 8), (2, 3, 4))),
    crop("offset up to the end, other channels", {"offset": (3, 4)}, ((2, 6, 8), (5, 3, 4))),
    crop("two inputs ignore cropAmounts", {"offset": (1, 1), **AMOUNTS}, ((2, 6, 8), (2, 4, 5))),
] + [
    crop(f"borders, {note}", AMOUNTS, ((*lead, 6, 8),), rank5=note.startswith("legacy")) for note, lead in (RANKS | LEGACY).items()
] + [
    crop(f"offset, {note}", {"offset": (2, 1)}, ((*lead, 6, 8), (*lead, 3, 5)), rank5=note.startswith("legacy")) for note, lead in (RANKS | LEGACY).items()
] + [
    crop("borders for one axis", {"cropAmounts": {"borderAmounts": [{}]}}, ((2, 4, 4),), refuses="borderAmounts"),
    crop("offset for one axis", {"offset": (1,)}, ((2, 4, 4), (2, 2, 2)), refuses="offset"),
    crop("two inputs, no offset", {}, ((2, 4, 4), (2, 2, 2)), refuses="offset"),
    crop("rank 2", {"cropAmounts": edges()}, ((4, 4),), refuses="rank"),
]  # fmt: skip

# the example of the format's text
TWELVE = np.arange(1, 13).reshape(1, 3, 4)
CONSTANT = [[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 1, 2, 3, 4], [0, 0, 5, 6, 7, 8], [0, 0, 9, 10, 11, 12]]
REFLECTION = [
    [11, 10, 9, 10, 11, 12],
    [7, 6, 5, 6, 7, 8],
    [3, 2, 1, 2, 3, 4],
    [7, 6, 5, 6, 7, 8],
    [11, 10, 9, 10, 11, 12],
]
REPLICATION = [[1, 1, 1, 2, 3, 4], [1, 1, 1, 2, 3, 4], [1, 1, 1, 2, 3, 4], [5, 5, 5, 6, 7, 8], [9, 9, 9, 10, 11, 12]]
TYPES: dict[str, dict[str, Any]] = {
    "constant 0": {"constant": {}}, "constant": {"constant": {"value": -1.5}}, "reflection": {"reflection": {}}, "replication": {"replication": {}},
}  # fmt: skip


def padded(kind: str, *amounts: int) -> dict[str, Any]:
    """Parameters of a padding layer; amounts in the order top, bottom, left, right."""
    return {kind: {}, "paddingAmounts": edges(*amounts)}


PAD = [
    pad(f"{name}, known answer", padded(name, 2, 0, 2, 0), (TWELVE,), expect=(answer,))
    for name, answer in (("constant", CONSTANT), ("reflection", REFLECTION), ("replication", REPLICATION))
] + [
    pad(f"{note}, {where}", {**kind, "paddingAmounts": edges(1, 2, 0, 3)}, ((*lead, 3, 4),), rank5=where.startswith("legacy"))
    for note, kind in TYPES.items()
    for where, lead in ({"rank 2": (), "rank 3": (2,)} | RANKS | LEGACY).items()
] + [
    pad(f"{note}, amounts left out", kind, ((2, 3, 4),)) for note, kind in TYPES.items()
] + [
    pad("reflection of 4 numbers by 2, known answer", padded("reflection", 0, 0, 2, 2), ([[[1, 2, 3, 4]]],), expect=([3, 2, 1, 2, 3, 4, 3, 2],)),
    pad("reflection as far as it goes", padded("reflection", 2, 2, 3, 3), ((1, 3, 4),)),
    pad("replication of one cell", padded("replication", 2, 1, 0, 3), ((2, 1, 1),)),
    pad("constant wider than the plane", padded("constant", 5, 0, 0, 6), ((1, 2, 2),)),
    pad("reflection as wide as the plane", padded("reflection", 0, 0, 4, 0), ((1, 3, 4),), refuses="reflection"),
    pad("reflection as high as the plane", padded("reflection", 0, 3, 0, 0), ((1, 3, 4),), refuses="reflection"),
    pad("no kind of padding", {"paddingAmounts": edges(1, 1, 1, 1)}, ((1, 3, 4),), refuses="PaddingType"),
    pad("borders for three axes", {"constant": {}, "paddingAmounts": {"borderAmounts": [{}, {}, {}]}}, ((1, 3, 4),), refuses="borderAmounts"),
    pad("rank 1", padded("constant", 1, 1, 1, 1), ((4,),), refuses="rank"),
]  # fmt: skip

LINEAR = ("DEFAULT", "ALIGN_CORNERS_TRUE", "ALIGN_CORNERS_FALSE")
FOUR = np.arange(4).reshape(1, 1, 4)
GRIDS = {
    "DEFAULT": [0, 0.5, 1, 1.5, 2, 2.5, 3, 3],
    "ALIGN_CORNERS_TRUE": np.arange(8) * 3 / 7,
    "ALIGN_CORNERS_FALSE": [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3],
}


def bilinear(mode: str, *factors: float) -> dict[str, Any]:
    """Parameters of a bilinear upsampling; fractional factors where one is no integer."""
    whole = all(isinstance(factor, int) for factor in factors)
    return {
        "mode": "BILINEAR",
        "linearUpsampleMode": mode,
        "scalingFactor" if whole else "fractionalScalingFactor": factors,
    }


UP = [
    up("NN, 0.7 of 10 columns are 7, known answer", {"fractionalScalingFactor": (1.0, 0.7)}, (np.arange(10.0).reshape(1, 1, 10),), expect=([[[0, 1, 2, 4, 5, 7, 8]]],)),
    up("NN, cell 8 of factor 1.6 begins the sixth", {"fractionalScalingFactor": (1.0, 1.6)}, (np.arange(8.0).reshape(1, 1, 8),), expect=([[[0, 0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 6]]],)),
    up("nearest, known answer", {"scalingFactor": (2, 1)}, ([[[1, 2], [3, 4]]],), expect=([[1, 2], [1, 2], [3, 4], [3, 4]],)),
    up("nothing set: as it is", {}, ((2, 3, 4),)),
    up("nearest, uneven", {"scalingFactor": (3, 2)}, ((2, 2, 3, 2),)),
    up("nearest, 1", {"scalingFactor": (1, 1)}, ((2, 3, 4),)),
    up("nearest, fractional, known answer", {"fractionalScalingFactor": (1.0, 1.5)}, ([[[1, 2, 3, 4]]],), expect=([1, 1, 2, 3, 3, 4],)),
    up("nearest, fractional, size rounded down", {"fractionalScalingFactor": (2.5, 1.25)}, ((1, 3, 5),)),
    up("bilinear, 1 row to 2, 3 cells to 9, known answer", bilinear("DEFAULT", 2, 3), ([[[1, 2, 3]]],), expect=([[1, 4 / 3, 5 / 3, 2, 7 / 3, 8 / 3, 3, 3, 3]] * 2,)),
] + [
    up(f"{mode}, known answer", bilinear(mode, 1, 2), (FOUR,), expect=(grid,)) for mode, grid in GRIDS.items()
] + [
    up(f"{mode}, {note}", bilinear(mode, *factors), (shape,))
    for mode in LINEAR
    for note, factors, shape in (
        ("3x2", (3, 2), (2, 3, 4)), ("2x2, batch", (2, 2), (2, 3, 3, 5)), ("2x1", (2, 1), (1, 2, 3)), ("1x1", (1, 1), (1, 2, 3)), ("2x3 of one cell", (2, 3), (2, 1, 1)),
        ("fractional 1.5x1.5", (1.5, 1.5), (1, 4, 5)), ("fractional 2.5x1.25", (2.5, 1.25), (2, 2, 3, 5)), ("fractional 2x3", (2.0, 3.0), (1, 3, 2)), ("fractional 1.5 of one cell", (1.5, 1.5), (1, 1, 1)),
    )
] + [
    up(f"{note}, {where}", params, ((*lead, 2, 3),), rank5=where.startswith("legacy"))
    for note, params in (("nearest", {"scalingFactor": (2, 3)}), ("bilinear", bilinear("DEFAULT", 2, 2)), ("corners aligned", bilinear("ALIGN_CORNERS_TRUE", 2, 2)))
    for where, lead in (RANKS | LEGACY).items()
] + [
    up("one scalingFactor", {"scalingFactor": (2,)}, ((1, 2, 3),), refuses="scalingFactor"),
    up("three fractional factors", bilinear("ALIGN_CORNERS_TRUE", 1.5, 1.5, 1.5), ((1, 2, 3),), refuses="fractionalScalingFactor"),
    up("both kinds of factor", {"scalingFactor": (2, 2), "fractionalScalingFactor": (1.5, 1.5)}, ((1, 2, 3),), refuses="fractionalScalingFactor"),
    up("negative factor", bilinear("ALIGN_CORNERS_TRUE", -1.5, 1.5), ((1, 2, 3),), refuses="fractionalScalingFactor"),
    up("unknown mode", {"scalingFactor": (2, 2), "mode": 2}, ((1, 2, 3),), refuses="mode"),
    up("rank 2", {"scalingFactor": (2, 2)}, ((2, 3),), refuses="rank"),
]  # fmt: skip

SAMPLING = ("STRICT_ALIGN_ENDPOINTS_MODE", "ALIGN_ENDPOINTS_MODE", "UPSAMPLE_MODE", "ROI_ALIGN_MODE")
# X 4 cells to N 8, 3, 1
POINTS: dict[tuple[str, int], Any] = {
    ("STRICT_ALIGN_ENDPOINTS_MODE", 7): np.arange(7) / 2,
    ("STRICT_ALIGN_ENDPOINTS_MODE", 1): [0],
    ("ALIGN_ENDPOINTS_MODE", 7): np.arange(7) / 2,
    ("ALIGN_ENDPOINTS_MODE", 1): [1.5],
    ("UPSAMPLE_MODE", 8): [0, 0.5, 1, 1.5, 2, 2.5, 3, 3],
    ("UPSAMPLE_MODE", 2): [0, 2],
    ("UPSAMPLE_MODE", 1): [0],
    ("ROI_ALIGN_MODE", 3): [0.5, 1.5, 2.5],
    ("ROI_ALIGN_MODE", 6): [0.25, 0.75, 1.25, 1.75, 2.25, 2.75],
    ("ROI_ALIGN_MODE", 1): [1.5],
}


def sized(mode: str, *size: int, **more: Any) -> dict[str, Any]:
    """A target size and a sampling method."""
    return {"targetSize": size, "mode": {"samplingMethod": mode}} | more


RESIZE = [
    resize(f"{mode}, 4 to {count}, known answer", sized(mode, 1, count), (FOUR,), expect=(points,)) for (mode, count), points in POINTS.items()
] + [
    resize(f"{mode}, {shape[-2:]} to {size}", sized(mode, *size), (shape,))
    for mode in SAMPLING
    for shape, size in (((2, 3, 4), (5, 7)), ((1, 5, 7), (2, 3)), ((2, 2, 3, 3), (1, 1)), ((1, 1, 1), (3, 2)), ((1, 2, 3), (2, 3)), ((1, 6, 1), (1, 4)))
] + [
    resize("targetSize left out: 1x1", {"mode": {"samplingMethod": "ALIGN_ENDPOINTS_MODE"}}, ([[[1.0, 2.0], [3.0, 6.0]]],), expect=([3.0],)),
    resize("mode left out: the strict one", {"targetSize": (3, 5)}, ((1, 4, 2),)),
] + [
    resize(f"{mode}, {where}", sized(mode, 3, 4), ((*lead, 4, 3),), rank5=where.startswith("legacy"))
    for mode in SAMPLING
    for where, lead in (RANKS | LEGACY).items()
] + [
    resize("one targetSize", {"targetSize": (3,)}, ((1, 2, 3),), refuses="targetSize"),
    resize("three targetSizes", {"targetSize": (3, 3, 3)}, ((1, 2, 3),), refuses="targetSize"),
    resize("unknown samplingMethod", {"targetSize": (3, 3), "mode": {"samplingMethod": 4}}, ((1, 2, 3),), refuses="samplingMethod"),
    resize("rank 2", {"targetSize": (3, 3)}, ((2, 3),), refuses="rank"),
]  # fmt: skip

BOXES = ("CORNERS_HEIGHT_FIRST", "CORNERS_WIDTH_FIRST", "CENTER_SIZE_HEIGHT_FIRST", "CENTER_SIZE_WIDTH_FIRST")
CUT = np.array([1.0, 0.5, 4.0, 5.5])  # h 1 to 4, w 0.5 to 5.5
FORMS = {
    "CORNERS_HEIGHT_FIRST": CUT, "CORNERS_WIDTH_FIRST": CUT[[1, 0, 3, 2]],
    "CENTER_SIZE_HEIGHT_FIRST": np.array([2.5, 3.0, 3.0, 5.0]), "CENTER_SIZE_WIDTH_FIRST": np.array([3.0, 2.5, 5.0, 3.0]),
}  # fmt: skip
RAMP = np.arange(48.0).reshape(1, 1, 1, 6, 8)
CORNERS = [[[[[8.5, 13.5], [32.5, 37.5]]]]]


def rois(*rows: Any) -> np.ndarray:
    """Boxes in the shape [N,1,4 or 5,1,1]."""
    return np.array(rows, np.float64)[:, None, :, None, None]


THREE = rois([0.5, 1, 3.5, 4], [0, 0, 5, 7], [2, 2.25, 2, 2.25])
INDEXED = rois([1, 0.5, 1, 3.5, 4], [0, 0, 0, 5, 7], [1, 2, 3, 5, 4.5])

BOX = [
    boxes(f"{mode}, known answer", sized(SAMPLING[0], 2, 2, boxIndicesMode={"boxMode": mode}), (RAMP, rois(box)), expect=(CORNERS,)) for mode, box in FORMS.items()
] + [
    boxes(f"{mode}, boxes from all instances{', legacy' if legacy else ''}", sized(mode, 2, 3), ((1, 2, 3, 6, 8), THREE[:2]), rank5=legacy)
    for mode in SAMPLING
    for legacy in (False, True)
] + [
    boxes(f"{mode}, boxes with an instance{', legacy' if legacy else ''}", sized(mode, 3, 2), ((1, 2, 3, 6, 8), INDEXED), rank5=legacy)
    for mode in SAMPLING
    for legacy in (False, True)
] + [
    boxes(f"{mode}, one cell", sized(mode, 1, 1), ((1, 1, 2, 6, 8), THREE[:2])) for mode in SAMPLING
] + [
    boxes("strict, one cell: the start", sized(SAMPLING[0], 1, 1), (RAMP, rois([1, 2, 3, 4])), expect=([10.0],)),
    boxes("aligned, one cell: the middle", sized(SAMPLING[1], 1, 1), (RAMP, rois([1, 2, 3, 4])), expect=([19.0],)),
    boxes("a box that is a point", sized(SAMPLING[0], 2, 2), (RAMP, rois([2, 2.25, 2, 2.25])), expect=(np.full((2, 2), 18.25),)),
    boxes("targetSize and modes left out", {}, (RAMP, rois([1, 2, 3, 4])), expect=([10.0],)),
    boxes("normalizedCoordinates, known answer", sized(SAMPLING[0], 2, 2, normalizedCoordinates=True), (RAMP, rois([0, 0, 1, 1])), expect=([[0, 7], [40, 47]],)),
    boxes("normalizedCoordinates, centre and size", sized(SAMPLING[1], 3, 2, normalizedCoordinates=True, boxIndicesMode={"boxMode": BOXES[2]}), ((1, 1, 2, 5, 9), rois([0.5, 0.5, 0.5, 0.25], [0.375, 0.625, 0.75, 0.5]))),
    boxes("spatialScale, known answer", sized(SAMPLING[0], 2, 2, spatialScale=0.5), (RAMP, rois([2, 1, 8, 11])), expect=(CORNERS,)),
    boxes("spatialScale 0 is 1", sized(SAMPLING[0], 2, 2, spatialScale=0.0), (RAMP, rois(CUT)), expect=(CORNERS,)),
    boxes("region of interest with spatialScale", sized(SAMPLING[3], 2, 3, spatialScale=0.25), ((1, 2, 2, 6, 8), rois([1, 4, 2, 16, 24], [0, 0, 0, 20, 28]))),
    # spacing max(1, 0.5) / 2, positions 0.25 and 0.75 within the box, which ends at 0.5
    boxes("region of interest smaller than a cell, known answer", sized(SAMPLING[3], 1, 2), (RAMP, rois([2, 2, 2, 2.5])), expect=([18.25, 18.5],)),
    boxes("one targetSize", {"targetSize": (3,)}, (RAMP, THREE), refuses="targetSize"),
    boxes("unknown boxMode", sized(SAMPLING[0], 2, 2, boxIndicesMode={"boxMode": 4}), (RAMP, THREE), refuses="boxMode"),
    boxes("unknown samplingMethod", {"targetSize": (2, 2), "mode": {"samplingMethod": 4}}, (RAMP, THREE), refuses="samplingMethod"),
    boxes("one input", sized(SAMPLING[0], 2, 2), (RAMP,), refuses="input"),
    boxes("rank 4", sized(SAMPLING[0], 2, 2), ((1, 1, 6, 8), THREE), refuses="rank"),
]  # fmt: skip

CASES = CROP + PAD + UP + RESIZE + BOX
