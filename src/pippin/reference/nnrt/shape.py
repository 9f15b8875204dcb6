"""Twins of the operators that change dims and leave the elements where they are, or tell the dims."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...nnrt.enums import NodeType
from .registry import Array, Context, twin
from .rules import as_axes, as_shape, integer, integers, require


@twin(NodeType.RESHAPE, moves=True)
def reshape(context: Context, p: Any, x: Array, shape: Array) -> Array:
    """y = x under new dims: one -1 takes what is left, a 0 keeps the dim at its place."""
    wanted = integers(shape, "shape")
    require(min(wanted, default=0) >= -1 and wanted.count(-1) <= 1, f"shape may hold one -1, got {wanted}")
    for place, dim in enumerate(wanted):
        if dim == 0:
            require(place < x.ndim, f"shape {wanted} has a 0 beyond the dims {list(x.shape)}")
            wanted[place] = x.shape[place]
    rest = math.prod(dim for dim in wanted if dim != -1)
    if -1 in wanted:
        require(rest > 0 and x.size % rest == 0, f"shape {wanted} does not fit dims {list(x.shape)}")
        wanted[wanted.index(-1)] = x.size // rest
    require(math.prod(wanted) == x.size, f"shape {wanted} does not fit dims {list(x.shape)}")
    return x.reshape(wanted)


@twin(NodeType.TRANSPOSE, moves=True)
def transpose(context: Context, p: Any, x: Array, perm: Array) -> Array:
    """y = x with its dims in the order ``perm``; an empty one reverses them."""
    order = integers(perm, "perm") or list(range(x.ndim))[::-1]
    require(sorted(order) == list(range(x.ndim)), f"perm must order the {x.ndim} dims of x, got {order}")
    return x.transpose(order)


@twin(NodeType.SQUEEZE, moves=True)
def squeeze(context: Context, p: Any, x: Array) -> Array:
    """y = x without the dims ``axis``, each of them 1; an empty list drops every 1."""
    axes = as_axes(p.axis or [place for place, dim in enumerate(x.shape) if dim == 1], x.ndim)
    require(
        all(x.shape[axis] == 1 for axis in axes), f"axis must name dims of 1 in {list(x.shape)}, got {list(p.axis)}"
    )
    return x.squeeze(axes)


@twin(NodeType.UNSQUEEZE, moves=True)
def unsqueeze(context: Context, p: Any, x: Array) -> Array:
    """y = x with a dim of 1 at each place of ``axis``, counted in the dims of y."""
    return np.expand_dims(x, as_axes(p.axis, x.ndim + len(p.axis)))


@twin(NodeType.EXPAND_DIMS, moves=True)
def expand_dims(context: Context, p: Any, x: Array, axis: Array) -> Array:
    """y = x with a dim of 1 at ``axis``, counted in the dims of y."""
    return np.expand_dims(x, as_axes([integer(axis, "axis")], x.ndim + 1))


@twin(NodeType.FLATTEN, moves=True)
def flatten(context: Context, p: Any, x: Array) -> Array:
    """y (d₀ … d_axis-1, d_axis … dₙ): the dims before ``axis`` and those from it on, joined."""
    require(-x.ndim <= p.axis <= x.ndim, f"axis must lie in [{-x.ndim}, {x.ndim}], got {p.axis}")
    first = p.axis + x.ndim if p.axis < 0 else p.axis
    return x.reshape(math.prod(x.shape[:first]), math.prod(x.shape[first:]))


@twin(NodeType.BROADCAST_TO, moves=True)
def broadcast_to(context: Context, p: Any, x: Array) -> Array:
    """y = x broadcast to ``shape``; a -1 keeps the dim above which it stands."""
    missing = len(p.shape) - x.ndim
    require(missing >= 0, f"shape must have at least {x.ndim} dims, got {list(p.shape)}")
    wanted = list(p.shape)
    for place, dim in enumerate(wanted):
        if dim == -1:
            require(place >= missing, f"shape {list(p.shape)} has a -1 where x {list(x.shape)} has no dim")
            wanted[place] = x.shape[place - missing]
    shape = as_shape(wanted)
    fits = all(have in (1, want) for have, want in zip(x.shape, shape[missing:], strict=True))
    require(fits, f"dims {list(x.shape)} do not broadcast to shape {list(shape)}")
    return np.broadcast_to(x, shape)


@twin(NodeType.SHAPE, moves=True)
def shape_of(context: Context, p: Any, x: Array) -> Array:
    """y (r) int32 = the dims of x."""
    return np.array(x.shape, np.int32)


@twin(NodeType.RANK, moves=True)
def rank(context: Context, p: Any, x: Array) -> Array:
    """y () int32 = the number of dims of x."""
    return np.array(x.ndim, np.int32)
