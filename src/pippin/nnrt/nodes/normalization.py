"""Normalisations: over channels, planes, the last dims, or any axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...errors import CheckError
from ...graph.ir import Value
from .. import attributes
from ..enums import NodeType
from .activation import activate
from .base import NodeBuilder, as_float, axes_of, axis_of, channels_first, node, rank_of, refuse_bare_int8

REGIONS = ("ACROSS_CHANNELS", "ACROSS_CHNNEL", "")
"""The one region that LRN knows, as it is spelt in two places; kernels do not look at it."""
WIDEST = 1 << 16
"""Largest radius of LRN where the number of channels is not known."""


@node(NodeType.INSTANCE_NORM)
def instance_norm(g: NodeBuilder, p: attributes.InstanceNorm, x: Value, scale: Value, bias: Value) -> Value:
    """y = scale (x - mean) / √(variance + epsilon) + bias, mean and variance over one channel of one image.

    x (N,C,H,W) or (N,H,W,C), as its format says, or (N,C,W); scale, bias (C) → y like x.  The variance is that of all
    the elements, not of a sample.
    """
    refuse_bare_int8(g)
    if x.rank < 3:
        raise CheckError(f"the input must have 3 dims at least, got {list(x.shape)}")
    channel = 1 if channels_first(g) or x.rank == 3 else x.rank - 1
    work = as_float(g, x)
    column = [1] * (x.rank - channel)
    column[0] = -1
    shaped = []
    for vector, what in ((scale, "scale"), (bias, "bias")):
        if vector.rank != 1 or (isinstance(x.shape[channel], int) and vector.shape != (x.shape[channel],)):
            raise CheckError(f"the {what} must have the channels of {list(x.shape)}, got {list(vector.shape)}")
        shaped.append(g.reshape(g.cast(vector, work.dtype), column))
    y = standardize(g, work, [axis for axis in range(1, x.rank) if axis != channel], p.epsilon)
    return g.cast(g.Add(g.Mul(y, shaped[0]), shaped[1]), x.dtype)


def standardize(g: NodeBuilder, x: Value, axes: Sequence[int], epsilon: float) -> Value:
    """(x - mean) / √(variance + epsilon) along axes; centred first, so that a large mean costs no digits."""
    centred = g.Sub(x, g.ReduceMean(x, list(axes)))
    variance = g.ReduceMean(g.Mul(centred, centred), list(axes))
    result: Value = g.Div(centred, g.Sqrt(g.Add(variance, epsilon) if epsilon else variance))
    return result


@node(NodeType.LAYER_NORM_FUSION)
def layer_norm(
    g: NodeBuilder, p: attributes.LayerNormFusion, x: Value, gamma: Value | None = None, beta: Value | None = None
) -> Value:
    """y = gamma (x - mean) / √(variance + epsilon) + beta, mean and variance over the dims from ``beginNormAxis`` on.

    x (…); gamma, beta with the dims of x from ``beginParamsAxis`` or from ``beginNormAxis`` on, or both left out → y
    like x.  ``elementwiseAffine`` says nothing that the inputs do not say.
    """
    refuse_bare_int8(g)
    if not x.rank:
        raise CheckError("a scalar has no dims to normalise over")
    if gamma is not None and beta is None:
        raise CheckError("the node must have 1 or 3 inputs, got 2")
    first = axis_of(p.beginNormAxis, x.rank, "beginNormAxis")
    work = as_float(g, x)
    y = standardize(g, work, range(first, x.rank), p.epsilon)
    if gamma is not None and beta is not None:
        y = g.Add(g.Mul(y, _along(g, p, x, gamma, "gamma")), _along(g, p, x, beta, "beta"))
    return g.cast(y, x.dtype)


def _along(g: NodeBuilder, p: attributes.LayerNormFusion, x: Value, vector: Value, what: str) -> Value:
    """gamma or beta, broadcast against x from behind."""
    begins = [axis_of(p.beginParamsAxis, x.rank, "beginParamsAxis"), axis_of(p.beginNormAxis, x.rank)]
    count = math.prod(dim for dim in vector.shape if isinstance(dim, int))
    for begin in begins:
        covered = x.shape[begin:]
        if vector.rank == len(covered) and all(
            have == want or not (isinstance(have, int) and isinstance(want, int))
            for have, want in zip(vector.shape, covered, strict=True)
        ):
            return g.cast(vector, as_float(g, x).dtype)
        if vector.static and all(isinstance(dim, int) for dim in covered) and math.prod(covered) == count:
            return g.cast(g.reshape(vector, list(covered)), as_float(g, x).dtype)
    raise CheckError(
        f"{what} must have the dims {list(x.shape[begins[0] :])} of {list(x.shape)}, got {list(vector.shape)}"
    )


@node(NodeType.L2_NORMALIZE_FUSION)
def l2_normalize(g: NodeBuilder, p: attributes.L2NormalizeFusion, x: Value) -> Value:
    """y = act(x / √max(Σ x², epsilon)), the sum along ``axis``; an empty list means all axes.

    x (…) → y like x.
    """
    refuse_bare_int8(g)
    axes = axes_of(p.axis, x.rank) or list(range(x.rank))
    work = as_float(g, x)
    total = g.Mul(work, work)
    if axes:
        total = g.ReduceSum(total, axes)
    y = g.Div(work, g.Sqrt(g.Max(total, g.constant(p.epsilon, work.dtype))))
    return activate(g, g.cast(y, x.dtype), p.activationType)


@node(NodeType.LRN)
def lrn(g: NodeBuilder, p: attributes.LRN, x: Value) -> Value:
    """y = x (bias + alpha Σ x²)^-beta, the sum over the channels at most ``depthRadius`` away.

    x (N,H,W,C), or (N,C,H,W) where its format says so → y like x.  alpha is not divided by the window's size.
    ``normRegion`` knows only "ACROSS_CHANNELS".
    """
    refuse_bare_int8(g)
    rank_of(x, 4)
    if p.normRegion not in REGIONS:
        raise CheckError(f'normRegion must be "ACROSS_CHANNELS", got {p.normRegion!r}')
    channels = x.shape[1] if channels_first(g) else x.shape[3]
    radius = min(int(p.depthRadius), max(channels - 1, 0)) if isinstance(channels, int) else int(p.depthRadius)
    if not 0 <= radius <= (WIDEST if isinstance(channels, str) else channels):
        raise CheckError(f"depthRadius must be 0 to {WIDEST}, got {p.depthRadius}")
    work = x if x.dtype.name in ("float16", "float32") else g.cast(x, "float32")
    window = 2 * radius + 1
    # the mean over a window that counts the cells beyond the first and the last channel, times the window
    total = g.Mul(work, work)
    if radius and channels_first(g):
        n, c, h, w = g.sizes(work)
        flat = g.reshape(total, [n, 1, c, g.product([h, w])])
        mean = g.AveragePool(flat, kernel_shape=[window, 1], pads=[radius, 0, radius, 0], count_include_pad=1)
        total = g.Mul(g.reshape(mean, [n, c, h, w]), float(window))
    elif radius:
        mean = g.AveragePool(total, kernel_shape=[1, window], pads=[0, radius, 0, radius], count_include_pad=1)
        total = g.Mul(mean, float(window))
    return g.cast(g.Mul(work, g.Pow(g.Add(g.Mul(total, p.alpha), p.bias), -p.beta)), x.dtype)
