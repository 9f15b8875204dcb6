"""What ONNX Runtime can compute on here: short names for its providers."""

from __future__ import annotations

from ..errors import DeviceError

PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "rocm": "ROCMExecutionProvider",
    "migraphx": "MIGraphXExecutionProvider",
    "dml": "DmlExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "qnn": "QNNExecutionProvider",
    "cann": "CANNExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
}
"""Device name → provider. Others, such as AzureExecutionProvider, compute elsewhere and are no devices."""


def available() -> list[str]:
    """The devices that the installed ONNX Runtime offers, the CPU first."""
    import onnxruntime

    offered = set(onnxruntime.get_available_providers())
    return [name for name, provider in PROVIDERS.items() if provider in offered]


def providers(device: str) -> list[str]:
    """The providers for a session on ``device``, with the CPU for what it cannot compute.

    Raises ``DeviceError`` with the devices that there are.
    """
    if not isinstance(device, str):
        raise DeviceError(f"a device is named by a string, got {device!r}; there is {', '.join(available())}")
    name = device.lower()
    offered = ["cpu"] if name == "cpu" else available()
    if name not in offered:
        known = name in PROVIDERS
        raise DeviceError(
            f"the device {device!r} is {'not here' if known else 'not known'}; there is {', '.join(offered)}",
            hint="install the ONNX Runtime package for it" if known else "",
        )
    return list(dict.fromkeys([PROVIDERS[name], PROVIDERS["cpu"]]))
