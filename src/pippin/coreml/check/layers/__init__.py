"""The rules of the layer kinds: counts and ranks from a table, parameters from a function per kind."""

from __future__ import annotations

from . import array, classic, recurrent, weighted  # noqa: F401  (they register their rules)
from .context import RULES, Layer
from .table import TABLE, Row

__all__ = ["RULES", "TABLE", "Layer", "Row", "check_layer"]


def check_layer(layer: Layer) -> None:
    """Counts, ranks and parameters of one layer."""
    row = TABLE[layer.kind]
    _check_count(layer, "input", layer.inputs, row.inputs)
    _check_count(layer, "output", layer.outputs, row.outputs)
    if layer.nd:
        _check_ranks(layer, row)
    function = RULES.get(layer.kind)
    if function is not None:
        function(layer)


def _check_count(layer: Layer, field: str, held: int, bounds: tuple[int, int | None] | None) -> None:
    if bounds is None:
        return
    low, high = bounds
    if held >= low and (high is None or held <= high):
        return
    if high is None:
        wanted = f"name at least {low}"
    else:
        wanted = f"name {low}" if low == high else f"name {low} to {high}"
    layer.add(f"layer-{field}s", field, f"{wanted} blob{'' if wanted.endswith(' 1') else 's'}", str(held))


def _check_ranks(layer: Layer, row: Row) -> None:
    """Ranks of the first input and the first output, where they are known."""
    first, last = layer.rank_in(), layer.rank_out()
    if row.equal:
        layer.same_ranks(first, last, "input[0] and output[0]")
    for field, rank in (("input[0]", first), ("output[0]", last)):
        if rank is None:
            continue
        if rank < row.low or (row.high is not None and rank > row.high):
            if row.high is None:
                wanted = f"at least {row.low}"
            else:
                wanted = str(row.low) if row.low == row.high else f"{row.low} to {row.high}"
            layer.add("rank-range", field, f"have rank {wanted}", str(rank))
