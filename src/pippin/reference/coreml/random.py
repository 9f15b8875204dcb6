"""Twins of the random layers. The numbers come from ``pippin.coreml.draws``, which the engine uses as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...coreml import draws
from ...errors import CheckError, RunError
from ._nd import at_least_rank, whole_numbers
from .arrays import as_shape
from .registry import Array, Context, Twin, twin

# parameters, shape → numbers of the distribution that the kind's name begins with
Draw = Callable[[Any, tuple[int, ...]], Any]


def _normal(params: Any, shape: tuple[int, ...]) -> Any:
    if params.stdDev < 0:
        raise CheckError(f"stdDev must not be negative, got {params.stdDev:g}")
    return draws.normal(params.seed, shape, params.mean, params.stdDev)


def _uniform(params: Any, shape: tuple[int, ...]) -> Any:
    if not params.minVal <= params.maxVal:
        raise CheckError(f"minVal must not be above maxVal, got {params.minVal:g} and {params.maxVal:g}")
    return draws.uniform(params.seed, shape, params.minVal, params.maxVal)


def _bernoulli(params: Any, shape: tuple[int, ...]) -> Any:
    if not 0 <= params.prob <= 1:
        raise CheckError(f"prob must lie between 0 and 1, got {params.prob:g}")
    return draws.bernoulli(params.seed, shape, params.prob)


def _family(name: str, draw: Draw) -> None:
    """The three kinds of one distribution: shaped like an input, by a parameter, by an input's values."""

    def like(context: Context, params: Any, x: Array) -> Array:
        return np.asarray(draw(params, x.shape), np.float64)

    def static(context: Context, params: Any) -> Array:
        if not len(params.outputShape):
            raise CheckError("outputShape must name at least one size, got none")
        return np.asarray(draw(params, as_shape(params.outputShape, "outputShape")), np.float64)

    def dynamic(context: Context, params: Any, shape: Array) -> Array:
        if shape.ndim != 1 or not shape.size:
            raise CheckError(f"the input must have rank 1, one number for each size, got shape {list(shape.shape)}")
        sizes = whole_numbers(shape, "the sizes in the input").tolist()
        if min(sizes) < 0:
            raise RunError(f"the sizes in the input must not be negative, got {sizes}")
        return np.asarray(draw(params, as_shape(sizes, "the output shape")), np.float64)

    suffixes: tuple[tuple[str, Twin], ...] = (("Like", like), ("Static", static), ("Dynamic", dynamic))
    for suffix, function in suffixes:
        function.__name__ = f"{name}{suffix}"
        twin(f"{name}{suffix}")(function)


_family("randomNormal", _normal)
_family("randomUniform", _uniform)
_family("randomBernoulli", _bernoulli)


@twin("categoricalDistribution")
def categorical_distribution(context: Context, params: Any, x: Array) -> Array:
    """Class numbers drawn from the distributions along the last axis.

    p = softmax(logits / temperature); logits are the input (``isLogits``) or log(input + eps).
    x (…, C) → (…, numSamples). ``eps`` 0 stands for 1e-10, ``temperature`` 0 for 1.
    Source: CategoricalDistributionLayerParams.
    """
    at_least_rank(x, 1)
    if params.numSamples <= 0:
        raise CheckError(f"numSamples must be positive, got {params.numSamples}")
    for name in ("temperature", "eps"):
        if getattr(params, name) < 0:
            raise CheckError(f"{name} must not be negative, got {getattr(params, name):g}")
    if not x.shape[-1]:
        raise CheckError("the last axis of the input must have at least one class, got 0")
    if not params.isLogits and x.size and x.min() < 0:
        raise RunError("the input must hold no negative probabilities unless isLogits is set")
    as_shape((*x.shape, params.numSamples), "numSamples")  # each sample looks at each class
    drawn = draws.categorical(
        params.seed,
        x,
        int(params.numSamples),
        is_logits=params.isLogits,
        eps=params.eps,
        temperature=params.temperature,
    )
    return drawn.astype(np.float64)
