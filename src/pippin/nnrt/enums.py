"""The enums of the NNRt device interface v2.1.

A member carries the IDL's number; its name is the IDL's without the common prefix, and ``idl_name`` puts it back
(``Format.NHWC.idl_name == "FORMAT_NHWC"``).  ``__width__`` is the enum's size in bytes inside a raw struct.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class IdlEnum(IntEnum):
    """An enum of the interface: numbers, IDL names and the size of its base type."""

    __prefix__ = ""
    __width__ = 4
    __signed__ = True

    @property
    def idl_name(self) -> str:
        """The name as the interface definition spells it."""
        return self.__prefix__ + self.name

    @classmethod
    def parse(cls, name: str) -> Self:
        """The member with this name, with or without the interface's prefix; KeyError if there is none."""
        return cls[name.removeprefix(cls.__prefix__)]


class DeviceType(IdlEnum):
    """What kind of chip a device is."""

    OTHER = 0
    CPU = 1
    GPU = 2
    ACCELERATOR = 3


class DeviceStatus(IdlEnum):
    """Whether a device takes work.

    A BUSY device answers late, an OFFLINE one not at all.
    """

    AVAILABLE = 0
    BUSY = 1
    OFFLINE = 2
    UNKNOWN = 3


class PerformanceMode(IdlEnum):
    """How much speed a prepared model may buy with power; NONE leaves it to the device.

    What the modes mean on a device of Pippin stands in :mod:`pippin.nnrt.config`.
    """

    __prefix__ = "PERFORMANCE_"

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    EXTREME = 4


class Priority(IdlEnum):
    """Which prepared model runs first when the device has more work than room; NONE leaves it to the device."""

    __prefix__ = "PRIORITY_"

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3


class Format(IdlEnum):
    """The layout label of a tensor: order of batch, channel, height and width in a 4-D image.

    Only a label: nothing is transposed because of it.  The operators on images take NHWC data.
    """

    __prefix__ = "FORMAT_"
    __width__ = 1

    NONE = -1
    NCHW = 0
    NHWC = 1


class DataType(IdlEnum):
    """The element type of a tensor; the numbers are those of the MindSpore type table, with gaps.

    :data:`pippin.nnrt.types.NUMPY` maps them to NumPy types, BOOL taking one byte.
    """

    __prefix__ = "DATA_TYPE_"
    __width__ = 1

    UNKNOWN = 0
    BOOL = 30
    INT8 = 32
    INT16 = 33
    INT32 = 34
    INT64 = 35
    UINT8 = 37
    UINT16 = 38
    UINT32 = 39
    UINT64 = 40
    FLOAT16 = 42
    FLOAT32 = 43
    FLOAT64 = 44


class QuantType(IdlEnum):
    """Whether a node computes on quantised tensors."""

    __prefix__ = "QUANT_TYPE_"
    __width__ = 1

    NONE = 0
    ALL = 1


class NodeType(IdlEnum):
    """The 97 operator numbers; each but NONE has an attribute struct in :mod:`pippin.nnrt.attributes`."""

    __prefix__ = "NODE_TYPE_"
    __signed__ = False

    NONE = 0
    ABS = 1
    ACTIVATION = 2
    ADD_FUSION = 5
    ALL = 9
    ARGMAX_FUSION = 11
    ASSERT = 13
    AVGPOOL_FUSION = 17
    BATCH_TO_SPACE_ND = 22
    BIAS_ADD = 23
    BROADCAST_TO = 27
    CAST = 28
    CEIL = 29
    CLIP = 30
    CONCAT = 31
    CONV2D_FUSION = 35
    CONV2D_TRANSPOSE_FUSION = 36
    COS = 37
    CONSTANT_OF_SHAPE = 38
    CROP = 39
    DEPTH_TO_SPACE = 45
    DETECTION_POST_PROCESS = 46
    DIV_FUSION = 47
    ELTWISE = 52
    EQUAL = 53
    EXPFUSION = 55
    EXPAND_DIMS = 56
    FLATTEN = 61
    FLOOR = 63
    FILL = 66
    FULL_CONNECTION = 67
    FUSED_BATCH_NORM = 68
    GATHER = 69
    GATHER_ND = 70
    GREATER = 71
    GREATER_EQUAL = 72
    INSTANCE_NORM = 74
    LAYER_NORM_FUSION = 75
    LEAKY_RELU = 76
    LESS = 77
    LESS_EQUAL = 78
    LOG = 79
    LOGICAL_AND = 81
    LOGICAL_NOT = 82
    LOGICAL_OR = 83
    LRN = 85
    LSTM = 87
    L2_NORMALIZE_FUSION = 88
    MATMUL_FUSION = 89
    MAXIMUM = 90
    MAX_POOL_FUSION = 92
    MINIMUM = 96
    MOD = 98
    MUL_FUSION = 99
    NEG = 101
    NOT_EQUAL = 103
    ONE_HOT = 105
    PAD_FUSION = 107
    POW_FUSION = 110
    PRELU_FUSION = 112
    QUANT_DTYPE_CAST = 113
    RANK = 114
    RANGE = 115
    RECIPROCAL = 116
    REAL_DIV = 117
    REDUCE_FUSION = 118
    RESHAPE = 119
    RESIZE = 120
    ROUND = 125
    RSQRT = 126
    SCALE_FUSION = 127
    SCATTER_ND = 128
    SHAPE = 130
    SIN = 133
    SLICE_FUSION = 135
    SOFTMAX = 138
    SPACE_TO_BATCH_ND = 141
    SPACE_TO_DEPTH = 142
    SPARSE_TO_DENSE = 144
    SPLIT = 145
    SQRT = 146
    SQUEEZE = 147
    SQUARE = 148
    SQUARED_DIFFERENCE = 149
    STACK = 150
    STRIDED_SLICE = 151
    SUB_FUSION = 152
    TILE_FUSION = 160
    TOPK_FUSION = 161
    TRANSPOSE = 162
    UNSQUEEZE = 165
    UNSTACK = 166
    WHERE = 168
    SELECT = 170
    ERF = 178
    LOG_SOFTMAX = 189
    QUANT_DTYPE_CAST_V2 = 999


class ResizeMethod(IdlEnum):
    """How Resize finds the value between pixels.

    LINEAR mixes the 2x2 neighbours, NEAREST takes the closest, CUBIC weighs 4x4 neighbours with

        W(d) = (a+2)|d|^3 - (a+3)|d|^2 + 1           for |d| <= 1
               a|d|^3 - 5a|d|^2 + 8a|d| - 4a         for 1 < |d| <= 2
               0                                     beyond

    where a is ``cubicCoeff``.
    """

    __prefix__ = "RESIZE_METHOD_"
    __width__ = 1

    UNKNOWN = -1
    LINEAR = 0
    NEAREST = 1
    CUBIC = 2


class CoordinateTransformMode(IdlEnum):
    """Where output pixel i of ``new`` lies in an input row of ``old`` pixels.

    ASYMMETRIC     i old / new
    ALIGN_CORNERS  i (old - 1) / (new - 1)
    HALF_PIXEL     (i + 1/2) old / new - 1/2, and 0 where new is 1
    """

    __prefix__ = "COORDINATE_TRANSFORM_MODE_"
    __width__ = 1

    ASYMMETRIC = 0
    ALIGN_CORNERS = 1
    HALF_PIXEL = 2


class NearestMode(IdlEnum):
    """How NEAREST rounds a coordinate.

    NORMAL to the nearest, ROUND_HALF_DOWN and ROUND_HALF_UP settle the ties, FLOOR and CEIL go one way.
    """

    __prefix__ = "NEAREST_MODE_"
    __width__ = 1

    NORMAL = 0
    ROUND_HALF_DOWN = 1
    ROUND_HALF_UP = 2
    FLOOR = 3
    CEIL = 4


class ActivationType(IdlEnum):
    """The element-wise functions, alone (Activation) or at the end of another operator.

    RELU max(x,0)                        SIGMOID 1/(1+exp(-x))          RELU6 min(max(x,0),6)
    ELU x>=0 ? x : alpha(exp(x)-1)       LEAKY_RELU x>=0 ? x : alpha x  ABS |x|
    RELU1 min(max(x,0),1)                SOFTSIGN x/(1+|x|)             SOFTPLUS log(1+exp(x))
    TANH tanh(x)                         HSWISH x relu6(x+3)/6          HSIGMOID relu6(x+3)/6
    THRESHOLDRELU min(max(x,0),maxVal)   LINEAR x                       HARD_TANH min(max(x,minVal),maxVal)
    SIGN -1, 0 or 1                      SWISH x sigmoid(x)             NO_ACTIVATION x
    SELU 1.05070098 (x>=0 ? x : 1.67326324 (exp(x)-1))
    GELU x P(X<=x), X standard normal; approximate: x/2 (1+tanh(sqrt(2/pi)(x+0.044715x^3)))
    """

    __prefix__ = "ACTIVATION_TYPE_"
    __width__ = 1

    NO_ACTIVATION = 0
    RELU = 1
    SIGMOID = 2
    RELU6 = 3
    ELU = 4
    LEAKY_RELU = 5
    ABS = 6
    RELU1 = 7
    SOFTSIGN = 8
    SOFTPLUS = 9
    TANH = 10
    SELU = 11
    HSWISH = 12
    HSIGMOID = 13
    THRESHOLDRELU = 14
    LINEAR = 15
    HARD_TANH = 16
    SIGN = 17
    SWISH = 18
    GELU = 19
    UNKNOWN = 20


class ReduceMode(IdlEnum):
    """What ReduceFusion does with the elements along its axes.

    ASUM adds absolute values, SUM_SQUARE squares, L2 is the root of SUM_SQUARE, ALL is the logical and.
    """

    __prefix__ = "REDUCE_MODE_"
    __width__ = 1

    MEAN = 0
    MAX = 1
    MIN = 2
    PROD = 3
    SUM = 4
    SUM_SQUARE = 5
    ASUM = 6
    ALL = 7
    L2 = 8


class EltwiseMode(IdlEnum):
    """What Eltwise computes: the product, the sum or the maximum of two tensors."""

    __prefix__ = "ELTWISE_MODE_"
    __width__ = 1

    PROD = 0
    SUM = 1
    MAXIMUM = 2
    UNKNOWN = 3


class PadMode(IdlEnum):
    """How convolutions and pooling choose their padding.

    PAD takes the listed numbers, SAME makes the output ceil(input / stride) and puts the odd cell at the end,
    VALID pads nothing.
    """

    __prefix__ = "PAD_MODE_"
    __width__ = 1

    PAD = 0
    SAME = 1
    VALID = 2


class RoundMode(IdlEnum):
    """Which way the output size of a pooling is rounded."""

    __prefix__ = "ROUND_MODE_"
    __width__ = 1

    FLOOR = 0
    CEIL = 1


class PaddingMode(IdlEnum):
    """What PadFusion fills the border with.

    [1 2 3] padded by two on both sides: CONSTANT 0 0 1 2 3 0 0, REFLECT 3 2 1 2 3 2 1, SYMMETRIC 2 1 1 2 3 3 2.
    """

    __prefix__ = "PADDING_MODE_"
    __width__ = 1

    CONSTANT = 0
    REFLECT = 1
    SYMMETRIC = 2
    RESERVED = 3


class ReturnCode(IdlEnum):
    """What every method of the interface answers; OUT_OF_DIMENTION_RANGES is spelt so there."""

    __prefix__ = "NNRT_"
    __signed__ = False

    SUCCESS = 0
    FAILED = 1
    NULL_PTR = 2
    INVALID_PARAMETER = 3
    MEMORY_ERROR = 4
    OUT_OF_MEMORY = 5
    OPERATION_FORBIDDEN = 6
    INVALID_FILE = 7
    INVALID_PATH = 8
    INSUFFICIENT_BUFFER = 9
    NO_CHANGE = 10
    NOT_SUPPORT = 11
    SERVICE_ERROR = 12
    DEVICE_ERROR = 13
    DEVICE_BUSY = 14
    CANCELLED = 15
    PERMISSION_DENIED = 16
    TIME_OUT = 17
    INVALID_TENSOR = 18
    INVALID_NODE = 19
    INVALID_INPUT = 20
    INVALID_OUTPUT = 21
    INVALID_DATATYPE = 22
    INVALID_FORMAT = 23
    INVALID_TENSOR_NAME = 24
    INVALID_SHAPE = 25
    OUT_OF_DIMENTION_RANGES = 26
    INVALID_BUFFER = 27
    INVALID_BUFFER_SIZE = 28
    INVALID_PERFORMANCE_MODE = 29
    INVALID_PRIORITY = 30
    INVALID_MODEL = 31
    INVALID_MODEL_CACHE = 32
    UNSUPPORTED_OP = 33
