"""What no lowering takes although the interface has words for it, each with the reason: all of it stands here.

Every node type is lowered; these are values of their fields.  What contradicts itself (dims that do not fit, an axis
that is not there) is refused as well, but says nothing about what can be done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .attributes import REGISTRY
from .enums import ActivationType, EltwiseMode, NodeType, PaddingMode, ResizeMethod

WITH_PARAMETERS = (
    ActivationType.ELU,
    ActivationType.LEAKY_RELU,
    ActivationType.THRESHOLDRELU,
    ActivationType.HARD_TANH,
)


@dataclass(frozen=True)
class Refusal:
    """A value of a field that is refused, and why."""

    node_type: NodeType
    field: str
    value: Any
    reason: str


def _fused() -> Iterator[Refusal]:
    for node_type, struct in REGISTRY.items():
        if "activationType" not in struct.__dataclass_fields__:  # type: ignore[attr-defined]
            continue
        yield Refusal(node_type, "activationType", ActivationType.UNKNOWN, "names no function")
        if node_type is not NodeType.ACTIVATION:
            for kind in WITH_PARAMETERS:
                yield Refusal(
                    node_type, "activationType", kind, "its parameters have no field here; an Activation node has them"
                )


REFUSED: tuple[Refusal, ...] = (
    *_fused(),
    Refusal(NodeType.ELTWISE, "mode", EltwiseMode.UNKNOWN, "names no operation"),
    Refusal(NodeType.PAD_FUSION, "paddingMode", PaddingMode.RESERVED, "names no border"),
    Refusal(NodeType.RESIZE, "method", ResizeMethod.UNKNOWN, "names no method"),
    Refusal(NodeType.RESIZE, "preserveAspectRatio", True, "newHeight and newWidth say the size; no kernel takes it"),
    Refusal(NodeType.LSTM, "numLayers", 2, "one weight tensor has no room for layers of other widths"),
    Refusal(NodeType.LSTM, "projSize", 1, "there is no input for the projection's weight"),
    Refusal(NodeType.LRN, "normRegion", "WITHIN_CHANNEL", "the text has one region, ACROSS_CHANNELS"),
)
