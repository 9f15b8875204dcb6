"""One step of training as one graph: forward, loss, backward and update; and one of evaluation.

A mini-batch is laid out in one of three ways, the first that serves:

"join"   the samples lie along the batch axis of the network: [N,C,H,W] in legacy networks, a leading 1 elsewhere
"stack"  the samples lie along a new first axis
"each"   the network runs sample by sample, in a Scan that adds up the gradients: always right, and slower

"join" and "stack" are taken only where they are sure to be, or measured to be, the same function.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..coreml import batch as batching
from ..coreml import preprocess
from ..coreml.draws import Draw
from ..coreml.features import ImageInput
from ..coreml.lower import lower, place
from ..coreml.model import Model
from ..errors import CheckError, InputError, PippinError, RunError, UnsupportedError
from ..graph.builder import Builder
from ..graph.gradient import prune, vjp
from ..graph.ir import Graph, Value
from ..graph.write import write
from ..runtime.pieces import FUNCTION
from ..runtime.session import Session
from . import losses
from .parameters import Parameters
from .settings import Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

log = logging.getLogger("pippin")

TARGET = "target of the loss"
NEXT, GRADIENT = " next", " gradient"
"""What stands behind the name of a weight in those of its outputs. Names of weights end in the name of a field."""
SAMPLES = 3
"""How many samples are laid out in a batch to see whether they stay apart."""
Shapes = Sequence[tuple[int, ...]]


def input_name(name: str) -> str:
    """What an input of the network is called in a step."""
    return f"{name} (input)"


def slot_names(name: str, count: int) -> list[str]:
    """What the slots of a weight are called."""
    return [f"{name}:{index}" for index in range(count)]


class Problem:
    """A network with its loss: what is trained, and graphs for batches of any size.

    ``shapes`` are those of the input blobs of one sample, in the order of the model's inputs.
    """

    def __init__(self, model: Model, settings: Settings, shapes: Shapes, threads: int | None = None) -> None:
        self.model = model
        self.settings = settings
        self.shapes = [tuple(shape) for shape in shapes]
        self.threads = threads
        self.parameters = Parameters(model.weights)
        self.target_shape: tuple[int, ...] = ()
        self.classes = 0
        # one sample: finds the parameters and refuses what cannot be trained
        sample = _Network(self, self.shapes, 1, None)
        sample.gradients()
        self.target_shape, self.classes = sample.target_shape, sample.classes
        self.layout = self._layout()
        log.info("samples of a batch: %s", self.layout)

    def _layout(self) -> str:
        if self.model.legacy and not batching.reason(self.model):
            return "join"
        for layout in ("join", "stack"):
            try:
                if self._same(layout):
                    return layout
            except PippinError as error:
                log.debug("batches cannot %s: %s", layout, error)
        return "each"

    def _same(self, layout: str) -> bool:
        """Whether batches of three different samples give what they give one by one, in each of the trials."""
        if any(shape and 0 in shape for shape in self.shapes):
            return False
        alone = _Network(self, self.shapes, 1, None).judge()
        together = _Network(self, self.batch_shapes(layout, SAMPLES), SAMPLES, None).judge()
        tried = 0
        for inputs, weights in self._trials():
            try:
                parts = [alone([x[i] for x in inputs], weights) for i in range(SAMPLES)]
            except RunError:
                continue  # the network does not take such numbers: indices, for example
            wanted = np.stack([part.reshape(-1) for part in parts])
            if not np.isfinite(wanted).all():
                continue  # nothing could be told apart
            found = together([self.joined(x, layout) for x in inputs], weights)
            if found.size != wanted.size:
                return False
            noise = 1e-5 * max(1.0, float(np.abs(wanted).max(initial=0)))
            if not np.allclose(found.reshape(SAMPLES, -1), wanted, rtol=1e-4, atol=noise):
                return False
            tried += 1
        return tried > 0

    def _trials(self) -> Iterator[tuple[list[NDArray[Any]], dict[str, NDArray[Any]]]]:
        """Samples that all differ, and weights: those of the file, and others.

        A network whose last weights are zeros, as they are before a training, or whose activations answer 0, shows
        nothing of what its samples do to one another, but its gradients do.
        """
        random, own = np.random.default_rng(0), self.parameters.values()
        pictures = [isinstance(self.model.encoder(name), ImageInput) for name in self.model.inputs]
        # small whole numbers suit embeddings too
        kinds: list[Callable[[tuple[int, ...]], Any]] = [
            lambda shape: random.integers(0, 2, shape),
            lambda shape: random.integers(0, 3, shape),
            random.standard_normal,
            lambda shape: random.standard_normal(shape) * 100,
        ]
        for number, kind in enumerate(kinds):
            inputs = []
            for shape, picture in zip(self.shapes, pictures, strict=True):
                x = random.integers(0, 256, (SAMPLES, *shape)) if picture else kind((SAMPLES, *shape))
                if number < 2 and not picture:
                    # neither all alike nor the same from behind
                    x.reshape(SAMPLES, -1)[:, 0] = (0, 1, 1 + number)
                inputs.append(x.astype(np.float32))
            weights = own
            if number:
                sizes = {name: max(float(np.sqrt(np.mean(w * w))), 0.1) if w.size else 0.0 for name, w in own.items()}
                weights = {
                    name: w + (sizes[name] * random.standard_normal(w.shape)).astype(np.float32)
                    for name, w in own.items()
                }
            yield inputs, weights

    def batch_shapes(self, layout: str, count: int) -> list[tuple[int, ...]]:
        """Shapes of the input blobs of ``count`` samples."""
        return [joined_shape(shape, layout, count, self.model.legacy) for shape in self.shapes]

    def joined(self, samples: NDArray[Any], layout: str) -> NDArray[Any]:
        """Samples (N, …) in the form of a batch."""
        (count, *shape) = samples.shape
        target = joined_shape(tuple(shape), layout, count, self.model.legacy)
        if self.model.legacy and len(shape) == 5 and layout == "join":
            return np.ascontiguousarray(np.moveaxis(samples[:, :, 0], 0, 1)).reshape(target)
        return samples.reshape(target)

    # -- graphs --------------------------------------------------------------------------------------------------------

    def training(self, count: int) -> Step:
        """A step on ``count`` samples: updates weights and slots, and answers loss, hits and gradient norms."""
        if self.layout == "each":
            return _scanned(self, count, True)
        network = _Network(self, self.batch_shapes(self.layout, count), count, [])
        return _updating(self, network.g, network, network.gradients(), network.loss)

    def gradients(self, count: int) -> Step:
        """Loss and the gradient of every parameter, for ``count`` samples."""
        if self.layout == "each":
            return _scanned(self, count, True, update=False)
        network = _Network(self, self.batch_shapes(self.layout, count), count, [])
        return _told(self, network.g, network, network.gradients(), network.loss)

    def evaluation(self, count: int) -> Step:
        """Loss and hits of ``count`` samples."""
        if self.layout == "each":
            return _scanned(self, count, False)
        network = _Network(self, self.batch_shapes(self.layout, count), count, [])
        return Step(self, network.g, network, _judgement(network.g, network.loss))


def joined_shape(shape: tuple[int, ...], layout: str, count: int, legacy: bool) -> tuple[int, ...]:
    """The shape of ``count`` blobs of ``shape`` in a batch."""
    if layout != "join":
        return (count, *shape)
    axis = 1 if legacy and len(shape) == 5 else 0
    if not shape or shape[axis] != 1:
        raise InputError(f"a sample must have a batch axis of size 1, got {list(shape)}")
    return (*shape[:axis], count, *shape[axis + 1 :])


class _Network:
    """The lowered network with its loss, for blobs of given shapes."""

    def __init__(self, problem: Problem, shapes: Shapes, count: int, draws: list[Draw] | None) -> None:
        self.problem = problem
        self.draws: list[Draw] = draws if draws is not None else []
        self.values: dict[str, Value] = {}
        model, settings = problem.model, problem.settings
        steps = preprocess.steps(model.document.network, model.inputs)

        def prepare(g: Any, name: str, value: Any) -> Any:
            return preprocess.apply(g, steps.get(name, []), model.inputs[name], model.weights, value)

        self.g, lowerer = lower(
            model.document.network,
            model.weights,
            dict(zip(model.inputs, shapes, strict=True)),
            rank5=model.legacy,
            custom=model.custom_layers,
            prepare=prepare,
            outputs=[settings.input],
            feeds=draws,
            trained=self.trained,
        )
        g = self.g
        self.inputs = g.graph.inputs[: len(model.inputs)]
        self.names = dict(zip(map(input_name, model.inputs), self.inputs, strict=True))
        blob = lowerer.blobs.get(settings.input)
        if blob is None:
            raise CheckError(f"the loss layer's input {settings.input!r} is made by no layer")
        # of true rank, so that the axes of sequence and batch are apart
        y = g.float(blob.nd(g))
        if not y.static:
            raise UnsupportedError("the shape of the loss layer's input must be known before the network runs")
        with g.scope("loss", "the loss layer"):
            if settings.loss == "cross entropy":
                target = g.input(TARGET, np.int64, (count,))
                self.loss = losses.cross_entropy(g, y, target)
                self.classes = int(np.prod([int(dim) for dim in y.shape])) // count
            else:
                target = g.input(TARGET, np.float32, y.shape)
                self.loss = losses.mean_squared_error(g, y, target)
                self.classes = 0
        self.target = self.names[TARGET] = target
        self.target_shape = tuple(int(dim) for dim in y.shape)

    def trained(self, g: Any, message: Any, shape: Sequence[int], field: str) -> Value:
        """The graph's input that stands for weights."""
        outermost: Builder = g
        while outermost.parent is not None:
            outermost = outermost.parent
        parameter = self.problem.parameters.add(g.layer, place(g.layer, 0), message, shape, field)
        if parameter.name not in self.values:
            self.values[parameter.name] = outermost.input(parameter.name, np.float32, tuple(shape))
        return self.values[parameter.name]

    def gradients(self) -> dict[str, Value]:
        """The gradient of every parameter; raises where the loss depends on none, or not on one of them."""
        if not self.values:
            raise CheckError("no layer is marked with isUpdatable, so there is nothing to train")
        for node in self.g.graph.walk():
            if FUNCTION in node.attributes:
                raise UnsupportedError(
                    "a custom layer that is a function on arrays cannot be part of a network that is trained",
                    where=node.where,
                    hint="register a lowering for it instead",
                )
        found = vjp(self.g, [self.loss.seed], [self.loss.gradient], list(self.values.values()))
        result = {}
        for (name, _), gradient in zip(self.values.items(), found, strict=True):
            if gradient is None:
                where = self.problem.parameters.by_name[name].where
                raise UnsupportedError(
                    f"the loss does not depend on {name.rsplit('/', 1)[1]}", where=where, hint="train other layers"
                )
            result[name] = gradient
        return result

    def judge(self) -> Callable[[Sequence[NDArray[Any]], dict[str, NDArray[Any]]], NDArray[Any]]:
        """A function from inputs and weights to what the loss judges (a cross entropy: what its softmax is given).

        Nothing can be added to the graph after it.
        """
        graph = self.g.graph
        self.g.output(self.loss.seed, "judged")
        prune(graph)
        graph.inputs = [value for value in graph.inputs if _used(graph, value)]
        claim(graph, self.names | self.values)
        session = Session(write(graph), threads=self.problem.threads)
        names = [value.name for value in self.inputs]

        def judged(inputs: Sequence[NDArray[Any]], weights: dict[str, NDArray[Any]]) -> NDArray[Any]:
            given = dict(zip(names, inputs, strict=True)) | weights
            return session.run({name: given[name] for name in session.inputs})[0]

        return judged


def _judgement(g: Builder, loss: losses.Loss) -> dict[str, Value]:
    """Appends the outputs of any step: the loss, and how many classes are right."""
    found = {"loss": g.output(loss.value)}
    return found if loss.correct is None else {**found, "correct": g.output(loss.correct)}


def _updating(problem: Problem, g: Builder, network: _Network, gradients: dict[str, Value], loss: losses.Loss) -> Step:
    """Appends the optimizer and the outputs of a training step."""
    optimizer = problem.settings.optimizer
    scalars = {name: g.input(name, np.float32, ()) for name in optimizer.scalars(1)}
    names = {**scalars, **_judgement(g, loss)}
    norms = []
    with g.scope("update", "the optimizer"):
        for name, gradient in gradients.items():
            w = network.values[name]
            slots = [g.input(slot, np.float32, w.shape) for slot in slot_names(name, optimizer.slots)]
            new, kept = optimizer.emit(g, w, gradient, slots, scalars)
            targets = [name, *slot_names(name, optimizer.slots)]
            names |= dict(zip(targets[1:], slots, strict=True))
            names |= {target + NEXT: g.output(value) for value, target in zip((new, *kept), targets, strict=True)}
            norms.append(g.reshape(g.ReduceL2(gradient, None, keepdims=0), [1]))
        names["norms"] = g.output(g.Concat(*norms, axis=0) if len(norms) > 1 else norms[0])
    return Step(problem, g, network, names)


def _told(problem: Problem, g: Builder, network: _Network, gradients: dict[str, Value], loss: losses.Loss) -> Step:
    """Appends the outputs of a step that tells the gradients and changes nothing."""
    names = _judgement(g, loss) | {name + GRADIENT: g.output(gradient) for name, gradient in gradients.items()}
    return Step(problem, g, network, names)


def _scanned(problem: Problem, count: int, training: bool, *, update: bool = True) -> Step:
    """A step in which a Scan runs the network on one sample after the other and adds up loss, hits and gradients."""
    network = _Network(problem, problem.shapes, 1, None)
    inner, loss = network.g, network.loss
    gradients = network.gradients() if training else {}
    parts = {"loss": loss.value} | ({"correct": loss.correct} if loss.correct is not None else {}) | gradients
    inputs = [*network.inputs, network.target]
    sums = [inner.input(f"sum of {name}", np.float32, value.shape) for name, value in parts.items()]
    inner.graph.inputs = [*sums, *inputs]
    for total, part in zip(sums, parts.values(), strict=True):
        inner.output(inner.Add(total, part))
    prune(inner.graph)
    # the outer graph shares the names of the inner one, whose captured values are its inputs
    g = inner.subgraph("training")
    stacks = [g.input(f"{value.name}s", value.dtype, (count, *value.shape)) for value in inputs]
    if training:
        g.graph.inputs.extend(network.values.values())
    else:
        g.graph.inputs.extend(value for value in network.values.values() if _used(inner.graph, value))
    starts = [g.expand(g.constant(0.0), [int(dim) for dim in value.shape]) for value in sums]
    types = [(value.dtype, value.shape) for value in sums]
    results = g.append("Scan", [*starts, *stacks], {"body": inner.graph, "num_scan_inputs": len(stacks)}, types)
    results = results if isinstance(results, tuple) else (results,)
    found = dict(zip(parts, results, strict=True))
    value = g.Mul(found["loss"], 1 / count)
    total_loss = losses.Loss(value, found.get("correct"), network.loss.seed, network.loss.gradient)
    network.names = dict(zip(network.names, stacks, strict=True))
    if training:
        means = {name: g.Mul(found[name], 1 / count) for name in gradients}
        return (_updating if update else _told)(problem, g, network, means, total_loss)
    return Step(problem, g, network, _judgement(g, total_loss))


def _used(graph: Graph, value: Value) -> bool:
    return any(value is operand for node in graph.walk() for operand in node.inputs)


def claim(graph: Graph, names: Mapping[str, Value]) -> None:
    """Gives values their ``names``, by which they are fed and asked for; what else is called so is called otherwise.

    Layers and blobs of a network may have any name, "loss" or "a/weights" among them.
    """
    values = [*graph.inputs, *graph.constants(), *(value for node in graph.walk() for value in node.outputs)]
    values += [value for node in graph.walk() for inner in node.subgraphs() for value in inner.inputs]
    own, taken = {id(value) for value in names.values()}, {value.name for value in values} | set(names)
    for value in values:
        while id(value) not in own and value.name in names:
            fresh = f"{value.name} (inside)"
            while fresh in taken:
                fresh += "'"
            taken.add(fresh)
            value.name = fresh
    for name, value in names.items():
        value.name = name


class Step:
    """A compiled step. ``run`` takes blobs by ``input_name``; weights and slots stay in the engine's own memory.

    ``names`` are those of its scalars, slots and outputs; those of inputs and weights are the network's. ``size`` is
    what all that it computes takes in bytes, which is no less than the engine holds.
    """

    def __init__(self, problem: Problem, g: Builder, network: _Network, names: Mapping[str, Value]) -> None:
        graph = self.graph = g.graph
        if g is network.g:
            prune(graph)
        self.draws = list(network.draws)
        drawn = {value.name: value for value in graph.inputs if value.name in {draw.name for draw in self.draws}}
        claim(graph, {**drawn, **network.names, **network.values, **names})
        self.session = Session(write(graph), threads=problem.threads)
        self.results = {value.name: value for value in graph.outputs if not value.name.endswith(NEXT)}
        made = [value for node in graph.nodes for value in node.outputs if value.static]
        self.size = sum(math.prod(map(int, value.shape)) * value.dtype.itemsize for value in made)
        self._bindings: dict[int, tuple[Any, dict[str, Any]]] = {}

    def run(self, state: State, feeds: dict[str, NDArray[Any]], scalars: dict[str, float]) -> dict[str, NDArray[Any]]:
        """Runs once on the weights of ``state`` and makes the new ones current; answers the results by name."""
        binding, results = self._binding(state)
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array)
        with np.errstate(over="ignore"):  # the weights will tell
            numbers = {name: np.array(number, np.float32) for name, number in scalars.items()}
        for name, number in numbers.items():
            binding.bind_cpu_input(name, number)
        for draw in self.draws:
            binding.bind_cpu_input(draw.name, draw.make())
        self.session.run_bound(binding)
        if "norms" in results:
            state.turn()
        return {name: value.numpy().copy() for name, value in results.items()}

    def _binding(self, state: State) -> tuple[Any, dict[str, Any]]:
        import onnxruntime as ort

        if state.current not in self._bindings:
            binding = self.session.binding()
            now, then = state.halves[state.current], state.halves[1 - state.current]
            for name in self.session.inputs:
                if name in now:
                    binding.bind_ortvalue_input(name, now[name])
            results = {}
            for name in self.session.outputs:
                if name in self.results:
                    shape = [int(dim) for dim in self.results[name].shape]
                    results[name] = ort.OrtValue.ortvalue_from_shape_and_type(shape, np.float32)
                    binding.bind_ortvalue_output(name, results[name])
                else:
                    binding.bind_ortvalue_output(name, then[name.removesuffix(NEXT)])
            self._bindings[state.current] = binding, results
        return self._bindings[state.current]


class State:
    """Weights and slots in two halves: a step reads one and writes the other, for it may yet read what it updates."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        import onnxruntime as ort

        # the engine shares the memory of the arrays, so each half has arrays of its own
        self.halves: list[dict[str, Any]] = [
            {name: ort.OrtValue.ortvalue_from_numpy(np.array(array, order="C")) for name, array in arrays.items()}
            for _ in range(2)
        ]
        self.current = 0

    @classmethod
    def of(cls, problem: Problem) -> State:
        """The weights of the file and empty slots."""
        arrays = dict(problem.parameters.values())
        for name, array in list(arrays.items()):
            for slot in slot_names(name, problem.settings.optimizer.slots):
                arrays[slot] = np.zeros_like(array)
        return cls(arrays)

    def turn(self) -> None:
        self.current = 1 - self.current

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of all current arrays by name."""
        return {name: value.numpy().copy() for name, value in self.halves[self.current].items()}
