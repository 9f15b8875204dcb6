"""Models of one node, at least one for every node type; what comes out is asked of the float64 reference.

Inputs are arrays, handed in at run time, or :class:`K`, carried by the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import attributes as a
from ..enums import (
    ActivationType,
    CoordinateTransformMode,
    DataType,
    EltwiseMode,
    Format,
    NodeType,
    PaddingMode,
    PadMode,
    ReduceMode,
    ResizeMethod,
)
from ..types import QuantParam

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass(frozen=True)
class K:
    """An input that the model carries."""

    array: Any


Params = QuantParam | tuple[QuantParam, ...] | None


@dataclass(frozen=True)
class Row:
    """One node and its inputs; ``types`` are those of the outputs, ``quant`` and ``made`` their quantParams.

    Several quantParams of one tensor are a tuple.

    ``vague``: what the outputs hold is not defined, only that the run goes through.
    """

    attributes: a.Attributes
    inputs: tuple[Any, ...]
    note: str = ""
    types: tuple[str, ...] = ("float32",)
    quant: tuple[Params, ...] = ()
    made: Params = None
    format: Format = Format.NHWC
    vague: bool = False

    @property
    def name(self) -> str:
        """The node type, and what is special about the row."""
        kind = NodeType(self.attributes.node_type).name
        return f"{kind}: {self.note}" if self.note else kind

    def arrays(self) -> list[Array]:
        """All inputs."""
        return [np.asarray(item.array if isinstance(item, K) else item) for item in self.inputs]


def params_of(given: Params) -> list[QuantParam]:
    """The quantParams of a tensor as the interface lists them."""
    return [] if given is None else [given] if isinstance(given, QuantParam) else list(given)


def x(*dims: int, low: float = -2, high: float = 2, dtype: Any = np.float32) -> Array:
    """Numbers spread over [low, high], in an order that looks like chance and is the same everywhere."""
    count = int(np.prod(dims))
    places = (np.arange(count) * 7919 + 13) % max(count, 1)
    return (low + (high - low) * (places + 0.5) / max(count, 1)).reshape(dims).astype(dtype)


def i32(*numbers: int) -> Array:
    """Integers in a vector."""
    return np.array(numbers, np.int32)


def scalar(number: Any, dtype: Any = np.int32) -> K:
    """One number without dims, carried by the model."""
    return K(np.array(number, dtype))


FLAGS = np.array([[True, False, True], [False, False, True]])


def rows() -> list[Row]:
    """All rows."""
    return [*elementwise(), *activations(), *arithmetic(), *logic(), *network(), *norms(), *reduction(), *moving(),
            *indexing(), *image(), *quantised()]  # fmt: skip


def elementwise() -> Iterator[Row]:
    """Functions of one tensor."""
    for node in (a.Abs(), a.Ceil(), a.Floor(), a.Cos(), a.Sin(), a.Erf(), a.Neg(), a.Square(), a.LeakyRelu(0.1)):
        yield Row(node, (x(2, 3, 4),))
    for positive in (a.Log(), a.Reciprocal(), a.Rsqrt(), a.Sqrt()):
        yield Row(positive, (x(2, 3, 4, low=0.25, high=4),))
    ties = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.4, -0.6], np.float32)
    yield Row(a.Round(), (ties,), "ties to the even one")
    yield Row(a.ExpFusion(), (x(2, 3, 4),), "base e")
    yield Row(a.ExpFusion(base=2, scale=1.5, shift=0.5), (x(2, 3, 4),), "base 2, scale 1.5, shift 0.5")
    yield Row(a.Clip(max=1, min=-0.5), (x(2, 3, 4),))
    yield Row(a.PReLUFusion(), (x(2, 2, 2, 3), K(x(3))), "a slope a channel")


def activations() -> Iterator[Row]:
    """All functions of the Activation node, and some at the end of an addition."""
    special: dict[ActivationType, dict[str, Any]] = {
        ActivationType.ELU: {"alpha": 0.5},
        ActivationType.LEAKY_RELU: {"alpha": 0.1},
        ActivationType.HARD_TANH: {"minVal": -0.5, "maxVal": 0.75},
        ActivationType.THRESHOLDRELU: {"maxVal": 1.0},
    }
    for kind in ActivationType:
        if kind in (ActivationType.UNKNOWN, ActivationType.NO_ACTIVATION):
            continue
        yield Row(a.Activation(kind, **special.get(kind, {})), (x(2, 3, 4, low=-7, high=7),), kind.name)
    yield Row(a.Activation(ActivationType.GELU, approximate=True), (x(2, 3, 4),), "GELU, approximate")
    for kind in (ActivationType.RELU, ActivationType.RELU6):
        yield Row(a.AddFusion(kind), (x(3, 4, low=-8, high=8), x(3, 4)), f"then {kind.name}")


def arithmetic() -> Iterator[Row]:
    """Functions of two tensors."""
    first, second = x(2, 3, 4), x(3, 1, low=0.5, high=2)
    for node in (
        a.AddFusion(), a.SubFusion(), a.MulFusion(), a.DivFusion(), a.RealDiv(), a.Maximum(), a.Minimum(), a.Mod(),
        a.SquaredDifference(),
    ):  # fmt: skip
        yield Row(node, (first, second), "broadcast")
    yield Row(a.AddFusion(), (x(2, 3), K(x(2, 3, low=0))), "a constant")
    for mode in (EltwiseMode.PROD, EltwiseMode.SUM, EltwiseMode.MAXIMUM):
        yield Row(a.Eltwise(mode), (x(2, 3), x(2, 3, low=-1)), mode.name)
    yield Row(a.PowFusion(scale=0.5, shift=2), (x(2, 3), K(np.float32(3))), "(x/2 + 2)^3")
    yield Row(a.BiasAdd(), (x(2, 2, 2, 3), K(x(3))))
    yield Row(a.ScaleFusion(axis=-1), (x(2, 2, 2, 3), K(x(3)), K(x(3, low=0))))


def logic() -> Iterator[Row]:
    """Comparisons, logic, choices."""
    first, second = np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.array([[1, 3, 2], [4, 0, 7]], np.float32)
    for node in (a.Equal(), a.NotEqual(), a.Greater(), a.GreaterEqual(), a.Less(), a.LessEqual()):
        yield Row(node, (first, second), types=("bool",))
    for both in (a.LogicalAnd(), a.LogicalOr()):
        yield Row(both, (FLAGS, ~FLAGS[::-1]), types=("bool",))
    yield Row(a.LogicalNot(), (FLAGS,), types=("bool",))
    yield Row(a.Select(), (FLAGS, first, second))
    yield Row(a.Where(), (FLAGS, first, second))
    yield Row(a.Assert(), (np.array(True), first), "a condition that holds", vague=True)


def network() -> Iterator[Row]:
    """Convolutions, pooling, products, recurrence."""
    image = x(1, 5, 6, 2)
    for mode in (PadMode.SAME, PadMode.VALID):
        node = a.Conv2DFusion(kernelSize=(3, 3), stride=(2, 2), padMode=mode, inChannel=2, outChannel=4)
        yield Row(node, (image, K(x(4, 3, 3, 2)), K(x(4))), f"{mode.name}, stride 2")
    node = a.Conv2DFusion(kernelSize=(3, 2), dilation=(2, 1), padMode=PadMode.PAD, padList=(1, 2, 0, 1), outChannel=4,
                          activationType=ActivationType.RELU)  # fmt: skip
    yield Row(node, (image, K(x(4, 3, 2, 2)), K(x(4))), "pads, dilation, RELU")
    node = a.Conv2DFusion(kernelSize=(3, 3), padMode=PadMode.SAME, group=2, inChannel=1, outChannel=2)
    yield Row(node, (image, K(x(2, 3, 3, 1)), K(x(2))), "depthwise")
    back = a.Conv2dTransposeFusion(kernelSize=(3, 3), stride=(2, 2), padMode=PadMode.PAD, padList=(1, 1, 1, 1),
                                   inChannel=2, outChannel=3, outputPaddings=(1, 1))  # fmt: skip
    yield Row(back, (image, K(x(2, 3, 3, 3)), K(x(3))))
    for label, mode in (("VALID", PadMode.VALID), ("SAME", PadMode.SAME)):
        yield Row(a.AvgPoolFusion(kernelSize=(2, 2), strides=(2, 2), padMode=mode), (image,), label)
        yield Row(a.MaxPoolFusion(kernelSize=(2, 2), strides=(2, 2), padMode=mode), (image,), label)
    full = a.FullConnection(hasBias=True, useAxis=True, axis=1)
    yield Row(full, (x(2, 3, 2), K(x(4, 6)), K(x(4))), "cut at axis 1")
    yield Row(a.FullConnection(), (x(2, 6), K(x(4, 6))), "without a bias")
    yield Row(a.MatMulFusion(), (x(2, 3, 4), x(2, 4, 5)))
    yield Row(a.MatMulFusion(transposeA=True, transposeB=True), (x(4, 3), K(x(5, 4))), "both transposed")
    time, batch, size, hidden = 3, 2, 4, 3
    state = (1, batch, hidden)
    weights = (K(x(1, 4 * hidden, size)), K(x(1, 4 * hidden, hidden)), K(x(1, 8 * hidden, high=1)))
    lstm = a.LSTM(inputSize=size, hiddenSize=hidden)
    given = (x(time, batch, size), *weights, x(*state), x(*state, low=-1))
    yield Row(lstm, given, types=("float32",) * 3)


def norms() -> Iterator[Row]:
    """Normalisation along axes."""
    image, channel = x(2, 3, 4, 3), x(3, low=0.5, high=2)
    yield Row(a.FusedBatchNorm(epsilon=1e-3), (image, K(channel), K(x(3)), K(x(3, low=-1)), K(channel + 1)))
    yield Row(a.InstanceNorm(epsilon=1e-3), (image.reshape(2, 3, 3, 4), K(channel), K(x(3))), format=Format.NCHW)
    layer = a.LayerNormFusion(beginNormAxis=2, beginParamsAxis=2, epsilon=1e-3)
    yield Row(layer, (x(2, 3, 4), K(x(4, low=0.5)), K(x(4))))
    yield Row(a.L2NormalizeFusion(axis=(-1,), epsilon=1e-6), (x(2, 3, 4),), "the last axis")
    yield Row(a.LRN(depthRadius=1, bias=1, alpha=0.5, beta=0.75), (x(1, 2, 3, 5),))
    yield Row(a.Softmax(axis=(-1,)), (x(2, 3, 4),))
    yield Row(a.LogSoftmax(axis=-1), (x(2, 3, 4),))


def reduction() -> Iterator[Row]:
    """Operators that fold along axes or rank elements."""
    for mode in (
        ReduceMode.MEAN, ReduceMode.MAX, ReduceMode.MIN, ReduceMode.PROD, ReduceMode.SUM, ReduceMode.SUM_SQUARE,
        ReduceMode.ASUM, ReduceMode.L2,
    ):  # fmt: skip
        yield Row(a.ReduceFusion(keepDims=True, mode=mode), (x(2, 3, 4), K(i32(1))), mode.name)
    yield Row(a.ReduceFusion(mode=ReduceMode.SUM), (x(2, 3, 4), K(i32(0, 2))), "two axes, dims dropped")
    yield Row(a.ReduceFusion(mode=ReduceMode.ALL), (FLAGS, K(i32(1))), "ALL", types=("bool",))
    yield Row(a.All(keepDims=0), (FLAGS, K(i32(1))), types=("bool",))
    yield Row(a.ArgMaxFusion(axis=1), (x(2, 5),), types=("int32",))
    yield Row(a.TopKFusion(axis=-1), (x(2, 6), scalar(2)), types=("float32", "int32"))


def moving() -> Iterator[Row]:
    """Operators that change dims and move elements."""
    t = x(2, 3, 4)
    yield Row(a.Reshape(), (t, K(i32(0, -1))))
    yield Row(a.Transpose(), (t, K(i32(2, 0, 1))))
    yield Row(a.Squeeze(axis=(1,)), (x(2, 1, 3),))
    yield Row(a.Unsqueeze(axis=(1,)), (x(2, 3),))
    yield Row(a.ExpandDims(), (x(2, 3), scalar(1)))
    yield Row(a.Flatten(axis=1), (t,))
    yield Row(a.Concat(axis=1), (t, x(2, 2, 4), x(2, 1, 4)))
    yield Row(a.Split(outputNum=2, sizeSplits=(1, 2), axis=1), (t,), types=("float32",) * 2)
    yield Row(a.Stack(axis=1), (x(2, 3), x(2, 3, low=0)))
    yield Row(a.Unstack(axis=1), (x(2, 3),), types=("float32",) * 3)
    yield Row(a.SliceFusion(axes=(0, 1, 2)), (t, K(i32(0, 1, 1)), K(i32(2, 2, 3))))
    yield Row(a.StridedSlice(shrinkAxisMask=1), (t, K(i32(1, 0, 3)), K(i32(2, 3, 0)), K(i32(1, 2, -2))))
    yield Row(a.Crop(axis=1, offset=(1, 0)), (t, K(x(2, 2, 3))))
    yield Row(a.TileFusion(dims=(0, 1)), (x(2, 3), K(i32(2, 3))))
    yield Row(a.BroadcastTo(shape=(2, 3, 4)), (x(3, 1),))
    border = K(np.array([[0, 0], [1, 2], [2, 1], [0, 0]], np.int32))
    for mode in (PaddingMode.CONSTANT, PaddingMode.REFLECT, PaddingMode.SYMMETRIC):
        yield Row(a.PadFusion(paddingMode=mode, constantValue=1.5), (x(1, 3, 4, 2), border), mode.name)
    yield Row(a.Shape(), (t,), types=("int32",))
    yield Row(a.Rank(), (t,), types=("int32",))


def indexing() -> Iterator[Row]:
    """Operators that pick by index, make tensors or change their type."""
    t = x(3, 4)
    yield Row(a.Gather(), (t, K(np.array([[2, 0], [1, 1]], np.int32)), scalar(0)))
    yield Row(a.GatherNd(), (t, K(np.array([[2, 0], [1, 3]], np.int32))))
    yield Row(a.ScatterNd(), (K(np.array([[2], [0]], np.int32)), x(2, 4), K(i32(3, 4))))
    yield Row(a.SparseToDense(), (K(np.array([[0, 1], [2, 3]], np.int32)), x(2), K(i32(3, 4))))
    on, off = scalar(2.5, np.float32), scalar(-1.5, np.float32)
    yield Row(a.OneHot(axis=-1), (i32(2, 0, 1), scalar(4), on, off))
    yield Row(a.Fill(), (np.array(1.5, np.float32), K(i32(2, 3))))
    yield Row(a.ConstantOfShape(dataType=int(DataType.FLOAT32), value=(1.5,)), (i32(2, 3),))
    yield Row(a.Range(start=1, limit=8, delta=3), (x(1),), types=("int32",))
    yield Row(a.Cast(), (x(2, 3, low=-5, high=5), scalar(int(DataType.INT32))), "float32 to int32", types=("int32",))


def image() -> Iterator[Row]:
    """Images resized, regrouped, and boxes found in them."""
    picture = x(1, 4, 4, 4)
    for method in (ResizeMethod.LINEAR, ResizeMethod.NEAREST):
        node = a.Resize(method, 7, 6, coordinateTransformMode=CoordinateTransformMode.ASYMMETRIC)
        yield Row(node, (picture,), f"{method.name}, ASYMMETRIC")
    corners = CoordinateTransformMode.ALIGN_CORNERS
    yield Row(a.Resize(ResizeMethod.LINEAR, 7, 6, coordinateTransformMode=corners), (picture,), "LINEAR, ALIGN_CORNERS")
    yield Row(a.DepthToSpace(blockSize=2), (picture,))
    yield Row(a.SpaceToDepth(blockSize=2), (picture,))
    yield Row(a.BatchToSpaceND(blockShape=(2, 2), crops=((0, 1), (1, 0))), (x(4, 2, 2, 3),))
    yield Row(a.SpaceToBatchND(blockShape=(2, 2), paddings=((1, 1), (0, 2))), (picture,))
    found = a.DetectionPostProcess(
        scale=(5, 5, 10, 10), nmsIoUThreshold=0.5, nmsScoreThreshold=0.2, maxDetections=3, detectionsPerClass=3,
        maxClassesPerDetection=1, numClasses=2,
    )  # fmt: skip
    anchors = np.array([[0.2, 0.2, 0.2, 0.2], [0.22, 0.2, 0.2, 0.2], [0.7, 0.7, 0.3, 0.3], [0.5, 0.2, 0.1, 0.1]])
    scores = np.array([[[0, 0.9, 0.1], [0, 0.8, 0.3], [0, 0.1, 0.7], [0, 0.05, 0.1]]], np.float32)
    boxes = x(1, 4, 4, low=-0.4, high=0.4)
    yield Row(found, (boxes, scores, K(anchors.astype(np.float32))), types=("float32",) * 4)


def quantised() -> Iterator[Row]:
    """int8 with quantParams."""
    fine, coarse = QuantParam(8, 3, 0.05), QuantParam(8, -2, 0.1)
    whole = x(2, 3, low=-100, high=100, dtype=np.int8)
    for node, label in (
        (a.QuantDTypeCast(int(DataType.FLOAT32), int(DataType.INT8)), "float32 to int8"),
        (a.QuantDTypeCastV2(int(DataType.FLOAT32), int(DataType.INT8)), "float32 to int8"),
    ):
        yield Row(node, (x(2, 3),), label, ("int8",), (None,), fine)
    back = a.QuantDTypeCast(int(DataType.INT8), int(DataType.FLOAT32))
    yield Row(back, (whole,), "int8 to float32", quant=(fine,))
    yield Row(a.AddFusion(), (whole, whole[::-1].copy()), "int8", ("int8",), (fine, coarse), QuantParam(8, 0, 0.2))
    yield Row(a.MulFusion(), (whole, whole[::-1].copy()), "int8", ("int8",), (fine, coarse), QuantParam(8, 0, 0.6))
    concat: Sequence[QuantParam] = (fine, fine)
    yield Row(a.Concat(axis=0), (whole, whole), "int8", ("int8",), tuple(concat), fine)
