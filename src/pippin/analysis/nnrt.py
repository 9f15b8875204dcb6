"""``pippin.to_nnrt``: a Core ML or ONNX model as an NNRt model, with the proof that a device answers the same."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InputError, UnsupportedError, VerifyError
from .difference import TOLERANCE, allowed, difference
from .verify import Level, Proof, Trial, verify

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..coreml.features import Feature
    from ..coreml.model import Model
    from ..coreml.read import Source
    from ..graph.ir import Graph
    from ..loading import AnyModel
    from ..nnrt import types
    from ..nnrt.export import Exported, Layout
    from ..onnx_model import OnnxModel

Dims = Literal["declared", "static", "symbolic"]


@dataclass
class NnrtConversion:
    """A converted model: ``model`` for a device, ``path`` where it was written, the proof, and notes.

    ``exported`` tells the parts, and what was in the way where ``model`` is None.
    """

    exported: Exported
    proof: Proof
    path: Path | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def model(self) -> types.Model | None:
        return self.exported.model

    @property
    def ok(self) -> bool:
        """Whether there is a model, and nothing was found to differ."""
        return self.model is not None and self.proof.ok


def to_nnrt(
    source: Source | AnyModel,
    target: str | os.PathLike[str] | None = None,
    *,
    layout: Layout = "nchw",
    dims: Dims = "declared",
    verify: Level = "quick",
    inputs: Iterable[Mapping[str, Any]] = (),
    tolerance: float = TOLERANCE,
    custom_layers: Mapping[str, Any] | None = None,
) -> NnrtConversion:
    """Converts a Core ML or ONNX model (path, bytes or loaded) to NNRt v2.1, and writes it to ``target`` if given.

    ``layout``     of pictures at the inputs and outputs: "nchw" as ONNX has them, or "nhwc"
    ``dims``       "declared": sizes that the model declares as flexible are open, if that can be; "static": none is;
                   "symbolic": the batch as well
    ``verify``     "none", "quick" or "full": a device here against the reference on seeded inputs and yours

    Pictures are float32 [1,C,H,W] or [1,H,W,C], 0..255 in the model's order of channels, as in ``to_onnx``.  Raises
    UnsupportedError that names every layer without a node type, VerifyError if a device answers differently (the file
    is written then), WriteError if the file cannot be written.
    """
    result = convert(source, layout=layout, dims=dims, custom_layers=custom_layers)
    made = result.exported.require()
    if target is not None:
        from ..nnrt.file import save_model

        save_model(made, target)
        result.path = Path(target)
    result.proof = prove(result, verify, inputs, tolerance)
    if not result.proof.ok:
        what, entry = result.proof.failed()[0]
        text = entry.problem or f"{entry.absolute:.3g} apart at {list(entry.at)}"
        raise VerifyError(f"a device answers differently: {entry.name!r} with {what}: {text}")
    return result


@dataclass
class _Conversion(NnrtConversion):
    """With what it was made from, for the proof."""

    source: Any = None
    graph: Graph | None = None


def convert(
    source: Source | AnyModel,
    *,
    layout: Layout = "nchw",
    dims: Dims = "declared",
    custom_layers: Mapping[str, Any] | None = None,
) -> NnrtConversion:
    """As ``to_nnrt``, without a file and a proof; nothing is raised for layers that have no node type."""
    from ..loading import load
    from ..nnrt.export import export
    from ..onnx_model import OnnxModel

    model: Any = source if hasattr(source, "predict") else load(source, custom_layers=custom_layers)
    notes: list[str] = []
    if isinstance(model, OnnxModel):
        from ..graph.read import read

        graph = read(model.proto, _folder(model))
        exported = export(graph, layout=layout)
    else:
        graph, exported = _from_coreml(model, layout, dims, notes)
    return _Conversion(exported, Proof("none", TOLERANCE, skipped="not asked for"), None, notes, model, graph)


def _from_coreml(model: Model, layout: Layout, dims: Dims, notes: list[str]) -> tuple[Graph, Exported]:
    """The graph and what became of it; with fixed sizes where open ones are in the way."""
    from ..coreml.export import build
    from ..nnrt.export import export

    built = build(model, dims)
    notes += built.notes
    exported = export(built.graph, layout=layout, name=model.document.name)
    open_ = any(isinstance(dim, str) for value in built.graph.inputs for dim in value.shape)
    if exported.model is None and open_ and dims == "declared":
        fixed = build(model, "static")
        again = export(fixed.graph, layout=layout, name=model.document.name)
        if len(again.missing) < len(exported.missing):
            notes.append(f"flexible sizes are fixed to the default ones: {exported.missing[0]}")
            return fixed.graph, again
    return built.graph, exported


def _folder(model: OnnxModel) -> str:
    return str(model.path.parent) if model.path is not None else ""


# -- the proof ---------------------------------------------------------------------------------------------------------


def prove(
    result: NnrtConversion, level: Level, inputs: Iterable[Mapping[str, Any]] = (), tolerance: float = TOLERANCE
) -> Proof:
    """Runs the converted model on a device and the original in the reference, as ``analysis.verify`` does for ONNX."""
    from ..onnx_model import OnnxModel

    assert isinstance(result, _Conversion)
    if level == "none":
        return Proof(level, tolerance, skipped="not asked for")
    device = OnDevice(result)
    if isinstance(result.source, OnnxModel):
        return _prove_onnx(result.source, device, level, list(inputs), tolerance)
    return verify(result.source, device, level=level, inputs=inputs, tolerance=tolerance)


class OnDevice:
    """A converted model on the first device here, fed as the model that it was made from."""

    values: Mapping[str, str] = MappingProxyType({})
    """Blobs beside the outputs: a device shows none."""

    def __init__(self, result: NnrtConversion) -> None:
        from ..nnrt.device import Device

        assert isinstance(result, _Conversion)
        assert result.graph is not None
        self.source, self.exported = result.source, result.exported
        self.prepared = Device().prepare(result.exported.require())
        self.types = {value.name: value.dtype for value in result.graph.inputs}
        self.shapes = {
            value.name: tuple(dim if isinstance(dim, int) else 0 for dim in value.shape)
            for value in result.graph.inputs
        }
        self.inputs = {name: self._feature(name, shape) for name, shape in self.shapes.items()}

    def _feature(self, name: str, shape: tuple[int, ...]) -> Feature:
        from dataclasses import replace

        from ..coreml.features import Feature

        own: Feature | None = self.source.inputs.get(name)
        if own is None or own.kind != "image" or not hasattr(self.source, "encoder"):
            return Feature(name, "multiarray", shape, self.types[name].name)
        # without a range a picture has the size that the graph has
        return own if 0 in shape else replace(own, flexible=None, size=(shape[3], shape[2]))

    def run(self, data: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """The outputs by name, images as N,C,H,W."""
        import numpy as np

        feeds = {}
        for name, shape in self.shapes.items():
            if name not in data:
                raise InputError("the value is missing", where=f"input {name!r}")
            value = data[name]
            if self.inputs[name].kind == "image":
                value = self.source.encoder(name)(value)
            array = np.asarray(value).astype(self.types[name], copy=False)
            if 0 not in shape and array.shape != shape:
                array = array.reshape(shape)
            feeds[name] = array.transpose(0, 2, 3, 1) if self.exported.inputs[name] else array
        found = self.prepared.predict(feeds)
        turned = self.exported.outputs
        return {name: array.transpose(0, 3, 1, 2) if turned[name] else array for name, array in found.items()}

    def blobs(self, data: Mapping[str, Any], names: Iterable[str] | None = None) -> dict[str, NDArray[Any]]:
        """None: a device shows its outputs alone."""
        return {}


def _prove_onnx(
    model: OnnxModel, device: OnDevice, level: Level, own: list[Mapping[str, Any]], tolerance: float
) -> Proof:
    """Against ONNX Runtime on the original: seeded inputs, one or three, and the user's own."""
    from . import samples

    proof = Proof(level, allowed(tolerance))
    tried: list[tuple[str, Mapping[str, Any]]] = [("the input given", data) for data in own]
    tried += [(f"seed {seed}", samples.sample(model, seed)) for seed in range(3 if level == "full" else 1)]
    for what, data in tried:
        wanted, found = model.run(data), device.run(model.feeds(data))
        proof.trials.append(
            Trial(what, [difference(name, found[name], wanted[name], tolerance) for name in found if name in wanted])
        )
    if not proof.trials or not all(trial.outputs for trial in proof.trials):
        raise UnsupportedError("the outputs of the converted model cannot be compared with those of the original")
    return proof
