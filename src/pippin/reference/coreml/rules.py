"""What the twins share: refusals, defaults of repeated fields, weights by field name, batch folding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import CheckError
from .registry import Array, Context


def require(holds: bool, message: str) -> None:
    """Raises ``CheckError`` with ``message`` unless ``holds``."""
    if not holds:
        raise CheckError(message)


def need_rank(x: Array, low: int, high: int | None = None) -> None:
    """Refuses an input whose rank lies outside [low, high]; no ``high`` means no upper limit."""
    wanted = f"{low}" if high == low else f"{low} or more" if high is None else f"{low} to {high}"
    require(x.ndim >= low and (high is None or x.ndim <= high), f"input must have rank {wanted}, got {x.ndim}")


def pair(values: Sequence[int], default: int, name: str) -> tuple[int, int]:
    """A repeated field of length 2 in the order [H, W]; empty means ``default`` twice."""
    if not len(values):
        return default, default
    require(
        len(values) == 2 and min(values) > 0,
        f"{name} must hold 2 positive integers, got {list(values)}",
    )
    return int(values[0]), int(values[1])


def border(amounts: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    """((top, bottom), (left, right)) of a BorderAmounts message; empty means zeros."""
    edges = amounts.borderAmounts
    if not len(edges):
        return (0, 0), (0, 0)
    require(len(edges) == 2, f"borderAmounts must hold 2 entries [H, W], got {len(edges)}")
    first, second = ((int(edge.startEdgeSize), int(edge.endEdgeSize)) for edge in edges)
    return first, second


def choice(params: Any, oneof: str) -> str:
    """Which field of a oneof is set; refuses none."""
    name = params.WhichOneof(oneof)
    if name is None:
        names = ", ".join(field.name for field in params.DESCRIPTOR.oneofs_by_name[oneof].fields)
        raise CheckError(f"{oneof} must be one of {names}, got none")
    return str(name)


def enum(params: Any, name: str) -> str:
    """The name of an enum field's value; refuses numbers that the format does not define."""
    number = getattr(params, name)
    values = params.DESCRIPTOR.fields_by_name[name].enum_type.values_by_number
    require(number in values, f"{name} must be one of {', '.join(v.name for v in values.values())}, got {number}")
    return str(values[number].name)


def blob(context: Context, params: Any, name: str, *shape: int, axis: int | tuple[int, ...] = 0) -> Array:
    """The values of the WeightParams field ``name`` as float64 of ``shape``."""
    return context.weights.array(getattr(params, name), shape, axis=axis, name=name).astype(np.float64)


def per_channel(values: Array) -> Array:
    """A vector over the channels, shaped [C,1,1] so that it broadcasts against [...,C,H,W]."""
    return values.reshape(-1, 1, 1)


def fold(x: Array, keep: int = 3) -> Array:
    """All axes before the last ``keep`` folded into one batch axis."""
    return x.reshape(-1, *x.shape[-keep:])


def unfold(y: Array, like: Array, keep: int = 3) -> Array:
    """The inverse of ``fold``: gives ``y`` [N, …] the leading axes of ``like``."""
    return y.reshape(*like.shape[: like.ndim - keep], *y.shape[1:])
