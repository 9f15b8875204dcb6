"""Random sequences of edits: every edit that there is, with values made up from what the model holds."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from pippin.coreml.edit import Editor
from pippin.coreml.edit.cut import visible
from pippin.coreml.edit.metadata import labels_of
from pippin.coreml.edit.names import layer_names, taken
from pippin.coreml.features import Feature, feature
from pippin.errors import CheckError, InputError, UnsupportedError

REFUSED = (InputError, UnsupportedError, CheckError)
"""What an edit may say no with."""


def features(edit: Editor, side: str, kind: str = "") -> list[Feature]:
    found = [feature(entry) for entry in getattr(edit.document.model.description, side)]
    return [entry for entry in found if kind in ("", entry.kind)]


def one(chance: random.Random, items: Any) -> Any:
    """One of ``items``; an edit without any is refused."""
    items = list(items)
    if not items:
        raise InputError("nothing to choose from")
    return chance.choice(items)


def word(chance: random.Random) -> str:
    return chance.choice(["a-b", "x", "new name", "ünï", "probabilities", "image"]) + str(chance.randrange(100))


def _rename(edit: Editor, chance: random.Random) -> None:
    names = sorted(taken(edit.document.model) - {""})
    picked = chance.sample(names, min(len(names), chance.randrange(1, 4)))
    if len(picked) > 1 and chance.random() < 0.3:
        edit.rename(dict(zip(picked, picked[1:] + picked[:1], strict=True)))
    else:
        edit.rename({name: word(chance) for name in picked})


def _rename_layer(edit: Editor, chance: random.Random) -> None:
    edit.rename_layer(one(chance, sorted(layer_names(edit.document.model) - {""})), word(chance))


def _preprocess(edit: Editor, chance: random.Random) -> None:
    entry = one(chance, features(edit, "input", "image"))
    count = 1 if (entry.color or "").startswith("GRAY") else 3

    def numbers(low: float, high: float) -> Any:
        return [chance.uniform(low, high) for _ in range(chance.choice([1, count]))]

    if chance.random() < 0.3:
        edit.remove_preprocessing(entry.name)
    elif chance.random() < 0.5:
        edit.set_preprocessing(entry.name, mean=numbers(0.3, 0.6), std=numbers(0.2, 0.3))
    else:
        edit.set_preprocessing(entry.name, scale=numbers(0.003, 0.01), bias=numbers(-1, 1))


def _output_image(edit: Editor, chance: random.Random) -> None:
    edit.output_to_image(one(chance, features(edit, "output", "multiarray")).name, scale=chance.choice([1, 255]))


def _flexible(edit: Editor, chance: random.Random) -> None:
    entry = one(chance, [e for e in features(edit, "input") if e.kind in ("image", "multiarray")])
    usual = entry.size or entry.shape or ()
    if chance.random() < 0.3:
        edit.set_fixed(entry.name)
    elif chance.random() < 0.5:
        edit.set_flexible(entry.name, ranges=[(max(size - 4, 1), size + 8) for size in usual])
    else:
        edit.set_flexible(entry.name, shapes=[usual, tuple(size + chance.randrange(1, 5) for size in usual)])


def _metadata(edit: Editor, chance: random.Random) -> None:
    edit.set_metadata({one(chance, ["author", "license", "own"]): chance.choice([None, "x", "ä" * 50])})


def _labels(edit: Editor, chance: random.Random) -> None:
    count = len(labels_of(edit.document))
    edit.set_labels([f"{word(chance)} {i}" for i in range(count)] if chance.random() < 0.5 else [*range(5, count + 5)])


def _add_output(edit: Editor, chance: random.Random) -> None:
    edit.add_output(one(chance, visible(edit.document.network)), chance.choice(["float32", "float64"]))


def _cut(edit: Editor, chance: random.Random) -> None:
    blobs = visible(edit.document.network)
    if chance.random() < 0.6:
        edit.cut([one(chance, blobs[len(blobs) // 2 :])])
    else:
        edit.cut(inputs=[one(chance, blobs[: len(blobs) // 2])])


def _quantize(edit: Editor, chance: random.Random) -> None:
    bits = chance.choice([*range(2, 9), 8, 16])
    mode = chance.choice(["linear", "linear", "symmetric", "kmeans"]) if bits < 7 or bits == 16 else "linear"
    edit.quantize(bits, mode, per=chance.choice(["channel", "tensor"]), everything=chance.random() < 0.3)


def _optional(edit: Editor, chance: random.Random) -> None:
    entry = one(chance, features(edit, "input"))
    default = chance.choice([None, 1.0]) if entry.kind == "multiarray" else None
    edit.set_optional(entry.name, default=default)


OPERATIONS: dict[str, Callable[[Editor, random.Random], Any]] = {
    "rename": _rename,
    "rename_layer": _rename_layer,
    "clean_names": lambda e, c: e.clean_names(blobs=c.random() < 0.5),
    "input_to_image": lambda e, c: e.input_to_image(one(c, features(e, "input", "multiarray")).name),
    "input_to_array": lambda e, c: e.input_to_array(
        one(c, features(e, "input", "image")).name, keep_preprocessing=c.random() < 0.8
    ),
    "output_to_image": _output_image,
    "output_to_array": lambda e, c: e.output_to_array(one(c, features(e, "output", "image")).name),
    "set_dtype": lambda e, c: e.set_dtype(
        one(c, features(e, c.choice(["input", "output"]), "multiarray")).name,
        c.choice(["float32", "float64", "float16", "int32"]),
    ),
    "set_optional": _optional,
    "describe": lambda e, c: e.describe(one(c, features(e, c.choice(["input", "output"]))).name, "what it is"),
    "preprocess": _preprocess,
    "fix_preprocessing": lambda e, c: e.fix_preprocessing(),
    "set_color": lambda e, c: e.set_color(one(c, features(e, "input", "image")).name, c.choice(["RGB", "BGR"])),
    "metadata": _metadata,
    "labels": _labels,
    "flexible": _flexible,
    "set_size": lambda e, c: e.set_size(
        (entry := one(c, features(e, "input", "image"))).name, tuple(size + 4 for size in entry.size or ())
    ),
    "add_output": _add_output,
    "remove_output": lambda e, c: e.remove_output(one(c, features(e, "output")).name),
    "cut": _cut,
    "prune": lambda e, c: e.prune(),
    "quantize": _quantize,
    "expand": lambda e, c: e.expand(),
}
"""Every kind of edit."""


def sequence(edit: Editor, seed: int, length: int = 5) -> list[str]:
    """Makes ``length`` random edits, those that are refused not counted; tells what was done and refused."""
    chance = random.Random(seed)
    told: list[str] = []
    for _ in range(6 * length):
        if len(edit.steps) >= length:
            break
        name = chance.choice(sorted(OPERATIONS))
        before, steps = edit.to_bytes(), len(edit.steps)
        try:
            OPERATIONS[name](edit, chance)
            told.append(f"{name}: {edit.steps[-1].text}")
        except REFUSED as error:
            told.append(f"{name} refused: {error}")
            assert (edit.to_bytes(), len(edit.steps)) == (before, steps), "a refused edit left traces"
    return told
