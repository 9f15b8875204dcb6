"""Lists as batches, recurrent state, memory limits, Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin
from cases import normal
from make import add, network, picture_network
from pippin.coreml import batch
from pippin.errors import UnsupportedError
from shared import SHARED, needs_shared

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load(model: Any, **options: Any) -> Any:
    return pippin.load(model.SerializeToString(), **options)


def same(a: Any, b: Any) -> None:
    assert a.keys() == b.keys()
    for name, value in a.items():
        if isinstance(value, np.ndarray):
            assert value.shape == b[name].shape
            np.testing.assert_allclose(value, b[name], rtol=1e-5, atol=1e-5)
        elif isinstance(value, dict):
            assert value == pytest.approx(b[name], rel=1e-4, abs=1e-6)
        elif hasattr(value, "getbands"):
            assert np.abs(np.asarray(value, int) - np.asarray(b[name], int)).max() <= 1
        else:
            assert value == b[name]


def test_a_list_is_one_run_and_answers_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    net = pippin.load(EXAMPLES / "digits.mlmodel")
    pictures = [{"image": EXAMPLES / f"digit-{digit}.png"} for digit in range(10)]
    alone = [net.predict(picture) for picture in pictures]
    monkeypatch.setattr(type(net), "answer", lambda *_: pytest.fail("a single run"))
    for answer, wanted in zip(net.predict(pictures), alone, strict=True):
        same(answer, wanted)


def test_more_than_one_batch_and_several_sizes() -> None:
    layer = (
        "convolution",
        {"outputChannels": 2, "kernelChannels": 3, "weights": normal(2, 3, 3, 3), "valid": {}},
        ["image"],
        ["y"],
    )
    model = picture_network([layer], size=(6, 5), version=3)
    sizes = model.description.input[0].type.imageType.imageSizeRange
    sizes.widthRange.lowerBound = sizes.heightRange.lowerBound = 3
    sizes.widthRange.upperBound = sizes.heightRange.upperBound = -1
    net = load(model)
    chooser = np.random.default_rng(0)
    shapes = [(5, 6, 3), (4, 4, 3)] * (batch.LIMIT + 3)
    pictures = [{"image": chooser.integers(0, 256, shape).astype(np.uint8)} for shape in shapes]
    for picture, answer in zip(pictures, net.predict(pictures), strict=True):
        same(answer, net.predict(picture))


@pytest.mark.parametrize(
    ("layer", "word"),
    [
        (("batchnorm", {"channels": 3, "computeMeanVar": True, "gamma": [1] * 3, "beta": [0] * 3}), "over the batch"),
        (("reshape", {"targetShape": [1, 3, 4, 3]}), "join"),
        (("permute", {"axis": [1, 0, 2, 3]}), "join"),
        (("reduceSum", {"axes": [0], "keepDims": True}), "names axes"),
    ],
)
def test_networks_in_which_a_batch_would_meet(layer: Any, word: str) -> None:
    net = load(picture_network([(*layer, ["image"], ["y"])], version=5))
    assert word in batch.reason(net)
    chooser = np.random.default_rng(0)
    pictures = [{"image": chooser.integers(0, 256, (3, 4, 3)).astype(np.uint8)} for _ in range(3)]
    for picture, answer in zip(pictures, net.predict(pictures), strict=True):
        same(answer, net.predict(picture))


@needs_shared
@pytest.mark.parametrize("name", ["food-f32", "mnist-astro", "blazeface-v4", "house-trained", "unet-448", "xor-keras"])
def test_real_networks_in_batches(name: str) -> None:
    from test_real_models import sample

    net = pippin.load(SHARED / f"models/{name}.mlmodel")
    items = [{key: sample(entry, seed) for key, entry in net.inputs.items()} for seed in range(3)]
    for item, answer in zip(items, net.predict(items), strict=True):
        same(answer, net.predict(item))


# -- state -----------------------------------------------------------------------------------------------------------


def recurrent() -> Any:
    lstm = {"inputVectorSize": 2, "outputVectorSize": 3, "activations": [{"sigmoid": {}}, {"tanh": {}}, {"tanh": {}}]}
    lstm["params"] = {"sequenceOutput": True}
    lstm["weightParams"] = {
        f"{gate}Gate{kind}Matrix" if gate != "block" else f"blockInput{kind}Matrix": normal(3, size, seed=size + n)
        for n, gate in enumerate(("input", "forget", "block", "output"))
        for kind, size in (("Weight", 2), ("Recursion", 3))
    }
    layers = [
        ("slice", {"startIndex": 0, "endIndex": 3, "stride": 1, "axis": 0}, ["stateIn"], ["hIn"]),
        ("slice", {"startIndex": 3, "endIndex": 6, "stride": 1, "axis": 0}, ["stateIn"], ["cIn"]),
        ("uniDirectionalLSTM", lstm, ["x", "hIn", "cIn"], ["y", "hOut", "cOut"]),
        ("concat", {}, ["hOut", "cOut"], ["stateOut"]),
    ]
    model = network(layers, {"x": [2], "stateIn": [6]}, ["y", "stateOut"], exact=False, version=3)
    model.description.input[1].type.isOptional = True
    model.description.output[1].type.multiArrayType.shape.extend([6])
    return model


def test_state_from_call_to_call_is_one_long_sequence() -> None:
    net = load(recurrent())
    steps = np.random.default_rng(0).standard_normal((5, 1, 2)).astype(np.float32)
    whole = net.predict({"x": steps})
    state = net.new_state()
    parts = [net.predict({"x": step[None]}, state=state)["y"].reshape(-1) for step in steps]
    np.testing.assert_allclose(parts, whole["y"].reshape(5, 3), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(state.values["stateIn"], whole["stateOut"], rtol=1e-5, atol=1e-6)
    state.reset()
    again = net.predict([{"x": step[None]} for step in steps], state=state)
    np.testing.assert_allclose(again[-1]["stateOut"], whole["stateOut"], rtol=1e-5, atol=1e-6)


def test_a_network_without_state() -> None:
    with pytest.raises(UnsupportedError, match="no recurrent state"):
        pippin.load(EXAMPLES / "digits.mlmodel").new_state()


@needs_shared
def test_the_state_of_a_real_network() -> None:
    net = pippin.load(SHARED / "models/activity-badminton6.mlmodel")
    assert net.new_state().pairs == {"stateIn": "stateOut"}


# -- memory and interruption -----------------------------------------------------------------------------------------


def test_memory_is_estimated_and_limited() -> None:
    net = pippin.load(EXAMPLES / "digits.mlmodel")
    need = net.memory()
    assert need.weights == pytest.approx(4 * (8 * 9 + 8 + 16 * 72 + 16 + 2560 + 10), abs=200)
    assert 8 * 16 * 16 * 4 <= need.values <= 2 * 8 * 16 * 16 * 4 + 2048
    pippin.load(EXAMPLES / "digits.mlmodel", max_memory=need.total)
    with pytest.raises(UnsupportedError, match="max_memory allows 1,000"):
        pippin.load(EXAMPLES / "digits.mlmodel", max_memory=1000)


def endless() -> Any:
    model = network(
        [("copy", {}, ["x"], ["y"]), ("loop", {"maxLoopIterations": 2_000_000_000}, [], [])], {"x": [1]}, ["y"]
    )
    body = model.neuralNetwork.layers[1].loop.bodyNetwork
    add(body, [("activation", {"linear": {"alpha": 1, "beta": 1}}, ["y"], ["z"]), ("copy", {}, ["z"], ["y"])])
    return model


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise on Windows")
def test_ctrl_c_stops_a_run_at_once(tmp_path: Path) -> None:
    (tmp_path / "endless.mlmodel").write_bytes(endless().SerializeToString())
    code = (
        "import signal, pippin\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in jobs in the background
        f"net = pippin.load({str(tmp_path / 'endless.mlmodel')!r})\n"
        "print('ready', flush=True)\n"
        "try:\n    net.predict({'x': [0]})\n"
        "except KeyboardInterrupt:\n    print('stopped')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    try:
        out, _ = process.communicate(timeout=20)
    finally:
        process.kill()
    assert out == "stopped\n"
    assert time.perf_counter() - start < 10
