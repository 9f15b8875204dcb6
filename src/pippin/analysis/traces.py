"""What a network computes on the way: every blob of a run, in order, with the layer that made it.

A run can be forced: blobs that are given take the place of those that were computed, for all who read them, while what
was computed is told. So each layer is judged by itself, on another model's values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..coreml import inner
from ..coreml.draws import Draw
from ..coreml.lower import place
from ..coreml.lowering import Blob, Context
from ..errors import UnsupportedError
from ..graph.rounding import ONNX, Precision, rounded
from ..onnx_model import OnnxModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..coreml.model import Model
    from ..loading import AnyModel

Arrays = dict[str, "NDArray[Any]"]


@dataclass
class Trace:
    """One run: blobs by name in the order in which they are made, where each is from, and which are outputs.

    An input is what the first layer sees, after preprocessing; it is left out where that cannot be told.
    """

    what: str
    values: Arrays
    places: dict[str, str] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    partial: Arrays = field(default_factory=dict)
    """Which elements of a value are known, where not all are; the others are those of the run it is compared with."""

    def place(self, name: str) -> str:
        """The layer that makes a blob, as messages name it."""
        return self.places.get(name) or f"blob {name!r}"


def run(model: AnyModel, data: Mapping[str, Any]) -> Trace:
    """Every blob of ``model`` as the engine computes it."""
    if isinstance(model, OnnxModel):
        values = model.blobs(data)
        images = [name for name, entry in model.inputs.items() if entry.kind == "image"]
        for name in images:
            values.pop(name, None)
        values = {name: value for name, value in values.items() if value.dtype.kind in "fiub"}
        outputs = [info.name for info in model.proto.graph.output]
        return Trace(model.name, values, {**_inputs(model), **model.values}, outputs, list(model.inputs))
    values = _ordered(model, model.blobs(data))
    return Trace(model.document.name, values, places(model), model.blob_outputs(), list(model.inputs))


def by_reference(model: Model, data: Mapping[str, Any]) -> Trace:
    """Every blob as the float64 reference computes it."""
    from . import reference

    values = _ordered(model, reference.blobs(model, data))
    return Trace("the reference", values, places(model), model.blob_outputs(), list(model.inputs))


def _ordered(model: Model, values: Mapping[str, Any]) -> Arrays:
    """Blobs in the order of the layers that wrote what they hold: a loop writes its blobs anew after others."""
    last = {
        name: index
        for index, layer in enumerate(model.document.network.layers)
        for name in (*layer.output, *inner.written(layer))
    }
    return {name: values[name] for name in sorted(values, key=lambda name: last.get(name, -1))}


def recorded(what: str, values: Mapping[str, Any], inputs: Iterable[str] = ()) -> Trace:
    """Arrays that somebody wrote down; all of them may be outputs."""
    import numpy as np

    arrays = {name: np.asarray(value) for name, value in values.items()}
    arrays = {name: value for name, value in arrays.items() if value.dtype.kind in "fiub"}
    return Trace(what, arrays, {name: f"recorded {name!r}" for name in arrays}, list(arrays), list(inputs))


def _inputs(model: AnyModel) -> dict[str, str]:
    return {name: f"input {name!r}" for name in model.inputs}


def places(model: Model) -> dict[str, str]:
    """Blob → the layer of the main network that makes it; what nested networks write belongs to the layer around."""
    found = _inputs(model)
    for index, layer in enumerate(model.document.network.layers):
        for name in (*layer.output, *inner.written(layer)):
            found[name] = place(layer, index)
    return found


# -- forced runs -------------------------------------------------------------------------------------------------------


def forced(model: AnyModel, data: Mapping[str, Any], given: Mapping[str, NDArray[Any]]) -> Arrays:
    """What ``model`` computes for each blob in ``given`` where every other one of them has its given value.

    Blobs that are no floats, or not of the given size, are computed and left out.
    """
    if isinstance(model, OnnxModel):
        return _forced_onnx(model, data, given)
    import numpy as np

    feeds = model.feeds(data)
    draws: list[Draw] = []
    made: dict[str, Blob] = {}
    fed: Arrays = {}
    # a loop writes them anew: what a layer in front of it gives is not what is known of them
    nested = {name for layer in model.document.network.layers for name in inner.written(layer)}

    def swap(g: Context, name: str, blob: Blob) -> Blob:
        value = blob.flat(g)[0] if blob.folded else blob.nd(g)
        array = given.get(name)
        if array is None or name in nested or value.dtype != np.float32 or value.data is not None:
            return blob
        sizes = [dim for dim in value.shape if isinstance(dim, int)]
        if len(sizes) < value.rank or np.prod(sizes, dtype=np.int64) != array.size:
            return blob
        made[name] = blob
        twin = g.input(f"{name}/given", np.float32, sizes)
        fed[twin.name] = np.ascontiguousarray(array.reshape(sizes), np.float32)
        return Blob(flat=twin, lead=blob.lead) if blob.folded else Blob(nd=twin)

    g, _ = inner.lowered(model, [array.shape for array in feeds.values()], draws=draws, finish=swap)
    names = list(made)
    for name in names:
        g.output(inner.value_of(g, made[name]))
    for draw in draws:
        feeds[draw.name] = draw.make()
    results = model.session(g.graph).run(feeds | fed)
    return {name: inner.true_shape(made[name], array) for name, array in zip(names, results, strict=True)}


def _forced_onnx(model: OnnxModel, data: Mapping[str, Any], given: Mapping[str, NDArray[Any]]) -> Arrays:
    import numpy as np
    import onnx

    feeds = model.feeds(data)
    usual = model.blobs(data, [name for name in given if name in model.values])
    swapped = {
        name: np.ascontiguousarray(given[name].reshape(value.shape), value.dtype)
        for name, value in usual.items()
        if value.dtype.kind == "f" and value.size == given[name].size
    }
    variant = onnx.ModelProto()
    variant.CopyFrom(model.proto)
    _reroute(variant.graph, {name: f"{name}/given" for name in swapped})
    del variant.graph.output[:]
    for name, value in swapped.items():
        kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
        variant.graph.input.append(onnx.helper.make_tensor_value_info(f"{name}/given", kind, value.shape))
        variant.graph.output.add(name=name)
    feeds |= {f"{name}/given": value for name, value in swapped.items()}
    results = model.session(variant).run(feeds)
    return dict(zip(swapped, results, strict=True))


def _reroute(graph: Any, names: Mapping[str, str]) -> None:
    for node in graph.node:
        for index, name in enumerate(node.input):
            node.input[index] = names.get(name, name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _reroute(attribute.g, names)
                for output in attribute.g.output:
                    output.name = names.get(output.name, output.name)


# -- runs with blobs changed on the way ------------------------------------------------------------------------------


def changed(
    model: Model, data: Mapping[str, Any], change: Callable[[Context, Any], Any], weights: Callable[[Any], Any] | None
) -> Arrays:
    """Blobs as they are before ``change(g, value)`` is applied to each; others read what it gives.

    ``weights`` is applied to the arrays of constants. Blobs inside of branches and loops are changed but not told.
    """
    import numpy as np

    feeds = model.feeds(data)
    draws: list[Draw] = []
    made: dict[str, tuple[Blob, Any]] = {}
    after: dict[str, Blob] = {}

    def finish(g: Context, name: str, blob: Blob) -> Blob:
        value = blob.flat(g)[0] if blob.folded else blob.nd(g)
        if value.dtype != np.float32:
            return blob
        result = blob
        if value.data is None:
            new = change(g, value)
            result = Blob(flat=new, lead=blob.lead) if blob.folded else Blob(nd=new)
        if g.parent is None:
            made[name], after[name] = (blob, value), result
        return result

    g, lowerer = inner.lowered(model, [array.shape for array in feeds.values()], draws=draws, finish=finish)
    for name, blob in lowerer.blobs.items():  # what branches and loops wrote, perhaps anew, was changed inside
        if after.get(name) is not blob:
            made[name] = blob, inner.value_of(g, blob)
    names = list(made)
    for name in names:
        g.output(made[name][1])
    if weights is not None:
        for constant in g.graph.constants():
            if constant.dtype == np.float32 and constant.data is not None and constant.data.size > 1:
                constant.data = weights(constant.data)
    for draw in draws:
        feeds[draw.name] = draw.make()
    results = model.session(g.graph).run(feeds)
    return {name: inner.true_shape(made[name][0], array) for name, array in zip(names, results, strict=True)}


def onnx_weights(model: OnnxModel) -> Iterator[tuple[str, NDArray[Any]]]:
    """The float32 constants of an ONNX graph that are more than numbers, those beside the file as well."""
    import onnx

    folder = str(model.path.parent) if model.path is not None else ""
    for tensor in model.proto.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and tensor.dims and max(tensor.dims, default=0) > 1:
            yield tensor.name, onnx.numpy_helper.to_array(tensor, base_dir=folder)


def narrowed_onnx(model: OnnxModel, data: Mapping[str, Any], kind: Precision, *, weights_only: bool = False) -> Arrays:
    """Values of an ONNX graph before each is rounded to ``kind``; bodies are left as they are.

    Constants are rounded first; ``weights_only``: nothing else is.
    """
    import numpy as np
    import onnx

    names = [name for name, value in model.blobs(data).items() if name in model.values and value.dtype == np.float32]
    if not names:
        raise UnsupportedError(f"the network computes nothing in float32 that could be rounded to {kind}")
    variant = onnx.ModelProto()
    variant.CopyFrom(model.proto)
    held = {name: onnx.numpy_helper.from_array(rounded(array, kind), name) for name, array in onnx_weights(model)}
    for tensor in variant.graph.initializer:
        if tensor.name in held:
            tensor.CopyFrom(held[tensor.name])
    wanted = set() if weights_only else set(names)
    _reroute(variant.graph, {name: f"{name}/rounded" for name in wanted})
    nodes = list(variant.graph.node)
    del variant.graph.node[:]
    for node in nodes:
        variant.graph.node.append(node)
        for name in wanted.intersection(node.output):
            casts = (
                (name, f"{name}/narrow", ONNX[kind]),
                (f"{name}/narrow", f"{name}/rounded", onnx.TensorProto.FLOAT),
            )
            for source, target, to in casts:
                variant.graph.node.append(onnx.helper.make_node("Cast", [source], [target], to=to))
    del variant.graph.output[:]
    for name in names:
        variant.graph.output.add(name=name)
    return dict(zip(names, model.session(variant).run(model.feeds(data)), strict=True))


def replay(
    model: Model, data: Mapping[str, Any], source: str, target: str
) -> Callable[[NDArray[Any]], NDArray[Any]] | None:
    """A function from values of blob ``source`` to what the network makes of them in blob ``target``.

    None where ``source`` is no float or its size is not known, or where the network has no such blobs.
    """
    import numpy as np

    feeds = model.feeds(data)
    draws: list[Draw] = []
    twins: list[tuple[str, list[int]]] = []
    made: list[Blob] = []

    def swap(g: Context, name: str, blob: Blob) -> Blob:
        if g.parent is not None or name not in (source, target):
            return blob
        if name == target:
            made.append(blob)
        if name != source:
            return blob
        value = blob.flat(g)[0] if blob.folded else blob.nd(g)
        sizes = [dim for dim in value.shape if isinstance(dim, int)]
        if value.dtype != np.float32 or value.data is not None or len(sizes) < value.rank:
            return blob
        twin = g.input(f"{name}/given", np.float32, sizes)
        twins.append((twin.name, sizes))
        return Blob(flat=twin, lead=blob.lead) if blob.folded else Blob(nd=twin)

    g, _ = inner.lowered(model, [array.shape for array in feeds.values()], draws=draws, finish=swap)
    if len(twins) != 1 or len(made) != 1:
        return None
    ((name, sizes),) = twins
    g.output(inner.value_of(g, made[0]))
    for draw in draws:
        feeds[draw.name] = draw.make()
    session = model.session(g.graph)

    def run(values: NDArray[Any]) -> NDArray[Any]:
        (array,) = session.run(feeds | {name: np.ascontiguousarray(values.reshape(sizes), np.float32)})
        return inner.true_shape(made[0], array)

    return run


@dataclass(frozen=True)
class Upstream:
    """What lies between a blob and the known blobs before it: layers by the blob that each makes, in the network's
    order, and the inputs that it depends on with nothing known in between."""

    layers: dict[str, str]
    inputs: list[str]
    readers: dict[str, list[str]]

    @property
    def places(self) -> list[str]:
        """The layers, each once."""
        return list(dict.fromkeys(self.layers.values()))

    def middle(self) -> str | None:
        """A blob that would split the layers in two: the nearest to the middle through which all of the network goes,
        else the one in the middle; None if there is none between."""
        names = list(self.layers)[:-1]
        if not names:
            return None
        order = {name: index for index, name in enumerate(self.layers)}
        last = [max((order[r] for r in self.readers.get(name, ()) if r in order), default=-1) for name in names]
        reach = -1
        cuts = []
        for index, name in enumerate(names):
            if reach <= index:  # nobody behind it reads what was made before it
                cuts.append(name)
            reach = max(reach, last[index])
        half = (len(names) - 1) / 2
        return min(cuts or names, key=lambda name: abs(order[name] - half))


def upstream(model: AnyModel, name: str, known: set[str]) -> Upstream:
    """What lies between blob ``name`` and the blobs of ``known`` before it."""
    sources: dict[str, tuple[str, list[str]]] = {}
    if isinstance(model, OnnxModel):
        for node in model.proto.graph.node:
            for output in node.output:
                sources[output] = model.values[output], list(node.input)
    else:
        for index, layer in enumerate(model.document.network.layers):
            for output in (*layer.output, *inner.written(layer)):
                sources[output] = place(layer, index), list(layer.input)
    seen, queue = {name}, [name]
    while queue:
        for source in sources.get(queue.pop(), ("", []))[1]:
            if source not in known and source not in seen:
                seen.add(source)
                queue.append(source)
    readers: dict[str, list[str]] = {}
    for output in seen & sources.keys():
        for source in sources[output][1]:
            readers.setdefault(source, []).append(output)
    layers = {output: where for output, (where, _) in sources.items() if output in seen}
    return Upstream(layers, [entry for entry in model.inputs if entry in seen], readers)
