"""Weights that the engine reads from the model's own file, by offset, instead of being handed them.

What is handed over is copied once more than what is read from a file: on a convolutional network of 100 MB that is an
eighth of the time to the first answer and 90 MB at the peak. But the engine keeps weights mapped that it does not bring
into another layout, and a map of a file that is cut short kills the process. So, unless the user says that nobody
rewrites the file (``mmap=True``), only weights of convolutions are read so, the file must be what it was when it was
read, before and afterwards, and if anything stays mapped the session is made again with weights handed over.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..graph.write import Written

LEAST = 1 << 16
"""Bytes below which a weight is not worth a look at the file."""
SETTLED = 2_000_000_000
"""Nanoseconds that a file must have rested before it was read: a later change has another time stamp then."""
MAPS = Path("/proc/self/maps")
FOLDER = "session.model_external_initializers_file_folder_path"

Stamp = tuple[int, int, int, int]


def stamp(path: Path) -> Stamp:
    """What changes when a file is replaced or written to."""
    state = path.stat()
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns


@dataclass(frozen=True)
class Backing:
    """A file that was read, or mapped, into ``data``, with what it was like before; ``taken``: when, in ns."""

    path: Path
    before: Stamp
    taken: int
    data: memoryview
    mapped: bool

    @classmethod
    def note(cls, path: Path) -> tuple[Path, Stamp, int]:
        """The first three fields, to be taken before the file is read."""
        real = path.resolve()
        return real, stamp(real), time.time_ns()

    @property
    def usable(self) -> bool:
        """Whether the file holds what it held when it was read."""
        if os.name != "posix" or not (self.mapped or MAPS.exists()):
            return False
        try:
            return stamp(self.path) == self.before and self.taken - self.before[3] > SETTLED
        except OSError:
            return False

    def place(self, written: Written) -> set[str]:
        """Names the file and an offset for the weights that the engine is to read itself; returns their names."""
        start = _address(self.data)
        places: dict[str, tuple[int, int]] = {}
        for name, array in written.weights.items():
            offset = _address(array) - start
            inside = 0 <= offset <= len(self.data) - array.nbytes and array.flags.c_contiguous
            if inside and (self.mapped or (array.nbytes >= LEAST and name in written.repacked)):
                places[name] = offset, array.nbytes
        for proto in written.model.graph.initializer:
            if proto.name in places:
                offset, length = places[proto.name]
                _locate(proto, location=self.path.name, offset=offset, length=length)
        return set(places)

    def withdraw(self, written: Written, names: set[str]) -> None:
        """Takes back what ``place`` did."""
        for proto in written.model.graph.initializer:
            if proto.name in names:
                _locate(proto, location="weights")

    @property
    def folder(self) -> str:
        return str(self.path.parent)

    def mappings(self) -> set[str]:
        """The address ranges at which this process has the file mapped."""
        inode = str(self.before[1])
        try:
            lines = MAPS.read_text(errors="replace").splitlines()
        except OSError:
            return set()
        parts = [line.split(maxsplit=5) for line in lines]
        return {p[0] for p in parts if len(p) > 5 and (p[4] == inode or p[5].startswith(str(self.path)))}


def _locate(proto: Any, **entries: Any) -> None:
    del proto.external_data[:]
    for key, value in entries.items():
        proto.external_data.add(key=key, value=str(value))


def _address(data: memoryview | NDArray[Any]) -> int:
    import numpy as np

    array = np.frombuffer(data, np.uint8) if isinstance(data, memoryview) else data
    return int(array.__array_interface__["data"][0])
