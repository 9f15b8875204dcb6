"""Pieces of graphs that the rows of the passes are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pippin.graph.builder import Builder
from pippin.graph.ir import Value


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def conv(g: Builder, x: Any, out: int = 8, k: int = 3, bias: bool = True, **attributes: Any) -> Value:
    group = attributes.get("group", 1)
    w = random(out, int(x.shape[1]) // group, *[k] * (x.rank - 2))
    return g.Conv(x, w, random(out, seed=1) if bias else None, **attributes)


def deconv(g: Builder, x: Any, out: int = 8, k: int = 2, **attributes: Any) -> Value:
    w = random(int(x.shape[1]), out // attributes.get("group", 1), k, k)
    return g.ConvTranspose(x, w, random(out, seed=1), **{"strides": [k, k], **attributes})


def batchnorm(g: Builder, x: Any, variance: float | None = None) -> Value:
    count = int(x.shape[1])
    spread = np.abs(random(count, seed=5)) + 0.5 if variance is None else np.full(count, variance, np.float32)
    return g.BatchNormalization(x, *(random(count, seed=s) for s in (2, 3, 4)), spread, epsilon=1e-3)


def mvn(g: Builder, x: Any, axes: list[int], epsilon: float = 1e-5) -> Value:
    centred = g.Sub(x, g.ReduceMean(x, axes))
    return g.Div(centred, g.Sqrt(g.Add(g.ReduceMean(g.Mul(centred, centred), axes), epsilon)))


def layer_norm(g: Builder, x: Any, axes: list[int], gamma: np.ndarray | None = None) -> Value:
    size = int(x.shape[-1])
    gamma = random(1, 1, size, seed=2) if gamma is None else gamma
    return g.Add(g.Mul(mvn(g, x, axes), gamma), random(1, 1, size, seed=3))


def channels(count: int, seed: int = 2) -> np.ndarray:
    return random(count, 1, 1, seed=seed)


def upper(g: Builder, x: Any, limit: float = 6.0) -> Value:
    """min(x, limit) as converters write it."""
    return g.Mul(g.Max(g.Mul(x, -1.0), -limit), -1.0)


def pool_after(g: Builder, x: Any, op: str, fill: float, pad: int = 1, **attributes: Any) -> Value:
    padded = g.Pad(x, [0, 0, pad, pad, 0, 0, pad, pad], np.float32(fill))
    return g.emit(op, padded, kernel_shape=[2, 2], strides=[2, 2], **attributes)


def joined(g: Builder, x: Any, group: int = 1, more: int = 0, plain: bool = True, out: int = 8) -> Value:
    skip = g.Relu(conv(g, g.Resize(x, None, [1.0, 1.0, 2.0, 2.0], mode="nearest"), pads=[1, 1, 1, 1], out=out))
    other = deconv(g, x) if plain else conv(g, skip, pads=[1, 1, 1, 1], out=out)
    return conv(g, g.Concat(other, skip, *[skip] * more, axis=1), group=group, pads=[1, 1, 1, 1])


def flag(g: Builder, x: Any, condition: Any) -> Any:
    """An If with two results, one of them used twice."""
    bodies = {}
    for name, factor in (("then_branch", 2.0), ("else_branch", 3.0)):
        body = g.subgraph(name)
        value = body.Mul(x, factor)
        body.output(value)
        body.output(body.Add(value, x))
        bodies[name] = body.graph
    return g.append("If", [condition], bodies, [(x.dtype, x.shape)] * 2)


def late(g: Builder, op: str, *constants: Any) -> Value:
    """An operator on constants that the builder does not compute."""
    values = [g.constant(value) for value in constants]
    results = g.emit(op, g.input("dummy", values[0].dtype, values[0].shape), *values[1:])
    g.graph.inputs.pop()
    results.node.inputs[0] = values[0]
    return results


def parts(g: Builder) -> tuple[Value, Value]:
    value = g.constant(random(2, 6), name="whole")
    stand_in = g.input("dummy", value.dtype, value.shape)
    first, second = g.Split(stand_in, outputs=2, axis=0, num_outputs=2)
    g.graph.inputs.pop()
    first.node.inputs[0] = value
    return first, second


def turned(g: Builder, x: Any, perm: Any = (0, 2, 3, 1)) -> Value:
    return g.Transpose(x, perm=list(perm))


def shaped(g: Builder, x: Any, *sizes: int) -> Value:
    """A Reshape that the builder does not look through."""
    return g.append("Reshape", [x, g.constant(np.array(sizes, np.int64))], {}, [(x.dtype, sizes)])


def two(value: Value, then: Callable[[Value], Value]) -> tuple[Value, Value]:
    """``value`` as an output, and what comes behind it."""
    return value, then(value)


def dense(g: Builder, x: Any) -> Value:
    return g.Gemm(x, random(4, 5), random(5, seed=1))


def other_squares(g: Builder, x: Any, square: Callable[[Any, Any], Value]) -> Value:
    centred = g.Sub(x, g.ReduceMean(x, [-1]))
    return g.Div(centred, g.Sqrt(g.Add(g.ReduceMean(square(x, centred), [-1]), 1e-5)))
