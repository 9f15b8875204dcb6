"""Drawn nodes: whatever the attributes, the device answers as the twin does, or refuses where the twin refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cases.nnrt import NodeCase, drawn, ints, weights
from pippin.errors import PippinError
from pippin.nnrt.types import CoordinateTransformMode, Format, NearestMode, NodeType, PaddingMode, ReduceMode
from test_nnrt_nodes import DEVICE, check, expected

T = NodeType
Draw = Callable[[st.SearchStrategy[Any]], Any]
PERTURBED = st.integers(-1, 3)


def pair(least: int, most: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(least, most), min_size=2, max_size=2)


def image(draw: Draw, channels: int = 2) -> tuple[tuple[int, ...], Format]:
    high, wide = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    label = draw(st.sampled_from([Format.NHWC, Format.NCHW]))
    return ((1, high, wide, channels) if label == Format.NHWC else (1, channels, high, wide)), label


@st.composite
def convolutions(draw: Draw) -> NodeCase:
    shape, label = image(draw)
    kernel = draw(pair(1, 4))
    attributes = {
        "kernelSize": kernel,
        "stride": draw(pair(0, 3)),
        "dilation": draw(pair(1, 3)),
        "padMode": draw(st.integers(0, 2)),
        "padList": draw(st.lists(PERTURBED, min_size=4, max_size=4)),
        "group": draw(st.sampled_from([1, 2])),
    }
    weight = weights(2, *kernel, 2 // attributes["group"])
    return NodeCase(T.CONV2D_FUSION, "drawn", attributes, (shape, weight), format=label)


@st.composite
def transposed_convolutions(draw: Draw) -> NodeCase:
    shape, label = image(draw)
    kernel = draw(pair(1, 4))
    attributes = {
        "kernelSize": kernel,
        "stride": draw(pair(1, 3)),
        "dilation": draw(pair(1, 2)),
        "padMode": draw(st.integers(0, 2)),
        "padList": draw(st.lists(st.integers(0, 2), min_size=4, max_size=4)),
        "outputPaddings": draw(pair(0, 2)),
    }
    spatial = shape[1:3] if label == Format.NHWC else shape[2:]
    for axis, size in enumerate(spatial):
        spread = (kernel[axis] - 1) * attributes["dilation"][axis] + 1
        pads = attributes["padList"][2 * axis : 2 * axis + 2]
        assume((size - 1) * attributes["stride"][axis] + spread > sum(pads))
    known = ((0, 1 if label == Format.NCHW else 3),)
    return NodeCase(
        T.CONV2D_TRANSPOSE_FUSION, "drawn", attributes, (shape, weights(2, *kernel, 3)), format=label, known=known
    )


@st.composite
def poolings(draw: Draw) -> NodeCase:
    shape, label = image(draw)
    attributes = {
        "kernelSize": draw(pair(1, 4)),
        "strides": draw(pair(1, 4)),
        "padMode": draw(st.integers(0, 2)),
        "pad": draw(st.lists(PERTURBED, min_size=4, max_size=4)),
        "roundMode": draw(st.integers(0, 1)),
    }
    spatial = shape[1:3] if label == Format.NHWC else shape[2:]
    assume(all(window <= size for window, size in zip(attributes["kernelSize"], spatial, strict=True)))
    kind = draw(st.sampled_from([T.AVGPOOL_FUSION, T.MAX_POOL_FUSION]))
    return NodeCase(kind, "drawn", attributes, (shape,), format=label)


@st.composite
def resizes(draw: Draw) -> NodeCase:
    shape, label = image(draw)
    attributes = {
        "method": draw(st.integers(0, 2)),
        "newHeight": draw(st.integers(1, 9)),
        "newWidth": draw(st.integers(1, 9)),
        "coordinateTransformMode": draw(st.sampled_from(list(CoordinateTransformMode))),
        "nearestMode": draw(st.sampled_from(list(NearestMode))),
        "excludeOutside": draw(st.integers(0, 1)),
        "cubicCoeff": draw(st.sampled_from([-0.75, -0.5])),
    }
    return NodeCase(T.RESIZE, "drawn", attributes, (shape,), format=label)


MASKS = ("beginMask", "endMask", "ellipsisMask", "newAxisMask", "shrinkAxisMask")


@st.composite
def strided_slices(draw: Draw) -> NodeCase:
    """At most one of the masks but begin and end names an entry; an end may lie one beyond its dim."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    dims = shape[: draw(st.integers(1, len(shape)))]
    begin = ints([draw(st.integers(-dim, dim)) for dim in dims])
    end = ints([draw(st.integers(-dim, dim + 1)) for dim in dims])
    strides = [draw(st.integers(-2, 2)) for _ in dims]
    attributes = dict.fromkeys(MASKS, 0)
    for place in range(len(dims)):
        for name in draw(
            st.sampled_from([(), (), MASKS[:1], MASKS[1:2], MASKS[:2], MASKS[2:3], MASKS[3:4], MASKS[4:]])
        ):
            attributes[name] |= 1 << place
            if name == "ellipsisMask":  # a whole dim backwards means nothing
                strides[place] = abs(strides[place])
    return NodeCase(T.STRIDED_SLICE, "drawn", attributes, (shape, begin, end, ints(strides)))


@st.composite
def slices(draw: Draw) -> NodeCase:
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    axes = draw(st.lists(st.integers(-len(shape), len(shape) - 1), max_size=len(shape), min_size=1))
    begin, size = (ints([draw(st.integers(-1, 4)) for _ in axes]) for _ in range(2))
    return NodeCase(T.SLICE_FUSION, "drawn", {"axes": axes}, (shape, begin, size))


@st.composite
def paddings(draw: Draw) -> NodeCase:
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    pads = ints([[draw(st.integers(-1, 9)), draw(st.integers(0, 4))] for _ in shape])
    attributes = {"paddingMode": draw(st.sampled_from(list(PaddingMode))), "constantValue": 1.5}
    return NodeCase(T.PAD_FUSION, "drawn", attributes, (shape, pads))


@st.composite
def reductions(draw: Draw) -> NodeCase:
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    axes = ints(draw(st.lists(st.integers(-len(shape), len(shape)), max_size=3)))
    mode = draw(st.sampled_from([mode for mode in ReduceMode if mode is not ReduceMode.ALL]))
    attributes = {
        "mode": mode,
        "keepDims": draw(st.booleans()),
        "reduceToEnd": draw(st.booleans()),
        "coeff": draw(st.sampled_from([0.0, 2.5])),
    }
    return NodeCase(T.REDUCE_FUSION, "drawn", attributes, (shape, axes))


@st.composite
def broadcasts(draw: Draw) -> NodeCase:
    full = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    shapes = [
        tuple(dim if draw(st.booleans()) else 1 for dim in full[draw(st.integers(0, len(full))) :]) for _ in range(2)
    ]
    kind = draw(st.sampled_from([T.ADD_FUSION, T.SUB_FUSION, T.MUL_FUSION, T.MAXIMUM, T.SQUARED_DIFFERENCE]))
    return NodeCase(kind, "drawn", {}, (drawn(*shapes[0]), drawn(*shapes[1], seed=8)))


@st.composite
def space_and_batch(draw: Draw) -> NodeCase:
    label = draw(st.sampled_from([Format.NHWC, Format.NCHW]))
    dims = (draw(st.sampled_from([1, 2, 4])), draw(st.integers(1, 5)), draw(st.integers(1, 5)))
    shape = (*dims, 2) if label == Format.NHWC else (dims[0], 2, *dims[1:])
    kind = draw(st.sampled_from([T.BATCH_TO_SPACE_ND, T.SPACE_TO_BATCH_ND]))
    borders = [draw(pair(0, 2)) for _ in range(2)]
    name = "crops" if kind is T.BATCH_TO_SPACE_ND else "paddings"
    return NodeCase(kind, "drawn", {"blockShape": draw(pair(1, 2)), name: borders}, (shape,), format=label)


FAMILIES = {
    "convolutions": convolutions(),
    "transposed convolutions": transposed_convolutions(),
    "poolings": poolings(),
    "resizes": resizes(),
    "strided slices": strided_slices(),
    "slices": slices(),
    "paddings": paddings(),
    "reductions": reductions(),
    "broadcasts": broadcasts(),
    "space and batch": space_and_batch(),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_drawn_nodes(family: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(FAMILIES[family], st.booleans())
    def agree(row: NodeCase, unknown: bool) -> None:
        try:
            wanted = expected(row)
        except PippinError:
            with pytest.raises(PippinError):
                DEVICE.prepare(row.model()).predict(row.feeds())
            return
        model = row.model([value.shape for value in wanted], unknown=unknown)
        check(row, list(DEVICE.prepare(model).predict(row.feeds()).values()), wanted)

    agree()


def test_a_wrong_answer_is_noticed() -> None:
    row = NodeCase(T.ADD_FUSION, "drawn", {}, ((2,), (2,)))
    wanted = expected(row)
    with pytest.raises(AssertionError):
        check(row, [value.astype(np.float32) + np.float32(1e-3) for value in wanted], wanted)
    with pytest.raises(AssertionError):
        check(row, [value.astype(np.float32).reshape(1, 2) for value in wanted], wanted)
    with pytest.raises(AssertionError):
        check(row, wanted, wanted)
