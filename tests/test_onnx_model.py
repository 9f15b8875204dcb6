"""ONNX models with the face of Core ML ones: ours, which keep their manners, and those from elsewhere."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

import pippin
from cases import normal
from pippin.analysis import reference, samples
from pippin.cli import cli

ROOT = Path(__file__).resolve().parents[1]
DIGITS = ROOT / "examples/digits.mlmodel"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "out.onnx"


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def test_what_was_written_behaves_as_the_original(target: Path) -> None:
    pippin.to_onnx(DIGITS, target)
    model, back = pippin.load(DIGITS), pippin.load(target)
    picture = ROOT / "examples/digit-3.png"
    a, b = model.predict({"image": picture}), back.predict({"image": picture})
    assert list(a) == list(b) == ["digit", "probabilities"]
    assert a["digit"] == b["digit"] == 3
    assert b["probabilities"] == pytest.approx(a["probabilities"], abs=1e-6)
    assert back.inputs["image"].kind == "image"
    assert back.labels == model.labels
    again = pickle.loads(pickle.dumps(back))
    assert again.predict([{"image": Image.open(picture)}])[0]["digit"] == 3
    for command in (["run", str(target), str(picture)], ["run", str(DIGITS), str(picture)]):
        done = CliRunner().invoke(cli, command)
        assert done.exit_code == 0, done.output
        assert done.output.startswith("digit: 3")


def test_bytes_and_file_objects_are_told_apart(target: Path) -> None:
    pippin.to_onnx(DIGITS, target)
    for source in (target.read_bytes(), DIGITS.read_bytes()):
        assert pippin.load(source).labels == list(range(10))
    for path in (target, DIGITS):
        with path.open("rb") as file:
            assert pippin.load(file).labels == list(range(10))


def test_blobs_of_both(target: Path) -> None:
    pippin.to_onnx(DIGITS, target)
    model, back = pippin.load(DIGITS), pippin.load(target)
    data = samples.sample(model)
    a, b = model.blobs(data), back.blobs(data)
    common = [name for name in a if name in b and name not in model.inputs]
    assert len(common) >= 8
    for name in common:
        np.testing.assert_allclose(a[name].reshape(-1), b[name].reshape(-1), rtol=1e-5, atol=1e-5)
    (only,) = back.blobs(data, ["conv1"])
    assert only == "conv1"
    for net in (model, back):
        with pytest.raises(pippin.InputError, match=r"no blob 'conv9'\nhint: near: .*conv"):
            net.blobs(data, ["conv9"])


@pytest.mark.parametrize("content", [b"", b"\x08\x0a", b"\x08\x0a\x3a\x00", b"\xff" * 50])
def test_what_is_no_onnx(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.onnx"
    path.write_bytes(content)
    with pytest.raises(pippin.ReadError, match=r"^x\.onnx: "):
        pippin.load(path)


def test_onnx_inputs_are_checked(target: Path) -> None:
    pippin.to_onnx(DIGITS, target, preprocessing="outside")
    back = pippin.load(target)
    for data, text in (
        ({}, "the value is missing"),
        ({"image": np.zeros((1, 1, 8, 8))}, "must have the shape"),
        ({"image": "x"}, "must be an array"),
        ({"picture": 1}, "no input 'picture'"),
    ):
        with pytest.raises(pippin.InputError, match=text):
            back.predict(data)


def test_models_from_elsewhere(tmp_path: Path) -> None:
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])
    table = numpy_helper.from_array(normal(5, 2), "table")
    graph = helper.make_graph([helper.make_node("Gather", ["table", "ids"], ["y"])], "g", [ids], [y], [table])
    path = tmp_path / "gather.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    model = pippin.load(path)
    assert str(model.inputs["ids"]) == "int64 array [0], sizes [1 or more]"
    np.testing.assert_array_equal(model.predict({"ids": [4, 0, 4]})["y"], normal(5, 2)[[4, 0, 4]])
    with pytest.raises(pippin.InputError, match="whole numbers"):
        model.predict({"ids": [0.5]})
    with pytest.raises(pippin.RunError):
        model.predict({"ids": [9]})


def test_the_reference_of_onnx(target: Path) -> None:
    pippin.to_onnx(DIGITS, target)
    back = pippin.load(target)
    data = samples.sample(back)
    found, wanted = reference.onnx_blobs(back, data), back.blobs(data)
    assert set(wanted) <= set(found)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5)
    picture = str(ROOT / "examples/digit-5.png")
    done = run("run", str(target), picture, "--engine", "reference")
    assert done.output.startswith("digit: 5")


def test_inspect(target: Path) -> None:
    pippin.to_onnx(DIGITS, target)
    text = run("inspect", str(target)).output
    for part in (
        "out.onnx: ONNX, opset 20",
        "image 16x16 GRAYSCALE",
        "conv1/Conv",
        "Conv",
        "[1, 8, 16, 16]",
        "float32",
    ):
        assert part in text
    content = json.loads(run("inspect", str(target), "--json").output)
    assert content["type"] == "onnx"
    assert content["labels"] == list(range(10))
    assert [entry["outputs"] for entry in content["layers"]][1] == ["conv1"]
    assert sum(entry["values"] for entry in content["weights"] if entry["encoding"] == "float32") >= 3818
    one = json.loads(run("inspect", str(target), "--layer", "conv1/Conv", "--json").output)
    assert one["parameters"]["kernel_shape"] == [3, 3]
    done = run("inspect", str(target), "--layer", "conv9")
    assert done.exit_code == 1
    assert isinstance(done.exception, pippin.InputError)


def test_check_is_for_other_formats(target: Path) -> None:
    pippin.to_onnx(DIGITS, target, verify="none")
    done = run("check", str(target))
    assert done.exit_code == 2
    assert "is an ONNX model" in done.output
