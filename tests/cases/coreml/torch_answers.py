"""Rows whose known answers are torch's; ``tools/make_torch_fixtures.py`` writes the files that hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cases import Case
from cases.coreml.convolution import conv, deconv, valid

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def load(name: str) -> dict[str, Any]:
    """The arrays of one file by ``case/array``."""
    with np.load(FIXTURES / f"torch_{name}.npz") as file:
        return {key: file[key] for key in file.files}


def convolutions() -> list[Case]:
    """Convolutions, and deconvolutions both by output padding (as ``outputShape``) and without."""
    data = load("convolution")
    more: dict[str, dict[str, Any]] = {
        "conv_k3": {},
        "conv_k3x2_s2_p1": {"stride": (2, 2)} | valid(1, 1, 1, 1),
        "conv_dilated": {"stride": (1, 2), "dilationFactor": (2, 3)} | valid(2, 2, 1, 1),
        "conv_grouped": {"nGroups": 2, "stride": (2, 1)} | valid(1, 1, 1, 1),
        "conv_depthwise": {"nGroups": 3} | valid(1, 1, 1, 1),
        "deconv_k4s2p1": {"stride": (2, 2)} | valid(1, 1, 1, 1),
        "deconv_k3s2p1_op1": {"stride": (2, 2)} | valid(1, 1, 1, 1),
        "deconv_k5s3p2": {"stride": (3, 3)} | valid(2, 2, 2, 2),
        "deconv_k5s3p2_op1": {"stride": (3, 3)} | valid(2, 2, 2, 2),
        "deconv_k4s2p1_grouped": {"nGroups": 2, "stride": (2, 2)} | valid(1, 1, 1, 1),
        "deconv_k3s2p1_op1_depthwise": {"nGroups": 4, "stride": (2, 2)} | valid(1, 1, 1, 1),
    }
    rows = []
    for name, extra in more.items():
        x, weight, bias, y = (data[f"{name}/{key}"] for key in ("x", "weight", "bias", "y"))
        given = {"weights": weight, "hasBias": True, "bias": bias} | extra
        kernel = weight.shape[2:]
        if name.startswith("conv"):
            params = conv(len(weight), weight.shape[1], kernel, **given)
            rows.append(Case("convolution", f"torch: {name}", params, (x,), expect=(y,)))
            continue
        params = deconv(len(weight), len(bias), kernel, extra.get("nGroups", 0), **given)
        shaped = params | {"outputShape": y.shape[2:]}
        rows.append(Case("convolution", f"torch: {name}, outputShape", shaped, (x,), expect=(y,)))
        if "op1" not in name:  # without an outputShape there is no output padding
            rows.append(Case("convolution", f"torch: {name}", params, (x,), expect=(y,)))
    return rows


def pools() -> list[Case]:
    """Pooling; torch's ceil mode is ``includeLastPixel`` and divides by real cells at the overhanging edge."""
    data = load("pooling")
    complete = {"includeLastPixel": {"paddingAmounts": (1, 1)}}
    forms: dict[str, tuple[int, int, dict[str, Any]]] = {
        "valid": (3, 2, valid()),
        "padded": (3, 2, valid(1, 1, 1, 1)),
        "padded_excluded": (3, 2, valid(1, 1, 1, 1) | {"avgPoolExcludePadding": True}),
        "ceil": (2, 3, {"includeLastPixel": {}, "avgPoolExcludePadding": True}),
        "ceil_padded": (3, 3, complete | {"avgPoolExcludePadding": True}),
    }
    return [
        Case(
            "pooling",
            f"torch: {kind}, {name}",
            {"type": kind.upper(), "kernelSize": (kernel, kernel), "stride": (stride, stride)} | extra,
            (data[f"{name}/x"],),
            expect=(data[f"{name}/{kind}"],),
        )
        for name, (kernel, stride, extra) in forms.items()
        for kind in ("max", "average", "l2")
        if f"{name}/{kind}" in data
    ]


def resizes() -> list[Case]:
    """Upsampling and resizing."""
    data = load("resize")
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        "nearest_2x3": ("upsample", {"scalingFactor": (2, 3)}),
        "bilinear_false": ("upsample", {"scalingFactor": (2, 3), "linearUpsampleMode": 2, "mode": 1}),
        "bilinear_true": ("upsample", {"scalingFactor": (2, 3), "linearUpsampleMode": 1, "mode": 1}),
        "bilinear_false_fractional": (
            "upsample",
            {"fractionalScalingFactor": (1.5, 1.5), "linearUpsampleMode": 2, "mode": 1},
        ),
        "bilinear_true_fractional": (
            "upsample",
            {"fractionalScalingFactor": (1.5, 1.5), "linearUpsampleMode": 1, "mode": 1},
        ),
        "bilinear_true_smaller": ("resizeBilinear", {"targetSize": (3, 2), "mode": {"samplingMethod": 0}}),
    }
    return [
        Case(kind, f"torch: {name}", params, (data[f"{name}/x"],), expect=(data[f"{name}/y"],))
        for name, (kind, params) in ways.items()
    ]


def five(array: Any) -> Any:
    """[S,B,C] as [S,B,C,1,1]."""
    return array[..., None, None]


def gates(data: dict[str, Any], name: str, suffix: str) -> dict[str, Any]:
    """An LSTMWeightParams message from torch's stacked gates i, f, g, o and its two biases."""
    order = ("inputGate", "forgetGate", "blockInput", "outputGate")
    parts = {
        "WeightMatrix": data[f"{name}/weight_ih_l0{suffix}"],
        "RecursionMatrix": data[f"{name}/weight_hh_l0{suffix}"],
        "BiasVector": data[f"{name}/bias_ih_l0{suffix}"] + data[f"{name}/bias_hh_l0{suffix}"],
    }
    return {f"{gate}{part}": np.split(values, 4)[i] for part, values in parts.items() for i, gate in enumerate(order)}


def recurrent() -> list[Case]:
    """simpleRecurrent and the LSTMs. A GRU of torch's is another formula: it resets after the recurrent product."""
    data = load("recurrent")
    functions = [{"sigmoid": {}}, {"tanh": {}}, {"tanh": {}}]
    sizes = {"inputVectorSize": 3, "outputVectorSize": 4}
    flags = {"params": {"sequenceOutput": True, "hasBiasVectors": True}}

    def row(kind: str, name: str, params: dict[str, Any], states: tuple[str, ...]) -> Case:
        inputs, outputs = [five(data[f"{name}/x"])], [five(data[f"{name}/y"])]
        for i in range(len(data[f"{name}/h0"])):
            inputs += [five(data[f"{name}/{state}0"][i : i + 1]) for state in states]
            outputs += [five(data[f"{name}/{state}1"][i : i + 1]) for state in states]
        return Case(kind, f"torch: {name}", sizes | params, tuple(inputs), len(outputs), expect=tuple(outputs))

    rnn = {
        "activation": {"tanh": {}},
        "sequenceOutput": True,
        "hasBiasVector": True,
        "weightMatrix": data["rnn/weight_ih_l0"],
        "recursionMatrix": data["rnn/weight_hh_l0"],
        "biasVector": data["rnn/bias_ih_l0"] + data["rnn/bias_hh_l0"],
    }
    one = flags | {"activations": functions, "weightParams": gates(data, "lstm", "")}
    two = flags | {
        "activationsForwardLSTM": functions,
        "activationsBackwardLSTM": functions,
        "weightParams": [gates(data, "bilstm", ""), gates(data, "bilstm", "_reverse")],
    }
    return [
        row("simpleRecurrent", "rnn", rnn, ("h",)),
        row("uniDirectionalLSTM", "lstm", one, ("h", "c")),
        row("biDirectionalLSTM", "bilstm", two, ("h", "c")),
    ]


def others() -> list[Case]:
    """Normalisation, activations, pixel shuffle, softmax."""
    data = load("normalization")
    affine = {"channels": 4, "gamma": data["gamma"], "beta": data["beta"], "epsilon": 1e-3}
    given = affine | {"mean": data["mean"], "variance": data["variance"]}
    computed = affine | {"computeMeanVar": True}
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        "batchnorm": ("batchnorm", given),
        "batchnorm_computed": ("batchnorm", computed),
        "instancenorm": ("batchnorm", computed | {"instanceNormalization": True}),
        "lrn_3": ("lrn", {"alpha": 0.5, "beta": 0.75, "localSize": 3, "k": 2.0}),
        "PReLU": ("activation", {"PReLU": {"alpha": data["gamma"]}}),
        "ELU": ("activation", {"ELU": {"alpha": 0.7}}),
        "softplus": ("activation", {"softplus": {}}),
        "softsign": ("activation", {"softsign": {}}),
        "leakyReLU": ("activation", {"leakyReLU": {"alpha": 0.1}}),
        "pixel_shuffle": ("reorganizeData", {"mode": "PIXEL_SHUFFLE", "blockSize": 2}),
        "softmax": ("softmax", {}),
    }
    x = data["x"]
    return [Case(kind, f"torch: {name}", params, (x,), expect=(data[name],)) for name, (kind, params) in ways.items()]


CASES = convolutions() + pools() + resizes() + recurrent() + others()
