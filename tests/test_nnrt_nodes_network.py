"""Convolutions, pooling, products and reductions against straight loops and NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nnrt_nodes import Array, brute_conv, floats, refused, run
from pippin.errors import RunError
from pippin.nnrt import attributes as a
from pippin.nnrt.authoring import GraphBuilder
from pippin.nnrt.types import (
    PadMode,
    ReduceMode,
    RoundMode,
)

# -- convolution and pooling -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("open_dims", [False, True])
@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize(
    ("stride", "dilation", "pads"),
    [((1, 1), (1, 1), (0, 0, 0, 0)), ((2, 1), (1, 2), (1, 0, 2, 1)), ((1, 3), (2, 1), (3, 3, 0, 1))],
)
def test_conv(open_dims: bool, group: int, stride: Any, dilation: Any, pads: Any) -> None:
    x, w, bias = floats(2, 7, 8, 4), floats(8, 3, 2, 4 // group), floats(8)
    attributes = a.Conv2DFusion([3, 2], stride, dilation, PadMode.PAD, pads, group)
    got = run(attributes, x, w.tolist(), bias.tolist(), open_dims=open_dims)
    want = brute_conv(x, w, stride, dilation, pads[::2], pads[1::2], group) + bias
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("open_dims", [False, True])
@pytest.mark.parametrize(("size", "kernel", "stride"), [(7, 3, 2), (8, 3, 2), (5, 2, 1), (6, 1, 3)])
def test_conv_same(open_dims: bool, size: int, kernel: int, stride: int) -> None:
    x, w = floats(1, size, size, 2), floats(3, kernel, kernel, 2)
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    begin, end = [total // 2] * 2, [total - total // 2] * 2
    got = run(a.Conv2DFusion([], [stride] * 2, padMode=PadMode.SAME), x, w.tolist(), open_dims=open_dims)
    want = brute_conv(x, w, (stride, stride), (1, 1), begin, end, 1)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_conv_with_weights_that_are_inputs() -> None:
    x, w = floats(1, 5, 5, 2), floats(3, 2, 2, 2)
    got = run(a.Conv2DFusion(padMode=PadMode.VALID), x, w)
    np.testing.assert_allclose(got, brute_conv(x, w, (1, 1), (1, 1), (0, 0), (0, 0), 1), rtol=1e-4, atol=1e-5)


def test_depthwise_with_group_0() -> None:
    x, w = floats(1, 5, 5, 3), floats(3, 2, 2, 1)
    got = run(a.Conv2DFusion(group=0), x, w.tolist())
    np.testing.assert_allclose(got, brute_conv(x, w, (1, 1), (1, 1), (0, 0), (0, 0), 3), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "dims", "text"),
    [
        (a.Conv2DFusion([3, 3]), ([1, 5, 5, 2], [3, 2, 2, 2]), "kernelSize must be"),
        (a.Conv2DFusion(stride=[0, 1]), ([1, 5, 5, 2], [3, 2, 2, 2]), "stride must hold"),
        (a.Conv2DFusion(dilation=[1]), ([1, 5, 5, 2], [3, 2, 2, 2]), "dilation must hold"),
        (a.Conv2DFusion(padList=[1, 1]), ([1, 5, 5, 2], [3, 2, 2, 2]), "padList must hold"),
        (a.Conv2DFusion(padList=[-1, 0, 0, 0]), ([1, 5, 5, 2], [3, 2, 2, 2]), "padList must hold"),
        (a.Conv2DFusion(padMode=7), ([1, 5, 5, 2], [3, 2, 2, 2]), "padMode"),
        (a.Conv2DFusion(group=2), ([1, 5, 5, 2], [3, 2, 2, 2]), "does not fit"),
        (a.Conv2DFusion(), ([1, 5, 5, 2], [3, 2, 2, 2], [4]), "bias must have"),
        (a.Conv2DFusion(), ([5, 5, 2], [3, 2, 2, 2]), "must have 4 dims"),
        (a.Conv2DFusion(), ([1, 5, 5, 2],), "must have 2 to 3 inputs"),
        (a.Conv2DFusion(), ([1, 1, 1, 2], [3, 2, 2, 2]), "fit"),
    ],
)
def test_conv_refusals(attributes: a.Attributes, dims: Any, text: str) -> None:
    refused(attributes, *dims, text=text)


def brute_deconv(x: Array, w: Array, stride: Any, dilation: Any, group: int) -> Array:
    """The full transposed convolution: every input place paints its kernel.  w (I,kH,kW,O/group)."""
    n, height, width, channels = x.shape
    _, kh, kw, part = w.shape
    y = np.zeros(
        (n, (height - 1) * stride[0] + (kh - 1) * dilation[0] + 1,
         (width - 1) * stride[1] + (kw - 1) * dilation[1] + 1, part * group)
    )  # fmt: skip
    for c, i, j, u, v in itertools.product(range(channels), range(height), range(width), range(kh), range(kw)):
        first = c // (channels // group) * part
        row, column = i * stride[0] + u * dilation[0], j * stride[1] + v * dilation[1]
        y[:, row, column, first : first + part] += x[:, i, j, c, None] * w[c, u, v]
    return y


@pytest.mark.parametrize("open_dims", [False, True])
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize(
    ("stride", "dilation", "pads", "more"),
    [((1, 1), (1, 1), (0, 0, 0, 0), (0, 0)), ((2, 3), (1, 2), (1, 0, 2, 1), (1, 2)),
     ((2, 2), (1, 1), (0, 0, 0, 0), (3, 2))],
)  # fmt: skip
def test_transposed_conv(open_dims: bool, group: int, stride: Any, dilation: Any, pads: Any, more: Any) -> None:
    x, w, bias = floats(1, 4, 3, 4), floats(4, 3, 2, 6 // group), floats(6)
    attributes = a.Conv2dTransposeFusion([3, 2], stride, dilation, PadMode.PAD, pads, group, 4, 6, outputPaddings=more)
    got = run(attributes, x, w.tolist(), bias.tolist(), open_dims=open_dims)
    full = np.pad(brute_deconv(x, w, stride, dilation, group), [(0, 0), (0, more[0]), (0, more[1]), (0, 0)])
    want = full[:, pads[0] : full.shape[1] - pads[1], pads[2] : full.shape[2] - pads[3]] + bias
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("group", [1, 2])
def test_transposed_conv_with_the_other_layout(group: int) -> None:
    """Weights (O,kH,kW,I/group) are read where only they fit."""
    x, w = floats(1, 3, 3, 4), floats(6, 2, 2, 4 // group)
    turned = np.zeros((4, 2, 2, 6 // group), np.float32)
    for i, o in itertools.product(range(4), range(6 // group)):
        part = i // (4 // group)
        turned[i, :, :, o] = w[part * (6 // group) + o, :, :, i % (4 // group)]
    attributes = a.Conv2dTransposeFusion([2, 2], [2, 2], group=group, outChannel=6)
    np.testing.assert_allclose(
        run(attributes, x, w.tolist()), brute_deconv(x, turned, (2, 2), (1, 1), group), rtol=1e-4, atol=1e-5
    )
    refused(attributes, [1, 3, 3, 5], [6, 2, 2, 4], text="does not fit")


@pytest.mark.parametrize(("kernel", "stride"), [(3, 2), (2, 2), (1, 2), (4, 3)])
def test_transposed_conv_same(kernel: int, stride: int) -> None:
    x, w = floats(1, 4, 4, 2), floats(2, kernel, kernel, 3)
    got = run(a.Conv2dTransposeFusion([], [stride] * 2, padMode=PadMode.SAME), x, w.tolist())
    assert got.shape == (1, 4 * stride, 4 * stride, 3)
    full = brute_deconv(x, w, (stride, stride), (1, 1), 1)
    skip = max(kernel - stride, 0) // 2
    full = np.pad(full, [(0, 0), (0, stride), (0, stride), (0, 0)])[:, skip:, skip:][:, : 4 * stride, : 4 * stride]
    np.testing.assert_allclose(got, full, rtol=1e-4, atol=1e-5)


def brute_pool(x: Array, kernel: Any, stride: Any, pads: Any, ceil: bool, mean: bool) -> Any:
    _, height, width, _ = x.shape
    rounding = math.ceil if ceil else math.floor
    oh = rounding((height + pads[0] + pads[1] - kernel[0]) / stride[0]) + 1
    ow = rounding((width + pads[2] + pads[3] - kernel[1]) / stride[1]) + 1
    if (oh - 1) * stride[0] >= height + pads[0] or (ow - 1) * stride[1] >= width + pads[2]:
        return None  # a window wholly in the padding
    y = np.zeros((x.shape[0], oh, ow, x.shape[3]))
    for i, j in itertools.product(range(oh), range(ow)):
        top, left = i * stride[0] - pads[0], j * stride[1] - pads[2]
        patch = x[:, max(top, 0) : top + kernel[0], max(left, 0) : left + kernel[1]]
        y[:, i, j] = patch.mean(axis=(1, 2)) if mean else patch.max(axis=(1, 2))
    return y


@pytest.mark.parametrize("cls", [a.MaxPoolFusion, a.AvgPoolFusion])
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize(
    ("kernel", "stride", "pads"),
    [((2, 2), (2, 2), (0, 0, 0, 0)), ((3, 2), (2, 1), (1, 0, 0, 1)), ((2, 3), (1, 2), (1, 1, 2, 2)),
     ((2, 2), (3, 3), (0, 1, 1, 1)), ((5, 5), (4, 4), (2, 4, 0, 4))],
)  # fmt: skip
def test_pools(cls: Any, ceil: bool, kernel: Any, stride: Any, pads: Any) -> None:
    x = floats(2, 7, 8, 3) - 3
    attributes = cls(kernelSize=kernel, strides=stride, pad=pads, roundMode=RoundMode.CEIL if ceil else RoundMode.FLOOR)
    want = brute_pool(x, kernel, stride, pads, ceil, cls is a.AvgPoolFusion)
    if want is None:
        refused(attributes, [2, 7, 8, 3], text="wholly in the padding")
        return
    np.testing.assert_allclose(run(attributes, x), want, rtol=1e-5, atol=1e-6)
    if not ceil:
        np.testing.assert_allclose(run(attributes, x, open_dims=True), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cls", [a.MaxPoolFusion, a.AvgPoolFusion])
def test_pools_with_a_border_as_wide_as_the_window(cls: Any) -> None:
    x = floats(1, 5, 5, 2)
    attributes = cls(kernelSize=[2, 2], strides=[4, 4], pad=[0, 2, 1, 2])
    want = brute_pool(x, (2, 2), (4, 4), (0, 2, 1, 2), False, cls is a.AvgPoolFusion)
    np.testing.assert_allclose(run(attributes, x), want, rtol=1e-5)
    np.testing.assert_allclose(run(attributes, x, open_dims=True), want, rtol=1e-5)


@pytest.mark.parametrize("cls", [a.MaxPoolFusion, a.AvgPoolFusion])
@pytest.mark.parametrize("open_dims", [False, True])
def test_pools_same_and_global(cls: Any, open_dims: bool) -> None:
    x, mean = floats(1, 7, 8, 2), cls is a.AvgPoolFusion
    got = run(cls(kernelSize=[3, 3], strides=[2, 2], padMode=PadMode.SAME), x, open_dims=open_dims)
    np.testing.assert_allclose(got, brute_pool(x, (3, 3), (2, 2), (1, 1, 0, 1), False, mean), rtol=1e-5, atol=1e-6)
    got = run(cls(global_=True), x, open_dims=open_dims)
    want = x.mean(axis=(1, 2), keepdims=True) if mean else x.max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cls", [a.MaxPoolFusion, a.AvgPoolFusion])
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"kernelSize": [2]}, "kernelSize must hold"),
        ({"kernelSize": [2, 2], "strides": [0, 1]}, "strides must hold"),
        ({"kernelSize": [2, 2], "pad": [0, 4, 0, 0]}, "wholly in the padding"),
        ({"kernelSize": [2, 2], "pad": [2, 0, 0, 0]}, "wholly in the padding"),
        ({"kernelSize": [2, 2], "roundMode": 5}, "roundMode"),
    ],
)
def test_pool_refusals(cls: Any, fields: Any, text: str) -> None:
    refused(cls(**fields), [1, 5, 5, 2], text=text)


# -- products, reductions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("fixed", [False, True])
def test_matmul(left: bool, right: bool, fixed: bool) -> None:
    x, y, bias = floats(2, 1, 3, 4), floats(5, 4, 6), floats(6)
    x_in = np.ascontiguousarray(x.swapaxes(-1, -2)) if left else x
    y_in = np.ascontiguousarray(y.swapaxes(-1, -2)) if right else y
    got = run(a.MatMulFusion(left, right), x_in, y_in.tolist() if fixed else y_in, bias)
    np.testing.assert_allclose(got, x @ y + bias, rtol=1e-5, atol=1e-5)


def test_matmul_of_vectors_and_integers() -> None:
    x, y = floats(4), floats(4, 3)
    np.testing.assert_allclose(run(a.MatMulFusion(True), x, y), x @ y, rtol=1e-5)
    np.testing.assert_allclose(run(a.MatMulFusion(False, True), y.T.copy(), x), y.T @ x, rtol=1e-5)
    whole = np.array([[1, 2], [3, 4]], np.int16)
    assert (run(a.MatMulFusion(), whole, whole) == whole @ whole).all()
    refused(a.MatMulFusion(), [2, 3], [4, 5], text="fit")
    refused(a.MatMulFusion(), [], [2], text="a dim at least")


@pytest.mark.parametrize("open_dims", [False, True])
def test_full_connection(open_dims: bool) -> None:
    x, w, bias = floats(2, 3, 4), floats(5, 12), floats(5)
    got = run(a.FullConnection(True, True, 1), x, w.tolist(), bias.tolist(), open_dims=open_dims)
    np.testing.assert_allclose(got, x.reshape(2, 12) @ w.T + bias, rtol=1e-5, atol=1e-5)
    w = floats(5, 4)
    got = run(a.FullConnection(False, True, 2), x, w.tolist(), open_dims=open_dims)
    np.testing.assert_allclose(got, x @ w.T, rtol=1e-5, atol=1e-5)
    got = run(a.FullConnection(), x, w.tolist(), open_dims=open_dims)
    np.testing.assert_allclose(got, x.reshape(6, 4) @ w.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "dims", "text"),
    [
        (a.FullConnection(True), ([2, 4], [5, 4]), "hasBias"),
        (a.FullConnection(False), ([2, 4], [5, 4], [5]), "hasBias"),
        (a.FullConnection(False, True, 0), ([2, 4], [5, 4]), "axis must be"),
        (a.FullConnection(False, True, 1), ([2, 3], [5, 4]), "must hold the weight's"),
        (a.FullConnection(), ([2, 4], [5, 4, 1]), "2 dims"),
    ],
)
def test_full_connection_refusals(attributes: a.Attributes, dims: Any, text: str) -> None:
    refused(attributes, *dims, text=text)


REDUCTIONS: dict[ReduceMode, Callable[..., Array]] = {
    ReduceMode.MEAN: np.mean, ReduceMode.MAX: np.max, ReduceMode.MIN: np.min, ReduceMode.PROD: np.prod,
    ReduceMode.SUM: np.sum, ReduceMode.SUM_SQUARE: lambda x, **k: np.sum(x * x, **k),
    ReduceMode.ASUM: lambda x, **k: np.sum(np.abs(x), **k), ReduceMode.L2: lambda x, **k: np.sqrt(np.sum(x * x, **k)),
}  # fmt: skip


@pytest.mark.parametrize("mode", REDUCTIONS)
@pytest.mark.parametrize("axes", [[1], [-1, 0], []])
@pytest.mark.parametrize("keep", [False, True])
def test_reduce(mode: ReduceMode, axes: list[int], keep: bool) -> None:
    x = floats(2, 3, 4)
    got = run(a.ReduceFusion(keep, mode), x, axes)
    want = REDUCTIONS[mode](x.astype(np.float64), axis=tuple(axes) or None, keepdims=keep)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_reduce_to_the_end_with_a_coefficient() -> None:
    x = floats(2, 3, 4)
    got = run(a.ReduceFusion(True, ReduceMode.SUM, True, 0.5), x, [1])
    np.testing.assert_allclose(got, 0.5 * x.sum(axis=(1, 2)), rtol=1e-5)
    np.testing.assert_allclose(
        run(a.ReduceFusion(False, ReduceMode.SUM, True, 0), x, [1]), x.sum(axis=(1, 2)), rtol=1e-5
    )
    np.testing.assert_allclose(run(a.ReduceFusion(False, ReduceMode.SUM, False, 9), x, [1]), x.sum(axis=1), rtol=1e-5)


def test_reduce_of_integers_and_flags() -> None:
    x = np.array([[7, -8], [1, 1]], np.int32)
    assert run(a.ReduceFusion(False, ReduceMode.MEAN), x, [1]).tolist() == [0, 1]
    assert run(a.ReduceFusion(False, ReduceMode.MEAN), -x, [0]).tolist() == [-4, 3]
    flags = np.array([[True, False], [True, True]])
    assert run(a.ReduceFusion(False, ReduceMode.ALL), flags, [1]).tolist() == [False, True]
    assert run(a.All(1), np.array([[1.0, 0.0]], np.float32), [1]).tolist() == [[False]]


@pytest.mark.parametrize("axes", [[3], [-4], [0, 0], [0, -3]])
def test_reduce_refusals(axes: list[int]) -> None:
    g = GraphBuilder()
    x = g.input("x", [2, 3, 4])
    with pytest.raises(Exception, match="axis"):
        g.ReduceFusion(x, axes)


def test_softmax_and_batch_norm() -> None:
    x = floats(2, 3, 4)
    power = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(run(a.Softmax([-2]), x), power / power.sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(
        run(a.LogSoftmax(1), x), np.log(power / power.sum(axis=1, keepdims=True)), rtol=1e-5, atol=1e-6
    )
    scale, offset, mean, variance = floats(4), floats(4), floats(4), np.abs(floats(4))
    got = run(a.FusedBatchNorm(1e-3), x, *(v.tolist() for v in (scale, offset, mean, variance)))
    np.testing.assert_allclose(got, scale * (x - mean) / np.sqrt(variance + 1e-3) + offset, rtol=1e-4, atol=1e-5)
    refused(a.Softmax([0, 1]), [2, 3], text="axis must hold 1")
    refused(a.Softmax([2]), [2, 3], text="axis must be in")


@pytest.mark.parametrize("cls", [a.MaxPoolFusion, a.AvgPoolFusion])
@pytest.mark.parametrize("mode", [RoundMode.FLOOR, RoundMode.CEIL])
@pytest.mark.parametrize("stride", [1, 2])
def test_windows_larger_than_an_image_of_open_size(cls: Any, mode: RoundMode, stride: int) -> None:
    """One window, or the run fails; never an answer of nothing."""
    node = cls((4, 1), (stride, 1), (), PadMode.VALID, roundMode=mode)
    for height in (1, 2, 3, 4):
        x = -np.arange(1, height + 1, dtype=np.float32).reshape(1, height, 1, 1)
        try:
            got = run(node, x, open_dims=True)
        except RunError:
            assert height < 4
            continue
        assert got.shape == (1, 1, 1, 1)
        assert got.item() == (x.max() if cls is a.MaxPoolFusion else x.mean())
