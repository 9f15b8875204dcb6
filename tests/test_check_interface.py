"""Rows for the rules of files, features and interfaces: each code by a small model that breaks just that rule."""

from __future__ import annotations

from typing import Any

import pytest

from checkkit import (
    DOUBLE,
    FLOAT16,
    FLOAT32,
    GRAYSCALE_FLOAT16,
    INT8,
    INT32,
    RELU,
    Net,
    Row,
    array,
    assert_found,
    feature,
    image,
    layer,
    net,
    rank5,
)
from pippin.coreml import schema
from pippin.coreml.check import check


def optional(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "type": {**entry["type"], "isOptional": True}}


def other(kind: str, **more: Any) -> Any:
    """A model of a type that is not judged."""

    def build() -> Any:
        model = net(**more)()
        getattr(model, kind).SetInParent()
        return model

    return build


def described(**fields: Any) -> Any:
    return net(description=fields)


def inputs(*features: dict[str, Any], version: int = 5) -> Any:
    return net(layer("activation", features[0]["name"] or "x", "y", ReLU={}), inputs=features, version=version)


def outputs(*features: dict[str, Any], **more: Any) -> Any:
    return net(outputs=features, **more)


STATE = {"arrayType": {"shape": [2], "dataType": FLOAT16}}
RANGE_2_8 = {"shapeRange": {"sizeRanges": [{"lowerBound": 2, "upperBound": 8}]}}
LABELS = {"stringClassLabels": {"vector": ["a", "b", "c"]}}


def classifier(*, names: Any = None, label: str = "stringType", **network: Any) -> Any:
    names = {"predictedFeatureName": "label", "predictedProbabilitiesName": "probs"} if names is None else names
    described = (feature("label", **{label: {}}), feature("probs", dictionaryType={"stringKeyType": {}}))
    return net(
        layer("softmaxND", "x", "p", axis=-1),
        kind="neuralNetworkClassifier",
        outputs=described,
        description=names,
        network={**LABELS, **network},
    )


def regressor(name: str = "y", output: Any = None, **names: Any) -> Any:
    fields = {"predictedFeatureName": name, **names}
    return net(kind="neuralNetworkRegressor", outputs=(output or array("y"),), description=fields)


def _no_layers() -> Any:
    model = net()()
    del model.neuralNetwork.layers[:]
    return model


ROWS = [
    # versions
    Row("version-missing", "0", net(version=0)),
    Row("version-unknown", "11", net(version=11), "at most 10, got 11"),
    Row("version-negative", "-1", net(version=-1), "got -1"),
    Row("version-feature", "float16 array", outputs(array("y", dtype=FLOAT16), version=6), "at least 7 for FLOAT16"),
    Row("version-feature", "int8 array", outputs(array("y", dtype=INT8), version=9), "at least 10 for INT8"),
    Row(
        "version-feature",
        "gray float16 image",
        outputs(image("y", color=GRAYSCALE_FLOAT16), version=6),
        "at least 7 for GRAYSCALE_FLOAT16",
    ),
    Row(
        "version-feature",
        "sequence",
        outputs(array("y"), feature("s", sequenceType={"int64Type": {}}), version=2),
        "at least 3 for a sequence",
    ),
    Row(
        "version-feature",
        "state",
        net(description={"state": [feature("s", stateType=STATE)]}, version=8),
        "at least 9 for a state",
    ),
    Row("version-feature", "updatable", net(updatable=True, version=3), "at least 4 for isUpdatable"),
    Row(
        "version-feature",
        "default value",
        inputs(array("x"), optional(array("z", floatDefaultValue=1.0)), version=4),
        "at least 5 for a default value",
        "input 'z'",
    ),
    # model types
    Row("model-type-missing", "none", lambda: _cleared(net()())),
    Row("model-type-updatable", "tree", other("treeEnsembleClassifier", updatable=True)),
    Row("model-type-not-judged", "identity", other("identity")),
    # descriptions
    Row("inputs-missing", "network of version 8", net(inputs=(), version=8), "before specificationVersion 9"),
    Row("inputs-missing", "scaler", other("scaler", inputs=()), "for the model type scaler"),
    Row("outputs-missing", "none", net(outputs=())),
    Row("inputs-all-optional", "the only one", inputs(optional(array("x")))),
    Row("inputs-all-optional", "only a state", inputs(feature("x", stateType=STATE), version=9)),
    Row("input-optional-not-allowed", "scaler", other("scaler", inputs=(optional(array("x")),))),
    Row("output-optional", "array", outputs(optional(array("y")))),
    Row("default-not-allowed", "identity", other("identity", inputs=(optional(array("x", floatDefaultValue=1.0)),))),
    Row("default-type", "float for int", inputs(array("x", dtype=INT32, floatDefaultValue=1.0)), "floatDefaultValue"),
    Row("default-type", "double for float", inputs(array("x", dtype=FLOAT32, doubleDefaultValue=1.0))),
    Row("default-type", "int8 range", inputs(array("x", dtype=INT8, intDefaultValue=128), version=10), "-128 to 127"),
    Row("functions-not-allowed", "network", described(functions=[{"name": "main"}])),
    Row("functions-not-allowed", "default name", described(defaultFunctionName="main")),
    Row("functions-invalid", "name", lambda: _program("other"), "defaultFunctionName"),
    Row("functions-invalid", "input at top level", lambda: _program("main", top=True), "description.input"),
    Row("feature-name-empty", "output", outputs(array("y"), array("")), "name", "output[1]"),
    Row("feature-type-missing", "input", inputs(array("x"), {"name": "z"}), "", "input 'z'"),
    Row("feature-place", "state as output", outputs(array("y"), feature("s", stateType=STATE), version=9)),
    Row("feature-place", "array as state", described(state=[array("s")]), "stateType"),
    Row("feature-key-type", "dictionary", outputs(array("y"), feature("d", dictionaryType={}))),
    Row("feature-key-type", "sequence", outputs(array("y"), feature("d", sequenceType={}))),
    Row(
        "size-range",
        "array",
        inputs(array("x", shapeRange={"sizeRanges": [{"lowerBound": 9, "upperBound": 5}]})),
        "got 9 to 5",
    ),
    Row("default-outside-range", "below", inputs(array("x", [1], **RANGE_2_8)), "lie in 2 to 8, got 1"),
    Row("default-outside-range", "above", inputs(array("x", [9], **RANGE_2_8))),
    Row(
        "default-outside-range",
        "upper bound 0",
        inputs(array("x", [3], shapeRange={"sizeRanges": [{"upperBound": 0}]})),
        "0 to 0",
    ),
    Row(
        "default-outside-range",
        "image",
        inputs(image("x", 3, 8, imageSizeRange={"widthRange": {"lowerBound": 4, "upperBound": -1}})),
        "4 to no limit, got 3",
    ),
    Row("array-shape-missing", "input", inputs(array("x", []))),
    Row("array-shape-missing", "flexible before version 3", inputs(array("x", [], **RANGE_2_8), version=2)),
    Row("array-shape-negative", "-1", inputs(array("x", [-1, 3]))),
    Row("array-enumerated", "default not listed", inputs(array("x", enumeratedShapes={"shapes": [{"shape": [4]}]}))),
    Row("array-enumerated", "empty", inputs(array("x", enumeratedShapes={"shapes": []}))),
    Row("array-enumerated", "empty shape", inputs(array("x", enumeratedShapes={"shapes": [{"shape": [3]}, {}]}))),
    Row("array-range", "number", inputs(array("x", [2, 3], **RANGE_2_8)), "each of the 2 dims"),
    Row("array-data-type", "unset", outputs(array("y", dtype=0)), "got none"),
    Row("image-size", "no width", inputs(image("x", 0, 8)), "0 x 8"),
    Row("image-enumerated", "empty", inputs(image("x", enumeratedSizes={}))),
    Row(
        "image-enumerated",
        "default not listed",
        inputs(image("x", enumeratedSizes={"sizes": [{"width": 4, "height": 4}]})),
        "8 x 8",
    ),
    Row("image-color", "unset", inputs(image("x", color=0))),
    Row(
        "state-invalid",
        "float32",
        described(state=[feature("s", stateType={"arrayType": {"shape": [2], "dataType": FLOAT32}})]),
        "FLOAT16 or INT8, got FLOAT32",
    ),
    Row("state-invalid", "no shape", described(state=[feature("s", stateType={"arrayType": {"dataType": INT8}})])),
    # networks
    Row("input-type", "string", inputs(array("x"), feature("s", stringType={})), "got stringType"),
    Row("output-type", "string", outputs(array("y"), feature("s", stringType={})), "got stringType"),
    Row("predicted-feature", "missing", classifier(names={}), "name an output, got none"),
    Row("predicted-feature", "unknown", classifier(names={"predictedFeatureName": "no"}), "'no'"),
    Row("predicted-feature", "type", classifier(label="int64Type"), "of int64Type"),
    Row("predicted-feature", "regressor", regressor(output=feature("y", stringType={})), "doubleType or multiArray"),
    Row(
        "predicted-probabilities",
        "unknown",
        classifier(names={"predictedFeatureName": "label", "predictedProbabilitiesName": "no"}),
        "'no'",
    ),
    Row(
        "predicted-probabilities",
        "type",
        classifier(names={"predictedFeatureName": "label", "predictedProbabilitiesName": "label"}),
        "dictionary or multi-array",
    ),
    Row("labels-missing", "empty", classifier(stringClassLabels={"vector": []})),
    Row("label-probability-layer", "unknown", classifier(labelProbabilityLayerName="softmax")),
    Row("label-probability-layer", "an input", classifier(labelProbabilityLayerName="x")),
    Row("output-not-produced", "unknown", outputs(array("z")), "none writes it"),
    Row("output-not-produced", "an input", outputs(array("x")), "an input of the model"),
    Row("output-not-produced-accepted", "regressor", regressor("z", array("z", (1,)))),
    Row("output-twice", "y", outputs(array("y"), array("y")), "", "output 'y'"),
    Row(
        "mapping-conflict",
        "later layer",
        rank5(layer("erf")),
        "RANK5_ARRAY_MAPPING with layer 'erf y' (erf)",
    ),
    Row("mapping-conflict", "images", rank5(network={"imageInputShapeMapping": 1})),
    Row("layers-missing", "none", _no_layers),
    Row("rank5-shape", "two dims", rank5(inputs=(array("x", (3, 8)),)), "got [3, 8]"),
    Row("rank5-shape", "four dims", rank5(inputs=(array("x", (1, 3, 8, 8)),)), "got [1, 3, 8, 8]"),
    Row(
        "rank5-shape",
        "two ranges",
        rank5(inputs=(array("x", (), shapeRange={"sizeRanges": [{"upperBound": 2}] * 2}),)),
        "got 2",
    ),
    Row("nd-shape", "no default", inputs(array("x", [], enumeratedShapes={"shapes": [{"shape": [3]}]}))),
    Row("nd-shape", "ranges before version 3", inputs(array("x", [2, 3], **RANGE_2_8), version=2), "each of the 2"),
]


def _cleared(model: Any) -> Any:
    model.ClearField("neuralNetwork")
    return model


def _program(default: str, *, top: bool = False) -> Any:
    model = schema.message("Model")(specificationVersion=9)
    model.mlProgram.SetInParent()
    function = model.description.functions.add(name="main")
    for side in (function.input, function.output, *([model.description.input] if top else [])):
        side.add(name="x").type.multiArrayType.MergeFrom(net()().description.input[0].type.multiArrayType)
    model.description.defaultFunctionName = default
    return model


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row(row: Row) -> None:
    assert_found(row)


GOOD = {
    "plain": net(),
    "five axes": rank5(),
    "five axes, one dim": rank5(inputs=(array("x"),)),
    "no input from version 9": net(
        layer("fillStatic", "", "y", targetShape=[3]), inputs=(), outputs=(array("y", ()),), version=9
    ),
    "classifier": classifier(),
    "regressor": regressor(),
    "flexible array": inputs(array("x", [3], **RANGE_2_8)),
    "range without an upper bound": inputs(
        array("x", [3], shapeRange={"sizeRanges": [{"lowerBound": 2, "upperBound": -1}]})
    ),
    "flexible image": net(
        inputs=(image("x", imageSizeRange={"widthRange": {"upperBound": -1}, "heightRange": {"upperBound": 9}}),),
        outputs=(array("y", ()),),
    ),
    "enumerated images without a default": net(
        inputs=(image("x", 0, 0, enumeratedSizes={"sizes": [{"width": 4, "height": 4}]}),),
        outputs=(array("y", ()),),
    ),
    "optional beside another": inputs(array("x"), optional(array("z", dtype=DOUBLE, doubleDefaultValue=1.0))),
    "functions of a program": lambda: _program("main"),
    "state": net(description={"state": [feature("s", stateType=STATE)]}, version=9),
}


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    report = check(GOOD[name]().SerializeToString())
    assert report.ok, str(report)
    assert not report.of("warning"), str(report)


def test_all_findings_are_gathered() -> None:
    model = Net(
        layers=(RELU, layer("softmaxND", "nowhere", "z z2")),
        inputs=(array("x", dtype=0), array("")),
        outputs=(array("q"), optional(array("y"))),
        version=0,
    ).build()
    codes = {finding.code for finding in check(model.SerializeToString()).findings}
    assert codes >= {
        "version-missing",
        "array-data-type",
        "feature-name-empty",
        "output-optional",
        "output-not-produced",
        "blob-unknown",
        "layer-outputs",
    }


def test_unreadable() -> None:
    for content in (b"", b"\xff\xff", b"version https://git-lfs.github.com/spec/v1\n", b"PK\x03\x04zip"):
        report = check(content)
        assert [finding.code for finding in report.findings] == ["unreadable"]
        assert report.fatal
        assert not report.ok
