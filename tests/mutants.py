"""Breaks models on purpose: seeded changes of single fields, anywhere in a message."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

NUMBERS = (0, 1, 2, 3, 5, -1, -2, 7, 100, 255, 256, 65535, 1 << 31, (1 << 31) - 1, (1 << 63) - 1, -(1 << 63), 1 << 62)
REALS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e30, -1e30, float("nan"), float("inf"), float("-inf"), 1e-40)
TEXTS = ("", "x", "y", "no such name", "0", " ", "é\n", "x" * 300)
_UNSIGNED = {4: 64, 6: 64, 7: 32, 13: 32}
_SIGNED = {3: 64, 5: 32, 15: 32, 16: 64, 17: 32, 18: 64}
_REALS = (1, 2)
_VIEW = "pippinView"


def messages(message: Any, most: int = 4000) -> list[Any]:
    """The message and all inside it that are set."""
    found = [message]
    for parent in found:
        for field, value in parent.ListFields():
            if field.message_type is None or field.message_type.GetOptions().map_entry:
                continue
            found += value if field.is_repeated else [value]
        if len(found) > most:
            break
    return found


def mutate(model: Any, seed: int, names: list[str] | None = None) -> str:
    """Changes one field of ``model`` in place; says which."""
    chance = random.Random(seed)
    target = chance.choice(messages(model))
    # a message without fields (ReLU) has nothing to change; its parent has
    fields = [f for f in target.DESCRIPTOR.fields if f.name != _VIEW and not _map(f)]
    if not fields:
        target = model
        fields = [f for f in target.DESCRIPTOR.fields if not _map(f)]
    set_ = [field for field, _ in target.ListFields() if field in fields]
    field = chance.choice(set_ if set_ and chance.random() < 0.75 else fields)
    action = chance.choice(("value", "value", "value", "clear", "repeat"))
    _change(target, field, action, chance, names or list(TEXTS))
    return f"{target.DESCRIPTOR.name}.{field.name} {action}"


def _map(field: Any) -> bool:
    return bool(field.message_type is not None and field.message_type.GetOptions().map_entry)


def _change(target: Any, field: Any, action: str, chance: random.Random, names: list[str]) -> None:
    value = getattr(target, field.name)
    if action == "clear":
        if field.is_repeated and len(value) and chance.random() < 0.7:
            del value[chance.randrange(len(value))]
        else:
            target.ClearField(field.name)
    elif field.message_type is not None and field.is_repeated:
        if action == "repeat" and len(value):
            value.add().CopyFrom(value[chance.randrange(len(value))])
        elif len(value) > 1 and chance.random() < 0.5:
            first, second = chance.randrange(len(value)), chance.randrange(len(value))
            kept = type(value[0])()
            kept.CopyFrom(value[first])
            value[first].CopyFrom(value[second])
            value[second].CopyFrom(kept)
        else:
            value.add()
    elif field.message_type is not None:
        value.SetInParent()
    elif field.is_repeated:
        _change_list(value, field, action, chance, names)
    else:
        setattr(target, field.name, _scalar(field, chance, names))


def _change_list(values: Any, field: Any, action: str, chance: random.Random, names: list[str]) -> None:
    if action == "repeat":
        values.extend(list(values)[: 1 + chance.randrange(8)] or [_scalar(field, chance, names)])
    elif len(values):
        values[chance.randrange(len(values))] = _scalar(field, chance, names)
    else:
        values.append(_scalar(field, chance, names))


def _scalar(field: Any, chance: random.Random, names: list[str]) -> Any:
    if field.type in _REALS:
        return chance.choice(REALS)
    if field.type == 8:
        return chance.random() < 0.5
    if field.type == 9:
        return chance.choice(names)
    if field.type == 12:
        return chance.randbytes(chance.randrange(9))
    if field.type == 14:
        return chance.choice([*(value.number for value in field.enum_type.values), 77, -1])
    number = chance.choice(NUMBERS)
    if field.type in _UNSIGNED:
        return abs(number) % (1 << _UNSIGNED[field.type])
    bits = _SIGNED[field.type]
    return (number + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def blob_names(model: Any) -> list[str]:
    """Names that stand in the model, so that a changed name often means something."""
    found = {"", "no such name"}
    for message in messages(model):
        if message.DESCRIPTOR.name == "NeuralNetworkLayer":
            found.update(message.input, message.output)
    found.update(feature.name for feature in (*model.description.input, *model.description.output))
    return sorted(found)


def mutants(models: list[Any], count: int, seed: int = 0) -> Iterator[tuple[str, Any]]:
    """``count`` broken models, each made of one of ``models`` by one to three changes."""
    names = [blob_names(model) for model in models]
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        index = chance.randrange(len(models))
        model = type(models[index])()
        model.CopyFrom(models[index])
        told = [mutate(model, chance.randrange(1 << 30), names[index]) for _ in range(chance.choice((1, 1, 2, 3)))]
        yield f"mutant {number} of model {index}: {'; '.join(told)}", model


def damaged(content: bytes, seed: int) -> bytes:
    """The bytes cut off, or with some of them changed."""
    chance = random.Random(seed)
    data = bytearray(content)
    if chance.random() < 0.4:
        return bytes(data[: chance.randrange(len(data) + 1)])
    for _ in range(1 + chance.randrange(4)):
        data[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
    return bytes(data)
