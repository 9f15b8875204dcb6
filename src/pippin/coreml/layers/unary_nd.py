"""Elementwise layers of one input. Sources: the parameter messages of the same names."""

from __future__ import annotations

from typing import Any

from ...errors import CheckError
from ...graph.ir import Value
from ..integers import alike
from ..lowering import Context, lowering, require

FUNCTIONS = {
    "sin": ("Sin", "the sine"),
    "cos": ("Cos", "the cosine"),
    "tan": ("Tan", "the tangent"),
    "asin": ("Asin", "the inverse sine, nan outside [-1, 1]"),
    "acos": ("Acos", "the inverse cosine, nan outside [-1, 1]"),
    "atan": ("Atan", "the inverse tangent"),
    "sinh": ("Sinh", "the hyperbolic sine"),
    "cosh": ("Cosh", "the hyperbolic cosine"),
    "tanh": ("Tanh", "the hyperbolic tangent"),
    "asinh": ("Asinh", "the inverse hyperbolic sine"),
    "acosh": ("Acosh", "the inverse hyperbolic cosine, nan below 1"),
    "atanh": ("Atanh", "the inverse hyperbolic tangent, nan outside [-1, 1]"),
    "erf": ("Erf", "the Gauss error function"),
}
"""Kind → ONNX operator and what it computes."""

ROUNDINGS = {
    "ceil": ("Ceil", "the smallest whole number that is not below x"),
    "floor": ("Floor", "the largest whole number that is not above x"),
    "round": ("Round", "the nearest whole number; of two equally near ones the even one"),
}
"""As ``FUNCTIONS``, for those that leave integers as they are."""


def function(kind: str, op: str, what: str) -> None:
    """Registers the lowering of one elementwise function."""

    def lower(g: Context, p: Any, x: Value) -> Value:
        return g.emit(op, x)

    _register(kind, lower, what, integers=False)


def rounding(kind: str, op: str, what: str) -> None:
    """Registers the lowering of one rounding function."""

    def lower(g: Context, p: Any, x: Value) -> Value:
        return x if x.dtype.kind == "i" else g.emit(op, x)

    _register(kind, lower, what, integers=True)


def _register(kind: str, lower: Any, what: str, *, integers: bool) -> None:
    message = f"{kind[0].upper()}{kind[1:]}LayerParams"
    lower.__name__ = lower.__qualname__ = kind
    lower.__doc__ = f"y = {kind}(x): {what}, element by element.\n\nx (…) → y same shape. Source: {message}."
    lowering(kind, layout="same", integers=integers)(lower)


for _kind, (_op, _what) in FUNCTIONS.items():
    function(_kind, _op, _what)
for _kind, (_op, _what) in ROUNDINGS.items():
    rounding(_kind, _op, _what)


@lowering("sign", layout="same", integers=True)
def sign(g: Context, p: Any, x: Value) -> Value:
    """The sign of each element: 1, -1, or 0 for 0.

    x (…) → y same shape. Source: SignLayerParams.
    """
    return g.Sign(x)


@lowering("exp2", layout="same")
def exp2(g: Context, p: Any, x: Value) -> Value:
    """y = 2ˣ, element by element.

    x (…) → y same shape. Source: Exp2LayerParams.
    """
    return g.Pow(2.0, x)


@lowering("clip", layout="same", integers=True)
def clip(g: Context, p: Any, x: Value) -> Value:
    """y = min(max(x, minVal), maxVal), element by element.

    x (…) → y same shape. Source: ClipLayerParams.
    """
    import numpy as np

    require(p.minVal <= p.maxVal, f"minVal must not be above maxVal, got {p.minVal:g} and {p.maxVal:g}")
    x, low, high = alike(g, x, g.constant(np.float32(p.minVal)), g.constant(np.float32(p.maxVal)))
    return g.Clip(x, low, high)


@lowering("gelu", layout="same")
def gelu(g: Context, p: Any, x: Value) -> Value:
    """Gaussian error linear unit, in three modes.

    EXACT x/2 · (1 + erf(x/√2)); TANH_APPROXIMATION x/2 · (1 + tanh(√(2/π) · (x + 0.044715x³)));
    SIGMOID_APPROXIMATION x · sigmoid(1.702x).
    x (…) → y same shape. Default: EXACT. Source: GeluLayerParams.
    """
    match p.mode:
        case 0:
            return g.Gelu(x)
        case 1:
            return g.Gelu(x, approximate="tanh")
        case 2:
            return g.Mul(x, g.Sigmoid(g.Mul(x, 1.702)))
    raise CheckError(f"mode must be EXACT, TANH_APPROXIMATION or SIGMOID_APPROXIMATION, got {p.mode}")


@lowering("clampedReLU", layout="same")
def clamped_relu(g: Context, p: Any, x: Value) -> Value:
    """Leaky ReLU with an upper bound.

    y = min(beta, x) for x ≥ 0, min(beta, alpha·x) below.
    x (…) → y same shape. Source: ClampedReLULayerParams.
    """
    if p.alpha == 0:
        return g.Clip(x, 0.0, p.beta)
    return g.Min(g.LeakyRelu(x, alpha=p.alpha), p.beta)
