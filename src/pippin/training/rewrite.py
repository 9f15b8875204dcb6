"""Rewrites the way from a loss up to the layers that are to train into layers that devices can train through.

Devices propagate gradients through convolution, innerProduct, uniDirectionalLSTM, flatten, pooling, batchnorm and the
activations ReLU, sigmoid and tanh only. Converters of today write other layers for the same functions:

=============================================  =================================================
what stands there                              what it becomes
=============================================  =================================================
batchedMatmul with weights                     innerProduct (the weights are the same bytes)
+ or * a constant a channel, scale, bias,      folded into the layer before it: W' = s·W, b' = s·b + t
linear activation
reshapeStatic, flattenTo2D, squeeze … to a     flatten, CHANNEL_LAST behind a transpose to H, W, C
vector
reduceMean over H and W                        pooling, global average
tanh                                           activation tanh
softmaxND over the classes                     softmax
=============================================  =================================================

A vector [N,C] becomes [N,C,1,1] where softmax or flatten ask for it, and gets its own shape back behind the loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..coreml import schema
from ..coreml.lower import place
from ..coreml.weights import Weights
from ..coreml.wire import View
from ..errors import CheckError, UnsupportedError
from .down import MOVES, Down

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRAINABLE = ("convolution", "innerProduct", "uniDirectionalLSTM")
_THROUGH = ("flatten", "pooling", "batchnorm")
_ACTIVATIONS = ("ReLU", "sigmoid", "tanh")
_FLOAT_FIELD = 1
"""The number of ``floatValue`` in WeightParams."""

Shape = Sequence[int]


class Messages:
    """Layers and weights of a network that is being rewritten; ``views`` grow by the weights that are new."""

    def __init__(self, network: Any, views: list[View]) -> None:
        self.network = network
        self.views = views

    @property
    def weights(self) -> Weights:
        return Weights(self.views)

    def store(self, params: Any, values: NDArray[Any]) -> None:
        """Makes ``params`` hold ``values`` as float32 and nothing else."""
        params.Clear()
        data = memoryview(np.ascontiguousarray(values, "<f4").tobytes())
        self.views.append(View(_FLOAT_FIELD, "float32", data))
        params.pippinView.append(len(self.views) - 1)

    def copy(self, layer: Any) -> Any:
        new = schema.message("NeuralNetworkLayer")()
        new.CopyFrom(layer)
        return new

    def layer(self, kind: str, name: str, source: str, target: str) -> Any:
        new = schema.message("NeuralNetworkLayer")(name=name)
        new.input.append(source)
        new.output.append(target)
        getattr(new, kind).SetInParent()
        return new


@dataclass
class Way:
    """The layers from the one nearest to the loss up to the highest that trains, by number, the latter first."""

    numbers: list[int]
    trained: list[str]


@dataclass
class Rewriter:
    """Rewrites one network. ``shapes`` are those of its blobs, ``legacy`` whether they are [S,B,C,H,W]."""

    messages: Messages
    shapes: Mapping[str, Sequence[int | str]]
    legacy: bool
    outputs: set[str]
    made: dict[int, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.layers = list(self.messages.network.layers)
        self.writers = {name: number for number, layer in enumerate(self.layers) for name in layer.output}
        self.names = set(self.shapes)
        self.read: dict[str, int] = dict.fromkeys(self.outputs, 1)
        for layer in self.layers:
            for name in layer.input:
                self.read[name] = self.read.get(name, 0) + 1

    # -- the way up ----------------------------------------------------------------------------------------------------

    def way(self, blob: str, entropy: bool, wanted: Iterable[str] | None) -> Way:
        """Walks up from the loss's input until a layer lets no gradient through, or all ``wanted`` layers are met."""
        open_ = None if wanted is None else set(wanted)
        known = {layer.name for layer in self.layers}
        if open_ is not None and not open_ <= known:
            raise CheckError(f"the network has no layer {sorted(open_ - known)[0]!r}")
        numbers: list[int] = []
        trained: list[str] = []
        reach = 0
        reason = "the way ends at an input of the model"
        while blob in self.writers and (open_ is None or open_):
            number = self.writers[blob]
            layer = self.layers[number]
            first = entropy and not numbers
            reason = self.refused(layer, first)
            if reason:
                reason = f"{place(layer, number)}: {reason}"
                break
            numbers.append(number)
            if self.trains(layer) and (open_ is None or layer.name in open_):
                trained.append(layer.name)
                reach = len(numbers)
                if open_ is not None:
                    open_.discard(layer.name)
            blob = self.moving_input(layer)
            beside = [name for name in layer.input if name != blob and name in self.writers]
            if beside and self.constants(layer) is None:
                reason = f"{place(layer, number)} has another input that is computed, {beside[0]!r}"
                break
        if open_:
            name = sorted(open_)[0]
            layer = next(entry for entry in self.layers if entry.name == name)
            if layer.WhichOneof("layer") not in (*TRAINABLE, "batchedMatmul"):
                reason = "layers that train are convolution, innerProduct and uniDirectionalLSTM"
            hint = f"these can be reached: {', '.join(trained)}" if trained else ""
            raise UnsupportedError(f"layer {name!r} cannot be trained: {reason}", hint=hint)
        if not trained:
            raise UnsupportedError(f"no layer can be trained: {reason}")
        return Way(list(reversed(numbers[:reach])), list(reversed(trained)))

    def moving_input(self, layer: Any) -> str:
        """The input that is no constant."""
        constants = ("loadConstant", "loadConstantND")
        for name in layer.input:
            number = self.writers.get(name)
            if number is None or self.layers[number].WhichOneof("layer") not in constants:
                return str(name)
        return str(layer.input[0]) if layer.input else ""

    def trains(self, layer: Any) -> bool:
        kind = layer.WhichOneof("layer")
        if kind == "convolution":
            return len(layer.input) == 1
        if kind == "batchedMatmul":
            return len(layer.input) == 1 and not layer.batchedMatmul.int8DynamicQuantize
        if kind == "innerProduct":
            return not layer.innerProduct.int8DynamicQuantize
        return bool(kind == "uniDirectionalLSTM")

    def refused(self, layer: Any, top: bool) -> str:
        """Why no gradient flows through a layer, however it is rewritten; empty if it does."""
        kind = layer.WhichOneof("layer")
        if top:
            if kind == "softmax" or kind == "softmaxND":
                return self._softmax(layer)
            return "a cross entropy must judge the output of a softmax"
        if kind in _THROUGH or self.trains(layer):
            if kind == "batchedMatmul" and len(self.shape(layer.input[0])) > 3:
                return "a batchedMatmul of rank 4 or more is no innerProduct"
            return ""
        if kind == "activation":
            function = layer.activation.WhichOneof("NonlinearityType")
            if function in _ACTIVATIONS:
                return ""
            if function == "linear":
                return self._foldable(layer)
            return f"devices have no gradient of {function}"
        if kind == "tanh" or kind in MOVES:
            return ""
        if kind == "reduceMean":
            shape = self.shape(layer.input[0])
            axes = {int(axis) % len(shape) for axis in layer.reduceMean.axes}
            planes = axes == {len(shape) - 2, len(shape) - 1} and len(shape) == 4 and not layer.reduceMean.reduceAll
            return "" if planes else "only a mean over H and W is a pooling"
        if self.constants(layer) is not None:
            return self._foldable(layer)
        return "devices have no gradient of it"

    def _softmax(self, layer: Any) -> str:
        shape, axis = self.shape(layer.input[0]), self.class_axis(layer)
        others = [size for place, size in enumerate(shape) if place != axis]
        if math.prod(others) != 1 or (len(shape) > 3 and axis != len(shape) - 3):
            return "a softmaxND over another axis than the channels is no softmax"
        return ""

    def class_axis(self, layer: Any) -> int:
        """The axis of a softmax or softmaxND, counted from 0."""
        rank = len(self.shape(layer.input[0]))
        if layer.WhichOneof("layer") == "softmaxND":
            return int(layer.softmaxND.axis) % rank
        return rank - 3 if rank >= 3 else rank - 1

    def shape(self, name: str) -> list[int]:
        """The shape of a blob, which must be known."""
        shape = self.shapes[name]
        if any(isinstance(size, str) for size in shape):
            raise UnsupportedError(f"the shape of {name!r} must be known, got {list(shape)}")
        return [int(size) for size in shape]

    # -- constants behind a layer --------------------------------------------------------------------------------------

    def _foldable(self, layer: Any) -> str:
        above = self.base(layer)
        if above is None:
            return "a constant can be folded into a convolution or innerProduct right before it only"
        if above.WhichOneof("layer") == "convolution" and above.convolution.isDeconvolution:
            return "a constant cannot be folded into a deconvolution"
        return "" if self.vectors(layer, above) is not None else "the constant is not one value a channel"

    def base(self, layer: Any) -> Any:
        """The layer that a constant is folded into: the trainable one before it, or before other constants; or None."""
        while True:
            blob = self.moving_input(layer)
            if blob not in self.writers or self.read[blob] > 1:
                return None
            layer = self.layers[self.writers[blob]]
            if self.trains(layer) and layer.WhichOneof("layer") != "uniDirectionalLSTM":
                return layer
            if self.constants(layer) is None:
                return None

    def constants(self, layer: Any) -> tuple[Any, Any] | None:
        """Factor and summand that a layer applies, as arrays; None if it is no such layer."""
        kind, weights = layer.WhichOneof("layer"), self.messages.weights
        params = getattr(layer, kind)
        if kind == "activation" and params.WhichOneof("NonlinearityType") == "linear":
            return np.float64(params.linear.alpha), np.float64(params.linear.beta)
        if kind == "scale":
            scale = weights.flat(params.scale).reshape(_chw(params.shapeScale))
            shift = weights.flat(params.bias).reshape(_chw(params.shapeBias)) if params.hasBias else np.float64(0)
            return scale, shift
        if kind == "bias":
            return np.float64(1), weights.flat(params.bias).reshape(_chw(params.shape))
        if kind in ("add", "multiply") and len(layer.input) == 1:
            return (np.float64(1), params.alpha) if kind == "add" else (np.float64(params.alpha), np.float64(0))
        names = ("add", "addBroadcastable", "multiply", "multiplyBroadcastable",
                 "subtractBroadcastable", "divideBroadcastable")  # fmt: skip
        if kind not in names or len(layer.input) != 2:
            return None
        constant = [self.constant(name) for name in layer.input]
        if (constant[0] is None) == (constant[1] is None):
            return None
        value = constant[0] if constant[1] is None else constant[1]
        assert value is not None
        value = value.astype(np.float64)
        if kind.startswith("add"):
            return np.float64(1), value
        if kind.startswith("multiply"):
            return value, np.float64(0)
        if constant[1] is None:
            return (np.float64(-1), value) if kind.startswith("subtract") else None
        return (np.float64(1), -value) if kind.startswith("subtract") else (1 / value, np.float64(0))

    def constant(self, name: str) -> NDArray[Any] | None:
        """The array of a constant blob."""
        number = self.writers.get(name)
        if number is None:
            return None
        layer = self.layers[number]
        kind = layer.WhichOneof("layer")
        if kind not in ("loadConstant", "loadConstantND"):
            return None
        params = getattr(layer, kind)
        return self.messages.weights.array(params.data, [int(size) for size in params.shape], name="data")

    def vectors(self, layer: Any, above: Any) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Factor and summand as one value a channel of what ``above`` makes; None if they are something else."""
        found = self.constants(layer)
        if found is None:
            return None
        shape = self.shape(above.output[0])
        channel = -3 if above.WhichOneof("layer") == "convolution" or len(shape) > 3 else -1
        result = []
        for value in found:
            array = np.asarray(value, np.float64)
            array = array.reshape((1,) * (len(shape) - array.ndim) + array.shape)
            if array.ndim != len(shape) or array.size not in (1, array.shape[channel]):
                return None
            if array.shape[channel] not in (1, shape[channel]):
                return None
            result.append(np.broadcast_to(array.reshape(-1), (shape[channel],)))
        return result[0], result[1]

    # -- the way down --------------------------------------------------------------------------------------------------

    def rewrite(self, way: Way, entropy: bool) -> str:
        """Rewrites the layers of ``way``; the name of the blob that the loss is to judge."""
        last = self.layers[way.numbers[-1]]
        blob = str(last.output[0])
        lift = not self.legacy and (
            (entropy and self.class_axis(last) != len(self.shape(last.input[0])) - 3)
            or any(self.layers[number].WhichOneof("layer") in (*MOVES, "reduceMean") for number in way.numbers)
        )
        down = Down(self, str(self.layers[way.numbers[0]].input[0]), lift)
        for number in way.numbers:
            down.step(number, self.layers[number], number == way.numbers[-1])
        judged = down.finish(way.numbers[-1], blob)
        network = self.messages.network
        self._mark(way.trained)
        del network.layers[:]
        layers = [new for number, layer in enumerate(self.layers) for new in self.made.get(number, [layer])]
        read = {name for layer in layers for name in layer.input} | self.outputs
        constants = ("loadConstant", "loadConstantND")
        network.layers.extend(
            layer for layer in layers if layer.WhichOneof("layer") not in constants or set(layer.output) & read
        )
        return judged

    def _mark(self, names: Sequence[str]) -> None:
        for layer in (new for made in self.made.values() for new in made):
            kind = layer.WhichOneof("layer")
            if layer.name not in names or kind not in TRAINABLE:
                continue
            layer.isUpdatable = True
            params = getattr(layer, kind)
            if kind == "uniDirectionalLSTM":
                self._mark_all(params.weightParams)
                continue
            arrays = self.weighted(layer)
            self.messages.store(params.weights, arrays[0])
            params.weights.isUpdatable = True
            if params.hasBias:
                self.messages.store(params.bias, arrays[1])
                params.bias.isUpdatable = True

    def _mark_all(self, params: Any) -> None:
        for descriptor, message in params.ListFields():
            if descriptor.message_type is not None and descriptor.message_type.name == "WeightParams":
                message.isUpdatable = True

    def weighted(self, layer: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Weights and bias of a convolution or innerProduct as float32 arrays; a bias of zeros if there is none."""
        kind, weights = layer.WhichOneof("layer"), self.messages.weights
        p = getattr(layer, kind)
        out = int(p.outputChannels)
        if kind == "innerProduct":
            shape: list[int] = [out, int(p.inputChannels)]
            array = weights.array(p.weights, shape)
        else:
            kernel = [int(size) for size in p.kernelSize] or [3, 3]
            groups, channels = int(p.nGroups) or 1, int(p.kernelChannels)
            if p.isDeconvolution:
                split = (groups, channels // groups, out // groups, *kernel)
                array = weights.array(p.weights, split, axis=(0, 2)).reshape(channels, out // groups, *kernel)
            else:
                array = weights.array(p.weights, [out, channels, *kernel])
        return array, weights.array(p.bias, [out], name="bias") if p.hasBias else np.zeros(out, np.float32)

    def unique(self, name: str) -> str:
        """A name that no blob has."""
        candidate, count = name, 1
        while candidate in self.names:
            count += 1
            candidate = f"{name}_{count}"
        self.names.add(candidate)
        return candidate


def _chw(sizes: Any) -> list[int]:
    found = [int(size) for size in sizes]
    return found if len(found) == 3 else [*found, 1, 1]
