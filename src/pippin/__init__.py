"""Runs Core ML neural networks and OpenHarmony NNRt models on any machine.

>>> import pippin
>>> model = pippin.load("digits.mlmodel")
>>> model.predict({"image": "seven.png"})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import (
    CheckError,
    DeviceError,
    InputError,
    PippinError,
    ReadError,
    RunError,
    UnsupportedError,
    WriteError,
)

if TYPE_CHECKING:
    from .coreml.check import check
    from .coreml.custom import custom_layer
    from .coreml.export import to_onnx
    from .coreml.model import Model, load
    from .nnrt.device import devices

__version__ = "0.1.0"

__all__ = [
    "CheckError",
    "DeviceError",
    "InputError",
    "Model",
    "PippinError",
    "ReadError",
    "RunError",
    "UnsupportedError",
    "WriteError",
    "__version__",
    "check",
    "custom_layer",
    "devices",
    "load",
    "to_onnx",
]

# Loaded on first use: importing the package stays cheap.
_LAZY = {
    "Model": "coreml.model",
    "check": "coreml.check",
    "custom_layer": "coreml.custom",
    "devices": "nnrt.device",
    "load": "coreml.model",
    "to_onnx": "coreml.export",
}


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'pippin' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
