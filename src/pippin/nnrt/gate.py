"""Who runs next on a device that has more work than cores."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .enums import Priority


class Gate:
    """Lets ``slots`` runs in at a time; of those that wait the highest priority first, then the oldest."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._lock = threading.Lock()
        self._queue: list[tuple[int, int, threading.Event]] = []
        self._order = itertools.count()

    @property
    def waiting(self) -> int:
        """Runs that wait."""
        return len(self._queue)

    @contextmanager
    def admitted(self, priority: Priority | int) -> Iterator[None]:
        """Waits for a place and holds it for the block."""
        self.enter(priority)
        try:
            yield
        finally:
            self.leave()

    def enter(self, priority: Priority | int) -> None:
        """Takes a place, waiting for one if there is none; NONE counts as MEDIUM."""
        with self._lock:
            if self._free and not self._queue:
                self._free -= 1
                return
            event = threading.Event()
            entry = (-int(priority or Priority.MEDIUM), next(self._order), event)
            heapq.heappush(self._queue, entry)
        try:
            event.wait()
        except BaseException:  # interrupted: give the place back, or leave the queue
            with self._lock:
                if entry in self._queue:
                    self._queue.remove(entry)
                    heapq.heapify(self._queue)
                    raise
            self.leave()
            raise

    def leave(self) -> None:
        """Gives the place to the next in the queue."""
        with self._lock:
            if self._queue:
                heapq.heappop(self._queue)[2].set()
            else:
                self._free += 1
