"""Who runs next on a device that has more work than cores, and how a run is stopped from outside."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import InputError
from .enums import Priority, ReturnCode
from .errors import NnrtError

AGING = 16
"""Of so many runs that are let in from the queue one is the oldest, whatever its priority: none waits for ever."""


class Call:
    """A handle on one run: handed to ``PreparedModel.run``, it lets another thread stop that run.

    >>> call = Call()
    >>> threading.Timer(1.0, call.stop).start()
    >>> prepared.run(inputs, outputs, call=call)      # NnrtError CANCELLED if it takes longer than a second

    ``timeout`` in seconds stops it by itself, with TIME_OUT; one that is longer than threads can wait is none.  A
    handle serves one run at a time; :meth:`reset` makes it good for another.  InputError where timeout is no number.
    """

    def __init__(self, timeout: float | None = None) -> None:
        if timeout is not None and math.isnan(timeout):
            raise InputError("timeout must be a number of seconds, got NaN")
        self.timeout = None if timeout is None or timeout > threading.TIMEOUT_MAX else timeout
        self._lock = threading.Lock()
        self._reason: NnrtError | None = None
        self._wake: Callable[[], None] | None = None
        self._options: Any = None

    @property
    def options(self) -> Any:
        """What the engine looks at while it computes."""
        if self._options is None:
            import onnxruntime as ort

            with self._lock:
                self._options = ort.RunOptions()
                self._options.terminate = self._reason is not None
        return self._options

    @property
    def stopped(self) -> bool:
        """Whether the run was told to stop."""
        return self._reason is not None

    def stop(self, code: ReturnCode = ReturnCode.CANCELLED, message: str = "the run was cancelled") -> None:
        """Stops the run, while it waits and while it computes; it ends with this code.  The first reason counts."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = NnrtError(code, message)
            if self._options is not None:
                self._options.terminate = True
            wake = self._wake
        if wake is not None:
            wake()

    def reset(self) -> None:
        """Makes the handle good for another run."""
        with self._lock:
            self._reason = None
            if self._options is not None:
                self._options.terminate = False

    def check(self) -> None:
        """The reason as an error, once the run was told to stop."""
        if self._reason is not None:
            raise NnrtError(self._reason.code, self._reason.message)

    def waits(self, wake: Callable[[], None] | None) -> None:
        """Whom to wake when the run is to stop; None once it waits no more."""
        with self._lock:
            self._wake = wake
            stopped = self._reason is not None
        if stopped and wake is not None:
            wake()

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Lets the timeout run for the block."""
        if self.timeout is None:
            yield
            return
        message = f"the run did not end within {self.timeout:g} s"
        timer = threading.Timer(self.timeout, self.stop, (ReturnCode.TIME_OUT, message))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


class _Waiting:
    __slots__ = ("admitted", "event", "rank")

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.event = threading.Event()
        self.admitted = False


class Gate:
    """Lets ``slots`` runs in at a time; of those that wait the highest priority first, then the oldest.

    None starves: each ``AGING``-th that is let in from the queue is the one that has waited longest.
    """

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._lock = threading.Lock()
        self._queue: list[_Waiting] = []  # the oldest first; as long as there are callers, so it may be searched
        self._admissions = 0

    @property
    def waiting(self) -> int:
        """Runs that wait."""
        return len(self._queue)

    @contextmanager
    def admitted(self, priority: Priority | int, call: Call | None = None) -> Iterator[None]:
        """Waits for a place and holds it for the block."""
        self.enter(priority, call)
        try:
            yield
        finally:
            self.leave()

    def enter(self, priority: Priority | int, call: Call | None = None) -> None:
        """Takes a place, waiting for one if there is none; NONE counts as MEDIUM.  NnrtError if ``call`` is stopped."""
        if call is not None and call.stopped:
            call.check()
        with self._lock:
            if self._free and not self._queue:
                self._free -= 1
                return
            entry = _Waiting(int(priority or Priority.MEDIUM))
            self._queue.append(entry)
        try:
            if call is not None:
                call.waits(entry.event.set)
            entry.event.wait()
            if not entry.admitted and call is not None:
                call.check()
        except BaseException:  # interrupted or stopped: leave the queue, or give the place back
            with self._lock:
                admitted = entry.admitted
                if not admitted:
                    self._queue.remove(entry)
            if admitted:
                self.leave()
            raise
        finally:
            if call is not None:
                call.waits(None)

    def leave(self) -> None:
        """Gives the place to the next in the queue."""
        with self._lock:
            if not self._queue:
                self._free += 1
                return
            self._admissions += 1
            place = 0
            if self._admissions % AGING:
                place = max(range(len(self._queue)), key=lambda index: (self._queue[index].rank, -index))
            entry = self._queue.pop(place)
            entry.admitted = True
            entry.event.set()
