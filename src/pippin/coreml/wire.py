"""Walks a model at wire level and cuts the weights out as views, so that only the small rest is parsed.

A 100 MB network holds a few hundred kilobytes that are not weights. Each run of weight bytes is replaced by an index
(field ``pippinView`` of our schema) into a list of ``View``; ``splice`` puts the bytes back when a model is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..errors import ReadError
from . import schema

MAX_FIELDS = 5_000_000
"""Fields that the walk steps over before it gives up: a bound on time, far above any real network."""
MAX_DEPTH = 90
"""Messages within messages. Protobuf's own readers stop at 100; a nested network takes three."""

_WEIGHTS = {"floatValue": "float32", "float16Value": "float16", "rawValue": "raw", "int8RawValue": "int8"}
_CUT_IN = {"WeightParams": _WEIGHTS, "NeuralNetworkMeanImage": {"meanImage": "float32"}}
_VIEW_TAG = 536870911 << 3 | 2
_FLOAT_STRIDE = 5


@dataclass(slots=True)
class View:
    """A run of weight bytes in a file: which ``field`` held it, what it ``encodes`` and where it lies."""

    field: int
    encodes: str
    data: memoryview


@dataclass(slots=True)
class _Plan:
    """What to do with the fields of one message: descend, cut, or (if absent) leave."""

    name: str
    descend: dict[int, _Plan]
    cut: dict[int, str]


@cache
def _plan(name: str) -> _Plan:
    return _plans()[name]


@cache
def _plans() -> dict[str, _Plan]:
    """A plan for every message from which weights can be reached."""
    descriptors: dict[str, Any] = {}
    queue = [schema.message("Model").DESCRIPTOR]
    while queue:
        descriptor = queue.pop()
        if descriptor.full_name in descriptors:
            continue
        descriptors[descriptor.full_name] = descriptor
        queue += [field.message_type for field in descriptor.fields if field.message_type]
    reach = {name for name, descriptor in descriptors.items() if descriptor.name in _CUT_IN}
    while True:
        more = {
            name
            for name, descriptor in descriptors.items()
            if name not in reach
            and any(f.message_type and f.message_type.full_name in reach for f in descriptor.fields)
        }
        if not more:
            break
        reach |= more
    plans = {name: _Plan(descriptors[name].name, {}, {}) for name in reach}
    for name, plan in plans.items():
        for field in descriptors[name].fields:
            if field.message_type and field.message_type.full_name in reach:
                plan.descend[field.number] = plans[field.message_type.full_name]
            encodes = _CUT_IN.get(plan.name, {}).get(field.name)
            if encodes:
                plan.cut[field.number] = encodes
    return {plan.name: plan for plan in plans.values()}


def cut(data: memoryview) -> tuple[bytes, list[View]]:
    """Splits a serialised ``Model`` into its small rest, still a serialised ``Model``, and its weights.

    Raises ``ReadError`` where lengths, tags or nesting are impossible. Nothing that is only declared is allocated.
    """
    walk = _Cutter(data)
    pieces, _ = walk.message(0, len(data), _plan("Model"), 1)
    return b"".join(pieces), walk.views


class _Cutter:
    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.views: list[View] = []
        self.fields = 0

    def message(self, start: int, end: int, plan: _Plan, depth: int) -> tuple[list[bytes | memoryview], int]:
        """The pieces of the message in ``data[start:end]`` without its weights, and their total length."""
        if depth > MAX_DEPTH:
            raise ReadError(f"messages are nested deeper than {MAX_DEPTH} levels", hint="no real model is that deep")
        data = self.data
        pieces: list[bytes | memoryview] = []
        total = 0
        kept = position = start  # data[kept:position] is to be copied as it is
        views: list[int] = []
        while position < end:
            at = position
            self.fields += 1
            if self.fields > MAX_FIELDS:
                raise ReadError(f"more than {MAX_FIELDS:,} fields outside the weights")
            tag = data[position]
            if tag < 0x80:
                position += 1
            else:
                tag, position = self.varint(position, end)
            number, wire = tag >> 3, tag & 7
            if number == 0 or number > 536870911:
                raise ReadError(f"field number {number} at byte {at} is impossible: the file is no Core ML model")
            if wire == 2:
                length, position = self.varint(position, end)
                if length > end - position:
                    raise ReadError(
                        f"the field at byte {at} declares {length:,} bytes where {end - position:,} are left",
                        hint="the file is truncated or no Core ML model",
                    )
                inner, position = position, position + length
                if number in plan.descend:
                    seen = len(self.views)
                    below, size = self.message(inner, position, plan.descend[number], depth + 1)
                    if len(self.views) > seen:
                        head = bytes(data[kept:at]) + _varint(tag) + _varint(size)
                        pieces.append(head)
                        pieces += below
                        total += len(head) + size
                        kept = position
                elif number in plan.cut and length:
                    views.append(self.view(number, plan.cut[number], data[inner:position]))
                    if at > kept:
                        pieces.append(data[kept:at])
                        total += at - kept
                    kept = position
                elif tag == _VIEW_TAG and plan.name in _CUT_IN:
                    raise ReadError(f"the field at byte {at} is reserved")
            elif wire == 5 and plan.cut.get(number) == "float32":
                position = self.unpacked(at, end, number, views)
                if at > kept:
                    pieces.append(data[kept:at])
                    total += at - kept
                kept = position
            else:
                position = self.skip(at, position, end, wire)
        if end > kept:
            pieces.append(data[kept:end])
            total += end - kept
        if views:
            body = b"".join(_varint(view) for view in views)
            tail = _varint(_VIEW_TAG) + _varint(len(body)) + body
            pieces.append(tail)
            total += len(tail)
        return pieces, total

    def view(self, number: int, encodes: str, data: memoryview) -> int:
        if encodes == "float32" and len(data) % 4:
            raise ReadError(f"a list of 4-byte floats holds {len(data):,} bytes", hint="the file is damaged")
        self.views.append(View(number, encodes, data))
        return len(self.views) - 1

    def unpacked(self, at: int, end: int, number: int, views: list[int]) -> int:
        """Takes the run of floats with a tag each that starts at ``at``; returns where it ends."""
        import numpy as np

        tag = number << 3 | 5
        window = 64
        taken = 0
        while True:
            count = min(window, (end - at) // _FLOAT_STRIDE)
            rows = np.frombuffer(self.data[at : at + count * _FLOAT_STRIDE], np.uint8).reshape(-1, _FLOAT_STRIDE)
            other = np.flatnonzero(rows[:, 0] != tag)
            run = int(other[0]) if len(other) else count
            if run < count or count < window:
                taken = run
                break
            window *= 4
        if not taken:
            raise ReadError(f"the field at byte {at} is cut off")
        self.fields += 1
        floats = memoryview(rows[:taken, 1:].tobytes())
        views.append(self.view(number, "float32", floats))
        return at + taken * _FLOAT_STRIDE

    def varint(self, position: int, end: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            if position >= end or shift > 63:
                raise ReadError(f"the number at byte {position} does not end", hint="the file is truncated or damaged")
            byte = self.data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, position
            shift += 7

    def skip(self, at: int, position: int, end: int, wire: int) -> int:
        if wire == 0:
            _, position = self.varint(position, end)
        elif wire == 1:
            position += 8
        elif wire == 5:
            position += 4
        else:
            raise ReadError(f"the field at byte {at} has wire type {wire}, which Core ML files do not use")
        if position > end:
            raise ReadError(f"the field at byte {at} is cut off", hint="the file is truncated")
        return position


def splice(message: Any, views: list[View]) -> Iterator[bytes | memoryview]:
    """The pieces of the serialised ``message`` with the weights of ``views`` back in their places."""
    # deterministic: maps in the order of their keys, so that the same model is the same file
    data = memoryview(message.SerializeToString(deterministic=True))
    pieces, _ = _Splicer(data, views).message(0, len(data), _plan(message.DESCRIPTOR.name))
    yield from pieces


class _Splicer:
    def __init__(self, data: memoryview, views: list[View]) -> None:
        self.data = data
        self.views = views
        self.reader = _Cutter(data)
        self.replaced = 0

    def message(self, start: int, end: int, plan: _Plan) -> tuple[list[bytes | memoryview], int]:
        pieces: list[bytes | memoryview] = []
        total = 0

        def add(*parts: bytes | memoryview) -> None:
            nonlocal total
            pieces.extend(parts)
            total += sum(map(len, parts))

        waiting = self.views_of(start, end) if plan.name in _CUT_IN else []
        kept = position = start
        while position < end:
            at = position
            tag, position = self.reader.varint(position, end)
            number, wire = tag >> 3, tag & 7
            while waiting and waiting[0].field < number:
                # weights go where a writer puts them: in the order of field numbers
                view = waiting.pop(0)
                add(self.data[kept:at], _varint(view.field << 3 | 2), _varint(len(view.data)), view.data)
                kept = at
                self.replaced += 1
            if wire != 2:
                position = self.reader.skip(at, position, end, wire)
                continue
            length, inner = self.reader.varint(position, end)
            position = inner + length
            if tag == _VIEW_TAG and plan.name in _CUT_IN:
                add(self.data[kept:at])
                kept = position
            elif number in plan.descend:
                seen = self.replaced
                below, size = self.message(inner, position, plan.descend[number])
                if self.replaced > seen:
                    add(self.data[kept:at], _varint(tag), _varint(size))
                    pieces.extend(below)
                    total += size
                    kept = position
        add(self.data[kept:end])
        return pieces, total

    def views_of(self, start: int, end: int) -> list[View]:
        """The views that a message names, which it does in its last field, sorted by the field they belong to."""
        found: list[View] = []
        position = start
        while position < end:
            at = position
            tag, position = self.reader.varint(position, end)
            if tag & 7 != 2:
                position = self.reader.skip(at, position, end, tag & 7)
                continue
            length, position = self.reader.varint(position, end)
            if tag == _VIEW_TAG:
                stop, inner = position + length, position
                while inner < stop:
                    index, inner = self.reader.varint(inner, stop)
                    found.append(self.views[index])
            position += length
        return sorted(found, key=lambda view: view.field)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
