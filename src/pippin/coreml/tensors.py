"""The weights of a network as named arrays: expanded, or as the file stores them with scale and table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import CheckError
from . import preprocess
from .edit.slots import Slot, slots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .model import Model


def named(model: Model) -> Iterator[tuple[str, Slot]]:
    """Every array of weights under a name of its own, "layer/field", those of nested networks among them."""
    taken: dict[str, int] = {}
    for slot in slots(model.document.network, model.weights):
        name = f"{slot.layer.name or slot.kind}/{slot.field}"
        count = taken[name] = taken.get(name, 0) + 1
        yield (name if count == 1 else f"{name}#{count}"), slot


def expanded(model: Model, slot: Slot) -> NDArray[Any]:
    """The values of ``slot`` as float32, in the shape in which the layer reads them.

    Raises ``CheckError`` with the layer's name where their number does not fit that shape.
    """
    try:
        values = model.weights.array(slot.params, slot.shape, axis=slot.axis if slot.axis is not None else 0)
        return values.reshape(_shape(slot))
    except CheckError as error:
        raise error.at(slot.name) from None


def stored(model: Model, name: str, slot: Slot) -> dict[str, NDArray[Any]]:
    """What the file holds for ``slot``: values as they lie, and beside quantised ones scale, bias or table.

    Packed integers are unpacked to one byte each; ``name.bits`` says how wide they were.
    """
    import numpy as np

    weights, params = model.weights, slot.params
    encoding = weights.encoding(params)
    if encoding.kind in ("none", "mixed"):
        raise CheckError(f"the values must be stored in one way, got {encoding}", where=slot.name)
    quantization = params.quantization
    linear = quantization.linearQuantization
    if encoding.kind in ("float32", "float16", "int8"):
        kind = {"float32": "<f4", "float16": "<f2", "int8": "i1"}[encoding.kind]
        values = np.frombuffer(weights.raw(params, encoding.kind), kind)
        found = {name: _shaped(values, _shape(slot))}
        if encoding.kind == "int8":
            found[f"{name}.scale"] = np.asarray(linear.scale, np.float32)
        return found
    count = int(np.prod(slot.shape, dtype=np.int64))
    found = {name: _shaped(weights.levels(params, count, slot.name), _shape(slot))}
    found[f"{name}.bits"] = np.array(encoding.bits, np.int64)
    if encoding.kind == "lookup":
        found[f"{name}.table"] = np.asarray(quantization.lookupTableQuantization.floatValue, np.float32)
    else:
        found[f"{name}.scale"] = np.asarray(linear.scale, np.float32)
        if len(linear.bias):
            found[f"{name}.bias"] = np.asarray(linear.bias, np.float32)
    return found


def _shape(slot: Slot) -> tuple[int, ...]:
    """The shape in which the layer reads the values: of deconvolutions [C,O/g,kH,kW], the groups not apart from C."""
    if isinstance(slot.axis, tuple):
        return slot.shape[0] * slot.shape[1], *slot.shape[2:]
    return slot.shape


def _shaped(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    import numpy as np

    return values.reshape(shape) if values.size == np.prod(shape, dtype=np.int64) else values


def means(model: Model) -> dict[str, NDArray[Any]]:
    """The mean images of the preprocessing, [C,H,W]: "preprocessing/image/meanImage"."""
    found = {}
    for name, entries in preprocess.steps(model.document.network, model.inputs).items():
        for entry in entries:
            if entry.WhichOneof("preprocessor") == "meanImage":
                mean = preprocess.mean_image(entry.meanImage, model.inputs[name], model.weights)
                found[f"preprocessing/{name}/meanImage"] = mean
    return found
