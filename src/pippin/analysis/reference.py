"""A loaded model run by the float64 reference instead of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..coreml import answers, custom
from ..coreml.features import ImageInput
from ..errors import UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..coreml.model import Model
    from ..loading import AnyModel
    from ..onnx_model import OnnxModel


def blobs(
    model: Model,
    data: Mapping[str, Any],
    *,
    keep: Iterable[str] | None = None,
    timeout: float | None = None,
    rounding: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Every blob of the network by name, of its true rank, for the inputs ``data`` as ``predict`` takes them.

    ``keep`` names the blobs to answer with (default: all). ``rounding`` is applied to each blob before others read it.
    Slow and plain: seconds where the engine takes milliseconds.
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
    run = Interpreter(model.document, custom=own, rounding=rounding)
    return run.run(given, keep=keep, timeout=timeout)


def pixels(model: Model, name: str, value: Any) -> NDArray[np.float32]:
    """A picture as the first layer sees it: [1,C,H,W], preprocessed."""
    return preprocessed(model, name, model.encoder(name)(value))


def preprocessed(model: Model, name: str, levels: NDArray[Any]) -> NDArray[np.float32]:
    """Levels [1,C,H,W] of a picture in the model's order of channels after its preprocessing."""
    import numpy as np

    from ..reference.coreml.blobs import preprocess

    color = model.inputs[name].color or "RGB"
    return preprocess(model.document.network, name, levels, color, model.weights).astype(np.float32)


def onnx_blobs(model: OnnxModel, data: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Every value of an ONNX graph by ONNX's own reference evaluator, in the graph's types; bodies left out.

    Raises ``UnsupportedError`` for what that evaluator does not know.
    """
    import numpy as np
    import onnx
    from onnx.reference import ReferenceEvaluator

    proto = onnx.load(str(model.path)) if model.path is not None else onnx.ModelProto.FromString(model.proto_bytes())
    _conditions(proto.graph)
    names = [*model.values]
    feeds = model.feeds(data)
    try:
        with np.errstate(all="ignore"):
            run = ReferenceEvaluator(proto)
            results = run.run(names, feeds)
    except Exception as error:  # it raises whatever its operators raise
        raise UnsupportedError(f"ONNX's reference evaluator gave up: {type(error).__name__}: {error}") from None
    # sequences and optional values are no arrays
    return feeds | {name: value for name, value in zip(names, results, strict=True) if hasattr(value, "dtype")}


def _conditions(graph: Any) -> None:
    """Gives every loop that goes on until its count is reached a condition that holds: without one the evaluator makes
    no round at all."""
    import numpy as np
    from onnx import helper, numpy_helper

    always = "pippin/always"
    nodes = list(graph.node)
    bare = False
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _conditions(attribute.g)
        if node.op_type == "Loop" and not node.domain and len(node.input) > 1 and not node.input[1]:
            node.input[1] = always
            bare = True
    if bare:
        del graph.node[:]
        value = numpy_helper.from_array(np.array(True))
        graph.node.extend([helper.make_node("Constant", [], [always], value=value), *nodes])


def answer(model: AnyModel, data: Mapping[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
    """What ``predict`` answers, computed by the reference; for ONNX models by ONNX's own, without a time limit."""
    import numpy as np

    from ..onnx_model import OnnxModel

    if isinstance(model, OnnxModel):
        found = onnx_blobs(model, data)
        return model.decode({info.name: found[info.name] for info in model.proto.graph.output})

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
