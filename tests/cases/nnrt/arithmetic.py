"""Rows of the functions of two tensors."""

from __future__ import annotations

import math

import numpy as np

from pippin.nnrt.types import EltwiseMode, Format, NodeType

from . import HALF, NodeCase, const, drawn, f32, fused, i32, ints, q, weights, whole

T = NodeType
A, B = f32([[1, -2, 3], [4, 5, -6]]), f32([[2, 4, -0.5], [-1, 2, 4]])

KNOWN = {
    T.ADD_FUSION: [[3, 2, 2.5], [3, 7, -2]],
    T.SUB_FUSION: [[-1, -6, 3.5], [5, 3, -10]],
    T.MUL_FUSION: [[2, -8, -1.5], [-4, 10, -24]],
    T.DIV_FUSION: [[0.5, -0.5, -6], [-4, 2.5, -1.5]],
    T.REAL_DIV: [[0.5, -0.5, -6], [-4, 2.5, -1.5]],
    T.MOD: [[1, -2, 0], [0, 1, -2]],
    T.MAXIMUM: [[2, 4, 3], [4, 5, 4]],
    T.MINIMUM: [[1, -2, -0.5], [-1, 2, -6]],
    T.SQUARED_DIFFERENCE: [[1, 36, 12.25], [25, 9, 100]],
}
FIRST, SECOND = drawn(2, 3, 4, seed=1), np.where(np.abs(drawn(2, 3, 4, seed=2)) < 0.3, 0.5, drawn(2, 3, 4, seed=2))
SECOND = SECOND.astype(np.float32)


def rows(kind: NodeType, known: list[list[float]]) -> list[NodeCase]:
    """What every one of these functions is asked."""
    exact = kind is not T.REAL_DIV
    some = [
        NodeCase(kind, "known values", inputs=(A, B), expect=(known,)),
        NodeCase(kind, "rank 3", inputs=(FIRST, SECOND)),
        NodeCase(kind, "a row against a matrix", inputs=(FIRST, SECOND[0, 0])),
        NodeCase(kind, "a matrix against a row", inputs=(FIRST[0, 0], SECOND)),
        NodeCase(kind, "both sides broadcast", inputs=(FIRST[:, :1], SECOND[:1])),
        NodeCase(kind, "a scalar on the right", inputs=(FIRST, f32(1.5))),
        NodeCase(kind, "a scalar on the left", inputs=(f32(1.5), SECOND)),
        NodeCase(kind, "two scalars", inputs=(f32(1.5), f32(-2))),
        NodeCase(kind, "one element against a scalar", inputs=(f32([1.5]), f32(-2))),
        NodeCase(kind, "a constant on the right", inputs=(FIRST, const(SECOND[0]))),
        NodeCase(kind, "a constant on the left", inputs=(const(FIRST[0]), SECOND)),
        NodeCase(kind, "rank 8", inputs=(FIRST.reshape(1, 2, 1, 3, 1, 2, 2, 1), SECOND.reshape(2, 1, 3, 1, 2, 2, 1))),
        NodeCase(kind, "N,C,H,W", inputs=(FIRST.reshape(1, 2, 3, 4), SECOND.reshape(1, 2, 3, 4)), format=Format.NCHW),
        NodeCase(kind, "float64", inputs=(FIRST.astype(np.float64), SECOND.astype(np.float64))),
        NodeCase(
            kind,
            "int8",
            inputs=(whole(3, 4, dtype=np.int8), whole(3, 4, low=1, dtype=np.int8, seed=8)),
            quant=(q(0.5, 1), q(0.25, -2)),
            made=q(0.75, 3),
        ),
        NodeCase(
            kind,
            "uint8",
            inputs=(whole(3, 4, low=0, dtype=np.uint8), whole(3, 4, low=1, dtype=np.uint8, seed=8)),
            quant=(q(0.5, 10), q(0.25, 0)),
            made=q(0.75, 128),
        ),
        NodeCase(kind, "dims that do not broadcast", inputs=((2, 3), (2, 4)), refuses="broadcast|do not fit"),
        NodeCase(kind, "one input", inputs=((2, 3),), refuses="inputs"),
        NodeCase(kind, "three inputs", inputs=((2, 3), (2, 3), (2, 3)), refuses="inputs"),
        NodeCase(
            kind,
            "int8 without quantParams",
            inputs=(whole(3, dtype=np.int8), whole(3, dtype=np.int8)),
            refuses="quantParams",
        ),
    ]
    if kind is T.MOD:  # in half precision a quotient close to an integer goes either way
        some.append(
            NodeCase(kind, "float16", inputs=(f32([5, -5, 7.5]).astype(np.float16), f32([3, 3, -2]).astype(np.float16)))
        )
    else:
        some.append(NodeCase(kind, "float16", inputs=(FIRST.astype(np.float16), SECOND.astype(np.float16)), **HALF))
    if exact:
        some += [
            NodeCase(kind, name, inputs=(whole(3, 4, low=low, dtype=name), whole(4, low=1, dtype=name, seed=8)))
            for name, low in (("int16", -9), ("int32", -9), ("int64", -9), ("uint16", 9), ("uint32", 9), ("uint64", 9))
        ]
        some += [
            NodeCase(kind, "integers and floats", inputs=(i32([5, -7]), f32([2.7, -2.7]))),
            NodeCase(kind, "floats and integers", inputs=(f32([5.5, -7.5]), i32([2, -3]))),
        ]
    return some


CASES = [row for kind, known in KNOWN.items() for row in rows(kind, known)]
CASES += [
    NodeCase(T.ADD_FUSION, "integers and floats, known", inputs=(i32([3, -7]), f32([2.7, -2.7])), expect=([5, -9],)),
    NodeCase(T.ADD_FUSION, "int32 wraps around", inputs=(i32([2**31 - 1]), i32([1])), expect=([-(2**31)],)),
    NodeCase(
        T.ADD_FUSION, "int32 with RELU6", {"activationType": 3}, (i32([3, -7, 5]), i32([2, 2, 5])), expect=([5, 0, 6],)
    ),
    NodeCase(
        T.DIV_FUSION, "int32 is cut off", inputs=(i32([7, -7, 7, -7]), i32([2, 2, -2, -2])), expect=([3, -3, -3, 3],)
    ),
    NodeCase(
        T.DIV_FUSION,
        "floats by zero",
        inputs=(f32([1, -1, 0]), f32([0, 0, 0])),
        expect=([math.inf, -math.inf, math.nan],),
    ),
    NodeCase(T.DIV_FUSION, "integers by zero", inputs=(i32([5, -5, 5]), i32([0, 0, 2])), expect=([0, 0, 2],)),
    NodeCase(T.MOD, "integers by zero", inputs=(i32([5, -5, 5]), i32([0, 0, 2])), expect=([5, -5, 1],)),
    NodeCase(
        T.MOD,
        "int32 has the dividend's sign",
        inputs=(i32([7, -7, 7, -7]), i32([3, 3, -3, -3])),
        expect=([1, -1, 1, -1],),
    ),
    NodeCase(
        T.MOD,
        "floats have the dividend's sign",
        inputs=(f32([5.5, -5.5, 5.5]), f32([2, 2, -2])),
        expect=([1.5, -1.5, 1.5],),
    ),
    NodeCase(T.REAL_DIV, "by zero", inputs=(f32([1, -1]), f32([0, 0])), expect=([math.inf, -math.inf],)),
]
for _kind in (T.ADD_FUSION, T.SUB_FUSION, T.MUL_FUSION, T.DIV_FUSION):
    CASES += fused(_kind, {}, (FIRST, SECOND))
    CASES += [
        NodeCase(
            _kind,
            f"int8 with {name}",
            {"activationType": number},
            (whole(3, 4, dtype=np.int8), whole(3, 4, low=1, dtype=np.int8, seed=8)),
            quant=(q(0.5, 1), q(0.25, -2)),
            made=q(0.125, -100),
        )
        for number, name in ((1, "RELU"), (3, "RELU6"))
    ]

ELTWISE = {
    EltwiseMode.PROD: KNOWN[T.MUL_FUSION],
    EltwiseMode.SUM: KNOWN[T.ADD_FUSION],
    EltwiseMode.MAXIMUM: KNOWN[T.MAXIMUM],
}
for _mode, _known in ELTWISE.items():
    _attributes = {"mode": _mode}
    CASES += [
        NodeCase(T.ELTWISE, f"{_mode.name}, known values", _attributes, (A, B), expect=(_known,)),
        NodeCase(T.ELTWISE, f"{_mode.name}, broadcast", _attributes, (FIRST, SECOND[0, 0])),
        NodeCase(T.ELTWISE, f"{_mode.name}, int32", _attributes, (whole(3, 4), whole(3, 4, seed=8))),
        NodeCase(T.ELTWISE, f"{_mode.name}, rank 8", _attributes, (FIRST.reshape(1, 2, 1, 3, 1, 2, 2, 1), f32(0.5))),
        NodeCase(
            T.ELTWISE,
            f"{_mode.name}, float16",
            _attributes,
            (FIRST.astype(np.float16), SECOND.astype(np.float16)),
            **HALF,
        ),
        NodeCase(
            T.ELTWISE,
            f"{_mode.name}, int8",
            _attributes,
            (whole(3, 4, dtype=np.int8), whole(3, 4, dtype=np.int8, seed=8)),
            quant=(q(0.5, 1), q(0.25, -2)),
            made=q(0.75, 3),
        ),
    ]
CASES += [
    NodeCase(T.ELTWISE, "mode UNKNOWN", {"mode": EltwiseMode.UNKNOWN}, ((2,), (2,)), refuses="mode"),
    NodeCase(T.ELTWISE, "no such mode", {"mode": 9}, ((2,), (2,)), refuses="mode"),
    NodeCase(T.ELTWISE, "one input", {"mode": 1}, ((2,),), refuses="inputs"),
]

P = np.abs(FIRST) + f32(0.1)
CASES += [
    NodeCase(T.POW_FUSION, "known values", inputs=(f32([2, 3, 4]), f32([3, -1, 0.5])), expect=([8, 0.33333333, 2],)),
    NodeCase(T.POW_FUSION, "scale and shift", {"scale": 2, "shift": -1}, (f32([1, 2]), f32([2, 2])), expect=([1, 9],)),
    NodeCase(T.POW_FUSION, "a constant square", {}, (FIRST, const(2)), expect=None),
    NodeCase(T.POW_FUSION, "a negative base, whole powers", {}, (f32([-2, -2]), f32([3, 2])), expect=([-8, 4],)),
    NodeCase(T.POW_FUSION, "a negative base, broken power", {}, (f32([-2]), f32([0.5])), expect=([math.nan],)),
    NodeCase(T.POW_FUSION, "to the power of 0", {}, (f32([0, 5]), f32([0, 0])), expect=([1, 1],)),
    NodeCase(T.POW_FUSION, "broadcast", {"scale": 0.5, "shift": 1}, (P, SECOND[0, 0])),
    NodeCase(T.POW_FUSION, "rank 6", {}, (P.reshape(1, 2, 3, 2, 1, 2), f32(1.5))),
    NodeCase(T.POW_FUSION, "float16", {}, (P.astype(np.float16), f32(2).astype(np.float16)), **HALF),
    NodeCase(T.POW_FUSION, "dims that do not broadcast", {}, ((2, 3), (2, 4)), refuses="broadcast|do not fit"),
    NodeCase(T.POW_FUSION, "one input", {}, ((2, 3),), refuses="inputs"),
]

CASES += [
    NodeCase(T.BIAS_ADD, "known values", inputs=(A, f32([1, 2, 3])), expect=([[2, 0, 6], [5, 7, -3]],)),
    NodeCase(T.BIAS_ADD, "an image", inputs=((2, 3, 2, 4), weights(4))),
    NodeCase(T.BIAS_ADD, "an image, N,C,H,W", inputs=((2, 3, 2, 4), weights(3)), format=Format.NCHW),
    NodeCase(
        T.BIAS_ADD,
        "square image, N,C,H,W",
        inputs=(np.zeros((1, 2, 1, 2), np.float32), const([1, 2])),
        format=Format.NCHW,
        expect=([[[[1, 1]], [[2, 2]]]],),
    ),
    NodeCase(T.BIAS_ADD, "a vector", inputs=((4,), weights(4))),
    NodeCase(T.BIAS_ADD, "rank 6", inputs=((1, 2, 1, 3, 1, 4), weights(4))),
    NodeCase(T.BIAS_ADD, "int32", inputs=(whole(2, 3), ints([1, -2, 3]))),
    NodeCase(T.BIAS_ADD, "float16", inputs=(drawn(2, 3, dtype=np.float16), const([1, 2, 3], "f2")), **HALF),
    NodeCase(
        T.BIAS_ADD,
        "int8",
        inputs=(whole(2, 3, dtype=np.int8), ints([1, -2, 3], np.int8)),
        quant=(q(0.5, 1), q(0.25)),
        made=q(0.5, -1),
    ),
    NodeCase(T.BIAS_ADD, "int8 without quantParams", inputs=(whole(2, 3, dtype=np.int8), ints([1, -2, 3], np.int8))),
    NodeCase(T.BIAS_ADD, "wrong length", inputs=((2, 3), weights(2)), refuses="bias"),
    NodeCase(T.BIAS_ADD, "bias of rank 2", inputs=((2, 3), weights(1, 3)), refuses="bias"),
]

CASES += fused(T.SCALE_FUSION, {"axis": 1}, ((2, 3, 4), weights(3), weights(3, seed=9)))
CASES += [
    NodeCase(
        T.SCALE_FUSION,
        "known values",
        {"axis": 1},
        (A, const([1, 2, -1]), const([0, 10, 0])),
        expect=([[1, 6, -3], [4, 20, 6]],),
    ),
    NodeCase(
        T.SCALE_FUSION, "without a bias", {"axis": 1}, (A, const([1, 2, -1])), expect=([[1, -4, -3], [4, 10, 6]],)
    ),
    NodeCase(T.SCALE_FUSION, "axis 0", {"axis": 0}, ((2, 3, 4), weights(2), weights(2, seed=9))),
    NodeCase(T.SCALE_FUSION, "axis -1", {"axis": -1}, ((2, 3, 4), weights(4), weights(4, seed=9))),
    NodeCase(T.SCALE_FUSION, "axis -2, two dims", {"axis": -2}, ((2, 3, 4), weights(3, 4), weights(3, 4, seed=9))),
    NodeCase(
        T.SCALE_FUSION, "axis 1, two dims of four", {"axis": 1}, ((2, 3, 4, 2), weights(3, 4), weights(3, 4, seed=9))
    ),
    NodeCase(T.SCALE_FUSION, "all dims", {"axis": 0}, ((2, 3), weights(2, 3), weights(2, 3, seed=9))),
    NodeCase(T.SCALE_FUSION, "rank 6", {"axis": 3}, ((1, 2, 1, 3, 1, 4), weights(3), weights(3, seed=9))),
    NodeCase(T.SCALE_FUSION, "handed in", {"axis": 1}, ((2, 3, 4), (3,), (3,))),
    NodeCase(T.SCALE_FUSION, "float16", {"axis": 1}, (drawn(2, 3, dtype=np.float16), const([1, 2, 3], "f2")), **HALF),
    NodeCase(
        T.SCALE_FUSION,
        "int8",
        {"axis": 1},
        (whole(2, 3, dtype=np.int8), ints([10, -20, 30], np.int8)),
        quant=(q(0.5, 1), q(0.02)),
        made=q(0.1, -1),
    ),
    NodeCase(T.SCALE_FUSION, "axis beyond the rank", {"axis": 3}, ((2, 3, 4), weights(4)), refuses="axis"),
    NodeCase(T.SCALE_FUSION, "scale of other dims", {"axis": 1}, ((2, 3, 4), weights(4)), refuses="scale"),
    NodeCase(T.SCALE_FUSION, "bias of another size", {"axis": 1}, ((2, 3, 4), weights(3), weights(2)), refuses="bias"),
    NodeCase(T.SCALE_FUSION, "one input", {"axis": 1}, ((2, 3, 4),), refuses="inputs"),
]
