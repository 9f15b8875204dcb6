"""Runs a whole Core ML network in float64, layer by layer: the second opinion about everything the engine computes."""

from __future__ import annotations

import enum
import inspect
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...coreml.read import Document
from ...coreml.weights import Weights
from ...errors import CheckError, PippinError, RunError, TimeoutError, UnsupportedError
from .arrays import Array, scalar
from .registry import Context, Twin, load_twins

CONTROL = frozenset({"branch", "loop", "loopBreak", "loopContinue"})
"""The kinds that decide which layers run; they have no twin, the interpreter itself carries them out."""

NEAR_ZERO = 1e-6
"""A condition holds if its absolute value is greater than this. Source: BranchLayerParams."""


class Interpreter:
    """A network ready to be run with the twins of its layers.

    source          a ``Document``, or a NeuralNetwork message (classifier and regressor as well) with its ``weights``
    custom          functions for custom layers by class name
    max_iterations  how many loop iterations one run may take in all
    max_elements    how many numbers all blobs together may hold at a time
    rounding        what becomes of each blob before others read it, to see what a narrower type would do
    """

    def __init__(
        self,
        source: Any,
        weights: Weights | None = None,
        *,
        custom: Mapping[str, Callable[..., Any]] | None = None,
        max_iterations: int = 1_000_000,
        max_elements: int = 1 << 30,
        rounding: Callable[[Array], Array] | None = None,
    ) -> None:
        if isinstance(source, Document):
            self.network, self.weights = source.network, Weights(source.views)
        else:
            self.network, self.weights = source, weights or Weights()
        self.custom = dict(custom or {})
        self.max_iterations = max_iterations
        self.max_elements = max_elements
        self.rounding = rounding

    def run(
        self, blobs: Mapping[str, ArrayLike], *, keep: Iterable[str] | None = None, timeout: float | None = None
    ) -> dict[str, Array]:
        """Runs the network on ``blobs``, which are of the rank that the layers see, and returns all blobs by name.

        With ``keep``, only those: every other one is let go once the last layer of the main network has read it.
        Raises ``CheckError`` and ``UnsupportedError`` for layers that cannot be, ``RunError`` for what goes wrong on
        the way (too many iterations or elements among it) and ``TimeoutError`` after ``timeout`` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        run = _Run(self, {name: np.array(value, np.float64) for name, value in blobs.items()}, deadline)
        last = None if keep is None else _last_reads(self.network.layers)
        kept = set() if keep is None else set(keep)
        with np.errstate(all="ignore"):
            for index, layer in enumerate(self.network.layers):
                run.layer(layer, in_body=False)
                if last is not None:
                    for name in [n for n in run.blobs if n not in kept and last.get(n, -1) <= index]:
                        run.drop(name)
        return run.blobs if keep is None else {name: run.blobs[name] for name in kept if name in run.blobs}


class _Flow(enum.Enum):
    NEXT = enum.auto()
    BREAK = enum.auto()
    CONTINUE = enum.auto()


class _Run:
    """The state of one run: all blobs under their names (nested networks share them) and what is left of the limits."""

    def __init__(self, owner: Interpreter, blobs: dict[str, Array], deadline: float | None) -> None:
        self.owner = owner
        self.blobs = blobs
        self.deadline = deadline
        self.iterations = 0
        self.elements = sum(array.size for array in blobs.values())

    def layers(self, network: Any, in_body: bool) -> _Flow:
        """Runs the layers of a network until one breaks or continues the loop around it."""
        for layer in network.layers:
            flow = self.layer(layer, in_body)
            if flow is not _Flow.NEXT:
                return flow
        return _Flow.NEXT

    def layer(self, layer: Any, in_body: bool) -> _Flow:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise TimeoutError("the time limit ran out")
        kind = layer.WhichOneof("layer")
        try:
            if kind in CONTROL:
                return self._control(kind, layer, in_body)
            values = evaluate(layer, [self.blob(name) for name in layer.input], self.owner.weights, self.owner.custom)
            for name, value in zip(layer.output, values, strict=True):
                self._put(name, value)
        except PippinError as error:
            error.at(f"layer '{layer.name}' ({kind or 'no kind'})")
            raise
        return _Flow.NEXT

    def blob(self, name: str) -> Array:
        if name not in self.blobs:
            raise RunError(f"input '{name}' has no value here: it is no input, and no layer that has run writes it")
        return self.blobs[name]

    def drop(self, name: str) -> None:
        self.elements -= self.blobs.pop(name).size

    def _put(self, name: str, value: Array) -> None:
        if name in self.blobs:
            self.drop(name)
        if self.owner.rounding is not None:
            value = self.owner.rounding(value)
        self.blobs[name] = value
        self.elements += value.size
        if self.elements > self.owner.max_elements:
            raise RunError(
                f"all blobs together hold {self.elements:,} numbers; {self.owner.max_elements:,} is the most"
            )

    def _control(self, kind: str, layer: Any, in_body: bool) -> _Flow:
        if kind == "branch":
            return self._branch(layer, in_body)
        if kind == "loop":
            self._loop(layer)
            return _Flow.NEXT
        if not in_body:
            raise CheckError("must stand in the bodyNetwork of a loop")
        return _Flow.BREAK if kind == "loopBreak" else _Flow.CONTINUE

    def _branch(self, layer: Any, in_body: bool) -> _Flow:
        """ifBranch where the condition is not near zero, elseBranch (if there is one) otherwise."""
        if len(layer.input) != 1:
            raise CheckError(f"must have 1 input, got {len(layer.input)}")
        if not layer.branch.ifBranch.layers:
            raise CheckError("ifBranch must hold at least one layer")
        chosen = layer.branch.ifBranch if self._holds(layer.input[0]) else layer.branch.elseBranch
        return self.layers(chosen, in_body)

    def _loop(self, layer: Any) -> None:
        """Body after body, until the count is reached, the condition fails or the body breaks."""
        params = layer.loop
        limit, conditional = self._loop_limit(layer)
        done = 0
        going = not conditional or self._condition(params)
        while going and (limit is None or done < limit):
            self.iterations += 1
            if self.iterations > self.owner.max_iterations:
                raise RunError(f"the loops took more than {self.owner.max_iterations:,} iterations in all")
            if self.layers(params.bodyNetwork, in_body=True) is _Flow.BREAK:
                return
            done += 1
            going = not conditional or self._condition(params)

    def _loop_limit(self, layer: Any) -> tuple[int | None, bool]:
        """How many iterations at most (None: any number) and whether there is a condition."""
        params = layer.loop
        if len(layer.input) > 1:
            raise CheckError(f"must have at most 1 input, got {len(layer.input)}")
        if not params.bodyNetwork.layers:
            raise CheckError("bodyNetwork must hold at least one layer")
        conditional = bool(params.conditionNetwork.layers)
        if conditional != bool(params.conditionVar):
            raise CheckError("conditionVar must be set where there is a conditionNetwork, and only there")
        if layer.input:
            count = scalar(self.blob(layer.input[0]), "loop count")
            if np.isnan(count):
                raise RunError("the loop count is not a number")
            return int(min(max(count, 0), self.owner.max_iterations + 1)), conditional
        if not params.maxLoopIterations and not conditional:
            raise CheckError("maxLoopIterations must be positive where there is no input and no conditionNetwork")
        return params.maxLoopIterations or None, conditional

    def _condition(self, params: Any) -> bool:
        self.layers(params.conditionNetwork, in_body=False)
        if params.conditionVar not in self.blobs:
            raise CheckError(f"conditionVar '{params.conditionVar}' is not written by the conditionNetwork")
        return self._holds(params.conditionVar)

    def _holds(self, name: str) -> bool:
        return abs(scalar(self.blob(name), "condition")) > NEAR_ZERO


def evaluate(
    layer: Any, inputs: list[Array], weights: Weights, custom: dict[str, Callable[..., Any]] | None = None
) -> tuple[Array, ...]:
    """The outputs of one layer that is no control flow: calls its twin and sees to the number of inputs and outputs.

    Errors carry no location yet; the caller adds it.
    """
    kind = layer.WhichOneof("layer")
    if kind is None:
        raise CheckError("must have a kind: the field that says what the layer does is missing or unknown")
    twin = _twins().get(kind)
    if twin is None:
        raise UnsupportedError("has no reference twin")
    _count_inputs(twin, len(inputs))
    try:
        result = twin(Context(layer, weights, custom or {}), getattr(layer, kind), *inputs)
    except (ValueError, IndexError, ArithmeticError, MemoryError) as error:
        if isinstance(error, PippinError):
            raise
        raise RunError(f"the reference failed: {error}") from error
    values = result if isinstance(result, tuple) else (result,)
    if len(values) != len(layer.output):
        raise CheckError(f"must have {len(values)} output{'s' * (len(values) != 1)}, got {len(layer.output)}")
    return tuple(np.asarray(value, np.float64) for value in values)


@cache
def _twins() -> dict[str, Twin]:
    return load_twins()


def _count_inputs(twin: Twin, count: int) -> None:
    """Compares the number of inputs with the twin's signature, which says what the kind takes."""
    parameters = list(inspect.signature(twin).parameters.values())[2:]
    low = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in parameters)
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if count < low or (count > len(parameters) and not variadic):
        wanted = (
            f"at least {low}" if variadic else str(low) if low == len(parameters) else f"{low} to {len(parameters)}"
        )
        raise CheckError(f"must have {wanted} input{'s' * (wanted != '1')}, got {count}")


def _last_reads(layers: Any) -> dict[str, int]:
    """For each blob, the index of the last layer of the main network that reads it, itself or inside."""
    last: dict[str, int] = {}
    for index, layer in enumerate(layers):
        for name in _reads(layer):
            last[name] = index
    return last


def _reads(layer: Any) -> Iterable[str]:
    yield from layer.input
    kind = layer.WhichOneof("layer")
    if kind == "branch":
        nested = [layer.branch.ifBranch, layer.branch.elseBranch]
    elif kind == "loop":
        nested = [layer.loop.conditionNetwork, layer.loop.bodyNetwork]
    else:
        return
    for network in nested:
        for inner in network.layers:
            yield from _reads(inner)
