"""Where ONNX Runtime's operators bite, and that the way around holds. Each test goes through the package's own code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases import Case, linear
from pippin.coreml.lower import lower
from pippin.coreml.weights import Weights
from pippin.errors import CheckError, RunError
from pippin.graph.builder import Builder
from pippin.graph.composites.int8 import int8_matmul, quantize_symmetric
from pippin.graph.composites.recurrent import Activation, Cell, gru, lstm
from pippin.graph.composites.scatter import MODES, scatter_axis, scatter_elements, scatter_nd
from pippin.graph.ir import Value
from pippin.graph.write import write
from pippin.runtime.session import Session


def run(build: Callable[..., Any], *arrays: np.ndarray, threads: int = 2, symbolic: bool = False) -> list[np.ndarray]:
    """The results of ``build(g, *values)`` on ``arrays``."""
    g = Builder()
    values = []
    for index, array in enumerate(arrays):
        shape = [f"d{index}_{axis}" for axis in range(array.ndim)] if symbolic else array.shape
        values.append(g.input(f"x{index}", array.dtype, shape))
    results = build(g, *values)
    for index, value in enumerate(results if isinstance(results, tuple) else (results,)):
        g.output(value, f"y{index}")
    session = Session(write(g.graph), threads=threads)
    return session.run({f"x{index}": array for index, array in enumerate(arrays)})


def layer(kind: str, params: dict[str, Any], *arrays: Any, outputs: int = 1, symbolic: bool = False) -> list[Any]:
    """The results of a network of one layer."""
    case = Case(kind, "", params, tuple(np.asarray(array, np.float32) for array in arrays), outputs)
    given = {f"x{index}": array for index, array in enumerate(case.arrays())}
    shapes = {name: [f"{name}_{i}" for i in range(a.ndim)] if symbolic else a.shape for name, a in given.items()}
    g, lowerer = lower(case.model().neuralNetwork, Weights(), shapes, rank5=False)
    for name in case.layer().output:
        g.output(g.float(lowerer.blobs[name].nd(g)), name)
    return Session(write(g.graph), threads=1).run(given)


# -- scatter: ScatterND races where indices repeat; there are no reductions for sub and div ---------------------------


def test_adding_at_repeated_points_is_right_with_two_threads() -> None:
    generator = np.random.default_rng(0)
    data = np.zeros((7, 256), np.float32)
    indices = generator.integers(0, 7, (2000, 1))
    updates = generator.integers(0, 8, (2000, 256)).astype(np.float32)
    wanted = data.copy()
    np.add.at(wanted, indices[:, 0], updates)
    for _ in range(5):
        (result,) = run(lambda g, x, i, u: scatter_nd(g, x, i, u, "add"), data, indices, updates)
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("depth", [1, 2])
def test_the_last_of_many_updates_of_one_place_stays(depth: int) -> None:
    count = 300_000
    data = np.zeros((10,) * depth, np.float32)
    indices = np.random.default_rng(1).integers(0, 10, (count, depth))
    updates = np.arange(count, dtype=np.float32)
    wanted = np.zeros_like(data)
    for place, value in zip(map(tuple, indices[-5000:]), updates[-5000:], strict=True):
        wanted[place] = value
    for _ in range(3):
        (result,) = run(lambda g, x, i, u: scatter_nd(g, x, i, u, "update"), data, indices, updates)
        np.testing.assert_array_equal(result, wanted)


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "update": lambda _, u: u,
    "add": lambda x, u: x + u,
    "sub": lambda x, u: x - u,
    "mul": lambda x, u: x * u,
    "div": lambda x, u: x / u,
    "max": max,
    "min": min,
}


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_goes_one_update_after_the_other(mode: str, symbolic: bool) -> None:
    data = np.array([12, 24, 36], np.float32)
    indices, updates = np.array([0, 2, -3, 2]), np.array([2, 3, 4, 6], np.float32)
    wanted = data.copy()
    for place, value in zip(indices, updates, strict=True):
        wanted[place] = STEPS[mode](wanted[place], value)
    forms = {
        "axis": lambda g, x, i, u: scatter_axis(g, x, i, u, 0, mode),
        "elements": lambda g, x, i, u: scatter_elements(g, x, i, u, 0, mode),
        "nd": lambda g, x, i, u: scatter_nd(g, x, g.reshape(i, [*g.sizes(i), 1]), u, mode),
    }
    for name, form in forms.items():
        (result,) = run(form, data, indices, updates, symbolic=symbolic)
        np.testing.assert_allclose(result, wanted, rtol=1e-6, err_msg=name)


def test_a_point_beyond_one_axis_fails_and_is_no_other_point() -> None:
    # (0, 3) of a 2 x 3 tensor would be (1, 0) if the points were only numbered
    with pytest.raises(RunError, match="scatterND"):
        layer("scatterND", {}, np.zeros((2, 3)), [[0, 3]], [1])


# -- int8: u8·s8 saturates, QuantizeLinear rounds half to even and fails at a scale of 0, Cast wraps ------------------


def test_the_largest_products_do_not_saturate() -> None:
    weights = np.full((4096, 3), -128, np.int8)
    x = np.full((2, 4096), -127, np.float32)
    (result,) = run(lambda g, v: int8_matmul(g, v, weights, 1.0), x)
    np.testing.assert_array_equal(result, np.full((2, 3), 127 * 128 * 4096, np.float32))


def test_levels_round_half_away_from_zero() -> None:
    x = np.array([127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49], np.float32)
    levels, scale = run(quantize_symmetric, x)
    assert levels.tolist() == [127, 1, 2, 3, -1, -2, -3, 0]
    assert scale == 1


@pytest.mark.parametrize("symbolic", [False, True])
def test_zeros_and_nothing_at_all_quantise_to_zeros(symbolic: bool) -> None:
    weights = np.ones((3, 2), np.int8)
    for shape in ((2, 3), (0, 3)):
        (result,) = run(lambda g, v: int8_matmul(g, v, weights, 0.5), np.zeros(shape, np.float32), symbolic=symbolic)
        np.testing.assert_array_equal(result, np.zeros((shape[0], 2), np.float32))


def test_a_tiny_scale_does_not_lead_beyond_the_last_level() -> None:
    # the largest value is 190 steps of the smallest float: its 127th part is rounded to one step
    x = np.array([190, -190, 3], np.float32) * np.finfo(np.float32).smallest_subnormal
    levels, _ = run(quantize_symmetric, x)
    assert levels.tolist() == [127, -127, 3]


def test_the_int8_layer_answers_as_integers_do() -> None:
    stored = np.random.default_rng(2).integers(-128, 128, (5, 64)).astype(np.int8)
    weights = {"int8RawValue": stored.tobytes(), "quantization": linear([], 8, 0.25)["quantization"]}
    params = {
        "weightMatrixFirstDimension": 64,
        "weightMatrixSecondDimension": 5,
        "weights": weights,
        "int8DynamicQuantize": True,
    }
    x = np.random.default_rng(3).integers(-127, 128, (4, 64)).astype(np.float32)
    x[0, 0] = 127
    (result,) = layer("batchedMatmul", params, x)
    np.testing.assert_array_equal(result, 0.25 * (x @ stored.T.astype(np.float32)))


# -- indices: Cast makes some integer of nan ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "more"),
    [("gather", ()), ("gatherND", ()), ("gatherAlongAxis", ()), ("scatter", (1,)), ("scatterAlongAxis", (1,))],
)
@pytest.mark.parametrize("index", [np.nan, np.inf, 1e30, 3, -4])
def test_an_index_that_is_none_fails_with_the_layers_name(kind: str, more: tuple[int, ...], index: float) -> None:
    with pytest.raises(RunError, match=kind):
        layer(kind, {}, np.zeros(3), [index], *([value] for value in more))


def test_one_hot_is_off_for_what_is_no_index() -> None:
    (result,) = layer("oneHot", {"oneHotVectorSize": 3, "axis": -1, "onValue": 1}, [-1, 2, 3, np.nan, 1e30])
    np.testing.assert_array_equal(result, [[0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]])


# -- NonMaxSuppression: drops score == threshold, refuses overlaps outside of [0, 1] ----------------------------------

BOXES = [[[1, 1, 2, 2], [1, 1, 2, 2], [9, 9, 2, 2]]]


@pytest.mark.parametrize("threshold", [0.3, 0.0, -0.5, 1e-45, 7e9])
@pytest.mark.parametrize("given", [False, True], ids=["by parameter", "by input"])
def test_a_score_that_equals_its_threshold_stays_and_the_next_lower_one_goes(threshold: float, given: bool) -> None:
    value = np.float32(threshold)
    scores = [[[value], [value], [np.nextafter(value, np.float32(-np.inf))]]]
    params = {"iouThreshold": 1.0, "maxBoxes": 3} | ({} if given else {"scoreThreshold": value})
    more = ([1.0], [value]) if given else ()
    *_, indices, number = layer("NonMaximumSuppression", params, BOXES, scores, *more, outputs=4)
    assert (indices.tolist(), number.tolist()) == ([[0, 1, -1]], [2])


@pytest.mark.parametrize("given", [False, True], ids=["by parameter", "by input"])
@pytest.mark.parametrize(("overlap", "kept"), [(-0.5, [0, 2, -1]), (1.5, [0, 1, 2])])
def test_overlaps_outside_of_their_range_are_met_at_its_ends(overlap: float, kept: list[int], given: bool) -> None:
    params = {"maxBoxes": 3} | ({} if given else {"iouThreshold": overlap})
    more = ([overlap],) if given else ()
    *_, indices, _ = layer("NonMaximumSuppression", params, BOXES, [[[0.9], [0.8], [0.7]]], *more, outputs=4)
    assert indices.tolist() == [kept]


def test_equal_boxes_of_two_classes_stay_per_class() -> None:
    params = {"iouThreshold": 0.5, "maxBoxes": 3, "perClassSuppression": True}
    scores = [[[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]]
    *_, indices, _ = layer("NonMaximumSuppression", params, BOXES, scores, outputs=4)
    assert indices.tolist() == [[0, 1, 2]]


# -- sorting, reductions, normalisation -------------------------------------------------------------------------------


@pytest.mark.parametrize("descending", [False, True])
def test_equal_values_keep_their_order_in_long_vectors(descending: bool) -> None:
    x = np.random.default_rng(4).integers(0, 20, 5000).astype(np.float32)
    (order,) = layer("argSort", {"descending": descending}, x)
    np.testing.assert_array_equal(order, np.argsort(-x if descending else x, kind="stable"))
    _, top = layer("topK", {"K": 3000, "useBottomK": not descending}, x, outputs=2)
    np.testing.assert_array_equal(top, order[:3000])
    (best,) = layer("argMax", {}, x)
    assert best.tolist() == [np.argmax(x)]


@pytest.mark.parametrize("kind", ["argMax", "argMin", "reduceMean", "reduceMax", "reduceMin"])
def test_nothing_has_no_extreme_and_no_mean(kind: str) -> None:
    axis = {"axis": 1} if kind.startswith("arg") else {"axes": [1]}
    with pytest.raises(CheckError, match=kind):
        layer(kind, axis, np.zeros((2, 0)))


def test_layer_normalisation_far_from_zero_keeps_three_digits() -> None:
    x = np.random.default_rng(5).standard_normal((4, 64)) + 1000
    x = x.astype(np.float32).astype(np.float64)
    wanted = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
    params = {"normalizedShape": [64], "gamma": np.ones(64), "beta": np.zeros(64)}
    (result,) = layer("layerNormalization", params, x)
    np.testing.assert_allclose(result, wanted, atol=5e-4)


# -- random numbers: operators that repeat themselves, or end the process ---------------------------------------------


def test_no_deviation_and_no_range_need_no_drawing() -> None:
    for kind, params, value in (
        ("randomNormalLike", {"mean": 2.5}, 2.5),
        ("randomUniformLike", {"minVal": -1, "maxVal": -1}, -1),
        ("randomBernoulliLike", {"prob": 1}, 1),
    ):
        for symbolic in (False, True):
            (result,) = layer(kind, params, np.zeros((3, 4)), symbolic=symbolic)
            np.testing.assert_array_equal(result, np.full((3, 4), value))


def test_bernoulli_of_one_half_gives_both_for_every_seed() -> None:
    for seed in range(20):
        (result,) = layer("randomBernoulliLike", {"seed": seed, "prob": 0.5}, np.zeros(200))
        assert 60 < result.sum() < 140


def test_class_numbers_are_drawn_at_any_rank() -> None:
    (result,) = layer("categoricalDistribution", {"numSamples": 3, "isLogits": True}, np.zeros((2, 1, 2, 5)))
    assert result.shape == (2, 1, 2, 3)
    assert set(result.ravel()) <= set(range(5))


# -- bodies: a constant or an outer value returned directly is refused ------------------------------------------------


@pytest.mark.parametrize("what", ["constant", "outer value", "own input", "one value twice"])
def test_a_body_may_return_anything(what: str) -> None:
    def build(g: Builder, x: Value) -> Value:
        body = g.subgraph("body")
        body.input("iteration", np.int64, ())
        going = body.input("condition", np.bool_, ())
        carried = body.input("carried", np.float32, (2,))
        made = body.Add(carried, 1.0)
        value = {"constant": body.constant([1, 1], "float32"), "outer value": x, "own input": carried}.get(what, made)
        body.output(going)
        body.output(made)
        body.output(value)
        types = [(np.dtype(np.float32), (2,)), (np.dtype(np.float32), (3, 2))]
        inputs = [g.constant(3, "int64"), g.constant(True), x]
        return g.append("Loop", inputs, {"body": body.graph}, types)

    _, rows = run(build, np.array([1, 1], np.float32))
    first = {"own input": 1, "one value twice": 2}.get(what)
    np.testing.assert_array_equal(rows[:, 0], [1, 1, 1] if first is None else [first, first + 1, first + 2])


# -- recurrent operators over nothing --------------------------------------------------------------------------------

_EMPTY = """
import sys
import numpy as np
sys.path.insert(0, {tests!r})
from pippin.errors import PippinError
from test_ort_traps import recurrent, run
try:
    answer = run(lambda g, x: recurrent(g, x, {kind!r}), np.ones({shape}, np.float32), symbolic={symbolic})
    print([value.shape for value in answer])
except PippinError as error:
    print("refused:", type(error).__name__)
"""


def recurrent(g: Builder, x: Value, kind: str) -> Any:
    """An LSTM or GRU of two units."""
    gates = {"lstm": 4, "gru": 3}[kind]
    cell = Cell(g.constant(np.ones((1, 2 * gates, 3), np.float32)), g.constant(np.ones((1, 2 * gates, 2), np.float32)))
    usual = [Activation("Sigmoid"), Activation("Tanh"), Activation("Tanh")]
    if kind == "lstm":
        return lstm(g, x, cell, None, None, activations=usual)
    return gru(g, x, cell, None, activations=usual[:2])


@pytest.mark.parametrize("symbolic", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize(
    ("kind", "shape", "told"),
    [
        ("lstm", (2, 0, 3), "refused"),
        ("lstm", (0, 2, 3), "[(0, 1, 2, 2)"),
        ("lstm", (2, 2, 3), "[(2, 1, 2, 2)"),
        ("gru", (2, 0, 3), "refused"),
        ("gru", (0, 2, 3), "refused"),
        ("gru", (2, 2, 3), "[(2, 1, 2, 2)"),
    ],
)
def test_a_recurrent_operator_over_nothing_does_not_end_the_process(
    kind: str, shape: tuple[int, ...], told: str, symbolic: bool
) -> None:
    script = _EMPTY.format(tests=str(Path(__file__).parent), kind=kind, shape=shape, symbolic=symbolic)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(told), done.stdout
