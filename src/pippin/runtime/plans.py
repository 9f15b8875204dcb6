"""Which compiled plan serves which input shapes.

The first two distinct shapes get a static plan each, which is the fastest. From the third on one symbolic plan serves
all, if the network can be compiled so; else static plans are made as they are asked for and the oldest is let go.
A symbolic plan cannot see that a size breaks a rule (a kernel larger than what it slides over, parameters that would be
broadcast along an axis of 1): such sizes are checked once each, so that every plan refuses the same.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from ..errors import PippinError

Dim = int | str
Shapes = tuple[tuple[int, ...], ...]
Plan = TypeVar("Plan")

STATIC_FIRST = 2
KEPT = 8
"""Static plans that are kept when no symbolic one can be had."""

REMEMBERED = 4096
"""Shapes that are known to be sound for the symbolic plan."""

log = logging.getLogger("pippin")


class Plans(Generic[Plan]):
    """Plans by input shapes; ``compile`` makes one for shapes in which a ``str`` stands for an unknown size."""

    def __init__(
        self,
        compile: Callable[[Sequence[tuple[Dim, ...]]], Plan],
        *,
        symbolic: bool = True,
        check: Callable[[Shapes], object] | None = None,
    ) -> None:
        """``check`` raises for shapes that ``compile`` would refuse, without compiling."""
        self._compile = compile
        self._check = check
        self._sound: set[Shapes] = set()
        self._static: dict[Shapes, Plan] = {}
        self._symbolic: tuple[tuple[tuple[Dim, ...], ...], Plan] | None = None
        self._try_symbolic = symbolic
        self._lock = threading.Lock()

    def get(self, shapes: Shapes) -> Plan:
        """The plan for ``shapes``; compiled if need be."""
        plan = self._static.get(shapes)
        return plan if plan is not None else self._make(shapes)

    def _make(self, shapes: Shapes) -> Plan:
        with self._lock:
            plan = self._static.get(shapes)
            if plan is not None:
                return plan
            if len(self._static) >= STATIC_FIRST and self._try_symbolic:
                plan = self._symbolic_plan(shapes)
                if plan is not None:
                    self._require_sound(shapes)
                    return plan
            plan = self._compile(shapes)
            if len(self._static) >= KEPT:
                self._static.pop(next(iter(self._static)))
            self._static[shapes] = plan
            return plan

    def _require_sound(self, shapes: Shapes) -> None:
        if self._check is None or shapes in self._sound:
            return
        self._check(shapes)
        if len(self._sound) >= REMEMBERED:
            self._sound.clear()
        self._sound.add(shapes)

    def _symbolic_plan(self, shapes: Shapes) -> Plan | None:
        if self._symbolic is not None and _fits(self._symbolic[0], shapes):
            return self._symbolic[1]
        seen = [*self._static, shapes]
        if self._symbolic is not None:
            seen.append(tuple(tuple(-1 if isinstance(d, str) else d for d in shape) for shape in self._symbolic[0]))
        if any(len({len(shape) for shape in column}) > 1 for column in zip(*seen, strict=True)):
            return None
        general = tuple(
            tuple(
                dims[0] if len(set(dims)) == 1 else f"d{i}_{axis}"
                for axis, dims in enumerate(zip(*column, strict=True))
            )
            for i, column in enumerate(zip(*seen, strict=True))
        )
        try:
            plan = self._compile(general)
        except PippinError as error:
            log.debug("no symbolic plan: %s", error)
            self._try_symbolic = False
            return None
        self._symbolic = general, plan
        return plan


def _fits(general: Sequence[tuple[Dim, ...]], shapes: Shapes) -> bool:
    return all(
        len(a) == len(b) and all(isinstance(x, str) or x == y for x, y in zip(a, b, strict=True))
        for a, b in zip(general, shapes, strict=True)
    )
