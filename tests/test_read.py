"""Reading: sources, what is refused and how, weights cut out and put back."""

from __future__ import annotations

import contextlib
import io
import json
import random
import resource
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import pippin
from make import network
from pippin.cli import cli
from pippin.coreml import schema, wire
from pippin.coreml.read import read
from pippin.coreml.weights import Weights
from pippin.errors import PippinError, ReadError, UnsupportedError
from shared import SHARED, needs_shared

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/digits.mlmodel"
SMALL = Path(__file__).resolve().parents[1] / "examples/digits-4bit.mlmodel"


def varint(value: int) -> bytes:
    return wire._varint(value)


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def test_path_text_bytes_file_object_and_mmap_read_the_same() -> None:
    data = EXAMPLE.read_bytes()
    wanted = read(EXAMPLE).model
    for source in (str(EXAMPLE), data, bytearray(data), memoryview(data), io.BytesIO(data)):
        assert read(source).model == wanted
    with EXAMPLE.open("rb") as file:
        assert read(file).name == "digits.mlmodel"
    assert read(EXAMPLE, mmap=True).model == wanted


def test_only_the_small_rest_is_parsed() -> None:
    document = read(EXAMPLE)
    assert document.model.ByteSize() < 1500 < document.size
    assert len(document.views) == 6


def test_splice_puts_every_byte_back() -> None:
    for path in (EXAMPLE, SMALL):
        document = read(path)
        assert b"".join(wire.splice(document.model, document.views)) == path.read_bytes()


def test_unknown_fields_survive() -> None:
    extra = field(7777, b"from the future")
    document = read(EXAMPLE.read_bytes() + extra)
    assert extra in b"".join(wire.splice(document.model, document.views))


@pytest.mark.parametrize("form", ["packed", "chunked", "unpacked", "mixed"])
def test_floats_packed_chunked_and_unpacked(form: str) -> None:
    values = np.arange(200, dtype="<f4")
    single = [b"\x0d" + value.tobytes() for value in values]
    bodies = {
        "packed": field(1, values.tobytes()),
        "chunked": field(1, values[:70].tobytes()) + field(1, values[70:].tobytes()),
        "unpacked": b"".join(single),
        "mixed": b"".join(single[:5]) + field(1, values[5:90].tobytes()) + b"".join(single[90:]),
    }
    model = network([("loadConstantND", {"shape": [200]}, [], ["y"])], {"x": [1]}, ["y"])
    layer = model.neuralNetwork.layers[0]
    loaded = layer.loadConstantND.SerializeToString() + field(2, bodies[form])
    layer.ClearField("loadConstantND")
    rest = layer.SerializeToString() + field(1070, loaded)
    del model.neuralNetwork.layers[:]
    data = model.SerializeToString() + field(500, field(1, rest))
    document = read(data)
    params = document.network.layers[0].loadConstantND.data
    np.testing.assert_array_equal(Weights(document.views).array(params, (200,)), values)


def test_mlpackage(tmp_path: Path) -> None:
    package = tmp_path / "digits.mlpackage"
    inside = package / "Data/com.apple.CoreML"
    inside.mkdir(parents=True)
    (inside / "model.mlmodel").write_bytes(EXAMPLE.read_bytes())

    def manifest(path: object) -> None:
        entries = {"id": {"path": path, "name": "model.mlmodel", "author": "com.apple.CoreML"}}
        content = {"fileFormatVersion": "1.0.0", "itemInfoEntries": entries, "rootModelIdentifier": "id"}
        (package / "Manifest.json").write_text(json.dumps(content))

    manifest("com.apple.CoreML/model.mlmodel")
    assert read(package).type == "neuralNetworkClassifier"
    for path, message in (
        ("../../../secret", "outside the package"),
        (str(EXAMPLE), "outside the package"),
        ("com.apple.CoreML/other.mlmodel", "not in the package"),
        (7, "names no root model"),
    ):
        manifest(path)
        with pytest.raises(ReadError, match=message):
            read(package)
    (inside / "link.mlmodel").symlink_to(tmp_path / "elsewhere.mlmodel")
    (tmp_path / "elsewhere.mlmodel").write_bytes(b"x")
    manifest("com.apple.CoreML/link.mlmodel")
    with pytest.raises(ReadError, match="outside the package"):
        read(package)
    (package / "Manifest.json").write_text("{" * 100_000)
    with pytest.raises(ReadError, match="names no root model"):
        read(package)
    (package / "Manifest.json").unlink()
    with pytest.raises(ReadError, match=r"no Manifest\.json"):
        read(package)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n", "Git LFS pointer"),
        (b"../elsewhere/model.mlmodel", "symbolic link"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"<html><a href='/x'>404</a></html>", "a web page was saved"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is a picture, not a Core ML model\nhint: the model comes first"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "is a picture"),
        (b"\x93NUMPY\x01\0", "is an array"),
        (b"\x89HDF\r\n\x1a\n\0\0", "is an HDF5 file, as Keras writes them"),
        (b"\x1c\0\0\0TFL3\x14\0", "is a TensorFlow Lite model"),
        (b"\x08\x01\x12", "does not end|cut off"),
        (field(500, field(1, b"\x0a\xff\xff\xff\xff\x0f")), "declares"),
        (b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7fshort", "declares"),
        (b"\x0b\x0c", "wire type"),
        (b"\x00\x00", "impossible"),
        (b"\x98\x06\x01", "no Core ML model"),
        (b"\x08" + b"\xff" * 11, "does not end"),
        (field(2, field(11, b"\xff\xfe")), "UTF-8|do not parse"),  # protobuf 6 does not say why
    ],
)
def test_what_is_no_model(content: bytes, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        read(content)


def test_missing_file_folder_and_wrong_source(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="No such file"):
        read(tmp_path / "none.mlmodel")
    (tmp_path / "folder.mlmodelc").mkdir()
    with pytest.raises(ReadError, match="compiled"):
        read(tmp_path / "folder.mlmodelc")
    with pytest.raises(ReadError, match="not from int"):
        read(3)  # type: ignore[arg-type]
    with pytest.raises(ReadError, match="mode 'rb'"):
        read(io.StringIO("text"))  # type: ignore[arg-type]


def test_nesting_too_deep_is_refused() -> None:
    inner = b""
    for _ in range(60):
        inner = field(1, field(615, field(4, inner)))
    with pytest.raises(ReadError, match="nested"):
        read(b"\x08\x04" + field(500, inner))


def test_other_model_types_are_named() -> None:
    for kind in ("mlProgram", "pipeline", "supportVectorClassifier", "kNearestNeighborsClassifier"):
        model = schema.Model(specificationVersion=4)
        getattr(model, kind).SetInParent()
        with pytest.raises(UnsupportedError, match=f"type {kind}"):
            pippin.load(model.SerializeToString())


def test_a_pipeline_says_how_its_network_is_had(tmp_path: Path) -> None:
    model = schema.Model(specificationVersion=4)
    model.pipeline.models.add().oneHotEncoder.SetInParent()
    path = tmp_path / "chain.mlmodel"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(UnsupportedError) as caught:
        pippin.load(path)
    assert caught.value.hint == "none of its models is a neural network: oneHotEncoder"
    model.pipeline.models.add().ParseFromString(EXAMPLE.read_bytes())
    path.write_bytes(model.SerializeToString())
    with pytest.raises(UnsupportedError) as caught:
        pippin.load(path)
    command = caught.value.hint.split("pippin ")[1].split()
    assert command[:2] == ["edit", "chain.mlmodel"]
    target = tmp_path / command[-1]
    assert CliRunner().invoke(cli, ["edit", str(path), *command[2:-1], str(target), "--no-proof"]).exit_code == 0
    assert list(pippin.load(target).inputs) == ["image"]


def test_a_model_without_a_type_says_so() -> None:
    with pytest.raises(ReadError, match="no model type"):
        pippin.load(b"\x08\x04")


def test_truncation_anywhere_is_refused_or_loads() -> None:
    data = SMALL.read_bytes()
    for end in range(0, len(data), 7):
        try:
            pippin.load(data[:end])
        except PippinError:
            continue


@given(st.binary(max_size=400))
@settings(max_examples=300, deadline=None)
def test_random_bytes_are_refused_in_our_own_words(data: bytes) -> None:
    try:
        pippin.load(data)
    except PippinError:
        return


@pytest.mark.parametrize("path", [EXAMPLE, SMALL], ids=lambda path: path.name)
def test_byte_mutants_give_an_answer_or_our_own_error(path: Path) -> None:
    data = path.read_bytes()
    chooser = random.Random(11)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    picture = np.zeros((16, 16), np.uint8)
    for _ in range(250):
        mutant = bytearray(data)
        for _ in range(chooser.choice((1, 1, 2, 8))):
            mutant[chooser.randrange(len(mutant))] = chooser.randrange(256)
        start = time.perf_counter()
        with contextlib.suppress(PippinError):
            pippin.load(bytes(mutant)).predict({"image": picture})
        assert time.perf_counter() - start < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000


@needs_shared
def test_real_files_read_back_byte_for_byte() -> None:
    count = 0
    for path in sorted((SHARED / "models").rglob("*.mlmodel")):
        try:
            document = read(path)
        except ReadError:
            continue
        again = b"".join(wire.splice(document.model, document.views))
        assert schema.Model.FromString(again) == schema.Model.FromString(path.read_bytes()), path.name
        count += 1
    assert count > 30


@needs_shared
def test_malformed_files_are_refused() -> None:
    for path in sorted((SHARED / "models/malformed").iterdir()):
        with pytest.raises(PippinError):
            pippin.load(path)
