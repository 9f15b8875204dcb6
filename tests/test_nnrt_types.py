"""The enums, structs and attribute tables of the NNRt door against the interface's own text, and against a snapshot."""

from __future__ import annotations

import hashlib
import re
from dataclasses import fields

import numpy as np
import pytest

from pippin.nnrt import attributes, enums, types
from pippin.nnrt.attributes import REGISTRY, Attributes, layout
from pippin.nnrt.types import DataType, NodeType
from shared import SHARED

IDL = SHARED / "spec" / "NnrtTypes.idl.txt"
FACTS = SHARED / "facts" / "nnrt.md"
ENUMS = {
    ("NNRT_" if name == "ReturnCode" else "") + name: cls
    for name, cls in vars(enums).items()
    if isinstance(cls, type) and issubclass(cls, enums.IdlEnum) and cls is not enums.IdlEnum
}
WIDTHS = {"byte": 1, "int": 4, "unsigned int": 4}


def idl_text() -> str:
    if not IDL.is_file():
        pytest.skip("the interface's text is not here")
    return re.sub(r"/\*.*?\*/", "", IDL.read_text(), flags=re.S)


def idl_enum(body: str) -> dict[str, int]:
    members, number = {}, -1
    for part in filter(None, (part.strip() for part in body.split(","))):
        name, _, value = part.partition("=")
        number = int(value) if value else number + 1
        members[name.strip()] = number
    return members


def test_enums_are_those_of_the_text() -> None:
    found = {}
    for name, base, body in re.findall(r"enum (\w+)\s*:\s*([\w ]+?)\s*\{(.*?)\}", idl_text(), flags=re.S):
        cls = ENUMS[name]
        found[name] = cls
        assert {member.idl_name: member.value for member in cls} == idl_enum(body), name
        assert cls.__width__ == WIDTHS[base], name
        assert cls.__signed__ == (not base.startswith("unsigned")), name
    assert found == ENUMS


def test_structs_are_those_of_the_text() -> None:
    for name, body in re.findall(r"struct (\w+) \{(.*?)\}", idl_text(), flags=re.S):
        names = [line.split()[-1] for line in body.split(";") if line.strip()]
        assert [field.name for field in fields(getattr(types, name)) if field.name != "owner"] == names


def fact_tables() -> dict[int, tuple[str, str, str, str]]:
    """Node type number → struct name, enum name, fields, wire form."""
    if not FACTS.is_file():
        pytest.skip("the field tables are not here")
    pattern = r"\*\*(\d+) (\w+)\*\* \(`(\w+)`\)\n\s+\* attr: (.*?) · wire: (.*)\n"
    return {
        int(number): (name, enum, text, wire)
        for number, name, enum, text, wire in re.findall(pattern, FACTS.read_text())
    }


def test_attributes_are_those_of_the_tables() -> None:
    tables = fact_tables()
    assert len(tables) == 96
    for number, (name, enum, text, wire) in tables.items():
        cls = REGISTRY[NodeType(number)]
        shape = layout(cls)
        assert (cls.__name__, NodeType(number).idl_name) == (name, enum)
        words = [] if text == "(none)" else [part.split() for part in text.split(", ")]
        assert [(field.kind, field.idl_name) for field in shape.fields] == [(word[0], word[1]) for word in words]
        if wire == "field by field":
            assert shape.raw is None
        else:
            assert shape.raw is not None
            assert wire == f"raw {shape.raw.size} bytes"
            assert list(shape.offsets) == [int(word[2].removeprefix("@")) for word in words]


def signature(cls: type[Attributes]) -> str:
    shape = layout(cls)
    inner = ",".join(f"{field.kind} {field.idl_name}" for field in shape.fields)
    return f"{int(cls.node_type)} {cls.__name__}({inner}){shape.raw.size if shape.raw else ''}{list(shape.offsets)}"


def test_snapshot() -> None:
    """Numbers and fields do not move: the interface is frozen."""
    lines = [f"{cls.__name__}.{member.name}={member.value}" for cls in ENUMS.values() for member in cls]
    lines += [signature(REGISTRY[node_type]) for node_type in sorted(REGISTRY)]
    assert (
        hashlib.sha256("\n".join(lines).encode()).hexdigest()
        == "b03dc6790a03b359f9ed8c824ecdc30df763efed0069c23cca9337b653498cfc"
    )


def test_census() -> None:
    assert len(NodeType) == 97
    assert set(REGISTRY) == set(NodeType) - {NodeType.NONE}
    assert sum(layout(cls).raw is not None for cls in REGISTRY.values()) == 76
    assert sum(not layout(cls).fields for cls in REGISTRY.values()) == 41
    assert {cls.__name__ for cls in REGISTRY.values()} <= set(attributes.__all__)
    for cls in REGISTRY.values():
        assert cls.__doc__
        assert not cls.__doc__.startswith(cls.__name__ + "("), cls


def test_element_types() -> None:
    for data_type, size in types.ELEMENT_SIZE.items():
        dtype = types.numpy_type(data_type)
        assert dtype.itemsize == size
        assert types.data_type_of(dtype) is data_type
    assert types.numpy_type(43) == np.float32
    with pytest.raises(KeyError):
        types.numpy_type(DataType.UNKNOWN)
    with pytest.raises(KeyError):
        types.data_type_of(np.complex64)


@pytest.mark.parametrize(("number", "name"), [(1, "BOOL"), (2, "INT8"), (4, "INT32"), (12, "FLOAT64"), (34, "INT32")])
def test_portable_type(number: int, name: str) -> None:
    assert types.portable_type(number).name == name


@pytest.mark.parametrize("number", [0, -1, 13, 31, 36, 45])
def test_portable_type_refuses(number: int) -> None:
    with pytest.raises(ValueError, match="element type"):
        types.portable_type(number)


def test_sizes() -> None:
    assert types.byte_size(DataType.FLOAT32, [3, 2, 2]) == 48
    assert types.byte_size(DataType.BOOL, []) == 1
    assert types.byte_size(DataType.INT64, [2, -1]) == -1
