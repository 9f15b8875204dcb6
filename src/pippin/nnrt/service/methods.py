"""The methods that a client may call, by object and number; what they take and answer stands in the protocol's page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import PippinError
from ..buffers import MAX_LENGTH
from ..cache import Compiled, total
from ..config import check_config
from ..enums import ReturnCode as C
from ..errors import NnrtError, as_nnrt
from ..hdi import VERSION as HDI_VERSION
from ..model import Checked, check_model
from ..parcel import ParcelReader, ParcelWriter
from ..prepared_model import PreparedModel
from ..types import ModelConfig, SharedBuffer
from . import marshal
from .memory import Attached
from .protocol import DeviceMethod, Frame, ModelMethod, Service
from .session import DEVICE, MODEL, SERVICE, Handler, ServiceDevice, Session


def _on(table: dict[int, Handler], *methods: int) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for method in methods:
            assert method not in table
            table[method] = handler
        return handler

    return register


# -- object 0: the service ---------------------------------------------------------------------------------------------


@_on(SERVICE, Service.ATTACH)
def _attach(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    numbers = session.attach(received)
    writer = ParcelWriter()
    writer.array("I", numbers)
    return writer.getvalue()


@_on(SERVICE, Service.DETACH)
def _detach(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    for number in reader.array("I"):
        session.detach(number)
    return b""


@_on(SERVICE, Service.RELEASE_MODEL)
def _release_model(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    session.release_model(reader.uint32())
    return b""


# -- devices -----------------------------------------------------------------------------------------------------------


@_on(DEVICE, DeviceMethod.GET_VERSION)
@_on(MODEL, ModelMethod.GET_VERSION)
def _version(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    writer = ParcelWriter()
    for number in HDI_VERSION:
        writer.uint32(number)
    return writer.getvalue()


@_on(
    DEVICE,
    DeviceMethod.GET_DEVICE_NAME, DeviceMethod.GET_VENDOR_NAME, DeviceMethod.GET_DEVICE_TYPE,
    DeviceMethod.GET_DEVICE_STATUS, DeviceMethod.IS_FLOAT16_PRECISION_SUPPORTED,
    DeviceMethod.IS_PERFORMANCE_MODE_SUPPORTED, DeviceMethod.IS_PRIORITY_SUPPORTED,
    DeviceMethod.IS_DYNAMIC_INPUT_SUPPORTED, DeviceMethod.IS_MODEL_CACHE_SUPPORTED,
)  # fmt: skip
def _property(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    device = session.device(frame)
    writer = ParcelWriter()
    match frame.method:
        case DeviceMethod.GET_DEVICE_NAME:
            writer.text(device.name)
        case DeviceMethod.GET_VENDOR_NAME:
            writer.text(device.vendor)
        case DeviceMethod.GET_DEVICE_TYPE:
            writer.enum(device.type)
        case DeviceMethod.GET_DEVICE_STATUS:
            writer.enum(device.status)
        case DeviceMethod.IS_FLOAT16_PRECISION_SUPPORTED:
            writer.boolean(device.supports_float16)
        case DeviceMethod.IS_PERFORMANCE_MODE_SUPPORTED:
            writer.boolean(device.supports_performance_mode)
        case DeviceMethod.IS_PRIORITY_SUPPORTED:
            writer.boolean(device.supports_priority)
        case DeviceMethod.IS_DYNAMIC_INPUT_SUPPORTED:
            writer.boolean(device.supports_dynamic_input)
        case _:
            writer.boolean(device.supports_model_cache)
    return writer.getvalue()


@_on(DEVICE, DeviceMethod.GET_SUPPORTED_OPERATION)
def _supported(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    device = session.device(frame)
    model = marshal.read_model(reader, session.resolver(received))
    session.bounded(model)
    answers = device.supported_operations(model)
    writer = ParcelWriter()
    writer.sequence(answers, lambda answer: writer.boolean(answer.supported))
    writer.sequence(answers, lambda answer: writer.text(answer.reason[: marshal.MAX_TEXT]))
    return writer.getvalue()


def _compiled(session: Session, device: ServiceDevice, checked: Checked, config: ModelConfig) -> tuple[bytes, Compiled]:
    return session.shared.store.compiled(checked, config, device.provider, lambda: device._compile(checked, config))


@_on(DEVICE, DeviceMethod.PREPARE_MODEL)
def _prepare(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    device = session.device(frame)
    model = marshal.read_model(reader, session.resolver(received))
    config = marshal.read_config(reader)
    size = session.bounded(model)
    checked = check_model(model, session.mappings)
    check_config(config)

    def make() -> tuple[PreparedModel, Compiled, bytes]:
        try:
            key, compiled = _compiled(session, device, checked, config)
        except PippinError as error:
            raise as_nnrt(error, C.INVALID_MODEL) from None
        return device._open(compiled, config, C.INVALID_MODEL), compiled, key

    return session.prepared_answer(session.keep(size, make, device))


@_on(DEVICE, DeviceMethod.PREPARE_MODEL_FROM_MODEL_CACHE, DeviceMethod.PREPARE_OFFLINE_MODEL)
def _restore(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    """A cache that this service sealed; where it is an offline model also a plain one."""
    from ..container import Kind, unpack
    from ..file import model_of

    device = session.device(frame)
    buffers = marshal.read_buffers(reader, session.resolver(received))
    config = marshal.read_config(reader)
    code = C.INVALID_MODEL if frame.method == DeviceMethod.PREPARE_OFFLINE_MODEL else C.INVALID_MODEL_CACHE
    if len(buffers) != 1:
        raise NnrtError(code, f"one buffer is required, got {len(buffers)}")
    if buffers[0].dataSize > session.limits.model_bytes:
        raise NnrtError(C.OUT_OF_MEMORY, f"a model may take {session.limits.model_bytes} bytes")
    # a copy: what was checked must be what is used
    content = memoryview(bytes(session.mappings.read(buffers[0], C.INVALID_BUFFER).array))
    check_config(config)

    def make() -> tuple[PreparedModel, Compiled, bytes]:
        try:
            container = unpack(content)
            if container.kind is Kind.MODEL and code is C.INVALID_MODEL:
                checked = check_model(model_of(container))
                key, compiled = _compiled(session, device, checked, config)
            else:
                compiled, key = device._cached(unpack(session.shared.store.opened(content))), b""
        except PippinError as error:
            raise as_nnrt(error, code) from None
        return device._open(compiled, config, code), compiled, key

    return session.prepared_answer(session.keep(len(content), make, device))


@_on(DEVICE, DeviceMethod.ALLOCATE_BUFFER)
def _allocate(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    """Memory that the client made, so that it is the client's in every account; here it gets its number."""
    session.device(frame)
    length = reader.uint32()
    if length == 0:
        raise NnrtError(C.INVALID_PARAMETER, "a buffer needs at least one byte, got 0")
    if length > MAX_LENGTH:
        raise NnrtError(C.OUT_OF_MEMORY, f"a buffer holds at most {MAX_LENGTH} bytes, got {length}")
    if len(received) != 1 or received[0].length < length:
        raise NnrtError(C.INVALID_BUFFER, f"memory of {length} bytes must come with the request")
    (number,) = session.attach(received)
    received[0].allocated = True
    buffer = SharedBuffer(0, received[0].length, 0, length)
    writer = ParcelWriter()
    marshal.write_buffer(writer, buffer, lambda _: (marshal.ATTACHED, number))
    return writer.getvalue()


@_on(DEVICE, DeviceMethod.RELEASE_BUFFER)
def _release_buffer(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    session.device(frame)
    numbers: list[int] = []
    plain = session.resolver(received)

    def resolve(kind: int, number: int) -> tuple[int, Any]:
        if kind == marshal.ATTACHED:
            numbers.append(number)
        return plain(kind, number)

    buffer = marshal.read_buffer(reader, resolve)
    if not numbers or not isinstance(buffer.owner, Attached) or not buffer.owner.allocated:
        raise NnrtError(C.INVALID_BUFFER, "the buffer is none that was allocated here")
    session.detach(numbers[0])
    return b""


# -- prepared models ---------------------------------------------------------------------------------------------------


@_on(MODEL, ModelMethod.RUN)
def _run(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    raise NnrtError(C.INVALID_PARAMETER, "memory of a Run must be attached before")


@_on(MODEL, ModelMethod.GET_INPUT_DIM_RANGES)
def _ranges(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    least, most = session.entry(frame).prepared.input_dim_ranges()
    writer = ParcelWriter()
    marshal.write_dims(writer, least, "I")
    marshal.write_dims(writer, most, "I")
    return writer.getvalue()


@_on(MODEL, ModelMethod.EXPORT_MODEL_CACHE)
def _export(session: Session, frame: Frame, reader: ParcelReader, received: list[Attached]) -> bytes:
    """Without a descriptor the size that is needed; with one the content is written there."""
    import numpy as np

    entry = session.entry(frame)
    pieces = session.shared.store.sealed(entry.compiled)
    size = total(pieces)
    writer = ParcelWriter()
    writer.long(size)
    if not received:
        writer.uint32(0)
        return writer.getvalue()
    room = SharedBuffer(received[0].fd, received[0].length, 0, size, received[0])
    if received[0].length < size:
        raise NnrtError(C.INSUFFICIENT_BUFFER, f"{size} bytes are required, there are {received[0].length}")
    window = session.mappings.write(room, C.INVALID_BUFFER)
    end = 0
    for piece in pieces:
        flat = np.frombuffer(piece, np.uint8) if len(piece) else np.empty(0, np.uint8)
        window.array[end : end + len(flat)] = flat
        end += len(flat)
    if window.commit is not None:
        window.commit()
    marshal.write_buffers(writer, [SharedBuffer(0, room.bufferSize, 0, size)], lambda _: (marshal.FRAME, 0))
    return writer.getvalue()
