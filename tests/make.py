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


SGD = {"learningRate": 0.1, "miniBatchSize": 4}
ADAM = {"learningRate": 0.01, "miniBatchSize": 4, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}


def updatable(
    model: Any,
    *,
    layers: Sequence[int] | None = None,
    loss: str = "mse",
    blob: str = "y",
    target: str = "t",
    shape: Sequence[int] = (1,),
    epochs: int = 3,
    optimizer: Mapping[str, Any] = SGD,
    shuffle: bool = False,
    seed: int | None = None,
) -> Any:
    """Makes ``model`` updatable in place: ``layers`` by number (None: all with weights); "mse" or "entropy"."""
    model.isUpdatable = True
    model.specificationVersion = 4
    net = getattr(model, model.WhichOneof("Type"))
    for number, layer in enumerate(net.layers):
        kind = layer.WhichOneof("layer")
        wanted = kind in ("convolution", "innerProduct", "uniDirectionalLSTM") if layers is None else number in layers
        if wanted:
            layer.isUpdatable = True
        if wanted and kind != "uniDirectionalLSTM":
            params = getattr(layer, kind)
            params.weights.isUpdatable = True
            if params.hasBias:
                params.bias.isUpdatable = True
    update = net.updateParams
    judge = update.lossLayers.add(name="loss")
    kind = judge.categoricalCrossEntropyLossLayer if loss == "entropy" else judge.meanSquaredErrorLossLayer
    kind.input, kind.target = blob, target
    message = update.optimizer.adamOptimizer if "beta1" in optimizer else update.optimizer.sgdOptimizer
    for name, value in optimizer.items():
        getattr(message, name).defaultValue = value
    update.epochs.defaultValue = epochs
    update.shuffle.defaultValue = shuffle
    if seed is not None:
        update.seed.defaultValue = seed
    for entry in model.description.input:
        model.description.trainingInput.add().CopyFrom(entry)
    predicted = [entry for entry in model.description.output if entry.name == target]
    entry = model.description.trainingInput.add(name=target)
    if predicted:
        entry.type.CopyFrom(predicted[0].type)
        return model
    entry.type.multiArrayType.dataType = 131104 if loss == "entropy" else 65568
    entry.type.multiArrayType.shape.extend(shape)
    return model


def dense(weights: Any, bias: Any = None) -> dict[str, Any]:
    """Parameters of an innerProduct with weights (O,I) and a bias (O)."""
    params: dict[str, Any] = {"outputChannels": len(weights), "inputChannels": len(weights[0])}
    params["weights"] = {"floatValue": [float(value) for row in weights for value in row]}
    if bias is not None:
        params |= {"hasBias": True, "bias": {"floatValue": [float(value) for value in bias]}}
    return params
