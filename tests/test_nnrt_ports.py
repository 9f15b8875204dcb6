"""Plain arrays for prepared models: names that are missing or alike, values that are no numbers, handles on runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from pippin.cli import cli
from pippin.errors import InputError
from pippin.nnrt import save_model
from pippin.nnrt.attributes import AddFusion, SubFusion
from pippin.nnrt.cache import Port
from pippin.nnrt.device import Device
from pippin.nnrt.gate import Call
from pippin.nnrt.ports import arrays, labels
from pippin.nnrt.types import DataType, Format, Model, Node, NodeType, SubGraph, Tensor

DEVICE = Device()


def port(name: str, *dims: int, data_type: DataType = DataType.FLOAT32) -> Port:
    return Port(name, "key", data_type, list(dims), Format.NHWC)


def twins() -> Model:
    """Two inputs and two outputs of one name each: x + x' and x - x'."""
    tensors = [Tensor(name, DataType.FLOAT32, [3], Format.NHWC) for name in ("x", "x", "y", "y")]
    nodes = [
        Node("sum", NodeType.ADD_FUSION, AddFusion().to_bytes(), [0, 1], [2]),
        Node("difference", NodeType.SUB_FUSION, SubFusion().to_bytes(), [0, 1], [3]),
    ]
    return Model("twins", [0, 1], [2, 3], nodes, tensors, [SubGraph("graph", [0, 1], [2, 3], [0, 1])])


def test_labels() -> None:
    assert labels([port("a"), port(""), port("a"), port("a_1"), port("a"), port("1")]) == [
        "a", "1_1", "a_2", "a_1", "a_3", "1",
    ]  # fmt: skip


def test_many_ports_of_one_name() -> None:
    found = labels([port("x")] * 20_000)
    assert found[:2] == ["x", "x_1"]
    assert len(set(found)) == 20_000


def test_ports_of_one_name_lose_nothing(tmp_path: Path) -> None:
    prepared = DEVICE.prepare(twins())
    want = {"y": [5, 7, 9], "y_1": [-3, -3, -3]}
    answer = prepared.predict({"x": [1, 2, 3], "x_1": [4, 5, 6]})
    assert {name: array.tolist() for name, array in answer.items()} == want
    with pytest.raises(InputError, match="x_1"):
        prepared.predict({"x": [1, 2, 3]})
    save_model(twins(), tmp_path / "twins.nnrt")
    words = [str(tmp_path / "twins.nnrt"), "x=1,2,3", "x_1=4,5,6", "--json"]
    for engine in ("onnxruntime", "reference"):
        result = CliRunner().invoke(cli, ["run", *words, "--engine", engine])
        assert json.loads(result.output)["outputs"] == want, result.output


@pytest.mark.skipif(sys.platform != "linux", reason="the NNRt service needs Linux")
def test_ports_of_one_name_in_a_service(tmp_path: Path) -> None:
    from pippin.nnrt.service.client import connect
    from pippin.nnrt.service.server import Server

    with Server(tmp_path / "s"), connect(tmp_path / "s") as device:
        answer = device.prepare(twins()).predict({"x": [1, 2, 3], "x_1": [4, 5, 6]})
    assert {name: array.tolist() for name, array in answer.items()} == {"y": [5, 7, 9], "y_1": [-3, -3, -3]}


@pytest.mark.parametrize(
    "values",
    [["abc"], [[1, "b"]], [[1, [2]]], [np.array([1 + 2j])], [None], [[{}]], [[b"1"]], [], [[1], [2]], {"y": [1]}, {}],
)
def test_what_is_no_array(values: Any) -> None:
    with pytest.raises(InputError):
        arrays([port("x", -1)], values)


def test_arrays_are_converted() -> None:
    (made,) = arrays([port("x", -1, 2)], [np.array([[1, 2]], np.int64)])
    assert made.dtype == np.float32
    with pytest.raises(InputError, match="must have dims"):
        arrays([port("x", -1, 2)], [np.zeros((0, 2))])


def test_times_that_are_none() -> None:
    assert Call(float("inf")).timeout is None
    assert Call(1e12).timeout is None
    with pytest.raises(InputError, match="NaN"):
        Call(float("nan"))
