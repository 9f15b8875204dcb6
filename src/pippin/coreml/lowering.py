"""What a lowering of a Core ML layer kind is given: the decorator, the context and the blobs.

A lowering is a short function, found by its decorator::

    @lowering("softmaxND")
    def softmax_nd(g, p, x):
        return g.Softmax(x, axis=p.axis)

``g`` is the ``Context``: a hub builder that also reads weights and knows the layer. ``p`` is the parameter message. The
inputs are hub values; the result is a value, or a tuple for several outputs. How blobs become values is the decorator's
``layout``:

``"nd"``    (default) values of the blob's true rank: [S,B,C,H,W] in legacy networks.
``"chw"``   the first input is [N,C,H,W], every axis before the last three folded into N; further inputs have their true
            rank. The first output is unfolded again: layers that keep the leading axes, such as convolutions.
``"same"``  elementwise: whatever form the inputs have in common; outputs have that form too. Rank and leading axes
            must not matter to the function, axes must be counted from the end (-1 width, -2 height, -3 channel).

or a function of the parameters and the input blobs that chooses one. A lowering may also answer with blobs of its own.
``rank`` is the least rank that inputs must have.

Values are float32 unless the decorator says ``integers=True``: then int64 inputs (sizes, indices) are passed as they
are; without it they are cast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import CheckError, UnsupportedError
from ..graph.builder import Builder, Size
from ..graph.ir import Dim, Value
from ..graph.registry import Registry
from .draws import Draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .weights import Weights

LAYERS: Registry[str] = Registry("pippin.coreml.layers")
"""The lowering of every layer kind."""
MAX_RANK = 64
"""Dims that a tensor may have when its shape is computed; each is an operator in the graph."""


def lowering(
    *kinds: str, layout: str | Callable[[Any, Sequence[Blob]], str] = "nd", integers: bool = False, rank: int = 0
) -> Callable[[Callable[..., Any]], Any]:
    """Registers a lowering for layer kinds. See the module's text for ``layout``, ``integers`` and ``rank``."""
    if layout not in ("nd", "chw", "same") and not callable(layout):
        raise ValueError(f"no layout {layout!r}")
    return LAYERS.register(*kinds, layout=layout, integers=integers, rank=rank)


class Blob:
    """A named tensor of a network, as a value of its true rank, folded to [N,C,H,W], or both.

    ``lead`` are the axes that were folded into N ([S,B] in legacy networks). A Reshape is emitted only when the other
    form is asked for, once.
    """

    __slots__ = ("_flat", "_lead", "_nd")

    def __init__(self, nd: Value | None = None, flat: Value | None = None, lead: Sequence[Size] = ()) -> None:
        self._nd = nd
        self._flat = flat
        self._lead = list(lead)

    @classmethod
    def unfold(cls, value: Value, lead: Sequence[Size]) -> Blob:
        """The blob of a value [N,C,H,W] whose N stands for the axes ``lead``; with one such axis it is of true rank."""
        return cls(nd=value) if len(lead) == 1 else cls(flat=value, lead=lead)

    @property
    def rank(self) -> int:
        if self._nd is not None:
            return self._nd.rank
        return len(self._lead) + 3

    @property
    def lead(self) -> list[Size]:
        """The axes that are folded into N."""
        return self._lead

    @property
    def folded(self) -> bool:
        """Whether only the folded form is there."""
        return self._nd is None

    @property
    def steps(self) -> int:
        """The sequence steps of a blob [S,B,C,H,W] of which only the folded form is there; 0 if not so or not known."""
        if self._nd is not None or len(self._lead) != 2:
            return 0
        return self._lead[0] if isinstance(self._lead[0], int) else 0

    @property
    def foldable(self) -> bool:
        """Whether the folded form is there already."""
        return self._flat is not None

    @property
    def dtype(self) -> Any:
        value = self._nd if self._nd is not None else self._flat
        assert value is not None
        return value.dtype

    def nd(self, g: Builder) -> Value:
        """The value of true rank."""
        if self._nd is None:
            assert self._flat is not None
            n = self._flat.rank
            self._nd = g.reshape(self._flat, [*self._lead, *(g.size(self._flat, axis) for axis in range(n - 3, n))])
        return self._nd

    def flat(self, g: Builder) -> tuple[Value, list[Size]]:
        """The value as [N,C,H,W], and the axes folded into N."""
        if self._flat is None:
            x = self._nd
            assert x is not None
            if x.rank < 3:
                raise CheckError(f"the input must have a rank of at least 3, got {x.rank}")
            self._lead = [g.size(x, axis) for axis in range(x.rank - 3)]
            sizes = [g.size(x, axis) for axis in range(x.rank - 3, x.rank)]
            self._flat = x if x.rank == 4 else g.reshape(x, [g.product(self._lead), *sizes])
        return self._flat, self._lead

    def shape(self) -> list[Dim]:
        """The true shape."""
        if self._nd is not None:
            return list(self._nd.shape)
        assert self._flat is not None
        return [size if isinstance(size, int) else "batch" for size in self._lead] + list(self._flat.shape[1:])

    def copy(self) -> Blob:
        """The same blob for a nested graph: forms that are made there must not be seen outside."""
        return Blob(self._nd, self._flat, self._lead)

    def values(self) -> list[Value]:
        """Every form that is there."""
        return [value for value in (self._nd, self._flat) if value is not None]

    def rename(self, g: Builder, name: str) -> None:
        """Gives the value that the layer made the blob's name."""
        value = self._flat if self._nd is None else self._nd
        assert value is not None
        if value.node is not None:
            g.rename(value, name)


class Context(Builder):
    """The builder that lowerings of layers get."""

    weights: Weights
    layer: Any = None
    rank5: bool = False
    """Whether the network uses the legacy rank-5 mapping."""
    custom: Mapping[str, Any]
    feeds: list[Draw] | None = None
    """Where layers note the random numbers that are to be drawn for each prediction and fed as extra inputs. None:
    nobody feeds any, so ONNX's own random operators stand for them (they repeat themselves in equal sessions)."""
    trained: Callable[[Context, Any, Sequence[int], str], Value] | None = None
    """Gives the value of weights that are trained, by their message, shape and field. None: nothing is trained."""
    network: Any = None
    """The lowering run itself (``lower.Lowerer``), for layers that hold networks."""

    def adopt(self, weights: Weights, custom: Mapping[str, Any], rank5: bool) -> None:
        """Sets what stays the same for a whole model."""
        self.weights, self.custom, self.rank5 = weights, custom, rank5

    def subgraph(self, name: str) -> Context:
        inner = super().subgraph(name)
        assert isinstance(inner, Context)
        inner.adopt(self.weights, self.custom, self.rank5)
        inner.feeds, inner.trained = self.feeds, self.trained
        inner.layer, inner.network = self.layer, self.network
        return inner

    def feed(self, make: Callable[[], NDArray[Any]], dtype: Any, shape: Sequence[int]) -> Value:
        """An extra input of the outermost graph, noted in ``feeds``: ``make()`` gives its array for each prediction."""
        outermost: Builder = self
        while outermost.parent is not None:
            outermost = outermost.parent
        value = outermost.input(f"{self.prefix}/draw", dtype, shape)
        assert self.feeds is not None
        self.feeds.append(Draw(value.name, make))
        return value

    @property
    def trains(self) -> bool:
        """Whether the layer's weights are trained in this graph: they are then values, not constants."""
        return self.trained is not None and bool(self.layer.isUpdatable)

    @property
    def output_count(self) -> int:
        """How many outputs the layer declares."""
        return len(self.layer.output)

    def array(self, params: Any, *shape: int, axis: int | tuple[int, ...] = 0, name: str = "weights") -> NDArray[Any]:
        """The values of a WeightParams field as a float32 array; per-channel scales run along ``axis``."""
        return self.weights.array(params, shape, axis=axis, name=name)

    def weight(self, params: Any, *shape: int, axis: int | tuple[int, ...] = 0, name: str = "weights") -> Value:
        """The values of a WeightParams field as a constant named after layer and field, or what is trained of them."""
        if self.trains:
            assert self.trained is not None
            return self.trained(self, params, shape, name)
        return self.constant(self.array(params, *shape, axis=axis, name=name), name=f"{self.prefix}/{name}")

    def float(self, x: Value) -> Value:
        """``x`` as float32."""
        import numpy as np

        return self.cast(x, np.float32)

    def integer(self, x: Value) -> Value:
        """``x``, a float blob that holds whole numbers, as int64."""
        import numpy as np

        return self.cast(x, np.int64)

    def shape_of(self, x: Value) -> list[Size]:
        """The sizes that the values of ``x``, a vector, stand for: ints where they are constants."""
        import numpy as np

        x = self.integer(x)
        if x.data is not None:
            return [int(size) for size in np.ravel(x.data)]
        if not x.static:
            raise UnsupportedError("a shape that is computed must be a vector whose length is known")
        count = math.prod(int(dim) for dim in x.shape)
        require(count <= MAX_RANK, f"a shape must hold at most {MAX_RANK} sizes, got {count:,}")
        x = self.reshape(x, [count])
        return [self.Slice(x, [axis], [axis + 1]) for axis in range(count)]


def axis_of(axis: int, rank: int, field: str = "axis") -> int:
    """``axis`` counted from 0; raises ``CheckError`` where it lies outside the rank."""
    if not -rank <= axis < rank:
        raise CheckError(f"{field} must lie in [{-rank}, {rank}) for an input of rank {rank}, got {axis}")
    return axis % rank


def require(holds: bool, message: str) -> None:
    """Raises ``CheckError`` with ``message`` unless ``holds``: a rule of the format about parameters."""
    if not holds:
        raise CheckError(message)


def known(shape: Sequence[Dim], field: str) -> list[int]:
    """``shape`` as ints; raises ``UnsupportedError`` where a size is known at run time only."""
    if any(isinstance(dim, str) for dim in shape):
        raise UnsupportedError(f"{field} needs sizes that are known, got {list(shape)}")
    return [int(dim) for dim in shape]
