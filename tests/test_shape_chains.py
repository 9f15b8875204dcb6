"""Shapes that a network computes: they stay integers, fold where they are known, and are right where they are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cases.coreml.control_flow import Net
from pippin.coreml import schema
from pippin.coreml.lower import lower
from pippin.coreml.weights import Weights
from pippin.graph.ir import Graph
from pippin.graph.write import write
from pippin.reference.coreml.interpreter import Interpreter
from pippin.runtime.session import Session


def flatten_by_shape(net: Net) -> None:
    """y = x in the shape [first size, the others' product]"""
    net.op("shape", "getShape", "x")
    net.op("first", "sliceStatic", "shape", **span(0, 1))
    net.op("second", "sliceStatic", "shape", **span(1, 2))
    net.op("third", "sliceStatic", "shape", **span(2, 3))
    net.multiply("rest", "second", "third")
    net.op("target", "concatND", "first", "rest")
    net.op("y", "reshapeDynamic", "x", "target")


def half_of_an_axis(net: Net) -> None:
    """y = x[:, :size // 2]"""
    net.op("shape", "getShape", "x")
    net.constant("two", 2)
    net.op("half", "floorDivBroadcastable", "shape", "two")
    net.constant("begin", 0, 0, 0)
    net.op("second", "sliceStatic", "half", **span(1, 2))
    net.constant("zero", 0)
    net.op("end", "concatND", "zero", "second", "zero")
    net.op(
        "y",
        "sliceDynamic",
        "x",
        "begin",
        "end",
        strides=[1, 1, 1],
        beginMasks=[False, False, False],
        endMasks=[True, False, True],
    )


def seven_inputs(net: Net) -> None:
    """y = x[1, ::2, -1:], every list an input, squeezeMasks a constant"""
    for name, values in {
        "begin": [1, 0, -1],
        "end": [0, 0, 0],
        "strides": [1, 2, 1],
        "begin masks": [0, 1, 0],
        "end masks": [0, 1, 1],
        "squeeze masks": [1, 0, 0],
    }.items():
        net.constant(name, *values)
    net.op("y", "sliceDynamic", "x", "begin", "end", "strides", "begin masks", "end masks", "squeeze masks")


def positions(net: Net) -> None:
    """y = x + 0, 1, 2, … along the last axis"""
    net.op("shape", "getShape", "x")
    net.op("last", "sliceStatic", "shape", **span(-1, 0, open_end=True))
    net.op("range", "rangeDynamic", "last", stepSizeValue=1)
    net.add("y", "x", "range")


def zeros_behind(net: Net) -> None:
    """y = x and as many zeros behind it"""
    net.op("shape", "getShape", "x")
    net.op("zeros", "fillDynamic", "shape")
    net.op("y", "concatND", "x", "zeros", axis=1)


def repeated(net: Net) -> None:
    """y = the middle row, repeated to the shape of x"""
    net.op("shape", "getShape", "x")
    net.op(
        "row",
        "sliceStatic",
        "x",
        beginIds=[0, 1, 0],
        endIds=[0, 2, 0],
        strides=[1, 1, 1],
        beginMasks=[True, False, True],
        endMasks=[True, False, True],
    )
    net.op("y", "broadcastToDynamic", "row", "shape")


def average_by_count(net: Net) -> None:
    """y = x divided by the number of its elements: a division of real numbers"""
    net.op("shape", "getShape", "x")
    net.op("second", "sliceStatic", "shape", **span(1, 2))
    net.op("y", "divideBroadcastable", "x", "second")


def last_by_size(net: Net) -> None:
    """y = x[:, :, size - 2 : size]"""
    net.op("shape", "getShape", "x")
    net.op("last", "sliceStatic", "shape", **span(2, 3))
    net.constant("two", 2)
    net.op("begin", "subtractBroadcastable", "last", "two")
    net.op("y", "sliceBySize", "x", "begin", size=2, axis=-1)


def span(begin: int, end: int, *, open_end: bool = False) -> dict[str, Any]:
    """Parameters of sliceStatic for a vector."""
    return {"beginIds": [begin], "endIds": [end], "strides": [1], "beginMasks": [False], "endMasks": [open_end]}


CHAINS: dict[Callable[[Net], None], set[str]] = {
    flatten_by_shape: {"Reshape"},
    half_of_an_axis: {"Slice"},
    seven_inputs: {"Slice", "Squeeze"},
    positions: {"Add"},
    zeros_behind: {"Concat"},
    repeated: {"Slice", "Expand"},
    average_by_count: {"Div"},
    last_by_size: {"Slice"},
}
"""Network → the operators that are left of it where the shape of the input is known."""


def graph(build: Callable[[Net], None], shape: tuple[int | str, ...]) -> Graph:
    message = schema.message("NeuralNetwork")()
    build(Net(message))
    g, lowerer = lower(message, Weights(), {"x": shape}, rank5=False)
    g.output(g.float(lowerer.blob("y").nd(g)), "y")
    return g.graph


@pytest.mark.parametrize("build", CHAINS, ids=lambda build: build.__name__)
def test_chain(build: Callable[[Net], None]) -> None:
    x = np.random.default_rng(3).standard_normal((2, 6, 4)).astype(np.float32)
    message = schema.message("NeuralNetwork")()
    build(Net(message))
    wanted = Interpreter(message).run({"x": x})["y"]
    for shape in ((2, 6, 4), ("a", "b", "c"), ("a", 6, 4), (2, "b", 4)):
        made = graph(build, shape)
        (answer,) = Session(write(made), threads=1).run({"x": x})
        assert answer.shape == wanted.shape, shape
        np.testing.assert_allclose(answer, wanted, rtol=1e-6, atol=1e-6, err_msg=str(shape))


@pytest.mark.parametrize("build", CHAINS, ids=lambda build: build.__name__)
def test_known_shapes_leave_no_shape_arithmetic(build: Callable[[Net], None]) -> None:
    assert {node.op for node in graph(build, (2, 6, 4)).walk()} == CHAINS[build]


def test_sizes_that_are_known_stay_known_beside_one_that_is_not() -> None:
    made = graph(flatten_by_shape, ("n", 6, 4))
    assert made.outputs[0].shape == ("n", 24)
    assert {node.op for node in made.walk() if node.outputs[0].dtype == np.float32} == {"Reshape"}
