"""One file for a model: round trips, damage, hostile content."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnrt_models import INT8, add_model, constant, one_node
from pippin.errors import PippinError, ReadError, WriteError
from pippin.nnrt.attributes import PadFusion, Reshape
from pippin.nnrt.container import Kind, pack, unpack
from pippin.nnrt.errors import NnrtError
from pippin.nnrt.file import load_model, model_bytes, save_model, write_model
from pippin.nnrt.model import check_model
from pippin.nnrt.types import DataType, Format, Model, SharedBuffer, Tensor


def rich_model() -> Model:
    paddings = constant(np.array([[0, 0], [1, 2]], np.int32), "paddings")
    extra = constant(np.arange(5, dtype=np.float64), "extra", quantParams=INT8 * 2)
    return one_node(
        PadFusion([[0, 0], [1, 2]]),
        [Tensor("x", DataType.FLOAT16, [-1, 3], Format.NCHW), paddings, extra],
        [Tensor("ü", DataType.FLOAT16, [-1, 6])],
    )


def plain(model: Model) -> Model:
    """The model without its memory, to compare the rest."""
    for tensor in model.allTensors:
        tensor.data = SharedBuffer(tensor.data.fd != -1, 0, 0, tensor.data.dataSize)
    return model


def test_round_trip(tmp_path: Path) -> None:
    model = rich_model()
    path = tmp_path / "model.nnrt"
    save_model(model, path)
    back = load_model(path)
    arrays = check_model(back).constants
    assert arrays[1].tolist() == [[0, 0], [1, 2]]
    assert arrays[2].tolist() == [0, 1, 2, 3, 4]
    assert all(tensor.data.offset % 64 == 0 for tensor in back.allTensors if tensor.is_constant)
    assert model_bytes(back) == path.read_bytes()
    assert load_model(path.read_bytes()).nodes == model.nodes
    assert plain(back) == plain(model)


def test_models_without_constants_and_with_empty_ones() -> None:
    model = add_model()
    assert load_model(model_bytes(model)) == model
    model = one_node(Reshape(), [Tensor("x", dims=[1]), constant(np.zeros(0, np.int32))], [Tensor("y")])
    back = load_model(model_bytes(model))
    assert check_model(back).constants[1].shape == (0,)


def test_numbers_that_are_no_members_survive() -> None:
    model = add_model()
    model.nodes[0].nodeType = 4321
    model.allTensors[0].dataType = -7
    assert load_model(model_bytes(model)) == model


def test_bytes_behind_are_ignored() -> None:
    assert load_model(model_bytes(add_model()) + b"more") == add_model()


def test_the_layout_is_as_documented() -> None:
    content = model_bytes(rich_model())
    magic, version, kind, head, start, length = struct.unpack_from("<8sIIQQQ", content)
    assert (magic, version, kind) == (b"PIPNNRT\n", 1, 1)
    assert start % 64 == 0
    assert 72 + head <= start
    assert start + length == len(content)
    assert content[72:76] == b"one\0"


def test_damage_is_seen_everywhere() -> None:
    content = model_bytes(rich_model())
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << (place % 8)
        with pytest.raises(ReadError):
            load_model(damaged)


def test_cuts_are_seen_everywhere() -> None:
    content = model_bytes(rich_model())
    for length in range(len(content)):
        with pytest.raises(ReadError):
            load_model(content[:length])


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"nothing.nnrt: cannot be read"):
        load_model(tmp_path / "nothing.nnrt")
    (tmp_path / "text.nnrt").write_text("hello")
    with pytest.raises(ReadError, match=r"text.nnrt: no NNRt model"):
        load_model(tmp_path / "text.nnrt")
    with pytest.raises(ReadError, match="a model is required"):
        load_model(b"".join(pack(Kind.PREPARED, b"", [])))
    with pytest.raises(ReadError, match="version 2"):
        load_model(b"PIPNNRT\n" + struct.pack("<I", 2) + bytes(80))
    with pytest.raises(WriteError, match="cannot be written"):
        save_model(add_model(), tmp_path / "missing" / "model.nnrt")
    assert list(tmp_path.iterdir()) == [tmp_path / "text.nnrt"]


def test_what_cannot_be_written() -> None:
    model = add_model()
    model.inputIndex = [-1]
    with pytest.raises(WriteError, match="does not fit"):
        model_bytes(model)
    model = add_model()
    model.allTensors[0].data = SharedBuffer(98765, 4, 0, 4)
    with pytest.raises(NnrtError):
        model_bytes(model)


def sealed(head: bytes, data: bytes = b"") -> bytes:
    """A container whose checksum is right, whatever it holds."""
    return b"".join(pack(Kind.MODEL, head, [data]))


def test_a_constant_outside_the_data() -> None:
    model = rich_model()
    buffers = [SharedBuffer() for _ in model.allTensors]
    buffers[1] = SharedBuffer(0, 8, 4, 16)
    with pytest.raises(ReadError, match="outside"):
        load_model(sealed(write_model(model, buffers), bytes(8)))
    buffers[1] = SharedBuffer(0, 16, 0, 16)
    with pytest.raises(ReadError, match="outside"):
        load_model(sealed(write_model(model, buffers), bytes(8)))


@given(st.data())
@settings(max_examples=300)
def test_a_hostile_head_is_a_model_or_an_error(data: st.DataObject) -> None:
    head = bytearray(unpack(model_bytes(rich_model())).head)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(head) - 1))
        head[place] = data.draw(st.integers(0, 255))
    head = head[: data.draw(st.integers(0, len(head)))] if data.draw(st.booleans()) else head
    with suppress(PippinError):
        check_model(load_model(sealed(bytes(head), bytes(128))))


@given(st.binary(max_size=300))
@settings(max_examples=300)
def test_any_bytes_are_refused_politely(content: bytes) -> None:
    for candidate in (content, sealed(content)):
        with suppress(ReadError):
            load_model(candidate)


def test_huge_counts_allocate_nothing() -> None:
    head = b"a\0\0\0" + struct.pack("<III", 0, 0, 0xFFFFFFFF)
    with pytest.raises(ReadError, match="are left"):
        load_model(sealed(head))
