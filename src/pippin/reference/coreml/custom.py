"""Twin of the custom layer: whatever function is registered for its class."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import UnsupportedError
from .registry import Array, Context, twin
from .rules import require


@twin("custom")
def custom(context: Context, params: Any, x: Array, *others: Array) -> Array | tuple[Array, ...]:
    """y = f(context, params, x₁, …), f the function that ``Context.custom`` holds for ``className``."""
    require(bool(params.className), "className must not be empty")
    function = context.custom.get(params.className)
    if function is None:
        raise UnsupportedError(f"custom layer {params.className!r} is not registered")
    result = function(context, params, x, *others)
    if isinstance(result, tuple):
        return tuple(np.asarray(value, np.float64) for value in result)
    return np.asarray(result, np.float64)
