"""Devices and prepared models of a service, with the methods that they have inside a process.

>>> from pippin import nnrt
>>> device = nnrt.connect("/run/user/1000/pippin.sock")
>>> prepared = device.prepare(model)
>>> prepared.predict({"x": [1.0, 2.0]})

Memory of a run travels as descriptors once; afterwards a run is a short message each way.  Where the service was
restarted, models are prepared there anew by the next call, from what they were prepared from.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import DeviceError, ReadError
from ..buffers import MAX_LENGTH, Mappings, Region
from ..cache import Port
from ..enums import DeviceStatus, DeviceType, ReturnCode
from ..errors import NnrtError
from ..gate import Call
from ..parcel import ParcelReader, ParcelWriter
from ..ports import arrays, labels
from ..support import Support
from ..types import IOTensor, Model, ModelConfig, SharedBuffer, byte_size, numpy_type
from . import marshal
from .connection import Connection, Lane, Lost, file_key
from .protocol import MAX_DESCRIPTORS, NO_DESCRIPTOR, DeviceMethod, ModelMethod, Service, close_all

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SEPARATE = 8
"""Constants in more descriptors than this are copied into one region."""


def connect(path: str | os.PathLike[str], device: str | int = 0, *, timeout: float = 5.0) -> RemoteDevice:
    """A device of the service at ``path``: by number, name or kind (``"cpu"``).

    ``timeout``: seconds that the service may be away, say for a restart, before a call fails.  DeviceError where there
    is no service or no such device, or this is no Linux; NnrtError PERMISSION_DENIED, DEVICE_BUSY.
    """
    found = remote_devices(path, timeout=timeout)
    wanted = str(device).casefold()
    for place, entry in enumerate(found):
        if wanted in (str(place), entry.name.casefold(), entry.type.name.casefold()):
            return entry
    there = ", ".join(f"{place} {entry.name!r}" for place, entry in enumerate(found))
    raise DeviceError(f"the service has no device {device!r}", where=str(path), hint=f"it has {there}")


def remote_devices(path: str | os.PathLike[str], *, timeout: float = 5.0) -> list[RemoteDevice]:
    """All devices of the service at ``path``; they share their connections."""
    connection = Connection(path, timeout=timeout)
    return [RemoteDevice(connection, number) for number in range(1, connection.devices + 1)]


class Request:
    """What a model is prepared from, kept so that it can be had again: the body, and descriptors of its memory."""

    def __init__(self) -> None:
        self.body = b""
        self.descriptors: list[int] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self._packed: dict[int, SharedBuffer] | None = None
        self._closer = weakref.finalize(self, close_all, self.descriptors)

    def pack(self, buffers: Sequence[SharedBuffer]) -> None:
        """Copies memory that lies in many descriptors into one; what is no memory is left to be refused."""
        files = {}
        for buffer in buffers:
            found = _file(buffer.fd)
            if found is not None:
                files[found] = buffer
        if len(files) <= _SEPARATE:
            return
        mappings, pieces, end = Mappings(), {}, 0
        for place, buffer in enumerate(buffers):
            if buffer.fd == -1:
                continue
            try:
                pieces[place] = (end, mappings.read(buffer, ReturnCode.MEMORY_ERROR).array)
            except NnrtError:
                return
            end += -(-len(pieces[place][1]) // 64) * 64
        region = Region(max(end, 1), name="pippin-constants")
        array = region.array
        self._packed = {}
        for place, (begin, data) in pieces.items():
            array[begin : begin + len(data)] = data
            self._packed[id(buffers[place])] = region.buffer(begin, len(data))

    def buffer(self, writer: ParcelWriter, buffer: SharedBuffer) -> None:
        """Writes a buffer."""
        if self._packed is not None:
            buffer = self._packed.get(id(buffer), buffer)
        marshal.write_buffer(writer, buffer, self.place)

    def place(self, buffer: SharedBuffer) -> tuple[int, int]:
        """The place of a buffer's descriptor among those of the frame."""
        if buffer.fd == -1:
            return marshal.NONE, 0
        found = _file(buffer.fd)
        if found is None:  # no memory: it is not even sent
            return marshal.FRAME, NO_DESCRIPTOR
        if found not in self._numbers:
            if len(self.descriptors) == MAX_DESCRIPTORS:
                return marshal.FRAME, NO_DESCRIPTOR
            self._numbers[found] = len(self.descriptors)
            self.descriptors.append(os.dup(buffer.fd))
        return marshal.FRAME, self._numbers[found]


def _file(fd: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(fd)
    except (OSError, OverflowError, TypeError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


class RemoteDevice:
    """A device behind the service; the methods are those of :class:`pippin.nnrt.device.Device`."""

    def __init__(self, connection: Connection, number: int) -> None:
        self.connection = connection
        self.number = number
        self.name = self._ask(DeviceMethod.GET_DEVICE_NAME).text()
        self.vendor = self._ask(DeviceMethod.GET_VENDOR_NAME).text()
        self.type = DeviceType(self._ask(DeviceMethod.GET_DEVICE_TYPE).enum())
        self.supports_float16 = self._ask(DeviceMethod.IS_FLOAT16_PRECISION_SUPPORTED).boolean()
        self.supports_performance_mode = self._ask(DeviceMethod.IS_PERFORMANCE_MODE_SUPPORTED).boolean()
        self.supports_priority = self._ask(DeviceMethod.IS_PRIORITY_SUPPORTED).boolean()
        self.supports_dynamic_input = self._ask(DeviceMethod.IS_DYNAMIC_INPUT_SUPPORTED).boolean()
        self.supports_model_cache = self._ask(DeviceMethod.IS_MODEL_CACHE_SUPPORTED).boolean()
        self._given: weakref.WeakValueDictionary[int, Region] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<RemoteDevice {self.name!r} ({self.type.name}) at {self.connection.path}>"

    def __enter__(self) -> RemoteDevice:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections, those of the service's other devices as well."""
        self.connection.close()

    def _ask(self, method: DeviceMethod, body: bytes = b"", descriptors: Sequence[int] = ()) -> ParcelReader:
        return ParcelReader(self.connection.call(self.number, method, body, descriptors))

    @property
    def status(self) -> DeviceStatus:
        """AVAILABLE, or BUSY while runs of any client wait."""
        return DeviceStatus(self._ask(DeviceMethod.GET_DEVICE_STATUS).enum())

    # -- models ------------------------------------------------------------------------------------------------------

    def supported_operations(self, model: Model) -> list[Support]:
        """For each node whether the device takes it, and why not."""
        request = Request()
        request.pack([tensor.data for tensor in model.allTensors])
        body = marshal.marshal_model(model, request.buffer)
        reader = self._ask(DeviceMethod.GET_SUPPORTED_OPERATION, body, request.descriptors)
        flags = reader.sequence(reader.boolean, 4)
        reasons = reader.sequence(reader.text, 4)
        return [Support(flag, reason) for flag, reason in zip(flags, reasons, strict=True)]

    def prepare(self, model: Model, config: ModelConfig | None = None) -> RemotePreparedModel:
        """Compiles a model in the service; codes as :meth:`pippin.nnrt.device.Device.prepare`."""
        request, config = Request(), config or ModelConfig()
        request.pack([tensor.data for tensor in model.allTensors])
        writer = ParcelWriter()
        writer.raw(marshal.marshal_model(model, request.buffer))
        marshal.write_config(writer, config)
        request.body = writer.getvalue()
        return RemotePreparedModel(self, DeviceMethod.PREPARE_MODEL, request, config)

    def prepare_from_cache(
        self, buffers: Sequence[SharedBuffer], config: ModelConfig | None = None
    ) -> RemotePreparedModel:
        """Makes ready what a model of this service exported."""
        return self._restored(DeviceMethod.PREPARE_MODEL_FROM_MODEL_CACHE, buffers, config or ModelConfig())

    def prepare_offline(
        self, buffers: Sequence[SharedBuffer], config: ModelConfig | None = None
    ) -> RemotePreparedModel:
        """Makes a stored model ready."""
        return self._restored(DeviceMethod.PREPARE_OFFLINE_MODEL, buffers, config or ModelConfig())

    def _restored(
        self, method: DeviceMethod, buffers: Sequence[SharedBuffer], config: ModelConfig
    ) -> RemotePreparedModel:
        request, writer = Request(), ParcelWriter()
        writer.sequence(buffers, lambda buffer: request.buffer(writer, buffer))
        marshal.write_config(writer, config)
        request.body = writer.getvalue()
        return RemotePreparedModel(self, method, request, config)

    # -- memory ------------------------------------------------------------------------------------------------------

    def allocate(self, length: int) -> SharedBuffer:
        """Shared memory of ``length`` bytes, zero at first; it is made here and made known to the service."""
        region = Region(length)
        writer = ParcelWriter()
        writer.uint32(length)

        def allocate(lane: Lane) -> None:
            body = self.connection.exchange(
                lane, self.number, DeviceMethod.ALLOCATE_BUFFER, writer.getvalue(), [region.fd]
            )
            reader = ParcelReader(body)
            reader.uint32()
            self.connection.know(lane, region.fd, reader.uint32(), file_key(region.fd), region)

        self.connection.again(allocate)
        with self._lock:
            self._given[region.fd] = region
        return region.buffer()

    def release(self, buffer: SharedBuffer) -> None:
        """Gives memory of :meth:`allocate` back; its descriptor is closed.  NnrtError: INVALID_BUFFER for any other."""
        with self._lock:
            region = self._given.pop(buffer.fd, None)
        if region is None or region.closed:
            message = f"descriptor {buffer.fd} is none that this device gave out"
            raise NnrtError(ReturnCode.INVALID_BUFFER, message)
        number = self.connection.forget(buffer.fd)
        region.close()
        if number is None:
            return
        writer = ParcelWriter()
        marshal.write_buffer(
            writer, SharedBuffer(0, region.length, 0, region.length), lambda _: (marshal.ATTACHED, number)
        )
        epoch = self.connection.epoch

        def release(lane: Lane) -> None:
            if lane.epoch == epoch:  # a service that was restarted knows nothing of it
                self.connection.exchange(lane, self.number, DeviceMethod.RELEASE_BUFFER, writer.getvalue())

        with contextlib.suppress(NnrtError):
            self.connection.again(release)


class RemotePreparedModel:
    """A prepared model of a service; the methods are those of :class:`pippin.nnrt.prepared_model.PreparedModel`."""

    def __init__(self, device: RemoteDevice, method: DeviceMethod, request: Request, config: ModelConfig) -> None:
        self.device = device
        self.config = config
        self.inputs: tuple[Port, ...] = ()
        self.outputs: tuple[Port, ...] = ()
        self._connection = device.connection
        self._method = method
        self._request = request
        self._key = b""
        self._object = 0
        self._epoch = -1
        self._lock = threading.Lock()
        self._export_lock = threading.Lock()
        self._exported: list[SharedBuffer] = []
        self._closer: Any = None
        self._connection.again(self._number)

    def _number(self, lane: Lane) -> int:
        """The model's number in the session of a connection; there it is prepared if need be."""
        if self._epoch == lane.epoch:
            return self._object
        with self._lock:
            if self._epoch != lane.epoch:
                request = self._request
                body = self._connection.exchange(
                    lane, self.device.number, self._method, request.body, request.descriptors
                )
                self._made(ParcelReader(body), lane.epoch)
        return self._object

    def _made(self, reader: ParcelReader, epoch: int) -> None:
        number = reader.uint32()
        inputs, outputs, key = marshal.read_ports(reader), marshal.read_ports(reader), reader.blob()
        if self._key and key != self._key:
            raise NnrtError(
                ReturnCode.SERVICE_ERROR,
                "the service was restarted, and the memory that the model was prepared from holds something else now",
                hint="prepare the model anew",
            )
        self.inputs, self.outputs, self._key = inputs, outputs, key
        self._object, self._epoch = number, epoch
        if self._closer is not None:
            self._closer.detach()
        self._closer = weakref.finalize(self, _release, self._connection, number, epoch)
        self._closer.atexit = False

    # -- the interface -----------------------------------------------------------------------------------------------

    def run(
        self, inputs: Sequence[IOTensor], outputs: Sequence[IOTensor], *, call: Call | None = None
    ) -> list[list[int]]:
        """Computes ``outputs`` from ``inputs`` in shared memory; codes as PreparedModel.run, and those of the service.

        Where the connection breaks the run is made again, unless an output lies over an input.
        """
        connection = self._connection

        def run(lane: Lane) -> bytes:
            number = self._number(lane)
            body = marshal.marshal_tensors(inputs, outputs, connection.placer(lane))
            try:
                if call is None:
                    return connection.exchange(lane, number, ModelMethod.RUN, body)
                return self._stoppable(lane, number, body, call)
            except Lost as error:
                if error.asked and _in_place(inputs, outputs):
                    raise NnrtError(error.code, error.message, hint="inputs may have been written over") from None
                raise

        try:
            answer = connection.again(run)
        except NnrtError:
            if call is not None:
                call.check()
            raise
        return marshal.read_dims(ParcelReader(answer))

    def _stoppable(self, lane: Lane, number: int, body: bytes, call: Call) -> bytes:
        asked = self._connection.number()

        done = threading.Event()

        def cancel() -> None:
            while not (done.is_set() or self._connection.cancel(asked)):
                done.wait(0.01)  # the service may not have it yet

        def stop() -> None:
            threading.Thread(target=cancel, name="pippin-cancel", daemon=True).start()

        call.check()
        call.waits(stop)
        try:
            return self._connection.exchange(lane, number, ModelMethod.RUN, body, timeout=call.timeout, number=asked)
        finally:
            done.set()
            call.waits(None)

    def input_dim_ranges(self) -> tuple[list[list[int]], list[list[int]]]:
        """The least and the greatest size of each dim of each input."""

        def ask(lane: Lane) -> bytes:
            return self._connection.exchange(lane, self._number(lane), ModelMethod.GET_INPUT_DIM_RANGES, b"")

        reader = ParcelReader(self._connection.again(ask))
        return marshal.read_dims(reader, "I"), marshal.read_dims(reader, "I")

    def export_cache(self) -> list[SharedBuffer]:
        """The prepared model as one buffer for ``prepare_from_cache`` of the same service; the same each time."""

        def export(lane: Lane) -> Region:
            number = self._number(lane)
            ask = ModelMethod.EXPORT_MODEL_CACHE
            size = ParcelReader(self._connection.exchange(lane, number, ask, b"")).long()
            if not 0 < size <= MAX_LENGTH:
                raise NnrtError(ReturnCode.OUT_OF_MEMORY, f"a buffer holds at most {MAX_LENGTH} bytes, not {size}")
            region = Region(size, name="pippin-cache")
            self._connection.exchange(lane, number, ask, b"", [region.fd])
            return region

        with self._export_lock:
            if not self._exported:
                self._exported = [self._connection.again(export).buffer()]
            return list(self._exported)

    def release(self) -> None:
        """Lets go of the exported cache; the model stays usable."""
        self._exported = []

    # -- convenience -------------------------------------------------------------------------------------------------

    def predict(self, values: Mapping[str, Any] | Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Runs on plain arrays, by input name or in order; returns the outputs by name, or by place without one.

        Of equal names the later ones get _1, _2 and so on.  InputError if an array is missing, unknown, holds no
        numbers or has the wrong dims; dtypes are converted.
        """
        import numpy as np

        feeds = []
        for port, array in zip(self.inputs, arrays(self.inputs, values), strict=True):
            feeds.append(IOTensor("", port.data_type, list(array.shape), port.format, _filled(array).buffer()))
        sizes = [byte_size(port.data_type, port.dims) for port in self.outputs]
        regions = [Region(max(size, 1)) for size in sizes]
        results = [
            IOTensor("", port.data_type, [], port.format, region.buffer())
            for port, region in zip(self.outputs, regions, strict=True)
        ]
        try:
            dims = self.run(feeds, results)
        except NnrtError as error:
            if error.code is not ReturnCode.INSUFFICIENT_BUFFER or len(error.output_dims) != len(self.outputs):
                raise
            for port, result, shape in zip(self.outputs, results, error.output_dims, strict=True):
                result.data = Region(max(byte_size(port.data_type, shape), 1)).buffer()
            dims = self.run(feeds, results)
        answer = {}
        for label, port, result, shape in zip(labels(self.outputs), self.outputs, results, dims, strict=True):
            raw = result.data.owner.array[: byte_size(port.data_type, shape)]
            answer[label] = np.array(raw.view(numpy_type(port.data_type)).reshape(shape))
        return answer


def _filled(array: NDArray[Any]) -> Region:
    import numpy as np

    region = Region(max(array.nbytes, 1))
    region.array[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return region


def _in_place(inputs: Sequence[IOTensor], outputs: Sequence[IOTensor]) -> bool:
    """Whether an output may lie in the memory of an input: then a run that broke off must not be made again."""
    read = {tensor.data.fd for tensor in inputs}
    return any(tensor.data.fd in read for tensor in outputs)


def _release(connection: Connection, number: int, epoch: int) -> None:
    connection.forget_model(number, epoch)


def status(path: str | os.PathLike[str], *, prometheus: bool = False) -> str:
    """What a service tells of itself: JSON, or the counters in Prometheus' form."""
    connection = Connection(path, timeout=0.0)
    try:
        return ParcelReader(connection.call(0, Service.STATUS, int(prometheus).to_bytes(4, "little"))).text(
            limit=1 << 24
        )
    except ReadError as error:
        raise DeviceError(f"what answers is no NNRt service: {error}", where=str(path)) from None
    finally:
        connection.close()
