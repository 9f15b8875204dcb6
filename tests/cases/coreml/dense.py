"""Rows of the fully connected and the embedding layer."""
# ruff: noqa: E501 - one row a line

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cases import Case, half, linear, lookup, normal

row = partial(Case, "innerProduct")
look = partial(Case, "embedding")


def dense(wide: int, out: int, **more: Any) -> dict[str, Any]:
    """Parameters of an inner product with seeded weights [out,wide]."""
    return {"inputChannels": wide, "outputChannels": out, "weights": normal(out, wide)} | more


def dynamic(levels: Any, scale: float, **more: Any) -> dict[str, Any]:
    """An inner product whose input is rounded to 8 bits while it runs."""
    levels = np.asarray(levels, np.int8)
    weights = {
        "int8RawValue": levels.tobytes(),
        "quantization": {"numberOfBits": 8, "linearQuantization": {"scale": [scale]}},
    }
    return dense(levels.shape[1], levels.shape[0], weights=weights, int8DynamicQuantize=True) | more


def table(size: int, out: int, **more: Any) -> dict[str, Any]:
    """Parameters of an embedding with seeded weights [out,size]."""
    return {"inputDim": size, "outputChannels": out, "weights": normal(out, size)} | more


LEVELS = np.arange(24) % 16
INT8 = np.arange(-12, 12).reshape(4, 6) * 10
# 127 is the greatest, so the scale of the input is 1 and 0.5 lies between two levels: away from zero
HALVES = np.array([[127.0, 0.5, -0.5, 1.5, -2.5, 0.25]])

DENSE = [
    row("rank 1, known answer", {"inputChannels": 3, "outputChannels": 2, "weights": np.array([1, 2, 3, 4, 5, 6])}, ([1, 0, -1],), expect=([-2, -2],)),
    row("bias, known answer", {"inputChannels": 3, "outputChannels": 2, "weights": np.array([1, 2, 3, 4, 5, 6]), "hasBias": True, "bias": np.array([10, 20])}, ([1, 0, -1],), expect=([8, 18],)),
    row("hasBias off: bias is ignored", dense(4, 3, bias=normal(3)), ((2, 4),)),
    row("rank 1, bias", dense(6, 4, hasBias=True, bias=normal(4)), ((6,),)),
    row("rank 2", dense(6, 4), ((5, 6),)),
    row("rank 3", dense(6, 4, hasBias=True, bias=normal(4)), ((2, 3, 6),)),
    row("rank 4: last three axes are one", dense(24, 3, hasBias=True, bias=normal(3)), ((2, 4, 2, 3),)),
    row("rank 4, plane of one", dense(4, 3), ((3, 4, 1, 1),)),
    row("rank 5", dense(12, 5, hasBias=True, bias=normal(5)), ((2, 3, 3, 2, 2),)),
    row("legacy", dense(6, 4, hasBias=True, bias=normal(4)), ((1, 1, 6, 1, 1),), rank5=True),
    row("legacy, batch, C·H·W", dense(12, 4), ((1, 3, 3, 2, 2),), rank5=True),
    row("legacy, sequence and batch", dense(12, 4), ((2, 3, 3, 2, 2),), rank5=True),
    row("one to one", dense(1, 1, hasBias=True, bias=normal(1)), ((3, 1),)),
    row("float16 weights and bias", dense(6, 4, weights=half(normal(4, 6)), hasBias=True, bias=half(normal(4))), ((3, 6),)),
    row("8 bit linear, one scale", dense(6, 4, weights=linear(LEVELS * 16, 8, 0.01, -1.0)), ((3, 6),)),
    row("4 bit linear, a scale for each output", dense(6, 4, weights=linear(LEVELS, 4, [0.1, 0.2, 0.05, 0.3], [-0.5, -1.0, 0.0, 0.5])), ((3, 6),)),
    row("1 bit linear", dense(6, 4, weights=linear(LEVELS % 2, 1, 2.0, -1.0)), ((3, 6),)),
    row("3 bit table", dense(6, 4, weights=lookup(LEVELS % 8, 3, normal(8))), ((3, 6),)),
    row("6 bit table, quantised bias", dense(6, 4, weights=lookup(LEVELS, 6, normal(64)), hasBias=True, bias=linear([0, 1, 14, 15], 4, 0.1, -0.5)), ((3, 6),)),
    row("int8DynamicQuantize, halves away from zero, known answer", dynamic(INT8[:1], 0.5), (HALVES,), expect=([0.5 * (-120 * 127 - 110 + 100 - 90 * 2 + 80 * 3)],)),
    row("int8DynamicQuantize, rank 2", dynamic(INT8, 0.02), ((3, 6),)),
    row("int8DynamicQuantize, one scale for all rows", dynamic(INT8, 0.02), ([[1, 2, 3, 4, 5, 6], [0.01, 0.02, 0.03, 0.04, 0.05, 0.06]],)),
    row("int8DynamicQuantize, all zero", dynamic(INT8, 0.02), (np.zeros((2, 6)),), expect=(np.zeros((2, 4)),)),
    row("int8DynamicQuantize, all zero, bias", dynamic(INT8, 0.02, hasBias=True, bias=np.arange(1, 5)), (np.zeros((1, 6)),), expect=([[1, 2, 3, 4]],)),
    row("int8DynamicQuantize, rank 4, bias", dynamic(INT8, 0.02, hasBias=True, bias=normal(4)), ((2, 6, 1, 1),)),
    row("int8DynamicQuantize, extreme levels", dynamic([[-128, 127, -128, 127, 0, 1]], 0.01), ([[-127, 127, 127, -127, 5, 6]],)),
    row("int8DynamicQuantize without int8RawValue", dense(6, 4, int8DynamicQuantize=True), ((3, 6),), refuses="int8RawValue"),
    row("int8DynamicQuantize, 4 bits", dynamic(INT8, 0.02) | {"weights": {"int8RawValue": bytes(24), "quantization": {"numberOfBits": 4, "linearQuantization": {"scale": [1.0]}}}}, ((3, 6),), refuses="numberOfBits"),
    row("int8DynamicQuantize, two scales", dynamic(INT8, 0.02) | {"weights": {"int8RawValue": bytes(24), "quantization": {"numberOfBits": 8, "linearQuantization": {"scale": [1.0, 2.0]}}}}, ((3, 6),), refuses="scale"),
    row("inputChannels does not fit", dense(5, 4), ((3, 6),), refuses="inputChannels"),
    row("inputChannels does not fit C·H·W", dense(4, 4), ((3, 4, 2, 1),), refuses="inputChannels"),
    row("too few weights", dense(6, 4, weights=normal(23)), ((3, 6),), refuses="weights"),
    row("no weights", {"inputChannels": 6, "outputChannels": 4}, ((3, 6),), refuses="weights"),
    row("no bias though hasBias", dense(6, 4, hasBias=True), ((3, 6),), refuses="bias"),
    row("rank 6", dense(6, 4), ((1, 1, 1, 6, 1, 1),), refuses="rank"),
]  # fmt: skip

COLUMNS = {"inputDim": 3, "outputChannels": 2, "weights": np.array([1, 2, 3, 10, 20, 30])}


def indices(*values: int, rank: int = 4) -> Any:
    """Indices as an input of rank 4 [n,1,1,1] or 5 [n,1,1,1,1]."""
    return np.reshape(values, (len(values), *[1] * (rank - 1)))


EMBEDDING = [
    look("rank 4, known answer", COLUMNS, (indices(2, 0),), expect=([[3, 30], [1, 10]],)),
    look("bias, known answer", COLUMNS | {"hasBias": True, "bias": np.array([100, 200])}, (indices(1, 1, 2),), expect=([[102, 220], [102, 220], [103, 230]],)),
    look("first and last row", table(7, 5), (indices(0, 6, 3),)),
    look("rank 5", table(7, 5), (indices(4, 1, rank=5),)),
    look("rank 5, two leading axes", table(7, 5, hasBias=True, bias=normal(5)), (np.arange(6).reshape(3, 2, 1, 1, 1),)),
    look("legacy", table(7, 5), (indices(6, rank=5),), rank5=True),
    look("legacy, sequence and batch", table(7, 5), (np.arange(6).reshape(3, 2, 1, 1, 1),), rank5=True),
    look("legacy, batch", table(7, 5, hasBias=True, bias=normal(5)), (np.arange(3).reshape(1, 3, 1, 1, 1),), rank5=True),
    look("one entry", table(1, 1), (indices(0, 0),)),
    look("float16", table(6, 4, weights=half(normal(4, 6)), hasBias=True, bias=half(normal(4))), (indices(5, 0),)),
    look("4 bit linear, a scale for each output", table(6, 4, weights=linear(LEVELS, 4, [0.1, 0.2, 0.05, 0.3], [-0.5, -1.0, 0.0, 0.5])), (indices(5, 0),)),
    look("8 bit linear, one scale", table(6, 4, weights=linear(LEVELS * 10, 8, 0.01, -1.0)), (indices(5, 3),)),
    look("4 bit table", table(6, 4, weights=lookup(LEVELS, 4, normal(16))), (indices(1, 2),)),
    look("too few weights", table(7, 5, weights=normal(34)), (indices(1),), refuses="weights"),
    look("no bias though hasBias", table(7, 5, hasBias=True), (indices(1),), refuses="bias"),
    look("rank 3", table(7, 5), (np.ones((1, 1, 1)),), refuses="rank"),
    look("rank 6", table(7, 5), (np.ones((1, 1, 1, 1, 1, 1)),), refuses="rank"),
]  # fmt: skip

CASES = DENSE + EMBEDDING
