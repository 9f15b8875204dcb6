"""Elementwise functions of one tensor: rounding, powers of two, circular and hyperbolic functions, clip, erf, gelu.

Every function keeps the shape, whatever the rank. Values outside a domain yield NaN or infinity, as IEEE has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import CheckError
from .arrays import Array
from .registry import Context, twin

_FUNCTIONS: tuple[tuple[str, Callable[[Array], Array]], ...] = (
    ("ceil", np.ceil),
    ("floor", np.floor),
    ("sign", np.sign),
    ("round", np.rint),  # half to even
    ("exp2", np.exp2),
    ("sin", np.sin),
    ("cos", np.cos),
    ("tan", np.tan),
    ("asin", np.arcsin),
    ("acos", np.arccos),
    ("atan", np.arctan),
    ("sinh", np.sinh),
    ("cosh", np.cosh),
    ("tanh", np.tanh),
    ("asinh", np.arcsinh),
    ("acosh", np.arccosh),
    ("atanh", np.arctanh),
)


def _register(kind: str, function: Callable[[Array], Array]) -> None:
    @twin(kind)
    def apply(context: Context, params: Any, x: Array) -> Array:
        return function(x)


for _kind, _function in _FUNCTIONS:
    _register(_kind, _function)


def erf_of(x: Array) -> Array:
    """The error function, element by element: erf(x) = 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    return np.array([math.erf(value) for value in x.ravel().tolist()], np.float64).reshape(x.shape)


@twin("erf")
def erf(context: Context, params: Any, x: Array) -> Array:
    """y = erf(x). Source: ErfLayerParams."""
    return erf_of(x)


@twin("gelu")
def gelu(context: Context, params: Any, x: Array) -> Array:
    """Gaussian error linear unit.

    EXACT: y = x/2 (1 + erf(x / sqrt 2))
    TANH_APPROXIMATION: y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    SIGMOID_APPROXIMATION: y = x / (1 + exp(-1.702 x))
    Source: GeluLayerParams.
    """
    mode = dict(params.GeluMode.items())
    if params.mode == mode["EXACT"]:
        return np.asarray(x / 2 * (1 + erf_of(x / math.sqrt(2))))
    if params.mode == mode["TANH_APPROXIMATION"]:
        return np.asarray(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
    if params.mode == mode["SIGMOID_APPROXIMATION"]:
        return np.asarray(x / (1 + np.exp(-1.702 * x)))
    raise CheckError(f"mode must be one of {', '.join(mode)}, got {params.mode}")


@twin("clip")
def clip(context: Context, params: Any, x: Array) -> Array:
    """y = min(max(x, minVal), maxVal). Source: ClipLayerParams."""
    if not params.minVal <= params.maxVal:
        raise CheckError(f"minVal must not exceed maxVal, got {params.minVal:g} and {params.maxVal:g}")
    return np.asarray(np.minimum(np.maximum(x, params.minVal), params.maxVal))


@twin("clampedReLU")
def clamped_relu(context: Context, params: Any, x: Array) -> Array:
    """y = min(beta, x) where x >= 0, min(beta, alpha x) elsewhere. Source: ClampedReLULayerParams."""
    return np.asarray(np.minimum(params.beta, np.where(x >= 0, x, params.alpha * x)))


@twin("logicalNot")
def logical_not(context: Context, params: Any, x: Array) -> Array:
    """y = 1 where x = 0, else 0. Source: LogicalNotLayerParams."""
    return np.asarray(x == 0, np.float64)


@twin("copy")
def copy(context: Context, params: Any, x: Array) -> Array:
    """y = x, with a name of its own; the one layer that may overwrite a blob. Source: CopyLayerParams."""
    if list(context.layer.input) == list(context.layer.output):
        raise CheckError(f"input and output must have distinct names, got {context.layer.input[0]!r} twice")
    return x.copy()
