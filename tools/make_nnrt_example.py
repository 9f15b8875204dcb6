"""Makes ``examples/digits.nnrt``: the network of ``examples/digits.mlmodel``, authored as an NNRt model.

python tools/make_nnrt_example.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pippin import nnrt
from pippin.coreml.model import Model
from pippin.coreml.read import read
from pippin.nnrt.types import ActivationType, PadMode

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def weights() -> dict[str, Any]:
    """The arrays of the Core ML model by layer, laid out as NNRt has them: channels last."""
    model = Model(read(EXAMPLES / "digits.mlmodel"))
    layers = {layer.name: layer for layer in model.document.network.layers}
    flat = {
        name: [np.array(model.weights.flat(getattr(params, field)), np.float32) for field in ("weights", "bias")]
        for name, params in (
            ("conv1", layers["conv1"].convolution),
            ("conv2", layers["conv2"].convolution),
            ("dense", layers["dense"].innerProduct),
        )
    }
    flat["conv1"][0] = flat["conv1"][0].reshape(8, 1, 3, 3).transpose(0, 2, 3, 1)
    flat["conv2"][0] = flat["conv2"][0].reshape(16, 8, 3, 3).transpose(0, 2, 3, 1)
    flat["dense"][0] = flat["dense"][0].reshape(10, 16, 4, 4).transpose(0, 2, 3, 1).reshape(10, 256)
    return flat


def build() -> Any:
    """Pixels 0 to 255 → probabilities of the ten digits."""
    held = weights()
    g = nnrt.GraphBuilder("digits")
    x = g.input("image", [1, 16, 16, 1])
    h = g.MulFusion(x, np.float32(1 / 255), name="scale")
    for name in ("conv1", "conv2"):
        h = g.Conv2DFusion(
            h, *held[name], kernelSize=[3, 3], padMode=PadMode.SAME, activationType=ActivationType.RELU, name=name
        )
        h = g.MaxPoolFusion(h, kernelSize=[2, 2], strides=[2, 2], name=f"{name}_pool")
    h = g.FullConnection(h, *held["dense"], hasBias=True, useAxis=True, axis=1, name="dense")
    return g.finish(g.Softmax(h, axis=[1], name="probabilities"))


if __name__ == "__main__":
    nnrt.save_model(build(), EXAMPLES / "digits.nnrt")
