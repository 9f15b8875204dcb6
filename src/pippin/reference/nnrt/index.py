"""Twins of the operators that pick by index, make tensors or change their type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import CheckError, RunError
from ...nnrt.enums import NodeType
from ...nnrt.types import numpy_type, portable_type
from .registry import Array, Context, twin
from .rules import as_axis, as_shape, count, integer, integers, require


def _inside(indices: Array, limits: Any) -> None:
    require(indices.dtype.kind in "iu", f"indices must be integers, got {indices.dtype}")
    if indices.size and not ((indices >= 0) & (indices < np.asarray(limits))).all():
        raise RunError(f"indices must lie in [0, {limits}), got {indices.min()} to {indices.max()}")


@twin(NodeType.GATHER, moves=True)
def gather(context: Context, p: Any, x: Array, indices: Array, axis: Array) -> Array:
    """y = the slices of x along axis that indices name."""
    place = as_axis(integer(axis, "axis"), x.ndim)
    _inside(indices, x.shape[place])
    as_shape((*x.shape[:place], *indices.shape, *x.shape[place + 1 :]))
    return np.take(x, indices, axis=place)


@twin(NodeType.GATHER_ND, moves=True)
def gather_nd(context: Context, p: Any, x: Array, indices: Array) -> Array:
    """y = the parts of x at the index tuples along the last dim of indices."""
    require(indices.ndim > 0, "indices must have a rank of 1 or more")
    depth = indices.shape[-1]
    require(depth <= x.ndim, f"indices must be tuples of at most {x.ndim} integers, got {depth}")
    _inside(indices, x.shape[:depth])
    return x[tuple(np.moveaxis(indices, -1, 0))]


@twin(NodeType.SCATTER_ND, moves=True)
def scatter_nd(context: Context, p: Any, indices: Array, updates: Array, shape: Array) -> Array:
    """y = zeros of the dims ``shape`` with updates written at the index tuples; of duplicates the last one stays."""
    dims = as_shape(integers(shape, "shape"))
    require(indices.ndim > 0, "indices must have a rank of 1 or more")
    depth = indices.shape[-1]
    fits = depth <= len(dims) and updates.shape == (*indices.shape[:-1], *dims[depth:])
    require(
        fits,
        f"updates {list(updates.shape)} and indices {list(indices.shape)} do not fit shape {list(dims)}",
    )
    _inside(indices, dims[:depth])
    y = np.zeros(dims, updates.dtype)
    for place in np.ndindex(indices.shape[:-1]):
        y[tuple(indices[place])] = updates[place]
    return y


@twin(NodeType.SPARSE_TO_DENSE, moves=True)
def sparse_to_dense(context: Context, p: Any, indices: Array, values: Array, shape: Array, *default: Array) -> Array:
    """y = a tensor of the dims ``shape``, 0 or the fourth input but for values at the index tuples."""
    count((values, shape, *default), 3, 4)
    dims = as_shape(integers(shape, "shape"))
    tuples = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    require(tuples.ndim == 2 and tuples.shape[1] == len(dims), f"indices {list(indices.shape)} do not fit shape {dims}")
    fits = values.size == 1 or values.shape == tuples.shape[:1]
    require(fits, f"values must number 1 or {len(tuples)}, got dims {list(values.shape)}")
    _inside(tuples, dims)
    y = np.full(dims, default[0].reshape(()) if default else 0, values.dtype)
    y[tuple(tuples.T)] = values.reshape(-1)
    return y


@twin(NodeType.ONE_HOT, moves=True)
def one_hot(context: Context, p: Any, indices: Array, depth: Array, on: Array, off: Array) -> Array:
    """y = onValue at the index along a new dim of ``depth`` places, offValue elsewhere."""
    require(indices.dtype.kind in "iu", f"indices must be integers, got {indices.dtype}")
    places = integer(depth, "depth")
    require(places > 0, f"depth must be positive, got {places}")
    axis = as_axis(p.axis, indices.ndim + 1)
    as_shape((*indices.shape, places), "depth with the dims of indices")
    require(on.size == off.size == 1, "onValue and offValue must be scalars")
    hot = np.expand_dims(indices, -1) == np.arange(places)
    y = np.where(hot, on.reshape(()), off.reshape(()).astype(on.dtype))
    return np.moveaxis(y, -1, axis)


@twin(NodeType.FILL, moves=True)
def fill(context: Context, p: Any, value: Array, shape: Array) -> Array:
    """y = a tensor of the dims ``shape`` full of one value."""
    require(value.size == 1, f"value must be a scalar, got dims {list(value.shape)}")
    return np.full(as_shape(integers(shape, "shape")), value.reshape(()))


def type_of(number: int, name: str) -> np.dtype[Any]:
    """The NumPy type of a number that names an element type in either numbering."""
    try:
        return numpy_type(portable_type(number))
    except ValueError:
        raise CheckError(f"{name} must name an element type, got {number}") from None


@twin(NodeType.CONSTANT_OF_SHAPE, moves=True)
def constant_of_shape(context: Context, p: Any, shape: Array) -> Array:
    """y = a tensor of the dims of the input, full of the one ``value``, of type ``dataType``."""
    require(len(p.value) == 1, f"value must hold 1 number, got {len(p.value)}")
    dtype = type_of(p.dataType, "dataType")
    return np.full(as_shape(integers(shape, "shape")), np.asarray(p.value[0]).astype(dtype))


@twin(NodeType.RANGE, moves=True)
def range_(context: Context, p: Any, first: Array, *others: Array) -> Array:
    """y = start, start + delta, … below limit, by three inputs or, with one that is not looked at, the attributes."""
    count(others, 1, 3)
    start, limit, delta = (first, *others) if others else (p.start, p.limit, p.delta)
    if others:
        single = all(part.size == 1 and part.dtype.kind in "iuf" for part in (first, *others))
        require(single, "start, limit and delta must be scalars")
        start, limit, delta = (part.reshape(()).item() for part in (first, *others))
    require(delta != 0, "delta must not be 0")
    length = max(0, math.ceil((limit - start) / delta))
    as_shape([length], "dims of the range")
    dtype = first.dtype if others else np.dtype(np.int32)
    return np.asarray(start + np.arange(length) * delta).astype(dtype)


@twin(NodeType.CAST, moves=True)
def cast(context: Context, p: Any, x: Array, kind: Array) -> Array:
    """y = x in another element type: floats cut toward zero for integers, anything but 0 true for bool."""
    dtype = type_of(integer(kind, "type"), "type")
    return (
        x != 0 if dtype.kind == "b" else (np.trunc(x) if x.dtype.kind == "f" and dtype.kind != "f" else x).astype(dtype)
    )
