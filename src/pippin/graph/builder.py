"""The builder: emits ONNX operators one by one and knows dtype and shape of every value at once.

``g.Conv(x, w, pads=[1, 1, 1, 1])`` emits an operator of that name. Operator and attribute names are checked against the
ONNX schema, dtype and shape are inferred as the node is emitted, and what cannot be is our error with the place in the
model. NumPy arrays, numbers and lists become constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import CheckError, PippinError
from . import fold, schemas
from .ir import Dim, Graph, Node, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

OPSET = 20
"""The ONNX operator set that is emitted: the first with Gelu and volumetric GridSample."""

RESHAPES = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
"""Operators that change the shape alone."""

Operand = Any
"""What an operator takes: a Value, None (left out), a NumPy array, a number, or a list of numbers."""
Size = int | Value
"""A dim while lowering: an int, or an int64 vector of one element that is known at run time."""


class Builder:
    """Builds one graph, or a subgraph of ``parent`` that may use the parent's values."""

    def __init__(self, name: str = "graph", *, opset: int = OPSET, parent: Builder | None = None) -> None:
        self.graph = Graph(name, opset)
        self.parent = parent
        self.opset = opset
        self.where: str = parent.where if parent else ""
        self.prefix: str = parent.prefix if parent else ""
        self._names: set[str] = parent._names if parent else set()
        self._counters: dict[str, int] = parent._counters if parent else {}
        self._sizes: dict[tuple[int, int], Value] = {}
        self._small: dict[tuple[str, tuple[int, ...], bytes], Value] = parent._small if parent else {}

    # -- values ------------------------------------------------------------------------------------------------------

    def input(self, name: str, dtype: DTypeLike, shape: Sequence[Dim]) -> Value:
        """Adds an input of the graph; a ``str`` in ``shape`` names a size that is known at run time only."""
        import numpy as np

        value = Value(self.unique(name), np.dtype(dtype), tuple(shape))
        self.graph.inputs.append(value)
        return value

    def constant(self, data: Any, dtype: DTypeLike | None = None, name: str = "") -> Value:
        """A constant. Small ones are shared; large ones keep ``data`` itself, without a copy."""
        import numpy as np

        array = np.asarray(data, dtype)
        if array.dtype.kind == "f" and dtype is None and not isinstance(data, (np.ndarray, np.generic)):
            array = array.astype(np.float32)
        if array.size > 64 or array.dtype.kind not in "fiub":
            return Value(self.unique(name or "constant"), array.dtype, array.shape, array)
        key = (array.dtype.str, array.shape, array.tobytes())
        value = self._small.get(key)
        if value is None:
            value = Value(self.unique(name or "constant"), array.dtype, array.shape, array)
            self._small[key] = value
        return value

    def output(self, value: Value, name: str = "") -> Value:
        """Adds an output of the graph. Values that cannot be one as they are get an Identity."""
        if value.node is None or value in self.graph.outputs or not self.owns(value):
            # appended, not emitted: the Identity of a constant would fold, and a body must not return one itself
            value = self.append("Identity", [value], {}, [(value.dtype, value.shape)])
        if name:
            self.rename(value, name)
        self.graph.outputs.append(value)
        return value

    def owns(self, value: Value) -> bool:
        """Whether ``value`` is made in this very graph, not in a parent."""
        return value.node is not None and any(value.node is node for node in reversed(self.graph.nodes))

    def rename(self, value: Value, name: str) -> None:
        """Gives ``value`` the name that it has in the file; a number is appended if the name is taken."""
        if value.name != name:
            value.name = self.unique(name)

    def release(self, name: str) -> None:
        """Lets ``name`` be given again: no value has it any more."""
        self._names.discard(name)

    def unique(self, name: str) -> str:
        """``name``, or ``name`` with the first free number behind it."""
        candidate = name
        while candidate in self._names:
            count = self._counters.get(name, 0) + 1
            self._counters[name] = count
            candidate = f"{name}_{count}"
        self._names.add(candidate)
        return candidate

    def names(self) -> tuple[set[str], dict[str, int], dict[Any, Value]]:
        """All names and shared constants so far, to forget later ones by ``restore``."""
        return set(self._names), dict(self._counters), dict(self._small)

    def restore(self, before: tuple[set[str], dict[str, int], dict[Any, Value]]) -> None:
        """Forgets the names and shared constants that came after ``names()``: what had them is thrown away."""
        names, counters, small = before
        self._names.intersection_update(names)
        self._counters.clear()
        self._counters.update(counters)
        self._small.clear()
        self._small.update(small)

    def symbol(self) -> str:
        """A fresh name for a size that is known at run time only."""
        return self.unique("dim")

    @contextmanager
    def scope(self, prefix: str, where: str) -> Iterator[None]:
        """Names nodes ``prefix/Operator`` and locates errors at ``where`` for the duration."""
        before = self.prefix, self.where
        self.prefix, self.where = prefix, where
        try:
            yield
        except PippinError as error:
            raise error if error.where else error.at(where) from None
        finally:
            self.prefix, self.where = before

    # -- operators ---------------------------------------------------------------------------------------------------

    def __getattr__(self, op: str) -> Callable[..., Any]:
        if op[:1].isupper():
            return lambda *inputs, **attributes: self.emit(op, *inputs, **attributes)
        raise AttributeError(f"{type(self).__name__} has no attribute {op!r}")

    def emit(self, op: str, *inputs: Operand, outputs: int | None = None, domain: str = "", **attributes: Any) -> Any:
        """Emits one operator and returns its output, or a tuple where there are several.

        ``outputs`` is the number of outputs for operators in which it varies. Attributes that are None are left out.
        Raises ``CheckError`` where ONNX's type and shape rules say that it cannot be.
        """
        schema = schemas.schema(op, self.opset, domain)
        operands = schemas.operands(self, schema, inputs)
        attributes = schemas.attributes(schema, attributes)
        count = schema.min_output if outputs is None else outputs
        folded = fold.fold(op, operands, attributes) if count == 1 and not domain else None
        if op == "Split":
            parts = fold.split(operands, attributes, count)
            if parts is not None:
                values = tuple(self.constant(part) for part in parts)
                return values if count > 1 else values[0]
        if folded is not None:
            return self.constant(folded, name=f"{self.prefix}/{op}" if self.prefix else op)
        try:
            types = schemas.infer(schema, self.opset, operands, attributes, count)
        except CheckError as error:
            raise error.at(self.where) if self.where and not error.where else error from None
        return self.append(op, operands, attributes, types, domain)

    def append(
        self,
        op: str,
        inputs: Sequence[Value | None],
        attributes: dict[str, Any],
        types: Sequence[tuple[np.dtype[Any], Sequence[Dim | None]]],
        domain: str = "",
    ) -> Any:
        """Appends a node whose output types are known; a None in a shape becomes a fresh symbol."""
        name = self.unique(f"{self.prefix}/{op}" if self.prefix else op)
        node = Node(op, list(inputs), [], attributes, name, self.where, domain)
        for index, (dtype, shape) in enumerate(types):
            label = name if index == 0 else f"{name}:{index}"
            dims = tuple(self.symbol() if dim is None else dim for dim in shape)
            node.outputs.append(Value(label if index == 0 else self.unique(label), dtype, dims, None, node))
        self.graph.nodes.append(node)
        return node.outputs[0] if len(node.outputs) == 1 else tuple(node.outputs)

    def subgraph(self, name: str) -> Builder:
        """A builder for the body of If, Loop or Scan; it may use this builder's values."""
        return type(self)(name, opset=self.opset, parent=self)

    # -- sizes -------------------------------------------------------------------------------------------------------

    def size(self, x: Value, axis: int) -> Size:
        """The size of one axis: an int where it is known, else an int64 vector of one element."""
        axis %= x.rank
        dim = x.shape[axis]
        if isinstance(dim, int):
            return dim
        key = (id(x), axis)
        if key not in self._sizes:
            self._sizes[key] = self.Shape(x, start=axis, end=axis + 1)
        return self._sizes[key]

    def sizes(self, x: Value) -> list[Size]:
        """All sizes of ``x``."""
        return [self.size(x, axis) for axis in range(x.rank)]

    def vector(self, sizes: Sequence[Size]) -> Value:
        """Sizes as one int64 vector, a constant where all are known."""
        import numpy as np

        if all(isinstance(size, int) for size in sizes):
            return self.constant(np.array(sizes, np.int64))
        parts = [size if isinstance(size, Value) else self.constant(np.array([size], np.int64)) for size in sizes]
        result: Value = parts[0] if len(parts) == 1 else self.Concat(*parts, axis=0)
        return result

    def product(self, sizes: Sequence[Size]) -> Size:
        """The product of sizes."""
        known, result = 1, None
        for size in sizes:
            if isinstance(size, int):
                known *= size
            else:
                result = size if result is None else self.Mul(result, size)
        if result is None:
            return known
        return result if known == 1 else self.Mul(result, [known])

    def reshape(self, x: Value, sizes: Sequence[Size | str]) -> Value:
        """Reshapes to ``sizes``; at most one may be -1. Nothing is emitted where the shape is that already.

        A ``str`` stands for a size that is equal to the dim of ``x`` with that name.
        """
        import numpy as np

        wanted = [self._named(x, size) if isinstance(size, str) else size for size in sizes]
        target = [self._dim(size, x) for size in wanted]
        # a reshape of a reshape is one of the first value; there and back is nothing
        while tuple(target) != x.shape and x.node is not None and x.node.op in RESHAPES:
            assert x.node.inputs[0] is not None
            x = x.node.inputs[0]
        if tuple(target) == x.shape:
            return x
        unknown = [i for i, size in enumerate(wanted) if isinstance(size, Value)]
        if len(unknown) == 1 and -1 not in wanted and not (x.static and 0 in x.shape) and 0 not in wanted:
            # one unknown size is what -1 is for
            shape = self.constant(np.array([-1 if isinstance(size, Value) else size for size in wanted], np.int64))
        else:
            shape = self.vector(wanted)
        zero = 1 if any(size == 0 for size in wanted if isinstance(size, int)) else None
        result: Value = self.Reshape(x, shape, allowzero=zero)
        dims = tuple(
            known if isinstance(known, str) or (isinstance(known, int) and known >= 0) else inferred
            for known, inferred in zip(target, result.shape, strict=True)
        )
        if result.data is None:
            result.shape = dims
        return result

    def expand(self, x: Value, sizes: Sequence[Size]) -> Value:
        """Broadcasts ``x`` to ``sizes`` in both directions, as Expand does."""
        target = [self._dim(size, x) for size in sizes]
        if tuple(target) == x.shape:
            return x
        result: Value = self.Expand(x, self.vector(sizes))
        if result.data is None and len(target) == result.rank:
            # where the shape is computed, inference says nothing
            own = (1,) * (len(target) - x.rank) + x.shape
            fixed = [_broadcast(have, want) for have, want in zip(own, target, strict=True)]
            result.shape = tuple(i if f is None else f for f, i in zip(fixed, result.shape, strict=True))
        return result

    def cast(self, x: Value, dtype: DTypeLike) -> Value:
        """``x`` in another dtype; nothing is emitted where it has it already."""
        import numpy as np
        from onnx.helper import np_dtype_to_tensor_dtype

        dtype = np.dtype(dtype)
        if x.dtype == dtype:
            return x
        if x.data is not None:
            with np.errstate(all="ignore"):
                return self.constant(x.data.astype(dtype))
        result: Value = self.Cast(x, to=int(np_dtype_to_tensor_dtype(dtype)))
        return result

    def _named(self, x: Value, name: str) -> Size:
        return self.size(x, x.shape.index(name))

    def _dim(self, size: Size, x: Value) -> Dim | None:
        """The dim that ``size`` stands for; None if it has no name."""
        if isinstance(size, int):
            return size
        for (owner, axis), value in self._sizes.items():
            if value is size and owner == id(x):
                return x.shape[axis]
        node = size.node
        if node is not None and node.op == "Shape" and node.inputs[0] is not None:
            dim: Dim = node.inputs[0].shape[node.attributes["start"]]
            return dim
        return None


def _broadcast(have: Dim, want: Dim | None) -> Dim | None:
    """The dim that two give together; None where either may be 1 when the graph runs."""
    if have == 1:
        return want
    if isinstance(have, int) or want in (1, have):
        return have
    return want if isinstance(want, int) else None
