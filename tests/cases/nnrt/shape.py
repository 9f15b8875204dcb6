"""Rows of the operators that change dims and leave the elements where they are, or tell the dims."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.nnrt.types import Format, NodeType

from . import NodeCase, f32, flags, i32, ints, q, whole

T = NodeType
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float64")
RAMP = np.arange(6, dtype=np.float32).reshape(2, 3)


def of_type(name: str, *shape: int) -> np.ndarray[Any, Any]:
    """Values of any element type."""
    return flags(*shape) if name == "bool" else whole(*shape, low=0, high=99, dtype=name)


def typed(
    kind: NodeType,
    attributes: dict[str, Any],
    *more: Any,
    shape: tuple[int, ...] = (2, 1, 3),
    outputs: int = 1,
    same: bool = True,
) -> list[NodeCase]:
    """A row for each element type; int8 and uint8 go through without quantParams."""
    types = {} if same else {"types": ("int32",) * outputs}
    return [NodeCase(kind, name, attributes, (of_type(name, *shape), *more), outputs, **types) for name in DTYPES]  # type: ignore[arg-type]


def reshape(note: str, x: Any, shape: Any, **options: Any) -> NodeCase:
    """A row of Reshape."""
    return NodeCase(T.RESHAPE, note, {}, (x, shape), **options)


CASES = [
    reshape("known values", RAMP, ints([3, 2]), expect=([[0, 1], [2, 3], [4, 5]],)),
    reshape("-1 takes what is left", (2, 3, 4), ints([4, -1])),
    reshape("-1 alone", (2, 3, 4), ints([-1])),
    reshape("0 keeps a dim", (2, 3, 4), ints([0, 12])),
    reshape("0 and -1", (2, 3, 4), ints([-1, 0])),
    reshape("to rank 8", (2, 3, 4), ints([1, 2, 1, 3, 1, 2, 2, 1])),
    reshape("from rank 8", (1, 2, 1, 3, 1, 2, 2, 1), ints([24])),
    reshape("one element to a scalar", (1, 1), ints([])),
    reshape("a scalar to rank 2", f32(3), ints([1, 1])),
    reshape("shape in int64", (2, 3, 4), ints([6, 4], np.int64)),
    reshape("shape in int8", (2, 3, 4), ints([6, 4], np.int8)),
    reshape("shape handed in", (2, 3, 4), i32([6, 4]), known=(1,)),
    reshape("N,C,H,W", (2, 3, 4, 5), ints([2, 60]), format=Format.NCHW),
    reshape(
        "int8, equal parameters", whole(2, 3, dtype=np.int8), ints([3, 2]), quant=(q(0.5, 1),), made=q(0.5, 1), steps=0
    ),
    reshape("int8, requantised", whole(2, 3, dtype=np.int8), ints([3, 2]), quant=(q(0.5, 1),), made=q(0.25, 3)),
    reshape("elements that do not fit", (2, 3), ints([4, 2]), refuses="shape"),
    reshape("elements that -1 cannot take", (2, 3), ints([4, -1]), refuses="shape"),
    reshape("-1 twice", (2, 3), ints([-1, -1]), refuses="shape"),
    reshape("-2", (2, 3), ints([-2, 3]), refuses="shape"),
    reshape("0 beyond the rank", (2, 3), ints([2, 3, 0]), refuses="shape"),
    NodeCase(T.RESHAPE, "one input", {}, ((2, 3),), refuses="inputs"),
    *typed(T.RESHAPE, {}, ints([3, 2])),
]


def transpose(note: str, x: Any, perm: Any, **options: Any) -> NodeCase:
    """A row of Transpose."""
    return NodeCase(T.TRANSPOSE, note, {}, (x, perm), **options)


CASES += [
    transpose("known values", RAMP, ints([1, 0]), expect=([[0, 3], [1, 4], [2, 5]],)),
    transpose("N,H,W,C to N,C,H,W", (2, 3, 4, 5), ints([0, 3, 1, 2])),
    transpose("nothing moves", (2, 3, 4), ints([0, 1, 2])),
    transpose("an empty perm reverses", (2, 3, 4), ints([])),
    transpose("rank 1", (3,), ints([0])),
    transpose("a scalar", f32(3), ints([])),
    transpose("rank 8", (1, 2, 1, 3, 1, 2, 2, 1), ints([7, 3, 0, 5, 6, 1, 2, 4])),
    transpose("perm in int64", (2, 3, 4), ints([2, 0, 1], np.int64)),
    transpose("int8, requantised", whole(2, 3, dtype=np.int8), ints([1, 0]), quant=(q(0.5, 1),), made=q(0.25, 3)),
    transpose("perm too short", (2, 3, 4), ints([1, 0]), refuses="perm"),
    transpose("a dim twice", (2, 3), ints([0, 0]), refuses="perm"),
    transpose("a dim beyond the rank", (2, 3), ints([0, 2]), refuses="perm"),
    NodeCase(T.TRANSPOSE, "one input", {}, ((2, 3),), refuses="inputs"),
    *typed(T.TRANSPOSE, {}, ints([2, 0, 1])),
]

CASES += [
    NodeCase(T.SQUEEZE, "known values", {"axis": [0]}, (f32([[1, 2]]),), expect=([1, 2],)),
    NodeCase(T.UNSQUEEZE, "known values", {"axis": [1]}, (f32([1, 2]),), expect=([[1], [2]],)),
    NodeCase(T.EXPAND_DIMS, "known values", {}, (f32([1, 2]), ints(1)), expect=([[1], [2]],)),
    NodeCase(T.FLATTEN, "known values", {"axis": 1}, (f32([[[1], [2]], [[3], [4]]]),), expect=([[1, 2], [3, 4]],)),
    NodeCase(T.SQUEEZE, "one dim", {"axis": [1]}, ((2, 1, 3, 1),)),
    NodeCase(T.SQUEEZE, "two dims", {"axis": [1, 3]}, ((2, 1, 3, 1),)),
    NodeCase(T.SQUEEZE, "axis -1", {"axis": [-1]}, ((2, 1, 3, 1),)),
    NodeCase(T.SQUEEZE, "every 1", {"axis": []}, ((2, 1, 3, 1),), dynamic=False, why="which dims are 1 must be known"),
    NodeCase(T.SQUEEZE, "to a scalar", {"axis": [0, 1]}, ((1, 1),)),
    NodeCase(T.SQUEEZE, "rank 8", {"axis": [0, 2, 7]}, ((1, 2, 1, 3, 1, 2, 2, 1),)),
    NodeCase(
        T.SQUEEZE,
        "int8, requantised",
        {"axis": [1]},
        (whole(3, 1, dtype=np.int8),),
        quant=(q(0.5, 1),),
        made=q(0.25, 3),
    ),
    NodeCase(T.SQUEEZE, "a dim that is not 1", {"axis": [0]}, ((2, 1, 3),), refuses="axis|1"),
    NodeCase(T.SQUEEZE, "axis beyond the rank", {"axis": [3]}, ((2, 1, 3),), refuses="axis"),
    NodeCase(T.SQUEEZE, "two inputs", {"axis": [1]}, ((2, 1), (2, 1)), refuses="inputs"),
    *typed(T.SQUEEZE, {"axis": [1]}),
    NodeCase(T.UNSQUEEZE, "in front", {"axis": [0]}, ((2, 3),)),
    NodeCase(T.UNSQUEEZE, "behind", {"axis": [2]}, ((2, 3),)),
    NodeCase(T.UNSQUEEZE, "axis -1", {"axis": [-1]}, ((2, 3),)),
    NodeCase(T.UNSQUEEZE, "places in the result", {"axis": [0, 2, 4]}, ((2, 3),)),
    NodeCase(T.UNSQUEEZE, "a scalar", {"axis": [0]}, (f32(3),)),
    NodeCase(T.UNSQUEEZE, "to rank 8", {"axis": [0, 2, 4, 7]}, ((2, 3, 2, 2),)),
    NodeCase(
        T.UNSQUEEZE, "int8, requantised", {"axis": [1]}, (whole(3, dtype=np.int8),), quant=(q(0.5, 1),), made=q(0.25, 3)
    ),
    NodeCase(T.UNSQUEEZE, "axis beyond the rank", {"axis": [3]}, ((2, 3),), refuses="axis"),
    NodeCase(T.UNSQUEEZE, "a place twice", {"axis": [1, 1]}, ((2, 3),), refuses="axis"),
    NodeCase(T.UNSQUEEZE, "two inputs", {"axis": [1]}, ((2,), (2,)), refuses="inputs"),
    *typed(T.UNSQUEEZE, {"axis": [1]}),
    *(NodeCase(T.EXPAND_DIMS, f"axis {axis}", {}, ((2, 3), ints(axis))) for axis in range(-3, 3)),
    NodeCase(T.EXPAND_DIMS, "axis of dims [1]", {}, ((2, 3), ints([1]))),
    NodeCase(T.EXPAND_DIMS, "a scalar", {}, (f32(3), ints(0))),
    NodeCase(T.EXPAND_DIMS, "rank 7", {}, ((1, 2, 1, 3, 1, 2, 2), ints(3))),
    NodeCase(T.EXPAND_DIMS, "axis beyond the rank", {}, ((2, 3), ints(3)), refuses="axis"),
    NodeCase(T.EXPAND_DIMS, "axis before the rank", {}, ((2, 3), ints(-4)), refuses="axis"),
    NodeCase(T.EXPAND_DIMS, "one input", {}, ((2, 3),), refuses="inputs"),
    *typed(T.EXPAND_DIMS, {}, ints(1)),
    *(NodeCase(T.FLATTEN, f"axis {axis}", {"axis": axis}, ((2, 3, 4),)) for axis in range(-3, 4)),
    NodeCase(T.FLATTEN, "rank 1", {"axis": 1}, ((3,),)),
    NodeCase(T.FLATTEN, "a scalar", {"axis": 0}, (f32(3),)),
    NodeCase(T.FLATTEN, "rank 8", {"axis": 4}, ((1, 2, 1, 3, 1, 2, 2, 1),)),
    NodeCase(T.FLATTEN, "axis beyond the rank", {"axis": 4}, ((2, 3, 4),), refuses="axis"),
    NodeCase(T.FLATTEN, "axis before the rank", {"axis": -4}, ((2, 3, 4),), refuses="axis"),
    NodeCase(T.FLATTEN, "two inputs", {"axis": 1}, ((2,), (2,)), refuses="inputs"),
    *typed(T.FLATTEN, {"axis": 1}),
]


def spread(note: str, x: Any, shape: list[int], **options: Any) -> NodeCase:
    """A row of BroadcastTo."""
    return NodeCase(T.BROADCAST_TO, note, {"shape": shape}, (x,), **options)


CASES += [
    spread("known values", f32([[1], [2]]), [2, 3], expect=([[1, 1, 1], [2, 2, 2]],)),
    spread("new dims", (3,), [2, 4, 3]),
    spread("-1 keeps a dim", (2, 1, 3), [-1, 4, -1]),
    spread("-1 behind new dims", (2, 1), [5, -1, 3]),
    spread("nothing to do", (2, 3), [2, 3]),
    spread("a scalar", f32(3), [2, 3]),
    spread("to rank 8", (1, 3, 1, 2), [2, 1, 2, 1, 1, 3, 2, 2]),
    spread("dims that do not fit", (2, 3), [2, 4], refuses="shape|broadcast"),
    spread("fewer dims", (2, 3), [3], refuses="shape"),
    spread("-1 without a dim", (3,), [-1, 3], refuses="shape"),
    spread("a dim below -1", (3,), [-2, 3], refuses="shape"),
    *typed(T.BROADCAST_TO, {"shape": [2, 4, 3]}),
]

INT = {"types": ("int32",)}
CASES += [
    NodeCase(T.SHAPE, "known values", {}, ((2, 3, 4),), expect=([2, 3, 4],), **INT),
    NodeCase(T.SHAPE, "rank 1", {}, ((5,),), expect=([5],), **INT),
    NodeCase(T.SHAPE, "a scalar", {}, (f32(3),), expect=([],), **INT),
    NodeCase(T.SHAPE, "rank 8", {}, ((1, 2, 1, 3, 1, 2, 2, 1),), **INT),
    NodeCase(T.SHAPE, "int8 with quantParams", {}, (whole(3, 4, dtype=np.int8),), quant=(q(0.5),), **INT),
    NodeCase(T.SHAPE, "two inputs", {}, ((2,), (2,)), refuses="inputs", **INT),
    *typed(T.SHAPE, {}, same=False),
    NodeCase(T.RANK, "known values", {}, ((2, 3, 4),), expect=(3,), **INT),
    NodeCase(T.RANK, "rank 1", {}, ((5,),), expect=(1,), **INT),
    NodeCase(T.RANK, "a scalar", {}, (f32(3),), expect=(0,), **INT),
    NodeCase(T.RANK, "rank 8", {}, ((1, 2, 1, 3, 1, 2, 2, 1),), expect=(8,), **INT),
    NodeCase(T.RANK, "two inputs", {}, ((2,), (2,)), refuses="inputs", **INT),
    *typed(T.RANK, {}, same=False),
]
