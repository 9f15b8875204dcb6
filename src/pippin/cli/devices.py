"""``pippin devices``: what NNRt models can run on here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..nnrt.device import Device

SCHEMA = "pippin.devices/1"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(as_json: bool) -> None:
    """Lists the devices of this machine: what the installed ONNX Runtime can really compute on.

    \b
    pippin devices
    """
    from ..nnrt.device import devices
    from ..report import text

    entries = [_entry(place, device) for place, device in enumerate(devices())]
    if as_json:
        click.echo(json.dumps({"schema": SCHEMA, "devices": entries}))
        return
    rows = [
        (entry["number"], entry["name"], entry["type"], entry["status"], entry["provider"], entry["cores"])
        for entry in entries
    ]
    click.echo(text.table(rows, ("#", "name", "type", "status", "provider", "cores"), right="05"))


def _entry(place: int, device: Device) -> dict[str, Any]:
    from ..nnrt.config import cores

    return {
        "number": place,
        "name": device.name,
        "vendor": device.vendor,
        "type": device.type.name,
        "status": device.status.name,
        "provider": device.provider,
        "cores": cores(),
        "float16": device.supports_float16,
        "performanceMode": device.supports_performance_mode,
        "priority": device.supports_priority,
        "dynamicInput": device.supports_dynamic_input,
        "modelCache": device.supports_model_cache,
    }
