"""Gradient check: the gradients of the engine against central differences of the loss in the float64 reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..coreml.model import Model
from ..coreml.read import Document, Source, read
from ..coreml.wire import View
from ..errors import CheckError, PippinError
from . import data as sources
from .encode import Encoder
from .losses import TINY
from .parameters import Parameter
from .settings import Settings
from .step import GRADIENT, State
from .trainer import Trainer

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEP = 2.0**-11
"""The width of a difference, relative to the size of the weights."""
TOLERANCE = 1e-3
SCHEMA = "pippin.gradients/1"


@dataclass(frozen=True)
class Row:
    """One parameter: the largest ``error`` of the places tried, relative to the largest gradient among them.

    ``gradient`` is the norm of its whole gradient, ``places`` how many weights were tried.
    """

    name: str
    where: str
    error: float
    gradient: float
    places: int

    @property
    def ok(self) -> bool:
        return self.error <= TOLERANCE


@dataclass
class GradientCheck:
    """``ok``: every gradient agrees with the differences; ``loss`` of both sides."""

    loss: float
    reference_loss: float
    rows: list[Row] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(row.ok for row in self.rows) and abs(self.loss - self.reference_loss) <= 1e-3 * (
            1 + abs(self.reference_loss)
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "schema": SCHEMA,
            "ok": self.ok,
            "loss": self.loss,
            "reference_loss": self.reference_loss,
            "parameters": [{**vars(row), "ok": row.ok} for row in self.rows],
        }


def check_gradients(
    source: Source | Document,
    data: Any,
    *,
    samples: int = 4,
    places: int = 6,
    seed: int = 0,
    resize: str | None = None,
    threads: int | None = None,
    custom_layers: Mapping[str, Any] | None = None,
) -> GradientCheck:
    """Compares analytic gradients of a batch of ``samples`` with numeric ones, at ``places`` weights a parameter.

    The numeric ones are (loss(w + h) - loss(w - h)) / 2h, computed by the float64 interpreter, which shares no code
    with what is checked; at a kink, of ReLU for example, every slope between those of both sides is right.
    ``source`` and ``data`` are as for ``train``.
    """
    document = source if isinstance(source, Document) else read(source)
    try:
        options = {"threads": threads, "custom_layers": custom_layers}
        trainer = Trainer(document, {"batch_size": samples, "beyond": True}, resize, options)
        source_ = sources.open_source(data, trainer.model, trainer.settings)
        columns, count = next(sources.batches(source_, samples, None))
        return _check(trainer, columns, count, places, seed)
    except PippinError as error:
        raise error.inside(document.name) from error.__cause__


def _check(trainer: Trainer, columns: Mapping[str, Any], count: int, places: int, seed: int) -> GradientCheck:
    _, feeds = trainer.prepared(columns, count, training=False)
    problem = trainer.problem
    assert problem is not None
    state = State.of(problem)
    answers = problem.gradients(count).run(state, feeds, {})
    judge = _Judge(trainer.model, trainer.settings, trainer.encoder, columns, count, problem.target_shape)
    result = GradientCheck(float(answers["loss"]), judge.loss(trainer.document, TINY))
    random = np.random.default_rng(seed)
    values = problem.parameters.values()
    # a gradient that is nothing beside the others cannot be told from 0
    floor = 1e-4 * max(float(np.abs(answers[p.name + GRADIENT]).max(initial=0)) for p in problem.parameters)
    for parameter in problem.parameters:
        gradient = answers[parameter.name + GRADIENT]
        weights = values[parameter.name]
        # where the gradient is largest, and elsewhere
        order = np.argsort(-np.abs(gradient.reshape(-1)), kind="stable")[: places // 2]
        chosen = np.unique(np.concatenate([order, random.integers(0, weights.size, places - len(order))]))
        sides = np.array([judge.slopes(trainer.document, parameter, weights, int(place)) for place in chosen])
        numeric, spread = sides.mean(1), np.abs(sides[:, 0] - sides[:, 1]) / 2
        analytic = gradient.reshape(-1)[chosen].astype(np.float64)
        scale = max(float(np.abs(numeric).max(initial=0)), float(np.abs(analytic).max(initial=0)), floor, 1e-30)
        off = np.abs(analytic - numeric)
        off = np.where(off > TOLERANCE * scale, np.maximum(off - spread, 0), off)
        error = float(off.max(initial=0)) / scale
        norm = float(np.linalg.norm(gradient.astype(np.float64)))
        result.rows.append(Row(parameter.name, parameter.where, error, norm, len(chosen)))
    return result


class _Judge:
    """The loss of given samples by the reference, for other weights."""

    def __init__(
        self,
        model: Model,
        chosen: Settings,
        encoder: Encoder,
        columns: Mapping[str, Any],
        count: int,
        target_shape: tuple[int, ...],
    ) -> None:
        self.model, self.settings = model, chosen
        self.here: float | None = None
        names = [name for name in model.inputs if name in columns]
        self.samples = [{name: encoder.fitted(name, columns[name][index]) for name in names} for index in range(count)]
        self.count = count
        if chosen.loss == "cross entropy":
            classes = int(np.prod(target_shape))
            self.target = encoder.classes(*encoder.column(columns), classes)
        else:
            self.target = encoder.numbers(*encoder.column(columns), target_shape).astype(np.float64)

    def loss(self, document: Document, tiny: float = 0.0) -> float:
        """mean -log(p[target] + tiny), or mean (y - target)². The gradient is that of tiny = 0."""
        from ..analysis import reference

        model = Model(document, custom_layers=self.model.custom_layers)
        total = 0.0
        for sample, target in zip(self.samples, self.target, strict=True):
            y = reference.blobs(model, sample, keep=[self.settings.input])[self.settings.input]
            if self.settings.loss == "cross entropy":
                total += -float(np.log(y.reshape(-1)[int(target)] + tiny))
            else:
                total += float(np.mean((y.reshape(-1) - target.reshape(-1)) ** 2))
        return total / self.count

    def slopes(
        self, document: Document, parameter: Parameter, weights: NDArray[Any], place: int
    ) -> tuple[float, float]:
        """The slopes above and below one weight; their mean is the central difference."""
        self.here = self.loss(document) if self.here is None else self.here
        value = float(weights.reshape(-1)[place])
        size = max(abs(value), float(np.sqrt(np.mean(weights**2))), 1e-2)
        found = []
        for sign in (1, -1):
            moved = weights.copy()
            moved.reshape(-1)[place] += sign * STEP * size
            width = float(moved.reshape(-1)[place]) - value
            found.append((self.loss(_with(document, parameter, moved)) - self.here) / width)
        return found[0], found[1]


def _with(document: Document, parameter: Parameter, values: NDArray[Any]) -> Document:
    """``document`` with one parameter in float32, whatever it is stored in; for running, not for writing."""
    views = list(document.views)
    indices = list(parameter.message.pippinView)
    if not indices:
        raise CheckError(f"{parameter.name} holds no values")
    for index in indices:
        views[index] = View(views[index].field, "float32", memoryview(b""))
    views[indices[0]] = View(
        views[indices[0]].field, "float32", memoryview(np.ascontiguousarray(values, "<f4").tobytes())
    )
    return Document(document.model, views, document.name, document.path, document.size)
