"""ONNX's recurrent operators as Scans over their steps, through which gradients flow.

Shapes: T steps, B batch, I input, H hidden, D directions. Gates in ONNX's order: LSTM i, o, f, c; GRU z, r, h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..builder import Builder
from ..composites.recurrent import DIRECTIONS, Activation, Cell, lstm_scan
from ..ir import Node, Value
from .common import operand, optional
from .engine import decomposition

_WITH_ALPHA = ("Affine", "ScaledTanh", "HardSigmoid")
_BY_DEFAULT = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _activations(node: Node, count: int) -> list[Activation]:
    """The functions of all directions."""
    names = [_text(name) for name in node.attributes.get("activations") or _BY_DEFAULT[node.op] * count]
    alphas = list(node.attributes.get("activation_alpha") or ())
    betas = list(node.attributes.get("activation_beta") or ())
    result = []
    for name in names:
        if name in _WITH_ALPHA:
            result.append(Activation(name, alphas.pop(0), betas.pop(0)))
        elif name in ("Sigmoid", "Tanh", "Relu"):
            result.append(Activation(name))
        else:
            raise UnsupportedError(f"the activation {name} has no gradient here")
    return result


def _direction(node: Node) -> str:
    if optional(node, 4) is not None or node.attributes.get("layout"):
        raise UnsupportedError("sequences of several lengths have no gradient here")
    return _text(node.attributes.get("direction", "forward"))


def _bias(g: Builder, node: Node, gates: int, hidden: int) -> Value | None:
    """Both biases of ONNX (D,2·n·H) as one (D,n·H)."""
    both = optional(node, 3)
    if both is None:
        return None
    first = g.Slice(both, [0], [gates * hidden], [1])
    result: Value = g.Add(first, g.Slice(both, [gates * hidden], [2 * gates * hidden], [1]))
    return result


@decomposition("LSTM")
def lstm(g: Builder, node: Node) -> tuple[Value, ...]:
    x, w, r = (operand(node, index) for index in range(3))
    direction, hidden = _direction(node), int(r.shape[-1])
    cell = Cell(w, r, _bias(g, node, 4, hidden), optional(node, 7))
    return lstm_scan(
        g,
        x,
        cell,
        optional(node, 5),
        optional(node, 6),
        activations=_activations(node, len(DIRECTIONS[direction])),
        direction=direction,
        coupled=bool(node.attributes.get("input_forget", 0)),
        gate_clip=node.attributes.get("clip", math.inf),
    )


@decomposition("GRU")
def gru(g: Builder, node: Node) -> tuple[Value, ...]:
    """z, r = f(clip(W·xₜ + R·hₜ₋₁ + b)), n = g(clip(Wₙ·xₜ + Rₙ·(r⊙hₜ₋₁) + bₙ)), hₜ = (1 - z)⊙n + z⊙hₜ₋₁"""
    after = bool(node.attributes.get("linear_before_reset", 0))
    hidden = int(operand(node, 2).shape[-1])

    def step(body: Builder, products: Value, h: Value, r: Value, functions: Sequence[Activation]) -> Value:
        """products (B,3·H) of the input, h (B,H), r (3·H,H)."""
        first, last = (body.Slice(r, [a * hidden], [b * hidden], [0]) for a, b in ((0, 2), (2, 3)))
        zr, n = body.Split(products, [2 * hidden, hidden], axis=-1, outputs=2)
        gates = functions[0].apply(body, clipped(body, node, body.Add(zr, _times(body, h, first))))
        z, reset = body.Split(gates, [hidden, hidden], axis=-1, outputs=2)
        if after:
            raise UnsupportedError("a reset gate behind the recurrent product has no gradient here")
        n = functions[1].apply(body, clipped(body, node, body.Add(n, _times(body, body.Mul(reset, h), last))))
        result: Value = body.Add(body.Mul(body.Sub(1.0, z), n), body.Mul(z, h))
        return result

    return _single(g, node, 3, step)


@decomposition("RNN")
def rnn(g: Builder, node: Node) -> tuple[Value, ...]:
    """hₜ = f(clip(W·xₜ + R·hₜ₋₁ + b))"""

    def step(body: Builder, products: Value, h: Value, r: Value, functions: Sequence[Activation]) -> Value:
        return functions[0].apply(body, clipped(body, node, body.Add(products, _times(body, h, r))))

    return _single(g, node, 1, step)


def clipped(g: Builder, node: Node, x: Value) -> Value:
    """Sums are clipped where the operator says so."""
    limit = node.attributes.get("clip")
    return x if limit is None else g.Clip(x, -limit, limit)


def _times(g: Builder, h: Value, r: Value) -> Value:
    """h (B,H) · r (n·H,H)ᵀ"""
    result: Value = g.Gemm(h, r, transB=1)
    return result


def _single(g: Builder, node: Node, gates: int, step: Any) -> tuple[Value, Value]:
    """A layer with one state: y (T,D,B,H) and the last h (D,B,H)."""
    x, w, r = (operand(node, index) for index in range(3))
    h = optional(node, 5)
    hidden, directions = int(r.shape[-1]), DIRECTIONS[_direction(node)]
    functions = _activations(node, len(directions))
    each = len(functions) // len(directions)
    bias = _bias(g, node, gates, hidden)
    ys, lasts = [], []
    for index, backwards in enumerate(directions):
        one = np.int64(index)
        weights, recurrent = g.Gather(w, one, axis=0), g.Gather(r, one, axis=0)
        products = g.MatMul(x, g.Transpose(weights, perm=[1, 0]))
        if bias is not None:
            products = g.Add(products, g.Gather(bias, one, axis=0))
        start = g.expand(g.constant([[0.0]]), [g.size(x, 1), hidden]) if h is None else g.Gather(h, one, axis=0)
        body = g.subgraph("step")
        state = body.input("h", x.dtype, start.shape)
        new = step(
            body,
            body.input("products", x.dtype, products.shape[1:]),
            state,
            recurrent,
            functions[each * index : each * (index + 1)],
        )
        body.output(new)
        body.output(new)
        attributes: dict[str, Any] = {"body": body.graph, "num_scan_inputs": 1}
        if backwards:
            attributes |= {"scan_input_directions": [1], "scan_output_directions": [1]}
        types = [(x.dtype, start.shape), (x.dtype, (x.shape[0], *start.shape))]
        last, y = g.append("Scan", [start, products], attributes, types)
        ys.append(g.Unsqueeze(y, [1]))
        lasts.append(g.Unsqueeze(last, [0]))
    if len(ys) == 1:
        return ys[0], lasts[0]
    return g.Concat(*ys, axis=1), g.Concat(*lasts, axis=0)
