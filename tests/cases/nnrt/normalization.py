"""Rows of the normalisations and of the softmax."""

from __future__ import annotations

import numpy as np

from pippin.nnrt.types import Format, NodeType

from . import HALF, NodeCase, const, drawn, f32, fused, q, weights, whole

T = NodeType
NCHW = {"format": Format.NCHW}


def statistics(size: int) -> tuple[object, ...]:
    """scale, offset, mean and variance."""
    return (
        weights(size, seed=1),
        weights(size, seed=2),
        weights(size, seed=3),
        const(np.abs(drawn(size, seed=4)) + 0.2),
    )


CASES = [
    NodeCase(
        T.FUSED_BATCH_NORM,
        "known values",
        {"epsilon": 0},
        (f32([[3, 5]]), const([2, 1]), const([1, -1]), const([1, 1]), const([4, 16])),
        expect=([[3, 0]],),
    ),
    NodeCase(
        T.FUSED_BATCH_NORM,
        "epsilon 1",
        {"epsilon": 1},
        (f32([[3, 5]]), const([2, 1]), const([1, -1]), const([1, 1]), const([3, 15])),
        expect=([[3, 0]],),
    ),
    NodeCase(T.FUSED_BATCH_NORM, "an image", {}, ((2, 3, 4, 5), *statistics(5))),
    NodeCase(T.FUSED_BATCH_NORM, "an image, N,C,H,W", {}, ((2, 3, 4, 5), *statistics(3)), **NCHW),
    NodeCase(
        T.FUSED_BATCH_NORM,
        "a square image, N,C,H,W",
        {"epsilon": 0},
        (np.zeros((1, 2, 1, 2), np.float32), const([1, 1]), const([1, 2]), const([0, 0]), const([1, 1])),
        expect=([[[[1, 1]], [[2, 2]]]],),
        **NCHW,
    ),
    NodeCase(T.FUSED_BATCH_NORM, "rank 2", {"epsilon": 1e-3}, ((3, 4), *statistics(4))),
    NodeCase(T.FUSED_BATCH_NORM, "rank 1", {}, ((4,), *statistics(4))),
    NodeCase(T.FUSED_BATCH_NORM, "rank 6", {}, ((1, 2, 1, 3, 1, 4), *statistics(4))),
    NodeCase(T.FUSED_BATCH_NORM, "handed in", {}, ((2, 3), (3,), (3,), (3,), np.abs(drawn(3)) + f32(0.2))),
    NodeCase(
        T.FUSED_BATCH_NORM,
        "float16",
        {},
        (drawn(3, 4, dtype=np.float16), *(const(part.array, "f2") for part in statistics(4))),  # type: ignore[attr-defined]
        tolerance=1e-2,
        why="half precision has 11 bits",
    ),
    NodeCase(
        T.FUSED_BATCH_NORM, "int8", {}, (whole(3, 4, dtype=np.int8), *statistics(4)), quant=(q(0.2, 1),), made=q(0.3, 2)
    ),
    NodeCase(T.FUSED_BATCH_NORM, "scale of another size", {}, ((2, 4), *statistics(3)), refuses="scale|dim"),
    NodeCase(T.FUSED_BATCH_NORM, "four inputs", {}, ((2, 4), *statistics(4)[:3]), refuses="inputs"),
]

CASES += [
    NodeCase(
        T.INSTANCE_NORM,
        "N,C,H,W, known values",
        {"epsilon": 0},
        (f32([[[[1, 3]], [[10, 14]]]]), const([1, 2]), const([0, 5])),
        expect=([[[[-1, 1]], [[3, 7]]]],),
        **NCHW,
    ),
    NodeCase(
        T.INSTANCE_NORM,
        "N,H,W,C, known values",
        {"epsilon": 0},
        (f32([[[[1, 10], [3, 14]]]]), const([1, 2]), const([0, 5])),
        expect=([[[[-1, 3], [1, 7]]]],),
    ),
    NodeCase(T.INSTANCE_NORM, "N,C,H,W", {"epsilon": 1e-5}, ((2, 3, 4, 5), weights(3), weights(3, seed=8)), **NCHW),
    NodeCase(T.INSTANCE_NORM, "N,H,W,C", {"epsilon": 1e-5}, ((2, 4, 5, 3), weights(3), weights(3, seed=8))),
    NodeCase(T.INSTANCE_NORM, "N,C,W", {"epsilon": 1e-5}, ((2, 3, 5), weights(3), weights(3, seed=8)), **NCHW),
    NodeCase(
        T.INSTANCE_NORM, "N,C,D,H,W", {"epsilon": 1e-5}, ((2, 3, 2, 2, 5), weights(3), weights(3, seed=8)), **NCHW
    ),
    NodeCase(T.INSTANCE_NORM, "epsilon 0.5", {"epsilon": 0.5}, ((2, 4, 5, 3), weights(3), weights(3, seed=8))),
    NodeCase(
        T.INSTANCE_NORM,
        "far from zero",
        {"epsilon": 1e-5},
        (drawn(1, 4, 5, 3) + f32(100), weights(3), weights(3, seed=8)),
        tolerance=1e-3,
        why="float32 keeps 5 digits of a deviation of 1 around 100",
    ),
    NodeCase(
        T.INSTANCE_NORM,
        "float16",
        {"epsilon": 1e-3},
        (drawn(2, 4, 5, 3, dtype=np.float16), const(drawn(3), "f2"), const(drawn(3, seed=8), "f2")),
        tolerance=1e-2,
        why="half precision has 11 bits",
    ),
    NodeCase(T.INSTANCE_NORM, "handed in", {"epsilon": 1e-5}, ((2, 4, 5, 3), (3,), (3,))),
    NodeCase(T.INSTANCE_NORM, "scale of another size", {}, ((2, 4, 5, 3), weights(4), weights(4)), refuses="scale"),
    NodeCase(T.INSTANCE_NORM, "rank 2", {}, ((2, 3), weights(3), weights(3)), refuses="rank|dims"),
    NodeCase(T.INSTANCE_NORM, "two inputs", {}, ((2, 4, 5, 3), weights(3)), refuses="inputs"),
]


def layer(begin: int, params: int | None = None, epsilon: float = 1e-5) -> dict[str, object]:
    """Attributes of LayerNorm."""
    return {"beginNormAxis": begin, "beginParamsAxis": begin if params is None else params, "epsilon": epsilon}


CASES += [
    NodeCase(
        T.LAYER_NORM_FUSION,
        "known values",
        layer(1, epsilon=0),
        (f32([[1, 3], [10, 14]]), const([1, 2]), const([0, 5])),
        expect=([[-1, 7], [-1, 7]],),
    ),
    NodeCase(T.LAYER_NORM_FUSION, "axis 1", layer(1), ((2, 3, 4), weights(3, 4), weights(3, 4, seed=8))),
    NodeCase(T.LAYER_NORM_FUSION, "axis 2", layer(2), ((2, 3, 4), weights(4), weights(4, seed=8))),
    NodeCase(T.LAYER_NORM_FUSION, "axis -1", layer(-1), ((2, 3, 4), weights(4), weights(4, seed=8))),
    NodeCase(T.LAYER_NORM_FUSION, "axis -2", layer(-2), ((2, 3, 4), weights(3, 4), weights(3, 4, seed=8))),
    NodeCase(T.LAYER_NORM_FUSION, "axis 0", layer(0), ((2, 3), weights(2, 3), weights(2, 3, seed=8))),
    NodeCase(
        T.LAYER_NORM_FUSION, "gamma over the last dim only", layer(1, 2), ((2, 3, 4), weights(4), weights(4, seed=8))
    ),
    NodeCase(
        T.LAYER_NORM_FUSION, "gamma over more dims", layer(2, 1), ((2, 3, 4), weights(3, 4), weights(3, 4, seed=8))
    ),
    NodeCase(T.LAYER_NORM_FUSION, "without gamma and beta", layer(1), ((2, 3, 4),)),
    NodeCase(T.LAYER_NORM_FUSION, "not elementwise affine", layer(1) | {"elementwiseAffine": False}, ((2, 3, 4),)),
    NodeCase(T.LAYER_NORM_FUSION, "rank 6", layer(4), ((1, 2, 1, 3, 2, 4), weights(2, 4), weights(2, 4, seed=8))),
    NodeCase(T.LAYER_NORM_FUSION, "epsilon 1", layer(1, epsilon=1), ((2, 5), weights(5), weights(5, seed=8))),
    NodeCase(T.LAYER_NORM_FUSION, "handed in", layer(1), ((2, 5), (5,), (5,))),
    NodeCase(
        T.LAYER_NORM_FUSION,
        "float16",
        layer(1, epsilon=1e-3),
        (drawn(2, 5, dtype=np.float16), const(drawn(5), "f2"), const(drawn(5, seed=8), "f2")),
        tolerance=1e-2,
        why="half precision has 11 bits",
    ),
    NodeCase(
        T.LAYER_NORM_FUSION, "gamma of other dims", layer(1), ((2, 3, 4), weights(4), weights(4)), refuses="gamma"
    ),
    NodeCase(T.LAYER_NORM_FUSION, "axis beyond the rank", layer(3), ((2, 3, 4),), refuses="beginNormAxis"),
    NodeCase(T.LAYER_NORM_FUSION, "two inputs", layer(1), ((2, 3), weights(3)), refuses="inputs"),
]

CASES += [
    NodeCase(
        T.L2_NORMALIZE_FUSION, "known values", {"axis": [1]}, (f32([[3, 4], [0, 2]]),), expect=([[0.6, 0.8], [0, 1]],)
    ),
    NodeCase(T.L2_NORMALIZE_FUSION, "axis 0", {"axis": [0]}, ((2, 3, 4),)),
    NodeCase(T.L2_NORMALIZE_FUSION, "axis -1", {"axis": [-1]}, ((2, 3, 4),)),
    NodeCase(T.L2_NORMALIZE_FUSION, "axes 0 and 2", {"axis": [0, 2]}, ((2, 3, 4),)),
    NodeCase(T.L2_NORMALIZE_FUSION, "all axes by name", {"axis": [0, 1, 2]}, ((2, 3, 4),)),
    NodeCase(T.L2_NORMALIZE_FUSION, "no axis: all", {"axis": []}, ((2, 3, 4),)),
    NodeCase(
        T.L2_NORMALIZE_FUSION, "below epsilon", {"axis": [1], "epsilon": 4}, (f32([[1, 0.5]]),), expect=([[0.5, 0.25]],)
    ),
    NodeCase(T.L2_NORMALIZE_FUSION, "zeros", {"axis": [1]}, (f32([[0, 0]]),), expect=([[0, 0]],)),
    NodeCase(T.L2_NORMALIZE_FUSION, "rank 6", {"axis": [-1, 1]}, ((1, 2, 1, 3, 1, 4),)),
    NodeCase(
        T.L2_NORMALIZE_FUSION, "float16", {"axis": [-1], "epsilon": 1e-3}, (drawn(2, 5, dtype=np.float16),), **HALF
    ),
    NodeCase(
        T.L2_NORMALIZE_FUSION,
        "int8",
        {"axis": [-1]},
        (whole(3, 4, dtype=np.int8),),
        quant=(q(0.2, 1),),
        made=q(1 / 128),
    ),
    NodeCase(T.L2_NORMALIZE_FUSION, "axis beyond the rank", {"axis": [3]}, ((2, 3, 4),), refuses="axis"),
    NodeCase(T.L2_NORMALIZE_FUSION, "an axis twice", {"axis": [1, -2]}, ((2, 3, 4),), refuses="axis"),
    NodeCase(T.L2_NORMALIZE_FUSION, "two inputs", {"axis": [1]}, ((2, 3), (2, 3)), refuses="inputs"),
    *fused(T.L2_NORMALIZE_FUSION, {"axis": [1]}, ((2, 3, 4),)),
]

CASES += [
    NodeCase(
        T.LRN,
        "known values",
        {"depthRadius": 1, "bias": 1, "alpha": 1, "beta": 1},
        (f32([[[[1, 2, 3]]]]),),
        expect=([[[[1 / 6, 2 / 15, 3 / 14]]]],),
    ),
    NodeCase(T.LRN, "radius 2", {"depthRadius": 2, "bias": 1.5, "alpha": 0.3, "beta": 0.75}, ((2, 3, 2, 7),)),
    NodeCase(
        T.LRN, "the region as the text spells it", {"depthRadius": 1, "normRegion": "ACROSS_CHNNEL"}, ((2, 3, 2, 4),)
    ),
    NodeCase(T.LRN, "radius 0", {"depthRadius": 0, "alpha": 0.5}, ((2, 3, 2, 4),)),
    NodeCase(T.LRN, "radius beyond the channels", {"depthRadius": 9, "alpha": 0.5}, ((2, 3, 2, 4),)),
    NodeCase(T.LRN, "one channel", {"depthRadius": 2}, ((2, 3, 2, 1),)),
    NodeCase(T.LRN, "N,C,H,W", {"depthRadius": 1, "alpha": 0.5}, ((2, 5, 3, 2),), **NCHW),
    NodeCase(T.LRN, "float16", {"depthRadius": 1, "alpha": 0.5}, (drawn(1, 2, 3, 5, dtype=np.float16),), **HALF),
    NodeCase(
        T.LRN,
        "another region",
        {"depthRadius": 1, "normRegion": "WITHIN_CHANNEL"},
        ((2, 3, 2, 4),),
        refuses="normRegion",
    ),
    NodeCase(T.LRN, "radius below 0", {"depthRadius": -1}, ((2, 3, 2, 4),), refuses="depthRadius"),
    NodeCase(T.LRN, "rank 3", {"depthRadius": 1}, ((2, 3, 4),), refuses="rank|dims"),
]

PROBABILITIES = [0.09003057, 0.24472847, 0.66524096]
for _kind, _known in ((T.SOFTMAX, PROBABILITIES), (T.LOG_SOFTMAX, np.log(PROBABILITIES).tolist())):

    def _axis(axis: int, kind: NodeType = _kind) -> dict[str, object]:
        return {"axis": [axis] if kind is T.SOFTMAX else axis}

    CASES += [
        NodeCase(_kind, "known values", _axis(-1), (f32([1, 2, 3]),), expect=(_known,)),
        *(NodeCase(_kind, f"axis {axis} of rank 4", _axis(axis), ((2, 3, 4, 5),)) for axis in range(-4, 4)),
        NodeCase(_kind, "large numbers", _axis(0), (f32([1000, 1001, 1002]),), expect=(_known,)),
        NodeCase(_kind, "one element", _axis(1), ((3, 1),)),
        NodeCase(_kind, "N,C,H,W", _axis(1), ((2, 3, 4, 5),), **NCHW),
        NodeCase(_kind, "rank 8", _axis(3), ((1, 2, 1, 3, 1, 2, 2, 1),)),
        NodeCase(_kind, "float16", _axis(1), (drawn(3, 4, dtype=np.float16),), **HALF),
        NodeCase(_kind, "float64", _axis(1), (drawn(3, 4, dtype=np.float64),)),
        NodeCase(_kind, "int8", _axis(1), (whole(3, 4, dtype=np.int8),), quant=(q(0.1, 1),), made=q(0.03, 10)),
        NodeCase(_kind, "axis beyond the rank", _axis(2), ((3, 4),), refuses="axis"),
        NodeCase(_kind, "axis before the rank", _axis(-3), ((3, 4),), refuses="axis"),
        NodeCase(_kind, "two inputs", _axis(0), ((3, 4), (3, 4)), refuses="inputs"),
    ]
CASES += [
    NodeCase(T.SOFTMAX, "two axes", {"axis": [0, 1]}, ((3, 4),), refuses="axis"),
    NodeCase(T.SOFTMAX, "no axis", {"axis": []}, ((3, 4),), refuses="axis"),
]
