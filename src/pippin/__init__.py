"""Runs Core ML neural networks and OpenHarmony NNRt models on any machine.

>>> import pippin
>>> model = pippin.load("digits.mlmodel")
>>> model.predict({"image": "seven.png"})
"""

from __future__ import annotations

import os
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
    from .analysis.compare import compare
    from .analysis.convert import to_onnx
    from .analysis.nnrt import to_nnrt
    from .analysis.profile import profile
    from .coreml.check import check
    from .coreml.custom import custom_layer
    from .coreml.edit import edit
    from .coreml.model import Model
    from .loading import load
    from .nnrt.device import devices
    from .onnx_model import OnnxModel
    from .training.trainer import train

__version__ = "0.1.0"

# Official builds of ONNX Runtime report their use to Microsoft and keep an identifier of the machine in the home
# folder. Nobody who runs a model here asked for that. It looks at this when it is loaded; who wants it sets 0.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

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
    "compare",
    "custom_layer",
    "devices",
    "edit",
    "load",
    "profile",
    "to_nnrt",
    "to_onnx",
    "train",
]

# Loaded on first use: importing the package stays cheap.
_LAZY = {
    "Model": "coreml.model",
    "OnnxModel": "onnx_model",
    "check": "coreml.check",
    "compare": "analysis.compare",
    "custom_layer": "coreml.custom",
    "edit": "coreml.edit",
    "devices": "nnrt.device",
    "load": "loading",
    "profile": "analysis.profile",
    "to_nnrt": "analysis.nnrt",
    "to_onnx": "analysis.convert",
    "train": "training.trainer",
}


if not TYPE_CHECKING:  # a type checker that saw it would take every name for one of ours

    def __getattr__(name: str) -> Any:
        module = _LAZY.get(name)
        if module is None:
            raise AttributeError(f"module 'pippin' has no attribute {name!r}")
        import importlib

        value = getattr(importlib.import_module(f".{module}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, "errors"])
