"""The devices of this machine and what they do with models.

:class:`Device` is the interface's INnrtDevice in the manner of Python: results are returned, refusals are
:class:`~pippin.nnrt.errors.NnrtError` with the code that the interface would answer.  The same with the interface's
names and codes is :class:`pippin.nnrt.hdi.INnrtDevice`.

>>> from pippin.nnrt import devices
>>> device = devices()[0]
>>> prepared = device.prepare(model)
>>> prepared.predict({"x": [1.0, 2.0]})
"""

from __future__ import annotations

import platform
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

from ..errors import PippinError, ReadError
from .buffers import Mappings, Region
from .cache import Compiled, Port, unpack_compiled
from .config import check_config, cores
from .container import Container, Kind, unpack
from .enums import DataType, DeviceStatus, DeviceType, Format, ReturnCode
from .errors import NnrtError, as_nnrt
from .file import model_of
from .gate import Gate
from .lower import Lowered, lower
from .model import Checked, check_model
from .prepared_model import PreparedModel
from .support import Support, supported_operations
from .types import Model, ModelConfig, SharedBuffer

VENDOR = "Pippin"
_KINDS = {
    "CPUExecutionProvider": DeviceType.CPU,
    "CUDAExecutionProvider": DeviceType.GPU,
    "ROCMExecutionProvider": DeviceType.GPU,
    "MIGraphXExecutionProvider": DeviceType.GPU,
    "DmlExecutionProvider": DeviceType.GPU,
    "CoreMLExecutionProvider": DeviceType.ACCELERATOR,
    "QNNExecutionProvider": DeviceType.ACCELERATOR,
    "CANNExecutionProvider": DeviceType.ACCELERATOR,
    "OpenVINOExecutionProvider": DeviceType.ACCELERATOR,
}
"""Providers that compute on this machine.  Others, such as AzureExecutionProvider, are no devices."""


class Device:
    """A device: a provider of ONNX Runtime and the memory that it shares.

    ``name`` names the chip, ``vendor`` whoever made the driver; ``provider`` is ONNX Runtime's name.
    """

    vendor = VENDOR
    supports_float16 = True
    supports_performance_mode = True
    supports_priority = True
    supports_dynamic_input = True
    supports_model_cache = True

    def __init__(
        self,
        provider: str = "CPUExecutionProvider",
        *,
        gate: Gate | None = None,
        mappings: Mappings | None = None,
        options: dict[str, str] | None = None,
    ) -> None:
        """``gate`` and ``mappings`` may be shared; ``options`` are further entries for the engine's configuration."""
        self.provider = provider
        self.type = _KINDS.get(provider, DeviceType.OTHER)
        self.name = _cpu_name() if self.type is DeviceType.CPU else provider.removesuffix("ExecutionProvider")
        self._gate = gate or Gate(cores())
        self._mappings = mappings if mappings is not None else Mappings()
        self._options = options or {}
        self._regions: weakref.WeakValueDictionary[int, Region] = weakref.WeakValueDictionary()
        self._models: weakref.WeakSet[PreparedModel] = weakref.WeakSet()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Device {self.name!r} ({self.type.name})>"

    @property
    def status(self) -> DeviceStatus:
        """AVAILABLE, or BUSY while runs wait for a core."""
        return DeviceStatus.BUSY if self._gate.waiting else DeviceStatus.AVAILABLE

    # -- models ------------------------------------------------------------------------------------------------------

    def supported_operations(self, model: Model) -> list[Support]:
        """For each node whether the device takes it, and why not.  Nothing is raised for a model that is unsound."""
        return supported_operations(model, self._mappings)

    def prepare(self, model: Model, config: ModelConfig | None = None) -> PreparedModel:
        """Compiles a model; its constants are copied.

        NnrtError with the code of the first thing wrong: the model (:mod:`pippin.nnrt.model`), then the configuration
        (:mod:`pippin.nnrt.config`), then what only shows when the graph is built: INVALID_MODEL.
        """
        config = config or ModelConfig()
        checked = check_model(model, self._mappings)
        check_config(config)
        return self._open(self._compile(checked, config), config, ReturnCode.INVALID_MODEL)

    def prepare_from_cache(self, buffers: Sequence[SharedBuffer], config: ModelConfig | None = None) -> PreparedModel:
        """Makes ready what ``PreparedModel.export_cache`` gave, on this device and with these versions.

        NnrtError: INVALID_MODEL_CACHE unless it is one buffer, INVALID_BUFFER for its memory, then the configuration's
        codes, then INVALID_MODEL_CACHE for its content.
        """
        return self._restore(buffers, config or ModelConfig(), ReturnCode.INVALID_MODEL_CACHE)

    def prepare_offline(self, buffers: Sequence[SharedBuffer], config: ModelConfig | None = None) -> PreparedModel:
        """Makes a stored model ready: a file of :func:`pippin.nnrt.save_model`, or an exported cache.

        NnrtError as ``prepare_from_cache``, with INVALID_MODEL in place of INVALID_MODEL_CACHE.
        """
        return self._restore(buffers, config or ModelConfig(), ReturnCode.INVALID_MODEL)

    def _restore(self, buffers: Sequence[SharedBuffer], config: ModelConfig, code: ReturnCode) -> PreparedModel:
        if len(buffers) != 1:
            raise NnrtError(code, f"one buffer is required, got {len(buffers)}")
        content = self._mappings.read(buffers[0], ReturnCode.INVALID_BUFFER).array
        check_config(config)
        return self.restore(content.data, config, code)

    def restore(self, content: memoryview, config: ModelConfig, code: ReturnCode) -> PreparedModel:
        """Makes ready what a buffer of ``prepare_from_cache`` or ``prepare_offline`` holds; ``code`` if it is wrong."""
        try:
            container = unpack(content)
            if container.kind is Kind.MODEL and code is ReturnCode.INVALID_MODEL:
                return self.prepare(model_of(container), config)
            return self._open(self._cached(container), config, code)
        except NnrtError:
            raise
        except PippinError as error:
            raise as_nnrt(error, code) from None

    def _cached(self, container: Container) -> Compiled:
        if container.kind is not Kind.PREPARED:
            raise ReadError("a prepared model is required, this is a plain one")
        return unpack_compiled(container, self.provider)

    def _compile(self, checked: Checked, config: ModelConfig) -> Compiled:
        from ..graph.write import write

        lowered = lower(checked, half=config.enableFloat16)
        self._admit(lowered)
        model = checked.model
        inputs = [_port(model, index, key) for index, key in zip(model.inputIndex, lowered.inputs, strict=True)]
        outputs = [
            _port(model, index, key, _dims(lowered, place))
            for place, (index, key) in enumerate(zip(model.outputIndex, lowered.outputs, strict=True))
        ]
        return Compiled(write(lowered.graph), inputs, outputs, self.provider, config.enableFloat16)

    def _admit(self, lowered: Lowered) -> None:
        """Sees each graph before it is compiled: a device with limits says no here."""

    def _open(self, compiled: Compiled, config: ModelConfig, code: ReturnCode) -> PreparedModel:
        try:
            model = PreparedModel(compiled, config, self._mappings, self._gate, self._options)
        except PippinError as error:
            raise as_nnrt(error, code) from None
        except MemoryError:
            raise NnrtError(ReturnCode.OUT_OF_MEMORY, "no room for the compiled model") from None
        with self._lock:
            self._models.add(model)
        return model

    # -- memory ------------------------------------------------------------------------------------------------------

    def allocate(self, length: int) -> SharedBuffer:
        """Shared memory of ``length`` bytes, zero at first.

        It lives until :meth:`release`, or until the last buffer on it is gone.  NnrtError: INVALID_PARAMETER for 0,
        OUT_OF_MEMORY for what cannot be had.
        """
        region = Region(length)
        with self._lock:
            self._regions[region.fd] = region
        return region.buffer()

    def release(self, buffer: SharedBuffer) -> None:
        """Gives memory of :meth:`allocate` back; its descriptor is closed.  NnrtError: INVALID_BUFFER for any other."""
        with self._lock:
            region = self._regions.pop(buffer.fd, None)
        if region is None or region.closed:
            raise NnrtError(ReturnCode.INVALID_BUFFER, f"descriptor {buffer.fd} is none that this device gave out")
        self._mappings.forget(buffer.fd)
        with self._lock:
            models = list(self._models)
        for model in models:  # what is bound for the next run would keep the memory
            model.forget(region.key)
        region.close()


def devices() -> list[Device]:
    """The devices of this machine, the CPU first: what the installed ONNX Runtime can really compute on."""
    import onnxruntime

    offered = [provider for provider in onnxruntime.get_available_providers() if provider in _KINDS]
    return [
        Device(provider) for provider in sorted(offered, key=lambda provider: _KINDS[provider] is not DeviceType.CPU)
    ]


def _port(model: Model, index: int, key: str, dims: list[int] | None = None) -> Port:
    tensor = model.allTensors[index]
    return Port(
        tensor.name, key, DataType(tensor.dataType), list(tensor.dims) if dims is None else dims, Format(tensor.format)
    )


def _dims(lowered: Lowered, place: int) -> list[int]:
    return [dim if isinstance(dim, int) else -1 for dim in lowered.graph.outputs[place].shape]


def _cpu_name() -> str:
    """The processor's name as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model") and value.strip():
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "CPU"
