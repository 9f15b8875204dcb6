"""Twin of the long short-term memory layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nnrt.enums import NodeType
from .activation import sigmoid
from .registry import Array, Context, twin
from .rules import need_number, need_rank, require


@twin(NodeType.LSTM)
def lstm(
    context: Context, p: Any, x: Array, inner: Array, recurrent: Array, bias: Array, h0: Array, c0: Array
) -> tuple[Array, ...]:
    """i, o, f = σ(W x + R h + b), g = tanh(…); c' = f c + i g; h' = o tanh(c'); zoneout z keeps z of the old state.

    x (T,B,I), W (D,4H,I), R (D,4H,H), bias (D,8H), h₀, c₀ (D,B,H) → y (T,D,B,H), hₙ, cₙ (D,B,H); the blocks of 4H are
    input, output, forget and cell gate. The second direction reads the sequence from its end.
    """
    need_number(x, inner, recurrent, bias, h0, c0)
    need_rank(x, 3)
    need_rank(inner, 3, name="weightIh")
    directions = 2 if p.bidirectional else 1
    hidden = inner.shape[1] // 4
    wanted = {
        "weightIh": (inner, (directions, 4 * hidden, x.shape[2])),
        "weightHh": (recurrent, (directions, 4 * hidden, hidden)),
        "bias": (bias, (directions, 8 * hidden)),
        "h0": (h0, (directions, x.shape[1], hidden)),
        "c0": (c0, (directions, x.shape[1], hidden)),
    }
    for name, (array, dims) in wanted.items():
        require(array.shape == dims, f"{name} must have dims {list(dims)}, got {list(array.shape)}")
    require(p.numLayers in (0, 1), f"numLayers must be 1, got {p.numLayers}")
    require(p.projSize == 0, f"projSize must be 0, got {p.projSize}")
    y = np.zeros((x.shape[0], *h0.shape))
    h, c = h0.copy(), c0.copy()
    offsets = bias[:, : 4 * hidden] + bias[:, 4 * hidden :]
    for d in range(directions):
        order = range(x.shape[0])[::-1] if d else range(x.shape[0])
        for t in order:
            gates = x[t] @ inner[d].T + h[d] @ recurrent[d].T + offsets[d]
            i, o, f, g = np.split(gates, 4, axis=1)
            new_c = sigmoid(f) * c[d] + sigmoid(i) * np.tanh(g)
            new_h = sigmoid(o) * np.tanh(new_c)
            c[d] = p.zoneoutCell * c[d] + (1 - p.zoneoutCell) * new_c
            h[d] = p.zoneoutHidden * h[d] + (1 - p.zoneoutHidden) * new_h
            y[t, d] = h[d]
    return y, h, c
