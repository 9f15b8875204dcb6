"""Rows of the operators that pick by index, make tensors or change their type."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.nnrt.types import DataType, Format, NodeType

from . import NodeCase, const, f32, flags, i32, ints, q, whole
from .shape import DTYPES, of_type

T = NodeType
X = (3, 4, 5)
RAMP = np.arange(12, dtype=np.float32).reshape(3, 4)


def gather(note: str, indices: Any, axis: Any, x: Any = X, **options: Any) -> NodeCase:
    """A row of Gather."""
    return NodeCase(T.GATHER, note, {}, (x, indices, ints(axis) if isinstance(axis, int) else axis), **options)


CASES = [
    gather("known values", ints([2, 0]), 0, RAMP, expect=([[8, 9, 10, 11], [0, 1, 2, 3]],)),
    gather("along axis 1, known values", ints([3, 3, 1]), 1, RAMP, expect=([[3, 3, 1], [7, 7, 5], [11, 11, 9]],)),
    *(gather(f"axis {axis}", ints([1, 0]), axis) for axis in range(-3, 3)),
    gather("one index", ints(1), 1),
    gather("indices of rank 2", ints([[1, 0, 2], [2, 2, 1]]), 1),
    gather("indices of rank 3", ints(whole(2, 1, 2, low=0, high=2)), 0),
    gather("indices handed in", i32([2, 0]), 1),
    gather("indices in int64", ints([2, 0], np.int64), 1),
    gather("axis of dims [1]", ints([2, 0]), ints([1])),
    gather("a vector", ints([2, 0, 1]), 0, (3,)),
    gather("rank 8", ints([1, 1]), 3, (1, 2, 1, 3, 1, 2, 2, 1)),
    gather("N,C,H,W", ints([1, 0]), 1, (1, 3, 2, 2), format=Format.NCHW),
    gather("int8, requantised", ints([2, 0]), 0, whole(4, dtype=np.int8), quant=(q(0.5, 1),), made=q(0.25, 3)),
    gather("an index beyond the dim", i32([1, 4]), 1, refuses="ind(ex|ices)"),
    gather("axis beyond the rank", ints([0]), 3, refuses="axis"),
    NodeCase(T.GATHER, "two inputs", {}, (X, ints([0])), refuses="inputs"),
    *(gather(name, ints([1, 0, 1]), 1, of_type(name, 2, 3)) for name in DTYPES),
]


def gather_nd(note: str, indices: Any, x: Any = X, **options: Any) -> NodeCase:
    """A row of GatherNd."""
    return NodeCase(T.GATHER_ND, note, {}, (x, indices), **options)


CASES += [
    gather_nd("known values", ints([[0, 1], [2, 3]]), RAMP, expect=([1, 11],)),
    gather_nd("rows, known values", ints([[2], [0]]), RAMP, expect=([[8, 9, 10, 11], [0, 1, 2, 3]],)),
    gather_nd("whole tuples", ints([[0, 1, 2], [2, 3, 4]])),
    gather_nd("tuples of one", ints([[1], [0]])),
    gather_nd("one tuple", ints([1, 2])),
    gather_nd("one whole tuple", ints([1, 2]), RAMP, expect=(6,)),
    gather_nd("one whole tuple, handed in", i32([0, 1, 2]), known=((1, 0),)),
    gather_nd("tuples of rank 3", ints(whole(2, 3, 2, low=0, high=2))),
    gather_nd("indices handed in", i32([[0, 1], [2, 3]]), known=((1, 1),)),
    gather_nd("indices in int64", ints([[0, 1], [2, 3]], np.int64)),
    gather_nd("rank 8", ints([[0, 1, 0], [0, 0, 0]]), (1, 2, 1, 3, 1, 2, 2, 1)),
    gather_nd("int8, requantised", ints([[2], [0]]), whole(4, dtype=np.int8), quant=(q(0.5, 1),), made=q(0.25, 3)),
    gather_nd("an index beyond the dim", i32([[3, 0]]), refuses="ind(ex|ices)"),
    gather_nd("tuples longer than the rank", ints([[0, 0, 0, 0]]), refuses="ind(ex|ices)|rank|dims"),
    NodeCase(T.GATHER_ND, "one input", {}, (X,), refuses="inputs"),
    *(gather_nd(name, ints([[1, 0], [0, 2]]), of_type(name, 2, 3)) for name in DTYPES),
]


def scatter(note: str, indices: Any, updates: Any, shape: Any, **options: Any) -> NodeCase:
    """A row of ScatterNd; y has the type of the updates."""
    types = (str(updates.dtype),) if isinstance(updates, np.ndarray) else ("float32",)
    return NodeCase(T.SCATTER_ND, note, {}, (indices, updates, shape), **{"types": types, **options})


CASES += [
    scatter("known values", ints([[4], [1]]), f32([9, 10]), ints([6]), expect=([0, 10, 0, 0, 9, 0],)),
    scatter(
        "rows, known values", ints([[2], [0]]), f32([[1, 2], [3, 4]]), ints([3, 2]), expect=([[3, 4], [0, 0], [1, 2]],)
    ),
    scatter("of duplicates the last one stays", ints([[1], [1], [0]]), f32([5, 6, 7]), ints([3]), expect=([7, 6, 0],)),
    scatter("whole tuples", ints([[0, 1, 2], [2, 3, 4]]), (2,), ints([3, 4, 5])),
    scatter("tuples of two", ints([[0, 1], [2, 3]]), (2, 5), ints([3, 4, 5])),
    scatter("tuples of rank 3", ints([[[0, 1], [2, 3]], [[1, 1], [0, 0]]]), (2, 2, 5), ints([3, 4, 5])),
    scatter("indices handed in", i32([[2], [0]]), (2, 4), ints([3, 4]), known=((0, 1),)),
    scatter("indices and shape in int64", ints([[2], [0]], np.int64), (2, 4), ints([3, 4], np.int64)),
    scatter("shape handed in", ints([[2], [0]]), (2, 4), i32([3, 4]), known=(2,)),
    scatter("rank 6", ints([[0, 1], [1, 0]]), (2, 1, 2, 2, 3), ints([2, 2, 1, 2, 2, 3])),
    scatter(
        "int8, requantised",
        ints([[2], [0]]),
        whole(2, dtype=np.int8),
        ints([4]),
        quant=(None, q(0.5, 1)),
        made=q(0.25, 3),
    ),
    scatter("an index beyond the dim", i32([[3], [0]]), (2, 4), ints([3, 4]), refuses="ind(ex|ices)"),
    scatter("updates of other dims", ints([[2], [0]]), (2, 3), ints([3, 4]), refuses="updates|dims|fit|shape"),
    scatter("a shape below 0", ints([[0]]), (1, 4), ints([-3, 4]), refuses="shape|dim"),
    NodeCase(T.SCATTER_ND, "two inputs", {}, (ints([[0]]), (1,)), types=("float32",), refuses="inputs"),
    *(scatter(name, ints([[2], [0]]), of_type(name, 2, 3), ints([4, 3])) for name in DTYPES),
]


def sparse(note: str, indices: Any, values: Any, shape: Any, *default: Any, **options: Any) -> NodeCase:
    """A row of SparseToDense; y has the type of the values."""
    types = (str(values.dtype),) if isinstance(values, np.ndarray) else ("float32",)
    return NodeCase(T.SPARSE_TO_DENSE, note, {}, (indices, values, shape, *default), **{"types": types, **options})


CASES += [
    sparse("known values", ints([[0, 1], [1, 2]]), f32([5, 6]), ints([2, 3]), expect=([[0, 5, 0], [0, 0, 6]],)),
    sparse(
        "a default, known values",
        ints([[0, 1], [1, 2]]),
        f32([5, 6]),
        ints([2, 3]),
        const(-1),
        expect=([[-1, 5, -1], [-1, -1, 6]],),
    ),
    sparse("a vector", ints([3, 0]), f32([5, 6]), ints([4]), expect=([6, 0, 0, 5],)),
    sparse("one value for all places", ints([[0, 1], [1, 2]]), f32(5), ints([2, 3]), expect=([[0, 5, 0], [0, 0, 5]],)),
    sparse("one place", ints([[1, 1]]), f32([5]), ints([2, 2])),
    sparse("rank 3", ints([[0, 1, 2], [1, 0, 0], [1, 2, 3]]), (3,), ints([2, 3, 4])),
    sparse("indices handed in", i32([[0, 1], [1, 2]]), (2,), ints([2, 3]), known=((0, 1),)),
    sparse("int64 all along", ints([[0, 1], [1, 2]], np.int64), (2,), ints([2, 3], np.int64)),
    sparse("int32", ints([[0, 1], [1, 2]]), i32([5, 6]), ints([2, 3]), ints(7)),
    sparse("float16", ints([[0, 1], [1, 2]]), f32([5, 6]).astype(np.float16), ints([2, 3])),
    sparse("bool", ints([[0, 1], [1, 2]]), np.array([True, False]), ints([2, 3])),
    sparse("indices of other dims", ints([[0, 1, 0], [1, 2, 0]]), (2,), ints([2, 3]), refuses="indices|shape|dims"),
    sparse("another number of values", ints([[0, 1], [1, 2]]), (3,), ints([2, 3]), refuses="values|dims|fit|shape"),
    sparse("an index beyond the dim", i32([[0, 3]]), (1,), ints([2, 3]), refuses="ind(ex|ices)"),
    NodeCase(T.SPARSE_TO_DENSE, "two inputs", {}, (ints([[0]]), (1,)), types=("float32",), refuses="inputs"),
]


def one_hot(
    note: str, axis: int, indices: Any, depth: Any = 4, on: Any = 1.0, off: Any = 0.0, **options: Any
) -> NodeCase:
    """A row of OneHot; y has the type of onValue."""
    values = [const(value) if isinstance(value, float) else value for value in (on, off)]
    inputs = (indices, ints(depth) if isinstance(depth, int) else depth, *values)
    return NodeCase(T.ONE_HOT, note, {"axis": axis}, inputs, **{"types": ("float32",), **options})


CASES += [
    one_hot("known values", -1, i32([0, 2]), 3, expect=([[1, 0, 0], [0, 0, 1]],)),
    one_hot("axis 0, known values", 0, i32([0, 2]), 3, expect=([[1, 0], [0, 0], [0, 1]],)),
    one_hot("other values", -1, i32([0, 2]), 3, 5.0, -1.0, expect=([[5, -1, -1], [-1, -1, 5]],)),
    one_hot("an index beyond depth", -1, i32([1, 3, -1]), 3, expect=([[0, 1, 0], [0, 0, 0], [0, 0, 0]],)),
    *(one_hot(f"axis {axis} of rank 3", axis, whole(2, 3, low=0, high=3)) for axis in range(-3, 3)),
    one_hot("a scalar index", -1, i32(2)),
    one_hot("depth of dims [1]", -1, i32([0, 2]), ints([3])),
    one_hot("depth 1", -1, i32([0, 1]), 1),
    one_hot("rank 7", 3, whole(1, 2, 1, 3, 1, 2, 2, low=0, high=3)),
    one_hot("indices in int64", -1, whole(3, low=0, high=3, dtype=np.int64)),
    one_hot("int32", -1, i32([0, 2]), 3, ints(7), ints(-7), types=("int32",)),
    one_hot("float16", -1, i32([0, 2]), 3, const(2, "f2"), const(0, "f2"), types=("float16",)),
    one_hot("bool", -1, i32([0, 2]), 3, const(True, bool), const(False, bool), types=("bool",)),
    one_hot("values of dims [1]", -1, i32([0, 2]), 3, const([2]), const([0.5])),
    one_hot("axis beyond the rank", 2, i32([0, 2]), refuses="axis"),
    one_hot("axis before the rank", -3, i32([0, 2]), refuses="axis"),
    one_hot("depth below 0", -1, i32([0, 2]), -1, refuses="depth"),
    NodeCase(T.ONE_HOT, "two inputs", {}, (i32([0]), ints(3)), types=("float32",), refuses="inputs"),
]


def fill(note: str, value: Any, shape: Any, **options: Any) -> NodeCase:
    """A row of Fill."""
    return NodeCase(T.FILL, note, {}, (value, shape), **options)


CASES += [
    fill("known values", f32(2.5), ints([2, 3]), expect=([[2.5] * 3] * 2,)),
    fill("a value of dims [1]", f32([2.5]), ints([2, 3])),
    fill("a vector", f32(2.5), ints([4])),
    fill("a scalar", f32(2.5), ints([])),
    fill("rank 8", f32(2.5), ints([1, 2, 1, 3, 1, 2, 2, 1])),
    fill("shape in int64", f32(2.5), ints([2, 3], np.int64)),
    fill("shape handed in", f32(2.5), i32([2, 3]), known=(1,)),
    fill("a constant value", const(2.5), i32([2, 3]), known=(1,)),
    *(fill(name, of_type(name, 1), ints([2, 3])) for name in DTYPES if name not in ("int8", "uint8")),
    fill("a value of two elements", (2,), ints([2, 3]), refuses="value|one"),
    fill("a dim below 0", f32(1), ints([2, -3]), refuses="shape|dim"),
    fill("a shape of rank 2", f32(1), ints([[2, 3]]), refuses="shape|rank"),
    NodeCase(T.FILL, "one input", {}, (f32(1),), refuses="inputs"),
]


def filled(note: str, number: int, value: Any, shape: Any, kind: str = "float32", **options: Any) -> NodeCase:
    """A row of ConstantOfShape."""
    value = value if isinstance(value, list) else [value]
    return NodeCase(T.CONSTANT_OF_SHAPE, note, {"dataType": number, "value": value}, (shape,), types=(kind,), **options)


SHAPE = i32([2, 3])
CASES += [
    filled("known values", 43, 2.5, SHAPE, expect=([[2.5] * 3] * 2,), known=(0,)),
    filled("int32", 34, -3, SHAPE, "int32", expect=([[-3] * 3] * 2,), known=(0,)),
    filled("a fraction in int32", 34, 2.7, SHAPE, "int32", expect=([[2] * 3] * 2,), known=(0,)),
    filled("float16", 42, 0.5, SHAPE, "float16", known=(0,)),
    filled("float64", 44, 0.5, SHAPE, "float64", known=(0,)),
    filled("bool", 30, 1, SHAPE, "bool", known=(0,)),
    filled("int64", 35, 7, SHAPE, "int64", known=(0,)),
    filled("int8", 32, -7, SHAPE, "int8", known=(0,)),
    filled("uint8", 37, 7, SHAPE, "uint8", known=(0,)),
    filled("the C API's number of float32", 11, 2.5, SHAPE, known=(0,)),
    filled("the C API's number of int32", 4, 2, SHAPE, "int32", known=(0,)),
    filled("shape in int64", 43, 2.5, SHAPE.astype(np.int64), known=(0,)),
    filled("a vector", 43, 2.5, i32([5]), known=(0,)),
    filled("rank 8", 43, 2.5, i32([1, 2, 1, 3, 1, 2, 2, 1]), known=(0,)),
    filled("two values", 43, [1.0, 2.0], SHAPE, refuses="value"),
    filled("no value", 43, [], SHAPE, refuses="value"),
    filled("no such type", 99, 1.0, SHAPE, refuses="dataType|type"),
    filled("a dim below 0", 43, 1.0, i32([2, -3]), refuses="shape|dim|negative|-3"),
    filled("a shape of floats", 43, 1.0, f32([2, 3]), refuses="shape|int"),
]


def numbers(note: str, start: int, limit: int, delta: int, **options: Any) -> NodeCase:
    """A row of Range by its attributes; the content of the one input does not count."""
    attributes = {"start": start, "limit": limit, "delta": delta}
    return NodeCase(T.RANGE, note, attributes, (f32([9]),), **{"types": ("int32",), **options})


def range_of(note: str, *inputs: Any, **options: Any) -> NodeCase:
    """A row of Range by three inputs."""
    return NodeCase(T.RANGE, note, {}, inputs, **options)


CASES += [
    numbers("known values", 2, 9, 3, expect=([2, 5, 8],)),
    numbers("the limit is left out", 0, 6, 3, expect=([0, 3],)),
    numbers("backwards", 5, -2, -3, expect=([5, 2, -1],)),
    numbers("one number", 4, 5, 10, expect=([4],)),
    numbers("a dataType, which is reserved", 0, 3, 1),
    range_of("three inputs", i32(2), i32(9), i32(3), expect=([2, 5, 8],)),
    range_of("three floats", f32(0.5), f32(2), f32(0.5), expect=([0.5, 1, 1.5],)),
    range_of("three constants but one", i32(0), ints(5), ints(2)),
    range_of("three in int64", *(np.array(n, np.int64) for n in (2, 9, 3))),
    *(
        range_of(f"three in {name}", *(np.array(n, name) for n in (0.5, 2, 0.25)), expect=(np.arange(0.5, 2, 0.25),))
        for name in ("float16", "float64")
    ),
    range_of("three in uint16", *(np.array(n, np.uint16) for n in (40_000, 40_009, 4))),
    range_of("three of dims [1]", i32([2]), i32([9]), i32([3])),
    numbers("delta 0", 0, 3, 0, refuses="delta"),
    range_of("a constant delta 0", i32(0), ints(5), ints(0), refuses="delta|0"),
    NodeCase(T.RANGE, "two inputs", {}, (i32(0), i32(3)), refuses="inputs"),
]

NUMBERS = f32([-2.7, -0.5, 0, 0.4, 1, 2.7])
CASES += [
    NodeCase(T.CAST, "floats are cut off", {}, (NUMBERS, ints(34)), types=("int32",), expect=([-2, 0, 0, 0, 1, 2],)),
    NodeCase(
        T.CAST,
        "anything but 0 is true",
        {},
        (NUMBERS, ints(30)),
        types=("bool",),
        expect=([True, True, False, True, True, True],),
    ),
    NodeCase(T.CAST, "bools are 0 and 1", {}, (flags(6), ints(43)), types=("float32",)),
    NodeCase(T.CAST, "the C API's number of int32", {}, (NUMBERS, ints(4)), types=("int32",)),
    NodeCase(T.CAST, "the C API's number of bool", {}, (NUMBERS, ints(1)), types=("bool",)),
    NodeCase(T.CAST, "the C API's number of float64", {}, (NUMBERS, ints(12)), types=("float64",)),
    NodeCase(T.CAST, "a type of dims [1]", {}, (NUMBERS, ints([34])), types=("int32",)),
    NodeCase(T.CAST, "a type in int64", {}, (NUMBERS, ints(34, np.int64)), types=("int32",)),
    NodeCase(T.CAST, "a scalar", {}, (f32(2.5), ints(34)), types=("int32",)),
    NodeCase(T.CAST, "rank 8", {}, ((1, 2, 1, 3, 1, 2, 2, 1), ints(34)), types=("int32",)),
    NodeCase(T.CAST, "large integers", {}, (np.array([2**40, -(2**40)], np.int64), ints(44)), types=("float64",)),
    *(
        NodeCase(
            T.CAST,
            f"{given} to {DataType(number).name.lower()}",
            {},
            (of_type(given, 2, 3), ints(number)),
            types=(DataType(number).name.lower(),),
        )
        for given in ("bool", "int8", "uint8", "int16", "int32", "int64", "uint32", "float16", "float64")
        for number in DataType
        if number is not DataType.UNKNOWN
    ),
    *(
        NodeCase(
            T.CAST,
            f"float32 to {DataType(number).name.lower()}",
            {},
            (np.abs(NUMBERS), ints(number)),
            types=(DataType(number).name.lower(),),
            tolerance=1e-3,
            why="0.4 has 11 bits in half precision",
        )
        for number in DataType
        if number is not DataType.UNKNOWN
    ),
    NodeCase(T.CAST, "no such type", {}, (NUMBERS, ints(13)), types=("int32",), refuses="type"),
    NodeCase(T.CAST, "type 0", {}, (NUMBERS, ints(0)), types=("int32",), refuses="type"),
    NodeCase(T.CAST, "two types", {}, (NUMBERS, ints([34, 34])), types=("int32",), refuses="type"),
    NodeCase(T.CAST, "one input", {}, (NUMBERS,), types=("int32",), refuses="inputs"),
]
