"""Layers that move values without changing them, and the constant of the first format versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import CheckError
from ...graph.builder import Size
from ...graph.ir import Value
from ..lowering import Blob, Context, lowering, require


@lowering("loadConstant")
def load_constant(g: Context, p: Any) -> Blob:
    """A constant from the file.

    → y (1,1,C,H,W). Source: LoadConstantLayerParams.
    """
    sizes = [int(size) for size in p.shape]
    require(len(sizes) == 3 and min(sizes) > 0, f"shape must hold 3 positive integers [C, H, W], got {sizes}")
    array = g.array(p.data, *sizes, name="data")
    name = f"{g.prefix}/data"
    # whichever form is used is written
    return Blob(
        nd=g.constant(array.reshape(1, 1, *sizes), name=name), flat=g.constant(array[None], name=name), lead=[1, 1]
    )


@lowering("flatten", layout="chw", rank=3)
def flatten(g: Context, p: Any, x: Value) -> Value:
    """All channels, rows and columns as channels.

    x (…,C,H,W) → y (…,C·H·W,1,1); CHANNEL_LAST takes the values in the order H, W, C. Source: FlattenLayerParams.
    """
    require(p.mode in (0, 1), f"mode must be CHANNEL_FIRST (0) or CHANNEL_LAST (1), got {p.mode}")
    if p.mode == 1 and not x.shape[2] == x.shape[3] == 1:
        x = g.Transpose(x, perm=[0, 2, 3, 1])
    return g.reshape(x, [g.size(x, 0), g.product([g.size(x, axis) for axis in (1, 2, 3)]), 1, 1])


def _reshape_layout(p: Any, blobs: Sequence[Blob]) -> str:
    _five(blobs[0])
    return "chw" if len(p.targetShape) == 3 else "nd"


def _five(blob: Blob) -> None:
    require(blob.rank == 5, f"the input must have rank 5 [S,B,C,H,W], got {blob.rank}")


@lowering("reshape", layout=_reshape_layout)
def reshape(g: Context, p: Any, x: Value) -> Value:
    """Another shape for the same values.

    x (S,B,C,H,W) → y (S,B,C',H',W'), or (S',B,C',H',W') for a targetShape of four sizes.
    CHANNEL_FIRST keeps the order of the values; CHANNEL_LAST takes them in the order H, W, C and lays them out as
    H', W', C'. Differs: one size may be -1, what remains: converters write it though the text does not name it.
    Source: ReshapeLayerParams.
    """
    target = [int(size) for size in p.targetShape]
    require(
        len(target) in (3, 4) and all(size > 0 or size == -1 for size in target) and target.count(-1) < 2,
        f"targetShape must hold 3 or 4 positive integers, [C, H, W] or [Seq, C, H, W], one may be -1, got {target}",
    )
    require(p.mode in (0, 1), f"mode must be CHANNEL_FIRST (0) or CHANNEL_LAST (1), got {p.mode}")
    batch = x.shape[1] if len(target) == 4 else 1
    if batch != 1:
        # each instance of the batch is reshaped by itself
        x = g.Transpose(x, perm=[1, 0, 2, 3, 4])
    lead: list[Size] = [g.size(x, 0)]
    _same_count(x, target, 1 if len(target) == 3 or batch != 1 else 0)
    if len(target) == 4:
        lead = [lead[0], target[0]] if batch != 1 else [target[0], 1]
    first, last = list(range(x.rank - 3)), x.rank
    if p.mode == 1:
        x = g.Transpose(x, perm=[*first, last - 2, last - 1, last - 3])
        channels, height, width = target[-3:]
        y = g.reshape(x, [*lead, height, width, channels])
        y = g.Transpose(y, perm=[*first, last - 1, last - 3, last - 2])
    else:
        y = g.reshape(x, [*lead, *target[-3:]])
    return y if batch == 1 else g.Transpose(y, perm=[1, 0, 2, 3, 4])


def _same_count(x: Value, target: Sequence[int], first: int) -> None:
    count, wanted = 1, 1
    for dim in x.shape[first:]:
        if isinstance(dim, str):
            return
        count *= dim
    for size in target:
        wanted *= abs(size)
    if count != wanted and (-1 not in target or count % wanted):
        raise CheckError(f"targetShape {list(target)} holds {wanted} values, the input {list(x.shape[first:])} {count}")


def _permute_layout(p: Any, blobs: Sequence[Blob]) -> str:
    _five(blobs[0])
    return "chw" if not p.axis or p.axis[0] == 0 else "nd"


@lowering("permute", layout=_permute_layout)
def permute(g: Context, p: Any, x: Value) -> Value:
    """Another order of the axes sequence (0), channel (1), height (2) and width (3); the batch stays.

    y's axes are x's axes axis[0], axis[1], axis[2], axis[3]
    x (S,B,C,H,W) → y of rank 5. Defaults: axis [0,1,2,3]. Source: PermuteLayerParams.
    """
    order = [int(axis) for axis in p.axis] or [0, 1, 2, 3]
    require(sorted(order) == [0, 1, 2, 3], f"axis must hold the numbers 0, 1, 2 and 3 in any order, got {order}")
    if order == [0, 1, 2, 3]:
        return x
    if x.rank == 4:
        return g.Transpose(x, perm=order)
    axes = [axis + (axis > 0) for axis in order]
    return g.Transpose(x, perm=[axes[0], 1, *axes[1:]])


@lowering("concat", layout=lambda p, blobs: "nd" if p.sequenceConcat else "same", rank=3)
def concat(g: Context, p: Any, *inputs: Value) -> Value:
    """Inputs one after another along the channel axis, or along the sequence axis.

    (…,Cᵢ,H,W) → (…,ΣCᵢ,H,W), with ``sequenceConcat`` (Sᵢ,B,C,H,W) → (ΣSᵢ,B,C,H,W). Source: ConcatLayerParams.
    """
    require(len(inputs) > 0, "the layer must have 1 or more inputs, got 0")
    rank = inputs[0].rank
    require(all(x.rank == rank for x in inputs), f"the inputs must have the same rank, got {[x.rank for x in inputs]}")
    require(not p.sequenceConcat or rank >= 5, f"sequenceConcat needs inputs of rank 5 or more, got {rank}")
    axis = -5 if p.sequenceConcat else -3
    for other in range(-rank, 0):
        sizes = {x.shape[other] for x in inputs if isinstance(x.shape[other], int)}
        if other != axis and len(sizes) > 1:
            shapes = ", ".join(str(list(x.shape)) for x in inputs)
            raise CheckError(f"the inputs must have shapes that agree in all axes but {axis}, got {shapes}")
    return inputs[0] if len(inputs) == 1 else g.Concat(*inputs, axis=axis + rank)


@lowering("split", layout="same", rank=3)
def split(g: Context, p: Any, x: Value) -> tuple[Value, ...]:
    """Equal parts of the channels.

    x (…,C,H,W) → nOutputs blobs (…,C/nOutputs,H,W). Source: SplitLayerParams.
    """
    count = g.output_count
    require(int(p.nOutputs) == count, f"nOutputs must be the number of outputs ({count}), got {p.nOutputs}")
    channels = x.shape[-3]
    require(
        isinstance(channels, str) or channels % count == 0, f"nOutputs ({count}) must divide the channels ({channels})"
    )
    if count == 1:
        return (x,)
    return g.Split(x, axis=x.rank - 3, num_outputs=count, outputs=count)


@lowering("sequenceRepeat", rank=5)
def sequence_repeat(g: Context, p: Any, x: Value) -> Value:
    """The whole sequence, several times over.

    x (S,B,C,H,W) → y (nRepetitions·S,B,C,H,W). Defaults: nRepetitions 0 stands for 1.
    Source: SequenceRepeatLayerParams.
    """
    count = int(p.nRepetitions) or 1
    require(count < 1 << 31, f"nRepetitions is absurdly large: {count}")
    return x if count == 1 else g.Tile(x, [count if axis == x.rank - 5 else 1 for axis in range(x.rank)])


@lowering("reorganizeData", layout="chw", rank=3)
def reorganize_data(g: Context, p: Any, x: Value) -> Value:
    """Blocks of pixels to channels and back, b = blockSize.

    SPACE_TO_DEPTH: y[(i·b + j)·C + c, h, w] = x[c, h·b + i, w·b + j]; x (…,C,H,W) → y (…,C·b²,H/b,W/b)
    DEPTH_TO_SPACE: the inverse; PIXEL_SHUFFLE: y[c, h·b + i, w·b + j] = x[c·b² + i·b + j, h, w];
    x (…,C,H,W) → y (…,C/b²,H·b,W·b). Source: ReorganizeDataLayerParams.
    """
    block = int(p.blockSize)
    require(1 < block < 1 << 15, f"blockSize must be greater than 1 (and below 32,768), got {block}")
    require(p.mode in (0, 1, 2), f"mode must be SPACE_TO_DEPTH (0) to PIXEL_SHUFFLE (2), got {p.mode}")
    _, channels, height, width = x.shape
    if p.mode == 0:
        require(
            all(isinstance(size, str) or size % block == 0 for size in (height, width)),
            f"blockSize ({block}) must divide height and width, got {[height, width]}",
        )
        return g.SpaceToDepth(x, blocksize=block)
    require(
        isinstance(channels, str) or channels % block**2 == 0,
        f"the square of blockSize ({block}) must divide the channels, got {channels}",
    )
    return g.DepthToSpace(x, blocksize=block, mode="DCR" if p.mode == 1 else "CRD")
