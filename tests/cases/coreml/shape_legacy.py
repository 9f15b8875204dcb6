"""Rows of loadConstant, reshape, flatten, permute, concat, split, sequenceRepeat, reorganizeData and slice."""
# ruff: noqa: E501 - one row a line

from __future__ import annotations

from functools import partial
from itertools import permutations

import numpy as np

from cases import Case, half, linear, lookup, normal

load = partial(Case, "loadConstant", inputs=())
reshape = partial(Case, "reshape")
flatten = partial(Case, "flatten")
permute = partial(Case, "permute")
concat = partial(Case, "concat")
split = partial(Case, "split")
repeat = partial(Case, "sequenceRepeat")
blocks = partial(Case, "reorganizeData")
cut = partial(Case, "slice")

ORDERS = ("CHANNEL_FIRST", "CHANNEL_LAST")


def ramp(*shape: int) -> np.ndarray:
    """1, 2, 3 … in a shape."""
    return np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape)


LOAD = [
    load("known answer", {"shape": (2, 1, 3), "data": ramp(6)}, expect=(ramp(1, 1, 2, 1, 3),)),
    load("legacy", {"shape": (2, 3, 4), "data": normal(24)}, rank5=True),
    load("one number", {"shape": (1, 1, 1), "data": np.array([-2.5])}, expect=(np.full((1, 1, 1, 1, 1), -2.5),)),
    load("float16", {"shape": (2, 1, 3), "data": half(normal(6))}),
    load("8 bit linear", {"shape": (2, 1, 3), "data": linear(np.arange(6) * 50, 8, 0.01, -1.0)}),
    load("4 bit linear, a scale for each channel", {"shape": (2, 1, 3), "data": linear(np.arange(6), 4, [0.5, 2.0], [-1.0, 1.0])}),
    load("3 bit table", {"shape": (2, 1, 3), "data": lookup([7, 0, 3, 1, 6, 2], 3, normal(8))}),
    load("shape of length 2", {"shape": (2, 3), "data": normal(6)}, refuses="shape"),
    load("shape of length 4", {"shape": (1, 2, 1, 3), "data": normal(6)}, refuses="shape"),
    load("no shape", {"data": normal(6)}, refuses="shape"),
    load("too few values", {"shape": (2, 1, 3), "data": normal(5)}, refuses="data"),
    load("no values", {"shape": (2, 1, 3)}, refuses="data"),
]  # fmt: skip

RESHAPE = [
    reshape(f"{target} of {shape}, {mode}{', legacy' if rank5 else ''}", {"targetShape": target, "mode": mode}, (shape,), rank5=rank5)
    for mode in ORDERS
    for shape, target in (
        ((1, 1, 2, 3, 4), (4, 3, 2)),
        ((1, 1, 2, 3, 4), (24, 1, 1)),
        ((1, 1, 24, 1, 1), (2, 3, 4)),
        ((1, 1, 2, 3, 4), (1, 4, 2, 3)),
        ((1, 1, 2, 3, 4), (2, 3, 4, 1)),
        ((2, 1, 2, 1, 3), (1, 4, 1, 3)),
        ((3, 1, 2, 2, 1), (3, 1, 2, 2)),
        ((3, 2, 2, 2, 1), (1, 4, 1)),
        ((1, 3, 4, 1, 2), (2, 2, 2)),
        ((2, 3, 4, 1, 2), (2, 2, 2, 2)),
    )
    for rank5 in (False, True)
] + [
    reshape("channel first, known answer", {"targetShape": (1, 3, 2)}, (ramp(1, 1, 2, 1, 3),), expect=([[[[[1, 2], [3, 4], [5, 6]]]]],)),
    # H, W, C order: 1 4 2 5 3 6, written into H 3, W 2, C 1
    reshape("channel last, known answer", {"targetShape": (1, 3, 2), "mode": "CHANNEL_LAST"}, (ramp(1, 1, 2, 1, 3),), expect=([[[[[1, 4], [2, 5], [3, 6]]]]],)),
    # a plane of 1x6 cells, read H, W, C: 1 2 3 4 5 6, written into H 1, W 3, C 2
    reshape("channel last into channels, known answer", {"targetShape": (2, 1, 3), "mode": "CHANNEL_LAST"}, (ramp(1, 1, 1, 1, 6),), expect=([[[[[1, 3, 5]], [[2, 4, 6]]]]],)),
    reshape("sequence -1: what remains, as real files have it", {"targetShape": (-1, 4, 1, 1)}, ((1, 1, 2, 2, 6),)),
    reshape("sequence -1, legacy", {"targetShape": (-1, 6, 1, 1)}, ((2, 1, 2, 3, 1),), rank5=True),
    reshape("height -1", {"targetShape": (2, -1, 3)}, ((1, 1, 4, 3, 2),)),
    reshape("targetShape of length 2", {"targetShape": (6, 4)}, ((1, 1, 2, 3, 4),), refuses="targetShape"),
    reshape("targetShape of length 5", {"targetShape": (1, 1, 6, 2, 2)}, ((1, 1, 2, 3, 4),), refuses="targetShape"),
    reshape("no targetShape", {}, ((1, 1, 2, 3, 4),), refuses="targetShape"),
    reshape("another number of values", {"targetShape": (5, 1, 1)}, ((1, 1, 2, 3, 4),), refuses="targetShape"),
    reshape("unknown mode", {"targetShape": (24, 1, 1), "mode": 2}, ((1, 1, 2, 3, 4),), refuses="mode"),
    reshape("rank 4", {"targetShape": (24, 1, 1)}, ((1, 2, 3, 4),), refuses="rank"),
]  # fmt: skip

FLATTEN = [
    flatten(f"{mode}, {note}", {"mode": mode}, (shape,), rank5=note.startswith("legacy"))
    for mode in ORDERS
    for note, shape in (
        ("rank 3", (2, 3, 4)), ("rank 4", (3, 2, 2, 3)), ("rank 5", (2, 1, 2, 2, 3)), ("rank 6", (2, 1, 2, 2, 2, 3)),
        ("vector", (4, 1, 1)), ("legacy", (1, 1, 2, 3, 4)), ("legacy, batch", (1, 3, 2, 2, 3)), ("legacy, sequence and batch", (2, 3, 2, 2, 3)),
    )
] + [
    flatten("channel first, known answer", {}, (ramp(2, 2, 3),), expect=(ramp(12, 1, 1),)),
    flatten("channel last, known answer", {"mode": "CHANNEL_LAST"}, (ramp(2, 2, 3),), expect=([1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12],)),
    flatten("unknown mode", {"mode": 2}, ((2, 2, 3),), refuses="mode"),
    flatten("rank 2", {}, ((2, 3),), refuses="rank"),
]  # fmt: skip

PERMUTE = [
    permute(f"axis {axis}{', legacy' if rank5 else ''}", {"axis": axis}, ((2, 3, 4, 5, 6),), rank5=rank5)
    for axis in permutations(range(4))
    for rank5 in (False, True)
] + [
    permute(f"axis {axis}, legacy, one step", {"axis": axis}, ((1, batch, 2, 3, 4),), rank5=True)
    for axis, batch in (((0, 2, 1, 3), 2), ((0, 3, 1, 2), 3), ((2, 1, 0, 3), 1), ((3, 1, 2, 0), 2))
] + [
    permute("axis left out: as it is", {}, ((2, 3, 2, 2, 2),)),
    permute("sequence and width change places, known answer", {"axis": (3, 1, 2, 0)}, (ramp(2, 1, 1, 1, 3),), expect=(np.array([1, 4, 2, 5, 3, 6]).reshape(3, 1, 1, 1, 2),)),
    permute("an axis twice", {"axis": (0, 1, 1, 2)}, ((2, 1, 2, 2, 2),), refuses="axis"),
    permute("an axis that is not there", {"axis": (0, 1, 2, 4)}, ((2, 1, 2, 2, 2),), refuses="axis"),
    permute("three axes", {"axis": (0, 1, 2)}, ((2, 1, 2, 2, 2),), refuses="axis"),
    permute("five axes", {"axis": (0, 1, 2, 3, 4)}, ((2, 1, 2, 2, 2),), refuses="axis"),
    permute("rank 4", {"axis": (0, 2, 1, 3)}, ((2, 3, 4, 5),), refuses="rank"),
]  # fmt: skip

SEQUENCE = {"sequenceConcat": True}
CONCAT = [
    concat("channels, rank 3", {}, ((2, 3, 4), (1, 3, 4))),
    concat("channels, rank 4, three", {}, ((2, 1, 2, 3), (2, 3, 2, 3), (2, 2, 2, 3))),
    concat("channels, rank 5", {}, ((2, 1, 2, 1, 3), (2, 1, 1, 1, 3))),
    concat("channels, known answer", {}, ([[[1.0]], [[2.0]]], [[[3.0]]]), expect=([1, 2, 3],)),
    concat("six inputs", {}, ((1, 2, 2),) * 6),
    concat("sequence, known answer", SEQUENCE, (ramp(1, 1, 2, 1, 1), 10 * ramp(2, 1, 2, 1, 1)), expect=([1, 2, 10, 20, 30, 40],)),
    concat("sequence, rank 5", SEQUENCE, ((2, 3, 2, 1, 2), (1, 3, 2, 1, 2))),
    concat("sequence, rank 6", SEQUENCE, ((2, 2, 3, 2, 1, 2), (2, 1, 3, 2, 1, 2))),
    concat("legacy, channels, batch", {}, ((1, 2, 2, 3, 2), (1, 2, 1, 3, 2)), rank5=True),
    concat("legacy, channels, sequence and batch", {}, ((2, 3, 2, 1, 2), (2, 3, 1, 1, 2)), rank5=True),
    concat("legacy, sequence", SEQUENCE, ((2, 3, 2, 1, 2), (1, 3, 2, 1, 2)), rank5=True),
    concat("legacy, sequence, one step each", SEQUENCE, ((1, 2, 2, 1, 2), (1, 2, 2, 1, 2)), rank5=True),
    concat("no input", {}, (), refuses="input"),
    concat("planes of another size", {}, ((2, 3, 4), (2, 3, 5)), refuses="shapes"),
    concat("channels, rank 2", {}, ((3, 4), (3, 4)), refuses="rank"),
    concat("sequence, rank 4", SEQUENCE, ((1, 2, 3, 4), (1, 2, 3, 4)), refuses="rank"),
]  # fmt: skip

SPLIT = [
    split("rank 3, known answer", {"nOutputs": 3}, (ramp(3, 1, 2),), 3, expect=([1, 2], [3, 4], [5, 6])),
    split("nine channels in three", {"nOutputs": 3}, ((9, 2, 2),), 3),
    split("rank 4", {"nOutputs": 2}, ((3, 4, 2, 1),), 2),
    split("rank 5", {"nOutputs": 2}, ((2, 3, 4, 1, 2),), 2),
    split("legacy, batch", {"nOutputs": 4}, ((1, 3, 4, 2, 1),), 4, rank5=True),
    split("legacy, sequence and batch", {"nOutputs": 2}, ((2, 3, 4, 2, 1),), 2, rank5=True),
    split("does not divide the channels", {"nOutputs": 2}, ((3, 2, 2),), 2, refuses="nOutputs"),
    split("nOutputs is not the number of outputs", {"nOutputs": 3}, ((6, 2, 2),), 2, refuses="nOutputs"),
    split("rank 2", {"nOutputs": 2}, ((4, 2),), 2, refuses="rank"),
]  # fmt: skip

REPEAT = [
    repeat("0 is 1", {}, ((2, 3, 2, 1, 1),)),
    repeat("1", {"nRepetitions": 1}, ((2, 3, 2, 1, 1),)),
    repeat("the whole sequence, known answer", {"nRepetitions": 2}, (ramp(3, 1, 1, 1, 1),), expect=([1, 2, 3, 1, 2, 3],)),
    repeat("3", {"nRepetitions": 3}, ((2, 3, 2, 1, 2),)),
    repeat("rank 6", {"nRepetitions": 2}, ((2, 2, 3, 2, 1, 2),)),
    repeat("legacy, one step", {"nRepetitions": 4}, ((1, 1, 3, 1, 1),), rank5=True),
    repeat("legacy, one step, batch", {"nRepetitions": 2}, ((1, 3, 2, 1, 1),), rank5=True),
    repeat("legacy, sequence and batch", {"nRepetitions": 2}, ((2, 3, 2, 1, 2),), rank5=True),
    repeat("rank 4", {"nRepetitions": 2}, ((2, 3, 2, 1),), refuses="rank"),
]  # fmt: skip

# the example of the format's text: C 8, H 1, W 2
EIGHT = ramp(8, 1, 2)
DEPTH = [[[1, 5, 2, 6], [9, 13, 10, 14]], [[3, 7, 4, 8], [11, 15, 12, 16]]]
SHUFFLE = [[[1, 3, 2, 4], [5, 7, 6, 8]], [[9, 11, 10, 12], [13, 15, 14, 16]]]
BLOCKS = [
    blocks("DEPTH_TO_SPACE, known answer", {"mode": "DEPTH_TO_SPACE", "blockSize": 2}, (EIGHT,), expect=(DEPTH,)),
    blocks("PIXEL_SHUFFLE, known answer", {"mode": "PIXEL_SHUFFLE", "blockSize": 2}, (EIGHT,), expect=(SHUFFLE,)),
    blocks("SPACE_TO_DEPTH, known answer", {"mode": "SPACE_TO_DEPTH", "blockSize": 2}, (DEPTH,), expect=(EIGHT,)),
] + [
    blocks(f"{mode}, block {size}, {note}", {"mode": mode, "blockSize": size}, ((*batch, *shape),), rank5=note.startswith("legacy"))
    for mode, size, shape in (
        ("SPACE_TO_DEPTH", 2, (3, 4, 2)), ("SPACE_TO_DEPTH", 3, (1, 3, 6)),
        ("DEPTH_TO_SPACE", 2, (12, 1, 3)), ("DEPTH_TO_SPACE", 3, (9, 2, 1)),
        ("PIXEL_SHUFFLE", 2, (12, 1, 3)), ("PIXEL_SHUFFLE", 3, (18, 1, 2)),
    )
    for note, batch in (("rank 3", ()), ("rank 4", (2,)), ("rank 5", (2, 2)), ("legacy, batch", (1, 3)), ("legacy, sequence and batch", (2, 2)))
] + [
    blocks("blockSize 0", {"mode": "DEPTH_TO_SPACE"}, ((4, 2, 2),), refuses="blockSize"),
    blocks("blockSize 1", {"blockSize": 1}, ((4, 2, 2),), refuses="blockSize"),
    blocks("SPACE_TO_DEPTH, blockSize does not divide the plane", {"blockSize": 2}, ((4, 3, 2),), refuses="blockSize"),
    blocks("DEPTH_TO_SPACE, blockSize squared does not divide the channels", {"mode": "DEPTH_TO_SPACE", "blockSize": 2}, ((6, 2, 2),), refuses="blockSize"),
    blocks("PIXEL_SHUFFLE, blockSize squared does not divide the channels", {"mode": "PIXEL_SHUFFLE", "blockSize": 2}, ((6, 2, 2),), refuses="blockSize"),
    blocks("unknown mode", {"mode": 3, "blockSize": 2}, ((4, 2, 2),), refuses="mode"),
    blocks("rank 2", {"blockSize": 2}, ((4, 4),), refuses="rank"),
]  # fmt: skip

AXES = ("CHANNEL_AXIS", "HEIGHT_AXIS", "WIDTH_AXIS")
CUT = [
    cut(f"{axis}, {start} to {end}, step {step}", {"axis": axis, "startIndex": start, "endIndex": end, "stride": step}, ((2, 5, 6, 7),))
    for axis in AXES
    for start, end, step in ((0, 5, 1), (1, 4, 1), (1, 5, 2), (0, -1, 1), (1, -1, 3), (-3, -1, 1), (-4, 4, 2), (2, 100, 1), (2, 3, 1))
] + [
    cut(f"{axis}, {note}", {"axis": axis, "startIndex": 1, "endIndex": -1, "stride": 2}, (shape,), rank5=note.startswith("legacy"))
    for axis in AXES
    for note, shape in (("rank 3", (4, 5, 6)), ("rank 5", (2, 1, 4, 5, 6)), ("legacy, batch", (1, 2, 4, 5, 6)), ("legacy, sequence and batch", (2, 2, 4, 5, 6)))
] + [
    cut("-1 is the last, known answer", {"axis": "WIDTH_AXIS", "startIndex": -3, "endIndex": -1, "stride": 1}, (ramp(5),), expect=([3, 4],)),
    cut("width, rank 1, step 2, known answer", {"axis": "WIDTH_AXIS", "startIndex": 0, "endIndex": 5, "stride": 2}, (ramp(5),), expect=([1, 3, 5],)),
    cut("height, rank 2", {"axis": "HEIGHT_AXIS", "startIndex": 1, "endIndex": 3, "stride": 1}, ((4, 3),)),
    cut("end 0 behind a negative start: to the end, known answer", {"axis": "WIDTH_AXIS", "startIndex": -2, "endIndex": 0, "stride": 1}, (ramp(5),), expect=([4, 5],)),
    cut("end 0 behind start 0", {"startIndex": 0, "endIndex": 0, "stride": 1}, ((4, 3, 3),), refuses="endIndex"),
    cut("stride left out", {"startIndex": 0, "endIndex": 2}, ((4, 3, 3),), refuses="stride"),
    cut("end before start", {"startIndex": 3, "endIndex": 1, "stride": 1}, ((4, 3, 3),), refuses="endIndex"),
    cut("negative end before start", {"startIndex": -1, "endIndex": -3, "stride": 1}, ((4, 3, 3),), refuses="endIndex"),
    cut("unknown axis", {"axis": 3, "endIndex": 2, "stride": 1}, ((4, 3, 3),), refuses="axis"),
    cut("channels, rank 2", {"endIndex": 2, "stride": 1}, ((4, 3),), refuses="rank"),
]  # fmt: skip

CASES = LOAD + RESHAPE + FLATTEN + PERMUTE + CONCAT + SPLIT + REPEAT + BLOCKS + CUT
