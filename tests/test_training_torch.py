"""Ten steps of SGD and Adam on three networks follow torch's losses (fixtures of ``tools/make_torch_training.py``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from make import network, picture_network, updatable
from pippin.training import train

FIXTURES = Path(__file__).parent / "fixtures/torch_training"
OPTIMIZERS: dict[str, Any] = {
    "sgd": {"learningRate": 0.05, "momentum": 0.9},
    "adam": {"learningRate": 0.02, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
}


def values(array: np.ndarray) -> dict[str, Any]:
    return {"floatValue": array.ravel().tolist()}


def conv(fixture: Any, name: str, **more: Any) -> dict[str, Any]:
    w = fixture[f"weights/{name}.weight"]
    params = {
        "outputChannels": w.shape[0],
        "kernelChannels": w.shape[1],
        "kernelSize": list(w.shape[2:]),
        "weights": values(w),
        **more,
    }
    if f"weights/{name}.bias" in fixture:
        params |= {"hasBias": True, "bias": values(fixture[f"weights/{name}.bias"])}
    return params


def dense(fixture: Any, name: str) -> dict[str, Any]:
    w, b = fixture[f"weights/{name}.weight"], fixture[f"weights/{name}.bias"]
    return {
        "outputChannels": w.shape[0],
        "inputChannels": w.shape[1],
        "hasBias": True,
        "weights": values(w),
        "bias": values(b),
    }


def norm(fixture: Any, name: str) -> dict[str, Any]:
    keys = {"gamma": "weight", "beta": "bias", "mean": "running_mean", "variance": "running_var"}
    arrays = {key: values(fixture[f"weights/{name}.{entry}"]) for key, entry in keys.items()}
    return {"channels": len(fixture[f"weights/{name}.weight"]), "epsilon": 1e-5, **arrays}


def pad(amount: int) -> dict[str, Any]:
    edge = {"startEdgeSize": amount, "endEdgeSize": amount}
    return {"valid": {"paddingAmounts": {"borderAmounts": [edge, edge]}}}


def pool(kind: int, size: int, stride: int, padding: int = 0) -> dict[str, Any]:
    return {"type": kind, "kernelSize": [size] * 2, "stride": [stride] * 2, **pad(padding)}


def chain(*layers: tuple[str, dict[str, Any]], source: str = "x") -> list[Any]:
    """Layers one behind the other, the last of which makes ``y``."""
    names = [source, *(f"b{index}" for index in range(len(layers) - 1)), "y"]
    return [(kind, params, [names[i]], [names[i + 1]]) for i, (kind, params) in enumerate(layers)]


def act(name: str) -> tuple[str, dict[str, Any]]:
    return "activation", {name: {}}


def classifier(f: Any) -> tuple[Any, dict[str, Any]]:
    layers = chain(
        ("convolution", conv(f, "conv1", **pad(1))),
        act("ReLU"),
        ("convolution", conv(f, "conv2", stride=[2, 2], nGroups=2, **pad(1))),
        act("tanh"),
        ("convolution", conv(f, "conv3", **pad(0))),
        act("ReLU"),
        ("flatten", {}),
        ("innerProduct", dense(f, "dense1")),
        act("sigmoid"),
        ("innerProduct", dense(f, "dense2")),
        ("softmax", {}),
    )
    return network(layers, {"x": [2, 11, 11]}, ["y"], exact=False), {"x": f["inputs/0"]}


def regression(f: Any) -> tuple[Any, dict[str, Any]]:
    layers: list[Any] = []
    for number in (1, 2):
        table = f[f"weights/embed{number}.weight"]
        params = {"inputDim": table.shape[0], "outputChannels": table.shape[1], "weights": values(table.T)}
        layers.append(("embedding", params, [f"c{number}"], [f"e{number}"]))
    layers.append(("concat", {}, ["numbers", "e1", "e2"], ["x"]))
    parts = (("innerProduct", dense(f, "dense1")), act("ReLU"), ("innerProduct", dense(f, "dense2")), act("tanh"))
    layers += chain(*parts, ("innerProduct", dense(f, "dense3")))
    model = network(layers, {"numbers": [5], "c1": [1], "c2": [1]}, ["y"], exact=False)
    return model, {name: f[f"inputs/{index}"] for index, name in enumerate(("numbers", "c1", "c2"))}


def pictures(f: Any) -> tuple[Any, dict[str, Any]]:
    layers = chain(
        ("convolution", conv(f, "conv1", **pad(0))),
        ("batchnorm", norm(f, "norm1")),
        act("ReLU"),
        ("pooling", pool(0, 3, 2, 1)),
        ("convolution", conv(f, "conv2", **pad(1))),
        ("batchnorm", norm(f, "norm2")),
        act("ReLU"),
        ("pooling", pool(0, 2, 2)),
        ("convolution", conv(f, "conv3", **pad(0))),
        ("pooling", pool(1, 2, 1, 1)),
        ("pooling", {"type": 1, "globalPooling": True, **pad(0)}),
        ("flatten", {}),
        ("innerProduct", dense(f, "dense")),
        ("softmax", {}),
        source="image",
    )
    model = picture_network(layers, size=(16, 14))
    model.neuralNetwork.preprocessing.add(featureName="image").scaler.channelScale = 1 / 255
    return model, {"image": f["inputs/0"].transpose(0, 2, 3, 1).astype(np.uint8)}


NETWORKS = {"classifier": classifier, "regression": regression, "pictures": pictures}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", NETWORKS)
def test_losses_follow_torch(name: str, optimizer: str) -> None:
    fixture = np.load(FIXTURES / f"{name}.npz")
    model, data = NETWORKS[name](fixture)
    data["t"] = fixture["target"]
    found: list[float] = []
    loss = "mse" if name == "regression" else "entropy"
    options = {**OPTIMIZERS[optimizer], "miniBatchSize": 8}
    source = updatable(model, loss=loss, shape=[2 if loss == "mse" else 1], optimizer=options, epochs=5)
    result = train(source.SerializeToString(), data, on_batch=lambda progress: found.append(progress.batch_loss))
    wanted = fixture[f"losses/{optimizer}"]
    assert wanted.min() < 0.97 * wanted[0], "the fixture must show that something is learned"
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)
    assert [record["samples"] for record in result.history] == [16] * 5
