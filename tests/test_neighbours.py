"""Layers between transpositions: the engine's optimiser brings those past operators, and not all can bear it.

Rows of one layer cannot show that. Every row's graph is put between transpositions as they stand in networks whose
pictures have their channels last, and must answer as it does without.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import pippin
from cases import Case
from make import network
from pippin.analysis import reference
from pippin.coreml.lower import lower
from pippin.coreml.weights import Weights
from pippin.graph import passes
from pippin.graph.composites import resize
from pippin.graph.write import write
from test_layers import RUNS

LAST = {2: (1, 0), 3: (0, 2, 1), 4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1), 6: (0, 2, 3, 4, 5, 1)}
"""By rank the order that puts the second axis last."""
EMPTY = ("broadcastToLike: to no elements", "broadcastToStatic: to no elements")
"""The engine's optimiser answers with ones where there should be no elements."""
TURNED = "resizeBilinear: targetSize left out: 1x1"
"""Needs to know of the transposition when it is lowered; see ``test_resizing_after_any_transposition``."""


def graph(case: Case, symbolic: bool) -> Any:
    arrays = case.arrays()
    shapes: list[tuple[int | str, ...]] = [array.shape for array in arrays]
    if symbolic:
        shapes = [
            tuple(f"x{i}_{axis}" if size > 1 and i not in case.known else size for axis, size in enumerate(shape))
            for i, shape in enumerate(shapes)
        ]
    g, lowerer = lower(
        case.model().neuralNetwork, Weights(), dict(zip(case.layer().input, shapes, strict=True)), rank5=case.rank5
    )
    for name in case.layer().output:
        g.output(g.float(lowerer.blobs[name].nd(g)), name)
    passes.optimize(g.graph)
    return write(g.graph, inline=None).model


def surrounded(model: Any) -> tuple[Any, dict[str, tuple[int, ...]]]:
    """``model`` between transpositions, and the orders by the names of its inputs and outputs."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    before, after, orders = [], [], {}
    for value in made.graph.input:
        dims = [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim]
        order = LAST.get(len(dims))
        if order:
            orders[value.name] = order
            back = [order.index(axis) for axis in range(len(order))]
            before.append(helper.make_node("Transpose", [f"{value.name}/last"], [value.name], perm=back))
            shape = [dims[axis] for axis in order]
            kind = value.type.tensor_type.elem_type
            value.CopyFrom(helper.make_tensor_value_info(f"{value.name}/last", kind, shape))
    for value in made.graph.output:
        order = LAST.get(len(value.type.tensor_type.shape.dim))
        if order:
            orders[value.name] = order
            after.append(helper.make_node("Transpose", [value.name], [f"{value.name}/last"], perm=order))
            kind = value.type.tensor_type.elem_type
            value.CopyFrom(helper.make_tensor_value_info(f"{value.name}/last", kind, None))
    nodes = [*before, *made.graph.node, *after]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made, orders


def answers(model: Any, feeds: dict[str, Any], *, optimize: bool) -> list[Any]:
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimize else level.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: list[Any] = session.run(None, feeds)
    return found


@pytest.mark.parametrize("kind", sorted({case.kind for case in RUNS}))
def test_rows_between_transpositions(kind: str) -> None:
    for case in RUNS:
        if case.kind != kind or case.id in (*EMPTY, TURNED) or (case.rank5 and any(a.ndim == 5 for a in case.arrays())):
            continue
        for symbolic in (False, True) if case.symbolic else (False,):
            model = graph(case, symbolic)
            feeds = dict(zip(case.layer().input, case.arrays(), strict=True))
            feeds = {value.name: feeds[value.name] for value in model.graph.input}
            made, orders = surrounded(model)
            given = {
                f"{name}/last" if name in orders else name: (
                    np.ascontiguousarray(array.transpose(orders[name])) if name in orders else array
                )
                for name, array in feeds.items()
            }
            wanted = answers(model, feeds, optimize=False)
            for value, found, right in zip(
                model.graph.output, answers(made, given, optimize=True), wanted, strict=True
            ):
                right = right.transpose(orders[value.name]) if value.name in orders else right
                label = f"{case.id}, {'symbolic' if symbolic else 'static'}"
                assert found.shape == right.shape, label
                scale = max(1.0, float(np.abs(right[np.isfinite(right)]).max(initial=0)))
                np.testing.assert_allclose(found / scale, right / scale, rtol=1e-3, atol=1e-4, err_msg=label)


@pytest.mark.parametrize("between", ["nothing", "function", "expandDims"])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 4), (1, 4, 5), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("mode", range(4))
def test_resizing_after_any_transposition(mode: int, shape: tuple[int, ...], between: str) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for order, size in itertools.product(itertools.permutations(range(len(shape))), ((8, 8), (1, 1), (1, 5))):
        layers: list[Any] = [("transpose", {"axes": order}, ["x"], ["t"])]
        if between == "function":
            layers.append(("activation", {"ReLU": {}}, ["t"], ["f"]))
        elif between == "expandDims":
            layers.append(("expandDims", {"axes": [0]}, ["t"], ["f"]))
        rank = len(shape) + (between == "expandDims")
        how = {"targetSize": size, "mode": {"samplingMethod": mode}}
        layers.append(("resizeBilinear", how, layers[-1][3], ["r"]))
        layers.append(("transpose", {"axes": [*range(rank)][::-1]}, ["r"], ["y"]))
        model = pippin.load(network(layers, {"x": x.shape}, ["y"]).SerializeToString(), threads=1)
        found, wanted = model.predict({"x": x})["y"], reference.answer(model, {"x": x})["y"]
        np.testing.assert_allclose(found, wanted, atol=1e-5, err_msg=f"{order}, {size}")


def test_a_transposition_far_in_front_counts_and_is_found_at_once() -> None:
    layers: list[Any] = [("transpose", {"axes": resize.ROTATED}, ["x"], ["b0"])]
    layers += [("add", {}, [f"b{index}", f"b{index}"], [f"b{index + 1}"]) for index in range(80)]
    layers.append(("resizeBilinear", {"targetSize": (8, 8), "mode": {"samplingMethod": 2}}, ["b80"], ["y"]))
    model = pippin.load(network(layers, {"x": (2, 3, 4, 5)}, ["y"]).SerializeToString())
    assert [node.op for node in model.graph().nodes].count("Reshape") == 2


def test_only_the_order_that_the_engine_lacks_is_kept_away() -> None:
    """A picture with channels last, the usual case, stays one Resize."""
    for order, count in (((0, 3, 1, 2), 0), (resize.ROTATED, 2)):
        layers: list[Any] = [
            ("transpose", {"axes": order}, ["x"], ["t"]),
            ("resizeBilinear", {"targetSize": (8, 8), "mode": {"samplingMethod": 2}}, ["t"], ["y"]),
        ]
        model = pippin.load(network(layers, {"x": (2, 3, 4, 5)}, ["y"]).SerializeToString())
        assert [node.op for node in model.graph().nodes].count("Reshape") == count


@pytest.mark.parametrize("order", list(itertools.permutations((1, 2, 3))))
def test_an_open_batch_is_resized_after_a_transposition(order: tuple[int, ...], tmp_path: Any) -> None:
    layers: list[Any] = [
        ("permute", {"axis": [0, *order]}, ["x"], ["p"]),
        ("resizeBilinear", {"targetSize": (2, 7), "mode": {"samplingMethod": 2}}, ["p"], ["y"]),
    ]
    data = network(layers, {"x": (3, 4, 5)}, ["y"], exact=False).SerializeToString()
    pippin.to_onnx(data, tmp_path / "out.onnx", dims="symbolic")
    x = np.random.default_rng(0).standard_normal((6, 3, 4, 5)).astype(np.float32)
    (found,) = answers(onnx.load(tmp_path / "out.onnx"), {"x": x}, optimize=True)
    model = pippin.load(data)
    for picture, one in zip(x, found, strict=True):
        np.testing.assert_allclose(one, reference.answer(model, {"x": picture})["y"], atol=1e-5)
