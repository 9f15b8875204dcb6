"""How long ``pippin check`` takes: a folder of models in one pass, and one file of 100 MB.

python bench/check.py [FOLDER | ZIP ...]        default: examples/
"""

from __future__ import annotations

import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pippin.coreml import schema
from pippin.coreml.check import check
from pippin.coreml.wire import View, splice


def contents(words: list[str]) -> Iterator[bytes | Path]:
    """Every model in the folders and archives."""
    for word in words:
        path = Path(word)
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                yield from (archive.read(name) for name in archive.namelist() if not name.endswith("/"))
        else:
            yield from sorted(path.rglob("*.mlmodel"))


def large() -> bytes:
    """A network with one dense layer of 5000 x 5000 float32 weights."""
    side = 5000
    model = schema.Model(specificationVersion=1)
    for feature, name in ((model.description.input.add(), "x"), (model.description.output.add(), "y")):
        feature.name = name
        feature.type.multiArrayType.dataType = 65568
        feature.type.multiArrayType.shape.append(side)
    layer = model.neuralNetwork.layers.add(name="dense")
    layer.input.append("x")
    layer.output.append("y")
    layer.innerProduct.inputChannels = layer.innerProduct.outputChannels = side
    layer.innerProduct.weights.pippinView.append(0)
    return b"".join(splice(model, [View(1, "float32", memoryview(np.ones(side * side, np.float32)).cast("B"))]))


def main() -> None:
    words = sys.argv[1:] or [str(Path(__file__).resolve().parents[1] / "examples")]
    models = list(contents(words))
    start = time.perf_counter()
    for model in models:
        check(model)
    print(f"{len(models)} models: {time.perf_counter() - start:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.mlmodel"
        path.write_bytes(large())
        start = time.perf_counter()
        check(path)
        print(f"one model of {path.stat().st_size / 1e6:.0f} MB: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
