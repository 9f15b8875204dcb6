"""What a rule of a layer sees, and the registry of the rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from ...wire import View
from ..report import Findings, Place, count, show
from ..weights import Storage, check_int8, check_units

UNSIGNED_TO_32 = 1 << 32

Rule = Callable[["Layer"], None]
RULES: dict[str, Rule] = {}


def rule(*kinds: str) -> Callable[[Rule], Rule]:
    """Registers the parameter rules of ``kinds``; a second registration of a kind is a bug."""

    def register(function: Rule) -> Rule:
        for kind in kinds:
            assert kind not in RULES, f"{kind} has two rules"
            RULES[kind] = function
        return function

    return register


class Ranks(Protocol):
    """The ranks of blobs, as far as they are known."""

    def rank(self, name: str) -> int | None: ...


class Layer:
    """One layer while it is checked.

    ``p`` are its parameters; ``nd`` tells whether the network is checked by rank; ``tensors_in`` and ``tensors_out``
    are the ranks that the layer itself lists (empty if it lists none).
    """

    __slots__ = ("findings", "kind", "message", "nd", "p", "place", "ranks", "tensors_in", "tensors_out", "views")

    def __init__(
        self,
        message: Any,
        kind: str,
        place: Place,
        ranks: Ranks,
        findings: Findings,
        views: Sequence[View],
        nd: bool,
    ) -> None:
        self.message = message
        self.kind = kind
        self.p = getattr(message, kind)
        self.place = place
        self.ranks = ranks
        self.findings = findings
        self.views = views
        self.nd = nd
        self.tensors_in: list[int] = [int(tensor.rank) for tensor in message.inputTensor]
        self.tensors_out: list[int] = [int(tensor.rank) for tensor in message.outputTensor]

    @property
    def inputs(self) -> int:
        return len(self.message.input)

    @property
    def outputs(self) -> int:
        return len(self.message.output)

    def rank_in(self, index: int = 0) -> int | None:
        """The known rank of an input, None if it is not known or not there."""
        names = self.message.input
        return self.ranks.rank(names[index]) if index < len(names) else None

    def rank_out(self, index: int = 0) -> int | None:
        names = self.message.output
        return self.ranks.rank(names[index]) if index < len(names) else None

    def add(self, code: str, field: str = "", required: str = "", found: str = "", **more: Any) -> None:
        self.findings.add(code, self.place, field, required, found, **more)

    # parameters -------------------------------------------------------------------------------------------------

    def one_of(self, group: str, *choices: str) -> bool:
        """A choice of the parameter message must be made."""
        chosen = self.p.WhichOneof(group)
        if chosen is None:
            self.add("parameter-missing", group, f"be one of {', '.join(choices)}", "none")
        return chosen is not None

    def length(self, field: str, *allowed: int, values: Sequence[Any] | None = None) -> bool:
        """A list must have one of the ``allowed`` lengths."""
        held = len(getattr(self.p, field) if values is None else values)
        if held in allowed:
            return True
        wanted = " or ".join(map(str, allowed))
        self.add("parameter-length", field, f"hold {wanted} value{'' if allowed[-1] == 1 else 's'}", str(held))
        return False

    def filled(self, *fields: str) -> None:
        """Lists that must not be empty."""
        for field in fields:
            if not len(getattr(self.p, field)):
                self.add("parameter-length", field, "hold at least 1 value", "none")

    def at_least(self, minimum: int, *fields: str) -> None:
        """Whole numbers with a lower bound."""
        for field in fields:
            value = getattr(self.p, field)
            if value < minimum:
                self.add("parameter-value", field, f"be at least {minimum}", str(value))

    def axis(self, extra: int = 0, field: str = "axis", values: Iterable[int] | None = None) -> None:
        """Axes must lie in [-r, r), r the rank of the first input as the layer lists it (plus ``extra``)."""
        if not self.tensors_in:
            return
        rank = self.tensors_in[0] + extra
        for value in (getattr(self.p, field),) if values is None else values:
            if not -rank <= value < rank:
                self.add("parameter-axis", field, f"lie in [{-rank}, {rank})", str(value))

    # ranks ------------------------------------------------------------------------------------------------------

    def same_ranks(self, first: int | None, second: int | None, what: str) -> None:
        """Two ranks must agree where both are known."""
        if first is not None and second is not None and first != second:
            self.add("rank-equal", what, "have equal ranks", f"{first} and {second}")

    # weights ----------------------------------------------------------------------------------------------------

    def stored(self, params: Any) -> Storage:
        return Storage(params, self.views)

    def units(self, field: str, units: int, channels: int = 1, *, params: Any = None, optional: bool = False) -> None:
        """The general rule for the weights in ``field`` (see ``check_units``)."""
        params = getattr(self.p, field) if params is None else params
        stored = self.stored(params)
        check_units(self.findings, self.place, field, params, stored, units, channels, optional=optional)

    def int8(self, field: str) -> None:
        params = getattr(self.p, field)
        check_int8(self.findings, self.place, field, params, self.stored(params))

    def unambiguous(self, *fields: str) -> None:
        """Weights whose number is not looked at must still use one encoding."""
        for field in fields:
            stored = self.stored(getattr(self.p, field))
            if stored.kind == "ambiguous":
                self.add("weights-ambiguous", field, "use one encoding", stored.described)

    def no_mix(self, *fields: str) -> None:
        """float32 and float16 must not stand side by side in one layer."""
        kinds = {field: self.stored(getattr(self.p, field)).kind for field in fields}
        if {"float32", "float16"} <= set(kinds.values()):
            halves = ", ".join(field for field, kind in kinds.items() if kind == "float16")
            self.add("weights-mixed", ", ".join(kinds), "all be float32 or all float16", f"float16 in {halves}")


def signed32(value: int) -> int:
    """A number as the 32-bit signed integer that Apple's check makes of it."""
    value %= UNSIGNED_TO_32
    return value - UNSIGNED_TO_32 if value >= UNSIGNED_TO_32 // 2 else value


def product(values: Iterable[int]) -> int:
    return math.prod(int(value) for value in values)


__all__ = ["RULES", "Layer", "Rule", "count", "product", "rule", "show", "signed32"]
