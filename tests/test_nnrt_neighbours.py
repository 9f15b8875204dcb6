"""Node types between transpositions, which the engine's optimiser brings past what stands there."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import pippin.nnrt.device
from cases.nnrt import NodeCase
from pippin.graph.write import write
from pippin.nnrt.authoring import GraphBuilder
from pippin.nnrt.device import Device
from pippin.nnrt.enums import CoordinateTransformMode, ResizeMethod
from test_neighbours import answers, surrounded
from test_nnrt_nodes import RUNS, expected

DEVICE = Device()


def run(build: Any, *arrays: np.ndarray) -> np.ndarray:
    g = GraphBuilder()
    made = build(g, *(g.input(f"x{index}", array.shape, array.dtype) for index, array in enumerate(arrays)))
    (answer,) = DEVICE.prepare(g.finish(made)).predict(list(arrays)).values()
    return np.asarray(answer)


@pytest.mark.parametrize("mode", [mode for mode in CoordinateTransformMode if 0 <= mode <= 2])
@pytest.mark.parametrize("method", [ResizeMethod.LINEAR, ResizeMethod.NEAREST, ResizeMethod.CUBIC])
def test_resize_after_any_transposition(method: ResizeMethod, mode: CoordinateTransformMode) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)

    def resize(g: GraphBuilder, h: Any) -> Any:
        return g.Resize(h, method=method, newHeight=6, newWidth=2, coordinateTransformMode=mode)

    for order in itertools.permutations(range(4)):
        back = [order.index(axis) for axis in range(4)]
        wanted = run(resize, np.ascontiguousarray(x.transpose(order)))

        def between(g: GraphBuilder, h: Any, order: Any = order, back: Any = back) -> Any:
            return g.Transpose(resize(g, g.Transpose(h, np.array(order, np.int32))), np.array(back, np.int32))

        np.testing.assert_allclose(run(between, x).transpose(order), wanted, atol=1e-5, err_msg=str(order))


@pytest.mark.parametrize("shape", [(3, 2), (5, 3, 2), (3, 3)])
def test_a_transposed_matrix_times_a_column(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    a, b = random.standard_normal(shape).astype(np.float32), random.standard_normal(3).astype(np.float32)
    turned = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    wanted = a.swapaxes(-1, -2) @ b
    by_node = run(lambda g, a, b: g.MatMulFusion(g.Transpose(a, np.array(turned, np.int32)), b), a, b)
    by_attribute = run(lambda g, a, b: g.MatMulFusion(a, b, transposeA=True), a, b)
    for found in (by_node, by_attribute):
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


LINEAR = "RESIZE: LINEAR"
"""Needs to know of the transposition when it is lowered: see above."""
SATURATED = "CONV2D_FUSION: int8, saturated"
"""Needs the engine's exact products of integers, which the sessions of the package ask for."""


@pytest.mark.parametrize("kind", sorted({row.node_type for row in RUNS}), ids=lambda kind: kind.name)
def test_rows_between_transpositions(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs: list[Any] = []
    lower = pippin.nnrt.device.lower

    def caught(*args: Any, **options: Any) -> Any:
        lowered = lower(*args, **options)
        graphs.append(write(lowered.graph, inline=None).model)
        return lowered

    monkeypatch.setattr(pippin.nnrt.device, "lower", caught)
    for row in RUNS:
        if row.node_type != kind or row.id.startswith((LINEAR, SATURATED)):
            continue
        shapes = [value.shape for value in expected(row)]
        for unknown in (False, True) if row.dynamic else (False,):
            model = row.model(shapes, unknown=unknown)
            if model.inputIndex:
                DEVICE.prepare(model)
                compare(row, graphs.pop())


def compare(row: NodeCase, model: Any) -> None:
    arrays = [array for place, array in enumerate(row.arrays()) if not row.is_constant(place)]
    feeds = dict(zip([value.name for value in model.graph.input], arrays, strict=True))
    made, orders = surrounded(model)
    given = {
        f"{name}/last" if name in orders else name: (
            np.ascontiguousarray(array.transpose(orders[name])) if name in orders else array
        )
        for name, array in feeds.items()
    }
    wanted = answers(model, feeds, optimize=False)
    for value, found, right in zip(model.graph.output, answers(made, given, optimize=True), wanted, strict=True):
        right = right.transpose(orders[value.name]) if value.name in orders else right
        assert found.shape == right.shape, row.id
        if right.dtype.kind == "f":
            scale = max(1.0, float(np.abs(right[np.isfinite(right)]).max(initial=0)))
            np.testing.assert_allclose(found / scale, right / scale, rtol=1e-3, atol=2e-3, err_msg=row.id)
        else:
            np.testing.assert_array_equal(found, right, err_msg=row.id)
