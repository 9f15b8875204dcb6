"""Attributes of the functions of two tensors, element by element, and of comparisons and choices.

The dims of the operands are broadcast as NumPy's.  Where operands differ in dtype, the second is converted to the first
one's type; the result has that type (comparisons: bool).  int8 and uint8 operands must carry quantParams.
"""

from __future__ import annotations

from ..enums import ActivationType, EltwiseMode, NodeType
from .base import ActivationField, Attributes, EltwiseField, Float, Long, struct


@struct(NodeType.ADD_FUSION)
class AddFusion(Attributes):
    """y = act(a + b)."""

    activationType: ActivationField = ActivationType.NO_ACTIVATION


@struct(NodeType.SUB_FUSION)
class SubFusion(Attributes):
    """y = act(a - b)."""

    activationType: ActivationField = ActivationType.NO_ACTIVATION


@struct(NodeType.MUL_FUSION)
class MulFusion(Attributes):
    """y = act(a · b)."""

    activationType: ActivationField = ActivationType.NO_ACTIVATION


@struct(NodeType.DIV_FUSION)
class DivFusion(Attributes):
    """y = act(a / b).  Integers are truncated toward zero; floats divided by zero follow IEEE 754."""

    activationType: ActivationField = ActivationType.NO_ACTIVATION


@struct(NodeType.REAL_DIV)
class RealDiv(Attributes):
    """y = a / b, for floats."""


@struct(NodeType.ELTWISE)
class Eltwise(Attributes):
    """y = a · b (PROD), a + b (SUM) or max(a, b) (MAXIMUM).

    Differs: the text calls SUM a difference, against its name and every kernel.
    """

    mode: EltwiseField = EltwiseMode.PROD


@struct(NodeType.POW_FUSION)
class PowFusion(Attributes):
    """y = (scale · a + shift) ^ b.  a, b float."""

    scale: Float = 1.0
    shift: Float = 0.0


@struct(NodeType.MOD)
class Mod(Attributes):
    """y = a - b · trunc(a / b): the remainder, with the sign of the dividend as C's fmod."""


@struct(NodeType.MAXIMUM)
class Maximum(Attributes):
    """y = max(a, b)."""


@struct(NodeType.MINIMUM)
class Minimum(Attributes):
    """y = min(a, b)."""


@struct(NodeType.SQUARED_DIFFERENCE)
class SquaredDifference(Attributes):
    """y = (a - b)²."""


@struct(NodeType.BIAS_ADD)
class BiasAdd(Attributes):
    """y = x + bias along the last dim.  x (…, C), bias (C)."""


@struct(NodeType.SCALE_FUSION)
class ScaleFusion(Attributes):
    """y = act(x · scale + bias), scale and bias lying along the dims from ``axis`` on.

    x (d₀ … dₙ), scale (d_axis … d_axis+k), bias as scale, or left out.
    """

    axis: Long = 0
    activationType: ActivationField = ActivationType.NO_ACTIVATION


@struct(NodeType.EQUAL)
class Equal(Attributes):
    """y = (a = b), bool."""


@struct(NodeType.NOT_EQUAL)
class NotEqual(Attributes):
    """y = (a ≠ b), bool."""


@struct(NodeType.GREATER)
class Greater(Attributes):
    """y = (a > b), bool."""


@struct(NodeType.GREATER_EQUAL)
class GreaterEqual(Attributes):
    """y = (a ≥ b), bool."""


@struct(NodeType.LESS)
class Less(Attributes):
    """y = (a < b), bool."""


@struct(NodeType.LESS_EQUAL)
class LessEqual(Attributes):
    """y = (a ≤ b), bool."""


@struct(NodeType.LOGICAL_AND)
class LogicalAnd(Attributes):
    """y = a and b, bool; numbers count as true unless they are 0."""


@struct(NodeType.LOGICAL_OR)
class LogicalOr(Attributes):
    """y = a or b, bool; numbers count as true unless they are 0."""


@struct(NodeType.LOGICAL_NOT)
class LogicalNot(Attributes):
    """y = not x, bool; numbers count as true unless they are 0."""


@struct(NodeType.WHERE)
class Where(Attributes):
    """y = a where the condition holds, else b; with the condition alone, the places where it holds.

    condition (…) bool, a, b broadcast to it; or condition alone → y (n, rank) int32, row-major order.
    """


@struct(NodeType.SELECT)
class Select(Attributes):
    """y = a where the condition holds, else b.

    condition (…) bool with the dims of a, or one element that picks a whole tensor; a, b of equal dims.
    """
