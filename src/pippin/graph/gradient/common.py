"""What rules share: sums over broadcast axes, zeros, known sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import UnsupportedError
from ..builder import Builder
from ..ir import Node, Value


def operand(node: Node, index: int = 0) -> Value:
    """An input that the operator must have."""
    value = node.inputs[index]
    assert value is not None
    return value


def optional(node: Node, index: int) -> Value | None:
    """An input that may be left out."""
    return node.inputs[index] if index < len(node.inputs) else None


def unbroadcast(g: Builder, dy: Value, like: Value) -> Value:
    """Sums dy over the axes along which ``like`` was broadcast: dy (…) → the shape of ``like``."""
    if dy.shape == like.shape:
        return dy
    lead = dy.rank - like.rank
    axes = list(range(lead))
    for axis, dim in enumerate(like.shape, lead):
        if dim == dy.shape[axis]:
            continue
        if dim != 1:
            raise UnsupportedError(
                f"which axes are broadcast must be known, got {list(like.shape)} of {list(dy.shape)}"
            )
        axes.append(axis)
    if not axes:
        return dy
    dy = g.ReduceSum(dy, axes, keepdims=0 if axes == list(range(lead)) else None)
    return g.Squeeze(dy, list(range(lead))) if lead and dy.rank != like.rank else dy


def zeros(g: Builder, like: Value) -> Value:
    """Zeros with dtype and shape of ``like``."""
    return g.expand(g.constant(0, like.dtype), g.sizes(like))


def known(value: Value | None, what: str) -> list[int]:
    """The numbers of a constant."""
    if value is None or value.data is None:
        raise UnsupportedError(f"{what} must be constant for a gradient")
    return [int(number) for number in value.data.reshape(-1)]


def dims(value: Value, what: str = "the input") -> list[int]:
    """The sizes of a value, which must be known."""
    if not value.static:
        raise UnsupportedError(f"the sizes of {what} must be known for a gradient, got {list(value.shape)}")
    return [int(dim) for dim in value.shape]


def swapped(g: Builder, x: Value) -> Value:
    """x (…,M,N) → (…,N,M)."""
    order = list(range(x.rank))
    result: Value = g.Transpose(x, perm=[*order[:-2], order[-1], order[-2]])
    return result


def mask(g: Builder, condition: Value, like: Value) -> Value:
    """A condition as 0 and 1 of ``like``'s dtype."""
    return g.cast(condition, like.dtype)


def spatial(node: Node, name: str, count: int, default: int = 1) -> list[int]:
    """An attribute with one number a spatial axis."""
    value: Sequence[int] | None = node.attributes.get(name)
    return [default] * count if value is None else [int(number) for number in value]


def pads(node: Node, sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int]) -> tuple[list[int], list[int]]:
    """The padding of a sliding window at the start and the end of each axis; ``kernel`` is the dilated one."""
    count = len(sizes)
    automatic = node.attributes.get("auto_pad", "NOTSET")
    automatic = automatic.decode() if isinstance(automatic, bytes) else automatic
    if automatic in ("NOTSET", "VALID"):
        both = spatial(node, "pads", 2 * count, 0)
        return both[:count], both[count:]
    begin, end = [], []
    for size, k, s in zip(sizes, kernel, stride, strict=True):
        total = max((-(-size // s) - 1) * s + k - size, 0)
        less, more = total // 2, total - total // 2
        begin.append(less if automatic == "SAME_UPPER" else more)
        end.append(more if automatic == "SAME_UPPER" else less)
    return begin, end
