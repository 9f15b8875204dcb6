"""``pippin.to_onnx``: a model as an ONNX file, with the proof that it is the same."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InputError, VerifyError
from .difference import TOLERANCE, allowed
from .verify import Level, Proof, verify

if TYPE_CHECKING:
    from ..coreml.export import Dims, Export, Shapes
    from ..coreml.model import Model
    from ..coreml.read import Source


@dataclass
class Conversion:
    """A written ONNX model and the proof that it answers as the original does."""

    export: Export
    proof: Proof

    @property
    def ok(self) -> bool:
        """Whether the proof holds; also where none was asked for."""
        return self.proof.ok


def to_onnx(
    source: Source | Model,
    target: str | os.PathLike[str],
    *,
    opset: int | None = None,
    dims: Dims | Shapes = "declared",
    preprocessing: Literal["inside", "outside"] = "inside",
    labels: Literal["metadata", "outputs"] = "metadata",
    weights: Literal["auto", "inside", "beside"] = "auto",
    verify: Level = "quick",
    inputs: Iterable[Mapping[str, Any]] = (),
    tolerance: float = TOLERANCE,
    custom_layers: Mapping[str, Any] | None = None,
) -> Conversion:
    """Writes a Core ML network (path, bytes, file object or loaded model) as an ONNX model that stands alone.

    ``opset``        the ONNX operator set, 13 to 24 (default: 20)
    ``dims``         "declared": sizes that the model declares as flexible are open, "static": none is, "symbolic":
                     those, and the batch (and sequence) that legacy networks take in front; or shapes by input name,
                     {"image": ["batch", 3, "height", "width"]}
    ``preprocessing``  of pictures "inside" the graph, or "outside": left out
    ``labels``       of a classifier as "metadata", or as "outputs": the label of the likeliest class as well
    ``weights``      "inside" the file, "beside" it in ``target`` + ".data", or "auto": beside it above 2 GB
    ``verify``       "none", "quick" or "full", see ``analysis.verify``; ``inputs`` are tried beside seeded ones

    Pictures become float32 [1,C,H,W], 0..255 in the model's order of channels; other inputs float32 of the declared
    shape. Raises ``VerifyError`` if the written model answers differently, ``UnsupportedError`` for what ONNX or the
    operator set has no words for, ``WriteError`` if the file cannot be written.
    """
    from ..coreml.export import export

    allowed(tolerance)
    model = _loaded(source, custom_layers)
    written = export(model, target, opset=opset, dims=dims, preprocessing=preprocessing, labels=labels, weights=weights)
    proof = prove(model, written, verify, inputs, tolerance)
    if not proof.ok:
        what, entry = proof.failed()[0]
        text = entry.problem or f"{entry.absolute:.3g} apart at {list(entry.at)}"
        raise VerifyError(f"{target} was written but answers differently: {entry.name!r} with {what}: {text}")
    return Conversion(written, proof)


def prove(
    model: Model, written: Export, level: Level, inputs: Iterable[Mapping[str, Any]] = (), tolerance: float = TOLERANCE
) -> Proof:
    """The proof for a file that was written."""
    return verify(model, written.path, level=level, inputs=inputs, tolerance=tolerance)


def _loaded(source: Any, custom_layers: Mapping[str, Any] | None) -> Model:
    from ..coreml import model
    from ..loading import is_onnx

    if isinstance(source, model.Model):
        return source
    if is_onnx(source):
        raise InputError("the model is an ONNX model already")
    return model.load(source, custom_layers=custom_layers)
