"""Memory and attributes that nobody meant well, through the interface: codes, in processes that must live on."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnrt_models import add_model, io_tensor, one_node, out_tensor
from pippin.nnrt.attributes import REGISTRY
from pippin.nnrt.buffers import HAS_MEMFD, Region
from pippin.nnrt.hdi import INnrtDevice, IPreparedModel
from pippin.nnrt.types import ModelConfig, ReturnCode, SharedBuffer, Tensor

C = ReturnCode
ONE = np.ones((3, 2, 2), np.float32)
DEVICE = INnrtDevice()

needs_memfd = pytest.mark.skipif(not HAS_MEMFD, reason="descriptors are only numbers here")


@pytest.fixture(scope="module")
def prepared() -> IPreparedModel:
    model = DEVICE.PrepareModel(add_model(), ModelConfig())[1]
    assert model is not None
    return model


# -- attributes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("node_type", sorted(REGISTRY), ids=lambda kind: kind.name)
def test_blobs_cut_anywhere(node_type: Any) -> None:
    blob = REGISTRY[node_type]().to_bytes()
    model = one_node(REGISTRY[node_type](), [Tensor("x", dims=[2, 3])], [Tensor("y")])
    for length in range(len(blob)):
        model.nodes[0].nodeAttr = blob[:length]
        code, _ = DEVICE.PrepareModel(model, ModelConfig())
        assert code is not C.SUCCESS or _reads_the_same(node_type, blob[:length], blob)
        assert code in (C.SUCCESS, C.INVALID_NODE, C.INVALID_MODEL)


def _reads_the_same(node_type: Any, cut: bytes, whole: bytes) -> bool:
    """Enums were written with 4 bytes once, and lists may end the blob: some cuts lose padding alone."""
    from pippin.nnrt.parcel import decode

    return decode(node_type, cut) == decode(node_type, whole)


@pytest.mark.parametrize("node_type", sorted(REGISTRY), ids=lambda kind: kind.name)
def test_blobs_full_of_ones(node_type: Any) -> None:
    """Counts, lengths and enums as large as they can be."""
    for size in (8, 16, 64, 256):
        model = one_node(REGISTRY[node_type](), [Tensor("x", dims=[2, 3])], [Tensor("y")])
        model.nodes[0].nodeAttr = b"\xff" * size
        code, _ = DEVICE.PrepareModel(model, ModelConfig())
        assert code in (C.SUCCESS, C.INVALID_NODE, C.INVALID_MODEL)


# -- descriptors -------------------------------------------------------------------------------------------------------


def descriptors(folder: Path) -> Iterator[tuple[str, int]]:
    """Open descriptors that are no memory of 48 bytes to read and write."""
    first, second = os.pipe()
    left, right = socket.socketpair()
    (folder / "file").write_bytes(bytes(48))
    (folder / "short").write_bytes(bytes(8))
    opened = [
        ("pipe", first), ("pipe to write", second), ("socket", os.dup(left.fileno())),
        ("directory", os.open(folder, os.O_RDONLY)), ("device", os.open(os.devnull, os.O_RDWR)),
        ("endless device", os.open("/dev/zero", os.O_RDWR)), ("short file", os.open(folder / "short", os.O_RDWR)),
        ("path only", os.open(folder / "file", os.O_PATH)), ("write only", os.open(folder / "file", os.O_WRONLY)),
        ("empty memfd", os.memfd_create("empty")), ("short memfd", _short_memfd()),
    ]  # fmt: skip
    if hasattr(os, "eventfd"):
        opened.append(("event", os.eventfd(0)))
    if hasattr(os, "pidfd_open"):
        opened.append(("process", os.pidfd_open(os.getpid())))
    try:
        yield from opened
        yield "closed", 1 << 20
        yield "negative", -7
        yield "huge", 1 << 40
    finally:
        for _, fd in opened:
            os.close(fd)
        left.close()
        right.close()


def _short_memfd() -> int:
    fd = os.memfd_create("short")
    os.ftruncate(fd, 16)
    return fd


@needs_memfd
@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="another system")
def test_descriptors_of_the_wrong_kind_or_size(prepared: IPreparedModel, tmp_path: Path) -> None:
    for kind, fd in descriptors(tmp_path):
        buffer = SharedBuffer(fd, 48, 0, 48)
        for place in (0, 1, 2):
            inputs, outputs = [io_tensor(ONE), io_tensor(ONE)], [out_tensor((3, 2, 2))]
            [*inputs, *outputs][place].data = buffer
            code, _ = prepared.Run(inputs, outputs)
            assert code is C.INVALID_PARAMETER, (kind, place)
        if fd == -1:
            continue
        model = add_model()
        model.allTensors[1].data = buffer
        assert DEVICE.PrepareModel(model, ModelConfig())[0] is C.MEMORY_ERROR, kind
        assert DEVICE.PrepareModelFromModelCache([buffer], ModelConfig())[0] is C.INVALID_BUFFER, kind
        assert DEVICE.PrepareOfflineModel([buffer], ModelConfig())[0] is C.INVALID_BUFFER, kind
        assert DEVICE.ReleaseBuffer(buffer) is C.INVALID_BUFFER, kind


SIZES = [-1, 0, 1, 47, 48, 49, 4096, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 63]


@pytest.mark.parametrize("size", SIZES)
def test_sizes_of_every_kind(prepared: IPreparedModel, size: int) -> None:
    """bufferSize, offset and dataSize of 48 bytes claimed in every way; only what fits is taken."""
    for offset in SIZES:
        for used in SIZES:
            inputs, outputs = [io_tensor(ONE), io_tensor(ONE)], [out_tensor((3, 2, 2))]
            data = inputs[0].data
            inputs[0].data = SharedBuffer(data.fd, size, offset, used, data.owner)
            code, _ = prepared.Run(inputs, outputs)
            assert code is (C.SUCCESS if (size, offset, used) == (48, 0, 48) else C.INVALID_PARAMETER)
            room = outputs[0].data
            outputs[0].data = SharedBuffer(room.fd, size, offset, used, room.owner)
            code, _ = prepared.Run([io_tensor(ONE), io_tensor(ONE)], outputs)
            good = size == 48 and offset == 0 and used in (0, 48)
            small = 0 < size <= 48 and offset >= 0 and used >= 0 and offset + used <= size and not good
            assert code is (C.SUCCESS if good else C.INSUFFICIENT_BUFFER if small else C.INVALID_PARAMETER)


@needs_memfd
def test_memory_that_may_not_be_written(prepared: IPreparedModel) -> None:
    """A memfd whose owner sealed it against writing serves as input and not as output."""
    import fcntl

    fd = os.memfd_create("sealed", os.MFD_ALLOW_SEALING)
    os.write(fd, ONE.tobytes())
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK)
    buffer = SharedBuffer(fd, 48, 0, 48)
    inputs, outputs = [io_tensor(ONE), io_tensor(ONE)], [out_tensor((3, 2, 2))]
    inputs[0].data = buffer
    assert prepared.Run(inputs, outputs)[0] is C.SUCCESS
    outputs[0].data = buffer
    assert prepared.Run([io_tensor(ONE)] * 2, outputs)[0] is C.INVALID_PARAMETER
    os.close(fd)


SHRINKING = """
import os, sys, tempfile, threading, time
import numpy as np
from nnrt_models import add_model, io_tensor, out_tensor
from pippin.nnrt.hdi import INnrtDevice
from pippin.nnrt.types import ModelConfig, ReturnCode, SharedBuffer
SIZE = 1 << 20
dims = (SIZE // 4,)
def plain(_):
    return os.open(tempfile.mktemp(), os.O_RDWR | os.O_CREAT)
make = {"plain file": plain, "memfd": lambda _: os.memfd_create("m"),
        "memfd that allows sealing": lambda _: os.memfd_create("m", os.MFD_ALLOW_SEALING)}[sys.argv[1]]
fds = [make(i) for i in range(3)]
device = INnrtDevice()
ready = device.PrepareModel(add_model(dims), ModelConfig())[1]
stop = False
def cut():
    while not stop:
        for fd in fds:
            for size in (0, 4096, SIZE):
                try:
                    os.ftruncate(fd, size)
                except OSError:
                    pass
thread = threading.Thread(target=cut)
thread.start()
codes = set()
end = time.monotonic() + 1.5
while time.monotonic() < end:
    inputs, outputs = [io_tensor(np.ones(dims, np.float32)) for _ in range(2)], [out_tensor(dims)]
    for tensor, fd in zip([*inputs, *outputs], fds):
        tensor.data = SharedBuffer(fd, SIZE, 0, SIZE)
    codes.add(ready.Run(inputs, outputs)[0])
    model = add_model(dims)
    model.inputIndex = model.subGraph[0].inputIndices = [0]
    model.allTensors[1].data = SharedBuffer(fds[0], SIZE, 0, SIZE)
    codes.add(device.PrepareModel(model, ModelConfig())[0])
    codes.add(device.PrepareModelFromModelCache([SharedBuffer(fds[1], SIZE, 0, SIZE)], ModelConfig())[0])
stop = True
thread.join()
print(*sorted(code.name for code in codes))
"""


@needs_memfd
@pytest.mark.parametrize("kind", ["plain file", "memfd", "memfd that allows sealing"])
def test_files_that_shrink_while_they_are_in_use(kind: str) -> None:
    """In a process of its own, which must end well: a page that is gone would be a signal."""
    paths = [str(Path(__file__).parent), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", SHRINKING, kind],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    codes = set(done.stdout.split())
    assert codes <= {"SUCCESS", "INVALID_PARAMETER", "MEMORY_ERROR", "INVALID_BUFFER", "INVALID_MODEL_CACHE"}
    if kind != "memfd that allows sealing":  # those are sealed when they are first seen, and then cannot shrink
        assert codes & {"INVALID_PARAMETER", "MEMORY_ERROR", "INVALID_BUFFER"}, codes


# -- flat --------------------------------------------------------------------------------------------------------------


def resident() -> float:
    """Megabytes that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="another system")
def test_runs_and_rounds_leave_memory_and_descriptors_flat(prepared: IPreparedModel) -> None:
    def rounds(count: int) -> None:
        for _ in range(count):
            model = DEVICE.PrepareModel(add_model(), ModelConfig())[1]
            assert model is not None
            buffer = DEVICE.AllocateBuffer(48)[1]
            inputs, outputs = [io_tensor(ONE), io_tensor(ONE)], [out_tensor((3, 2, 2))]
            inputs[0].data = buffer
            assert model.Run(inputs, outputs)[0] is C.SUCCESS
            model.ExportModelCache()
            DEVICE.ReleaseBuffer(buffer)
        gc.collect()

    inputs, outputs = [io_tensor(ONE), io_tensor(ONE)], [out_tensor((3, 2, 2))]
    rounds(50)
    before = resident(), len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(10_000):
        assert prepared.Run(inputs, outputs)[0] is C.SUCCESS
    rounds(100)
    after = resident(), len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    assert after[0] - before[0] < 6
    assert after[1] == before[1]


def test_a_region_that_is_dropped_gives_its_descriptor_back() -> None:
    region = Region(10)
    fd = region.fd
    del region
    gc.collect()
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(fd)
