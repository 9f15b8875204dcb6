"""The second half of a rewrite: emits the layers from the highest that trains down to the loss in their new form."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..coreml.lower import place
from ..errors import UnsupportedError

if TYPE_CHECKING:
    from .rewrite import Rewriter, Shape

MOVES = ("reshapeStatic", "flattenTo2D", "squeeze", "expandDims", "reshape", "rankPreservingReshape", "transpose")
"""Layers that change shapes alone."""


class Down:
    """Emits the layers of a way from the highest to the one nearest to the loss.

    ``blob`` is what stands for the last original blob so far, ``lifted`` whether it has two axes of 1 more than that.
    """

    def __init__(self, owner: Rewriter, blob: str, lift: bool) -> None:
        self.owner, self.blob, self.lift = owner, blob, lift
        self.lifted = False
        self.turned = False
        self.last: Any = None

    def emit(self, number: int, layer: Any) -> None:
        self.owner.made.setdefault(number, []).append(layer)
        self.last = layer

    def step(self, number: int, layer: Any, final: bool) -> None:
        owner, kind = self.owner, layer.WhichOneof("layer")
        where = place(layer, number)
        target = str(layer.output[0])
        owner.made.setdefault(number, [])  # what is not emitted anew is gone
        if self.turned and kind not in ("reshapeStatic", "flattenTo2D"):
            raise UnsupportedError("devices have no gradient of a transpose", where=where)
        if kind in MOVES:
            self.move(number, layer, where)
        elif owner.constants(layer) is not None:
            self.fold(layer, target)
        elif kind == "reduceMean":
            new = owner.messages.layer(
                "pooling", layer.name, self.blob, self.name(target, not layer.reduceMean.keepDims)
            )
            new.pooling.type, new.pooling.globalPooling = 1, True
            new.pooling.valid.SetInParent()
            self.emit(number, new)
            self.blob, self.lifted = str(new.output[0]), not layer.reduceMean.keepDims
        else:
            self.same(number, layer, kind, target)
        self.spare(number, target, final)

    def same(self, number: int, layer: Any, kind: str, target: str) -> None:
        """A layer that stays, or whose kind changes; its input and output follow."""
        owner = self.owner
        source = str(layer.input[0])
        if kind in ("innerProduct", "batchedMatmul", "softmaxND", "softmax") and self.lift and not self.lifted:
            shape = owner.shape(source)
            if len(shape) < 4:
                vector = [math.prod(shape[:-1]), shape[-1], 1, 1]
                lifted = owner.unique(f"{source}_4d")
                new = owner.messages.layer("reshapeStatic", f"{layer.name}_lift", self.blob, lifted)
                new.reshapeStatic.targetShape.extend(vector)
                self.emit(number, new)
                self.blob, self.lifted = lifted, True
        if kind == "batchedMatmul":
            new = self._inner_product(layer)
        elif kind in ("softmaxND", "tanh"):
            new = owner.messages.layer("softmax" if kind == "softmaxND" else "activation", layer.name, "", "")
            if kind == "tanh":
                new.activation.tanh.SetInParent()
        else:
            new = owner.messages.copy(layer)
        if kind != "uniDirectionalLSTM":
            del new.input[:], new.output[:]
            new.input.append(self.blob)
            new.output.append(self.name(target, self.lifted))
            del new.inputTensor[:], new.outputTensor[:]
        else:
            new.input[0] = self.blob
        self.blob = str(new.output[0])
        self.emit(number, new)

    def _inner_product(self, layer: Any) -> Any:
        p = layer.batchedMatmul
        new = self.owner.messages.layer("innerProduct", layer.name, "", "")
        q = new.innerProduct
        q.inputChannels, q.outputChannels = p.weightMatrixFirstDimension, p.weightMatrixSecondDimension
        q.hasBias = p.hasBias
        # column by column of (X1, X2) is row by row of (X2, X1), which is what innerProduct has
        q.weights.CopyFrom(p.weights)
        if p.hasBias:
            q.bias.CopyFrom(p.bias)
        return new

    def name(self, target: str, lifted: bool) -> str:
        """The name of a blob: its own, unless its shape is another one."""
        return self.owner.unique(f"{target}_4d") if lifted else target

    def fold(self, layer: Any, target: str) -> None:
        """Folds a constant into the layer emitted last."""
        owner, above = self.owner, self.last
        found = owner.vectors(layer, owner.base(layer))
        assert found is not None
        factor, summand = found
        weights, bias = (array.astype(np.float64) for array in owner.weighted(above))
        params = getattr(above, above.WhichOneof("layer"))
        owner.messages.store(params.weights, weights * factor.reshape(-1, *[1] * (weights.ndim - 1)))
        params.hasBias = True
        owner.messages.store(params.bias, bias * factor + summand)
        above.output[0] = self.blob = self.name(target, self.lifted)

    def move(self, number: int, layer: Any, where: str) -> None:
        """A layer that changes the shape alone becomes a flatten, or goes."""
        owner, kind = self.owner, layer.WhichOneof("layer")
        before, after = owner.shape(layer.input[0]), owner.shape(layer.output[0])
        if kind == "transpose":
            if [int(axis) for axis in layer.transpose.axes] != [0, 2, 3, 1] or len(before) != 4 or self.lifted:
                raise UnsupportedError("devices have no gradient of a transpose", where=where)
            self.turned = True
            return
        if kind == "reshape":
            target = [int(size) for size in layer.reshape.targetShape]
            mode = int(layer.reshape.mode)
            if len(target) != 3 or target[1:] != [1, 1] or (mode == 1 and before[-2:] != [1, 1] and target[0] == -1):
                raise UnsupportedError("only a reshape to a vector of channels is a flatten", where=where)
            self.flatten(number, layer, mode, False)
            return
        if self.lifted and math.prod(after) == math.prod(before):
            keeps = [size for size in after if size != 1] == [size for size in before if size != 1]
            if not keeps:
                raise UnsupportedError("only a reshape to a vector is a flatten", where=where)
            # [N,C,1,1] stays what it is, whatever stood for it
            if len(after) == 4 and after[2:] == [1, 1]:
                self.lifted = False
            return
        spatial = self._shape_before(before)
        vector = [size for size in after if size != 1]
        fits = len(before) == 4 and vector == [size for size in (spatial[0], math.prod(spatial[1:])) if size != 1]
        if not fits:
            raise UnsupportedError(f"a reshape from {before} to {after} is no flatten", where=where)
        self.flatten(number, layer, 1 if self.turned else 0, len(after) < 4)
        self.turned = False

    def _shape_before(self, before: Shape) -> list[int]:
        return [before[0], before[3], before[1], before[2]] if self.turned and len(before) == 4 else list(before)

    def flatten(self, number: int, layer: Any, mode: int, lifted: bool) -> None:
        target = self.name(str(layer.output[0]), lifted)
        new = self.owner.messages.layer("flatten", layer.name, self.blob, target)
        new.flatten.mode = mode
        self.emit(number, new)
        self.blob, self.lifted = target, lifted

    def spare(self, number: int, target: str, final: bool) -> None:
        """Gives a blob that others read too its own name and shape."""
        others = self.owner.read.get(target, 0) - (not final)
        if self.blob != target and others > 0 and not final and not self.turned:
            self.restore(number, target)

    def restore(self, number: int, target: str) -> None:
        new = self.owner.messages.layer("reshapeStatic", f"{target}_shape", self.blob, target)
        new.reshapeStatic.targetShape.extend(self.owner.shape(target))
        self.owner.made.setdefault(number, []).append(new)

    def finish(self, number: int, target: str) -> str:
        """The blob for the loss; the original one is made of it where its shape is another."""
        if self.blob != target:
            self.restore(number, target)
        return self.blob
