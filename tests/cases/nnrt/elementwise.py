"""Rows of the functions of one tensor, activations among them."""

from __future__ import annotations

import math

import numpy as np

from pippin.nnrt.types import ActivationType, Format, NodeType

from . import HALF, NodeCase, const, drawn, f32, i32, q, weights, whole

T = NodeType
X = f32([-8, -3.5, -3, -1, -0.5, 0, 0.5, 1, 2.5, 3, 5, 6, 7.5])
EDGES = f32([-math.inf, -2.5, -1.5, -0.5, 0, 0.5, 1.5, 2.5, math.inf])

POSITIVE = np.abs(drawn(2, 3, 4)) + f32(0.01)

FUNCTIONS: dict[NodeType, tuple[np.ndarray, tuple[list[float], list[float]]]] = {
    T.ABS: (drawn(2, 3, 4), ([-2, -0.0, 3], [2, 0, 3])),
    T.CEIL: (drawn(2, 3, 4) * 3, ([-2.5, -0.5, 0.5, 2], [-2, 0, 1, 2])),
    T.FLOOR: (drawn(2, 3, 4) * 3, ([-2.5, -0.5, 0.5, 2], [-3, -1, 0, 2])),
    T.ROUND: (drawn(2, 3, 4) * 3, ([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.6], [-2, -2, 0, 0, 2, 2, 3])),
    T.COS: (drawn(2, 3, 4) * 3, ([0, math.pi / 3, math.pi], [1, 0.5, -1])),
    T.SIN: (drawn(2, 3, 4) * 3, ([0, math.pi / 6, math.pi / 2], [0, 0.5, 1])),
    T.ERF: (drawn(2, 3, 4), ([-1, 0, 0.5, 5], [-0.84270079, 0, 0.52049988, 1])),
    T.LOG: (POSITIVE, ([1, math.e, 0.5], [0, 1, -0.69314718])),
    T.NEG: (drawn(2, 3, 4), ([-2, 0, 3], [2, 0, -3])),
    T.RECIPROCAL: (POSITIVE, ([-2, 0.5, 4], [-0.5, 2, 0.25])),
    T.SQRT: (POSITIVE, ([0, 4, 2.25], [0, 2, 1.5])),
    T.RSQRT: (POSITIVE, ([4, 0.25, 1], [0.5, 2, 1])),
    T.SQUARE: (drawn(2, 3, 4), ([-2, 0, 1.5], [4, 0, 2.25])),
}

CASES = [
    row
    for kind, (values, (given, known)) in FUNCTIONS.items()
    for row in (
        NodeCase(kind, "known values", inputs=(f32(given),), expect=(known,)),
        NodeCase(kind, "rank 3", inputs=(values,)),
        NodeCase(kind, "a scalar", inputs=(f32(0.75),)),
        NodeCase(kind, "rank 8", inputs=(values.reshape(1, 2, 1, 3, 1, 2, 2, 1),)),
        NodeCase(kind, "N,C,H,W", inputs=(values.reshape(1, 2, 3, 4),), format=Format.NCHW),
        NodeCase(kind, "float16", inputs=(values.astype(np.float16),), **HALF),
        NodeCase(kind, "float64", inputs=(values.astype(np.float64),)),
        NodeCase(kind, "two inputs", inputs=((2, 3), (2, 3)), refuses="inputs"),
        NodeCase(kind, "two outputs", inputs=((2, 3),), outputs=2, refuses="outputs"),
        NodeCase(
            kind,
            "int8 without quantParams",
            inputs=(whole(4, low=1, dtype=np.int8),),
            refuses="quantParams",
        ),
        NodeCase(
            kind,
            "int8",
            inputs=(whole(2, 5, low=1, high=100, dtype=np.int8),),
            quant=(q(0.03),),
            made=q(0.05, -3),
        ),
    )
]

CASES += [
    NodeCase(T.ABS, "int32", inputs=(whole(2, 3),)),
    NodeCase(T.NEG, "int32", inputs=(whole(2, 3),)),
    NodeCase(T.NEG, "int64", inputs=(whole(2, 3, dtype=np.int64),)),
    NodeCase(T.SQUARE, "int32", inputs=(whole(2, 3),)),
    NodeCase(T.ROUND, "infinities and halves", inputs=(EDGES,), expect=([-math.inf, -2, -2, 0, 0, 0, 2, 2, math.inf],)),
    NodeCase(T.LOG, "zero and below", inputs=(f32([0, -1, math.inf]),), expect=([-math.inf, math.nan, math.inf],)),
    NodeCase(T.SQRT, "below zero", inputs=(f32([-1, math.inf]),), expect=([math.nan, math.inf],)),
    NodeCase(T.RSQRT, "zero and below", inputs=(f32([0, -1, math.inf]),), expect=([math.inf, math.nan, 0],)),
    NodeCase(T.RECIPROCAL, "zero", inputs=(f32([0, math.inf]),), expect=([math.inf, 0],)),
]


def _exp(note: str, base: float, scale: float, shift: float, **options: object) -> NodeCase:
    return NodeCase(T.EXPFUSION, note, {"base": base, "scale": scale, "shift": shift}, **options)  # type: ignore[arg-type]


CASES += [
    _exp("e", -1, 1, 0, inputs=(f32([0, 1, -1]),), expect=([1, 2.71828183, 0.36787944],)),
    _exp("e, scale and shift", -1, 2, 1, inputs=(f32([0, -0.5, 0.5]),), expect=([2.71828183, 1, 7.3890561],)),
    _exp("base 2", 2, 1, 0, inputs=(f32([0, 3, -1]),), expect=([1, 8, 0.5],)),
    _exp("base 2, shift 1", 2, 1, 1, inputs=(f32([0, 3, -1]),), expect=([2, 16, 1],)),
    _exp("base 10, scale 0.5", 10, 0.5, 0, inputs=(f32([0, 4]),), expect=([1, 100],)),
    _exp("base below 1", 0.5, 1, 0, inputs=((2, 3, 4),)),
    _exp("base 1", 1, 3, 2, inputs=((2, 3),)),
    _exp("rank 0", 3, 1, 0.5, inputs=(f32(1.5),)),
    _exp("rank 8", -1, 1, 0, inputs=((1, 2, 1, 3, 1, 2, 2, 1),)),
    _exp("float16", -1, 1, 0, inputs=(drawn(2, 3, dtype=np.float16),), **HALF),
    _exp("base 0", 0, 1, 0, refuses="base"),
    _exp("base -2", -2, 1, 0, refuses="base"),
]

CASES += [
    NodeCase(T.CLIP, "within", {"min": -1, "max": 0.5}, (f32([-2, -1, 0, 0.5, 2]),), expect=([-1, -1, 0, 0.5, 0.5],)),
    NodeCase(T.CLIP, "rank 4", {"min": -0.5, "max": 1}, ((2, 3, 4, 2),)),
    NodeCase(T.CLIP, "int32", {"min": -2, "max": 3}, (whole(3, 4),)),
    NodeCase(T.CLIP, "float16", {"min": -0.5, "max": 1}, (drawn(3, 4, dtype=np.float16),), **HALF),
    NodeCase(T.CLIP, "int8", {"min": -0.5, "max": 1}, (whole(9, dtype=np.int8),), quant=(q(0.25, 1),), made=q(0.125)),
    NodeCase(T.CLIP, "bounds the wrong way round", {"min": 2, "max": 1}, refuses="min"),
]

CASES += [
    NodeCase(T.LEAKY_RELU, "known values", {"negativeSlope": 0.25}, (f32([-2, 0, 3]),), expect=([-0.5, 0, 3],)),
    NodeCase(T.LEAKY_RELU, "negative slope below 0", {"negativeSlope": -2.0}, (f32([-2, 3]),), expect=([4, 3],)),
    NodeCase(T.LEAKY_RELU, "slope 0, rank 5", {}, ((1, 2, 3, 2, 2),)),
    NodeCase(T.LEAKY_RELU, "float16", {"negativeSlope": 0.1}, (drawn(3, 4, dtype=np.float16),), **HALF),
    NodeCase(
        T.LEAKY_RELU, "int8", {"negativeSlope": 0.1}, (whole(9, dtype=np.int8),), quant=(q(0.5, 2),), made=q(0.25, -7)
    ),
    NodeCase(T.LEAKY_RELU, "two inputs", {}, ((2, 3), (2, 3)), refuses="inputs"),
    NodeCase(T.PRELU_FUSION, "one slope", {"channelShared": True}, (f32([-2, 3]), const([0.25])), expect=([-0.5, 3],)),
    NodeCase(T.PRELU_FUSION, "one slope, not marked", {}, ((2, 3, 4), const([0.25]))),
    NodeCase(T.PRELU_FUSION, "one per channel", {}, ((1, 2, 3, 4), weights(4))),
    NodeCase(T.PRELU_FUSION, "one per channel, N,C,H,W", {}, ((1, 2, 3, 4), weights(2)), format=Format.NCHW),
    NodeCase(
        T.PRELU_FUSION,
        "square image, N,C,H,W",
        {},
        (-np.ones((1, 2, 1, 2), np.float32), const([1, 2])),
        format=Format.NCHW,
        expect=([[[[-1, -1]], [[-2, -2]]]],),
    ),
    NodeCase(T.PRELU_FUSION, "one per channel, rank 2", {}, ((5, 3), weights(3))),
    NodeCase(T.PRELU_FUSION, "one per channel, rank 6", {}, ((2, 1, 3, 1, 2, 3), weights(3))),
    NodeCase(T.PRELU_FUSION, "slopes handed in", {}, ((2, 3), (3,))),
    NodeCase(T.PRELU_FUSION, "float16", {}, (drawn(2, 3, dtype=np.float16), const([0.1, 0.2, 0.3], "f2")), **HALF),
    NodeCase(T.PRELU_FUSION, "wrong number of slopes", {}, ((2, 3), weights(2)), refuses="weight|slope"),
]

ACTIVATIONS: dict[ActivationType, tuple[dict[str, float], list[float]]] = {
    ActivationType.NO_ACTIVATION: ({}, [-3, -1, 0, 2]),
    ActivationType.RELU: ({}, [0, 0, 0, 2]),
    ActivationType.SIGMOID: ({}, [0.04742587, 0.26894142, 0.5, 0.88079708]),
    ActivationType.RELU6: ({}, [0, 0, 0, 2]),
    ActivationType.ELU: ({"alpha": 0.5}, [-0.47510647, -0.31606028, 0, 2]),
    ActivationType.LEAKY_RELU: ({"alpha": 0.1}, [-0.3, -0.1, 0, 2]),
    ActivationType.ABS: ({}, [3, 1, 0, 2]),
    ActivationType.RELU1: ({}, [0, 0, 0, 1]),
    ActivationType.SOFTSIGN: ({}, [-0.75, -0.5, 0, 0.66666667]),
    ActivationType.SOFTPLUS: ({}, [0.04858735, 0.31326169, 0.69314718, 2.12692801]),
    ActivationType.TANH: ({}, [-0.99505475, -0.76159416, 0, 0.96402758]),
    ActivationType.SELU: ({}, [-1.67056873, -1.11133074, 0, 2.10140196]),
    ActivationType.HSWISH: ({}, [0, -0.33333333, 0, 1.66666667]),
    ActivationType.HSIGMOID: ({}, [0, 0.33333333, 0.5, 0.83333333]),
    ActivationType.THRESHOLDRELU: ({"maxVal": 1.5}, [0, 0, 0, 1.5]),
    ActivationType.LINEAR: ({}, [-3, -1, 0, 2]),
    ActivationType.HARD_TANH: ({"minVal": -2, "maxVal": 1}, [-2, -1, 0, 1]),
    ActivationType.SIGN: ({}, [-1, -1, 0, 1]),
    ActivationType.SWISH: ({}, [-0.14227762, -0.26894142, 0, 1.76159416]),
    ActivationType.GELU: ({}, [-0.00404969, -0.15865525, 0, 1.95449974]),
}


def _activation(kind: ActivationType, note: str, inputs: tuple[object, ...], **options: object) -> NodeCase:
    return NodeCase(
        T.ACTIVATION, f"{kind.name}, {note}", {"activationType": kind, **ACTIVATIONS[kind][0]}, inputs, **options
    )  # type: ignore[arg-type]


for _kind, (_, _known) in ACTIVATIONS.items():
    CASES += [
        _activation(_kind, "known values", (f32([-3, -1, 0, 2]),), expect=(_known,), tolerance=1e-5),
        _activation(_kind, "around its corners", (X,)),
        _activation(_kind, "far out", (f32([-200, -90, 90, 200]),)),
        _activation(_kind, "N,C,H,W", ((1, 3, 2, 4),), format=Format.NCHW),
        _activation(_kind, "float16", (X.astype(np.float16),), **HALF),
        _activation(
            _kind, "int8", (whole(20, low=-100, high=100, dtype=np.int8),), quant=(q(0.05, 4),), made=q(0.04, -5)
        ),
    ]
CASES += [
    _activation(ActivationType.RELU, "a scalar", (f32(-1.5),)),
    _activation(ActivationType.RELU, "int32", (i32([-2, 0, 3]),), expect=([0, 0, 3],)),
    _activation(ActivationType.TANH, "rank 8", ((1, 2, 1, 3, 1, 2, 2, 1),)),
    _activation(ActivationType.TANH, "float64", (X.astype(np.float64),)),
    NodeCase(
        T.ACTIVATION,
        "GELU, approximate",
        {"activationType": ActivationType.GELU, "approximate": True},
        (X,),
    ),
    NodeCase(
        T.ACTIVATION,
        "GELU, approximate, known values",
        {"activationType": ActivationType.GELU, "approximate": True},
        (f32([-1, 0, 2]),),
        expect=([-0.15880801, 0, 1.95459769],),
    ),
    NodeCase(
        T.ACTIVATION,
        "HARD_TANH without an upper bound",
        {"activationType": ActivationType.HARD_TANH, "minVal": -1, "maxVal": 3.4028234663852886e38},
        (X,),
    ),
    NodeCase(
        T.ACTIVATION,
        "HARD_TANH, bounds the wrong way round",
        {"activationType": ActivationType.HARD_TANH, "minVal": 1, "maxVal": -1},
        (X,),
        refuses="minVal",
    ),
    NodeCase(
        T.ACTIVATION,
        "THRESHOLDRELU without a maximum",
        {"activationType": ActivationType.THRESHOLDRELU},
        (X,),
        refuses="maxVal",
    ),
    NodeCase(T.ACTIVATION, "UNKNOWN", {"activationType": ActivationType.UNKNOWN}, refuses="activationType"),
    NodeCase(T.ACTIVATION, "no such function", {"activationType": 77}, refuses="activationType"),
    NodeCase(T.ACTIVATION, "two inputs", {"activationType": 1}, ((2,), (2,)), refuses="inputs"),
]
