"""Factors and summands a channel behind a linear operator go into its weights: batchnorm, scale, bias, multiply, add.

(W·x + b) · s + t = (s·W)·x + (s·b + t), s and t a channel of the result; so also behind a normalisation with weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir import Node, Value
from . import Done, Refused, Rule
from .scalars import affine, finite

if TYPE_CHECKING:
    from .view import View

LINEAR = (
    "Conv",
    "ConvTranspose",
    "Gemm",
    "MatMul",
    "BatchNormalization",
    "InstanceNormalization",
    "LayerNormalization",
)


def _apply(view: View, node: Node) -> Done | Refused | None:
    for x in node.inputs[:2]:
        linear = view.producer(x, *LINEAR)
        if linear is not None and x is not None and linear.outputs[0] is x:
            break
    else:
        return None
    found = affine(node, _axis(linear))
    if found is None or found[0] is not x:
        return None
    _, scale, shift = found
    if linear.op == "MatMul" and shift.any():
        return None  # it has no bias; the engine makes MatMul and Add one itself
    if any(value is not None and value.data is None for value in linear.inputs[1:]):
        return Refused("the weights are known at run time only")
    if not view.private(x, node):
        return Refused("what lies between is an output or used by others too")
    import numpy as np

    with np.errstate(all="ignore"):
        inputs, attributes = _WRITE[linear.op](view, linear, scale, shift)
    if inputs is None:
        return Refused("the weights vary along another axis than the factors")
    if not all(finite(value.data) for value in inputs[1:] if value is not None and value.data is not None):
        return Refused("the product of weights and factors is not finite")
    view.become(node, linear.op, inputs, attributes, like=linear)
    return Done(f"{'a factor' if (scale != 1).any() else 'a summand'} a channel of the result of {linear.op}")


def _axis(linear: Node) -> int:
    """The axis of the result along which weights can vary."""
    return -1 if linear.op in ("Gemm", "MatMul", "LayerNormalization") else 1


Written = tuple[list[Value | None] | None, dict[str, Any]]


def _scaled(view: View, value: Value, factor: Any) -> Value:
    """``value`` times ``factor``, in its own dtype: half the memory of float64 for one rounding more."""
    assert value.data is not None
    if bool((factor == 1).all()):
        return value
    return view.constant(value.data * factor.astype(value.dtype), value.name)


def _bias(view: View, linear: Node, bias: Value | None, count: int, scale: Any, shift: Any) -> Value | None:
    import numpy as np

    old = np.zeros(count) if bias is None or bias.data is None else bias.data.astype(np.float64).reshape(-1)
    new = np.broadcast_to(old * scale + shift, (count,))
    if bias is None and not new.any():
        return None
    weights = linear.inputs[1]
    assert weights is not None
    name = bias.name if bias is not None else f"{weights.name.rpartition('/')[0] or linear.name}/bias"
    return view.constant(new.astype(weights.dtype), name)


def _conv(view: View, linear: Node, scale: Any, shift: Any) -> Written:
    x, w, *rest = linear.inputs
    assert w is not None
    factor = scale.reshape(-1, *[1] * (w.rank - 1))
    bias = _bias(view, linear, rest[0] if rest else None, int(w.shape[0]), scale, shift)
    return _parts(x, _scaled(view, w, factor), bias), linear.attributes


def _transposed(view: View, linear: Node, scale: Any, shift: Any) -> Written:
    import numpy as np

    x, w, *rest = linear.inputs
    assert w is not None
    assert w.data is not None
    group = linear.attributes.get("group", 1)
    each = int(w.shape[1])
    factor = np.broadcast_to(scale, (group * each,)).reshape(group, 1, each, *[1] * (w.rank - 2))
    split = Value(w.name, w.dtype, (), w.data.reshape(group, -1, *w.data.shape[1:]))
    scaled = _scaled(view, split, factor)
    if scaled is not split:
        assert scaled.data is not None
        w = Value(scaled.name, w.dtype, w.shape, scaled.data.reshape(w.data.shape))
    return _parts(x, w, _bias(view, linear, rest[0] if rest else None, group * each, scale, shift)), linear.attributes


def _gemm(view: View, linear: Node, scale: Any, shift: Any) -> Written:
    import numpy as np

    x, w, *rest = linear.inputs
    assert w is not None
    assert w.data is not None
    transposed = bool(linear.attributes.get("transB", 0))
    count = int(w.data.shape[0 if transposed else 1])
    bias = rest[0] if rest else None
    if bias is not None:
        if bias.data is None or bias.data.size not in (1, count) or bias.data.shape[-1:] not in ((1,), (count,), ()):
            return None, {}
        beta = linear.attributes.get("beta", 1.0)
        bias = Value(bias.name, bias.dtype, (), bias.data.astype(np.float64) * beta)
    factor = scale.reshape(-1, 1) if transposed else scale
    attributes = {name: value for name, value in linear.attributes.items() if name != "beta"}
    return _parts(x, _scaled(view, w, factor), _bias(view, linear, bias, count, scale, shift)), attributes


def _matmul(view: View, linear: Node, scale: Any, shift: Any) -> Written:
    x, w = linear.inputs
    assert w is not None
    if w.rank < 2:
        return None, {}
    return [x, _scaled(view, w, scale)], linear.attributes


def _normalization(view: View, linear: Node, scale: Any, shift: Any) -> Written:
    x, gamma, *rest = linear.inputs
    assert gamma is not None
    if gamma.rank != 1:
        return None, {}
    beta = _bias(view, linear, rest[0] if rest else None, int(gamma.shape[0]), scale, shift)
    inputs = _parts(x, _scaled(view, gamma, scale), beta)
    if linear.op != "LayerNormalization" and beta is None:
        return None, {}
    return [*inputs, *rest[1:]], linear.attributes


def _parts(x: Value | None, w: Value, bias: Value | None) -> list[Value | None]:
    return [x, w] if bias is None else [x, w, bias]


_WRITE = {
    "Conv": _conv,
    "ConvTranspose": _transposed,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "BatchNormalization": _normalization,
    "InstanceNormalization": _normalization,
    "LayerNormalization": _normalization,
}

RULE = Rule("absorb", ("BatchNormalization", "Mul", "Div", "Add", "Sub"), _apply)
