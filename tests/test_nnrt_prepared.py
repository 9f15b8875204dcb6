"""Prepared models through the interface's own names: Run and its codes, buffers, open dims, caches."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin.nnrt.cache
from nnrt_models import add_model, constant, io_tensor, one_node, out_tensor, values
from pippin.nnrt import model_bytes
from pippin.nnrt.attributes import AddFusion
from pippin.nnrt.buffers import Region
from pippin.nnrt.device import Device
from pippin.nnrt.errors import NnrtError
from pippin.nnrt.hdi import INnrtDevice, IPreparedModel
from pippin.nnrt.prepared_model import BINDINGS, MAX_DIM
from pippin.nnrt.types import (
    DataType,
    Format,
    IOTensor,
    Model,
    ModelConfig,
    NodeType,
    ReturnCode,
    SharedBuffer,
    Tensor,
)

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


# -- Run ---------------------------------------------------------------------------------------------------------------


def test_run(device: INnrtDevice) -> None:
    add_run(prepared(device))


def good() -> tuple[list[IOTensor], list[IOTensor]]:
    return [io_tensor(ONE), io_tensor(2 * ONE)], [out_tensor((3, 2, 2))]


def change(target: int | str, **fields: Any) -> Any:
    def apply(inputs: list[IOTensor], outputs: list[IOTensor]) -> None:
        tensor = outputs[0] if target == "out" else inputs[int(target)]
        for name, value in fields.items():
            setattr(tensor.data if name in ("fd", "bufferSize", "offset", "dataSize") else tensor, name, value)

    return apply


BAD_RUNS = {
    "no inputs": (lambda i, o: i.clear(), C.INVALID_INPUT),
    "one input": (lambda i, o: i.pop(), C.INVALID_INPUT),
    "three inputs": (lambda i, o: i.append(i[0]), C.INVALID_INPUT),
    "data type": (change(0, dataType=DataType.INT32), C.INVALID_DATATYPE),
    "format": (change(0, format=Format.NCHW), C.INVALID_FORMAT),
    "rank": (change(1, dimensions=[3, 4]), C.INVALID_SHAPE),
    "dim": (change(1, dimensions=[3, 2, 3]), C.INVALID_SHAPE),
    "no memory": (change(0, fd=-1), C.INVALID_PARAMETER),
    "closed": (change(0, fd=87654), C.INVALID_PARAMETER),
    "range": (change(0, offset=8), C.INVALID_PARAMETER),
    "buffer size": (change(0, bufferSize=1 << 20), C.INVALID_PARAMETER),
    "data size": (change(0, dataSize=40), C.INVALID_PARAMETER),
    "no outputs": (lambda i, o: o.clear(), C.INVALID_OUTPUT),
    "two outputs": (lambda i, o: o.append(o[0]), C.INVALID_OUTPUT),
    "output type": (change("out", dataType=DataType.INT8), C.INVALID_DATATYPE),
    "output closed": (change("out", fd=87654), C.INVALID_PARAMETER),
    "output range": (change("out", offset=48, dataSize=48), C.INVALID_PARAMETER),
    "output small": (change("out", dataSize=47), C.INSUFFICIENT_BUFFER),
}


@pytest.mark.parametrize("name", BAD_RUNS)
@pytest.mark.parametrize("dims", [(3, 2, 2), (-1, -1, -1)])
def test_bad_runs(device: INnrtDevice, name: str, dims: tuple[int, ...]) -> None:
    apply, code = BAD_RUNS[name]
    if name == "dim" and dims[0] < 0:
        return  # those are good dims then, for an input that is too small
    inputs, outputs = good()
    apply(inputs, outputs)
    got, needed = prepared(device, add_model(dims)).Run(inputs, outputs)
    assert got is code
    assert needed == ([[3, 2, 2]] if code is C.INSUFFICIENT_BUFFER else [])


RUN_ORDER = ["one input", "data type", "format", "rank", "no memory", "no outputs", "output closed"]


@pytest.mark.parametrize(("first", "second"), [(a, b) for i, a in enumerate(RUN_ORDER) for b in RUN_ORDER[i + 1 :]])
def test_a_run_that_is_wrong_twice_gets_the_first_code(device: INnrtDevice, first: str, second: str) -> None:
    if (first, second) == ("no outputs", "output closed"):
        return
    inputs, outputs = good()
    BAD_RUNS[second][0](inputs, outputs)
    BAD_RUNS[first][0](inputs, outputs)
    assert prepared(device).Run(inputs, outputs)[0] is BAD_RUNS[first][1]


def test_no_format_fits_every_format(device: INnrtDevice) -> None:
    inputs, outputs = good()
    inputs[0].format = Format.NONE
    assert prepared(device).Run(inputs, outputs)[0] is C.SUCCESS


def test_a_failed_run_writes_nothing(device: INnrtDevice) -> None:
    inputs, outputs = good()
    outputs[0].data.dataSize = 47
    for dims in ((3, 2, 2), (-1, -1, -1)):
        prepared(device, add_model(dims)).Run(inputs, outputs)
        assert (outputs[0].data.owner.array == 0).all()


def test_offsets(device: INnrtDevice) -> None:
    """Inputs and output in one region; addresses that fit the type are bound, odd ones are copied."""
    model = prepared(device)
    for shift in (0, 1, 4):
        region = Region(300)
        array = region.array
        tensors = []
        for place, value in enumerate((1, 2, 0)):
            begin = shift + place * 100
            array[begin : begin + 48] = np.full(12, value, np.float32).view(np.uint8)
            tensors.append(IOTensor("", DataType.FLOAT32, [3, 2, 2], Format.NHWC, region.buffer(begin, 48)))
        assert model.Run(tensors[:2], tensors[2:])[0] is C.SUCCESS
        assert (array[shift + 200 : shift + 248].copy().view(np.float32) == 3).all()
        assert (array[shift + 248 :] == 0).all()


def test_an_output_over_an_input(device: INnrtDevice) -> None:
    """A shifted overlap: the result is that of separate buffers."""
    region = Region(96)
    region.array[:48] = np.arange(12, dtype=np.float32).view(np.uint8)
    x = IOTensor("", DataType.FLOAT32, [3, 2, 2], Format.NHWC, region.buffer(0, 48))
    out = IOTensor("", DataType.FLOAT32, [3, 2, 2], Format.NHWC, region.buffer(4, 48))
    assert prepared(device).Run([x, x], [out])[0] is C.SUCCESS
    assert region.array[4:52].copy().view(np.float32).tolist() == [2.0 * i for i in range(12)]


def test_outputs_that_overlap_are_refused(device: INnrtDevice) -> None:
    model = add_model()
    model.outputIndex = [2, 2]
    model.subGraph[0].outputIndices = [2, 2]
    ready = prepared(device, model)
    region = Region(96)
    inputs, _ = good()

    def outputs(second: int) -> list[IOTensor]:
        return [
            IOTensor("", DataType.FLOAT32, [3, 2, 2], Format.NHWC, region.buffer(begin, 48)) for begin in (0, second)
        ]

    assert ready.Run(inputs, outputs(44))[0] is C.INVALID_PARAMETER
    assert ready.Run(inputs, outputs(48))[0] is C.SUCCESS
    assert (region.array.view(np.float32) == 3).all()


def test_plain_files_serve_as_memory(device: INnrtDevice, tmp_path: Path) -> None:
    inputs, outputs = good()
    descriptors = []
    for place, tensor in enumerate([*inputs, *outputs]):
        fd = os.open(tmp_path / str(place), os.O_RDWR | os.O_CREAT)
        os.write(fd, bytes(tensor.data.owner.array))
        tensor.data = SharedBuffer(fd, 48, 0, 48)
        descriptors.append(fd)
    model = prepared(device)
    assert model.Run(inputs, outputs)[0] is C.SUCCESS
    assert (np.frombuffer((tmp_path / "2").read_bytes(), np.float32) == 3).all()
    os.truncate(tmp_path / "1", 10)
    assert model.Run(inputs, outputs)[0] is C.INVALID_PARAMETER
    os.truncate(tmp_path / "1", 48)
    os.truncate(tmp_path / "2", 10)
    assert model.Run(inputs, outputs)[0] is C.INVALID_PARAMETER
    for fd in descriptors:
        os.close(fd)


def test_read_only_memory_is_no_output(device: INnrtDevice, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(48))
    fd = os.open(tmp_path / "data", os.O_RDONLY)
    inputs, outputs = good()
    outputs[0].data = SharedBuffer(fd, 48, 0, 48)
    assert prepared(device).Run(inputs, outputs)[0] is C.INVALID_PARAMETER
    os.close(fd)


def test_bools_of_any_byte(device: INnrtDevice) -> None:
    model = add_model((4,), DataType.BOOL)
    model.nodes[0].nodeType = NodeType.LOGICAL_AND
    inputs = [io_tensor(np.array([1, 1, 0, 0], bool)), io_tensor(np.array([1, 0, 1, 0], bool))]
    inputs[0].data.owner.array[:] = [7, 255, 0, 0]
    out = out_tensor((4,), DataType.BOOL)
    assert prepared(device, model).Run(inputs, [out])[0] is C.SUCCESS
    assert out.data.owner.array.tolist() == [1, 0, 0, 0]


def test_runs_from_many_threads(device: INnrtDevice) -> None:
    model = prepared(device)
    failures: list[str] = []

    def work(number: int) -> None:
        x = np.full((3, 2, 2), number, np.float32)
        inputs, out = [io_tensor(x), io_tensor(x)], out_tensor((3, 2, 2))
        for _ in range(200):
            code, _ = model.Run(inputs, [out])
            if code is not C.SUCCESS or not (values(out) == 2 * number).all():
                failures.append(f"{number}: {code}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# -- dims that are open ------------------------------------------------------------------------------------------------


def test_ranges(device: INnrtDevice) -> None:
    assert prepared(device).GetInputDimRanges() == (C.SUCCESS, [[3, 2, 2]] * 2, [[3, 2, 2]] * 2)
    model = prepared(device, add_model((-1, 2, -1)))
    assert model.GetInputDimRanges() == (C.SUCCESS, [[1, 2, 1]] * 2, [[MAX_DIM, 2, MAX_DIM]] * 2)


def test_open_dims(device: INnrtDevice) -> None:
    model = prepared(device, add_model((-1, -1, -1)))
    for dims in [(3, 2, 2), (1, 1, 1), (5, 7, 2), (3, 2, 2)]:
        x = np.ones(dims, np.float32)
        out = out_tensor((10, 10, 10))
        code, needed = model.Run([io_tensor(x), io_tensor(2 * x)], [out])
        assert (code, needed) == (C.SUCCESS, [list(dims)])
        assert (values(out, list(dims)) == 3).all()


@pytest.mark.parametrize("dim", [0, -1, MAX_DIM + 1])
def test_open_dims_out_of_range(device: INnrtDevice, dim: int) -> None:
    inputs, outputs = good()
    inputs[0].dimensions = [dim, 2, 2]
    assert prepared(device, add_model((-1, 2, 2))).Run(inputs, outputs)[0] is C.OUT_OF_DIMENTION_RANGES


def test_too_small_for_open_dims_tells_the_dims(device: INnrtDevice) -> None:
    model = prepared(device, add_model((-1, 2, 2)))
    out = out_tensor((3, 2, 2), size=44)
    inputs = [io_tensor(ONE), io_tensor(ONE)]
    assert model.Run(inputs, [out]) == (C.INSUFFICIENT_BUFFER, [[3, 2, 2]])
    assert model.Run(inputs, [out_tensor((3, 2, 2))]) == (C.SUCCESS, [[3, 2, 2]])


def test_open_dims_that_contradict_each_other_fail(device: INnrtDevice) -> None:
    model = prepared(device, add_model((-1, 2, 2)))
    inputs = [io_tensor(np.ones((3, 2, 2), np.float32)), io_tensor(np.ones((4, 2, 2), np.float32))]
    assert model.Run(inputs, [out_tensor((4, 2, 2))])[0] is C.FAILED


# -- cache and stored models -------------------------------------------------------------------------------------------


def rich(device: INnrtDevice) -> IPreparedModel:
    """A model with a weight large enough to lie beside the graph."""
    weights = constant(np.arange(1200, dtype=np.float32), "weights")
    return prepared(device, one_node(AddFusion(), [Tensor("x", dims=[-1, 1200]), weights], [Tensor("y")]))


def test_cache_round_trip(device: INnrtDevice) -> None:
    model = rich(device)
    code, cache = model.ExportModelCache()
    assert code is C.SUCCESS
    assert len(cache) == 1
    assert cache == model.ExportModelCache()[1]
    _, other = device.PrepareModelFromModelCache(cache, ModelConfig())
    assert other is not None
    x = np.ones((2, 1200), np.float32)
    wanted = model.prepared.predict([x])["y"]
    assert (other.prepared.predict([x])["y"] == wanted).all()
    assert other.prepared.inputs == model.prepared.inputs
    again = other.ExportModelCache()[1]
    assert bytes(again[0].owner.array) == bytes(cache[0].owner.array)
    cache[0].owner.array[:] = 0
    assert (other.prepared.predict([x])["y"] == wanted).all()


def in_region(content: bytes) -> list[SharedBuffer]:
    region = Region(len(content))
    region.array[:] = memoryview(content)
    return [region.buffer()]


def test_a_number_of_buffers_other_than_one(device: INnrtDevice) -> None:
    cache = prepared(device).ExportModelCache()[1]
    for buffers in ([], cache * 2, [*cache, SharedBuffer()]):
        assert device.PrepareModelFromModelCache(buffers, ModelConfig(mode=9)) == (C.INVALID_MODEL_CACHE, None)
        assert device.PrepareOfflineModel(buffers, ModelConfig(mode=9)) == (C.INVALID_MODEL, None)


def test_buffers_that_cannot_be_read(device: INnrtDevice) -> None:
    cache = prepared(device).ExportModelCache()[1][0]
    size = cache.bufferSize
    for bad in (SharedBuffer(), SharedBuffer(cache.fd, size, 1, size), SharedBuffer(cache.fd, size + 1, 0, size)):
        assert device.PrepareModelFromModelCache([bad], ModelConfig(mode=9)) == (C.INVALID_BUFFER, None)
        assert device.PrepareOfflineModel([bad], ModelConfig(mode=9)) == (C.INVALID_BUFFER, None)


def test_damaged_caches(device: INnrtDevice) -> None:
    content = bytes(rich(device).ExportModelCache()[1][0].owner.array)
    places = [*range(0, 400, 7), *range(400, len(content), 997), len(content) - 1]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 0x40
        assert device.PrepareModelFromModelCache(in_region(bytes(damaged)), ModelConfig())[0] is C.INVALID_MODEL_CACHE
    for length in (1, 50, 72, 500, len(content) - 1):
        assert device.PrepareModelFromModelCache(in_region(content[:length]), ModelConfig())[0] is C.INVALID_MODEL_CACHE
        assert device.PrepareOfflineModel(in_region(content[:length]), ModelConfig())[0] is C.INVALID_MODEL


def test_a_cache_of_another_version(device: INnrtDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = prepared(device).ExportModelCache()[1]
    monkeypatch.setattr(pippin.nnrt.cache, "current_versions", lambda: ("0.1.0", "9.9.9"))
    assert device.PrepareModelFromModelCache(cache, ModelConfig())[0] is C.INVALID_MODEL_CACHE
    with pytest.raises(NnrtError, match="prepare the model again"):
        device.device.prepare_from_cache(cache)


def test_a_cache_for_another_device(device: INnrtDevice) -> None:
    cache = prepared(device).ExportModelCache()[1]
    other = INnrtDevice(Device("CPUExecutionProvider"))
    other.device.provider = "CUDAExecutionProvider"
    assert other.PrepareModelFromModelCache(cache, ModelConfig())[0] is C.INVALID_MODEL_CACHE


def test_stored_models(device: INnrtDevice) -> None:
    stored = in_region(model_bytes(add_model()))
    code, model = device.PrepareOfflineModel(stored, ModelConfig())
    assert code is C.SUCCESS
    assert model is not None
    add_run(model)
    assert device.PrepareModelFromModelCache(stored, ModelConfig()) == (C.INVALID_MODEL_CACHE, None)
    bad = add_model()
    bad.nodes = []
    assert device.PrepareOfflineModel(in_region(model_bytes(bad)), ModelConfig())[0] is C.INVALID_NODE


def test_export_a_hundred_times(device: INnrtDevice) -> None:
    model = prepared(device)
    assert all(model.ExportModelCache()[0] is C.SUCCESS for _ in range(100))


@pytest.mark.parametrize("given_back", [True, False])
def test_memory_that_nobody_has_any_more_goes(given_back: bool) -> None:
    """What is bound for the next run keeps no memory that was released, or whose buffers are gone."""
    device = Device()
    model = device.prepare(add_model())

    def maps() -> int:
        gc.collect()
        return sum(len(bound) for bound in model._bound.values()) + len(device._mappings)

    for _ in range(5):
        buffers = [device.allocate(48) for _ in range(3)]
        tensors = [IOTensor("", DataType.FLOAT32, [3, 2, 2], Format.NHWC, buffer) for buffer in buffers]
        for _ in range(2):
            model.run(tensors[:2], tensors[2:])
        assert maps() == 4  # three maps, one set
        if given_back:
            while buffers:
                device.release(buffers.pop())
            assert maps() == 0
        del buffers, tensors
    assert maps() == 0
    region = Region(4096)
    for offset in range(0, 1024, 4):
        tensors = [IOTensor("", DataType.FLOAT32, [3, 2, 2], Format.NHWC, region.buffer(offset + shift, 48))
                   for shift in (0, 48, 96)]  # fmt: skip
        model.run(tensors[:2], tensors[2:])
    assert len(model._bound) == BINDINGS
    assert len(model._watched) == 1
