"""The table of what is refused is true and whole: each value of an enum field either runs in a row or stands there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cases.nnrt import NodeCase, all_rows
from pippin.errors import PippinError
from pippin.nnrt.attributes import REGISTRY, layout
from pippin.nnrt.device import Device
from pippin.nnrt.enums import Format, NodeType
from pippin.nnrt.nodes.base import NODES
from pippin.nnrt.refused import REFUSED, Refusal

DEVICE = Device()
ROWS = all_rows()
LISTED = {(entry.node_type, entry.field, entry.value) for entry in REFUSED}


def running(node_type: NodeType) -> list[NodeCase]:
    return [row for row in ROWS if row.node_type is node_type and row.refuses is None]


def test_every_node_type_is_lowered() -> None:
    assert {kind for kind in NodeType if NODES.get(kind) is None} == {NodeType.NONE}


@pytest.mark.parametrize("entry", REFUSED, ids=lambda entry: f"{entry.node_type.name} {entry.field} {entry.value!r}")
def test_it_is_refused(entry: Refusal) -> None:
    row = running(entry.node_type)[0]
    bad = replace(row, attributes={**row.attributes, entry.field: entry.value}, note="refused")
    DEVICE.prepare(row.model())
    with pytest.raises(PippinError) as caught:
        DEVICE.prepare(bad.model())
    assert entry.field in str(caught.value) or "parameters" in str(caught.value), str(caught.value)
    assert entry.reason


@pytest.mark.parametrize("node_type", REGISTRY, ids=lambda kind: kind.name)
def test_every_value_runs_or_is_listed(node_type: NodeType) -> None:
    for field in layout(REGISTRY[node_type]).fields:
        if field.enum is None or field.enum is Format:  # the tensor's own format decides
            continue
        shown = {getattr(row.struct(), field.name) for row in running(node_type)}
        for member in field.enum:
            listed = (node_type, field.name, member) in LISTED
            assert (member in shown) != listed, f"{field.name} {member!r} must run in a row or be listed as refused"
