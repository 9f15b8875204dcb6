"""From the outputs of a run to what ``predict`` answers: declared shapes and dtypes, pictures, labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import CheckError
from .features import Feature, to_integers
from .pictures import to_picture

if TYPE_CHECKING:
    from .model import Model

Decoder = Callable[[Any], Any]


def decoder(model: Model, entry: Feature, steps: int) -> Decoder:
    """How the array of an output becomes its value; it is [S·B,C,H,W] for S ``steps`` above 0, else of true rank."""
    import numpy as np

    if entry.kind == "image":
        return lambda value: to_picture(value, entry)
    if entry.kind == "double":
        return lambda value: float(value.reshape(-1)[0])
    dtype = np.dtype(entry.dtype or "float32")
    declared = entry.shape or ()
    legacy = model.legacy

    def array(value: Any) -> Any:
        if value.shape != declared:
            value = shaped(value, declared, steps, legacy)
        if dtype == value.dtype:
            return value
        return to_integers(value, dtype) if dtype.kind == "i" else value.astype(dtype)

    return array


def shaped(value: Any, declared: tuple[int, ...], steps: int, legacy: bool) -> Any:
    """An output in the declared shape if the elements fit, else as the network made it, without leading ones."""
    true = (steps, value.shape[0] // steps, *value.shape[1:]) if steps else value.shape
    return value.reshape(shape(true, declared, legacy))


def shape(true: tuple[int, ...], declared: tuple[int, ...], legacy: bool) -> tuple[int, ...]:
    """The shape in which an array of the ``true`` shape is answered."""
    if declared and math.prod(declared) == math.prod(true):
        return declared
    return true[2:] if legacy and len(true) == 5 and true[:2] == (1, 1) else true


def classifier(model: Model, probabilities: str, steps: int) -> Callable[[Any], dict[str, Any]]:
    """How the probabilities of a classifier become the label and everything else it declares."""
    labels = model.labels
    if not labels:
        raise CheckError("the classifier must have class labels, got none")
    makers: dict[str, Decoder] = {}
    for name, entry in model.outputs.items():
        if name == model.predicted_feature:
            makers[name] = lambda value: labels[int(value.argmax())]
        elif entry.kind == "dictionary":
            makers[name] = lambda value: dict(zip(labels, value.reshape(-1).tolist(), strict=True))
        elif name == probabilities:
            makers[name] = decoder(model, entry, steps)

    def answer(value: Any) -> dict[str, Any]:
        if value.size != len(labels):
            raise CheckError(f"the network yields {value.size} probabilities for {len(labels)} class labels")
        return {name: make(value) for name, make in makers.items()}

    return answer
