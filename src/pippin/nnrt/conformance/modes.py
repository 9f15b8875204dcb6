"""Performance modes, priorities, half precision, extensions, and many threads."""

from __future__ import annotations

import threading
from typing import Any

from ..enums import PerformanceMode, Priority
from ..enums import ReturnCode as C
from ..types import ModelConfig
from .models import add_model, check_add
from .outcome import Failed
from .target import Target

PAIRS = [(mode, priority) for mode in PerformanceMode for priority in Priority]


def _pair(mode: PerformanceMode, priority: Priority) -> Any:
    def check(target: Target) -> None:
        target.need_model(add_model())
        if mode is not PerformanceMode.NONE:
            target.need("IsPerformanceModeSupported", "performance mode")
        if priority is not Priority.NONE:
            target.need("IsPrioritySupported", "priority")
        config = ModelConfig(mode=mode, priority=priority)
        check_add(target, target.prepare(add_model(), config, what=f"PrepareModel with {mode.name}, {priority.name}"))

    return check


def _ranges_count(config: ModelConfig, code: C) -> Any:
    """A number out of range is refused whatever the flags say."""

    def check(target: Target) -> None:
        target.need_model(add_model())
        target.expect("PrepareModel", target.call("PrepareModel", add_model(), config)[0], code)

    return check


def _half(target: Target) -> None:
    target.need("IsFloat16PrecisionSupported", "half precision")
    target.need_model(add_model())
    check_add(target, target.prepare(add_model(), ModelConfig(enableFloat16=True)))


def _extensions(target: Target) -> None:
    """Names that a device does not know are ignored."""
    target.need_model(add_model())
    config = ModelConfig(extensions={"nobody.knows.this": b"\0\1\2", "": b"x"})
    check_add(target, target.prepare(add_model(), config, what="PrepareModel with extensions of others"))


def _threads(many: bool) -> Any:
    """Four threads that run one prepared model, or prepare one each and run it."""

    def check(target: Target) -> None:
        target.need_model(add_model())
        shared = None if many else target.prepare(add_model())
        problems: list[str] = []

        def work() -> None:
            own = Target(target.raw, target.tolerance)
            try:
                for _ in range(10):
                    check_add(own, shared if shared is not None else own.prepare(add_model()))
            except Failed as error:
                problems.append(str(error))
            finally:
                own.release()

        threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise Failed(problems[0])

    return check


def cases() -> list[Any]:
    """The cases of this group."""
    found: list[Any] = [
        (f"mode {mode.name}, priority {priority.name}", _pair(mode, priority)) for mode, priority in PAIRS
    ]
    found += [
        ("float16: 1 + 2 is 3", _half),
        ("extensions that nobody knows", _extensions, "sample"),
        ("one model, four threads", _threads(False)),
        ("a model each for four threads", _threads(True)),
        ("mode 5 with a priority", _ranges_count(ModelConfig(mode=5, priority=1), C.INVALID_PERFORMANCE_MODE)),
        ("priority 4 with a mode", _ranges_count(ModelConfig(mode=1, priority=4), C.INVALID_PRIORITY)),
    ]
    return found
