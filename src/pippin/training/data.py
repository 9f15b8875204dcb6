"""Where samples come from: dicts of arrays, lists and other iterables of dicts, and files (see ``files``).

A source is a ``Table``, whose rows can be read in any order, or a ``Stream``, which is read from its beginning. Neither
holds more in memory than it was given: files are read batch by batch.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from ..errors import InputError
from .encode import Column, Lacking, target_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..coreml.model import Model
    from .settings import Settings

BUFFER = 4096
"""Rows of a stream that are held back for shuffling."""


@runtime_checkable
class Table(Protocol):
    """Rows by number: ``take`` gives some of them as columns by feature."""

    def __len__(self) -> int: ...

    def take(self, rows: NDArray[np.int64]) -> dict[str, Column]: ...


class Stream(Protocol):
    """Rows one after another: ``rows`` begins anew each time; ``order`` may be used to mix them roughly, or None."""

    def rows(self, order: np.random.Generator | None) -> Iterator[Mapping[str, Any]]: ...


Source = Table | Stream


def length(source: Source) -> int | None:
    """How many samples a source holds; None for a stream, which does not know."""
    return len(source) if isinstance(source, Sized) else None


def batches(
    source: Source, size: int, order: np.random.Generator | None, skip: int = 0
) -> Iterator[tuple[dict[str, Column], int]]:
    """Batches of ``size`` samples as columns, and how many they hold; the last one may be smaller.

    ``order`` mixes the rows: all of a table, those of a stream within a buffer. ``skip`` leaves out the first batches.
    """
    if isinstance(source, Table):
        count = len(source)
        rows = np.arange(count) if order is None else order.permutation(count)
        for start in range(skip * size, count, size):
            part = rows[start : start + size]
            yield source.take(part), len(part)
        return
    pending: list[Mapping[str, Any]] = []
    for row in _mixed(source.rows(order), order):
        pending.append(row)
        if len(pending) == size:
            if skip:
                skip -= 1
            else:
                yield columns(pending), size
            pending = []
    if pending and not skip:
        yield columns(pending), len(pending)


def _mixed(rows: Iterator[Mapping[str, Any]], order: np.random.Generator | None) -> Iterator[Mapping[str, Any]]:
    """Rows in another order: each gives way to the one that takes its place in a full buffer."""
    if order is None:
        yield from rows
        return
    buffer: list[Mapping[str, Any]] = []
    for row in rows:
        if len(buffer) < BUFFER:
            buffer.append(row)
            continue
        place = int(order.integers(BUFFER))
        yield buffer[place]
        buffer[place] = row
    yield from (buffer[place] for place in order.permutation(len(buffer)))


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Column]:
    """Rows as one list a name; what some rows do not have may be no feature."""
    result: dict[str, Column] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        lacking = next((number for number, row in enumerate(rows) if name not in row), None)
        result[name] = [row[name] for row in rows] if lacking is None else Lacking(lacking)
    return result


def open_source(data: Any, model: Model, settings: Settings) -> Source:
    """The source that ``data`` stands for.

    A mapping of arrays, a sequence or other iterable of dicts, a function that returns an iterator, or the path of a
    folder with one folder of pictures for each class, or of a .csv, .tsv, .npz or .parquet file.
    """
    if isinstance(data, (str, os.PathLike)):
        from .files import open_path

        return open_path(Path(data), model, target_names(model, settings))
    if isinstance(data, Mapping):
        return Arrays(data, [*model.inputs, *target_names(model, settings)])
    if callable(data):
        return Calls(data)
    if isinstance(data, Sequence) and not isinstance(data, (bytes, bytearray)):
        return Rows(data)
    if isinstance(data, Iterable):
        return Iterables(data)
    raise InputError(
        f"training data must be a path, a dict of arrays or an iterable of dicts, got {type(data).__name__}"
    )


class Arrays:
    """A mapping of arrays or lists of equal length, one row a sample.

    ``known`` are the names of features: what has another name may be anything, and is left out where it is no column.
    """

    def __init__(self, data: Mapping[str, Any], known: Collection[str] = ()) -> None:
        self.columns: dict[str, Any] = {}
        sure = [name for name in data if name in known] or list(data)
        for name in sure:
            self.columns[str(name)] = _column(name, data[name])
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"all features must have as many rows, got {lengths}")
        self.count = next(iter(lengths.values()), 0)
        if not self.count:
            raise InputError("there is no sample to train on")
        for name, column in data.items():
            # names that are not known help to see which one is misspelt
            if name not in sure and getattr(column, "shape", None) and len(column) == self.count:
                self.columns[str(name)] = column

    def __len__(self) -> int:
        return self.count

    def take(self, rows: NDArray[np.int64]) -> dict[str, Column]:
        return {
            name: _array(name, column[rows]) if hasattr(column, "shape") else [column[row] for row in rows.tolist()]
            for name, column in self.columns.items()
        }


def _array(name: str, part: Any) -> NDArray[Any]:
    """Rows of a column as an array; those of other libraries say what hinders them."""
    try:
        return np.asarray(part)
    except (TypeError, ValueError, RuntimeError) as error:
        what = f"{type(part).__name__} cannot be taken as an array: {str(error).splitlines()[0]}"
        raise InputError(what, where=f"feature {name!r}") from None


def _column(name: str, column: Any) -> Any:
    """A column that takes row numbers by their place."""
    column = column.to_numpy() if hasattr(column, "iloc") else column  # tables of pandas take them by their labels
    column = np.asarray(column) if isinstance(column, (memoryview, array)) else column
    fits = column.shape != () if hasattr(column, "shape") else isinstance(column, Sequence)
    if not fits or isinstance(column, (str, bytes)):
        raise InputError(
            f"must be an array or list with one row a sample, got {type(column).__name__}", where=f"feature {name!r}"
        )
    return column


class Rows:
    """A sequence of dicts."""

    def __init__(self, data: Sequence[Mapping[str, Any]]) -> None:
        if not len(data):
            raise InputError("there is no sample to train on")
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def take(self, rows: NDArray[np.int64]) -> dict[str, Column]:
        return columns([_row(self.data[row], row) for row in rows.tolist()])


class Iterables:
    """An iterable of dicts; an iterator, which ends for good, serves for one epoch."""

    def __init__(self, data: Iterable[Mapping[str, Any]]) -> None:
        self.data = data
        self.left = 1 if isinstance(data, Iterator) else sys.maxsize

    def refuse(self, passes: int) -> None:
        """Raises ``InputError`` unless the data can be gone through so many times more."""
        if passes > self.left:
            raise InputError(
                "the data is an iterator, which can be gone through once, but more than one pass is needed",
                hint="give a list, or a function that returns a new iterator",
            )

    def rows(self, order: np.random.Generator | None) -> Iterator[Mapping[str, Any]]:
        self.refuse(1)
        self.left -= 1
        iterator = iter(self.data)
        return (_row(row, number) for number, row in enumerate(iterator))


class Calls:
    """A function that returns an iterable of dicts each time it is called."""

    def __init__(self, data: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        self.data = data

    def rows(self, order: np.random.Generator | None) -> Iterator[Mapping[str, Any]]:
        found = self.data()
        if not isinstance(found, Iterable):
            raise InputError(f"the function must return an iterable of dicts, got {type(found).__name__}")
        return (_row(row, number) for number, row in enumerate(found))


def _row(row: Any, number: int) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise InputError(f"sample {number} must be a dict by feature name, got {type(row).__name__}")
    return row
