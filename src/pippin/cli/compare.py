"""``pippin compare``: where and why two models, or a model and recorded answers, differ."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from .values import custom_layers, resizing

MODELS = {".mlmodel", ".mlpackage", ".onnx"}
RECORDED = {".npz", ".json", ".jsonl"}
NO_OTHER = {
    ".npy": "{} is an array without a name; record it in an .npz: np.savez('answers.npz', NAME=array)",
    ".nnrt": "{} is an NNRt model; pippin convert compares one with the model that it is made from",
}


@click.command()
@click.argument("model", type=click.Path())
@click.argument("words", nargs=-1, type=click.Path(), metavar="[OTHER] [NAME=VALUE | PICTURE ...]")
@click.option("--tolerance", type=click.FloatRange(0, min_open=True), default=1e-4, show_default=True,
    help="Allowed difference of outputs, absolute and relative.")  # fmt: skip
@click.option("--precision", type=click.Choice(["float16", "bfloat16"]),
    help="Also run MODEL with every blob rounded so, and say whether that explains the difference.")  # fmt: skip
@click.option("--weights-only", is_flag=True, help="Of --precision: round the weights, not the blobs.")
@click.option("--seed", type=int, default=0, show_default=True, help="For inputs that are not given.")
@click.option("--outputs-only", is_flag=True, help="Do not look at what lies between.")
@click.option("--all", "everything", is_flag=True, help="Show every blob, not only those around the departure.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@resizing
@custom_layers
@click.pass_context
def command(
    context: click.Context, model: str, words: tuple[str, ...], tolerance: float, precision: Any, weights_only: bool,
    seed: int, outputs_only: bool, everything: bool, as_json: bool,
) -> None:  # fmt: skip
    """Compares MODEL with OTHER: outputs, then every pair of blobs, the first layer that departs and the likely cause.

    OTHER is a model (.mlmodel, .onnx), the word "reference", or answers that were recorded anywhere, by name: an .npz,
    or a .json as `pippin run --json` writes it. A recording may hold the inputs too. With --precision OTHER may be left
    out: MODEL is then compared with itself in that precision. Exits with 1 if an output is over the tolerance.

    \b
    pippin compare digits.mlmodel digits.onnx
    pippin compare digits.mlmodel reference seven.png
    pippin compare digits.mlmodel device.npz seven.png --precision float16
    """
    from ..analysis import compare
    from ..loading import load
    from .values import example, parse

    other, values = _split(words)
    if other is None and values:
        text = NO_OTHER.get(Path(values[0]).suffix.lower(), "")
        if text and "=" not in values[0]:
            raise click.UsageError(text.format(values[0]))
    if other is None and precision is None:
        raise click.UsageError("compare with what? Give a second model, an .npz, 'reference', or --precision")
    net = load(model)
    second, name = _second(other)
    data: dict[str, Any] = {}
    if values:
        # what the recording holds need not be given
        held = second if isinstance(second, dict) else {}
        inputs = {
            key: replace(entry, optional=True) if key in held and compare.is_input(held[key], entry) else entry
            for key, entry in net.inputs.items()
        }
        data = parse(values, inputs, example(model, inputs))
    if weights_only and precision is None:
        raise click.UsageError("--weights-only belongs to --precision")
    found = compare.compare(
        net, second, data, tolerance=tolerance, seed=seed, precision=precision, weights_only=weights_only,
        blobs=not outputs_only, name=name,
    )  # fmt: skip
    if as_json:
        click.echo(json.dumps(found.to_dict()))
    else:
        from ..report import comparisons

        click.echo(comparisons.as_text(found, everything))
    context.exit(0 if found.ok else 1)


def _split(words: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """The other side, if the first word is one, and the inputs."""
    if words and (words[0] == "reference" or Path(words[0]).suffix.lower() in MODELS | RECORDED):
        return words[0], words[1:]
    return None, words


def _second(other: str | None) -> tuple[Any, str]:
    """The other model, the word "reference", or recorded arrays; and what to call it."""
    from ..analysis import recorded
    from ..loading import load
    from .values import load_file

    if other is None or other == "reference":
        return other, other or ""
    path = Path(other)
    if path.suffix.lower() in MODELS:
        return load(other), path.name
    content = recorded.observations(load_file(path, lines=True))
    if isinstance(content, list) and len(content) > 1 and all(isinstance(entry, dict) for entry in content):
        raise click.UsageError(f"{other} holds several answers: keep the one that belongs to the input")
    if isinstance(content, dict) and isinstance(content.get("outputs"), dict):
        content = content["outputs"]
    if not isinstance(content, dict):
        raise click.UsageError(f"{other} must hold arrays by name")
    return content, path.name
