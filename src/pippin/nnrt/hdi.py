"""The interface by its own names: INnrtDevice and IPreparedModel of version 2.1, return codes instead of exceptions.

Each method returns its code first and then its results, which are empty where the code is not SUCCESS; Run returns the
dims also with INSUFFICIENT_BUFFER.  Nothing is ever raised.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import PippinError
from .device import Device
from .enums import DeviceStatus, DeviceType, ReturnCode
from .errors import NnrtError
from .prepared_model import PreparedModel
from .types import IOTensor, Model, ModelConfig, SharedBuffer

VERSION = (2, 1)
_T = TypeVar("_T")
_log = logging.getLogger("pippin")


def call(function: Callable[[], _T], otherwise: _T) -> tuple[ReturnCode, _T]:
    """The result with SUCCESS, or ``otherwise`` with the code of what went wrong."""
    try:
        return ReturnCode.SUCCESS, function()
    except NnrtError as error:
        _log.info("%s: %s", error.code.idl_name, error)
        return error.code, otherwise
    except PippinError as error:
        _log.info("%s", error)
        return ReturnCode.FAILED, otherwise
    except MemoryError:
        return ReturnCode.OUT_OF_MEMORY, otherwise
    except Exception:
        _log.exception("an argument that cannot be understood, or an error of Pippin")
        return ReturnCode.INVALID_PARAMETER, otherwise


class IPreparedModel:
    """A prepared model behind the interface's names."""

    def __init__(self, prepared: PreparedModel) -> None:
        self.prepared = prepared

    def GetVersion(self) -> tuple[ReturnCode, int, int]:
        """Major and minor version of the interface."""
        return ReturnCode.SUCCESS, *VERSION

    def ExportModelCache(self) -> tuple[ReturnCode, list[SharedBuffer]]:
        """The compiled form."""
        return call(self.prepared.export_cache, [])

    def GetInputDimRanges(self) -> tuple[ReturnCode, list[list[int]], list[list[int]]]:
        """The least and the greatest sizes of the dims of each input."""
        nothing: tuple[list[list[int]], list[list[int]]] = ([], [])
        code, ranges = call(self.prepared.input_dim_ranges, nothing)
        return code, *ranges

    def Run(self, inputs: Sequence[IOTensor], outputs: Sequence[IOTensor]) -> tuple[ReturnCode, list[list[int]]]:
        """Computes outputs from inputs; the dims of the outputs."""
        needed: list[list[int]] = []

        def run() -> list[list[int]]:
            try:
                return self.prepared.run(inputs, outputs)
            except NnrtError as error:
                needed.extend(error.output_dims)
                raise

        code, dims = call(run, needed)
        return code, dims


class INnrtDevice:
    """A device behind the interface's names."""

    def __init__(self, device: Device | None = None) -> None:
        self.device = device or Device()

    def GetVersion(self) -> tuple[ReturnCode, int, int]:
        """Major and minor version of the interface."""
        return ReturnCode.SUCCESS, *VERSION

    def GetDeviceName(self) -> tuple[ReturnCode, str]:
        """The chip's name."""
        return ReturnCode.SUCCESS, self.device.name

    def GetVendorName(self) -> tuple[ReturnCode, str]:
        """The vendor's name."""
        return ReturnCode.SUCCESS, self.device.vendor

    def GetDeviceType(self) -> tuple[ReturnCode, DeviceType]:
        """What kind of chip it is."""
        return ReturnCode.SUCCESS, self.device.type

    def GetDeviceStatus(self) -> tuple[ReturnCode, DeviceStatus]:
        """Whether it takes work."""
        return ReturnCode.SUCCESS, self.device.status

    def GetSupportedOperation(self, model: Model | None) -> tuple[ReturnCode, list[bool]]:
        """A flag for each node."""
        if model is None:
            return ReturnCode.NULL_PTR, []
        return call(lambda: [bool(answer) for answer in self.device.supported_operations(model)], [])

    def IsFloat16PrecisionSupported(self) -> tuple[ReturnCode, bool]:
        """Whether a float32 model may be computed in half precision."""
        return ReturnCode.SUCCESS, self.device.supports_float16

    def IsPerformanceModeSupported(self) -> tuple[ReturnCode, bool]:
        """Whether modes have an effect."""
        return ReturnCode.SUCCESS, self.device.supports_performance_mode

    def IsPrioritySupported(self) -> tuple[ReturnCode, bool]:
        """Whether priorities have an effect."""
        return ReturnCode.SUCCESS, self.device.supports_priority

    def IsDynamicInputSupported(self) -> tuple[ReturnCode, bool]:
        """Whether a dim of an input may be -1."""
        return ReturnCode.SUCCESS, self.device.supports_dynamic_input

    def PrepareModel(self, model: Model | None, config: ModelConfig) -> tuple[ReturnCode, IPreparedModel | None]:
        """Compiles a model."""
        if model is None:
            return ReturnCode.NULL_PTR, None
        return self._prepared(lambda: self.device.prepare(model, config))

    def IsModelCacheSupported(self) -> tuple[ReturnCode, bool]:
        """Whether prepared models can be exported."""
        return ReturnCode.SUCCESS, self.device.supports_model_cache

    def PrepareModelFromModelCache(
        self, modelCache: Sequence[SharedBuffer], config: ModelConfig
    ) -> tuple[ReturnCode, IPreparedModel | None]:
        """Makes ready what ExportModelCache gave."""
        return self._prepared(lambda: self.device.prepare_from_cache(modelCache, config))

    def PrepareOfflineModel(
        self, modelCache: Sequence[SharedBuffer], config: ModelConfig
    ) -> tuple[ReturnCode, IPreparedModel | None]:
        """Makes a stored model ready."""
        return self._prepared(lambda: self.device.prepare_offline(modelCache, config))

    def AllocateBuffer(self, length: int) -> tuple[ReturnCode, SharedBuffer]:
        """Shared memory; fd is -1 where there is none."""
        return call(lambda: self.device.allocate(length), SharedBuffer())

    def ReleaseBuffer(self, buffer: SharedBuffer) -> ReturnCode:
        """Gives shared memory back."""
        return call(lambda: self.device.release(buffer), None)[0]

    @staticmethod
    def _prepared(prepare: Callable[[], PreparedModel]) -> tuple[ReturnCode, IPreparedModel | None]:
        code, prepared = call(lambda: IPreparedModel(prepare()), None)
        return code, prepared
