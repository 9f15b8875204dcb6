"""What a device says of itself."""

from __future__ import annotations

from typing import Any

from ..enums import DeviceStatus, DeviceType, IdlEnum, ReturnCode
from .outcome import Failed
from .target import Target


def _text(method: str) -> Any:
    def check(target: Target) -> None:
        answer = target.get(method)
        if not isinstance(answer, str) or not answer:
            raise Failed(f"{method} must answer a text that is not empty, got {answer!r}")
        if answer != target.get(method):
            raise Failed(f"{method} must answer the same each time")

    return check


def _member(method: str, enum: type[IdlEnum]) -> Any:
    def check(target: Target) -> None:
        answer = target.get(method)
        if answer not in enum._value2member_map_:
            raise Failed(f"{method} must answer 0 to {max(enum)}, got {answer!r}")

    return check


def _flag(method: str) -> Any:
    def check(target: Target) -> None:
        if target.flag(method) != target.flag(method):
            raise Failed(f"{method} must answer the same each time")

    return check


def _version(target: Target) -> None:
    code, results = target.call("GetVersion")
    target.expect("GetVersion", code, ReturnCode.SUCCESS)
    if [int(number) for number in results] != [2, 1]:
        raise Failed(f"GetVersion must answer 2 and 1, got {results}")


def cases() -> list[Any]:
    """The cases of this group."""
    found: list[Any] = [
        ("GetDeviceName", _text("GetDeviceName")),
        ("GetVendorName", _text("GetVendorName")),
        ("GetDeviceType", _member("GetDeviceType", DeviceType)),
        ("GetDeviceStatus", _member("GetDeviceStatus", DeviceStatus)),
        ("GetVersion", _version, "text"),
    ]
    for method in (
        "IsFloat16PrecisionSupported",
        "IsPerformanceModeSupported",
        "IsPrioritySupported",
        "IsDynamicInputSupported",
        "IsModelCacheSupported",
    ):
        found.append((method, _flag(method)))
    return found
