"""Rows of NNRt nodes: data that feeds the tests and the reference pages."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nnrt_models import constant_buffer
from pippin.nnrt.attributes import Attributes, struct_of
from pippin.nnrt.types import (
    ActivationType,
    Format,
    Model,
    Node,
    NodeType,
    QuantParam,
    QuantType,
    SubGraph,
    Tensor,
    data_type_of,
)

Array = NDArray[Any]


@dataclass(frozen=True)
class Const:
    """An input that the model carries."""

    array: Array


@dataclass(frozen=True)
class NodeCase:
    """One row: a model of one node, and what is to hold for it.

    node_type    the operator
    note         what the row shows, unique for its operator: "axis 0, rank 3"
    attributes   fields of the operator's attribute struct
    inputs       one entry an input: a shape (float32, filled with seeded normal numbers), an array (handed in at run
                 time) or a ``Const`` (part of the model)
    outputs      how many outputs the node has
    types        the outputs' element types; empty: that of the first input
    format       label of the inputs that are no constants, and of the outputs
    quant        quantParams of each input, None for a tensor without them
    made         quantParams of the outputs
    expect       known outputs, from the interface's text or worked out by hand (beside the reference)
    refuses      a pattern of the error message: the node must be refused with it
    tolerance    largest absolute + relative difference that is allowed; above 1e-5 only with a reason in ``why``.
                 Integers must be equal, quantised ones may be ``steps`` apart
    dynamic      also prepared with every dim of the inputs unknown; False only with a reason in ``why``
    known        what stays known in that run: inputs (vectors whose length is a rank), or dims of them, (input, dim),
                 where the graph itself depends on it
    unspecified  what the outputs hold is not defined: only dims and type are looked at
    """

    node_type: NodeType
    note: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Any, ...] = ((2, 3, 4),)
    outputs: int = 1
    types: tuple[str, ...] = ()
    format: Format = Format.NHWC
    quant: tuple[Any, ...] = ()
    made: Any = None
    expect: tuple[ArrayLike, ...] | None = None
    refuses: str | None = None
    tolerance: float = 1e-5
    steps: int = 1
    dynamic: bool = True
    known: tuple[int | tuple[int, int], ...] = ()
    unspecified: bool = False
    why: str = ""

    @property
    def id(self) -> str:
        return f"{self.node_type.name}: {self.note}"

    def struct(self) -> Attributes:
        """The attribute struct."""
        return struct_of(self.node_type)(**self.attributes)

    def arrays(self) -> list[Array]:
        """The inputs, constants among them; the same on each call."""
        result = []
        for place, entry in enumerate(self.inputs):
            if isinstance(entry, tuple):
                generator = np.random.default_rng([len(self.id), place, *entry])
                result.append(generator.standard_normal(entry).astype(np.float32))
            else:
                result.append(np.asarray(entry.array if isinstance(entry, Const) else entry))
        return result

    def is_constant(self, place: int) -> bool:
        """Whether an input is part of the model."""
        return isinstance(self.inputs[place], Const)

    def feeds(self) -> list[Array]:
        """The inputs that are handed in."""
        return [array for place, array in enumerate(self.arrays()) if not self.is_constant(place)]

    def tensors(self, *, unknown: bool = False) -> list[Tensor]:
        """The node's input tensors, with unknown dims if asked."""
        result = []
        for place, array in enumerate(self.arrays()):
            constant = self.is_constant(place)
            hidden = unknown and not constant and place not in self.known
            dims = [-1 if hidden and (place, axis) not in self.known else dim for axis, dim in enumerate(array.shape)]
            tensor = Tensor(
                f"x{place}",
                data_type_of(array.dtype),
                dims,
                Format.NHWC if constant else self.format,
                quantParams=params(self.quant[place] if place < len(self.quant) else None),
            )
            if constant:
                tensor.data = constant_buffer(np.ascontiguousarray(array).reshape(-1))
            result.append(tensor)
        return result

    def made_tensors(self, shapes: Sequence[Sequence[int]] = ()) -> list[Tensor]:
        """The node's output tensors."""
        types = self.types or (str(self.arrays()[0].dtype),) * self.outputs
        return [
            Tensor(
                f"y{place}",
                data_type_of(types[place]),
                list(shapes[place]) if shapes else [],
                self.format,
                quantParams=params(self.made),
            )
            for place in range(self.outputs)
        ]

    def model(self, shapes: Sequence[Sequence[int]] = (), *, unknown: bool = False) -> Model:
        """The model of this one node; ``shapes`` are the dims of its outputs."""
        tensors = self.tensors(unknown=unknown)
        count = len(tensors)
        given = [place for place in range(count) if not self.is_constant(place)]
        outputs = list(range(count, count + self.outputs))
        tensors += self.made_tensors([[-1] * len(shape) for shape in shapes] if unknown else shapes)
        quantised = QuantType.ALL if tensors[count].quantParams else QuantType.NONE
        node = Node("node", self.node_type, self.struct().to_bytes(), list(range(count)), outputs, quantised)
        return Model("row", given, outputs, [node], tensors, [SubGraph("graph", given, outputs, [0])])


def params(entry: Any) -> list[QuantParam]:
    """quantParams as a list: of one, of several or of none."""
    return [] if entry is None else [entry] if isinstance(entry, QuantParam) else list(entry)


def q(scale: float, zero: int = 0, bits: int = 8) -> QuantParam:
    """The quantParam of that scale and zero point."""
    return QuantParam(bits, zero, scale)


def const(values: Any, dtype: Any = np.float32) -> Const:
    """Numbers that the model carries."""
    return Const(np.asarray(values, dtype))


def ints(values: Any, dtype: Any = np.int32) -> Const:
    """Integers that the model carries: axes, shapes, indices."""
    return Const(np.asarray(values, dtype))


def f32(values: Any) -> Array:
    """Numbers handed in."""
    return np.asarray(values, np.float32)


def i32(values: Any) -> Array:
    """Integers handed in."""
    return np.asarray(values, np.int32)


def drawn(*shape: int, seed: int = 7, dtype: Any = np.float32) -> Array:
    """Seeded normal numbers."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def whole(*shape: int, low: int = -9, high: int = 9, seed: int = 7, dtype: Any = np.int32) -> Array:
    """Seeded integers in [low, high]."""
    return np.random.default_rng([seed, *shape]).integers(low, high, shape, endpoint=True).astype(dtype)


def flags(*shape: int, seed: int = 7) -> Array:
    """Seeded bools."""
    return np.random.default_rng([seed, *shape]).random(shape) < 0.5


def weights(*shape: int, seed: int = 7) -> Const:
    """Seeded normal numbers that the model carries."""
    return Const(drawn(*shape, seed=seed))


HALF = {"tolerance": 4e-3, "why": "half precision has 11 bits"}

FREE = (ActivationType.ELU, ActivationType.LEAKY_RELU, ActivationType.HARD_TANH, ActivationType.THRESHOLDRELU)
"""Activation functions with parameters, which only an Activation node carries."""


def fused(
    node_type: NodeType, attributes: Mapping[str, Any], inputs: tuple[Any, ...], **options: Any
) -> list[NodeCase]:
    """A row for each activation function at the end of an operator, and refusals for those it cannot have."""
    rows = []
    for kind in ActivationType:
        bad = kind in FREE or kind is ActivationType.UNKNOWN
        rows.append(
            NodeCase(
                node_type,
                f"activation {kind.name}",
                {**attributes, "activationType": kind},
                inputs,
                refuses=("parameters" if kind in FREE else "activationType") if bad else None,
                **options,
            )
        )
    return rows


def all_rows() -> list[NodeCase]:
    """The rows of every family."""
    found: list[NodeCase] = []
    for module in pkgutil.iter_modules(__path__):
        found += getattr(importlib.import_module(f"{__name__}.{module.name}"), "CASES", [])
    return found
