"""Whole networks that show how branch, loop, loopBreak, loopContinue and copy work, with answers worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cases import Case, fill
from pippin.coreml import schema

KINDS = ("branch", "loop", "loopBreak", "loopContinue")
"""The layer kinds that cannot be shown by a network of one layer."""

CASES: list[Case] = []


@dataclass(frozen=True)
class Network:
    """A network and what is to hold for it.

    note     what it shows
    build    adds the layers to a NeuralNetwork message
    inputs   by blob name
    expect   the model's outputs by blob name; empty for a network that must be refused
    refuses  a part of the error message, and ``kind`` the layer kind that it names
    """

    note: str
    build: Callable[[Net], None]
    inputs: Mapping[str, ArrayLike]
    expect: Mapping[str, ArrayLike] = field(default_factory=dict)
    refuses: str | None = None
    kind: str = ""

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value, np.float32) for name, value in self.inputs.items()}

    def model(self) -> Any:
        """The Model message: version 4, EXACT_ARRAY_MAPPING, outputs declared without a shape."""
        model = schema.message("Model")()
        model.specificationVersion = 4
        model.neuralNetwork.arrayInputShapeMapping = 1
        for name, array in self.arrays().items():
            kind = model.description.input.add(name=name).type.multiArrayType
            kind.shape.extend(array.shape)
            kind.dataType = 65568
        for name in self.expect or ("y",):
            model.description.output.add(name=name).type.multiArrayType.dataType = 65568
        self.build(Net(model.neuralNetwork))
        return model


class Net:
    """Writes layers into a network message; every method names the output first."""

    def __init__(self, message: Any) -> None:
        self.message = message

    def layer(self, kind: str, inputs: list[str], outputs: list[str], **params: Any) -> Any:
        layer = self.message.layers.add(name=f"{kind} {' '.join(outputs)}".strip())
        layer.input.extend(inputs)
        layer.output.extend(outputs)
        message = getattr(layer, kind)
        message.SetInParent()
        fill(message, params)
        return message

    def op(self, out: str, kind: str, *inputs: str, **params: Any) -> None:
        self.layer(kind, list(inputs), [out], **params)

    def constant(self, out: str, *values: float) -> None:
        self.op(out, "loadConstantND", shape=[len(values)], data=list(values))

    def copy(self, out: str, source: str) -> None:
        self.op(out, "copy", source)

    def add(self, out: str, a: str, b: str) -> None:
        self.op(out, "addBroadcastable", a, b)

    def multiply(self, out: str, a: str, b: str) -> None:
        self.op(out, "multiplyBroadcastable", a, b)

    def start(self, **values: float) -> None:
        """Variables that a loop is going to overwrite: constants of one value, copied so that copies may follow."""
        for name, value in values.items():
            self.constant(f"{name} start", value)
            self.copy(name, f"{name} start")

    def increase(self, name: str, by: str) -> None:
        """name = name + by"""
        self.add(f"{name} next", name, by)
        self.copy(name, f"{name} next")

    def loop(self, count: str | None = None, most: int = 0, condition: str = "") -> tuple[Net, Net]:
        """A loop; returns its conditionNetwork and its bodyNetwork."""
        message = self.layer("loop", [count] if count else [], [])
        message.maxLoopIterations = most
        message.conditionVar = condition
        message.bodyNetwork.SetInParent()
        return Net(message.conditionNetwork if condition else None), Net(message.bodyNetwork)

    def branch(self, condition: str) -> tuple[Net, Net]:
        """A branch; returns its ifBranch and its elseBranch."""
        message = self.layer("branch", [condition], [])
        return Net(message.ifBranch), Net(message.elseBranch)

    def leave(self, kind: str) -> None:
        """loopBreak or loopContinue."""
        self.layer(kind, [], [])


NETWORKS: list[Network] = []


def shows(
    note: str,
    inputs: Mapping[str, ArrayLike],
    expect: Mapping[str, ArrayLike] | None = None,
    *,
    refuses: str | None = None,
    kind: str = "",
) -> Callable[[Callable[[Net], None]], Callable[[Net], None]]:
    """Makes a row of a function that builds a network."""

    def register(build: Callable[[Net], None]) -> Callable[[Net], None]:
        NETWORKS.append(Network(note, build, inputs, expect or {}, refuses, kind))
        return build

    return register


# ---- copy


@shows(
    "copy overwrites a blob; layers before it saw the old value", {"x": [2], "z": [5]}, {"a": [4], "b": [7], "y": [5]}
)
def _copy(net: Net) -> None:
    net.copy("y", "x")
    net.add("a", "y", "x")
    net.copy("y", "z")
    net.add("b", "y", "x")


@shows("copy overwrites with another shape", {"x": [2], "z": [5, 6, 7]}, {"y": [5, 6, 7], "a": [4]})
def _copy_shape(net: Net) -> None:
    net.copy("y", "x")
    net.add("a", "y", "x")
    net.copy("y", "z")


@shows("copy swaps two blobs through a third", {"x": [2], "z": [5]}, {"a": [5], "b": [2]})
def _swap(net: Net) -> None:
    net.copy("a", "x")
    net.copy("b", "z")
    net.copy("t", "a")
    net.copy("a", "b")
    net.copy("b", "t")


@shows("copy onto an input", {"x": [2], "z": [5]}, {"y": [10]})
def _copy_input(net: Net) -> None:
    net.copy("x", "z")
    net.add("y", "x", "z")


@shows("copy onto itself", {"x": [2]}, refuses="distinct", kind="copy")
def _copy_self(net: Net) -> None:
    net.copy("x", "x")


# ---- branch


def _if_else(net: Net) -> None:
    yes, no = net.branch("c")
    yes.add("y", "x", "x")
    no.multiply("y", "x", "x")


for _note, _value, _answer in (
    ("1", 1, [6, 8]),
    ("0", 0, [9, 16]),
    ("a negative number", -2, [6, 8]),
    ("a number near 0", 5e-7, [9, 16]),
    ("a small negative number, still near 0", -5e-7, [9, 16]),
    ("a small number that is not near 0", 2e-6, [6, 8]),
):
    shows(f"branch, both sides write y; condition {_note}", {"c": [_value], "x": [3, 4]}, {"y": _answer})(_if_else)

shows("branch, condition of rank 3", {"c": [[[1]]], "x": [3, 4]}, {"y": [6, 8]})(_if_else)


def _if_only(net: Net) -> None:
    net.copy("y", "x")
    yes, _ = net.branch("c")
    yes.add("twice", "y", "y")
    yes.copy("y", "twice")


shows("branch without else, taken: copy overwrites", {"c": [1], "x": [3, 4]}, {"y": [6, 8]})(_if_only)
shows("branch without else, not taken: y stays", {"c": [0], "x": [3, 4]}, {"y": [3, 4]})(_if_only)


def _nested(net: Net) -> None:
    yes, no = net.branch("c")
    inner_yes, inner_no = yes.branch("d")
    inner_yes.add("y", "x", "x")
    inner_no.multiply("y", "x", "x")
    no.copy("y", "x")


for _c, _d, _value in ((1, 1, 6), (1, 0, 9), (0, 1, 3), (0, 0, 3)):
    shows(f"branch in a branch, conditions {_c} and {_d}", {"c": [_c], "d": [_d], "x": [3]}, {"y": [_value]})(_nested)


def _both_shapes(net: Net) -> None:
    yes, no = net.branch("c")
    yes.op("y", "concatND", "x", "x")
    no.copy("y", "x")


shows("branch, sides of different shapes, if", {"c": [1], "x": [3, 4]}, {"y": [3, 4, 3, 4]})(_both_shapes)
shows("branch, sides of different shapes, else", {"c": [0], "x": [3, 4]}, {"y": [3, 4]})(_both_shapes)


def _integers(net: Net) -> None:
    yes, no = net.branch("c")
    yes.op("y", "getShape", "x")
    no.op("y", "sin", "zero")
    net.add("z", "y", "c")


shows(
    "branch, a shape on one side, sines on the other; if", {"c": [1], "x": [[7, 7, 7]], "zero": [0, 0]}, {"z": [2, 4]}
)(_integers)
shows(
    "branch, a shape on one side, sines on the other; else", {"c": [0], "x": [[7, 7, 7]], "zero": [0, 0]}, {"z": [0, 0]}
)(_integers)


@shows("branch, condition computed, several layers behind", {"x": [1, 2, 3]}, {"y": [10, 40, 90], "z": [11, 42, 93]})
def _computed(net: Net) -> None:
    net.op("shape", "getShape", "x")
    net.op("c", "greaterThan", "shape", alpha=2)
    yes, no = net.branch("c")
    yes.constant("ten", 10)
    yes.multiply("square", "x", "x")
    yes.multiply("y", "square", "ten")
    no.copy("y", "x")
    net.add("z", "y", "x")


@shows("branch, two inputs", {"c": [1], "x": [3]}, refuses="input", kind="branch")
def _two_conditions(net: Net) -> None:
    net.layer("branch", ["c", "x"], [])
    net.message.layers[-1].branch.ifBranch.SetInParent()
    Net(net.message.layers[-1].branch.ifBranch).copy("y", "x")


@shows("branch, no ifBranch", {"c": [1], "x": [3]}, refuses="ifBranch", kind="branch")
def _no_if(net: Net) -> None:
    _, no = net.branch("c")
    no.copy("y", "x")


@shows("branch, a condition of two values", {"c": [1, 1], "x": [3]}, refuses="scalar", kind="branch")
def _wide_condition(net: Net) -> None:
    _if_else(net)


# ---- loop, case 1: a number of iterations


@shows("loop, 5 times", {"x": [3, 4]}, {"s": [15, 20]})
def _for(net: Net) -> None:
    net.op("s start", "fillLike", "x")
    net.copy("s", "s start")
    _, body = net.loop(most=5)
    body.increase("s", "x")


def _counted(net: Net) -> None:
    net.start(s=1)
    _, body = net.loop("n", most=7)
    body.add("doubled", "s", "s")
    body.copy("s", "doubled")


for _count, _value in ((3, 8), (1, 2), (0, 1), (-2, 1)):
    shows(f"loop, count {_count} as an input, maxLoopIterations ignored", {"n": [_count]}, {"s": [_value]})(_counted)

shows("loop, count as an input of rank 2", {"n": [[4]]}, {"s": [16]})(_counted)


@shows("loop, count from a shape", {"x": [9, 9, 9, 9, 9]}, {"s": [6]})
def _count_of_shape(net: Net) -> None:
    net.start(s=1)
    net.constant("one", 1)
    net.op("n", "getShape", "x")
    _, body = net.loop("n")
    body.increase("s", "one")


@shows("loop, two carried blobs: Fibonacci", {"n": [10]}, {"a": [55], "b": [89]})
def _fibonacci(net: Net) -> None:
    net.start(a=0, b=1)
    _, body = net.loop("n")
    body.add("sum", "a", "b")
    body.copy("a", "b")
    body.copy("b", "sum")


@shows("loop, blobs of the body are visible outside", {"n": [3], "x": [2]}, {"seen": [8], "last": [8], "z": [9]})
def _visible(net: Net) -> None:
    net.constant("one", 1)
    net.copy("s", "one")
    _, body = net.loop("n")
    body.multiply("last", "s", "x")
    body.copy("s", "last")
    body.copy("seen", "s")
    net.add("z", "last", "one")


@shows("loop, a value from outside that does not change", {"x": [1, 2], "w": [3, 5]}, {"y": [27, 250]})
def _constant_outside(net: Net) -> None:
    net.copy("y", "x")
    _, body = net.loop(most=3)
    body.multiply("product", "y", "w")
    body.copy("y", "product")


@shows("loop, the carried blob grows", {"x": [1, 2], "n": [3]}, {"y": [1, 2] * 4, "shape": [8]})
def _grows(net: Net) -> None:
    net.copy("y", "x")
    _, body = net.loop("n")
    body.op("longer", "concatND", "y", "x")
    body.copy("y", "longer")
    net.op("shape", "getShape", "y")


@shows("loop, the carried blob grows, a known number of times", {"x": [[1], [2]]}, {"y": [[1, 1, 1], [2, 2, 2]]})
def _grows_static(net: Net) -> None:
    net.copy("y", "x")
    _, body = net.loop(most=2)
    body.op("wider", "concatND", "y", "x", axis=-1)
    body.copy("y", "wider")


@shows("loop, two of them in a row", {"n": [2], "m": [3]}, {"s": [32]})
def _in_a_row(net: Net) -> None:
    net.start(s=1)
    _, first = net.loop("n")
    first.add("double", "s", "s")
    first.copy("s", "double")
    _, second = net.loop("m")
    second.add("again", "s", "s")
    second.copy("s", "again")


@shows("loop without an end of any kind", {"x": [1]}, refuses="maxLoopIterations", kind="loop")
def _no_end(net: Net) -> None:
    _, body = net.loop()
    body.copy("y", "x")


@shows("loop without a body", {"x": [1]}, refuses="bodyNetwork", kind="loop")
def _no_body(net: Net) -> None:
    net.loop(most=3)
    net.copy("y", "x")


@shows("loop, two inputs", {"x": [1]}, refuses="input", kind="loop")
def _two_counts(net: Net) -> None:
    message = net.layer("loop", ["x", "x"], [])
    Net(message.bodyNetwork).copy("y", "x")


@shows("loop, a count of two values", {"x": [1, 2]}, refuses="scalar", kind="loop")
def _wide_count(net: Net) -> None:
    _, body = net.loop("x")
    body.copy("y", "x")


@shows("loop, conditionVar without conditionNetwork", {"x": [1]}, refuses="conditionVar", kind="loop")
def _no_condition_network(net: Net) -> None:
    _, body = net.loop(most=3, condition="c")
    body.copy("y", "x")


@shows("loop, conditionNetwork without conditionVar", {"x": [1]}, refuses="conditionVar", kind="loop")
def _no_condition_var(net: Net) -> None:
    _, body = net.loop(most=3)
    body.copy("y", "x")
    Net(net.message.layers[-1].loop.conditionNetwork).copy("c", "x")


@shows("loop, conditionVar that the conditionNetwork does not write", {"x": [1]}, refuses="conditionVar", kind="loop")
def _other_condition_var(net: Net) -> None:
    condition, body = net.loop(most=3, condition="c")
    condition.copy("d", "x")
    body.copy("y", "x")


# ---- loop, cases 2 and 3: a condition


def _collatz(net: Net) -> None:
    """While n > 1: n = n / 2 where n is even, else 3 n + 1."""
    net.constant("one", 1)
    net.constant("two", 2)
    net.constant("three", 3)
    net.copy("n", "x")
    net.start(steps=0)
    condition, body = net.loop(condition="more")
    condition.op("more", "greaterThan", "n", alpha=1)
    body.op("odd", "modBroadcastable", "n", "two")
    yes, no = body.branch("odd")
    yes.multiply("thrice", "n", "three")
    yes.add("thrice and one", "thrice", "one")
    yes.copy("n", "thrice and one")
    no.op("half", "divideBroadcastable", "n", "two")
    no.copy("n", "half")
    body.increase("steps", "one")


for _value, _steps in ((6, 8), (7, 16), (27, 111), (1, 0)):
    shows(f"loop while: Collatz from {_value}", {"x": [_value]}, {"n": [1], "steps": [_steps], "more": [0]})(_collatz)


@shows("loop while: Newton's square root", {"x": [2]}, {"root": [np.sqrt(2)]})
def _newton(net: Net) -> None:
    net.constant("half", 0.5)
    net.copy("root", "x")
    condition, body = net.loop(condition="far")
    condition.multiply("square", "root", "root")
    condition.op("gap", "subtractBroadcastable", "square", "x")
    condition.op("far", "greaterThan", "gap", alpha=1e-5)
    body.op("quotient", "divideBroadcastable", "x", "root")
    body.add("sum", "root", "quotient")
    body.multiply("mean", "sum", "half")
    body.copy("root", "mean")


@shows("loop while: the condition is a number, not a truth value", {"n": [3]}, {"n left": [0], "s": [6]})
def _count_down(net: Net) -> None:
    net.constant("minus", -1)
    net.copy("n left", "n")
    net.start(s=0)
    condition, body = net.loop(condition="c")
    condition.copy("c", "n left")
    body.increase("s", "n left")
    body.increase("n left", "minus")


@shows("loop while: the carried blob shrinks", {"x": [1, 2, 3, 4]}, {"y": [4], "s": [9]})
def _shrinks(net: Net) -> None:
    net.copy("y", "x")
    net.start(s=0)
    condition, body = net.loop(condition="more")
    condition.op("size", "getShape", "y")
    condition.op("more", "greaterThan", "size", alpha=1)
    body.increase("s", "size")
    body.op(
        "rest",
        "sliceStatic",
        "y",
        beginIds=[1],
        endIds=[0],
        strides=[1],
        beginMasks=[False],
        endMasks=[True],
    )
    body.copy("y", "rest")


def _joint(net: Net) -> None:
    """While y < 100, at most as often as said: y = 2 y."""
    net.copy("y", "x")
    condition, body = net.loop("n", condition="small")
    condition.op("small", "lessThan", "y", alpha=100)
    body.add("double", "y", "y")
    body.copy("y", "double")


for _x, _n, _y, _small in ((1, 3, 8, 1), (60, 3, 120, 0), (100, 3, 100, 0), (1, 0, 1, None), (1, 50, 128, 0)):
    _known: dict[str, ArrayLike] = {"y": [_y]}
    if _small is not None:
        _known["small"] = [_small]
    shows(f"loop with count and condition: from {_x}, at most {_n}", {"x": [_x], "n": [_n]}, _known)(_joint)


@shows("loop with maxLoopIterations and condition", {"x": [1]}, {"y": [16]})
def _joint_field(net: Net) -> None:
    net.copy("y", "x")
    condition, body = net.loop(most=4, condition="small")
    condition.op("small", "lessThan", "y", alpha=100)
    body.add("double", "y", "y")
    body.copy("y", "double")


# ---- break and continue


def _break_at(net: Net) -> None:
    """s = s + 1, break where s > limit, t = t + 10; ten times."""
    net.constant("one", 1)
    net.constant("ten", 10)
    net.start(s=0, t=0)
    _, body = net.loop(most=10)
    body.increase("s", "one")
    body.op("c", "greaterThan", "s", "limit")
    yes, _ = body.branch("c")
    yes.leave("loopBreak")
    body.increase("t", "ten")


for _limit, _s, _t in ((3, 4, 30), (0, 1, 0), (99, 10, 100)):
    shows(f"break where s > {_limit}", {"limit": [_limit]}, {"s": [_s], "t": [_t]})(_break_at)


@shows("break out of an endless loop", {"x": [3]}, {"y": [768]})
def _endless(net: Net) -> None:
    net.copy("y", "x")
    condition, body = net.loop(condition="true")
    condition.constant("true", 1)
    body.add("double", "y", "y")
    body.copy("y", "double")
    body.op("large", "greaterEqual", "y", alpha=500)
    yes, _ = body.branch("large")
    yes.leave("loopBreak")


@shows("break that always comes", {"x": [3]}, {"y": [6]})
def _at_once(net: Net) -> None:
    net.copy("y", "x")
    _, body = net.loop(most=5)
    body.add("double", "y", "y")
    body.copy("y", "double")
    body.leave("loopBreak")


@shows(
    "break inside two branches; what follows the branch in the same branch does not run",
    {"x": [1]},
    {"s": [3], "t": [2]},
)
def _deep_break(net: Net) -> None:
    net.constant("one", 1)
    net.start(s=0, t=0)
    _, body = net.loop(most=10)
    body.increase("s", "one")
    outer, _ = body.branch("x")
    outer.op("c", "greaterThan", "s", alpha=2)
    inner, _ = outer.branch("c")
    inner.leave("loopBreak")
    outer.increase("t", "one")


@shows("break in an else branch", {"n": [9]}, {"s": [4]})
def _else_break(net: Net) -> None:
    net.constant("one", 1)
    net.start(s=0)
    _, body = net.loop("n")
    body.increase("s", "one")
    body.op("c", "lessThan", "s", alpha=4)
    yes, no = body.branch("c")
    yes.copy("seen", "s")
    no.leave("loopBreak")


@shows("continue skips the odd numbers", {"n": [5]}, {"i": [5], "s": [6]})
def _continue(net: Net) -> None:
    net.constant("one", 1)
    net.constant("two", 2)
    net.start(i=0, s=0)
    _, body = net.loop("n")
    body.increase("i", "one")
    body.op("odd", "modBroadcastable", "i", "two")
    yes, _ = body.branch("odd")
    yes.leave("loopContinue")
    body.increase("s", "i")


@shows("continue in a loop with a condition: the condition is asked again", {"x": [0]}, {"i": [6], "s": [12]})
def _continue_while(net: Net) -> None:
    net.constant("one", 1)
    net.constant("two", 2)
    net.start(i=0, s=0)
    condition, body = net.loop(condition="more")
    condition.op("more", "lessThan", "i", alpha=6)
    body.increase("i", "one")
    body.op("odd", "modBroadcastable", "i", "two")
    yes, _ = body.branch("odd")
    yes.leave("loopContinue")
    body.increase("s", "i")


@shows("continue and break in one body", {"x": [0]}, {"i": [7], "s": [12]})
def _both(net: Net) -> None:
    net.constant("one", 1)
    net.constant("two", 2)
    net.start(i=0, s=0)
    _, body = net.loop(most=100)
    body.increase("i", "one")
    body.op("enough", "greaterThan", "i", alpha=6)
    stop, _ = body.branch("enough")
    stop.leave("loopBreak")
    body.op("odd", "modBroadcastable", "i", "two")
    skip, _ = body.branch("odd")
    skip.leave("loopContinue")
    body.increase("s", "i")


for _kind in ("loopBreak", "loopContinue"):

    @shows(f"{_kind} outside a loop", {"c": [1]}, refuses="bodyNetwork", kind=_kind)
    def _stray(net: Net, kind: str = _kind) -> None:
        yes, _ = net.branch("c")
        yes.leave(kind)


@shows("loopBreak in a conditionNetwork", {"x": [1]}, refuses="bodyNetwork", kind="loopBreak")
def _break_in_condition(net: Net) -> None:
    condition, body = net.loop(most=3, condition="c")
    condition.copy("c", "x")
    condition.leave("loopBreak")
    body.copy("y", "x")


# ---- loops in loops


@shows("loop in a loop", {"n": [3], "m": [4]}, {"s": [12]})
def _nested_loops(net: Net) -> None:
    net.constant("one", 1)
    net.start(s=0)
    _, outer = net.loop("n")
    _, inner = outer.loop("m")
    inner.increase("s", "one")


@shows("loop in a loop, as often as the outer one says", {"n": [4]}, {"i": [4], "s": [10]})
def _triangle(net: Net) -> None:
    net.constant("one", 1)
    net.start(i=0, s=0)
    _, outer = net.loop("n")
    outer.increase("i", "one")
    _, inner = outer.loop("i")
    inner.increase("s", "one")


@shows("break leaves the inner loop only", {"n": [3]}, {"s": [6], "t": [3]})
def _inner_break(net: Net) -> None:
    net.constant("one", 1)
    net.start(s=0, t=0, j=0)
    net.constant("zero", 0)
    _, outer = net.loop("n")
    outer.copy("j", "zero")
    _, inner = outer.loop(most=100)
    inner.increase("j", "one")
    inner.increase("s", "one")
    inner.op("c", "greaterEqual", "j", alpha=2)
    yes, _ = inner.branch("c")
    yes.leave("loopBreak")
    outer.increase("t", "one")


@shows("continue of the outer loop behind an inner one", {"n": [4]}, {"s": [8], "t": [2]})
def _outer_continue(net: Net) -> None:
    net.constant("one", 1)
    net.constant("two", 2)
    net.start(i=0, s=0, t=0)
    _, outer = net.loop("n")
    outer.increase("i", "one")
    _, inner = outer.loop(most=2)
    inner.increase("s", "one")
    outer.op("odd", "modBroadcastable", "i", "two")
    yes, _ = outer.branch("odd")
    yes.leave("loopContinue")
    outer.increase("t", "one")


@shows("while in a while: the greatest common divisor by subtraction", {"x": [48], "y": [18]}, {"a": [6], "b": [6]})
def _divisor(net: Net) -> None:
    net.copy("a", "x")
    net.copy("b", "y")
    condition, body = net.loop(condition="differ")
    condition.op("differ", "notEqual", "a", "b")
    first_condition, first = body.loop(condition="a larger")
    first_condition.op("a larger", "greaterThan", "a", "b")
    first.op("a less b", "subtractBroadcastable", "a", "b")
    first.copy("a", "a less b")
    second_condition, second = body.loop(condition="b larger")
    second_condition.op("b larger", "greaterThan", "b", "a")
    second.op("b less a", "subtractBroadcastable", "b", "a")
    second.copy("b", "b less a")


def _loop_in_branch(net: Net) -> None:
    net.copy("y", "x")
    yes, _ = net.branch("c")
    _, body = yes.loop(most=3)
    body.add("double", "y", "y")
    body.copy("y", "double")


shows("loop in a branch, taken", {"c": [1], "x": [5]}, {"y": [40]})(_loop_in_branch)
shows("loop in a branch, not taken", {"c": [0], "x": [5]}, {"y": [5]})(_loop_in_branch)
