"""Makes the files in ``examples/``: a digit classifier, the same with 4-bit weights, and pictures to try it on.

For training: the same classifier with random weights, updatable, and the digits it is to be trained and tried on.

python tools/make_examples.py           needs scikit-learn, which carries the digits

The network is trained here in NumPy, so that nothing else is needed: two convolutions with max pooling and a dense
layer on 16x16 pictures, softmax cross entropy, Adam. Every fifth digit is held out; the pictures come from those.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pippin.coreml import schema
from pippin.coreml.weights import pack_bits
from pippin.coreml.write import save

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SIZE = 16
CHANNELS = (8, 16)
Array = NDArray[np.float32]


def digits() -> tuple[Array, NDArray[np.int64]]:
    """Pictures (N,1,16,16) with pixels 0..255, white on black, and their digits (N,)."""
    from sklearn.datasets import load_digits

    data = load_digits()
    small = (data.images / 16 * 255).astype(np.uint8)
    large = [np.asarray(Image.fromarray(image).resize((SIZE, SIZE), Image.Resampling.BILINEAR)) for image in small]
    return np.stack(large)[:, None].astype(np.float32), data.target.astype(np.int64)


def windows(x: Array) -> Array:
    """x (N,C,H,W) → every 3x3 neighbourhood, zeros around: (N,H,W,C*9)."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return view.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


def pool(x: Array) -> tuple[Array, NDArray[np.bool_]]:
    """2x2 max pooling of x (N,C,H,W), and which of the four elements won."""
    n, c, h, w = x.shape
    cells = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
    best = cells.argmax(-1)
    return cells.max(-1), best[..., None] == np.arange(4)


def unpool(dy: Array, won: NDArray[np.bool_]) -> Array:
    """The gradient of ``pool``."""
    n, c, h, w = dy.shape
    cells = (dy[..., None] * won).reshape(n, c, h, w, 2, 2)
    return cells.transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h * 2, w * 2)


class Net:
    """conv 3x3 → ReLU → pool → conv 3x3 → ReLU → pool → dense."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        a, b = CHANNELS
        features = b * (SIZE // 4) ** 2

        def weights(out: int, fan: int) -> Array:
            return (random.standard_normal((out, fan)) * np.sqrt(2 / fan)).astype(np.float32)

        self.p = [weights(a, 9), np.zeros(a, np.float32), weights(b, a * 9), np.zeros(b, np.float32)]
        self.p += [weights(10, features), np.zeros(10, np.float32)]

    def forward(self, x: Array) -> tuple[Array, list[Any]]:
        kept: list[Any] = []
        for layer in (0, 2):
            columns = windows(x)
            y = np.maximum(columns @ self.p[layer].T + self.p[layer + 1], 0).transpose(0, 3, 1, 2)
            x, won = pool(y)
            kept += [(columns, y, won)]
        flat = x.reshape(len(x), -1)
        kept += [(flat, x.shape)]
        return flat @ self.p[4].T + self.p[5], kept

    def gradients(self, x: Array, target: NDArray[np.int64]) -> list[Array]:
        logits, kept = self.forward(x)
        d = np.exp(logits - logits.max(1, keepdims=True))
        d /= d.sum(1, keepdims=True)
        d[np.arange(len(target)), target] -= 1
        d /= len(target)
        flat, shape = kept[2]
        result = [d.T @ flat, d.sum(0)]
        dx = (d @ self.p[4]).reshape(shape)
        for layer in (2, 0):
            columns, y, won = kept[layer // 2]
            dy = (unpool(dx, won) * (y > 0)).transpose(0, 2, 3, 1)
            flat_dy = dy.reshape(-1, dy.shape[-1])
            result = [flat_dy.T @ columns.reshape(len(flat_dy), -1), flat_dy.sum(0), *result]
            if layer:
                n, h, w, _ = dy.shape
                spread = (flat_dy @ self.p[2]).reshape(n, h, w, CHANNELS[0], 3, 3)
                padded = np.zeros((n, CHANNELS[0], h + 2, w + 2), np.float32)
                for i in range(3):
                    for j in range(3):
                        padded[:, :, i : i + h, j : j + w] += spread[..., i, j].transpose(0, 3, 1, 2)
                dx = padded[:, :, 1:-1, 1:-1]
        return result


def train(x: Array, target: NDArray[np.int64], epochs: int = 25, batch: int = 32) -> Net:
    """Trains a net with Adam; the same numbers on each run."""
    net, random = Net(3), np.random.default_rng(3)
    first = [np.zeros_like(p) for p in net.p]
    second = [np.zeros_like(p) for p in net.p]
    step = 0
    for _ in range(epochs):
        order = random.permutation(len(x))
        for start in range(0, len(x) - batch + 1, batch):
            chosen = order[start : start + batch]
            step += 1
            for p, m, v, g in zip(net.p, first, second, net.gradients(x[chosen], target[chosen]), strict=True):
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                p -= 2e-3 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return net


def model(net: Net, accuracy: float) -> Any:
    """The classifier as a Core ML model."""
    result = schema.Model()
    result.specificationVersion = 1
    about = result.description.metadata
    about.shortDescription = "Recognises a handwritten digit, white on black, in a 16x16 grayscale picture."
    about.author, about.license, about.versionString = "The Pippin authors", "Apache-2.0", "1"
    about.userDefined["accuracy on held-out digits"] = f"{accuracy:.4f}"
    image = result.description.input.add(name="image", shortDescription="a digit, white on black")
    image.type.imageType.width = image.type.imageType.height = SIZE
    image.type.imageType.colorSpace = 10
    label = result.description.output.add(name="digit", shortDescription="the most likely digit")
    label.type.int64Type.SetInParent()
    probabilities = result.description.output.add(name="probabilities", shortDescription="how likely each digit is")
    probabilities.type.dictionaryType.int64KeyType.SetInParent()
    result.description.predictedFeatureName = "digit"
    result.description.predictedProbabilitiesName = "probabilities"
    network = result.neuralNetworkClassifier
    network.int64ClassLabels.vector.extend(range(10))
    scaler = network.preprocessing.add(featureName="image").scaler
    scaler.channelScale = 1 / 255
    blob = "image"
    for index, (channels, out) in enumerate(zip((1, *CHANNELS), CHANNELS, strict=False)):
        blob = _convolution(network, f"conv{index + 1}", blob, channels, out, net.p[2 * index], net.p[2 * index + 1])
    layer = _layer(network, "flatten", blob, "features")
    layer.flatten.SetInParent()
    dense = _layer(network, "dense", "features", "logits").innerProduct
    dense.inputChannels, dense.outputChannels, dense.hasBias = net.p[4].shape[1], 10, True
    dense.weights.floatValue.extend(net.p[4].ravel().tolist())
    dense.bias.floatValue.extend(net.p[5].tolist())
    _layer(network, "softmax", "logits", "probabilities").softmax.SetInParent()
    return result


def _layer(network: Any, name: str, source: str, target: str) -> Any:
    layer = network.layers.add(name=name)
    layer.input.append(source)
    layer.output.append(target)
    return layer


def _convolution(network: Any, name: str, source: str, channels: int, out: int, weights: Array, bias: Array) -> str:
    conv = _layer(network, name, source, name).convolution
    conv.outputChannels, conv.kernelChannels, conv.hasBias = out, channels, True
    conv.kernelSize.extend([3, 3])
    conv.same.SetInParent()
    conv.weights.floatValue.extend(weights.ravel().tolist())
    conv.bias.floatValue.extend(bias.tolist())
    _layer(network, f"{name}_relu", name, f"{name}_relu").activation.ReLU.SetInParent()
    pooling = _layer(network, f"{name}_pool", f"{name}_relu", f"{name}_pool").pooling
    pooling.kernelSize.extend([2, 2])
    pooling.stride.extend([2, 2])
    pooling.valid.SetInParent()
    return f"{name}_pool"


def updatable(original: Any) -> Any:
    """A copy that is updatable: all layers with weights, cross entropy, Adam."""
    result = schema.Model.FromString(original.SerializeToString())
    result.specificationVersion = 4
    result.isUpdatable = True
    about = result.description.metadata
    about.shortDescription = "Learns to recognise a handwritten digit, white on black, in a 16x16 grayscale picture."
    del about.userDefined["accuracy on held-out digits"]
    training = result.description.trainingInput
    training.add(name="image", shortDescription="a digit, white on black").type.CopyFrom(
        result.description.input[0].type
    )
    training.add(name="digit", shortDescription="which digit it is").type.int64Type.SetInParent()
    network = result.neuralNetworkClassifier
    for layer in network.layers:
        kind = layer.WhichOneof("layer")
        if kind in ("convolution", "innerProduct"):
            params = getattr(layer, kind)
            layer.isUpdatable = params.weights.isUpdatable = params.bias.isUpdatable = True
    update = network.updateParams
    loss = update.lossLayers.add(name="loss").categoricalCrossEntropyLossLayer
    loss.input, loss.target = "probabilities", "digit"
    adam = update.optimizer.adamOptimizer
    for name, value, most in (
        ("learningRate", 1e-3, 1.0),
        ("beta1", 0.9, 1.0),
        ("beta2", 0.999, 1.0),
        ("eps", 1e-8, 1.0),
    ):
        parameter = getattr(adam, name)
        parameter.defaultValue, parameter.range.minValue, parameter.range.maxValue = value, 0.0, most
    adam.miniBatchSize.defaultValue = 32
    adam.miniBatchSize.set.values.extend([8, 16, 32, 64, 128])
    update.epochs.defaultValue = 30
    update.epochs.range.minValue, update.epochs.range.maxValue = 1, 100
    update.shuffle.defaultValue = True
    update.seed.defaultValue = 7
    return result


def quantise(original: Any, bits: int) -> Any:
    """A copy whose weights are indices into tables of ``2**bits`` values, found by k-means."""
    from sklearn.cluster import KMeans

    result = schema.Model.FromString(original.SerializeToString())
    result.specificationVersion = 3
    for layer in result.neuralNetworkClassifier.layers:
        kind = layer.WhichOneof("layer")
        if kind not in ("convolution", "innerProduct"):
            continue
        weights = getattr(layer, kind).weights
        values = np.array(weights.floatValue, np.float32)
        found = KMeans(1 << bits, n_init=4, random_state=0).fit(values[:, None])
        weights.ClearField("floatValue")
        weights.rawValue = pack_bits(found.labels_.astype(np.uint8), bits).tobytes()
        weights.quantization.numberOfBits = bits
        weights.quantization.lookupTableQuantization.floatValue.extend(found.cluster_centers_.ravel().tolist())
    return result


def main() -> None:
    pictures, target = digits()
    held = np.arange(len(pictures)) % 5 == 0
    x = pictures / np.float32(255)
    net = train(x[~held], target[~held])
    accuracy = float((net.forward(x[held])[0].argmax(1) == target[held]).mean())
    print(f"accuracy on {held.sum()} held-out digits: {accuracy:.4f}", file=sys.stderr)
    EXAMPLES.mkdir(exist_ok=True)
    full = model(net, accuracy)
    save(full, EXAMPLES / "digits.mlmodel")
    save(quantise(full, 4), EXAMPLES / "digits-4bit.mlmodel")
    save(updatable(model(Net(1), 0.0)), EXAMPLES / "digits-untrained.mlmodel")
    parts = {"train": ~held, "held-out": held}
    columns: dict[str, NDArray[Any]] = {"image": pictures[:, 0].astype(np.uint8), "digit": target.astype(np.int32)}
    arrays = {f"{part}/{name}": column[rows] for part, rows in parts.items() for name, column in columns.items()}
    np.savez_compressed(EXAMPLES / "digits.npz", **arrays)
    right = net.forward(x)[0].argmax(1) == target
    for digit in range(10):
        # the first held-out picture that is recognised: the pictures show how to use the network, not how good it is
        index = int(np.flatnonzero(held & right & (target == digit))[0])
        Image.fromarray(pictures[index, 0].astype(np.uint8)).save(EXAMPLES / f"digit-{digit}.png")


if __name__ == "__main__":
    main()
