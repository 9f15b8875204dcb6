"""The weights that are trained: found in a network, handed to the graph, written back into the file.

Nothing of the file changes but the bytes of these weights: each run of bytes keeps its place, length and encoding.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..coreml.read import Document
from ..coreml.weights import Weights
from ..coreml.wire import View
from ..errors import CheckError

if TYPE_CHECKING:
    from numpy.typing import NDArray

log = logging.getLogger("pippin")


@dataclass(frozen=True)
class Parameter:
    """Weights of one field of a layer. ``name`` is "layer/field", ``where`` how messages call the layer."""

    name: str
    where: str
    kind: str
    message: Any
    shape: tuple[int, ...]
    encoding: str

    @property
    def layer(self) -> str:
        return self.name.rsplit("/", 1)[0]


class Parameters:
    """All parameters of a network, in the order of the graph; filled while it is lowered."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.by_name: dict[str, Parameter] = {}

    def __iter__(self) -> Any:
        return iter(self.by_name.values())

    def __len__(self) -> int:
        return len(self.by_name)

    def add(self, layer: Any, where: str, message: Any, shape: Sequence[int], field: str) -> Parameter:
        """The parameter of a layer's field; noted when it is met for the first time."""
        name = f"{layer.name}/{field}"
        if name not in self.by_name:
            encoding = self.weights.encoding(message)
            if encoding.kind not in ("float32", "float16"):
                raise CheckError(f"{field} must be float32 or float16 to be trained, got {encoding}", where=where)
            kind = layer.WhichOneof("layer")
            self.by_name[name] = Parameter(name, where, kind, message, tuple(shape), encoding.kind)
        found = self.by_name[name]
        if list(found.message.pippinView) != list(message.pippinView):
            # those of the network itself are known to differ, those in branches and loops are not
            raise CheckError("layers that train must have names of their own, two are called so", where=where)
        return found

    def values(self) -> dict[str, NDArray[Any]]:
        """The weights as the file holds them, as float32 arrays of their own."""
        import numpy as np

        return {p.name: np.array(self.weights.array(p.message, p.shape, name=p.name), np.float32) for p in self}


def written(document: Document, parameters: Parameters, values: Mapping[str, NDArray[Any]]) -> Document:
    """``document`` with other weights; everything else, the message included, is the same."""
    views = list(document.views)
    for parameter in parameters:
        _replace(views, parameter, values[parameter.name])
    return Document(document.model, views, document.name, document.path, document.size)


def _replace(views: list[View], parameter: Parameter, values: NDArray[Any]) -> None:
    import numpy as np

    dtype = "<f4" if parameter.encoding == "float32" else "<f2"
    with np.errstate(over="ignore"):
        stored = np.ascontiguousarray(values, dtype)
    if dtype == "<f2":
        lost = np.count_nonzero((stored == 0) & (values != 0))
        if lost or not np.isfinite(stored).all():
            log.warning("%s: %d of %d trained weights do not fit into float16", parameter.name, lost, values.size)
    data = memoryview(stored.tobytes())
    position = 0
    indices = [i for i in parameter.message.pippinView if views[i].encodes == parameter.encoding]
    if parameter.encoding == "float16":
        indices = indices[-1:]  # the last one of a field that is not repeated counts
    for index in indices:
        old = views[index]
        views[index] = View(old.field, old.encodes, data[position : position + len(old.data)])
        position += len(old.data)
    assert position == len(data) == math.prod(parameter.shape) * stored.itemsize
