"""LSTM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import UnsupportedError
from ... import attributes as a
from ..converter import Converter, known
from ..registry import rule

if TYPE_CHECKING:
    from ....graph.ir import Node, Value
    from ...authoring import Ref

USUAL = ["Sigmoid", "Tanh", "Tanh"]


@rule("LSTM")
def lstm(c: Converter, n: Node) -> None:
    """LSTM; a backward one runs over the sequence turned round, and its answers are turned back."""
    x, w, r = n.inputs[:3]
    assert x is not None
    assert w is not None
    assert r is not None
    direction = n.attributes.get("direction", "forward")
    direction = direction.decode() if isinstance(direction, bytes) else direction
    functions = [f.decode() if isinstance(f, bytes) else f for f in n.attributes.get("activations") or USUAL]
    if functions != USUAL * (len(functions) // 3) or n.attributes.get("clip") or n.attributes.get("input_forget"):
        raise UnsupportedError("an LSTM with functions of its own, clipped or with coupled gates cannot be said")
    if c.given(n, 7) is not None or c.given(n, 4) is not None or n.attributes.get("layout"):
        raise UnsupportedError("peepholes, lengths and the batch in front cannot be said")
    count, hidden = known(r.shape[::2])
    batch, width = known(x.shape[1:])
    states = [_state(c, c.given(n, place), count, batch, hidden) for place in (5, 6)]
    bias = c.given(n, 3)
    offset = c.plain(bias) if bias is not None else _zeros(c, count, 8 * hidden)
    sequence = c.plain(x)
    backward = direction == "reverse"
    if backward:
        sequence = _turned(c, sequence)
    struct = a.LSTM(
        bidirectional=count == 2, hasBias=True, inputSize=width, hiddenSize=hidden, numLayers=1, numDirections=count
    )
    y, last_h, last_c = c.node(struct, sequence, c.plain(w), c.plain(r), offset, *states, outputs=3, like=n.outputs[0])
    if backward:
        y = _turned(c, y)
    for value, ref in zip(n.outputs, (y, last_h, last_c), strict=False):
        c.put(value, ref)


def _zeros(c: Converter, *dims: int) -> Ref:
    import numpy as np

    return c.constant(np.zeros(dims, np.float32))


def _state(c: Converter, value: Value | None, *dims: int) -> Ref:
    return c.plain(value) if value is not None else _zeros(c, *dims)


def _turned(c: Converter, x: Ref) -> Ref:
    """A sequence from its end to its beginning."""
    result: Ref = c.b.StridedSlice(x, [-1], [0], [-1], endMask=1)
    return result
