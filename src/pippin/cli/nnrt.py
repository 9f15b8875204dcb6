"""``pippin nnrt``: a group of commands around NNRt devices and models."""

from __future__ import annotations

import json
from typing import Any

import click


@click.group("nnrt", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Works with NNRt devices and models (OpenHarmony, device interface v2.1).

    Models themselves are run, inspected, checked and made by `pippin run`, `inspect`, `check` and `convert`.
    """


@command.command(short_help="run a suite of cases against a device")
@click.option("--device", help="A device of this machine, as `pippin devices` lists them (default: the first).")
@click.option("--target", metavar="MODULE:OBJECT", help="An object of yours, or what makes one, in Python.")
@click.option("--socket", type=click.Path(), help="The device that a service offers at this path.")
@click.option("--group", "groups", multiple=True, help="Only this group of cases; may be given several times.")
@click.option("--only", "patterns", multiple=True, metavar="PATTERN", help="Only cases whose name has this in it.")
@click.option("--tolerance", type=click.FloatRange(0, 1e9), default=1e-4, show_default=True,
              help="Largest difference, absolute plus relative.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(0, 1e9), default=60.0, show_default=True,
              help="Seconds after which a case counts as hung.")  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Print the cases that pass as well.")
@click.option("--trace", is_flag=True, help="Name each case on stderr before it runs: the last one is what crashed.")
@click.option("--list", "listing", is_flag=True, help="Print the cases and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.pass_context
def conformance(
    context: click.Context, device: str | None, target: str | None, socket: str | None, groups: tuple[str, ...],
    patterns: tuple[str, ...], tolerance: float, timeout: float, everything: bool, trace: bool, listing: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Runs a suite against an NNRt device and prints how each group of cases came out.

    Exits with 1 if a case fails. The object behind --target has the methods of the interface, with return codes first
    in what they answer, or those of pippin.nnrt.Device.

    \b
    pippin nnrt conformance
    pippin nnrt conformance --socket /run/user/1000/pippin.sock
    pippin nnrt conformance --target mydriver:Device --group codes --group buffers
    """
    from ..nnrt.conformance import GROUPS, all_cases, run_suite
    from ..nnrt.conformance.target import resolve
    from ..report.progress import progress
    from .nnrt_model import choose

    unknown = [group for group in groups if group not in GROUPS]
    if unknown:
        raise click.UsageError(f"there is no group {unknown[0]!r}. Groups: {', '.join(GROUPS)}.")
    if target is not None and (device is not None or socket is not None):
        raise click.UsageError("--target excludes --device and --socket")
    chosen = all_cases(groups, patterns)
    if not chosen:
        raise click.UsageError(f"no case matches {', '.join(map(repr, patterns))}")
    if listing:
        for case in chosen:
            click.echo(f"{case.group}/{case.name}")
        return
    if socket is not None:
        device = f"unix:{socket}" + (f":{device}" if device else "")
    under_test = choose(device) if target is None else resolve(target)
    with progress(len(chosen), "cases") as advance:
        outcome = run_suite(
            under_test,
            groups=groups,
            patterns=patterns,
            tolerance=tolerance,
            timeout=timeout,
            progress=lambda case: _step(case, advance, trace),
        )
    click.echo(json.dumps(outcome.to_dict()) if as_json else "\n".join(outcome.lines(everything=everything)))
    context.exit(0 if outcome.ok else 1)


def _step(case: Any, advance: Any, trace: bool) -> None:
    if trace:
        click.echo(f"{case.group}/{case.name}", err=True)
    advance(1)


@command.command(short_help="tell which nodes of a model a device takes")
@click.argument("model", type=click.Path())
@click.option("--device", help="The device to ask, as `pippin devices` lists them.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.pass_context
def supported(context: click.Context, model: str, device: str | None, as_json: bool) -> None:
    """Says for each node of MODEL whether a device takes it, and why not.  Exits with 1 if it does not take all.

    \b
    pippin nnrt supported net.nnrt
    """
    from ..nnrt.file import load_model
    from ..nnrt.model import node_name
    from ..report import text
    from .nnrt_model import choose

    net = load_model(model)
    chosen = choose(device)
    answers = chosen.supported_operations(net)
    rows = [
        {"index": index, "node": node_name(net, index), "supported": bool(answer), "reason": answer.reason}
        for index, answer in enumerate(answers)
    ]
    taken = sum(map(bool, answers))
    if as_json:
        click.echo(json.dumps({"schema": "pippin.nnrt.supported/1", "device": chosen.name, "nodes": rows}))
    else:
        lines = [(row["index"], row["node"], "yes" if row["supported"] else "no", row["reason"]) for row in rows]
        click.echo(text.table(lines, ("#", "node", "supported", "reason"), right="0"))
        click.echo(f"{taken} of {text.plural(len(rows), 'node')} run on {chosen.name}", err=True)
    context.exit(0 if taken == len(rows) else 1)


@command.command(short_help="explain return codes")
@click.argument("which", nargs=-1, metavar="[CODE ...]")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def codes(which: tuple[str, ...], as_json: bool) -> None:
    """Explains return codes, by number or name; all of them if none is named.

    \b
    pippin nnrt codes 19 INVALID_FORMAT
    """
    from ..nnrt.codes import MEANINGS
    from ..nnrt.enums import ReturnCode
    from ..report import text

    chosen = [_code(word) for word in which] or list(ReturnCode)
    rows: list[dict[str, Any]] = [
        {"code": int(code), "name": code.idl_name, "meaning": MEANINGS[code]} for code in chosen
    ]
    if as_json:
        click.echo(json.dumps({"schema": "pippin.nnrt.codes/1", "codes": rows}))
    else:
        click.echo(text.table([tuple(row.values()) for row in rows], right="0"))


def _code(word: str) -> Any:
    from ..nnrt.enums import ReturnCode

    try:
        return ReturnCode(int(word)) if word.isdigit() else ReturnCode.parse(word.upper())
    except (ValueError, KeyError):
        import difflib

        near = difflib.get_close_matches(word.upper().removeprefix("NNRT_"), [code.name for code in ReturnCode], 3)
        hint = f" Near: {', '.join(near)}." if near else f" They are 0 to {max(ReturnCode)}."
        raise click.BadParameter(f"{word!r} is no return code.{hint}", param_hint="CODE") from None


@command.command(short_help="list the node types")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def nodes(as_json: bool) -> None:
    """Lists the node types with their numbers, attribute structs, and whether this machine's devices run them.

    \b
    pippin nnrt nodes
    """
    from ..nnrt.attributes import layout, struct_of
    from ..nnrt.enums import NodeType
    from ..nnrt.nodes.base import NODES
    from ..report import text

    rows: list[dict[str, Any]] = [
        {
            "number": int(kind),
            "name": kind.name,
            "struct": struct_of(kind).__name__,
            "fields": [field.idl_name for field in layout(struct_of(kind)).fields],
            "runs": NODES.get(kind) is not None,
        }
        for kind in NodeType
        if kind is not NodeType.NONE
    ]
    if as_json:
        click.echo(json.dumps({"schema": "pippin.nnrt.nodes/1", "nodes": rows}))
        return
    lines = [
        (row["number"], row["name"], row["struct"], "runs" if row["runs"] else "-", " ".join(row["fields"]))
        for row in rows
    ]
    click.echo(text.table(lines, ("number", "node type", "struct", "here", "fields"), right="0"))
    runs = sum(row["runs"] for row in rows)
    click.echo(f"{runs} of {len(rows)} node types run on the devices of this machine", err=True)


@command.command(short_help="offer this machine's devices to other processes")
@click.option("--socket", default=None, type=click.Path(), help="Where (default: pippin.sock in the runtime folder).")
@click.option("--mode", default="600", show_default=True, help="Mode of the socket, in octal digits.")
@click.option("--allow", multiple=True, metavar="USER", help="Another user that may connect, by name or number.")
@click.option("--files", is_flag=True, help="Take plain files for memory as well; they are copied.")
@click.option("--cache", type=click.Path(), help="Folder of compiled models, shared by all clients (default: none).")
@click.option("--cache-size", type=click.IntRange(1), default=4096, show_default=True, help="Its most MiB.")
@click.option("--memory", type=click.IntRange(1), help="Most MiB of values of all runs (default: half of memory).")
@click.option("--limit", "limits", multiple=True, metavar="NAME=NUMBER", help="A limit of a client; see --list-limits.")
@click.option("--list-limits", is_flag=True, help="Print the limits and end.")
@click.option("--metrics", type=click.IntRange(0, 65535), metavar="PORT", help="Answer http://127.0.0.1:PORT/metrics.")
@click.option(
    "--grace",
    type=click.FloatRange(0, 1e9),
    default=10.0,
    show_default=True,
    help="Seconds that runs get to end when the service stops.",
)
def serve(
    socket: str | None, mode: str, allow: tuple[str, ...], files: bool, cache: str | None, cache_size: int,
    memory: int | None, limits: tuple[str, ...], list_limits: bool, metrics: int | None, grace: float,
) -> None:  # fmt: skip
    """Offers this machine's devices to other processes until it is stopped (SIGTERM, Ctrl-C).

    Only the user that runs the service may connect, and those named by --allow; let them reach the socket with --mode.

    \b
    pippin nnrt serve --socket /run/user/1000/pippin.sock --cache ~/.cache/pippin
    pippin run net.nnrt x=1,2,3 --device unix:/run/user/1000/pippin.sock
    """
    from . import nnrt_service

    if list_limits:
        nnrt_service.print_limits()
        return
    nnrt_service.require_linux()
    nnrt_service.serve(
        socket or nnrt_service.default_path(),
        mode=nnrt_service.octal(mode),
        allow=[nnrt_service.user(name) for name in allow],
        files=files,
        cache=cache,
        cache_bytes=cache_size << 20,
        memory=nnrt_service.memory(memory),
        limits=nnrt_service.parse_limits(limits),
        metrics=metrics,
        grace=grace,
    )


@command.command(short_help="say what a running service does, and for whom")
@click.option("--socket", default=None, type=click.Path(), help="Where (default: pippin.sock in the runtime folder).")
@click.option("--prometheus", is_flag=True, help="Print the counters in the form that Prometheus reads.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def status(socket: str | None, prometheus: bool, as_json: bool) -> None:
    """Says what a running service does, and for whom.  Exits with 1 if there is none.

    \b
    pippin nnrt status --socket /run/user/1000/pippin.sock
    """
    from . import nnrt_service

    nnrt_service.print_status(socket or nnrt_service.default_path(), prometheus=prometheus, as_json=as_json)
