"""From the editor into a file: checked, proven, all or nothing, and nothing lost that nobody knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import Message

import pippin
from make import dense, network, picture_network
from pippin.coreml import schema
from pippin.coreml.edit import Editor, Step
from pippin.coreml.edit.insert import store_floats
from pippin.coreml.read import Document
from pippin.errors import CheckError, InputError, VerifyError, WriteError

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DIGITS = EXAMPLES / "digits.mlmodel"
SEVEN = EXAMPLES / "digit-7.png"


def editor(model: Any) -> Editor:
    return pippin.edit(model.SerializeToString())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def lie(document: Document, effect: str = "equal") -> Step:
    """An edit that changes weights and says that it does not."""
    params = document.network.layers[-2].innerProduct.weights
    store_floats(document, params, np.zeros(2560))
    return Step("do nothing", effect)  # type: ignore[arg-type]


def test_chained_edits_of_a_file(tmp_path: Path) -> None:
    target = tmp_path / "small.mlmodel"
    saved = pippin.edit(DIGITS).rename_input("image", "picture").quantize(4, skip=["conv1"]).save(target)
    assert saved.size == target.stat().st_size < DIGITS.stat().st_size / 2
    assert saved.report.ok
    assert saved.proof is not None
    assert [trial.effect for trial in saved.proof.trials] == ["equal", "close"]
    assert saved.proof.trials[0].differences["probabilities"].absolute == 0
    assert saved.proof.trials[1].differences["probabilities"].absolute > 0
    assert pippin.load(target).predict({"picture": SEVEN})["digit"] == 7


def test_what_can_be_opened(tmp_path: Path) -> None:
    model = pippin.load(DIGITS)
    with DIGITS.open("rb") as file:
        for source in (DIGITS, str(DIGITS), DIGITS.read_bytes(), file, model, model.document):
            assert pippin.edit(source).document.model == model.document.model
    # what was opened is not touched
    pippin.edit(model).rename_input("image", "x").quantize(1)
    assert model.predict({"image": SEVEN})["digit"] == 7


def test_a_file_is_written_over_in_place(tmp_path: Path) -> None:
    target = tmp_path / "m.mlmodel"
    target.write_bytes(DIGITS.read_bytes())
    target.chmod(0o640)
    pippin.edit(target).set_metadata(author="Ada").save(target)
    assert pippin.load(target).metadata["author"] == "Ada"
    assert target.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["m.mlmodel"]


def test_a_lie_is_found_and_not_written(tmp_path: Path) -> None:
    target = tmp_path / "m.mlmodel"
    target.write_bytes(b"before")
    edit = pippin.edit(DIGITS).apply(lie)
    with pytest.raises(VerifyError, match="answers otherwise than it must"):
        edit.save(target)
    assert target.read_bytes() == b"before"
    assert names(tmp_path) == ["m.mlmodel"]
    assert not edit.prove().ok
    assert "apart" in str(edit.prove())
    # the same edit is fine for one who says what it does
    assert pippin.edit(DIGITS).apply(lie, "differs").save(target).proof is not None
    edit.save(target, force=True)
    edit.save(target, proof=False)


def test_the_lie_is_told_from_the_edits_around_it() -> None:
    edit = pippin.edit(DIGITS).rename_input("image", "x").quantize(8).apply(lie).set_labels([*range(10, 20)])
    assert [trial.ok for trial in edit.prove().trials] == [True, True, False]


def test_a_bad_result_is_not_written(tmp_path: Path) -> None:
    def spoil(document: Document) -> Step:
        document.network.layers[1].input[0] = "nothing"
        return Step("spoil", "equal")

    edit = pippin.edit(DIGITS).apply(spoil)
    with pytest.raises(CheckError, match="would be bad") as caught:
        edit.save(tmp_path / "m.mlmodel")
    assert "nothing" in str(caught.value)
    assert names(tmp_path) == []
    trial = edit.prove().trials[0]
    assert not trial.ok
    assert "does not run any more" in trial.problem


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    edit = pippin.edit(DIGITS).set_metadata(author="Ada")
    with pytest.raises(WriteError, match="No such file"):
        edit.save(tmp_path / "none/m.mlmodel")
    with pytest.raises(WriteError, match="package"):
        edit.save(tmp_path / "m.mlpackage")


# -- unknown fields ----------------------------------------------------------------------------------------------------


def mark(message: Message, count: int = 0) -> int:
    """Puts a field that nobody knows, with a number of its own, into every message; returns how many there are."""
    for field, value in message.ListFields():
        if field.message_type is None or (field.message_type.GetOptions().map_entry):
            continue
        for item in value if hasattr(value, "add") else [value]:
            count = mark(item, count)
    message.MergeFromString(b"\xc2\xb8\x02\x08<%05d>\x00" % count)  # field 5000, 8 bytes
    return count + 1


def marks(data: bytes) -> set[bytes]:
    import re

    return set(re.findall(rb"\xc2\xb8\x02\x08<\d{5}>\x00", data))


def test_fields_that_nobody_knows_survive_every_edit() -> None:
    model = schema.Model.FromString(DIGITS.read_bytes())
    number = mark(model)
    data = model.SerializeToString()
    assert len(marks(data)) == number > 30
    edit = pippin.edit(data)
    edit.rename_input("image", "x").rename_blob("conv1", "c").rename_layer("conv2", "two").clean_names(blobs=True)
    edit.describe("x", "a picture").set_metadata(author="Ada", own="1").set_flexible("x", shapes=[(16, 16)]).set_fixed(
        "x"
    )
    edit.add_output("logits").set_dtype("logits", "float64").remove_output("logits").set_optional("x", False)
    edit.quantize(8, everything=True)
    assert marks(edit.to_bytes()) == marks(data)
    # what goes takes its own fields along and no others: the quantisation, the labels, the preprocessing, a layer
    before = marks(edit.to_bytes())
    edit.expand()
    assert marks(edit.to_bytes()) == before
    assert len(before - marks(edit.set_labels([f"{n}" for n in range(10)]).to_bytes())) <= 4
    before = marks(edit.to_bytes())
    assert len(before - marks(edit.input_to_array("x").to_bytes())) <= 3
    before = marks(edit.to_bytes())
    assert len(before - marks(edit.cut("logits").to_bytes())) <= 12
    assert edit.load().predict({"x": np.zeros((1, 16, 16))})["logits"].shape == (10,)


def test_bytes_of_weights_that_are_not_edited_stay() -> None:
    """In floats of all packings: bit patterns of not-a-number too."""
    odd = np.frombuffer(np.array([0x7FC00001, 0xFFC12345, 0x80000000], "<u4").tobytes(), "<f4")
    params = {"outputChannels": 1, "inputChannels": 3}
    model = network([("innerProduct", params, ["x"], ["y"])], {"x": [3]}, ["y"], exact=False)
    model.neuralNetwork.layers[0].innerProduct.weights.MergeFromString(b"\x0a\x0c" + odd.tobytes())
    edit = editor(model).rename("x", "z")
    assert odd.tobytes() in edit.to_bytes()


# -- state -------------------------------------------------------------------------------------------------------------


def test_undo() -> None:
    edit = pippin.edit(DIGITS).rename_input("image", "x").quantize(4)
    middle = edit.state(1).model
    edit.undo()
    assert edit.document.model == middle
    assert len(edit.steps) == 1
    edit.undo()
    assert edit.diff() == []
    assert str(edit) == "nothing changes"
    with pytest.raises(InputError, match="0 edits"):
        edit.undo()
    edit.quantize(4).quantize(8).undo(2)
    assert edit.to_bytes() == pippin.edit(DIGITS).to_bytes()


def test_an_edit_that_fails_leaves_no_trace() -> None:
    edit = pippin.edit(DIGITS)
    before = edit.to_bytes()
    for act in (
        lambda: edit.rename({"image": "x", "nothing": "y"}),
        lambda: edit.set_flexible("image", ranges=[(8, 32), (8, 32)]),  # the dense layer pins the size
        lambda: edit.set_preprocessing("image", mean=0.5, std=0),
        lambda: edit.set_labels(["a"]),
        lambda: edit.set_labels([2**70 + n for n in range(10)]),
        lambda: edit.set_metadata(author=3),  # type: ignore[arg-type]
        lambda: edit.rename_input("image", "\ud800"),
        lambda: edit.set_size("image", (2**70, 1)),
        lambda: edit.set_optional("image", default=1.0),
    ):
        with pytest.raises(pippin.PippinError) as caught:
            act()
        assert str(caught.value).startswith("digits.mlmodel: ")
        assert edit.to_bytes() == before
        assert edit.steps == []


# -- differences -------------------------------------------------------------------------------------------------------


def test_the_difference_for_people() -> None:
    edit = pippin.edit(DIGITS).rename_input("image", "picture").set_metadata(author="Ada", note="new")
    edit.quantize(4, layers=["dense"]).rename_layer("conv1", "first").input_to_array("picture")
    assert str(edit).splitlines() == [
        "model",
        "  ~ specificationVersion: 1 -> 3",
        "metadata",
        "  ~ author: The Pippin authors -> Ada",
        "  + note: new",
        "inputs",
        "  - image: image 16x16 GRAYSCALE (a digit, white on black)",
        "  + picture: float32 array [1, 16, 16] (a digit, white on black)",
        "preprocessing",
        "  - image: pixel x 0.00392157",
        "layers",
        "  ~ number: 9 -> 10",
        "  + picture_scaler: picture_scaler = scale(picture)",
        "  ~ name: 'conv1' -> 'first'",
        "  ~ conv1: conv1 = convolution(image) -> conv1 = convolution(picture_scaler)",
        "weights",
        "  ~ dense weights: float32, 10.2 kB -> linear 4 bit, per channel, 1.3 kB",
    ]


def test_the_difference_as_data() -> None:
    changes = pippin.edit(DIGITS).cut("conv1").diff()
    kinds = {(change.section, change.to_dict()["change"]) for change in changes}
    assert ("layers", "removed") in kinds
    assert ("labels", "removed") in kinds
    assert ("outputs", "added") in kinds
    json.dumps([change.to_dict() for change in changes])


# -- proof -------------------------------------------------------------------------------------------------------------


def test_own_inputs_are_run() -> None:
    edit = pippin.edit(DIGITS).quantize(1)
    proof = edit.prove([{"image": EXAMPLES / f"digit-{n}.png"} for n in range(10)], seeds=())
    (trial,) = proof.trials
    assert trial.runs == 10
    assert trial.labels > 0
    assert trial.ok, "it may differ, and it is shown"
    with pytest.raises(InputError):
        edit.prove([{"picture": SEVEN}])


def test_networks_that_cannot_be_run_are_no_failure(tmp_path: Path) -> None:
    layers = [("custom", {"className": "Mine"}, ["x"], ["h"]), ("innerProduct", dense([[1, 2]]), ["h"], ["y"])]
    edit = editor(network(layers, {"x": [2]}, ["y"], exact=False)).rename("x", "z").quantize(8)
    proof = edit.prove()
    assert proof.ok
    assert all("custom layer 'Mine'" in trial.unproven for trial in proof.trials)
    proof = edit.prove(custom_layers={"Mine": lambda inputs, params: inputs})
    assert [trial.unproven for trial in proof.trials] == ["", ""]
    assert edit.save(tmp_path / "m.mlmodel").report.ok


def test_random_layers_are_not_compared() -> None:
    layers = [
        ("randomNormalLike", {"stdDev": 1, "seed": -1}, ["x"], ["n"]),
        ("addBroadcastable", {}, ["x", "n"], ["y"]),
    ]
    proof = editor(network(layers, {"x": [5]}, ["y"])).rename("x", "z").prove()
    assert "random numbers" in proof.trials[0].unproven
    layers[0][1]["seed"] = 3  # type: ignore[index]
    assert editor(network(layers, {"x": [5]}, ["y"])).rename("x", "z").prove().trials[0].differences["y"].ok


def test_a_run_that_needs_too_much_is_left_out() -> None:
    proof = pippin.edit(DIGITS).rename("image", "x").prove(max_memory=1000)
    assert "max_memory" in proof.trials[0].unproven
    assert proof.ok


def test_what_touches_nothing_that_runs_is_not_run() -> None:
    edit = pippin.edit(DIGITS).set_metadata(author="x").describe("image", "y").fix_preprocessing()
    assert edit.prove().trials == []
    assert str(edit.prove()) == "nothing that runs was changed"


def test_pictures_are_compared_in_levels() -> None:
    model = picture_network([("activation", {"linear": {"alpha": 1}}, ["image"], ["y"])])
    edit = editor(model).output_to_image("y")

    def brighter(document: Document) -> Step:
        document.network.layers[0].activation.linear.beta = 2
        return Step("brighter", "equal")

    assert edit.prove().ok
    assert not edit.apply(brighter).prove().ok


def test_the_same_model_is_the_same_file() -> None:
    """Maps have no order of their own."""
    edit = pippin.edit(DIGITS).set_metadata({f"key {n}": str(n) for n in range(50)})
    assert pippin.edit(edit.to_bytes()).to_bytes() == edit.to_bytes()


def test_an_ml_program_is_not_parted_from_its_weights(tmp_path: Path) -> None:
    inside = tmp_path / "net.mlpackage/Data/com.apple.CoreML"
    (inside / "weights").mkdir(parents=True)
    (inside / "weights/weight.bin").write_bytes(b"\0" * 64)
    entry = {"path": "com.apple.CoreML/model.mlmodel", "name": "model.mlmodel", "author": "com.apple.CoreML"}
    manifest = {"rootModelIdentifier": "A", "itemInfoEntries": {"A": entry}, "fileFormatVersion": "1.0.0"}
    (tmp_path / "net.mlpackage/Manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    program = schema.Model(specificationVersion=6)
    program.description.input.add(name="x").type.multiArrayType.dataType = 65568
    program.description.output.add(name="y").type.multiArrayType.dataType = 65568
    program.mlProgram.SetInParent()
    for model in (program, pipeline_of(program)):
        (inside / "model.mlmodel").write_bytes(model.SerializeToString())
        edit = pippin.edit(tmp_path / "net.mlpackage").set_metadata(author="Ada")
        with pytest.raises(WriteError, match="has its weights in its package"):
            edit.save(tmp_path / "out.mlmodel", proof=False, force=True)
        assert not (tmp_path / "out.mlmodel").exists()
        edit.save(inside / "model.mlmodel", proof=False, force=True)
        assert pippin.edit(tmp_path / "net.mlpackage").document.model.description.metadata.author == "Ada"


def pipeline_of(model: Any) -> Any:
    whole = schema.Model(specificationVersion=6)
    whole.description.CopyFrom(model.description)
    whole.pipeline.models.add().CopyFrom(model)
    return whole
