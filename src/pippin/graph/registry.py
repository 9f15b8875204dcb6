"""Where lowerings are found: one registry a door, one entry a layer kind or node type."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Function = Callable[..., Any]


@dataclass(frozen=True)
class Lowering:
    """A lowering and how its operands are handed over; ``options`` are the door's own."""

    function: Function
    options: dict[str, Any] = field(default_factory=dict)


class Registry(Generic[Key]):
    """Lowerings by key; the modules of ``package`` are imported on the first look-up."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._entries: dict[Key, Lowering] = {}
        self._loaded = False

    def register(self, *keys: Key, **options: Any) -> Callable[[Function], Function]:
        """Registers a function for ``keys``; a second registration of a key is a bug and raises."""

        def decorate(function: Function) -> Function:
            for key in keys:
                if key in self._entries:
                    raise ValueError(f"{key} is lowered twice: {self._entries[key].function.__module__}")
                self._entries[key] = Lowering(function, options)
            return function

        return decorate

    def load(self) -> None:
        """Imports every module of the package, so that all entries are there."""
        if not self._loaded:
            self._loaded = True
            package = importlib.import_module(self._package)
            for module in pkgutil.walk_packages(package.__path__, f"{self._package}."):
                importlib.import_module(module.name)

    def get(self, key: Key) -> Lowering | None:
        self.load()
        return self._entries.get(key)

    def __iter__(self) -> Iterator[Key]:
        self.load()
        return iter(self._entries)
