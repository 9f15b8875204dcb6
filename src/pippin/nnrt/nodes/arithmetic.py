"""Functions of two tensors, element by element, and the plain functions of one.  Dims are broadcast as NumPy's."""

from __future__ import annotations

from typing import Any

from ...errors import CheckError
from ...graph.ir import Value
from .. import attributes
from ..enums import EltwiseMode, NodeType
from .activation import activate
from .base import NodeBuilder, arithmetic, as_float, axis_of, emit, node, per_channel, refuse_bare_int8


def _fused(op: str, node_type: NodeType) -> None:
    """y = act(a op b)."""

    @node(node_type)
    def lower(g: NodeBuilder, p: Any, a: Value, b: Value) -> Value:
        """y = act(a op b).

        a, b (…), broadcast as NumPy's → y of the type of a.
        """
        refuse_bare_int8(g)
        return activate(g, arithmetic(g, op, a, b), p.activationType)


for _op, _type in (("Add", NodeType.ADD_FUSION), ("Sub", NodeType.SUB_FUSION), ("Mul", NodeType.MUL_FUSION)):
    _fused(_op, _type)


@node(NodeType.DIV_FUSION)
def div(g: NodeBuilder, p: attributes.DivFusion, a: Value, b: Value) -> Value:
    """y = act(a / b).

    a, b (…), broadcast as NumPy's → y of the type of a.  Integers are truncated toward zero, and 0 where b is 0; floats
    divided by 0 follow IEEE 754.
    """
    refuse_bare_int8(g)
    return activate(g, divide(g, a, b), p.activationType)


@node(NodeType.REAL_DIV)
def real_div(g: NodeBuilder, p: attributes.RealDiv, a: Value, b: Value) -> Value:
    """y = a / b.

    a, b (…), broadcast as NumPy's → y of the type of a.
    """
    refuse_bare_int8(g)
    return divide(g, a, b)


def divide(g: NodeBuilder, a: Value, b: Value) -> Value:
    """a / b.  Dividing an integer by 0, or the least one by -1, would end the process: both are kept out."""
    if a.dtype.kind == "f":
        return arithmetic(g, "Div", a, b)
    if a.dtype.name == "uint64":
        return _divide_large(g, a, g.cast(b, a.dtype))
    work = "int64" if a.dtype.name in ("int64", "uint32") else "int32"
    x, y = g.cast(a, work), g.cast(g.cast(b, a.dtype), work)
    if y.data is not None and not ((y.data == 0) | (y.data == -1)).any():
        return g.cast(g.Div(x, y), a.dtype)
    none, minus = g.constant(0, work), g.constant(-1, work)
    nothing, turned = g.Equal(y, none), g.Equal(y, minus)
    quotient = g.Div(x, g.Where(g.Or(nothing, turned), g.constant(1, work), y))
    quotient = g.Where(turned, g.Sub(none, x), g.Where(nothing, none, quotient))
    return g.cast(quotient, a.dtype)


def _divide_large(g: NodeBuilder, a: Value, b: Value) -> Value:
    """a / b in uint64 by the division of int64: twice the quotient of a's half, and one more where b still fits."""
    one, none = g.constant(1, "uint64"), g.constant(0, "uint64")
    negative = g.Less(g.cast(b, "int64"), g.constant(0, "int64"))  # 2⁶³ and above: the quotient is 0 or 1
    nothing = arithmetic(g, "Equal", b, none, back=False)
    divisor = g.Where(g.Or(negative, nothing), g.constant(1, "int64"), g.cast(b, "int64"))
    half = g.cast(g.BitShift(a, one, direction="RIGHT"), "int64")
    twice = g.Mul(g.Div(half, divisor), g.constant(2, "int64"))
    twice = g.Where(negative, g.constant(0, "int64"), twice)
    rest = g.Sub(g.cast(a, "int64"), g.Mul(twice, g.cast(b, "int64")))
    more = g.cast(arithmetic(g, "GreaterOrEqual", g.cast(rest, "uint64"), b, back=False), "int64")
    return g.cast(g.Where(nothing, g.constant(0, "int64"), g.Add(twice, more)), "uint64")


@node(NodeType.ELTWISE)
def eltwise(g: NodeBuilder, p: attributes.Eltwise, a: Value, b: Value) -> Value:
    """y = a · b (PROD), a + b (SUM) or max(a, b) (MAXIMUM).

    a, b (…), broadcast as NumPy's → y of the type of a.
    Differs: the text calls SUM a difference, against its name and every kernel.
    """
    refuse_bare_int8(g)
    op = {EltwiseMode.PROD: "Mul", EltwiseMode.SUM: "Add", EltwiseMode.MAXIMUM: "Max"}.get(EltwiseMode(p.mode))
    if op is None:
        raise CheckError("mode must be PROD, SUM or MAXIMUM, got UNKNOWN")
    return arithmetic(g, op, a, b)


@node(NodeType.POW_FUSION)
def power(g: NodeBuilder, p: attributes.PowFusion, a: Value, b: Value) -> Value:
    """y = (scale · a + shift) ^ b.

    a, b (…), broadcast as NumPy's → y of the type of a.
    """
    refuse_bare_int8(g)
    base = as_float(g, a)
    if p.scale != 1:
        base = g.Mul(base, p.scale)
    if p.shift != 0:
        base = g.Add(base, p.shift)
    return g.cast(arithmetic(g, "Pow", base, b), a.dtype)


@node(NodeType.MOD)
def mod(g: NodeBuilder, p: attributes.Mod, a: Value, b: Value) -> Value:
    """y = a - b · trunc(a / b): the remainder, with the sign of the dividend.

    a, b (…), broadcast as NumPy's → y of the type of a.
    """
    refuse_bare_int8(g)
    if a.dtype.kind == "f":
        return arithmetic(g, "Mod", a, b, fmod=1)
    b = g.cast(b, a.dtype)
    return arithmetic(g, "Sub", a, arithmetic(g, "Mul", b, divide(g, a, b)))


@node(NodeType.MAXIMUM)
def maximum(g: NodeBuilder, p: attributes.Maximum, a: Value, b: Value) -> Value:
    """y = max(a, b).

    a, b (…), broadcast as NumPy's → y of the type of a.
    """
    refuse_bare_int8(g)
    return arithmetic(g, "Max", a, b)


@node(NodeType.MINIMUM)
def minimum(g: NodeBuilder, p: attributes.Minimum, a: Value, b: Value) -> Value:
    """y = min(a, b).

    a, b (…), broadcast as NumPy's → y of the type of a.
    """
    refuse_bare_int8(g)
    return arithmetic(g, "Min", a, b)


@node(NodeType.SQUARED_DIFFERENCE)
def squared_difference(g: NodeBuilder, p: attributes.SquaredDifference, a: Value, b: Value) -> Value:
    """y = (a - b)².

    a, b (…), broadcast as NumPy's → y of the type of a.
    """
    refuse_bare_int8(g)
    difference = arithmetic(g, "Sub", a, b)
    return arithmetic(g, "Mul", difference, difference)


@node(NodeType.BIAS_ADD, bias=1)
def bias_add(g: NodeBuilder, p: attributes.BiasAdd, x: Value, bias: Value) -> Value:
    """y = x + bias, one a channel.

    x (…, C), or (N,C,H,W) where its format says so, bias (C) → y like x.
    """
    return arithmetic(g, "Add", x, per_channel(g, x, bias, "bias"))


@node(NodeType.SCALE_FUSION)
def scale(g: NodeBuilder, p: attributes.ScaleFusion, x: Value, factor: Value, bias: Value | None = None) -> Value:
    """y = act(x · scale + bias), scale and bias along the dims of x from ``axis`` on.

    x (d₀ … dₙ), scale (d_axis … d_axis+k), bias as scale, or left out → y like x.
    """
    axis = axis_of(p.axis, x.rank)
    covered = x.shape[axis : axis + factor.rank]
    if len(covered) < factor.rank or (x.static and factor.shape != covered):
        raise CheckError(f"scale must have dims {list(covered)} of {list(x.shape)}, got {list(factor.shape)}")
    tail = [1] * (x.rank - axis - factor.rank)
    sizes = [*g.sizes(factor), *tail]
    y = arithmetic(g, "Mul", x, g.reshape(factor, sizes))
    if bias is not None:
        counts = g.product(g.sizes(bias)), g.product(g.sizes(factor))
        if all(isinstance(count, int) for count in counts) and counts[0] != counts[1]:
            raise CheckError(f"the bias must have as many elements as scale, {counts[1]}, got {counts[0]}")
        y = arithmetic(g, "Add", y, g.reshape(bias, sizes))
    return activate(g, y, p.activationType)


# -- comparisons and logic -------------------------------------------------------------------------------------------

_COMPARISONS = {
    NodeType.EQUAL: "Equal",
    NodeType.GREATER: "Greater",
    NodeType.GREATER_EQUAL: "GreaterOrEqual",
    NodeType.LESS: "Less",
    NodeType.LESS_EQUAL: "LessOrEqual",
}


@node(*_COMPARISONS)
def compare(g: NodeBuilder, p: Any, a: Value, b: Value) -> Value:
    """y = (a ∘ b).

    a, b (…), broadcast as NumPy's, b in the type of a → y bool.
    """
    return arithmetic(g, _COMPARISONS[g.node.node_type], a, b, back=False)


@node(NodeType.NOT_EQUAL)
def not_equal(g: NodeBuilder, p: attributes.NotEqual, a: Value, b: Value) -> Value:
    """y = (a ≠ b).

    a, b (…), broadcast as NumPy's, b in the type of a → y bool.
    """
    result: Value = g.Not(arithmetic(g, "Equal", a, b, back=False))
    return result


@node(NodeType.LOGICAL_AND)
def logical_and(g: NodeBuilder, p: attributes.LogicalAnd, a: Value, b: Value) -> Value:
    """y = a and b; numbers count as true unless they are 0.

    a, b (…), broadcast as NumPy's → y bool.
    """
    result: Value = g.And(g.cast(a, "bool"), g.cast(b, "bool"))
    return result


@node(NodeType.LOGICAL_OR)
def logical_or(g: NodeBuilder, p: attributes.LogicalOr, a: Value, b: Value) -> Value:
    """y = a or b; numbers count as true unless they are 0.

    a, b (…), broadcast as NumPy's → y bool.
    """
    result: Value = g.Or(g.cast(a, "bool"), g.cast(b, "bool"))
    return result


@node(NodeType.LOGICAL_NOT)
def logical_not(g: NodeBuilder, p: attributes.LogicalNot, x: Value) -> Value:
    """y = not x; numbers count as true unless they are 0.

    x (…) → y bool.
    """
    result: Value = g.Not(g.cast(x, "bool"))
    return result


# -- functions of one tensor -----------------------------------------------------------------------------------------

_UNARY = {
    NodeType.ABS: "Abs",
    NodeType.CEIL: "Ceil",
    NodeType.FLOOR: "Floor",
    NodeType.ROUND: "Round",
    NodeType.COS: "Cos",
    NodeType.SIN: "Sin",
    NodeType.ERF: "Erf",
    NodeType.LOG: "Log",
    NodeType.NEG: "Neg",
    NodeType.RECIPROCAL: "Reciprocal",
    NodeType.SQRT: "Sqrt",
}


@node(*_UNARY)
def unary(g: NodeBuilder, p: Any, x: Value) -> Value:
    """y = f(x), element by element.

    x (…) → y like x; of integers what can be said in integers.
    """
    refuse_bare_int8(g)
    if x.dtype.kind in "iu" and g.node.node_type in (NodeType.CEIL, NodeType.FLOOR, NodeType.ROUND):
        return x  # by way of a float the large ones would lose their last digits
    result: Value = emit(g, _UNARY[g.node.node_type], x)
    return result


@node(NodeType.RSQRT)
def rsqrt(g: NodeBuilder, p: attributes.Rsqrt, x: Value) -> Value:
    """y = 1/√x.

    x (…) → y like x; 0 gives inf, a negative number NaN.
    """
    refuse_bare_int8(g)
    root: Value = emit(g, "Sqrt", as_float(g, x))
    return g.cast(g.Reciprocal(root), x.dtype)


@node(NodeType.SQUARE)
def square(g: NodeBuilder, p: attributes.Square, x: Value) -> Value:
    """y = x².

    x (…) → y like x.
    """
    refuse_bare_int8(g)
    return arithmetic(g, "Mul", x, x)


@node(NodeType.EXPFUSION)
def exp(g: NodeBuilder, p: attributes.ExpFusion, x: Value) -> Value:
    """y = base ^ (shift + scale x), computed as exp((shift + scale x) ln base).

    x (…) → y like x.  A base of -1 stands for e; any other must be positive.
    Differs: kernels lose the base where scale is 1.
    """
    import math

    refuse_bare_int8(g)
    if p.base != -1 and not p.base > 0:
        raise CheckError(f"base must be positive, or -1 for e, got {p.base}")
    factor = 1.0 if p.base == -1 else math.log(p.base)
    power = as_float(g, x)
    if p.scale * factor != 1:
        power = g.Mul(power, p.scale * factor)
    if p.shift * factor != 0:
        power = g.Add(power, p.shift * factor)
    return g.cast(emit(g, "Exp", power), x.dtype)
