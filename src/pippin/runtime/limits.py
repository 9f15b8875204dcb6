"""Numbers that a caller sets, checked before the engine sees them: it ends the process over some of them."""

from __future__ import annotations

import math
import operator
import threading
from typing import Any

from ..errors import InputError

THREADS = 256
"""Threads of a pool: above, making them takes seconds, and no machine has so many cores to spare for one network."""


def threads(value: Any) -> int | None:
    """A number of threads; None: as many as there are cores. Raises ``InputError``."""
    if value is None:
        return None
    number = _integer(value)
    if number is None or not 1 <= number <= THREADS:
        raise InputError(f"threads must be an integer from 1 to {THREADS}, got {value!r}")
    return number


def memory(value: Any) -> int | None:
    """A number of bytes; None: no limit. Raises ``InputError``."""
    if value is None:
        return None
    number = int(value) if isinstance(value, float) and value.is_integer() else _integer(value)
    if number is None or number < 1:
        raise InputError(f"max_memory must be a positive number of bytes, got {value!r}")
    return number


def seconds(value: Any) -> float | None:
    """A time limit; None: no limit, as for what is longer than the system can wait. Raises ``InputError``."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        raise InputError(f"timeout must be a number of seconds, got {value!r}")
    return float(value) if value < threading.TIMEOUT_MAX else None


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
