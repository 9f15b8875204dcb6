"""Builds NNRt models: names tensors, infers dims, lays out constants.

::

    g = GraphBuilder("net")
    x = g.input("x", [1, 28, 28, 1])
    h = g.Conv2DFusion(x, weights, bias, stride=[2, 2], padMode=PadMode.SAME, activationType=ActivationType.RELU)
    h = g.MaxPoolFusion(h, kernelSize=[2, 2], strides=[2, 2])
    y = g.Softmax(g.FullConnection(h, w, b, hasBias=True, useAxis=True, axis=1), axis=[-1])
    model = g.finish(y)

The methods are named as the attribute structs, their keywords as the fields.  Arrays, lists and numbers become
constants.  The dims of a result are those that the operator has; what does not fit is an error at the faulty call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import CheckError, PippinError
from .attributes import REGISTRY, Attributes
from .buffers import Region
from .enums import DataType, Format, QuantType
from .lower import Lowerer
from .model import constant_array
from .types import Model, Node, QuantParam, SubGraph, Tensor, data_type_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CLASSES = {cls.__name__: cls for cls in REGISTRY.values()}
_ALIGNMENT = 64
Quant = QuantParam | Sequence[QuantParam]


@dataclass(frozen=True, eq=False)
class Ref:
    """A tensor of the model under construction."""

    index: int
    tensor: Tensor

    @property
    def name(self) -> str:
        """Its name."""
        return self.tensor.name

    @property
    def dims(self) -> list[int]:
        """Its dims, -1 for what is known at run time only."""
        return list(self.tensor.dims)

    @property
    def data_type(self) -> DataType:
        """Its element type."""
        return DataType(self.tensor.dataType)


Operand = Any
"""A Ref, or what NumPy makes an array of."""


class GraphBuilder:
    """Builds one model; see the module's text."""

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self._tensors: list[Tensor] = []
        self._nodes: list[Node] = []
        self._inputs: list[int] = []
        self._data: dict[int, NDArray[Any]] = {}
        self._names = _Names()
        self._labels = _Names()
        self._lowerer = Lowerer(self._tensors, name=name)

    # -- tensors -----------------------------------------------------------------------------------------------------

    def input(
        self,
        name: str,
        dims: Sequence[int],
        dtype: Any = "float32",
        *,
        format: Format = Format.NHWC,
        quant: Quant = (),
    ) -> Ref:
        """An input of the model; -1 leaves a dim open."""
        ref = self._tensor(name, dtype, dims, format, quant)
        self._inputs.append(ref.index)
        self._lowerer.input(ref.index)
        return ref

    def constant(
        self, data: Any, dtype: Any = None, *, name: str = "", format: Format = Format.NHWC, quant: Quant = ()
    ) -> Ref:
        """A constant of type ``dtype``; if it is None arrays keep theirs, numbers become int32 or float32."""
        import numpy as np

        array = np.asarray(data, dtype)
        if dtype is None and not isinstance(data, (np.ndarray, np.generic)):
            kind = array.dtype.kind if array.size else "i"
            array = array.astype({"i": np.int32, "u": np.int32, "b": np.bool_}.get(kind, np.float32))
        ref = self._tensor(name or "constant", array.dtype, array.shape, format, quant)
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy()
        self._data[ref.index] = flat
        self._lowerer.constant(ref.index, constant_array(self._view(), ref.index, flat))
        return ref

    def _tensor(self, name: str, dtype: Any, dims: Sequence[int], format: Format, quant: Quant) -> Ref:
        params = [quant] if isinstance(quant, QuantParam) else list(quant)
        tensor = Tensor(
            self._names.unique(name), _data_type(dtype), [int(dim) for dim in dims], format, quantParams=params
        )
        self._tensors.append(tensor)
        return Ref(len(self._tensors) - 1, tensor)

    def reserve(self, names: Iterable[str]) -> None:
        """Keeps names for the outputs: no other tensor gets them."""
        self._names.taken.update(names)

    def is_given(self, ref: Ref) -> bool:
        """Whether a tensor is an input or a constant: no node makes it."""
        return ref.index in self._data or ref.index in self._inputs

    # -- nodes -------------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Callable[..., Any]:
        cls = _CLASSES.get(name)
        if cls is None:
            import difflib

            near = difflib.get_close_matches(name, _CLASSES, 3)
            raise AttributeError(f"there is no operator {name!r}; near: {', '.join(near) or '-'}")
        own = {"outputs", "name", "dtype", "quant", "format"}

        def add(*inputs: Operand, **options: Any) -> Any:
            fields = {key: options.pop(key) for key in list(options) if key not in own or _has_field(cls, key)}
            try:
                attributes = cls(**fields)
            except TypeError as error:
                raise CheckError(str(error).replace("__init__() ", ""), where=name) from None
            return self.node(attributes, *inputs, **options)

        return add

    def node(
        self,
        attributes: Attributes,
        *inputs: Operand,
        outputs: int = 1,
        name: str = "",
        dtype: Any = None,
        quant: Quant = (),
        format: Format | None = None,
    ) -> Any:
        """Adds a node and returns its output, or a tuple where ``outputs`` is more than 1.

        ``quant`` quantises the outputs; they have the type of the first input with quantParams then, or else of the
        first input (int8 if that is no small integer), without it that of the operator's result; ``dtype`` overrules.
        ``format`` labels the outputs; without it they have that of the first input which is no constant.  CheckError if
        the operator does not take these inputs.
        """
        refs = [item if isinstance(item, Ref) else self.constant(item) for item in inputs]
        kind = type(attributes).__name__
        label = self._labels.unique(name or f"{kind}:{len(self._nodes)}")
        first = len(self._tensors)
        layout = format if format is not None else self._format(refs)
        made = [self._tensor(name or kind.lower(), DataType.FLOAT32, (), layout, quant) for _ in range(outputs)]
        wanted = _data_type(dtype) if dtype is not None else _quantized_type(refs, quant)
        try:
            self._infer(attributes, refs, made, wanted)
        except PippinError as error:
            del self._tensors[first:]
            raise CheckError(error.message, where=error.where, hint=error.hint).at(f"node {label!r} ({kind})") from None
        params = made[0].tensor.quantParams
        self._nodes.append(
            Node(
                label,
                attributes.node_type,
                attributes.to_bytes(),
                [ref.index for ref in refs],
                [ref.index for ref in made],
                QuantType.ALL if params else QuantType.NONE,
            )
        )
        return made[0] if outputs == 1 else tuple(made)

    def _format(self, refs: Sequence[Ref]) -> Format:
        """The layout of a node's images: that of its first input which is no constant."""
        given = (ref.tensor.format for ref in refs if ref.index not in self._data)
        return Format(next(given, Format.NHWC))

    def _infer(self, attributes: Attributes, refs: list[Ref], made: list[Ref], wanted: DataType | None) -> None:
        """Sets type and dims of the outputs, by lowering the node."""
        for ref in made:
            ref.tensor.dataType = DataType.UNKNOWN if wanted is None else wanted
        self._lowerer.node(attributes.node_type, attributes, [ref.index for ref in refs], [ref.index for ref in made])
        for ref in made:
            value = self._lowerer.values[ref.index]
            ref.tensor.dataType = data_type_of(value.dtype)
            ref.tensor.dims = [dim if isinstance(dim, int) else -1 for dim in value.shape]

    # -- the model ---------------------------------------------------------------------------------------------------

    def finish(self, *outputs: Ref, names: Sequence[str] = ()) -> Model:
        """The model with these outputs, renamed to ``names`` if given; its constants lie in one shared region."""
        if not outputs:
            raise CheckError("a model needs at least one output")
        for ref, name in zip(outputs, names, strict=False):
            ref.tensor.name = name
        self._place_constants()
        given, made = list(self._inputs), [ref.index for ref in outputs]
        graph = SubGraph("graph", list(given), list(made), list(range(len(self._nodes))))
        return Model(self.name, given, made, list(self._nodes), list(self._tensors), [graph])

    def _place_constants(self) -> None:
        offsets, end = {}, 0
        for index, data in self._data.items():
            offsets[index] = end
            end += -(-len(data) // _ALIGNMENT) * _ALIGNMENT
        if not offsets:
            return
        region = Region(max(end, 1), name="pippin-constants")
        for index, data in self._data.items():
            region.array[offsets[index] : offsets[index] + len(data)] = data
            self._tensors[index].data = region.buffer(offsets[index], len(data))

    def _view(self) -> Model:
        return Model(allTensors=self._tensors)


class _Names:
    """Names, of which none is given out twice."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self._counts: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """``name``, or with a number behind it where it is taken."""
        candidate = name
        while candidate in self.taken:
            self._counts[name] = self._counts.get(name, 0) + 1
            candidate = f"{name}_{self._counts[name]}"
        self.taken.add(candidate)
        return candidate


def _data_type(dtype: Any) -> DataType:
    if isinstance(dtype, DataType):
        return dtype
    try:
        return data_type_of(dtype)
    except (KeyError, TypeError) as error:
        raise CheckError(f"{dtype!r} is no element type: {error}") from None


def _quantized_type(refs: Sequence[Ref], quant: Quant) -> DataType | None:
    """The type of quantised outputs; None where they are not quantised."""
    if not isinstance(quant, QuantParam) and not quant:
        return None
    small = (DataType.INT8, DataType.UINT8, DataType.INT16, DataType.UINT16)
    typed = [ref for ref in refs if ref.tensor.quantParams] + list(refs[:1])
    return next((ref.data_type for ref in typed if ref.data_type in small), DataType.INT8)


def _has_field(cls: type[Attributes], name: str) -> bool:
    return name in cls.__dataclass_fields__  # type: ignore[attr-defined]
