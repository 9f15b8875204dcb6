"""Where nothing is known between the inputs and a value that differs: is it the picture, and what would tell more?"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import PippinError
from ..onnx_model import OnnxModel
from . import causes, traces
from .causes import CLOSE, Cause
from .difference import difference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..loading import AnyModel

GAIN = 0.1
"""What may be left of a difference once its cause is known."""
NARROW = 5 * CLOSE
"""What may be left of it, as a share of the largest value: the other side may compute in float16."""


def picture(
    a: AnyModel, data: Mapping[str, Any], name: str, inputs: list[str], value: NDArray[Any], wanted: NDArray[Any],
    known: NDArray[Any] | None = None,
) -> tuple[str, Cause] | None:  # fmt: skip
    """The picture among ``inputs`` that gives ``wanted`` for blob ``name``, not ``value``, once it is prepared or
    turned otherwise, and what is done to it; None if none does. The guess that comes nearest wins. ``known``: the
    elements that count."""
    if isinstance(a, OnnxModel):
        return None
    chosen = slice(None) if known is None else known.reshape(-1)
    flat = wanted.reshape(-1)[chosen]
    before = difference(name, value.reshape(-1)[chosen], flat, scaled=True)
    room = CLOSE if before.problem else min(NARROW, GAIN * before.share)
    found: list[tuple[float, str, str]] = []
    for key in inputs:
        if a.inputs[key].kind != "image" or key not in data:
            continue
        try:
            run = (lambda seen: seen) if key == name else traces.replay(a, data, key, name)
            if run is None:
                continue
            for text, seen in causes.other_preprocessing(a, key, data[key]):
                made = run(seen)
                if made.size == wanted.size:
                    entry = difference(name, made.reshape(-1)[chosen], flat, scaled=True)
                    if not entry.problem and entry.share <= room:
                        found.append((entry.share, key, text))
        except PippinError:
            continue
    if not found:
        return None
    _, key, text = min(found, key=lambda entry: entry[0])
    return key, Cause("preprocessing", text)


def unknown(a: AnyModel, between: traces.Upstream) -> Cause:
    """What to say of several layers that cannot be told apart, and what would tell them apart."""
    text = f"{len(between.places)} layers lie between, with nothing to compare"
    middle = between.middle()
    if middle is None or isinstance(a, OnnxModel):
        return Cause("unknown", text)
    command = shlex.join(["pippin", "edit", "--add-output", middle])
    return Cause("unknown", f"{text}; blob {middle!r} would halve them ({command} makes it an output)")
