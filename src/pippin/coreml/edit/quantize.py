"""Weights in fewer bits, and back: linear, tables by k-means, float16, float32.

Linear: level = round((w - bias) / scale), half to even, with bias the least value, scale = (greatest - least) /
(2ᵇ - 1), both rounded to float32 first, so that level · scale + bias is what a reader gets. Symmetric: scale = max|w| /
(2ᵇ⁻¹ - 1) and bias = -2ᵇ⁻¹ · scale, so that zero stays zero. Tables: see ``kmeans``.
Source: WeightParams, QuantizationParams.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from ...errors import CheckError, InputError
from ..read import NETWORKS, Document
from ..weights import Weights, pack_bits
from . import kmeans
from .insert import store
from .names import stages
from .preprocessing import LARGEST
from .slots import LAYERS, Slot, slots
from .step import Step, need_version, unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Mode = Literal["linear", "symmetric", "kmeans", "float16"]
MODES = ("linear", "symmetric", "kmeans", "float16")
HALF_VERSION, PACKED_VERSION = 2, 3
_CHUNK = 1 << 20


@dataclass
class Stored:
    """How one array was stored anew: names, encodings as text, bytes, and what it cost.

    ``error`` is the largest difference, ``share`` that difference as a share of the largest value, ``rms`` the root of
    the mean square of the differences as a share of that of the values. ``vanished`` counts values that were not zero
    and are now.
    """

    place: str
    field: str
    values: int
    before: str
    after: str
    bytes_before: int
    bytes_after: int
    error: float = 0.0
    share: float = 0.0
    rms: float = 0.0
    vanished: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))


def quantize(
    document: Document,
    bits: int = 8,
    mode: Mode = "linear",
    *,
    per: Literal["channel", "tensor"] = "channel",
    layers: Collection[str] = (),
    skip: Collection[str] = (),
    everything: bool = False,
) -> Step:
    """Stores float weights in ``bits`` bits, 1 to 8, or as float16 (``bits=16``).

    ``mode``: "linear", "symmetric" (linear around zero, 2 bits or more), "kmeans" (a table of 2ᵇ values).
    ``per``: a linear scale for each output "channel", where the format allows it, or one for the whole "tensor".
    ``layers``: names, kinds or patterns ("conv*") of the layers to take (default: all), ``skip`` of those to leave.
    ``everything``: biases, statistics and constants as well, which cost more in accuracy than they save; float16
    always takes all but constants.

    What may not be stored so (weights that train, custom layers, layers with float32 only) and what is packed already
    is left as it is, and noted. Raises ``InputError`` for bits, modes or layers that there are none of.
    """
    mode = _checked(bits, mode, per)
    found = list(_select(document, layers, skip))
    weights = Weights(document.views)
    done: list[Stored] = []
    notes: dict[str, list[str]] = {}
    for group in _grouped(found):
        ready = _ready(group, weights, mode, bits, everything, notes)
        done += [_store(document, slot, weights, mode, bits, per) for slot in ready]
    if done:
        for model, _ in networks(document.model):
            lowest = HALF_VERSION if mode == "float16" else PACKED_VERSION
            model.specificationVersion = max(model.specificationVersion, lowest)
        need_version(document, HALF_VERSION if mode == "float16" else PACKED_VERSION)
    told = "float16" if mode == "float16" else f"{bits} bits, {mode}{f' per {per}' if mode != 'kmeans' else ''}"
    step = Step(f"store {len(done):,} arrays of weights in {told}", "close" if done else "none")
    _tell(step, done, notes)
    return step


def expand(document: Document, *, layers: Collection[str] = (), skip: Collection[str] = ()) -> Step:
    """Stores packed and float16 weights as float32 again, with the values that they stand for. Answers stay the same.

    int8 weights of layers with ``int8DynamicQuantize`` and those of custom layers stay as they are.
    """
    weights = Weights(document.views)
    done: list[Stored] = []
    for slot in _select(document, layers, skip):
        encoding = slot.encoding(weights)
        if encoding.kind in ("linear", "lookup", "float16") and slot.kind != "custom":
            values = _values(slot, weights)
            done.append(_write(document, slot, weights, values, "float32", values.astype("<f4").tobytes(), None))
    step = Step(f"expand {len(done):,} arrays of weights to float32", "equal" if done else "none")
    _tell(step, done, {})
    return step


# -- which -------------------------------------------------------------------------------------------------------------


def _checked(bits: int, mode: Mode, per: str) -> Mode:
    if mode not in MODES:
        raise InputError(f"the mode must be one of {', '.join(MODES)}, got {mode!r}")
    if per not in ("channel", "tensor"):
        raise InputError(f"a scale is per channel or per tensor, got {per!r}")
    if mode == "float16" or bits == 16:
        return "float16"
    if not 1 <= bits <= 8:
        raise InputError(f"weights are stored in 1 to 8 bits, or in 16 (float16), got {bits}")
    if mode == "symmetric" and bits == 1:
        raise InputError("symmetric levels need 2 bits or more")
    return mode


def networks(model: Any) -> Iterator[tuple[Any, Any]]:
    """Every network of a model or pipeline, with the model message that holds it."""
    kind = model.WhichOneof("Type")
    if kind in NETWORKS:
        yield model, getattr(model, kind)
    for stage in stages(model):
        yield from networks(stage)


def _select(document: Document, layers: Collection[str], skip: Collection[str]) -> Iterator[Slot]:
    weights = Weights(document.views)
    found = [
        slot for model, network in networks(document.model)
        for slot in slots(network, weights, updatable=model.isUpdatable)
    ]  # fmt: skip
    names = {slot.layer.name for slot in found}
    for pattern in (*layers, *skip):
        if pattern not in LAYERS and not any(fnmatchcase(name, pattern) for name in names):
            raise unknown(f"no layer with weights is called {pattern!r}", pattern, sorted(names))
    for slot in found:
        if (not layers or _matches(slot, layers)) and not _matches(slot, skip):
            yield slot


def _matches(slot: Slot, patterns: Iterable[str]) -> bool:
    return any(slot.kind == pattern or fnmatchcase(slot.layer.name, pattern) for pattern in patterns)


def _grouped(found: Sequence[Slot]) -> list[list[Slot]]:
    """The arrays of each layer together."""
    groups: list[list[Slot]] = []
    for slot in found:
        if groups and groups[-1][0].layer is slot.layer:
            groups[-1].append(slot)
        else:
            groups.append([slot])
    return groups


def _ready(
    group: list[Slot], weights: Weights, mode: Mode, bits: int, everything: bool, notes: dict[str, list[str]]
) -> list[Slot]:
    """The arrays of a layer that are stored anew; those that might have been, and why not, go into ``notes``."""
    ready, blocked = [], False
    for slot in group:
        encoding = slot.encoding(weights)
        if encoding.kind not in ("float32", "float16") or (mode == "float16" and encoding.kind == "float16"):
            continue
        wanted = everything or slot.role == "weights" or (mode == "float16" and slot.role == "vector")
        if not wanted:
            continue
        reason = slot.no_half if mode == "float16" else slot.no_packed
        reason = reason or _unfit(slot, weights, mode, bits)
        if reason:
            notes.setdefault(reason, []).append(slot.name)
            blocked = blocked or slot.together or slot.alike
        else:
            ready.append(slot)
    if blocked and (mode == "float16" or group[0].alike):
        for slot in ready:
            notes.setdefault("float16 and float32 must not be mixed in one layer", []).append(slot.name)
        return []
    return ready


def _unfit(slot: Slot, weights: Weights, mode: Mode, bits: int) -> str:
    """Why the values cannot be stored so."""
    import numpy as np

    if not math.prod(slot.shape):
        return "there are no values"
    values = _values(slot, weights)
    if not np.isfinite(values).all():
        return "there are values that are not finite"
    if mode == "float16":
        return "values above 65504 do not fit into float16" if np.abs(values).max() >= 65520 else ""
    if mode != "kmeans" and np.abs(values).max() > LARGEST / 4:
        return "levels times the scale would be too large for float32"
    if slot.kind == "activation" and math.prod(slot.shape) * bits % 8:
        return "how many values there are could not be told from whole bytes"
    return ""


def _values(slot: Slot, weights: Weights) -> NDArray[np.float32]:
    axis = 0 if slot.axis is None else slot.axis
    try:
        return weights.array(slot.params, slot.shape, axis=axis, name=slot.field)
    except CheckError as error:
        raise error.at(slot.place) from None


# -- how ---------------------------------------------------------------------------------------------------------------


def _store(document: Document, slot: Slot, weights: Weights, mode: Mode, bits: int, per: str) -> Stored:
    import numpy as np

    values = _values(slot, weights)
    if mode == "float16":
        return _write(document, slot, weights, values, "float16", values.astype("<f2").tobytes(), None)
    if mode == "kmeans":
        table = kmeans.table(values, 1 << bits).astype(np.float32)
        levels = kmeans.nearest(values, table).reshape(values.shape)

        def fill(quantization: Any) -> None:
            quantization.lookupTableQuantization.floatValue.extend(table.tolist())
    else:
        axis = slot.axis if per == "channel" and not slot.one_scale else None
        levels, scale, bias = linear(values, bits, axis, symmetric=mode == "symmetric")

        def fill(quantization: Any) -> None:
            quantization.linearQuantization.scale.extend(scale.tolist())
            quantization.linearQuantization.bias.extend(bias.tolist())

    return _write(document, slot, weights, values, "raw", packed(levels, bits), (bits, fill))


def linear(
    values: NDArray[np.float32], bits: int, axis: int | tuple[int, ...] | None, *, symmetric: bool = False
) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32]]:
    """Levels, scale and bias of ``values``, with a scale for each index of ``axis`` (several axes: outermost first).

    Levels have the shape of ``values``; the value that a level stands for is level · scale + bias. Channels whose
    values are all equal have the scale 1 and levels 0.
    """
    import numpy as np

    axes = () if axis is None else (axis,) if isinstance(axis, int) else axis
    order = [*axes, *(a for a in range(values.ndim) if a not in axes)]
    moved = values.transpose(order)
    rows = moved.reshape(math.prod(values.shape[a] for a in axes), -1)
    top = (1 << bits) - 1
    low, high = rows.min(axis=1).astype(np.float64), rows.max(axis=1).astype(np.float64)
    if symmetric:
        scale = (np.maximum(np.abs(low), np.abs(high)) / ((1 << (bits - 1)) - 1)).astype(np.float32)
        scale[scale == 0] = 1
        bias = -np.float32(1 << (bits - 1)) * scale
    else:
        scale = ((high - low) / top).astype(np.float32)
        scale[scale == 0] = 1
        bias = low.astype(np.float32)
    levels = np.empty(rows.shape, np.uint8)
    step = max(1, _CHUNK // max(rows.shape[1], 1))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        exact = (rows[part].astype(np.float64) - bias[part, None]) / scale[part, None].astype(np.float64)
        levels[part] = np.clip(np.rint(exact), 0, top)
    back = np.argsort(order)
    return np.ascontiguousarray(levels.reshape(moved.shape).transpose(back)), scale, bias


def packed(levels: NDArray[np.uint8], bits: int) -> bytes:
    """Levels in ``bits`` bits each, most significant bit first, the last byte filled up with zeros."""
    flat = levels.reshape(-1)
    return b"".join(pack_bits(flat[at : at + _CHUNK], bits).tobytes() for at in range(0, len(flat), _CHUNK))


def _write(
    document: Document, slot: Slot, weights: Weights, values: NDArray[np.float32], encodes: str, data: bytes,
    quantization: tuple[int, Callable[[Any], None]] | None,
) -> Stored:  # fmt: skip
    """Puts new bytes in the place of the old ones, and measures what they stand for by reading them."""
    before, old = slot.encoding(weights), _size(slot, weights)
    slot.params.ClearField("quantization")
    store(document, slot.params, encodes, data)
    if quantization is not None:
        bits, fill = quantization
        slot.params.quantization.numberOfBits = bits
        fill(slot.params.quantization)
    weights = Weights(document.views)
    after = slot.encoding(weights)
    result = Stored(slot.place, slot.field, values.size, str(before), str(after), old, _size(slot, weights))
    if encodes != "float32":
        _measure(result, values, _values(slot, weights))
    return result


def _size(slot: Slot, weights: Weights) -> int:
    """Bytes of the values with the numbers that unpack them."""
    quantization = slot.params.quantization
    extra = len(quantization.linearQuantization.scale) + len(quantization.linearQuantization.bias)
    extra += len(quantization.lookupTableQuantization.floatValue)
    return sum(weights.stored(slot.params).values()) + 4 * extra


def _measure(result: Stored, before: NDArray[np.float32], after: NDArray[np.float32]) -> None:
    import numpy as np

    gap = after.astype(np.float64) - before
    size = float(np.sqrt(np.mean(np.square(before, dtype=np.float64))))
    largest = float(np.abs(before).max())
    result.error = float(np.abs(gap).max())
    result.share = result.error / largest if largest else 0.0
    result.rms = float(np.sqrt(np.mean(gap * gap))) / size if size else 0.0
    result.vanished = int(np.count_nonzero(before)) - int(np.count_nonzero((before != 0) & (after != 0)))


def _tell(step: Step, done: Sequence[Stored], notes: dict[str, list[str]]) -> None:
    from ...report.text import plural, size

    step.details["weights"] = [entry.to_dict() for entry in done]
    step.details["left"] = {reason: list(places) for reason, places in notes.items()}
    if done:
        before, after = sum(e.bytes_before for e in done), sum(e.bytes_after for e in done)
        step.notes.append(f"{sum(e.values for e in done):,} values: {size(before)} -> {size(after)}")
        worst = max(done, key=lambda entry: entry.rms)
        if worst.rms:
            step.notes.append(
                f"farthest from its values: {worst.place}: {worst.field}, {worst.rms:.2%} (root mean square),"
                f" {worst.error:.3g} at most"
            )
        vanished = sum(entry.vanished for entry in done)
        if vanished:
            most = max(done, key=lambda entry: entry.vanished)
            step.notes.append(f"{plural(vanished, 'value')} became zero, most of them in {most.place}: {most.field}")
    for reason, places in notes.items():
        shown = ", ".join(places[:3]) + (f" and {len(places) - 3:,} more" if len(places) > 3 else "")
        step.notes.append(f"left as they are: {shown} ({reason})")
