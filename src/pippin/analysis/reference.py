"""A loaded model run by the float64 reference instead of the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..coreml import answers, custom
from ..coreml.features import ImageInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..coreml.model import Model


def blobs(
    model: Model, data: Mapping[str, Any], *, keep: Iterable[str] | None = None, timeout: float | None = None
) -> dict[str, NDArray[np.float64]]:
    """Every blob of the network by name, of its true rank, for the inputs ``data`` as ``predict`` takes them.

    ``keep`` names the blobs to answer with (default: all). Slow and plain: seconds where the engine takes milliseconds.
    """
    from ..reference.coreml.blobs import preprocess
    from ..reference.coreml.interpreter import Interpreter

    given: dict[str, Any] = {}
    for name, value in model.feeds(data).items():
        encode = model.encoder(name)
        if isinstance(encode, ImageInput):
            color = encode.feature.color or "RGB"
            value = preprocess(model.document.network, name, value, color, model.weights)
        # the engine's [N,C,H,W] is [1,N,C,H,W] here
        given[name] = value[None] if model.legacy and value.ndim == 4 else value
    own = custom.twins(model.custom_layers)
    run = Interpreter(model.document, custom=own)
    return run.run(given, keep=keep, timeout=timeout)


def pixels(model: Model, name: str, value: Any) -> NDArray[np.float32]:
    """A picture as the first layer sees it: [1,C,H,W], preprocessed."""
    import numpy as np

    from ..reference.coreml.blobs import preprocess

    encode = model.encoder(name)
    color = encode.feature.color or "RGB"
    return preprocess(model.document.network, name, encode(value), color, model.weights).astype(np.float32)


def answer(model: Model, data: Mapping[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
    """What ``predict`` answers, computed by the reference."""
    import numpy as np

    names = model.blob_outputs()
    found = blobs(model, data, keep=names, timeout=timeout)
    result: dict[str, Any] = {}
    for name in names:
        value = np.ascontiguousarray(found[name], np.float32)
        if model.labels is not None and name == model.probabilities:
            result.update(answers.classifier(model, name, 0)(value))
        else:
            result[name] = answers.decoder(model, model.outputs[name], 0)(value)
    return result
