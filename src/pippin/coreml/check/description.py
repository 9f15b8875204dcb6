"""The rules of feature descriptions, shapes, flexible sizes, default values and optional features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import versions
from .report import Findings, Place, show

_NETWORKS = ("neuralNetwork", "neuralNetworkClassifier", "neuralNetworkRegressor")
_PIPELINES = ("pipeline", "pipelineClassifier", "pipelineRegressor")
_EMPTY_INPUT = frozenset((*_NETWORKS, *_PIPELINES, "mlProgram"))
_FUNCTIONS = frozenset(("mlProgram",))
_DEFAULTS = frozenset((*_NETWORKS, "serializedModel", "mlProgram"))
_OPTIONAL = frozenset(
    (
        *("imputer", "treeEnsembleClassifier", "treeEnsembleRegressor", "itemSimilarityRecommender", "identity"),
        *(*_PIPELINES, "serializedModel", "mlProgram"),
    )
)
"""Model types whose inputs may all be optional; for networks one must not be, for the others none may be."""

FLOAT16, FLOAT32, DOUBLE, INT8, INT32 = 65552, 65568, 65600, 131080, 131104
TYPE_NAMES = {FLOAT16: "FLOAT16", FLOAT32: "FLOAT32", DOUBLE: "DOUBLE", INT8: "INT8", INT32: "INT32"}
_TYPE_VERSIONS = {DOUBLE: 1, FLOAT32: 1, INT32: 1, FLOAT16: versions.FLOAT16, INT8: versions.INT8}
_DEFAULT_TYPES = {
    "doubleDefaultValue": (DOUBLE,),
    "floatDefaultValue": (FLOAT32, FLOAT16),
    "intDefaultValue": (INT32, INT8),
}
GRAYSCALE, RGB, BGR, GRAYSCALE_FLOAT16 = 10, 20, 30, 40
_COLOR_VERSIONS = {GRAYSCALE: 1, RGB: 1, BGR: 1, GRAYSCALE_FLOAT16: versions.FLOAT16}


def check_description(model: Any, place: Place, findings: Findings) -> None:
    """The description of ``model``: every feature, and what its type allows about inputs, outputs and functions."""
    description, version, kind = model.description, model.specificationVersion, model.WhichOneof("Type")
    if len(description.functions) or description.defaultFunctionName:
        _check_functions(description, version, kind, place, findings)
    else:
        _check_interface(description, version, kind, place, findings)
    _check_optional(description, version, kind, place, findings)


def _check_interface(description: Any, version: int, kind: str | None, place: Place, findings: Findings) -> None:
    if kind is None:
        pass  # told already, and what a model may lack depends on its type
    elif not len(description.input):
        if kind not in _EMPTY_INPUT:
            required = f"hold at least 1 feature for the model type {kind}"
            findings.add("inputs-missing", place, "description.input", required, "none")
        elif version < versions.EMPTY_INPUT:
            required = f"hold at least 1 feature before specificationVersion {versions.EMPTY_INPUT}"
            findings.add("inputs-missing", place, "description.input", required, f"none at version {version}")
    if kind is not None and not len(description.output):
        findings.add("outputs-missing", place, "description.output", "hold at least 1 feature", "none")
    for side in ("input", "output", "state"):
        check_features(getattr(description, side), side, version, place, findings)


def _check_functions(description: Any, version: int, kind: str | None, place: Place, findings: Findings) -> None:
    if kind not in _FUNCTIONS:
        findings.add("functions-not-allowed", place, "description.functions", f"be empty for the model type {kind}")
        return
    if version < versions.FUNCTIONS:
        required = f"be at least {versions.FUNCTIONS} for functions"
        findings.add("version-feature", place, "specificationVersion", required, str(version))
    sides = ("input", "output", "state", "predictedFeatureName", "predictedProbabilitiesName", "trainingInput")
    for field in sides:
        if len(getattr(description, field)):
            findings.add("functions-invalid", place, f"description.{field}", "be empty beside functions")
    for function in description.functions:
        inside = place.inside(f"function {show(function.name)}")
        for side in ("input", "output", "state"):
            check_features(getattr(function, side), side, version, inside, findings)
    if description.defaultFunctionName not in {function.name for function in description.functions}:
        found = show(description.defaultFunctionName)
        findings.add("functions-invalid", place, "description.defaultFunctionName", "name one of the functions", found)


def _check_optional(description: Any, version: int, kind: str | None, place: Place, findings: Findings) -> None:
    for feature in description.input:
        type_ = feature.type
        if not type_.isOptional or not type_.multiArrayType.WhichOneof("defaultOptionalValue"):
            continue
        where = versions.feature_place(place, "input", feature)
        field = "type.multiArrayType.defaultOptionalValue"
        if kind is None:
            continue
        if kind not in _DEFAULTS:
            findings.add("default-not-allowed", where, field, f"not be set for the model type {kind}")
        elif version < versions.OPTIONAL_DEFAULT:
            required = f"be at least {versions.OPTIONAL_DEFAULT} for a default value"
            findings.add("version-feature", where, "specificationVersion", required, str(version))
    optional = [feature for feature in description.input if feature.type.isOptional]
    if kind in _NETWORKS:
        # a state is needed as well, but Apple's two checks of this agree only on inputs that are neither
        needed = [f for f in description.input if not f.type.isOptional and f.type.WhichOneof("Type") != "stateType"]
        if len(description.input) and not needed:
            required = "hold at least 1 feature that is neither optional nor a state"
            findings.add("inputs-all-optional", place, "description.input", required, "none")
    elif kind is not None and kind not in _OPTIONAL:
        for feature in optional:
            where = versions.feature_place(place, "input", feature)
            required = f"not be set for the model type {kind}"
            findings.add("input-optional-not-allowed", where, "type.isOptional", required)
    for feature in description.output:
        if feature.type.isOptional:
            where = versions.feature_place(place, "output", feature)
            findings.add("output-optional", where, "type.isOptional", "not be set for an output")


def check_features(features: Sequence[Any], side: str, version: int, place: Place, findings: Findings) -> None:
    """Each description of ``features``; ``side`` is "input", "output" or "state"."""
    for index, feature in enumerate(features):
        where = versions.feature_place(place, side, feature)
        if not feature.name:
            where = place.inside(f"{side}[{index}]")
            findings.add("feature-name-empty", where, "name", "not be empty")
        _Feature(feature, side, version, where, findings).check()


class _Feature:
    """One feature description while it is checked."""

    def __init__(self, feature: Any, side: str, version: int, place: Place, findings: Findings) -> None:
        self.type = feature.type
        self.side = side
        self.version = version
        self.place = place
        self.findings = findings

    def add(self, code: str, field: str, required: str = "", found: str = "") -> None:
        self.findings.add(code, self.place, field, required, found)

    def since(self, version: int, what: str) -> None:
        """``what`` came with a version of the format."""
        if self.version < version > 1:
            self.add("version-feature", "specificationVersion", f"be at least {version} for {what}", str(self.version))

    def check(self) -> None:
        chosen = self.type.WhichOneof("Type")
        if chosen is None:
            self.add("feature-type-missing", "type", "be set", "none")
            return
        if self.side == "state" and chosen != "stateType":
            self.add("feature-place", "type", "be stateType in description.state", chosen)
        elif self.side == "output" and chosen == "stateType":
            self.add("feature-place", "type", "not be stateType in description.output")
        if chosen == "imageType":
            self.image(self.type.imageType)
        elif chosen == "multiArrayType":
            self.array(self.type.multiArrayType)
        elif chosen == "dictionaryType":
            if self.type.dictionaryType.WhichOneof("KeyType") is None:
                self.add("feature-key-type", "type.dictionaryType", "set int64KeyType or stringKeyType", "neither")
        elif chosen == "sequenceType":
            self.sequence(self.type.sequenceType)
        elif chosen == "stateType":
            self.state(self.type.stateType)

    def sequence(self, sequence: Any) -> None:
        self.since(versions.SEQUENCE, "a sequence")
        self.range(sequence.sizeRange, "type.sequenceType.sizeRange")
        if sequence.WhichOneof("Type") is None:
            self.add("feature-key-type", "type.sequenceType", "set int64Type or stringType", "neither")

    def range(self, range_: Any, field: str) -> None:
        """An upper bound of 0 or less stands for none."""
        if 0 < range_.upperBound < range_.lowerBound:
            found = f"{range_.lowerBound} to {range_.upperBound}"
            self.add("size-range", field, "have an upperBound not below its lowerBound", found)

    def within(self, value: int, range_: Any, field: str) -> None:
        """A default size must lie in its range; here an upper bound of 0 counts as a bound."""
        if value < range_.lowerBound or 0 <= range_.upperBound < value:
            upper = range_.upperBound if range_.upperBound >= 0 else "no limit"
            self.add("default-outside-range", field, f"lie in {range_.lowerBound} to {upper}", str(value))

    # arrays -----------------------------------------------------------------------------------------------------

    def array(self, array: Any) -> None:
        field = "type.multiArrayType"
        shape = list(array.shape)
        flexible = array.WhichOneof("ShapeFlexibility") if self.version >= versions.FLEXIBLE_SHAPES else None
        if flexible == "enumeratedShapes":
            self.enumerated_shapes(array.enumeratedShapes.shapes, shape)
        elif flexible == "shapeRange":
            self.shape_range(array.shapeRange.sizeRanges, shape)
        elif self.side == "input" and not shape:
            self.add("array-shape-missing", f"{field}.shape", "be given for an input", "none")
        if any(dim < 0 for dim in shape):
            self.add("array-shape-negative", f"{field}.shape", "hold no negative dim", show(shape))
        self.data_type(array.dataType, field)
        default = array.WhichOneof("defaultOptionalValue")
        if default and array.dataType not in _DEFAULT_TYPES[default]:
            found = TYPE_NAMES.get(array.dataType, str(array.dataType))
            self.add("default-type", f"{field}.{default}", "agree with dataType", found)
        elif default == "intDefaultValue" and array.dataType == INT8 and not -128 <= array.intDefaultValue <= 127:
            self.add("default-type", f"{field}.{default}", "lie in -128 to 127", str(array.intDefaultValue))

    def enumerated_shapes(self, shapes: Sequence[Any], shape: list[int]) -> None:
        field = "type.multiArrayType.enumeratedShapes.shapes"
        if not len(shapes):
            self.add("array-enumerated", field, "hold at least 1 shape", "none")
            return
        for index, entry in enumerate(shapes):
            if not len(entry.shape):
                self.add("array-enumerated", f"{field}[{index}]", "hold at least 1 dim", "none")
        if shape and not any(list(entry.shape) == shape for entry in shapes):
            self.add("array-enumerated", field, f"list the default shape {show(shape)}", str(len(shapes)) + " others")

    def shape_range(self, ranges: Sequence[Any], shape: list[int]) -> None:
        field = "type.multiArrayType.shapeRange.sizeRanges"
        for index, range_ in enumerate(ranges):
            self.range(range_, f"{field}[{index}]")
        if shape and len(shape) != len(ranges):
            found = str(len(ranges))
            self.add("array-range", field, f"hold a range for each of the {len(shape)} dims of shape", found)
        elif shape:
            for index, (dim, range_) in enumerate(zip(shape, ranges, strict=True)):
                self.within(dim, range_, f"type.multiArrayType.shape[{index}]")

    def data_type(self, data_type: int, field: str) -> None:
        since = _TYPE_VERSIONS.get(data_type)
        if since is None:
            required = f"be one of {', '.join(TYPE_NAMES.values())}"
            self.add("array-data-type", f"{field}.dataType", required, str(data_type) if data_type else "none")
        else:
            self.since(since, f"{TYPE_NAMES[data_type]} arrays")

    # images -----------------------------------------------------------------------------------------------------

    def image(self, image: Any) -> None:
        field = "type.imageType"
        width, height = image.width, image.height
        flexible = image.WhichOneof("SizeFlexibility") if self.version >= versions.FLEXIBLE_SHAPES else None
        has_default = width > 0 and height > 0
        if flexible == "enumeratedSizes":
            sizes = [(size.width, size.height) for size in image.enumeratedSizes.sizes]
            if not sizes:
                self.add("image-enumerated", f"{field}.enumeratedSizes.sizes", "hold at least 1 size", "none")
                return
            if has_default and (width, height) not in sizes:
                required = f"list the default size {width} x {height}"
                self.add("image-enumerated", f"{field}.enumeratedSizes.sizes", required, f"{len(sizes)} others")
            if not has_default:
                width, height = sizes[0]
        elif flexible == "imageSizeRange":
            for name, value in (("width", width), ("height", height)):
                range_ = getattr(image.imageSizeRange, f"{name}Range")
                self.range(range_, f"{field}.imageSizeRange.{name}Range")
                if has_default:
                    self.within(value, range_, f"{field}.{name}")
            if not has_default:
                width = image.imageSizeRange.widthRange.lowerBound
                height = image.imageSizeRange.heightRange.lowerBound
        if width <= 0 or height <= 0:
            self.add("image-size", field, "have a width and a height above 0", f"{width} x {height}")
        since = _COLOR_VERSIONS.get(image.colorSpace)
        if since is None:
            found = str(image.colorSpace) if image.colorSpace else "none"
            self.add("image-color", f"{field}.colorSpace", "be GRAYSCALE, RGB, BGR or GRAYSCALE_FLOAT16", found)
        else:
            self.since(since, "GRAYSCALE_FLOAT16 images")

    # states -----------------------------------------------------------------------------------------------------

    def state(self, state: Any) -> None:
        self.since(versions.STATE, "a state")
        array, field = state.arrayType, "type.stateType.arrayType"
        if self.type.isOptional:
            self.add("state-invalid", "type.isOptional", "not be set for a state")
        if not len(array.shape) or any(dim < 0 for dim in array.shape):
            self.add("state-invalid", f"{field}.shape", "hold at least 1 dim and none below 0", show(array.shape))
        if array.dataType not in (FLOAT16, INT8):
            found = TYPE_NAMES.get(array.dataType, str(array.dataType))
            self.add("state-invalid", f"{field}.dataType", "be FLOAT16 or INT8", found)
        for group in ("ShapeFlexibility", "defaultOptionalValue"):
            if array.WhichOneof(group):
                self.add("state-invalid", f"{field}.{array.WhichOneof(group)}", "not be set for a state")
