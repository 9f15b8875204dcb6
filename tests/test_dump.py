"""Weights and blobs as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto, helper

import pippin
from cases import fill, half, linear, lookup, normal
from make import network
from pippin.analysis import dump
from pippin.cli import cli
from pippin.coreml.export import export
from shared import SHARED, needs_shared

ROOT = Path(__file__).resolve().parents[1]
DIGITS = ROOT / "examples/digits.mlmodel"
SMALL = ROOT / "examples/digits-4bit.mlmodel"
SEVEN = str(ROOT / "examples/digit-7.png")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def safetensors(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """A reader of its own, from the description of the format."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    assert size % 8 == 0, "arrays that are mapped must be aligned"
    header = json.loads(data[8 : 8 + size])
    note = header.pop("__metadata__", {})
    kinds = {"F32": "<f4", "F16": "<f2", "I64": "<i8", "U8": "u1", "I8": "i1", "F64": "<f8"}
    body = data[8 + size :]
    ends = sorted(tuple(entry["data_offsets"]) for entry in header.values())
    assert [begin for begin, _ in ends] == [0, *(end for _, end in ends[:-1])]
    assert ends[-1][1] == len(body)
    return {
        name: np.frombuffer(body[entry["data_offsets"][0] : entry["data_offsets"][1]], kinds[entry["dtype"]]).reshape(
            entry["shape"]
        )
        for name, entry in header.items()
    }, note


def read(path: Path) -> dict[str, Any]:
    if path.suffix == ".safetensors":
        return safetensors(path)[0]
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_weights(ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"w.{ending}"
    done = run("dump", str(DIGITS), "-o", str(target))
    assert done.exit_code == 0, done.output
    assert "conv1/weights [8, 1, 3, 3]" in done.output
    found = read(target)
    assert sum(array.size for array in found.values()) == 3818
    assert found["dense/weights"].shape == (10, 256)
    assert all(array.dtype == np.float32 for array in found.values())
    # by hand: a convolution of the picture with the first kernel
    blobs = pippin.load(DIGITS).blobs({"image": SEVEN})
    image, kernel = blobs["image"][0, 0, 0], found["conv1/weights"][0, 0]
    assert blobs["conv1"][0, 0, 0, 5, 7] == pytest.approx(
        float((image[4:7, 6:9] * kernel).sum()) + float(found["conv1/bias"][0]), abs=1e-5
    )
    if ending == "safetensors":
        assert safetensors(target)[1] == {"model": "digits.mlmodel"}


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_raw_weights(ending: str, tmp_path: Path) -> None:
    whole, raw = tmp_path / f"w.{ending}", tmp_path / f"r.{ending}"
    assert run("dump", str(SMALL), "-o", str(whole)).exit_code == 0
    assert run("dump", str(SMALL), "-o", str(raw), "--raw").exit_code == 0
    expanded, stored = read(whole), read(raw)
    packed = [name for name in expanded if f"{name}.table" in stored]
    assert packed
    for name in packed:
        assert stored[name].dtype == np.uint8
        assert stored[f"{name}.bits"] == 4
        np.testing.assert_array_equal(stored[f"{name}.table"][stored[name]], expanded[name])


LEVELS = np.arange(12) % 4
STORED = {
    "float16": (half(np.linspace(-1, 1, 12)), lambda r: r["p/weights"].astype(np.float32)),
    "linear": (linear(LEVELS, 2, [0.5], [-1.0]), lambda r: r["p/weights"] * r["p/weights.scale"] + r["p/weights.bias"]),
    "per channel": (
        linear(LEVELS, 2, [0.5, 0.25, 1.0], [-1.0, 0.0, 0.5]),
        lambda r: r["p/weights"] * r["p/weights.scale"][:, None] + r["p/weights.bias"][:, None],
    ),
    "lookup": (lookup(LEVELS, 2, [-1.5, -0.25, 0.5, 2.0]), lambda r: r["p/weights.table"][r["p/weights"]]),
}


@pytest.mark.parametrize("kind", STORED)
def test_every_encoding(kind: str, tmp_path: Path) -> None:
    values, expand = STORED[kind]
    message = network(
        [("innerProduct", {"inputChannels": 4, "outputChannels": 3}, ["x"], ["y"])], {"x": [4]}, ["y"], exact=False
    )
    message.neuralNetwork.layers[0].name = "p"
    fill(message.neuralNetwork.layers[0].innerProduct.weights, values)
    model = pippin.load(message.SerializeToString())
    (one,) = dict(dump.weights(model)).values()
    assert one.shape == (3, 4)
    stored = dict(dump.weights(model, raw=True))
    np.testing.assert_allclose(expand(stored), one, rtol=1e-6)


def test_names_are_unique_nested_networks_included(tmp_path: Path) -> None:
    message = network([("branch", {}, ["flag"], [])], {"flag": [1], "x": [3]}, ["y"])
    for side in ("ifBranch", "elseBranch"):
        layer = getattr(message.neuralNetwork.layers[0].branch, side).layers.add(name="fc", input=["x"], output=["y"])
        layer.batchedMatmul.weightMatrixFirstDimension = layer.batchedMatmul.weightMatrixSecondDimension = 3
        layer.batchedMatmul.weights.floatValue.extend(normal(9, seed=len(side)).tolist())
    found = dict(dump.weights(pippin.load(message.SerializeToString())))
    assert set(found) == {"fc/weights", "fc/weights#2"}
    assert not np.array_equal(*found.values())


@pytest.mark.parametrize("form", ["mlmodel", "onnx"])
def test_blobs(form: str, tmp_path: Path) -> None:
    path = DIGITS
    if form == "onnx":
        path = tmp_path / "d.onnx"
        export(pippin.load(DIGITS), path)
    target = tmp_path / "b.npz"
    done = run("dump", str(path), SEVEN, "-o", str(target), "--blob", "logits", "--blob", "conv1")
    assert done.exit_code == 0, done.output
    found = read(target)
    assert list(found) == ["logits", "conv1"]
    assert found["logits"].reshape(-1).argmax() == 7
    assert run("dump", str(path), "-o", str(target), "--blobs").exit_code == 0
    assert len(read(target)) >= 10
    assert run("dump", str(path), SEVEN, "-o", str(target), "--blobs").exit_code == 0
    done = run("compare", str(DIGITS), str(target), SEVEN)
    assert done.exit_code == 0, done.output


def test_onnx_weights(tmp_path: Path) -> None:
    export(pippin.load(DIGITS), tmp_path / "d.onnx", weights="beside")
    assert run("dump", str(tmp_path / "d.onnx"), "-o", str(tmp_path / "w.npz")).exit_code == 0
    found = read(tmp_path / "w.npz")
    wanted = dict(dump.weights(pippin.load(DIGITS)))
    np.testing.assert_array_equal(found["conv1/weights"], wanted["conv1/weights"])


@needs_shared
@pytest.mark.parametrize("name", ["food-linear4", "kraken-bilstm", "style-vangogh-custom", "carn-v1", "food-f16"])
def test_real_files_those_that_do_not_run_too(name: str, tmp_path: Path) -> None:
    path = SHARED / f"models/{name}.mlmodel"
    for more in ([], ["--raw"]):
        done = run("dump", str(path), "-o", str(tmp_path / "w.npz"), *more)
        assert done.exit_code == 0, done.output
        found = read(tmp_path / "w.npz")
        assert all(np.isfinite(array).all() for array in found.values())
        assert sum(array.nbytes for array in found.values()) > 1000


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["-o", "w.txt"], 2, "ending must be"),
        ([SEVEN, "-o", "w.npz"], 2, "inputs are for --blob"),
        (["-o", "w.npz", "--raw", "--blobs"], 2, "--raw is for weights"),
        ([SEVEN, "-o", "w.npz", "--blob", "conv9"], 1, "no blob 'conv9'"),
        (["-o", "none/w.npz"], 1, "cannot be written"),
    ],
)
def test_wrong_use_leaves_no_file(words: list[str], code: int, text: str, tmp_path: Path) -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "pippin", "dump", str(DIGITS), *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a\0b", "x.npy", "é" * 40_000])
def test_names_that_an_archive_cannot_hold(name: str, tmp_path: Path) -> None:
    layers = [
        ("activation", {"linear": {"alpha": 2}}, ["x"], [name]),
        ("activation", {"linear": {"alpha": 3}}, [name], ["y"]),
    ]
    model = pippin.load(network(layers, {"x": [2]}, ["y"]).SerializeToString())
    target = tmp_path / "b.npz"
    with pytest.raises(pippin.PippinError, match="no room for an array called"):
        dump.write(dump.blobs(model, {"x": [1, 2]}), target)
    assert not target.exists()
    dump.write(dump.blobs(model, {"x": [1, 2]}), tmp_path / "b.safetensors")
    assert read(tmp_path / "b.safetensors")[name].tolist() == [2, 4]


@pytest.mark.parametrize("groups", [1, 2])
def test_scales_of_the_channels_of_a_deconvolution(groups: int) -> None:
    """Its output channels are not the first axis; with groups they are spread over two."""
    kernel = normal(4, 6 // groups, 3, 3) * np.arange(1, 6 // groups + 1, dtype=np.float32)[:, None, None] ** 3
    params = {
        "outputChannels": 6, "kernelChannels": 4, "nGroups": groups, "kernelSize": [3, 3], "isDeconvolution": True,
        "weights": kernel, "valid": {},
    }  # fmt: skip
    model = network([("convolution", params, ["x"], ["y"])], {"x": [4, 5, 5]}, ["y"], exact=False, version=1)
    edit = pippin.edit(model.SerializeToString()).quantize(8)
    (found,) = dict(dump.weights(edit.load())).values()
    assert found.shape == kernel.shape
    raw = dict(dump.weights(edit.load(), raw=True))
    assert raw["convolution0/weights"].shape == kernel.shape
    scale, bias = (raw[f"convolution0/weights.{name}"][:, None, None] for name in ("scale", "bias"))
    np.testing.assert_allclose(raw["convolution0/weights"] * scale + bias, found, rtol=1e-6, atol=1e-5)
    spread = kernel.max(axis=(0, 2, 3)) - kernel.min(axis=(0, 2, 3)) if groups == 1 else kernel.max() - kernel.min()
    assert (np.abs(found - kernel) <= (np.broadcast_to(spread, 6 // groups) / 255 * 0.51)[:, None, None]).all()


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_types_that_files_of_arrays_do_not_have(ending: str, tmp_path: Path) -> None:
    kinds = {
        TensorProto.BFLOAT16: ([1.5, -2.0, 0.25], np.float32),
        TensorProto.FLOAT8E4M3FN: ([1.5, -2.0, 0.25], np.float32),
        TensorProto.INT4: ([-8, 7, 1], np.int8),
        TensorProto.UINT4: ([15, 0, 1], np.uint8),
        TensorProto.FLOAT16: ([1.5, -2.0, 0.25], np.float16),
    }
    names = {kind: TensorProto.DataType.Name(kind) for kind in kinds}
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    tensors = [helper.make_tensor(names[kind], kind, [3], values) for kind, (values, _) in kinds.items()]
    for name in names.values():
        nodes.append(helper.make_node("Cast", [name], [f"{name}_float"], to=TensorProto.FLOAT))
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    assert run("dump", str(path), "-o", str(tmp_path / f"w.{ending}")).exit_code == 0
    found = read(tmp_path / f"w.{ending}")
    assert set(found) == set(names.values())
    for kind, (values, dtype) in kinds.items():
        assert found[names[kind]].dtype == dtype
        assert found[names[kind]].tolist() == values
