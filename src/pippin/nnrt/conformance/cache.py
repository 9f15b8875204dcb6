"""Exported caches and stored models: whole, damaged, in the wrong number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..attributes import SubFusion
from ..enums import NodeType, PerformanceMode, Priority
from ..enums import ReturnCode as C
from ..types import ModelConfig, SharedBuffer
from .models import DIMS, add_model, add_tensors, check_add
from .outcome import Failed
from .target import Target, values, view

FROM_CACHE, OFFLINE = "PrepareModelFromModelCache", "PrepareOfflineModel"
CODES = {FROM_CACHE: C.INVALID_MODEL_CACHE, OFFLINE: C.INVALID_MODEL}


def _exported(target: Target, config: ModelConfig | None = None) -> tuple[Any, list[SharedBuffer]]:
    target.need("IsModelCacheSupported", "model cache")
    target.need_model(add_model())
    prepared = target.prepare(add_model(), config)
    buffers = target.get("ExportModelCache", on=prepared)
    if not isinstance(buffers, Sequence) or not buffers:
        raise Failed(f"ExportModelCache must answer at least one buffer, got {buffers!r}")
    return prepared, list(buffers)


def _again(method: str) -> Any:
    def check(target: Target) -> None:
        prepared, buffers = _exported(target)
        code, results = target.call(method, buffers, ModelConfig())
        other = target.prepared(method, code, results)
        check_add(target, other)
        check_add(target, prepared)

    return check


def _two(method: str) -> Any:
    """Caches of two models with the same inputs and outputs: x + y and x - y."""

    def check(target: Target) -> None:
        _, first = _exported(target)
        model = add_model()
        model.nodes[0].nodeType, model.nodes[0].nodeAttr = NodeType.SUB_FUSION, SubFusion().to_bytes()
        target.need_model(model)
        second = target.get("ExportModelCache", on=target.prepare(model))
        made = []
        for buffers in (first, second):
            code, results = target.call(method, buffers, ModelConfig())
            made.append(target.prepared(method, code, results))
        check_add(target, made[0])
        inputs, outputs = add_tensors(target)
        target.expect("Run", target.run(made[1], inputs, outputs)[0], C.SUCCESS)
        if not (values(outputs[0], DIMS) == -1).all():
            raise Failed("of two caches each must give the model that it was exported from")

    return check


def _configurations(method: str, half: bool) -> Any:
    """Every mode and priority."""

    def check(target: Target) -> None:
        if half:
            target.need("IsFloat16PrecisionSupported", "half precision")
        _, buffers = _exported(target, ModelConfig(enableFloat16=half))
        for mode in PerformanceMode:
            for priority in Priority:
                code, results = target.call(method, buffers, ModelConfig(half, mode, priority))
                check_add(target, target.prepared(f"{method} with {mode.name} and {priority.name}", code, results))

    return check


def _hundred(target: Target) -> None:
    prepared, buffers = _exported(target)
    for _ in range(99):
        again = target.get("ExportModelCache", on=prepared)
        if len(again) != len(buffers):
            raise Failed(f"each export must answer {len(buffers)} buffers, got {len(again)}")


def _survives(target: Target) -> None:
    """The buffers are overwritten once a model is made from them."""
    _, buffers = _exported(target)
    copies = [_copy(target, buffer) for buffer in buffers]
    code, results = target.call(FROM_CACHE, copies, ModelConfig())
    other = target.prepared(FROM_CACHE, code, results)
    for buffer in copies:
        view(buffer)[:] = 0
    check_add(target, other)


def _copy(target: Target, buffer: SharedBuffer, cut: int = 0, flip: int | None = None) -> SharedBuffer:
    """The bytes of a buffer in memory of their own, without the last ``cut``, with one bit flipped."""
    content = view(buffer)[buffer.offset : buffer.offset + buffer.dataSize].copy()
    if flip is not None:
        content[flip % len(content)] ^= 0x40
    return target.filled(content[: max(len(content) - cut, 1)])


def _number(method: str, change: str) -> Any:
    def check(target: Target) -> None:
        _, buffers = _exported(target)
        chosen = {
            "none": [],
            "one more": [*buffers, SharedBuffer()],
            "one less": buffers[: len(buffers) * 9 // 10],
        }[change]
        code, _ = target.call(method, chosen, ModelConfig())
        target.expect(f"{method} with {len(chosen)} buffers for {len(buffers)}", code, CODES[method])

    return check


def _bad_memory(method: str) -> Any:
    def check(target: Target) -> None:
        _, buffers = _exported(target)
        size = buffers[0].bufferSize
        bad = SharedBuffer(buffers[0].fd, size, 1, size, buffers[0].owner)
        code, _ = target.call(method, [bad, *buffers[1:]], ModelConfig())
        target.expect(f"{method} with a range beyond the memory", code, C.INVALID_BUFFER)

    return check


def _damaged(method: str) -> Any:
    """A bit flipped here and there, and cut content: refused, or as good as before."""

    def check(target: Target) -> None:
        _, buffers = _exported(target)
        size = buffers[0].dataSize
        changes: list[dict[str, int]] = [{"flip": place} for place in (0, 9, size // 3, size // 2, size - 1)]
        changes += [{"cut": cut} for cut in (1, size // 2, size - 1)]
        for change in changes:
            bad = _copy(target, buffers[0], **change)
            code, results = target.call(method, [bad, *buffers[1:]], ModelConfig())
            if code == C.SUCCESS:
                check_add(target, target.prepared(method, code, results))
            else:
                target.expect(f"{method} of a cache with {change}", code, CODES[method])

    return check


def _wrong_config(method: str) -> Any:
    def check(target: Target) -> None:
        _, buffers = _exported(target)
        for config, code in (
            (ModelConfig(mode=5), C.INVALID_PERFORMANCE_MODE),
            (ModelConfig(mode=-1, priority=4), C.INVALID_PERFORMANCE_MODE),
            (ModelConfig(priority=4), C.INVALID_PRIORITY),
            (ModelConfig(priority=-1), C.INVALID_PRIORITY),
        ):
            target.expect(f"{method} with {config}", target.call(method, buffers, config)[0], code)

    return check


def cases() -> list[Any]:
    """The cases of this group."""
    found: list[Any] = [("100 exports", _hundred), ("the buffers may be overwritten afterwards", _survives, "text")]
    for method, word in ((FROM_CACHE, "cache"), (OFFLINE, "offline")):
        found += [
            (f"{word}: exported and made again", _again(method)),
            (f"{word}: of two models", _two(method), "text"),
            (f"{word}: every mode and priority", _configurations(method, False)),
            (f"{word}: every mode and priority in half precision", _configurations(method, True)),
            (f"{word}: no buffers", _number(method, "none")),
            (f"{word}: one buffer too many", _number(method, "one more"), "suite" if word == "cache" else "sample"),
            (f"{word}: too few buffers", _number(method, "one less"), "suite" if word == "cache" else "sample"),
            (f"{word}: memory out of range", _bad_memory(method), "sample"),
            (f"{word}: damaged content", _damaged(method), "text"),
            (f"{word}: configurations out of range", _wrong_config(method), "sample"),
        ]
    return found
