"""Lists of inputs as real batches, for networks in which the elements of a batch cannot meet.

Allowed are networks whose every layer treats each element of the batch alone: pictures, or arrays in the legacy
mapping, through layers of the first format versions. Layers that compute over the batch, or that name axes by number,
rule a batch out; the list is then run one by one. ``reason`` says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import schema

if TYPE_CHECKING:
    from .model import Model, Plan

LIMIT = 64
"""Elements of a batch."""
BYTES = 64 << 20
"""Bytes of the inputs of a batch: above, its intermediate values no longer fit the caches anyway."""
_APART = {
    "clip", "ceil", "floor", "sign", "round", "exp2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "erf", "gelu", "clampedReLU",
}  # fmt: skip
"""Layers of later versions that see one element at a time."""
_TOGETHER = {"loadConstant", "sequenceRepeat", "custom", "slice", "split", "concat", "reshape", "permute", "embedding"}
"""Layers of the first versions that may touch sequence or batch, or whose constants have a batch of their own."""


def reason(model: Model) -> str:
    """Why lists are not run as batches; empty if they are."""
    network = model.document.network
    if not model.inputs or (any(entry.kind == "multiarray" for entry in model.inputs.values()) and not model.legacy):
        return "a multi-array in the exact mapping has no batch axis that the format would name"
    first = {field.name for field in _layer_fields() if field.number < 500}
    for layer in network.layers:
        kind = layer.WhichOneof("layer")
        if kind in _TOGETHER and not _keeps_batch(layer, kind):
            return f"layer {layer.name!r} ({kind}) may join the elements of a batch"
        if kind not in first and kind not in _APART:
            return f"layer {layer.name!r} ({kind}) names axes by number"
        if kind == "batchnorm" and layer.batchnorm.computeMeanVar and not layer.batchnorm.instanceNormalization:
            return f"layer {layer.name!r} (batchnorm) computes its statistics over the batch"
    return ""


def _layer_fields() -> Sequence[Any]:
    fields: Sequence[Any] = schema.message("NeuralNetworkLayer").DESCRIPTOR.oneofs_by_name["layer"].fields
    return fields


def _keeps_batch(layer: Any, kind: str) -> bool:
    if kind == "concat":
        return not layer.concat.sequenceConcat
    if kind == "reshape":
        return len(layer.reshape.targetShape) == 3
    if kind == "permute":
        return bool(len(layer.permute.axis)) and layer.permute.axis[0] == 0
    if kind == "slice":
        return int(layer.slice.axis) != 0
    return kind in ("split", "embedding")


def predict(model: Model, feeds: list[dict[str, Any]], timeout: float | None) -> list[dict[str, Any]]:
    """The answers to ``feeds``, blobs by input name with one element each, in as few runs as the limits allow."""
    answers: list[dict[str, Any] | None] = [None] * len(feeds)
    groups: dict[Any, list[int]] = {}
    for index, item in enumerate(feeds):
        groups.setdefault(tuple([array.shape for array in item.values()]), []).append(index)
    for shapes, indices in groups.items():
        size = sum(array.nbytes for array in feeds[indices[0]].values())
        most = max(1, min(LIMIT, BYTES // max(size, 1)))
        alone = any(len(shape) != 4 or shape[0] != 1 for shape in shapes)
        for start in range(0, len(indices), most):
            part = indices[start : start + most]
            plan = None if alone or len(part) == 1 else model.batch_plan(shapes)
            if plan is None:
                for index in part:
                    answers[index] = model.answer(feeds[index], timeout)
                continue
            for index, answer in zip(part, _run(plan, [feeds[i] for i in part], timeout), strict=True):
                answers[index] = answer
    return [answer for answer in answers if answer is not None]


def _run(plan: Plan, feeds: list[dict[str, Any]], timeout: float | None) -> list[dict[str, Any]]:
    import numpy as np

    joined = {name: np.concatenate([item[name] for item in feeds]) for name in feeds[0]}
    results = plan.session.run(joined, timeout=timeout)
    answers = []
    for index in range(len(feeds)):
        # axis 0 holds the batch, or axis 1 behind one sequence step
        parts = [r[index : index + 1] if r.shape[0] == len(feeds) else r[:, index : index + 1] for r in results]
        answers.append(plan.answer(parts))
    return answers


def fits(values: Sequence[Any], symbol: str) -> bool:
    """Whether each output value has the batch where ``_run`` looks for it, and nothing else unknown."""
    for value in values:
        dims = list(value.shape)
        if dims.count(symbol) != 1 or any(isinstance(dim, str) and dim != symbol for dim in dims):
            return False
        at = dims.index(symbol)
        if at > 1 or (at == 1 and (dims[0] != 1 or len(dims) != 5)):
            return False
    return True
