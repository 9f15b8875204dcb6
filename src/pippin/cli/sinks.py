"""Where the answers to several pictures go: stdout, one file for all of them, or a folder with a file for each."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..errors import WriteError

LINES = (".json", ".jsonl")


def is_folder(output: str | None) -> bool:
    """Whether ``output`` names a folder: one that is there, or that says so by a slash at its end."""
    return output is not None and (output.endswith(("/", os.sep)) or Path(output).is_dir())


def takes_many(output: str | None) -> bool:
    """Whether ``output`` is laid out for several answers, however many there are."""
    return output is not None and (is_folder(output) or Path(output).suffix.lower() in (".csv", ".jsonl"))


def sink(output: str | None, as_json: bool, as_csv: bool, top: int) -> Sink:
    """What takes answers as the options say. Raises ``click.UsageError`` where they contradict each other."""
    if output is None:
        return Sink("json" if as_json else "csv" if as_csv else "text", top)
    suffix = "" if is_folder(output) else Path(output).suffix.lower()
    if suffix == ".csv" and not as_json:
        return File(output, "csv")
    if suffix in LINES and not as_csv:
        return File(output, "json")
    if not suffix and not as_json and not as_csv:
        return Folder(output)
    raise click.UsageError(f"{output}: answers to several pictures go to a .csv, a .json (a line each) or a folder")


class Sink:
    """Prints answers as they come, as "text", "json" or "csv"."""

    quiet = False
    """Whether nothing is printed while pictures run, so that a bar can be drawn."""

    def __init__(self, style: str, top: int = 5) -> None:
        self.style = style
        self.top = top
        self.header: list[str] | None = None

    def expect(self, pictures: Sequence[str]) -> None:
        """Refuses what cannot end well before anything is computed."""

    def take(self, path: str, answer: dict[str, Any]) -> None:
        """The answer to one picture."""
        click.echo(self.text(path, answer), nl=False)

    def finish(self) -> None:
        """All answers were taken."""

    def text(self, path: str, answer: dict[str, Any]) -> str:
        """The lines about one picture."""
        from ..report import answers
        from .run import to_json

        first, name = self.header is None, printable(path)
        if self.style == "csv":
            return self._rows(["file"], [name], answers.as_row(answer))
        self.header = []
        if self.style == "json":
            return f"{to_json(answer, file=path)}\n"
        return f"{'' if first else chr(10)}{name}\n{answers.as_text(answer, self.top)}\n"

    def _rows(self, columns: list[str], cells: list[str], row: dict[str, Any]) -> str:
        names = [*columns, *row]
        new = self.header is None
        if new:
            self.header = names
        elif names != self.header:
            raise WriteError(
                "the answer has other columns than those before: outputs differ in size",
                where=cells[0] if cells else "",
                hint="--json takes answers of any size",
            )
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([names] * new + [[*cells, *row.values()]])
        return buffer.getvalue()


class File(Sink):
    """One file for all answers, written whole at the end."""

    quiet = True

    def __init__(self, output: str, style: str) -> None:
        super().__init__(style)
        self.output = output
        self.parts: list[bytes] = []

    def take(self, path: str, answer: dict[str, Any]) -> None:
        self.parts.append(self.text(path, answer).encode())

    def finish(self) -> None:
        from .. import files

        files.write(self.output, self.parts)
        click.echo(f"wrote {self.output}", err=True)


class Folder(Sink):
    """A file for each answer, named after its picture: a picture where the answer is one, else JSON."""

    quiet = True

    def __init__(self, output: str) -> None:
        super().__init__("json")
        self.folder = Path(output)
        self.count = 0

    def expect(self, pictures: Sequence[str]) -> None:
        seen: dict[str, str] = {}
        for path in pictures:
            other = seen.setdefault(Path(path).stem, path)
            if other != path:
                raise click.UsageError(f"{other} and {path} would both become {Path(path).stem} in {self.folder}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WriteError(f"cannot be made: {error.strerror or error}", where=str(self.folder)) from None

    def take(self, path: str, answer: dict[str, Any]) -> None:
        from .run import save

        pictures = [value for value in answer.values() if hasattr(value, "getbands")]
        save(self.folder / f"{Path(path).stem}{'.png' if len(pictures) == 1 else '.json'}", answer)
        self.count += 1

    def finish(self) -> None:
        from ..report.text import plural

        click.echo(f"wrote {plural(self.count, 'file')} to {self.folder}", err=True)


def table(answer: dict[str, Any]) -> str:
    """One answer as a table of one line."""
    from ..report import answers

    return Sink("csv")._rows([], [], answers.as_row(answer))


def printable(path: str) -> str:
    """A path as text that any terminal takes: bytes that are no text are replaced."""
    return os.fsencode(path).decode(sys.getfilesystemencoding(), "replace")
