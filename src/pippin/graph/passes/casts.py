"""A cast of a cast: there and back again is nothing where the way there loses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import Node
from . import Done, Refused, Rule

if TYPE_CHECKING:
    from .view import View


def _apply(view: View, node: Node) -> Done | Refused | None:
    import numpy as np

    middle = node.inputs[0]
    inner = view.producer(middle, "Cast")
    if inner is None or inner.inputs[0] is None or middle is None:
        return None
    x, y = inner.inputs[0], node.outputs[0]
    # NumPy holds int32 → float64 and float16 → float32 for safe, int64 → float64 too, which is not
    exact = np.can_cast(x.dtype, middle.dtype, "safe") and not (x.dtype.itemsize == 8 and middle.dtype.kind == "f")
    if x.dtype != y.dtype:
        if not exact or x.dtype.kind == "b":
            return None
        view.set_input(node, 0, x)
        return Done(f"{middle.dtype} holds every {x.dtype}")
    if not exact:
        return Refused(f"{middle.dtype} does not hold every {x.dtype}")
    return Done(f"{middle.dtype} holds every {x.dtype}") if view.replace(y, x) else None


RULE = Rule("casts", ("Cast",), _apply)
