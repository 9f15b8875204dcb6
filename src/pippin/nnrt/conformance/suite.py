"""The cases of all groups, and the run over them."""

from __future__ import annotations

import fnmatch
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from .outcome import Failed, NotSupported, Outcome, Result, Status
from .target import Target

GROUPS = ("device", "support", "codes", "buffers", "dynamic", "cache", "modes", "operators", "numbers")
"""The groups, in the order in which they run; each is a module of this package."""


@dataclass(frozen=True)
class Case:
    """One case; ``check`` returns, or raises ``Failed`` or ``NotSupported``.

    ``basis``: "suite" if the platform's own conformance suites ask for it, "sample" if its sample driver does so and
    they are silent, "text" if it follows from the interface's text, "Pippin" if it is plain good sense.
    """

    group: str
    name: str
    check: Callable[[Target], None]
    basis: str = "suite"


def all_cases(groups: Sequence[str] = (), patterns: Sequence[str] = ()) -> list[Case]:
    """The cases of the named groups (none: of all) whose name or ``group/name`` matches a pattern (none: all).

    InputError for a group that there is not.
    """
    import importlib

    unknown = sorted(set(groups) - set(GROUPS))
    if unknown:
        raise InputError(f"there is no group {unknown[0]!r}", hint=f"groups: {', '.join(GROUPS)}")
    found: list[Case] = []
    for group in GROUPS:
        if not groups or group in groups:
            module = importlib.import_module(f".{group}", __package__)
            found += [Case(group, *entry) for entry in module.cases()]
    return [case for case in found if not patterns or _matches(case, patterns)]


def _matches(case: Case, patterns: Iterable[str]) -> bool:
    names = (case.name.casefold(), f"{case.group}/{case.name}".casefold())
    return any(fnmatch.fnmatchcase(name, f"*{pattern.casefold()}*") for pattern in patterns for name in names)


def run_suite(
    device: Any,
    *,
    groups: Sequence[str] = (),
    patterns: Sequence[str] = (),
    tolerance: float = 1e-4,
    timeout: float = 60.0,
    progress: Callable[[Case], None] | None = None,
) -> Outcome:
    """Runs the cases against a device, one after the other.

    ``tolerance`` is the largest difference, absolute plus relative, between an output and the reference;  ``timeout``
    the seconds after which a case counts as hung (its thread is left behind); ``progress`` is called before each case.
    DeviceError if the object offers neither manner of the interface, InputError for a tolerance or a timeout that is
    no number of at least 0.
    """
    if not 0 <= tolerance < math.inf or not 0 <= timeout < threading.TIMEOUT_MAX:
        raise InputError(f"tolerance and timeout must be numbers of at least 0, got {tolerance} and {timeout}")
    target = Target(device, tolerance)
    outcome = Outcome(_title(target))
    for case in all_cases(groups, patterns):
        if progress is not None:
            progress(case)
        outcome.results.append(_run(case, target, timeout))
    return outcome


def _title(target: Target) -> str:
    try:
        return f"{target.get('GetDeviceName')} ({target.get('GetVendorName')})"
    except Failed:
        return type(target.raw).__name__


def _run(case: Case, target: Target, timeout: float) -> Result:
    start = time.perf_counter()
    box: list[tuple[Status, str]] = []
    thread = threading.Thread(target=lambda: box.append(_judge(case, target)), daemon=True)
    thread.start()
    thread.join(timeout)
    status, reason = box[0] if box else (Status.FAIL, f"no answer after {timeout:g} s")
    return Result(case.group, case.name, status, reason, case.basis, time.perf_counter() - start)


def _judge(case: Case, target: Target) -> tuple[Status, str]:
    try:
        case.check(target)
        return Status.PASS, ""
    except Failed as error:
        return Status.FAIL, str(error)
    except NotSupported as error:
        return Status.UNSUPPORTED, str(error)
    except Exception as error:  # results of a kind that nobody expects
        return Status.FAIL, f"what it answers cannot be used: {type(error).__name__}: {error}"
    finally:
        with suppress(Exception):  # ReleaseBuffer has cases of its own
            target.release()
