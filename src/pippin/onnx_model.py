"""An ONNX model with the face of a Core ML one: inputs, outputs, predict, blobs.

What Pippin wrote keeps its manners: pictures are taken as pictures, a classifier answers with its label.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, overload

from .coreml import sizes
from .coreml.features import Feature, Flexibility, ImageInput, items
from .coreml.pictures import to_picture
from .errors import InputError, PippinError, ReadError, UnsupportedError
from .runtime import limits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .runtime.session import Session

Blobs = dict[str, "NDArray[Any]"]
COLORS = {"Rgb8": "RGB", "Bgr8": "BGR", "Gray8": "GRAYSCALE", "Gray16": "GRAYSCALE_FLOAT16"}
MAX_BYTES = 2**31 - 1
"""What a protobuf message can hold; weights in a file beside it do not count."""


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview, *, threads: int | None = None, name: str = ""
) -> OnnxModel:
    """Loads an ONNX model from a path or bytes, ready to predict.

    Raises ``ReadError`` for what is no ONNX, ``UnsupportedError`` for what the engine does not run.
    """
    import onnx

    path = None
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        name = path.name
        try:
            if path.stat().st_size > MAX_BYTES:
                raise ReadError("the file is larger than an ONNX file can be", where=name)
            data = path.read_bytes()
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}", where=str(source)) from None
        except ValueError as error:  # a zero in the path
            raise ReadError(f"cannot be read: {error}", where=repr(str(source))) from None
    else:
        data = bytes(source)
    try:
        proto = onnx.ModelProto.FromString(data)
    except Exception:  # protobuf's error has no base of its own in every version
        raise ReadError("the file is no ONNX model: it cannot be parsed", where=name) from None
    return OnnxModel(proto, name=name or "model.onnx", path=path, threads=threads)


class OnnxModel:
    """An ONNX model that answers. Made by ``pippin.load``; safe to use from several threads; can be pickled."""

    labels: list[str] | list[int] | None
    predicted_feature: str | None
    probabilities: str | None
    custom_layers: Mapping[str, Any]

    def __init__(
        self, proto: Any, *, name: str = "model.onnx", path: Path | None = None, threads: int | None = None
    ) -> None:
        self.proto, self.name, self.threads = proto, name, limits.threads(threads)
        self.path = path.resolve() if path is not None else None
        self.metadata = {entry.key: entry.value for entry in proto.metadata_props}
        self.custom_layers = {}
        self._own = _own(self.metadata)
        self.labels = self._own.get("labels")
        self.predicted_feature = self._own.get("label")
        self.probabilities = self._own.get("probabilities") if self.labels else None
        try:
            self._check()
            defaults = {tensor.name for tensor in proto.graph.initializer}
            self.inputs = self._features(proto.graph.input, defaults)
            self.outputs = self._outputs()
            self._encoders = {
                key: ImageInput(entry, False) for key, entry in self.inputs.items() if entry.kind == "image"
            }
            self._types = {value.name: _dtype(value) for value in proto.graph.input}
            self._session = self.session(proto)
        except PippinError as error:
            raise error.at(name) from None

    def _check(self) -> None:
        import onnx

        if not self.proto.graph.output:
            raise ReadError("the file is no ONNX model: it has no graph with outputs")
        try:
            # by its path where it has one, so that weights beside it are looked for there
            onnx.checker.check_model(_ranked(self.proto) or (self.proto if self.path is None else str(self.path)))
        except (onnx.checker.ValidationError, ValueError) as error:
            raise ReadError(f"ONNX's checker refuses it: {_first_line(error)}") from None

    def session(self, proto: Any) -> Session:
        """A session for ``proto``, this model or a variant of it."""
        from .graph.write import Written
        from .runtime.session import Session

        where = {node.name: place(node, index) for index, node in enumerate(proto.graph.node) if node.name}
        options = {}
        if self.path is not None:
            options["session.model_external_initializers_file_folder_path"] = str(self.path.parent)
        return Session(Written(proto, {}, where), threads=self.threads, options=options)

    def _features(self, infos: Iterable[Any], defaults: set[str]) -> dict[str, Feature]:
        return {info.name: self._feature(info, info.name in defaults) for info in infos}

    def _feature(self, info: Any, optional: bool = False) -> Feature:
        import numpy as np

        shape = _shape(info)
        said = self._own.get("features", {}).get(info.name, {})
        common: dict[str, Any] = {"name": info.name, "optional": optional, "description": info.doc_string}
        image = said.get("kind") == "image" or info.type.denotation == "IMAGE"
        if image and shape is not None and len(shape) == 4 and shape[0] in (0, 1) and shape[1] in (1, 3):
            color = said.get("color") or COLORS.get(self.metadata.get("Image.BitmapPixelFormat", ""))
            height, width = shape[2:]
            flexible = None
            if 0 in (height, width):
                flexible = Flexibility(ranges=tuple((size or 1, size or None) for size in (width, height)))
            color = color or ("GRAYSCALE" if shape[1] == 1 else "RGB")
            size = (width or 1, height or 1)
            return self._sized(Feature(kind="image", size=size, color=color, flexible=flexible, **common), said)
        dtype = _dtype(info)
        flexible = None
        if shape is not None and 0 in shape:
            flexible = Flexibility(ranges=tuple((size or 1, size or None) for size in shape))
        name = "string" if dtype == np.dtype(object) else dtype.name
        return self._sized(Feature(kind="multiarray", shape=shape, dtype=name, flexible=flexible, **common), said)

    @staticmethod
    def _sized(entry: Feature, said: Any) -> Feature:
        kept = said.get("sizes")
        return sizes.restored(entry, kept) if isinstance(kept, dict) else entry

    def _outputs(self) -> dict[str, Feature]:
        found = self._features(self.proto.graph.output, set())
        if not self.labels:
            return found
        # a classifier as Core ML has it: the label, probabilities by label
        scores, declared = self._own.get("probabilities"), self._own.get("outputs", [])
        key = "int64" if isinstance(self.labels[0], int) else "string"
        for name in self._own.get("dictionaries", []):
            found[name] = Feature(name, "dictionary", key=key)
        if scores not in declared:
            found.pop(str(scores), None)
        if self.predicted_feature:
            found[self.predicted_feature] = Feature(self.predicted_feature, key)
        order = {name: place for place, name in enumerate(declared)}
        return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))

    # -- predict -------------------------------------------------------------------------------------------------------

    @overload
    def predict(self, data: Mapping[str, Any], timeout: float | None = None) -> dict[str, Any]: ...
    @overload
    def predict(self, data: Sequence[Mapping[str, Any]], timeout: float | None = None) -> list[dict[str, Any]]: ...
    def predict(
        self, data: Mapping[str, Any] | Sequence[Mapping[str, Any]], timeout: float | None = None
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """Runs the model on named inputs; answers a dict by output name, or a list of dicts for a list, one by one.

        Raises ``InputError``, ``RunError`` or ``errors.TimeoutError``.
        """
        timeout = limits.seconds(timeout)
        if not isinstance(data, Mapping):
            return [self.predict(item, timeout) for item in items(data)]
        return self.decode(self.run(data, timeout=timeout))

    def run(self, data: Mapping[str, Any], *, timeout: float | None = None) -> Blobs:
        """The outputs as the graph gives them, by name."""
        results = self._session.run(self.feeds(data), timeout=timeout)
        return dict(zip(self._session.outputs, results, strict=True))

    def decode(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """Outputs of the graph as ``predict`` answers them: pictures, a label and probabilities by label."""
        answer: dict[str, Any] = {}
        labels = self.labels or []
        scores = results.get(self._own.get("probabilities", "")) if labels else None
        for name, entry in self.outputs.items():
            if scores is not None and name == self.predicted_feature:
                answer[name] = labels[int(scores.reshape(-1).argmax())]
            elif scores is not None and entry.kind == "dictionary":
                answer[name] = dict(zip(labels, scores.reshape(-1).tolist(), strict=True))
            elif entry.kind == "image":
                answer[name] = to_picture(results[name], entry)
            else:
                answer[name] = results[name]
        return answer

    def feeds(self, data: Mapping[str, Any]) -> Blobs:
        """The arrays that the graph gets for ``data``; inputs with a default may be left out."""
        for name in data:
            if name not in self.inputs:
                raise InputError(f"the model has no input {name!r}; it wants {self._wants()}")
        result: Blobs = {}
        for name, entry in self.inputs.items():
            value = data.get(name)
            if value is not None:
                encode = self._encoders.get(name)
                result[name] = encode(value) if encode else self._array(entry, value)
            elif not entry.optional:
                raise InputError(f"the value is missing; the model wants {self._wants()}", where=f"input {name!r}")
        return result

    def _array(self, entry: Feature, value: Any) -> NDArray[Any]:
        import numpy as np

        where, dtype = f"input {entry.name!r}", self._types[entry.name]
        try:
            array = np.asarray(value)
            if dtype != np.dtype(object) and array.dtype.kind not in "fiub":
                raise TypeError
            if dtype.kind in "iu" and array.size:
                _whole(array, dtype, where)
            array = np.ascontiguousarray(array.astype(dtype, copy=False)).reshape(array.shape)
        except (TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"the value must be an array of {entry.dtype}, got {type(value).__name__}", where=where
            ) from None
        shape = entry.shape
        if shape is None or _fits(array.shape, shape):
            return array
        if 0 not in shape and math.prod(shape) == array.size:
            return array.reshape(shape)
        raise InputError(
            f"the array must have the shape {entry.flexible or list(shape)}, got {list(array.shape)}", where=where
        )

    def _wants(self) -> str:
        return "; ".join(f"{entry.name!r}: {entry}" for entry in self.inputs.values()) or "no inputs"

    def new_state(self) -> Any:
        """ONNX files do not say which output belongs to which input."""
        raise UnsupportedError("an ONNX model does not say which outputs are the next state", where=self.name)

    # -- inside --------------------------------------------------------------------------------------------------------

    def blobs(
        self, data: Mapping[str, Any], names: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Blobs:
        """The values of the graph called ``names`` (default: all that nodes make, in order), inputs among them."""
        from .coreml.inner import unknown

        feeds = self.feeds(data)
        made = self.values
        wanted = [*feeds, *made] if names is None else list(names)
        for name in wanted:
            if name not in made and name not in feeds:
                raise unknown(name, [*feeds, *made])
        asked = [name for name in wanted if name not in feeds]
        results = self._inner(tuple(asked)).run(feeds, timeout=timeout) if asked else []
        found = dict(zip(asked, results, strict=True)) | {name: feeds[name] for name in wanted if name in feeds}
        return {name: found[name] for name in wanted if hasattr(found[name], "shape")}

    @cached_property
    def values(self) -> dict[str, str]:
        """The values that nodes of the graph make, bodies left out: name → place of the node."""
        return {
            name: place(node, index) for index, node in enumerate(self.proto.graph.node) for name in node.output if name
        }

    def _inner(self, names: tuple[str, ...]) -> Session:
        import onnx

        variant = onnx.ModelProto()
        variant.CopyFrom(self.proto)
        del variant.graph.output[:]
        for name in names:
            variant.graph.output.add(name=name)
        return self.session(variant)

    # -- life ----------------------------------------------------------------------------------------------------------

    def warm_up(self, shapes: Sequence[Mapping[str, Sequence[int]]] = ()) -> Self:
        """There is one session for all shapes, and it is made already."""
        return self

    def close(self) -> None:
        """Nothing is held that outlives the object."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.proto_bytes(), self.name, self.path, self.threads)

    def proto_bytes(self) -> bytes:
        """The model as it stands in a file, weights beside it left there."""
        data: bytes = self.proto.SerializeToString()
        return data

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {entry}" for name, entry in self.inputs.items())
        outputs = ", ".join(f"{name}: {entry}" for name, entry in self.outputs.items())
        return f"<pippin.OnnxModel {self.name!r} ({inputs}) -> ({outputs})>"


def _unpickle(data: bytes, name: str, path: Path | None, threads: int | None) -> OnnxModel:
    import onnx

    return OnnxModel(onnx.ModelProto.FromString(data), name=name, path=path, threads=threads)


def place(node: Any, index: int) -> str:
    """How messages name a node: ``node 'conv1' (Conv)``; without a name its position."""
    return f"node {node.name!r} ({node.op_type})" if node.name else f"node {index} ({node.op_type})"


def _own(metadata: Mapping[str, str]) -> dict[str, Any]:
    """What Pippin wrote into the metadata; empty for models from elsewhere or where it is damaged."""
    try:
        own = json.loads(metadata.get("pippin", "{}"))
        if not isinstance(own, dict) or not isinstance(own.get("features", {}), dict):
            return {}
        if own.get("probabilities") and "labels" in metadata:
            labels = json.loads(metadata["labels"])
            kinds = {type(label) for label in labels} if isinstance(labels, list) else set()
            if kinds in ({str}, {int}) and isinstance(own.get("dictionaries"), list):
                own["labels"] = labels
        return own
    except (ValueError, RecursionError):
        return {}


def _shape(info: Any) -> tuple[int, ...] | None:
    """The declared shape, 0 where a size is open, for which some write -1; None where the rank is."""
    kind = info.type.WhichOneof("value")
    if kind not in ("tensor_type", None):
        raise UnsupportedError(f"{info.name!r} must be a tensor, it is of the kind {kind}")
    if not info.type.tensor_type.HasField("shape"):
        return None
    return tuple(max(int(dim.dim_value), 0) for dim in info.type.tensor_type.shape.dim)


def _ranked(proto: Any) -> Any:
    """A copy in which values that declare no rank, which the checker wants and the engine does not need, have one;
    None where all do, or where weights lie beside the file and the checker must see that."""
    import onnx

    def missing(graph: Any) -> Iterator[Any]:
        for info in (*graph.input, *graph.output):
            kind = info.type.tensor_type
            if info.type.WhichOneof("value") == "tensor_type" and not kind.HasField("shape"):
                yield kind
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    yield from missing(attribute.g)

    outside = any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in proto.graph.initializer)
    if outside or next(missing(proto.graph), None) is None:
        return None
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for kind in missing(copy.graph):
        kind.shape.SetInParent()
    return copy


def _dtype(info: Any) -> Any:
    import numpy as np
    from onnx import helper

    number = info.type.tensor_type.elem_type
    try:
        found = np.dtype(helper.tensor_dtype_to_np_dtype(number)) if number else np.dtype(np.float32)
    except (KeyError, TypeError):
        raise UnsupportedError(f"{info.name!r} has a type that arrays do not have: {number}") from None
    # bfloat16 and what is smaller than a byte are types of an extension, which the engine does not take
    if found.kind not in "fiubO":
        raise UnsupportedError(f"{info.name!r} is {found.name}, which is not supported")
    return found


def _whole(array: NDArray[Any], dtype: Any, where: str) -> None:
    """Refuses numbers that an integer type cannot hold: a cast would wrap them around."""
    import numpy as np

    if array.dtype.kind == "f" and not (np.rint(array) == array).all():
        raise InputError(f"the values must be whole numbers ({dtype.name})", where=where)
    limits = np.iinfo(dtype)
    for value in (array.min(), array.max()):
        if not limits.min <= int(value) <= limits.max:
            raise InputError(
                f"the values must lie in {limits.min} .. {limits.max} ({dtype.name}), got {value}", where=where
            )


def _fits(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    return len(shape) == len(wanted) and all(want in (0, have) for have, want in zip(shape, wanted, strict=True))


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
