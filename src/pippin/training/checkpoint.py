"""Checkpoints: everything that training needs to go on as if it had not been interrupted, in one file.

A file is an .npz archive: the arrays of the state, and a text of JSON with the place in the data, the history and what
the training was started with. It is written beside its name and then renamed, so that it is whole at any moment.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import files
from ..errors import InputError, ReadError

if TYPE_CHECKING:
    from numpy.typing import NDArray

VERSION = 1
_ABOUT = "pippin checkpoint"
_DAMAGED = (
    ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error, RecursionError, MemoryError,
    NotImplementedError, RuntimeError,
)  # fmt: skip
"""What reading a damaged archive may end in."""


@dataclass
class Checkpoint:
    """``epoch`` and ``batch`` are those to go on with, ``step`` counts updates; ``sums`` are those of this epoch."""

    arrays: dict[str, NDArray[Any]]
    settings: dict[str, Any]
    model: str
    epoch: int = 0
    batch: int = 0
    step: int = 0
    sums: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Writes the checkpoint, all or nothing."""
        about = {key: value for key, value in vars(self).items() if key != "arrays"}
        text = json.dumps({"version": VERSION, **about}).encode()
        buffer = io.BytesIO()
        np.savez(buffer, **{_ABOUT: np.frombuffer(text, np.uint8), **self.arrays})  # type: ignore[arg-type]
        files.write(path, [buffer.getbuffer()])

    @staticmethod
    def stands(path: Path) -> bool:
        """Whether there is a checkpoint at ``path``, as far as its directory tells."""
        try:
            with zipfile.ZipFile(path) as archive:
                return f"{_ABOUT}.npy" in archive.namelist()
        except (*_DAMAGED, OSError):
            return False

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Reads a checkpoint. Raises ``ReadError`` for what is none."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                # nothing in it is compressed: a file takes no more memory than it is long
                if any(info.compress_type != zipfile.ZIP_STORED for info in archive.zip.infolist()):
                    raise ValueError("its arrays are compressed")
                arrays = {name: archive[name] for name in archive.files}
            about = json.loads(bytes(arrays.pop(_ABOUT).tobytes()))
            version = about.pop("version")
            if version != VERSION:
                raise ReadError(f"the checkpoint is of version {version}, this is version {VERSION}", where=str(path))
            found = cls(arrays=arrays, **about)
            found.sound()
            return found
        except ReadError:
            raise
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}", where=str(path)) from None
        except _DAMAGED as error:
            raise ReadError(f"is no checkpoint: {error}", where=str(path)) from None

    def sound(self) -> None:
        """Raises ``ValueError`` for an entry that no training writes."""
        for name in ("epoch", "batch", "step"):
            number = getattr(self, name)
            if type(number) is not int or not 0 <= number < 1 << 53:
                raise ValueError(f"{name} must be a whole number, got {number!r}")
        if not isinstance(self.sums, dict) or not isinstance(self.settings, dict) or not isinstance(self.model, str):
            raise ValueError("sums, settings and model must be told")
        loss, correct, count = (self.sums.get(name) for name in ("loss", "correct", "count"))
        numbers = (loss, count) if correct is None else (loss, correct, count)
        if len(self.sums) != 3 or not all(isinstance(number, (int, float)) and isfinite(number) for number in numbers):
            raise ValueError(f"sums must be three numbers, got {self.sums}")
        if not isinstance(self.history, list) or not all(isinstance(entry, dict) for entry in self.history):
            raise ValueError("history must be a list of records")
        if len(self.history) != self.epoch:
            raise ValueError(f"history must have a record for each of {self.epoch} epochs, got {len(self.history)}")

    def check(self, settings: dict[str, Any], model: str, arrays: dict[str, NDArray[Any]], path: Path) -> None:
        """Raises ``InputError`` unless the checkpoint belongs to this training; more epochs are no difference."""
        if self.model != model:
            raise InputError("the checkpoint is of another model", where=str(path))
        for key, value in settings.items():
            if key != "epochs" and self.settings.get(key) != value:
                raise InputError(
                    f"the checkpoint was made with {key} {self.settings.get(key)}, now it is {value}", where=str(path)
                )
        shapes = {name: array.shape for name, array in arrays.items()}
        own = {name: array.shape for name, array in self.arrays.items()}
        if own != shapes or any(array.dtype != np.float32 for array in self.arrays.values()):
            raise InputError("the checkpoint holds other weights than the model", where=str(path))
