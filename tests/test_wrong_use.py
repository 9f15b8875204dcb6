"""What a careless caller hands in: refused by name, or taken for what it plainly is; never a foreign error."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import pippin
from make import network, picture_network
from pippin.errors import CheckError, DeviceError, InputError, PippinError, ReadError, UnsupportedError

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DIGITS = EXAMPLES / "digits.mlmodel"
COPY = ("activation", {"linear": {"alpha": 1, "beta": 0}}, ["image"], ["y"])
SQUARE = ("multiply", {}, ["x", "x"], ["y"])


def load(model: Any, **options: Any) -> Any:
    return pippin.load(model.SerializeToString(), **options)


@pytest.mark.parametrize("data", [None, 5, "x", b"x", [None], [[1]], np.zeros(2), [{"image": 1}, 2]], ids=repr)
def test_inputs_that_are_no_dict(data: Any) -> None:
    with pytest.raises(InputError, match="must be a dict of values by input name"):
        pippin.load(DIGITS).predict(data)


def test_a_generator_is_a_list() -> None:
    answers = pippin.load(DIGITS).predict({"image": EXAMPLES / f"digit-{d}.png"} for d in (3, 5))
    assert [answer["digit"] for answer in answers] == [3, 5]


@pytest.mark.parametrize("key", [None, 1])
def test_names_that_are_no_strings(key: Any) -> None:
    with pytest.raises(InputError, match="'image': the value is missing"):
        pippin.load(DIGITS).predict({key: 1})


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"threads": 0}, InputError),
        ({"threads": -1}, InputError),
        ({"threads": 2.5}, InputError),
        ({"threads": "2"}, InputError),
        ({"threads": 10**12}, InputError),
        ({"max_memory": "1GB"}, InputError),
        ({"max_memory": 0}, InputError),
        ({"device": None}, DeviceError),
        ({"precision": "int4"}, InputError),
        ({"precision": 16}, InputError),
        ({"custom_layers": [1]}, InputError),
        ({"custom_layers": {"A": 1}}, InputError),
    ],
    ids=repr,
)
def test_options_of_load(options: dict[str, Any], error: type[PippinError]) -> None:
    with pytest.raises(error, match=next(iter(options))):
        pippin.load(DIGITS, **options)


@pytest.mark.parametrize("value", ["a", float("nan"), True], ids=repr)
def test_a_time_limit_is_a_number(value: Any) -> None:
    with pytest.raises(InputError, match="timeout"):
        pippin.load(DIGITS).predict({"image": EXAMPLES / "digit-7.png"}, timeout=value)


@pytest.mark.parametrize("value", [float("inf"), 1e300])
def test_a_time_limit_beyond_all_time_is_none(value: float, recwarn: pytest.WarningsRecorder) -> None:
    answer = pippin.load(DIGITS).predict({"image": EXAMPLES / "digit-7.png"}, timeout=value)
    assert answer["digit"] == 7
    assert not recwarn.list  # pytest turns an exception in a thread into a warning


@pytest.mark.parametrize("options", [{"precision": "float16"}, {"strict": True}, {"max_memory": 5}, {"device": "cuda"}])
def test_onnx_refuses_what_it_does_not_heed(options: dict[str, Any], tmp_path: Path) -> None:
    pippin.to_onnx(DIGITS, tmp_path / "d.onnx")
    with pytest.raises(UnsupportedError, match=next(iter(options))):
        pippin.load(tmp_path / "d.onnx", **options)
    with pytest.raises(UnsupportedError, match=next(iter(options))):
        pippin.load(io.BytesIO((tmp_path / "d.onnx").read_bytes()), **options)


@pytest.mark.parametrize("shapes", [[{"image": (17, 16)}], [{"image": "a"}], [{"image": (1,)}], [{"imag": (1, 2)}]])
def test_warm_up_refuses_shapes_that_do_not_fit(shapes: Any) -> None:
    with pytest.raises(InputError):
        pippin.load(DIGITS).warm_up(shapes)


def test_warm_up_of_a_closed_model() -> None:
    model = pippin.load(DIGITS)
    model.close()
    with pytest.raises(InputError, match="closed"):
        model.warm_up([{}])


def test_the_state_of_another_kind() -> None:
    with pytest.raises(InputError, match="new_state"):
        pippin.load(DIGITS).predict({"image": EXAMPLES / "digit-7.png"}, state=5)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("layer", "bad"),
    [
        (("crop", {"cropAmounts": {"borderAmounts": [{"startEdgeSize": 2}, {}]}}), (1, 2, 2)),
        (("padding", {"reflection": {}, "paddingAmounts": {"borderAmounts": [{"startEdgeSize": 3}, {}]}}), (1, 3, 3)),
        (("pooling", {"type": 0, "kernelSize": [3, 3], "stride": [1, 1], "valid": {}}), (1, 2, 3)),
        (("bias", {"shape": [2, 1, 1], "bias": np.ones(2)}), (1, 4, 4)),
    ],
    ids=lambda value: value[0] if isinstance(value[0], str) else None,
)
def test_the_plan_for_all_sizes_refuses_what_others_refuse(layer: Any, bad: tuple[int, ...]) -> None:
    """The third distinct shape and those after it are served by one plan, which does not know the sizes."""
    kind, params = layer
    channels = 2 if kind == "bias" else 1
    model = network([(kind, params, ["x"], ["y"])], {"x": [1, channels, 5, 5]}, ["y"])
    ranges = model.description.input[0].type.multiArrayType.shapeRange
    for _ in range(4):
        ranges.sizeRanges.add(lowerBound=1, upperBound=-1)
    net = load(model)
    # the number of channels becomes unknown only where the third shape differs in it
    for size in (5, 6) if kind == "bias" else (5, 6, 7, 8):
        net.predict({"x": np.ones((1, channels, size, size))})
    for _ in range(2):
        with pytest.raises(CheckError, match=kind):
            net.predict({"x": np.ones((1, *bad))})
    assert net.predict({"x": np.ones((1, channels, 9, 9))})["y"].size


# -- precision -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("precision", "step"), [("float16", 2.0**-10), ("bfloat16", 2.0**-7)])
def test_precision_rounds_blobs(precision: str, step: float) -> None:
    model = network([SQUARE], {"x": [3]}, ["y"])
    x = np.array([1 + step, 1 + step / 4, 1.5], np.float32)
    answer = load(model, precision=precision).predict({"x": x})["y"]
    np.testing.assert_array_equal(answer, np.array([1 + 2 * step, 1, 2.25], np.float32))
    np.testing.assert_array_equal(load(model, precision="float32").predict({"x": x})["y"], x * x)


def test_precision_rounds_weights_and_shows_overflow() -> None:
    scale = {"shapeScale": [1], "scale": {"floatValue": [1 + 2**-12]}}
    model = network([("scale", scale, ["x"], ["y"])], {"x": [1, 1, 2]}, ["y"], exact=False)
    answer = load(model, precision="float16").predict({"x": np.array([[[4096, 70000]]], np.float32)})["y"]
    np.testing.assert_array_equal(answer.reshape(-1), [4096, np.inf])
    assert load(model).predict({"x": np.full((1, 1, 2), 4096)})["y"].reshape(-1)[0] == 4097


# -- pictures --------------------------------------------------------------------------------------------------------


def test_sixteen_bit_pictures_are_scaled_not_clipped(tmp_path: Path) -> None:
    levels = np.arange(12, dtype=np.uint16).reshape(3, 4) * 20
    Image.fromarray(levels * 257).save(tmp_path / "p.png")
    net = load(picture_network([COPY], color=10))
    np.testing.assert_array_equal(net.predict({"image": tmp_path / "p.png"})["y"][0], levels)


@pytest.mark.parametrize("mode", ["I", "F"])
def test_levels_beyond_a_byte_are_refused(mode: str) -> None:
    picture = Image.fromarray(np.full((3, 4), 1000, np.int32)).convert(mode)
    with pytest.raises(InputError, match="levels from 0 to 255"):
        load(picture_network([COPY], color=10)).predict({"image": picture})


def test_modes_that_cannot_be_converted() -> None:
    with pytest.raises(InputError, match="LAB"):
        load(picture_network([COPY], color=10)).predict({"image": Image.new("LAB", (4, 3))})


def test_pictures_in_files_are_turned_as_people_see_them(tmp_path: Path) -> None:
    levels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    held = Image.fromarray(np.ascontiguousarray(np.rot90(levels)))
    exif = held.getexif()
    exif[0x0112] = 6
    held.save(tmp_path / "p.png", exif=exif)
    net = load(picture_network([COPY], color=10))
    np.testing.assert_array_equal(net.predict({"image": tmp_path / "p.png"})["y"][0], levels)


def test_the_size_is_looked_at_before_pixels_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import ImageFile

    Image.new("L", (50, 50)).save(tmp_path / "p.png")
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: pytest.fail("the pixels were decoded"))
    with pytest.raises(InputError, match="got 50x50"):
        load(picture_network([COPY])).predict({"image": tmp_path / "p.png"})


# -- files that are none ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["mlmodel", "onnx"])
def test_a_zero_in_the_path(ending: str) -> None:
    with pytest.raises(ReadError, match="null byte"):
        pippin.load(f"a\0b.{ending}")


def test_a_device_file_is_not_read_for_ever() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("there is no /dev/zero")
    with pytest.raises(ReadError, match="device"):
        pippin.load("/dev/zero")


def test_a_web_page_saved_as_a_model() -> None:
    with pytest.raises(ReadError, match="web page"):
        pippin.load(b"<!DOCTYPE html>\n<html>\n" + b"<p>Not here</p>\n" * 1000)


def test_one_number_for_one_element() -> None:
    assert load(network([SQUARE], {"x": [1, 1]}, ["y"])).predict({"x": 3})["y"].tolist() == [[9]]


def test_numbers_that_float32_cannot_hold(recwarn: pytest.WarningsRecorder) -> None:
    answer = load(network([SQUARE], {"x": [1]}, ["y"])).predict({"x": [1e300]})["y"]
    assert answer.tolist() == [np.inf]
    assert not recwarn.list
