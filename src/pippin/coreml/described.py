"""What a Core ML network says about itself, beside what it computes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..errors import CheckError
from .features import Feature, feature
from .read import Document
from .weights import Weights


class Described:
    """The part of ``Model`` that only reads the file."""

    _document: Document
    _network: Any
    _weights: Weights
    inputs: dict[str, Feature]
    outputs: dict[str, Feature]
    rank5_arrays: bool
    rank5_images: bool

    @property
    def document(self) -> Document:
        """The file as it was read."""
        return self._document

    @property
    def weights(self) -> Weights:
        """Reads the weights of the file's messages."""
        return self._weights

    @property
    def legacy(self) -> bool:
        """Whether blobs are [S,B,C,H,W] as in the first format versions."""
        kinds = {entry.kind for entry in self.inputs.values()}
        return self.rank5_arrays if "multiarray" in kinds else self.rank5_images

    @property
    def training_inputs(self) -> dict[str, Feature]:
        """The inputs that training wants."""
        return {entry.name: feature(entry) for entry in self._document.model.description.trainingInput}

    @property
    def predicted_feature(self) -> str | None:
        """The output that holds a classifier's label or a regressor's value; None for plain networks."""
        return self._document.model.description.predictedFeatureName or None

    @property
    def metadata(self) -> dict[str, str]:
        """Author, license, version and description that the file states, and what its author added."""
        stated = self._document.model.description.metadata
        result = {
            "description": stated.shortDescription,
            "author": stated.author,
            "license": stated.license,
            "version": stated.versionString,
        }
        result |= dict(stated.userDefined)
        return {key: value for key, value in result.items() if value}

    @cached_property
    def report(self) -> Any:
        """What ``pippin.check`` finds about the file."""
        from .check import check_document

        return check_document(self._document)

    @property
    def labels(self) -> list[str] | list[int] | None:
        """A classifier's class labels in the order of its probabilities; None for other networks."""
        if self._document.type != "neuralNetworkClassifier":
            return None
        if self._network.WhichOneof("ClassLabels") == "int64ClassLabels":
            return [int(label) for label in self._network.int64ClassLabels.vector]
        return list(self._network.stringClassLabels.vector)

    def blob_outputs(self) -> list[str]:
        """Names of the blobs that answer: the declared outputs, and a classifier's probabilities."""
        names = [name for name, entry in self.outputs.items() if entry.kind in ("multiarray", "image", "double")]
        if self._document.type == "neuralNetworkClassifier":
            names = [name for name in names if name != self.predicted_feature]
            if self.probabilities not in names:
                names.append(self.probabilities)
        return names

    @cached_property
    def probabilities(self) -> str:
        """The blob that holds a classifier's probabilities."""
        stated = self._network.labelProbabilityLayerName
        made = {name for layer in self._network.layers for name in layer.output}
        if stated:
            return str(stated)
        named = self._document.model.description.predictedProbabilitiesName
        candidates = [named, *(n for n, entry in self.outputs.items() if entry.kind == "dictionary")]
        for name in candidates:
            if name in made:
                return str(name)
        layers = [layer for layer in self._network.layers if layer.output]
        if not layers:
            raise CheckError("the classifier has no layer that could give probabilities")
        return str(layers[-1].output[0])
