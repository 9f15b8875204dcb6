"""Matrix products and normalisation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ....errors import UnsupportedError
from ... import attributes as a
from ..converter import LAST, Converter, known
from ..registry import rule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ....graph.ir import Node, Value


@rule("Gemm")
def gemm(c: Converter, n: Node) -> None:
    """FullConnection with constant weights, else MatMulFusion and AddFusion."""
    x, w, bias = n.inputs[0], n.inputs[1], c.given(n, 2)
    assert x is not None
    assert w is not None
    alpha, beta = float(n.attributes.get("alpha", 1.0)), float(n.attributes.get("beta", 1.0))
    turned_x, turned_w = bool(n.attributes.get("transA")), bool(n.attributes.get("transB"))
    flat = None if bias is None or bias.data is None else bias.data.reshape(-1)
    plain = not turned_x and w.data is not None and (bias is None or flat is not None)
    kind, value = c.activation(n)
    if plain and w.data is not None:
        weights = (w.data if turned_w else w.data.T) * alpha
        out = weights.shape[0]
        if flat is None or flat.size in (1, out):
            operands = [c.plain(x), c.constant(weights.astype(w.data.dtype), w.name)]
            if flat is not None:
                operands.append(c.constant(_full(flat * beta, out).astype(w.data.dtype), bias.name if bias else ""))
            struct = a.FullConnection(bias is not None, True, 1, kind)
            c.put(value, c.node(struct, *operands, like=value))
            return
    left = c.plain(x)
    if alpha != 1.0:
        left = c.b.MulFusion(left, c.number(alpha))
    end = kind if bias is None else type(kind)(0)
    y = c.node(a.MatMulFusion(turned_x, turned_w, end), left, c.plain(w), like=value)
    if bias is not None:
        more = c.plain(bias)
        y = c.b.AddFusion(y, more if beta == 1.0 else c.b.MulFusion(more, c.number(beta)), activationType=kind)
    c.put(value, y)


def _full(flat: NDArray[Any], count: int) -> NDArray[Any]:
    import numpy as np

    return np.broadcast_to(flat, (count,))


@rule("MatMul")
def matmul(c: Converter, n: Node) -> None:
    """MatMulFusion."""
    x, w = n.inputs[0], n.inputs[1]
    assert x is not None
    assert w is not None
    kind, value = c.activation(n)
    c.put(value, c.node(a.MatMulFusion(activationType=kind), c.plain(x), c.plain(w), like=value))


# -- normalisation -----------------------------------------------------------------------------------------------------


@rule("BatchNormalization")
def batch_norm(c: Converter, n: Node) -> None:
    """FusedBatchNorm over the last dim, images with channels last."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    if n.attributes.get("training_mode"):
        raise UnsupportedError("statistics of the batch at hand cannot be asked for")
    vectors = [c.plain(v) for v in n.inputs[1:5] if v is not None]
    struct = a.FusedBatchNorm(float(n.attributes.get("epsilon", 1e-5)))
    if x.rank == 4:
        c.put(value, c.node(struct, c.last(x), *vectors, like=value), last=True)
    elif x.rank == 2:
        c.put(value, c.node(struct, c.plain(x), *vectors, like=value))
    else:
        order = [0, *range(2, x.rank), 1]
        back = [order.index(axis) for axis in range(x.rank)]
        c.put(value, c.turned(c.b.node(struct, c.turned(c.plain(x), order), *vectors), back))


@rule("InstanceNormalization")
def instance_norm(c: Converter, n: Node) -> None:
    """InstanceNorm on an image with channels last."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    vectors = [c.plain(v) for v in n.inputs[1:3] if v is not None]
    struct = a.InstanceNorm(float(n.attributes.get("epsilon", 1e-5)))
    c.put(value, c.node(struct, c.last(x), *vectors, like=value), last=True)


@rule("LayerNormalization")
def layer_norm(c: Converter, n: Node) -> None:
    """LayerNormFusion."""
    import numpy as np

    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    if len(n.outputs) > 1:
        raise UnsupportedError("mean and deviation cannot be asked for")
    axis = int(n.attributes.get("axis", -1)) % x.rank
    inner = known(x.shape[axis:])
    vectors = []
    for place, none in ((1, 1.0), (2, 0.0)):
        given = c.given(n, place)
        if given is None:
            vectors.append(c.constant(np.full(inner, none, np.float32)))
        elif given.data is not None:
            vectors.append(c.constant(np.broadcast_to(given.data, inner), given.name))
        elif list(given.shape) == inner:
            vectors.append(c.plain(given))
        else:
            raise UnsupportedError(f"scale and bias must have dims {inner}, got {list(given.shape)}")
    struct = a.LayerNormFusion(axis, float(n.attributes.get("epsilon", 1e-5)), True, axis)
    c.put(value, c.node(struct, c.plain(x), *vectors, like=value))


@rule("LRN")
def lrn(c: Converter, n: Node) -> None:
    """LRN, whose alpha is not divided by the size of the window."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    size = int(n.attributes["size"])
    if size % 2 == 0:
        raise UnsupportedError(f"a window of {size} channels has no middle")
    alpha = float(n.attributes.get("alpha", 1e-4)) / size
    struct = a.LRN(size // 2, float(n.attributes.get("bias", 1.0)), alpha, float(n.attributes.get("beta", 0.75)))
    c.put(value, c.node(struct, c.last(x), like=value), last=True)


@rule("LpNormalization")
def lp_norm(c: Converter, n: Node) -> None:
    """L2NormalizeFusion with the least epsilon there is."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    if int(n.attributes.get("p", 2)) != 2:
        raise UnsupportedError("only the L2 norm can be said")
    last = c.has_last(x)
    axis = c.axis(int(n.attributes.get("axis", -1)), x.rank, last)
    struct = a.L2NormalizeFusion([axis], math.ldexp(1.0, -126))
    c.put(value, c.node(struct, c.last(x) if last else c.plain(x), like=value), last=last)


@rule("Softmax", "LogSoftmax")
def softmax(c: Converter, n: Node) -> None:
    """Softmax, LogSoftmax."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    last = c.has_last(x)
    axis = c.axis(int(n.attributes.get("axis", -1)), x.rank, last)
    struct = a.Softmax([axis]) if n.op == "Softmax" else a.LogSoftmax(axis)
    c.put(value, c.node(struct, c.last(x) if last else c.plain(x), like=value), last=last)


# -- reduction ---------------------------------------------------------------------------------------------------------

_MODES = {
    "ReduceMean": 0,
    "ReduceMax": 1,
    "ReduceMin": 2,
    "ReduceProd": 3,
    "ReduceSum": 4,
    "ReduceSumSquare": 5,
    "ReduceL1": 6,
    "ReduceL2": 8,
}


@rule(*_MODES, "ReduceLogSum", "ReduceLogSumExp")
def reduce(c: Converter, n: Node) -> None:
    """ReduceFusion; logarithms of sums as Log behind it, exponentials less their maximum before it."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    axes = _axes(c, n, x)
    if axes is None:
        return c.put(value, c.plain(x))
    keep = bool(n.attributes.get("keepdims", 1))
    last = c.has_last(x) and (keep or set(axes) == {2, 3})
    places = c.ints(sorted(LAST.index(axis) if last else axis for axis in axes))
    operand = c.last(x) if last else c.plain(x)
    if n.op in _MODES:
        y = c.node(a.ReduceFusion(keep, _MODES[n.op]), operand, places, like=value)
    elif n.op == "ReduceLogSum":
        y = c.node(a.Log(), c.b.ReduceFusion(operand, places, keepDims=keep, mode=4), like=value)
    else:
        most = c.b.ReduceFusion(operand, places, keepDims=True, mode=1)
        powers = c.b.ExpFusion(c.b.SubFusion(operand, most))
        whole = c.b.Log(c.b.ReduceFusion(powers, places, keepDims=keep, mode=4))
        less = most if keep else c.b.ReduceFusion(operand, places, keepDims=False, mode=1)
        y = c.node(a.AddFusion(), whole, less, like=value)
    return c.put(value, y, last=last and keep)


def _axes(c: Converter, n: Node, x: Value) -> list[int] | None:
    """The axes that go; None where nothing is to be done."""
    given = c.read(n, 1, "axes")
    axes = [int(axis) % x.rank for axis in given] if given is not None and given.size else []
    if not axes and n.attributes.get("noop_with_empty_axes"):
        return None
    return axes or list(range(x.rank))


@rule("ArgMax", "ArgMin")
def arg_max(c: Converter, n: Node) -> None:
    """ArgMaxFusion; the least one as that of -x."""
    x, value = n.inputs[0], n.outputs[0]
    assert x is not None
    if n.attributes.get("select_last_index"):
        raise UnsupportedError("of equal elements the first one is told, not the last")
    operand = c.plain(x)
    if n.op == "ArgMin":
        operand = c.b.Neg(operand)
    axis, keep = int(n.attributes.get("axis", 0)) % x.rank, bool(n.attributes.get("keepdims", 1))
    c.put(value, c.node(a.ArgMaxFusion(axis, 1, keep), operand, like=value))


@rule("TopK")
def top_k(c: Converter, n: Node) -> None:
    """TopKFusion; the least ones as the largest of -x."""
    x = n.inputs[0]
    assert x is not None
    k = c.read(n, 1, "k")
    assert k is not None
    axis, most = int(n.attributes.get("axis", -1)) % x.rank, bool(n.attributes.get("largest", 1))
    operand = c.plain(x) if most else c.b.Neg(c.plain(x))
    values, places = c.b.node(a.TopKFusion(True, axis), operand, c.whole(int(k.reshape(-1)[0])), outputs=2)
    c.put(n.outputs[0], values if most else c.b.Neg(values))
    c.put(n.outputs[1], places)
