"""The edits that ``pippin edit`` offers: what they are called, and how their words are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..coreml.edit import Editor


@dataclass(frozen=True)
class Edit:
    """One edit: what its value looks like ("" for none), what it does, and how it is made."""

    metavar: str
    help: str
    make: Callable[[Editor, str], Any]


def apply(editor: Editor, name: str, value: Any) -> None:
    """Makes the edit ``name``. Raises ``click.UsageError`` for a value that cannot be read."""
    try:
        EDITS[name].make(editor, value)
    except _Words as error:
        wanted = EDITS[name].metavar
        raise click.UsageError(f"--{name.replace('_', '-')} wants {wanted}, got {value!r}: {error}") from None


class _Words(ValueError):
    """A value of an option that cannot be read."""


def _pair(value: str) -> tuple[str, str]:
    name, separator, rest = value.partition("=")
    if not separator or not name:
        raise _Words("there is no '='")
    return name, rest


def _options(value: str, **types: Callable[[str], Any]) -> tuple[str, dict[str, Any]]:
    """``NAME key=value key=value`` as the name, which may have spaces in it, and the options."""
    words = value.split()
    if not words:
        raise _Words("it is empty")
    found: dict[str, Any] = {}
    while len(words) > 1 and "=" in words[-1]:
        key, _, text = words.pop().partition("=")
        if key not in types:
            raise _Words(f"'{key}={text}' is none of {', '.join(f'{known}=…' for known in types)}")
        found[key] = types[key](text)
    name = value.strip()
    if found:
        name = re.split(rf"\s(?:{'|'.join(types)})=", name, maxsplit=1)[0].rstrip()
    if len(words) != len(name.split()):
        raise _Words(f"{words[-1]!r} is none of {', '.join(f'{known}=…' for known in types)}")
    return name, found


def _number(text: str) -> float:
    """A number, or one divided by another: 1/255."""
    above, slash, below = text.partition("/")
    try:
        return float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        raise _Words(f"{text!r} is no number") from None


def _numbers(text: str) -> float | list[float]:
    values = [_number(part) for part in text.split(",")]
    return values[0] if len(values) == 1 else values


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _sizes(text: str) -> tuple[int, ...]:
    """``224x320`` or ``1,3,224,224``."""
    try:
        return tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError:
        raise _Words(f"{text!r} is no size such as 224x320 or 1,3,224,224") from None


def _range(text: str) -> tuple[int, int | None]:
    low, dots, high = text.partition("..")
    try:
        return int(low), (int(high) if high else None) if dots else int(low)
    except ValueError:
        raise _Words(f"{text!r} is no range such as 64..512, 64.. or 3") from None


def _rename(method: str) -> Callable[[Editor, str], Any]:
    return lambda editor, value: getattr(editor, method)(*_pair(value))


def _set_preprocessing(editor: Editor, value: str) -> None:
    name, options = _options(value, scale=_numbers, bias=_numbers, mean=_numbers, std=_numbers, unit=_number)
    editor.set_preprocessing(name, **options)


def _set_flexible(editor: Editor, value: str) -> None:
    name, rest = _pair(value)
    if ".." in rest:
        editor.set_flexible(name, ranges=[_range(part) for part in rest.replace("x", ",").split(",")])
    else:
        editor.set_flexible(name, shapes=[_sizes(part) for part in rest.split("|")])


def _input_image(editor: Editor, value: str) -> None:
    name, options = _options(value, color=str, layout=str)
    editor.input_to_image(name, **options)


def _input_array(editor: Editor, value: str) -> None:
    name, options = _options(value, dtype=str, preprocessing=str)
    kept = options.pop("preprocessing", "keep")
    if kept not in ("keep", "drop"):
        raise _Words("preprocessing is keep or drop")
    editor.input_to_array(name, keep_preprocessing=kept == "keep", **options)


def _output_image(editor: Editor, value: str) -> None:
    name, options = _options(value, color=str, scale=_numbers, bias=_numbers)
    editor.output_to_image(name, **options)


def _output_array(editor: Editor, value: str) -> None:
    name, options = _options(value, dtype=str)
    editor.output_to_array(name, **options)


def _set_optional(editor: Editor, value: str) -> None:
    name, separator, default = value.partition("=")
    editor.set_optional(name, default=_number(default) if separator else None)


def _set_metadata(editor: Editor, value: str) -> None:
    key, text = _pair(value)
    editor.set_metadata({key: text or None})


def _set_labels(editor: Editor, value: str) -> None:
    from ..coreml.edit.metadata import labels_of

    path = Path(value)
    if path.exists():
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"{value} cannot be read: {error}") from None
        labels = [line.strip() for line in lines if line.strip()]
    else:
        labels = _names(value)
        if len(labels) < 2:
            raise _Words("there is no such file")
    # "007" is a text; so are numbers where the labels are texts of numbers now
    before = labels_of(editor.document) if editor.document.type == "neuralNetworkClassifier" else []
    whole = all(map(_is_whole, labels)) and not (before and all(map(_is_whole, before)))
    editor.set_labels([int(label) for label in labels] if whole else labels)


def _is_whole(label: str | int) -> bool:
    return isinstance(label, str) and re.fullmatch("0|-?[1-9][0-9]*", label) is not None


def _cut(editor: Editor, value: str) -> None:
    editor.cut(_names(value))


def _start(editor: Editor, value: str) -> None:
    editor.cut(inputs=_names(value))


def _quantize(editor: Editor, value: str) -> None:
    options: dict[str, Any] = {}
    bits: int | None = None
    for word in value.split():
        key, separator, text = word.partition("=")
        if word.isdecimal():
            bits = int(word)
        elif word in ("linear", "symmetric", "kmeans", "float16"):
            options["mode"] = word
        elif word == "everything":
            options["everything"] = True
        elif separator and key in ("layers", "skip"):
            options[key] = _names(text)
        elif separator and key == "per":
            options["per"] = text
        else:
            raise _Words(f"{word!r} is not understood")
    if bits is None and options.get("mode") != "float16":
        raise _Words("the number of bits is not given")
    editor.quantize(16 if bits is None else bits, **options)


def _prune(editor: Editor, value: str) -> None:
    if value not in ("all", "idle", "unused"):
        raise _Words("it is none of them")
    editor.prune(idle=value != "unused", unused=value != "idle")


EDITS: dict[str, Edit] = {
    "rename_input": Edit("OLD=NEW", "Rename an input, and all that refers to it.", _rename("rename_input")),
    "rename_output": Edit("OLD=NEW", "Rename an output.", _rename("rename_output")),
    "rename_blob": Edit("OLD=NEW", "Rename a blob, in nested networks too.", _rename("rename_blob")),
    "rename_layer": Edit("OLD=NEW", "Rename a layer.", _rename("rename_layer")),
    "rename": Edit("OLD=NEW", "Rename an input, output, training input or blob, whatever it is.", _rename("rename")),
    "clean_names": Edit(
        "", "Make identifiers of the names of inputs and outputs.", lambda editor, _: editor.clean_names()
    ),
    "input_image": Edit("NAME [color=RGB] [layout=chw]", "Make an array input a picture.", _input_image),
    "input_array": Edit(
        "NAME [preprocessing=keep|drop] [dtype=…]", "Make a picture an array of its pixels.", _input_array
    ),
    "output_image": Edit("NAME [scale=255] [bias=0] [color=RGB]", "Make an array output a picture.", _output_image),
    "output_array": Edit("NAME [dtype=…]", "Make a picture that is an output an array.", _output_array),
    "set_dtype": Edit(
        "NAME=DTYPE", "float16, float32, float64, int8 or int32 for an array.", _rename("set_dtype")
    ),
    "set_optional": Edit("NAME[=DEFAULT]", "An input may be left out.", _set_optional),
    "set_required": Edit("NAME", "An input must be given.", lambda editor, value: editor.set_optional(value, False)),
    "describe": Edit("NAME=TEXT", "The description of an input or output.", _rename("describe")),
    "set_preprocessing": Edit(
        "'NAME scale=1/255 bias=0,0,0' or 'NAME mean=… std=…'",
        "What is done to pixels: x · scale + bias, or (x/255 - mean)/std; one number, or red, green, blue.",
        _set_preprocessing,
    ),
    "remove_preprocessing": Edit(
        "NAME", "Give the network pixels 0..255.", lambda editor, value: editor.remove_preprocessing(value)
    ),
    "fix_preprocessing": Edit(
        "", "Give preprocessing of no input to the picture without.", lambda editor, _: editor.fix_preprocessing()
    ),
    "set_color": Edit("NAME=RGB|BGR", "The order of the colours of a picture.", _rename("set_color")),
    "set_metadata": Edit("KEY=VALUE", "description, author, license, version or your own; '' removes.", _set_metadata),
    "set_labels": Edit("FILE|A,B,…", "Class labels, a line each.", _set_labels),
    "set_flexible": Edit(
        "NAME=64..512x64..512 or NAME=64x64|128x128",
        "Sizes that an input may have, as ranges or a list.",
        _set_flexible,
    ),
    "set_fixed": Edit("NAME", "Only the default size.", lambda editor, value: editor.set_fixed(value)),
    "set_size": Edit(
        "NAME=224x224", "The default size: width x height, or 1,3,224,224.",
        lambda editor, value: editor.set_size(_pair(value)[0], _sizes(_pair(value)[1])),
    ),
    "add_output": Edit("BLOB", "Make a blob an output.", lambda editor, value: editor.add_output(value)),
    "remove_output": Edit("NAME", "Take an output away.", lambda editor, value: editor.remove_output(value)),
    "cut": Edit("BLOB[,BLOB]", "End the network at these blobs.", _cut),
    "start": Edit("BLOB[,BLOB]", "Begin the network at these blobs, which become inputs.", _start),
    "prune": Edit("all|idle|unused", "Remove layers that do nothing, that nobody uses, or both.", _prune),
    "quantize": Edit(
        "'BITS [kmeans|symmetric] [per=tensor] [layers=…] [skip=…] [everything]'",
        "Store weights in 1 to 8 bits, or 16 for float16.",
        _quantize,
    ),
    "expand_weights": Edit("", "Store weights as float32 again.", lambda editor, _: editor.expand()),
    "take": Edit("NAME", "Take a model out of a pipeline.", lambda editor, value: editor.take(value)),
}  # fmt: skip
"""Every edit by the name of its option."""
