"""The wire format: bytes as the interface's generated marshalling writes them.

Little-endian, no header, no tags.  Every write is padded with zeros to 4 bytes; 8-byte values are not aligned to 8.
Field by field:

===================  ==================================================================================
boolean, byte, int   4 bytes
long, double         8 bytes
float                4 bytes
enum                 8 bytes, negative numbers sign-extended (old writers: 4, read where only these fit)
String               the bytes, a NUL, padding; no length
list of scalars      count in 4 bytes, the raw elements (enum: the size of its base type), padding
list of anything     count in 4 bytes, each element by its own rule; so are lists of lists
raw struct           its memory, see :mod:`pippin.nnrt.attributes.base`
===================  ==================================================================================

Reading trusts nothing: a count is compared with the bytes that are left before anything is made of it.  A refusal is a
:class:`~pippin.errors.ReadError`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ..errors import CheckError, ReadError
from .attributes.base import Attributes, Field, layout
from .enums import IdlEnum, NodeType

MAX_BLOB = 200 * 1024
"""Most bytes of an attribute blob: what a parcel of the interface holds."""

_S = TypeVar("_S", bound=Attributes)
_T = TypeVar("_T")


class ParcelWriter:
    """Appends values by the rules above; :meth:`getvalue` is the result."""

    def __init__(self) -> None:
        self._data = bytearray()

    def getvalue(self) -> bytes:
        """Everything written so far."""
        return bytes(self._data)

    def raw(self, data: bytes | memoryview) -> None:
        """Bytes as they are, padded to 4."""
        self._data += data
        self._data += bytes(-len(data) % 4)

    def boolean(self, value: bool) -> None:
        """4 bytes, 0 or 1."""
        self.raw(struct.pack("<i", bool(value)))

    def int32(self, value: int) -> None:
        """4 bytes, signed."""
        self.raw(struct.pack("<i", value))

    def uint32(self, value: int) -> None:
        """4 bytes, unsigned."""
        self.raw(struct.pack("<I", value))

    def long(self, value: int) -> None:
        """8 bytes, signed."""
        self.raw(struct.pack("<q", value))

    def float(self, value: float) -> None:
        """4 bytes."""
        self.raw(struct.pack("<f", value))

    def enum(self, value: int) -> None:
        """8 bytes, sign-extended."""
        self.long(value)

    def text(self, value: str) -> None:
        """UTF-8 up to the first NUL, and a NUL: readers stop there."""
        self.raw(value.partition("\0")[0].encode() + b"\0")

    def array(self, code: str, values: Sequence[Any]) -> None:
        """A list of scalars by ``struct`` code: count, raw elements."""
        self.uint32(len(values))
        self.raw(struct.pack(f"<{len(values)}{code}", *values))

    def blob(self, data: bytes) -> None:
        """A list of bytes."""
        self.uint32(len(data))
        self.raw(data)

    def sequence(self, items: Sequence[_T], write: Callable[[_T], None]) -> None:
        """A list of anything: count, then each element by ``write``."""
        self.uint32(len(items))
        for item in items:
            write(item)


class ParcelReader:
    """Takes values by the rules above; ``enum_size`` is 8, or 4 for blobs of old writers."""

    def __init__(self, data: bytes | memoryview, *, enum_size: int = 8) -> None:
        self._data = memoryview(data).cast("B")
        self._cursor = 0
        self._enum_size = enum_size

    @property
    def cursor(self) -> int:
        """Bytes taken so far."""
        return self._cursor

    @property
    def left(self) -> int:
        """Bytes not yet taken."""
        return len(self._data) - self._cursor

    def raw(self, size: int, what: str = "value") -> memoryview:
        """The next ``size`` bytes, without a copy; the cursor goes on to a multiple of 4."""
        if size > self.left:
            raise ReadError(f"{size} bytes are required for a {what}, {self.left} are left", where=self._place)
        view = self._data[self._cursor : self._cursor + size]
        self._cursor = min(self._cursor + size + -size % 4, len(self._data))
        return view

    def boolean(self) -> bool:
        """4 bytes; anything but 0 is true."""
        return self.int32() != 0

    def int32(self) -> int:
        """4 bytes, signed."""
        return int(struct.unpack("<i", self.raw(4))[0])

    def uint32(self) -> int:
        """4 bytes, unsigned."""
        return int(struct.unpack("<I", self.raw(4))[0])

    def long(self) -> int:
        """8 bytes, signed."""
        return int(struct.unpack("<q", self.raw(8))[0])

    def float(self) -> float:
        """4 bytes."""
        return float(struct.unpack("<f", self.raw(4))[0])

    def enum(self) -> int:
        """An enum's number, which fits 32 bits whatever its base."""
        number = self.long() if self._enum_size == 8 else self.int32()
        if not -(1 << 31) <= number < 1 << 32:
            raise ReadError(f"an enum's number fits 32 bits, got {number}", where=self._place)
        return number

    def text(self, limit: int = MAX_BLOB) -> str:
        """The bytes up to the next NUL, as UTF-8."""
        window, end, size = b"", -1, 64
        while end < 0 and len(window) < min(
            limit + 1, self.left
        ):  # short ones are not worth a copy of all that follows
            window = bytes(self._data[self._cursor : self._cursor + min(size, limit + 1)])
            end, size = window.find(b"\0"), size * 8
        if end < 0:
            raise ReadError("a text ends with NUL; this one does not", where=self._place)
        try:
            text = window[:end].decode()
        except UnicodeDecodeError:
            raise ReadError("a text is UTF-8; this one is not", where=self._place) from None
        self.raw(end + 1)
        return text

    def count(self, least: int) -> int:
        """A list's length, each element taking at least ``least`` bytes: refused if they cannot be there."""
        count = self.uint32()
        if count * least > self.left:
            raise ReadError(
                f"a list of {count} needs at least {count * least} bytes, {self.left} are left", where=self._place
            )
        return count

    def array(self, code: str) -> tuple[Any, ...]:
        """A list of scalars by ``struct`` code."""
        size = struct.calcsize(f"<{code}")
        count = self.count(size)
        return struct.unpack(f"<{count}{code}", self.raw(count * size))

    def blob(self) -> bytes:
        """A list of bytes."""
        return bytes(self.raw(self.count(1)))

    def sequence(self, read: Callable[[], _T], least: int) -> list[_T]:
        """A list of anything, each element taking at least ``least`` bytes."""
        return [read() for _ in range(self.count(least))]

    @property
    def _place(self) -> str:
        return f"byte {self._cursor}"


def encode(attributes: Attributes) -> bytes:
    """The attribute blob of a struct.  CheckError if it is larger than a parcel of the interface."""
    shape = layout(type(attributes))
    values = [getattr(attributes, field.name) for field in shape.fields]
    if shape.raw is not None:
        return shape.raw.pack(*values)
    writer = ParcelWriter()
    for field, value in zip(shape.fields, values, strict=True):
        _write(writer, field, value)
    blob = writer.getvalue()
    if len(blob) > MAX_BLOB:
        raise CheckError(
            f"an attribute blob holds at most {MAX_BLOB} bytes, got {len(blob)}", where=type(attributes).__name__
        )
    return blob


def decode(node_type: NodeType | int, blob: bytes) -> Attributes:
    """The struct in an attribute blob.

    A QuantDTypeCast of 24 bytes or more is taken for what writers put there, a QuantDTypeCastV2.  KeyError if the node
    type has no struct, ReadError if the blob is short, malformed or larger than a parcel of the interface.
    """
    from .attributes import QuantDTypeCastV2, struct_of

    cls = struct_of(node_type)
    if node_type == NodeType.QUANT_DTYPE_CAST and len(blob) >= 24:
        cls = QuantDTypeCastV2
    return decode_struct(cls, blob)


def decode_struct(cls: type[_S], blob: bytes) -> _S:
    """The struct of a known class in an attribute blob; bytes behind it are ignored."""
    name = cls.__name__
    if not 0 < len(blob) <= MAX_BLOB:
        raise ReadError(f"an attribute blob has 1 to {MAX_BLOB} bytes, got {len(blob)}", where=name)
    shape = layout(cls)
    if shape.raw is not None:
        if len(blob) < shape.raw.size:
            raise ReadError(f"{shape.raw.size} bytes are required, got {len(blob)}", where=name)
        return cls(*shape.raw.unpack_from(blob))
    try:
        return cls(*_fields(shape.fields, ParcelReader(blob)))
    except ReadError as error:
        if all(field.enum is None for field in shape.fields):
            raise error.at(name) from None
        first = error
    try:
        reader = ParcelReader(blob, enum_size=4)
        values = _fields(shape.fields, reader)
    except ReadError:
        raise first.at(name) from None
    if reader.left:  # the old form is believed only where it fits exactly
        raise first.at(name)
    return cls(*values)


def _write(writer: ParcelWriter, field: Field, value: Any) -> None:
    if field.enum is not None:
        writer.enum(value)
    elif field.kind in _WRITE:
        _WRITE[field.kind](writer, value)
    else:
        raise AssertionError(field.kind)


def _fields(fields: Iterable[Field], reader: ParcelReader) -> list[Any]:
    return [_enum(reader, field.enum) if field.enum is not None else _READ[field.kind](reader) for field in fields]


def _enum(reader: ParcelReader, enum: type[IdlEnum]) -> int:
    number, half = reader.enum(), 1 << (8 * enum.__width__ - 1)
    if not -half <= number < half:
        raise ReadError(
            f"{enum.__name__} fits {enum.__width__} byte, got {number}", where=f"before byte {reader.cursor}"
        )
    return number


_WRITE: dict[str, Callable[[ParcelWriter, Any], None]] = {
    "boolean": ParcelWriter.boolean,
    "long": ParcelWriter.long,
    "float": ParcelWriter.float,
    "String": ParcelWriter.text,
    "long[]": lambda writer, value: writer.array("q", value),
    "float[]": lambda writer, value: writer.array("f", value),
    "long[][]": lambda writer, value: writer.sequence(value, lambda row: writer.array("q", row)),
}
_READ: dict[str, Callable[[ParcelReader], Any]] = {
    "boolean": ParcelReader.boolean,
    "long": ParcelReader.long,
    "float": ParcelReader.float,
    "String": ParcelReader.text,
    "long[]": lambda reader: reader.array("q"),
    "float[]": lambda reader: reader.array("f"),
    "long[][]": lambda reader: reader.sequence(lambda: reader.array("q"), 4),
}
