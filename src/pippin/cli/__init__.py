"""The command line. Each command lives in a module of its own, imported only when it is called.

stdout is data, stderr is talk. Exit codes: 0 done, 1 the answer is no (invalid, different, failed), 2 wrong use.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

COMMANDS = {
    "run": "run a model on pictures, arrays or numbers",
    "inspect": "show inputs, outputs, preprocessing, layers and weights of a model",
    "check": "find every problem of a model",
    "convert": "write a model as ONNX, with a proof that it is the same",
    "compare": "find where and why two models, or a model and recorded answers, differ",
    "dump": "write weights, or blobs on the way, as arrays",
    "profile": "show where time, work and memory go, layer by layer",
    "edit": "rename, cut, quantise, and change the interface of a model",
    "train": "train an updatable network further, off the device",
    "devices": "list the devices that NNRt models run on",
    "nnrt": "work with NNRt devices and models: conformance, supported nodes, return codes",
}
"""Command → what it is for, in the order of the help page; the module has the command's name."""


MEANT = {
    "run": ("predict", "infer", "eval"),
    "inspect": ("show", "info", "summary", "describe"),
    "check": ("validate", "verify", "lint"),
    "convert": ("export", "onnx"),
    "compare": ("diff",),
    "dump": ("extract", "weights"),
    "profile": ("bench", "benchmark", "time"),
    "edit": ("quantize", "quantise", "rename", "cut", "optimize"),
    "train": ("finetune", "fine-tune", "fit", "update"),
}
"""Words by which others call the commands."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, so that starting stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"pippin.cli.{name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            import difflib

            near = [name for name, words in MEANT.items() if args[0].lower() in words]
            near = near or difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" Commands: {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pippin", prog_name="pippin")
@click.pass_context
def cli(context: click.Context) -> None:
    """Runs Core ML neural networks and OpenHarmony NNRt models on any machine."""
    if os.environ.get("NO_COLOR"):
        context.color = False


def main() -> None:
    """Entry point of the ``pippin`` command: errors of our own become one message on stderr and exit code 1."""
    from ..errors import PippinError

    _any_letter()
    try:
        # outside of standalone mode click hands the exit code of ctx.exit() back
        code = cli(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        sys.exit(130)
    except PippinError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        _forget_stdout()
        sys.exit(0)
    except OSError as error:  # of stdout: what is read or written on purpose has errors of its own
        _forget_stdout()
        click.echo(f"error: {error.filename or 'the output'}: {error.strerror or error}", err=True)
        sys.exit(1)
    except MemoryError:
        click.echo("error: not enough memory", err=True)
        sys.exit(1)


def _any_letter() -> None:
    """Letters that the terminal or file has no room for (a Windows code page, Latin 1) are written as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", "") == "strict":
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _forget_stdout() -> None:
    """What could not be written is not tried again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
