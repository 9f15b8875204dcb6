"""Attributes of the operators that fold or rank elements along axes."""

from __future__ import annotations

from ..enums import NodeType, ReduceMode
from .base import Attributes, Bool, Float, Long, ReduceField, struct


@struct(NodeType.REDUCE_FUSION)
class ReduceFusion(Attributes):
    """y = x folded by ``mode`` along the axes of the second input.

    x (…), axis (k) int32, negative ones from the end; none or an empty list folds all.  ``reduceToEnd``: one axis is
    given, everything from it on is folded, its dims go whatever ``keepDims`` says, and the result is multiplied by
    ``coeff`` unless that is (almost) 0.
    """

    keepDims: Bool = False
    mode: ReduceField = ReduceMode.MEAN
    reduceToEnd: Bool = False
    coeff: Float = 0.0


@struct(NodeType.ALL)
class All(Attributes):
    """y = whether every element along the axes of the second input is non-zero, bool.

    x (…), axis () or (k) int32; an empty list means all axes.  ``keepDims`` is a number: non-zero keeps them as 1.
    """

    keepDims: Long = 0


@struct(NodeType.ARGMAX_FUSION)
class ArgMaxFusion(Attributes):
    """y = the places of the ``topK`` greatest elements along ``axis``, the greatest first, ties by the lower place.

    x (…) → y int32, or the values themselves with ``outMaxValue``; a second output gets the values.  The axis goes
    where topK is 1 and not ``keepDims``, else it has topK entries.
    """

    axis: Long = -1
    topK: Long = 1
    keepDims: Bool = False
    outMaxValue: Bool = False


@struct(NodeType.TOPK_FUSION)
class TopKFusion(Attributes):
    """y, i = the k greatest elements along ``axis`` and their places, the greatest first, ties by the lower place.

    x (…), k () int32 → values, places int32.  Differs: ``sorted`` false gives the same order.
    """

    sorted: Bool = True
    axis: Long = 0
