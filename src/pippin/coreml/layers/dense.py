"""Inner product and embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import CheckError
from ...graph.builder import RESHAPES
from ...graph.composites.int8 import int8_matmul
from ...graph.ir import Value
from ..lowering import Blob, Context, lowering, require

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _by_rank(p: Any, blobs: Sequence[Blob]) -> str:
    rank = blobs[0].rank
    require(1 <= rank <= 5, f"the input must have a rank between 1 and 5, got {rank}")
    return "chw" if blobs[0].rank > 3 else "nd"


@lowering("innerProduct", layout=_by_rank)
def inner_product(g: Context, p: Any, x: Value) -> Value:
    """Fully connected layer.

    y[n,o] = bias[o] + Σ x[n,i] · W[o,i]
    x (C), (N,C) or (M,N,C) → y with O for C; x (…,C,H,W) of rank 4 or 5, where C·H·W is inputChannels → y (…,O,1,1).
    W (O, C). With ``int8DynamicQuantize`` x is first rounded to int8 with one scale for the whole blob, max|x| / 127,
    halves away from 0; W is int8RawValue times its scale.
    Differs: a bias is added to the quantised form too, where the text allows none. Source: InnerProductLayerParams.
    """
    channels, out = int(p.inputChannels), int(p.outputChannels)
    require(channels > 0, f"inputChannels must be positive, got {channels}")
    require(out > 0, f"outputChannels must be positive, got {out}")
    spatial = x.rank == 4
    given = x.shape[1:] if spatial else x.shape[-1:]
    if not any(isinstance(dim, str) for dim in given):
        count = 1
        for dim in given:
            count *= int(dim)
        require(count == channels, f"the input must have {channels} values a row (inputChannels), got {list(given)}")
    source = rows(g, x) if spatial else x
    bias = g.weight(p.bias, out, name="bias") if p.hasBias else None
    y = _int8(g, p, source, bias) if p.int8DynamicQuantize else _float(g, p, source, bias)
    return g.reshape(y, [g.size(x, 0), out, 1, 1]) if spatial else y


def rows(g: Context, x: Value) -> Value:
    """x (N,…) as (N, all the rest), through reshapes that kept N."""
    n = x.shape[0]
    while x.node is not None and x.node.op in RESHAPES and x.rank != 2:
        source = x.node.inputs[0]
        if source is None or source.rank < 2 or source.shape[0] != n:
            break
        x = source
    return x if x.rank == 2 else g.Flatten(x, axis=1)


def _float(g: Context, p: Any, x: Value, bias: Value | None) -> Value:
    w = g.weight(p.weights, int(p.outputChannels), int(p.inputChannels))
    if x.rank == 2:
        return g.Gemm(x, w, bias, transB=1)
    y = g.MatMul(w, x) if x.rank == 1 else g.MatMul(x, g.Transpose(w, perm=[1, 0]))
    return y if bias is None else g.Add(y, bias)


def _int8(g: Context, p: Any, x: Value, bias: Value | None) -> Value:
    require(
        p.weights.quantization.numberOfBits in (0, 8),
        f"int8DynamicQuantize needs numberOfBits 8, got {p.weights.quantization.numberOfBits}",
    )
    values, scale = g.weights.int8(p.weights, (int(p.outputChannels), int(p.inputChannels)))
    single = x.rank == 1
    y = int8_matmul(g, g.reshape(x, [1, g.size(x, 0)]) if single else x, values.T, scale)
    if single:
        y = g.reshape(y, [int(p.outputChannels)])
    return y if bias is None else g.Add(y, bias)


def _columns(p: Any, blobs: Sequence[Blob]) -> str:
    require(blobs[0].rank in (4, 5), f"the input must have rank 4 or 5, got {blobs[0].rank}")
    return "chw"


@lowering("embedding", layout=_columns, integers=True)
def embedding(g: Context, p: Any, x: Value) -> Value:
    """Columns of a matrix, looked up by number.

    y[n,:] = W[:, x[n]] + bias
    x (N,1,1,1) or (M,N,1,1,1), numbers in [0, inputDim) → y (…,O,1,1). W (outputChannels, inputDim).
    Differs: fractions of numbers are cut off, negative ones count from the end. Source: EmbeddingLayerParams.
    """
    require(
        all(dim == 1 or isinstance(dim, str) for dim in x.shape[1:]),
        f"the last three axes of the input must be 1, got {list(x.shape[1:])}",
    )
    table = _table(g, p, int(p.inputDim), int(p.outputChannels), "inputDim", "outputChannels")
    values = g.constant(table[:, :, None, None], name=f"{g.prefix}/weights")
    return g.Gather(values, g.integer(g.Squeeze(x, [1, 2, 3])), axis=0)


@lowering("embeddingND", rank=2, integers=True)
def embedding_nd(g: Context, p: Any, x: Value) -> Value:
    """Columns of a matrix, looked up by number.

    y[…,:] = W[:, x[…,0]] + bias
    x (…,1) of rank 2 to 5, numbers in [0, vocabSize) → y (…,E). W (embeddingSize, vocabSize).
    Differs: fractions of numbers are cut off, negative ones count from the end. Source: EmbeddingNDLayerParams.
    """
    require(x.rank <= 5, f"the input must have a rank between 2 and 5, got {x.rank}")
    require(
        x.shape[-1] == 1 or isinstance(x.shape[-1], str), f"the last axis of the input must be 1, got {x.shape[-1]}"
    )
    table = _table(g, p, int(p.vocabSize), int(p.embeddingSize), "vocabSize", "embeddingSize")
    values = g.constant(table, name=f"{g.prefix}/weights")
    return g.Gather(values, g.integer(g.Squeeze(x, [-1])), axis=0)


def _table(g: Context, p: Any, count: int, width: int, count_field: str, width_field: str) -> NDArray[Any]:
    """The rows that the layer answers with: the matrix transposed, the bias added once and for all."""
    import numpy as np

    if count < 1 or width < 1:
        raise CheckError(f"{count_field} and {width_field} must be positive, got {count} and {width}")
    table = g.array(p.weights, width, count).T
    if p.hasBias:
        table = table + g.array(p.bias, width, name="bias")
    return np.ascontiguousarray(table)
