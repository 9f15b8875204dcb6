"""Small models for tests, built from messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cases import fill
from pippin.coreml import schema


def network(
    layers: Sequence[tuple[str, Mapping[str, Any], Sequence[str], Sequence[str]]],
    inputs: Mapping[str, Sequence[int]],
    outputs: Sequence[str],
    *,
    exact: bool = True,
    version: int = 5,
    dtype: int = 65568,
) -> Any:
    """A plain network. ``layers`` are (kind, parameters, input names, output names)."""
    model = schema.Model()
    model.specificationVersion = version
    for name, shape in inputs.items():
        array = model.description.input.add(name=name).type.multiArrayType
        array.shape.extend(shape)
        array.dataType = dtype
    for name in outputs:
        model.description.output.add(name=name).type.multiArrayType.dataType = dtype
    model.neuralNetwork.SetInParent()
    if exact:
        model.neuralNetwork.arrayInputShapeMapping = 1
    add(model.neuralNetwork, layers)
    return model


def add(net: Any, layers: Sequence[tuple[str, Mapping[str, Any], Sequence[str], Sequence[str]]]) -> None:
    """Appends layers to a network message; they are named after their kind and position."""
    for index, (kind, params, sources, targets) in enumerate(layers):
        layer = net.layers.add(name=f"{kind}{index}")
        layer.input.extend(sources)
        layer.output.extend(targets)
        message = getattr(layer, kind)
        message.SetInParent()
        fill(message, params)


def picture_network(
    layers: Sequence[tuple[str, Mapping[str, Any], Sequence[str], Sequence[str]]],
    *,
    color: int = 20,
    size: tuple[int, int] = (4, 3),
    output: str = "y",
    version: int = 1,
) -> Any:
    """A network from the picture "image" (width, height) to the multi-array ``output``."""
    model = network(layers, {}, [output], exact=False, version=version)
    image = model.description.input.add(name="image").type.imageType
    image.width, image.height = size
    image.colorSpace = color
    return model


def classifier(labels: Sequence[str] | Sequence[int], *, named: bool = True) -> Any:
    """A classifier whose probabilities are its input, a vector."""
    count = len(labels)
    plain = network([("activation", {"linear": {"alpha": 1}}, ["x"], ["scores"])], {"x": [count]}, [], exact=False)
    model = schema.Model()
    model.specificationVersion = 1
    model.description.CopyFrom(plain.description)
    net = model.neuralNetworkClassifier
    net.layers.extend(plain.neuralNetwork.layers)
    texts = isinstance(labels[0], str)
    (net.stringClassLabels if texts else net.int64ClassLabels).vector.extend(labels)
    kind = "stringType" if texts else "int64Type"
    getattr(model.description.output.add(name="label").type, kind).SetInParent()
    dictionary = model.description.output.add(name="scores").type.dictionaryType
    (dictionary.stringKeyType if texts else dictionary.int64KeyType).SetInParent()
    model.description.predictedFeatureName = "label"
    if named:
        model.description.predictedProbabilitiesName = "scores"
    return model
