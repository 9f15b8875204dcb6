"""Small constants are computed while the graph is built, so that shapes derived from shapes stay known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .ir import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

LIMIT = 4096
"""Elements in the result and in each input; larger constants are left to the engine."""


def fold(op: str, inputs: Sequence[Value | None], attributes: dict[str, Any]) -> NDArray[Any] | None:
    """The result of an operator on small constants; None where it is not folded."""
    function = _TABLE.get(op)
    if function is None:
        return None
    arrays: list[NDArray[Any] | None] = []
    for value in inputs:
        if value is None:
            arrays.append(None)
        elif value.data is None or value.data.size > LIMIT:
            if op == "Shape" and value.static:
                import numpy as np

                return np.array(value.shape, np.int64)[attributes.get("start", 0) : attributes.get("end", value.rank)]
            return None
        else:
            arrays.append(value.data)
    import numpy as np

    with np.errstate(all="ignore"):
        result = function(attributes, *arrays)
    if result is None or result.size > LIMIT:
        return None
    return np.asarray(result)


def split(inputs: Sequence[Value | None], attributes: dict[str, Any], count: int) -> Sequence[NDArray[Any]] | None:
    """The parts of a small constant that Split makes; None where it is not folded."""
    import numpy as np

    x, sizes = inputs[0], inputs[1] if len(inputs) > 1 else None
    if x is None or x.data is None or x.data.size > LIMIT or (sizes is not None and sizes.data is None):
        return None
    axis = attributes.get("axis", 0)
    if not -x.rank <= axis < x.rank:
        return None
    if sizes is not None and sizes.data is not None:
        ends = np.cumsum(sizes.data)
        if len(ends) != count or sizes.data.min() < 0 or ends[-1] != x.data.shape[axis]:
            return None
        return np.split(x.data, ends[:-1], axis=axis)
    return np.split(x.data, count, axis=axis) if x.data.shape[axis] % count == 0 else None


def _binary(name: str) -> Callable[..., Any]:
    def apply(_: dict[str, Any], a: NDArray[Any], b: NDArray[Any]) -> Any:
        import numpy as np

        if math.prod(np.broadcast_shapes(a.shape, b.shape)) > LIMIT:
            return None
        return getattr(np, name)(a, b)

    return apply


def _variadic(name: str) -> Callable[..., Any]:
    pair = _binary(name)

    def apply(attributes: dict[str, Any], first: NDArray[Any], *others: NDArray[Any]) -> Any:
        for other in others:
            first = None if first is None else pair(attributes, first, other)
        return first

    return apply


def _div(_: dict[str, Any], a: NDArray[Any], b: NDArray[Any]) -> Any:
    import numpy as np

    if a.dtype.kind == "f":
        return np.divide(a, b)
    if (b == 0).any():
        return None
    return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)  # ONNX truncates


def _mod(attributes: dict[str, Any], a: NDArray[Any], b: NDArray[Any]) -> Any:
    import numpy as np

    if a.dtype.kind != "f" and (b == 0).any():
        return None
    return (np.fmod if attributes.get("fmod") else np.mod)(a, b)


def _where(_: dict[str, Any], condition: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> Any:
    import numpy as np

    if math.prod(np.broadcast_shapes(condition.shape, a.shape, b.shape)) > LIMIT:
        return None
    return np.where(condition, a, b)


def _gather(attributes: dict[str, Any], x: NDArray[Any], index: NDArray[Any]) -> Any:
    axis = attributes.get("axis", 0)
    if x.ndim == 0 or (index.size and (index.min() < -x.shape[axis] or index.max() >= x.shape[axis])):
        return None
    return x.take(index, axis=axis)


def _squeeze(_: dict[str, Any], x: NDArray[Any], axes: NDArray[Any] | None = None) -> Any:
    import numpy as np

    return np.squeeze(x, None if axes is None else tuple(int(a) for a in axes))


def _unsqueeze(_: dict[str, Any], x: NDArray[Any], axes: NDArray[Any]) -> Any:
    import numpy as np

    return np.expand_dims(x, tuple(int(a) for a in axes))


def _concat(attributes: dict[str, Any], *parts: NDArray[Any]) -> Any:
    import numpy as np

    return np.concatenate(parts, axis=attributes["axis"])


def _slice(_: dict[str, Any], x: NDArray[Any], starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    index = [slice(None)] * x.ndim
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0:
            return None
        index[int(axis)] = slice(int(start), int(end), int(step))
    return x[tuple(index)]


def _reshape(attributes: dict[str, Any], x: NDArray[Any], shape: NDArray[Any]) -> Any:
    sizes = [int(s) for s in shape]
    if not attributes.get("allowzero"):
        if any(size == 0 and axis >= x.ndim for axis, size in enumerate(sizes)):
            return None
        sizes = [x.shape[axis] if size == 0 else size for axis, size in enumerate(sizes)]
    known = math.prod(size for size in sizes if size >= 0)
    if (-1 in sizes and (not known or x.size % known)) or (-1 not in sizes and known != x.size):
        return None
    return x.reshape(sizes)


def _shape(attributes: dict[str, Any], x: NDArray[Any]) -> Any:
    import numpy as np

    return np.array(x.shape, np.int64)[attributes.get("start", 0) : attributes.get("end", x.ndim)]


def _cast(attributes: dict[str, Any], x: NDArray[Any]) -> Any:
    from onnx.helper import tensor_dtype_to_np_dtype

    dtype = tensor_dtype_to_np_dtype(attributes["to"])
    return x.astype(dtype) if dtype.kind in "fiub" else None


def _unary(name: str) -> Callable[..., Any]:
    def apply(_: dict[str, Any], x: NDArray[Any]) -> Any:
        import numpy as np

        return getattr(np, name)(x)

    return apply


_TABLE: dict[str, Callable[..., Any]] = {
    "Add": _binary("add"),
    "Sub": _binary("subtract"),
    "Mul": _binary("multiply"),
    "Div": _div,
    "Max": _variadic("maximum"),
    "Min": _variadic("minimum"),
    "Mod": _mod,
    "Where": _where,
    "Greater": _binary("greater"),
    "GreaterOrEqual": _binary("greater_equal"),
    "Less": _binary("less"),
    "LessOrEqual": _binary("less_equal"),
    "Equal": _binary("equal"),
    "And": _binary("logical_and"),
    "Or": _binary("logical_or"),
    "Not": _unary("logical_not"),
    "Abs": _unary("abs"),
    "Neg": _unary("negative"),
    "Floor": _unary("floor"),
    "Ceil": _unary("ceil"),
    "Gather": _gather,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Concat": _concat,
    "Slice": _slice,
    "Reshape": _reshape,
    "Shape": _shape,
    "Cast": _cast,
    "Identity": lambda _, x: x,
    "Transpose": lambda attributes, x: x.transpose(attributes.get("perm")),
}
