"""``pippin train``: an updatable network learns."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .values import custom_layers

if TYPE_CHECKING:
    from ..training.trainer import Progress

SCHEMA = "pippin.train/1"
RULES = ("crop", "fit", "stretch")


@click.command()
@click.argument("model", type=click.Path())
@click.option("--data", type=click.Path(), help="A folder of pictures by class, .csv, .tsv, .npz[:PART] or .parquet.")
@click.option("--validation", type=click.Path(), help="Data to tell loss and accuracy on after each epoch.")
@click.option("--output", "-o", type=click.Path(), help="Where the trained .mlmodel goes.")
@click.option("--epochs", type=int, help="How often to go through the data (default of these: what the file says).")
@click.option("--batch-size", type=int, help="Samples an update.")
@click.option("--learning-rate", type=float, help="How far an update goes.")
@click.option("--momentum", type=float, help="For SGD.")
@click.option("--beta1", type=float, help="For Adam.")
@click.option("--beta2", type=float, help="For Adam.")
@click.option("--eps", type=float, help="For Adam.")
@click.option("--shuffle/--no-shuffle", default=None, help="Mix the samples before each epoch.")
@click.option("--seed", type=int, help="What the mixing begins with.")
@click.option("--beyond", is_flag=True, help="Take values that the file does not allow.")
@click.option("--resize", type=click.Choice(RULES), help="Make pictures fit the input by this rule.")
@click.option("--checkpoint", type=click.Path(), help="A file to keep up to date, so that training can go on.")
@click.option("--checkpoint-every", type=float, default=30.0, show_default=True, help="Seconds between checkpoints.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint if it is there.")
@click.option("--threads", type=click.IntRange(1), help="Threads to use (default: all cores).")
@click.option("--json", "as_json", is_flag=True, help="Print the log as JSON, a line an epoch.")
@click.option("--make-updatable", is_flag=True, help="Turn an ordinary network into an updatable one first.")
@click.option("--layers", help="Names of the layers that are to train, with commas (with --make-updatable).")
@click.option("--loss", type=click.Choice(["cross-entropy", "mean-squared-error"]), help="With --make-updatable.")
@click.option("--optimizer", type=click.Choice(["sgd", "adam"]), help="With --make-updatable (default: sgd).")
@click.option("--check-gradients", is_flag=True, help="Compare gradients with the reference instead of training.")
@custom_layers
@click.pass_context
def command(
    context: click.Context, /, model: str, data: str | None, validation: str | None, output: str | None,
    checkpoint: str | None, checkpoint_every: float, resume: bool, threads: int | None, as_json: bool,
    resize: str | None, make_updatable: bool, layers: str | None, loss: str | None, optimizer: str | None,
    check_gradients: bool, beyond: bool, **chosen: Any,
) -> None:  # fmt: skip
    """Trains MODEL, an updatable network, as its file says, and writes the file with its new weights.

    Columns and arrays bear the names of features; a classifier's target is its label, in a folder of pictures the name
    of the folder that a picture lies in.

    \b
    pippin train digits.mlmodel --data digits.npz:train --validation digits.npz:held-out --output trained.mlmodel
    pippin train flowers.mlmodel --data pictures/ --resize crop --epochs 20 --output trained.mlmodel
    pippin train plain.mlmodel --make-updatable --layers dense_1,dense_2 --optimizer adam --output updatable.mlmodel
    """
    _usable(data, output, checkpoint, make_updatable, check_gradients, layers or loss or optimizer)
    source: Any = model
    if make_updatable:
        source = _updatable(model, layers, loss, optimizer or "sgd", chosen, output if data is None else None, as_json)
        if data is None:
            return
    if check_gradients:
        context.exit(0 if _gradients(source, data, resize, threads, as_json) else 1)
    from ..training import train

    with _bar() as draw, _warnings(draw):

        def on_epoch(progress: Progress) -> None:
            assert progress.record is not None
            draw(None)
            click.echo(_json({"schema": SCHEMA, **progress.record}) if as_json else _line(progress))

        result = train(
            source,
            data,
            validation=validation,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            resume=resume,
            threads=threads,
            resize=resize,
            beyond=beyond,
            on_batch=draw,
            on_epoch=on_epoch,
            **chosen,
        )
        assert output is not None
        result.save(output)
        click.echo(f"wrote {output}", err=True)


def _usable(
    data: str | None, output: str | None, checkpoint: str | None, make_updatable: bool, check_gradients: bool,
    choice: str | None,
) -> None:  # fmt: skip
    """Refuses what cannot end well before anything is computed."""
    from ..coreml import write

    if choice and not make_updatable:
        raise click.UsageError("--layers, --loss and --optimizer go with --make-updatable")
    if data is None and (check_gradients or not make_updatable):
        raise click.UsageError("--data is missing: what is the network to learn from?")
    if output is None and not check_gradients:
        raise click.UsageError("--output is missing: where is the trained network to go?")
    _writable("--output", output)
    _writable("--checkpoint", checkpoint)
    if output is not None:
        write.checked(output)
    if output and checkpoint and Path(output).resolve() == Path(checkpoint).resolve():
        raise click.UsageError("--output and --checkpoint must be two files")


def _writable(option: str, path: str | None) -> None:
    """Refuses a place that nothing can be written to: hours later it would be too late."""
    if path is None:
        return
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise click.UsageError(f"{option}: there is no folder {folder}")
    if Path(path).is_dir():
        raise click.UsageError(f"{option}: {path or '.'} is a folder")
    if not os.access(folder, os.W_OK):
        raise click.UsageError(f"{option}: the folder {folder} is not writable")


def _json(record: dict[str, Any]) -> str:
    """A line of JSON, which has no numbers that are none."""
    return json.dumps({k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in record.items()})


def _line(progress: Progress) -> str:
    """The line about an epoch."""
    record = progress.record or {}
    words = [f"epoch {record['epoch']}/{progress.epochs}", f"loss {record['loss']:.6f}"]
    if "accuracy" in record:
        words.append(f"accuracy {record['accuracy']:.2%}")
    if "validation_loss" in record:
        words.append(f"validation loss {record['validation_loss']:.6f}")
    if "validation_accuracy" in record:
        words.append(f"validation accuracy {record['validation_accuracy']:.2%}")
    return "  ".join(words)


def _updatable(
    model: str, layers: str | None, loss: str | None, optimizer: str, chosen: dict[str, Any], output: str | None,
    as_json: bool,
) -> Any:  # fmt: skip
    """The network as an updatable one, written to ``output`` if there is one."""
    from ..training import make_updatable

    known = ("epochs", "batch_size", "learning_rate", "momentum", "beta1", "beta2", "eps", "shuffle", "seed")
    given = {name: chosen[name] for name in known if chosen[name] is not None}
    result = make_updatable(
        model,
        layers=[name.strip() for name in layers.split(",")] if layers else None,
        loss=loss,
        optimizer=optimizer,
        **given,
    )
    if output is not None:
        result.save(output)
    about = {"schema": "pippin.updatable/1", "layers": result.layers, "changed": result.changed}
    if output is None:
        return result.document
    if as_json:
        click.echo(json.dumps({**about, "difference": result.difference}))
    else:
        click.echo(f"trains {', '.join(result.layers)}; on random inputs answers differ by {result.difference:.0e}")
        for change in result.changed:
            click.echo(f"  {change}")
    click.echo(f"wrote {output}", err=True)
    return result.document


def _gradients(source: Any, data: str | None, resize: str | None, threads: int | None, as_json: bool) -> bool:
    """Tells how gradients and differences agree; whether they do."""
    from ..report.text import table
    from ..training import check_gradients

    found = check_gradients(source, data, resize=resize, threads=threads)
    if as_json:
        click.echo(json.dumps(found.as_json()))
        return found.ok
    click.echo(f"loss {found.loss:.6f}, by the reference {found.reference_loss:.6f}")
    rows = [
        (row.name, f"{row.gradient:.3e}", f"{row.error:.1e}", "agrees" if row.ok else "DIFFERS") for row in found.rows
    ]
    click.echo(table(rows, ("parameter", "gradient", "error", ""), right="12"))
    return found.ok


@contextmanager
def _warnings(draw: Any) -> Iterator[None]:
    """Prints what the package warns of, each sentence on a line of its own."""
    import logging

    class Printed(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            draw(None)
            click.echo(f"warning: {record.getMessage()}", err=True)

    handler = Printed(logging.WARNING)
    log = logging.getLogger("pippin")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


@contextmanager
def _bar() -> Iterator[Any]:
    """A function to be called with a ``Progress`` after each batch; it draws a bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("preparing", total=None)

    def draw(progress: Any) -> None:
        if progress is None:
            bar.stop()  # a line is to be printed where the bar stands
            return
        bar.start()
        text = f"epoch {progress.epoch}/{progress.epochs}  loss {progress.loss:.4f}"
        bar.update(task, description=text, completed=progress.batch, total=progress.batches)

    try:
        yield draw
    finally:
        bar.stop()
