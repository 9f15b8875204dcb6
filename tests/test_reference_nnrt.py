"""The float64 twins of the NNRt node types by themselves: rows, known answers, vectors, whole models, limits."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin.reference.nnrt
from cases.nnrt import NodeCase, all_rows, q
from nnrt_models import constant
from pippin.errors import InputError, PippinError, RunError
from pippin.nnrt import attributes as A
from pippin.nnrt.attributes import REGISTRY, Attributes, layout
from pippin.nnrt.errors import NnrtError
from pippin.nnrt.types import (
    ActivationType,
    DataType,
    Format,
    IdlEnum,
    Model,
    Node,
    NodeType,
    PadMode,
    QuantParam,
    SubGraph,
    Tensor,
)
from pippin.reference.nnrt.interpreter import Interpreter, evaluate, info_of
from pippin.reference.nnrt.registry import Context, load_twins, twin
from shared import SHARED

ROWS = all_rows()
RUNS = [row for row in ROWS if row.refuses is None]
REFUSALS = [row for row in ROWS if row.refuses is not None]
KINDS = sorted(kind for kind in NodeType if kind is not NodeType.NONE)


def run(row: NodeCase) -> list[np.ndarray[Any, Any]]:
    given = [info_of(tensor) for tensor in row.tensors()]
    return evaluate(row.struct(), row.arrays(), given, [info_of(tensor) for tensor in row.made_tensors()])


# -- rows --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", RUNS, ids=lambda row: row.id)
def test_row(row: NodeCase) -> None:
    results = run(row)
    for result, tensor in zip(results, row.made_tensors(), strict=True):
        name = DataType(tensor.dataType).name.lower()
        assert result.dtype.name == ("float64" if name.startswith("float") else name)
    for known, result in zip(row.expect or (), results, strict=bool(row.expect)):
        assert np.shape(known) == result.shape
        if result.dtype.kind == "f":
            limit = max(row.tolerance, 1e-6)
            np.testing.assert_allclose(result, np.asarray(known, np.float64), rtol=limit, atol=limit)
        else:
            np.testing.assert_array_equal(result, known)


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.id)
def test_refusal(row: NodeCase) -> None:
    with pytest.raises(PippinError) as caught:
        run(row)
    assert re.search(row.refuses or "", str(caught.value), re.IGNORECASE), str(caught.value)


def test_every_node_type_has_a_twin() -> None:
    assert sorted(load_twins()) == KINDS


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_node_type_has_rows_known_answers_and_refusals(kind: NodeType) -> None:
    assert sum(row.node_type is kind for row in RUNS) >= 3
    assert any(row.node_type is kind for row in REFUSALS)
    assert kind is NodeType.ASSERT or any(row.node_type is kind and row.expect is not None for row in RUNS)


def _marked(kind: NodeType) -> list[tuple[str, Any]]:
    """The fields whose every value is to be seen in a row; what the tensors say goes before the ``format`` fields."""
    fields = layout(REGISTRY[kind]).fields
    enums = [(field.name, set(field.enum)) for field in fields if field.enum not in (None, Format) and field.enum]
    return enums + [(field.name, {False, True}) for field in fields if field.kind == "boolean"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if _marked(kind)], ids=lambda kind: kind.name)
def test_every_value_of_enums_and_flags_has_a_row(kind: NodeType) -> None:
    structs = [row.struct() for row in ROWS if row.node_type is kind]
    for name, wanted in _marked(kind):
        assert wanted <= {getattr(struct, name) for struct in structs}, name


CHANNELS = {
    *(NodeType.CONV2D_FUSION, NodeType.CONV2D_TRANSPOSE_FUSION, NodeType.AVGPOOL_FUSION, NodeType.MAX_POOL_FUSION),
    *(NodeType.RESIZE, NodeType.DEPTH_TO_SPACE, NodeType.SPACE_TO_DEPTH, NodeType.LRN, NodeType.BIAS_ADD),
    *(NodeType.SPACE_TO_BATCH_ND, NodeType.BATCH_TO_SPACE_ND, NodeType.INSTANCE_NORM, NodeType.FUSED_BATCH_NORM),
    NodeType.PRELU_FUSION,
}
"""Operators that care which dim of an image holds the channels."""


@pytest.mark.parametrize("kind", sorted(CHANNELS), ids=lambda kind: kind.name)
def test_channels_lie_where_the_label_says(kind: NodeType) -> None:
    formats = {row.format for row in RUNS if row.node_type is kind}
    assert formats == {Format.NCHW, Format.NHWC}


@pytest.mark.parametrize("field", ["activationType", "padMode", "mode"])
def test_rows_hold_no_numbers_for_members(field: str) -> None:
    """A row that means a member and one that means a wrong number must not be mixed up."""
    for row in RUNS:
        value = getattr(row.struct(), field, None)
        assert value is None or isinstance(value, IdlEnum | str)


def test_ids_are_unique() -> None:
    ids = [row.id for row in ROWS]
    assert len(ids) == len(set(ids))


def test_tight_tolerances_or_a_reason() -> None:
    loose = [row for row in ROWS if row.tolerance > 1e-5 or not row.dynamic or row.steps > 1]
    assert not [row.id for row in loose if not row.why]


def test_a_second_twin_is_refused() -> None:
    def other(context: Context, p: Any, x: Any) -> Any:
        return x

    with pytest.raises(ValueError, match="already"):
        twin(NodeType.ABS)(other)


def test_no_twin_knows_a_lowering() -> None:
    for path in Path(pippin.reference.nnrt.__path__[0]).glob("*.py"):
        text = path.read_text()
        assert "nnrt.nodes" not in text
        assert "lower" not in re.findall(r"import (\w+)|from \S*\.(\w+) import", text)
        assert "onnx" not in text


# -- vectors -----------------------------------------------------------------------------------------------------------

VECTORS = SHARED / "corpus" / "nnrt" / "vectors.json"

DECIDED = {
    "topk_fusion_unsorted": "places in the order of the values, as with sorted: the vector has a kernel's index order",
    "lstm_bidirectional": "dims [T,D,B,H]: the vector joins the directions",
    "lstm_one_unit": "dims [T,D,B,H]: the vector joins the directions",
    "lstm_zoneout": "dims [T,D,B,H]: the vector joins the directions",
    "lstm_ut_forward": "dims [T,D,B,H]: the vector joins the directions",
}
"""Vectors that read the interface otherwise than Pippin does, each with the reason."""


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


def tensor_of(entry: dict[str, Any]) -> Tensor:
    label = Format.parse("FORMAT_" + entry.get("format", "NHWC"))
    quant = [QuantParam(**param) for param in entry.get("quant", [])]
    return Tensor("", DataType[entry["dtype"].upper()], entry["dims"], label, quantParams=quant)


def array_of(entry: dict[str, Any]) -> np.ndarray[Any, Any]:
    return np.array(entry["values"], entry["dtype"]).reshape(entry["dims"])


def answers(entry: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
    given = [info_of(tensor_of(item)) for item in entry["inputs"]]
    made = [info_of(tensor_of(item)) for item in entry["outputs"]]
    return evaluate(attributes_of(entry), [array_of(item) for item in entry["inputs"]], given, made)


def agree(entry: dict[str, Any], item: dict[str, Any], got: np.ndarray[Any, Any]) -> None:
    """Whether an answer is that of the vector, by the tolerance that the vector gives."""
    assert list(got.shape) == item["dims"]
    if item["values"] is None:
        return
    want = array_of(item)
    error = np.abs(got.astype(np.float64) - want.astype(np.float64))
    if item.get("quant"):
        assert error.max(initial=0) <= entry["tolerance"]
    elif got.dtype.kind in "iub":
        assert not error.any()
    else:  # 0 means equal in float32
        assert (error <= max(entry["tolerance"], 1e-7) * np.maximum(1, np.abs(want))).all()


@pytest.mark.parametrize("name", vectors() or ["none"])
def test_vector(name: str) -> None:
    if not vectors():
        pytest.skip("the collected vectors are not here")
    if name in DECIDED:
        pytest.skip(DECIDED[name])
    entry = vectors()[name]
    for item, got in zip(entry["outputs"], answers(entry), strict=True):
        agree(entry, item, got)


@pytest.mark.parametrize(
    "name", [name for name in DECIDED if name.startswith("lstm") and name in vectors()] or ["none"]
)
def test_lstm_vectors_but_for_the_dims(name: str) -> None:
    if not vectors():
        pytest.skip("the collected vectors are not here")
    entry = vectors()[name]
    sequence, *states = answers(entry)
    joined = np.moveaxis(sequence, 1, 2).reshape(*sequence.shape[::2], -1)
    for item, got in zip(entry["outputs"], [joined, *states], strict=True):
        agree(entry, item, got)


def test_decided_vectors_are_there() -> None:
    assert not vectors() or set(DECIDED) <= set(vectors())


# -- whole models ------------------------------------------------------------------------------------------------------


def model_of(nodes: list[Node], tensors: list[Tensor], given: list[int], made: list[int]) -> Model:
    return Model("m", given, made, nodes, tensors, [SubGraph("", given, made, list(range(len(nodes))))])


def node(attributes: Attributes, inputs: list[int], outputs: list[int]) -> Node:
    return Node("", attributes.node_type, attributes.to_bytes(), inputs, outputs)


def chain() -> Model:
    """y = relu(x w) + x, split in two; its nodes come in the wrong order."""
    tensors = [
        Tensor("x", DataType.FLOAT32, [-1, 2]),
        constant(np.array([[1, 2], [3, 4]], np.float32)),
        Tensor("h", DataType.FLOAT32, [-1, 2]),
        Tensor("s", DataType.FLOAT32, [-1, 2]),
        Tensor("left", DataType.FLOAT32, [-1, 1]),
        Tensor("right", DataType.FLOAT32, [-1, 1]),
    ]
    nodes = [
        node(A.Split(2, [1, 1], 1), [3], [4, 5]),
        node(A.AddFusion(), [2, 0], [3]),
        node(A.MatMulFusion(activationType=ActivationType.RELU), [0, 1], [2]),
    ]
    return model_of(nodes, tensors, [0], [5, 4])


def test_a_model_runs_in_an_order_that_works() -> None:
    right, left = Interpreter(chain()).run([np.array([[1, -1], [1, 1]], np.float32)])
    np.testing.assert_array_equal(left, [[1], [5]])
    np.testing.assert_array_equal(right, [[-1], [7]])


def test_inputs_by_name_and_every_tensor() -> None:
    values = Interpreter(chain()).tensors({"x": [[1, 1]]})
    assert sorted(values) == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(values[2], [[4, 6]])


@pytest.mark.parametrize("inputs", [[], {"z": [[1, 1]]}, [np.zeros((2, 3))], [np.zeros(2)]], ids=str)
def test_inputs_that_do_not_fit(inputs: Any) -> None:
    with pytest.raises(InputError):
        Interpreter(chain()).run(inputs)


def test_an_unsound_model_is_refused_with_its_code() -> None:
    model = chain()
    model.nodes[1].inputIndex = [2, 99]
    with pytest.raises(NnrtError, match="tensors"):
        Interpreter(model)


def test_errors_name_the_node() -> None:
    tensors = [Tensor("ok", DataType.BOOL, [1]), Tensor("x", DataType.FLOAT32, [2]), Tensor("y", DataType.BOOL, [1])]
    model = model_of([node(A.Assert(1), [0, 1], [2])], tensors, [0, 1], [2])
    with pytest.raises(RunError, match=r"node 0 \(ASSERT\)"):
        Interpreter(model).run([[False], [1, 2]])


def quantised(name: str, dims: list[int], *params: QuantParam) -> Tensor:
    return Tensor(name, DataType.INT8, dims, quantParams=list(params))


def test_int8_nodes_follow_each_other() -> None:
    """float → int8 → convolution → maximum of windows → float."""
    weight = constant(np.ones((1, 2, 2, 1), np.int8))
    weight.quantParams = [q(0.5)]
    tensors = [
        Tensor("x", DataType.FLOAT32, [1, 3, 3, 1]),
        quantised("q", [1, 3, 3, 1], q(0.25, 3)),
        weight,
        constant(np.array([8], np.int32)),
        quantised("c", [1, 2, 2, 1], q(0.5, -7)),
        quantised("m", [1, 1, 1, 1], q(0.5, -7)),
        Tensor("y", DataType.FLOAT32, [1, 1, 1, 1]),
    ]
    nodes = [
        node(A.QuantDTypeCast(43, 32), [0], [1]),
        node(A.Conv2DFusion([2, 2], padMode=PadMode.VALID), [1, 2, 3], [4]),
        node(A.MaxPoolFusion([2, 2]), [4], [5]),
        node(A.QuantDTypeCast(32, 43), [5], [6]),
    ]
    interpreter = Interpreter(model_of(nodes, tensors, [0], [6]))
    x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
    values = interpreter.tensors([x])
    np.testing.assert_array_equal(values[1].reshape(-1), np.arange(9) * 4 + 3)
    # (4 + 5 + 7 + 8) / 2 and a bias of 8 · 0.25 · 0.5, in steps of 0.5 from -7
    assert values[5].item() == 2 * 13 - 7
    assert interpreter.run([x])[0].item() == 13


# -- limits ------------------------------------------------------------------------------------------------------------

HUGE = 1 << 40
ONE = np.ones((1, 1, 1, 1), np.float32)


def sizes(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


GREEDY: list[tuple[Attributes, list[np.ndarray[Any, Any]]]] = [
    (A.BroadcastTo([HUGE, 1, 1, 1, 1]), [ONE]),
    (A.TileFusion([0]), [ONE, sizes(HUGE)]),
    (A.PadFusion(), [ONE, sizes(HUGE, 0, 0, 0, 0, 0, 0, 0)]),
    (A.Fill(), [np.ones(1, np.float32), sizes(HUGE)]),
    (A.ConstantOfShape(43, [1.0]), [sizes(1 << 20, 1 << 20)]),
    (A.OneHot(), [sizes(1), sizes(HUGE), np.ones(1, np.float32), np.zeros(1, np.float32)]),
    (A.ScatterNd(), [np.zeros((1, 1), np.int32), np.ones(1, np.float32), sizes(HUGE)]),
    (A.SparseToDense(), [np.zeros((1, 1), np.int32), np.ones(1, np.float32), sizes(HUGE)]),
    (A.Range(limit=HUGE), [ONE]),
    (A.Resize(0, HUGE, HUGE), [ONE]),
    (A.Conv2DFusion([1, 1], padList=[HUGE, 0, 0, 0]), [ONE, ONE]),
    (A.Conv2dTransposeFusion([1, 1], outputPaddings=[HUGE, 0]), [ONE, ONE]),
    (A.Conv2dTransposeFusion([1, 1], stride=[HUGE, 1]), [np.ones((1, 2, 1, 1), np.float32), ONE]),
    (A.AvgPoolFusion([HUGE, 1], [1, 1], [HUGE - 1, HUGE - 1, 0, 0]), [ONE]),
    (A.SpaceToBatchND([1, 1], [[HUGE, 0], [0, 0]]), [ONE]),
    (
        A.DetectionPostProcess(scale=[1, 1, 1, 1], maxDetections=HUGE, maxClassesPerDetection=HUGE, numClasses=1),
        [np.zeros((1, 1, 4), np.float32), np.zeros((1, 1, 1), np.float32), np.zeros((1, 4), np.float32)],
    ),
]


@pytest.mark.parametrize(("attributes", "inputs"), GREEDY, ids=lambda value: type(value).__name__)
def test_absurd_sizes_are_refused_before_they_are_allocated(attributes: Attributes, inputs: list[Any]) -> None:
    given = [info_of(constant(array)) for array in inputs]
    outputs = 4 if isinstance(attributes, A.DetectionPostProcess) else 1
    made = [info_of(Tensor("", DataType.FLOAT32))] * outputs
    with pytest.raises(PippinError, match=r"large|negative|padding"):
        evaluate(attributes, inputs, given, made)
