"""Small models for the tests of ``check``, and rows that say what it has to find."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cases import fill
from pippin.coreml import schema
from pippin.coreml.check import Report, check

FLOAT16, FLOAT32, DOUBLE, INT8, INT32 = 65552, 65568, 65600, 131080, 131104
GRAYSCALE, RGB, GRAYSCALE_FLOAT16 = 10, 20, 40


@dataclass(frozen=True)
class Row:
    """A model and the code that ``check`` must give it; ``says`` must stand in the finding, ``where`` in its place."""

    code: str
    note: str
    build: Callable[[], Any]
    says: str = ""
    where: str = ""

    @property
    def id(self) -> str:
        return f"{self.code}: {self.note}"

    def check(self) -> Report:
        return check(self.build().SerializeToString())


def array(name: str, shape: Sequence[int] = (3,), dtype: int = FLOAT32, **more: Any) -> dict[str, Any]:
    """A multi-array feature."""
    return {"name": name, "type": {"multiArrayType": {"shape": list(shape), "dataType": dtype, **more}}}


def image(name: str, width: int = 8, height: int = 8, color: int = RGB, **more: Any) -> dict[str, Any]:
    """An image feature."""
    return {"name": name, "type": {"imageType": {"width": width, "height": height, "colorSpace": color, **more}}}


def feature(name: str, **kind: Any) -> dict[str, Any]:
    """A feature of any type: ``feature("label", stringType={})``."""
    return {"name": name, "type": kind}


def layer(kind: str, inputs: str = "x", outputs: str = "y", **params: Any) -> dict[str, Any]:
    """A layer with blobs as words: ``layer("add", "a b", "c")``; ``rank_in``, ``rank_out`` list tensors."""
    ranks = {side: params.pop(side, ()) for side in ("rank_in", "rank_out")}
    own = {key: params.pop(key) for key in ("name", "isUpdatable") if key in params}
    return {
        "name": f"{kind} {outputs}",
        "input": inputs.split(),
        "output": outputs.split(),
        "inputTensor": [{"rank": rank} for rank in ranks["rank_in"]],
        "outputTensor": [{"rank": rank} for rank in ranks["rank_out"]],
        kind: params,
        **own,
    }


RELU = layer("activation", ReLU={})


@dataclass
class Net:
    """What a model is made of; ``build`` makes the message."""

    layers: Sequence[Mapping[str, Any]] = (RELU,)
    inputs: Sequence[Mapping[str, Any]] = (array("x"),)
    outputs: Sequence[Mapping[str, Any]] = (array("y"),)
    version: int = 5
    exact: bool = True
    kind: str = "neuralNetwork"
    description: Mapping[str, Any] = field(default_factory=dict)
    network: Mapping[str, Any] = field(default_factory=dict)
    updatable: bool = False

    def build(self) -> Any:
        model = schema.message("Model")()
        model.specificationVersion = self.version
        model.isUpdatable = self.updatable
        fill(model.description, {"input": self.inputs, "output": self.outputs, **self.description})
        network = getattr(model, self.kind)
        network.SetInParent()
        mappings = {"arrayInputShapeMapping": 1, "imageInputShapeMapping": 1} if self.exact else {}
        fill(network, {"layers": self.layers, **mappings, **self.network})
        return model


def net(*layers: Mapping[str, Any], **more: Any) -> Callable[[], Any]:
    """A network with these layers, as something to call."""
    return Net(layers=layers, **more).build if layers else Net(**more).build


def rank5(*layers: Mapping[str, Any], **more: Any) -> Callable[[], Any]:
    """The same on five axes; the input is an array [3, 8, 8] unless said otherwise."""
    more = {"inputs": (array("x", (3, 8, 8)),), "outputs": (array("y", ()),), "version": 3, **more}
    return net(*layers, exact=False, **more)


def one(kind: str, inputs: str = "x", outputs: str = "y", rank: int = 4, **params: Any) -> Callable[[], Any]:
    """A network of one layer; every input but ``x`` is an array of the same ``rank``."""
    names = dict.fromkeys(inputs.split()) or {"x": None}
    features = [array(name, (2,) * rank) for name in names]
    return net(layer(kind, inputs, outputs, **params), inputs=features, outputs=(array(outputs.split()[0], ()),))


def conv(**params: Any) -> dict[str, Any]:
    """Parameters of a sound convolution of 2 to 3 channels, 1 x 1, with ``params`` on top."""
    return {
        "outputChannels": 3,
        "kernelChannels": 2,
        "kernelSize": [1, 1],
        "valid": {},
        "weights": floats(6),
        **params,
    }


def floats(count: int) -> dict[str, Any]:
    return {"floatValue": [0.5] * count}


def halves(count: int) -> dict[str, Any]:
    return {"float16Value": b"\0\0" * count}


def packed(size: int, bits: int = 8, **scheme: Any) -> dict[str, Any]:
    """Quantised weights of ``size`` bytes."""
    return {
        "rawValue": b"\1" * size,
        "quantization": {"numberOfBits": bits, **(scheme or {"linearQuantization": {"scale": [1.0]}})},
    }


def int8(size: int, bits: int = 8, **scheme: Any) -> dict[str, Any]:
    return {
        "int8RawValue": b"\1" * size,
        "quantization": {"numberOfBits": bits, **(scheme or {"linearQuantization": {"scale": [1.0]}})},
    }


def assert_found(row: Row) -> None:
    """The row's code is found, with its text and place; errors make the model bad, warnings and notes do not."""
    report = row.check()
    found = [finding for finding in report.findings if finding.code == row.code]
    assert found, f"not found; there is: {[f'{f.code}: {f}' for f in report.findings]}"
    texts = "\n".join(map(str, found))
    assert row.says in texts
    assert row.where in "\n".join(finding.where for finding in found)
    assert report.ok != any(finding.severity == "error" for finding in report.findings)
    assert str(report)
    assert report.to_json()
