"""What ``run``, ``inspect`` and ``check`` do with files of the NNRt door; the file's first bytes decide."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DeviceError, InputError, ReadError, UnsupportedError

if TYPE_CHECKING:
    from ..nnrt.prepared_model import PreparedModel


def is_nnrt(path: str | Path) -> bool:
    """Whether a file begins as those of :mod:`pippin.nnrt` do; what cannot be read, or not twice, does not."""
    from ..nnrt.container import MAGIC

    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def content(path: str | Path) -> bytes:
    """The file's bytes.  ReadError if they cannot be had."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", where=str(path)) from None


def choose(name: str | None) -> Any:
    """The device of this name, number, provider or kind ("cpu"); the first one if there is no name.

    ``unix:PATH`` or ``unix:PATH:NAME`` is a device of a service.  DeviceError with the names that there are.
    """
    from ..nnrt.device import devices

    if name is not None and name.startswith("unix:"):
        from ..nnrt.service.client import connect

        path, _, which = name.removeprefix("unix:").partition(":")
        return connect(path, which or 0)

    found = devices()
    if name is None:
        return found[0]
    wanted = name.casefold()
    for place, device in enumerate(found):
        short = device.provider.removesuffix("ExecutionProvider")
        if wanted in (str(place), device.name.casefold(), short.casefold(), device.type.name.casefold()):
            return device
    there = ", ".join(f"{place} {device.name!r}" for place, device in enumerate(found))
    raise DeviceError(f"there is no device {name!r}", hint=f"pippin devices lists them: {there}")


# -- inspect -----------------------------------------------------------------------------------------------------------


def inspect(path: str, which: str | None, as_json: bool) -> None:
    """Prints a model or an exported cache, or one node of a model."""
    from ..nnrt.cache import unpack_compiled
    from ..nnrt.container import Kind, unpack
    from ..nnrt.file import model_of
    from ..report import describe_nnrt as describe

    data = content(path)
    container = unpack(data, where=path)
    if container.kind is Kind.PREPARED:
        if which is not None:
            raise UnsupportedError("a prepared model has no nodes to show, only inputs and outputs", where=path)
        entry = describe.describe_prepared(unpack_compiled(container, None), Path(path).name, len(data))
        click.echo(json.dumps(entry) if as_json else describe.prepared_text(entry))
        return
    entry = describe.describe(model_of(container), Path(path).name, len(data))
    if which is not None:
        entry = describe.find_node(entry, which)
        click.echo(json.dumps(entry) if as_json else describe.node_text(entry))
        return
    click.echo(json.dumps(entry) if as_json else describe.as_text(entry))


# -- run ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """An input as the command line looks at it; -1 in ``shape`` is a dim that may be anything."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    kind: str = "multiarray"
    optional: bool = False
    default: Any = None
    planes: bool = False
    """Whether channels come before height and width."""

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


def run(
    path: str, words: tuple[str, ...], *, device: str | None, engine: str, as_json: bool, output: str | None, top: int
) -> None:
    """Runs a model, or an exported cache, and prints its answer."""
    from ..report import answers
    from .run import save, to_json
    from .values import example, parse

    data = content(path)
    entries, answer_to = _engine(data, path, device, engine)
    pictures, rest = _pictures(words, entries)
    left = {name: entry for name, entry in entries.items() if name not in pictures}
    answer = answer_to(pictures | parse(rest, left, example(path, entries)))
    if output:
        save(Path(output), answer)
        click.echo(f"wrote {output}", err=True)
    if as_json:
        click.echo(to_json(answer))
    elif not output:
        click.echo(answers.as_text(answer, top))


def _pictures(words: tuple[str, ...], entries: Mapping[str, Entry]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The pictures among the words, as arrays by input name, and the other words."""
    from .values import PICTURES

    found: dict[str, Any] = {}
    rest = []
    for word in words:
        name, separator, value = word.partition("=")
        if not separator and len(entries) == 1:
            (name,), value = entries, word
        if name in entries and Path(value).suffix.lower() in PICTURES:
            found[name] = picture(value, entries[name])
        else:
            rest.append(word)
    return found, tuple(rest)


def picture(path: str, entry: Entry) -> Any:
    """A picture as pixels 0 to 255 in the dims of an input: 1 or 3 channels, behind or before height and width.

    InputError if the input takes no picture, the file is none, or its size is another.
    """
    import numpy as np

    from ..coreml.pictures import converted, open_picture, place

    rank, channels = len(entry.shape), entry.shape[1] if entry.planes else entry.shape[-1]
    if rank != 4 or entry.shape[0] not in (1, -1) or channels not in (1, 3):
        raise InputError(f"input {entry.name!r} takes {entry}, not a picture", hint="hand in an array: array.npy")
    where = place(entry.name, path)
    pixels = np.asarray(converted(open_picture(path, where), "L" if channels == 1 else "RGB", where))
    pixels = pixels.reshape(*pixels.shape[:2], channels)
    array = (pixels.transpose(2, 0, 1) if entry.planes else pixels)[None]
    if any(want not in (-1, have) for want, have in zip(entry.shape, array.shape, strict=True)):
        size = entry.shape[2:] if entry.planes else entry.shape[1:3]
        raise InputError(
            f"the picture must be {size[1]} wide and {size[0]} high, got {pixels.shape[1]} and {pixels.shape[0]}",
            where=where,
        )
    return array


def _engine(data: bytes, path: str, device: str | None, engine: str) -> tuple[dict[str, Entry], Any]:
    """The inputs by name, and a function from values by name to outputs by name."""
    from ..nnrt.enums import Format
    from ..nnrt.ports import labels

    prepared = prepare(data, path, device)
    names = labels(prepared.inputs)
    entries = {
        name: Entry(name, port.data_type.name.lower(), tuple(port.dims), planes=port.format == Format.NCHW)
        for name, port in zip(names, prepared.inputs, strict=True)
    }

    def by_device(given: Mapping[str, Any]) -> dict[str, Any]:
        return prepared.predict([given[name] for name in names])

    if engine == "onnxruntime":
        return entries, by_device

    from ..nnrt.file import load_model
    from ..reference.nnrt.interpreter import Interpreter

    interpreter = Interpreter(load_model(data))

    def by_reference(given: Mapping[str, Any]) -> dict[str, Any]:
        results = interpreter.run([given[name] for name in names])
        return dict(zip(labels(prepared.outputs), results, strict=True))

    return entries, by_reference


def prepare(data: bytes, path: str, device: str | None) -> PreparedModel:
    """A model, or an exported cache, made ready on a device."""
    from ..errors import PippinError
    from ..nnrt.buffers import Region
    from ..nnrt.container import Kind, unpack
    from ..nnrt.file import model_of

    try:
        container = unpack(data)
        chosen = choose(device)
        if container.kind is Kind.MODEL:
            return chosen.prepare(model_of(container))
        region = Region(len(data), name="pippin-cache")
        region.array[:] = memoryview(data)
        return chosen.prepare_from_cache([region.buffer()])
    except DeviceError as error:
        raise _explained(error).at(path) from None
    except PippinError as error:
        raise error.at(path) from None


def _explained(error: DeviceError) -> DeviceError:
    """The refusal of a device with the name and the number of its return code."""
    from ..nnrt.errors import NnrtError

    if isinstance(error, NnrtError):
        error.message = f"{error.message} [{error.code.idl_name} {int(error.code)}]"
    return error


def only_for_coreml(**options: Any) -> None:
    """A usage error if one of these options was given: NNRt models have nothing that it could change."""
    for name, value in options.items():
        if value:
            raise click.UsageError(f"--{name.replace('_', '-')} is for Core ML models; this is an NNRt model")
