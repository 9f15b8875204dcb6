"""What ``predict`` costs over the bare session, for one float32 input.

python bench/overhead.py [--calls N]

The network is one ReLU over 16 numbers, so that next to nothing is computed. Both are called in turns; figures are
medians of the turns, in microseconds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime

import pippin
from pippin.coreml import schema
from pippin.graph.write import write


def network() -> bytes:
    """A Core ML model of one ReLU."""
    model = schema.message("Model")(specificationVersion=4)
    for features, name in ((model.description.input, "x"), (model.description.output, "y")):
        kind = features.add(name=name).type.multiArrayType
        kind.shape.extend([1, 16])
        kind.dataType = kind.DESCRIPTOR.enum_types_by_name["ArrayDataType"].values_by_name["FLOAT32"].number
    model.neuralNetwork.arrayInputShapeMapping = 1
    layer = model.neuralNetwork.layers.add(name="relu", input=["x"], output=["y"])
    layer.activation.ReLU.SetInParent()
    data: bytes = model.SerializeToString()
    return data


def microseconds(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=40_000)
    count = parser.parse_args().calls // 200
    model = pippin.load(network(), threads=1)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graph = write(model.graph(), inline=None).model.SerializeToString()
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    x = np.linspace(-1, 1, 16, dtype=np.float32)[None]
    data = {"x": x}
    calls = {"session": lambda: session.run(["y"], data), "predict": lambda: model.predict(data)}
    np.testing.assert_array_equal(calls["predict"]()["y"], calls["session"]()[0])
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(200):
        for name, call in calls.items():
            times[name].append(microseconds(call, count))
    low = {name: statistics.median(values) for name, values in times.items()}
    over = low["predict"] - low["session"]
    print(f"session {low['session']:.1f} us, predict {low['predict']:.1f} us, over {over:.1f} us")


if __name__ == "__main__":
    main()
