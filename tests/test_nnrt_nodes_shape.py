"""Lowerings that move elements, cast and quantise, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nnrt_models import one_node
from nnrt_nodes import DEVICE, RNG, TYPES, brute_conv, constant_ints, floats, refused, run
from pippin.nnrt import attributes as a
from pippin.nnrt.authoring import GraphBuilder
from pippin.nnrt.errors import NnrtError
from pippin.nnrt.nodes.base import NODES
from pippin.nnrt.quantize import dequantize, quantize
from pippin.nnrt.types import (
    DataType,
    NodeType,
    PaddingMode,
    QuantParam,
    Tensor,
    numpy_type,
)

# -- shapes ------------------------------------------------------------------------------------------------------------

PADS = [[0, 0], [2, 3], [1, 0]]


@pytest.mark.parametrize("open_dims", [False, True])
@pytest.mark.parametrize(("mode", "name"), [(0, "constant"), (1, "reflect"), (2, "symmetric")])
@pytest.mark.parametrize("size", [4, 2, 1])
def test_pad(open_dims: bool, mode: int, name: str, size: int) -> None:
    if name == "reflect" and size == 1:
        return  # NumPy repeats the one element, and so does the lowering
    x = floats(2, size, 3)
    options = {"constant_values": 1.5} if name == "constant" else {}
    want = np.pad(x, PADS, mode=name, **options)  # type: ignore[call-overload]
    got = run(a.PadFusion([], PaddingMode(mode), 1.5), x, PADS, open_dims=open_dims)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(run(a.PadFusion(PADS, PaddingMode(mode), 1.5), x), want)


def test_pad_refusals_and_paddings_at_run_time() -> None:
    x = floats(2, 3)
    got = run(a.PadFusion(), x, np.array([[1, 0], [0, 2]], np.int32))
    np.testing.assert_array_equal(got, np.pad(x, [(1, 0), (0, 2)]))
    refused(a.PadFusion([[1, 1]]), [2, 3], text="must hold 4 integers")
    refused(a.PadFusion([[-1, 1], [0, 0]]), [2, 3], text="at least 0")
    refused(a.PadFusion([[0, 0], [1, 1 << 40]], PaddingMode.SYMMETRIC), [2, 3], text="mirrored border")
    refused(a.PadFusion([[0, 0], [1, 1]], PaddingMode.RESERVED), [2, 3], text="paddingMode")


@pytest.mark.parametrize("open_dims", [False, True])
@pytest.mark.parametrize("shape", [[6, 4], [-1], [0, -1], [2, 0, 4], [4, 3, 2, 1]])
def test_reshape(open_dims: bool, shape: list[int]) -> None:
    x = floats(2, 3, 4)
    wanted = [x.shape[i] if size == 0 else size for i, size in enumerate(shape)]
    np.testing.assert_array_equal(run(a.Reshape(), x, shape, open_dims=open_dims), x.reshape(wanted))


@pytest.mark.parametrize("shape", [[5, 5], [-1, -1], [-2], [7, -1], [1, 1, 1, 0]])
def test_reshape_refusals(shape: list[int]) -> None:
    refused(a.Reshape(), [2, 3, 4], constant_ints(*shape), text="shape|dims")


def test_moves() -> None:
    x = floats(2, 3, 4)
    np.testing.assert_array_equal(run(a.Transpose(), x, [2, 0, 1]), x.transpose(2, 0, 1))
    np.testing.assert_array_equal(run(a.Flatten(2), x), x.reshape(6, 4))
    np.testing.assert_array_equal(run(a.Flatten(0), x), x.reshape(1, 24))
    np.testing.assert_array_equal(run(a.Flatten(-1), x, open_dims=True), x.reshape(6, 4))
    np.testing.assert_array_equal(run(a.Squeeze(), x[:1, :, :1]), x[0, :, 0])
    np.testing.assert_array_equal(run(a.Squeeze([-1]), x[..., :1]), x[..., 0])
    np.testing.assert_array_equal(run(a.Unsqueeze([0, 2]), x), x[None, :, None])
    np.testing.assert_array_equal(run(a.ExpandDims(), x, [-1]), x[..., None])
    np.testing.assert_array_equal(run(a.Concat(-1), x, 2 * x), np.concatenate([x, 2 * x], -1))
    np.testing.assert_array_equal(run(a.Concat(1), x), x)
    np.testing.assert_array_equal(run(a.Stack(1), x, x + 1), np.stack([x, x + 1], 1))
    np.testing.assert_array_equal(run(a.TileFusion([2, 0]), x, [2, 3]), np.tile(x, [3, 1, 2]))
    np.testing.assert_array_equal(run(a.BroadcastTo([5, -1, 3, 4]), x), np.broadcast_to(x, [5, 2, 3, 4]))
    assert run(a.Shape(), x).tolist() == [2, 3, 4]
    assert run(a.Shape(), x).dtype == np.int32
    assert run(a.Rank(), x, open_dims=True).tolist() == 3


@pytest.mark.parametrize("open_dims", [False, True])
def test_cuts(open_dims: bool) -> None:
    x = floats(4, 6, 2)
    for part, want in zip(run(a.Split(3, [], 1), x, outputs=3, open_dims=open_dims), np.split(x, 3, 1), strict=True):
        np.testing.assert_array_equal(part, want)
    for part, want in zip(
        run(a.Split(0, [1, 3, 2], -2), x, outputs=3, open_dims=open_dims), np.split(x, [1, 4], 1), strict=True
    ):
        np.testing.assert_array_equal(part, want)
    for part, want in zip(run(a.Unstack(2), x, outputs=2, open_dims=open_dims), np.moveaxis(x, 2, 0), strict=True):
        np.testing.assert_array_equal(part, want)
    got = run(a.SliceFusion([2, 0]), x, [1, 0], [1, -1], open_dims=open_dims)
    np.testing.assert_array_equal(got, x[:, :, 1:2])
    got = run(a.SliceFusion(), x, np.array([1, 2, 0], np.int32), np.array([2, -1, 1], np.int32), open_dims=open_dims)
    np.testing.assert_array_equal(got, x[1:3, 2:, :1])


def test_split_with_a_rest() -> None:
    x = floats(7)
    parts = run(a.Split(2, [3, -1], 0), x, outputs=2)
    assert [len(part) for part in parts] == [3, 4]


@pytest.mark.parametrize(
    ("attributes", "inputs", "text"),
    [
        (a.Transpose(), ([2, 3], constant_ints(0, 0)), "perm must order"),
        (a.Squeeze([1]), ([2, 3],), "must be 1"),
        (a.Unsqueeze([5]), ([2, 3],), "axis must be in"),
        (a.ExpandDims(), ([2, 3], constant_ints(0, 1)), "one integer"),
        (a.Flatten(3), ([2, 3],), "axis must be in"),
        (a.Concat(2), ([2, 3], [2, 3]), "axis must be in"),
        (a.Concat(0), ([2, 3], [2, 4]), "fit"),
        (a.Stack(0), ([2, 3], [3, 2]), "equal dims"),
        (a.Split(2, [], 0), ([4],), "outputNum"),
        (a.Split(0, [3], 0), ([4],), "add up"),
        (a.Split(0, [3, 1], 0), ([4],), "must hold 1"),
        (a.Unstack(0), ([4],), "an output for each"),
        (a.SliceFusion(), ([4], constant_ints(2), constant_ints(3)), "does not lie in"),
        (a.SliceFusion(), ([4], constant_ints(-1), constant_ints(3)), "does not lie in"),
        (a.SliceFusion([0, 0]), ([4], constant_ints(0, 0), constant_ints(1, 1)), "axes must name"),
        (a.SliceFusion(), ([4], constant_ints(0), constant_ints(1, 1)), "equally long"),
        (a.TileFusion([0]), ([4], constant_ints(2, 2)), "dims must name"),
        (a.BroadcastTo([3]), ([2],), "cannot be broadcast"),
        (a.BroadcastTo([-1, 2]), ([2],), "keeps a dim"),
        (a.BroadcastTo([]), ([2],), "at least the 1 dims"),
        (a.Transpose(), ([2, 3], [2]), "must be a constant|must be integers"),
    ],
)
def test_shape_refusals(attributes: a.Attributes, inputs: Any, text: str) -> None:
    refused(attributes, *inputs, text=text)


# -- casts, quantisation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [name for name in TYPES if name != "bool"])
def test_cast_keeps_in_range(target: str) -> None:
    x = np.array([1.9, -1.9, 300.7, -300.7, 1e30, -1e30, np.nan], np.float32)
    got = run(a.Cast(), x, int(DataType[target.upper()]))
    if np.dtype(target).kind == "f":
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(got, x.astype(target))
        return
    info = np.iinfo(target)
    want = [int(np.clip(np.trunc(v), info.min, info.max)) for v in x[:4].tolist()]
    assert got[:4].tolist() == want
    assert got[5] == info.min
    assert abs(int(got[4]) - info.max) <= info.max / 2**52
    assert got[6] == 0


@pytest.mark.parametrize("number", [1, 30])
def test_cast_to_bool_by_both_numberings(number: int) -> None:
    assert run(a.Cast(), np.array([0, 2, -1], np.int32), number).tolist() == [False, True, True]


Q = [QuantParam(8, 3, 0.1)]


def test_quantized_add() -> None:
    """(4 + 8) · 0.2 + 8 · 0.2 = 4.0, and 4.0 / 0.4 = 10."""
    g = GraphBuilder()
    params = QuantParam(8, 0, 0.2)
    x, y = g.input("x", [3, 2, 2], "int8", quant=params), g.input("y", [3, 2, 2], "int8", quant=params)
    model = g.finish(g.AddFusion(g.AddFusion(x, y, quant=params), y, quant=QuantParam(8, 0, 0.4)), names=["out"])
    four, eight = np.full((3, 2, 2), 4, np.int8), np.full((3, 2, 2), 8, np.int8)
    assert (DEVICE.prepare(model).predict([four, eight])["out"] == 10).all()


def test_quantized_conv_with_an_int32_bias() -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(-128, 128, (1, 5, 5, 2)).astype(np.int8)
    w = rng.integers(-128, 128, (3, 2, 2, 2)).astype(np.int8)
    bias = rng.integers(-3000, 3000, 3).astype(np.int32)
    per_channel = [QuantParam(8, 0, 0.01), QuantParam(8, 0, 0.02), QuantParam(8, 0, 0.005)]
    out = QuantParam(8, -5, 1.5)
    g = GraphBuilder()
    ref = g.input("x", x.shape, "int8", quant=Q[0])
    made = g.Conv2DFusion(ref, g.constant(w, quant=per_channel), g.constant(bias), quant=out)
    got = DEVICE.prepare(g.finish(made)).predict([x])["conv2dfusion"]
    real = brute_conv(dequantize(x, Q), dequantize(w, per_channel), (1, 1), (1, 1), (0, 0), (0, 0), 1)
    real += bias * np.array([0.1 * param.scale for param in per_channel])
    assert np.abs(got.astype(int) - quantize(real, out).astype(int)).max() <= 1


def test_moving_quantized_integers_changes_nothing() -> None:
    x = np.arange(-128, 128, dtype=np.int8).reshape(16, 16)
    g = GraphBuilder()
    ref = g.input("x", x.shape, "int8", quant=Q[0])
    got = DEVICE.prepare(g.finish(g.Transpose(ref, [1, 0], quant=Q[0]))).predict([x])["transpose"]
    np.testing.assert_array_equal(got, x.T)
    other = QuantParam(8, 0, 0.2)
    g = GraphBuilder()
    ref = g.input("x", x.shape, "int8", quant=Q[0])
    got = DEVICE.prepare(g.finish(g.Transpose(ref, [1, 0], quant=other))).predict([x])["transpose"]
    want = quantize(dequantize(x, Q, dtype=np.float64), other).T
    assert np.abs(got.astype(int) - want.astype(int)).max() <= 1


@pytest.mark.parametrize("name", ["int8", "uint8"])
def test_quant_dtype_cast(name: str) -> None:
    x = (RNG.standard_normal(200) * 20).astype(np.float32)
    g = GraphBuilder()
    cast = a.QuantDTypeCast(int(DataType.FLOAT32), int(DataType[name.upper()]))
    made = g.node(cast, g.input("x", x.shape), dtype=name, quant=Q)
    back = g.node(a.QuantDTypeCast(int(DataType[name.upper()]), 11), made)
    got = DEVICE.prepare(g.finish(made, back, names=["q", "r"])).predict([x])
    want = quantize(x, Q, signed=name == "int8")
    assert np.abs(got["q"].astype(int) - want.astype(int)).max() <= 1
    assert (got["q"] == want).mean() > 0.99
    np.testing.assert_allclose(got["r"], dequantize(got["q"], Q), rtol=1e-6)


def test_halves_are_quantized_away_from_zero() -> None:
    g = GraphBuilder()
    made = g.node(a.QuantDTypeCast(43, 32), g.input("x", [6]), dtype="int8", quant=QuantParam(8, 0, 2.0))
    got = DEVICE.prepare(g.finish(made)).predict([np.array([1, 3, 5, -1, -3, -5], np.float32)])
    assert got["quantdtypecast"].tolist() == [1, 2, 3, -1, -2, -3]


def test_quant_dtype_cast_refusals() -> None:
    refused(a.QuantDTypeCast(43, 32), [3], text="dstT must be the output's")
    with pytest.raises(NnrtError, match="quantParams"):
        DEVICE.prepare(one_node(a.QuantDTypeCast(43, 32), [Tensor("x", dims=[3])], [Tensor("y", DataType.INT8)]))
    refused(a.QuantDTypeCast(43, 99), [3], text="no element type")


def test_a_scale_of_zero_gives_the_zero_point() -> None:
    g = GraphBuilder()
    made = g.node(a.QuantDTypeCast(43, 32), g.input("x", [3]), dtype="int8", quant=QuantParam(8, 4, 0.0))
    got = DEVICE.prepare(g.finish(made)).predict([np.array([-5, 0, 5], np.float32)])
    assert got["quantdtypecast"].tolist() == [4, 4, 4]


# -- the registry ------------------------------------------------------------------------------------------------------


def test_lowerings_are_for_node_types() -> None:
    assert set(NODES) <= set(NodeType) - {NodeType.NONE}
    assert len(set(NODES)) >= 60


def test_a_second_lowering_is_refused() -> None:
    from pippin.nnrt.nodes.base import node

    NODES.load()
    with pytest.raises(ValueError, match="twice"):
        node(NodeType.ADD_FUSION)(lambda g, p, x: x)


def test_types_are_known_to_numpy() -> None:
    assert {numpy_type(t).name for t in DataType if t} == set(TYPES)
