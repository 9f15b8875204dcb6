"""Rows of the long short-term memory layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.nnrt.types import NodeType

from . import NodeCase, const, drawn, f32, weights

T = NodeType


def lstm(
    note: str, directions: int = 1, time: int = 4, batch: int = 2, size: int = 3, hidden: int = 5, **options: Any
) -> NodeCase:
    """A row of an LSTM with seeded weights; other attributes by their names."""
    attributes = {
        "bidirectional": directions == 2,
        "inputSize": size,
        "hiddenSize": hidden,
        "numDirections": directions,
        **options.pop("attributes", {}),
    }
    inputs = options.pop("inputs", None) or (
        (time, batch, size),
        weights(directions, 4 * hidden, size, seed=1),
        weights(directions, 4 * hidden, hidden, seed=2),
        weights(directions, 8 * hidden, seed=3),
        const(drawn(directions, batch, hidden, seed=4)),
        const(drawn(directions, batch, hidden, seed=5)),
    )
    return NodeCase(T.LSTM, note, attributes, inputs, 3, **{"types": ("float32",) * 3, **options})


HALVES = lstm("").inputs
ONE = (
    f32([[[1]], [[-2]]]),
    const([[[0.5], [0.25], [-0.5], [1]]]),
    const([[[0.1], [0.2], [0.3], [-0.4]]]),
    const([[0, 0.5, 1, 0, 0.25, 0, 0, -0.25]]),
    f32([[[0.5]]]),
    f32([[[-0.5]]]),
)


TWICE = (
    ONE[0],
    *(const(np.repeat(part.array, 2, axis=0)) for part in ONE[1:4]),
    *(part.repeat(2, 0) for part in ONE[4:]),
)
"""The unit of ``ONE`` in both directions."""


def _by_hand(
    zone_c: float = 0.0, zone_h: float = 0.0, sequence: tuple[float, ...] = (1.0, -2.0)
) -> tuple[list[float], float, float]:
    """The states of ``ONE``, step by step."""

    def gate(x: float) -> float:
        return 1 / (1 + float(np.exp(-x)))

    h, c, seen = 0.5, -0.5, []
    for x in sequence:
        i, o = gate(0.5 * x + 0.1 * h + 0.25), gate(0.25 * x + 0.2 * h + 0.5)
        f, g = gate(-0.5 * x + 0.3 * h + 1), float(np.tanh(x - 0.4 * h - 0.25))
        new = f * c + i * g
        c, h = zone_c * c + (1 - zone_c) * new, zone_h * h + (1 - zone_h) * o * float(np.tanh(new))
        seen.append(h)
    return seen, h, c


def _known(zone_c: float = 0.0, zone_h: float = 0.0) -> tuple[Any, ...]:
    seen, h, c = _by_hand(zone_c, zone_h)
    return np.reshape(seen, (2, 1, 1, 1)), np.reshape(h, (1, 1, 1)), np.reshape(c, (1, 1, 1))


def _both_ways() -> tuple[Any, ...]:
    (seen, h, c), (back, h_back, c_back) = _by_hand(), _by_hand(sequence=(-2.0, 1.0))
    steps = [[seen[0], back[1]], [seen[1], back[0]]]
    return np.reshape(steps, (2, 2, 1, 1)), np.reshape([h, h_back], (2, 1, 1)), np.reshape([c, c_back], (2, 1, 1))


UNIT = {"inputSize": 1, "hiddenSize": 1, "bidirectional": False, "numDirections": 1}
CASES = [
    lstm("one unit, by hand", inputs=ONE, attributes=UNIT, expect=_known()),
    lstm(
        "zoneout, by hand",
        inputs=ONE,
        attributes={**UNIT, "zoneoutCell": 0.25, "zoneoutHidden": 0.125},
        expect=_known(0.25, 0.125),
    ),
    lstm("two directions, by hand", 2, inputs=TWICE, attributes={"inputSize": 1, "hiddenSize": 1}, expect=_both_ways()),
    lstm("one direction"),
    lstm("two directions", 2),
    lstm("one step", time=1),
    lstm("one step, two directions", 2, 1),
    lstm("a batch of one", 2, batch=1),
    lstm("one unit, two directions", 2, hidden=1),
    lstm("input as large as the state", size=5),
    lstm("a long sequence", time=40),
    lstm("zoneout of the cell", attributes={"zoneoutCell": 0.3}),
    lstm("zoneout of the state", attributes={"zoneoutHidden": 0.3}),
    lstm("zoneout of both, two directions", 2, attributes={"zoneoutCell": 0.2, "zoneoutHidden": 0.4}),
    lstm("dropout does nothing", attributes={"dropout": 0.5}),
    lstm(
        "states handed in",
        2,
        inputs=((4, 2, 3), weights(2, 20, 3), weights(2, 20, 5, seed=8), weights(2, 40), (2, 2, 5), (2, 2, 5)),
    ),
    lstm(
        "no bias",
        attributes={"hasBias": False},
        inputs=((4, 2, 3), weights(1, 20, 3), weights(1, 20, 5), const(np.zeros((1, 40))), (1, 2, 5), (1, 2, 5)),
    ),
    lstm(
        "large inputs",
        inputs=(drawn(4, 2, 3) * f32(50), weights(1, 20, 3), weights(1, 20, 5), weights(1, 40), (1, 2, 5), (1, 2, 5)),
    ),
    *(
        lstm(
            f"states in half precision, {note}",
            attributes=zone,
            inputs=(*HALVES[:4], drawn(1, 2, 5, dtype=np.float16), drawn(1, 2, 5, seed=9, dtype=np.float16)),
        )
        for note, zone in (("plain", {}), ("zoneout", {"zoneoutCell": 0.25}))
    ),
    lstm("two layers", attributes={"numLayers": 2}, refuses="numLayers"),
    lstm("a projection", attributes={"projSize": 2}, refuses="projSize"),
    lstm("weightIh of another size", inputs=((4, 2, 3), weights(1, 20, 4), *HALVES[2:]), refuses="weight|dims"),
    lstm("weightHh of another size", inputs=(*HALVES[:2], weights(1, 20, 4), *HALVES[3:]), refuses="weight|dims"),
    lstm("bias of another size", inputs=(*HALVES[:3], weights(1, 20), *HALVES[4:]), refuses="bias|dims"),
    lstm("h0 of another size", inputs=(*HALVES[:4], weights(1, 3, 5), HALVES[5]), refuses="h0|dims"),
    lstm("c0 of another size", inputs=(*HALVES[:5], weights(2, 2, 5)), refuses="c0|dims"),
    lstm("x of rank 2", inputs=((4, 3), *HALVES[1:]), refuses="rank|dims"),
    lstm(
        "weights for one direction",
        attributes={"bidirectional": True, "numDirections": 2},
        refuses="weight|dims|direction",
    ),
    lstm("five inputs", inputs=HALVES[:5], refuses="inputs"),
]
