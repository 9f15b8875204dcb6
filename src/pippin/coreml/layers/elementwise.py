"""Elementwise layers of the first format versions: unary functions, sums and products, scale and bias, dot product."""

from __future__ import annotations

from typing import Any

from ...errors import CheckError
from ...graph.ir import Value
from ..lowering import Context, lowering, require
from .activation import linear


@lowering("unary", layout="same")
def unary(g: Context, p: Any, x: Value) -> Value:
    """A function of scale · x + shift, element by element.

    SQRT √x; RSQRT 1/√(x + epsilon); INVERSE 1/(x + epsilon); POWER x^alpha; EXP eˣ; LOG ln x; ABS |x|;
    THRESHOLD max(alpha, x).
    x (…) → y same shape. Defaults: scale 0 stands for 1, epsilon 0 for 1e-6. Values outside a function's domain give
    IEEE's NaN and infinities. Source: UnaryFunctionLayerParams.
    """
    # epsilon is one more shift
    shift = p.shift + (p.epsilon or 1e-6) if p.type in (1, 2) else p.shift
    x = scaled(g, x, p.scale or 1.0, shift)
    match p.type:
        case 0:
            return g.Sqrt(x)
        case 1:
            return g.Reciprocal(g.Sqrt(x))
        case 2:
            return g.Reciprocal(x)
        case 3:
            return x if p.alpha == 1 else g.Pow(x, p.alpha)
        case 4:
            return g.Exp(x)
        case 5:
            return g.Log(x)
        case 6:
            return g.Abs(x)
        case 7:
            return g.Max(x, p.alpha)
    raise CheckError(f"type must be a function between SQRT (0) and THRESHOLD (7), got {p.type}")


def scaled(g: Context, x: Value, scale: float, shift: float) -> Value:
    """scale · x + shift, without what changes nothing."""
    return x if scale == 1 and shift == 0 else linear(g, x, scale, shift)


@lowering("add", layout="same")
def add(g: Context, p: Any, x: Value, *more: Value) -> Value:
    """Sum of the inputs, or x + alpha for one input.

    x, … shapes that broadcast → y. Source: AddLayerParams.
    """
    if not more:
        return scaled(g, x, 1.0, p.alpha)
    together(x, *more)
    return g.Add(x, more[0]) if len(more) == 1 else g.Sum(x, *more)


@lowering("multiply", layout="same")
def multiply(g: Context, p: Any, x: Value, *more: Value) -> Value:
    """Product of the inputs, or alpha · x for one input.

    x, … shapes that broadcast → y. Source: MultiplyLayerParams.
    """
    if not more:
        return g.Mul(x, p.alpha)
    together(x, *more)
    for other in more:
        x = g.Mul(x, other)
    return x


@lowering("average", layout="same")
def average(g: Context, p: Any, x: Value, *more: Value) -> Value:
    """Mean of the inputs, element by element.

    x, … shapes that broadcast → y. Source: AverageLayerParams.
    """
    together(x, *more)
    return g.Mean(x, *more) if more else x


@lowering("max", layout="same")
def maximum(g: Context, p: Any, x: Value, *more: Value) -> Value:
    """Largest of the inputs, element by element.

    x, … shapes that broadcast → y. Source: MaxLayerParams.
    """
    together(x, *more)
    return g.Max(x, *more) if more else x


@lowering("min", layout="same")
def minimum(g: Context, p: Any, x: Value, *more: Value) -> Value:
    """Smallest of the inputs, element by element.

    x, … shapes that broadcast → y. Source: MinLayerParams.
    """
    together(x, *more)
    return g.Min(x, *more) if more else x


def together(*inputs: Value) -> None:
    """Raises ``CheckError`` where known sizes keep the inputs from being broadcast to one shape."""
    for axis in range(1, max(x.rank for x in inputs) + 1):
        sizes = {x.shape[-axis] for x in inputs if x.rank >= axis}
        if sum(isinstance(size, int) and size != 1 for size in sizes) > 1:
            shapes = ", ".join(str(list(x.shape)) for x in inputs)
            raise CheckError(f"the inputs must have shapes that broadcast to one another, got {shapes}")


@lowering("dot", layout="same", rank=3)
def dot(g: Context, p: Any, x: Value, y: Value) -> Value:
    """Dot product of vectors along the channel axis.

    z = Σ x_c · y_c; with ``cosineSimilarity`` of x / |x| and y / |y|, 0 where one of them is zero
    x, y (…,C,1,1) → z (…,1,1,1). Source: DotProductLayerParams.
    """
    for value in (x, y):
        require(
            all(dim == 1 or isinstance(dim, str) for dim in value.shape[-2:]),
            f"the last two axes of the inputs must be 1, got {list(value.shape)}",
        )
    require(x.rank == y.rank, f"the inputs must have the same rank, got {x.rank} and {y.rank}")
    if p.cosineSimilarity:
        x, y = (g.LpNormalization(value, axis=value.rank - 3, p=2) for value in (x, y))
    return g.ReduceSum(g.Mul(x, y), [-3])


@lowering("scale", layout="same", rank=3)
def scale(g: Context, p: Any, x: Value) -> Value:
    """Multiplication by a factor and addition of a bias that broadcast over the input.

    y = scale · x + bias (with ``hasBias``)
    x (…,C,H,W) → y same shape; scale and bias have shapeScale and shapeBias: [1], [C], [1,H,W] or [C,H,W].
    Source: ScaleLayerParams.
    """
    y = g.Mul(x, broadcast(g, p.scale, p.shapeScale, x, "scale", "shapeScale"))
    return g.Add(y, broadcast(g, p.bias, p.shapeBias, x, "bias", "shapeBias")) if p.hasBias else y


@lowering("bias", layout="same", rank=3)
def bias(g: Context, p: Any, x: Value) -> Value:
    """Addition of a bias that broadcasts over the input.

    y = x + bias
    x (…,C,H,W) → y same shape; the bias has the shape [1], [C], [1,H,W] or [C,H,W]. Source: BiasLayerParams.
    """
    return g.Add(x, broadcast(g, p.bias, p.shape, x, "bias", "shape"))


def broadcast(g: Context, params: Any, shape: Any, x: Value, name: str, field: str) -> Value:
    """Values of a shape [1], [C], [1,H,W] or [C,H,W] as a constant to broadcast over ``x`` (…,C,H,W)."""
    sizes = [int(size) for size in shape]
    require(len(sizes) in (1, 3) and min(sizes) > 0, f"{field} must be [1], [C], [1,H,W] or [C,H,W], got {sizes}")
    target = sizes if len(sizes) == 3 else [*sizes, 1, 1]
    fits = all(have == 1 or isinstance(dim, str) or have == dim for have, dim in zip(target, x.shape[-3:], strict=True))
    require(fits, f"{field} {sizes} does not fit the input {list(x.shape)}")
    array = g.array(params, *sizes, name=name)
    return g.constant(array.reshape(()) if sizes == [1] else array.reshape(target), name=f"{g.prefix}/{name}")
