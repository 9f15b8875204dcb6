"""More of :mod:`mindspore_cases`: reduction, images, what moves elements, look-ups."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindspore_cases import BIG, CASES, NONE, Array, Case, X, Y, add, drawn, i32, nchw, nhwc

__all__ = ["CASES", "NONE", "Case"]

# -- reduction

for _mode, _op in enumerate(("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum")):
    add(
        "ReduceFusion", _op[6:].upper(), drawn(2, 3, 4), i32([0, 2]), constants=(1,), mode=_mode, keepDims=True,
        ms=lambda ops, x, a, _op=_op: getattr(ops, _op)(keep_dims=True)(ops.T(x), (0, 2)),
    )  # fmt: skip
add("ReduceFusion", "SUM_SQUARE", X, i32([1]), constants=(1,), mode=5,
    ms=lambda ops, x, a: ops.ReduceSum()(ops.square(ops.T(x)), 1))  # fmt: skip
add("ReduceFusion", "ASUM", X, i32([1]), constants=(1,), mode=6,
    ms=lambda ops, x, a: ops.ReduceSum()(ops.abs(ops.T(x)), 1))  # fmt: skip
add("ReduceFusion", "ALL", X > -1, i32([1]), constants=(1,), mode=7, dtype="bool",
    ms=lambda ops, x, a: ops.ReduceAll()(ops.T(x), 1))  # fmt: skip
add("ReduceFusion", "L2", X, i32([1]), constants=(1,), mode=8, ms=lambda ops, x, a: ops.LpNorm(1, 2)(ops.T(x)))
add("All", "axis 1", X > -1, i32([1]), constants=(1,), ms=lambda ops, x, a: ops.ReduceAll()(ops.T(x), 1))
add("ArgMaxFusion", "axis 1", X, ms=lambda ops, x: ops.Argmax(axis=1)(ops.T(x)), axis=1)
add(
    "ArgMaxFusion",
    "ties",
    np.array([[1, 3, 3], [2, 2, 0]], np.float32),
    ms=lambda ops, x: ops.Argmax(axis=1)(ops.T(x)),
    axis=1,
)
add(
    "ArgMaxFusion",
    "the values",
    X,
    ms=lambda ops, x: ops.ArgMaxWithValue(axis=1)(ops.T(x))[1],
    axis=1,
    outMaxValue=True,
)
add("TopKFusion", "sorted", X, i32(2), constants=(1,), outputs=2, axis=-1,
    ms=lambda ops, x, k: list(ops.TopK(sorted=True)(ops.T(x), 2)))  # fmt: skip
add("TopKFusion", "ties", np.array([1, 3, 3, 2, 3], np.float32), i32(2), constants=(1,), outputs=2, axis=-1,
    differs="of equal elements MindSpore tells any places (2 and 4 of [1, 3, 3, 2, 3]), NNRt the lower ones",
    ms=lambda ops, x, k: list(ops.TopK(sorted=True)(ops.T(x), 2)))  # fmt: skip

# -- images

for _note, _mode, _how in (
    ("ASYMMETRIC", 0, {}),
    ("ALIGN_CORNERS", 1, {"align_corners": True}),
    ("HALF_PIXEL", 2, {"half_pixel_centers": True}),
):
    for _height, _width in ((9, 7), (3, 2)):
        _size = f"{_note}, {_height} x {_width}"
        add(
            "Resize", f"LINEAR, {_size}", BIG, method=0, newHeight=_height, newWidth=_width,
            coordinateTransformMode=_mode,
            ms=lambda ops, x, _h=_height, _w=_width, _how=_how: nhwc(
                ops.ResizeBilinearV2(**_how)(ops.T(nchw(x)), ops.T(i32([_h, _w])))
            ),
        )  # fmt: skip
        add(
            "Resize", f"NEAREST, {_size}", BIG, method=1, newHeight=_height, newWidth=_width,
            coordinateTransformMode=_mode, nearestMode=0 if _mode == 1 else 3,
            differs="MindSpore does not take half a pixel away from the coordinate: floor((i + ½) · old / new)"
            if _mode == 2 else "",
            ms=lambda ops, x, _h=_height, _w=_width, _how=_how: nhwc(
                ops.ResizeNearestNeighborV2(**_how)(ops.T(nchw(x)), ops.T(i32([_h, _w])))
            ),
        )  # fmt: skip
        add(
            "Resize", f"CUBIC, {_size}", BIG, method=2, newHeight=_height, newWidth=_width,
            coordinateTransformMode=_mode, cubicCoeff=-0.5 if _mode == 2 else -0.75,
            excludeOutside=int(_mode == 2), tolerance=2e-3,
            ms=lambda ops, x, _h=_height, _w=_width, _how=_how: nhwc(
                ops.ResizeBicubic(**_how)(ops.T(nchw(x)), ops.T(i32([_h, _w])))
            ),
        )  # fmt: skip
add(
    "DepthToSpace", "DCR", drawn(1, 2, 3, 8), blockSize=2,
    ms=lambda ops, x: nhwc(ops.DepthToSpace(2)(ops.T(nchw(x)))),
)  # fmt: skip
add("DepthToSpace", "CRD", drawn(1, 2, 3, 8), blockSize=2, mode="CRD",
    ms=lambda ops, x: nhwc(ops.pixel_shuffle(ops.T(nchw(x)), 2)))  # fmt: skip
add("SpaceToDepth", "blocks of 2", drawn(1, 4, 6, 2), blockSize=2,
    ms=lambda ops, x: nhwc(ops.SpaceToDepth(2)(ops.T(nchw(x)))))  # fmt: skip
add(
    "SpaceToBatchND", "paddings", drawn(2, 3, 4, 2), blockShape=[2, 2], paddings=[[0, 1], [1, 1]],
    ms=lambda ops, x: nhwc(ops.SpaceToBatchND([2, 2], [[0, 1], [1, 1]])(ops.T(nchw(x)))),
)  # fmt: skip
add(
    "BatchToSpaceND", "crops", drawn(4, 2, 3, 2), blockShape=[2, 2], crops=[[0, 1], [1, 0]],
    ms=lambda ops, x: nhwc(ops.BatchToSpaceND([2, 2], [[0, 1], [1, 0]])(ops.T(nchw(x)))),
)  # fmt: skip
for _mode, _name in ((0, "CONSTANT"), (1, "REFLECT"), (2, "SYMMETRIC")):
    add(
        "PadFusion", _name, X, i32([[1, 2], [0, 3]]), constants=(1,), paddingMode=_mode,
        ms=lambda ops, x, p, _mode=_mode, _name=_name: (
            ops.MirrorPad(mode=_name)(ops.T(x), ops.T(p)) if _mode else ops.Pad(((1, 2), (0, 3)))(ops.T(x))
        ),
    )  # fmt: skip

# -- moving

T3 = drawn(2, 3, 4)
add("Reshape", "-1", T3, i32([4, -1]), constants=(1,), ms=lambda ops, x, s: ops.reshape(ops.T(x), (4, -1)))
add("Transpose", "2, 0, 1", T3, i32([2, 0, 1]), constants=(1,), ms=lambda ops, x, p: ops.transpose(ops.T(x), (2, 0, 1)))
add("Squeeze", "axis 1", drawn(2, 1, 3), ms=lambda ops, x: ops.squeeze(ops.T(x), 1), axis=[1])
add("Unsqueeze", "axis 1", X, ms=lambda ops, x: ops.unsqueeze(ops.T(x), 1), axis=[1])
add("ExpandDims", "axis -1", X, i32(-1), constants=(1,), ms=lambda ops, x, a: ops.expand_dims(ops.T(x), -1))
add("Flatten", "axis 1", T3, ms=lambda ops, x: ops.flatten(ops.T(x), start_dim=1), axis=1)
add("Concat", "axis 1", X, Y, ms=lambda ops, a, b: ops.cat((ops.T(a), ops.T(b)), 1), axis=1)
add("Stack", "axis 1", X, Y, ms=lambda ops, a, b: ops.stack((ops.T(a), ops.T(b)), 1), axis=1)
add("Split", "equal parts", X, ms=lambda ops, x: list(ops.split(ops.T(x), 2, 1)), outputs=2, outputNum=2, axis=1)
add("Unstack", "axis 0", X, ms=lambda ops, x: list(ops.unstack(ops.T(x), 0)), outputs=3, axis=0)
add("SliceFusion", "two axes", T3, i32([0, 1, 1]), i32([2, 2, 3]), constants=(1, 2), axes=[0, 1, 2],
    ms=lambda ops, x, b, s: ops.slice(ops.T(x), (0, 1, 1), (2, 2, 3)))  # fmt: skip
add(
    "TileFusion",
    "both axes",
    X,
    i32([2, 3]),
    constants=(1,),
    dims=[0, 1],
    ms=lambda ops, x, m: ops.tile(ops.T(x), (2, 3)),
)
add("BroadcastTo", "a new dim", X, ms=lambda ops, x: ops.broadcast_to(ops.T(x), (2, 3, 4)), shape=[2, 3, 4])
add("Shape", "three dims", T3, ms=lambda ops, x: np.array(ops.T(x).shape, np.int32))
add("Rank", "three dims", T3, ms=lambda ops, x: np.array(ops.rank(ops.T(x)), np.int32))


def _strided(ops: Any, x: Array, *entries: Array, **masks: int) -> Any:
    return ops.StridedSlice(**masks)(ops.T(x), *(tuple(map(int, entry)) for entry in entries))


S = (i32([0, 1, -1]), i32([2, 3, 0]), i32([1, 2, -1]))
add("StridedSlice", "steps", T3, *S, constants=(1, 2, 3), ms=_strided)
add("StridedSlice", "beginMask, endMask", T3, i32([1, 1, 1]), i32([1, 2, 2]), i32([1, 1, 1]), constants=(1, 2, 3),
    beginMask=1, endMask=4, ms=lambda ops, *a: _strided(ops, *a, begin_mask=1, end_mask=4))  # fmt: skip
add("StridedSlice", "shrinkAxisMask", T3, i32([0, 1, 0]), i32([2, 2, 4]), i32([1, 1, 1]), constants=(1, 2, 3),
    shrinkAxisMask=2, ms=lambda ops, *a: _strided(ops, *a, shrink_axis_mask=2))  # fmt: skip
add("StridedSlice", "newAxisMask", T3, i32([0, 0, 1]), i32([1, 2, 2]), i32([1, 1, 1]), constants=(1, 2, 3),
    newAxisMask=1,
    differs="MindSpore takes elements from elsewhere: of 0 … 23 it answers 1, 5, 13, 17 where 4, 5, 6, 7 stand",
    ms=lambda ops, *a: _strided(ops, *a, new_axis_mask=1))  # fmt: skip

# -- look-ups

add(
    "Gather",
    "axis 1",
    T3,
    i32([[2, 0], [1, 1]]),
    i32(1),
    constants=(1, 2),
    ms=lambda ops, x, i, a: ops.gather(ops.T(x), ops.T(i), 1),
)
add(
    "GatherNd",
    "tuples of 2",
    T3,
    i32([[1, 2], [0, 0]]),
    constants=(1,),
    ms=lambda ops, x, i: ops.gather_nd(ops.T(x), ops.T(i)),
)
add("ScatterNd", "rows", i32([[2], [0]]), drawn(2, 4), i32([3, 4]), constants=(0, 2),
    ms=lambda ops, i, u, s: ops.scatter_nd(ops.T(i), ops.T(u), (3, 4)))  # fmt: skip
add("ScatterNd", "one place twice", i32([[1], [1]]), drawn(2, 4), i32([3, 4]), constants=(0, 2),
    differs="MindSpore adds the updates of equal indices; MindSpore Lite, whose numbers NNRt has, keeps the last one",
    ms=lambda ops, i, u, s: ops.scatter_nd(ops.T(i), ops.T(u), (3, 4)))  # fmt: skip
add("SparseToDense", "two dims", i32([[0, 1], [2, 3]]), drawn(2), i32([3, 4]), constants=(0, 2),
    ms=lambda ops, i, v, s: ops.SparseToDense()(ops.T(i), ops.T(v), (3, 4)))  # fmt: skip
add("OneHot", "axis -1", i32([1, 0, 2]), i32(3), np.float32(2), np.float32(-1), constants=(1, 2, 3), axis=-1,
    ms=lambda ops, i, d, a, b: ops.OneHot(-1)(ops.T(i), 3, ops.T(a), ops.T(b)))  # fmt: skip
add("OneHot", "an index beyond", i32([1, 5]), i32(3), np.float32(2), np.float32(-1), constants=(1, 2, 3), axis=-1,
    ms=lambda ops, i, d, a, b: ops.OneHot(-1)(ops.T(i), 3, ops.T(a), ops.T(b)))  # fmt: skip
add(
    "Fill",
    "2 x 3",
    np.float32(2.5),
    i32([2, 3]),
    constants=(1,),
    ms=lambda ops, v, s: ops.full((2, 3), float(v), dtype=ops.float32),
)
add(
    "ConstantOfShape",
    "2 x 3",
    i32([2, 3]),
    dataType=43,
    value=[2.5],
    ms=lambda ops, s: ops.full((2, 3), 2.5, dtype=ops.float32),
)
add("Range", "three inputs", np.float32(0.5), np.float32(3), np.float32(0.5),
    ms=lambda ops, a, b, c: ops.range(ops.T(a), ops.T(b), ops.T(c)))  # fmt: skip
add(
    "Range",
    "fields",
    i32([0]),
    start=3,
    limit=-3,
    delta=-2,
    ms=lambda ops, x: ops.range(ops.T(i32(3)), ops.T(i32(-3)), ops.T(i32(-2))),
)
