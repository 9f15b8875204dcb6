"""Makes ``tests/fixtures/torch_models``: small torch modules, converted to Core ML networks, with torch's own answers.

python tools/make_torch_models.py        needs torch and coremltools (an environment of its own; the tests need neither)
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).resolve().parents[1] / "tests/fixtures/torch_models"


def modules() -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    """Name, module and input shape."""
    from torch import nn

    yield "deconv_k4s2p1", nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1), (1, 3, 5, 6)
    yield "deconv_k3s2p1_out1", nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), (1, 3, 5, 6)
    yield "deconv_k5s3p2", nn.ConvTranspose2d(3, 4, 5, stride=3, padding=2), (1, 3, 5, 6)
    yield "deconv_k5s3p2_out1", nn.ConvTranspose2d(3, 4, 5, stride=3, padding=2, output_padding=1), (1, 3, 5, 6)
    yield "deconv_groups", nn.ConvTranspose2d(4, 6, 4, stride=2, padding=1, groups=2), (1, 4, 5, 6)
    yield "deconv_depthwise", nn.ConvTranspose2d(4, 4, 3, stride=2, padding=1, output_padding=1, groups=4), (1, 4, 5, 5)
    yield "conv_groups", nn.Conv2d(4, 6, 3, padding=1, groups=2), (1, 4, 7, 6)
    yield "conv_depthwise_dilated", nn.Conv2d(4, 4, 3, padding=2, dilation=2, groups=4), (1, 4, 8, 7)
    block = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU6(), nn.MaxPool2d(2))
    yield "conv_norm_pool", block, (1, 3, 16, 14)
    yield "average_pool", nn.AvgPool2d(3, stride=2, padding=1), (1, 3, 9, 8)
    yield "average_pool_inside", nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), (1, 3, 9, 8)
    yield "prelu_pad", nn.Sequential(nn.ReflectionPad2d((1, 2, 3, 1)), nn.PReLU(3)), (1, 3, 6, 7)
    yield "upsample_nearest", nn.Upsample(scale_factor=2), (1, 3, 4, 5)
    yield "upsample_bilinear", nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), (1, 3, 4, 5)
    yield "upsample_corners", nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), (1, 3, 4, 5)
    yield "perceptron", nn.Sequential(nn.Linear(6, 5), nn.GELU(), nn.Linear(5, 3), nn.Softmax(-1)), (2, 6)
    yield "layer_norm", nn.LayerNorm((4, 5)), (2, 4, 5)
    yield "instance_norm", nn.InstanceNorm2d(3, affine=True), (1, 3, 6, 5)
    yield "bilstm", first_output(nn.LSTM(4, 5, bidirectional=True)), (6, 1, 4)
    yield "lstm", first_output(nn.LSTM(4, 5)), (6, 1, 4)


def first_output(module: Any) -> Any:
    """``module``, answering the first of its outputs."""
    from torch import nn

    class First(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, x: Any) -> Any:
            return self.inner(x)[0]

    return First()


def main() -> None:
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import coremltools as ct
    import torch

    TARGET.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(5)
    for name, module, shape in modules():
        module = module.eval()
        for part in module.modules():
            if isinstance(part, torch.nn.BatchNorm2d):
                part.running_mean.normal_(0, 0.3)
                part.running_var.uniform_(0.5, 1.5)
        x = torch.randn(shape)
        with torch.no_grad():
            y = module(x).numpy()
            traced = torch.jit.trace(module, x)
        converted = ct.convert(
            traced,
            inputs=[ct.TensorType(name="x", shape=shape)],
            outputs=[ct.TensorType(name="y")],
            convert_to="neuralnetwork",
        )
        (TARGET / f"{name}.mlmodel").write_bytes(converted.get_spec().SerializeToString())
        np.savez_compressed(TARGET / f"{name}.npz", x=x.numpy(), y=y)
        print(name, shape, "->", y.shape)


if __name__ == "__main__":
    main()
