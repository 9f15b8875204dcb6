"""Rows of products whose input is quantised to 8 bits while the network runs.

Inputs are whole numbers of steps and hold the largest one, 127, so that no value lies near the middle between two steps
but where a row is about just that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import Case, normal


def int8(levels: Any, scale: Any = 0.5, **more: Any) -> dict[str, Any]:
    """Weights of signed bytes with one scale."""
    return {
        "int8RawValue": np.asarray(levels, np.int8).tobytes(),
        "quantization": {"numberOfBits": 8, "linearQuantization": {"scale": np.atleast_1d(np.float32(scale))}},
        **more,
    }


def steps(*shape: int, step: float = 0.25, largest: int = 127) -> np.ndarray:
    """Seeded multiples of ``step``; the first is the largest."""
    values = np.random.default_rng([6, *shape]).integers(-largest, largest + 1, shape).astype(np.float32)
    values.reshape(-1)[0] = largest
    return values * np.float32(step)


def bytes_(*shape: int) -> np.ndarray:
    """Seeded signed bytes, both ends among them."""
    values = np.random.default_rng([9, *shape]).integers(-128, 128, shape)
    values.reshape(-1)[:2] = -128, 127
    return values


# the largest is 127, so the scale is 1; the halves tell which way they are rounded
HALVES = [[127.0, 0.5, 1.5, 2.5, -0.5, -2.5, 0.25, -0.75]]
ROUNDED = [[127.0, 1.0, 2.0, 3.0, -1.0, -3.0, 0.0, -1.0]]


def matmul(rows: int, columns: int, weights: Any, **more: Any) -> dict[str, Any]:
    return {
        "weightMatrixFirstDimension": rows,
        "weightMatrixSecondDimension": columns,
        "weights": weights,
        "int8DynamicQuantize": True,
        **more,
    }


def dense(inputs: int, outputs: int, weights: Any, **more: Any) -> dict[str, Any]:
    return {"inputChannels": inputs, "outputChannels": outputs, "weights": weights, "int8DynamicQuantize": True, **more}


W32 = [[1, 2, 3], [-4, 5, -6]]  # as stored: (columns, rows) of the product, (outputs, inputs) of the dense layer
X3 = [[127.0, 0.0, 1.0], [0.0, -2.0, 3.0]]
Y2 = [[65.0, -257.0], [2.5, -14.0]]  # X3 · W32ᵀ / 2

CASES = [
    Case("batchedMatmul", "int8: exact integers", matmul(3, 2, int8(W32)), (X3,), expect=(Y2,)),
    Case(
        "batchedMatmul",
        "int8: bias",
        matmul(3, 2, int8(W32), hasBias=True, bias=np.array([1, -1])),
        (X3,),
        expect=([[66, -258], [3.5, -15]],),
    ),
    Case(
        "batchedMatmul",
        "int8: halves are rounded away from 0",
        matmul(8, 8, int8(np.eye(8), 1)),
        (HALVES,),
        expect=(ROUNDED,),
    ),
    Case(
        "batchedMatmul",
        "int8: one scale for the whole batch",
        matmul(2, 2, int8(np.eye(2), 1)),
        ([[127.0, 1.0], [0.25, 0.75]],),
        expect=([[127, 1], [0, 1]],),
    ),
    Case(
        "batchedMatmul",
        "int8: negative largest",
        matmul(2, 2, int8(np.eye(2), 1)),
        ([[-127.0, 1.25]],),
        expect=([[-127, 1]],),
    ),
    Case("batchedMatmul", "int8: all zeros", matmul(3, 2, int8(W32)), (np.zeros((2, 3)),), expect=(np.zeros((2, 2)),)),
    Case("batchedMatmul", "int8: vector", matmul(11, 23, int8(bytes_(23, 11), 0.07)), (steps(11),)),
    Case("batchedMatmul", "int8: rank 3", matmul(11, 23, int8(bytes_(23, 11), 0.07)), (steps(2, 3, 11),)),
    Case("batchedMatmul", "int8: rank 5", matmul(4, 3, int8(bytes_(3, 4), 0.01)), (steps(2, 1, 2, 3, 4, step=0.003),)),
    Case(
        "batchedMatmul",
        "int8: long sums of the largest bytes",
        matmul(300, 2, int8(np.full((2, 300), 127), 0.01)),
        (np.full((2, 300), 127.0),),
        expect=(np.full((2, 2), 48387.0),),
    ),
    Case("batchedMatmul", "int8: values between the steps", matmul(16, 5, int8(bytes_(5, 16), 0.02)), ((3, 16),)),
    Case(
        "batchedMatmul",
        "int8 weights without the flag",
        {"weightMatrixFirstDimension": 3, "weightMatrixSecondDimension": 2, "weights": int8(W32)},
        ([[0.3, 0.4, 1.0]],),
        expect=([[2.05, -2.6]],),
    ),
    Case(
        "batchedMatmul",
        "int8: two inputs",
        {"int8DynamicQuantize": True},
        ((2, 3), (3, 2)),
        refuses="int8DynamicQuantize",
    ),
    Case("batchedMatmul", "int8: weights of floats", matmul(3, 2, normal(2, 3)), ((2, 3),), refuses="int8RawValue"),
    Case("batchedMatmul", "int8: two scales", matmul(3, 2, int8(W32, [1, 2])), ((2, 3),), refuses="scale"),
    Case(
        "batchedMatmul",
        "int8: a bias of the quantisation",
        matmul(
            3,
            2,
            int8(
                W32, quantization={"numberOfBits": 8, "linearQuantization": {"scale": np.ones(1), "bias": np.ones(1)}}
            ),
        ),
        ((2, 3),),
        refuses="bias",
    ),
    Case(
        "batchedMatmul",
        "int8: 4 bits",
        matmul(3, 2, int8(W32, quantization={"numberOfBits": 4, "linearQuantization": {"scale": np.ones(1)}})),
        ((2, 3),),
        refuses="numberOfBits",
    ),
    Case("batchedMatmul", "int8: too few bytes", matmul(3, 2, int8([1, 2, 3, 4, 5])), ((2, 3),), refuses="weights"),
    Case("innerProduct", "int8: exact integers", dense(3, 2, int8(W32)), (X3,), expect=(Y2,)),
    Case(
        "innerProduct",
        "int8: bias",
        dense(3, 2, int8(W32), hasBias=True, bias=np.array([1, -1])),
        (X3,),
        expect=([[66, -258], [3.5, -15]],),
    ),
    Case(
        "innerProduct",
        "int8: halves are rounded away from 0",
        dense(8, 8, int8(np.eye(8), 1)),
        (HALVES,),
        expect=(ROUNDED,),
    ),
    Case("innerProduct", "int8: all zeros", dense(3, 2, int8(W32)), (np.zeros((2, 3)),), expect=(np.zeros((2, 2)),)),
    Case("innerProduct", "int8: vector", dense(24, 23, int8(bytes_(23, 24), 0.07)), (steps(24),)),
    Case("innerProduct", "int8: rank 3", dense(24, 23, int8(bytes_(23, 24), 0.07)), (steps(2, 3, 24),)),
    Case("innerProduct", "int8: rank 4", dense(24, 23, int8(bytes_(23, 24), 0.07)), (steps(5, 2, 3, 4),)),
    Case(
        "innerProduct", "int8: rank 5, exact mapping", dense(24, 7, int8(bytes_(7, 24), 0.07)), (steps(2, 3, 2, 3, 4),)
    ),
    Case(
        "innerProduct",
        "int8: legacy rank 5",
        dense(24, 7, int8(bytes_(7, 24), 0.07)),
        (steps(1, 3, 24, 1, 1),),
        rank5=True,
    ),
    Case(
        "innerProduct",
        "int8: long sums of the largest bytes",
        dense(300, 2, int8(np.full((2, 300), -128), 0.01)),
        (np.full((2, 300), 127.0),),
        expect=(np.full((2, 2), -48768.0),),
    ),
    Case("innerProduct", "int8: weights of floats", dense(3, 2, normal(2, 3)), ((2, 3),), refuses="int8RawValue"),
    Case("innerProduct", "int8: two scales", dense(3, 2, int8(W32, [1, 2])), ((2, 3),), refuses="scale"),
    Case(
        "innerProduct",
        "int8: 7 bits",
        dense(3, 2, int8(W32, quantization={"numberOfBits": 7, "linearQuantization": {"scale": np.ones(1)}})),
        ((2, 3),),
        refuses="numberOfBits",
    ),
]
