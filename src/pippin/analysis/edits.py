"""The proof of an edit: the model before and after, run on the same inputs.

Edits in a row that must not change answers are proven together, others alone, so that it shows which of them moves
answers and by how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..coreml.model import Model
from ..coreml.read import NETWORKS, Document
from ..errors import InputError, PippinError
from . import samples
from .difference import Difference, difference

if TYPE_CHECKING:
    from ..coreml.edit.editor import Editor
    from ..coreml.edit.step import Step

SCHEMA = 1
"""Version of the JSON of a proof."""
EQUAL = 2e-5
"""What counts as equal: differences of this share of the largest value, which the order of additions makes."""
MEMORY = 2_000_000_000
"""Bytes that a run may need by default, as far as the shapes tell."""
_RANDOM = ("random", "categoricalDistribution")


@dataclass
class Trial:
    """Edits that were proven together: what they are, what they promise, and how far answers moved, by output.

    ``labels`` counts the answers whose label changed, of ``runs``. ``unproven`` says why there was nothing to compare.
    """

    steps: list[str]
    effect: str
    runs: int = 0
    labels: int = 0
    differences: dict[str, Difference] = field(default_factory=dict)
    unproven: str = ""
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether what was promised holds; an edit that could not be run has not failed."""
        if self.problem:
            return False
        if self.effect == "equal":
            return not self.labels and all(entry.ok for entry in self.differences.values())
        return not any(entry.problem for entry in self.differences.values()) or self.effect == "differs"

    def __str__(self) -> str:
        what = "; ".join(self.steps)
        if self.problem or self.unproven:
            return f"{what}: {self.problem or f'not run: {self.unproven}'}"
        told = ", ".join(_told(entry) for entry in self.differences.values()) or "nothing to compare"
        if self.labels:
            told += f", {self.labels} of {self.runs} labels changed"
        return f"{what}: {told}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        fields = {key: value for key, value in vars(self).items() if key != "differences"}
        return fields | {"ok": self.ok, "outputs": [entry.to_dict() for entry in self.differences.values()]}


def _told(entry: Difference) -> str:
    if entry.problem:
        return f"{entry.name}: {entry.problem}"
    if not entry.absolute:
        return f"{entry.name} equal"
    return f"{entry.name} {entry.absolute:.3g} apart ({entry.share:.2g} of the largest value)"


@dataclass
class Proof:
    """All trials of a series of edits."""

    trials: list[Trial] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing changed that must not."""
        return all(trial.ok for trial in self.trials)

    def failed(self) -> list[Trial]:
        """The trials that show a change where none may be."""
        return [trial for trial in self.trials if not trial.ok]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"schema": SCHEMA, "ok": self.ok, "trials": [trial.to_dict() for trial in self.trials]}

    def __str__(self) -> str:
        return "\n".join(map(str, self.trials)) or "nothing that runs was changed"


def prove(
    editor: Editor,
    data: Iterable[Mapping[str, Any]] = (),
    *,
    seeds: Sequence[int] = (0, 1),
    custom_layers: Mapping[str, Any] | None = None,
    max_memory: int | None = MEMORY,
) -> Proof:
    """Runs the model before and after the edits of ``editor``.

    ``max_memory``: bytes that a run may need; networks that need more are not run. ``data`` are inputs as the model
    took them before; with ``seeds`` come inputs made up. Where a model cannot be run (a pipeline, a custom layer
    without its function), the trial says so and is no failure; where it ran before and does not after, it is.
    """
    run = _Runs(editor, custom_layers or {}, max_memory)
    proof = Proof()
    inputs: list[Any] | None = None
    for first, last in _groups(editor.steps):
        steps = editor.steps[first:last]
        trial = Trial([step.text for step in steps], steps[0].effect)
        proof.trials.append(trial)
        probes = steps[0].probes
        try:
            before = run.model(first)
            if inputs is None:
                inputs = [*data, *(samples.sample(before, seed) for seed in seeds)]
            answers = [before.predict(item) for item in inputs]
            if probes:
                probed = run.load(_probed(editor.state(first), probes))
                found = [probed.predict(item) for item in inputs]
                answers = [one | {n: more[n] for n in probes} for one, more in zip(answers, found, strict=True)]
        except InputError:
            raise
        except (PippinError, MemoryError) as error:
            trial.unproven = str(error).splitlines()[0] or "there is not enough memory"
            inputs = None
            data = ()
            continue
        if _draws(editor.state(first)) and not _same(before, inputs, answers):
            trial.unproven = "the network draws random numbers"
            continue
        inputs = _compare(trial, steps, run, last, inputs, answers)
        data = ()
        if inputs is None and trial.problem:
            break
    return proof


def _groups(steps: Sequence[Step]) -> Iterator[tuple[int, int]]:
    """Edits to be proven together, as ranges of their numbers; those that touch nothing that runs are left out."""
    start: int | None = None
    for index, step in enumerate(steps):
        joins = step.effect in ("none", "equal") and not step.probes
        if start is not None and not joins:
            yield start, index
            start = None
        if not joins:
            yield index, index + 1
        elif step.effect == "equal" and start is None:
            start = index
    if start is not None:
        yield start, len(steps)


class _Runs:
    """Loads the states of an editor; the last one is kept, since it is the first of the next trial."""

    def __init__(self, editor: Editor, custom_layers: Mapping[str, Any], max_memory: int | None) -> None:
        self.editor = editor
        self.max_memory = max_memory
        self.custom_layers = custom_layers
        self.kept: tuple[int, Model] | None = None

    def model(self, after: int) -> Model:
        document = self.editor.state(after)
        if document.type not in NETWORKS:
            document.network  # noqa: B018 - raises, and says why
        if self.kept is None or self.kept[0] != after:
            self.kept = None  # before the next one is made
            self.kept = after, self.load(document)
        return self.kept[1]

    def load(self, document: Document) -> Model:
        return Model(document, custom_layers=self.custom_layers, max_memory=self.max_memory).prepare()


def _probed(document: Document, probes: Sequence[str]) -> Document:
    """The model as a plain network with some blobs as outputs."""
    from ..coreml.features import feature

    model = type(document.model)()
    model.CopyFrom(document.model)
    plain = {e.name for e in model.description.output if feature(e).kind in ("multiarray", "image")}
    for name in probes:
        if name not in plain:
            for index in range(len(model.description.output) - 1, -1, -1):
                if model.description.output[index].name == name:
                    del model.description.output[index]  # a dictionary of that name: its blob is wanted
            model.description.output.add(name=name).type.multiArrayType.dataType = 65568
    if document.type == "neuralNetworkClassifier":
        _as_network(model)
    return Document(model, document.views, document.name, document.path, document.size)


def _as_network(model: Any) -> None:
    """A classifier as a plain network: the probabilities are a blob like others then."""
    from ..coreml import schema

    old = model.neuralNetworkClassifier
    for name in ("stringClassLabels", "int64ClassLabels", "labelProbabilityLayerName"):
        old.ClearField(name)
    model.neuralNetwork.CopyFrom(schema.message("NeuralNetwork").FromString(old.SerializeToString()))
    kept = [
        entry for entry in model.description.output if entry.type.WhichOneof("Type") in ("multiArrayType", "imageType")
    ]
    copies = [type(entry).FromString(entry.SerializeToString()) for entry in kept]
    del model.description.output[:]
    model.description.output.extend(copies)
    model.description.predictedFeatureName = model.description.predictedProbabilitiesName = ""


def _draws(document: Document) -> bool:
    from ..coreml.edit.step import layers_of

    return any((layer.WhichOneof("layer") or "").startswith(_RANDOM) for _, _, layer in layers_of(document.network))


def _same(model: Model, inputs: Sequence[Any], answers: Sequence[Any]) -> bool:
    """Whether the model answers the same again."""
    again = [model.predict(item) for item in inputs]
    trial = Trial([], "equal")
    for wanted, given in zip(answers, again, strict=True):
        _difference(trial, wanted, given)
    return trial.ok


def _compare(
    trial: Trial, steps: Sequence[Step], run: _Runs, last: int, inputs: Sequence[Any], answers: Sequence[Any]
) -> list[Any] | None:
    """Runs the model after the edits; returns the inputs that it took, for the next trial."""
    fed: list[Any] = []
    wanted: list[Any] = []
    for item, answer in zip(inputs, answers, strict=True):
        for step in steps:
            item = step.feed(item, answer) if step.feed else item
            answer = step.expect(answer) if step.expect else answer
        fed.append(item)
        wanted.append(answer)
    try:
        after = run.model(last)
        if trial.effect == "differs" and not _takes(after, fed):
            trial.unproven = "it takes other inputs now"
            return None
        given = [after.predict(item) for item in fed]
    except (PippinError, MemoryError) as error:
        trial.problem = f"it does not run any more: {error}"
        return None
    for one, other in zip(wanted, given, strict=True):
        _difference(trial, one, other)
    trial.runs = len(fed)
    return fed


def _takes(model: Model, fed: Sequence[Any]) -> bool:
    try:
        for item in fed:
            model.feeds(item)
    except InputError:
        return False
    return True


def _difference(trial: Trial, wanted: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Compares two answers; of each output the largest difference is kept."""
    import numpy as np

    for name, value in wanted.items():
        if name not in given:
            if trial.effect != "differs":
                trial.problem = f"there is no output {name!r} any more"
            continue
        other = given[name]
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            trial.labels += value != other and not _tie(wanted, value, other)
            continue
        if isinstance(value, dict):
            if not isinstance(other, dict) or list(value) != list(other):
                if trial.effect != "differs":
                    trial.problem = f"output {name!r} has other keys"
                continue
            value, other = np.array(list(value.values())), np.array(list(other.values()))
        # pictures are rounded, so a difference of rounding is one level
        picture = hasattr(value, "getbands")
        a, b = np.asarray(other, np.float64), np.asarray(value, np.float64)
        entry = difference(name, a, b, 1.01 / 255 if picture else EQUAL, scaled=True)
        kept = trial.differences.get(name)
        if kept is None or entry.problem or (not kept.problem and entry.excess > kept.excess):
            trial.differences[name] = entry


def _tie(answer: Mapping[str, Any], label: Any, other: Any) -> bool:
    """Whether two labels are so close that rounding decides between them."""
    for value in answer.values():
        if isinstance(value, dict) and label in value and other in value:
            return abs(value[label] - value[other]) <= EQUAL * abs(value[label])
    return False
