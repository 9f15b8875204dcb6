"""Parameter rules of the later layers, which work on arrays of any rank."""

from __future__ import annotations

from .context import Layer, rule, show


@rule("concatND", "softmaxND", "slidingWindows", "flattenTo2D")
def axis(layer: Layer) -> None:
    layer.axis()


@rule("topK")
def top_k(layer: Layer) -> None:
    if layer.nd:
        layer.same_ranks(layer.rank_in(), layer.rank_out(1), "input[0] and output[1]")
    layer.axis()


@rule("argMax", "argMin")
def arg_max(layer: Layer) -> None:
    if layer.nd and not layer.p.removeDim:
        layer.same_ranks(layer.rank_in(), layer.rank_out(), "input[0] and output[0]")
    layer.axis()


@rule("argSort")
def arg_sort(layer: Layer) -> None:
    value = layer.p.axis
    if value < 0:
        layer.add("parameter-value", "axis", "be at least 0", str(value))
    elif layer.tensors_in and value >= layer.tensors_in[0]:
        layer.add("parameter-axis", "axis", f"be less than {layer.tensors_in[0]}", str(value))


@rule("reverse")
def reverse(layer: Layer) -> None:
    held = len(layer.p.reverseDim)
    if layer.tensors_in and held != layer.tensors_in[0]:
        layer.add("parameter-length", "reverseDim", f"hold {layer.tensors_in[0]} values, one a dim", str(held))


@rule("stack")
def stack(layer: Layer) -> None:
    if len(layer.tensors_in) > 1:
        layer.same_ranks(layer.tensors_in[0], layer.tensors_in[1], "inputTensor[0] and inputTensor[1]")
    layer.axis(extra=1)


@rule("splitND")
def split_nd(layer: Layer) -> None:
    p = layer.p
    parts, field = (len(p.splitSizes), "splitSizes") if len(p.splitSizes) else (p.numSplits, "numSplits")
    if not parts:
        layer.add("parameter-value", field, "be at least 1", "0")
    elif parts != layer.outputs:
        layer.add("parameter-value", field, f"give as many parts as there are outputs ({layer.outputs})", str(parts))
    layer.axis()


@rule(
    *(f"reduce{name}" for name in ("L1", "L2", "Max", "Min", "Sum", "Prod", "Mean")),
    *(f"reduce{name}" for name in ("LogSum", "SumSquare", "LogSumExp")),
)
def reduce(layer: Layer) -> None:
    layer.axis(field="axes", values=layer.p.axes)


@rule("constantPad")
def constant_pad(layer: Layer) -> None:
    p = layer.p
    if layer.inputs != 1:
        return
    amounts = p.padAmounts
    if not len(amounts) or len(amounts) % 2:
        layer.add("parameter-length", "padAmounts", "hold two values for each dim", str(len(amounts)))
    if p.padToGivenOutputSizeMode:
        for index in range(0, len(amounts) - 1, 2):
            if amounts[index] and amounts[index + 1]:
                field = f"padAmounts[{index}:{index + 2}]"
                required = "hold a size on one side only with padToGivenOutputSizeMode"
                layer.add("parameter-value", field, required, show(amounts[index : index + 2]))


@rule("scatter")
def scatter(layer: Layer) -> None:
    listed = layer.tensors_in
    if not listed:
        return
    if len(listed) != 3:
        layer.add("tensor-count", "inputTensor", "list 3 tensors", str(len(listed)))
        return
    layer.same_ranks(listed[0], listed[2], "inputTensor[0] and inputTensor[2]")
    if listed[1] != 1:
        layer.add("rank-range", "inputTensor[1]", "have rank 1", str(listed[1]))
    if layer.tensors_out:
        layer.same_ranks(listed[0], layer.tensors_out[0], "inputTensor[0] and outputTensor[0]")


@rule("transpose")
def transpose(layer: Layer) -> None:
    layer.filled("axes")


def _unique(layer: Layer, axes: list[int], wrapped: int = 0) -> bool:
    if len(set(axes)) == len(axes):
        return True
    told = "name each axis once" + (f" (rank {wrapped})" if wrapped else "")
    layer.add("parameter-axis", "axes", told, show(layer.p.axes))
    return False


def _axes(layer: Layer, rank: int) -> None:
    """Axes are unique, and, with a known rank, still so after negative ones are counted from the end."""
    axes = list(layer.p.axes)
    if _unique(layer, axes) and rank >= 0:
        wrapped = [value + rank if value < 0 else value for value in axes]
        for value, position in zip(axes, wrapped, strict=True):
            if not 0 <= position < rank:
                layer.add("parameter-axis", "axes", f"lie in [{-rank}, {rank})", str(value))
        _unique(layer, wrapped, rank)


@rule("expandDims")
def expand_dims(layer: Layer) -> None:
    layer.filled("axes")
    listed = bool(layer.tensors_in and layer.tensors_out)
    _axes(layer, layer.tensors_out[0] if listed else -1)
    wanted = layer.tensors_in[0] + len(layer.p.axes) if listed else 0
    if listed and layer.tensors_out[0] != wanted:
        layer.add("rank-equal", "outputTensor[0]", f"have rank {wanted}", str(layer.tensors_out[0]))


@rule("squeeze")
def squeeze(layer: Layer) -> None:
    p = layer.p
    if p.squeezeAll:
        return
    layer.filled("axes")
    listed = bool(layer.tensors_in and layer.tensors_out)
    _axes(layer, layer.tensors_in[0] if listed else -1)
    if listed and layer.tensors_in[0] != 1 and layer.tensors_out[0] + len(p.axes) != layer.tensors_in[0]:
        wanted = layer.tensors_in[0] - len(p.axes)
        layer.add("rank-equal", "outputTensor[0]", f"have rank {wanted}", str(layer.tensors_out[0]))


@rule("rankPreservingReshape")
def rank_preserving_reshape(layer: Layer) -> None:
    layer.filled("targetShape")
    if not (layer.tensors_in and layer.tensors_out):
        missing = "outputTensor" if layer.tensors_in else "inputTensor"
        layer.add("tensor-count", missing, "list a tensor", "none")
        return
    layer.same_ranks(layer.tensors_in[0], layer.tensors_out[0], "inputTensor[0] and outputTensor[0]")
    held = len(layer.p.targetShape)
    if held and held != layer.tensors_in[0]:
        layer.add("parameter-length", "targetShape", f"hold {layer.tensors_in[0]} values", str(held))


@rule("reshapeStatic", "broadcastToStatic", "fillStatic")
def target_shape(layer: Layer) -> None:
    layer.filled("targetShape")


@rule("rangeStatic", "rangeDynamic")
def range_(layer: Layer) -> None:
    if layer.tensors_out and layer.tensors_out[0] != 1:
        layer.add("rank-range", "outputTensor[0]", "have rank 1", str(layer.tensors_out[0]))


@rule("clip", "randomUniformLike", "randomUniformDynamic")
def bounds(layer: Layer) -> None:
    p = layer.p
    if p.minVal > p.maxVal:
        layer.add("parameter-order", "minVal", f"not be above maxVal ({p.maxVal:g})", f"{p.minVal:g}")


@rule("sliceStatic")
def slice_static(layer: Layer) -> None:
    layer.filled("beginIds", "endIds", "strides", "beginMasks", "endMasks")


@rule("randomNormalStatic")
def random_normal_static(layer: Layer) -> None:
    layer.filled("outputShape")


@rule("randomUniformStatic")
def random_uniform_static(layer: Layer) -> None:
    layer.filled("outputShape")
    bounds(layer)


@rule("randomBernoulliLike", "randomBernoulliDynamic")
def probability(layer: Layer) -> None:
    if not 0 <= layer.p.prob <= 1:
        layer.add("parameter-value", "prob", "lie between 0 and 1", f"{layer.p.prob:g}")


@rule("randomBernoulliStatic")
def random_bernoulli_static(layer: Layer) -> None:
    layer.filled("outputShape")
    probability(layer)


@rule("copy")
def copy(layer: Layer) -> None:
    names = [*layer.message.input, *layer.message.output]
    if len(names) == 2 and names[0] == names[1]:
        layer.add("copy-onto-itself", "output[0]", "differ from input[0]", show(names[1]))
