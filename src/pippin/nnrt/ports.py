"""Plain arrays for the inputs and outputs of a prepared model: what they are called, and whether they fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .cache import Port
from .types import numpy_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_DIM = (1 << 31) - 1
"""The upper end of the range of a dim that the model leaves open; the lower end is 1."""


def labels(ports: Sequence[Port]) -> list[str]:
    """A name for each port, no two alike: its own, or its place without one; of equal ones the later get _1, _2, …"""
    own = {port.name for port in ports}
    taken: set[str] = set()
    counts: dict[str, int] = {}
    found: list[str] = []
    for place, port in enumerate(ports):
        name = label = port.name or str(place)
        while label in taken or (label != port.name and label in own):
            counts[name] = counts.get(name, 0) + 1
            label = f"{name}_{counts[name]}"
        taken.add(label)
        found.append(label)
    return found


def arrays(ports: Sequence[Port], values: Mapping[str, Any] | Sequence[Any]) -> list[NDArray[Any]]:
    """An array for each input, of its element type; by label or in order.

    InputError if one is missing, unknown, holds no numbers or has the wrong dims.
    """
    import numpy as np

    names = labels(ports)
    if isinstance(values, Mapping):
        if set(values) != set(names):
            raise InputError(f"inputs must be {names}, got {list(values)}")
        values = [values[name] for name in names]
    if len(values) != len(ports):
        raise InputError(f"{len(ports)} inputs are required, got {len(values)}")
    made = []
    for name, port, value in zip(names, ports, values, strict=True):
        try:
            array = np.asarray(value)
            if array.dtype.kind in "cSUMm":
                raise TypeError(f"elements of type {array.dtype}")
            array = array.astype(numpy_type(port.data_type), copy=False)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"input {name!r} must be an array of numbers: {error}") from None
        if not _fits(port, array.shape):
            raise InputError(f"input {name!r} must have dims {port.dims}, got {list(array.shape)}")
        made.append(array)
    return made


def _fits(port: Port, shape: Sequence[int]) -> bool:
    return len(shape) == len(port.dims) and all(
        want == have or (want < 0 and 1 <= have <= MAX_DIM) for want, have in zip(port.dims, shape, strict=True)
    )
