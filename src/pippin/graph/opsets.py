"""A graph in another ONNX operator set than the one it was built in.

The builder emits one operator set. Another one is met operator by operator: most have not changed, or take more types
and attributes whose defaults are what was before; a few get another form here; what has none is refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedError
from . import schemas
from .builder import Builder
from .ir import Graph, Node, Value

if TYPE_CHECKING:
    import numpy as np

LOWEST = 13
"""The first operator set with the axes of Squeeze and ReduceSum as inputs, as the builder emits them."""
HIGHEST = 24
"""The last one whose operators were compared with those that the builder emits."""

Older = Callable[[Builder, Node, int], Any]


def convert(graph: Graph, opset: int) -> None:
    """Rewrites ``graph`` and its bodies in place for the operator set ``opset``.

    Raises ``UnsupportedError`` with the layer's name for operators that it lacks, and outside 13..24.
    """
    if not LOWEST <= opset <= HIGHEST:
        raise UnsupportedError(f"the operator set must lie between {LOWEST} and {HIGHEST}, got {opset}")
    if opset == graph.opset:
        return
    names = {node.name for node in graph.walk()} | {value.name for node in graph.walk() for value in node.outputs}
    names |= {value.name for value in graph.constants()} | {value.name for value in graph.inputs}
    _convert(graph, opset, names)


def _convert(graph: Graph, opset: int, names: set[str]) -> None:
    g = Builder(graph.name, opset=opset)
    g._names = names
    for node in graph.nodes:
        for body in node.subgraphs():
            _convert(body, opset, names)
        g.prefix, g.where = node.name.rpartition("/")[0], node.where
        if node.domain:
            g.graph.nodes.append(node)
            continue
        before = schemas.schema(node.op, graph.opset)
        older = _OLDER.get(node.op)
        if older is not None and (made := older(g, node, opset)) is not None:
            _take(g, made, node)
            continue
        _fit(node, before, opset)
        g.graph.nodes.append(node)
    graph.nodes, graph.opset = g.graph.nodes, opset


def _take(g: Builder, made: Value, node: Node) -> None:
    """Lets the node that makes ``made`` give the output of ``node``."""
    (old,) = node.outputs
    if made.node is None:
        made = g.append("Identity", [made], {}, [(old.dtype, old.shape)])
    assert made.node is not None
    made.node.outputs = [old]
    made.node.name = node.name
    old.node = made.node


def _fit(node: Node, before: Any, opset: int) -> None:
    """Checks that the operator set has ``node`` as it is; drops attributes that only state their default."""
    try:
        schema = schemas.schema(node.op, opset)
    except Exception:
        raise _refusal(node, opset, f"has no {node.op}, which came with {before.since_version}") from None
    if schema.since_version == before.since_version:
        return
    for name in [name for name in node.attributes if name not in schema.attributes]:
        if not _default(node, name, before):
            raise _refusal(node, opset, f"has no {name} of {node.op} (it is {node.attributes[name]!r})")
        del node.attributes[name]
    count = len(node.inputs)
    while count > schema.min_input and node.inputs[count - 1] is None:
        count -= 1
    if count > schema.max_input:
        raise _refusal(node, opset, f"takes {schema.max_input} inputs for {node.op}, there are {count}")
    del node.inputs[count:]
    _types(node, schema, opset)


def _default(node: Node, name: str, before: Any) -> bool:
    value = node.attributes[name]
    if name == "dilations":
        return all(step == 1 for step in value)
    if name == "num_outputs":  # without sizes the parts are equal anyway, if they can be
        (x, *_), axis = node.inputs, node.attributes.get("axis", 0)
        size = x.shape[axis] if x is not None else ""
        return isinstance(size, int) and size % value == 0
    if name == "start" and node.op == "Shape":
        return value == 0 and "end" not in node.attributes
    stated = before.attributes[name].default_value
    if not stated.name:
        return False
    from onnx import helper

    default = helper.get_attribute_value(stated)
    default = default.decode() if isinstance(default, bytes) else default
    return bool(value == default)


def _types(node: Node, schema: Any, opset: int) -> None:
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    for position, value in enumerate(node.inputs):
        formal = schema.inputs[min(position, len(schema.inputs) - 1)]
        types = allowed.get(formal.type_str)
        if value is None or types is None:
            continue
        name = f"tensor({_NAMES.get(value.dtype.name, value.dtype.name)})"
        if name not in types:
            raise _refusal(node, opset, f"has no {node.op} of {value.dtype.name}")


_NAMES = {"float32": "float", "float64": "double"}


def _refusal(node: Node, opset: int, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"operator set {opset} {what}", where=node.where, hint="ask for a newer operator set, or leave it out"
    )


# -- other forms: each answers with the value that takes the place of the output, or None where the node stays ---------


def _reduce(g: Builder, node: Node, opset: int) -> Any:
    """Axes were an attribute before 18."""
    if opset >= 18:
        return None
    attributes: dict[str, Any] = {"keepdims": node.attributes.get("keepdims", 1)}
    axes = node.inputs[1] if len(node.inputs) > 1 else None
    if axes is not None:
        if axes.data is None:
            raise _refusal(node, opset, f"takes axes of {node.op} that are known beforehand only")
        attributes["axes"] = [int(axis) for axis in axes.data.reshape(-1)]
    if axes is None or axes.data is None or not axes.data.size:
        attributes.pop("axes", None)
        if node.attributes.get("noop_with_empty_axes"):
            return g.Identity(node.inputs[0])
    return g.emit(node.op, node.inputs[0], **attributes)


def _shape(g: Builder, node: Node, opset: int) -> Any:
    """A part of the shape was a Slice before 15."""
    start, end = node.attributes.get("start", 0), node.attributes.get("end")
    if opset >= 15 or (start == 0 and end is None):
        return None
    return g.Slice(g.Shape(node.inputs[0]), [start], [end if end is not None else 2**31 - 1], [0])


def _gelu(g: Builder, node: Node, opset: int) -> Any:
    """x Φ(x) was written out before 20."""
    if opset >= 20:
        return None
    (x,) = node.inputs
    assert x is not None
    kind: np.dtype[Any] = x.dtype
    if node.attributes.get("approximate", "none") == "tanh":
        cube = g.Mul(g.Mul(g.Mul(x, x), x), kind.type(0.044715))
        inner = g.Tanh(g.Mul(g.Add(x, cube), kind.type(math.sqrt(2 / math.pi))))
    else:
        inner = g.Erf(g.Div(x, kind.type(math.sqrt(2))))
    return g.Mul(g.Mul(x, g.Add(inner, kind.type(1))), kind.type(0.5))


def _layer_normalization(g: Builder, node: Node, opset: int) -> Any:
    """(x - mean) / sqrt(variance + epsilon) · scale + bias was written out before 17."""
    if opset >= 17 or len(node.outputs) > 1:
        return None
    x, scale, *bias = node.inputs
    assert x is not None
    axes = list(range(node.attributes.get("axis", -1) % x.rank, x.rank))
    centred = g.Sub(x, g.ReduceMean(x, axes=axes))
    variance = g.ReduceMean(g.Mul(centred, centred), axes=axes)
    epsilon = x.dtype.type(node.attributes.get("epsilon", 1e-5))
    y = g.Mul(g.Div(centred, g.Sqrt(g.Add(variance, epsilon))), scale)
    return g.Add(y, bias[0]) if bias and bias[0] is not None else y


def _grid_sample(g: Builder, node: Node, opset: int) -> Any:
    """The modes had other names before 20, and volumes could not be sampled."""
    if opset >= 20:
        return None
    x, grid = node.inputs
    assert x is not None
    if x.rank != 4 or opset < 16:
        raise _refusal(node, opset, f"has no GridSample of rank {x.rank}")
    names: Mapping[str, str] = {"linear": "bilinear", "cubic": "bicubic"}
    mode = node.attributes.get("mode", "linear")
    return g.GridSample(x, grid, **{**node.attributes, "mode": names.get(mode, mode)})


def _norm(g: Builder, node: Node, opset: int) -> Any:
    """ONNX Runtime has the L2 norm over pictures no longer from 22 on, as a reduction it has it."""
    (x,) = node.inputs
    if opset < 22 or x is None or node.attributes.get("p", 2) != 2:
        return None
    return g.ReduceL2(x, list(range(2, x.rank)), keepdims=1)


_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
_OLDER: dict[str, Older] = {
    **{f"Reduce{name}": _reduce for name in _REDUCTIONS},
    "Shape": _shape,
    "Gelu": _gelu,
    "LayerNormalization": _layer_normalization,
    "GridSample": _grid_sample,
    "GlobalLpPool": _norm,
}
