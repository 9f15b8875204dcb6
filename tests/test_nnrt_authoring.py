"""The graph builder: names, dims, constants, quantisation, errors at the faulty call."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from pippin import nnrt
from pippin.errors import CheckError
from pippin.nnrt import GraphBuilder, load_model, save_model
from pippin.nnrt.attributes import Conv2DFusion
from pippin.nnrt.nodes.base import NODES
from pippin.nnrt.types import (
    ActivationType,
    DataType,
    Format,
    NodeType,
    PadMode,
    QuantParam,
    QuantType,
)


def net() -> GraphBuilder:
    """A little classifier."""
    rng = np.random.default_rng(1)
    g = GraphBuilder("net")
    x = g.input("x", [1, 8, 8, 1])
    w = rng.standard_normal((4, 3, 3, 1)).astype(np.float32)
    h = g.Conv2DFusion(x, w, np.zeros(4, np.float32), padMode=PadMode.SAME, activationType=ActivationType.RELU)
    h = g.MaxPoolFusion(h, kernelSize=[2, 2], strides=[2, 2])
    weights = rng.standard_normal((10, 64)).astype(np.float32)
    h = g.FullConnection(h, weights, useAxis=True, axis=1, name="logits")
    g.last = g.Softmax(h, axis=[-1], name="probabilities")
    return g


def test_a_model() -> None:
    g = net()
    model = g.finish(g.last)
    assert [node.name for node in model.nodes] == ["Conv2DFusion:0", "MaxPoolFusion:1", "logits", "probabilities"]
    names = [tensor.name for tensor in model.allTensors]
    assert len(set(names)) == len(names)
    assert [tensor.dims for tensor in model.allTensors if not tensor.is_constant] == [
        [1, 8, 8, 1], [1, 8, 8, 4], [1, 4, 4, 4], [1, 10], [1, 10],
    ]  # fmt: skip
    assert len({tensor.data.fd for tensor in model.allTensors if tensor.is_constant}) == 1
    assert Conv2DFusion.from_bytes(model.nodes[0].nodeAttr).activationType is ActivationType.RELU
    answer = nnrt.devices()[0].prepare(model).predict({"x": np.ones((1, 8, 8, 1))})
    assert next(iter(answer.values())).sum() == pytest.approx(1)


def test_one_file(tmp_path: Path) -> None:
    g = net()
    model = g.finish(g.last, names=["y"])
    save_model(model, tmp_path / "net.nnrt")
    device = nnrt.devices()[0]
    x = np.random.default_rng(2).standard_normal((1, 8, 8, 1)).astype(np.float32)
    want = device.prepare(model).predict([x])["y"]
    assert (device.prepare(load_model(tmp_path / "net.nnrt")).predict([x])["y"] == want).all()


def test_names_are_unique_and_kept() -> None:
    g = GraphBuilder()
    x, y = g.input("x", [2]), g.input("x", [2])
    assert (x.name, y.name) == ("x", "x_1")
    z = g.AddFusion(x, y, name="sum")
    assert z.name == "sum_1" or z.name == "sum"
    model = g.finish(z, names=["total"])
    assert model.allTensors[model.outputIndex[0]].name == "total"


def test_open_dims_stay_open() -> None:
    g = GraphBuilder()
    x = g.input("x", [-1, 3])
    assert g.Unsqueeze(g.AddFusion(x, [1.0, 2.0, 3.0]), axis=[0]).dims == [1, -1, 3]


def test_types_of_constants() -> None:
    g = GraphBuilder()
    assert g.constant([1, 2]).data_type is DataType.INT32
    assert g.constant(1.5).data_type is DataType.FLOAT32
    assert g.constant(True).data_type is DataType.BOOL
    assert g.constant([]).data_type is DataType.INT32
    assert g.constant(np.float64(1)).data_type is DataType.FLOAT64
    assert g.constant([1], "uint8", quant=QuantParam(8, 0, 1.0)).data_type is DataType.UINT8
    assert g.constant(np.zeros((2, 0))).dims == [2, 0]


def test_several_outputs() -> None:
    g = GraphBuilder()
    first, second = g.Split(g.input("x", [4, 6]), axis=1, outputs=2)
    assert (first.dims, second.dims) == ([4, 3], [4, 3])


def test_quantised_outputs() -> None:
    g = GraphBuilder()
    q = QuantParam(8, 0, 0.5)
    x = g.input("x", [2], "uint8", quant=q)
    y = g.AddFusion(x, x, quant=[q])
    assert y.data_type is DataType.UINT8
    assert y.tensor.quantParams == [q]
    z = g.AddFusion(g.input("f", [2]), [1.0, 2.0], quant=q)
    assert z.data_type is DataType.INT8
    model = g.finish(y, z)
    assert [node.quantType for node in model.nodes] == [QuantType.ALL, QuantType.ALL]


def test_formats() -> None:
    g = GraphBuilder()
    assert g.input("x", [1, 3, 4, 4], format=Format.NCHW).tensor.format is Format.NCHW


def test_errors_at_the_call() -> None:
    g = GraphBuilder()
    x = g.input("x", [2, 3])
    with pytest.raises(CheckError, match=r"node 'AddFusion:0' \(AddFusion\): the shapes do not fit"):
        g.AddFusion(x, g.input("y", [4]))
    with pytest.raises(CheckError, match=r"node 'first' \(Softmax\): axis must hold 1"):
        g.Softmax(x, axis=[0, 1], name="first")
    with pytest.raises(CheckError, match="unexpected keyword argument 'axes'"):
        g.Softmax(x, axes=[0])
    with pytest.raises(CheckError, match="activationType must be"):
        g.AddFusion(x, x, activationType="relu")
    with pytest.raises(AttributeError, match=r"near: .*Softmax"):
        g.SoftMax(x)
    with pytest.raises(CheckError, match="no element type"):
        g.input("z", [1], "complex64")
    with pytest.raises(CheckError, match="at least one output"):
        g.finish()
    assert g.AddFusion(x, x).dims == [2, 3]


def test_formats_run_on() -> None:
    g = GraphBuilder()
    x = g.input("x", [1, 3, 4, 5], format=Format.NCHW)
    y = g.MaxPoolFusion(g.Activation(x, activationType=ActivationType.RELU), kernelSize=[2, 2])
    assert (y.dims, y.tensor.format) == ([1, 3, 3, 4], Format.NCHW)
    turned = g.Transpose(y, [0, 2, 3, 1], format=Format.NHWC)
    assert g.SpaceToDepth(turned, blockSize=1).dims == [1, 3, 4, 3]
    assert turned.tensor.format == Format.NHWC


def test_operators_that_no_device_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    g = GraphBuilder()
    x = g.input("x", [2])
    model = g.finish(g.Softmax(g.AddFusion(x, x)))
    NODES.load()
    monkeypatch.delitem(NODES._entries, NodeType.ADD_FUSION)
    answers = nnrt.devices()[0].supported_operations(model)
    assert [bool(answer) for answer in answers] == [False, True]
    assert answers[0].reason == "ADD_FUSION is not supported"
    with pytest.raises(CheckError, match="ADD_FUSION is not supported"):
        GraphBuilder().AddFusion([1.0], [2.0])


def test_many_tensors_without_names() -> None:
    """As many as a large network has, in a time that grows with their number."""
    g = GraphBuilder()
    start = time.process_time()
    names = {g.constant(np.float32(1)).name for _ in range(20_000)}
    assert time.process_time() - start < 8  # 0.5 s; looking for each name from the start on took 20 s
    assert len(names) == 20_000
