"""Rows of pooling over depth, height and width."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import Case, normal

CUBE = np.arange(1, 19, dtype=np.float32).reshape(1, 1, 2, 3, 3)  # the text's example
SIDES = ("Front", "Back", "Top", "Bottom", "Left", "Right")


def three(name: str, values: int | tuple[int, int, int]) -> dict[str, int]:
    """The fields nameDepth, nameHeight, nameWidth."""
    d, h, w = (values,) * 3 if isinstance(values, int) else values
    return {f"{name}Depth": d, f"{name}Height": h, f"{name}Width": w}


def padding(amounts: tuple[int, ...]) -> dict[str, int]:
    """The fields customPaddingFront to customPaddingRight."""
    return {f"customPadding{side}": amount for side, amount in zip(SIDES, amounts, strict=True)}


def pool(
    kind: str, kernel: Any = 2, stride: Any = 1, mode: str = "VALID", pads: Any = None, **more: Any
) -> dict[str, Any]:
    found = {"type": kind, **three("kernel", kernel), **three("stride", stride), "paddingType": mode, **more}
    return found | (padding(pads) if pads else {})


NEGATIVE = -CUBE
LINE = np.array([-1.0, -2.0, -4.0], np.float32).reshape(1, 1, 1, 1, 3)
ALONG = {"kernel": (1, 1, 2), "mode": "CUSTOM", "pads": (0, 0, 0, 0, 1, 1)}

POOLING = [
    Case(
        "pooling3d",
        "MAX, the text's numbers",
        pool("MAX"),
        (CUBE,),
        expect=(np.reshape([14, 15, 17, 18], (1, 1, 1, 2, 2)),),
    ),
    Case(
        "pooling3d",
        "AVERAGE, the text's input",
        pool("AVERAGE"),
        (CUBE,),
        expect=(np.reshape([7.5, 8.5, 10.5, 11.5], (1, 1, 1, 2, 2)),),
    ),
    Case(
        "pooling3d",
        "type and paddingType unset are MAX and CUSTOM",
        three("kernel", 2) | three("stride", 1) | {"customPaddingRight": 1},
        (CUBE,),
        expect=(np.reshape([14, 15, 15, 17, 18, 18], (1, 1, 1, 2, 3)),),
    ),
    Case(
        "pooling3d",
        "MAX, zeros of the padding beat negative values",
        pool("MAX", **ALONG),
        (LINE,),
        expect=(np.reshape([0, -1, -2, 0], (1, 1, 1, 1, 4)),),
    ),
    Case(
        "pooling3d",
        "AVERAGE, padding counts",
        pool("AVERAGE", **ALONG),
        (LINE,),
        expect=(np.reshape([-0.5, -1.5, -3, -2], (1, 1, 1, 1, 4)),),
    ),
    Case(
        "pooling3d",
        "AVERAGE, padding does not count",
        pool("AVERAGE", **ALONG, countExcludePadding=True),
        (LINE,),
        expect=(np.reshape([-1, -1.5, -3, -4], (1, 1, 1, 1, 4)),),
    ),
    Case(
        "pooling3d",
        "MAX, countExcludePadding means nothing",
        pool("MAX", **ALONG, countExcludePadding=True),
        (LINE,),
        expect=(np.reshape([0, -1, -2, 0], (1, 1, 1, 1, 4)),),
    ),
    Case(
        "pooling3d",
        "AVERAGE, a window of padding alone is 0",
        pool("AVERAGE", (1, 1, 2), 1, "CUSTOM", (0, 0, 0, 0, 2, 0), countExcludePadding=True),
        (LINE,),
        expect=(np.reshape([0, -1, -1.5, -3], (1, 1, 1, 1, 4)),),
    ),
    Case(
        "pooling3d",
        "MAX, SAME, negative values, the odd zero at the end",
        pool("MAX", (1, 1, 2), 1, "SAME"),
        (LINE,),
        expect=(np.reshape([-1, -2, 0], (1, 1, 1, 1, 3)),),
    ),
    Case(
        "pooling3d",
        "AVERAGE, SAME, stride 2: ⌈size / stride⌉",
        pool("AVERAGE", (1, 1, 2), (1, 1, 2), "SAME"),
        (LINE,),
        expect=(np.reshape([-1.5, -2], (1, 1, 1, 1, 2)),),
    ),
    Case(
        "pooling3d",
        "AVERAGE, SAME, padding does not count",
        pool("AVERAGE", 3, 1, "SAME", countExcludePadding=True),
        ((1, 2, 3, 4, 5),),
    ),
    Case(
        "pooling3d",
        "MAX, SAME, total padding of 3",
        pool("MAX", 4, 1, "SAME"),
        (-np.arange(1.0, 121.0).reshape(1, 1, 4, 5, 6),),
    ),
    Case(
        "pooling3d", "MAX, SAME, kernel below the stride", pool("MAX", (1, 2, 1), (2, 3, 3), "SAME"), ((1, 2, 5, 7, 4),)
    ),
    Case("pooling3d", "VALID leaves out the last values", pool("MAX", 2, 2), ((2, 3, 5, 4, 7),)),
    Case(
        "pooling3d",
        "AVERAGE, sizes and strides of three kinds",
        pool("AVERAGE", (1, 2, 3), (3, 2, 1)),
        ((2, 2, 4, 5, 6),),
    ),
    Case(
        "pooling3d",
        "MAX, six paddings",
        pool("MAX", (3, 4, 5), (2, 1, 2), "CUSTOM", (0, 1, 2, 1, 1, 3)),
        (-np.abs(normal(1, 2, 4, 5, 6)),),
    ),
    Case(
        "pooling3d",
        "AVERAGE, six paddings",
        pool("AVERAGE", (3, 4, 5), (2, 1, 2), "CUSTOM", (0, 1, 2, 1, 1, 3)),
        ((1, 2, 4, 5, 6),),
    ),
    Case(
        "pooling3d",
        "AVERAGE, six paddings do not count",
        pool("AVERAGE", (3, 4, 5), (2, 1, 2), "CUSTOM", (0, 1, 2, 1, 1, 3), countExcludePadding=True),
        ((1, 2, 4, 5, 6),),
    ),
    Case(
        "pooling3d", "MAX, padding of the kernel's size", pool("MAX", 2, 2, "CUSTOM", (2, 2, 2, 2, 2, 2)), (NEGATIVE,)
    ),
    Case("pooling3d", "kernel of 1", pool("AVERAGE", 1, 1), ((1, 2, 3, 2, 2),)),
    Case("pooling3d", "batch of none", pool("MAX"), (np.zeros((0, 2, 3, 3, 3)),)),
    Case("pooling3d", "no kernel height", pool("MAX", (2, 0, 2)), (CUBE,), refuses="kernelHeight"),
    Case("pooling3d", "negative stride", pool("MAX", 2, (1, 1, -1)), (CUBE,), refuses="strideWidth"),
    Case(
        "pooling3d",
        "negative padding",
        pool("MAX", 2, 1, "CUSTOM", (0, 0, 0, -1, 0, 0)),
        (CUBE,),
        refuses="customPaddingBottom",
    ),
    Case("pooling3d", "unknown type", {**pool("MAX"), "type": 2}, (CUBE,), refuses="type"),
    Case("pooling3d", "unknown paddingType", {**pool("MAX"), "paddingType": 3}, (CUBE,), refuses="paddingType"),
    Case("pooling3d", "kernel larger than the input", pool("MAX", 3), (CUBE,), refuses="kernelDepth"),
    Case("pooling3d", "rank 4", pool("MAX"), ((1, 2, 3, 3),), refuses="rank"),
    Case("globalPooling3d", "type unset is MAX, the text's numbers", {}, (CUBE,), expect=([[[[[18]]]]],)),
    Case("globalPooling3d", "MAX of negative values", {"type": "MAX"}, (NEGATIVE,), expect=([[[[[-1]]]]],)),
    Case("globalPooling3d", "AVERAGE", {"type": "AVERAGE"}, (CUBE,), expect=([[[[[9.5]]]]],)),
    Case("globalPooling3d", "AVERAGE, batch and channels", {"type": "AVERAGE"}, ((3, 4, 2, 5, 7),)),
    Case("globalPooling3d", "MAX, batch and channels", {"type": "MAX"}, ((2, 3, 4, 1, 5),)),
    Case("globalPooling3d", "batch of none", {"type": "AVERAGE"}, (np.zeros((0, 2, 3, 3, 3)),)),
    Case("globalPooling3d", "unknown type", {"type": 2}, (CUBE,), refuses="type"),
    Case("globalPooling3d", "rank 4", {}, ((1, 2, 3, 3),), refuses="rank"),
]


CASES = POOLING
