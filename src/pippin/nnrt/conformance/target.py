"""The object under test, called by the interface's names, whatever manner it has; and memory to feed it from."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import DeviceError
from ..buffers import HAS_MEMFD, Region
from ..enums import DataType, Format, ReturnCode
from ..hdi import INnrtDevice
from ..types import IOTensor, Model, ModelConfig, SharedBuffer, byte_size, data_type_of
from .outcome import Failed, NotSupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def by_idl_names(device: Any) -> Any:
    """The device itself if it has the interface's names, else a layer with them around it."""
    if hasattr(device, "PrepareModel"):
        return device
    if hasattr(device, "prepare") and hasattr(device, "supported_operations"):
        return INnrtDevice(device)
    raise DeviceError(
        f"an object of type {type(device).__name__} is no NNRt device",
        hint="it needs the methods of pippin.nnrt.hdi.INnrtDevice, or those of pippin.nnrt.device.Device",
    )


def resolve(spec: str) -> Any:
    """The object that ``module:name`` names; a class or function is called without arguments.

    DeviceError if there is no such thing, or it does not let itself be made.
    """
    import importlib
    import sys

    module, separator, name = spec.partition(":")
    if not separator or not module or not name:
        raise DeviceError(f"a target must be given as module:object, got {spec!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        is_device = not isinstance(found, type) and (hasattr(found, "PrepareModel") or hasattr(found, "prepare"))
        return found if is_device or not callable(found) else found()
    except Exception as error:
        raise DeviceError(f"cannot be had: {type(error).__name__}: {error}", where=spec) from None


def called(code: int) -> str:
    """A code as messages show it."""
    known = code in ReturnCode._value2member_map_
    return f"{ReturnCode(code).idl_name} ({code})" if known else f"{code}, which is no return code"


class Target:
    """A device under test.  ``call`` answers a code and the results, however the object packs them."""

    def __init__(self, device: Any, tolerance: float = 1e-4) -> None:
        self.raw = device
        self.device = by_idl_names(device)
        self.tolerance = tolerance
        self._given: list[SharedBuffer] = []
        self._own_memory = False

    # -- calls -------------------------------------------------------------------------------------------------------

    def call(self, method: str, *arguments: Any, on: Any = None) -> tuple[int, list[Any]]:
        """Calls a method of the device, or of a prepared model.  Failed if it raises, or answers no code."""
        target = self.device if on is None else on
        function = getattr(target, method, None)
        if function is None:
            raise Failed(f"there is no method {method}")
        try:
            answer = function(*arguments)
        except Exception as error:
            raise Failed(f"{method} raised {type(error).__name__}: {error}") from None
        code, *results = answer if isinstance(answer, tuple) else (answer,)
        try:
            return int(code), results
        except (TypeError, ValueError):
            raise Failed(f"{method} must answer a return code first, got {code!r}") from None

    def get(self, method: str, *arguments: Any, on: Any = None) -> Any:
        """The one result of a call that must succeed."""
        code, results = self.call(method, *arguments, on=on)
        self.expect(method, code, ReturnCode.SUCCESS)
        if len(results) != 1:
            raise Failed(f"{method} must answer its code and one result, got {len(results)} results")
        return results[0]

    @staticmethod
    def expect(what: str, code: int, *wanted: ReturnCode) -> None:
        """Failed unless the code is one of these."""
        if code not in wanted:
            allowed = " or ".join(called(item) for item in wanted)
            raise Failed(f"{what} must answer {allowed}, got {called(code)}")

    @staticmethod
    def expect_refusal(what: str, code: int) -> None:
        """Failed if the call succeeded, or answered no code of the interface."""
        if code == ReturnCode.SUCCESS or code not in ReturnCode._value2member_map_:
            raise Failed(f"{what} must be refused with a return code, got {called(code)}")

    def flag(self, method: str) -> bool:
        """One of the Is… methods."""
        answer = self.get(method)
        if not isinstance(answer, (bool, int)):
            raise Failed(f"{method} must answer a boolean, got {answer!r}")
        return bool(answer)

    def need(self, method: str, what: str) -> None:
        """NotSupported unless the flag is set."""
        if not self.flag(method):
            raise NotSupported(f"{method} says that there is no {what}")

    def supported(self, model: Model) -> list[bool]:
        """A flag for each node."""
        flags = self.get("GetSupportedOperation", model)
        if not isinstance(flags, Sequence) or len(flags) != len(model.nodes):
            raise Failed(f"GetSupportedOperation must answer {len(model.nodes)} flags, got {flags!r}")
        return [bool(flag) for flag in flags]

    def need_model(self, model: Model) -> None:
        """NotSupported if the device does not take some node of a model."""
        flags = self.supported(model)
        if all(flags):
            return
        place = flags.index(False)
        raise NotSupported(self._reason(model, place) or f"GetSupportedOperation says no to node {place}")

    def _reason(self, model: Model, place: int) -> str:
        """Why, where the device is one that tells."""
        inner = getattr(self.raw, "device", self.raw)
        try:
            return str(inner.supported_operations(model)[place].reason)
        except Exception:
            return ""

    def prepare(self, model: Model, config: ModelConfig | None = None, *, what: str = "PrepareModel") -> Any:
        """A prepared model; Failed unless there is one."""
        code, results = self.call("PrepareModel", model, config or ModelConfig())
        return self.prepared(what, code, results)

    def prepared(self, what: str, code: int, results: list[Any]) -> Any:
        """The prepared model of a call that must succeed."""
        self.expect(what, code, ReturnCode.SUCCESS)
        if len(results) != 1 or results[0] is None:
            raise Failed(f"{what} must answer a prepared model, got {results!r}")
        return results[0]

    def run(self, prepared: Any, inputs: Sequence[IOTensor], outputs: Sequence[IOTensor]) -> tuple[int, Any]:
        """Code and output dims of a Run."""
        code, results = self.call("Run", list(inputs), list(outputs), on=prepared)
        return code, results[0] if results else []

    # -- memory ------------------------------------------------------------------------------------------------------

    def buffer(self, length: int) -> SharedBuffer:
        """Memory of the device, as the platform's framework uses it; our own if the device gives none."""
        if not self._own_memory:
            try:
                code, results = self.call("AllocateBuffer", max(length, 1))
                if code == ReturnCode.SUCCESS and results[0].bufferSize >= length:
                    self._given.append(results[0])
                    view(results[0])
                    return results[0]
            except (Failed, OSError, ValueError, AttributeError, IndexError):
                pass
            self._own_memory = True
        return Region(max(length, 1), name="pippin-conformance").buffer()

    def release(self) -> None:
        """Gives back what :meth:`buffer` took from the device."""
        given, self._given = self._given, []
        for buffer in given:
            self.call("ReleaseBuffer", buffer)

    def filled(self, array: Array, length: int | None = None) -> SharedBuffer:
        """The bytes of an array in memory."""
        import numpy as np

        buffer = self.buffer(array.nbytes if length is None else length)
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        view(buffer)[buffer.offset : buffer.offset + len(data)] = data
        return SharedBuffer(buffer.fd, buffer.bufferSize, buffer.offset, len(data), buffer.owner)

    def tensor(self, array: Array, format: Format = Format.NHWC) -> IOTensor:
        """An array as an input of Run."""
        return IOTensor("", data_type_of(array.dtype), list(array.shape), format, self.filled(array))

    def room(self, dims: Sequence[int], data_type: DataType = DataType.FLOAT32, length: int | None = None) -> IOTensor:
        """Memory for an output of Run."""
        size = byte_size(data_type, dims) if length is None else length
        buffer = self.buffer(size)
        view(buffer)[:] = 0xA5
        return IOTensor("", data_type, list(dims), Format.NHWC, SharedBuffer(
            buffer.fd, buffer.bufferSize, buffer.offset, size, buffer.owner
        ))  # fmt: skip


def view(buffer: SharedBuffer) -> Array:
    """All bytes behind a buffer, through its descriptor."""
    import numpy as np

    if not HAS_MEMFD and isinstance(buffer.owner, Region):
        return buffer.owner.array
    return np.frombuffer(mmap.mmap(buffer.fd, buffer.bufferSize), np.uint8)


def values(tensor: IOTensor, dims: Sequence[int]) -> Array:
    """What stands in the memory of an output that has these dims."""
    from ..types import numpy_type

    size = byte_size(tensor.dataType, dims)
    raw = view(tensor.data)[tensor.data.offset : tensor.data.offset + size]
    return raw.copy().view(numpy_type(tensor.dataType)).reshape(list(dims))
