"""``pippin convert``: a model in another format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .values import custom_layers, resizing

if TYPE_CHECKING:
    from ..coreml.export import Export


@click.command()
@click.argument("model", type=click.Path())
@click.argument("output", type=click.Path())
@click.argument("values", nargs=-1, type=click.Path(), metavar="[NAME=VALUE | PICTURE ...]")
@click.option("--opset", type=int, help="The ONNX operator set, 13 to 24.  [default: 20]")
@click.option(
    "--dims",
    multiple=True,
    metavar="declared|static|symbolic|NAME=1,3,h,w",
    help="Which sizes are open: those declared as flexible, none, the batch as well, or as given for an input.",
)
@click.option("--preprocessing", type=click.Choice(["inside", "outside"]), default="inside", show_default=True,
    help="Of pictures: in the graph, or left out.")  # fmt: skip
@click.option("--labels", type=click.Choice(["metadata", "outputs"]), default="metadata", show_default=True,
    help="Of a classifier: the list as metadata, or the likeliest label as an output too.")  # fmt: skip
@click.option("--weights", type=click.Choice(["auto", "inside", "beside"]), default="auto", show_default=True,
    help="In the file, or in OUTPUT.data beside it; auto: beside it above 2 GB.")  # fmt: skip
@click.option("--verify", type=click.Choice(["none", "quick", "full"]), default="quick", show_default=True,
    help="Compare with the reference: outputs for one input, or every blob for several inputs and sizes.")  # fmt: skip
@click.option("--tolerance", type=click.FloatRange(0, min_open=True), default=1e-4, show_default=True,
    help="Allowed difference, absolute and relative.")  # fmt: skip
@click.option("--layout", type=click.Choice(["nchw", "nhwc"]), default="nchw", show_default=True,
    help="Of pictures in an .nnrt file.")  # fmt: skip
@click.option("--partition", is_flag=True, help="Of an .nnrt file: tell which parts of the network a device can take.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written and the proof as JSON.")
@resizing
@custom_layers
@click.pass_context
def command(
    context: click.Context, model: str, output: str, values: tuple[str, ...], opset: int | None,
    dims: tuple[str, ...], preprocessing: Any, labels: Any, weights: Any, verify: Any, tolerance: float, layout: Any,
    partition: bool, as_json: bool,
) -> None:  # fmt: skip
    """Writes MODEL as OUTPUT, an .onnx or .nnrt file, and proves that it answers as the original does.

    The proof runs the file in ONNX Runtime (.nnrt: on a device here) and the original in the float64 reference, on
    seeded inputs and on yours if you give one. Exits with 1 if an output is further apart than the tolerance; the file
    is kept then. Layers that NNRt has no node type for are listed, and no file is written.

    \b
    pippin convert digits.mlmodel digits.onnx
    pippin convert digits.mlmodel digits.onnx seven.png --verify full --opset 17
    pippin convert photo.mlmodel photo.onnx --dims image=batch,3,height,width
    pippin convert digits.mlmodel digits.nnrt --layout nhwc --partition
    """
    from ..analysis.convert import prove
    from ..analysis.difference import allowed
    from ..coreml import export
    from ..coreml.model import load
    from ..loading import is_onnx
    from .values import example, parse

    if Path(output).suffix == ".nnrt":
        from .convert_nnrt import run

        run(context, model, output, values, layout=layout, dims=_dims(dims), verify=verify, tolerance=tolerance,
            partition=partition, as_json=as_json)  # fmt: skip
        return
    if Path(output).suffix != ".onnx":
        raise click.UsageError(f"{output}: the ending must be .onnx or .nnrt, got {Path(output).suffix or 'none'}")
    if is_onnx(model):
        raise click.UsageError(f"{model} is an ONNX model already")
    wanted = _dims(dims)
    allowed(tolerance)
    net = load(model)
    own = [parse(values, net.inputs, example(model, net.inputs))] if values else []
    written = export.export(
        net, output, opset=opset, dims=wanted, preprocessing=preprocessing, labels=labels, weights=weights
    )
    for line in _written(written):
        click.echo(line, err=True)
    proof = prove(net, written, verify, own, tolerance)
    if as_json:
        click.echo(json.dumps(_content(written, proof)))
    else:
        from ..report import proofs

        click.echo(proofs.as_text(proof))
    context.exit(0 if proof.ok else 1)


def _dims(words: tuple[str, ...]) -> Any:
    shapes: dict[str, list[int | str]] = {}
    for word in words:
        name, separator, sizes = word.rpartition("=")
        if separator:
            shapes[name] = [_size(size.strip(), word) for size in sizes.split(",")]
        elif word not in ("declared", "static", "symbolic"):
            raise click.UsageError(f"--dims must be declared, static, symbolic or name=sizes, got {word!r}")
    if shapes and len(shapes) < len(words):
        raise click.UsageError("--dims takes either one word or sizes of inputs")
    return shapes or (words[-1] if words else "declared")


def _size(text: str, word: str) -> int | str:
    """A number, or the name of a size that is open."""
    if not text or text[0] in "-+.":
        raise click.UsageError(f"--dims: sizes must be positive numbers or names, got {word!r}")
    return int(text) if text.isdecimal() else text


def _written(written: Export) -> list[str]:
    lines = [f"wrote {written.path} (opset {written.opset})"]
    if written.weights:
        lines.append(f"wrote {written.weights} (weights)")
    return [*lines, *(f"note: {note}" for note in written.notes)]


def _content(written: Export, proof: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "file": str(written.path),
        "weights": str(written.weights) if written.weights else None,
        "opset": written.opset,
        "notes": written.notes,
        "proof": proof.to_dict(),
    }
