"""How a network is trained: what its file says, and what the user wants instead where the file allows it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..errors import CheckError, InputError
from .optimizers import SGD, Adam, Optimizer

LOSSES = {
    "categoricalCrossEntropyLossLayer": "cross entropy",
    "meanSquaredErrorLossLayer": "mean squared error",
}
_MOST = (1 << 63) - 1


@dataclass(frozen=True)
class Settings:
    """What a training goes by.

    ``loss`` is "cross entropy" or "mean squared error", ``input`` the blob it judges, ``target`` what that should be.
    """

    loss: str
    input: str
    target: str
    optimizer: Optimizer
    epochs: int
    batch_size: int
    shuffle: bool
    seed: int

    def as_json(self) -> dict[str, Any]:
        """The settings as plain values."""
        rest = {key: value for key, value in vars(self).items() if key != "optimizer"}
        return {**rest, "optimizer": self.optimizer.name, **vars(self.optimizer)}


OVERRIDES = ("epochs", "batch_size", "learning_rate", "momentum", "beta1", "beta2", "eps", "shuffle", "seed")
"""What a user may choose."""


def settings(network: Any, *, beyond: bool = False, **wanted: Any) -> Settings:
    """The settings of a network with ``updateParams``; ``wanted`` holds a user's choices, None where there are none.

    ``beyond``: choices need not be among those that the file allows.

    Defaults where the file says nothing: momentum 0, no shuffling, seed 0. Raises ``CheckError`` where the file lacks
    something, ``InputError`` for a choice that the file does not allow or that the optimizer does not know.
    """
    update = network.updateParams
    if len(update.lossLayers) != 1:
        raise CheckError(f"updateParams.lossLayers must hold 1 loss layer, got {len(update.lossLayers)}", hint=_HINT)
    kind = update.lossLayers[0].WhichOneof("LossLayerType")
    if kind is None:
        raise CheckError("updateParams.lossLayers[0] must be a cross entropy or a mean squared error, got none")
    loss = getattr(update.lossLayers[0], kind)
    choice = {key: value for key, value in wanted.items() if value is not None}
    read = _Reader(choice, beyond)
    optimizer = _optimizer(update.optimizer, read)
    size_in = getattr(update.optimizer, update.optimizer.WhichOneof("OptimizerType"))
    result = Settings(
        loss=LOSSES[kind],
        input=loss.input,
        target=loss.target,
        optimizer=optimizer,
        epochs=read.whole(update, "epochs", "epochs"),
        batch_size=read.whole(size_in, "miniBatchSize", "batch_size"),
        shuffle=_truth(choice.get("shuffle", update.shuffle.defaultValue)),
        seed=read.whole(update, "seed", "seed", low=-_MOST - 1, default=0),
    )
    read.finish()
    return result


_BEYOND = "a device takes no other values; beyond=True (--beyond) does"
_HINT = "pippin train MODEL --make-updatable turns an ordinary network into an updatable one"


def _optimizer(message: Any, read: _Reader) -> Optimizer:
    kind = message.WhichOneof("OptimizerType")
    if kind is None:
        raise CheckError("updateParams.optimizer must be sgdOptimizer or adamOptimizer, got none")
    p = getattr(message, kind)
    rate = read.number(p, "learningRate", "learning_rate", above=0.0)
    if kind == "sgdOptimizer":
        return SGD(rate, read.number(p, "momentum", "momentum", default=0.0))
    return Adam(
        rate,
        read.number(p, "beta1", "beta1", below=1.0),
        read.number(p, "beta2", "beta2", below=1.0),
        read.number(p, "eps", "eps"),
    )


class _Reader:
    """Values of the file's parameters, or the user's in their place."""

    def __init__(self, choice: dict[str, Any], beyond: bool) -> None:
        self.choice = choice
        self.bound = set() if beyond else set(choice)
        self.used = {"shuffle"}

    def whole(self, owner: Any, field: str, name: str, *, low: int = 1, default: int | None = None) -> int:
        value = self._value(owner, field, name, default)
        try:
            fits = not isinstance(value, bool) and int(value) == value and low <= value <= _MOST
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            bound = f"of {low} or more" if low == 1 else f"from {low} to {_MOST}"
            raise InputError(f"{name} must be a whole number {bound}, got {value}")
        allowed = getattr(owner, field)
        which = allowed.WhichOneof("AllowedValues") if name in self.bound else None
        if which == "set" and int(value) not in allowed.set.values:
            raise InputError(
                f"{name} must be one of {sorted(allowed.set.values)}, as the file says, got {value}", hint=_BEYOND
            )
        if which == "range":
            _within(name, value, allowed.range)
        return int(value)

    def number(
        self,
        owner: Any,
        field: str,
        name: str,
        *,
        above: float | None = None,
        below: float = math.inf,
        default: float | None = None,
    ) -> float:
        given = self._value(owner, field, name, default)
        try:
            value = float(given)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{name} must be a number, got {given}") from None
        fits = math.isfinite(value) and (value >= 0 if above is None else value > above) and value < below
        if not fits:
            bound = "0 or more" if above is None else f"above {above:g}"
            limit = f" and below {below:g}" if below < math.inf else ""
            raise InputError(f"{name} must be {bound}{limit}, got {value:g}")
        if name in self.bound and getattr(owner, field).WhichOneof("AllowedValues") == "range":
            _within(name, value, getattr(owner, field).range)
        return value

    def _value(self, owner: Any, field: str, name: str, default: Any) -> Any:
        self.used.add(name)
        if name in self.choice:
            value = self.choice[name]
            if not hasattr(value, "__float__"):
                raise InputError(f"{name} must be a number, got {type(value).__name__}")
            return value
        if owner.HasField(field):
            return getattr(owner, field).defaultValue
        if default is None:
            raise CheckError(f"updateParams: {field} must be set, got none")
        return default

    def finish(self) -> None:
        """Refuses choices that the file's optimizer does not know."""
        unknown = [name for name in self.choice if name not in self.used]
        if unknown:
            raise InputError(f"the optimizer of this file has no {unknown[0]}")


def _truth(value: Any) -> bool:
    if not (isinstance(value, int) and value in (0, 1)) and type(value).__name__ not in ("bool", "bool_"):
        raise InputError(f"shuffle must be True or False, got {value!r}")
    return bool(value)


def _within(name: str, value: float, bounds: Any) -> None:
    low, high = bounds.minValue, bounds.maxValue
    if not low <= value <= high:
        raise InputError(f"{name} must lie between {low:g} and {high:g}, as the file says, got {value:g}", hint=_BEYOND)
