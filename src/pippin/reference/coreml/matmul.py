"""Twins of matrix products and of the N-dimensional embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import CheckError, RunError
from ._nd import at_least_rank, wrapped
from .arrays import as_shape
from .int8 import dynamic_product
from .registry import Array, Context, twin
from .rules import blob


@twin("batchedMatmul")
def batched_matmul(context: Context, params: Any, a: Array, b: Array | None = None) -> Array:
    """Matrix products over the last two axes, or the product with a weight matrix.

    Two inputs: y = a · b after transposing each where ``transposeA``, ``transposeB`` say so; a (…, M, K),
    b (…, K, N), leading axes broadcast → (…, M, N). A vector becomes one row of a or one column of b first.
    One input: y = a · W + bias, a (…, X1), W (X1, X2) stored column by column → (…, X2); the transposes do not count.
    Source: BatchedMatMulLayerParams.
    """
    if b is not None:
        return _two_inputs(params, a, b)
    rows, columns = int(params.weightMatrixFirstDimension), int(params.weightMatrixSecondDimension)
    if not rows or a.shape[-1] != rows:
        raise CheckError(f"weightMatrixFirstDimension must equal the last axis of the input, {a.shape[-1]}, got {rows}")
    if not columns:
        raise CheckError("weightMatrixSecondDimension must be positive, got 0")
    if params.int8DynamicQuantize:
        y = dynamic_product(context, params.weights, (columns, rows), a)
    else:
        y = a @ blob(context, params, "weights", columns, rows).T
    return y + blob(context, params, "bias", columns) if params.hasBias else y


def _two_inputs(params: Any, a: Array, b: Array) -> Array:
    if params.hasBias:
        raise CheckError("hasBias is for one input; with two there is no bias")
    if params.int8DynamicQuantize:
        raise CheckError("int8DynamicQuantize is for one input; with two there are no weights")
    a = a[None, :] if a.ndim == 1 else a
    b = b[:, None] if b.ndim == 1 else b
    a = np.swapaxes(a, -1, -2) if params.transposeA else a
    b = np.swapaxes(b, -1, -2) if params.transposeB else b
    if a.shape[-1] != b.shape[-2]:
        raise CheckError(
            f"the matrices do not fit with transposeA {bool(params.transposeA)}, transposeB"
            f" {bool(params.transposeB)}: {list(a.shape)} · {list(b.shape)}"
        )
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise CheckError(
            f"the leading axes of the inputs do not broadcast: {list(a.shape)} · {list(b.shape)}"
        ) from None
    as_shape((*batch, a.shape[-2], b.shape[-1]))
    return np.asarray(a @ b)


@twin("embeddingND")
def embedding_nd(context: Context, params: Any, x: Array) -> Array:
    """The columns of a weight matrix that the input names, plus a bias.

    y[…, :] = W[:, x[…, 0]] + bias; x (…, 1), W (E, V), bias (E) → (…, E), E ``embeddingSize``, V ``vocabSize``.
    Source: EmbeddingNDLayerParams.
    """
    at_least_rank(x, 2)
    if x.shape[-1] != 1:
        raise CheckError(f"the last axis of the input must have 1 entry, got shape {list(x.shape)}")
    vocabulary, size = int(params.vocabSize), int(params.embeddingSize)
    for name, value in (("vocabSize", vocabulary), ("embeddingSize", size)):
        if not value:
            raise CheckError(f"{name} must be positive, got 0")
    weights = blob(context, params, "weights", size, vocabulary)
    as_shape((*x.shape[:-1], size))
    if x.size and x.min() < 0:
        raise RunError(f"the input must lie between 0 and {vocabulary - 1} (vocabSize - 1), got {x.min():g}")
    y = weights.T[wrapped(x[..., 0], vocabulary, "the input")]
    return y + blob(context, params, "bias", size) if params.hasBias else y
