"""Derivatives of every operator with a rule, against central differences of ONNX's reference evaluator in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

from pippin.errors import UnsupportedError
from pippin.graph.builder import Builder
from pippin.graph.composites.recurrent import Activation, Cell, lstm, lstm_scan
from pippin.graph.gradient import prune, vjp
from pippin.graph.gradient.engine import NO_DERIVATIVE, RULES
from pippin.graph.ir import Graph, Value
from pippin.graph.write import write
from pippin.runtime.session import Session

TOLERANCE = 1e-4
Make = Callable[..., Any]


@dataclass(frozen=True)
class Row:
    """``make(g, *inputs)`` emits what is differentiated; ``inputs`` are shapes of normal numbers, or arrays.

    ``ops`` are the operators the row shows; ``fixed`` the inputs that have no derivative.
    """

    ops: str
    what: str
    make: Make
    inputs: tuple[Any, ...]
    fixed: tuple[int, ...] = ()
    twin: Make | None = None
    """The same for the reference evaluator, where that lacks an operator."""

    def data(self) -> list[np.ndarray]:
        random = np.random.default_rng(3)
        return [x if isinstance(x, np.ndarray) else random.standard_normal(x).astype(np.float32) for x in self.inputs]


def positive(*shape: int, low: float = 0.3, high: float = 2.0) -> np.ndarray:
    return np.random.default_rng(7).uniform(low, high, shape).astype(np.float32)


def apart(*shape: int) -> np.ndarray:
    """Numbers of which no two are near each other, so that differences do not change which one is largest."""
    count = int(np.prod(shape))
    return (np.random.default_rng(5).permutation(count).reshape(shape) * 0.1 - count * 0.05 + 0.013).astype(np.float32)


def unary(op: str, x: Any = (3, 4), **attributes: Any) -> Row:
    return Row(op, str(attributes or ""), lambda g, x: g.emit(op, x, **attributes), (x,))


ELEMENTWISE = [
    *(unary(op) for op in ("Abs", "Neg", "Exp", "Sin", "Cos", "Tanh", "Sinh", "Cosh", "Asinh", "Atan", "Erf")),
    *(unary(op) for op in ("Sigmoid", "Softplus", "Softsign", "Relu", "Identity")),
    *(unary(op, positive(3, 4)) for op in ("Sqrt", "Log", "Reciprocal")),
    *(unary(op, positive(3, 4, low=-0.8, high=0.8)) for op in ("Tan", "Asin", "Acos", "Atanh")),
    unary("Acosh", positive(3, 4, low=1.2)),
    unary("LeakyRelu", alpha=0.2),
    unary("Elu", alpha=0.7),
    unary("HardSigmoid", apart(3, 4), alpha=0.3, beta=0.4),
    unary("Gelu", approximate="none"),
    unary("Gelu", approximate="tanh"),
    unary("Cast", to=1),
    Row("PRelu", "a slope a channel", lambda g, x, s: g.PRelu(x, s), ((2, 3, 4), (3, 1))),
    Row("Clip", "both bounds", lambda g, x: g.Clip(x, -0.5, 0.6), ((3, 4),)),
    Row("Clip", "one bound", lambda g, x: g.Clip(x, None, 0.2), ((3, 4),)),
    Row("Add", "broadcast both", lambda g, a, b: g.Add(a, b), ((2, 1, 4), (3, 1))),
    Row("Add", "of itself", lambda g, a: g.Add(a, a), ((2, 3),)),
    Row("Sub", "broadcast", lambda g, a, b: g.Sub(a, b), ((4,), (2, 3, 4))),
    Row("Mul", "broadcast", lambda g, a, b: g.Mul(a, b), ((2, 3, 4), (3, 1))),
    Row("Mul", "square", lambda g, a: g.Mul(a, a), ((2, 3),)),
    Row("Div", "broadcast", lambda g, a, b: g.Div(a, b), ((2, 3), positive(2, 1))),
    Row("Pow", "both", lambda g, a, b: g.Pow(a, b), (positive(2, 3), (3,))),
    Row("Pow", "constant, negative base", lambda g, a: g.Pow(a, 3.0), ((2, 3),)),
    Row("Mod", "", lambda g, a, b: g.Mod(a, b, fmod=1), (apart(2, 3), positive(3, low=0.7))),
    Row("Max", "three", lambda g, a, b, c: g.Max(a, b, c), (apart(2, 3), (3,), (2, 1))),
    Row("Min", "", lambda g, a, b: g.Min(a, b), (apart(2, 3), (3,))),
    Row("Sum", "three", lambda g, a, b, c: g.Sum(a, b, c), ((2, 3), (3,), (2, 1))),
    Row("Mean", "three", lambda g, a, b, c: g.Mean(a, b, c), ((2, 3), (3,), (2, 1))),
    Row("Where", "broadcast", lambda g, a, b: g.Where(np.array([True, False, True]), a, b), ((2, 3), (1, 3))),
]

LINEAR = [
    Row("MatMul", "matrices", lambda g, a, b: g.MatMul(a, b), ((3, 4), (4, 2))),
    Row("MatMul", "stack by matrix", lambda g, a, b: g.MatMul(a, b), ((2, 5, 3, 4), (4, 2))),
    Row("MatMul", "stacks that broadcast", lambda g, a, b: g.MatMul(a, b), ((5, 1, 3, 4), (2, 4, 2))),
    Row("MatMul", "vectors", lambda g, a, b: g.MatMul(a, b), ((4,), (4,))),
    Row("MatMul", "vector by matrix", lambda g, a, b: g.MatMul(a, b), ((4,), (4, 3))),
    Row("MatMul", "stack by vector", lambda g, a, b: g.MatMul(a, b), ((2, 3, 4), (4,))),
    *(
        Row(
            "Gemm",
            f"transposed {ta}{tb}",
            lambda g, a, b, c, ta=ta, tb=tb: g.Gemm(a, b, c, alpha=0.7, beta=1.3, transA=ta, transB=tb),
            ((4, 3) if ta else (3, 4), (5, 4) if tb else (4, 5), (5,)),
        )
        for ta in (0, 1)
        for tb in (0, 1)
    ),
]


def conv(
    what: str, x: Sequence[int], w: Sequence[int], *, bias: bool = True, op: str = "Conv", **attributes: Any
) -> Row:
    out = w[0] if op == "Conv" else w[1] * attributes.get("group", 1)
    inputs: tuple[Any, ...] = (tuple(x), tuple(w), (out,)) if bias else (tuple(x), tuple(w))
    return Row(op, what, lambda g, *v: g.emit(op, *v, **attributes), inputs)


def two_groups(g: Builder, x: Value, w: Value, **how: Any) -> Any:
    xs, ws = g.Split(x, axis=1, num_outputs=2, outputs=2), g.Split(w, axis=0, num_outputs=2, outputs=2)
    return g.Concat(*(g.ConvTranspose(a, b, **how) for a, b in zip(xs, ws, strict=True)), axis=1)


CONVOLUTIONS = [
    conv("plain", (2, 3, 5, 6), (4, 3, 3, 3), pads=[1, 1, 1, 1]),
    conv("wide", (2, 32, 4, 5), (20, 32, 3, 3), pads=[1, 1, 1, 1], bias=False),
    conv("steps and a rest", (2, 2, 8, 7), (3, 2, 3, 2), strides=[3, 2], pads=[0, 1, 1, 0]),
    conv("dilated", (1, 2, 8, 7), (2, 2, 3, 2), dilations=[2, 3]),
    conv("groups", (2, 4, 5, 5), (6, 2, 3, 3), group=2, pads=[1, 1, 1, 1], strides=[2, 1]),
    conv("a group a channel", (2, 3, 5, 5), (3, 1, 3, 3), group=3),
    conv("1x1", (2, 3, 4, 4), (5, 3, 1, 1)),
    conv("kernel as large as the picture", (2, 3, 6, 6), (4, 3, 6, 6)),
    conv("large kernel, steps", (1, 2, 9, 9), (2, 2, 5, 5), strides=[3, 3], dilations=[2, 2]),
    conv("same", (1, 2, 6, 5), (2, 2, 3, 2), auto_pad="SAME_LOWER", strides=[2, 2]),
    conv("same, more at the end", (1, 2, 6, 5), (2, 2, 3, 2), auto_pad="SAME_UPPER", strides=[2, 2]),
    conv("one axis", (2, 3, 7), (4, 3, 3), strides=[2]),
    conv("three axes", (1, 2, 3, 4, 5), (2, 2, 2, 2, 3), pads=[0, 1, 1, 1, 0, 1], strides=[1, 2, 1]),
    conv("plain", (2, 3, 4, 5), (3, 4, 3, 3), op="ConvTranspose"),
    conv("cropped", (1, 3, 4, 5), (3, 2, 4, 3), op="ConvTranspose", strides=[2, 2], pads=[1, 0, 1, 1]),
    conv("extended", (1, 3, 4, 3), (3, 2, 3, 3), op="ConvTranspose", strides=[2, 3], output_padding=[1, 2]),
    Row(
        "ConvTranspose",
        "groups",
        lambda g, x, w: g.ConvTranspose(x, w, group=2, strides=[2, 1], dilations=[1, 2]),
        ((1, 4, 3, 3), (4, 2, 3, 3)),
        twin=lambda g, x, w: two_groups(g, x, w, strides=[2, 1], dilations=[1, 2]),
    ),
]


def pool(op: str, what: str, shape: Sequence[int] = (2, 2, 6, 5), **attributes: Any) -> Row:
    return Row(op, what, lambda g, x: g.emit(op, x, **attributes), (apart(*shape),))


POOLS = [
    pool("MaxPool", "apart", kernel_shape=[2, 2], strides=[2, 2]),
    pool("MaxPool", "apart with padding", kernel_shape=[2, 2], strides=[3, 2], pads=[1, 0, 0, 1]),
    pool("MaxPool", "overlapping", kernel_shape=[3, 2], strides=[1, 1]),
    pool("MaxPool", "overlapping with padding", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    pool("MaxPool", "same", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
    pool("MaxPool", "one axis", (2, 3, 8), kernel_shape=[2], strides=[2]),
    pool("MaxPool", "three axes", (1, 2, 4, 4, 4), kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
    pool("AveragePool", "apart", kernel_shape=[2, 2], strides=[2, 2]),
    pool("AveragePool", "overlapping", kernel_shape=[3, 2], strides=[2, 1]),
    pool("AveragePool", "padding counts", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1),
    pool("AveragePool", "padding does not count", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 1, 1]),
    pool("AveragePool", "same", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER"),
    pool("LpPool", "", kernel_shape=[2, 3], strides=[2, 1], p=2),
    pool("GlobalMaxPool", ""),
    pool("GlobalAveragePool", ""),
    Row(
        "GlobalLpPool",
        "",
        lambda g, x: g.GlobalLpPool(x, p=2),
        ((2, 3, 4, 4),),
        twin=lambda g, x: g.ReduceL2(x, [2, 3]),
    ),
]

NORMALIZATION = [
    Row("Softmax", "last", lambda g, x: g.Softmax(x, axis=-1), ((2, 5),)),
    Row("Softmax", "channels", lambda g, x: g.Softmax(x, axis=1), ((2, 4, 1, 2),)),
    Row("LogSoftmax", "", lambda g, x: g.LogSoftmax(x, axis=1), ((2, 5),)),
    Row(
        "BatchNormalization",
        "",
        lambda g, x, s, b: g.BatchNormalization(x, s, b, positive(3), positive(3), epsilon=1e-3),
        ((2, 3, 4, 2), (3,), (3,)),
    ),
    Row("InstanceNormalization", "", lambda g, x, s, b: g.InstanceNormalization(x, s, b), ((2, 3, 4, 5), (3,), (3,))),
    Row(
        "LayerNormalization",
        "two axes",
        lambda g, x, s, b: g.LayerNormalization(x, s, b, axis=1),
        ((2, 3, 4), (3, 4), (3, 4)),
    ),
    Row("LpNormalization", "", lambda g, x: g.LpNormalization(x, axis=1, p=2), ((2, 4, 3),)),
    Row(
        "LRN", "", lambda g, x: g.LRN(x, size=3, alpha=0.4, beta=0.75, bias=1.2), ((5, 5, 2, 3),)
    ),  # its evaluator looks at as many channels as there are pictures
]


def reduction(op: str, x: Any, axes: Any = (1,), **attributes: Any) -> Row:
    return Row(
        op, f"{axes} {attributes}", lambda g, x: g.emit(op, x, None if axes is None else list(axes), **attributes), (x,)
    )


REDUCTIONS = [
    *(reduction(f"Reduce{op}", (2, 3, 4)) for op in ("Sum", "Mean", "SumSquare", "L1", "L2", "LogSumExp")),
    *(reduction(f"Reduce{op}", (2, 3, 4), (0, -1), keepdims=0) for op in ("Sum", "Mean", "SumSquare", "L2")),
    *(reduction(f"Reduce{op}", apart(2, 3, 4)) for op in ("Max", "Min")),
    reduction("ReduceMax", apart(2, 3, 4), None, keepdims=0),
    reduction("ReduceLogSum", positive(2, 3, 4)),
    reduction("ReduceProd", positive(2, 3, 4), (1, 2)),
    reduction("ReduceProd", np.array([[0, 2, 3], [0, 0, 3], [1, 2, 3]], np.float32), keepdims=0),
]

INDEX = np.array([[0, 2], [2, -1]])
MOVEMENT = [
    Row("Reshape", "", lambda g, x: g.Reshape(x, [4, 6]), ((2, 3, 4),)),
    Row("Flatten", "", lambda g, x: g.Flatten(x, axis=2), ((2, 3, 4),)),
    Row("Squeeze", "", lambda g, x: g.Squeeze(x, [1]), ((2, 1, 4),)),
    Row("Unsqueeze", "", lambda g, x: g.Unsqueeze(x, [1, 3]), ((2, 4),)),
    Row("Transpose", "", lambda g, x: g.Transpose(x, perm=[2, 0, 1]), ((2, 3, 4),)),
    Row("Transpose", "reversed", lambda g, x: g.Transpose(x), ((2, 3, 4),)),
    Row("Expand", "", lambda g, x: g.Expand(x, [2, 3, 4]), ((3, 1),)),
    Row("Tile", "", lambda g, x: g.Tile(x, [2, 1, 3]), ((2, 3, 2),)),
    Row("Concat", "", lambda g, a, b: g.Concat(a, b, a, axis=-1), ((2, 3), (2, 1))),
    Row("Split", "a part unused", lambda g, x: g.Split(x, [1, 2, 1], axis=1, outputs=3)[1], ((2, 4),)),
    Row("Slice", "steps", lambda g, x: g.Slice(x, [1, 0], [9, 5], [0, 2], [2, 3]), ((6, 2, 7),)),
    Row("Slice", "backwards", lambda g, x: g.Slice(x, [-1, -2], [-9, 0], [0, 1], [-2, -1]), ((5, 4),)),
    Row(
        "Slice",
        "ends known later",
        lambda g, x, n: g.Slice(x, [1], g.cast(n, np.int64), [0]),
        ((5, 2), np.array([3.0], np.float32)),
        (1,),
    ),
    Row(
        "Pad",
        "constant, crop too",
        lambda g, x, v: g.Pad(x, [1, -1, 0, 2], v),
        ((3, 4), np.array(0.3, np.float32)),
        twin=lambda g, x, v: g.Pad(g.Slice(x, [1], [9], [1]), [1, 0, 0, 2], v),
    ),
    Row("Pad", "some axes", lambda g, x: g.Pad(x, [1, 2], 0.5, [-1]), ((3, 4),)),
    Row("Pad", "reflect", lambda g, x: g.Pad(x, [1, 2, 0, 1], mode="reflect"), ((3, 4),)),
    Row("Pad", "edge", lambda g, x: g.Pad(x, [1, 2, 0, 1], mode="edge"), ((3, 4),)),
    Row("Gather", "repeated", lambda g, x: g.Gather(x, INDEX, axis=1), ((2, 3, 2),)),
    Row("GatherElements", "", lambda g, x: g.GatherElements(x, INDEX, axis=1), ((2, 3),)),
    Row("GatherND", "", lambda g, x: g.GatherND(x, INDEX), ((3, 3, 2),)),
    Row("GatherND", "a batch", lambda g, x: g.GatherND(x, INDEX[..., None], batch_dims=1), ((2, 3, 2),)),
    Row("ScatterElements", "", lambda g, x, u: g.ScatterElements(x, np.array([[0, 2]]), u, axis=1), ((2, 3), (1, 2))),
    Row(
        "ScatterElements",
        "add",
        lambda g, x, u: g.ScatterElements(x, INDEX, u, axis=1, reduction="add"),
        ((2, 3), (2, 2)),
    ),
    Row("ScatterND", "", lambda g, x, u: g.ScatterND(x, np.array([[2], [0]]), u), ((3, 2), (2, 2))),
    Row("TopK", "", lambda g, x: g.TopK(x, [2], axis=1)[0], (apart(3, 4),)),
    Row("CumSum", "", lambda g, x: g.CumSum(x, np.int64(1)), ((2, 4),)),
    Row("CumSum", "exclusive, reverse", lambda g, x: g.CumSum(x, np.int64(0), exclusive=1, reverse=1), ((4, 2),)),
    Row("Trilu", "", lambda g, x: g.Trilu(x, np.int64(1), upper=0), ((4, 4),)),
    Row(
        "ReverseSequence",
        "",
        lambda g, x: g.ReverseSequence(x, np.array([3, 1]), batch_axis=1, time_axis=0),
        ((4, 2, 2),),
    ),
    Row("SpaceToDepth", "", lambda g, x: g.SpaceToDepth(x, blocksize=2), ((1, 2, 4, 6),)),
    Row("DepthToSpace", "DCR", lambda g, x: g.DepthToSpace(x, blocksize=2, mode="DCR"), ((1, 8, 2, 3),)),
    Row("DepthToSpace", "CRD", lambda g, x: g.DepthToSpace(x, blocksize=2, mode="CRD"), ((1, 8, 2, 3),)),
    Row(
        "Resize",
        "nearest",
        lambda g, x: g.Resize(x, None, np.array([1, 1, 2, 3], np.float32), mode="nearest"),
        ((1, 2, 3, 2),),
    ),
    Row(
        "Resize",
        "linear",
        lambda g, x: g.Resize(
            x, None, None, [2, 2, 7, 5], mode="linear", coordinate_transformation_mode="align_corners"
        ),
        ((2, 2, 3, 4),),
    ),
    Row(
        "Resize",
        "smaller, some axes",
        lambda g, x: g.Resize(x, None, None, [3, 4], axes=[2, 3], mode="linear"),
        ((1, 2, 5, 6),),
    ),
]

TANH = [Activation("Sigmoid"), Activation("Tanh"), Activation("Tanh")]
OTHER = [Activation("HardSigmoid", 0.2, 0.5), Activation("ScaledTanh", 1.2, 0.6), Activation("Affine", 0.8, 0.1)]


def recurrent(op: str, what: str, gates: int, directions: int = 1, **attributes: Any) -> Row:
    """T 3, B 2, I 3, H 2; both biases and the initial state have gradients."""

    def make(g: Builder, x: Value, w: Value, r: Value, b: Value, h: Value, *c: Value) -> Any:
        return g.emit(op, x, w, r, b, None, h, *c, outputs=3 if op == "LSTM" else 2, hidden_size=2, **attributes)

    d, inputs = directions, [(3, 2, 3)]
    inputs += [(d, 2 * gates, 3), (d, 2 * gates, 2), (d, 4 * gates), (d, 2, 2)]
    if op == "LSTM":
        inputs.append((d, 2, 2))
    return Row(op, what, make, tuple(inputs))


def scanned(activations: list[Activation], **how: Any) -> Make:
    def make(g: Builder, x: Value, w: Value, r: Value, b: Value, p: Value, h: Value, c: Value) -> Any:
        options: dict[str, Any] = {"direction": "forward", "coupled": False, "gate_clip": 50.0} | how
        return lstm_scan(g, x, Cell(w, r, b, p), h, c, activations=activations, **options)

    return make


def reversed_lstm(g: Builder, x: Value, w: Value, r: Value, b: Value, p: Value, h: Value, c: Value) -> Any:
    bias = g.Concat(b, np.zeros((1, 8), np.float32), axis=1)
    return g.LSTM(x, w, r, bias, None, h, c, p, outputs=3, hidden_size=2, direction="reverse")


def branches(g: Builder, x: Value, y: Value) -> Any:
    """An If whose branches capture both values."""
    graphs = {}
    for name, function in (("then_branch", g.Mul), ("else_branch", g.Add)):
        inner = g.subgraph(name)
        inner.output(getattr(inner, "Mul" if function is g.Mul else "Add")(x, inner.Tanh(y)))
        graphs[name] = inner.graph
    condition = g.Greater(g.ReduceSum(x, None, keepdims=0), 0.0)
    return g.append("If", [condition], graphs, [(x.dtype, x.shape)])


def clipped_lstm(g: Builder, x: Value, c: Value) -> Any:
    """An LSTM that decides when it runs whether its cell may be clipped: an If with a Scan in one branch."""
    random = np.random.default_rng(0)
    w, r = (g.constant(random.standard_normal((1, 8, 2)).astype(np.float32)) for _ in range(2))
    return lstm(g, x, Cell(w, r), None, c, activations=TANH, gate_clip=50.0, cell_clip=50.0)


SEQUENCES = ((3, 2, 3), (1, 8, 3), (1, 8, 2), (1, 8), (1, 6), (1, 2, 2), (1, 2, 2))
CONTROL = [
    recurrent("LSTM", "both biases", 4),
    recurrent("LSTM", "both directions", 4, 2, direction="bidirectional"),
    recurrent("GRU", "", 3),
    recurrent("GRU", "backwards", 3, direction="reverse"),
    recurrent("RNN", "clipped", 1, clip=50.0),
    Row("Scan", "LSTM with peepholes", scanned(TANH), SEQUENCES),
    Row("Scan", "LSTM backwards", scanned(TANH, direction="reverse"), SEQUENCES, twin=reversed_lstm),
    Row("Scan", "LSTM, other functions, coupled", scanned(OTHER, coupled=True), SEQUENCES),
    Row("If", "first branch", branches, (positive(2, 3), (2, 3))),
    Row("If", "second branch", branches, (-positive(2, 3), (2, 3))),
    Row("If LSTM", "a clip that does not bind", clipped_lstm, ((3, 2, 2), (1, 2, 2))),
]

ROWS = ELEMENTWISE + LINEAR + CONVOLUTIONS + POOLS + NORMALIZATION + REDUCTIONS + MOVEMENT + CONTROL


def built(row: Row, arrays: Sequence[np.ndarray]) -> tuple[Any, list[int]]:
    """A graph with the inputs x0, x1 …, a loss Σ y ⊙ random numbers, and gradients d0, d1 …"""
    g, loss, values = forward(row.make, arrays)
    wrt = [index for index in range(len(values)) if index not in row.fixed]
    gradients = vjp(g, [loss], [g.constant(1.0)], [values[index] for index in wrt])
    g.output(loss, "loss")
    for index, gradient in zip(wrt, gradients, strict=True):
        assert gradient is not None
        assert gradient.shape == values[index].shape
        g.output(gradient, f"d{index}")
    prune(g.graph)
    return g, wrt


def forward(make: Make, arrays: Sequence[np.ndarray]) -> tuple[Builder, Value, list[Value]]:
    """What ``make`` emits, the loss of it, and the inputs."""
    g = Builder()
    values = [g.input(f"x{index}", array.dtype, array.shape) for index, array in enumerate(arrays)]
    with g.scope("row", "layer 'row' (test)"):
        made = make(g, *values)
        random = np.random.default_rng(11)
        parts = []
        for y in made if isinstance(made, tuple) else (made,):
            weights = random.standard_normal(y.shape).astype(np.float32) if y.static else y
            parts.append(g.ReduceSum(g.Mul(y, weights), None, keepdims=0))
    return g, parts[0] if len(parts) == 1 else g.Sum(*parts), values


def doubled(graph: Graph) -> Graph:
    """``graph`` in float64."""
    double = np.dtype(np.float64)
    for value in graph.constants():
        if value.dtype == np.float32:
            assert value.data is not None
            value.data, value.dtype = value.data.astype(double), double
    for node in graph.walk():
        if node.op == "Cast" and node.attributes["to"] == TensorProto.FLOAT:
            node.attributes["to"] = TensorProto.DOUBLE
        for value in node.outputs + [v for inner in node.subgraphs() for v in inner.inputs]:
            value.dtype = double if value.dtype == np.float32 else value.dtype
    for value in graph.inputs:
        value.dtype = double
    return graph


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.ops} {row.what}".strip())
def test_against_differences(row: Row) -> None:
    arrays = row.data()
    g, wrt = built(row, arrays)
    answers = Session(write(g.graph), threads=1).run({f"x{i}": a for i, a in enumerate(arrays)})
    plain, value, _ = forward(row.twin or row.make, arrays)
    plain.output(value, "loss")
    reference = ReferenceEvaluator(write(doubled(plain.graph), inline=None).model)

    def loss(index: int, place: int, step: float) -> float:
        feeds = {f"x{i}": a.astype(np.float64) for i, a in enumerate(arrays)}
        feeds[f"x{index}"].reshape(-1)[place] += step
        feeds = {name: feeds[name] for name in reference.input_names}
        return float(reference.run(None, feeds)[0])

    for index, gradient in zip(wrt, answers[1:], strict=True):
        count = arrays[index].size
        places = range(count) if count <= 40 else np.random.default_rng(1).choice(count, 40, replace=False)
        step = 1e-3
        wanted = np.array([(loss(index, p, step) - loss(index, p, -step)) / (2 * step) for p in places])
        got = gradient.reshape(-1)[list(places)]
        scale = max(np.abs(wanted).max(), 1e-2)
        assert np.abs(got - wanted).max() <= TOLERANCE * scale, f"input {index}: {got} against {wanted}"


def test_every_rule_has_a_row() -> None:
    shown = {op for row in ROWS for op in row.ops.split()}
    assert set(RULES) <= shown, sorted(set(RULES) - shown)
    assert not set(RULES) & (set(NO_DERIVATIVE) - {"Cast"})


def layered(*layers: Callable[[Builder, Value], Value]) -> None:
    g = Builder()
    x = value = g.input("x", np.float32, (2, 3))
    for index, layer in enumerate(layers):
        with g.scope(f"layer{index}", f"layer 'number {index}' (kind)"):
            value = layer(g, value)
    vjp(g, [value], [g.expand(g.constant(1.0), value.shape)], [x])


@pytest.mark.parametrize("op", ["Floor", "Ceil", "Round", "Sign"])
def test_a_layer_without_a_derivative_is_named(op: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"layer 'number 1' \(kind\): no gradient flows through {op}") as caught:
        layered(lambda g, x: g.Tanh(x), lambda g, x: g.emit(op, x), lambda g, x: g.Mul(x, 2.0))
    assert "choose layers" in caught.value.hint


def test_whole_numbers_and_truths_are_named_too() -> None:
    with pytest.raises(UnsupportedError, match=r"number 0.*ArgMax"):
        layered(lambda g, x: g.ArgMax(x, axis=1), lambda g, x: g.Mul(g.cast(x, np.float32), 2.0))
    with pytest.raises(UnsupportedError, match=r"number 0.*Greater"):
        layered(lambda g, x: g.Greater(x, 0.0), lambda g, x: g.cast(x, np.float32))


def test_a_step_inside_of_a_layer_has_the_derivative_0() -> None:
    layered(lambda g, x: g.Sub(x, g.Floor(x)), lambda g, x: g.Mul(x, 2.0))


def test_an_operator_without_a_rule_is_named() -> None:
    with pytest.raises(UnsupportedError, match=r"number 0.*no gradient flows through Det: no rule"):
        layered(lambda g, x: g.Det(g.Slice(x, [0], [2], [1])))


def test_nothing_flows_where_nothing_depends() -> None:
    g = Builder()
    x, y = (g.input(name, np.float32, (2,)) for name in "xy")
    assert vjp(g, [g.Tanh(x)], [x], [y]) == [None]


def test_only_what_is_asked_for_is_emitted() -> None:
    g = Builder()
    x, w = g.input("x", np.float32, (2, 3)), g.input("w", np.float32, (3, 4))
    y = g.MatMul(x, w)
    before = len(g.graph.nodes)
    vjp(g, [y], [y], [w])
    # a transposed matrix and a product for w, none for x
    assert len(g.graph.nodes) - before == 2


def test_first_of_equal_maxima() -> None:
    g = Builder()
    x = g.input("x", np.float32, (1, 1, 2, 4))
    y = g.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2])
    (dx,) = vjp(g, [y], [g.constant(np.array([[[[3, 5]]]], np.float32))], [x])
    assert dx is not None
    g.output(dx)
    (answer,) = Session(write(g.graph)).run({"x": np.array([[[[1, 1, 0, 2], [1, 1, 2, 2]]]], np.float32)})
    assert answer.tolist() == [[[[3, 0, 0, 5], [0, 0, 0, 0]]]]
