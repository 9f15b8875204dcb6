"""How the values of a model's inputs become the blobs that its layers see: shape mapping and image preprocessing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...coreml.weights import Weights
from ...errors import CheckError, InputError
from .arrays import Array

RANK5, EXACT = 0, 1
"""Numbers of NeuralNetworkMultiArrayShapeMapping."""

_LEGACY: dict[tuple[int, int], Callable[..., tuple[int, ...]]] = {
    (1, 1): lambda c: (1, 1, c, 1, 1),
    (1, 2): lambda b, c: (1, b, c, 1, 1),
    (1, 3): lambda s, b, c: (s, b, c, 1, 1),
    (3, 3): lambda c, h, w: (1, 1, c, h, w),
    (3, 4): lambda b, c, h, w: (1, b, c, h, w),
}
"""(declared rank, rank of the value): the dims [S, B, C, H, W]."""


def to_blob(value: ArrayLike, declared_rank: int, mapping: int) -> Array:
    """A multi-array as the blob of its input, float64.

    EXACT_ARRAY_MAPPING: as it is. RANK5_ARRAY_MAPPING: declared [C] becomes [1,1,C,1,1] and declared [C,H,W] becomes
    [1,1,C,H,W]; a value may bring batch, or sequence and batch, in front, and one of rank 5 stays as it is.
    Raises ``InputError`` for other ranks. Source: NeuralNetworkMultiArrayShapeMapping.
    """
    array = np.asarray(value, np.float64)
    if mapping == EXACT or array.ndim == 5:
        return array
    dims = _LEGACY.get((declared_rank, array.ndim))
    if dims is None:
        shapes = {1: "[C], [B,C], [S,B,C]", 3: "[C,H,W], [B,C,H,W]"}.get(declared_rank, "a declared rank of 1 or 3")
        raise InputError(f"the legacy mapping needs {shapes} or [S,B,C,H,W], got shape {list(array.shape)}")
    return array.reshape(dims(*array.shape))


def image_to_blob(pixels: ArrayLike, mapping: int) -> Array:
    """An image [C,H,W], or a batch of them [B,C,H,W], as the blob of its input, float64.

    RANK5_IMAGE_MAPPING: [1,B,C,H,W]; RANK4_IMAGE_MAPPING: [B,C,H,W]. Source: NeuralNetworkImageShapeMapping.
    """
    array = np.asarray(pixels, np.float64)
    if array.ndim not in (3, 4):
        raise InputError(f"an image must be [C,H,W] or [B,C,H,W], got shape {list(array.shape)}")
    batch = array[None] if array.ndim == 3 else array
    return batch if mapping == 1 else batch[None]


def preprocess(network: Any, name: str, pixels: ArrayLike, color: str, weights: Weights | None = None) -> Array:
    """Applies the preprocessing of the image input ``name`` to pixels […,C,H,W], in the order of the file.

    scaler: y = channelScale x + bias, a bias for each channel in the order of ``color`` ("RGB", "BGR" or "GRAYSCALE").
    meanImage: y = x - mean, the mean of shape [C,H,W].
    Source: NeuralNetworkImageScaler, NeuralNetworkMeanImage.
    """
    result = np.asarray(pixels, np.float64)
    for step in network.preprocessing:
        if (step.featureName or name) != name:
            continue
        if step.HasField("scaler"):
            result = result * step.scaler.channelScale + _biases(step.scaler, color)[:, None, None]
        elif step.HasField("meanImage"):
            try:
                mean = (weights or Weights()).array(step.meanImage, result.shape[-3:], name="meanImage")
            except CheckError as error:
                raise error.at(f"preprocessing of '{name}'") from None
            result = result - mean
    return result


def _biases(scaler: Any, color: str) -> Array:
    if color.startswith("GRAY"):
        return np.array([scaler.grayBias])
    colors = [scaler.redBias, scaler.greenBias, scaler.blueBias]
    return np.array(colors if color == "RGB" else colors[::-1])
