"""Rows of layer cases: data that feeds the tests and the reference pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.coreml import schema
from pippin.coreml.weights import pack_bits


@dataclass(frozen=True)
class Case:
    """One row: a network of one layer, and what is to hold for it.

    kind       layer kind as in the format: "softmaxND"
    note       what the row shows, unique for its kind: "axis 0, rank 3"
    params     fields of the kind's parameter message; nested messages as dicts, NumPy arrays become weights (float32)
    inputs     one entry an input: a shape (filled with seeded normal numbers) or an array (used as it is)
    outputs    how many outputs the layer has
    rank5      the network uses the legacy rank-5 mapping; inputs are [S,B,C,H,W]
    expect     known outputs, from the specification's text or worked out by hand (beside the reference)
    refuses    a part of the error message: the layer must be refused with it
    tolerance  largest absolute + relative difference that is allowed; above 1e-5 only with a reason in ``why``
    symbolic   also run with every input dim unknown; False only with a reason in ``why``
    known      inputs whose dims stay known in that run: vectors whose length is a rank
    """

    kind: str
    note: str
    params: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Any, ...] = ((2, 3, 4),)
    outputs: int = 1
    rank5: bool = False
    expect: tuple[ArrayLike, ...] | None = None
    refuses: str | None = None
    tolerance: float = 1e-5
    symbolic: bool = True
    known: tuple[int, ...] = ()
    why: str = ""

    @property
    def id(self) -> str:
        return f"{self.kind}: {self.note}"

    def arrays(self) -> list[NDArray[np.float32]]:
        """The inputs as float32 arrays; seeded by position, so that they are the same on each run."""
        result = []
        for index, entry in enumerate(self.inputs):
            if isinstance(entry, tuple):
                generator = np.random.default_rng([len(self.id), index, *entry])
                result.append(generator.standard_normal(entry).astype(np.float32))
            else:
                result.append(np.asarray(entry, np.float32))
        return result

    def layer(self) -> Any:
        """The NeuralNetworkLayer message: inputs x0, x1, …, outputs y0, y1, …"""
        layer = schema.message("NeuralNetworkLayer")()
        layer.name = "layer"
        layer.input.extend(f"x{i}" for i in range(len(self.inputs)))
        layer.output.extend(f"y{i}" for i in range(self.outputs))
        params = getattr(layer, self.kind)
        params.SetInParent()
        fill(params, self.params)
        return layer

    def model(self) -> Any:
        """The whole Model message with this one layer; outputs are declared without a shape."""
        model = schema.message("Model")()
        model.specificationVersion = 3 if self.rank5 else 5
        network = model.neuralNetwork
        network.arrayInputShapeMapping = 0 if self.rank5 else 1
        for index, array in enumerate(self.arrays()):
            feature = model.description.input.add(name=f"x{index}")
            kind = feature.type.multiArrayType
            # the legacy mapping declares [C,H,W]; the two leading axes may be presented at run time
            kind.shape.extend(array.shape[2:] if self.rank5 else (array.shape or (1,)))
            kind.dataType = 65568
        for index in range(self.outputs):
            model.description.output.add(name=f"y{index}").type.multiArrayType.dataType = 65568
        network.layers.append(self.layer())
        return model


def fill(message: Any, values: Mapping[str, Any]) -> None:
    """Sets the fields of a protobuf message from nested dicts; NumPy arrays fill weights or repeated fields.

    A dict for a message field sets it present even if it is empty.
    """
    for name, value in values.items():
        field_ = message.DESCRIPTOR.fields_by_name[name]
        target = getattr(message, name)
        if hasattr(target, "GetEntryClass"):  # a map of messages
            for key, item in value.items():
                fill(target[key], item)
        elif field_.message_type and isinstance(value, Mapping):
            target.SetInParent()
            fill(target, value)
        elif field_.message_type and field_.message_type.name == "WeightParams" and not hasattr(target, "extend"):
            target.SetInParent()
            target.floatValue.extend(np.asarray(value, np.float32).ravel().tolist())
        elif hasattr(target, "extend"):
            if field_.message_type:
                for item in value:
                    fill(target.add(), item) if isinstance(item, Mapping) else target.add().CopyFrom(item)
            else:
                target.extend(np.asarray(value).ravel().tolist() if isinstance(value, np.ndarray) else value)
        elif field_.message_type:
            target.CopyFrom(value)
        elif field_.enum_type and isinstance(value, str):
            setattr(message, name, field_.enum_type.values_by_name[value].number)
        else:
            setattr(message, name, value)


def normal(*shape: int, seed: int = 7) -> NDArray[np.float32]:
    """Seeded normal numbers, for weights."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def half(values: ArrayLike) -> dict[str, Any]:
    """Weights stored as float16."""
    return {"float16Value": np.asarray(values, "<f2").tobytes()}


def linear(levels: ArrayLike, bits: int, scale: ArrayLike, bias: ArrayLike = ()) -> dict[str, Any]:
    """Weights stored as packed integers with a linear scale: value = level * scale + bias."""
    return {
        "rawValue": pack_bits(np.asarray(levels, np.uint8), bits).tobytes(),
        "quantization": {
            "numberOfBits": bits,
            "linearQuantization": {
                "scale": np.atleast_1d(np.asarray(scale, np.float32)),
                "bias": np.atleast_1d(np.asarray(bias, np.float32)),
            },
        },
    }


def lookup(levels: ArrayLike, bits: int, table: ArrayLike) -> dict[str, Any]:
    """Weights stored as packed indices into a table of 2**bits values."""
    return {
        "rawValue": pack_bits(np.asarray(levels, np.uint8), bits).tobytes(),
        "quantization": {
            "numberOfBits": bits,
            "lookupTableQuantization": {"floatValue": np.asarray(table, np.float32)},
        },
    }
