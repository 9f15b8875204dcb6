"""Rows of matrix products and of the N-dimensional embedding."""

from __future__ import annotations

import numpy as np

from cases import Case, half, linear, lookup, normal

A = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
B = [[1.0, 0.0], [-1.0, 2.0], [0.5, 1.0]]
AB = [[0.5, 7.0], [2.0, 16.0]]


def weighted(rows: int, columns: int, weights: object, **more: object) -> dict[str, object]:
    return {"weightMatrixFirstDimension": rows, "weightMatrixSecondDimension": columns, "weights": weights, **more}


LEVELS = np.random.default_rng(4).integers(0, 256, (5, 3))
SCALES = [0.01, 0.02, 0.03, 0.04, 0.05]
BIASES = [-1.0, 0.5, 0.0, 2.0, -3.0]

TWO = [
    Case("batchedMatmul", "two matrices", {}, (A, B), expect=(AB,)),
    Case("batchedMatmul", "transposeA", {"transposeA": True}, (np.transpose(A), B), expect=(AB,)),
    Case("batchedMatmul", "transposeB", {"transposeB": True}, (A, np.transpose(B)), expect=(AB,)),
    Case("batchedMatmul", "both transposed", {"transposeA": True, "transposeB": True}, ((3, 4, 2), (3, 5, 4))),
    Case("batchedMatmul", "batch of equal axes", {}, ((2, 3, 4), (2, 4, 5))),
    Case("batchedMatmul", "matrix against a batch", {}, ((3, 4), (2, 4, 5))),
    Case("batchedMatmul", "batch against a matrix", {}, ((2, 3, 4), (4, 5))),
    Case("batchedMatmul", "leading axes broadcast both ways", {}, ((2, 1, 3, 4), (5, 4, 2))),
    Case("batchedMatmul", "rank 5 by rank 5", {}, ((2, 1, 2, 3, 4), (1, 3, 2, 4, 1))),
    Case("batchedMatmul", "rank 4, transposeB, attention's shapes", {"transposeB": True}, ((1, 2, 5, 8), (1, 2, 7, 8))),
    Case(
        "batchedMatmul",
        "vector a is a row",
        {},
        ([1.0, 2.0], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        expect=([[9, 12, 15]],),
    ),
    Case("batchedMatmul", "vector b is a column", {}, (A, [1.0, 0.0, 2.0]), expect=([[7], [16]],)),
    Case("batchedMatmul", "two vectors", {}, ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), expect=([[32]],)),
    Case("batchedMatmul", "vector a against a batch", {}, ((4,), (2, 3, 4, 5))),
    Case("batchedMatmul", "batch against vector b", {}, ((2, 3, 4), (4,))),
    Case("batchedMatmul", "batch of none", {}, (np.zeros((0, 2, 3)), np.zeros((0, 3, 2)))),
    Case("batchedMatmul", "sum over none", {}, (np.zeros((2, 0)), np.zeros((0, 3))), expect=(np.zeros((2, 3)),)),
    Case("batchedMatmul", "inner sizes differ", {}, ((2, 3), (4, 5)), refuses="transposeA"),
    Case("batchedMatmul", "leading axes differ", {}, ((2, 3, 4), (3, 4, 5)), refuses="broadcast"),
    Case("batchedMatmul", "bias with two inputs", {"hasBias": True, "bias": [1, 1]}, (A, B), refuses="hasBias"),
]

ONE = [
    Case(
        "batchedMatmul",
        "weights lie column by column",
        # W = [[1, 2], [3, 4], [5, 6]]
        weighted(3, 2, np.array([1, 3, 5, 2, 4, 6])),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]],),
        expect=([[1, 2], [3, 4], [9, 12]],),
    ),
    Case(
        "batchedMatmul",
        "bias",
        weighted(3, 2, np.array([1, 3, 5, 2, 4, 6]), hasBias=True, bias=np.array([10, 20])),
        ([[1.0, 1.0, 1.0]],),
        expect=([[19, 32]],),
    ),
    Case("batchedMatmul", "bias that hasBias leaves out", weighted(4, 2, normal(2, 4), bias=normal(2)), ((3, 4),)),
    Case("batchedMatmul", "vector", weighted(11, 5, normal(5, 11), hasBias=True, bias=normal(5)), ((11,),)),
    Case("batchedMatmul", "rank 3", weighted(4, 6, normal(6, 4)), ((2, 3, 4),)),
    Case("batchedMatmul", "rank 4", weighted(4, 1, normal(1, 4), hasBias=True, bias=normal(1)), ((2, 3, 2, 4),)),
    Case("batchedMatmul", "rank 5", weighted(3, 7, normal(7, 3)), ((2, 1, 2, 3, 3),)),
    Case(
        "batchedMatmul",
        "transposes do not count",
        weighted(3, 5, normal(5, 3), transposeA=True, transposeB=True),
        ((2, 3),),
    ),
    Case(
        "batchedMatmul",
        "weights in float16",
        weighted(3, 5, half(normal(5, 3)), hasBias=True, bias=half(normal(5))),
        ((2, 3),),
    ),
    Case("batchedMatmul", "weights in 8 bits, one scale", weighted(3, 5, linear(LEVELS, 8, 0.02, -2)), ((4, 3),)),
    Case(
        "batchedMatmul",
        "weights in 8 bits, a scale for each column of W",
        weighted(3, 5, linear(LEVELS, 8, SCALES, BIASES)),
        ((4, 3),),
    ),
    Case("batchedMatmul", "weights in 3 bits", weighted(3, 5, linear(LEVELS % 8, 3, 0.25, -1)), ((4, 3),)),
    Case(
        "batchedMatmul",
        "weights by lookup table of 2 bits",
        weighted(3, 5, lookup(LEVELS % 4, 2, [-1, -0.25, 0.5, 2])),
        ((4, 3),),
    ),
    Case("batchedMatmul", "batch of none, with weights", weighted(3, 5, normal(5, 3)), (np.zeros((0, 3)),)),
    Case(
        "batchedMatmul",
        "last axis differs from the first dimension",
        weighted(4, 2, normal(2, 4)),
        ((2, 3),),
        refuses="weightMatrixFirstDimension",
    ),
    Case("batchedMatmul", "too few weights", weighted(3, 2, normal(5)), ((2, 3),), refuses="weights"),
    Case(
        "batchedMatmul",
        "no weights",
        {"weightMatrixFirstDimension": 3, "weightMatrixSecondDimension": 2},
        ((2, 3),),
        refuses="weights",
    ),
    Case(
        "batchedMatmul",
        "no second dimension",
        {"weightMatrixFirstDimension": 3, "weights": normal(3)},
        ((2, 3),),
        refuses="weightMatrixSecondDimension",
    ),
    Case(
        "batchedMatmul",
        "bias of another size",
        weighted(3, 2, normal(2, 3), hasBias=True, bias=normal(3)),
        ((2, 3),),
        refuses="bias",
    ),
]


def table(size: int, vocabulary: int, weights: object, **more: object) -> dict[str, object]:
    return {"embeddingSize": size, "vocabSize": vocabulary, "weights": weights, **more}


PICKS = np.random.default_rng(8)

EMBEDDING = [
    Case(
        "embeddingND",
        "columns of the weights",
        table(2, 3, np.array([[1, 2, 3], [4, 5, 6]])),
        ([[2], [0], [2]],),
        expect=([[3, 6], [1, 4], [3, 6]],),
    ),
    Case(
        "embeddingND",
        "bias",
        table(2, 3, np.array([[1, 2, 3], [4, 5, 6]]), hasBias=True, bias=np.array([10, 20])),
        ([[1]],),
        expect=([[12, 25]],),
    ),
    Case(
        "embeddingND",
        "bias that hasBias leaves out",
        table(3, 7, normal(3, 7), bias=normal(3)),
        (PICKS.integers(0, 7, (4, 1)),),
    ),
    Case("embeddingND", "rank 3", table(4, 9, normal(4, 9)), (PICKS.integers(0, 9, (2, 3, 1)),)),
    Case(
        "embeddingND",
        "rank 4",
        table(5, 10, normal(5, 10), hasBias=True, bias=normal(5)),
        (PICKS.integers(0, 10, (2, 3, 4, 1)),),
    ),
    Case("embeddingND", "rank 5", table(1, 6, normal(1, 6)), (PICKS.integers(0, 6, (2, 1, 2, 3, 1)),)),
    Case(
        "embeddingND",
        "weights in float16",
        table(3, 8, half(normal(3, 8)), hasBias=True, bias=half(normal(3))),
        ([[0], [7]],),
    ),
    Case(
        "embeddingND",
        "weights in 8 bits, a scale for each row",
        table(5, 3, linear(LEVELS, 8, SCALES, BIASES)),
        ([[0], [1], [2]],),
    ),
    Case("embeddingND", "weights in 4 bits, one scale", table(5, 3, linear(LEVELS % 16, 4, 0.5, -3)), ([[2], [1]],)),
    Case(
        "embeddingND",
        "weights by lookup table of 4 bits",
        table(5, 3, lookup(LEVELS % 16, 4, normal(16))),
        ([[2], [0]],),
    ),
    Case("embeddingND", "batch of none", table(2, 3, normal(2, 3)), (np.zeros((0, 1)),)),
    Case("embeddingND", "last axis is not 1", table(2, 3, normal(2, 3)), ([[0, 1]],), refuses="last"),
    Case("embeddingND", "too few weights", table(2, 3, normal(5)), ([[0]],), refuses="weights"),
    Case("embeddingND", "no vocabulary", table(2, 0, normal(2)), ([[0]],), refuses="vocabSize"),
    Case(
        "embeddingND",
        "bias of another size",
        table(2, 3, normal(2, 3), hasBias=True, bias=normal(3)),
        ([[0]],),
        refuses="bias",
    ),
]

CASES = TWO + ONE + EMBEDDING
