"""Refusals of the NNRt door: an error of Pippin that carries the interface's return code."""

from __future__ import annotations

from ..errors import DeviceError, PippinError
from .enums import ReturnCode


class NnrtError(DeviceError):
    """A device said no.  ``code`` is what the interface's method answers instead of SUCCESS.

    ``output_dims`` is filled where Run found an output buffer too small: the dims that the outputs need.
    """

    def __init__(
        self,
        code: ReturnCode,
        message: str,
        *,
        where: str = "",
        hint: str = "",
        output_dims: list[list[int]] | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.code = code
        self.output_dims = output_dims or []

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.code, self.message, self.where, self.hint, self.output_dims)


def _rebuild(code: ReturnCode, message: str, where: str, hint: str, output_dims: list[list[int]]) -> NnrtError:
    return NnrtError(code, message, where=where, hint=hint, output_dims=output_dims)


def as_nnrt(error: PippinError, code: ReturnCode) -> NnrtError:
    """The same refusal with a return code: ``code`` unless it has one already."""
    if isinstance(error, NnrtError):
        return error
    return NnrtError(code, error.message, where=error.where, hint=error.hint)
