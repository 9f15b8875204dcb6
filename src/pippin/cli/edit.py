"""``pippin edit``: names, interface, preprocessing, sizes, weights and layers of a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import edits
from .values import custom_layers, resizing

if TYPE_CHECKING:
    from ..coreml.edit import Editor


class _Ordered(click.Command):
    """A command that remembers the order in which options were given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[_ORDER] = [param.name for param in order]
        return super().parse_args(ctx, args)


_ORDER = "pippin.edit.order"


def _edits(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds an option for every edit."""
    for name, edit in reversed(edits.EDITS.items()):
        flag = f"--{name.replace('_', '-')}"
        if edit.metavar:
            function = click.option(flag, name, multiple=True, metavar=edit.metavar, help=edit.help)(function)
        else:
            function = click.option(flag, name, is_flag=True, help=edit.help)(function)
    return function


@click.command(cls=_Ordered)
@click.argument("model", type=click.Path())
@click.option("--output", "-o", type=click.Path(), help="The file to write; it may be MODEL itself.")
@_edits
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option("--data", multiple=True, metavar="NAME=VALUE", help="Inputs for the proof, as `pippin run` takes them.")
@click.option("--no-proof", is_flag=True, help="Do not run the model before and after.")
@click.option("--force", is_flag=True, help="Write a model that is bad, or that answers otherwise than it must.")
@click.option("--json", "as_json", is_flag=True, help="Print edits, differences, check and proof as JSON.")
@resizing
@custom_layers
@click.pass_context
def command(
    context: click.Context, /, model: str, output: str | None, dry_run: bool, data: tuple[str, ...], no_proof: bool,
    force: bool, as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Edits MODEL, a Core ML file: several edits in one call, made in the order in which they are given.

    What refers to a changed name follows. The result is checked, and the model is run before and after the edits:
    what must not change is proven, what may is shown. Nothing is written if that fails (exit code 1).

    \b
    pippin edit digits.mlmodel --rename-input image=picture --quantize 4 -o small.mlmodel
    pippin edit net.mlmodel --set-preprocessing "image mean=.485,.456,.406 std=.229,.224,.225" -o net.mlmodel
    pippin edit net.mlmodel --cut features --prune --dry-run
    """
    import pippin

    wanted = list(_in_order(context.meta[_ORDER], given))
    if not wanted:
        raise click.UsageError("no edit is given; see pippin edit --help")
    if not output and not dry_run:
        raise click.UsageError("where to write is not given: -o OUT.mlmodel, or --dry-run to write nothing")
    editor = pippin.edit(model)
    for name, value in wanted:
        edits.apply(editor, name, value)
    inputs = _inputs(editor, model, data)
    proof = None if no_proof else editor.prove(inputs)
    report = editor.check()
    ok = report.ok and (proof is None or proof.ok)
    size = None
    if output and not dry_run and (ok or force):
        size = editor.save(output, proof=False, force=force).size
    if as_json:
        click.echo(json.dumps(_content(editor, report, proof, output if size is not None else None, size)))
    else:
        _tell(editor, report, proof, dry_run)
        if size is not None:
            click.echo(f"wrote {output}, {_size(size)} (it was {_size(editor.document.size)})", err=True)
    if not ok and size is None and not dry_run:
        click.echo("error: the result is not as it must be, so nothing was written", err=True)
    context.exit(0 if ok or size is not None else 1)


def _in_order(order: Sequence[str | None], given: dict[str, Any]) -> list[tuple[str, Any]]:
    """The edits as they were given on the command line."""
    values = {name: iter(value if isinstance(value, tuple) else [value]) for name, value in given.items() if value}
    return [(name, next(values[name])) for name in order if name in values]


def _inputs(editor: Editor, model: str, words: tuple[str, ...]) -> list[Any]:
    if not words:
        return []
    from ..coreml.model import Model
    from .values import example, parse

    before = Model(editor.state(0))
    return [parse(words, before.inputs, example(model, before.inputs))]


def _tell(editor: Editor, report: Any, proof: Any, dry_run: bool) -> None:
    if dry_run:
        click.echo(editor)
    for step in editor.steps:
        click.echo(f"{'would ' if dry_run else ''}{step.text}", err=True)
        for note in step.notes:
            click.echo(f"  {note}", err=True)
    if not report.ok:
        for line in report.lines(limit=5):
            click.echo(line, err=True)
    for trial in proof.trials if proof is not None else []:
        mark = "proof" if trial.ok else click.style("failed", fg="red")
        click.echo(f"{mark}: {trial}", err=True)


def _size(count: int) -> str:
    from ..report import text

    return text.size(count)


def _content(editor: Editor, report: Any, proof: Any, output: str | None, size: int | None) -> dict[str, Any]:
    from ..coreml.edit.editor import SCHEMA

    return {
        "schema": SCHEMA,
        "file": str(Path(output)) if output else None,
        "bytes": size,
        "bytesBefore": editor.document.size,
        "steps": [step.to_dict() for step in editor.steps],
        "changes": [change.to_dict() for change in editor.diff()],
        "check": report.to_dict(),
        "proof": proof.to_dict() if proof is not None else None,
    }
