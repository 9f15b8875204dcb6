"""``pippin dump``: the weights of a model, or blobs on the way, as arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .values import custom_layers, resizing


@click.command()
@click.argument("model", type=click.Path())
@click.argument("values", nargs=-1, type=click.Path(), metavar="[NAME=VALUE | PICTURE ...]")
@click.option("--output", "-o", required=True, type=click.Path(), help="The file to write: .npz or .safetensors.")
@click.option("--raw", is_flag=True, help="Weights as the file stores them, with their scales and tables.")
@click.option("--blob", "names", multiple=True, metavar="NAME", help="A blob for the given inputs; as often as wanted.")
@click.option("--blobs", "everything", is_flag=True, help="Every blob for the given inputs.")
@click.option("--seed", type=int, default=0, show_default=True, help="For inputs of --blobs that are not given.")
@resizing
@custom_layers
def command(
    model: str, values: tuple[str, ...], output: str, raw: bool, names: tuple[str, ...], everything: bool, seed: int
) -> None:
    """Writes the weights of MODEL to a file, or blobs that it computes on the way for given inputs.

    Weights are called "layer/field" and expanded to float32 in the shape in which the layer reads them. With --raw they
    are what the file holds: float16, or integers with name.scale, name.bias or name.table, and name.bits.

    \b
    pippin dump digits.mlmodel -o weights.npz
    pippin dump digits.mlmodel -o weights.safetensors --raw
    pippin dump digits.mlmodel seven.png -o inside.npz --blob conv1 --blob logits
    """
    from ..analysis import dump
    from ..report import text

    if Path(output).suffix not in dump.ENDINGS:
        raise click.UsageError(f"{output}: the ending must be one of {', '.join(dump.ENDINGS)}")
    wants_blobs = bool(names) or everything
    if values and not wants_blobs:
        raise click.UsageError("inputs are for --blob or --blobs; weights need none")
    if raw and wants_blobs:
        raise click.UsageError("--raw is for weights")
    net = _opened(model, wants_blobs)
    if wants_blobs:
        told = dump.write(dump.blobs(net, _data(model, net, values, seed), names), output, {"model": Path(model).name})
    else:
        told = dump.write(dump.weights(net, raw=raw), output, {"model": Path(model).name})
    for name, shape in told:
        click.echo(f"{name} {list(shape)}")
    click.echo(f"wrote {output}: {text.plural(len(told), 'array')}, {text.size(Path(output).stat().st_size)}", err=True)


def _opened(model: str, to_run: bool) -> Any:
    """The model; for its weights alone it need not be one that runs."""
    from ..loading import is_onnx, load

    if to_run or is_onnx(model):
        return load(model)
    from ..coreml.model import Model
    from ..coreml.read import read

    return Model(read(model))


def _data(path: str, net: Any, values: tuple[str, ...], seed: int) -> dict[str, Any]:
    from ..analysis import samples
    from .values import example, parse

    return parse(values, net.inputs, example(path, net.inputs)) if values else samples.sample(net, seed)
