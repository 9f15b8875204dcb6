"""Quantised models: products of whole numbers, the bound on everything else, and whole networks of int8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnrt_nodes import brute_conv
from pippin.nnrt import attributes as a
from pippin.nnrt.authoring import GraphBuilder
from pippin.nnrt.device import Device
from pippin.nnrt.types import ActivationType, DataType, Format, Model, PadMode, QuantParam, QuantType
from pippin.reference.nnrt.interpreter import Interpreter

Array = np.ndarray[Any, Any]
DEVICE = Device()
MARGIN = 1e-4
"""How near to a tie an exact result must lie, in steps of the output, for the answer to be the other neighbour."""


def q(scale: float, zero: int = 0) -> QuantParam:
    return QuantParam(8, zero, scale)


def real(levels: Array, params: Sequence[QuantParam], axis: int = 0) -> Array:
    column = [1] * levels.ndim
    if len(params) > 1:
        column[axis] = -1
    zero = np.array([p.zeroPoint for p in params], np.float64).reshape(column if len(params) > 1 else ())
    scale = np.array([p.scale for p in params])
    return (levels - zero) * scale.reshape(column if len(params) > 1 else ())


def drawn(dtype: str, *dims: int, seed: int = 0) -> Array:
    bounds = np.iinfo(dtype)
    return np.random.default_rng([seed, *dims]).integers(bounds.min, bounds.max, dims, endpoint=True).astype(dtype)


def agrees(got: Array, exact: Array, param: QuantParam) -> None:
    """got is exact / scale + zeroPoint rounded, halves away from zero, or the other neighbour very near to a tie."""
    steps = exact / param.scale + param.zeroPoint
    bounds = np.iinfo(got.dtype)
    wanted = np.clip(np.sign(steps) * np.floor(np.abs(steps) + 0.5), bounds.min, bounds.max)
    off = got.astype(int) != wanted
    assert got.shape == exact.shape
    tie = np.abs(np.abs(steps) % 1 - 0.5)
    assert np.abs(got.astype(int) - wanted).max() <= off.any()
    assert (tie[off] < MARGIN * np.maximum(1, np.abs(steps[off]) / 128)).all(), "beyond the bound that is told"


def run(attributes: a.Attributes, inputs: Sequence[tuple[Array, Any, bool]], made: QuantParam, **options: Any) -> Array:
    """One node of quantised tensors: (levels, params, constant)."""
    g = GraphBuilder()
    refs, feeds = [], []
    layout = options.pop("format", Format.NHWC)
    for array, params, constant in inputs:
        quant = params if params is not None else ()
        if constant:
            refs.append(g.constant(array, array.dtype, quant=quant))
        else:
            refs.append(g.input(f"x{len(feeds)}", array.shape, array.dtype, quant=quant, format=layout))
            feeds.append(array)
    ref = g.node(attributes, *refs, quant=made, **options)
    model = g.finish(ref)
    assert model.nodes[0].quantType == QuantType.ALL
    return next(iter(DEVICE.prepare(model).predict(feeds).values()))


WIDE = st.sampled_from([0.25, 0.0073, 0.031, 0.5, 1.3e-3])
ZERO = st.integers(-40, 40)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["int8", "uint8"]), st.sampled_from(["int8", "uint8"]), WIDE, WIDE, ZERO, ZERO, st.integers(0, 99)
)
def test_matmul(left: str, right: str, sx: float, sw: float, zx: int, zw: int, seed: int) -> None:
    x, w = drawn(left, 4, 40, seed=seed), drawn(right, 40, 5, seed=seed + 1)
    px, pw = q(sx, zx + (128 if left == "uint8" else 0)), q(sw, zw + (128 if right == "uint8" else 0))
    exact = real(x, [px]) @ real(w, [pw])
    made = q(float(np.abs(exact).max()) / 120, 3)
    got = run(a.MatMulFusion(), [(x, px, False), (w, pw, False)], made, dtype="int8")
    agrees(got, exact, made)


def test_extremes_do_not_saturate() -> None:
    x, w = np.full((2, 256), 255, np.uint8), np.full((256, 3), 127, np.int8)
    px, pw, made = q(0.01), q(0.01), q(8.0)
    got = run(a.MatMulFusion(), [(x, px, False), (w, pw, True)], made, dtype="int8")
    agrees(got, real(x, [px]) @ real(w, [pw]), made)
    assert (got == round(256 * 255 * 127 * 1e-4 / 8)).all()


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_full_connection(kind: str, per_channel: bool) -> None:
    x, w, bias = drawn(kind, 3, 30), drawn("int8", 6, 30), drawn("int16", 6).astype(np.int32)
    px = q(0.02, 7)
    pw = [q(0.004 * (i + 1)) for i in range(6)] if per_channel else [q(0.01, 2)]
    scales = px.scale * np.array([p.scale for p in pw])
    exact = np.maximum(real(x, [px]) @ real(w, pw).T + bias * scales, 0)
    made = q(float(exact.max()) / 200, -100)
    struct = a.FullConnection(True, True, 1, ActivationType.RELU)
    agrees(run(struct, [(x, px, False), (w, pw, True), (bias, None, True)], made, dtype="int8"), exact, made)


@pytest.mark.parametrize("layout", [Format.NHWC, Format.NCHW])
@pytest.mark.parametrize("group", [1, 2])
def test_conv(layout: Format, group: int) -> None:
    x, w, bias = drawn("int8", 2, 7, 6, 4), drawn("int8", 6, 3, 2, 4 // group), drawn("int16", 6).astype(np.int32)
    px, pw = q(0.02, -9), [q(0.003 * (i + 1)) for i in range(6)]
    levels = x.astype(np.float64) + 9
    sums = brute_conv(levels, w.astype(np.float64), (2, 1), (1, 2), (1, 0), (2, 1), group) + bias
    exact = sums * 0.02 * np.array([p.scale for p in pw])
    made = q(float(np.abs(exact).max()) / 120)
    struct = a.Conv2DFusion([3, 2], [2, 1], [1, 2], PadMode.PAD, [1, 2, 0, 1], group, 4, 6)
    turned = layout == Format.NCHW
    given_x = x.transpose(0, 3, 1, 2).copy() if turned else x
    got = run(struct, [(given_x, px, False), (w, pw, True), (bias, None, True)], made, format=layout)
    agrees(got.transpose(0, 2, 3, 1) if turned else got, exact, made)


def test_transposed_conv() -> None:
    x, w = drawn("int8", 1, 3, 3, 2), drawn("int8", 2, 2, 2, 3)
    px, pw = q(0.02, 5), q(0.01, -3)
    exact = np.zeros((1, 6, 6, 3))
    for i, j in np.ndindex(3, 3):
        exact[0, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = np.einsum("c,chwo->hwo", real(x, [px])[0, i, j], real(w, [pw]))
    made = q(float(np.abs(exact).max()) / 110, 1)
    struct = a.Conv2dTransposeFusion([2, 2], [2, 2], [1, 1], PadMode.VALID, [], 1, 2, 3)
    agrees(run(struct, [(x, px, False), (w, pw, True)], made), exact, made)


OPERATIONS = {
    a.AddFusion(): np.add,
    a.SubFusion(): np.subtract,
    a.MulFusion(): np.multiply,
    a.Maximum(): np.maximum,
}


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(list(OPERATIONS)), WIDE, WIDE, ZERO, ZERO, st.integers(0, 99))
def test_elementwise(struct: a.Attributes, sx: float, sy: float, zx: int, zy: int, seed: int) -> None:
    x, y = drawn("int8", 3, 50, seed=seed), drawn("int8", 3, 50, seed=seed + 1)
    px, py = q(sx, zx), q(sy, zy)
    exact = OPERATIONS[struct](real(x, [px]), real(y, [py]))
    made = q(max(float(np.abs(exact).max()), 1e-3) / 127, zx)
    agrees(run(struct, [(x, px, False), (y, py, False)], made), exact, made)


@pytest.mark.parametrize("made", [q(0.05, 4), q(0.031, -20)], ids=["the same", "others"])
def test_pooling(made: QuantParam) -> None:
    x, px = drawn("int8", 1, 6, 6, 3), q(0.05, 4)
    tiles = real(x, [px]).reshape(1, 3, 2, 3, 2, 3)
    fields: dict[str, Any] = {"kernelSize": [2, 2], "strides": [2, 2]}
    agrees(run(a.MaxPoolFusion(**fields), [(x, px, False)], made), tiles.max((2, 4)), made)
    agrees(run(a.AvgPoolFusion(**fields), [(x, px, False)], made), tiles.mean((2, 4)), made)


def test_concat_of_several_scales() -> None:
    parts = [(drawn("int8", 2, 5, seed=i), q(0.01 * (i + 1), i * 3), False) for i in range(3)]
    exact = np.concatenate([real(x, [p]) for x, p, _ in parts], 1)
    agrees(run(a.Concat(1), parts, q(0.03, -5)), exact, q(0.03, -5))
    same = [(x, q(0.02, 7), False) for x, *_ in parts]
    np.testing.assert_array_equal(run(a.Concat(1), same, q(0.02, 7)), np.concatenate([x for x, *_ in same], 1))


@pytest.mark.parametrize(
    "kind", [T for T in ActivationType if T.name in ("RELU", "RELU6", "SIGMOID", "TANH", "HSWISH")]
)
def test_activation(kind: ActivationType) -> None:
    x, px, made = drawn("int8", 200), q(0.06, 10), q(0.03, -10)
    r = real(x, [px])
    exact = {
        "RELU": np.maximum(r, 0),
        "RELU6": np.clip(r, 0, 6),
        "SIGMOID": 1 / (1 + np.exp(-r)),
        "TANH": np.tanh(r),
        "HSWISH": r * np.clip(r + 3, 0, 6) / 6,
    }[kind.name]
    agrees(run(a.Activation(kind), [(x, px, False)], made), exact, made)


# -- casts -------------------------------------------------------------------------------------------------------------


def cast(array: Array, target: DataType, quant_in: Any, quant_out: Any, axis: int | None = None) -> Array:
    g = GraphBuilder()
    x = g.input("x", array.shape, array.dtype, quant=quant_in or ())
    struct = a.QuantDTypeCast(0, int(target)) if axis is None else a.QuantDTypeCastV2(0, int(target), axis)
    y = g.node(struct, x, dtype=target, quant=quant_out or ())
    return next(iter(DEVICE.prepare(g.finish(y)).predict([array]).values()))


def test_casts_there_and_back() -> None:
    x = np.random.default_rng(1).standard_normal((4, 5)).astype(np.float32)
    param = q(0.02, 3)
    levels = cast(x, DataType.INT8, None, param)
    agrees(levels, x.astype(np.float64), param)
    back = cast(levels, DataType.FLOAT32, param, None)
    np.testing.assert_allclose(back, real(levels, [param]), rtol=1e-6)
    agrees(cast(levels, DataType.UINT8, param, q(0.05, 100)), real(levels, [param]), q(0.05, 100))
    np.testing.assert_array_equal(cast(levels, DataType.UINT8, None, None), levels.astype(int) + 128)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_casts_along_an_axis(axis: int) -> None:
    x = np.random.default_rng(2).standard_normal((3, 4)).astype(np.float32)
    params = [q(0.01 * (i + 1), i) for i in range(x.shape[axis])]
    levels = cast(x, DataType.INT8, None, params, axis)
    for place, param in enumerate(params):
        agrees(np.take(levels, place, axis), np.take(x, place, axis).astype(np.float64), param)
    np.testing.assert_allclose(
        cast(levels, DataType.FLOAT32, params, None, axis), real(levels, params, axis), rtol=1e-6
    )


# -- a whole network ---------------------------------------------------------------------------------------------------


def network(dtype: str) -> Model:
    """float → QuantDTypeCast → conv, pool, add, concat, full connection in int8 → QuantDTypeCast → float."""
    rng = np.random.default_rng(5)
    zero = 128 if dtype == "uint8" else 0
    g = GraphBuilder("int8")
    x = g.input("x", [1, 8, 8, 3])
    kind = DataType[dtype.upper()]
    h = g.node(a.QuantDTypeCast(43, int(kind)), x, dtype=kind, quant=q(0.02, zero))
    w = rng.integers(-127, 128, (8, 3, 3, 3)).astype(np.int8)
    c = g.Conv2DFusion(
        h, g.constant(w, quant=[q(0.004 + 0.001 * i) for i in range(8)]), rng.integers(-90, 90, 8).astype(np.int32),
        kernelSize=[3, 3], padMode=PadMode.SAME, activationType=ActivationType.RELU, quant=q(0.03, zero),
    )  # fmt: skip
    p = g.MaxPoolFusion(c, kernelSize=[2, 2], strides=[2, 2], quant=q(0.03, zero))
    m = g.AvgPoolFusion(c, kernelSize=[2, 2], strides=[2, 2], quant=q(0.025, zero))
    s = g.Activation(
        g.AddFusion(p, m, quant=q(0.05, zero)), activationType=ActivationType.SIGMOID, quant=q(1 / 250, zero)
    )
    both = g.Concat(g.MulFusion(s, p, quant=q(0.03, zero)), m, axis=3, quant=q(0.03, zero))
    f = g.FullConnection(
        both, g.constant(rng.integers(-127, 128, (5, 256)).astype(np.int8), quant=q(0.002)),
        rng.integers(-900, 900, 5).astype(np.int32), hasBias=True, useAxis=True, axis=1, quant=q(0.2, zero),
    )  # fmt: skip
    y = g.node(a.QuantDTypeCastV2(int(kind), 43, 0), f, dtype="float32")
    return g.finish(y)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_network_against_the_reference(dtype: str) -> None:
    model = network(dtype)
    reference = Interpreter(model)
    quantised = [node.quantType == QuantType.ALL for node in model.nodes]
    assert quantised == [True] * (len(quantised) - 1) + [False]
    prepared = DEVICE.prepare(model)
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal((1, 8, 8, 3)).astype(np.float32)
        (got,) = prepared.predict([x]).values()
        (want,) = reference.run([x])
        # a tie on the way may fall to the other side: one step of the last layer at most
        np.testing.assert_allclose(got, want, atol=0.2 + 1e-6)
