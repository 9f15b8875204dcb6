"""Derivatives of operators that move values: shapes, slices, gathering, scattering, padding, order."""

from __future__ import annotations

import math

import numpy as np

from ...errors import UnsupportedError
from ..builder import Builder
from ..composites.scatter import scatter_axis, scatter_elements, scatter_nd
from ..ir import Node, Value
from .common import dims, known, operand, optional, unbroadcast, zeros
from .engine import Thunks, rule


@rule("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def reshape(g: Builder, node: Node, dy: Value) -> Thunks:
    x = operand(node)
    return (lambda: g.reshape(dy, g.sizes(x)),)


@rule("Transpose")
def transpose(g: Builder, node: Node, dy: Value) -> Thunks:
    perm = node.attributes.get("perm") or list(reversed(range(dy.rank)))
    return (lambda: g.Transpose(dy, perm=[perm.index(axis) for axis in range(len(perm))]),)


@rule("Expand")
def expand(g: Builder, node: Node, dy: Value) -> Thunks:
    x = operand(node)
    return (lambda: unbroadcast(g, dy, x),)


@rule("Tile")
def tile(g: Builder, node: Node, dy: Value) -> Thunks:
    x = operand(node)

    def back() -> Value:
        times = known(optional(node, 1), "repeats")
        sizes = [size for pair in zip(times, dims(x), strict=True) for size in pair]
        result: Value = g.ReduceSum(g.reshape(dy, sizes), list(range(0, 2 * x.rank, 2)), keepdims=0)
        return result

    return (back,)


@rule("Concat")
def concat(g: Builder, node: Node, dy: Value) -> Thunks:
    values = [operand(node, index) for index in range(len(node.inputs))]
    axis = int(node.attributes["axis"]) % dy.rank
    parts: list[Value] = []

    def part(index: int) -> Value:
        if not parts:
            if len(values) == 1:
                parts.append(dy)
            else:
                sizes = np.array([dims(value)[axis] for value in values], np.int64)
                parts.extend(g.Split(dy, sizes, axis=axis, outputs=len(values)))
        return parts[index]

    return [lambda index=index: part(index) for index in range(len(values))]  # type: ignore[misc]


@rule("Split")
def split(g: Builder, node: Node, *dys: Value | None) -> Thunks:
    axis = int(node.attributes.get("axis", 0))

    def back() -> Value:
        parts = [zeros(g, y) if dy is None else dy for y, dy in zip(node.outputs, dys, strict=True)]
        result: Value = parts[0] if len(parts) == 1 else g.Concat(*parts, axis=axis % parts[0].rank)
        return result

    return (back,)


@rule("Slice")
def slice_(g: Builder, node: Node, dy: Value) -> Thunks:
    x = operand(node)

    def back() -> Value:
        given = [optional(node, index) for index in range(1, 5)]
        if not x.static or any(value is not None and value.data is None for value in given):
            return _by_number(g, node, dy)
        starts, ends = known(given[0], "starts"), known(given[1], "ends")
        axes = known(given[2], "axes") if given[2] is not None else list(range(len(starts)))
        steps = known(given[3], "steps") if given[3] is not None else [1] * len(starts)
        return _unsliced(
            g, x, dy, dict(zip([a % x.rank for a in axes], zip(starts, ends, steps, strict=True), strict=True))
        )

    return (back,)


def _unsliced(g: Builder, x: Value, dy: Value, cuts: dict[int, tuple[int, int, int]]) -> Value:
    """Zeros around and between the elements of dy, so that each lies where the slice took it."""
    sizes = dims(x)
    before, after = [0] * x.rank, [0] * x.rank
    for axis, (start, end, step) in cuts.items():
        first, _, step = slice(start, end, step).indices(sizes[axis])
        count = dims(dy)[axis]
        if step < 0:
            dy = g.Slice(dy, [-1], [-(1 << 62)], [axis], [-1])
            first, step = first + (count - 1) * step, -step
        if step > 1 and count > 1:
            shape = [int(d) for d in dy.shape]
            spread = g.Pad(
                g.Unsqueeze(dy, [axis + 1]),
                [0] * (2 * x.rank + 2 - (x.rank - axis)) + [step - 1] + [0] * (x.rank - axis - 1),
            )
            dy = g.reshape(spread, [*shape[:axis], count * step, *shape[axis + 1 :]])
        before[axis], after[axis] = first, sizes[axis] - first - dims(dy)[axis]
    if 0 in dims(dy):
        return zeros(g, x)
    result: Value = g.Pad(dy, before + after) if any(before + after) else dy
    return result


def _by_number(g: Builder, node: Node, dy: Value) -> Value:
    """For an operator that only moves values: the numbers of x's elements take the same way, then dy is added there."""
    x = operand(node)
    size = math.prod(dims(x))
    numbers = np.arange(size, dtype=np.int64).reshape(dims(x))
    moved = g.append(
        node.op, [g.constant(numbers), *node.inputs[1:]], dict(node.attributes), [(np.dtype(np.int64), dy.shape)]
    )
    flat = g.ScatterElements(
        g.expand(g.constant(0, x.dtype), [size]), g.Reshape(moved, [-1]), g.Reshape(dy, [-1]), axis=0, reduction="add"
    )
    return g.reshape(flat, dims(x))


@rule("Pad")
def pad(g: Builder, node: Node, dy: Value) -> Thunks:
    x = operand(node)

    def back() -> Value:
        mode = node.attributes.get("mode", "constant")
        amounts = optional(node, 1)
        if mode not in ("constant", b"constant") or amounts is None or amounts.data is None:
            if mode in ("constant", b"constant"):
                raise UnsupportedError("the amounts of padding must be constant for a gradient")
            return _by_number(g, node, dy)
        numbers = known(amounts, "pads")
        axes = known(node.inputs[3], "axes") if optional(node, 3) is not None else list(range(x.rank))
        opposite = [0] * (2 * x.rank)
        for index, axis in enumerate(axes):
            opposite[axis % x.rank] = -numbers[index]
            opposite[axis % x.rank + x.rank] = -numbers[index + len(axes)]
        result: Value = g.Pad(dy, opposite)
        return result

    def filling() -> Value:
        value = operand(node, 2)
        return g.reshape(
            g.Sub(g.ReduceSum(dy, None, keepdims=0), g.ReduceSum(back(), None, keepdims=0)), g.sizes(value)
        )

    return back, None, filling


@rule("Gather")
def gather(g: Builder, node: Node, dy: Value) -> Thunks:
    x, index = operand(node), operand(node, 1)
    axis = int(node.attributes.get("axis", 0)) % x.rank

    def back() -> Value:
        if 0 in dy.shape:
            return zeros(g, x)
        return scatter_axis(g, zeros(g, x), g.cast(index, np.int64), dy, axis, "add")

    return (back,)


@rule("GatherElements")
def gather_elements(g: Builder, node: Node, dy: Value) -> Thunks:
    x, index = operand(node), operand(node, 1)
    axis = int(node.attributes.get("axis", 0)) % x.rank
    return (lambda: scatter_elements(g, zeros(g, x), g.cast(index, np.int64), dy, axis, "add"),)


@rule("GatherND")
def gather_nd(g: Builder, node: Node, dy: Value) -> Thunks:
    return (lambda: _by_number(g, node, dy),)


@rule("ScatterElements")
def scattered(g: Builder, node: Node, dy: Value) -> Thunks:
    """Without a reduction what is overwritten has no gradient; with "add" everything has."""
    data, index, updates = (operand(node, position) for position in range(3))
    axis = int(node.attributes.get("axis", 0)) % data.rank
    added = _added(node)

    def kept() -> Value:
        if added:
            return dy
        result: Value = g.ScatterElements(dy, index, zeros(g, updates), axis=axis)
        return result

    def written() -> Value:
        taken = g.GatherElements(dy, index, axis=axis)
        if added:
            return taken
        # of updates to one place the last one stays: those whose number is found there
        numbers = np.arange(math.prod(dims(updates)), dtype=np.int64).reshape(dims(updates))
        blank = g.expand(g.constant(-1, np.int64), dims(data))
        stay = g.Equal(g.GatherElements(g.ScatterElements(blank, index, numbers, axis=axis), index, axis=axis), numbers)
        result: Value = g.Where(stay, taken, 0.0)
        return result

    return kept, None, written


@rule("ScatterND")
def scattered_nd(g: Builder, node: Node, dy: Value) -> Thunks:
    _, index, updates = (operand(node, position) for position in range(3))
    added = _added(node)

    def kept() -> Value:
        return dy if added else scatter_nd(g, dy, index, zeros(g, updates), "update")

    return kept, None, lambda: g.GatherND(dy, index)


def _added(node: Node) -> bool:
    reduction = node.attributes.get("reduction", "none")
    reduction = reduction.decode() if isinstance(reduction, bytes) else reduction
    if reduction not in ("none", "add"):
        raise UnsupportedError(f"scattering with {reduction} has no gradient here")
    return bool(reduction == "add")


@rule("TopK")
def top_k(g: Builder, node: Node, dy: Value | None, _: Value | None = None) -> Thunks:
    x = operand(node)
    if dy is None:
        raise UnsupportedError("no gradient flows through the indices of TopK: they jump")
    axis = int(node.attributes.get("axis", -1)) % x.rank
    return (lambda: scatter_elements(g, zeros(g, x), node.outputs[1], dy, axis, "add"),)


@rule("CumSum")
def cumulated(g: Builder, node: Node, dy: Value) -> Thunks:
    exclusive, reverse = (int(node.attributes.get(name, 0)) for name in ("exclusive", "reverse"))
    return (lambda: g.CumSum(dy, node.inputs[1], exclusive=exclusive or None, reverse=(1 - reverse) or None),)


@rule("Trilu")
def triangle(g: Builder, node: Node, dy: Value) -> Thunks:
    return (lambda: g.Trilu(dy, *node.inputs[1:], upper=node.attributes.get("upper")),)


@rule("ReverseSequence")
def reversed_sequence(g: Builder, node: Node, dy: Value) -> Thunks:
    # turning twice changes nothing
    return (lambda: g.ReverseSequence(dy, node.inputs[1], **node.attributes),)
