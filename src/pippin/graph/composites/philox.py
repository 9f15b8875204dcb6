"""Philox 4x64, ten rounds: a counter-based generator inside the graph, with the numbers of NumPy's.

Counter and key go in, random words come out; there is no state. So the numbers do not depend on how often a session
ran, which those of ONNX's own random operators do, seeded or not.
Source: Salmon and others, Parallel random numbers: as easy as 1, 2, 3 (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..builder import Builder, Size
from ..ir import Value

MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
ROUNDS = 10
LOW = 0xFFFFFFFF
BLOCK = 1 << 20
"""How many numbers are made at once."""


def shaped(
    g: Builder, key: Value, count: Size, words: int, shape: Callable[[Any, Value], Value], nonce: Value | None = None
) -> Value:
    """``count`` numbers, float32, that ``shape(g, levels)`` makes of ``words`` · count levels.

    Number i is made of the levels i, i + count and so on. More than ``BLOCK`` numbers, or an unknown count, come from a
    Loop, a block at a time: the generator wants a hundred bytes for each number that it works on.
    """
    import numpy as np

    if isinstance(count, int) and count <= BLOCK:
        return shape(g, uniform_levels(g, key, words * count, nonce))
    total = g.vector([count])
    length: Size = BLOCK if isinstance(count, int) else g.Min(total, [BLOCK])
    rounds = g.Squeeze(g.Div(g.Add(total, [BLOCK - 1]), [BLOCK]), [0])
    body = g.subgraph(f"{g.prefix}/numbers")
    name = body.graph.name
    index = body.input(f"{name}/round", np.int64, ())
    going = body.input(f"{name}/going", np.bool_, ())
    begin = body.Mul(body.Reshape(index, [1]), [BLOCK])
    starts = [begin, *(body.Add(begin, body.Mul(total, [word])) for word in range(1, words))]
    levels = [uniform_levels(body, key, length, nonce, start) for start in starts]
    body.output(body.Identity(going))
    body.output(shape(body, levels[0] if words == 1 else body.Concat(*levels, axis=0)))
    types = [(np.dtype(np.float32), (None, length if isinstance(length, int) else None))]
    blocks = g.append("Loop", [rounds, None], {"body": body.graph}, types)
    result: Value = g.Slice(g.Reshape(blocks, [-1]), [0], total, [0])
    return result


def uniform_levels(
    g: Builder, key: Value, count: Size, nonce: Value | None = None, start: Value | None = None
) -> Value:
    """``count`` numbers in [0, 1) with 53 bits each, float64, from number ``start`` (1) on.

    key (2) int64; nonce (1) int64 stands in the third word of the counter (0 without one). The numbers are those of
    ``numpy.random.Philox(key=…).random_raw(count) >> 11`` divided by 2⁵³.
    """
    spare = 3 if start is None else 6
    blocks: Size = (count + spare) // 4 if isinstance(count, int) else g.Div(g.Add(count, [spare]), [4])
    limit = g.constant(blocks, "int64") if isinstance(blocks, int) else g.Squeeze(blocks, [0])
    # the first block has the counter 1
    counter = g.Add(g.Unsqueeze(g.Range(g.constant(0, "int64"), limit, g.constant(1, "int64")), [0]), [[1]])
    zeros = g.Mul(counter, [[0]])
    if start is not None:
        counter = g.Add(counter, g.Div(start, [4]))
    third = zeros if nonce is None else g.Add(zeros, nonce)
    even, odd = g.Concat(counter, third, axis=0), g.Concat(zeros, zeros, axis=0)
    even, odd = _rounds(g, key, even, odd)
    # words 0, 1, 2, 3 of each block in a row
    words = g.Concat(g.Unsqueeze(even, [1]), g.Unsqueeze(odd, [1]), axis=1)
    words = g.Reshape(g.Transpose(words, perm=[2, 0, 1]), [-1])
    first = g.constant([0], "int64") if start is None else g.Mod(start, [4])
    words = g.Slice(words, first, g.vector([count]) if start is None else g.Add(first, g.vector([count])), [0])
    bits = g.BitShift(g.cast(words, "uint64"), g.constant(11, "uint64"), direction="RIGHT")
    levels: Value = g.Mul(g.cast(bits, "float64"), 2.0**-53)
    return levels


def _rounds(g: Builder, key: Value, even: Value, odd: Value) -> tuple[Value, Value]:
    """Ten rounds over words 0 and 2 (2,n) and words 1 and 3 (2,n) of the counters, as a Scan over the round keys."""
    import numpy as np

    steps = np.array([[(w * i) % 2**64 for w in WEYL] for i in range(ROUNDS)], np.uint64).view(np.int64)
    keys = g.Unsqueeze(g.Add(key, steps), [2])  # (10,2,1)
    body = g.subgraph("philox")
    first = body.input("even", np.int64, even.shape)
    second = body.input("odd", np.int64, odd.shape)
    round_key = body.input("key", np.int64, [2, 1])
    high, low = _multiply(body, first)
    swap = body.constant([1, 0], "int64")
    mixed = body.BitwiseXor(body.BitwiseXor(body.Gather(high, swap, axis=0), second), round_key)
    body.output(mixed)
    body.output(body.Gather(low, swap, axis=0))
    types = [(value.dtype, value.shape) for value in (even, odd)]
    attributes = {"body": body.graph, "num_scan_inputs": 1}
    result: tuple[Value, Value] = g.append("Scan", [even, odd, keys], attributes, types)
    return result


def _multiply(g: Builder, x: Value) -> tuple[Value, Value]:
    """The high and the low 64 bits of x · M, both unsigned, x (2,n).

    The engine multiplies int64 (it wraps, as unsigned numbers do) and shifts uint64: halves of 32 bits are multiplied.
    """
    import numpy as np

    m = np.array(MULTIPLIERS, np.uint64).reshape(2, 1)
    m_high, m_low = ((m >> np.uint64(32)).view(np.int64), (m & np.uint64(LOW)).view(np.int64))

    def upper(value: Value) -> Value:
        shifted = g.BitShift(g.cast(value, "uint64"), g.constant(32, "uint64"), direction="RIGHT")
        return g.cast(shifted, "int64")

    def lower(value: Value) -> Value:
        result: Value = g.BitwiseAnd(value, g.constant(LOW, "int64"))
        return result

    high, low = upper(x), lower(x)
    one, other = g.Mul(low, m_high), g.Mul(high, m_low)
    middle = g.Add(g.Add(upper(g.Mul(low, m_low)), lower(one)), lower(other))
    top = g.Add(g.Mul(high, m_high), g.Add(g.Add(upper(one), upper(other)), upper(middle)))
    return top, g.Mul(x, m.view(np.int64))
