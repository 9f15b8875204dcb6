"""What lowerings of node types are written with: the decorator, the builder they get, and a few words of vocabulary.

::

    @node(NodeType.SQUARED_DIFFERENCE)
    def squared_difference(g, p, a, b):
        d = arithmetic(g, "Sub", a, b)
        return arithmetic(g, "Mul", d, d)

``g`` is the hub's builder with ``g.node``, the node at hand; ``p`` its attributes; then its inputs as hub values.  The
result is a value or a tuple of them; it is converted to the types that the output tensors declare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import CheckError
from ...graph.builder import Builder
from ...graph.ir import Value
from ...graph.registry import Registry
from ..enums import DataType, Format, NodeType
from ..types import Tensor

if TYPE_CHECKING:
    import numpy as np

NODES: Registry[NodeType] = Registry("pippin.nnrt.nodes")

node = NODES.register
"""Registers a lowering for node types.

``quantized`` says what becomes of int8, uint8 and the like with quantParams: "float" (unless said otherwise) hands over
the real numbers and quantises the results; "move" hands over the integers as they are where all tensors share their
parameters, else as "float"; "raw" always hands over the integers; "product" hands over q - zeroPoint of the inputs 0
and 1, whole numbers in float32, and the lowering multiplies their product by the scales with ``scaled`` (where that
cannot be, as "float").  ``bias`` is the input that, as int32 beside quantised inputs 0 and 1, has the product of their
scales.
"""


@dataclass(frozen=True)
class Context:
    """The node at hand: its type and the tensors that it reads and writes.

    ``scales`` are to be multiplied into a product of whole numbers, one for all or one for each channel of the result.
    """

    node_type: NodeType
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    scales: tuple[float, ...] = ()


class NodeBuilder(Builder):
    """The hub's builder, with the node that is being lowered."""

    node: Context = Context(NodeType.NONE)


# -- element types ---------------------------------------------------------------------------------------------------

_FLOAT = ("float16", "float32", "float64")
_NUMBERS = ("int32", "int64", *_FLOAT)
_SINGLE = ("float16", "float32")

KERNELS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Pow", "Neg", "Abs", "Sign", "MatMul"), _NUMBERS),
    **dict.fromkeys(("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Where", "TopK"), _NUMBERS),
    **dict.fromkeys(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceSumSquare"), _NUMBERS),
    **dict.fromkeys(("ReduceMean", "ReduceL2", "Sqrt", "Exp", "Log", "Sin", "Cos", "Floor", "Ceil", "Round"), _FLOAT),
    **dict.fromkeys(("Reciprocal", "Relu", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "MaxPool"), _FLOAT),
    **dict.fromkeys(("Erf", "Elu", "LeakyRelu", "Selu", "Softsign", "Softplus", "Gelu", "AveragePool"), _SINGLE),
    **dict.fromkeys(("Abs", "Sign"), ("uint64", *_NUMBERS)),
    "ArgMax": ("int32", *_SINGLE),
    "Range": ("int16", "int32", "int64", "float32", "float64"),
    "Resize": ("float32",),
    "Pad": ("bool", "int8", "uint8", *_NUMBERS),
}
"""Element types for which the engine has kernels, as far as they are relied on; an operator not listed has all."""

_WIDER = {
    "uint32": "int64",
    "uint64": "int64",
    "int64": "float64",
    "int32": "float64",
    "float16": "float32",
    "float64": "float32",
}


_ORDERED = ("Max", "Min", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "TopK", "ReduceMax", "ReduceMin")
"""Operators that look at the order of numbers, which the upper half of uint64 loses in int64."""


def working_type(op: str, dtype: np.dtype[Any]) -> str:
    """The element type to compute in: ``dtype`` itself, or the nearest one that the engine has a kernel for.

    Integers go to wider integers, or to floats where there is no other way; float64 to float32 where it must.
    """
    kernels, name = KERNELS.get(op), dtype.name
    while kernels is not None and name not in kernels:
        name = _WIDER.get(name, "int32")
    return name


def emit(g: Builder, op: str, x: Value, *more: Any, back: bool = True, **attributes: Any) -> Any:
    """An operator on x and values of the type of x, in a type that the engine can compute; the result in x's type."""
    if x.dtype.name == "uint64" and op in _ORDERED:
        return _ordered(g, op, x, more, back=back, **attributes)
    work = working_type(op, x.dtype)
    operands = [g.cast(value, work) if isinstance(value, Value) and value.dtype == x.dtype else value for value in more]
    result: Value = g.emit(op, g.cast(x, work), *operands, **attributes)
    return g.cast(result, x.dtype) if back else result


def _ordered(g: Builder, op: str, x: Value, more: Sequence[Any], *, back: bool, **attributes: Any) -> Any:
    """An operator on uint64 by numbers in int64 that stand in the same order: 2⁶³ less."""
    half = g.constant(-(1 << 63), "int64")
    operands = [
        g.Add(g.cast(value, "int64"), half) if isinstance(value, Value) and value.dtype == x.dtype else value
        for value in (x, *more)
    ]
    result = g.emit(op, *operands, **attributes)
    if op == "TopK":
        return g.cast(g.Add(result[0], half), x.dtype), result[1]
    return g.cast(g.Add(result, half), x.dtype) if back else result


def arithmetic(g: Builder, op: str, a: Value, b: Value, *, back: bool = True, **attributes: Any) -> Value:
    """An operator on two operands, the second in the type of the first; ``back`` False keeps a bool result."""
    result: Value = emit(g, op, a, g.cast(b, a.dtype), back=back, **attributes)
    return result


def as_float(g: Builder, x: Value) -> Value:
    """x in a float type: itself, or one that has all its numbers (int64's up to 2⁵³)."""
    wide = x.dtype.kind in "iu" and x.dtype.itemsize > 2
    return x if x.dtype.kind == "f" else g.cast(x, "float64" if wide else "float32")


def refuse_bare_int8(g: NodeBuilder) -> None:
    """int8 and uint8 are quantised numbers to arithmetic: without quantParams they have no meaning."""
    for tensor in (*g.node.inputs, *g.node.outputs):
        if tensor.dataType in (DataType.INT8, DataType.UINT8) and not tensor.quantParams:
            raise CheckError(f"tensor {tensor.name!r} of type {DataType(tensor.dataType).name} must have quantParams")


def scaled(g: NodeBuilder, y: Value, axis: int) -> Value:
    """A product of whole numbers as real ones: times the scales of the operands, which lie along ``axis``."""
    import numpy as np

    scales = np.array(g.node.scales, np.float32)
    if not scales.size:
        return y
    column = (-1, *[1] * (y.rank - 1 - axis % y.rank)) if scales.size > 1 else ()
    result: Value = g.Mul(y, g.constant(scales.reshape(column)))
    return result


# -- constants that steer an operator --------------------------------------------------------------------------------


def numbers(value: Value, what: str) -> list[int]:
    """The elements of a constant input as ints; CheckError if it is no constant or no integers."""
    if value.data is None:
        raise CheckError(f"the {what} must be a constant: what is built depends on it")
    if value.dtype.kind not in "iu":
        raise CheckError(f"the {what} must be integers, got {value.dtype}")
    return [int(item) for item in value.data.reshape(-1)]


def axis_of(axis: int, rank: int, what: str = "axis") -> int:
    """An axis counted from the front; CheckError outside [-rank, rank)."""
    if not -rank <= axis < rank:
        raise CheckError(f"the {what} must be in [{-rank}, {rank}), got {axis}")
    return axis % rank


def axes_of(axes: Sequence[int], rank: int) -> list[int]:
    """Axes counted from the front, in ascending order; CheckError if one is outside or named twice."""
    result = sorted(axis_of(axis, rank) for axis in axes)
    if len(set(result)) < len(result):
        raise CheckError(f"each axis may be named once, got {list(axes)}")
    return result


def pair(values: Sequence[int], what: str, *, least: int = 1) -> tuple[int, int]:
    """A list of height and width; CheckError unless it holds two numbers of at least ``least``."""
    if len(values) != 2 or min(values) < least:
        raise CheckError(f"{what} must hold 2 integers of at least {least}, got {list(values)}")
    return int(values[0]), int(values[1])


def rank_of(x: Value, rank: int, what: str = "input") -> None:
    """CheckError unless x has this rank."""
    if x.rank != rank:
        raise CheckError(f"the {what} must have {rank} dims, got {list(x.shape)}")


# -- layout ----------------------------------------------------------------------------------------------------------


def permute(g: Builder, x: Value, order: Sequence[int]) -> Value:
    """x with its dims reordered; a constant is turned now."""
    if list(order) == list(range(x.rank)):
        return x
    if x.data is not None:
        return g.constant(x.data.transpose(order))
    result: Value = g.Transpose(x, perm=list(order))
    return result


def nchw(g: Builder, x: Value) -> Value:
    """(N,H,W,C) → (N,C,H,W)."""
    return permute(g, x, (0, 3, 1, 2))


def nhwc(g: Builder, x: Value) -> Value:
    """(N,C,H,W) → (N,H,W,C)."""
    return permute(g, x, (0, 2, 3, 1))


def channels_first(g: NodeBuilder) -> bool:
    """Whether the images of the node at hand are N,C,H,W: its first input says so."""
    return bool(g.node.inputs) and g.node.inputs[0].format == Format.NCHW


def channel_axis(g: NodeBuilder, x: Value) -> int:
    """The axis of x with the channels: the last one, the second one of a N,C,H,W image."""
    return 1 if x.rank == 4 and channels_first(g) else x.rank - 1


def per_channel(g: NodeBuilder, x: Value, vector: Value, what: str, *, one: bool = False) -> Value:
    """A vector with an element for each channel of x, broadcast against x; ``one``: a single one serves all."""
    axis = channel_axis(g, x)
    channels = x.shape[axis] if x.rank else 1
    size = g.product(g.sizes(vector)) if one else vector.shape[0] if vector.rank == 1 else None
    fits = not (isinstance(size, int) and isinstance(channels, int)) or size == channels or (one and size == 1)
    if size is None or not x.rank or not fits:
        raise CheckError(f"the {what} must have the {channels} channels of {list(x.shape)}, got {list(vector.shape)}")
    return g.reshape(vector, [-1] + [1] * (x.rank - 1 - axis))


def image(g: NodeBuilder, x: Value) -> Value:
    """An image of the node as (N,C,H,W), whatever its format."""
    rank_of(x, 4)
    return x if channels_first(g) else nchw(g, x)


def framed(g: NodeBuilder, y: Value) -> Value:
    """(N,C,H,W) in the format of the node's images."""
    return y if channels_first(g) else nhwc(g, y)


def planes(g: NodeBuilder) -> tuple[int, int]:
    """The axes of height and width in the node's images."""
    return (2, 3) if channels_first(g) else (1, 2)
