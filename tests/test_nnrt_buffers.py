"""Shared buffers: regions, mapping without a copy, and descriptors that are not what they should be."""

from __future__ import annotations

import gc
import os
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from pippin.nnrt import buffers
from pippin.nnrt.buffers import MAX_LENGTH, Mappings, Region
from pippin.nnrt.errors import NnrtError
from pippin.nnrt.types import ReturnCode, SharedBuffer

CODE = ReturnCode.MEMORY_ERROR
memfd_only = pytest.mark.skipif(not buffers.HAS_MEMFD, reason="there are no memfds here")


@pytest.fixture(params=["memfd", "anonymous"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "anonymous":
        monkeypatch.setattr(buffers, "HAS_MEMFD", False)
    elif not buffers.HAS_MEMFD:
        pytest.skip("there are no memfds here")
    return str(request.param)


def refused(maps: Mappings, buffer: SharedBuffer, text: str, *, write: bool = False) -> None:
    with pytest.raises(NnrtError, match=text) as caught:
        maps.write(buffer, CODE) if write else maps.read(buffer, CODE)
    assert caught.value.code is CODE


def test_a_region_is_shared_memory(kind: str) -> None:
    region = Region(100)
    buffer = region.buffer(8, 16)
    assert (buffer.fd, buffer.bufferSize, buffer.offset, buffer.dataSize) == (region.fd, 100, 8, 16)
    maps = Mappings()
    window = maps.write(buffer, CODE)
    assert window.direct
    window.array[:] = np.arange(16)
    assert region.array[8:24].tolist() == list(range(16))
    assert region.array[24:].sum() == 0
    assert maps.read(buffer, CODE).array.tolist() == list(range(16))


def test_lengths(kind: str) -> None:
    empty, large = ReturnCode.INVALID_PARAMETER, ReturnCode.OUT_OF_MEMORY
    for length, code in [(0, empty), (-1, empty), (MAX_LENGTH + 1, large), (0xFFFFFFFF, large)]:
        with pytest.raises(NnrtError) as caught:
            Region(length)
        assert caught.value.code is code


def test_a_region_lives_as_long_as_its_buffers(kind: str) -> None:
    buffer = Region(10).buffer()
    gc.collect()
    assert Mappings().read(buffer, CODE).array.size == 10
    fd = buffer.fd
    del buffer
    gc.collect()
    refused(Mappings(), SharedBuffer(fd, 10, 0, 10), "not open|no buffer")


def test_closing(kind: str) -> None:
    region = Region(10)
    array = region.array
    region.close()
    region.close()
    assert region.closed
    array[:] = 1
    refused(Mappings(), region.buffer(), "not open|no buffer")


@pytest.mark.parametrize(
    ("size", "offset", "used"),
    [(100, 90, 11), (100, 101, 0), (101, 0, 101), (0, 0, 0), (100, -1, 10), (100, 0, -1), (1 << 40, 0, 10),
     (100, 0xFFFFFFFF, 0xFFFFFFFF)],
)  # fmt: skip
def test_sizes_and_offsets(kind: str, size: int, offset: int, used: int) -> None:
    region = Region(100)
    refused(Mappings(), SharedBuffer(region.fd, size, offset, used), "must")


@memfd_only
def test_a_descriptor_number_that_means_another_file_now() -> None:
    maps = Mappings()
    first = Region(16)
    fd = first.fd
    first.array[:] = 7
    assert maps.read(first.buffer(), CODE).array[0] == 7
    first.close()
    second = Region(16)
    if second.fd != fd:
        os.dup2(second.fd, fd)
    second.array[:] = 9
    assert maps.read(SharedBuffer(fd, 16, 0, 16), CODE).array[0] == 9
    if second.fd != fd:
        os.close(fd)


@memfd_only
def test_maps_are_kept_and_bounded() -> None:
    maps = Mappings(limit=4)
    region = Region(16)
    first = maps.read(region.buffer(), CODE).array
    assert maps.read(region.buffer(), CODE).array.ctypes.data == first.ctypes.data
    regions = [Region(16) for _ in range(10)]
    for other in regions:
        maps.read(other.buffer(), CODE)
    assert len(maps) == 4
    maps.forget(regions[-1].fd)
    assert len(maps) == 3
    maps.clear()
    assert len(maps) == 0


@memfd_only
def test_a_foreign_memfd_is_sealed_and_cannot_shrink() -> None:
    fd = os.memfd_create("foreign", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 4096)
    assert Mappings().read(SharedBuffer(fd, 4096, 0, 4096), CODE).direct
    with pytest.raises(PermissionError):
        os.ftruncate(fd, 10)
    os.close(fd)


@memfd_only
@pytest.mark.parametrize("kind_of_file", ["memfd without sealing", "plain file"])
def test_a_file_that_shrinks_is_a_code_not_a_signal(kind_of_file: str, tmp_path: Path) -> None:
    if kind_of_file == "plain file":
        fd = os.open(tmp_path / "data", os.O_RDWR | os.O_CREAT)
    else:
        fd = os.memfd_create("bare", os.MFD_CLOEXEC)
    os.ftruncate(fd, 8192)
    os.pwrite(fd, b"\5" * 8192, 0)
    maps = Mappings()
    buffer = SharedBuffer(fd, 8192, 4096, 4096)
    window = maps.read(buffer, CODE)
    assert not window.direct
    assert (window.array == 5).all()
    out = maps.write(buffer, CODE)
    os.ftruncate(fd, 10)
    refused(maps, buffer, "bytes behind descriptor")
    out.array[:] = 1
    assert out.commit is not None
    out.commit()
    os.close(fd)


@memfd_only
def test_a_memfd_that_grows_is_seen() -> None:
    fd = os.memfd_create("grows", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 10)
    maps = Mappings()
    assert maps.read(SharedBuffer(fd, 10, 0, 10), CODE).direct
    os.ftruncate(fd, 20)
    assert maps.read(SharedBuffer(fd, 20, 10, 10), CODE).array.size == 10
    os.close(fd)


@memfd_only
def test_descriptors_of_the_wrong_kind(tmp_path: Path) -> None:
    maps = Mappings()
    reader, writer = os.pipe()
    folder = os.open(tmp_path, os.O_RDONLY)
    null = os.open(os.devnull, os.O_RDWR)
    left, right = socket.socketpair()
    for fd, text in [(reader, "pipe"), (folder, "directory"), (null, "character device"), (left.fileno(), "socket"),
                     (-1, "not open"), (987654, "not open"), (1 << 70, "not open|no buffer")]:  # fmt: skip
        refused(maps, SharedBuffer(fd, 10, 0, 10), text)
    for fd in (reader, writer, folder, null):
        os.close(fd)
    left.close()
    right.close()


@memfd_only
def test_descriptors_open_one_way(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(range(16)))
    maps = Mappings()
    only_read = os.open(path, os.O_RDONLY)
    assert maps.read(SharedBuffer(only_read, 16, 4, 4), CODE).array.tolist() == [4, 5, 6, 7]
    refused(maps, SharedBuffer(only_read, 16, 0, 16), "cannot be written", write=True)
    os.close(only_read)
    only_write = os.open(path, os.O_WRONLY)
    refused(maps, SharedBuffer(only_write, 16, 0, 16), "cannot be read")
    os.close(only_write)


@memfd_only
@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors under /proc")
def test_nothing_leaks() -> None:
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    maps = Mappings(limit=4)
    before = opened()
    for _ in range(300):
        region = Region(4096)
        maps.read(region.buffer(), CODE)
        maps.write(region.buffer(), CODE)
        del region
    maps.clear()
    gc.collect()
    assert opened() <= before
