"""Networks as a device computes that stores every blob and every weight in half precision.

Each layer computes in float32; its weights and what it answers are rounded. ``load(…, precision="float16")``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ..errors import InputError
from ..graph.rounding import ONNX, Precision, emit, rounded
from .lower import Finish
from .lowering import Blob, Context
from .weights import Weights
from .wire import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def precision(value: Any) -> Precision | None:
    """The precision that ``load`` was asked for; None for float32. Raises ``InputError`` with those that there are."""
    if value in (None, "float32"):
        return None
    if value in list(ONNX):
        return cast("Precision", value)
    raise InputError(f"precision must be one of float32, {', '.join(ONNX)}, got {value!r}")


class NarrowWeights(Weights):
    """Weights rounded to ``kind``."""

    def __init__(self, views: Sequence[View], kind: Precision) -> None:
        super().__init__(views)
        self.kind = kind

    def array(
        self, params: Any, shape: Sequence[int], *, axis: int | tuple[int, ...] = 0, name: str = "weights"
    ) -> NDArray[np.float32]:
        """As ``Weights.array``, rounded."""
        return rounded(super().array(params, shape, axis=axis, name=name), self.kind)


def finish(kind: Precision) -> Finish:
    """Rounds every blob that layers read to ``kind``; integers stay as they are."""

    def narrow(g: Context, name: str, blob: Blob) -> Blob:
        value = blob.flat(g)[0] if blob.folded else blob.nd(g)
        if value.dtype != "float32" or value.data is not None:
            return blob
        value = emit(g, value, kind)
        return Blob(flat=value, lead=blob.lead) if blob.folded else Blob(nd=value)

    return narrow
