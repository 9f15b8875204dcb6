"""The recurrent layer of the interface."""

from __future__ import annotations

from ...errors import CheckError
from ...graph.composites.guard import require_some
from ...graph.composites.recurrent import DIRECTIONS
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType
from .base import NodeBuilder, as_float, node, rank_of, refuse_bare_int8


@node(NodeType.LSTM)
def lstm(
    g: NodeBuilder, p: attributes.LSTM, x: Value, w: Value, r: Value, bias: Value, h: Value, c: Value
) -> tuple[Value, Value, Value]:
    """A long short-term memory layer over a sequence, one direction or two.

    i, f, o = σ(W x + R h + b), g = tanh(…); c' = f c + i g; h' = o tanh(c'); zoneout z keeps z of the old state:
    z·old + (1 - z)·new, c before h.
    x (T,B,I), W (D,4H,I), R (D,4H,H), bias (D,8H), h₀, c₀ (D,B,H) → y (T,D,B,H), hₙ, cₙ (D,B,H).
    Blocks inside 4H: input, output, forget, cell; bias: 4H for W, then 4H for R.  ``hasBias`` says nothing: the bias is
    there.  ``dropout`` is for training.
    Differs: the text's y is (T,B,D·H), the kernel's (T,D,B,H).
    """
    refuse_bare_int8(g)
    for value, what in ((x, "input"), (w, "input weight"), (r, "recurrent weight"), (h, "hidden"), (c, "cell state")):
        rank_of(value, 3, what)
    _check(p, x, w, r, bias, h, c)
    x = as_float(g, x)
    w, r, bias, h, c = (g.cast(value, x.dtype) for value in (w, r, bias, h, c))
    direction = "bidirectional" if p.bidirectional else "forward"
    if p.zoneoutCell or p.zoneoutHidden:
        return _zoned(g, p, direction, x, w, r, bias, h, c)
    half = x.dtype.name != "float32"
    if half:
        x, w, r, bias, h, c = (g.cast(value, "float32") for value in (x, w, r, bias, h, c))
    x = require_some(g, x, [1], "the batch")
    result: tuple[Value, Value, Value] = g.LSTM(
        x, w, r, bias, None, h, c, outputs=3, hidden_size=int(r.shape[2]), direction=direction
    )
    return result


def _check(p: attributes.LSTM, x: Value, w: Value, r: Value, bias: Value, h: Value, c: Value) -> None:
    """Dims against one another, then the attributes against them."""
    count = 2 if p.bidirectional else 1
    if p.numLayers != 1:
        raise CheckError(f"numLayers must be 1, got {p.numLayers}: one weight has no room for layers of other widths")
    if p.numDirections != count:
        raise CheckError(f"numDirections must be {count} as bidirectional says, got {p.numDirections}")
    if p.projSize:
        raise CheckError(f"projSize must be 0, got {p.projSize}: there is no input for its weight")
    for name, kept in (("zoneoutCell", p.zoneoutCell), ("zoneoutHidden", p.zoneoutHidden)):
        if not 0 <= kept <= 1:
            raise CheckError(f"{name} must be 0 to 1, got {kept}")
    hidden, width = r.shape[2], w.shape[2]
    if not isinstance(hidden, int) or hidden < 1:
        raise CheckError(f"the last dim of the recurrent weight must be known, got {list(r.shape)}")
    steps, batch = x.shape[:2]
    wanted = {
        "input": (x, (steps, batch, width)),
        "input weight": (w, (count, 4 * hidden, width)),
        "recurrent weight": (r, (count, 4 * hidden, hidden)),
        "bias": (bias, (count, 8 * hidden)),
        "hidden state": (h, (count, batch, hidden)),
        "cell state": (c, (count, batch, hidden)),
    }
    for what, (value, shape) in wanted.items():
        if value.rank != len(shape) or any(
            isinstance(have, int) and isinstance(want, int) and have != want
            for have, want in zip(value.shape, shape, strict=True)
        ):
            raise CheckError(f"the {what} must have dims {list(shape)}, got {list(value.shape)}")
    for name, said, real in (("hiddenSize", p.hiddenSize, hidden), ("inputSize", p.inputSize, width)):
        if said and isinstance(real, int) and said != real:
            raise CheckError(f"{name} must be {real} as the weights have it, got {said}")


def _zoned(
    g: NodeBuilder,
    p: attributes.LSTM,
    direction: str,
    x: Value,
    w: Value,
    r: Value,
    bias: Value,
    h: Value,
    c: Value,
) -> tuple[Value, Value, Value]:
    """With zoneout, which ONNX's LSTM does not have: a Scan for each direction."""
    results = []
    for index, backwards in enumerate(DIRECTIONS[direction]):
        parts = (g.Squeeze(g.Slice(value, [index], [index + 1], [0]), [0]) for value in (w, r, bias, h, c))
        results.append(_pass(g, p, x, *parts, backwards=backwards))
    y, last_h, last_c = (
        [g.Unsqueeze(result[place], [axis]) for result in results] for place, axis in ((0, 1), (1, 0), (2, 0))
    )
    if len(results) == 1:
        return y[0], last_h[0], last_c[0]
    return g.Concat(*y, axis=1), g.Concat(*last_h, axis=0), g.Concat(*last_c, axis=0)


def _pass(
    g: NodeBuilder,
    p: attributes.LSTM,
    x: Value,
    w: Value,
    r: Value,
    bias: Value,
    h: Value,
    c: Value,
    *,
    backwards: bool,
) -> tuple[Value, Value, Value]:
    """One direction: x (T,B,I), w (4H,I), r (4H,H), bias (8H), h and c (B,H) → y (T,B,H), the last h and c (B,H)."""
    size = int(r.shape[1])
    offset = g.Add(*g.Split(bias, [4 * size] * 2, axis=0, outputs=2))
    products = g.Add(g.MatMul(x, g.Transpose(w, perm=[1, 0])), offset)
    turned = g.Transpose(r, perm=[1, 0])
    body = g.subgraph(f"{g.prefix}/step")
    old_h, old_c = (body.input(f"{body.graph.name}/{name}", x.dtype, h.shape) for name in ("h", "c"))
    gates = body.input(f"{body.graph.name}/gates", x.dtype, products.shape[1:])
    i, o, f, z = body.Split(body.Add(gates, body.MatMul(old_h, turned)), [size] * 4, axis=-1, outputs=4)
    new_c = body.Add(body.Mul(body.Sigmoid(f), old_c), body.Mul(body.Sigmoid(i), body.Tanh(z)))
    new_h = body.Mul(body.Sigmoid(o), body.Tanh(new_c))
    new_c = body.Add(body.Mul(old_c, p.zoneoutCell), body.Mul(new_c, 1 - p.zoneoutCell))
    new_h = body.Add(body.Mul(old_h, p.zoneoutHidden), body.Mul(new_h, 1 - p.zoneoutHidden))
    for value in (new_h, new_c, new_h):
        body.output(value)
    attributes: dict[str, object] = {"body": body.graph, "num_scan_inputs": 1}
    if backwards:
        attributes |= {"scan_input_directions": [1], "scan_output_directions": [1]}
    state = (x.dtype, h.shape)
    last_h, last_c, every = g.append(
        "Scan", [h, c, products], attributes, [state, state, (x.dtype, (x.shape[0], *h.shape))]
    )
    return every, last_h, last_c
