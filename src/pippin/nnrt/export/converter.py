"""What the rules are written with: values in two layouts, constants in 32 bits, activations that end other nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedError
from ..authoring import GraphBuilder, Ref
from ..enums import ActivationType, DataType, Format

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...graph.ir import Graph, Node, Value
    from ..attributes import Attributes
    from ..types import Model

LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
"""Orders of dims that turn N,C,H,W to N,H,W,C and back."""
NARROW = {"int64": "int32", "float64": "float32", "uint64": "int32", "uint32": "int32"}
"""Element types that kernels do not read: they hold indices, sizes and plain numbers, for which 32 bits do."""


@dataclass
class Held:
    """A value of the hub as a tensor of the model: with its dims as they are, and images with channels last."""

    plain: Ref | None = None
    last: Ref | None = None


class Converter:
    """One conversion.  ``fused`` are nodes that other nodes have taken in."""

    def __init__(self, graph: Graph, *, turn: bool, name: str) -> None:
        self.graph = graph
        self.b = GraphBuilder(name)
        self.fused: set[int] = set()
        self.turn = turn
        self.turned_inputs: dict[str, bool] = {}
        self.turned_outputs: dict[str, bool] = {}
        self._held: dict[int, Held] = {}
        self._keep: list[Value] = []
        self._users: dict[int, list[Node]] = {}
        self._outputs = {id(value) for value in graph.outputs}
        for node in graph.nodes:
            for value in node.reads():
                self._users.setdefault(id(value), []).append(node)
        self.b.reserve(value.name for value in graph.outputs)
        for value in graph.inputs:
            self._input(value)

    # -- values ------------------------------------------------------------------------------------------------------

    def _input(self, value: Value) -> None:
        image = value.rank == 4
        dims = [dim if isinstance(dim, int) else -1 for dim in value.shape]
        turned = self.turn and image
        if turned:
            dims = [dims[axis] for axis in LAST]
        layout = Format.NCHW if image and not turned else Format.NHWC
        ref = self.b.input(value.name, dims, narrow(value.dtype), format=layout)
        self._held[id(value)] = Held(last=ref) if turned else Held(ref)
        self.turned_inputs[value.name] = turned

    def put(self, value: Value, ref: Ref, *, last: bool = False) -> None:
        """Says that ``ref`` is ``value``, as it is or with channels last."""
        self._keep.append(value)
        held = self._held.setdefault(id(value), Held())
        if last:
            held.last = ref
        else:
            held.plain = ref

    def plain(self, value: Value) -> Ref:
        """The tensor with the dims of ``value``."""
        held = self._hold(value)
        if held.plain is None:
            if value.data is not None:
                held.plain = self.constant(value.data, value.name)
            else:
                assert held.last is not None
                held.plain = self.turned(held.last, FIRST, Format.NCHW)
        return held.plain

    def last(self, value: Value) -> Ref:
        """An image (N,C,H,W) as N,H,W,C."""
        if value.rank != 4:
            raise UnsupportedError(f"4 dims are required, got {list(value.shape)}")
        held = self._hold(value)
        if held.last is None:
            if value.data is not None:
                held.last = self.constant(value.data.transpose(LAST), value.name)
            else:
                held.last = self.turned(self.plain(value), LAST, Format.NHWC)
        return held.last

    def _hold(self, value: Value) -> Held:
        if id(value) not in self._held:
            if value.data is None:
                raise UnsupportedError(f"{value.name!r} is made outside of the graph")
            self._keep.append(value)
        return self._held.setdefault(id(value), Held())

    def has_last(self, value: Value) -> bool:
        """Whether an image is there with its channels last only."""
        held = self._held.get(id(value))
        return held is not None and held.last is not None and held.plain is None

    def turned(self, ref: Ref, order: Sequence[int], layout: Format | None = None) -> Ref:
        """A tensor with its dims reordered; where no elements move, by a Reshape."""
        dims = ref.dims
        wanted = [dims[axis] for axis in order]
        if -1 not in dims and [a for a in order if dims[a] != 1] == sorted(a for a in order if dims[a] != 1):
            return self.reshaped(ref, wanted, layout)
        result: Ref = self.b.Transpose(ref, list(order), format=layout)
        return result

    def reshaped(self, ref: Ref, dims: Sequence[int], layout: Format | None = None, *, name: str = "") -> Ref:
        """A tensor with other dims."""
        result: Ref = self.b.Reshape(ref, self.ints(dims), format=layout, name=name)
        return result

    # -- constants ---------------------------------------------------------------------------------------------------

    def constant(self, data: NDArray[Any], name: str = "") -> Ref:
        """An array as a constant, of 32 bits where it has more."""
        import numpy as np

        dtype = narrow(data.dtype)
        if data.dtype.kind in "iu" and dtype != data.dtype.name and data.size:
            bounds = np.iinfo(dtype)
            data = np.clip(data, bounds.min, bounds.max)
        return self.b.constant(np.ascontiguousarray(data).astype(dtype, copy=False), name=name)

    def ints(self, numbers: Sequence[int]) -> Ref:
        """A vector of int32."""
        import numpy as np

        return self.b.constant(np.array(list(numbers), np.int32))

    def whole(self, number: int) -> Ref:
        """A scalar int32."""
        import numpy as np

        return self.b.constant(np.array(number, np.int32))

    def number(self, value: float, dtype: Any = "float32") -> Ref:
        """A scalar of a type."""
        import numpy as np

        return self.b.constant(np.array(value, narrow(np.dtype(dtype))))

    # -- nodes -------------------------------------------------------------------------------------------------------

    def node(self, attributes: Attributes, *inputs: Ref, like: Value | None = None, **options: Any) -> Any:
        """Adds a node; ``like`` is the value that it makes, whose name its output gets."""
        return self.b.node(attributes, *inputs, name=like.name if like is not None else "", **options)

    def activation(self, node: Node) -> tuple[ActivationType, Value]:
        """The activation that follows ``node`` and can be its end, and the value behind it."""
        value = node.outputs[0]
        users = self._users.get(id(value), [])
        if len(users) == 1 and id(value) not in self._outputs:
            kind = _fusible(users[0])
            if kind is not None:
                self.fused.add(id(users[0]))
                return kind, users[0].outputs[0]
        return ActivationType.NO_ACTIVATION, value

    def together(self, values: Sequence[Value]) -> tuple[list[Ref], bool]:
        """Operands that are broadcast against one another, in one layout, and whether that is channels last.

        Channels last is taken where an image is there in no other way and everything else can be brought to it.
        """
        rank = max(value.rank for value in values)
        fits = all(value.data is not None or value.rank in (0, 4) for value in values)
        if rank == 4 and fits and any(self.has_last(value) for value in values):
            return [self._beside(value) for value in values], True
        return [self.plain(value) for value in values], False

    def _beside(self, value: Value) -> Ref:
        """An operand beside images with channels last."""
        if value.data is None:
            return self.plain(value) if value.rank == 0 else self.last(value)
        if not value.rank:
            return self.plain(value)
        wide = value.data.reshape((1,) * (4 - value.rank) + value.data.shape).transpose(LAST)
        while wide.ndim and wide.shape[0] == 1:
            wide = wide[0]
        return self.constant(wide, value.name)

    # -- what rules ask ----------------------------------------------------------------------------------------------

    def given(self, node: Node, place: int) -> Value | None:
        """The input ``place`` of a node, None where it is left out."""
        return node.inputs[place] if place < len(node.inputs) else None

    def read(self, node: Node, place: int, what: str) -> NDArray[Any] | None:
        """The array of a constant input, None where it is left out."""
        value = self.given(node, place)
        if value is None:
            return None
        if value.data is None:
            raise UnsupportedError(f"the {what} must be constant")
        return value.data

    def axis(self, axis: int, rank: int, last: bool) -> int:
        """An axis of a value in the layout that it has."""
        axis %= rank
        return LAST.index(axis) if last else axis

    # -- the end -----------------------------------------------------------------------------------------------------

    def replace(self, node: Node) -> None:
        """Puts placeholders where a node has made nothing, so that the rest can still be looked at."""
        for value in node.outputs:
            if id(value) not in self._held:
                dims = [dim if isinstance(dim, int) else -1 for dim in value.shape]
                there = narrow(value.dtype).upper() in DataType.__members__
                self.put(value, self.b.input(value.name, dims, narrow(value.dtype) if there else "float32"))

    def finish(self) -> Model:
        """The model with the outputs of the graph, under their names."""
        refs, seen = [], set()
        for value in self.graph.outputs:
            turned = self.turn and value.rank == 4
            ref = self.last(value) if turned else self.plain(value)
            made = ref.index not in seen and not self.b.is_given(ref)
            refs.append(ref if made else self.reshaped(ref, ref.dims, name=value.name))
            seen.add(refs[-1].index)
            self.turned_outputs[value.name] = turned
        for value, ref in zip(self.graph.outputs, refs, strict=True):
            image = value.rank == 4 and not self.turned_outputs[value.name]
            ref.tensor.format = Format.NCHW if image else Format.NHWC
        return self.b.finish(*refs, names=[value.name for value in self.graph.outputs])


def narrow(dtype: np.dtype[Any]) -> str:
    """The name of the element type that stands for one of the hub's."""
    return NARROW.get(dtype.name, dtype.name)


def data_type(dtype: np.dtype[Any]) -> DataType:
    """The interface's number of the element type that stands for one of the hub's."""
    from ..types import data_type_of

    try:
        return data_type_of(narrow(dtype))
    except KeyError:
        raise UnsupportedError(f"there is no element type {dtype}") from None


def _fusible(node: Node) -> ActivationType | None:
    """RELU and RELU6, which every kernel has; others stay nodes of their own."""
    if node.domain:
        return None
    if node.op == "Relu":
        return ActivationType.RELU
    if node.op == "Clip" and bounds(node) == (0.0, 6.0):
        return ActivationType.RELU6
    return None


def bounds(node: Node) -> tuple[float, float]:
    """The bounds of a Clip, infinite where they are left out; not-a-number where they are no constants."""
    found = []
    for place, none in ((1, float("-inf")), (2, float("inf"))):
        value = node.inputs[place] if place < len(node.inputs) else None
        found.append(
            none if value is None else float("nan") if value.data is None else float(value.data.reshape(-1)[0])
        )
    return found[0], found[1]


def known(values: Iterable[Any]) -> list[int]:
    """Dims that must be known."""
    found = []
    for value in values:
        if not isinstance(value, int):
            raise UnsupportedError(f"a size that is known is required, got {value!r}")
        found.append(value)
    return found
