"""Columns of data as the arrays that a step is fed: inputs by the model's own encoders, targets by the loss."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..coreml.features import ArrayInput, Feature, ImageInput
from ..coreml.model import Model
from ..errors import InputError
from .settings import Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .step import Problem

Column = Any
"""The values of one feature for some samples: an array with one sample a row, or a list."""


@dataclass(frozen=True)
class Lacking:
    """Stands for a column that sample ``number`` of a batch does not have, though others do."""

    number: int


def taken(columns: Mapping[str, Column], name: str) -> Column:
    """The column of a feature, which all samples must have."""
    column = columns[name]
    if isinstance(column, Lacking):
        raise InputError(f"sample {column.number} of a batch lacks the feature {name!r}, which others have")
    return column


def target_names(model: Model, settings: Settings) -> list[str]:
    """The names by which data may give the target: the loss layer's, and a classifier's or regressor's answer."""
    names = [settings.target]
    if model.predicted_feature and model.predicted_feature not in names:
        names.append(model.predicted_feature)
    return names


class Encoder:
    """Makes feeds of columns. ``resize`` is the rule by which pictures of another size are made to fit, or None."""

    def __init__(self, model: Model, settings: Settings, resize: str | None = None) -> None:
        from ..coreml.pictures import RULES

        if resize is not None and resize not in RULES:
            raise InputError(f"the resize rule must be one of {', '.join(RULES)}, got {resize!r}")
        self.model = model
        self.settings = settings
        self.resize = resize
        self.names = target_names(model, settings)
        labels = model.labels
        self.labels = None if labels is None else {label: index for index, label in enumerate(labels)}
        self.texts = None if labels is None else {str(label): index for index, label in enumerate(labels)}

    # -- inputs --------------------------------------------------------------------------------------------------------

    def inputs(self, columns: Mapping[str, Column], count: int) -> dict[str, NDArray[Any]]:
        """Blobs of ``count`` samples by input name: (N, …), each row as one sample's blob."""
        result = {}
        for name, entry in self.model.inputs.items():
            encode = self.model.encoder(name)
            if name not in columns:
                if not entry.optional and entry.default is None:
                    raise self._missing(name, columns, f"input {name!r}")
                blob = encode.missing()
                result[name] = np.broadcast_to(blob, (count, *blob.shape))
                continue
            column = taken(columns, name)
            with np.errstate(over="ignore"):  # what is too large for float32 is told where it makes a loss none
                whole = self._whole(encode, column) if isinstance(column, np.ndarray) else None
                result[name] = self._stacked(name, entry, encode, column) if whole is None else whole
        return result

    def _whole(self, encode: ArrayInput | ImageInput, column: NDArray[Any]) -> NDArray[Any] | None:
        """All rows of an array at once; None where they must be looked at one by one."""
        if column.dtype.kind not in "fiub":
            return None
        entry, shape = encode.feature, column.shape[1:]
        if isinstance(encode, ImageInput):
            assert entry.size is not None
            gray = entry.color in ("GRAYSCALE", "GRAYSCALE_FLOAT16")
            plane = (entry.size[1], entry.size[0])
            if column.dtype.kind == "b" or shape not in ((plane, (*plane, 1)) if gray else ((*plane, 3),)):
                return None
            if gray:
                return np.ascontiguousarray(column.reshape(len(column), 1, 1, *plane), np.float32)
            column = column[..., ::-1] if entry.color == "BGR" else column
            return np.ascontiguousarray(column.transpose(0, 3, 1, 2)[:, None], np.float32)
        if shape == () and math.prod(entry.shape or ()) == 1:
            column = column.reshape(len(column), *(entry.shape or ()))
        if column.shape[1:] != entry.shape:
            return None
        column = np.ascontiguousarray(column, np.float32)
        if not encode.rank5:
            return column
        return column.reshape(len(column), *encode.blob(column[0]).shape)

    def _stacked(
        self, name: str, entry: Feature, encode: ArrayInput | ImageInput, column: Sequence[Any]
    ) -> NDArray[Any]:
        blobs = []
        for value in column:
            blobs.append(encode(self.fitted(name, value)))
        shapes = {blob.shape for blob in blobs}
        if len(shapes) > 1:
            raise InputError(
                f"all samples of a batch must have the same shape, got {' and '.join(map(str, sorted(shapes)))}",
                where=f"input {name!r}",
                hint="use a batch size of 1, or resize pictures (--resize)",
            )
        return np.stack(blobs)

    def fitted(self, name: str, value: Any) -> Any:
        """A picture in the size of input ``name``, by the rule for resizing; what is no picture as it is."""
        if self.resize is None or self.model.inputs[name].kind != "image":
            return value
        from ..coreml.pictures import fitted

        if isinstance(value, np.ndarray) and value.dtype != np.uint8:
            if value.shape[1::-1] == self.model.inputs[name].size:
                return value
            raise InputError(
                f"arrays that are to be resized must be uint8, got {value.dtype}{list(value.shape)}",
                where=f"input {name!r}",
            )
        return fitted(_picture(value), self.model.inputs[name], self.resize)

    def refuse_infinite(self, inputs: Mapping[str, NDArray[Any]], place: str) -> None:
        """Raises ``InputError`` naming the first sample of a batch that holds what is no finite number."""
        for name, array in inputs.items():
            fits = np.isfinite(array.reshape(len(array), -1)).all(1)
            if not fits.all():
                raise InputError(
                    f"sample {int(fits.argmin())} of {place} holds values that are no finite numbers",
                    where=f"input {name!r}",
                )

    def _missing(self, name: str, columns: Mapping[str, Column], where: str) -> InputError:
        near = difflib.get_close_matches(name, list(map(str, columns)), 1, 0.5)
        hint = f"did you mean {name!r} where the data says {near[0]!r}?" if near else ""
        has = ", ".join(map(repr, list(columns)[:12])) or "nothing"
        return InputError(f"the data must have the feature {name!r}, it has {has}", where=where, hint=hint)

    # -- targets -------------------------------------------------------------------------------------------------------

    def target(self, columns: Mapping[str, Column], problem: Problem) -> NDArray[Any]:
        """Class numbers (N) int64, or numbers (N, …) like what the loss judges."""
        name, column = self.column(columns)
        if self.settings.loss == "cross entropy":
            return self.classes(name, column, problem.classes)
        return self.numbers(name, column, problem.target_shape)

    def column(self, columns: Mapping[str, Column]) -> tuple[str, Column]:
        """The column of the target and the name it has."""
        name = next((name for name in self.names if name in columns), None)
        if name is None:
            raise self._missing(self.names[-1], columns, "target of the loss")
        return name, taken(columns, name)

    def numbers(self, name: str, column: Column, shape: tuple[int, ...]) -> NDArray[Any]:
        """Numbers (N, …), each row in the shape of what the loss judges."""
        try:
            values = np.asarray(column)
            # numbers in a text file are still text here
            if values.dtype.kind not in "fiubU":
                raise ValueError
            with np.errstate(over="ignore"):
                values = values.astype(np.float32)
        except (TypeError, ValueError):
            raise InputError("the target must be numbers, as many for each sample", where=f"target {name!r}") from None
        # axes of 1 are a matter of taste, and text has a row of numbers; other axes must be the same ones
        axes, wanted = ([size for size in sizes if size != 1] for sizes in (values.shape[1:], shape))
        if values.size != len(values) * math.prod(shape) or (len(axes) > 1 and axes != wanted):
            raise InputError(
                f"the target must hold {math.prod(shape):,} numbers a sample, like {self.settings.input!r}"
                f" {list(shape)}, got {list(values.shape[1:])}",
                where=f"target {name!r}",
            )
        values = values.reshape(len(values), *shape)
        fits = np.isfinite(values.reshape(len(values), -1)).all(1)
        if not fits.all():
            row = int(fits.argmin())
            raise InputError(
                f"the target must be finite numbers in float32, got {np.asarray(column[row]).reshape(-1)[:4].tolist()}"
                f" for sample {row} of a batch",
                where=f"target {name!r}",
            )
        return values

    def classes(self, name: str, column: Column, count: int) -> NDArray[Any]:
        """Numbers of classes (N), below ``count``."""
        if isinstance(column, np.ndarray):
            if column.ndim > 1 and column.size == len(column):
                column = column.reshape(-1)
            if column.ndim > 1:
                raise InputError(
                    f"the target must be one class a sample, got {list(column.shape[1:])}",
                    where=f"target {name!r}",
                    hint="of one-hot vectors take the index: target.argmax(-1)" if column.shape[-1] == count else "",
                )
            column = column.tolist()
        labelled = self.labels is not None and name == self.model.predicted_feature
        return np.array([self._class(name, value, count, labelled) for value in column], np.int64)

    def _class(self, name: str, value: Any, count: int, labelled: bool) -> int:
        """The number of a class by its label, or the number itself.

        By the name of the classifier's answer every value is a label. By the name of the loss's target numbers are
        numbers of classes; a text, as all is in a table, may be either, and is refused where both mean something.
        """
        while isinstance(value, (np.ndarray, list, tuple)) and len(value) == 1:
            value = value[0]
        value = value.decode(errors="replace") if isinstance(value, bytes) else value
        number = _whole(value)
        number = number if number is not None and 0 <= number < count else None
        if self.labels is None or not (labelled or isinstance(value, str)):
            if number is None:
                raise InputError(
                    f"a class must be a number from 0 to {count - 1}, got {value!r}", where=f"target {name!r}"
                )
            return number
        found = self._label(value)
        if not labelled and number is not None:
            if found not in (None, number):
                raise InputError(
                    f"{value!r} is the number of one class and the label of another one",
                    where=f"target {name!r}",
                    hint=f"name the column {self.model.predicted_feature!r} if it holds labels",
                )
            return number
        if found is None:
            raise self._unknown(name, value)
        if found >= count:
            raise InputError(
                f"{value!r} is the label of class {found}, the network knows {count} classes", where=f"target {name!r}"
            )
        return found

    def _label(self, value: Any) -> int | None:
        """The number of the class with this label; None if there is none."""
        assert self.labels is not None
        assert self.texts is not None
        if isinstance(value, (float, np.floating)):
            value = _whole(value)
        if value is None or not isinstance(value, (str, int, np.integer)):
            return None
        found = self.labels.get(value, self.texts.get(str(value)))
        # tables of numbers with a gap somewhere write 1 as 1.0
        return self.labels.get(_whole(value)) if found is None else found

    def _unknown(self, name: str, value: Any) -> InputError:
        assert self.texts is not None
        near = difflib.get_close_matches(str(value), list(self.texts), 1)
        known = ", ".join(map(repr, list(self.labels or ())[:8])) + (", …" if len(self.texts) > 8 else "")
        return InputError(
            f"{value!r} is none of the classes {known}",
            where=f"target {name!r}",
            hint=f"did you mean {near[0]!r}?"
            if near
            else f"pippin edit MODEL --set-labels gives the {len(self.texts)} classes other names",
        )


def _whole(value: Any) -> int | None:
    """The whole number that a value is, or stands for as a text; None if it is none."""
    try:
        number = int(float(value)) if isinstance(value, str) and "." in value else int(value)
        return number if number == float(value) else None
    except (TypeError, ValueError, OverflowError):
        return None


def _picture(value: Any) -> Any:
    """Pixels as a picture, so that they can be resized; anything else is left to the reader of pictures."""
    if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim in (2, 3):
        from PIL import Image

        return Image.fromarray(value.reshape(value.shape[:2]) if value.ndim == 3 and value.shape[2] == 1 else value)
    return value
