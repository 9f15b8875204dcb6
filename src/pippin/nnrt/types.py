"""The structs of the NNRt device interface v2.1 as dataclasses, fields named and ordered as there.

Numbers that stand for enum members are kept as plain integers where the interface lets any number through, so that a
wrong one reaches validation and gets its return code: ``Tensor(dataType=1000)`` can be built, not prepared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .enums import (
    ActivationType,
    CoordinateTransformMode,
    DataType,
    DeviceStatus,
    DeviceType,
    EltwiseMode,
    Format,
    IdlEnum,
    NearestMode,
    NodeType,
    PaddingMode,
    PadMode,
    PerformanceMode,
    Priority,
    QuantType,
    ReduceMode,
    ResizeMethod,
    ReturnCode,
    RoundMode,
)

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "ELEMENT_SIZE",
    "ActivationType",
    "CoordinateTransformMode",
    "DataType",
    "DeviceStatus",
    "DeviceType",
    "EltwiseMode",
    "Format",
    "IOTensor",
    "IdlEnum",
    "Model",
    "ModelConfig",
    "NearestMode",
    "Node",
    "NodeType",
    "PadMode",
    "PaddingMode",
    "PerformanceMode",
    "Priority",
    "QuantParam",
    "QuantType",
    "ReduceMode",
    "ResizeMethod",
    "ReturnCode",
    "RoundMode",
    "SharedBuffer",
    "SubGraph",
    "Tensor",
    "byte_size",
    "data_type_of",
    "element_count",
    "numpy_type",
    "portable_type",
]

ELEMENT_SIZE: dict[DataType, int] = {
    DataType.BOOL: 1,
    DataType.INT8: 1,
    DataType.INT16: 2,
    DataType.INT32: 4,
    DataType.INT64: 8,
    DataType.UINT8: 1,
    DataType.UINT16: 2,
    DataType.UINT32: 4,
    DataType.UINT64: 8,
    DataType.FLOAT16: 2,
    DataType.FLOAT32: 4,
    DataType.FLOAT64: 8,
}
"""Bytes of one element; UNKNOWN has none."""

_C_API = (DataType.UNKNOWN, *ELEMENT_SIZE)


@dataclass
class SharedBuffer:
    """Shared memory: ``dataSize`` bytes from byte ``offset`` of a region of ``bufferSize`` bytes behind ``fd``.

    ``fd`` -1 means no memory.  ``owner`` is no part of the interface: whatever keeps the descriptor open, so that it
    is closed when the last buffer that names it is gone.
    """

    fd: int = -1
    bufferSize: int = 0
    offset: int = 0
    dataSize: int = 0
    owner: Any = field(default=None, compare=False, repr=False)


@dataclass
class ModelConfig:
    """How a model is to be prepared.

    ``enableFloat16`` allows a float32 model to be computed in half precision; ``extensions`` are named bytes for the
    device, of which it ignores those that it does not know.
    """

    enableFloat16: bool = False
    mode: PerformanceMode | int = PerformanceMode.NONE
    priority: Priority | int = Priority.NONE
    extensions: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class QuantParam:
    """An affine quantisation: real = (q - zeroPoint) scale, q an integer of ``numBits`` bits.

    The formulas both ways stand in :mod:`pippin.nnrt.quantize`.
    """

    numBits: int = 8
    zeroPoint: int = 0
    scale: float = 1.0


@dataclass
class IOTensor:
    """A value handed to Run or written by it, its bytes in shared memory."""

    name: str = ""
    dataType: DataType | int = DataType.FLOAT32
    dimensions: list[int] = field(default_factory=list)
    format: Format | int = Format.NHWC
    data: SharedBuffer = field(default_factory=SharedBuffer)


@dataclass
class Tensor:
    """A value of the model: a constant where ``data`` has a descriptor, else an input, an output or something between.

    A dim of -1 is unknown until Run.  ``quantParams``: none, one for the whole tensor, or one per channel.
    """

    name: str = ""
    dataType: DataType | int = DataType.FLOAT32
    dims: list[int] = field(default_factory=list)
    format: Format | int = Format.NHWC
    data: SharedBuffer = field(default_factory=SharedBuffer)
    quantParams: list[QuantParam] = field(default_factory=list)

    @property
    def is_constant(self) -> bool:
        """Whether the model carries the tensor's bytes; descriptor 0 counts, as the interface has it."""
        return self.data.fd != -1


@dataclass
class Node:
    """One operator: its number, its attribute blob, the tensors it reads and writes (indices into allTensors)."""

    name: str = ""
    nodeType: NodeType | int = NodeType.NONE
    nodeAttr: bytes = b""
    inputIndex: list[int] = field(default_factory=list)
    outputIndex: list[int] = field(default_factory=list)
    quantType: QuantType | int = QuantType.NONE


@dataclass
class SubGraph:
    """A part of the model: tensors that go in and out, and its nodes in the order of execution.

    ``inputIndices`` and ``outputIndices`` point into allTensors, ``nodeIndices`` into nodes.
    """

    name: str = ""
    inputIndices: list[int] = field(default_factory=list)
    outputIndices: list[int] = field(default_factory=list)
    nodeIndices: list[int] = field(default_factory=list)


@dataclass
class Model:
    """A whole network; ``inputIndex`` and ``outputIndex`` point into ``allTensors`` and the order of Run's lists."""

    name: str = ""
    inputIndex: list[int] = field(default_factory=list)
    outputIndex: list[int] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    allTensors: list[Tensor] = field(default_factory=list)
    subGraph: list[SubGraph] = field(default_factory=list)


def numpy_type(data_type: DataType | int) -> np.dtype[Any]:
    """The NumPy type of an element type, in the byte order of the machine; KeyError for UNKNOWN and unused numbers."""
    import numpy as np

    if data_type not in ELEMENT_SIZE:
        raise KeyError(f"{data_type!r} is no element type")
    return np.dtype(DataType(data_type).name.lower())


def data_type_of(dtype: Any) -> DataType:
    """The element type of a NumPy type (or of what names one); KeyError where the interface has none."""
    import numpy as np

    name = np.dtype(dtype).name
    if name.upper() not in DataType.__members__:
        raise KeyError(f"the interface has no element type {name}")
    return DataType[name.upper()]


def portable_type(number: int) -> DataType:
    """The element type meant by a number inside an attribute or a Cast input.

    Both numberings are met in the wild: 30-44 is this interface's, 1-12 the C API's (BOOL 1 ... FLOAT64 12).
    ValueError for anything else.
    """
    if 0 < number < len(_C_API):
        return _C_API[number]
    if number not in ELEMENT_SIZE:
        raise ValueError(f"{number} is no element type: 30 to 44 (or the C API's 1 to 12) is required")
    return DataType(number)


def element_count(dims: Sequence[int]) -> int:
    """The product of the dims; -1 while one of them is unknown."""
    count = 1
    for dim in dims:
        if dim < 0:
            return -1
        count *= dim
    return count


def byte_size(data_type: DataType | int, dims: Sequence[int]) -> int:
    """Bytes of a tensor; -1 while a dim is unknown."""
    count = element_count(dims)
    return count if count < 0 else count * ELEMENT_SIZE[DataType(data_type)]
