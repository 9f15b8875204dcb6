"""Parameter rules of the layers with weights."""

from __future__ import annotations

from collections.abc import Sequence

from .context import Layer, product, rule

_PADDING_3D = tuple(f"customPadding{side}" for side in ("Front", "Back", "Top", "Bottom", "Left", "Right"))
_POOLING_CUSTOM = 0


def channels_of(shape: Sequence[int], *, only_rank_3: bool = True) -> int:
    """The channels that a quantised constant of ``shape`` may have a scale for each of."""
    if only_rank_3 and len(shape) != 3:
        return 1
    return int(shape[0]) if len(shape) and shape[0] > 1 else 1


@rule("convolution")
def convolution(layer: Layer) -> None:
    p = layer.p
    layer.one_of("ConvolutionPaddingType", "valid", "same")
    if p.isDeconvolution and layer.inputs > 1:
        layer.add("layer-inputs", "input", "name 1 blob for isDeconvolution", str(layer.inputs))
    if layer.inputs == 2:
        if any(factor > 1 for factor in p.dilationFactor[:2]):
            layer.add(
                "parameter-value", "dilationFactor", "be 1 when weights are an input", str(list(p.dilationFactor))
            )
        return
    height, width = (p.kernelSize[i] if len(p.kernelSize) > i else 3 for i in (0, 1))
    across = p.outputChannels // (p.nGroups or 1) if p.isDeconvolution else p.outputChannels
    layer.units("weights", p.kernelChannels * across * height * width, p.outputChannels)
    if p.hasBias:
        layer.units("bias", p.outputChannels)
        layer.no_mix("weights", "bias")


def _matrix(layer: Layer, rows: int, columns: int) -> None:
    """Weights of innerProduct and batchedMatmul: rows * columns, with a scale for each column when quantised."""
    p = layer.p
    if p.int8DynamicQuantize:
        layer.int8("weights")
    else:
        layer.units("weights", rows * columns, columns, optional=True)
    if p.hasBias:
        layer.units("bias", columns, optional=True)
        layer.no_mix("weights", "bias")


@rule("innerProduct")
def inner_product(layer: Layer) -> None:
    _matrix(layer, layer.p.inputChannels, layer.p.outputChannels)


@rule("batchedMatmul")
def batched_matmul(layer: Layer) -> None:
    p = layer.p
    listed = layer.tensors_in
    if layer.tensors_out and listed and len(listed) == layer.inputs <= 2:
        wanted = listed[0] if layer.inputs == 1 else max(2, *listed)
        if layer.tensors_out[0] != wanted:
            layer.add("rank-equal", "outputTensor[0]", f"have rank {wanted}", str(layer.tensors_out[0]))
    if layer.inputs == 2:
        for flag in ("hasBias", "int8DynamicQuantize"):
            if getattr(p, flag):
                layer.add("parameter-conflict", flag, "be off with two inputs", "true")
    if layer.inputs == 1:
        _matrix(layer, p.weightMatrixFirstDimension, p.weightMatrixSecondDimension)
    elif p.int8DynamicQuantize:
        layer.int8("weights")


@rule("batchnorm")
def batchnorm(layer: Layer) -> None:
    p = layer.p
    layer.units("gamma", p.channels)
    layer.units("beta", p.channels)
    if p.computeMeanVar:
        layer.unambiguous("mean", "variance")
    else:
        layer.units("mean", p.channels)
        layer.units("variance", p.channels)
    layer.no_mix("gamma", "beta", "mean", "variance")


@rule("activation")
def activation(layer: Layer) -> None:
    p = layer.p
    chosen = p.WhichOneof("NonlinearityType")
    if chosen is None:
        layer.add("parameter-missing", "NonlinearityType", "name an activation", "none")
    elif chosen in ("PReLU", "parametricSoftplus"):
        if layer.nd:
            first, last = layer.rank_in(), layer.rank_out()
            layer.same_ranks(first, last, "input[0] and output[0]")
            for field, rank in (("input[0]", first), ("output[0]", last)):
                if rank is not None and rank < 3:
                    layer.add("rank-range", field, f"have rank 3 or more for {chosen}", str(rank))
        _learnt_activation(layer, chosen)


def _learnt_activation(layer: Layer, chosen: str) -> None:
    nonlinearity = getattr(layer.p, chosen)
    kinds = {}
    for name in ("alpha", "beta")[: 1 if chosen == "PReLU" else 2]:
        stored = layer.stored(getattr(nonlinearity, name))
        kinds[name] = stored.kind
        if stored.kind == "ambiguous":
            layer.add("weights-ambiguous", f"{chosen}.{name}", "use one encoding", stored.described)
        elif stored.kind == "empty":
            layer.add("weights-missing-accepted", f"{chosen}.{name}", "hold values", stored.described)
    if len(set(kinds.values())) > 1:
        found = " and ".join(kinds.values())
        layer.add("weights-mixed", f"{chosen}.alpha and {chosen}.beta", "be stored alike", found)


@rule("bias")
def bias(layer: Layer) -> None:
    if layer.length("shape", 1, 3):
        layer.units("bias", product(layer.p.shape), channels_of(layer.p.shape))


@rule("scale")
def scale(layer: Layer) -> None:
    p = layer.p
    if layer.length("shapeScale", 1, 3):
        layer.units("scale", product(p.shapeScale), channels_of(p.shapeScale))
    if p.hasBias:
        if layer.length("shapeBias", 1, 3):
            layer.units("bias", product(p.shapeBias), channels_of(p.shapeBias))
        layer.no_mix("scale", "bias")


@rule("loadConstant")
def load_constant(layer: Layer) -> None:
    p = layer.p
    rank = layer.rank_out()
    if layer.nd and rank is not None and rank != 5:
        layer.add("rank-range", "output[0]", "have rank 5", str(rank))
    if layer.length("shape", 3):
        layer.units("data", product(p.shape), channels_of(p.shape))


@rule("loadConstantND")
def load_constant_nd(layer: Layer) -> None:
    if layer.length("shape", 1, 2, 3, 4, 5):
        layer.units("data", product(layer.p.shape))


@rule("embedding")
def embedding(layer: Layer) -> None:
    _embedding(layer, layer.p.inputDim, layer.p.outputChannels)


@rule("embeddingND")
def embedding_nd(layer: Layer) -> None:
    _embedding(layer, layer.p.vocabSize, layer.p.embeddingSize)


def _embedding(layer: Layer, rows: int, columns: int) -> None:
    layer.units("weights", rows * columns, columns)
    if layer.p.hasBias:
        layer.units("bias", columns)
        layer.no_mix("weights", "bias")


@rule("custom")
def custom(layer: Layer) -> None:
    p = layer.p
    if not p.className:
        layer.add("custom-class", "className", "name the class of the layer", "an empty text")
    for index, params in enumerate(p.weights):
        stored = layer.stored(params)
        field = f"weights[{index}]"
        if stored.kind == "ambiguous":
            layer.add("weights-ambiguous", field, "use one encoding", stored.described)
        elif not stored.present:
            layer.add("weights-missing", field, "hold values", "none")


@rule("layerNormalization")
def layer_normalization(layer: Layer) -> None:
    p = layer.p
    layer.filled("normalizedShape")
    wanted = product(p.normalizedShape)
    for field in ("gamma", "beta"):
        params = getattr(p, field)
        stored = layer.stored(params)
        if not p.HasField(field):
            layer.add("weights-missing", field, f"hold {wanted:,} values", "none")
        elif field == "gamma" and params.HasField("quantization"):
            layer.add("weights-encoding", field, "not be quantized here", "a quantization")
        elif not len(p.normalizedShape):
            continue
        elif not stored.present and wanted:
            layer.add("weights-missing", field, f"hold {wanted:,} values", "none")
        elif "float32" not in stored.present and wanted:
            layer.add("weights-encoding", field, f"hold {wanted:,} float32 values", stored.described)
        else:
            _floats(layer, field, wanted)


def _floats(layer: Layer, field: str, wanted: int) -> None:
    params = getattr(layer.p, field)
    held = len(params.floatValue) + sum(
        len(layer.views[index].data) // 4 for index in params.pippinView if layer.views[index].encodes == "float32"
    )
    if held != wanted:
        layer.add("weights-count", field, f"hold {wanted:,} float32 values", f"{held:,}")


@rule("convolution3d")
def convolution3d(layer: Layer) -> None:
    p = layer.p
    layer.at_least(1, "inputChannels", "outputChannels", "nGroups", "kernelDepth", "kernelHeight", "kernelWidth")
    layer.at_least(1, *(f"{what}{axis}" for what in ("stride", "dilation") for axis in ("Depth", "Height", "Width")))
    layer.at_least(0, *_PADDING_3D)
    if len(p.outputShape) and not p.isDeconvolution:
        layer.add("parameter-conflict", "outputShape", "be empty without isDeconvolution", str(len(p.outputShape)))
    elif len(p.outputShape) not in (0, 3):
        layer.length("outputShape", 0, 3)
    groups = p.nGroups if p.nGroups > 0 else 1
    if p.isDeconvolution:
        channels = p.outputChannels // groups * p.inputChannels
    else:
        channels = p.inputChannels // groups * p.outputChannels
    counts = {"weights": channels * p.kernelDepth * p.kernelHeight * p.kernelWidth}
    if p.hasBias:
        counts["bias"] = p.outputChannels
        layer.no_mix("weights", "bias")
    for field, units in counts.items():
        params = getattr(p, field)
        if layer.stored(params).kind == "quantized":
            layer.add("weights-encoding", field, "not be quantized here", "rawValue with quantization")
        else:
            layer.units(field, units)


@rule("pooling3d")
def pooling3d(layer: Layer) -> None:
    p = layer.p
    layer.at_least(1, *(f"{what}{axis}" for what in ("kernel", "stride") for axis in ("Depth", "Height", "Width")))
    if p.paddingType == _POOLING_CUSTOM:
        layer.at_least(0, *_PADDING_3D)
        return
    for field in _PADDING_3D:
        if getattr(p, field):
            layer.add("parameter-conflict", field, "be 0 unless paddingType is CUSTOM", str(getattr(p, field)))
