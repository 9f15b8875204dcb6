"""Whole networks that show loops with a condition, loopBreak, loopContinue and loops in loops."""

from __future__ import annotations

import numpy as np

from cases.networks import Net, shows

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


_JOINT = ((1, 3, 8, 1), (60, 3, 120, 0), (60, 1, 120, 0), (100, 3, 100, 0), (1, 0, 1, 1), (1, 50, 128, 0))

for _x, _n, _y, _small in _JOINT:
    # the condition is asked once more than the body runs, also where the count ends the loop
    shows(
        f"loop with count and condition: from {_x}, at most {_n}",
        {"x": [_x], "n": [_n]},
        {"y": [_y], "small": [_small]},
    )(_joint)


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
