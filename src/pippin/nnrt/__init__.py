"""OpenHarmony's Neural Network Runtime device interface v2.1, in process, on any machine.

>>> from pippin import nnrt
>>> g = nnrt.GraphBuilder("twice")
>>> x = g.input("x", [2, 3])
>>> model = g.finish(g.AddFusion(x, x))
>>> nnrt.devices()[0].prepare(model).predict({"x": ones})

``connect(path)`` gives a device of a service in another process (``pippin nnrt serve``).  ``types`` holds enums and
structs, ``attributes`` the operators' parameters, ``hdi`` the interface by its own names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .authoring import GraphBuilder
    from .device import Device, devices
    from .errors import NnrtError
    from .file import load_model, model_bytes, save_model
    from .prepared_model import PreparedModel
    from .service.client import connect

_LAZY = {
    "Device": "device",
    "GraphBuilder": "authoring",
    "NnrtError": "errors",
    "PreparedModel": "prepared_model",
    "connect": "service.client",
    "devices": "device",
    "load_model": "file",
    "model_bytes": "file",
    "save_model": "file",
}

__all__ = [
    "Device",
    "GraphBuilder",
    "NnrtError",
    "PreparedModel",
    "connect",
    "devices",
    "load_model",
    "model_bytes",
    "save_model",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'pippin.nnrt' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = value
    return value
