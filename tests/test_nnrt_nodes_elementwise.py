"""Lowerings of functions element by element against NumPy, in every element type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nnrt_nodes import DEVICE, TYPES, Array, floats, refused, run
from pippin.nnrt import attributes as a
from pippin.nnrt.authoring import GraphBuilder
from pippin.nnrt.nodes.base import KERNELS, working_type
from pippin.nnrt.types import (
    ActivationType,
    EltwiseMode,
    ReduceMode,
    Tensor,
    data_type_of,
)

# -- activations -------------------------------------------------------------------------------------------------------


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def erf(x: Array) -> Array:
    return np.vectorize(math.erf)(x)


FORMULAS: dict[str, tuple[dict[str, Any], Callable[[Array], Array]]] = {
    "NO_ACTIVATION": ({}, lambda x: x),
    "RELU": ({}, lambda x: np.maximum(x, 0)),
    "SIGMOID": ({}, sigmoid),
    "RELU6": ({}, lambda x: np.clip(x, 0, 6)),
    "ELU": ({"alpha": 0.7}, lambda x: np.where(x >= 0, x, 0.7 * (np.exp(x) - 1))),
    "LEAKY_RELU": ({"alpha": 0.2}, lambda x: np.where(x >= 0, x, 0.2 * x)),
    "ABS": ({}, np.abs),
    "RELU1": ({}, lambda x: np.clip(x, 0, 1)),
    "SOFTSIGN": ({}, lambda x: x / (1 + np.abs(x))),
    "SOFTPLUS": ({}, lambda x: np.log1p(np.exp(x))),
    "TANH": ({}, np.tanh),
    "SELU": ({}, lambda x: 1.05070098 * np.where(x >= 0, x, 1.67326324 * (np.exp(x) - 1))),
    "HSWISH": ({}, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "HSIGMOID": ({}, lambda x: np.clip(x + 3, 0, 6) / 6),
    "THRESHOLDRELU": ({"maxVal": 1.5}, lambda x: np.clip(x, 0, 1.5)),
    "LINEAR": ({}, lambda x: x),
    "HARD_TANH": ({"minVal": -0.5, "maxVal": 2.0}, lambda x: np.clip(x, -0.5, 2)),
    "SIGN": ({}, np.sign),
    "SWISH": ({}, lambda x: x * sigmoid(x)),
    "GELU": ({}, lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2)))),
    "GELU approximate": (
        {"approximate": True},
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
}


def test_every_activation_has_its_formula() -> None:
    assert {name.split()[0] for name in FORMULAS} == {kind.name for kind in ActivationType} - {"UNKNOWN"}


@pytest.mark.parametrize("name", FORMULAS)
def test_activation(name: str) -> None:
    fields, formula = FORMULAS[name]
    x = np.concatenate([np.linspace(-8, 8, 97), [0.0, 1.0, -1.0, 3.0, -3.0, 6.0]]).astype(np.float32)
    got = run(a.Activation(ActivationType[name.split()[0]], **fields), x)
    np.testing.assert_allclose(got, formula(x.astype(np.float64)), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", [name for name, (fields, _) in FORMULAS.items() if not fields])
def test_activation_behind_an_operator(name: str) -> None:
    x, y = floats(3, 4), floats(4)
    got = run(a.MulFusion(ActivationType[name]), x, y)
    np.testing.assert_allclose(got, FORMULAS[name][1](x.astype(np.float64) * y), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    "attributes",
    [
        a.Activation(ActivationType.UNKNOWN),
        a.Activation(77),
        a.Activation(ActivationType.THRESHOLDRELU, maxVal=0),
        a.Activation(ActivationType.HARD_TANH, minVal=1, maxVal=1),
    ],
)
def test_activations_that_mean_nothing(attributes: a.Attributes) -> None:
    refused(attributes, [3])


@pytest.mark.parametrize("kind", ["ELU", "LEAKY_RELU", "THRESHOLDRELU", "HARD_TANH", "UNKNOWN"])
def test_fused_activations_have_no_parameters(kind: str) -> None:
    refused(a.AddFusion(ActivationType[kind]), [3], [3])


# -- element types -----------------------------------------------------------------------------------------------------

BINARY: dict[str, tuple[a.Attributes, Callable[[Array, Array], Array]]] = {
    "add": (a.AddFusion(), np.add),
    "sub": (a.SubFusion(), np.subtract),
    "mul": (a.MulFusion(), np.multiply),
    "max": (a.Maximum(), np.maximum),
    "min": (a.Minimum(), np.minimum),
    "sum": (a.Eltwise(EltwiseMode.SUM), np.add),
    "squared difference": (a.SquaredDifference(), lambda x, y: (x - y) * (x - y)),
    "mod": (a.Mod(), np.fmod),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", [t for t in TYPES if t not in ("bool", "int8", "uint8")])
def test_arithmetic_in_every_type(name: str, dtype: str) -> None:
    attributes, formula = BINARY[name]
    signed = np.dtype(dtype).kind != "u"
    x = np.array([[7, -9 if signed else 9, 100], [5, 3, 2]]).astype(dtype)
    y = np.array([2, 4, -7 if signed else 7]).astype(dtype)
    with np.errstate(over="ignore"):
        want = formula(x, y)
    got = run(attributes, x, y)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, want)


COMPARISONS = {
    a.Equal: np.equal, a.NotEqual: np.not_equal, a.Greater: np.greater, a.GreaterEqual: np.greater_equal,
    a.Less: np.less, a.LessEqual: np.less_equal,
}  # fmt: skip


@pytest.mark.parametrize("cls", COMPARISONS)
@pytest.mark.parametrize("dtype", TYPES)
def test_comparisons_in_every_type(cls: type[a.Attributes], dtype: str) -> None:
    x, y = np.array([0, 1, 1, 5]).astype(dtype), np.array([1, 1, 0, 5]).astype(dtype)
    got = run(cls(), x, y)
    assert got.dtype == bool
    np.testing.assert_array_equal(got, COMPARISONS[cls](x, y))


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint16", "uint32"])
@pytest.mark.parametrize("fixed", [False, True])
def test_integer_division(dtype: str, fixed: bool) -> None:
    """Truncated toward zero; what would end the process gives 0, or wraps."""
    info = np.iinfo(dtype)
    if info.min:
        x, y = np.array([7, -7, 7, -7, 5, info.min, 0]), np.array([2, 2, -2, -2, 0, -1, 0])
        want = np.array([3, -3, -3, 3, 0, info.min, 0])
    else:
        x, y, want = np.array([7, 9, 5, info.max]), np.array([2, 3, 0, 1]), np.array([3, 3, 0, info.max])
    x, y, want = x.astype(dtype), y.astype(dtype), want.astype(dtype)
    if fixed:
        g = GraphBuilder()
        ref = g.input("x", x.shape, dtype)
        got = DEVICE.prepare(g.finish(g.DivFusion(ref, g.constant(y)))).predict([x])["divfusion"]
    else:
        got = run(a.DivFusion(), x, y)
    np.testing.assert_array_equal(got, want)


def test_floats_divided_by_zero() -> None:
    got = run(a.DivFusion(), np.array([1, -1, 0], np.float32), np.zeros(3, np.float32))
    assert got[0] == np.inf
    assert got[1] == -np.inf
    assert np.isnan(got[2])


def test_the_first_operand_decides_the_type() -> None:
    got = run(a.AddFusion(), np.array([1, 2], np.int32), np.array([0.9, 1.9], np.float32))
    assert got.dtype == np.int32
    assert got.tolist() == [1, 3]


@pytest.mark.parametrize("op", KERNELS)
@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_has_a_type_to_compute_in(op: str, dtype: str) -> None:
    work = working_type(op, np.dtype(dtype))
    assert work in KERNELS[op]
    assert (work == dtype) == (dtype in KERNELS[op])


UNARY: dict[type[a.Attributes], Callable[[Array], Array]] = {
    a.Abs: np.abs, a.Ceil: np.ceil, a.Floor: np.floor, a.Round: np.round, a.Cos: np.cos, a.Sin: np.sin, a.Erf: erf,
    a.Log: np.log, a.Neg: np.negative, a.Reciprocal: lambda x: 1 / x, a.Sqrt: np.sqrt, a.Rsqrt: lambda x: x**-0.5,
    a.Square: np.square,
}  # fmt: skip


@pytest.mark.parametrize("cls", UNARY)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_unary(cls: type[a.Attributes], dtype: str) -> None:
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.0, 3.7, 1e-3]).astype(dtype)
    with np.errstate(all="ignore"):
        want = UNARY[cls](x.astype(np.float64))
    tolerance = 2e-3 if dtype == "float16" else 2e-6
    np.testing.assert_allclose(run(cls(), x), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("base", [-1.0, 2.0, 10.0])
def test_exp(base: float) -> None:
    x = floats(5)
    got = run(a.ExpFusion(base, 0.5, -0.25), x)
    np.testing.assert_allclose(got, (math.e if base == -1 else base) ** (-0.25 + 0.5 * x.astype(np.float64)), rtol=2e-6)
    refused(a.ExpFusion(0.0), [3])


def test_pow_and_scale_and_bias() -> None:
    x, y = np.abs(floats(2, 3)), floats(3)
    np.testing.assert_allclose(run(a.PowFusion(2, 1), x, y), (2 * x + 1) ** y, rtol=1e-5)
    x, scale, bias = floats(2, 3, 4), floats(2, 3), floats(2, 3)
    got = run(a.ScaleFusion(0), x, scale, bias)
    np.testing.assert_allclose(got, x * scale[..., None] + bias[..., None], rtol=1e-6)
    np.testing.assert_allclose(run(a.ScaleFusion(-1), x, floats(4) * 0 + 2), 2 * x, rtol=1e-6)
    np.testing.assert_allclose(run(a.BiasAdd(), x, [1, 2, 3, 4]), x + np.arange(1, 5), rtol=1e-6)
    refused(a.ScaleFusion(1), [2, 3, 4], [4], [4], text="scale must have dims")
    refused(a.BiasAdd(), [2, 3], [2], text="the bias must have")


def test_prelu() -> None:
    x = floats(2, 3, 4)
    for slope in ([0.25], [0.1, 0.2, 0.3, 0.4]):
        got = run(a.PReLUFusion(), x, slope)
        np.testing.assert_allclose(got, np.where(x >= 0, x, np.float32(slope) * x), rtol=1e-6)
    refused(a.PReLUFusion(), [2, 4], [3], text="slope must have the 4 channels")
    for dtype in ("int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float64"):
        whole = np.array([[-3, 5]] if dtype[0] != "u" else [[3, 5]]).astype(dtype)
        np.testing.assert_array_equal(run(a.PReLUFusion(), whole, [2.0]), np.where(whole >= 0, whole, 2 * whole))


# -- integers near the ends of their types -----------------------------------------------------------------------------

WIDE = ["int32", "int64", "uint32", "uint64"]
WHOLE: list[tuple[type[a.Attributes], Any]] = [
    (a.AddFusion, np.add),
    (a.SubFusion, np.subtract),
    (a.MulFusion, np.multiply),
    (a.Maximum, np.maximum),
    (a.Minimum, np.minimum),
    (a.Equal, np.equal),
    (a.NotEqual, np.not_equal),
    (a.Greater, np.greater),
    (a.GreaterEqual, np.greater_equal),
    (a.Less, np.less),
    (a.LessEqual, np.less_equal),
]


def ends(dtype: str) -> Array:
    """Numbers around zero, around the exact ones of float32, and at the ends of a type."""
    bounds = np.iinfo(dtype)
    listed = [0, 1, 2, 7, (1 << 24) + 1, bounds.max, bounds.max - 1, bounds.max // 2 + 1]
    return np.array(listed + ([-1, -7, bounds.min, bounds.min + 1] if bounds.min else []), dtype)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize(("cls", "numpy"), WHOLE, ids=[cls.__name__ for cls, _ in WHOLE])
def test_two_large_integers(cls: type[a.Attributes], numpy: Any, dtype: str) -> None:
    x, y = ends(dtype)[:, None], ends(dtype)[None]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(run(cls(), x, y), numpy(x, y))


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("fixed", [False, True])
def test_division_of_large_integers(dtype: str, fixed: bool) -> None:
    x, y = ends(dtype), ends(dtype)
    y = y[(y != 0) & (y != np.array(-1).astype(dtype)) | (y == y.max())]
    size = [abs(int(i)) // abs(int(j)) * (-1 if (i < 0) != (j < 0) else 1) for i in x for j in y]
    want = np.array(size, object).astype(dtype).reshape(len(x), len(y))
    for cls, answer in ((a.DivFusion, want), (a.Mod, x[:, None] - want * y)):
        g = GraphBuilder()
        right = g.constant(y) if fixed else g.input("y", [len(y)], dtype)
        made = g.node(cls(), g.input("x", [len(x), 1], dtype), right)
        feeds = {"x": x[:, None]} | ({} if fixed else {"y": y})
        ((got,),) = (DEVICE.prepare(g.finish(made)).predict(feeds).values(),)
        np.testing.assert_array_equal(got, answer)


@pytest.mark.parametrize("dtype", WIDE)
def test_functions_of_large_integers(dtype: str) -> None:
    x = ends(dtype)
    for cls in (a.Ceil, a.Floor, a.Round):
        np.testing.assert_array_equal(run(cls(), x), x)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(run(a.Abs(), x), np.abs(x))
        np.testing.assert_array_equal(run(a.Neg(), x), np.negative(x))
    np.testing.assert_array_equal(run(a.Activation(ActivationType.RELU), x), np.maximum(x, 0))
    np.testing.assert_array_equal(run(a.Activation(ActivationType.RELU6), x), np.clip(x, 0, 6))
    np.testing.assert_array_equal(run(a.Activation(ActivationType.SIGN), x), np.sign(x))
    order = sorted(range(len(x)), key=lambda place: -int(x[place]))
    values, indices = run(a.TopKFusion(axis=0), x, np.array(len(x), np.int32), outputs=2)
    np.testing.assert_array_equal(values, x[order])
    np.testing.assert_array_equal(indices, order)
    assert run(a.ArgMaxFusion(axis=0), x) == x.argmax()
    exact = np.array([(1 << 24) + 1, 3], dtype)
    np.testing.assert_array_equal(run(a.PowFusion(), exact, np.array(1, dtype)), exact)
    np.testing.assert_array_equal(run(a.PowFusion(), np.array([7], dtype), np.array(9, dtype)), [7**9])
    pooled = run(a.MaxPoolFusion([1, 2], [1, 2]), exact.reshape(1, 1, 2, 1))
    np.testing.assert_array_equal(pooled.reshape(-1), exact[:1])
    np.testing.assert_array_equal(run(a.MaxPoolFusion(global_=True), exact.reshape(1, 1, 2, 1)).reshape(-1), exact[:1])
    for mode in (ReduceMode.MAX, ReduceMode.MIN):
        assert run(a.ReduceFusion(mode=mode), x) == (x.max() if mode is ReduceMode.MAX else x.min())


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_floats_beyond_an_integer_type(dtype: str) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30, -1.5, 2.5], np.float32)
    bounds = np.iinfo(dtype)
    number = int(Tensor("", data_type_of(np.dtype(dtype))).dataType)
    want = [bounds.max, bounds.min, 0, bounds.max, bounds.min, max(-1, bounds.min), 2]
    np.testing.assert_array_equal(run(a.Cast(), x, number, dtype=dtype), np.array(want, dtype))
