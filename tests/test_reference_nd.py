"""The reference by itself: twins of the N-D layers against known answers, control flow, limits, input mapping."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cases import Case
from cases.coreml import binary_nd, fill_nd, shape_nd, slice_nd, unary_nd
from cases.coreml.control_flow import NETWORKS, Net, Network
from pippin.coreml import schema
from pippin.coreml.read import Document, read
from pippin.errors import CheckError, InputError, PippinError, RunError, TimeoutError, UnsupportedError
from pippin.reference.coreml.blobs import image_to_blob, preprocess, to_blob
from pippin.reference.coreml.interpreter import CONTROL, Interpreter
from pippin.reference.coreml.registry import load_twins
from shared import SHARED, needs_shared

FAMILIES: tuple[ModuleType, ...] = (unary_nd, binary_nd, fill_nd, shape_nd, slice_nd)
ROWS: list[Case] = [row for family in FAMILIES for row in family.CASES]
RUNS = [row for row in ROWS if row.refuses is None or row.expect is not None]
REFUSALS = [row for row in ROWS if row.refuses is not None and row.expect is None]
"""A row with a refusal and an answer is one that the engine refuses and the reference runs."""

OTHERS = {"gather", "scatter", "gatherND", "scatterND", "gatherAlongAxis", "scatterAlongAxis", "topK"} | {
    "argMin",
    "argMax",
    "embeddingND",
    "batchedMatmul",
}
"""Kinds between copy and constantPad whose rows stand elsewhere."""


def _kinds() -> list[str]:
    fields = schema.message("NeuralNetworkLayer").DESCRIPTOR.oneofs_by_name["layer"].fields
    between = [field.name for field in fields if 600 <= field.number <= 1155 and field.name not in OTHERS]
    return [*between, "clampedReLU", "sliceBySize"]


def outputs(row: Case) -> list[np.ndarray]:
    blobs = {f"x{index}": array for index, array in enumerate(row.arrays())}
    found = Interpreter(row.model().neuralNetwork).run(blobs)
    return [found[name] for name in row.layer().output]


@pytest.mark.parametrize("row", RUNS, ids=lambda row: row.id)
def test_row(row: Case) -> None:
    values = outputs(row)
    assert all(value.dtype == np.float64 for value in values)
    if row.expect is None:
        return
    for value, known in zip(values, row.expect, strict=True):
        assert value.shape == np.shape(known)
        np.testing.assert_allclose(value, known, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.id)
def test_refusal(row: Case) -> None:
    with pytest.raises(CheckError) as caught:
        outputs(row)
    assert row.refuses is not None
    assert row.refuses in caught.value.message
    assert caught.value.where == f"layer 'layer' ({row.kind})"


@pytest.mark.parametrize("kind", _kinds())
def test_every_kind_has_a_twin_rows_a_known_answer_and_a_refusal(kind: str) -> None:
    if kind in CONTROL:
        assert any(_mentions(network, kind) for network in NETWORKS if network.refuses is None)
        assert any(network.kind == kind for network in NETWORKS if network.refuses is not None)
        return
    assert kind in load_twins()
    assert [row for row in RUNS if row.kind == kind and row.expect is not None]
    assert [row for row in REFUSALS if row.kind == kind]


def _mentions(network: Network, kind: str) -> bool:
    return f" {kind} {{" in str(network.model())


def test_rows_are_unique() -> None:
    ids = [row.id for row in ROWS] + [network.note for network in NETWORKS]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("network", [n for n in NETWORKS if n.refuses is None], ids=lambda n: n.note)
def test_control_flow(network: Network) -> None:
    blobs = Interpreter(network.model().neuralNetwork).run(network.arrays())
    for name, known in network.expect.items():
        assert blobs[name].shape == np.shape(known)
        np.testing.assert_allclose(blobs[name], known, rtol=1e-5)


@pytest.mark.parametrize("network", [n for n in NETWORKS if n.refuses is not None], ids=lambda n: n.note)
def test_control_flow_refusal(network: Network) -> None:
    with pytest.raises(CheckError) as caught:
        Interpreter(network.model().neuralNetwork).run(network.arrays())
    assert network.refuses is not None
    assert network.refuses in caught.value.message
    assert caught.value.where.endswith(f"({network.kind})")


def network_of(build: Any) -> Any:
    message = schema.message("NeuralNetwork")()
    build(Net(message))
    return message


def endless(net: Net) -> None:
    net.copy("y", "x")
    condition, body = net.loop(condition="true")
    condition.constant("true", 1)
    inner_condition, inner = body.loop(condition="true inside")
    inner_condition.constant("true inside", 1)
    inner.copy("y", "x")


def test_an_endless_loop_ends() -> None:
    with pytest.raises(RunError, match="more than 1,000 iterations") as caught:
        Interpreter(network_of(endless), max_iterations=1000).run({"x": [1.0]})
    assert caught.value.where == "layer 'loop' (loop): layer 'loop' (loop)"


def test_a_huge_count_ends() -> None:
    def build(net: Net) -> None:
        _, body = net.loop("n")
        body.copy("y", "n")

    for count in (1e30, np.inf):
        with pytest.raises(RunError, match="iterations"):
            Interpreter(network_of(build), max_iterations=100).run({"n": [count]})
    with pytest.raises(RunError, match="not a number"):
        Interpreter(network_of(build)).run({"n": [np.nan]})


def test_the_limit_counts_all_loops_together() -> None:
    row = next(network for network in NETWORKS if network.note == "loop in a loop")
    Interpreter(row.model().neuralNetwork, max_iterations=15).run(row.arrays())
    with pytest.raises(RunError, match="iterations"):
        Interpreter(row.model().neuralNetwork, max_iterations=14).run(row.arrays())


def test_the_time_limit() -> None:
    with pytest.raises(TimeoutError, match="time limit"):
        Interpreter(network_of(endless)).run({"x": [1.0]}, timeout=0.02)


def test_growth_is_bounded() -> None:
    def build(net: Net) -> None:
        net.copy("y", "x")
        _, body = net.loop(most=60)
        body.op("longer", "concatND", "y", "y")
        body.copy("y", "longer")

    with pytest.raises(RunError, match="numbers; 100,000 is the most"):
        Interpreter(network_of(build), max_elements=100_000).run({"x": [1.0]})


@pytest.mark.parametrize(
    ("kind", "params", "shapes"),
    [
        ("fillStatic", {"targetShape": [1 << 40, 1 << 40]}, ()),
        ("fillStatic", {"targetShape": [0, 1 << 62]}, ()),
        ("fillDynamic", {}, ([1e20],)),
        ("rangeStatic", {"endValue": 1e30, "stepSizeValue": 1e-30}, ()),
        ("tile", {"reps": [1 << 62]}, ([1.0, 2.0],)),
        ("tile", {"reps": [1 << 31, 0]}, (np.zeros((2, 3)),)),
        ("broadcastToStatic", {"targetShape": [1 << 62]}, ([1.0],)),
        ("broadcastToDynamic", {}, ([1.0], [1e9, 1e9])),
        ("constantPad", {"padAmounts": [1 << 63, 0]}, ([1.0],)),
        ("loadConstantND", {"shape": [1 << 62]}, ()),
        ("addBroadcastable", {}, (np.zeros((1 << 15, 1)), np.zeros((1, 1 << 15)))),
    ],
)
def test_a_small_file_cannot_ask_for_a_huge_tensor(kind: str, params: dict[str, Any], shapes: tuple[Any, ...]) -> None:
    with pytest.raises(PippinError, match="elements"):
        outputs(Case(kind, "huge", params, tuple(np.asarray(shape, np.float32) for shape in shapes)))


def test_values_that_are_no_sizes() -> None:
    for bad in (np.nan, np.inf, -3):
        with pytest.raises(PippinError, match=r"layer 'layer' \(fillDynamic\)"):
            outputs(Case("fillDynamic", "bad", {}, ([bad],)))
    with pytest.raises(CheckError, match="seq_lengths"):
        outputs(Case("reverseSeq", "bad", {"sequenceAxis": 1}, ((2, 3), [4, 0])))
    with pytest.raises(CheckError, match="begin"):
        outputs(Case("sliceBySize", "bad", {"size": 2}, ((3,), [2])))
    with pytest.raises(CheckError, match="begin"):
        outputs(Case("sliceBySize", "bad", {"size": 2}, ((3,), [np.nan])))


def test_a_blob_that_no_layer_has_written() -> None:
    def build(net: Net) -> None:
        _, body = net.loop("n")
        body.copy("inside", "n")
        net.copy("y", "inside")

    interpreter = Interpreter(network_of(build))
    assert interpreter.run({"n": [2.0]})["y"] == 2
    with pytest.raises(RunError, match="'inside' has no value here") as caught:
        interpreter.run({"n": [0.0]})
    assert caught.value.where == "layer 'copy y' (copy)"


def test_a_layer_without_a_kind_and_a_wrong_number_of_outputs() -> None:
    message = schema.message("NeuralNetwork")()
    message.layers.add(name="empty")
    with pytest.raises(CheckError, match=r"layer 'empty' \(no kind\): must have a kind"):
        Interpreter(message).run({})
    with pytest.raises(CheckError, match="must have 1 output, got 2"):
        Interpreter(network_of(lambda net: net.layer("sin", ["x"], ["a", "b"]))).run({"x": [1.0]})


def test_a_kind_without_a_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pippin.reference.coreml.interpreter._twins", dict)
    with pytest.raises(UnsupportedError, match="no reference twin"):
        Interpreter(network_of(lambda net: net.op("y", "sin", "x"))).run({"x": [1.0]})


def test_a_fault_of_a_twin_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(context: Any, params: Any, x: Any) -> Any:
        raise ValueError("operands could not be broadcast")

    monkeypatch.setattr("pippin.reference.coreml.interpreter._twins", lambda: {"sin": broken})
    with pytest.raises(RunError, match=r"layer 'sin y' \(sin\): the reference failed: operands"):
        Interpreter(network_of(lambda net: net.op("y", "sin", "x"))).run({"x": [1.0]})


def test_inputs_are_not_touched_and_may_be_of_any_dtype() -> None:
    values = np.array([1, 2, 3])
    blobs = Interpreter(network_of(lambda net: (net.copy("y", "x"), net.copy("x", "z")))).run({"x": values, "z": [9]})
    assert values.tolist() == [1, 2, 3]
    assert blobs["y"].tolist() == [1, 2, 3]
    assert blobs["x"].tolist() == [9]


def test_keep_lets_the_others_go() -> None:
    row = next(network for network in NETWORKS if network.note.startswith("loop, blobs of the body"))
    blobs = Interpreter(row.model().neuralNetwork, max_elements=12).run(row.arrays(), keep=["z", "seen", "absent"])
    assert {name: value.tolist() for name, value in blobs.items()} == {"z": [9], "seen": [8]}

    def chain(net: Net) -> None:
        for index in range(20):
            net.op(f"x{index + 1}", "sin", f"x{index}")

    interpreter = Interpreter(network_of(chain), max_elements=25)
    assert list(interpreter.run({"x0": np.zeros(10)}, keep=["x20"])) == ["x20"]
    with pytest.raises(RunError, match="numbers"):
        interpreter.run({"x0": np.zeros(10)})


def test_weights_of_a_file() -> None:
    row = next(row for row in RUNS if row.kind == "loadConstantND" and row.note == "linear, 4 bits")
    document = read(row.model().SerializeToString())
    assert isinstance(document, Document)
    assert document.views
    assert Interpreter(document).run({})["y0"].tolist() == [[-1, -0.5], [2.5, 6.5]]


@pytest.mark.parametrize(
    ("shape", "declared", "mapping", "blob"),
    [
        ((3,), 1, 0, (1, 1, 3, 1, 1)),
        ((2, 3), 1, 0, (1, 2, 3, 1, 1)),
        ((4, 2, 3), 1, 0, (4, 2, 3, 1, 1)),
        ((3, 4, 5), 3, 0, (1, 1, 3, 4, 5)),
        ((2, 3, 4, 5), 3, 0, (1, 2, 3, 4, 5)),
        ((6, 2, 3, 4, 5), 3, 0, (6, 2, 3, 4, 5)),
        ((6, 2, 3, 1, 1), 1, 0, (6, 2, 3, 1, 1)),
        ((2, 3), 2, 1, (2, 3)),
        ((3, 4, 5), 3, 1, (3, 4, 5)),
    ],
)
def test_mapping_of_arrays(shape: tuple[int, ...], declared: int, mapping: int, blob: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape)).reshape(shape)
    result = to_blob(values, declared, mapping)
    assert result.shape == blob
    assert result.dtype == np.float64
    assert result.ravel().tolist() == values.ravel().tolist()


@pytest.mark.parametrize(("shape", "declared"), [((2, 3), 3), ((2, 3, 4, 5), 1), ((3,), 2), ((), 1)])
def test_mapping_of_arrays_refuses(shape: tuple[int, ...], declared: int) -> None:
    with pytest.raises(InputError, match="legacy mapping"):
        to_blob(np.zeros(shape), declared, 0)


def test_mapping_of_images() -> None:
    image = np.zeros((3, 4, 5))
    assert image_to_blob(image, 0).shape == (1, 1, 3, 4, 5)
    assert image_to_blob(image, 1).shape == (1, 3, 4, 5)
    assert image_to_blob(image[None].repeat(2, 0), 0).shape == (1, 2, 3, 4, 5)
    assert image_to_blob(image[None].repeat(2, 0), 1).shape == (2, 3, 4, 5)
    with pytest.raises(InputError, match="image"):
        image_to_blob(image[0], 0)


def test_preprocessing() -> None:
    network = schema.message("NeuralNetwork")()
    step = network.preprocessing.add(featureName="picture")
    scaler = step.scaler
    scaler.channelScale, scaler.redBias, scaler.greenBias, scaler.blueBias, scaler.grayBias = 2, 10, 20, 30, 40
    ones = np.ones((3, 1, 2))
    assert preprocess(network, "picture", ones, "RGB")[:, 0, 0].tolist() == [12, 22, 32]
    assert preprocess(network, "picture", ones, "BGR")[:, 0, 0].tolist() == [32, 22, 12]
    assert preprocess(network, "picture", ones[:1], "GRAYSCALE")[:, 0, 1].tolist() == [42]
    assert preprocess(network, "other", ones, "RGB").tolist() == ones.tolist()
    network.preprocessing.add(featureName="picture").meanImage.meanImage.extend([0, 1, 2, 3, 4, 5])
    wanted = [[[12, 11]], [[20, 19]], [[28, 27]]]
    assert preprocess(network, "picture", ones, "RGB").tolist() == wanted
    assert preprocess(network, "picture", np.stack([ones, ones]), "RGB").tolist() == [wanted, wanted]
    with pytest.raises(CheckError, match="preprocessing of 'picture': meanImage must hold 12 values"):
        preprocess(network, "picture", np.ones((3, 2, 2)), "RGB")


@needs_shared
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_real_network_with_loop_and_branch() -> None:
    path = SHARED / "models" / "controlflow-loop-branch.mlmodel"
    if not path.is_file() or not {"reduceMean", "convolution", "activation", "add"} <= set(load_twins()):
        pytest.skip("the file or a twin that it needs is not here")
    interpreter = Interpreter(read(path))
    image = np.random.default_rng(0).standard_normal((1, 3, 64, 64))
    low = interpreter.run({"x.1": image - 1})
    high = interpreter.run({"x.1": image + 1})
    assert low["x:2"].shape == high["x:2"].shape == (1, 3, 64, 64)
    assert low["x:0"] == low["loop_count"]
    assert high["x:0"] == high["loop_count"] != low["x:0"]
