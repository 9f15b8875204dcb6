"""What the attribute structs have in common: wire types of their fields, layout, registry, bytes.

A struct whose fields are all scalars travels as its raw memory (natural alignment, size a multiple of 8, an empty one
8 bytes); a struct with a list or a text field by field.  :mod:`pippin.nnrt.parcel` does both; here stands the layout.
"""

from __future__ import annotations

import struct as packing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Self, TypeVar, dataclass_transform, get_type_hints

from ...errors import CheckError
from ..enums import (
    ActivationType,
    CoordinateTransformMode,
    EltwiseMode,
    Format,
    IdlEnum,
    NearestMode,
    NodeType,
    PaddingMode,
    PadMode,
    ReduceMode,
    ResizeMethod,
    RoundMode,
)

Bool = Annotated[bool, "boolean"]
Long = Annotated[int, "long"]
Float = Annotated[float, "float"]
Text = Annotated[str, "String"]
Longs = Annotated[Sequence[int], "long[]"]
Floats = Annotated[Sequence[float], "float[]"]
LongRows = Annotated[Sequence[Sequence[int]], "long[][]"]
ActivationField = Annotated[ActivationType | int, ActivationType]
CoordinateField = Annotated[CoordinateTransformMode | int, CoordinateTransformMode]
EltwiseField = Annotated[EltwiseMode | int, EltwiseMode]
FormatField = Annotated[Format | int, Format]
NearestField = Annotated[NearestMode | int, NearestMode]
PaddingField = Annotated[PaddingMode | int, PaddingMode]
PadField = Annotated[PadMode | int, PadMode]
ReduceField = Annotated[ReduceMode | int, ReduceMode]
ResizeField = Annotated[ResizeMethod | int, ResizeMethod]
RoundField = Annotated[RoundMode | int, RoundMode]

_SCALARS = {"boolean": ("?", 1), "float": ("f", 4), "long": ("q", 8)}
_LONGS = (-(1 << 63), (1 << 63) - 1)


@dataclass(frozen=True)
class Field:
    """One field on the wire: ``kind`` is the IDL's type; for an enum its IDL name, with the class in ``enum``."""

    name: str
    kind: str
    enum: type[IdlEnum] | None = None

    @property
    def idl_name(self) -> str:
        """The name on the other side: words of Python wear an underscore here."""
        return self.name.rstrip("_")


@dataclass(frozen=True)
class Layout:
    """How a struct travels.  ``raw`` is set for those that go as memory, with the byte ``offsets`` of the fields."""

    fields: tuple[Field, ...]
    raw: packing.Struct | None
    offsets: tuple[int, ...]


class Attributes:
    """Base of the 96 attribute structs: immutable, comparable, lists kept as tuples, floats in single precision.

    An enum field may hold a number that is no member: it came so from a blob, and the lowering refuses it.
    """

    node_type: ClassVar[NodeType]

    def __post_init__(self) -> None:
        for field in layout(type(self)).fields:
            try:
                value = _NORMAL[field.kind if field.enum is None else "enum"](getattr(self, field.name), field)
            except (TypeError, ValueError, OverflowError) as error:
                raise CheckError(
                    f"{field.name} must be {field.kind}, got {getattr(self, field.name)!r} ({error})",
                    where=type(self).__name__,
                ) from None
            object.__setattr__(self, field.name, value)

    def to_bytes(self) -> bytes:
        """The blob for ``Node.nodeAttr``, as the generated marshalling writes it, padding zero."""
        from ..parcel import encode

        return encode(self)

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """Reads a blob of this struct; trailing bytes are ignored. ReadError if it is short or malformed."""
        from ..parcel import decode_struct

        return decode_struct(cls, blob)


REGISTRY: dict[NodeType, type[Attributes]] = {}

_S = TypeVar("_S", bound=Attributes)


@dataclass_transform(frozen_default=True)
def struct(node_type: NodeType) -> Callable[[type[_S]], type[_S]]:
    """Makes a class the (frozen dataclass of the) attribute struct of a node type."""

    def register(cls: type[_S]) -> type[_S]:
        if node_type in REGISTRY:
            raise ValueError(f"{node_type!r} has a struct already: {REGISTRY[node_type].__name__}")
        made = dataclass(frozen=True)(cls)
        made.node_type = node_type
        REGISTRY[node_type] = made
        return made

    return register


_LAYOUTS: dict[type[Attributes], Layout] = {}


def layout(cls: type[Attributes]) -> Layout:
    """The wire layout of a struct, worked out once from its annotations."""
    if cls not in _LAYOUTS:
        _LAYOUTS[cls] = _layout(cls)
    return _LAYOUTS[cls]


def _layout(cls: type[Attributes]) -> Layout:
    hints = get_type_hints(cls, include_extras=True)
    entries = []
    for field in fields(cls):  # type: ignore[arg-type]
        mark = hints[field.name].__metadata__[0]
        is_enum = isinstance(mark, type)
        entries.append(Field(field.name, mark.__name__ if is_enum else mark, mark if is_enum else None))
    scalar = all(field.enum is not None or field.kind in _SCALARS for field in entries)
    code, offsets = _pack(entries) if scalar else ("", ())
    return Layout(tuple(entries), packing.Struct(code) if scalar else None, offsets)


def _pack(entries: Sequence[Field]) -> tuple[str, tuple[int, ...]]:
    """The ``struct`` code of a raw struct: natural alignment, whole size a multiple of 8 and at least 8."""
    code, cursor, offsets = "<", 0, []
    for field in entries:
        letter, size = ("b", field.enum.__width__) if field.enum is not None else _SCALARS[field.kind]
        gap = -cursor % size
        code += f"{gap}x{letter}"
        offsets.append(cursor + gap)
        cursor += gap + size
    return f"{code}{(-cursor % 8) or (0 if cursor else 8)}x", tuple(offsets)


def _long(value: Any, field: Field | None = None) -> int:
    if isinstance(value, float):
        raise TypeError("a float")
    number = int(value)
    if not _LONGS[0] <= number <= _LONGS[1]:
        raise OverflowError("beyond 64 bits")
    return number


def _float(value: Any, field: Field | None = None) -> float:
    return float(packing.unpack("<f", packing.pack("<f", float(value)))[0])


def _text(value: Any, field: Field) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError("a text without NUL is required")
    return value


def _enum(value: Any, field: Field) -> int:
    assert field.enum is not None
    if isinstance(value, str):
        raise TypeError("a text")
    number = int(value)
    if not -128 <= number <= 127:
        raise OverflowError("beyond 8 bits")
    return field.enum(number) if number in field.enum._value2member_map_ else number


_NORMAL: dict[str, Callable[[Any, Field], Any]] = {
    "boolean": lambda value, field: bool(value),
    "long": _long,
    "float": _float,
    "String": _text,
    "long[]": lambda value, field: tuple(_long(item) for item in value),
    "float[]": lambda value, field: tuple(_float(item) for item in value),
    "long[][]": lambda value, field: tuple(tuple(_long(item) for item in row) for row in value),
    "enum": _enum,
}
