"""The interface: images made arrays and arrays images, dtypes, optional inputs.

A picture reaches the network as [1,C,H,W] (in old networks as [C,H,W] behind sequence and batch), 0..255 in the model's
order of colours. Where an array has another form, layers behind the input give it that form, so that the network
answers to a picture as it did to the array of its pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import CheckError, InputError, UnsupportedError
from ..check import versions
from ..features import ARRAY_DTYPES, COLORS, Feature, feature
from ..read import Document
from . import preprocessing
from .insert import before_output, behind_input, fill_scale
from .step import Step, feature_of, need_version, network_of

DTYPES = {name: number for number, name in ARRAY_DTYPES.items()} | {"double": 65600}
DTYPE_VERSIONS = {"float16": versions.FLOAT16, "int8": versions.INT8}
COLOR_NUMBERS = {name: number for number, name in COLORS.items()}


def _same_named(document: Document, name: str) -> list[Any]:
    """The input ``name`` and the training input of that name: they must be of one type."""
    description = document.model.description
    return [entry for side in (description.input, description.trainingInput) for entry in side if entry.name == name]


def _replace_type(document: Document, name: str, fill: Any) -> None:
    for entry in _same_named(document, name):
        optional = entry.type.isOptional
        fill(entry.type)
        entry.type.isOptional = optional


# -- inputs ------------------------------------------------------------------------------------------------------------


def input_to_image(document: Document, name: str, color: str = "", layout: str = "") -> Step:
    """Makes an array input an image: the network answers to a picture as it did to the array of its pixels, 0..255.

    ``color``: RGB, BGR, GRAYSCALE (default: RGB for 3 channels, GRAYSCALE for 1). ``layout``: "chw" or "hwc", needed
    only where the shape leaves it open. Raises ``InputError`` for arrays that are no pictures.
    """
    network, description = network_of(document), feature_of(document, name, "input")
    entry = feature(description)
    if entry.kind != "multiarray":
        raise InputError(f"input {name!r} must be an array, it is a {entry.kind}")
    if entry.default:
        raise UnsupportedError(f"input {name!r} has the default value {entry.default:g}, which a picture cannot have")
    shape = entry.shape or ()
    layout, channel = _layout(entry, shape, color, layout)
    color = color or ("GRAYSCALE" if channel == len(shape) or shape[channel] == 1 else "RGB")
    others = [e for e in document.model.description.input if e.name != name]
    images = [e for e in others if e.type.WhichOneof("Type") == "imageType"]
    legacy = network.arrayInputShapeMapping == 0
    if not legacy and images and network.imageInputShapeMapping == 0:
        raise UnsupportedError(
            "the model's other pictures have five axes, so this input cannot become a picture of four"
        )
    preprocessing.drop_entries(document, name)
    sizes = _picture_sizes(entry, shape, layout)
    _replace_type(document, name, lambda kind: _fill_image(kind, sizes, color))
    network.imageInputShapeMapping = 0 if legacy else 1
    if sizes["flexible"] is not None:
        need_version(document, versions.FLEXIBLE_SHAPES)
    need_version(document, versions.FLOAT16 if color == "GRAYSCALE_FLOAT16" else 1)
    layers = behind_input(document, name, _to_layout(shape, layout, legacy))
    after = feature(feature_of(document, name, "input"))
    return Step(
        f"make input {name!r} an image: {after}",
        feed=lambda data, _: {**data, name: _picture_of(data[name], after, layout)} if name in data else data,
        details={"layers": layers},
    )


def _layout(entry: Feature, shape: Sequence[int], color: str, layout: str) -> tuple[str, int]:
    """The layout and the axis of the channels; the axis behind the last for gray arrays [H,W]."""
    if color and color not in COLOR_NUMBERS:
        raise InputError(f"the colours must be one of {', '.join(COLOR_NUMBERS)}, got {color!r}")
    wanted = (1,) if color.startswith("GRAY") else (3,) if color else (1, 3)
    inner = list(shape)
    lead = 0
    while len(inner) > 3 and inner[0] == 1:
        inner.pop(0)
        lead += 1
    if len(inner) == 2 and 1 in wanted and layout in ("", "hw"):
        return "hw", len(shape)
    fits = []
    if len(inner) == 3:
        fits = [form for form, at in (("chw", 0), ("hwc", 2)) if inner[at] in wanted and layout in ("", form)]
    if not fits:
        channels = " or ".join(map(str, wanted))
        raise InputError(
            f"input {entry.name!r} of shape {list(shape)} is no picture: it must be [C,H,W] or [H,W,C] with {channels}"
            f" channel{'s' if wanted != (1,) else ''}, with ones in front at most",
        )
    if len(fits) > 1:
        raise InputError(
            f"input {entry.name!r} of shape {list(shape)} may be [C,H,W] or [H,W,C]: say layout chw or hwc"
        )
    chosen = fits[0]
    return chosen, lead + (0 if chosen == "chw" else 2)


def _axes(shape: Sequence[int], layout: str) -> tuple[int, int]:
    """The axes of height and width."""
    rank = len(shape)
    return (rank - 3, rank - 2) if layout == "hwc" else (rank - 2, rank - 1)


def _picture_sizes(entry: Feature, shape: Sequence[int], layout: str) -> dict[str, Any]:
    height, width = _axes(shape, layout)
    flexible = entry.flexible
    ranges = shapes = None
    if flexible and flexible.ranges:
        ranges = (flexible.ranges[width], flexible.ranges[height])
        fixed = [bounds for axis, bounds in enumerate(flexible.ranges) if axis not in (height, width)]
        rest = [size for axis, size in enumerate(shape) if axis not in (height, width)]
        if any(low > size for (low, _), size in zip(fixed, rest, strict=True)):
            raise UnsupportedError(f"input {entry.name!r}: only height and width of a picture can be flexible")
    elif flexible:
        shapes = [(s[width], s[height]) for s in flexible.shapes]
    if min(shape[width], shape[height]) < 1:
        raise InputError(f"input {entry.name!r} must declare a height and a width, got {list(shape)}")
    return {"size": (shape[width], shape[height]), "flexible": (ranges, shapes) if flexible else None}


def _fill_image(kind: Any, sizes: dict[str, Any], color: str) -> None:
    kind.imageType.SetInParent()
    image = kind.imageType
    image.width, image.height = sizes["size"]
    image.colorSpace = COLOR_NUMBERS[color]
    if sizes["flexible"] is None:
        return
    ranges, shapes = sizes["flexible"]
    if ranges:
        for target, (low, high) in zip((image.imageSizeRange.widthRange, image.imageSizeRange.heightRange), ranges,
                                       strict=True):  # fmt: skip
            target.lowerBound, target.upperBound = max(low, 1), -1 if high is None else high
    else:
        for width, height in shapes:
            image.enumeratedSizes.sizes.add(width=width, height=height)


def _to_layout(shape: Sequence[int], layout: str, legacy: bool) -> list[dict[str, Any]]:
    """Layers that make [1,C,H,W] an array of ``shape`` in that layout; in old networks the rank stays."""
    if legacy:
        swap = {"kind": "permute", "name": "hwc", "fill": lambda layer: layer.permute.axis.extend([0, 2, 3, 1])}
        return [swap] if layout == "hwc" else []
    steps: list[dict[str, Any]] = []
    if layout == "hwc":
        steps.append(
            {"kind": "transpose", "name": "hwc", "fill": lambda layer: layer.transpose.axes.extend([0, 2, 3, 1])}
        )
    missing = 4 - len(shape)
    if missing > 0:
        axes = [0, 1][:missing]
        steps.append({"kind": "squeeze", "name": "squeezed", "fill": lambda layer: layer.squeeze.axes.extend(axes)})
    elif missing < 0:
        axes = list(range(-missing))
        steps.append(
            {"kind": "expandDims", "name": "expanded", "fill": lambda layer: layer.expandDims.axes.extend(axes)}
        )
    return steps


def _picture_of(value: Any, entry: Feature, layout: str) -> Any:
    """The picture whose pixels are ``value`` rounded; an array, [H,W,3] in RGB or [H,W]."""
    import numpy as np

    array = np.asarray(value)
    assert entry.size is not None
    gray = preprocessing.is_gray(entry)
    if layout == "hwc":
        pixels = array.reshape(array.shape[-3:])
    elif layout == "hw" or gray:
        pixels = array.reshape(*array.shape[-2:], 1)
    else:
        pixels = array.reshape(array.shape[-3:]).transpose(1, 2, 0)
    pixels = pixels[..., 0] if gray else pixels[..., ::-1] if entry.color == "BGR" else pixels
    return np.ascontiguousarray(pixels)


def input_to_array(document: Document, name: str, *, keep_preprocessing: bool = True, dtype: str = "float32") -> Step:
    """Makes an image input an array of its pixels, 0..255 in the model's order of colours: [C,H,W] or [1,C,H,W].

    Preprocessing becomes layers, so that answers stay the same; without ``keep_preprocessing`` it is dropped, and the
    array holds what the first layer sees.
    """
    network, entry = network_of(document), preprocessing.image_input(document, name)
    others = [e for e in document.model.description.input if e.name != name]
    if any(e.type.WhichOneof("Type") == "imageType" for e in others) and _five_axes(document):
        raise UnsupportedError("the model's other pictures have five axes, which arrays of this network do not go with")
    shape, exact = _array_shape(document, entry)
    steps = preprocessing.as_layers(document, name) if keep_preprocessing else []
    before = preprocessing.entries_of(document, name)
    dropped = bool(before) and not keep_preprocessing
    layers = behind_input(document, name, steps)
    preprocessing.drop_entries(document, name)
    _replace_type(document, name, lambda kind: _fill_array(kind, entry, shape, dtype))
    network.arrayInputShapeMapping = int(exact)
    _version_of(document, dtype)
    after = feature(feature_of(document, name, "input"))

    def feed(data: Any, _: Any) -> Any:
        if name not in data:
            return data
        pixels = preprocessing.picture_array(entry, data[name])
        return {**data, name: pixels.reshape((1,) * (len(shape) - 3) + pixels.shape)}

    step = Step(f"make input {name!r} an array: {after}", "differs" if dropped else "equal", feed=feed)
    step.details["layers"] = layers
    if dropped:
        step.notes.append("its preprocessing is dropped")
    return step


def _five_axes(document: Document) -> bool:
    """Whether pictures have five axes in a network of layers that old networks do not have."""
    network = network_of(document)
    return network.imageInputShapeMapping == 0 and not all(map(versions.is_ios12, network.layers))


def _array_shape(document: Document, entry: Feature) -> tuple[tuple[int, ...], bool]:
    """The shape of the array with the pixels of ``entry``, and whether arrays must be mapped exactly."""
    network = network_of(document)
    assert entry.size is not None
    pixels = (1 if preprocessing.is_gray(entry) else 3, entry.size[1], entry.size[0])
    arrays = any(e.type.WhichOneof("Type") == "multiArrayType" for e in document.model.description.input)
    if arrays:
        exact = network.arrayInputShapeMapping == 1
        return ((1, *pixels) if exact else pixels), exact
    if network.imageInputShapeMapping == 1:
        return (1, *pixels), True
    return ((1, 1, *pixels), True) if _five_axes(document) else (pixels, False)


def _fill_array(kind: Any, entry: Feature, shape: Sequence[int], dtype: str) -> None:
    kind.multiArrayType.SetInParent()
    array = kind.multiArrayType
    array.shape.extend(shape)
    array.dataType = _dtype(dtype)
    lead = list(shape[:-2])
    if entry.flexible and entry.flexible.ranges:
        width, height = entry.flexible.ranges
        for low, high in (*((size, size) for size in lead), height, width):
            array.shapeRange.sizeRanges.add(lowerBound=low, upperBound=-1 if high is None else high)
    elif entry.flexible:
        for w, h in entry.flexible.shapes:
            array.enumeratedShapes.shapes.add(shape=[*lead, h, w])


# -- outputs -----------------------------------------------------------------------------------------------------------


def output_to_image(
    document: Document, name: str, color: str = "", scale: preprocessing.Numbers = 1.0,
    bias: preprocessing.Numbers = 0.0,
) -> Step:  # fmt: skip
    """Makes an array output an image: its values, times ``scale`` plus ``bias``, are rounded and clipped to 0..255.

    A network that gives 0..1 wants ``scale=255``. ``scale`` and ``bias`` become a layer. The blob must be […,C,H,W]
    with 1 or 3 channels; raises ``InputError`` if it is not, or if its shape is not known.
    """
    description = feature_of(document, name, "output")
    if description.type.WhichOneof("Type") != "multiArrayType":
        raise InputError(f"output {name!r} must be an array, it is a {feature(description).kind}")
    shape = blob_shape(document, name)
    found = [size for size in shape[-3:] if isinstance(size, int)]
    if len(found) != 3 or found[0] not in (1, 3):
        raise InputError(f"output {name!r} is no picture: it must be [..., 1 or 3, height, width], it is {list(shape)}")
    color = color or ("GRAYSCALE" if found[0] == 1 else "RGB")
    if color not in COLOR_NUMBERS or (found[0] == 1) != color.startswith("GRAY"):
        raise InputError(f"{color} does not go with {found[0]} channel{'s' * (found[0] > 1)}")
    description.type.imageType.SetInParent()
    image = description.type.imageType
    image.height, image.width, image.colorSpace = found[1], found[2], COLOR_NUMBERS[color]
    need_version(document, versions.FLOAT16 if color == "GRAYSCALE_FLOAT16" else 1)
    entry = feature(description)
    factors = preprocessing.channels(entry, scale, "scale")
    offsets = preprocessing.channels(entry, bias, "bias")
    layers: list[str] = []
    if any(factor != 1 for factor in factors) or any(offsets):
        if len(set(factors)) == 1:
            factors = factors[:1]
        fill = {"kind": "scale", "name": "pixels", "fill": lambda layer: fill_scale(document, layer, factors, offsets)}
        layers = before_output(document, name, [fill])

    def expect(answer: Any) -> Any:
        import numpy as np

        from ..pictures import to_picture

        if name not in answer:
            return answer
        values = np.asarray(answer[name], np.float32)
        values = values.reshape((1,) * (3 - values.ndim) + values.shape)
        values = values * np.asarray(factors, np.float32).reshape(-1, 1, 1) + np.asarray(offsets, np.float32).reshape(
            -1, 1, 1
        )
        return {**answer, name: to_picture(values, entry)}

    return Step(f"make output {name!r} an image: {entry}", expect=expect, details={"layers": layers})


def output_to_array(document: Document, name: str, dtype: str = "float32") -> Step:
    """Makes an image output an array [C,H,W] of the network's own values, neither rounded nor clipped."""
    description = feature_of(document, name, "output")
    entry = feature(description)
    if entry.kind != "image":
        raise InputError(f"output {name!r} must be an image, it is a {entry.kind}")
    assert entry.size is not None
    shape = [1 if preprocessing.is_gray(entry) else 3, entry.size[1], entry.size[0]]
    try:
        found = blob_shape(document, name)
    except (CheckError, UnsupportedError):
        found = ()
    if len(found) == 4 and network_of(document).arrayInputShapeMapping + network_of(document).imageInputShapeMapping:
        shape = [1, *shape]  # with exact mappings the declared rank is the blob's
    _fill_array(description.type, entry, shape, dtype)
    _version_of(document, dtype)

    def expect(answer: Any) -> Any:
        return {key: value for key, value in answer.items() if key != name}

    step = Step(f"make output {name!r} an array: {feature(description)}", expect=expect)
    step.notes.append("its values are no longer rounded and clipped to 0..255")
    return step


def blob_shape(document: Document, name: str) -> tuple[int | str, ...]:
    """The true shape of a blob for the declared inputs. Raises as lowering does; ``InputError`` if there is none."""
    from ..model import Model

    shapes = Model(document).blob_shapes()
    if name not in shapes:
        raise InputError(f"the network has no blob {name!r}")
    return tuple(shapes[name])


# -- dtypes and optional inputs ----------------------------------------------------------------------------------------


def _dtype(dtype: str) -> int:
    if dtype not in DTYPES:
        raise InputError(f"the dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")
    return DTYPES[dtype]


def _version_of(document: Document, dtype: str) -> None:
    need_version(document, DTYPE_VERSIONS.get(dtype, 1))


def set_dtype(document: Document, name: str, dtype: str) -> Step:
    """Declares another dtype of an array input or output: what apps hand over and get. The network computes as before.

    Raises ``InputError`` for what is no array, and for an output of a classifier that is not.
    """
    number = _dtype(dtype)
    description = document.model.description
    sides = (description.input, description.output, description.trainingInput)
    found = [entry for side in sides for entry in side if entry.name == name]
    if not found:
        feature_of(document, name, "output")
    for entry in found:
        if entry.type.WhichOneof("Type") != "multiArrayType":
            raise InputError(f"{name!r} must be an array to have a dtype, it is a {feature(entry).kind}")
        array = entry.type.multiArrayType
        which = array.WhichOneof("defaultOptionalValue")
        value = getattr(array, which) if which else None
        array.dataType = number
        if value is not None:
            _set_default(array, float(value))
    _version_of(document, dtype)
    lossy = dtype in ("float16", "int8", "int32") and any(entry.name == name for entry in description.output)
    return Step(f"declare {name!r} as {dtype}", "close" if lossy else "equal")


def _set_default(array: Any, value: float) -> None:
    """The default value in the field that belongs to the dtype."""
    array.ClearField("intDefaultValue")
    array.ClearField("floatDefaultValue")
    array.ClearField("doubleDefaultValue")
    kind = ARRAY_DTYPES.get(array.dataType, "float32")
    preprocessing.representable([value], "default values")
    if kind == "float64":
        array.doubleDefaultValue = value
    elif kind.startswith("float"):
        array.floatDefaultValue = value
    else:
        if value != int(value):
            raise InputError(f"the default value of {kind} must be a whole number, got {value:g}")
        array.intDefaultValue = int(value)


def set_optional(document: Document, name: str, optional: bool = True, default: float | None = None) -> Step:
    """Makes an input optional, with a ``default`` value for the whole array (else zeros), or required again.

    Raises ``InputError`` if no input would be left that must be given, or a picture is to have a default.
    """
    entry = feature_of(document, name, "input")
    kind = entry.type.WhichOneof("Type")
    if default is not None and (kind != "multiArrayType" or not optional):
        raise InputError(f"only optional arrays have a default value, {name!r} is {feature(entry)}")
    before = feature(entry)
    entry.type.isOptional = optional
    if kind == "multiArrayType":
        for field in ("intDefaultValue", "floatDefaultValue", "doubleDefaultValue"):
            entry.type.multiArrayType.ClearField(field)
        if default is not None:
            _set_default(entry.type.multiArrayType, default)
            need_version(document, versions.OPTIONAL_DEFAULT)
    inputs = document.model.description.input
    if all(other.type.isOptional for other in inputs):
        raise InputError("at least one input must be required", hint="make another one required first")
    told = f"optional{'' if default is None else f', default {default:g}'}" if optional else "required"

    def feed(data: Any, _: Any) -> Any:
        """What was left out gets the value that it stood for."""
        if name in data or before.kind != "multiarray":
            return data
        import numpy as np

        return {**data, name: np.full(before.shape or (), before.default or 0.0, np.float32)}

    return Step(f"make input {name!r} {told}", feed=feed)
