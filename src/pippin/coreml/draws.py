"""Random numbers for the random layers: the same draws for the engine and for the reference.

Numbers come from Philox, a counter-based generator, read as raw 64-bit words and shaped by the formulas below, so that
a seed means the same numbers with any version of NumPy. Distributions with the same seed have streams of their own.

The format says nothing about which numbers a seed stands for, so no other program's numbers are met; what holds is: the
same seed gives the same numbers on each prediction, and a seed of 0 (unset) or -1 fresh ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

NORMAL, UNIFORM, BERNOULLI, CATEGORICAL = range(1, 5)
"""Streams: the high word of a key."""
BLOCK = 1 << 20
"""How many numbers are made at once, so that large shapes need no memory beside the result."""

# what the format's text gives where the fields are 0
DEFAULT_EPS = 1e-10
DEFAULT_TEMPERATURE = 1.0


def is_fresh(seed: int) -> bool:
    """Whether ``seed`` asks for other numbers on each prediction."""
    return seed in (0, -1)


@dataclass(frozen=True)
class Draw:
    """An extra input of a lowered network: ``make()`` gives its array, other numbers on each call."""

    name: str
    make: Callable[[], NDArray[Any]]


def key(seed: int, stream: int) -> tuple[int, int]:
    """The key of a seed's numbers, 128 bits: the seed as an unsigned number in the low word, the stream in the high."""
    return seed % 2**64, stream


def fresh_key() -> NDArray[np.int64]:
    """A key that nobody had before: 128 bits of the system's entropy."""
    import numpy as np

    return np.random.SeedSequence().generate_state(2, np.uint64).view(np.int64)


def normal(seed: int, shape: Sequence[int], mean: float = 0.0, std: float = 1.0) -> NDArray[np.float32]:
    """Normal numbers: mean + std · z, z by Box and Muller from two uniform numbers each."""
    import numpy as np

    def make(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
        # 1 - u lies in (0, 1], so the logarithm is finite
        z = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)
        return np.asarray(mean + std * z)

    return _filled(seed, NORMAL, shape, make, words=2)


def uniform(seed: int, shape: Sequence[int], low: float = 0.0, high: float = 1.0) -> NDArray[np.float32]:
    """Numbers spread evenly over [low, high)."""
    import numpy as np

    result = _filled(seed, UNIFORM, shape, lambda u: low + (high - low) * u)
    # rounding to float32 may meet the upper bound, which does not belong to the range
    return np.minimum(result, np.nextafter(np.float32(high), np.float32(low)), out=result)


def bernoulli(seed: int, shape: Sequence[int], prob: float) -> NDArray[np.float32]:
    """1 with probability ``prob``, else 0."""
    return _filled(seed, BERNOULLI, shape, lambda u: u < prob)


def categorical_levels(seed: int, shape: Sequence[int]) -> NDArray[np.float32]:
    """The uniform numbers behind ``categorical``: one for each sample, in [0, 1)."""
    import numpy as np

    levels = _filled(seed, CATEGORICAL, shape, lambda u: u)
    return np.minimum(levels, np.nextafter(np.float32(1), np.float32(0)), out=levels)


def categorical(
    seed: int,
    scores: ArrayLike,
    samples: int,
    *,
    is_logits: bool,
    eps: float = 0.0,
    temperature: float = 0.0,
) -> NDArray[np.float32]:
    """Class numbers drawn from the distributions along the last axis of ``scores``.

    logits = scores, or log(scores + eps) for probabilities; p = softmax(logits / temperature)
    sample = how many of the running sums of p are ≤ u, u from ``categorical_levels``
    scores (…, C) → (…, samples). ``eps`` 0 stands for 1e-10, ``temperature`` 0 for 1.
    """
    import numpy as np

    values = np.asarray(scores, np.float64)
    logits = values if is_logits else np.log(values + (eps or DEFAULT_EPS))
    logits = logits / (temperature or DEFAULT_TEMPERATURE)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    sums = np.cumsum(weights, axis=-1) / weights.sum(axis=-1, keepdims=True)
    levels = categorical_levels(seed, (*values.shape[:-1], samples))
    drawn = (sums[..., None, :] <= levels[..., :, None]).sum(axis=-1)
    return np.asarray(np.minimum(drawn, values.shape[-1] - 1), np.float32)


def _filled(
    seed: int, stream: int, shape: Sequence[int], make: Callable[..., NDArray[Any]], words: int = 1
) -> NDArray[np.float32]:
    """An array of numbers, number i made of the uniform numbers i, i + count, … of a seed, a block at a time."""
    import numpy as np

    count = math.prod(shape)
    result = np.empty(count, np.float32)
    generators = [_generator(seed, stream, word * count) for word in range(words)]
    with np.errstate(over="ignore"):  # beyond float32 lies infinity
        for begin in range(0, count, BLOCK):
            block = result[begin : begin + BLOCK]
            block[:] = make(*(_unit(generator, block.size) for generator in generators))
    return result.reshape(tuple(shape))


def _generator(seed: int, stream: int, skipped: int) -> np.random.Philox:
    """The generator of a seed and a stream, or a new one, behind its first ``skipped`` words."""
    import numpy as np

    if is_fresh(seed):
        return np.random.Philox()
    generator = np.random.Philox(key=np.array(key(seed, stream), np.uint64), counter=skipped // 4)
    generator.random_raw(skipped % 4)
    return generator


def _unit(generator: np.random.Philox, count: int) -> NDArray[np.float64]:
    """The next ``count`` numbers in [0, 1) with 53 bits each."""
    import numpy as np

    words = np.asarray(generator.random_raw(count), np.uint64)
    return np.asarray((words >> np.uint64(11)) * 2.0**-53, np.float64)
