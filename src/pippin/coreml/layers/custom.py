"""Custom layers: what they compute is a user's function."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...errors import PippinError, RunError, UnsupportedError
from ...graph.ir import Value
from ...runtime.pieces import FUNCTION
from ..custom import CustomLayer, Parameters, call, find, output_shapes
from ..lowering import Blob, Context, lowering, require

DOMAIN = "pippin.custom"
"""The ONNX domain of nodes that stand for functions on arrays."""


@lowering("custom")
def custom(g: Context, p: Any, *inputs: Value) -> Blob | Value | tuple[Blob | Value, ...]:
    """A layer that the file only names; see ``pippin.custom_layer``.

    y, … = function(x, …) of the class className with its parameters and weights
    x (…) → y as the function has it. Source: CustomLayerParams.
    """
    require(bool(p.className), "className must not be empty")
    params = Parameters(g.layer, g.weights)
    layer = find(params, g.custom)
    require(len(inputs) > 0, "the layer must have 1 or more inputs, got 0")
    return _lowered(g, layer, params, inputs) if layer.lowers else _called(g, layer, params, inputs)


def _called(g: Context, layer: CustomLayer, params: Parameters, inputs: tuple[Value, ...]) -> Value | tuple[Value, ...]:
    import numpy as np

    if g.parent is not None:
        raise UnsupportedError(
            f"{params.class_name!r} stands in a branch or loop, where a function on arrays cannot be called",
            hint="register a lowering: a function (g, params, x, …) that emits operators",
        )
    shapes = output_shapes(layer, params, g.rank5, [x.shape for x in inputs])
    types = [(np.dtype(np.float32), shape) for shape in shapes]
    # what the file says goes into an exported node, so that another runtime may implement it
    attributes = {key: value for key, value in params.parameters.items() if value is not None}
    attributes[FUNCTION] = partial(call, layer, params, g.rank5)
    result: Value | tuple[Value, ...] = g.append(params.class_name, inputs, attributes, types, DOMAIN)
    return result


def _lowered(g: Context, layer: CustomLayer, params: Parameters, inputs: tuple[Value, ...]) -> Any:
    lead = None
    if layer.layout == "chw" or (layer.layout == "same" and g.rank5 and all(x.rank == 5 for x in inputs)):
        require(all(x.rank >= 3 for x in inputs), f"layout {layer.layout!r} needs inputs of rank 3 or more")
        lead = [g.size(inputs[0], axis) for axis in range(inputs[0].rank - 3)]
        inputs = tuple(_folded(g, x) for x in inputs)
    try:
        result = layer.function(g, params, *inputs)
    except PippinError:
        raise
    except Exception as error:
        what = f"the function for {params.class_name!r} raised {type(error).__name__}: {error}"
        raise RunError(what) from error
    values = result if isinstance(result, tuple) else (result,)
    for value in values:
        if not isinstance(value, Value):
            raise RunError(
                f"the function for {params.class_name!r} must answer with values, got {type(value).__name__}"
            )
    return tuple(values if lead is None else (Blob.unfold(value, lead) for value in values))


def _folded(g: Context, x: Value) -> Value:
    sizes = g.sizes(x)
    return g.reshape(x, [g.product(sizes[:-3]), *sizes[-3:]])
