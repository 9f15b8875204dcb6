"""Runs every row of ``cases/coreml``: each layer kind against its float64 twin, static, symbolic, unoptimised.

"Unoptimised" is without our passes as well as without the engine's.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import numpy as np
import onnx
import pytest

import cases.coreml
from cases import Case
from pippin.coreml.lower import NO_LOWERING, lower
from pippin.coreml.lowering import LAYERS
from pippin.coreml.schema import layer_kinds
from pippin.coreml.weights import Weights
from pippin.errors import PippinError
from pippin.graph import passes
from pippin.graph.write import write
from pippin.reference.coreml.registry import Context, load_twins
from pippin.runtime.session import Session


def rows() -> list[Case]:
    found: list[Case] = []
    for module in pkgutil.iter_modules(cases.coreml.__path__):
        loaded = importlib.import_module(f"cases.coreml.{module.name}")
        found += getattr(loaded, "CASES", [])
    return found


ROWS = rows()
RUNS = [case for case in ROWS if case.refuses is None]
REFUSALS = [case for case in ROWS if case.refuses is not None]


def compile_(case: Case, shapes: list[tuple[int | str, ...]], *, optimize: bool = True) -> Session:
    model = case.model()
    names = list(case.layer().input)
    inputs = dict(zip(names, shapes, strict=True))
    g, lowerer = lower(model.neuralNetwork, Weights(), inputs, rank5=case.rank5)
    for name in case.layer().output:
        g.output(g.float(lowerer.blobs[name].nd(g)), name)
    if optimize:
        passes.optimize(g.graph)
    onnx.checker.check_model(write(g.graph, inline=None).model, full_check=True)
    return Session(write(g.graph), threads=1, optimize=optimize)


def feeds(session: Session, arrays: list[np.ndarray], fold: bool) -> dict[str, np.ndarray]:
    given = {f"x{index}": array for index, array in enumerate(arrays)}
    if fold:
        given = {k: v.reshape(-1, *v.shape[2:]) if v.ndim == 5 else v for k, v in given.items()}
    return {name: given[name] for name in session.inputs}


def expected(case: Case, arrays: list[np.ndarray]) -> list[np.ndarray]:
    layer = case.layer()
    context = Context(layer, Weights())
    twin = load_twins()[case.kind]
    with np.errstate(all="ignore"):
        result = twin(context, getattr(layer, case.kind), *(array.astype(np.float64) for array in arrays))
    return [np.asarray(value) for value in (result if isinstance(result, tuple) else (result,))]


def close(actual: Any, wanted: Any, tolerance: float, label: str) -> None:
    actual, wanted = np.asarray(actual), np.asarray(wanted)
    assert actual.shape == wanted.shape, f"{label}: shape {actual.shape}, wanted {wanted.shape}"
    np.testing.assert_allclose(actual, wanted, rtol=tolerance, atol=tolerance, err_msg=label)


@pytest.mark.parametrize("case", RUNS, ids=lambda case: case.id)
def test_row(case: Case) -> None:
    arrays = case.arrays()
    wanted = expected(case, arrays)
    for known, value in zip(case.expect or (), wanted, strict=bool(case.expect)):
        close(value, np.asarray(known).reshape(value.shape), max(case.tolerance, 1e-6), "the twin, by the known answer")
    fold = case.rank5 and all(array.ndim != 5 or array.shape[0] == 1 for array in arrays)
    shapes: list[tuple[int | str, ...]] = [
        (array.shape[0] * array.shape[1], *array.shape[2:]) if fold and array.ndim == 5 else array.shape
        for array in arrays
    ]
    plain: list[Any] = []
    for label, optimize in (("static", True), ("static, optimiser off", False)):
        session = compile_(case, shapes, optimize=optimize)
        answers = session.run(feeds(session, arrays, fold))
        for answer, value in zip(answers, wanted, strict=True):
            assert answer.dtype == np.float32
            close(answer, value, case.tolerance, label)
        plain = answers
    if not case.symbolic:
        assert case.why, "a row that does not run with unknown dims says why"
        return
    unknown: list[tuple[int | str, ...]] = [
        tuple(f"x{index}_{axis}" if size > 1 and index not in case.known else size for axis, size in enumerate(shape))
        for index, shape in enumerate(shapes)
    ]
    session = compile_(case, unknown)
    for answer, value in zip(session.run(feeds(session, arrays, fold)), plain, strict=True):
        close(answer, value, case.tolerance, "symbolic")


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.id)
def test_refusal(case: Case) -> None:
    arrays = case.arrays()

    def attempt() -> None:
        session = compile_(case, [array.shape for array in arrays])
        session.run(feeds(session, arrays, False))

    with pytest.raises(PippinError) as caught:
        attempt()
    assert case.refuses is not None
    assert case.refuses.lower() in str(caught.value).lower()
    assert f"({case.kind})" in str(caught.value), "the message must name the layer"


def test_ids_are_unique() -> None:
    ids = [case.id for case in ROWS]
    assert len(ids) == len(set(ids)), sorted(i for i in ids if ids.count(i) > 1)


def test_every_kind_is_lowered_or_listed() -> None:
    assert set(LAYERS) | set(NO_LOWERING) == set(layer_kinds())
    assert not set(LAYERS) & set(NO_LOWERING)


@pytest.mark.parametrize("kind", sorted(LAYERS))
def test_every_lowered_kind_has_rows_a_twin_and_a_refusal(kind: str) -> None:
    from cases.coreml import control_flow  # whole networks stand for the kinds that hold networks

    whole = set(control_flow.KINDS)
    assert kind in load_twins() or kind in whole, "no twin"
    own = {"custom"}  # what runs there are the functions that test_custom_layers registers
    assert kind in whole | own or any(case.kind == kind for case in RUNS), "no row"
    assert kind in whole or any(case.kind == kind for case in REFUSALS), "no refusal"


def test_tight_tolerances_or_a_reason() -> None:
    assert not [case.id for case in ROWS if (case.tolerance > 1e-5 or not case.symbolic) and not case.why]
