"""An exported network answers in the shapes that ``predict`` answers in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

import pippin
from cases import normal
from make import network
from pippin.coreml import export
from pippin.errors import VerifyError

CONV = {"outputChannels": 2, "kernelChannels": 3, "kernelSize": [1, 1], "weights": normal(2, 3, 1, 1), "valid": {}}
COLUMNS = {"outputChannels": 3, "kernelChannels": 1, "kernelSize": [4, 1], "weights": normal(3, 1, 4, 1), "valid": {}}


def same_shapes(model: Any, x: np.ndarray, target: Path) -> None:
    data = model.SerializeToString()
    wanted = pippin.load(data).predict({"x": x})["y"]
    pippin.to_onnx(data, target)
    session = ort.InferenceSession(str(target))
    (answer,) = session.run(None, {"x": x})
    assert answer.shape == wanted.shape
    np.testing.assert_allclose(answer, wanted, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 1, 3, 4, 5), (2, 2, 1, 3, 4, 5)])
def test_leading_axes(shape: tuple[int, ...], tmp_path: Path) -> None:
    model = network([("convolution", CONV, ["x"], ["y"])], {"x": shape}, ["y"])
    same_shapes(model, normal(*shape), tmp_path / "out.onnx")


def test_a_legacy_sequence(tmp_path: Path) -> None:
    dense = {"inputChannels": 3, "outputChannels": 5, "weights": normal(5, 3)}
    layers = [
        ("convolution", COLUMNS, ["x"], ["c"]),
        ("permute", {"axis": [3, 1, 2, 0]}, ["c"], ["p"]),
        ("innerProduct", dense, ["p"], ["y"]),
    ]
    model = network(layers, {"x": [1, 4, 6]}, ["y"], exact=False, version=1)
    same_shapes(model, normal(1, 4, 6), tmp_path / "out.onnx")


def test_the_proof_sees_a_shape_that_predict_does_not_answer_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = network([("convolution", CONV, ["x"], ["y"])], {"x": (3, 4, 5)}, ["y"], exact=False).SerializeToString()
    assert pippin.to_onnx(data, tmp_path / "right.onnx").ok
    monkeypatch.setattr(export, "_answer", lambda g, value, *_: g.sizes(value))
    with pytest.raises(VerifyError, match=r"'y' with seed 0: shapes differ: \[1, 2, 4, 5\] and \[2, 4, 5\]"):
        pippin.to_onnx(data, tmp_path / "wrong.onnx")


@pytest.mark.parametrize("declared", [(), (2, 4, 5)])
def test_an_open_batch_stays_in_front(declared: tuple[int, ...], tmp_path: Path) -> None:
    model = network([("convolution", CONV, ["x"], ["y"])], {"x": (3, 4, 5)}, ["y"], exact=False)
    model.description.output[0].type.multiArrayType.shape.extend(declared)
    made = pippin.to_onnx(model.SerializeToString(), tmp_path / "out.onnx", dims="symbolic")
    assert made.ok
    assert made.proof.trials
    session = ort.InferenceSession(str(tmp_path / "out.onnx"))
    assert session.run(None, {"x": normal(7, 3, 4, 5)})[0].shape == (7, 2, 4, 5)


def test_a_state_of_open_size_is_proven_with_its_default(tmp_path: Path) -> None:
    lstm = {"inputVectorSize": 3, "outputVectorSize": 4, "activations": [{"sigmoid": {}}, {"tanh": {}}, {"tanh": {}}]}
    names = [f"{gate}Gate{kind}Matrix" for kind in ("Weight", "Recursion") for gate in ("input", "forget", "output")]
    weights = {name: normal(4, 3 if "Weight" in name else 4) for name in names}
    weights |= {"blockInputWeightMatrix": normal(4, 3), "blockInputRecursionMatrix": normal(4, 4)}
    layer = lstm | {"params": {}, "weightParams": weights}
    model = network(
        [("uniDirectionalLSTM", layer, ["x", "h", "c"], ["y", "h2", "c2"])],
        {"x": (3,), "h": (4,), "c": (4,)},
        ["y", "h2", "c2"],
        exact=False,
        version=4,
    )
    for entry in model.description.input[1:]:
        entry.type.isOptional = True
    made = pippin.to_onnx(model.SerializeToString(), tmp_path / "out.onnx", dims="symbolic")
    assert made.ok
    assert made.proof.trials


def test_a_batch_by_another_name(tmp_path: Path) -> None:
    model = network([("convolution", CONV, ["x"], ["y"])], {"x": (3, 4, 5)}, ["y"], exact=False)
    model.description.output[0].type.multiArrayType.shape.extend((2, 20))
    assert pippin.to_onnx(model.SerializeToString(), tmp_path / "out.onnx", dims={"x": ["n", 3, 4, 5]}).ok
    session = ort.InferenceSession(str(tmp_path / "out.onnx"))
    assert session.run(None, {"x": normal(7, 3, 4, 5)})[0].shape == (7, 2, 20)


@pytest.mark.parametrize(
    ("dims", "wanted"),
    [
        ((4, 3, 4, 5), (4, 2, 4, 5)),
        (("n", 3, 4, 5), (7, 2, 4, 5)),
        ((1, 4, 3, 4, 5), (1, 4, 2, 4, 5)),
        ((2, 4, 3, 4, 5), (2, 4, 2, 4, 5)),
        (("s", "n", 3, 4, 5), (7, 7, 2, 4, 5)),
        ((1, "n", 3, 4, 5), (1, 7, 2, 4, 5)),
    ],
)
def test_axes_in_front_stay_as_they_are_given(
    dims: tuple[int | str, ...], wanted: tuple[int, ...], tmp_path: Path
) -> None:
    data = network([("convolution", CONV, ["x"], ["y"])], {"x": (3, 4, 5)}, ["y"], exact=False).SerializeToString()
    assert pippin.to_onnx(data, tmp_path / "out.onnx", dims={"x": dims}).ok
    session = ort.InferenceSession(str(tmp_path / "out.onnx"))
    x = normal(*(7 if isinstance(dim, str) else dim for dim in dims))
    (found,) = session.run(None, {"x": x})
    assert found.shape == wanted
    if len(wanted) == 5:
        np.testing.assert_allclose(found, pippin.load(data).predict({"x": x})["y"], atol=1e-5)
