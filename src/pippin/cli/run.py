"""``pippin run``: a model answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from . import sinks
from .values import PICTURES, ValuesCommand, custom_layers

if TYPE_CHECKING:
    from ..loading import AnyModel

Predictor = Callable[[list[Any]], list[dict[str, Any]]]

CHUNK = 32
"""Pictures that are opened and run together."""


@click.command(cls=ValuesCommand)
@click.argument("model", type=click.Path())
@click.argument("values", nargs=-1, type=click.Path(), metavar="[NAME=VALUE | PICTURE ...]")
@click.option("--top", default=5, type=click.IntRange(1), show_default=True, help="Classes to show.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole answer as JSON, a line a picture.")
@click.option("--csv", "as_csv", is_flag=True, help="Print a table: a line a picture, of a classifier the best class.")
@click.option("--output", "-o", type=click.Path(),
    help="Write the answer: .json, .csv, .npz, .npy, or a picture's ending. Of several pictures: .json (a line each), "
    ".csv, or a folder that gets a file each.")  # fmt: skip
@click.option(
    "--resize", type=click.Choice(["crop", "fit", "stretch"]), help="Make pictures fit the input by this rule."
)
@click.option("--engine", type=click.Choice(["onnxruntime", "reference"]), default="onnxruntime", show_default=True)
@click.option("--threads", type=click.IntRange(1, 256), help="Threads to use (default: all cores).")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), help="Seconds a run, after which to give up.")
@click.option("--max-memory", type=click.IntRange(1), help="Bytes that the network may need.")
@click.option("--keep-going", is_flag=True,
    help="Of several pictures: tell which cannot be used, and go on; the exit code is 1 then.")  # fmt: skip
@click.option("--precision", type=click.Choice(["float16", "bfloat16"]),
    help="Answer as a device that stores every blob and weight so.")  # fmt: skip
@click.option("--device", help="Device for an NNRt model, as `pippin devices` lists them, or unix:PATH.")
@custom_layers
@click.pass_context
def command(
    context: click.Context, model: str, values: tuple[str, ...], top: int, as_json: bool, as_csv: bool,
    output: str | None, resize: str | None, engine: str, threads: int | None, timeout: float | None,
    max_memory: int | None, keep_going: bool, precision: str | None, device: str | None,
) -> None:  # fmt: skip
    """Runs MODEL, a Core ML, ONNX or NNRt model, and prints its answer.

    Values are pictures, .npy, .npz or .json files, or numbers (1,2,3 or [[1,2],[3,4]]). The name may be left out where
    the model has one input. Several pictures, or folders of them, are run in batches.

    \b
    pippin run digits.mlmodel seven.png
    pippin run digits.mlmodel photos/ --resize crop -o answers.csv
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
        nnrt_model.only_for_coreml(
            csv=as_csv, resize=resize, threads=threads, timeout=timeout, max_memory=max_memory, precision=precision
        )
        nnrt_model.run(model, values, device=device, engine=engine, as_json=as_json, output=output, top=top)
        return
    if device is not None:
        raise click.UsageError("--device is for NNRt models; Core ML models run on the CPU")

    if precision is not None and engine != "onnxruntime":
        raise click.UsageError("--precision is for --engine onnxruntime; the reference computes in float64")
    net = pippin.load(model, threads=threads, max_memory=max_memory, precision=precision)
    pictures = _pictures(values, net)
    if len(pictures) > 1 or (pictures and (as_csv or sinks.takes_many(output))):
        to = sinks.sink(output, as_json, as_csv, top)
        context.exit(_many(net, pictures, resize, _predictor(net, engine, timeout), to, keep_going))
    given = parse(values, net.inputs, example(model, net.inputs))
    given = {name: _sized(value, net, name, resize) for name, value in given.items()}
    answer = _predictor(net, engine, timeout)([given])[0]
    if output:
        save(Path(output), answer)
        click.echo(f"wrote {output}", err=True)
    if as_json:
        click.echo(to_json(answer))
    elif as_csv and not output:
        click.echo(sinks.table(answer), nl=False)
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


def _predictor(net: AnyModel, engine: str, timeout: float | None) -> Predictor:
    if engine == "onnxruntime":
        return lambda items: net.predict(items, timeout)
    from ..analysis import reference

    return lambda items: [reference.answer(net, item, timeout=timeout) for item in items]


def _many(
    net: AnyModel, pictures: list[str], resize: str | None, predict: Predictor, to: sinks.Sink, keep_going: bool
) -> int:
    """Runs pictures in chunks; answers go where they belong. The exit code is 1 if pictures were left out."""
    (name,) = [entry.name for entry in net.inputs.values() if entry.kind == "image" and not entry.optional][:1]
    to.expect(pictures)
    bad = 0
    for path, answer in _answers(pictures, lambda p: {name: _sized(p, net, name, resize)}, predict, to, keep_going):
        if isinstance(answer, InputError):
            click.echo(f"error: {answer}", err=True)
            bad += 1
        else:
            to.take(path, answer)
    to.finish()
    if bad:
        click.echo(f"{bad} of {len(pictures)} pictures left out", err=True)
    return 1 if bad else 0


def _answers(
    pictures: list[str], load: Callable[[str], Any], predict: Predictor, to: sinks.Sink, keep_going: bool
) -> Iterator[tuple[str, dict[str, Any] | InputError]]:
    from ..report.progress import progress

    with progress(len(pictures), "pictures", beside=not to.quiet) as advance:
        for start in range(0, len(pictures), CHUNK):
            part = pictures[start : start + CHUNK]
            try:
                found: list[Any] = predict([load(path) for path in part])
            except InputError:
                if not keep_going:
                    raise
                found = [_alone(path, load, predict) for path in part]
            for path, answer in zip(part, found, strict=True):
                yield path, answer
                advance(1)


def _alone(path: str, load: Callable[[str], Any], predict: Predictor) -> Any:
    """The answer to one picture, or what is wrong with it."""
    try:
        return predict([load(path)])[0]
    except InputError as error:
        return error


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
    elif suffix == ".csv":
        buffer.write(sinks.table(answer).encode())
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
