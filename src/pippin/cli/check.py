"""``pippin check``: find every problem of a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..coreml.check import Report as CoreMLReport
    from ..nnrt.check import Report as NnrtReport

    Report = CoreMLReport | NnrtReport

_SUFFIXES = (".mlmodel", ".mlpackage", ".nnrt")
_SHOWN = 10
_COLORS = {"error": "red", "warning": "yellow", "note": "cyan"}


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    help="How to tell: for reading, one JSON object per file and line, annotations, or SARIF.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("-q", "--quiet", is_flag=True, help="Tell only which files are bad.")
@click.option("--all", "everything", is_flag=True, help=f"Tell all findings of a kind, not just {_SHOWN}.")
@click.option("--strict", is_flag=True, help="A file with warnings is bad as well.")
@click.option("--no-values", is_flag=True, help="Do not look for NaN and infinities in the weights.")
@click.pass_context
def command(
    context: click.Context,
    paths: tuple[Path, ...],
    form: str,
    as_json: bool,
    quiet: bool,
    everything: bool,
    strict: bool,
    no_values: bool,
) -> None:
    """Finds every problem of the models at PATHS: files, packages, or folders that are searched for models.

    Exits with 0 if all are good, with 1 if any is bad, with 2 if there is nothing to check.

    \b
    pippin check digits.mlmodel
    pippin check models/ --format sarif > models.sarif
    """
    if as_json:
        form = "json"
    files = list(_models(paths))
    if not files:
        raise click.UsageError(f"no models ({', '.join(_SUFFIXES)}) in {', '.join(map(str, paths))}")
    bad = 0
    reports: list[tuple[str, Report]] = []
    for path in files:
        report = _check(path, not no_values)
        failed = _failed(report, strict)
        bad += failed
        if form == "sarif":
            reports.append((str(path), report))
        elif not quiet or failed:
            for line in _lines(path, report, form, quiet, None if everything else _SHOWN):
                click.echo(line)
    if form == "sarif":
        from ..coreml.check.formats import to_sarif

        click.echo(json.dumps(to_sarif(reports, _meanings(reports)), indent=2))
    if len(files) > 1 and form == "text" and not quiet:
        click.echo(f"{len(files):,} models: {len(files) - bad:,} good, {bad:,} bad", err=True)
    context.exit(1 if bad else 0)


def _check(path: Path, values: bool) -> Report:
    """By the door that the file's first bytes name."""
    from .nnrt_model import is_nnrt

    if path.is_file() and (is_nnrt(path) or path.suffix == ".nnrt"):
        from ..nnrt.check import check as check_nnrt

        return check_nnrt(path, values=values)
    if path.suffix == ".onnx":
        raise click.UsageError(f"{path} is an ONNX model: `pippin inspect` and `pippin run` say what is wrong with it")
    from ..coreml.check import check

    return check(path, values=values)


def _meanings(reports: Iterable[tuple[str, Report]]) -> dict[str, str]:
    """What the codes of the NNRt door say."""
    if all(hasattr(report, "version") for _, report in reports):
        return {}
    from ..nnrt.check import WARNINGS, meaning
    from ..nnrt.codes import MEANINGS

    return WARNINGS | {code.idl_name: meaning(code.idl_name) for code in MEANINGS}


def _failed(report: Report, strict: bool) -> bool:
    return not report.ok or (strict and bool(report.of("warning")))


def _models(paths: Iterable[Path]) -> Iterator[Path]:
    """Files as they are given; in folders everything that is called a model, in order."""
    for path in paths:
        if not path.is_dir() or path.suffix in (".mlpackage", ".mlmodelc"):
            yield path
            continue
        found = [entry for suffix in _SUFFIXES for entry in path.rglob(f"*{suffix}")]
        # a model inside a package is found with the package
        yield from sorted(e for e in found if not any(parent.suffix == ".mlpackage" for parent in e.parents))


def _lines(path: Path, report: Report, form: str, quiet: bool, limit: int | None) -> Iterator[str]:
    if form == "json":
        yield json.dumps({"file": str(path), **report.to_dict()}, ensure_ascii=False)
    elif form == "github":
        from ..coreml.check.formats import to_github

        yield from to_github(str(path), report)
    else:
        report.name = str(path)
        for index, line in enumerate(report.lines(limit=limit)):
            yield _styled(line, report.ok) if index == 0 else _colored(line)
            if quiet:
                return


def _styled(line: str, ok: bool) -> str:
    """The line about a file; click leaves colours out where the output is no terminal."""
    name, _, rest = line.rpartition(": good" if ok else ": bad")
    return f"{name}: {click.style('good' if ok else 'bad', fg='green' if ok else 'red', bold=True)}{rest}"


def _colored(line: str) -> str:
    word = line.strip().split(" ", 1)[0]
    if line.startswith("  ") and not line.startswith("   ") and word in _COLORS:
        return line.replace(word, click.style(word, fg=_COLORS[word]), 1)
    return line
