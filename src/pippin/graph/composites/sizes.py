"""Arithmetic on sizes that may be known at run time only: numbers while they are known, operators from there on."""

from __future__ import annotations

from ..builder import Builder, Size
from ..ir import Value


def plus(g: Builder, a: Size, b: Size) -> Size:
    """a + b"""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int):
        a, b = b, a
    if isinstance(b, int):
        return a if b == 0 else g.Add(a, [b])
    return g.Add(a, b)


def minus(g: Builder, a: Size, b: Size) -> Size:
    """a - b"""
    if isinstance(b, int):
        return plus(g, a, -b)
    return g.Sub([a] if isinstance(a, int) else a, b)


def times(g: Builder, a: Size, factor: int) -> Size:
    """a · factor"""
    return a * factor if isinstance(a, int) else a if factor == 1 else g.Mul(a, [factor])


def ceil_div(g: Builder, a: Size, divisor: int) -> Size:
    """⌈a / divisor⌉ for a ≥ 0"""
    if isinstance(a, int):
        return -(-a // divisor)
    return a if divisor == 1 else g.Div(plus(g, a, divisor - 1), [divisor])


def floor_div(g: Builder, a: Size, divisor: int) -> Size:
    """⌊a / divisor⌋ for a ≥ 0"""
    if isinstance(a, int):
        return a // divisor
    return a if divisor == 1 else g.Div(a, [divisor])


def at_least(g: Builder, a: Size, least: int) -> Size:
    """max(a, least)"""
    return max(a, least) if isinstance(a, int) else g.Max(a, [least])


def largest(g: Builder, a: Size, b: Size) -> Size:
    """max(a, b)"""
    if isinstance(b, int):
        return at_least(g, a, b)
    return g.Max(a if isinstance(a, Value) else [a], b)


def same_padding(g: Builder, size: Size, kernel: int, stride: int, *, upper: bool = True) -> tuple[Size, Size]:
    """What «same» padding adds at the start and the end of an axis, so that ⌈size / stride⌉ windows fit.

    ``kernel`` is the dilated one; an odd element goes to the end if ``upper``, else to the start.
    """
    windows = ceil_div(g, size, stride)
    total = at_least(g, minus(g, plus(g, times(g, windows, stride), kernel - stride), size), 0)
    less = floor_div(g, total, 2)
    more = minus(g, total, less)
    return (less, more) if upper else (more, less)
