"""The proof that a converted model is the same: ONNX Runtime against the float64 reference, on the same inputs."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..coreml import answers
from ..errors import InputError, PippinError, UnsupportedError
from . import reference, samples
from .difference import TOLERANCE, Difference, allowed, difference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..coreml.features import Feature
    from ..coreml.model import Model
    from ..onnx_model import OnnxModel

SCHEMA = 1
"""Version of the JSON of a proof."""
RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"}
"""Operators whose answers nobody can foretell."""
SLACK = 8
"""How much more than rounding of the blobs to float32 is put down to float32: sums inside of layers round as well."""
LEADS = ((3, 2), (4, 1), (2, 1), (8, 2), (1, 1), (5, 1), (16, 1))
"""Lengths of sequence and batch to try, until the network takes one: the declared shape does not tell."""

Level = Literal["none", "quick", "full"]


@dataclass
class Trial:
    """One input that both were given: what it was, the outputs compared, and the blobs if they were asked for."""

    what: str
    outputs: list[Difference]
    blobs: list[Difference] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(entry.ok for entry in (*self.outputs, *self.blobs))


@dataclass
class Proof:
    """What a verification found. ``skipped`` says why there is none."""

    level: str
    tolerance: float
    trials: list[Trial] = field(default_factory=list)
    skipped: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether nothing was found to differ."""
        return all(trial.ok for trial in self.trials)

    def __str__(self) -> str:
        from ..report import proofs

        return proofs.as_text(self)

    def worst(self) -> dict[str, Difference]:
        """Of each output the comparison that went worst."""
        found: dict[str, Difference] = {}
        for trial in self.trials:
            for entry in trial.outputs:
                known = found.get(entry.name)
                if known is None or (bool(entry.problem), entry.excess) > (bool(known.problem), known.excess):
                    found[entry.name] = entry
        return found

    def failed(self) -> list[tuple[str, Difference]]:
        """Everything over the tolerance, with the input that showed it."""
        return [
            (trial.what, entry) for trial in self.trials for entry in (*trial.outputs, *trial.blobs) if not entry.ok
        ]

    def to_dict(self) -> dict[str, Any]:
        """The proof as plain data for JSON."""
        return {
            "schema": SCHEMA,
            "level": self.level,
            "tolerance": self.tolerance,
            "ok": self.ok,
            "skipped": self.skipped or None,
            "seconds": round(self.seconds, 3),
            "trials": [
                {
                    "input": trial.what,
                    "ok": trial.ok,
                    "outputs": [entry.to_dict() for entry in trial.outputs],
                    "blobs": [entry.to_dict() for entry in trial.blobs],
                }
                for trial in self.trials
            ],
        }


def verify(
    model: Model,
    converted: str | os.PathLike[str] | OnnxModel | Converted,
    *,
    level: Level = "quick",
    inputs: Iterable[Mapping[str, Any]] = (),
    tolerance: float = TOLERANCE,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Proof:
    """Runs ``converted`` and ``model``, this in the reference, on the same inputs and compares the answers.

    "quick": one seeded input and the user's own ``inputs``, outputs. "full": three seeds, up to three other allowed
    shapes and the user's own, outputs and every blob that both have. Allowed are ``tolerance`` + ``tolerance`` · |b|
    for outputs; for blobs, which have any magnitude, ten times that share of their largest value.

    Networks that magnify small differences cannot be met in float32, which ONNX Runtime computes in. What is over the
    tolerance is therefore held against what becomes of the reference when each of its blobs is rounded to float32: up
    to ``SLACK`` times as much is no difference either, and is told as such.
    """
    from .. import onnx_model

    begin = time.perf_counter()
    proof = Proof(level, allowed(tolerance))
    if level == "none":
        proof.skipped = "not asked for"
        return proof
    if level not in ("quick", "full"):
        raise InputError(f"verify must be one of none, quick, full, got {level!r}")
    other = onnx_model.load(converted) if isinstance(converted, (str, os.PathLike)) else converted
    if isinstance(other, onnx_model.OnnxModel) and RANDOM & {node.op_type for node in other.proto.graph.node}:
        proof.skipped = "the network draws random numbers anew for each run"
        return proof
    for what, data in _inputs(model, other, level, list(inputs), seed):
        progress(what)
        try:
            proof.trials.append(_trial(model, other, what, data, level == "full", tolerance))
        except _Unproved as error:
            proof.skipped = f"the reference cannot run it: {error}"
            break
    proof.seconds = time.perf_counter() - begin
    return proof


class Converted(Protocol):
    """What stands for a converted model: an ONNX model, or another that runs on the same inputs."""

    @property
    def inputs(self) -> Mapping[str, Feature]: ...

    @property
    def values(self) -> Mapping[str, str]:
        """The blobs that can be looked at, beside the outputs."""
        ...

    def run(self, data: Mapping[str, Any]) -> Mapping[str, NDArray[Any]]: ...

    def blobs(self, data: Mapping[str, Any], names: Iterable[str] | None = None) -> Mapping[str, NDArray[Any]]: ...


class _Unproved(Exception):
    """The reference gave up: the network is too large for it, or it lacks something."""


def _wanted(model: Model, data: Mapping[str, Any], keep: list[str] | None) -> dict[str, Any]:
    try:
        return reference.blobs(model, data, keep=keep)
    except InputError:
        raise
    except PippinError as error:
        raise _Unproved(str(error)) from error


def _whole(entry: Feature | None, found: NDArray[Any], wanted: NDArray[Any], tolerance: float) -> NDArray[Any]:
    """What to go by for an output that the model declares as integers: near a half either neighbour is right."""
    import numpy as np

    if entry is None or entry.dtype != "int32" or found.size != wanted.size:
        return wanted
    gap = np.abs(found.reshape(wanted.shape) - wanted)
    near = gap <= 0.5 + tolerance + tolerance * np.abs(wanted)
    return np.where(near, found.reshape(wanted.shape), np.rint(wanted))


def _trial(
    model: Model, other: OnnxModel | Converted, what: str, data: Mapping[str, Any], everything: bool, tolerance: float
) -> Trial:
    from ..coreml.export import output_name
    from ..onnx_model import OnnxModel

    given = {name: _given(model, other, name, value) for name, value in data.items()}
    names = model.blob_outputs()
    wanted = _wanted(model, data, None if everything else names)
    found = dict(other.run(given))
    declared = {name: name if name in found else output_name(model, name) for name in names}
    found |= {name: found[declared[name]] for name in names}
    whole = {name: _whole(model.outputs.get(name), found[name], wanted[name], tolerance) for name in names}
    trial = Trial(what, [])
    compared = {name: difference(name, *_alike(found[name], whole[name]), tolerance) for name in names}
    if isinstance(other, OnnxModel):
        for name, entry in compared.items():
            form = next(info for info in other.proto.graph.output if info.name == declared[name])
            problem = entry.problem or _misshapen(model, form, name, found[name].shape, wanted[name].shape)
            compared[name] = replace(entry, problem=problem)
    if any(not entry.ok and not entry.problem for entry in compared.values()):
        narrow = reference.blobs(model, data, keep=names, rounding=_float32)
        for name, entry in compared.items():
            if not entry.ok:
                compared[name] = _forgiven(entry, difference(name, narrow[name], wanted[name], tolerance))
    trial.outputs += compared.values()
    if model.predicted_feature in found and model.labels:
        trial.outputs.append(_label(model, found, wanted, tolerance))
    if everything:
        inner = [name for name in other.values if name in wanted and name not in names]
        for name, value in other.blobs(given, inner).items():
            trial.blobs.append(difference(name, *_alike(value, wanted[name]), 10 * tolerance, scaled=True))
    return trial


def _float32(blob: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    with np.errstate(over="ignore"):
        return blob.astype(np.float32).astype(np.float64)


def _forgiven(entry: Difference, rounded: Difference) -> Difference:
    """``entry``, with the share of it that rounding to float32 alone brings about."""
    if entry.problem or rounded.problem or rounded.absolute * SLACK < entry.absolute:
        return entry
    return replace(entry, rounding=rounded.absolute)


def _label(model: Model, found: Mapping[str, Any], wanted: Mapping[str, Any], tolerance: float) -> Difference:
    """The class label, if it is an output of the graph: any of those that are as likely as the likeliest."""
    name, labels = model.predicted_feature, model.labels
    assert name is not None
    assert labels is not None
    scores = wanted[model.probabilities].reshape(-1)
    best = float(scores.max())
    near = scores >= best - 2 * (tolerance + tolerance * abs(best))
    right = labels[int(scores.argmax())]
    (got,) = found[name].reshape(-1).tolist()
    fits = got == right or any(got == label for label, likely in zip(labels, near, strict=True) if likely)
    return Difference(name, problem="" if fits else f"{got!r} and {right!r}")


def _alike(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two forms of a blob in one shape: [N,C,H,W] stands for [S,B,C,H,W]; shapes of outputs are looked at apart."""
    return (a.reshape(b.shape), b) if a.size == b.size else (a, b)


def _misshapen(model: Model, form: Any, name: str, found: tuple[int, ...], blob: tuple[int, ...]) -> str:
    """What is wrong with the shape of an output, whose blob has the shape ``blob`` in the reference; "" if nothing is.

    Right is what ``predict`` answers in, for pictures [N,C,H,W]; a batch may stand in front without a sequence, and
    where the graph leaves the axes in front open, they may be there.
    """
    entry = model.outputs.get(name)
    if entry is not None and entry.kind == "image":
        wanted, inner = blob[-4:], blob[-3:]
    else:
        declared = tuple((entry.shape or ()) if entry is not None else ())
        if model.labels and name == model.probabilities:
            declared = (len(model.labels),)
        whole, inner = math.prod(blob), declared or blob[2:]
        wanted = answers.shape(blob, declared, model.legacy)
        if math.prod(inner) * blob[1 if model.legacy else 0] != whole:
            inner = blob[2:]
    dims = [dim.dim_value for dim in form.type.tensor_type.shape.dim]
    batch = model.legacy and blob[0] == 1 and bool(dims) and (not dims[0] or blob[1] > 1)
    if found == wanted or (batch and found == (blob[1], *inner)) or (not all(dims[:2]) and found == blob):
        return ""
    return f"shapes differ: {list(found)} and {list(wanted)}"


def _given(model: Model, other: OnnxModel | Converted, name: str, value: Any) -> Any:
    """What the graph takes for a value that the model takes: preprocessed where that was left out of the graph."""
    if model.inputs[name].kind != "image" or other.inputs[name].kind == "image":
        return value
    return reference.pixels(model, name, value)


# -- inputs ------------------------------------------------------------------------------------------------------------


def _inputs(
    model: Model, other: OnnxModel | Converted, level: str, own: Sequence[Mapping[str, Any]], seed: int
) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    for index, data in enumerate(own):
        found.append((f"input {index + 1}" if len(own) > 1 else "the input given", dict(data)))
    first = shapes(model, other)
    for turn in range(3 if level == "full" else 1):
        found.append((f"seed {seed + turn}", _sample(model, other, seed + turn, first)))
    if level == "full":
        seen = [first]
        for turn, variant in enumerate(samples.variants(model)):
            sizes = shapes(model, other, variant)
            if sizes not in seen:
                seen.append(sizes)
                text = ", ".join(f"{name} {list(size)}" for name, size in sizes.items() if name in variant)
                found.append((f"seed {seed + turn}, {text}", _sample(model, other, seed + turn, sizes)))
    return found


def shapes(
    model: Model, other: OnnxModel | Converted, variant: Mapping[str, tuple[int, ...]] | None = None
) -> dict[str, tuple[int, ...]]:
    """Sizes that both take: those that the graph fixes, else of ``variant``, else the declared ones.

    Raises ``UnsupportedError`` if the network takes none of those that are tried for sequence and batch.
    """
    if not any(_lead(model, other, name) for name in model.inputs):
        return {name: _sizes(model, other, name, variant or {}, ()) for name in model.inputs}
    for lead in LEADS:
        found = {name: _sizes(model, other, name, variant or {}, lead) for name in model.inputs}
        try:
            model.feeds(data := _sample(model, other, 0, found))
            other.run(data)
            model.predict(data)
        except PippinError:
            continue
        return found
    raise UnsupportedError("no length of sequence and batch was found that the network takes; give an input")


def _sample(
    model: Model, other: OnnxModel | Converted, seed: int, sizes: Mapping[str, tuple[int, ...]]
) -> dict[str, Any]:
    """Seeded inputs; what only the model may go without, as where its size is open, has its default."""
    import numpy as np

    data = samples.sample(model, seed, sizes)
    for name, entry in other.inputs.items():
        if name not in data and not entry.optional and entry.default is None:
            data[name] = np.full(sizes[name], model.inputs[name].default or 0.0, np.float32)
    return data


def _lead(model: Model, other: OnnxModel | Converted, name: str) -> int:
    """How many axes the graph has in front of the declared ones: sequence and batch."""
    entry = model.inputs[name]
    return 0 if entry.kind == "image" else len(other.inputs[name].shape or ()) - len(entry.shape or ())


def _sizes(
    model: Model, other: OnnxModel | Converted, name: str, variant: Mapping[str, tuple[int, ...]], lead: tuple[int, ...]
) -> tuple[int, ...]:
    entry, form = model.inputs[name], other.inputs[name]
    if entry.kind == "image":
        assert entry.size is not None
        fixed = form.size if form.kind == "image" else (form.shape or ())[:1:-1]
        assert fixed is not None
        wanted = variant.get(name, entry.size)
        if form.flexible and form.flexible.shapes:
            return wanted
        if form.flexible:
            ranges = form.flexible.ranges if form.kind == "image" else form.flexible.ranges[:1:-1]
            return tuple(want if low != high else high for want, (low, high) in zip(wanted, ranges, strict=True))
        return tuple(fixed)
    dims = form.shape or ()
    ahead = _lead(model, other, name)
    inner = variant.get(name) or tuple(size or samples.OPEN for size in entry.shape or ())
    usual = (*lead[len(lead) - ahead :], *inner) if ahead else inner
    return tuple(dim or size for dim, size in zip(dims, usual, strict=True))
