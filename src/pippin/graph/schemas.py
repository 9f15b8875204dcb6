"""ONNX's own schemas, cached: names of operators and attributes, operand conversion, type and shape inference."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import CheckError
from .ir import Dim, Graph, Value

if TYPE_CHECKING:
    import numpy as np

    from .builder import Builder

Type = tuple["np.dtype[Any]", tuple[Dim | None, ...]]


@cache
def schema(op: str, opset: int, domain: str = "") -> Any:
    """The schema of an operator; ``AttributeError`` with near matches for a name that ONNX does not have."""
    from onnx import defs

    try:
        return defs.get_schema(op, opset, domain)
    except Exception:
        import difflib

        names = {s.name for s in defs.get_all_schemas() if s.domain == domain}
        near = difflib.get_close_matches(op, names, 3)
        raise AttributeError(f"ONNX opset {opset} has no operator {op!r}; near: {', '.join(near) or '-'}") from None


@cache
def _kinds(op: str, opset: int, domain: str) -> dict[str, Any]:
    return {name: attribute.type for name, attribute in schema(op, opset, domain).attributes.items()}


def attributes(schema: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Attributes with the Python type that the schema asks for; those that are None are dropped."""
    kinds = _kinds(schema.name, schema.since_version, schema.domain)
    result: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        kind = kinds.get(name)
        if kind is None:
            import difflib

            near = difflib.get_close_matches(name, kinds, 3) or sorted(kinds)
            raise AttributeError(f"{schema.name} has no attribute {name!r}; near: {', '.join(near) or '-'}")
        kind = kind.name
        if kind == "FLOAT":
            value = float(value)
        elif kind == "INT":
            value = int(value)
        elif kind == "INTS":
            value = [int(item) for item in value]
        elif kind == "FLOATS":
            value = [float(item) for item in value]
        result[name] = value
    return result


def operands(g: Builder, schema: Any, inputs: Sequence[Any]) -> list[Value | None]:
    """Inputs as values: a number takes the dtype of the other inputs that ONNX wants to be of the same type."""
    import numpy as np

    formal = schema.inputs
    result: list[Value | None] = []
    for index, operand in enumerate(inputs):
        if operand is None or isinstance(operand, Value):
            result.append(operand)
        elif isinstance(operand, np.ndarray):
            result.append(g.constant(operand))
        else:
            result.append(g.constant(operand, _dtype(formal, index, inputs, operand)))
    while result and result[-1] is None:
        result.pop()
    return result


def _dtype(formal: Any, index: int, inputs: Sequence[Any], operand: Any) -> Any:
    import numpy as np

    last = len(formal) - 1
    kind = formal[min(index, last)].type_str
    for other, value in enumerate(inputs):
        if isinstance(value, Value) and formal[min(other, last)].type_str == kind:
            return value.dtype
    if kind == "tensor(int64)":
        return np.int64
    sample = np.asarray(operand)
    return {"i": np.int64, "b": np.bool_}.get(sample.dtype.kind, np.float32)


_CACHE: dict[Any, list[Type]] = {}


def infer(
    schema: Any, opset: int, inputs: Sequence[Value | None], attributes: dict[str, Any], count: int
) -> list[Type]:
    """Dtype and shape of each output; None stands for a size that cannot be known.

    Raises ``CheckError`` with the reason where types or shapes do not fit the operator.
    """
    key = _key(schema, opset, inputs, attributes, count)
    if key is not None and key in _CACHE:
        return _CACHE[key]
    result = _infer(schema, opset, inputs, attributes, count)
    if key is not None:
        if len(_CACHE) > 20_000:
            _CACHE.clear()
        _CACHE[key] = result
    return result


def _key(schema: Any, opset: int, inputs: Sequence[Value | None], attributes: dict[str, Any], count: int) -> Any:
    parts: list[Any] = [schema.name, schema.domain, opset, count]
    for name, attribute in attributes.items():
        if isinstance(attribute, list):
            attribute = tuple(attribute)
        elif not isinstance(attribute, (int, float, str, bytes)):
            return None
        parts += [name, attribute]
    for value in inputs:
        if value is None:
            parts.append(None)
        else:
            parts += [value.dtype.num, value.shape]
            # floats too: the scales of Resize decide about a shape
            if value.data is not None and value.data.size <= 64:
                parts.append(value.data.tobytes())
    return tuple(parts)


def _infer(
    schema: Any, opset: int, inputs: Sequence[Value | None], attributes: dict[str, Any], count: int
) -> list[Type]:
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper, shape_inference

    names = ["" if value is None else f"i{index}" for index, value in enumerate(inputs)]
    plain: dict[str, Any] = {
        k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v
        for k, v in attributes.items()
        if not isinstance(v, Graph)
    }
    node = helper.make_node(
        schema.name,
        names,
        [f"o{index}" for index in range(count)],
        domain=schema.domain or None,
        **plain,
    )
    types: dict[str, Any] = {}
    data: dict[str, Any] = {}
    for name, value in zip(names, inputs, strict=True):
        if value is None:
            continue
        types[name] = helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        if value.data is not None and value.data.size <= 64:
            data[name] = numpy_helper.from_array(np.ascontiguousarray(value.data).reshape(value.data.shape))
    try:
        inferred = shape_inference.infer_node_outputs(
            schema, node, types, data, opset_imports=[helper.make_opsetid(schema.domain, opset)], ir_version=10
        )
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError, ValueError) as error:
        raise CheckError(_reason(schema.name, inputs, error)) from None
    result: list[Type] = []
    for index in range(count):
        proto = inferred.get(f"o{index}")
        if proto is not None and not proto.tensor_type.HasField("shape") and _one_element(schema.name, inputs):
            proto.tensor_type.shape.SetInParent()
        if proto is None or not proto.tensor_type.HasField("shape"):
            raise CheckError(f"the rank of the result of {schema.name} cannot be known before it runs")
        tensor = proto.tensor_type
        shape = tuple(int(d.dim_value) if d.HasField("dim_value") else (d.dim_param or None) for d in tensor.shape.dim)
        if schema.name == "Flatten" and attributes.get("axis", 1) == 1 and inputs[0] is not None and inputs[0].rank:
            shape = (inputs[0].shape[0], *shape[1:])  # ONNX forgets the name of this size
        result.append((np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type)), shape))
    return result


def _one_element(op: str, inputs: Sequence[Value | None]) -> bool:
    """Whether the result is a scalar: ONNX says nothing of the shape where GatherND looks up one whole tuple."""
    if op != "GatherND" or inputs[0] is None or inputs[1] is None:
        return False
    return inputs[1].shape == (inputs[0].rank,)


def _reason(op: str, inputs: Sequence[Value | None], error: Exception) -> str:
    text = str(error).strip().splitlines()[0]
    for marker in ("[ShapeInferenceError]", "[TypeInferenceError]"):
        if marker in text:
            text = text.split(marker)[-1].strip()
    shapes = ", ".join(f"{value.dtype}{list(value.shape)}" for value in inputs if value is not None)
    return f"the shapes do not fit {op}({shapes}): {text}"
