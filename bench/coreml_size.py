"""How long big networks take: 1,000 layers from the file to the first answer, 10,000 rounds of a loop of three layers.

python bench/coreml_size.py [TIMES]

The first is to take less than 2 s, the second less than 0.2 s. Each number is the best of several, in seconds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pippin
from pippin.coreml import schema

CHANNELS = 16
ROUNDS = 10_000


def model(shape: tuple[int, ...], result: tuple[int, ...]) -> Any:
    """A model of one array ``x`` and one result ``y``, without layers yet."""
    message = schema.message("Model")()
    message.specificationVersion = 4
    for features, name, sizes in ((message.description.input, "x", shape), (message.description.output, "y", result)):
        array = features.add(name=name).type.multiArrayType
        array.shape.extend(sizes)
        array.dataType = 65568
    message.neuralNetwork.arrayInputShapeMapping = 1
    return message


def thousand() -> bytes:
    """250 blocks of convolution, batch normalisation, ReLU and a sum with what came in: 1,000 layers."""
    shape = (1, CHANNELS, 16, 16)
    message = model(shape, shape)
    layers = message.neuralNetwork.layers
    random = np.random.default_rng(1)
    before = "x"
    for block in range(250):
        names = [f"{kind}{block}" for kind in ("conv", "norm", "relu", "sum")]
        if block == 249:
            names[-1] = "y"
        conv = layers.add(name=names[0], input=[before], output=[names[0]]).convolution
        conv.outputChannels = conv.kernelChannels = CHANNELS
        conv.nGroups = 1
        conv.kernelSize.extend([3, 3])
        conv.same.SetInParent()
        conv.weights.floatValue.extend(random.normal(0, 0.05, CHANNELS * CHANNELS * 9))
        norm = layers.add(name=names[1], input=[names[0]], output=[names[1]]).batchnorm
        norm.channels = CHANNELS
        for field, value in (("gamma", 1.0), ("beta", 0.0), ("mean", 0.0), ("variance", 1.0)):
            getattr(norm, field).floatValue.extend([value] * CHANNELS)
        layers.add(name=names[2], input=[names[1]], output=[names[2]]).activation.ReLU.SetInParent()
        layers.add(name=names[3], input=[names[2], before], output=[names[3]]).addBroadcastable.SetInParent()
        before = names[3]
    return bytes(message.SerializeToString())


def loop() -> bytes:
    """A loop of three layers, 10,000 times: y = clip(0.999 · y + x)."""
    message = model((4,), (4,))
    layers = message.neuralNetwork.layers
    layers.add(name="start", input=["x"], output=["y"]).copy.SetInParent()
    outer = layers.add(name="loop").loop
    outer.maxLoopIterations = ROUNDS
    body = outer.bodyNetwork.layers
    body.add(name="scale", input=["y"], output=["scaled"]).activation.linear.alpha = 0.999
    body.add(name="add", input=["scaled", "x"], output=["sum"]).addBroadcastable.SetInParent()
    clip = body.add(name="clip", input=["sum"], output=["y"]).clip
    clip.minVal, clip.maxVal = -500, 500
    return bytes(message.SerializeToString())


def best(times: int, call: Callable[[], Any]) -> float:
    """The shortest time that ``call`` takes."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def main(times: int) -> None:
    """Measures and prints both."""
    x = np.random.default_rng(2).normal(size=(1, CHANNELS, 16, 16)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "thousand.mlmodel"
        path.write_bytes(thousand())
        first = best(1, lambda: pippin.load(path).predict({"x": x}))
        again = best(times, lambda: pippin.load(path).predict({"x": x}))
    print(f"1,000 layers, file to first answer: {again:.2f} s (the first time in this process {first:.2f} s)")
    model = pippin.load(loop())
    answer = model.predict({"x": np.ones(4)})["y"]
    wanted = 1.0
    for _ in range(ROUNDS):
        wanted = min(0.999 * wanted + 1, 500)
    np.testing.assert_allclose(answer, wanted, rtol=1e-4)
    print(f"{ROUNDS:,} rounds of three layers: {best(times, lambda: model.predict({'x': np.ones(4)})):.3f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
