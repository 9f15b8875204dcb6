"""Training of updatable networks off the device.

``train`` trains as the file says; ``make_updatable`` turns an ordinary network into an updatable one;
``check_gradients`` compares the gradients with differences of the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .gradient_check import check_gradients
    from .trainer import Progress, Result, train
    from .updatable import make_updatable

__all__ = ["Progress", "Result", "check_gradients", "make_updatable", "train"]

_LAZY = {
    "Progress": "trainer",
    "Result": "trainer",
    "check_gradients": "gradient_check",
    "make_updatable": "updatable",
    "train": "trainer",
}


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f".{module}", __name__), name)
