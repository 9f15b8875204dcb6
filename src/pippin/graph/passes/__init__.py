"""Passes: rewrites of a hub graph that keep its answers and make it smaller or faster.

A pass is a ``Rule``: the operators it looks at and a function that is given one such node. It finds its pattern around
the node and rewrites it (``Done``), finds it and leaves it (``Refused``), each with a reason, or finds nothing (None).
Each rule has a file of its own and is listed in ``RULES``; rules are tried until none finds anything more to do.

Rules of the level "export" leave a graph that a person would write: they also serve graphs that are given to users.
Those of the level "run" suit the engine alone and come after the others.

Names of values survive: a node that is rewritten keeps its outputs, and an output of the graph keeps its name.
"""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from ..ir import Graph, Node
from .view import View

RULES = (
    "identities",
    "constants",
    "branches",
    "casts",
    "transposes",
    "unit_axes",
    "reshapes",
    "sinking",
    "clips",
    "absorb",
    "layer_norm",
    "pads",
    "precede",
    "deconv_gemm",
    "concat_split",
)
"""Modules of the rules, in the order in which they are tried."""

Level = Literal["export", "run"]


class Done(str):
    """A rewrite that was made; the text says what it rests on."""

    __slots__ = ()


class Refused(str):
    """A pattern that was found and left as it is; the text says why."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """``apply(view, node)`` is called for nodes whose operator is in ``ops``."""

    name: str
    ops: tuple[str, ...]
    apply: Callable[[View, Node], Done | Refused | None]
    level: Level = "export"


class Outcome(NamedTuple):
    """What a rule did: ``verdict`` is "done" or "refused", ``where`` the layer, or the node where it is not known."""

    rule: str
    where: str
    verdict: str
    reason: str


@cache
def rules(level: Level = "run") -> tuple[Rule, ...]:
    """The rules of a level, in order; those of "run" contain those of "export"."""
    found = [importlib.import_module(f"{__name__}.{name}").RULE for name in RULES]
    return tuple(rule for rule in found if level == "run" or rule.level == "export")


def optimize(graph: Graph, level: Level = "run", only: Iterable[str] | None = None) -> list[Outcome]:
    """Rewrites ``graph`` and its bodies in place by the rules of ``level`` (``only``: those of that name).

    Returns what was done and what was refused, each with its reason. What no output depends on is removed.
    """
    wanted = [rule for rule in rules(level) if only is None or rule.name in only]
    view = View(graph)
    done: list[Outcome] = []
    refused: dict[tuple[str, int], Outcome] = {}
    for stage in ("export", "run"):
        table: dict[str, list[Rule]] = {}
        for rule in wanted:
            if rule.level == stage:
                for op in rule.ops:
                    table.setdefault(op, []).append(rule)
        if table:
            _sweep(view, table, done, refused)
    view.finish()
    return done + [outcome for (_, key), outcome in refused.items() if view.lives(key)]


def _sweep(
    view: View, table: dict[str, list[Rule]], done: list[Outcome], refused: dict[tuple[str, int], Outcome]
) -> None:
    queue = deque(node for node in view.nodes() if node.op in table)
    waiting = {id(node) for node in queue}
    # each rewrite makes the graph simpler, so this ends; the bound is for a bug in a rule
    left = 50 * len(waiting) + 1000
    while queue and left:
        left -= 1
        node = queue.popleft()
        waiting.discard(id(node))
        if node.domain or not view.lives(id(node)):
            continue
        for rule in table.get(node.op, ()):
            where = node.where or node.name
            verdict = rule.apply(view, node)
            if verdict is None:
                continue
            if isinstance(verdict, Refused):
                refused[rule.name, id(node)] = Outcome(rule.name, where, "refused", str(verdict))
                continue
            refused.pop((rule.name, id(node)), None)
            done.append(Outcome(rule.name, where, "done", str(verdict)))
            for other in (node, *view.touched()):
                if id(other) not in waiting and other.op in table and view.lives(id(other)):
                    waiting.add(id(other))
                    queue.append(other)
            break
    assert left, "the rules undo one another"
