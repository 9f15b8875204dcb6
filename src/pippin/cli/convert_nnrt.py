"""``pippin convert MODEL out.nnrt``: what became of the model, the parts a device can take, the proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

if TYPE_CHECKING:
    from ..analysis.nnrt import Dims, NnrtConversion
    from ..nnrt.export import Part

SCHEMA = "pippin.nnrt.convert/1"
"""Name and version of the JSON."""


def run(
    context: click.Context,
    model: str,
    output: str,
    values: tuple[str, ...],
    *,
    layout: Any,
    dims: Any,
    verify: Any,
    tolerance: float,
    partition: bool,
    as_json: bool,
) -> None:
    """Converts and exits: 0 if a device answers as the original does, 1 if not or if a layer has no node type."""
    from ..analysis.nnrt import convert, prove
    from ..loading import load
    from ..nnrt.file import save_model
    from .values import example, parse

    if not isinstance(dims, str):
        raise click.UsageError("--dims takes one word for .nnrt files: declared, static or symbolic")
    net = load(model)
    own = [parse(values, net.inputs, example(model, net.inputs))] if values else []
    result = convert(net, layout=layout, dims=cast("Dims", dims))
    for note in result.notes:
        click.echo(f"note: {note}", err=True)
    if result.model is not None:
        save_model(result.model, output)
        result.path = Path(output)
        click.echo(f"wrote {output} ({len(result.model.nodes)} nodes)", err=True)
        result.proof = prove(result, verify, own, tolerance)
    click.echo(json.dumps(content(result)) if as_json else as_text(result, partition))
    context.exit(0 if result.ok else 1)


def as_text(result: NnrtConversion, partition: bool) -> str:
    """The parts if they are asked for, what has no node type, and the proof."""
    from ..report import proofs, text

    lines = []
    if partition:
        rows = [(index + 1, *_row(part)) for index, part in enumerate(result.exported.parts)]
        lines.append(text.table(rows, ("part", "where", "operators", "layers", "takes", "gives"), right="02"))
    if result.model is None:
        missing = result.exported.missing
        lines.append(f"not converted: {text.plural(len(missing), 'operator')} without a node type")
        lines += [f"  {gap}" for gap in missing]
    else:
        lines.append(proofs.as_text(result.proof).replace("ONNX Runtime against", "a device against"))
    return "\n".join(lines)


def _row(part: Part) -> tuple[str, int, str, str, str]:
    from ..report import text

    first, last = part.layers[0], part.layers[-1]
    layers = first if len(part.layers) == 1 else f"{first} … {last} ({len(part.layers)})"
    names = (text.short(", ".join(listed), 60) for listed in (part.inputs, part.outputs))
    return "device" if part.device else "elsewhere", part.operators, layers, *names  # type: ignore[return-value]


def content(result: NnrtConversion) -> dict[str, Any]:
    """The same as plain data."""
    exported = result.exported
    return {
        "schema": SCHEMA,
        "file": str(result.path) if result.path else None,
        "nodes": len(result.model.nodes) if result.model is not None else None,
        "notes": result.notes,
        "missing": [{"where": gap.where, "operator": gap.op, "reason": gap.reason} for gap in exported.missing],
        "parts": [
            {
                "device": part.device,
                "operators": part.operators,
                "layers": part.layers,
                "inputs": part.inputs,
                "outputs": part.outputs,
            }
            for part in exported.parts
        ],
        "proof": result.proof.to_dict(),
    }
