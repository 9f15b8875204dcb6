"""``pippin.train``: trains an updatable network as its file says, and gives the file back with other weights."""

from __future__ import annotations

import hashlib
import logging
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..coreml import wire, write
from ..coreml.model import Model
from ..coreml.read import Document, Source, read
from ..errors import CheckError, InputError, PippinError, RunError, WriteError
from . import data as sources
from . import watch
from .checkpoint import Checkpoint
from .encode import Encoder
from .parameters import written
from .settings import Settings, settings
from .step import TARGET, Problem, State, Step, input_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

log = logging.getLogger("pippin")

ALLOWED = {"update-path", "update-loss-input"}
"""Rules of devices that training here does without: more layers have derivatives than on a device."""

KEPT = 16
KEPT_BYTES = 1 << 30
"""Shapes of samples whose graphs are kept, and what the blobs of these may take together."""


@dataclass
class Progress:
    """What callbacks are given: where the training stands. ``stop()`` ends it after this batch or epoch.

    ``batch_loss`` is that of the batch alone; ``loss`` and ``accuracy`` are means over the epoch so far. ``record`` is
    what goes into the history, at the end of an epoch.
    """

    epoch: int
    epochs: int
    batch: int = 0
    batches: int | None = None
    batch_loss: float = math.nan
    loss: float = math.nan
    accuracy: float | None = None
    record: dict[str, Any] | None = None
    stopped: bool = False

    def stop(self) -> None:
        self.stopped = True


@dataclass
class Result:
    """A finished training: ``model`` with the new weights, ``history`` with one record an epoch, ``warnings``."""

    document: Document = field(repr=False)
    settings: Settings
    history: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    stopped: bool = False
    options: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def model(self) -> Model:
        """The trained network, ready to predict."""
        return Model(self.document, **self.options).prepare()

    def to_bytes(self) -> bytes:
        """The trained network as the bytes of an .mlmodel file."""
        return write.to_bytes(self.document.model, self.document.views)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file that was trained with its new weights to ``path``, all or nothing."""
        write.save(self.document.model, path, self.document.views)


Callback = Callable[[Progress], Any]


def train(
    source: Source | Document,
    data: Any,
    *,
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    momentum: float | None = None,
    beta1: float | None = None,
    beta2: float | None = None,
    eps: float | None = None,
    shuffle: bool | None = None,
    seed: int | None = None,
    beyond: bool = False,
    validation: Any = None,
    resize: str | None = None,
    on_batch: Callback | None = None,
    on_epoch: Callback | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    resume: bool = False,
    threads: int | None = None,
    custom_layers: Mapping[str, Any] | None = None,
) -> Result:
    """Trains the updatable network of ``source`` (a path, bytes, a file object or what ``make_updatable`` made).

    data            a path (a folder with one folder of pictures a class, .csv, .tsv, .npz, .parquet), a dict of arrays,
                    or an iterable of dicts by feature name; a classifier's target is its label
    epochs … seed   instead of what the file says, within the values that it allows (any, with ``beyond``)
    validation      more data: loss and accuracy on it are told after each epoch
    resize          how pictures of another size are made to fit: "crop", "fit" or "stretch" (None: they are refused)
    on_batch, …     called with a ``Progress``; what they raise ends the training
    checkpoint      a file that is kept up to date, after each epoch and every ``checkpoint_every`` seconds; with
                    ``resume`` training goes on from it, if it is there, with the same data to the same weights as
                    without an interruption

    Losses: cross entropy, mean -log p[target]; mean squared error, mean (y - target)² over all elements. Raises
    ``CheckError`` for a file that cannot be trained, ``UnsupportedError`` for a layer without a derivative,
    ``InputError`` for data or settings that do not fit, ``RunError`` where the loss becomes no number.
    """
    document = source if isinstance(source, Document) else read(source)
    try:
        wanted = {
            "epochs": epochs,
            "batch_size": batch_size,
            "learning_rate": learning_rate,
            "momentum": momentum,
            "beta1": beta1,
            "beta2": beta2,
            "eps": eps,
            "shuffle": shuffle,
            "seed": seed,
            "beyond": beyond,
        }
        options = {"threads": threads, "custom_layers": custom_layers}
        trainer = Trainer(document, wanted, resize, options)
        trainer.validation = validation
        trainer.on_batch, trainer.on_epoch = on_batch, on_epoch
        if checkpoint is not None:
            trainer.keep(Path(checkpoint), checkpoint_every, resume)
        elif resume:
            raise InputError("resume needs a checkpoint to go on from")
        return trainer.run(data)
    except PippinError as error:
        raise error.inside(document.name) from error.__cause__


class Trainer:
    """The state of one training."""

    validation: Any = None
    on_batch: Callback | None = None
    on_epoch: Callback | None = None

    def __init__(
        self, document: Document, wanted: Mapping[str, Any], resize: str | None, options: dict[str, Any]
    ) -> None:
        self.document = document
        self.options = options
        refuse(document)
        self.model = Model(document, **options)
        self.settings = settings(document.network, **wanted)
        self.encoder = Encoder(self.model, self.settings, resize)
        self.problem: Problem | None = None
        self.state: State | None = None
        self.steps: dict[tuple[int, bool], Step] = {}
        self.known: dict[tuple[tuple[int, ...], ...], tuple[Problem, dict[tuple[int, bool], Step]]] = {}
        self.history: list[dict[str, Any]] = []
        self.warnings: list[str] = []
        self.epoch = self.batch = self.step = 0
        self.sums = _Sums()
        self.stopped = False
        self.path: Path | None = None
        self.every = math.inf
        self.resumed: Checkpoint | None = None
        self.saved = time.monotonic()

    def keep(self, path: Path, every: float, resume: bool) -> None:
        """Keeps a checkpoint at ``path``; with ``resume`` goes on from it."""
        self.path, self.every = path, every
        if not path.parent.is_dir() or path.is_dir():
            what = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
            raise WriteError(f"the checkpoint cannot be written: {what}", where=str(path))
        if resume and path.exists():
            self.resumed = Checkpoint.load(path)
        elif path.is_file() and path.stat().st_size and not Checkpoint.stands(path):
            raise InputError("is there already and is no checkpoint, so it is not overwritten", where=str(path))

    # -- the loop ------------------------------------------------------------------------------------------------------

    def run(self, data: Any) -> Result:
        """Trains to the end."""
        source = sources.open_source(data, self.model, self.settings)
        held = None
        if self.validation is not None:
            held = sources.open_source(self.validation, self.model, self.settings)
        count = sources.length(source)
        batches = None if count is None else -(-count // self.settings.batch_size)
        if self.resumed is not None:
            self.restore(self.resumed, batches)
        for each in (source, held):
            # a callback may stop it in time
            if isinstance(each, sources.Iterables) and self.on_batch is None and self.on_epoch is None:
                each.refuse(self.settings.epochs - self.epoch)
        while self.epoch < self.settings.epochs:
            progress = Progress(self.epoch + 1, self.settings.epochs, batches=batches)
            begun = time.monotonic()
            self.one_epoch(source, progress)
            self.end_epoch(progress, held, time.monotonic() - begun)
            if self.stopped:
                break
        self.settle(source)
        arrays = self.arrays()
        document = self.document
        if self.problem is not None:
            document = written(self.document, self.problem.parameters, arrays)
        return Result(document, self.settings, self.history, self.warnings, self.stopped, self.options)

    def one_epoch(self, source: sources.Source, progress: Progress) -> None:
        """All batches of an epoch, or those that are left of it."""
        order = np.random.default_rng([self.epoch, self.settings.seed % (1 << 64)]) if self.settings.shuffle else None
        for columns, count in sources.batches(source, self.settings.batch_size, order, self.batch):
            loss, correct, norms = self.one_batch(columns, count)
            self.sums.add(loss, correct, count)
            assert self.watch is not None
            self.watch.add(norms)
            self.batch += 1
            progress.batch, progress.batch_loss = self.batch, loss
            progress.loss, progress.accuracy = self.sums.means()
            if not math.isfinite(loss):
                self.encoder.refuse_infinite(self.encoder.inputs(columns, count), self.here)
                self.diverged(f"the loss became {loss:g}", self.watch.bad(norms))
            if self.on_batch is not None:
                self.on_batch(progress)
            if progress.stopped:
                self.stopped = True
                break
            if time.monotonic() - self.saved > self.every:
                self.checkpoint()
        if not self.batch:
            raise InputError("there is no sample to train on")
        self.settle(source)

    def settle(self, source: sources.Source) -> None:
        """Takes the weights of a checkpoint behind which no batch was left, by the shapes of a sample."""
        if self.resumed is None:
            return
        for columns, size in sources.batches(source, 1, None):
            self.adopt([array.shape[1:] for array in self.encoder.inputs(columns, size).values()])
            return
        raise InputError("there is no sample to train on")

    def end_epoch(self, progress: Progress, held: sources.Source | None, seconds: float) -> None:
        """Notes what the epoch gave and calls back.

        After a stop within the epoch the checkpoint stands where it stopped, so that a resumed training is whole.
        """
        broken = self.stopped
        if broken:
            self.checkpoint()
        arrays = self.sound()
        loss, accuracy = self.sums.means()
        record: dict[str, Any] = {"epoch": self.epoch + 1, "loss": loss}
        if accuracy is not None:
            record["accuracy"] = accuracy
        if held is not None:
            record |= self.evaluate(held)
        record["samples"], record["seconds"] = self.sums.count, round(seconds, 3)
        assert self.watch is not None
        for sentence in watch.warnings(self.watch.finish(arrays)):
            if sentence.split(": the gradient")[0] not in {w.split(": the gradient")[0] for w in self.warnings}:
                log.warning("%s", sentence)
                self.warnings.append(sentence)
        self.history.append(record)
        self.epoch, self.batch, self.sums = self.epoch + 1, 0, _Sums()
        progress.record, progress.loss, progress.accuracy = record, loss, accuracy
        if self.on_epoch is not None:
            self.on_epoch(progress)
        self.stopped = self.stopped or progress.stopped
        if not broken:
            self.checkpoint()

    def one_batch(self, columns: Mapping[str, Any], count: int) -> tuple[float, float | None, NDArray[Any]]:
        """One update: loss, hits and gradient norms."""
        step, feeds = self.prepared(columns, count, training=True)
        assert self.state is not None
        self.step += 1
        answers = step.run(self.state, feeds, self.settings.optimizer.scalars(self.step))
        correct = float(answers["correct"]) if "correct" in answers else None
        return float(answers["loss"]), correct, answers["norms"]

    def evaluate(self, held: sources.Source) -> dict[str, float]:
        """Loss and accuracy on data that is not trained on."""
        sums = _Sums()
        for columns, count in sources.batches(held, self.settings.batch_size, None):
            step, feeds = self.prepared(columns, count, training=False)
            assert self.state is not None
            answers = step.run(self.state, feeds, {})
            if not math.isfinite(answers["loss"]):
                self.encoder.refuse_infinite(self.encoder.inputs(columns, count), "a batch of the validation")
            sums.add(float(answers["loss"]), float(answers["correct"]) if "correct" in answers else None, count)
        if not sums.count:
            raise InputError("there is no sample to validate with")
        loss, accuracy = sums.means()
        result = {"validation_loss": loss}
        if accuracy is not None:
            result["validation_accuracy"] = accuracy
        return result

    def prepared(self, columns: Mapping[str, Any], count: int, *, training: bool) -> tuple[Step, dict[str, Any]]:
        """The step for a batch and what it is fed."""
        inputs = self.encoder.inputs(columns, count)
        shapes = [array.shape[1:] for array in inputs.values()]
        problem = self.problem
        if problem is None or problem.shapes != shapes:
            problem = self.adopt(shapes)
        target = self.encoder.target(columns, problem)
        if len(target) != count:
            raise InputError(f"the target must hold one entry a sample, {count}, got {len(target)}")
        key = count, training
        if key not in self.steps:
            self.steps[key] = problem.training(count) if training else problem.evaluation(count)
            self.forget()
        step = self.steps[key]
        if problem.layout == "each":
            feeds = {input_name(name): array for name, array in inputs.items()}
            return step, {**feeds, TARGET: target if target.ndim > 1 else target[:, None]}
        feeds = {input_name(name): problem.joined(array, problem.layout) for name, array in inputs.items()}
        wanted = next(value for value in step.graph.inputs if value.name == TARGET).shape
        if target.ndim > 1:
            moved = problem.layout == "join" and self.model.legacy and target.ndim == 6
            target = problem.joined(target, "join") if moved else target.reshape([int(dim) for dim in wanted])
        feeds[TARGET] = np.ascontiguousarray(target)
        return step, feeds

    def adopt(self, shapes: list[tuple[int, ...]]) -> Problem:
        """Turns to graphs for samples of these shapes; weights and slots are the same ones.

        Samples of several shapes come in turns, so the graphs of the last few shapes are kept.
        """
        key = tuple(shapes)
        found = self.known.pop(key, None)
        if found is None:
            found = Problem(self.model, self.settings, shapes, self.options["threads"]), {}
        self.known[key] = found
        problem, self.steps = found
        self.problem = problem
        self.state = self.state or State.of(problem)
        if self.watch is None:
            self.watch = watch.Watch(problem.parameters)
        if self.resumed is not None:
            self.resumed.check(self.settings.as_json(), self.hash, self.state.arrays(), self.place)
            self.state = State(self.resumed.arrays)
            self.resumed = None
        return problem

    def forget(self) -> None:
        """Lets graphs go that were not needed for longest, where there are many of them or large ones."""
        sizes = [sum(step.size for step in steps.values()) for _, steps in self.known.values()]
        for size, key in zip(sizes[:-1], list(self.known), strict=False):
            if len(self.known) <= KEPT and sum(sizes) <= KEPT_BYTES:
                return
            del self.known[key]
            sizes.remove(size)

    watch: watch.Watch | None = None

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {} if self.state is None else self.state.arrays()

    @property
    def here(self) -> str:
        return f"epoch {self.epoch + 1}, batch {self.batch}"

    def sound(self) -> dict[str, NDArray[Any]]:
        """All arrays; raises where weights are numbers no more, which the loss of their own step does not show."""
        arrays = self.arrays()
        assert self.problem is not None
        for parameter in self.problem.parameters:
            if not np.isfinite(arrays[parameter.name]).all():
                self.diverged("weights became infinite or nan", parameter.where)
        return arrays

    def diverged(self, what: str, where: str) -> None:
        """Ends a training whose numbers are none any more."""
        raise RunError(
            f"{what} in {self.here}: the gradients exploded",
            where=where,
            hint="try a smaller learning rate, inputs scaled to about -1 to 1, or targets of that size",
        )

    # -- checkpoints -------------------------------------------------------------------------------------------------

    @property
    def place(self) -> Path:
        assert self.path is not None
        return self.path

    @cached_property
    def hash(self) -> str:
        """What tells the file from others: a hash of all of it."""
        found = hashlib.sha256()
        for piece in wire.splice(self.document.model, self.document.views):
            found.update(piece)
        return found.hexdigest()

    def checkpoint(self) -> None:
        """Writes the checkpoint if there is to be one."""
        self.saved = time.monotonic()
        if self.path is None:
            return
        Checkpoint(
            self.sound(),
            self.settings.as_json(),
            self.hash,
            self.epoch,
            self.batch,
            self.step,
            vars(self.sums),
            self.history,
        ).save(self.path)

    def restore(self, found: Checkpoint, batches: int | None) -> None:
        """Goes on where ``found`` was written, in data of so many batches."""
        found.check(self.settings.as_json(), self.hash, found.arrays, self.place)
        if batches is not None and found.batch > batches:
            raise InputError(
                f"the checkpoint stands behind batch {found.batch} of an epoch, the data has {batches}",
                where=str(self.place),
            )
        self.epoch, self.batch, self.step = found.epoch, found.batch, found.step
        self.history = list(found.history)
        self.sums = _Sums(**found.sums)


@dataclass
class _Sums:
    """Sums over the samples of an epoch."""

    loss: float = 0.0
    correct: float | None = None
    count: int = 0

    def add(self, loss: float, correct: float | None, count: int) -> None:
        self.loss += loss * count
        self.count += count
        if correct is not None:
            self.correct = (self.correct or 0.0) + correct

    def means(self) -> tuple[float, float | None]:
        accuracy = None if self.correct is None else self.correct / max(self.count, 1)
        return self.loss / max(self.count, 1), accuracy


def refuse(document: Document) -> None:
    """Raises ``CheckError`` for a network that is not updatable, or breaks a rule of updatable networks."""
    from ..coreml.check import check_document

    _ = document.network  # refuses other models
    if not document.model.isUpdatable:
        raise CheckError(
            "isUpdatable must be set on the model, it is an ordinary network",
            hint="pippin train MODEL --make-updatable turns it into an updatable one",
        )
    for finding in check_document(document, values=False, fit=False).findings:
        if not finding.code.startswith("update-"):
            continue
        if finding.code in ALLOWED or finding.severity != "error":
            log.warning("a device would refuse: %s", finding)
        else:
            raise CheckError(finding.message, where=finding.where, hint=finding.hint)
