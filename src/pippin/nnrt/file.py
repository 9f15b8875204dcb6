"""One file for a model: its description as the interface would send it, its constants behind.

The container (:mod:`pippin.nnrt.container`, kind 1) holds as head the marshalled Model struct::

    Model      String name, uint[] inputIndex, uint[] outputIndex, Node[], Tensor[], SubGraph[]
    Node       String name, enum nodeType, byte[] nodeAttr, uint[] inputIndex, uint[] outputIndex, enum quantType
    Tensor     String name, enum dataType, int[] dims, enum format, SharedBuffer data, QuantParam[] quantParams
    SubGraph   String name, uint[] inputIndices, uint[] outputIndices, uint[] nodeIndices

An IPC parcel would hold a descriptor in a SharedBuffer; in a file there is one memory for all, the data part of the
container.  So a SharedBuffer is its boolean (is there memory?), bufferSize = the length of the data part, offset into
it, and dataSize.  Constants start at multiples of 64.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import files
from ..errors import ReadError, WriteError
from .buffers import MAX_LENGTH, Mappings, Region
from .container import ALIGNMENT, Bytes, Container, Kind, pack, unpack
from .enums import DataType, Format, IdlEnum, NodeType, QuantType, ReturnCode
from .parcel import ParcelReader, ParcelWriter
from .types import Model, Node, QuantParam, SharedBuffer, SubGraph, Tensor

MAX_ITEMS = 1 << 20
"""Most nodes, tensors or subgraphs of a file."""

_QUANT = struct.Struct("<iid")


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Writes a model with its constants to one file, whole or not at all.

    WriteError if the file cannot be written or the constants exceed 2 GiB, NnrtError (MEMORY_ERROR) if a constant's
    memory cannot be read.
    """
    files.write(path, model_pieces(model))


def model_bytes(model: Model) -> bytes:
    """The content of the file that :func:`save_model` would write."""
    return b"".join(model_pieces(model))


def model_pieces(model: Model, mappings: Mappings | None = None) -> list[Any]:
    """The file's content in pieces, constants without a copy."""
    mappings = mappings or Mappings()
    data: list[Any] = []
    buffers: list[SharedBuffer] = []
    end = 0
    for tensor in model.allTensors:
        if not tensor.is_constant:
            buffers.append(SharedBuffer())
            continue
        array = mappings.read(tensor.data, ReturnCode.MEMORY_ERROR).array
        gap = -end % ALIGNMENT
        data += [bytes(gap), array.data]
        buffers.append(SharedBuffer(0, 0, end + gap, len(array)))
        end += gap + len(array)
    if end > MAX_LENGTH:
        raise WriteError(f"the constants of one file hold at most {MAX_LENGTH} bytes, got {end}")
    if buffers and not end:  # constants of no elements still need a memory to lie in
        data, end = [bytes(ALIGNMENT)], ALIGNMENT
    for buffer in buffers:
        buffer.bufferSize = end if buffer.fd == 0 else 0
    return pack(Kind.MODEL, write_model(model, buffers), data)


def load_model(source: str | os.PathLike[str] | Bytes) -> Model:
    """Reads a model from a file or from its bytes.

    The constants are copied into one shared region, which lives as long as the model's tensors.  ReadError if the
    content is no model, damaged, or breaks the format; what the model means is not looked at.
    """
    where = ""
    if not isinstance(source, (bytes, bytearray, memoryview)):
        where = str(source)
        try:
            source = files.read(source)
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}", where=where) from None
    container = unpack(source, where=where)
    if container.kind is not Kind.MODEL:
        raise ReadError("a model is required, this is a prepared one", where=where)
    return model_of(container)


def model_of(container: Container) -> Model:
    """The model in an opened container."""
    region = None
    if len(container.data):
        region = Region(len(container.data), name="pippin-model")
        region.array[:] = memoryview(container.data)
    reader = ModelReader(ParcelReader(container.head), region)
    return reader.model()


def write_buffer(writer: ParcelWriter, buffer: SharedBuffer) -> None:
    """A SharedBuffer without its descriptor."""
    writer.boolean(buffer.fd != -1)
    for number in (buffer.bufferSize, buffer.offset, buffer.dataSize):
        writer.uint32(number)


WriteBuffer = Callable[[ParcelWriter, SharedBuffer], None]


def write_model(model: Model, buffers: Sequence[SharedBuffer], write: WriteBuffer = write_buffer) -> bytes:
    """The marshalled Model; ``buffers`` stand for the memory of its tensors, fd -1 for none; ``write`` writes one."""
    writer = ParcelWriter()
    try:
        writer.text(model.name)
        writer.array("I", model.inputIndex)
        writer.array("I", model.outputIndex)
        writer.sequence(model.nodes, lambda node: _write_node(writer, node))
        pairs = list(zip(model.allTensors, buffers, strict=True))
        writer.sequence(pairs, lambda pair: _write_tensor(writer, *pair, write))
        writer.sequence(model.subGraph, lambda graph: _write_subgraph(writer, graph))
    except Exception as error:  # struct.error and the like: a value of the wrong type or beyond its width
        raise WriteError(f"a value does not fit the format: {error}", where=f"model {model.name!r}") from None
    return writer.getvalue()


def _write_node(writer: ParcelWriter, node: Node) -> None:
    writer.text(node.name)
    writer.enum(node.nodeType)
    writer.blob(node.nodeAttr)
    writer.array("I", node.inputIndex)
    writer.array("I", node.outputIndex)
    writer.enum(node.quantType)


def _write_tensor(writer: ParcelWriter, tensor: Tensor, buffer: SharedBuffer, write: WriteBuffer) -> None:
    writer.text(tensor.name)
    writer.enum(tensor.dataType)
    writer.array("i", tensor.dims)
    writer.enum(tensor.format)
    write(writer, buffer)
    writer.uint32(len(tensor.quantParams))
    for param in tensor.quantParams:
        writer.raw(_QUANT.pack(param.numBits, param.zeroPoint, param.scale))


def _write_subgraph(writer: ParcelWriter, graph: SubGraph) -> None:
    writer.text(graph.name)
    writer.array("I", graph.inputIndices)
    writer.array("I", graph.outputIndices)
    writer.array("I", graph.nodeIndices)


@dataclass
class ModelReader:
    """Reads a marshalled Model; :meth:`buffer` reads what stands for the memory of a tensor."""

    parcel: ParcelReader
    region: Region | None

    def model(self) -> Model:
        """The model."""
        parcel = self.parcel
        name = parcel.text()
        inputs, outputs = list(parcel.array("I")), list(parcel.array("I"))
        nodes = self._list(self._node, 36, "nodes")
        tensors = self._list(self._tensor, 44, "tensors")
        graphs = self._list(self._subgraph, 16, "subgraphs")
        return Model(name, inputs, outputs, nodes, tensors, graphs)

    def _list(self, read: Any, least: int, what: str) -> list[Any]:
        count = self.parcel.count(least)
        if count > MAX_ITEMS:
            raise ReadError(f"at most {MAX_ITEMS} {what} are read, got {count}")
        return [read() for _ in range(count)]

    def _node(self) -> Node:
        parcel = self.parcel
        return Node(
            parcel.text(),
            _member(NodeType, parcel.enum()),
            parcel.blob(),
            list(parcel.array("I")),
            list(parcel.array("I")),
            _member(QuantType, parcel.enum()),
        )

    def _tensor(self) -> Tensor:
        parcel = self.parcel
        name, data_type, dims = parcel.text(), _member(DataType, parcel.enum()), list(parcel.array("i"))
        layout = _member(Format, parcel.enum())
        buffer = self.buffer()
        params = [self._param() for _ in range(parcel.count(16))]
        return Tensor(name, data_type, dims, layout, buffer, params)

    def buffer(self) -> SharedBuffer:
        """The memory of a tensor, in the file's data."""
        there = self.parcel.boolean()
        size, offset, used = (self.parcel.uint32() for _ in range(3))
        if not there:
            return SharedBuffer()
        length = self.region.length if self.region else 0
        if size != length or offset + used > length:
            raise ReadError(f"a constant lies outside the {length} bytes of data: {used} bytes from {offset} of {size}")
        return SharedBuffer() if self.region is None else self.region.buffer(offset, used)

    def _param(self) -> QuantParam:
        return QuantParam(*_QUANT.unpack(self.parcel.raw(_QUANT.size)))

    def _subgraph(self) -> SubGraph:
        parcel = self.parcel
        return SubGraph(parcel.text(), list(parcel.array("I")), list(parcel.array("I")), list(parcel.array("I")))


def _member(enum: type[IdlEnum], number: int) -> Any:
    return enum(number) if number in enum._value2member_map_ else number
