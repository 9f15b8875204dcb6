"""Random networks: the engine, with every rewrite, against the float64 reference.

What a rewrite or the engine's optimiser makes of several layers shows in no row of one layer. Each seed draws a chain
with branches, of the old kind or with N axes; what the reference refuses is drawn again. It is answered with known and
with open sizes, in a list, and exported; its gradient is held against differences.
``PIPPIN_NETWORKS=FIRST:LAST`` tries other seeds.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin
from make import network
from pippin.analysis import reference
from pippin.coreml.lower import lower
from pippin.errors import PippinError
from pippin.graph.gradient import prune, vjp
from pippin.graph.write import write
from pippin.reference.coreml.interpreter import Interpreter
from pippin.runtime.session import Session

FIRST, LAST = map(int, os.environ.get("PIPPIN_NETWORKS", "0:120").split(":"))
LARGEST, MOST = 20_000, 1e4
"""Elements of a blob, and how large they may be."""

Layer = tuple[str, dict[str, Any]]


class Draw(random.Random):
    """Numbers of all kinds from one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.arrays = np.random.default_rng(seed)

    def normal(self, *shape: int) -> np.ndarray:
        return self.arrays.standard_normal(shape).astype(np.float32)

    def sizes(self, *choices: int) -> list[int]:
        return [self.choice(choices), self.choice(choices)]

    def border(self) -> dict[str, Any]:
        edges = [{"startEdgeSize": self.randint(0, 2), "endEdgeSize": self.randint(0, 2)} for _ in "hw"]
        return {"paddingAmounts": {"borderAmounts": edges}}


def convolution(r: Draw, shape: Sequence[int]) -> Layer:
    c, kernel = shape[-3], r.sizes(1, 2, 3)
    groups = r.choice([1, 1, 1, c])
    out = groups * r.choice([1, 2, 3] if groups > 1 else [1, 2, 5, 8])
    turned = r.random() < 0.3
    sizes = (c, out // groups, *kernel) if turned else (out, c // groups, *kernel)
    params: dict[str, Any] = {
        "outputChannels": out,
        "kernelChannels": c if turned else c // groups,
        "nGroups": groups,
        "kernelSize": kernel,
        "stride": kernel if turned and r.random() < 0.5 else r.sizes(1, 1, 2, 3),
        "dilationFactor": r.sizes(1, 1, 2),
        "isDeconvolution": turned,
        "weights": r.normal(*sizes) / np.sqrt(c * kernel[0] * kernel[1]),
    }
    if r.random() < 0.6:
        params |= {"hasBias": True, "bias": r.normal(out)}
    if r.random() < 0.5:
        return "convolution", params | {"same": {"asymmetryMode": r.choice([0, 1])}}
    return "convolution", params | {"valid": r.border() if r.random() < 0.5 else {}}


def pooling(r: Draw, shape: Sequence[int]) -> Layer:
    params: dict[str, Any] = {"type": r.choice([0, 1, 2]), "avgPoolExcludePadding": r.random() < 0.5}
    if r.random() < 0.15:
        return "pooling", params | {"globalPooling": True, "valid": {}}
    params |= {"kernelSize": r.sizes(1, 2, 3), "stride": r.sizes(1, 2)}
    kinds = [
        {"valid": r.border()},
        {"valid": {}},
        {"same": {}},
        {"includeLastPixel": {"paddingAmounts": r.sizes(0, 1)}},
    ]
    return "pooling", params | r.choice(kinds)


def activation(r: Draw, shape: Sequence[int]) -> Layer:
    c = shape[-3] if len(shape) > 2 else shape[-1]
    kinds: list[dict[str, Any]] = [
        *({name: {}} for name in ("ReLU", "ReLU", "tanh", "sigmoid", "softsign", "softplus")),
        {"leakyReLU": {"alpha": r.uniform(-0.5, 1)}},
        {"ELU": {"alpha": r.uniform(0.1, 2)}},
        {"linear": {"alpha": r.choice([1, 2, -0.5]), "beta": r.choice([0, 1])}},
        {"thresholdedReLU": {"alpha": r.uniform(-1, 1)}},
        {"sigmoidHard": {"alpha": 0.3, "beta": 0.4}},
        {"PReLU": {"alpha": r.normal(r.choice([1, c]))}},
        {"parametricSoftplus": {"alpha": r.normal(c), "beta": r.normal(c)}},
    ]
    return "activation", r.choice(kinds)


def batchnorm(r: Draw, shape: Sequence[int]) -> Layer:
    c = shape[-3]
    params: dict[str, Any] = {"channels": c, "gamma": r.normal(c), "beta": r.normal(c)}
    if r.random() < 0.3:
        return "batchnorm", params | {"computeMeanVar": True, "instanceNormalization": True, "epsilon": 0.01}
    return "batchnorm", params | {"mean": r.normal(c), "variance": np.abs(r.normal(c)), "epsilon": 1e-3}


def factors(r: Draw, shape: Sequence[int]) -> list[int]:
    c, h, w = shape[-3:]
    return r.choice([[1], [c], [c, 1, 1], [1, h, w], [c, h, w]])


def scale(r: Draw, shape: Sequence[int]) -> Layer:
    one, other = factors(r, shape), factors(r, shape)
    return "scale", {
        "shapeScale": one, "scale": r.normal(*one), "hasBias": True, "shapeBias": other, "bias": r.normal(*other),
    }  # fmt: skip


def bias(r: Draw, shape: Sequence[int]) -> Layer:
    sizes = factors(r, shape)
    return "bias", {"shape": sizes, "bias": r.normal(*sizes)}


def dense(r: Draw, shape: Sequence[int]) -> Layer:
    count, out = shape[-3], r.choice([3, 6, 12])
    return "innerProduct", {
        "inputChannels": count, "outputChannels": out, "weights": r.normal(out, count) / np.sqrt(count),
        "hasBias": True, "bias": r.normal(out),
    }  # fmt: skip


def matmul(r: Draw, shape: Sequence[int]) -> Layer:
    count, out = shape[-1], r.choice([2, 3, 5])
    return "batchedMatmul", {
        "weightMatrixFirstDimension": count, "weightMatrixSecondDimension": out,
        "weights": r.normal(count, out) / np.sqrt(count), "hasBias": True, "bias": r.normal(out),
    }  # fmt: skip


def layer_norm(r: Draw, shape: Sequence[int]) -> Layer:
    sizes = shape[-r.randint(1, len(shape)) :]
    params = {"normalizedShape": sizes, "eps": 1e-3, "gamma": r.normal(*sizes), "beta": r.normal(*sizes)}
    return "layerNormalization", params


def split_sizes(r: Draw, shape: Sequence[int]) -> list[int]:
    """Other sizes with as many elements."""
    rest, sizes = int(np.prod(shape)), []
    for _ in range(2):
        sizes.append(r.choice([size for size in range(1, rest + 1) if rest % size == 0]))
        rest //= sizes[-1]
    return [*sizes, rest]


def shuffled(r: Draw, axes: Sequence[int]) -> list[int]:
    return r.sample(list(axes), len(axes))


def padding(r: Draw, shape: Sequence[int]) -> Layer:
    kind = r.choice([{"constant": {"value": r.choice([0, 1.5])}}, {"reflection": {}}, {"replication": {}}])
    return "padding", kind | r.border()


def upsample(r: Draw, shape: Sequence[int]) -> Layer:
    params = {"scalingFactor": r.sizes(1, 2, 3), "mode": r.choice([0, 1])}
    return "upsample", params | ({"linearUpsampleMode": r.choice([0, 1, 2])} if params["mode"] else {})


def resize(r: Draw, shape: Sequence[int]) -> Layer:
    return "resizeBilinear", {"targetSize": r.sizes(1, 3, 5, 8), "mode": {"samplingMethod": r.randint(0, 3)}}


def several(*choices: Callable[[Draw, Sequence[int]], Layer]) -> Callable[[Draw, Sequence[int]], Layer]:
    return lambda r, shape: r.choice(choices)(r, shape)


BOTH = [
    *[convolution] * 5, *[activation] * 5, *[pooling] * 3, *[batchnorm] * 2, *[scale] * 2, bias, *[padding] * 2,
    upsample, resize, dense,
    lambda r, s: ("unary", {"type": r.choice([0, 2, 6, 7]), "scale": r.choice([1, -1]), "epsilon": 1e-3}),
    lambda r, s: ("mvn", {"acrossChannels": r.random() < 0.5, "normalizeVariance": r.random() < 0.7, "epsilon": 0.01}),
    lambda r, s: ("clip", {"minVal": -r.random(), "maxVal": r.random()}),
    lambda r, s: ("softmax", {}),
]  # fmt: skip
OLD = [
    *BOTH,
    *[lambda r, s: ("permute", {"axis": [0, *shuffled(r, (1, 2, 3))]})] * 4,
    lambda r, s: ("crop", {"cropAmounts": r.border()["paddingAmounts"]}),
    lambda r, s: ("lrn", {"alpha": r.random(), "beta": 0.75, "localSize": r.choice([1, 3, 5]), "k": 1}),
    lambda r, s: ("l2normalize", {"epsilon": 1e-3}),
    lambda r, s: ("flatten", {"mode": r.choice([0, 1])}),
    lambda r, s: ("reshape", {"targetShape": split_sizes(r, s), "mode": r.choice([0, 1])}),
    lambda r, s: ("reduce", {"mode": r.choice([0, 1, 4, 5, 6]), "axis": r.randint(0, 4), "epsilon": 1e-3}),
    lambda r, s: ("reorganizeData", {"mode": r.choice([0, 1]), "blockSize": 2}),
    lambda r, s: ("slice", {"endIndex": r.choice([-1, 2]), "stride": r.choice([1, 2]), "axis": r.randint(0, 2)}),
]
NEW = [
    *BOTH, matmul, matmul, layer_norm,
    *[lambda r, s: ("transpose", {"axes": shuffled(r, range(len(s)))})] * 5,
    lambda r, s: ("reshapeStatic", {"targetShape": split_sizes(r, s)}),
    lambda r, s: ("expandDims", {"axes": [r.randint(-len(s) - 1, len(s))]}),
    lambda r, s: ("squeeze", {"squeezeAll": True}),
    lambda r, s: (r.choice(["reduceMean", "reduceMax", "reduceL2"]), {"axes": [r.randrange(len(s))], "keepDims": True}),
    lambda r, s: ("softmaxND", {"axis": r.randrange(-len(s), len(s))}),
    lambda r, s: ("gelu", {"mode": r.choice([0, 1, 2])}),
    lambda r, s: ("tile", {"reps": [r.choice([1, 2]) for _ in s]}),
    lambda r, s: ("reverse", {"reverseDim": [r.random() < 0.5 for _ in s]}),
    lambda r, s: ("constantPad", {"padAmounts": [r.randint(0, 1) for _ in (*s, *s)], "value": 0.5}),
    lambda r, s: ("flattenTo2D", {"axis": r.randint(0, len(s))}),
]  # fmt: skip
LINEAR = ("convolution", "innerProduct", "batchedMatmul", "padding", "upsample")
BEHIND = [batchnorm, batchnorm, scale, scale, bias, activation, pooling, convolution]
"""What rewrites join with the layer before it."""
JOINS = ("add", "multiply", "max", "average", "concat", "addBroadcastable", "subtractBroadcastable")


class Net:
    """A network that was drawn: its layers, inputs with their shapes, outputs, and a value for each input."""

    def __init__(self, seed: int) -> None:
        self.r = r = Draw(seed)
        self.exact = r.random() < 0.45
        shape = [r.choice([1, 2, 3, 4, 8]), r.randint(3, 9), r.randint(3, 9)]
        if self.exact:
            shape = r.choice([[1, *shape], [2, *shape], shape, shape[:2], [4], [2, 2, *shape]])
        self.inputs = {"x": shape} | ({"z": shape} if r.random() < 0.3 else {})
        self.layers: list[Any] = []
        self.data = self.values(shape)
        shapes = {name: shape if self.exact else [1, 1, *shape] for name in self.inputs}
        last, wanted = "x", r.randint(4, 10)
        for _ in range(60):
            if len(self.layers) < wanted:
                last = self.grow(last, shapes)
        self.outputs = [self.layers[-1][3][0], *r.sample([layer[3][0] for layer in self.layers[:-1]], r.randint(0, 1))]

    def values(self, shape: Sequence[int]) -> dict[str, Any]:
        return {name: self.r.normal(*shape) for name in self.inputs}

    def grow(self, last: str, shapes: dict[str, list[int]]) -> str:
        """Adds a layer if the reference takes it; the blob to go on from."""
        r, shape, sources = self.r, shapes[last], [last]
        same = [name for name, other in shapes.items() if name != last and other == shape]
        try:
            if same and r.random() < 0.2:
                kind, params = r.choice(JOINS), {}
                sources.append(r.choice(same))
            else:
                usual = (
                    self.layers and self.layers[-1][3] == [last] and self.layers[-1][0] in LINEAR and r.random() < 0.6
                )
                kind, params = r.choice(BEHIND if usual else NEW if self.exact else OLD)(r, shape)
        except (IndexError, ValueError):  # fewer axes than the layer needs
            return last
        name = f"b{len(self.layers)}"
        layers = [*self.layers, (kind, params, sources, [name])]
        try:
            model = pippin.load(network(layers, self.inputs, [name], exact=self.exact).SerializeToString())
            blob = reference.blobs(model, self.data, keep=[name])[name]
        except PippinError:
            return last
        if not 0 < blob.size <= LARGEST or not np.isfinite(blob).all() or np.abs(blob).max() > MOST:
            return last
        self.layers, shapes[name] = layers, list(blob.shape)
        return name if not self.exact or r.random() < 0.9 else r.choice(list(shapes))

    def model(self, *, open_sizes: bool = False) -> Any:
        made = network(self.layers, self.inputs, self.outputs, exact=self.exact)
        for feature in made.description.input if open_sizes else ():
            for _ in feature.type.multiArrayType.shape:
                feature.type.multiArrayType.shapeRange.sizeRanges.add(lowerBound=1, upperBound=-1)
        return pippin.load(made.SerializeToString(), threads=1)


def same(found: dict[str, Any], wanted: dict[str, Any], label: str) -> None:
    for name, right in wanted.items():
        assert found[name].shape == right.shape, f"{label}: {name}"
        size = max(float(np.abs(right).max(initial=0)), 1.0)
        np.testing.assert_allclose(found[name] / size, right / size, rtol=0, atol=2e-3, err_msg=f"{label}: {name}")


@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_network(seed: int, tmp_path: Path) -> None:
    net = Net(seed)
    model = net.model()
    wanted, other = reference.answer(model, net.data), net.values(net.inputs["x"])
    same(model.predict(net.data), wanted, "predict")
    answers = model.predict([net.data, other, net.data])
    for answer, right in zip(answers, (wanted, reference.answer(model, other), wanted), strict=True):
        same(answer, right, "a list")
    for dims in ("declared",) if net.exact else ("declared", "symbolic"):
        assert pippin.to_onnx(model, tmp_path / "out.onnx", dims=dims, tolerance=2e-3).ok
    flexible = net.model(open_sizes=True)
    for _ in range(6):
        data = net.values([max(1, size + net.r.choice([0, 0, 1, -1, 2])) for size in net.inputs["x"]])
        try:
            right = reference.answer(flexible, data)
        except PippinError:  # a constant fits the declared size alone
            continue
        if all(np.isfinite(value).all() and value.size for value in right.values()):
            same(flexible.predict(data), right, "other sizes")


@pytest.mark.parametrize("seed", range(FIRST, (FIRST + LAST) // 2))
def test_gradient(seed: int) -> None:
    """Along one random direction, by the graph and by differences of the reference in float64."""
    net = Net(seed)
    model, random, name = net.model(), np.random.default_rng(seed), net.outputs[0]
    shapes = {key: value.shape if net.exact else (1, *value.shape) for key, value in net.data.items()}
    g, lowerer = lower(
        model.document.network, model.weights, shapes, rank5=not net.exact, trained=lambda *_: None, outputs=[name]
    )
    y, inputs = g.float(lowerer.blobs[name].nd(g)), list(g.graph.inputs)
    weights = random.standard_normal(y.shape).astype(np.float32)
    found = {
        x.name: d for x, d in zip(inputs, vjp(g, [y], [g.constant(weights)], inputs), strict=True) if d is not None
    }
    for d in found.values():
        g.output(d)
    prune(g.graph)
    session = Session(write(g.graph), threads=1)
    given = {x.name: net.data[key].reshape(x.shape) for x, key in zip(inputs, shapes, strict=True)}
    gradients = session.run({key: given[key] for key in session.inputs})
    if not all(np.isfinite(d).all() for d in gradients):
        pytest.skip("the draw stands at a pole")
    ways = {key: random.standard_normal(value.shape) for key, value in net.data.items()}
    analytic = sum(float(d.reshape(-1) @ ways[key].reshape(-1)) for key, d in zip(found, gradients, strict=True))

    def loss(step: float) -> float:
        moved = {key: x + step * ways[key] if key in found else x.astype(float) for key, x in net.data.items()}
        data = moved if net.exact else {key: x[None, None] for key, x in moved.items()}
        return float(Interpreter(model.document).run(data, keep=[name])[name].reshape(-1) @ weights.reshape(-1))

    scale = 1e-3 + sum(float(np.abs(d).max() * np.sqrt(d.size)) for d in gradients)
    slopes = [(loss(step) - loss(0)) / step for size in (1e-4, 1e-6, 1e-7) for step in (size, -size)]
    sides = zip(slopes[::2], slopes[1::2], strict=True)  # between those of both sides if there is a kink
    assert any(min(side) - 2e-3 * scale <= analytic <= max(side) + 2e-3 * scale for side in sides), slopes
