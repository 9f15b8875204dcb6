"""A prepared model as bytes, so that it can be had again without lowering it anew.

A container (:mod:`pippin.nnrt.container`) of kind 2.  Its head: the versions of Pippin and of ONNX Runtime, the
provider, the inputs and outputs with their names in the graph, the places of nodes for messages, and the weights; its
data: the ONNX graph, then the weights at multiples of 64.  It is good for the versions and the provider that made it
and for no others.  Whether a model computes in half precision is settled when it is prepared and stays so in its cache.

The checksum tells damage, not malice: keep a cache where only those can write whom you would let run code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ReadError
from .container import ALIGNMENT, Container, Kind, pack
from .parcel import ParcelReader, ParcelWriter
from .types import DataType, Format, byte_size, data_type_of, numpy_type

if TYPE_CHECKING:
    from ..graph.write import Written


def current_versions() -> tuple[str, str]:
    """The versions of Pippin and of ONNX Runtime."""
    import onnxruntime

    from .. import __version__

    return __version__, onnxruntime.__version__


@dataclass
class Port:
    """An input or output of a prepared model: ``name`` as the model has it, ``key`` as the graph has it."""

    name: str
    key: str
    data_type: DataType
    dims: list[int]
    format: Format


@dataclass
class Compiled:
    """A model ready for a session."""

    written: Written
    inputs: list[Port]
    outputs: list[Port]
    provider: str
    half: bool = False
    versions: tuple[str, str] = field(default_factory=current_versions)


def pack_compiled(compiled: Compiled) -> list[Any]:
    """The cache's content in pieces, weights without a copy."""
    import numpy as np

    graph = compiled.written.model.SerializeToString()
    data: list[Any] = [graph]
    end = len(graph)
    writer = ParcelWriter()
    for text in (*compiled.versions, compiled.provider):
        writer.text(text)
    writer.boolean(compiled.half)
    for ports in (compiled.inputs, compiled.outputs):
        writer.sequence(ports, lambda port: _write_port(writer, port))
    writer.uint32(len(compiled.written.where))
    for pair in compiled.written.where.items():
        writer.text(pair[0])
        writer.text(pair[1])
    writer.long(len(graph))
    writer.uint32(len(compiled.written.weights))
    for name, array in compiled.written.weights.items():
        gap = -end % ALIGNMENT
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        writer.text(name)
        writer.enum(data_type_of(array.dtype))
        writer.array("q", array.shape)
        writer.long(end + gap)
        data += [bytes(gap), flat.data]
        end += gap + flat.nbytes
    return pack(Kind.PREPARED, writer.getvalue(), data)


def _write_port(writer: ParcelWriter, port: Port) -> None:
    writer.text(port.name)
    writer.text(port.key)
    writer.enum(port.data_type)
    writer.array("i", port.dims)
    writer.enum(port.format)


def unpack_compiled(container: Container, provider: str | None) -> Compiled:
    """The prepared model in an opened container, its memory copied; ``provider`` None takes any.

    ReadError if it was made by other versions or for another provider, or breaks the format.
    """
    from ..graph.write import Written

    reader = ParcelReader(container.head)
    versions, made_for = (reader.text(), reader.text()), reader.text()
    if versions != current_versions():
        raise ReadError(f"the cache is of {versions}, this is {current_versions()}: prepare the model again")
    if provider is not None and made_for != provider:
        raise ReadError(f"the cache is for {made_for!r}, this device is {provider!r}")
    half = reader.boolean()
    inputs, outputs = _ports(reader), _ports(reader)
    where = {reader.text(): reader.text() for _ in range(reader.count(8))}
    data = memoryview(bytearray(container.data))
    length = reader.long()
    if not 0 <= length <= len(data):
        raise ReadError(f"the graph must lie in the {len(data)} bytes of data, got {length}")
    weights = dict(_weight(reader, data) for _ in range(reader.count(28)))
    return Compiled(Written(_parse(data[:length]), weights, where), inputs, outputs, made_for, half, versions)


def _parse(content: memoryview) -> Any:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        return onnx.ModelProto.FromString(bytes(content))
    except DecodeError:
        raise ReadError("the graph is damaged") from None


def _ports(reader: ParcelReader) -> list[Port]:
    return [_port(reader) for _ in range(reader.count(28))]


def _port(reader: ParcelReader) -> Port:
    name, key, data_type = reader.text(), reader.text(), reader.enum()
    dims, layout = list(reader.array("i")), reader.enum()
    if data_type not in DataType._value2member_map_ or not data_type or layout not in Format._value2member_map_:
        raise ReadError(f"a port must have a type and a format, got {data_type} and {layout}")
    return Port(name, key, DataType(data_type), dims, Format(layout))


def _weight(reader: ParcelReader, data: memoryview) -> tuple[str, Any]:
    import numpy as np

    name, data_type, shape, offset = reader.text(), reader.enum(), list(reader.array("q")), reader.long()
    try:
        dtype, size = numpy_type(data_type), byte_size(data_type, shape)
    except (KeyError, ValueError):
        raise ReadError(f"a weight must have a type, got {data_type}") from None
    if size < 0 or offset < 0 or offset + size > len(data):
        raise ReadError(f"weight {name!r} must lie in the {len(data)} bytes of data, got {size} from {offset}")
    return name, np.frombuffer(data[offset : offset + size], dtype).reshape(shape)


def total(pieces: Sequence[Any]) -> int:
    """Bytes of a content in pieces."""
    return sum(memoryview(piece).nbytes for piece in pieces)
