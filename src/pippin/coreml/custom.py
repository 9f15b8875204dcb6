"""Custom layers: user functions by class name.

A function of two parameters works on arrays, while the network runs::

    @pippin.custom_layer("Swish")
    def swish(inputs, params):
        return [x / (1 + np.exp(-params.parameters["beta"] * x)) for x in inputs]

A function of more parameters is a lowering: it emits ONNX operators, so that the layer is fast, exported and free of
NumPy::

    @pippin.custom_layer("Swish", layout="same")
    def swish(g, params, x):
        return g.Mul(x, g.Sigmoid(g.Mul(x, params.parameters["beta"])))
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import CheckError, InputError, PippinError, RunError, UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .weights import Weights

Function = TypeVar("Function", bound=Callable[..., Any])


class Parameters:
    """What the file says about a custom layer.

    class_name   the name under which a function is registered
    name         the layer's name
    description  the author's words about it
    parameters   a dict of numbers, strings and booleans
    weights      a list of arrays: float32 in one dimension; bytes that the file does not explain as uint8
    outputs      how many outputs the layer has
    """

    def __init__(self, layer: Any, weights: Weights) -> None:
        message = layer.custom
        self.class_name: str = message.className
        self.name: str = layer.name
        self.description: str = message.description
        self.parameters: dict[str, Any] = {
            key: getattr(value, value.WhichOneof("value")) if value.WhichOneof("value") else None
            for key, value in sorted(message.parameters.items())
        }
        self.outputs: int = len(layer.output)
        self._messages = list(message.weights)
        self._weights = weights

    @cached_property
    def weights(self) -> list[NDArray[Any]]:
        return [self._array(message, index) for index, message in enumerate(self._messages)]

    def _array(self, message: Any, index: int) -> NDArray[Any]:
        import numpy as np

        encoding = self._weights.encoding(message)
        if encoding.kind == "none":
            return np.zeros(0, np.float32)
        if encoding.kind == "mixed":
            raise CheckError(f"weights[{index}] must be stored in one encoding, got {self._weights.stored(message)}")
        if encoding.kind == "linear" and not message.HasField("quantization"):
            return np.frombuffer(self._weights.raw(message, "raw"), np.uint8)
        return np.array(self._weights.array(message, (self._weights.count(message),), name=f"weights[{index}]"))

    def __str__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        text = f"{self.class_name!r} (parameters: {shown or 'none'}"
        return f"{text}; weights: {len(self._messages)})" if self._messages else f"{text})"


@dataclass(frozen=True)
class CustomLayer:
    """A function for a class of custom layers; see ``custom_layer``."""

    function: Callable[..., Any]
    shapes: Callable[..., Any] | None = None
    layout: str = "nd"
    lowers: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.layout not in ("nd", "chw", "same"):
            raise ValueError(f"layout must be 'nd', 'chw' or 'same', got {self.layout!r}")
        parameters = inspect.signature(self.function).parameters.values()
        plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        several = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        if len(plain) < 2:
            raise TypeError("a custom layer's function must take (inputs, params) or (g, params, x, …)")
        object.__setattr__(self, "lowers", several or len(plain) > 2)


_LAYERS: dict[str, CustomLayer] = {}


def custom_layer(
    class_name: str, *, shapes: Callable[..., Any] | None = None, layout: str = "nd"
) -> Callable[[Function], Function]:
    """Registers a function for custom layers of a class, for every model that is loaded from then on.

    ``function(inputs, params)`` gets a list of float32 arrays, [S,B,C,H,W] in legacy networks, and ``Parameters``; it
    answers with a list of arrays (or one array for one output). ``shapes(params, input_shapes)`` answers with their
    shapes; without it they are found by calling the function with zeros when a model is loaded.

    ``function(g, params, x, …)`` emits operators, ``g.Sigmoid(x)``, and answers with values. ``layout`` says in which
    form it gets the inputs: "nd" as they are, "same" as [N,C,H,W] where that is how they are stored (for functions of
    each element), "chw" always as [N,C,H,W].

    A second registration takes the place of the first.
    """

    def decorate(function: Function) -> Function:
        _LAYERS[class_name] = CustomLayer(function, shapes, layout)
        return function

    return decorate


def registered() -> dict[str, CustomLayer]:
    """What is registered for all models, by class name."""
    return dict(_LAYERS)


def checked(own: Any) -> None:
    """Refuses what is no mapping from class names to functions, with an ``InputError``."""
    if own is None:
        return
    if not isinstance(own, Mapping):
        raise InputError(f"custom_layers must be a dict of functions by class name, got {type(own).__name__}")
    for name, function in own.items():
        if not isinstance(function, CustomLayer) and not callable(function):
            raise InputError(f"custom_layers[{name!r}] must be a function, got {type(function).__name__}")


def find(params: Parameters, own: Mapping[str, Any]) -> CustomLayer:
    """The function for a layer: the model's own before those for all models."""
    layer = own.get(params.class_name) or _LAYERS.get(params.class_name)
    if layer is None:
        raise UnsupportedError(
            f"no function is registered for the custom layer {params}",
            hint=f"pippin.custom_layer({params.class_name!r})(function), or load(…, custom_layers=…); on the command"
            " line --custom-layers FILE.py",
        )
    return layer if isinstance(layer, CustomLayer) else CustomLayer(layer)


def call(
    layer: CustomLayer, params: Parameters, legacy: bool, inputs: Sequence[NDArray[Any]]
) -> list[NDArray[np.float32]]:
    """Calls a function on arrays; its answer as float32 arrays. What goes wrong in it is a ``RunError``."""
    import numpy as np

    try:
        result = layer.function(list(inputs), params)
        if isinstance(result, np.ndarray) and params.outputs == 1:
            result = [result]
        arrays = [np.ascontiguousarray(value, np.float32) for value in result]
    except PippinError:
        raise
    except Exception as error:
        what = f"the function for {params.class_name!r} raised {type(error).__name__}: {error}"
        raise RunError(what) from error
    if len(arrays) != params.outputs:
        raise RunError(f"the function for {params.class_name!r} must answer {params.outputs} arrays, got {len(arrays)}")
    return [_five(array, params) for array in arrays] if legacy else arrays


def _five(array: NDArray[np.float32], params: Parameters) -> NDArray[np.float32]:
    """An array as [S,B,C,H,W]: from [C] or [C,H,W] as inputs are."""
    if array.ndim == 1:
        return array.reshape(1, 1, -1, 1, 1)
    if array.ndim == 3:
        return array[None, None]
    if array.ndim != 5:
        raise RunError(
            f"the function for {params.class_name!r} must answer with [S,B,C,H,W] in a network of rank 5,"
            f" got an array of the shape {list(array.shape)}"
        )
    return array


def output_shapes(
    layer: CustomLayer, params: Parameters, legacy: bool, inputs: Sequence[tuple[int | str, ...]]
) -> list[tuple[int | str, ...]]:
    """The shapes of a function's answer: as ``shapes`` tells, or as a call with zeros shows."""
    import numpy as np

    hint = f"pippin.custom_layer({params.class_name!r}, shapes=…) tells the shapes of the outputs"
    if layer.shapes is not None:
        try:
            found = [tuple(shape) for shape in layer.shapes(params, list(inputs))]
        except Exception as error:
            raise RunError(f"shapes for {params.class_name!r} raised {type(error).__name__}: {error}") from error
        if len(found) != params.outputs:
            raise RunError(f"shapes for {params.class_name!r} must answer {params.outputs} shapes, got {len(found)}")
        return found
    if any(isinstance(dim, str) for shape in inputs for dim in shape):
        raise UnsupportedError(f"the sizes that {params.class_name!r} gets are not known", hint=hint)
    try:
        with np.errstate(all="ignore"):
            arrays = call(layer, params, legacy, [np.zeros(shape, np.float32) for shape in inputs])  # type: ignore[arg-type]
    except RunError as error:
        raise UnsupportedError(f"{error.message} (called with zeros to find the shapes)", hint=hint) from error
    return [array.shape for array in arrays]


def twins(own: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Functions on arrays for the reference interpreter, which calls them with (context, message, x, …)."""

    def adapt(context: Any, message: Any, *inputs: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        import numpy as np

        params = Parameters(context.layer, context.weights)
        layer = find(params, own)
        if layer.lowers:
            raise UnsupportedError(f"the function for {params.class_name!r} is a lowering: there is no second opinion")
        result = layer.function([np.asarray(x) for x in inputs], params)
        return (result,) if isinstance(result, np.ndarray) else tuple(result)

    return dict.fromkeys([*_LAYERS, *own], adapt)
