"""Makes an ordinary network updatable: chooses layers, loss and optimizer, and rewrites what devices cannot train."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..coreml import write
from ..coreml.check import check_document
from ..coreml.edit.cut import weight_messages
from ..coreml.edit.step import layers_of
from ..coreml.features import ImageInput
from ..coreml.model import Model
from ..coreml.read import Document, Source, read
from ..errors import CheckError, InputError, PippinError, RunError, UnsupportedError
from .rewrite import Messages, Rewriter, Way

log = logging.getLogger("pippin")

LOSS_NAMES = {"cross-entropy": True, "mean-squared-error": False}
USUAL = {"momentum": 0.0, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
TOLERANCE = 1e-4
TRIES = 3
"""Random inputs on which both networks must answer the same."""


@dataclass
class Updatable:
    """An updatable network: ``document`` for ``pippin.train``, ``layers`` that train, what was ``changed``."""

    document: Document = field(repr=False)
    layers: list[str]
    changed: list[str]
    difference: float

    def to_bytes(self) -> bytes:
        """The bytes of the .mlmodel file."""
        return write.to_bytes(self.document.model, self.document.views)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the network to ``path``, all or nothing."""
        write.save(self.document.model, path, self.document.views)


def make_updatable(
    source: Source,
    *,
    layers: Sequence[str] | None = None,
    loss: str | None = None,
    optimizer: str = "sgd",
    learning_rate: float = 0.01,
    momentum: float = 0.0,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    batch_size: int = 32,
    epochs: int = 10,
    shuffle: bool = True,
    seed: int = 0,
) -> Updatable:
    """Turns the network of ``source`` into an updatable one that answers the same.

    layers     names of the layers that are to train (default: all that a gradient can reach on a device)
    loss       "cross-entropy" on a softmax, or "mean-squared-error" (default: the former where the network ends so)
    optimizer  "sgd", to which momentum belongs, or "adam", to which beta1, beta2 and eps do; these and the other
               numbers are the defaults that the file is to state

    What converters write for innerProduct, flatten, softmax and biases is rewritten (see ``rewrite``); both networks
    are run on random inputs and must answer the same. The result passes the rules for updatable networks. Raises
    ``UnsupportedError`` naming the layer where it cannot be done.
    """
    document = read(source)
    try:
        choice = _Choice(
            optimizer, learning_rate, momentum, beta1, beta2, eps, batch_size, epochs, shuffle, seed
        )  # fmt: skip
        return _made(document, layers, loss, choice)
    except PippinError as error:
        raise error.inside(document.name) from error.__cause__


@dataclass(frozen=True)
class _Choice:
    optimizer: str
    learning_rate: float
    momentum: float
    beta1: float
    beta2: float
    eps: float
    batch_size: int
    epochs: int
    shuffle: bool
    seed: int

    def __post_init__(self) -> None:
        if self.optimizer not in ("sgd", "adam"):
            raise InputError(f"the optimizer must be sgd or adam, got {self.optimizer!r}")
        for name in ("beta1", "beta2", "eps") if self.optimizer == "sgd" else ("momentum",):
            if getattr(self, name) != USUAL[name]:
                raise InputError(f"the optimizer {self.optimizer} has no {name}")
        numbers = (self.learning_rate, self.momentum, self.beta1, self.beta2, self.eps)
        if not all(isinstance(number, (int, float)) and 0 <= number < np.inf for number in numbers):
            raise InputError(f"learning rate, momentum, betas and eps must be numbers of 0 or more, got {numbers}")
        if self.learning_rate == 0 or max(self.momentum, self.beta1, self.beta2) >= 1:
            raise InputError("the learning rate must be above 0, momentum, beta1 and beta2 below 1")
        for name, low in (("batch_size", 1), ("epochs", 1), ("seed", -(1 << 63))):
            number = getattr(self, name)
            if not isinstance(number, int) or not low <= number < 1 << 63:
                bound = f"of {low} or more" if low == 1 else "of 64 bits"
                raise InputError(f"{name} must be a whole number {bound}, got {number}")


def _made(document: Document, layers: Sequence[str] | None, loss: str | None, choice: _Choice) -> Updatable:
    if loss is not None and loss not in LOSS_NAMES:
        raise InputError(f"the loss must be {' or '.join(LOSS_NAMES)}, got {loss!r}")
    before = Model(document).prepare()
    blob = _judged(before)
    entropy = LOSS_NAMES[loss] if loss is not None else _ends_in_softmax(document.network, blob)
    new, way, judged = _rewritten(document, before, blob, entropy, layers)
    _describe(new, before, judged, entropy, choice)
    after = Model(new).prepare()
    difference = _difference(before, after)
    if not difference <= TOLERANCE:
        raise CheckError(f"the rewritten network answers otherwise: the largest difference is {difference:.1e}")
    errors = [finding for finding in check_document(new, values=False).findings if finding.severity == "error"]
    if errors:
        raise CheckError(f"the network cannot be updatable: {errors[0]}")
    return Updatable(new, way.trained, _changes(document, new), difference)


def _rewritten(
    document: Document, before: Model, blob: str, entropy: bool, layers: Sequence[str] | None
) -> tuple[Document, Way, str]:
    """The rewritten document, the layers that were met, and the blob that the loss is to judge.

    Where nobody asked for certain layers, what cannot be rewritten ends the way: only the layers behind it train.
    """
    wanted = layers
    while True:
        model = type(document.model)()
        model.CopyFrom(document.model)
        new = Document(model, list(document.views), document.name, document.path, document.size)
        _unmarked(new.network)
        _named(new.network)
        rewriter = Rewriter(
            Messages(new.network, new.views), before.blob_shapes(), before.legacy, set(before.blob_outputs())
        )
        way = rewriter.way(blob, entropy, wanted)
        try:
            return new, way, rewriter.rewrite(way, entropy)
        except UnsupportedError:
            if layers is not None or len(way.trained) == 1:
                raise
            wanted = way.trained[1:]


def _judged(model: Model) -> str:
    """The blob that a loss judges: a classifier's probabilities, or the only output."""
    if model.labels is not None:
        return model.probabilities
    names = model.blob_outputs()
    if len(names) != 1:
        raise UnsupportedError(f"a loss judges one output, the network has {len(names)}: {', '.join(names)}")
    return names[0]


def _ends_in_softmax(network: Any, blob: str) -> bool:
    writer = next((layer for layer in network.layers if blob in layer.output), None)
    return writer is not None and writer.WhichOneof("layer") in ("softmax", "softmaxND")


def _unmarked(network: Any) -> None:
    """Takes away the marks of an earlier choice: those of layers that are not chosen now would let them train on."""
    for _, _, layer in layers_of(network):
        layer.ClearField("isUpdatable")
        for _, params in weight_messages(layer):
            params.ClearField("isUpdatable")


def _named(network: Any) -> None:
    """Gives every layer a name of its own, which updatable networks must have."""
    seen: set[str] = set()
    for number, layer in enumerate(network.layers):
        name = layer.name or f"layer_{number}"
        while name in seen:
            name = f"{name}_{number}"
        layer.name = name
        seen.add(name)


def _describe(document: Document, before: Model, judged: str, entropy: bool, choice: _Choice) -> None:
    """Writes loss, optimizer and training inputs."""
    model, network = document.model, document.network
    model.specificationVersion = max(4, model.specificationVersion)
    model.isUpdatable = True
    description = model.description
    target = f"{judged}_true"
    if before.labels is not None and entropy and before.predicted_feature:
        target = before.predicted_feature
    network.ClearField("updateParams")
    update = network.updateParams
    names = {layer.name for layer in network.layers}
    loss = update.lossLayers.add(name=next(n for n in ("loss", "loss_layer", "loss_of_all") if n not in names))
    kind = loss.categoricalCrossEntropyLossLayer if entropy else loss.meanSquaredErrorLossLayer
    kind.input, kind.target = judged, target
    _optimize(update, choice)
    del description.trainingInput[:]
    for entry in description.input:
        description.trainingInput.add().CopyFrom(entry)
    new = description.trainingInput.add(name=target)
    outputs = {entry.name: entry for entry in description.output}
    if target in outputs:
        new.type.CopyFrom(outputs[target].type)
        return
    array = new.type.multiArrayType
    if entropy:
        array.dataType = 131104  # int32
        array.shape.append(1)
        return
    array.dataType = 65568  # float32
    shape = [int(size) for size in before.blob_shapes()[_judged(before)]]
    declared = [int(size) for size in outputs[_judged(before)].type.multiArrayType.shape]
    array.shape.extend(declared or (shape[2:] if before.legacy and len(shape) == 5 else shape))


def _optimize(update: Any, choice: _Choice) -> None:
    def number(parameter: Any, value: float, most: float) -> None:
        parameter.defaultValue = value
        parameter.range.minValue, parameter.range.maxValue = 0.0, max(most, value)

    def whole(parameter: Any, value: int, most: int) -> None:
        parameter.defaultValue = value
        parameter.range.minValue, parameter.range.maxValue = 1, max(most, value)

    if choice.optimizer == "sgd":
        p = update.optimizer.sgdOptimizer
        number(p.momentum, choice.momentum, 1.0)
    else:
        p = update.optimizer.adamOptimizer
        for name in ("beta1", "beta2", "eps"):
            number(getattr(p, name), getattr(choice, name), 1.0)
    number(p.learningRate, choice.learning_rate, 1.0)
    whole(p.miniBatchSize, choice.batch_size, 1024)
    whole(update.epochs, choice.epochs, 1000)
    update.shuffle.defaultValue = bool(choice.shuffle)
    update.seed.defaultValue = choice.seed


def _difference(before: Model, after: Model) -> float:
    """The largest difference of both networks' answers to random inputs, relative to the answers."""
    random = np.random.default_rng(0)
    worst = 0.0
    for number in range(TRIES):
        data: dict[str, Any] = {}
        for name, entry in before.inputs.items():
            if isinstance(before.encoder(name), ImageInput):
                assert entry.size is not None
                gray = entry.color in ("GRAYSCALE", "GRAYSCALE_FLOAT16")
                shape = (entry.size[1], entry.size[0]) if gray else (entry.size[1], entry.size[0], 3)
                data[name] = random.integers(0, 256, shape).astype(np.uint8)
            else:
                # small whole numbers suit embeddings too
                values = random.standard_normal(entry.shape) if number else random.integers(0, 2, entry.shape)
                data[name] = values.astype(np.float32)
        names = before.blob_outputs()
        try:
            olds = before.blobs(data, names).values()
        except RunError:
            if not number:
                raise
            continue  # the network takes no such numbers: indices, for example
        for old, new in zip(olds, after.blobs(data, names).values(), strict=True):
            if old.shape != new.shape or not (np.isfinite(old).all() and np.isfinite(new).all()):
                return float("inf")
            scale = max(float(np.abs(old).max(initial=0)), 1e-3)
            worst = max(worst, float(np.abs(old - new).max(initial=0)) / scale)
    return worst


def _changes(before: Document, after: Document) -> list[str]:
    """What was rewritten, in words."""
    old = {layer.name: layer.WhichOneof("layer") for layer in before.network.layers}
    new = {layer.name: layer.WhichOneof("layer") for layer in after.network.layers}
    changes = [f"{name}: {kind} became {new[name]}" for name, kind in old.items() if name in new and new[name] != kind]
    changes += [f"{name}: {kind} was folded or dropped" for name, kind in old.items() if name not in new]
    return changes + [f"{name}: {kind} was added" for name, kind in new.items() if name not in old]
