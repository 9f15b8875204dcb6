"""The device through the interface's own names: codes, order of checks, support, memory, hostile models."""

from __future__ import annotations

import gc
import os
from typing import Any

import numpy as np
import pytest

from nnrt_models import add_model, constant, io_tensor, one_node, out_tensor, values
from pippin.nnrt.attributes import REGISTRY, AddFusion, ConstantOfShape, Reshape
from pippin.nnrt.buffers import Region
from pippin.nnrt.device import Device, devices
from pippin.nnrt.hdi import INnrtDevice, IPreparedModel
from pippin.nnrt.types import (
    DataType,
    DeviceStatus,
    DeviceType,
    Model,
    ModelConfig,
    NodeType,
    PerformanceMode,
    Priority,
    ReturnCode,
    SharedBuffer,
    Tensor,
)
from test_nnrt_model import TABLE

C = ReturnCode
ONE = np.ones((3, 2, 2), np.float32)


@pytest.fixture(scope="module")
def device() -> INnrtDevice:
    return INnrtDevice()


def prepared(device: INnrtDevice, model: Model | None = None, **config: Any) -> IPreparedModel:
    code, result = device.PrepareModel(model or add_model(), ModelConfig(**config))
    assert code is C.SUCCESS
    assert result is not None
    return result


def add_run(model: IPreparedModel) -> None:
    out = out_tensor((3, 2, 2))
    code, dims = model.Run([io_tensor(ONE), io_tensor(2 * ONE)], [out])
    assert (code, dims) == (C.SUCCESS, [[3, 2, 2]])
    assert (values(out) == 3).all()


# -- what a device says of itself --------------------------------------------------------------------------------------


def test_devices() -> None:
    found = devices()
    assert found[0].type is DeviceType.CPU
    assert all(item.provider != "AzureExecutionProvider" for item in found)
    assert len({item.provider for item in found}) == len(found)
    assert "CPU" in repr(found[0])


def test_getters(device: INnrtDevice) -> None:
    for get in (device.GetDeviceName, device.GetVendorName):
        code, name = get()
        assert code is C.SUCCESS
        assert name
    assert device.GetDeviceType() == (C.SUCCESS, DeviceType.CPU)
    assert device.GetDeviceStatus() == (C.SUCCESS, DeviceStatus.AVAILABLE)
    assert device.GetVersion() == (C.SUCCESS, 2, 1)
    for flag in (
        device.IsFloat16PrecisionSupported,
        device.IsPerformanceModeSupported,
        device.IsPrioritySupported,
        device.IsDynamicInputSupported,
        device.IsModelCacheSupported,
    ):
        assert flag() == (C.SUCCESS, True)


# -- PrepareModel ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLE)
def test_bad_models(device: INnrtDevice, name: str) -> None:
    change, code = TABLE[name]
    model = add_model()
    change(model)
    wrong = ModelConfig(mode=-1, priority=-1)  # the model comes first
    assert device.PrepareModel(model, wrong) == (code, None)


@pytest.mark.parametrize(
    ("config", "code"),
    [
        (ModelConfig(mode=-1), C.INVALID_PERFORMANCE_MODE),
        (ModelConfig(mode=5), C.INVALID_PERFORMANCE_MODE),
        (ModelConfig(priority=-1), C.INVALID_PRIORITY),
        (ModelConfig(priority=4), C.INVALID_PRIORITY),
        (ModelConfig(mode=5, priority=4), C.INVALID_PERFORMANCE_MODE),
        (ModelConfig(priority=4, extensions={"attr1": b""}), C.INVALID_PRIORITY),
        (ModelConfig(extensions={"attr1": b"abc"}), C.INVALID_PARAMETER),
        (ModelConfig(extensions={"attr1": np.float32(0).tobytes()}), C.INVALID_PARAMETER),
        (ModelConfig(extensions={"attr1": np.float32(1.5).tobytes()}), C.INVALID_PARAMETER),
        (ModelConfig(extensions={"attr1": np.float32(np.nan).tobytes()}), C.INVALID_PARAMETER),
        (ModelConfig(extensions={"attr1": np.float32(1).tobytes()}), C.SUCCESS),
        (ModelConfig(extensions={"attr2": b"LOW"}), C.INVALID_PARAMETER),
        (ModelConfig(extensions={"attr2": b"MEDIUM\0"}), C.INVALID_PARAMETER),
        (ModelConfig(extensions={"attr2": b"HIGH\0"}), C.SUCCESS),
        (ModelConfig(extensions={"other": b""}), C.SUCCESS),
    ],
)
def test_configurations(device: INnrtDevice, config: ModelConfig, code: ReturnCode) -> None:
    assert device.PrepareModel(add_model(), config)[0] is code
    cache = prepared(device).ExportModelCache()[1]
    assert device.PrepareModelFromModelCache(cache, config)[0] is code
    assert device.PrepareOfflineModel(cache, config)[0] is code


def test_the_configuration_comes_before_the_build(device: INnrtDevice) -> None:
    model = add_model()
    model.allTensors[1].dims = [5]
    assert device.PrepareModel(model, ModelConfig(mode=9))[0] is C.INVALID_PERFORMANCE_MODE
    assert device.PrepareModel(model, ModelConfig())[0] is C.INVALID_MODEL


@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.UINT8])
def test_int8_without_parameters_does_not_add(device: INnrtDevice, data_type: DataType) -> None:
    model = add_model()
    model.allTensors[0].dataType = data_type
    assert device.PrepareModel(model, ModelConfig())[0] is C.INVALID_MODEL


@pytest.mark.parametrize(
    "name", ["BOOL", "INT16", "INT32", "INT64", "UINT16", "UINT32", "UINT64", "FLOAT16", "FLOAT32", "FLOAT64"]
)
def test_an_add_of_mixed_types_prepares(device: INnrtDevice, name: str) -> None:
    model = add_model()
    model.allTensors[0].dataType = DataType[name]
    prepared(device, model)


def test_no_model(device: INnrtDevice) -> None:
    assert device.PrepareModel(None, ModelConfig()) == (C.NULL_PTR, None)
    assert device.GetSupportedOperation(None) == (C.NULL_PTR, [])


def test_arguments_that_make_no_sense(device: INnrtDevice) -> None:
    assert device.PrepareModel(Model(allTensors=[3]), ModelConfig())[0] is not C.SUCCESS  # type: ignore[list-item]
    assert device.PrepareModel(3, ModelConfig())[0] is C.INVALID_PARAMETER  # type: ignore[arg-type]
    assert prepared(device).Run(3, 4) == (C.INVALID_PARAMETER, [])  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", PerformanceMode)
@pytest.mark.parametrize("priority", Priority)
@pytest.mark.parametrize("half", [False, True])
def test_modes_and_priorities_compute(device: INnrtDevice, mode: Any, priority: Any, half: bool) -> None:
    config = {"mode": mode, "priority": priority, "enableFloat16": half}
    model = prepared(device, **config)
    add_run(model)
    cache = model.ExportModelCache()[1]
    for again in (device.PrepareModelFromModelCache, device.PrepareOfflineModel):
        code, other = again(cache, ModelConfig(**config))
        assert code is C.SUCCESS
        assert other is not None
        add_run(other)


def test_half_precision_rounds() -> None:
    x = np.full((3, 2, 2), 1 + 2**-12, np.float32)
    exact = Device().prepare(add_model()).predict([x, x])["out"]
    half = Device().prepare(add_model(), ModelConfig(enableFloat16=True)).predict([x, x])["out"]
    assert (exact == 2 * x).all()
    assert (half == 2).all()


def test_constants_are_copied_when_prepared() -> None:
    weights = constant(ONE)
    model = one_node(AddFusion(), [Tensor("x", dims=[3, 2, 2]), weights], [Tensor("out", dims=[3, 2, 2])])
    ready = Device().prepare(model)
    weights.data.owner.array[:] = 0xFF
    weights.data.owner.close()
    assert (ready.predict([ONE])["out"] == 2).all()


# -- GetSupportedOperation ---------------------------------------------------------------------------------------------


def test_supported_operations_never_refuse(device: INnrtDevice) -> None:
    for name, (change, _) in TABLE.items():
        model = add_model()
        change(model)
        code, flags = device.GetSupportedOperation(model)
        assert code is C.SUCCESS, name
        assert len(flags) == len(model.nodes), name


@pytest.mark.parametrize("node_type", [-1, 100000, 0])
def test_unknown_node_types_are_not_supported(device: INnrtDevice, node_type: int) -> None:
    model = add_model()
    model.nodes[0].nodeType = node_type
    assert device.GetSupportedOperation(model) == (C.SUCCESS, [False])
    assert "no node type" in device.device.supported_operations(model)[0].reason


def test_support_has_reasons_and_goes_on_behind_a_gap(device: INnrtDevice) -> None:
    model = add_model()
    model.allTensors += [Tensor("a", dims=[3, 2, 2]), Tensor("b", dims=[7])]
    blob = AddFusion().to_bytes()
    add = int(AddFusion.node_type)
    from pippin.nnrt.types import Node

    model.nodes = [
        Node("bad", 77777, blob, [0, 1], [3]),
        Node("good", add, blob, [3, 1], [2]),
        Node("misfit", add, blob, [0, 4], [2]),
        Node("short", add, b"\1", [0, 1], [2]),
        Node("dangling", add, blob, [0, 99], [2]),
    ]
    model.subGraph[0].nodeIndices = [0, 1]
    answers = device.device.supported_operations(model)
    assert [bool(answer) for answer in answers] == [False, True, False, False, False]
    assert "shapes do not fit" in answers[2].reason
    assert "8 bytes are required" in answers[3].reason
    assert "no tensor 99" in answers[4].reason


# -- buffers -----------------------------------------------------------------------------------------------------------


def test_allocate_and_release(device: INnrtDevice) -> None:
    code, buffer = device.AllocateBuffer(100)
    assert code is C.SUCCESS
    assert (buffer.bufferSize, buffer.offset, buffer.dataSize) == (100, 0, 100)
    assert buffer.fd >= 0
    other = device.AllocateBuffer(10)[1]
    assert device.ReleaseBuffer(buffer) is C.SUCCESS
    assert device.ReleaseBuffer(buffer) is C.INVALID_BUFFER
    assert device.ReleaseBuffer(other) is C.SUCCESS


def test_what_cannot_be_allocated_or_released(device: INnrtDevice) -> None:
    code, buffer = device.AllocateBuffer(0)
    assert code is not C.SUCCESS
    assert buffer.fd == -1
    assert device.AllocateBuffer(0xFFFFFFFF)[0] is C.OUT_OF_MEMORY
    assert device.ReleaseBuffer(SharedBuffer()) is C.INVALID_BUFFER
    assert device.ReleaseBuffer(Region(10).buffer()) is C.INVALID_BUFFER


# -- hostile models ----------------------------------------------------------------------------------------------------


def test_absurd_results_are_refused_before_they_are_made(device: INnrtDevice) -> None:
    shape = constant(np.array([1 << 30, 1 << 30], np.int32))
    model = one_node(Reshape(), [Tensor("x", dims=[-1]), shape], [Tensor("y")])
    assert device.PrepareModel(model, ModelConfig())[0] is C.INVALID_MODEL
    if ConstantOfShape.node_type in REGISTRY:
        tile = REGISTRY[NodeType.TILE_FUSION]()
        many = constant(np.array([1 << 30, 1 << 30], np.int32))
        model = one_node(tile, [Tensor("x", dims=[8, 8]), many], [Tensor("y")])
        assert device.PrepareModel(model, ModelConfig())[0] is C.INVALID_MODEL


@pytest.mark.parametrize("node_type", sorted(REGISTRY))
def test_every_node_type_with_two_plain_inputs_answers(device: INnrtDevice, node_type: NodeType) -> None:
    """Default attributes rarely fit; whatever comes is a code."""
    attributes = REGISTRY[node_type]()
    for inputs in (
        [Tensor("x", dims=[1, 4, 4, 2])],
        [Tensor("x", dims=[3, 2, 2]), Tensor("y", dims=[3, 2, 2])],
        [Tensor("x", dims=[2, 3]), constant(np.array([0], np.int32))],
        [Tensor("x", dims=[]), Tensor("y", dims=[])],
        [Tensor("x", dims=[4, 4])] * 1 + [constant(np.array([7, -9, 1 << 30], np.int32))] * 2,
    ):
        model = one_node(attributes, list(inputs), [Tensor("z", dims=[3, 2, 2])])
        code, ready = device.PrepareModel(model, ModelConfig())
        assert code in (C.SUCCESS, C.INVALID_MODEL, C.INVALID_NODE), code
        flags = device.GetSupportedOperation(model)[1]
        assert flags == [code is C.SUCCESS]
        del ready


def test_prepare_and_release_leave_nothing(device: INnrtDevice) -> None:
    def opened() -> int:
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0  # noqa: PTH112, PTH208

    add_run(prepared(device))
    gc.collect()
    before = opened()
    for _ in range(20):
        model = prepared(device)
        add_run(model)
        model.ExportModelCache()
        del model
    gc.collect()
    device.device._mappings.clear()
    assert opened() <= before
