"""Parameter rules of the layers of the first versions that hold no weights."""

from __future__ import annotations

from .context import Layer, rule, signed32

_UPSAMPLE_NN, _UPSAMPLE_BILINEAR = 0, 1
_REDUCE_RANK = {0: 3, 1: 2, 2: 1, 3: 1, 4: 1}
"""Smallest rank for each value of ReduceAxis: CHW, HW, C, H, W."""
_SLICE_RANK = {0: 3, 1: 2, 2: 1}
"""Smallest rank for each value of SliceAxis: channel, height, width."""


@rule("pooling")
def pooling(layer: Layer) -> None:
    layer.one_of("PoolingPaddingType", "valid", "same", "includeLastPixel")


@rule("padding")
def padding(layer: Layer) -> None:
    layer.length("paddingAmounts.borderAmounts", 0, 2, values=layer.p.paddingAmounts.borderAmounts)
    layer.one_of("PaddingType", "constant", "reflection", "replication")


@rule("lrn")
def lrn(layer: Layer) -> None:
    if layer.p.k < 0:
        layer.add("parameter-value", "k", "be at least 0", f"{layer.p.k:g}")


@rule("split")
def split(layer: Layer) -> None:
    if not layer.nd:
        return
    first = layer.rank_out()
    for index in range(1, layer.outputs):
        layer.same_ranks(first, layer.rank_out(index), f"output[0] and output[{index}]")


@rule("upsample")
def upsample(layer: Layer) -> None:
    p = layer.p
    layer.length("scalingFactor", 0, 2)
    layer.length("fractionalScalingFactor", 0, 2)
    whole, fractional = len(p.scalingFactor), len(p.fractionalScalingFactor)
    if whole and fractional:
        both = "scalingFactor and fractionalScalingFactor"
        layer.add("parameter-conflict", both, "not both be set", "both")
    if fractional == 2 and (p.mode != _UPSAMPLE_BILINEAR or not p.linearUpsampleMode):
        required = "be BILINEAR with a linearUpsampleMode other than DEFAULT for fractionalScalingFactor"
        layer.add("parameter-conflict", "mode", required, f"mode {p.mode}, linearUpsampleMode {p.linearUpsampleMode}")
    elif p.linearUpsampleMode and p.mode == _UPSAMPLE_NN:
        layer.add("parameter-conflict", "linearUpsampleMode", "be DEFAULT for mode NN", str(p.linearUpsampleMode))


@rule("reshape")
def reshape(layer: Layer) -> None:
    layer.length("targetShape", 3, 4)


@rule("permute")
def permute(layer: Layer) -> None:
    layer.length("axis", 4)


@rule("reduce")
def reduce(layer: Layer) -> None:
    if layer.nd and layer.tensors_in:
        layer.same_ranks(layer.rank_in(), layer.rank_out(), "input[0] and output[0]")
        lowest = _REDUCE_RANK.get(layer.p.axis, 0)
        if layer.tensors_in[0] < lowest:
            layer.add("rank-range", "inputTensor[0]", f"have rank {lowest} or more for axis", str(layer.tensors_in[0]))


@rule("reorganizeData")
def reorganize_data(layer: Layer) -> None:
    if signed32(layer.p.blockSize) < 2:
        layer.add("parameter-value", "blockSize", "be at least 2", str(layer.p.blockSize))


@rule("slice")
def slice_(layer: Layer) -> None:
    p = layer.p
    if layer.nd and layer.tensors_in:
        layer.same_ranks(layer.rank_in(), layer.rank_out(), "input[0] and output[0]")
        lowest = _SLICE_RANK.get(p.axis)
        if lowest is None:
            layer.add("parameter-value", "axis", "be CHANNEL_AXIS, HEIGHT_AXIS or WIDTH_AXIS", str(p.axis))
        elif layer.tensors_in[0] < lowest:
            layer.add("rank-range", "inputTensor[0]", f"have rank {lowest} or more for axis", str(layer.tensors_in[0]))
    if signed32(p.stride) < 1:
        layer.add("parameter-value", "stride", "be at least 1", str(p.stride))
    start, end = p.startIndex, p.endIndex
    if (end > 0 and end < start) or (end < 0 and start < 0 and start > end):
        layer.add("parameter-value", "endIndex", f"not lie before startIndex ({start})", str(end))


@rule("crop")
def crop(layer: Layer) -> None:
    if layer.inputs == 1:
        layer.length("cropAmounts.borderAmounts", 2, values=layer.p.cropAmounts.borderAmounts)
    elif layer.inputs == 2:
        layer.length("offset", 2)
        if layer.nd:
            layer.same_ranks(layer.rank_in(0), layer.rank_in(1), "input[0] and input[1]")


@rule("dot")
def dot(layer: Layer) -> None:
    if layer.nd:
        layer.same_ranks(layer.rank_in(0), layer.rank_in(1), "input[0] and input[1]")


@rule("concat")
def concat(layer: Layer) -> None:
    if not layer.nd:
        return
    lowest = 5 if layer.p.sequenceConcat else 3
    for field, rank in (("input[0]", layer.rank_in()), ("output[0]", layer.rank_out())):
        if rank is not None and rank < lowest:
            layer.add("rank-range", field, f"have rank {lowest} or more", str(rank))
    first = layer.rank_in()
    for index in range(1, layer.inputs):
        layer.same_ranks(first, layer.rank_in(index), f"input[0] and input[{index}]")


@rule("resizeBilinear")
def resize_bilinear(layer: Layer) -> None:
    layer.length("targetSize", 0, 2)


@rule("cropResize")
def crop_resize(layer: Layer) -> None:
    layer.length("targetSize", 0, 2)
    if layer.nd:
        layer.same_ranks(layer.rank_in(0), layer.rank_in(1), "input[0] and input[1]")
