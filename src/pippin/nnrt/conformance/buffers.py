"""Shared memory: what the device gives out, and what it makes of memory that others made."""

from __future__ import annotations

import os
from typing import Any

from ..buffers import HAS_MEMFD, Region
from ..enums import DataType
from ..enums import ReturnCode as C
from ..types import IOTensor, ModelConfig, SharedBuffer, Tensor
from .models import DIMS, add_model, add_tensors, check_add, check_dims, constant, one_node
from .outcome import Failed, NotSupported
from .target import Target, values, view


def _prepared(target: Target) -> Any:
    target.need_model(add_model())
    return target.prepare(add_model())


def _allocate(length: int) -> Any:
    def check(target: Target) -> None:
        buffer = target.get("AllocateBuffer", length)
        found = (buffer.bufferSize, buffer.offset, buffer.dataSize)
        if buffer.fd < 0 or found != (length, 0, length):
            raise Failed(f"bufferSize, offset and dataSize must be {length}, 0 and {length}, got {found}")
        array = view(buffer)
        array[:] = 7
        if not (view(buffer) == 7).all():
            raise Failed("what is written through one map of the descriptor must be seen through another")
        target.expect("ReleaseBuffer", target.call("ReleaseBuffer", buffer)[0], C.SUCCESS)

    return check


def _allocate_refused(length: int, *codes: C) -> Any:
    def check(target: Target) -> None:
        code, results = target.call("AllocateBuffer", length)
        if codes:
            target.expect(f"AllocateBuffer({length})", code, *codes)
        else:
            target.expect_refusal(f"AllocateBuffer({length})", code)
        if results and results[0] is not None and results[0].fd != -1:
            raise Failed(f"the descriptor must stay -1, got {results[0].fd}")

    return check


def _release_nothing(target: Target) -> None:
    target.expect("ReleaseBuffer", target.call("ReleaseBuffer", SharedBuffer())[0], C.INVALID_BUFFER)


def _release_refused(target: Target) -> None:
    _, results = target.call("AllocateBuffer", 0)
    buffer = results[0] if results and results[0] is not None else SharedBuffer()
    target.expect_refusal("ReleaseBuffer of a failed allocation", target.call("ReleaseBuffer", buffer)[0])


def _release_twice(target: Target) -> None:
    buffer = target.get("AllocateBuffer", 64)
    target.expect("ReleaseBuffer", target.call("ReleaseBuffer", buffer)[0], C.SUCCESS)
    target.expect_refusal("a second ReleaseBuffer", target.call("ReleaseBuffer", buffer)[0])


def _release_one_of_two(target: Target) -> None:
    """Releasing one buffer leaves the others."""
    first, second = target.get("AllocateBuffer", 64), target.get("AllocateBuffer", 64)
    target.expect("ReleaseBuffer", target.call("ReleaseBuffer", first)[0], C.SUCCESS)
    target.expect("ReleaseBuffer", target.call("ReleaseBuffer", second)[0], C.SUCCESS)


def _own_memory(target: Target) -> None:
    """Memory that another process could have made: a memfd of ours."""
    import numpy as np

    prepared = _prepared(target)
    tensors = []
    for value in (1, 2, 0):
        region = Region(48)
        region.array[:] = np.full(12, value, np.float32).view(np.uint8)
        tensors.append(IOTensor("", DataType.FLOAT32, list(DIMS), data=region.buffer()))
    code, dims = target.run(prepared, tensors[:2], tensors[2:])
    target.expect("Run", code, C.SUCCESS)
    check_dims(dims, [DIMS])
    if not (values(tensors[2], DIMS) == 3).all():
        raise Failed("the result must stand in the caller's memory after Run")


def _offsets(target: Target) -> None:
    """Inputs and output in one region, each at an offset; nothing outside the output is touched."""
    import numpy as np

    prepared = _prepared(target)
    whole = target.buffer(448)
    array = view(whole)
    array[:] = 0
    tensors = []
    for begin, value in ((64, 1), (192, 2), (320, 0)):
        array[begin : begin + 48] = np.full(12, value, np.float32).view(np.uint8)
        data = SharedBuffer(whole.fd, whole.bufferSize, begin, 48, whole.owner)
        tensors.append(IOTensor("", DataType.FLOAT32, list(DIMS), data=data))
    target.expect("Run", target.run(prepared, tensors[:2], tensors[2:])[0], C.SUCCESS)
    if not (values(tensors[2], DIMS) == 3).all():
        raise Failed("the result must begin at the output's offset, and inputs be read from theirs")
    if array[:64].any() or array[368:].any():
        raise Failed("bytes outside the output must stay as they are")


def _run_again(target: Target) -> None:
    """New numbers in the same memory: nothing may be kept from the first run."""
    prepared = _prepared(target)
    inputs, outputs = add_tensors(target)
    target.expect("Run", target.run(prepared, inputs, outputs)[0], C.SUCCESS)
    raw = view(inputs[0].data)[:48]
    raw.view("float32")[:] = 5
    target.expect("Run", target.run(prepared, inputs, outputs)[0], C.SUCCESS)
    if not (values(outputs[0], DIMS) == 7).all():
        raise Failed(f"5 + 2 must be 7 in the second run, got {values(outputs[0], DIMS).reshape(-1)[:4].tolist()}")


def _inputs_stay(target: Target) -> None:
    prepared = _prepared(target)
    inputs, outputs = add_tensors(target)
    target.expect("Run", target.run(prepared, inputs, outputs)[0], C.SUCCESS)
    for tensor, number in zip(inputs, (1, 2), strict=True):
        if not (values(tensor, DIMS) == number).all():
            raise Failed("an input must be what it was before the run")


def _other_file(target: Target) -> None:
    """A descriptor number that means other memory now: the old map must not be used."""
    import numpy as np

    if not HAS_MEMFD:
        raise NotSupported("there are no memfds here")
    prepared = _prepared(target)
    _, outputs = add_tensors(target)
    two = target.tensor(np.full(DIMS, 2, np.float32))
    for value in (1, 4):
        region = Region(48)
        region.array[:] = np.full(12, value, np.float32).view(np.uint8)
        tensor = IOTensor("", DataType.FLOAT32, list(DIMS), data=region.buffer())
        target.expect("Run", target.run(prepared, [tensor, two], outputs)[0], C.SUCCESS)
        if not (values(outputs[0], DIMS) == value + 2).all():
            raise Failed("a descriptor that was closed and opened anew must be looked at anew")
        region.close()


def _constants_are_copied(target: Target) -> None:
    import numpy as np

    weights = constant(target, np.full(DIMS, 2, np.float32), "w")
    tensors = [Tensor("x", DataType.FLOAT32, list(DIMS)), weights]
    model = one_node(_add(), tensors, [Tensor("out", DataType.FLOAT32, list(DIMS))])
    target.need_model(model)
    prepared = target.prepare(model)
    view(weights.data)[:] = 0
    inputs, outputs = add_tensors(target)
    target.expect("Run", target.run(prepared, inputs[:1], outputs)[0], C.SUCCESS)
    if not (values(outputs[0], DIMS) == 3).all():
        raise Failed("a constant that is changed after PrepareModel must not change the model")


def _add() -> Any:
    from ..attributes import AddFusion

    return AddFusion()


def _constant_beyond(target: Target) -> None:
    import numpy as np

    weights = constant(target, np.ones(DIMS, np.float32), "w")
    weights.data.offset = weights.data.bufferSize
    tensors = [Tensor("x", DataType.FLOAT32, list(DIMS)), weights]
    model = one_node(_add(), tensors, [Tensor("out", DataType.FLOAT32, list(DIMS))])
    target.need_model(add_model())
    target.expect("PrepareModel", target.call("PrepareModel", model, ModelConfig())[0], C.MEMORY_ERROR)


def _wrong_kind(kind: str) -> Any:
    """A descriptor that is no memory, as input, as output and as constant: refusals, and no harm."""

    def check(target: Target) -> None:
        if not HAS_MEMFD:
            raise NotSupported("descriptors are only numbers here")
        prepared = _prepared(target)
        fds = list(os.pipe()) if kind == "pipe" else [os.open("/" if kind == "directory" else os.devnull, os.O_RDONLY)]
        try:
            bad = SharedBuffer(fds[0], 48, 0, 48)
            for place in (0, 2):
                inputs, outputs = add_tensors(target)
                [*inputs, *outputs][place].data = bad
                target.expect_refusal(f"Run with a {kind}", target.run(prepared, inputs, outputs)[0])
            model = add_model()
            model.inputIndex = model.subGraph[0].inputIndices = [0]
            model.allTensors[1].data = bad
            target.expect_refusal(f"PrepareModel with a {kind}", target.call("PrepareModel", model, ModelConfig())[0])
        finally:
            for fd in fds:
                os.close(fd)

    return check


def _too_short(target: Target) -> None:
    """bufferSize claims more than there is."""
    prepared = _prepared(target)
    for place in (0, 2):
        inputs, outputs = add_tensors(target)
        small = Region(16)
        [*inputs, *outputs][place].data = SharedBuffer(small.fd, 48, 0, 48, small)
        target.expect_refusal("Run with 16 bytes that claim to be 48", target.run(prepared, inputs, outputs)[0])


def _output_over_input(target: Target) -> None:
    """An output that lies partly over an input: the right numbers, or a refusal."""
    import numpy as np

    prepared = _prepared(target)
    region = Region(128)
    region.array[:48] = np.arange(12, dtype=np.float32).view(np.uint8)
    x = IOTensor("", DataType.FLOAT32, list(DIMS), data=region.buffer(0, 48))
    out = IOTensor("", DataType.FLOAT32, list(DIMS), data=region.buffer(4, 48))
    code, _ = target.run(prepared, [x, x], [out])
    if code == C.SUCCESS and values(out, DIMS).reshape(-1).tolist() != [2.0 * i for i in range(12)]:
        raise Failed("an output over an input must give the same numbers as memory of its own, or a refusal")


def _many_buffers(target: Target) -> None:
    prepared = _prepared(target)
    for _ in range(100):
        check_add(target, prepared)


def cases() -> list[Any]:
    """The cases of this group."""
    return [
        ("AllocateBuffer of 48 bytes", _allocate(48)),
        ("AllocateBuffer of 1 byte", _allocate(1), "text"),
        ("AllocateBuffer of 3 MB", _allocate(3_000_000), "text"),
        ("AllocateBuffer of 0 bytes", _allocate_refused(0)),
        ("AllocateBuffer of 4294967295 bytes", _allocate_refused(0xFFFFFFFF, C.OUT_OF_MEMORY)),
        ("ReleaseBuffer of no descriptor", _release_nothing),
        ("ReleaseBuffer of a failed allocation", _release_refused),
        ("ReleaseBuffer twice", _release_twice, "text"),
        ("ReleaseBuffer leaves other buffers", _release_one_of_two, "text"),
        ("memory that the caller made", _own_memory, "text"),
        ("offsets in one region", _offsets, "text"),
        ("the same memory again", _run_again, "text"),
        ("inputs stay as they are", _inputs_stay, "text"),
        ("a descriptor number that is used again", _other_file, "Pippin"),
        ("100 runs, each with new buffers", _many_buffers, "Pippin"),
        ("constants are copied", _constants_are_copied, "text"),
        ("a constant beyond its memory", _constant_beyond, "sample"),
        ("a pipe for memory", _wrong_kind("pipe"), "Pippin"),
        ("a directory for memory", _wrong_kind("directory"), "Pippin"),
        ("a device file for memory", _wrong_kind("device file"), "Pippin"),
        ("memory shorter than bufferSize", _too_short, "Pippin"),
        ("an output that overlaps an input", _output_over_input, "Pippin"),
    ]
