"""What ``pippin nnrt serve`` and ``pippin nnrt status`` do."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import threading
from collections.abc import Sequence
from typing import Any

import click


def require_linux() -> None:
    """DeviceError elsewhere, before anything of Linux is asked for."""
    from ..nnrt.service import protocol

    protocol.require_linux()


def default_path() -> str:
    """pippin.sock in the user's runtime folder, or else in /tmp under a name of the user's."""
    folder = os.environ.get("XDG_RUNTIME_DIR")
    return f"{folder}/pippin.sock" if folder else f"/tmp/pippin-{os.getuid() if hasattr(os, 'getuid') else 0}.sock"


def octal(mode: str) -> int:
    """A mode in octal digits."""
    try:
        value = int(mode, 8)
    except ValueError:
        value = -1
    if not 0 <= value <= 0o777:
        raise click.BadParameter(f"{mode!r} is no mode; 600 and 660 are", param_hint="--mode")
    return value


def user(name: str) -> int:
    """The number of a user."""
    import pwd

    if name.isdecimal() and name.isascii():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise click.BadParameter(f"there is no user {name!r}", param_hint="--allow") from None


def memory(mebibytes: int | None) -> int:
    """Bytes of all values of all runs: what was asked for, or half of the machine's memory."""
    if mebibytes is not None:
        return mebibytes << 20
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def parse_limits(words: Sequence[str]) -> Any:
    """Limits as NAME=NUMBER."""
    from ..nnrt.service.limits import Limits

    known = {field.name: field.type for field in dataclasses.fields(Limits)}
    values: dict[str, Any] = {}
    for word in words:
        name, _, text = word.partition("=")
        name = name.strip().replace("-", "_")
        if name not in known:
            raise click.BadParameter(f"there is no limit {name!r}. Limits: {', '.join(known)}.", param_hint="--limit")
        try:
            values[name] = float(text) if known[name] == "float" else int(text)
            if not 0 < values[name] <= 1 << 60:
                raise ValueError
        except ValueError:
            raise click.BadParameter(f"{name} needs a positive number, got {text!r}", param_hint="--limit") from None
    return Limits(**values)


def print_limits() -> None:
    """The limits with their defaults."""
    from ..nnrt.service.limits import Limits
    from ..report import text

    rows = [(field.name, field.default) for field in dataclasses.fields(Limits)]
    click.echo(text.table(rows, ("limit", "default"), right="1"))


def serve(path: str, *, metrics: int | None, grace: float, **options: Any) -> None:
    """Runs a service until a signal comes."""
    import logging

    from ..nnrt.service.metrics import serve_metrics
    from ..nnrt.service.server import Server

    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    _raise_descriptors()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    server = Server(path, **options)
    server.start()
    end_metrics = None
    try:
        if metrics is not None:
            port, end_metrics = serve_metrics(server.metrics, metrics)
            click.echo(f"metrics at http://127.0.0.1:{port}/metrics", err=True)
        click.echo(f"serving at {path}; Ctrl-C stops it", err=True)
        _notify("READY=1")
        stop.wait()
    finally:
        _notify("STOPPING=1")
        server.stop(grace)
        if end_metrics is not None:
            end_metrics()
    click.echo("stopped", err=True)


def _raise_descriptors() -> None:
    """As many descriptors as this process may have: clients bring theirs."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _notify(state: str) -> None:
    """Tells systemd, if it asked to be told."""
    import socket

    address = os.environ.get("NOTIFY_SOCKET")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.connect(f"\0{address[1:]}" if address.startswith("@") else address)
            sock.send(state.encode())


def print_status(path: str, *, prometheus: bool, as_json: bool) -> None:
    """What a service tells of itself."""
    from ..nnrt.service.client import status
    from ..report import text

    content = status(path, prometheus=prometheus)
    if prometheus or as_json:
        click.echo(content.rstrip("\n"))
        return
    state = json.loads(content)
    click.echo(f"pippin {state['version']}, process {state['process']}, up {state['uptime']:.0f} s at {path}")
    click.echo(f"devices: {', '.join(state['devices'])}")
    click.echo(
        f"{text.plural(state['connections'], 'connection')}, {text.plural(state['requests'], 'request')},"
        f" {state['waiting']} waiting"
    )
    cache = state["cache"]
    if cache["folder"]:
        click.echo(f"cache {cache['folder']}: {cache['hits']} hits, {cache['misses']} misses")
    rows = [
        (" ".join(map(str, row["processes"])), row["user"], row["models"], row["modelBytes"], row["descriptors"],
         row["sharedBytes"])
        for row in state["clients"]
    ]  # fmt: skip
    head = ("processes", "user", "models", "model bytes", "descriptors", "shared bytes")
    click.echo(text.table(rows, head, right="12345"))
