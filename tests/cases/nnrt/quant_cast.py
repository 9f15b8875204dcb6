"""Rows of the operators that quantise, dequantise and requantise."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.nnrt.types import NodeType

from . import NodeCase, f32, q, whole

T = NodeType
F, I8, U8 = 43, 32, 37
NAMES = {F: "float32", I8: "int8", U8: "uint8", 11: "float32", 2: "int8", 6: "uint8"}
ALL8, ALLU8 = np.arange(-128, 128).astype(np.int8), np.arange(256).astype(np.uint8)


def both(
    note: str, source: int, target: int, x: Any, given: Any = None, made: Any = None, **options: Any
) -> list[NodeCase]:
    """The row for both versions of the operator."""
    attributes = {"srcT": source, "dstT": target}
    options = {"steps": 0, "types": (NAMES.get(target, "int8"),), **options}
    return [
        NodeCase(kind, note, attributes, (x,), quant=(given,), made=made, **options)
        for kind in (T.QUANT_DTYPE_CAST, T.QUANT_DTYPE_CAST_V2)
    ]


CASES = [
    row
    for rows in (
        both(
            "float32 to int8, known values",
            F,
            I8,
            f32([0, 1, -1, 0.3, 100, -100]),
            None,
            q(0.25, 3),
            expect=([3, 7, -1, 4, 127, -128],),
        ),
        both(
            "halves go away from zero",
            F,
            I8,
            f32([0.25, 0.75, -0.25, -0.75, 1.25]),
            None,
            q(0.5),
            expect=([1, 2, -1, -2, 3],),
        ),
        both(
            "float32 to uint8, known values",
            F,
            U8,
            f32([0, 1, -1, 300, -300]),
            None,
            q(0.5, 128),
            expect=([128, 130, 126, 255, 0],),
        ),
        both(
            "int8 to float32, known values",
            I8,
            F,
            np.array([3, 7, -128, 127], np.int8),
            q(0.25, 3),
            None,
            expect=([0, 1, -32.75, 31],),
        ),
        both(
            "uint8 to float32, known values",
            U8,
            F,
            np.array([128, 130, 0], np.uint8),
            q(0.5, 128),
            None,
            expect=([0, 1, -64],),
        ),
        both("float32 to int8, rank 4", F, I8, (2, 3, 4, 2), None, q(0.02, -7)),
        both("float32 to int8, by the input's parameters", F, I8, (2, 3), q(0.02, -7), None),
        both("int8 to float32, every number", I8, F, ALL8, q(0.037, -5), None),
        both("uint8 to float32, every number", U8, F, ALLU8, q(0.037, 99), None),
        both("int8 to int8, requantised", I8, I8, ALL8, q(0.5, 3), q(0.75, -9)),
        both("int8 to int8, the same", I8, I8, ALL8, q(0.5, 3), q(0.5, 3)),
        both("int8 to uint8, the same numbers", I8, U8, ALL8, q(0.5, 3), q(0.5, 131)),
        both("uint8 to int8, the same numbers", U8, I8, ALLU8, q(0.5, 131), q(0.5, 3)),
        both(
            "without parameters the numbers are shifted, known values",
            I8,
            U8,
            np.array([-128, 0, 127], np.int8),
            expect=([0, 128, 255],),
        ),
        both(
            "without parameters the numbers are shifted back, known values",
            U8,
            I8,
            np.array([0, 128, 255], np.uint8),
            expect=([-128, 0, 127],),
        ),
        both("int8 to uint8 without parameters", I8, U8, ALL8, None, None),
        both("uint8 to int8 without parameters", U8, I8, ALLU8, None, None),
        both("four bits", F, I8, f32([-9, -8, -1, 0, 7, 8]), None, q(1.0, 0, 4), expect=([-8, -8, -1, 0, 7, 7],)),
        both("a scale of 0 stands for zeros", F, I8, f32([0, 0]), None, q(0.0), expect=([0, 0],)),
        both("infinities", F, I8, f32([np.inf, -np.inf]), None, q(0.5), expect=([127, -128],)),
        both("the C API's numbers", 11, 2, (2, 3), None, q(0.02, -7)),
        both("the C API's numbers, back", 2, 11, ALL8, q(0.02, -7), None),
        both("a scalar", F, I8, f32(0.7), None, q(0.25, 3)),
        both("no parameters", F, I8, (3,), None, None, refuses="quantParams"),
        both("dstT that is not the output's type", F, U8, (3,), None, q(0.5), types=("int8",), refuses="dstT"),
        both("no such dstT", F, 99, (3,), None, q(0.5), refuses="dstT|type"),
        both("no such srcT", 99, I8, (3,), None, q(0.5), refuses="srcT|type"),
    )
    for row in rows
]
PER = (q(0.5, 0), q(0.25, 2), q(0.125, -3))


def axis(
    note: str, number: int, source: int, target: int, x: Any, given: Any = None, made: Any = None, **options: Any
) -> NodeCase:
    """A row with parameters along an axis."""
    attributes = {"srcT": source, "dstT": target, "axis": number}
    return NodeCase(
        T.QUANT_DTYPE_CAST_V2,
        note,
        attributes,
        (x,),
        types=(NAMES[target],),
        quant=(given,),
        made=made,
        **{"steps": 0, **options},
    )


CASES += [
    axis(
        "per channel, known values",
        1,
        F,
        I8,
        f32([[1, 1, 1], [2, -1, 0]]),
        None,
        PER,
        expect=([[2, 6, 5], [4, -2, -3]],),
    ),
    axis("per channel, axis 0", 0, F, I8, (3, 4), None, PER),
    axis("per channel, axis -1", -1, F, I8, (2, 4, 3), None, PER),
    axis("per channel, back", 1, I8, F, whole(2, 3, 4, dtype=np.int8), PER, None),
    axis("per channel, uint8", 1, F, U8, (2, 3), None, tuple(q(p.scale, p.zeroPoint + 100) for p in PER)),
    axis("per channel to per tensor", 1, I8, I8, whole(2, 3, 4, dtype=np.int8), PER, q(0.3)),
    axis("as many parameters as the axis has not", 0, F, I8, (2, 3), None, PER, refuses="quantParams|parameters"),
    axis("axis beyond the rank", 2, F, I8, (2, 3), None, PER, refuses="axis|dim"),
]
CASES += [
    NodeCase(
        T.QUANT_DTYPE_CAST,
        "per channel along dim 0",
        {"srcT": F, "dstT": I8},
        ((3, 4),),
        types=("int8",),
        made=PER,
        steps=0,
    ),
    NodeCase(
        T.QUANT_DTYPE_CAST,
        "two inputs",
        {"srcT": F, "dstT": I8},
        ((3,), (3,)),
        types=("int8",),
        made=q(1.0),
        refuses="inputs",
    ),
]
