"""Metadata and class labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InputError, UnsupportedError
from ..read import Document
from .step import Data, Step, network_of

STATED = {"description": "shortDescription", "author": "author", "license": "license", "version": "versionString"}
"""Metadata that the format knows; everything else is the author's own."""


def set_metadata(document: Document, values: Mapping[str, str | None]) -> Step:
    """Sets "description", "author", "license", "version" or entries of any other name; None removes one."""
    metadata = document.model.description.metadata
    for key, value in values.items():
        if not key:
            raise InputError("metadata must have a name")
        if key in STATED:
            setattr(metadata, STATED[key], value or "")
        elif value is None:
            metadata.userDefined.pop(key, None)
        else:
            metadata.userDefined[key] = value
    names = ", ".join(repr(key) for key in values)
    return Step(f"set metadata {names}", "none")


def labels_of(document: Document) -> list[Any]:
    """A classifier's labels. Raises ``UnsupportedError`` for other networks."""
    network = network_of(document)
    if document.type != "neuralNetworkClassifier":
        raise UnsupportedError(f"only classifiers have labels, the model is a {document.type}")
    which = network.WhichOneof("ClassLabels")
    return list(getattr(network, which).vector) if which else []


def set_labels(document: Document, labels: Sequence[str] | Sequence[int]) -> Step:
    """Gives a classifier other labels, in the order of its probabilities; texts or whole numbers.

    The types of the outputs that hold labels follow. Raises ``InputError`` if their number is not that of the labels
    before, if one stands there twice, or if texts and numbers are mixed.
    """
    before = labels_of(document)
    network, description = network_of(document), document.model.description
    texts = all(isinstance(label, str) for label in labels)
    if not labels or not (texts or all(isinstance(label, int) for label in labels)):
        raise InputError("labels must be all texts or all whole numbers")
    if before and len(before) != len(labels):
        raise InputError(f"the classifier has {len(before):,} classes, got {len(labels):,} labels")
    twice = next((label for label in labels if list(labels).count(label) > 1), None) if len(labels) < 5000 else None
    if len(set(labels)) != len(labels):
        raise InputError(f"each label must stand there once{f', {twice!r} does not' if twice is not None else ''}")
    # set, not replaced, so that unknown fields of the list survive
    which = "stringClassLabels" if texts else "int64ClassLabels"
    holder = getattr(network, which)
    del holder.vector[:]
    holder.vector.extend(labels)
    for side in (description.output, description.trainingInput):
        for entry in side:
            if entry.name == description.predictedFeatureName:
                getattr(entry.type, "stringType" if texts else "int64Type").SetInParent()
            elif side is description.output and entry.type.WhichOneof("Type") == "dictionaryType":
                key = "stringKeyType" if texts else "int64KeyType"
                getattr(entry.type.dictionaryType, key).SetInParent()
    turn = dict(zip(before, labels, strict=True)) if len(set(before)) == len(labels) else {}

    def expect(answer: Data) -> Data:
        return {
            name: {turn[label]: value for label, value in entry.items()} if isinstance(entry, dict)
            else turn[entry] if isinstance(entry, (str, int)) and entry in turn else entry
            for name, entry in answer.items()
        }  # fmt: skip

    return Step(f"set {len(labels):,} labels", "equal" if turn else "differs", expect=expect if turn else None)
