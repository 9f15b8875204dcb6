"""``pippin inspect``: what is in a model."""

from __future__ import annotations

import json

import click


@click.command()
@click.argument("model", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(model: str, as_json: bool) -> None:
    """Shows inputs, outputs, preprocessing, layers with shapes, and weights of MODEL.

    \b
    pippin inspect digits.mlmodel
    """
    import pippin

    from ..report import describe

    description = describe.describe(pippin.load(model))
    click.echo(json.dumps(description) if as_json else describe.as_text(description))
