"""Image preprocessing as hub operators. Sources: NeuralNetworkImageScaler, NeuralNetworkMeanImage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import CheckError
from ..graph.builder import Builder
from ..graph.ir import Value
from .features import Feature

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .weights import Weights


def steps(network: Any, inputs: Mapping[str, Feature]) -> dict[str, list[Any]]:
    """The preprocessing messages of each image input, in the order of the file.

    An entry without a name belongs to the only image input, if there is just one.
    """
    images = [name for name, feature in inputs.items() if feature.kind == "image"]
    result: dict[str, list[Any]] = {}
    for entry in network.preprocessing:
        name = entry.featureName or (images[0] if len(images) == 1 else "")
        if name in images:
            result.setdefault(name, []).append(entry)
    return result


def apply(g: Builder, entries: list[Any], feature: Feature, weights: Weights, x: Value) -> Value:
    """Emits the preprocessing of one image: x (N,C,H,W) in the model's own channel order → same shape."""
    for entry in entries:
        which = entry.WhichOneof("preprocessor")
        if which == "scaler":
            x = _scaled(g, entry.scaler, feature, x)
        elif which == "meanImage":
            x = g.Sub(x, mean_image(entry.meanImage, feature, weights))
    return x


def biases(scaler: Any, feature: Feature) -> list[float]:
    """The bias of each channel, in the model's channel order."""
    if feature.color in ("GRAYSCALE", "GRAYSCALE_FLOAT16"):
        return [scaler.grayBias]
    colors = [scaler.redBias, scaler.greenBias, scaler.blueBias]
    return colors[::-1] if feature.color == "BGR" else colors


def _scaled(g: Builder, scaler: Any, feature: Feature, x: Value) -> Value:
    import numpy as np

    bias = np.array(biases(scaler, feature), np.float32).reshape(-1, 1, 1)
    if scaler.channelScale != 1:
        x = g.Mul(x, np.float32(scaler.channelScale))
    if bias.any():
        x = g.Add(x, bias)
    return x


def mean_image(message: Any, feature: Feature, weights: Weights) -> NDArray[np.float32]:
    """The mean image as [C,H,W]; raises ``CheckError`` if its size is not the input's."""
    import numpy as np

    assert feature.size is not None
    width, height = feature.size
    shape = (1 if feature.color in ("GRAYSCALE", "GRAYSCALE_FLOAT16") else 3, height, width)
    data = np.frombuffer(weights.raw(message, "float32"), "<f4")
    if len(data) != math.prod(shape):
        raise CheckError(
            f"meanImage must hold {math.prod(shape):,} values {list(shape)}, got {len(data):,}",
            where=f"preprocessing of {feature.name!r}",
        )
    return data.reshape(shape)
