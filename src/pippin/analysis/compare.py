"""Two models side by side: outputs, then blob by blob, the first layer that departs, and the likely cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..coreml import inner
from ..errors import InputError, PippinError
from ..graph.rounding import EPSILON, Precision, is_exact
from ..loading import loaded
from ..onnx_model import OnnxModel
from . import causes, matching, recorded, samples, traces, unseen
from .causes import Cause
from .difference import TOLERANCE, Difference, allowed, difference
from .matching import Pair
from .precision import Narrow, explains, narrow
from .traces import Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..coreml.features import Feature
    from ..coreml.read import Source
    from ..loading import AnyModel

SCHEMA = 1
"""Version of the JSON of a comparison."""
BLOBS = 10.0
"""How many times the tolerance blobs on the way may be apart, as a share of their largest value."""
REFERENCE: Literal["reference"] = "reference"


@dataclass
class Step:
    """A blob that both runs have: the layer that makes it, its counterpart, how far they are apart, and how far what
    that layer alone makes of the other run's values (None where that cannot be told)."""

    pair: Pair
    place: str
    difference: Difference
    alone: Difference | None = None


@dataclass
class Departure:
    """Where the runs part: the layer, or the layers one of which it is, and the likely cause."""

    place: str
    suspects: list[str]
    step: Step
    cause: Cause
    others: int = 0
    """How many more layers, judged by themselves, answer differently."""


@dataclass
class Comparison:
    """What a comparison found."""

    a: str
    b: str
    tolerance: float
    outputs: list[Difference] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    departure: Departure | None = None
    narrow: Narrow | None = None
    explained: dict[str, bool] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether the outputs agree."""
        return bool(self.outputs) and all(entry.ok for entry in self.outputs)

    def __str__(self) -> str:
        from ..report import comparisons

        return comparisons.as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        found = self.departure
        return {
            "schema": SCHEMA,
            "first": self.a,
            "second": self.b,
            "tolerance": self.tolerance,
            "ok": self.ok,
            "outputs": [entry.to_dict() for entry in self.outputs],
            "blobs": [
                {
                    "layer": step.place,
                    "first": step.pair.a,
                    "second": step.pair.b,
                    "matchedBy": step.pair.how,
                    "difference": step.difference.to_dict(),
                    "alone": step.alone.to_dict() if step.alone else None,
                }
                for step in self.steps
            ],
            "unmatched": self.unmatched,
            "departure": None
            if found is None
            else {
                "layer": found.place,
                "suspects": found.suspects,
                "blob": found.step.pair.a,
                "cause": found.cause.to_dict(),
                "otherLayers": found.others,
            },
            "precision": self.narrow.to_dict() if self.narrow else None,
            "explainedByPrecision": self.explained or None,
            "notes": self.notes,
        }


def compare(
    a: AnyModel | Source,
    b: AnyModel | Source | Mapping[str, Any] | None,
    data: Mapping[str, Any] | None = None,
    *,
    tolerance: float = TOLERANCE,
    seed: int = 0,
    precision: Precision | None = None,
    weights_only: bool = False,
    blobs: bool = True,
    name: str = "",
) -> Comparison:
    """Compares ``a`` with ``b``, which is the one to go by: another model, "reference", or recorded arrays by name.

    Models may be paths, which are loaded.
    ``data``: inputs as ``a`` takes them; what is left out is taken from the recorded arrays if they have it, else made
    up from ``seed``. ``precision`` also runs ``a`` with every blob and weight rounded to that type (``weights_only``:
    the weights alone); with ``b`` None that run is what ``a`` is compared with. ``blobs``: also what lies between.
    ``name`` is what to call recorded arrays.

    Allowed are ``tolerance`` + ``tolerance`` · |b| for outputs; for blobs ten times that share of the largest value.
    """
    a = loaded(a)
    a = a if isinstance(a, OnnxModel) else inner.distinct(a)
    b = b if b is None or b == REFERENCE or isinstance(b, Mapping) else loaded(b)
    given = _inputs(a, b, data, seed)
    first = traces.run(a, given)
    result = Comparison(first.what, name, allowed(tolerance))
    if precision is not None:
        result.narrow = narrow(a, given, precision, first, weights_only=weights_only)
    second, other, other_data = _second(a, b, given, result, first, name)
    result.b = second.what
    pairs = matching.match(first, second)
    label = _label(a, b, other, first, second, result.tolerance)
    if label is not None and other is not None and list(map(str, a.labels or ())) != list(map(str, other.labels)):
        result.notes.append("the models have different class labels")
    _outputs(result, first, second, pairs, label, a.predicted_feature)
    if blobs:
        _steps(result, first, second, pairs)
        over = {entry.name for entry in result.outputs if not entry.ok}
        if any(step.pair.a in over or not step.difference.ok for step in result.steps):
            _depart(result, (a, given, first), (other, other_data, second))
    if result.narrow is not None and b is not None:
        for entry in result.outputs:
            verdict = explains(entry, result.narrow.outputs.get(entry.name), tolerance)
            if verdict is not None:
                result.explained[entry.name] = verdict
    return result


# -- inputs ----------------------------------------------------------------------------------------------------------


def _inputs(a: AnyModel, b: Any, data: Mapping[str, Any] | None, seed: int) -> dict[str, Any]:
    given = dict(data or {})
    if isinstance(b, Mapping):
        given = {name: b[name] for name, entry in a.inputs.items() if name in b and is_input(b[name], entry)} | given
    missing = [
        name for name, entry in a.inputs.items() if name not in given and not entry.optional and entry.default is None
    ]
    if missing and isinstance(b, Mapping):
        raise InputError(
            f"no value for input {missing[0]!r}: recorded answers belong to an input",
            hint="give the input that was used, or keep it under its name beside the recorded arrays",
        )
    if missing:
        made = samples.sample(a, seed)
        given |= {name: made[name] for name in missing}
    return given


def is_input(value: Any, entry: Feature) -> bool:
    """Whether a recorded array is what was given; for pictures it may be what the first layer sees."""
    import numpy as np

    array = np.asarray(value)
    return entry.kind != "image" or (array.dtype == np.uint8 and array.ndim in (2, 3))


def _second(
    a: AnyModel, b: Any, given: Mapping[str, Any], result: Comparison, first: Trace, name: str
) -> tuple[Trace, Any, Mapping[str, Any]]:
    """The run to go by, its model if there is one, and what that was given."""
    if b is None:
        if result.narrow is None:
            raise InputError("a comparison needs a second model, recorded arrays, the reference or a precision")
        values = result.narrow.values
        what = f"{result.a}{', weights' if result.narrow.weights_only else ''} in {result.narrow.kind}"
        usual = traces.places(a) if not isinstance(a, OnnxModel) else {}
        return Trace(what, values, usual, list(result.narrow.outputs), list(a.inputs)), None, given
    if b == REFERENCE:
        if isinstance(a, OnnxModel):
            from . import reference

            values = reference.onnx_blobs(a, given)
            values = {key: value for key, value in values.items() if value.dtype.kind in "fiub"}
            outputs = [info.name for info in a.proto.graph.output]
            return Trace("ONNX's reference", values, dict(a.values), outputs, list(a.inputs)), None, given
        return traces.by_reference(a, given), a, given
    if isinstance(b, Mapping):
        return recorded.trace(a, b, first, result.notes, name or "the recording"), None, given
    other = b if isinstance(b, OnnxModel) else inner.distinct(b)
    theirs = _translated(a, other, given, result)
    return traces.run(other, theirs), other, theirs


def _translated(a: AnyModel, b: AnyModel, given: Mapping[str, Any], result: Comparison) -> dict[str, Any]:
    """The values for the inputs of ``b``: those of the same name, else by position; a picture as ``b`` takes it."""
    theirs: dict[str, Any] = {}
    left = [name for name in given if name not in b.inputs]
    for name, entry in b.inputs.items():
        source = name if name in given else left.pop(0) if left else None
        if source is None:
            continue
        value, mine = given[source], a.inputs[source]
        if mine.kind == "image" and entry.kind != "image":
            if isinstance(a, OnnxModel):
                value = a.feeds({source: value})[source]
                result.notes.append(f"{b_name(b)} takes {name!r} as an array: it got the levels 0 to 255 as they are")
            else:
                from . import reference

                value = reference.pixels(a, source, value)
                result.notes.append(f"{b_name(b)} takes {name!r} as an array: it got the picture after preprocessing")
        elif mine.kind != "image" and entry.kind == "image":
            raise InputError(f"input {name!r} of {b_name(b)} is a picture, {source!r} of {result.a} is none")
        elif entry.kind != "image":
            value = _fitted(value, entry)
        theirs[name] = value
    return theirs


def _fitted(value: Any, entry: Any) -> Any:
    """An array in the shape that an input declares, where only ones tell them apart."""
    import numpy as np

    array = np.asarray(value)
    shape = entry.shape or ()
    if 0 not in shape and int(np.prod(shape, dtype=np.int64)) == array.size:
        return array.reshape(shape)
    return array


def b_name(model: AnyModel) -> str:
    """What a model is called in messages."""
    return model.name if isinstance(model, OnnxModel) else model.document.name


# -- outputs and blobs -----------------------------------------------------------------------------------------------


def _label(a: AnyModel, b: Any, other: Any, first: Trace, second: Trace, tolerance: float) -> Difference | None:
    """The labels that both answer with; any of those that are as likely as the likeliest, within the tolerance."""
    import numpy as np

    name, labels = a.predicted_feature, a.labels
    scores = first.values.get(str(a.probabilities)) if labels else None
    if not name or not labels or scores is None or scores.size != len(labels):
        return None
    if isinstance(b, Mapping) and name in b:
        right = recorded.label(b[name])
    elif other is not None and other is not a and other.labels and other.predicted_feature:
        theirs = second.values.get(str(other.probabilities))
        if theirs is None or theirs.size != len(other.labels):
            return None
        right = str(other.labels[int(theirs.reshape(-1).argmax())])
    else:
        return None
    flat = scores.reshape(-1).astype(np.float64, copy=False)
    near = flat >= flat.max() - 2 * (tolerance + tolerance * abs(flat.max()))
    own = {str(label) for label, likely in zip(labels, near, strict=True) if likely}
    mine = labels[int(flat.argmax())]
    return Difference(name, problem="" if right in own else f"{str(mine)!r} and {right!r}")


def _outputs(
    result: Comparison, first: Trace, second: Trace, pairs: Sequence[Pair], label: Difference | None, named: str | None
) -> None:
    """``named``: the output that holds a label, which is no blob of a network and is compared by itself."""
    known = {pair.a: pair for pair in pairs}
    missing = []
    if label is not None:
        result.outputs.append(label)
    for name in first.outputs:
        pair = known.get(name)
        if name == named and (label is not None or pair is None):
            continue
        if pair is None and name in second.values:
            shapes = [list(trace.values[name].shape) for trace in (first, second) if name in trace.values]
            problem = f"shapes differ: {' and '.join(map(str, shapes))}"
            result.outputs.append(Difference(name, problem=problem))
            continue
        if pair is None:
            missing.append(name)
            continue
        other = pair.other(second.values)
        value = first.values[name]
        if other.size == value.size:
            other = other.reshape(value.shape)
        result.outputs.append(difference(name, value, other, result.tolerance))
        if pair.how == "layout":
            result.notes.append(
                f"output {name!r} is transposed in {second.what}: its axes are read as {list(pair.order)}"
            )
    if missing and not result.outputs:
        names = ", ".join(map(repr, second.values)) or "nothing"
        raise InputError(
            f"output {missing[0]!r} has no counterpart in {second.what}, which has {names}",
            hint="names or sizes must agree",
        )
    result.notes += [f"output {name!r} has no counterpart" for name in missing]


def _steps(result: Comparison, first: Trace, second: Trace, pairs: Sequence[Pair]) -> None:
    for pair in pairs:
        value, other = first.values[pair.a], pair.other(second.values)
        if other.size == value.size:
            other = other.reshape(value.shape)
        entry = difference(pair.a, value, other, BLOBS * result.tolerance, scaled=True)
        result.steps.append(Step(pair, first.place(pair.a), entry))
    known = {pair.a for pair in pairs}
    result.unmatched = [name for name in first.values if name not in known]
    for name in result.unmatched:
        if name in second.values and name not in first.outputs:
            shapes = " and ".join(str(list(trace.values[name].shape)) for trace in (first, second))
            result.notes.append(f"blob {name!r} is not compared: shapes differ: {shapes}")


def _depart(
    result: Comparison,
    mine: tuple[AnyModel, Mapping[str, Any], Trace],
    theirs: tuple[Any, Mapping[str, Any], Trace],
) -> None:
    """Finds the layer that is to blame: judged on the other run's values, it answers differently."""
    a, data, first = mine
    second = theirs[2]
    given = {step.pair.a: _shaped(step, first, second) for step in result.steps}
    computed: Mapping[str, NDArray[Any]] = {}
    try:
        computed = traces.forced(a, data, given)
    except PippinError as error:
        result.notes.append(f"layers could not be judged by themselves: {error}")
    for step in result.steps:
        name = step.pair.a
        if name in computed:
            made = computed[name].reshape(given[name].shape)
            step.alone = difference(name, made, given[name], BLOBS * result.tolerance, scaled=True)
    wrong = [step for step in result.steps if step.alone is not None and not step.alone.ok]
    wrong += [step for step in result.steps if step.alone is None and not step.difference.ok]
    wrong.sort(key=result.steps.index)
    if not wrong:
        over = {entry.name for entry in result.outputs if not entry.ok}
        wrong = [step for step in result.steps if step.pair.a in over] if theirs[0] is None else []
        found = _picture(a, data, wrong[0], result, first, second, given) if wrong else None
        result.departure = found or _gradual(a, result, second)
        return
    step = wrong[0]
    wanted = given[step.pair.a]
    value = computed.get(step.pair.a, first.values[step.pair.a]).reshape(wanted.shape)
    cause = _all_narrow(wrong, given)
    if cause is None and (departure := _picture(a, data, step, result, first, second, given)) is not None:
        result.departure = departure
        return
    between = _between(a, step, result)
    suspects = between.places or [step.place]
    if len(suspects) > 1:
        suspects = causes.heavier(suspects, value, wanted)
    if cause is None:
        cause = _cause(a, theirs[0], step, value, wanted, len(wrong), between if len(suspects) > 1 else None)
    result.departure = Departure(
        suspects[0] if len(suspects) == 1 else step.place, suspects, step, cause, len(wrong) - 1
    )


def _all_narrow(wrong: Sequence[Step], given: Mapping[str, NDArray[Any]]) -> Cause | None:
    """Whether every layer that differs gives numbers of a narrow type, no further off than sums of them can be."""
    kinds: tuple[Precision, ...] = ("bfloat16", "float16")
    for kind in kinds:
        entries = [(step.pair.a, step.alone or step.difference) for step in wrong]
        if all(
            not entry.problem and entry.share <= 8 * EPSILON[kind] and is_exact(given[name], kind)
            for name, entry in entries
        ):
            text = f"every value of the second is a {kind} number, and no layer is further off than rounding makes it"
            return Cause(kind, text)
    return None


def _between(a: AnyModel, step: Step, result: Comparison) -> traces.Upstream:
    return traces.upstream(a, step.pair.a, {entry.pair.a for entry in result.steps if entry is not step})


def _picture(
    a: AnyModel, data: Mapping[str, Any], step: Step, result: Comparison, first: Trace, second: Trace,
    given: Mapping[str, Any],
) -> Departure | None:  # fmt: skip
    """Whether the second run's value comes out once a picture is prepared in another way."""
    name = step.pair.a
    inputs = [name] if name in a.inputs else _between(a, step, result).inputs
    known = second.partial.get(step.pair.b)
    found = unseen.picture(a, data, name, inputs, first.values[name], given[name], known)
    if found is None:
        return None
    key, cause = found
    place = step.place if len(_between(a, step, result).places) == 1 else f"input {key!r}"
    return Departure(place, [place], step, cause)


def _gradual(a: AnyModel, result: Comparison, second: Trace) -> Departure | None:
    """No layer is to blame: rounding of every blob, or small differences that grow."""
    over = [step for step in result.steps if not step.difference.ok]
    if not over:
        over = sorted(result.steps, key=lambda step: -step.difference.share)[:1]
    if not over:
        return None
    kinds: tuple[Precision, ...] = ("bfloat16", "float16")
    values = [second.values[step.pair.b] for step in result.steps]
    for kind in kinds:
        if len(values) > 1 and all(is_exact(value, kind) for value in values):
            text = f"every value of the second is a {kind} number, and no layer is further off than rounding makes it"
            return Departure(over[0].place, [over[0].place], over[0], Cause(kind, text))
    between = _between(a, over[0], result)
    if len(between.places) > 1:
        return Departure(over[0].place, between.places, over[0], unseen.unknown(a, between))
    text = "no layer answers differently on the same values: small differences add up on the way"
    return Departure(over[0].place, [over[0].place], over[0], Cause("rounding", text))


def _shaped(step: Step, first: Trace, second: Trace) -> NDArray[Any]:
    other = step.pair.other(second.values)
    value = first.values[step.pair.a]
    return other.reshape(value.shape) if other.size == value.size else other


def _cause(
    a: AnyModel, b: Any, step: Step, value: NDArray[Any], wanted: NDArray[Any], wrong: int,
    between: traces.Upstream | None,
) -> Cause:  # fmt: skip
    if b is not None and b is not a and not isinstance(a, OnnxModel) and not isinstance(b, OnnxModel):
        found = causes.between(a, b, step.pair.a, step.pair.b)
        if found is not None:
            return found
    found = causes.of_values(value, wanted, is_input=step.pair.a in a.inputs)
    for model, name in ((a, step.pair.a), (b, step.pair.b)):
        if found is None and model is not None and not isinstance(model, OnnxModel):
            found = causes.stored_narrow(model, name)
    if found is not None:
        return found
    if between is not None:
        return unseen.unknown(a, between)
    if wrong == 1:
        return Cause("one wrong layer", "given the same values, this layer alone answers differently")
    return Cause("unknown", f"given the same values, {wrong} layers answer differently")
