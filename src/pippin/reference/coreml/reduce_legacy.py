"""Twin of the reduce layer of the first format version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .registry import Array, Context, twin
from .rules import enum, need_rank, require

AXES = {"CHW": (-3, -2, -1), "HW": (-2, -1), "C": (-3,), "H": (-2,), "W": (-1,)}

# by enum name: function of x, axes, epsilon; reduced axes stay as 1
MODES: dict[str, Callable[[Array, tuple[int, ...], float], Array]] = {
    "SUM": lambda x, axes, epsilon: x.sum(axes, keepdims=True),
    "AVG": lambda x, axes, epsilon: x.mean(axes, keepdims=True),
    "PROD": lambda x, axes, epsilon: x.prod(axes, keepdims=True),
    "LOGSUM": lambda x, axes, epsilon: np.log(x + epsilon).sum(axes, keepdims=True),
    "SUMSQUARE": lambda x, axes, epsilon: np.square(x).sum(axes, keepdims=True),
    "L1": lambda x, axes, epsilon: np.abs(x).sum(axes, keepdims=True),
    "L2": lambda x, axes, epsilon: np.sqrt(np.square(x).sum(axes, keepdims=True)),
    "MAX": lambda x, axes, epsilon: x.max(axes, keepdims=True),
    "MIN": lambda x, axes, epsilon: x.min(axes, keepdims=True),
    "ARGMAX": lambda x, axes, epsilon: x.argmax(axes[0], keepdims=True).astype(np.float64),
}


@twin("reduce")
def reduce(context: Context, params: Any, x: Array) -> Array:
    """A sum, mean, product, norm, extremum or its place along CHW, HW, C, H or W; reduced axes become 1.

    LOGSUM: Σ ln(x + ε), ε defaults to 1e-6; ARGMAX: the first place of the maximum, along one axis only.
    """
    mode, name = enum(params, "mode"), enum(params, "axis")
    axes = AXES[name]
    need_rank(x, -axes[0])
    require(mode != "ARGMAX" or len(axes) == 1, f"axis must be C, H or W for ARGMAX, got {name}")
    return MODES[mode](x, axes, params.epsilon or 1e-6)
