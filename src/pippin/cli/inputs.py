"""What the command line has to know of an input, whichever door its model came through."""

from __future__ import annotations

from typing import Any, Protocol


class Input(Protocol):
    """An input of a model: a Core ML feature, or an input of an NNRt model."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def kind(self) -> str:
        """ "image", "multiarray" and so on."""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Its dims, None where it has none."""

    @property
    def optional(self) -> bool:
        """Whether it may be left out."""

    @property
    def default(self) -> Any:
        """What it is if it is left out."""
