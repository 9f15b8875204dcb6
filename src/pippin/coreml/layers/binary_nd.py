"""Elementwise layers of two inputs with broadcasting, comparisons, logic. Sources: the messages of the same names."""

from __future__ import annotations

from typing import Any

from ...graph.ir import Value
from ..integers import alike, number, truth, whole
from ..lowering import Context, lowering, require

ARITHMETIC = {
    "addBroadcastable": ("Add", "a + b"),
    "subtractBroadcastable": ("Sub", "a - b"),
    "multiplyBroadcastable": ("Mul", "a · b"),
    "maxBroadcastable": ("Max", "max(a, b)"),
    "minBroadcastable": ("Min", "min(a, b)"),
}
COMPARISONS = {
    "equal": ("Equal", "=", False),
    "notEqual": ("Equal", "≠", True),
    "lessThan": ("Less", "<", False),
    "lessEqual": ("LessOrEqual", "≤", False),
    "greaterThan": ("Greater", ">", False),
    "greaterEqual": ("GreaterOrEqual", "≥", False),
}
LOGIC = {"logicalAnd": ("And", "a ∧ b"), "logicalOr": ("Or", "a ∨ b"), "logicalXor": ("Xor", "a ⊕ b")}


def two(inputs: tuple[Value, ...]) -> tuple[Value, Value]:
    """The two inputs; raises ``CheckError`` for another number, or shapes that do not broadcast."""
    require(len(inputs) == 2, f"the layer must have 2 inputs, got {len(inputs)}")
    a, b = inputs
    for one, other in zip(reversed(a.shape), reversed(b.shape), strict=False):
        fits = isinstance(one, str) or isinstance(other, str) or one == other or 1 in (one, other)
        require(fits, f"the inputs must have shapes that broadcast, got {list(a.shape)} and {list(b.shape)}")
    return a, b


def message(kind: str) -> str:
    return f"{kind[0].upper()}{kind[1:]}LayerParams"


def arithmetic(kind: str, op: str, formula: str) -> None:
    """Registers one operation on two broadcast inputs."""

    def lower(g: Context, p: Any, *inputs: Value) -> Value:
        return g.emit(op, *alike(g, *two(inputs)))

    lower.__name__ = lower.__qualname__ = kind
    lower.__doc__ = f"y = {formula}, element by element.\n\na, b broadcast as in NumPy → y. Source: {message(kind)}."
    lowering(kind, layout="same", integers=True)(lower)


def comparison(kind: str, op: str, sign: str, negated: bool) -> None:
    """Registers one comparison of two broadcast inputs, or of one input with ``alpha``."""

    def lower(g: Context, p: Any, *inputs: Value) -> Value:
        require(1 <= len(inputs) <= 2, f"the layer must have 1 or 2 inputs, got {len(inputs)}")
        pair = number(g, p.alpha, inputs[0]) if len(inputs) == 1 else alike(g, *two(inputs))
        result = g.emit(op, *pair)
        return g.float(g.Not(result) if negated else result)

    lower.__name__ = lower.__qualname__ = kind
    lower.__doc__ = (
        f"y = 1 where a {sign} b, else 0; with one input b is ``alpha``.\n\n"
        f"a, b broadcast as in NumPy → y of zeros and ones. Default: alpha 0. Source: {message(kind)}."
    )
    lowering(kind, layout="same", integers=True)(lower)


def logic(kind: str, op: str, formula: str) -> None:
    """Registers one logical operation on two broadcast inputs."""

    def lower(g: Context, p: Any, *inputs: Value) -> Value:
        a, b = two(inputs)
        return g.float(g.emit(op, truth(g, a), truth(g, b)))

    lower.__name__ = lower.__qualname__ = kind
    lower.__doc__ = (
        f"y = 1 where {formula}, else 0; an element is false where it is 0.\n\n"
        f"a, b broadcast as in NumPy → y of zeros and ones. Source: {message(kind)}."
    )
    lowering(kind, layout="same", integers=True)(lower)


for _kind, (_op, _formula) in ARITHMETIC.items():
    arithmetic(_kind, _op, _formula)
for _kind, (_op, _sign, _negated) in COMPARISONS.items():
    comparison(_kind, _op, _sign, _negated)
for _kind, (_op, _formula) in LOGIC.items():
    logic(_kind, _op, _formula)


@lowering("logicalNot", layout="same", integers=True)
def logical_not(g: Context, p: Any, x: Value) -> Value:
    """y = 1 where x is 0, else 0.

    x (…) → y same shape. Source: LogicalNotLayerParams.
    """
    return g.float(g.Not(truth(g, x)))


@lowering("divideBroadcastable", layout="same")
def divide(g: Context, p: Any, *inputs: Value) -> Value:
    """y = a / b, a division of real numbers: 0/0 is nan, 1/0 infinite.

    a, b broadcast as in NumPy → y. Source: DivideBroadcastableLayerParams.
    """
    return g.Div(*two(inputs))


@lowering("powBroadcastable", layout="same")
def power(g: Context, p: Any, *inputs: Value) -> Value:
    """y = aᵇ, element by element.

    a, b broadcast as in NumPy → y. Source: PowBroadcastableLayerParams.
    """
    return g.Pow(*two(inputs))


@lowering("modBroadcastable", layout="same", integers=True)
def modulo(g: Context, p: Any, *inputs: Value) -> Value:
    """The remainder of a / b with the sign of b.

    y = a - b·⌊a/b⌋; a, b broadcast as in NumPy → y. Source: ModBroadcastableLayerParams (silent on the sign).
    """
    a, b = alike(g, *two(inputs))
    if a.dtype.kind == "i" and _safe(b):
        return g.Mod(a, b)
    a, b = g.float(a), g.float(b)
    rest = g.Mod(a, b, fmod=1)
    # the engine's remainder has the sign of a: one b more where the signs differ
    if b.data is not None and bool((b.data > 0).all()):
        other = g.Less(rest, 0.0)
    else:
        other = g.Less(g.Mul(g.Sign(rest), g.Sign(b)), 0.0)
    return g.Where(other, g.Add(rest, b), rest)


@lowering("floorDivBroadcastable", layout="same", integers=True)
def floor_divide(g: Context, p: Any, *inputs: Value) -> Value:
    """y = ⌊a / b⌋, element by element.

    a, b broadcast as in NumPy → y. Source: FloorDivBroadcastableLayerParams.
    """
    a, b = alike(g, *two(inputs))
    if a.dtype.kind == "i" and _safe(b):
        # integer division truncates: what is left is taken off first
        return g.Div(g.Sub(a, g.Mod(a, b)), b)
    return g.Floor(g.Div(g.float(a), g.float(b)))


def _safe(divisor: Value) -> bool:
    """Whether integers may be divided by it: by 0, and the smallest by -1, the engine would take the process down."""
    return whole(divisor) and divisor.data is not None and bool((divisor.data > 0).all())
