"""Values on the command line: ``name=value`` with pictures, arrays in files, and literal numbers."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.decorators import FC

    from .inputs import Input

MINUS = " -"
"""How ``ValuesCommand`` hands on a value that begins with a minus."""
PICTURES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"}


def parse(words: Sequence[str], inputs: Mapping[str, Input], example: str) -> dict[str, Any]:
    """The inputs that ``words`` give. A word without a name is for the only input, or a file that holds several.

    Raises ``click.UsageError`` with what the model wants and an example command.
    """
    values: dict[str, Any] = {}
    given: set[str] = set()
    for word in words:
        word = word[1:] if word.startswith(MINUS) else word
        name, separator, value = word.partition("=")
        if not separator or (name not in inputs and Path(word).exists()):
            name, value = "", word
        if not name and Path(value).suffix in (".npz", ".json") and _mapping(value, values):
            continue
        if not name:
            open_ = [key for key, entry in inputs.items() if key not in values and not entry.optional]
            if not open_:
                raise usage(f"{word!r} is one value too many", inputs, example)
            if len(open_) != 1:
                raise usage(f"{word!r} does not say which input it is for: NAME={word}", inputs, example)
            name = open_[0]
        if name not in inputs:
            raise usage(f"the model has no input {name!r}", inputs, example)
        if name in given:
            raise usage(f"input {name!r} has two values", inputs, example)
        given.add(name)
        values[name] = literal(value, inputs[name], inputs, example)
    missing = [
        name for name, entry in inputs.items() if name not in values and not entry.optional and entry.default is None
    ]
    if missing:
        raise usage(f"no value for input {missing[0]!r}", inputs, example)
    return values


def _mapping(path: str, values: dict[str, Any]) -> bool:
    """Takes all arrays of an ``.npz``, or a JSON object, as inputs by name."""
    content = load_file(Path(path))
    if not isinstance(content, dict):
        return False
    values.update(content)
    return True


def load_file(path: Path, *, lines: bool = False) -> Any:
    """An array of ``.npy``, a dict of arrays of ``.npz``, or what a ``.json`` file holds.

    ``lines``: that may be several values, one a line; they are a list then.
    """
    import numpy as np

    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        text = path.read_text(encoding="utf-8")
        try:
            return json.loads(text)
        except ValueError:
            if not lines:
                raise
            return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError, EOFError, KeyError, RecursionError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise click.UsageError(f"{path} cannot be read: {reason}") from None
    except Exception as error:  # a damaged archive raises whatever its decoder raises
        raise click.UsageError(f"{path} cannot be read: {type(error).__name__}") from None


def literal(value: str, entry: Input, inputs: Mapping[str, Input], example: str) -> Any:
    """One value: a picture's path, an array in a file, or numbers such as ``1,2,3`` or ``[[1,2],[3,4]]``."""
    import numpy as np

    path = Path(value)
    if path.suffix in (".npy", ".npz", ".json") and (path.exists() or "," not in value):
        content = load_file(path)
        if isinstance(content, dict):
            if entry.name in content:
                return content[entry.name]
            if len(content) == 1:
                return next(iter(content.values()))
            raise click.UsageError(f"{path} holds {', '.join(map(repr, content))}, but no {entry.name!r}")
        return content
    if entry.kind == "image":
        return _resized(path, entry)
    if path.suffix.lower() in PICTURES:
        hint = "; for a Core ML file, pippin edit --input-image makes it one"
        raise usage(f"{value} is a picture, and input {entry.name!r} is none{hint}", inputs, example)
    try:
        text = value if value.lstrip().startswith("[") else f"[{value}]"
        text = re.sub(r"(?<![\d.])\.(?=\d)", "0.", text)
        text = re.sub(r"(?i)\b(nan|inf(inity)?)\b", lambda word: "NaN" if word[0][0] in "nN" else "Infinity", text)
        array = np.asarray(json.loads(text))
        if array.dtype.kind not in "fiub":
            raise TypeError  # texts, null, rows of several lengths
        array = array.astype(np.float64)
    except (ValueError, TypeError, RecursionError):
        raise usage(
            f"{value[:60]!r} is no number and no file of numbers (input {entry.name!r})", inputs, example
        ) from None
    if value.lstrip()[:1] != "[" and entry.shape and array.size == np.prod(entry.shape):
        array = array.reshape(entry.shape)
    return array


class ValuesCommand(click.Command):
    """A command whose values may begin with a minus: ``-1,2`` is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        numbers = [index for index, word in enumerate(args) if re.match(r"-(\.?\d|inf)", word)]
        # the value of an option is not touched
        taken = {option for param in self.params for option in param.opts if not getattr(param, "is_flag", True)}
        for index in numbers:
            if "--" not in args[:index] and not (index and args[index - 1] in taken):
                args[index] = f"{MINUS}{args[index][1:]}"
        return super().parse_args(ctx, args)


def usage(problem: str, inputs: Mapping[str, Input], example: str) -> click.UsageError:
    """A usage error that says what the model wants."""
    wants = "\n".join(f"  {entry.name}: {entry}" for entry in inputs.values())
    return click.UsageError(f"{problem}\nThe model wants:\n{wants}\nExample:\n  {example}")


def example(model: str, inputs: Mapping[str, Input]) -> str:
    """A command that would run ``model``."""
    words = []
    for entry in inputs.values():
        if entry.optional or entry.default is not None:
            continue
        if entry.kind == "image":
            words.append(f"{entry.name}=picture.png")
        elif entry.shape and len(entry.shape) == 1 and 0 < entry.shape[0] <= 4:
            words.append(f"{entry.name}={','.join(['0.5'] * entry.shape[0])}")
        else:
            words.append(f"{entry.name}=array.npy")
    return shlex.join(["pippin", "run", model, *words])


# -- pictures that do not fit ------------------------------------------------------------------------------------------

RULES = ("crop", "fit", "stretch")
_RULE = "pippin.resize"


def resizing(command: FC) -> FC:
    """The option ``--resize`` of commands whose values go through ``parse``."""
    return click.option(
        "--resize", type=click.Choice(RULES), expose_value=False, help="Make pictures fit the input by this rule.",
        callback=lambda context, _, rule: context.meta.update({_RULE: rule}),
    )(command)  # fmt: skip


def _resized(path: Path, entry: Any) -> Any:
    context = click.get_current_context(silent=True)
    rule = context.meta.get(_RULE) if context is not None else None
    if rule is None:
        return path
    from ..coreml.pictures import fitted

    return fitted(path, entry, rule)


# -- custom layers -----------------------------------------------------------------------------------------------------


def custom_layers(command: FC) -> FC:
    """The option ``--custom-layers``: Python files that register functions for custom layers."""
    return click.option(
        "--custom-layers", multiple=True, type=click.Path(), metavar="FILE.py", expose_value=False, callback=_register,
        help="A Python file with functions for the network's custom layers.",
    )(command)  # fmt: skip


def _register(context: click.Context, option: click.Parameter, paths: Sequence[str]) -> None:
    """Runs the files, so that their ``pippin.custom_layer`` take effect."""
    import importlib.util

    from ..coreml import custom

    for number, path in enumerate(paths):
        before = custom.registered()
        name = f"pippin_custom_layers_{number}"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise click.UsageError(f"--custom-layers: {path} is no Python file (.py)")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses and pickle look there
        sys.path.insert(0, str(Path(path).resolve().parent))
        try:
            spec.loader.exec_module(module)
        except FileNotFoundError as error:
            raise click.UsageError(f"--custom-layers: {error.filename or path}: {error.strerror}") from None
        except (Exception, SystemExit) as error:
            raise click.UsageError(f"--custom-layers: {path} raised {type(error).__name__}: {error}") from error
        finally:
            del sys.path[0]
        if custom.registered() == before:
            hint = "it must call pippin.custom_layer(NAME)(function)"
            raise click.UsageError(f"--custom-layers: {path} registers nothing; {hint}")
