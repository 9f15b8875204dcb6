"""How far two arrays lie apart, and whether that is within a tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOLERANCE = 1e-4
"""What is allowed by default: |a - b| ≤ tolerance + tolerance · |b|."""


@dataclass(frozen=True)
class Difference:
    """Two arrays compared, the second being the one to go by.

    ``absolute`` is the largest |a - b|, ``relative`` the largest |a - b| / |b| where b is not 0, ``scale`` the largest
    |b|. ``excess`` is the largest |a - b| / (tolerance + tolerance · |b|): up to 1 is within. ``at`` is where it lies,
    ``values`` are a and b there. ``problem`` says what makes a comparison impossible: shapes, or not-a-number on one
    side only. ``rounding`` is what rounding alone brings about, where that explains a difference over the tolerance.
    """

    name: str
    absolute: float = 0.0
    relative: float = 0.0
    excess: float = 0.0
    rms: float = 0.0
    scale: float = 0.0
    at: tuple[int, ...] = ()
    values: tuple[float, float] = (0.0, 0.0)
    shape: tuple[int, ...] = ()
    problem: str = ""
    rounding: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it lies within the tolerance, or is no more than rounding brings about."""
        return not self.problem and (self.excess <= 1 or self.rounding > 0)

    @property
    def share(self) -> float:
        """The largest difference as a share of the largest value."""
        return self.absolute / self.scale if self.scale else (0.0 if not self.absolute else math.inf)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; infinities and not-a-number as None."""
        fields = asdict(self) | {"ok": self.ok}
        return {key: _plain(value) for key, value in fields.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def allowed(tolerance: float) -> float:
    """``tolerance``, if it is one. Raises ``InputError`` for what is negative, infinite or not a number."""
    if not 0 <= tolerance < math.inf:
        raise InputError(f"the tolerance must be a number from 0, got {tolerance}")
    return tolerance


def difference(
    name: str, a: NDArray[Any], b: NDArray[Any], tolerance: float = TOLERANCE, *, scaled: bool = False
) -> Difference:
    """Compares ``a`` with ``b``. Shapes may differ in axes of size 1.

    ``scaled``: the tolerance is a share of the largest |b| instead of an absolute number, for blobs of any magnitude.
    """
    import numpy as np

    if squeezed(a.shape) != squeezed(b.shape):
        return Difference(name, shape=a.shape, problem=f"shapes differ: {list(a.shape)} and {list(b.shape)}")
    if not a.size:
        return Difference(name, shape=a.shape)
    x, y = a.astype(np.float64, copy=False).reshape(-1), b.astype(np.float64, copy=False).reshape(-1)
    finite = np.isfinite(x) & np.isfinite(y)
    strange = ~finite & ~((x == y) | (np.isnan(x) & np.isnan(y)))
    if strange.any():
        at = int(strange.argmax())
        where = [int(i) for i in np.unravel_index(at, a.shape)]
        problem = f"at {where}: {x[at]:g} and {y[at]:g}"
        return Difference(name, shape=a.shape, problem=problem, values=(float(x[at]), float(y[at])), at=tuple(where))
    with np.errstate(all="ignore"):
        gap = np.where(finite, np.abs(x - y), 0.0)
        size = np.where(finite, np.abs(y), 0.0)
        scale = float(size.max())
        excess = gap / ((scale if scaled else 1.0) * tolerance + tolerance * size + np.finfo(np.float64).tiny)
    at = int(excess.argmax())
    relative = gap[size > 0] / size[size > 0]
    return Difference(
        name,
        absolute=float(gap.max()),
        relative=float(relative.max()) if relative.size else 0.0,
        excess=float(excess[at]),
        rms=float(np.sqrt(np.mean(gap * gap))),
        scale=scale,
        at=tuple(int(i) for i in np.unravel_index(at, a.shape)),
        values=(float(x[at]), float(y[at])),
        shape=tuple(a.shape),
    )


def squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape without its ones: arrays that differ in those hold the same numbers in the same order."""
    return tuple(size for size in shape if size != 1)
