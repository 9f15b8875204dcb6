"""The structs of the interface as bodies of frames: the rules of :mod:`pippin.nnrt.parcel`, descriptors by number.

A FileDescriptor is 4 bytes that tell its kind, and a number of 4 bytes where there is one::

    0                 no descriptor (-1)
    1  number         the descriptor of this number that came with the frame, counted from 0
    2  number         memory that the client has attached, by the number that Attach answered
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ...errors import ReadError
from ..cache import Port
from ..enums import DataType, Format, IdlEnum, PerformanceMode, Priority, ReturnCode
from ..errors import NnrtError
from ..file import ModelReader, WriteBuffer, write_model
from ..parcel import ParcelReader, ParcelWriter
from ..types import IOTensor, Model, ModelConfig, SharedBuffer

NONE, FRAME, ATTACHED = 0, 1, 2
MAX_TEXT = 2000
"""Most characters of a text in an error."""

Place = Callable[[SharedBuffer], tuple[int, int]]
"""Where a buffer's descriptor is for the other side: kind and number."""
Resolve = Callable[[int, int], tuple[int, Any]]
"""The descriptor behind kind and number, and what keeps it open."""

_SIZES = struct.Struct("<III")


def write_buffer(writer: ParcelWriter, buffer: SharedBuffer, place: Place) -> None:
    """A SharedBuffer; sizes that do not fit 32 bits arrive as what is left of them, as from any caller in C."""
    kind, number = place(buffer)
    writer.uint32(kind)
    if kind:
        writer.uint32(number)
    writer.raw(_SIZES.pack(*(size & 0xFFFFFFFF for size in (buffer.bufferSize, buffer.offset, buffer.dataSize))))


def read_buffer(reader: ParcelReader, resolve: Resolve) -> SharedBuffer:
    """A SharedBuffer; ReadError for a kind that there is not, or whatever ``resolve`` raises."""
    kind = reader.uint32()
    fd, owner = resolve(kind, reader.uint32()) if kind else (-1, None)
    size, offset, used = _SIZES.unpack(reader.raw(_SIZES.size))
    return SharedBuffer(fd, size, offset, used, owner)


def write_buffers(writer: ParcelWriter, buffers: Sequence[SharedBuffer], place: Place) -> None:
    """A list of SharedBuffer."""
    writer.sequence(buffers, lambda buffer: write_buffer(writer, buffer, place))


def read_buffers(reader: ParcelReader, resolve: Resolve) -> list[SharedBuffer]:
    """A list of SharedBuffer."""
    return reader.sequence(lambda: read_buffer(reader, resolve), 16)


def write_config(writer: ParcelWriter, config: ModelConfig) -> None:
    """A ModelConfig."""
    writer.boolean(config.enableFloat16)
    writer.enum(config.mode)
    writer.enum(config.priority)
    writer.uint32(len(config.extensions))
    for name, value in config.extensions.items():
        writer.text(name)
        writer.blob(bytes(value))


def read_config(reader: ParcelReader) -> ModelConfig:
    """A ModelConfig."""
    half, mode, priority = reader.boolean(), reader.enum(), reader.enum()
    extensions = {reader.text(): reader.blob() for _ in range(reader.count(8))}
    return ModelConfig(half, member(PerformanceMode, mode), member(Priority, priority), extensions)


def member(enum: type[IdlEnum], number: int) -> Any:
    """The enum's member, or the number where it has none."""
    return enum(number) if number in enum._value2member_map_ else number


def marshal_model(model: Model, write: WriteBuffer) -> bytes:
    """A Model, its buffers by ``write``.  WriteError if a value does not fit its field."""
    return write_model(model, [tensor.data for tensor in model.allTensors], write)


class _Models(ModelReader):
    def __init__(self, parcel: ParcelReader, resolve: Resolve) -> None:
        super().__init__(parcel, None)
        self.resolve = resolve

    def buffer(self) -> SharedBuffer:
        return read_buffer(self.parcel, self.resolve)


def read_model(reader: ParcelReader, resolve: Resolve) -> Model:
    """A Model."""
    return _Models(reader, resolve).model()


# -- tensors of Run: packed in one go, this is what the overhead of a run is made of ---------------------------------


@lru_cache(256)
def _layout(rank: int, there: bool) -> struct.Struct:
    return struct.Struct(f"<qI{rank}iqI{'I' if there else ''}III")


@lru_cache(1024)
def _name(name: str) -> bytes:
    writer = ParcelWriter()
    writer.text(name)
    return writer.getvalue()


def marshal_tensors(inputs: Sequence[IOTensor], outputs: Sequence[IOTensor], place: Place) -> bytes:
    """The two lists of IOTensor of a Run.  NnrtError if a value does not fit its field."""
    pieces: list[bytes] = []
    try:
        for tensors in (inputs, outputs):
            pieces.append(len(tensors).to_bytes(4, "little"))
            for tensor in tensors:
                data, dims = tensor.data, tensor.dimensions
                kind, number = place(data)
                sizes = (data.bufferSize & 0xFFFFFFFF, data.offset & 0xFFFFFFFF, data.dataSize & 0xFFFFFFFF)
                where = (kind, number, *sizes) if kind else (kind, *sizes)
                pieces.append(_name(tensor.name))
                layout = _layout(len(dims), bool(kind))
                pieces.append(layout.pack(tensor.dataType, len(dims), *dims, tensor.format, *where))
    except (struct.error, OverflowError, UnicodeEncodeError) as error:
        dims = [dim for tensor in (*inputs, *outputs) for dim in tensor.dimensions]
        wide = any(isinstance(dim, int) and not -(1 << 31) <= dim < 1 << 31 for dim in dims)
        code = ReturnCode.OUT_OF_DIMENTION_RANGES if wide else ReturnCode.INVALID_PARAMETER
        raise NnrtError(code, f"a value does not fit the interface: {error}", where="Run") from None
    return b"".join(pieces)


def read_tensors(reader: ParcelReader, resolve: Resolve) -> list[IOTensor]:
    """A list of IOTensor."""
    return reader.sequence(lambda: _read_tensor(reader, resolve), 40)


def _read_tensor(reader: ParcelReader, resolve: Resolve) -> IOTensor:
    name, data_type = reader.text(), member(DataType, reader.enum())
    dims, layout = list(reader.array("i")), member(Format, reader.enum())
    return IOTensor(name, data_type, dims, layout, read_buffer(reader, resolve))


def write_dims(writer: ParcelWriter, dims: Sequence[Sequence[int]], code: str = "i") -> None:
    """A list of lists of dims."""
    writer.sequence(dims, lambda row: writer.array(code, row))


def read_dims(reader: ParcelReader, code: str = "i") -> list[list[int]]:
    """A list of lists of dims."""
    return reader.sequence(lambda: list(reader.array(code)), 4)


# -- answers -----------------------------------------------------------------------------------------------------------


def write_ports(writer: ParcelWriter, ports: Sequence[Port]) -> None:
    """What a prepared model tells of its inputs or outputs."""
    writer.uint32(len(ports))
    for port in ports:
        writer.text(port.name)
        writer.text(port.key)
        writer.enum(port.data_type)
        writer.array("i", port.dims)
        writer.enum(port.format)


def read_ports(reader: ParcelReader) -> tuple[Port, ...]:
    """What a prepared model tells of its inputs or outputs."""
    return tuple(reader.sequence(lambda: _read_port(reader), 28))


def _read_port(reader: ParcelReader) -> Port:
    name, key, data_type = reader.text(), reader.text(), reader.enum()
    dims, layout = list(reader.array("i")), reader.enum()
    try:
        return Port(name, key, DataType(data_type), dims, Format(layout))
    except ValueError as error:
        raise ReadError(f"a port must have a type and a format: {error}") from None


def marshal_error(error: NnrtError) -> bytes:
    """What stands in the body of an answer whose code is not SUCCESS."""
    writer = ParcelWriter()
    for text in (error.message, error.where, error.hint):
        writer.text(text.encode("utf-8", "replace").decode()[:MAX_TEXT])
    write_dims(writer, error.output_dims)
    return writer.getvalue()


def read_error(code: int, body: bytes) -> NnrtError:
    """The error of an answer; a code that the interface does not have becomes SERVICE_ERROR."""
    known = code in ReturnCode._value2member_map_
    try:
        reader = ParcelReader(body)
        message, where, hint = reader.text(), reader.text(), reader.text()
        dims = read_dims(reader)
    except ReadError:
        message, where, hint, dims = "the service gave no reason", "", "", []
    return NnrtError(
        ReturnCode(code) if known else ReturnCode.SERVICE_ERROR, message, where=where, hint=hint, output_dims=dims
    )
