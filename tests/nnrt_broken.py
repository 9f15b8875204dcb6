"""Devices that are wrong on purpose, for the tests of the conformance run; each is wrong in one way."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pippin.nnrt.device import Device
from pippin.nnrt.errors import NnrtError
from pippin.nnrt.hdi import INnrtDevice, IPreparedModel
from pippin.nnrt.types import (
    Format,
    IOTensor,
    Model,
    ModelConfig,
    NodeType,
    PerformanceMode,
    Priority,
    ReturnCode,
    SharedBuffer,
)

C = ReturnCode


class Wrapped(INnrtDevice):
    """Hands out prepared models of class ``prepared``."""

    prepared: Any = IPreparedModel

    def _wrap(self, answer: Any) -> Any:
        code, model = answer
        return code, None if model is None else type(self).prepared(model.prepared)

    def PrepareModel(self, model: Any, config: Any) -> Any:
        return self._wrap(super().PrepareModel(model, config))

    def PrepareModelFromModelCache(self, modelCache: Any, config: Any) -> Any:
        return self._wrap(super().PrepareModelFromModelCache(modelCache, config))

    def PrepareOfflineModel(self, modelCache: Any, config: Any) -> Any:
        return self._wrap(super().PrepareOfflineModel(modelCache, config))


# -- device, support ---------------------------------------------------------------------------------------------------


class Nameless(INnrtDevice):
    def GetDeviceName(self) -> Any:
        return C.SUCCESS, ""


class OfNoKind(INnrtDevice):
    def GetDeviceType(self) -> Any:
        return C.SUCCESS, 17


class Braggart(INnrtDevice):
    """Says that it supports everything."""

    def GetSupportedOperation(self, model: Any) -> Any:
        return C.SUCCESS, [True] * len(model.nodes)


class Prim(INnrtDevice):
    """Refuses to answer about models that are unsound."""

    def GetSupportedOperation(self, model: Any) -> Any:
        code = self.PrepareModel(model, ModelConfig())[0]
        return (C.SUCCESS, [True] * len(model.nodes)) if code is C.SUCCESS else (code, [])


class OneForAll(INnrtDevice):
    """Takes the first node for all of them."""

    def GetSupportedOperation(self, model: Any) -> Any:
        code, flags = super().GetSupportedOperation(model)
        return code, flags[:1] * len(flags)


# -- codes -------------------------------------------------------------------------------------------------------------


class OneCode(INnrtDevice):
    """Knows one code for everything that is wrong."""

    def PrepareModel(self, model: Any, config: Any) -> Any:
        code, prepared = super().PrepareModel(model, config)
        return C.SUCCESS if code is C.SUCCESS else C.FAILED, prepared


class ConfigFirst(INnrtDevice):
    def PrepareModel(self, model: Any, config: ModelConfig) -> Any:
        if config.mode not in PerformanceMode._value2member_map_:
            return C.INVALID_PERFORMANCE_MODE, None
        return super().PrepareModel(model, config)


class TooKind(INnrtDevice):
    """Mends a cycle by leaving it out."""

    def PrepareModel(self, model: Model, config: Any) -> Any:
        if len(model.nodes) == 2:
            model.nodes[0].inputIndex, model.nodes[0].outputIndex = [0, 1], [2]
            model.subGraph[0].nodeIndices = [0]
        return super().PrepareModel(model, config)


class Careless(Wrapped):
    """Does not look at the types of inputs."""

    class prepared(IPreparedModel):
        def Run(self, inputs: Any, outputs: Any) -> Any:
            for tensor, port in zip(inputs, self.prepared.inputs, strict=False):
                tensor.dataType = port.data_type
            return super().Run(inputs, outputs)


# -- buffers -----------------------------------------------------------------------------------------------------------


class NoMemory(INnrtDevice):
    def AllocateBuffer(self, length: int) -> Any:
        return C.OUT_OF_MEMORY, SharedBuffer()


class ReleasesAll(INnrtDevice):
    """Forgets all buffers when one is released, as the platform's sample driver does."""

    def ReleaseBuffer(self, buffer: SharedBuffer) -> Any:
        code = super().ReleaseBuffer(buffer)
        for region in list(self.device._regions.values()):
            region.close()
        return code


class FromByteZero(Wrapped):
    """Ignores offsets, as the platform's sample driver does."""

    class prepared(IPreparedModel):
        def Run(self, inputs: Any, outputs: Any) -> Any:
            def moved(tensor: IOTensor) -> IOTensor:
                data = tensor.data
                buffer = SharedBuffer(data.fd, data.bufferSize, 0, data.dataSize, data.owner)
                return IOTensor("", tensor.dataType, tensor.dimensions, tensor.format, buffer)

            return super().Run([moved(tensor) for tensor in inputs], [moved(tensor) for tensor in outputs])


class Remembers(Wrapped):
    """Answers the second run from the first."""

    class prepared(IPreparedModel):
        def Run(self, inputs: Any, outputs: Any) -> Any:
            if not hasattr(self, "answer"):
                code, dims = super().Run(inputs, outputs)
                if code is C.SUCCESS:
                    owner = outputs[0].data.owner
                    self.answer = dims, owner.array.copy() if owner is not None else None
                return code, dims
            dims, content = self.answer
            if content is not None and outputs and outputs[0].data.owner is not None:
                outputs[0].data.owner.array[: len(content)] = content
            return C.SUCCESS, dims


class SpoilsInputs(Wrapped):
    """Uses an input for its scratch."""

    class prepared(IPreparedModel):
        def Run(self, inputs: Any, outputs: Any) -> Any:
            answer = super().Run(inputs, outputs)
            if answer[0] is C.SUCCESS and inputs[0].data.owner is not None:
                inputs[0].data.owner.array[inputs[0].data.offset] ^= 1
            return answer


# -- dynamic -----------------------------------------------------------------------------------------------------------


class ShortRanges(Wrapped):
    class prepared(IPreparedModel):
        def GetInputDimRanges(self) -> Any:
            code, least, most = super().GetInputDimRanges()
            return code, least[:1], most[:1]


class SilentAboutDims(Wrapped):
    class prepared(IPreparedModel):
        def Run(self, inputs: Any, outputs: Any) -> Any:
            code, dims = super().Run(inputs, outputs)
            return code, [] if code is C.INSUFFICIENT_BUFFER else dims


class AnyDim(Wrapped):
    """Takes every size of an open dim for a wrong one of a fixed dim."""

    class prepared(IPreparedModel):
        def Run(self, inputs: Any, outputs: Any) -> Any:
            code, dims = super().Run(inputs, outputs)
            return C.INVALID_SHAPE if code is C.OUT_OF_DIMENTION_RANGES else code, dims


# -- cache -------------------------------------------------------------------------------------------------------------


class Forgetful(INnrtDevice):
    """Says that damaged caches are fine and hands out nothing."""

    def PrepareModelFromModelCache(self, modelCache: Any, config: Any) -> Any:
        return C.SUCCESS, super().PrepareModelFromModelCache(modelCache, config)[1]


class OneCache(INnrtDevice):
    """Has room for one cached model and keeps it."""

    first: Any = None

    def PrepareModelFromModelCache(self, modelCache: Any, config: Any) -> Any:
        code, model = super().PrepareModelFromModelCache(modelCache, config)
        if code is C.SUCCESS:
            self.first = self.first or model
            return code, self.first
        return code, model


class AnyNumber(INnrtDevice):
    """Looks at the first buffer alone."""

    def PrepareModelFromModelCache(self, modelCache: Any, config: Any) -> Any:
        return super().PrepareModelFromModelCache(modelCache[:1], config)


class NotOffline(INnrtDevice):
    def PrepareOfflineModel(self, modelCache: Any, config: Any) -> Any:
        return C.NOT_SUPPORT, None


# -- modes -------------------------------------------------------------------------------------------------------------


class OnlyNone(INnrtDevice):
    """Says that it supports priorities, and refuses them."""

    def PrepareModel(self, model: Any, config: ModelConfig) -> Any:
        if config.priority != Priority.NONE:
            return C.INVALID_PRIORITY, None
        return super().PrepareModel(model, config)


class WrongInHalf(Wrapped):
    def PrepareModel(self, model: Any, config: ModelConfig) -> Any:
        if config.enableFloat16:
            model.nodes[0].nodeType = NodeType.SUB_FUSION
        return super().PrepareModel(model, config)


class OneThread(Wrapped):
    """A second run at the same time spoils the first."""

    class prepared(IPreparedModel):
        running = 0

        def Run(self, inputs: Any, outputs: Any) -> Any:
            cls = type(self)
            cls.running += 1
            time.sleep(0.01)
            many, cls.running = cls.running > 1, cls.running - 1
            return (C.DEVICE_BUSY, []) if many else super().Run(inputs, outputs)


# -- operators, numbers ------------------------------------------------------------------------------------------------


class SwapsMinMax(INnrtDevice):
    def PrepareModel(self, model: Model, config: Any) -> Any:
        for node in model.nodes:
            if node.nodeType == NodeType.MAXIMUM:
                node.nodeType = NodeType.MINIMUM
        return super().PrepareModel(model, config)


class Rough(Wrapped):
    """Computes a little beside the truth."""

    class prepared(IPreparedModel):
        def Run(self, inputs: Any, outputs: Any) -> Any:
            code, dims = super().Run(inputs, outputs)
            for tensor in outputs if code is C.SUCCESS else []:
                if tensor.dataType == 43 and tensor.data.owner is not None:
                    raw = tensor.data.owner.array[tensor.data.offset : tensor.data.offset + tensor.data.dataSize]
                    raw.view(np.float32)[:] *= np.float32(1.001)
            return code, dims


class ListOrder(INnrtDevice):
    """Takes the nodes in the order of the list."""

    def PrepareModel(self, model: Model, config: Any) -> Any:
        if [node.name for node in model.nodes] == ["Add:1", "Add:0"]:
            return C.INVALID_MODEL, None
        return super().PrepareModel(model, config)


# -- devices that are right, or not there at all -----------------------------------------------------------------------


class Modest(INnrtDevice):
    """Adds float32 numbers of fixed dims, and says so."""

    def GetSupportedOperation(self, model: Model) -> Any:
        return C.SUCCESS, [node.nodeType == NodeType.ADD_FUSION and not self._open(model) for node in model.nodes]

    @staticmethod
    def _open(model: Model) -> bool:
        return any(-1 in tensor.dims for tensor in model.allTensors)

    def IsDynamicInputSupported(self) -> Any:
        return C.SUCCESS, False

    def IsModelCacheSupported(self) -> Any:
        return C.SUCCESS, False

    def IsPrioritySupported(self) -> Any:
        return C.SUCCESS, False

    def IsPerformanceModeSupported(self) -> Any:
        return C.SUCCESS, False

    def IsFloat16PrecisionSupported(self) -> Any:
        return C.SUCCESS, False


class PythonStyle(Device):
    """In the manner of Python, without a model cache, and wrong about formats."""

    supports_model_cache = False

    def prepare(self, model: Model, config: ModelConfig | None = None) -> Any:
        if any(tensor.format == 5 for tensor in model.allTensors):
            raise NnrtError(C.INVALID_MODEL, "what is that")
        for tensor in model.allTensors:
            if tensor.format == Format.NONE:
                tensor.format = Format.NHWC
        return super().prepare(model, config)


class Raises(INnrtDevice):
    def GetVendorName(self) -> Any:
        raise RuntimeError("no vendor")

    def GetDeviceStatus(self) -> Any:
        return None


class Hangs(INnrtDevice):
    def GetDeviceStatus(self) -> Any:
        time.sleep(30)
