"""The quantisation formulas, both ways."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pippin.errors import InputError
from pippin.nnrt.quantize import choose, choose_per_axis, dequantize, limits, quantize, storage
from pippin.nnrt.types import QuantParam


@pytest.mark.parametrize(
    ("bits", "signed", "wanted"),
    [(1, True, (-1, 0)), (2, True, (-2, 1)), (8, True, (-128, 127)), (16, True, (-32768, 32767)),
     (1, False, (0, 1)), (8, False, (0, 255)), (16, False, (0, 65535))],
)  # fmt: skip
def test_limits(bits: int, signed: bool, wanted: tuple[int, int]) -> None:
    assert limits(bits, signed=signed) == wanted


@pytest.mark.parametrize("bits", [0, 17, -1])
def test_widths_beyond_1_to_16_are_refused(bits: int) -> None:
    with pytest.raises(InputError, match="numBits"):
        limits(bits)


@pytest.mark.parametrize(
    ("bits", "signed", "name"), [(4, True, "int8"), (8, False, "uint8"), (9, True, "int16"), (16, False, "uint16")]
)
def test_storage(bits: int, signed: bool, name: str) -> None:
    assert storage(bits, signed=signed).name == name


def test_choose_by_hand() -> None:
    assert choose(-1.0, 1.0, 8) == QuantParam(8, -1, 2 / 255)  # -128 + 127.5 = -0.5, away from zero
    assert choose(0.0, 25.5, 8) == QuantParam(8, -128, 25.5 / 255)
    assert choose(0.0, 25.5, 8, signed=False) == QuantParam(8, 0, 25.5 / 255)
    assert choose(-8.0, 7.0, 4) == QuantParam(4, 0, 1.0)
    assert choose(-1.0, 0.0, 1) == QuantParam(1, 0, 1.0)


def test_nothing_but_zero() -> None:
    assert choose(0.0, 0.0, 8) == QuantParam(8, 0, 0.0)
    assert quantize(np.zeros(3), QuantParam(8, 0, 0.0)).tolist() == [0, 0, 0]
    assert dequantize(np.zeros(3, np.int8), QuantParam(8, 0, 0.0)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("bounds", [(1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0), (1e9, 1e9 + 1e-6)])
def test_ranges_that_have_no_parameters(bounds: tuple[float, float]) -> None:
    with pytest.raises(InputError):
        choose(*bounds)


def test_halves_go_away_from_zero() -> None:
    values = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5])
    assert quantize(values, QuantParam(8, 0, 1.0)).tolist() == [1, 2, 3, -1, -2, -3]


def test_saturation_and_what_is_no_number() -> None:
    values = np.array([1e30, -1e30, np.inf, -np.inf, np.nan])
    assert quantize(values, QuantParam(8, 3, 0.1)).tolist() == [127, -128, 127, -128, 3]
    assert quantize(values, QuantParam(8, 3, 0.1), signed=False).tolist() == [255, 0, 255, 0, 3]
    assert quantize(np.array([9.0, -9.0]), QuantParam(4, 0, 1.0)).tolist() == [7, -8]


def test_per_axis() -> None:
    params = [QuantParam(8, 0, 1.0), QuantParam(8, 10, 0.5)]
    values = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    integers = quantize(values, params, axis=0)
    assert integers.tolist() == [[1, 2, 3], [12, 14, 16]]
    assert dequantize(integers, params, axis=0).tolist() == values.tolist()
    turned = quantize(values.T, params, axis=-1)
    assert turned.tolist() == integers.T.tolist()
    with pytest.raises(InputError, match="slices along axis 1"):
        quantize(values, params, axis=1)
    with pytest.raises(InputError, match="share numBits"):
        quantize(values, [QuantParam(8), QuantParam(4)])
    with pytest.raises(InputError, match="at least one"):
        quantize(values, [])


def test_choose_per_axis() -> None:
    values = np.array([[-1.0, 1.0], [0.0, 4.0], [2.0, 3.0]])
    params = choose_per_axis(values, 0)
    assert params == [choose(-1, 1), choose(0, 4), choose(0, 3)]
    back = dequantize(quantize(values, params, axis=0), params, axis=0)
    assert np.abs(back - values).max() <= 4 / 255


@pytest.mark.parametrize("scale", [np.nan, np.inf, -1.0])
def test_scales_that_are_none(scale: float) -> None:
    with pytest.raises(InputError, match="scale"):
        quantize(np.zeros(1), QuantParam(8, 0, scale))


ranges = st.tuples(st.floats(-1e6, 0), st.floats(1e-3, 1e6))


@given(ranges, st.integers(2, 16), st.booleans(), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_round_trip_within_half_a_step(
    bounds: tuple[float, float], bits: int, signed: bool, places: list[float]
) -> None:
    low, high = bounds
    param = choose(low, high, bits, signed=signed)
    values = low + np.array(places) * (high - low)
    integers = quantize(values, param, signed=signed)
    assert integers.dtype == storage(bits, signed=signed)
    back = dequantize(integers, param, dtype=np.float64)
    assert np.abs(back - values).max() <= param.scale * 1.001  # half a step, and half for the rounded zeroPoint
    assert (quantize(back, param, signed=signed) == integers).all()
