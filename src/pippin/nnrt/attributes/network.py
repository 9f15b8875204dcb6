"""Attributes of the layers of networks: convolutions, pooling, products, normalisation, recurrence.

Images are N,H,W,C.  Pads are listed top, bottom, left, right; pairs are height, width.
"""

from __future__ import annotations

from ..enums import ActivationType, Format, NodeType, PadMode, RoundMode
from .base import (
    ActivationField,
    Attributes,
    Bool,
    Float,
    FormatField,
    Long,
    Longs,
    PadField,
    RoundField,
    Text,
    struct,
)


@struct(NodeType.CONV2D_FUSION)
class Conv2DFusion(Attributes):
    """y = act(x ∗ w + bias), a two-dimensional convolution in groups.

    x (N,H,W,I), w (O,kH,kW,I/group), bias (O) or left out → y (N,H',W',O).
    PAD H' = ⌊(H + pads - ((kH-1)·d + 1)) / s⌋ + 1; SAME H' = ⌈H/s⌉, odd cell at the end; VALID as PAD without pads.
    Sizes are taken from the weights; ``inChannel`` and ``outChannel`` only say so again; group 0 stands for O.
    """

    kernelSize: Longs = ()
    stride: Longs = (1, 1)
    dilation: Longs = (1, 1)
    padMode: PadField = PadMode.PAD
    padList: Longs = ()
    group: Long = 1
    inChannel: Long = 0
    outChannel: Long = 0
    activationType: ActivationField = ActivationType.NO_ACTIVATION


@struct(NodeType.CONV2D_TRANSPOSE_FUSION)
class Conv2dTransposeFusion(Attributes):
    """y = act(the transposed convolution of x by w + bias).

    x (N,H,W,I), w (I,kH,kW,O/group), bias (O) or left out → y (N,H',W',O); where only the text's (O,kH,kW,I/group) fits
    the channels, that one is read.
    PAD H' = (H-1)·s + (kH-1)·d + 1 - pads + outputPadding; SAME H' = H·s + outputPadding; VALID as PAD without pads.
    """

    kernelSize: Longs = ()
    stride: Longs = (1, 1)
    dilation: Longs = (1, 1)
    padMode: PadField = PadMode.PAD
    padList: Longs = ()
    group: Long = 1
    inChannel: Long = 0
    outChannel: Long = 0
    activationType: ActivationField = ActivationType.NO_ACTIVATION
    outputPaddings: Longs = (0, 0)


@struct(NodeType.AVGPOOL_FUSION)
class AvgPoolFusion(Attributes):
    """y = act(the mean of each window); cells of the padding do not count.

    x (N,H,W,C) → y (N,H',W',C).  Sizes as Conv2DFusion's without dilation, ``roundMode`` CEIL rounding up.  ``global``:
    the window is the whole image.  ``format`` is not looked at; it comes after roundMode, in MaxPoolFusion before it.
    """

    kernelSize: Longs = ()
    strides: Longs = (1, 1)
    pad: Longs = ()
    padMode: PadField = PadMode.PAD
    roundMode: RoundField = RoundMode.FLOOR
    format: FormatField = Format.NHWC
    global_: Bool = False
    activationType: ActivationField = ActivationType.NO_ACTIVATION


@struct(NodeType.MAX_POOL_FUSION)
class MaxPoolFusion(Attributes):
    """y = act(the maximum of each window); cells of the padding never win.

    x (N,H,W,C) → y (N,H',W',C).  Sizes and fields as AvgPoolFusion's, but ``format`` before ``roundMode``.
    """

    kernelSize: Longs = ()
    strides: Longs = (1, 1)
    pad: Longs = ()
    padMode: PadField = PadMode.PAD
    format: FormatField = Format.NHWC
    roundMode: RoundField = RoundMode.FLOOR
    global_: Bool = False
    activationType: ActivationField = ActivationType.NO_ACTIVATION


@struct(NodeType.FULL_CONNECTION)
class FullConnection(Attributes):
    """y = act(x wᵀ + bias).

    w (O,K), bias (O) as ``hasBias`` says.  With ``useAxis`` x (d₀ … dₙ) is cut at ``axis``: K = the product of the dims
    from there on, y (d₀ … d_axis-1, O).  Without it x is a row of K after another: y (size/K, O).
    """

    hasBias: Bool = False
    useAxis: Bool = False
    axis: Long = 0
    activationType: ActivationField = ActivationType.NO_ACTIVATION


@struct(NodeType.MATMUL_FUSION)
class MatMulFusion(Attributes):
    """y = act(op(a) op(b) + bias), op transposing the last two dims where asked.

    a (…,M,K), b (…,K,N), bias (N) or left out → y (…,M,N), leading dims broadcast.
    """

    transposeA: Bool = False
    transposeB: Bool = False
    activationType: ActivationField = ActivationType.NO_ACTIVATION


@struct(NodeType.LSTM)
class LSTM(Attributes):
    """A long short-term memory layer over a sequence, one direction or two.

    i, f, o = σ(W x + R h + b), g = tanh(…); c' = f c + i g; h' = o tanh(c'); zoneout z keeps z of the old state.
    x (T,B,I), W (D,4H,I), R (D,4H,H), bias (D,8H), h₀ (D,B,H), c₀ (D,B,H) → y (T,D,B,H), hₙ, cₙ (D,B,H).
    Blocks inside 4H: input, output, forget, cell; bias: 4H for W, then 4H for R.
    """

    bidirectional: Bool = False
    hasBias: Bool = True
    inputSize: Long = 0
    hiddenSize: Long = 0
    numLayers: Long = 1
    numDirections: Long = 1
    dropout: Float = 0.0
    zoneoutCell: Float = 0.0
    zoneoutHidden: Float = 0.0
    projSize: Long = 0


@struct(NodeType.FUSED_BATCH_NORM)
class FusedBatchNorm(Attributes):
    """y = scale (x - mean) / √(variance + epsilon) + offset, per channel.

    x (…,C); scale, offset, mean, variance (C) in this order.
    """

    epsilon: Float = 1e-4


@struct(NodeType.INSTANCE_NORM)
class InstanceNorm(Attributes):
    """y = scale (x - mean) / √(variance + epsilon) + bias, mean and variance over one channel of one image.

    x (N,C,H,W) or (N,H,W,C), as its format says; scale, bias (C).
    """

    epsilon: Float = 0.0


@struct(NodeType.LAYER_NORM_FUSION)
class LayerNormFusion(Attributes):
    """y = gamma (x - mean) / √(variance + epsilon) + beta, mean and variance over the dims from ``beginNormAxis`` on.

    x (…); gamma, beta with the dims of x from ``beginParamsAxis`` on, or left out.
    """

    beginNormAxis: Long = 1
    epsilon: Float = 1e-7
    elementwiseAffine: Bool = True
    beginParamsAxis: Long = 1


@struct(NodeType.L2_NORMALIZE_FUSION)
class L2NormalizeFusion(Attributes):
    """y = act(x / √max(Σ x², epsilon)), the sum along ``axis``; an empty list means all axes."""

    axis: Longs = ()
    epsilon: Float = 1e-6
    activationType: ActivationField = ActivationType.NO_ACTIVATION


@struct(NodeType.LRN)
class LRN(Attributes):
    """y = x (bias + alpha Σ x²)^-beta, the sum over the channels at most ``depthRadius`` away.

    x (N,H,W,C).  alpha is not divided by the window's size.  ``normRegion`` knows only "ACROSS_CHANNELS".
    """

    depthRadius: Long = 0
    bias: Float = 1.0
    alpha: Float = 1.0
    beta: Float = 0.5
    normRegion: Text = "ACROSS_CHANNELS"


@struct(NodeType.SOFTMAX)
class Softmax(Attributes):
    """yᵢ = exp(xᵢ) / Σⱼ exp(xⱼ) along the one axis that ``axis`` lists."""

    axis: Longs = (-1,)


@struct(NodeType.LOG_SOFTMAX)
class LogSoftmax(Attributes):
    """yᵢ = xᵢ - ln Σⱼ exp(xⱼ) along ``axis``."""

    axis: Long = -1
