"""Rows of simpleRecurrent, gru, uniDirectionalLSTM and biDirectionalLSTM."""
# ruff: noqa: E501 - one row a line

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cases import Case, half, linear, lookup, normal

simple = partial(Case, "simpleRecurrent")
gru = partial(Case, "gru")
uni = partial(Case, "uniDirectionalLSTM")
bi = partial(Case, "biDirectionalLSTM")

# every function that recurrent layers may have
ACTIVATIONS: dict[str, dict[str, Any]] = {
    "linear": {"linear": {"alpha": 0.5, "beta": 0.25}},
    "sigmoid": {"sigmoid": {}},
    "tanh": {"tanh": {}},
    "ReLU": {"ReLU": {}},
    "scaledTanh": {"scaledTanh": {"alpha": 1.7159, "beta": 2 / 3}},
    "sigmoidHard": {"sigmoidHard": {"alpha": 0.2, "beta": 0.5}},
}
SAME = {"linear": {"alpha": 1.0}}
SIGMOID, TANH, HARD = ACTIVATIONS["sigmoid"], ACTIVATIONS["tanh"], ACTIVATIONS["sigmoidHard"]

# steps, instances, numbers in, numbers out
S, B, C, H = 4, 2, 3, 5
X, STATE = (S, B, C, 1, 1), (1, B, H, 1, 1)
ONE = (1, 1, C, 1, 1)


def steps(*values: float) -> np.ndarray:
    """One number a step, one instance: [S,1,1,1,1]."""
    return np.reshape(values, (len(values), 1, 1, 1, 1))


def weights(*shape: int, seed: int) -> np.ndarray:
    """Seeded weights, small enough that no state grows."""
    return normal(*shape, seed=seed) * np.float32(0.4)


def both(note: str, params: dict[str, Any], inputs: tuple[Any, ...], outputs: int, make: Any) -> list[Case]:
    """A row for networks of any rank and one for the legacy mapping."""
    return [
        make(f"{note}{', legacy' if rank5 else ''}", params, inputs, outputs, rank5=rank5) for rank5 in (False, True)
    ]


def rnn(**more: Any) -> dict[str, Any]:
    """Parameters of a simple recurrent layer."""
    return {
        "inputVectorSize": C,
        "outputVectorSize": H,
        "activation": TANH,
        "weightMatrix": weights(H, C, seed=1),
        "recursionMatrix": weights(H, H, seed=2),
    } | more


NUMBER = {"inputVectorSize": 1, "outputVectorSize": 1, "activation": SAME}
BIAS = {"hasBiasVector": True, "biasVector": weights(H, seed=3)}
LEVELS = np.arange(H * C) % 16
SIMPLE = [
    row
    for whole in (False, True)
    for reverse in (False, True)
    for row in both(f"{'all steps' if whole else 'last step'}{', reversed' if reverse else ''}", rnn(sequenceOutput=whole, reverseInput=reverse, **BIAS), (X, STATE), 2, simple)
] + [
    simple(f"{name}", rnn(activation=function, sequenceOutput=True, **BIAS), (X, STATE), 2) for name, function in ACTIVATIONS.items()
] + [
    simple("known answer", NUMBER | {"weightMatrix": np.array([2.0]), "recursionMatrix": np.array([3.0]), "sequenceOutput": True}, (steps(1, 2, 3), steps(1)), 2, expect=([5, 19, 50], [50])),
    simple("reversed, known answer", NUMBER | {"weightMatrix": np.array([2.0]), "recursionMatrix": np.array([3.0]), "sequenceOutput": True, "reverseInput": True}, (steps(1, 2, 3), steps(0)), 2, expect=([50, 22, 6], [50])),
    simple("clipped to 50 before the function, known answer", NUMBER | {"weightMatrix": np.array([100.0]), "recursionMatrix": np.array([0.0]), "sequenceOutput": True, "activation": {"linear": {"alpha": 2.0}}}, (steps(1, -1, 0.25), steps(0)), 2, expect=([100, -100, 50], [50])),
    simple("hasBiasVector off: biasVector is ignored", rnn(biasVector=weights(H, seed=3)), (X, STATE), 2),
    simple("state left out: zeros", rnn(sequenceOutput=True), (X,), 1),
    simple("state left out, legacy", rnn(), (X,), 2, rank5=True),
    simple("one step", rnn(sequenceOutput=True), (ONE, (1, 1, H, 1, 1)), 2),
    simple("float16", rnn(weightMatrix=half(weights(H, C, seed=1)), recursionMatrix=half(weights(H, H, seed=2)), hasBiasVector=True, biasVector=half(weights(H, seed=3))), (X, STATE), 2),
    simple("4 bit linear, a scale for each output", rnn(weightMatrix=linear(LEVELS, 4, [0.1, 0.05, 0.02, 0.1, 0.05], [-0.5, -0.4, -0.1, -0.8, 0.0])), (X, STATE), 2),
    simple("2 bit table", rnn(recursionMatrix=lookup(np.arange(H * H) % 4, 2, [-0.5, -0.1, 0.2, 0.4])), (X, STATE), 2),
    simple("no function", {k: v for k, v in rnn().items() if k != "activation"}, (X, STATE), 2, refuses="activation"),
    simple("a function that recurrent layers do not have", rnn(activation={"softplus": {}}), (X, STATE), 2, refuses="activation"),
    simple("no weights", {k: v for k, v in rnn().items() if k != "weightMatrix"}, (X, STATE), 2, refuses="weightMatrix"),
    simple("too few recursion weights", rnn(recursionMatrix=weights(H, C, seed=2)), (X, STATE), 2, refuses="recursionMatrix"),
    simple("no bias though hasBiasVector", rnn(hasBiasVector=True), (X, STATE), 2, refuses="biasVector"),
    simple("inputVectorSize does not fit", rnn(inputVectorSize=4, weightMatrix=weights(H, 4, seed=1)), (X, STATE), 2, refuses="inputVectorSize"),
    simple("rank 4", rnn(), ((B, C, 1, 1),), 1, refuses="rank"),
]  # fmt: skip

GATES = ("update", "reset", "output")


def gated(bias: bool = True, **more: Any) -> dict[str, Any]:
    """Parameters of a GRU."""
    params: dict[str, Any] = {"inputVectorSize": C, "outputVectorSize": H, "activations": [SIGMOID, TANH]}
    for i, name in enumerate(GATES):
        params[f"{name}GateWeightMatrix"] = weights(H, C, seed=10 + i)
        params[f"{name}GateRecursionMatrix"] = weights(H, H, seed=20 + i)
        if bias:
            params[f"{name}GateBiasVector"] = weights(H, seed=30 + i)
    return params | {"hasBiasVectors": bias} | more


# two units, worked out apart from this code; the reset gate comes before the recurrent product
TWO = {
    "inputVectorSize": 1, "outputVectorSize": 2, "hasBiasVectors": True,
    "updateGateWeightMatrix": np.array([0.5, -0.3]), "resetGateWeightMatrix": np.array([-0.4, 0.8]), "outputGateWeightMatrix": np.array([1.0, 0.2]),
    "updateGateRecursionMatrix": np.array([0.1, 0.2, 0.3, -0.1]), "resetGateRecursionMatrix": np.array([0.6, -0.5, 0.2, 0.7]), "outputGateRecursionMatrix": np.array([0.4, -0.9, 0.7, 0.3]),
    "updateGateBiasVector": np.array([0.1, -0.1]), "resetGateBiasVector": np.array([0.2, 0.0]), "outputGateBiasVector": np.array([-0.2, 0.3]),
}  # fmt: skip

GRU = [
    row
    for whole in (False, True)
    for reverse in (False, True)
    for row in both(f"{'all steps' if whole else 'last step'}{', reversed' if reverse else ''}", gated(sequenceOutput=whole, reverseInput=reverse), (X, STATE), 2, gru)
] + [
    gru(f"f {name}", gated(activations=[function, TANH], sequenceOutput=True), (X, STATE), 2) for name, function in ACTIVATIONS.items()
] + [
    gru(f"g {name}", gated(activations=[SIGMOID, function], sequenceOutput=True), (X, STATE), 2) for name, function in ACTIVATIONS.items()
] + [
    gru("two units, known answer", TWO | {"activations": [SIGMOID, TANH]}, (steps(1, -1, 2),), 1, expect=([-0.06653006, 0.49535568],)),
    gru("two units, hard sigmoid, known answer", TWO | {"activations": [HARD, TANH]}, (steps(1, -1, 2),), 1, expect=([-0.01041427, 0.4810736],)),
    gru("no biases", gated(bias=False), (X, STATE), 2),
    gru("hasBiasVectors off: biases are ignored", gated(hasBiasVectors=False), (X, STATE), 2),
    gru("state left out: zeros", gated(sequenceOutput=True), (X,), 2),
    gru("state left out, one output, legacy", gated(), (X,), 1, rank5=True),
    gru("one step", gated(), (ONE, (1, 1, H, 1, 1)), 2),
    gru("arguments clipped to 50", gated(bias=False, activations=[HARD, SAME], outputGateWeightMatrix=weights(H, C, seed=12) * 200), (X, STATE), 2),
    gru("float16", gated(bias=False) | {f"{name}Gate{kind}Matrix": half(weights(H, size, seed=4)) for name in GATES for kind, size in (("Weight", C), ("Recursion", H))}, (X, STATE), 2),
    gru("4 bit linear, a scale for each output", gated(outputGateWeightMatrix=linear(LEVELS, 4, [0.1, 0.05, 0.02, 0.1, 0.05], [-0.5, -0.4, -0.1, -0.8, 0.0])), (X, STATE), 2),
    gru("2 bit table", gated(resetGateRecursionMatrix=lookup(np.arange(H * H) % 4, 2, [-0.5, -0.1, 0.2, 0.4])), (X, STATE), 2),
    gru("one function", gated(activations=[SIGMOID]), (X, STATE), 2, refuses="activations"),
    gru("a function that recurrent layers do not have", gated(activations=[SIGMOID, {"ELU": {}}]), (X, STATE), 2, refuses="activations"),
    gru("no weights", {k: v for k, v in gated().items() if k != "outputGateWeightMatrix"}, (X, STATE), 2, refuses="outputGateWeightMatrix"),
    gru("too few recursion weights", gated(resetGateRecursionMatrix=weights(H, C, seed=2)), (X, STATE), 2, refuses="resetGateRecursionMatrix"),
    gru("no biases though hasBiasVectors", gated(bias=False, hasBiasVectors=True), (X, STATE), 2, refuses="updateGateBiasVector"),
    gru("inputVectorSize does not fit", gated(), ((S, B, C + 1, 1, 1), STATE), 2, refuses="inputVectorSize"),
    gru("rank 4", gated(), ((B, C, 1, 1),), 1, refuses="rank"),
]  # fmt: skip

PARTS = ("inputGate", "forgetGate", "blockInput", "outputGate")


def cell(seed: int = 0, peepholes: bool = False, **more: Any) -> dict[str, Any]:
    """An LSTMWeightParams message with biases and, if asked for, peepholes."""
    params: dict[str, Any] = {}
    for i, name in enumerate(PARTS):
        params[f"{name}WeightMatrix"] = weights(H, C, seed=40 + i + seed)
        params[f"{name}RecursionMatrix"] = weights(H, H, seed=50 + i + seed)
        params[f"{name}BiasVector"] = weights(H, seed=60 + i + seed)
        if peepholes and name != "blockInput":
            params[f"{name}PeepholeVector"] = weights(H, seed=70 + i + seed)
    return params | more


def lstm(flags: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Parameters of a one-way LSTM; ``flags`` is its LSTMParams."""
    return {
        "inputVectorSize": C,
        "outputVectorSize": H,
        "activations": [SIGMOID, TANH, TANH],
        "params": {"hasBiasVectors": True} | (flags or {}),
        "weightParams": cell(peepholes=bool(flags and flags.get("hasPeepholeVectors"))),
    } | more


def number(
    i: float, f: float, z: float, o: float, peephole: float | None = None, recursion: float = 0.0
) -> dict[str, Any]:
    """The weights of a cell of one number without biases, for answers worked out by hand."""
    params: dict[str, Any] = {}
    for name, value in zip(PARTS, (i, f, z, o), strict=True):
        params[f"{name}WeightMatrix"] = np.array([value])
        params[f"{name}RecursionMatrix"] = np.array([recursion if name == "inputGate" else 0.0])
        if peephole is not None and name != "blockInput":
            params[f"{name}PeepholeVector"] = np.array([peephole])
    return params


def by_hand(weight_params: dict[str, Any], **flags: Any) -> dict[str, Any]:
    """An LSTM of one number whose functions do nothing."""
    one = {"inputVectorSize": 1, "outputVectorSize": 1, "activations": [SAME, SAME, SAME]}
    return one | {"params": {"sequenceOutput": True} | flags, "weightParams": weight_params}


def without(params: dict[str, Any], name: str) -> dict[str, Any]:
    """The same without one field."""
    return {key: value for key, value in params.items() if key != name}


FLAGS: dict[str, dict[str, Any]] = {
    "no biases": {"hasBiasVectors": False},
    "forgetBias": {"forgetBias": True},
    "forgetBias without biases": {"forgetBias": True, "hasBiasVectors": False},
    "peepholes": {"hasPeepholeVectors": True},
    "coupled": {"coupledInputAndForgetGate": True},
    "coupled, peepholes": {"coupledInputAndForgetGate": True, "hasPeepholeVectors": True},
    "coupled, forgetBias": {"coupledInputAndForgetGate": True, "forgetBias": True},
    "cell clipped to 0.25": {"cellClipThreshold": 0.25},
    "cell clipped to 0.25, peepholes": {"cellClipThreshold": 0.25, "hasPeepholeVectors": True},
    "cell clipped to 0.25, coupled": {"cellClipThreshold": 0.25, "coupledInputAndForgetGate": True},
    "cell clipped to 50000": {"cellClipThreshold": 50000.0},
}
ALL = {"sequenceOutput": True}
STATES = (X, STATE, STATE)
HAND = number(1, 2, 3, 1)
HALF = {
    f"{name}{kind}Matrix": half(weights(H, size, seed=5))
    for name in PARTS
    for kind, size in (("Weight", C), ("Recursion", H))
}
COARSE = linear(LEVELS, 4, [0.1, 0.05, 0.02, 0.1, 0.05], [-0.5, -0.4, -0.1, -0.8, 0.0])
TABLE = lookup(np.arange(H * H) % 4, 2, [-0.5, -0.1, 0.2, 0.4])

UNI = [
    row
    for whole in (False, True)
    for reverse in (False, True)
    for row in both(f"{'all steps' if whole else 'last step'}{', reversed' if reverse else ''}", lstm({"sequenceOutput": whole}, reverseInput=reverse), STATES, 3, uni)
] + [
    uni(f"{place} {name}", lstm(ALL, activations=[function if place == own else default for own, default in (("f", SIGMOID), ("g", TANH), ("h", TANH))]), STATES, 3)
    for place in "fgh"
    for name, function in ACTIVATIONS.items()
] + [
    uni(note, lstm(ALL | flags), STATES, 3) for note, flags in FLAGS.items()
] + [
    uni("all flags at once, reversed, legacy", lstm(ALL | {"forgetBias": True, "hasPeepholeVectors": True, "cellClipThreshold": 0.5}, reverseInput=True), STATES, 3, rank5=True),
    uni("known answer", by_hand(HAND), (steps(1, 2),), 3, expect=([3, 48], [48], [24])),
    uni("reversed, known answer", by_hand(HAND) | {"reverseInput": True}, (steps(1, 2),), 3, expect=([27, 24], [27], [27])),
    uni("recursion, known answer", by_hand(number(1, 2, 3, 1, recursion=1.0)), (steps(1, 2),), 3, expect=([3, 84], [84], [42])),
    uni("peepholes, the output gate sees the new cell, known answer", by_hand(number(1, 2, 3, 1, peephole=1.0), hasPeepholeVectors=True), (steps(1, 1),), 3, expect=([12, 756], [756], [27])),
    uni("coupled, known answer", by_hand(HAND, coupledInputAndForgetGate=True), (steps(1, 2),), 3, expect=([3, 18], [18], [9])),
    uni("forgetBias adds 1, known answer", by_hand(HAND, forgetBias=True), (steps(1, 2),), 3, expect=([3, 54], [54], [27])),
    uni("arguments clipped to 50, known answer", by_hand(number(1, 0, 100, 1)), (steps(1, -1),), 3, expect=([50, -50], [-50], [50])),
    uni("cell clipped to 50 by default, known answer", by_hand(number(1, 1, 30, 1)), (steps(1, 1),), 3, expect=([30, 50], [50], [50])),
    uni("cell clipped to 10, known answer", by_hand(HAND, cellClipThreshold=10.0), (steps(1, 2, -1),), 3, expect=([3, 20, 10], [10], [-10])),
    uni("states given, known answer", by_hand(HAND), (steps(1), steps(7), steps(5)), 3, expect=([13], [13], [13])),
    uni("states left out: zeros", lstm(ALL), (X,), 3),
    uni("states left out, one output, legacy", lstm(), (X,), 1, rank5=True),
    uni("one step", lstm(ALL), (ONE, (1, 1, H, 1, 1), (1, 1, H, 1, 1)), 3),
    uni("float16", lstm(weightParams=cell() | HALF), STATES, 3),
    uni("4 bit linear, a scale for each output", lstm(weightParams=cell(forgetGateWeightMatrix=COARSE)), STATES, 3),
    uni("2 bit table", lstm(weightParams=cell(outputGateRecursionMatrix=TABLE)), STATES, 3),
    uni("two functions", lstm(activations=[SIGMOID, TANH]), STATES, 3, refuses="activations"),
    uni("no functions", lstm(activations=[]), STATES, 3, refuses="activations"),
    uni("a function that recurrent layers do not have", lstm(activations=[SIGMOID, TANH, {"softsign": {}}]), STATES, 3, refuses="activations"),
    uni("no weights", lstm(weightParams=without(cell(), "blockInputWeightMatrix")), STATES, 3, refuses="blockInputWeightMatrix"),
    uni("too few recursion weights", lstm(weightParams=cell(inputGateRecursionMatrix=weights(H, C, seed=2))), STATES, 3, refuses="inputGateRecursionMatrix"),
    uni("no biases though hasBiasVectors", lstm(weightParams=without(cell(), "forgetGateBiasVector")), STATES, 3, refuses="forgetGateBiasVector"),
    uni("no peepholes though hasPeepholeVectors", lstm({"hasPeepholeVectors": True}, weightParams=cell()), STATES, 3, refuses="PeepholeVector"),
    uni("inputVectorSize does not fit", lstm(), ((S, B, C + 1, 1, 1), STATE, STATE), 3, refuses="inputVectorSize"),
    uni("rank 4", lstm(), ((B, C, 1, 1),), 1, refuses="rank"),
]  # fmt: skip


def two_way(flags: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Parameters of a two-way LSTM."""
    peepholes = bool(flags and flags.get("hasPeepholeVectors"))
    return {
        "inputVectorSize": C,
        "outputVectorSize": H,
        "activationsForwardLSTM": [SIGMOID, TANH, TANH],
        "activationsBackwardLSTM": [SIGMOID, TANH, TANH],
        "params": {"hasBiasVectors": True} | (flags or {}),
        "weightParams": [cell(peepholes=peepholes), cell(100, peepholes)],
    } | more


FIVE = (X, STATE, STATE, STATE, STATE)
PLAIN = {
    "inputVectorSize": 1,
    "outputVectorSize": 1,
    "activationsForwardLSTM": [SAME] * 3,
    "activationsBackwardLSTM": [SAME] * 3,
}
BI = [
    row
    for whole in (False, True)
    for row in both(f"{'all steps' if whole else 'last step'}", two_way({"sequenceOutput": whole}), FIVE, 5, bi)
] + [
    bi(note, two_way(ALL | flags), FIVE, 5) for note, flags in FLAGS.items()
] + [
    bi(f"{name} in both directions", two_way(ALL, activationsForwardLSTM=[SIGMOID, function, TANH], activationsBackwardLSTM=[SIGMOID, function, TANH]), FIVE, 5)
    for name, function in ACTIVATIONS.items()
] + [
    bi("all steps, known answer: both halves stand at their own time", PLAIN | {"params": ALL, "weightParams": [HAND, HAND]}, (steps(1, 2),), 5, expect=([3, 27, 48, 24], [48], [24], [27], [27])),
    bi("last step, known answer: the backward half has seen all", PLAIN | {"params": {}, "weightParams": [HAND, HAND]}, (steps(1, 2),), 5, expect=([48, 27], [48], [24], [27], [27])),
    bi("states left out: zeros", two_way(ALL), (X,), 5),
    bi("states left out, one output, legacy", two_way(ALL), (X,), 1, rank5=True),
    bi("one step", two_way(), (ONE,), 5),
    bi("float16", two_way(weightParams=[cell() | HALF, cell(100) | HALF]), FIVE, 5),
    bi("4 bit linear and a 2 bit table", two_way(weightParams=[cell(forgetGateWeightMatrix=COARSE), cell(100, outputGateRecursionMatrix=TABLE)]), FIVE, 5),
    bi("weights of one direction", two_way(weightParams=[cell()]), FIVE, 5, refuses="weightParams"),
    bi("weights of three directions", two_way(weightParams=[cell(), cell(), cell()]), FIVE, 5, refuses="weightParams"),
    bi("no functions of the way back", two_way(activationsBackwardLSTM=[]), FIVE, 5, refuses="activationsBackwardLSTM"),
    bi("a function that recurrent layers do not have", two_way(activationsForwardLSTM=[SIGMOID, {"ELU": {}}, TANH]), FIVE, 5, refuses="activationsForwardLSTM"),
    bi("no weights of the way back", two_way(weightParams=[cell(), without(cell(), "outputGateWeightMatrix")]), FIVE, 5, refuses="outputGateWeightMatrix"),
    bi("inputVectorSize does not fit", two_way(), ((S, B, C + 1, 1, 1), STATE, STATE, STATE, STATE), 5, refuses="inputVectorSize"),
    bi("rank 4", two_way(), ((B, C, 1, 1),), 1, refuses="rank"),
]  # fmt: skip

CASES = SIMPLE + GRU + UNI + BI
