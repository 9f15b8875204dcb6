"""ONNX models that others wrote: without ranks, with odd types, sequences, loops without a condition, functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import pippin
from pippin.analysis import compare
from pippin.analysis.profile import profile

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
Info = tuple[str, int, Sequence[Any] | None]


def onnx_file(
    path: Path, nodes: Sequence[Any], inputs: Sequence[Info], outputs: Sequence[Info], constants: Sequence[Any] = (),
    **more: Any,
) -> Path:  # fmt: skip
    infos = [[helper.make_tensor_value_info(*info) for info in side] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, "g", *infos, list(constants))
    opsets = [helper.make_opsetid("", 20), *(helper.make_opsetid(domain, 1) for domain in more.pop("domains", ()))]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9, **more), path)
    return path


def test_ranks_that_are_not_declared(tmp_path: Path) -> None:
    relu = [helper.make_node("Relu", ["x"], ["y"])]
    model = pippin.load(onnx_file(tmp_path / "a.onnx", relu, [("x", FLOAT, None)], [("y", FLOAT, None)]))
    for shape in ((2,), (2, 3)):
        np.testing.assert_array_equal(model.predict({"x": -np.ones(shape)})["y"], np.zeros(shape))


def test_branches_whose_ranks_are_not_declared(tmp_path: Path) -> None:
    bodies = {
        f"{side}_branch": helper.make_graph(
            [helper.make_node(op, ["x"], [side])], side, [], [helper.make_tensor_value_info(side, FLOAT, None)]
        )
        for side, op in (("then", "Relu"), ("else", "Neg"))
    }
    nodes = [helper.make_node("If", ["c"], ["y"], **bodies)]
    path = onnx_file(tmp_path / "a.onnx", nodes, [("c", BOOL, []), ("x", FLOAT, [2])], [("y", FLOAT, None)])
    model = pippin.load(path)
    np.testing.assert_array_equal(model.predict({"c": False, "x": [1, -2]})["y"], [-1, 2])
    np.testing.assert_array_equal(model.predict({"c": True, "x": [1, -2]})["y"], [1, 0])


def test_a_negative_size_is_an_open_one(tmp_path: Path) -> None:
    relu = [helper.make_node("Relu", ["x"], ["y"])]
    path = onnx_file(tmp_path / "a.onnx", relu, [("x", FLOAT, [-1, 3])], [("y", FLOAT, [-1, 3])])
    model = pippin.load(path)
    assert str(model.inputs["x"]) == "float32 array [0, 3], sizes [1 or more, 3]"
    assert model.predict({"x": np.ones((5, 3))})["y"].shape == (5, 3)
    assert compare.compare(model, "reference").ok


@pytest.mark.parametrize(
    ("kind", "value", "limits"),
    [
        (TensorProto.UINT8, [-1, 300], r"0 \.\. 255 \(uint8\), got -1"),
        (TensorProto.INT8, [128.0, 0], r"-128 \.\. 127 \(int8\), got 128"),
        (INT64, [1e30, 0], r"-9223372036854775808 \.\. 9223372036854775807 \(int64\), got 1e\+30"),
    ],
)
def test_whole_numbers_are_not_wrapped_around(tmp_path: Path, kind: int, value: Any, limits: str) -> None:
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    model = pippin.load(onnx_file(tmp_path / "a.onnx", nodes, [("x", kind, [2])], [("y", kind, [2])]))
    with pytest.raises(pippin.InputError, match=f"input 'x': the values must lie in {limits}"):
        model.predict({"x": value})
    assert model.predict({"x": [7, 0]})["y"].tolist() == [7, 0]


@pytest.mark.parametrize("kind", [TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN])
def test_types_that_arrays_do_not_have(tmp_path: Path, kind: int) -> None:
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=FLOAT)]
    path = onnx_file(tmp_path / "a.onnx", nodes, [("x", kind, [2])], [("y", FLOAT, [2])])
    with pytest.raises(pippin.UnsupportedError, match=r"a\.onnx: 'x' is .*float.*, which is not supported"):
        pippin.load(path)


def test_sequences_on_the_way(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
        helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0),
    ]
    model = pippin.load(onnx_file(tmp_path / "a.onnx", nodes, [("x", FLOAT, [2])], [("y", FLOAT, [4])]))
    assert compare.compare(model, "reference").ok


def test_the_reference_runs_loops_without_a_condition(tmp_path: Path) -> None:
    def body(name: str, nodes: list[Any]) -> Any:
        infos = {key: helper.make_tensor_value_info(key, kind, []) for key, kind in ((f"{name}i", INT64), ("go", BOOL))}
        value = helper.make_tensor_value_info(f"{name}a", FLOAT, [2])
        outs = [
            helper.make_tensor_value_info(f"{name}go", BOOL, []),
            helper.make_tensor_value_info(f"{name}b", FLOAT, [2]),
        ]
        same = helper.make_node("Identity", ["go"], [f"{name}go"])
        return helper.make_graph([same, *nodes], name, [*infos.values(), value], outs)

    inner = body("in", [helper.make_node("Add", ["ina", "x"], ["inb"])])
    outer = body("out", [helper.make_node("Loop", ["n", "", "outa"], ["outb"], body=inner)])
    nodes = [helper.make_node("Loop", ["n", "", "x"], ["y"], body=outer)]
    count = numpy_helper.from_array(np.array(3, np.int64), "n")
    path = onnx_file(tmp_path / "a.onnx", nodes, [("x", FLOAT, [2])], [("y", FLOAT, [2])], [count])
    found = compare.compare(pippin.load(path), "reference", {"x": [1, 2]})
    assert found.ok
    assert found.outputs[0].values[1] in (10, 20)


def test_nothing_to_round(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", "x"], ["y"])]
    model = pippin.load(onnx_file(tmp_path / "a.onnx", nodes, [("x", INT64, [2])], [("y", INT64, [2])]))
    with pytest.raises(pippin.UnsupportedError, match="nothing in float32"):
        compare.compare(model, None, precision="float16")


def test_a_profile_of_functions(tmp_path: Path) -> None:
    double = helper.make_function(
        "own", "Double", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 20)]
    )
    nodes = [helper.make_node("Double", ["x"], ["y"], domain="own")]
    path = onnx_file(
        tmp_path / "a.onnx", nodes, [("x", FLOAT, [7])], [("y", FLOAT, [7])], domains=["own"], functions=[double]
    )
    assert profile(pippin.load(path), runs=1, fresh=False).total("flops") == 7


def test_a_profile_where_an_input_is_an_output(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    path = onnx_file(tmp_path / "a.onnx", nodes, [("x", FLOAT, [7])], [("y", FLOAT, [7]), ("x", FLOAT, [7])])
    assert profile(pippin.load(path), runs=1, fresh=False).total("flops") == 7
