"""A training step against torch's: the same network, batch and threads, in turns in one run.

python bench/training.py [--torch PYTHON] [--threads N] [--rounds N]

PYTHON is an interpreter that has torch (default: this one); ours needs none of it. Both sides take their turns of ten
steps, one after the other, so that whatever else the machine does hits both. Prints the median and the least time of
a step, and the ratio of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

BATCH, TURN = 32, 10
REST = 0.3
"""Seconds between turns: threads spin on for a while, and would take a core of the other side."""
NETWORKS = {
    # picture size, channels of two 3x3 convolutions with pooling, widths of the dense layers
    "digits 16x16, 8 and 16 channels": (16, (8, 16), (10,)),
    "digits 28x28, 32 and 64 channels, dense 128": (28, (32, 64), (128, 10)),
}


def torch_step(size: int, channels: tuple[int, ...], widths: tuple[int, ...], optimizer: str, threads: int) -> Any:
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    layers: list[Any] = []
    before = 1
    for out in channels:
        layers += [nn.Conv2d(before, out, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        before, size = out, size // 2
    layers.append(nn.Flatten())
    before *= size * size
    for index, width in enumerate(widths):
        layers += [nn.Linear(before, width)] + [nn.ReLU()] * (index < len(widths) - 1)
        before = width
    net, criterion = nn.Sequential(*layers), nn.CrossEntropyLoss()
    options: dict[str, Any] = {"momentum": 0.9} if optimizer == "sgd" else {}
    rule = (torch.optim.SGD if optimizer == "sgd" else torch.optim.Adam)(net.parameters(), lr=1e-3, **options)
    x = torch.rand(BATCH, 1, size * 2 ** len(channels), size * 2 ** len(channels))
    t = torch.randint(0, 10, (BATCH,))

    def step() -> float:
        rule.zero_grad()
        loss = criterion(net(x), t)
        loss.backward()
        rule.step()
        return float(loss.detach())

    return step


def our_step(size: int, channels: tuple[int, ...], widths: tuple[int, ...], optimizer: str, threads: int) -> Any:
    import numpy as np

    from pippin.training.trainer import Trainer

    document = network(size, channels, widths, optimizer)
    trainer = Trainer(document, {}, None, {"threads": threads, "custom_layers": None})
    random = np.random.default_rng(0)
    columns = {
        "image": random.integers(0, 256, (BATCH, size, size)).astype(np.uint8),
        "t": random.integers(0, 10, BATCH),
    }
    step, feeds = trainer.prepared(columns, BATCH, training=True)
    state, scalars = trainer.state, trainer.settings.optimizer.scalars(1)
    return lambda: float(step.run(state, feeds, scalars)["loss"])


def network(size: int, channels: tuple[int, ...], widths: tuple[int, ...], optimizer: str) -> Any:
    import numpy as np

    from pippin.coreml import schema
    from pippin.coreml.read import read

    model = schema.Model(specificationVersion=4, isUpdatable=True)
    image = model.description.input.add(name="image").type.imageType
    image.width = image.height = size
    image.colorSpace = 10
    model.description.output.add(name="y").type.multiArrayType.dataType = 65568
    model.description.trainingInput.add().CopyFrom(model.description.input[0])
    model.description.trainingInput.add(name="t").type.multiArrayType.dataType = 131104
    model.description.trainingInput[1].type.multiArrayType.shape.append(1)
    net, random, blob = model.neuralNetwork, np.random.default_rng(0), "image"
    net.preprocessing.add(featureName="image").scaler.channelScale = 1 / 255

    def layer(kind: str) -> Any:
        nonlocal blob
        added = net.layers.add(name=f"{kind}{len(net.layers)}", input=[blob])
        blob = f"b{len(net.layers)}"
        added.output.append(blob)
        getattr(added, kind).SetInParent()
        return added

    def weights(added: Any, params: Any, out: int, count: int) -> None:
        added.isUpdatable = params.hasBias = params.weights.isUpdatable = params.bias.isUpdatable = True
        params.outputChannels = out
        params.weights.floatValue.extend((random.standard_normal(out * count) * (2 / count) ** 0.5).tolist())
        params.bias.floatValue.extend([0.0] * out)

    before = 1
    for out in channels:
        added = layer("convolution")
        added.convolution.kernelChannels = before
        added.convolution.kernelSize.extend([3, 3])
        added.convolution.same.SetInParent()
        weights(added, added.convolution, out, before * 9)
        layer("activation").activation.ReLU.SetInParent()
        pooling = layer("pooling").pooling
        pooling.kernelSize.extend([2, 2])
        pooling.stride.extend([2, 2])
        pooling.valid.SetInParent()
        before, size = out, size // 2
    layer("flatten")
    before *= size * size
    for index, width in enumerate(widths):
        added = layer("innerProduct")
        added.innerProduct.inputChannels = before
        weights(added, added.innerProduct, width, before)
        if index < len(widths) - 1:
            layer("activation").activation.ReLU.SetInParent()
        before = width
    layer("softmax")
    net.layers[-1].output[0] = "y"
    update = net.updateParams
    loss = update.lossLayers.add(name="loss").categoricalCrossEntropyLossLayer
    loss.input, loss.target = "y", "t"
    p = update.optimizer.sgdOptimizer if optimizer == "sgd" else update.optimizer.adamOptimizer
    options = {"momentum": 0.9} if optimizer == "sgd" else {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
    for name, value in {"learningRate": 1e-3, **options}.items():
        getattr(p, name).defaultValue = value
    p.miniBatchSize.defaultValue = BATCH
    update.epochs.defaultValue = 1
    return read(model.SerializeToString())


def turn(step: Callable[[], float]) -> float:
    """Seconds a step, over a turn."""
    begun = time.perf_counter()
    for _ in range(TURN):
        step()
    return (time.perf_counter() - begun) / TURN


def worker(threads: int) -> None:
    """Torch's side: reads what to do from stdin, answers with seconds."""
    step: Any = None
    for line in sys.stdin:
        words = line.split()
        if words[0] == "make":
            step = torch_step(*list(NETWORKS.values())[int(words[1])], words[2], threads)
            turn(step)
            print("ready", flush=True)
        else:
            print(turn(step), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", default=sys.executable)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--worker", action="store_true")
    words = parser.parse_args()
    if words.worker:
        worker(words.threads)
        return
    command = [words.torch, __file__, "--worker", "--threads", str(words.threads)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None

    def ask(text: str) -> str:
        print(text, file=child.stdin, flush=True)
        return child.stdout.readline()  # type: ignore[union-attr]

    for number, (name, shape) in enumerate(NETWORKS.items()):
        for optimizer in ("sgd", "adam"):
            step = our_step(*shape, optimizer, words.threads)
            ask(f"make {number} {optimizer}")
            turn(step)
            ours, theirs = [], []
            for _ in range(words.rounds):
                time.sleep(REST)
                ours.append(turn(step))
                time.sleep(REST)
                theirs.append(float(ask("turn")))
            a, b = statistics.median(ours), statistics.median(theirs)
            least = f"least {min(ours) * 1e3:.2f} and {min(theirs) * 1e3:.2f} ms, ratio {min(ours) / min(theirs):.2f}"
            print(f"{name}, {optimizer}: ours {a * 1e3:.2f} ms, torch {b * 1e3:.2f} ms, ratio {a / b:.2f} ({least})")
    child.stdin.close()
    child.wait()


if __name__ == "__main__":
    main()
