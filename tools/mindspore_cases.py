"""What ``compare_mindspore.py`` compares: nodes, and the operator of MindSpore that is to answer the same.

A case is data for a device and a function for MindSpore: ``ms(ops, *arrays)`` gets the module ``mindspore.ops`` (with
``ops.T`` to make a tensor) and the node's inputs as arrays.  This file is read by both interpreters, so it imports
NumPy alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """One comparison; ``differs`` explains why the answers are not the same, which is then looked for."""

    node: str
    note: str
    inputs: tuple[Any, ...]
    ms: Callable[..., Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    constants: tuple[int, ...] = ()
    outputs: int = 1
    dtype: str | None = None
    format: str = "NHWC"
    tolerance: float = 1e-5
    differs: str = ""


def drawn(*dims: int, seed: int = 1, dtype: Any = np.float32) -> Array:
    return np.random.default_rng([seed, *dims]).standard_normal(dims).astype(dtype)


def whole(*dims: int, seed: int = 1, low: int = -9, high: int = 10) -> Array:
    return np.random.default_rng([seed, *dims]).integers(low, high, dims).astype(np.int32)


def i32(values: Any) -> Array:
    return np.array(values, np.int32)


def nchw(x: Array) -> Array:
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2))


def nhwc(x: Any) -> Array:
    return np.asarray(x.asnumpy() if hasattr(x, "asnumpy") else x).transpose(0, 2, 3, 1)


X, Y = drawn(3, 4), drawn(3, 4, seed=2)
BIG = drawn(1, 6, 5, 4)
CASES: list[Case] = []


def add(
    node: str, note: str, *inputs: Any, ms: Callable[..., Any], constants: tuple[int, ...] = (), **options: Any
) -> None:
    known = {"outputs", "dtype", "format", "tolerance", "differs"}
    own = {key: options.pop(key) for key in list(options) if key in known}
    CASES.append(Case(node, note, inputs, ms, options, constants, **own))


# -- activation functions

_ACTIVATIONS: dict[str, tuple[int, Callable[..., Any], dict[str, Any]]] = {
    "RELU": (1, lambda ops, x: ops.relu(x), {}),
    "SIGMOID": (2, lambda ops, x: ops.sigmoid(x), {}),
    "RELU6": (3, lambda ops, x: ops.relu6(x), {}),
    "ELU": (4, lambda ops, x: ops.elu(x), {"alpha": 1.0}),
    "LEAKY_RELU": (5, lambda ops, x: ops.leaky_relu(x, 0.3), {"alpha": 0.3}),
    "ABS": (6, lambda ops, x: ops.abs(x), {}),
    "SOFTSIGN": (8, lambda ops, x: ops.softsign(x), {}),
    "SOFTPLUS": (9, lambda ops, x: ops.Softplus()(x), {}),
    "TANH": (10, lambda ops, x: ops.tanh(x), {}),
    "SELU": (11, lambda ops, x: ops.selu(x), {}),
    "HSWISH": (12, lambda ops, x: ops.hardswish(x), {}),
    "HSIGMOID": (13, lambda ops, x: ops.hardsigmoid(x), {}),
    "HARD_TANH": (16, lambda ops, x: ops.hardtanh(x, -0.5, 0.75), {"minVal": -0.5, "maxVal": 0.75}),
    "SIGN": (17, lambda ops, x: ops.sign(x), {}),
    "SWISH": (18, lambda ops, x: ops.silu(x), {}),
    "GELU": (19, lambda ops, x: ops.gelu(x, approximate="none"), {}),
    "GELU, approximate": (19, lambda ops, x: ops.gelu(x, approximate="tanh"), {"approximate": True}),
}
for _name, (_kind, _ms, _fields) in _ACTIVATIONS.items():
    add("Activation", _name, X * 3, ms=lambda ops, x, _ms=_ms: _ms(ops, ops.T(x)), activationType=_kind, **_fields)
add("LeakyRelu", "slope 0.2", X, ms=lambda ops, x: ops.leaky_relu(ops.T(x), 0.2), negativeSlope=0.2)
add("Clip", "-0.5 to 0.5", X, ms=lambda ops, x: ops.clamp(ops.T(x), -0.5, 0.5), min=-0.5, max=0.5)
add(
    "PReLUFusion", "one a channel", BIG, drawn(4),
    ms=lambda ops, x, w: nhwc(ops.prelu(ops.T(nchw(x)), ops.T(w))), constants=(1,),
)  # fmt: skip

# -- element by element

_UNARY = {
    "Abs": "abs", "Ceil": "ceil", "Floor": "floor", "Cos": "cos", "Sin": "sin", "Erf": "erf", "Neg": "neg",
    "Square": "square",
}  # fmt: skip
for _node, _op in _UNARY.items():
    add(_node, "floats", X * 2, ms=lambda ops, x, _op=_op: getattr(ops, _op)(ops.T(x)))
for _node, _op in {"Log": "log", "Reciprocal": "reciprocal", "Rsqrt": "rsqrt", "Sqrt": "sqrt"}.items():
    add(_node, "positive numbers", np.abs(X) + 0.1, ms=lambda ops, x, _op=_op: getattr(ops, _op)(ops.T(x)))
add("Log", "0 and below", np.array([0, -1], np.float32), ms=lambda ops, x: ops.log(ops.T(x)))
add("Reciprocal", "0", np.array([0, 2], np.float32), ms=lambda ops, x: ops.reciprocal(ops.T(x)))
add("Rsqrt", "0 and below", np.array([0, -4], np.float32), ms=lambda ops, x: ops.rsqrt(ops.T(x)))
add("Round", "ties", np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.7], np.float32), ms=lambda ops, x: ops.round(ops.T(x)))
add("ExpFusion", "e", X, ms=lambda ops, x: ops.exp(ops.T(x)), base=-1.0, scale=1.0, shift=0.0)
add(
    "ExpFusion", "2^(0.5 + 3x)", X,
    ms=lambda ops, x: ops.pow(ops.T(np.float32(2)), ops.T(np.float32(0.5) + 3 * x)), base=2.0, scale=3.0, shift=0.5,
)  # fmt: skip
_BINARY: dict[str, str] = {
    "AddFusion": "add", "SubFusion": "sub", "MulFusion": "mul", "DivFusion": "div", "Maximum": "maximum",
    "Minimum": "minimum", "SquaredDifference": "SquaredDifference", "RealDiv": "RealDiv",
}  # fmt: skip


def _pair(op: str) -> Callable[..., Any]:
    def run(ops: Any, a: Array, b: Array) -> Any:
        function = getattr(ops, op)
        return (function() if op[0].isupper() else function)(ops.T(a), ops.T(b))

    return run


for _node, _op in _BINARY.items():
    add(_node, "floats", X, Y, ms=_pair(_op))
    add(_node, "broadcast", X, drawn(2, 1, 4), ms=_pair(_op))
for _node, _op in {"AddFusion": "add", "SubFusion": "sub", "MulFusion": "mul", "Maximum": "maximum"}.items():
    add(_node, "int32", whole(3, 4), whole(3, 4, seed=2), ms=_pair(_op))
add("AddFusion", "RELU", X, Y, ms=lambda ops, a, b: ops.relu(ops.add(ops.T(a), ops.T(b))), activationType=1)
add("Eltwise", "PROD", X, Y, ms=_pair("mul"), mode=0)
add("Eltwise", "SUM", X, Y, ms=_pair("add"), mode=1)
add("Eltwise", "MAXIMUM", X, Y, ms=_pair("maximum"), mode=2)
add(
    "PowFusion",
    "(2x + 1)^y",
    np.abs(X),
    Y,
    ms=lambda ops, a, b: ops.pow(ops.T(2 * a + 1), ops.T(b)),
    scale=2.0,
    shift=1.0,
)
add(
    "Mod",
    "floats, both signs",
    np.array([5.5, -5.5, 5.5, -5.5], np.float32),
    np.array([2, 2, -2, -2], np.float32),
    ms=_pair("fmod"),
)
add(
    "Mod",
    "floats, MindSpore's Mod",
    np.array([5.5, -5.5, 5.5, -5.5], np.float32),
    np.array([2, 2, -2, -2], np.float32),
    ms=_pair("Mod"),
)
add("Mod", "int32", i32([7, -7, 7, -7]), i32([3, 3, -3, -3]), ms=_pair("fmod"))
for _node, _op in {
    "Equal": "equal", "NotEqual": "not_equal", "Greater": "greater", "GreaterEqual": "greater_equal", "Less": "less",
    "LessEqual": "less_equal",
}.items():  # fmt: skip
    add(_node, "int32", whole(3, 4, low=0, high=3), whole(3, 4, low=0, high=3, seed=2), ms=_pair(_op))
for _node, _op in {"LogicalAnd": "logical_and", "LogicalOr": "logical_or"}.items():
    add(_node, "bool", X > 0, Y > 0, ms=_pair(_op))
add("LogicalNot", "bool", X > 0, ms=lambda ops, x: ops.logical_not(ops.T(x)))
add("BiasAdd", "N,H,W,C", BIG, drawn(4), ms=lambda ops, x, b: nhwc(ops.BiasAdd("NCHW")(ops.T(nchw(x)), ops.T(b))))
add("BiasAdd", "two dims", X, drawn(4), ms=lambda ops, x, b: ops.BiasAdd()(ops.T(x), ops.T(b)))
add(
    "ScaleFusion", "axis 1", drawn(2, 3, 4), drawn(3, seed=5), drawn(3, seed=6),
    ms=lambda ops, x, s, b: ops.add(ops.mul(ops.T(x), ops.T(s[:, None])), ops.T(b[:, None])), axis=1,
)  # fmt: skip
add(
    "Where", "same dims", X > 0, X, Y, ms=lambda ops, c, a, b: ops.where(ops.T(c), ops.T(a), ops.T(b))
)  # fmt: skip
add("Where", "one input", X > 0, ms=lambda ops, c: ops.nonzero(ops.T(c)), dtype="int32")
add("Select", "same dims", X > 0, X, Y, ms=lambda ops, c, a, b: ops.select(ops.T(c), ops.T(a), ops.T(b)))
add(
    "Cast",
    "to int32",
    X * 5,
    i32(34),
    ms=lambda ops, x, t: ops.cast(ops.T(x), ops.int32),
    constants=(1,),
    dtype="int32",
)
add(
    "Cast",
    "to bool",
    whole(5),
    i32(30),
    ms=lambda ops, x, t: ops.cast(ops.T(x), ops.bool_),
    constants=(1,),
    dtype="bool",
)

# -- networks


def _conv(ops: Any, x: Array, w: Array, b: Array, **how: Any) -> Any:
    w = np.ascontiguousarray(w.transpose(0, 3, 1, 2))
    y = ops.Conv2D(w.shape[0], w.shape[2:], **how)(ops.T(nchw(x)), ops.T(w))
    return nhwc(ops.BiasAdd("NCHW")(y, ops.T(b)))


W, B = drawn(3, 3, 2, 4), drawn(3)
add(
    "Conv2DFusion", "pads, strides", BIG, W, B, constants=(1, 2),
    ms=lambda ops, x, w, b: _conv(ops, x, w, b, pad_mode="pad", pad=(1, 2, 0, 1), stride=(2, 1)),
    kernelSize=[3, 2], stride=[2, 1], padMode=0, padList=[1, 2, 0, 1],
)  # fmt: skip
for _mode, _name in ((1, "same"), (2, "valid")):
    add(
        "Conv2DFusion", _name.upper(), BIG, W, B, constants=(1, 2),
        ms=lambda ops, x, w, b, _name=_name: _conv(ops, x, w, b, pad_mode=_name, stride=2),
        kernelSize=[3, 2], stride=[2, 2], padMode=_mode,
    )  # fmt: skip
add(
    "Conv2DFusion", "dilation", BIG, W, B, constants=(1, 2),
    ms=lambda ops, x, w, b: _conv(ops, x, w, b, pad_mode="pad", pad=2, dilation=2),
    kernelSize=[3, 2], dilation=[2, 2], padMode=0, padList=[2, 2, 2, 2],
)  # fmt: skip
add(
    "Conv2DFusion", "groups", BIG, drawn(6, 3, 2, 2), drawn(6), constants=(1, 2),
    ms=lambda ops, x, w, b: _conv(ops, x, w, b, pad_mode="valid", group=2), kernelSize=[3, 2], padMode=2, group=2,
)  # fmt: skip


def _deconv(ops: Any, x: Array, w: Array, **how: Any) -> Any:
    w = np.ascontiguousarray(w.transpose(0, 3, 1, 2))
    import mindspore

    net = mindspore.nn.Conv2dTranspose(w.shape[0], w.shape[1], w.shape[2:], weight_init=ops.T(w), has_bias=False, **how)
    return nhwc(net(ops.T(nchw(x))))


D = drawn(4, 3, 3, 2)
add(
    "Conv2dTransposeFusion", "pads", drawn(1, 4, 5, 4), D, constants=(1,),
    ms=lambda ops, x, w: _deconv(ops, x, w, stride=2, pad_mode="pad", padding=(1, 1, 1, 1)),
    kernelSize=[3, 3], stride=[2, 2], padMode=0, padList=[1, 1, 1, 1], outChannel=2,
)  # fmt: skip
add(
    "Conv2dTransposeFusion", "VALID", drawn(1, 4, 5, 4), D, constants=(1,),
    ms=lambda ops, x, w: _deconv(ops, x, w, stride=2, pad_mode="valid"),
    kernelSize=[3, 3], stride=[2, 2], padMode=2, outChannel=2,
)  # fmt: skip
add(
    "Conv2dTransposeFusion", "SAME", drawn(1, 4, 5, 4), D, constants=(1,),
    ms=lambda ops, x, w: _deconv(ops, x, w, stride=2, pad_mode="same"),
    kernelSize=[3, 3], stride=[2, 2], padMode=1, outChannel=2,
)  # fmt: skip
for _op, _node in (("MaxPool", "MaxPoolFusion"), ("AvgPool", "AvgPoolFusion")):
    for _mode, _name in ((1, "same"), (2, "valid")):
        add(
            _node, _name.upper(), BIG,
            ms=lambda ops, x, _op=_op, _name=_name: nhwc(
                getattr(ops, _op)(kernel_size=(3, 2), strides=(2, 2), pad_mode=_name)(ops.T(nchw(x)))
            ),
            kernelSize=[3, 2], strides=[2, 2], padMode=_mode,
        )  # fmt: skip
add("MatMulFusion", "two dims", X, drawn(4, 5), ms=_pair("matmul"))
add("MatMulFusion", "batches broadcast", drawn(2, 1, 3, 4), drawn(5, 4, 2), ms=_pair("matmul"))
add(
    "MatMulFusion", "both turned", X, drawn(5, 3), transposeA=True, transposeB=True,
    ms=lambda ops, a, b: ops.MatMul(True, True)(ops.T(a), ops.T(b)),
)  # fmt: skip
add(
    "FullConnection", "bias", X, drawn(5, 4), drawn(5), hasBias=True, constants=(1, 2),
    ms=lambda ops, x, w, b: ops.dense(ops.T(x), ops.T(w), ops.T(b)),
)  # fmt: skip
C4 = (np.abs(drawn(4)) + 0.5, drawn(4, seed=3), drawn(4, seed=4), np.abs(drawn(4, seed=5)) + 0.1)
add(
    "FusedBatchNorm", "epsilon 0.01", BIG, *C4, constants=(1, 2, 3, 4), epsilon=0.01,
    ms=lambda ops, x, *v: nhwc(ops.BatchNorm(is_training=False, epsilon=0.01)(ops.T(nchw(x)), *map(ops.T, v))[0]),
)  # fmt: skip
add(
    "LayerNormFusion", "last dim", drawn(2, 3, 4), C4[0], C4[1], constants=(1, 2), beginNormAxis=2, beginParamsAxis=2,
    epsilon=1e-5, ms=lambda ops, x, g, b: ops.LayerNorm(2, 2, 1e-5)(ops.T(x), ops.T(g), ops.T(b))[0],
)  # fmt: skip
add(
    "LayerNormFusion", "two dims", drawn(2, 3, 4), drawn(3, 4), drawn(3, 4, seed=3), constants=(1, 2), beginNormAxis=1,
    beginParamsAxis=1, epsilon=1e-5, ms=lambda ops, x, g, b: ops.LayerNorm(1, 1, 1e-5)(ops.T(x), ops.T(g), ops.T(b))[0],
)  # fmt: skip
add(
    "InstanceNorm", "as a group norm of one channel each", BIG, C4[0], C4[1], constants=(1, 2), epsilon=1e-5,
    ms=lambda ops, x, g, b: nhwc(ops.group_norm(ops.T(nchw(x)), 4, ops.T(g), ops.T(b), 1e-5)),
)  # fmt: skip
add(
    "LRN", "radius 1", BIG, depthRadius=1, bias=2.0, alpha=0.5, beta=0.75,
    ms=lambda ops, x: nhwc(ops.LRN(depth_radius=1, bias=2.0, alpha=0.5, beta=0.75)(ops.T(nchw(x)))),
)  # fmt: skip
add("L2NormalizeFusion", "last dim", X, ms=lambda ops, x: ops.L2Normalize(axis=-1, epsilon=1e-4)(ops.T(x)),
    axis=[-1], epsilon=1e-4)  # fmt: skip
add(
    "L2NormalizeFusion", "a sum below epsilon", X * 1e-3, axis=[-1], epsilon=1e-4,
    ms=lambda ops, x: ops.L2Normalize(axis=-1, epsilon=1e-4)(ops.T(x)),
)  # fmt: skip
add("Softmax", "axis 0", X, ms=lambda ops, x: ops.softmax(ops.T(x), 0), axis=[0])
add("LogSoftmax", "axis -1", X, ms=lambda ops, x: ops.log_softmax(ops.T(x), -1), axis=-1)


def _lstm(ops: Any, x: Array, w: Array, r: Array, b: Array, h: Array, c: Array) -> Any:
    """MindSpore's gates stand in the order input, forget, cell, output."""
    import mindspore

    count, hidden = r.shape[0], r.shape[2]
    order = [0, 2, 3, 1]
    net = mindspore.nn.LSTM(w.shape[2], hidden, bidirectional=count == 2)
    found = dict(net.parameters_and_names())

    def turned(block: Array) -> Array:
        return np.concatenate([block[place * hidden : (place + 1) * hidden] for place in order])

    for direction, ending in enumerate(["", "_reverse"][:count]):
        parts = {"weight_ih_l0": w[direction], "weight_hh_l0": r[direction]}
        parts |= {"bias_ih_l0": b[direction, : 4 * hidden], "bias_hh_l0": b[direction, 4 * hidden :]}
        for name, block in parts.items():
            found[name + ending].set_data(ops.T(turned(block)))
    y, (last_h, last_c) = net(ops.T(x), (ops.T(h), ops.T(c)))
    steps, batch = x.shape[:2]
    split = y.asnumpy().reshape(steps, batch, count, hidden).transpose(0, 2, 1, 3)
    return [split, last_h, last_c]


for _count in (1, 2):
    add(
        "LSTM", "one direction" if _count == 1 else "two directions",
        drawn(4, 2, 3), drawn(_count, 20, 3), drawn(_count, 20, 5), drawn(_count, 40), drawn(_count, 2, 5),
        drawn(_count, 2, 5, seed=3), ms=_lstm, constants=(1, 2, 3), outputs=3, bidirectional=_count == 2,
        numDirections=_count, inputSize=3, hiddenSize=5,
    )  # fmt: skip

NONE = {
    "Assert": "its answer is not defined; whether the run fails is tested elsewhere",
    "Crop": "MindSpore Lite only",
    "DetectionPostProcess": "MindSpore Lite only",
    "QuantDTypeCast": "MindSpore Lite only",
    "QuantDTypeCastV2": "MindSpore Lite only",
}
"""Node types that MindSpore has no operator for."""
