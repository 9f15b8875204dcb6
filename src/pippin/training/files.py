"""Training data in files: folders of pictures by class, CSV, NPZ and Parquet. None is read as a whole."""

from __future__ import annotations

import csv
import io
import math
import os
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, UnsupportedError
from .data import Arrays, Source
from .encode import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..coreml.features import Feature
    from ..coreml.model import Model

PICTURES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"}
SPOOL = 64 << 20
"""Bytes above which a compressed array is unpacked to a temporary file instead of into memory."""


def open_path(path: Path, model: Model, targets: Sequence[str]) -> Source:
    """The source in a file or folder. ``file.npz:part`` stands for the arrays whose names begin with ``part/``."""
    part = ""
    if not path.exists() and ":" in path.name:
        name, _, part = path.name.rpartition(":")
        path = path.with_name(name)
    if not path.exists():
        raise InputError("there is no such file or folder", where=str(path))
    try:
        if path.is_dir():
            return Folder(path, model, targets)
        kind = path.suffix.lower()
        if part and kind != ".npz":
            raise InputError(f"only .npz files have parts, got {part!r}", where=str(path))
        if kind in (".csv", ".tsv"):
            return Csv(path, model, targets)
        if kind == ".npz":
            return npz(path, part, [*model.inputs, *targets])
        if kind == ".parquet":
            return Parquet(path, model)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=str(path)) from None
    raise UnsupportedError(
        f"training data must be a folder or a .csv, .tsv, .npz or .parquet file, got {kind or 'no ending'}",
        where=str(path),
    )


class Folder:
    """One folder of pictures for each class: the folder's name is the label."""

    def __init__(self, path: Path, model: Model, targets: Sequence[str]) -> None:
        pictures = [name for name, entry in model.inputs.items() if entry.kind == "image"]
        if len(model.inputs) != 1 or not pictures:
            raise InputError("a folder of pictures is for models with one input, a picture", where=str(path))
        self.name = pictures[0]
        # a classifier knows its labels; others number their classes
        self.target = targets[-1]
        self.files: list[Path] = []
        self.labels: list[str] = []
        known = None if model.labels is None else {str(label) for label in model.labels}
        for folder in sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith(".")):
            found = sorted(file for file in folder.rglob("*") if _picture(file, folder))
            if found and known is not None and folder.name not in known:
                names = ", ".join(map(repr, sorted(known)[:8])) + (", …" if len(known) > 8 else "")
                raise InputError(f"the folder {folder.name!r} is none of the classes {names}", where=str(path))
            self.files += found
            self.labels += [folder.name] * len(found)
        if not self.files:
            raise InputError(
                "the folder must hold one folder of pictures for each class, found no picture", where=str(path)
            )

    def __len__(self) -> int:
        return len(self.files)

    def take(self, rows: NDArray[np.int64]) -> dict[str, Column]:
        numbers = rows.tolist()
        return {self.name: [self.files[row] for row in numbers], self.target: [self.labels[row] for row in numbers]}


def _picture(file: Path, folder: Path) -> bool:
    """Whether ``file`` is named like a picture; what systems hide beside pictures is none."""
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return file.suffix.lower() in PICTURES and not hidden and file.is_file()


class Csv:
    """A table with a header. Only the places of its rows are held in memory.

    A column bears the name of a feature. Multi-arrays of more than one number are columns ``name[0]``, ``name[1]``,
    … (or ``name_0`` or ``name.0``), or one column of numbers with spaces between them; pictures are paths, relative to
    the file. Other columns are left out.
    """

    def __init__(self, path: Path, model: Model, targets: Sequence[str]) -> None:
        self.path = path
        self.delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        with path.open("rb") as file:
            counted = _Lines(file)
            reader = self._reader(counted)
            try:
                header = [name.strip() for name in next(reader, [])]
                offsets = [counted.position]
                for row in reader:
                    if not any(cell.strip() for cell in row):
                        offsets[-1] = counted.position
                        continue
                    if len(row) != len(header):
                        raise InputError(
                            f"row {len(offsets)} must have {len(header)} cells like the header, got {len(row)}",
                            where=str(path),
                        )
                    offsets.append(counted.position)
            except (csv.Error, UnicodeDecodeError) as error:
                raise InputError(f"is no table: {error}", where=str(path)) from None
        self.offsets = np.array(offsets[:-1], np.int64)
        if not len(self.offsets):
            raise InputError("the table must have a header and at least one row", where=str(path))
        self.width = len(header)
        self.picks = _columns(header, model, targets, str(path))

    def _reader(self, lines: Any) -> Any:
        # strict: a quote that is not closed would swallow the rows behind it
        return csv.reader(lines, delimiter=self.delimiter, strict=True)

    def __len__(self) -> int:
        return len(self.offsets)

    def take(self, rows: NDArray[np.int64]) -> dict[str, Column]:
        cells = []
        try:
            with self.path.open("rb") as file:
                for row in rows.tolist():
                    file.seek(int(self.offsets[row]))
                    cells.append(next(self._reader(_Lines(file))))
                    if len(cells[-1]) != self.width:
                        raise StopIteration
        except (OSError, StopIteration, csv.Error, UnicodeDecodeError):
            raise InputError("the table was changed or removed while it was read", where=str(self.path)) from None
        return {pick.name: [pick.value(row, self.path) for row in cells] for pick in self.picks}


class _Lines:
    """The lines of a binary file as text, and the place of the next one."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.position = file.tell()

    def __iter__(self) -> Iterator[str]:
        while line := self.file.readline(1 << 24):
            first = not self.position
            self.position += len(line)
            yield line.decode("utf-8-sig" if first else "utf-8")


class _Pick:
    """The cells of a row that make one feature."""

    def __init__(self, name: str, places: list[int], entry: Feature | None) -> None:
        self.name, self.places, self.entry = name, places, entry

    def value(self, row: Sequence[str], path: Path) -> Any:
        cells = [row[place].strip() for place in self.places]
        if self.entry is not None and self.entry.kind == "image" and len(cells) == 1:
            return path.parent / cells[0]
        try:
            words = cells if len(cells) > 1 else cells[0].split()
            numbers = np.array([_number(word) for word in words], np.float32)
        except ValueError:
            if self.entry is None and len(cells) == 1:
                return cells[0]  # a label
            raise InputError(f"{' '.join(cells)!r} is no number", where=f"{path}: column {self.name!r}") from None
        if self.entry is None:
            # a label that is a number stays as it is written
            return cells[0] if len(cells) == 1 and len(words) == 1 else numbers
        if self.entry.kind == "image":
            assert self.entry.size is not None
            width, height = self.entry.size
            shape = (height, width) if numbers.size == width * height else (height, width, 3)
            return numbers.reshape(shape) if numbers.size == math.prod(shape) else numbers
        return numbers.reshape(self.entry.shape or ()) if numbers.size == math.prod(self.entry.shape or ()) else numbers


def _number(word: str) -> float:
    if "_" in word:  # 1_000 is a number in Python alone
        raise ValueError
    return float(word)


def _columns(header: Sequence[str], model: Model, targets: Sequence[str], where: str) -> list[_Pick]:
    picks = []
    for name in [*model.inputs, *(name for name in targets if name not in model.inputs)]:
        places = [place for place, column in enumerate(header) if column == name]
        for form in ("{}[{}]", "{}_{}", "{}.{}"):
            if not places:
                numbers = {form.format(name, number): number for number in range(len(header))}
                found = {numbers[column]: place for place, column in enumerate(header) if column in numbers}
                if len(found) < sum(column in numbers for column in header):
                    raise InputError(f"the header must name each column of {name!r} once", where=where)
                first = min(found, default=0)
                if first in (0, 1) and sorted(found) == list(range(first, first + len(found))):
                    places = [found[number] for number in sorted(found)]
        if places:
            picks.append(_Pick(name, places, model.inputs.get(name)))
    if not picks:
        wanted = ", ".join(repr(name) for name in (*model.inputs, targets[-1]))
        raise InputError(
            f"the header must name the features {wanted}, it names {', '.join(map(repr, header[:8]))}",
            where=where,
            hint="the first line of the file must be the header",
        )
    return picks


_BROKEN = (
    zipfile.BadZipFile, ValueError, EOFError, KeyError, NotImplementedError, RuntimeError, zlib.error,
)  # fmt: skip
"""What reading an archive may end in: a RuntimeError if it says that it is encrypted."""


class Mapped(Arrays):
    """Arrays that are mapped from a file, which must stay as it is: to read behind its new end ends the process."""

    def __init__(self, columns: Mapping[str, Any], known: Collection[str], path: Path) -> None:
        super().__init__(columns, known)
        self.path = path
        # the very file, whatever may have its name by then
        self.handle = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self.handle)
        self.stamp = self._stamp()

    def _stamp(self) -> tuple[int, int]:
        state = os.fstat(self.handle)
        return state.st_size, state.st_mtime_ns

    def take(self, rows: NDArray[np.int64]) -> dict[str, Column]:
        if self._stamp() != self.stamp:
            raise InputError("the archive was changed while it was read", where=str(self.path))
        return super().take(rows)


def npz(path: Path, part: str = "", known: Collection[str] = ()) -> Arrays:
    """An archive of arrays by feature name; ``known`` are those that are looked for.

    Stored arrays are mapped, compressed ones unpacked, large ones to disk.
    """
    columns: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            for info in members:
                name = info.filename[:-4]
                if part and not name.startswith(f"{part}/"):
                    continue
                name = name.removeprefix(f"{part}/")
                try:
                    columns[name] = _member(archive, info, file, path)
                except InputError:
                    if name in known:
                        raise
                    # an array that is no feature may be what it likes
            if not columns:
                names = ", ".join(info.filename[:-4] for info in members) or "nothing"
                raise InputError(f"the archive must hold arrays{f' of the part {part!r}' if part else ''}, got {names}")
        return Mapped(columns, known, path)
    except InputError as error:
        raise error.at(str(path)) from None
    except _BROKEN as error:
        raise InputError(f"is no archive of arrays: {error}", where=str(path)) from None


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: IO[bytes], path: Path) -> Any:
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(member)
        header = member.tell()
        if dtype.hasobject:
            raise InputError("arrays of Python objects are not read", where=f"array {info.filename[:-4]!r}")
        size = math.prod(shape) * dtype.itemsize
        if header + size != info.file_size:
            raise InputError(f"must hold {size:,} bytes, holds {info.file_size - header:,}", where=info.filename)
        if info.compress_type == zipfile.ZIP_STORED and size:
            # a local header of 30 bytes, then name and extra field, whose lengths it gives
            file.seek(info.header_offset + 26)
            lengths = int.from_bytes(file.read(2), "little") + int.from_bytes(file.read(2), "little")
            start = info.header_offset + 30 + lengths + header
            return np.memmap(path, dtype, "r", start, shape, "F" if fortran else "C")
        if size <= SPOOL:
            data = np.frombuffer(bytearray(member.read()), dtype)
            return data.reshape(shape, order="F" if fortran else "C")
        # the map keeps the data when the file, which has no name, is closed
        with tempfile.TemporaryFile() as spool:
            while block := member.read(1 << 20):
                spool.write(block)
            spool.flush()
            return np.memmap(spool, dtype, "r", 0, shape, "F" if fortran else "C")


class Parquet:
    """A table of columns, read in blocks of rows. Pictures are paths relative to the file, or their files' bytes."""

    BLOCK = 1024

    def __init__(self, path: Path, model: Model) -> None:
        try:
            import pyarrow.parquet as parquet
        except ImportError:
            raise UnsupportedError(
                "reading Parquet needs PyArrow", where=str(path), hint="pip install pyarrow"
            ) from None
        self.path = path
        self.images = {name for name, entry in model.inputs.items() if entry.kind == "image"}
        self.shapes = {name: entry.shape for name, entry in model.inputs.items() if entry.shape}
        try:
            self.file = parquet.ParquetFile(path)
        except Exception as error:  # PyArrow's errors are its own
            raise InputError(f"is no Parquet file: {str(error).splitlines()[0]}", where=str(path)) from None
        if not self.file.metadata.num_rows:
            raise InputError("there is no sample to train on", where=str(path))

    def rows(self, order: np.random.Generator | None) -> Iterator[Mapping[str, Any]]:
        groups = np.arange(self.file.num_row_groups)
        if order is not None:
            groups = order.permutation(groups)
        for group in groups.tolist():
            for block in self._blocks(group):
                for row in block:
                    yield {name: self._value(name, value) for name, value in row.items()}

    def _blocks(self, group: int) -> Iterator[list[dict[str, Any]]]:
        blocks = self.file.iter_batches(self.BLOCK, row_groups=[group])
        while True:
            try:
                rows = next(blocks).to_pylist()
            except StopIteration:
                return
            except Exception as error:  # PyArrow's errors are its own
                raise InputError(f"cannot be read on: {str(error).splitlines()[0]}", where=str(self.path)) from None
            yield rows

    def _value(self, name: str, value: Any) -> Any:
        """A cell as what the encoders take; what is no row of numbers stays what it is, for them to name."""
        if name in self.images:
            value = value.get("bytes") or value.get("path") if isinstance(value, dict) else value
            if isinstance(value, bytes):
                return io.BytesIO(value)
            if isinstance(value, str):
                return self.path.parent / value
        if not isinstance(value, list):
            return value
        try:
            array = np.asarray(value, np.float32)
        except (TypeError, ValueError):
            return value
        shape = self.shapes.get(name)
        return array.reshape(shape) if shape and array.size == math.prod(shape) else array
