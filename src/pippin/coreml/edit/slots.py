"""Where a network keeps its weights: for each the shape, the axis of the channels, and how it may be stored.

The rules are those that the format's own check has for each kind of layer. Shapes are those in which the values lie in
the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..lower import place as layer_place
from ..weights import Encoding, Weights
from .step import nested

_LSTM_GATES = ("inputGate", "forgetGate", "blockInput", "outputGate")
_GRU_GATES = ("updateGate", "resetGate", "outputGate")
_PEEPHOLES = ("inputGate", "forgetGate", "outputGate")


@dataclass
class Slot:
    """One array of weights.

    ``place`` and ``field`` say where; ``shape`` is that of the values, ``axis`` the axis (or axes) along which a scale
    for each channel runs, None where only one scale is allowed. ``role`` is "weights" (the factor of a product, where
    nearly all bytes are), "vector" (biases, statistics, factors a channel) or "constant". ``no_half`` and
    ``no_packed`` say why float16 or packed integers are not allowed; ``one_scale``: a scale for each channel is not
    written; ``together``: float32 and float16 must not be mixed within the layer; ``alike``: the arrays of the layer
    must all be stored in one way.
    """

    layer: Any
    place: str
    field: str
    params: Any
    shape: tuple[int, ...]
    axis: int | tuple[int, ...] | None = None
    role: str = "weights"
    no_half: str = ""
    no_packed: str = ""
    one_scale: bool = False
    together: bool = True
    alike: bool = False

    @property
    def kind(self) -> str:
        """The kind of the layer."""
        return str(self.layer.WhichOneof("layer"))

    @property
    def name(self) -> str:
        """``layer 'conv1' (convolution): weights``"""
        return f"{self.place}: {self.field}"

    def encoding(self, weights: Weights) -> Encoding:
        """How it is stored."""
        return weights.encoding(self.params)


Row = tuple[str, Any, tuple[int, ...], Any, str]
"""Field, message, shape, axis, role."""


def _convolution(p: Any, layer: Any) -> Iterator[Row]:
    out, channels, groups = int(p.outputChannels), int(p.kernelChannels), int(p.nGroups) or 1
    kernel = tuple(int(size) for size in p.kernelSize) or (3, 3)
    if len(layer.input) == 1:
        if p.isDeconvolution:
            split = (groups, channels // groups, out // groups, *kernel)
            yield "weights", p.weights, split, (0, 2), "weights"
        else:
            yield "weights", p.weights, (out, channels, *kernel), 0, "weights"
    if p.hasBias:
        yield "bias", p.bias, (out,), None, "vector"


def _convolution3d(p: Any, layer: Any) -> Iterator[Row]:
    out, channels, groups = int(p.outputChannels), int(p.inputChannels), int(p.nGroups) or 1
    kernel = (int(p.kernelDepth), int(p.kernelHeight), int(p.kernelWidth))
    shape = (channels, out // groups, *kernel) if p.isDeconvolution else (out, channels // groups, *kernel)
    yield "weights", p.weights, shape, None, "weights"
    if p.hasBias:
        yield "bias", p.bias, (out,), None, "vector"


def _matrix(rows: str, columns: str) -> Callable[[Any, Any], Iterator[Row]]:
    def rows_of(p: Any, layer: Any) -> Iterator[Row]:
        out, inputs = int(getattr(p, rows)), int(getattr(p, columns))
        if len(layer.input) == 1:
            yield "weights", p.weights, (out, inputs), 0, "weights"
        if p.hasBias:
            yield "bias", p.bias, (out,), None, "vector"

    return rows_of


def _batchnorm(p: Any, layer: Any) -> Iterator[Row]:
    for name in ("gamma", "beta", "mean", "variance"):
        if p.HasField(name):
            yield name, getattr(p, name), (int(p.channels),), None, "vector"


def _sized(shape: Any) -> tuple[tuple[int, ...], int | None]:
    sizes = tuple(int(size) for size in shape)
    return sizes, 0 if len(sizes) == 3 and sizes[0] > 1 else None


def _scale(p: Any, layer: Any) -> Iterator[Row]:
    yield "scale", p.scale, *_sized(p.shapeScale), "vector"
    if p.hasBias:
        yield "bias", p.bias, *_sized(p.shapeBias), "vector"


def _bias(p: Any, layer: Any) -> Iterator[Row]:
    yield "bias", p.bias, *_sized(p.shape), "vector"


def _load_constant(p: Any, layer: Any) -> Iterator[Row]:
    yield "data", p.data, *_sized(p.shape), "constant"


def _load_constant_nd(p: Any, layer: Any) -> Iterator[Row]:
    yield "data", p.data, tuple(int(size) for size in p.shape), None, "constant"


def _layer_normalization(p: Any, layer: Any) -> Iterator[Row]:
    for name in ("gamma", "beta"):
        yield name, getattr(p, name), tuple(int(size) for size in p.normalizedShape), None, "vector"


def _simple_recurrent(p: Any, layer: Any) -> Iterator[Row]:
    inputs, size = int(p.inputVectorSize), int(p.outputVectorSize)
    yield "weightMatrix", p.weightMatrix, (size, inputs), 0, "weights"
    yield "recursionMatrix", p.recursionMatrix, (size, size), 0, "weights"
    if p.hasBiasVector:
        yield "biasVector", p.biasVector, (size,), None, "vector"


def _gru(p: Any, layer: Any) -> Iterator[Row]:
    inputs, size = int(p.inputVectorSize), int(p.outputVectorSize)
    yield from _gates(p, "", _GRU_GATES, size, inputs)
    if p.hasBiasVectors:
        for gate in _GRU_GATES:
            yield f"{gate}BiasVector", getattr(p, f"{gate}BiasVector"), (size,), None, "vector"


def _gates(p: Any, prefix: str, gates: tuple[str, ...], size: int, inputs: int) -> Iterator[Row]:
    for gate in gates:
        yield f"{prefix}{gate}WeightMatrix", getattr(p, f"{gate}WeightMatrix"), (size, inputs), 0, "weights"
        yield f"{prefix}{gate}RecursionMatrix", getattr(p, f"{gate}RecursionMatrix"), (size, size), 0, "weights"


def _lstm(p: Any, layer: Any) -> Iterator[Row]:
    inputs, size = int(p.inputVectorSize), int(p.outputVectorSize)
    many = layer.WhichOneof("layer") == "biDirectionalLSTM"
    for index, w in enumerate(p.weightParams if many else [p.weightParams]):
        prefix = f"weightParams[{index}]." if many else "weightParams."
        yield from _gates(w, prefix, _LSTM_GATES, size, inputs)
        vectors = [(gate, "BiasVector") for gate in _LSTM_GATES if p.params.hasBiasVectors]
        vectors += [(gate, "PeepholeVector") for gate in _PEEPHOLES if p.params.hasPeepholeVectors]
        for gate, suffix in vectors:
            yield f"{prefix}{gate}{suffix}", getattr(w, gate + suffix), (size,), None, "vector"


def _activation(p: Any, layer: Any) -> Iterator[Row]:
    chosen = p.WhichOneof("NonlinearityType")
    if chosen in ("PReLU", "parametricSoftplus"):
        for name in ("alpha", "beta")[: 1 if chosen == "PReLU" else 2]:
            # how many there are is said nowhere: as many as are stored
            yield f"{chosen}.{name}", getattr(getattr(p, chosen), name), (-1,), None, "vector"


def _custom(p: Any, layer: Any) -> Iterator[Row]:
    for index, params in enumerate(p.weights):
        yield f"weights[{index}]", params, (-1,), None, "weights"


LAYERS: dict[str, Callable[[Any, Any], Iterator[Row]]] = {
    "convolution": _convolution,
    "convolution3d": _convolution3d,
    "innerProduct": _matrix("outputChannels", "inputChannels"),
    "batchedMatmul": _matrix("weightMatrixSecondDimension", "weightMatrixFirstDimension"),
    "embedding": _matrix("outputChannels", "inputDim"),
    "embeddingND": _matrix("embeddingSize", "vocabSize"),
    "batchnorm": _batchnorm,
    "scale": _scale,
    "bias": _bias,
    "loadConstant": _load_constant,
    "loadConstantND": _load_constant_nd,
    "layerNormalization": _layer_normalization,
    "simpleRecurrent": _simple_recurrent,
    "gru": _gru,
    "uniDirectionalLSTM": _lstm,
    "biDirectionalLSTM": _lstm,
    "activation": _activation,
    "custom": _custom,
}
"""Every kind of layer with weights."""
_CUSTOM = "only the code of a custom layer knows how its weights are stored"
_NORM = "layerNormalization has float32 weights only"
_3D = "convolution3d has no packed weights"
_DYNAMIC = "int8DynamicQuantize wants its weights in int8"
_TRAINED = "the weights can be trained on a device"


def slots(network: Any, weights: Weights, *, updatable: bool = False) -> Iterator[Slot]:
    """The weights of a network and of those nested in it, in the order of the file; empty ones are left out.

    ``updatable``: the model can be trained, so marked layers keep their float32 weights.
    """
    for index, layer in enumerate(network.layers):
        kind = layer.WhichOneof("layer")
        if kind in LAYERS:
            p = getattr(layer, kind)
            for name, params, shape, axis, role in LAYERS[kind](p, layer):
                if not weights.stored(params):
                    continue
                if shape == (-1,):
                    shape = (weights.count(params),)
                slot = Slot(layer, layer_place(layer, index), name, params, shape, axis, role)
                _rules(slot, p, kind, updatable)
                yield slot
        for inner in nested(layer):
            yield from slots(inner, weights, updatable=updatable)


def _rules(slot: Slot, p: Any, kind: str, updatable: bool) -> None:
    """How the array may be stored."""
    if kind == "custom":
        slot.no_half = slot.no_packed = _CUSTOM
    elif kind == "layerNormalization":
        slot.no_half = slot.no_packed = _NORM
    elif kind == "convolution3d":
        slot.no_packed = _3D
    elif kind in ("innerProduct", "batchedMatmul") and p.int8DynamicQuantize and slot.field == "weights":
        slot.no_half = slot.no_packed = _DYNAMIC
    elif kind == "activation":
        slot.alike = True
    elif kind == "biDirectionalLSTM":
        slot.together = False
    # tools differ in how they read a scale for each channel of what is no product, and of grouped deconvolutions, whose
    # output channels lie on two axes
    slot.one_scale = slot.role != "weights" or (kind == "convolution" and p.isDeconvolution and p.nGroups > 1)
    if updatable and (slot.layer.isUpdatable or slot.params.isUpdatable):
        slot.no_half = slot.no_packed = _TRAINED
