"""Custom layers: functions on arrays and lowerings, in networks of our own and in real files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import pippin
from pippin.cli import cli
from pippin.coreml import custom, schema
from pippin.coreml.custom import CustomLayer, Parameters
from pippin.errors import PippinError
from pippin.reference.coreml.interpreter import Interpreter
from shared import SHARED, needs_shared


def swish_array(inputs: list[Any], params: Parameters) -> list[Any]:
    return [x / (1 + np.exp(-params.parameters["beta"] * x)) for x in inputs]


def swish_graph(g: Any, params: Parameters, x: Any) -> Any:
    return g.Mul(x, g.Sigmoid(g.Mul(x, params.parameters["beta"])))


MODELS = SHARED / "models"
SWISH = {"array": swish_array, "graph": swish_graph, "graph, as stored": CustomLayer(swish_graph, layout="same")}


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Each test has the registrations of its own."""
    before = dict(custom._LAYERS)
    yield
    custom._LAYERS.clear()
    custom._LAYERS.update(before)


def network(build: Callable[[Any], None], shape: tuple[int, ...] = (2, 3), outputs: tuple[str, ...] = ("y",)) -> bytes:
    """A model with exact shapes, one input x, and the layers that ``build`` adds."""
    model = schema.message("Model")()
    model.specificationVersion = 4
    model.neuralNetwork.arrayInputShapeMapping = 1
    model.neuralNetwork.imageInputShapeMapping = 1
    entry = model.description.input.add(name="x").type.multiArrayType
    entry.shape.extend(shape)
    for size in shape:
        entry.shapeRange.sizeRanges.add(lowerBound=1, upperBound=-1 if len(shape) > 1 else size)
    entry.dataType = 65568
    for name in outputs:
        model.description.output.add(name=name).type.multiArrayType.dataType = 65568
    build(model.neuralNetwork)
    return bytes(model.SerializeToString())


def add(net: Any, kind: str, inputs: str, outputs: str, **fields: Any) -> Any:
    layer = net.layers.add(name=f"{kind}_{outputs.replace(' ', '_')}")
    layer.input.extend(inputs.split())
    layer.output.extend(outputs.split())
    params = getattr(layer, kind)
    params.SetInParent()
    for name, value in fields.items():
        setattr(params, name, value)
    return params


def chain(net: Any) -> None:
    """y = |2 f(f(x) + x)|, f the class Half."""
    add(net, "custom", "x", "a", className="Half")
    add(net, "addBroadcastable", "a x", "b")
    add(net, "custom", "b", "c", className="Half")
    add(net, "multiply", "c", "d", alpha=2.0)
    add(net, "unary", "d", "y", type=6)


X = np.array([[1, -2, 3], [4, 5, -6]], np.float32)


def test_functions_on_arrays_between_operators() -> None:
    model = pippin.load(network(chain), custom_layers={"Half": lambda inputs, params: [inputs[0] / 2]})
    np.testing.assert_allclose(model.predict({"x": X})["y"], np.abs(X * 1.5), rtol=1e-6)
    for shape in ((4, 3), (5, 3), (1, 7)):  # more shapes than are compiled before a symbolic plan is tried
        x = np.ones(shape, np.float32)
        np.testing.assert_allclose(model.predict({"x": x})["y"], 1.5 * x)


def test_registration_for_all_models_and_for_one() -> None:
    data = network(lambda net: add(net, "custom", "x", "y", className="Shift"))

    @pippin.custom_layer("Shift")
    def shift(inputs: list[Any], params: Parameters) -> Any:
        return inputs[0] + 1  # one output: an array will do

    assert pippin.load(data).predict({"x": X})["y"].tolist() == (X + 1).tolist()
    own = pippin.load(data, custom_layers={"Shift": lambda g, p, x: g.Add(x, 2.0)})
    assert own.predict({"x": X})["y"].tolist() == (X + 2).tolist()
    pippin.custom_layer("Shift")(lambda inputs, params: [inputs[0] + 3])
    assert pippin.load(data).predict({"x": X})["y"].tolist() == (X + 3).tolist()


def test_what_the_file_says_reaches_the_function() -> None:
    def build(net: Any) -> None:
        params = add(net, "custom", "x", "y z", className="Spy", description="words")
        params.parameters["n"].intValue = 3
        params.parameters["s"].stringValue = "text"
        params.parameters["b"].boolValue = True
        params.parameters["d"].doubleValue = 0.5
        params.weights.add().floatValue.extend([1.0, 2.0])
        params.weights.add().float16Value = np.array([0.5], "<f2").tobytes()
        params.weights.add().rawValue = b"\x01\xff"

    seen: list[Parameters] = []

    def spy(inputs: list[Any], params: Parameters) -> list[Any]:
        seen.append(params)
        return [inputs[0], inputs[0].sum(axis=0)]

    model = pippin.load(network(build, outputs=("y", "z")), custom_layers={"Spy": spy})
    answer = model.predict({"x": X})
    assert answer["z"].tolist() == X.sum(axis=0).tolist()
    p = seen[-1]
    assert (p.class_name, p.name, p.description, p.outputs) == ("Spy", "custom_y_z", "words", 2)
    assert p.parameters == {"n": 3, "s": "text", "b": True, "d": 0.5}
    assert [w.tolist() for w in p.weights] == [[1.0, 2.0], [0.5], [1, 255]]


def test_shapes_by_a_function_serve_unknown_sizes() -> None:
    calls = []

    def count(inputs: list[Any], params: Parameters) -> list[Any]:
        calls.append(inputs[0].shape)
        return [inputs[0].sum(axis=1)]

    layer = CustomLayer(count, shapes=lambda params, shapes: [shapes[0][:1]])
    model = pippin.load(
        network(lambda net: add(net, "custom", "x", "y", className="Sum")), custom_layers={"Sum": layer}
    )
    assert calls == []  # no call with zeros
    for rows in range(2, 9):
        assert model.predict({"x": np.ones((rows, 3))})["y"].tolist() == [3.0] * rows


def test_functions_cannot_change_what_others_read() -> None:
    def spoil(inputs: list[Any], params: Parameters) -> list[Any]:
        inputs[0][:] = 0
        return inputs

    layer = CustomLayer(spoil, shapes=lambda params, shapes: shapes)
    model = pippin.load(
        network(lambda net: add(net, "custom", "x", "y", className="Bad")), custom_layers={"Bad": layer}
    )
    with pytest.raises(pippin.RunError, match=r"\(custom\).*'Bad' raised ValueError: .*read-only"):
        model.predict({"x": X})


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda inputs, params: 1 / 0, "'Bad' raised ZeroDivisionError"),
        (lambda inputs, params: [], "must answer 1 arrays, got 0"),
        (lambda inputs, params: None, "raised TypeError"),
        (lambda g, params, x: 7, "must answer with values, got int"),
        (lambda g, params, x: g.Nonsense(x), "no operator 'Nonsense'"),
        (lambda g, params, x: g.Concat(x, [[1.0]], axis=0), "shapes do not fit Concat"),
    ],
)
def test_wrong_functions_are_our_errors(function: Any, message: str) -> None:
    data = network(lambda net: add(net, "custom", "x", "y", className="Bad"))
    with pytest.raises(pippin.PippinError, match=message) as caught:
        pippin.load(data, custom_layers={"Bad": function})
    assert "layer 'custom_y' (custom)" in str(caught.value)


def test_an_answer_of_another_shape_is_refused() -> None:
    function = CustomLayer(lambda inputs, params: [inputs[0][:1]], shapes=lambda params, shapes: shapes)
    model = pippin.load(
        network(lambda net: add(net, "custom", "x", "y", className="Bad")), custom_layers={"Bad": function}
    )
    with pytest.raises(
        pippin.RunError, match=r"\(custom\): the function must answer with the shape \[2, 3\], got \[1, 3\]"
    ):
        model.predict({"x": X})


def test_without_a_function_the_error_names_class_parameters_and_remedy() -> None:
    def build(net: Any) -> None:
        add(net, "custom", "x", "y", className="Warp").parameters["angle"].doubleValue = 0.25

    with pytest.raises(pippin.UnsupportedError, match=r"'Warp' \(parameters: angle=0.25\)\nhint: pippin.custom_layer"):
        pippin.load(network(build))


def test_a_timeout_holds_between_functions() -> None:
    import time

    def slow(inputs: list[Any], params: Parameters) -> list[Any]:
        time.sleep(0.05)
        return inputs

    layer = CustomLayer(slow, shapes=lambda params, shapes: shapes)
    model = pippin.load(network(chain), custom_layers={"Half": layer})
    with pytest.raises(pippin.errors.TimeoutError):
        model.predict({"x": X}, timeout=0.02)
    assert model.predict({"x": X}, timeout=10)["y"].shape == (2, 3)


def branching(net: Any) -> None:
    branch = add(net, "branch", "x", "")
    net.layers[-1].ClearField("output")
    for side in (branch.ifBranch, branch.elseBranch):
        add(side, "custom", "x", "y", className="Half")


def test_in_a_branch_a_lowering_runs_and_a_function_on_arrays_is_refused() -> None:
    data = network(branching, shape=(1,))
    model = pippin.load(data, custom_layers={"Half": lambda g, p, x: g.Div(x, 2.0)})
    assert model.predict({"x": [3.0]})["y"].tolist() == [1.5]
    with pytest.raises(pippin.UnsupportedError, match="branch or loop"):
        pippin.load(data, custom_layers={"Half": lambda inputs, params: [inputs[0] / 2]})


def test_the_reference_calls_the_same_functions() -> None:
    data = network(chain)
    half = {"Half": lambda inputs, params: [inputs[0] / 2]}
    model = pippin.load(data, custom_layers=half)
    blobs = Interpreter(model.document, custom=custom.twins(half)).run({"x": X})
    np.testing.assert_allclose(blobs["y"], model.predict({"x": X})["y"], rtol=1e-6)


# -- real files --------------------------------------------------------------------------------------------------------


def used(graph: Any) -> list[str]:
    """The operators on which an output depends, in order."""
    needed = {id(value) for value in graph.outputs}
    ops = []
    for node in reversed(graph.nodes):
        if any(id(value) in needed for value in node.outputs):
            needed |= {id(value) for value in node.inputs}
            ops.append(node.op)
    return ops[::-1]


@needs_shared
@pytest.mark.parametrize("how", SWISH)
def test_swish(how: str) -> None:
    model = pippin.load((MODELS / "swish-custom.mlmodel"), custom_layers={"Swish": SWISH[how]})
    picture = np.random.default_rng(1).integers(0, 256, (256, 256, 3), np.uint8)
    found = model.predict({"image": picture})["output"]
    wanted = pippin.load((MODELS / "swish-custom.mlmodel"), custom_layers={"Swish": swish_array}).predict(
        {"image": picture}
    )["output"]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert found.sum() == pytest.approx(1, abs=1e-5)
    if how == "graph, as stored":
        ops = used(model.graph())
        assert ops[ops.index("Conv") :][:4] == ["Conv", "Mul", "Sigmoid", "Mul"], "no reshapes around the layer"


STYLE = {
    "ResCropBlockLambda": lambda inputs, params: [inputs[0][..., 2:-2, 2:-2]],
    "RescaleOutputLambda": lambda inputs, params: [(inputs[0] + 1) * 127.5],
}
STYLE_GRAPH = {
    "ResCropBlockLambda": lambda g, params, x: g.Slice(x, [2, 2], [-2, -2], [-2, -1]),
    "RescaleOutputLambda": lambda g, params, x: g.Mul(g.Add(x, 1.0), 127.5),
}


@needs_shared
def test_style_transfer_with_six_custom_layers() -> None:
    path = MODELS / "style-vangogh-custom.mlmodel"
    picture = np.random.default_rng(2).integers(0, 256, (320, 320, 3), np.uint8)
    answers = [
        np.asarray(pippin.load(path, custom_layers=layers).predict({"image": picture})["output"], np.int64)
        for layers in (STYLE, STYLE_GRAPH)
    ]
    assert answers[0].shape[:2] == (320, 320)
    assert answers[0].std() > 10
    assert np.abs(answers[0] - answers[1]).max() <= 1


def stagewise(inputs: list[Any], params: Parameters) -> list[Any]:
    """Soft stagewise regression: a sum over three stages of expected bins of shifted width."""
    ages = 0.0
    scale = 1.0
    for stage in range(3):
        bins, delta, local = inputs[stage], inputs[3 + stage], inputs[6 + stage]
        size = params.parameters[f"s{stage + 1}"]
        scale = scale * size * (1 + params.parameters["lambda_d"] * delta)
        index = np.arange(bins.shape[2]).reshape(1, 1, -1, 1, 1) + params.parameters["lambda_local"] * local
        ages = ages + (bins * index).sum(axis=2, keepdims=True) / scale
    return [ages * 101]


@needs_shared
def test_nine_inputs_of_one_custom_layer() -> None:
    model = pippin.load((MODELS / "ssrnet-custom.mlmodel"), custom_layers={"SSR_module": stagewise})
    picture = np.random.default_rng(3).integers(0, 256, (64, 64, 3), np.uint8)
    answer = model.predict({"image": picture})["output"]
    assert answer.shape == (1,)
    assert np.isfinite(answer).all()


def lstsq(inputs: list[Any], params: Parameters) -> list[Any]:
    """Least squares for each of a batch of systems, as torch.linalg.lstsq answers."""
    a, b = np.swapaxes(inputs[0], -1, -2), inputs[1]  # the file transposes for a library that reads by columns
    b = b[..., None] if b.ndim == a.ndim - 1 else b
    lead = a.shape[:-2]
    pairs = list(zip(a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:]), strict=True))
    found = [np.linalg.lstsq(m, v, rcond=None) for m, v in pairs]
    solution = np.stack([x for x, *_ in found]).reshape(*lead, a.shape[-1], b.shape[-1])
    rank = np.array([r for _, _, r, _ in found]).reshape(lead)
    singular = np.stack([s for *_, s in found]).reshape(*lead, -1)
    return [solution[..., 0], np.zeros(1), rank, singular]


@needs_shared
def test_least_squares_against_published_numbers() -> None:
    model = pippin.load((MODELS / "lstsq-range.mlmodel"), custom_layers={"dneprDroid_lstsq": lstsq})
    read = {
        name: np.asarray(json.loads((MODELS / f"inputs/lstsq/example_{name}.json").read_text()))
        for name in ("input_a", "input_b", "output_solution", "output_rank", "output_singular_values")
    }
    answer = model.predict({"a": read["input_a"], "b": read["input_b"]})
    for name in ("rank", "singular_values", "solution"):
        wanted = read[f"output_{name}"]
        np.testing.assert_allclose(answer[name].reshape(wanted.shape), wanted, rtol=1e-3, atol=1e-4)


def grid_sample(inputs: list[Any], params: Parameters) -> list[Any]:
    """Bilinear samples of [1,C,H,W] at the points [1,2,H,W] (x, y), which run from -1 to 1 over the corner pixels."""
    picture, points = inputs
    sizes = np.array(picture.shape[:1:-1])
    at = np.clip((points[0].reshape(2, -1).T + 1) / 2 * (sizes - 1), 0, sizes - 1)
    low = np.minimum(at.astype(int), sizes - 2)
    share = at - low
    result = 0.0
    for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)):
        weight = np.abs(1 - dx - share[:, 0]) * np.abs(1 - dy - share[:, 1])
        result = result + weight * picture[0][:, low[:, 1] + dy, low[:, 0] + dx]
    return [result.reshape(1, -1, *points.shape[2:])]


@needs_shared
def test_a_picture_is_warped() -> None:
    model = pippin.load(MODELS / "gridsample-custom.mlmodel", custom_layers={"GridSampleLayer": grid_sample})
    picture = np.random.default_rng(4).integers(0, 256, (512, 512, 3), np.uint8)
    # nearest-neighbour upsampling of the grid doubles every point: each picture row and column is met twice
    centres = np.linspace(0, 510, 256) / 511 * 2 - 1
    grid = np.stack(np.meshgrid(centres, centres[::-1]), axis=-1)[None].astype(np.float32)
    answer = np.asarray(model.predict({"image_input": picture, "warp_grid": grid})["output"])
    wanted = picture[::2, ::2][::-1].repeat(2, 0).repeat(2, 1)
    assert np.abs(answer.astype(int) - wanted).max() <= 1


@needs_shared
def test_a_network_whose_layers_are_not_joined_says_so() -> None:
    functions = {"dropout": lambda inputs, params: inputs, "reshape": lambda inputs, params: inputs}
    model = pippin.load(MODELS / "kraken-bilstm.mlmodel", custom_layers=functions)
    with pytest.raises(PippinError, match=r"'L_3' .biDirectionalLSTM.: the input must be"):
        model.predict({"input": np.zeros((1, 1, 10, 32))})


# -- on the command line -----------------------------------------------------------------------------------------------

FILE = """
import helper
import pippin

@pippin.custom_layer("OfTheCommandLine", layout="same")
def swish(g, params, x):
    return g.Mul(x, g.Sigmoid(x))
"""


@pytest.fixture
def unknown(tmp_path: Path) -> Path:
    """A model with a custom layer, and a file that registers a function for it."""

    def build(net: Any) -> None:
        add(net, "custom", "x", "y", className="OfTheCommandLine")

    path = tmp_path / "m.mlmodel"
    path.write_bytes(network(build))
    (tmp_path / "layers.py").write_text(FILE)
    (tmp_path / "helper.py").write_text("")
    return path


def test_option_custom_layers(unknown: Path) -> None:
    done = CliRunner().invoke(cli, ["run", str(unknown), "x=[[1,2,3],[0,0,0]]", "--json"])
    assert isinstance(done.exception, PippinError)
    assert "--custom-layers FILE.py" in done.exception.hint
    more = ["--custom-layers", str(unknown.parent / "layers.py")]
    done = CliRunner().invoke(cli, ["run", str(unknown), "x=[[1,2,3],[0,0,0]]", "--json", *more])
    assert done.exit_code == 0, done.output
    x = np.array([[1, 2, 3], [0, 0, 0]])
    np.testing.assert_allclose(json.loads(done.stdout)["outputs"]["y"], x / (1 + np.exp(-x)), rtol=1e-6)
    target = str(unknown.parent / "m.onnx")
    assert CliRunner().invoke(cli, ["convert", str(unknown), target, *more, "--verify", "none"]).exit_code == 0
    for words in (["inspect"], ["profile", "--runs", "1", "--no-fresh"], ["edit", "--prune", "all", "--dry-run"]):
        done = CliRunner().invoke(cli, [words[0], str(unknown), *words[1:], *more])
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(cli, ["compare", str(unknown), target, *more])
    assert done.exit_code == 0, done.output
    for name in ("run", "inspect", "convert", "compare", "dump", "profile", "edit", "train"):
        assert "--custom-layers FILE.py" in CliRunner().invoke(cli, [name, "--help"]).output


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.py", "x = 1", "registers nothing"),
        ("a.py", "x = ", "raised SyntaxError"),
        ("a.py", "raise SystemExit(3)", "raised SystemExit"),
        ("a.py", None, "No such file"),
        ("a.txt", "", "is no Python file"),
    ],
)
def test_option_custom_layers_refuses(unknown: Path, name: str, content: str | None, text: str) -> None:
    path = unknown.parent / name
    if content is not None:
        path.write_text(content)
    done = CliRunner().invoke(cli, ["inspect", str(unknown), "--custom-layers", str(path)])
    assert done.exit_code == 2
    assert text in done.output
