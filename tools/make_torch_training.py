"""Makes ``tests/fixtures/torch_training``: three networks as torch trains them, ten steps of SGD and of Adam.

python tools/make_torch_training.py        needs torch (an environment of its own; the tests need none of it)

For each network: its initial weights by name, the samples of two batches, which take turns, and the loss before each of
the ten updates. The tests build the same networks as Core ML files.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).resolve().parents[1] / "tests/fixtures/torch_training"
STEPS, BATCH, BATCHES = 10, 8, 2
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "sgd": {"lr": 0.05, "momentum": 0.9},
    "adam": {"lr": 0.02, "betas": (0.9, 0.999), "eps": 1e-8},
}


def classifier() -> tuple[Any, Any, list[Any], Any]:
    """Convolutions, one of them with steps and one in groups, and two dense layers; 5 classes."""
    import torch
    from torch import nn

    net = nn.Sequential(
        OrderedDict(
            conv1=nn.Conv2d(2, 8, 3, padding=1),
            relu1=nn.ReLU(),
            conv2=nn.Conv2d(8, 12, 3, stride=2, padding=1, groups=2),
            tanh=nn.Tanh(),
            conv3=nn.Conv2d(12, 6, (3, 2), bias=False),
            relu3=nn.ReLU(),
            flatten=nn.Flatten(),
            dense1=nn.Linear(6 * 4 * 5, 16),
            sigmoid=nn.Sigmoid(),
            dense2=nn.Linear(16, 5),
        )
    )
    inputs = [torch.randn(BATCHES * BATCH, 2, 11, 11)]
    return net, nn.CrossEntropyLoss(), inputs, torch.randint(0, 5, (BATCHES * BATCH,))


def regression() -> tuple[Any, Any, list[Any], Any]:
    """A perceptron on numbers and two embedded numbers of categories."""
    import torch
    from torch import nn

    class Net(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embed1, self.embed2 = nn.Embedding(4, 3), nn.Embedding(6, 2)
            self.dense1, self.dense2, self.dense3 = nn.Linear(5 + 3 + 2, 16), nn.Linear(16, 8), nn.Linear(8, 2)
            # a device does not train embeddings
            self.embed1.weight.requires_grad_(False)
            self.embed2.weight.requires_grad_(False)

        def forward(self, numbers: Any, first: Any, second: Any) -> Any:
            x = torch.cat([numbers, self.embed1(first), self.embed2(second)], 1)
            return self.dense3(torch.tanh(self.dense2(torch.relu(self.dense1(x)))))

    count = BATCHES * BATCH
    inputs = [torch.randn(count, 5), torch.randint(0, 4, (count,)), torch.randint(0, 6, (count,))]
    return Net(), nn.MSELoss(), inputs, torch.randn(count, 2)


def pictures() -> tuple[Any, Any, list[Any], Any]:
    """Pictures through batch normalisation with given statistics, overlapping and average pooling; 3 classes."""
    import torch
    from torch import nn

    net = nn.Sequential(
        OrderedDict(
            conv1=nn.Conv2d(3, 8, 3),
            norm1=nn.BatchNorm2d(8),
            relu1=nn.ReLU(),
            pool1=nn.MaxPool2d(3, stride=2, padding=1),
            conv2=nn.Conv2d(8, 8, 3, padding=1),
            norm2=nn.BatchNorm2d(8),
            relu2=nn.ReLU(),
            pool2=nn.MaxPool2d(2),
            conv3=nn.Conv2d(8, 6, 1),
            pool3=nn.AvgPool2d(2, stride=1, padding=1),
            pool4=nn.AdaptiveAvgPool2d(1),
            flatten=nn.Flatten(),
            dense=nn.Linear(6, 3),
        )
    ).eval()
    for norm in (net.norm1, net.norm2):
        norm.running_mean.normal_(0, 0.3)
        norm.running_var.uniform_(0.5, 1.5)
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.normal_(norm.bias, 0, 0.2)
        norm.requires_grad_(False)
    target = torch.randint(0, 3, (BATCHES * BATCH,))
    pixels = torch.randint(0, 100, (BATCHES * BATCH, 3, 14, 16)).float()
    # the class is the brightest colour
    pixels[torch.arange(len(target)), target] += 150
    return net, nn.CrossEntropyLoss(), [pixels], target


def losses(net: Any, criterion: Any, inputs: list[Any], target: Any, optimizer: Any, scale: float) -> list[float]:
    """The loss before each update."""
    found = []
    for step in range(STEPS):
        first = step % BATCHES * BATCH
        rows = slice(first, first + BATCH)
        batch = [x[rows] * scale if x.is_floating_point() else x[rows] for x in inputs]
        loss = criterion(net(*batch), target[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def main() -> None:
    import torch

    TARGET.mkdir(parents=True, exist_ok=True)
    for name, make in (("classifier", classifier), ("regression", regression), ("pictures", pictures)):
        arrays: dict[str, Any] = {}
        for optimizer, options in OPTIMIZERS.items():
            torch.manual_seed(11)
            net, criterion, inputs, target = make()
            if not arrays:
                arrays = {f"weights/{key}": value.numpy().copy() for key, value in net.state_dict().items()}
                arrays |= {f"inputs/{index}": x.numpy() for index, x in enumerate(inputs)}
                arrays["target"] = target.numpy()
            trained = [p for p in net.parameters() if p.requires_grad]
            kind = torch.optim.SGD if optimizer == "sgd" else torch.optim.Adam
            scale = 1 / 255 if name == "pictures" else 1.0
            rule: Any = kind(trained, **options)
            arrays[f"losses/{optimizer}"] = np.array(losses(net, criterion, inputs, target, rule, scale), np.float64)
        np.savez_compressed(TARGET / f"{name}.npz", **arrays)
        print(name, {key: value.round(4).tolist() for key, value in arrays.items() if key.startswith("losses")})


if __name__ == "__main__":
    main()
