"""The editor: a model, the edits made so far, what they change, and the way into a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from ...errors import CheckError, InputError, PippinError, VerifyError, WriteError
from .. import write
from ..read import Document, Source, read
from . import cut, diff, features, flexible, metadata, names, pipeline, preprocessing, prune, quantize
from .preprocessing import Numbers
from .step import Step

if TYPE_CHECKING:
    from ...analysis.edits import Proof
    from ..check import Report
    from ..model import Model

SCHEMA = 1
"""Version of the JSON of ``pippin edit``."""


def edit(source: Source | Document | Model) -> Editor:
    """Opens a model for editing: a path, bytes, a file object, or what was loaded. Nothing is written before ``save``.

    >>> pippin.edit("digits.mlmodel").rename_input("image", "picture").quantize(4).save("small.mlmodel")
    """
    if isinstance(source, Document):
        return Editor(source)
    document = getattr(source, "document", None)
    return Editor(document if isinstance(document, Document) else read(source))  # type: ignore[arg-type]


@dataclass
class Saved:
    """A written model: where, how large, what ``check`` says of it, and the proof (None if none was asked for)."""

    path: Path
    size: int
    report: Report
    proof: Proof | None
    steps: list[Step] = field(default_factory=list)


class Editor:
    """Edits a model. Every method that changes it returns the editor, so that calls can be chained.

    An edit that raises leaves the model as it was; ``undo`` takes the last ones back. Errors are ``InputError`` for
    names and values that do not fit the model, ``UnsupportedError`` for edits that its type does not allow.
    """

    def __init__(self, document: Document) -> None:
        self._views = list(document.views)
        self._name, self._path, self._size = document.name, document.path, document.size
        self._states: list[Any] = [document.model]
        self.steps: list[Step] = []

    # -- state -------------------------------------------------------------------------------------------------------

    @property
    def document(self) -> Document:
        """The model as it is now."""
        return self.state(len(self.steps))

    def state(self, after: int) -> Document:
        """The model after so many edits; 0 is the model as it was read."""
        return Document(self._states[after], self._views, self._name, self._path, self._size)

    def apply(self, change: Callable[..., Step], *arguments: Any, **options: Any) -> Self:
        """Makes an edit: a function of a ``Document`` that changes it and returns a ``Step``."""
        draft = type(self._states[-1])()
        draft.CopyFrom(self._states[-1])
        document = Document(draft, self._views, self._name, self._path, self._size)
        try:
            step = change(document, *arguments, **options)
        except PippinError as error:
            raise error.at(self._name) from None
        except (ValueError, TypeError, OverflowError) as error:
            # the format's fields have ranges and types of their own
            raise InputError(f"a value does not fit: {error}", where=self._name) from error
        self.steps.append(step)
        self._states.append(document.model)
        return self

    def undo(self, count: int = 1) -> Self:
        """Takes the last edits back."""
        if not 0 <= count <= len(self.steps):
            raise InputError(f"there are {len(self.steps)} edits to take back, got {count}")
        if count:
            del self.steps[-count:], self._states[-count:]
        return self

    # -- names -------------------------------------------------------------------------------------------------------

    def rename(self, old: str | Mapping[str, str], new: str = "") -> Self:
        """Renames an input, output, training input or blob, whatever it is; a mapping renames several at once."""
        return self.apply(names.rename, _mapping(old, new))

    def rename_input(self, old: str | Mapping[str, str], new: str = "") -> Self:
        """Renames an input, and everything that refers to it."""
        return self.apply(names.rename, _mapping(old, new), "input")

    def rename_output(self, old: str | Mapping[str, str], new: str = "") -> Self:
        """Renames an output, and the blob that it is."""
        return self.apply(names.rename, _mapping(old, new), "output")

    def rename_training_input(self, old: str | Mapping[str, str], new: str = "") -> Self:
        """Renames what training takes; the target of the loss follows."""
        return self.apply(names.rename, _mapping(old, new), "training input")

    def rename_blob(self, old: str | Mapping[str, str], new: str = "") -> Self:
        """Renames a blob, in nested networks too."""
        return self.apply(names.rename, _mapping(old, new), "blob")

    def rename_layer(self, old: str | Mapping[str, str], new: str = "") -> Self:
        """Renames a layer or a loss layer."""
        return self.apply(names.rename_layers, _mapping(old, new))

    def clean_names(self, *, blobs: bool = False) -> Self:
        """Makes identifiers of the names of inputs and outputs (and of all blobs)."""
        return self.apply(names.clean_names, blobs=blobs)

    # -- interface ---------------------------------------------------------------------------------------------------

    def input_to_image(self, name: str, color: str = "", layout: str = "") -> Self:
        """Makes an array input a picture; see ``features.input_to_image``."""
        return self.apply(features.input_to_image, name, color, layout)

    def input_to_array(self, name: str, *, keep_preprocessing: bool = True, dtype: str = "float32") -> Self:
        """Makes a picture an array of its pixels; its preprocessing becomes layers, or is dropped."""
        return self.apply(features.input_to_array, name, keep_preprocessing=keep_preprocessing, dtype=dtype)

    def output_to_image(self, name: str, color: str = "", scale: Numbers = 1.0, bias: Numbers = 0.0) -> Self:
        """Makes an array output a picture of its values times ``scale`` plus ``bias``."""
        return self.apply(features.output_to_image, name, color, scale, bias)

    def output_to_array(self, name: str, dtype: str = "float32") -> Self:
        """Makes a picture that the network gives an array of its values, neither rounded nor clipped."""
        return self.apply(features.output_to_array, name, dtype)

    def set_dtype(self, name: str, dtype: str) -> Self:
        """Declares the dtype of an array: float16, float32, float64, int8 or int32."""
        return self.apply(features.set_dtype, name, dtype)

    def set_optional(self, name: str, optional: bool = True, *, default: float | None = None) -> Self:
        """Makes an input optional, with a default value, or required again."""
        return self.apply(features.set_optional, name, optional, default)

    def describe(self, name: str, text: str) -> Self:
        """Sets the description of an input or output."""
        return self.apply(names.describe, name, text)

    # -- preprocessing -----------------------------------------------------------------------------------------------

    def set_preprocessing(
        self,
        name: str,
        *,
        scale: Numbers | None = None,
        bias: Numbers | None = None,
        mean: Numbers | None = None,
        std: Numbers | None = None,
        unit: float = 255.0,
    ) -> Self:
        """pixel · scale + bias, or (pixel/unit - mean)/std; one number or three as red, green, blue."""
        return self.apply(preprocessing.set_preprocessing, name, scale=scale, bias=bias, mean=mean, std=std, unit=unit)

    def remove_preprocessing(self, name: str) -> Self:
        """Removes the preprocessing of an input."""
        return self.apply(preprocessing.remove_preprocessing, name)

    def fix_preprocessing(self) -> Self:
        """Gives preprocessing that belongs to no input to the picture that has none."""
        return self.apply(preprocessing.fix_preprocessing)

    def set_color(self, name: str, color: str) -> Self:
        """Declares the order of the colours of a picture: RGB or BGR."""
        return self.apply(preprocessing.set_color, name, color)

    # -- metadata ----------------------------------------------------------------------------------------------------

    def set_metadata(self, values: Mapping[str, str | None] | None = None, **more: str | None) -> Self:
        """Sets description, author, license, version, or entries of other names; None removes one."""
        return self.apply(metadata.set_metadata, {**(values or {}), **more})

    def set_labels(self, labels: Sequence[str] | Sequence[int]) -> Self:
        """Gives a classifier other labels, in the order of its probabilities."""
        return self.apply(metadata.set_labels, labels)

    # -- sizes -------------------------------------------------------------------------------------------------------

    def set_flexible(
        self, name: str, *, ranges: Sequence[tuple[int, int | None]] = (), shapes: Sequence[Sequence[int]] = ()
    ) -> Self:
        """Lets an input have sizes of ranges or of a list; (width, height) for pictures. Outputs follow."""
        return self.apply(flexible.set_flexible, name, ranges=ranges, shapes=shapes)

    def set_fixed(self, name: str) -> Self:
        """Leaves an input or output its default size only."""
        return self.apply(flexible.set_fixed, name)

    def set_size(self, name: str, size: Sequence[int]) -> Self:
        """Declares another default size: a shape, or (width, height)."""
        return self.apply(flexible.set_size, name, size)

    # -- network -----------------------------------------------------------------------------------------------------

    def add_output(self, name: str, dtype: str = "float32") -> Self:
        """Makes a blob an output."""
        return self.apply(cut.add_output, name, dtype)

    def remove_output(self, name: str) -> Self:
        """Takes an output away."""
        return self.apply(cut.remove_output, name)

    def cut(self, outputs: str | Sequence[str] = (), *, inputs: str | Sequence[str] = ()) -> Self:
        """Cuts the network at the blobs ``outputs``, and from the blobs ``inputs`` on."""
        return self.apply(cut.cut, _several(outputs), _several(inputs))

    def prune(self, *, idle: bool = True, unused: bool = True) -> Self:
        """Removes layers that do nothing and layers that nobody uses."""
        return self.apply(prune.prune, idle=idle, unused=unused)

    def take(self, which: str | int = "") -> Self:
        """Takes a model out of a pipeline, by name or number."""
        return self.apply(pipeline.take, which)

    # -- weights -----------------------------------------------------------------------------------------------------

    def quantize(
        self,
        bits: int = 8,
        mode: quantize.Mode = "linear",
        *,
        per: Literal["channel", "tensor"] = "channel",
        layers: Collection[str] = (),
        skip: Collection[str] = (),
        everything: bool = False,
    ) -> Self:
        """Stores weights in 1 to 8 bits, linear or by a k-means table, or as float16 (16)."""
        options = {"per": per, "layers": _several(layers), "skip": _several(skip), "everything": everything}
        return self.apply(quantize.quantize, bits, mode, **options)

    def expand(self, *, layers: Collection[str] = (), skip: Collection[str] = ()) -> Self:
        """Stores weights as float32 again."""
        return self.apply(quantize.expand, layers=_several(layers), skip=_several(skip))

    # -- results -----------------------------------------------------------------------------------------------------

    def diff(self) -> list[diff.Change]:
        """What differs from the model as it was read; ``str`` of the editor is the same for people."""
        return diff.diff(self.state(0), self.document)

    def __str__(self) -> str:
        return diff.as_text(self.diff())

    def __repr__(self) -> str:
        return f"<pippin.edit of {self._name!r}, {len(self.steps)} edits>"

    def check(self) -> Report:
        """What ``pippin.check`` finds about the model as it is now."""
        from ..check import check_document

        return check_document(self.document)

    def prove(
        self,
        data: Iterable[Mapping[str, Any]] = (),
        *,
        seeds: Sequence[int] = (0, 1),
        custom_layers: Mapping[str, Any] | None = None,
        max_memory: int | None = 2_000_000_000,
    ) -> Proof:
        """Runs the model before and after the edits on ``data`` and on seeded inputs, and compares the answers.

        A network that needs more than ``max_memory`` bytes is not run, and the proof says so.
        """
        from ...analysis.edits import prove

        return prove(self, data, seeds=seeds, custom_layers=custom_layers, max_memory=max_memory)

    def load(self, **options: Any) -> Model:
        """The model as it is now, ready to predict; ``options`` as of ``pippin.load``."""
        from ..model import Model

        return Model(self.document, **options).prepare()

    def to_bytes(self) -> bytes:
        """The model as it is now as the bytes of a file, unchecked."""
        return write.to_bytes(self._states[-1], self._views)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        proof: bool = True,
        data: Iterable[Mapping[str, Any]] = (),
        custom_layers: Mapping[str, Any] | None = None,
        force: bool = False,
    ) -> Saved:
        """Checks the model, proves what must not have changed, and writes it to ``path``, all or nothing.

        ``data``: inputs as for ``predict`` to run before and after, beside seeded ones. ``proof=False`` leaves the
        runs out; ``force`` writes a model that ``check`` finds bad, or that answers otherwise than it must.

        Raises ``CheckError`` where the result is bad, ``VerifyError`` where it answers otherwise, ``WriteError``.
        """
        target = write.checked(path)
        self._with_its_weights(target)
        report = self.check()
        if not report.ok and not force:
            errors = report.errors
            more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
            raise CheckError(
                f"the result would be bad, so it was not written: {errors[0]}{more}",
                where=self._name,
                hint="pippin check tells whether the model was bad before; force=True (--force) writes it all the same",
            )
        proven = self.prove(data, custom_layers=custom_layers) if proof else None
        if proven is not None and not proven.ok and not force:
            raise VerifyError(
                f"the result answers otherwise than it must, so it was not written: {proven.failed()[0]}",
                where=self._name,
            )
        write.save(self._states[-1], target, self._views)
        return Saved(target, target.stat().st_size, report, proven, list(self.steps))

    def _with_its_weights(self, target: Path) -> None:
        """Refuses to write an ML Program away from its package, where its weights lie: it would be without them."""
        if self._path is None or not (self._path.parent / "weights").is_dir():
            return
        if not _holds_program(self._states[-1]) or target.resolve().parent == self._path.resolve().parent:
            return
        raise WriteError(
            "an ML Program has its weights in its package, and a file alone would be without them",
            where=str(target),
            hint=f"copy the package and edit {self._path.name} in the copy",
        )


def _holds_program(model: Any) -> bool:
    return model.WhichOneof("Type") == "mlProgram" or any(map(_holds_program, names.stages(model)))


def _mapping(old: str | Mapping[str, str], new: str) -> Mapping[str, str]:
    return {old: new} if isinstance(old, str) else old


def _several(given: str | Collection[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)
