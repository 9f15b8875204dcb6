"""Why a layer answers differently: what the two values, and the two layers, have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..coreml import tensors
from ..errors import CheckError
from ..graph.rounding import EPSILON, Precision, is_exact
from .difference import difference, squeezed
from .matching import permutations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..coreml.model import Model

CLOSE = 1e-3
"""Values this near, as a share of the largest, are equal once a guess is right."""
MANY = 16
"""Elements from which on a fit means something."""


@dataclass(frozen=True)
class Cause:
    """A likely cause: ``kind`` is "parameters", "weights", "quantisation", "float16", "bfloat16", "layout",
    "preprocessing", "padding", "scale", "not a number", "rounding", "one wrong layer" or "unknown"; ``text`` says what
    was found."""

    kind: str
    text: str

    def to_dict(self) -> dict[str, str]:
        """Plain data."""
        return asdict(self)


# -- two Core ML layers ------------------------------------------------------------------------------------------------


def between(a: Model, b: Model, name: str, other: str) -> Cause | None:
    """What differs between the layers that make blob ``name`` of ``a`` and ``other`` of ``b``: parameters, weights."""
    first, second = producer(a, name), producer(b, other)
    if first is None or second is None:
        return _preprocessing(a, b, name, other)
    kinds = first.WhichOneof("layer"), second.WhichOneof("layer")
    if kinds[0] != kinds[1]:
        return Cause("parameters", f"the layer is {kinds[0]} in the first model and {kinds[1]} in the second")
    found = list(fields(getattr(first, kinds[0]), getattr(second, kinds[1])))
    if found:
        return Cause("parameters", "; ".join(found[:4]))
    return _weights(a, b, first, second)


def producer(model: Model, blob: str) -> Any:
    """The layer of the main network that makes a blob; None for inputs."""
    for layer in model.document.network.layers:
        if blob in layer.output:
            return layer
    return None


def fields(a: Any, b: Any, prefix: str = "") -> Iterator[str]:
    """Fields that two messages of one type do not have in common, as texts; weights are left out."""
    for field in a.DESCRIPTOR.fields:
        kind = field.message_type
        if field.name == "pippinView" or (kind is not None and kind.name in ("WeightParams", "NeuralNetwork")):
            continue
        x, y = getattr(a, field.name), getattr(b, field.name)
        label = f"{prefix}{field.name}"
        if hasattr(x, "extend") or hasattr(x, "keys"):
            if list(x) != list(y):
                yield f"{label} is {list(x)} in the first model and {list(y)} in the second"
        elif kind is not None:
            if a.HasField(field.name) != b.HasField(field.name):
                have = "first" if a.HasField(field.name) else "second"
                yield f"{label} is set in the {have} model only"
            else:
                yield from fields(x, y, f"{label}.")
        elif x != y:
            names = field.enum_type.values_by_number if field.enum_type is not None else {}
            x, y = (names[v].name if v in names else v for v in (x, y))
            yield f"{label} is {x} in the first model and {y} in the second"


_LINEAR = {"batchnorm", "scale", "bias"}
"""Kinds that change each channel by a factor and an offset and do nothing else."""


def heavier(suspects: list[str], a: NDArray[Any], b: NDArray[Any]) -> list[str]:
    """Of layers that cannot be told apart from outside, those that could bring the difference about.

    Where the second value is not the first up to a factor and an offset for each channel, it is none of those layers
    that do just that.
    """
    import numpy as np

    light = [place for place in suspects if place.rpartition("(")[2].rstrip(")") in _LINEAR]
    rest = [place for place in suspects if place not in light]
    if not light or not rest or a.shape != b.shape or a.ndim < 3:
        return suspects
    channels = range(a.shape[-3])
    fitted = np.stack([a[..., c, :, :] * s + t for c in channels for s, t in [_fit(a[..., c, :, :], b[..., c, :, :])]])
    moved = np.moveaxis(b, -3, 0)
    entry, before = (difference("", x, moved, scaled=True) for x in (fitted, np.moveaxis(a, -3, 0)))
    return light if entry.absolute < 0.1 * before.absolute else rest


def _weights(a: Model, b: Model, first: Any, second: Any) -> Cause | None:
    import numpy as np

    mine = {slot.field: slot for _, slot in tensors.named(a) if slot.layer == first}
    theirs = {slot.field: slot for _, slot in tensors.named(b) if slot.layer == second}
    worst: tuple[float, str, str] | None = None
    for field, slot in mine.items():
        other = theirs.get(field)
        if other is None:
            continue
        try:
            x, y = tensors.expanded(a, slot), tensors.expanded(b, other)
        except CheckError:
            continue
        if x.shape != y.shape or not x.size or np.array_equal(x, y):
            continue
        gap = float(np.sqrt(np.mean(np.square(x.astype(np.float64) - y))))
        size = float(np.sqrt(np.mean(np.square(y.astype(np.float64))))) or 1.0
        encodings = str(a.weights.encoding(slot.params)), str(b.weights.encoding(other.params))
        how = f"{encodings[0]} and {encodings[1]}" if encodings[0] != encodings[1] else ""
        if worst is None or gap / size > worst[0]:
            worst = gap / size, field, how
    if worst is None:
        return None
    share, field, how = worst
    verb = "differ" if field.endswith("eights") else "differs"
    text = f"{field} {verb} by {share:.2%} (root mean square)"
    if how:
        return Cause("quantisation", f"{text}; they are stored as {how}")
    return Cause("weights", text)


def stored_narrow(model: Model, blob: str) -> Cause | None:
    """Weights that are not stored in float32 stand in for others that were."""
    layer = producer(model, blob)
    for _, slot in tensors.named(model):
        if slot.layer == layer:
            encoding = model.weights.encoding(slot.params)
            if encoding.kind in ("linear", "lookup", "int8", "float16"):
                kind = "float16" if encoding.kind == "float16" else "quantisation"
                return Cause(kind, f"{slot.field} of {model.document.name} are stored as {encoding}")
    return None


def _preprocessing(a: Model, b: Model, name: str, other: str) -> Cause | None:
    """What two models do differently to one input before the first layer."""
    from ..coreml import preprocess

    first, second = a.inputs.get(name), b.inputs.get(other)
    if first is None or second is None or first.kind != "image" or second.kind != "image":
        return None
    if first.color != second.color:
        return Cause("preprocessing", f"colours are {first.color} in the first model and {second.color} in the second")
    steps = [preprocess.steps(m.document.network, m.inputs).get(key, []) for m, key in ((a, name), (b, other))]
    if len(steps[0]) != len(steps[1]):
        return Cause("preprocessing", f"{len(steps[0])} steps in the first model and {len(steps[1])} in the second")
    found = [text for x, y in zip(*steps, strict=True) for text in fields(x, y) if "featureName" not in text]
    return Cause("preprocessing", "; ".join(found)) if found else None


# -- pictures --------------------------------------------------------------------------------------------------------


def other_preprocessing(model: Model, name: str, value: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """What the first layer would see of a picture if it were prepared otherwise, each with what that means."""
    from . import reference

    levels = model.encoder(name)(value)
    usual = reference.preprocessed(model, name, levels)
    if levels.shape[1] == 3:
        yield (
            "RGB stands for BGR: the channels come in the other order",
            reference.preprocessed(model, name, levels[:, ::-1]),
        )
        yield "RGB stands for BGR: the channels are put in the other order after preprocessing", usual[:, ::-1]
    yield "the second run takes the levels 0..255 without preprocessing", levels
    yield "the second run takes levels / 255 without other preprocessing", levels / 255
    yield "the second run takes levels / 127.5 - 1 without other preprocessing", levels / 127.5 - 1
    yield "the second run divides by 255 once more", usual / 255
    yield "the second run leaves out a division by 255", usual * 255
    for text, turned in _turned(levels):
        yield f"the second run sees the picture {text}", reference.preprocessed(model, name, turned)


def _turned(levels: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """A picture [1,C,H,W] as it comes where its orientation is ignored."""
    yield "mirrored", levels[..., ::-1]
    yield "upside down", levels[..., ::-1, :]
    yield "turned by 180 degrees", levels[..., ::-1, ::-1]
    if levels.shape[-1] == levels.shape[-2]:
        yield "turned by 90 degrees", levels.swapaxes(-1, -2)[..., ::-1]
        yield "turned by 270 degrees", levels.swapaxes(-1, -2)[..., ::-1, :]


# -- two arrays ------------------------------------------------------------------------------------------------------


def of_values(a: NDArray[Any], b: NDArray[Any], *, is_input: bool = False) -> Cause | None:
    """What turns ``a``, which a layer should give, into ``b``, which was given instead; None if nothing simple does."""
    import numpy as np

    if bool(np.isfinite(a).all()) != bool(np.isfinite(b).all()):
        which = "second" if np.isfinite(a).all() else "first"
        return Cause("not a number", f"the {which} run has values that are infinite or no numbers")
    if a.size < MANY or a.size != b.size:
        return None
    for guess in (_channels, _layout, _narrow, _linear, _shift, _border):
        cause = guess(a, b, is_input)
        if cause is not None:
            return cause
    return None


def equal(a: NDArray[Any], b: NDArray[Any], room: float = CLOSE) -> bool:
    """Whether two arrays are the same up to a share of the largest value."""
    entry = difference("", a, b, scaled=True)
    return not entry.problem and entry.share <= room


def _channels(a: NDArray[Any], b: NDArray[Any], is_input: bool) -> Cause | None:
    """RGB for BGR."""
    if a.shape != b.shape or a.ndim < 3 or a.shape[-3] != 3:
        return None
    if not equal(a[..., ::-1, :, :], b):
        return None
    what = "RGB stands for BGR" if is_input else "the channels stand in reverse order"
    return Cause("preprocessing" if is_input else "layout", what)


def _layout(a: NDArray[Any], b: NDArray[Any], is_input: bool) -> Cause | None:
    if a.ndim > 6 or len(squeezed(a.shape)) > 5:
        return None
    for order in permutations(b.shape):
        turned = b.transpose(order)
        if squeezed(turned.shape) == squeezed(a.shape) and equal(a, turned) and not equal(a, b.reshape(a.shape)):
            return Cause("layout", f"equal once the axes of the second are put in the order {list(order)}")
        flat = turned.reshape(-1)
        if list(order) != sorted(order) and equal(a.reshape(-1), flat):
            return Cause(
                "layout", f"equal once the axes of the second are put in the order {list(order)} and regrouped"
            )
    return None


def _narrow(a: NDArray[Any], b: NDArray[Any], is_input: bool) -> Cause | None:
    """Every number of the second is one of a narrow type, and the first rounds to it or to a neighbour."""
    import numpy as np

    kinds: tuple[Precision, ...] = ("bfloat16", "float16")
    for kind in kinds:
        if not is_exact(b, kind) or is_exact(a, kind):
            continue
        gap = np.abs(a.astype(np.float64).reshape(-1) - b.reshape(-1))
        room = 2 * EPSILON[kind] * np.maximum(np.abs(b.reshape(-1)), np.abs(b).max() * 2.0**-6)
        if (gap <= room).all():
            return Cause(kind, f"every value of the second is a {kind} number, no further away than rounding to it")
    return None


def _linear(a: NDArray[Any], b: NDArray[Any], is_input: bool) -> Cause | None:
    """b = scale · a + shift, for all or for each channel."""
    import numpy as np

    if a.shape != b.shape:
        return None
    kind = "preprocessing" if is_input else "scale"
    scale, shift = _fit(a, b)
    size = float(np.abs(b).max())
    if scale and equal(a * scale + shift, b):
        return Cause(kind, f"the second is {_formula(scale, shift, size)}")
    if a.ndim < 3 or not 1 < a.shape[-3] <= 4:
        return None
    fits = [_fit(a[..., c, :, :], b[..., c, :, :]) for c in range(a.shape[-3])]
    parts = [equal(a[..., c, :, :] * s + t, b[..., c, :, :]) and s != 0 for c, (s, t) in enumerate(fits)]
    if all(parts):
        text = "; ".join(f"channel {c}: {_formula(s, t, size)}" for c, (s, t) in enumerate(fits))
        return Cause(kind, f"the second is, {text}")
    return None


def _fit(a: NDArray[Any], b: NDArray[Any]) -> tuple[float, float]:
    import numpy as np

    x, y = a.astype(np.float64).reshape(-1), b.astype(np.float64).reshape(-1)
    centred = x - x.mean()
    power = float(centred @ centred)
    scale = float(centred @ (y - y.mean())) / power if power else 0.0
    return scale, float(y.mean() - scale * x.mean())


def _formula(scale: float, shift: float, size: float) -> str:
    text = f"{scale:.6g} x the first"
    return f"{text} {'+' if shift > 0 else '-'} {abs(shift):.6g}" if abs(shift) > CLOSE * size else text


def _shift(a: NDArray[Any], b: NDArray[Any], is_input: bool) -> Cause | None:
    """The second is the first, moved by a pixel: padding on the other side."""
    if a.shape != b.shape or a.ndim < 2 or min(a.shape[-2:]) < 4:
        return None
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            if (down or right) and equal(_window(a, -down, -right), _window(b, down, right)):
                return Cause("padding", f"the second is the first moved by {down} rows and {right} columns")
    return None


def _window(x: NDArray[Any], down: int, right: int) -> NDArray[Any]:
    """The part of a picture that overlaps with itself moved by so many rows and columns."""
    rows = slice(max(down, 0), x.shape[-2] + min(down, 0))
    columns = slice(max(right, 0), x.shape[-1] + min(right, 0))
    return x[..., rows, columns]


def _border(a: NDArray[Any], b: NDArray[Any], is_input: bool) -> Cause | None:
    """Only the border differs."""
    import numpy as np

    if a.shape != b.shape or a.ndim < 2 or min(a.shape[-2:]) < 8:
        return None
    size = float(np.abs(b).max()) or 1.0
    apart = (np.abs(a.astype(np.float64) - b) > CLOSE * size).reshape(-1, *a.shape[-2:]).any(axis=0)
    width = max(1, min(a.shape[-2:]) // 8)
    if apart.any() and not apart[width:-width, width:-width].any():
        return Cause("padding", "only the border differs")
    return None
