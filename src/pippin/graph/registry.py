"""Where lowerings are found: one registry a door, one entry a layer kind or node type."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Function = Callable[..., Any]


@dataclass(frozen=True)
class Lowering:
    """A lowering and how its operands are handed over; ``options`` are the door's own."""

    function: Function
    options: dict[str, Any] = field(default_factory=dict)


class Registry(Generic[Key]):
    """Lowerings by key; the modules of ``package`` are imported as they are needed.

    For a key that is a string, those whose text names it come first: a network uses a few of many families, and
    importing all of them takes as long as the first answer of a small one.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._entries: dict[Key, Lowering] = {}
        self._loaded = False
        self._texts: dict[str, str] | None = None
        # a thread must not see the first half of an import by another
        self._lock = threading.RLock()

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
        with self._lock:
            if not self._loaded:
                for name in self._modules():
                    importlib.import_module(name)
                self._loaded = True

    def get(self, key: Key) -> Lowering | None:
        entry = self._entries.get(key)
        if entry is None and not self._loaded:
            with self._lock:
                if isinstance(key, str):
                    self._search(f'"{key}"')
                if key not in self._entries:
                    self.load()
            entry = self._entries.get(key)
        return entry

    def _modules(self) -> list[str]:
        package = importlib.import_module(self._package)
        return [module.name for module in pkgutil.walk_packages(package.__path__, f"{self._package}.")]

    def _search(self, quoted: str) -> None:
        """Imports the modules in whose text a key stands; where there is no text to read, none."""
        if self._texts is None:
            self._texts = {}
            for name in self._modules():
                spec = importlib.util.find_spec(name)
                with suppress(OSError, TypeError):
                    self._texts[name] = Path(spec.origin).read_text("utf-8")  # type: ignore[union-attr, arg-type]
        for name in [name for name, text in self._texts.items() if quoted in text]:
            del self._texts[name]
            importlib.import_module(name)

    def __iter__(self) -> Iterator[Key]:
        self.load()
        return iter(self._entries)
