"""Derivatives of matrix products."""

from __future__ import annotations

from ..builder import Builder
from ..ir import Node, Value
from .common import operand, optional, swapped, unbroadcast
from .engine import Thunks, rule


@rule("MatMul")
def matmul(g: Builder, node: Node, dy: Value) -> Thunks:
    """a (…,M,K), b (…,K,N), dy (…,M,N) → da = dy·bᵀ, db = aᵀ·dy; vectors are rows on the left, columns on the right."""
    a, b = operand(node), operand(node, 1)
    left = g.reshape(a, [1, g.size(a, 0)]) if a.rank == 1 else a
    right = g.reshape(b, [g.size(b, 0), 1]) if b.rank == 1 else b
    lead = g.sizes(dy)[: dy.rank - (a.rank > 1) - (b.rank > 1)]
    dy = g.reshape(dy, [*lead, g.size(left, -2), g.size(right, -1)])

    def first() -> Value:
        return g.reshape(unbroadcast(g, g.MatMul(dy, swapped(g, right)), left), g.sizes(a))

    def second() -> Value:
        if right.rank == 2 and left.rank > 2:
            rows = g.product(g.sizes(left)[:-1])
            flat, dflat = (g.reshape(v, [rows, g.size(v, -1)]) for v in (left, dy))
            return g.reshape(g.Gemm(flat, dflat, transA=1), g.sizes(b))
        return g.reshape(unbroadcast(g, g.MatMul(swapped(g, left), dy), right), g.sizes(b))

    return first, second


@rule("Gemm")
def gemm(g: Builder, node: Node, dy: Value) -> Thunks:
    """y = alpha·A'·B' + beta·C with A' (M,K), B' (K,N), each transposed or not."""
    a, b, c = operand(node), operand(node, 1), optional(node, 2)
    alpha, beta = (node.attributes.get(name, 1.0) for name in ("alpha", "beta"))
    ta, tb = (int(node.attributes.get(name, 0)) for name in ("transA", "transB"))
    scale = None if alpha == 1 else alpha

    def product(x: Value, y: Value, tx: int, ty: int) -> Value:
        result: Value = g.Gemm(x, y, alpha=scale, transA=tx or None, transB=ty or None)
        return result

    def added() -> Value:
        assert c is not None
        return unbroadcast(g, dy if beta == 1 else g.Mul(dy, beta), c)

    return (
        lambda: product(b, dy, tb, 1) if ta else product(dy, b, 0, 1 - tb),
        lambda: product(dy, a, 1, ta) if tb else product(a, dy, 1 - ta, 0),
        added,
    )
