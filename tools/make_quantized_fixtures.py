"""Writes ``tests/fixtures/quantized``: networks quantised by coremltools, and how it reads them and ours.

Run with a Python that has coremltools, scikit-learn and Pippin's dependencies, with ``src`` and ``tests`` on its path:
``PYTHONPATH=src:tests python tools/make_quantized_fixtures.py tests/fixtures/quantized``.

``<mode>.mlmodel`` are coremltools' files, ``ours-<mode>.mlmodel`` ours, ``float32.mlmodel`` is what they were made of.
``values.npz`` holds, under ``<mode>``, the float32 values that coremltools expands them to, and under ``ours-<mode>``
those that it expands our files to: all weights behind one another, in the order of ``names`` ("layer/kind.field") with
``counts`` values each. The tests need the files only, not coremltools.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from coremltools.models.neural_network import quantization_utils
from coremltools.proto import Model_pb2
from numpy.typing import NDArray

import pippin

network: Any = importlib.import_module("make").network

MODES: dict[str, tuple[int, str]] = {
    **{f"linear{bits}": (bits, "_linear_quantization") for bits in (1, 3, 4, 6, 8)},
    "symmetric8": (8, "_linear_quantization_symmetric"),
    **{f"kmeans{bits}": (bits, "_lookup_table_quantization_custom") for bits in (2, 4, 5)},
    "table7": (7, "_lookup_table_quantization_linear"),
    "float16": (16, "_linear_quantization"),
}
OURS: dict[str, dict[str, Any]] = {
    **{f"linear{bits}": {"bits": bits} for bits in range(1, 9)},
    "symmetric8": {"bits": 8, "mode": "symmetric"},
    **{f"kmeans{bits}": {"bits": bits, "mode": "kmeans"} for bits in range(1, 9)},
    "float16": {"bits": 16},
}


def normal(*shape: int, seed: int) -> NDArray[np.float32]:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def base() -> Any:
    """One layer of every kind that both sides quantise, side by side, in a legacy network."""
    gates = ("update", "reset", "output")
    gru: dict[str, Any] = {"inputVectorSize": 4, "outputVectorSize": 3, "hasBiasVectors": True}
    gru["activations"] = [{"sigmoid": {}}, {"tanh": {}}]
    lstm: dict[str, Any] = {}
    for number, gate in enumerate(gates):
        gru[f"{gate}GateWeightMatrix"] = normal(3, 4, seed=number)
        gru[f"{gate}GateRecursionMatrix"] = normal(3, 3, seed=number)
        gru[f"{gate}GateBiasVector"] = normal(3, seed=number)
    for number, gate in enumerate(("inputGate", "forgetGate", "blockInput", "outputGate")):
        lstm[f"{gate}WeightMatrix"] = normal(5, 4, seed=20 + number)
        lstm[f"{gate}RecursionMatrix"] = normal(5, 5, seed=20 + number)
        lstm[f"{gate}BiasVector"] = normal(5, seed=20 + number)
    convolution = {
        "outputChannels": 4, "kernelChannels": 3, "nGroups": 1, "kernelSize": [3, 2], "stride": [1, 1],
        "dilationFactor": [1, 1], "valid": {}, "hasBias": True, "weights": normal(4, 3, 3, 2, seed=1),
        "bias": normal(4, seed=2),
    }  # fmt: skip
    deconvolution = convolution | {"isDeconvolution": True, "weights": normal(3, 4, 3, 2, seed=3)}
    layers = [
        ("convolution", convolution, ["x"], ["y0"]),
        ("convolution", deconvolution, ["x"], ["y1"]),
        ("innerProduct", {"inputChannels": 4, "outputChannels": 5, "hasBias": True, "weights": normal(5, 4, seed=4),
                          "bias": normal(5, seed=5)}, ["v"], ["y2"]),
        ("embedding", {"inputDim": 7, "outputChannels": 3, "weights": normal(3, 7, seed=6)}, ["i"], ["y3"]),
        ("batchnorm", {"channels": 3, "epsilon": 1e-3, "gamma": normal(3, seed=7), "beta": normal(3, seed=8),
                       "mean": normal(3, seed=9), "variance": 1 + normal(3, seed=10) ** 2}, ["x"], ["y4"]),
        ("scale", {"shapeScale": [3, 1, 1], "scale": normal(3, seed=11), "hasBias": True, "shapeBias": [1],
                   "bias": normal(1, seed=12)}, ["x"], ["y5"]),
        ("gru", gru, ["v"], ["y6", "h6"]),
        ("uniDirectionalLSTM", {"inputVectorSize": 4, "outputVectorSize": 5, "params": {"hasBiasVectors": True},
                                "activations": [{"sigmoid": {}}, {"tanh": {}}, {"tanh": {}}],
                                "weightParams": lstm}, ["v"], ["y7", "h7", "c7"]),
        ("loadConstant", {"shape": [2, 3, 4], "data": normal(2, 3, 4, seed=13)}, [], ["y8"]),
    ]  # fmt: skip
    outputs = [name for *_, names in layers for name in names]
    return network(layers, {"x": [3, 6, 5], "v": [4], "i": [1]}, outputs, exact=False, version=3)


def table(bits: int, weights: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """coremltools' k-means; its own mode of that name stops at the shape of the table."""
    centres, labels = quantization_utils._get_kmeans_lookup_table_and_weight(bits, weights)
    return centres.reshape(-1), labels


def theirs(data: bytes, bits: int, mode: str) -> bytes:
    """The network quantised by coremltools."""
    spec = Model_pb2.Model.FromString(data)
    with contextlib.redirect_stdout(io.StringIO()):
        quantization_utils._quantize_spec_weights(spec, bits, mode, lut_function=table)
    result: bytes = spec.SerializeToString(deterministic=True)
    return result


def expanded(data: bytes) -> dict[str, NDArray[np.float32]]:
    """All weights as coremltools expands them, by layer and field."""
    spec = Model_pb2.Model.FromString(data)
    for layer in spec.neuralNetwork.layers:
        for _, params in _weights(layer):
            if params.float16Value:
                values = np.frombuffer(params.float16Value, "<f2").astype(np.float32)
                params.float16Value = b""
                params.floatValue.extend(values.tolist())
    with contextlib.redirect_stdout(io.StringIO()):
        quantization_utils._dequantize_nn_spec(spec.neuralNetwork)
    return {
        f"{layer.name}/{path}": np.asarray(params.floatValue, np.float32)
        for layer in spec.neuralNetwork.layers
        for path, params in _weights(layer)
    }


def _weights(message: Any, prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for field, value in message.ListFields():
        if field.message_type is None or hasattr(value, "add"):
            continue
        if field.message_type.name == "WeightParams":
            found.append((f"{prefix}{field.name}", value))
        else:
            found += _weights(value, f"{prefix}{field.name}.")
    return found


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    data = base().SerializeToString(deterministic=True)
    (folder / "float32.mlmodel").write_bytes(data)
    values: dict[str, NDArray[Any]] = {}
    for name, (bits, mode) in MODES.items():
        content = theirs(data, bits, mode)
        (folder / f"{name}.mlmodel").write_bytes(content)
        add(values, name, expanded(content))
    for name, options in OURS.items():
        content = pippin.edit(data).quantize(everything=True, **options).to_bytes()
        (folder / f"ours-{name}.mlmodel").write_bytes(content)
        add(values, f"ours-{name}", expanded(content))
    np.savez_compressed(folder / "values.npz", **values)  # type: ignore[arg-type]
    print(f"{len(values)} arrays, {sum(path.stat().st_size for path in folder.iterdir()):,} bytes")


def add(values: dict[str, NDArray[Any]], name: str, arrays: dict[str, NDArray[np.float32]]) -> None:
    names = np.array(list(arrays))
    assert np.array_equal(values.setdefault("names", names), names)
    values.setdefault("counts", np.array([array.size for array in arrays.values()]))
    values[name] = np.concatenate(list(arrays.values()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
