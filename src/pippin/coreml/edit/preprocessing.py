"""Preprocessing of pictures: the file's own messages, and a scale layer where those cannot say it.

The format knows one factor for all channels and a bias for each. Factors that differ, as in (x/255 - mean)/std, are a
``scale`` layer behind the input. Colours are always given in the order red, green, blue, whatever the model's is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import InputError, UnsupportedError
from .. import preprocess
from ..features import Feature, feature
from ..read import Document
from ..weights import Weights
from .insert import behind_input, fill_scale, remove_layers, store_floats
from .names import redirect
from .step import Step, feature_of, network_of

Numbers = float | Sequence[float]
LARGEST = 3.4028234663852886e38
"""The largest number of float32."""
SUFFIX = "preprocess"
"""The layer that this module puts behind an input is called after the input and this."""


def image_input(document: Document, name: str) -> Feature:
    """The image input ``name``. Raises ``InputError`` for another kind or none."""
    entry = feature(feature_of(document, name, "input"))
    if entry.kind != "image":
        raise InputError(
            f"input {name!r} must be an image to have preprocessing, it is a {entry.kind}",
            hint="make it an image first: input_to_image(...), --input-image",
        )
    return entry


def entries_of(document: Document, name: str) -> list[Any]:
    """The preprocessing messages that apply to the image input ``name``, in their order."""
    network = network_of(document)
    inputs = {entry.name: feature(entry) for entry in document.model.description.input}
    return preprocess.steps(network, inputs).get(name, [])


def is_gray(entry: Feature) -> bool:
    """Whether a picture has one channel."""
    return (entry.color or "").startswith("GRAYSCALE")


def channels(entry: Feature, values: Numbers, what: str) -> list[float]:
    """One number a channel, in the model's order, from one for all or three as red, green, blue."""
    listed = [float(values)] if isinstance(values, (int, float)) else [float(value) for value in values]
    wanted = 1 if is_gray(entry) else 3
    if len(listed) == 1:
        return listed * wanted
    if len(listed) != wanted:
        raise InputError(f"{what} must hold 1 number{'' if wanted == 1 else ' or 3'}, got {len(listed)}")
    return representable(listed[::-1] if entry.color == "BGR" else listed, what)


def representable(values: list[float], what: str) -> list[float]:
    """``values``, if float32 can hold them. Raises ``InputError`` for those that are infinite or no numbers there."""
    for value in values:
        if not abs(value) <= LARGEST:
            raise InputError(f"{what} must be numbers that float32 can hold, got {value:g}")
    return values


def set_preprocessing(
    document: Document,
    name: str,
    *,
    scale: Numbers | None = None,
    bias: Numbers | None = None,
    mean: Numbers | None = None,
    std: Numbers | None = None,
    unit: float = 255.0,
) -> Step:
    """Sets what is done to a picture: pixel · scale + bias, or (pixel/unit - mean)/std.

    Numbers are one for all channels or three as red, green, blue. What was set before is replaced. Raises
    ``InputError`` for both forms at once, neither, or a ``std`` or ``unit`` of zero.
    """
    entry = image_input(document, name)
    if (mean is None and std is None) == (scale is None and bias is None):
        raise InputError("preprocessing is either scale and bias, or mean and std")
    removed = _remove(document, name)
    if mean is None and std is None:
        factors, offsets = (
            channels(entry, 1.0 if scale is None else scale, "scale"),
            channels(entry, bias or 0.0, "bias"),
        )
        first = 1.0
    else:
        means, stds = channels(entry, mean or 0.0, "mean"), channels(entry, 1.0 if std is None else std, "std")
        if not unit or not all(stds):
            raise InputError("unit and std must not be zero")
        first = 1.0 / unit
        factors, offsets = [1.0 / s for s in stds], [-m / s for m, s in zip(means, stds, strict=True)]
    representable([first, *factors, *(first * factor for factor in factors), *offsets], "scale and bias")
    layers: list[str] = []
    if len(set(factors)) == 1:
        _scaler(document, name, entry, first * factors[0], offsets)
    else:
        if first != 1.0:
            _scaler(document, name, entry, first, [0.0] * len(factors))
        layers = behind_input(document, name, [_scale(document, factors, offsets)])
    told = f"scale {scale!r}, bias {bias!r}" if first == 1.0 else f"(x/{unit:g} - {mean!r}) / {std!r}"
    step = Step(f"set the preprocessing of {name!r}: {told}", "differs", details={"layers": layers})
    if layers:
        step.notes.append(f"the scale differs by channel, so layer {layers[0]!r} does it")
    return step if not removed else _noting(step, f"replaced: {removed}")


def _noting(step: Step, note: str) -> Step:
    step.notes.append(note)
    return step


def _scale(document: Document, factors: Sequence[float], offsets: Sequence[float]) -> dict[str, Any]:
    return {"kind": "scale", "name": SUFFIX, "fill": lambda layer: fill_scale(document, layer, factors, offsets)}


def _scaler(document: Document, name: str, entry: Feature, factor: float, offsets: Sequence[float]) -> None:
    """Adds the message for pixel · factor + offset; ``offsets`` are in the model's order."""
    message = network_of(document).preprocessing.add(featureName=name).scaler
    message.channelScale = factor
    if is_gray(entry):
        message.grayBias = offsets[0]
        return
    red_first = offsets[::-1] if entry.color == "BGR" else offsets
    message.redBias, message.greenBias, message.blueBias = red_first


def _remove(document: Document, name: str) -> str:
    """Removes the preprocessing of an input, and a layer that ``set_preprocessing`` put there; tells what it was."""
    network = network_of(document)
    told = drop_entries(document, name)
    for index, layer in enumerate(network.layers):
        if list(layer.input) == [name] and layer.name == f"{name}_{SUFFIX}" and layer.WhichOneof("layer") == "scale":
            redirect(document.model, layer.output[0], name, ("read", "condition"))
            told.append(f"layer {layer.name!r}")
            remove_layers(network, [index])
            break
    return ", ".join(told)


def remove_preprocessing(document: Document, name: str) -> Step:
    """Removes the preprocessing of an input: the network then gets pixels 0..255."""
    image_input(document, name)
    removed = _remove(document, name)
    return Step(
        f"remove the preprocessing of {name!r}: {removed or 'there was none'}", "differs" if removed else "none"
    )


def fix_preprocessing(document: Document) -> Step:
    """Gives preprocessing that belongs to no input to the image input that has none.

    Files where an input was renamed and its preprocessing was not are repaired so. Raises ``InputError`` where it is
    not clear which input is meant.
    """
    network = network_of(document)
    inputs = {entry.name: feature(entry) for entry in document.model.description.input}
    images = [name for name, entry in inputs.items() if entry.kind == "image"]
    lost = [
        entry for entry in network.preprocessing
        if entry.featureName not in images and (entry.featureName or len(images) != 1)
    ]  # fmt: skip
    if not lost:
        return Step("fix the preprocessing: nothing to do", "none")
    bare = [name for name in images if not entries_of(document, name)]
    if len(bare) != 1:
        names = ", ".join(repr(entry.featureName) for entry in lost)
        raise InputError(
            f"preprocessing of {names} belongs to no image; {len(bare)} images have none, so it is not clear which",
            hint="remove it and set it anew: set_preprocessing(...), --set-preprocessing",
        )
    old = sorted({entry.featureName for entry in lost})
    for entry in lost:
        entry.featureName = bare[0]
    return Step(f"give the preprocessing of {', '.join(map(repr, old))} to {bare[0]!r}", "differs")


def as_layers(document: Document, name: str) -> list[dict[str, Any]]:
    """The preprocessing of an image input as layers, for ``behind_input``; the messages stay where they are."""
    entry = image_input(document, name)
    weights = Weights(document.views)
    result: list[dict[str, Any]] = []
    for message in entries_of(document, name):
        which = message.WhichOneof("preprocessor")
        if which == "scaler":
            offsets = preprocess.biases(message.scaler, entry)
            result.append(_scale(document, [message.scaler.channelScale], offsets) | {"name": "scaler"})
        elif which == "meanImage":
            mean = preprocess.mean_image(message.meanImage, entry, weights)
            result.append({"kind": "bias", "name": "mean", "fill": _bias(document, mean)})
    return result


def _bias(document: Document, mean: Any) -> Callable[[Any], None]:
    def fill(layer: Any) -> None:
        layer.bias.shape.extend(mean.shape)
        store_floats(document, layer.bias.bias, -mean)

    return fill


def drop_entries(document: Document, name: str) -> list[str]:
    """Removes the messages (not the layers) that apply to the input ``name`` or name it; returns their kinds."""
    network = network_of(document)
    images = [entry.name for entry in document.model.description.input if entry.type.WhichOneof("Type") == "imageType"]
    told: list[str] = []
    for index in range(len(network.preprocessing) - 1, -1, -1):
        entry = network.preprocessing[index]
        if entry.featureName == name or (not entry.featureName and images in ([], [name])):
            told.insert(0, entry.WhichOneof("preprocessor") or "an empty entry")
            del network.preprocessing[index]
    return told


def set_color(document: Document, name: str, color: str) -> Step:
    """Declares another order of the colours, "RGB" or "BGR", of an image input or output.

    The network gets the channels in the declared order, so answers differ: this repairs a file that says it wrongly.
    Biases keep their colours; a layer behind the input keeps its channels.
    """
    orders = {"RGB": 20, "BGR": 30}
    if color not in orders:
        raise InputError(f"the colours must be RGB or BGR, got {color!r}")
    model = document.model
    found = [
        e for side in ("input", "output", "trainingInput") for e in getattr(model.description, side) if e.name == name
    ]
    if not found:
        feature_of(document, name, "input")
    for entry in found:
        if entry.type.WhichOneof("Type") != "imageType" or is_gray(feature(entry)):
            raise UnsupportedError(f"{name!r} must be a picture in colour, it is {feature(entry)}")
        entry.type.imageType.colorSpace = orders[color]
    return Step(f"read the colours of {name!r} as {color}", "differs")


def picture_array(entry: Feature, value: Any) -> Any:
    """A picture for ``entry`` as the array [C,H,W] of its pixels, in the model's order of channels."""
    from ..features import ImageInput

    return ImageInput(entry, False)(value)[0]
