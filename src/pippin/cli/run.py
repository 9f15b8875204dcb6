"""``pippin run``: a model answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("model", type=click.Path())
@click.argument("values", nargs=-1, metavar="[NAME=VALUE ...]")
@click.option("--top", default=5, show_default=True, help="Classes to show.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole answer as JSON.")
@click.option("--output", "-o", type=click.Path(), help="Write the answer: .json, .npz, or a picture's ending.")
@click.option("--threads", type=click.IntRange(1), help="Threads to use (default: all cores).")
@click.option("--timeout", type=float, help="Seconds after which to give up.")
def command(
    model: str, values: tuple[str, ...], top: int, as_json: bool, output: str | None, threads: int | None,
    timeout: float | None,
) -> None:  # fmt: skip
    """Runs MODEL and prints its answer.

    Values are pictures, .npy, .npz or .json files, or numbers (1,2,3 or [[1,2],[3,4]]). The name may be left out where
    the model has one input.

    \b
    pippin run digits.mlmodel seven.png
    pippin run house.mlmodel numericalInput=row.npy rooms=4
    """
    import pippin

    from ..report import answers
    from .values import example, parse

    net = pippin.load(model, threads=threads)
    answer = net.predict(parse(values, net.inputs, example(model, net.inputs)), timeout=timeout)
    if output:
        save(Path(output), answer)
        click.echo(f"wrote {output}", err=True)
    if as_json:
        click.echo(json.dumps({"schema": answers.SCHEMA, "outputs": answers.as_json(answer)}))
    elif not output:
        click.echo(answers.as_text(answer, top))


def save(path: Path, answer: dict[str, Any]) -> None:
    """Writes an answer by the ending of ``path``: all of it as .json or .npz, or its one picture or array."""
    import io

    import numpy as np

    from .. import files
    from ..errors import WriteError
    from ..report import answers

    if path.suffix == ".json":
        files.write(path, [json.dumps({"schema": answers.SCHEMA, "outputs": answers.as_json(answer)}).encode()])
        return
    arrays = {name: value for name, value in answer.items() if isinstance(value, np.ndarray)}
    pictures = {name: value for name, value in answer.items() if hasattr(value, "getbands")}
    buffer = io.BytesIO()
    if path.suffix == ".npz":
        np.savez(buffer, **{name: np.asarray(value) for name, value in answer.items() if not isinstance(value, dict)})
    elif path.suffix == ".npy" and len(arrays) == 1:
        np.save(buffer, next(iter(arrays.values())))
    elif path.suffix.lower() in (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp") and len(pictures) == 1:
        from PIL import Image

        Image.init()
        next(iter(pictures.values())).save(buffer, format=Image.EXTENSION[path.suffix.lower()])
    else:
        have = f"{len(arrays)} arrays and {len(pictures)} pictures"
        raise WriteError(
            f"the answer cannot be written as {path.suffix or 'a file without ending'}; it holds {have}",
            where=str(path),
            hint="use .json or .npz, or the ending of a picture if the answer is one",
        )
    files.write(path, [buffer.getvalue()])
