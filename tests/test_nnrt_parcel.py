"""Attribute blobs: the worked examples byte by byte, round trips, hostile bytes."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pippin.errors import CheckError, PippinError, ReadError
from pippin.nnrt.attributes import (
    LRN,
    REGISTRY,
    Activation,
    AddFusion,
    Attributes,
    AvgPoolFusion,
    BatchToSpaceND,
    Conv2dTransposeFusion,
    DepthToSpace,
    Field,
    FullConnection,
    MaxPoolFusion,
    PadFusion,
    QuantDTypeCast,
    QuantDTypeCastV2,
    ReduceFusion,
    Reshape,
    Softmax,
    Squeeze,
    layout,
)
from pippin.nnrt.parcel import MAX_BLOB, ParcelReader, ParcelWriter, decode
from pippin.nnrt.types import (
    ActivationType,
    Format,
    NodeType,
    PaddingMode,
    PadMode,
    ReduceMode,
    RoundMode,
)

POOL = "02000000 0200000000000000 0200000000000000 02000000 0200000000000000 0200000000000000"
EXAMPLES = {
    "add": (AddFusion(ActivationType.RELU), "0100000000000000"),
    "activation": (
        Activation(ActivationType.LEAKY_RELU, 0.25, -1.0, 1.0, False),
        "05000000 0000803e 000080bf 0000803f 00000000 00000000",
    ),
    "full connection": (
        FullConnection(True, True, 1, ActivationType.RELU6),
        "0101000000000000 0100000000000000 0300000000000000",
    ),
    "softmax": (Softmax([-1]), "01000000 ffffffffffffffff"),
    "max pool": (
        MaxPoolFusion(
            kernelSize=[2, 2], strides=[2, 2], pad=[0, 0, 0, 0], padMode=PadMode.PAD, format=Format.NHWC,
            roundMode=RoundMode.FLOOR, activationType=ActivationType.RELU,
        ),
        POOL + "04000000" + "00" * 32 + "0000000000000000 0100000000000000 0000000000000000 00000000 0100000000000000",
    ),
    "average pool": (
        AvgPoolFusion(
            kernelSize=[2, 2], strides=[2, 2], padMode=PadMode.VALID, roundMode=RoundMode.FLOOR, format=Format.NHWC
        ),
        POOL + "00000000 0200000000000000 0000000000000000 0100000000000000 00000000 0000000000000000",
    ),
    "pad": (
        PadFusion([[0, 0], [1, 2]], PaddingMode.CONSTANT, 0.5),
        "02000000 02000000" + "00" * 16 + "02000000 0100000000000000 0200000000000000 0000000000000000 0000003f",
    ),
    "depth to space": (DepthToSpace(2, Format.NHWC, "DCR"), "0200000000000000 0100000000000000 44435200"),
    "depth to space, no format": (
        DepthToSpace(2, Format.NONE, "CRD"),
        "0200000000000000 ffffffffffffffff 43524400",
    ),
    "reduce": (ReduceFusion(True, ReduceMode.SUM, False, 0.0), "0104000000000000"),
    "lrn": (
        LRN(2, 1.0, 0.5, 0.75, "ACROSS_CHANNELS"),
        "0200000000000000 0000803f 0000003f 0000403f 4143524f53535f4348414e4e454c5300",
    ),
    "nothing": (Reshape(), "0000000000000000"),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_example(name: str) -> None:
    attributes, text = EXAMPLES[name]
    blob = bytes.fromhex(text)
    assert attributes.to_bytes() == blob
    assert decode(attributes.node_type, blob) == attributes
    assert decode(attributes.node_type, blob + b"\xff\x01") == attributes


def test_padding_is_not_looked_at() -> None:
    assert AddFusion.from_bytes(b"\x01" + b"\xee" * 7) == AddFusion(ActivationType.RELU)
    assert Reshape.from_bytes(b"\xee" * 8) == Reshape()


def test_pools_differ_in_the_order_of_two_fields() -> None:
    given_ = {"roundMode": RoundMode.CEIL, "format": Format.NCHW}
    average, maximum = AvgPoolFusion(**given_).to_bytes(), MaxPoolFusion(**given_).to_bytes()
    assert average != maximum
    assert AvgPoolFusion.from_bytes(maximum) == AvgPoolFusion(roundMode=RoundMode.FLOOR, format=Format.NHWC)


def test_enums_of_old_writers_in_four_bytes() -> None:
    pool = MaxPoolFusion([3, 3], padMode=PadMode.SAME, format=Format.NONE, activationType=ActivationType.RELU)
    writer = ParcelWriter()
    for values in (pool.kernelSize, pool.strides, pool.pad):
        writer.array("q", values)
    for number in (pool.padMode, pool.format, pool.roundMode):
        writer.int32(number)
    writer.boolean(pool.global_)
    writer.int32(pool.activationType)
    assert MaxPoolFusion.from_bytes(writer.getvalue()) == pool


def test_old_enums_before_a_list() -> None:
    writer = ParcelWriter()
    for values in ([3, 3], [2, 2], [1, 1]):
        writer.array("q", values)
    writer.int32(PadMode.PAD)
    writer.array("q", [1, 1, 1, 1])
    for number in (1, 8, 4):
        writer.long(number)
    writer.int32(ActivationType.RELU6)
    writer.array("q", [1, 0])
    wanted = Conv2dTransposeFusion(
        [3, 3], [2, 2], [1, 1], PadMode.PAD, [1, 1, 1, 1], 1, 8, 4, ActivationType.RELU6, [1, 0]
    )
    assert Conv2dTransposeFusion.from_bytes(writer.getvalue()) == wanted


def test_quant_dtype_cast_by_length() -> None:
    assert decode(113, struct.pack("<qq", 43, 32)) == QuantDTypeCast(43, 32)
    assert decode(113, struct.pack("<qqq", 43, 32, 1)) == QuantDTypeCastV2(43, 32, 1)
    assert decode(999, struct.pack("<qqq", 43, 32, 1)) == QuantDTypeCastV2(43, 32, 1)


def values_of(field: Field) -> st.SearchStrategy[Any]:
    longs = st.integers(-(1 << 63), (1 << 63) - 1)
    floats = st.floats(width=32, allow_nan=False)
    if field.enum is not None:
        return st.sampled_from(list(field.enum)) | st.integers(-128, 127)
    return {
        "boolean": st.booleans(),
        "long": longs,
        "float": floats,
        "String": st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
        "long[]": st.lists(longs, max_size=6),
        "float[]": st.lists(floats, max_size=6),
        "long[][]": st.lists(st.lists(longs, max_size=3), max_size=4),
    }[field.kind]


@st.composite
def any_attributes(draw: st.DrawFn) -> Attributes:
    cls = REGISTRY[draw(st.sampled_from(sorted(REGISTRY)))]
    return cls(**{field.name: draw(values_of(field)) for field in layout(cls).fields})


@given(any_attributes())
@settings(max_examples=400)
def test_round_trip(attributes: Attributes) -> None:
    blob = attributes.to_bytes()
    assert len(blob) % 4 == 0
    back = type(attributes).from_bytes(blob)
    assert back == attributes
    assert back.to_bytes() == blob


@given(any_attributes(), st.data())
@settings(max_examples=200)
def test_a_short_blob_is_refused(attributes: Attributes, data: st.DataObject) -> None:
    blob = attributes.to_bytes()
    shape = layout(type(attributes))
    padding = 4 if shape.fields and shape.fields[-1].kind == "String" else 1
    enums = sum(field.enum is not None for field in shape.fields)
    # an enum of the old form is half as wide: where a text follows, the other half can be read as an empty one
    assume(shape.raw or not enums or padding == 1)
    old_form = len(blob) - 4 * enums
    cut = data.draw(st.integers(0, len(blob) - padding).filter(lambda cut: shape.raw or cut != old_form))
    with pytest.raises(ReadError) as caught:
        type(attributes).from_bytes(blob[:cut])
    assert type(attributes).__name__ in str(caught.value)


@given(st.sampled_from(sorted(REGISTRY)), st.binary(max_size=200))
@settings(max_examples=600)
def test_any_bytes_are_a_struct_or_an_error(node_type: NodeType, blob: bytes) -> None:
    try:
        attributes = decode(node_type, blob)
    except PippinError:
        return
    again = decode(attributes.node_type, attributes.to_bytes())
    assert repr(again) == repr(attributes)


@pytest.mark.parametrize("count", [3, 1 << 16, (1 << 32) - 1])
@pytest.mark.parametrize("cls", [Squeeze, BatchToSpaceND])
def test_a_count_beyond_the_bytes_allocates_nothing(cls: type[Attributes], count: int) -> None:
    with pytest.raises(ReadError, match="are left"):
        cls.from_bytes(struct.pack("<Iq", count, 0))


def test_refusals_say_where() -> None:
    with pytest.raises(ReadError, match="AddFusion: 8 bytes are required, got 3"):
        AddFusion.from_bytes(b"abc")
    with pytest.raises(ReadError, match="got 0"):
        Softmax.from_bytes(b"")
    with pytest.raises(ReadError, match="1 to"):
        Softmax.from_bytes(bytes(MAX_BLOB + 1))
    with pytest.raises(ReadError, match="ends with NUL"):
        DepthToSpace.from_bytes(struct.pack("<qq", 2, 1) + b"DCRX")
    with pytest.raises(ReadError, match="UTF-8"):
        DepthToSpace.from_bytes(struct.pack("<qq", 2, 1) + b"\xff\xfe\xfd\0")
    with pytest.raises(KeyError):
        decode(NodeType.NONE, bytes(8))
    with pytest.raises(KeyError):
        decode(3, bytes(8))


@pytest.mark.parametrize(
    ("cls", "values"),
    [
        (Softmax, {"axis": [1 << 63]}),
        (Softmax, {"axis": ["a"]}),
        (Softmax, {"axis": [1.5]}),
        (Softmax, {"axis": 3}),
        (LRN, {"bias": 1e300}),
        (LRN, {"normRegion": "a\0b"}),
        (AddFusion, {"activationType": 200}),
        (AddFusion, {"activationType": "RELU"}),
    ],
)
def test_wrong_values_are_refused_when_built(cls: type[Attributes], values: dict[str, Any]) -> None:
    with pytest.raises(CheckError, match=next(iter(values))):
        cls(**values)


def test_values_are_normal() -> None:
    assert AddFusion(1).activationType is ActivationType.RELU
    assert AddFusion(77).activationType == 77
    assert LRN(alpha=0.1).alpha == struct.unpack("<f", struct.pack("<f", 0.1))[0]
    assert Softmax([1]) == Softmax((1,))
    assert hash(Softmax([1])) == hash(Softmax((1,)))


def test_a_blob_too_large_for_a_parcel() -> None:
    with pytest.raises(CheckError, match="at most"):
        Squeeze(range(MAX_BLOB // 8 + 1)).to_bytes()


def test_small_rules() -> None:
    writer = ParcelWriter()
    writer.boolean(True)
    writer.text("ab")
    writer.array("b", [-1, 2, 3])
    writer.enum(-1)
    writer.blob(b"xyz12")
    writer.uint32(7)
    data = writer.getvalue()
    assert data.hex() == (
        "01000000" "61620000" "03000000ff020300" "ffffffffffffffff" "0500000078797a3132000000" "07000000"
    )  # fmt: skip
    reader = ParcelReader(data)
    assert (reader.boolean(), reader.text(), reader.array("b"), reader.enum()) == (True, "ab", (-1, 2, 3), -1)
    assert (reader.blob(), reader.uint32(), reader.left) == (b"xyz12", 7, 0)
