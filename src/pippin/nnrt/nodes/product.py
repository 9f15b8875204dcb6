"""Matrix products."""

from __future__ import annotations

from ...errors import CheckError
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType
from .activation import activate
from .base import NodeBuilder, arithmetic, emit, node, permute, refuse_bare_int8, scaled


@node(NodeType.MATMUL_FUSION, bias=2, quantized="product")
def matmul(g: NodeBuilder, p: attributes.MatMulFusion, a: Value, b: Value, bias: Value | None = None) -> Value:
    """y = act(op(a) op(b) + bias), op turning the last two dims where ``transposeA`` and ``transposeB`` ask for it.

    a (…,M,K), b (…,K,N), leading dims broadcast as NumPy's, bias (N) or left out → y (…,M,N).
    """
    refuse_bare_int8(g)
    if not a.rank or not b.rank:
        raise CheckError(f"both operands must have a dim at least, got {list(a.shape)} and {list(b.shape)}")
    a, b = _turned(g, a, p.transposeA), _turned(g, g.cast(b, a.dtype), p.transposeB)
    if b.rank == 1:
        # a column: where a is transposed, the engine's product with a vector answers with wrong numbers
        y: Value = g.Squeeze(emit(g, "MatMul", a, g.Unsqueeze(b, [1])), [-1])
    else:
        y = emit(g, "MatMul", a, b)
    if bias is not None:
        y = arithmetic(g, "Add", y, bias)
    return activate(g, scaled(g, y, -1), p.activationType)


def _turned(g: NodeBuilder, x: Value, wanted: bool) -> Value:
    """x with its last two dims exchanged; a vector has none to exchange."""
    if not wanted or x.rank < 2:
        return x
    return permute(g, x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


@node(NodeType.FULL_CONNECTION, bias=2, quantized="product")
def full_connection(
    g: NodeBuilder, p: attributes.FullConnection, x: Value, w: Value, bias: Value | None = None
) -> Value:
    """y = act(x wᵀ + bias).

    w (O,K), bias (O) as ``hasBias`` says.  With ``useAxis`` x (d₀ … dₙ) is cut at ``axis``, K the product of the dims
    from there on → y (d₀ … d_axis-1, O); without it x is a row of K after another → y (size/K, O).
    """
    refuse_bare_int8(g)
    if (bias is not None) != p.hasBias:
        raise CheckError(
            f"hasBias must say whether there is a third input, got {p.hasBias} and {2 + (bias is not None)}"
        )
    if w.rank != 2:
        raise CheckError(f"the weight must have 2 dims, got {list(w.shape)}")
    depth = g.size(w, 1)
    if p.useAxis:
        if not 1 <= p.axis <= x.rank:
            raise CheckError(f"axis must be in [1, {x.rank}], got {p.axis}")
        inner = g.product(g.sizes(x)[p.axis :])
        if isinstance(inner, int) and isinstance(depth, int) and inner != depth:
            raise CheckError(f"dims {list(x.shape)} from axis {p.axis} on must hold the weight's {depth}, got {inner}")
        rows = g.reshape(x, [*g.sizes(x)[: p.axis], depth])
    elif p.axis:
        raise CheckError(f"axis must be 0 without useAxis, got {p.axis}")
    else:
        rows = g.reshape(x, [-1, depth])
    y: Value = emit(g, "MatMul", rows, permute(g, g.cast(w, x.dtype), (1, 0)))
    if bias is not None:
        y = arithmetic(g, "Add", y, bias)
    return activate(g, scaled(g, y, -1), p.activationType)
