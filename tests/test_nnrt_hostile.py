"""Models that nobody meant well: whatever they hold, the answer is a code; a prepared one runs or fails in order."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nnrt_models import add_model, constant, one_node
from pippin.errors import RunError
from pippin.nnrt.attributes import REGISTRY, Attributes, layout
from pippin.nnrt.device import Device
from pippin.nnrt.hdi import INnrtDevice
from pippin.nnrt.lower import _arity
from pippin.nnrt.nodes.base import NODES
from pippin.nnrt.types import (
    DataType,
    Format,
    Model,
    ModelConfig,
    QuantParam,
    ReturnCode,
    SharedBuffer,
    Tensor,
    element_count,
    numpy_type,
)
from test_nnrt_parcel import values_of

DEVICE = INnrtDevice(Device())
LOWERED = sorted(NODES)

small = st.integers(-2, 5)
numbers = st.one_of(small, small, small, st.sampled_from([1 << 20, 1 << 31, (1 << 63) - 1, -(1 << 63)]))


def likely(field: Any) -> st.SearchStrategy[Any]:
    """Field values near those that make sense, now and then anything."""
    near = {
        "long": numbers,
        "float": st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e30, float("inf"), float("nan")]),
        "long[]": st.lists(small, max_size=4),
        "float[]": st.lists(st.floats(-2, 2), max_size=4),
        "long[][]": st.lists(st.lists(small, min_size=2, max_size=2), max_size=4),
    }.get(field.kind)
    return near if near is not None else values_of(field)


@st.composite
def tensors(draw: st.DrawFn, name: str, given_: bool) -> Tensor:
    dims = draw(st.lists(st.integers(1, 4), max_size=4))
    data_type = draw(st.sampled_from([t for t in DataType if t]))
    params = draw(st.lists(st.builds(QuantParam, st.just(8), st.integers(-5, 5), st.floats(0, 2)), max_size=1))
    if given_ and draw(st.booleans()):
        count = max(element_count(dims), 1)
        items = draw(st.lists(st.integers(-2, 5), min_size=count, max_size=count)) if count < 10 else [1] * count
        with np.errstate(all="ignore"):
            array = np.array(items).astype(numpy_type(data_type))
        return constant(array.reshape(dims), name, quantParams=params)
    open_dims = [-1 if draw(st.integers(0, 5)) == 0 else dim for dim in dims]
    return Tensor(name, data_type, open_dims, draw(st.sampled_from([Format.NHWC, Format.NCHW])), quantParams=params)


@st.composite
def models(draw: st.DrawFn) -> Model:
    node_type = draw(st.sampled_from(LOWERED))
    cls: type[Attributes] = REGISTRY[node_type]
    attributes = cls(**{field.name: draw(likely(field)) for field in layout(cls).fields})
    lowering = NODES.get(node_type)
    assert lowering is not None
    fewest, most = _arity(lowering.function)
    count = draw(st.integers(fewest, int(min(most, fewest + 2))))
    inputs = [draw(tensors(f"x{i}", i > 0 or draw(st.integers(0, 9)) == 0)) for i in range(count)]
    outputs = [draw(tensors(f"y{i}", False)) for i in range(draw(st.sampled_from([1, 1, 1, 1, 2, 3])))]
    return one_node(attributes, inputs, outputs)


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    """Thousands of refusals are not told; the level is put back for the tests of other files."""
    log = logging.getLogger("pippin")
    before = log.level
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(before)


@given(models())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_node_is_a_code_and_then_runs_or_fails(model: Model) -> None:
    code, flags = DEVICE.GetSupportedOperation(model)
    assert (code, len(flags)) == (ReturnCode.SUCCESS, 1)
    code, ready = DEVICE.PrepareModel(model, ModelConfig())
    if ready is None:
        assert code in (ReturnCode.INVALID_MODEL, ReturnCode.INVALID_INPUT)
        return
    sizes = [element_count([abs(dim) for dim in port.dims]) for port in ready.prepared.outputs]
    if max(sizes) > 1 << 20:
        return
    feeds = [np.ones([abs(dim) for dim in port.dims], numpy_type(port.data_type)) for port in ready.prepared.inputs]
    try:
        results = ready.prepared.predict(feeds)
    except RunError:
        return
    for port, array in zip(ready.prepared.outputs, results.values(), strict=True):
        assert array.dtype == numpy_type(port.data_type)
        assert all(want in (-1, have) for want, have in zip(port.dims, array.shape, strict=True))


anything = st.one_of(st.integers(-3, 9), st.sampled_from([1 << 31, 1 << 63, -(1 << 63)]))
lists = st.lists(anything, max_size=4)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_any_numbers_in_any_field_are_a_code(data: st.DataObject) -> None:
    model = add_model()
    targets: list[tuple[Any, str, st.SearchStrategy[Any]]] = [
        *((model, name, lists) for name in ("inputIndex", "outputIndex")),
        *((model.nodes[0], name, lists) for name in ("inputIndex", "outputIndex")),
        *((model.nodes[0], name, anything) for name in ("nodeType", "quantType")),
        (model.nodes[0], "nodeAttr", st.binary(max_size=12)),
        *((model.subGraph[0], name, lists) for name in ("inputIndices", "outputIndices", "nodeIndices")),
        *((tensor, "dims", lists) for tensor in model.allTensors),
        *((tensor, name, anything) for tensor in model.allTensors for name in ("dataType", "format")),
        *((tensor, "data", st.builds(SharedBuffer, *[anything] * 4)) for tensor in model.allTensors),
        *((tensor, "quantParams", st.lists(st.builds(QuantParam, anything, anything, st.floats()), max_size=3))
          for tensor in model.allTensors),
    ]  # fmt: skip
    for target, name, values in data.draw(st.lists(st.sampled_from(targets), min_size=1, max_size=3)):
        setattr(target, name, data.draw(values))
    code, flags = DEVICE.GetSupportedOperation(model)
    assert (code, len(flags)) == (ReturnCode.SUCCESS, 1)
    code, _ = DEVICE.PrepareModel(model, ModelConfig())
    assert code is not ReturnCode.FAILED
    assert code is not ReturnCode.INVALID_PARAMETER  # the code for what nobody thought of


@pytest.mark.parametrize("node_type", LOWERED)
def test_no_inputs_at_all(node_type: Any) -> None:
    model = one_node(REGISTRY[node_type](), [Tensor("x", dims=[2])], [Tensor("y")])
    model.nodes[0].inputIndex = []
    assert DEVICE.PrepareModel(model, ModelConfig())[0] is ReturnCode.INVALID_MODEL
