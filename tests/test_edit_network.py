"""Other outputs, networks cut out of networks, and layers that go without a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin
from cases.coreml.control_flow import NETWORKS, Network
from make import add, classifier, dense, network, picture_network, updatable
from pippin.coreml.edit import Editor
from pippin.coreml.edit.cut import visible
from pippin.coreml.edit.prune import IDLE
from pippin.coreml.schema import layer_kinds
from pippin.errors import InputError, UnsupportedError

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SEVEN = EXAMPLES / "digit-7.png"


def editor(model: Any) -> Editor:
    return pippin.edit(model.SerializeToString())


def kinds(edit: Editor) -> list[str]:
    return [layer.WhichOneof("layer") for layer in edit.document.network.layers]


def digits() -> Editor:
    return pippin.edit(EXAMPLES / "digits.mlmodel")


# -- outputs and cuts --------------------------------------------------------------------------------------------------


def test_an_output_more_and_less() -> None:
    edit = digits().add_output("conv1_pool")
    answer = edit.load().predict({"image": SEVEN})
    assert answer["digit"] == 7
    assert answer["conv1_pool"].shape == (8, 8, 8)
    assert edit.check().ok
    edit.add_output("logits", "float64").remove_output("conv1_pool").remove_output("probabilities")
    answer = edit.load().predict({"image": SEVEN})
    assert sorted(answer) == ["digit", "logits"]
    assert (answer["digit"], answer["logits"].dtype) == (7, np.float64)
    assert edit.check().ok
    assert edit.prove().ok


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda e: e.add_output("nothing"), "is written by no layer"),
        (lambda e: e.add_output("probabilities"), "is an output already"),
        (lambda e: e.remove_output("digit"), "predicts"),
        (lambda e: e.remove_output("nothing"), "no output"),
        (lambda e: e.cut("nothing"), "is written by no layer"),
        (lambda e: e.cut(inputs="image"), "is written by no layer"),
        (lambda e: e.cut("conv1", inputs="conv1"), "cannot be cut off"),
    ],
)
def test_refusals(act: Any, says: str) -> None:
    edit = digits()
    with pytest.raises(InputError, match=says):
        act(edit)
    assert edit.document.model == edit.state(0).model


def test_the_only_output_stays() -> None:
    edit = editor(network([("activation", {"ReLU": {}}, ["x"], ["y"])], {"x": [2]}, ["y"]))
    with pytest.raises(InputError, match="the only output"):
        edit.remove_output("y")


def test_a_network_is_cut_at_a_blob() -> None:
    whole = digits().add_output("conv2_relu").load().predict({"image": SEVEN})
    edit = digits().cut("conv2_relu")
    assert edit.document.type == "neuralNetwork"
    assert kinds(edit)[-1] == "activation"
    np.testing.assert_array_equal(edit.load().predict({"image": SEVEN})["conv2_relu"], whole["conv2_relu"])
    assert edit.check().ok
    assert edit.prove().ok
    assert edit.prove().trials[0].differences["conv2_relu"].shape == (16, 8, 8)


def test_a_network_is_cut_from_a_blob_on() -> None:
    middle = digits().cut("conv2_relu").load().predict({"image": SEVEN})["conv2_relu"]
    edit = digits().cut(inputs="conv2_relu")
    assert [entry.name for entry in edit.document.model.description.input] == ["conv2_relu"]
    assert edit.document.type == "neuralNetworkClassifier"
    assert len(edit.document.network.preprocessing) == 0
    assert edit.load().predict({"conv2_relu": middle})["digit"] == 7
    assert edit.check().ok
    assert edit.prove().ok


def test_the_two_parts_of_a_network_are_the_whole() -> None:
    whole = digits().cut("logits").load().predict({"image": SEVEN})["logits"]
    middle = digits().cut("conv1_pool").load().predict({"image": SEVEN})
    edit = digits().cut("logits", inputs=["conv1_pool"])
    np.testing.assert_array_equal(edit.load().predict(middle)["logits"], whole)
    assert edit.prove().ok


def test_a_classifier_is_cut_at_its_probabilities() -> None:
    edit = editor(classifier(["a", "b"])).cut("scores")
    assert edit.load().predict({"x": [1, 2]})["scores"].tolist() == [1, 2]
    assert edit.prove().ok
    assert edit.check().ok


def test_probabilities_that_were_not_named_are_named() -> None:
    """Which blob holds them was to be guessed: the output of the last layer."""
    layers = [
        ("activation", {"linear": {"alpha": 3}}, ["x"], ["unused"]),
        ("activation", {"linear": {"alpha": 1}}, ["x"], ["last"]),
    ]
    model = classifier(["a", "b"])
    del model.neuralNetworkClassifier.layers[:]
    model.neuralNetworkClassifier.layers.extend(network(layers, {}, []).neuralNetwork.layers)
    edit = editor(model)
    before = edit.load().predict({"x": [1, 2]})
    edit.prune(idle=False)
    assert kinds(edit) == ["activation"]
    assert edit.load().predict({"x": [1, 2]}) == before
    edit.rename_output("scores", "q").rename_blob("last", "p")
    assert edit.load().predict({"x": [1, 2]}) == {"label": "b", "q": {"a": 1, "b": 2}}


def test_what_belongs_to_training_is_left_behind() -> None:
    layers = [("innerProduct", dense([[1, 2]]), ["x"], ["h"]), ("innerProduct", dense([[2]]), ["h"], ["y"])]
    model = updatable(network(layers, {"x": [2]}, ["y"], exact=False))
    edit = editor(model).cut("h")
    assert not edit.document.model.isUpdatable
    assert not edit.document.model.description.trainingInput
    assert not edit.document.network.HasField("updateParams")
    assert not any(layer.isUpdatable for layer in edit.document.network.layers)
    assert edit.check().ok
    assert not edit.check().findings
    assert edit.load().predict({"x": [1, 1]})["h"].tolist() == [3]


def test_a_layer_that_gives_more_than_is_handed_in() -> None:
    layers = [
        ("splitND", {"numSplits": 2, "axis": 0}, ["x"], ["a", "b"]),
        ("addBroadcastable", {}, ["a", "b"], ["y"]),
    ]
    edit = editor(network(layers, {"x": [4]}, ["y"], version=4)).cut(inputs="a")
    assert edit.load().predict({"x": [1, 2, 3, 4], "a": [10, 20]})["y"].tolist() == [13, 24]
    assert edit.check().ok
    assert edit.prove().ok


def test_a_blob_that_is_written_over_is_handed_in_as_it_is_in_the_end() -> None:
    layers = [
        ("activation", {"linear": {"alpha": 3}}, ["x"], ["a"]),
        ("activation", {"ReLU": {}}, ["a"], ["a"]),
        ("activation", {"linear": {"alpha": 2}}, ["a"], ["y"]),
    ]
    edit = editor(network(layers, {"x": [2]}, ["y"], version=4)).cut(inputs="a")
    assert edit.load().predict({"a": [1, 4]})["y"].tolist() == [2, 8]
    assert edit.prove().ok
    layers.insert(1, ("unary", {"type": "EXP"}, ["a"], ["z"]))
    with pytest.raises(InputError, match=r"'a' cannot be cut off: layer 'unary1' \(unary\) is still needed"):
        editor(network(layers, {"x": [2]}, ["y", "z"], version=4)).cut(inputs="a")


@pytest.mark.parametrize("row", [row for row in NETWORKS if row.refuses is None], ids=lambda row: row.note)
def test_networks_with_branches_and_loops_begin_anywhere(row: Network) -> None:
    """From each blob on, where that is possible, the rest gives what the whole gives."""
    whole = editor(row.model())
    blobs = whole.load().blobs(row.arrays())
    for name in visible(whole.document.network):
        try:
            edit = editor(row.model()).cut(inputs=name)
        except InputError:
            continue
        model = edit.load()
        data = {key: array for key, array in row.arrays().items() if key in model.inputs}
        answer = model.predict(data | {name: blobs[name].reshape(model.inputs[name].shape or ())})
        for output, value in row.expect.items():
            np.testing.assert_allclose(np.squeeze(answer[output]), np.squeeze(value), rtol=1e-5, atol=1e-5)


def test_blobs_inside_of_branches_are_out_of_reach() -> None:
    row = next(row for row in NETWORKS if row.note.startswith("branch without else, taken"))
    with pytest.raises(InputError, match="inside of a branch or loop"):
        editor(row.model()).add_output("twice")


@pytest.mark.parametrize("row", [row for row in NETWORKS if row.refuses is None], ids=lambda row: row.note)
def test_networks_with_branches_and_loops_are_cut_and_pruned(row: Network) -> None:
    """At each of their outputs alone; what is left gives what the whole gives."""
    for name, value in row.expect.items():
        try:
            edit = editor(row.model()).cut(name).prune()
        except InputError as error:
            if "depends on no input" not in str(error):
                raise
            continue
        inputs = {key: array for key, array in row.arrays().items() if key in edit.load().inputs}
        np.testing.assert_allclose(
            np.squeeze(edit.load().predict(inputs)[name]), np.squeeze(value), rtol=1e-5, atol=1e-5
        )
    edit = editor(row.model()).prune()
    answer = edit.load().predict(row.arrays())
    for name, value in row.expect.items():
        np.testing.assert_allclose(np.squeeze(answer[name]), np.squeeze(value), rtol=1e-5, atol=1e-5)


# -- layers that do nothing --------------------------------------------------------------------------------------------

EDGES = {"borderAmounts": [{"startEdgeSize": 0, "endEdgeSize": 0}] * 2}
BORDER = {"borderAmounts": [{"startEdgeSize": 0, "endEdgeSize": 1}] * 2}
ONE = np.float32([1, 1, 1])
# kind, parameters that do nothing, parameters that do something; for an input [3,4,5] in a legacy network
LEGACY: list[tuple[str, Any, Any]] = [
    ("activation", {"linear": {"alpha": 1}}, {"linear": {"alpha": 1, "beta": 1}}),
    ("scale", {"shapeScale": [3, 1, 1], "scale": ONE}, {"shapeScale": [3, 1, 1], "scale": ONE * 2}),
    (
        "scale",
        {"shapeScale": [1], "scale": [1.0], "hasBias": True, "shapeBias": [1], "bias": [0.0]},
        {"shapeScale": [1], "scale": [1.0], "hasBias": True, "shapeBias": [1], "bias": [1.0]},
    ),
    ("bias", {"shape": [3, 1, 1], "bias": ONE * 0}, {"shape": [3, 1, 1], "bias": ONE}),
    ("permute", {"axis": [0, 1, 2, 3]}, {"axis": [0, 1, 3, 2]}),
    ("padding", {"constant": {}, "paddingAmounts": EDGES}, {"constant": {}, "paddingAmounts": BORDER}),
    ("crop", {"cropAmounts": EDGES}, {"cropAmounts": BORDER}),
    ("upsample", {"scalingFactor": [1, 1]}, {"scalingFactor": [2, 1]}),
    ("sequenceRepeat", {"nRepetitions": 1}, {"nRepetitions": 2}),
    ("add", {}, {"alpha": 1}),
    ("multiply", {"alpha": 1}, {"alpha": 2}),
    ("average", {}, None),
    ("max", {}, None),
    ("min", {}, None),
    ("reshape", {"targetShape": [3, 4, 5]}, {"targetShape": [3, 5, 4]}),
    ("flatten", None, {}),
]
# the same for an input [2,3] in an exact network
EXACT: list[tuple[str, Any, Any]] = [
    ("transpose", {"axes": [0, 1]}, {"axes": [1, 0]}),
    ("constantPad", {"padAmounts": [0, 0, 0, 0]}, {"padAmounts": [0, 1, 0, 0]}),
    ("tile", {"reps": [1, 1]}, {"reps": [2, 1]}),
    (
        "sliceStatic",
        {
            "beginIds": [0, 0], "endIds": [0, 0], "strides": [1, 1], "beginMasks": [True, True],
            "endMasks": [True, True], "squeezeMasks": [False, False],
        },
        {
            "beginIds": [0, 1], "endIds": [0, 0], "strides": [1, 1], "beginMasks": [True, False],
            "endMasks": [True, True], "squeezeMasks": [False, False],
        },
    ),
    ("reshapeStatic", {"targetShape": [2, 3]}, {"targetShape": [3, 2]}),
    ("rankPreservingReshape", {"targetShape": [2, 3]}, {"targetShape": [3, 2]}),
    ("flattenTo2D", {"axis": 1}, {"axis": 2}),
    ("squeeze", None, None),
    ("broadcastToStatic", {"targetShape": [2, 3]}, {"targetShape": [2, 2, 3]}),
    ("copy", {}, None),
]  # fmt: skip


def test_every_rule_has_rows() -> None:
    assert {kind for kind, *_ in (*LEGACY, *EXACT)} == set(IDLE)
    assert set(IDLE) <= set(layer_kinds())


def around(kind: str, params: Any, exact: bool) -> Editor:
    """The layer between two others, in a network of fixed size."""
    layers = [
        ("activation", {"tanh": {}}, ["x"], ["a"]),
        (kind, params, ["a"], ["b"]),
        ("activation", {"sigmoid": {}}, ["b"], ["y"]),
    ]
    if exact:
        return editor(network(layers, {"x": [2, 3]}, ["y"], version=5))
    layers[0] = ("activation", {"linear": {"alpha": 0.01}}, ["image"], ["a"])
    return editor(picture_network(layers, size=(5, 4)))


@pytest.mark.parametrize(
    ("kind", "idle", "busy", "exact"),
    [(*row, False) for row in LEGACY] + [(*row, True) for row in EXACT],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_layers_that_do_nothing(kind: str, idle: Any, busy: Any, exact: bool) -> None:
    if idle is not None:
        edit = around(kind, idle, exact).prune()
        assert kinds(edit) == ["activation", "activation"], "it stays although it does nothing"
        assert edit.prove().ok
        assert edit.prove().trials[0].differences["y"].absolute == 0
    if busy is not None:
        edit = around(kind, busy, exact).prune()
        assert kinds(edit) == ["activation", kind, "activation"], "it goes although it does something"


def test_a_reshape_stays_where_sizes_vary() -> None:
    layers = [
        ("activation", {"tanh": {}}, ["x"], ["a"]),
        ("reshapeStatic", {"targetShape": [2, 3]}, ["a"], ["y"]),
    ]
    edit = editor(network(layers, {"x": [2, 3]}, ["y"], version=5))
    shapes = edit.document.model.description.input[0].type.multiArrayType.enumeratedShapes
    shapes.shapes.add(shape=[2, 3])
    shapes.shapes.add(shape=[3, 2])
    assert kinds(Editor(edit.document).prune()) == ["activation", "reshapeStatic"]


def test_an_idle_layer_that_gives_an_output() -> None:
    layers = [
        ("activation", {"tanh": {}}, ["x"], ["a"]),
        ("activation", {"linear": {"alpha": 1}}, ["a"], ["y"]),
    ]
    edit = editor(network(layers, {"x": [2]}, ["y"])).prune()
    assert kinds(edit) == ["activation"]
    assert edit.document.network.layers[0].output == ["y"]
    assert edit.prove().ok
    # an input that is handed through needs its layer, and so do two outputs of one value
    edit = editor(network([("activation", {"linear": {"alpha": 1}}, ["x"], ["y"])], {"x": [2]}, ["y"])).prune()
    assert kinds(edit) == ["activation"]
    edit = editor(network(layers, {"x": [2]}, ["a", "y"])).prune()
    assert len(kinds(edit)) == 2


def test_what_nobody_uses_goes() -> None:
    layers = [
        ("activation", {"tanh": {}}, ["x"], ["a"]),
        ("activation", {"sigmoid": {}}, ["a"], ["b"]),
        ("activation", {"ReLU": {}}, ["b"], ["c"]),
        ("activation", {"softsign": {}}, ["a"], ["y"]),
    ]
    edit = editor(network(layers, {"x": [2]}, ["y"])).prune(idle=False)
    assert kinds(edit) == ["activation", "activation"]
    assert edit.steps[0].details["removed"] == ["layer 'activation1' (activation)", "layer 'activation2' (activation)"]
    assert edit.prove().ok


def test_what_trains_stays() -> None:
    layers = [
        ("innerProduct", dense([[1, 2]]), ["x"], ["h"]),
        ("activation", {"linear": {"alpha": 1}}, ["h"], ["i"]),
        ("innerProduct", dense([[2]]), ["i"], ["y"]),
        ("activation", {"tanh": {}}, ["h"], ["extra"]),
    ]
    model = updatable(network(layers, {"x": [2]}, ["extra"], exact=False))
    edit = editor(model).prune()
    assert kinds(edit) == ["innerProduct", "innerProduct", "activation"]
    assert edit.document.network.updateParams.lossLayers[0].meanSquaredErrorLossLayer.input == "y"


# -- pipelines ---------------------------------------------------------------------------------------------------------


def test_taking_a_network_out_of_a_pipeline() -> None:
    from test_edit_names import pipeline

    for which in ("second", 1, "1"):
        edit = editor(pipeline()).take(which)
        assert edit.document.type == "neuralNetwork"
        assert edit.check().ok
    assert editor(pipeline("glmRegressor")).take().load().predict({"x": [1, -1]})["h"].tolist() == [1, 0]
    for which, says in (("third", "no model 'third'"), (2, "there is no 2"), ("", "holds 2 networks")):
        with pytest.raises(InputError, match=says):
            editor(pipeline()).take(which)
    with pytest.raises(UnsupportedError, match="only pipelines"):
        digits().take()
    with pytest.raises(UnsupportedError) as caught:
        editor(pipeline()).prune()
    assert "--take" in caught.value.hint


def test_a_part_that_depends_on_no_input() -> None:
    layers = [
        ("loadConstantND", {"shape": [2], "data": [1.0, 2.0]}, [], ["c"]),
        ("addBroadcastable", {}, ["x", "c"], ["y"]),
    ]
    with pytest.raises(InputError, match="depends on no input"):
        editor(network(layers, {"x": [2]}, ["y"])).cut("c")


def test_an_idle_layer_in_a_loop_that_is_read_outside() -> None:
    """The loop may run no round, so what it writes is not what it reads."""
    model = network([], {"n": [1], "x": [2]}, ["z"], version=4)
    loop = model.neuralNetwork.layers.add(name="loop", input=["n"]).loop
    body = [
        ("activation", {"linear": {"alpha": 1}}, ["x"], ["y"]),
        ("activation", {"linear": {"alpha": 1}}, ["y"], ["inside"]),
        ("activation", {"tanh": {}}, ["inside"], ["last"]),
    ]
    add(loop.bodyNetwork, body)
    add(model.neuralNetwork, [("activation", {"sigmoid": {}}, ["y"], ["z"])])
    edit = editor(model).prune()
    left = edit.document.network.layers[0].loop.bodyNetwork.layers
    assert [list(layer.output) for layer in left] == [["y"], ["last"]]
    assert left[1].input == ["y"]
    for rounds in (0, 2):
        inputs = {"n": [rounds], "x": [1, 2]}
        np.testing.assert_array_equal(edit.load().predict(inputs)["z"], editor(model).load().predict(inputs)["z"])
