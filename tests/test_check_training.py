"""Rows for the rules of updatable models, pipelines and nearest-neighbour classifiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cases import fill
from checkkit import DOUBLE, RELU, Net, Row, array, assert_found, feature, floats, image, layer, packed
from pippin.coreml import schema
from pippin.coreml.check import check

MARKED = {**floats(4), "isUpdatable": True}


def whole(default: int, **allowed: Any) -> dict[str, Any]:
    return {"defaultValue": default, **allowed}


SGD = {"learningRate": {"defaultValue": 0.1}, "miniBatchSize": whole(4)}
ADAM = {**SGD, **{name: {"defaultValue": 0.9} for name in ("beta1", "beta2", "eps")}}


def dense(source: str, target: str, *, train: bool = True, **params: Any) -> dict[str, Any]:
    full = {"inputChannels": 2, "outputChannels": 2, "weights": MARKED if train else floats(4), **params}
    return layer("innerProduct", source, target, isUpdatable=train, **full)


def updatable(
    *layers: dict[str, Any],
    loss: Any = "mse",
    optimizer: Any = None,
    training: Any = None,
    last: str = "y",
    rank5: bool = True,
    update: Any = None,
    kind: str = "neuralNetwork",
    description: Any = None,
    outputs: Any = None,
) -> Callable[[], Any]:
    """A sound updatable network unless an argument breaks it; by default one layer from ``x`` to ``y``."""
    losses = {
        "mse": {"name": "loss", "meanSquaredErrorLossLayer": {"input": last, "target": "t"}},
        "entropy": {"name": "loss", "categoricalCrossEntropyLossLayer": {"input": last, "target": "t"}},
    }
    loss = losses[loss] if isinstance(loss, str) else loss
    params = {
        "lossLayers": [loss] if isinstance(loss, dict) else loss,
        "optimizer": {"sgdOptimizer": SGD} if optimizer is None else optimizer,
        "epochs": whole(5),
        **(update or {}),
    }
    params = {name: value for name, value in params.items() if value is not None}
    training = [array("x", (2,)), array("t", (2,))] if training is None else training
    network: dict[str, Any] = {"updateParams": params}
    if kind == "neuralNetworkClassifier":
        network["stringClassLabels"] = {"vector": ["a", "b"]}
    return Net(
        layers=layers or (dense("x", "y"),),
        inputs=(array("x", (2,)),),
        outputs=outputs or (array(last, ()),),
        exact=not rank5,
        version=4,
        updatable=True,
        kind=kind,
        description={"trainingInput": training, **(description or {})},
        network=network,
    ).build


SOFTMAX = (dense("x", "z"), layer("softmax", "z", "y"))


def sgd(**more: Any) -> dict[str, Any]:
    return {"optimizer": {"sgdOptimizer": {**SGD, **more}}}


def without(optimizer: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in optimizer.items() if key != name}


CLASSES: dict[str, Any] = {
    "kind": "neuralNetworkClassifier",
    "outputs": (feature("label", stringType={}), feature("p", dictionaryType={"stringKeyType": {}})),
    "description": {"predictedFeatureName": "label", "predictedProbabilitiesName": "p"},
}

UPDATE = [
    Row("update-layer-kind", "batchnorm", updatable(dense("x", "z"), {**RELU, "input": ["z"], "isUpdatable": True})),
    Row("update-weights", "not marked", updatable(dense("x", "y", weights=floats(4))), "weights.isUpdatable"),
    Row("update-weights", "bias", updatable(dense("x", "y", hasBias=True, bias=floats(2))), "bias.isUpdatable"),
    Row(
        "update-weights",
        "quantized",
        updatable(dense("x", "y", weights={**packed(4), "isUpdatable": True})),
        "quantization",
        "layer 0",
    ),
    Row("update-no-layer", "none marked", updatable(dense("x", "y", train=False))),
    Row("update-names", "same", updatable(dense("x", "z"), {**dense("z", "y"), "name": "innerProduct z"}), "'innerP"),
    Row("update-names", "loss", updatable({**dense("x", "y"), "name": "loss"}), "'loss'"),
    Row("update-loss-count", "none", updatable(loss=[]), "got none"),
    Row(
        "update-loss-count",
        "two",
        updatable(loss=[{"name": n, "meanSquaredErrorLossLayer": {"input": "y", "target": "t"}} for n in "ab"]),
        "got 2",
    ),
    Row("update-loss-kind", "none", updatable(loss={"name": "loss"})),
    Row("update-loss-input", "entropy without softmax", updatable(loss="entropy"), "softmax layer, got 'y' of inner"),
    Row(
        "update-loss-input",
        "entropy on softmaxND",
        updatable(dense("x", "z"), layer("softmaxND", "z", "y", axis=-1), loss="entropy", rank5=False),
        "of softmaxND",
    ),
    Row(
        "update-loss-input",
        "an input of the model",
        updatable(loss={"name": "loss", "meanSquaredErrorLossLayer": {"input": "x", "target": "t"}}),
        "be a blob that a layer writes, got 'x'",
    ),
    Row(
        "update-loss-target",
        "a blob",
        updatable(loss={"name": "loss", "meanSquaredErrorLossLayer": {"input": "y", "target": "y"}}),
    ),
    Row("update-optimizer", "none", updatable(optimizer={})),
    Row("update-parameter", "no learning rate", updatable(optimizer={"sgdOptimizer": without(SGD, "learningRate")})),
    Row("update-parameter", "no batch size", updatable(optimizer={"sgdOptimizer": without(SGD, "miniBatchSize")})),
    Row("update-parameter", "no eps", updatable(optimizer={"adamOptimizer": without(ADAM, "eps")}), "eps must be set"),
    Row("update-parameter", "batch size 0", updatable(update=sgd(miniBatchSize=whole(0))), "above 0, got 0"),
    Row(
        "update-parameter",
        "rate outside its range",
        updatable(update=sgd(learningRate={"defaultValue": 2.0, "range": {"maxValue": 1.0}})),
        "range 0 to 1, got 2",
    ),
    Row("update-parameter", "no epochs", updatable(update={"epochs": None}), "epochs must be set"),
    Row("update-parameter", "epochs 0", updatable(update={"epochs": whole(0)})),
    Row(
        "update-parameter", "set", updatable(update={"epochs": whole(5, set={"values": [1, 2]})}), "hold the default 5"
    ),
    Row(
        "update-parameter",
        "set with 0 before the default",
        updatable(update={"epochs": whole(5, set={"values": [0, 5]})}),
        "above 0, got [0]",
    ),
    Row("update-parameter", "range of 0", updatable(update={"epochs": whole(5, range={"maxValue": 9})}), "0 to 9"),
    Row("update-parameter", "seed", updatable(update={"seed": whole(5, set={"values": [-1]})}), "updateParams.seed"),
    Row(
        "update-path",
        "scale in between",
        updatable(
            dense("x", "z"),
            layer("scale", "z", "s", shapeScale=[1], scale=floats(1)),
            dense("s", "y", train=False),
        ),
        "scale before 'innerProduct z'",
        "layer 1",
    ),
    Row(
        "update-path",
        "softmax not next to the loss",
        updatable(dense("x", "z"), layer("softmax", "z", "s"), dense("s", "y", train=False)),
    ),
    Row(
        "update-path",
        "activation without a gradient",
        updatable(dense("x", "z"), layer("activation", "z", "y", ELU={})),
    ),
    Row("update-inputs", "none", updatable(training=[]), "got no features"),
    Row("update-inputs", "one", updatable(training=[array("x", (2,))])),
    Row("update-inputs", "no target", updatable(training=[array("x", (2,))] * 2), "no input of the model"),
    Row("update-inputs", "no input", updatable(training=[array("t"), array("u")]), "hold an input of the model"),
    Row(
        "update-inputs",
        "input of another type",
        updatable(training=[array("x", (3,)), array("t")]),
        "'x', which differs (shape [3] and [2])",
    ),
    Row("update-target", "another name", updatable(training=[array("x", (2,)), array("u")]), "'t', got ['u']"),
    Row(
        "update-target",
        "label of another type",
        updatable(*SOFTMAX, loss="entropy", training=[array("x", (2,)), feature("label", int64Type={})], **CLASSES),
        "int64Type and stringType",
        "trainingInput 'label'",
    ),
]


def pipeline(*parts: Callable[[], Any], names: Any = (), updatable: bool = False, **more: Any) -> Callable[[], Any]:
    """Models in a row, from ``x`` to ``y``."""

    def build() -> Any:
        model = schema.message("Model")(specificationVersion=5, isUpdatable=updatable)
        fields = {"input": [array("x", (2,))], "output": [array("y", (2,))], **more}
        fill(model.description, fields)
        model.pipeline.SetInParent()
        model.pipeline.models.extend(part() for part in parts)
        model.pipeline.names.extend(names)
        return model

    return build


def step(source: str, target: str, shape: tuple[int, ...] = (2,), **more: Any) -> Callable[[], Any]:
    relu = layer("activation", source, target, ReLU={})
    fields = {"layers": (relu,), "inputs": (array(source, shape),), "outputs": (array(target, shape),), **more}
    return Net(**fields).build


def neighbors(*, description: Any = None, **fields: Any) -> Callable[[], Any]:
    """A nearest-neighbour classifier of two samples of two values."""

    def build() -> Any:
        model = schema.message("Model")(specificationVersion=4)
        fill(
            model.description,
            {
                "input": [array("x", (2,))],
                "output": [feature("label", stringType={}), feature("p", dictionaryType={"stringKeyType": {}})],
                "predictedFeatureName": "label",
                "predictedProbabilitiesName": "p",
                **(description or {}),
            },
        )
        full = {
            "nearestNeighborsIndex": INDEX,
            "numberOfNeighbors": whole(1),
            "stringClassLabels": {"vector": ["a", "b"]},
            "defaultStringLabel": "a",
            "uniformWeighting": {},
            **fields,
        }
        kept = {name: value for name, value in full.items() if value is not None}
        fill(model.kNearestNeighborsClassifier, kept)
        return model

    return build


INDEX: dict[str, Any] = {
    "numberOfDimensions": 2,
    "floatSamples": [{"vector": [0.0, 1.0]}] * 2,
    "linearIndex": {},
    "squaredEuclideanDistance": {},
}

PIPELINES = [
    Row("pipeline-empty", "none", pipeline()),
    Row("pipeline-feature", "input", pipeline(step("z", "y")), "", "model 0 (neuralNetwork) > input 'z'"),
    Row("pipeline-feature", "order", pipeline(step("z", "y"), step("x", "z")), "got 'z'"),
    Row("pipeline-feature", "output", pipeline(step("x", "z")), "got 'y'", "output 'y'"),
    Row("pipeline-type", "shape", pipeline(step("x", "y", (3,))), "shape [2] and [3]"),
    Row("pipeline-type", "kind", pipeline(step("x", "y", inputs=(image("x"),))), "multiArrayType and imageType"),
    Row("pipeline-type", "dtype", pipeline(step("x", "y", inputs=(array("x", (2,), DOUBLE),))), "dataType"),
    Row("pipeline-updatable", "not the pipeline", pipeline(updatable()), "as the pipeline is not updatable, got true"),
    Row("pipeline-updatable", "not the last", pipeline(step("x", "y"), updatable=True), "be set on the last model"),
    Row(
        "pipeline-updatable",
        "the first",
        pipeline(updatable(last="z"), step("z", "y"), updatable=True),
        "on any model but the last",
        "model 0",
    ),
    Row("pipeline-names", "too few", pipeline(step("x", "z"), step("z", "y"), names=["a"])),
    Row("pipeline-names", "same", pipeline(step("x", "z"), step("z", "y"), names=["a", "a"])),
    Row("blob-unknown", "in a model of a pipeline", pipeline(step("x", "y", layers=(layer("erf", "z", "y"),)))),
    Row("neighbors-number", "none", neighbors(numberOfNeighbors=None), "be set"),
    Row("neighbors-number", "0", neighbors(numberOfNeighbors=whole(0)), "above 0"),
    Row("neighbors-weighting", "none", neighbors(uniformWeighting=None)),
    Row("neighbors-label", "type", neighbors(defaultStringLabel=None, defaultInt64Label=1), "stringClassLabels"),
    Row(
        "neighbors-label",
        "none at all",
        neighbors(stringClassLabels=None, defaultStringLabel=None, nearestNeighborsIndex={**INDEX, "floatSamples": []}),
    ),
    Row("neighbors-samples", "number", neighbors(stringClassLabels={"vector": ["a"]}), "hold 1 sample, got 2"),
    Row(
        "neighbors-samples", "size", neighbors(nearestNeighborsIndex={**INDEX, "numberOfDimensions": 3}), "of 3 values"
    ),
    Row("neighbors-index", "none", neighbors(nearestNeighborsIndex=without(INDEX, "linearIndex"))),
    Row("neighbors-index", "leaf", neighbors(nearestNeighborsIndex={**INDEX, "singleKdTreeIndex": {}}), "leafSize"),
    Row("neighbors-distance", "none", neighbors(nearestNeighborsIndex=without(INDEX, "squaredEuclideanDistance"))),
    Row("predicted-feature", "neighbours", neighbors(description={"predictedFeatureName": "p"})),
]

ROWS = [*UPDATE, *PIPELINES]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row(row: Row) -> None:
    assert_found(row)


def _last() -> Any:
    """The updatable network with its input named ``z``, as the second of a pipeline."""
    model = updatable(dense("z", "y"), training=[array("z", (2,)), array("t", (2,))])()
    model.description.input[0].name = "z"
    model.description.output[0].type.multiArrayType.shape.append(2)
    return model


GOOD = {
    "squared error": updatable(),
    "adam": updatable(optimizer={"adamOptimizer": ADAM}),
    "entropy": updatable(*SOFTMAX, loss="entropy"),
    "classifier": updatable(
        *SOFTMAX, loss="entropy", training=[array("x", (2,)), feature("label", stringType={})], **CLASSES
    ),
    "seed of any sign": updatable(update={"seed": whole(-5)}),
    "range": updatable(update={"epochs": whole(5, range={"minValue": 1, "maxValue": 5})}),
    "pipeline": pipeline(step("x", "z"), step("z", "y"), names=["a", "b"]),
    "updatable pipeline": pipeline(step("x", "z"), _last, updatable=True),
    "nearest neighbours": neighbors(),
}


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    report = check(GOOD[name]().SerializeToString())
    assert report.ok, str(report)


def test_contradicting_shapes_turn_training_errors_into_warnings() -> None:
    """Apple's check leaves the rules of training out then, so the verdict stays good; they are told all the same."""
    build = updatable(dense("x", "y", inputChannels=1, outputChannels=4), loss=[])
    report = check(build().SerializeToString())
    found = {finding.code: finding.severity for finding in report.findings}
    assert found["shape-conflict"] == "warning"
    assert found["update-loss-count"] == "warning"
    assert report.ok
