"""The command line on NNRt models: inspect, run, check, devices and the nnrt group."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

import pippin
from nnrt_models import add_model
from pippin import nnrt
from pippin.cli import cli
from pippin.errors import ReadError
from pippin.nnrt.attributes import AddFusion
from pippin.nnrt.check import WARNINGS, check
from pippin.nnrt.codes import MEANINGS
from pippin.nnrt.types import Format, Model, Node, PadMode, ReturnCode, SharedBuffer, Tensor

WEIGHTS = np.random.default_rng(5).standard_normal((4, 3, 3, 1)).astype(np.float32)


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def process(*words: str) -> Any:
    return subprocess.run([sys.executable, "-m", "pippin", *words], capture_output=True, text=True, check=False)


@pytest.fixture
def twice(tmp_path: Path) -> str:
    g = nnrt.GraphBuilder("twice")
    x = g.input("x", [2, 3])
    nnrt.save_model(g.finish(g.AddFusion(x, x, name="y")), tmp_path / "twice.bin")
    return str(tmp_path / "twice.bin")


@pytest.fixture
def net(tmp_path: Path) -> str:
    g = nnrt.GraphBuilder("net")
    h = g.Conv2DFusion(g.input("x", [1, 8, 8, 1]), WEIGHTS, padMode=PadMode.SAME, name="conv")
    nnrt.save_model(g.finish(g.Softmax(h, axis=[3], name="y")), tmp_path / "net.nnrt")
    return str(tmp_path / "net.nnrt")


@pytest.fixture
def cache(net: str, tmp_path: Path) -> str:
    content = nnrt.devices()[0].prepare(nnrt.load_model(net)).export_cache()[0].owner.array
    (tmp_path / "net.cache").write_bytes(bytes(content))
    return str(tmp_path / "net.cache")


# -- run ---------------------------------------------------------------------------------------------------------------


def test_run(twice: str) -> None:
    """The first bytes decide, not the file's name."""
    for words in (("1,2,3,4,5,6",), ("x=[[1,2,3],[4,5,6]]",), ("[[1,2,3],[4,5,6]]", "--engine", "reference")):
        done = run("run", twice, *words, "--json")
        content = json.loads(done.output)
        assert content["schema"] == 1
        assert content["outputs"] == {"y": [[2, 4, 6], [8, 10, 12]]}
    assert "float32[2, 3]" in run("run", twice, "1,2,3,4,5,6").output


def test_run_files(net: str, cache: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((1, 8, 8, 1), np.float32))
    for model in (net, cache):
        target = tmp_path / "out.npy"
        done = run("run", model, str(tmp_path / "x.npy"), "--output", str(target), "--device", "cpu")
        assert done.exit_code == 0, done.output
        answer = np.load(target)
        assert answer.shape == (1, 8, 8, 4)
        np.testing.assert_allclose(answer.sum(axis=3), 1, rtol=1e-6)


def test_run_reference_agrees(net: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.linspace(-1, 1, 64, dtype=np.float32).reshape(1, 8, 8, 1))
    answers = [
        np.array(
            json.loads(run("run", net, str(tmp_path / "x.npy"), "--json", "--engine", engine).output)["outputs"]["y"]
        )
        for engine in ("onnxruntime", "reference")
    ]
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-6)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ((), 2, "no value for input 'x'"),
        (("1,2,3,4,5,6", "--threads", "2"), 2, "--threads is for Core ML models"),
        (("1,2,3,4,5,6", "--csv"), 2, "--csv is for Core ML models"),
        (("z=1",), 2, "no input 'z'"),
        (("photo.png",), 1, "takes float32[2, 3], not a picture"),
        (("photo.txt",), 2, "no number"),
        (("1,2",), 1, "input 'x' must have dims [2, 3], got [2]"),
        (("1,2,3,4,5,6", "--device", "npu"), 1, "there is no device 'npu'"),
    ],
)
def test_run_wrong(twice: str, words: tuple[str, ...], code: int, text: str) -> None:
    done = process("run", twice, *words)
    assert done.returncode == code
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_run_pictures(tmp_path: Path) -> None:
    """Pixels 0 to 255, channels behind or before height and width; the example knows its digits."""
    for digit in range(10):
        done = run("run", str(EXAMPLES / "digits.nnrt"), str(EXAMPLES / f"digit-{digit}.png"), "--json")
        assert int(np.argmax(json.loads(done.output)["outputs"]["probabilities"])) == digit
    g = nnrt.GraphBuilder("planes")
    x = g.input("x", [1, 3, 2, 4], "uint8", format=Format.NCHW)
    nnrt.save_model(g.finish(g.Reshape(x, [3, 8], name="y")), tmp_path / "planes.nnrt")
    Image.new("RGB", (4, 2), (1, 2, 3)).save(tmp_path / "good.png")
    Image.new("RGB", (5, 2)).save(tmp_path / "wide.png")
    (tmp_path / "none.png").write_text("no picture")
    model = str(tmp_path / "planes.nnrt")
    answer = json.loads(run("run", model, f"x={tmp_path / 'good.png'}", "--json").output)["outputs"]["y"]
    assert answer == [[1] * 8, [2] * 8, [3] * 8]
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (2, 4), (1, 2, 3)).save(tmp_path / "turned.png", exif=exif)
    Image.fromarray(np.full((2, 4), 257 * 9, np.uint16)).save(tmp_path / "deep.png")
    for name, levels in (("turned", [1, 2, 3]), ("deep", [9, 9, 9])):
        answer = json.loads(run("run", model, str(tmp_path / f"{name}.png"), "--json").output)["outputs"]["y"]
        assert answer == [[level] * 8 for level in levels]
    for name, text in (("wide", "must be 4 wide and 2 high, got 5 and 2"), ("none", "cannot be read")):
        done = process("run", model, str(tmp_path / f"{name}.png"))
        assert (done.returncode, text in done.stderr, "Traceback" in done.stderr) == (1, True, False)


def test_the_other_door_says_what_the_file_is() -> None:
    with pytest.raises(ReadError, match="NNRt model, not a Core ML one"):
        pippin.load(EXAMPLES / "digits.nnrt")


def test_the_example_is_its_script() -> None:
    """And answers as the Core ML model that it was made from."""
    import runpy

    tool = runpy.run_path(str(EXAMPLES.parent / "tools/make_nnrt_example.py"))
    assert nnrt.model_bytes(tool["build"]()) == (EXAMPLES / "digits.nnrt").read_bytes()
    picture = str(EXAMPLES / "digit-3.png")
    wanted = pippin.load(EXAMPLES / "digits.mlmodel").predict({"image": picture})["probabilities"]
    done = run("run", str(EXAMPLES / "digits.nnrt"), picture, "--json")
    np.testing.assert_allclose(json.loads(done.output)["outputs"]["probabilities"][0], list(wanted.values()), atol=1e-5)


def test_run_a_bad_model_names_code_and_place(tmp_path: Path) -> None:
    model = add_model()
    model.nodes[0].nodeAttr = b"\1"
    nnrt.save_model(model, tmp_path / "bad.nnrt")
    done = process("run", str(tmp_path / "bad.nnrt"), "x=1", "y=1")
    assert done.returncode == 1
    assert "node 'Add:0' (ADD_FUSION)" in done.stderr
    assert "[NNRT_INVALID_NODE 19]" in done.stderr


def test_device_is_for_nnrt_models_alone() -> None:
    digits = Path(__file__).resolve().parents[1] / "examples/digits.mlmodel"
    assert run("run", str(digits), "x=1", "--device", "cpu").exit_code == 2


# -- inspect -----------------------------------------------------------------------------------------------------------


def test_inspect(net: str, cache: str) -> None:
    text = run("inspect", net).output
    assert "net.nnrt: NNRt model 'net'" in text
    assert "float32[1, 8, 8, 4] NHWC" in text
    assert "padMode=SAME" in text
    content = json.loads(run("inspect", net, "--json").output)
    assert content["schema"] == "pippin.nnrt.inspect/1"
    assert [node["type"] for node in content["nodes"]] == ["CONV2D_FUSION", "SOFTMAX"]
    assert [entry["bytes"] for entry in content["constants"]] == [144]
    prepared = json.loads(run("inspect", cache, "--json").output)
    assert prepared["type"] == "prepared model"
    assert prepared["inputs"][0]["dims"] == [1, 8, 8, 1]
    assert "prepared NNRt model for CPUExecutionProvider" in run("inspect", cache).output


def test_inspect_a_node(net: str, cache: str) -> None:
    for which in ("conv", "0"):
        assert "padMode: SAME" in run("inspect", net, "--layer", which).output
    assert json.loads(run("inspect", net, "--layer", "conv", "--json").output)["attributes"]["padMode"] == "SAME"
    done = process("inspect", net, "--layer", "con")
    assert (done.returncode, "near: conv" in done.stderr) == (1, True)
    assert process("inspect", cache, "--layer", "conv").returncode == 1


def test_inspect_shows_what_is_wrong(tmp_path: Path) -> None:
    model = add_model()
    model.nodes += [Node("short", 5, b"\1", [0, 9], [2]), Node("odd", 4711, b"", [0], [2])]
    nnrt.save_model(model, tmp_path / "odd.nnrt")
    text = run("inspect", str(tmp_path / "odd.nnrt")).output
    assert "2 of them do not run here" in text
    assert "there is no such node type" in text
    assert "4711" in text


# -- check -------------------------------------------------------------------------------------------------------------


def test_check_good(net: str, cache: str) -> None:
    for path in (net, cache):
        done = run("check", path)
        assert (done.exit_code, "good: nothing found" in done.output) == (0, True)


def bad_model() -> Model:
    model = add_model()
    model.allTensors[0].dataType = 1000
    model.allTensors[1].format = 7
    model.nodes[0].nodeAttr = b"\1"
    model.subGraph[0].inputIndices = [0, 1, 3]
    return model


def test_check_finds_everything_and_names_the_first_code(tmp_path: Path) -> None:
    nnrt.save_model(bad_model(), tmp_path / "bad.nnrt")
    done = run("check", str(tmp_path / "bad.nnrt"))
    assert done.exit_code == 1
    assert "PrepareModel answers NNRT_INVALID_DATATYPE (22)" in done.output
    for code in ("INVALID_DATATYPE (22)", "INVALID_FORMAT (23)", "INVALID_NODE (19)", "INVALID_MODEL (31)"):
        assert f"error NNRT_{code}: {MEANINGS[ReturnCode[code.split()[0]]]}" in done.output
    content = json.loads(run("check", str(tmp_path / "bad.nnrt"), "--json").output)
    assert content["schema"] == "pippin.nnrt.check/1"
    assert content["answer"] == {"code": 22, "name": "NNRT_INVALID_DATATYPE"}
    assert [finding["number"] for finding in content["findings"]] == [22, 23, 19, 31]


def test_check_in_folders_and_other_forms(net: str, tmp_path: Path) -> None:
    nnrt.save_model(bad_model(), tmp_path / "bad.nnrt")
    (tmp_path / "cut.nnrt").write_bytes(Path(net).read_bytes()[:100])
    done = run("check", str(tmp_path), "--format", "sarif")
    assert done.exit_code == 1
    log = json.loads(done.output)["runs"][0]
    rules = {rule["id"]: rule["shortDescription"]["text"] for rule in log["tool"]["driver"]["rules"]}
    assert rules["NNRT_INVALID_FILE"] == MEANINGS[ReturnCode.INVALID_FILE]
    assert len(log["results"]) == 5
    assert "title=NNRT_INVALID_FORMAT" in run("check", str(tmp_path), "--format", "github").output


def warned() -> Model:
    model = add_model()
    model.allTensors[2].dims = [3, 2, 5]
    model.allTensors.append(Tensor("spare", dims=[2]))
    nan = np.array([np.nan, 1], np.float32)
    from nnrt_models import constant

    model.allTensors.append(constant(nan, "nan"))
    model.nodes.append(Node("idle", AddFusion.node_type, AddFusion().to_bytes(), [0, 1], [3]))
    return model


def test_warnings() -> None:
    report = check(warned())
    assert report.ok
    found = {finding.code for finding in report.findings}
    assert found == {"dims-differ", "unused-tensor", "unused-node", "not-a-number"}
    assert found <= set(WARNINGS)
    assert "not-a-number" not in {finding.code for finding in check(warned(), values=False).findings}


def test_warnings_are_bad_where_asked(tmp_path: Path) -> None:
    nnrt.save_model(warned(), tmp_path / "warned.nnrt")
    assert run("check", str(tmp_path / "warned.nnrt")).exit_code == 0
    assert run("check", str(tmp_path / "warned.nnrt"), "--strict").exit_code == 1


def test_shapes_that_do_not_fit_are_found_with_their_node() -> None:
    model = add_model()
    model.allTensors[1].dims = [5]
    report = check(model)
    assert report.answer is ReturnCode.INVALID_MODEL
    assert report.findings[0].where == "node 'Add:0' (ADD_FUSION)"
    assert nnrt.devices()[0].supported_operations(model)[0].reason == report.findings[0].message


def test_the_answer_is_that_of_the_device() -> None:
    from test_nnrt_model import TABLE

    for name, (change, code) in TABLE.items():
        model = add_model()
        change(model)
        report = check(model)
        assert report.answer is code, name
        assert not report.ok, name


def test_every_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ReturnCode)


# -- devices and the group ---------------------------------------------------------------------------------------------


def test_devices() -> None:
    assert pippin.devices()[0].provider == "CPUExecutionProvider"
    content = json.loads(run("devices", "--json").output)
    assert content["schema"] == "pippin.devices/1"
    assert content["devices"][0]["type"] == "CPU"
    assert "CPUExecutionProvider" in run("devices").output


def test_supported(net: str, tmp_path: Path) -> None:
    done = run("nnrt", "supported", net, "--json")
    assert done.exit_code == 0
    assert [row["supported"] for row in json.loads(done.output)["nodes"]] == [True, True]
    model = add_model()
    model.nodes[0].nodeType = 4711
    nnrt.save_model(model, tmp_path / "odd.nnrt")
    done = process("nnrt", "supported", str(tmp_path / "odd.nnrt"))
    assert done.returncode == 1
    assert "4711 is no node type" in done.stdout
    assert "0 of 1 node run" in done.stderr


def test_codes() -> None:
    assert run("nnrt", "codes", "19").output.startswith("19  NNRT_INVALID_NODE")
    assert json.loads(run("nnrt", "codes", "invalid_node", "--json").output)["codes"][0]["code"] == 19
    assert len(run("nnrt", "codes").output.splitlines()) == len(ReturnCode)
    done = process("nnrt", "codes", "INVALID_NOD")
    assert (done.returncode, "Near: INVALID_NODE" in done.stderr) == (2, True)


def test_nodes() -> None:
    content = json.loads(run("nnrt", "nodes", "--json").output)
    assert len(content["nodes"]) == 96
    assert "ADD_FUSION" in run("nnrt", "nodes").output


def test_constants_without_memory_are_found() -> None:
    model = add_model()
    model.allTensors[1].data = SharedBuffer(98765, 48, 0, 48)
    model.allTensors[2].format = Format.NONE
    numbers = [finding.number for finding in check(model).findings]
    assert numbers == [4, 31, 31]  # and it is an input with memory of its own


@pytest.mark.parametrize(
    ("folder", "other"), [("coreml", "nnrt"), ("nnrt", "coreml"), ("graph", "nnrt"), ("runtime", "nnrt")]
)
def test_the_doors_do_not_know_each_other(folder: str, other: str) -> None:
    import re

    files = sorted((EXAMPLES.parent / "src/pippin" / folder).rglob("*.py"))
    assert files
    known = [path.name for path in files if re.search(rf"^\s*(from|import) [.\w]*\b{other}\b", path.read_text(), re.M)]
    assert not known
