"""What ModelConfig means on a device of Pippin.

Performance modes choose the threads of a prepared model on the CPU (of c cores that this process may use):

=========  =======================================================
NONE       as many threads as ONNX Runtime takes by itself
LOW        1
MEDIUM     c / 2, at least 1
HIGH       c
EXTREME    c, and they keep spinning between runs: least latency, a busy CPU
=========  =======================================================

Priorities order the runs that wait for a device: it takes as many at a time as it has cores; of those that wait the
highest priority goes first, then the oldest; one of sixteen is the oldest of all.  NONE counts as MEDIUM.  A run that
has begun is not interrupted for another.

``enableFloat16``: every float32 tensor of the model, constants included, is rounded to half precision where a node
writes it, so results are those of a device that stores halves and computes in single precision.  It is no faster.

Extensions: ``attr1``, four bytes, a float in (0, 1], and ``attr2``, the NUL-terminated text LOW or HIGH, are checked as
the interface's sample driver does, and have no effect.  Other names are ignored.
"""

from __future__ import annotations

import math
import os
import struct

from ..runtime.session import SPINNING
from .enums import PerformanceMode, Priority, ReturnCode
from .errors import NnrtError
from .types import ModelConfig


def check_config(config: ModelConfig) -> None:
    """Mode, priority and the known extensions, in this order.

    NnrtError: INVALID_PERFORMANCE_MODE, INVALID_PRIORITY, INVALID_PARAMETER.
    """
    if config.mode not in PerformanceMode._value2member_map_:
        raise NnrtError(ReturnCode.INVALID_PERFORMANCE_MODE, f"the mode must be 0 to 4, got {config.mode}")
    if config.priority not in Priority._value2member_map_:
        raise NnrtError(ReturnCode.INVALID_PRIORITY, f"the priority must be 0 to 3, got {config.priority}")
    ratio = config.extensions.get("attr1")
    if ratio is not None:
        value = struct.unpack("<f", ratio)[0] if len(ratio) == 4 else math.nan
        if not 0 < value <= 1:
            raise NnrtError(ReturnCode.INVALID_PARAMETER, f"extension attr1 must be a float in (0, 1], got {ratio!r}")
    level = config.extensions.get("attr2")
    if level is not None and bytes(level) not in (b"LOW\0", b"HIGH\0"):
        raise NnrtError(ReturnCode.INVALID_PARAMETER, f"extension attr2 must be LOW or HIGH, got {level!r}")


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads(mode: PerformanceMode | int) -> int | None:
    """Threads of a prepared model; None leaves them to ONNX Runtime."""
    return {
        PerformanceMode.LOW: 1,
        PerformanceMode.MEDIUM: max(1, cores() // 2),
        PerformanceMode.HIGH: cores(),
        PerformanceMode.EXTREME: cores(),
    }.get(PerformanceMode(mode))


def session_options(mode: PerformanceMode | int) -> dict[str, str]:
    """Entries for the session's configuration."""
    return dict(SPINNING) if mode == PerformanceMode.EXTREME else {}
