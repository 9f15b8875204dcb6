"""Weights: how they are stored and whether their number fits. Values are never looked at here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..wire import View
from .report import Findings, Place, count, show

FIELDS = {"floatValue": "float32", "float16Value": "float16", "rawValue": "raw", "int8RawValue": "int8"}


class Storage:
    """How one ``WeightParams`` is stored: ``kind`` and ``size``.

    ``kind`` is "empty", "ambiguous", "float32", "float16", "quantized" (rawValue) or "int8"; packed bytes without a
    ``quantization`` count as empty. ``size`` is the number of values, for packed ones the number of bytes.
    """

    __slots__ = ("kind", "present", "size")

    def __init__(self, params: Any, views: Sequence[View]) -> None:
        sizes: dict[str, int] = {}
        for index in params.pippinView:
            view = views[index]
            # of a field that is not repeated the last occurrence counts
            before = sizes.get(view.encodes, 0) if view.encodes == "float32" else 0
            sizes[view.encodes] = before + len(view.data)
        for name, encodes in FIELDS.items():
            held = len(getattr(params, name))
            if held:
                sizes[encodes] = sizes.get(encodes, 0) + held * (4 if encodes == "float32" else 1)
        self.present = sorted(sizes)
        self.size = 0
        if not sizes:
            self.kind = "empty"
        elif len(sizes) > 1:
            self.kind = "ambiguous"
        else:
            ((encodes, size),) = sizes.items()
            packed = encodes in ("raw", "int8")
            if packed and not params.HasField("quantization"):
                self.kind = "empty"
            else:
                self.kind = "quantized" if encodes == "raw" else encodes
                self.size = size if packed else size // (4 if encodes == "float32" else 2)

    @property
    def described(self) -> str:
        """For messages: ``12 float32 values``."""
        if self.kind == "empty":
            return f"{self.present[0]}Value without quantization" if self.present else "none"
        if self.kind == "ambiguous":
            return " and ".join(self.present)
        if self.kind in ("quantized", "int8"):
            return count(self.size, "packed byte" if self.kind == "quantized" else "int8 value")
        return count(self.size, f"{self.kind} value")


def check_units(
    findings: Findings,
    place: Place,
    field: str,
    params: Any,
    stored: Storage,
    units: int,
    channels: int,
    *,
    optional: bool = False,
) -> None:
    """The general rule: exactly ``units`` values, quantised ones with scales for one or ``channels`` channels.

    ``optional`` is for the two layers whose missing or int8 weights pass Apple's check: a warning then, not an error.
    """
    if stored.kind == "ambiguous":
        findings.add("weights-ambiguous", place, field, "use one encoding", stored.described)
    elif stored.kind == "empty":
        code = "weights-missing-accepted" if optional else "weights-missing"
        findings.add(code, place, field, f"hold {count(units, 'value')}", stored.described)
    elif stored.kind == "int8":
        if not optional:
            findings.add("weights-int8-not-allowed", place, field, "not use int8RawValue here", stored.described)
    elif stored.kind == "quantized":
        check_quantization(findings, place, field, params, stored, units, channels)
    elif stored.size != units:
        findings.add("weights-count", place, field, f"hold {count(units, 'value')}", f"{stored.size:,}")


def check_quantization(
    findings: Findings, place: Place, field: str, params: Any, stored: Storage, units: int, channels: int
) -> None:
    """Packed integers: enough bytes, 1 to 8 bits, and a scale, bias or table of the right length."""
    quantization = params.quantization
    bits = int(quantization.numberOfBits)
    code = "weights-quantization"
    needed = (units * bits + 7) // 8
    if not 1 <= bits <= 8:
        findings.add(code, place, f"{field}.quantization.numberOfBits", "lie between 1 and 8", str(bits))
    elif stored.size < needed:
        required = f"hold {count(units, 'value')} of {bits} bits ({needed:,} bytes)"
        findings.add("weights-count", place, field, required, count(stored.size, "byte"))
    elif stored.size > needed:
        required = f"hold {needed:,} bytes for {count(units, 'value')} of {bits} bits"
        findings.add("weights-surplus", place, field, required, f"{stored.size:,}")
    scheme = quantization.WhichOneof("QuantizationType")
    if scheme == "linearQuantization":
        linear = quantization.linearQuantization
        scales, biases = len(linear.scale), len(linear.bias)
        if scales not in (1, channels):
            wanted = "hold 1 value" if channels == 1 else f"hold 1 or {channels:,} values"
            findings.add(code, place, f"{field}.quantization.linearQuantization.scale", wanted, f"{scales:,}")
        if biases not in (0, scales):
            wanted = f"be empty or as long as scale ({scales:,})"
            findings.add(code, place, f"{field}.quantization.linearQuantization.bias", wanted, f"{biases:,}")
    elif scheme == "lookupTableQuantization":
        table = len(quantization.lookupTableQuantization.floatValue)
        if 1 <= bits <= 8 and table != 1 << bits:
            name = f"{field}.quantization.lookupTableQuantization.floatValue"
            findings.add(code, place, name, f"hold {1 << bits} values for {bits} bits", f"{table:,}")
    else:
        required = "set linearQuantization or lookupTableQuantization"
        findings.add(code, place, f"{field}.quantization", required, "neither")


def check_int8(findings: Findings, place: Place, field: str, params: Any, stored: Storage) -> None:
    """Weights of a layer with ``int8DynamicQuantize``: int8, one scale, no bias of the quantisation."""
    quantization = params.quantization
    code = "weights-int8"
    if stored.kind != "int8":
        findings.add(code, place, field, "use int8RawValue with a quantization", stored.described)
        return
    if quantization.numberOfBits != 8:
        found = str(quantization.numberOfBits)
        findings.add(code, place, f"{field}.quantization.numberOfBits", "be 8", found)
    if quantization.WhichOneof("QuantizationType") != "linearQuantization":
        found = show(quantization.WhichOneof("QuantizationType") or "none")
        findings.add(code, place, f"{field}.quantization", "be linearQuantization", found)
        return
    linear = quantization.linearQuantization
    if len(linear.scale) != 1:
        name = f"{field}.quantization.linearQuantization.scale"
        findings.add(code, place, name, "hold 1 value", f"{len(linear.scale):,}")
    if len(linear.bias):
        name = f"{field}.quantization.linearQuantization.bias"
        findings.add(code, place, name, "be empty", count(len(linear.bias), "value"))
