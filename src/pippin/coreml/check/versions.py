"""Which specificationVersion introduced what: the facts, and the walk that finds what a model uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..read import NETWORKS
from ..wire import View
from .report import Place
from .weights import Storage

NEWEST = 10
FLEXIBLE_SHAPES = 3
SEQUENCE = 3
UPDATABLE = 4
OPTIONAL_DEFAULT = 5
FLOAT16 = 7
STATE = EMPTY_INPUT = FUNCTIONS = 9
INT8 = 10

_IOS12 = """
convolution innerProduct batchnorm activation pooling padding concat lrn softmax split add multiply unary upsample bias
l2normalize reshape flatten permute reduce loadConstant scale simpleRecurrent gru uniDirectionalLSTM biDirectionalLSTM
crop average max min dot mvn embedding sequenceRepeat reorganizeData slice custom resizeBilinear cropResize
"""
_V5 = "cumSum oneHot clampedReLU argSort pooling3d globalPooling3d sliceBySize convolution3d"
IOS12 = frozenset(_IOS12.split())
"""Layer kinds that networks of versions 1 to 3 may use (``is_ios12`` has the exceptions)."""

_V3_LAYERS = frozenset({"resizeBilinear", "cropResize"})
_V5_LAYERS = frozenset(_V5.split())
_V3_TYPES = ("customModel", "textClassifier", "wordTagger", "nonMaximumSuppression", "bayesianProbitRegressor")
_V4_TYPES = ("kNearestNeighborsClassifier", "linkedModel", "itemSimilarityRecommender", "soundAnalysisPreprocessing")
_OTHER_TYPES = {"serializedModel": 5, "mlProgram": 6, "audioFeaturePrint": 6, "classConfidenceThresholding": 8}
_TYPES = dict.fromkeys(_V3_TYPES, 3) | dict.fromkeys(_V4_TYPES, 4) | _OTHER_TYPES

_PIXEL_SHUFFLE = 2
_WEIGHTS = {
    "convolution": ("weights", "bias"),
    "innerProduct": ("weights", "bias"),
    "batchedMatmul": ("weights", "bias"),
    "batchnorm": ("gamma", "beta", "mean", "variance"),
    "loadConstant": ("data",),
    "scale": ("scale", "bias"),
    "embedding": ("weights", "bias"),
    "embeddingND": ("weights", "bias"),
    "simpleRecurrent": ("weightMatrix", "recursionMatrix", "biasVector"),
    "gru": tuple(
        f"{gate}Gate{what}"
        for what in ("WeightMatrix", "RecursionMatrix", "BiasVector")
        for gate in ("update", "reset", "output")
    ),
}
"""The weights whose encoding ties a model to a version."""


def is_ios12(layer: Any) -> bool:
    """Whether a network of versions 1 to 3 may hold the layer; one that may not switches the rank rules on."""
    kind = layer.WhichOneof("layer")
    if kind not in IOS12:
        return False
    p = getattr(layer, kind)
    if kind == "convolution":
        return len(layer.input) == 1
    if kind == "innerProduct":
        return not p.int8DynamicQuantize
    if kind == "upsample":
        return not p.linearUpsampleMode and not len(p.fractionalScalingFactor)
    if kind == "reorganizeData":
        return bool(p.mode != _PIXEL_SHUFFLE)
    return True


def layer_version(layer: Any, views: Sequence[View]) -> Iterator[tuple[int, str]]:
    """The versions that introduced the kind of ``layer`` and the features it uses, as far as they are above 1."""
    kind = layer.WhichOneof("layer")
    if kind is None:
        return
    p = getattr(layer, kind)
    if kind == "custom":
        yield 2, "custom layers"
    elif kind in _V3_LAYERS:
        yield 3, f"the layer {kind}"
    elif kind in _V5_LAYERS:
        yield 5, f"the layer {kind}"
    elif not is_ios12(layer):
        yield 4, f"the layer {kind}" if kind not in IOS12 else f"this form of the layer {kind}"
    if kind == "sliceDynamic" and (len(layer.input) == 7 or len(p.squeezeMasks)):
        yield 5, "squeezeMasks of sliceDynamic"
    elif kind == "upsample" and (p.linearUpsampleMode or len(p.fractionalScalingFactor)):
        yield 5, "linearUpsampleMode and fractionalScalingFactor of upsample"
    elif kind == "reorganizeData" and p.mode == _PIXEL_SHUFFLE:
        yield 5, "PIXEL_SHUFFLE of reorganizeData"
    elif kind in ("innerProduct", "batchedMatmul") and p.int8DynamicQuantize:
        yield 5, f"int8DynamicQuantize of {kind}"
    elif kind == "concatND" and p.interleave:
        yield 5, "interleave of concatND"
    kinds = {Storage(params, views).kind for params in _weights(kind, p)}
    if "quantized" in kinds:
        yield 3, "quantized weights"
    if "float16" in kinds:
        yield 2, "float16 weights"


def _weights(kind: str, p: Any) -> Iterator[Any]:
    for field in _WEIGHTS.get(kind, ()):
        yield getattr(p, field)
    if kind == "activation":
        chosen = p.WhichOneof("NonlinearityType")
        if chosen in ("PReLU", "parametricSoftplus"):
            yield getattr(p, chosen).alpha
        if chosen == "parametricSoftplus":
            yield p.parametricSoftplus.beta
    elif kind == "uniDirectionalLSTM":
        yield from _members(p.weightParams)
    elif kind == "biDirectionalLSTM":
        for weights in p.weightParams:
            yield from _members(weights)


def _members(weights: Any) -> Iterator[Any]:
    for _, value in weights.ListFields():
        yield value


def model_version(model: Any, place: Place) -> Iterator[tuple[int, str, Place]]:
    """The same for what is no layer: the model's type, its mappings and its flexible shapes."""
    kind = model.WhichOneof("Type")
    if kind in _TYPES:
        yield _TYPES[kind], f"the model type {kind}", place
    if model.isUpdatable:
        yield UPDATABLE, "updatable models", place
    for side in ("input", "output"):
        for feature in getattr(model.description, side):
            for field, group in (("imageType", "SizeFlexibility"), ("multiArrayType", "ShapeFlexibility")):
                if feature.type.WhichOneof("Type") == field and getattr(feature.type, field).WhichOneof(group):
                    yield FLEXIBLE_SHAPES, "flexible shapes", feature_place(place, side, feature)
    if kind in NETWORKS:
        network = getattr(model, kind)
        if network.arrayInputShapeMapping:
            yield 4, "arrayInputShapeMapping other than RANK5_ARRAY_MAPPING", place
        if network.imageInputShapeMapping:
            yield 4, "imageInputShapeMapping other than RANK5_IMAGE_MAPPING", place


def feature_place(place: Place, side: str, feature: Any) -> Place:
    """The place of a feature description: ``input 'image'``."""
    from .report import show

    return place.inside(f"{side} {show(feature.name)}")
