"""Weights in every encoding, against values worked out by hand or by NumPy's own bit functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cases import fill, half, linear, lookup
from pippin.coreml import schema
from pippin.coreml.weights import Weights, pack_bits, unpack_bits
from pippin.errors import CheckError


def params(content: Any) -> Any:
    message = schema.WeightParams()
    fill(message, content)
    return message


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 63, 64, 65, 1001])
def test_bits_are_packed_most_significant_first(bits: int, count: int) -> None:
    values = np.random.default_rng([bits, count]).integers(0, 1 << bits, count).astype(np.uint8)
    text = "".join(f"{value:0{bits}b}" for value in values)
    text += "0" * (-len(text) % 8)
    packed = bytes(int(text[i : i + 8], 2) for i in range(0, len(text), 8))
    np.testing.assert_array_equal(pack_bits(values, bits), np.frombuffer(packed, np.uint8))
    np.testing.assert_array_equal(unpack_bits(np.frombuffer(packed, np.uint8), bits, count), values)


def test_float16() -> None:
    message = params(half([1.5, -2.25, 65504]))
    np.testing.assert_array_equal(Weights().array(message, (3,)), np.float32([1.5, -2.25, 65504]))
    assert str(Weights().encoding(message)) == "float16"


def test_linear_per_tensor_and_per_channel() -> None:
    message = params(linear([[0, 1], [2, 3]], 2, 0.5, -1))
    np.testing.assert_array_equal(Weights().array(message, (2, 2)), np.float32([[-1, -0.5], [0, 0.5]]))
    message = params(linear([[0, 1], [2, 3]], 2, [1, 10], [0, 100]))
    np.testing.assert_array_equal(Weights().array(message, (2, 2)), np.float32([[0, 1], [120, 130]]))
    np.testing.assert_array_equal(Weights().array(message, (2, 2), axis=1), np.float32([[0, 110], [2, 130]]))
    assert str(Weights().encoding(message)) == "linear 2 bit, per channel"


def test_a_scale_for_channels_that_lie_on_two_axes() -> None:
    """Two groups of one input and two output channels each: four scales."""
    message = params(linear([1, 1, 1, 1], 4, [1, 2, 3, 4]))
    np.testing.assert_array_equal(Weights().array(message, (2, 1, 2), axis=(0, 2)), np.float32([[[1, 2]], [[3, 4]]]))


def test_lookup_table() -> None:
    message = params(lookup([3, 0, 1, 2, 3], 2, [0.1, 0.2, 0.3, 7]))
    np.testing.assert_array_equal(Weights().array(message, (5,)), np.float32([7, 0.1, 0.2, 0.3, 7]))


@pytest.mark.parametrize("bits", range(1, 9))
def test_surplus_bytes_are_not_looked_at(bits: int) -> None:
    """Apple's own check lets them pass."""
    content = linear([1, 0, 1, 1, 0], bits, 2)
    content["rawValue"] += b"\xff" * 9
    np.testing.assert_array_equal(Weights().array(params(content), (5,)), np.float32([2, 0, 2, 2, 0]))


def test_int8() -> None:
    content = {"int8RawValue": np.int8([-128, 0, 127]).tobytes()}
    message = params(content | {"quantization": {"numberOfBits": 8, "linearQuantization": {"scale": [0.5]}}})
    values, scale = Weights().int8(message, (3,))
    assert values.tolist() == [-128, 0, 127]
    assert scale == 0.5
    np.testing.assert_array_equal(Weights().array(message, (3,)), np.float32([-64, 0, 63.5]))


@pytest.mark.parametrize(
    ("content", "shape", "message"),
    [
        ({"floatValue": [1, 2]}, (3,), r"must hold 3 values \[3\], got 2"),
        ({}, (3,), "got none"),
        ({"floatValue": [1], "float16Value": b"\0\0"}, (1,), "one encoding"),
        ({"float16Value": b"\0\0\0"}, (2,), r"got 1\.5"),
        (linear([0] * 8, 1, 1), (9,), "9 values of 1 bits"),
        (linear([0, 1], 2, [1, 2, 3]), (2,), "scale must hold 1 or 2 values, got 3"),
        (linear([0, 1], 2, 1, [1, 2, 3]), (2,), "bias must hold 1 or 2 values, got 3"),
        (lookup([0, 1], 2, [1, 2, 3]), (2,), "table must hold 4 values, got 3"),
        ({"rawValue": b"\0", "quantization": {"numberOfBits": 0}}, (1,), "numberOfBits"),
        ({"rawValue": b"\0", "quantization": {"numberOfBits": 9}}, (1,), "numberOfBits"),
    ],
)
def test_what_does_not_fit_is_refused(content: Any, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(CheckError, match=message):
        Weights().array(params(content), shape)
