"""Attributes of the functions of one tensor, element by element: y has the dims and dtype of x."""

from __future__ import annotations

from ..enums import ActivationType, NodeType
from .base import ActivationField, Attributes, Bool, Float, struct


@struct(NodeType.ABS)
class Abs(Attributes):
    """y = |x|.  x (…) float or int32."""


@struct(NodeType.CEIL)
class Ceil(Attributes):
    """y = the least integer that is not below x.  x (…) float."""


@struct(NodeType.FLOOR)
class Floor(Attributes):
    """y = the greatest integer that is not above x.  x (…) float."""


@struct(NodeType.ROUND)
class Round(Attributes):
    """y = x rounded to the nearest integer, ties to the even one: 0.5 → 0, 1.5 → 2, 2.5 → 2.  x (…) float.

    Differs: some kernels round ties away from zero.
    """


@struct(NodeType.COS)
class Cos(Attributes):
    """y = cos x, x in radians.  x (…) float."""


@struct(NodeType.SIN)
class Sin(Attributes):
    """y = sin x, x in radians.  x (…) float."""


@struct(NodeType.ERF)
class Erf(Attributes):
    """y = 2/√π ∫₀ˣ exp(-t²) dt.  x (…) float."""


@struct(NodeType.LOG)
class Log(Attributes):
    """y = ln x.  x (…) float.

    Differs: 0 gives -inf and a negative x NaN; kernels fail there.
    """


@struct(NodeType.NEG)
class Neg(Attributes):
    """y = -x.  x (…) float or int."""


@struct(NodeType.RECIPROCAL)
class Reciprocal(Attributes):
    """y = 1/x.  x (…) float.

    Differs: 0 gives inf; kernels fail there.
    """


@struct(NodeType.SQRT)
class Sqrt(Attributes):
    """y = √x.  x (…) float; a negative x gives NaN."""


@struct(NodeType.RSQRT)
class Rsqrt(Attributes):
    """y = 1/√x.  x (…) float; 0 gives inf, a negative x NaN."""


@struct(NodeType.SQUARE)
class Square(Attributes):
    """y = x².  x (…) float or int."""


@struct(NodeType.EXPFUSION)
class ExpFusion(Attributes):
    """y = base ^ (shift + scale x); a base of -1 stands for e.  x (…) float.

    Any other base must be positive.  Differs: kernels lose the base where scale is 1.
    """

    base: Float = -1.0
    scale: Float = 1.0
    shift: Float = 0.0


@struct(NodeType.CLIP)
class Clip(Attributes):
    """y = min(max(x, min), max).  x (…) float or int32.  The upper bound comes first on the wire."""

    max: Float = 0.0
    min: Float = 0.0


@struct(NodeType.ACTIVATION)
class Activation(Attributes):
    """y = the function ``activationType`` of x; the formulas stand at :class:`~pippin.nnrt.enums.ActivationType`.

    x (…) float.  ``alpha`` is the slope of ELU and LEAKY_RELU, ``minVal`` and ``maxVal`` are the bounds of HARD_TANH,
    ``maxVal`` alone that of THRESHOLDRELU, ``approximate`` chooses the tanh form of GELU.
    """

    activationType: ActivationField = ActivationType.NO_ACTIVATION
    alpha: Float = 0.0
    minVal: Float = 0.0
    maxVal: Float = 0.0
    approximate: Bool = False


@struct(NodeType.LEAKY_RELU)
class LeakyRelu(Attributes):
    """y = x for x ≥ 0, negativeSlope · x below.  x (…) float."""

    negativeSlope: Float = 0.0


@struct(NodeType.PRELU_FUSION)
class PReLUFusion(Attributes):
    """y = x for x ≥ 0, w · x below, w one number or one per channel.

    x (…, C), w (1) or (C) float.  The channel is the last dim (kernels; the text is of two minds).  Whether w is shared
    is seen from its size; ``channelShared`` only says so again.
    """

    channelShared: Bool = False
