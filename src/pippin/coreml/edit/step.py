"""What one edit did, and what follows from it for inputs and answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...errors import InputError, UnsupportedError
from ..read import NETWORKS, Document

Data = Mapping[str, Any]
Effect = Literal["none", "equal", "close", "differs"]

ITSELF: Callable[[Any], Any] = lambda value: value  # noqa: E731


@dataclass
class Step:
    """One edit.

    ``effect`` is what it promises: "none": nothing that runs was touched; "equal": answers are the same, as far as
    ``expect`` goes; "close": they may differ a little, by as much as the proof shows; "differs": they are meant to
    differ. ``feed(data, answer)`` turns inputs for the model before (with its answer) into inputs for the model after,
    ``expect(answer)`` the answer before into the one that is wanted after; keys that it leaves out are not compared.
    ``probes`` are blobs of the model before that ``answer`` has to hold too. ``details`` is plain data for reports.
    """

    text: str
    effect: Effect = "equal"
    feed: Callable[[Data, Data], Data] | None = None
    expect: Callable[[Data], Data] | None = None
    probes: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"text": self.text, "effect": self.effect, "notes": self.notes, **self.details}


def renamed(mapping: Mapping[str, str]) -> Callable[[Data], dict[str, Any]]:
    """A function that gives the keys of a dict their new names."""
    return lambda values: {mapping.get(key, key): value for key, value in values.items()}


def network_of(document: Document) -> Any:
    """The network of ``document``. Raises ``UnsupportedError`` for pipelines and other types, with a hint."""
    kind = document.type
    if kind in NETWORKS:
        return getattr(document.model, kind)
    hint = "take a network out of the pipeline first: take(...), --take" if kind and "pipeline" in kind.lower() else ""
    raise UnsupportedError(f"this edit is for neural networks, the model is of type {kind or 'none'}", hint=hint)


def need_version(document: Document, version: int) -> None:
    """Raises the declared version of the format to ``version`` if it is lower."""
    document.model.specificationVersion = max(document.model.specificationVersion, version)


def feature_of(document: Document, name: str, side: str) -> Any:
    """The description of an input ("input") or output ("output"). Raises ``InputError`` with near names."""
    entries = getattr(document.model.description, side)
    for entry in entries:
        if entry.name == name:
            return entry
    raise unknown(f"the model has no {side} {name!r}", name, [entry.name for entry in entries])


def unknown(problem: str, name: str, others: Collection[str]) -> InputError:
    """An error for a name that is not there, with near ones."""
    import difflib

    near = difflib.get_close_matches(name, others, 3) or list(others)[:6]
    return InputError(problem, hint=f"there is {', '.join(map(repr, near))}" if near else "")


def layers_of(network: Any) -> Iterator[tuple[Any, int, Any]]:
    """Every layer with the network it stands in and its position there; nested ones after the layer that holds them."""
    for index, layer in enumerate(network.layers):
        yield network, index, layer
        for inner in nested(layer):
            yield from layers_of(inner)


def nested(layer: Any) -> list[Any]:
    """The networks that a layer holds."""
    match layer.WhichOneof("layer"):
        case "branch":
            return [layer.branch.ifBranch, layer.branch.elseBranch]
        case "loop":
            return [layer.loop.conditionNetwork, layer.loop.bodyNetwork]
    return []


def fresh(taken: Collection[str], base: str) -> str:
    """``base``, or with a number behind it if there is such a name already."""
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def identifier(name: str) -> str:
    """``name`` with what programming languages do not take in names replaced by underscores."""
    clean = re.sub(r"\W", "_", name, flags=re.ASCII)
    return clean if clean and not clean[0].isdigit() else f"_{clean}"
