"""What a network answers when every blob and every weight is float16 or bfloat16, and which layers suffer.

Devices compute so. Here each layer computes in float32 and its blobs are rounded by pairs of casts: how far answers can
drift, where numbers overflow or vanish, and whether that explains what a device answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ..coreml import inner
from ..graph.rounding import LARGEST, Precision, emit, rounded
from ..onnx_model import OnnxModel
from . import traces
from .difference import Difference, difference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..coreml.model import Model
    from ..loading import AnyModel

SLACK = 4.0
"""How much further apart than by rounding blobs alone a device may be: it rounds inside of layers as well."""


@dataclass(frozen=True)
class Effect:
    """What rounding does to one blob.

    ``overflow`` numbers became infinite, ``underflow`` ones became 0, of ``count``. ``absolute`` is how far the blob
    drifts from float32, ``share`` that as a share of its largest value. ``inside`` names a sum in the layer that may
    overflow where a device keeps it in the narrow type.
    """

    name: str
    place: str
    count: int
    overflow: int
    underflow: int
    absolute: float
    share: float
    inside: str = ""


@dataclass(frozen=True)
class Lost:
    """Weights of one layer that the narrow type cannot hold: ``vanish`` become 0, ``overflow`` infinite."""

    name: str
    count: int
    vanish: int
    overflow: int


@dataclass
class Narrow:
    """A run in a narrow type, of weights alone if ``weights_only``, beside one in float32."""

    kind: Precision
    weights_only: bool = False
    effects: list[Effect] = field(default_factory=list)
    weights: list[Lost] = field(default_factory=list)
    outputs: dict[str, Difference] = field(default_factory=dict)
    values: dict[str, NDArray[Any]] = field(default_factory=dict)

    def worst(self, count: int = 5) -> list[Effect]:
        """The blobs that drift most, those with infinities first."""
        return sorted(self.effects, key=lambda effect: (-(effect.overflow > 0), -effect.share))[:count]

    def overflows(self) -> list[Effect]:
        """Blobs with numbers that are too large, and sums inside of layers that may be."""
        return [effect for effect in self.effects if effect.overflow or effect.inside]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "precision": self.kind,
            "weightsOnly": self.weights_only,
            "layers": [asdict(effect) for effect in self.effects],
            "weights": [asdict(lost) for lost in self.weights],
            "outputs": [entry.to_dict() for entry in self.outputs.values()],
        }


def narrow(
    model: AnyModel,
    data: Mapping[str, Any],
    kind: Precision,
    full: traces.Trace | None = None,
    *,
    weights_only: bool = False,
) -> Narrow:
    """Runs ``model`` with every blob and weight rounded to ``kind``, or the weights alone.

    ``full`` is its run in float32, if there is one.
    """
    full = full or traces.run(model, data)
    hazards: dict[str, str] = {}
    if isinstance(model, OnnxModel):
        before = traces.narrowed_onnx(model, data, kind, weights_only=weights_only)
        weights = traces.onnx_weights(model)
    else:

        def change(g: Any, value: Any) -> Any:
            return value if weights_only else emit(g, value, kind)

        before = traces.changed(model, data, change, lambda array: rounded(array, kind))
        hazards = {} if weights_only else _hazards(model, full.values, LARGEST[kind])
        weights = _arrays(model)
    result = Narrow(kind, weights_only, weights=_weights(weights, kind))
    result.values = {
        name: value if weights_only else rounded(value, kind) for name, value in before.items() if name in full.values
    }
    nested = set() if isinstance(model, OnnxModel) else _nested(model, result.values)
    for name, after in result.values.items():
        finite = full.values[name] if name in nested else before[name]
        result.effects.append(_effect(name, full, (finite, before[name]), after, hazards.get(name, "")))
    for name in full.outputs:
        if name in result.values:
            result.outputs[name] = difference(name, result.values[name], full.values[name])
    return result


def _nested(model: Model, values: Mapping[str, NDArray[Any]]) -> set[str]:
    """Blobs that branches and loops write from numbers that are all finite: what is not in them was lost inside, where
    nobody sees the blob before it is rounded."""
    import numpy as np

    found: set[str] = set()
    layers = model.document.network.layers
    for layer in layers:
        written = set(inner.written(layer))
        # what they begin with is gone, what that was made of is not
        first = [name for other in layers if written.intersection(other.output) for name in other.input]
        read = {name for name in (*layer.input, *inner.read(layer), *first) if name not in written and name in values}
        if all(np.isfinite(values[name]).all() for name in read):
            found |= written
    return found


def _effect(
    name: str, full: traces.Trace, before: tuple[NDArray[Any], NDArray[Any]], after: NDArray[Any], inside: str
) -> Effect:
    """``before``: what tells whether a number was finite, and the blob before it was rounded."""
    import numpy as np

    finite, before_ = before
    entry = difference(name, after, full.values[name], scaled=True)
    return Effect(
        name,
        full.place(name),
        int(after.size),
        int((np.isinf(after) & np.isfinite(finite)).sum()),
        int(((after == 0) & (before_ != 0)).sum()),
        entry.absolute,
        entry.share,
        inside,
    )


def _arrays(model: Model) -> Iterator[tuple[str, NDArray[Any]]]:
    from ..coreml import tensors
    from ..errors import CheckError

    for name, slot in tensors.named(model):
        try:
            yield name, tensors.expanded(model, slot)
        except CheckError:  # the check tells of it
            continue


def _weights(arrays: Iterable[tuple[str, NDArray[Any]]], kind: Precision) -> list[Lost]:
    """Arrays of weights that lose something, worst first."""
    import numpy as np

    found = []
    for name, values in arrays:
        after = rounded(values, kind)
        vanish = int(((after == 0) & (values != 0)).sum())
        overflow = int((np.isinf(after) & np.isfinite(values)).sum())
        if vanish or overflow:
            found.append(Lost(name, int(values.size), vanish, overflow))
    return sorted(found, key=lambda lost: -(lost.vanish + lost.overflow) / lost.count)


# -- sums inside of layers -------------------------------------------------------------------------------------------


def _squares(x: NDArray[Any], axes: tuple[int, ...] | None) -> Any:
    import numpy as np

    return np.square(x).sum(axis=axes)


def _exponentials(x: NDArray[Any], axes: tuple[int, ...] | None) -> Any:
    import numpy as np

    return np.exp(x).sum(axis=axes)


_SUMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "reduceLogSumExp": ("sum of exponentials", _exponentials),
    "reduceL2": ("sum of squares", _squares),
    "l2normalize": ("sum of squares", _squares),
}
"""Layers that sum something larger than what they answer: what, and how it is computed over axes. Softmax is none of
them: every sound implementation takes the largest number off first."""


def _hazards(model: Model, values: Mapping[str, NDArray[Any]], largest: float) -> dict[str, str]:
    """Blob → the sum inside its layer that is too large for the narrow type, for layers that hide one."""
    import numpy as np

    found = {}
    for layer in model.document.network.layers:
        kind = layer.WhichOneof("layer")
        if kind not in _SUMS or not layer.input or layer.input[0] not in values:
            continue
        what, total = _SUMS[kind]
        x = values[layer.input[0]].astype(np.float64)
        with np.errstate(all="ignore"):
            most = float(np.max(total(x, _axes(layer, kind, x.ndim)), initial=0.0))
        if most > largest and layer.output:
            found[layer.output[0]] = f"the {what} reaches {most:.3g}"
    return found


def _axes(layer: Any, kind: str, rank: int) -> tuple[int, ...] | None:
    """The axes of a reduction; None: all of them."""
    params = getattr(layer, kind)
    if kind == "l2normalize":
        return tuple(range(max(rank - 3, 0), rank))
    if params.reduceAll or not len(params.axes):
        return None
    return tuple(axis % rank for axis in params.axes)


def explains(entry: Difference, effect: Difference | None, tolerance: float) -> bool | None:
    """Whether rounding of the size of ``effect`` explains the difference ``entry``; None where there is nothing to
    explain or nothing to go by."""
    if entry.ok or entry.problem or effect is None:
        return None
    if effect.problem:
        return False
    room = SLACK * effect.absolute + tolerance * (1 + entry.scale)
    return entry.absolute <= room and entry.rms <= SLACK * effect.rms + tolerance * (1 + entry.scale)
