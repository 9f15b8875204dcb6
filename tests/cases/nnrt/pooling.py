"""Rows of the poolings."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.nnrt.types import Format, NodeType, PadMode, RoundMode

from . import HALF, NodeCase, drawn, fused, q, whole

T = NodeType
NCHW = {"format": Format.NCHW}
RAMP = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
X, X2 = (2, 5, 7, 3), (2, 3, 5, 7)
NEGATIVE = -np.abs(drawn(*X)) - np.float32(0.5)


def both(note: str, attributes: dict[str, Any], inputs: Any = X, **options: Any) -> list[NodeCase]:
    """The row for the average and for the maximum."""
    return [NodeCase(kind, note, attributes, (inputs,), **options) for kind in (T.AVGPOOL_FUSION, T.MAX_POOL_FUSION)]


CASES = [
    NodeCase(T.AVGPOOL_FUSION, "known values", {"kernelSize": [2, 2]}, (RAMP,), expect=([[[[2], [3]], [[5], [6]]]],)),
    NodeCase(T.MAX_POOL_FUSION, "known values", {"kernelSize": [2, 2]}, (RAMP,), expect=([[[[4], [5]], [[7], [8]]]],)),
    NodeCase(
        T.AVGPOOL_FUSION,
        "cells of the padding do not count",
        {"kernelSize": [2, 2], "strides": [2, 2], "pad": [1, 0, 1, 0]},
        (RAMP + 1,),
        expect=([[[[1], [2.5]], [[5.5], [7]]]],),
    ),
    NodeCase(
        T.MAX_POOL_FUSION,
        "cells of the padding never win",
        {"kernelSize": [2, 2], "strides": [2, 2], "pad": [1, 0, 1, 0]},
        (-RAMP - 1,),
        expect=([[[[-1], [-2]], [[-4], [-5]]]],),
    ),
    NodeCase(
        T.AVGPOOL_FUSION,
        "CEIL, known values",
        {"kernelSize": [2, 2], "strides": [2, 2], "roundMode": RoundMode.CEIL},
        (RAMP,),
        expect=([[[[2], [3.5]], [[6.5], [8]]]],),
    ),
    NodeCase(
        T.MAX_POOL_FUSION,
        "CEIL, known values",
        {"kernelSize": [2, 2], "strides": [2, 2], "roundMode": RoundMode.CEIL},
        (RAMP,),
        expect=([[[[4], [5]], [[7], [8]]]],),
    ),
]
CASES += [
    row
    for rows in (
        both("no pads", {"kernelSize": [2, 3]}),
        both("strides", {"kernelSize": [2, 3], "strides": [2, 3]}),
        both("strides beyond the kernel", {"kernelSize": [1, 2], "strides": [3, 4]}),
        both("pads of four sizes", {"kernelSize": [3, 4], "strides": [1, 2], "pad": [0, 2, 1, 3]}),
        both("negative numbers, pads", {"kernelSize": [3, 4], "pad": [2, 1, 3, 1]}, NEGATIVE),
        both(
            "a pad as large as the kernel", {"kernelSize": [2, 2], "strides": [3, 3], "pad": [0, 2, 0, 2]}, (1, 4, 4, 2)
        ),
        both("SAME", {"kernelSize": [3, 3], "padMode": PadMode.SAME}),
        both("SAME, even kernel, strides", {"kernelSize": [2, 4], "strides": [2, 3], "padMode": PadMode.SAME}),
        both("SAME, negative numbers", {"kernelSize": [3, 4], "strides": [2, 2], "padMode": PadMode.SAME}, NEGATIVE),
        both("SAME, strides beyond the kernel", {"kernelSize": [2, 2], "strides": [3, 4], "padMode": PadMode.SAME}),
        both(
            "SAME, CEIL",
            {"kernelSize": [3, 3], "strides": [2, 2], "padMode": PadMode.SAME, "roundMode": RoundMode.CEIL},
        ),
        both("SAME leaves the pads aside", {"kernelSize": [3, 3], "padMode": PadMode.SAME, "pad": [2, 2, 2, 2]}),
        both("VALID", {"kernelSize": [3, 3], "strides": [2, 2], "padMode": PadMode.VALID}),
        both(
            "VALID, CEIL",
            {"kernelSize": [2, 3], "strides": [2, 3], "padMode": PadMode.VALID, "roundMode": RoundMode.CEIL},
        ),
        both("VALID leaves the pads aside", {"kernelSize": [3, 3], "padMode": PadMode.VALID, "pad": [1, 1, 1, 1]}),
        both("CEIL", {"kernelSize": [2, 3], "strides": [2, 3], "roundMode": RoundMode.CEIL}),
        both(
            "CEIL with pads",
            {"kernelSize": [3, 3], "strides": [2, 3], "pad": [1, 0, 1, 1], "roundMode": RoundMode.CEIL},
        ),
        both("CEIL that changes nothing", {"kernelSize": [2, 2], "strides": [1, 1], "roundMode": RoundMode.CEIL}),
        both("the whole image", {"kernelSize": [5, 7]}),
        both("global", {"global_": True}),
        both("global leaves kernel and pads aside", {"kernelSize": [2, 2], "strides": [2, 2], "global_": True}),
        both("format says N,C,H,W, the tensor N,H,W,C", {"kernelSize": [2, 3], "format": Format.NCHW}),
        both("format NONE", {"kernelSize": [2, 3], "format": Format.NONE}),
        both("N,C,H,W", {"kernelSize": [2, 3], "strides": [2, 1], "pad": [0, 1, 1, 0]}, X2, **NCHW),
        both("N,C,H,W, SAME", {"kernelSize": [3, 3], "strides": [2, 2], "padMode": PadMode.SAME}, X2, **NCHW),
        both("N,C,H,W, CEIL", {"kernelSize": [2, 3], "strides": [2, 3], "roundMode": RoundMode.CEIL}, X2, **NCHW),
        both("N,C,H,W, global", {"global_": True}, X2, **NCHW),
        both("float16", {"kernelSize": [2, 3]}, drawn(*X, dtype=np.float16), **HALF),
        both("float64", {"kernelSize": [2, 3], "strides": [2, 2]}, drawn(*X, dtype=np.float64)),
        both("one by one", {"kernelSize": [1, 1], "strides": [2, 2]}),
        both("one pixel", {"kernelSize": [1, 1]}, (1, 1, 1, 1)),
        both(
            "int8",
            {"kernelSize": [2, 3], "strides": [2, 2], "pad": [1, 0, 1, 1]},
            whole(*X, low=-128, high=127, dtype=np.int8),
            quant=(q(0.1, 5),),
            made=q(0.15, -3),
        ),
        both(
            "int8, equal parameters",
            {"kernelSize": [2, 2], "strides": [2, 2]},
            whole(*X, low=-128, high=127, dtype=np.int8),
            quant=(q(0.1, 5),),
            made=q(0.1, 5),
        ),
        both(
            "uint8, global",
            {"global_": True},
            whole(*X, low=0, high=255, dtype=np.uint8),
            quant=(q(0.1, 5),),
            made=q(0.1, 5),
        ),
        both(
            "int8, RELU6",
            {"kernelSize": [2, 2], "activationType": 3},
            whole(*X, low=-128, high=127, dtype=np.int8),
            quant=(q(0.1, 5),),
            made=q(0.05, -128),
        ),
        both(
            "a window larger than the image gives one row",
            {"kernelSize": [6, 2]},
            dynamic=False,
            why="where the image's size is not known the run fails: the engine takes no such window",
        ),
        both("a window of nothing but padding", {"kernelSize": [1, 1], "pad": [1, 0, 0, 0]}, refuses="padding"),
        both("kernelSize 0", {"kernelSize": [0, 2]}, refuses="kernelSize"),
        both("no kernelSize", {}, refuses="kernelSize"),
        both("stride 0", {"kernelSize": [2, 2], "strides": [0, 1]}, refuses="strides"),
        both("three pads", {"kernelSize": [2, 2], "pad": [1, 1, 1]}, refuses="pad"),
        both("a pad below 0", {"kernelSize": [2, 2], "pad": [-1, 0, 0, 0]}, refuses="pad"),
        both("no such padMode", {"kernelSize": [2, 2], "padMode": 5}, refuses="padMode"),
        both("no such roundMode", {"kernelSize": [2, 2], "roundMode": 5}, refuses="roundMode"),
        both("rank 3", {"kernelSize": [2, 2]}, (5, 7, 3), refuses="rank|dims"),
    )
    for row in rows
]
CASES += [
    *fused(T.AVGPOOL_FUSION, {"kernelSize": [2, 2]}, ((1, 3, 4, 2),)),
    *fused(T.MAX_POOL_FUSION, {"kernelSize": [2, 2]}, ((1, 3, 4, 2),)),
    NodeCase(T.MAX_POOL_FUSION, "int32", {"kernelSize": [2, 2]}, (whole(1, 3, 4, 2),)),
]
