"""Rows of layer normalization."""

from __future__ import annotations

import numpy as np

from cases import Case, half, linear, normal


def norm(shape: list[int], gamma: object = None, beta: object = None, eps: float = 1e-5) -> dict[str, object]:
    return {
        "normalizedShape": shape,
        "eps": eps,
        "gamma": normal(*shape) if gamma is None else gamma,
        "beta": normal(*shape, seed=8) if beta is None else beta,
    }


ONES, NONE = np.ones(4), np.zeros(4)

CASES = [
    # mean 3, variance 5
    Case(
        "layerNormalization",
        "eps unset is 0",
        {"normalizedShape": [4], "gamma": ONES, "beta": NONE},
        ([0.0, 2.0, 4.0, 6.0],),
        expect=([-1.34164079, -0.44721360, 0.44721360, 1.34164079],),
    ),
    Case(
        "layerNormalization",
        "eps, gamma, beta",
        norm([4], np.array([1, 2, 3, 4]), np.array([0, 1, 0, -1]), 4.0),
        ([0.0, 2.0, 4.0, 6.0],),
        expect=([-1, 1 / 3, 1, 3],),
    ),
    Case(
        "layerNormalization",
        "constant values give beta",
        norm([4]),
        (np.full((2, 4), 3.0),),
        expect=(np.tile(normal(4, seed=8), (2, 1)),),
    ),
    Case("layerNormalization", "(10,5) over (5), the text's shapes", norm([5]), ((10, 5),)),
    Case("layerNormalization", "(10,5) over (10,5), the text's shapes", norm([10, 5]), ((10, 5),)),
    Case("layerNormalization", "(10,5,6,7) over (7), the text's shapes", norm([7]), ((10, 5, 6, 7),)),
    Case("layerNormalization", "(10,5,6,7) over (6,7), the text's shapes", norm([6, 7]), ((10, 5, 6, 7),)),
    Case("layerNormalization", "(10,5,6,7) over (5,6,7), the text's shapes", norm([5, 6, 7]), ((10, 5, 6, 7),)),
    Case("layerNormalization", "(10,5,6,7) over (10,5,6,7), the text's shapes", norm([10, 5, 6, 7]), ((10, 5, 6, 7),)),
    Case("layerNormalization", "rank 5 over three axes", norm([2, 3, 4]), ((2, 1, 2, 3, 4),)),
    Case("layerNormalization", "rank 5 over one axis", norm([3]), ((2, 1, 2, 2, 3),)),
    Case("layerNormalization", "large eps", norm([6], eps=10), ((3, 6),)),
    Case(
        "layerNormalization",
        "gamma and beta in float16",
        norm([6], half(normal(6)), half(normal(6, seed=8))),
        ((3, 6),),
    ),
    Case("layerNormalization", "gamma in 8 bits", norm([6], linear(np.arange(6) * 51, 8, 0.01, -1)), ((3, 6),)),
    Case("layerNormalization", "batch of none", norm([4]), (np.zeros((0, 4)),)),
    Case("layerNormalization", "no shape", {"gamma": ONES, "beta": NONE}, ((2, 4),), refuses="normalizedShape"),
    Case("layerNormalization", "shape of other axes", norm([2, 4]), ((4, 2),), refuses="normalizedShape"),
    Case(
        "layerNormalization", "shape of more axes than the input", norm([1, 2, 4]), ((2, 4),), refuses="normalizedShape"
    ),
    Case("layerNormalization", "no gamma", {"normalizedShape": [4], "beta": NONE}, ((2, 4),), refuses="gamma"),
    Case("layerNormalization", "no beta", {"normalizedShape": [4], "gamma": ONES}, ((2, 4),), refuses="beta"),
    Case("layerNormalization", "gamma of another size", norm([4], normal(3)), ((2, 4),), refuses="gamma"),
    Case("layerNormalization", "beta of another size", norm([4], None, normal(5)), ((2, 4),), refuses="beta"),
]
