"""The conformance run notices a device that overlooks a field of an attribute struct, whichever it is."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest

from pippin.nnrt.attributes import layout, struct_of
from pippin.nnrt.conformance import Status, run_suite
from pippin.nnrt.hdi import INnrtDevice
from pippin.nnrt.parcel import decode, encode
from pippin.nnrt.types import Model, NodeType

UNSEEN = {
    "format": "the tensor's own format decides",
    "inputSize": "no kernel looks at it, the tensors' dims tell",
    "hiddenSize": "the weights tell",
    "inChannel": "the weights tell",
    "outChannel": "the weights tell",
    "kernelSize of conv": "the weights tell",
    "numDirections": "says what bidirectional says",
    "numLayers": "only 1 is there",
    "projSize": "only 0 is there",
    "dropout": "for training",
    "hasBias of LSTM": "the bias is there",
    "summarize": "for messages",
    "channelShared": "the slope's dims tell",
    "elementwiseAffine": "the inputs tell",
    "normRegion": "there is one",
    "sorted": "what order false means is told differently",
    "srcT": "the input's type tells",
    "outputNum": "the outputs tell",
    "outQuantized": "no kernel looks at it",
    "dataType of Range": "reserved",
    "dataType of ConstantOfShape": "the output's type tells",
    "preserveAspectRatio": "refused",
    "excludeOutside": "no kernel looks at it",
    "extrapolationValue": "nothing lies outside",
    "beginParamsAxis": "the dims of gamma tell",
    "paddings of PadFusion": "the second input tells",
}
"""Fields that change no answer, or that drivers may leave alone, and why."""


def fields() -> list[tuple[NodeType, str]]:
    found = []
    for kind in NodeType:
        if kind is NodeType.NONE:
            continue
        struct = struct_of(kind)
        for field in layout(struct).fields:
            name = field.name
            family = "conv" if struct.__name__.startswith("Conv2") else struct.__name__
            if name not in UNSEEN and f"{name} of {family}" not in UNSEEN:
                found.append((kind, name))
    return found


class Overlooks(INnrtDevice):
    """Says that it supports a node type, but takes one field of it for its default."""

    def __init__(self, kind: NodeType, field: str, value: Any) -> None:
        super().__init__()
        self.change = kind, field, value

    def _changed(self, model: Model) -> Model:
        kind, field, value = self.change
        model = copy.copy(model)
        model.nodes = [copy.copy(node) for node in model.nodes]
        for node in model.nodes:
            if node.nodeType == kind:
                node.nodeAttr = encode(dataclasses.replace(decode(kind, node.nodeAttr), **{field: value}))
        return model

    def PrepareModel(self, model: Any, config: Any) -> Any:
        return super().PrepareModel(self._changed(model), config)


@pytest.mark.parametrize(("kind", "field"), fields(), ids=lambda value: getattr(value, "name", value))
def test_a_field_that_is_overlooked(kind: NodeType, field: str) -> None:
    default = getattr(struct_of(kind)(), field)
    outcome = run_suite(Overlooks(kind, field, default), groups=["operators"], patterns=[f"{kind.name}:*", kind.name])
    assert outcome.of(Status.FAIL), f"nothing noticed that {field} is {default!r} throughout:\n{outcome}"
