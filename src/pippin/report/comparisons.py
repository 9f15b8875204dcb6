"""A comparison for people: outputs, blobs around the place where the runs part, the cause, what a precision does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import text
from .proofs import row

if TYPE_CHECKING:
    from ..analysis.compare import Comparison, Departure, Step
    from ..analysis.precision import Narrow

AROUND = 3
"""Blobs that are shown before and behind the place where the runs part."""
SHOWN = 8


def as_text(found: Comparison, everything: bool = False) -> str:
    """The whole comparison; ``everything``: every blob instead of those around the departure."""
    lines = [f"{found.a} against {found.b}", ""]
    lines.append(text.table([row(entry) for entry in found.outputs], ("output", "max abs", "max rel", "verdict")))
    steps = found.steps if everything else _around(found)
    if steps:
        lines += ["", _blobs(steps, found.departure)]
        if len(steps) < len(found.steps):
            lines.append(f"{len(steps)} of {len(found.steps)} blobs that both have; --all shows all")
    if found.departure is not None:
        lines += ["", *_departure(found.departure)]
    if found.narrow is not None:
        lines += ["", *_narrow(found.narrow)]
    for name, verdict in found.explained.items():
        kind = found.narrow.kind if found.narrow else ""
        lines.append(f"the difference of {name!r} is {'' if verdict else 'not '}explained by {kind}")
    lines += [f"note: {note}" for note in found.notes]
    answer = "the same" if found.ok else "different"
    lines += ["", f"{answer}: outputs within {found.tolerance:g} + {found.tolerance:g} x |value|"]
    return "\n".join(lines)


def _around(found: Comparison) -> list[Step]:
    if found.departure is None:
        return []
    at = found.steps.index(found.departure.step)
    return found.steps[max(at - AROUND, 0) : at + AROUND + 1]


def _blobs(steps: list[Step], departure: Departure | None) -> str:
    rows = []
    for step in steps:
        entry, alone = step.difference, step.alone
        blob = step.pair.a if step.pair.a == step.pair.b else f"{step.pair.a} = {step.pair.b}"
        mark = "<" if departure is not None and step is departure.step else ""
        share = entry.problem or f"{entry.share:.1e}"
        by_itself = "" if alone is None else alone.problem or f"{alone.share:.1e}"
        rows.append((step.place, blob, f"{entry.absolute:.2e}" if not entry.problem else "-", share, by_itself, mark))
    header = ("layer", "blob", "max abs", "of largest", "layer alone", "")
    return text.table(rows, header)


def _departure(found: Departure) -> list[str]:
    lines = [f"first to depart: {found.place}"]
    if 1 < len(found.suspects) <= SHOWN:
        lines[0] = f"first to depart: one of {', '.join(found.suspects)}"
    elif found.suspects[1:]:
        lines[0] = f"first to depart: one of {len(found.suspects)} layers, {found.suspects[0]} to {found.suspects[-1]}"
    lines.append(f"likely cause: {found.cause.kind}: {found.cause.text}")
    if found.others:
        lines.append(f"{text.plural(found.others, 'more layer')} differ on the same values")
    return lines


def _narrow(found: Narrow) -> list[str]:
    lines = [f"with every {'' if found.weights_only else 'blob and '}weight in {found.kind}:"]
    rows = [
        (effect.place, f"{effect.absolute:.2e}", f"{effect.share:.1e}", effect.overflow or "", effect.underflow or "")
        for effect in found.worst()
    ]
    lines.append(text.table(rows, ("layer", "drift", "of largest", "overflow", "to zero"), indent="  "))
    for effect in found.overflows():
        if effect.overflow:
            lines.append(
                f"  overflow at {effect.place}: {effect.overflow:,} of {effect.count:,} numbers become infinite"
            )
        if effect.inside:
            lines.append(f"  may overflow inside of {effect.place}: {effect.inside}")
    for effect in [effect for effect in found.effects if effect.underflow][:SHOWN]:
        lines.append(f"  underflow at {effect.place}: {effect.underflow:,} of {effect.count:,} numbers become 0")
    for lost in found.weights[:SHOWN]:
        what = [f"{lost.vanish:,} become 0"] * bool(lost.vanish) + [f"{lost.overflow:,} infinite"] * bool(lost.overflow)
        lines.append(f"  weights {lost.name}: {' and '.join(what)} of {lost.count:,}")
    return lines
