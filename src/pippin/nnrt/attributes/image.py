"""Attributes of the operators that resize images, regroup their pixels and find boxes in them.  Images are N,H,W,C."""

from __future__ import annotations

from ..enums import CoordinateTransformMode, Format, NearestMode, NodeType, ResizeMethod
from .base import (
    Attributes,
    Bool,
    CoordinateField,
    Float,
    Floats,
    FormatField,
    Long,
    LongRows,
    Longs,
    NearestField,
    ResizeField,
    Text,
    struct,
)


@struct(NodeType.RESIZE)
class Resize(Attributes):
    """y = x at a new height and width; how stands at ResizeMethod and CoordinateTransformMode.

    x (N,H,W,C) → y (N,newHeight,newWidth,C).  ``cubicCoeff`` is a of the cubic weights.
    """

    method: ResizeField = ResizeMethod.UNKNOWN
    newHeight: Long = 0
    newWidth: Long = 0
    preserveAspectRatio: Bool = False
    coordinateTransformMode: CoordinateField = CoordinateTransformMode.ASYMMETRIC
    cubicCoeff: Float = -0.75
    excludeOutside: Long = 0
    extrapolationValue: Float = 0.0
    nearestMode: NearestField = NearestMode.NORMAL


@struct(NodeType.DEPTH_TO_SPACE)
class DepthToSpace(Attributes):
    """y = blocks of channels laid out as pixels; b = blockSize.

    x (N,H,W,C) → y (N,H·b,W·b,C/b²).  Pixel (i,j) of a block comes from channel (i·b + j)·C/b² + c (mode "DCR") or
    c·b² + i·b + j ("CRD").  The tensor's own format decides, not ``format``.
    """

    blockSize: Long = 0
    format: FormatField = Format.NHWC
    mode: Text = "DCR"


@struct(NodeType.SPACE_TO_DEPTH)
class SpaceToDepth(Attributes):
    """y = blocks of pixels laid out as channels, pixel (i,j) of a block at channel (i·b + j)·C + c; b = blockSize.

    x (N,H,W,C) → y (N,H/b,W/b,C·b²).  The tensor's own format decides, not ``format``.
    """

    blockSize: Long = 0
    format: FormatField = Format.NHWC


@struct(NodeType.BATCH_TO_SPACE_ND)
class BatchToSpaceND(Attributes):
    """y = blocks of the batch laid out as pixels, then cropped.

    x (N,H,W,C), blockShape (bh,bw), crops ((top,bottom),(left,right)) → y (N/(bh·bw), H·bh - crops, W·bw - crops, C);
    the batch index is (block row, block column, image).
    """

    blockShape: Longs = ()
    crops: LongRows = ()


@struct(NodeType.SPACE_TO_BATCH_ND)
class SpaceToBatchND(Attributes):
    """y = x padded with 0, its blocks of pixels laid out in the batch.

    x (N,H,W,C), blockShape (bh,bw), paddings ((top,bottom),(left,right)) → y (N·bh·bw, (H+pads)/bh, (W+pads)/bw, C).
    """

    blockShape: Longs = ()
    paddings: LongRows = ()


@struct(NodeType.DETECTION_POST_PROCESS)
class DetectionPostProcess(Attributes):
    """Boxes, classes, scores and their count from the raw answers of a detector.

    boxes (1,A,4) as y,x,h,w relative to anchors (A,4), scores (1,A,numClasses or one more, the background first)
    → boxes (1,N,4) ymin,xmin,ymax,xmax, classes (1,N), scores (1,N), count (1), float; N = maxDetections ·
    maxClassesPerDetection.  centre = box / scale · anchor size + anchor centre, size = exp(box / scale) · anchor size,
    ``scale`` listing h, w, x, y.  Boxes that overlap a better one by more than ``nmsIoUThreshold`` go: per class with
    ``useRegularNms``, else by their best class.
    """

    format: FormatField = Format.NHWC
    inputSize: Long = 0
    scale: Floats = ()
    nmsIoUThreshold: Float = 0.0
    nmsScoreThreshold: Float = 0.0
    maxDetections: Long = 0
    detectionsPerClass: Long = 0
    maxClassesPerDetection: Long = 0
    numClasses: Long = 0
    useRegularNms: Bool = False
    outQuantized: Bool = False
