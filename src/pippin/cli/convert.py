"""``pippin convert``: a model in another format."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("model", type=click.Path())
@click.argument("output", type=click.Path())
def command(model: str, output: str) -> None:
    """Writes MODEL as OUTPUT, whose ending says the format: .onnx.

    \b
    pippin convert digits.mlmodel digits.onnx
    """
    from ..coreml.export import to_onnx

    if Path(output).suffix != ".onnx":
        raise click.UsageError(f"{output}: the ending must be .onnx, got {Path(output).suffix or 'none'}")
    to_onnx(model, output)
    click.echo(f"wrote {output}", err=True)
