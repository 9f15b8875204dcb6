"""The errors of Pippin: one tree, so that one ``except`` catches what this package says no to.

======================  ==================================================================================
``PippinError``         the root of all
``ReadError``           the bytes are no model: truncated, malformed, too large, nested too deep
``UnsupportedError``    a sound model that Pippin does not run: another model type, an unregistered custom
                        layer, a parameter value that the format leaves open
``CheckError``          the model contradicts its format; ``load`` raises it for what cannot run
``InputError``          what was handed to ``predict`` does not fit the model (also a ``ValueError``)
``RunError``            the network failed while it ran
``TimeoutError``        ``predict(timeout=)`` ran out (``pippin.errors.TimeoutError``; also the built-in one)
``DeviceError``         a device is not there, or it refused
``WriteError``          a result could not be written
``VerifyError``         a converted model answers differently from the original
======================  ==================================================================================

A message says where, what is required, what there is, and, if a remedy is known, a hint on a line of its own::

    layer 'pool3' (pooling): kernelSize must hold 2 positive integers, got [3, 0]
"""

from __future__ import annotations

import builtins
from typing import Self


class PippinError(Exception):
    """Root of every error that this package raises on purpose.

    ``where`` is the place in the model (``layer 'pool3' (pooling)``), outermost first, empty if there is none;
    ``hint`` is a remedy or empty.
    """

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def at(self, where: str) -> Self:
        """Adds an outer location on the way up; returns self, so that ``raise error.at(...)`` reads well."""
        self.where = f"{where}: {self.where}" if self.where else where
        return self

    def inside(self, where: str) -> Self:
        """As ``at``, unless the location begins so already."""
        return self if f"{self.where}: ".startswith(f"{where}: ") else self.at(where)

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\nhint: {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.where, self.hint)


def _rebuild(kind: type[PippinError], message: str, where: str, hint: str) -> PippinError:
    return kind(message, where=where, hint=hint)


class ReadError(PippinError):
    """The bytes cannot be read as a model."""


class UnsupportedError(PippinError):
    """A model, layer or value that is sound but that Pippin does not run."""


class CheckError(PippinError):
    """The model breaks a rule of its format."""


class InputError(PippinError, ValueError):
    """A value handed to a model does not fit what the model declares."""


class RunError(PippinError):
    """The network failed while running."""


class TimeoutError(RunError, builtins.TimeoutError):
    """The time limit handed to ``predict`` ran out."""


class DeviceError(PippinError):
    """A device is missing or refused."""


class WriteError(PippinError):
    """A file could not be written."""


class VerifyError(PippinError):
    """A converted model answers differently from the original."""
