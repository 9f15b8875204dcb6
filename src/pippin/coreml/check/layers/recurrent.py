"""Parameter rules of the recurrent layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .context import Layer, rule

ACTIVATIONS = ("linear", "sigmoid", "tanh", "scaledTanh", "sigmoidHard", "ReLU")
_GRU_GATES = ("updateGate", "resetGate", "outputGate")
_LSTM_GATES = ("inputGate", "forgetGate", "blockInput", "outputGate")
_PEEPHOLES = ("inputGate", "forgetGate", "outputGate")


def _activations(layer: Layer, field: str, listed: Iterable[Any], wanted: int | None = None) -> None:
    listed = list(listed)
    if wanted is not None and len(listed) != wanted:
        layer.add("parameter-length", field, f"hold {wanted} activations", str(len(listed)))
    for index, params in enumerate(listed):
        chosen = params.WhichOneof("NonlinearityType")
        if chosen not in ACTIVATIONS:
            name = f"{field}[{index}]" if wanted is not None or len(listed) > 1 else field
            layer.add("recurrent-activation", name, f"be one of {', '.join(ACTIVATIONS)}", chosen or "none")


@rule("simpleRecurrent")
def simple_recurrent(layer: Layer) -> None:
    p = layer.p
    size, hidden = p.inputVectorSize, p.outputVectorSize
    layer.units("weightMatrix", size * hidden, hidden)
    layer.units("recursionMatrix", hidden * hidden, hidden)
    fields = ["weightMatrix", "recursionMatrix"]
    if p.hasBiasVector:
        layer.units("biasVector", hidden)
        fields.append("biasVector")
    kinds = [layer.stored(getattr(p, field)).kind for field in fields]
    if "quantized" not in kinds[:2]:
        if kinds[2:] == ["quantized"]:
            del kinds[2:], fields[2:]
        if len(set(kinds)) > 1:
            layer.add("weights-mixed", ", ".join(fields), "be stored alike", ", ".join(kinds))
    _activations(layer, "activation", [p.activation])


@rule("gru")
def gru(layer: Layer) -> None:
    p = layer.p
    size, hidden = p.inputVectorSize, p.outputVectorSize
    shapes = {f"{gate}WeightMatrix": (size * hidden, hidden) for gate in _GRU_GATES}
    shapes |= {f"{gate}RecursionMatrix": (hidden * hidden, hidden) for gate in _GRU_GATES}
    if p.hasBiasVectors:
        shapes |= {f"{gate}BiasVector": (hidden, 1) for gate in _GRU_GATES}
    for field, (units, channels) in shapes.items():
        layer.units(field, units, channels)
    layer.no_mix(*shapes)
    _activations(layer, "activations", p.activations)


def _lstm_shapes(p: Any) -> dict[str, tuple[int, int]]:
    """The weights of one LSTM that must be there: values and channels of each."""
    size, hidden = p.inputVectorSize, p.outputVectorSize
    shapes = {f"{gate}WeightMatrix": (size * hidden, hidden) for gate in _LSTM_GATES}
    shapes |= {f"{gate}RecursionMatrix": (hidden * hidden, hidden) for gate in _LSTM_GATES}
    if p.params.hasBiasVectors:
        shapes |= {f"{gate}BiasVector": (hidden, 1) for gate in _LSTM_GATES}
    if p.params.hasPeepholeVectors:
        shapes |= {f"{gate}PeepholeVector": (hidden, 1) for gate in _PEEPHOLES}
    return shapes


@rule("uniDirectionalLSTM")
def uni_directional_lstm(layer: Layer) -> None:
    p = layer.p
    _activations(layer, "activations", p.activations, 3)
    kinds = {}
    for name, (units, channels) in _lstm_shapes(p).items():
        params = getattr(p.weightParams, name)
        layer.units(f"weightParams.{name}", units, channels, params=params)
        kinds[name] = layer.stored(params).kind
    if {"float32", "float16"} <= set(kinds.values()):
        halves = ", ".join(name for name, kind in kinds.items() if kind == "float16")
        layer.add("weights-mixed", "weightParams", "all be float32 or all float16", f"float16 in {halves}")


@rule("biDirectionalLSTM")
def bi_directional_lstm(layer: Layer) -> None:
    p = layer.p
    _activations(layer, "activationsForwardLSTM", p.activationsForwardLSTM, 3)
    _activations(layer, "activationsBackwardLSTM", p.activationsBackwardLSTM, 3)
    if len(p.weightParams) < 2:
        required = "hold weights for both directions"
        layer.add("parameter-length", "weightParams", required, str(len(p.weightParams)))
    for index, weights in enumerate(p.weightParams[:2]):
        for name, (units, channels) in _lstm_shapes(p).items():
            layer.units(f"weightParams[{index}].{name}", units, channels, params=getattr(weights, name))
