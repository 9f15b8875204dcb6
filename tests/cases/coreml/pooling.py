"""Rows of the 2-D pooling layer."""
# ruff: noqa: E501 - one row a line

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cases import Case
from cases.coreml.convolution import MODES, same, valid

row = partial(Case, "pooling")


def complete(*amounts: int) -> dict[str, Any]:
    """The ``includeLastPixel`` padding oneof."""
    return {"includeLastPixel": {"paddingAmounts": amounts}}


def pool(
    kind: str, kernel: int = 3, stride: int = 1, padding: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """Parameters with a square kernel; valid padding unless said otherwise."""
    sizes = {"kernelSize": (kernel, kernel), "stride": (stride, stride)}
    return {"type": kind, **sizes, **(valid() if padding is None else padding), **more}


KINDS = ("MAX", "AVERAGE", "L2")
PADDINGS = {
    "valid": (3, 2, valid()),
    "valid, padding 1 on all sides": (3, 2, valid(1, 1, 1, 1)),
    "valid, uneven padding": (3, 2, valid(2, 0, 1, 2)),
    "same, bottom right heavy": (3, 2, same()),
    "same, top left heavy": (3, 2, same(MODES[1])),
    "same, even kernel, stride 3": (4, 3, same()),
    "last pixel": (3, 2, complete()),
    "last pixel, padding 1": (3, 2, complete(1, 1)),
    "last pixel, padding in one axis": (2, 2, complete(0, 1)),
    "last pixel, kernel 2, stride 3": (2, 3, complete(0, 0)),
}

# a fourth window is dropped: ceil((5 + 2 - 2) / 2) + 1 = 4, but it would begin at 6, which is not below 5 + 1
DROPPED = complete(1, 1)
SEVEN = np.arange(49).reshape(1, 1, 7, 7)
ONES = np.ones((1, 1, 16, 12))
CORNER = np.array([[1, 2], [2, 4]]).reshape(1, 1, 2, 2)

CASES = [
    row(f"{kind}, {note}{', padding excluded' if exclude else ''}", pool(kind, kernel, stride, padding, avgPoolExcludePadding=exclude), ((2, 2, 7, 8),))
    for kind in KINDS
    for note, (kernel, stride, padding) in PADDINGS.items()
    for exclude in (False, True)
    if kind == "AVERAGE" or not exclude
] + [
    row(f"{kind}, global", {"type": kind, "globalPooling": True, **padding}, (shape,), rank5=len(shape) == 5)
    for kind, padding, shape in (
        ("MAX", valid(), (2, 3, 4, 5)), ("AVERAGE", complete(), (2, 3, 4, 5)), ("L2", same(), (2, 3, 4, 5)),
    )
] + [
    row(f"{kind}, global, legacy, sequence and batch", {"type": kind, "globalPooling": True, **valid()}, ((2, 3, 2, 4, 3),), rank5=True)
    for kind in KINDS
] + [
    row("defaults: maximum, 3x3, step 1", valid(), ((1, 2, 5, 6),)),
    row("global ignores kernelSize, stride and padding", pool("AVERAGE", 2, 2, valid(1, 1, 1, 1), globalPooling=True), ((1, 2, 3, 5),)),
    row("maximum of negative values beside padding is negative", pool("MAX", 3, 2, valid(1, 1, 1, 1)), (np.full((1, 1, 4, 4), -2.0),), expect=(np.full((1, 1, 2, 2), -2.0),)),
    row("maximum of negative values, same", pool("MAX", 3, 2, same()), (-np.abs(np.arange(36.0).reshape(1, 1, 6, 6)) - 1,)),
    row("norm, known answer", pool("L2", 2), (CORNER,), expect=([[[[5.0]]]],)),
    row("norm with padding, known answer", pool("L2", 2, 2, valid(1, 1, 1, 1)), (CORNER,), expect=([[[[1, 2], [2, 4]]]],)),
    row("mean over real cells, last pixel, known answer", pool("AVERAGE", 2, 3, complete(), avgPoolExcludePadding=True), (SEVEN,), expect=([[[[4, 7, 9.5], [25, 28, 30.5], [42.5, 45.5, 48]]]],)),
    row("mean over the whole window, last pixel, known answer", pool("AVERAGE", 2, 3, complete()), (SEVEN,), expect=([[[[4, 7, 4.75], [25, 28, 15.25], [21.25, 22.75, 12]]]],)),
    row("mean of ones, kernel 7, stride 4, padding 3", pool("AVERAGE", 7, 4, valid(3, 3, 3, 3)), (ONES,),
         expect=(np.outer(np.array([4, 7, 7, 7]) / 7, np.array([4, 7, 7]) / 7)[None, None],)),
    row("mean of ones, kernel 7, stride 4, padding 3 excluded", pool("AVERAGE", 7, 4, valid(3, 3, 3, 3), avgPoolExcludePadding=True), (ONES,), expect=(np.ones((1, 1, 4, 3)),)),
    row("last pixel, a window that would begin in the padding is dropped", pool("MAX", 2, 2, DROPPED), ((1, 1, 5, 5),)),
    row("last pixel, mean, a window is dropped", pool("AVERAGE", 2, 2, DROPPED), ((1, 1, 5, 5),)),
    row("last pixel, padding in one axis: a window is dropped in the other", pool("MAX", 2, 3, complete(0, 1)), ((1, 1, 9, 7),)),
    row("last pixel, padding in one axis, known answer", pool("MAX", 2, 3, complete(0, 1)), (np.arange(36).reshape(1, 1, 9, 4),), expect=([[[[4, 7], [16, 19], [28, 31]]]],)),
    row("last pixel, kernel 1, stride 2: nothing to complete", pool("MAX", 1, 2, complete()), ((1, 1, 5, 7),)),
    row("last pixel, kernel smaller than the stride", pool("AVERAGE", 2, 4, complete()), ((1, 1, 6, 9),)),
    row("uneven kernel and stride", {"type": "AVERAGE", "kernelSize": (1, 4), "stride": (3, 1), **valid()}, ((1, 2, 7, 6),)),
    row("padding as large as the kernel allows", pool("MAX", 3, 1, valid(2, 2, 2, 2)), ((1, 1, 3, 3),)),
    row("kernel as large as the input", {"type": "MAX", "kernelSize": (3, 4), **valid()}, ((1, 2, 3, 4),)),
    row("kernel 1, step 1", pool("AVERAGE", 1), ((1, 2, 3, 4),)),
    row("same, kernel smaller than the stride", pool("MAX", 1, 3, same()), ((1, 1, 7, 8),)),
    row("rank 5, leading axes are batch", pool("MAX", 2, 2), ((2, 3, 1, 4, 5),)),
    row("rank 6", pool("AVERAGE", 2, 2), ((2, 1, 2, 2, 4, 4),)),
    row("legacy, batch", pool("MAX", 2, 2), ((1, 3, 2, 5, 6),), rank5=True),
    row("legacy, sequence, mean, same", pool("AVERAGE", 3, 2, same(), avgPoolExcludePadding=True), ((2, 2, 2, 5, 6),), rank5=True),
    row("no kind of padding", {"type": "MAX"}, ((1, 1, 4, 4),), refuses="PoolingPaddingType"),
    row("kernel size 0", pool("MAX", 0), ((1, 1, 4, 4),), refuses="kernelSize"),
    row("one kernel size", {"kernelSize": (2,), **valid()}, ((1, 1, 4, 4),), refuses="kernelSize"),
    row("stride 0", pool("MAX", 2, 0), ((1, 1, 4, 4),), refuses="stride"),
    row("three paddingAmounts of the last pixel", pool("MAX", 2, 1, complete(1, 1, 1)), ((1, 1, 4, 4),), refuses="paddingAmounts"),
    row("borders for three axes", pool("MAX", 2, 1, {"valid": {"paddingAmounts": {"borderAmounts": [{}, {}, {}]}}}), ((1, 1, 4, 4),), refuses="borderAmounts"),
    row("unknown type", {"type": 3, **valid()}, ((1, 1, 4, 4),), refuses="type"),
    row("rank 3", pool("MAX", 2), ((1, 4, 4),), refuses="rank"),
]  # fmt: skip
