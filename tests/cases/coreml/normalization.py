"""Rows of batchnorm, mvn, l2normalize, softmax and lrn."""
# ruff: noqa: E501 - one row a line

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cases import Case, half, linear, lookup, normal

norm = partial(Case, "batchnorm")
mvn = partial(Case, "mvn")
length = partial(Case, "l2normalize")
soft = partial(Case, "softmax")
local = partial(Case, "lrn")
STEEP = np.float32([3000, 0.5, -0.25, 1, -2000, 0.1, 0.2])[:, None, None] * np.float32([[1, 0.9], [0.5, -0.7]])
"""Channels of squares that float32 cannot hold in one sum."""

VARIANCE = np.abs(normal(3, seed=4)) + 0.5


def bn(channels: int = 3, **more: Any) -> dict[str, Any]:
    """Parameters of a batch normalisation over 3 channels with seeded values."""
    values = {"gamma": normal(channels), "beta": normal(channels, seed=2), "mean": normal(channels, seed=3)}
    return {"channels": channels, **values, "variance": VARIANCE[:channels]} | more


def computed(instance: bool, channels: int = 3, **more: Any) -> dict[str, Any]:
    """A batch normalisation that computes mean and variance."""
    values = {"gamma": normal(channels), "beta": normal(channels, seed=2)}
    return {"channels": channels, **values, "computeMeanVar": True, "instanceNormalization": instance} | more


ONE = {"gamma": np.ones(1), "beta": np.zeros(1)}
SHAPES = {"rank 3": (3, 2, 4), "rank 4": (2, 3, 4, 1), "rank 5": (2, 2, 3, 1, 4), "rank 6": (2, 1, 2, 3, 2, 2)}

BATCHNORM = [
    norm(f"given mean and variance, {note}", bn(), (shape,)) for note, shape in SHAPES.items()
] + [
    norm(f"whole batch, {note}", computed(False), (shape,)) for note, shape in SHAPES.items()
] + [
    norm(f"each instance, {note}", computed(True), (shape,)) for note, shape in SHAPES.items()
] + [
    norm("known answer", {"channels": 2, "gamma": np.array([2, 3]), "beta": np.array([1, -1]), "mean": np.array([1, 2]), "variance": np.array([3.75, 0]), "epsilon": 0.25}, ([[[5.0]], [[4.0]]],), expect=([[[5.0]], [[11.0]]],)),
    norm("each instance, known answer", {"channels": 1, "gamma": np.ones(1), "beta": np.zeros(1), "epsilon": 0.75, "computeMeanVar": True, "instanceNormalization": True}, ([[[[1.0, 2.0]]], [[[10.0, 13.0]]]],), expect=([[-0.5, 0.5], [-1.5 / 3**0.5, 1.5 / 3**0.5]],)),
    norm("whole batch, known answer", {"channels": 1, **ONE, "epsilon": 3.0, "computeMeanVar": True}, ([[[[1.0, 3.0]]], [[[1.0, 3.0]]]],), expect=([[-0.5, 0.5], [-0.5, 0.5]],)),
    norm("epsilon 0 is 1e-5: variance 0", bn(1, mean=np.zeros(1), variance=np.zeros(1), **ONE), ([[[1.0]]],), expect=([[[316.22776601683796]]],)),
    norm("epsilon 1e-3", bn(epsilon=1e-3, variance=np.full(3, 1e-3)), ((2, 3, 2, 2),)),
    norm("computeMeanVar ignores mean and variance", bn() | {"computeMeanVar": True}, ((2, 3, 2, 2),)),
    norm("instanceNormalization alone: given mean and variance", bn(instanceNormalization=True), ((2, 3, 2, 2),)),
    norm("each instance, plane of one: beta", computed(True), ((2, 3, 1, 1),)),
    norm("each instance, 80 channels over 1x100", computed(True, 80), ((80, 1, 100),)),
    norm("whole batch, one channel", computed(False, 1), ((4, 1, 2, 3),)),
    norm("legacy", bn(), ((1, 1, 3, 2, 4),), rank5=True),
    norm("legacy, sequence and batch", bn(), ((2, 3, 3, 2, 2),), rank5=True),
    norm("whole batch, legacy, sequence and batch", computed(False), ((2, 3, 3, 2, 2),), rank5=True),
    norm("each instance, legacy, batch", computed(True), ((1, 3, 3, 2, 4),), rank5=True),
    norm("float16", bn(gamma=half(normal(3)), beta=half(normal(3)), mean=half(normal(3)), variance=half(VARIANCE)), ((2, 3, 2, 2),)),
    norm("8 bit linear", bn(gamma=linear([1, 100, 255], 8, 0.01, -1.0), beta=linear([0, 128, 255], 8, 0.01, -1.0)), ((2, 3, 2, 2),)),
    norm("2 bit table", bn(mean=lookup([0, 3, 1], 2, normal(4)), variance=lookup([2, 0, 1], 2, [0.5, 1.0, 2.0, 3.0])), ((2, 3, 2, 2),)),
    norm("channels does not fit", bn(), ((2, 4, 2, 2),), refuses="channels"),
    norm("no gamma", {k: v for k, v in bn().items() if k != "gamma"}, ((3, 2, 2),), refuses="gamma"),
    norm("beta too long", bn(beta=normal(4)), ((3, 2, 2),), refuses="beta"),
    norm("no mean", {k: v for k, v in bn().items() if k != "mean"}, ((3, 2, 2),), refuses="mean"),
    norm("variance too short", bn(variance=VARIANCE[:2]), ((3, 2, 2),), refuses="variance"),
    norm("rank 2", bn(), ((3, 2),), refuses="rank"),
]  # fmt: skip

QUAD = np.arange(8.0).reshape(2, 2, 2)
MVN = [
    mvn(f"{'across channels' if across else 'each channel'}, {'variance' if variance else 'mean only'}, {note}",
        {"acrossChannels": across, "normalizeVariance": variance}, (shape,))
    for note, shape in SHAPES.items()
    for across in (False, True)
    for variance in (False, True)
] + [
    mvn("mean of each channel, known answer", {}, (QUAD,), expect=(QUAD - np.array([1.5, 5.5]).reshape(2, 1, 1),)),
    mvn("mean across channels, known answer", {"acrossChannels": True}, (QUAD,), expect=(QUAD - 3.5,)),
    mvn("epsilon lies under the root, known answer", {"normalizeVariance": True, "epsilon": 0.75}, ([[[1.0, 2.0]]],), expect=([[[-0.5, 0.5]]],)),
    mvn("epsilon 0 is 1e-6", {"normalizeVariance": True}, ([[[0.0, 0.002]]],), expect=([[[-0.5**0.5, 0.5**0.5]]],)),
    mvn("constant plane: zero", {"normalizeVariance": True}, (np.full((2, 2, 2), 3.0),), expect=(np.zeros((2, 2, 2)),)),
    mvn("legacy, batch", {"normalizeVariance": True}, ((1, 3, 2, 3, 2),), rank5=True),
    mvn("legacy, sequence, across channels", {"acrossChannels": True, "normalizeVariance": True}, ((2, 2, 2, 3, 2),), rank5=True),
    mvn("rank 2", {"normalizeVariance": True}, ((3, 4),), refuses="rank"),
]  # fmt: skip

L2 = [
    length(note, {}, (shape,)) for note, shape in SHAPES.items()
] + [
    length("over channels and plane, known answer", {}, (QUAD,), expect=(QUAD / np.sqrt(140 + 1e-6),)),
    length("each instance for itself, known answer", {}, ([[[[3.0, 4.0]]], [[[6.0, 8.0]]]],), expect=([[0.6, 0.8], [0.6, 0.8]],)),
    length("epsilon lies under the root, known answer", {"epsilon": 11.0}, ([[[3.0, 4.0]]],), expect=([[[0.5, 2 / 3]]],)),
    length("epsilon 0 is 1e-6", {}, ([[[1e-3]]],), expect=([[[0.5**0.5]]],)),
    length("zeros", {}, (np.zeros((2, 2, 1)),), expect=(np.zeros((2, 2, 1)),)),
    length("legacy, sequence and batch", {"epsilon": 0.5}, ((2, 3, 2, 2, 2),), rank5=True),
    length("rank 2", {}, ((3, 4),), refuses="rank"),
]  # fmt: skip

SOFTMAX = [
    soft(note, {}, (shape,)) for note, shape in SHAPES.items()
] + [
    soft("along axis -3, known answer", {}, (np.log([[[1.0, 1.0]], [[3.0, 1.0]]]),), expect=([[[0.25, 0.5]], [[0.75, 0.5]]],)),
    soft("large values", {}, (np.array([1000.0, 1001.0, -1000.0]).reshape(3, 1, 1),)),
    soft("one channel: ones", {}, ((2, 1, 3, 2),), expect=(np.ones((2, 1, 3, 2)),)),
    soft("legacy", {}, ((1, 1, 5, 1, 1),), rank5=True),
    soft("legacy, sequence and batch", {}, ((2, 3, 4, 2, 1),), rank5=True),
    soft("rank 2, along the last axis", {}, (np.log([[1.0, 3.0], [1.0, 1.0]]),), expect=([[0.25, 0.75], [0.5, 0.5]],)),
    soft("rank 1", {}, (np.log([1.0, 3.0]),), expect=([0.25, 0.75],)),
    soft("two inputs", {}, ((3, 4), (3, 4)), refuses="1 input"),
]  # fmt: skip

WIDE = {"rank 3": (6, 2, 2), "rank 4": (2, 6, 1, 3), "rank 5": (2, 1, 6, 2, 1)}
LRN = [
    local(f"localSize {size}, {note}", {"alpha": 0.5, "beta": 0.75, "localSize": size, "k": 2.0}, (shape,))
    for note, shape in WIDE.items()
    for size in (1, 2, 3, 4, 5)
] + [
    local("known answer", {"alpha": 2.0, "beta": 3.0, "localSize": 1, "k": 8.0}, (np.ones((1, 3, 3)),), expect=(np.full((1, 3, 3), 1e-3),)),
    local("k 0 is 1, known answer", {"alpha": 3.0, "beta": 1.0, "localSize": 3}, ([[[1.0]], [[2.0]], [[3.0]]],), expect=([[[1 / 6]], [[2 / 15]], [[3 / 14]]],)),
    local("even localSize, one more channel after, known answer", {"alpha": 2.0, "beta": 1.0, "localSize": 2, "k": 1.0}, ([[[1.0]], [[2.0]], [[3.0]]],), expect=([[[1 / 6]], [[2 / 14]], [[3 / 10]]],)),
    local("alpha and beta 0: as it is", {"localSize": 3}, ((4, 2, 2),)),
    local("beta 0.5, large alpha", {"alpha": 100.0, "beta": 0.5, "localSize": 3}, ((4, 2, 2),)),
    local("usual alpha", {"alpha": 1e-4, "beta": 0.75, "localSize": 5, "k": 1.0}, (30 * normal(7, 3, 2),)),
    local("usual alpha, legacy", {"alpha": 2e-4, "beta": 0.75, "localSize": 3, "k": 2.0}, (np.abs(99 * normal(1, 2, 4, 2, 1)),), rank5=True),
    local("usual alpha, large channels beside small ones", {"alpha": 1e-4, "beta": 0.75, "localSize": 3}, (STEEP,)),
    local("large channels beside small ones", {"alpha": 1.0, "beta": 0.75, "localSize": 3}, (STEEP,)),
    local("large channels beside small ones, each alone", {"alpha": 1.0, "beta": 0.75, "localSize": 1}, (STEEP,)),
    local("window wider than the channels", {"alpha": 1.0, "beta": 0.75, "localSize": 9}, ((3, 2, 2),)),
    local("legacy, sequence and batch", {"alpha": 1.0, "beta": 0.75, "localSize": 3}, ((2, 2, 4, 2, 1),), rank5=True),
    local("legacy, even localSize", {"alpha": 1.0, "beta": 0.75, "localSize": 4}, ((1, 2, 5, 2, 1),), rank5=True),
    local("localSize 0", {"alpha": 1.0, "beta": 0.75}, ((3, 2, 2),), refuses="localSize"),
    local("negative k", {"alpha": 1.0, "beta": 0.75, "localSize": 3, "k": -1.0}, ((3, 2, 2),), refuses="k must"),
    local("rank 2", {"localSize": 3}, ((3, 4),), refuses="rank"),
]  # fmt: skip

CASES = BATCHNORM + MVN + L2 + SOFTMAX + LRN
