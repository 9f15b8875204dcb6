"""Padding of the last axes by sizes that may be known at run time only."""

from __future__ import annotations

from collections.abc import Sequence

from ..builder import Builder, Size
from ..ir import Value


def pad(
    g: Builder, x: Value, begin: Sequence[Size], end: Sequence[Size], *, mode: str = "constant", value: float = 0.0
) -> Value:
    """``begin`` and ``end`` elements more at each of the last axes of x; x itself where they are all 0.

    ``mode`` is ONNX's: "constant", "reflect" (without the edge itself), "edge" or "wrap".
    """
    if all(isinstance(amount, int) and amount == 0 for amount in (*begin, *end)):
        return x
    rest = [0] * (x.rank - len(begin))
    fill = value if mode == "constant" and value != 0 else None
    amounts = g.vector([*rest, *begin, *rest, *end])
    result: Value = g.Pad(x, amounts, fill, mode=None if mode == "constant" else mode)
    return result
