"""What a model takes and gives: descriptions of features, and values to blobs and back.

Sources: FeatureTypes of the format; NeuralNetworkMultiArrayShapeMapping and NeuralNetworkImageShapeMapping.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import CheckError, InputError
from .pictures import converted, open_picture, place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ARRAY_DTYPES = {65552: "float16", 65568: "float32", 65600: "float64", 131080: "int8", 131104: "int32"}
COLORS = {10: "GRAYSCALE", 20: "RGB", 30: "BGR", 40: "GRAYSCALE_FLOAT16"}
_KINDS = {
    "int64Type": "int64",
    "doubleType": "double",
    "stringType": "string",
    "imageType": "image",
    "multiArrayType": "multiarray",
    "dictionaryType": "dictionary",
    "sequenceType": "sequence",
    "stateType": "state",
}


@dataclass(frozen=True)
class Flexibility:
    """Sizes a feature may have: either ``shapes``, an enumeration, or ``ranges`` of (lower, upper or None) a dim.

    For images a shape is (width, height).
    """

    shapes: tuple[tuple[int, ...], ...] = ()
    ranges: tuple[tuple[int, int | None], ...] = ()

    def allows(self, shape: Sequence[int]) -> bool:
        """Whether ``shape`` is among them."""
        if self.shapes:
            return tuple(shape) in self.shapes
        return len(shape) == len(self.ranges) and all(
            low <= size and (high is None or size <= high) for size, (low, high) in zip(shape, self.ranges, strict=True)
        )

    def __str__(self) -> str:
        if self.shapes:
            return "one of " + ", ".join(str(list(shape)) for shape in self.shapes)
        return "[" + ", ".join(_range(low, high) for low, high in self.ranges) + "]"


def _range(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} or more"
    return str(low) if low == high else f"{low}-{high}"


@dataclass(frozen=True)
class Feature:
    """An input or output as the model declares it.

    ``kind`` is "image", "multiarray", "string", "int64", "double", "dictionary", "sequence" or "state". ``shape`` and
    ``dtype`` belong to multi-arrays, ``size`` (width, height) and ``color`` to images. ``default`` is the value of an
    optional input that is left out. ``flexible`` says which other shapes are allowed; None if none.
    """

    name: str
    kind: str
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    size: tuple[int, int] | None = None
    color: str | None = None
    optional: bool = False
    default: float | None = None
    flexible: Flexibility | None = None
    key: str | None = None
    description: str = ""

    def __str__(self) -> str:
        if self.kind == "image":
            assert self.size is not None
            anything = self.flexible is not None and self.size == (1, 1)  # no size is usual
            text = f"image {self.color}" if anything else f"image {self.size[0]}x{self.size[1]} {self.color}"
        elif self.kind == "multiarray":
            text = f"{self.dtype} array {list(self.shape or ())}"
        elif self.kind == "dictionary":
            text = f"dictionary {self.key} -> double"
        else:
            text = self.kind
        if self.flexible:
            text += f", sizes {self.flexible}"
        if self.optional:
            text += ", optional"
        return text


def feature(description: Any) -> Feature:
    """The ``Feature`` of a FeatureDescription message."""
    kind = description.type.WhichOneof("Type")
    if kind is None:
        raise CheckError(f"feature {description.name!r} must declare a type, got none")
    common: dict[str, Any] = {
        "name": description.name,
        "kind": _KINDS[kind],
        "optional": bool(description.type.isOptional),
        "description": description.shortDescription,
    }
    message = getattr(description.type, kind)
    if kind == "stateType":
        message = message.arrayType
    if kind in ("multiArrayType", "stateType"):
        return Feature(**common, **_array(message))
    if kind == "imageType":
        return Feature(**common, **_image(message))
    if kind == "dictionaryType":
        return Feature(**common, key="int64" if message.WhichOneof("KeyType") == "int64KeyType" else "string")
    return Feature(**common)


def _array(message: Any) -> dict[str, Any]:
    shape = tuple(int(size) for size in message.shape)
    flexible = None
    which = message.WhichOneof("ShapeFlexibility")
    if which == "enumeratedShapes":
        flexible = Flexibility(shapes=tuple(tuple(map(int, entry.shape)) for entry in message.enumeratedShapes.shapes))
        shape = shape or (flexible.shapes[0] if flexible.shapes else ())
    elif which == "shapeRange":
        flexible = Flexibility(ranges=tuple(_bounds(entry) for entry in message.shapeRange.sizeRanges))
        shape = shape or tuple(low for low, _ in flexible.ranges)
    default = message.WhichOneof("defaultOptionalValue")
    return {
        "shape": shape,
        "dtype": ARRAY_DTYPES.get(message.dataType, "float32"),
        "flexible": flexible if flexible and (flexible.shapes or flexible.ranges) else None,
        "default": float(getattr(message, default)) if default else None,
    }


def _image(message: Any) -> dict[str, Any]:
    size = int(message.width), int(message.height)
    flexible = None
    which = message.WhichOneof("SizeFlexibility")
    if which == "enumeratedSizes":
        sizes = tuple((int(entry.width), int(entry.height)) for entry in message.enumeratedSizes.sizes)
        flexible = Flexibility(shapes=sizes)
        size = size if min(size) > 0 or not sizes else sizes[0]
    elif which == "imageSizeRange":
        ranges = (_bounds(message.imageSizeRange.widthRange), _bounds(message.imageSizeRange.heightRange))
        flexible = Flexibility(ranges=ranges)
        size = size if min(size) > 0 else (ranges[0][0], ranges[1][0])
    return {"size": size, "color": COLORS.get(message.colorSpace, "RGB"), "flexible": flexible}


def _bounds(entry: Any) -> tuple[int, int | None]:
    return int(entry.lowerBound), int(entry.upperBound) if entry.upperBound >= 0 else None


# -- multi-arrays ----------------------------------------------------------------------------------------------------


@dataclass
class ArrayInput:
    """Turns a value for a multi-array input into a float32 blob.

    With the exact mapping the blob has the value's own shape; with the legacy mapping it is [N,C,H,W], or
    [S,B,C,H,W] for more than one sequence step.
    """

    feature: Feature
    rank5: bool
    _shape: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._shape = self.feature.shape or ()

    def __call__(self, value: Any) -> NDArray[np.float32]:
        import numpy as np

        if type(value) is np.ndarray and value.dtype == np.float32 and not self.rank5 and value.shape == self._shape:
            return value
        array = self._numeric(value)
        shape = self.checked(array.shape)
        if shape != array.shape:
            array = array.reshape(shape)
        return self.blob(array) if self.rank5 else array

    def checked(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the multi-array that a value of ``shape`` stands for; raises ``InputError`` if it fits not."""
        wanted = self._shape
        if shape == wanted or self._allowed(shape):
            return shape
        if shape == () and math.prod(wanted) == 1:
            return wanted
        raise InputError(
            f"the array must have the shape {self.wanted()}, got {list(shape)}",
            where=f"input {self.feature.name!r}",
            hint=_transposed(shape, wanted),
        )

    def wanted(self) -> str:
        """The allowed shapes as text."""
        if self.feature.flexible:
            return str(self.feature.flexible)
        text = str(list(self._shape))
        if self.rank5:
            lead = "sequence, batch"
            text += f" (or with {lead} in front: [{lead}, {', '.join(map(str, self._shape))}])"
        return text

    def _allowed(self, shape: tuple[int, ...]) -> bool:
        if self.feature.flexible and self.feature.flexible.allows(shape):
            return True
        wanted = self._shape
        if not self.rank5:
            return len(shape) == len(wanted) and all(w in (s, 0) for s, w in zip(shape, wanted, strict=True))
        # the legacy mapping declares [C] or [C,H,W]; sequence and batch may be presented in front
        inner = shape[len(shape) - len(wanted) :]
        if not 0 <= len(shape) - len(wanted) <= 2:
            return len(shape) == 5 and len(wanted) == 1 and shape[2:] == (*wanted, 1, 1)
        if self.feature.flexible and self.feature.flexible.allows(inner):
            return True
        return all(w in (s, 0) for s, w in zip(inner, wanted, strict=True))

    def sized(self, shape: Any = None) -> tuple[int, ...]:
        """The shape of the blob for a multi-array of ``shape`` (default: as declared)."""
        sizes = self._shape if shape is None or shape is self._shape else self.checked(_sizes(shape, self.feature))
        return self._blob_shape(sizes) if self.rank5 else sizes

    def blob(self, array: NDArray[np.float32]) -> NDArray[np.float32]:
        """Maps an array to the legacy form: [C] or [C,H,W], with batch or sequence and batch in front."""
        return array.reshape(self._blob_shape(array.shape))

    def _blob_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        lead: tuple[int, ...]
        inner: tuple[int, ...]
        if len(shape) == 5:
            lead, inner = shape[:2], shape[2:]
        else:
            declared = len(self._shape)
            inner = shape[len(shape) - declared :] if declared in (1, 3) else shape[-3:]
            lead = shape[: len(shape) - len(inner)]
            inner = (*inner, 1, 1) if len(inner) == 1 else (1,) * (3 - len(inner)) + tuple(inner)
            lead = (1,) * (2 - len(lead)) + tuple(lead)
        return (lead[1], *inner) if lead[0] == 1 else (*lead, *inner)

    def _numeric(self, value: Any) -> NDArray[np.float32]:
        import numpy as np

        try:
            array = np.asarray(value)
            if array.dtype.kind not in "fiub":
                raise TypeError
            with np.errstate(over="ignore"):  # what float32 cannot hold is infinite
                return np.asarray(array, np.float32, order="C")
        except (TypeError, ValueError):
            got = f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
            raise InputError(
                f"the value must be an array of numbers, got {got}",
                where=f"input {self.feature.name!r}",
                hint=f"the model wants {self.feature}",
            ) from None

    def missing(self) -> NDArray[np.float32]:
        """The blob of an optional input that is left out: its default value, or zeros."""
        import numpy as np

        array = np.full(self._shape, self.feature.default or 0.0, np.float32)
        return self.blob(array) if self.rank5 else array


def items(data: Any) -> list[Mapping[str, Any]]:
    """The elements of a list of inputs. Raises ``InputError`` for what is no dict of values and no list of such."""
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        data = list(data)
        wrong = [item for item in data if not isinstance(item, Mapping)]
        if not wrong:
            return data
        raise InputError(f"each element of the list must be a dict of values by input name, got {_kind(wrong[0])}")
    raise InputError(f"the inputs must be a dict of values by input name, or a list of such, got {_kind(data)}")


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def _sizes(shape: Any, feature: Feature) -> tuple[int, ...]:
    """A shape that a caller wrote, as integers."""
    try:
        return tuple(operator.index(size) for size in shape)
    except TypeError:
        raise InputError(
            f"the shape must be a sequence of integers, got {shape!r}", where=f"input {feature.name!r}"
        ) from None


def _transposed(shape: Sequence[int], wanted: Sequence[int]) -> str:
    if sorted(shape) == sorted(wanted):
        return "the sizes are right but in another order; transpose the array"
    if math.prod(shape) == math.prod(wanted):
        return "the number of elements is right; reshape the array"
    return ""


# -- images ----------------------------------------------------------------------------------------------------------


@dataclass
class ImageInput:
    """Turns a picture (PIL image, path, or array [H,W,3] or [H,W] in RGB or gray) into a blob [1,C,H,W], 0..255."""

    feature: Feature
    rank5: bool

    def __call__(self, value: Any) -> NDArray[np.float32]:
        import numpy as np

        pixels = self._pixels(value)
        feature = self.feature
        if pixels.ndim == 2:
            return np.ascontiguousarray(pixels[None, None], np.float32)
        if feature.color == "BGR":
            pixels = pixels[:, :, ::-1]
        return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], np.float32)

    def sized(self, size: Any = None) -> tuple[int, ...]:
        """The shape of the blob for a picture of ``size`` (width, height; default: as declared)."""
        sizes = self.feature.size if size is None else self.checked(_sizes(size, self.feature))
        assert sizes is not None
        channels = 1 if self.feature.color in ("GRAYSCALE", "GRAYSCALE_FLOAT16") else 3
        return (1, channels, sizes[1], sizes[0])

    def checked(self, size: tuple[int, ...], where: str = "") -> tuple[int, ...]:
        """``size`` (width, height), if a picture may have it; raises ``InputError`` if not."""
        feature = self.feature
        if size == feature.size or (feature.flexible and feature.flexible.allows(size)):
            return size
        assert feature.size is not None
        wanted = str(feature.flexible) if feature.flexible else f"{feature.size[0]}x{feature.size[1]}"
        raise InputError(
            f"the picture must have the size (width x height) {wanted}, got {'x'.join(map(str, size))}",
            where=where or f"input {feature.name!r}",
            hint="resize it first: picture.resize(size), or --resize on the command line",
        )

    def _pixels(self, value: Any) -> NDArray[Any]:
        import numpy as np

        gray = self.feature.color in ("GRAYSCALE", "GRAYSCALE_FLOAT16")
        if isinstance(value, np.ndarray):
            channels = value.shape[2] if value.ndim == 3 else 1
            if value.dtype.kind not in "fiu" or value.ndim not in (2, 3) or channels != (1 if gray else 3):
                raise InputError(
                    f"an array for this picture must be {'[height, width]' if gray else '[height, width, 3] in RGB'},"
                    f" got {value.dtype}{list(value.shape)}",
                    where=f"input {self.feature.name!r}",
                    hint=_transposed_picture(value, gray),
                )
            self.checked((value.shape[1], value.shape[0]))
            return value.reshape(value.shape[:2]) if gray else value
        where = place(self.feature.name, value)
        # the size is looked at before the pixels are decoded
        picture = open_picture(value, where, lambda size: self.checked(size, where))
        if self.feature.color == "GRAYSCALE_FLOAT16" and picture.mode == "F":
            return np.asarray(picture, np.float32)
        return np.asarray(converted(picture, "L" if gray else "RGB", where))

    def missing(self) -> NDArray[np.float32]:
        """The blob of an optional picture that is left out: black."""
        import numpy as np

        return np.zeros(self.sized(), np.float32)


def _transposed_picture(value: Any, gray: bool) -> str:
    if value.ndim == 3 and value.shape[2] == 4:
        return "drop the alpha channel: array[:, :, :3]"
    if value.ndim == 3 and value.shape[0] in (1, 3):
        return "channels come last: array.transpose(1, 2, 0)"
    if value.dtype.kind == "b":
        return "levels are 0 to 255: array * 255.0"
    return "convert it to gray first" if gray and value.ndim == 3 else ""


def to_integers(values: NDArray[np.float32], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values rounded to the nearest integer (half to even) and kept within the range of ``dtype``; NaN becomes 0."""
    import numpy as np

    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.clip(np.rint(np.nan_to_num(values, nan=0.0).astype(np.float64)), low, high).astype(dtype)
