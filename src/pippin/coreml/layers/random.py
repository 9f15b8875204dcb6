"""Layers of random numbers.

A seed gives the same numbers on each prediction, and each time that a layer runs: those of ``draws``, by NumPy's Philox
as constants where the shape is known, fed in where there are many of them, by the same generator inside the graph
elsewhere. Without a seed (0 or -1) they are drawn for each prediction and fed in; in loops and for unknown shapes a key
is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...graph.builder import Size
from ...graph.composites.philox import shaped
from ...graph.ir import Value
from .. import draws
from ..integers import elements, volume
from ..lowering import Context, lowering, require

LIMIT = 1 << 28
"""Numbers that a layer may draw."""
CONSTANT = 1 << 22
"""Numbers that are drawn when the network is loaded, rather than on each run."""


@dataclass(frozen=True)
class Distribution:
    """One distribution with its parameters, in three forms that give the same numbers for a seed (the last: none).

    ``draw(seed, shape)`` by NumPy; ``shape(g, levels)`` from ``words`` · n even numbers in [0, 1), float64, to n;
    ``native(g, sizes)`` by ONNX's own operator. ``certain`` is the only value that it can have, if there is but one.
    """

    stream: int
    draw: Callable[[int, Sequence[int]], Any]
    shape: Callable[[Context, Value], Value]
    native: Callable[[Context, Sequence[Size]], Value]
    words: int = 1
    certain: float | None = None


def generate(g: Context, seed: int, sizes: Sequence[Size], distribution: Distribution) -> Value:
    """Numbers of a distribution as a tensor of ``sizes``."""
    known = [size for size in sizes if isinstance(size, int)]
    count = volume(known, "the shape")
    require(count <= LIMIT, f"at most {LIMIT:,} random numbers can be drawn, the shape {known} asks for {count:,}")
    static = len(known) == len(sizes)
    if distribution.certain is not None or (static and count == 0):
        # nothing to draw; the engine's RandomNormal would end the process for a deviation of 0
        return g.expand(g.constant(distribution.certain or 0.0, "float32"), sizes)
    if static and count <= CONSTANT and not draws.is_fresh(seed):
        return g.constant(distribution.draw(seed, known), name=f"{g.prefix}/draw")
    if static and g.parent is None and g.feeds is not None:
        return g.feed(partial(distribution.draw, seed, known), "float32", known)
    nonce = None
    if not draws.is_fresh(seed):
        key = g.constant(_signed(draws.key(seed, distribution.stream)), "int64")
    elif g.feeds is None:
        return distribution.native(g, sizes)
    else:
        key = g.feed(draws.fresh_key, "int64", [2])
        if g.parent is not None:  # a body may run many times in one prediction: the engine's numbers go on
            bits = g.Mul(g.RandomUniform(dtype=11, shape=[1]), 2.0**53)
            nonce = g.cast(bits, "int64")
    numbers = shaped(g, key, g.product(sizes), distribution.words, distribution.shape, nonce)
    return g.reshape(numbers, sizes)


def _signed(words: Sequence[int]) -> list[int]:
    return [word - 2**64 if word >= 2**63 else word for word in words]


def _like(g: Context, op: str, sizes: Sequence[Size], **attributes: Any) -> Value:
    """One of ONNX's own random operators, which start anew from the process's seed in each session."""
    if all(isinstance(size, int) for size in sizes):
        result: Value = g.emit(op, shape=list(sizes), **attributes)
    else:
        result = g.emit(f"{op}Like", g.expand(g.constant(0.0, "float32"), sizes), **attributes)
    return result


def normal(p: Any) -> Distribution:
    """mean + stdDev · z"""
    require(p.stdDev >= 0 and math.isfinite(p.stdDev), f"stdDev must be finite and not negative, got {p.stdDev:g}")

    def shape(g: Context, levels: Value) -> Value:
        pairs = g.Reshape(levels, [2, -1])
        first, second = g.Gather(pairs, g.constant(0, "int64")), g.Gather(pairs, g.constant(1, "int64"))
        radius = g.Sqrt(g.Mul(g.Log(g.Sub(1.0, first)), -2.0))
        z = g.Mul(radius, g.Cos(g.Mul(second, 2 * math.pi)))
        return g.float(g.Add(g.Mul(z, p.stdDev), p.mean))

    return Distribution(
        draws.NORMAL,
        partial(draws.normal, mean=p.mean, std=p.stdDev),
        shape,
        lambda g, sizes: _like(g, "RandomNormal", sizes, mean=p.mean, scale=p.stdDev),
        words=2,
        certain=None if p.stdDev else p.mean,
    )


def uniform(p: Any) -> Distribution:
    """even over [minVal, maxVal)"""
    import numpy as np

    low, high = p.minVal, p.maxVal
    require(low <= high, f"minVal must not be above maxVal, got {low:g} and {high:g}")
    require(math.isfinite(low) and math.isfinite(high), f"minVal and maxVal must be finite, got {low:g} and {high:g}")
    # rounding may meet the upper bound, which does not belong to the range
    last = np.nextafter(np.float32(high), np.float32(low))
    return Distribution(
        draws.UNIFORM,
        partial(draws.uniform, low=low, high=high),
        lambda g, levels: g.Min(g.float(g.Add(g.Mul(levels, high - low), low)), last),
        lambda g, sizes: _like(g, "RandomUniform", sizes, low=low, high=high),
        certain=low if low == high else None,
    )


def bernoulli(p: Any) -> Distribution:
    """1 with probability prob, else 0"""
    require(0 <= p.prob <= 1, f"prob must lie between 0 and 1, got {p.prob:g}")
    # not ONNX's Bernoulli: with a probability of ½ the engine's gave 0 for twenty seeds in a row
    return Distribution(
        draws.BERNOULLI,
        partial(draws.bernoulli, prob=p.prob),
        lambda g, levels: g.float(g.Less(levels, p.prob)),
        lambda g, sizes: g.float(g.Less(_like(g, "RandomUniform", sizes, low=0.0, high=1.0), p.prob)),
        certain=p.prob if p.prob in (0, 1) else None,
    )


def _categorical_levels() -> Distribution:
    import numpy as np

    last = np.nextafter(np.float32(1), np.float32(0))
    return Distribution(
        draws.CATEGORICAL,
        draws.categorical_levels,
        lambda g, levels: g.Min(g.float(levels), last),
        lambda g, sizes: _like(g, "RandomUniform", sizes, low=0.0, high=1.0),
    )


def family(name: str, distribution: Callable[[Any], Distribution]) -> None:
    """Registers the three kinds of one distribution: shaped like an input, by a parameter, by an input's values."""

    def like(g: Context, p: Any, x: Value) -> Value:
        return generate(g, p.seed, g.sizes(x), distribution(p))

    def static(g: Context, p: Any) -> Value:
        sizes = [int(size) for size in p.outputShape]
        require(bool(sizes), "outputShape must hold at least one size, got none")
        return generate(g, p.seed, sizes, distribution(p))

    def dynamic(g: Context, p: Any, shape: Value) -> Value:
        require(shape.rank == 1, f"the input must be a vector of sizes, of rank 1, got rank {shape.rank}")
        return generate(g, p.seed, elements(g, g.integer(shape)), distribution(p))

    for suffix, function, shapes in (
        ("Like", like, "x (…) → y same shape; the values of x do not matter."),
        ("Static", static, "→ y of ``outputShape``."),
        ("Dynamic", dynamic, "shape (R) → y of rank R."),
    ):
        kind = f"random{name}{suffix}"
        function.__name__ = function.__qualname__ = kind
        function.__doc__ = (
            f"Random numbers of the {name} distribution: {distribution.__doc__}.\n\n{shapes}\n"
            "seed 0 (unset) or -1: fresh on each prediction. Other defaults: 0. "
            f"Source: Random{name}{suffix}LayerParams."
        )
        lowering(kind, integers=True)(function)


family("Normal", normal)
family("Uniform", uniform)
family("Bernoulli", bernoulli)


@lowering("categoricalDistribution")
def categorical(g: Context, p: Any, x: Value) -> Value:
    """Class numbers drawn from the distributions along the last axis.

    p = softmax(logits / temperature); logits = x with isLogits, else log(x + eps)
    y = how many running sums of p are ≤ u, u even in [0, 1)
    x (…,C) → y (…,numSamples). Defaults: eps 1e-10 and temperature 1 where they are 0; seed 0 (unset) or -1: fresh on
    each prediction. Source: CategoricalDistributionLayerParams.
    """
    samples, temperature, eps = int(p.numSamples), p.temperature, p.eps
    require(samples > 0, f"numSamples must be positive, got {samples}")
    require(temperature >= 0 and math.isfinite(temperature), f"temperature must not be negative, got {temperature:g}")
    require(eps >= 0 and math.isfinite(eps), f"eps must not be negative, got {eps:g}")
    require(x.rank > 0 and x.shape[-1] != 0, f"there must be at least one class, got an input of shape {list(x.shape)}")
    volume([size for size in (*x.shape, samples) if isinstance(size, int)], "numSamples")
    levels = generate(g, p.seed, [*g.sizes(x)[:-1], samples], _categorical_levels())
    logits = x if p.isLogits else g.Log(g.Add(x, eps or draws.DEFAULT_EPS))
    if (temperature or draws.DEFAULT_TEMPERATURE) != 1:
        logits = g.Div(logits, temperature)
    sums = g.CumSum(g.Softmax(logits, axis=-1), g.constant(-1, "int64"))
    passed = g.LessOrEqual(g.Unsqueeze(sums, [-2]), g.Unsqueeze(levels, [-1]))
    drawn = g.ReduceSum(g.float(passed), [-1], keepdims=0)
    # rounding may leave the last sum below 1
    last = g.constant(x.shape[-1] - 1, "float32") if isinstance(x.shape[-1], int) else _last(g, x)
    return g.Min(drawn, last)


def _last(g: Context, x: Value) -> Value:
    result: Value = g.Sub(g.float(g.vector([g.size(x, -1)])), 1.0)
    return result
