"""Collected one-node models with known outputs, run on the device: other people's numbers and hand-worked ones."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from nnrt_models import constant_buffer
from pippin.nnrt.attributes import REGISTRY, Attributes, layout
from pippin.nnrt.device import Device
from pippin.nnrt.types import DataType, Format, Model, Node, NodeType, QuantParam, SubGraph, Tensor
from shared import SHARED

VECTORS = SHARED / "corpus" / "nnrt" / "vectors.json"

DECIDED: dict[str, tuple[str, list[list[Any]]]] = {
    "topk_fusion_unsorted": ("an unsorted TopK has the order of a sorted one", [[9.0, 8.0, 7.0], [0, 4, 2]]),
}
"""Vectors that read the interface otherwise than Pippin does: the reason, and the outputs as they are here."""

DIRECTIONS = ("lstm_bidirectional", "lstm_one_unit", "lstm_zoneout", "lstm_ut_forward")
"""Vectors with the outputs of an LSTM as (T,B,D·H); here they are (T,D,B,H), the same numbers while B is 1."""


def test_exceptions_are_there() -> None:
    assert not vectors() or {*DECIDED, *DIRECTIONS} <= set(vectors())


@cache
def vectors() -> dict[str, dict[str, Any]]:
    if not VECTORS.is_file():
        return {}
    return {entry["id"]: entry for entry in json.loads(VECTORS.read_text())}


def attributes_of(entry: dict[str, Any]) -> Attributes:
    cls = REGISTRY[NodeType.parse(entry["node_type"])]
    values = {}
    for field in layout(cls).fields:
        value = entry["attr"][field.idl_name]
        values[field.name] = field.enum.parse(value) if field.enum is not None else value
    return cls(**values)


def tensor_of(entry: dict[str, Any], name: str, array: np.ndarray[Any, Any] | None) -> Tensor:
    return Tensor(
        name,
        DataType[entry["dtype"].upper()],
        entry["dims"],
        Format.parse("FORMAT_" + entry.get("format", "NHWC")),
        quantParams=[QuantParam(**param) for param in entry.get("quant", [])],
        **({"data": constant_buffer(array.reshape(-1))} if array is not None else {}),
    )


def array_of(entry: dict[str, Any]) -> np.ndarray[Any, Any]:
    return np.array(entry["values"], entry["dtype"]).reshape(entry["dims"])


def model_of(entry: dict[str, Any]) -> tuple[Model, list[np.ndarray[Any, Any]]]:
    attributes = attributes_of(entry)
    tensors, feeds, given = [], [], []
    for place, item in enumerate(entry["inputs"]):
        array = array_of(item)
        tensors.append(tensor_of(item, f"in{place}", array if item["constant"] else None))
        if not item["constant"]:
            feeds.append(array)
            given.append(place)
    count = len(tensors)
    made = list(range(count, count + len(entry["outputs"])))
    tensors += [tensor_of(item, f"out{place}", None) for place, item in enumerate(entry["outputs"])]
    node = Node("node", attributes.node_type, attributes.to_bytes(), list(range(count)), made)
    return Model("vector", given, made, [node], tensors, [SubGraph("", given, made, [0])]), feeds


def with_an_input(model: Model, feeds: list[np.ndarray[Any, Any]], entry: dict[str, Any]) -> None:
    """A model of constants alone has no inputs: its first operand becomes one."""
    if not model.inputIndex:
        model.inputIndex, model.subGraph[0].inputIndices = [0], [0]
        model.allTensors[0].data = type(model.allTensors[0].data)()
        feeds.append(array_of(entry["inputs"][0]))


@pytest.fixture(scope="module")
def device() -> Device:
    return Device()


@pytest.mark.parametrize("name", vectors() or ["none"])
def test_vector(name: str, device: Device) -> None:
    if not vectors():
        pytest.skip("the collected vectors are not here")
    entry = vectors()[name]
    model, feeds = model_of(entry)
    with_an_input(model, feeds, entry)
    results = list(device.prepare(model).predict(feeds).values())
    if name in DIRECTIONS:
        assert results[0].ndim == 4
        results[0] = results[0].reshape(entry["outputs"][0]["dims"])
    if name in DECIDED:
        for item, values in zip(entry["outputs"], DECIDED[name][1], strict=True):
            assert item["values"] != values, "the vector reads the interface as Pippin does: no exception"
            item["values"] = values
    for item, got in zip(entry["outputs"], results, strict=True):
        assert list(got.shape) == item["dims"]
        assert got.dtype == item["dtype"]
        if item["values"] is None:
            continue
        want = array_of(item)
        exact = got.dtype.kind in "iub" and not item.get("quant")
        limit = 0 if exact else entry["tolerance"]
        error = np.abs(got.astype(np.float64) - want.astype(np.float64))
        assert (error <= limit * np.maximum(1, np.abs(want))).all() if not item.get("quant") else error.max() <= limit
