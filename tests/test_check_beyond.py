"""Rows for shapes and for what goes beyond Apple's rules."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from checkkit import (
    RELU,
    Row,
    array,
    assert_found,
    conv,
    feature,
    floats,
    halves,
    image,
    layer,
    net,
    one,
    packed,
    rank5,
)
from pippin.coreml import schema
from pippin.coreml.check import check, fit
from pippin.coreml.check.shape_rules import RULES
from pippin.coreml.check.versions import IOS12
from pippin.errors import UnsupportedError
from test_check_training import updatable

NAN = {"floatValue": [float("nan"), 1.0, 1.0, 1.0, 1.0, 1.0]}
INFINITE_HALF = {"float16Value": struct.pack("<6e", 1, 1, 1, 1, 1, float("-inf"))}
HUGE = {"floatValue": [-1e5, 1.0, 1.0, 1.0, 1.0, 1.0]}


def to(kind: str, inputs: str = "x", outputs: str = "y", shapes: Any = ((3, 8, 8),), **params: Any) -> Any:
    """A layer on five axes whose inputs have these shapes."""
    features = [array(name, shape) for name, shape in zip(inputs.split(), shapes, strict=True)]
    return rank5(layer(kind, inputs, outputs, **params), inputs=features)


def then(first: dict[str, Any], second: dict[str, Any], **more: Any) -> Any:
    return rank5(first, second, **{"outputs": (array("z", ()),), **more})


def wide(channels: int) -> dict[str, Any]:
    """A convolution 1 x 1 of ``y`` that wants this many channels."""
    return layer("convolution", "y", "z", **conv(kernelChannels=channels, outputChannels=1, weights=floats(channels)))


def dense(channels: int, source: str = "y", target: str = "z") -> dict[str, Any]:
    params = {"inputChannels": channels, "outputChannels": 1, "weights": floats(channels)}
    return layer("innerProduct", source, target, **params)


def classes(channels: int, labels: int, *, exact: bool) -> Any:
    outputs = (feature("label", stringType={}), feature("p", dictionaryType={"stringKeyType": {}}))
    build = net if exact else rank5
    return build(
        layer("softmaxND", "x", "p", axis=-1) if exact else layer("softmax", "x", "p"),
        kind="neuralNetworkClassifier",
        inputs=(array("x", (channels,)),),
        outputs=outputs,
        description={"predictedFeatureName": "label", "predictedProbabilitiesName": "p"},
        network={"stringClassLabels": {"vector": [str(index) for index in range(labels)]}},
    )


FLEXIBLE = {
    "shapeRange": {"sizeRanges": [{"lowerBound": 1, "upperBound": 1}, {"lowerBound": 1, "upperBound": -1}]},
}
PINNED = layer("reshapeStatic", "x", "y", targetShape=[4])


def _nested() -> Any:
    fields = {"ifBranch": {"layers": [layer("cumSum", "x", "t")]}}
    branch = {"name": "branch", "input": ["c"], "branch": fields}
    return net(branch, RELU, inputs=(array("x"), array("c", (1,))), version=4)()


SHAPES = [
    Row("shape-conflict", "convolution", rank5(layer("convolution", **conv())), "channel of 'x' must be 2, got 3"),
    Row("shape-conflict", "kernel too large", to("pooling", kernelSize=[9, 9], valid={}), "at least 9, got 8"),
    Row("shape-conflict", "stride 0", to("pooling", kernelSize=[1, 1], stride=[0, 1], valid={}), "above 0, got 0"),
    Row("shape-conflict", "innerProduct of an image", to("innerProduct", inputChannels=3, weights={}), "height"),
    Row("shape-conflict", "flatten", then(layer("flatten"), dense(191)), "must be 191, got 192"),
    Row("shape-conflict", "concat", then(layer("concat", "x x"), wide(5)), "must be 5, got 6"),
    Row("shape-conflict", "concat heights", to("concat", "a b", shapes=((1, 2, 2), (1, 3, 2))), "height"),
    Row("shape-conflict", "split", then(layer("split", "x", "y w", nOutputs=3), wide(2)), "must be 2, got 1"),
    Row("shape-conflict", "crop", to("crop", cropAmounts={"borderAmounts": [{"startEdgeSize": 8}, {}]}), "at least 9"),
    Row("shape-conflict", "crop to a larger", then(layer("crop", "x x", offset=[0, 0]), dense(3))),
    Row("shape-conflict", "dot", to("dot", "a b", shapes=((3,), (4,)))),
    Row("shape-conflict", "permute", to("permute", axis=[0, 1, 2, 4]), "numbers from 0 to 3, got 4"),
    Row("shape-conflict", "permute sizes", then(layer("permute", axis=[0, 2, 1, 3]), wide(3)), "must be 3, got 8"),
    Row("shape-conflict", "reshape", then(layer("reshape", targetShape=[192, 1, 1]), wide(3)), "must be 3, got 192"),
    Row("shape-conflict", "reorganizeData", then(layer("reorganizeData", blockSize=2), wide(3)), "must be 3, got 12"),
    Row("shape-conflict", "slice", to("slice", endIndex=4, stride=1), "at least 4, got 3"),
    Row("shape-conflict", "slice axis", to("slice", endIndex=1, stride=1, axis=9)),
    Row("shape-conflict", "embedding", to("embedding", inputDim=2, outputChannels=1, weights=floats(2))),
    Row("shape-conflict", "add", then(layer("add", "x x"), wide(2)), "must be 2, got 3"),
    Row("shape-conflict", "reduce", then(layer("reduce", axis="C"), wide(3)), "must be 3, got 1"),
    Row("shape-conflict", "upsample", then(layer("upsample", scalingFactor=[2, 2]), dense(3))),
    Row("shape-conflict", "resizeBilinear", then(layer("resizeBilinear", targetSize=[2, 2]), dense(3))),
    Row("shape-conflict", "padding", then(layer("padding", constant={}), dense(3))),
    Row(
        "shape-conflict",
        "output image",
        rank5(RELU, inputs=(image("x"),), outputs=(image("y", 9, 8),)),
        "width of 'y' must be 9, got 8",
        "output 'y'",
    ),
    Row(
        "shape-misfit",
        "reshape pins a range",
        net(PINNED, inputs=(array("x", (1, 4), **FLEXIBLE),), outputs=(array("y", ()),)),
        "for the lower end of the ranges, 'x' [1, 1]",
        "layer 0 'reshapeStatic y' (reshapeStatic)",
    ),
    Row(
        "shape-misfit",
        "enumerated",
        net(
            PINNED,
            inputs=(array("x", (4,), enumeratedShapes={"shapes": [{"shape": [4]}, {"shape": [6]}]}),),
            outputs=(array("y", ()),),
        ),
        "for the size [6] of input 'x'",
    ),
    Row(
        "shape-misfit",
        "default",
        net(layer("addBroadcastable", "a b"), inputs=(array("a", (2,)), array("b", (3,)))),
        "for the default size",
    ),
    Row(
        "sizes-not-tried",
        "many shapes",
        net(inputs=(array("x", enumeratedShapes={"shapes": [{"shape": [n]} for n in range(3, 80)]}),)),
        "64 sizes of those declared were tried, not the size [67]",
    ),
    Row("output-shape", "array", net(outputs=(array("y", (4,)),)), "hold [3], got [4], 4 numbers", "output 'y'"),
    Row(
        "output-shape",
        "image",
        net(inputs=(image("x"),), outputs=(image("y", 8, 9),)),
        "describe [1, 3, 8, 8], got [3, 9, 8]",
    ),
]

BEYOND = [
    Row("version-too-low", "layer", net(layer("cumSum"), version=4), "at least 5 for the layer cumSum, got 4"),
    Row("version-too-low", "nested", _nested, "the layer cumSum", "> ifBranch > layer 0"),
    Row("version-too-low", "mapping", net(version=3), "at least 4 for arrayInputShapeMapping"),
    Row(
        "version-too-low",
        "quantized",
        rank5(layer("convolution", **conv(kernelChannels=3, weights=packed(9))), version=2),
        "at least 3 for quantized weights",
    ),
    Row(
        "version-too-low",
        "float16",
        rank5(layer("convolution", **conv(kernelChannels=3, weights=halves(9))), version=1),
        "at least 2 for float16 weights",
    ),
    Row(
        "version-too-low",
        "flexible",
        rank5(inputs=(array("x", (3,), shapeRange={"sizeRanges": [{"upperBound": -1}]}),), version=2),
        "at least 3 for flexible shapes",
        "input 'x'",
    ),
    Row("labels-count", "five axes", classes(3, 4, exact=False), "each of the 3 probabilities, got 4"),
    Row("labels-count", "exact", classes(3, 4, exact=True), "each of the 3 probabilities, got 4"),
    Row("feature-twice", "input", net(inputs=(array("x"), array("x"))), "", "input 'x'"),
    Row("preprocessing-name", "unknown", net(network={"preprocessing": [{"featureName": "data"}]}), "'data'"),
    Row("preprocessing-name", "array", net(network={"preprocessing": [{"featureName": "x"}]}), "name an image"),
    Row("input-unused", "z", net(inputs=(array("x"), array("z"))), "", "input 'z'"),
    Row("blob-unused", "head", net(RELU, layer("erf", "x", "z")), "['z']", "layer 1 'erf z' (erf)"),
    Row("layer-name-twice", "same", net(RELU, {**layer("erf", "y", "z"), "name": "activation y"}), "2 times"),
    Row("layer-name-twice", "empty", net({**RELU, "name": ""}, {**layer("erf", "y", "z"), "name": ""}), "2 layers"),
    Row("weights-not-finite", "NaN", one("convolution", **conv(weights=NAN)), "weights must hold finite"),
    Row("weights-not-finite", "half", one("convolution", **conv(weights=INFINITE_HALF))),
    Row("weights-not-finite", "nested", one("activation", PReLU={"alpha": NAN}), "PReLU.alpha"),
    Row(
        "weights-overflow", "bias", one("convolution", **conv(weights=HUGE)), "65504 to fit half precision, got 100000"
    ),
    Row("nms-threshold", "IoU", one("NonMaximumSuppression", "x s", "y a b c", iouThreshold=1.5, maxBoxes=1), "1.5"),
    Row("nms-threshold", "score", one("NonMaximumSuppression", "x s", "y a b c", scoreThreshold=-1.0, maxBoxes=1)),
    Row("nms-threshold", "boxes", one("NonMaximumSuppression", "x s", "y a b c"), "maxBoxes"),
    Row("window-size", "kernel", one("pooling", kernelSize=[3], valid={}), "0 or 2 positive integers, got [3]"),
    Row("window-size", "stride", one("convolution", **conv(stride=[0, 1])), "got [0, 1]"),
    Row("group-size", "outputs", one("convolution", **conv(nGroups=2)), "3 output channels in 2 groups"),
    Row("custom-layer", "class", one("custom", className="Swish"), "'Swish'"),
    Row("update-ignored", "layer", net({**RELU, "isUpdatable": True}), "1 layer marked"),
    Row("update-ignored", "parameters", net(network={"updateParams": {"epochs": {"defaultValue": 1}}})),
]

ROWS = [*SHAPES, *BEYOND]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row(row: Row) -> None:
    assert_found(row)


def test_every_kind_of_the_first_versions_has_a_shape_rule() -> None:
    assert set(RULES) == IOS12 - {"custom"}


GOOD = {
    "deconvolution": then(
        layer(
            "convolution",
            **conv(kernelChannels=3, isDeconvolution=True, kernelSize=[2, 2], stride=[2, 2], weights=floats(36)),
        ),
        layer("crop", "y", "z", cropAmounts={"borderAmounts": [{"startEdgeSize": 15}] * 2}),
    ),
    "last pixel": then(
        layer("pooling", kernelSize=[3, 3], stride=[2, 2], includeLastPixel={"paddingAmounts": [0, 0]}),
        layer("crop", "y", "z", cropAmounts={"borderAmounts": [{"startEdgeSize": 3}] * 2}),
    ),
    "same padding": then(
        layer("pooling", kernelSize=[3, 3], stride=[3, 3], same={}),
        layer("crop", "y", "z", cropAmounts={"borderAmounts": [{"startEdgeSize": 2}] * 2}),
    ),
    "negative slice": then(layer("slice", startIndex=-2, endIndex=0, stride=1), wide(2)),
    "slice without the last": then(layer("slice", startIndex=1, endIndex=-1, stride=1), wide(1)),
    "broadcast": to("add", "a b", shapes=((3, 8, 8), (3,))),
    "sequence": to("embedding", shapes=((1,),), inputDim=2, outputChannels=1, weights=floats(2)),
}


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    report = check(GOOD[name]().SerializeToString(), fit=False)
    assert not [finding for finding in report.findings if finding.severity != "note"], str(report)


def test_sound_updatable_model_has_no_warnings() -> None:
    report = check(updatable()().SerializeToString())
    assert not report.findings, str(report)


def test_sequences_of_unknown_length_are_no_misfit() -> None:
    """A network on five axes that wants four steps of a sequence: one step does not fit, which says nothing."""
    flat = layer("flatten", "p", "f")
    layers = (layer("permute", "x", "p", axis=[1, 0, 2, 3]), flat, dense(4, "f", "z"))
    report = check(rank5(*layers, inputs=(array("x", (1,)),), outputs=(array("z", ()),))().SerializeToString())
    assert not report.findings, str(report)


def test_values_can_be_left_out() -> None:
    model = one("convolution", **conv(weights=NAN))().SerializeToString()
    assert not [f for f in check(model, values=False).findings if f.code == "weights-not-finite"]


def test_unused_weights_of_unknown_layers_are_no_problem() -> None:
    model = schema.message("Model")(specificationVersion=4)
    model.neuralNetwork.layers.add(name="future")
    assert "layer-type-missing" in {finding.code for finding in check(model.SerializeToString()).findings}


def test_what_pippin_does_not_run_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **more: Any) -> None:
        raise UnsupportedError("this kind of layer is not supported", where="layer 'activation y' (activation)")

    monkeypatch.setattr(fit, "lower", refuse)
    report = check(net()().SerializeToString())
    assert report.ok
    assert [(f.code, f.where) for f in report.findings] == [("not-supported", "layer 0 'activation y' (activation)")]
