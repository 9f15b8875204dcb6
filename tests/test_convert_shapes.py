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
