"""Twins of the recurrent layers. Vectors lie along axis -3 of [S,B,C,1,1]; here they are rows of [S,B,C]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .activation import FUNCTIONS
from .registry import Array, Context, twin
from .rules import blob, need_rank, require

Function = Callable[[Array], Array]
ALLOWED = ("linear", "sigmoid", "tanh", "ReLU", "scaledTanh", "sigmoidHard")


def gate(params: Any, name: str) -> Function:
    """The function of an ActivationParams message, of values clipped to [-50, 50]."""
    kind = params.WhichOneof("NonlinearityType")
    require(kind in ALLOWED, f"{name} must be one of {', '.join(ALLOWED)}, got {kind}")
    chosen = getattr(params, kind)
    return lambda x: FUNCTIONS[kind](chosen, np.clip(x, -50.0, 50.0))


def gates(values: Sequence[Any], count: int, name: str) -> list[Function]:
    """The functions of a repeated field of ``count`` activations."""
    require(len(values) == count, f"{name} must hold {count} entries, got {len(values)}")
    return [gate(value, name) for value in values]


def unclipped(params: Any) -> Function:
    """The function of an ActivationParams message as it is."""
    kind = params.WhichOneof("NonlinearityType")
    return lambda x: FUNCTIONS[kind](getattr(params, kind), x)


def sequence(params: Any, x: Array, *states: Array | None) -> tuple[Array, list[Array]]:
    """The input as [S,B,C] and the states as [B,H], zeros where they are not given."""
    need_rank(x, 5, 5)
    size, out = int(params.inputVectorSize), int(params.outputVectorSize)
    require(x.shape[2:] == (size, 1, 1), f"inputVectorSize {size} needs an input [S,B,{size},1,1], got {list(x.shape)}")
    require(out > 0, f"outputVectorSize must be positive, got {out}")
    wanted = (1, x.shape[1], out, 1, 1)
    rows = []
    for state in states:
        value = np.zeros(wanted) if state is None else state
        require(value.shape == wanted, f"outputVectorSize {out} needs states {list(wanted)}, got {list(value.shape)}")
        rows.append(value[0, :, :, 0, 0])
    return x[..., 0, 0], rows


def scan(
    step: Callable[[Array, tuple[Array, ...]], tuple[Array, ...]], x: Array, states: Sequence[Array], reverse: bool
) -> tuple[Array, tuple[Array, ...]]:
    """Runs ``step(x_t, states) -> states`` over x [S,B,C]; the first state is the output, kept at its own time."""
    kept = [np.zeros(0)] * len(x)
    current = tuple(states)
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        current = step(x[t], current)
        kept[t] = current[0]
    return np.stack(kept), current


def answer(context: Context, whole: bool, outputs: Array, last: Array, states: Sequence[Array]) -> tuple[Array, ...]:
    """The output [S or 1,B,H,1,1] and, where the layer declares them, the states [1,B,H,1,1]."""
    count = context.outputs
    require(count in (1, 1 + len(states)), f"output must list 1 or {1 + len(states)} blobs, got {count}")
    y = outputs if whole else last[None]
    return tuple(value[..., None, None] for value in (y, *(state[None] for state in states)))[:count]


@twin("simpleRecurrent")
def simple_recurrent(context: Context, params: Any, x: Array, y0: Array | None = None) -> tuple[Array, ...]:
    """yₜ = f(clip(W xₜ + R yₜ₋₁ + b)), clip to [-50, 50]

    x [S,B,C,1,1], y₀ [1,B,H,1,1] (zeros if absent) → y [S or 1,B,H,1,1] and the last y.
    ``reverseInput`` runs from the last step to the first; output t then stands at input t.
    """
    size, out = int(params.inputVectorSize), int(params.outputVectorSize)
    x, states = sequence(params, x, y0)
    f = gate(params.activation, "activation")
    weights, recursion = (
        blob(context, params, "weightMatrix", out, size),
        blob(context, params, "recursionMatrix", out, out),
    )
    bias = blob(context, params, "biasVector", out) if params.hasBiasVector else np.zeros(out)

    def step(now: Array, before: tuple[Array, ...]) -> tuple[Array, ...]:
        return (f(now @ weights.T + before[0] @ recursion.T + bias),)

    y, last = scan(step, x, states, params.reverseInput)
    return answer(context, params.sequenceOutput, y, last[0], last)


@twin("gru")
def gru(context: Context, params: Any, x: Array, y0: Array | None = None) -> tuple[Array, ...]:
    """z = f(W_z x + R_z y + b_z), r = f(W_r x + R_r y + b_r), o = g(W_o x + R_o (y ⊙ r) + b_o),
    yₜ = (1 - z) ⊙ o + z ⊙ yₜ₋₁

    Arguments of f and g are clipped to [-50, 50]; the reset gate comes before the product with R_o.
    x [S,B,C,1,1], y₀ [1,B,H,1,1] (zeros if absent) → y [S or 1,B,H,1,1] and the last y.
    """
    size, out = int(params.inputVectorSize), int(params.outputVectorSize)
    x, states = sequence(params, x, y0)
    f, g = gates(params.activations, 2, "activations")
    names = ("update", "reset", "output")
    w, r, b = {}, {}, {}
    for name in names:
        w[name] = blob(context, params, f"{name}GateWeightMatrix", out, size)
        r[name] = blob(context, params, f"{name}GateRecursionMatrix", out, out)
        b[name] = blob(context, params, f"{name}GateBiasVector", out) if params.hasBiasVectors else np.zeros(out)

    def step(now: Array, before: tuple[Array, ...]) -> tuple[Array, ...]:
        y = before[0]
        update, reset = (f(now @ w[name].T + y @ r[name].T + b[name]) for name in names[:2])
        new = g(now @ w["output"].T + (y * reset) @ r["output"].T + b["output"])
        return ((1 - update) * new + update * y,)

    y, last = scan(step, x, states, params.reverseInput)
    return answer(context, params.sequenceOutput, y, last[0], last)


@dataclass
class Cell:
    """The weights and flags of one LSTM direction."""

    w: dict[str, Array]
    r: dict[str, Array]
    b: dict[str, Array]
    p: dict[str, Array]
    functions: list[Function]
    coupled: bool
    limit: float

    def step(self, now: Array, before: tuple[Array, ...]) -> tuple[Array, ...]:
        """(yₜ, cₜ) from xₜ and (yₜ₋₁, cₜ₋₁). Source: LSTMParams."""
        y, c = before
        f, g, h = self.functions

        def total(name: str, peep: Array) -> Array:
            return now @ self.w[name].T + y @ self.r[name].T + self.b[name] + self.p.get(name, 0.0) * peep

        enter, block = f(total("inputGate", c)), g(total("blockInput", c))
        forget = 1 - enter if self.coupled else f(total("forgetGate", c))
        c = np.clip(c * forget + enter * block, -self.limit, self.limit)
        return h(c) * f(total("outputGate", c)), c


def cell(context: Context, params: Any, weights: Any, functions: list[Function]) -> Cell:
    """Reads one LSTMWeightParams message. A coupled forget gate has no weights of its own."""
    size, out, flags = int(params.inputVectorSize), int(params.outputVectorSize), params.params
    names = ["inputGate", "blockInput", "outputGate", *([] if flags.coupledInputAndForgetGate else ["forgetGate"])]
    w = {name: blob(context, weights, f"{name}WeightMatrix", out, size) for name in names}
    r = {name: blob(context, weights, f"{name}RecursionMatrix", out, out) for name in names}
    b = {
        name: blob(context, weights, f"{name}BiasVector", out) if flags.hasBiasVectors else np.zeros(out)
        for name in names
    }
    if flags.forgetBias and "forgetGate" in b:
        b["forgetGate"] = b["forgetGate"] + 1.0
    p = {}
    if flags.hasPeepholeVectors:
        p = {name: blob(context, weights, f"{name}PeepholeVector", out) for name in names if name != "blockInput"}
    limit = float(flags.cellClipThreshold) or 50.0
    require(limit > 0, f"cellClipThreshold must be positive, got {limit}")
    return Cell(w, r, b, p, functions, bool(flags.coupledInputAndForgetGate), limit)


def lstm_functions(values: Sequence[Any], name: str) -> list[Function]:
    """[f, g, h]; h sees the cell state as it is."""
    f, g, _ = gates(values, 3, name)
    return [f, g, unclipped(values[2])]


@twin("uniDirectionalLSTM")
def uni_directional_lstm(
    context: Context, params: Any, x: Array, y0: Array | None = None, c0: Array | None = None
) -> tuple[Array, ...]:
    """i, f, o = f(W x + R y + p ⊙ c + b), z = g(W x + R y + b), cₜ = cₜ₋₁ ⊙ f + i ⊙ z, yₜ = h(cₜ) ⊙ o

    Arguments of f and g are clipped to [-50, 50], cₜ to ± ``cellClipThreshold`` (0: 50); the output gate sees cₜ.
    Coupled: f = 1 - i; ``forgetBias`` adds 1 to b_f.
    x [S,B,C,1,1], y₀ and c₀ [1,B,H,1,1] (zeros if absent) → y [S or 1,B,H,1,1], last y, last c.
    """
    x, states = sequence(params, x, y0, c0)
    functions = lstm_functions(params.activations, "activations")
    y, last = scan(cell(context, params, params.weightParams, functions).step, x, states, params.reverseInput)
    return answer(context, params.params.sequenceOutput, y, last[0], last)


@twin("biDirectionalLSTM")
def bi_directional_lstm(
    context: Context,
    params: Any,
    x: Array,
    y0: Array | None = None,
    c0: Array | None = None,
    y0_reverse: Array | None = None,
    c0_reverse: Array | None = None,
) -> tuple[Array, ...]:
    """An LSTM from the first step to the last beside another one from the last to the first.

    x [S,B,C,1,1] and y₀, c₀, y₀ reverse, c₀ reverse [1,B,H,1,1] (zeros if absent) → y [S or 1,B,2H,1,1] and the four
    last states. Both halves of a sequence stand at the time of their input; without ``sequenceOutput`` they are the two
    last outputs.
    """
    x, states = sequence(params, x, y0, c0, y0_reverse, c0_reverse)
    require(len(params.weightParams) == 2, f"weightParams must hold 2 entries, got {len(params.weightParams)}")
    halves, lasts = [], []
    for i, name in enumerate(("activationsForwardLSTM", "activationsBackwardLSTM")):
        one = cell(context, params, params.weightParams[i], lstm_functions(getattr(params, name), name))
        y, last = scan(one.step, x, states[2 * i : 2 * i + 2], reverse=i == 1)
        halves.append(y)
        lasts.append(last)
    final = np.concatenate([lasts[0][0], lasts[1][0]], -1)
    return answer(context, params.params.sequenceOutput, np.concatenate(halves, -1), final, [*lasts[0], *lasts[1]])
