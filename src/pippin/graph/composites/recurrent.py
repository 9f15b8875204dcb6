"""Recurrent layers: ONNX's LSTM, GRU and RNN, and a Scan where a cell must be clipped.

Shapes: T steps, B batch, I input, H hidden, D directions (2 for "bidirectional"). Gates in ONNX's order: LSTM i, o, f,
c; GRU z, r, h.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..builder import Builder
from ..ir import Value
from .guard import require_some

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""Direction → for each pass whether it runs backwards."""


SHORT, LONG = 8, 64
"""Steps: pieces of fewer are not worth an operator, and a piece in a Scan has so many."""


@dataclass(frozen=True)
class Activation:
    """A function of a gate, by the name that ONNX's recurrent operators give it."""

    name: str
    alpha: float | None = None
    beta: float | None = None

    @property
    def bound(self) -> float:
        """The largest absolute value of the function."""
        if self.name == "ScaledTanh":
            return abs(self.alpha or 0.0)
        return 1.0 if self.name in ("Sigmoid", "HardSigmoid", "Tanh") else math.inf

    @property
    def gate(self) -> bool:
        """Whether all values lie between 0 and 1."""
        return self.name in ("Sigmoid", "HardSigmoid")

    def apply(self, g: Builder, x: Value) -> Value:
        """The function as operators of its own."""
        match self.name:
            case "Affine":
                return g.Add(g.Mul(x, self.alpha), self.beta)
            case "ScaledTanh":
                return g.Mul(g.Tanh(g.Mul(x, self.beta)), self.alpha)
            case "HardSigmoid":
                return g.HardSigmoid(x, alpha=self.alpha, beta=self.beta)
        return g.emit(self.name, x)


@dataclass(frozen=True)
class Cell:
    """Weights of a recurrent layer: w (D,n·H,I), r (D,n·H,H), bias (D,n·H) or None, peephole (D,3·H) or None."""

    w: Value
    r: Value
    bias: Value | None = None
    peephole: Value | None = None

    @property
    def hidden(self) -> int:
        return int(self.r.shape[-1])

    def of(self, g: Builder, direction: int) -> Cell:
        """The weights of one direction, with D = 1."""
        if self.w.shape[0] == 1:
            return self

        def part(x: Value | None) -> Value | None:
            if x is None:
                return None
            if x.data is not None:
                return g.constant(x.data[direction : direction + 1], name=f"{x.name}/{direction}")
            result: Value = g.Slice(x, [direction], [direction + 1], [0])
            return result

        w, r = part(self.w), part(self.r)
        assert w is not None
        assert r is not None
        return Cell(w, r, part(self.bias), part(self.peephole))


def lstm(
    g: Builder,
    x: Value,
    cell: Cell,
    h: Value | None,
    c: Value | None,
    *,
    activations: Sequence[Activation],
    direction: str = "forward",
    coupled: bool = False,
    gate_clip: float = math.inf,
    cell_clip: float = math.inf,
    plain: bool = False,
) -> tuple[Value, Value, Value]:
    """x (T,B,I), h and c (D,B,H) or None for zeros → y (T,D,B,H), the last h and c (D,B,H).

    i, f, o = f(clip(W·xₜ + R·hₜ₋₁ + p⊙c + b)), z = g(clip(…)), cₜ = clip(f⊙cₜ₋₁ + i⊙z), hₜ = o⊙h(cₜ); ``activations``
    hold f, g, h for each direction; ``coupled``: f = 1 - i. Sums are clipped at ``gate_clip``, cells at ``cell_clip``.

    ONNX's LSTM does not clip the cell. With gates in [0, 1] the cell grows by the largest |g| a step at most, so it
    serves where that cannot reach the threshold: for certain, or by a look at the initial cell when the network runs.
    Longer sequences are cut into pieces for which it holds; what is left is a Scan. ``plain``: a Scan in any case, with
    no decisions at run time, as gradients want it.
    """
    h, c = _given(h), _given(c)
    fast = _Lstm(cell, list(activations), direction, coupled, gate_clip)
    limit = max(a.bound for a in activations[1::3])
    gated = all(a.gate for a in activations[0::3])
    if plain:
        return fast.scan(g, x, h, c, cell_clip)
    if math.isinf(cell_clip):
        return fast.operator(g, x, h, c)
    if not gated or math.isinf(limit):
        return fast.scan(g, x, h, c, cell_clip)
    steps = x.shape[0]
    growth = 0.0 if coupled else steps * limit if isinstance(steps, int) else None
    start = 0.0 if c is None else float(abs(c.data).max()) if c.data is not None else None
    if growth is not None and max(growth, limit if coupled else 0.0) + (start or 0.0) > cell_clip:
        return fast.scan(g, x, h, c, cell_clip) if coupled else fast.pieces(g, x, h, c, cell_clip, limit)
    if growth is not None and start is not None:
        return fast.operator(g, x, h, c)
    return fast.decided(g, x, h, c, cell_clip, 0.0 if coupled else limit)


def lstm_scan(
    g: Builder,
    x: Value,
    cell: Cell,
    h: Value | None,
    c: Value | None,
    *,
    activations: Sequence[Activation],
    direction: str,
    coupled: bool,
    gate_clip: float,
) -> tuple[Value, Value, Value]:
    """The same as ``lstm`` without a clip of the cell, as a Scan whatever the functions are."""
    return _Lstm(cell, list(activations), direction, coupled, gate_clip).scan(g, x, h, c, math.inf)


@dataclass(frozen=True)
class _Lstm:
    cell: Cell
    activations: list[Activation]
    direction: str
    coupled: bool
    gate_clip: float

    def operator(self, g: Builder, x: Value, h: Value | None, c: Value | None) -> tuple[Value, Value, Value]:
        """As ONNX's LSTM."""
        result: tuple[Value, Value, Value] = g.LSTM(
            require_some(g, x, [1], "the batch"),
            self.cell.w,
            self.cell.r,
            _bias(g, self.cell, 4),
            None,
            h,
            c,
            self.cell.peephole,
            outputs=3,
            direction=self.direction,
            hidden_size=self.cell.hidden,
            input_forget=1 if self.coupled else None,
            **_attributes(self.activations, ("Sigmoid", "Tanh", "Tanh"), self.gate_clip),
        )
        return result

    def decided(
        self, g: Builder, x: Value, h: Value | None, c: Value | None, cell_clip: float, limit: float
    ) -> tuple[Value, Value, Value]:
        """Whichever is right for this run: the operator where |c₀| + T·limit stays below the threshold."""

        def otherwise(inner: Builder) -> tuple[Value, Value, Value]:
            if limit and not isinstance(x.shape[0], int):
                return self.pieces(inner, x, h, c, cell_clip, limit)
            return self.scan(inner, x, h, c, cell_clip)

        reach = g.Mul(g.cast(g.vector([g.size(x, 0)]), "float32"), limit)
        if c is not None:
            reach = g.Add(g.reshape(g.ReduceMax(g.Abs(c), keepdims=0), [1]), reach)
        condition = g.LessOrEqual(reach, cell_clip)
        return self._either(g, x, condition, lambda inner: self.operator(inner, x, h, c), otherwise)

    def _either(
        self, g: Builder, x: Value, condition: Value, then: Callable[[Builder], Any], other: Callable[[Builder], Any]
    ) -> tuple[Value, Value, Value]:
        """An If of two ways to run the layer over ``x``."""
        branches = {}
        for name, function in (("then_branch", then), ("else_branch", other)):
            inner = g.subgraph(f"{g.prefix}/{name}")
            for value in function(inner):
                inner.output(value)
            branches[name] = inner.graph
        state = (x.dtype, (len(DIRECTIONS[self.direction]), x.shape[1], self.cell.hidden))
        outputs: tuple[Value, Value, Value] = g.append(
            "If", [g.reshape(condition, [])], branches, [(x.dtype, (x.shape[0], *state[1])), state, state]
        )
        return outputs

    def pieces(
        self, g: Builder, x: Value, h: Value | None, c: Value | None, cell_clip: float, limit: float
    ) -> tuple[Value, Value, Value]:
        """A Loop for each direction over pieces so short that the cell cannot reach the threshold within one.

        Where the cell is so close to it that they would be very short, a piece is a Scan.
        """
        results = []
        for index, backwards in enumerate(DIRECTIONS[self.direction]):
            functions = self.activations[3 * index : 3 * index + 3]
            direction = "reverse" if backwards else "forward"
            one = _Lstm(self.cell.of(g, index), functions, direction, self.coupled, self.gate_clip)
            states = [g.Unsqueeze(_state(g, x, value, index, self.cell.hidden), [0]) for value in (h, c)]
            results.append(one._pieces(g, x, states, cell_clip, limit))
        if len(results) == 1:
            return results[0]
        y, last_h, last_c = zip(*results, strict=True)
        return g.Concat(*y, axis=1), g.Concat(*last_h, axis=0), g.Concat(*last_c, axis=0)

    def _pieces(
        self, g: Builder, x: Value, states: list[Value], cell_clip: float, limit: float
    ) -> tuple[Value, Value, Value]:
        """One direction: x (T,B,I), states (1,B,H) → y (T,1,B,H), h and c (1,B,H)."""
        import numpy as np

        integer, state = np.dtype(np.int64), (x.dtype, states[0].shape)
        end = g.vector([g.size(x, 0)])
        body = g.subgraph(f"{g.prefix}/piece")
        name = body.graph.name
        body.input(f"{name}/round", integer, ())
        body.input(f"{name}/going", np.bool_, ())
        done = body.input(f"{name}/done", integer, (1,))
        h, c = (body.input(f"{name}/{what}", *state) for what in ("h", "c"))
        y = body.input(f"{name}/y", x.dtype, (g.symbol(), *states[0].shape))
        left = body.Sub(end, done)
        room = body.Sub(cell_clip, body.reshape(body.ReduceMax(body.Abs(c), keepdims=0), [1]))
        safe = body.cast(body.Floor(body.Div(room, limit)), integer)
        fast = body.GreaterOrEqual(safe, body.Min(left, SHORT))
        steps = body.Min(left, body.Where(fast, safe, LONG))
        begin = body.Sub(left, steps) if self.direction == "reverse" else done
        piece = body.Slice(x, begin, body.Add(begin, steps), [0])
        some, h, c = self._either(
            body,
            piece,
            fast,
            lambda inner: self.operator(inner, piece, h, c),
            lambda inner: self.scan(inner, piece, h, c, cell_clip),
        )
        now = body.Add(done, steps)
        body.output(body.reshape(body.Less(now, end), []))
        joined = body.Concat(*((some, y) if self.direction == "reverse" else (y, some)), axis=0)
        for value in (now, h, c, joined):
            body.output(value)
        empty = g.ConstantOfShape(g.vector([0, *g.sizes(states[0])]))
        types = [(integer, (1,)), state, state, (x.dtype, (x.shape[0], *states[0].shape))]
        start = [None, g.reshape(g.Greater(end, 0), []), g.constant(np.zeros(1, integer)), *states, empty]
        _, last_h, last_c, whole = g.append("Loop", start, {"body": body.graph}, types)
        return whole, last_h, last_c

    def scan(
        self, g: Builder, x: Value, h: Value | None, c: Value | None, cell_clip: float
    ) -> tuple[Value, Value, Value]:
        """As a Scan, one for each direction."""
        results = []
        for index, backwards in enumerate(DIRECTIONS[self.direction]):
            cell, functions = self.cell.of(g, index), self.activations[3 * index : 3 * index + 3]
            states = [_state(g, x, value, index, cell.hidden) for value in (h, c)]
            results.append(self._pass(g, x, cell, states, functions or self.activations[:3], backwards, cell_clip))
        y, last_h, last_c = (
            [g.Unsqueeze(result[position], [axis]) for result in results] for position, axis in ((0, 1), (1, 0), (2, 0))
        )
        if len(results) == 1:
            return y[0], last_h[0], last_c[0]
        return g.Concat(*y, axis=1), g.Concat(*last_h, axis=0), g.Concat(*last_c, axis=0)

    def _pass(
        self,
        g: Builder,
        x: Value,
        cell: Cell,
        states: list[Value],
        activations: Sequence[Activation],
        backwards: bool,
        cell_clip: float,
    ) -> tuple[Value, Value, Value]:
        """One direction: x (T,B,I), states (B,H) → y (T,B,H), h and c (B,H)."""
        size = cell.hidden
        products = g.MatMul(x, _matrix(g, cell.w))
        if cell.bias is not None:
            products = g.Add(products, g.reshape(cell.bias, [4 * size]))
        body = g.subgraph(f"{g.prefix}/step")
        h, c = (body.input(f"{body.graph.name}/{name}", x.dtype, states[0].shape) for name in ("h", "c"))
        gates = body.input(f"{body.graph.name}/gates", x.dtype, products.shape[1:])
        gates = body.Add(gates, body.MatMul(h, _matrix(g, cell.r)))
        i, o, f, z = body.Split(gates, [size] * 4, axis=-1, outputs=4)
        p: Sequence[Value | None] = (None, None, None)
        if cell.peephole is not None:
            p = g.Split(g.reshape(cell.peephole, [3 * size]), [size] * 3, axis=0, outputs=3)
        gate, block, out = activations
        i = self._gate(body, gate, i, p[0], c)
        forget = body.Sub(1.0, i) if self.coupled else self._gate(body, gate, f, p[2], c)
        cell_ = body.Add(body.Mul(forget, c), body.Mul(i, self._gate(body, block, z, None, c)))
        if not math.isinf(cell_clip):
            cell_ = body.Clip(cell_, -cell_clip, cell_clip)
        y = body.Mul(self._gate(body, gate, o, p[1], cell_), out.apply(body, cell_))
        for value in (y, cell_, y):
            body.output(value)
        turn = [1] if backwards else None
        attributes: dict[str, Any] = {"body": body.graph, "num_scan_inputs": 1}
        if turn:
            attributes |= {"scan_input_directions": turn, "scan_output_directions": turn}
        state = (x.dtype, states[0].shape)
        last_h, last_c, all_h = g.append(
            "Scan", [*states, products], attributes, [state, state, (x.dtype, (x.shape[0], *states[0].shape))]
        )
        return all_h, last_h, last_c

    def _gate(self, g: Builder, function: Activation, x: Value, peephole: Value | None, c: Value) -> Value:
        if peephole is not None:
            x = g.Add(x, g.Mul(peephole, c))
        if function.bound == math.inf and not math.isinf(self.gate_clip):
            x = g.Clip(x, -self.gate_clip, self.gate_clip)
        return function.apply(g, x)


def _given(state: Value | None) -> Value | None:
    """An initial state; None where it is zeros anyway."""
    if state is None or (state.data is not None and not state.data.any()):
        return None
    return state


def gru(
    g: Builder,
    x: Value,
    cell: Cell,
    h: Value | None,
    *,
    activations: Sequence[Activation],
    direction: str = "forward",
    gate_clip: float = math.inf,
    reset_after: bool = False,
) -> tuple[Value, Value]:
    """x (T,B,I), h (D,B,H) or None for zeros → y (T,D,B,H), the last h (D,B,H).

    z, r = f(clip(W·xₜ + R·hₜ₋₁ + b)), n = g(clip(Wₙ·xₜ + Rₙ·(r⊙hₜ₋₁) + bₙ)), hₜ = (1 - z)⊙n + z⊙hₜ₋₁;
    ``reset_after``: r ⊙ (Rₙ·hₜ₋₁) instead. ``activations`` hold f, g for each direction.
    """
    h = _given(h)
    result: tuple[Value, Value] = g.GRU(
        require_some(g, x, [0, 1], "the sequence and the batch"),
        cell.w,
        cell.r,
        _bias(g, cell, 3),
        None,
        h,
        outputs=2,
        direction=direction,
        hidden_size=cell.hidden,
        linear_before_reset=1 if reset_after else None,
        **_attributes(activations, ("Sigmoid", "Tanh"), gate_clip),
    )
    return result


def rnn(
    g: Builder,
    x: Value,
    cell: Cell,
    h: Value | None,
    *,
    activations: Sequence[Activation],
    direction: str = "forward",
    gate_clip: float = math.inf,
) -> tuple[Value, Value]:
    """x (T,B,I), h (D,B,H) or None for zeros → y (T,D,B,H), the last h (D,B,H); hₜ = f(clip(W·xₜ + R·hₜ₋₁ + b))."""
    h = _given(h)
    result: tuple[Value, Value] = g.RNN(
        x,
        cell.w,
        cell.r,
        _bias(g, cell, 1),
        None,
        h,
        outputs=2,
        direction=direction,
        hidden_size=cell.hidden,
        **_attributes(activations, ("Tanh",), gate_clip),
    )
    return result


def _attributes(activations: Sequence[Activation], usual: Sequence[str], gate_clip: float) -> dict[str, Any]:
    """Activations where they are not the usual ones; a clip where a function is not flat beyond it anyway."""
    attributes: dict[str, Any] = {}
    names = [a.name for a in activations]
    if names != list(usual) * (len(names) // len(usual)):
        attributes["activations"] = names
        attributes["activation_alpha"] = [a.alpha for a in activations if a.alpha is not None] or None
        attributes["activation_beta"] = [a.beta for a in activations if a.beta is not None] or None
    if any(math.isinf(a.bound) for a in activations) and not math.isinf(gate_clip):
        attributes["clip"] = gate_clip
    return attributes


def _bias(g: Builder, cell: Cell, gates: int) -> Value | None:
    """The bias as ONNX wants it: with one more for the recurrent product, which is 0 here."""
    import numpy as np

    bias = cell.bias
    if bias is None:
        return None
    if bias.data is not None:
        return g.constant(np.concatenate([bias.data, np.zeros_like(bias.data)], 1), name=bias.name)
    zeros = np.zeros((int(bias.shape[0]), gates * cell.hidden), np.float32)
    result: Value = g.Concat(bias, zeros, axis=1)
    return result


def _matrix(g: Builder, weights: Value) -> Value:
    """Weights (1,n,m) as a matrix (m,n) to multiply from the right."""
    if weights.data is not None:
        return g.constant(weights.data[0].T, name=weights.name)
    result: Value = g.Transpose(g.Squeeze(weights, [0]), perm=[1, 0])
    return result


def _state(g: Builder, x: Value, state: Value | None, direction: int, hidden: int) -> Value:
    """The initial state (B,H) of one direction, zeros if there is none."""
    if state is None:
        return g.expand(g.constant([[0.0]]), [g.size(x, 1), hidden])
    if state.shape[0] == 1:
        return g.Squeeze(state, [0])
    import numpy as np

    return g.Gather(state, np.int64(direction), axis=0)
