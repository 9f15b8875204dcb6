"""A loaded Core ML network: what it takes and gives, and ``predict``."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, overload

from ..errors import CheckError, InputError, PippinError, UnsupportedError
from ..runtime import devices, limits
from ..runtime.memory import Estimate, estimate
from ..runtime.plans import Plans
from . import answers, batch, custom, preprocess
from .described import Described
from .features import ArrayInput, Feature, ImageInput, feature, items
from .read import Document, Source, read
from .state import State
from .state import pairs as state_pairs
from .weights import Weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..graph.ir import Graph
    from ..graph.rounding import Precision
    from ..runtime.pieces import Pieces
    from ..runtime.session import Session
    from .draws import Draw

log = logging.getLogger("pippin")

Dim = int | str
Blobs = dict[str, "NDArray[Any]"]


@dataclass(slots=True)
class Plan:
    """A compiled network for certain input shapes: what it runs, and how each output becomes part of the answer.

    A name of "" stands for a classifier's probabilities, whose decoder answers with all that follows from them.
    ``draws`` are random numbers that are drawn anew for each run.
    """

    session: Session | Pieces
    names: list[str]
    decode: list[Callable[[Any], Any]]
    draws: list[Draw]

    def answer(self, results: Sequence[Any]) -> dict[str, Any]:
        """The answer for the outputs of one run."""
        answer: dict[str, Any] = {}
        for name, decode, value in zip(self.names, self.decode, results, strict=True):
            if name:
                answer[name] = decode(value)
            else:
                answer.update(decode(value))
        return answer


@dataclass(frozen=True)
class Options:
    """How a model was asked to be run."""

    device: str = "cpu"
    threads: int | None = None
    precision: str | None = None
    custom_layers: Mapping[str, Any] | None = None
    max_memory: int | None = None


def load(
    source: Source,
    *,
    device: str = "cpu",
    threads: int | None = None,
    precision: str | None = None,
    custom_layers: Mapping[str, Any] | None = None,
    strict: bool = False,
    max_memory: int | None = None,
    mmap: bool = False,
) -> Model:
    """Loads a Core ML neural network from a path, bytes or a file object, ready to predict.

    ``threads``: threads of the network's own pool (default: all cores). ``custom_layers``: functions by class name, for
    this model only. ``strict``: refuse every error that ``pippin.check`` finds, not just what cannot run.
    ``mmap``: map the file instead of reading it, for files that nobody rewrites. ``precision``: "float16" or "bfloat16"
    to answer as a device that stores every blob and weight so (no faster here); None or "float32" for single precision.

    Raises ``ReadError`` for what is no model, ``UnsupportedError`` for what Pippin does not run, ``CheckError`` for a
    model that contradicts the format.
    """
    document = read(source, mmap=mmap)
    return Model(
        document,
        device=device,
        threads=threads,
        precision=precision,
        custom_layers=custom_layers,
        strict=strict,
        max_memory=max_memory,
    ).prepare()


class Model(Described):
    """A network that answers. Made by ``load``; safe to use from several threads; can be pickled."""

    def __init__(
        self,
        document: Document,
        *,
        device: str = "cpu",
        threads: int | None = None,
        precision: str | None = None,
        custom_layers: Mapping[str, Any] | None = None,
        strict: bool = False,
        max_memory: int | None = None,
    ) -> None:
        from . import narrow

        self._document = document
        self.precision = narrow.precision(precision)
        custom.checked(custom_layers)
        self._options = Options(device, limits.threads(threads), precision, custom_layers, limits.memory(max_memory))
        self._network = document.network
        self._weights = Weights(document.views)
        try:
            self._prepare(strict)
        except PippinError as error:
            raise error.at(document.name) from None

    def _prepare(self, strict: bool) -> None:
        if strict:
            errors = [finding for finding in self.report.findings if finding.severity == "error"]
            if errors:
                raise CheckError(f"the model breaks {len(errors)} rules of the format; the first: {errors[0]}")
        description = self._document.model.description
        self.inputs: dict[str, Feature] = {entry.name: feature(entry) for entry in description.input}
        self.outputs: dict[str, Feature] = {entry.name: feature(entry) for entry in description.output}
        if not self.outputs:
            raise CheckError("the model must declare at least one output, got none")
        self.rank5_arrays = self._network.arrayInputShapeMapping == 0
        self.rank5_images = self._network.imageInputShapeMapping == 0
        self._encoders: dict[str, ArrayInput | ImageInput] = {
            name: self._encoder(entry) for name, entry in self.inputs.items()
        }
        self._preprocessing = preprocess.steps(self._network, self.inputs)
        self._plans: Plans[Plan] = Plans(self._compile, check=self._sound)
        self._batches: dict[Any, Plan | None] = {}
        self._closed = False

    def prepare(self) -> Self:
        """Compiles the plan for the declared sizes, so that what cannot run is refused now."""
        shapes = self.default_shapes()
        try:
            if shapes is not None:
                self._plans.get(shapes)
        except CheckError as error:
            # legacy networks may want a sequence or batch that the declared [C] or [C,H,W] does not tell
            if not (self.rank5_arrays and any(entry.kind == "multiarray" for entry in self.inputs.values())):
                raise error.at(self._document.name) from None
            log.info("the declared sizes do not run: %s", error)
        except PippinError as error:
            raise error.at(self._document.name) from None
        return self

    def _encoder(self, entry: Feature) -> ArrayInput | ImageInput:
        if entry.kind == "image":
            if not entry.size or min(entry.size) < 1:
                raise CheckError(f"input {entry.name!r}: width and height must be positive, got {entry.size}")
            return ImageInput(entry, self.rank5_images)
        if entry.kind == "multiarray":
            return ArrayInput(entry, self.rank5_arrays)
        raise CheckError(f"input {entry.name!r} must be an image or a multi-array, got {entry.kind}")

    # -- predict -----------------------------------------------------------------------------------------------------

    @overload
    def predict(
        self, data: Mapping[str, Any], timeout: float | None = None, *, state: State | None = None
    ) -> dict[str, Any]: ...
    @overload
    def predict(
        self, data: Sequence[Mapping[str, Any]], timeout: float | None = None, *, state: State | None = None
    ) -> list[dict[str, Any]]: ...
    def predict(
        self,
        data: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        timeout: float | None = None,
        *,
        state: State | None = None,
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """Runs the network on named inputs; answers a dict by output name, or a list of dicts for a list.

        Pictures are PIL images, paths, or arrays [H,W,3] in RGB ([H,W] in gray); multi-arrays are anything that NumPy
        takes for an array. Answers: arrays of the declared dtype, PIL images, a label and a dict of probabilities.
        A list runs as real batches where the elements of a batch cannot meet in the network, else one by one.
        ``timeout`` in seconds a run. ``state``, from ``new_state``, is handed in and updated: a list is then a
        sequence.
        Raises ``InputError``, ``RunError`` or ``errors.TimeoutError``.
        """
        if timeout is not None:
            timeout = limits.seconds(timeout)
        if not isinstance(data, Mapping):
            data = items(data)
            if state is not None or len(data) < 2 or self._unbatched:
                return [self.predict(item, timeout, state=state) for item in data]
            return batch.predict(self, [self.feeds(item) for item in data], timeout)
        if state is not None:
            if not isinstance(state, State):
                raise InputError(f"state must come from new_state(), got {type(state).__name__}")
            answer = self.answer(self.feeds({**state.values, **data}), timeout)
            state.update(answer)
            return answer
        return self.answer(self.feeds(data), timeout)

    def answer(self, feeds: Blobs, timeout: float | None = None) -> dict[str, Any]:
        """The answer for blobs by input name, which ``predict`` makes of values."""
        plan = self._plans.get(tuple([array.shape for array in feeds.values()]))
        for draw in plan.draws:
            feeds[draw.name] = draw.make()
        return plan.answer(plan.session.run(feeds, timeout=timeout))

    def new_state(self) -> State:
        """The state of a recurrent network that hands it in and out, for ``predict(data, state=state)``.

        Raises ``UnsupportedError`` for a network without such inputs and outputs.
        """
        pairs = state_pairs(self._network, self.inputs, self.outputs)
        if not pairs:
            raise UnsupportedError("the network takes no recurrent state as input and gives none back as output")
        return State(pairs)

    @cached_property
    def _unbatched(self) -> str:
        return batch.reason(self)

    def batch_plan(self, shapes: Sequence[tuple[int, ...]]) -> Plan | None:
        """The plan for a batch of inputs that each have ``shapes`` [1,C,H,W]; None if the network cannot."""
        if self._unbatched:
            return None
        if shapes not in self._batches:
            try:
                self._batches[tuple(shapes)] = self._compile([("batch", *shape[1:]) for shape in shapes])
            except PippinError as error:
                log.info("lists are run one by one: %s", error)
                self._batches[tuple(shapes)] = None
        return self._batches[tuple(shapes)]

    def encoder(self, name: str) -> ArrayInput | ImageInput:
        """What turns the values of an input into blobs."""
        return self._encoders[name]

    @property
    def threads(self) -> int | None:
        """Threads of a run; None: all cores."""
        return self._options.threads

    def blobs(
        self, data: Mapping[str, Any], names: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Blobs:
        """Every blob of the network by name (or those called ``names``), for inputs as ``predict`` takes them.

        Arrays of true rank, [S,B,C,H,W] in legacy networks; an input is what the first layer sees.
        """
        from . import inner

        return inner.blobs(self, data, names, timeout=timeout)

    @property
    def custom_layers(self) -> Mapping[str, Any]:
        """The functions for custom layers that this model alone has."""
        return self._options.custom_layers or {}

    def feeds(self, data: Mapping[str, Any]) -> Blobs:
        """The blobs that the engine gets for ``data``: float32 by input name."""
        feeds: Blobs = {}
        for name, encode in self._encoders.items():
            value = data.get(name)
            if value is not None:
                feeds[name] = encode(value)
            elif encode.feature.optional or encode.feature.default is not None:
                feeds[name] = encode.missing()
            else:
                raise self._missing(name, data)
        if len(data) > len(feeds) or self._closed or not data.keys() <= self._encoders.keys():
            self._refuse(data)
        return feeds

    def _missing(self, name: str, data: Mapping[str, Any]) -> InputError:
        import difflib

        others = [str(key) for key in data if key not in self.inputs]
        near = difflib.get_close_matches(name, others, 1, 0.5) or others[:1]
        hint = f"did you mean {name!r} where you gave {near[0]!r}?" if near else ""
        return InputError(f"the value is missing; the model wants {self._wants()}", where=f"input {name!r}", hint=hint)

    def _refuse(self, data: Mapping[str, Any]) -> None:
        if self._closed:
            raise InputError("the model is closed")
        extra = [key for key in data if key not in self._encoders]
        if extra:
            raise InputError(f"the model has no input {extra[0]!r}; it wants {self._wants()}")

    def _wants(self) -> str:
        return "; ".join(f"{entry.name!r}: {entry}" for entry in self.inputs.values()) or "no inputs"

    # -- plans -------------------------------------------------------------------------------------------------------

    def default_shapes(self) -> tuple[tuple[int, ...], ...] | None:
        """The blob shapes of the declared default sizes; None where a size of 0 leaves it open."""
        shapes: list[tuple[int, ...]] = []
        for name, encode in self._encoders.items():
            entry = self.inputs[name]
            if isinstance(encode, ImageInput):
                assert entry.size is not None
                channels = 1 if entry.color in ("GRAYSCALE", "GRAYSCALE_FLOAT16") else 3
                shapes.append((1, channels, entry.size[1], entry.size[0]))
                continue
            declared = entry.shape or ()
            if 0 in declared:
                return None
            if math.prod(declared) > 1 << 33:
                raise CheckError(f"input {name!r} declares {math.prod(declared):,} elements, more than can be run")
            shapes.append(encode.sized(declared))
        return tuple(shapes)

    def graph(
        self, shapes: Sequence[Sequence[Dim]] | None = None, *, preprocessing: bool = True, optimize: bool = True
    ) -> Graph:
        """The network as a hub graph with its blobs' names; ``shapes`` are those of the input blobs, in order.

        ``optimize``: rewritten by the passes that make it smaller and leave a graph that a person would write.
        """
        from ..graph import passes

        g, outputs, _ = self._lower(shapes if shapes is not None else self._known_shapes(), preprocessing)
        for name, value in outputs:
            g.output(value, name)
        if optimize:
            passes.optimize(g.graph, "export")
        graph: Graph = g.graph
        return graph

    def blob_shapes(self) -> dict[str, list[Dim]]:
        """The true shape of every blob for the default input, by name; [S,B,C,H,W] in legacy networks."""
        _, _, lowerer = self._lower(self._known_shapes(), True)
        return {name: blob.shape() for name, blob in lowerer.blobs.items()}

    def _known_shapes(self) -> tuple[tuple[int, ...], ...]:
        shapes = self.default_shapes()
        if shapes is None:
            raise CheckError("an input leaves a size open (0), so there is no default shape")
        return shapes

    def _lower(
        self,
        shapes: Sequence[Sequence[Dim]],
        preprocessing: bool,
        draws: list[Draw] | None = None,
        precision: Precision | None = None,
    ) -> tuple[Any, list[tuple[str, Any]], Any]:
        from . import narrow
        from .lower import lower

        def prepare(g: Any, name: str, value: Any) -> Any:
            entries = self._preprocessing.get(name) if preprocessing else None
            return preprocess.apply(g, entries, self.inputs[name], self._weights, value) if entries else value

        g, lowerer = lower(
            self._network,
            narrow.NarrowWeights(self._document.views, precision) if precision else self._weights,
            dict(zip(self._encoders, shapes, strict=True)),
            rank5=self.legacy,
            custom=self._options.custom_layers,
            prepare=prepare,
            outputs=self.blob_outputs(),
            feeds=draws,
            finish=narrow.finish(precision) if precision else None,
        )
        outputs = []
        for name in self.blob_outputs():
            if name not in lowerer.blobs:
                raise CheckError(f"output {name!r} is made by no layer")
            blob = lowerer.blobs[name]
            value = blob.flat(g)[0] if self.legacy and blob.steps else blob.nd(g)
            value = g.float(value)
            lowerer.claim(g, name, value)
            outputs.append((name, value))
        return g, outputs, lowerer

    def _compile(self, shapes: Sequence[Sequence[Dim]]) -> Plan:
        from ..graph import passes

        draws: list[Draw] = []
        g, outputs, lowerer = self._lower(shapes, True, draws, self.precision)
        if shapes and shapes[0] and shapes[0][0] == "batch" and not batch.fits([v for _, v in outputs], "batch"):
            raise UnsupportedError("an output has no batch axis of its own")
        decode: list[Callable[[Any], Any]] = []
        names: list[str] = []
        for name, value in outputs:
            g.output(value)
            steps = lowerer.blobs[name].steps if self.legacy else 0
            if self._document.type == "neuralNetworkClassifier" and name == self.probabilities:
                names.append("")
                decode.append(answers.classifier(self, name, steps))
                continue
            names.append(name)
            decode.append(answers.decoder(self, self.outputs[name], steps))
        for outcome in passes.optimize(g.graph):
            log.debug("pass %s, %s: %s: %s", *outcome)
        self._fits_memory(g.graph)
        return Plan(self.session(g.graph), names, decode, draws)

    def _sound(self, shapes: Sequence[Sequence[Dim]]) -> None:
        """Raises what the network cannot be lowered for with ``shapes``."""
        self._lower(shapes, True, [])

    def _fits_memory(self, graph: Graph) -> None:
        limit = self._options.max_memory
        if limit is None:
            return
        need = estimate(graph)
        if need.total > limit:
            raise UnsupportedError(
                f"the network needs about {need.total:,} bytes ({need.weights:,} for weights, {need.values:,} for"
                f" values), max_memory allows {limit:,}"
            )

    def memory(self) -> Estimate:
        """About how much memory a run with the declared sizes takes: constants, and values alive at one time."""
        return estimate(self.graph())

    def session(self, graph: Graph) -> Session | Pieces:
        """A session; several where functions of custom layers stand between the operators."""
        from ..graph.write import write
        from ..runtime.pieces import Pieces, has_functions
        from ..runtime.session import Session

        providers = devices.providers(self._options.device)

        def compile(graph: Graph) -> Session:
            backing = self._document.backing
            return Session(write(graph), threads=self._options.threads, providers=providers, backing=backing)

        return Pieces(graph, compile) if has_functions(graph) else compile(graph)

    # -- life --------------------------------------------------------------------------------------------------------

    def warm_up(self, shapes: Mapping[str, Sequence[int]] | Sequence[Mapping[str, Sequence[int]]] = ()) -> Self:
        """Compiles the plans for ``shapes`` (each a dict of multi-array shapes or picture sizes by input name).

        Inputs that are left out have their declared size. Raises ``InputError`` for shapes that do not fit the model.
        """
        if isinstance(shapes, Mapping):
            shapes = [shapes]
        for entry in shapes:
            extra = [key for key in entry if key not in self._encoders]
            if self._closed or extra:
                self._refuse(entry)
            self._plans.get(tuple(encode.sized(entry.get(name)) for name, encode in self._encoders.items()))
        return self

    def close(self) -> None:
        """Lets go of sessions and weights; the model answers no more."""
        self._closed = True
        self._plans = Plans(self._compile, check=self._sound)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        from .wire import splice

        return _unpickle, (
            b"".join(splice(self._document.model, self._document.views)),
            self._document.name,
            self._options,
        )

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {entry}" for name, entry in self.inputs.items())
        outputs = ", ".join(f"{name}: {entry}" for name, entry in self.outputs.items())
        return f"<pippin.Model {self._document.name!r} ({inputs}) -> ({outputs})>"


def _unpickle(data: bytes, name: str, options: Options) -> Model:
    document = read(data)
    document.name = name
    return Model(document, **vars(options))
