"""Whole networks that show how branch, loop and copy work; conditions, breaks and nested loops stand in ``loops``."""

from __future__ import annotations

from cases import Case
from cases.networks import NETWORKS, Net, Network, shows

from . import loops

__all__ = ["CASES", "KINDS", "NETWORKS", "Net", "Network", "loops"]

KINDS = ("branch", "loop", "loopBreak", "loopContinue")
"""The layer kinds that cannot be shown by a network of one layer."""

CASES: list[Case] = []


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
