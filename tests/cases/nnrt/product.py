"""Rows of the matrix products."""

from __future__ import annotations

import numpy as np

from pippin.nnrt.types import NodeType

from . import NodeCase, const, drawn, f32, fused, ints, q, weights, whole

T = NodeType
W, B = weights(3, 4), weights(3, seed=9)
BIAS, CUT = {"hasBias": True}, {"useAxis": True}
SUMS = {"tolerance": 2e-2, "why": "half precision has 11 bits, products are added"}

CASES = [
    NodeCase(
        T.FULL_CONNECTION,
        "known values",
        {},
        (f32([[1, 2], [3, 4]]), const([[1, 1], [2, -1], [0, 3]])),
        expect=([[3, 0, 6], [7, 2, 12]],),
    ),
    NodeCase(
        T.FULL_CONNECTION,
        "a bias, known values",
        BIAS,
        (f32([[1, 2]]), const([[1, 1], [2, -1]]), const([10, 20])),
        expect=([[13, 20]],),
    ),
    NodeCase(T.FULL_CONNECTION, "no bias", {}, ((2, 4), W)),
    NodeCase(T.FULL_CONNECTION, "a bias", BIAS, ((2, 4), W, B)),
    NodeCase(T.FULL_CONNECTION, "rows of K from rank 4", BIAS, ((2, 3, 2, 2), W, B)),
    NodeCase(T.FULL_CONNECTION, "rows of K across dims", {}, ((2, 6), W)),
    NodeCase(T.FULL_CONNECTION, "rank 1", {}, ((4,), W)),
    NodeCase(T.FULL_CONNECTION, "axis 1", CUT | {"axis": 1}, ((2, 4), W)),
    NodeCase(T.FULL_CONNECTION, "axis 1 of an image", BIAS | CUT | {"axis": 1}, ((2, 2, 1, 2), W, B)),
    NodeCase(T.FULL_CONNECTION, "axis 2", BIAS | CUT | {"axis": 2}, ((2, 3, 2, 2), W, B)),
    NodeCase(T.FULL_CONNECTION, "axis 3", BIAS | CUT | {"axis": 3}, ((2, 3, 2, 4), W, B)),
    NodeCase(T.FULL_CONNECTION, "axis = rank", CUT | {"axis": 2}, ((2, 3), weights(5, 1))),
    NodeCase(T.FULL_CONNECTION, "rank 6", CUT | {"axis": 4}, ((1, 2, 1, 3, 2, 2), W)),
    NodeCase(T.FULL_CONNECTION, "weights handed in", BIAS | CUT | {"axis": 1}, ((2, 4), (3, 4), (3,))),
    NodeCase(
        T.FULL_CONNECTION,
        "float16",
        BIAS,
        (drawn(2, 4, dtype=np.float16), const(W.array, "f2"), const(B.array, "f2")),
        **SUMS,
    ),
    NodeCase(
        T.FULL_CONNECTION, "float64", BIAS, (drawn(2, 4, dtype=np.float64), const(W.array, "f8"), const(B.array, "f8"))
    ),
    NodeCase(T.FULL_CONNECTION, "hasBias without one", BIAS, ((2, 4), W), refuses="hasBias|inputs"),
    NodeCase(T.FULL_CONNECTION, "a bias without hasBias", {}, ((2, 4), W, B), refuses="hasBias|inputs"),
    NodeCase(T.FULL_CONNECTION, "axis 0 with useAxis", CUT, ((2, 4), weights(3, 8)), refuses="axis"),
    NodeCase(T.FULL_CONNECTION, "axis beyond the rank", CUT | {"axis": 3}, ((2, 4), weights(3, 1)), refuses="axis"),
    NodeCase(T.FULL_CONNECTION, "axis without useAxis", {"axis": 1}, ((2, 4), W), refuses="axis"),
    NodeCase(T.FULL_CONNECTION, "weight that does not fit", {}, ((2, 5), W), refuses="weight|fit"),
    NodeCase(
        T.FULL_CONNECTION, "weight that does not fit behind axis", CUT | {"axis": 1}, ((2, 8), W), refuses="weight|fit"
    ),
    NodeCase(T.FULL_CONNECTION, "weight of rank 3", {}, ((2, 4), weights(1, 3, 4)), refuses="weight"),
    NodeCase(T.FULL_CONNECTION, "a bias of another size", BIAS, ((2, 4), W, weights(4)), refuses="bias|do not fit"),
    *fused(T.FULL_CONNECTION, BIAS, ((2, 4), W, B)),
]
I8, W8 = whole(3, 4, low=-60, high=60, dtype=np.int8), ints(whole(3, 4, low=-100, high=100, seed=9), np.int8)
QX, QW, QY = q(0.05, 3), q(0.01), q(0.1, -5)
PER = (q(0.01), q(0.02), q(0.005))
CASES += [
    NodeCase(T.FULL_CONNECTION, "int8", {}, (I8, W8), quant=(QX, QW), made=QY),
    NodeCase(T.FULL_CONNECTION, "int8, bias", BIAS, (I8, W8, ints([100, -2000, 500])), quant=(QX, QW), made=QY),
    NodeCase(
        T.FULL_CONNECTION,
        "int8, a scale for each output",
        BIAS,
        (I8, W8, ints([100, -2000, 500])),
        quant=(QX, PER),
        made=QY,
    ),
    NodeCase(
        T.FULL_CONNECTION,
        "int8, RELU",
        BIAS | {"activationType": 1},
        (I8, W8, ints([9, -99, 50])),
        quant=(QX, QW),
        made=QY,
    ),
    NodeCase(T.FULL_CONNECTION, "int8, axis 1", CUT | {"axis": 1}, (I8, W8), quant=(QX, QW), made=QY),
]

A, C = (2, 3), (3, 4)
MATMUL = T.MATMUL_FUSION
TRANSPOSED = [(a, b) for a in (False, True) for b in (False, True)]
CASES += [
    NodeCase(
        MATMUL, "known values", {}, (f32([[1, 2], [3, 4]]), f32([[5, 6], [7, 8]])), expect=([[19, 22], [43, 50]],)
    ),
    NodeCase(
        MATMUL,
        "transposeA, known values",
        {"transposeA": True},
        (f32([[1, 2], [3, 4]]), f32([[5, 6], [7, 8]])),
        expect=([[26, 30], [38, 44]],),
    ),
    NodeCase(
        MATMUL,
        "transposeB, known values",
        {"transposeB": True},
        (f32([[1, 2], [3, 4]]), f32([[5, 6], [7, 8]])),
        expect=([[17, 23], [39, 53]],),
    ),
    *(
        NodeCase(
            MATMUL,
            f"rank {rank}, transposeA {a}, transposeB {b}",
            {"transposeA": a, "transposeB": b},
            ((*lead, 3, 2) if a else (*lead, 2, 3), (*lead, 4, 3) if b else (*lead, 3, 4)),
        )
        for rank, lead in ((2, ()), (3, (2,)), (5, (2, 1, 3)))
        for a, b in TRANSPOSED
    ),
    NodeCase(MATMUL, "one matrix for a batch", {}, ((5, 2, 3), (3, 4))),
    NodeCase(MATMUL, "a batch for one matrix", {}, ((2, 3), (5, 3, 4))),
    NodeCase(MATMUL, "batches broadcast", {}, ((5, 1, 2, 3), (1, 6, 3, 4))),
    NodeCase(MATMUL, "a constant weight", {"transposeB": True}, ((2, 5, 3), weights(4, 3))),
    NodeCase(MATMUL, "a bias", {}, (A, C, weights(4))),
    NodeCase(MATMUL, "a bias on a batch", {"transposeB": True}, ((5, 2, 3), weights(4, 3), weights(4))),
    NodeCase(MATMUL, "a row times a matrix", {}, ((3,), C)),
    NodeCase(MATMUL, "a matrix times a column", {}, (A, (3,))),
    NodeCase(MATMUL, "a row times a column", {}, ((3,), (3,))),
    NodeCase(MATMUL, "ones", {}, ((1, 1), (1, 1))),
    NodeCase(MATMUL, "rank 8", {}, ((1, 2, 1, 1, 2, 1, 2, 3), (1, 1, 1, 3, 4))),
    NodeCase(MATMUL, "float16", {}, (drawn(2, 3, dtype=np.float16), drawn(3, 4, dtype=np.float16)), **SUMS),
    NodeCase(MATMUL, "float64", {}, (drawn(2, 3, dtype=np.float64), drawn(3, 4, dtype=np.float64))),
    NodeCase(MATMUL, "int8", {}, (I8.T.copy(), whole(3, 5, low=-99, dtype=np.int8)), quant=(QX, q(0.02, 7)), made=QY),
    NodeCase(
        MATMUL, "int8, transposeB, bias", {"transposeB": True}, (I8, W8, ints([9, -99, 50])), quant=(QX, QW), made=QY
    ),
    NodeCase(
        MATMUL, "int8, RELU6", {"transposeB": True, "activationType": 3}, (I8, W8), quant=(QX, QW), made=q(0.03, -128)
    ),
    NodeCase(
        MATMUL,
        "uint8",
        {},
        (whole(2, 3, low=0, high=255, dtype=np.uint8), whole(3, 5, low=0, high=255, dtype=np.uint8)),
        quant=(q(0.01, 128), q(0.02, 120)),
        made=q(0.1, 100),
    ),
    NodeCase(MATMUL, "dims that do not fit", {}, ((2, 3), (4, 5)), refuses="fit|dims"),
    NodeCase(MATMUL, "transposed dims that do not fit", {"transposeA": True}, ((2, 3), (3, 4)), refuses="fit|dims"),
    NodeCase(MATMUL, "batches that do not broadcast", {}, ((2, 2, 3), (3, 3, 4)), refuses="fit|dims"),
    NodeCase(MATMUL, "a scalar", {}, (f32(1), (3, 4)), refuses="rank|dim|fit"),
    NodeCase(MATMUL, "a bias of another size", {}, (A, C, weights(3)), refuses="bias|do not fit"),
    NodeCase(MATMUL, "one input", {}, (A,), refuses="inputs"),
    *fused(MATMUL, {}, (A, C)),
]
