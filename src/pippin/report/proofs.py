"""A proof for people: per output the largest differences and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import text

if TYPE_CHECKING:
    from ..analysis.difference import Difference
    from ..analysis.verify import Proof


def as_text(proof: Proof) -> str:
    """The worst of each output over all inputs, what failed, and the verdict."""
    if proof.skipped:
        return f"not verified: {proof.skipped}"
    worst = proof.worst()
    rows = [row(entry) for entry in worst.values()]
    lines = [text.table(rows, ("output", "max abs", "max rel", "verdict"))]
    blobs = sum(len(trial.blobs) for trial in proof.trials)
    for what, entry in proof.failed():
        if entry.name not in worst:
            lines.append(f"blob {entry.name!r} with {what}: {entry.problem or f'{entry.absolute:.2e} apart'}")
    tried = text.plural(len(proof.trials), "input")
    inner = f", {text.plural(blobs, 'blob')}" if blobs else ""
    verdict = "the same" if proof.ok else "different"
    within = f"within {proof.tolerance:g} + {proof.tolerance:g} x |value|"
    lines.append(f"{verdict}: ONNX Runtime against the reference, {tried}{inner}, {within}")
    return "\n".join(lines)


def row(entry: Difference) -> tuple[str, str, str, str]:
    """One comparison as cells."""
    if entry.problem:
        return entry.name, "-", "-", entry.problem
    verdict = "ok" if entry.ok else "over the tolerance"
    if entry.rounding:
        verdict = f"ok: rounding to float32 alone moves it by {entry.rounding:.0e}"
    return entry.name, f"{entry.absolute:.2e}", f"{entry.relative:.2e}", verdict
