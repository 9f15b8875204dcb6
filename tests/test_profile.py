"""Work by hand, times that belong to somebody, and the page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import pippin
from cases import normal
from make import network
from pippin.analysis import profile as module
from pippin.analysis import work
from pippin.analysis.profile import profile
from pippin.cli import cli
from pippin.coreml.export import export
from pippin.report import profiles

ROOT = Path(__file__).resolve().parents[1]
DIGITS = ROOT / "examples/digits.mlmodel"


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def load(layers: list[Any], shape: list[int], exact: bool = False) -> Any:
    return pippin.load(network(layers, {"x": shape}, ["y"], exact=exact).SerializeToString())


def counts(model: Any) -> dict[str, int]:
    """FLOPs by the name of the layer; the outermost names where layers are nested."""
    found = work.layers(model, model.graph(optimize=False))
    return {re.sub(r"layer '([^']*)' \(\w+\)", r"\1", place): layer.flops for place, layer in found.items()}


# -- five networks by hand -------------------------------------------------------------------------------------------


def test_digits_by_hand() -> None:
    assert counts(pippin.load(DIGITS)) == {
        work.OUTSIDE: 16 * 16,  # times a scale
        "conv1": 2 * (8 * 16 * 16) * (1 * 3 * 3),
        "conv1_relu": 8 * 16 * 16,
        "conv1_pool": (8 * 8 * 8) * 2 * 2,
        "conv2": 2 * (16 * 8 * 8) * (8 * 3 * 3),
        "conv2_relu": 16 * 8 * 8,
        "conv2_pool": (16 * 4 * 4) * 2 * 2,
        "flatten": 0,
        "dense": 2 * 256 * 10,
        "softmax": 5 * 10,
    }


def test_groups_and_transposed_convolutions_by_hand() -> None:
    def conv(source: str, target: str, **more: Any) -> Any:
        return ("convolution", {"kernelSize": [3, 3], "valid": {}, **more}, [source], [target])

    model = load(
        [
            conv("x", "a", outputChannels=8, kernelChannels=1, nGroups=4, weights=normal(8, 1, 3, 3)),
            conv("a", "b", outputChannels=4, kernelChannels=8, nGroups=2, isDeconvolution=True, stride=[2, 2],
                 weights=normal(8, 2, 3, 3), hasBias=True, bias=normal(4)),
            ("batchnorm", {"channels": 4, "gamma": normal(4), "beta": normal(4), "mean": normal(4),
                           "variance": np.ones(4)}, ["b"], ["y"]),
        ],
        [4, 12, 10],
    )  # fmt: skip
    assert counts(model) == {
        # each of 8 outputs on 10 x 8 places sees 1 channel of 3 x 3
        "convolution0": 2 * (8 * 10 * 8) * (1 * 3 * 3),
        # each of 8 inputs on 10 x 8 places gives to 2 channels of 3 x 3
        "convolution1": 2 * (8 * 10 * 8) * (2 * 3 * 3),
        # 21 x 17 places, a factor and an offset
        "batchnorm2": 2 * (4 * 21 * 17),
    }


def test_recurrence_by_hand() -> None:
    gates = {f"{gate}{kind}": normal(*size, seed=number)
             for number, gate in enumerate(("inputGate", "forgetGate", "blockInput", "outputGate"))
             for kind, size in (("WeightMatrix", (5, 3)), ("RecursionMatrix", (5, 5)))}  # fmt: skip
    layer = {
        "inputVectorSize": 3, "outputVectorSize": 5, "params": {"sequenceOutput": True},
        "activations": [{"sigmoid": {}}, {"tanh": {}}, {"tanh": {}}], "weightParams": gates,
    }  # fmt: skip
    model = load([("uniDirectionalLSTM", layer, ["x"], ["y", "h", "c"])], [3])
    graph = model.graph([(7, 1, 3, 1, 1)], optimize=False)
    found = work.layers(model, graph)["layer 'uniDirectionalLSTM0' (uniDirectionalLSTM)"]
    assert found.parameters == 4 * (5 * 3 + 5 * 5)
    products = 2 * 4 * 5 * (3 + 5)
    # seven steps; a dozen operations a unit beside the products, and what bounds the cell
    assert 7 * (products + 12 * 5) <= found.flops <= 7 * (products + 12 * 5) + 1000


def test_attention_by_hand() -> None:
    model = load(
        [
            ("batchedMatmul", {"weightMatrixFirstDimension": 16, "weightMatrixSecondDimension": 16,
                               "weights": normal(16, 16)}, ["x"], ["q"]),
            ("batchedMatmul", {"transposeB": True}, ["q", "x"], ["s"]),
            ("softmaxND", {"axis": -1}, ["s"], ["p"]),
            ("batchedMatmul", {}, ["p", "x"], ["o"]),
            ("gelu", {"mode": "EXACT"}, ["o"], ["y"]),
        ],
        [2, 6, 16],
        exact=True,
    )  # fmt: skip
    assert counts(model) == {
        "batchedMatmul0": 2 * (2 * 6) * 16 * 16,
        "batchedMatmul1": 2 * (2 * 6 * 6) * 16,
        "softmaxND2": 5 * (2 * 6 * 6),
        "batchedMatmul3": 2 * (2 * 6 * 16) * 6,
        "gelu4": 2 * 6 * 16,
    }


def test_a_loop_by_hand() -> None:
    message = network([("copy", {}, ["x"], ["y"]), ("loop", {"maxLoopIterations": 6}, [], [])], {"x": [8]}, ["y"])
    body = message.neuralNetwork.layers[1].loop.bodyNetwork
    layer = body.layers.add(name="mix", input=["y"], output=["z"])
    layer.innerProduct.inputChannels = layer.innerProduct.outputChannels = 8
    layer.innerProduct.weights.floatValue.extend((normal(64) / 4).tolist())
    body.layers.add(name="bound", input=["z"], output=["y"]).activation.tanh.SetInParent()
    model = pippin.load(message.SerializeToString())
    found = work.layers(model, model.graph(optimize=False))
    by_name = {layer.place.rpartition("'")[0].rpartition("'")[2]: layer for layer in found.values()}
    assert by_name["mix"].flops == 6 * 2 * 8 * 8
    assert by_name["bound"].flops == 6 * 8
    assert (by_name["mix"].depth, by_name["mix"].parameters) == (1, 64)
    assert "layer 'loop1' (loop): layer 'mix' (innerProduct)" in found


def test_bytes_by_hand() -> None:
    model = load([("activation", {"ReLU": {}}, ["x"], ["a"]),
                  ("innerProduct", {"inputChannels": 10, "outputChannels": 4, "weights": normal(4, 10)}, ["a"], ["y"])],
                 [10])  # fmt: skip
    found = work.layers(model, model.graph(optimize=False))
    assert found["layer 'activation0' (activation)"].bytes == 4 * (10 + 10)
    # weights, inputs, outputs; and the eight-byte sizes of shapes
    assert found["layer 'innerProduct1' (innerProduct)"].bytes - 4 * (40 + 10 + 4) in range(100)


# -- times -----------------------------------------------------------------------------------------------------------


def test_every_layer_is_there_and_time_adds_up() -> None:
    found = profile(pippin.load(DIGITS), runs=5)
    names = {row.place for row in found.rows}
    for name in ("conv1", "conv1_relu", "conv2_pool", "flatten", "dense", "softmax"):
        assert any(f"'{name}'" in place for place in names)
    assert found.total("ms") > 0
    assert sum(row.share for row in found.rows) == pytest.approx(1)
    assert found.total("parameters") == 3818
    rows = {row.place: row for row in found.rows}
    relu = rows["layer 'conv1_relu' (activation)"]
    # the engine fuses an activation into its convolution on every machine
    assert (relu.ms, relu.inside) == (0, "layer 'conv1' (convolution)")
    assert rows["layer 'conv1' (convolution)"].ms > 0
    assert found.run_ms >= found.fastest_ms > 0
    assert found.fresh["load"] > 0
    assert found.fresh["first"] > 0
    assert found.fresh["mb_peak"] > found.fresh["mb_before"] > 10


def test_time_inside_of_loops_belongs_to_the_inner_layers() -> None:
    message = network([("copy", {}, ["x"], ["y"]), ("loop", {"maxLoopIterations": 30}, [], [])], {"x": [64]}, ["y"])
    body = message.neuralNetwork.layers[1].loop.bodyNetwork
    layer = body.layers.add(name="mix", input=["y"], output=["z"])
    layer.innerProduct.inputChannels = layer.innerProduct.outputChannels = 64
    layer.innerProduct.weights.floatValue.extend((normal(64 * 64) / 16).tolist())
    body.layers.add(name="bound", input=["z"], output=["y"]).activation.tanh.SetInParent()
    found = profile(pippin.load(message.SerializeToString()), runs=3, fresh=False)
    rows = {row.place.rpartition("'")[0].rpartition("'")[2]: row for row in found.rows}
    assert rows["mix"].ms > 0
    assert rows["bound"].ms > 0
    assert rows["mix"].depth == 1
    assert rows["mix"].flops == 30 * 2 * 64 * 64
    assert found.notes


def test_labels_of_the_engine() -> None:
    """Names that the engine gives to what it fuses or lays out anew."""
    model = pippin.load(DIGITS)
    graph = model.graph()
    nodes = list(graph.walk())
    by_name = {node.name: node for node in nodes}
    by_value = {value.name: node for node in nodes for value in node.outputs}
    for label, op in (
        ("conv1/Conv", "Conv"),
        ("conv1_relu_nchwc", "Relu"),
        ("conv1_nchwc", "Conv"),
        ("fused conv2/Conv", "Conv"),
        ("dense/Gemm/MatMulAddFusion", "Gemm"),
    ):
        node = module._node(label, by_name, by_value)
        assert node is not None
        assert node.op == op
    for label in ("ReorderOutput_token_5", "ReorderInput", "something else", "gemm_input_reshape_token_1", "conv11"):
        assert module._node(label, by_name, by_value) is None
    # a name of one letter is in many labels
    short = {"e": nodes[0], "1": nodes[1]}
    assert module._node("e_nchwc", short, {}) is nodes[0]
    for label in ("Gelu_token_1", "gemm_output_reshape_token_1", "Gelu"):
        assert module._node(label, short, {}) is None


def test_fused_operators_are_not_called_reordering() -> None:
    times, _ = module._by_layer(
        pippin.load(DIGITS).graph(), {"Gelu": [1e3, 2e3], "ReorderInput": [5e3], "gemm_x": [1e3]}
    )
    assert times == {module.FUSED: 1.5, module.ENGINE: 6.0}


def test_onnx(tmp_path: Path) -> None:
    export(pippin.load(DIGITS), tmp_path / "d.onnx")
    found = profile(pippin.load(tmp_path / "d.onnx"), runs=3, fresh=False)
    own = profile(pippin.load(DIGITS), runs=3, fresh=False)
    assert found.total("flops") == own.total("flops")
    rows = {row.place: row for row in found.rows}
    assert rows["node 'conv1/Conv' (Conv)"].flops == 36_864
    assert rows["node 'conv1/Conv' (Conv)"].parameters == 80
    assert rows["node 'conv1/Conv' (Conv)"].ms > 0


def test_python_functions_are_refused() -> None:
    message = network([("custom", {"className": "Twice"}, ["x"], ["y"])], {"x": [3]}, ["y"])
    model = pippin.load(message.SerializeToString(), custom_layers={"Twice": lambda inputs, params: [inputs[0] * 2]})
    with pytest.raises(pippin.UnsupportedError, match="custom layers in Python"):
        profile(model, runs=1, fresh=False)


# -- reports -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1 k"), (36_864, "36.9 k"), (4.09e9, "4.09 G"), (2e15, "2000 T")],
)
def test_numbers(count: float, text: str) -> None:
    assert profiles.number(count) == text


def test_command(tmp_path: Path) -> None:
    done = run("profile", str(DIGITS), "--runs", "3")
    assert done.exit_code == 0, done.output
    for part in ("196 kFLOPs", "3.82 k parameters", "in a new process: load", "inside of layer 'conv1' (convolution)"):
        assert part in done.output
    picture = str(ROOT / "examples/digit-7.png")
    content = json.loads(run("profile", str(DIGITS), picture, "--runs", "3", "--no-fresh", "--json").stdout)
    assert content["schema"] == 1
    assert content["totals"]["flops"] == 195_890
    assert {row["place"] for row in content["layers"]} >= {"layer 'dense' (innerProduct)"}
    done = run("profile", str(DIGITS), "--runs", "1", "--no-fresh", "--top", "2")
    assert "the slowest 2 of" in done.output


@pytest.fixture
def page(tmp_path: Path) -> Path:
    target = tmp_path / "page.html"
    done = run("profile", str(DIGITS), "--runs", "3", "--html", str(target))
    assert done.exit_code == 0, done.output
    return target


def test_page_stands_alone(page: Path) -> None:
    content = page.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=|https?://|url\(""", content)
    assert "<svg" in content
    data = json.loads(re.search(r"<script id=profile type=application/json>(.*?)</script>", content).group(1))  # type: ignore[union-attr]
    assert data["totals"]["flops"] == 195_890
    assert content.count("<tr>") >= len(data["layers"])


def test_names_cannot_break_the_page() -> None:
    model = load([("activation", {"ReLU": {}}, ["x"], ["y"])], [4])
    model.document.network.layers[0].name = "<!-- <script></script><b>'\"&"
    content = profiles.as_html(profile(model, runs=1, fresh=False))
    assert "<b>'" not in content
    assert content.count("</script>") == content.count("<script") == 2
    assert "<!--" not in content


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no browser here")
def test_page_in_a_browser(page: Path, tmp_path: Path) -> None:
    """The picture is drawn, and a click on a heading sorts: by FLOPs the second convolution comes first."""
    probe = """<script>addEventListener('load', () => {
      document.querySelectorAll('.all th')[4].click();
      const first = document.querySelector('.all tbody tr').cells[1].textContent;
      const widths = [...document.querySelectorAll('.strip rect')].reduce((sum, r) => sum + r.getBBox().width, 0);
      document.title = JSON.stringify([first, widths, document.querySelectorAll('.bar').length]);
    })</script>"""
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", probe + "</body>"), encoding="utf-8")
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert title is not None, done.stderr
    first, widths, bars = json.loads(title.group(1))
    assert "conv2" in first
    assert widths == pytest.approx(1000, abs=1)
    assert bars >= 4


def test_a_temporary_folder_without_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from pippin.errors import WriteError
    from pippin.runtime.session import Session

    model, usual = pippin.load(DIGITS), Session.end_profiling

    def cut_short(session: Session) -> str:
        path = Path(usual(session))
        path.write_text(path.read_text(encoding="utf-8")[:1000], encoding="utf-8")
        return str(path)

    monkeypatch.setattr(Session, "end_profiling", cut_short)
    with pytest.raises(WriteError, match=r"the engine's times cannot be written.*is the disk full"):
        profile(model, runs=1, fresh=False)
    monkeypatch.setattr(Session, "end_profiling", lambda session: str(tmp_path / "none.json"))
    with pytest.raises(WriteError, match=r"the engine's times cannot be written.*No such file"):
        profile(model, runs=1, fresh=False)


def test_the_first_run_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    from pippin.runtime.session import Session

    usual = Session.end_profiling

    def slower(session: Session) -> str:
        """The first run of the convolution took a second, the other one 20 microseconds."""
        path = Path(usual(session))
        events = json.loads(path.read_text(encoding="utf-8"))
        times = iter([1_000_000, 20])
        for event in sorted(events, key=lambda event: event["ts"]):
            if event["name"] == "conv1/Conv_kernel_time" or event["name"].startswith("conv1_relu_nchwc_kernel"):
                event["dur"] = next(times)
        path.write_text(json.dumps(events), encoding="utf-8")
        return str(path)

    monkeypatch.setattr(Session, "end_profiling", slower)
    found = profile(pippin.load(DIGITS), runs=1, fresh=False)
    (row,) = [row for row in found.rows if row.place == "layer 'conv1' (convolution)"]
    assert row.ms == pytest.approx(0.02)
