"""Priorities and performance modes: what they do."""

from __future__ import annotations

import threading
import time

import pytest

from pippin.nnrt import config
from pippin.nnrt.device import Device
from pippin.nnrt.gate import Gate
from pippin.nnrt.types import DeviceStatus, PerformanceMode, Priority


def test_waiting_runs_go_by_priority_then_by_age() -> None:
    gate = Gate(1)
    gate.enter(Priority.LOW)
    order: list[tuple[Priority, int]] = []
    threads = []
    entries = [(Priority.LOW, 0), (Priority.NONE, 1), (Priority.HIGH, 2), (Priority.MEDIUM, 3), (Priority.HIGH, 4)]

    def work(entry: tuple[Priority, int]) -> None:
        with gate.admitted(entry[0]):
            order.append(entry)

    for number, entry in enumerate(entries, 1):
        thread = threading.Thread(target=work, args=(entry,))
        threads.append(thread)
        thread.start()
        while gate.waiting < number:
            time.sleep(0.001)
    gate.leave()
    for thread in threads:
        thread.join(10)
    assert [number for _, number in order] == [2, 4, 1, 3, 0]
    assert gate.waiting == 0


def test_as_many_at_a_time_as_there_are_places() -> None:
    gate = Gate(2)
    gate.enter(0)
    gate.enter(0)
    third = threading.Thread(target=lambda: gate.enter(Priority.HIGH))
    third.start()
    while not gate.waiting:
        time.sleep(0.001)
    assert third.is_alive()
    gate.leave()
    third.join(10)
    assert not third.is_alive()


def test_a_device_with_waiting_runs_is_busy() -> None:
    device = Device()
    for _ in range(config.cores()):
        device._gate.enter(0)
    assert device.status is DeviceStatus.AVAILABLE
    waiting = threading.Thread(target=lambda: device._gate.enter(0))
    waiting.start()
    while not device._gate.waiting:
        time.sleep(0.001)
    assert device.status is DeviceStatus.BUSY
    device._gate.leave()
    waiting.join(10)


@pytest.mark.parametrize(("mode", "threads"), [("NONE", None), ("LOW", 1), ("MEDIUM", 4), ("HIGH", 8), ("EXTREME", 8)])
def test_modes_choose_threads(mode: str, threads: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "cores", lambda: 8)
    assert config.threads(PerformanceMode[mode]) == threads
    assert bool(config.session_options(PerformanceMode[mode])) == (mode == "EXTREME")
