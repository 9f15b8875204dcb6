"""``pippin inspect``: what is in a model."""

from __future__ import annotations

import json

import click

from .values import custom_layers


@click.command()
@click.argument("model", type=click.Path())
@click.option("--layer", help="Show one layer (or node), by name or number, with its parameters and weights.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@custom_layers
def command(model: str, layer: str | None, as_json: bool) -> None:
    """Shows inputs, outputs, preprocessing, layers with shapes, and weights of MODEL, a Core ML, ONNX or NNRt model.

    \b
    pippin inspect digits.mlmodel
    pippin inspect digits.mlmodel --layer conv1
    """
    from .nnrt_model import inspect, is_nnrt

    if is_nnrt(model):
        inspect(model, layer, as_json)
        return
    from ..coreml.model import Model
    from ..coreml.read import read
    from ..loading import is_onnx
    from ..report import describe

    if is_onnx(model):
        _onnx(model, layer, as_json)
        return
    # not loaded for running: what cannot run can still be looked at
    net = Model(read(model))
    if layer is not None:
        entry = describe.layer(net, layer)
        click.echo(json.dumps(entry) if as_json else describe.layer_text(entry))
        return
    description = describe.describe(net)
    click.echo(json.dumps(description) if as_json else describe.as_text(description))


def _onnx(model: str, layer: str | None, as_json: bool) -> None:
    from ..onnx_model import load
    from ..report import describe_onnx

    net = load(model)
    if layer is not None:
        entry = describe_onnx.layer(net, layer)
        click.echo(json.dumps(entry) if as_json else describe_onnx.layer_text(entry))
        return
    description = describe_onnx.describe(net)
    click.echo(json.dumps(description) if as_json else describe_onnx.as_text(description))
