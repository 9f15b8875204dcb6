"""Networks inside layers: branches become If, loops become Loop, and what they write is visible outside.

A nested network is lowered by a ``Lowerer`` of its own with copies of the blobs that are visible. What it binds anew is
what it writes; those blobs are the outputs of the If or the carried values of the Loop, all float32.

loopBreak and loopContinue set ``Lowerer.left``: the layers behind them, in their network and in those around it up to
the body, stand in an If that is taken while the flag is not set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedError
from ..graph.ir import Dim, Graph, Value
from .integers import compared, truth
from .lowering import Blob, Context, require

if TYPE_CHECKING:
    from .lower import Lowerer

NEAR_ZERO = 1e-6
"""A condition holds where its absolute value is above this. Source: BranchLayerParams."""
DEPTH = 40
"""Networks inside networks; the guards behind loopBreak and loopContinue count as well."""
BUDGET = 100_000
"""Layers of nested networks that may be lowered in all, those lowered again to settle shapes included."""


@dataclass
class Flow:
    """What all nested networks of a model share."""

    reads: Counter[str]
    wanted: frozenset[str] | None
    budget: int = BUDGET
    moving: dict[int, tuple[Any, set[tuple[str, int]]]] = field(default_factory=dict)
    """Loops that were lowered before, by the id of their message: which axes of which blobs a round changes. Loops in
    loops are lowered again with the outer one; without this, twice as often for each level."""

    @classmethod
    def of(cls, network: Any, wanted: Iterable[str] | None) -> Flow:
        """``wanted`` are the blobs that the model answers with, None if any may be asked for."""
        return cls(Counter(reads(network.layers)), None if wanted is None else frozenset(wanted))

    def needed(self, name: str, inside: Counter[str], existed: bool) -> bool:
        """Whether a blob that a nested network writes must come out of it: to another layer, or the next round."""
        if self.wanted is None or name in self.wanted:
            return True
        return self.reads[name] > (0 if existed else inside[name])


@dataclass
class Side:
    """A nested network, lowered: its graph, all blobs at its end, and whether it left the round (break or continue)."""

    g: Context
    blobs: dict[str, Blob] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    left: Value | None = None
    broke: Value | None = None


def networks(layer: Any) -> list[Any]:
    """The networks that a layer holds."""
    match layer.WhichOneof("layer"):
        case "branch":
            return [layer.branch.ifBranch, layer.branch.elseBranch]
        case "loop":
            return [layer.loop.conditionNetwork, layer.loop.bodyNetwork]
    return []


def reads(layers: Iterable[Any]) -> Iterator[str]:
    """The blobs that layers read, nested ones included, once for each time."""
    for layer in layers:
        yield from layer.input
        for network in networks(layer):
            yield from reads(network.layers)


def leaves(layers: Iterable[Any]) -> bool:
    """Whether one of the layers may end the round of the loop around it."""
    return any(
        layer.WhichOneof("layer") in ("loopBreak", "loopContinue")
        or (layer.WhichOneof("layer") == "branch" and any(leaves(network.layers) for network in networks(layer)))
        for layer in layers
    )


def exposed(layers: Iterable[Any], written: Iterable[str] = ()) -> set[str]:
    """The blobs that may be read before they are written: those that a round takes from the one before."""
    sure, found, certain = set(written), set[str](), True
    for layer in layers:
        found |= set(layer.input) - sure
        for network in networks(layer):
            found |= exposed(network.layers, sure)
        certain = certain and not leaves([layer])
        if certain:
            sure |= set(layer.output)
    return found


def writes(layers: Iterable[Any]) -> Iterator[str]:
    """The blobs that layers write, nested ones included."""
    for layer in layers:
        yield from layer.output
        for network in networks(layer):
            yield from writes(network.layers)


def holds(g: Context, x: Value, what: str) -> Value:
    """A condition, a blob of one number, as a bool scalar."""
    import numpy as np

    require(all(isinstance(dim, str) or dim == 1 for dim in x.shape), f"{what} must be a scalar, got {list(x.shape)}")
    if x.data is not None:
        return g.constant(np.array(abs(float(x.data.item())) > NEAR_ZERO))
    made = compared(x)
    if made is None:
        made = g.Greater(g.Abs(x), NEAR_ZERO) if x.dtype.kind == "f" else truth(g, x)
    return g.reshape(made, [])


# -- branches ----------------------------------------------------------------------------------------------------------


def branch(lowerer: Lowerer, g: Context, condition: Value, yes: Sequence[Any], no: Sequence[Any]) -> None:
    """Lowers ``yes`` or ``no``, whichever the bool scalar ``condition`` chooses; a constant chooses now."""
    if condition.data is not None:
        lowerer.sequence(yes if bool(condition.data) else no, g)
        return
    sides = [_side(lowerer, g, name, layers) for name, layers in (("then", yes), ("else", no))]
    inside = Counter([*reads(yes), *reads(no)])
    _join(lowerer, g, condition, sides, inside)


def rest(lowerer: Lowerer, g: Context, layers: Sequence[Any]) -> None:
    """Lowers the layers behind a branch that may have left the round: they run where it has not."""
    left, broke = lowerer.left, lowerer.broke
    assert left is not None
    if left.data is not None or not layers:
        return
    lowerer.left = lowerer.broke = None
    go_on, stay = _side(lowerer, g, "then", layers), _side(lowerer, g, "else", ())
    if go_on.left is not None:
        stay.left, stay.broke = g.constant(True), broke
    _join(lowerer, g, g.Not(left), [go_on, stay], Counter(reads(layers)), fresh=True)
    if go_on.left is None:
        lowerer.left, lowerer.broke = left, broke


def _side(lowerer: Lowerer, g: Context, name: str, layers: Sequence[Any]) -> Side:
    inner = lowerer.nested(g.subgraph(f"{g.prefix}/{name}"), len(layers))
    before = dict(inner.blobs)
    inner.sequence(layers, inner.g)
    lowerer.guessed |= inner.guessed
    written = [name for name, blob in inner.blobs.items() if blob is not before.get(name)]
    return Side(inner.g, inner.blobs, written, inner.left, inner.broke)


def _join(
    lowerer: Lowerer,
    g: Context,
    condition: Value,
    sides: Sequence[Side],
    inside: Counter[str],
    *,
    fresh: bool = False,
    keep: str = "",
) -> None:
    """The If of two sides.

    A blob that one side alone has goes no further, unless ``fresh``: then it is zeros on the other. ``keep`` is needed.
    """
    flow = lowerer.flow()
    names = []
    for name in dict.fromkeys(name for side in sides for name in side.written):
        there = [name in side.blobs for side in sides]
        if name != keep and not flow.needed(name, inside, name in lowerer.blobs):
            lowerer.blobs.pop(name, None)
        elif all(there) or fresh:
            names.append(name)
            lowerer.guessed = lowerer.guessed or not all(there)
    flags = [flag for flag in ("left", "broke") if any(getattr(side, flag) is not None for side in sides)]
    if not names and not flags:
        return
    made = [{n: side.g.float(side.blobs[n].nd(side.g)) for n in names if n in side.blobs} for side in sides]
    for side, own, other in zip(sides, made, reversed(made), strict=True):
        for name in names:
            side.g.output(own[name] if name in own else _zeros(side.g, other[name].shape))
        for flag in flags:
            value = getattr(side, flag)
            side.g.output(side.g.constant(False) if value is None else value)
    ends = zip([*names, *flags], *(side.g.graph.outputs for side in sides), strict=True)
    types = [_either(name, a.shape, b.shape) for name, a, b in ends]
    outputs = _append(g, "If", [condition], dict(zip(("then_branch", "else_branch"), sides, strict=True)), types, flags)
    for name, value in zip(names, outputs, strict=False):
        lowerer.bind(g, name, Blob(nd=value))
    for flag, value in zip(flags, outputs[len(names) :], strict=True):
        setattr(lowerer, flag, value)


def _append(
    g: Context,
    op: str,
    inputs: list[Value | None],
    sides: dict[str, Side],
    types: Sequence[Any],
    flags: Sequence[str] = (),
) -> tuple[Value, ...]:
    import numpy as np

    single, boolean = np.dtype(np.float32), np.dtype(np.bool_)
    kinds = [single] * (len(types) - len(flags)) + [boolean] * len(flags)
    graphs: dict[str, Graph] = {name: side.g.graph for name, side in sides.items()}
    made = g.append(op, inputs, graphs, list(zip(kinds, types, strict=True)))
    return made if isinstance(made, tuple) else (made,)


def _either(name: str, a: Sequence[Dim | None], b: Sequence[Dim | None]) -> list[Dim | None]:
    """The dims that two shapes have in common."""
    if len(a) != len(b):
        raise UnsupportedError(f"blob {name!r} has rank {len(a)} on one way and {len(b)} on the other")
    return [x if x == y else None for x, y in zip(a, b, strict=True)]


def _zeros(g: Context, shape: Sequence[Dim]) -> Value:
    """What a blob holds that nothing has written yet."""
    import numpy as np

    sizes = [0 if isinstance(dim, str) else dim for dim in shape]
    return g.ConstantOfShape(g.vector(sizes), value=np.zeros(1, np.float32))


# -- loops -------------------------------------------------------------------------------------------------------------


def loop(lowerer: Lowerer, g: Context, p: Any, count: Value | None) -> None:
    """Lowers a loop: ``count`` is an int64 scalar for the most rounds, None for any number."""
    condition = None
    if p.conditionNetwork.layers:
        before = lowerer.blobs.get(p.conditionVar)
        _condition(lowerer, g, p)
        require(
            lowerer.blobs.get(p.conditionVar) is not before,
            f"conditionVar must be written by the conditionNetwork, which does not write {p.conditionVar!r}",
        )
        condition = holds(g, lowerer.blob(p.conditionVar).nd(g), f"conditionVar {p.conditionVar!r}")
        if condition.data is not None:
            if not bool(condition.data):
                return
            condition = None
    carried = Carried(lowerer, g, p)
    body, go_on = _settle(lowerer, g, p, carried)
    body.g.output(go_on)
    for name in carried.shapes:
        body.g.output(body.g.float(body.blobs[name].nd(body.g)))
    if carried.shapes:
        operands = [count, condition, *(carried.initial(name) for name in carried.shapes)]
        types = [carried.outside(name) for name in carried.shapes]
        for name, value in zip(carried.shapes, _append(g, "Loop", operands, {"body": body}, types), strict=True):
            lowerer.bind(g, name, Blob(nd=value))


def _condition(lowerer: Lowerer, g: Context, p: Any) -> None:
    """Lowers the conditionNetwork, in which no layer may leave a loop."""
    before, lowerer.in_body = lowerer.in_body, False
    lowerer.sequence(p.conditionNetwork.layers, g)
    lowerer.in_body = before


class Carried:
    """The blobs that a loop carries from round to round, with the shapes they have at the start of each.

    Those that were there before the loop start as they are; those made inside only, as zeros. A dim that a round
    changes is a symbol of its own.
    """

    def __init__(self, lowerer: Lowerer, g: Context, p: Any) -> None:
        layers = [*p.bodyNetwork.layers, *p.conditionNetwork.layers]
        self.g, self.flow = g, lowerer.flow()
        self.inside = Counter(reads(layers))
        first = exposed(layers)
        written = [name for name in dict.fromkeys(writes(layers)) if name in lowerer.blobs]
        self.before = {
            name: g.float(lowerer.blobs[name].nd(g)) for name in written if name in first or self.visible(name)
        }
        self.hidden = set(written) - set(self.before)
        self.shapes: dict[str, list[Dim]] = {name: list(value.shape) for name, value in self.before.items()}
        self.invented: set[str] = set()
        _, self.moving = self.flow.moving.setdefault(id(p), (p, set()))
        for name, axis in self.moving:
            if name in self.shapes and axis < len(self.shapes[name]):
                self._invent(self.shapes[name], axis)

    def _invent(self, shape: list[Dim], axis: int) -> None:
        shape[axis] = self.g.symbol()
        self.invented.add(str(shape[axis]))

    def visible(self, name: str) -> bool:
        """Whether a layer outside the loop may read the blob."""
        return self.flow.needed(name, self.inside, existed=False)

    def initial(self, name: str) -> Value:
        """The value at the start of the loop."""
        return self.before[name] if name in self.before else _zeros(self.g, self.shapes[name])

    def outside(self, name: str) -> list[Dim | None]:
        """The shape behind the loop, after any number of rounds; None for a size that is not known."""
        made_inside = name not in self.before
        return [
            None if isinstance(dim, str) and (made_inside or dim in self.invented) else dim for dim in self.shapes[name]
        ]

    def settled(self, body: Side, guessed: bool, names: set[str]) -> bool:
        """Compares the shapes at the end of a round with those at its start; widens them where they differ.

        ``names`` are those that were there before the round was traced: other symbols mean nothing outside of it.
        """
        new = [
            name for name in body.written if name not in self.before and name not in self.hidden and self.visible(name)
        ]
        done, shapes = True, dict(self.shapes)
        for name in [*self.before, *new]:
            after = body.blobs[name].nd(body.g).shape
            before = self.shapes.get(name)
            if before is None:
                shapes[name] = list(after)
                done = done and not guessed
                continue
            if len(before) != len(after):
                raise UnsupportedError(f"blob {name!r} changes its rank from {len(before)} to {len(after)} in the loop")
            shapes[name] = [
                old if old == dim or old in self.invented else "" for old, dim in zip(before, after, strict=True)
            ]
            done = done and "" not in shapes[name]
        if not done:
            for name, shape in shapes.items():
                for axis, dim in enumerate(shape):
                    if dim == "":
                        self.moving.add((name, axis))
                    if dim == "" or (isinstance(dim, str) and name not in self.shapes and dim not in names):
                        self._invent(shape, axis)
        else:
            for name in new:
                if name not in self.shapes:
                    body.g.input(f"{body.g.graph.name}/{name}", "float32", shapes[name])
        self.shapes = shapes
        return done


def _settle(lowerer: Lowerer, g: Context, p: Any, carried: Carried) -> tuple[Side, Value]:
    """Traces the body until the shapes of what it carries stay as they are; the body and its condition to go on."""
    while True:
        with _attempt(g) as attempt:
            body, go_on, guessed = _trace(lowerer, g, p, carried.shapes)
            attempt.kept = carried.settled(body, guessed, attempt.names)
        if attempt.kept:
            return body, go_on


def _trace(lowerer: Lowerer, g: Context, p: Any, shapes: dict[str, list[Dim]]) -> tuple[Side, Value, bool]:
    """Lowers one round: the body, then the condition for the next one. Also whether a blob was taken for zeros."""
    asks = p.conditionNetwork.layers
    inner = lowerer.nested(g.subgraph(f"{g.prefix}/body"), len(p.bodyNetwork.layers) + len(asks))
    body = inner.g
    body.input(f"{body.graph.name}/round", "int64", ())
    going = body.input(f"{body.graph.name}/going", "bool", ())
    for name, shape in shapes.items():
        inner.blobs[name] = Blob(nd=body.input(f"{body.graph.name}/{name}", "float32", shape))
    before = dict(inner.blobs)
    inner.in_body = True
    inner.sequence(p.bodyNetwork.layers, body)
    broke, inner.left, inner.broke = inner.broke, None, None
    go_on = going
    if broke is not None:
        go_on = body.Not(broke) if broke.data is None else body.constant(not bool(broke.data))
    ends = go_on.data is not None and not bool(go_on.data)
    if asks and not ends:
        if broke is None:
            _condition(inner, body, p)
        else:  # after a break the condition is not asked again
            inner.in_body = False
            sides = [_side(inner, body, "then", asks), _side(inner, body, "else", ())]
            _join(inner, body, go_on, sides, Counter(reads(asks)), fresh=True, keep=p.conditionVar)
        again = holds(body, inner.blob(p.conditionVar).nd(body), f"conditionVar {p.conditionVar!r}")
        go_on = again if broke is None else body.And(go_on, again)
    written = [name for name, blob in inner.blobs.items() if blob is not before.get(name)]
    return Side(body, inner.blobs, written), go_on, inner.guessed


@dataclass
class _Attempt:
    names: set[str]
    kept: bool = False


@contextmanager
def _attempt(g: Context) -> Iterator[_Attempt]:
    """Names and shared constants that a trace makes are forgotten again unless it is kept."""
    outermost: Any = g
    while outermost.parent is not None:
        outermost = outermost.parent
    before = g.names()
    inputs, feeds = len(outermost.graph.inputs), len(g.feeds or ())
    attempt = _Attempt(before[0])
    yield attempt
    if attempt.kept:
        return
    g.restore(before)
    del outermost.graph.inputs[inputs:]
    if g.feeds:
        del g.feeds[feeds:]


def spend(flow: Flow, layers: int, depth: int) -> None:
    """Counts ``layers`` that are lowered in a nested network; refuses what would take forever."""
    flow.budget -= layers
    if flow.budget < 0:
        raise UnsupportedError(f"the nested networks take more than {BUDGET:,} layers to lower")
    if depth > DEPTH:
        raise UnsupportedError(f"networks and breaks are nested more than {DEPTH} deep")
