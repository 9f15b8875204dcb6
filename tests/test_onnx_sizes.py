"""Flexible sizes of an exported model: the graph leaves them open, the metadata says how far they may go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import pippin
from make import network
from pippin.coreml import sizes
from pippin.coreml.features import Feature, Flexibility
from pippin.onnx_model import OnnxModel

DIGITS = Path(__file__).resolve().parents[1] / "examples/digits.mlmodel"


def exported(tmp_path: Path, dims: Any = "declared", **flexible: Any) -> OnnxModel:
    """The convolutions of the example as ONNX, for pictures of several sizes."""
    pippin.edit(DIGITS).cut("conv2").set_flexible("image", **flexible).save(tmp_path / "m.mlmodel")
    result = pippin.to_onnx(tmp_path / "m.mlmodel", tmp_path / "m.onnx", dims=dims, verify="full")
    assert result.ok
    model = pippin.load(tmp_path / "m.onnx")
    assert isinstance(model, OnnxModel)
    return model


def test_ranges_of_a_picture(tmp_path: Path) -> None:
    model = exported(tmp_path, ranges=[(8, 32), (10, None)])
    entry = model.inputs["image"]
    assert (entry.size, entry.flexible) == ((16, 16), Flexibility(ranges=((8, 32), (10, None))))
    assert str(entry) == "image 16x16 GRAYSCALE, sizes [8-32, 10 or more]"
    assert model.predict({"image": np.zeros((50, 32), np.uint8)})["conv2"].shape == (16, 25, 16)
    with pytest.raises(pippin.InputError, match=r"\[8-32, 10 or more\], got 33x10"):
        model.predict({"image": np.zeros((10, 33), np.uint8)})


def test_a_list_of_sizes(tmp_path: Path) -> None:
    model = exported(tmp_path, shapes=[(16, 16), (20, 24)])
    assert str(model.inputs["image"]) == "image 16x16 GRAYSCALE, sizes one of [16, 16], [20, 24]"
    assert model.predict({"image": np.zeros((24, 20), np.uint8)})["conv2"].shape == (16, 12, 10)
    with pytest.raises(pippin.InputError, match="one of"):
        model.predict({"image": np.zeros((20, 24), np.uint8)})


def test_sizes_that_are_closed_stay_so(tmp_path: Path) -> None:
    assert exported(tmp_path, "static", ranges=[(8, 32), (8, 32)]).inputs["image"].flexible is None


def test_arrays(tmp_path: Path) -> None:
    layers: list[Any] = [("activation", {"ReLU": {}}, ["x"], ["y"])]
    message = network(layers, {"x": [3, 8, 8]}, ["y"])
    (tmp_path / "m.mlmodel").write_bytes(message.SerializeToString())
    pippin.edit(tmp_path / "m.mlmodel").set_flexible("x", ranges=[(3, 3), (4, 16), (4, None)]).save(
        tmp_path / "f.mlmodel"
    )
    assert pippin.to_onnx(tmp_path / "f.mlmodel", tmp_path / "m.onnx", verify="full").ok
    assert str(pippin.load(tmp_path / "m.onnx").inputs["x"]) == "float32 array [3, 0, 0], sizes [3, 4-16, 4 or more]"


OPEN = Feature("x", "image", size=(1, 1), color="RGB", flexible=Flexibility(ranges=((1, None), (1, None))))
HALF = Feature("x", "image", size=(1, 8), color="RGB", flexible=Flexibility(ranges=((1, None), (8, 8))))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (OPEN, {}),
        (OPEN, {"usual": [16, 16]}),
        (OPEN, {"usual": [16], "ranges": [[8, 32]]}),
        (OPEN, {"usual": "ab", "ranges": [[8, 32], [8, 32]]}),
        (OPEN, {"usual": [16, True], "ranges": [[8, 32], [8, 32]]}),
        (OPEN, {"usual": [16, -1], "ranges": [[8, 32], [8, 32]]}),
        (OPEN, {"usual": [16, 16], "ranges": [[8, 32], [32, 8]]}),
        (OPEN, {"usual": [16, 16], "ranges": [[8, 32], None]}),
        (OPEN, {"usual": [16, 16], "ranges": [[8, 32], [8, "x"]]}),
        (OPEN, {"usual": [16, 16], "shapes": [[16, 16, 16]]}),
        (OPEN, {"usual": [16, 16], "shapes": [[16, 16]] * 1001}),
        (OPEN, {"usual": [16, 16], "shapes": []}),
        (HALF, {"usual": [16, 16], "ranges": [[8, 32], [8, 8]]}),
        (HALF, {"usual": [16, 8], "ranges": [[8, 32], [8, 32]]}),
        (HALF, {"usual": [16, 8], "shapes": [[16, 8], [16, 9]]}),
    ],
)
def test_what_is_no_list_of_sizes_is_passed_over(entry: Feature, said: dict[str, Any]) -> None:
    assert sizes.restored(entry, said) == entry


def test_what_agrees_with_the_graph_is_taken() -> None:
    found = sizes.restored(HALF, {"usual": [16, 8], "ranges": [[8, 32], [8, 8]]})
    assert (found.size, str(found.flexible)) == ((16, 8), "[8-32, 8]")
    fixed = Feature("x", "image", size=(4, 4), color="RGB")
    assert sizes.note(fixed) == {}
    assert sizes.restored(fixed, {"usual": [8, 8], "ranges": [[8, 32], [8, 32]]}) == fixed


def test_metadata_of_another_kind(tmp_path: Path) -> None:
    exported(tmp_path, ranges=[(8, 32), (8, 32)])
    proto = onnx.load(str(tmp_path / "m.onnx"))
    (kept,) = [entry for entry in proto.metadata_props if entry.key == "pippin"]
    own = json.loads(kept.value)
    for wrong in ([], "x", {"usual": 3}, {"usual": [8, 8], "ranges": 7}):
        own["features"]["image"]["sizes"] = wrong
        kept.value = json.dumps(own)
        model = pippin.load(proto.SerializeToString())
        assert str(model.inputs["image"]) == "image GRAYSCALE, sizes [1 or more, 1 or more]"
