"""Runs NNRt nodes and models by their twins, in float64 and integers.

Tensors of floats are float64 arrays between the nodes, whatever their declared precision; those of integers and bools
have their own type. A tensor of integers with quantParams stays as it is stored; the nodes read it as the real numbers
that it stands for and round their results back, half away from zero. An engine that does so in another order of
rounding differs by at most one step a node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import CheckError, InputError, PippinError, UnsupportedError
from ...nnrt.attributes.base import Attributes
from ...nnrt.enums import DataType, Format, NodeType
from ...nnrt.model import Checked, check_model, node_name
from ...nnrt.types import Model, Tensor, numpy_type
from .quant import is_quantised, to_real, to_stored
from .registry import MOVERS, STORED, Array, Context, Info, load_twins
from .rules import require

BIASED = {
    NodeType.CONV2D_FUSION,
    NodeType.CONV2D_TRANSPOSE_FUSION,
    NodeType.FULL_CONNECTION,
    NodeType.MATMUL_FUSION,
}
"""Node types whose third input is a bias; where x is quantised it has the scale of the products, zero point 0."""


def evaluate(
    attributes: Attributes, inputs: Sequence[Array], given: Sequence[Info], made: Sequence[Info]
) -> list[Array]:
    """The outputs of one node. PippinError where the operator does not take its inputs.

    ``inputs`` as they are stored, floats of any precision; ``given`` and ``made`` tell about inputs and outputs.
    """
    kind = attributes.node_type
    function = load_twins().get(kind)
    if function is None:
        raise UnsupportedError(f"{kind!r} has no twin")
    values = [np.asarray(array, np.float64) if array.dtype.kind == "f" else array for array in inputs]
    if kind not in STORED:
        values = _reals(kind, values, given, made)
    context = Context(tuple(given), tuple(made))
    with np.errstate(all="ignore"):
        try:
            result = function(context, attributes, *values)
        except TypeError as error:
            if "positional argument" not in str(error):
                raise
            raise CheckError(f"inputs must number as the operator has them, got {len(inputs)}") from None
        except MemoryError:
            raise CheckError("the result is too large") from None
        outputs = [np.asarray(value) for value in (result if isinstance(result, tuple) else (result,))]
        require(len(outputs) == len(made), f"outputs must number {len(outputs)}, got {len(made)}")
        return [_stored(value, info) for value, info in zip(outputs, made, strict=True)]


def _reals(kind: NodeType, values: list[Array], given: Sequence[Info], made: Sequence[Info]) -> list[Array]:
    """What quantised inputs stand for; movers of stored integers see them as they are where no output is quantised."""
    quantised = [is_quantised(info) for info in given]
    if kind in MOVERS:
        if not any(info.quant for info in made):
            return values
    else:
        bare = [info for info in (*given, *made) if info.dtype in (np.int8, np.uint8) and not info.quant]
        require(not bare, "int8 and uint8 tensors must carry quantParams")
    reals = [
        to_real(array, info.quant) if small else array
        for array, info, small in zip(values, given, quantised, strict=True)
    ]
    if kind in BIASED and len(values) == 3 and values[2].dtype.kind in "iu" and all(quantised[:2]):
        steps = [np.array([param.scale for param in info.quant]) for info in given[:2]]
        reals[2] = values[2] * (steps[0] * steps[1])
    return reals


def _stored(value: Array, info: Info) -> Array:
    """A result as its tensor keeps it: quantised if the tensor is, else in the declared type, floats as float64."""
    if is_quantised(info) and value.dtype.kind == "f":
        return to_stored(value, info.quant, info.dtype)
    if info.dtype.kind == "f":
        return value.astype(np.float64)
    if info.dtype.kind == "b":
        return np.asarray(value != 0)
    return np.asarray(np.trunc(value) if value.dtype.kind == "f" else value).astype(info.dtype)


def info_of(tensor: Tensor) -> Info:
    """What a model says about a tensor."""
    return Info(numpy_type(DataType(tensor.dataType)), Format(tensor.format), tuple(tensor.quantParams))


class Interpreter:
    """Runs a whole model, node by node in an order in which every value is there before it is read."""

    def __init__(self, model: Model | Checked) -> None:
        """Takes a model as it comes, or one that is checked. ``NnrtError`` with a code for one that is unsound."""
        self.checked = model if isinstance(model, Checked) else check_model(model)
        self.model = self.checked.model
        self.infos = [info_of(tensor) for tensor in self.model.allTensors]

    def run(self, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Array]:
        """The model's outputs, in its order, for its inputs in its order or by name.

        ``InputError`` for arrays that do not fit; errors of a node name it.
        """
        values = self.tensors(inputs)
        return [values[index] for index in self.model.outputIndex]

    def tensors(self, inputs: Sequence[Any] | Mapping[str, Any]) -> dict[int, Array]:
        """Every tensor that a run knows, by its index: constants, inputs, and what the nodes made."""
        values = {**self.checked.constants, **self._given(inputs)}
        for place in self.checked.order:
            node = self.model.nodes[place]
            try:
                results = evaluate(
                    self.checked.attributes[place],
                    [values[index] for index in node.inputIndex],
                    [self.infos[index] for index in node.inputIndex],
                    [self.infos[index] for index in node.outputIndex],
                )
            except PippinError as error:
                raise error.at(node_name(self.model, place)) from None
            values.update(zip(node.outputIndex, results, strict=True))
        return values

    def _given(self, inputs: Sequence[Any] | Mapping[str, Any]) -> dict[int, Array]:
        places = self.model.inputIndex
        if isinstance(inputs, Mapping):
            names = [self.model.allTensors[place].name for place in places]
            if set(names) != set(inputs):
                raise InputError(f"inputs must be {names}, got {list(inputs)}")
            inputs = [inputs[name] for name in names]
        if len(inputs) != len(places):
            raise InputError(f"{len(places)} inputs are required, got {len(inputs)}")
        values = {}
        for place, value in zip(places, inputs, strict=True):
            array, dims = np.asarray(value).astype(self.infos[place].dtype), self.model.allTensors[place].dims
            fits = array.ndim == len(dims) and all(
                want in (-1, have) for have, want in zip(array.shape, dims, strict=True)
            )
            if not fits:
                raise InputError(f"input {place} must have dims {list(dims)}, got {list(array.shape)}")
            values[place] = array
        return values
