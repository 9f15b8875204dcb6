"""Answers that somebody wrote down, on a phone or in another program, as arrays that can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from . import traces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..loading import AnyModel
    from .traces import Trace


def trace(a: AnyModel, values: Mapping[str, Any], first: Trace, notes: list[str], what: str) -> Trace:
    """Recorded answers as arrays, probabilities by label in the order of the labels; inputs and labels left out.

    Classes without a probability (apps keep the best few) have that of ``first``, and a note says how many they are.
    """
    import numpy as np

    found: dict[str, Any] = {}
    partial: dict[str, Any] = {}
    for name, value in values.items():
        if name in a.inputs or name == a.predicted_feature:
            continue
        if isinstance(value, Mapping) and a.labels:
            value, there = _by_label(a, name, value, first)
            name = a.probabilities or name
            if not there.all():
                partial[name] = there
                notes.append(f"{int((~there).sum())} of {there.size} classes are not recorded, and not compared")
        try:
            array = np.asarray(value)
            if array.dtype == object:  # null stands for what is no number
                array = np.asarray(value, np.float64)
        except TypeError:
            continue
        except ValueError:
            raise InputError(f"the recorded {name!r} is no array: its rows have different lengths") from None
        if array.dtype.kind in "fiub":
            found[name] = array
    if not found and a.predicted_feature not in values:
        held = ", ".join(f"{name!r} is {_kind(value)}" for name, value in values.items())
        raise InputError(f"the recording holds no arrays of numbers: {held or 'it is empty'}")
    made = traces.recorded(what, found)
    made.partial = partial
    return made


def _by_label(a: AnyModel, name: str, value: Mapping[Any, Any], first: Trace) -> tuple[list[Any], NDArray[np.bool_]]:
    """Probabilities in the order of the labels, and which of them were recorded."""
    import numpy as np

    by_text = {str(key): np.nan if number is None else number for key, number in value.items()}
    labels = [str(label) for label in a.labels or ()]
    unknown = [key for key in by_text if key not in set(labels)]
    if unknown:
        raise InputError(f"the recorded {name!r} has a label that the model does not have: {unknown[0]!r}")
    wrong = [key for key, number in by_text.items() if not isinstance(number, (int, float, np.number))]
    if wrong:
        raise InputError(f"the recorded {name!r} has no number for {wrong[0]!r}: {_kind(by_text[wrong[0]])}")
    usual = first.values.get(a.probabilities or name)
    there = np.array([label in by_text for label in labels])
    own: list[Any] = [np.nan] * len(labels)
    if by_text and usual is not None and usual.size == len(labels):
        own = usual.reshape(-1).tolist()
    return [by_text.get(label, usually) for label, usually in zip(labels, own, strict=True)], there


def label(value: Any) -> str:
    """A recorded label as text; some programs write whole numbers as 7.0."""
    import numpy as np

    array = np.asarray(value)
    entry = array.reshape(-1)[0] if array.size == 1 else value
    if isinstance(entry, (float, np.floating)) and float(entry).is_integer():
        entry = int(entry)
    return str(entry)


def observations(content: Any) -> Any:
    """The list of a classifier's observations that Vision gives, with ``identifier`` and ``confidence``, as
    probabilities by label; anything else as it is."""
    keys = ("identifier", "confidence")
    if not isinstance(content, list) or not content:
        return content
    if not all(isinstance(entry, dict) and all(key in entry for key in keys) for entry in content):
        return content
    return {"observations": {str(entry["identifier"]): entry["confidence"] for entry in content}}


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return f"a text ({value[:40]!r})"
    return "nothing" if value is None else f"of the type {type(value).__name__}"
