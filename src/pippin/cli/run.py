"""``pippin run``: a model answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .values import PICTURES, ValuesCommand

if TYPE_CHECKING:
    from ..loading import AnyModel

CHUNK = 32
"""Pictures that are opened and run together."""


@click.command(cls=ValuesCommand)
@click.argument("model", type=click.Path())
@click.argument("values", nargs=-1, metavar="[NAME=VALUE | PICTURE ...]")
@click.option("--top", default=5, type=click.IntRange(1), show_default=True, help="Classes to show.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole answer as JSON, a line a picture.")
@click.option("--csv", "as_csv", is_flag=True, help="Print a table: a line a picture.")
@click.option("--output", "-o", type=click.Path(), help="Write the answer: .json, .npz, .npy, or a picture's ending.")
@click.option(
    "--resize", type=click.Choice(["crop", "fit", "stretch"]), help="Make pictures fit the input by this rule."
)
@click.option("--engine", type=click.Choice(["onnxruntime", "reference"]), default="onnxruntime", show_default=True)
@click.option("--threads", type=click.IntRange(1, 256), help="Threads to use (default: all cores).")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), help="Seconds a run, after which to give up.")
@click.option("--max-memory", type=click.IntRange(1), help="Bytes that the network may need.")
@click.option("--device", help="Device for an NNRt model, as `pippin devices` lists them, or unix:PATH.")
def command(model: str, values: tuple[str, ...], top: int, as_json: bool, as_csv: bool, output: str | None,
    resize: str | None, engine: str, threads: int | None, timeout: float | None, max_memory: int | None,
    device: str | None,
) -> None:  # fmt: skip
    """Runs MODEL, a Core ML, ONNX or NNRt model, and prints its answer.

    Values are pictures, .npy, .npz or .json files, or numbers (1,2,3 or [[1,2],[3,4]]). The name may be left out where
    the model has one input. Several pictures are run one after the other.

    \b
    pippin run digits.mlmodel seven.png
    pippin run digits.mlmodel photos/*.png --resize crop --csv
    pippin run house.mlmodel numericalInput=row.npy rooms=4

    --resize crop scales until the shorter side fits and cuts out the middle, fit scales until the longer side fits and
    fills up with black, stretch scales both sides.
    """
    import pippin

    from . import nnrt_model

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    from .values import example, parse

    if nnrt_model.is_nnrt(model):
        nnrt_model.only_for_coreml(csv=as_csv, resize=resize, threads=threads, timeout=timeout, max_memory=max_memory)
        nnrt_model.run(model, values, device=device, engine=engine, as_json=as_json, output=output, top=top)
        return
    if device is not None:
        raise click.UsageError("--device is for NNRt models; Core ML models run on the CPU")

    net = pippin.load(model, threads=threads, max_memory=max_memory)
    pictures = _pictures(values, net)
    if pictures and (len(pictures) > 1 or as_csv):
        if output:
            raise click.UsageError("--output takes the answer to one picture; use --json or --csv for several")
        _many(net, pictures, resize, engine, timeout, (as_json, as_csv, top))
        return
    given = parse(values, net.inputs, example(model, net.inputs))
    given = {name: _sized(value, net, name, resize) for name, value in given.items()}
    answer = _predictor(net, engine, timeout)([given])[0]
    if output:
        save(Path(output), answer)
        click.echo(f"wrote {output}", err=True)
    if as_json:
        click.echo(to_json(answer))
    elif not output:
        from ..report import answers

        click.echo(answers.as_text(answer, top))


def _pictures(words: tuple[str, ...], net: AnyModel) -> list[str]:
    """The words, if each is a picture (or a folder of them) for the only input that must be given."""
    wanted = [entry for entry in net.inputs.values() if not entry.optional and entry.default is None]
    if len(wanted) != 1 or wanted[0].kind != "image":
        return []
    found: list[str] = []
    for word in words:
        word = word.removeprefix(f"{wanted[0].name}=")
        path = Path(word)
        if path.is_dir():
            inside = [str(entry) for entry in sorted(path.iterdir()) if entry.suffix.lower() in PICTURES]
            if not inside:
                raise click.UsageError(f"the folder {word} holds no pictures")
            found += inside
        elif path.suffix.lower() in PICTURES:
            found.append(word)
        else:
            return []
    return found


def _sized(value: Any, net: AnyModel, name: str, rule: str | None) -> Any:
    if rule is None or net.inputs[name].kind != "image" or not isinstance(value, (str, Path)):
        return value
    from ..coreml.pictures import fitted

    return fitted(value, net.inputs[name], rule)


def _predictor(net: AnyModel, engine: str, timeout: float | None) -> Callable[[list[Any]], list[dict[str, Any]]]:
    if engine == "onnxruntime":
        return lambda items: net.predict(items, timeout)
    from ..analysis import reference

    return lambda items: [reference.answer(net, item, timeout=timeout) for item in items]


def _many(
    net: AnyModel, pictures: list[str], resize: str | None, engine: str, timeout: float | None,
    style: tuple[bool, bool, int],
) -> None:  # fmt: skip
    """Runs pictures in chunks; answers are printed as they come, a bar on the terminal shows how far it is."""
    import csv
    import sys

    from ..report import answers

    as_json, as_csv, top = style
    (name,) = [entry.name for entry in net.inputs.values() if entry.kind == "image" and not entry.optional][:1]
    predict = _predictor(net, engine, timeout)
    table = csv.writer(sys.stdout, lineterminator="\n") if as_csv else None
    first = True
    for path, answer in _answers(pictures, lambda p: {name: _sized(p, net, name, resize)}, predict):
        if table:
            row = answers.as_row(answer)
            if first:
                table.writerow(["file", *row])
            table.writerow([path, *row.values()])
        elif as_json:
            click.echo(to_json(answer, file=path))
        else:
            click.echo(f"{'' if first else chr(10)}{path}\n{answers.as_text(answer, top)}")
        first = False


def _answers(
    pictures: list[str], load: Callable[[str], Any], predict: Callable[[list[Any]], list[dict[str, Any]]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    from ..report.progress import progress

    with progress(len(pictures), "pictures") as advance:
        for start in range(0, len(pictures), CHUNK):
            part = pictures[start : start + CHUNK]
            for path, answer in zip(part, predict([load(path) for path in part]), strict=True):
                yield path, answer
                advance(1)


def to_json(answer: dict[str, Any], **more: Any) -> str:
    """The answer as one line of JSON."""
    from ..report import answers

    return json.dumps({"schema": answers.SCHEMA, **more, "outputs": answers.as_json(answer)})


def save(path: Path, answer: dict[str, Any]) -> None:
    """Writes an answer by the ending of ``path``: all of it as .json or .npz, or its one picture or array."""
    import io

    import numpy as np

    from .. import files
    from ..errors import WriteError

    suffix = path.suffix.lower()
    arrays = {name: value for name, value in answer.items() if isinstance(value, np.ndarray)}
    pictures = {name: value for name, value in answer.items() if hasattr(value, "getbands")}
    buffer = io.BytesIO()
    if suffix == ".json":
        buffer.write(to_json(answer).encode())
    elif suffix == ".npz":
        values: dict[str, Any] = {name: np.asarray(v) for name, v in answer.items() if not isinstance(v, dict)}
        np.savez(buffer, **values)
    elif suffix == ".npy" and len(arrays) == 1:
        np.save(buffer, next(iter(arrays.values())))
    elif suffix in PICTURES and len(pictures) == 1:
        from PIL import Image

        Image.init()
        next(iter(pictures.values())).save(buffer, format=Image.EXTENSION[suffix])
    else:
        have = f"{len(arrays)} arrays and {len(pictures)} pictures"
        raise WriteError(
            f"the answer cannot be written as {suffix or 'a file without ending'}; it holds {have}",
            where=str(path),
            hint="use .json or .npz, or the ending of a picture if the answer is one",
        )
    files.write(path, [buffer.getvalue()])
