"""Whole models as NNRt models: real networks, ONNX files, the command, and the proof."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

import pippin
from pippin.analysis.nnrt import convert, to_nnrt
from pippin.cli import cli
from pippin.errors import ReadError, VerifyError
from pippin.graph.read import read
from pippin.graph.write import write
from pippin.nnrt import load_model
from shared import SHARED
from test_nnrt_export import DEVICE, built, expected, rng, vector

MODELS = SHARED / "models"
FILES = sorted(path.name for path in MODELS.glob("*.mlmodel")) if MODELS.is_dir() else []
CUSTOM = {name for name in FILES if name.split(".")[0].endswith("-custom")} | {
    "lstsq-range.mlmodel",
    "kraken-bilstm.mlmodel",
}
PLAIN = [name for name in FILES if name not in CUSTOM]
REFUSED = {
    "activity-badminton6.mlmodel": ["layer 'lstm' (uniDirectionalLSTM)"],
    "controlflow-loop-branch.mlmodel": ["layer 'loop_count' (branch)", "layer 'x_renamed' (loop)"],
}
"""Networks that cannot be NNRt models, by their layers: an LSTM whose cell is clipped, control flow."""
LARGE = {"carn-v1.mlmodel", "superres-gan-range.mlmodel", "unet-448.mlmodel", "waifu2x-photo-scale2x.mlmodel",
         "pose-hourglass.mlmodel", "food-f16.mlmodel", "food-kmeans3.mlmodel", "food-linear4.mlmodel",
         "food-linearlut8.mlmodel"}  # fmt: skip
"""Networks that take the float64 reference longer than a test may: held against ONNX Runtime instead."""


def test_most_real_networks_convert() -> None:
    if not FILES:
        pytest.skip("the real models are not here")
    assert 3 * (len(PLAIN) - len(REFUSED)) >= 2 * len(PLAIN)


def marked(name: str) -> Any:
    """carn computes a picture of 1000 x 1000 for half a minute."""
    return pytest.param(name, marks=pytest.mark.slow) if name.startswith("carn") else name


@pytest.mark.parametrize("name", [marked(name) for name in PLAIN] or ["none"])
def test_real_network(name: str) -> None:
    if not FILES:
        pytest.skip("the real models are not here")
    if name in REFUSED:
        result = convert(MODELS / name)
        assert [gap.where for gap in result.exported.missing] == REFUSED[name]
        return
    if name not in LARGE:
        result = to_nnrt(MODELS / name)
        assert result.proof.trials
        assert not result.proof.failed()
        return
    result = convert(MODELS / name, dims="static")
    graph = result.graph  # type: ignore[attr-defined]
    feeds = {value.name: rng(*value.shape) for value in graph.inputs}
    for got, want in zip(
        DEVICE.prepare(result.exported.require()).predict(feeds).values(), expected(graph, feeds), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


DIGITS = Path(__file__).parents[1] / "examples" / "digits.mlmodel"


def test_file_and_proof(tmp_path: Path) -> None:
    result = pippin.to_nnrt(DIGITS, tmp_path / "digits.nnrt", layout="nhwc", verify="full")
    assert result.ok
    assert result.proof.trials
    again = load_model(tmp_path / "digits.nnrt")
    assert [node.nodeType for node in again.nodes] == [node.nodeType for node in result.model.nodes]
    assert again.allTensors[again.inputIndex[0]].dims[-1] in (1, 3)


def test_a_wrong_answer_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    from pippin.analysis.nnrt import OnDevice

    true = OnDevice.run
    monkeypatch.setattr(OnDevice, "run", lambda self, data: {k: v + 0.01 for k, v in true(self, data).items()})
    with pytest.raises(VerifyError, match="answers differently"):
        to_nnrt(DIGITS)


def test_from_onnx(tmp_path: Path) -> None:
    for opset in (13, 20):
        pippin.to_onnx(DIGITS, tmp_path / "digits.onnx", verify="none", opset=opset)
        result = to_nnrt(tmp_path / "digits.onnx", layout="nhwc", verify="full")
        assert result.ok
        assert len(result.proof.trials) == 3


def test_onnx_weights_beside_the_file(tmp_path: Path) -> None:
    pippin.to_onnx(DIGITS, tmp_path / "digits.onnx", verify="none", weights="beside")
    assert to_nnrt(tmp_path / "digits.onnx").ok


def test_onnx_that_contradicts_itself() -> None:
    node = onnx.helper.make_node("Relu", ["nothing"], ["y"])
    info = onnx.helper.make_tensor_value_info("y", 1, [2])
    graph = onnx.helper.make_graph([node], "g", [], [info])
    with pytest.raises(ReadError, match="nothing makes 'nothing'"):
        read(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)]))


def test_command(tmp_path: Path) -> None:
    target = tmp_path / "digits.nnrt"
    result = CliRunner().invoke(cli, ["convert", str(DIGITS), str(target), "--partition", "--layout", "nhwc"])
    assert result.exit_code == 0, result.output
    assert "device" in result.output
    assert "the same: a device against the reference" in result.output
    assert target.is_file()


def test_command_tells_what_is_missing(tmp_path: Path) -> None:
    graph = built(lambda g: g.Relu(g.CumSum(vector(g), np.array(1))))
    onnx.save(write(graph, inline=None).model, tmp_path / "sum.onnx")
    target = tmp_path / "sum.nnrt"
    result = CliRunner().invoke(cli, ["convert", str(tmp_path / "sum.onnx"), str(target), "--partition"])
    assert result.exit_code == 1
    assert "CumSum: there is no node type" in result.output
    assert "elsewhere" in result.output
    assert not target.exists()
    as_json = CliRunner().invoke(cli, ["convert", str(tmp_path / "sum.onnx"), str(target), "--json"])
    assert '"operator": "CumSum"' in as_json.output
