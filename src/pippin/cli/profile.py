"""``pippin profile``: where time, work and memory go."""

from __future__ import annotations

import json

import click

from .values import custom_layers, resizing


@click.command()
@click.argument("model", type=click.Path())
@click.argument("values", nargs=-1, type=click.Path(), metavar="[NAME=VALUE | PICTURE ...]")
@click.option("--runs", type=click.IntRange(1), default=10, show_default=True, help="Runs to take the median of.")
@click.option("--top", type=click.IntRange(1), help="Show only so many layers, the slowest.")
@click.option("--threads", type=click.IntRange(1), help="Threads to use (default: all cores).")
@click.option("--seed", type=int, default=0, show_default=True, help="For inputs that are not given.")
@click.option("--no-fresh", is_flag=True, help="Do not measure loading and memory in a new process.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--html", "page", type=click.Path(), help="Write one page with a picture of where time goes.")
@resizing
@custom_layers
def command(
    model: str, values: tuple[str, ...], runs: int, top: int | None, threads: int | None, seed: int, no_fresh: bool,
    as_json: bool, page: str | None,
) -> None:  # fmt: skip
    """Shows time, FLOPs, parameters and bytes of every layer of MODEL, those of branches and loops too.

    Times are of the network as it runs: layers that were fused into an operator are said to run inside of the one that
    does most of its work. Loading, the first answer and memory are measured in a new process.

    \b
    pippin profile digits.mlmodel
    pippin profile digits.mlmodel seven.png --top 10 --html profile.html
    """
    from .. import files
    from ..analysis.profile import profile
    from ..loading import load
    from ..report import profiles
    from .values import example, parse

    net = load(model, threads=threads)
    data = parse(values, net.inputs, example(model, net.inputs)) if values else None
    found = profile(net, data, runs=runs, seed=seed, fresh=not no_fresh)
    if page is not None:
        files.write(page, [profiles.as_html(found).encode()])
        click.echo(f"wrote {page}", err=True)
    if as_json:
        click.echo(json.dumps(found.to_dict()))
    elif page is None or top is not None:
        click.echo(profiles.as_text(found, top or len(found.rows), by_time=top is not None))
