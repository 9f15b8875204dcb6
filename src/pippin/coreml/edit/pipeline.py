"""Pipelines: a model taken out of one."""

from __future__ import annotations

from ...errors import InputError, UnsupportedError
from ..read import NETWORKS, Document
from .names import PIPELINES, stages
from .step import Step, unknown


def stage_names(document: Document) -> list[str]:
    """What the models of a pipeline are called; their numbers where they have no names."""
    kind = document.type
    if kind not in PIPELINES:
        return []
    holder = getattr(document.model, kind)
    names = list((getattr(holder, PIPELINES[kind]) if PIPELINES[kind] else holder).names)
    models = stages(document.model)
    return names if len(names) == len(models) else [str(index) for index in range(len(models))]


def take(document: Document, which: str | int = "") -> Step:
    """Makes the model one that stands in a pipeline, by name or number (from 0); "": its only neural network.

    Raises ``UnsupportedError`` for what is no pipeline, ``InputError`` where there is no such model.
    """
    names, models = stage_names(document), stages(document.model)
    if not models:
        raise UnsupportedError(f"only pipelines hold models, the model is a {document.type}")
    if which == "":
        found = [index for index, model in enumerate(models) if model.WhichOneof("Type") in NETWORKS]
        if len(found) != 1:
            raise InputError(f"the pipeline holds {len(found)} networks, name one of {', '.join(map(repr, names))}")
        index = found[0]
    elif isinstance(which, int) or (which.isdigit() and which not in names):
        index = int(which)
        if not 0 <= index < len(models):
            raise InputError(f"the pipeline holds {len(models)} models, numbered from 0; there is no {index}")
    elif which in names:
        index = names.index(which)
    else:
        raise unknown(f"the pipeline holds no model {which!r}", which, names)
    taken = type(document.model)()
    taken.CopyFrom(models[index])
    document.model = taken
    return Step(f"take model {names[index]!r} ({taken.WhichOneof('Type')}) out of the pipeline", "differs")
