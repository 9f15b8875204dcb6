"""Recurrent layers: LSTM in one and two directions, GRU and the simple recurrent layer.

Sequences are [S,B,C,1,1], states [1,B,H,1,1]. Every sum is clipped to [-50, 50], as the text says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import CheckError
from ...graph.composites.recurrent import Activation, Cell, gru, lstm, rnn
from ...graph.ir import Value
from ..lowering import Context, lowering, require

CLIP = 50.0
"""What sums are clipped to, and cells unless cellClipThreshold says otherwise."""
LSTM_GATES = ("inputGate", "outputGate", "forgetGate", "blockInput")
"""In the order that ONNX wants: i, o, f, c."""
GRU_GATES = ("updateGate", "resetGate", "outputGate")
"""In the order that ONNX wants: z, r, h."""


@lowering("uniDirectionalLSTM")
def uni_directional_lstm(g: Context, p: Any, x: Value, *states: Value) -> Any:
    """Long short-term memory in one direction; with ``reverseInput`` from the last step to the first.

    i, f, o = f(clip(W·xₜ + R·yₜ₋₁ + p⊙c + b)), z = g(clip(W·xₜ + R·yₜ₋₁ + b)), cₜ = clip(f⊙cₜ₋₁ + i⊙z), yₜ = o⊙h(cₜ);
    coupledInputAndForgetGate: f = 1 - i. forgetBias adds 1 to b of f. c in o is cₜ, else cₜ₋₁.
    x (S,B,I,1,1), y and c (1,B,H,1,1), zeros where they are left out → y (S,B,H,1,1), or the last (1,B,H,1,1) without
    sequenceOutput; then the last y and c (1,B,H,1,1). In reverse, output t stands at input t.
    Default: cellClipThreshold 50 where it is 0. Source: UniDirectionalLSTMLayerParams.
    """
    require(len(states) <= 2, f"the layer must have 1 to 3 inputs, got {1 + len(states)}")
    cells = [_lstm_cell(g, p, p.weightParams, "weightParams")]
    functions = activations(p.activations, 3, "activations")
    return _lstm(g, p, x, list(states), cells, functions, "reverse" if p.reverseInput else "forward")


@lowering("biDirectionalLSTM")
def bi_directional_lstm(g: Context, p: Any, x: Value, *states: Value) -> Any:
    """Long short-term memory in both directions, each with weights of its own.

    As uniDirectionalLSTM; y holds the forward pass in channels 0 to H - 1, behind it the backward one, aligned to x.
    x (S,B,I,1,1), y, c, y and c of the backward pass (1,B,H,1,1), zeros where they are left out → y (S,B,2H,1,1), or
    the last of each direction (1,B,2H,1,1) without sequenceOutput; then the last y, c, y and c (1,B,H,1,1).
    Source: BiDirectionalLSTMLayerParams.
    """
    require(len(states) <= 4, f"the layer must have 1 to 5 inputs, got {1 + len(states)}")
    require(len(p.weightParams) == 2, f"weightParams must hold 2 sets, got {len(p.weightParams)}")
    cells = [_lstm_cell(g, p, w, f"weightParams[{index}]") for index, w in enumerate(p.weightParams)]
    functions = activations(p.activationsForwardLSTM, 3, "activationsForwardLSTM")
    functions += activations(p.activationsBackwardLSTM, 3, "activationsBackwardLSTM")
    return _lstm(g, p, x, list(states), cells, functions, "bidirectional")


def _lstm(
    g: Context,
    p: Any,
    x: Value,
    states: list[Value],
    cells: Sequence[dict[str, Any]],
    functions: list[Activation],
    direction: str,
) -> Any:
    """Both LSTM layers: ``states`` are y, c for each direction, as far as they are given."""
    size, threshold = int(p.outputVectorSize), p.params.cellClipThreshold or CLIP
    require(threshold > 0, f"cellClipThreshold must not be negative, got {threshold:g}")
    x = sequence(g, x, int(p.inputVectorSize))
    given: list[Value | None] = [state(g, value, size) for value in states]
    given += [None] * (2 * len(cells) - len(given))
    y, last_h, last_c = lstm(
        g,
        x,
        _stacked(g, cells),
        _joined(g, x, given[0::2], size),
        _joined(g, x, given[1::2], size),
        activations=functions,
        direction=direction,
        coupled=p.params.coupledInputAndForgetGate,
        gate_clip=CLIP,
        cell_clip=threshold,
        plain=g.trained is not None,
    )
    outputs = [result(g, y, last_h, p.params.sequenceOutput, size)]
    if g.output_count > 1:
        hs, cs = (g.Split(v, [1] * 2, axis=0, outputs=2) if len(cells) == 2 else [v] for v in (last_h, last_c))
        for pair in zip(hs, cs, strict=True):
            outputs += [to_blob(g, value) for value in pair]
    return tuple(outputs[: g.output_count])


def _lstm_cell(g: Context, p: Any, w: Any, field: str) -> dict[str, Any]:
    """The weights of one direction as arrays with the gates stacked."""
    import numpy as np

    shared, inputs, size = p.params, positive(p.inputVectorSize, "input"), positive(p.outputVectorSize, "output")
    cell: dict[str, Any] = {
        "w": stacked(g, w, LSTM_GATES, "WeightMatrix", size, inputs, within=field),
        "r": stacked(g, w, LSTM_GATES, "RecursionMatrix", size, size, within=field),
    }
    if shared.hasBiasVectors:
        cell["bias"] = stacked(g, w, LSTM_GATES, "BiasVector", size, within=field)
    if shared.forgetBias:
        one = np.repeat(np.array([0, 0, 1, 0], np.float32), size)
        cell["bias"] = g.Add(cell["bias"], one) if isinstance(cell.get("bias"), Value) else cell.get("bias", 0) + one
    if shared.hasPeepholeVectors:
        gates = ("inputGate", "outputGate", "forgetGate")
        cell["peephole"] = stacked(g, w, gates, "PeepholeVector", size, within=field)
    return cell


@lowering("gru")
def gru_layer(g: Context, p: Any, x: Value, y: Value | None = None) -> Any:
    """Gated recurrent unit.

    z, r = f(clip(W·xₜ + R·yₜ₋₁ + b)), o = g(clip(Wₒ·xₜ + Rₒ·(r⊙yₜ₋₁) + bₒ)), yₜ = (1 - z)⊙o + z⊙yₜ₋₁.
    x (S,B,I,1,1), y (1,B,H,1,1), zeros where it is left out → y (S,B,H,1,1), or the last (1,B,H,1,1) without
    sequenceOutput; then the last y. In reverse, output t stands at input t. Source: GRULayerParams.
    """
    inputs, size = positive(p.inputVectorSize, "input"), positive(p.outputVectorSize, "output")
    cell = {
        "w": stacked(g, p, GRU_GATES, "WeightMatrix", size, inputs),
        "r": stacked(g, p, GRU_GATES, "RecursionMatrix", size, size),
    }
    if p.hasBiasVectors:
        cell["bias"] = stacked(g, p, GRU_GATES, "BiasVector", size)
    functions = activations(p.activations, 2, "activations")
    return _single(g, p, gru, x, y, cell, functions)


@lowering("simpleRecurrent")
def simple_recurrent(g: Context, p: Any, x: Value, y: Value | None = None) -> Any:
    """A recurrent layer without gates: yₜ = f(clip(W·xₜ + R·yₜ₋₁ + b)).

    x (S,B,I,1,1), y (1,B,H,1,1), zeros where it is left out → y (S,B,H,1,1), or the last (1,B,H,1,1) without
    sequenceOutput; then the last y. In reverse, output t stands at input t. Source: SimpleRecurrentLayerParams.
    """
    inputs, size = positive(p.inputVectorSize, "input"), positive(p.outputVectorSize, "output")
    cell = {
        "w": g.array(p.weightMatrix, size, inputs, name="weightMatrix"),
        "r": g.array(p.recursionMatrix, size, size, name="recursionMatrix"),
    }
    if p.hasBiasVector:
        cell["bias"] = g.array(p.biasVector, size, name="biasVector")
    return _single(g, p, rnn, x, y, cell, [activation(p.activation, "activation")])


def _single(
    g: Context, p: Any, layer: Any, x: Value, y: Value | None, cell: dict[str, Any], functions: list[Activation]
) -> Any:
    """GRU and the simple layer: one state, one direction."""
    size = int(p.outputVectorSize)
    x = sequence(g, x, int(p.inputVectorSize))
    h = None if y is None else state(g, y, size)
    direction = "reverse" if p.reverseInput else "forward"
    all_h, last = layer(g, x, _stacked(g, [cell]), h, activations=functions, direction=direction, gate_clip=CLIP)
    outputs = [result(g, all_h, last, p.sequenceOutput, size)]
    if g.output_count > 1:
        outputs.append(to_blob(g, last))
    return tuple(outputs)


def positive(size: int, which: str) -> int:
    """inputVectorSize or outputVectorSize, which must be positive."""
    require(0 < size < 1 << 31, f"{which}VectorSize must be positive, got {size}")
    return int(size)


def stacked(g: Context, p: Any, gates: Sequence[str], suffix: str, *shape: int, within: str = "") -> Any:
    """The fields of all ``gates`` in one array, one gate under the other."""
    import numpy as np

    prefix = f"{within}." if within else ""
    if g.trains:
        return g.Concat(
            *(g.weight(getattr(p, f"{gate}{suffix}"), *shape, name=f"{prefix}{gate}{suffix}") for gate in gates), axis=0
        )
    return np.concatenate([g.array(getattr(p, gate + suffix), *shape, name=prefix + gate + suffix) for gate in gates])


def _stacked(g: Context, cells: Sequence[dict[str, Any]]) -> Cell:
    """Arrays of each direction as the constants (D,…) of a cell."""
    import numpy as np

    if g.trains:
        (cell,) = cells
        parts = {name: x if isinstance(x, Value) else g.constant(x) for name, x in cell.items()}
        return Cell(**{name: g.Unsqueeze(x, [0]) for name, x in parts.items()})
    values = {
        name: g.constant(np.stack([cell[name] for cell in cells]), name=f"{g.prefix}/{name}") for name in cells[0]
    }
    return Cell(**values)


def sequence(g: Context, x: Value, inputs: int) -> Value:
    """[S,B,C,1,1] as (S,B,C)."""
    require(x.rank == 5, f"the input must have rank 5, [S,B,C,1,1], got {x.rank}")
    sizes = (*x.shape[2:],)
    fits = all(isinstance(have, str) or have == want for have, want in zip(sizes, (inputs, 1, 1), strict=True))
    require(fits, f"the input must be [S,B,{inputs},1,1] (inputVectorSize {inputs}), got {list(x.shape)}")
    return _without_space(g, x, inputs)


def state(g: Context, x: Value, size: int) -> Value:
    """[1,B,H,1,1] as (1,B,H)."""
    fits = x.rank == 5 and all(
        isinstance(have, str) or want is None or have == want
        for have, want in zip(x.shape, (1, None, size, 1, 1), strict=True)
    )
    require(fits, f"a state must be [1,B,{size},1,1] (outputVectorSize {size}), got {list(x.shape)}")
    return _without_space(g, x, size)


def _without_space(g: Context, x: Value, channels: int) -> Value:
    """[S,B,C,1,1] as (S,B,C)."""
    if x.static:
        return g.reshape(x, [*x.shape[:2], channels])
    result: Value = g.Squeeze(x, [3, 4])
    result.shape = (*x.shape[:2], channels)
    return result


def _joined(g: Context, x: Value, states: Sequence[Value | None], size: int) -> Value | None:
    """The states of all directions as (D,B,H); None if there are none."""
    if all(value is None for value in states):
        return None
    zeros = [g.expand(g.constant([[[0.0]]]), [1, g.size(x, 1), size]) if v is None else v for v in states]
    return zeros[0] if len(zeros) == 1 else g.Concat(*zeros, axis=0)


def result(g: Context, y: Value, last: Value, whole: bool, size: int) -> Value:
    """The first output: y (S,D,B,H) or the last state (D,B,H) as [S or 1, B, D·H, 1, 1]."""
    if not whole:
        y = g.Unsqueeze(last, [0])
    directions = int(y.shape[1])
    if directions == 1:
        if y.static:
            return g.reshape(y, [y.shape[0], *y.shape[2:], 1, 1])
        return g.Unsqueeze(g.Squeeze(y, [1]), [3, 4])
    y = g.Transpose(y, perm=[0, 2, 1, 3])
    return g.reshape(y, [g.size(y, 0), g.size(y, 1), directions * size, 1, 1])


def to_blob(g: Context, x: Value) -> Value:
    """A state (1,B,H) as [1,B,H,1,1]."""
    return g.Unsqueeze(x, [3, 4])


def activations(messages: Sequence[Any], count: int, field: str) -> list[Activation]:
    """The functions of a recurrent layer, of which there must be ``count``."""
    require(len(messages) == count, f"{field} must hold {count} functions, got {len(messages)}")
    return [activation(message, f"{field}[{index}]") for index, message in enumerate(messages)]


def activation(p: Any, field: str) -> Activation:
    """An ActivationParams as what recurrent layers know."""
    name = p.WhichOneof("NonlinearityType")
    match name:
        case "linear":
            return Activation("Affine", p.linear.alpha, p.linear.beta)
        case "sigmoid":
            return Activation("Sigmoid")
        case "tanh":
            return Activation("Tanh")
        case "ReLU":
            return Activation("Relu")
        case "scaledTanh":
            return Activation("ScaledTanh", p.scaledTanh.alpha, p.scaledTanh.beta)
        case "sigmoidHard":
            return Activation("HardSigmoid", p.sigmoidHard.alpha, p.sigmoidHard.beta)
    raise CheckError(
        f"{field} must be linear, sigmoid, tanh, ReLU, scaledTanh or sigmoidHard in a recurrent layer, got {name}"
    )
