"""Hub graphs as NNRt models: each operator on a device against ONNX Runtime, layouts, what has no node type, parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from pippin.errors import UnsupportedError
from pippin.graph.builder import Builder
from pippin.graph.ir import Graph, Value
from pippin.graph.write import write
from pippin.nnrt.device import Device
from pippin.nnrt.enums import ActivationType, Format, NodeType
from pippin.nnrt.export import export
from pippin.nnrt.export.registry import RULES

DEVICE = Device()
Array = np.ndarray[Any, Any]
Make = Callable[[Builder], Any]


def rng(*dims: int, seed: int = 3) -> Array:
    return np.random.default_rng([seed, *dims]).standard_normal(dims).astype(np.float32)


def built(make: Make) -> Graph:
    g = Builder("graph")
    result = make(g)
    for value in result if isinstance(result, tuple) else (result,):
        g.output(value, f"out{len(g.graph.outputs)}")
    return g.graph


def feeds_of(graph: Graph) -> dict[str, Array]:
    feeds = {}
    for place, value in enumerate(graph.inputs):
        dims = [dim if isinstance(dim, int) else 5 for dim in value.shape]
        array = rng(*dims, seed=place + 1)
        if value.dtype.kind in "iu":
            array = np.random.default_rng(place).integers(0, 2, dims)
        feeds[value.name] = array > 0 if value.dtype.kind == "b" else array.astype(value.dtype)
    return feeds


def expected(graph: Graph, feeds: dict[str, Array]) -> list[Array]:
    session = onnxruntime.InferenceSession(write(graph, inline=None).model.SerializeToString())
    answers: list[Array] = session.run([value.name for value in graph.outputs], feeds)
    return answers


def image(g: Builder, *, last: bool = True, dims: tuple[Any, ...] = (2, 3, 6, 5)) -> Value:
    """An image, behind a pooling of one pixel where it shall have its channels last."""
    x = g.input(f"x{len(g.graph.inputs)}", "float32", dims)
    y: Value = g.MaxPool(x, kernel_shape=[1, 1]) if last else x
    return y


def vector(g: Builder, *dims: Any, dtype: str = "float32") -> Value:
    return g.input(f"v{len(g.graph.inputs)}", dtype, dims or (4, 6))


def weights(g: Builder, *dims: int) -> Value:
    return g.constant(rng(*dims, seed=9), name="w")


def of_image(op: str, g: Builder) -> Any:
    return g.emit(op, image(g))


def of_positive(op: str, g: Builder) -> Any:
    return g.emit(op, g.Add(g.Abs(vector(g)), 0.5))


def folded(op: str, axes: list[int], keep: int, g: Builder) -> Any:
    return g.emit(op, image(g), axes, keepdims=keep)


ONES = np.ones(3, np.float32)
CASES: dict[str, Make] = {
    "Conv": lambda g: g.Conv(image(g), weights(g, 4, 3, 3, 2), weights(g, 4), pads=[1, 0, 2, 1], strides=[2, 1]),
    "Conv, groups, dilations": lambda g: g.Conv(
        image(g, dims=(1, 4, 9, 8)), weights(g, 6, 2, 3, 2), group=2, dilations=[2, 3]
    ),
    "Conv, SAME": lambda g: g.Conv(image(g), weights(g, 4, 3, 3, 2), auto_pad="SAME_UPPER", strides=[2, 2]),
    "Conv, SAME from below": lambda g: g.Conv(image(g), weights(g, 4, 3, 2, 4), auto_pad="SAME_LOWER"),
    "Conv, Relu": lambda g: g.Relu(g.Conv(image(g), weights(g, 4, 3, 1, 1))),
    "Conv, Relu6": lambda g: g.Clip(g.Conv(image(g), weights(g, 4, 3, 1, 1)), 0.0, 6.0),
    "Conv, Relu and a branch": lambda g: (lambda y: (g.Relu(y), g.Neg(y)))(g.Conv(image(g), weights(g, 4, 3, 1, 1))),
    "Conv of a sequence": lambda g: g.Conv(vector(g, 2, 3, 9), weights(g, 4, 3, 3), pads=[1, 2], strides=[2]),
    "Conv, weights handed in": lambda g: g.Conv(image(g), vector(g, 4, 3, 2, 2)),
    "Conv, sizes not known": lambda g: g.Conv(image(g, dims=(1, 3, "h", "w")), weights(g, 4, 3, 3, 3), pads=[1] * 4),
    "ConvTranspose": lambda g: g.ConvTranspose(
        image(g), weights(g, 3, 2, 3, 3), weights(g, 2), strides=[2, 2], pads=[1, 0, 1, 1], output_padding=[1, 0]
    ),
    "ConvTranspose, groups": lambda g: g.ConvTranspose(image(g, dims=(1, 4, 4, 4)), weights(g, 4, 3, 2, 2), group=2),
    "ConvTranspose of a sequence": lambda g: g.ConvTranspose(vector(g, 2, 3, 5), weights(g, 3, 2, 3), strides=[2]),
    "MaxPool": lambda g: g.MaxPool(image(g), kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
    "MaxPool, ceil": lambda g: g.MaxPool(image(g), kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
    "MaxPool of a sequence": lambda g: g.MaxPool(vector(g, 2, 3, 9), kernel_shape=[3]),
    "AveragePool": lambda g: g.AveragePool(image(g), kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    "AveragePool, padding counts": lambda g: g.AveragePool(
        image(g), kernel_shape=[3, 3], pads=[1, 0, 2, 1], count_include_pad=1
    ),
    "LpPool": lambda g: g.LpPool(image(g), kernel_shape=[3, 2], pads=[1, 0, 2, 1], strides=[2, 1], p=2),
    "LpPool of a sequence": lambda g: g.LpPool(vector(g, 2, 3, 9), kernel_shape=[3], p=2),
    "GlobalLpPool": lambda g: g.GlobalLpPool(image(g), p=2),
    "GlobalAveragePool": lambda g: g.GlobalAveragePool(image(g)),
    "GlobalMaxPool, sizes not known": lambda g: g.GlobalMaxPool(image(g, dims=(1, 3, "h", "w"))),
    "GlobalAveragePool of a sequence": lambda g: g.GlobalAveragePool(vector(g, 2, 3, 9)),
    "Resize, nearest": lambda g: g.Resize(
        image(g), None, np.array([1, 1, 2, 3], np.float32), mode="nearest",
        coordinate_transformation_mode="asymmetric", nearest_mode="floor",
    ),
    "Resize, nearest, sizes not known": lambda g: g.Resize(
        image(g, dims=(1, 3, "h", "w")), None, np.array([1, 1, 2, 3], np.float32), mode="nearest",
        coordinate_transformation_mode="asymmetric", nearest_mode="floor",
    ),
    "Resize, linear": lambda g: g.Resize(image(g), None, None, [2, 3, 9, 7], mode="linear"),
    "Resize, linear, corners": lambda g: g.Resize(
        image(g), None, None, [2, 3, 4, 9], mode="linear", coordinate_transformation_mode="align_corners"
    ),
    "Resize, cubic": lambda g: g.Resize(image(g), None, None, [2, 3, 9, 7], mode="cubic", cubic_coeff_a=-0.5),
    "Resize, cubic, exclude_outside": lambda g: g.Resize(
        image(g), None, None, [2, 3, 9, 7], mode="cubic", exclude_outside=1
    ),
    "DepthToSpace": lambda g: g.DepthToSpace(image(g, dims=(1, 8, 3, 2)), blocksize=2),
    "DepthToSpace, CRD": lambda g: g.DepthToSpace(image(g, dims=(1, 8, 3, 2)), blocksize=2, mode="CRD"),
    "SpaceToDepth": lambda g: g.SpaceToDepth(image(g, dims=(1, 3, 4, 6)), blocksize=2),
    "Pad": lambda g: g.Pad(image(g), [0, 1, 2, 0, 0, 0, 1, 3], 0.5),
    "Pad, reflect": lambda g: g.Pad(image(g), [0, 0, 2, 1, 0, 0, 1, 3], mode="reflect"),
    "Pad, edge": lambda g: g.Pad(vector(g), [0, 1, 1, 0], mode="edge"),
    "Pad, a wide edge": lambda g: g.Pad(image(g), [0, 0, 3, 7, 0, 0, 0, 12], mode="edge"),
    "Pad, a wide edge of any axis": lambda g: g.Pad(vector(g), [2, 5, 0, 1], mode="edge"),
    "Pad, axes": lambda g: g.Pad(image(g), [2, 1], None, [2], mode="constant"),
    "Add": lambda g: g.Add(image(g), weights(g, 3, 1, 1)),
    "Add, a scalar": lambda g: g.Add(image(g), 2.0),
    "Add, two images in two layouts": lambda g: g.Relu(g.Add(image(g), image(g, last=False))),
    "Add, a constant image": lambda g: g.Add(weights(g, 1, 3, 6, 5), image(g)),
    "Sub, of rank 3": lambda g: g.Sub(image(g), vector(g, 3, 1, 1)),
    "Mul": lambda g: g.Mul(vector(g), weights(g, 6)),
    "Div": lambda g: g.Div(vector(g), g.Add(g.Abs(vector(g)), 1.0)),
    "Pow": lambda g: g.Pow(g.Abs(vector(g)), 1.5),
    "Mod": lambda g: g.Mod(vector(g), vector(g), fmod=1),
    "Max": lambda g: g.Max(vector(g), weights(g, 6), vector(g)),
    "Min": lambda g: g.Min(image(g), 0.25),
    "Sum": lambda g: g.Sum(vector(g), vector(g), vector(g)),
    "Mean": lambda g: g.Mean(vector(g), vector(g)),
    "And, Or, Xor, Not": lambda g: (
        lambda a, b: g.Xor(g.And(a, b), g.Not(g.Or(a, b)))
    )(vector(g, 4, dtype="bool"), vector(g, 4, dtype="bool")),
    "comparisons": lambda g: (lambda a, b: (
        g.Equal(a, b), g.Greater(a, b), g.GreaterOrEqual(a, b), g.Less(a, b), g.LessOrEqual(a, b)
    ))(vector(g), vector(g)),
    "Where": lambda g: g.Where(g.Greater(image(g), 0.0), image(g), 0.5),
    **{
        op: partial(of_image, op)
        for op in ("Abs", "Ceil", "Floor", "Round", "Cos", "Sin", "Erf", "Neg", "Exp", "Relu", "Sigmoid", "Tanh",
                   "Softplus", "Softsign", "HardSwish", "Sign", "LeakyRelu", "Elu", "Selu", "Gelu", "HardSigmoid",
                   "ThresholdedRelu", "IsNaN", "Identity")
    },
    **{
        op: partial(of_positive, op)
        for op in ("Log", "Sqrt", "Reciprocal")
    },
    "Elu, alpha": lambda g: g.Elu(vector(g), alpha=0.3),
    "Gelu, tanh": lambda g: g.Gelu(vector(g), approximate="tanh"),
    "HardSigmoid, 1/6": lambda g: g.HardSigmoid(vector(g), alpha=1 / 6),
    "Clip": lambda g: g.Clip(image(g), -0.5, 0.75),
    "Clip, from 0": lambda g: g.Clip(vector(g), 0.0),
    "Clip, above": lambda g: g.Clip(vector(g), None, 0.25),
    "Clip, below": lambda g: g.Clip(vector(g), -0.25),
    "Clip to 6": lambda g: g.Clip(g.Mul(vector(g), 9.0), 0.0, 6.0),
    "PRelu": lambda g: g.PRelu(image(g), weights(g, 3, 1, 1)),
    "PRelu, one slope": lambda g: g.PRelu(image(g), g.constant(np.float32([[[0.3]]]))),
    "PRelu, a vector": lambda g: g.PRelu(vector(g), weights(g, 6)),
    "Cast": lambda g: g.Cast(g.Cast(image(g), to=onnx.TensorProto.INT64), to=onnx.TensorProto.FLOAT),
    "Cast to bool": lambda g: g.Cast(vector(g), to=onnx.TensorProto.BOOL),
    "Gemm": lambda g: g.Gemm(vector(g), weights(g, 6, 3), weights(g, 3), alpha=0.5, beta=2.0),
    "Gemm, transB, Relu": lambda g: g.Relu(g.Gemm(vector(g), weights(g, 3, 6), transB=1)),
    "Gemm, one bias": lambda g: g.Gemm(vector(g), weights(g, 6, 3), weights(g, 1)),
    "Gemm, transA": lambda g: g.Gemm(vector(g), vector(g, 4, 3), weights(g, 3), transA=1, alpha=0.5, beta=0.5),
    "MatMul": lambda g: g.Relu(g.MatMul(vector(g, 2, 4, 6), vector(g, 2, 6, 3))),
    "MatMul, constant": lambda g: g.MatMul(vector(g, 2, 4, 6), weights(g, 6, 3)),
    "BatchNormalization": lambda g: g.BatchNormalization(image(g), ONES * 2, ONES, ONES / 3, ONES / 2, epsilon=0.01),
    "BatchNormalization, rank 2": lambda g: g.BatchNormalization(vector(g, 4, 3), ONES * 2, ONES, ONES / 3, ONES),
    "BatchNormalization, rank 3": lambda g: g.BatchNormalization(
        vector(g, 2, 3, 4), ONES * 2, np.float32([1, 2, 3]), ONES / 3, ONES
    ),
    "InstanceNormalization": lambda g: g.InstanceNormalization(image(g), np.float32([1, 2, 3]), ONES),
    "LayerNormalization": lambda g: g.LayerNormalization(vector(g, 2, 4, 6), weights(g, 4, 6), weights(g, 6), axis=1),
    "LayerNormalization, no bias": lambda g: g.LayerNormalization(vector(g, 2, 4, 6), weights(g, 6)),
    "LRN": lambda g: g.LRN(image(g), size=3, alpha=0.3, beta=0.6, bias=2.0),
    "LpNormalization": lambda g: g.LpNormalization(image(g), axis=1),
    "Softmax": lambda g: g.Softmax(image(g), axis=1),
    "LogSoftmax": lambda g: g.LogSoftmax(image(g), axis=-1),
    **{
        f"{op}, {axes}": partial(folded, op, axes, keep)
        for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "ReduceL1",
                   "ReduceL2", "ReduceLogSumExp")
        for axes, keep in (([1], 1), ([2, 3], 0), ([1, 3], 0))
    },
    "ReduceLogSum": lambda g: g.ReduceLogSum(g.Exp(image(g)), [1]),
    "ReduceSum, all": lambda g: g.ReduceSum(vector(g), keepdims=0),
    "ReduceSum, none": lambda g: g.ReduceSum(vector(g), noop_with_empty_axes=1),
    "ArgMax": lambda g: g.Cast(g.ArgMax(image(g), axis=1), to=onnx.TensorProto.FLOAT),
    "ArgMin": lambda g: g.Cast(g.ArgMin(vector(g), axis=1, keepdims=0), to=onnx.TensorProto.FLOAT),
    "TopK": lambda g: g.emit("TopK", vector(g), [2], outputs=2)[0],
    "TopK, least": lambda g: g.emit("TopK", vector(g), [2], outputs=2, axis=0, largest=0)[0],
    "Reshape": lambda g: g.Reshape(image(g), [2, -1]),
    "Reshape of one pixel": lambda g: g.Reshape(image(g, dims=(2, 6, 1, 1)), [2, 2, 3]),
    "Reshape, sizes not known": lambda g: g.Reshape(vector(g, "n", 6), [-1, 2, 3]),
    "Flatten": lambda g: g.Flatten(image(g)),
    "Squeeze": lambda g: g.Squeeze(vector(g, 1, 4, 1), [0, 2]),
    "Squeeze, sizes not known": lambda g: g.Squeeze(vector(g, "a", 1, "b"), [1]),
    "Unsqueeze": lambda g: g.Unsqueeze(vector(g), [0, 3]),
    "Unsqueeze, sizes not known": lambda g: g.Unsqueeze(vector(g, "a", "b"), [1]),
    "Expand": lambda g: g.Expand(vector(g, 4, 1), [2, 4, 6]),
    "Transpose": lambda g: g.Transpose(vector(g, 2, 3, 4), perm=[2, 0, 1]),
    "Transpose of an image": lambda g: g.Transpose(image(g), perm=[0, 2, 3, 1]),
    "Transpose of an image, others": lambda g: g.Transpose(image(g), perm=[3, 1, 0, 2]),
    "Transpose to an image": lambda g: g.Conv(
        g.Transpose(vector(g, 1, 6, 5, 3), perm=[0, 3, 1, 2]), weights(g, 4, 3, 2, 2)
    ),
    "Shape": lambda g: g.Cast(g.Shape(image(g, dims=(1, 3, "h", "w")), start=2), to=onnx.TensorProto.FLOAT),
    "Concat": lambda g: g.Concat(image(g), image(g, last=False), axis=1),
    "Split": lambda g: g.emit("Split", image(g), [1, 2], outputs=2, axis=1),
    "Slice": lambda g: g.Slice(image(g), [1, -4], [3, 9], [1, 2]),
    "Slice, steps": lambda g: g.Slice(image(g), [0, 5], [5, 0], [3, 2], [2, -2]),
    "Slice, backwards to the start": lambda g: g.Slice(vector(g), [-1], [-9], [1], [-1]),
    "Tile": lambda g: g.Tile(vector(g), [2, 3]),
    "Gather": lambda g: g.Gather(vector(g), np.array([[1, -1], [0, 2]]), axis=1),
    "Gather, indices handed in": lambda g: g.Gather(weights(g, 5, 3), vector(g, 4, dtype="int64")),
    "GatherND": lambda g: g.GatherND(vector(g), np.array([[1, 2], [0, 5]])),
    "ScatterND": lambda g: g.ScatterND(np.zeros((5, 3), np.float32), np.array([[3], [0]]), vector(g, 2, 3)),
    "OneHot, from the end": lambda g: g.OneHot(
        g.Sub(vector(g, 4, dtype="int64"), g.constant(np.array([1, 2, 4, 5]))), np.array([3]), np.float32([-1, 2])
    ),
    "OneHot, constants from the end": lambda g: g.Add(
        g.input("shift", "float32", (5, 3)),
        g.OneHot(g.constant(np.array([0, -1, -3, 3, -4])), np.array([3]), np.float32([-1, 2])),
    ),
    "OneHot": lambda g: g.OneHot(vector(g, 4, dtype="int64"), np.array([3]), np.float32([-1, 2]), axis=0),
    "ConstantOfShape": lambda g: g.Add(vector(g), g.ConstantOfShape([4, 6], value=np.float32([2.5]))),
    "NonZero": lambda g: g.Cast(g.NonZero(vector(g, 3, 2, dtype="bool")), to=onnx.TensorProto.FLOAT),
    "LSTM": lambda g: g.LSTM(vector(g, 4, 2, 3), weights(g, 1, 20, 3), weights(g, 1, 20, 5), outputs=3, hidden_size=5),
    "LSTM, bidirectional": lambda g: g.LSTM(
        vector(g, 4, 2, 3), weights(g, 2, 20, 3), weights(g, 2, 20, 5), weights(g, 2, 40), None,
        vector(g, 2, 2, 5), vector(g, 2, 2, 5), outputs=3, hidden_size=5, direction="bidirectional",
    ),
    "LSTM, reverse": lambda g: g.LSTM(
        vector(g, 4, 2, 3), weights(g, 1, 20, 3), weights(g, 1, 20, 5), outputs=3, hidden_size=5, direction="reverse"
    ),
}  # fmt: skip


def check(make: Make, layout: Any) -> None:
    graph = built(make)
    feeds = feeds_of(graph)
    exported = export(graph, layout=layout)
    model = exported.require()
    given = {name: array.transpose(0, 2, 3, 1) if exported.inputs[name] else array for name, array in feeds.items()}
    found = DEVICE.prepare(model).predict(given)
    assert list(found) == [value.name for value in graph.outputs]
    for (name, answer), want in zip(found.items(), expected(graph, feeds), strict=True):
        back = answer.transpose(0, 3, 1, 2) if exported.outputs[name] else answer
        assert back.shape == want.shape
        np.testing.assert_allclose(back.astype(np.float64), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("name", CASES)
def test_operator(name: str, layout: str) -> None:
    check(CASES[name], layout)


def test_every_rule_has_a_case() -> None:
    tried = set()
    for make in CASES.values():
        tried |= {node.op for node in built(make).nodes}
    known = {"Dropout", "Range"}  # one is Identity by another name, the other is made of constants alone
    assert set(RULES) - tried == known


MISSING: dict[str, tuple[Make, str]] = {
    "no node type": (lambda g: g.CumSum(vector(g), np.array(1)), "no node type"),
    "three spatial dims": (lambda g: g.Conv(vector(g, 1, 2, 4, 4, 4), weights(g, 3, 2, 2, 2, 2)), "2 spatial dims"),
    "pads below 0": (lambda g: g.Pad(vector(g), [0, -1, 0, 0]), "below 0"),
    "wrap": (lambda g: g.Pad(vector(g), [0, 1, 0, 0], mode="wrap"), "wrap"),
    "a norm of another order": (lambda g: g.LpPool(image(g), kernel_shape=[2, 2], p=3), "order 3"),
    "dilated pooling": (lambda g: g.MaxPool(image(g), kernel_shape=[2, 2], dilations=[2, 2]), "dilated"),
    "an even window": (lambda g: g.LRN(image(g), size=2), "middle"),
    "peepholes": (
        lambda g: g.LSTM(
            vector(g, 4, 2, 3), weights(g, 1, 20, 3), weights(g, 1, 20, 5), None, None, None, None, weights(g, 1, 15),
            outputs=3, hidden_size=5,
        )[0],
        "peepholes",
    ),
    "added to": (
        lambda g: g.ScatterND(vector(g, 5), np.array([[1]]), vector(g, 1), reduction="add"), "into zeros"
    ),
    "a scale in between": (
        lambda g: g.Resize(image(g), None, np.array([1, 1, 1.3, 1], np.float32), mode="linear"), "whole number"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSING)
def test_missing(name: str) -> None:
    make, text = MISSING[name]
    exported = export(built(lambda g: g.Neg(g.Abs(make(g)))))
    assert exported.model is None
    assert len(exported.missing) == 1
    assert text in exported.missing[0].reason
    with pytest.raises(UnsupportedError, match=text):
        exported.require()


def test_every_gap_is_told() -> None:
    def make(g: Builder) -> Any:
        x = vector(g)
        with g.scope("first", "layer 'first' (cumSum)"):
            y = g.CumSum(x, np.array(1))
        with g.scope("second", "layer 'second' (cumSum)"):
            return g.CumSum(g.Relu(y), np.array(0))

    gaps = export(built(make)).missing
    assert [(gap.where, gap.op) for gap in gaps] == [
        ("layer 'first' (cumSum)", "CumSum"),
        ("layer 'second' (cumSum)", "CumSum"),
    ]


def test_parts() -> None:
    def make(g: Builder) -> Any:
        x = vector(g)
        side = g.Abs(x)
        y = g.Relu(g.CumSum(g.Neg(x), np.array(1)))
        return g.Add(y, side)

    parts = export(built(make)).parts
    assert [(part.device, part.operators) for part in parts] == [(True, 2), (False, 1), (True, 2)]
    assert parts[0].inputs == ["v0"]
    assert parts[0].outputs == ["Abs", "Neg"]
    assert parts[1].inputs == ["Neg"]
    assert parts[2].inputs == ["CumSum", "Abs"]
    assert parts[2].outputs == ["out0"]


def test_activations_end_other_nodes() -> None:
    def make(g: Builder) -> Any:
        y = g.Relu(g.Conv(image(g, last=False), weights(g, 4, 3, 1, 1)))
        return g.Clip(g.Gemm(g.Flatten(y), weights(g, 120, 3)), 0.0, 6.0)

    model = export(built(make)).require()
    kinds = [NodeType(node.nodeType) for node in model.nodes]
    assert kinds == [NodeType.TRANSPOSE, NodeType.CONV2D_FUSION, NodeType.TRANSPOSE, NodeType.RESHAPE,
                     NodeType.FULL_CONNECTION]  # fmt: skip
    assert ActivationType.RELU in model.nodes[1].nodeAttr[-16:]
    assert model.allTensors[model.inputIndex[0]].format == Format.NCHW


def test_no_detours_between_images() -> None:
    def make(g: Builder) -> Any:
        y = g.Relu(g.Conv(image(g, last=False), weights(g, 4, 3, 1, 1)))
        y = g.Concat(g.Sigmoid(g.Mul(y, weights(g, 4, 1, 1))), g.Softmax(y, axis=1), axis=1)
        return g.MaxPool(y, kernel_shape=[2, 2])

    model = export(built(make), layout="nhwc").require()
    assert NodeType.TRANSPOSE not in {node.nodeType for node in model.nodes}


def test_outputs_that_are_inputs_or_each_other() -> None:
    def make(g: Builder) -> Any:
        x = vector(g)
        y = g.Relu(x)
        return y, g.Identity(y), x, g.constant(rng(3, 3), name="table")

    check(make, "nchw")


def test_models_that_no_device_takes() -> None:
    empty = export(built(lambda g: g.Relu(g.input("x", "float32", (0, 3)))))
    assert [str(gap) for gap in empty.missing] == ["input 'x': input: a dim must be positive, got [0, 3]"]
    without = export(built(lambda g: g.RandomNormal(shape=[2])))
    assert str(without.missing[0]) == "model: inputs: a model has at least one"
    assert without.model is None


def test_dropout() -> None:
    for training, reasons in ((True, ["numbers that are drawn by chance cannot be had"]), (False, [])):
        graph = built(lambda g, mode=training: g.Dropout(vector(g), np.float32(0.5), np.array(mode), outputs=1))
        assert [gap.reason for gap in export(graph).missing] == reasons


def test_element_types_that_there_are_not() -> None:
    exported = export(built(lambda g: g.Cast(vector(g), to=onnx.TensorProto.FLOAT8E5M2)))
    assert [gap.reason for gap in exported.missing] == ["there is no element type float8_e5m2"]


def test_numbers_of_64_bits_become_32() -> None:
    model = export(built(lambda g: g.Gather(weights(g, 5, 3), vector(g, 4, dtype="int64")))).require()
    assert all(tensor.dataType != 35 for tensor in model.allTensors)
