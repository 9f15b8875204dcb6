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
    VerifyError,
    WriteError,
)

if TYPE_CHECKING:
    from .analysis.convert import to_onnx
    from .analysis.nnrt import to_nnrt
    from .coreml.check import check
    from .coreml.custom import custom_layer
    from .coreml.edit import edit
    from .coreml.model import Model
    from .loading import load
    from .nnrt.device import devices
    from .onnx_model import OnnxModel
    from .training.trainer import train

__version__ = "0.1.0"

__all__ = [
    "CheckError",
    "DeviceError",
    "InputError",
    "Model",
    "OnnxModel",
    "PippinError",
    "ReadError",
    "RunError",
    "UnsupportedError",
    "VerifyError",
    "WriteError",
    "__version__",
    "check",
    "custom_layer",
    "devices",
    "edit",
    "load",
    "to_nnrt",
    "to_onnx",
    "train",
]

# Loaded on first use: importing the package stays cheap.
_LAZY = {
    "Model": "coreml.model",
    "OnnxModel": "onnx_model",
    "check": "coreml.check",
    "custom_layer": "coreml.custom",
    "edit": "coreml.edit",
    "devices": "nnrt.device",
    "load": "loading",
    "to_nnrt": "analysis.nnrt",
    "to_onnx": "analysis.convert",
    "train": "training.trainer",
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
