"""Renaming: every place that holds a name is kept in step, and answers stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pippin
from cases.coreml.control_flow import NETWORKS, Network
from checkkit import RGB, array, feature, image, layer, net
from make import classifier, dense, network, picture_network, updatable
from pippin.coreml import schema
from pippin.coreml.edit import Editor
from pippin.coreml.edit.names import layer_names, places, stages, taken
from pippin.coreml.read import read
from pippin.errors import InputError, UnsupportedError


def editor(model: Any) -> Editor:
    return pippin.edit(model.SerializeToString())


RUNS = [row for row in NETWORKS if row.refuses is None]


@pytest.mark.parametrize("row", RUNS, ids=lambda row: row.note)
def test_all_names_of_a_network_with_branches_and_loops(row: Network) -> None:
    edit = editor(row.model())
    names = taken(edit.document.model) - {""}
    edit.rename({name: f"{name} new" for name in names})
    assert taken(edit.document.model) - {""} == {f"{name} new" for name in names}
    edit.rename_layer({name: f"{name} new" for name in layer_names(edit.document.model) - {""}})
    answer = edit.load().predict({f"{name} new": value for name, value in row.arrays().items()})
    for name, value in row.expect.items():
        np.testing.assert_allclose(np.squeeze(answer[f"{name} new"]), np.squeeze(value), rtol=1e-5, atol=1e-5)
    # and back again: nothing but the names was touched
    edit.rename({f"{name} new": name for name in names})
    edit.rename_layer({name: name.removesuffix(" new") for name in layer_names(edit.document.model) - {""}})
    assert edit.document.model == edit.state(0).model


def texts(message: Any, seen: set[str]) -> set[str]:
    """``Message.field`` of every text field that can be reached from a message type."""
    if message.full_name in seen:
        return set()
    seen.add(message.full_name)
    found: set[str] = set()
    for field in message.fields:
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            found |= texts(field.message_type, seen)
        elif field.type == field.TYPE_STRING:
            found.add(f"{message.name}.{field.name}")
    return found


def test_every_text_field_of_the_format_is_known() -> None:
    """A field that is new in the schema must be either renamed or listed here as no name."""
    roots = ("ModelDescription", "NeuralNetwork", "NeuralNetworkClassifier", "NeuralNetworkRegressor")
    seen: set[str] = set()
    found = set().union(*(texts(schema.message(root).DESCRIPTOR, seen) for root in roots))
    full = schema.message("Model")()
    net_ = full.neuralNetworkClassifier
    full.description.input.add()
    full.description.output.add()
    full.description.state.add()
    full.description.trainingInput.add()
    net_.preprocessing.add()
    entry = net_.layers.add(input=["a"], output=["b"])
    entry.loop.SetInParent()
    net_.updateParams.lossLayers.add().categoricalCrossEntropyLossLayer.SetInParent()
    net_.updateParams.lossLayers.add().meanSquaredErrorLossLayer.SetInParent()
    renamed = {f"{place.message.DESCRIPTOR.name}.{place.name}" for place in places(full)}
    no_names = {
        "FeatureDescription.shortDescription",
        "Metadata.shortDescription",
        "Metadata.versionString",
        "Metadata.author",
        "Metadata.license",
        "CustomLayerParams.className",
        "CustomLayerParams.description",
        "CustomLayerParamValue.stringValue",
        "StringVector.vector",
        "StringParameter.defaultValue",
        # functions are for other model types
        "FunctionDescription.name",
        "FunctionDescription.predictedFeatureName",
        "FunctionDescription.predictedProbabilitiesName",
        "ModelDescription.defaultFunctionName",
    }
    assert found - no_names == renamed - {"CustomLayerParamValue.stringValue"}


def test_an_input_takes_its_preprocessing_along() -> None:
    model = picture_network([("activation", {"ReLU": {}}, ["image"], ["y"])])
    model.neuralNetwork.preprocessing.add(featureName="image").scaler.channelScale = 0.5
    edit = editor(model).rename_input("image", "photo")
    assert edit.document.network.preprocessing[0].featureName == "photo"
    picture = np.full((3, 4, 3), 8, np.uint8)
    assert edit.load().predict({"photo": picture})["y"].flat[0] == 4
    assert edit.prove().ok


def test_training_is_kept_in_step() -> None:
    model = updatable(network([("innerProduct", dense([[1, 2]]), ["x"], ["y"])], {"x": [2]}, ["y"], exact=False))
    edit = editor(model).rename({"x": "features", "y": "score"}).rename_training_input("t", "wanted")
    description, loss = edit.document.model.description, edit.document.network.updateParams.lossLayers[0]
    assert [entry.name for entry in description.trainingInput] == ["features", "wanted"]
    params = loss.meanSquaredErrorLossLayer
    assert (params.input, params.target) == ("score", "wanted")
    assert edit.check().ok
    edit.rename_layer("loss", "error")
    assert edit.document.network.updateParams.lossLayers[0].name == "error"
    with pytest.raises(InputError, match="there is such a layer already"):
        edit.rename_layer("error", "innerProduct0")


def test_a_classifier_is_kept_in_step() -> None:
    edit = editor(classifier(["cat", "dog"])).rename_output({"label": "animal", "scores": "chances"})
    description = edit.document.model.description
    assert (description.predictedFeatureName, description.predictedProbabilitiesName) == ("animal", "chances")
    assert edit.document.network.layers[0].output == ["chances"]
    answer = edit.load().predict({"x": [1, 3]})
    assert answer == {"animal": "dog", "chances": {"cat": 1, "dog": 3}}
    assert edit.check().ok


def test_a_classifier_whose_target_is_the_label() -> None:
    layers = [("innerProduct", dense([[1, 2], [3, 4]]), ["x"], ["z"]), ("softmax", {}, ["z"], ["scores"])]
    model = classifier(["cat", "dog"])
    plain = network(layers, {"x": [2]}, [], exact=False)
    del model.neuralNetworkClassifier.layers[:]
    model.neuralNetworkClassifier.layers.extend(plain.neuralNetwork.layers)
    edit = editor(updatable(model, loss="entropy", blob="scores", target="label")).rename("label", "animal")
    assert edit.check().ok
    assert edit.document.model.description.trainingInput[1].name == "animal"
    loss = edit.document.network.updateParams.lossLayers[0]
    assert loss.categoricalCrossEntropyLossLayer.target == "animal"


def test_two_names_may_be_exchanged() -> None:
    layers = [("subtractBroadcastable", {}, ["a", "b"], ["y"])]
    edit = editor(network(layers, {"a": [2], "b": [2]}, ["y"])).rename({"a": "b", "b": "a"})
    assert edit.load().predict({"b": [5, 5], "a": [1, 2]})["y"].tolist() == [4, 3]
    assert edit.prove().ok


@pytest.mark.parametrize(
    ("mapping", "kind", "says"),
    [
        ({"xx": "z"}, "rename_input", "no input 'xx'"),
        ({"y": "z"}, "rename_input", "no input 'y'"),
        ({"x": "y"}, "rename_input", "there is such a name already"),
        ({"x": ""}, "rename_input", "must not be empty"),
        ({"x": "q", "y": "q"}, "rename", "more than one"),
        ({"h": "x"}, "rename_blob", "there is such a name already"),
        ({"z": "q"}, "rename_output", "no output 'z'"),
    ],
)
def test_refusals(mapping: dict[str, str], kind: str, says: str) -> None:
    layers = [("activation", {"ReLU": {}}, ["x"], ["h"]), ("activation", {"tanh": {}}, ["h"], ["y"])]
    edit = editor(network(layers, {"x": [2]}, ["y"]))
    with pytest.raises(InputError, match=says):
        getattr(edit, kind)(mapping)
    assert edit.steps == []
    assert edit.document.model == edit.state(0).model


def test_near_names_are_offered() -> None:
    edit = editor(network([("activation", {"ReLU": {}}, ["picture"], ["y"])], {"picture": [2]}, ["y"]))
    with pytest.raises(InputError) as caught:
        edit.rename_input("pictures", "image")
    assert "'picture'" in caught.value.hint


def test_names_become_identifiers() -> None:
    layers = [
        ("activation", {"ReLU": {}}, ["a-b"], ["a/b"]),
        ("activation", {"tanh": {}}, ["a/b"], ["1"]),
    ]
    edit = editor(network(layers, {"a-b": [2]}, ["1"])).clean_names()
    assert edit.document.network.layers[0].input == ["a_b"]
    assert edit.document.network.layers[1].output == ["_1"]
    assert edit.document.network.layers[0].output == ["a/b"]
    edit.clean_names(blobs=True)
    assert edit.document.network.layers[0].output == ["a_b_2"]
    assert all(name.isidentifier() for name in taken(edit.document.model) - {""})
    assert edit.prove().ok


def pipeline(kind: str = "") -> Any:
    """A pipeline of two networks, x -> h -> y; the second may be of another type."""
    model = schema.message("Model")()
    model.specificationVersion = 4
    first = network([("activation", {"ReLU": {}}, ["x"], ["h"])], {"x": [2]}, ["h"])
    second = network([("activation", {"tanh": {}}, ["h"], ["y"])], {"h": [2]}, ["y"])
    for part in (first, second):
        part.description.output[0].type.multiArrayType.shape.append(2)
    if kind:
        getattr(second, kind).SetInParent()
    model.pipeline.models.add().CopyFrom(first)
    model.pipeline.models.add().CopyFrom(second)
    model.pipeline.names.extend(["first", "second"])
    model.description.input.extend(first.description.input)
    model.description.output.extend(second.description.output)
    return model


def test_names_in_a_pipeline_are_linked() -> None:
    edit = editor(pipeline()).rename("h", "middle").rename_input("x", "begin").rename_layer("activation0", "one")
    first, second = stages(edit.document.model)
    assert first.description.output[0].name == second.description.input[0].name == "middle"
    assert second.neuralNetwork.layers[0].input == ["middle"]
    assert first.neuralNetwork.layers[0].name == "one"
    assert edit.check().ok
    assert edit.take("second").load().predict({"middle": [0, 0]})["y"].tolist() == [0, 0]


def test_types_that_may_hold_names_elsewhere() -> None:
    assert editor(pipeline("glmRegressor")).rename("y", "z").document.model.description.output[0].name == "z"
    with pytest.raises(UnsupportedError, match="featureVectorizer may name"):
        editor(pipeline("featureVectorizer")).rename("h", "z")
    # names that it does not hold are safe
    editor(pipeline("featureVectorizer")).rename("x", "z")


def test_descriptions() -> None:
    edit = editor(network([("activation", {"ReLU": {}}, ["x"], ["y"])], {"x": [2]}, ["y"]))
    edit.describe("x", "two numbers").describe("y", "their positive parts")
    assert edit.load().inputs["x"].description == "two numbers"
    with pytest.raises(InputError):
        edit.describe("z", "nothing")


def test_a_name_that_a_label_shares_with_nothing() -> None:
    """Features that are no blobs are renamed alone."""
    model = net(
        layer("activation", "x", "p", linear={"alpha": 1}),
        inputs=(array("x", (2,)),),
        outputs=(feature("label", stringType={}), feature("p", dictionaryType={"stringKeyType": {}})),
        kind="neuralNetworkClassifier",
        description={"predictedFeatureName": "label", "predictedProbabilitiesName": "p"},
        network={"stringClassLabels": {"vector": ["a", "b"]}, "labelProbabilityLayerName": "p"},
        exact=False,
    )()
    edit = editor(model).rename_output("p", "q").rename_blob("q", "r")
    assert edit.document.network.labelProbabilityLayerName == "r"
    assert edit.document.model.description.predictedProbabilitiesName == "r"
    assert "renamed as well" in edit.steps[-1].notes[0]
    assert edit.check().ok


def test_renaming_keeps_an_unnamed_preprocessing() -> None:
    model = net(
        layer("activation", "x", "y", ReLU={}),
        inputs=(image("x", 2, 2, RGB),),
        network={"preprocessing": [{"scaler": {"channelScale": 2}}]},
        exact=False,
    )()
    edit = editor(model).rename("x", "z")
    assert edit.document.network.preprocessing[0].featureName == ""
    assert edit.prove().ok
    assert read(edit.to_bytes()).model == edit.document.model
