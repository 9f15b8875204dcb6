"""Makes the networks of the benchmarks: each a torch module, as .onnx by torch's export and as .mlmodel by coremltools.

python bench/nets.py DIR        needs torch, torchvision, onnx and coremltools

Beside them DIR gets NAME.npz with an input x and torch's own answer y.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import coremltools
import numpy as np
import torch
import torchvision
from torch import Tensor, nn
from torch.nn import functional

PICTURE = (1, 3, 224, 224)


class Encoder(nn.Module):
    """Four transformer blocks: width 256, 4 heads, 128 tokens."""

    def __init__(self, width: int = 256, heads: int = 4, blocks: int = 4, tokens: int = 128) -> None:
        super().__init__()
        self.shape = (1, tokens, heads, width // heads)
        self.blocks = nn.ModuleList(self.block(width) for _ in range(blocks))

    @staticmethod
    def block(width: int) -> nn.ModuleDict:
        parts: dict[str, nn.Module] = {name: nn.Linear(width, width) for name in ("query", "key", "value", "out")}
        parts |= {"wide": nn.Linear(width, 4 * width), "narrow": nn.Linear(4 * width, width)}
        parts |= {"first": nn.LayerNorm(width), "second": nn.LayerNorm(width)}
        return nn.ModuleDict(parts)

    def heads(self, x: Tensor) -> Tensor:
        return x.reshape(self.shape).permute(0, 2, 1, 3)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            query, key, value = (self.heads(block[name](x)) for name in ("query", "key", "value"))
            weights = torch.softmax(query @ key.transpose(-1, -2) / self.shape[-1] ** 0.5, -1)
            mixed = (weights @ value).permute(0, 2, 1, 3).reshape(1, self.shape[1], -1)
            x = block["first"](x + block["out"](mixed))
            x = block["second"](x + block["narrow"](functional.gelu(block["wide"](x))))
        return x


class UNet(nn.Module):
    """Two steps down, two up by transposed convolutions with stride = kernel, skips joined by channel."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([self.block(3, 16), self.block(16, 32), self.block(32, 64)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)])
        self.join = nn.ModuleList([self.block(64, 32), self.block(32, 16)])
        self.last = nn.Conv2d(16, 1, 1)

    @staticmethod
    def block(inputs: int, outputs: int) -> nn.Sequential:
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for index, block in enumerate(self.down):
            x = block(functional.max_pool2d(x, 2) if index else x)
            skips.append(x)
        for up, join, skip in zip(self.up, self.join, skips[-2::-1], strict=True):
            x = join(torch.cat([up(x), skip], 1))
        return torch.sigmoid(self.last(x))


class Lstm(nn.Module):
    """A bidirectional LSTM over 100 steps and an inner product."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(64, 128, bidirectional=True)
        self.last = nn.Linear(256, 32)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.lstm(x)[0])


def networks() -> Iterator[tuple[str, nn.Module, tuple[int, ...]]]:
    """Name, module and shape of the input."""
    zoo = torchvision.models
    yield "mobilenet_v2", zoo.mobilenet_v2(weights=None), PICTURE
    yield "resnet50", zoo.resnet50(weights=None), PICTURE
    yield "squeezenet", zoo.squeezenet1_1(weights=None), PICTURE
    yield "efficientnet_b0", zoo.efficientnet_b0(weights=None), PICTURE
    yield "unet", UNet(), (1, 3, 256, 256)
    yield "encoder", Encoder(), (1, 128, 256)
    yield "bilstm", Lstm(), (100, 1, 64)


def settle(module: nn.Module) -> None:
    """Statistics as after a training, so that batch normalisations do something."""
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            assert part.running_mean is not None
            assert part.running_var is not None
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 1.5)
    module.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    for name, module, shape in networks():
        settle(module)
        x = torch.rand(shape)
        with torch.no_grad():
            np.savez(folder / f"{name}.npz", x=x.numpy(), y=module(x).numpy())
            options = {"dynamo": False, "opset_version": 17, "input_names": ["x"], "output_names": ["y"]}
            torch.onnx.export(module, (x,), str(folder / f"{name}.onnx"), **options)
            traced = torch.jit.trace(module, x)
        model = coremltools.convert(
            traced,
            inputs=[coremltools.TensorType(name="x", shape=shape)],
            outputs=[coremltools.TensorType(name="y")],
            convert_to="neuralnetwork",
        )
        model.save(str(folder / f"{name}.mlmodel"))
        print(name, flush=True)


if __name__ == "__main__":
    main()
